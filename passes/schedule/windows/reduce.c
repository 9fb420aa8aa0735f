/* Reductions over the positions of windows.
 *
 * All neighbors that need a reduction are computed together, element of the source by element: in
 * the order of the elements' coordinates, each one is combined into all results whose windows
 * contain it, and is then no longer needed. So few elements are in registers at a time.
 *
 * If windows differ only in their place, neighbors share more than elements: the combination of a
 * whole line of positions, such as the maximum of three columns, is the same for all windows that
 * contain it. If an element is multiplied by a weight of its position first, there is nothing to
 * share, and products are added by fma. */
#include "passes/schedule/windows/windows.h"

#include <stdlib.h>
#include <string.h>

#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"

enum { MAX_KEY = 3 };

/* An element of the source that a use needs. */
typedef struct window_element {
    size_t use;
    int64_t position;     /* along the reduced axis */
    int64_t key[MAX_KEY]; /* its coordinates in the source of the windows, without dims */
    sched_map map;
    const windows_leaves *from; /* NULL: not listed */
} window_element;

struct windows_partial {
    tile_op op;
    const window_element *elements;
    size_t count;
    const tile_type *type;
    tile_value tile;
};

/* A reduction and its uses. */
typedef struct reduction {
    windows *w;
    tile_op op;
    tile_value src;
    tile_word kind;
    bool nan, returns_index;
    const tile_type *type;
    window_element *elements; /* of all uses, sorted */
    size_t count;
    tile_value *sums, *places; /* by use */
} reduction;

/* Elements ------------------------------------------------------------------------------------- */

void windows_list_leaves(windows *w, tile_value value, const sched_map *map, windows_leaves *out) {
    schedule *s = w->k.s;
    tile_op op = tile_value_def(s->compute, value);
    if (out->too_many || !sched_is_tensor(s, value)) return;
    tile_opcode opcode = op.id ? tile_op_opcode(s->compute, op) : TILE_OP_NONE;
    bool moves = op.id && tile_opcode_moves(opcode) && opcode != TILE_OP_gather &&
                 tile_op_operand_count(s->compute, op) == 1;
    bool elements = op.id && tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
    bool window = opcode == TILE_OP_window;
    if (window || sched_find_input(s, w->g, value) >= 0 || !(moves || elements)) {
        out->too_many |= out->count == WINDOWS_MAX_LEAVES;
        if (out->too_many) return;
        out->at[out->count++] =
            (windows_leaf){window ? tile_operand_src(s->compute, op) : value,
                           window ? sched_operand_map(s, op, 0, 0, map) : *map, window};
        return;
    }
    unsigned result = value.id - tile_op_result(s->compute, op, 0).id;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        sched_map at = sched_operand_map(s, op, result, i, map);
        windows_list_leaves(w, tile_op_operand(s->compute, op, i), &at, out);
    }
}

static const windows_leaves *leaves_of(const reduction *r, window_element *e) {
    if (e->from) return e->from;
    windows_leaves *made = TILE_NEW(r->w->k.s->arena, windows_leaves);
    windows_list_leaves(r->w, r->src, &e->map, made);
    return e->from = made;
}

static bool same_leaves(const windows *w, const windows_leaves *a, const windows_leaves *b) {
    if (a->count != b->count || a->too_many || b->too_many) return false;
    for (unsigned i = 0; i < a->count; i++) {
        unsigned rank = sched_type(w->k.s, a->at[i].value)->rank;
        if (a->at[i].value.id != b->at[i].value.id ||
            !sched_same_map(&a->at[i].map, &b->at[i].map, rank))
            return false;
    }
    return true;
}

/* The first window that the value is computed from, and the map of its elements. */
static tile_op find_window(schedule *s, tile_value value, sched_map *map) {
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id &&
           tile_op_opcode(s->compute, op) != TILE_OP_window) {
        unsigned next = 0, count = tile_op_operand_count(s->compute, op);
        while (next < count && !s->expands[tile_op_operand(s->compute, op, next).id]) next++;
        if (tile_op_dims(tile_op_opcode(s->compute, op)) == TILE_DIMS_folded) {
            map->at[sched_axis(s, op)] = sched_zero_coordinate();
            next = 0;
        } else {
            if (next == count) next = 0;
            if (!count || !sched_is_tensor(s, tile_op_operand(s->compute, op, next)))
                return TILE_NO_OP;
            unsigned result = value.id - tile_op_result(s->compute, op, 0).id;
            *map = sched_operand_map(s, op, result, next, map);
        }
        value = tile_op_operand(s->compute, op, next);
    }
    return op;
}

static void set_key(const reduction *r, window_element *e) {
    schedule *s = r->w->k.s;
    sched_map map = e->map;
    tile_op window = find_window(s, r->src, &map);
    if (!window.id || r->returns_index) {
        e->key[0] = e->position;
        return;
    }
    unsigned axis = (unsigned)sched_axis(s, window);
    unsigned count = tile_operands_strides(s->compute, window).count;
    sched_map at = sched_operand_map(s, window, 0, 0, &map);
    for (unsigned i = 0; i < count && i < MAX_KEY; i++) {
        sched_linear sum;
        if (sched_find_linear(&at.at[axis + i], &sum))
            e->key[MAX_KEY - (count < MAX_KEY ? count : MAX_KEY) + i] = sum.offset;
    }
}

static int compare(const void *a, const void *b) {
    const window_element *x = a, *y = b;
    for (unsigned i = 0; i < MAX_KEY; i++)
        if (x->key[i] != y->key[i]) return x->key[i] < y->key[i] ? -1 : 1;
    if (x->use != y->use) return x->use < y->use ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

static void list_elements(reduction *r, const windows_use *uses, size_t count) {
    schedule *s = r->w->k.s;
    unsigned axis = (unsigned)sched_axis(s, r->op);
    int64_t positions = sched_constant(sched_dim(s, sched_type(s, r->src), axis));
    r->elements = TILE_NEW_ARRAY(s->arena, window_element, count * (size_t)positions + 1);
    for (size_t u = 0; u < count; u++)
        for (int64_t t = 0; t < positions; t++) {
            window_element *e = &r->elements[r->count++];
            *e = (window_element){.use = u, .position = t, .map = uses[u].map};
            e->map.at[axis] = sched_number_coordinate(s, t);
            set_key(r, e);
        }
    qsort(r->elements, r->count, sizeof *r->elements, compare);
}

/* Sums ----------------------------------------------------------------------------------------- */

static tile_value value_of(const reduction *r, const window_element *e) {
    return sched_value(&r->w->k, r->src, &e->map, r->type);
}

static tile_value combine(const reduction *r, tile_value a, tile_value b) {
    return a.id ? sched_combine(&r->w->k, r->kind, r->nan, a, b) : b;
}

/* The source is a product of floats, which is summed. */
static bool sums_products(const reduction *r) {
    schedule *s = r->w->k.s;
    tile_op op = tile_value_def(s->compute, r->src);
    return r->kind == TILE_WORD_kind_add && op.id && sched_find_input(s, r->w->g, r->src) < 0 &&
           tile_op_opcode(s->compute, op) == TILE_OP_mul &&
           !tile_op_at(s->compute, op)->attr_count && sched_element(s, r->src) == r->type &&
           (r->type->scalar == TILE_f32 || r->type->scalar == TILE_f64);
}

static tile_value factor_of(const reduction *r, const window_element *e, unsigned index) {
    sched_kernel *k = &r->w->k;
    tile_op op = tile_value_def(k->s->compute, r->src);
    sched_map at = sched_operand_map(k->s, op, 0, index, &e->map);
    return sched_value(k, tile_op_operand(k->s->compute, op, index), &at, r->type);
}

/* The number as an i32 with the extents of the tile. */
static tile_value position_like(sched_kernel *k, int64_t number, tile_value tile) {
    const tile_type *i32 = tile_type_scalar(k->s->context, TILE_i32);
    const tile_type *type = tile_value_type(k->f, tile);
    tile_value value = tile_build_int(&k->b, number);
    if (type->kind != TILE_TYPE_TILE) return value;
    return tile_build_splat(&k->b, value, sched_tile_type(k, i32, type->dims));
}

static void add_element(reduction *r, const window_element *e, bool products) {
    sched_kernel *k = &r->w->k;
    tile_value *sum = &r->sums[e->use], *place = &r->places[e->use];
    if (products && sum->id) {
        const tile_segment segments[] = {
            {factor_of(r, e, 0), NULL, 0}, {factor_of(r, e, 1), NULL, 0}, {*sum, NULL, 0}};
        if (segments[0].head.id && segments[1].head.id)
            *sum = tile_build_op_value(&k->b, TILE_OP_fma, segments, 3, NULL);
        return;
    }
    tile_value own = value_of(r, e);
    if (!own.id) return;
    if (!r->returns_index) {
        *sum = combine(r, *sum, own);
        return;
    }
    tile_value here = position_like(k, e->position, own);
    tile_value better = sum->id ? sched_is_better(k, r->kind, *sum, own) : TILE_NO_VALUE;
    *place = sum->id ? tile_build_select(&k->b, better, here, *place) : here;
    *sum = sum->id ? tile_build_select(&k->b, better, own, *sum) : own;
}

/* Lines ---------------------------------------------------------------------------------------- */

/* Returns whether both are in one line, along the last dim of the windows, of one use. */
static bool same_line(const window_element *a, const window_element *b) {
    return a->use == b->use && memcmp(a->key, b->key, sizeof *a->key * (MAX_KEY - 1)) == 0;
}

/* Sorts by lines, each of one use. */
static int compare_lines(const void *a, const void *b) {
    const window_element *x = a, *y = b;
    for (unsigned i = 0; i + 1 < MAX_KEY; i++)
        if (x->key[i] != y->key[i]) return x->key[i] < y->key[i] ? -1 : 1;
    if (x->use != y->use) return x->use < y->use ? -1 : 1;
    return compare(a, b);
}

static bool same_elements(reduction *r, window_element *a, size_t count, const windows_partial *b) {
    if (b->op.id != r->op.id || b->count != count || b->type != r->type) return false;
    for (size_t i = 0; i < count; i++)
        if (a[i].key[MAX_KEY - 1] != b->elements[i].key[MAX_KEY - 1] ||
            !same_leaves(r->w, leaves_of(r, &a[i]), b->elements[i].from))
            return false;
    return true;
}

static windows_partial *find_partial(reduction *r, window_element *line, size_t count) {
    for (size_t i = r->w->partial_count; i-- > 0;)
        if (same_elements(r, line, count, &r->w->partials[i])) return &r->w->partials[i];
    return NULL;
}

static tile_value combine_line(reduction *r, window_element *line, size_t count) {
    windows *w = r->w;
    const windows_partial *before = find_partial(r, line, count);
    tile_value sum = TILE_NO_VALUE;
    if (before) return before->tile;
    for (size_t i = 0; i < count && !w->k.s->failed; i++) {
        leaves_of(r, &line[i]);
        sum = combine(r, sum, value_of(r, &line[i]));
    }
    w->partials = tile_arena_grow(w->k.s->arena, w->partials, w->partial_count,
                                  &w->partial_capacity, sizeof *w->partials);
    w->partials[w->partial_count++] = (windows_partial){r->op, line, count, r->type, sum};
    return sum;
}

static size_t line_end(const reduction *r, size_t begin) {
    size_t end = begin;
    while (end < r->count && same_line(&r->elements[begin], &r->elements[end])) end++;
    return end;
}

static void add_lines(reduction *r) {
    qsort(r->elements, r->count, sizeof *r->elements, compare_lines);
    for (size_t i = 0, end; i < r->count && !r->w->k.s->failed; i = end) {
        end = line_end(r, i);
        tile_value *sum = &r->sums[r->elements[i].use];
        *sum = combine(r, *sum, combine_line(r, &r->elements[i], end - i));
    }
}

/* Returns whether elements at one place are the same value for all windows that contain them. */
static bool shares_lines(reduction *r) {
    if (r->returns_index || sums_products(r)) return false;
    for (size_t i = 0; i + 1 < r->count; i++) {
        window_element *a = &r->elements[i], *b = a + 1;
        if (memcmp(a->key, b->key, sizeof a->key) != 0) continue;
        return same_leaves(r->w, leaves_of(r, a), leaves_of(r, b));
    }
    return true;
}

/* Reductions ----------------------------------------------------------------------------------- */

/* Returns whether the elements are only moved, so that half precision is not rounded again. */
static bool is_only_moved(const schedule *s, const sched_group *g, tile_value value) {
    tile_op op;
    while (sched_find_input(s, g, value) < 0) {
        op = tile_value_def(s->compute, value);
        if (!op.id || !tile_opcode_moves(tile_op_opcode(s->compute, op)) ||
            (tile_op_operand_count(s->compute, op) > 1 &&
             tile_op_opcode(s->compute, op) != TILE_OP_window))
            return false;
        value = tile_operand_src(s->compute, op);
    }
    return true;
}

static const tile_type *type_of(const windows *w, tile_op op, tile_word kind) {
    schedule *s = w->k.s;
    tile_value src = tile_operand_src(s->compute, op);
    const tile_type *own = sched_element(s, src);
    bool extreme = kind == TILE_WORD_kind_min || kind == TILE_WORD_kind_max;
    return extreme && is_only_moved(s, w->g, src) ? own : sched_compute_type(s, own);
}

static void remember(reduction *r, const windows_use *use, size_t index) {
    sched_kernel *k = &r->w->k;
    schedule *s = k->s;
    const tile_type *working = sched_compute_type(s, r->type);
    if (!r->sums[index].id) return;
    sched_remember(k, tile_op_result(s->compute, r->op, 0), &use->map, working,
                   sched_convert(k, r->sums[index], working));
    if (r->returns_index)
        sched_remember(k, tile_op_result(s->compute, r->op, 1), &use->map,
                       tile_type_scalar(s->context, TILE_i32), r->places[index]);
}

static void reduce(windows *w, tile_op op, const windows_use *uses, size_t count) {
    schedule *s = w->k.s;
    tile_word kind = tile_op_word(s->compute, op, TILE_ATTR_kind);
    reduction r = {
        .w = w,
        .op = op,
        .src = tile_operand_src(s->compute, op),
        .kind = kind,
        .nan = tile_op_has_attr(s->compute, op, TILE_ATTR_nan),
        .returns_index = tile_op_opcode(s->compute, op) == TILE_OP_reduce_arg,
        .type = type_of(w, op, kind),
        .sums = TILE_NEW_ARRAY(s->arena, tile_value, count + 1),
        .places = TILE_NEW_ARRAY(s->arena, tile_value, count + 1),
    };
    if (w->lines)
        windows_reduce_lines(w, op, r.type, uses, count, r.sums);
    else
        list_elements(&r, uses, count);
    if (w->lines) {
        /* Their elements are read together. */
    } else if (shares_lines(&r)) {
        add_lines(&r);
    } else {
        bool products = sums_products(&r);
        for (size_t i = 0; i < r.count && !s->failed; i++)
            add_element(&r, &r.elements[i], products);
    }
    for (size_t u = 0; u < count && !s->failed; u++) remember(&r, &uses[u], u);
}

void windows_reduce(windows *w, const windows_use *uses, size_t count) {
    schedule *s = w->k.s;
    windows_use *same = TILE_NEW_ARRAY(s->arena, windows_use, count + 1);
    bool *done = TILE_NEW_ARRAY(s->arena, bool, count + 1);
    for (size_t i = 0; i < count && !s->failed; i++) {
        size_t n = 0;
        for (size_t j = i; j < count; j++) {
            if (done[j] || uses[j].op.id != uses[i].op.id) continue;
            same[n++] = uses[j];
            done[j] = true;
        }
        if (n) reduce(w, uses[i].op, same, n);
    }
}

tile_value windows_reduce_one(sched_kernel *k, tile_op op, unsigned result, const sched_map *map,
                              const tile_type *element) {
    windows *w = (windows *)k; /* its first member */
    schedule *s = k->s;
    const windows_use use = {op, *map};
    reduce(w, op, &use, 1);
    if (s->failed) return TILE_NO_VALUE;
    return sched_value(k, tile_op_result(s->compute, op, result), map, element);
}
