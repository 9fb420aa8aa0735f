/* The phases of a transposed convolution: of its filter, and where they are in the product
 * (expand_convolve.c). */
#include "lib/builder/convolve_phases.h"

#include <string.h>

#include "lib/builder/convolve_dims.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"

bool expand_is_channels_first(const expansion *x) {
    return x->c.result.channel < x->c.result.spatial[x->c.spatial - 1];
}

static const tile_type *type_like(const expansion *x, tile_value value, const shape *s) {
    return expand_type_of(x, tile_value_type(x->f, value), s);
}

/* The first `count` elements along an axis. */
static tile_value take_first(expansion *x, tile_value filter, shape *s, unsigned axis,
                             int64_t count) {
    const tile_value none = expand_index_of(x, 0, NULL, 0);
    tile_value first[TILE_MAX_RANK];
    if (tile_expr_is(s->dims[axis], count)) return filter;
    s->dims[axis] = tile_expr_int(x->context, count);
    for (unsigned d = 0; d < s->rank; d++) first[d] = none;
    return tile_build_slice(&x->b, filter, first, s->rank, TILE_NO_VALUE, type_like(x, filter, s));
}

/* The positions of a dilated filter that each phase meets. Phase b meets b / spacing and those that
 * are a multiple of `step` from it, if `spacing` divides b. The others get positions that are
 * outside of the filter:
 *
 *     windows   t * step + first + between * all positions
 *     phases    b = first * spacing + between */
static tile_value take_dilated_phases(expansion *x, tile_value filter, const shape *s,
                                      unsigned axis, const phases *p) {
    const int64_t firsts = (p->count + p->spacing - 1) / p->spacing; /* step, or more with one t */
    tile_value stride = expand_index_of(x, 1, NULL, 0), pad = expand_index_of(x, 0, NULL, 0),
               dilation = expand_index_of(x, p->positions, NULL, 0);
    shape own = *s;
    own.dims[axis] = tile_expr_int(x->context, p->taps * firsts);
    own.dims[axis + 1] = tile_expr_int(x->context, p->spacing);
    filter = tile_build_window(&x->b, filter, &stride, 1, &pad, 1, &dilation, 1,
                               type_like(x, filter, &own));
    tile_op_set_expr(x->f, tile_value_def(x->f, filter), TILE_ATTR_axis,
                     tile_expr_int(x->context, axis));
    own.dims[axis] = tile_expr_int(x->context, p->taps);
    own.dims[axis + 1] = tile_expr_int(x->context, firsts * p->spacing);
    filter = expand_reshape(x, filter, type_like(x, filter, &own));
    return take_first(x, filter, &own, axis + 1, p->count);
}

/* Makes two dims of each spatial dim that has these phases: the positions of a phase, and the
 * phases. */
tile_value expand_split_phases(expansion *x, tile_value filter, const char *letters, shape *s) {
    for (unsigned i = 0; i < x->c.spatial; i++) {
        if (!strchr(letters, 'A' + (int)i)) continue;
        phases own = x->phases[i];
        const phases *p = &own;
        const unsigned axis = (unsigned)(strchr(s->letters, '3' + (int)i) - s->letters);
        const int64_t end = (p->taps - 1) * p->step; /* the last t's first position */
        bool reversed = x->c.reversed[i];
        if (p->computed < p->count) { /* in the order of the phases that meet one */
            own.count = own.computed;
            own.spacing = 1;
            own.shift = 0;
        }
        shape to = {0};
        if (!has_phases(x, i)) continue;
        for (unsigned d = 0; d < s->rank; d++) {
            add(&to, s->letters[d], d == axis ? tile_expr_int(x->context, p->taps) : s->dims[d]);
            if (d == axis) add(&to, (char)('A' + (char)i), tile_expr_int(x->context, p->count));
        }
        *s = to;
        /* Without zeros. */
        bool in_order =
            reversed && p->positions == p->taps * p->count && p->spacing == 1 && !p->shift;
        if (in_order && (x->form == TILE_CONVOLUTION_IN_PLACE || p->taps == 1)) {
            filter = expand_reshape(x, filter, type_like(x, filter, s));
            continue;
        }
        if (p->spacing > 1) {
            filter = take_dilated_phases(x, filter, s, axis, p);
            continue;
        }
        tile_value stride = expand_index_of(x, p->step, NULL, 0);
        tile_value pad =
            expand_index_of(x, reversed ? p->shift : end - (p->positions - 1) - p->shift, NULL, 0);
        tile_value dilation = expand_index_of(x, reversed ? 1 : -1, NULL, 0);
        filter = tile_build_window(&x->b, filter, &stride, 1, &pad, 1, &dilation, 1,
                                   type_like(x, filter, s));
        tile_op_set_expr(x->f, tile_value_def(x->f, filter), TILE_ATTR_axis,
                         tile_expr_int(x->context, axis));
    }
    return filter;
}

/* If the positions of no phases overlap, the phases of a result with contiguous channels are
 * columns of the product: the windows are read for all of them.
 *
 * In a result with contiguous places, the phases of the last spatial dim alternate. If they are
 * rows of the product, a block has all elements of its part of a row, and stores it whole (passes/
 * schedule/products/interleave.c). The positions of the others are those of a block, so that it
 * leaves out the ones that are zeros; without such zeros, all phases are rows. */
row_phases expand_place_phases(const expansion *x) {
    row_phases out = {.outer = ""};
    unsigned last = x->c.spatial - 1;
    const int64_t alternating = has_phases(x, last) ? x->phases[last].count : 0;
    bool whole = true, rows = expand_is_channels_first(x) && alternating > 1;
    bool reversed = true;
    bool single = true; /* a phase has one position: the filter is read in its own order */
    for (unsigned i = 0; i <= last; i++) {
        whole &= !has_phases(x, i) || (x->phases[i].positions % x->phases[i].count == 0 &&
                                       x->phases[i].spacing == 1 && !x->phases[i].shift);
        single &= !has_phases(x, i) || x->phases[i].taps == 1;
        reversed &= !has_phases(x, i) || x->c.reversed[i];
    }
    const bool columns = whole && single && reversed && !expand_is_channels_first(x) &&
                         !x->groups && x->c.rhs.channel + 1u == x->rhs->rank;
    rows &= (alternating & (alternating - 1)) == 0; /* tiles have 2^n rows */
    rows &= (whole && single) || x->form == TILE_CONVOLUTION_MOVED || x->stores_windows;
    for (unsigned i = 0; i <= last; i++) {
        bool is_row = rows && (whole || x->stores_windows || i == last);
        const char letter[] = {(char)('A' + (char)i), ' ', 0}, own[] = {letter[0], 0};
        if (!has_phases(x, i)) continue;
        if (columns)
            strcat(out.columns, own);
        else if (is_row)
            strcat(out.rows, own);
        else
            strcat(out.outer, letter);
    }
    return out;
}

/* Phases without positions -------------------------------------------------------------------- */

/* Returns whether the phases of the last spatial dim alternate along rows of the result, and are a
 * batch of the product: it is stored before its elements are moved (passes/schedule/cut/phases.c).
 */
static bool alternate(const expansion *x, const row_phases *placed) {
    enum { FEW = 2 };
    const unsigned last = x->c.spatial - 1;
    return expand_is_channels_first(x) && has_phases(x, last) && x->phases[last].count > FEW &&
           strchr(placed->outer, 'A' + (int)last) && !*placed->rows && !*placed->columns;
}

void expand_leave_out_phases(expansion *x, const row_phases *placed) {
    enum { LEAST = 1 << 20 /* bytes, as in passes/schedule/cut/phases.c */ };
    double bytes = tile_scalar_bytes(x->result->scalar);
    int64_t extent;
    for (unsigned d = 0; d < x->result->rank; d++)
        bytes *= tile_expr_is_int(x->result->dims[d], &extent) ? (double)extent : 0;
    if (bytes < LEAST || !alternate(x, placed)) return;
    for (unsigned i = 0; i < x->c.spatial; i++) {
        phases *p = &x->phases[i];
        if (has_phases(x, i) && p->taps == 1 && p->positions < p->count) p->computed = p->positions;
    }
}

tile_value expand_add_phases(expansion *x, tile_value sums, shape *s) {
    tile_value strides[TILE_MAX_SPATIAL], pads[TILE_MAX_SPATIAL];
    int64_t between[TILE_MAX_SPATIAL];
    const tile_expr *one = tile_expr_int(x->context, 1), *rest = one;
    shape from = {0}, to = {0};
    unsigned count = 0;
    bool adds = false;
    for (; count < s->rank && strchr("ABC", s->letters[count]); count++) {
        const phases *p = &x->phases[s->letters[count] - 'A'];
        adds |= p->computed < p->count;
        strides[count] = expand_index_of(x, 1, NULL, 0);
        pads[count] = expand_index_of(x, p->computed < p->count ? p->shift : 0, NULL, 0);
        between[count] = p->computed < p->count ? p->spacing : 1;
        add(&from, s->letters[count], s->dims[count]);
        add(&to, s->letters[count], tile_expr_int(x->context, p->count));
    }
    if (!adds) return sums;
    for (unsigned d = count; d < s->rank; d++)
        rest = tile_expr_op(x->context, TILE_OP_mul, rest, s->dims[d], NULL);
    rest = tile_extent_canonical(x->context, rest);
    for (unsigned d = 0; d < count; d++) {
        s->dims[d] = to.dims[d];
        add(&to, (char)('3' + (char)d), one); /* one position of each window */
    }
    add(&from, 'n', rest);
    add(&to, 'n', rest);
    sums = expand_reshape(x, sums, expand_type_of(x, x->result, &from));
    sums = tile_build_window(&x->b, sums, strides, count, pads, count, strides, count,
                             expand_type_of(x, x->result, &to));
    const tile_op op = tile_value_def(x->f, sums);
    tile_op_set_expr(x->f, op, TILE_ATTR_axis, tile_expr_int(x->context, 0));
    tile_op_set_list(x->f, op, TILE_ATTR_input_dilations, between, count);
    return expand_reshape(x, sums, expand_type_of(x, x->result, s));
}
