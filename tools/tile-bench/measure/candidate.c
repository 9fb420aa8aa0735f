/* Candidates: kernels of .tile files, cuBLASLt, and the reading kernel. */
#include "tools/tile-bench/measure/candidate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile/tune.h"
#include "tools/common/include.h"
#include "tools/common/progress.h"
#include "tools/tile-bench/matmul/cublaslt.h"
#include "tools/tile-bench/measure/read_kernel.h"

static const tile_loc no_location = {0, 0, 0};
static const char nothing_set[] = "there is no product yet";

enum { WORKSPACE_BYTES = 64 << 20, ARGUMENTS = 16 };

struct bench_candidate {
    tile_context *context;
    bench_lab *lab;
    const bench_candidate_options *options;
    bool is_set; /* the problem is ready to launch */
    bench_arrays data;
    bench_memory workspace;
    char point[240], remark[40];
    bool picked; /* the point is not the kernel's first one, whose attributes are known */
    /* BENCH_KERNEL */
    tile_module *module;
    const tile_function *compute; /* that was scheduled; NULL: none */
    const char *scheduled;        /* name of the function that it became */
    tile_kernel *kernel;
    tile_argument arguments[ARGUMENTS];
    unsigned argument_count;
    char values[BENCH_MAX_BINDINGS][2][64]; /* names and values with the placeholders filled in */
    tile_binding bindings[BENCH_MAX_BINDINGS]; /* from the options, then the tuned ones */
    unsigned binding_count;
    tile_tuning *tuning; /* owns the names and values of the tuned ones */
    /* BENCH_CUBLASLT */
    bench_cublas *cublas;
    /* BENCH_READ */
    bench_reader *reader;
};

static tile_status refuse(const bench_candidate *c, const char *what, const char *name) {
    tile_report(c->context, TILE_ERROR, no_location, "%s%s%s", name ? name : "", name ? ": " : "",
                what);
    return TILE_INVALID;
}

/* Kernels ------------------------------------------------------------------------------------- */

/* Returns the kernel or plan that a compute is scheduled to; done once for all shapes. */
static const tile_function *schedule(bench_candidate *c, const tile_function *compute) {
    unsigned none = 0;
    if (c->compute != compute) {
        c->compute = NULL;
        if (tile_schedule(c->module, tile_function_name(compute), NULL, NULL, &none,
                          &c->scheduled) != TILE_OK)
            return NULL;
        c->compute = compute;
    }
    return tile_module_find(c->module, c->scheduled);
}

static const tile_function *find_function(bench_candidate *c) {
    char name[80];
    const char *wanted = c->options->kernel ? name : NULL;
    if (wanted && !bench_problem_fill(&c->data.problem, c->options->kernel, name, sizeof name))
        *name = 0;
    const tile_function *found[2] = {NULL, NULL}; /* a kernel, a plan */
    unsigned counts[2] = {0, 0};
    for (unsigned i = 0; tile_module_function(c->module, i); i++) {
        const tile_function *f = tile_module_function(c->module, i);
        bool plan = tile_function_get_kind(f) == TILE_PLAN;
        bool named = wanted && strcmp(tile_function_name(f), wanted) == 0;
        if (tile_function_get_kind(f) == TILE_COMPUTE) {
            if (named) return schedule(c, f);
            continue;
        }
        if (tile_function_get_kind(f) == TILE_FUNC) continue;
        if (named) return f;
        found[plan] = f;
        counts[plan]++;
    }
    if (!wanted && counts[1] == 1) return found[1];
    if (!wanted && counts[1] == 0 && counts[0] == 1) return found[0];
    char why[300] = "holds several kernels; name one with FILE:NAME";
    if (wanted) snprintf(why, sizeof why, "there is no such kernel in %s", c->options->file);
    refuse(c, why, wanted ? wanted : c->options->file);
    return NULL;
}

/* Fills in a binding such as "T={type}" for this problem. */
static bool fill_binding(bench_candidate *c, unsigned index) {
    const char *text = c->options->bindings[index], *value = strchr(text, '=');
    char *name = c->values[index][0], *filled = c->values[index][1];
    const size_t room = sizeof c->values[index][0];
    if (!value || (size_t)(value - text) >= room || strlen(value) >= room) {
        refuse(c, "a parameter is NAME=VALUE, neither longer than 60 letters", text);
        return false;
    }
    snprintf(name, room, "%.*s", (int)(value - text), text);
    if (!bench_problem_fill(&c->data.problem, value + 1, filled, room)) *filled = 0;
    c->bindings[index] = (tile_binding){name, filled};
    return true;
}

static bool size_at(unsigned index, int64_t *value, void *user) {
    const bench_candidate *c = user;
    *value = c->arguments[index].integer;
    return true;
}

/* True if a view's extents and strides are the array's, after dims x and y are swapped if they
 * differ. */
static bool is_laid_out(bench_candidate *c, const tile_function *f, unsigned index,
                        const bench_array *array, unsigned x, unsigned y) {
    const tile_bindings bindings = {.arg = size_at, .user = c};
    for (unsigned d = 0; d < array->rank; d++) {
        unsigned own = d == x ? y : d == y ? x : d;
        int64_t extent, stride;
        if (!tile_expr_eval(tile_function_arg_extent(f, index, d), &bindings, &extent) ||
            !tile_expr_eval(tile_function_arg_stride(f, index, d), &bindings, &stride) ||
            extent != array->extents[own] || stride != array->strides[own])
            return false;
    }
    return true;
}

/* True if a view is row-major and contiguous, and has as many elements as the array. */
static bool is_folded(bench_candidate *c, const tile_function *f, unsigned index,
                      const bench_array *array) {
    const tile_bindings bindings = {.arg = size_at, .user = c};
    int64_t elements = 1;
    for (unsigned d = tile_function_arg_type(f, index)->rank; d-- > 0;) {
        int64_t extent, stride;
        if (!tile_expr_eval(tile_function_arg_extent(f, index, d), &bindings, &extent) ||
            !tile_expr_eval(tile_function_arg_stride(f, index, d), &bindings, &stride) ||
            stride != elements)
            return false;
        elements *= extent;
    }
    return elements == bench_array_elements(array);
}

/* Checks that the kernel's argument has the type and the view of this array. */
static tile_status check_array(bench_candidate *c, const tile_function *f, unsigned index,
                               const bench_array *array) {
    const tile_type *type = tile_function_arg_type(f, index);
    const char *name = tile_function_arg_name(f, index);
    const unsigned last = array->rank - 1;
    char lies[120];
    if (type->scalar != array->scalar) {
        tile_report(c->context, TILE_ERROR, no_location, "%%%s holds %s where the %s has %s", name,
                    tile_scalar_name(type->scalar),
                    c->data.problem.is_attention ? "attention" : "product",
                    tile_scalar_name(array->scalar));
        return TILE_INVALID;
    }
    if (type->kind != TILE_TYPE_VIEW ||
        (type->rank == array->rank &&
         (is_laid_out(c, f, index, array, last, last) ||
          (array->turns && is_laid_out(c, f, index, array, last - 1, last)))) ||
        (array->folds && is_folded(c, f, index, array)))
        return TILE_OK;
    bench_array_describe(&c->data.problem, array, lies, sizeof lies);
    tile_report(c->context, TILE_ERROR, no_location, "%%%s does not lie as %s", name, lies);
    return TILE_INVALID;
}

static tile_status set_argument(bench_candidate *c, const tile_function *f, unsigned index) {
    const char *name = tile_function_arg_name(f, index);
    tile_argument *argument = &c->arguments[index];
    const char *fitting = bench_problem_arguments(&c->data.problem);
    if (tile_function_arg_type(f, index)->kind == TILE_TYPE_SCALAR)
        return bench_problem_size(&c->data.problem, name, argument) ? TILE_OK
                                                                    : refuse(c, fitting, name);
    for (unsigned i = 0; i < c->data.count; i++) {
        if (strcmp(name, c->data.arrays[i].name) != 0) continue;
        argument->buffer = c->data.memory[i].buffer;
        return check_array(c, f, index, &c->data.arrays[i]);
    }
    return refuse(c, fitting, name);
}

/* Matches the arguments on an instantiated copy of the kernel, whose types are known. */
static tile_status set_arguments(bench_candidate *c, const char *name) {
    tile_module *copy = tile_module_clone(c->module);
    tile_status status = tile_instantiate(copy, name, c->bindings, c->options->binding_count);
    const tile_function *f = status == TILE_OK ? tile_module_find(copy, name) : NULL;
    c->argument_count = f ? tile_function_arg_count(f) : 0;
    memset(c->arguments, 0, sizeof c->arguments);
    if (c->argument_count > ARGUMENTS)
        status = refuse(c, bench_problem_arguments(&c->data.problem), name);
    for (unsigned i = 0; status == TILE_OK && i < c->argument_count; i++)
        status = set_argument(c, f, i);
    tile_module_destroy(copy);
    return status;
}

static void draw_progress(const tile_tune_progress *progress, void *user) {
    (void)user;
    tool_progress_draw(progress);
}

/* Takes the bindings of the fastest point, and notes how many points were tried. */
static void take_best(bench_candidate *c) {
    const tile_candidate *best = tile_tuning_best(c->tuning);
    unsigned count = tile_tuning_candidate_count(c->tuning), given = c->options->binding_count;
    for (unsigned i = 0; i < best->binding_count && c->binding_count < BENCH_MAX_BINDINGS; i++) {
        bool is_given = false;
        for (unsigned g = 0; g < given; g++)
            is_given |= strcmp(c->bindings[g].name, best->bindings[i].name) == 0;
        if (!is_given) c->bindings[c->binding_count++] = best->bindings[i];
    }
    if (tile_tuning_get_facts(c->tuning).found)
        snprintf(c->remark, sizeof c->remark, " (tuned before)");
    else
        snprintf(c->remark, sizeof c->remark, " (best of %u)", count);
}

/* Requires the arguments. The tuner allocates its own arrays. */
static tile_status tune(bench_candidate *c, const char *name, tile_flush flush) {
    tile_device *device = bench_lab_device(c->lab);
    const bool cuda = bench_lab_is_cuda(c->lab);
    const tile_measure_options measure = {
        .size = sizeof measure, .warmup = cuda ? 5 : 0, .repeats = cuda ? 20 : 1, .flush = flush};
    const tile_tune_options options = {
        .size = sizeof options,
        .worker = c->options->tuner,
        .bindings = c->bindings,
        .binding_count = c->options->binding_count,
        .budget = bench_problem_budget(&c->data.problem, c->options->budget),
        .timeout = c->options->tuner_timeout,
        .retune = c->options->retunes ? TILE_RETUNE_ALWAYS : TILE_RETUNE_STALE,
        .split = c->options->splits,
        .measure = &measure,
        .unchecked = c->options->unchecked,
        .progress = draw_progress};
    tile_tune_argument sizes[ARGUMENTS] = {{0}};
    for (unsigned i = 0; i < c->argument_count; i++) {
        sizes[i].integer = c->arguments[i].integer;
        sizes[i].number = c->arguments[i].number;
        for (unsigned a = 0; a < c->data.count; a++)
            if (c->arguments[i].buffer == c->data.memory[a].buffer)
                sizes[i].elements = bench_array_elements(&c->data.arrays[a]);
    }
    tile_status status =
        tile_tune(device, c->module, name, sizes, c->argument_count, &options, &c->tuning);
    tool_progress_end();
    if (status == TILE_OK) take_best(c);
    return status;
}

static void write_point(bench_candidate *c, const tile_binding *bindings, unsigned count,
                        const char *remark) {
    *c->point = 0;
    for (unsigned i = 0; i <= count; i++) {
        size_t length = strlen(c->point), room = sizeof c->point - length;
        if (i == count)
            snprintf(c->point + length, room, "%s", remark);
        else
            snprintf(c->point + length, room, "%s%s=%s", i ? " " : "", bindings[i].name,
                     bindings[i].value);
    }
}

/* Reports the point of the launch, unless it is the kernel's first point in the declared variant.
 */
static tile_status report_point(bench_candidate *c) {
    const tile_binding *bindings;
    const tile_abi *abi = NULL;
    unsigned count;
    tile_status status =
        tile_kernel_point(c->kernel, c->arguments, c->argument_count, &bindings, &count);
    if (status != TILE_OK || count <= c->binding_count) return status;
    status = tile_kernel_variant(c->kernel, c->arguments, c->argument_count, &abi);
    c->picked = !abi || abi != tile_kernel_abi(c->kernel);
    if (c->picked) write_point(c, bindings, count, *c->remark ? c->remark : " (picked)");
    return status;
}

static tile_status set_kernel(bench_candidate *c, tile_flush flush) {
    const tile_function *f = find_function(c);
    if (!f) return TILE_INVALID;
    c->binding_count = c->options->binding_count;
    tile_tuning_destroy(c->tuning);
    c->tuning = NULL;
    *c->remark = 0;
    for (unsigned i = 0; i < c->binding_count; i++)
        if (!fill_binding(c, i)) return TILE_INVALID;
    tile_status status = set_arguments(c, tile_function_name(f));
    if (status == TILE_OK && c->options->budget != 0)
        status = tune(c, tile_function_name(f), flush);
    if (status != TILE_OK) return status;
    write_point(c, c->bindings, c->binding_count, c->remark);
    tile_kernel_destroy(c->kernel);
    c->kernel = NULL;
    status = tile_kernel_create(bench_lab_device(c->lab), c->module, tile_function_name(f),
                                c->bindings, c->binding_count, &c->kernel);
    if (status == TILE_OK)
        status = tile_kernel_prepare(c->kernel, c->arguments, c->argument_count, NULL);
    return status == TILE_OK ? report_point(c) : status;
}

static tile_status launch_kernel(void *stream, void *user) {
    bench_candidate *c = user;
    return tile_kernel_launch(c->kernel, c->arguments, c->argument_count, stream);
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
    bench_reader_destroy(c->reader);
    c->reader = bench_reader_create(c->context, bench_lab_device(c->lab), bytes);
    if (!c->reader) return TILE_FAILED;
    for (unsigned i = 0; i < count; i++) {
        const tile_work work = {bench_reader_launch, c->reader};
        double seconds;
        tile_status status = bench_reader_choose(c->reader, i);
        if (status == TILE_OK) status = time_choice(c, &work, flush, best, &seconds);
        if (status != TILE_OK) return status;
        if (seconds > 0 && (best == 0 || seconds < best)) {
            best = seconds;
            chosen = i;
        }
    }
    snprintf(c->point, sizeof c->point, "%s", bench_reader_point(chosen));
    return bench_reader_choose(c->reader, chosen);
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
            refuse(c, "the file cannot be read", options->file);
        break;
    case BENCH_CUBLASLT:
    case BENCH_CUBLASLT_FIRST:
    case BENCH_CUBLASLT_FAST:
        c->cublas = bench_cublas_open(context, options->cublas);
        if (c->cublas) bench_cublas_set_fast(c->cublas, options->kind == BENCH_CUBLASLT_FAST);
        ok = c->cublas && bench_memory_create(lab, WORKSPACE_BYTES, &c->workspace) == TILE_OK;
        break;
    case BENCH_READ: break;
    }
    if (ok) return c;
    bench_candidate_destroy(c);
    return NULL;
}

void bench_candidate_destroy(bench_candidate *c) {
    if (!c) return;
    bench_arrays_free(c->lab, &c->data);
    bench_memory_destroy(c->lab, &c->workspace);
    bench_reader_destroy(c->reader);
    bench_cublas_close(c->cublas);
    bench_pattern_destroy(c->data.pattern);
    tile_kernel_destroy(c->kernel);
    tile_tuning_destroy(c->tuning);
    tile_module_destroy(c->module);
    free(c);
}

/* Copies the problem. Kernels with an argument named table get paged keys. */
static tile_status take_problem(bench_candidate *c, const bench_problem *problem) {
    enum { PAGE = 16 }; /* keys; typical of LLM servers */
    c->data.problem = *problem;
    if (c->options->kind != BENCH_KERNEL || !problem->is_attention) return TILE_OK;
    const tile_function *f = find_function(c);
    for (unsigned i = 0; f && i < tile_function_arg_count(f); i++)
        if (strcmp(tile_function_arg_name(f, i), "table") == 0)
            c->data.problem.attention.page = PAGE;
    return f ? TILE_OK : TILE_INVALID;
}

static tile_status set_problem(bench_candidate *c, const bench_problem *problem, tile_flush flush) {
    bench_arrays_free(c->lab, &c->data);
    tile_status status = take_problem(c, problem);
    *c->point = 0;
    if (c->cublas && problem->is_attention) return refuse(c, "cuBLASLt has no attention", NULL);
    if (status == TILE_OK && c->options->kind != BENCH_READ)
        status = bench_arrays_allocate(c->lab, &c->data);
    /* Time the choice on the same numbers as in the measurement. */
    if (status == TILE_OK && c->cublas) status = bench_arrays_fill_random(&c->data);
    if (status != TILE_OK) return status;
    switch (c->options->kind) {
    case BENCH_KERNEL: return set_kernel(c, flush);
    case BENCH_CUBLASLT:
    case BENCH_CUBLASLT_FIRST:
    case BENCH_CUBLASLT_FAST: return set_cublas(c, flush);
    case BENCH_READ: return set_reader(c, flush);
    }
    return TILE_INVALID;
}

tile_status bench_candidate_set(bench_candidate *c, const bench_problem *problem,
                                tile_flush flush) {
    tile_status status = set_problem(c, problem, flush);
    c->is_set = status == TILE_OK;
    return status;
}

tile_status bench_candidate_prepare(bench_candidate *c, const bench_problem *problem) {
    bench_arrays_free(c->lab, &c->data);
    c->is_set = false;
    if (c->options->kind != BENCH_KERNEL || c->options->budget != 0) return TILE_OK;
    tile_status status = take_problem(c, problem);
    if (status == TILE_OK) status = bench_arrays_reserve_only(c->lab, &c->data);
    return status == TILE_OK ? set_kernel(c, TILE_FLUSH_NONE) : status;
}

static tile_work work_of(bench_candidate *c) {
    switch (c->options->kind) {
    case BENCH_KERNEL: return (tile_work){launch_kernel, c};
    case BENCH_CUBLASLT:
    case BENCH_CUBLASLT_FIRST:
    case BENCH_CUBLASLT_FAST: return (tile_work){bench_cublas_launch, c->cublas};
    case BENCH_READ: return (tile_work){bench_reader_launch, c->reader};
    }
    return (tile_work){NULL, NULL};
}

static tile_status launch_once(bench_candidate *c) {
    const tile_work work = work_of(c);
    tile_status status = bench_poison(c->data.arrays[bench_problem_result(&c->data.problem)].scalar,
                                      bench_arrays_result(&c->data));
    if (status == TILE_OK) status = work.launch(NULL, work.user);
    return status == TILE_OK ? tile_device_synchronize(bench_lab_device(c->lab)) : status;
}

/* Launches twice, so that stale data that the first launch leaves in scratch memory affects the
 * second. */
static tile_status check_product(bench_candidate *c, bench_verdict *verdict) {
    tile_status status = bench_arrays_fill(&c->data, BENCH_WHOLE);
    for (int i = 0; i < 2 && status == TILE_OK && !*verdict->wrong; i++) {
        status = launch_once(c);
        if (status == TILE_OK)
            status = bench_check_result(&c->data.problem.product, bench_arrays_result(&c->data),
                                        verdict);
    }
    return status;
}

tile_status bench_candidate_check(bench_candidate *c, bench_verdict *verdict) {
    *verdict = (bench_verdict){.by_elements = true};
    if (!c->is_set || c->data.problem.is_attention) return refuse(c, nothing_set, NULL);
    return c->options->kind == BENCH_READ ? TILE_OK : check_product(c, verdict);
}

tile_status bench_candidate_fill(bench_candidate *c, bench_inputs inputs) {
    if (!c->is_set || !c->data.problem.is_attention) return refuse(c, nothing_set, NULL);
    return bench_arrays_fill(&c->data, inputs);
}

tile_status bench_candidate_compute(bench_candidate *c, const char *path, bool *differ) {
    if (!c->is_set || !c->data.is_filled || c->options->kind == BENCH_READ)
        return refuse(c, nothing_set, NULL);
    size_t bytes = tile_buffer_size(bench_arrays_result(&c->data));
    char *first = malloc(2 * bytes), *second = first ? first + bytes : NULL;
    tile_status status = first ? TILE_OK : TILE_FAILED;
    for (int i = 0; i < 2 && status == TILE_OK; i++) {
        status = launch_once(c);
        if (status == TILE_OK)
            status = tile_buffer_read(bench_arrays_result(&c->data), 0, i ? second : first, bytes);
    }
    *differ = status == TILE_OK && memcmp(first, second, bytes) != 0;
    if (status == TILE_OK && !tool_write_file(path, first, bytes))
        status = refuse(c, "the result cannot be written", path);
    free(first);
    return status;
}

tile_status bench_candidate_work(bench_candidate *c, tile_work *work) {
    if (!c->is_set) return refuse(c, nothing_set, NULL);
    *work = work_of(c);
    return c->options->kind == BENCH_READ ? TILE_OK : bench_arrays_fill_random(&c->data);
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
