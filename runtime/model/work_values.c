/* Expressions and types at a point of a space. */
#include "runtime/model/work_scan.h"

/* Expressions ---------------------------------------------------------------------------------- */

static bool eval(const scan *s, const tile_expr *expr, int64_t *value) {
    if (expr && expr->kind == TILE_EXPR_INT) {
        *value = expr->integer;
        return true;
    }
    return expr && tile_formulas_read(s->formulas, expr, &s->inputs, value);
}

int64_t scan_eval_or(const scan *s, const tile_expr *expr, int64_t otherwise) {
    int64_t value;
    return eval(s, expr, &value) ? value : otherwise;
}

bool scan_value_of(const scan *s, tile_value value, int64_t *integer) {
    const tile_value_data *data = tile_value_at(s->f, value);
    if (data->kind == TILE_VALUE_CONSTANT) return eval(s, data->expr, integer);
    *integer = s->values[value.id];
    return s->known[value.id];
}

void scan_set_value(scan *s, tile_value value, int64_t integer) {
    s->values[value.id] = integer;
    s->known[value.id] = true;
}

/* The end of a loop that some blocks skip, such as those of tiles that a mask hides: the end for
 * the others. */
static bool fold_skipped(scan *s, const tile_op_data *op) {
    int64_t condition, ends[2];
    if (op->opcode != TILE_OP_select || scan_value_of(s, op->operands[0], &condition)) return false;
    for (unsigned i = 0; i < 2; i++)
        if (!scan_value_of(s, op->operands[1 + i], &ends[i])) return false;
    if (ends[0] && ends[1]) return false;
    scan_set_value(s, op->first_result, ends[0] ? ends[0] : ends[1]);
    return true;
}

/* min(x, y) of a loaded value, a bounded length, counts as its bound. */
void scan_fold(scan *s, const tile_op_data *op) {
    int64_t in[3] = {0}, out;
    if (op->result_count != 1 || op->operand_count < 1 || op->operand_count > 3) return;
    const tile_type *type = tile_value_type(s->f, op->first_result);
    if (type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(type->scalar)) return;
    if (fold_skipped(s, op)) return;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!scan_value_of(s, op->operands[i], &in[i])) {
            if (op->opcode != TILE_OP_min || !scan_value_of(s, op->operands[1 - i], &in[i])) return;
        }
    if (op->opcode == TILE_OP_cast && !op->attr_count)
        scan_set_value(s, op->first_result, in[0]);
    else if (tile_fold_int((tile_opcode)op->opcode, in[0], in[1], in[2], &out))
        scan_set_value(s, op->first_result, out);
}

/* Types ---------------------------------------------------------------------------------------- */

tile_scalar scan_scalar_of(const scan *s, const tile_type *type) {
    return type->param && s->point ? tile_find_bound_scalar(s->point, type->param) : type->scalar;
}

double scan_width_of(const scan *s, const tile_type *type) {
    return tile_scalar_bytes(scan_scalar_of(s, type));
}

int64_t scan_clamp(int64_t count) {
    return count < 0 ? 0 : count > INT32_MAX ? INT32_MAX : count;
}

int64_t scan_count_of(const scan *s, const tile_expr *expr, int64_t otherwise) {
    return scan_clamp(scan_eval_or(s, expr, otherwise));
}

int64_t scan_dim_of(const scan *s, const tile_type *type, unsigned d) {
    return scan_count_of(s, type->dims[d], 0);
}

double scan_bytes_of(const scan *s, const tile_type *type) {
    double bytes = scan_width_of(s, type);
    for (unsigned d = 0; d < type->rank; d++) bytes *= (double)scan_dim_of(s, type, d);
    return bytes;
}

int64_t scan_stages_of(const scan *s, const tile_type *type) {
    int64_t stages = type->stages ? scan_count_of(s, type->stages, 1) : 1;
    return stages > 1 ? stages : 1;
}
