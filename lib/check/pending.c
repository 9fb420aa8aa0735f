/* Checks the use of asynchronous wgmma results. An accumulator is pending until a wait covers it.
 * Until then only the next product, which accumulates into the same registers, may use it. If other
 * instructions wrote an accumulator, or an lhs in registers, a wgmma_fence must come before the
 * wgmma.
 *
 * Both rules are a dataflow analysis in text order. The state of a pending value is its age, the
 * number of commits since its product; `wgmma_wait n` completes values older than n. A vector is
 * unfenced from its definition to the next fence. ptxas analyses only straight-line
 * code: each stretch without branches needs a fence before its first wgmma, even if no vector is
 * unfenced. Where control flow joins, the worse state counts: the younger age, and unfenced if it
 * is so on one path. A loop is iterated until a fixed point at its head, and then once more to
 * report errors. The states at heads are kept between visits, so that nested loops do not start
 * again each time. */
#include <string.h>

#include "lib/check/verify.h"
#include "lib/ir/level.h"
#include "lib/ir/regions.h"

/* States of a value, worst first. Between CONSUMED and DONE it is pending, as FIRST + its age. */
enum {
    CONSUMED = 0, /* its registers now belong to another value */
    FIRST = 1,
    OLDEST = 100, /* largest age; also stands for larger ones */
    DONE = 200,
    UNDEFINED = 201, /* no relevant state: the best one when paths join */
};

typedef struct state {
    uint8_t *status; /* by value; NULL: not reached yet */
    /* By value, stored directly after status: unfenced. Entry NO_FENCE: no fence since the last
     * branch. */
    uint8_t *unfenced;
} state;

enum { NO_FENCE = 0 /* no value has this id */ };

typedef struct walk {
    tile_function *f;
    tile_arena scratch;
    state **arriving; /* by op with regions, then by region + 1; entry 0 is the operation itself */
    bool dry_run;     /* report nothing */
    bool ok;
} walk;

/* States --------------------------------------------------------------------------------------- */

static state copy_state(walk *w, const state *from) {
    uint8_t *bytes = TILE_NEW_ARRAY(&w->scratch, uint8_t, 2 * w->f->value_count);
    memcpy(bytes, from->status, w->f->value_count);
    memcpy(bytes + w->f->value_count, from->unfenced, w->f->value_count);
    return (state){bytes, bytes + w->f->value_count};
}

/* Joins the state `from` into *to. Returns true if *to gets worse. */
static bool join(walk *w, state *to, const state *from) {
    bool worse = false;
    if (!to->status) {
        *to = copy_state(w, from);
        return true;
    }
    if (memcmp(to->status, from->status, 2 * w->f->value_count) == 0) return false;
    for (size_t i = 0; i < w->f->value_count; i++) {
        worse |= from->status[i] < to->status[i] || from->unfenced[i] > to->unfenced[i];
        if (from->status[i] < to->status[i]) to->status[i] = from->status[i];
        to->unfenced[i] |= from->unfenced[i];
    }
    return worse;
}

static bool is_pending(uint8_t status) {
    return status >= FIRST && status < DONE;
}

/* Uses ----------------------------------------------------------------------------------------- */

static void note_origin(const walk *w, tile_value value, const char *what) {
    tile_op def = tile_value_def(w->f, value);
    if (def.id) tile_note_at(w->f, def, "%s", what);
}

static void fail_consumed(walk *w, tile_op op, tile_value value) {
    if (w->dry_run) return;
    w->ok = tile_error_of(w->f, op,
                          "a pending accumulator can be used only once, and the registers of this "
                          "one already hold another value");
    note_origin(w, value, "it is pending from here on");
}

/* The operation that completes the value. */
static const char *wait_name(const walk *w, tile_value value) {
    return tile_value_type(w->f, value)->kind == TILE_TYPE_TILE ? "dot_wait" : "wgmma_wait";
}

/* Checks a use that must not be of a pending value. */
static void check_use(walk *w, const state *s, tile_op op, tile_value value) {
    uint8_t status = s->status[value.id];
    if (status == CONSUMED) fail_consumed(w, op, value);
    if (w->dry_run) return;
    if (is_pending(status)) {
        w->ok = tile_error_of(w->f, op,
                              "the value is still pending; wait for its group with a %s first, and "
                              "use the result of that",
                              wait_name(w, value));
        note_origin(w, value, "pending from here on");
    } else if (status == UNDEFINED) {
        w->ok = tile_error_of(
            w->f, op,
            "the value is undefined; use it only as acc of a wgmma whose `keep` is false");
    }
}

/* Consumes a pending operand of op, and returns its status. */
static uint8_t take(walk *w, state *s, tile_op op, tile_value value) {
    uint8_t status = s->status[value.id];
    if (status == CONSUMED) fail_consumed(w, op, value);
    if (is_pending(status)) s->status[value.id] = CONSUMED;
    return status;
}

/* Operations ----------------------------------------------------------------------------------- */

static void check_fenced(walk *w, const state *s, tile_op op, tile_value value, const char *name) {
    if (w->dry_run || !s->unfenced[value.id]) return;
    w->ok = tile_error_at(w->f, op,
                          "wgmma: a wgmma_fence is missing between it and the operation that "
                          "writes the registers of its %s",
                          name);
    note_origin(w, value, "they are written here");
}

/* Reports at most one error per stretch of straight-line code. */
static void check_stretch(walk *w, state *s, tile_op op) {
    if (s->unfenced[NO_FENCE] && !w->dry_run)
        w->ok = tile_error_of(
            w->f, op,
            "there is no wgmma_fence between it and the beginning of its region, or the last "
            "operation with regions or that waits in a loop; add one before it");
    s->unfenced[NO_FENCE] = 0;
}

static void walk_wgmma(walk *w, state *s, tile_op op) {
    check_stretch(w, s, op);
    check_fenced(w, s, op, tile_operand_lhs(w->f, op), "lhs");
    check_fenced(w, s, op, tile_operand_acc(w->f, op), "acc");
    for (unsigned i = 0; i < tile_op_operand_count(w->f, op); i++)
        if (i != 2) check_use(w, s, op, tile_op_operand(w->f, op, i));
    take(w, s, op, tile_operand_acc(w->f, op));
    s->status[tile_op_result(w->f, op, 0).id] = FIRST;
}

/* A commit adds one group. */
static void age_commits(const walk *w, const state *s) {
    for (size_t i = 1; i < w->f->value_count; i++)
        if (is_pending(s->status[i]) && s->status[i] < FIRST + OLDEST) s->status[i]++;
}

static void walk_commit(walk *w, state *s, tile_op op) {
    check_stretch(w, s, op);
    age_commits(w, s);
}

/* A group is complete if more than `left` commits, including its own, were made since it
 * started. */
static void walk_wait(walk *w, state *s, tile_op op) {
    int64_t left;
    if (!tile_value_is_int(w->f, tile_operand_pending(w->f, op), &left)) left = OLDEST;
    for (unsigned i = 0; i < tile_op_result_count(w->f, op); i++) {
        uint8_t status = take(w, s, op, tile_op_operand(w->f, op, i + 1));
        bool over = !is_pending(status) || status - FIRST > left;
        s->status[tile_op_result(w->f, op, i).id] = over ? DONE : status;
    }
}

/* A dot with `async` is a separate group. */
static void walk_async_dot(walk *w, state *s, tile_op op) {
    unsigned count = tile_op_operand_count(w->f, op);
    for (unsigned i = 0; i + 1 < count; i++) check_use(w, s, op, tile_op_operand(w->f, op, i));
    take(w, s, op, tile_op_operand(w->f, op, count - 1));
    s->status[tile_op_result(w->f, op, 0).id] = FIRST;
    age_commits(w, s);
}

static void walk_dot_wait(walk *w, state *s, tile_op op) {
    int64_t left;
    if (!tile_value_is_int(w->f, tile_operand_pending(w->f, op), &left)) left = OLDEST;
    uint8_t status = take(w, s, op, tile_operand_src(w->f, op));
    bool over = !is_pending(status) || status - FIRST > left;
    s->status[tile_op_result(w->f, op, 0).id] = over ? DONE : status;
}

/* Returns whether the selected elements include the operand's last one. Parts are extracted in
 * order, so the operand is then consumed. */
static bool consumes_end(const walk *w, tile_op op) {
    int64_t first, last = tile_type_elements(tile_value_type(w->f, tile_operand_src(w->f, op))) - 1;
    const tile_attr *order = tile_op_attr(w->f, op, TILE_ATTR_order);
    for (unsigned i = 0; order && i < order->count; i++)
        if (order->list[i] == last) return true;
    if (order) return false;
    tile_value src = tile_operand_src(w->f, op), part = tile_op_result(w->f, op, 0);
    return tile_value_is_int(w->f, tile_operand_first(w->f, op), &first) &&
           first + tile_type_elements(tile_value_type(w->f, part)) ==
               tile_type_elements(tile_value_type(w->f, src));
}

/* A part of a pending value is pending, and so is a vector concatenated from pending parts. A part
 * of an undefined value, and a vector concatenated only from such parts, is undefined. */
static bool walk_parts(walk *w, state *s, tile_op op) {
    uint8_t youngest = DONE;
    bool whole = tile_op_opcode(w->f, op) == TILE_OP_concat;
    unsigned count = whole ? tile_op_operand_count(w->f, op) : 1, undefined = 0;
    for (unsigned i = 0; i < count; i++) {
        uint8_t status = s->status[tile_op_operand(w->f, op, i).id];
        if (is_pending(status) && status < youngest) youngest = status;
        undefined += status == UNDEFINED;
    }
    if (undefined == count) youngest = UNDEFINED;
    bool scalar = tile_value_type(w->f, tile_op_result(w->f, op, 0))->kind == TILE_TYPE_SCALAR;
    if (youngest == DONE || scalar) return false; /* a single element is read */
    for (unsigned i = 0; i < count && whole; i++) take(w, s, op, tile_op_operand(w->f, op, i));
    if (!whole && consumes_end(w, op)) take(w, s, op, tile_operand_src(w->f, op));
    s->status[tile_op_result(w->f, op, 0).id] = youngest;
    s->unfenced[tile_op_result(w->f, op, 0).id] = false;
    return true;
}

static void walk_other(walk *w, state *s, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(w->f, op); i++)
        check_use(w, s, op, tile_op_operand(w->f, op, i));
    for (unsigned i = 0; i < tile_op_result_count(w->f, op); i++) {
        tile_value result = tile_op_result(w->f, op, i);
        s->status[result.id] = DONE;
        s->unfenced[result.id] = tile_value_type(w->f, result)->kind == TILE_TYPE_VECTOR;
    }
}

/* Operations that are compiled to a loop of machine instructions. */
static bool spins(const walk *w, tile_op op) {
    switch (tile_op_opcode(w->f, op)) {
    case TILE_OP_mbarrier_wait:
    case TILE_OP_wait_acquire: return true;
    default: return false;
    }
}

static void walk_regions(walk *w, state *s, tile_op op);

static void walk_op(walk *w, state *s, tile_op op) {
    switch (tile_op_opcode(w->f, op)) {
    case TILE_OP_wgmma: walk_wgmma(w, s, op); return;
    case TILE_OP_wgmma_commit: walk_commit(w, s, op); return;
    case TILE_OP_wgmma_wait: walk_wait(w, s, op); return;
    case TILE_OP_dot_wait: walk_dot_wait(w, s, op); return;
    case TILE_OP_dot:
        if (!tile_op_has_attr(w->f, op, TILE_ATTR_async)) break;
        walk_async_dot(w, s, op);
        return;
    case TILE_OP_wgmma_fence: memset(s->unfenced, 0, w->f->value_count); return;
    case TILE_OP_undefined: s->status[tile_op_result(w->f, op, 0).id] = UNDEFINED; return;
    case TILE_OP_extract:
    case TILE_OP_permute:
    case TILE_OP_concat:
        if (tile_op_opcode(w->f, op) == TILE_OP_extract && !tile_extract_is_name(w->f, op)) break;
        if (tile_op_returns_tile(w->f, op))
            break; /* at level 2 only the sums of a dot are pending */
        if (walk_parts(w, s, op)) return;
        break;
    case TILE_OP_yield: return; /* propagate_edge handles its operands */
    default: break;
    }
    if (tile_shape_of(w->f, op) != TILE_SHAPE_NONE)
        walk_regions(w, s, op);
    else
        walk_other(w, s, op);
    if (spins(w, op)) s->unfenced[NO_FENCE] = 1;
}

static bool is_yielded(const walk *w, tile_region region, tile_value value) {
    tile_op last = tile_region_at(w->f, region)->last;
    bool found = false;
    if (!last.id || tile_op_opcode(w->f, last) != TILE_OP_yield) return false;
    for (unsigned i = 0; i < tile_op_operand_count(w->f, last) && !found; i++)
        found = tile_op_operand(w->f, last, i).id == value.id;
    return found;
}

/* After the region no wait can cover a value defined in it. A loop result may be unused, because
 * the same sum can be waited for as another result. */
static void check_end(walk *w, const state *s, tile_region region) {
    TILE_FOR_EACH_OP (w->f, op, region) {
        unsigned count = tile_shape_of(w->f, op) ? 0 : tile_op_result_count(w->f, op);
        for (unsigned i = 0; i < count; i++) {
            tile_value value = tile_op_result(w->f, op, i);
            if (is_pending(s->status[value.id]) && !is_yielded(w, region, value))
                w->ok =
                    tile_error_of(w->f, op, "its result stays pending: no %s covers it; add one",
                                  wait_name(w, value));
        }
    }
}

static void walk_region(walk *w, state *s, tile_region region) {
    TILE_FOR_EACH_OP (w->f, op, region) walk_op(w, s, op);
    if (!w->dry_run && w->ok) check_end(w, s, region);
}

/* Regions -------------------------------------------------------------------------------------- */

/* Passes the state along an edge of control flow of op, with the carried values. Returns true if
 * the state at the destination gets worse. */
static bool propagate_edge(walk *w, tile_op op, int from, int to, const state *s, state *arriving) {
    state next = copy_state(w, s);
    next.unfenced[NO_FENCE] = 1;
    for (unsigned i = 0; i < tile_carried_count(w->f, op); i++) {
        tile_value sent = tile_carried_sent(w->f, op, from, i);
        tile_value received = tile_carried_received(w->f, op, to, i);
        if (!sent.id || !received.id) continue;
        next.unfenced[received.id] = next.unfenced[sent.id];
        next.status[received.id] = take(w, &next, op, sent);
    }
    return join(w, arriving, &next);
}

/* Visits each region once and passes its state on. Returns true if the head of a region that was
 * visited before got worse. */
static bool visit_loop_once(walk *w, tile_op op, state *arriving) {
    int count = (int)tile_op_at(w->f, op)->region_count;
    bool worse = false;
    for (int r = 0; r < count; r++) {
        if (!arriving[r + 1].status) continue;
        state s = copy_state(w, &arriving[r + 1]);
        walk_region(w, &s, tile_op_region(w->f, op, (unsigned)r));
        for (int to = TILE_PARENT_OP; to < count; to++)
            if (tile_control_flows(w->f, op, r, to))
                worse |= propagate_edge(w, op, r, to, &s, &arriving[to + 1]) && to >= 0 && to <= r;
    }
    return worse;
}

static void walk_regions(walk *w, state *s, tile_op op) {
    int count = (int)tile_op_at(w->f, op)->region_count;
    bool dry_run = w->dry_run;
    if (!w->arriving[op.id])
        w->arriving[op.id] = TILE_NEW_ARRAY(&w->scratch, state, (unsigned)count + 1u);
    state *arriving = w->arriving[op.id];
    for (int to = TILE_PARENT_OP; to < count; to++)
        if (tile_control_flows(w->f, op, TILE_PARENT_OP, to))
            propagate_edge(w, op, TILE_PARENT_OP, to, s, &arriving[to + 1]);
    w->dry_run = true;
    while (visit_loop_once(w, op, arriving)) {
    }
    w->dry_run = dry_run;
    if (!dry_run) visit_loop_once(w, op, arriving);
    if (arriving[0].status) *s = copy_state(w, &arriving[0]);
}

bool tile_verify_pending(tile_function *f) {
    walk w = {.f = f, .ok = true};
    bool found = false;
    for (uint32_t id = 1; id < f->op_count && !found; id++)
        found =
            f->ops[id].opcode == TILE_OP_wgmma || f->ops[id].opcode == TILE_OP_undefined ||
            f->ops[id].opcode == TILE_OP_wgmma_commit || /* dots in this function will be wgmma */
            (f->ops[id].opcode == TILE_OP_dot &&
             tile_op_has_attr(f, (tile_op){id}, TILE_ATTR_async));
    if (!found) return true;
    uint8_t *bytes = TILE_NEW_ARRAY(&w.scratch, uint8_t, 2 * f->value_count);
    state s = {bytes, bytes + f->value_count};
    memset(s.status, DONE, f->value_count);
    s.unfenced[NO_FENCE] = 1;
    w.arriving = TILE_NEW_ARRAY(&w.scratch, state *, f->op_count);
    walk_region(&w, &s, f->body);
    tile_arena_reset(&w.scratch);
    return w.ok;
}
