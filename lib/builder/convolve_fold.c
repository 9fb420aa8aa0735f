/* Convolutions of few channels.
 *
 * A step of a product multiplies 64 bytes or more of contiguous channels, or 32 bytes if that is
 * all of them. Of 8 channels of f16, a copy by TMA fills in zeros for three quarters of such a
 * step; of 3 channels, it cannot copy any. So a first kernel writes the windows of the last spatial
 * dims, and makes channels of them:
 *
 *     %x : [n, c, h, w], %f : [k, c, r, s]
 *     %1 = windows of w : [n, h, q, s * c], with zeros up to a multiple of 64 bytes
 *     %2 = filter       : [k, r, 1, s * c]
 *     convolve %1, %2 {dims = "nhwc,krsc->nkpq"}
 *
 * The array is s times as large as lhs, but there are only r positions. How many spatial dims are
 * folded, all but those of the last windows, is a matter of bytes: those of the array, which are
 * written and read once, and those of the boxes that a product copies. */
#include "lib/builder/convolve_fold.h"

#include <string.h>

#include "lib/builder/convolve_dims.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"

enum { UNIT = 16 /* bytes: arrays that TMA copies have rows of multiples of it */ };

static bool is_positive(const tile_expr *expr, int64_t *number) {
    return tile_expr_is_int(expr, number) && *number > 0;
}

static bool find_sizes(const expansion *x, expand_fold_sizes *z) {
    z->spatial = x->c.spatial;
    z->channels_last = x->c.lhs.channel + 1u == x->lhs->rank;
    z->bytes = x->lhs->param ? 0 : tile_scalar_bytes(x->lhs->scalar);
    bool known = z->bytes > 0 && is_positive(x->lhs->dims[x->c.lhs.outer], &z->n) &&
                 is_positive(x->lhs->dims[x->c.lhs.channel], &z->c) &&
                 is_positive(x->rhs->dims[x->c.rhs.channel], &z->k);
    for (unsigned i = 0; i < x->c.spatial && known; i++)
        known = is_positive(x->lhs->dims[x->c.lhs.spatial[i]], &z->inputs[i]) &&
                is_positive(x->result->dims[x->c.result.spatial[i]], &z->places[i]) &&
                is_positive(x->rhs->dims[x->c.rhs.spatial[i]], &z->taps[i]) &&
                x->c.input_dilations[i] == 1;
    return known;
}

/* The bytes of contiguous channels that a step of a product multiplies, at least. Steps of 16
 * channels exist for f16 (passes/schedule/products/points.c), and for an odd multiple of 16
 * channels of f32. */
static int64_t step_of(const expand_fold_sizes *z, unsigned folded, int64_t row) {
    enum { SHORT = 32, STEP = 64, STEP_OF_F32 = 128 };
    if (z->bytes == 2 && row == SHORT) return SHORT;
    return z->bytes == 4 && (folded || z->c * z->bytes < STEP) ? STEP_OF_F32 : STEP;
}

/* The bytes of a place's channels if the windows of the last `folded` spatial dims are channels. */
static int64_t row_bytes(const expand_fold_sizes *z, unsigned folded) {
    int64_t row = z->c * z->bytes;
    for (unsigned i = z->spatial - folded; i < z->spatial; i++) row *= z->taps[i];
    return tile_round_up(row, step_of(z, folded, row));
}

/* The bytes that take as long as a copy of such rows for all places and positions. TMA takes 2
 * cycles for a row of 64 bytes that it copies whole, 5 if it fills in zeros for a half of it, 3 for
 * one of 32 bytes, and 12 if rows begin at odd multiples of 16 bytes (H200); a cycle of all
 * multiprocessors is 18 bytes. */
static double cost_of_copies(double rows, int64_t row, int64_t step) {
    enum { SECTOR = 32, CYCLE = 18, SHORT = 3, UNALIGNED = 12 };
    static const double again = 0.5 /* from the L2 */, zero = 1.5;
    const int64_t steps = tile_round_up(row, step);
    if (row % SECTOR != 0) return rows * (double)(steps / step) * UNALIGNED * CYCLE;
    if (steps == SECTOR) return rows * SHORT * CYCLE;
    return rows * (again * (double)row + zero * (double)(steps - row));
}

static const double launch_bytes = 8e6; /* that take as long as another kernel */

/* The bytes that take as long as the convolution, if a kernel writes an array with these rows. */
static double cost_of_fold(const expand_fold_sizes *z, unsigned folded, int64_t row) {
    double array = (double)z->n, rows = (double)z->n;
    for (unsigned i = 0; i < z->spatial; i++) {
        bool folds = i + folded >= z->spatial;
        array *= (double)(folds ? z->places[i] : z->inputs[i]);
        rows *= (double)(folds ? z->places[i] : z->places[i] * z->taps[i]);
    }
    return launch_bytes + 2 * array * (double)row +
           cost_of_copies(rows, row, step_of(z, folded, row));
}

/* The bytes below which such an array pays. Without it, rows of 16 bytes and more are copied as
 * they are if channels are last, or after they were moved; other elements are read one by one, of
 * which each takes about half as long as a vector (7 x 7 windows of 3 channels, tf32, H200: 125
 * us). */
static double bytes_to_pay(const expand_fold_sizes *z) {
    enum { BLOCK = 128 /* filters */, WIDE = 8 /* channels */ };
    static const double gain = 0.75, gain_of_single = 0.4;
    const int64_t row = z->c * z->bytes;
    double rows = (double)z->n;
    for (unsigned i = 0; i < z->spatial; i++) rows *= (double)(z->places[i] * z->taps[i]);
    double blocks = z->k > BLOCK ? (double)z->k / BLOCK : 1;
    if (row % UNIT != 0 || z->c < WIDE) return gain_of_single * UNIT * rows * (double)z->c * blocks;
    return gain * (z->channels_last ? cost_of_copies(rows, row, step_of(z, 0, row))
                                    : cost_of_fold(z, 0, row));
}

bool expand_choose_folded(const expand_fold_sizes *z, unsigned *folded) {
    double least = bytes_to_pay(z);
    bool pays = false;
    for (unsigned i = 0; i <= z->spatial; i++) {
        const int64_t row = row_bytes(z, i);
        bool copies = i || z->c * z->bytes != row, windows = false;
        for (unsigned k = 0; k + i < z->spatial; k++) windows |= z->taps[k] > 1;
        double cost = cost_of_fold(z, i, row);
        if (!copies || !windows || cost >= least) continue;
        least = cost;
        *folded = i;
        pays = true;
    }
    return pays;
}

static bool is_folded(const expansion *x, unsigned *folded) {
    expand_fold_sizes z;
    return !x->groups && !tile_convolution_is_by_fma(x->f, x->op, x->lhs) && find_sizes(x, &z) &&
           expand_choose_folded(&z, folded);
}

/* Arrays -------------------------------------------------------------------------------------- */

/* Windows of the last spatial dims: places, and positions after the last one. */
static tile_value build_windows(expansion *x, tile_value value, shape *s, unsigned folded) {
    tile_value strides[TILE_MAX_SPATIAL], pads[TILE_MAX_SPATIAL], dilations[TILE_MAX_SPATIAL];
    const unsigned first = x->c.spatial - folded;
    shape to = {0};
    if (!folded) return value;
    for (unsigned i = first; i < x->c.spatial; i++) {
        const window_numbers numbers = expand_number_windows(x, i);
        strides[i - first] = numbers.stride;
        pads[i - first] = numbers.pad;
        dilations[i - first] = numbers.dilation;
    }
    const unsigned axis = (unsigned)(strchr(s->letters, '0' + (int)first) - s->letters);
    for (unsigned d = 0; d < s->rank; d++) {
        unsigned i =
            s->letters[d] >= '0' && s->letters[d] <= '2' ? (unsigned)(s->letters[d] - '0') : 0;
        bool folds = d >= axis && d < axis + folded;
        add(&to, s->letters[d], folds ? x->result->dims[x->c.result.spatial[i]] : s->dims[d]);
        for (unsigned k = first; d + 1 == axis + folded && k < x->c.spatial; k++)
            add(&to, (char)('3' + (char)k), x->rhs->dims[x->c.rhs.spatial[k]]);
    }
    *s = to;
    value = tile_build_window(&x->b, value, strides, folded, pads, folded, dilations, folded,
                              expand_type_of(x, tile_value_type(x->f, value), s));
    tile_op_set_expr(x->f, tile_value_def(x->f, value), TILE_ATTR_axis,
                     tile_expr_int(x->context, axis));
    return value;
}

/* Zeros after the channels, which are the last dim. */
static tile_value pad_channels(expansion *x, tile_value value, shape *s, int64_t channels) {
    const unsigned last = s->rank - 1u;
    if (tile_expr_is(s->dims[last], channels)) return value;
    const tile_value one = expand_index_of(x, 1, NULL, 0), none = expand_index_of(x, 0, NULL, 0);
    shape to = *s;
    to.dims[last] = s->dims[last] = tile_expr_int(x->context, channels);
    add(&to, '6', tile_expr_int(x->context, 1));
    const tile_type *element = tile_value_type(x->f, value);
    value = tile_build_window(&x->b, value, &one, 1, &none, 1, &one, 1,
                              expand_type_of(x, element, &to));
    tile_op_set_expr(x->f, tile_value_def(x->f, value), TILE_ATTR_axis,
                     tile_expr_int(x->context, last));
    return expand_reshape(x, value, expand_type_of(x, element, s));
}

/* One word for each dim, and the folded positions beside the channels: "n 0 1 4c". */
static void write_words(const expansion *x, char outer, char first, unsigned folded, char *words) {
    const unsigned spatial = x->c.spatial;
    *words++ = outer;
    for (unsigned i = 0; i < spatial; i++) {
        if (first == '3' && i + folded >= spatial) continue;
        *words++ = ' ';
        *words++ = (char)(first + (char)i);
    }
    *words++ = ' ';
    for (unsigned i = spatial - folded; i < spatial; i++) *words++ = (char)('3' + (char)i);
    *words++ = 'c';
    *words = 0;
}

/* An operand with its dims in this order, and the element of `type`. */
static tile_value build_array(expansion *x, tile_value value, shape *s, const tile_type *type,
                              const char *words, int64_t channels) {
    value = pad_channels(x, expand_arrange(x, value, s, words), s, channels);
    if (tile_value_type(x->f, value)->scalar == type->scalar) return value;
    return tile_build_cast(&x->b, value, expand_type_of(x, type, s));
}

static tile_value build_lhs(expansion *x, unsigned folded, int64_t channels) {
    static const char *const adjacent[TILE_MAX_SPATIAL] = {"nc0", "nc01", "nc012"};
    const unsigned *spatial = x->c.lhs.spatial, last = x->c.spatial - 1;
    char words[MAX_LETTERS];
    tile_value value = expand_skip_cast(x, tile_operand_lhs(x->f, x->op));
    shape s = expand_name_dims(x, x->lhs, &x->c.lhs, 'n', 'c', '0');
    if (spatial[last] - spatial[0] != last) value = expand_transpose(x, value, &s, adjacent[last]);
    value = build_windows(x, value, &s, folded);
    write_words(x, 'n', '0', folded, words);
    return build_array(x, value, &s, x->lhs, words, channels);
}

static tile_value build_rhs(expansion *x, unsigned folded, int64_t channels) {
    char words[MAX_LETTERS];
    tile_value value = expand_skip_cast(x, tile_operand_rhs(x->f, x->op));
    shape s = expand_name_dims(x, x->rhs, &x->c.rhs, 'c', 'k', '3'), whole = {0};
    write_words(x, 'k', '3', folded, words);
    value = build_array(x, value, &s, x->rhs, words, channels);
    for (unsigned d = 0; d < s.rank; d++) {
        for (unsigned i = 0; d + 1u == s.rank && i < folded; i++)
            add(&whole, 'u', tile_expr_int(x->context, 1));
        add(&whole, s.letters[d], s.dims[d]);
    }
    return expand_reshape(x, value, expand_type_of(x, x->rhs, &whole));
}

static void set_list(expansion *x, tile_op op, tile_attr_id id, const int64_t *list,
                     unsigned count) {
    tile_op_set_list(x->f, op, id, list, count);
}

static tile_value fold(expansion *x, unsigned folded) {
    static const char *const lhs[TILE_MAX_SPATIAL] = {"nhc", "nhic", "nhijc"},
                             *const rhs[TILE_MAX_SPATIAL] = {"kuc", "kuvc", "kuvwc"};
    const tile_attr *dims = tile_op_attr(x->f, x->op, TILE_ATTR_dims),
                    *precision = tile_op_attr(x->f, x->op, TILE_ATTR_precision);
    const unsigned spatial = x->c.spatial;
    int64_t strides[TILE_MAX_SPATIAL], dilations[TILE_MAX_SPATIAL], reversed[TILE_MAX_SPATIAL],
        pads[2 * TILE_MAX_SPATIAL];
    char text[MAX_LETTERS * 3];
    expand_fold_sizes z;
    if (!find_sizes(x, &z)) return TILE_NO_VALUE;
    const int64_t channels = row_bytes(&z, folded) / z.bytes;
    tile_value windows = build_lhs(x, folded, channels), filter = build_rhs(x, folded, channels);
    if (!windows.id || !filter.id) return TILE_NO_VALUE;
    for (unsigned i = 0; i < spatial; i++) {
        bool kept = i + folded < spatial;
        strides[i] = kept ? x->c.strides[i] : 1;
        dilations[i] = kept ? x->c.dilations[i] : 1;
        reversed[i] = kept && x->c.reversed[i];
        pads[2 * i] = kept ? x->c.pads[i][0] : 0;
        pads[2 * i + 1] = kept ? x->c.pads[i][1] : 0;
    }
    strcpy(text, lhs[spatial - 1]);
    strcat(text, ",");
    strcat(text, rhs[spatial - 1]);
    strcat(text, strstr(dims->text, "->"));
    tile_value value = tile_build_convolve(&x->b, windows, filter, x->result);
    tile_op op = tile_value_def(x->f, value);
    tile_op_set_text(x->f, op, TILE_ATTR_dims, text);
    set_list(x, op, TILE_ATTR_strides, strides, spatial);
    set_list(x, op, TILE_ATTR_dilations, dilations, spatial);
    set_list(x, op, TILE_ATTR_reversed, reversed, spatial);
    set_list(x, op, TILE_ATTR_pads, pads, 2 * spatial);
    if (precision && precision->expr)
        tile_op_set_expr(x->f, op, TILE_ATTR_precision, precision->expr);
    else if (precision)
        tile_op_set_text(x->f, op, TILE_ATTR_precision, precision->text);
    return value;
}

bool expand_fold_convolutions(tile_function *f) {
    tile_arena scratch = {0};
    unsigned count, folded;
    tile_op *ops = tile_find_ops(f, TILE_OP_convolve, &scratch, &count);
    bool ok = true;
    for (unsigned i = 0; i < count && ok; i++) {
        expansion x = expand_begin(f, ops[i]);
        if (!is_folded(&x, &folded)) continue;
        const tile_value value = fold(&x, folded);
        ok = value.id != 0;
        if (ok) expand_replace(f, ops[i], value, &scratch);
    }
    tile_arena_reset(&scratch);
    return ok;
}
