/* Tiles of values scaled by exponentials of the row's maxima so far: see online.c. */
#include <float.h>

#include "passes/schedule/online/online_kernel.h"

#include "lib/ir/syntax.h"

#define LOG2_E 1.4426950408889634
#define LARGEST 0x1p31 /* below it, the rounding error is at most 64 */

static sched_form form_of(online_kernel *w, const sched_mapped_value *at) {
    return sched_form_of(w->k.s, w->o, at->value, &at->map);
}

/* Exponents ------------------------------------------------------------------------------------ */

/* The masked input from whose elements a factor was taken out, so that maxima lack it as well;
 * NULL: none. */
static const sched_masked_input *rescaled_masked_input(const online_kernel *w,
                                                       const sched_exponential *e) {
    const sched_masked_input *masked_input = sched_find_masked_input(w->k.s, w->o, &e->x);
    return masked_input && masked_input->by.value.id ? masked_input : NULL;
}

/* The factor of the difference x - rho. */
static tile_value build_factor(online_kernel *w, const sched_exponential *e) {
    sched_kernel *k = &w->k;
    const sched_masked_input *masked_input = rescaled_masked_input(w, e);
    bool natural = tile_op_opcode(k->s->compute, e->op) == TILE_OP_exp;
    tile_value factor = natural ? online_number(w, LOG2_E) : TILE_NO_VALUE;
    const sched_mapped_value *more[] = {&e->by, masked_input ? &masked_input->by : NULL};
    for (unsigned i = 0; i < 2; i++) {
        if (!more[i] || !more[i]->value.id) continue;
        tile_value by = sched_value(k, more[i]->value, &more[i]->map, online_f32(w));
        if (by.id) factor = factor.id ? tile_build_mul(&k->b, by, factor) : by;
        /* It may round to 0, and 0 * -inf is NaN. */
        if (by.id) factor = tile_build_max(&k->b, factor, online_number(w, FLT_MIN));
    }
    return factor;
}

static tile_value multiply_exponent(online_kernel *w, const sched_exponential *e,
                                    tile_value difference) {
    tile_value factor = build_factor(w, e);
    return factor.id ? tile_build_mul(&w->k.b, difference, factor) : difference;
}

/* top without the factor that its maximum lacks, for maxima of such values and of invariant
 * ones. */
static tile_value build_reference(online_kernel *w, sched_mapped_value at,
                                  const sched_masked_input *masked_input) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    tile_op op = tile_value_def(s->compute, at.value);
    const sched_carried_reduction *fold = op.id ? sched_find_carried_reduction(w->o, op) : NULL;
    if (!masked_input) return online_row_value(w, &at);
    if (fold) return w->carried[fold - w->o->folds];
    if (form_of(w, &at) == SCHED_PER_ROW) {
        sched_mapped_value first = sched_mapped_operand(w->k.s, op, 0, &at.map);
        tile_value a = build_reference(w, first, masked_input);
        if (tile_op_opcode(s->compute, op) != TILE_OP_max || !a.id) return a;
        return tile_build_max(
            &k->b, a,
            build_reference(w, sched_mapped_operand(w->k.s, op, 1, &at.map), masked_input));
    }
    tile_value by = sched_value(k, masked_input->by.value, &masked_input->by.map, online_f32(w)),
               row = online_row_value(w, &at);
    return by.id && row.id ? tile_build_div(&k->b, row, by) : TILE_NO_VALUE;
}

tile_value online_build_row(online_kernel *w, const sched_exponential *e) {
    tile_value top = build_reference(w, e->top, rescaled_masked_input(w, e));
    if (top.id && e->fused) top = multiply_exponent(w, e, top);
    return top.id ? tile_build_max(&w->k.b, top, online_number(w, -FLT_MAX)) : top;
}

static tile_value build_exponent(online_kernel *w, const sched_exponential *e, tile_value x,
                                 tile_value row) {
    tile_builder *to = &w->k.b;
    if (!e->fused) return multiply_exponent(w, e, tile_build_sub(to, x, row));
    tile_value factor = build_factor(w, e);
    return factor.id ? tile_build_fma(to, x, factor, tile_build_neg(to, row))
                     : tile_build_sub(to, x, row);
}

static tile_value build_exp(online_kernel *w, unsigned index) {
    sched_kernel *k = &w->k;
    const sched_exponential *e = &w->o->exps[index];
    const sched_masked_input *masked_input = rescaled_masked_input(w, e);
    if (w->exps[index].id) return w->exps[index];
    tile_value x =
        masked_input
            ? masked_input->tile
            : sched_broadcast_to_tile(k, sched_value(k, e->x.value, &e->x.map, online_f32(w)));
    if (!x.id) return x;
    return w->exps[index] =
               online_set_fast(w, tile_build_exp2(&k->b, build_exponent(w, e, x, w->now[index])));
}

/* The reference may be infinite although no term's element is. */
static tile_value finite_row(online_kernel *w, unsigned index, tile_value row) {
    const sched_exponential *e = &w->o->exps[index];
    return e->far || e->chosen ? tile_build_min(&w->k.b, row, online_number(w, FLT_MAX)) : row;
}

tile_value online_rescale_factor(online_kernel *w, unsigned index) {
    tile_builder *to = &w->k.b;
    if (w->correction[index].id) return w->correction[index];
    tile_value fall = tile_build_sub(to, finite_row(w, index, w->before[index]),
                                     finite_row(w, index, w->now[index]));
    if (!w->o->exps[index].fused) fall = multiply_exponent(w, &w->o->exps[index], fall);
    return w->correction[index] = online_set_fast(w, tile_build_exp2(to, fall));
}

/* After the loop ------------------------------------------------------------------------------- */

/* exp((top - rho) * by): the compute's exponential of the largest element of the row. */
static tile_value build_lowered(online_kernel *w, const sched_exponential *e) {
    tile_builder *to = &w->k.b;
    tile_op like = e->op;
    tile_value top = online_row_value(w, &e->top), rho = online_row_value(w, &e->rho);
    if (!top.id || !rho.id) return TILE_NO_VALUE;
    top = tile_build_max(to, top, online_number(w, -FLT_MAX)); /* also for a row of NaN */
    tile_value by =
        e->by.value.id ? sched_value(&w->k, e->by.value, &e->by.map, online_f32(w)) : TILE_NO_VALUE;
    tile_value fall = tile_build_sub(to, top, rho);
    if (by.id) fall = tile_build_mul(to, fall, by);
    bool natural = tile_op_opcode(w->k.s->compute, like) == TILE_OP_exp;
    tile_value scaled_after_loop = natural ? tile_build_exp(to, fall) : tile_build_exp2(to, fall);
    if (tile_op_has_attr(w->k.s->compute, like, TILE_ATTR_fast))
        scaled_after_loop = online_set_fast(w, scaled_after_loop);
    return tile_build_select(to, tile_build_ge(to, top, rho), online_number(w, 1),
                             scaled_after_loop);
}

/* An fma subtracts the rounded top * c from all elements and in all corrections, so that each term
 * has the factor 2^(top * c - rounded), which is 2^rest. Above LARGEST, as for rows without
 * elements but with a low reference, the factor may be infinite; the sums are 0 there. */
static tile_value build_unrounded(online_kernel *w, const sched_exponential *e) {
    tile_builder *to = &w->k.b;
    tile_value factor = build_factor(w, e);
    tile_value top =
        factor.id ? build_reference(w, e->top, rescaled_masked_input(w, e)) : TILE_NO_VALUE;
    if (!top.id) return TILE_NO_VALUE;
    tile_value rounded = tile_build_mul(to, top, factor);
    tile_value rest = tile_build_fma(to, top, factor, tile_build_neg(to, rounded));
    tile_value small = tile_build_lt(to, tile_build_abs(to, rounded), online_number(w, LARGEST));
    tile_value restored = online_set_fast(w, tile_build_exp2(to, tile_build_neg(to, rest)));
    return tile_build_select(to, small, restored, online_number(w, 1));
}

tile_value online_build_final_scale(online_kernel *w, unsigned exps) {
    tile_value product = TILE_NO_VALUE;
    for (unsigned i = 0; i < w->o->exp_count; i++) {
        const sched_exponential *e = &w->o->exps[i];
        if (!(exps & 1u << i)) continue;
        const tile_value more[] = {e->fused ? build_unrounded(w, e) : TILE_NO_VALUE,
                                   e->scaled_after_loop ? build_lowered(w, e) : TILE_NO_VALUE};
        for (unsigned n = 0; n < 2; n++)
            if (more[n].id)
                product = product.id ? tile_build_mul(&w->k.b, product, more[n]) : more[n];
    }
    return product;
}

/* Rescaled values ------------------------------------------------------------------------------ */

static void add_deferred(online_kernel *w, rescaled_value *out, const sched_mapped_value *row,
                         bool divides) {
    if (out->deferred_count == SCHED_MAX_DEFERRED) {
        SCHED_FAIL(w->k.s, w->k.g->root,
                   "more than %d factors of whole rows: compute some of them in a separate compute",
                   SCHED_MAX_DEFERRED);
        return;
    }
    out->deferred[out->deferred_count++] = (sched_deferred_factor){*row, divides};
}

static tile_value build_multiplied(online_kernel *w, tile_op op, const sched_map *map,
                                   const tile_type *element, rescaled_value *out) {
    tile_opcode opcode = tile_op_opcode(w->k.s->compute, op);
    sched_mapped_value a = sched_mapped_operand(w->k.s, op, 0, map),
                       b = sched_mapped_operand(w->k.s, op, 1, map);
    if (form_of(w, &b) == SCHED_PER_ROW) {
        add_deferred(w, out, &b, opcode == TILE_OP_div);
        return online_build_scaled(w, a, element, out);
    }
    if (form_of(w, &a) == SCHED_PER_ROW) {
        add_deferred(w, out, &a, false);
        return online_build_scaled(w, b, element, out);
    }
    tile_value x = online_build_scaled(w, a, online_f32(w), out),
               y = online_build_scaled(w, b, online_f32(w), out);
    if (!x.id || !y.id) return TILE_NO_VALUE;
    tile_value made =
        opcode == TILE_OP_div ? tile_build_div(&w->k.b, x, y) : tile_build_mul(&w->k.b, x, y);
    return sched_convert(&w->k, made, element);
}

tile_value online_build_scaled(online_kernel *w, sched_mapped_value at, const tile_type *element,
                               rescaled_value *out) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    if (s->failed) return TILE_NO_VALUE;
    if (form_of(w, &at) != SCHED_RESCALED) return sched_value(k, at.value, &at.map, element);
    tile_op op = tile_value_def(s->compute, at.value);
    int exp = sched_find_exp(w->o, op);
    if (exp >= 0) {
        out->exps |= 1u << exp;
        return sched_convert(k, build_exp(w, (unsigned)exp), element);
    }
    sched_mapped_value first = sched_mapped_operand(w->k.s, op, 0, &at.map);
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_mul:
    case TILE_OP_div: return build_multiplied(w, op, &at.map, element, out);
    case TILE_OP_cast: {
        tile_value from = online_build_scaled(w, first, online_f32(w), out);
        return sched_convert(k, sched_convert(k, from, sched_element(s, at.value)), element);
    }
    case TILE_OP_neg: {
        tile_value from = online_build_scaled(w, first, online_f32(w), out);
        return from.id ? sched_convert(k, tile_build_neg(&k->b, from), element) : from;
    }
    case TILE_OP_select: {
        tile_value seen =
            sched_value(k, first.value, &first.map, tile_type_scalar(s->context, TILE_i1));
        tile_value from = online_build_scaled(w, sched_mapped_operand(w->k.s, op, 1, &at.map),
                                              online_f32(w), out);
        if (!seen.id || !from.id) return TILE_NO_VALUE;
        return sched_convert(k, tile_build_select(&k->b, seen, from, online_number(w, 0)), element);
    }
    default: return online_build_scaled(w, first, element, out);
    }
}
