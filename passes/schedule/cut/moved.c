/* Products whose results are reshaped or transposed before they are stored.
 *
 * The group's domain is that of the product, and its tiles are stored where their elements belong,
 * as the last of these does with the result of each head:
 *
 *     %c = reshape(%p : [m, n]) : [m / 4, 4, n]
 *     %c = transpose(%p : [heads, m, n], order = [1, 0, 2])
 *     %c = reshape(transpose(%p, order = [1, 0, 2])) : [m, heads * n]
 *
 * The value's last dim must be that of the product, so that rows of a tile remain rows.
 *
 * If no such form fits, any chain of reshapes, transposes and slices is stored with index tiles, as
 * the phases of a transposed convolution are (lib/builder/expand_convolve.c):
 *
 *     %t = transpose(reshape(%p : [b, m, k]) : [b, n, q, k], order = [1, 2, 0, 3])
 *     %c = slice(reshape(%t) : [n, q * b, k], [0, 1, 0]) : [n, p, k] */
#include "passes/schedule/cut/online.h"

/* A pair of one coordinate and one of a tile: an access splits its dim, so that the tile ends where
 * the second coordinate does. */
static bool is_splittable(const sched_domain *domain, const sched_coordinate *at) {
    const sched_index *pair = at->index;
    return pair->kind == SCHED_PAIR && !at->offset && pair->a.dim >= 0 && !pair->a.offset &&
           pair->a.dim + 2 < (int)domain->rank && pair->b.dim >= 0 && !pair->b.offset;
}

/* Returns whether computed coordinates do not depend on the dims of tiles, or can be split. */
static bool has_plain_tiles(const sched_domain *domain, const sched_map *map, unsigned rank) {
    bool plain = domain->rank >= 2;
    unsigned split = 0;
    for (unsigned d = 0; d < rank && plain; d++)
        for (unsigned t = domain->rank - 2; t < domain->rank; t++) {
            if (!map->at[d].index || !sched_depends(&map->at[d], t)) continue;
            plain &= is_splittable(domain, &map->at[d]);
            split++;
        }
    return plain && (!split || rank + split < TILE_MAX_RANK);
}

/* Returns whether a dim has extent 1: an online loop with a single row. */
static bool has_one(const sched_domain *own) {
    bool one = false;
    for (unsigned d = 0; d + 1 < own->rank; d++) one |= tile_expr_is(own->extents[d], 1);
    return one;
}

/* Takes the product at a stop of the traversal of the value at map. */
static bool take(schedule *s, sched_group *g, const sched_traversal *w, size_t index,
                 const sched_domain *domain, tile_value value, bool online, const sched_map *map) {
    const sched_mapped_stop *stop = &w->stops[index];
    return !stop->own_domain && !sched_is_planned(s, stop->value) && sched_is_latest(w, index) &&
           sched_take_matmul(s, g, w, index, domain) &&
           (!online || sched_fuse_online(s, g, g->root, domain, value, map));
}

/* Transposes ----------------------------------------------------------------------------------- */

/* The coordinate with each dim d replaced by to[d]. False if there is none for it. */
static bool rename_dims(schedule *s, const int *to, sched_coordinate *at) {
    if (at->dim >= 0) {
        at->dim = to[at->dim];
        return at->dim >= 0;
    }
    if (!at->index) return true;
    sched_index *index = TILE_NEW_ARRAY(s->arena, sched_index, 1);
    *index = *at->index;
    at->index = index;
    return rename_dims(s, to, &index->a) && rename_dims(s, to, &index->b);
}

/* to[d]: the dim of the product that is dim d of the domain, which has the same extents in another
 * order. False if the map does more than exchange dims, or if the product has a single row or
 * column. */
static bool find_order(const sched_domain *product, const sched_domain *domain,
                       const sched_map *map, int *to) {
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) to[d] = -1;
    for (unsigned d = 0; d < product->rank; d++) {
        const sched_coordinate *at = &map->at[d];
        bool one = tile_expr_is(product->extents[d], 1);
        if (one && d + 2 < product->rank) continue;
        if (one || at->index || at->offset || at->dim < 0 || to[at->dim] >= 0 ||
            domain->extents[at->dim] != product->extents[d])
            return false;
        to[at->dim] = (int)d;
    }
    return true;
}

/* Takes a product that is needed at exchanged coordinates. at: the value's dims in the domain of
 * the traversal, `from`. */
static bool take_transposed(schedule *s, sched_group *g, const sched_traversal *w, size_t index,
                            const sched_domain *from, tile_value value, bool online,
                            const sched_map *at, sched_map *map) {
    const sched_mapped_stop *stop = &w->stops[index];
    tile_op op = tile_value_def(s->compute, stop->value);
    unsigned rank = sched_type(s, value)->rank;
    int to[SCHED_MAX_DIMS];
    if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_matmul || stop->own_domain)
        return false;
    sched_domain domain = sched_domain_of(s, stop->value);
    if (!find_order(&domain, from, &stop->map, to)) return false;
    *map = *at;
    for (unsigned d = 0; d < rank; d++)
        if (!rename_dims(s, to, &map->at[d])) return false;
    if (!sched_depends(&map->at[rank - 1], domain.rank - 1) || !has_plain_tiles(&domain, map, rank))
        return false;
    sched_traversal own = {.s = s};
    sched_traverse_value(&own, value, map, true);
    for (size_t i = 0; i < own.stop_count; i++)
        if (own.stops[i].value.id == stop->value.id &&
            take(s, g, &own, i, &domain, value, online, map))
            return true;
    return false;
}

/* Reshapes ------------------------------------------------------------------------------------- */

/* A reshape of a product, or of its transpose, that splits dims or merges them with batches. */
static bool take_reshaped(schedule *s, sched_group *g, const sched_mapped_stop *stop,
                          tile_value value, bool online, sched_map *map) {
    tile_op op = tile_value_def(s->compute, stop->value);
    sched_domain own = sched_domain_of(s, value);
    if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_reshape || !sched_is_all(s, stop, &own))
        return false;
    tile_value from = tile_operand_src(s->compute, op);
    sched_domain domain = sched_domain_of(s, from);
    sched_map identity = sched_identity(&domain), at;
    sched_traversal w = {.s = s};
    for (unsigned d = domain.rank < 2 ? 0 : domain.rank - 2; d < domain.rank; d++)
        if (tile_expr_is(domain.extents[d], 1) &&
            !(online && d + 2 == domain.rank && has_one(&own)))
            return false;
    if (!sched_reshaped(s, sched_type(s, value), sched_type(s, from), &identity, &at)) return false;
    sched_traverse_value(&w, value, &at, true);
    *map = at;
    bool plain =
        has_plain_tiles(&domain, &at, own.rank) || (!online && !sched_has_pairs(own.rank, &at));
    for (size_t i = 0; i < w.stop_count; i++)
        if (plain && take(s, g, &w, i, &domain, value, online, map)) return true;
    for (size_t i = 0; i < w.stop_count; i++)
        if (take_transposed(s, g, &w, i, &domain, value, online, &at, map)) return true;
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
        g->moves =
            w.stops[i].value.id == result.id && take(s, g, &w, i, &domain, value, false, map);
    return g->moves;
}

bool sched_take_moved(schedule *s, sched_group *g, const sched_traversal *w, size_t index,
                      tile_value value, bool online, sched_map *map) {
    sched_domain own = sched_domain_of(s, value);
    sched_map identity = sched_identity(&own);
    return take_reshaped(s, g, &w->stops[index], value, online, map) ||
           take_transposed(s, g, w, index, &own, value, online, &identity, map) ||
           (!online && take_chain(s, g, &w->stops[index], value, map));
}
