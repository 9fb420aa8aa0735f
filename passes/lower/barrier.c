/* Barriers in shared memory. One or several threads of the block initialize them. For an arrival,
 * the first lane of each warp arrives; for a wait, every thread waits. */
#include "passes/lower/lower.h"

enum { LANES = 1 << TILE_LANE_BITS };

/* Making --------------------------------------------------------------------------------------- */

void lower_alloc_barrier(lowering *l, tile_op op) {
    tile_value old = tile_op_result(&l->old, op, 0);
    if (l->map[old.id].id) return; /* lower_begin_barriers has already built it */
    tile_value buffer = tile_build_alloc_shared(&l->builder, tile_value_type(&l->old, old));
    tile_op_set_int(l->f, tile_value_def(l->f, buffer), TILE_ATTR_offset,
                    tile_op_attr_int(&l->old, op, TILE_ATTR_offset, 0));
    tile_value_at(l->f, buffer)->name = tile_value_at(&l->old, old)->name;
    l->map[old.id] = buffer;
    l->uninitialized_barriers =
        tile_arena_grow(l->pass->scratch, l->uninitialized_barriers, l->uninitialized_count,
                        &l->uninitialized_capacity, sizeof *l->uninitialized_barriers);
    l->uninitialized_barriers[l->uninitialized_count++] = op;
}

/* Builds a branch that these threads take and returns the builder of its body. */
static tile_builder begin_if(lowering *l, tile_builder *outer, tile_value condition) {
    tile_op branch = tile_build_if_else(outer, condition, NULL, 0);
    tile_builder inner = tile_builder_in(outer, branch, 1);
    tile_build_yield(&inner, NULL, 0);
    inner.region = tile_op_region(l->f, branch, 0);
    return inner;
}

static int64_t barriers_of(const lowering *l, tile_op alloc) {
    return tile_type_elements(tile_value_type(&l->old, tile_op_result(&l->old, alloc, 0)));
}

/* The first `threads` threads of the block initialize one buffer, `threads` barriers at a time. */
static void init_buffer(lowering *l, tile_builder *b, tile_op alloc, int64_t threads) {
    tile_value buffer = l->map[tile_op_result(&l->old, alloc, 0).id];
    int64_t total = barriers_of(l, alloc);
    tile_value count = lower_int(l, tile_op_attr_int(&l->old, alloc, TILE_ATTR_count, 1));
    for (int64_t first = 0; first < total; first += threads) {
        tile_builder inner = *b;
        if (total - first < threads)
            inner = begin_if(l, b, tile_build_lt(b, l->thread, lower_int(l, total - first)));
        tile_value index =
            first ? tile_build_add(&inner, l->thread, lower_int(l, first)) : l->thread;
        tile_build_mbarrier_init(&inner, buffer, &index, 1, count);
        if (total - first < threads) tile_build_yield(&inner, NULL, 0);
    }
}

/* One thread initializes all barriers in sequence: their addresses are constants, and each
 * instruction takes one address for all threads. */
static void init_by_one_warp(lowering *l, tile_builder *b) {
    for (size_t i = 0; i < l->uninitialized_count; i++) {
        tile_op alloc = l->uninitialized_barriers[i];
        tile_value buffer = l->map[tile_op_result(&l->old, alloc, 0).id];
        tile_value count = lower_int(l, tile_op_attr_int(&l->old, alloc, TILE_ATTR_count, 1));
        for (int64_t k = 0; k < barriers_of(l, alloc); k++) {
            tile_value index = lower_int(l, k);
            tile_build_mbarrier_init(b, buffer, &index, 1, count);
        }
    }
}

/* For a few barriers, selects the first thread of the second warp, because the first warp may have
 * copies to start. */
static tile_value find_barrier_allocs(lowering *l, int64_t threads) {
    if (threads > 1) return tile_build_lt(&l->builder, l->thread, lower_int(l, threads));
    return tile_build_eq(&l->builder, l->thread, lower_int(l, l->executors.warps > 1 ? LANES : 0));
}

static void init_barriers(lowering *l) {
    enum { MAX_BY_ONE_WARP = 32 };
    int64_t threads = 0, total = 0, all = (int64_t)LANES * l->executors.warps;
    for (size_t i = 0; i < l->uninitialized_count; i++) {
        int64_t barriers = barriers_of(l, l->uninitialized_barriers[i]);
        threads = barriers > threads ? barriers : threads;
        total += barriers;
    }
    threads = total <= MAX_BY_ONE_WARP ? 1 : threads > all ? all : threads;
    tile_builder inner = begin_if(l, &l->builder, find_barrier_allocs(l, threads));
    if (threads == 1) init_by_one_warp(l, &inner);
    for (size_t i = 0; i < l->uninitialized_count && threads > 1; i++)
        init_buffer(l, &inner, l->uninitialized_barriers[i], threads);
    tile_build_mbarrier_fence(&inner);
    tile_build_yield(&inner, NULL, 0);
    l->uninitialized_count = 0;
    l->init_needs_sync = true;
}

bool lower_is_arithmetic(const tile_function *f, tile_op op) {
    const unsigned structure = TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR;
    bool quiet = !(tile_op_effects(f, op) & ~(structure | TILE_EFFECT_ALLOC));
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count && quiet; r++)
        TILE_FOR_EACH_OP (f, inner, tile_op_region(f, op, r))
            quiet &=
                lower_is_arithmetic(f, inner) && tile_op_opcode(f, inner) != TILE_OP_alloc_barrier;
    return quiet;
}

void lower_begin_barriers(lowering *l) {
    TILE_FOR_EACH_OP (&l->old, op, l->old.body) {
        if (!lower_is_arithmetic(&l->old, op)) break;
        if (tile_op_opcode(&l->old, op) == TILE_OP_alloc_barrier) lower_alloc_barrier(l, op);
    }
    if (l->uninitialized_count) init_barriers(l);
}

void lower_sync_after_barrier_init(lowering *l) {
    if (l->uninitialized_count) init_barriers(l);
    if (!l->init_needs_sync) return;
    l->init_needs_sync = false;
    if (l->f->cluster_rank) {
        tile_build_cluster_arrive(&l->builder);
        tile_build_cluster_wait(&l->builder);
    } else {
        tile_build_sync_for(&l->builder, l->executors);
    }
}

/* Using ---------------------------------------------------------------------------------------- */

static void keep_scope(lowering *l, tile_op op) {
    tile_op made = tile_region_at(l->f, l->builder.region)->last;
    tile_op_at(l->f, made)->attrs = tile_op_at(&l->old, op)->attrs;
    tile_op_at(l->f, made)->attr_count = tile_op_at(&l->old, op)->attr_count;
}

/* The first arrival of the set also sets the expected bytes of its copies. Returns the predicate of
 * the remaining arrivals, or no value if there are none. */
static tile_value expect_and_arrive(lowering *l, const tile_value *element, tile_value index,
                                    tile_value first, int64_t bytes) {
    bool alone = l->executors.warps == 1;
    tile_value leader = alone ? first : tile_build_eq(&l->builder, l->thread, lower_int(l, 0));
    tile_build_mbarrier_expect(&l->builder, lower_mapped(l, element[0]), &index, 1,
                               lower_int(l, bytes), leader);
    if (alone) return TILE_NO_VALUE;
    return lower_and(l, first, tile_build_ne(&l->builder, l->thread, lower_int(l, 0)));
}

/* The lanes synchronize first, because an arrival only orders the accesses of its own thread. */
void lower_barrier_arrive(lowering *l, tile_op op) {
    const tile_values element = tile_operands_bar(&l->old, op);
    tile_value index = lower_mapped(l, element.at[1]);
    tile_build_sync_warp(&l->builder);
    tile_value lane = tile_build_and(&l->builder, l->thread, lower_int(l, LANES - 1));
    tile_value first = tile_build_eq(&l->builder, lane, lower_int(l, 0));
    int64_t bytes = lower_arriving_bytes(l, op);
    if (bytes) first = expect_and_arrive(l, element.at, index, first, bytes);
    if (!first.id) return;
    tile_build_mbarrier_arrive(&l->builder, lower_mapped(l, element.at[0]), &index, 1, first);
    keep_scope(l, op);
}

void lower_barrier_wait(lowering *l, tile_op op) {
    const tile_values element = tile_operands_bar(&l->old, op);
    tile_value index = lower_mapped(l, element.at[1]);
    tile_value parity = lower_mapped(l, tile_operand_parity(&l->old, op));
    tile_build_mbarrier_wait(&l->builder, lower_mapped(l, element.at[0]), &index, 1, parity);
    keep_scope(l, op);
}

/* Ordered issue -------------------------------------------------------------------------------- */

/* At the barrier of group g, the preceding groups arrive and group g waits. */
static void build_order_barrier(lowering *l, tile_builder *b, bool passes, unsigned barrier) {
    tile_value number = lower_int(l, barrier),
               warps = lower_int(l, 2 * TILE_WARPS_PER_ORDERED_GROUP);
    if (passes)
        tile_build_sync_arrive(b, number, warps);
    else
        tile_build_sync(b, number, warps);
}

/* if warpgroup == g { its barrier } else { the barriers of the later groups }. Barrier numbers are
 * constants, because ptxas reserves all barriers if one number is dynamic. */
static void build_order_barriers(lowering *l, tile_builder *b, tile_op op, tile_value warpgroup,
                                 unsigned g) {
    unsigned count = tile_ordered_warpgroups(l->executors);
    bool passes = tile_op_opcode(&l->old, op) == TILE_OP_ordered_arrive;
    bool edge = tile_op_has_attr(&l->old, op, TILE_ATTR_edge);
    int64_t first = 1;
    tile_value_is_int(&l->old, tile_operand_first(&l->old, op), &first);
    if (edge) g = passes ? count - 1 : 0;
    unsigned barrier = (unsigned)first + (passes ? (g + 1) % count : g);
    if (!edge && g + 1 == count) {
        build_order_barrier(l, b, passes, barrier);
        return;
    }
    tile_op branch = tile_build_if_else(b, tile_build_eq(b, warpgroup, lower_int(l, g)), NULL, 0);
    for (unsigned r = 0; r < 2; r++) {
        tile_builder inner = tile_builder_in(b, branch, r);
        if (r == 0)
            build_order_barrier(l, &inner, passes, barrier);
        else if (!edge)
            build_order_barriers(l, &inner, op, warpgroup, g + 1);
        tile_build_yield(&inner, NULL, 0);
    }
}

/* The index of the thread's warpgroup among all groups. */
static tile_value find_warpgroup(lowering *l) {
    unsigned own = l->executors.warps / TILE_WARPS_PER_ORDERED_GROUP;
    tile_value group =
        l->executors.groups > 1 ? tile_region_arg(l->f, l->executors.role, 0) : TILE_NO_VALUE;
    if (own == 1 && group.id) return group;
    tile_value warpgroup =
        tile_build_div(&l->builder, l->thread, lower_int(l, LANES * TILE_WARPS_PER_ORDERED_GROUP));
    if (!group.id) return warpgroup;
    return tile_build_add(&l->builder, tile_build_mul(&l->builder, group, lower_int(l, own)),
                          warpgroup);
}

void lower_ordered_issue(lowering *l, tile_op op) {
    build_order_barriers(l, &l->builder, op, find_warpgroup(l), 0);
}
