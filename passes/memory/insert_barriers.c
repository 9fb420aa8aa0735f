/* insert-barriers: inserts a `sync` where threads would race, and nowhere else.
 *
 * A barrier costs about 20 to 40 cycles in which no warp issues, and it ends the overlap of loads
 * and mma. A ring of stages needs one per k-tile, not the two that result from a barrier around
 * every access.
 *
 * level: 2 to 2
 * requires: instantiated, laid_out, allocated
 * keeps: instantiated, laid_out, allocated
 * breaks: nothing
 *
 * pipeline: insert-barriers
 * before:
 *   kernel @turn(%p: ptr<f16>)
 *       grid [1]  warps 4
 *   {
 *     %g = view %p, [128, 64] : view<f16[128, 64]>
 *     %a = alloc_shared {offset = 0} : shared<f16[64, 64]>
 *     copy %g[0, 0], %a
 *     %t = load_shared %a : tile<f16[64, 64]>
 *     %u = add %t, %t : tile<f16[64, 64]>
 *     store_shared %u, %a
 *   }
 *
 * after:
 *   kernel @turn(%p: ptr<f16>)
 *       grid [1]  warps 4
 *   {
 *     %g = view %p, [128, 64] : view<f16[128, 64]>
 *     %a = alloc_shared {offset = 0} : shared<f16[64, 64]>
 *     copy %g[0, 0], %a
 *     sync
 *     %t = load_shared %a : tile<f16[64, 64]>
 *     %u = add %t, %t : tile<f16[64, 64]>
 *     sync
 *     store_shared %u, %a
 *   }
 *
 * How. The pass visits operations in program order and keeps a set of pending accesses: those since
 * the last barrier. An access that may conflict with a pending one (the same memory, and one of the
 * two writes) needs a barrier before it. Any two accesses are assumed to be made by different
 * threads.
 *
 * With respect to earlier accesses, an asynchronous operation takes effect when it is issued.
 * Memory that it wrote can be read, and memory that it read can be written, after a wait and a
 * barrier, in this order: each thread waits only for its own operations. So a wait makes the
 * accesses in flight pending, if they use its mechanism (cp.async groups, ..). A wait that leaves
 * nothing unfinished also empties the set in flight. Such an access needs a barrier between the
 * wait and a conflicting access; other barriers can be placed more freely. In regions, barriers
 * that waits require are therefore inserted first; they often order all other accesses as well.
 *
 * Loops. Accesses that are pending at the end of the body are pending at its head. A stage index
 * that the loop carries is renamed there (the stage read ahead is the stage of the next iteration).
 * Others belong to another iteration and cannot be compared, unless they are constant. The barriers
 * that the loop needs on its own are inserted first. If accesses that are pending before the loop
 * require another one, it is inserted before the loop. It is also inserted before an `if` whose
 * regions conflict with a pending access: with a barrier in one branch only, the other would need
 * one as well.
 *
 * Global memory is treated likewise; views alias according to the pointers that they are made from.
 * If a tile is loaded and stored at the same indices in the same layout, and each element is held
 * by one thread only, each thread accesses its own elements. Semaphores include barriers before and
 * after them, and so do atomic accesses that release or acquire. Atomic accesses of one kind whose
 * results are not used need no barrier between them.
 *
 * Roles. A barrier in a region of `roles` is one of the region's executing set. Accesses of
 * different regions, or of different groups of one region, are not compared: the author orders them
 * by numbered barriers.
 *
 * Clusters. `cluster_arrive` and `cluster_wait` together are also a barrier of the block: accesses
 * that were pending at the arrive are not pending after the wait, but accesses between the two are.
 * A relaxed `cluster_arrive` orders nothing. A result of map_shared may be the block's own buffer,
 * because the rank may be its own. The author orders the accesses of different blocks by these two
 * operations.
 *
 * At level 3, threads may need a barrier in a branch that not all of them take. This is an error;
 * the user must rewrite the code.
 *
 * Fences for memory that wgmma reads are inserted first (insert_fences.c), even where barriers are
 * explicit, because a user of tiles does not see where they are needed.
 *
 * Under `sync explicit`, in the whole kernel or in one region, no barrier is inserted. If a pending
 * access requires it, a barrier is inserted before such a region, and the accesses of the region
 * are pending after it. Existing `sync` operations stay. */
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/uniform.h"
#include "lib/ir/regions.h"
#include "lib/layout/reduce.h"
#include "lib/ops/atomic.h"
#include "lib/ops/reduce.h"
#include "passes/common/warpgroup.h"
#include "passes/memory/pending_accesses.h"
#include "passes/pass.h"

/* The result of visiting the regions of an operation in a given state. */
typedef struct visit_record {
    bool known, dry_run;
    bool landed_only;
    bool hoist;
    access_state before, after;
    long inserted; /* barriers inserted before this visit */
} visit_record;

/* The most recent records: around a loop, states alternate between the first round, the second
 * round and the empty state. */
enum { MAX_RECORDS = 8 };
typedef struct visit_records {
    visit_record *last; /* MAX_RECORDS records, for an operation that has been visited */
    unsigned next;
} visit_records;

typedef struct barriers {
    tile_pass *pass;
    tile_function *f;
    tile_arena *arena;
    /* By op: the barriers that its regions need on their own have been inserted. [1]: those
     * required by accesses with `landed`, which come first. */
    bool (*has_own_barriers)[2];
    bool landed_only;      /* only such accesses require barriers */
    visit_records *notes;  /* by op */
    bool dry_run;          /* inserts nothing */
    bool hoist;            /* dry_run only: an access from before the region conflicts in it */
    const bool *divergent; /* by value */
    const uint32_t *uses;  /* by value: number of uses */
    long inserted;
    bool failed;
} barriers;

static bool needs_barrier(const barriers *b, const pending_access *earlier,
                          const tile_access *later) {
    return (earlier->landed || !b->landed_only) &&
           accesses_need_barrier(b->f, b->uses, earlier, later);
}

/* A barrier that only some threads reach would deadlock. */
static bool can_insert_at(barriers *b, tile_op before) {
    tile_op control = tile_divergent_control(b->f, b->divergent, before);
    if (!control.id || b->failed) return !b->failed;
    tile_error_at(
        b->f, before,
        "%s needs a barrier before it, and is in divergent control flow; where the accesses of a "
        "branch cannot conflict, put it into `sync explicit {..}` and write the barriers yourself",
        tile_op_name(b->f, before));
    tile_note_at(b->f, control, "threads diverge at this %s", tile_op_name(b->f, control));
    b->failed = true;
    return false;
}

static void put_barrier(barriers *b, tile_op before, access_state *s) {
    if (tile_sync_is_explicit(b->f, before)) return;
    s->pending.count = 0;
    if (b->dry_run || !can_insert_at(b, before)) return;
    tile_builder builder = tile_builder_before(b->f, before);
    tile_build_sync_for(&builder, tile_executors_of(b->f, before));
    b->inserted++;
}

static void complete(barriers *b, tile_op wait, access_state *s) {
    access_set *in_flight = &s->in_flight[tile_op_mechanism(b->f, wait)];
    for (size_t i = 0; i < in_flight->count; i++) {
        pending_access access = in_flight->items[i];
        access.landed = true;
        access_set_add(b->arena, &s->pending, access);
    }
    if (tile_waits_for_everything(b->f, wait)) in_flight->count = 0;
}

/* Whether op exchanges values through one buffer and then, after another barrier, places through a
 * second one (*places). Its first barrier orders all earlier accesses before those to places; its
 * second one orders the accesses to values before all later ones. */
static bool has_implicit_barrier(const tile_function *f, tile_op op, tile_value *places) {
    enum { VALUES = 1, PLACES = 2 };
    tile_reduction reduction;
    if (tile_op_opcode(f, op) != TILE_OP_reduce_arg) return false;
    const tile_values buffer = tile_op_segment(f, op, PLACES);
    if (!tile_op_segment(f, op, VALUES).count || !buffer.count ||
        !tile_reduction_of(f, op, &reduction))
        return false;
    const tile_layout *from = tile_value_type(f, tile_operand_src(f, op))->layout;
    const tile_layout *to = tile_value_type(f, tile_op_result(f, op, 0))->layout;
    if (!from || !to) return false;
    tile_reduce_plan plan = tile_reduce_make_plan(from, reduction.axis);
    *places = buffer.at[0];
    return tile_reduce_in_turn(&plan, to) && tile_reduce_exchanges(&plan, to);
}

/* Moves accesses to values to the front; returns their number. */
static unsigned put_values_first(tile_access *accesses, unsigned count, tile_value places) {
    unsigned values = 0;
    for (unsigned a = 0; a < count; a++) {
        tile_access own = accesses[a];
        if (own.memory.id == places.id) continue;
        accesses[a] = accesses[values];
        accesses[values++] = own;
    }
    return values;
}

static void walk_accesses(barriers *b, tile_op op, access_state *s) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(b->f, op, accesses);
    tile_value places = TILE_NO_VALUE;
    bool conflict = false, ordered = has_implicit_barrier(b->f, op, &places);
    unsigned values = ordered ? put_values_first(accesses, count, places) : 0;
    unsigned asking = ordered ? values : count;
    for (size_t i = 0; i < s->pending.count; i++)
        for (unsigned a = 0; a < asking; a++)
            if (needs_barrier(b, &s->pending.items[i], &accesses[a])) {
                conflict = true;
                b->hoist |= s->pending.items[i].outer;
            }
    if (conflict) put_barrier(b, op, s);
    if (ordered) s->pending.count = 0;
    tile_mechanism started = tile_op_starts(b->f, op);
    access_set *set = started != TILE_MECHANISM_NONE ? &s->in_flight[started] : &s->pending;
    for (unsigned a = values; a < count; a++)
        access_set_add(b->arena, set, (pending_access){.access = accesses[a]});
}

static void walk_region(barriers *b, tile_region region, access_state *s);

/* The states at the head of each region of op on entry, and after it if no region may run. */
static access_state *enter_regions(barriers *b, tile_op op, const access_state *before,
                                   access_state *after) {
    access_state *heads =
        TILE_NEW_ARRAY(b->arena, access_state, tile_op_at(b->f, op)->region_count + 1u);
    *after = (access_state){0};
    TILE_FOR_EACH_BRANCH_POINT (b->f, op, to) {
        if (!tile_control_flows(b->f, op, TILE_PARENT_OP, to)) continue;
        access_state_join(b->arena, to == TILE_PARENT_OP ? after : &heads[to], before);
        if (to != TILE_PARENT_OP && tile_repeats(b->f, op))
            access_state_enter(b->f, op, to, &heads[to]);
    }
    return heads;
}

/* Visits the regions once, in the order of the text, and joins the state at each end into the
 * successors' states. Along a back edge, and after a loop, the state is that of another iteration.
 * Returns true if the state at the head of a region that has been visited grew. */
static bool visit_loop_once(barriers *b, tile_op op, access_state *heads, access_state *after) {
    bool grown = false;
    for (int r = 0; r < (int)tile_op_at(b->f, op)->region_count; r++) {
        access_state end = access_state_copy(b->arena, &heads[r]);
        walk_region(b, tile_op_region(b->f, op, (unsigned)r), &end);
        for (int to = r + 1; to < (int)tile_op_at(b->f, op)->region_count; to++)
            if (tile_control_flows(b->f, op, r, to)) access_state_join(b->arena, &heads[to], &end);
        for (int to = 0; to <= r; to++) {
            if (!tile_control_flows(b->f, op, r, to)) continue;
            access_state next = access_state_copy(b->arena, &end);
            access_state_cross_edge(b->f, (region_edge){op, r, to}, &next);
            grown |= access_state_join(b->arena, &heads[to], &next);
        }
        if (tile_repeats(b->f, op)) access_state_cross_edge(b->f, (region_edge){0}, &end);
        if (tile_control_flows(b->f, op, r, TILE_PARENT_OP))
            access_state_join(b->arena, after, &end);
    }
    return grown;
}

/* Visits the regions until the states at their heads reach a fixed point. s: state before op, then
 * after it. */
static void visit_loop_to_fixpoint(barriers *b, tile_op op, access_state *s) {
    access_state after, *heads = enter_regions(b, op, s, &after);
    while (visit_loop_once(b, op, heads, &after)) {
    }
    *s = after;
}

/* Whether an access that is pending now conflicts in op before a barrier there. */
static bool needs_barrier_inside(barriers *b, tile_op op, const access_state *now) {
    barriers look = *b;
    look.dry_run = true;
    look.hoist = false;
    access_state before = access_state_copy(look.arena, now), after;
    for (size_t i = 0; i < before.pending.count; i++) before.pending.items[i].outer = true;
    access_state *heads = enter_regions(&look, op, &before, &after);
    visit_loop_once(&look, op, heads, &after);
    return look.hoist;
}

/* Inserts the barriers that the regions need on their own, once; then one before op if accesses
 * that are pending now require it. */
static void reach_fixpoint(barriers *b, tile_op op, access_state *s) {
    bool only = b->landed_only;
    for (int first = 1; first >= (int)only; first--) {
        access_state nothing = {0};
        b->landed_only = first;
        if (!b->has_own_barriers[op.id][first]) visit_loop_to_fixpoint(b, op, &nothing);
        b->has_own_barriers[op.id][first] = true;
    }
    b->landed_only = only;
    if (s->pending.count && needs_barrier_inside(b, op, s)) put_barrier(b, op, s);
}

static bool is_record_of(const barriers *b, const visit_record *note, const access_state *s) {
    return note->known && note->dry_run == b->dry_run && note->inserted == b->inserted &&
           note->landed_only == b->landed_only && access_state_equal(&note->before, s);
}

static const visit_record *find_record(const barriers *b, const visit_records *notes,
                                       const access_state *s) {
    for (unsigned i = 0; i < MAX_RECORDS; i++)
        if (is_record_of(b, &notes->last[i], s)) return &notes->last[i];
    return NULL;
}

/* Visiting with the same state has the same result. Without records, each level of nesting would
 * visit its inner regions several times, which would be exponential. */
static void walk_regions(barriers *b, tile_op op, access_state *s) {
    visit_records *notes = &b->notes[op.id];
    if (!notes->last) notes->last = TILE_NEW_ARRAY(b->arena, visit_record, MAX_RECORDS);
    const visit_record *found = find_record(b, notes, s);
    bool met = b->hoist;
    if (!found) {
        visit_record note = {.before = access_state_copy(b->arena, s), .inserted = b->inserted};
        note.landed_only = b->landed_only;
        note.dry_run = b->dry_run;
        if (!b->dry_run) reach_fixpoint(b, op, s);
        b->hoist = false;
        visit_loop_to_fixpoint(b, op, s);
        note.after = access_state_copy(b->arena, s);
        note.hoist = b->hoist;
        note.known = b->inserted == note.inserted;
        visit_record *place = &notes->last[notes->next++ % MAX_RECORDS];
        *place = note;
        found = place;
    }
    *s = access_state_copy(b->arena, &found->after);
    b->hoist = met || found->hoist;
}

static void add_accesses(barriers *b, tile_op op, access_set *set) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(b->f, op, accesses);
    for (unsigned a = 0; a < count; a++)
        access_set_add(b->arena, set, (pending_access){.access = accesses[a]});
}

/* Accesses inside are made by other warps, so only a block barrier before the roles orders them
 * after earlier accesses. Each region is visited separately. Its barriers order nothing for the
 * warps of other regions, so all accesses inside are pending after the roles. */
static void walk_roles(barriers *b, tile_op op, access_state *s) {
    access_set inside = {0};
    bool conflict = false;
    TILE_FOR_EACH_NESTED_OP (b->f, inner, op) add_accesses(b, inner, &inside);
    for (size_t i = 0; i < s->pending.count; i++)
        for (size_t a = 0; a < inside.count; a++)
            if (needs_barrier(b, &s->pending.items[i], &inside.items[a].access)) {
                conflict = true;
                b->hoist |= s->pending.items[i].outer;
            }
    if (conflict) put_barrier(b, op, s);
    access_set_cross_edge(b->f, (region_edge){0}, &inside);
    access_set_add_all(b->arena, &s->pending, &inside);
    for (unsigned r = 0; r < tile_op_at(b->f, op)->region_count; r++) {
        access_state own = {0};
        walk_region(b, tile_op_region(b->f, op, r), &own);
        access_state_cross_edge(b->f, (region_edge){0}, &own);
        for (unsigned m = 0; m < TILE_MECHANISM_COUNT; m++)
            access_set_add_all(b->arena, &s->in_flight[m], &own.in_flight[m]);
    }
}

/* Whether all executing threads reach op: in divergent control flow, a numbered barrier is for some
 * of them only. */
static bool is_block_wide(barriers *b, tile_op op) {
    return !tile_op_operand_count(b->f, op) || !tile_divergent_control(b->f, b->divergent, op).id;
}

/* All threads of the block arrive, or wait for all that arrived. */
static void walk_cluster_barrier(barriers *b, tile_op op, access_state *s) {
    bool waits = tile_op_effects(b->f, op) & TILE_EFFECT_ACQUIRE;
    if (!waits && tile_op_has_attr(b->f, op, TILE_ATTR_relaxed)) return;
    access_set before = s->pending;
    s->pending = (access_set){.items = NULL};
    for (size_t i = 0; i < before.count; i++) {
        pending_access access = before.items[i];
        if (waits && access.arrived) continue;
        access.arrived |= !waits;
        access_set_add(b->arena, &s->pending, access);
    }
}

/* Its lowering has a barrier before a release and one after an acquire. */
static void walk_atomic(barriers *b, tile_op op, access_state *s) {
    if (tile_op_releases(b->f, op)) s->pending.count = 0;
    walk_accesses(b, op, s);
    if (!tile_op_acquires(b->f, op)) return;
    size_t kept = 0; /* the buffer is read after that barrier */
    for (size_t i = 0; i < s->pending.count; i++)
        if (s->pending.items[i].access.op.id == op.id && !s->pending.items[i].access.atomic)
            s->pending.items[kept++] = s->pending.items[i];
    s->pending.count = kept;
}

static bool is_plain_sync(const tile_function *f, tile_op op) {
    return op.id && tile_op_opcode(f, op) == TILE_OP_sync && !tile_op_operand_count(f, op) &&
           !tile_op_has_attr(f, op, TILE_ATTR_all);
}

/* A fence orders the accesses of its own thread. If all threads reach it, barriers around it extend
 * it to the accesses of all of them. */
static void walk_fence(barriers *b, tile_op op, access_state *s) {
    if (tile_sync_is_explicit(b->f, op) || tile_divergent_control(b->f, b->divergent, op).id)
        return;
    const tile_op_data data = *tile_op_at(b->f, op);
    if (tile_op_releases(b->f, op) && !is_plain_sync(b->f, data.prev)) put_barrier(b, op, s);
    if (!tile_op_acquires(b->f, op)) return;
    s->pending.count = 0;
    if (b->dry_run || is_plain_sync(b->f, data.next)) return;
    tile_builder builder = tile_builder_before(b->f, op);
    builder.before = data.next;
    tile_build_sync_for(&builder, tile_executors_of(b->f, op));
    b->inserted++;
}

static void walk_op(barriers *b, tile_op op, access_state *s) {
    tile_opcode opcode = tile_op_opcode(b->f, op);
    const tile_op_info *info = tile_op_get_info(opcode);
    if (opcode == TILE_OP_parallel) return; /* one thread executes it */
    if (opcode == TILE_OP_roles)
        walk_roles(b, op, s);
    else if (tile_shape_of(b->f, op) != TILE_SHAPE_NONE)
        walk_regions(b, op, s);
    else if (info->completion == TILE_COMPLETION_WAITS)
        complete(b, op, s);
    else if (info->effects & TILE_EFFECT_CLUSTER)
        walk_cluster_barrier(b, op, s);
    else if (info->effects & TILE_EFFECT_BARRIER) {
        if (is_block_wide(b, op)) s->pending.count = 0;
    } else if (info->traits & (TILE_TRAIT_BARRIER_BEFORE | TILE_TRAIT_BARRIER_AFTER))
        s->pending.count = 0;
    else if (opcode == TILE_OP_fence)
        walk_fence(b, op, s);
    else if (info->effects & TILE_EFFECT_ATOMIC && info->traits & TILE_TRAIT_WHOLE_SET)
        walk_atomic(b, op, s);
    else if (info->effects)
        walk_accesses(b, op, s);
}

static void walk_region(barriers *b, tile_region region, access_state *s) {
    TILE_FOR_EACH_OP (b->f, op, region) walk_op(b, op, s);
}

tile_status tile_pass_insert_barriers(tile_pass *pass, tile_function *f) {
    tile_pass_count(pass, "fences", insert_fences(f, pass->scratch));
    if (f->sync_explicit) return TILE_OK;
    barriers b = {.pass = pass, .f = f, .arena = pass->scratch};
    b.divergent = tile_divergent_values(f, pass->scratch);
    b.uses = tile_count_uses(f, pass->scratch);
    b.has_own_barriers = tile_arena_alloc(pass->scratch, sizeof *b.has_own_barriers * f->op_count);
    b.notes = tile_arena_alloc(pass->scratch, sizeof *b.notes * f->op_count);
    access_state s = {0};
    walk_region(&b, f->body, &s);
    if (b.failed || !tile_check_barriers(f)) return TILE_INVALID;
    tile_pass_count(pass, "barriers", b.inserted);
    return TILE_OK;
}
