/* Determines the maxima that must distinguish a row of NaN from one whose elements are masked.
 *
 * max ignores NaN, so a loop that begins with -inf gives -inf for a row of NaN, where the compute
 * has NaN. Exponentials do not distinguish the two: exp(x - t) is NaN for each x of NaN, and so are
 * sums of it. A maximum without other effects begins with -inf, which is free. Any other one begins
 * with NaN, and elements after the end are NaN for it, not -inf. */
#include "passes/schedule/cut/online.h"

#include "lib/ops/kinds.h"

enum { STEPS = 12 };

/* A search for the uses of the maximum of x. */
typedef struct use_search {
    const tile_function *f;
    tile_value x;
} use_search;

/* Returns whether the value is NaN if all x of the row are NaN. */
static bool is_nan(const use_search *l, tile_value value, unsigned steps) {
    tile_op op = tile_value_def(l->f, value);
    if (value.id == l->x.id) return true;
    if (!op.id || !steps) return false;
    switch (tile_op_opcode(l->f, op)) {
    case TILE_OP_reduce:
        if (tile_op_word(l->f, op, TILE_ATTR_kind) != TILE_WORD_kind_add) return false;
        return is_nan(l, tile_operand_src(l->f, op), steps - 1);
    case TILE_OP_broadcast:
    case TILE_OP_neg:
    case TILE_OP_exp:
    case TILE_OP_exp2:
    case TILE_OP_log:
    case TILE_OP_log2: return is_nan(l, tile_operand_src(l->f, op), steps - 1);
    case TILE_OP_add:
    case TILE_OP_sub:
    case TILE_OP_mul:
    case TILE_OP_div:
        return is_nan(l, tile_operand_lhs(l->f, op), steps - 1) ||
               is_nan(l, tile_operand_rhs(l->f, op), steps - 1);
    default: return false;
    }
}

static bool is_result(const tile_function *f, tile_value value) {
    for (size_t i = 0; i < f->result_count; i++)
        if (f->results[i].value.id == value.id) return true;
    return false;
}

static bool has_effect(const use_search *l, tile_value value, unsigned steps);

/* Returns whether the choice of NaN or -inf for a row of NaN affects the operation. */
static bool has_effect_in(const use_search *l, tile_op op, tile_value value, unsigned steps) {
    tile_value result = tile_op_result(l->f, op, 0);
    switch (tile_op_opcode(l->f, op)) {
    case TILE_OP_max:
    case TILE_OP_mul:
    case TILE_OP_neg:
    case TILE_OP_broadcast: return has_effect(l, result, steps);
    case TILE_OP_add:
    case TILE_OP_sub:
        for (unsigned i = 0; i < 2; i++) {
            tile_value other = tile_op_operand(l->f, op, i);
            if (other.id != value.id && is_nan(l, other, STEPS)) return false;
        }
        return true;
    default: return true;
    }
}

static bool has_effect(const use_search *l, tile_value value, unsigned steps) {
    if (is_result(l->f, value) || !steps) return true;
    TILE_FOR_EACH_OP (l->f, op, l->f->body)
        for (unsigned i = 0; i < tile_op_operand_count(l->f, op); i++)
            if (tile_op_operand(l->f, op, i).id == value.id &&
                has_effect_in(l, op, value, steps - 1))
                return true;
    return false;
}

void sched_find_nan(schedule *s, sched_online *o) {
    for (unsigned i = 0; i < o->fold_count; i++) {
        sched_carried_reduction *fold = &o->folds[i];
        if (fold->product ||
            tile_op_word(s->compute, fold->op, TILE_ATTR_kind) != TILE_WORD_kind_max)
            continue;
        use_search l = {s->compute, fold->source.value};
        fold->propagates_nan = has_effect(&l, tile_op_result(s->compute, fold->op, 0), STEPS);
    }
}
