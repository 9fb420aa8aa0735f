/* Blocks of a cluster share copies of the same data: each part is read once and multicast.
 *
 *     block 0 of [2, 1]   a row 0 | b column, first half  --> both
 *     block 1             a row 1 | b column, second half --> both
 *
 * A copy is shared along a dim of the cluster if neither its source nor its number of iterations
 * depends on the block's position along that dim (lib/analysis/uniform.h). `full` barriers expect
 * all bytes, whichever block sends them. A stage is empty when the consumers of all blocks that its
 * producer sends to have read it: each consumer releases the stage to every block that sends to its
 * own block. Since other blocks arrive at this block's barriers, it must not exit early: its
 * producer waits for their arrivals. */
#include "lib/analysis/executors.h"
#include "lib/analysis/grid_fit.h"
#include "lib/analysis/uniform.h"
#include "lib/ir/remark.h"
#include "passes/warps/specialize.h"

enum { DIMS = 3 };

/* Returns whether blocks that differ along the dim run the same number of iterations. */
static bool keeps_step(const warp_specialization *s, const bool *varying) {
    const tile_function *f = s->ring.f;
    bool same = true;
    for (unsigned d = 0; d <= s->outer_loop_count; d++) {
        tile_op loop = d < s->outer_loop_count ? s->outer_loops[d] : s->ring.plan.loop;
        for (unsigned i = 0; i < 3; i++) same &= !varying[tile_op_operand(f, loop, i).id];
    }
    return same;
}

static bool reads_same(const warp_specialization *s, const bool *varying, tile_op copy) {
    bool same = true;
    const tile_values source = tile_operands_src(s->ring.f, copy);
    for (unsigned i = 0; i < source.count; i++) same &= !varying[source.at[i].id];
    return same;
}

static void share_along(warp_specialization *s, unsigned dim) {
    const bool *varying = tile_cluster_varying_values(
        s->ring.f, dim, tile_grid_cluster_extent(s->ring.f, dim), s->ring.pass->scratch);
    if (!keeps_step(s, varying)) return;
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++) {
        if (s->shared_along[i] || !reads_same(s, varying, s->ring.plan.copies[i].op)) continue;
        s->shared_along[i] = 1 + dim;
        s->groups[s->group_of[i]].shared_dims |= 1u << dim;
        s->shares_copies = true;
    }
}

/* Emits no remark if the kernel uses its cluster for another purpose. */
static void remark_none(const warp_specialization *s) {
    tile_function *f = s->ring.f;
    if (tile_uses_cluster(f)) return;
    if (!tile_shares_copies(s->ring.pass->target))
        tile_missed_at(f, s->ring.plan.loop, "no multicast", "remove `cluster`",
                       "the target has none at full rate, and each block copies for itself");
    else
        tile_missed_at(
            f, s->ring.plan.loop, "no multicast",
            "remove `cluster`, or use a copy that does not depend on one dim of block_id",
            "each block of a cluster copies different data, or a different number of times");
}

void specialize_plan_sharing(warp_specialization *s) {
    tile_function *f = s->ring.f;
    bool any = false;
    for (unsigned d = 0; d < DIMS; d++) {
        if (tile_grid_cluster_extent(f, d) == 1) continue;
        any = true;
        if (tile_shares_copies(s->ring.pass->target)) share_along(s, d);
    }
    if (any && !s->shares_copies) remark_none(s);
}

unsigned specialize_senders(const warp_specialization *s, const barrier_group *group) {
    int64_t senders = 1;
    for (unsigned d = 0; d < DIMS; d++)
        if (group->shared_dims >> d & 1) senders += tile_grid_cluster_extent(s->ring.f, d) - 1;
    return (unsigned)senders;
}

/* The rank of the block `ahead` positions further along the dim, modulo its extent. */
static tile_value rank_of(const warp_specialization *s, tile_builder *b, unsigned dim,
                          int64_t ahead) {
    const tile_function *f = s->ring.f;
    int64_t before = tile_grid_cluster_blocks(f, dim), all = tile_grid_cluster_blocks(f, DIMS);
    int64_t extent = tile_grid_cluster_extent(f, dim);
    tile_value rank = tile_build_cluster_rank(b), blocks = tile_build_int(b, extent);
    tile_value step = tile_build_int(b, before), place = rank;
    if (all != extent) place = tile_build_rem(b, tile_build_div(b, rank, step), blocks);
    tile_value other =
        tile_build_rem(b, tile_build_add(b, place, tile_build_int(b, ahead)), blocks);
    if (all == extent) return other;
    tile_value first = tile_build_sub(b, rank, tile_build_mul(b, place, step));
    return tile_build_add(b, first, tile_build_mul(b, other, step));
}

void specialize_find_senders(warp_specialization *s, tile_builder *b) {
    for (unsigned g = 0; g < s->group_count; g++) {
        barrier_group *group = &s->groups[g];
        unsigned count = 0;
        group->senders =
            TILE_NEW_ARRAY(s->ring.pass->scratch, tile_value, specialize_senders(s, group));
        group->senders[count++] = group->empty;
        for (unsigned d = 0; d < DIMS; d++)
            for (int64_t i = 1;
                 group->shared_dims >> d & 1 && i < tile_grid_cluster_extent(s->ring.f, d); i++)
                group->senders[count++] =
                    tile_build_map_shared(b, group->empty, rank_of(s, b, d, i));
    }
}

void specialize_release_stage(const warp_specialization *s, tile_builder *b,
                              const barrier_group *group, tile_value stage) {
    for (unsigned i = 0; i < specialize_senders(s, group); i++)
        tile_build_barrier_arrive(b, group->senders[i], &stage, 1);
}
