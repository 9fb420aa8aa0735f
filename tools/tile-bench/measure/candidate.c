/* Candidates: kernels of .tile files, cuBLASLt, and the reading kernel. */
#include "tools/tile-bench/measure/candidate_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/include.h"

static const tile_loc no_location = {0, 0, 0};
static const char nothing_set[] = "there is no product yet";

enum { WORKSPACE_BYTES = 64 << 20 };

tile_status bench_refuse(const bench_candidate *c, const char *what, const char *name) {
    tile_report(c->context, TILE_ERROR, no_location, "%s%s%s", name ? name : "", name ? ": " : "",
                what);
    return TILE_INVALID;
}

/* Choices that a candidate makes -------------------------------------------------------------- */

static tile_status time_choice(bench_candidate *c, const tile_work *work, tile_flush flush,
                               double best, double *seconds) {
    const tile_measure_options options = {.size = sizeof options,
                                          .warmup = 2,
                                          .repeats = 15,
                                          .flush = flush,
                                          .abandon_above = best > 0 ? 1.5 * best : 0};
    tile_measurement taken;
    tile_status status =
        tile_measure_works(bench_lab_device(c->lab), work, 1, NULL, &options, &taken);
    *seconds = taken.abandoned ? 0 : taken.median;
    return status;
}

/* Skips algorithms that cuBLASLt reports but cannot launch. */
static tile_status set_cublas(bench_candidate *c, tile_flush flush) {
    const tile_work work = {bench_cublas_launch, c->cublas};
    double best = 0;
    unsigned chosen = 0,
             count =
                 bench_cublas_set(c->cublas, &c->data.problem.product, c->data.memory[0].address,
                                  c->data.memory[1].address, c->data.memory[2].address,
                                  c->workspace.address, WORKSPACE_BYTES);
    tile_status status = count ? TILE_FAILED : TILE_UNSUPPORTED;
    unsigned tried = c->options->kind == BENCH_CUBLASLT_FIRST && count ? 1 : count;
    for (unsigned i = 0; i < tried; i++) {
        double seconds;
        bench_cublas_choose(c->cublas, i);
        if (time_choice(c, &work, flush, best, &seconds) != TILE_OK) continue;
        status = TILE_OK;
        if (seconds > 0 && (best == 0 || seconds < best)) {
            best = seconds;
            chosen = i;
        }
    }
    bench_cublas_choose(c->cublas, chosen);
    if (status != TILE_OK) return status;
    bench_cublas_describe(c->cublas, chosen, c->point, sizeof c->point);
    size_t length = strlen(c->point);
    snprintf(c->point + length, sizeof c->point - length,
             tried < count ? " (first of %u)" : " (best of %u)", count);
    return TILE_OK;
}

/* On the CPU device all points are equally slow, so the first one is taken. */
static tile_status set_reader(bench_candidate *c, tile_flush flush) {
    size_t bytes = (size_t)bench_problem_read_bytes(&c->data.problem);
    const unsigned count = bench_lab_is_cuda(c->lab) ? BENCH_READER_POINTS : 0;
    double best = 0;
    unsigned chosen = 0;
    tile_status status = bench_reader_set(c->reader, bytes);
    for (unsigned i = 0; i < count && status == TILE_OK; i++) {
        const tile_work work = {bench_reader_launch, c->reader};
        double seconds;
        status = bench_reader_choose(c->reader, i);
        if (status == TILE_OK) status = time_choice(c, &work, flush, best, &seconds);
        if (status != TILE_OK) return status;
        if (seconds > 0 && (best == 0 || seconds < best)) {
            best = seconds;
            chosen = i;
        }
    }
    snprintf(c->point, sizeof c->point, "%s", bench_reader_point(chosen));
    return status == TILE_OK ? bench_reader_choose(c->reader, chosen) : status;
}

static tile_status set_copy(bench_candidate *c) {
    const bench_problem *p = &c->data.problem;
    c->copy_bytes = (size_t)((bench_problem_read_bytes(p) + bench_problem_write_bytes(p)) / 2);
    for (int i = 0; i < 2; i++) bench_memory_destroy(c->lab, &c->copies[i]);
    tile_status status = bench_memory_create(c->lab, c->copy_bytes, &c->copies[0]);
    if (status == TILE_OK) status = bench_memory_create(c->lab, c->copy_bytes, &c->copies[1]);
    if (status == TILE_OK) status = bench_memory_fill(c->lab, &c->copies[0], 0xff);
    return status;
}

static tile_status launch_copy(void *stream, void *user) {
    const bench_candidate *c = user;
    return bench_lab_copy(c->lab, stream, &c->copies[1], &c->copies[0], c->copy_bytes);
}

static bool is_floor(const bench_candidate *c) {
    return c->options->kind == BENCH_READ || c->options->kind == BENCH_COPY;
}

/* The candidate ------------------------------------------------------------------------------- */

bench_candidate *bench_candidate_create(tile_context *context, bench_lab *lab,
                                        const bench_candidate_options *options) {
    bench_candidate *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    *c = (bench_candidate){.context = context, .lab = lab, .options = options};
    bool ok = true;
    switch (options->kind) {
    case BENCH_KERNEL:
        c->module = tool_parse_file(context, options->file);
        ok = c->module != NULL;
        if (!ok && !tile_context_error_count(context))
            bench_refuse(c, "the file cannot be read", options->file);
        break;
    case BENCH_CUBLASLT:
    case BENCH_CUBLASLT_FIRST:
    case BENCH_CUBLASLT_FAST:
        c->cublas = bench_cublas_open(context, options->cublas);
        if (c->cublas) bench_cublas_set_fast(c->cublas, options->kind == BENCH_CUBLASLT_FAST);
        ok = c->cublas && bench_memory_create(lab, WORKSPACE_BYTES, &c->workspace) == TILE_OK;
        break;
    case BENCH_READ:
        c->reader = bench_reader_create(context, lab);
        ok = c->reader != NULL;
        break;
    case BENCH_COPY: break;
    }
    if (ok) return c;
    bench_candidate_destroy(c);
    return NULL;
}

void bench_candidate_destroy(bench_candidate *c) {
    if (!c) return;
    bench_arrays_destroy(c->lab, &c->data);
    bench_memory_destroy(c->lab, &c->workspace);
    for (int i = 0; i < 2; i++) bench_memory_destroy(c->lab, &c->copies[i]);
    bench_reader_destroy(c->reader);
    bench_cublas_close(c->cublas);
    tile_kernel_destroy(c->kernel);
    tile_tuning_destroy(c->tuning);
    tile_module_destroy(c->module);
    free(c->host);
    free(c);
}

/* Copies the problem. Kernels with an argument named table get paged keys. */
static tile_status take_problem(bench_candidate *c, const bench_problem *problem) {
    enum { PAGE = 16 }; /* keys; typical of LLM servers */
    c->data.problem = *problem;
    if (c->options->kind != BENCH_KERNEL || !problem->is_attention) return TILE_OK;
    const tile_function *f = bench_kernel_find(c);
    for (unsigned i = 0; f && i < tile_function_arg_count(f); i++)
        if (strcmp(tile_function_arg_name(f, i), "table") == 0)
            c->data.problem.attention.page = PAGE;
    return f ? TILE_OK : TILE_INVALID;
}

static bool is_prepared_for(const bench_candidate *c, const bench_problem *problem) {
    char prepared[BENCH_PROBLEM_LINE], line[BENCH_PROBLEM_LINE];
    if (!c->is_prepared) return false;
    bench_problem_write(&c->data.problem, "", prepared);
    bench_problem_write(problem, "", line);
    return strcmp(prepared, line) == 0;
}

/* The kernel is ready: replaces the arrays without memory. */
static tile_status take_memory(bench_candidate *c) {
    bench_arrays_free(c->lab, &c->data);
    tile_status status = bench_arrays_allocate(c->lab, &c->data);
    for (unsigned i = 0; i < c->argument_count && status == TILE_OK; i++)
        if (c->argument_arrays[i] >= 0)
            c->arguments[i].buffer = c->data.memory[c->argument_arrays[i]].buffer;
    return status;
}

static tile_status set_problem(bench_candidate *c, const bench_problem *problem, tile_flush flush) {
    const bool is_prepared = is_prepared_for(c, problem);
    c->is_prepared = c->has_expected = false;
    if (is_prepared) return take_memory(c);
    bench_arrays_free(c->lab, &c->data);
    c->point_count = c->points_asked = 0;
    tile_status status = take_problem(c, problem);
    *c->point = 0;
    if (c->cublas && (problem->is_attention || problem->is_rows))
        return bench_refuse(c, "cuBLASLt has products only", NULL);
    if (status == TILE_OK && !is_floor(c)) status = bench_arrays_allocate(c->lab, &c->data);
    /* Time the choice on the same numbers as in the measurement. */
    if (status == TILE_OK && c->cublas) status = bench_arrays_fill_random(c->lab, &c->data);
    if (status != TILE_OK) return status;
    switch (c->options->kind) {
    case BENCH_KERNEL: return bench_kernel_set(c, flush);
    case BENCH_CUBLASLT:
    case BENCH_CUBLASLT_FIRST:
    case BENCH_CUBLASLT_FAST: return set_cublas(c, flush);
    case BENCH_READ: return set_reader(c, flush);
    case BENCH_COPY: return set_copy(c);
    }
    return TILE_INVALID;
}

tile_status bench_candidate_set(bench_candidate *c, const bench_problem *problem,
                                tile_flush flush) {
    tile_status status = set_problem(c, problem, flush);
    c->is_set = status == TILE_OK;
    return status;
}

tile_status bench_candidate_reserve(bench_candidate *c, const bench_problem *problem) {
    bench_arrays_free(c->lab, &c->data);
    c->is_set = c->is_prepared = c->has_expected = false;
    c->point_count = c->points_asked = 0;
    tile_status status = take_problem(c, problem);
    return status == TILE_OK ? bench_arrays_reserve_only(c->lab, &c->data) : status;
}

tile_status bench_candidate_prepare(bench_candidate *c, const bench_problem *problem,
                                    unsigned points, uint64_t seed) {
    if (c->options->kind != BENCH_KERNEL || c->options->budget != 0) return TILE_OK;
    tile_status status = bench_candidate_reserve(c, problem);
    *c->point = 0;
    if (status == TILE_OK) status = bench_kernel_set(c, TILE_FLUSH_NONE);
    if (status == TILE_OK && points) status = bench_kernel_load_points(c, points, seed);
    c->is_prepared = status == TILE_OK;
    return status;
}

static tile_work work_of(bench_candidate *c) {
    switch (c->options->kind) {
    case BENCH_KERNEL: return (tile_work){bench_kernel_launch, c};
    case BENCH_CUBLASLT:
    case BENCH_CUBLASLT_FIRST:
    case BENCH_CUBLASLT_FAST: return (tile_work){bench_cublas_launch, c->cublas};
    case BENCH_READ: return (tile_work){bench_reader_launch, c->reader};
    case BENCH_COPY: return (tile_work){launch_copy, c};
    }
    return (tile_work){NULL, NULL};
}

tile_status bench_candidate_launch(bench_candidate *c) {
    const tile_work work = work_of(c);
    tile_status status = bench_arrays_poison(c->lab, &c->data);
    if (status == TILE_OK) status = work.launch(NULL, work.user);
    return status == TILE_OK ? tile_device_synchronize(bench_lab_device(c->lab)) : status;
}

tile_status bench_candidate_fetch(bench_candidate *c, unsigned place, char **data) {
    const tile_buffer *result = bench_arrays_result(&c->data);
    size_t bytes = tile_buffer_size(result);
    if (c->host_bytes < 2 * bytes) {
        free(c->host);
        c->host = malloc(2 * bytes);
        c->host_bytes = c->host ? 2 * bytes : 0;
        if (!c->host) return TILE_FAILED;
    }
    *data = c->host + place * bytes;
    tile_status status = bench_candidate_launch(c);
    return status == TILE_OK ? tile_buffer_read(result, 0, *data, bytes) : status;
}

static tile_status check_rows(bench_candidate *c, bench_verdict *verdict) {
    tile_status status = TILE_OK;
    for (int i = 0; i < 2 && status == TILE_OK && !*verdict->wrong; i++) {
        status = bench_candidate_launch(c);
        if (status == TILE_OK)
            status =
                bench_rows_check(&c->data.problem.rows, bench_arrays_result(&c->data), verdict);
    }
    return status;
}

/* The second result is checked if it is not that of the first launch. */
static tile_status check_product(bench_candidate *c, bench_verdict *verdict) {
    const bench_product *product = &c->data.problem.product;
    const tile_buffer *result = bench_arrays_result(&c->data);
    char *data[2];
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < 2 && status == TILE_OK && !*verdict->wrong; i++) {
        status = bench_candidate_fetch(c, i, &data[i]);
        if (status == TILE_OK && (!i || memcmp(data[0], data[1], tile_buffer_size(result)) != 0))
            *verdict = bench_check_result(&c->data.operands, product, data[i]);
    }
    return status;
}

/* Launches twice, so that stale data that the first launch leaves in scratch memory affects the
 * second. */
static tile_status check_result(bench_candidate *c, bench_verdict *verdict) {
    tile_status status = bench_arrays_fill(c->lab, &c->data, BENCH_WHOLE);
    if (status != TILE_OK) return status;
    return c->data.problem.is_rows ? check_rows(c, verdict) : check_product(c, verdict);
}

tile_status bench_candidate_check(bench_candidate *c, bench_verdict *verdict) {
    *verdict = (bench_verdict){.by_elements = true};
    if (!c->is_set || c->data.problem.is_attention) return bench_refuse(c, nothing_set, NULL);
    c->has_expected = false;
    return is_floor(c) ? TILE_OK : check_result(c, verdict);
}

tile_status bench_candidate_fill(bench_candidate *c, bench_inputs inputs) {
    if (!c->is_set || !c->data.problem.is_attention) return bench_refuse(c, nothing_set, NULL);
    return bench_arrays_fill(c->lab, &c->data, inputs);
}

tile_status bench_candidate_compute(bench_candidate *c, const char *path, bool *differ) {
    if (!c->is_set || !c->data.is_filled || is_floor(c)) return bench_refuse(c, nothing_set, NULL);
    size_t bytes = tile_buffer_size(bench_arrays_result(&c->data));
    char *first = malloc(2 * bytes), *second = first ? first + bytes : NULL;
    tile_status status = first ? TILE_OK : TILE_FAILED;
    for (int i = 0; i < 2 && status == TILE_OK; i++) {
        status = bench_candidate_launch(c);
        if (status == TILE_OK)
            status = tile_buffer_read(bench_arrays_result(&c->data), 0, i ? second : first, bytes);
    }
    *differ = status == TILE_OK && memcmp(first, second, bytes) != 0;
    if (status == TILE_OK && !tool_write_file(path, first, bytes))
        status = bench_refuse(c, "the result cannot be written", path);
    free(first);
    return status;
}

tile_status bench_candidate_work(bench_candidate *c, tile_work *work) {
    if (!c->is_set) return bench_refuse(c, nothing_set, NULL);
    *work = work_of(c);
    return is_floor(c) ? TILE_OK : bench_arrays_fill_random(c->lab, &c->data);
}

const char *bench_candidate_version(const bench_candidate *c) {
    return c->cublas ? bench_cublas_version(c->cublas) : "";
}

bench_details bench_candidate_details(bench_candidate *c) {
    bench_details details = {.registers = -1, .local_bytes = -1, .shared_bytes = -1};
    tile_kernel_attributes attributes;
    snprintf(details.point, sizeof details.point, "%s", c->point);
    if (c->options->kind != BENCH_KERNEL || !bench_lab_is_cuda(c->lab) || c->picked ||
        !tile_kernel_abi(c->kernel) ||
        tile_kernel_get_attributes(c->kernel, &attributes) != TILE_OK)
        return details;
    details.registers = attributes.registers;
    details.local_bytes = attributes.local_bytes;
    details.shared_bytes =
        attributes.shared_bytes + (int)tile_abi_shared_bytes(tile_kernel_abi(c->kernel));
    return details;
}
