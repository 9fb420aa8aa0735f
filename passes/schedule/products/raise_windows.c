/* Convolutions that are written as products of windows:
 *
 *     %v = window %x, [1, 1], [1, 1] {axis = 2} : [n, c, p, q, r, s]
 *     %t = transpose(%v, order = [0, 1, 4, 5, 2, 3])
 *     %y = matmul(%f : [k, c * r * s], (reshape(%t) : [n, c * r * s, p * q]))
 *
 * They become `convolve`, and lib/builder/expand_convolve.c gives them the form that reads least.
 * The windows may be made one dim after the other, with reshapes and transposes between: windows of
 * 3 dims as windows of the depth, and windows of images whose depth is part of the batch. Each dim
 * of the array has a name: n, c, 0 to 2 for places; 3 to 5 are positions. One of the product's dims
 * must consist of c and the positions, the others of the places and n. All extents are known, so
 * that the pads behind lhs follow from the number of places. */
#include "passes/schedule/products/raise_windows.h"

#include <ctype.h>
#include <string.h>

#include "lib/builder/expand_convolve.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/ops/convolution.h"
#include "lib/ops/gather.h"
#include "passes/schedule/products/window_letters.h"

enum { MAX_MOVES = 16, MAX_NAMES = 2 * TILE_MAX_RANK + 2 };

typedef struct raised {
    schedule *s;
    tile_op product;
    unsigned side;                     /* of the windows */
    tile_value src;                    /* the array */
    tile_op cast;                      /* of the windows or of what they are made of; 0: none */
    unsigned window_ops;               /* operations that make the windows */
    bool moved_before;                 /* the array is not the first one's operand */
    unsigned count;                    /* of dims with windows */
    window_letters l;                  /* of the operand */
    unsigned dim_of[TILE_MAX_SPATIAL]; /* the array's dim of each place */
    char own[TILE_MAX_RANK + 1];       /* names of the array's dims */
    int64_t extents[WINDOW_LETTERS];   /* by name */
    char parts[3][MAX_NAMES];          /* names of the operand's dims: batch, then two more */
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

/* Names --------------------------------------------------------------------------------------- */

static bool is_place(char name) {
    return name >= '0' && name <= '2';
}

static bool is_position(char name) {
    return name >= '3' && name <= '5';
}

/* Names the array's dims: two have no windows, n before c, which may be exchanged yet. */
static bool name_dims(raised *r, unsigned rank, char names[WINDOW_LETTERS]) {
    unsigned others = 0;
    r->count = 0;
    for (unsigned d = 0; d < rank; d++) {
        const char place = (char)('a' + (int)d), position = (char)toupper(place);
        if (r->l.windows[d].id) {
            if (r->count == TILE_MAX_SPATIAL) return false;
            r->dim_of[r->count] = d;
            names[(unsigned char)place] = (char)('0' + (int)r->count);
            names[(unsigned char)position] = (char)('3' + (int)r->count++);
        } else {
            if (others == 2) return false;
            names[(unsigned char)place] = "nc"[others++];
        }
        r->own[d] = names[(unsigned char)place];
        r->own[d + 1] = 0;
        r->extents[(unsigned char)r->own[d]] = r->l.extents[(unsigned char)place];
        if (r->l.windows[d].id)
            r->extents[(unsigned char)names[(unsigned char)position]] =
                r->l.extents[(unsigned char)position];
    }
    return others == 2 && r->count;
}

/* The names of the operand's dims. Those of extent 1 are left out: they may be anywhere. */
static bool part_names(raised *r, const char names[WINDOW_LETTERS]) {
    const unsigned rank = r->l.rank;
    if (rank < 2 || rank > 3) return false;
    memset(r->parts, 0, sizeof r->parts);
    for (unsigned d = 0; d < rank; d++) {
        char *end = r->parts[d + 3 - rank];
        for (const char *at = r->l.dims[d]; *at; at++)
            if (r->l.extents[(unsigned char)*at] > 1) *end++ = names[(unsigned char)*at];
        *end = 0;
    }
    return true;
}

/* Adds a name of extent 1 to a part: a place or position before the next one, others in front. */
static void add_unit(char *part, char name) {
    char *at = part;
    if (isdigit((unsigned char)name))
        while (*at && !(isdigit((unsigned char)*at) && *at > name)) at++;
    memmove(at + 1, at, strlen(at) + 1);
    *at = name;
}

/* Returns whether the part consists of positions in order and the channels, and adds those of
 * extent 1. */
static bool has_terms(const raised *r, char *part, char channel) {
    char last = 0;
    for (const char *at = part; *at; at++) {
        if (*at != channel && (!is_position(*at) || *at <= last)) return false;
        if (*at != channel) last = *at;
    }
    for (unsigned i = 0; i <= r->count; i++) {
        char name = i == r->count ? channel : (char)('3' + (int)i);
        if (strchr(part, name)) continue;
        if (r->extents[(unsigned char)name] != 1) return false;
        add_unit(part, name);
    }
    return true;
}

/* Returns whether two parts consist of places and the batch, and adds those of extent 1. */
static bool have_places(const raised *r, char *batch, char *places, char image) {
    for (unsigned k = 0; k < 2; k++)
        for (const char *at = k ? places : batch; *at; at++)
            if (*at != image && !is_place(*at)) return false;
    for (unsigned i = 0; i <= r->count; i++) {
        char name = i == r->count ? image : (char)('0' + (int)i);
        if (strchr(places, name) || strchr(batch, name)) continue;
        if (r->extents[(unsigned char)name] != 1) return false;
        add_unit(name == image && r->l.rank == 3 ? batch : places, name);
    }
    return true;
}

static void exchange(char *text) {
    for (; *text; text++) *text = *text == 'n' ? 'c' : *text == 'c' ? 'n' : *text;
}

/* Finds which of the operand's dims has the terms. Afterwards c is the channel's name. */
static bool find_terms(raised *r) {
    const raised given = *r;
    for (unsigned i = 0; i < 4; i++) {
        const bool last = i & 1;
        const char channel = i & 2 ? 'n' : 'c', image = i & 2 ? 'c' : 'n';
        *r = given;
        if (!has_terms(r, r->parts[1 + last], channel) ||
            !have_places(r, r->parts[0], r->parts[2 - last], image))
            continue;
        r->terms_last = last;
        if (channel == 'c') return true;
        for (unsigned k = 0; k < 3; k++) exchange(r->parts[k]);
        exchange(r->own);
        int64_t images = r->extents['c'];
        r->extents['c'] = r->extents['n'];
        r->extents['n'] = images;
        return true;
    }
    return false;
}

/* Windows ------------------------------------------------------------------------------------- */

/* Reads the operand as windows of the array below these operations, the last one first. */
static bool read_moves(raised *r, const tile_op *moves, unsigned count) {
    const schedule *s = r->s;
    const tile_function *f = s->compute;
    char names[WINDOW_LETTERS] = {0};
    r->src = tile_op_operand(f, moves[count - 1], 0);
    r->cast = TILE_NO_OP;
    r->window_ops = 0;
    if (!window_letters_of(s, r->src, &r->l)) return false;
    for (unsigned i = count; i-- > 0;) {
        const tile_opcode opcode = tile_op_opcode(f, moves[i]);
        r->window_ops += opcode == TILE_OP_window;
        if (opcode == TILE_OP_cast && r->cast.id) return false;
        if (opcode == TILE_OP_cast)
            r->cast = moves[i];
        else if (!window_letters_follow(s, moves[i], &r->l))
            return false;
    }
    r->moved_before = tile_op_opcode(f, moves[count - 1]) != TILE_OP_window;
    return r->window_ops && name_dims(r, sched_type(s, r->src)->rank, names) &&
           part_names(r, names) && find_terms(r);
}

/* Returns whether the product is a convolution, and fills *r. Of the arrays that the windows may be
 * of, it is the one that was moved least. */
static bool find_side(schedule *s, tile_op product, unsigned side, raised *r) {
    const tile_function *f = s->compute;
    tile_value operand = tile_op_operand(f, product, side);
    const tile_value other = tile_op_operand(f, product, !side);
    tile_op moves[MAX_MOVES], op;
    unsigned count = 0;
    *r = (raised){.s = s, .product = product, .side = side};
    if (sched_type(s, other)->rank != 2 || !is_known(s, other) || !is_known(s, operand))
        return false;
    for (tile_value at = operand; count < MAX_MOVES; at = tile_op_operand(f, op, 0)) {
        op = tile_value_def(f, at);
        const tile_opcode opcode = op.id ? tile_op_opcode(f, op) : TILE_OP_NONE;
        bool plain_cast = opcode == TILE_OP_cast && !tile_op_at(f, op)->attr_count;
        if (!plain_cast && opcode != TILE_OP_reshape && opcode != TILE_OP_transpose &&
            opcode != TILE_OP_window)
            break;
        moves[count++] = op;
    }
    bool turned = tile_op_has_attr(f, product, side ? TILE_ATTR_trans_rhs : TILE_ATTR_trans_lhs);
    for (; count; count--)
        if (read_moves(r, moves, count) && r->terms_last == ((side == 0) != turned)) return true;
    return false;
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
    for (unsigned i = 0; i < r->count; i++) {
        const tile_op window = r->l.windows[r->dim_of[i]];
        const unsigned at = r->l.number_of[r->dim_of[i]];
        const tile_attr *between = tile_op_attr(f, window, TILE_ATTR_input_dilations);
        int64_t pad, dilation;
        if (!read_number(r->s, tile_operands_strides(f, window), at, &n->strides[i]) ||
            !read_number(r->s, tile_operands_pads(f, window), at, &pad) ||
            !read_number(r->s, tile_operands_dilations(f, window), at, &dilation) || !dilation)
            return false;
        int64_t places = r->extents['0' + i], positions = r->extents['3' + i],
                elements = extent_at(r->s, r->src, r->dim_of[i]);
        n->between[i] = between ? between->list[at] : 1;
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
        *to++ = isdigit((unsigned char)*letters) ? spatial_letter(array, *letters) : *letters;
    return to;
}

static void join(char *to, const char *a, const char *b, const char *c) {
    strcpy(to, a);
    strcat(to, b);
    strcat(to, c);
}

/* Returns whether a convolution can have a result with these dims: the places in order, and k not
 * between them. */
static bool is_result(const char *names) {
    char last = 0;
    bool between = false;
    for (; *names; names++) {
        between |= *names == 'k' && last && strpbrk(names, "012");
        if (is_place(*names) && *names < last) return false;
        if (is_place(*names)) last = *names;
    }
    return !between;
}

/* The names of the filter's and the result's dims, and those of the product with each part as the
 * dims that it consists of. */
typedef struct result_names {
    char filter[MAX_NAMES], result[MAX_NAMES], product[MAX_NAMES];
} result_names;

/* The attribute `dims`. */
static const char *write_dims(const raised *r, bool k_first, result_names *names) {
    tile_arena *arena = r->s->arena;
    char *text = TILE_NEW_ARRAY(arena, char, 4 * MAX_NAMES), *at = text;
    const char *terms = r->parts[1 + r->terms_last], *places = r->parts[2 - r->terms_last];
    join(names->filter, k_first ? "k" : "", terms, k_first ? "" : "k");
    join(names->product, r->parts[0], r->side ? "k" : "", places);
    strcat(names->product, r->side ? "" : "k");
    strcpy(names->result, names->product);
    if (!is_result(names->product)) {
        join(names->result, r->side ? "nk" : "n", "012", r->side ? "" : "k");
        memmove(strpbrk(names->result, "0") + r->count, strpbrk(names->result, "0") + 3,
                strlen(strpbrk(names->result, "0") + 3) + 1);
    }
    at = write_letters(at, 0, r->own);
    *at++ = ',';
    at = write_letters(at, 1, names->filter);
    *at++ = '-';
    *at++ = '>';
    *write_letters(at, 2, names->result) = 0;
    return text;
}

static const tile_type *type_of(const raised *r, const tile_type *element, const char *names,
                                const tile_expr *filters) {
    tile_type draft = *element;
    draft.rank = 0;
    for (; *names; names++)
        draft.dims[draft.rank++] =
            *names == 'k' ? filters
                          : tile_expr_int(r->s->context, r->extents[(unsigned char)*names]);
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

/* The result's dims in the order of the product's. */
static tile_value order_result(const raised *r, tile_builder *b, tile_value value,
                               const result_names *names, const tile_type *type) {
    int64_t order[MAX_NAMES];
    const unsigned rank = (unsigned)strlen(names->product);
    if (!strcmp(names->product, names->result)) return value;
    for (unsigned d = 0; d < rank; d++)
        order[d] = strchr(names->result, names->product[d]) - names->result;
    value = tile_build_transpose(b, value, type);
    tile_op_set_list(r->s->compute, tile_value_def(r->s->compute, value), TILE_ATTR_order, order,
                     rank);
    return value;
}

static tile_value build_convolution(raised *r, const numbers *n) {
    schedule *s = r->s;
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, r->product);
    b.loc = tile_op_loc(f, r->product);
    const tile_value product = tile_op_result(f, r->product, 0);
    tile_value filter = tile_op_operand(f, r->product, !r->side), src = r->src;
    bool turned =
        tile_op_has_attr(f, r->product, r->side ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs);
    bool k_first = (r->side == 1) != turned;
    const tile_type *type = sched_type(s, filter), *to = sched_type(s, product);
    const tile_expr *filters = type->dims[k_first ? 0 : 1];
    result_names names;
    const char *dims = write_dims(r, k_first, &names);
    filter = reshape_source(r, &b, filter, type_of(r, type, names.filter, filters));
    if (r->cast.id) src = cast_to(r, &b, src, sched_type(s, tile_op_result(f, r->cast, 0)));
    tile_value value = tile_build_convolve(&b, src, filter, type_of(r, to, names.result, filters));
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
    value = order_result(r, &b, value, &names, type_of(r, to, names.product, filters));
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
 * copy only, no zeros between elements, or elements instead of windows. Windows that are made one
 * dim after the other are written to memory otherwise, and arrays with contiguous channels whose
 * dims are moved first are read in their own order. */
static bool pays(const raised *r, const numbers *n) {
    const tile_type *type = sched_type(r->s, r->src);
    const tile_type *product = sched_type(r->s, tile_op_result(r->s->compute, r->product, 0));
    const bool channels_last = r->own[type->rank - 1] == 'c';
    bool pointwise = true, spreads = false;
    tile_convolution_traffic t = {
        .by_fma = tile_convolution_is_by_fma(
            r->s->compute, r->product,
            sched_type(r->s, tile_operand_lhs(r->s->compute, r->product))),
        .channels_last = channels_last,
        .positions = 1,
        .input = tile_scalar_bytes(type->scalar),
        .windows = 1,
        .filters = (double)sched_constant(product->dims[product->rank - (r->side ? 2 : 1)]),
        .channels = r->extents['c'],
    };
    for (unsigned d = 0; d < type->rank; d++) {
        t.input *= (double)extent_at(r->s, r->src, d);
        t.windows *= (double)r->extents[(unsigned char)r->own[d]];
    }
    for (unsigned i = 0; i < r->count; i++) {
        t.windows *= (double)r->extents['3' + i];
        t.positions *= r->extents['3' + i];
        pointwise &=
            n->strides[i] == 1 && n->between[i] == 1 && !n->pads[2 * i] && !n->pads[2 * i + 1];
        spreads |= n->between[i] > 1;
    }
    return spreads || r->window_ops > 1 || (channels_last && r->moved_before) ||
           (pointwise && t.positions == 1) ||
           tile_convolution_form_of(&t) == TILE_CONVOLUTION_MOVED;
}

static bool find_convolution(schedule *s, tile_op op, raised *r, numbers *n) {
    if (!is_plain(s->compute, op)) return false;
    for (unsigned side = 0; side < 2; side++)
        if (find_side(s, op, side, r) && read_numbers(r, n) && pays(r, n)) return true;
    return false;
}

/* The first value of reshapes and transposes that leave all elements in their order; the value of
 * op if there is none. */
static tile_value find_same_order(const schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    tile_op moves[MAX_MOVES], at = op;
    unsigned count = 0;
    while (
        count < MAX_MOVES && at.id &&
        (tile_op_opcode(f, at) == TILE_OP_reshape || tile_op_opcode(f, at) == TILE_OP_transpose)) {
        moves[count++] = at;
        at = tile_value_def(f, tile_op_operand(f, at, 0));
    }
    for (; count > 1; count--) {
        char before[WINDOW_LETTERS], after[WINDOW_LETTERS];
        const tile_value first = tile_op_operand(f, moves[count - 1], 0);
        window_letters l;
        bool follows = window_letters_of(s, first, &l);
        if (follows) window_letters_join(&l, true, before);
        for (unsigned i = count; follows && i-- > 0;)
            follows = window_letters_follow(s, moves[i], &l);
        if (follows) window_letters_join(&l, true, after);
        if (follows && !strcmp(before, after)) return first;
    }
    return tile_op_result(f, op, 0);
}

/* Replaces reshapes of reshapes, and moves that undo each other, by one reshape. */
static void fold_moves(schedule *s) {
    static const tile_opcode opcodes[] = {TILE_OP_reshape, TILE_OP_transpose};
    tile_function *f = s->compute;
    for (unsigned k = 0; k < 2; k++) {
        unsigned count;
        tile_op *ops = tile_find_ops(f, opcodes[k], s->arena, &count);
        for (unsigned i = 0; i < count; i++) {
            const tile_value result = tile_op_result(f, ops[i], 0);
            tile_value src = find_same_order(s, ops[i]);
            if (src.id == result.id) continue;
            tile_builder b = tile_builder_before(f, ops[i]);
            b.loc = tile_op_loc(f, ops[i]);
            if (tile_value_type(f, src) != tile_value_type(f, result))
                src = tile_build_reshape(&b, src, TILE_NO_VALUE, tile_value_type(f, result));
            tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
            map[result.id] = src;
            tile_replace_values(f, f->body, map);
            tile_erase_op(f, ops[i]);
        }
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
    fold_moves(s);
    return true;
}
