/* Range and sign analysis of a compute's values, and classification of rescaled values. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "lib/ops/shape.h"
#include "passes/schedule/cut/online.h"

bool sched_is_number(schedule *s, tile_value value, double *number) {
    const tile_value_data *data = tile_value_at(s->compute, tile_repeated_value(s->compute, value));
    int64_t integer;
    if (data->kind != TILE_VALUE_CONSTANT) return false;
    const tile_expr *expr = sched_resolved(s, data->expr);
    if (expr->kind == TILE_EXPR_FLOAT)
        *number = expr->number;
    else if (tile_expr_is_int(expr, &integer))
        *number = (double)integer;
    else
        return false;
    return true;
}

/* Returns whether it is a dim of a tensor; the tensor is not empty. */
static bool is_extent(const schedule *s, const tile_expr *expr) {
    for (unsigned i = 0; i < s->dim_count && expr->kind == TILE_EXPR_PARAM; i++)
        if (strcmp(s->dims[i]->name, expr->name) == 0) return s->dims[i]->kind == TILE_PARAM_dim;
    return false;
}

bool sched_is_small(schedule *s, const tile_expr *expr) {
    int64_t number;
    expr = sched_resolved(s, expr);
    if (tile_expr_is_int(expr, &number)) return number <= SCHED_SMALL && number >= -SCHED_SMALL;
    if (expr->kind != TILE_EXPR_OP) return is_extent(s, expr);
    bool sums = expr->opcode == TILE_OP_add || expr->opcode == TILE_OP_sub;
    return sums && is_extent(s, sched_resolved(s, expr->args[0])) &&
           is_extent(s, sched_resolved(s, expr->args[1]));
}

/* Positive bounds of a value; values that may round to 0 have none. */
typedef struct range {
    double least, most;
} range;

static bool find_range(schedule *s, tile_value value, unsigned steps, range *out);

/* The range of a result whose operands have ranges. */
static bool range_of(tile_opcode opcode, const range *of, range *out) {
    switch (opcode) {
    case TILE_OP_splat:
    case TILE_OP_broadcast:
    case TILE_OP_cast: *out = of[0]; return true;
    case TILE_OP_sqrt: *out = (range){sqrt(of[0].least), sqrt(of[0].most)}; return true;
    case TILE_OP_rsqrt: *out = (range){1 / sqrt(of[0].most), 1 / sqrt(of[0].least)}; return true;
    case TILE_OP_mul:
        *out = (range){of[0].least * of[1].least, of[0].most * of[1].most};
        return true;
    case TILE_OP_div:
        *out = (range){of[0].least / of[1].most, of[0].most / of[1].least};
        return true;
    default: return false;
    }
}

static bool range_of_op(schedule *s, tile_op op, unsigned steps, range *out) {
    range of[2] = {{0, 0}, {0, 0}};
    unsigned count = tile_op_operand_count(s->compute, op), known = 0;
    if (!steps || !count || count > 2) return false;
    for (unsigned i = 0; i < count; i++) {
        range found;
        if (!find_range(s, tile_op_operand(s->compute, op, i), steps - 1, &found)) continue;
        of[i] = found;
        known++;
    }
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    if (opcode != TILE_OP_max) return known == count && range_of(opcode, of, out);
    *out = (range){of[0].least > of[1].least ? of[0].least : of[1].least, INFINITY};
    return known > 0;
}

/* The smallest number that cannot round to 0. */
static double least_of(tile_scalar scalar) {
    const double least_half = 0x1p-14;
    return scalar == TILE_f64                          ? DBL_MIN
           : scalar == TILE_f32 || scalar == TILE_bf16 ? FLT_MIN
                                                       : least_half;
}

static bool find_range(schedule *s, tile_value value, unsigned steps, range *out) {
    tile_op op = tile_value_def(s->compute, value);
    double number;
    if (sched_is_number(s, value, &number)) {
        *out = (range){number, number};
    } else if (!op.id) {
        const tile_value_data *data = tile_value_at(s->compute, value);
        *out = (range){1, INT32_MAX};
        return data->kind == TILE_VALUE_CONSTANT && is_extent(s, data->expr);
    } else {
        tile_scalar scalar = sched_element(s, value)->scalar;
        bool floats = tile_scalar_is_floating(scalar) && tile_scalar_has_arithmetic(scalar);
        if (!floats || !range_of_op(s, op, steps, out)) return false;
    }
    tile_scalar scalar = sched_element(s, value)->scalar;
    return out->least >= least_of(scalar) && isfinite(out->least);
}

bool sched_is_positive(schedule *s, tile_value value, unsigned steps) {
    range found;
    return find_range(s, value, steps, &found);
}

bool sched_has_floor(schedule *s, tile_value row) {
    tile_op op;
    double number;
    if (sched_is_number(s, row, &number)) return number > -INFINITY;
    if (!(op = tile_value_def(s->compute, row)).id) return false;
    for (unsigned i = 0; tile_op_opcode(s->compute, op) == TILE_OP_max && i < 2; i++)
        if (sched_is_number(s, tile_op_operand(s->compute, op, i), &number) && number > -INFINITY)
            return true;
    return false;
}

bool sched_has_large_number(schedule *s, tile_value value, unsigned steps) {
    enum { LARGE = 1 << 17 };
    tile_op op = tile_value_def(s->compute, value);
    double number;
    if (sched_is_number(s, value, &number)) return isfinite(number) && fabs(number) >= LARGE;
    if (!op.id || !sched_is_inline(s, op)) return false;
    if (!steps) return true;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        if (sched_has_large_number(s, tile_op_operand(s->compute, op, i), steps - 1)) return true;
    return false;
}

bool sched_is_row_maximum(schedule *s, tile_value row) {
    const double far = -1e4;
    tile_op op;
    double number;
    while ((op = tile_value_def(s->compute, row)).id) {
        tile_opcode opcode = tile_op_opcode(s->compute, op);
        tile_value a = tile_first_operand(s->compute, op);
        if (opcode == TILE_OP_reduce) return true;
        if (opcode == TILE_OP_max) {
            tile_value b = tile_operand_rhs(s->compute, op);
            bool first = sched_is_number(s, a, &number);
            if (!first && !sched_is_number(s, b, &number)) return false;
            if (number > far) return false;
            row = first ? b : a;
        } else if (opcode == TILE_OP_broadcast) {
            row = a;
        } else {
            return false;
        }
    }
    return false;
}

/* Forms of values ------------------------------------------------------------------------------ */

/* Returns whether the value may be a factor of a product. A product of small factors must not have
 * been scaled up by the compute. If a factor was divided by the sum of its exponential, the
 * exponential is computed relative to the row's maximum and scaled after the loop. */
static bool may_multiply(sched_online *o, const sched_classified_value *of) {
    if (of->enlarged && !of->near) return false;
    for (unsigned i = 0; i < o->exp_count; i++) {
        if (!(of->divided_by & 1u << i)) continue;
        if (o->exps[i].far) return false;
        o->exps[i].divided = true;
    }
    return true;
}

sched_classified_value sched_multiplied_form(sched_online *o, const sched_classified_value *a,
                                             const sched_classified_value *b) {
    bool both = a->form == SCHED_RESCALED && b->form == SCHED_RESCALED;
    bool twice = a->exps & b->exps; /* each exponential is corrected only once */
    if (twice || (both && (!may_multiply(o, a) || !may_multiply(o, b))))
        return (sched_classified_value){.form = SCHED_UNSUPPORTED};
    return (sched_classified_value){.form = SCHED_RESCALED,
                                    .bounded = both && a->bounded && b->bounded,
                                    .enlarged = a->enlarged || b->enlarged,
                                    .negative = true,
                                    .lossy = a->lossy || b->lossy,
                                    .exps = a->exps | b->exps,
                                    .divided_by = a->divided_by | b->divided_by};
}

/* Exponentials whose references may be far above all elements are rounded like in the compute,
 * unless they were divided by their sums; then they are rounded without the reference. Both cases
 * cannot be combined. */
static bool may_round(sched_online *o, const sched_classified_value *from) {
    for (unsigned i = 0; i < o->exp_count; i++) {
        sched_exponential *e = &o->exps[i];
        bool divided = from->divided_by & 1u << i;
        if (!(from->exps & 1u << i) || (!e->scaled_after_loop && !e->far)) continue;
        if (divided ? e->far : e->divided || from->enlarged) return false;
        e->divided = divided;
        e->scaled_after_loop = divided;
        e->far = !divided;
        if (e->far) e->top = e->rho;
    }
    return true;
}

bool sched_may_cast(schedule *s, sched_online *o, tile_op op, const sched_classified_value *from) {
    tile_scalar to = sched_element(s, tile_op_result(s->compute, op, 0))->scalar;
    if (tile_op_at(s->compute, op)->attr_count) return false;
    if (to == TILE_f32) return true;
    if (to != TILE_bf16 && (to != TILE_f16 || !from->bounded || from->enlarged)) return false;
    return (from->near || !from->enlarged) && may_round(o, from);
}
