/* Finds products for interleave-rows: see the header. */
#include "passes/expand/interleave_rows.h"

#include <limits.h>
#include <string.h>

#include "lib/analysis/access.h"
#include "lib/analysis/decisions.h"
#include "lib/analysis/grid_fit.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/pipeline_plan.h"
#include "lib/analysis/product.h"
#include "lib/ir/effects.h"
#include "lib/ir/regions.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "passes/common/warpgroup.h"

enum {
    CHUNK = 16, /* bytes of a cp.async */
    FEW_ROWS = 64,
    LEAST_STAGES = 3,
};

typedef struct finding {
    tile_function *f;
    const tile_range *ranges;
    interleave_plan *plan;
} finding;

bool interleave_is_first_row(const tile_function *f, const interleave_plan *plan,
                             tile_value value) {
    tile_op mul = tile_value_def(f, value);
    int64_t tile;
    if (!mul.id || tile_op_opcode(f, mul) != TILE_OP_mul) return false;
    const tile_value block = tile_op_result(f, plan->block_id, plan->grid_dim);
    for (unsigned i = 0; i < 2; i++)
        if (tile_op_operand(f, mul, i).id == block.id &&
            tile_value_is_int(f, tile_op_operand(f, mul, 1 - i), &tile))
            return tile == plan->tile;
    return false;
}

/* The loop and its dot. Other operations of the loop compute values or copy. */
static bool find_loop(finding *s) {
    tile_function *f = s->f;
    interleave_plan *plan = s->plan;
    unsigned dots = 0;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (tile_op_opcode(f, op) == TILE_OP_dot) plan->dot = op, dots++;
        if (tile_op_opcode(f, op) == TILE_OP_grid_dim) return false;
    }
    if (dots != 1) return false;
    plan->loop = tile_op_parent(f, plan->dot);
    if (!plan->loop.id || tile_op_opcode(f, plan->loop) != TILE_OP_for ||
        tile_op_at(f, plan->loop)->parent.id != f->body.id ||
        tile_op_attr_int(f, plan->loop, TILE_ATTR_pipelined, 0) < LEAST_STAGES ||
        tile_op_result_count(f, plan->loop) != 1)
        return false;
    TILE_FOR_EACH_NESTED_OP (f, op, plan->loop) {
        const tile_opcode opcode = tile_op_opcode(f, op);
        if (opcode != TILE_OP_copy && opcode != TILE_OP_dot && opcode != TILE_OP_yield &&
            opcode != TILE_OP_alloc_shared && tile_op_effects(f, op))
            return false;
    }
    return true;
}

/* The sums are those of the dot alone, of a type for which chunks of 16 bytes are copied. */
static bool find_dot(const finding *s, const tile_target *target) {
    const tile_function *f = s->f;
    interleave_plan *plan = s->plan;
    const tile_values acc = tile_operands_acc(f, plan->dot);
    const tile_value result = tile_op_result(f, plan->dot, 0);
    const tile_type *type = tile_value_type(f, result);
    const tile_region body = tile_op_region(f, plan->loop, 0);
    if (type->rank != 2 || acc.count != 1 || acc.at[0].id != tile_region_arg(f, body, 1).id ||
        tile_carried_sent(f, plan->loop, 0, 0).id != result.id ||
        tile_op_has_attr(f, plan->dot, TILE_ATTR_async) || warpgroup_uses_wgmma(f, plan->dot) ||
        !tile_product_mma(f, plan->dot, target))
        return false;
    const int64_t m = tile_type_dim(type, 0), n = tile_type_dim(type, 1);
    plan->large = m > n ? TILE_MMA_LHS : TILE_MMA_RHS;
    plan->tile = m > n ? m : n;
    return (m > n ? n : m) <= FEW_ROWS;
}

/* An argument, or a view of one. */
static bool is_array(const tile_function *f, tile_value view) {
    const tile_op def = tile_value_def(f, view);
    return !def.id || tile_op_opcode(f, def) == TILE_OP_view;
}

static bool find_operand(const finding *s, unsigned number) {
    const tile_function *f = s->f;
    interleave_operand *o = &s->plan->sides[number];
    const tile_values element = tile_op_segment(f, s->plan->dot, number);
    if (element.count != 1) return false;
    *o = (interleave_operand){.buffer = element.at[0]};
    const tile_type *buffer = tile_value_type(f, o->buffer);
    const tile_op alloc = tile_value_def(f, o->buffer);
    if (buffer->kind != TILE_TYPE_SHARED || buffer->layout || buffer->stages || buffer->cluster ||
        buffer->rank != 2 || !alloc.id || tile_op_opcode(f, alloc) != TILE_OP_alloc_shared)
        return false;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
            if (tile_op_operand(f, op, i).id != o->buffer.id || op.id == s->plan->dot.id ||
                tile_op_opcode(f, op) == TILE_OP_free_shared)
                continue;
            if (tile_op_opcode(f, op) != TILE_OP_copy || o->copy.id) return false;
            o->copy = op;
        }
    if (!o->copy.id || tile_op_at(f, o->copy)->parent.id != tile_op_at(f, s->plan->dot)->parent.id)
        return false;
    const tile_values from = tile_operands_src(f, o->copy), to = tile_operands_dst(f, o->copy);
    o->view = from.at[0];
    const tile_type *view = tile_value_type(f, o->view);
    if (view->kind != TILE_TYPE_VIEW || view->layout || view->scalar != buffer->scalar ||
        to.count != 1 || view->rank < 2 || view->rank + 2 > TILE_MAX_RANK ||
        !tile_is_plain_access(f, o->copy) || tile_op_pads(f, o->copy) || !is_array(f, o->view))
        return false;
    o->rank = view->rank;
    memcpy(o->index, from.at + 1, o->rank * sizeof *o->index);
    o->k = o->rank - 2 + tile_product_k_dim(f, s->plan->dot, number);
    o->rows = o->rank - 2 + 1 - tile_product_k_dim(f, s->plan->dot, number);
    return true;
}

const tile_expr *interleave_extent(const tile_function *f, tile_value view, unsigned d) {
    const tile_value_data *data = tile_value_at(f, view);
    if (data->kind == TILE_VALUE_ARG) return tile_function_arg_extent(f, data->index, d);
    return tile_value_as_expr(f, tile_operands_extents(f, tile_value_def(f, view)).at[d]);
}

/* All iterations together read the whole k of both operands. */
static bool reads_all_terms(const finding *s) {
    const tile_function *f = s->f;
    const tile_value variable = tile_region_arg(f, tile_op_region(f, s->plan->loop, 0), 0);
    int64_t depth;
    for (unsigned i = 0; i < 2; i++) {
        const interleave_operand *o = &s->plan->sides[i];
        const tile_expr *extent = interleave_extent(f, o->view, o->k);
        if (o->index[o->k].id != variable.id || !extent ||
            tile_value_as_expr(f, tile_operand_end(f, s->plan->loop)) != extent ||
            !tile_expr_is_int(extent, &depth) || depth < TILE_INTERLEAVE_LEAST_DEPTH)
            return false;
    }
    TILE_FOR_EACH_NESTED_OP (f, op, s->plan->loop)
        if (op.id != s->plan->sides[0].copy.id && op.id != s->plan->sides[1].copy.id &&
            tile_op_uses(f, op, variable))
            return false;
    return tile_value_is(f, tile_operand_begin(f, s->plan->loop), 0);
}

/* Rows that are contiguous along k and begin at no multiples of 16 bytes, in a number that is known
 * to pay. */
static bool is_misaligned(const finding *s) {
    const tile_function *f = s->f;
    const interleave_operand *o = &s->plan->sides[s->plan->large];
    const tile_values from = tile_operands_src(f, o->copy);
    const tile_access_facts facts = tile_view_access(f, s->ranges, from.at);
    const tile_expr *extent = interleave_extent(f, o->view, o->rows);
    const unsigned bytes = tile_scalar_bytes(tile_value_type(f, o->view)->scalar);
    int64_t rows;
    if (bytes > 2 || facts.points || tile_unit_dim(&facts, o->rank, o->rank) != o->k) return false;
    s->plan->chunk = CHUNK / (int64_t)bytes;
    s->plan->segment = TILE_INTERLEAVE_SEGMENT / (int64_t)bytes;
    s->plan->period = s->plan->segment / facts.row_width;
    return extent && tile_expr_is_int(extent, &rows) &&
           tile_interleaving_pays(bytes, facts.row_width * bytes, rows, s->plan->tile);
}

/* Each block has the rows from its coordinate on, and the grid has blocks for all rows. */
static bool find_grid(const finding *s) {
    tile_function *f = s->f;
    interleave_plan *plan = s->plan;
    const interleave_operand *o = &plan->sides[plan->large];
    unsigned found = 0;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_block_id) plan->block_id = op, found++;
    if (found != 1) return false;
    for (plan->grid_dim = 0; plan->grid_dim < f->grid_rank; plan->grid_dim++)
        if (interleave_is_first_row(f, plan, o->index[o->rows])) break;
    if (plan->grid_dim == f->grid_rank) return false;
    for (unsigned d = 0; d < 3; d++)
        if (tile_grid_cluster_extent(f, d) > 1) return false;
    tile_context *context = tile_function_context(f);
    const tile_expr *extent = interleave_extent(f, o->view, o->rows);
    return extent &&
           f->grid[plan->grid_dim] == tile_expr_op(context, TILE_OP_ceildiv, extent,
                                                   tile_expr_int(context, plan->tile), NULL);
}

/* Other accesses at the tile's rows: a bias, a residual, the result. */
static bool is_access_of_rows(const finding *s, tile_op op, tile_value row) {
    const tile_function *f = s->f;
    tile_gather g;
    unsigned uses = 0, at = UINT_MAX;
    if (!tile_is_plain_access(f, op) || !tile_gather_of(f, op, &g)) return false;
    const tile_type *view = tile_value_type(f, g.memory);
    if (view->kind != TILE_TYPE_VIEW || view->layout || view->rank + 1 > TILE_MAX_RANK ||
        !is_array(f, g.memory))
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        uses += tile_op_operand(f, op, i).id == row.id;
    for (unsigned d = 0; d < view->rank; d++)
        if (g.index[d].id == row.id) at = d;
    const unsigned outer = view->rank - g.type->rank;
    return uses == 1 && at < view->rank && at >= outer &&
           tile_type_dim(g.type, at - outer) == s->plan->tile;
}

/* Whether only accesses at the tile's rows depend on the block's coordinate. */
static bool only_accesses_depend(const finding *s) {
    const tile_function *f = s->f;
    const interleave_plan *plan = s->plan;
    const tile_value block = tile_op_result(f, plan->block_id, plan->grid_dim);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (tile_op_uses(f, op, block) &&
            (tile_op_result_count(f, op) != 1 ||
             !interleave_is_first_row(f, plan, tile_op_result(f, op, 0))))
            return false;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
            tile_value row = tile_op_operand(f, op, i);
            if (interleave_is_first_row(f, plan, row) && !is_access_of_rows(s, op, row))
                return false;
        }
    }
    return true;
}

bool interleave_find(tile_pass *pass, tile_function *f, interleave_plan *plan) {
    finding s = {.f = f, .plan = plan};
    *plan = (interleave_plan){.period = 0};
    if (f->kind != TILE_KERNEL || !tile_target_has(pass->target, TILE_FEATURE_cp_async) ||
        !find_loop(&s) || !find_dot(&s, pass->target) || !find_operand(&s, TILE_MMA_LHS) ||
        !find_operand(&s, TILE_MMA_RHS) || plan->sides[0].copy.id == plan->sides[1].copy.id ||
        !reads_all_terms(&s))
        return false;
    s.ranges = tile_range_analyse(f, pass->scratch);
    return is_misaligned(&s) && find_grid(&s) && only_accesses_depend(&s);
}
