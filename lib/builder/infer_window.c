/* The rule of operations on overlapping windows. */
#include <inttypes.h>

#include "lib/builder/infer_rules.h"

#define REPORT(infer, ...) \
    tile_report(tile_function_context((infer)->function), TILE_ERROR, (infer)->loc, __VA_ARGS__)

static const char *const lists[] = {NULL, "strides", "pads", "dilations"};

/* Each list has one number per windowed dim; dilations may be absent. */
static bool check_counts(const tile_infer *infer, unsigned windowed) {
    for (unsigned i = 1; i < 4; i++) {
        unsigned count;
        segment_at(infer, i, &count);
        if (count == windowed || (i == 3 && !count)) continue;
        REPORT(infer, "window: there are %u strides, and %u %s", windowed, count, lists[i]);
        return false;
    }
    return true;
}

/* Checks the known strides; level 1 checks the others when it runs. */
static bool check_strides(const tile_infer *infer) {
    unsigned count;
    const tile_value *strides = segment(infer, TILE_OPERAND_strides, &count);
    int64_t value;
    for (unsigned w = 0; w < count; w++) {
        if (!tile_value_is_int(infer->function, strides[w], &value) || value >= 1) continue;
        REPORT(infer, "window: strides must be 1 or more, not %" PRId64, value);
        return false;
    }
    return true;
}

static bool check_input_dilations(const tile_infer *infer, unsigned windowed) {
    const tile_attr *attr = attr_of(infer, TILE_ATTR_input_dilations);
    if (!attr) return true;
    if (attr->count != windowed) {
        REPORT(infer, "window: there are %u strides, and %u input dilations", windowed,
               attr->count);
        return false;
    }
    for (unsigned w = 0; w < windowed; w++) {
        if (attr->list[w] >= 1 && attr->list[w] <= INT32_MAX) continue;
        REPORT(infer, "window: input dilations are 1 to 2^31 - 1, not %" PRId64, attr->list[w]);
        return false;
    }
    return true;
}

/* Dims that are not windowed keep their extent in src. */
static bool check_others(const tile_infer *infer, const tile_type *from, const tile_type *to,
                         unsigned axis, unsigned windowed) {
    for (unsigned d = 0; d < from->rank; d++) {
        unsigned at = d < axis ? d : d + windowed;
        bool has_windows = d >= axis && d < axis + windowed;
        if (has_windows || same_extent(infer, from->dims[d], to->dims[at])) continue;
        tile_arena scratch = {0};
        REPORT(infer,
               "window: dim %u of the result must be dim %u of src, which has no windows: %s of %s",
               at, d, type_text(infer, to, &scratch), type_text(infer, from, &scratch));
        tile_arena_reset(&scratch);
        return false;
    }
    return true;
}

/* The extents before the first dim that has windows are src's. */
static bool refuse_missing_axis(const tile_infer *infer, const tile_type *from, const tile_type *to,
                                unsigned windowed) {
    unsigned axis = 0;
    while (axis + windowed < from->rank && from->dims[axis] == to->dims[axis]) axis++;
    REPORT(infer,
           "window: the attribute 'axis' is missing, the first dim that has windows: write {axis = "
           "%u}",
           axis);
    return false;
}

/* Without attributes any given type is accepted; the verifier checks both later. */
bool tile_infer_window(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src), *to = infer->given;
    const tile_attr *attr = attr_of(infer, TILE_ATTR_axis);
    unsigned windowed;
    int64_t axis = 0;
    segment(infer, TILE_OPERAND_strides, &windowed);
    if (!to || to->kind != TILE_TYPE_TENSOR || !same_element(from, to))
        return fail(infer, "the result must be a tensor of src's elements, of", from,
                    to ? ", not" : "; write its extents after ':'", to);
    if (!windowed)
        return fail(infer, "there must be a stride for each dim that has windows", NULL, "", NULL);
    if (!check_counts(infer, windowed) || !check_strides(infer) ||
        !check_input_dilations(infer, windowed))
        return false;
    if (to->rank != from->rank + windowed)
        return fail(infer,
                    "the result must have src's dims and, after each dim with windows, one more "
                    "dim for each stride, not",
                    to, " of", from);
    if (!attr && !infer->has_attrs) return result(infer, to);
    if (!attr) return refuse_missing_axis(infer, from, to, windowed);
    if (!tile_expr_is_int(attr->expr, &axis) || axis < 0 ||
        axis > (int64_t)from->rank - (int64_t)windowed)
        return fail(infer,
                    "the axis must be a number, the first of as many dims as there are strides, of",
                    from, "", NULL);
    return check_others(infer, from, to, (unsigned)axis, windowed) && result(infer, to);
}
