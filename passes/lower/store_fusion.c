/* Operations whose results only piecewise stores (store.c) use are computed by these stores, one
 * piece at a time.
 *
 *     for the whole tile         load    +    tanh    cast       store store store store
 *     for each piece             load load   + tanh cast store   load   + tanh cast store   load ..
 *
 * An accumulator tile takes most of a thread's registers, so the intermediate values of a chain of
 * operations on the whole tile would be spilled. Only operations in the region of their stores are
 * fused, so they run as often as before. A division or a function of one element per row is not
 * fused if each piece of the row would compute it again. A reduction is fused if pieces have whole
 * rows of it, as they do if the columns of a product are normalized in groups: each piece is then
 * normalized while the others are still sums. A load is moved only across operations that cannot
 * change its result. */
#include "lib/analysis/memory.h"
#include "lib/ir/cost.h"
#include "lib/ir/remark.h"
#include "lib/layout/pieces.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "passes/lower/lower.h"
#include "passes/lower/roll.h"
#include "passes/lower/store_frames.h"

/* Selecting the operations --------------------------------------------------------------------- */

typedef struct fusion_finder {
    lowering *l;
    const tile_function *f;
    bool *needed_whole;        /* by value: it is needed as a whole */
    const lower_frame **whole; /* by fused operation: the stored tile as its result */
    tile_op *last;             /* by fused operation: the last store that uses it */
    uint32_t *place;           /* by operation: its position in the traversal; later operations have
                                  smaller numbers */
    uint32_t places;
    bool *several;              /* by operation: stores need it for different pieces */
    const lower_frame **frames; /* of all stores */
    size_t frame_count, frame_capacity;
} fusion_finder;

static bool is_sink(const tile_function *f, tile_op op) {
    return tile_op_opcode(f, op) == TILE_OP_store_async;
}

/* The layout of a value that is used for a tile with the layout `whole`. */
static tile_layout layout_within(const tile_type *type, const tile_layout *whole) {
    bool full = type->rank == whole->rank;
    for (unsigned d = 0; d < type->rank && full; d++)
        full = (uint32_t)tile_type_dim(type, d) == tile_layout_extent(whole, d);
    return full ? *whole : tile_broadcast_layout(type, whole);
}

static bool is_held_within(const tile_function *f, tile_value value, const tile_layout *whole) {
    const tile_type *type = tile_value_type(f, value);
    if (type->kind != TILE_TYPE_TILE) return true;
    tile_layout layout = layout_within(type, whole);
    return type->layout && tile_layout_equal(&layout, type->layout);
}

/* Returns whether both access each element at the same coordinates of the same view. */
static bool is_same_element(const tile_function *f, tile_op load, tile_op store) {
    tile_opcode opcode = tile_op_opcode(f, store);
    if (opcode != TILE_OP_store && opcode != TILE_OP_store_async) return false;
    if (!tile_is_plain_access(f, load) || !tile_is_plain_access(f, store)) return false;
    const tile_values from = tile_operands_src(f, load), to = tile_operands_dst(f, store);
    const tile_type *tile = tile_value_type(f, tile_op_result(f, load, 0)),
                    *stored = tile_value_type(f, tile_operand_src(f, store));
    bool same = from.count == to.count && tile->rank == stored->rank;
    for (unsigned i = 0; i < from.count && same; i++) same = from.at[i].id == to.at[i].id;
    for (unsigned d = 0; d < tile->rank && same; d++) same = tile->dims[d] == stored->dims[d];
    return same;
}

/* Returns whether the kernel writes the memory that the load reads, except by stores to the same
 * elements. */
static bool is_written(const tile_function *f, tile_op load, tile_value view) {
    bool written = false;
    for (uint32_t id = 1; id < f->op_count && !written; id++)
        written = f->ops[id].opcode && tile_may_write(f, (tile_op){id}, view) &&
                  !is_same_element(f, load, (tile_op){id});
    return written;
}

/* Barriers that only synchronize threads of the block. */
static bool is_block_barrier(tile_opcode opcode) {
    return opcode == TILE_OP_sync || opcode == TILE_OP_sync_arrive ||
           opcode == TILE_OP_barrier_arrive || opcode == TILE_OP_barrier_wait ||
           opcode == TILE_OP_fence_async;
}

/* Returns whether the load reads the same values after op as before it. */
static bool can_move_across(const tile_function *f, tile_op load, tile_value view, tile_op op) {
    const unsigned orders =
        TILE_EFFECT_BARRIER | TILE_EFFECT_RELEASE | TILE_EFFECT_CLUSTER | TILE_EFFECT_ATOMIC;
    unsigned effects = tile_op_effects(f, op);
    if (effects & TILE_EFFECT_REGION || tile_may_write(f, op, view)) return false;
    if (!(effects & orders)) return true;
    return is_block_barrier(tile_op_opcode(f, op)) && !is_written(f, load, view);
}

static bool can_fuse_load(const fusion_finder *s, tile_op load) {
    const tile_function *f = s->f;
    tile_value view = tile_operand_src(f, load);
    tile_op last = s->last[load.id], op = tile_op_next(f, load);
    if (tile_value_type(f, view)->kind != TILE_TYPE_VIEW || tile_value_type(f, view)->layout ||
        !tile_is_plain_access(f, load))
        return false;
    while (op.id != last.id && can_move_across(f, load, view, op)) op = tile_op_next(f, op);
    return op.id == last.id && (!tile_may_write(f, last, view) || is_same_element(f, load, last));
}

/* Remarks on loads of arguments that are as large as the stored tile. */
static void remark_not_fused(const fusion_finder *s, tile_op load) {
    const tile_function *f = s->f;
    const tile_type *tile = tile_value_type(f, tile_op_result(f, load, 0));
    const tile_type *stored = tile_value_type(f, tile_operand_src(f, s->last[load.id]));
    tile_value root = tile_memory_root(f, tile_operand_src(f, load));
    bool is_argument = root.id && tile_value_at(f, root)->kind == TILE_VALUE_ARG;
    if (is_argument && tile_type_elements(tile) == tile_type_elements(stored))
        tile_missed_at(
            f, load, "not loaded piece by piece",
            "add `noalias` to the argument, or load from the location of the store right before it",
            "the kernel may write it before the last piece is stored");
}

/* Returns whether the frame has groups of the stored tile's columns, so that a piece has whole rows
 * of it. */
static bool has_groups(const fusion_finder *s, tile_op op) {
    const tile_value stored = tile_operand_src(s->f, s->last[op.id]);
    return !s->several[op.id] && s->whole[op.id]->whole.rank > tile_value_type(s->f, stored)->rank;
}

/* Returns whether op computes one element per row, which each piece of the row would compute
 * again. */
static bool is_of_row(const fusion_finder *s, tile_op op, const lower_frame *whole) {
    const tile_type *type = tile_value_type(s->f, tile_op_result(s->f, op, 0));
    const unsigned last = whole->whole.rank - 1u;
    const uint32_t row = tile_layout_extent(&whole->whole, last),
                   piece = tile_layout_extent(&whole->pieces.piece, last);
    return type->rank && tile_type_dim(type, type->rank - 1) == 1 &&
           row > (has_groups(s, op) ? piece : 1);
}

static bool is_costly(tile_opcode opcode) {
    return opcode == TILE_OP_reduce || tile_op_is_costly(opcode);
}

/* The frame of all stores that is equal to this one. */
static const lower_frame *keep_frame(fusion_finder *s, const lower_frame *frame) {
    tile_arena *arena = s->l->pass->scratch;
    for (size_t i = 0; i < s->frame_count; i++)
        if (tile_layout_equal(&s->frames[i]->whole, &frame->whole) &&
            tile_layout_equal(&s->frames[i]->pieces.piece, &frame->pieces.piece))
            return s->frames[i];
    s->frames =
        tile_arena_grow(arena, s->frames, s->frame_count, &s->frame_capacity, sizeof *s->frames);
    return s->frames[s->frame_count++] = tile_arena_copy(arena, frame, sizeof *frame);
}

/* The frame of the pieces that a store_async stores. */
static const lower_frame *frame_of_store(fusion_finder *s, tile_op op) {
    uint32_t extents[TILE_MAX_RANK];
    lower_frame frame;
    frame.whole = *tile_value_type(s->f, tile_operand_src(s->f, op))->layout;
    tile_type_dims(tile_value_type(s->f, tile_operand_ring(s->f, op)), extents);
    tile_pieces_cut(&frame.whole, extents, &frame.pieces); /* lower_check has checked this */
    return keep_frame(s, &frame);
}

/* The frame of the operand of a reshape; NULL if the operand is no such view of the tile. */
static const lower_frame *frame_of_operand(fusion_finder *s, tile_op reshape) {
    lower_frame from;
    const tile_type *type = tile_value_type(s->f, tile_operand_src(s->f, reshape));
    if (type->kind != TILE_TYPE_TILE || s->several[reshape.id] ||
        !lower_find_frame(s->whole[reshape.id], type, &from))
        return NULL;
    return keep_frame(s, &from);
}

/* Costly operations are not duplicated for two stores or for the pieces of a row. */
static bool can_fuse(fusion_finder *s, tile_op op) {
    const tile_function *f = s->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    const lower_frame *whole = s->whole[op.id];
    bool load = opcode == TILE_OP_load, reduces = opcode == TILE_OP_reduce;
    if (!whole || tile_op_result_count(f, op) != 1 ||
        s->needed_whole[tile_op_result(f, op, 0).id] ||
        (is_costly(opcode) && is_of_row(s, op, whole)))
        return false;
    tile_dims dims = tile_op_dims(opcode);
    if (opcode == TILE_OP_reshape) return frame_of_operand(s, op) != NULL;
    if (!load && !reduces && dims != TILE_DIMS_counted && dims != TILE_DIMS_stretched &&
        !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE))
        return false;
    if (reduces && (!has_groups(s, op) || !lower_reduces_pieces(f, op, whole))) return false;
    bool held = is_held_within(f, tile_op_result(f, op, 0), &whole->whole);
    for (unsigned i = 0; i < tile_op_operand_count(f, op) && held && !load; i++)
        held = is_held_within(f, tile_op_operand(f, op, i), &whole->whole);
    if (!held || !load) return held;
    bool can = can_fuse_load(s, op);
    if (!can) remark_not_fused(s, op);
    return can;
}

/* Records that the user, a fused operation or a store, needs the value piece by piece. */
static void need_per_piece(fusion_finder *s, tile_op user, tile_value value,
                           const lower_frame *whole, tile_op last) {
    const tile_function *f = s->f;
    tile_op def = tile_value_def(f, value);
    if (!def.id || tile_value_type(f, value)->kind != TILE_TYPE_TILE) return;
    const lower_frame *other = s->whole[def.id];
    if (tile_op_at(f, def)->parent.id != tile_op_at(f, user)->parent.id ||
        (other && !tile_layout_equal(&other->whole, &whole->whole)) ||
        (other && s->last[def.id].id != last.id && is_costly(tile_op_opcode(f, def))))
        s->needed_whole[value.id] = true;
    if (!other || s->place[last.id] < s->place[s->last[def.id].id]) s->last[def.id] = last;
    s->several[def.id] |= (other && other != whole) || s->several[user.id];
    s->whole[def.id] = whole;
}

static void need_whole(fusion_finder *s, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
        s->needed_whole[tile_op_operand(s->f, op, i).id] = true;
}

static void find_in(fusion_finder *s, tile_region region);

static void visit(fusion_finder *s, tile_op op) {
    const tile_function *f = s->f;
    s->place[op.id] = ++s->places;
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
        find_in(s, tile_op_region(f, op, r));
    if (is_sink(f, op)) {
        tile_value tile = tile_operand_src(f, op);
        need_per_piece(s, op, tile, frame_of_store(s, op), op);
    } else if (can_fuse(s, op)) {
        bool reshapes = tile_op_opcode(f, op) == TILE_OP_reshape;
        const lower_frame *frame = reshapes ? frame_of_operand(s, op) : s->whole[op.id];
        s->l->fused[op.id] = true;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            need_per_piece(s, op, tile_op_operand(f, op, i), frame, s->last[op.id]);
    } else {
        need_whole(s, op);
    }
}

/* Visits operations in reverse order, so that all users of a result are known before its
 * definition. */
static void find_in(fusion_finder *s, tile_region region) {
    for (tile_op op = tile_region_at(s->f, region)->last, before; op.id; op = before) {
        before = tile_op_at(s->f, op)->prev;
        visit(s, op);
    }
}

static unsigned count_pieces(const tile_function *f, tile_op store) {
    const tile_type *ring = tile_value_type(f, tile_operand_ring(f, store));
    uint32_t extents[TILE_MAX_RANK];
    tile_pieces pieces;
    tile_type_dims(ring, extents);
    bool cut =
        tile_pieces_cut(tile_value_type(f, tile_operand_src(f, store))->layout, extents, &pieces);
    return cut && pieces.count ? pieces.count : 1;
}

/* Returns whether the code of all pieces' costly operations is so long that roll-elementwise makes
 * a loop of those of each piece, and that of a piece long enough for one. It counts the same
 * operations. */
static bool is_long_chain(const fusion_finder *s) {
    const tile_function *f = s->f;
    uint64_t code = 0, of_piece = 0;
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op op = {id};
        if (!f->ops[id].opcode || !s->l->fused[id] || !tile_op_is_costly(tile_op_opcode(f, op)))
            continue;
        const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
        if (!type->layout) continue;
        const uint64_t own = roll_code_of(f, op) * (uint64_t)tile_type_registers(type);
        code += own;
        of_piece += own / count_pieces(f, s->last[id]);
    }
    return code > ROLL_ABOVE_CODE && of_piece >= ROLL_LEAST_CODE;
}

static void find_all(fusion_finder *s, tile_arena *scratch) {
    s->l->fused = TILE_NEW_ARRAY(scratch, bool, s->f->op_count);
    s->needed_whole = TILE_NEW_ARRAY(scratch, bool, s->f->value_count);
    s->whole = TILE_NEW_ARRAY(scratch, const lower_frame *, s->f->op_count);
    s->several = TILE_NEW_ARRAY(scratch, bool, s->f->op_count);
    s->last = TILE_NEW_ARRAY(scratch, tile_op, s->f->op_count);
    s->place = TILE_NEW_ARRAY(scratch, uint32_t, s->f->op_count);
    find_in(s, s->f->body);
}

void lower_find_store_fused(lowering *l) {
    tile_arena *scratch = l->pass->scratch;
    const tile_function *f = &l->old;
    bool any = false;
    l->fused = TILE_NEW_ARRAY(scratch, bool, f->op_count);
    for (uint32_t id = 1; id < f->op_count && !any; id++)
        any = f->ops[id].opcode && is_sink(f, (tile_op){id});
    if (!any) return;
    fusion_finder s = {.l = l, .f = f};
    find_all(&s, scratch);
    l->rolls_stores = is_long_chain(&s);
}

/* Pieces --------------------------------------------------------------------------------------- */

static unsigned number_of_frame(const lower_store_fusion *fused, tile_value old) {
    return fused->frame[old.id] ? fused->frame[old.id] - 1u : 0;
}

static const lower_frame *frame_of(const lower_store_fusion *fused, tile_value old) {
    return &fused->frames[number_of_frame(fused, old)];
}

/* Numbers the frame of the operands of op. */
static unsigned add_frame(const lowering *l, lower_store_fusion *fused, tile_op op) {
    const tile_function *f = &l->old;
    const unsigned own = number_of_frame(fused, tile_op_result(f, op, 0));
    lower_frame from;
    if (tile_op_opcode(f, op) != TILE_OP_reshape) return own;
    const tile_type *type = tile_value_type(f, tile_operand_src(f, op));
    if (!lower_find_frame(&fused->frames[own], type, &from)) return own; /* see lower_fits_pieces */
    for (unsigned i = 0; i < fused->frame_count; i++)
        if (tile_layout_equal(&fused->frames[i].whole, &from.whole)) return i;
    fused->frames[fused->frame_count] = from;
    return fused->frame_count++;
}

static void find_fused(lowering *l, tile_op op, lower_store_fusion *fused) {
    const tile_function *f = &l->old;
    bool *needed = TILE_NEW_ARRAY(l->pass->scratch, bool, f->value_count);
    needed[fused->tile.id] = true;
    for (tile_op at = tile_op_at(f, op)->prev; at.id; at = tile_op_at(f, at)->prev) {
        if (!l->fused[at.id] || !needed[tile_op_result(f, at, 0).id]) continue;
        fused->ops[fused->count++] = at;
        fused->is_long |= is_costly(tile_op_opcode(f, at));
        for (unsigned i = 0; i < tile_op_operand_count(f, at); i++)
            needed[tile_op_operand(f, at, i).id] = true;
    }
}

static void find_frames(lowering *l, lower_store_fusion *fused, const tile_pieces *pieces) {
    const tile_function *f = &l->old;
    fused->frames = TILE_NEW_ARRAY(l->pass->scratch, lower_frame, fused->count + 1);
    fused->frame = TILE_NEW_ARRAY(l->pass->scratch, uint8_t, f->value_count);
    fused->frames[0] = (lower_frame){*tile_value_type(f, fused->tile)->layout, *pieces};
    fused->frame_count = 1;
    for (unsigned i = 0; i < fused->count; i++) {
        const unsigned frame = add_frame(l, fused, fused->ops[i]);
        for (unsigned k = 0; k < tile_op_operand_count(f, fused->ops[i]); k++)
            fused->frame[tile_op_operand(f, fused->ops[i], k).id] = (uint8_t)(frame + 1);
    }
}

lower_store_fusion lower_start_store_fusion(lowering *l, tile_op op, const tile_pieces *pieces) {
    const tile_function *f = &l->old;
    lower_store_fusion fused = {.tile = tile_operand_src(f, op)};
    fused.ops = TILE_NEW_ARRAY(l->pass->scratch, tile_op, f->op_count);
    fused.values = f->value_count;
    find_fused(l, op, &fused);
    find_frames(l, &fused, pieces);
    return fused;
}

bool lower_fits_pieces(lowering *l, const lower_store_fusion *fused, const tile_pieces *pieces) {
    const tile_function *f = &l->old;
    lower_store_fusion same = *fused;
    find_frames(l, &same, pieces);
    for (unsigned i = 0; i < same.count; i++) {
        const tile_op op = same.ops[i];
        const lower_frame *frame = frame_of(&same, tile_op_result(f, op, 0));
        const unsigned last = frame->whole.rank - 1u;
        const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
        lower_frame from;
        tile_opcode opcode = tile_op_opcode(f, op);
        bool cuts_rows = tile_layout_extent(&frame->pieces.piece, last) <
                         tile_layout_extent(&frame->whole, last);
        if (opcode == TILE_OP_reshape &&
            !lower_find_frame(frame, tile_value_type(f, tile_operand_src(f, op)), &from))
            return false;
        if (is_costly(opcode) && cuts_rows && type->rank &&
            tile_type_dim(type, type->rank - 1) == 1)
            return false;
        if (opcode == TILE_OP_reduce && !lower_reduces_pieces(f, op, frame)) return false;
    }
    return true;
}

lower_piece lower_start_piece(lowering *l, const lower_store_fusion *fused, unsigned index,
                              const tile_value *ahead) {
    lower_piece piece = {.fused = fused, .index = index};
    tile_arena *arena = l->pass->scratch;
    piece.ahead = tile_arena_alloc(arena, sizeof *piece.ahead * fused->frame_count);
    for (unsigned d = 0; d < fused->frames[0].whole.rank; d++) piece.ahead[0][d] = ahead[d];
    for (unsigned i = 1; i < fused->frame_count; i++)
        lower_move_ahead(l, &fused->frames[0], ahead, &fused->frames[i], piece.ahead[i]);
    piece.known = TILE_NEW_ARRAY(arena, tile_value, fused->values);
    return piece;
}

/* The type of one piece of a value that is used for the tile. */
static const tile_type *type_of_piece(const lowering *l, const lower_store_fusion *fused,
                                      tile_value old) {
    const tile_type *type = tile_value_type(&l->old, old);
    const tile_layout *piece = &frame_of(fused, old)->pieces.piece;
    tile_context *context = tile_function_context(l->f);
    tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = type->scalar, .rank = type->rank};
    for (unsigned d = 0; d < type->rank; d++) {
        uint32_t extent = tile_layout_extent(piece, piece->rank - type->rank + d);
        draft.dims[d] = tile_expr_int(context, tile_type_dim(type, d) == 1 ? 1 : extent);
    }
    tile_layout layout = layout_within(&draft, piece);
    draft.layout = &layout;
    return tile_type_get(context, &draft);
}

static const tile_type *vector_of(const lowering *l, const tile_type *piece) {
    return tile_type_vector(tile_function_context(l->f), piece->scalar, tile_type_registers(piece));
}

/* Finds the piece's registers of a value: register i of the piece is register order[i] of the
 * value. */
static void find_registers(const lowering *l, const lower_piece *piece, tile_value old,
                           const tile_layout *part, int64_t *order) {
    const lower_frame *frame = frame_of(piece->fused, old);
    const tile_layout *wide = &frame->pieces.piece, *held = tile_value_type(&l->old, old)->layout;
    bool whole = tile_layout_equal(part, wide);
    for (uint32_t i = tile_layout_registers(wide); i-- > 0;) {
        uint32_t from = tile_pieces_register(&frame->pieces, &frame->whole, piece->index, i);
        if (whole)
            order[i] = from;
        else
            order[tile_layout_narrow_register(wide, part, i)] =
                tile_layout_narrow_register(&frame->whole, held, from);
    }
}

static tile_value extract_registers(lowering *l, const lower_piece *piece, tile_value old) {
    const tile_type *part = type_of_piece(l, piece->fused, old), *vector = vector_of(l, part);
    tile_value fragment = lower_mapped(l, old);
    unsigned count = tile_type_registers(part);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, count);
    bool neighbours = true;
    if (tile_value_type(l->f, fragment) == vector) return fragment;
    find_registers(l, piece, old, part->layout, order);
    for (unsigned i = 0; i < count; i++) neighbours &= order[i] == order[0] + i;
    if (neighbours)
        return tile_build_extract(&l->builder, fragment, lower_int(l, order[0]), vector);
    tile_value taken = tile_build_permute(&l->builder, fragment, vector);
    tile_op_set_list(l->f, tile_value_def(l->f, taken), TILE_ATTR_order, order, count);
    return taken;
}

static tile_value piece_of(lowering *l, const lower_piece *piece, tile_value old) {
    if (tile_value_type(&l->old, old)->kind != TILE_TYPE_TILE) return lower_mapped(l, old);
    tile_value *known = &piece->known[old.id];
    if (!known->id) *known = extract_registers(l, piece, old);
    return *known;
}

/* The distance of the piece from the value's first element, by the value's dims. */
static void find_ahead(lowering *l, const lower_piece *piece, tile_value old, tile_value *ahead) {
    const tile_type *type = tile_value_type(&l->old, old);
    const unsigned frame = number_of_frame(piece->fused, old);
    unsigned missing = piece->fused->frames[frame].whole.rank - type->rank;
    for (unsigned d = 0; d < type->rank; d++)
        ahead[d] = tile_type_dim(type, d) == 1 ? lower_int(l, 0) : piece->ahead[frame][missing + d];
}

static tile_value copy_op(lowering *l, tile_op op, const tile_value *operands,
                          const tile_type *vector) {
    const tile_op_data *data = tile_op_at(&l->old, op);
    tile_op copy = tile_add_op(&l->builder, (tile_opcode)data->opcode, operands,
                               data->operand_count, data->segment, &vector, 1);
    tile_op_at(l->f, copy)->attrs = data->attrs;
    tile_op_at(l->f, copy)->attr_count = data->attr_count;
    return tile_op_result(l->f, copy, 0);
}

static void compute_op(lowering *l, const lower_piece *piece, tile_op op) {
    tile_value ahead[TILE_MAX_RANK], operands[TILE_MAX_OPERANDS];
    tile_value old = tile_op_result(&l->old, op, 0), operand;
    const tile_type *type = type_of_piece(l, piece->fused, old);
    tile_opcode opcode = tile_op_opcode(&l->old, op);
    tile_loc loc = l->builder.loc;
    l->builder.loc = tile_op_loc(&l->old, op);
    find_ahead(l, piece, old, ahead);
    if (opcode == TILE_OP_load) {
        const tile_values element = tile_operands_src(&l->old, op);
        piece->known[old.id] = lower_load_piece(l, op, element.at, type, ahead);
    } else if (opcode == TILE_OP_iota) {
        piece->known[old.id] = lower_count(l, op, type, ahead);
    } else if (opcode == TILE_OP_broadcast) {
        operand = tile_operand_src(&l->old, op);
        piece->known[old.id] = lower_repeat(l, piece_of(l, piece, operand),
                                            type_of_piece(l, piece->fused, operand), type);
    } else if (opcode == TILE_OP_reshape) {
        piece->known[old.id] = piece_of(l, piece, tile_operand_src(&l->old, op));
    } else if (opcode == TILE_OP_reduce) {
        operand = tile_operand_src(&l->old, op);
        piece->known[old.id] = lower_reduce_piece(l, op, piece_of(l, piece, operand),
                                                  type_of_piece(l, piece->fused, operand), type);
    } else {
        for (unsigned i = 0; i < tile_op_operand_count(&l->old, op); i++)
            operands[i] = piece_of(l, piece, tile_op_operand(&l->old, op, i));
        piece->known[old.id] = copy_op(l, op, operands, vector_of(l, type));
    }
    l->builder.loc = loc;
}

unsigned lower_store_fused_load_bytes(const lowering *l, const lower_store_fusion *fused) {
    unsigned bytes = 0;
    for (unsigned i = 0; i < fused->count; i++) {
        if (tile_op_opcode(&l->old, fused->ops[i]) != TILE_OP_load) continue;
        const tile_type *type = type_of_piece(l, fused, tile_op_result(&l->old, fused->ops[i], 0));
        bytes += tile_type_registers(type) * tile_scalar_bytes(type->scalar);
    }
    return bytes;
}

void lower_load_store_fused(lowering *l, const lower_piece *piece) {
    for (unsigned i = piece->fused->count; i-- > 0;)
        if (tile_op_opcode(&l->old, piece->fused->ops[i]) == TILE_OP_load)
            compute_op(l, piece, piece->fused->ops[i]);
}

tile_value lower_compute_store_fused(lowering *l, const lower_piece *piece) {
    for (unsigned i = piece->fused->count; i-- > 0;)
        if (tile_op_opcode(&l->old, piece->fused->ops[i]) != TILE_OP_load)
            compute_op(l, piece, piece->fused->ops[i]);
    return piece_of(l, piece, piece->fused->tile);
}
