/* Live ranges are intervals of text positions, as for buffers in liveness.c. If a loop uses a value
 * defined before it, the value is live until the end of the loop. The sums over positions are
 * prefix sums, so their cost does not depend on the number of tiles. */
#include "lib/analysis/live_across.h"

#include "lib/ir/regions.h"

typedef struct holding {
    tile_function *f;
    uint32_t *position,
        *end; /* by op: position of its start and of the end of its last region; 0: none */
    uint32_t next;
    uint32_t *last; /* by value: its last use */
    bool *held;     /* by value: whether it counts */
    int64_t *step;  /* by position: the change of the live bytes there */
} holding;

static bool is_computed_of_held(const holding *h, tile_op op) {
    bool found = false;
    if (!tile_op_has_trait(tile_op_opcode(h->f, op), TILE_TRAIT_ELEMENTWISE)) return false;
    for (unsigned i = 0; i < tile_op_operand_count(h->f, op); i++)
        found |= h->held[tile_op_operand(h->f, op, i).id];
    return found;
}

static void number_region(holding *h, tile_region region) {
    TILE_FOR_EACH_OP (h->f, op, region) {
        h->position[op.id] = h->next++;
        unsigned regions = tile_op_at(h->f, op)->region_count;
        bool keeps =
            regions || tile_op_opcode(h->f, op) == TILE_OP_dot || is_computed_of_held(h, op);
        for (unsigned i = 0; i < tile_op_result_count(h->f, op); i++)
            h->held[tile_op_result(h->f, op, i).id] = keeps;
        for (unsigned r = 0; r < regions; r++)
            for (unsigned i = 0; i < tile_carried_count(h->f, op); i++)
                h->held[tile_carried_received(h->f, op, (int)r, i).id] = true;
        for (unsigned r = 0; r < regions; r++) number_region(h, tile_op_region(h->f, op, r));
        h->end[op.id] = h->next++;
    }
}

/* The operation that defines a value or has the region whose argument it is. */
static tile_op owner_of(const holding *h, tile_value value) {
    const tile_value_data *data = tile_value_at(h->f, value);
    if (data->kind != TILE_VALUE_REGION) return tile_value_def(h->f, value);
    return tile_region_at(h->f, (tile_region){data->owner})->parent;
}

static bool is_inside(const holding *h, tile_op inner, tile_op outer) {
    return h->position[inner.id] > h->position[outer.id] && h->end[inner.id] < h->end[outer.id];
}

/* Returns whether the value is defined before the loop. */
static bool is_older(const holding *h, tile_value value, tile_op loop) {
    tile_op owner = owner_of(h, value);
    bool own = tile_value_at(h->f, value)->kind == TILE_VALUE_REGION && owner.id == loop.id;
    return !own && !is_inside(h, owner, loop);
}

static void visit_uses(holding *h, tile_op op) {
    const tile_function *f = h->f;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        tile_value value = tile_op_operand(f, op, i);
        uint32_t last = h->position[op.id];
        if (!h->held[value.id]) continue;
        for (tile_op at = tile_op_parent(f, op); at.id && is_older(h, value, at);
             at = tile_op_parent(f, at))
            if (tile_repeats(f, at)) last = h->end[at.id];
        if (h->last[value.id] < last) h->last[value.id] = last;
    }
}

static void add_stretch(holding *h, tile_value value) {
    const tile_type *type = tile_value_type(h->f, value);
    tile_op owner = owner_of(h, value);
    bool region = tile_value_at(h->f, value)->kind == TILE_VALUE_REGION;
    uint32_t first = region ? h->position[owner.id] : h->end[owner.id];
    if (type->kind != TILE_TYPE_TILE || first + 1 >= h->last[value.id]) return;
    int64_t bytes = tile_type_elements(type) * tile_scalar_bytes(type->scalar);
    h->step[first + 1] += bytes;
    h->step[h->last[value.id]] -= bytes;
}

/* Sums the live bytes at each position, and returns them by the operations that start there. */
static int64_t *add_up(holding *h, tile_arena *arena) {
    int64_t *bytes = TILE_NEW_ARRAY(arena, int64_t, h->f->op_count);
    for (uint32_t at = 1; at < h->next; at++) h->step[at] += h->step[at - 1];
    for (uint32_t id = 1; id < h->f->op_count; id++) bytes[id] = h->step[h->position[id]];
    return bytes;
}

int64_t *tile_live_across_bytes(tile_function *f, tile_arena *arena) {
    holding h = {.f = f, .next = 1};
    h.position = TILE_NEW_ARRAY(arena, uint32_t, f->op_count);
    h.end = TILE_NEW_ARRAY(arena, uint32_t, f->op_count);
    h.last = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    h.held = TILE_NEW_ARRAY(arena, bool, f->value_count);
    number_region(&h, f->body);
    h.held[TILE_NO_VALUE.id] = false;
    h.step = TILE_NEW_ARRAY(arena, int64_t, h.next + 1u);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_uses(&h, op);
    for (uint32_t id = 1; id < f->value_count; id++)
        if (h.held[id]) add_stretch(&h, (tile_value){id});
    return add_up(&h, arena);
}
