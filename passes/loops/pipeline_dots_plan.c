/* Assigns the operations of a loop with two chained dots to two stages, and checks legality. */
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/ops/shape.h"
#include "passes/common/warpgroup.h"
#include "passes/loops/pipeline_dots.h"

enum {
    FIRST_STAGE,
    SECOND_STAGE,
    WARP_LANES = 32,
    WORD_BYTES = 4,
};

/* Registers of a thread. Measured with ptxas 13.0: with sums of 208 registers out of 240 nothing
 * spills, nor with 128 out of 160. */
enum { OTHER_REGISTERS = 32, MAX_REGISTERS = 240 };

static bool is_here(const dot_pipeline *s, tile_op op) {
    return op.id && tile_op_at(s->f, op)->parent.id == s->body.id;
}

/* Whether the operation has no effects and reads no memory. */
static bool is_pure(const dot_pipeline *s, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    return !tile_op_effects(s->f, op) && !tile_op_at(s->f, op)->region_count &&
           tile_op_opcode(s->f, op) != TILE_OP_dot && !tile_op_accesses(s->f, op, accesses);
}

/* Products ------------------------------------------------------------------------------------- */

/* The largest depth of op's operands. */
static uint8_t depth_of_operands(const dot_pipeline *s, tile_op op) {
    uint8_t depth = 0;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++) {
        uint8_t own = s->depth[tile_op_operand(s->f, op, i).id];
        depth = own > depth ? own : depth;
    }
    return depth;
}

/* False unless both stages have dots, there is no third stage, and all dots are directly in the
 * body. */
static bool find_products(dot_pipeline *s) {
    unsigned all = 0;
    bool chained = true;
    TILE_FOR_EACH_OP_INSIDE (s->f, op, s->body) all += tile_op_opcode(s->f, op) == TILE_OP_dot;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        uint8_t depth = depth_of_operands(s, op);
        if (tile_op_opcode(s->f, op) == TILE_OP_dot) {
            if (depth > SECOND_STAGE)
                return tile_missed_at(s->f, op, "not overlapped", NULL,
                                      "three products depend on each other, and two can overlap");
            s->dots[depth]++;
            s->last[depth++] = op;
        }
        for (unsigned i = 0; i < tile_op_result_count(s->f, op); i++)
            s->depth[tile_op_result(s->f, op, i).id] = depth;
    }
    for (unsigned stage = 0; stage < 2; stage++) chained &= s->dots[stage] > 0;
    return chained && s->dots[0] + s->dots[1] == all;
}

/* A dot that runs concurrently with another one: a single instruction must compute its sums. */
static bool check_product(const dot_pipeline *s, tile_op dot) {
    uint32_t dims[TILE_MAX_RANK];
    unsigned row_dim, warps = tile_executors_of(s->f, dot).warps;
    const bool staged[2] = {false, false};
    if (!warpgroup_uses_wgmma(s->f, dot) || !warpgroup_row_dim(s->f, dot, &row_dim))
        return tile_missed_at(s->f, dot, "not overlapped", "the remark \"no wgmma\" says why",
                              "it is not computed by wgmma");
    if (warpgroup_promotes(s->f, dot))
        return tile_missed_at(s->f, dot, "not overlapped", "add `fast` to the dot",
                              "its sums are added outside of the tensor cores for precision");
    tile_type_dims(warpgroup_operand(s->f, dot, TILE_MMA_ACC), dims);
    if (dims[row_dim] != TILE_WGMMA_ROWS * warps / TILE_WARPGROUP ||
        dims[1 - row_dim] > TILE_WGMMA_MAX_COLUMNS)
        return tile_missed_at(s->f, dot, "not overlapped",
                              "give each warpgroup 64 rows, and at most 256 columns",
                              "the sums of a warpgroup are not those of one wgmma instruction");
    return warpgroup_may_stay_pending(s->f, dot, staged) ||
           tile_missed_at(s->f, dot, "not overlapped", NULL,
                          "its second operand goes through a buffer that every iteration fills");
}

/* Marks the operations of the same stage that dots, waits and reads depend on. */
static void mark_feeds_effect(dot_pipeline *s, tile_op op) {
    if (s->feeds_effect[op.id]) return;
    s->feeds_effect[op.id] = true;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++) {
        tile_op def = tile_value_def(s->f, tile_op_operand(s->f, op, i));
        if (is_here(s, def) && s->runs_in_second_stage[def.id] == s->runs_in_second_stage[op.id])
            mark_feeds_effect(s, def);
    }
}

static void find_feeds_effect(dot_pipeline *s) {
    TILE_FOR_EACH_OP (s->f, op, s->body)
        if (!is_pure(s, op) && tile_op_opcode(s->f, op) != TILE_OP_yield) mark_feeds_effect(s, op);
}

/* Stages --------------------------------------------------------------------------------------- */

static void mark_second(dot_pipeline *s, tile_op op) {
    s->runs_in_second_stage[op.id] = true;
    for (unsigned i = 0; i < tile_op_result_count(s->f, op); i++)
        s->in_second_stage[tile_op_result(s->f, op, i).id] = true;
}

/* The second stage begins at the waits directly before its first dot; all later operations with
 * effects belong to it. */
static tile_op find_second_stage(const dot_pipeline *s) {
    tile_op start = TILE_NO_OP;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        bool product = tile_op_opcode(s->f, op) == TILE_OP_dot;
        if (product && depth_of_operands(s, op) == SECOND_STAGE) return start.id ? start : op;
        if (is_pure(s, op)) continue;
        if (tile_op_opcode(s->f, op) != TILE_OP_barrier_wait)
            start = TILE_NO_OP;
        else if (!start.id)
            start = op;
    }
    return start;
}

/* The reason why an operation is not allowed in a loop with two stages; NULL: it is allowed. */
static const char *find_fault(const dot_pipeline *s, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    switch (tile_op_opcode(s->f, op)) {
    case TILE_OP_dot:
    case TILE_OP_barrier_wait:
    case TILE_OP_barrier_arrive:
    case TILE_OP_yield: return NULL;
    default: break;
    }
    unsigned count = tile_op_accesses(s->f, op, accesses);
    bool more = tile_op_effects(s->f, op) || tile_op_at(s->f, op)->region_count;
    for (unsigned i = 0; i < count; i++) more |= accesses[i].write;
    return more ? "it has effects other than reads and arithmetic" : NULL;
}

/* Operations that depend on the second stage belong to it, also through carried values. True if
 * there were more of them. */
static bool spread_second_stage(dot_pipeline *s) {
    bool more = false;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        bool takes = false;
        if (s->runs_in_second_stage[op.id] || tile_op_opcode(s->f, op) == TILE_OP_yield) continue;
        for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
            takes |= s->in_second_stage[tile_op_operand(s->f, op, i).id];
        if (takes) mark_second(s, op);
        more |= takes;
    }
    for (unsigned i = 0; i < tile_carried_count(s->f, s->loop); i++) {
        tile_value received = tile_carried_received(s->f, s->loop, 0, i);
        bool in_second_stage = s->in_second_stage[tile_carried_sent(s->f, s->loop, 0, i).id];
        more |= in_second_stage && !s->in_second_stage[received.id];
        s->in_second_stage[received.id] |= in_second_stage;
    }
    return more;
}

static bool find_stages(dot_pipeline *s) {
    tile_op start = find_second_stage(s);
    bool reached = false;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        reached |= op.id == start.id;
        const char *fault = find_fault(s, op);
        if (fault) return tile_missed_at(s->f, op, "not overlapped", NULL, "%s", fault);
        if (reached && !is_pure(s, op) && tile_op_opcode(s->f, op) != TILE_OP_yield)
            mark_second(s, op);
    }
    while (spread_second_stage(s)) continue;
    reached = false;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        reached |= op.id == start.id;
        bool product = tile_op_opcode(s->f, op) == TILE_OP_dot;
        bool first = product && depth_of_operands(s, op) == FIRST_STAGE;
        if (s->runs_in_second_stage[op.id] && (first || (!reached && !is_pure(s, op))))
            return tile_missed_at(
                s->f, op, "not overlapped", NULL,
                "it depends on the second dot of the previous iteration, or comes "
                "after the second dot of its own");
    }
    return true;
}

/* Values passed between stages ----------------------------------------------------------------- */

tile_op dot_stages_rematerialized(const dot_pipeline *s, tile_value value) {
    tile_op def = tile_value_def(s->f, value);
    if (!is_here(s, def) || s->runs_in_second_stage[def.id]) return TILE_NO_OP;
    switch (tile_op_opcode(s->f, def)) {
    case TILE_OP_iota:
    case TILE_OP_splat:
    case TILE_OP_broadcast: return def;
    default: return TILE_NO_OP;
    }
}

static bool is_of_iteration(const dot_pipeline *s, tile_value value) {
    const tile_value_data *data = tile_value_at(s->f, value);
    if (data->kind == TILE_VALUE_REGION) return data->owner == s->body.id;
    return is_here(s, tile_value_def(s->f, value));
}

static void pass_to_second(dot_pipeline *s, tile_value value) {
    tile_op again = dot_stages_rematerialized(s, value);
    for (unsigned i = 0; again.id && i < tile_op_operand_count(s->f, again); i++)
        pass_to_second(s, tile_op_operand(s->f, again, i));
    bool known = again.id || s->in_second_stage[value.id] || !is_of_iteration(s, value);
    for (unsigned i = 0; i < s->passed_count && !known; i++)
        known = s->passed_to_second[i].id == value.id;
    if (!known) s->passed_to_second[s->passed_count++] = value;
}

static void find_passed(dot_pipeline *s) {
    TILE_FOR_EACH_OP (s->f, op, s->body)
        for (unsigned i = 0; s->runs_in_second_stage[op.id] && !s->is_early_rescale[op.id] &&
                             i < tile_op_operand_count(s->f, op);
             i++)
            pass_to_second(s, tile_op_operand(s->f, op, i));
}

/* The only user of the carried value, if it takes nothing else from the second stage. */
static tile_op only_user(const dot_pipeline *s, unsigned carried) {
    tile_value received = tile_carried_received(s->f, s->loop, 0, carried);
    tile_op only = TILE_NO_OP;
    unsigned uses = 0;
    if (!s->in_second_stage[received.id]) return TILE_NO_OP;
    TILE_FOR_EACH_OP (s->f, op, s->body)
        for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
            if (tile_op_operand(s->f, op, i).id == received.id) {
                only = op;
                uses++;
            }
    if (uses != 1 || !is_pure(s, only) || tile_op_result_count(s->f, only) != 1) return TILE_NO_OP;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, only); i++) {
        tile_value operand = tile_op_operand(s->f, only, i);
        if (operand.id != received.id && s->in_second_stage[operand.id]) return TILE_NO_OP;
    }
    return tile_value_type(s->f, tile_op_result(s->f, only, 0)) == tile_value_type(s->f, received)
               ? only
               : TILE_NO_OP;
}

/* Two warpgroups with ordered issue have enough dots to hide the rescaling: on an H200, attention
 * at depth 64 with three groups went from 542 us to 514 us, at depth 128 with two groups from 788
 * us to 797 us. */
static void find_ahead(dot_pipeline *s) {
    bool crowded = tile_op_has_attr(s->f, s->loop, TILE_ATTR_ordered_issue) &&
                   tile_ordered_warpgroups(tile_executors_of(s->f, s->loop)) > 2;
    for (unsigned i = 0; crowded && i < tile_carried_count(s->f, s->loop); i++) {
        tile_op op = only_user(s, i);
        if (op.id) s->is_early_rescale[op.id] = true;
    }
}

tile_op dot_stages_early_rescale(const dot_pipeline *s, unsigned carried) {
    tile_op op = only_user(s, carried);
    return op.id && s->is_early_rescale[op.id] ? op : TILE_NO_OP;
}

/* Registers that the second stage's dots read until they are waited for ------------------------ */

static bool runs_after_second_dots(const dot_pipeline *s, tile_value value) {
    tile_op def = tile_value_def(s->f, value);
    return is_here(s, def) && s->after_second_dots[def.id];
}

/* Marks operands of the second stage's dots that depend on the dots of the first stage. */
static void mark_operands(dot_pipeline *s) {
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        bool product = tile_op_opcode(s->f, op) == TILE_OP_dot && s->runs_in_second_stage[op.id];
        for (unsigned i = 0; product && i < tile_op_operand_count(s->f, op); i++) {
            tile_value value = tile_op_operand(s->f, op, i);
            tile_op def = tile_value_def(s->f, value);
            if (is_here(s, def) && !s->runs_in_second_stage[def.id] && s->depth[value.id])
                s->after_second_dots[def.id] = true;
        }
    }
}

/* Marks operations of the first stage that depend on them. False if one of them is not pure. */
static bool mark_dependent(dot_pipeline *s) {
    bool pure = true;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        if (s->runs_in_second_stage[op.id] || tile_op_opcode(s->f, op) == TILE_OP_yield) continue;
        for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
            s->after_second_dots[op.id] |= runs_after_second_dots(s, tile_op_operand(s->f, op, i));
        pure &= !s->after_second_dots[op.id] || is_pure(s, op);
    }
    return pure;
}

static bool is_narrow(const dot_pipeline *s, tile_op op) {
    if (tile_op_result_count(s->f, op) != 1) return false;
    if (tile_op_opcode(s->f, op) == TILE_OP_cast) return true;
    const tile_type *type = tile_value_type(s->f, tile_op_result(s->f, op, 0));
    return type->kind == TILE_TYPE_TILE && tile_scalar_bytes(type->scalar) < WORD_BYTES;
}

/* Whether the result is only used after the second dots or in the second stage. */
static bool is_passed_on(const dot_pipeline *s, tile_op op) {
    bool only_feeds_second = is_narrow(s, op) && is_pure(s, op) && !s->runs_in_second_stage[op.id];
    TILE_FOR_EACH_OP (s->f, user, s->body)
        for (unsigned i = 0; only_feeds_second && i < tile_op_operand_count(s->f, user); i++)
            if (tile_op_operand(s->f, user, i).id == tile_op_result(s->f, op, 0).id)
                only_feeds_second =
                    s->after_second_dots[user.id] || s->runs_in_second_stage[user.id];
    return only_feeds_second;
}

/* Also marks operations that only feed these, if their results are narrower than the sums, whose
 * registers could be reused for them. */
static void find_after_second_dots(dot_pipeline *s) {
    mark_operands(s);
    if (!mark_dependent(s)) {
        memset(s->after_second_dots, 0, s->f->op_count * sizeof *s->after_second_dots);
        return;
    }
    for (tile_op op = tile_region_at(s->f, s->body)->last; op.id; op = tile_op_at(s->f, op)->prev)
        s->after_second_dots[op.id] |= is_passed_on(s, op);
}

/* Registers ------------------------------------------------------------------------------------ */

/* Registers per thread for its share of the tile; rows and columns need next to none. */
static int64_t registers_of(const dot_pipeline *s, tile_value value) {
    const tile_type *type = tile_value_type(s->f, value);
    if (type->kind != TILE_TYPE_TILE) return 0;
    for (unsigned d = 0; d < type->rank; d++)
        if (tile_type_dim(type, d) == 1) return 0;
    int64_t bytes = tile_type_elements(type) * tile_scalar_bytes(type->scalar);
    return bytes / WORD_BYTES / (WARP_LANES * (int64_t)tile_executors_of(s->f, s->loop).warps);
}

/* Counts registers that are live while dots of both stages run: sums, values passed between stages,
 * other carried values, and values read from before the loop. */
static int64_t count_registers(const dot_pipeline *s) {
    int64_t all = 0, carried_sums = 0, dot_sums = 0;
    for (unsigned i = 0; i < s->passed_count; i++) all += registers_of(s, s->passed_to_second[i]);
    for (unsigned i = 0; i < tile_carried_count(s->f, s->loop); i++) {
        tile_value carried = tile_carried_received(s->f, s->loop, 0, i);
        *(s->in_second_stage[carried.id] ? &carried_sums : &all) += registers_of(s, carried);
    }
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        if (tile_op_opcode(s->f, op) != TILE_OP_dot) continue;
        int64_t sums = registers_of(s, tile_op_result(s->f, op, 0));
        *(s->runs_in_second_stage[op.id] ? &dot_sums : &all) += sums;
        for (unsigned i = 0;
             !s->runs_in_second_stage[op.id] && i < tile_op_operand_count(s->f, op) - 1; i++) {
            tile_value operand = tile_op_operand(s->f, op, i);
            all += is_of_iteration(s, operand) ? 0 : registers_of(s, operand);
        }
    }
    return all + (carried_sums > dot_sums ? carried_sums : dot_sums);
}

/* Registers per thread in this role. */
static int64_t registers_there(const dot_pipeline *s) {
    tile_region role = tile_executors_of(s->f, s->loop).role;
    tile_op roles = role.id ? tile_region_at(s->f, role)->parent : TILE_NO_OP;
    unsigned r = 0;
    while (roles.id && tile_op_region(s->f, roles, r).id != role.id) r++;
    int64_t said = roles.id ? tile_role_registers(s->f, roles, r) : 0;
    return said && said < MAX_REGISTERS ? said : MAX_REGISTERS;
}

static bool check_registers(const dot_pipeline *s) {
    int64_t needed = count_registers(s), there = registers_there(s);
    if (needed <= there - OTHER_REGISTERS) return true;
    return tile_missed_at(
        s->f, s->loop, "not overlapped",
        "use a smaller tile, or one with fewer columns in the first product", "%s",
        tile_arena_format(s->pass->scratch,
                          "the sums and the operands of the next product take %lld registers of a "
                          "thread, and of its %lld there are %lld for them",
                          (long long)needed, (long long)there, (long long)there - OTHER_REGISTERS));
}

/* The plan ------------------------------------------------------------------------------------- */

bool dot_stages_plan(dot_pipeline *s, tile_function *f, tile_op loop) {
    s->f = f;
    s->loop = loop;
    s->body = tile_op_region(f, loop, 0);
    s->in_second_stage = TILE_NEW_ARRAY(s->pass->scratch, bool, f->value_count);
    s->runs_in_second_stage = TILE_NEW_ARRAY(s->pass->scratch, bool, f->op_count);
    s->feeds_effect = TILE_NEW_ARRAY(s->pass->scratch, bool, f->op_count);
    s->after_second_dots = TILE_NEW_ARRAY(s->pass->scratch, bool, f->op_count);
    s->is_early_rescale = TILE_NEW_ARRAY(s->pass->scratch, bool, f->op_count);
    s->depth = TILE_NEW_ARRAY(s->pass->scratch, uint8_t, f->value_count);
    s->passed_to_second = TILE_NEW_ARRAY(s->pass->scratch, tile_value, f->value_count);
    if (!tile_runs_at_least_once(f, loop) || !find_products(s)) return false;
    TILE_FOR_EACH_OP (f, op, s->body)
        if (tile_op_opcode(f, op) == TILE_OP_dot && !check_product(s, op)) return false;
    if (!find_stages(s)) return false;
    find_feeds_effect(s);
    find_ahead(s);
    find_passed(s);
    find_after_second_dots(s);
    return check_registers(s);
}
