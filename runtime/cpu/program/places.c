/* Places in the register file. Values that are not live at the same time share one, which keeps the
 * frames of waiting blocks small.
 *
 * Operations are numbered in text order, with an additional number at the end of each operation
 * with regions. A value is live from its definition to its last use. If that use is inside of a
 * loop that does not contain the definition, the value is live to the end of the loop. A value
 * carried by a loop shares its place with the loop's result, and is live at least during the loop.
 * The results of an `if` are live from its start, since both regions write them. The condition of a
 * loop is live to the loop's end. */
#include <string.h>

#include "lib/ir/regions.h"
#include "lib/support/integer.h"
#include "runtime/cpu/program/program.h"

typedef struct open_loop {
    uint32_t start, end;
} open_loop;

typedef struct liveness {
    const tile_function *f;
    tile_arena *arena;
    uint32_t *rep;   /* for a region argument: the operation's result */
    uint32_t *start; /* by value id; 0: needs no place */
    uint32_t *last;
    uint32_t *order; /* values in the order of their starts */
    uint32_t order_count;
    uint32_t *end; /* by op id, of operations with regions; known after the first traversal */
    uint32_t position;
    open_loop *loops;
    size_t loop_count, loop_capacity;
} liveness;

/* Both traversals number the operations in the same way. The first finds definitions and ends of
 * loops, the second finds uses. */
typedef void (*visit_op)(liveness *l, tile_op op, uint32_t position);

static void walk(liveness *l, tile_region region, visit_op visit) {
    TILE_FOR_EACH_OP (l->f, op, region) {
        const tile_op_data *data = tile_op_at(l->f, op);
        uint32_t position = ++l->position;
        visit(l, op, position);
        bool loop = tile_repeats(l->f, op);
        if (loop) {
            l->loops = tile_arena_grow(l->arena, l->loops, l->loop_count, &l->loop_capacity,
                                       sizeof *l->loops);
            l->loops[l->loop_count++] = (open_loop){position, l->end[op.id]};
        }
        for (unsigned r = 0; r < data->region_count; r++) walk(l, data->regions[r], visit);
        if (data->region_count) l->end[op.id] = ++l->position;
        l->loop_count -= loop;
    }
}

static void define(liveness *l, tile_value value, uint32_t position) {
    l->start[value.id] = l->last[value.id] = position;
    l->order[l->order_count++] = value.id;
}

static void visit_definitions(liveness *l, tile_op op, uint32_t position) {
    const tile_op_data *data = tile_op_at(l->f, op);
    for (uint32_t i = 0; i < data->result_count; i++)
        define(l, tile_op_result(l->f, op, i), position);
    for (unsigned r = 0; r < data->region_count; r++) {
        for (unsigned i = 0; i < tile_region_own_args(l->f, data->regions[r]); i++)
            define(l, tile_region_arg(l->f, data->regions[r], i), position);
        for (unsigned i = 0; i < tile_carried_count(l->f, op); i++)
            l->rep[tile_carried_received(l->f, op, (int)r, i).id] = data->first_result.id + i;
    }
    l->rep[0] = 0;
}

static void use(liveness *l, uint32_t value, uint32_t position) {
    value = l->rep[value] ? l->rep[value] : value;
    if (!l->start[value]) return;
    for (size_t i = 0; i < l->loop_count; i++)
        if (l->start[value] < l->loops[i].start) {
            position = l->loops[i].end;
            break;
        }
    if (l->last[value] < position) l->last[value] = position;
}

static void visit_uses(liveness *l, tile_op op, uint32_t position) {
    const tile_op_data *data = tile_op_at(l->f, op);
    for (uint32_t i = 0; i < data->operand_count; i++) use(l, data->operands[i].id, position);
    for (unsigned i = 0; i < tile_control_operand_count(l->f, op) && tile_repeats(l->f, op); i++)
        use(l, tile_control_operand(l->f, op, i).id, l->end[op.id]);
    for (unsigned r = 0; r < data->region_count; r++)
        for (unsigned i = 0; i < tile_region_own_args(l->f, data->regions[r]); i++)
            use(l, tile_region_arg(l->f, data->regions[r], i).id, l->end[op.id]);
    for (uint32_t i = 0; data->region_count && i < data->result_count; i++)
        use(l, data->first_result.id + i, l->end[op.id]);
}

uint32_t cpu_value_elements(const tile_type *type) {
    bool array = type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_VECTOR;
    return array ? (uint32_t)tile_type_elements(type) : 1;
}

uint32_t cpu_value_size(const tile_type *type) {
    switch (type->kind) {
    case TILE_TYPE_PTR:
    case TILE_TYPE_DESCRIPTOR: return sizeof(uint64_t);
    case TILE_TYPE_VIEW: return sizeof(cpu_view);
    case TILE_TYPE_SHARED: return sizeof(uint32_t);
    case TILE_TYPE_MAP: return sizeof(uint32_t);
    case TILE_TYPE_SCALAR:
    case TILE_TYPE_TENSOR:
    case TILE_TYPE_TILE:
    case TILE_TYPE_VECTOR: break; /* one element */
    }
    return tile_scalar_bytes(type->scalar);
}

/* Free places by size; there are few different sizes. */
typedef struct free_list {
    uint32_t size;
    uint32_t *places;
    size_t count, capacity;
} free_list;

typedef struct allocator {
    tile_arena *arena;
    free_list *lists;
    size_t list_count, list_capacity;
    uint64_t used;
} allocator;

static free_list *list_of(allocator *a, uint32_t size) {
    for (size_t i = 0; i < a->list_count; i++)
        if (a->lists[i].size == size) return &a->lists[i];
    a->lists =
        tile_arena_grow(a->arena, a->lists, a->list_count, &a->list_capacity, sizeof *a->lists);
    a->lists[a->list_count] = (free_list){.size = size};
    return &a->lists[a->list_count++];
}

static uint32_t take(allocator *a, uint32_t size) {
    free_list *list = list_of(a, size);
    if (list->count) return list->places[--list->count];
    uint64_t place = a->used;
    a->used += size;
    return (uint32_t)place;
}

static void give(allocator *a, uint32_t size, uint32_t place) {
    free_list *list = list_of(a, size);
    list->places =
        tile_arena_grow(a->arena, list->places, list->count, &list->capacity, sizeof *list->places);
    list->places[list->count++] = place;
}

/* A single lane has no tiles. */
uint32_t cpu_value_place_bytes(const tile_type *type, unsigned lanes) {
    if (type->kind == TILE_TYPE_TILE && lanes > 1) return 0;
    uint32_t bytes = cpu_value_elements(type) * cpu_value_size(type) * lanes;
    return (uint32_t)tile_round_up(bytes, CPU_PLACE_ALIGN);
}

static uint32_t place_bytes(const liveness *l, uint32_t value, unsigned lanes) {
    return cpu_value_place_bytes(tile_value_type(l->f, (tile_value){value}), lanes);
}

/* At each position, values that start there get a place before those that end there free theirs, so
 * no operation overwrites its operands. */
static uint64_t scan(liveness *l, unsigned lanes, uint32_t *places) {
    allocator a = {.arena = l->arena};
    uint32_t *expiring =
        TILE_NEW_ARRAY(l->arena, uint32_t, l->position + 2); /* lists by last use */
    uint32_t *next = TILE_NEW_ARRAY(l->arena, uint32_t, l->f->value_count);
    uint32_t at = 0;
    for (uint32_t position = 1; position <= l->position; position++) {
        for (; at < l->order_count && l->start[l->order[at]] == position; at++) {
            uint32_t value = l->order[at];
            places[value] = take(&a, place_bytes(l, value, lanes));
            next[value] = expiring[l->last[value]];
            expiring[l->last[value]] = value;
        }
        for (uint32_t value = expiring[position]; value; value = next[value])
            give(&a, place_bytes(l, value, lanes), places[value]);
    }
    for (uint32_t value = 1; value < l->f->value_count; value++)
        if (l->rep[value]) places[value] = places[l->rep[value]];
    return a.used;
}

uint64_t cpu_assign_places(const tile_function *f, unsigned lanes, uint32_t *places,
                           tile_arena *arena) {
    liveness l = {.f = f, .arena = arena};
    l.rep = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    l.start = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    l.last = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    l.order = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    l.end = TILE_NEW_ARRAY(arena, uint32_t, f->op_count);
    walk(&l, f->body, visit_definitions);
    l.position = 0;
    walk(&l, f->body, visit_uses);
    return scan(&l, lanes, places);
}

void cpu_make_contiguous(cpu_view *view, unsigned rank) {
    int64_t stride = 1;
    for (unsigned d = rank; d-- > 0;) {
        view->stride[d] = stride;
        stride = (int64_t)((uint64_t)stride * (uint64_t)view->extent[d]); /* wraps, as on a GPU */
    }
}
