/* The rules of operations that combine elements along an axis, or of the threads of a warp. */
#include <stdio.h>
#include <string.h>

#include "lib/builder/infer_rules.h"
#include "lib/ir/named.h"
#include "lib/ops/atomic.h"
#include "lib/ops/combine.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"

static const tile_expr *find_axis(const tile_infer *infer) {
    for (unsigned i = 0; i < infer->attr_count; i++)
        if (infer->attrs[i].id == TILE_ATTR_axis) return infer->attrs[i].expr;
    return NULL;
}

/* Returns whether the axis is known to be one of the operand's dims. */
static bool knows_axis(const tile_infer *infer, int64_t *axis) {
    const tile_expr *expr = find_axis(infer);
    return expr && tile_expr_is_int(expr, axis) && *axis >= 0 &&
           *axis < type_of(infer, TILE_OPERAND_src)->rank;
}

const tile_type *tile_infer_reduced(const tile_infer *infer) {
    int64_t axis;
    tile_type draft = *type_of(infer, TILE_OPERAND_src);
    tile_context *context = tile_function_context(infer->function);
    if (!knows_axis(infer, &axis)) return NULL;
    draft.dims[axis] = tile_expr_int(context, 1);
    if (!draft.layout) return tile_type_get(context, &draft);
    const tile_layout *held = draft.layout;
    draft.layout = NULL;
    if (tile_layout_is_named(held)) return tile_type_get(context, &draft);
    tile_layout layout = tile_broadcast_layout(&draft, held);
    return tile_type_with_layout(context, tile_type_get(context, &draft), &layout);
}

static bool check_array(const tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    bool fits = src->kind == TILE_TYPE_TILE || src->kind == TILE_TYPE_TENSOR;
    return fits || fail(infer, "operand 'src' must be a tile or a tensor, not", src, "", NULL);
}

/* Rejects numbers that are not a dim of the operand; a parameter may become one. */
static bool check_axis(const tile_infer *infer) {
    int64_t axis;
    const tile_expr *expr = find_axis(infer);
    if (!expr || !tile_expr_is_int(expr, &axis) || knows_axis(infer, &axis)) return true;
    unsigned rank = type_of(infer, TILE_OPERAND_src)->rank;
    char advice[64] = "";
    if (axis < 0 && axis + rank >= 0) /* as in Python */
        snprintf(advice, sizeof advice, "; count dims from the first one: `axis = %u`",
                 (unsigned)(axis + rank));
    tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                "%s: the axis must be from 0 to %u, it is %lld%s", op_name(infer), rank - 1,
                (long long)axis, advice);
    return false;
}

/* The buffer contains values in the type used for the computation. */
static bool check_buffer(const tile_infer *infer, const tile_type *buffer) {
    if (!buffer || (!buffer->stages && buffer->rank == type_of(infer, TILE_OPERAND_src)->rank))
        return true;
    return fail(infer, "the buffer must have the operand's rank and no stages, not", buffer, "",
                NULL);
}

static bool is_reduced(const tile_infer *infer, const tile_type *from, const tile_type *to,
                       int64_t axis) {
    bool fits = to->kind == from->kind && to->rank == from->rank && same_element(from, to);
    for (unsigned d = 0; fits && d < to->rank; d++)
        fits =
            d == axis ? tile_type_dim(to, d) == 1 : same_extent(infer, to->dims[d], from->dims[d]);
    return fits;
}

/* If the axis is not known, any axis may be reduced. */
static bool check_reduced(const tile_infer *infer, const tile_type *to) {
    int64_t known;
    const tile_type *from = type_of(infer, TILE_OPERAND_src);
    bool fits = false, knows = knows_axis(infer, &known);
    for (unsigned d = 0; d < from->rank; d++)
        fits |= (!knows || d == known) && is_reduced(infer, from, to, d);
    return fits || fail(infer, "the result has the operand's extents, and 1 along the axis: from",
                        from, " to", to);
}

bool tile_infer_reduce(tile_infer *infer) {
    if (!check_array(infer) || !check_axis(infer) ||
        !check_buffer(infer, type_of(infer, TILE_OPERAND_buffer)))
        return false;
    if (!infer->given && !find_axis(infer))
        return fail(infer, "it needs the attribute 'axis', as in {axis = 0}", NULL, "", NULL);
    if (!infer->given)
        return fail(infer, "the axis is not a constant yet; write the result's type after ':'",
                    NULL, "", NULL);
    return check_reduced(infer, infer->given) && result(infer, infer->given);
}

/* The coordinates have the same layout as the values. */
bool tile_infer_reduce_arg(tile_infer *infer) {
    const tile_type *buffer = type_of(infer, TILE_OPERAND_buffer),
                    *places = type_of(infer, TILE_OPERAND_places);
    if (!tile_infer_reduce(infer) || !check_buffer(infer, places)) return false;
    if (!buffer != !places)
        return fail(infer, "pass two buffers, one for values and one for coordinates, or none",
                    NULL, "", NULL);
    infer->results[1] =
        tile_type_with_scalar(tile_function_context(infer->function), infer->results[0], TILE_i32);
    infer->result_count = 2;
    return true;
}

bool tile_infer_scan(tile_infer *infer) {
    return check_array(infer) && check_axis(infer) &&
           check_buffer(infer, type_of(infer, TILE_OPERAND_totals)) &&
           result(infer, type_of(infer, TILE_OPERAND_src));
}

/* The operands have the same extents, and each has its own element type. */
static bool check_combined(const tile_infer *infer) {
    unsigned count;
    const tile_value *src = segment(infer, TILE_OPERAND_src, &count);
    unsigned most = TILE_MAX_COMBINED - (infer->function->kind == TILE_COMPUTE);
    if (!count || count > most) {
        tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                    "%s: it combines 1 to %u operands, not %u", op_name(infer), most, count);
        return false;
    }
    if (!check_array(infer) || !check_axis(infer)) return false;
    const tile_type *first = first_type(infer);
    for (unsigned i = 1; i < count; i++) {
        const tile_type *type = tile_value_type(infer->function, src[i]);
        if (type->kind != first->kind || !same_dims(infer, type, first))
            return fail(infer, "all operands must have the same extents:", first, " and", type);
    }
    const tile_type *buffer = type_of(infer, TILE_OPERAND_buffer);
    if (!buffer || (buffer->stages && buffer->rank == first->rank)) return true;
    return fail(infer, "the buffer must have the operands' rank and a stage for each, not", buffer,
                "", NULL);
}

/* Results for all operands: of the first result's shape and layout. */
static void set_combined(tile_infer *infer, const tile_type *first) {
    unsigned count;
    const tile_value *src = segment(infer, TILE_OPERAND_src, &count);
    for (unsigned i = 0; i < count; i++) {
        const tile_type *own = tile_value_type(infer->function, src[i]);
        tile_type draft = *first;
        draft.scalar = own->scalar;
        draft.param = own->param;
        infer->results[i] = tile_type_get(tile_function_context(infer->function), &draft);
    }
    infer->result_count = count;
}

bool tile_infer_reduce_with(tile_infer *infer) {
    if (!check_combined(infer)) return false;
    if (!infer->given)
        return fail(infer,
                    find_axis(infer)
                        ? "the axis is not a constant yet; write the results' types after ':'"
                        : "it needs the attribute 'axis', as in {axis = 0, combine = @f}",
                    NULL, "", NULL);
    if (!check_reduced(infer, infer->given)) return false;
    set_combined(infer, infer->given);
    return true;
}

bool tile_infer_scan_with(tile_infer *infer) {
    if (!check_combined(infer) || !result(infer, type_of(infer, TILE_OPERAND_src))) return false;
    set_combined(infer, infer->results[0]);
    return true;
}

bool tile_infer_sort(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    if (!check_array(infer) || !check_axis(infer) ||
        !check_buffer(infer, type_of(infer, TILE_OPERAND_buffer)))
        return false;
    if (!src->param && (!tile_scalar_has_arithmetic(src->scalar) || src->scalar == TILE_i1))
        return fail(infer, "cast the elements to i32 or f32 first, to sort", src, "", NULL);
    return result(infer, src);
}

bool tile_infer_histogram(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src), *to = infer->given;
    if (src->kind != TILE_TYPE_TILE)
        return fail(infer, "operand 'src' must be a tile, not", src, "", NULL);
    if (!src->param && src->scalar == TILE_i1)
        return fail(infer, "cast the elements to i32 first, to count", src, "", NULL);
    if (!to || to->kind != TILE_TYPE_TILE || to->rank != 1 || to->param || to->scalar != TILE_i32)
        return fail(infer, "the result must be a tile of i32 with one dim", NULL,
                    to ? ", not" : "; write its type after ':'", to);
    return result(infer, to);
}

/* Checks the elements of a vector, or a scalar. */
static bool check_registers(const tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    bool fits = src->kind == TILE_TYPE_SCALAR || src->kind == TILE_TYPE_VECTOR;
    return fits || fail(infer, "operand 'src' must be a scalar or a vector, not", src, "", NULL);
}

bool tile_infer_shfl(tile_infer *infer) {
    return check_registers(infer) && result(infer, type_of(infer, TILE_OPERAND_src));
}

bool tile_infer_redux(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    if (!check_registers(infer)) return false;
    if (!src->param && tile_scalar_as_signed(src->scalar) != TILE_i32)
        return fail(infer, "the elements must be i32 or u32, not", src, "", NULL);
    return result(infer, src);
}

const tile_type *tile_infer_voted(const tile_infer *infer) {
    const tile_attr *kind = attr_of(infer, TILE_ATTR_kind);
    if (!kind || !kind->text) return NULL;
    bool bits = strcmp(kind->text, tile_attr_word_text(TILE_WORD_kind_ballot)) == 0;
    return tile_type_scalar(tile_function_context(infer->function), bits ? TILE_i32 : TILE_i1);
}

bool tile_infer_vote(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src), *voted = tile_infer_voted(infer);
    if (src->kind != TILE_TYPE_SCALAR)
        return fail(infer, "operand 'src' must be a scalar, not", src, "", NULL);
    if (!voted) voted = infer->given;
    return voted ? result(infer, voted)
                 : fail(infer, "its kind is not known yet, so the type must be given", NULL, "",
                        NULL);
}

bool tile_infer_match(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    if (src->kind != TILE_TYPE_SCALAR || (tile_scalar_as_signed(src->scalar) != TILE_i32 &&
                                          tile_scalar_as_signed(src->scalar) != TILE_i64))
        return fail(infer, "operand 'src' must be i32, u32, i64 or u64, not", src, "", NULL);
    return result(infer, tile_type_scalar(tile_function_context(infer->function), TILE_i32));
}
