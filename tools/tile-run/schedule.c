/* Runs a compute as a kernel: schedules it, and adds what the arrays imply about its arguments to
 * the command line's arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-run/options.h"

enum { MAX_ARGUMENTS = sizeof((options *)NULL)->arguments / sizeof(run_argument) };

static bool fail(const char *name, const char *why) {
    fprintf(stderr, "error: %s: %s\n", name, why);
    return false;
}

static run_argument *find(options *o, const char *name) {
    return arguments_find(o->arguments, o->argument_count, name, strlen(name));
}

static bool add(options *o, run_argument argument, const char *name) {
    if (o->argument_count == MAX_ARGUMENTS)
        return fail(name, "with the compute's dims and results, a kernel cannot have so many "
                          "arguments; `tile-opt --manual=limits` prints the limit");
    argument.name = tool_copy(name, strlen(name));
    o->arguments[o->argument_count++] = argument;
    return true;
}

/* Binds an element type parameter to the type of the first array that uses it. */
static bool bind_type(options *o, const char *name, const run_argument *argument) {
    bool untyped = argument->array.scalar == TILE_SCALAR_NONE; /* a file that was not read yet */
    if (argument->shapeless || untyped || options_bind(o, name)) return true;
    if (o->binding_count == sizeof o->bindings / sizeof *o->bindings)
        return fail(name, "there are too many parameters");
    o->bindings[o->binding_count++] =
        (tile_binding){tool_copy(name, strlen(name)), tile_scalar_name(argument->array.scalar)};
    return true;
}

/* Binds a parameter to the array's extent, overriding its default. */
static bool bind_extent(options *o, const char *name, int64_t extent) {
    char both[512];
    int at = snprintf(both, sizeof both - 32, "%s", name) + 1;
    if (o->binding_count == sizeof o->bindings / sizeof *o->bindings)
        return fail(name, "there are too many parameters");
    if (at > (int)sizeof both - 32) return fail(name, "the name is too long");
    int end = at + snprintf(both + at, 32, "%lld", (long long)extent);
    const char *kept = tool_copy(both, (size_t)end); /* the value follows the name, freed with it */
    o->bindings[o->binding_count++] = (tile_binding){kept, kept + at};
    return true;
}

/* Returns the argument's name for a dim, as tile_schedule chooses it. Valid until the next call. */
static const char *argument_name(const tile_function *compute, const char *dim) {
    static char name[256];
    bool taken = false;
    for (unsigned i = 0; i < tile_function_arg_count(compute); i++)
        taken |= strcmp(tile_function_arg_name(compute, i), dim) == 0;
    for (unsigned i = 0; i < tile_function_result_count(compute); i++)
        taken |= strcmp(tile_function_result_name(compute, i), dim) == 0;
    snprintf(name, sizeof name, "%s%s", dim, taken ? "_dim" : "");
    return name;
}

/* Dims that occur alone in the type of an array are bound to its extents. */
static bool take_array(options *o, const tile_function *compute, const tile_type *type,
                       const run_argument *argument) {
    if (type->param && !bind_type(o, type->param, argument)) return false;
    if (argument->shapeless) return true;
    if (argument->array.rank != type->rank)
        return fail(argument->name, "the array has another number of dims than the compute's");
    for (unsigned d = 0; d < type->rank; d++) {
        const tile_expr *dim = type->dims[d];
        int64_t extent = argument->array.dims[d];
        if (!dim || dim->kind != TILE_EXPR_PARAM || options_bind(o, dim->name)) continue;
        if (tile_function_has_number(compute, dim->name)) {
            if (!bind_extent(o, dim->name, extent)) return false;
            continue;
        }
        const char *name = argument_name(compute, dim->name);
        const run_argument number = {.integer = extent, .number = (double)extent};
        if (!find(o, name) && !add(o, number, name)) return false;
    }
    return true;
}

static bool take_arrays(options *o, const tile_function *compute) {
    for (unsigned i = 0; i < tile_function_arg_count(compute); i++) {
        const tile_type *type = tile_function_arg_type(compute, i);
        run_argument *argument = find(o, tile_function_arg_name(compute, i));
        if (argument && !argument_read(argument)) return false;
        if (argument && type->kind == TILE_TYPE_TENSOR)
            npy_take_type(&argument->array, type->scalar);
        if (argument && argument->is_array && type->kind == TILE_TYPE_TENSOR &&
            !take_array(o, compute, type, argument))
            return false;
    }
    return true;
}

/* Results that are not given are filled with poison, so that unwritten elements are noticed. */
static bool add_results(options *o, const tile_function *compute) {
    for (unsigned i = 0; i < tile_function_result_count(compute); i++) {
        const char *name = tile_function_result_name(compute, i);
        const run_argument result = {.is_array = true, .shapeless = true, .fill = FILL_POISON};
        if (!find(o, name) && !add(o, result, name)) return false;
    }
    return true;
}

/* Drops the bindings that only the compute needed. */
static void keep_bindings(options *o, const tile_binding *left, unsigned count) {
    for (unsigned i = 0; i < o->binding_count; i++) {
        bool kept = false;
        for (unsigned n = 0; n < count; n++) kept |= left[n].name == o->bindings[i].name;
        if (!kept) free((char *)o->bindings[i].name);
    }
    memcpy(o->bindings, left, sizeof *left * count);
    o->binding_count = count;
}

const tile_function *run_schedule(options *o, tile_module *module, const tile_function *compute,
                                  const tile_target *target) {
    tile_binding left[64];
    const char *name;
    if (!take_arrays(o, compute) || !add_results(o, compute)) return NULL;
    unsigned count = o->binding_count;
    memcpy(left, o->bindings, sizeof *left * count);
    tile_status status =
        tile_schedule(module, tile_function_name(compute), target, left, &count, &name);
    keep_bindings(o, left, count);
    return status == TILE_OK ? tile_module_find(module, name) : NULL;
}
