/* Control flow is structured, so live ranges are intervals of positions in the text. An interval
 * that crosses the border of a loop is extended to the whole loop, because of the next iteration.
 * In roles, groups and regions run concurrently, so an interval is extended to the barriers of all
 * groups. */
#include "lib/analysis/liveness.h"

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"

typedef struct liveness {
    tile_function *f;
    uint32_t *position; /* by op: position of its start */
    uint32_t *end;      /* by op: position of the end of its last region */
    uint32_t next;
    tile_lifetime *lifetimes;
    unsigned lifetime_count;
    uint32_t *lifetime_of; /* by value: index + 1 */
    tile_op *waits;        /* waits that complete all operations of their mechanism */
    unsigned wait_count;
    tile_op *cluster_barriers; /* cluster_arrive and cluster_wait, in text order */
    unsigned cluster_barrier_count;
    bool *mapped; /* by value: results of map_shared */
} liveness;

static void number_region(liveness *l, tile_region region) {
    TILE_FOR_EACH_OP (l->f, op, region) {
        l->position[op.id] = l->next++;
        for (unsigned r = 0; r < tile_op_at(l->f, op)->region_count; r++)
            number_region(l, tile_op_region(l->f, op, r));
        l->end[op.id] = l->next++;
        if (tile_waits_for_everything(l->f, op)) l->waits[l->wait_count++] = op;
        if (tile_op_effects(l->f, op) & TILE_EFFECT_CLUSTER)
            l->cluster_barriers[l->cluster_barrier_count++] = op;
    }
}

static bool is_inside(const liveness *l, tile_op inner, tile_op outer) {
    return l->position[inner.id] >= l->position[outer.id] && l->end[inner.id] <= l->end[outer.id];
}

static void extend(tile_lifetime *lifetime, uint32_t first, uint32_t last) {
    lifetime->first = lifetime->first < first ? lifetime->first : first;
    lifetime->last = lifetime->last > last ? lifetime->last : last;
}

/* Returns whether a use inside `at`, a loop or roles, makes the buffer live in all of `at`. */
static bool is_live_throughout(const liveness *l, tile_op alloc, tile_op at) {
    bool inside = is_inside(l, alloc, at);
    if (tile_op_opcode(l->f, at) == TILE_OP_roles)
        return !inside || tile_executors_of(l->f, alloc).groups > 1;
    return tile_repeats(l->f, at) && !inside;
}

/* A `sync all` directly in roles with a single region: all groups complete the operations before it
 * before any group starts the operations after it. */
static bool is_cluster_barrier_of(const liveness *l, tile_op op, tile_op roles) {
    return tile_op_opcode(l->f, op) == TILE_OP_sync && tile_op_has_attr(l->f, op, TILE_ATTR_all) &&
           tile_op_at(l->f, roles)->region_count == 1 && tile_op_parent(l->f, op).id == roles.id;
}

/* Groups can be anywhere between the last such barrier before the use and the next one after it. */
static void extend_to_groups(const liveness *l, tile_lifetime *lifetime, tile_op use,
                             tile_op roles) {
    uint32_t first = l->position[roles.id], last = l->end[roles.id];
    TILE_FOR_EACH_OP (l->f, op, tile_op_region(l->f, roles, 0)) {
        if (!is_cluster_barrier_of(l, op, roles)) continue;
        if (l->end[op.id] < l->position[use.id]) first = l->end[op.id];
        if (l->position[op.id] > l->end[use.id] && last > l->position[op.id])
            last = l->position[op.id];
    }
    extend(lifetime, first, last);
}

/* Returns whether the use is in another region of the roles of which one region frees the buffer:
 * this region has waited for the other one then, which may follow it in the text. */
static bool is_before_free(const liveness *l, const tile_lifetime *lifetime, tile_op use) {
    const tile_region role = tile_executors_of(l->f, use).role;
    return lifetime->freed_in.id && role.id && role.id != lifetime->freed_in.id &&
           tile_region_at(l->f, role)->parent.id ==
               tile_region_at(l->f, lifetime->freed_in)->parent.id;
}

/* An operation in a loop runs again in the next iteration, with the same buffer unless the loop
 * allocates it. */
static void extend_to_use(liveness *l, tile_lifetime *lifetime, tile_op use) {
    if (is_before_free(l, lifetime, use)) {
        extend(lifetime, l->position[tile_region_at(l->f, lifetime->freed_in)->parent.id],
               l->end[lifetime->free.id]);
        return;
    }
    extend(lifetime, l->position[use.id], l->end[use.id]);
    for (tile_op at = tile_op_parent(l->f, use); at.id; at = tile_op_parent(l->f, at)) {
        bool freed = lifetime->freed_in.id && tile_op_parent(l->f, lifetime->free).id == at.id;
        if (is_live_throughout(l, lifetime->alloc, at) && !freed &&
            tile_op_opcode(l->f, at) == TILE_OP_roles)
            extend_to_groups(l, lifetime, use, at);
        else if (is_live_throughout(l, lifetime->alloc, at))
            extend(lifetime, l->position[at.id], l->end[freed ? lifetime->free.id : at.id]);
    }
}

static tile_mechanism mechanism_of(const liveness *l, tile_op wait) {
    return tile_op_get_info(tile_op_opcode(l->f, wait))->mechanism;
}

/* Loops around op that do not contain `until` can be in any of their iterations. */
static void extend_to_loops(liveness *l, tile_lifetime *lifetime, tile_op op, tile_op until) {
    for (tile_op at = tile_op_parent(l->f, op); at.id; at = tile_op_parent(l->f, at))
        if (tile_repeats(l->f, at) && (!until.id || !is_inside(l, until, at)))
            extend(lifetime, l->position[at.id], l->end[at.id]);
}

/* The copy completes at the first such wait after it whose region contains the copy, too. Loops
 * inside that region can be in their next iteration by then, wherever the buffer is allocated. */
static void extend_to_wait(liveness *l, tile_lifetime *lifetime, tile_op copy) {
    tile_op wait = TILE_NO_OP;
    tile_mechanism mechanism = tile_op_starts(l->f, copy);
    for (unsigned i = 0; i < l->wait_count && !wait.id; i++)
        if (mechanism_of(l, l->waits[i]) == mechanism &&
            l->position[l->waits[i].id] > l->position[copy.id] &&
            tile_ancestor_in(l->f, copy, tile_op_at(l->f, l->waits[i])->parent).id)
            wait = l->waits[i];
    if (wait.id)
        extend_to_use(l, lifetime, wait);
    else
        extend(lifetime, l->position[copy.id], l->next);
    extend_to_loops(l, lifetime, copy, wait);
}

/* Returns whether cluster barrier i is a cluster_arrive and the next one its cluster_wait, which
 * together order memory, in one region that also contains op. Every path through op then executes
 * both or neither. */
static bool is_cluster_barrier_around(const liveness *l, unsigned i, tile_op op) {
    if (i + 1 >= l->cluster_barrier_count) return false;
    tile_op arrive = l->cluster_barriers[i], wait = l->cluster_barriers[i + 1];
    tile_region region = tile_op_at(l->f, arrive)->parent;
    return tile_op_opcode(l->f, arrive) == TILE_OP_cluster_arrive &&
           !tile_op_has_attr(l->f, arrive, TILE_ATTR_relaxed) &&
           tile_op_opcode(l->f, wait) == TILE_OP_cluster_wait &&
           tile_op_at(l->f, wait)->parent.id == region.id && tile_ancestor_in(l->f, op, region).id;
}

/* Other blocks may access the buffer from this block's arrival at the last cluster barrier before
 * the access until its wait at the first cluster barrier after it. */
static void extend_to_cluster_barriers(liveness *l, tile_lifetime *lifetime, tile_op use) {
    tile_op from = TILE_NO_OP, to = TILE_NO_OP;
    uint32_t position = l->position[use.id];
    for (unsigned i = 0; i < l->cluster_barrier_count; i++) {
        if (!is_cluster_barrier_around(l, i, use)) continue;
        if (l->position[l->cluster_barriers[i + 1].id] < position) from = l->cluster_barriers[i];
        if (l->position[l->cluster_barriers[i].id] > position && !to.id)
            to = l->cluster_barriers[i + 1];
    }
    if (from.id)
        extend_to_use(l, lifetime, from);
    else
        extend(lifetime, 0, position);
    if (to.id)
        extend_to_use(l, lifetime, to);
    else
        extend(lifetime, position, l->next);
    extend_to_loops(l, lifetime, use, from);
    extend_to_loops(l, lifetime, use, to);
}

/* The end of the buffer's use is unknown: in a loop, the next iteration must not reuse it
 * either. */
static void extend_to_end(liveness *l, tile_lifetime *lifetime) {
    extend(lifetime, l->position[lifetime->alloc.id], l->next);
    for (tile_op at = tile_op_parent(l->f, lifetime->alloc); at.id; at = tile_op_parent(l->f, at))
        extend(lifetime, l->position[at.id], l->next);
}

static void add_alloc(liveness *l, tile_op op) {
    tile_value buffer = tile_op_result(l->f, op, 0);
    l->lifetimes[l->lifetime_count++] = (tile_lifetime){.alloc = op,
                                                        .buffer = buffer,
                                                        .first = UINT32_MAX,
                                                        .exchange = true,
                                                        .role = tile_executors_of(l->f, op).role};
    l->lifetime_of[buffer.id] = l->lifetime_count;
}

static void visit_free(liveness *l, tile_op op) {
    tile_function *f = l->f;
    if (tile_op_opcode(f, op) != TILE_OP_free_shared) return;
    uint32_t index = l->lifetime_of[tile_operand_buffer(f, op).id];
    tile_executors executors = tile_executors_of(f, op);
    bool direct = executors.role.id && tile_op_at(f, op)->parent.id == executors.role.id &&
                  executors.groups == 1;
    if (!index || !direct || l->lifetimes[index - 1].role.id) return;
    l->lifetimes[index - 1].freed_in = executors.role;
    l->lifetimes[index - 1].free = op;
}

static void visit_use(liveness *l, tile_op op) {
    tile_function *f = l->f;
    const tile_op_data *data = tile_op_at(f, op);
    bool async = tile_op_starts(f, op) != TILE_MECHANISM_NONE;
    for (uint32_t i = 0; i < data->operand_count; i++) {
        uint32_t index = l->lifetime_of[data->operands[i].id];
        if (!index) continue;
        tile_lifetime *lifetime = &l->lifetimes[index - 1];
        lifetime->freed |= data->opcode == TILE_OP_free_shared;
        lifetime->exchange &=
            data->opcode == TILE_OP_free_shared || data->opcode == TILE_OP_convert_layout;
        lifetime->explicit_ |= tile_sync_is_explicit(f, op);
        extend_to_use(l, lifetime, op);
        bool counted = lifetime->freed_in.id && tile_op_mechanism(f, op) == TILE_MECHANISM_BARRIER;
        if (async && !counted)
            extend_to_wait(l, lifetime, op); /* counted: the thread that frees it has waited */
        if (l->mapped[data->operands[i].id]) extend_to_cluster_barriers(l, lifetime, op);
        if (data->opcode == TILE_OP_map_shared) {
            l->mapped[data->first_result.id] = true;
            l->lifetime_of[data->first_result.id] = index;
        }
        if (tile_op_effects(f, op) & TILE_EFFECT_TERMINATOR || data->opcode == TILE_OP_select)
            extend(lifetime, 0, l->next); /* it is used through another value from here on */
    }
}

static liveness find_lifetimes(tile_function *f, tile_arena *arena) {
    liveness l = {.f = f};
    l.position = TILE_NEW_ARRAY(arena, uint32_t, f->op_count);
    l.end = TILE_NEW_ARRAY(arena, uint32_t, f->op_count);
    l.waits = TILE_NEW_ARRAY(arena, tile_op, f->op_count);
    l.lifetimes = TILE_NEW_ARRAY(arena, tile_lifetime, f->op_count);
    l.lifetime_of = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    l.cluster_barriers = TILE_NEW_ARRAY(arena, tile_op, f->op_count);
    l.mapped = TILE_NEW_ARRAY(arena, bool, f->value_count);
    number_region(&l, f->body);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_is_alloc(tile_op_opcode(f, op))) add_alloc(&l, op);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_free(&l, op);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_use(&l, op);
    for (unsigned i = 0; i < l.lifetime_count; i++) {
        tile_lifetime *lifetime = &l.lifetimes[i];
        bool explicit_ = f->sync_explicit || lifetime->explicit_;
        bool barriers = tile_value_type(f, lifetime->buffer)->scalar == TILE_barrier;
        if (barriers) lifetime->exchange = false;
        if (barriers)
            extend(lifetime, 0, l.next); /* barriers never share memory with other buffers */
        if (explicit_) extend_to_use(&l, lifetime, lifetime->alloc);
        if (explicit_ && !lifetime->freed) extend_to_end(&l, lifetime);
        if (lifetime->first > lifetime->last) /* never used */
            extend_to_use(&l, lifetime, lifetime->alloc);
        tile_lifetime held = *lifetime;
        if (explicit_ && lifetime->exchange) extend_to_end(&l, &held);
        lifetime->held_first = held.first;
        lifetime->held_last = held.last;
    }
    return l;
}

tile_lifetime *tile_shared_lifetimes(tile_function *f, tile_arena *arena, unsigned *count) {
    liveness l = find_lifetimes(f, arena);
    *count = l.lifetime_count;
    return l.lifetimes;
}

int64_t *tile_live_shared_bytes(tile_function *f, tile_arena *arena) {
    liveness l = find_lifetimes(f, arena);
    int64_t *bytes = TILE_NEW_ARRAY(arena, int64_t, f->op_count);
    int64_t *change = TILE_NEW_ARRAY(arena, int64_t, l.next + (size_t)2), stride; /* by position */
    for (unsigned i = 0; i < l.lifetime_count; i++) {
        const tile_lifetime *life = &l.lifetimes[i];
        int64_t size = tile_alloc_bytes(f, life->alloc, &stride);
        if (size <= 0) continue;
        change[life->held_first] += size;
        change[life->held_last + 1] -= size;
    }
    for (uint32_t at = 1; at <= l.next; at++) change[at] += change[at - 1];
    for (uint32_t id = 1; id < f->op_count; id++) bytes[id] = change[l.position[id]];
    return bytes;
}

bool tile_live_together(const tile_function *f, const tile_lifetime *a, const tile_lifetime *b) {
    bool roles = a->role.id && b->role.id && a->role.id != b->role.id;
    if (roles && tile_region_at(f, a->role)->parent.id == tile_region_at(f, b->role)->parent.id)
        return true;
    if ((a->freed_in.id && b->role.id && a->freed_in.id != b->role.id) ||
        (b->freed_in.id && a->role.id && b->freed_in.id != a->role.id))
        return true;
    if (a->exchange && b->exchange) return a->first <= b->last && b->first <= a->last;
    return a->held_first <= b->held_last && b->held_first <= a->held_last;
}
