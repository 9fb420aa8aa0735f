/* specialize-warps: assigns the copies of a pipelined loop to a separate producer warp.
 *
 * A warp that only copies runs ahead of the consumers: it waits for empty stages while the
 * consumers continue. Consumers issue almost only wgmma, and receive the registers that the
 * producer does not need (setmaxnreg).
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * target: sm_90a
 * pipeline: specialize-warps
 * before:
 *   kernel @sum(%k: i32, %a: view<f16[64, %k]> {tensor_map},
 *               %b: view<f16[%k, 64]> {tensor_map}, %c: ptr<f32>)
 *       grid [1]  warps 4
 *   {
 *     %o = view %c, [64, 64] : view<f32[64, 64]>
 *     %zero = splat 0.0 : tile<f32[64, 64]>
 *     %acc = for %i = 0 to %k step 64 iter (%sum = %zero) pipelined (3) {
 *       %x = load %a[0, %i] : tile<f16[64, 64]>
 *       %y = load %b[%i, 0] : tile<f16[64, 64]>
 *       %new = dot %x, %y, %sum {via = wgmma} : tile<f32[64, 64]>
 *       yield %new
 *     }
 *     store %acc, %o[0, 0]
 *   }
 *
 * after:
 *   kernel @sum(%k: i32, %a: view<f16[64, %k]> {tensor_map},
 *               %b: view<f16[%k, 64]> {tensor_map}, %c: ptr<f32>)
 *       grid [1]  warps 5
 *   {
 *     %o = view %c, [64, 64] : view<f32[64, 64]>
 *     %x = alloc_shared : shared<f16[3][64, 64]>
 *     %y = alloc_shared : shared<f16[3][64, 64]>
 *     %full = alloc_barrier {count = 1} : shared<barrier[3]>
 *     %empty = alloc_barrier {count = 4} : shared<barrier[3]>
 *     roles {
 *       warps 4 {
 *         %zero = splat 0.0 : tile<f32[64, 64]>
 *         %1 = lt 0, %k : i1
 *         %acc, %2, %3, %4 = if %1 {
 *           %acc_1, %5, %6, %7 = for %i = 0 to %k step 64
 *               iter (%sum = %zero, %stage = 0, %parity = 0, %previous = 0) {
 *             barrier_wait %full[%stage], %parity
 *             %new = dot %x[%stage], %y[%stage], %sum {via = wgmma, async} : tile<f32[64, 64]>
 *             %8 = add %stage, 1 : i32
 *             %9 = eq %8, 3 : i1
 *             %10 = select %9, 0, %8 : i32
 *             %11 = xor %parity, 1 : i32
 *             %12 = select %9, %11, %parity : i32
 *             %13 = dot_wait %new, 1 : tile<f32[64, 64]>
 *             %14 = ne %i, 0 : i1
 *             if %14 {
 *               barrier_arrive %empty[%previous]
 *             }
 *             yield %13, %10, %12, %stage
 *           }
 *           %15 = dot_wait %acc_1, 0 : tile<f32[64, 64]>
 *           yield %15, %5, %6, %7
 *         } else {
 *           yield %zero, 0, 0, 0
 *         }
 *         free_shared %x
 *         free_shared %y
 *         %16 = alloc_shared : shared<f32[2][64, 32]>
 *         store_async %acc, %o[0, 0], %16
 *         bulk_wait 0 {read}
 *       }
 *       warps 1 {
 *         %18, %19 = for %i_1 = 0 to %k step 64 iter (%stage_1 = 0, %parity_1 = 1) {
 *           barrier_wait %empty[%stage_1], %parity_1
 *           copy_async %a[0, %i_1], %x[%stage_1], %full[%stage_1]
 *           copy_async %b[%i_1, 0], %y[%stage_1], %full[%stage_1]
 *           barrier_arrive %full[%stage_1]
 *           %20 = add %stage_1, 1 : i32
 *           %21 = eq %20, 3 : i1
 *           %22 = select %21, 0, %20 : i32
 *           %23 = xor %parity_1, 1 : i32
 *           %24 = select %21, %23, %parity_1 : i32
 *           yield %22, %24
 *         }
 *       }
 *     }
 *   }
 *
 * Which loops: `pipelined` loops on targets with TMA and setmaxnreg. Warpgroups must compute their
 * dots (`via = wgmma`), or, on targets without wgmma, warps independently (mma.sync). All their
 * copies must be able to run ahead and be boxes of tensor maps, and all enclosing operations must
 * be `for`. Each failing condition is a remark at its line (plan.c), and the loop is left to the
 * pass pipeline.
 *
 * Roles: operations before the loops that handle no tiles are executed by all warps; the roles
 * begin after them. The producer gets clones of the loops, the addresses and the copies. Everything
 * else, including the loops, moves to the consumers. They are one executor set with as many warps
 * as the kernel had, so tiles, thread indices and barriers are unchanged, and operations on the
 * sums (reductions, exchanges, atomics) are as efficient as before. The loop contains no barrier
 * between consumer warpgroups. Three idle warps complete the producer's warpgroup, because
 * setmaxnreg applies to whole warpgroups. A single warpgroup of consumers needs no more registers
 * than at launch. Then there are no idle warps, and the producer is the last warp.
 *
 * Ring buffer: each stage of every buffer has two barriers. The producer arrives at `full` with the
 * copies' bytes; each consumer warp arrives at `empty` after reading. Stage and parity are carried
 * through all loops, so the ring continues from tile to tile. The producer begins with parity 1,
 * because the phase before the first counts as complete. Copies share a pair of barriers if no dot
 * separates their first uses.
 *
 * The producer also issues copies before the loop (outer_ring.c), with separate barriers, so that a
 * tile's first operands arrive before the previous tile is stored.
 *
 * Dots that accumulate a sum which only the loop carries are asynchronous. At the end of an
 * iteration, the dots of the previous iteration are complete and their stages are released, while
 * those of the current one are pending. The tensor cores stay busy during the wait for the next
 * stage.
 *
 * An `if` tests that the loop has an iteration. The first dot then overwrites the accumulator
 * (scale-d), and the zeros, one per register, are only written if there is no iteration.
 *
 * Tiles are stored asynchronously, piece by piece (store.c), so that the stages of the ring need
 * not give up shared memory for whole tiles.
 *
 * If a dot uses the result of another one, pipeline-dots overlaps the dots of two iterations. The
 * producer then fills the operands of the first dot an iteration ahead of the others, which is the
 * order in which they are waited for.
 *
 * Blocks of a cluster share copies that are the same for them (share.c).
 *
 * Enclosing loops: the ring runs ahead of the iterations, so no iteration may read through the ring
 * what an earlier one writes, unless the loops are `independent`, like the loop that tile-scheduler
 * makes. */
#include "lib/analysis/executors.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "passes/common/warpgroup.h"
#include "passes/warps/specialize.h"

enum {
    BLOCK_REGISTERS = 1 << 16,
    WIDE_SUMS = 168,   /* registers per thread: with at least these, the producer gives up all it
                          can */
    SCALED_SUMS = 208, /* registers of a consumer that scales sums: with 240, ptxas 13.0 moves loads
                          and additions so far apart that a tile of 128 x 256 spills 84 bytes; with
                          208 it spills none */
};

/* Finding the loop ----------------------------------------------------------------------------- */

/* Building ------------------------------------------------------------------------------------- */

tile_value specialize_barriers(const warp_specialization *s, tile_builder *b, const char *name,
                               unsigned stages, int64_t arrivals) {
    const int64_t extent = stages;
    tile_value bar = tile_build_alloc_barrier(
        b, tile_type_shared(tile_function_context(s->ring.f), TILE_barrier, 0, 1, &extent));
    tile_op_set_int(b->function, tile_value_def(b->function, bar), TILE_ATTR_count, arrivals);
    tile_value_set_name(b->function, bar, name);
    return bar;
}

static bool has_parts(const warp_specialization *s) {
    bool found = false;
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++) found |= s->parts[i].end.id != 0;
    return found;
}

/* Builds buffers and barriers before the roles, because both roles use them. */
static void make_rings(warp_specialization *s, tile_op roles) {
    tile_function *f = s->ring.f;
    ring_make_buffers(&s->ring);
    specialize_distribute_buffers(s);
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++) {
        tile_op alloc = tile_value_def(f, s->ring.buffers[i]);
        tile_move_op(f, alloc, f->body, roles);
        if (alloc.id < s->old_ops) s->run_by_all[alloc.id] = true;
    }
    tile_builder b = tile_builder_before(f, roles);
    b.loc = tile_op_loc(f, s->ring.plan.loop);
    unsigned stages = s->ring.plan.stages;
    for (unsigned g = 0; g < s->group_count; g++) {
        int64_t readers = (int64_t)s->warps * s->readers * specialize_senders(s, &s->groups[g]);
        s->groups[g].full = specialize_barriers(s, &b, "full", stages, 1);
        s->groups[g].empty = specialize_barriers(s, &b, "empty", stages, readers);
    }
    if (has_parts(s)) s->partial_box_barrier = specialize_barriers(s, &b, "landed", 1, 1);
    specialize_make_outer_ring(s, roles);
}

static int64_t registers_of(const warp_specialization *s, const tile_type *type) {
    bool tile = type->kind == TILE_TYPE_TILE;
    return tile ? tile_type_elements(type) * tile_scalar_bytes(type->scalar) / (128 * s->warps) : 0;
}

/* Registers of a dot that is waited for immediately, in addition to the loop-carried ones. */
static int64_t own_registers(const warp_specialization *s, tile_op dot) {
    int64_t sums = registers_of(s, tile_value_type(s->ring.f, tile_op_result(s->ring.f, dot, 0)));
    int64_t left = TILE_WGMMA_MAX_REGISTERS - sums;
    for (unsigned i = 0; i < s->dot_count; i++)
        if (s->dots[i].id == dot.id) return 0;
    return warpgroup_promotes(s->ring.f, dot) && left < sums ? left : sums;
}

/* Registers per thread that hold accumulators while dots run. */
static int64_t sum_registers(const warp_specialization *s) {
    tile_function *f = s->ring.f;
    tile_op loop = s->ring.plan.loop;
    int64_t carried = 0, own = 0;
    for (unsigned i = 0; i < tile_carried_count(f, loop); i++)
        carried += registers_of(s, tile_value_type(f, tile_op_result(f, loop, i)));
    TILE_FOR_EACH_NESTED_OP (f, op, loop) {
        int64_t taken = tile_op_opcode(f, op) == TILE_OP_dot ? own_registers(s, op) : 0;
        own = taken > own ? taken : own;
    }
    return carried + own;
}

/* Returns whether sums are scaled where they are added (warpgroup_scaled_sum). */
static bool scales_sums(const warp_specialization *s) {
    bool scales = false;
    TILE_FOR_EACH_NESTED_OP (s->ring.f, op, s->ring.plan.loop)
        scales |= tile_op_opcode(s->ring.f, op) == TILE_OP_dot &&
                  warpgroup_uses_wgmma(s->ring.f, op) && warpgroup_scaled_sum(s->ring.f, op).id;
    return scales;
}

/* The producer's warpgroup gives registers to the consumers, unless these are one warpgroup, which
 * has enough. If dots depend on each other, the values between them need as many registers as wide
 * accumulators. */
static void share_registers(const warp_specialization *s, int64_t *producer, int64_t *consumer) {
    bool wide = s->chained || sum_registers(s) >= WIDE_SUMS;
    *producer = *consumer = 0;
    if (s->warps * s->consumer_groups == WARPGROUP) return;
    if (s->readers > 1) { /* four warpgroups have 128 each at launch */
        *producer = 32;
        *consumer = 160;
        return;
    }
    wide &= !has_parts(s);
    *producer = wide ? 24 : 40;
    *consumer = scales_sums(s) ? SCALED_SUMS : wide ? 240 : 232;
}

/* All threads must execute the cluster barriers after the consumers' loop, so the other role gets
 * copies of them. */
static void replicate_cluster_barriers(warp_specialization *s, tile_region consumers,
                                       tile_region others) {
    tile_function *f = s->ring.f;
    tile_builder b = tile_builder_before(f, tile_region_yield(f, others));
    TILE_FOR_EACH_OP (f, op, consumers) {
        b.loc = tile_op_loc(f, op);
        if (tile_op_opcode(f, op) == TILE_OP_cluster_wait) tile_build_cluster_wait(&b);
        if (tile_op_opcode(f, op) != TILE_OP_cluster_arrive) continue;
        tile_build_cluster_arrive(&b);
        if (tile_op_has_attr(f, op, TILE_ATTR_relaxed))
            tile_op_set_flag(f, tile_op_at(f, b.before)->prev, TILE_ATTR_relaxed);
    }
}

/* Allows iterations to overlap, and issues the groups' dots in order if the user requests it. */
static void mark_producer_fed(const warp_specialization *s) {
    tile_function *f = s->ring.f;
    tile_op loop = s->ring.plan.loop;
    bool ordered = warpgroup_requests(f, loop, "ordered");
    if (s->chained) tile_op_set_flag(f, loop, TILE_ATTR_producer_fed);
    if (ordered && !specialize_has_wgmma(s))
        tile_missed_at(f, loop, "no ordered issue", NULL, "the target has no wgmma");
    else if (ordered && !s->chained)
        tile_missed_at(f, loop, "no ordered issue", "remove `consumers`",
                       "no dot takes the result of another dot");
    else if (ordered && s->warps * s->consumer_groups == WARPGROUP)
        tile_missed_at(f, loop, "no ordered issue", "write `warps 8`",
                       "a single warpgroup has no other one to alternate with");
    else if (ordered)
        tile_op_set_flag(f, loop, TILE_ATTR_ordered_issue);
}

/* A role, by its place in the block. */
typedef enum role { PRODUCER, IDLE, CONSUMERS, ROLES } role;

/* The roles in the order of their warps. A single warpgroup of consumers keeps the registers of its
 * launch, so that no warps complete that of the producer: more blocks fit on a multiprocessor. The
 * consumers begin at a multiple of a warpgroup. */
static unsigned order_roles(const warp_specialization *s, role roles[ROLES]) {
    const role together[] = {PRODUCER, IDLE, CONSUMERS}, alone[] = {CONSUMERS, PRODUCER};
    const bool single = s->warps * s->consumer_groups == WARPGROUP;
    const unsigned count = single ? 2 : ROLES;
    for (unsigned r = 0; r < count; r++) roles[r] = single ? alone[r] : together[r];
    return count;
}

static void make_roles(warp_specialization *s) {
    tile_function *f = s->ring.f;
    tile_op top = specialize_outermost_op(s);
    tile_builder b = tile_builder_before(f, top);
    int64_t few, many, sum = 0;
    share_registers(s, &few, &many);
    const int64_t warps[ROLES] = {1, WARPGROUP - 1, s->warps},
                  sets[ROLES] = {1, 1, s->consumer_groups}, shares[ROLES] = {few, few, many};
    tile_value counts[ROLES], groups[ROLES], registers[ROLES];
    role order[ROLES];
    tile_region regions[ROLES] = {{0}};
    const unsigned count = order_roles(s, order);
    for (unsigned r = 0; r < count; r++) {
        counts[r] = tile_build_int(&b, warps[order[r]]);
        groups[r] = tile_build_int(&b, sets[order[r]]);
        registers[r] = tile_build_int(&b, shares[order[r]]);
        sum += warps[order[r]] * sets[order[r]];
    }
    b.loc = tile_op_loc(f, s->ring.plan.loop);
    tile_op roles = tile_build_role_regions(&b, counts, groups, registers, count);
    for (unsigned r = 0; r < count; r++) regions[order[r]] = tile_op_region(f, roles, r);
    make_rings(s, roles);
    specialize_producer(s, regions[PRODUCER]);
    if (regions[IDLE].id) {
        tile_builder idle = tile_builder_at_end(f, regions[IDLE]);
        tile_build_yield(&idle, NULL, 0);
    }
    specialize_consumers(s, roles, regions[CONSUMERS]);
    for (unsigned r = 0; r < CONSUMERS; r++)
        if (regions[r].id) replicate_cluster_barriers(s, regions[CONSUMERS], regions[r]);
    specialize_stores(s, regions[CONSUMERS]);
    tile_op_remove_attr(f, s->ring.plan.loop, TILE_ATTR_pipelined);
    mark_producer_fed(s);
    tile_op_remove_attr(f, s->ring.plan.loop, TILE_ATTR_consumers);
    tile_function_set_warps(f, tile_expr_int(tile_function_context(f), sum));
}

tile_status tile_pass_specialize_warps(tile_pass *pass, tile_function *f) {
    tile_op loop = TILE_NO_OP;
    unsigned loops = 0;
    /* 1. The loop. */
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_has_attr(f, op, TILE_ATTR_pipelined) && !loops++) loop = op;
    if (!loops || !tile_specializes_warps(pass->target)) return TILE_OK;
    if (loops > 1) {
        tile_missed_at(
            f, loop, "not specialized", "remove `pipelined` from the others",
            "the kernel has several pipelined loops, and a producer warp serves only one");
        return TILE_OK;
    }
    /* 2. Its requirements. */
    warp_specialization s = {.ring = {.pass = pass, .f = f}};
    if (specialize_plan(&s, loop)) make_roles(&s);
    tile_pass_count(pass, "specialized loops", s.group_count > 0);
    return TILE_OK;
}
