/* tile-run: runs one kernel on the CPU device or on a GPU, with arguments from the command line,
 * and checks every element of its result. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tile/inspect.h"
#include "tools/common/assembler.h"
#include "tools/tile-run/options.h"
#include "tools/tile-run/trace.h"

typedef struct run {
    options *options;
    tile_context *context;
    char *cache_dir;
    tile_module *module;
    tile_device *device;
    tile_kernel *kernel;
    const tile_function *function;
    bool scheduled; /* the function was made from a compute of the file */
    tile_argument launch[TILE_MAX_ARGUMENTS];
    tile_tuning *tuning;
    reference reference;
    trace trace;
} run;

static int fail(const char *what, const char *why) {
    fprintf(stderr, "error: %s: %s\n", what, why);
    return 1;
}

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_time_of(const options *o, const char *step, double since) {
    if (o->timing) fprintf(stderr, "%10.3f ms  %s\n", 1e3 * (seconds() - since), step);
}

/* 1. Device, kernel, arguments. --------------------------------------------------------------- */

static tile_status open_device(run *r) {
    const options *o = r->options;
    r->cache_dir = tool_cache_folder(&o->cache);
    tile_device_options device = {.size = sizeof device,
                                  .level = o->level,
                                  .seed = o->seed_given ? o->seed : 0,
                                  .ptxas = o->ptxas,
                                  .cache_dir = r->cache_dir,
                                  .target = o->target,
                                  .max_operations = o->max_operations,
                                  .sms = o->sms,
                                  .trace = o->trace ? trace_event : NULL,
                                  .trace_user = &r->trace};
    bool automatic = !o->device || strcmp(o->device, "auto") == 0;
    if (o->device && !automatic && strcmp(o->device, "cpu") != 0 &&
        strcmp(o->device, "cuda") != 0) {
        fail("--device", "expected auto, cpu or cuda");
        return TILE_INVALID;
    }
    if (automatic && !o->target && !tool_is_hidden("cuda")) {
        tile_context_set_sink(r->context, NULL, NULL); /* a missing GPU is not an error */
        tile_status status = tile_device_create_cuda(r->context, &device, &r->device);
        tool_print_remarks(r->context, o->remarks);
        if (status == TILE_OK) return TILE_OK;
    }
    if (automatic || strcmp(o->device, "cpu") == 0) {
        /* On the CPU device the cache could only contain tuned points: without a cache there are
         * none. */
        if (!o->tuning.tune && !tool_cache_exists(r->cache_dir)) device.cache_dir = NULL;
        return tile_device_create_cpu(r->context, &device, &r->device);
    }
    if (tool_refuses_cuda()) return TILE_UNAVAILABLE;
    return tile_device_create_cuda(r->context, &device, &r->device);
}

/* Reports an unknown name, and lists the existing ones. */
static void refuse_name(const run *r) {
    const options *o = r->options;
    const char *between = "; it has ", *what = o->level == 1 ? "compute" : "kernel";
    if (o->kernel)
        fprintf(stderr, "error: %s: no such %s in %s", o->kernel, what, o->file);
    else
        fprintf(stderr, "error: %s: no such %s", o->file, what);
    for (unsigned i = 0; tile_module_function(r->module, i); i++, between = ", ")
        fprintf(stderr, "%s@%s", between, tile_function_name(tile_module_function(r->module, i)));
    fputc('\n', stderr);
}

static bool list(const run *r) {
    const char *name = r->options->kernel;
    bool found = !name || tile_module_find(r->module, name);
    if (found)
        (r->options->json ? tile_module_list_json : tile_module_list)(r->module, name, tool_write,
                                                                      stdout);
    if (!found) refuse_name(r);
    return found;
}

static const tile_function *find_function(run *r) {
    const options *o = r->options;
    tile_function_kind kind = o->level == 1 ? TILE_COMPUTE : TILE_KERNEL;
    const tile_function *found = NULL;
    for (unsigned i = 0; kind == TILE_KERNEL && tile_module_function(r->module, i); i++)
        if (tile_function_get_kind(tile_module_function(r->module, i)) == TILE_PLAN)
            kind = TILE_PLAN; /* it launches the kernels */
    if (tool_has_computes_only(r->module)) kind = TILE_COMPUTE;
    for (unsigned i = 0; tile_module_function(r->module, i); i++) {
        const tile_function *f = tile_module_function(r->module, i);
        bool named = o->kernel && strcmp(tile_function_name(f), o->kernel) == 0;
        if (named && o->level != 1) kind = tile_function_get_kind(f);
        if (named || (!o->kernel && tile_function_get_kind(f) == kind)) {
            if (found && !named) {
                fail(o->file, "holds several kernels or plans; name one with --kernel");
                return NULL;
            }
            found = f;
        }
    }
    if (!found)
        refuse_name(r);
    else if (kind == TILE_FUNC)
        fail(tile_function_name(found), "is a func: run a kernel or compute that calls it");
    else if (tile_function_get_kind(found) != kind)
        fail(tile_function_name(found), "is a kernel: level 1 runs computes");
    if (!found || kind == TILE_FUNC || tile_function_get_kind(found) != kind) return NULL;
    if (!(r->scheduled = kind == TILE_COMPUTE && o->level != 1)) return found;
    /* A GPU's own target decides which kernels there are. */
    const bool cpu = o->device && strcmp(o->device, "cpu") == 0;
    if (!cpu && open_device(r) != TILE_OK) return NULL;
    bool own = !o->target && tile_device_is_cuda(r->device);
    return run_schedule(r->options, r->module, found,
                        own ? tile_device_target(r->device) : o->target);
}

/* Checks a value before arrays of that size are allocated. */
static bool fail_missing(const run *r, const char *name, const tile_type *type) {
    fprintf(stderr, "error: argument '%s' of @%s is missing; give it with --arg %s=%s\n", name,
            tile_function_name(r->function), name,
            type->kind == TILE_TYPE_SCALAR ? "NUMBER"
            : type->kind == TILE_TYPE_VIEW ? "rand (or int, zeros, @FILE.npy)"
                                           : "rand:f32[1024] (or @FILE.npy)");
    return true;
}

static bool fail_unknown(const run *r, const char *name) {
    fprintf(stderr, "error: @%s has no argument '%s'; it has", tile_function_name(r->function),
            name);
    for (unsigned i = 0; i < tile_function_arg_count(r->function); i++)
        fprintf(stderr, "%s %s", i ? "," : "", tile_function_arg_name(r->function, i));
    fputc('\n', stderr);
    return true;
}

static bool fail_elements(const char *name, tile_scalar given, tile_scalar wanted) {
    fprintf(stderr,
            "error: argument '%s' is an array of %s, and the array given has elements of %s\n",
            name, tile_scalar_name(wanted), tile_scalar_name(given));
    return true;
}

static bool fail_shape(const run *r, const char *name, const tile_type *type) {
    const char *scalar = type->scalar == TILE_SCALAR_NONE ? "f32" : tile_scalar_name(type->scalar);
    if (type->kind != TILE_TYPE_TENSOR)
        return fail(name, "this argument is a pointer, so the shape is needed; write TYPE[DIMS], "
                          "as in int:f16[128,64]");
    fprintf(stderr,
            "error: %s: level 1 runs the compute @%s: give each tensor its shape, `--arg "
            "%s=int:%s[",
            name, tile_function_name(r->function), name, scalar);
    for (unsigned d = 0; d < type->rank; d++) fprintf(stderr, "%s1000", d ? "," : "");
    fputs("]`\n", stderr);
    return true;
}

/* Sorts the arguments into the kernel's order. */
static bool order_arguments(run *r) {
    options *o = r->options;
    unsigned wanted = tile_function_arg_count(r->function);
    for (unsigned i = 0; i < wanted; i++) {
        const char *name = tile_function_arg_name(r->function, i);
        run_argument *given = arguments_find(o->arguments, o->argument_count, name, strlen(name));
        const tile_type *type = tile_function_arg_type(r->function, i);
        bool array = type->kind != TILE_TYPE_SCALAR;
        if (!given) return !fail_missing(r, name, type);
        if (array != given->is_array)
            return !fail(name, array ? "this argument is an array and takes no number; write int, "
                                       "rand, zeros or @FILE.npy"
                                     : "this argument is a scalar and takes a number");
        if (!array && !tile_scalar_is_floating(type->scalar) && !argument_is_integer(given))
            return !fail(name, "this argument is an integer and takes a whole number");
        if (!array && !tile_scalar_is_floating(type->scalar) && !argument_fits(given, type->scalar))
            return false;
        if (given->shapeless && type->kind != TILE_TYPE_VIEW) return !fail_shape(r, name, type);
        if (array && given->fill != FILL_FILE && !given->shapeless &&
            type->scalar != TILE_SCALAR_NONE && given->array.scalar != type->scalar)
            return !fail_elements(name, given->array.scalar, type->scalar);
        run_argument swap = *given;
        *given = o->arguments[i];
        o->arguments[i] = swap;
    }
    if (o->argument_count != wanted) return !fail_unknown(r, o->arguments[wanted].name);
    return true;
}

/* Returns the element type of an argument. If the type is a parameter, --param gives it; NONE if
 * its value is not the name of a type. */
static tile_scalar element_type(const run *r, unsigned index) {
    const options *o = r->options;
    const tile_type *type = tile_function_arg_type(r->function, index);
    for (unsigned i = 0; type->param && i < o->binding_count; i++)
        if (strcmp(o->bindings[i].name, type->param) == 0)
            return tile_scalar_from_name(o->bindings[i].value, strlen(o->bindings[i].value));
    return type->scalar;
}

/* Files are read late, so their types are checked here. Opaque bytes take the argument's type. */
static bool check_file_types(const run *r) {
    for (unsigned i = 0; i < tile_function_arg_count(r->function); i++) {
        run_argument *a = &r->options->arguments[i];
        tile_scalar wanted = element_type(r, i);
        if (a->fill != FILL_FILE || wanted == TILE_SCALAR_NONE) continue;
        npy_take_type(&a->array, wanted);
        if (wanted == TILE_tf32 && a->array.scalar == TILE_f32) a->array.scalar = wanted;
        if (a->array.scalar == wanted) continue;
        bool bytes = wanted == TILE_e4m3 || wanted == TILE_e5m2 || wanted == TILE_bf16;
        fprintf(stderr, "error: %s: the file has %s, the argument is of %s%s\n", a->name,
                tile_scalar_name(a->array.scalar), tile_scalar_name(wanted),
                bytes ? ": save an array of ml_dtypes, or its bytes with the dtype V1 or V2" : "");
        return false;
    }
    return true;
}

static bool set_offsets(options *o) {
    for (unsigned i = 0; i < o->offset_count; i++) {
        const char *equals = strchr(o->offsets[i], '=');
        run_argument *a = arguments_find(o->arguments, o->argument_count, o->offsets[i],
                                         (size_t)(equals - o->offsets[i]));
        double number;
        if (!a || !a->is_array) return !fail(o->offsets[i], "there is no array of this name");
        if (!options_read_count("--offset", equals + 1, 0, 1 << 20, &number)) return false;
        a->offset = (size_t)number;
    }
    return true;
}

static bool upload(run *r) {
    options *o = r->options;
    if (!set_offsets(o)) return false;
    for (unsigned i = 0; i < o->argument_count; i++) {
        run_argument *a = &o->arguments[i];
        r->launch[i] = (tile_argument){.integer = a->integer, .number = a->number};
        if (!a->is_array) continue;
        size_t bytes = a->array.count * tile_scalar_bytes(a->array.scalar);
        if (tile_buffer_create(r->device, a->offset + bytes, &a->buffer) != TILE_OK ||
            tile_buffer_write(a->buffer, a->offset, a->array.data, bytes) != TILE_OK)
            return false;
        if (a->fill == FILL_POISON) tile_buffer_forget(a->buffer);
        r->launch[i].buffer = a->buffer;
        r->launch[i].offset = a->offset;
    }
    return true;
}

static bool download(run *r) {
    options *o = r->options;
    for (unsigned i = 0; i < o->argument_count; i++) {
        run_argument *a = &o->arguments[i];
        if (a->buffer && tile_buffer_read(a->buffer, a->offset, a->array.data,
                                          tile_buffer_size(a->buffer) - a->offset) != TILE_OK)
            return false;
    }
    return true;
}

static bool save_ptx(const run *r) {
    const tile_blob *ptx = tile_kernel_ptx(r->kernel);
    if (!r->options->ptx) return true;
    if (!ptx->size) return !fail("--ptx", "only the CUDA device makes PTX; use tilec");
    return tool_write_file(r->options->ptx, ptx->data, ptx->size);
}

/* 2. The run. --------------------------------------------------------------------------------- */

static bool has_name(const tile_binding *bindings, unsigned count, const char *name) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(bindings[i].name, name) == 0) return true;
    return false;
}

/* Prints the point that the launch used, and what else was given. */
static void print_head(const run *r) {
    const options *o = r->options;
    const tile_binding *point;
    unsigned count = 0;
    if (tile_kernel_point(r->kernel, r->launch, o->argument_count, &point, &count) != TILE_OK)
        count = 0;
    printf("device   %s\nkernel   @%s", tile_device_name(r->device),
           tile_function_name(r->function));
    for (unsigned i = 0; i < count; i++) printf(" %s=%s", point[i].name, point[i].value);
    for (unsigned i = 0; i < o->binding_count; i++)
        if (!has_name(point, count, o->bindings[i].name))
            printf(" %s=%s", o->bindings[i].name, o->bindings[i].value);
    printf("\nsizes   ");
    arguments_print(stdout, " ", o->arguments, o->argument_count);
    printf("\n");
}

static bool print_variant(run *r) {
    const tile_abi *abi;
    const tile_condition *condition;
    if (!r->options->variant) return true;
    if (tile_kernel_variant(r->kernel, r->launch, r->options->argument_count, &abi) != TILE_OK)
        return false;
    if (!abi) {
        printf("variant  none: the launch runs several kernels\n");
        return true;
    }
    unsigned variant = tile_abi_variant(abi);
    printf("variant  %u of %u", variant, tile_abi_variant_count(abi));
    for (unsigned i = 0; (condition = tile_abi_condition_at(abi, variant, i)); i++) {
        const tile_abi_arg *arg = tile_abi_arg_at(abi, condition->arg); /* `grid` has none */
        printf("%s%s%s%s %" PRId64, i ? ", " : ": ", arg ? arg->name : "", arg ? " " : "",
               tile_condition_name(condition->kind), condition->value);
    }
    printf("\n");
    return true;
}

static bool measure(run *r) {
    const options *o = r->options;
    const tile_measure_options how = {
        .size = sizeof how, .warmup = 5, .repeats = o->repeats, .flush = o->flush};
    static const char *const caches[] = {[TILE_FLUSH_NONE] = ", L2 as it is",
                                         [TILE_FLUSH_DIRTY] = ", L2 flushed",
                                         [TILE_FLUSH_CLEAN] = ", L2 flushed clean"};
    tile_measurement m;
    if (!o->repeats) return true;
    if (tile_measure(r->kernel, r->launch, o->argument_count, NULL, &how, &m) != TILE_OK)
        return false;
    printf("time     %.3f us, median of %u%s\n", 1e6 * m.median, m.repeats,
           tile_device_is_cuda(r->device) ? caches[o->flush] : "");
    printf("spread   %.3f to %.3f us, half of them from %.3f to %.3f\n", 1e6 * m.fastest,
           1e6 * m.slowest, 1e6 * m.lower, 1e6 * m.upper);
    return true;
}

/* Prints the largest error relative to the allowed one: percent below 10 times, rounded up if the
 * result is wrong, so that 100 % is never wrong. Infinity: no error is allowed, or a result is NaN.
 */
static void print_share(double share) {
    double percent = 100 * share;
    if (percent >= 10) percent = share > 1 ? ceil(percent) : floor(percent);
    if (isinf(share))
        printf("largest error not caused by rounding");
    else if (share >= 10)
        printf("largest error %.3g times the allowed rounding", share);
    else
        printf("largest error %.*g %% of the allowed rounding", percent < 10 ? 2 : 3, percent);
}

static bool print_check(const check_result *c) {
    printf("check    %s%s", c->name ? c->name : "", c->name ? ": " : "");
    if (c->freivalds)
        printf("%zu elements by Freivalds' test on whole numbers: %zu wrong rows\n", c->elements,
               c->mismatches);
    else if (c->exact)
        printf("%zu elements, all compared for equality: %zu wrong\n", c->elements, c->mismatches);
    else if (c->tolerance >= 0)
        printf("%zu elements, largest error %.3g of |expected| + rms, bound %.3g: %zu "
               "wrong\n",
               c->elements, c->largest, c->tolerance, c->mismatches);
    else {
        printf("%zu elements, ", c->elements);
        print_share(c->largest);
        printf(": %zu wrong\n", c->mismatches);
    }
    if (c->inexact_sums)
        printf(
            "warning: some results are too large to be exact in their type; use smaller inputs\n");
    return c->mismatches == 0 && !c->inexact_sums;
}

/* Prints how to find out whether the compiler or the kernel is wrong. */
static void suggest_run_each(const run *r) {
    const options *o = r->options;
    fprintf(stderr, "note: `tile-opt %s --run-each --kernel=%s", o->file,
            tile_function_name(r->function));
    for (unsigned i = 0; i < o->binding_count; i++)
        fprintf(stderr, " --param=%s=%s", o->bindings[i].name, o->bindings[i].value);
    arguments_print(stderr, " --arg=", o->arguments, o->argument_count);
    fprintf(stderr, "` tells whether a pass changed a result\n");
}

/* False: a comparison was impossible. Otherwise, *right becomes false if a result is wrong. */
static bool check_reference(run *r, unsigned count, bool named, bool *right) {
    options *o = r->options;
    for (unsigned i = 0; i < count; i++) {
        check_result result;
        if (!reference_check(&r->reference, o->arguments, i, o->tolerance, named, &result))
            return false;
        *right &= print_check(&result);
    }
    return true;
}

static bool check(run *r) {
    options *o = r->options;
    unsigned references = r->reference.count - r->reference.input_count;
    bool right = true, named = references + o->check_count > 1;
    if (!check_reference(r, references, named, &right)) return false;
    for (unsigned i = 0; i < o->check_count; i++) {
        check_result result;
        if (!check_output(o->checks[i], o->arguments, o->argument_count))
            return !fail(o->checks[i], "--check takes OUT=EXPR, where OUT is a result");
        if (!check_run(r->context, o->checks[i], o->arguments, o->argument_count, o->tolerance,
                       named, &result))
            return false;
        right &= print_check(&result);
    }
    if (!right && o->level != 1 && !r->scheduled) suggest_run_each(r);
    return right;
}

static bool save_arrays(run *r) {
    options *o = r->options;
    for (unsigned i = 0; i < o->save_count; i++) {
        const char *equals = strchr(o->saves[i], '=');
        run_argument *a = arguments_find(o->arguments, o->argument_count, o->saves[i],
                                         (size_t)(equals - o->saves[i]));
        if (!a || !a->is_array) return !fail(o->saves[i], "there is no array of this name");
        if (!npy_write(equals + 1, &a->array)) return false;
    }
    return true;
}

static void print_counts(tile_cpu_counts counts) {
    printf("counts   %" PRIu64 " barriers, %" PRIu64 " bank conflicts, %" PRIu64
           " sectors, %" PRIu64 " operations\n",
           counts.barriers, counts.bank_conflicts, counts.sectors, counts.operations);
}

/* After tuning, the best point runs. */
static bool tune(run *r) {
    options *o = r->options;
    const tile_measure_options how = {
        .size = sizeof how, .warmup = 5, .repeats = o->repeats, .flush = o->flush};
    if (!o->tuning.tune) return true;
    if (!tune_run(&o->tuning, r->device, r->module, r->function, o->bindings, o->binding_count,
                  o->arguments, o->repeats ? &how : NULL, &r->tuning))
        return false;
    const tile_candidate *best = tile_tuning_best(r->tuning);
    for (unsigned i = 0; i < o->binding_count; i++) free((char *)o->bindings[i].name);
    o->binding_count = 0;
    for (unsigned i = 0; i < best->binding_count && i < 64; i++) {
        const tile_binding *b = &best->bindings[i];
        o->bindings[o->binding_count++] =
            (tile_binding){tool_copy(b->name, strlen(b->name)), b->value};
    }
    return true;
}

static bool launch(run *r) {
    options *o = r->options;
    double since = seconds();
    if (tile_kernel_create(r->device, r->module, tile_function_name(r->function), o->bindings,
                           o->binding_count, &r->kernel) != TILE_OK)
        return false;
    print_time_of(o, "compile", since);
    if (tool_remarks_failed()) return false;
    if (!save_ptx(r) || !upload(r) || !trace_open(&r->trace, o->trace, o->trace_blocks))
        return false;
    since = seconds();
    bool ran = tile_kernel_launch(r->kernel, r->launch, o->argument_count, NULL) == TILE_OK &&
               tile_device_synchronize(r->device) == TILE_OK;
    if (!trace_close(&r->trace) || !ran) return false; /* also after a fault, to show its cause */
    if (tool_remarks_failed()) return false;
    double took = seconds() - since;
    if (!download(r)) /* before the measurement runs it again */
        return false;
    print_head(r);
    if (!tile_device_is_cuda(r->device))
        printf("time     %.3f ms, one run on the CPU device\n", 1e3 * took);
    if (o->counts) print_counts(tile_device_counts(r->device));
    return print_variant(r);
}

/* A compute's results become arguments with the same names, so that they can be saved and
 * checked. */
static bool run_level_1(run *r) {
    options *o = r->options;
    double since = seconds();
    if (!compute_run_named(r->function, o->bindings, o->binding_count, o->arguments,
                           o->argument_count, &o->argument_count))
        return false;
    printf("compute  @%s, level 1 in f64, %.3f ms\n", tile_function_name(r->function),
           1e3 * (seconds() - since));
    return check(r) && save_arrays(r);
}

/* Returns the limit for sums of generated numbers, so that all results are exact. False after a
 * message. */
static bool find_limit(const run *r, double *limit) {
    const options *o = r->options;
    *limit = o->with_reference ? reference_limit(&r->reference) : 2048;
    for (unsigned i = 0; i < o->check_count; i++) {
        run_argument *output = check_output(o->checks[i], r->options->arguments, o->argument_count);
        if (!output && o->level != 1)
            return !fail(o->checks[i], "--check takes OUT=EXPR, where OUT is an array argument");
        double own = output ? tile_scalar_whole_limit(output->array.scalar) : *limit;
        if (i == 0 || own < *limit) *limit = own;
    }
    return true;
}

static bool run_kernel(run *r) {
    options *o = r->options;
    double limit;
    double since = seconds();
    if (o->trace && (o->repeats || o->tuning.tune))
        return !fail("--trace", "changes the timing; leave out --time and --tune");
    if (!tune_check(&o->tuning)) return false;
    if (o->tuning.tune && o->level == 1)
        return !fail("--tune", "does not apply at level 1: a compute has no points");
    if (o->target && o->level == 1)
        return !fail(
            "--target",
            "does not apply at level 1, where a compute is evaluated directly; leave it out");
    if (o->with_reference && o->level == 1)
        return !fail("--check", "at level 1 the compute itself runs: give OUT=EXPR");
    if (o->with_reference && !reference_open(&r->reference, r->module, r->function, o->bindings,
                                             o->binding_count, o->arguments, o->argument_count))
        return false;
    if (!find_limit(r, &limit) ||
        !arguments_fill(o->arguments, o->argument_count, o->seed ? o->seed : 1, limit) ||
        !check_file_types(r) || (o->with_reference && !reference_keep(&r->reference, o->arguments)))
        return false;
    print_time_of(o, "make arguments", since);
    if (o->level == 1) return run_level_1(r);
    if ((!r->device && open_device(r) != TILE_OK) || !tune(r) || !launch(r)) return false;
    since = seconds();
    bool right = check(r);
    print_time_of(o, "check", since);
    return measure(r) && save_arrays(r) && right;
}

static bool find_and_run(run *r) {
    options *o = r->options;
    return (r->function = find_function(r)) && order_arguments(r) &&
           arguments_shape(r->module, r->function, o->bindings, o->binding_count, o->arguments) &&
           run_kernel(r);
}

static void close_run(run *r) {
    options *o = r->options;
    reference_close(&r->reference);
    for (unsigned i = 0; i < o->argument_count; i++) {
        tile_buffer_destroy(o->arguments[i].buffer);
        free(o->arguments[i].array.data);
        free((char *)o->arguments[i].name);
    }
    for (unsigned i = 0; i < o->binding_count; i++) free((char *)o->bindings[i].name);
    tile_kernel_destroy(r->kernel);
    tile_tuning_destroy(r->tuning);
    tile_device_destroy(r->device);
    tile_module_destroy(r->module);
    tile_context_destroy(r->context);
    free(r->cache_dir);
}

int main(int argc, char **argv) {
    static options o = RUN_DEFAULTS;
    run r = {.options = &o};
    tool_arguments args = {.argc = argc, .argv = argv, .next = 1};
    tool_start();
    setvbuf(stdout, NULL, _IOLBF, 0); /* keeps results and errors in order, also in a pipe */
    while (args.next < argc) {
        if (tool_flag(&args, "--help")) {
            options_print_help();
            return tool_finish(true);
        }
        if (tool_flag(&args, "--version")) return tool_print_version("tile-run");
        if (!options_parse(&o, &args)) return 1;
    }
    if (!o.file)
        return fail("tile-run", "no input file; write tile-run FILE.tile, see tile-run --help");
    if (!options_check(&o)) return 1;
    r.context = tile_context_create();
    tool_print_remarks(r.context, o.remarks);
    r.module = tool_parse_file(r.context, o.file);
    bool right = r.module && (o.list ? list(&r) : find_and_run(&r));
    close_run(&r);
    return tool_finish(right);
}
