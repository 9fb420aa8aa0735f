/* The windows of a convolution's spatial dims, and their phases. */
#include "lib/builder/convolve_windows.h"

#include "lib/ir/syntax.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"

tile_value expand_index_of(expansion *x, int64_t a, const tile_expr *b, int64_t c) {
    const tile_expr *sum = tile_expr_int(x->context, a);
    if (b) {
        const tile_expr *product =
            tile_expr_op(x->context, TILE_OP_mul, b, tile_expr_int(x->context, c), NULL);
        sum = tile_expr_op(x->context, TILE_OP_sub, sum, product, NULL);
    }
    return tile_build_constant(&x->b, tile_type_scalar(x->context, TILE_i32), sum);
}

/* A filter that is read backward begins at its last position. */
static window_numbers number_windows(expansion *x, unsigned i) {
    const tile_expr *positions = x->rhs->dims[x->c.rhs.spatial[i]];
    const tile_expr *one = tile_expr_int(x->context, 1);
    const tile_expr *last = tile_expr_op(x->context, TILE_OP_sub, positions, one, NULL);
    const int64_t dilation = x->c.dilations[i], pad = x->c.pads[i][0];
    bool reversed = x->c.reversed[i];
    return (window_numbers){
        .stride = expand_index_of(x, x->c.strides[i], NULL, 0),
        .pad = expand_index_of(x, pad, reversed ? last : NULL, dilation),
        .dilation = expand_index_of(x, reversed ? -dilation : dilation, NULL, 0),
        .between = x->c.input_dilations[i],
        .places = x->result->dims[x->c.result.spatial[i]],
        .positions = positions,
    };
}

/* Position t of window q is element q - t * distance of lhs. If the filter is not reversed, the
 * windows begin with the last t, so that the filter's phases have a stride above 0. */
static window_numbers number_windows_of_phases(expansion *x, unsigned i) {
    const phases *p = &x->phases[i];
    bool reversed = x->c.reversed[i];
    return (window_numbers){
        .stride = expand_index_of(x, 1, NULL, 0),
        .pad = expand_index_of(x, (reversed ? 0 : (p->taps - 1) * p->distance) - p->begin, NULL, 0),
        .dilation = expand_index_of(x, reversed ? -p->distance : p->distance, NULL, 0),
        .between = 1,
        .places = p->places,
        .positions = tile_expr_int(x->context, p->taps),
    };
}

window_numbers expand_number_windows(expansion *x, unsigned i) {
    return has_phases(x, i) ? number_windows_of_phases(x, i) : number_windows(x, i);
}

bool expand_is_pointwise(const expansion *x, const window_numbers *numbers,
                         const tile_expr *const *extents) {
    bool same = true;
    for (unsigned i = 0; i < x->c.spatial; i++)
        same &= tile_expr_is(numbers[i].positions, 1) && numbers[i].between == 1 &&
                tile_value_is(x->f, numbers[i].stride, 1) &&
                tile_value_is(x->f, numbers[i].pad, 0) &&
                tile_extents_equal(x->context, numbers[i].places, extents[i]);
    return same;
}

static int64_t divide_down(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Position r of the filter meets phase r * dilation % count. */
static bool split_positions(const expansion *x, unsigned i, phases *p) {
    const int64_t count = x->c.input_dilations[i], dilation = x->c.dilations[i],
                  common = (int64_t)tile_gcd((uint64_t)count, (uint64_t)dilation);
    p->count = count;
    p->step = count / common;
    p->taps = (p->positions + p->step - 1) / p->step;
    p->spacing = dilation;
    p->distance = dilation / common;
    const int64_t last = (p->positions < p->step ? p->positions : p->step) - 1;
    /* Else the windows of some phases begin later. */
    return last * dilation < count && (dilation == 1 || x->c.reversed[i]);
}

/* Returns whether rows of the result that begin with phase 0 are worth more positions. Otherwise
 * threads store single elements. */
static bool stores_rows(const expansion *x, unsigned i) {
    enum { MOST = 1024 /* terms */, ALIGNED = 4 /* bytes */ };
    const tile_convolution_order *order = &x->c.result;
    int64_t row = 0, terms = 0, taps;
    if (order->channel > order->spatial[i] || i + 1 < x->c.spatial ||
        !tile_expr_is_int(x->result->dims[order->spatial[i]], &row) ||
        !tile_expr_is_int(x->rhs->dims[x->c.rhs.outer], &terms))
        return false;
    for (unsigned d = 0; d < x->c.spatial; d++) {
        if (!tile_expr_is_int(x->rhs->dims[x->c.rhs.spatial[d]], &taps)) return false;
        terms *= (taps + x->c.input_dilations[d] - 1) / x->c.input_dilations[d];
    }
    return row * tile_scalar_bytes(x->result->scalar) / 2 % ALIGNED == 0 && terms <= MOST;
}

/* Zeros before the filter let place 0 have phase 0: then as few places as possible meet all. */
static void align_phases(const expansion *x, unsigned i, phases *p) {
    if (!p->first || p->spacing != 1) return;
    const int64_t shift = p->count - p->first,
                  taps = (p->positions + shift + p->count - 1) / p->count;
    if (taps != p->taps && !stores_rows(x, i)) return;
    p->shift = shift;
    p->taps = taps;
    p->first = 0;
    p->begin++;
}

void expand_find_phases(expansion *x) {
    unsigned rank = x->result->rank + (x->groups != NULL);
    for (unsigned i = 0; i < x->c.spatial && rank < TILE_MAX_RANK; i++) {
        phases own = {.count = 1}, *p = &x->phases[i];
        const int64_t count = x->c.input_dilations[i];
        if (count == 1 || x->c.strides[i] != 1 ||
            !tile_expr_is_int(x->rhs->dims[x->c.rhs.spatial[i]], &own.positions) ||
            own.positions < 1 || !split_positions(x, i, &own))
            continue;
        const int64_t end = (own.positions - 1) * own.spacing - x->c.pads[i][0];
        const tile_expr *places = x->result->dims[x->c.result.spatial[i]];
        *p = own;
        p->computed = count;
        p->begin = divide_down(end, count);
        p->first = end - p->begin * count;
        align_phases(x, i, p);
        places = tile_expr_op(x->context, TILE_OP_add, places,
                              tile_expr_int(x->context, p->first + count - 1), NULL);
        p->places =
            tile_extent_canonical(x->context, tile_expr_op(x->context, TILE_OP_div, places,
                                                           tile_expr_int(x->context, count), NULL));
        rank++;
    }
}
