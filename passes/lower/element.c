/* Thread-level accesses to views by coordinates: an offset from the view's base, and a predicate if
 * the access may be out of bounds. Consecutive elements along the last dim become one access if it
 * is provably aligned and in bounds, or out of bounds, as a whole. Otherwise they become several
 * accesses. */
#include "lib/analysis/access.h"
#include "lib/ops/atomic.h"
#include "passes/lower/lower.h"

enum { MOST = 16 }; /* elements, for 16 bytes */

typedef struct thread_access {
    tile_op op;
    const tile_value *element; /* in the old body: the view and an index per dim */
    unsigned last;             /* the view's last dim */
    const lower_view *view;
    tile_scalar scalar;
    const tile_type *type;    /* of the moved value */
    unsigned elements, width; /* elements of the moved value, and of one access */
    tile_value offset;        /* i64: of the first element */
    tile_value predicate;     /* the user's predicate and the bounds of all dims but the last; or
                                 none */
} thread_access;

/* Finds the operand that is a view with coordinates. False if there is none. */
static bool find_view(const tile_function *f, tile_op op, unsigned *operand) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    for (unsigned i = 0; i < info->operand_count; i++) {
        const tile_values values = tile_op_segment(f, op, i);
        if (!tile_is_placed(f, op, i) || tile_value_type(f, values.at[0])->kind != TILE_TYPE_VIEW)
            continue;
        *operand = i;
        return true;
    }
    return false;
}

static bool is_atomic(const tile_function *f, tile_op op) {
    return tile_op_get_info(tile_op_opcode(f, op))->effects & TILE_EFFECT_ATOMIC;
}

static unsigned choose_width(const lowering *l, const thread_access *a) {
    tile_access_facts facts = tile_view_access(&l->old, l->ranges, a->element);
    bool apart = is_atomic(&l->old, a->op) && !tile_atomic_allows_vectors(&l->old, a->op);
    if (facts.unit_dim != a->last || apart) return 1;
    return facts.width < a->elements ? facts.width : a->elements;
}

/* i1: coordinate d plus `added` is in bounds of the view. One unsigned comparison, which also
 * rejects a sum that has overflowed i32. */
static tile_value inside(lowering *l, const thread_access *a, unsigned d, unsigned added) {
    tile_value index = lower_add(l, lower_mapped(l, a->element[1 + d]), lower_int(l, added));
    return tile_build_ult(&l->builder, index, a->view->limits[d]);
}

static thread_access start_access(lowering *l, tile_op op, unsigned operand) {
    const tile_values element = tile_op_segment(&l->old, op, operand);
    thread_access a = {.op = op, .element = element.at};
    const tile_type *memory = tile_value_type(&l->old, a.element[0]);
    a.last = memory->rank - 1u;
    a.view = l->views[a.element[0].id];
    a.scalar = memory->scalar;
    a.type = tile_value_type(&l->old, operand ? tile_moved_operand(&l->old, op)
                                              : tile_op_result(&l->old, op, 0));
    a.elements = (unsigned)tile_type_elements(a.type);
    a.width = choose_width(l, &a);
    a.offset = lower_view_offset(l, a.element, element.count);
    tile_value predicate = tile_operand_predicate(&l->old, op);
    if (predicate.id) a.predicate = lower_mapped(l, predicate);
    for (unsigned d = 0; d < a.last; d++)
        a.predicate = lower_and(l, a.predicate, inside(l, &a, d, 0));
    return a;
}

static tile_value offset_of(lowering *l, const thread_access *a, unsigned first) {
    if (!first) return a->offset;
    return lower_add(l, a->offset, lower_mul(l, lower_long(l, first), a->view->strides[a->last]));
}

/* The elements of operand 0 that one access moves, beginning at `first`. */
static tile_value source_of(lowering *l, const thread_access *a, unsigned first) {
    tile_value src = lower_mapped(l, tile_moved_operand(&l->old, a->op));
    const tile_type *part = lower_part_type(l, a->scalar, a->width);
    if (tile_value_type(l->f, src) == part) return src;
    return tile_build_extract(&l->builder, src, lower_int(l, first), part);
}

/* Builds one access of the elements beginning at `first`. Returns the loaded or old elements, or no
 * value. */
static tile_value move_part(lowering *l, const thread_access *a, unsigned first) {
    tile_builder *b = &l->builder;
    tile_value base = a->view->base, offset = offset_of(l, a, first), old = TILE_NO_VALUE;
    tile_value predicate = lower_and(l, a->predicate, inside(l, a, a->last, first));
    if (tile_op_opcode(&l->old, a->op) == TILE_OP_ld_global) {
        old = tile_build_ld_global(b, base, &offset, 1, predicate,
                                   lower_part_type(l, a->scalar, a->width));
        lower_copy_cache_hints(l, a->op);
        return lower_pad(l, a->op, old, predicate);
    }
    tile_value src = source_of(l, a, first);
    if (!is_atomic(&l->old, a->op)) {
        tile_build_st_global(b, src, base, &offset, 1, predicate);
        lower_copy_cache_hints(l, a->op);
        return TILE_NO_VALUE;
    }
    if (tile_op_opcode(&l->old, a->op) == TILE_OP_atomic_cas_thread) {
        tile_value desired = lower_mapped(l, tile_operand_desired(&l->old, a->op));
        old = tile_build_atomic_cas_thread(b, src, desired, base, &offset, 1, predicate);
    } else {
        old = tile_build_atomic_thread(b, src, base, &offset, 1, predicate);
    }
    lower_copy_attrs(l, a->op, tile_value_def(l->f, old));
    return old;
}

bool lower_thread_view(lowering *l, tile_op op, tile_value *result) {
    tile_value parts[MOST];
    unsigned operand, count = 0;
    if (!find_view(&l->old, op, &operand)) return false;
    thread_access a = start_access(l, op, operand);
    for (unsigned first = 0; first < a.elements; first += a.width)
        parts[count++] = move_part(l, &a, first);
    bool whole = !parts[0].id || tile_value_type(l->f, parts[0]) == a.type;
    *result = whole ? parts[0] : tile_build_concat(&l->builder, parts, count);
    return true;
}
