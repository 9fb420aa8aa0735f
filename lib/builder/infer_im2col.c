/* The rule of `im2col`. */
#include "lib/builder/infer_rules.h"
#include "lib/ops/im2col.h"

enum { LEAST_RANK = 3, MOST_RANK = 2 + TILE_MAX_SPATIAL };

/* Returns NULL, or what is wrong. */
static const char *read(const tile_infer *infer, tile_arena *arena, tile_im2col *windows) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    if (src->kind != TILE_TYPE_VIEW || src->rank < LEAST_RANK || src->rank > MOST_RANK)
        return "src must be a view of 3 to 5 dims: a batch, 1 to 3 spatial dims, channels";
    if (src->has_strides || src->layout) return "src must be row-major, without strides or layout";
    return tile_im2col_read(infer->attrs, infer->attr_count, src->rank - 2, arena, windows);
}

/* The number of places; NULL if an extent of src is not known. */
static const tile_expr *count_places(tile_context *context, const tile_type *src,
                                     const tile_im2col *windows) {
    int64_t extent, count;
    if (!src->dims[0] || !tile_expr_is_int(src->dims[0], &count)) return NULL;
    for (unsigned i = 0; i < windows->spatial; i++)
        if (!src->dims[1 + i] || !tile_expr_is_int(src->dims[1 + i], &extent) ||
            __builtin_mul_overflow(count, tile_im2col_places(windows, i, extent), &count))
            return NULL;
    return tile_expr_int(context, count);
}

const tile_type *tile_infer_windows(const tile_infer *infer) {
    tile_context *context = tile_function_context(infer->function);
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    tile_im2col windows;
    tile_arena scratch = {0};
    bool known = attr_of(infer, TILE_ATTR_filter) && !read(infer, &scratch, &windows);
    tile_arena_reset(&scratch);
    if (!known) return NULL;
    tile_type draft = {.kind = TILE_TYPE_VIEW, .scalar = src->scalar, .rank = TILE_IM2COL_RANK};
    draft.param = src->param;
    draft.dims[TILE_IM2COL_POSITION] = tile_expr_int(context, tile_im2col_positions(&windows));
    draft.dims[TILE_IM2COL_PLACE] = count_places(context, src, &windows);
    draft.dims[TILE_IM2COL_CHANNEL] = src->dims[src->rank - 1];
    return tile_type_get(context, &draft);
}

bool tile_infer_im2col(tile_infer *infer) {
    tile_im2col windows;
    tile_arena scratch = {0};
    const char *wrong = read(infer, &scratch, &windows);
    if (wrong)
        tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc, "im2col: %s",
                    wrong);
    tile_arena_reset(&scratch);
    if (wrong) return false;
    const tile_type *to = infer->given, *expected = tile_infer_windows(infer);
    if (!to || to != expected)
        return fail(infer, "the result must be a view of positions, places and channels,", expected,
                    ", not", to);
    return result(infer, to);
}
