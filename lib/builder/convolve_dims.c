/* The dims of a convolution's arrays. Each has a letter (expand_convolve.c): dims are moved into
 * the order of a string, and a word becomes one dim. */
#include "lib/builder/convolve_dims.h"

#include <string.h>

#include "lib/ir/syntax.h"

expansion expand_begin(tile_function *f, tile_op op) {
    tile_convolution c = tile_convolution_of(f, op);
    expansion x = {.f = f,
                   .context = tile_function_context(f),
                   .b = tile_builder_before(f, op),
                   .op = op,
                   .c = c,
                   .lhs = tile_value_type(f, tile_operand_lhs(f, op)),
                   .rhs = tile_value_type(f, tile_operand_rhs(f, op)),
                   .result = tile_value_type(f, tile_op_result(f, op, 0)),
                   .groups = c.groups ? c.groups : c.batch_groups};
    x.b.loc = tile_op_at(f, op)->loc;
    /* A single position has no direction: the form for the reversed ones reads less. */
    for (unsigned i = 0; i < c.spatial; i++)
        x.c.reversed[i] |= tile_expr_is(x.rhs->dims[c.rhs.spatial[i]], 1);
    return x;
}

void expand_replace(tile_function *f, tile_op op, tile_value value, tile_arena *scratch) {
    const tile_value old = tile_op_result(f, op, 0);
    tile_value *map = TILE_NEW_ARRAY(scratch, tile_value, f->value_count);
    map[old.id] = value;
    tile_value_at(f, value)->name = tile_value_at(f, old)->name;
    tile_erase_op(f, op);
    tile_replace_values(f, f->body, map);
}

shape expand_name_dims(const expansion *x, const tile_type *type,
                       const tile_convolution_order *order, char outer, char channel, char first) {
    shape s = {0};
    for (unsigned d = 0; d < type->rank; d++) {
        char letter = d == order->outer ? outer : channel;
        for (unsigned i = 0; i < x->c.spatial; i++)
            if (order->spatial[i] == d) letter = (char)(first + (char)i);
        add(&s, letter, type->dims[d]);
    }
    return s;
}

const tile_expr *expand_extent_of(const shape *s, char letter) {
    for (unsigned d = 0; d < s->rank; d++)
        if (s->letters[d] == letter) return s->dims[d];
    return NULL;
}

const tile_type *expand_type_of(const expansion *x, const tile_type *element, const shape *s) {
    tile_type draft = *element;
    draft.rank = s->rank;
    memcpy(draft.dims, s->dims, sizeof *s->dims * s->rank);
    return tile_type_get(x->context, &draft);
}

tile_value expand_reshape(expansion *x, tile_value value, const tile_type *type) {
    const tile_type *own = tile_value_type(x->f, value);
    return type == own ? value : tile_build_reshape(&x->b, value, TILE_NO_VALUE, type);
}

tile_value expand_transpose(expansion *x, tile_value value, shape *s, const char *letters) {
    int64_t order[TILE_MAX_RANK];
    shape to = {0};
    bool moves = false; /* dims of more than one element */
    int64_t last = -1;
    for (; *letters; letters++) {
        int64_t from = strchr(s->letters, *letters) - s->letters;
        bool is_unit = tile_expr_is(s->dims[from], 1);
        moves |= !is_unit && from < last;
        if (!is_unit) last = from;
        order[to.rank] = from;
        add(&to, *letters, s->dims[from]);
    }
    *s = to;
    if (!moves) return expand_reshape(x, value, expand_type_of(x, tile_value_type(x->f, value), s));
    value = tile_build_transpose(&x->b, value, expand_type_of(x, tile_value_type(x->f, value), s));
    tile_op_set_list(x->f, tile_value_def(x->f, value), TILE_ATTR_order, order, s->rank);
    return value;
}

shape expand_combined(const expansion *x, const shape *s, const char *words) {
    shape to = {0};
    for (bool begins = true; *words; words++) {
        const tile_expr *own = expand_extent_of(s, *words);
        if (own && begins)
            add(&to, *words, own);
        else if (own && !tile_expr_is(own, 1))
            to.dims[to.rank - 1] =
                tile_expr_op(x->context, TILE_OP_mul, to.dims[to.rank - 1], own, NULL);
        begins = *words == ' ' || (begins && !own);
    }
    return to;
}

static tile_value combine(expansion *x, tile_value value, shape *s, const char *words) {
    *s = expand_combined(x, s, words);
    return expand_reshape(x, value, expand_type_of(x, tile_value_type(x->f, value), s));
}

tile_value expand_arrange(expansion *x, tile_value value, shape *s, const char *words) {
    char order[MAX_LETTERS];
    unsigned count = 0;
    for (const char *at = words; *at; at++)
        if (*at != ' ' && expand_extent_of(s, *at)) order[count++] = *at;
    order[count] = 0;
    value = expand_transpose(x, value, s, order);
    return combine(x, value, s, words);
}

const tile_expr *expand_in_a_group(const expansion *x, const tile_expr *extent) {
    if (!x->groups) return extent;
    return tile_extent_canonical(x->context,
                                 tile_expr_op(x->context, TILE_OP_div, extent, x->groups, NULL));
}

/* Makes one dim of the places, which are side by side. */
static tile_value combine_places(expansion *x, tile_value value, shape *s) {
    char words[2 * MAX_LETTERS], *end = words;
    for (unsigned d = 0; d < s->rank; d++) {
        bool continues = s->letters[d] == '1' || s->letters[d] == '2';
        if (d && !continues) *end++ = ' ';
        *end++ = s->letters[d];
    }
    *end = 0;
    return combine(x, value, s, words);
}

tile_value expand_split(expansion *x, tile_value value, shape *s, char letter) {
    shape to = {0};
    if (!x->groups) return value;
    if (s->rank == TILE_MAX_RANK) value = combine_places(x, value, s);
    for (unsigned d = 0; d < s->rank; d++) {
        bool splits = s->letters[d] == letter;
        if (splits) add(&to, 'G', x->groups);
        add(&to, s->letters[d], splits ? expand_in_a_group(x, s->dims[d]) : s->dims[d]);
    }
    *s = to;
    return expand_reshape(x, value, expand_type_of(x, tile_value_type(x->f, value), s));
}

/* The value before a cast between known types. */
tile_value expand_skip_cast(const expansion *x, tile_value value) {
    const tile_op cast = tile_value_def(x->f, value);
    bool skips = cast.id && tile_op_opcode(x->f, cast) == TILE_OP_cast &&
                 !tile_op_at(x->f, cast)->attr_count && !tile_value_type(x->f, value)->param &&
                 !tile_value_type(x->f, tile_operand_src(x->f, cast))->param;
    return skips ? tile_operand_src(x->f, cast) : value;
}

tile_value expand_transpose_together(expansion *x, tile_value value, shape *s, const char *letters,
                                     char first) {
    const char *at = strchr(s->letters, first), *to = strchr(letters, first);
    shape whole = *s, merged = {0};
    char order[MAX_LETTERS] = {0};
    bool together = x->c.spatial > 1 && strncmp(at, to, x->c.spatial) == 0 &&
                    strncmp(at, first == '0' ? "012" : "345", x->c.spatial) == 0;
    if (strcmp(s->letters, letters) == 0) return value;
    for (unsigned d = 0; d < s->rank; d++) {
        bool continues =
            together && s->letters[d] > first && s->letters[d] < first + (int)x->c.spatial;
        if (continues)
            merged.dims[merged.rank - 1] = tile_expr_op(
                x->context, TILE_OP_mul, merged.dims[merged.rank - 1], s->dims[d], NULL);
        else
            add(&merged, s->letters[d], s->dims[d]);
    }
    for (unsigned n = 0; *letters; letters++)
        if (strchr(merged.letters, *letters)) order[n++] = *letters;
    const tile_type *element = tile_value_type(x->f, value);
    value = expand_skip_cast(x, value);
    value = expand_reshape(x, value, expand_type_of(x, tile_value_type(x->f, value), &merged));
    value = expand_transpose(x, value, &merged, order);
    if (tile_value_type(x->f, value)->scalar != element->scalar)
        value = tile_build_cast(&x->b, value, expand_type_of(x, element, &merged));
    *s = (shape){0};
    for (unsigned d = 0; d < merged.rank; d++)
        for (unsigned i = 0; i < (together && merged.letters[d] == first ? x->c.spatial : 1); i++) {
            char letter = (char)(merged.letters[d] + (char)i);
            add(s, letter, expand_extent_of(&whole, letter));
        }
    return expand_reshape(x, value, expand_type_of(x, tile_value_type(x->f, value), s));
}
