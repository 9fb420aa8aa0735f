/* Level 1: runs a compute on the arguments, in f64 on the CPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile/compute.h"
#include "tools/common/tool.h"
#include "tools/tile-run/run.h"

enum { MAX_ARRAYS = TILE_MAX_ARGUMENTS };

static tile_compute_array input_of(const run_argument *argument) {
    tile_compute_array input = {.rank = 0};
    input.data = (void *)argument_element(argument, &input.scalar);
    if (!argument->is_array) return input;
    input = (tile_compute_array){.scalar = argument->array.scalar,
                                 .rank = argument->array.rank,
                                 .data = argument->array.data};
    memcpy(input.dims, argument->array.dims, sizeof input.dims);
    return input;
}

tile_interval *ranges_allocate(size_t count) {
    tile_interval *ranges = calloc(count + 1, sizeof *ranges);
    if (!ranges) fputs("error: out of memory for the results\n", stderr);
    return ranges;
}

/* Converts the value that --param gives a compute's parameter: the name of an element type, or an
 * integer. */
static tile_compute_value value_of(const tile_binding *binding) {
    char *end;
    tile_compute_value value = {.name = binding->name,
                                .scalar =
                                    tile_scalar_from_name(binding->value, strlen(binding->value))};
    if (value.scalar != TILE_SCALAR_NONE) return value;
    errno = 0;
    value.number = strtoll(binding->value, &end, 0);
    if (!*binding->value || *end || errno) value.name = NULL;
    return value;
}

bool compute_run(const tile_function *f, const tile_binding *bindings, unsigned binding_count,
                 const run_argument *arguments, unsigned argument_count, host_array *results,
                 tile_interval **ranges, tile_scalar f64_as, unsigned count) {
    tile_compute_value values[MAX_ARRAYS];
    tile_compute_array inputs[MAX_ARRAYS], outputs[MAX_ARRAYS];
    if (argument_count > MAX_ARRAYS || count > MAX_ARRAYS || binding_count > MAX_ARRAYS) {
        fprintf(stderr, "error: a compute takes and gives at most %d arrays and parameters\n",
                MAX_ARRAYS);
        return false;
    }
    for (unsigned i = 0; i < binding_count; i++) {
        values[i] = value_of(&bindings[i]);
        if (values[i].name) continue;
        fprintf(stderr,
                "error: --param: %s of a compute is an integer or an element type, not "
                "'%s'\n",
                bindings[i].name, bindings[i].value);
        return false;
    }
    for (unsigned i = 0; i < argument_count; i++) inputs[i] = input_of(&arguments[i]);
    if (tile_compute_shapes_with(f, values, binding_count, inputs, argument_count, outputs,
                                 count) != TILE_OK)
        return false;
    for (unsigned i = 0; i < count; i++) {
        results[i] = (host_array){.scalar = outputs[i].scalar, .rank = outputs[i].rank};
        memcpy(results[i].dims, outputs[i].dims, sizeof results[i].dims);
        if (!array_allocate(&results[i])) {
            fprintf(stderr, "error: out of memory for the results\n");
            return false;
        }
        outputs[i].data = results[i].data;
        if (ranges && !(ranges[i] = ranges_allocate(results[i].count))) return false;
    }
    if (ranges)
        return tile_compute_run_intervals(f, values, binding_count, inputs, argument_count, outputs,
                                          ranges, count, f64_as) == TILE_OK;
    return tile_compute_run_with(f, values, binding_count, inputs, argument_count, outputs,
                                 count) == TILE_OK;
}

bool compute_run_named(const tile_function *f, const tile_binding *bindings, unsigned binding_count,
                       run_argument *arguments, unsigned count, unsigned *total) {
    host_array results[MAX_ARRAYS];
    unsigned result_count = tile_function_result_count(f);
    if (result_count > MAX_ARRAYS || *total + result_count > MAX_ARRAYS) {
        fprintf(stderr, "error: there are too many results\n");
        return false;
    }
    if (!compute_run(f, bindings, binding_count, arguments, count, results, NULL, TILE_f64,
                     result_count))
        return false;
    for (unsigned i = 0; i < result_count; i++) {
        const char *name = tile_function_result_name(f, i);
        char *copy = tool_copy(name, strlen(name));
        arguments[(*total)++] = (run_argument){.name = copy, .is_array = true, .array = results[i]};
        printf("result   %s: %s[", name, tile_scalar_name(results[i].scalar));
        for (unsigned d = 0; d < results[i].rank; d++)
            printf("%s%lld", d ? ", " : "", (long long)results[i].dims[d]);
        printf("]\n");
    }
    return true;
}
