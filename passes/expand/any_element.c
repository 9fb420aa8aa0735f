/* Computes whether a tile of i1 has a true element, as a scalar that is uniform across the
 * threads. */
#include "lib/analysis/executors.h"
#include "lib/layout/layout.h"
#include "passes/expand/expanded.h"

static const tile_type *type_of(const expanded_space *x, tile_value value) {
    return tile_value_type(x->b.function, value);
}

static tile_value largest_along(expanded_space *x, tile_value tile, unsigned axis) {
    tile_segment segments[] = {{tile, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    tile_attr along = {.id = TILE_ATTR_axis, .expr = tile_expr_int(x->context, axis)};
    tile_op op = tile_build_op_of(&x->b, TILE_OP_reduce, segments, 2, NULL, &along, 1);
    tile_op_set_int(x->b.function, op, TILE_ATTR_axis, axis);
    tile_op_set_text(x->b.function, op, TILE_ATTR_kind, "max");
    return tile_op_result(x->b.function, op, 0);
}

/* Extracts the single element, which every thread then holds. */
static tile_value extract_element(expanded_space *x, tile_value tile) {
    const uint32_t extent = 1;
    unsigned warps = tile_executors_in(x->b.function, x->b.region).warps;
    tile_layout layout = tile_layout_blocked(&extent, 1, 1, 0, warps);
    const tile_type *held = tile_type_with_layout(x->context, type_of(x, tile), &layout);
    tile_value own =
        tile_build_to_fragment(&x->b, tile_build_convert_layout(&x->b, tile, TILE_NO_VALUE, held),
                               tile_type_vector(x->context, held->scalar, 1));
    return tile_build_extract(&x->b, own, tile_build_int(&x->b, 0),
                              tile_type_scalar(x->context, held->scalar));
}

tile_value expanded_any(expanded_space *x, tile_value holds) {
    const tile_type *type = type_of(x, holds);
    const int64_t one = 1, elements = tile_type_elements(type);
    const tile_type *i32 = tile_type_scalar(x->context, TILE_i32);
    int64_t extents[TILE_MAX_RANK];
    for (unsigned d = 0; d < type->rank; d++) extents[d] = tile_type_dim(type, d);
    tile_value tile = tile_build_cast(&x->b, holds, expanded_extents(x, i32, extents, type->rank));
    if (tile_layout_admits_extent(elements)) tile = expanded_reshape(x, tile, &elements, 1);
    for (unsigned d = 0; d < type_of(x, tile)->rank; d++)
        if (tile_type_dim(type_of(x, tile), d) > 1) tile = largest_along(x, tile, d);
    tile_value found = extract_element(x, expanded_reshape(x, tile, &one, 1));
    return tile_build_ne(&x->b, tile_build_uniform(&x->b, found), tile_build_int(&x->b, 0));
}
