/* Plans a loop for roles: conditions, each with its remark. */
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/analysis/tensor_map.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/ops/gather.h"
#include "passes/common/warpgroup.h"
#include "passes/warps/planner.h"

/* Records that a condition fails and emits its remark at op. remedy: NULL if there is none. */
static void reject(planner *p, tile_op op, const char *why, const char *remedy) {
    if (p->ok) tile_missed_at(p->f, op, p->missed, remedy, "%s", why);
    p->ok = false;
}

static void reject_because(planner *p, tile_op op, tile_rejection refusal) {
    if (refusal.why) reject(p, op, refusal.why, refusal.remedy);
}

/* Enclosing loops ------------------------------------------------------------------------------ */

static void find_outer_loops(planner *p) {
    tile_op found[MAX_TILE_LOOPS];
    warp_specialization *s = p->s;
    for (tile_op op = tile_op_parent(p->f, p->loop); op.id; op = tile_op_parent(p->f, op)) {
        if (tile_op_opcode(p->f, op) == TILE_OP_roles) {
            reject(
                p, p->loop,
                "the warps of a role, or of one of the groups that share it, copy their own data",
                NULL);
            return;
        }
        if (tile_op_opcode(p->f, op) != TILE_OP_for || s->outer_loop_count == MAX_TILE_LOOPS) {
            reject(p, op, "the pipelined loop is inside of it, and only `for` may enclose one",
                   NULL);
            return;
        }
        found[s->outer_loop_count++] = op;
    }
    for (unsigned i = 0; i < s->outer_loop_count; i++)
        s->outer_loops[i] = found[s->outer_loop_count - 1 - i];
    s->facts.over_tiles = s->outer_loop_count == 1 &&
                          tile_op_has_attr(p->f, s->outer_loops[0], TILE_ATTR_independent) &&
                          !tile_carried_count(p->f, s->outer_loops[0]);
}

static void check_clauses(planner *p) {
    tile_function *f = p->f;
    p->s->warps = tile_executors_of(f, p->loop).warps;
    p->s->facts = (tile_loop_facts){
        .target = p->s->ring.pass->target,
        .stages = tile_op_attr_int(f, p->loop, TILE_ATTR_pipelined, 1),
        .warps = p->s->warps,
        .ordered = tile_op_has_attr(f, p->loop, TILE_ATTR_order) ||
                   tile_op_has_attr(f, p->loop, TILE_ATTR_stage),
        .is_explicit = f->sync_explicit,
    };
    reject_because(p, p->loop, tile_loop_rejects_roles(&p->s->facts));
}

/* Dots ----------------------------------------------------------------------------------------- */

static void visit_dot(planner *p, tile_op op) {
    if (tile_op_opcode(p->f, op) != TILE_OP_dot) return;
    p->dots++;
    reject_because(p, op,
                   tile_loop_rejects_dot(&p->s->facts, warpgroup_uses_wgmma(p->f, op),
                                         tile_product_mma(p->f, op, p->s->facts.target)));
}

static void check_dots(planner *p) {
    TILE_FOR_EACH_OP_INSIDE (p->f, op, p->body) visit_dot(p, op);
    if (!p->dots) reject(p, p->loop, "there is no `dot` in it", NULL);
}

/* Returns whether the dot rounds its first operand in registers, and reads the other one from a
 * buffer of the ring. */
static bool rounds_beside_stage(const planner *p, tile_op op) {
    unsigned row_dim, buffers = 0;
    if (!warpgroup_row_dim(p->f, op, &row_dim) || !warpgroup_rounds(p->f, op, row_dim))
        return false;
    const tile_value other = tile_op_segment(p->f, op, 1 - warpgroup_first(row_dim)).at[0];
    for (unsigned i = 0; i < p->s->ring.plan.copy_count; i++)
        buffers += p->s->ring.plan.copies[i].buffer.id == other.id ||
                   p->s->ring.plan.copies[i].op.id == tile_value_def(p->f, other).id;
    return buffers > 0;
}

/* Returns the operation of the body whose accumulator is the only use of the value; TILE_NO_OP if
 * there is none. A dot with promoted sums waits for its own result, and so does one whose operand
 * the next iteration writes. */
static tile_op next_of_chain(planner *p, tile_value value) {
    TILE_FOR_EACH_OP (p->f, op, p->body)
        if (p->uses[value.id] == 1 && tile_op_opcode(p->f, op) == TILE_OP_dot &&
            tile_op_segment(p->f, op, TILE_MMA_ACC).at[0].id == value.id &&
            warpgroup_uses_wgmma(p->f, op) && !warpgroup_promotes(p->f, op) &&
            (ring_may_stay_pending(&p->s->ring, op) || rounds_beside_stage(p, op)))
            return op;
    return TILE_NO_OP;
}

/* A sum that the loop carries only from dot to dot can stay pending across iterations. */
static void find_async_dots(planner *p) {
    warp_specialization *s = p->s;
    for (unsigned i = 0; i < tile_carried_count(p->f, p->loop); i++) {
        unsigned first = s->dot_count;
        tile_value value = tile_carried_received(p->f, p->loop, 0, i);
        for (tile_op dot; (dot = next_of_chain(p, value)).id; value = tile_op_result(p->f, dot, 0))
            s->dots[s->dot_count++] = dot;
        bool yielded = tile_carried_sent(p->f, p->loop, 0, i).id == value.id;
        if (!yielded || p->uses[value.id] != 1) s->dot_count = first;
        if (s->dot_count > first) s->sums[s->sum_count++] = i;
    }
}

static bool is_async(const warp_specialization *s, tile_op op) {
    for (unsigned i = 0; i < s->dot_count; i++)
        if (s->dots[i].id == op.id) return true;
    return false;
}

/* A dot that is waited for immediately and is in a branch, or has a tile in registers as an
 * operand. Its accumulator or operand is written while other dots are pending, so ptxas would
 * serialize those (C7515, C7513). */
static void visit_waiting_dot(planner *p, tile_op op) {
    tile_function *f = p->f;
    if (tile_op_opcode(f, op) != TILE_OP_dot || is_async(p->s, op)) return;
    p->must_be_synchronous |= tile_op_parent(f, op).id != p->loop.id;
    for (unsigned operand = 0; operand < 2; operand++) {
        tile_value value = tile_op_segment(f, op, operand).at[0];
        tile_op def = tile_value_def(f, value);
        if (tile_value_type(f, value)->kind == TILE_TYPE_TILE &&
            !tile_is_staged(&p->s->ring.plan, def))
            p->must_be_synchronous = true;
    }
}

static void make_dots_synchronous(planner *p) {
    TILE_FOR_EACH_OP_INSIDE (p->f, op, p->body) visit_waiting_dot(p, op);
    p->s->chained = tile_dots_are_chained(p->f, p->body, p->s->ring.pass->scratch);
    if (p->s->chained) reject_because(p, p->loop, tile_loop_rejects_chain(&p->s->facts));
    if (p->must_be_synchronous || p->s->chained) p->s->dot_count = p->s->sum_count = 0;
}

/* Copies --------------------------------------------------------------------------------------- */

static bool writes_shared(tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    return (opcode == TILE_OP_copy || opcode == TILE_OP_copy_async) &&
           tile_value_type(f, tile_operand_dst(f, op))->kind == TILE_TYPE_SHARED;
}

static void visit_other_copy(planner *p, tile_op op) {
    tile_function *f = p->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    bool groups = opcode == TILE_OP_commit_group || opcode == TILE_OP_wait_group;
    if (groups) p->ok = false; /* the pass pipeline rejects them */
    if (p->ok && writes_shared(f, op) && !tile_is_staged(&p->s->ring.plan, op))
        reject(p, op, "it cannot run ahead of the loop", NULL);
}

static bool has_rows(const tile_type *view) {
    int64_t stride;
    bool found = !view->has_strides;
    for (unsigned d = 0; d < view->rank && !found; d++)
        found = tile_expr_is_int(view->strides[d], &stride) && stride == 1;
    return found;
}

/* Checks that the view can have a tensor map. part: NULL if the view must be an argument; else
 * receives the argument's part that the view is, if it is one. The part's end is ignored if
 * elements after it have no effect. */
static void check_box(planner *p, tile_op copy, tile_part_view *part) {
    const char *remedy;
    if (!tile_is_plain_access(p->f, copy)) {
        reject(p, copy, "a box has no index tiles, no predicate and no pad", NULL);
        return;
    }
    tile_value view = tile_operand_src(p->f, copy);
    if (part && tile_view_is_part(p->f, view, p->s->ring.pass->scratch, part)) view = part->whole;
    if (part && tile_op_has_attr(p->f, copy, TILE_ATTR_masked)) part->end = TILE_NO_VALUE;
    const char *why = tile_view_cannot_have_map(p->f, view, p->s->ring.pass->scratch, &remedy);
    if (why && part && !tile_view_mapped_argument(p->f, view).id)
        remedy = "make the view an argument, or the first rows of one: `view base(%x), [min(%end, "
                 "%n), ..]` with the argument's other extents and its strides";
    if (why)
        reject(p, copy, why, remedy);
    else if (!has_rows(tile_value_type(p->f, view)))
        reject(p, copy, "no stride of the view is known to be 1", "write a 1 among its `strides`");
}

/* Memory --------------------------------------------------------------------------------------- */

/* Returns whether op follows path or is nested in it. */
static bool is_after(const tile_function *f, tile_op path, tile_op op) {
    tile_op holder = tile_ancestor_in(f, op, tile_op_at(f, path)->parent);
    for (tile_op next = path; holder.id && next.id; next = tile_op_at(f, next)->next)
        if (next.id == holder.id) return true;
    return false;
}

/* Returns whether op follows the loop, in the same iteration of the enclosing loops. */
static bool runs_after(planner *p, tile_op op) {
    for (tile_op path = p->loop; path.id; path = tile_op_parent(p->f, path))
        if (tile_ancestor_in(p->f, op, tile_op_at(p->f, path)->parent).id)
            return is_after(p->f, path, op);
    return false;
}

/* Returns whether op follows all iterations of all loops, and so every copy. */
static bool runs_last(planner *p, tile_op op) {
    tile_op top = specialize_outermost_op(p->s);
    return is_after(p->f, top, op) &&
           tile_ancestor_in(p->f, op, tile_op_at(p->f, top)->parent).id != top.id;
}

/* in_order: writes after the loop follow all copies. */
static bool may_write(planner *p, tile_op op, tile_value source, bool in_order) {
    return tile_may_write(p->f, op, source) && !(in_order && runs_after(p, op)) &&
           !runs_last(p, op);
}

/* The source of a copy must not be written before it is read. */
static void check_unwritten(planner *p, tile_op copy, bool in_order) {
    tile_value source = tile_operand_src(p->f, copy);
    TILE_FOR_EACH_OP_INSIDE (p->f, op, p->f->body)
        if (p->ok && may_write(p, op, source, in_order))
            reject(p, copy,
                   "the kernel may write memory that it also loads, and a producer warp would load "
                   "it too early",
                   "add `noalias` to the argument");
}

static void check_source(planner *p, tile_op copy) {
    bool in_order = true;
    for (unsigned i = 0; i < p->s->outer_loop_count; i++)
        in_order &= tile_op_has_attr(p->f, p->s->outer_loops[i], TILE_ATTR_independent);
    check_unwritten(p, copy, in_order);
}

/* A cluster barrier after the loop of a block's only tile; the other roles execute it as well. */
static bool is_block_wide_barrier(planner *p, tile_op op) {
    return !p->s->outer_loop_count && tile_op_at(p->f, op)->parent.id == p->f->body.id &&
           runs_after(p, op);
}

static void visit_cluster_barrier(planner *p, tile_op op) {
    tile_function *f = p->f;
    unsigned effects = tile_op_effects(f, op);
    tile_opcode opcode = tile_op_opcode(f, op);
    const char *why = NULL, *remedy = NULL;
    if (!p->ok || p->s->run_by_all[op.id]) return;
    if (effects & TILE_EFFECT_CLUSTER && !is_block_wide_barrier(p, op))
        why = "all threads of the block must reach it";
    else if (opcode == TILE_OP_pdl_wait)
        why = "the producer's copies would not wait for it",
        remedy = "move it before the first operation on tiles";
    else if (opcode == TILE_OP_alloc_barrier)
        why = "all threads of the block must reach it",
        remedy = "move it before the first operation on tiles";
    else if (opcode == TILE_OP_roles || opcode == TILE_OP_sync_explicit)
        why = "the region is marked `sync explicit`, and the compiler inserts no barriers in it";
    else if (effects & TILE_EFFECT_ACQUIRE && !(effects & TILE_EFFECT_CLUSTER) &&
             !runs_after(p, op))
        why = "the producer's copies would not wait for it";
    if (why) reject(p, op, why, remedy);
}

static void check_memory(planner *p) {
    const tile_pipeline_plan *plan = &p->s->ring.plan;
    TILE_FOR_EACH_OP_INSIDE (p->f, op, p->f->body) visit_cluster_barrier(p, op);
    for (unsigned i = 0; i < plan->copy_count && p->ok; i++) check_source(p, plan->copies[i].op);
}

/* Values that the producer computes ------------------------------------------------------------ */

/* Includes the operations of its regions. */
static bool is_arithmetic(tile_function *f, tile_op op) {
    const unsigned structure = TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR;
    tile_access accesses[TILE_MAX_ACCESSES];
    bool pure = !specialize_handles_tiles(f, op) && !tile_op_accesses(f, op, accesses) &&
                !(tile_op_effects(f, op) & ~structure);
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count && pure; r++)
        TILE_FOR_EACH_OP (f, inner, tile_op_region(f, op, r)) pure &= is_arithmetic(f, inner);
    return pure;
}

static bool is_made_in(const tile_function *f, tile_value value, tile_op op) {
    const tile_value_data *data = tile_value_at(f, value);
    if (data->kind != TILE_VALUE_REGION && data->kind != TILE_VALUE_RESULT) return false;
    tile_op at = data->kind == TILE_VALUE_REGION
                     ? tile_region_at(f, (tile_region){data->owner})->parent
                     : tile_op_parent(f, (tile_op){data->owner});
    while (at.id && at.id != op.id) at = tile_op_parent(f, at);
    return at.id != 0;
}

/* A load of one element, uniform across threads, from memory that the kernel does not write. */
static bool is_scalar_load(planner *p, tile_op op) {
    if (tile_op_opcode(p->f, op) != TILE_OP_load || specialize_handles_tiles(p->f, op))
        return false;
    check_unwritten(p, op, true);
    return p->ok;
}

static void check_producer_values(planner *p, tile_op copy, tile_value value);

/* Checks the operands of op, and of the operations in its regions, that are defined outside of
 * `outer`. */
static void check_consumed_values(planner *p, tile_op copy, tile_op op, tile_op outer) {
    for (unsigned i = 0; i < tile_op_operand_count(p->f, op); i++)
        if (!is_made_in(p->f, tile_op_operand(p->f, op, i), outer))
            check_producer_values(p, copy, tile_op_operand(p->f, op, i));
    for (unsigned r = 0; r < tile_op_at(p->f, op)->region_count; r++)
        TILE_FOR_EACH_OP (p->f, inner, tile_op_region(p->f, op, r))
            check_consumed_values(p, copy, inner, outer);
}

/* Checks that a warp without tiles can compute the value. Remarks why not. */
static void check_producer_values(planner *p, tile_op copy, tile_value value) {
    const tile_value_data *data = tile_value_at(p->f, value);
    if (!p->ok || data->kind == TILE_VALUE_ARG || data->kind == TILE_VALUE_CONSTANT) return;
    if (data->kind == TILE_VALUE_REGION) {
        if (data->index < tile_region_own_args(p->f, (tile_region){data->owner})) return;
        reject(p, copy, "its source address depends on a value that a loop around it carries",
               NULL);
        return;
    }
    tile_op def = {data->owner};
    if (p->s->run_by_all[def.id] || p->s->needed_by_producer[def.id]) return;
    if (!is_arithmetic(p->f, def) && !is_scalar_load(p, def)) {
        reject(p, copy, "its source address depends on more than arithmetic and loads of scalars",
               NULL);
        return;
    }
    p->s->needed_by_producer[def.id] = true;
    check_consumed_values(p, copy, def, def);
}

/* known: the view needs no check. */
static void check_address(planner *p, tile_op copy, bool known) {
    const tile_values source = tile_operands_src(p->f, copy);
    for (unsigned k = known; k < source.count; k++) check_producer_values(p, copy, source.at[k]);
}

bool specialize_can_produce(planner *p, tile_op copy) {
    check_box(p, copy, NULL);
    if (p->ok) check_source(p, copy);
    if (p->ok) check_address(p, copy, false);
    return p->ok;
}

static void check_addresses(planner *p) {
    warp_specialization *s = p->s;
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++) {
        tile_op copy = s->ring.plan.copies[i].op;
        const tile_part_view *part = &s->parts[i];
        check_address(p, copy, part->whole.id != 0);
        if (part->end.id) check_producer_values(p, copy, part->end);
        for (tile_op at = tile_op_parent(p->f, copy); at.id != p->loop.id;
             at = tile_op_parent(p->f, at))
            check_producer_values(p, copy, tile_operand_condition(p->f, at));
    }
    for (unsigned i = 0; i < 3; i++)
        check_producer_values(p, p->loop, tile_op_operand(p->f, p->loop, i));
    for (unsigned i = 0; i < s->outer_loop_count; i++)
        for (unsigned k = 0; k < 3; k++)
            check_producer_values(p, p->loop, tile_op_operand(p->f, s->outer_loops[i], k));
}

/* Stages --------------------------------------------------------------------------------------- */

/* The operation after which op no longer reads its operands: of a dot that the user made
 * asynchronous, the `dot_wait` for its sums; the end of the body if there is none. */
static tile_op end_of_use(const planner *p, tile_op op) {
    const tile_function *f = p->f;
    if (tile_op_opcode(f, op) != TILE_OP_dot || !tile_op_has_attr(f, op, TILE_ATTR_async))
        return op;
    tile_value sums = tile_op_result(f, op, 0);
    for (tile_op at = tile_op_at(f, op)->next; at.id; at = tile_op_at(f, at)->next) {
        bool dot = tile_op_opcode(f, at) == TILE_OP_dot;
        if (tile_op_opcode(f, at) == TILE_OP_dot_wait && tile_operand_src(f, at).id == sums.id)
            return at;
        if (dot && tile_op_segment(f, at, TILE_MMA_ACC).at[0].id == sums.id)
            sums = tile_op_result(f, at, 0);
    }
    return tile_region_yield(f, p->body);
}

static void add_use(const planner *p, barrier_group *g, tile_op op) {
    const uint32_t *position = p->position;
    tile_op end = end_of_use(p, op);
    if (!g->first_use.id || position[op.id] < position[g->first_use.id]) g->first_use = op;
    if (!g->last_use.id || position[end.id] > position[g->last_use.id]) g->last_use = end;
    g->by_dots |= is_async(p->s, op);
}

/* A staged tile with uses other than dots is loaded from its stage at the position of the original
 * load. */
static void add_uses(const planner *p, barrier_group *g, const tile_staged_copy *staged,
                     tile_op op) {
    tile_function *f = p->f;
    tile_op copy = staged->op;
    tile_value wanted = tile_staged_value(f, staged);
    tile_op holder = tile_ancestor_in(f, op, p->body);
    if (!holder.id || op.id == copy.id || tile_op_opcode(f, op) == TILE_OP_free_shared) return;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        if (tile_op_operand(f, op, i).id != wanted.id) continue;
        bool direct = staged->buffer.id || (tile_op_opcode(f, op) == TILE_OP_dot && i < 2);
        add_use(p, g, direct ? holder : tile_ancestor_in(f, copy, p->body));
    }
}

static bool holds_product(const planner *p, tile_op op) {
    bool found = tile_op_opcode(p->f, op) == TILE_OP_dot;
    TILE_FOR_EACH_NESTED_OP (p->f, inner, op) found |= tile_op_opcode(p->f, inner) == TILE_OP_dot;
    return found;
}

/* Returns whether there is a dot at or after `from` and before `to`. */
static bool has_product(const planner *p, tile_op from, tile_op to) {
    TILE_FOR_EACH_OP (p->f, op, p->body)
        if (p->position[op.id] >= p->position[from.id] && p->position[op.id] < p->position[to.id] &&
            holds_product(p, op))
            return true;
    return false;
}

/* Returns whether separate barriers for the two groups would gain nothing. */
static bool belong_together(const planner *p, const barrier_group *a, const barrier_group *b) {
    return !has_product(p, a->first_use, b->first_use) &&
           !has_product(p, b->first_use, a->first_use);
}

static void merge(const planner *p, barrier_group *into, const barrier_group *from) {
    const uint32_t *position = p->position;
    if (position[from->first_use.id] < position[into->first_use.id])
        into->first_use = from->first_use;
    if (position[from->last_use.id] > position[into->last_use.id]) into->last_use = from->last_use;
    into->by_dots |= from->by_dots;
}

/* Merges group `from` of copies into the earlier group `to`. */
static void merge_groups(planner *p, unsigned to, unsigned from) {
    warp_specialization *s = p->s;
    merge(p, &s->groups[to], &s->groups[from]);
    s->group_count--;
    for (unsigned g = from; g < s->group_count; g++) s->groups[g] = s->groups[g + 1];
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++) {
        unsigned *g = &s->group_of[i];
        *g = *g == from ? to : *g - (*g > from);
    }
}

static bool merge_some(planner *p) {
    warp_specialization *s = p->s;
    for (unsigned a = 0; a < s->group_count; a++)
        for (unsigned b = a + 1; b < s->group_count; b++)
            if (belong_together(p, &s->groups[a], &s->groups[b])) {
                merge_groups(p, a, b);
                return true;
            }
    return false;
}

static void make_groups(planner *p) {
    warp_specialization *s = p->s;
    tile_pipeline_plan *plan = &s->ring.plan;
    for (unsigned i = 0; i < plan->copy_count; i++) {
        barrier_group group = {0};
        TILE_FOR_EACH_OP_INSIDE (p->f, op, p->body) add_uses(p, &group, &plan->copies[i], op);
        if (!group.first_use.id) add_use(p, &group, tile_region_yield(p->f, p->body));
        s->group_of[i] = s->group_count;
        s->groups[s->group_count++] = group;
    }
    while (merge_some(p)) continue;
}

/* Dots that depend on no other dot run an iteration ahead of the dots that depend on them
 * (pipeline-dots). Their operands are filled in that order. */
static void find_ahead(planner *p) {
    warp_specialization *s = p->s;
    bool late = false;
    for (unsigned g = 0; g < s->group_count && s->chained; g++) {
        bool *seen = TILE_NEW_ARRAY(s->ring.pass->scratch, bool, p->f->op_count);
        s->groups[g].ahead = !tile_consumes_dot(p->f, s->groups[g].first_use, p->body, seen);
        s->ahead |= s->groups[g].ahead;
        late |= !s->groups[g].ahead;
    }
    s->ahead &= late;
    for (unsigned g = 0; g < s->group_count; g++) s->groups[g].ahead &= s->ahead;
}

static void check_parts(planner *p) {
    for (unsigned i = 0; i < p->s->ring.plan.copy_count; i++) {
        const char *why = specialize_reject_part(p->s, i);
        if (why) reject(p, p->s->ring.plan.copies[i].op, why, "make the view an argument");
    }
}

/* The plan ------------------------------------------------------------------------------------- */

bool specialize_plan(warp_specialization *s, tile_op loop) {
    tile_function *f = s->ring.f;
    tile_arena *arena = s->ring.pass->scratch;
    planner p = {.s = s, .f = f, .loop = loop, .missed = "not specialized", .ok = true};
    p.body = tile_op_region(f, loop, 0);
    p.uses = tile_count_uses(f, arena);
    p.position = TILE_NEW_ARRAY(arena, uint32_t, f->op_count + 1u);
    uint32_t next = 1;
    TILE_FOR_EACH_OP (f, op, p.body) p.position[op.id] = next++;
    s->old_ops = f->op_count;
    s->run_by_all = TILE_NEW_ARRAY(arena, bool, f->op_count + 1u);
    s->needed_by_producer = TILE_NEW_ARRAY(arena, bool, f->op_count + 1u);
    s->dots = TILE_NEW_ARRAY(arena, tile_op, f->op_count + 1u);
    s->sums = TILE_NEW_ARRAY(arena, unsigned, tile_carried_count(f, loop) + 1u);
    check_clauses(&p);
    if (p.ok) find_outer_loops(&p);
    if (!p.ok) return false;
    if (!tile_plan_pipeline(f, loop, arena, true, &s->ring.plan)) return false;
    TILE_FOR_EACH_OP_INSIDE (f, op, p.body) visit_other_copy(&p, op);
    if (p.ok && !s->ring.plan.copy_count)
        reject(&p, loop, "none of its copies can run ahead", NULL);
    if (!p.ok) return false;
    check_dots(&p);
    s->parts = TILE_NEW_ARRAY(arena, tile_part_view, s->ring.plan.copy_count + 1u);
    for (unsigned i = 0; i < s->ring.plan.copy_count && p.ok; i++)
        check_box(&p, s->ring.plan.copies[i].op, &s->parts[i]);
    specialize_divide_prefix(&p);
    if (p.ok) check_memory(&p);
    if (p.ok) check_addresses(&p);
    s->groups = TILE_NEW_ARRAY(arena, barrier_group, s->ring.plan.copy_count + 1u);
    s->group_of = TILE_NEW_ARRAY(arena, unsigned, s->ring.plan.copy_count + 1u);
    s->shared_along = TILE_NEW_ARRAY(arena, unsigned, s->ring.plan.copy_count + 1u);
    if (p.ok) find_async_dots(&p);
    if (p.ok) make_dots_synchronous(&p);
    if (p.ok) make_groups(&p);
    if (p.ok) find_ahead(&p);
    s->consumer_groups = 1;
    if (p.ok) specialize_plan_ping_pong(s);
    if (p.ok) specialize_plan_cooperative_3(s);
    if (p.ok) specialize_plan_sharing(s);
    if (p.ok) check_parts(&p);
    if (p.ok) specialize_plan_outer_ring(&p);
    return p.ok;
}
