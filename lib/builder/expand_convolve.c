/* Convolutions as products of windows.
 *
 *     windows   the elements of lhs at each position of the filter, for each of its places
 *     matrix    windows with two dims: places, and terms, which are channels and positions
 *     filter    rhs with two dims: terms, and k
 *
 * If k is the last dim of the result, the product is matrix * filter, with the places of the whole
 * batch as rows. If k precedes the spatial dims, it is filter * matrix for each n, or, for small
 * images, with the places of the whole batch as columns. So the result is not transposed. Groups
 * are a batch of both. The filter of a depthwise convolution has one channel: it is multiplied
 * element by element, and the positions are added.
 *
 * The terms have the order of rhs, which the product then reads as it is. They are positions and
 * then channels if the channels of lhs are contiguous, or if a step of the product has channels of
 * one position (lib/ops/convolution.h). A kernel then first writes rhs in this order.
 *
 * An input dilation d leaves d - 1 zeros between the elements of lhs. With stride 1 and dilation 1,
 * each place meets elements at every d-th position of the filter only. Let e = R - 1 - pad. Place p
 * is place q of phase b if p + e = d * q + b, 0 <= b < d:
 *
 *     y[d * q + b - e] = sum over t of x[q - t] * f[R - 1 - (d * t + b)]       (f[d * t + b] if
 *                                                                              reversed)
 *
 * With dilation s of the filter, e is (R - 1) * s - pad. Phase b meets the positions r with
 * r * s % d = b, of which each is d / gcd(d, s) from the next one. Phases without positions are
 * zeros. If e is no multiple of d, zeros before the filter make it one, so that place 0 has phase 0
 * and rows of the result begin with all phases (convolve_windows.c).
 *
 * The windows x[q - t] are the same for all phases, and are those of a convolution without zeros.
 * The phases of the filter are a batch of products, and their results interleave:
 *
 *     filter    [b, t, c, k], windows of rhs with stride d; zeros beyond the filter's ends
 *     product   [b, q, k]
 *     result    [q, b, k] as [q * d + b, k], without the places before 0 and after the last one
 *
 * If k precedes the spatial dims, the phases of the last spatial dim are rows of the product beside
 * k, so that a block has contiguous elements of the result:
 *
 *     product   [k * d + b, q]
 *     result    [k, q, b] as [k, q * d + b]
 *
 * If they are a batch instead, the product is stored, and its elements are moved to rows of the
 * result by another kernel. Then it has no phases without positions: these are zeros that are added
 * to it (expand_add_phases).
 *
 * While dims are moved, each has a letter: n, c and k, G for groups, 0 to 2 for places, 3 to 5 for
 * positions, A to C for phases. */
#include "lib/builder/expand_convolve.h"

#include <stdio.h>
#include <string.h>

#include "lib/builder/convolve_dims.h"
#include "lib/builder/convolve_fold.h"
#include "lib/builder/convolve_phases.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"

/* Operands and result ------------------------------------------------------------------------- */

/* lhs with its spatial dims side by side, as windows need them, and its channels last if they are
 * moved there. */
static tile_value take_input(expansion *x, shape *s) {
    static const char *const orders[][TILE_MAX_SPATIAL] = {{"n0c", "n01c", "n012c"},
                                                           {"c0n", "c01n", "c012n"}};
    const unsigned *spatial = x->c.lhs.spatial, last = x->c.spatial - 1;
    tile_value value = tile_operand_lhs(x->f, x->op);
    *s = expand_name_dims(x, x->lhs, &x->c.lhs, 'n', 'c', '0');
    bool fits = spatial[last] - spatial[0] == last && x->form != TILE_CONVOLUTION_MOVED;
    if (x->by_place) fits = s->letters[s->rank - 1] == 'n';
    return fits ? value : expand_transpose_together(x, value, s, orders[x->by_place][last], '0');
}

static tile_value make_windows(expansion *x, shape *s) {
    tile_value strides[TILE_MAX_SPATIAL], pads[TILE_MAX_SPATIAL], dilations[TILE_MAX_SPATIAL];
    window_numbers numbers[TILE_MAX_SPATIAL];
    int64_t between[TILE_MAX_SPATIAL];
    const unsigned count = x->c.spatial;
    tile_value src = take_input(x, s);
    const unsigned axis = (unsigned)(strchr(s->letters, '0') - s->letters);
    bool spreads = false;
    shape to = {0};
    for (unsigned i = 0; i < count; i++) {
        numbers[i] = expand_number_windows(x, i);
        strides[i] = numbers[i].stride;
        pads[i] = numbers[i].pad;
        dilations[i] = numbers[i].dilation;
        between[i] = numbers[i].between;
        spreads |= between[i] != 1;
    }
    if (expand_is_pointwise(x, numbers, &s->dims[axis])) return src;
    for (unsigned d = 0; d < s->rank; d++) {
        unsigned i = d - axis; /* beyond count if it has no windows */
        add(&to, s->letters[d], i < count ? numbers[i].places : s->dims[d]);
        for (unsigned r = 0; i + 1 == count && r < count; r++)
            add(&to, (char)('3' + (char)r), numbers[r].positions);
    }
    *s = to;
    tile_value windows = tile_build_window(&x->b, src, strides, count, pads, count, dilations,
                                           count, expand_type_of(x, x->lhs, s));
    tile_op op = tile_value_def(x->f, windows);
    tile_op_set_expr(x->f, op, TILE_ATTR_axis, tile_expr_int(x->context, axis));
    if (spreads) tile_op_set_list(x->f, op, TILE_ATTR_input_dilations, between, count);
    return windows;
}

static shape name_sums(const expansion *x, const char *letters) {
    const tile_convolution_order *order = &x->c.result;
    shape s = {0};
    for (; *letters; letters++) {
        unsigned i = (unsigned)(*letters - '0'), phase = (unsigned)(*letters - 'A');
        if (has_phases(x, phase))
            add(&s, *letters, tile_expr_int(x->context, x->phases[phase].computed));
        if (*letters == 'n') add(&s, 'n', x->result->dims[order->outer]);
        if (*letters == 'G' && x->groups) add(&s, 'G', x->groups);
        if (*letters == 'k') add(&s, 'k', expand_in_a_group(x, x->result->dims[order->channel]));
        if (i < x->c.spatial)
            add(&s, *letters,
                has_phases(x, i) ? x->phases[i].places : x->result->dims[order->spatial[i]]);
    }
    return s;
}

/* Removes the places before the first and after the last one of the result. A slice of all places
 * keeps the interleaved phases of a row together: operations on it follow the product, whatever
 * dims they merge (passes/schedule/products/sink_reshapes.c). */
static tile_value cut_places(expansion *x, tile_value value) {
    const tile_type *i32 = tile_type_scalar(x->context, TILE_i32);
    tile_value first[TILE_MAX_RANK];
    const tile_type *type = tile_value_type(x->f, value);
    if (type == x->result && !(has_any_phases(x) && expand_is_channels_first(x))) return value;
    for (unsigned d = 0; d < type->rank; d++)
        first[d] = tile_build_constant(&x->b, i32, tile_expr_int(x->context, 0));
    for (unsigned i = 0; i < x->c.spatial; i++)
        if (has_phases(x, i))
            first[x->c.result.spatial[i]] =
                tile_build_constant(&x->b, i32, tile_expr_int(x->context, x->phases[i].first));
    return tile_build_slice(&x->b, value, first, type->rank, TILE_NO_VALUE, x->result);
}

/* Moves the dims of s into the order of the result. */
static tile_value finish(expansion *x, tile_value sums, shape *s) {
    shape own = expand_name_dims(x, x->result, &x->c.result, 'n', 'k', '0');
    char order[MAX_LETTERS], *end = order;
    for (unsigned d = 0; d < own.rank; d++) {
        char letter = own.letters[d], phase = (char)(letter - '0' + 'A');
        if (letter == 'k' && expand_extent_of(s, 'G')) *end++ = 'G';
        if (expand_extent_of(s, letter)) *end++ = letter;
        if (has_phases(x, (unsigned)(letter - '0'))) {
            *end++ = phase;
            own.dims[d] = tile_expr_op(x->context, TILE_OP_mul, expand_extent_of(s, letter),
                                       expand_extent_of(s, phase), NULL);
        }
    }
    *end = 0;
    sums = expand_transpose(x, sums, s, order);
    return cut_places(x, expand_reshape(x, sums, expand_type_of(x, x->result, &own)));
}

/* Products ------------------------------------------------------------------------------------ */

/* An operand of a product: its dims before these attributes exchange the last two. */
typedef struct factor {
    tile_value value;
    tile_attr_id turned; /* NONE: they are not exchanged */
} factor;

static tile_value multiply(expansion *x, factor lhs, factor rhs, const shape *product) {
    tile_value value =
        tile_build_matmul(&x->b, lhs.value, rhs.value, expand_type_of(x, x->result, product));
    tile_op op = tile_value_def(x->f, value);
    const tile_attr *precision = tile_op_attr(x->f, x->op, TILE_ATTR_precision);
    if (lhs.turned != TILE_ATTR_NONE) tile_op_set_flag(x->f, op, lhs.turned);
    if (rhs.turned != TILE_ATTR_NONE) tile_op_set_flag(x->f, op, rhs.turned);
    if (precision && precision->expr)
        tile_op_set_expr(x->f, op, TILE_ATTR_precision, precision->expr);
    else if (precision)
        tile_op_set_text(x->f, op, TILE_ATTR_precision, precision->text);
    return value;
}

/* The order of the terms: that of rhs, or positions and then channels, so that a step along the
 * terms stays at one position and its channels are contiguous. */
static void order_terms(const expansion *x, const shape *s, char terms[TILE_MAX_RANK]) {
    bool channels_last = x->form != TILE_CONVOLUTION_IN_PLACE;
    char *end = terms;
    for (unsigned d = 0; d < s->rank; d++)
        if (s->letters[d] != 'k' && !(channels_last && s->letters[d] == 'c'))
            *end++ = s->letters[d];
    if (channels_last) *end++ = 'c';
    *end = 0;
}

/* rhs with two dims: [A, B, C, G, terms, k], or with k before the terms if it is there already. The
 * phases of a filter whose dims have another order are read from a filter with this order. */
static tile_value take_filter(expansion *x, const row_phases *letters, char terms[TILE_MAX_RANK],
                              bool *k_first, shape *s) {
    char words[MAX_LETTERS], order[MAX_LETTERS];
    tile_value filter = tile_operand_rhs(x->f, x->op);
    *s = expand_name_dims(x, x->rhs, &x->c.rhs, 'c', 'k', '3');
    order_terms(x, s, terms);
    *k_first = s->letters[s->rank - 1] != 'k' && x->form != TILE_CONVOLUTION_POSITIONS_FIRST;
    strcpy(order, *k_first ? "k" : "");
    strcat(order, terms);
    if (!*k_first) strcat(order, "k");
    bool same_last = s->letters[s->rank - 1] == order[s->rank - 1];
    if ((x->form != TILE_CONVOLUTION_IN_PLACE || x->stores_windows) && *letters->rows) {
        /* The copy has the phases that are rows, with zeros, so that its rows are the product's. */
        *k_first = true;
        filter = expand_split_phases(x, expand_skip_cast(x, filter), letters->rows, s);
        snprintf(order, sizeof order, "k%s%s", letters->rows, terms);
        filter = expand_transpose(x, filter, s, order);
        if (tile_value_type(x->f, filter)->scalar != x->rhs->scalar)
            filter = tile_build_cast(&x->b, filter, expand_type_of(x, x->rhs, s));
    } else if (x->form != TILE_CONVOLUTION_IN_PLACE) {
        filter = same_last ? expand_transpose(x, filter, s, order)
                           : expand_transpose_together(x, filter, s, order, '3');
    } else {
        filter = expand_split_phases(x, filter, letters->rows, s);
    }
    filter = expand_split_phases(x, filter, letters->columns, s);
    if (*k_first)
        snprintf(words, sizeof words, "%sG k%s %s", letters->outer, letters->rows, terms);
    else
        snprintf(words, sizeof words, "%sG %s %sk%s", letters->outer, terms, letters->columns,
                 letters->rows);
    filter = expand_split_phases(x, filter, letters->outer, s);
    return expand_arrange(x, expand_split(x, filter, s, 'k'), s, words);
}

/* Adds a dim of extent 1 after the phases, for the batch of windows. */
static tile_value add_unit(expansion *x, tile_value filter, const shape *s) {
    shape to = {0};
    bool added = false;
    for (unsigned d = 0; d < s->rank; d++) {
        bool is_phase = s->letters[d] >= 'A' && s->letters[d] <= 'C';
        if (!is_phase && !added) add(&to, 'n', tile_expr_int(x->context, 1));
        added |= !is_phase;
        add(&to, s->letters[d], s->dims[d]);
    }
    return expand_reshape(x, filter, expand_type_of(x, x->rhs, &to));
}

/* Returns whether the places of all images are the columns of one product. The last tile of an
 * image is partly empty: of 7 x 7 places, a tile of 64 columns has 49. */
static bool unites_images(const expansion *x) {
    enum { FEW = 1024, TILE = 128 /* columns */ };
    int64_t places = 1, extent;
    for (unsigned i = 0; i < x->c.spatial; i++) {
        const tile_expr *own =
            has_phases(x, i) ? x->phases[i].places : x->result->dims[x->c.result.spatial[i]];
        if (!tile_expr_is_int(own, &extent) || extent > FEW) return false;
        places *= extent;
    }
    return x->form != TILE_CONVOLUTION_IN_PLACE && x->form != TILE_CONVOLUTION_SHIFTED &&
           places <= FEW && places % TILE != 0;
}

/* Returns whether the windows of few channels are smaller than the result, of which they have all
 * phases: then a first kernel writes them, and the product reads rows instead of single elements.
 */
static bool has_few_terms(const expansion *x) {
    enum { MOST = 64 /* terms */, UNIT = 8 /* of 16 bytes */ };
    int64_t terms = 0, filters = 0;
    if (x->form != TILE_CONVOLUTION_IN_PLACE || !expand_is_channels_first(x) || x->groups ||
        x->c.lhs.channel + 1u == x->lhs->rank || tile_convolution_is_by_fma(x->f, x->op, x->lhs) ||
        !tile_expr_is_int(x->rhs->dims[x->c.rhs.outer], &terms) ||
        !tile_expr_is_int(x->result->dims[x->c.result.channel], &filters))
        return false;
    for (unsigned i = 0; i < x->c.spatial; i++) {
        const phases *p = &x->phases[i];
        if (!has_phases(x, i) || (p->count & (p->count - 1))) return false;
        terms *= p->taps;
        filters *= p->count;
    }
    return terms <= MOST && terms % UNIT == 0 && 2 * terms <= filters;
}

static tile_value build_product(expansion *x) {
    char terms[TILE_MAX_RANK], words[MAX_LETTERS];
    bool k_first, channels_first = expand_is_channels_first(x);
    shape w, f;
    expand_find_phases(x);
    x->form = tile_convolution_choose_form(x->f, x->op, &x->c);
    x->stores_windows = has_few_terms(x);
    const row_phases letters = expand_place_phases(x);
    expand_leave_out_phases(x, &letters);
    tile_value windows = make_windows(x, &w);
    tile_value filter = take_filter(x, &letters, terms, &k_first, &f);
    const bool unites = !channels_first || unites_images(x);
    if (!unites && has_any_phases(x)) filter = add_unit(x, filter, &f);
    windows = expand_split(x, windows, &w, x->c.groups ? 'c' : 'n');
    /* As rhs, windows with contiguous channels are [places, terms] as well. */
    bool terms_last = !channels_first || x->form == TILE_CONVOLUTION_CHANNELS_LAST ||
                      x->form == TILE_CONVOLUTION_MOVED;
    const char *batch = unites ? "G" : "n G", *places = unites ? "n012" : "012";
    snprintf(words, sizeof words, "%s %s %s", batch, terms_last ? places : terms,
             terms_last ? terms : places);
    windows = expand_arrange(x, windows, &w, words);
    const char *order = !channels_first ? "%sG n012 %sk%s"
                        : unites        ? "%sG %sk%s n012"
                                        : "%sn G %sk%s 012";
    snprintf(words, sizeof words, order, letters.outer, letters.columns, letters.rows);
    shape sums = name_sums(x, words);
    shape product = expand_combined(x, &sums, words);
    const factor lhs = {filter, k_first ? TILE_ATTR_NONE : TILE_ATTR_trans_lhs},
                 rhs = {filter, k_first ? TILE_ATTR_trans_rhs : TILE_ATTR_NONE},
                 rows = {windows, TILE_ATTR_NONE},
                 columns = {windows, terms_last ? TILE_ATTR_trans_rhs : TILE_ATTR_NONE};
    tile_value value =
        channels_first ? multiply(x, lhs, columns, &product) : multiply(x, rows, rhs, &product);
    value = expand_reshape(x, value, expand_type_of(x, x->result, &sums));
    return finish(x, expand_add_phases(x, value, &sums), &sums);
}

/* The gradient of a filter --------------------------------------------------------------------- */

/* In the gradient of a filter the images are channels, and the channels of lhs, which are last, are
 * images. Its places are few, and its windows as large as an image. */
static bool is_filter_gradient(const expansion *x) {
    enum { MOST_PLACES = 64, LEAST = 8 };
    const tile_convolution *c = &x->c;
    const tile_expr *images = x->lhs->dims[c->lhs.outer], *filters = x->rhs->dims[c->rhs.channel];
    int64_t places = 1, positions = 1, known;
    for (unsigned i = 0; i < c->spatial; i++) {
        int64_t own;
        if (c->input_dilations[i] != 1 ||
            !tile_expr_is_int(x->result->dims[c->result.spatial[i]], &own) || own > MOST_PLACES)
            return false;
        places *= own;
        bool is_known = tile_expr_is_int(x->rhs->dims[c->rhs.spatial[i]], &known);
        positions = is_known && positions < MOST_PLACES ? positions * known : MOST_PLACES;
    }
    bool few = (tile_expr_is_int(images, &known) && known < LEAST) ||
               (tile_expr_is_int(filters, &known) && known < LEAST);
    bool wide = tile_scalar_bytes(x->lhs->scalar) >= 2 && !x->lhs->param;
    bool in_place = c->lhs.outer + 1u == x->lhs->rank && c->rhs.channel + 1u == x->rhs->rank;
    bool moved =
        !c->lhs.channel && !c->rhs.outer && !tile_convolution_is_by_fma(x->f, x->op, x->lhs);
    return !few && wide && !x->groups && (in_place || moved) && places <= MOST_PLACES &&
           positions >= places;
}

/* Whether the only place has the whole image, as in the gradient of a filter of 1 x 1. */
static bool is_whole_image(expansion *x, const window_numbers *numbers) {
    bool whole = true;
    for (unsigned i = 0; i < x->c.spatial; i++)
        whole &=
            tile_expr_is(numbers[i].places, 1) && tile_value_is(x->f, numbers[i].pad, 0) &&
            tile_value_is(x->f, numbers[i].dilation, 1) &&
            tile_extents_equal(x->context, numbers[i].positions, x->lhs->dims[x->c.lhs.spatial[i]]);
    return whole;
}

/* Whether the images follow the channels, in rows of a multiple of 16 bytes: along these, products
 * without windows read them as they are. */
static bool has_long_images(const expansion *x) {
    int64_t bytes = tile_scalar_bytes(x->rhs->scalar), extent;
    for (unsigned i = 0; i < x->c.spatial; i++)
        bytes *= tile_expr_is_int(x->rhs->dims[x->c.rhs.spatial[i]], &extent) ? extent : 1;
    return x->c.lhs.outer == 1 && x->c.rhs.channel == 1 && bytes % 16 == 0;
}

/* Each place is a product of the whole images:
 *     y[place, k, n] = sum over c, positions of rhs[c, positions, k] * windows[place, c, positions,
 * n]
 *
 * The elements of both operands are contiguous along k and n, so their rows are copied as they are.
 */
static tile_value build_places(expansion *x) {
    static const char *const gradients[TILE_MAX_SPATIAL] = {"c3k", "c34k", "c345k"};
    char words[MAX_LETTERS], terms[TILE_MAX_RANK];
    shape w, f = expand_name_dims(x, x->rhs, &x->c.rhs, 'c', 'k', '3');
    window_numbers numbers[TILE_MAX_SPATIAL];
    for (unsigned i = 0; i < x->c.spatial; i++) numbers[i] = expand_number_windows(x, i);
    const bool whole = is_whole_image(x, numbers), direct = whole && has_long_images(x);
    x->form = TILE_CONVOLUTION_IN_PLACE;
    x->by_place = !direct;
    tile_value filter = tile_operand_rhs(x->f, x->op);
    if (f.letters[f.rank - 1] != 'k' && !direct)
        filter = expand_transpose_together(x, filter, &f, gradients[x->c.spatial - 1], '3');
    order_terms(x, &f, terms);
    tile_value windows = whole ? take_input(x, &w) : make_windows(x, &w);
    for (char *place = strchr(w.letters, '0'); whole && place; place = strpbrk(w.letters, "012"))
        *place = (char)(*place + '3' - '0');
    snprintf(words, sizeof words, direct ? "k %s" : "%s k", terms);
    filter = expand_arrange(x, filter, &f, words);
    snprintf(words, sizeof words, direct ? "n %s" : "012 %s n", terms);
    windows = expand_arrange(x, windows, &w, words);
    bool rows_of_filter = x->c.result.outer > x->c.result.channel;
    shape sums = name_sums(x, rows_of_filter ? "012kn" : "012nk");
    const char *all = rows_of_filter ? "012 k n" : "012 n k", *two = rows_of_filter ? "k n" : "n k";
    shape product = expand_combined(x, &sums, whole ? two : all);
    const factor rows = {rows_of_filter ? filter : windows,
                         direct ? TILE_ATTR_NONE : TILE_ATTR_trans_lhs},
                 columns = {rows_of_filter ? windows : filter,
                            direct ? TILE_ATTR_trans_rhs : TILE_ATTR_NONE};
    tile_value value = multiply(x, rows, columns, &product);
    value = expand_reshape(x, value, expand_type_of(x, x->result, &sums));
    return finish(x, value, &sums);
}

/* Depthwise convolutions ---------------------------------------------------------------------- */

/* Each group of channels has one. */
static bool is_depthwise(const expansion *x) {
    return x->c.groups && tile_extents_equal(x->context, x->lhs->dims[x->c.lhs.channel], x->groups);
}

/* A product of elements: in the result's type, with the dims of `all`. */
static tile_value stretch(expansion *x, tile_value value, const shape *s, const shape *all) {
    shape own = {0};
    for (unsigned d = 0; d < all->rank; d++) {
        const tile_expr *extent = expand_extent_of(s, all->letters[d]);
        add(&own, all->letters[d], extent ? extent : tile_expr_int(x->context, 1));
    }
    value = expand_reshape(x, value, expand_type_of(x, tile_value_type(x->f, value), &own));
    if (tile_value_type(x->f, value)->scalar != x->result->scalar)
        value = tile_build_cast(&x->b, value, expand_type_of(x, x->result, &own));
    const tile_type *type = expand_type_of(x, x->result, all);
    return tile_value_type(x->f, value) == type ? value : tile_build_broadcast(&x->b, value, type);
}

static tile_value build_depthwise(expansion *x) {
    const char *words = expand_is_channels_first(x) ? "n G k 345 0 1 2" : "n 0 1 2 345 G k";
    shape w, f = expand_name_dims(x, x->rhs, &x->c.rhs, 'c', 'k', '3');
    tile_value windows = make_windows(x, &w);
    *strchr(w.letters, 'c') = 'G';
    windows = expand_arrange(x, windows, &w, words);
    tile_value filter = expand_arrange(x, expand_split(x, tile_operand_rhs(x->f, x->op), &f, 'k'),
                                       &f, expand_is_channels_first(x) ? "G k 345 c" : "345 c G k");
    shape all = {0}, sums;
    for (; *words; words++) {
        const tile_expr *extent = expand_extent_of(&w, *words),
                        *of_filter = expand_extent_of(&f, *words);
        bool single = *words == 'k' && tile_expr_is(of_filter, 1);
        if ((extent || of_filter) && !single) add(&all, *words, extent ? extent : of_filter);
    }
    unsigned axis = (unsigned)(strchr(all.letters, '3') - all.letters);
    tile_value products =
        tile_build_mul(&x->b, stretch(x, windows, &w, &all), stretch(x, filter, &f, &all));
    sums = all;
    sums.dims[axis] = tile_expr_int(x->context, 1);
    tile_value value =
        tile_build_reduce(&x->b, products, TILE_NO_VALUE, expand_type_of(x, x->result, &sums));
    tile_op op = tile_value_def(x->f, value);
    tile_op_set_text(x->f, op, TILE_ATTR_kind, "add");
    tile_op_set_expr(x->f, op, TILE_ATTR_axis, tile_expr_int(x->context, axis));
    for (unsigned d = axis; d < sums.rank; d++) {
        sums.letters[d] = sums.letters[d + 1];
        sums.dims[d] = sums.dims[d + 1];
    }
    sums.rank--;
    value = expand_reshape(x, value, expand_type_of(x, x->result, &sums));
    return finish(x, value, &sums);
}

/* ---------------------------------------------------------------------------------------------- */

static tile_value expand(tile_function *f, tile_op op) {
    expansion x = expand_begin(f, op);
    if (is_depthwise(&x)) return build_depthwise(&x);
    return is_filter_gradient(&x) ? build_places(&x) : build_product(&x);
}

bool tile_expand_convolutions(tile_function *f, bool folds) {
    tile_arena scratch = {0};
    unsigned count;
    if (folds && !expand_fold_convolutions(f)) return false;
    tile_op *ops = tile_find_ops(f, TILE_OP_convolve, &scratch, &count);
    bool ok = true;
    for (unsigned i = 0; i < count && ok; i++) {
        const tile_value value = expand(f, ops[i]);
        ok = value.id != 0;
        if (ok) expand_replace(f, ops[i], value, &scratch);
    }
    tile_arena_reset(&scratch);
    return ok;
}
