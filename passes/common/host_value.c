/* Builds operations that compute host expressions: see the header. */
#include "passes/common/host_value.h"

#include "lib/analysis/range.h"

typedef struct sized {
    tile_value value; /* i32 or i64 */
    tile_range range;
} sized;

tile_value host_value_cast(tile_builder *b, tile_value value, tile_scalar scalar) {
    const tile_type *type = tile_type_scalar(tile_function_context(b->function), scalar);
    return tile_value_type(b->function, value) == type ? value : tile_build_cast(b, value, type);
}

const tile_expr *host_product(const tile_function *f, const tile_expr *a, const tile_expr *b,
                              int64_t most) {
    int64_t product;
    tile_context *context = tile_function_context(f);
    if (__builtin_mul_overflow(tile_range_of_expr(f, NULL, a).max,
                               tile_range_of_expr(f, NULL, b).max, &product)) {
        const tile_expr *limit = tile_expr_int(context, most + 1);
        a = tile_expr_op(context, TILE_OP_min, a, limit, NULL);
        b = tile_expr_op(context, TILE_OP_min, b, limit, NULL);
    }
    return tile_expr_op(context, TILE_OP_mul, a, b, NULL);
}

static bool is_short(tile_range range) {
    return range.min >= INT32_MIN && range.max <= INT32_MAX;
}

static sized whole_number(tile_builder *b, const tile_expr *expr) {
    tile_context *context = tile_function_context(b->function);
    tile_range range = tile_range_of_int(expr->integer);
    tile_scalar scalar = is_short(range) ? TILE_i32 : TILE_i64;
    return (sized){tile_build_constant(b, tile_type_scalar(context, scalar), expr), range};
}

static sized argument(tile_builder *b, const tile_expr *expr) {
    tile_value value = b->function->args[expr->integer].value;
    tile_scalar scalar = tile_value_type(b->function, value)->scalar;
    tile_range range = tile_range_of_scalar(scalar);
    return (sized){host_value_cast(b, value, is_short(range) ? TILE_i32 : TILE_i64), range};
}

/* The variable of the loop at this depth around the builder's place. */
static sized loop_variable(const tile_builder *b, const tile_expr *expr) {
    const tile_function *f = b->function;
    tile_range range = tile_range_of_scalar(TILE_i32);
    tile_op loop = tile_region_at(f, b->region)->parent;
    for (; loop.id; loop = tile_op_parent(f, loop))
        if (tile_op_opcode(f, loop) == TILE_OP_for && tile_loop_depth(f, loop) == expr->integer)
            return (sized){tile_region_arg(f, tile_op_region(f, loop, 0), 0), range};
    return (sized){TILE_NO_VALUE, range};
}

/* Shifts are computed in 64 bits: the valid amounts depend on the width of the type. */
static bool can_be_short(tile_opcode opcode, const sized *args, unsigned count, tile_range result) {
    bool fits = is_short(result) && opcode != TILE_OP_shl && opcode != TILE_OP_shr;
    for (unsigned i = 0; i < count; i++) fits &= is_short(args[i].range);
    return fits;
}

static sized build(tile_builder *b, const tile_expr *expr);

static sized operation(tile_builder *b, const tile_expr *expr) {
    sized args[3];
    tile_range ranges[3];
    unsigned count = 0;
    for (; count < 3 && expr->args[count]; count++) {
        args[count] = build(b, expr->args[count]);
        ranges[count] = args[count].range;
    }
    tile_range range = tile_range_apply(expr->opcode, TILE_i64, ranges);
    tile_scalar scalar = can_be_short(expr->opcode, args, count, range) ? TILE_i32 : TILE_i64;
    tile_segment segments[TILE_MAX_OPERANDS] = {{{0}, NULL, 0}};
    for (unsigned i = 0; i < count; i++)
        segments[i].head = host_value_cast(b, args[i].value, scalar);
    if (expr->opcode == TILE_OP_select)
        segments[0].head =
            tile_build_ne(b, args[0].value,
                          host_value_cast(b, tile_build_int(b, 0),
                                          tile_value_type(b->function, args[0].value)->scalar));
    tile_value value = tile_build_op_value(b, expr->opcode, segments, count, NULL);
    return (sized){host_value_cast(b, value, is_short(range) ? TILE_i32 : TILE_i64), range};
}

static sized build(tile_builder *b, const tile_expr *expr) {
    switch (expr->kind) {
    case TILE_EXPR_INT: return whole_number(b, expr);
    case TILE_EXPR_ARG: return argument(b, expr);
    case TILE_EXPR_OP: return operation(b, expr);
    case TILE_EXPR_LOOP: return loop_variable(b, expr);
    case TILE_EXPR_FLOAT: /* the verifier rejects these */
    case TILE_EXPR_PARAM:
    case TILE_EXPR_WORD:
    case TILE_EXPR_NUM_SMS:
    case TILE_EXPR_BLOCK_ID: break;
    }
    return (sized){TILE_NO_VALUE, tile_range_of_scalar(TILE_i64)};
}

tile_value host_value(tile_builder *b, const tile_expr *expr) {
    return build(b, expr).value;
}
