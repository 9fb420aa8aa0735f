/* Dots computed by wgmma: see the header. */
#include "passes/common/warpgroup.h"

#include <math.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/product.h"
#include "lib/ir/remark.h"
#include "lib/ops/atomic.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"

bool warpgroup_uses_wgmma(const tile_function *f, tile_op op) {
    return tile_op_opcode(f, op) == TILE_OP_dot &&
           tile_op_word(f, op, TILE_ATTR_via) == TILE_WORD_via_wgmma;
}

bool warpgroup_uses_mma(const tile_function *f, tile_op op) {
    return tile_op_word(f, op, TILE_ATTR_via) == TILE_WORD_via_mma;
}

bool *warpgroup_buffers(tile_function *f, tile_arena *arena) {
    bool *read = TILE_NEW_ARRAY(arena, bool, f->value_count);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        for (unsigned operand = 0; warpgroup_uses_wgmma(f, op) && operand < 2; operand++)
            read[tile_op_segment(f, op, operand).at[0].id] = true;
    return read;
}

static void mark_copied(tile_function *f, tile_op op, bool *copied) {
    if (tile_op_opcode(f, op) == TILE_OP_store_async) copied[tile_operand_ring(f, op).id] = true;
    if (tile_op_opcode(f, op) != TILE_OP_copy_async) return;
    bool out = tile_op_mechanism(f, op) == TILE_MECHANISM_BULK_GROUP;
    if (out || tile_op_mechanism(f, op) == TILE_MECHANISM_BARRIER)
        copied[(out ? tile_operand_src(f, op) : tile_operand_dst(f, op)).id] = true;
}

bool *async_copied_buffers(tile_function *f, tile_arena *arena) {
    bool *copied = TILE_NEW_ARRAY(arena, bool, f->value_count);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) mark_copied(f, op, copied);
    return copied;
}

const tile_type *warpgroup_operand(const tile_function *f, tile_op dot, unsigned operand) {
    return tile_value_type(f, tile_op_segment(f, dot, operand).at[0]);
}

unsigned warpgroup_first(unsigned row_dim) {
    return row_dim == TILE_WGMMA_PLAIN ? TILE_MMA_LHS : TILE_MMA_RHS;
}

tile_dot_facts warpgroup_facts(const tile_function *f, tile_op dot) {
    tile_executors executors = tile_executors_of(f, dot);
    tile_dot_facts facts = {.query = tile_product_query(f, dot),
                            .fast = tile_op_has_attr(f, dot, TILE_ATTR_fast),
                            .alone = tile_dot_is_alone(f, dot),
                            .first = executors.first,
                            .warps = executors.warps};
    for (unsigned operand = 0; operand < 2; operand++) {
        const tile_type *type = warpgroup_operand(f, dot, operand);
        tile_dot_operand *o = &facts.operand[operand];
        tile_type_dims(type, o->dims);
        o->k_dim = tile_product_k_dim(f, dot, operand);
        if (type->kind == TILE_TYPE_SHARED) o->layout = type->layout;
    }
    return facts;
}

bool warpgroup_promotes(const tile_function *f, tile_op dot) {
    tile_dot_facts facts = warpgroup_facts(f, dot);
    return tile_dot_promotes(&facts);
}

bool warpgroup_is_zero(const tile_function *f, tile_value tile) {
    tile_op splat = tile_value_def(f, tile);
    if (!splat.id || tile_op_opcode(f, splat) != TILE_OP_splat) return false;
    const tile_value_data *data = tile_value_at(f, tile_operand_src(f, splat));
    return data->kind == TILE_VALUE_CONSTANT &&
           (data->expr->kind == TILE_EXPR_FLOAT
                ? data->expr->number == 0 && !signbit(data->expr->number)
                : data->expr->kind == TILE_EXPR_INT && data->expr->integer == 0);
}

tile_op warpgroup_only_user(const tile_function *f, tile_value value) {
    tile_op user = TILE_NO_OP;
    unsigned uses = 0;
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op op = {id};
        for (unsigned i = 0; f->ops[id].opcode && i < tile_op_operand_count(f, op); i++)
            if (tile_op_operand(f, op, i).id == value.id) user = op, uses++;
    }
    return uses == 1 ? user : TILE_NO_OP;
}

tile_op warpgroup_scaled_sum(const tile_function *f, tile_op dot) {
    const tile_type *lhs = warpgroup_operand(f, dot, TILE_MMA_LHS);
    int64_t depth = tile_type_dim(lhs, tile_product_k_dim(f, dot, TILE_MMA_LHS));
    tile_value sums = tile_op_result(f, dot, 0);
    if (depth > WARPGROUP_PROMOTED_DEPTH || !warpgroup_promotes(f, dot) ||
        tile_op_has_attr(f, dot, TILE_ATTR_async) ||
        !warpgroup_is_zero(f, tile_op_segment(f, dot, TILE_MMA_ACC).at[0]))
        return TILE_NO_OP;
    tile_op fma = warpgroup_only_user(f, sums);
    bool adds = fma.id && tile_op_opcode(f, fma) == TILE_OP_fma &&
                tile_operand_addend(f, fma).id != sums.id &&
                tile_op_at(f, fma)->parent.id == tile_op_at(f, dot)->parent.id;
    return adds ? fma : TILE_NO_OP;
}

static bool admits(const tile_function *f, tile_op dot, unsigned row_dim) {
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(warpgroup_operand(f, dot, TILE_MMA_ACC), dims);
    return tile_wgmma_admits(dims, row_dim, tile_executors_of(f, dot).warps);
}

bool warpgroup_requests(const tile_function *f, tile_op loop, const char *word) {
    const char *said = loop.id ? tile_op_attr_text(f, loop, TILE_ATTR_consumers) : NULL;
    return said && strcmp(said, word) == 0;
}

bool warpgroup_row_dim(const tile_function *f, tile_op dot, unsigned *row_dim) {
    bool exchanged = tile_op_has_attr(f, dot, TILE_ATTR_swap_operands);
    *row_dim =
        exchanged || !admits(f, dot, TILE_WGMMA_PLAIN) ? TILE_WGMMA_SWAPPED : TILE_WGMMA_PLAIN;
    return admits(f, dot, *row_dim);
}

bool warpgroup_may_stay_pending(const tile_function *f, tile_op dot, const bool staged[2]) {
    unsigned row_dim;
    if (!warpgroup_row_dim(f, dot, &row_dim)) return false;
    unsigned first = warpgroup_first(row_dim), second = 1 - first;
    if (!staged[first] && warpgroup_register_operand(f, dot, row_dim).id) return false;
    return warpgroup_operand(f, dot, second)->kind != TILE_TYPE_TILE || staged[second];
}

static bool has_one_use(const tile_function *f, tile_value value) {
    unsigned count = 0;
    for (uint32_t id = 1; id < f->op_count; id++)
        for (unsigned i = 0; f->ops[id].opcode && i < f->ops[id].operand_count; i++)
            count += f->ops[id].operands[i].id == value.id;
    return count == 1;
}

bool warpgroup_rounds(const tile_function *f, tile_op dot, unsigned row_dim) {
    const tile_value value = tile_op_segment(f, dot, warpgroup_first(row_dim)).at[0];
    const tile_op cast = tile_value_def(f, value);
    if (!warpgroup_uses_wgmma(f, dot) || tile_value_type(f, value)->scalar != TILE_tf32 ||
        !cast.id || tile_op_opcode(f, cast) != TILE_OP_cast || tile_op_at(f, cast)->attr_count ||
        tile_op_at(f, cast)->parent.id != tile_op_at(f, dot)->parent.id)
        return false;
    const tile_value src = tile_operand_src(f, cast);
    const tile_op load = tile_value_def(f, src);
    return load.id && tile_op_opcode(f, load) == TILE_OP_load_shared &&
           tile_op_at(f, load)->parent.id == tile_op_at(f, dot)->parent.id &&
           tile_value_type(f, src)->scalar == TILE_f32 && has_one_use(f, value) &&
           has_one_use(f, src);
}

bool warpgroup_accumulator(const tile_function *f, tile_op dot, unsigned *row_dim,
                           tile_layout *layout) {
    uint32_t dims[TILE_MAX_RANK];
    if (!warpgroup_row_dim(f, dot, row_dim)) return false;
    tile_type_dims(warpgroup_operand(f, dot, TILE_MMA_ACC), dims);
    *layout = tile_wgmma_accumulator(dims, *row_dim, tile_executors_of(f, dot).warps);
    return true;
}

/* True if the tile is computed from shared memory by at most `steps` element-wise operations. */
static bool is_computed_from_shared(const tile_function *f, tile_value tile, unsigned steps) {
    tile_op def = tile_value_def(f, tile);
    if (!def.id) return false;
    if (tile_op_opcode(f, def) == TILE_OP_load_shared) return true;
    bool found = false;
    bool pass = steps && (tile_op_has_trait(tile_op_opcode(f, def), TILE_TRAIT_ELEMENTWISE) ||
                          tile_op_opcode(f, def) == TILE_OP_transpose);
    for (unsigned i = 0; pass && !found && i < tile_op_operand_count(f, def); i++)
        found = is_computed_from_shared(f, tile_op_operand(f, def, i), steps - 1);
    return found;
}

tile_value warpgroup_register_operand(const tile_function *f, tile_op dot, unsigned row_dim) {
    enum { STEPS = 12 };
    tile_value first = tile_op_segment(f, dot, warpgroup_first(row_dim)).at[0];
    return is_computed_from_shared(f, first, STEPS) ? first : (tile_value){0};
}

bool warpgroup_fragment(const tile_function *f, tile_op dot, const tile_layout *acc,
                        unsigned row_dim, tile_layout *fragment) {
    const tile_type *type = warpgroup_operand(f, dot, warpgroup_first(row_dim));
    uint32_t dims[TILE_MAX_RANK];
    if (type->kind != TILE_TYPE_TILE) return false;
    tile_type_dims(type, dims);
    *fragment = tile_wgmma_first_operand(acc, row_dim, type->scalar, dims);
    return true;
}

/* Whether these sums may be the result of an unfinished dot. */
static bool may_be_pending(const tile_function *f, tile_value sums) {
    tile_op def = tile_value_def(f, sums);
    return !def.id || tile_op_opcode(f, def) == TILE_OP_dot ||
           tile_op_opcode(f, def) == TILE_OP_dot_wait || tile_op_at(f, def)->region_count;
}

/* Sums that cannot be pending need no wait. A wait would make them start as copies before it (ptxas
 * C7517) instead of from zero. */
void warpgroup_make_synchronous(tile_function *f, tile_op dot, const char *why) {
    tile_builder b = tile_builder_before(f, dot);
    tile_op_data *data = tile_op_at(f, dot);
    unsigned acc = data->operand_count - 1;
    if (!tile_op_has_attr(f, dot, TILE_ATTR_async)) return;
    if (may_be_pending(f, data->operands[acc])) {
        tile_value sum = tile_build_dot_wait(&b, data->operands[acc], tile_build_int(&b, 0));
        tile_op_at(f, dot)->operands[acc] = sum;
    }
    tile_op_remove_attr(f, dot, TILE_ATTR_async);
    tile_missed_at(f, dot, "not asynchronous", NULL, "%s", why);
}

tile_layout warpgroup_buffer_layout(const tile_type *buffer, unsigned fastest) {
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(buffer, dims);
    return tile_wgmma_shared(dims, fastest, tile_scalar_bytes(buffer->scalar));
}

unsigned warpgroup_contiguous_dim(const tile_function *f, tile_op dot, unsigned operand) {
    bool any = tile_scalar_bits(warpgroup_operand(f, dot, operand)->scalar) == 16;
    return any ? 1 : tile_product_k_dim(f, dot, operand);
}

/* Matches the operand that provides the columns, with as many columns as one descriptor can
 * address. */
static bool match_second(const tile_type *type, unsigned operand, unsigned k_dim, uint32_t part,
                         warpgroup_plan *plan) {
    unsigned bytes = tile_scalar_bytes(type->scalar);
    for (;; plan->columns = part) {
        if (tile_wgmma_match(type->layout, k_dim, bytes, plan->columns, &plan->matrix[operand]))
            return true;
        if (plan->columns <= part) return false;
    }
}

static bool match_first(const tile_type *type, unsigned operand, unsigned k_dim,
                        const tile_layout *acc, warpgroup_plan *plan) {
    plan->registers = type->kind == TILE_TYPE_TILE;
    /* Only an operand in registers can have its rows in pairs. */
    if (!plan->registers)
        return tile_wgmma_far_row(acc, plan->row_dim) != 1 &&
               tile_wgmma_match(type->layout, k_dim, tile_scalar_bytes(type->scalar),
                                TILE_WGMMA_ROWS, &plan->matrix[operand]);
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(type, dims);
    tile_layout wanted = tile_wgmma_first_operand(acc, plan->row_dim, type->scalar, dims);
    return tile_layout_equal(&wanted, type->layout);
}

const char *warpgroup_find_plan(const tile_function *f, tile_op dot, warpgroup_plan *plan) {
    const tile_type *acc = warpgroup_operand(f, dot, TILE_MMA_ACC);
    *plan = (warpgroup_plan){.row_dim = TILE_WGMMA_PLAIN};
    if (!tile_wgmma_holds(acc->layout, TILE_WGMMA_PLAIN, acc->scalar, &plan->columns)) {
        plan->row_dim = TILE_WGMMA_SWAPPED;
        if (!tile_wgmma_holds(acc->layout, TILE_WGMMA_SWAPPED, acc->scalar, &plan->columns))
            return "the accumulator's layout does not consist of wgmma's fragments";
    }
    const tile_dot_facts facts = warpgroup_facts(f, dot);
    plan->columns =
        tile_wgmma_cut_columns(plan->columns, tile_dot_most_columns(&facts, facts.warps));
    unsigned first = warpgroup_first(plan->row_dim), second = 1 - first;
    const tile_type *one = warpgroup_operand(f, dot, first),
                    *other = warpgroup_operand(f, dot, second);
    unsigned first_k = tile_product_k_dim(f, dot, first);
    plan->depth = tile_wgmma_depth(facts.query.lhs);
    if (!plan->depth ||
        tile_layout_part_extent((uint32_t)tile_type_dim(one, first_k)) % plan->depth)
        return "its inner extent is not a multiple of the instruction's";
    if (other->kind != TILE_TYPE_SHARED) return "wgmma takes this operand from shared memory only";
    uint32_t part = UINT32_C(1) << acc->layout->dim_bits[1 - plan->row_dim];
    if (!match_second(other, second, tile_product_k_dim(f, dot, second), part, plan))
        return "no descriptor of wgmma names this layout of an operand in shared memory";
    if (!match_first(one, first, first_k, acc->layout, plan))
        return "the first operand's layout is neither wgmma's fragments nor named by a descriptor";
    return NULL;
}
