/* Builds tiles of a compute's values, operation by operation. */
#include "passes/schedule/kernel/schedule.h"

#include "lib/analysis/range.h"
#include "lib/ir/syntax.h"

/* Values that are already built ---------------------------------------------------------------- */

static void insert(sched_last_entries *latest, sched_last_entry entry) {
    size_t at = entry.value * UINT32_C(2654435761) % latest->capacity;
    while (latest->heads[at].value) at = (at + 1) % latest->capacity;
    latest->heads[at] = entry;
}

uint32_t *sched_last_entry_of(tile_arena *arena, sched_last_entries *latest, tile_value value) {
    enum { FIRST = 64 }; /* all capacities are powers of two */
    if (latest->count * 2 >= latest->capacity) {
        sched_last_entries larger = {NULL, latest->count,
                                     latest->capacity ? latest->capacity * 2 : FIRST};
        larger.heads = TILE_NEW_ARRAY(arena, sched_last_entry, larger.capacity);
        for (size_t i = 0; i < latest->capacity; i++)
            if (latest->heads[i].value) insert(&larger, latest->heads[i]);
        *latest = larger;
    }
    size_t at = value.id * UINT32_C(2654435761) % latest->capacity;
    while (latest->heads[at].value && latest->heads[at].value != value.id)
        at = (at + 1) % latest->capacity;
    latest->count += !latest->heads[at].value;
    latest->heads[at].value = value.id;
    return &latest->heads[at].place;
}

void sched_remember(sched_kernel *k, tile_value value, const sched_map *map,
                    const tile_type *element, tile_value tile) {
    uint32_t *latest = sched_last_entry_of(k->s->arena, &k->latest, value);
    k->known = tile_arena_grow(k->s->arena, k->known, k->known_count, &k->known_capacity,
                               sizeof *k->known);
    k->known[k->known_count++] = (sched_known){value.id, *latest, element, *map, tile};
    *latest = (uint32_t)k->known_count;
}

void sched_leave(sched_kernel *k, size_t mark) {
    while (k->known_count > mark) {
        const sched_known *known = &k->known[--k->known_count];
        *sched_last_entry_of(k->s->arena, &k->latest, (tile_value){known->value}) = known->before;
    }
}

static tile_value recall(sched_kernel *k, tile_value value, const sched_map *map,
                         const tile_type *element) {
    unsigned rank = sched_type(k->s, value)->rank;
    uint32_t i = *sched_last_entry_of(k->s->arena, &k->latest, value);
    for (; i; i = k->known[i - 1].before) {
        const sched_known *known = &k->known[i - 1];
        if (known->element == element && sched_same_map(&known->map, map, rank)) return known->tile;
    }
    return TILE_NO_VALUE;
}

/* Types ---------------------------------------------------------------------------------------- */

static const tile_type *element_of(const sched_kernel *k, tile_value value) {
    const tile_type *type = tile_value_type(k->f, value);
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .scalar = type->scalar, .param = type->param};
    return tile_type_get(k->s->context, &draft);
}

tile_value sched_convert(sched_kernel *k, tile_value value, const tile_type *element) {
    if (!value.id || element_of(k, value) == element) return value;
    return tile_build_cast(&k->b, value, element);
}

tile_value sched_broadcast_to(sched_kernel *k, tile_value value, const tile_type *to) {
    if (!value.id) return value;
    const tile_type *type = tile_value_type(k->f, value);
    if (type == to) return value;
    return type->kind == TILE_TYPE_SCALAR ? tile_build_splat(&k->b, value, to)
                                          : tile_build_broadcast(&k->b, value, to);
}

tile_value sched_broadcast_to_tile(sched_kernel *k, tile_value value) {
    return value.id ? sched_broadcast_to(k, value, sched_full_type(k, element_of(k, value)))
                    : value;
}

tile_value sched_combine(sched_kernel *k, tile_word kind, bool nan, tile_value a, tile_value b) {
    tile_builder *to = &k->b;
    tile_value out;
    switch (kind) {
    case TILE_WORD_kind_add: return tile_build_add(to, a, b);
    case TILE_WORD_kind_mul: return tile_build_mul(to, a, b);
    case TILE_WORD_kind_min: out = tile_build_min(to, a, b); break;
    case TILE_WORD_kind_max: out = tile_build_max(to, a, b); break;
    case TILE_WORD_kind_and: return tile_build_and(to, a, b);
    case TILE_WORD_kind_or: return tile_build_or(to, a, b);
    case TILE_WORD_kind_xor: return tile_build_xor(to, a, b);
    default: return TILE_NO_VALUE;
    }
    if (nan) tile_op_set_flag(k->f, tile_value_def(k->f, out), TILE_ATTR_nan);
    return out;
}

tile_value sched_is_better(sched_kernel *k, tile_word kind, tile_value a, tile_value b) {
    tile_builder *to = &k->b;
    tile_value better =
        kind == TILE_WORD_kind_max ? tile_build_gt(to, b, a) : tile_build_lt(to, b, a);
    if (!tile_scalar_is_floating(tile_value_type(k->f, a)->scalar)) return better;
    tile_value nan = tile_build_ne(to, a, a), fine = tile_build_eq(to, b, b);
    return tile_build_or(to, better, tile_build_and(to, nan, fine));
}

/* Scalars -------------------------------------------------------------------------------------- */

static tile_value constant(sched_kernel *k, tile_value value, const tile_type *element) {
    const tile_expr *expr = tile_value_at(k->s->compute, value)->expr;
    const tile_type *own = sched_element(k->s, value);
    const tile_expr *known = expr->kind == TILE_EXPR_FLOAT ? expr : sched_expr(k->s, expr);
    if (!tile_expr_has_arg(known)) {
        bool both = tile_scalar_is_floating(own->scalar) && element->scalar &&
                    tile_scalar_is_floating(element->scalar);
        return sched_convert(k, tile_build_constant(&k->b, both ? element : own, known), element);
    }
    return sched_convert(k, sched_number(k, known), element);
}

static tile_value argument(sched_kernel *k, tile_value value, const tile_type *element) {
    for (size_t i = 0; i < k->s->compute->arg_count; i++)
        if (k->s->compute->args[i].value.id == value.id)
            return sched_convert(k, k->scalars[i], element);
    return TILE_NO_VALUE;
}

/* Operations ----------------------------------------------------------------------------------- */

/* The type in which an operand is needed for a result computed in `working`. */
static const tile_type *operand_type_for(sched_kernel *k, tile_op op, unsigned operand,
                                         const tile_type *working) {
    schedule *s = k->s;
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    const tile_type *own = sched_element(s, tile_op_operand(s->compute, op, operand));
    if (opcode == TILE_OP_bitcast) return own;
    if (opcode == TILE_OP_select) return operand ? working : own;
    if (opcode == TILE_OP_cast || tile_op_has_trait(opcode, TILE_TRAIT_COMPARE))
        return sched_compute_type(s, own);
    return working;
}

/* A quotient by one number per row: a product with its reciprocal. If the divisor's reciprocal, or
 * its rounding error, would not be a normal number, the divisor and the dividend are scaled by a
 * power of two. The error is 1.5 units in the last place. */
tile_value sched_divide(sched_kernel *k, tile_value a, tile_value b, const tile_type *type) {
    tile_builder *to = &k->b;
    tile_context *context = k->s->context;
    tile_value one = tile_build_constant(to, type, tile_expr_float(context, 1));
    tile_value down = tile_build_constant(to, type, tile_expr_float(context, 0x1p-60));
    tile_value up = tile_build_constant(to, type, tile_expr_float(context, 0x1p60));
    tile_value size = tile_build_abs(to, b);
    tile_value large =
        tile_build_gt(to, size, tile_build_constant(to, type, tile_expr_float(context, 0x1p100)));
    tile_value small =
        tile_build_lt(to, size, tile_build_constant(to, type, tile_expr_float(context, 0x1p-100)));
    const tile_type *shape = tile_value_type(k->f, b);
    tile_value scale = tile_build_select(to, small, tile_build_splat(to, up, shape),
                                         tile_build_splat(to, one, shape));
    scale = tile_build_select(to, large, tile_build_splat(to, down, shape), scale);
    tile_value reciprocal =
        tile_build_div(to, tile_build_splat(to, one, shape), tile_build_mul(to, b, scale));
    return tile_build_mul(to, tile_build_mul(to, a, scale), reciprocal);
}

/* Returns whether a tile is divided by one that is repeated along one of its dims. */
static bool divides_rows(const sched_kernel *k, tile_op op, const tile_segment *segments) {
    const tile_type *a = tile_value_type(k->f, segments[0].head);
    const tile_type *b = tile_value_type(k->f, segments[1].head);
    return tile_op_opcode(k->s->compute, op) == TILE_OP_div && a->scalar == TILE_f32 &&
           a->kind == TILE_TYPE_TILE && b->kind == TILE_TYPE_TILE && a != b &&
           b != sched_full_type(k, tile_type_scalar(k->s->context, TILE_f32)) &&
           !tile_op_at(k->s->compute, op)->attr_count;
}

static tile_value compute_elementwise(sched_kernel *k, tile_op op, const sched_map *map,
                                      const tile_type *element) {
    schedule *s = k->s;
    tile_value result = tile_op_result(s->compute, op, 0);
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    const tile_op_data *data = tile_op_at(s->compute, op);
    const tile_type *own = sched_element(s, result), *working = sched_compute_type(s, own);
    bool converts = opcode == TILE_OP_cast || opcode == TILE_OP_bitcast;
    tile_segment segments[TILE_MAX_OPERANDS] = {{{0}, NULL, 0}};
    for (uint32_t i = 0; i < data->operand_count; i++) {
        sched_map at = sched_operand_map(s, op, 0, i, map);
        segments[i].head = sched_value(k, tile_op_operand(s->compute, op, i), &at,
                                       operand_type_for(k, op, i, working));
        if (!segments[i].head.id) return TILE_NO_VALUE;
    }
    if (opcode == TILE_OP_splat ||
        (opcode == TILE_OP_cast && !data->attr_count && element_of(k, segments[0].head) == own))
        return sched_convert(k, segments[0].head, element);
    if (divides_rows(k, op, segments))
        return sched_convert(k, sched_divide(k, segments[0].head, segments[1].head, working),
                             element);
    tile_op made = tile_build_op_of(&k->b, opcode, segments, data->operand_count,
                                    converts ? own : NULL, data->attrs, data->attr_count);
    for (unsigned i = 0; made.id && i < data->attr_count; i++)
        tile_op_take_attr(k->f, made, s->compute, op, data->attrs[i].id);
    return sched_convert(k, tile_op_result(k->f, made, 0), element);
}

/* A start or step of an iota. Known numbers wrap to the type. */
static tile_value iota_number(sched_kernel *k, const tile_expr *expr, const tile_type *type) {
    int64_t integer;
    if (tile_expr_has_arg(expr)) return sched_convert(k, sched_number(k, expr), type);
    if (tile_expr_is_int(expr, &integer))
        expr = tile_expr_int(k->s->context, tile_wrap_int(type->scalar, integer));
    return tile_build_constant(&k->b, type, expr);
}

/* start + step * coordinate, computed in integers that can hold it and then converted to the
 * type. */
static tile_value compute_iota(sched_kernel *k, tile_op op, const sched_map *map,
                               const tile_type *element) {
    schedule *s = k->s;
    const tile_expr *one = tile_expr_int(s->context, 1), *zero = tile_expr_int(s->context, 0);
    const tile_attr *start = tile_op_attr(s->compute, op, TILE_ATTR_start);
    const tile_attr *step = tile_op_attr(s->compute, op, TILE_ATTR_step);
    const tile_type *own = sched_element(s, tile_op_result(s->compute, op, 0));
    bool small = !tile_scalar_is_floating(own->scalar) && tile_scalar_bits(own->scalar) <= 32;
    const tile_type *type = tile_type_scalar(s->context, small ? TILE_i32 : TILE_i64);
    const tile_expr *a = sched_expr(s, start ? start->expr : zero);
    const tile_expr *by = sched_expr(s, step ? step->expr : one);
    tile_value at = sched_coordinate_tile(k, &map->at[sched_axis(s, op)]);
    at = sched_convert(k, at, type);
    if (by != one) at = tile_build_mul(&k->b, at, iota_number(k, by, type));
    if (a != zero) at = tile_build_add(&k->b, at, iota_number(k, a, type));
    return sched_convert(k, sched_convert(k, at, own), element);
}

static tile_value operand(sched_kernel *k, tile_op op, unsigned result, unsigned index,
                          const sched_map *map, const tile_type *element) {
    sched_map at = sched_operand_map(k->s, op, result, index, map);
    return sched_value(k, tile_op_operand(k->s->compute, op, index), &at, element);
}

/* Selects each part where its coordinates are not negative, and the previous part elsewhere. */
static tile_value compute_concat(sched_kernel *k, tile_op op, const sched_map *map,
                                 const tile_type *element) {
    tile_value sum = operand(k, op, 0, 0, map, element);
    for (unsigned i = 1; i < tile_op_operand_count(k->s->compute, op); i++) {
        sched_coordinate at = sched_part_coordinate(k->s, op, i, map);
        tile_value place = sched_coordinate_tile(k, &at);
        tile_value inside = tile_build_ge(&k->b, place, tile_build_int(&k->b, 0));
        tile_value part = operand(k, op, 0, i, map, element);
        sum = tile_build_select(&k->b, inside, part, sum);
    }
    return sum;
}

static tile_value compute_join(sched_kernel *k, tile_op op, const sched_map *map,
                               const tile_type *element) {
    unsigned last = sched_type(k->s, tile_op_result(k->s->compute, op, 0))->rank - 1;
    tile_value place = sched_coordinate_tile(k, &map->at[last]);
    tile_value first = tile_build_eq(&k->b, place, tile_build_int(&k->b, 0));
    return tile_build_select(&k->b, first, operand(k, op, 0, 0, map, element),
                             operand(k, op, 0, 1, map, element));
}

/* i1: 0 <= coordinate < extent. */
static tile_value is_inside(sched_kernel *k, const sched_coordinate *at, const tile_expr *extent) {
    tile_value end = sched_number(k, sched_expr(k->s, extent));
    const sched_coordinate here = k->reduce ? sched_simplified(k->s, at) : *at;
    return tile_build_ult(&k->b, sched_coordinate_tile(k, &here), end);
}

static const tile_expr *pad_of(sched_kernel *k, tile_op op, const tile_type *element) {
    const tile_attr *attr = tile_op_attr(k->s->compute, op, TILE_ATTR_pad);
    const tile_expr *pad = attr ? attr->expr : tile_expr_int(k->s->context, 0);
    int64_t whole;
    bool floats = tile_scalar_is_floating(element->scalar);
    if (floats && tile_expr_is_int(pad, &whole))
        pad = tile_expr_float(k->s->context, (double)whole);
    return pad;
}

static sched_padded *find_padded(sched_kernel *k, tile_value value, const sched_map *map,
                                 const tile_expr *pad, const tile_type *element) {
    unsigned rank = sched_type(k->s, value)->rank;
    for (size_t i = k->padded_count; i-- > 0;) {
        sched_padded *p = &k->padded[i];
        if (p->value.id == value.id && p->pad == pad && p->element == element &&
            sched_same_map(&p->map, map, rank))
            return p;
    }
    return NULL;
}

/* An array's elements outside of it are the pad of the load. Returns no value where there is no
 * such load. */
static tile_value load_window(sched_kernel *k, tile_value src, const sched_map *at,
                              const tile_expr *pad, const tile_type *element) {
    const tile_type *own = sched_element(k->s, src);
    int array = sched_find_input(k->s, k->g, src);
    if (array < 0 || !tile_scalar_has_arithmetic(own->scalar) || own->param) return TILE_NO_VALUE;
    return sched_convert(k, sched_load_padded(k, (unsigned)array, src, at, pad), element);
}

static tile_value select_window(sched_kernel *k, tile_op op, const sched_map *at,
                                const tile_type *element) {
    schedule *s = k->s;
    int64_t axis = sched_axis(s, op);
    unsigned windowed = tile_operands_strides(s->compute, op).count;
    const tile_type *type = sched_type(s, tile_operand_src(s->compute, op));
    tile_value value = sched_value(k, tile_operand_src(s->compute, op), at, element), inside;
    if (!value.id || sched_is_padded(s, k->g, op)) return value;
    for (unsigned i = 0; i < windowed; i++) {
        unsigned d = (unsigned)axis + i;
        tile_value here = is_inside(k, &at->at[d], sched_dim(s, type, d));
        inside = i ? tile_build_and(&k->b, inside, here) : here;
    }
    tile_value pad = tile_build_constant(&k->b, element, pad_of(k, op, element));
    return tile_build_select(&k->b, inside, value, pad);
}

/* Out-of-bounds elements of an array already load as 0. In a windowed kernel, windows that overlap
 * share their elements. */
static tile_value compute_window(sched_kernel *k, tile_op op, const sched_map *map,
                                 const tile_type *element) {
    schedule *s = k->s;
    sched_map at = sched_operand_map(s, op, 0, 0, map);
    tile_value src = tile_operand_src(s->compute, op), made;
    for (unsigned d = 0; d < sched_type(s, src)->rank && k->reduce; d++)
        at.at[d] = sched_simplified(s, &at.at[d]);
    if (!k->reduce || sched_is_padded(s, k->g, op)) return select_window(k, op, &at, element);
    const tile_expr *pad = pad_of(k, op, element);
    const sched_padded *before = find_padded(k, src, &at, pad, element);
    if (before) return before->tile;
    made = load_window(k, src, &at, pad, element);
    if (!made.id) made = select_window(k, op, &at, element);
    k->padded = tile_arena_grow(s->arena, k->padded, k->padded_count, &k->padded_capacity,
                                sizeof *k->padded);
    k->padded[k->padded_count++] = (sched_padded){src, at, pad, element, made};
    return made;
}

/* Returns whether whole rows are gathered, each by one index of an index tile. */
static bool takes_rows(const sched_kernel *k, tile_value at, const sched_map *map, int64_t axis,
                       unsigned rank) {
    const tile_type *type = tile_value_type(k->f, at);
    bool along = map->at[1].dim >= 0 && k->tile_of[map->at[1].dim] == 1;
    return k->tile_rank == 2 && rank == 2 && axis == 0 && along && type->kind == TILE_TYPE_TILE &&
           tile_expr_is(type->dims[1], 1);
}

static tile_value gather_rows(sched_kernel *k, tile_value view, tile_value at, const sched_map *map,
                              const tile_type *element) {
    tile_type draft = *tile_value_type(k->f, at);
    draft.rank = 1;
    draft.dims[1] = NULL;
    tile_value index[] = {
        tile_build_reshape(&k->b, at, TILE_NO_VALUE, tile_type_get(k->s->context, &draft)),
        sched_begin(k, &map->at[1])};
    const tile_expr *dims[] = {draft.dims[0], k->block[1]};
    return tile_build_load(&k->b, view, index, 2, TILE_NO_VALUE, sched_tile_type(k, element, dims));
}

/* Broadcasts index tiles to the tile's extents along the dims that the map uses, and to 1 along
 * others. */
static tile_value span(sched_kernel *k, tile_value index, const sched_map *map, unsigned rank) {
    const tile_expr *dims[SCHED_MAX_TILE];
    if (!index.id) return index;
    for (unsigned t = 0; t < k->tile_rank; t++) dims[t] = tile_expr_int(k->s->context, 1);
    for (unsigned d = 0; d < rank; d++) {
        int t = map->at[d].dim < 0 ? -1 : k->tile_of[map->at[d].dim];
        if (t >= 0) dims[t] = k->block[t];
    }
    return sched_broadcast_to(k, index, sched_tile_type(k, element_of(k, index), dims));
}

static tile_value compute_gather(sched_kernel *k, tile_op op, const sched_map *map,
                                 const tile_type *element) {
    schedule *s = k->s;
    tile_value src = tile_operand_src(s->compute, op), index[TILE_MAX_RANK];
    const tile_type *i32 = tile_type_scalar(s->context, TILE_i32), *own = sched_element(s, src);
    const tile_type *places = sched_element(s, tile_operand_at(s->compute, op));
    int64_t axis = sched_axis(s, op);
    unsigned rank = sched_type(s, src)->rank;
    sched_map gathered = sched_gathered(s, op, map);
    if (sched_find_input(s, k->g, src) < 0) return sched_value(k, src, &gathered, element);
    tile_value at = operand(k, op, 0, 1, map, places->scalar == TILE_i64 ? places : i32);
    int array = sched_find_input(s, k->g, src);
    if (!at.id) return TILE_NO_VALUE;
    tile_value view = sched_array_view(k, (unsigned)array, src);
    if (takes_rows(k, at, map, axis, rank))
        return sched_convert(k, gather_rows(k, view, at, map, own), element);
    for (unsigned d = 0; d < rank; d++)
        index[d] = span(k, d == axis ? at : sched_coordinate_tile(k, &map->at[d]), map, rank);
    tile_value tile = tile_build_load(&k->b, view, index, rank, TILE_NO_VALUE, NULL);
    return sched_convert(k, tile, element);
}

static tile_value compute(sched_kernel *k, tile_value value, tile_op op, const sched_map *map,
                          const tile_type *element) {
    schedule *s = k->s;
    unsigned result = value.id - tile_op_result(s->compute, op, 0).id;
    if (k->reduce && tile_op_dims(tile_op_opcode(s->compute, op)) == TILE_DIMS_folded)
        return k->reduce(k, op, result, map, element);
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_concat: return compute_concat(k, op, map, element);
    case TILE_OP_join: return compute_join(k, op, map, element);
    case TILE_OP_window: return compute_window(k, op, map, element);
    case TILE_OP_iota: return compute_iota(k, op, map, element);
    case TILE_OP_gather: return compute_gather(k, op, map, element);
    default: break;
    }
    if (tile_opcode_moves(tile_op_opcode(s->compute, op)))
        return operand(k, op, result, 0, map, element);
    if (tile_op_has_trait(tile_op_opcode(s->compute, op), TILE_TRAIT_ELEMENTWISE))
        return compute_elementwise(k, op, map, element);
    SCHED_FAIL(s, op, "%s cannot be computed inside of @%s: write a kernel for @%s",
               tile_op_name(s->compute, op), k->f->name, s->compute->name);
    return TILE_NO_VALUE;
}

/* Long chains ---------------------------------------------------------------------------------- */

/* A value that a later one needs. */
typedef struct pending_value {
    tile_value value;
    sched_map map;
    const tile_type *element;
    bool opened; /* its operands have been pushed */
} pending_value;

typedef struct pending_values {
    pending_value *items;
    size_t count, capacity;
} pending_values;

/* Returns whether the value depends only on its operands, at positions that follow from its own. */
static bool is_of_operands(const sched_kernel *k, tile_value value) {
    tile_op op = tile_value_def(k->s->compute, value);
    if (!op.id || sched_find_input(k->s, k->g, value) >= 0) return false;
    return tile_op_has_trait(tile_op_opcode(k->s->compute, op), TILE_TRAIT_ELEMENTWISE) ||
           sched_only_moves(k->s, op);
}

static void add_pending_value(sched_kernel *k, pending_values *w, tile_value value,
                              const sched_map *map, const tile_type *element) {
    if (!is_of_operands(k, value) || recall(k, value, map, element).id) return;
    w->items = tile_arena_grow(k->s->arena, w->items, w->count, &w->capacity, sizeof *w->items);
    w->items[w->count++] = (pending_value){value, *map, element, false};
}

static void push_operands(sched_kernel *k, pending_values *w, const pending_value *of) {
    schedule *s = k->s;
    tile_op op = tile_value_def(s->compute, of->value);
    bool elements = tile_op_has_trait(tile_op_opcode(s->compute, op), TILE_TRAIT_ELEMENTWISE);
    const tile_type *working = sched_compute_type(s, sched_element(s, of->value));
    for (unsigned i = tile_op_operand_count(s->compute, op); i-- > 0;) {
        sched_map at = sched_operand_map(s, op, 0, i, &of->map);
        add_pending_value(k, w, tile_op_operand(s->compute, op, i), &at,
                          elements ? operand_type_for(k, op, i, working) : of->element);
    }
}

/* Builds the operands first, using an explicit stack, so that chains of any length do not overflow
 * the call stack. */
static void compute_before(sched_kernel *k, tile_value value, const sched_map *map,
                           const tile_type *element) {
    pending_values w = {NULL, 0, 0};
    unsigned depth = k->depth;
    k->depth = 0;
    const pending_value first = {value, *map, element, true};
    push_operands(k, &w, &first);
    while (w.count && !k->s->failed) {
        const pending_value next = w.items[w.count - 1];
        w.items[w.count - 1].opened = true;
        if (!next.opened) {
            push_operands(k, &w, &next);
        } else {
            sched_value(k, next.value, &next.map, next.element);
            w.count--;
        }
    }
    k->depth = depth;
}

tile_value sched_value(sched_kernel *k, tile_value value, const sched_map *map,
                       const tile_type *element) {
    schedule *s = k->s;
    if (s->failed) return TILE_NO_VALUE;
    tile_value made = recall(k, value, map, element);
    if (made.id) return made;
    tile_op op = tile_value_def(s->compute, value);
    int array = sched_find_input(s, k->g, value);
    const tile_type *own = sched_element(s, value), *working = sched_compute_type(s, own);
    made = working == element ? made : recall(k, value, map, working);
    if (made.id) return sched_convert(k, made, element);
    if (op.id) k->b.loc = tile_op_loc(s->compute, op);
    if (array >= 0 && element != own) {
        made = sched_convert(k, sched_value(k, value, map, own), element);
    } else if (array >= 0) {
        made = sched_load(k, (unsigned)array, value, map);
    } else if (tile_value_at(s->compute, value)->kind == TILE_VALUE_CONSTANT) {
        return constant(k, value, element);
    } else if (!op.id) {
        return argument(k, value, element);
    } else {
        enum { DEEP = 64 };
        if (++k->depth % DEEP == 0 && is_of_operands(k, value))
            compute_before(k, value, map, element);
        made = compute(k, value, op, map, element);
        k->depth--;
    }
    if (made.id) sched_remember(k, value, map, element, made);
    return made;
}
