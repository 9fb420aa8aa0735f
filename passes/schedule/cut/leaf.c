/* Which elements of walked rows a mask hides, of each fold: see online/mask.c. */
#include <math.h>

#include "passes/schedule/cut/online.h"

#include "lib/ops/kinds.h"

static tile_opcode opcode_of(const schedule *s, tile_op op) {
    return tile_op_opcode(s->compute, op);
}

const sched_leaf *sched_find_leaf(schedule *s, const sched_online *o, const sched_wanted *at) {
    unsigned rank = sched_type(s, at->value)->rank;
    for (unsigned i = 0; i < o->leaf_count; i++)
        if (o->leaves[i].whole.value.id == at->value.id &&
            sched_same_map(&o->leaves[i].whole.map, &at->map, rank))
            return &o->leaves[i];
    return NULL;
}

static bool is_early(schedule *s, const sched_online *o, const sched_wanted *at) {
    return sched_form_of(s, o, at->value, &at->map) <= SCHED_EARLY;
}

/* Whether all that is subtracted of it may be divided by a factor: what is not its maximum is so
 * low that it stays below where the quotient overflows. */
static bool may_lack_scale(const sched_online *o, const sched_leaf *leaf) {
    for (unsigned i = 0; i < o->exp_count; i++)
        if (o->exps[i].x.value.id == leaf->whole.value.id && o->exps[i].far) return false;
    return true;
}

/* x of x * by, which is above 0, and the same along the walk. */
static void take_scale(schedule *s, const sched_online *o, sched_leaf *leaf) {
    tile_op op = tile_value_def(s->compute, leaf->shown.value);
    if (leaf->zero || !op.id || opcode_of(s, op) != TILE_OP_mul || !may_lack_scale(o, leaf)) return;
    for (unsigned i = 0; i < 2; i++) {
        sched_wanted by = sched_wanted_operand(s, op, i, &leaf->shown.map);
        if (sched_form_of(s, o, by.value, &by.map) != SCHED_SAME ||
            !sched_is_positive(s, by.value, 8))
            continue;
        leaf->shown = sched_wanted_operand(s, op, 1 - i, &leaf->shown.map);
        leaf->by = by;
        return;
    }
}

static int add_leaf(schedule *s, sched_online *o, sched_leaf leaf) {
    const sched_leaf *there = sched_find_leaf(s, o, &leaf.whole);
    if (there) return there->zero == leaf.zero ? (int)(there - o->leaves) : -1;
    if (o->leaf_count == SCHED_MOST_FOLDS) return -1;
    take_scale(s, o, &leaf);
    o->leaves[o->leaf_count] = leaf;
    return (int)o->leaf_count++;
}

/* Whether it is a choice between elements and what changes nothing. */
static bool is_choice(schedule *s, sched_wanted at, bool zero, sched_leaf *leaf) {
    tile_op op = tile_value_def(s->compute, at.value);
    double hidden;
    if (!op.id || opcode_of(s, op) != TILE_OP_select ||
        !sched_is_number(s, tile_operand_no(s->compute, op), &hidden) ||
        hidden != (zero ? 0 : -INFINITY))
        return false;
    *leaf = (sched_leaf){.whole = at, .zero = zero};
    leaf->seen = sched_wanted_operand(s, op, 0, &at.map);
    leaf->shown = sched_wanted_operand(s, op, 1, &at.map);
    return true;
}

/* And a block has both before its maxima. */
static bool is_early_choice(schedule *s, const sched_online *o, sched_wanted at, bool zero,
                            sched_leaf *leaf) {
    return is_choice(s, at, zero, leaf) && is_early(s, o, &leaf->seen) &&
           is_early(s, o, &leaf->shown);
}

/* Of a maximum: all of its source, if nothing else. */
static int find_infinite(schedule *s, sched_online *o, sched_wanted at) {
    sched_leaf leaf;
    if (!is_early_choice(s, o, at, false, &leaf)) leaf = (sched_leaf){.whole = at, .shown = at};
    return add_leaf(s, o, leaf);
}

/* Of a product or a quotient what a factor of the whole row, or a number, leaves: 0 stays 0. */
static bool find_factored(schedule *s, const sched_online *o, tile_op op, const sched_wanted *at,
                          sched_wanted *rest) {
    bool quotient = opcode_of(s, op) == TILE_OP_div;
    for (unsigned i = quotient; i < 2; i++) {
        sched_wanted by = sched_wanted_operand(s, op, i, &at->map);
        double number;
        if (sched_form_of(s, o, by.value, &by.map) != SCHED_ROW &&
            (quotient || !sched_is_number(s, by.value, &number) || !isfinite(number)))
            continue;
        *rest = sched_wanted_operand(s, op, 1 - i, &at->map);
        return true;
    }
    return false;
}

/* Of what is added up: elements that are 0 where those of the leaf are hidden. */
static int find_zero(schedule *s, sched_online *o, sched_wanted at) {
    tile_op op = tile_value_def(s->compute, at.value);
    sched_leaf leaf;
    if (!op.id || !sched_is_inline(s, op)) return -1;
    int exp = sched_find_exp(o, op);
    if (exp >= 0) return find_infinite(s, o, o->exps[exp].x);
    switch (opcode_of(s, op)) {
    case TILE_OP_broadcast:
    case TILE_OP_cast:
    case TILE_OP_neg: return find_zero(s, o, sched_wanted_operand(s, op, 0, &at.map));
    case TILE_OP_mul:
    case TILE_OP_div: return find_factored(s, o, op, &at, &at) ? find_zero(s, o, at) : -1;
    case TILE_OP_select:
        if (is_early_choice(s, o, at, true, &leaf)) return add_leaf(s, o, leaf);
        return is_choice(s, at, true, &leaf) ? find_zero(s, o, leaf.shown) : -1;
    default: return -1;
    }
}

/* Whether the choice hides all that masks hide of it: they hide nothing before it, or the same. */
static bool hides_all(schedule *s, const sched_leaf *leaf) {
    tile_value before = sched_shown(s, leaf->shown.value);
    return !before.id || (leaf->zero && sched_without_broadcasts(s, before).id ==
                                            sched_without_broadcasts(s, leaf->seen.value).id);
}

bool sched_masks_itself(schedule *s, const sched_online *o, sched_wanted at) {
    tile_op op = tile_value_def(s->compute, at.value);
    sched_leaf leaf;
    if (!op.id || !sched_is_inline(s, op)) return false;
    int exp = sched_find_exp(o, op);
    if (exp >= 0) return is_early_choice(s, o, o->exps[exp].x, false, &leaf) && hides_all(s, &leaf);
    tile_opcode opcode = opcode_of(s, op);
    if (opcode == TILE_OP_select) {
        if (is_early_choice(s, o, at, true, &leaf)) return hides_all(s, &leaf);
        return is_choice(s, at, true, &leaf) && sched_masks_itself(s, o, leaf.shown);
    }
    if (opcode == TILE_OP_mul || opcode == TILE_OP_div)
        return find_factored(s, o, op, &at, &leaf.shown) && sched_masks_itself(s, o, leaf.shown);
    if (opcode != TILE_OP_broadcast && opcode != TILE_OP_cast) return false;
    return sched_masks_itself(s, o, sched_wanted_operand(s, op, 0, &at.map));
}

void sched_find_leaves(schedule *s, sched_online *o) {
    for (unsigned i = 0; i < o->fold_count; i++) {
        sched_fold *fold = &o->folds[i];
        bool largest = !fold->product &&
                       tile_op_word(s->compute, fold->op, TILE_ATTR_kind) == TILE_WORD_kind_max;
        fold->leaf = largest ? find_infinite(s, o, fold->source) : find_zero(s, o, fold->source);
    }
}
