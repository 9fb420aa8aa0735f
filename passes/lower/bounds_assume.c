/* Assumes that coordinates in shared buffers are in bounds. GPU code ignores the assumption. The
 * CPU device checks it, even if a guard skips the access or the offset is that of another element
 * of the buffer. */
#include "lib/ops/gather.h"
#include "passes/lower/lower.h"

static const char *text_of(lowering *l, tile_value buffer) {
    const tile_value_data *data = tile_value_at(&l->old, buffer);
    const char *text = "", *name = data->name;
    for (unsigned d = 0; d < data->type->rank; d++)
        text = tile_arena_format(l->pass->scratch, "%s%s%lld", text, d ? ", " : "",
                                 (long long)tile_type_dim(data->type, d));
    return tile_arena_format(l->pass->scratch,
                             "out of bounds: the coordinates are outside of %s%s, which has [%s] "
                             "elements",
                             name ? "%" : "the buffer", name ? name : "", text);
}

void lower_assume_in_bounds(lowering *l, tile_value buffer, tile_value inside,
                            tile_value predicate) {
    if (!inside.id) return;
    if (predicate.id)
        inside = tile_build_or(&l->builder, tile_build_not(&l->builder, predicate), inside);
    tile_build_assume(&l->builder, inside);
    tile_op_set_text(l->f, tile_region_at(l->f, l->builder.region)->last, TILE_ATTR_text,
                     text_of(l, buffer));
}

tile_value lower_in_bounds_of_buffer(lowering *l, const tile_type *buffer, const tile_value *index,
                                     unsigned run) {
    tile_value all = TILE_NO_VALUE;
    for (unsigned d = 0; d < buffer->rank; d++) {
        tile_range at = l->ranges[index[d].id];
        int64_t extent = tile_type_dim(buffer, d);
        if (d + 1u == buffer->rank) extent -= (int64_t)run - 1;
        if (at.min >= 0 && at.max < extent) continue;
        tile_value in = tile_build_ult(&l->builder, lower_mapped(l, index[d]),
                                       lower_int(l, extent < 0 ? 0 : extent));
        all = lower_and(l, all, in);
    }
    return all;
}

void lower_assume_element_in_bounds(lowering *l, tile_op op, const tile_value *element,
                                    unsigned run) {
    const tile_type *buffer = tile_value_type(&l->old, element[0]);
    tile_value predicate = tile_op_predicate(&l->old, op);
    lower_assume_in_bounds(
        l, element[0],
        lower_in_bounds_of_buffer(l, buffer, element + 1 + (buffer->stages != NULL), run),
        predicate.id ? lower_mapped(l, predicate) : TILE_NO_VALUE);
}
