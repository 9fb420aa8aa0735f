/* Products and reductions whose results are moved before they are stored.
 *
 * The group's domain is that of the product, or of the reduced rows, and its tiles are stored where
 * their elements belong, as the last of these does with the result of each head:
 *
 *     %c = reshape(%p : [m, n]) : [m / 4, 4, n]
 *     %c = transpose(%p : [heads, m, n], order = [1, 0, 2])
 *     %c = reshape(transpose(%p, order = [1, 0, 2])) : [m, heads * n]
 *
 * From the value to the product or reduction there may be any element-wise operations, broadcasts,
 * transposes and reshapes that split or merge dims. The positions of the value's elements in the
 * domain follow from these operations, beginning at the product. Stores need not be contiguous as a
 * whole, but they must have runs of contiguous elements: a sector of 32 bytes or more, or any
 * number along a dim of the domain.
 *
 * If that does not fit, any chain of reshapes, transposes and slices is stored with index tiles, as
 * the phases of a transposed convolution are (lib/builder/expand_convolve.c):
 *
 *     %t = transpose(reshape(%p : [b, m, k]) : [b, n, q, k], order = [1, 2, 0, 3])
 *     %c = slice(reshape(%t) : [n, q * b, k], [0, 1, 0]) : [n, p, k] */
#include "passes/schedule/cut/moved.h"

/* Positions ------------------------------------------------------------------------------------ */

/* Finds where the elements of values are in the domain of an anchor, a product or reduction. */
typedef struct placer {
    schedule *s;
    tile_value anchor;
    const sched_map *at; /* of the anchor; NULL: it is the domain's product or reduction */
    const sched_domain *domain;
    int axis; /* that the anchor reduces; -1: none */
    bool *failed;
} placer;

static bool place(placer *p, tile_value value, sched_map *map);

/* The elements of a dim that an operand repeats are those of a row. */
static bool stretch(placer *p, const tile_type *from, const tile_type *to, const sched_map *map,
                    sched_map *out) {
    bool taken = p->axis < 0;
    for (unsigned d = 0; d < from->rank; d++)
        taken |= p->axis >= 0 && sched_depends(&map->at[d], (unsigned)p->axis);
    for (unsigned d = to->rank; d-- > 0;) {
        int own = (int)d - to->rank + from->rank;
        bool same = own >= 0 && sched_dim(p->s, from, (unsigned)own) == sched_dim(p->s, to, d);
        if (same) {
            out->at[d] = map->at[own];
        } else if (tile_expr_is(sched_dim(p->s, to, d), 1)) {
            out->at[d] = sched_zero_coordinate();
        } else {
            if (taken || p->domain->extents[p->axis] != sched_dim(p->s, to, d)) return false;
            out->at[d] = sched_dim_coordinate((unsigned)p->axis);
            taken = true;
        }
    }
    return true;
}

/* Dim d of a transpose is dim order[d] of its source. Without an order the last two are exchanged.
 */
static bool permute(const schedule *s, tile_op op, unsigned rank, const sched_map *map,
                    sched_map *out) {
    const tile_attr *order = tile_op_attr(s->compute, op, TILE_ATTR_order);
    for (unsigned d = 0; d < rank; d++) {
        unsigned exchanged = d + 2 < rank ? d : 2 * rank - 3 - d;
        out->at[d] = map->at[order ? (unsigned)order->list[d] : exchanged];
    }
    return rank >= 2;
}

/* Positions of the result, given those of the operand. */
static bool move_forward(placer *p, tile_op op, tile_value operand, const sched_map *map,
                         sched_map *out) {
    schedule *s = p->s;
    const tile_type *from = sched_type(s, operand);
    const tile_type *to = sched_type(s, tile_op_result(s->compute, op, 0));
    switch (tile_op_dims(tile_op_opcode(s->compute, op))) {
    case TILE_DIMS_flat: return sched_reshaped(s, to, from, map, out);
    case TILE_DIMS_permuted: return permute(s, op, from->rank, map, out);
    case TILE_DIMS_each:
    case TILE_DIMS_same:
    case TILE_DIMS_stretched: return stretch(p, from, to, map, out);
    default: return false;
    }
}

/* Returns whether the operation may be between a value and an anchor. */
static bool is_passed(const schedule *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    return opcode == TILE_OP_reshape || opcode == TILE_OP_transpose ||
           opcode == TILE_OP_broadcast || tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
}

static bool place_result(placer *p, tile_op op, sched_map *map) {
    schedule *s = p->s;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        tile_value operand = tile_op_operand(s->compute, op, i);
        sched_map at = {{{0, NULL, NULL}}};
        if (sched_is_tensor(s, operand) && place(p, operand, &at) &&
            move_forward(p, op, operand, &at, map))
            return true;
    }
    return false;
}

static bool place(placer *p, tile_value value, sched_map *map) {
    tile_op op = tile_value_def(p->s->compute, value);
    if (value.id == p->anchor.id && p->at) {
        *map = *p->at;
        return true;
    }
    if (value.id == p->anchor.id) {
        *map = sched_identity(p->domain);
        if (p->axis >= 0 && !sched_is_along(p->s, op)) map->at[p->axis] = sched_zero_coordinate();
        return true;
    }
    if (!op.id || p->failed[value.id] || !is_passed(p->s, op)) return false;
    if (place_result(p, op, map)) return true;
    p->failed[value.id] = true;
    return false;
}

/* Stores --------------------------------------------------------------------------------------- */

/* A pair of one coordinate and one of a tile: an access splits its dim, so that the tile ends where
 * the second coordinate does. */
static bool is_splittable(const sched_domain *domain, const sched_coordinate *at) {
    const sched_index *pair = at->index;
    return pair->kind == SCHED_PAIR && !at->offset && pair->a.dim >= 0 && !pair->a.offset &&
           pair->a.dim + 2 < (int)domain->rank && pair->b.dim >= 0 && !pair->b.offset;
}

/* Returns whether computed coordinates do not depend on the dims of tiles, or can be split. Online
 * loops store no others. */
static bool has_plain_tiles(const sched_domain *domain, const sched_map *map, unsigned rank) {
    bool plain = domain->rank >= 2;
    unsigned split = 0;
    for (unsigned d = 0; d < rank && plain; d++)
        for (unsigned t = domain->rank - 2; t < domain->rank; t++) {
            if (!map->at[d].index || !sched_depends(&map->at[d], t)) continue;
            plain &= is_splittable(domain, &map->at[d]);
            split++;
        }
    return plain && (!split || rank + split < TILE_MAX_RANK) &&
           sched_depends(&map->at[rank - 1], domain->rank - 1);
}

/* Returns whether a dim has extent 1: an online loop with a single row. */
static bool has_one(const sched_domain *own) {
    bool one = false;
    for (unsigned d = 0; d + 1 < own->rank; d++) one |= tile_expr_is(own->extents[d], 1);
    return one;
}

/* A product with a single row or column has tiles with more, whose positions are not known. */
static bool has_whole_tiles(const sched_domain *domain, const sched_domain *own, bool online) {
    if (domain->rank < 2 || tile_expr_is(domain->extents[domain->rank - 1], 1)) return false;
    return !tile_expr_is(domain->extents[domain->rank - 2], 1) || (online && has_one(own));
}

/* Products ------------------------------------------------------------------------------------- */

static bool take_product(schedule *s, sched_group *g, const sched_traversal *w, size_t index,
                         const sched_domain *domain, tile_value value, bool online,
                         const sched_map *map) {
    sched_domain own = sched_domain_of(s, value);
    if (!has_whole_tiles(domain, &own, online) ||
        (online && !has_plain_tiles(domain, map, own.rank)))
        return false;
    return sched_take_matmul(s, g, w, index, domain) &&
           (!online || sched_fuse_online(s, g, g->root, domain, value, map));
}

/* Rows ----------------------------------------------------------------------------------------- */

/* Returns whether the reduction is needed at its own rows. */
static bool is_of_rows(schedule *s, const sched_traversal *w, size_t index,
                       const sched_domain *domain, unsigned axis) {
    const tile_value value = w->stops[index].value;
    bool along = sched_is_along(s, tile_value_def(s->compute, value));
    sched_map identity = sched_identity(domain);
    for (size_t i = 0; i < w->stop_count; i++) {
        if (w->stops[i].value.id != value.id || w->stops[i].own_domain) continue;
        for (unsigned d = 0; d < domain->rank; d++)
            if ((d != axis || along) &&
                !sched_same_coordinate(&w->stops[i].map.at[d], &identity.at[d]))
                return false;
    }
    return true;
}

static bool take_rows(schedule *s, sched_group *g, const sched_traversal *w, size_t index,
                      const sched_domain *domain, unsigned axis, tile_value value, bool online,
                      const sched_map *map) {
    tile_op op = tile_value_def(s->compute, w->stops[index].value);
    if (!is_of_rows(s, w, index, domain, axis)) return false;
    g->kind = SCHED_ROWS;
    g->domain = *domain;
    sched_set_rows(s, g, op);
    bool whole = false;
    for (unsigned d = 0; d < sched_type(s, value)->rank; d++)
        whole |= sched_depends(&map->at[d], axis);
    if (online) {
        sched_domain reduced = sched_domain_of(s, w->stops[index].value);
        return !whole && sched_fuse_online(s, g, op, &reduced, value, map);
    }
    if (!g->own_domain) return true;
    return !whole && sched_is_only(w, index);
}

/* Anchors -------------------------------------------------------------------------------------- */

/* Products and reductions that a value is computed from through operations that keep or move
 * elements. */
typedef struct anchors {
    schedule *s;
    bool *visited, *reaching; /* by value; reaching: an anchor is found from it */
    tile_op *ops;
    size_t count, capacity;
    bool moves; /* there is a reshape or transpose before one of them */
} anchors;

/* Returns whether there is an anchor. */
static bool find_anchors(anchors *a, tile_value value, bool outer) {
    schedule *s = a->s;
    tile_op op = tile_value_def(s->compute, value);
    if (!op.id || !sched_is_tensor(s, value)) return false;
    if (a->visited[value.id]) return a->reaching[value.id];
    a->visited[value.id] = true;
    if (!outer && sched_is_planned(s, value)) {
        a->reaching[value.id] = true;
        return true;
    }
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    if (opcode == TILE_OP_matmul || sched_is_reduction(s, op)) {
        a->ops = tile_arena_grow(s->arena, a->ops, a->count, &a->capacity, sizeof *a->ops);
        a->ops[a->count++] = op;
        a->reaching[value.id] = true;
        return true;
    }
    for (unsigned i = 0; is_passed(s, op) && i < tile_op_operand_count(s->compute, op); i++)
        a->reaching[value.id] |= find_anchors(a, tile_op_operand(s->compute, op, i), false);
    a->moves |= a->reaching[value.id] && (opcode == TILE_OP_reshape || opcode == TILE_OP_transpose);
    return a->reaching[value.id];
}

static anchors begin_anchors(schedule *s, tile_value value) {
    anchors a = {.s = s};
    a.visited = TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count);
    a.reaching = TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count);
    find_anchors(&a, value, true);
    return a;
}

static bool take_anchor(schedule *s, sched_group *g, tile_op anchor, tile_value value, bool online,
                        sched_map *map) {
    tile_value result = tile_op_result(s->compute, anchor, 0);
    bool reduces = sched_is_reduction(s, anchor);
    sched_domain domain =
        sched_domain_of(s, reduces ? tile_operand_src(s->compute, anchor) : result);
    int axis = reduces ? (int)sched_axis(s, anchor) : -1;
    placer p = {.s = s, .anchor = result, .domain = &domain, .axis = axis};
    p.failed = TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count);
    if (!place(&p, value, map)) return false;
    if (!sched_stores_runs(s, value, map, &domain, !reduces)) return false;
    sched_traversal w = {.s = s, .passed = g->passed};
    sched_traverse_value(&w, value, map, true);
    for (size_t i = 0; i < w.stop_count; i++) {
        if (w.stops[i].value.id != result.id || w.stops[i].own_domain || !sched_is_latest(&w, i))
            continue;
        return reduces ? take_rows(s, g, &w, i, &domain, (unsigned)axis, value, online, map)
                       : take_product(s, g, &w, i, &domain, value, online, map);
    }
    return false;
}

/* Chains ----------------------------------------------------------------------------------------
 */

tile_op sched_moved_product(const schedule *s, tile_value value) {
    const tile_function *f = s->compute;
    for (tile_op op; (op = tile_value_def(f, value)).id; value = tile_operand_src(f, op)) {
        if (sched_array_of(s, value) >= 0) return TILE_NO_OP;
        switch (tile_op_opcode(f, op)) {
        case TILE_OP_matmul: return op;
        case TILE_OP_reshape:
        case TILE_OP_transpose:
        case TILE_OP_slice:
        case TILE_OP_cast: break;
        default: return TILE_NO_OP;
        }
    }
    return TILE_NO_OP;
}

/* The position in the product's domain of each element of a value that has its elements. False for
 * a slice whose coordinates are not known, or a reshape that is not understood. Elements that a
 * slice leaves out are outside of the array, and are not stored; a reshape of the slice would put
 * them between others. */
static bool map_moved(schedule *s, tile_value value, const sched_domain *domain, bool *slices,
                      sched_map *map) {
    const tile_function *f = s->compute;
    tile_op op = tile_value_def(f, value);
    const tile_type *type = sched_type(s, value);
    sched_map from;
    if (tile_op_opcode(f, op) == TILE_OP_matmul) {
        *map = sched_identity(domain);
        return true;
    }
    const tile_value src = tile_operand_src(f, op);
    if (!map_moved(s, src, domain, slices, &from)) return false;
    *map = from;
    if (tile_op_opcode(f, op) == TILE_OP_reshape)
        return !*slices && sched_reshaped(s, type, sched_type(s, src), &from, map);
    const bool sliced = tile_op_opcode(f, op) == TILE_OP_slice,
               transposed = tile_op_opcode(f, op) == TILE_OP_transpose;
    *slices |= sliced;
    for (unsigned d = 0; d < type->rank; d++) {
        map->at[d] = from.at[transposed ? sched_transposed_dim(s, op, d) : d];
        const tile_expr *first =
            sliced ? tile_value_at(f, tile_operands_first(f, op).at[d])->expr : NULL;
        if (sliced && !first) return false;
        if (first) map->at[d] = sched_shifted(s, &map->at[d], TILE_OP_sub, first);
    }
    return true;
}

/* The map of the value that is computed from the stopped one, element by element, except for
 * exchanged dims and slices. */
static bool follow_stop(schedule *s, const sched_mapped_stop *stop, const sched_map *at,
                        tile_value value, sched_map *map) {
    const sched_domain own = sched_domain_of(s, value);
    unsigned found = 0;
    *map = sched_identity(&own);
    for (unsigned d = 0; d < own.rank; d++) found |= tile_expr_is(own.extents[d], 1) << d;
    for (unsigned d = 0; d < sched_type(s, stop->value)->rank; d++) {
        const sched_coordinate *from = &stop->map.at[d];
        if (from->index || (from->dim >= 0 && found >> from->dim & 1)) return false;
        if (from->dim < 0) continue;
        found |= 1u << from->dim;
        map->at[from->dim] =
            from->offset ? sched_shifted(s, &at->at[d], TILE_OP_sub, from->offset) : at->at[d];
    }
    return found == (1u << own.rank) - 1;
}

/* Returns whether elements of a row of the product are contiguous, or a few elements apart: only
 * small batch dims may follow the product's last dim. */
static bool keeps_rows_close(const sched_domain *product, const sched_domain *own,
                             const sched_map *map) {
    enum { FEW = 8 };
    int64_t apart = 1;
    for (unsigned d = own->rank; d-- > 0 && apart > 0 && apart <= FEW;) {
        if (sched_depends(&map->at[d], product->rank - 1)) return true;
        if (sched_depends(&map->at[d], product->rank - 2)) return false;
        apart *= sched_constant(own->extents[d]);
    }
    return false;
}

/* Takes a product whose result is moved in any way. Its rows must remain close together. */
static bool take_chain(schedule *s, sched_group *g, const sched_mapped_stop *stop, tile_value value,
                       sched_map *map) {
    const tile_op last = tile_value_def(s->compute, stop->value);
    if (!last.id || tile_op_opcode(s->compute, last) != TILE_OP_reshape) return false;
    const tile_op product = sched_moved_product(s, tile_operand_src(s->compute, last));
    const sched_domain own = sched_domain_of(s, value);
    sched_map at;
    bool slices = false;
    if (!product.id || stop->own_domain) return false;
    const tile_value result = tile_op_result(s->compute, product, 0);
    sched_domain domain = sched_domain_of(s, result);
    for (unsigned d = domain.rank - 2; d < domain.rank; d++)
        if (tile_expr_is(domain.extents[d], 1)) return false;
    if (!map_moved(s, stop->value, &domain, &slices, &at) ||
        !follow_stop(s, stop, &at, value, map) || !keeps_rows_close(&domain, &own, map))
        return false;
    sched_traversal w = {.s = s, .through = product};
    sched_traverse_value(&w, value, map, true);
    for (size_t i = 0; i < w.stop_count && !g->moves; i++)
        g->moves = w.stops[i].value.id == result.id && !w.stops[i].own_domain &&
                   sched_is_latest(&w, i) && sched_take_matmul(s, g, &w, i, &domain);
    g->dual = TILE_NO_OP; /* its result is not traversed through reshapes */
    return g->moves;
}

static bool take_any_chain(schedule *s, sched_group *g, tile_value value, sched_map *map) {
    sched_domain own = sched_domain_of(s, value);
    sched_map identity = sched_identity(&own);
    sched_traversal w = {.s = s};
    sched_traverse_value(&w, value, &identity, true);
    for (size_t i = 0; i < w.stop_count; i++) {
        *g = (sched_group){.kind = SCHED_ELEMENTWISE};
        if (sched_is_latest(&w, i) && take_chain(s, g, &w.stops[i], value, map)) return true;
    }
    return false;
}

bool sched_take_moved(schedule *s, sched_group *g, tile_value value, bool online, sched_map *map) {
    const anchors a = begin_anchors(s, value);
    for (size_t i = 0; a.moves && i < a.count; i++) {
        *g = (sched_group){.kind = SCHED_ELEMENTWISE, .passed = a.reaching};
        *map = (sched_map){{{0, NULL, NULL}}};
        if (take_anchor(s, g, a.ops[i], value, online, map)) return true;
    }
    return !online && take_any_chain(s, g, value, map);
}

/* Values beside others ------------------------------------------------------------------------- */

/* Returns whether the group has all that the value is computed from when it stores the array. */
static bool has_inputs(schedule *s, size_t writer, unsigned array, const sched_map *at,
                       const bool *passed, tile_value value, const sched_map *map) {
    sched_traversal w = {.s = s, .passed = passed};
    sched_traverse_value(&w, value, map, true);
    for (size_t i = 0; i < w.stop_count; i++) {
        tile_value read = sched_skip_reshapes(s, w.stops[i].value, TILE_NO_VALUE);
        int own = sched_array_of(s, read), from = own < 0 ? -1 : sched_writer_of(s, (unsigned)own);
        if (own < 0 || (s->arrays[own].place != SCHED_ARGUMENT && from < 0)) return false;
        if (from > (int)writer) return false;
        if (from < (int)writer) continue;
        if (own != (int)array || read.id != w.stops[i].value.id || w.stops[i].own_domain ||
            !sched_same_map(&w.stops[i].map, at, sched_type(s, read)->rank))
            return false;
    }
    return true;
}

static bool takes_more(const sched_group *other) {
    return !other->own_domain && !other->chains && !other->moves && other->kind != SCHED_ONLINE &&
           other->kind != SCHED_WINDOWED;
}

static bool take_beside(schedule *s, sched_group *g, size_t writer, const sched_output *output,
                        const bool *passed, tile_value value, sched_map *map) {
    const sched_group *other = s->groups[writer];
    placer p = {.s = s,
                .anchor = s->arrays[output->array].value,
                .at = &output->map,
                .domain = &other->domain,
                .axis = -1};
    sched_domain own = sched_domain_of(s, value);
    p.failed = TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count);
    if (output->part.id || p.anchor.id == value.id || !place(&p, value, map) ||
        (other->kind == SCHED_MATMUL && !has_whole_tiles(&other->domain, &own, false)) ||
        !sched_stores_runs(s, value, map, &other->domain, other->kind == SCHED_MATMUL) ||
        !has_inputs(s, writer, output->array, &output->map, passed, value, map))
        return false;
    *g = (sched_group){.kind = SCHED_ELEMENTWISE, .domain = other->domain, .passed = passed};
    return true;
}

bool sched_take_beside(schedule *s, sched_group *g, tile_value value, sched_map *map) {
    const anchors a = begin_anchors(s, value);
    for (size_t i = 0; i < s->group_count; i++)
        for (size_t o = 0; takes_more(s->groups[i]) && o < s->groups[i]->output_count; o++)
            if (take_beside(s, g, i, &s->groups[i]->outputs[o], a.reaching, value, map))
                return true;
    return false;
}
