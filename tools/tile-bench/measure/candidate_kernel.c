/* Candidates that are kernels, plans or computes of .tile files. */
#include <stdio.h>
#include <string.h>

#include "tools/common/progress.h"
#include "tools/tile-bench/measure/candidate_state.h"

static const tile_loc no_location = {0, 0, 0};

/* Fills in a binding such as "T={type}" for this problem. */
static bool fill_binding(bench_candidate *c, unsigned index) {
    const char *text = c->options->bindings[index], *value = strchr(text, '=');
    char *name = c->values[index][0], *filled = c->values[index][1];
    const size_t room = sizeof c->values[index][0];
    if (!value || (size_t)(value - text) >= room || strlen(value) >= room) {
        bench_refuse(c, "a parameter is NAME=VALUE, neither longer than 60 letters", text);
        return false;
    }
    snprintf(name, room, "%.*s", (int)(value - text), text);
    if (!bench_problem_fill(&c->data.problem, value + 1, filled, room)) *filled = 0;
    c->bindings[index] = (tile_binding){name, filled};
    return true;
}

/* The filled-in bindings, as text. */
static void write_bindings(const bench_candidate *c, const char *name, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s", name);
    for (unsigned i = 0; i < c->options->binding_count && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, " %s=%s", c->values[i][0], c->values[i][1]);
}

/* Returns the kernel or plan that a compute is scheduled to with these bindings, of which the
 * compute's own are removed. Done once for all shapes that have the same bindings. */
static const tile_function *schedule(bench_candidate *c, const tile_function *compute) {
    char key[sizeof c->schedule_key];
    write_bindings(c, tile_function_name(compute), key, sizeof key);
    if (!c->scheduled || strcmp(c->schedule_key, key) != 0) {
        c->scheduled = NULL;
        c->left_count = c->given_count;
        memcpy(c->left, c->bindings, sizeof c->left);
        if (tile_schedule(c->module, tile_function_name(compute),
                          tile_device_target(bench_lab_device(c->lab)), c->left, &c->left_count,
                          &c->scheduled) != TILE_OK)
            return NULL;
        memcpy(c->schedule_key, key, sizeof key);
    }
    c->given_count = c->left_count;
    memcpy(c->bindings, c->left, sizeof c->left);
    return tile_module_find(c->module, c->scheduled);
}

/* Finds the kernel, plan or compute that the options name, or the only kernel or plan. */
static const tile_function *find_function(bench_candidate *c) {
    char name[80];
    const char *wanted = c->options->kernel ? name : NULL;
    if (wanted && !bench_problem_fill(&c->data.problem, c->options->kernel, name, sizeof name))
        *name = 0;
    const tile_function *found[2] = {NULL, NULL}; /* a kernel, a plan */
    unsigned counts[2] = {0, 0};
    for (unsigned i = 0; tile_module_function(c->module, i); i++) {
        const tile_function *f = tile_module_function(c->module, i);
        tile_function_kind kind = tile_function_get_kind(f);
        if (kind == TILE_FUNC) continue;
        if (wanted && strcmp(tile_function_name(f), wanted) == 0) return f;
        if (kind == TILE_COMPUTE) continue;
        found[kind == TILE_PLAN] = f;
        counts[kind == TILE_PLAN]++;
    }
    if (!wanted && counts[1] == 1) return found[1];
    if (!wanted && counts[1] == 0 && counts[0] == 1) return found[0];
    char why[300] = "holds several kernels; name one with FILE:NAME";
    if (wanted) snprintf(why, sizeof why, "there is no such kernel in %s", c->options->file);
    bench_refuse(c, why, wanted ? wanted : c->options->file);
    return NULL;
}

const tile_function *bench_kernel_find(bench_candidate *c) {
    const tile_function *f = find_function(c);
    c->given_count = c->options->binding_count;
    for (unsigned i = 0; f && i < c->given_count; i++)
        if (!fill_binding(c, i)) return NULL;
    return f && tile_function_get_kind(f) == TILE_COMPUTE ? schedule(c, f) : f;
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
                    tile_scalar_name(type->scalar), bench_problem_noun(&c->data.problem),
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
    c->argument_arrays[index] = -1;
    const char *fitting = bench_problem_arguments(&c->data.problem);
    if (tile_function_arg_type(f, index)->kind == TILE_TYPE_SCALAR)
        return bench_problem_size(&c->data.problem, name, argument)
                   ? TILE_OK
                   : bench_refuse(c, fitting, name);
    for (unsigned i = 0; i < c->data.count; i++) {
        if (strcmp(name, c->data.arrays[i].name) != 0) continue;
        argument->buffer = c->data.memory[i].buffer;
        c->argument_arrays[index] = (int)i;
        return check_array(c, f, index, &c->data.arrays[i]);
    }
    return bench_refuse(c, fitting, name);
}

/* Matches the arguments on an instantiated copy of the kernel, whose types are known. */
static tile_status set_arguments(bench_candidate *c, const char *name) {
    tile_module *copy = tile_module_clone(c->module);
    tile_status status = tile_instantiate(copy, name, c->bindings, c->given_count);
    const tile_function *f = status == TILE_OK ? tile_module_find(copy, name) : NULL;
    c->argument_count = f ? tile_function_arg_count(f) : 0;
    memset(c->arguments, 0, sizeof c->arguments);
    if (c->argument_count > BENCH_MAX_KERNEL_ARGUMENTS)
        status = bench_refuse(c, bench_problem_arguments(&c->data.problem), name);
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
    unsigned count = tile_tuning_candidate_count(c->tuning), given = c->given_count;
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
        .binding_count = c->given_count,
        .budget = bench_problem_budget(&c->data.problem, c->options->budget),
        .timeout = c->options->tuner_timeout,
        .retune = c->options->retunes ? TILE_RETUNE_ALWAYS : TILE_RETUNE_STALE,
        .split = c->options->splits,
        .measure = &measure,
        .unchecked = c->options->unchecked,
        .progress = draw_progress};
    tile_tune_argument sizes[BENCH_MAX_KERNEL_ARGUMENTS] = {{0}};
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

void bench_write_bindings(const tile_binding *bindings, unsigned count, char *text, size_t size) {
    size_t used = 0;
    *text = 0;
    for (unsigned i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s=%s", i ? " " : "",
                                 bindings[i].name, bindings[i].value);
}

static void write_point(bench_candidate *c, const tile_binding *bindings, unsigned count,
                        const char *remark) {
    bench_write_bindings(bindings, count, c->point, sizeof c->point);
    size_t length = strlen(c->point);
    snprintf(c->point + length, sizeof c->point - length, "%s", remark);
}

static bool count_point(const char *point, void *user) {
    (void)point;
    return ++*(unsigned *)user < 2;
}

/* True if the bindings leave more than one point. */
static bool has_points(const bench_candidate *c, const tile_function *f) {
    unsigned count = 0;
    return tile_list_points(c->module, tile_function_name(f), c->bindings, c->binding_count,
                            count_point, &count) == TILE_OK &&
           count > 1;
}

/* Reports the point of the launch, if the bindings leave a choice. */
static tile_status report_point(bench_candidate *c, const tile_function *f) {
    const tile_binding *bindings;
    const tile_abi *abi = NULL;
    unsigned count;
    tile_status status =
        tile_kernel_point(c->kernel, c->arguments, c->argument_count, &bindings, &count);
    if (status != TILE_OK || count <= c->binding_count || !has_points(c, f)) return status;
    write_point(c, bindings, count, *c->remark ? c->remark : " (picked)");
    status = tile_kernel_variant(c->kernel, c->arguments, c->argument_count, &abi);
    c->picked = !abi || abi != tile_kernel_abi(c->kernel);
    return status;
}

tile_status bench_kernel_create(bench_candidate *c, tile_flush flush) {
    const tile_function *f = bench_kernel_find(c);
    if (!f) return TILE_INVALID;
    c->binding_count = c->given_count;
    tile_tuning_destroy(c->tuning);
    c->tuning = NULL;
    *c->remark = 0;
    tile_status status = set_arguments(c, tile_function_name(f));
    if (status == TILE_OK && c->options->budget != 0)
        status = tune(c, tile_function_name(f), flush);
    if (status != TILE_OK) return status;
    write_point(c, c->bindings, c->binding_count, c->remark);
    tile_kernel_destroy(c->kernel);
    c->kernel = NULL;
    return tile_kernel_create(bench_lab_device(c->lab), c->module, tile_function_name(f),
                              c->bindings, c->binding_count, &c->kernel);
}

tile_status bench_kernel_set(bench_candidate *c, tile_flush flush) {
    tile_status status = bench_kernel_create(c, flush);
    if (status == TILE_OK)
        status = tile_kernel_prepare(c->kernel, c->arguments, c->argument_count, NULL);
    return status == TILE_OK ? report_point(c, bench_kernel_find(c)) : status;
}

tile_status bench_kernel_launch(void *stream, void *user) {
    bench_candidate *c = user;
    return tile_kernel_launch(c->kernel, c->arguments, c->argument_count, stream);
}
