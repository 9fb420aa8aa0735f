/* Convolutions that are written as products of windows:
 *
 *     %v = window %x, [1, 1], [1, 1] {axis = 2} : [n, c, p, q, r, s]
 *     %t = transpose(%v, order = [0, 1, 4, 5, 2, 3])
 *     %y = matmul(%f : [k, c * r * s], (reshape(%t) : [n, c * r * s, p * q]))
 *
 * They become `convolve`, and lib/builder/expand_convolve.c gives them the form that reads least.
 * The windows may be made of several dims one after the other, zeros may be put between the
 * elements by gathers, and the filter may be reversed by gathers (window_view.c).
 *
 * Each dim of the windows has a letter: n, c, G for groups of c, 0 to 2 for places, 3 to 5 for
 * positions. One of the product's last dims must consist of c and the positions, the other one of
 * the places, possibly with n. All extents are known, so that the pads behind lhs follow from the
 * number of places. */
#include "passes/schedule/products/raise_windows.h"

#include <string.h>

#include "lib/builder/convolve_fold.h"
#include "lib/builder/expand_convolve.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/ops/convolution.h"
#include "lib/ops/gather.h"
#include "passes/schedule/products/sink_reshapes.h"
#include "passes/schedule/products/window_view.h"

enum { MOST_LETTERS = 2 * TILE_MAX_RANK + 1 };

typedef struct raised {
    schedule *s;
    tile_op product;
    unsigned side;            /* of the windows */
    bool k_first, terms_last; /* in the dims of the operands */
    window_view view, filter;
    bool has_filter;               /* the filter is a view */
    unsigned at[TILE_MAX_SPATIAL]; /* by digit: of the view's windows, in the source's order */
    int64_t n, c, k, groups;       /* c and k: of a group */
    bool flips[TILE_MAX_SPATIAL];  /* by digit: the filter's source runs backward */
    /* Letters. By atom: 0 for an extent of 1 that has none. */
    char atoms[VIEW_ATOMS + 1], filter_atoms[VIEW_ATOMS + 1];
    char source[MOST_LETTERS], own_filter[MOST_LETTERS], terms[MOST_LETTERS];
    char product_dims[MOST_LETTERS], result[MOST_LETTERS];
} raised;

static void prepend(char *text, char letter) {
    memmove(text + 1, text, strlen(text) + 1);
    *text = letter;
}

static int64_t extent_at(const schedule *s, tile_value value, unsigned d) {
    return sched_constant(sched_dim((schedule *)(uintptr_t)s, sched_type(s, value), d));
}

static bool is_known(const schedule *s, tile_value value) {
    bool known = true;
    for (unsigned d = 0; d < sched_type(s, value)->rank; d++) known &= extent_at(s, value, d) > 0;
    return known;
}

/* Letters -------------------------------------------------------------------------------------- */

static void append(char *text, char letter) {
    const size_t length = strlen(text);
    if (length + 1 < MOST_LETTERS) {
        text[length] = letter;
        text[length + 1] = 0;
    }
}

/* Inserts the letter of an extent of 1 before the first one of its kind that is greater. */
static void insert(char *text, char letter, char last) {
    char *at = text + strlen(text);
    if (strchr(text, letter)) return;
    for (char *own = text; *own; own++)
        if (*own > letter && *own <= last) {
            at = own;
            break;
        }
    memmove(at + 1, at, strlen(at) + 1);
    *at = letter;
}

static const view_windows *windows_of(const raised *r, char digit) {
    return &r->view.windows[r->at[digit - (digit < '3' ? '0' : '3')]];
}

static unsigned digit_of(const raised *r, unsigned windows) {
    unsigned digit = 0;
    while (r->at[digit] != windows) digit++;
    return digit;
}

static bool ascend(const char *text, char first) {
    char last = 0;
    for (; *text; text++) {
        if (*text < first || *text > first + 2) continue;
        if (*text < last) return false;
        last = *text;
    }
    return true;
}

/* Finds the channels: the only axis of the terms that is no position. */
static bool find_channels(raised *r, const view_dim *terms) {
    r->c = 1;
    for (unsigned i = 0; i < terms->count; i++) {
        const view_axis *axis = &terms->axes[i];
        if (axis->extent == 1 || axis->kind == VIEW_TAP) continue;
        if (axis->kind != VIEW_WHOLE || r->c > 1) return false;
        r->atoms[axis->at] = 'c';
        r->c = axis->extent;
    }
    return true;
}

/* The groups are a batch dim of their own, next to the channels in the source. */
static bool find_groups(raised *r, unsigned rank) {
    if (r->groups == 1) return true;
    if (rank < 3 || r->view.dims[rank - 3].count != 1) return false;
    const view_axis *axis = &r->view.dims[rank - 3].axes[0];
    if (axis->kind != VIEW_WHOLE || axis->extent != r->groups) return false;
    r->atoms[axis->at] = 'G';
    return r->c == 1 || r->atoms[axis->at + 1] == 'c';
}

/* The first dim of the source without windows is the batch; the others have one position. */
static bool find_batch(raised *r, unsigned rank) {
    window_view *v = &r->view;
    view_axis *batch = NULL;
    r->n = 1;
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned d = 0; d < rank; d++)
            for (unsigned i = 0; i < v->dims[d].count && d != rank - 2 + r->terms_last; i++) {
                view_axis *axis = &v->dims[d].axes[i];
                if (axis->extent == 1 || axis->kind == VIEW_PLACE || axis == batch) continue;
                if (axis->kind == VIEW_TAP) return false;
                if (axis->kind == VIEW_WHOLE && r->atoms[axis->at] == 'G') continue;
                if (pass && !product_make_places(v, axis)) return false;
                if (!pass && axis->kind == VIEW_WHOLE && (!batch || axis->at < batch->at))
                    batch = axis;
            }
    if (batch) r->n = batch->extent;
    if (batch) r->atoms[batch->at] = 'n';
    return true;
}

static bool number_windows(raised *r) {
    const unsigned count = r->view.window_count;
    for (unsigned i = 0; i < count; i++) {
        unsigned digit = 0;
        for (unsigned j = 0; j < count; j++)
            digit += r->view.windows[j].atom < r->view.windows[i].atom;
        r->at[digit] = i;
        if (r->atoms[r->view.windows[i].atom]) return false;
        r->atoms[r->view.windows[i].atom] = (char)('0' + digit);
    }
    return count > 0;
}

/* The letters of a dim of the product, in the order of its axes. */
static void read_letters(const raised *r, const view_dim *dim, char *to) {
    for (unsigned i = 0; i < dim->count; i++) {
        const view_axis *axis = &dim->axes[i];
        if (axis->extent == 1) continue;
        append(to, axis->kind == VIEW_PLACE ? (char)('0' + digit_of(r, axis->at))
                   : axis->kind == VIEW_TAP ? (char)('3' + digit_of(r, axis->at))
                                            : r->atoms[axis->at]);
    }
}

/* Groups and channels are one dim. */
static void write_source(raised *r) {
    for (unsigned i = 0; i < r->view.atom_count; i++) {
        bool grouped = r->atoms[i] == 'G';
        if (r->atoms[i] == 'c' && strchr(r->source, 'c')) continue;
        if (r->atoms[i]) append(r->source, grouped ? 'c' : r->atoms[i]);
    }
    if (!strchr(r->source, 'c')) insert(r->source, 'c', 0);
    if (!strchr(r->source, 'n')) prepend(r->source, 'n');
}

/* The places of the convolution's result are side by side. */
static void write_result(raised *r) {
    const char *k = strchr(r->product_dims, 'k');
    const bool digit_before = strpbrk(r->product_dims, "012") < k,
               digit_after = strpbrk(k, "012") != NULL;
    strcpy(r->result, r->product_dims);
    if (!digit_before || !digit_after) return;
    strcpy(r->result, "nk");
    for (unsigned i = 0; i < r->view.window_count; i++) append(r->result, (char)('0' + i));
}

/* Returns whether the product's dims are those of a convolution: k follows its groups. */
static bool write_product(raised *r, unsigned rank) {
    const view_dim *dims = r->view.dims;
    char *to = r->product_dims, *groups;
    for (unsigned d = 0; d + 2 < rank; d++) read_letters(r, &dims[d], to);
    if (r->side) append(to, 'k');
    read_letters(r, &dims[rank - 1 - r->terms_last], to);
    if (!r->side) append(to, 'k');
    for (unsigned i = 0; i < r->view.window_count; i++) insert(to, (char)('0' + i), '2');
    if (!strchr(to, 'n')) prepend(to, 'n');
    if ((groups = strchr(to, 'G')) != NULL) {
        if (groups[1] != 'k') return false;
        memmove(groups, groups + 1, strlen(groups));
    }
    return ascend(to, '0');
}

/* Filters ---------------------------------------------------------------------------------------
 */

/* array: 0 lhs, 1 rhs, 2 the result, 3 rhs with its groups as a dim. */
static int64_t extent_of(const raised *r, unsigned array, char letter) {
    if (letter == 'n') return r->n;
    if (letter == 'c') return array ? r->c : r->c * r->groups;
    if (letter == 'k') return array == 3 ? r->k : r->k * r->groups;
    if (letter == 'G') return r->groups;
    const view_windows *w = windows_of(r, letter);
    return array % 2 ? w->taps : array ? w->places : r->view.atoms[w->atom].extent;
}

/* The letters of the filter's own dims. */
static void write_own_filter(const raised *r, char *to) {
    if (r->groups > 1) append(to, 'G');
    if (r->k_first) append(to, 'k');
    for (const char *own = r->terms; *own; own++) append(to, *own);
    if (!r->k_first) append(to, 'k');
}

/* Finds the array that the filter is read from, if all of its elements are moved. */
static bool find_filter(raised *r, tile_value value) {
    int64_t extents[TILE_MAX_RANK];
    char own[MOST_LETTERS] = "";
    bool reversed;
    write_own_filter(r, own);
    if (strlen(own) > TILE_MAX_RANK ||
        !product_find_view(r->s, r->view.tables, value, false, &r->filter))
        return false;
    for (unsigned d = 0; own[d]; d++) extents[d] = extent_of(r, 3, own[d]);
    if (!product_regroup_view(&r->filter, extents, (unsigned)strlen(own))) return false;
    for (unsigned d = 0; own[d]; d++) {
        const view_dim *dim = &r->filter.dims[d];
        if (!dim->count) continue; /* an extent of 1 */
        if (dim->count > 1 || !product_is_whole_axis(&r->filter, &dim->axes[0], &reversed))
            return false;
        if (reversed && own[d] < '3') return false;
        if (reversed && own[d] > '5') return false;
        if (reversed) r->flips[own[d] - '3'] = true;
        r->filter_atoms[dim->axes[0].at] = own[d];
    }
    for (unsigned i = 0; i < r->filter.atom_count; i++)
        if (!r->filter_atoms[i] && r->filter.atoms[i].extent > 1) return false;
    for (unsigned i = 0; i < r->filter.atom_count; i++)
        if (r->filter_atoms[i]) append(r->own_filter, r->filter_atoms[i]);
    for (const char *letter = own; *letter; letter++)
        if (*letter >= '3' && *letter <= '5')
            insert(r->own_filter, *letter, '5');
        else if (!strchr(r->own_filter, *letter))
            prepend(r->own_filter, *letter);
    return ascend(r->own_filter, '3');
}

static void choose_filter(raised *r, tile_value value) {
    r->has_filter = find_filter(r, value);
    if (r->has_filter) return;
    memset(r->flips, 0, sizeof r->flips);
    *r->own_filter = 0;
    write_own_filter(r, r->own_filter);
}

/* Returns whether the product is a convolution, and fills *r. */
static bool find_side(schedule *s, sched_tables *tables, tile_op product, unsigned side,
                      raised *r) {
    const tile_function *f = s->compute;
    const tile_value operand = tile_op_operand(f, product, side),
                     other = tile_op_operand(f, product, !side);
    const unsigned rank = sched_type(s, operand)->rank, others = sched_type(s, other)->rank;
    const bool turned =
        tile_op_has_attr(f, product, side ? TILE_ATTR_trans_rhs : TILE_ATTR_trans_lhs);
    const bool filter_turned =
        tile_op_has_attr(f, product, side ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs);
    *r = (raised){.s = s, .product = product, .side = side, .groups = 1};
    r->terms_last = (side == 0) != turned;
    r->k_first = (side == 1) != filter_turned;
    if (rank < 2 || rank > 4 || others < 2 || others > 3 || !is_known(s, other) ||
        !is_known(s, operand) || !product_find_view(s, tables, operand, true, &r->view))
        return false;
    if (others == 3) r->groups = extent_at(s, other, 0);
    r->k = extent_at(s, other, others - 2 + !r->k_first);
    const view_dim *terms = &r->view.dims[rank - 2 + r->terms_last];
    if (!find_channels(r, terms) || !find_groups(r, rank) || !find_batch(r, rank) ||
        !number_windows(r))
        return false;
    read_letters(r, terms, r->terms);
    for (unsigned i = 0; i < r->view.window_count; i++) insert(r->terms, (char)('3' + i), '5');
    if (!strchr(r->terms, 'c')) prepend(r->terms, 'c');
    write_source(r);
    if (!write_product(r, rank) || strlen(r->source) > TILE_MAX_RANK) return false;
    write_result(r);
    choose_filter(r, other);
    return true;
}

/* Numbers ---------------------------------------------------------------------------------------
 */

typedef struct numbers {
    int64_t strides[TILE_MAX_SPATIAL], dilations[TILE_MAX_SPATIAL], between[TILE_MAX_SPATIAL],
        reversed[TILE_MAX_SPATIAL], pads[2 * TILE_MAX_SPATIAL];
} numbers;

static void read_numbers(const raised *r, numbers *n) {
    for (unsigned i = 0; i < r->view.window_count; i++) {
        const view_windows *w = windows_of(r, (char)('0' + i));
        const bool backward = w->dilation < 0;
        const int64_t elements = r->view.atoms[w->atom].extent, steps = w->taps - 1;
        n->strides[i] = w->stride;
        n->between[i] = w->between;
        n->reversed[i] = backward != r->flips[i];
        n->dilations[i] = backward ? -w->dilation : w->dilation;
        n->pads[2 * i] = w->first + w->pad - (backward ? steps * w->dilation : 0);
        n->pads[2 * i + 1] = (w->places - 1) * w->stride + steps * n->dilations[i] -
                             (elements - 1) * w->between - n->pads[2 * i];
    }
}

/* Building --------------------------------------------------------------------------------------
 */

static char spatial_letter(unsigned array, char digit) {
    return "hijuvwpqt"[3 * array + (unsigned)(digit - (array == 1 ? '3' : '0'))];
}

/* Writes the letters of an array as `dims` has them. */
static char *write_letters(char *to, unsigned array, const char *letters) {
    for (; *letters; letters++)
        *to++ = *letters >= '0' && *letters <= '5' ? spatial_letter(array, *letters) : *letters;
    return to;
}

/* The attribute `dims`. */
static const char *write_dims(const raised *r, const char *filter) {
    char *text = TILE_NEW_ARRAY(r->s->arena, char, 4 * MOST_LETTERS), *at = text;
    at = write_letters(at, 0, r->source);
    *at++ = ',';
    at = write_letters(at, 1, filter);
    *at++ = '-';
    *at++ = '>';
    *write_letters(at, 2, r->result) = 0;
    return text;
}

static const tile_type *array_type(const raised *r, unsigned array, const tile_type *element,
                                   const char *letters) {
    tile_type draft = *element;
    draft.rank = 0;
    for (; *letters; letters++)
        draft.dims[draft.rank++] = tile_expr_int(r->s->context, extent_of(r, array, *letters));
    return tile_type_get(r->s->context, &draft);
}

static void set_list(tile_function *f, tile_op op, tile_attr_id id, const int64_t *list,
                     unsigned count, int64_t absent) {
    bool given = false;
    for (unsigned i = 0; i < count; i++) given |= list[i] != absent;
    if (given) tile_op_set_list(f, op, id, list, count);
}

/* A cast of the value; the type gives the element. */
static tile_value cast_to(raised *r, tile_builder *b, tile_value value, const tile_type *element) {
    tile_type draft = *sched_type(r->s, value);
    draft.scalar = element->scalar;
    draft.param = element->param;
    return tile_build_cast(b, value, tile_type_get(r->s->context, &draft));
}

/* Reshapes the value, or the source of a cast, which is then cast: kernels that move elements cast
 * them on the way. */
static tile_value reshape_source(raised *r, tile_builder *b, tile_value value,
                                 const tile_type *to) {
    const tile_function *f = r->s->compute;
    const tile_op cast = tile_value_def(f, value);
    if (sched_type(r->s, value) == to) return value;
    if (!cast.id || tile_op_opcode(f, cast) != TILE_OP_cast || tile_op_at(f, cast)->attr_count)
        return tile_build_reshape(b, value, TILE_NO_VALUE, to);
    tile_value src = tile_operand_src(f, cast);
    tile_type draft = *to;
    draft.scalar = sched_type(r->s, src)->scalar;
    draft.param = sched_type(r->s, src)->param;
    src = tile_build_reshape(b, src, TILE_NO_VALUE, tile_type_get(r->s->context, &draft));
    return cast_to(r, b, src, to);
}

static tile_value move_dims(raised *r, tile_builder *b, tile_value value, unsigned array,
                            const char *from, const char *to) {
    int64_t order[TILE_MAX_RANK];
    tile_function *f = r->s->compute;
    if (strcmp(from, to) == 0) return value;
    for (unsigned d = 0; to[d]; d++) order[d] = strchr(from, to[d]) - from;
    value = tile_build_transpose(b, value, array_type(r, array, sched_type(r->s, value), to));
    tile_op_set_list(f, tile_value_def(f, value), TILE_ATTR_order, order, (unsigned)strlen(to));
    return value;
}

/* Sorts the positions of a filter by the order of the source's dims. */
static tile_value sort_positions(raised *r, tile_builder *b, tile_value filter, char *letters) {
    char own[MOST_LETTERS];
    unsigned next = 0;
    strcpy(own, letters);
    for (unsigned d = 0; letters[d]; d++)
        if (letters[d] >= '3' && letters[d] <= '5') letters[d] = (char)('3' + next++);
    return move_dims(r, b, filter, 3, own, letters);
}

/* Moves the groups before k, of which they become a part. */
static tile_value merge_groups(raised *r, tile_builder *b, tile_value filter, char *letters) {
    char to[MOST_LETTERS] = "";
    if (r->groups == 1) return filter;
    for (const char *own = letters; *own; own++) {
        if (*own == 'k') append(to, 'G');
        if (*own != 'G') append(to, *own);
    }
    filter = move_dims(r, b, filter, 3, letters, to);
    *letters = 0;
    for (const char *own = to; *own; own++)
        if (*own != 'G') append(letters, *own);
    return reshape_source(r, b, filter, array_type(r, 1, sched_type(r->s, filter), letters));
}

static tile_value build_filter(raised *r, tile_builder *b, char *letters) {
    strcpy(letters, r->own_filter);
    tile_value filter =
        r->has_filter ? r->filter.source : tile_op_operand(r->s->compute, r->product, !r->side);
    filter = reshape_source(r, b, filter, array_type(r, 3, sched_type(r->s, filter), letters));
    filter = merge_groups(r, b, sort_positions(r, b, filter, letters), letters);
    return r->has_filter && r->filter.type ? cast_to(r, b, filter, r->filter.type) : filter;
}

static tile_value build_convolution(raised *r, const numbers *n) {
    schedule *s = r->s;
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, r->product);
    b.loc = tile_op_loc(f, r->product);
    const tile_value product = tile_op_result(f, r->product, 0);
    const unsigned count = r->view.window_count;
    const tile_type *to = sched_type(s, product);
    char of_filter[MOST_LETTERS];
    tile_value filter = build_filter(r, &b, of_filter);
    tile_value src = reshape_source(r, &b, r->view.source,
                                    array_type(r, 0, sched_type(s, r->view.source), r->source));
    if (r->view.type) src = cast_to(r, &b, src, r->view.type);
    tile_value value = tile_build_convolve(&b, src, filter, array_type(r, 2, to, r->result));
    const tile_op op = tile_value_def(f, value);
    const tile_attr *precision = tile_op_attr(f, r->product, TILE_ATTR_precision);
    tile_op_set_text(f, op, TILE_ATTR_dims, write_dims(r, of_filter));
    set_list(f, op, TILE_ATTR_strides, n->strides, count, 1);
    set_list(f, op, TILE_ATTR_dilations, n->dilations, count, 1);
    set_list(f, op, TILE_ATTR_input_dilations, n->between, count, 1);
    set_list(f, op, TILE_ATTR_reversed, n->reversed, count, 0);
    set_list(f, op, TILE_ATTR_pads, n->pads, 2 * count, 0);
    if (r->groups > 1)
        tile_op_set_expr(f, op, TILE_ATTR_groups, tile_expr_int(s->context, r->groups));
    if (precision && precision->expr)
        tile_op_set_expr(f, op, TILE_ATTR_precision, precision->expr);
    else if (precision)
        tile_op_set_text(f, op, TILE_ATTR_precision, precision->text);
    value = move_dims(r, &b, value, 2, r->result, r->product_dims);
    return tile_build_reshape(&b, value, TILE_NO_VALUE, to);
}

/* Attributes that describe the product's kernel would be lost. */
static bool is_plain(const tile_function *f, tile_op product) {
    const tile_op_data *data = tile_op_at(f, product);
    bool plain = data->opcode == TILE_OP_matmul;
    for (unsigned i = 0; i < data->attr_count; i++)
        plain &= data->attrs[i].id == TILE_ATTR_trans_lhs ||
                 data->attrs[i].id == TILE_ATTR_trans_rhs ||
                 data->attrs[i].id == TILE_ATTR_precision;
    return plain;
}

/* Returns whether kernels read an array of the windows; `z` has the numbers of channels. */
static bool is_folded(const raised *r, expand_fold_sizes z) {
    unsigned folded;
    z.spatial = r->view.window_count;
    z.bytes = tile_scalar_bytes(sched_type(r->s, r->view.source)->scalar);
    for (unsigned i = 0; i < z.spatial; i++) {
        const view_windows *w = windows_of(r, (char)('0' + i));
        z.inputs[i] = w->places * w->stride; /* nearly */
        z.places[i] = w->places;
        z.taps[i] = w->taps;
    }
    return r->groups == 1 && expand_choose_folded(&z, &folded);
}

/* Returns whether another form than the windows' own reads less: channels that are contiguous in a
 * copy only, no zeros between elements, or elements instead of windows. */
static bool pays(const raised *r, const numbers *n) {
    const tile_value src = r->view.source;
    const tile_type *type = sched_type(r->s, src);
    const tile_type *lhs = sched_type(r->s, tile_operand_lhs(r->s->compute, r->product));
    bool pointwise = true, spreads = false;
    tile_convolution_traffic t = {
        .by_fma = tile_convolution_is_by_fma(r->s->compute, r->product, lhs),
        .channels_last = r->source[strlen(r->source) - 1] == 'c',
        .channels = r->c,
        .positions = 1,
        .input = tile_scalar_bytes(type->scalar),
        .windows = (double)(r->n * r->c * r->groups),
        .filters = (double)r->k,
    };
    for (unsigned d = 0; d < type->rank; d++) t.input *= (double)extent_at(r->s, src, d);
    for (unsigned i = 0; i < r->view.window_count; i++) {
        const view_windows *w = windows_of(r, (char)('0' + i));
        t.windows *= (double)(w->places * w->taps);
        t.positions *= w->taps;
        pointwise &= n->strides[i] == 1 && n->between[i] == 1;
        pointwise &= !n->pads[2 * i] && !n->pads[2 * i + 1];
        spreads |= n->between[i] > 1;
    }
    const bool depthwise = r->groups > 1 && r->c == 1; /* a reduction of windows */
    const expand_fold_sizes z = {.channels_last = t.channels_last, .n = r->n, .c = r->c, .k = r->k};
    const tile_convolution_form form = tile_convolution_form_of(&t);
    return spreads || (!t.by_fma && is_folded(r, z)) || depthwise || r->view.apart ||
           (pointwise && t.positions == 1) || form == TILE_CONVOLUTION_MOVED ||
           form == TILE_CONVOLUTION_POSITIONS_FIRST;
}

static bool find_convolution(schedule *s, sched_tables *tables, tile_op op, raised *r, numbers *n) {
    if (!is_plain(s->compute, op)) return false;
    for (unsigned side = 0; side < 2; side++) {
        if (!find_side(s, tables, op, side, r)) continue;
        read_numbers(r, n);
        if (pays(r, n)) return true;
    }
    return false;
}

/* Reshapes and transposes of a convolution's result that together leave its elements in order, as
 * where a text moves the places of two windows side by side, become a reshape of it. */
static void fold_transposes(schedule *s, sched_tables *tables) {
    tile_function *f = s->compute;
    unsigned count;
    tile_op *ops = tile_find_ops(f, TILE_OP_transpose, s->arena, &count);
    for (unsigned i = 0; i < count; i++) {
        const tile_value result = tile_op_result(f, ops[i], 0);
        window_view *view = TILE_NEW(s->arena, window_view);
        unsigned next = 0;
        bool same =
            is_known(s, result) && product_find_view(s, tables, result, false, view) && !view->type;
        tile_op from = same ? tile_value_def(f, view->source) : TILE_NO_OP;
        if (!from.id || tile_op_opcode(f, from) != TILE_OP_convolve) continue;
        for (unsigned d = 0; d < view->rank; d++)
            for (unsigned a = 0; a < view->dims[d].count && same; a++) {
                const view_axis *axis = &view->dims[d].axes[a];
                same = axis->kind == VIEW_WHOLE && (axis->extent == 1 || axis->at >= next);
                next = axis->at;
            }
        if (!same) continue;
        tile_builder b = tile_builder_before(f, ops[i]);
        b.loc = tile_op_loc(f, ops[i]);
        tile_value value =
            tile_build_reshape(&b, view->source, TILE_NO_VALUE, tile_value_type(f, result));
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
        map[result.id] = value;
        tile_replace_values(f, f->body, map);
        tile_erase_op(f, ops[i]);
    }
}

bool sched_raise_windows(schedule *s) {
    raised *r = TILE_NEW(s->arena, raised);
    sched_tables tables = {.s = s};
    numbers n;
    unsigned count;
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body)
        found = found || find_convolution(s, &tables, op, r, &n);
    if (!found) return true;
    sched_clone_compute(s);
    tile_op *ops = tile_find_ops(s->compute, TILE_OP_matmul, s->arena, &count);
    for (unsigned i = 0; i < count; i++) {
        tables = (sched_tables){.s = s};
        if (!find_convolution(s, &tables, ops[i], r, &n)) continue;
        tile_value value = build_convolution(r, &n);
        if (!value.id) return false;
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, s->compute->value_count);
        map[tile_op_result(s->compute, ops[i], 0).id] = value;
        tile_erase_op(s->compute, ops[i]);
        tile_replace_values(s->compute, s->compute->body, map);
    }
    tables = (sched_tables){.s = s};
    fold_transposes(s, &tables);
    sched_fold_reshapes(s);
    if (!tile_expand_convolutions(s->compute, true)) return false;
    sched_fold_reshapes(s);
    return true;
}
