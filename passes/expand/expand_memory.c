/* Memory accesses in the region of a `parallel`, rewritten as accesses of all elements at once. */
#include "lib/ops/gather.h"
#include "passes/expand/expand_parallel.h"

/* Coordinates --------------------------------------------------------------------------------- */

static expanded_index place_of_sum(expansion *e, tile_op op, expanded_index place) {
    tile_opcode opcode = tile_op_opcode(e->f, op);
    tile_value lhs = tile_operand_lhs(e->f, op), rhs = tile_operand_rhs(e->f, op);
    bool turned = opcode == TILE_OP_add && !expand_value(e, lhs).dims;
    expanded added = expand_value(e, turned ? lhs : rhs);
    expanded_index counted = expand_place(e, turned ? rhs : lhs);
    if (counted.kind != EXPANDED_COORDINATE || added.dims) return place;
    place.kind = EXPANDED_COORDINATE;
    place.dim = counted.dim;
    place.base = added.value;
    if (opcode == TILE_OP_sub)
        place.base = counted.base.id ? tile_build_sub(&e->x.b, counted.base, added.value)
                                     : tile_build_neg(&e->x.b, added.value);
    else if (counted.base.id)
        place.base = tile_build_add(&e->x.b, counted.base, added.value);
    return place;
}

/* For the quotient or remainder of a nonnegative coordinate and a positive constant. */
static expanded_index place_of_part(expansion *e, tile_op op, expanded_index place) {
    int64_t by;
    tile_opcode opcode = tile_op_opcode(e->f, op);
    expanded_index counted = expand_place(e, tile_operand_lhs(e->f, op));
    if (counted.kind != EXPANDED_COORDINATE || counted.base.id ||
        !tile_value_is_int(e->f, expand_value(e, tile_operand_rhs(e->f, op)).value, &by))
        return place;
    bool rest = opcode == TILE_OP_rem || opcode == TILE_OP_mod || opcode == TILE_OP_and;
    if (opcode == TILE_OP_shr || opcode == TILE_OP_ushr)
        by = by >= 0 && by < 31 ? INT64_C(1) << by : 0;
    if (opcode == TILE_OP_and) by = (by & (by + 1)) ? 0 : by + 1;
    if (by < 1) return place;
    place.kind = rest ? EXPANDED_REMAINDER : EXPANDED_QUOTIENT;
    place.dim = counted.dim;
    place.by = by;
    return place;
}

expanded_index expand_place(expansion *e, tile_value value) {
    expanded_index place = {.kind = EXPANDED_OTHER, .at = expand_value(e, value)};
    const tile_value_data *data = tile_value_at(e->f, value);
    tile_op def = tile_value_def(e->f, value);
    if (!place.at.dims) {
        place.kind = EXPANDED_UNIFORM;
        return place;
    }
    if (data->kind == TILE_VALUE_REGION &&
        tile_region_at(e->f, (tile_region){data->owner})->parent.id == e->op.id) {
        place.kind = EXPANDED_COORDINATE;
        place.dim = data->index;
        return place;
    }
    if (!def.id || data->type->scalar != TILE_i32) return place;
    switch (tile_op_opcode(e->f, def)) {
    case TILE_OP_add:
    case TILE_OP_sub: return place_of_sum(e, def, place);
    case TILE_OP_div:
    case TILE_OP_shr:
    case TILE_OP_ushr:
    case TILE_OP_rem:
    case TILE_OP_mod:
    case TILE_OP_and: return place_of_part(e, def, place);
    default: return place;
    }
}

/* Memory -------------------------------------------------------------------------------------- */

static unsigned has_stage(const expansion *e, const tile_value *element) {
    return tile_value_type(e->f, element[0])->stages != NULL;
}

/* The access pattern of an element of a view or shared buffer. A buffer's stage is not an index of
 * it. */
static expanded_access access_of(expansion *e, const tile_value *element, unsigned count,
                                 uint32_t points) {
    expanded_index places[TILE_MAX_RANK];
    unsigned first = 1 + has_stage(e, element);
    for (unsigned d = 0; d + first < count; d++) places[d] = expand_place(e, element[first + d]);
    return expanded_find_access(&e->x, places, count - first, points);
}

/* The element operand of the access. brackets: an array for a stage and the coordinates, owned by
 * the caller. */
static tile_segment element_of(const expansion *e, const tile_value *element,
                               const expanded_access *a, tile_value *brackets) {
    unsigned stages = has_stage(e, element);
    if (stages) brackets[0] = expand_value(e, element[1]).value;
    for (unsigned d = 0; d < a->rank; d++) brackets[stages + d] = a->index[d];
    return (tile_segment){element[0], brackets, stages + a->rank};
}

/* The type of the moved tile: the dims of the access, with the element type of `like`. */
static const tile_type *moved_type(const expansion *e, const expanded_access *a,
                                   const tile_type *like) {
    int64_t extents[EXPANDED_MAX_INDICES];
    if (!a->order.rank) return like;
    for (unsigned d = 0; d < a->order.rank; d++)
        extents[d] = a->order.dim[d] == EXPANDED_NO_DIM ? 1 : e->x.extent[a->order.dim[d]];
    return expanded_extents(&e->x, like, extents, a->order.rank);
}

/* Broadcasts and transposes a value to the order of the access; scalars stay scalars. */
static tile_value in_order(expansion *e, expanded s, const expanded_access *a) {
    if (!s.value.id || !s.dims || !a->order.rank) return s.value;
    uint32_t dims = expanded_dims(&a->order);
    return expanded_to_order(&e->x, (expanded){expanded_broadcast(&e->x, s, dims), dims},
                             &a->order);
}

static expanded predicate_of(expansion *e, tile_op op) {
    tile_value own = tile_operand_predicate(e->f, op);
    return own.id ? expand_and(e, e->predicate, expand_value(e, own)) : e->predicate;
}

/* The user guarantees that coordinates are in bounds; only accesses with index tiles need the
 * mark. */
static void assume_in_bounds(expansion *e, tile_op made) {
    tile_gather gather;
    if (tile_gather_of(e->f, made, &gather) && gather.tiles)
        tile_op_set_flag(e->f, made, TILE_ATTR_in_bounds);
}

/* No two elements store to the same address. */
static void assume_distinct(expansion *e, tile_op made) {
    tile_gather gather;
    if (tile_gather_of(e->f, made, &gather) && gather.tiles)
        tile_op_set_flag(e->f, made, TILE_ATTR_unique_indices);
}

/* Loads element by element from a buffer: the elements' coordinates need not form a contiguous part
 * of it. */
static void expand_pick(expansion *e, tile_op op, const tile_value *element, unsigned count) {
    tile_value brackets[TILE_MAX_RANK + 1];
    expanded predicate = predicate_of(e, op);
    if (has_stage(e, element) && expand_value(e, element[1]).dims &&
        !expand_reject_varying(e, op, "the stage of a shared buffer"))
        return;
    uint32_t dims = predicate.dims;
    for (unsigned i = 1; i < count; i++) dims |= expand_value(e, element[i]).dims;
    expanded_access a = access_of(e, element, count, dims);
    tile_segment segments[2] = {element_of(e, element, &a, brackets),
                                {in_order(e, predicate, &a), NULL, 0}};
    tile_value old = tile_op_result(e->f, op, 0);
    tile_op made = expand_rebuild(e, op, segments, moved_type(e, &a, tile_value_type(e->f, old)));
    if (!made.id) return;
    assume_in_bounds(e, made);
    expanded loaded = {tile_op_result(e->f, made, 0), 0};
    expand_set(e, old, a.order.rank ? expanded_from_order(&e->x, loaded.value, &a.order) : loaded);
}

/* A load or `inside`. Elements that are predicated off at this point get any value. Elements whose
 * own predicate is false get the pad. */
void expand_load(expansion *e, tile_op op) {
    const tile_values element = tile_operands_src(e->f, op);
    if (tile_value_type(e->f, element.at[0])->kind == TILE_TYPE_SHARED) {
        expand_pick(e, op, element.at, element.count);
        return;
    }
    expanded_access a = access_of(e, element.at, element.count, 0);
    expanded predicate = predicate_of(e, op);
    unsigned own = tile_operands_predicate(e->f, op).count;
    if (own && predicate.dims & ~a.dims)
        a = access_of(e, element.at, element.count, predicate.dims | a.dims | EXPANDED_TILE);
    tile_segment segments[2] = {{element.at[0], a.index, a.rank}, {{0}, NULL, 0}};
    bool known = !(predicate.dims & ~a.dims) && a.order.rank;
    if (own || known) segments[1].head = in_order(e, predicate, &a);
    tile_value old = tile_op_result(e->f, op, 0);
    tile_op made = expand_rebuild(e, op, segments, moved_type(e, &a, tile_value_type(e->f, old)));
    if (!made.id) return;
    expanded loaded = {tile_op_result(e->f, made, 0), 0};
    expand_set(e, old, a.order.rank ? expanded_from_order(&e->x, loaded.value, &a.order) : loaded);
}

static bool refuse_store(expansion *e, tile_op op, uint32_t missing) {
    unsigned d = 0;
    while (!(missing >> d & 1)) d++;
    const char *name =
        tile_value_at(e->f, tile_region_arg(e->f, tile_op_region(e->f, e->op, 0), d))->name;
    tile_error_of(e->f, op,
                  "elements of `parallel` that differ only in %%%s store to one location; put %%%s "
                  "into the coordinates, select one by `if %%%s == 0`, or use an atomic operation",
                  name ? name : "i", name ? name : "i", name ? name : "i");
    e->failed = true;
    return false;
}

/* Stores a whole tile if each element of the buffer, or of its stage, corresponds to one element of
 * the space. */
static bool store_whole(expansion *e, const tile_value *element, unsigned count, expanded source) {
    const tile_type *buffer = tile_value_type(e->f, element[0]);
    expanded_access a = access_of(e, element, count, 0);
    tile_value stage = has_stage(e, element) ? expand_value(e, element[1]).value : TILE_NO_VALUE;
    bool whole = a.order.rank == a.rank;
    for (unsigned d = 0; d < a.rank && whole; d++) {
        int64_t start, extent = 1;
        if (a.order.dim[d] != EXPANDED_NO_DIM) extent = e->x.extent[a.order.dim[d]];
        whole = tile_value_is_int(e->f, a.index[d], &start) && !start &&
                extent == tile_type_dim(buffer, d);
    }
    if (!whole || a.dims != e->x.full) return false;
    const tile_type *moved = moved_type(e, &a, buffer);
    tile_value tile =
        source.dims ? in_order(e, source, &a) : tile_build_splat(&e->x.b, source.value, moved);
    tile_build_store_shared(&e->x.b, tile, element[0], &stage, stage.id != 0);
    return true;
}

/* An operand of a store, in the order of the stored tile and with as many elements. */
static tile_value stored_value(expansion *e, expanded s, const expanded_access *a) {
    if (s.dims || !a->order.rank) return in_order(e, s, a);
    return tile_build_splat(&e->x.b, s.value, moved_type(e, a, tile_value_type(e->f, s.value)));
}

/* A store, atomic or compare-and-swap by all active elements. */
void expand_store(expansion *e, tile_op op) {
    tile_value brackets[TILE_MAX_RANK + 1];
    bool atomic = tile_op_opcode(e->f, op) != TILE_OP_store;
    bool swaps = tile_op_opcode(e->f, op) == TILE_OP_atomic_cas;
    unsigned memory = tile_place_of(tile_op_opcode(e->f, op), TILE_OPERAND_dst);
    const tile_values element = tile_operands_dst(e->f, op);
    expanded source = expand_value(e, tile_moved_operand(e->f, op)),
             last = swaps ? expand_value(e, tile_operand_desired(e->f, op)) : source;
    expanded predicate = predicate_of(e, op);
    bool shared = tile_value_type(e->f, element.at[0])->kind == TILE_TYPE_SHARED;
    if (has_stage(e, element.at) && expand_value(e, element.at[1]).dims &&
        !expand_reject_varying(e, op, "the stage of a shared buffer"))
        return;
    if (shared && !atomic && !predicate.value.id &&
        store_whole(e, element.at, element.count, source))
        return;
    expanded_access a = access_of(e, element.at, element.count, shared ? e->x.full : 0);
    uint32_t missing = e->x.full & ~a.dims & ~EXPANDED_TILE;
    if (missing & ~predicate.dims && !atomic) {
        refuse_store(e, op, missing & ~predicate.dims);
        return;
    }
    bool tiles = source.dims || last.dims || predicate.dims; /* possibly of one element each */
    if (missing || (tiles && !a.order.rank)) a = access_of(e, element.at, element.count, e->x.full);
    tile_segment segments[TILE_MAX_OPERANDS] = {{stored_value(e, source, &a), NULL, 0}};
    if (swaps) segments[memory - 1].head = stored_value(e, last, &a);
    segments[memory] = element_of(e, element.at, &a, brackets);
    segments[memory + 1].head = in_order(e, predicate, &a);
    tile_op made = expand_rebuild(e, op, segments, NULL);
    if (made.id && shared) assume_in_bounds(e, made);
    if (made.id && !atomic) assume_distinct(e, made);
    if (!made.id || !atomic) return;
    expanded old = {tile_op_result(e->f, made, 0), 0};
    expand_set(e, tile_op_result(e->f, op, 0),
               a.order.rank ? expanded_from_order(&e->x, old.value, &a.order) : old);
}
