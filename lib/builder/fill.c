#include "lib/builder/fill.h"

#include "lib/ir/describe.h"

static tile_op refuse(const tile_builder *b, const char *what, const tile_type *type) {
    tile_arena scratch = {0};
    tile_report(tile_function_context(b->function), TILE_ERROR, b->loc, "fill: %s, not %s", what,
                tile_type_text(b->function, type, NULL, &scratch));
    tile_arena_reset(&scratch);
    return TILE_NO_OP;
}

tile_op tile_build_fill_stores(tile_builder *builder, tile_value dst, tile_value src) {
    const tile_type *buffer = tile_value_type(builder->function, dst),
                    *scalar = tile_value_type(builder->function, src);
    int64_t stages = 0;
    if (buffer->kind != TILE_TYPE_SHARED)
        return refuse(builder,
                      "in a kernel `fill` sets a shared buffer; to set a part of a view, store a "
                      "tile, `store splat(0.0) : tile<f32[64]>, %y[%i]`",
                      buffer);
    if (scalar->kind != TILE_TYPE_SCALAR || scalar->scalar != buffer->scalar ||
        scalar->param != buffer->param)
        return refuse(builder, "the value must be one element of the buffer", scalar);
    if (buffer->stages && !tile_expr_is_int(buffer->stages, &stages))
        return refuse(builder, "the number of stages of the buffer must be a constant", buffer);
    tile_type draft = *buffer;
    draft.kind = TILE_TYPE_TILE;
    draft.stages = NULL;
    draft.layout = NULL;
    draft.cluster = false;
    tile_value tile = tile_build_splat(
        builder, src, tile_type_get(tile_function_context(builder->function), &draft));
    if (!buffer->stages) tile_build_store_shared(builder, tile, dst, NULL, 0);
    for (int64_t i = 0; i < stages; i++) {
        tile_value stage = tile_build_int(builder, i);
        tile_build_store_shared(builder, tile, dst, &stage, 1);
    }
    return builder->before.id ? tile_op_at(builder->function, builder->before)->prev
                              : tile_region_at(builder->function, builder->region)->last;
}
