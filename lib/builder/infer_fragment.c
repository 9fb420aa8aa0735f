/* The rules of conversions between tiles and the fragments that a thread holds. */
#include "lib/analysis/executors.h"
#include "lib/builder/infer_rules.h"
#include "lib/layout/layout.h"
#include "lib/ir/named.h"

/* Computes the number of a tile's elements that each thread holds in its layout; 0 if that is not
 * known yet. Returns false after a report. */
static bool count_registers(const tile_infer *infer, const tile_type *tile, int64_t *count) {
    tile_layout layout;
    int64_t warps;
    *count = 0;
    if (!tile->layout)
        return fail(infer,
                    "the type must name a layout, which determines the elements of each thread: "
                    "`convert_layout` gives a tile one such as #mma_acc; it is",
                    tile, "", NULL);
    if (!tile_layout_is_named(tile->layout)) {
        *count = tile_layout_registers(tile->layout);
        return true;
    }
    const tile_expr *expr = infer->function->warps;
    if (!tile->scalar || tile_type_elements(tile) < 0 || !expr || !tile_expr_is_int(expr, &warps) ||
        warps < 1 || warps > TILE_MAX_WARPS)
        return true;
    const char *fault = tile_layout_resolve(tile, (unsigned)warps, &layout);
    if (fault) return true; /* the pass instantiate, which has the number of warps, reports it */
    *count = tile_layout_registers(&layout);
    return true;
}

/* Checks the vector of a thread's elements. In a kernel with roles, the warps that share the tile
 * depend on the surrounding text. So the written type is accepted until instantiate has assigned
 * the layout. */
static bool check_count(const tile_infer *infer, const tile_type *tile, const tile_type *vector) {
    int64_t count, has = tile_type_elements(vector);
    if (!count_registers(infer, tile, &count)) return false;
    if (!count || has < 0 || has == count || tile_layout_is_named(tile->layout)) return true;
    tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                "%s: a thread holds %lld elements of the tile, not %lld", op_name(infer),
                (long long)count, (long long)has);
    return false;
}

const tile_type *tile_infer_fragment(const tile_infer *infer) {
    const tile_type *tile = type_of(infer, TILE_OPERAND_src);
    tile_type draft = {.kind = TILE_TYPE_VECTOR, .rank = 1};
    tile_context *context = tile_function_context(infer->function);
    int64_t count;
    if (!tile->layout || !count_registers(infer, tile, &count) || !count) return NULL;
    draft.scalar = tile->scalar;
    draft.param = tile->param;
    draft.dims[0] = tile_expr_int(context, count);
    return tile_type_get(context, &draft);
}

bool tile_infer_to_fragment(tile_infer *infer) {
    const tile_type *tile = type_of(infer, TILE_OPERAND_src);
    int64_t count;
    if (!infer->given) {
        if (!count_registers(infer, tile, &count)) return false;
        return fail(infer,
                    "the number of elements per thread is not known here; write it, as in `: [8]`",
                    NULL, "", NULL);
    }
    if (!given(infer, TILE_TYPE_VECTOR, "the result must be a vector")) return false;
    if (!same_element(tile, infer->given))
        return fail(infer, "the result must have the element type of", tile, "", NULL);
    return check_count(infer, tile, infer->given);
}

bool tile_infer_from_fragment(tile_infer *infer) {
    const tile_type *vector = type_of(infer, TILE_OPERAND_src);
    if (!given(infer, TILE_TYPE_TILE, "the result must be a tile")) return false;
    if (!same_element(vector, infer->given))
        return fail(infer, "the result must have the element type of", vector, "", NULL);
    return check_count(infer, infer->given, vector);
}

bool tile_infer_coordinates(tile_infer *infer) {
    const tile_type *tile = type_of(infer, TILE_OPERAND_of);
    int64_t count, element;
    unsigned values;
    if (!count_registers(infer, tile, &count)) return false;
    if (count && !tile_layout_is_named(tile->layout) &&
        tile_value_is_int(infer->function, segment(infer, TILE_OPERAND_element, &values)[0],
                          &element) &&
        (element < 0 || element >= count)) {
        tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                    "coordinates: a thread holds the elements 0 to %lld of the tile, not %lld",
                    (long long)count - 1, (long long)element);
        return false;
    }
    if (!result(infer, tile_type_scalar(tile_function_context(infer->function), TILE_i32)))
        return false;
    for (unsigned d = 1; d < tile->rank; d++) infer->results[d] = infer->results[0];
    infer->result_count = tile->rank;
    return true;
}
