/* What is known of a compute's numbers. */
#include <math.h>
#include <string.h>

#include "passes/compute/schedule_online.h"

bool sched_is_number(schedule *s, tile_value value, double *number) {
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id &&
           (tile_op_opcode(s->compute, op) == TILE_OP_splat ||
            tile_op_opcode(s->compute, op) == TILE_OP_broadcast))
        value = tile_op_operand(s->compute, op, 0);
    const tile_value_data *data = tile_value_at(s->compute, value);
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

/* Of a tensor that has elements. */
static bool is_extent(const schedule *s, const tile_expr *expr) {
    for (unsigned i = 0; i < s->dim_count && expr->kind == TILE_EXPR_PARAM; i++)
        if (strcmp(s->dims[i]->name, expr->name) == 0) return s->dims[i]->kind == TILE_PARAM_dim;
    return false;
}

bool sched_is_positive(schedule *s, tile_value value, unsigned steps) {
    tile_op op = tile_value_def(s->compute, value);
    double number;
    if (sched_is_number(s, value, &number)) return number > 0 && isfinite(number);
    if (!op.id) {
        const tile_value_data *data = tile_value_at(s->compute, value);
        return data->kind == TILE_VALUE_CONSTANT && is_extent(s, data->expr);
    }
    if (!steps) return false;
    unsigned count = tile_op_operand_count(s->compute, op);
    bool all = count > 0, any = false;
    for (unsigned i = 0; i < count && i < 2; i++) {
        bool here = sched_is_positive(s, tile_op_operand(s->compute, op, i), steps - 1);
        all = all && here;
        any |= here;
    }
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_splat:
    case TILE_OP_broadcast:
    case TILE_OP_cast:
    case TILE_OP_sqrt:
    case TILE_OP_rsqrt:
    case TILE_OP_mul:
    case TILE_OP_div: return all && tile_scalar_is_floating(sched_element(s, value)->scalar);
    case TILE_OP_max: return any && tile_scalar_is_floating(sched_element(s, value)->scalar);
    default: return false;
    }
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
