/* Folding preserves values: the simplified form of an operation on i8 has the same result for all
 * operands. */
#include "test/unit/pass_fixture.h"

#include "passes/simplify/fold.h"

typedef struct operand_values {
    int64_t x;
} operand_values;

static bool read_arg(unsigned index, int64_t *value, void *user) {
    (void)index;
    *value = ((const operand_values *)user)->x;
    return true;
}

/* Evaluates the value for x, truncated to its type; false if the result is undefined (division by
 * zero). */
static bool evaluate(const pass_fixture *x, tile_value value, int64_t argument, int64_t *result) {
    operand_values values = {argument};
    tile_bindings bindings = {.arg = read_arg, .user = &values};
    const tile_expr *expr = tile_value_as_expr(x->kernel, value);
    if (!expr || !tile_expr_eval(expr, &bindings, result)) return false;
    *result = tile_wrap_int(tile_value_type(x->kernel, value)->scalar, *result);
    return true;
}

static tile_value build(pass_fixture *x, tile_opcode opcode, tile_value a, tile_value b) {
    const tile_segment segments[] = {{a, NULL, 0}, {b, NULL, 0}};
    return tile_build_op_value(&x->b, opcode, segments, 2, NULL);
}

/* Folds the operation that computes `value` and compares all 256 results. */
static void check(pass_fixture *x, tile_value value, const char *what, long constant) {
    int64_t before[256], after;
    bool defined[256], changed = false;
    for (int i = 0; i < 256; i++) defined[i] = evaluate(x, value, i - 128, &before[i]);
    tile_folder folder = {x->kernel, tile_range_analyse(x->kernel, &x->scratch),
                          (uint32_t)x->kernel->value_count, NULL};
    tile_value folded = tile_fold_op(&folder, tile_value_def(x->kernel, value), &changed);
    tile_value now = folded.id ? folded : value;
    for (int i = 0; i < 256; i++) {
        if (!defined[i]) continue;
        cr_assert(evaluate(x, now, i - 128, &after));
        cr_assert_eq(after, before[i], "%s with %ld: x = %d gives %ld, not %ld", what, constant,
                     i - 128, (long)after, (long)before[i]);
    }
}

static bool is_shift(tile_opcode opcode) {
    return opcode == TILE_OP_shl || opcode == TILE_OP_shr;
}

Test(pass_fold, integers_keep_their_values) {
    static const int64_t constants[] = {-128, -127, -2, -1, 0, 1, 2, 3, 8, 64, 127};
    for (int o = TILE_OP_add; o <= TILE_OP_ge; o++) {
        tile_opcode opcode = (tile_opcode)o;
        const char *name = tile_op_get_info(opcode)->name;
        for (unsigned c = 0; c < sizeof constants / sizeof *constants; c++) {
            bool amount = constants[c] >= 0 && constants[c] < 8;
            pass_fixture x;
            fixture_open(&x);
            const tile_type *type = tile_type_scalar(x.context, TILE_i8);
            tile_value arg = fixture_arg(&x, "x", TILE_i8, false);
            tile_value constant =
                tile_build_constant(&x.b, type, tile_expr_int(x.context, constants[c]));
            if (!is_shift(opcode) || amount)
                check(&x, build(&x, opcode, arg, constant), name, (long)constants[c]);
            if (!is_shift(opcode) && (opcode != TILE_OP_ceildiv))
                check(&x, build(&x, opcode, constant, arg), name, (long)constants[c]);
            if (!is_shift(opcode)) check(&x, build(&x, opcode, arg, arg), name, 0);
            fixture_close(&x);
        }
    }
}

/* Folding that depends on ranges: operands between 0 and 7, or multiples of 4. */
Test(pass_fold, ranges_keep_values) {
    static const int64_t masks[] = {7, 12, -4, 1};
    for (int o = TILE_OP_add; o <= TILE_OP_ge; o++)
        for (unsigned m = 0; m < sizeof masks / sizeof *masks; m++)
            for (int64_t c = -9; c < 18; c++) {
                tile_opcode opcode = (tile_opcode)o;
                if ((is_shift(opcode) && (c < 0 || c > 7)) || (opcode == TILE_OP_ceildiv && c <= 0))
                    continue;
                pass_fixture x;
                fixture_open(&x);
                const tile_type *type = tile_type_scalar(x.context, TILE_i8);
                tile_value mask =
                    tile_build_constant(&x.b, type, tile_expr_int(x.context, masks[m]));
                tile_value masked =
                    tile_build_and(&x.b, fixture_arg(&x, "x", TILE_i8, false), mask);
                tile_value constant = tile_build_constant(&x.b, type, tile_expr_int(x.context, c));
                check(&x, build(&x, opcode, masked, constant), tile_op_get_info(opcode)->name,
                      (long)c);
                fixture_close(&x);
            }
}

Test(pass_fold, casts_keep_values) {
    static const tile_scalar scalars[] = {TILE_i8, TILE_i16, TILE_i32, TILE_i64};
    for (unsigned i = 0; i < 16; i++) {
        pass_fixture x;
        fixture_open(&x);
        tile_value arg = fixture_arg(&x, "x", TILE_i8, false);
        const tile_type *middle = tile_type_scalar(x.context, scalars[i / 4]);
        const tile_type *last = tile_type_scalar(x.context, scalars[i % 4]);
        tile_value value = tile_build_cast(&x.b, tile_build_cast(&x.b, arg, middle), last);
        check(&x, value, "cast", (long)i);
        fixture_close(&x);
    }
}

/* The comparison detects a wrong rule. */
Test(pass_fold, evaluation_sees_differences) {
    pass_fixture x;
    fixture_open(&x);
    tile_value arg = fixture_arg(&x, "x", TILE_i32, false);
    tile_value sum = tile_build_add(&x.b, arg, tile_build_int(&x.b, 1));
    int64_t a, b;
    cr_assert(evaluate(&x, arg, 5, &a) && evaluate(&x, sum, 5, &b));
    cr_assert_neq(a, b);
    fixture_close(&x);
}
