/* View arguments at a launch: the values of their expressions, and the memory that they reach. */
#include <inttypes.h>

#include "lib/launch/data.h"

static tile_status fail(const tile_abi *abi, unsigned index, const char *why) {
    tile_report(abi->context, TILE_ERROR, abi->loc, "@%s: the view %%%s %s", abi->entry,
                abi->args[index].name, why);
    return TILE_INVALID;
}

/* Evaluates an extent or stride of the view. */
static tile_status find_value(const tile_abi *abi, unsigned index, bool is_stride, unsigned d,
                              const int64_t *args, int64_t *value) {
    const tile_abi_arg *arg = &abi->args[index];
    const abi_json_parameter *text = &abi->parameter_texts[index];
    const char *word = is_stride ? "stride" : "extent";
    tile_arena arena = {0};
    tile_status status = TILE_OK;
    if (!tile_abi_evaluate(abi, is_stride ? arg->strides[d] : arg->extents[d], args, NULL, value))
        status = fail(abi, index,
                      tile_arena_format(&arena, "has no %s %u: '%s' divides by zero", word, d + 1,
                                        is_stride ? text->strides[d] : text->extents[d]));
    else if (!is_stride && (*value < 0 || *value > INT32_MAX))
        status = fail(abi, index,
                      tile_arena_format(&arena,
                                        "has the extent %s = %" PRId64
                                        ", which must be from 0 to 2^31 - 1",
                                        text->extents[d], *value));
    tile_arena_reset(&arena);
    return status;
}

tile_status tile_abi_view_shape(const tile_abi *abi, unsigned index, const int64_t *args,
                                int64_t extents[TILE_MAX_RANK], int64_t strides[TILE_MAX_RANK]) {
    const tile_abi_arg *arg = tile_abi_arg_at(abi, index);
    tile_status status = TILE_OK;
    if (!arg || arg->type->kind != TILE_TYPE_VIEW) return TILE_INVALID;
    for (unsigned d = 0; d < arg->type->rank && status == TILE_OK; d++)
        status = find_value(abi, index, false, d, args, &extents[d]);
    for (unsigned d = 0; d < arg->type->rank && status == TILE_OK; d++)
        status = find_value(abi, index, true, d, args, &strides[d]);
    return status;
}

/* Returns false if the strides of a view without strides in its type overflow. */
static bool has_few_elements(const tile_type *type, const int64_t *extents) {
    int64_t elements = 1;
    for (unsigned d = 0; d < type->rank && !type->has_strides; d++)
        if (__builtin_mul_overflow(elements, extents[d], &elements)) return false;
    return true;
}

tile_status tile_abi_view_bytes(const tile_abi *abi, unsigned index, const int64_t *args,
                                int64_t *before, int64_t *behind) {
    int64_t extents[TILE_MAX_RANK], strides[TILE_MAX_RANK], reach, low = 0, high = 1;
    tile_status status = tile_abi_view_shape(abi, index, args, extents, strides);
    *before = *behind = 0;
    if (status != TILE_OK) return status;
    const tile_type *type = abi->args[index].type;
    for (unsigned d = 0; d < type->rank; d++)
        if (!extents[d]) return TILE_OK;
    bool fits = has_few_elements(type, extents);
    for (unsigned d = 0; d < type->rank && fits; d++) {
        fits = !__builtin_mul_overflow(extents[d] - 1, strides[d], &reach);
        if (fits)
            fits = reach < 0 ? !__builtin_sub_overflow(low, reach, &low)
                             : !__builtin_add_overflow(high, reach, &high);
    }
    fits = fits && !__builtin_mul_overflow(low, tile_scalar_bytes(type->scalar), before) &&
           !__builtin_mul_overflow(high, tile_scalar_bytes(type->scalar), behind);
    return fits ? TILE_OK : fail(abi, index, "reaches over more than 2^63 bytes");
}
