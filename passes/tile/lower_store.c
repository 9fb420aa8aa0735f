/* store_async: a tile goes to its view piece by piece, through a ring of buffers.
 *
 *     stage       0     1     0     1        of each group of four warps
 *     written     ===== =====   ===== =====    by all of its threads
 *     barrier     |          |  |          |   of the group alone
 *     under way              ----------    --------  started by one thread
 *
 * Two pieces are written, fenced and started together: a fence and a barrier for each cost more
 * than it gains to start the first one earlier, but behind the last tile nothing hides the copies,
 * and larger batches begin too late (2048^3: 3 %). The barrier before a round through the ring,
 * where it may still be read, is behind the wait of the thread that started the copies.
 *
 * A group is no executing set, and its barrier has a number that nobody else uses; where there is
 * none, the set's own serves. */
#include "lib/analysis/access.h"
#include "lib/ir/regions.h"
#include "lib/ir/shape.h"
#include "lib/layout/pieces.h"
#include "passes/tile/lower.h"

enum { LANES = 1 << TILE_LANE_BITS };

typedef struct store {
    tile_op op;
    tile_value tile, buffer; /* of the old body */
    const tile_value *element;
    const tile_type *type, *ring;
    tile_pieces pieces;
    unsigned stages;                 /* of a group */
    tile_value first;                /* element offset of the group's stages */
    tile_value begin[TILE_MAX_RANK]; /* where its pieces begin, beside what registers add */
    tile_value starts;               /* i1: the thread that starts copies */
    unsigned number;                 /* of the first group's barrier; 0: the set's */
    lower_boxes *boxes;              /* NULL: ordinary stores */
} store;

/* Groups --------------------------------------------------------------------------------------- */

static uint32_t group_threads(const store *s) {
    return (uint32_t)LANES << s->pieces.group_bits;
}

/* The number of the group's first thread. */
static tile_value first_thread(lowering *l, const store *s) {
    uint32_t all = group_threads(s) * s->pieces.groups;
    return tile_build_and(&l->builder, l->thread, lower_int(l, all - group_threads(s)));
}

/* What the group's first warp adds to coordinate d. */
static tile_value group_coordinate(lowering *l, const store *s, unsigned d) {
    const tile_layout *layout = s->type->layout;
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS] = {0};
    for (unsigned i = s->pieces.group_bits; i < layout->warp_bits; i++)
        bases[TILE_LANE_BITS + i] = tile_layout_coordinate(layout, layout->warp[i], d);
    return lower_thread_map(l, bases, TILE_LANE_BITS + layout->warp_bits);
}

/* The first of as many numbers as there are groups, the same ones wherever the set meets. */
static unsigned find_numbers(lowering *l, const store *s) {
    tile_region role = l->who.role;
    unsigned i = 0, groups = s->pieces.groups;
    if (groups == 1 || l->who.groups > 1) return 0;
    while (i < l->met_count && l->met_in[i].id != role.id) i++;
    if (i < l->met_count) return l->met_first[i];
    unsigned first = tile_find_barriers(&l->old, l->numbers_taken, groups);
    if (!first) return 0;
    l->numbers_taken |= ((UINT32_C(1) << groups) - 1) << first;
    l->met_in[l->met_count] = role;
    l->met_first[l->met_count++] = first;
    return first;
}

/* if the group is this one { its barrier } else { .. } */
static void meet_from(lowering *l, const store *s, tile_value thread, unsigned group) {
    tile_value warps = lower_int(l, INT64_C(1) << s->pieces.group_bits);
    if (group + 1 == s->pieces.groups) {
        tile_build_sync(&l->builder, lower_int(l, s->number + group), warps);
        return;
    }
    tile_value here =
        tile_build_eq(&l->builder, thread, lower_int(l, (int64_t)group * group_threads(s)));
    tile_op branch = tile_build_if_else(&l->builder, here, NULL, 0);
    tile_builder outer = l->builder;
    l->builder.region = tile_op_region(l->f, branch, 0);
    tile_build_sync(&l->builder, lower_int(l, s->number + group), warps);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder.region = tile_op_region(l->f, branch, 1);
    meet_from(l, s, thread, group + 1);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder = outer;
}

static void meet(lowering *l, const store *s) {
    if (s->number)
        meet_from(l, s, first_thread(l, s), 0);
    else
        tile_build_sync_for(&l->builder, l->who);
}

/* Pieces --------------------------------------------------------------------------------------- */

static tile_value take_piece(lowering *l, const store *s, unsigned piece) {
    const tile_layout *layout = s->type->layout;
    tile_value fragment = lower_mapped(l, s->tile);
    unsigned count = tile_layout_registers(&s->pieces.piece);
    uint32_t first = tile_pieces_register(&s->pieces, layout, piece, 0);
    const tile_type *type = tile_type_vector(tile_function_context(l->f), s->type->scalar, count);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, count);
    bool neighbours = true;
    if (tile_value_type(l->f, fragment) == type) return fragment;
    for (unsigned i = 0; i < count; i++) {
        order[i] = tile_pieces_register(&s->pieces, layout, piece, i);
        neighbours &= order[i] == first + i;
    }
    if (neighbours) return tile_build_extract(&l->builder, fragment, lower_int(l, first), type);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, count);
    for (unsigned i = 0; i < count; i++)
        parts[i] =
            tile_build_extract(&l->builder, fragment, lower_int(l, order[i]),
                               tile_type_scalar(tile_function_context(l->f), s->type->scalar));
    return count == 1 ? parts[0] : tile_build_concat(&l->builder, parts, count);
}

static const tile_type *piece_type(lowering *l, const store *s, const tile_layout *layout) {
    tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = s->ring->scalar, .rank = s->ring->rank};
    for (unsigned d = 0; d < draft.rank; d++) draft.dims[d] = s->ring->dims[d];
    draft.layout = layout;
    return tile_type_get(tile_function_context(l->f), &draft);
}

/* By all threads of the group, from where they have written it. */
static void store_read(lowering *l, const store *s, tile_value stage, const tile_value *ahead) {
    tile_layout layout =
        tile_access_layout(&l->old, l->ranges, s->element, s->ring, 1u << s->pieces.group_bits);
    const tile_type *type = piece_type(l, s, &layout);
    lower_shared_map map = lower_map_stage(l, s->buffer, stage, &layout);
    lower_store_piece(l, s->op, lower_load_mapped(l, &map, type, true), type, s->element, ahead);
}

/* Until all stages of the group have been read; copied: in the background, too. */
static void await_stages(lowering *l, const store *s, bool copied) {
    if (copied) {
        tile_build_bulk_wait(&l->builder, lower_int(l, 0));
        tile_op_set_flag(l->f, tile_region_at(l->f, l->builder.region)->last, TILE_ATTR_read);
    }
    meet(l, s);
}

/* Where a piece is, in the ring and behind the tile's place in the view. */
typedef struct piece_place {
    tile_value stage;
    tile_value ahead[TILE_MAX_RANK];
} piece_place;

static piece_place place_piece(lowering *l, const store *s, unsigned piece) {
    const tile_layout *layout = s->type->layout;
    uint32_t first = tile_pieces_register(&s->pieces, layout, piece, 0);
    int64_t offset = (int64_t)(piece % s->stages) * tile_type_elements(s->ring);
    piece_place place = {.stage = lower_add(l, s->first, lower_int(l, offset))};
    for (unsigned d = 0; d < s->type->rank; d++)
        place.ahead[d] =
            lower_add(l, s->begin[d], lower_int(l, lower_register_coordinate(layout, first, d)));
    return place;
}

static void write_piece(lowering *l, const store *s, unsigned piece, tile_value stage) {
    lower_shared_map map = lower_map_stage(l, s->buffer, stage, &s->pieces.piece);
    lower_store_mapped(l, take_piece(l, s, piece), &map, piece_type(l, s, &s->pieces.piece));
}

enum { TOGETHER = 2 };

/* Pieces `first` to below `end`. */
static void store_batch(lowering *l, const store *s, unsigned first, unsigned end) {
    piece_place places[TOGETHER];
    for (unsigned i = first; i < end; i++) {
        places[i - first] = place_piece(l, s, i);
        write_piece(l, s, i, places[i - first].stage);
    }
    if (s->boxes) tile_build_fence_async(&l->builder);
    meet(l, s);
    if (s->boxes) lower_begin_boxes(l, s->boxes, s->starts);
    for (unsigned i = 0; i < end - first; i++)
        if (s->boxes)
            lower_store_boxes(l, s->op, s->boxes, places[i].stage, places[i].ahead);
        else
            store_read(l, s, places[i].stage, places[i].ahead);
    if (s->boxes) lower_end_boxes(l, s->boxes);
}

/* Whether copies out of the ring may be under way: this store's or another one's. */
static bool is_copied(lowering *l, const store *s) {
    bool copied = s->boxes;
    for (uint32_t id = 1; id < l->old.op_count && !copied; id++) {
        const tile_op_data *data = &l->old.ops[id];
        unsigned count;
        if (data->opcode == TILE_OP_store_async &&
            tile_op_segment(&l->old, (tile_op){id}, 2, &count)->id == s->buffer.id)
            copied = lower_has_boxes(l, (tile_op){id});
    }
    return copied;
}

/* Whether the ring may have been filled before. */
static bool is_reused(const lowering *l, const store *s) {
    bool reused = false;
    for (tile_op at = s->op; at.id; at = tile_op_parent(&l->old, at))
        reused |= tile_op_opcode(&l->old, at) != TILE_OP_roles && tile_repeats(&l->old, at);
    for (uint32_t id = 1; id < l->old.op_count; id++)
        for (uint32_t i = 0; l->old.ops[id].opcode && i < l->old.ops[id].operand_count; i++)
            reused |= id != s->op.id && l->old.ops[id].operands[i].id == s->buffer.id &&
                      l->old.ops[id].opcode != TILE_OP_free_shared;
    return reused;
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

static void take_operands(const lowering *l, tile_op op, store *s) {
    unsigned count;
    uint32_t extents[TILE_MAX_RANK];
    *s = (store){.op = op, .tile = tile_op_operand(&l->old, op, 0)};
    s->element = tile_op_segment(&l->old, op, 1, &count);
    s->buffer = tile_op_segment(&l->old, op, 2, &count)[0];
    s->type = tile_value_type(&l->old, s->tile);
    s->ring = tile_value_type(&l->old, s->buffer);
    tile_type_dims(s->ring, extents);
    tile_pieces_cut(s->type->layout, extents, &s->pieces); /* lower_check has seen to it */
    s->stages = (unsigned)tile_type_stage_count(s->ring) / s->pieces.groups;
}

void lower_store_async(lowering *l, tile_op op) {
    store s;
    take_operands(l, op, &s);
    s.boxes = lower_find_boxes(l, op);
    s.number = find_numbers(l, &s);
    tile_value thread = s.pieces.groups > 1 ? first_thread(l, &s) : lower_int(l, 0);
    int64_t share = s.stages * tile_type_elements(s.ring) / group_threads(&s);
    s.first = lower_mul(l, thread, lower_int(l, share));
    for (unsigned d = 0; d < s.type->rank; d++) s.begin[d] = group_coordinate(l, &s, d);
    if (s.boxes) s.starts = tile_build_eq(&l->builder, l->thread, thread);
    if (tile_sync_is_explicit(&l->old, op)) lower_end_in_sync(l);
    if (is_reused(l, &s)) await_stages(l, &s, is_copied(l, &s));
    for (unsigned i = 0, end; i < s.pieces.count; i = end) {
        unsigned round = i - i % s.stages + s.stages;
        if (i && i % s.stages == 0) await_stages(l, &s, s.boxes != NULL);
        end = least(i + TOGETHER, least(round, s.pieces.count));
        store_batch(l, &s, i, end);
    }
}
