/* round-grid: rounds a grid up to whole clusters; the added blocks only execute cluster barriers.
 *
 * A GPU launches whole clusters. The kernel still sees the declared grid: its author can ignore the
 * added blocks, and a shape that is not a multiple needs no second kernel.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * pipeline: round-grid,canonicalize,dce
 * before:
 *   kernel @meet(%n: i32, %x: ptr<f32>)
 *       grid [%n]
 *       cluster [2]
 *       warps 4
 *   {
 *     %b, %c, %z = block_id : i32
 *     %g = view %x, [%n, 64] : view<f32[?, 64]>
 *     %t = load %g[%b, 0] : tile<f32[1, 64]>
 *     cluster_arrive
 *     cluster_wait
 *     store %t, %g[%b, 0]
 *   }
 *
 * after:
 *   kernel @meet(%n: i32, %x: ptr<f32>)
 *       grid [ceildiv(%n, 2) * 2]
 *       cluster [2]
 *       warps 4
 *   {
 *     %0, %1, %2 = block_id : i32
 *     %3 = lt %0, %n : i1
 *     %4 = sub %n, 1 : i32
 *     %5 = max %4, 0 : i32
 *     %6 = min %0, %5 : i32
 *     %g = view %x, [%n, 64] : view<f32[?, 64]>
 *     %7 = if %3 {
 *       %t = load %g[%6, 0] : tile<f32[1, 64]>
 *       yield %t
 *     } else {
 *       %8 = splat 0.0 : tile<f32[1, 64]>
 *       yield %8
 *     }
 *     cluster_arrive
 *     cluster_wait
 *     if %3 {
 *       store %7, %g[%6, 0]
 *     }
 *   }
 *
 * How. Between two cluster barriers, operations with an effect, and those that need their results,
 * go into a branch for the blocks of the declared grid. Values that are live after a barrier are
 * zero in the added blocks. Pure operations stay where they are. A loop or branch that contains a
 * cluster barrier stays, and its regions are treated likewise. The added blocks must execute the
 * same barriers equally often. They use the coordinates of the nearest block of the declared grid,
 * which is in their cluster. The number of executions must follow from arguments and coordinates,
 * because the added blocks do not read memory.
 *
 * On sm_90a, blocks of a cluster may share the copies of a `pipelined` loop (specialize-warps). All
 * of them therefore run such a loop if it is replicable (replicable_loop.h): the added blocks do
 * what the nearest block does and discard the result. They also execute a `pdl_wait`, before which
 * the previous launch may still write what the loop reads.
 *
 * Phases: 1. find the dims to round; 2. find values that depend on memory, and reject those that
 * control a cluster barrier; 3. coordinates; 4. branches; 5. the launched grid. */
#include <string.h>

#include "lib/analysis/pipeline_plan.h"
#include "lib/analysis/range.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "passes/common/host_value.h"
#include "passes/grid/replicable_loop.h"
#include "passes/grid/grid.h"

typedef struct rounding {
    tile_pass *pass;
    tile_function *f;
    bool rounds[3];
    bool *has_cluster_barrier; /* by op: it is a cluster barrier, or contains one */
    bool *common;              /* by op: it is in a loop that all blocks run */
    bool *unknown;             /* by value: depends on memory, which the added blocks do not read */
    size_t ops, values;        /* sizes of these arrays; later values are those of branches */
    bool shares;               /* blocks of a cluster may share copies */
    bool has_unknown_operands; /* such a loop has operands that the added blocks do not have */
    bool changed, failed;
    tile_value in_grid; /* i1: the block is in the declared grid */
} rounding;

/* 1. Dims -------------------------------------------------------------------------------------- */

/* The extent depends on num_sms, so only the launch can compute it; the launch rejects a partial
 * cluster. */
static bool find_dims(rounding *r) {
    bool any = false;
    const tile_range *ranges = NULL;
    for (unsigned d = 0; d < 3; d++) {
        int64_t cluster = tile_grid_cluster_extent(r->f, d);
        if (cluster == 1) continue;
        if (!ranges) ranges = tile_range_analyse(r->f, r->pass->scratch);
        r->rounds[d] = d >= r->f->grid_rank ||
                       (!tile_expr_holds(r->f->grid[d], TILE_EXPR_NUM_SMS) &&
                        tile_range_of_expr(r->f, ranges, r->f->grid[d]).divisor % cluster != 0);
        any |= r->rounds[d];
    }
    return any;
}

/* 2. Values from memory ------------------------------------------------------------------------ */

static bool find_cluster_barriers(rounding *r, tile_region region) {
    bool any = false;
    TILE_FOR_EACH_OP (r->f, op, region) {
        bool has_cluster_barrier = tile_op_effects(r->f, op) & TILE_EFFECT_CLUSTER ||
                                   tile_op_opcode(r->f, op) == TILE_OP_alloc_barrier;
        for (unsigned i = 0; i < tile_op_at(r->f, op)->region_count; i++)
            has_cluster_barrier |= find_cluster_barriers(r, tile_op_region(r->f, op, i));
        r->has_cluster_barrier[op.id] = has_cluster_barrier;
        any |= has_cluster_barrier;
    }
    return any;
}

static bool contains_cluster_barrier(const rounding *r, tile_op op) {
    return op.id < r->ops && r->has_cluster_barrier[op.id];
}

static bool is_common(const rounding *r, tile_op op) {
    return op.id < r->ops && r->common[op.id];
}

static bool is_unknown(const rounding *r, tile_value value) {
    return value.id >= r->values || r->unknown[value.id];
}

static bool needs_grid(const rounding *r, tile_op op);

static bool any_needs_grid(const rounding *r, tile_region region) {
    TILE_FOR_EACH_OP (r->f, op, region)
        if (needs_grid(r, op)) return true;
    return false;
}

/* Whether only blocks of the declared grid may execute the operation. */
static bool needs_grid(const rounding *r, tile_op op) {
    const tile_op_data *data = tile_op_at(r->f, op);
    unsigned effects = tile_op_effects(r->f, op);
    if (contains_cluster_barrier(r, op) || is_common(r, op)) return false;
    if (data->opcode == TILE_OP_alloc_shared) return false; /* it only names a buffer */
    if (data->opcode == TILE_OP_pdl_wait) return false; /* shared copies follow it in all blocks */
    for (uint32_t i = 0; i < data->operand_count; i++)
        if (is_unknown(r, data->operands[i])) return true;
    for (unsigned i = 0; i < data->region_count; i++)
        if (any_needs_grid(r, data->regions[i])) return true;
    return effects & ~(unsigned)(TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR);
}

static void mark(rounding *r, tile_value value) {
    if (!value.id || r->unknown[value.id]) return;
    r->unknown[value.id] = true;
    r->changed = true;
}

/* A carried value is unknown if any of its sources is. */
static void mark_carried(rounding *r, tile_op op) {
    for (unsigned i = 0; i < tile_carried_count(r->f, op); i++)
        TILE_FOR_EACH_BRANCH_POINT (r->f, op, to)
            TILE_FOR_EACH_BRANCH_POINT (r->f, op, from)
                if (tile_control_flows(r->f, op, from, to) &&
                    is_unknown(r, tile_carried_sent(r->f, op, from, i)))
                    mark(r, tile_carried_received(r->f, op, to, i));
}

static void visit_unknown(rounding *r, tile_op op) {
    tile_function *f = r->f;
    if (contains_cluster_barrier(r, op))
        mark_carried(r, op);
    else if (needs_grid(r, op))
        for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
            mark(r, tile_op_result(f, op, i));
}

static void reject_control(rounding *r, tile_op op, tile_value value) {
    tile_op def = tile_value_def(r->f, value);
    r->failed = true;
    tile_error_of(
        r->f, op,
        "whether a cluster barrier in it is reached depends on memory, which the blocks that round "
        "the grid of @%s up to whole clusters do not read; make it depend on arguments and "
        "block_id, or make the grid's extents multiples of those of `cluster`",
        r->f->name);
    if (def.id && def.id != op.id)
        tile_note_at(r->f, def, "this %s determines it", tile_op_name(r->f, def));
}

static void check_control(rounding *r, tile_op op) {
    tile_function *f = r->f;
    if (!contains_cluster_barrier(r, op)) return;
    for (unsigned i = 0; i < tile_control_operand_count(f, op) && !r->failed; i++)
        if (is_unknown(r, tile_control_operand(f, op, i)))
            reject_control(r, op, tile_control_operand(f, op, i));
}

/* A wait for arrivals of other blocks would never end: the added blocks do not arrive. */
static void reject_remote(rounding *r, tile_op op) {
    tile_function *f = r->f;
    bool remote = false;
    if (tile_op_opcode(f, op) == TILE_OP_map_shared) return;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        const tile_type *type = tile_value_type(f, tile_op_operand(f, op, i));
        remote |= type->kind == TILE_TYPE_SHARED && type->cluster && type->scalar == TILE_barrier;
    }
    if (!remote || r->failed) return;
    r->failed = true;
    tile_error_at(
        f, op,
        "%s at a barrier of another block is not executed by the blocks that round the grid of @%s "
        "up to whole clusters; make the grid's extents multiples of those of `cluster`",
        tile_op_name(f, op), f->name);
}

/* A loop that all blocks run: like a barrier, it and its enclosing loops must be reached by all of
 * them. */
static void visit_pipelined(rounding *r, tile_op op) {
    tile_function *f = r->f;
    if (tile_op_opcode(f, op) != TILE_OP_for || contains_cluster_barrier(r, op) ||
        !is_replicable_loop(f, op))
        return;
    TILE_FOR_EACH_NESTED_OP (f, inner, op) r->common[inner.id] = true;
    for (; op.id; op = tile_op_parent(f, op)) r->has_cluster_barrier[op.id] = true;
}

/* Checks whether the added blocks know all operands of a loop that all blocks run. */
static void check_common(rounding *r, tile_op op) {
    tile_function *f = r->f;
    bool around = tile_op_opcode(f, op) == TILE_OP_for && contains_cluster_barrier(r, op);
    for (unsigned i = 0; (around || is_common(r, op)) && i < tile_op_operand_count(f, op); i++)
        r->has_unknown_operands |= is_unknown(r, tile_op_operand(f, op, i));
}

static void spread_unknown(rounding *r) {
    memset(r->has_cluster_barrier, 0, r->ops * sizeof *r->has_cluster_barrier);
    memset(r->common, 0, r->ops * sizeof *r->common);
    memset(r->unknown, 0, r->values * sizeof *r->unknown);
    find_cluster_barriers(r, r->f->body);
    if (r->shares)
        TILE_FOR_EACH_OP_INSIDE (r->f, op, r->f->body) visit_pipelined(r, op);
    do {
        r->changed = false;
        TILE_FOR_EACH_OP_INSIDE (r->f, op, r->f->body) visit_unknown(r, op);
    } while (r->changed);
}

static void find_unknown(rounding *r) {
    const tile_target *target = r->pass->target;
    r->values = r->f->value_count;
    r->ops = r->f->op_count;
    r->has_cluster_barrier = TILE_NEW_ARRAY(r->pass->scratch, bool, r->ops);
    r->common = TILE_NEW_ARRAY(r->pass->scratch, bool, r->ops);
    r->unknown = TILE_NEW_ARRAY(r->pass->scratch, bool, r->values);
    r->shares = tile_shares_copies(target);
    spread_unknown(r);
    if (r->shares)
        TILE_FOR_EACH_OP_INSIDE (r->f, op, r->f->body) check_common(r, op);
    if (r->has_unknown_operands) {
        r->shares = false;
        spread_unknown(r);
    }
    TILE_FOR_EACH_OP_INSIDE (r->f, op, r->f->body) check_control(r, op);
    TILE_FOR_EACH_OP_INSIDE (r->f, op, r->f->body) reject_remote(r, op);
}

/* 3. Coordinates ------------------------------------------------------------------------------- */

/* All values created since then are known. */
static void extend_unknown(rounding *r) {
    bool *unknown = TILE_NEW_ARRAY(r->pass->scratch, bool, r->f->value_count);
    memcpy(unknown, r->unknown, sizeof *unknown * r->values);
    r->unknown = unknown;
    r->values = r->f->value_count;
}

/* Replaces block_id and grid_dim by the coordinates of the nearest block in the declared grid and
 * by its extents. */
static void place_blocks(rounding *r) {
    tile_function *f = r->f;
    grid g;
    tile_builder place = grid_open(&g, r->pass, f), *b = &place;
    b->loc = f->loc;
    grid_find_block(&g, b);
    tile_op dims = tile_value_def(f, tile_build_grid_dim(b));
    for (unsigned d = 0; d < 3; d++) {
        g.id[d] = g.block[d];
        g.extent[d] = tile_op_result(f, dims, d);
        if (!r->rounds[d]) continue;
        g.extent[d] = host_value_cast(b, host_value(b, *grid_extent_at(f, d)), TILE_i32);
        tile_value inside = tile_build_lt(b, g.id[d], g.extent[d]);
        r->in_grid = r->in_grid.id ? tile_build_and(b, r->in_grid, inside) : inside;
        tile_value last = tile_build_sub(b, g.extent[d], tile_build_int(b, 1));
        /* At least 0, although nothing is launched without blocks: TMA boxes must begin inside the
         * tensor. */
        g.id[d] = tile_build_min(b, g.id[d], tile_build_max(b, last, tile_build_int(b, 0)));
    }
    grid_close(&g);
    extend_unknown(r);
}

/* 4. Branches ---------------------------------------------------------------------------------- */

/* Consecutive operations of one region, except for pure ones between them. */
typedef struct op_range {
    tile_op *ops;
    unsigned count;
} op_range;

static void mark_used(const rounding *r, tile_op op, bool *used) {
    const tile_op_data *data = tile_op_at(r->f, op);
    for (uint32_t i = 0; i < data->operand_count; i++) used[data->operands[i].id] = true;
    for (unsigned i = 0; i < data->region_count; i++)
        TILE_FOR_EACH_OP (r->f, inner, data->regions[i]) mark_used(r, inner, used);
}

static bool has_zero(const tile_type *type) {
    return type->kind == TILE_TYPE_SCALAR || type->kind == TILE_TYPE_TILE ||
           type->kind == TILE_TYPE_VECTOR;
}

/* A view, buffer or pointer that is used after the range is built there, from values that the
 * branch yields. False if the operation has an effect or a region. */
static bool may_escape(const rounding *r, tile_op op) {
    return !tile_op_effects(r->f, op) && !tile_op_at(r->f, op)->region_count;
}

static void reject_address(rounding *r, tile_op op) {
    r->failed = true;
    tile_error_at(r->f, op,
                  "the pointer that %s gives is used after a cluster barrier, and the blocks that "
                  "round the grid of @%s up to whole clusters do not have it; make the grid's "
                  "extents multiples of those of `cluster`",
                  tile_op_name(r->f, op), r->f->name);
}

/* Moves operations that define an address used after the range out of it, in reverse order, to
 * before `end`; their order is kept. */
static void move_addresses(rounding *r, op_range *s, tile_op *end, tile_region region, bool *used) {
    for (unsigned i = s->count; i-- > 0;) {
        tile_op op = s->ops[i];
        bool address = false;
        for (unsigned k = 0; k < tile_op_result_count(r->f, op); k++) {
            tile_value result = tile_op_result(r->f, op, k);
            address |= used[result.id] && !has_zero(tile_value_type(r->f, result));
        }
        if (!address) continue;
        if (!may_escape(r, op)) {
            reject_address(r, op);
            return;
        }
        tile_move_op(r->f, op, region, *end);
        *end = op;
        mark_used(r, op, used);
        s->count--;
        for (unsigned k = i; k < s->count; k++) s->ops[k] = s->ops[k + 1];
    }
}

/* Replaces values from `op` to the end of its region. */
static void replace_from(tile_function *f, tile_op op, const tile_value *map) {
    for (; op.id; op = tile_op_next(f, op)) {
        tile_op_data *data = tile_op_at(f, op);
        for (uint32_t i = 0; i < data->operand_count; i++)
            if (map[data->operands[i].id].id) data->operands[i] = map[data->operands[i].id];
        for (unsigned i = 0; i < data->region_count; i++)
            tile_replace_values(f, data->regions[i], map);
    }
}

/* Finds the values of the range that are used after it. Returns their number; the arrays are in the
 * arena. */
static unsigned find_leaving(const rounding *r, const op_range *s, const bool *used,
                             tile_value **leaving, const tile_type ***types) {
    unsigned capacity = 0, count = 0;
    for (unsigned i = 0; i < s->count; i++) capacity += tile_op_result_count(r->f, s->ops[i]);
    *leaving = TILE_NEW_ARRAY(r->pass->scratch, tile_value, capacity + 1u);
    *types = TILE_NEW_ARRAY(r->pass->scratch, const tile_type *, capacity + 1u);
    for (unsigned i = 0; i < s->count; i++)
        for (unsigned k = 0; k < tile_op_result_count(r->f, s->ops[i]); k++) {
            tile_value result = tile_op_result(r->f, s->ops[i], k);
            if (!used[result.id]) continue;
            (*types)[count] = tile_value_type(r->f, result);
            (*leaving)[count++] = result;
        }
    return count;
}

/* if %in_grid { the range; yield leaving } else { yield zeros } */
static tile_op build_branch(rounding *r, const op_range *s, tile_builder *b,
                            const tile_value *leaving, const tile_type **types, unsigned count) {
    tile_function *f = r->f;
    tile_op branch = tile_build_if_else(b, r->in_grid, types, count);
    tile_builder inner = tile_builder_in(b, branch, 0);
    for (unsigned i = 0; i < s->count; i++) tile_move_op(f, s->ops[i], inner.region, TILE_NO_OP);
    tile_build_yield(&inner, leaving, count);
    inner.region = tile_op_region(f, branch, 1);
    tile_value *zeros = TILE_NEW_ARRAY(r->pass->scratch, tile_value, count + 1u);
    for (unsigned i = 0; i < count; i++) zeros[i] = tile_build_zero(&inner, types[i]);
    tile_build_yield(&inner, zeros, count);
    return branch;
}

/* Turns the range into a branch before `end` (0: at the end of the region). */
static void close_range(rounding *r, op_range *s, tile_op end, tile_region region) {
    tile_function *f = r->f;
    if (!s->count || r->failed) return;
    bool *used = TILE_NEW_ARRAY(r->pass->scratch, bool, f->value_count);
    for (tile_op op = end; op.id; op = tile_op_next(f, op)) mark_used(r, op, used);
    tile_loc loc = tile_op_loc(f, s->ops[0]);
    move_addresses(r, s, &end, region, used);
    if (!s->count || r->failed) return;
    tile_value *leaving;
    const tile_type **types;
    unsigned count = find_leaving(r, s, used, &leaving, &types);
    tile_builder b = end.id ? tile_builder_before(f, end) : tile_builder_at_end(f, region);
    b.loc = loc;
    tile_op branch = build_branch(r, s, &b, leaving, types, count);
    tile_value *map = TILE_NEW_ARRAY(r->pass->scratch, tile_value, f->value_count);
    for (unsigned i = 0; i < count; i++) map[leaving[i].id] = tile_op_result(f, branch, i);
    replace_from(f, tile_op_next(f, branch), map);
    s->count = 0;
}

static void guard_region(rounding *r, tile_region region) {
    op_range s = {.ops = TILE_NEW_ARRAY(r->pass->scratch, tile_op, r->f->op_count)};
    for (tile_op op = tile_region_first(r->f, region), next; op.id && !r->failed; op = next) {
        next = tile_op_next(r->f, op);
        bool last = tile_op_effects(r->f, op) & TILE_EFFECT_TERMINATOR;
        bool waits = tile_op_opcode(r->f, op) == TILE_OP_pdl_wait;
        if (contains_cluster_barrier(r, op) || last || waits) {
            close_range(r, &s, op, region);
            for (unsigned i = 0; i < tile_op_at(r->f, op)->region_count; i++)
                guard_region(r, tile_op_region(r->f, op, i));
        } else if (needs_grid(r, op)) {
            s.ops[s.count++] = op;
        }
    }
    close_range(r, &s, TILE_NO_OP, region);
}

/* 5. The grid ---------------------------------------------------------------------------------- */

static void round_extents(rounding *r) {
    for (unsigned d = 0; d < 3; d++) {
        if (!r->rounds[d]) continue;
        tile_context *context = r->pass->context;
        const tile_expr **extent = grid_extent_at(r->f, d);
        const tile_expr *cluster = tile_expr_int(context, tile_grid_cluster_extent(r->f, d));
        *extent = tile_expr_op(context, TILE_OP_ceildiv, *extent, cluster, NULL);
        *extent = tile_expr_op(context, TILE_OP_mul, *extent, cluster, NULL);
    }
}

tile_status tile_pass_round_grid(tile_pass *pass, tile_function *f) {
    rounding r = {.pass = pass, .f = f};
    if (!find_dims(&r)) return TILE_OK;
    tile_pass_count(pass, "rounded", 1);
    if (tile_region_first(f, f->body).id) {
        find_unknown(&r);
        if (r.failed) return TILE_INVALID;
        place_blocks(&r);
        guard_region(&r, f->body);
        if (r.failed) return TILE_INVALID;
    }
    round_extents(&r);
    return TILE_OK;
}
