/* TMA boxes of a view that is a part of an argument's array: see lib/analysis/part_view.h.
 *
 * Most boxes are inside the part and are copied normally. The last box may extend beyond its end,
 * into existing elements that do not belong to the part. The producer copies that box to a separate
 * barrier, waits for it, and overwrites the excess rows with zeros before it signals that the stage
 * is full:
 *
 *     if box ends within the part {
 *       copy_async %v[%at, 0], %stage, %full
 *     } else {
 *       copy_async %v[%at, 0], %stage, %landed
 *       arrive at %landed, wait for it        phase 0, then phase 1: the next box begins
 *       store zeros from row %end - %at on    with phase 0 again
 *     }
 *     arrive at %full
 *
 * The consumers are unaffected. */
#include "passes/warps/specialize.h"

enum { CHUNK = 8 }; /* rows that are zeroed at once */

/* The dim of the box in which the part ends. */
static unsigned box_dim(const warp_specialization *s, unsigned copy) {
    const tile_part_view *part = &s->parts[copy];
    unsigned view = tile_value_type(s->ring.f, part->whole)->rank;
    tile_op op = s->ring.plan.copies[copy].op;
    tile_value buffer = s->ring.plan.copies[copy].buffer;
    tile_value tile = buffer.id ? buffer : tile_op_result(s->ring.f, op, 0);
    return part->dim + tile_value_type(s->ring.f, tile)->rank - view;
}

const char *specialize_reject_part(const warp_specialization *s, unsigned i) {
    tile_value tile = s->ring.plan.copies[i].buffer;
    const tile_part_view *part = &s->parts[i];
    if (!tile.id) tile = tile_op_result(s->ring.f, s->ring.plan.copies[i].op, 0);
    if (!part->end.id) return NULL;
    if (part->dim + tile_value_type(s->ring.f, tile)->rank <
        tile_value_type(s->ring.f, part->whole)->rank)
        return "the view ends along a dim that the tile lacks";
    if (s->distributed[i]) return "groups of warps share a copy from a part of an argument's array";
    if (s->shared_along[i])
        return "blocks of a cluster share a copy from a part of an argument's array";
    return NULL;
}

static void arrive_and_wait(const warp_specialization *s, tile_builder *b, int64_t parity) {
    tile_value first = tile_build_int(b, 0);
    tile_build_barrier_arrive(b, s->partial_box_barrier, &first, 1);
    tile_build_barrier_wait(b, s->partial_box_barrier, &first, 1, tile_build_int(b, parity));
}

/* for r = from to to step rows { store zeros to rows r .. of the stage } */
static void zero_rows(const warp_specialization *s, tile_builder *b, const part_copy *c,
                      tile_value from, tile_value to, int64_t rows) {
    tile_function *f = s->ring.f;
    tile_context *context = tile_function_context(f);
    tile_value buffer = s->ring.buffers[c->copy], at[1 + TILE_MAX_RANK] = {c->stage};
    const tile_type *type = tile_value_type(f, buffer);
    tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = type->scalar, .rank = type->rank};
    unsigned dim = box_dim(s, c->copy);
    for (unsigned d = 0; d < type->rank; d++)
        draft.dims[d] = d == dim ? tile_expr_int(context, rows) : type->dims[d];
    tile_op loop = tile_build_for_loop(b, from, to, tile_build_int(b, rows), NULL, 0);
    tile_builder body = tile_builder_at_end(f, tile_op_region(f, loop, 0));
    body.loc = b->loc;
    for (unsigned d = 0; d < type->rank; d++)
        at[1 + d] = d == dim ? tile_region_arg(f, body.region, 0) : tile_build_int(&body, 0);
    tile_value zeros = tile_build_zero(&body, tile_type_get(context, &draft));
    tile_build_store_shared(&body, zeros, buffer, at, 1 + type->rank);
    tile_build_yield(&body, NULL, 0);
}

/* left: remaining rows of the part. Zeros the other rows one by one up to a multiple of CHUNK, then
 * in chunks. */
static void zero_rest(const warp_specialization *s, tile_builder *b, const part_copy *c,
                      tile_value left, int64_t rows) {
    tile_value all = tile_build_int(b, rows), chunk = tile_build_int(b, CHUNK);
    const tile_type *narrow = tile_type_scalar(tile_function_context(s->ring.f), TILE_i32);
    tile_value first = tile_build_max(b, tile_build_cast(b, left, narrow), tile_build_int(b, 0));
    if (rows % CHUNK) {
        zero_rows(s, b, c, first, all, 1);
        return;
    }
    tile_value round = tile_build_mul(b, tile_build_ceildiv(b, first, chunk), chunk);
    zero_rows(s, b, c, first, round, 1);
    zero_rows(s, b, c, round, all, CHUNK);
}

static void copy_box(warp_specialization *s, tile_builder *b, const part_copy *c, tile_value bar,
                     tile_value index) {
    tile_value buffer = s->ring.buffers[c->copy];
    tile_build_copy_async(b, c->from[0], c->from + 1, c->size - 1, buffer, &c->stage, 1, bar,
                          &index, 1, TILE_NO_VALUE);
    ring_copy_cache_attrs(&s->ring, b, s->ring.plan.copies[c->copy].op);
}

/* The common type of two coordinates, i32 if possible. */
static const tile_type *coordinate_type(const warp_specialization *s, tile_value a, tile_value b) {
    const tile_function *f = s->ring.f;
    bool wide =
        tile_value_type(f, a)->scalar == TILE_i64 || tile_value_type(f, b)->scalar == TILE_i64;
    return tile_type_scalar(tile_function_context(f), wide ? TILE_i64 : TILE_i32);
}

/* The end is clamped to at least 0, so neither difference overflows: `end - at` is only computed
 * for a box with at > end - rows. */
void specialize_copy_part(warp_specialization *s, tile_builder *b, const part_copy *c) {
    tile_value at = c->from[1 + s->parts[c->copy].dim];
    const tile_type *type = coordinate_type(s, at, c->end);
    const tile_type *buffer = tile_value_type(s->ring.f, s->ring.buffers[c->copy]);
    int64_t rows = tile_type_dim(buffer, box_dim(s, c->copy));
    at = tile_build_cast(b, at, type);
    tile_value end = tile_build_cast(b, c->end, type);
    end = tile_build_max(b, end, tile_build_cast(b, tile_build_int(b, 0), type));
    tile_value last = tile_build_sub(b, end, tile_build_cast(b, tile_build_int(b, rows), type));
    tile_builder inside[2];
    specialize_branch(b, tile_build_le(b, at, last), inside);
    copy_box(s, &inside[0], c, c->full, c->stage);
    copy_box(s, &inside[1], c, s->partial_box_barrier, tile_build_int(&inside[1], 0));
    arrive_and_wait(s, &inside[1], 0);
    arrive_and_wait(s, &inside[1], 1);
    zero_rest(s, &inside[1], c, tile_build_sub(&inside[1], end, at), rows);
}
