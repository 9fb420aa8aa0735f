/* cooperative_3: three consumer groups, each of which computes a third of the rows of every tile.
 *
 *     192 x 192      group 0    rows   0 to  63    one wgmma m64n192 for all columns
 *                    group 1    rows  64 to 127
 *                    group 2    rows 128 to 191
 *
 * Two groups would have to divide the columns, into instructions narrower than the parts of shared
 * layouts; reading the operands would then take longer than the multiplication. Layouts distribute
 * tiles over powers of two of warps, so three groups cannot be one executor set. Each group runs
 * the region separately on a tile with a third of the rows (of the columns, if the operands are
 * swapped). The operand with the rows has a separate stage for each group, all with one pair of
 * barriers. This holds in the loop and for copies that the producer makes before the loop. Copies
 * and tiles that the groups produce themselves are private to each group (divide.c). */
#include <string.h>

#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/layout/wgmma.h"
#include "passes/common/host_value.h"
#include "passes/common/warpgroup.h"
#include "passes/warps/specialize.h"

enum { GROUPS = TILE_COOPERATIVE_3 };

/* Conditions ----------------------------------------------------------------------------------- */

/* Returns whether dots are the only users of the staged value, as this operand. */
static bool is_operand_alone(const warp_specialization *s, tile_value staged, unsigned operand) {
    const tile_function *f = s->ring.f;
    bool alone = true;
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op op = {id};
        tile_opcode opcode = (tile_opcode)f->ops[id].opcode;
        if (!opcode || tile_is_staged(&s->ring.plan, op) || opcode == TILE_OP_free_shared) continue;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            alone &= tile_op_operand(f, op, i).id != staged.id ||
                     (opcode == TILE_OP_dot && i == operand);
    }
    return alone;
}

/* Marks the copy of the dot's operand with the rows as distributed, if it comes through the
 * ring. */
static bool distribute_operand(warp_specialization *s, tile_op dot, unsigned operand) {
    tile_value value = tile_op_segment(s->ring.f, dot, operand).at[0];
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++) {
        if (tile_staged_value(s->ring.f, &s->ring.plan.copies[i]).id != value.id) continue;
        if (!is_operand_alone(s, value, operand))
            return tile_missed_at(s->ring.f, dot, "no cooperative_3", NULL,
                                  "its row operand is not a copy that only products use");
        s->distributed[i] = true;
    }
    return true;
}

static bool admits_cooperative_3(const tile_function *f, tile_op dot, unsigned *row_dim) {
    const tile_dot_facts facts = warpgroup_facts(f, dot);
    return warpgroup_row_dim(f, dot, row_dim) && tile_dot_admits_cooperative_3(&facts, *row_dim);
}

static bool can_divide(warp_specialization *s) {
    tile_function *f = s->ring.f;
    unsigned row_dim;
    s->distributed_dim = TILE_MAX_RANK;
    if (!specialize_has_wgmma(s))
        return tile_missed_at(f, s->ring.plan.loop, "no cooperative_3", NULL,
                              "the target has no wgmma");
    TILE_FOR_EACH_OP (f, op, tile_op_region(f, s->ring.plan.loop, 0)) {
        if (tile_op_opcode(f, op) != TILE_OP_dot) continue;
        if (!admits_cooperative_3(f, op, &row_dim))
            return tile_missed_at(
                s->ring.f, op, "no cooperative_3",
                "use 192 rows and at most 192 columns, whose sums stay in the tensor cores",
                "three groups of 4 warps cannot each compute a third of its rows");
        if (s->distributed_dim < TILE_MAX_RANK && s->distributed_dim != row_dim)
            return tile_missed_at(s->ring.f, op, "no cooperative_3", NULL,
                                  "its row dimension differs from that of the product before");
        s->distributed_dim = row_dim;
        if (!distribute_operand(s, op, warpgroup_first(row_dim))) return false;
    }
    return specialize_check_division(s);
}

/* Two groups would have to divide the columns and exchange values that depend on row sums. If the
 * dots of an iteration depend on each other, ordered issue therefore uses three groups if the rows
 * allow it. */
static bool needs_three_groups(const warp_specialization *s) {
    const tile_function *f = s->ring.f;
    bool shared = s->chained && warpgroup_requests(f, s->ring.plan.loop, "ordered");
    TILE_FOR_EACH_OP (f, op, tile_op_region(f, s->ring.plan.loop, 0)) {
        unsigned row_dim;
        if (tile_op_opcode(f, op) != TILE_OP_dot) continue;
        shared = shared && admits_cooperative_3(f, op, &row_dim);
    }
    return shared;
}

void specialize_plan_cooperative_3(warp_specialization *s) {
    s->distributed = TILE_NEW_ARRAY(s->ring.pass->scratch, bool, s->ring.plan.copy_count + 1u);
    s->readers = 1;
    if (!warpgroup_requests(s->ring.f, s->ring.plan.loop, "cooperative_3") &&
        !needs_three_groups(s))
        return;
    if (!can_divide(s)) {
        memset(s->distributed, 0, s->ring.plan.copy_count * sizeof *s->distributed);
        return;
    }
    s->warps = WARPGROUP;
    s->consumer_groups = s->readers = GROUPS;
}

/* Building ------------------------------------------------------------------------------------- */

void specialize_distribute_buffer(const warp_specialization *s, tile_value buffer,
                                  unsigned stages) {
    tile_context *context = tile_function_context(s->ring.f);
    tile_type draft = *tile_value_type(s->ring.f, buffer);
    unsigned dim = s->distributed_dim;
    draft.dims[dim] = tile_expr_int(context, tile_type_dim(&draft, dim) / GROUPS);
    draft.stages = tile_expr_int(context, (int64_t)stages * GROUPS);
    tile_value_at(s->ring.f, buffer)->type = tile_type_get(context, &draft);
}

void specialize_distribute_buffers(warp_specialization *s) {
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++)
        if (s->distributed[i])
            specialize_distribute_buffer(s, s->ring.buffers[i], s->ring.plan.stages);
}

void specialize_locate_share(const warp_specialization *s, tile_builder *b, const tile_type *type,
                             unsigned share, tile_value *at, unsigned size, tile_value *stage) {
    tile_value *row = &at[size - type->rank + s->distributed_dim];
    tile_value first = tile_build_int(b, share * tile_type_dim(type, s->distributed_dim));
    first = host_value_cast(b, first, tile_value_type(s->ring.f, *row)->scalar);
    if (share) *row = tile_build_add(b, *row, first);
    *stage = specialize_group_stage(b, *stage, tile_build_int(b, share));
}

tile_value specialize_group_stage(tile_builder *b, tile_value stage, tile_value group) {
    return tile_build_add(b, tile_build_mul(b, stage, tile_build_int(b, GROUPS)), group);
}

void specialize_read_group_stages(warp_specialization *s) {
    tile_function *f = s->ring.f;
    tile_region body = tile_op_region(f, s->ring.plan.loop, 0);
    tile_builder b = tile_builder_before(f, tile_region_first(f, body));
    b.loc = tile_op_loc(f, s->ring.plan.loop);
    tile_value own = specialize_group_stage(&b, s->ring.stage, s->group);
    TILE_FOR_EACH_OP (f, op, body)
        for (unsigned i = 0; i < s->ring.plan.copy_count; i++)
            for (uint32_t k = 0; s->distributed[i] && k + 1 < tile_op_operand_count(f, op); k++)
                if (tile_op_opcode(f, op) == TILE_OP_dot &&
                    tile_op_operand(f, op, k).id == s->ring.buffers[i].id)
                    tile_op_at(f, op)->operands[k + 1] = own;
}
