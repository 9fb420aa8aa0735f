/* Determines the elements of an online loop's rows that a mask hides, per carried reduction: see
 * online/mask.c. */
#include <math.h>

#include "passes/schedule/cut/online.h"

#include "lib/ops/kinds.h"

static tile_opcode opcode_of(const schedule *s, tile_op op) {
    return tile_op_opcode(s->compute, op);
}

const sched_masked_input *sched_find_masked_input(schedule *s, const sched_online *o,
                                                  const sched_mapped_value *at) {
    unsigned rank = sched_type(s, at->value)->rank;
    for (unsigned i = 0; i < o->masked_input_count; i++)
        if (o->masked_inputs[i].whole.value.id == at->value.id &&
            sched_same_map(&o->masked_inputs[i].whole.map, &at->map, rank))
            return &o->masked_inputs[i];
    return NULL;
}

static bool is_known_early(schedule *s, const sched_online *o, const sched_mapped_value *at) {
    return sched_form_of(s, o, at->value, &at->map) <= SCHED_PER_ELEMENT;
}

/* Returns whether the value may be divided by a factor in all differences: elements other than its
 * maximum are so low that the quotient cannot overflow. */
static bool may_lack_scale(const sched_online *o, const sched_masked_input *masked_input) {
    for (unsigned i = 0; i < o->exp_count; i++)
        if (o->exps[i].x.value.id == masked_input->whole.value.id && o->exps[i].far) return false;
    return true;
}

/* Matches x * by, where by is positive and constant along the axis, and takes x. */
static void take_scale(schedule *s, const sched_online *o, sched_masked_input *masked_input) {
    tile_op op = tile_value_def(s->compute, masked_input->shown.value);
    if (masked_input->zero || !op.id || opcode_of(s, op) != TILE_OP_mul ||
        !may_lack_scale(o, masked_input))
        return;
    for (unsigned i = 0; i < 2; i++) {
        sched_mapped_value by = sched_mapped_operand(s, op, i, &masked_input->shown.map);
        if (sched_form_of(s, o, by.value, &by.map) != SCHED_INVARIANT ||
            !sched_is_positive(s, by.value, 8))
            continue;
        masked_input->shown = sched_mapped_operand(s, op, 1 - i, &masked_input->shown.map);
        masked_input->by = by;
        return;
    }
}

static int add_masked_input(schedule *s, sched_online *o, sched_masked_input masked_input) {
    const sched_masked_input *there = sched_find_masked_input(s, o, &masked_input.whole);
    if (there) return there->zero == masked_input.zero ? (int)(there - o->masked_inputs) : -1;
    if (o->masked_input_count == SCHED_MAX_CARRIED) return -1;
    take_scale(s, o, &masked_input);
    o->masked_inputs[o->masked_input_count] = masked_input;
    return (int)o->masked_input_count++;
}

/* Returns whether the value is a select between elements and the identity. */
static bool is_choice(schedule *s, sched_mapped_value at, bool zero,
                      sched_masked_input *masked_input) {
    tile_op op = tile_value_def(s->compute, at.value);
    double hidden;
    if (!op.id || opcode_of(s, op) != TILE_OP_select ||
        !sched_is_number(s, tile_operand_no(s->compute, op), &hidden) ||
        hidden != (zero ? 0 : -INFINITY))
        return false;
    *masked_input = (sched_masked_input){.whole = at, .zero = zero};
    masked_input->seen = sched_mapped_operand(s, op, 0, &at.map);
    masked_input->shown = sched_mapped_operand(s, op, 1, &at.map);
    return true;
}

/* The same, if condition and elements are known before the block's maxima. */
static bool is_early_choice(schedule *s, const sched_online *o, sched_mapped_value at, bool zero,
                            sched_masked_input *masked_input) {
    return is_choice(s, at, zero, masked_input) && is_known_early(s, o, &masked_input->seen) &&
           is_known_early(s, o, &masked_input->shown);
}

/* The masked input of a maximum, or its whole source if there is no mask. */
static int find_infinite(schedule *s, sched_online *o, sched_mapped_value at) {
    sched_masked_input masked_input;
    if (!is_early_choice(s, o, at, false, &masked_input))
        masked_input = (sched_masked_input){.whole = at, .shown = at};
    return add_masked_input(s, o, masked_input);
}

/* Matches a product or quotient with a factor of the whole row or a number, which preserves 0. */
static bool find_factored(schedule *s, const sched_online *o, tile_op op,
                          const sched_mapped_value *at, sched_mapped_value *rest) {
    bool quotient = opcode_of(s, op) == TILE_OP_div;
    for (unsigned i = quotient; i < 2; i++) {
        sched_mapped_value by = sched_mapped_operand(s, op, i, &at->map);
        double number;
        if (sched_form_of(s, o, by.value, &by.map) != SCHED_PER_ROW &&
            (quotient || !sched_is_number(s, by.value, &number) || !isfinite(number)))
            continue;
        *rest = sched_mapped_operand(s, op, 1 - i, &at->map);
        return true;
    }
    return false;
}

/* The masked input of a sum's terms: elements that are 0 where those of the masked input are
 * hidden. */
static int find_zero(schedule *s, sched_online *o, sched_mapped_value at) {
    tile_op op = tile_value_def(s->compute, at.value);
    sched_masked_input masked_input;
    if (!op.id || !sched_is_inline(s, op)) return -1;
    int exp = sched_find_exp(o, op);
    if (exp >= 0) return find_infinite(s, o, o->exps[exp].x);
    switch (opcode_of(s, op)) {
    case TILE_OP_broadcast:
    case TILE_OP_cast:
    case TILE_OP_neg: return find_zero(s, o, sched_mapped_operand(s, op, 0, &at.map));
    case TILE_OP_mul:
    case TILE_OP_div: return find_factored(s, o, op, &at, &at) ? find_zero(s, o, at) : -1;
    case TILE_OP_select:
        if (is_early_choice(s, o, at, true, &masked_input))
            return add_masked_input(s, o, masked_input);
        return is_choice(s, at, true, &masked_input) ? find_zero(s, o, masked_input.shown) : -1;
    default: return -1;
    }
}

/* Returns whether the select hides everything that masks hide: its operand has no hidden elements,
 * or the same ones. */
static bool hides_all(schedule *s, const sched_masked_input *masked_input) {
    tile_value before = sched_visibility_mask(s, masked_input->shown.value);
    return !before.id ||
           (masked_input->zero && sched_strip_broadcasts(s, before).id ==
                                      sched_strip_broadcasts(s, masked_input->seen.value).id);
}

bool sched_mask_covers_source(schedule *s, const sched_online *o, sched_mapped_value at) {
    tile_op op = tile_value_def(s->compute, at.value);
    sched_masked_input masked_input;
    if (!op.id || !sched_is_inline(s, op)) return false;
    int exp = sched_find_exp(o, op);
    if (exp >= 0)
        return is_early_choice(s, o, o->exps[exp].x, false, &masked_input) &&
               hides_all(s, &masked_input);
    tile_opcode opcode = opcode_of(s, op);
    if (opcode == TILE_OP_select) {
        if (is_early_choice(s, o, at, true, &masked_input)) return hides_all(s, &masked_input);
        return is_choice(s, at, true, &masked_input) &&
               sched_mask_covers_source(s, o, masked_input.shown);
    }
    if (opcode == TILE_OP_mul || opcode == TILE_OP_div)
        return find_factored(s, o, op, &at, &masked_input.shown) &&
               sched_mask_covers_source(s, o, masked_input.shown);
    if (opcode != TILE_OP_broadcast && opcode != TILE_OP_cast) return false;
    return sched_mask_covers_source(s, o, sched_mapped_operand(s, op, 0, &at.map));
}

void sched_find_masked_inputs(schedule *s, sched_online *o) {
    for (unsigned i = 0; i < o->fold_count; i++) {
        sched_carried_reduction *fold = &o->folds[i];
        bool largest = !fold->product &&
                       tile_op_word(s->compute, fold->op, TILE_ATTR_kind) == TILE_WORD_kind_max;
        fold->masked_input =
            largest ? find_infinite(s, o, fold->source) : find_zero(s, o, fold->source);
    }
}
