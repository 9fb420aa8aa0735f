/* Who executes what: the numbers and counts of barriers. */
#include "lib/analysis/executors.h"
#include "lib/analysis/uniform.h"
#include "lib/ir/verify.h"

typedef struct checker {
    tile_function *f;
    tile_context *context;
    tile_arena scratch;
    const bool *divergent; /* by value; NULL: not looked at yet */
    bool ok;
} checker;

#define FAIL(c, op, ...) \
    ((c)->ok = false, tile_report((c)->context, TILE_ERROR, tile_op_loc((c)->f, (op)), __VA_ARGS__))

/* Whether only some of the threads that execute may come here: which warps, the text does not say.
 */
static bool is_divergent_place(checker *c, tile_op op) {
    if (!c->divergent) c->divergent = tile_divergent_values(c->f, &c->scratch);
    return tile_divergent_control(c->f, c->divergent, op).id != 0;
}

/* Numbers that are not known yet are looked at when they are. */
static void check_barrier(checker *c, tile_op op) {
    int64_t number, warps;
    tile_executors who = tile_executors_of(c->f, op), block = tile_executors_of_block(c->f);
    const char *name = tile_op_name(c->f, op);
    if (!tile_op_operand_count(c->f, op)) return;
    if (tile_op_has_attr(c->f, op, TILE_ATTR_all))
        FAIL(c, op, "%s: `all` and a number exclude each other", name);
    if (tile_value_is_int(c->f, tile_op_operand(c->f, op, 0), &number) &&
        (number < 1 || number >= TILE_MAX_BARRIERS))
        FAIL(c, op, "%s: barriers have the numbers 1 to %d, not %lld; 0 is the block's own", name,
             TILE_MAX_BARRIERS - 1, (long long)number);
    if (!tile_value_is_int(c->f, tile_op_operand(c->f, op, 1), &warps)) return;
    if (block.warps && (warps < 1 || warps > block.warps))
        FAIL(c, op, "%s: %lld warps cannot meet, the block has %u", name, (long long)warps,
             block.warps);
    else if (warps < who.warps && !is_divergent_place(c, op))
        FAIL(c, op, "%s: %u warps come here together, more than the %lld that meet", name,
             who.warps, (long long)warps);
}

static void check_op(tile_function *f, tile_op op, void *user) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_sync || opcode == TILE_OP_sync_arrive) check_barrier(user, op);
}

bool tile_verify_executors(tile_function *f) {
    checker c = {.f = f, .context = tile_function_context(f), .ok = true};
    tile_walk(f, f->body, check_op, &c);
    tile_arena_reset(&c.scratch);
    return c.ok;
}
