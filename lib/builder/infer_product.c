/* The rules of matrix products at levels 1 and 2. */
#include "lib/builder/infer_rules.h"
#include "lib/support/scalar.h"

/* The dims of a matrix, which an attribute may transpose. */
typedef struct matrix {
    const tile_type *type;
    const tile_expr *rows, *columns;
} matrix;

static matrix matrix_of(const tile_infer *infer, unsigned operand, tile_attr_id trans) {
    const tile_type *type = type_at(infer, operand);
    bool turned = attr_of(infer, trans) != NULL;
    matrix m = {.type = type};
    if (type->rank < 2) return m;
    m.rows = type->dims[type->rank - (turned ? 1 : 2)];
    m.columns = type->dims[type->rank - (turned ? 2 : 1)];
    return m;
}

/* A batch extent, counted backwards from the last two dims; NULL: there is none. */
static const tile_expr *batch_of(const tile_type *type, unsigned at) {
    return at + 2 < type->rank ? type->dims[type->rank - 3 - at] : NULL;
}

static bool is_one(const tile_expr *extent) {
    return !extent || tile_expr_is(extent, 1);
}

const tile_type *tile_infer_product(const tile_infer *infer, const tile_type *element) {
    matrix a = matrix_of(infer, 0, TILE_ATTR_trans_lhs),
           b = matrix_of(infer, 1, TILE_ATTR_trans_rhs);
    tile_type draft = a.type->rank < b.type->rank ? *b.type : *a.type;
    if (a.type->rank < 2 || b.type->rank < 2 || !same_extent(infer, a.columns, b.rows)) return NULL;
    for (unsigned at = 0; at + 2 < draft.rank; at++) {
        const tile_expr *of_a = batch_of(a.type, at), *of_b = batch_of(b.type, at);
        if (!is_one(of_a) && !is_one(of_b) && !same_extent(infer, of_a, of_b)) return NULL;
        draft.dims[draft.rank - 3 - at] = is_one(of_a) && of_b ? of_b : of_a;
    }
    draft.dims[draft.rank - 2] = a.rows;
    draft.dims[draft.rank - 1] = b.columns;
    draft.scalar = element->scalar;
    draft.param = element->param;
    draft.layout = NULL;
    return tile_type_get(tile_function_context(infer->function), &draft);
}

static bool fail_operands(const tile_infer *infer, const tile_type *a, const tile_type *b) {
    const tile_expr *of_a = matrix_of(infer, 0, TILE_ATTR_trans_lhs).columns,
                    *of_b = matrix_of(infer, 1, TILE_ATTR_trans_rhs).rows;
    tile_arena scratch = {0};
    const char *inner = "";
    if (of_a && of_b && !same_extent(infer, of_a, of_b))
        inner = tile_arena_format(&scratch, "; the inner extents are %s and %s",
                                  tile_expr_text(infer->function, of_a, &scratch),
                                  tile_expr_text(infer->function, of_b, &scratch));
    fail_with(infer,
              "the operands must be [m, k] and [k, n], or batches of them (`trans_lhs` or "
              "`trans_rhs` exchanges the dims of one: `matmul(%a, %b, trans_rhs)`), not",
              a, " and", b, inner);
    tile_arena_reset(&scratch);
    return false;
}

bool tile_infer_check_factors(const tile_infer *infer, const tile_type *a, const tile_type *b) {
    bool differ_in_sign = !a->param && !b->param &&
                          tile_scalar_as_signed(a->scalar) == tile_scalar_as_signed(b->scalar);
    if (same_element(a, b) || differ_in_sign) return true;
    return fail(infer,
                "both operands must have the same element type, except for the sign of integers, "
                "not",
                a, " and", b);
}

/* Accepts any shape if attributes are not known yet. */
bool tile_infer_matmul(tile_infer *infer) {
    const tile_type *a = type_of(infer, TILE_OPERAND_lhs), *b = type_of(infer, TILE_OPERAND_rhs),
                    *c = infer->given;
    const tile_type *wanted = tile_infer_product(infer, a);
    if (!wanted && infer->has_attrs) return fail_operands(infer, a, b);
    if (!tile_infer_check_factors(infer, a, b)) return false;
    bool fits = c && c->kind == TILE_TYPE_TENSOR && c->rank >= 2;
    if (fits && wanted && infer->has_attrs) fits = same_dims(infer, c, wanted);
    if (!c)
        return fail(infer, "the result's element type is missing; write `matmul(..) : f32`", NULL,
                    "", NULL);
    if (!fits)
        return fail(infer, "the result must be a tensor [m, n], with the operands' batches, not", c,
                    wanted ? "; the product is" : "", wanted);
    return result(infer, c);
}

bool tile_infer_dot(tile_infer *infer) {
    const tile_type *a = type_of(infer, TILE_OPERAND_lhs), *b = type_of(infer, TILE_OPERAND_rhs),
                    *c = type_of(infer, TILE_OPERAND_acc);
    if (!c) return fail(infer, "the accumulator is missing", NULL, "", NULL);
    const tile_type *wanted = tile_infer_product(infer, c);
    bool fits = wanted && a->rank == b->rank && a->rank <= 3;
    if (!fits && infer->has_attrs)
        return fail(infer,
                    "the operands must be [m, k] and [k, n], or both batches of these with three "
                    "dims (`trans_lhs` or `trans_rhs` exchanges the dims of one: `dot(%a, %b, %c, "
                    "trans_rhs)`), not",
                    a, " and", b);
    if (infer->has_attrs && !same_dims(infer, c, wanted))
        return fail(infer,
                    c->rank == 2 ? "the accumulator must be [m, n], not"
                                 : "the accumulator must be [batches, m, n], not",
                    c, "", NULL);
    if (!c->param && !tile_scalar_has_arithmetic(c->scalar))
        return fail(infer,
                    "the accumulator must have an element type with arithmetic, such as f32, not",
                    c, "", NULL);
    return result(infer, c);
}
