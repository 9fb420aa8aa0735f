/* Operands whose rows are windows of an array with contiguous channels: the rows of the product are
 * places of the window, and each step multiplies the channels of one position of the filter. They
 * are copied from a view of `im2col`, by TMA if the target has it. Other windows are copied with
 * index tiles. */
#include "passes/schedule/products/product.h"

#include "lib/analysis/tensor_map.h"
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"

/* A part of the number of a place or of a position: number / low % size. */
typedef struct digit {
    int64_t low, size; /* size: 0 if there is no remainder */
    int64_t scale;     /* of the digit in the coordinate */
} digit;

/* A spatial coordinate: a digit of the place, one of the position, and a number. The digits of
 * extents of 1 are absent. */
typedef struct spatial {
    digit place, position;
    int64_t offset;
} spatial;

static bool read_spatial(const product *p, unsigned rows, const sched_coordinate *at,
                         spatial *out) {
    sched_digit digits[2];
    unsigned count;
    *out = (spatial){.offset = 0};
    if (!sched_find_digits(p->k.s, at, digits, 2, &count, &out->offset)) return false;
    for (unsigned i = 0; i < count; i++) {
        bool of_place = digits[i].dim == (int)rows, of_tap = digits[i].dim == p->taps;
        digit *own = of_place ? &out->place : &out->position;
        if ((!of_place && !of_tap) || own->scale) return false;
        *own = (digit){digits[i].low, digits[i].size, digits[i].scale};
    }
    return true;
}

/* Completes a digit whose number has `count` values in all, of which the later digits take `low`.
 * False if it is no digit of that number. */
static bool complete(digit *d, int64_t low, int64_t count) {
    if (!d->scale) {
        *d = (digit){low, 1, 0};
        return true;
    }
    if (!d->size) d->size = count > 0 ? count / low : 0;
    return d->low == low && d->size > 0;
}

/* Sets the numbers of spatial dim i, of this extent, from its coordinate. */
static bool set_numbers(tile_im2col *w, unsigned i, const spatial *at, int64_t extent,
                        bool reversed) {
    int64_t step = at->place.scale ? at->place.scale : 1, distance = at->position.scale;
    int64_t last = (at->position.size - 1) * distance, first = at->offset;
    if (reversed) {
        first += last;
        last = -last;
        distance = -distance;
    }
    w->filter[i] = at->position.size;
    w->dilations[i] = at->position.size == 1 ? 1 : distance;
    w->strides[i] = step;
    w->pads[i][0] = -first;
    /* The last place's window ends at the end of the pad. */
    w->pads[i][1] = (at->place.size - 1) * step + last + 1 - extent + first;
    return step > 0 && w->dilations[i] > 0 && tile_im2col_places(w, i, extent) == at->place.size;
}

/* Returns whether the positions of all spatial dims run backward along src, as those of the phases
 * of a transposed convolution do. */
static bool runs_backward(const spatial *at, unsigned count) {
    bool any = false, all = true;
    for (unsigned i = 0; i < count; i++) {
        any |= at[i].position.scale < 0;
        all &= at[i].position.scale <= 0;
    }
    return any && all;
}

/* Returns whether the image is the rest of the place's number, or that of the product's batch,
 * whose rows are the places of one image. A tile may then end with places of the next image, which
 * are not stored. */
static bool find_images(const product *p, unsigned rows, const sched_coordinate *at, int64_t low,
                        int64_t count, int64_t batch, int *images) {
    sched_digit own;
    unsigned digits;
    int64_t offset;
    *images = at->index || at->offset || at->dim >= (int)p->m ? -1 : at->dim;
    if (*images >= 0) return count == low;
    if (!sched_find_digits(p->k.s, at, &own, 1, &digits, &offset) || offset) return false;
    if (!digits) return batch == 1 && count == low;
    return own.dim == (int)rows && own.low == low && own.scale == 1 &&
           (!own.size || own.size == batch);
}

/* The array has this shape at these coordinates. */
static bool find_windows_of(product *p, product_operand *side, unsigned rows,
                            const sched_shape *shape, const sched_map *map) {
    tile_im2col *w = &side->windows;
    const tile_type *type = shape->type;
    const sched_coordinate depth = sched_dim_coordinate(p->depth);
    const int64_t count = sched_constant(p->k.g->domain.extents[rows]);
    const int64_t taps = sched_constant(p->k.g->domain.extents[p->taps]);
    spatial at[TILE_MAX_SPATIAL];
    int64_t places = 1, positions = 1;
    if (type->rank < 3 || type->rank > 2 + TILE_MAX_SPATIAL) return false;
    *w = (tile_im2col){.spatial = type->rank - 2};
    if (!sched_same_coordinate(&map->at[type->rank - 1], &depth)) return false;
    for (unsigned i = w->spatial; i-- > 0;) {
        if (!read_spatial(p, rows, &map->at[1 + i], &at[i]) ||
            !complete(&at[i].place, places, count) || !complete(&at[i].position, positions, taps))
            return false;
        places *= at[i].place.size;
        positions *= at[i].position.size;
        if (places > INT32_MAX || positions > INT32_MAX) return false;
    }
    if (positions != taps ||
        !find_images(p, rows, &map->at[0], places, count,
                     sched_constant(sched_dim(p->k.s, type, 0)), &side->images))
        return false;
    side->reversed = runs_backward(at, w->spatial);
    for (unsigned i = 0; i < w->spatial; i++) {
        int64_t extent = sched_constant(sched_dim(p->k.s, type, 1 + i));
        if (extent < 1 || !set_numbers(w, i, &at[i], extent, side->reversed)) return false;
    }
    side->windows_of = *shape;
    return true;
}

/* A dim of the array may be several of the windows. */
static bool find_windows(product *p, product_operand *side, unsigned rows) {
    sched_map map = side->source_map;
    sched_shape shape = sched_shape_of(p->k.s, (unsigned)side->array, side->source);
    if (find_windows_of(p, side, rows, &shape, &map)) return true;
    shape = sched_split_shape(&p->k, (unsigned)side->array, side->source, &map);
    return find_windows_of(p, side, rows, &shape, &map);
}

/* Returns whether a tensor map can describe the array, which is row-major, and its windows. */
static bool has_map(const product *p, const product_operand *side) {
    enum { UNIT = 16 };
    const sched_shape *shape = &side->windows_of;
    int64_t channels = sched_constant(sched_dim(p->k.s, shape->type, shape->type->rank - 1));
    return !shape->strides[0] && channels > 0 &&
           channels * tile_scalar_bytes(side->element->scalar) % UNIT == 0 &&
           !tile_im2col_broken_rule(&side->windows);
}

/* Phases of a transposed convolution have short loops, and a block stores most of the time. Blocks
 * without a producer warp are smaller, and more of them store at once: 64 channels and 3 x 3
 * positions with stride 2 take 174 us, with tensor maps 222; 128 channels 24 and 33 (H200). */
static bool is_short(const product *p, const product_operand *side) {
    enum { MOST = 1024 /* bytes of a row of the product's operand */ };
    const sched_domain *domain = &p->k.g->domain;
    bool batched = false;
    for (unsigned d = 0; d < p->m; d++) batched |= !tile_expr_is(domain->extents[d], 1);
    return batched && side->images < 0 &&
           sched_constant(domain->extents[p->taps]) * sched_constant(p->extent_k) *
                   tile_scalar_bytes(side->element->scalar) <=
               MOST;
}

bool product_find_windows(product *p, unsigned index) {
    product_operand *side = &p->sides[index];
    /* wgmma takes one operand from registers: two that are rounded are gathered for mma.sync. */
    const bool rounded = side->rounded && p->sides[index ? 0 : 1].plain;
    return p->taps >= 0 && (side->plain || rounded) && product_uses_tensor_cores(p) &&
           find_windows(p, side, index ? p->n : p->m) && has_map(p, side) && !is_short(p, side);
}

static tile_value build_windows(product *p, const product_operand *side) {
    sched_kernel *k = &p->k;
    const tile_im2col *w = &side->windows;
    int64_t pads[2 * TILE_MAX_SPATIAL];
    for (unsigned i = 0; i < w->spatial; i++) {
        pads[2 * i] = w->pads[i][0];
        pads[2 * i + 1] = w->pads[i][1];
    }
    const tile_attr attrs[] = {
        {.id = TILE_ATTR_filter, .list = w->filter, .count = w->spatial},
        {.id = TILE_ATTR_strides, .list = w->strides, .count = w->spatial},
        {.id = TILE_ATTR_pads, .list = pads, .count = 2 * w->spatial},
        {.id = TILE_ATTR_dilations, .list = w->dilations, .count = w->spatial},
    };
    enum { ATTRS = sizeof attrs / sizeof *attrs };
    const tile_segment src = {sched_shaped_view(k, (unsigned)side->array, &side->windows_of), NULL,
                              0};
    tile_op op = tile_build_op_of(&k->b, TILE_OP_im2col, &src, 1, NULL, attrs, ATTRS);
    if (!op.id) return TILE_NO_VALUE;
    for (unsigned i = 0; i < ATTRS; i++)
        tile_op_set_list(k->f, op, attrs[i].id, attrs[i].list, attrs[i].count);
    return tile_op_result(k->f, op, 0);
}

void product_copy_windows(product *p, const product_operand *side) {
    sched_kernel *k = &p->k;
    const unsigned rows = side == &p->sides[1] ? p->n : p->m;
    const sched_coordinate row = sched_dim_coordinate(rows), depth = sched_dim_coordinate(p->depth),
                           tap = sched_dim_coordinate((unsigned)p->taps);
    tile_value at[TILE_IM2COL_RANK] = {
        [TILE_IM2COL_POSITION] = sched_begin(k, &tap),
        [TILE_IM2COL_PLACE] = sched_begin(k, &row),
        [TILE_IM2COL_CHANNEL] = sched_begin(k, &depth),
    };
    if (side->images >= 0) {
        const sched_coordinate image = sched_dim_coordinate((unsigned)side->images);
        const tile_expr *places = sched_expr(k->s, k->g->domain.extents[rows]);
        at[TILE_IM2COL_PLACE] = tile_build_add(
            &k->b, tile_build_mul(&k->b, sched_begin(k, &image), sched_number(k, places)),
            at[TILE_IM2COL_PLACE]);
    }
    if (side->reversed)
        at[TILE_IM2COL_POSITION] =
            tile_build_sub(&k->b, tile_build_int(&k->b, tile_im2col_positions(&side->windows) - 1),
                           at[TILE_IM2COL_POSITION]);
    tile_build_copy(&k->b, build_windows(p, side), at, TILE_IM2COL_RANK, side->shared, NULL, 0,
                    TILE_NO_VALUE);
}
