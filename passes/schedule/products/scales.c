/* Scales of the partial sums of a product (kernel/scaled.h), as tiles in its loop over k. */
#include "passes/schedule/kernel/scaled.h"
#include "passes/schedule/products/product.h"

static const tile_type *tile_of(const product *p, tile_scalar scalar, const tile_expr *const *dims,
                                unsigned rank) {
    tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = scalar, .rank = (uint8_t)rank};
    for (unsigned d = 0; d < rank; d++) draft.dims[d] = dims[d];
    return tile_type_get(p->k.s->context, &draft);
}

/* The number of blocks with one scale in a tile's rows or columns, and the elements of each that it
 * has: a tile is a part of a block, or consists of several. */
static void divide(const product *p, const tile_expr *block, const tile_expr **blocks,
                   const tile_expr **elements) {
    tile_context *context = p->k.s->context;
    const tile_expr *size = tile_expr_int(context, SCHED_SCALED_ELEMENTS);
    *blocks = tile_expr_op(context, TILE_OP_max, tile_expr_int(context, 1),
                           tile_expr_op(context, TILE_OP_div, block, size, NULL), NULL);
    *elements = tile_expr_op(context, TILE_OP_min, block, size, NULL);
}

/* Repeats each scale of blocks for the rows or columns of its block. */
static tile_value repeat_blocks(product *p, tile_value tile, unsigned along) {
    const tile_expr *one = tile_expr_int(p->k.s->context, 1), *blocks, *elements;
    const tile_expr *block = product_param(p, along ? "block_n" : "block_m");
    tile_scalar scalar = tile_value_type(p->k.f, tile)->scalar;
    divide(p, block, &blocks, &elements);
    const tile_expr *apart[] = {one, one, one}, *all[] = {one, one};
    apart[along] = blocks;
    all[along] = block;
    tile = tile_build_reshape(&p->k.b, tile, TILE_NO_VALUE, tile_of(p, scalar, apart, 3));
    apart[along + 1] = elements;
    tile = tile_build_broadcast(&p->k.b, tile, tile_of(p, scalar, apart, 3));
    return tile_build_reshape(&p->k.b, tile, TILE_NO_VALUE, tile_of(p, scalar, all, 2));
}

/* The first coordinate along a dim of the array, and the tile's extent along it. */
static tile_value place(product *p, sched_scale_dim dim, const tile_expr **extent) {
    tile_builder *b = &p->k.b;
    tile_value size = tile_build_int(b, SCHED_SCALED_ELEMENTS);
    bool rows = dim == SCHED_SCALE_ROW || dim == SCHED_SCALE_ROW_BLOCK;
    const tile_expr *block = product_param(p, rows ? "block_m" : "block_n"), *elements;
    tile_value start = p->k.start[rows ? p->m : p->n];
    *extent = tile_expr_int(p->k.s->context, 1);
    switch (dim) {
    case SCHED_SCALE_ONE: break;
    case SCHED_SCALE_CHUNK: return tile_build_div(b, p->k.start[p->depth], size);
    case SCHED_SCALE_ROW:
    case SCHED_SCALE_COLUMN: *extent = block; return start;
    case SCHED_SCALE_ROW_BLOCK:
    case SCHED_SCALE_COLUMN_BLOCK:
        divide(p, block, extent, &elements);
        return tile_build_div(b, start, size);
    }
    return tile_build_int(b, 0);
}

/* Loads one array's scales as a tile with the rows or the columns of the product's tile. */
static tile_value load(product *p, const sched_scale *scale) {
    sched_kernel *k = &p->k;
    int array = sched_find_input(k->s, k->g, scale->value);
    const tile_type *element = sched_element(k->s, scale->value);
    unsigned rank = sched_type(k->s, scale->value)->rank, along = 0;
    const tile_expr *dims[TILE_MAX_RANK], *one = tile_expr_int(k->s->context, 1);
    const tile_expr *flat[] = {one, one};
    tile_value at[TILE_MAX_RANK];
    bool blocks = false;
    if (array < 0) return TILE_NO_VALUE;
    for (unsigned d = 0; d < rank; d++) {
        sched_scale_dim dim = scale->dims[d];
        bool column = dim == SCHED_SCALE_COLUMN || dim == SCHED_SCALE_COLUMN_BLOCK;
        at[d] = place(p, dim, &dims[d]);
        if (dim == SCHED_SCALE_ONE || dim == SCHED_SCALE_CHUNK) continue;
        along = column;
        flat[along] = dims[d];
        blocks = dim == SCHED_SCALE_ROW_BLOCK || dim == SCHED_SCALE_COLUMN_BLOCK;
    }
    tile_value view = sched_array_view(k, (unsigned)array, scale->value);
    tile_value tile = tile_build_load(&k->b, view, at, rank, TILE_NO_VALUE,
                                      tile_of(p, element->scalar, dims, rank));
    tile = blocks ? repeat_blocks(p, tile, along)
                  : tile_build_reshape(&k->b, tile, TILE_NO_VALUE,
                                       tile_of(p, element->scalar, flat, 2));
    return sched_convert(k, tile, p->sum);
}

tile_value product_build_scale(product *p) {
    tile_value scale = TILE_NO_VALUE;
    for (unsigned i = 0; i < p->scaled->count; i++) {
        tile_value own = load(p, &p->scaled->scales[i]);
        if (!own.id) return TILE_NO_VALUE;
        own = sched_broadcast_to_tile(&p->k, own);
        scale = scale.id ? tile_build_mul(&p->k.b, scale, own) : own;
    }
    return scale;
}
