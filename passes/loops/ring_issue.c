/* Builds the copies of one iteration in another one: see ring.h.
 *
 * Copies directly in the body are built one after the other. For copies in branches, the branches
 * are cloned with the conditions of their iteration. Consecutive copies of a branch share the
 * clone. Address computations in a branch are only visible to its own copies. */
#include <string.h>

#include "lib/ir/regions.h"
#include "lib/ops/gather.h"
#include "passes/loops/ring.h"

/* Where copies are built: the position, and the values of the body that are available there. */
typedef struct site {
    ring *r;
    tile_builder b;
    tile_value *map;
    size_t map_count;
} site;

tile_value ring_predicate(const ring *r, tile_op copy) {
    tile_gather gather;
    return tile_gather_of(r->f, copy, &gather) ? gather.predicate : TILE_NO_VALUE;
}

static void build_copy(site *at, unsigned index, tile_value stage) {
    ring *r = at->r;
    tile_op op = r->plan.copies[index].op;
    const tile_values source = tile_operands_src(r->f, op);
    tile_value from[1 + TILE_MAX_RANK];
    for (unsigned i = 0; i < source.count; i++) from[i] = source.at[i];
    for (unsigned i = 0; i < source.count; i++)
        from[i] = ring_rematerialize_address(r, &at->b, from[i], at->map, at->map_count);
    tile_value predicate = ring_predicate(r, op);
    if (predicate.id)
        predicate = ring_rematerialize_address(r, &at->b, predicate, at->map, at->map_count);
    tile_builder place = at->b;
    place.loc = tile_op_loc(r->f, op);
    tile_build_copy_async(&place, from[0], from + 1, source.count - 1, r->buffers[index], &stage, 1,
                          TILE_NO_VALUE, NULL, 0, predicate);
    ring_copy_cache_attrs(r, &place, op);
}

static tile_value *copy_map(const site *at) {
    tile_value *map = TILE_NEW_ARRAY(at->r->pass->scratch, tile_value, at->map_count);
    memcpy(map, at->map, sizeof *map * at->map_count);
    return map;
}

/* Clones the branch that has this region, and moves the site into it, before its yield. otherwise:
 * values that the other region yields, one for each type. */
static tile_op enter_branch(site *at, tile_region region, const tile_type *const *types,
                            const tile_value *otherwise, unsigned count) {
    tile_function *f = at->r->f;
    tile_op written = tile_region_at(f, region)->parent;
    tile_value condition = ring_rematerialize_address(
        at->r, &at->b, tile_operand_condition(f, written), at->map, at->map_count);
    tile_builder b = at->b;
    b.loc = tile_op_loc(f, written);
    tile_op branch = tile_build_if_else(&b, condition, types, count);
    for (unsigned i = 0; i < 2; i++) {
        bool same = tile_op_region(f, written, i).id == region.id;
        tile_builder inside = tile_builder_at_end(f, tile_op_region(f, branch, i));
        inside.loc = b.loc;
        if (!same || !count) tile_build_yield(&inside, otherwise, count);
        if (!same) continue;
        at->b = inside;
        at->b.before = count ? TILE_NO_OP : tile_region_at(f, inside.region)->last;
        at->map = copy_map(at);
    }
    return branch;
}

static void enter_branches(site *at, tile_region region) {
    tile_function *f = at->r->f;
    if (region.id == tile_op_region(f, at->r->plan.loop, 0).id) return;
    enter_branches(at, tile_op_at(f, tile_region_at(f, region)->parent)->parent);
    enter_branch(at, region, NULL, NULL, 0);
}

void ring_build_copies(ring *r, tile_builder *b, tile_value iv, const tile_value *loaded,
                       tile_value stage) {
    tile_function *f = r->f;
    tile_region body = tile_op_region(f, r->plan.loop, 0), last = body;
    site outer = {.r = r, .b = *b, .map_count = f->value_count}, inner = outer;
    outer.map = TILE_NEW_ARRAY(r->pass->scratch, tile_value, outer.map_count);
    outer.map[tile_region_arg(f, body, 0).id] = iv;
    for (unsigned i = 0; i < r->plan.load_count; i++)
        outer.map[tile_op_result(f, r->plan.loads[i], 0).id] = loaded[i];
    for (unsigned i = 0; i < r->plan.copy_count; i++) {
        tile_region region = tile_op_at(f, r->plan.copies[i].op)->parent;
        if (region.id != body.id && region.id != last.id) {
            inner = outer;
            enter_branches(&inner, region);
        }
        last = region;
        build_copy(region.id == body.id ? &outer : &inner, i, stage);
    }
    *b = outer.b;
}

/* Loads ---------------------------------------------------------------------------------------- */

/* The region of the n-th branch around op, counted outward. */
static tile_region branch_around(const tile_function *f, tile_op op, unsigned n) {
    tile_region region = tile_op_at(f, op)->parent;
    while (n--) region = tile_op_at(f, tile_region_at(f, region)->parent)->parent;
    return region;
}

/* Clones the load inside its innermost `branches` branches. otherwise: the value if a branch is not
 * taken. */
static tile_value build_load(const site *outer, tile_op load, unsigned branches,
                             tile_value otherwise) {
    site at = *outer;
    tile_function *f = at.r->f;
    tile_value own = tile_op_result(f, load, 0);
    if (branches) {
        const tile_type *type = tile_value_type(f, own);
        tile_op branch =
            enter_branch(&at, branch_around(f, load, branches - 1), &type, &otherwise, 1);
        tile_value loaded = build_load(&at, load, branches - 1, otherwise);
        tile_build_yield(&at.b, &loaded, 1);
        return tile_op_result(f, branch, 0);
    }
    for (unsigned i = 0; i < tile_op_operand_count(f, load); i++)
        ring_rematerialize_address(at.r, &at.b, tile_op_operand(f, load, i), at.map, at.map_count);
    tile_clone_op(&at.b, load, at.map, at.map_count);
    return at.map[own.id];
}

static unsigned count_branches(const ring *r, tile_op op) {
    unsigned count = 0;
    for (tile_op at = tile_op_parent(r->f, op); at.id != r->plan.loop.id;
         at = tile_op_parent(r->f, at))
        count++;
    return count;
}

tile_value *ring_initial_loads(ring *r, tile_builder *b) {
    tile_value *loaded = TILE_NEW_ARRAY(r->pass->scratch, tile_value, r->plan.load_count + 1u);
    for (unsigned i = 0; i < r->plan.load_count; i++)
        loaded[i] =
            tile_build_zero(b, tile_value_type(r->f, tile_op_result(r->f, r->plan.loads[i], 0)));
    return loaded;
}

tile_value *ring_build_loads(ring *r, tile_builder *b, tile_value exists, tile_value iv,
                             const tile_value *loaded) {
    tile_function *f = r->f;
    unsigned count = r->plan.load_count;
    tile_arena *scratch = r->pass->scratch;
    const tile_type **types = TILE_NEW_ARRAY(scratch, const tile_type *, count + 1u);
    tile_value *next = TILE_NEW_ARRAY(scratch, tile_value, count + 1u);
    if (!count) return next;
    for (unsigned i = 0; i < count; i++)
        types[i] = tile_value_type(f, tile_op_result(f, r->plan.loads[i], 0));
    tile_op branch = tile_build_if_else(b, exists, types, count);
    site at = {.r = r, .map_count = f->value_count};
    at.b = tile_builder_at_end(f, tile_op_region(f, branch, 0));
    at.b.loc = b->loc;
    at.map = TILE_NEW_ARRAY(scratch, tile_value, at.map_count);
    at.map[tile_region_arg(f, tile_op_region(f, r->plan.loop, 0), 0).id] = iv;
    for (unsigned i = 0; i < count; i++) {
        tile_op load = r->plan.loads[i];
        next[i] = build_load(&at, load, count_branches(r, load), loaded[i]);
        at.map[tile_op_result(f, load, 0).id] = next[i];
    }
    tile_build_yield(&at.b, next, count);
    tile_builder otherwise = tile_builder_at_end(f, tile_op_region(f, branch, 1));
    otherwise.loc = b->loc;
    tile_build_yield(&otherwise, loaded, count);
    for (unsigned i = 0; i < count; i++) next[i] = tile_op_result(f, branch, i);
    return next;
}
