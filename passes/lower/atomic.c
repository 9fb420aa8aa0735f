/* Atomic accesses, for each element of a tile or once per set of threads, and fences.
 *
 * Each thread updates the elements that it holds, adjacent ones together. If several threads hold
 * an element, the first one updates it. If the old elements are used, the other holders read them
 * from a shared buffer, and so do all threads if the access is a scalar, which thread 0 performs. A
 * release covers all earlier accesses of the set's threads, so a barrier precedes it. A barrier
 * follows an acquire. */
#include "lib/layout/layout.h"
#include "lib/ops/atomic.h"
#include "lib/ops/gather.h"
#include "passes/lower/lower.h"

typedef struct atomic_op {
    tile_op op;
    bool swaps;         /* compare and swap */
    tile_values memory; /* value of the old body */
    const tile_type *type;
    tile_value src, desired, predicate; /* lowered */
    tile_value buffer;                  /* value of the old body; 0: there is none */
} atomic_op;

/* The lowered operand; TILE_NO_VALUE if it is absent. */
static tile_value lowered(lowering *l, tile_value value) {
    return value.id ? lower_mapped(l, value) : TILE_NO_VALUE;
}

static atomic_op init_from_op(lowering *l, tile_op op) {
    atomic_op a = {.op = op, .swaps = tile_op_opcode(&l->old, op) == TILE_OP_atomic_cas};
    tile_value src = tile_moved_operand(&l->old, op);
    a.buffer = tile_operand_buffer(&l->old, op);
    a.memory = tile_operands_dst(&l->old, op);
    a.type = tile_value_type(&l->old, src);
    a.src = lower_mapped(l, src);
    if (a.swaps) a.desired = lower_mapped(l, tile_operand_desired(&l->old, op));
    a.predicate = lowered(l, tile_operand_predicate(&l->old, op));
    return a;
}

/* Builds one access of a thread, at an offset in elements. */
static tile_value build_access(lowering *l, tile_builder *b, const atomic_op *a, tile_value src,
                               tile_value desired, tile_value base, tile_value offset,
                               tile_value predicate) {
    tile_value old =
        a->swaps ? tile_build_atomic_cas_thread(b, src, desired, base, &offset, 1, predicate)
                 : tile_build_atomic_thread(b, src, base, &offset, 1, predicate);
    static const tile_attr_id kept[] = {TILE_ATTR_kind, TILE_ATTR_ordering, TILE_ATTR_scope};
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        tile_op_take_attr(l->f, tile_value_def(l->f, old), &l->old, a->op, kept[i]);
    return old;
}

/* Tiles --------------------------------------------------------------------------------------- */

static tile_value elements_of(lowering *l, tile_value fragment, const tile_access_split *cut,
                              unsigned i) {
    return fragment.id ? lower_extract_access(l, fragment, cut, i) : TILE_NO_VALUE;
}

/* For a cut into single elements. */
static tile_value element_of(lowering *l, tile_value fragment, const tile_access_split *cut,
                             unsigned i) {
    bool one = fragment.id && tile_value_type(l->f, fragment)->kind == TILE_TYPE_SCALAR;
    tile_value taken = one ? fragment : elements_of(l, fragment, cut, i); /* shared by all */
    if (!taken.id || tile_value_type(l->f, taken)->kind == TILE_TYPE_SCALAR) return taken;
    tile_scalar scalar = tile_value_type(l->f, taken)->scalar;
    return tile_build_extract(&l->builder, taken, lower_int(l, 0), lower_part_type(l, scalar, 1));
}

static tile_value operand_at(lowering *l, const atomic_op *a, tile_value fragment,
                             const tile_access_split *cut, unsigned i) {
    return a->swaps ? element_of(l, fragment, cut, i) : elements_of(l, fragment, cut, i);
}

/* Returns how many elements one instruction may update. With a predicate per element: one. */
static unsigned widest(lowering *l, const atomic_op *a, bool shared) {
    bool half = tile_scalar_bits(a->type->scalar) == 16;
    if (a->predicate.id || !tile_atomic_allows_vectors(&l->old, a->op)) return 1;
    if (shared) return half ? 2 : 1;
    return lower_widest(a->type->scalar);
}

static tile_value update_view(lowering *l, const atomic_op *a, tile_value holder) {
    lower_view_access v =
        lower_start_view(l, a->memory.at, a->type->layout, a->type->rank, widest(l, a, false));
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, v.cut.count);
    v.predicate = lower_and(l, v.predicate, holder);
    for (unsigned i = 0; i < v.cut.count; i++) {
        tile_value predicate, offset = lower_view_access_offset(l, &v, i, &predicate);
        predicate = lower_and(l, predicate, element_of(l, a->predicate, &v.cut, i));
        parts[i] =
            build_access(l, &l->builder, a, operand_at(l, a, a->src, &v.cut, i),
                         operand_at(l, a, a->desired, &v.cut, i), v.view->base, offset, predicate);
    }
    return lower_combine_accesses(l, parts, &v.cut);
}

static tile_value update_shared(lowering *l, const atomic_op *a, tile_value holder) {
    lower_shared_map map = lower_map_shared(l, a->memory.at, a->memory.count, a->type->layout);
    lower_shared_access s = lower_start_shared(l, &map, a->type->layout, widest(l, a, true));
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, s.cut.count);
    for (unsigned i = 0; i < s.cut.count; i++) {
        tile_value offset =
            lower_shared_access_offset(l, &s, tile_access_split_register(&s.cut, i, 0));
        tile_value predicate = lower_and(l, holder, element_of(l, a->predicate, &s.cut, i));
        parts[i] =
            build_access(l, &l->builder, a, operand_at(l, a, a->src, &s.cut, i),
                         operand_at(l, a, a->desired, &s.cut, i), map.buffer, offset, predicate);
    }
    return lower_combine_accesses(l, parts, &s.cut);
}

/* Updates a buffer at index tiles: each element has its own offset. */
static tile_value update_points(lowering *l, const atomic_op *a, tile_value holder) {
    lower_buffer_points p = lower_start_points(l, a->op, a->type->layout);
    tile_access_split cut = tile_split_accesses_along(a->type->layout, 0, 1);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, cut.count);
    for (unsigned i = 0; i < cut.count; i++) {
        tile_value predicate,
            offset = lower_point_offset(l, &p, tile_access_split_register(&cut, i, 0), &predicate);
        tile_value mask = element_of(l, a->predicate, &cut, i);
        if (tile_op_has_attr(&l->old, a->op, TILE_ATTR_in_bounds))
            lower_assume_in_bounds(l, a->memory.at[0], predicate, mask);
        predicate = lower_and(l, predicate, holder);
        predicate = lower_and(l, predicate, mask);
        parts[i] = build_access(l, &l->builder, a, element_of(l, a->src, &cut, i),
                                element_of(l, a->desired, &cut, i), p.buffer, offset, predicate);
    }
    return lower_combine_accesses(l, parts, &cut);
}

static tile_value update_tile(lowering *l, const atomic_op *a) {
    tile_gather gather;
    bool shared = tile_value_type(&l->old, a->memory.at[0])->kind == TILE_TYPE_SHARED;
    bool points = shared && tile_gather_of(&l->old, a->op, &gather) && gather.tiles;
    tile_value holder = lower_is_first_holder(l, a->type->layout);
    tile_value old = points   ? update_points(l, a, holder)
                     : shared ? update_shared(l, a, holder)
                              : update_view(l, a, holder);
    if (!a->buffer.id) return old;
    if (tile_sync_is_explicit(&l->old, a->op)) lower_end_with_sync(l);
    lower_store_shared(l, old, a->type, &a->buffer, 1);
    tile_build_sync_for(&l->builder, l->executors);
    return lower_load_shared(l, &a->buffer, 1, a->type, true);
}

/* Scalars ------------------------------------------------------------------------------------- */

/* i1: all coordinates are in bounds of the view. */
static tile_value inside_view(lowering *l, const atomic_op *a) {
    const lower_view *view = l->views[a->memory.at[0].id];
    tile_value inside = TILE_NO_VALUE;
    for (unsigned d = 0; d + 1 < a->memory.count; d++)
        inside = lower_and(
            l, inside,
            tile_build_ult(&l->builder, lower_mapped(l, a->memory.at[1 + d]), view->limits[d]));
    return inside;
}

/* Returns whether no earlier operation can have accessed the buffer's bytes. */
static bool is_first_access(const lowering *l, tile_op op) {
    const tile_function *f = &l->old;
    if (tile_op_at(f, op)->parent.id != f->body.id) return false;
    TILE_FOR_EACH_OP (f, before, f->body) {
        if (before.id == op.id) return true;
        if (!lower_is_arithmetic(f, before)) return false;
    }
    return false;
}

static tile_value update_scalar(lowering *l, const atomic_op *a) {
    bool shared = tile_value_type(&l->old, a->memory.at[0])->kind == TILE_TYPE_SHARED;
    tile_value base =
        shared ? lower_mapped(l, a->memory.at[0]) : l->views[a->memory.at[0].id]->base;
    tile_value offset = shared ? lower_buffer_offset(l, a->memory.at)
                               : lower_view_offset(l, a->memory.at, a->memory.count);
    tile_value zero = lower_int(l, 0), inside = shared ? TILE_NO_VALUE : inside_view(l, a);
    tile_value predicate = lower_and(l, inside, a->predicate);
    if (shared) lower_assume_element_in_bounds(l, a->op, a->memory.at, 1);
    if (a->buffer.id && tile_sync_is_explicit(&l->old, a->op) && !is_first_access(l, a->op))
        lower_end_with_sync(l);
    tile_value first = tile_build_eq(&l->builder, l->thread, zero);
    tile_op branch = tile_build_if_else(&l->builder, first, NULL, 0);
    tile_builder inner = tile_builder_in(&l->builder, branch, 0);
    tile_value old = build_access(l, &inner, a, a->src, a->desired, base, offset, predicate);
    tile_value buffer = a->buffer.id ? lower_mapped(l, a->buffer) : TILE_NO_VALUE;
    if (buffer.id) tile_build_st_shared(&inner, old, buffer, &zero, 1, TILE_NO_VALUE);
    tile_build_yield(&inner, NULL, 0);
    inner.region = tile_op_region(l->f, branch, 1);
    tile_build_yield(&inner, NULL, 0);
    if (!buffer.id) return TILE_NO_VALUE;
    tile_build_sync_for(&l->builder, l->executors);
    old = tile_build_ld_shared(&l->builder, buffer, &zero, 1, TILE_NO_VALUE, a->type);
    return tile_build_uniform(&l->builder, old);
}

/* --------------------------------------------------------------------------------------------- */

tile_value lower_atomic(lowering *l, tile_op op) {
    atomic_op a = init_from_op(l, op);
    if (tile_op_releases(&l->old, op)) lower_end_with_sync(l);
    tile_value old = a.type->kind == TILE_TYPE_TILE ? update_tile(l, &a) : update_scalar(l, &a);
    if (tile_op_acquires(&l->old, op) && !a.buffer.id)
        tile_build_sync_for(&l->builder, l->executors);
    return old;
}
