/* Sets of accesses, and conflicts between them: see the header. */
#include "passes/memory/pending_accesses.h"

#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/ir/regions.h"
#include "lib/layout/layout.h"
#include "lib/ops/atomic.h"
#include "lib/support/scalar.h"

static bool same_access(const pending_access *a, const pending_access *b) {
    return a->access.op.id == b->access.op.id && a->access.memory.id == b->access.memory.id &&
           a->access.stage.id == b->access.stage.id && a->access.write == b->access.write &&
           a->stale == b->stale && a->outer == b->outer && a->arrived == b->arrived &&
           a->landed == b->landed;
}

bool access_set_add(tile_arena *arena, access_set *set, pending_access access) {
    for (size_t i = 0; i < set->count; i++)
        if (same_access(&set->items[i], &access)) return false;
    set->items = tile_arena_grow(arena, set->items, set->count, &set->capacity, sizeof *set->items);
    set->items[set->count++] = access;
    return true;
}

bool access_set_add_all(tile_arena *arena, access_set *set, const access_set *from) {
    bool grown = false;
    if (!set->count && from->count) {
        *set = (access_set){.count = from->count, .capacity = from->count};
        set->items = tile_arena_alloc(arena, sizeof *set->items * from->count);
        memcpy(set->items, from->items, sizeof *set->items * from->count);
        return true;
    }
    for (size_t i = 0; i < from->count; i++) {
        /* Usually both sets were built in the same order. */
        if (i < set->count && same_access(&set->items[i], &from->items[i])) continue;
        grown |= access_set_add(arena, set, from->items[i]);
    }
    return grown;
}

bool access_state_join(tile_arena *arena, access_state *into, const access_state *from) {
    bool grown = access_set_add_all(arena, &into->pending, &from->pending);
    for (unsigned m = 0; m < TILE_MECHANISM_COUNT; m++)
        grown |= access_set_add_all(arena, &into->in_flight[m], &from->in_flight[m]);
    return grown;
}

access_state access_state_copy(tile_arena *arena, const access_state *from) {
    access_state copy = {0};
    access_state_join(arena, &copy, from);
    return copy;
}

static bool set_contains(const access_set *set, const access_set *other) {
    bool all = true;
    for (size_t i = 0; i < other->count && all; i++) {
        /* Usually both sets were built in the same order. */
        bool found = i < set->count && same_access(&set->items[i], &other->items[i]);
        for (size_t k = 0; k < set->count && !found; k++)
            found = same_access(&set->items[k], &other->items[i]);
        all = found;
    }
    return all;
}

static bool same_set(const access_set *a, const access_set *b) {
    return set_contains(a, b) && set_contains(b, a);
}

bool access_state_equal(const access_state *a, const access_state *b) {
    bool same = same_set(&a->pending, &b->pending);
    for (unsigned m = 0; m < TILE_MECHANISM_COUNT; m++)
        same = same && same_set(&a->in_flight[m], &b->in_flight[m]);
    return same;
}

static tile_value name_after_edge(const tile_function *f, region_edge edge, tile_value value) {
    if (tile_value_at(f, value)->kind == TILE_VALUE_CONSTANT) return value;
    for (unsigned i = 0; edge.op.id && i < tile_carried_count(f, edge.op); i++)
        if (tile_carried_sent(f, edge.op, edge.from, i).id == value.id)
            return tile_carried_received(f, edge.op, edge.to, i);
    return TILE_NO_VALUE;
}

void access_set_cross_edge(const tile_function *f, region_edge edge, access_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        tile_access *access = &set->items[i].access;
        set->items[i].stale = true;
        set->items[i].landed = false;
        if (access->stage.id) access->stage = name_after_edge(f, edge, access->stage);
    }
}

/* The loop's only counter that begins at the constant. In the first iteration it equals the
 * constant, but it can be compared with stages computed from it. If there are several such
 * counters, the constant. */
static tile_value counter_from(const tile_function *f, tile_op op, int to, tile_value constant) {
    tile_value counter = TILE_NO_VALUE;
    for (unsigned i = 0; i < tile_carried_count(f, op); i++) {
        if (tile_carried_sent(f, op, TILE_PARENT_OP, i).id != constant.id) continue;
        if (counter.id) return constant;
        counter = tile_carried_received(f, op, to, i);
    }
    return counter.id ? counter : constant;
}

static void set_enter(const tile_function *f, tile_op op, int to, access_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        tile_value *stage = &set->items[i].access.stage;
        if (stage->id && tile_value_at(f, *stage)->kind == TILE_VALUE_CONSTANT)
            *stage = counter_from(f, op, to, *stage);
    }
}

void access_state_enter(const tile_function *f, tile_op op, int to, access_state *s) {
    set_enter(f, op, to, &s->pending);
    for (unsigned m = 0; m < TILE_MECHANISM_COUNT; m++) set_enter(f, op, to, &s->in_flight[m]);
}

void access_state_cross_edge(const tile_function *f, region_edge edge, access_state *s) {
    access_set_cross_edge(f, edge, &s->pending);
    for (unsigned m = 0; m < TILE_MECHANISM_COUNT; m++)
        access_set_cross_edge(f, edge, &s->in_flight[m]);
}

/* The byte range of a buffer; everything if its offset or size is unknown. */
static void shared_bytes(const tile_function *f, tile_value buffer, int64_t *from, int64_t *to) {
    tile_op alloc = tile_value_def(f, buffer);
    bool known = alloc.id && tile_op_opcode(f, alloc) == TILE_OP_alloc_shared;
    int64_t stride, size = known ? tile_alloc_bytes(f, alloc, &stride) : -1;
    *from = known ? tile_op_attr_int(f, alloc, TILE_ATTR_offset, -1) : -1;
    *to = *from < 0 || size < 0 ? INT64_MAX : *from + size;
}

static bool shared_may_conflict(const tile_function *f, const tile_access *a,
                                const tile_access *b) {
    tile_value a_buffer = tile_shared_source(f, a->memory);
    tile_value b_buffer = tile_shared_source(f, b->memory);
    if (a_buffer.id == b_buffer.id) return tile_stages_may_alias(f, a->stage, b->stage);
    int64_t a_from, a_to, b_from, b_to;
    shared_bytes(f, a_buffer, &a_from, &a_to);
    shared_bytes(f, b_buffer, &b_from, &b_to);
    return a_from < b_to && b_from < a_to;
}

/* The type of the tile that a load returns or a store writes, or NULL. */
static const tile_type *register_tile(const tile_function *f, tile_op op) {
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_load:
    case TILE_OP_load_shared: return tile_value_type(f, tile_op_result(f, op, 0));
    case TILE_OP_store:
    case TILE_OP_store_shared: return tile_value_type(f, tile_operand_src(f, op));
    default: return NULL;
    }
}

/* Whether each element belongs to one thread, the same one in both accesses. If several threads
 * hold an element, always the same one stores it. */
static bool same_threads(const tile_function *f, const tile_access *a, const tile_access *b) {
    const tile_type *type = register_tile(f, a->op), *other = register_tile(f, b->op);
    if (!type || type != other || !type->layout || a->memory.id != b->memory.id ||
        a->index_count != b->index_count)
        return false;
    for (unsigned i = 0; i < a->index_count; i++) /* index tiles may name an element twice */
        if (a->index[i].id != b->index[i].id ||
            tile_value_type(f, a->index[i])->kind == TILE_TYPE_TILE)
            return false;
    int64_t holders = (int64_t)tile_type_registers(type)
                      << TILE_LANE_BITS << type->layout->warp_bits;
    return (a->write && b->write) || holders == tile_type_elements(type);
}

/* Whether threads access the elements of a shared buffer for each other: ldmatrix and stmatrix, by
 * which neighboring lanes hold neighboring elements. */
static bool may_use_matrices(const tile_type *tile, const tile_type *buffer) {
    const tile_layout *layout = buffer->layout;
    return !layout || layout->rank != tile->rank || tile_scalar_bits(tile->scalar) < 32 ||
           tile_layout_offset_of(layout, tile->layout->lane[0]) == 1;
}

/* Whether each thread accesses only its own elements of a whole shared buffer. Under `sync
 * explicit` at level 2, an operation is one of the whole block. */
static bool own_elements(const tile_function *f, const tile_access *a, const tile_access *b) {
    const tile_type *buffer = tile_value_type(f, a->memory);
    const tile_executors one = tile_executors_of(f, a->op), other = tile_executors_of(f, b->op);
    return a->memory.id == b->memory.id && !buffer->stages && !buffer->cluster &&
           !tile_sync_is_explicit(f, a->op) && !tile_sync_is_explicit(f, b->op) &&
           one.role.id == other.role.id && one.groups == 1 && other.groups == 1 &&
           !a->index_count && same_threads(f, a, b) &&
           !may_use_matrices(register_tile(f, a->op), buffer);
}

/* Whether the value is constant during the kernel. */
static bool is_fixed(const tile_function *f, tile_value value) {
    const tile_value_data *data = tile_value_at(f, value);
    if (data->kind != TILE_VALUE_RESULT) return data->kind != TILE_VALUE_REGION;
    return !tile_op_parent(f, (tile_op){data->owner}).id;
}

/* Whether the value is a loop's variable with a step of at least the extent and the same begin
 * whenever the loop runs. Two of its values are then equal, or at least the extent apart. */
static bool steps_by_extent(const tile_function *f, tile_value value, int64_t extent) {
    int64_t step;
    const tile_value_data *data = tile_value_at(f, value);
    if (data->kind != TILE_VALUE_REGION || data->index) return false;
    tile_op loop = tile_region_at(f, (tile_region){data->owner})->parent;
    return loop.id && tile_op_opcode(f, loop) == TILE_OP_for &&
           tile_value_is_int(f, tile_operand_step(f, loop), &step) && step >= extent &&
           is_fixed(f, tile_operand_begin(f, loop));
}

/* For accesses with same_threads in different iterations: their tiles are identical or disjoint, in
 * a view with contiguous rows. */
static bool equal_or_disjoint(const tile_function *f, const tile_access *a) {
    const tile_type *type = register_tile(f, a->op), *view = tile_value_type(f, a->memory);
    if (view->kind != TILE_TYPE_VIEW || view->has_strides || a->index_count < type->rank)
        return false;
    for (unsigned i = 0; i < a->index_count; i++) {
        unsigned first = a->index_count - type->rank;
        int64_t extent = i < first ? 1 : tile_type_dim(type, i - first);
        if (!is_fixed(f, a->index[i]) && !steps_by_extent(f, a->index[i], extent)) return false;
    }
    return true;
}

/* Whether two atomic accesses need no order: those of independent threads; or of tiles with one
 * kind whose result does not depend on the order, if the old elements are not used. */
static bool may_run_concurrently(const tile_function *f, const uint32_t *uses, const tile_access *a,
                                 const tile_access *b) {
    const tile_access *both[2] = {a, b};
    if (!a->atomic || !b->atomic) return false;
    tile_word kind = tile_op_word(f, a->op, TILE_ATTR_kind);
    bool same = kind == tile_op_word(f, b->op, TILE_ATTR_kind) && tile_kind_opcode(kind);
    bool fine = true;
    for (unsigned i = 0; i < 2; i++) {
        bool whole = tile_op_has_trait(tile_op_opcode(f, both[i]->op), TILE_TRAIT_WHOLE_SET);
        fine &= !whole || (same && !uses[tile_op_result(f, both[i]->op, 0).id]);
    }
    return fine;
}

/* Whether the first thread of the set makes both accesses, in order: scalars at one address. */
static bool by_first_thread(const tile_function *f, const tile_access *a, const tile_access *b) {
    const tile_access *both[2] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        tile_opcode opcode = tile_op_opcode(f, both[i]->op);
        if ((opcode != TILE_OP_atomic && opcode != TILE_OP_atomic_cas) || !both[i]->atomic ||
            tile_value_type(f, tile_moved_operand(f, both[i]->op))->kind != TILE_TYPE_SCALAR)
            return false;
    }
    return true;
}

/* Stores through one ring: each four warps wait for their own stages. */
static bool has_implicit_wait(const tile_function *f, const tile_access *a, const tile_access *b) {
    return a->shared && a->memory.id == b->memory.id &&
           tile_op_opcode(f, a->op) == TILE_OP_store_async &&
           tile_op_opcode(f, b->op) == TILE_OP_store_async;
}

bool accesses_need_barrier(const tile_function *f, const uint32_t *uses,
                           const pending_access *earlier, const tile_access *later) {
    const tile_access *access = &earlier->access;
    if (access->shared != later->shared || !(access->write || later->write)) return false;
    if (may_run_concurrently(f, uses, access, later) || by_first_thread(f, access, later) ||
        has_implicit_wait(f, access, later))
        return false;
    if (access->shared)
        return shared_may_conflict(f, access, later) && !own_elements(f, access, later);
    if (!tile_may_alias(f, access->memory, later->memory)) return false;
    if (same_threads(f, access, later)) return earlier->stale && !equal_or_disjoint(f, access);
    return earlier->stale || tile_stores_may_alias(f, access->op, later->op);
}
