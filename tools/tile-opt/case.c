/* Runs kernels on the CPU device, in the form they have between two passes. */
#include "tools/tile-opt/case.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arguments ----------------------------------------------------------------------------------- */

enum {
    DEFAULT_ELEMENTS = 1 << 16, /* for a pointer, which has no shape */
    SMALL_SUMS = 2048           /* limit for sums of the numbers, which f16 holds exactly */
};

/* Extents of views, in order of use. The first ones differ from each other, and later ones are
 * small. */
static const int64_t default_extents[] = {72, 40, 104, 3, 5, 2};

static bool complain(const char *what, const char *why) {
    fprintf(stderr, "error: %s: %s\n", what, why);
    return false;
}

static bool mentions(const tile_expr *e, unsigned argument) {
    if (!e) return false;
    if (e->kind == TILE_EXPR_ARG) return e->integer == argument;
    bool found = false;
    for (unsigned i = 0; e->kind == TILE_EXPR_OP && i < 3; i++)
        found |= mentions(e->args[i], argument);
    return found;
}

/* True if some view's extents or strides depend on the argument. */
static bool is_extent(const tile_function *f, unsigned argument) {
    bool found = false;
    for (unsigned i = 0; i < tile_function_arg_count(f); i++) {
        const tile_type *type = tile_function_arg_type(f, i);
        for (unsigned d = 0; type->kind == TILE_TYPE_VIEW && d < type->rank; d++)
            found |= mentions(tile_function_arg_extent(f, i, d), argument) ||
                     mentions(tile_function_arg_stride(f, i, d), argument);
    }
    return found;
}

/* Makes up a value that is exact in any computation: distinct sizes for extents, 1 for other
 * scalars, arrays of -1 to 1. */
static void default_argument(const tile_function *f, unsigned index, unsigned extents,
                             run_argument *to) {
    const tile_type *type = tile_function_arg_type(f, index);
    const char *name = tile_function_arg_name(f, index);
    const unsigned most = sizeof default_extents / sizeof *default_extents - 1;
    *to = (run_argument){.name = tool_copy(name, strlen(name)), .integer = 1};
    if (type->kind == TILE_TYPE_SCALAR) {
        int64_t divisor = tile_function_arg_divisible(f, index);
        if (is_extent(f, index)) to->integer = default_extents[extents < most ? extents : most];
        if (divisor > 1) to->integer = (to->integer + divisor - 1) / divisor * divisor;
        to->number = (double)to->integer;
        return;
    }
    to->is_array = true;
    to->fill = FILL_INT;
    to->shapeless = type->kind == TILE_TYPE_VIEW;
    to->array = (host_array){.scalar = type->scalar, .rank = 1, .dims = {DEFAULT_ELEMENTS}};
}

static bool check_argument(const tile_function *f, unsigned index, const run_argument *a) {
    const tile_type *type = tile_function_arg_type(f, index);
    bool array = type->kind != TILE_TYPE_SCALAR;
    if (array != a->is_array)
        return complain(a->name, array ? "takes an array" : "is a scalar and takes a number");
    if (array && a->shapeless && type->kind != TILE_TYPE_VIEW)
        return complain(a->name, "is not a view: give TYPE[DIMS], as in int:f16[128,64]");
    if (array && a->fill != FILL_FILE && !a->shapeless && type->scalar != TILE_SCALAR_NONE &&
        a->array.scalar != type->scalar)
        return complain(a->name, "the array's element type is not the argument's");
    return true;
}

/* Puts the given arguments into the kernel's order and makes up the missing ones. */
static bool take_arguments(test_case *c, const tile_function *f) {
    run_argument given[CASE_MAX_ARGUMENTS];
    const case_options *o = c->options;
    unsigned taken = 0, extents = 0, wanted = tile_function_arg_count(f);
    bool ok = wanted <= CASE_MAX_ARGUMENTS || complain(c->kernel, "has too many arguments");
    for (unsigned i = 0; i < o->argument_count && ok; i++)
        ok = argument_parse(o->arguments[i], &given[i]);
    for (unsigned i = 0; i < wanted && ok; i++) {
        const char *name = tile_function_arg_name(f, i);
        run_argument *a = arguments_find(given, o->argument_count, name, strlen(name));
        c->count = i + 1;
        if (a) {
            c->arguments[i] = *a;
            a->name = "";
            taken++;
            ok = check_argument(f, i, &c->arguments[i]);
        } else {
            default_argument(f, i, extents, &c->arguments[i]);
        }
        extents += is_extent(f, i);
    }
    for (unsigned i = 0; i < o->argument_count && ok && taken < o->argument_count; i++)
        ok = !*given[i].name || complain(given[i].name, "the kernel has no such argument");
    return ok;
}

/* The kernel ---------------------------------------------------------------------------------- */

static const tile_function *find_kernel(const tile_module *module, const char *name) {
    const tile_function *f, *found = NULL;
    for (unsigned i = 0; (f = tile_module_function(module, i)); i++) {
        tile_function_kind kind = tile_function_get_kind(f);
        if ((kind != TILE_KERNEL && !(name && kind == TILE_PLAN)) ||
            (name && strcmp(tile_function_name(f), name) != 0))
            continue;
        if (found) {
            complain("the input", "holds several kernels; name one with --kernel");
            return NULL;
        }
        found = f;
    }
    if (!found) complain(name ? name : "the input", "there is no such kernel");
    return found;
}

bool case_open(test_case *c, const case_options *options, tile_context *context,
               tile_module *module) {
    *c = (test_case){.options = options, .context = context};
    const tile_function *f = find_kernel(module, options->kernel);
    if (!f) return false;
    c->kernel = tile_function_name(f);
    if (tile_function_level(f) == 2 || options->binding_count) {
        if (tile_instantiate(module, c->kernel, options->bindings, options->binding_count) !=
            TILE_OK)
            return false;
        f = tile_module_find(module, c->kernel);
        c->kernel = tile_function_name(f);
    }
    c->kernel = tool_copy(c->kernel, strlen(c->kernel));
    return take_arguments(c, f) && arguments_shape(module, f, NULL, 0, c->arguments) &&
           arguments_fill(c->arguments, c->count, options->seed ? options->seed : 1, SMALL_SUMS);
}

void case_close(test_case *c) {
    for (unsigned i = 0; i < c->count; i++) {
        free(c->arguments[i].array.data);
        free((char *)(uintptr_t)c->arguments[i].name);
    }
    free((char *)(uintptr_t)c->kernel);
    *c = (test_case){0};
}

char *case_argument_text(const test_case *c, unsigned index) {
    const run_argument *a = &c->arguments[index];
    const case_options *o = c->options;
    char text[128];
    tool_text out = {NULL, 0, 0};
    size_t length = strlen(a->name);
    for (unsigned i = 0; i < o->argument_count; i++)
        if (strncmp(o->arguments[i], a->name, length) == 0 && o->arguments[i][length] == '=')
            return tool_copy(o->arguments[i], strlen(o->arguments[i]));
    tool_append(a->name, length, &out);
    if (!a->is_array)
        snprintf(text, sizeof text, "=%" PRId64, a->integer);
    else if (a->shapeless)
        snprintf(text, sizeof text, "=int");
    else
        snprintf(text, sizeof text, "=int:%s[%" PRId64 "]", tile_scalar_name(a->array.scalar),
                 a->array.dims[0]);
    tool_append(text, strlen(text), &out);
    return out.data;
}

/* Running ------------------------------------------------------------------------------------- */

void case_keep_error(const tile_diagnostic *d, void *tool_text_) {
    if (d->severity == TILE_ERROR) tile_diagnostic_print(d, tool_append, tool_text_);
}

void case_drop_line(const char *line, void *user) {
    (void)line, (void)user;
}

/* Removes raster order and persistent loops. The results do not depend on the order of tiles, and a
 * later pass would implement it. */
static void drop_order(tile_module *module) {
    tile_function *f;
    for (unsigned i = 0; (f = tile_module_function(module, i)); i++) {
        if (tile_function_get_kind(f) != TILE_KERNEL || tile_function_level(f) != 2) continue;
        tile_function_set_raster(f, TILE_RASTER_NONE, NULL);
        tile_function_set_persistent(f, false, NULL);
    }
}

/* Returns the level of the kernel, or of the kernels that a pass has added if it turned the kernel
 * into a plan. */
static unsigned level_of(const test_case *c, const tile_module *module) {
    const tile_function *f = tile_module_find(module, c->kernel), *part;
    if (!f) return 0;
    unsigned level = tile_function_level(f);
    size_t length = strlen(c->kernel);
    for (unsigned i = 0; (part = tile_module_function(module, i)) && level < 2; i++)
        if (tile_function_get_kind(part) == TILE_KERNEL &&
            strncmp(tile_function_name(part), c->kernel, length) == 0)
            level = tile_function_level(part);
    return level == 3 ? 3 : 2;
}

typedef struct running {
    tile_device *device;
    tile_kernel *kernel;
    tile_argument launch[CASE_MAX_ARGUMENTS];
    tile_buffer *buffers[CASE_MAX_ARGUMENTS];
} running;

static size_t bytes_of(const run_argument *a) {
    return a->array.count * tile_scalar_bytes(a->array.scalar);
}

static bool upload(const test_case *c, running *r) {
    for (unsigned i = 0; i < c->count; i++) {
        const run_argument *a = &c->arguments[i];
        r->launch[i] = (tile_argument){.integer = a->integer, .number = a->number};
        if (!a->is_array) continue;
        if (tile_buffer_create(r->device, bytes_of(a), &r->buffers[i]) != TILE_OK ||
            tile_buffer_write(r->buffers[i], 0, a->array.data, bytes_of(a)) != TILE_OK)
            return false;
        r->launch[i].buffer = r->buffers[i];
    }
    return true;
}

static void download(const test_case *c, const running *r, case_result *result) {
    for (unsigned i = 0; i < c->count; i++) {
        if (!r->buffers[i]) continue;
        size_t bytes = bytes_of(&c->arguments[i]);
        result->arrays[i] = malloc(bytes + 1);
        if (!result->arrays[i]) exit(1);
        tile_buffer_read(r->buffers[i], 0, result->arrays[i], bytes);
    }
}

static case_outcome launch(const test_case *c, const tile_module *module, running *r) {
    if (tile_kernel_create(r->device, module, c->kernel, NULL, 0, &r->kernel) != TILE_OK ||
        !upload(c, r))
        return CASE_REFUSED;
    tile_status status = tile_kernel_launch(r->kernel, r->launch, c->count, NULL);
    if (status == TILE_OK) status = tile_device_synchronize(r->device);
    switch (status) {
    case TILE_OK: return CASE_RAN;
    case TILE_FAULT: return CASE_FAULT;
    case TILE_INVALID:
    case TILE_UNSUPPORTED:
    case TILE_UNAVAILABLE:
    case TILE_FAILED:
    case TILE_OUT_OF_MEMORY: return CASE_REFUSED;
    }
    return CASE_REFUSED;
}

void case_run_on(test_case *c, const tile_module *module, tile_device *device,
                 case_result *result) {
    running r = {.device = device};
    *result = (case_result){.outcome = CASE_REFUSED};
    tool_append("", 0, &result->reports);
    tile_context_set_sink(c->context, case_keep_error, &result->reports);
    result->outcome = launch(c, module, &r);
    if (result->outcome == CASE_RAN) download(c, &r, result);
    for (unsigned i = 0; i < c->count; i++) tile_buffer_destroy(r.buffers[i]);
    tile_kernel_destroy(r.kernel);
    tile_context_set_sink(c->context, NULL, NULL);
}

void case_run(test_case *c, const tile_module *module, case_result *result) {
    const tile_device_options options = {.size = sizeof options,
                                         .level = level_of(c, module),
                                         .seed = c->options->seed,
                                         .max_operations = c->options->max_operations,
                                         .print = case_drop_line,
                                         .host_math = true, /* passes preserve every bit */
                                         .pipeline = ""};
    tile_device *device;
    tile_module *copy = tile_module_clone(module);
    drop_order(copy);
    if (tile_device_create_cpu(c->context, &options, &device) == TILE_OK) {
        case_run_on(c, copy, device, result);
        tile_device_destroy(device);
    } else {
        *result = (case_result){.outcome = CASE_REFUSED};
        tool_append("", 0, &result->reports);
    }
    tile_module_destroy(copy);
}

void case_free(const test_case *c, case_result *result) {
    for (unsigned i = 0; i < c->count; i++) free(result->arrays[i]);
    free(result->reports.data);
    *result = (case_result){.outcome = CASE_REFUSED};
}

/* Variants ------------------------------------------------------------------------------------ */

/* True if a launch with these numbers may select the variant; *is_one: the variant exists. */
static bool fits_variant(const test_case *c, const tile_module *module, const tile_target *target,
                         unsigned variant, const int64_t *numbers, bool *is_one) {
    char pass[64];
    tile_abi *abi = NULL;
    tile_module *copy = tile_module_clone(module);
    const tile_pass_options passes = {.size = sizeof passes, .target = target, .kernel = c->kernel};
    drop_order(copy);
    snprintf(pass, sizeof pass, "choose-variant{variant=%u}", variant);
    *is_one = tile_run_passes(copy, pass, &passes) == TILE_OK;
    if (*is_one) abi = tile_abi_create(tile_module_find(copy, c->kernel));
    bool fits = abi && tile_abi_pick_variant(abi, numbers) < tile_abi_variant_count(abi);
    tile_abi_destroy(abi);
    tile_module_destroy(copy);
    return fits;
}

bool case_variant(const test_case *c, const tile_module *module, const tile_target *target,
                  unsigned *variant) {
    enum { ADDRESS = 1 << 20 }; /* aligned like the device's buffers */
    int64_t numbers[CASE_MAX_ARGUMENTS];
    bool is_one = true;
    tile_context_set_sink(c->context, NULL, NULL);
    for (unsigned i = 0; i < c->count; i++)
        numbers[i] = c->arguments[i].is_array ? ADDRESS : c->arguments[i].integer;
    for (*variant = 0; is_one; ++*variant)
        if (fits_variant(c, module, target, *variant, numbers, &is_one)) return true;
    return false;
}

/* Comparing ----------------------------------------------------------------------------------- */

static bool is_same(double was, double is, double bound) {
    return was == is || (isnan(was) && isnan(is)) || (isfinite(was) && fabs(was - is) <= bound);
}

static void say_where(const run_argument *a, size_t index, double was, double is, tool_text *to) {
    char text[128];
    int64_t at[TILE_MAX_RANK] = {0};
    for (unsigned d = a->array.rank; d-- > 0;) {
        at[d] = (int64_t)(index % (size_t)a->array.dims[d]);
        index /= (size_t)a->array.dims[d];
    }
    to->size = 0;
    tool_append("%", 1, to);
    tool_append(a->name, strlen(a->name), to);
    for (unsigned d = 0; d < a->array.rank; d++) {
        int length = snprintf(text, sizeof text, "%s%" PRId64, d ? ", " : "[", at[d]);
        tool_append(text, (size_t)length, to);
    }
    int length = snprintf(text, sizeof text, "] is %.17g, and was %.17g", is, was);
    tool_append(text, (size_t)length, to);
}

bool case_differs(const test_case *c, const case_result *was, const case_result *is,
                  tool_text *where) {
    for (unsigned i = 0; i < c->count; i++) {
        const run_argument *a = &c->arguments[i];
        if (!was->arrays[i] || memcmp(was->arrays[i], is->arrays[i], bytes_of(a)) == 0) continue;
        tile_scalar scalar = a->array.scalar;
        unsigned step = tile_scalar_bytes(scalar);
        bool floating = tile_scalar_is_floating(scalar);
        host_array before = a->array;
        before.data = was->arrays[i];
        double slack = c->options->tolerance > 0 ? array_root_mean_square(&before) : 0;
        for (size_t k = 0; k < a->array.count; k++) {
            const unsigned char *x = was->arrays[i] + k * step, *y = is->arrays[i] + k * step;
            if (memcmp(x, y, step) == 0) continue;
            double old = tile_scalar_read(scalar, x), new = tile_scalar_read(scalar, y);
            if (floating && is_same(old, new, c->options->tolerance * (fabs(old) + slack)))
                continue;
            say_where(a, k, old, new, where);
            return true;
        }
    }
    return false;
}
