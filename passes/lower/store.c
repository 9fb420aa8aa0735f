/* store_async: stores a tile to its view piece by piece, through a ring buffer in shared memory.
 *
 *     stage       0     1     0     1        of each group of four warps
 *     written     ===== =====   ===== =====    by all of its threads
 *     barrier     |          |  |          |   of the group alone
 *     in flight              ----------    --------  issued by one thread
 *
 * Two pieces, or more small ones, form a batch that is written, fenced and issued together. A fence
 * and a barrier per piece cost more than an earlier start gains. Larger batches start too late:
 * after the last tile nothing overlaps the copies (2048^3: 3 %). Before a new round through the
 * ring, the thread that issued the copies waits for their reads, and a barrier follows.
 *
 * Operations whose results only the tile uses are computed with its pieces (store_fusion.c). Long
 * chains are computed for smaller parts of the pieces, called grains.
 *
 * A group is not an executor set, so its barrier uses a number that no other code uses. If no
 * number is free, the groups share the set's barrier. */
#include "lib/analysis/access.h"
#include "lib/ir/regions.h"
#include "lib/layout/pieces.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"
#include "passes/lower/lower.h"

enum { LANES = 1 << TILE_LANE_BITS };

typedef struct store {
    tile_op op;
    tile_value buffer; /* in the old body */
    const tile_value *element;
    const tile_type *type, *ring;
    tile_pieces pieces;
    tile_pieces grains;              /* the units of computation: pieces, or parts of them */
    unsigned stages;                 /* per group */
    tile_value first;                /* element offset of the group's first stage */
    tile_value begin[TILE_MAX_RANK]; /* start of the group's pieces, without the registers'
                                        contribution */
    tile_value issues_copies;        /* i1: this is the thread that issues the copies */
    unsigned barrier_number;         /* number of the first group's barrier; 0: the set's barrier */
    lower_boxes *boxes;              /* NULL: ordinary stores instead of TMA */
    lower_rows *rows;                /* of these: rows that begin anywhere; or NULL */
    unsigned *order;                 /* the pieces in the order in which they are stored */
    lower_store_fusion fused;        /* operations that are computed for each piece */
    lower_piece *each;               /* by grain */
    unsigned loaded, batch_pieces;   /* in pieces: loaded so far, and issued together */
} store;

/* Groups --------------------------------------------------------------------------------------- */

static uint32_t group_threads(const store *s) {
    return (uint32_t)LANES << s->pieces.group_bits;
}

/* The index of the group's first thread. */
static tile_value first_thread(lowering *l, const store *s) {
    uint32_t all = group_threads(s) * s->pieces.groups;
    return tile_build_and(&l->builder, l->thread, lower_int(l, all - group_threads(s)));
}

/* The contribution of the group's first warp to coordinate d. */
static tile_value group_coordinate(lowering *l, const store *s, unsigned d) {
    const tile_layout *layout = s->type->layout;
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS] = {0};
    for (unsigned i = s->pieces.group_bits; i < layout->warp_bits; i++)
        bases[TILE_LANE_BITS + i] = tile_layout_coordinate(layout, layout->warp[i], d);
    return lower_thread_map(l, bases, TILE_LANE_BITS + layout->warp_bits);
}

/* The first of `groups` consecutive barrier numbers. They are reused at every barrier of the
 * executor set. */
static unsigned find_barrier_numbers(lowering *l, const store *s) {
    tile_region role = l->executors.role;
    unsigned i = 0, groups = s->pieces.groups;
    if (groups == 1 || l->executors.groups > 1) return 0;
    while (i < l->named_barrier_count && l->named_barrier_region[i].id != role.id) i++;
    if (i < l->named_barrier_count) return l->named_barrier_first[i];
    unsigned first = tile_find_barriers(&l->old, l->named_barriers_used, groups);
    if (!first) return 0;
    l->named_barriers_used |= ((UINT32_C(1) << groups) - 1) << first;
    l->named_barrier_region[l->named_barrier_count] = role;
    l->named_barrier_first[l->named_barrier_count++] = first;
    return first;
}

/* if this is group `group` { its barrier } else { those of the later groups } */
static void sync_group_from(lowering *l, const store *s, tile_value thread, unsigned group) {
    tile_value warps = lower_int(l, INT64_C(1) << s->pieces.group_bits);
    if (group + 1 == s->pieces.groups) {
        tile_build_sync(&l->builder, lower_int(l, s->barrier_number + group), warps);
        return;
    }
    tile_value here =
        tile_build_eq(&l->builder, thread, lower_int(l, (int64_t)group * group_threads(s)));
    tile_op branch = tile_build_if_else(&l->builder, here, NULL, 0);
    tile_builder outer = l->builder;
    l->builder.region = tile_op_region(l->f, branch, 0);
    tile_build_sync(&l->builder, lower_int(l, s->barrier_number + group), warps);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder.region = tile_op_region(l->f, branch, 1);
    sync_group_from(l, s, thread, group + 1);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder = outer;
}

static void sync_group(lowering *l, const store *s) {
    if (s->barrier_number)
        sync_group_from(l, s, first_thread(l, s), 0);
    else
        tile_build_sync_for(&l->builder, l->executors);
}

/* Pieces --------------------------------------------------------------------------------------- */

static const tile_type *piece_type(lowering *l, const store *s, const tile_layout *layout) {
    tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = s->ring->scalar, .rank = s->ring->rank};
    for (unsigned d = 0; d < draft.rank; d++) draft.dims[d] = s->ring->dims[d];
    draft.layout = layout;
    return tile_type_get(tile_function_context(l->f), &draft);
}

/* All threads of the group load the piece from its stage and store it to the view. */
static void store_read(lowering *l, const store *s, tile_value stage, const tile_value *ahead) {
    tile_layout layout =
        tile_access_layout(&l->old, l->ranges, s->element, s->ring, 1u << s->pieces.group_bits);
    const tile_type *type = piece_type(l, s, &layout);
    lower_shared_map map = lower_map_stage(l, s->buffer, stage, &layout);
    lower_store_piece(l, s->op, lower_load_mapped(l, &map, type, true), type, s->element, ahead);
}

/* Waits until all stages of the group have been read. copied: also by asynchronous copies. */
static void await_stages(lowering *l, const store *s, bool copied) {
    if (copied) {
        tile_build_bulk_wait(&l->builder, lower_int(l, 0));
        tile_op_set_flag(l->f, tile_region_at(l->f, l->builder.region)->last, TILE_ATTR_read);
    }
    sync_group(l, s);
}

/* The offset of the i-th piece from the group's first stage. */
static uint32_t stage_offset(const store *s, unsigned i) {
    return i % s->stages * (uint32_t)tile_type_elements(s->ring);
}

static tile_value stage_of(lowering *l, const store *s, unsigned i) {
    return lower_add(l, s->first, lower_int(l, stage_offset(s, i)));
}

/* The coordinates of a register of the group's first thread, relative to the group's start. */
static void place_register(const store *s, uint32_t register_, uint32_t *at) {
    for (unsigned d = 0; d < s->type->rank; d++)
        at[d] = (uint32_t)lower_register_coordinate(s->type->layout, register_, d);
}

/* Returns the piece that contains grain g; *inside: the grain's start within that piece. */
static unsigned place_grain(const store *s, unsigned g, uint32_t *inside) {
    uint32_t at[TILE_MAX_RANK], begin[TILE_MAX_RANK];
    unsigned piece = 0;
    place_register(s, tile_pieces_register(&s->grains, s->type->layout, g, 0), at);
    for (bool found = false; !found; piece += !found) {
        place_register(s, tile_pieces_register(&s->pieces, s->type->layout, piece, 0), begin);
        found = true;
        for (unsigned d = 0; d < s->type->rank; d++) {
            inside[d] = at[d] - begin[d];
            found &= at[d] >= begin[d] && inside[d] < tile_layout_extent(&s->pieces.piece, d);
        }
    }
    return piece;
}

static uint32_t first_register(const store *s, unsigned i) {
    return tile_pieces_register(&s->pieces, s->type->layout, s->order[i], 0);
}

/* *ahead: the distance of a piece from the tile's first element. */
static void find_ahead(lowering *l, const store *s, uint32_t first, tile_value *ahead) {
    for (unsigned d = 0; d < s->type->rank; d++)
        ahead[d] = lower_add(l, s->begin[d],
                             lower_int(l, lower_register_coordinate(s->type->layout, first, d)));
}

/* Loads the inputs of the grains before the end-th piece that are not loaded yet. */
static void load_ahead(lowering *l, store *s, unsigned end) {
    uint32_t inside[TILE_MAX_RANK];
    for (; s->loaded < end && s->loaded < s->pieces.count; s->loaded++)
        for (unsigned g = 0; g < s->grains.count; g++) {
            tile_value ahead[TILE_MAX_RANK];
            if (place_grain(s, g, inside) != s->order[s->loaded]) continue;
            find_ahead(l, s, tile_pieces_register(&s->grains, s->type->layout, g, 0), ahead);
            s->each[g] = lower_start_piece(l, &s->fused, g, ahead);
            lower_load_store_fused(l, &s->each[g]);
        }
}

/* A grain's distance within the ring is a constant, so grains and stages share address
 * registers. */
static lower_shared_map map_grain(lowering *l, const store *s, unsigned i, const uint32_t *inside) {
    const tile_layout *memory = s->ring->layout;
    lower_shared_map map = lower_map_stage(l, s->buffer, s->first, &s->grains.piece);
    uint32_t index = 0;
    for (unsigned d = 0; d < s->type->rank; d++)
        index |= inside[d] << tile_layout_dim_shift(memory, d);
    map.origin = stage_offset(s, i) | tile_layout_offset_of(memory, index);
    return map;
}

static tile_value make_zeros(lowering *l, const store *s) {
    return tile_build_zero(&l->builder,
                           tile_type_vector(tile_function_context(l->f), s->type->scalar,
                                            tile_layout_registers(&s->grains.piece)));
}

/* i1: the grain's start is in bounds of the view. */
static tile_value begins_inside(lowering *l, const store *s, unsigned g) {
    const lower_view *view = l->views[s->element[0].id];
    unsigned first = tile_value_type(&l->old, s->element[0])->rank - s->type->rank;
    tile_value inside = TILE_NO_VALUE;
    for (unsigned d = 0; d < s->type->rank; d++) {
        tile_value index = lower_mapped(l, s->element[1 + first + d]);
        tile_value start = lower_add(l, index, s->each[g].ahead[0][d]);
        inside = lower_and(l, inside, tile_build_ult(&l->builder, start, view->limits[first + d]));
    }
    return inside;
}

/* A long computation is skipped if the grain is out of bounds. The branch also keeps ptxas from
 * interleaving the arithmetic of many grains, which would exceed the registers. Where it is so long
 * that it becomes a loop (roll-elementwise), the loop does that. */
static void write_grain(lowering *l, store *s, unsigned i, unsigned g, const uint32_t *inside) {
    lower_shared_map map = map_grain(l, s, i, inside);
    const tile_type *type = piece_type(l, s, &s->grains.piece);
    if (!s->fused.is_long || l->rolls_stores) {
        lower_store_mapped(l, lower_compute_store_fused(l, &s->each[g]), &map, type);
        return;
    }
    tile_op branch = tile_build_if_else(&l->builder, begins_inside(l, s, g), NULL, 0);
    tile_builder outer = l->builder;
    l->builder.region = tile_op_region(l->f, branch, 0);
    lower_store_mapped(l, lower_compute_store_fused(l, &s->each[g]), &map, type);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder.region = tile_op_region(l->f, branch, 1);
    lower_store_mapped(l, make_zeros(l, s), &map, type);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder = outer;
}

static void write_piece(lowering *l, store *s, unsigned i) {
    uint32_t inside[TILE_MAX_RANK];
    for (unsigned g = 0; g < s->grains.count; g++)
        if (place_grain(s, g, inside) == s->order[i]) write_grain(l, s, i, g, inside);
}

/* Stores the pieces from `first` up to, but not including, `end`. */
static void store_batch(lowering *l, store *s, unsigned first, unsigned end) {
    for (unsigned i = first; i < end; i++) write_piece(l, s, i);
    if (s->boxes) tile_build_fence_async(&l->builder);
    sync_group(l, s);
    load_ahead(l, s, end + s->batch_pieces);
    if (s->boxes) lower_begin_boxes(l, s->boxes, s->issues_copies);
    for (unsigned i = first; i < end; i++) {
        tile_value ahead[TILE_MAX_RANK];
        find_ahead(l, s, first_register(s, i), ahead);
        if (s->boxes)
            lower_store_boxes(l, s->op, s->boxes, stage_of(l, s, i), ahead);
        else
            store_read(l, s, stage_of(l, s, i), ahead);
    }
    if (s->boxes) lower_end_boxes(l, s->boxes);
}

/* The number of pieces from the i-th one on that continue its rows. */
static unsigned run_from(const store *s, unsigned i) {
    uint32_t begin[TILE_MAX_RANK], at[TILE_MAX_RANK];
    uint32_t width = tile_layout_extent(&s->pieces.piece, 1);
    unsigned count = 1;
    place_register(s, first_register(s, i), begin);
    for (; i + count < s->pieces.count; count++) {
        place_register(s, first_register(s, i + count), at);
        if (at[0] != begin[0] || at[1] != begin[1] + count * width) break;
    }
    return count;
}

/* Sorts the pieces by rows, then columns. */
static void order_by_rows(store *s) {
    uint32_t a[TILE_MAX_RANK], b[TILE_MAX_RANK];
    for (unsigned end = 1; end < s->pieces.count; end++)
        for (unsigned i = end; i > 0; i--) {
            unsigned here = s->order[i];
            place_register(s, first_register(s, i - 1), a);
            place_register(s, first_register(s, i), b);
            if (a[0] < b[0] || (a[0] == b[0] && a[1] <= b[1])) break;
            s->order[i] = s->order[i - 1];
            s->order[i - 1] = here;
        }
}

/* Chooses to store by rows. Rows that continue in the next piece need its stage and their own. */
static void find_rows(lowering *l, store *s) {
    unsigned longest = 1;
    if (s->boxes) return;
    s->rows = lower_find_rows(l, s->op, s->pieces.group_bits);
    if (!s->rows) return;
    order_by_rows(s);
    for (unsigned i = 0, run; i < s->pieces.count; i += run) {
        run = run_from(s, i);
        if (run > longest) longest = run;
    }
    if (longest > 1 && s->stages < 2) s->rows = NULL;
    if (s->rows) s->batch_pieces = 1;
}

/* A piece's stage is read again with the next piece. So it is overwritten after a barrier that
 * follows these reads: with three stages, that of the piece between. */
static void store_rows(lowering *l, store *s) {
    for (unsigned i = 0, j = 0, run = 0; i < s->pieces.count; i++, j++) {
        bool begins = j == run;
        if (begins) j = 0, run = run_from(s, i);
        if (i && s->stages < 3) sync_group(l, s);
        write_piece(l, s, i);
        sync_group(l, s);
        load_ahead(l, s, i + 2);
        if (begins) {
            tile_value ahead[TILE_MAX_RANK];
            find_ahead(l, s, first_register(s, i), ahead);
            lower_begin_rows(l, s->rows, ahead, run);
        }
        lower_store_rows(l, s->rows, j, stage_of(l, s, i),
                         j ? stage_of(l, s, i - 1) : TILE_NO_VALUE);
    }
}

/* Returns whether copies that read the ring may be in flight, of this store or another one. */
static bool is_copied(lowering *l, const store *s) {
    bool copied = s->boxes;
    for (uint32_t id = 1; id < l->old.op_count && !copied; id++) {
        const tile_op_data *data = &l->old.ops[id];
        if (data->opcode == TILE_OP_store_async &&
            tile_operand_ring(&l->old, (tile_op){id}).id == s->buffer.id)
            copied = lower_has_boxes(l, (tile_op){id});
    }
    return copied;
}

/* Returns whether the ring may have been filled before. */
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

static void init_from_op(const lowering *l, tile_op op, store *s) {
    uint32_t extents[TILE_MAX_RANK];
    *s = (store){.op = op};
    s->element = tile_operands_dst(&l->old, op).at;
    s->buffer = tile_operand_ring(&l->old, op);
    s->type = tile_value_type(&l->old, tile_operand_src(&l->old, op));
    s->ring = tile_value_type(&l->old, s->buffer);
    tile_type_dims(s->ring, extents);
    tile_pieces_cut(s->type->layout, extents, &s->pieces); /* lower_check has checked this */
    s->stages = (unsigned)tile_type_stage_count(s->ring) / s->pieces.groups;
    s->order = TILE_NEW_ARRAY(l->pass->scratch, unsigned, s->pieces.count);
    for (unsigned i = 0; i < s->pieces.count; i++) s->order[i] = i;
}

/* Cuts pieces into parts so small that a long chain of arithmetic fits in registers. */
static void cut_grains(lowering *l, store *s) {
    enum { FEW = 8 /* elements of a thread */ };
    uint32_t extents[TILE_MAX_RANK];
    tile_pieces smaller;
    for (unsigned d = 0; d < s->type->rank; d++)
        extents[d] = tile_layout_extent(&s->pieces.piece, d);
    for (unsigned d = s->type->rank; d-- > 0;)
        while (tile_layout_registers(&s->grains.piece) > FEW && extents[d] > 1) {
            extents[d] /= 2;
            if (!tile_pieces_cut(s->type->layout, extents, &smaller) ||
                !lower_fits_pieces(l, &s->fused, &smaller)) {
                extents[d] *= 2;
                break;
            }
            s->grains = smaller;
        }
}

/* The inputs of a batch are loaded together while the previous batch is issued. The loads follow
 * that batch's barrier, because ptxas does not move loads across it and would otherwise hold too
 * many registers. */
static void plan_loads(lowering *l, store *s) {
    enum { ROOM = 192 /* bytes of a thread */, BATCH = 8192 /* bytes of a group */ };
    s->grains = s->pieces;
    s->fused = lower_start_store_fusion(l, s->op, &s->grains);
    int64_t bytes = tile_type_elements(s->ring) * tile_scalar_bytes(s->ring->scalar);
    unsigned loaded = lower_store_fused_load_bytes(l, &s->fused);
    s->batch_pieces = bytes < BATCH / 2 ? (unsigned)(BATCH / bytes) : 2;
    if (loaded * s->batch_pieces > ROOM) s->batch_pieces = loaded < ROOM ? ROOM / loaded : 1;
    if (s->fused.is_long && !l->rolls_stores) {
        cut_grains(l, s);
        s->fused = lower_start_store_fusion(l, s->op, &s->grains);
    }
    s->each = TILE_NEW_ARRAY(l->pass->scratch, lower_piece, s->grains.count);
}

void lower_store_async(lowering *l, tile_op op) {
    store s;
    init_from_op(l, op, &s);
    plan_loads(l, &s);
    s.boxes = lower_find_boxes(l, op);
    find_rows(l, &s);
    s.barrier_number = find_barrier_numbers(l, &s);
    tile_value thread = s.pieces.groups > 1 ? first_thread(l, &s) : lower_int(l, 0);
    int64_t share = s.stages * tile_type_elements(s.ring) / group_threads(&s);
    s.first = lower_mul(l, thread, lower_int(l, share));
    for (unsigned d = 0; d < s.type->rank; d++) s.begin[d] = group_coordinate(l, &s, d);
    if (s.boxes) s.issues_copies = tile_build_eq(&l->builder, l->thread, thread);
    if (tile_sync_is_explicit(&l->old, op)) lower_end_with_sync(l);
    load_ahead(l, &s, s.batch_pieces);
    if (is_reused(l, &s)) await_stages(l, &s, is_copied(l, &s));
    if (s.rows) {
        store_rows(l, &s);
        return;
    }
    for (unsigned i = 0, end; i < s.pieces.count; i = end) {
        unsigned round = i - i % s.stages + s.stages;
        if (i && i % s.stages == 0) await_stages(l, &s, s.boxes != NULL);
        end = least(i + s.batch_pieces, least(round, s.pieces.count));
        store_batch(l, &s, i, end);
    }
}
