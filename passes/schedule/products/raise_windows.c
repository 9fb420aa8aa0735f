/* Convolutions that are written as products of windows:
 *
 *     %v = window %x, [1, 1], [1, 1] {axis = 2} : [n, c, p, q, r, s]
 *     %t = transpose(%v, order = [0, 1, 4, 5, 2, 3])
 *     %y = matmul(%f : [k, c * r * s], (reshape(%t) : [n, c * r * s, p * q]))
 *
 * They become `convolve`, and lib/builder/expand_convolve.c gives them the form that reads least.
 * Each dim of the windows has a letter: n, c, 0 to 2 for places, 3 to 5 for positions. One of the
 * product's dims must consist of c and the positions, another one of the places, possibly with n.
 * All extents are known, so that the pads behind lhs follow from the number of places. */
#include "passes/schedule/products/raise_windows.h"

#include <string.h>

#include "lib/builder/expand_convolve.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/ops/convolution.h"
#include "lib/ops/gather.h"

typedef struct raised {
    schedule *s;
    tile_op product, window;
    tile_op cast;                     /* of the moved windows; 0: none */
    unsigned side;                    /* of the windows */
    unsigned axis, count;             /* of the window */
    char own[TILE_MAX_RANK + 1];      /* of the windows */
    char letters[TILE_MAX_RANK + 1];  /* of the moved windows */
    char parts[3][TILE_MAX_RANK + 1]; /* letters of the operand's dims: batch, then two more */
    bool terms_last;
} raised;

static int64_t extent_at(const schedule *s, tile_value value, unsigned d) {
    return sched_constant(sched_dim((schedule *)(uintptr_t)s, sched_type(s, value), d));
}

static bool is_known(const schedule *s, tile_value value) {
    bool known = true;
    for (unsigned d = 0; d < sched_type(s, value)->rank; d++) known &= extent_at(s, value, d) > 0;
    return known;
}

/* Finds the window below at most one reshape and one transpose, and the letters of the transposed
 * dims; c and n may be exchanged yet. */
static bool find_window(raised *r, tile_value value) {
    const tile_function *f = r->s->compute;
    tile_op op = tile_value_def(f, value), order = TILE_NO_OP;
    if (op.id && tile_op_opcode(f, op) == TILE_OP_transpose) {
        order = op;
        op = tile_value_def(f, tile_operand_src(f, op));
    }
    if (!op.id || tile_op_opcode(f, op) != TILE_OP_window || tile_op_pads(f, op)) return false;
    const tile_value result = tile_op_result(f, op, 0);
    const unsigned rank = sched_type(r->s, result)->rank;
    r->window = op;
    r->axis = (unsigned)sched_axis(r->s, op);
    r->count = tile_operands_strides(f, op).count;
    if (r->count > TILE_MAX_SPATIAL || rank != 2 * r->count + 2 || !is_known(r->s, result) ||
        !is_known(r->s, tile_operand_src(f, op)))
        return false;
    for (unsigned d = 0, other = 0; d < rank; d++) {
        bool windowed = d >= r->axis && d < r->axis + 2 * r->count;
        unsigned i = d - r->axis;
        r->own[d] = !windowed      ? "nc"[other++]
                    : i < r->count ? (char)('0' + (int)i)
                                   : (char)('3' + (int)(i - r->count));
    }
    const tile_attr *list = order.id ? tile_op_attr(f, order, TILE_ATTR_order) : NULL;
    if (order.id && !list) return false;
    for (unsigned d = 0; d < rank; d++) r->letters[d] = r->own[list ? list->list[d] : d];
    return true;
}

/* Distributes the letters over the operand's dims, of which each is a product of extents. */
static bool part_letters(raised *r, tile_value operand, tile_value moved) {
    const unsigned rank = sched_type(r->s, operand)->rank, parts = rank - 2;
    const unsigned from = sched_type(r->s, moved)->rank;
    if (rank < 2 || rank > 3) return false;
    unsigned next = 0;
    for (unsigned d = 0; d < rank; d++) {
        int64_t left = extent_at(r->s, operand, d);
        char *part = r->parts[d + 1 - parts], *end = part;
        while (next < from && (left > 1 || extent_at(r->s, moved, next) == 1)) {
            int64_t extent = extent_at(r->s, moved, next);
            if (extent <= 0 || left % extent) return false;
            /* A dim of extent 1 belongs to the dim before. */
            left /= extent;
            *end++ = r->letters[next++];
        }
        if (left != 1) return false;
    }
    return next == from;
}

/* Returns whether the part consists of the positions and one other letter, the channels. */
static bool has_terms(const raised *r, const char *part, char *channel) {
    unsigned positions = 0, others = 0;
    for (; *part; part++) {
        positions += *part == (char)('3' + (int)positions); /* in order */
        if (*part == 'n' || *part == 'c') *channel = *part;
        others += !(*part >= '3' && *part <= '5');
    }
    return positions == r->count && others == 1 && (*channel == 'n' || *channel == 'c');
}

/* Returns whether the part consists of the places in order, possibly after the batch. */
static bool has_places(const raised *r, const char *part, char batch) {
    if (*part == batch) part++;
    return strlen(part) == r->count && strncmp(part, "012", r->count) == 0;
}

static void exchange(char *text) {
    for (; *text; text++) *text = *text == 'n' ? 'c' : *text == 'c' ? 'n' : *text;
}

/* Finds which of the operand's dims has the terms. Afterwards c is the channel's letter. */
static bool find_terms(raised *r) {
    char channel = 0;
    const char *batch = r->parts[0];
    if (strlen(batch) > 1) return false;
    for (unsigned last = 0; last < 2; last++) {
        const char *terms = r->parts[1 + last], *places = r->parts[2 - last];
        if (!has_terms(r, terms, &channel)) continue;
        char other = channel == 'c' ? 'n' : 'c';
        if (!has_places(r, places, other) || (*batch && *batch != other) ||
            (*batch != 0) == (*places == other))
            continue;
        r->terms_last = last;
        for (unsigned i = 0; i < 3 && channel == 'n'; i++) exchange(r->parts[i]);
        if (channel == 'n') exchange(r->own);
        return true;
    }
    return false;
}

/* Returns whether the product is a convolution, and fills *r. */
static bool find_side(schedule *s, tile_op product, unsigned side, raised *r) {
    const tile_function *f = s->compute;
    tile_value operand = tile_op_operand(f, product, side), moved = operand;
    const tile_value other = tile_op_operand(f, product, !side);
    const tile_op op = tile_value_def(f, operand);
    *r = (raised){.s = s, .product = product, .side = side};
    if (op.id && tile_op_opcode(f, op) == TILE_OP_cast && !tile_op_at(f, op)->attr_count) {
        r->cast = op;
        moved = tile_operand_src(f, op);
    }
    const tile_op reshape = tile_value_def(f, moved);
    if (reshape.id && tile_op_opcode(f, reshape) == TILE_OP_reshape)
        moved = tile_operand_src(f, reshape);
    if (sched_type(s, other)->rank != 2 || !is_known(s, other) || !is_known(s, operand) ||
        !find_window(r, moved) || !part_letters(r, operand, moved) || !find_terms(r))
        return false;
    bool turned = tile_op_has_attr(f, product, side ? TILE_ATTR_trans_rhs : TILE_ATTR_trans_lhs);
    return r->terms_last == ((side == 0) != turned);
}

/* Numbers ---------------------------------------------------------------------------------------
 */

typedef struct numbers {
    int64_t strides[TILE_MAX_SPATIAL], dilations[TILE_MAX_SPATIAL], between[TILE_MAX_SPATIAL],
        reversed[TILE_MAX_SPATIAL], pads[2 * TILE_MAX_SPATIAL];
} numbers;

static bool read_number(const schedule *s, tile_values values, unsigned i, int64_t *number) {
    *number = 1;
    if (!values.count) return true;
    const tile_value_data *value = tile_value_at(s->compute, values.at[i]);
    return value->kind == TILE_VALUE_CONSTANT && tile_expr_is_int(value->expr, number);
}

static bool read_numbers(const raised *r, numbers *n) {
    const tile_function *f = r->s->compute;
    const tile_attr *between = tile_op_attr(f, r->window, TILE_ATTR_input_dilations);
    const tile_value windows = tile_op_result(f, r->window, 0),
                     src = tile_operand_src(f, r->window);
    for (unsigned i = 0; i < r->count; i++) {
        int64_t pad, dilation;
        if (!read_number(r->s, tile_operands_strides(f, r->window), i, &n->strides[i]) ||
            !read_number(r->s, tile_operands_pads(f, r->window), i, &pad) ||
            !read_number(r->s, tile_operands_dilations(f, r->window), i, &dilation) || !dilation)
            return false;
        int64_t places = extent_at(r->s, windows, r->axis + i),
                positions = extent_at(r->s, windows, r->axis + r->count + i),
                elements = extent_at(r->s, src, r->axis + i);
        n->between[i] = between ? between->list[i] : 1;
        n->reversed[i] = dilation < 0;
        n->dilations[i] = dilation < 0 ? -dilation : dilation;
        n->pads[2 * i] = dilation < 0 ? pad - (positions - 1) * dilation : pad;
        n->pads[2 * i + 1] = (places - 1) * n->strides[i] + (positions - 1) * n->dilations[i] -
                             (elements - 1) * n->between[i] - n->pads[2 * i];
    }
    return true;
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

static void join(char *to, const char *a, const char *b, const char *c) {
    strcpy(to, a);
    strcat(to, b);
    strcat(to, c);
}

/* The attribute `dims`, and the letters of the filter and of the result. */
static const char *write_dims(const raised *r, bool k_first, char *filter, char *result) {
    tile_arena *arena = r->s->arena;
    char *text = TILE_NEW_ARRAY(arena, char, 4 * TILE_MAX_RANK), *at = text, src[TILE_MAX_RANK + 1],
         *end = src;
    const char *terms = r->parts[1 + r->terms_last], *places = r->parts[2 - r->terms_last];
    for (const char *own = r->own; *own; own++)
        if (*own < '3' || *own > '5') *end++ = *own;
    *end = 0;
    join(filter, k_first ? "k" : "", terms, k_first ? "" : "k");
    join(result, r->parts[0], r->side ? "k" : "", places);
    strcat(result, r->side ? "" : "k");
    at = write_letters(at, 0, src);
    *at++ = ',';
    at = write_letters(at, 1, filter);
    *at++ = '-';
    *at++ = '>';
    *write_letters(at, 2, result) = 0;
    return text;
}

/* The extent of a letter's dim. */
static const tile_expr *extent_of(const raised *r, char letter, const tile_expr *filters) {
    const char *at = strchr(r->own, letter);
    const tile_type *windows = sched_type(r->s, tile_op_result(r->s->compute, r->window, 0));
    return letter == 'k' ? filters : windows->dims[at - r->own];
}

static const tile_type *type_of(const raised *r, const tile_type *element, const char *letters,
                                const tile_expr *filters) {
    tile_type draft = *element;
    draft.rank = 0;
    for (; *letters; letters++) draft.dims[draft.rank++] = extent_of(r, *letters, filters);
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
    if (!cast.id || tile_op_opcode(f, cast) != TILE_OP_cast || tile_op_at(f, cast)->attr_count)
        return tile_build_reshape(b, value, TILE_NO_VALUE, to);
    tile_value src = tile_operand_src(f, cast);
    tile_type draft = *to;
    draft.scalar = sched_type(r->s, src)->scalar;
    draft.param = sched_type(r->s, src)->param;
    src = tile_build_reshape(b, src, TILE_NO_VALUE, tile_type_get(r->s->context, &draft));
    return cast_to(r, b, src, to);
}

static tile_value build_convolution(raised *r, const numbers *n) {
    schedule *s = r->s;
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, r->product);
    b.loc = tile_op_loc(f, r->product);
    const tile_value product = tile_op_result(f, r->product, 0);
    tile_value filter = tile_op_operand(f, r->product, !r->side);
    bool turned =
        tile_op_has_attr(f, r->product, r->side ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs);
    bool k_first = (r->side == 1) != turned;
    const tile_type *type = sched_type(s, filter), *to = sched_type(s, product);
    const tile_expr *filters = type->dims[k_first ? 0 : 1];
    char of_filter[TILE_MAX_RANK + 1], of_result[TILE_MAX_RANK + 1];
    const char *dims = write_dims(r, k_first, of_filter, of_result);
    filter = reshape_source(r, &b, filter, type_of(r, type, of_filter, filters));
    tile_value src = tile_operand_src(f, r->window);
    if (r->cast.id) src = cast_to(r, &b, src, sched_type(s, tile_op_result(f, r->cast, 0)));
    tile_value value = tile_build_convolve(&b, src, filter, type_of(r, to, of_result, filters));
    const tile_op op = tile_value_def(f, value);
    const tile_attr *precision = tile_op_attr(f, r->product, TILE_ATTR_precision);
    tile_op_set_text(f, op, TILE_ATTR_dims, dims);
    set_list(f, op, TILE_ATTR_strides, n->strides, r->count, 1);
    set_list(f, op, TILE_ATTR_dilations, n->dilations, r->count, 1);
    set_list(f, op, TILE_ATTR_input_dilations, n->between, r->count, 1);
    set_list(f, op, TILE_ATTR_reversed, n->reversed, r->count, 0);
    set_list(f, op, TILE_ATTR_pads, n->pads, 2 * r->count, 0);
    if (precision && precision->expr)
        tile_op_set_expr(f, op, TILE_ATTR_precision, precision->expr);
    else if (precision)
        tile_op_set_text(f, op, TILE_ATTR_precision, precision->text);
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

/* Returns whether another form than the windows' own reads less: channels that are contiguous in a
 * copy only, no zeros between elements, or elements instead of windows. */
static bool pays(const raised *r, const numbers *n) {
    const tile_value windows = tile_op_result(r->s->compute, r->window, 0),
                     src = tile_operand_src(r->s->compute, r->window);
    const tile_type *type = sched_type(r->s, src);
    const tile_type *product = sched_type(r->s, tile_op_result(r->s->compute, r->product, 0));
    bool pointwise = true, spreads = false;
    tile_convolution_traffic t = {
        .by_fma = tile_convolution_is_by_fma(
            r->s->compute, r->product,
            sched_type(r->s, tile_operand_lhs(r->s->compute, r->product))),
        .channels_last = r->own[sched_type(r->s, windows)->rank - 1] == 'c',
        .positions = 1,
        .input = tile_scalar_bytes(type->scalar),
        .windows = 1,
        .filters = (double)sched_constant(product->dims[product->rank - (r->side ? 2 : 1)]),
    };
    for (unsigned d = 0; d < type->rank; d++) t.input *= (double)extent_at(r->s, src, d);
    for (unsigned d = 0; r->own[d]; d++) {
        int64_t extent = extent_at(r->s, windows, d);
        t.windows *= (double)extent;
        if (r->own[d] == 'c') t.channels = extent;
        if (r->own[d] >= '3' && r->own[d] <= '5') t.positions *= extent;
    }
    for (unsigned i = 0; i < r->count; i++) {
        pointwise &=
            n->strides[i] == 1 && n->between[i] == 1 && !n->pads[2 * i] && !n->pads[2 * i + 1];
        spreads |= n->between[i] > 1;
    }
    return spreads || (pointwise && t.positions == 1) ||
           tile_convolution_form_of(&t) == TILE_CONVOLUTION_MOVED;
}

static bool find_convolution(schedule *s, tile_op op, raised *r, numbers *n) {
    if (!is_plain(s->compute, op)) return false;
    for (unsigned side = 0; side < 2; side++)
        if (find_side(s, op, side, r) && read_numbers(r, n) && pays(r, n)) return true;
    return false;
}

/* Replaces a reshape of a reshape by the first value or by one reshape. */
static void fold_reshapes(schedule *s) {
    tile_function *f = s->compute;
    unsigned count;
    tile_op *ops = tile_find_ops(f, TILE_OP_reshape, s->arena, &count);
    for (unsigned i = 0; i < count; i++) {
        const tile_value result = tile_op_result(f, ops[i], 0);
        tile_value src = tile_operand_src(f, ops[i]);
        const tile_op from = tile_value_def(f, src);
        if (!from.id || tile_op_opcode(f, from) != TILE_OP_reshape) continue;
        tile_builder b = tile_builder_before(f, ops[i]);
        b.loc = tile_op_loc(f, ops[i]);
        src = tile_operand_src(f, from);
        if (tile_value_type(f, src) != tile_value_type(f, result))
            src = tile_build_reshape(&b, src, TILE_NO_VALUE, tile_value_type(f, result));
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
        map[result.id] = src;
        tile_replace_values(f, f->body, map);
        tile_erase_op(f, ops[i]);
    }
}

bool sched_raise_windows(schedule *s) {
    raised r;
    numbers n;
    unsigned count;
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) found |= find_convolution(s, op, &r, &n);
    if (!found) return true;
    sched_clone_compute(s);
    tile_op *ops = tile_find_ops(s->compute, TILE_OP_matmul, s->arena, &count);
    for (unsigned i = 0; i < count; i++) {
        if (!find_convolution(s, ops[i], &r, &n)) continue;
        tile_value value = build_convolution(&r, &n);
        if (!value.id) return false;
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, s->compute->value_count);
        map[tile_op_result(s->compute, ops[i], 0).id] = value;
        tile_erase_op(s->compute, ops[i]);
        tile_replace_values(s->compute, s->compute->body, map);
    }
    if (!tile_expand_convolutions(s->compute)) return false;
    fold_reshapes(s);
    return true;
}
