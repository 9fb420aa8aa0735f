#include "lib/analysis/part_view.h"

#include "lib/ir/syntax.h"

typedef struct bound {
    const tile_function *f;
    const tile_expr *most;
} bound;

/* value + added <= most, provable and without overflow. */
static bool is_within(const bound *b, tile_value value, int64_t added, unsigned depth) {
    int64_t number;
    const tile_function *f = b->f;
    if (added <= 0 && tile_value_as_expr(f, value) == b->most) return true;
    tile_op op = tile_value_def(f, value);
    if (!depth || !op.id || !tile_op_operand_count(f, op)) return false;
    tile_value own[3]; /* the first one is repeated for missing operands */
    for (unsigned i = 0; i < 3; i++)
        own[i] = i < tile_op_operand_count(f, op) ? tile_op_operand(f, op, i) : own[0];
    tile_value first = own[0], second = own[1], third = own[2];
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_min:
        return is_within(b, first, added, depth - 1) || is_within(b, second, added, depth - 1);
    case TILE_OP_max: /* one operand is a number not above any extent */
        for (unsigned i = 0; i < 2; i++)
            if (tile_value_is_int(f, i ? first : second, &number) && number + added <= 0)
                return is_within(b, i ? second : first, added, depth - 1);
        return false;
    case TILE_OP_select:
        return (is_within(b, second, added, depth - 1) ||
                (tile_value_is_int(f, second, &number) && number + added <= 0)) &&
               (is_within(b, third, added, depth - 1) ||
                (tile_value_is_int(f, third, &number) && number + added <= 0));
    case TILE_OP_add:
    case TILE_OP_sub:
        if (!tile_value_is_int(f, second, &number)) return false;
        if (tile_op_opcode(f, op) == TILE_OP_sub) number = -number;
        /* A value near the minimum could wrap around if the number is subtracted; an extent
         * cannot. */
        if (number < 0 && tile_value_as_expr(f, first) != b->most) return false;
        return is_within(b, first, added + number, depth - 1);
    default: return false;
    }
}

static bool ends_within(const tile_function *f, tile_value end, const tile_expr *extent) {
    enum { DEPTH = 8 };
    const bound b = {f, extent};
    return is_within(&b, end, 0, DEPTH);
}

static bool has_strides_of(const tile_function *f, tile_op view, unsigned arg, unsigned dim) {
    const tile_values strides = tile_operands_strides(f, view);
    bool same = true;
    /* Row-major strides are products of the extents of later dims. */
    if (!strides.count) return !f->args[arg].type->has_strides && dim == 0;
    for (unsigned d = 0; d < strides.count; d++)
        same &= tile_value_as_expr(f, strides.at[d]) == tile_function_arg_stride(f, arg, d);
    return same;
}

bool tile_view_is_part(const tile_function *f, tile_value view, tile_part_view *out) {
    unsigned rank = tile_value_type(f, view)->rank;
    tile_op op = tile_value_def(f, view);
    if (!op.id || tile_op_opcode(f, op) != TILE_OP_view) return false;
    tile_op base = tile_value_def(f, tile_operand_base(f, op));
    if (!base.id || tile_op_opcode(f, base) != TILE_OP_base) return false;
    *out = (tile_part_view){.whole = tile_operand_src(f, base), .dim = rank};
    const tile_value_data *whole = tile_value_at(f, out->whole);
    if (whole->kind != TILE_VALUE_ARG || whole->type->rank != rank ||
        whole->type->scalar != tile_value_type(f, view)->scalar)
        return false;
    const tile_values extents = tile_operands_extents(f, op);
    for (unsigned d = 0; d < extents.count; d++) {
        const tile_expr *extent = tile_function_arg_extent(f, whole->index, d);
        if (tile_value_as_expr(f, extents.at[d]) == extent) continue;
        if (out->dim < rank || !ends_within(f, extents.at[d], extent)) return false;
        out->dim = d;
        out->end = extents.at[d];
    }
    return out->dim < rank && has_strides_of(f, op, whole->index, out->dim);
}
