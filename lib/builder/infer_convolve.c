/* The rule of convolutions. */
#include "lib/builder/infer_rules.h"
#include "lib/ops/convolution.h"
#include "lib/support/scalar.h"

static const tile_expr *dim(const tile_type *type, unsigned d) {
    return type->dims[d];
}

static const tile_expr *divided(const tile_infer *infer, const tile_expr *extent,
                                const tile_expr *count) {
    tile_context *context = tile_function_context(infer->function);
    return count ? tile_extent_canonical(context,
                                         tile_expr_op(context, TILE_OP_div, extent, count, NULL))
                 : extent;
}

static bool has_ranks(const tile_infer *infer, const tile_convolution *c) {
    return type_at(infer, 0)->rank == c->spatial + 2 && type_at(infer, 1)->rank == c->spatial + 2;
}

/* The result of operands whose ranks are right. */
static const tile_type *result_of(const tile_infer *infer, const tile_convolution *c,
                                  const tile_type *element) {
    const tile_type *lhs = type_at(infer, 0), *rhs = type_at(infer, 1);
    tile_context *context = tile_function_context(infer->function);
    tile_type draft = *lhs;
    draft.scalar = element->scalar;
    draft.param = element->param;
    draft.dims[c->result.outer] = divided(infer, dim(lhs, c->lhs.outer), c->batch_groups);
    draft.dims[c->result.channel] = dim(rhs, c->rhs.channel);
    for (unsigned i = 0; i < c->spatial; i++)
        draft.dims[c->result.spatial[i]] = tile_extent_canonical(
            context, tile_convolution_extent(context, c, i, dim(lhs, c->lhs.spatial[i]),
                                             dim(rhs, c->rhs.spatial[i])));
    return tile_type_get(context, &draft);
}

const tile_type *tile_infer_convolved(const tile_infer *infer, const tile_type *element) {
    tile_arena scratch = {0};
    tile_convolution c;
    bool fits = !tile_convolution_read(infer->attrs, infer->attr_count, &scratch, &c) &&
                has_ranks(infer, &c);
    tile_arena_reset(&scratch);
    return fits ? result_of(infer, &c, element) : NULL;
}

static bool refuse(const tile_infer *infer, const char *what) {
    tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc, "%s: %s",
                op_name(infer), what);
    return false;
}

/* Whether `count` groups divide the extent, if both are known; NULL counts as one. */
static bool divides(const tile_expr *count, const tile_expr *extent) {
    int64_t groups, elements;
    if (!count || !tile_expr_is_int(count, &groups)) return true;
    return groups > 0 && (!tile_expr_is_int(extent, &elements) || elements % groups == 0);
}

static bool check_channels(const tile_infer *infer, const tile_convolution *c) {
    const tile_type *lhs = type_at(infer, 0), *rhs = type_at(infer, 1);
    tile_context *context = tile_function_context(infer->function);
    const tile_expr *channels = dim(lhs, c->lhs.channel), *of_filter = dim(rhs, c->rhs.outer);
    const tile_expr *filters = dim(rhs, c->rhs.channel), *batch = dim(lhs, c->lhs.outer);
    const char *name = c->groups ? "groups" : "batch_groups";
    const tile_expr *count = c->groups ? c->groups : c->batch_groups;
    tile_arena scratch = {0};
    const char *fault = NULL;
    if (!divides(c->groups, channels) || !divides(c->batch_groups, batch) ||
        !divides(count, filters))
        fault = tile_arena_format(
            &scratch,
            "'%s' must be 1 or more and divide %s and the result's channels: %s does not divide %s "
            "and %s",
            name, c->groups ? "the channels of lhs" : "the batch of lhs",
            tile_expr_text(infer->function, count, &scratch),
            tile_expr_text(infer->function, c->groups ? channels : batch, &scratch),
            tile_expr_text(infer->function, filters, &scratch));
    else if (tile_extents_differ(context, divided(infer, channels, c->groups), of_filter))
        fault = tile_arena_format(
            &scratch, "dim c of rhs must be dim c of lhs%s, %s, not %s",
            c->groups ? " divided by 'groups'" : "",
            tile_expr_text(infer->function, divided(infer, channels, c->groups), &scratch),
            tile_expr_text(infer->function, of_filter, &scratch));
    if (fault) refuse(infer, fault);
    tile_arena_reset(&scratch);
    return !fault;
}

/* Extents of the result that are dims stand for the numbers of windows; the others must be those
 * numbers. */
static bool check_result(tile_infer *infer, const tile_convolution *c) {
    const tile_type *to = infer->given, *wanted = result_of(infer, c, to);
    tile_context *context = tile_function_context(infer->function);
    bool fits = to->kind == TILE_TYPE_TENSOR && to->rank == wanted->rank;
    for (unsigned d = 0; fits && d < to->rank; d++)
        fits = !tile_extents_differ(context, to->dims[d], wanted->dims[d]);
    if (!fits) return fail(infer, "the result is", wanted, ", not", to);
    return result(infer, to);
}

static bool check_numbers(const tile_infer *infer) {
    const tile_type *a = type_at(infer, 0), *b = type_at(infer, 1), *to = infer->given;
    if (!tile_infer_check_factors(infer, a, b)) return false;
    if (!to || to->kind != TILE_TYPE_TENSOR)
        return fail(infer,
                    "the result must be a tensor; write its element type after ':', such as "
                    "f32",
                    NULL, to ? ", not" : "", to);
    if (!to->param && !tile_scalar_has_arithmetic(to->scalar))
        return fail(infer, "the result must have an element type with arithmetic, such as f32, not",
                    to, "", NULL);
    return true;
}

/* Without attributes any given type is accepted; the verifier checks both later. */
bool tile_infer_convolve(tile_infer *infer) {
    tile_arena scratch = {0};
    tile_convolution c;
    if (!infer->has_attrs) return check_numbers(infer) && result(infer, infer->given);
    const char *fault = tile_convolution_read(infer->attrs, infer->attr_count, &scratch, &c);
    if (!fault && !has_ranks(infer, &c))
        fault = tile_arena_format(&scratch,
                                  "'dims' has %u letters for each array, and lhs has %u dims and "
                                  "rhs %u",
                                  c.spatial + 2, type_at(infer, 0)->rank, type_at(infer, 1)->rank);
    bool ok = !fault || refuse(infer, fault);
    tile_arena_reset(&scratch);
    return ok && check_numbers(infer) && check_channels(infer, &c) && check_result(infer, &c);
}
