/* A copy for iteration i + d is issued in iteration i. That is correct if its address and condition
 * do not depend on the iterations between, and if only the copy writes its buffer. Read after
 * write, write after read and write after write are all checked, also across iterations. */
#include "lib/analysis/pipeline_plan.h"

#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/ops/gather.h"

typedef struct planner {
    tile_function *f;
    tile_context *context;
    tile_arena *arena;
    tile_op loop;
    tile_region body;
    bool *feeds_dot;    /* by value: reaches a dot's lhs or rhs through pure operations */
    uint32_t *position; /* by op, in the body and its regions: 1, 2, ...; otherwise 0 */
    tile_op *statements;
    unsigned statement_count;
    bool quiet; /* no remarks */
} planner;

/* The reason why a copy cannot run ahead, and how to change that; culprit may be 0. */
typedef struct obstacle {
    const char *reason; /* NULL: there is none */
    const char *remedy;
    tile_op culprit;
} obstacle;

/* The body ------------------------------------------------------------------------------------- */

/* Backwards, so that the uses of a value are visited before its definition. */
void tile_mark_dot_operands(const tile_function *f, tile_region region, bool *feeds_dot) {
    for (tile_op op = tile_region_at(f, region)->last; op.id; op = tile_op_at(f, op)->prev) {
        const tile_op_data *data = tile_op_at(f, op);
        for (unsigned r = 0; r < data->region_count; r++)
            tile_mark_dot_operands(f, data->regions[r], feeds_dot);
        for (unsigned i = 0; data->opcode == TILE_OP_dot && i < 2; i++)
            feeds_dot[tile_op_segment(f, op, i).at[0].id] = true;
        bool wanted = false;
        for (uint32_t i = 0; i < data->result_count; i++)
            wanted |= feeds_dot[tile_op_result(f, op, i).id];
        for (uint32_t i = 0; wanted && !tile_op_effects(f, op) && i < data->operand_count; i++)
            feeds_dot[data->operands[i].id] = true;
    }
}

static void scan_body(planner *p) {
    enum { NO_STATEMENT = TILE_EFFECT_ALLOC | TILE_EFFECT_TERMINATOR };
    uint32_t next = 1;
    p->feeds_dot = TILE_NEW_ARRAY(p->arena, bool, p->f->value_count);
    p->position = TILE_NEW_ARRAY(p->arena, uint32_t, p->f->op_count);
    p->statements = TILE_NEW_ARRAY(p->arena, tile_op, p->f->op_count);
    tile_mark_dot_operands(p->f, p->body, p->feeds_dot);
    TILE_FOR_EACH_OP_INSIDE (p->f, op, p->body) p->position[op.id] = next++;
    TILE_FOR_EACH_OP (p->f, op, p->body) {
        unsigned effects = tile_op_effects(p->f, op);
        if (effects && !(effects & NO_STATEMENT)) p->statements[p->statement_count++] = op;
    }
}

/* Only views: another iteration may change the contents of a shared buffer. */
static bool loads_view(const tile_function *f, tile_op op) {
    return tile_op_opcode(f, op) == TILE_OP_load &&
           tile_value_type(f, tile_operand_src(f, op))->kind == TILE_TYPE_VIEW;
}

static bool is_load_for_dot(const planner *p, tile_op op) {
    return loads_view(p->f, op) && p->feeds_dot[tile_op_result(p->f, op, 0).id] &&
           tile_value_type(p->f, tile_op_result(p->f, op, 0))->kind == TILE_TYPE_TILE;
}

static bool is_copy_to_shared(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    return (opcode == TILE_OP_copy || opcode == TILE_OP_copy_async) &&
           tile_op_mechanism(f, op) <= TILE_MECHANISM_GROUP &&
           tile_value_type(f, tile_operand_dst(f, op))->kind == TILE_TYPE_SHARED;
}

tile_op tile_pipelined_around(const tile_function *f, tile_op op) {
    tile_op at = tile_op_parent(f, op);
    while (at.id && tile_op_opcode(f, at) == TILE_OP_if) at = tile_op_parent(f, at);
    return at.id && tile_op_has_attr(f, at, TILE_ATTR_pipelined) ? at : TILE_NO_OP;
}

/* Obstacles ------------------------------------------------------------------------------------ */

static obstacle check_source(const planner *p, tile_value source);

/* Returns whether the operation can be loaded before its iteration. */
static bool can_load_early(const planner *p, tile_op op) {
    return loads_view(p->f, op) && tile_pipelined_around(p->f, op).id == p->loop.id &&
           !check_source(p, tile_operand_src(p->f, op)).reason;
}

/* Checks whether a value can be computed for a later iteration: from values defined outside the
 * loop, the induction variable, pure operations, and loads that can be made early. seen: by value,
 * those that were checked and have no obstacle. */
static obstacle walk_address(const planner *p, tile_value value, bool *seen) {
    const tile_function *f = p->f;
    const tile_value_data *data = tile_value_at(f, value);
    if (seen[value.id]) return (obstacle){0};
    seen[value.id] = true;
    if (data->kind == TILE_VALUE_REGION && data->owner == p->body.id &&
        data->index >= tile_region_own_args(f, p->body))
        return (obstacle){"its address depends on a value that the loop carries",
                          "compute it from the loop's variable", p->loop};
    if (data->kind != TILE_VALUE_RESULT || !tile_ancestor_in(f, (tile_op){data->owner}, p->body).id)
        return (obstacle){0};
    tile_op def = {data->owner};
    if (tile_op_effects(f, def) && !can_load_early(p, def))
        return (obstacle){"its address depends on a value that the iteration computes",
                          "compute it before the loop, or from the loop's variable", def};
    obstacle found = {0};
    for (unsigned i = 0; i < tile_op_operand_count(f, def) && !found.reason; i++)
        found = walk_address(p, tile_op_operand(f, def, i), seen);
    return found;
}

static obstacle check_address(const planner *p, tile_value value) {
    return walk_address(p, value, TILE_NEW_ARRAY(p->arena, bool, p->f->value_count));
}

/* Checks the same for the conditions of the branches that contain op. */
static obstacle check_branches(const planner *p, tile_op op) {
    obstacle found = {0};
    for (tile_op at = tile_op_parent(p->f, op); at.id != p->loop.id && !found.reason;
         at = tile_op_parent(p->f, at)) {
        found = check_address(p, tile_operand_condition(p->f, at));
        if (!found.reason) continue;
        found.reason = "its condition is known only in its own iteration";
        found.remedy =
            "compute the condition from the loop's variable, or move the copy out of the branch";
        found.culprit = at;
    }
    return found;
}

static bool is_staged_operand(tile_opcode opcode) {
    return opcode == TILE_OP_dot || opcode == TILE_OP_load_shared || opcode == TILE_OP_copy;
}

/* Checks one operation that uses the buffer. */
static obstacle check_use(const planner *p, tile_op copy, tile_value buffer, tile_op op) {
    tile_opcode opcode = tile_op_opcode(p->f, op);
    tile_region region = tile_op_at(p->f, copy)->parent;
    if (op.id == copy.id || opcode == TILE_OP_free_shared) return (obstacle){0};
    if (!tile_ancestor_in(p->f, op, p->body).id)
        return (obstacle){"its buffer is used outside of the loop",
                          "allocate a buffer that only this loop uses", op};
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(p->f, op, accesses);
    for (unsigned i = 0; i < count; i++)
        if (accesses[i].memory.id == buffer.id && accesses[i].write)
            return (obstacle){"its buffer is written by another operation",
                              "give each of them its own buffer", op};
    if (!tile_ancestor_in(p->f, op, region).id)
        return (obstacle){"its buffer is read where the branch with the copy may not have run",
                          "read it in the branch", op};
    if (p->position[op.id] < p->position[copy.id])
        return (obstacle){"its buffer is read before the copy, and then still holds the data of "
                          "the previous iteration",
                          "move the copy before the read", op};
    if (is_staged_operand(opcode)) return (obstacle){0};
    return (obstacle){"its buffer is used by an operation that cannot take a stage",
                      "read it by `load_shared` or `dot`", op};
}

static obstacle check_buffer(const planner *p, tile_op copy, tile_value buffer) {
    tile_op alloc = tile_value_def(p->f, buffer);
    if (!alloc.id || tile_op_opcode(p->f, alloc) != TILE_OP_alloc_shared)
        return (obstacle){"the compiler cannot tell which buffer it writes",
                          "copy to a buffer that `alloc_shared` allocates", alloc};
    if (tile_value_type(p->f, buffer)->stages)
        return (obstacle){"its buffer already has stages",
                          "remove them, `pipelined` adds stages itself", alloc};
    TILE_FOR_EACH_OP_INSIDE (p->f, op, p->f->body) {
        obstacle found = {0};
        if (tile_op_uses(p->f, op, buffer)) found = check_use(p, copy, buffer, op);
        if (found.reason) return found;
    }
    return (obstacle){0};
}

/* If the loop waits for other blocks of the kernel, all writes of the kernel are checked. */
static obstacle check_source(const planner *p, tile_value source) {
    bool acquires = false;
    TILE_FOR_EACH_OP_INSIDE (p->f, op, p->body)
        acquires |= (tile_op_effects(p->f, op) & TILE_EFFECT_ACQUIRE) != 0;
    const char *reason = acquires ? "the loop waits for a semaphore, and its source is written in "
                                    "the kernel"
                                  : "its source may be written in the loop";
    TILE_FOR_EACH_OP_INSIDE (p->f, op, acquires ? p->f->body : p->body)
        if (tile_may_write(p->f, op, source))
            return (obstacle){
                reason, "add {noalias} to an argument whose memory no other argument accesses", op};
    return (obstacle){0};
}

static obstacle find_obstacle(const planner *p, tile_op copy, tile_value *buffer) {
    const tile_values source = tile_operands_src(p->f, copy);
    obstacle found = {0};
    *buffer = TILE_NO_VALUE;
    if (tile_op_opcode(p->f, copy) != TILE_OP_load) {
        *buffer = tile_operand_dst(p->f, copy);
        found = check_buffer(p, copy, *buffer);
    }
    for (unsigned i = 0; i < source.count && !found.reason; i++)
        found = check_address(p, source.at[i]);
    tile_gather gather;
    if (!found.reason && tile_gather_of(p->f, copy, &gather) && gather.predicate.id)
        found = check_address(p, gather.predicate);
    if (!found.reason) found = check_branches(p, copy);
    return found.reason ? found : check_source(p, source.at[0]);
}

static void report_obstacle(const planner *p, tile_severity severity, tile_op op, obstacle found) {
    if (severity == TILE_REMARK && p->quiet) return;
    tile_report(p->context, severity, tile_op_loc(p->f, op),
                "%s cannot run ahead of the loop: %s%s%s", tile_op_name(p->f, op), found.reason,
                found.remedy ? "; " : "", found.remedy ? found.remedy : "");
    if (found.culprit.id)
        tile_note_at(p->f, found.culprit, "this is the %s", tile_op_name(p->f, found.culprit));
}

/* The user's lists ----------------------------------------------------------------------------- */

typedef struct schedule {
    int64_t *stage; /* by statement */
    int64_t *order;
    bool given; /* the user gave at least one of them */
} schedule;

static bool read_list(const planner *p, tile_attr_id id, int64_t *list, bool *given) {
    const tile_attr *attr = tile_op_attr(p->f, p->loop, id);
    if (!attr) return true;
    *given = true;
    if (attr->count != p->statement_count) {
        return tile_error_at(p->f, p->loop,
                             "'%s' needs one entry for each of the body's %u statements, it has %u",
                             tile_attr_get_info(id)->name, p->statement_count, attr->count);
    }
    for (unsigned i = 0; i < attr->count; i++) list[i] = attr->list[i];
    return true;
}

static bool check_permutation(const planner *p, const int64_t *order) {
    bool *taken = TILE_NEW_ARRAY(p->arena, bool, p->statement_count + 1u);
    for (unsigned i = 0; i < p->statement_count; i++) {
        if (order[i] < 0 || order[i] >= p->statement_count || taken[order[i]]) {
            return tile_error_at(p->f, p->statements[i], "'order' must be a permutation of 0 to %u",
                                 p->statement_count - 1);
        }
        taken[order[i]] = true;
    }
    return true;
}

/* Returns whether value is computed from op's results through pure operations; seen is by value. */
static bool comes_from(const planner *p, tile_value value, tile_op op, bool *seen) {
    tile_op def = tile_value_def(p->f, value);
    if (!def.id || seen[value.id] || !tile_ancestor_in(p->f, def, p->body).id) return false;
    seen[value.id] = true;
    if (def.id == op.id) return true;
    for (unsigned i = 0; !tile_op_effects(p->f, def) && i < tile_op_operand_count(p->f, def); i++)
        if (comes_from(p, tile_op_operand(p->f, def, i), op, seen)) return true;
    return false;
}

static bool orders_memory(const tile_function *f, tile_op op) {
    return tile_op_effects(f, op) &
           (TILE_EFFECT_ACQUIRE | TILE_EFFECT_RELEASE | TILE_EFFECT_BARRIER);
}

static bool accesses_may_conflict(const tile_function *f, const tile_access *a,
                                  const tile_access *b) {
    if (a->shared != b->shared || !(a->write || b->write)) return false;
    return a->shared ? tile_shared_source(f, a->memory).id == tile_shared_source(f, b->memory).id
                     : tile_may_alias(f, a->memory, b->memory);
}

static const char *edge_between(const tile_access *earlier, const tile_access *later) {
    if (!earlier->write) return "it writes what that reads (WAR)";
    return later->write ? "it writes what that writes (WAW)" : "it reads what that writes (RAW)";
}

/* The dependence of `later` on `earlier` through memory; NULL: none. */
static const char *memory_edge(const tile_function *f, tile_op earlier, tile_op later) {
    tile_access here[TILE_MAX_ACCESSES], there[TILE_MAX_ACCESSES];
    unsigned here_count = tile_op_accesses(f, earlier, here);
    unsigned there_count = tile_op_accesses(f, later, there);
    const char *edge = NULL;
    if (orders_memory(f, earlier) && !(tile_op_effects(f, earlier) & TILE_EFFECT_REGION))
        edge = "that orders memory accesses";
    for (unsigned i = 0; i < here_count; i++)
        for (unsigned k = 0; k < there_count; k++)
            if (accesses_may_conflict(f, &here[i], &there[k]))
                edge = edge_between(&here[i], &there[k]);
    return edge;
}

/* For an operation inside the later statement. */
static const char *edge_of(const planner *p, tile_op earlier, tile_op op, bool *seen) {
    const char *edge = NULL;
    for (unsigned i = 0; i < tile_op_operand_count(p->f, op); i++)
        if (comes_from(p, tile_op_operand(p->f, op, i), earlier, seen))
            edge = "it uses its result (RAW)";
    if (orders_memory(p->f, op)) edge = "it orders memory accesses";
    if (edge) return edge;
    edge = memory_edge(p->f, earlier, op);
    TILE_FOR_EACH_NESTED_OP (p->f, inner, earlier) {
        const char *found = memory_edge(p->f, inner, op);
        if (found) edge = found;
    }
    return edge;
}

/* The dependence of the later statement on the earlier one; NULL: none. */
static const char *depends(const planner *p, tile_op earlier, tile_op later) {
    bool *seen = TILE_NEW_ARRAY(p->arena, bool, p->f->value_count);
    const char *edge = edge_of(p, earlier, later, seen);
    TILE_FOR_EACH_NESTED_OP (p->f, inner, later)
        if (!edge) edge = edge_of(p, earlier, inner, seen);
    return edge;
}

static bool check_dependences(const planner *p, const schedule *s) {
    for (unsigned later = 0; later < p->statement_count; later++)
        for (unsigned earlier = 0; earlier < later; earlier++) {
            bool kept =
                s->stage[earlier] < s->stage[later] ||
                (s->stage[earlier] == s->stage[later] && s->order[earlier] < s->order[later]);
            const char *edge =
                kept ? NULL : depends(p, p->statements[earlier], p->statements[later]);
            if (!edge) continue;
            tile_error_at(p->f, p->statements[later],
                          "'%s' puts this %s before the %s that it depends on: %s",
                          s->stage[earlier] > s->stage[later] ? "stage" : "order",
                          tile_op_name(p->f, p->statements[later]),
                          tile_op_name(p->f, p->statements[earlier]), edge);
            tile_note_at(p->f, p->statements[earlier], "this is the %s",
                         tile_op_name(p->f, p->statements[earlier]));
            return false;
        }
    return true;
}

/* Only two stages are supported: copies run ahead, everything else stays in the last stage. */
static bool check_stages(const planner *p, const schedule *s, unsigned stages, unsigned *distance) {
    int64_t last = 0;
    for (unsigned i = 0; i < p->statement_count; i++)
        last = s->stage[i] > last ? s->stage[i] : last;
    if (last >= stages) {
        return tile_error_at(p->f, p->loop,
                             "stage %lld requires %llu stages, and `pipelined` gives %u",
                             (long long)last, (unsigned long long)last + 1, stages);
    }
    for (unsigned i = 0; i < p->statement_count; i++)
        if (s->stage[i] != 0 && s->stage[i] != last) {
            return tile_error_at(
                p->f, p->statements[i],
                "this %s is in stage %lld: copies go into stage 0, everything else into the "
                "last one, %lld",
                tile_op_name(p->f, p->statements[i]), (long long)s->stage[i], (long long)last);
        }
    *distance = (unsigned)last;
    return true;
}

/* The plan ------------------------------------------------------------------------------------- */

/* A load in stage 0 that is not an operand of a dot: it computes an address or condition of copies
 * there. */
static bool is_address_load(const planner *p, tile_op op) {
    if (!loads_view(p->f, op)) return false;
    obstacle found = check_source(p, tile_operand_src(p->f, op));
    const tile_values source = tile_operands_src(p->f, op);
    for (unsigned i = 0; i < source.count && !found.reason; i++)
        found = check_address(p, source.at[i]);
    return !found.reason;
}

/* If statement i is in stage 0 of several, it must be a copy that can run ahead, or a load that
 * copies there need. */
static bool plan_statement(const planner *p, const schedule *s, unsigned i,
                           tile_pipeline_plan *plan) {
    tile_op op = p->statements[i];
    bool candidate = is_load_for_dot(p, op) || is_copy_to_shared(p->f, op);
    bool wanted = s->given ? s->stage[i] == 0 : candidate;
    if (!wanted || (s->given && plan->distance == 0 && !candidate)) return true;
    if (s->given && !candidate && is_address_load(p, op)) return true;
    tile_staged_copy copy = {.op = op};
    obstacle found = {.reason = "only a copy to shared memory, the load of a dot's operand or "
                                "of an address can",
                      .remedy = "move it to another stage"};
    if (candidate) found = find_obstacle(p, op, &copy.buffer);
    if (!found.reason) {
        plan->copies[plan->copy_count++] = copy;
        return true;
    }
    bool is_error = s->given && plan->distance > 0;
    report_obstacle(p, is_error ? TILE_ERROR : TILE_REMARK, op, found);
    return !is_error;
}

/* Plans copies in other regions of the body. With the user's lists, they run as early as their
 * statement. */
static void plan_nested(const planner *p, const schedule *s, tile_region region,
                        tile_pipeline_plan *plan) {
    TILE_FOR_EACH_OP (p->f, op, region) {
        bool candidate = is_load_for_dot(p, op) || is_copy_to_shared(p->f, op);
        if (tile_op_has_attr(p->f, op, TILE_ATTR_pipelined)) continue; /* has a separate plan */
        for (unsigned r = 0; r < tile_op_at(p->f, op)->region_count; r++)
            plan_nested(p, s, tile_op_region(p->f, op, r), plan);
        if (region.id == p->body.id || !candidate) continue;
        tile_staged_copy copy = {.op = op};
        obstacle found = {
            .reason = "it is nested in another region of the loop's body",
            .remedy = "move it directly into the body, or make the loop around it `pipelined`"};
        if (!s->given && tile_pipelined_around(p->f, op).id == p->loop.id)
            found = find_obstacle(p, op, &copy.buffer);
        if (found.reason)
            report_obstacle(p, TILE_REMARK, op, found);
        else
            plan->copies[plan->copy_count++] = copy;
    }
}

/* Marks the loads that op needs if it runs early, for its operands or the branches that contain
 * it. */
static void mark_loads(const planner *p, tile_value value, bool *seen, bool *wanted);

static void mark_loads_of(const planner *p, tile_op op, bool *seen, bool *wanted) {
    for (unsigned i = 0; i < tile_op_operand_count(p->f, op); i++)
        mark_loads(p, tile_op_operand(p->f, op, i), seen, wanted);
    for (tile_op at = tile_op_parent(p->f, op); at.id != p->loop.id; at = tile_op_parent(p->f, at))
        if (tile_op_opcode(p->f, at) == TILE_OP_if)
            mark_loads(p, tile_operand_condition(p->f, at), seen, wanted);
}

static void mark_loads(const planner *p, tile_value value, bool *seen, bool *wanted) {
    tile_op def = tile_value_def(p->f, value);
    if (!def.id || seen[value.id] || !tile_ancestor_in(p->f, def, p->body).id) return;
    seen[value.id] = true;
    wanted[def.id] |= tile_op_opcode(p->f, def) == TILE_OP_load;
    mark_loads_of(p, def, seen, wanted);
}

static void find_loads(const planner *p, tile_pipeline_plan *plan) {
    if (!plan->distance || !plan->copy_count) return;
    bool *seen = TILE_NEW_ARRAY(p->arena, bool, p->f->value_count);
    bool *wanted = TILE_NEW_ARRAY(p->arena, bool, p->f->op_count);
    for (unsigned i = 0; i < plan->copy_count; i++)
        mark_loads_of(p, plan->copies[i].op, seen, wanted);
    plan->loads = TILE_NEW_ARRAY(p->arena, tile_op, p->f->op_count);
    TILE_FOR_EACH_OP_INSIDE (p->f, op, p->body)
        if (wanted[op.id]) plan->loads[plan->load_count++] = op;
}

tile_value tile_staged_value(const tile_function *f, const tile_staged_copy *copy) {
    return copy->buffer.id ? copy->buffer : tile_op_result(f, copy->op, 0);
}

bool tile_is_staged(const tile_pipeline_plan *plan, tile_op op) {
    for (unsigned i = 0; i < plan->copy_count; i++)
        if (plan->copies[i].op.id == op.id) return true;
    return false;
}

static bool is_early_load(const tile_pipeline_plan *plan, tile_op op) {
    for (unsigned i = 0; i < plan->load_count; i++)
        if (plan->loads[i].id == op.id) return true;
    return false;
}

/* Plans the order of the statements. The staged copies must be all before or all after the others,
 * except for the loads that they need. */
static bool plan_order(const planner *p, const schedule *s, tile_pipeline_plan *plan) {
    plan->order = TILE_NEW_ARRAY(p->arena, tile_op, p->statement_count + 1u);
    plan->order_count = p->statement_count;
    for (unsigned i = 0; i < p->statement_count; i++) plan->order[s->order[i]] = p->statements[i];
    if (plan->distance == 0 || plan->copy_count == 0 || plan->copy_count == p->statement_count)
        return true;
    unsigned turns = 0;
    tile_op last = TILE_NO_OP;
    for (unsigned i = 0; i < plan->order_count; i++) {
        if (is_early_load(plan, plan->order[i])) continue;
        turns += last.id && tile_is_staged(plan, last) != tile_is_staged(plan, plan->order[i]);
        last = plan->order[i];
    }
    plan->copies_last = tile_is_staged(plan, last);
    if (turns > 1)
        tile_error_at(
            p->f, p->loop,
            "'order' must put all copies of stage 0 before or after all other statements");
    return turns <= 1;
}

static bool has_candidate(const planner *p) {
    TILE_FOR_EACH_OP_INSIDE (p->f, op, p->body)
        if (is_load_for_dot(p, op) || is_copy_to_shared(p->f, op)) return true;
    return false;
}

/* Reports that the loop contains no copies to stage. Candidates that cannot run ahead have their
 * own remarks. */
static void remark_no_candidate(const planner *p, const tile_pipeline_plan *plan) {
    if (p->quiet || plan->stages < 2 || has_candidate(p)) return;
    tile_missed_at(
        p->f, p->loop, "not pipelined",
        "replace the load by `copy %x[..], %buffer` to an `alloc_shared` and `load_shared "
        "%buffer`, or remove `pipelined`",
        "it loads into registers; `pipelined` only prefetches copies to shared memory and loads of "
        "a `dot`'s operands");
}

bool tile_plan_pipeline(tile_function *f, tile_op loop, tile_arena *arena, bool quiet,
                        tile_pipeline_plan *plan) {
    planner p = {
        .f = f, .context = tile_function_context(f), .arena = arena, .loop = loop, .quiet = quiet};
    p.body = tile_op_region(f, loop, 0);
    scan_body(&p);
    *plan = (tile_pipeline_plan){.loop = loop};
    plan->stages = (unsigned)tile_op_attr_int(f, loop, TILE_ATTR_pipelined, 1);
    plan->distance = plan->stages - 1;
    plan->copies = TILE_NEW_ARRAY(arena, tile_staged_copy, f->op_count);
    schedule s = {TILE_NEW_ARRAY(arena, int64_t, p.statement_count + 1u),
                  TILE_NEW_ARRAY(arena, int64_t, p.statement_count + 1u), false};
    for (unsigned i = 0; i < p.statement_count; i++) {
        bool copy = is_load_for_dot(&p, p.statements[i]) || is_copy_to_shared(f, p.statements[i]);
        s.stage[i] = copy ? 0 : plan->distance;
        s.order[i] = i;
    }
    bool has_order = false;
    if (!read_list(&p, TILE_ATTR_stage, s.stage, &s.given) ||
        !read_list(&p, TILE_ATTR_order, s.order, &has_order))
        return false;
    s.given |= has_order;
    if (s.given &&
        (!check_permutation(&p, s.order) || !check_stages(&p, &s, plan->stages, &plan->distance) ||
         !check_dependences(&p, &s)))
        return false;
    for (unsigned i = 0; i < p.statement_count; i++)
        if (!plan_statement(&p, &s, i, plan)) return false;
    plan_nested(&p, &s, p.body, plan);
    if (!s.given) remark_no_candidate(&p, plan);
    find_loads(&p, plan);
    return !has_order || plan_order(&p, &s, plan);
}

bool tile_precedes_pipelined(const tile_function *f, tile_op copy) {
    if (tile_op_opcode(f, copy) != TILE_OP_copy ||
        tile_value_type(f, tile_operand_dst(f, copy))->kind != TILE_TYPE_SHARED)
        return false;
    tile_op op = copy;
    while (op.id && !tile_op_has_attr(f, op, TILE_ATTR_pipelined)) op = tile_op_next(f, op);
    return op.id != 0;
}

bool tile_is_pipelined(const tile_function *f, tile_op op) {
    for (tile_op at = tile_op_parent(f, op); at.id; at = tile_op_parent(f, at))
        if (tile_op_has_attr(f, at, TILE_ATTR_pipelined)) return true;
    return false;
}
