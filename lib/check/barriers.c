/* Checks barriers in shared memory: their allocation, their participants, and their numbers. */
#include "lib/analysis/executors.h"
#include "lib/analysis/uniform.h"
#include "lib/check/verify.h"
#include "lib/ops/atomic.h"

/* Limits: PTX ISA, "Contents of the mbarrier object". */
enum { MAX_COUNT = TILE_MAX_ARRIVALS };

typedef struct checker {
    tile_function *f;
    tile_arena scratch;
    const bool *divergent; /* by value; NULL: not computed yet */
    bool ok;
} checker;

/* Checks that a known number is in range; `what` names it. */
static void check_number(checker *c, tile_op op, const char *what, int64_t value, int64_t low,
                         int64_t high) {
    if (value < low || value > high)
        c->ok = tile_error_of(c->f, op, "%s must be from %lld to %lld, not %lld", what,
                              (long long)low, (long long)high, (long long)value);
}

static void check_operand(checker *c, tile_op op, tile_value value, const char *what, int64_t low,
                          int64_t high) {
    int64_t number;
    if (tile_value_is_int(c->f, value, &number)) check_number(c, op, what, number, low, high);
}

/* Checks the index of a barrier in its buffer. */
static void check_index(checker *c, tile_op op) {
    const tile_values values = tile_operands_bar(c->f, op);
    const tile_type *type = tile_value_type(c->f, values.at[0]);
    int64_t index, barriers = tile_type_elements(type);
    if (barriers < 1 || !tile_value_is_int(c->f, values.at[1], &index)) return;
    if (index < 0 || index >= barriers)
        c->ok = tile_error_of(c->f, op, "there is no barrier %lld among %lld", (long long)index,
                              (long long)barriers);
}

/* All threads of the block must execute it once, so it must be directly in the body or in `sync
 * explicit`. */
static void check_alloc(checker *c, tile_op op) {
    tile_op parent = tile_op_parent(c->f, op);
    while (parent.id && tile_op_opcode(c->f, parent) == TILE_OP_sync_explicit)
        parent = tile_op_parent(c->f, parent);
    if (parent.id)
        c->ok = tile_error_at(c->f, op,
                              "alloc_barrier: all threads of the block must execute it exactly "
                              "once; move it out of this `%s`",
                              tile_op_name(c->f, parent));
    const tile_attr *count = tile_op_attr(c->f, op, TILE_ATTR_count);
    int64_t arrivals;
    if (count && tile_expr_is_int(count->expr, &arrivals))
        check_number(c, op, "`count`", arrivals, 1, MAX_COUNT);
}

/* Checks that the whole executing set reaches the operation. */
static void check_set(checker *c, tile_op op) {
    if (!c->divergent) c->divergent = tile_divergent_values(c->f, &c->scratch);
    tile_op control = tile_divergent_control(c->f, c->divergent, op);
    if (!control.id) return;
    c->ok = tile_error_at(
        c->f, op, "%s is in divergent control flow: all warps of the executing set must reach it",
        tile_op_name(c->f, op));
    tile_note_at(c->f, control, "threads diverge at this %s", tile_op_name(c->f, control));
}

/* Checks that there are two or more warpgroups, and a barrier for each of them. */
static void check_turn(checker *c, tile_op op) {
    int64_t first;
    tile_executors executors = tile_executors_of(c->f, op);
    unsigned count = tile_ordered_warpgroups(executors);
    const char *name = tile_op_name(c->f, op);
    check_set(c, op);
    if (executors.warps && (executors.warps % TILE_WARPS_PER_ORDERED_GROUP || count < 2))
        c->ok = tile_error_at(
            c->f, op,
            "%s: ordered issue needs two or more whole warpgroups, not %u groups of %u warps", name,
            executors.groups, executors.warps);
    else if (tile_value_is_int(c->f, tile_operand_first(c->f, op), &first) &&
             (first < 1 || first > TILE_MAX_BARRIERS - (int64_t)count))
        c->ok = tile_error_at(
            c->f, op, "%s: the barriers' numbers must be from 1 to %d, not %lld to %lld", name,
            TILE_MAX_BARRIERS - 1, (long long)first, (long long)first + count - 1);
}

static void check_scope(checker *c, tile_op op) {
    tile_word scope = tile_op_word(c->f, op, TILE_ATTR_scope);
    if (scope == TILE_WORD_scope_gpu || scope == TILE_WORD_scope_sys)
        c->ok = tile_error_of(c->f, op,
                              "the scope must be cta or cluster: no other thread can reach a "
                              "barrier in shared memory");
}

static void check_free(checker *c, tile_op op) {
    if (tile_value_type(c->f, tile_operand_buffer(c->f, op))->scalar == TILE_barrier)
        c->ok = tile_error_at(
            c->f, op, "free_shared: barriers exist until the block ends; remove this operation");
}

static void check_op(checker *c, tile_op op) {
    const tile_function *f = c->f;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_alloc_barrier: check_alloc(c, op); break;
    case TILE_OP_barrier_arrive:
        check_set(c, op);
        check_scope(c, op);
        check_index(c, op);
        break;
    case TILE_OP_ordered_wait:
    case TILE_OP_ordered_arrive: check_turn(c, op); break;
    case TILE_OP_barrier_wait:
        check_set(c, op);
        check_scope(c, op);
        check_operand(c, op, tile_operand_parity(f, op), "a parity", 0, 1);
        check_index(c, op);
        break;
    case TILE_OP_mbarrier_init:
        check_operand(c, op, tile_operand_count(f, op), "the count", 1, MAX_COUNT);
        check_index(c, op);
        break;
    case TILE_OP_mbarrier_expect:
        check_operand(c, op, tile_operand_bytes(f, op), "the number of bytes", 0, MAX_COUNT);
        check_index(c, op);
        break;
    case TILE_OP_mbarrier_wait:
    case TILE_OP_mbarrier_test:
        check_operand(c, op, tile_operand_parity(f, op), "a parity", 0, 1);
        check_scope(c, op);
        check_index(c, op);
        break;
    case TILE_OP_mbarrier_arrive:
        check_scope(c, op);
        check_index(c, op);
        break;
    case TILE_OP_mbarrier_cp_async: check_index(c, op); break;
    case TILE_OP_free_shared: check_free(c, op); break;
    default: break;
    }
}

bool tile_verify_barriers(tile_function *f) {
    checker c = {.f = f, .ok = true};
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) check_op(&c, op);
    tile_arena_reset(&c.scratch);
    return c.ok;
}
