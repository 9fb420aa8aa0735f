/* Checks whether a loop may be split: independent blocks must be able to run parts of its
 * iterations in any order. All carried values must be sums or other reductions whose partial
 * results can be combined in any grouping. Each part starts like the loop. A maximum may start at
 * any value, because combining a value with itself does not change it. A sum must start at 0, a
 * product at 1. */
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "passes/split/split.h"

typedef struct checker {
    split *s;
    tile_function *f;
    const uint32_t *uses;       /* by value */
    uint32_t *summed;           /* by value: number of uses that only add to it */
    bool *on_accumulation_path; /* by value: on the way from a carried value to its next one */
    uint32_t *accumulates;      /* by value: the carried value that it accumulates into */
    uint32_t *no_accumulation;  /* by value: a carried value that it does not accumulate into */
    bool *touched;              /* by value: a shared buffer that the loop writes */
    tile_opcode kind;           /* the reduction that is searched for */
    bool nan;                   /* of a maximum or minimum: NaN is propagated */
    bool ok;
} checker;

static const char *name_of(const checker *c, tile_value value, const char *otherwise) {
    const char *name = tile_value_at(c->f, value)->name;
    return name ? tile_arena_format(c->s->pass->scratch, "%%%s", name) : otherwise;
}

/* The clause that requested the split; diagnostics begin with it. */
static const char *clause_of(const checker *c) {
    return c->s->strategy ? "split" : "groups";
}

#define FAIL(c, loc, ...) \
    ((c)->ok = false, \
     (c)->s->quiet ? (void)0 \
                   : tile_report((c)->s->context, TILE_ERROR, (loc), "%s: %s", clause_of(c), \
                                 tile_arena_format((c)->s->pass->scratch, __VA_ARGS__)))

static void note_split(checker *c) {
    if (c->s->quiet) return;
    tile_note_at(c->f, c->s->loop, "%s",
                 c->s->strategy ? "this loop is split" : "groups of warps share this loop");
}

/* Reductions --------------------------------------------------------------------------------- */

static bool accumulates_into(checker *c, tile_value value, tile_value carried);

/* The first value of operand `index`. */
static tile_value operand_at(const tile_function *f, tile_op op, unsigned index) {
    unsigned at = 0;
    for (unsigned i = 0; i < index; i++) at += tile_op_segment(f, op, i).count;
    return tile_op_operand(f, op, at);
}

enum { MAX_ACCUMULATION_OPERANDS = 2 };

/* The operands that must be the carried value plus something (or its maximum or minimum with
 * something) for the value to be: all of them; one for an `add`. For a loop, the second is the
 * value after an iteration, starting from *inner. */
static unsigned accumulation_operands(checker *c, tile_value value, tile_value carried,
                                      tile_value *operands, tile_value *inner) {
    tile_function *f = c->f;
    tile_op op = tile_value_def(f, value);
    unsigned index = tile_value_at(f, value)->index;
    *inner = carried;
    switch (op.id ? tile_op_opcode(f, op) : TILE_OP_yield) {
    case TILE_OP_dot:
    case TILE_OP_fma: return operands[0] = operand_at(f, op, 2), c->kind == TILE_OP_add;
    case TILE_OP_sub: return operands[0] = operand_at(f, op, 0), c->kind == TILE_OP_add;
    case TILE_OP_add:
    case TILE_OP_mul:
    case TILE_OP_max:
    case TILE_OP_min:
    case TILE_OP_and:
    case TILE_OP_or:
    case TILE_OP_xor:
        if (tile_op_opcode(f, op) != c->kind || tile_op_has_attr(f, op, TILE_ATTR_nan) != c->nan)
            return 0;
        operands[0] = operand_at(f, op, 0);
        if (!accumulates_into(c, operands[0], carried)) operands[0] = operand_at(f, op, 1);
        return 1;
    case TILE_OP_for:
        *inner = tile_carried_received(f, op, 0, index);
        operands[0] = tile_carried_sent(f, op, TILE_PARENT_OP, index);
        return operands[1] = tile_carried_sent(f, op, 0, index), 2;
    case TILE_OP_if:
        operands[0] = tile_carried_sent(f, op, 0, index);
        return operands[1] = tile_carried_sent(f, op, 1, index), 2;
    default: return 0; /* any other use, or no use, of the carried value */
    }
}

/* Whether the value is the carried one plus something, or another reduction of it. */
static bool accumulates_into(checker *c, tile_value value, tile_value carried) {
    tile_value operands[MAX_ACCUMULATION_OPERANDS], inner;
    if (value.id == carried.id || c->accumulates[value.id] == carried.id) return true;
    if (c->no_accumulation[value.id] == carried.id) return false;
    unsigned count = accumulation_operands(c, value, carried, operands, &inner);
    bool accumulates = count > 0;
    for (unsigned i = 0; i < count && accumulates; i++)
        accumulates = accumulates_into(c, operands[i], i ? inner : carried);
    *(accumulates ? &c->accumulates[value.id] : &c->no_accumulation[value.id]) = carried.id;
    return accumulates;
}

/* Reductions, and the value at which each part must start. anywhere: at any value. */
static const struct reduction {
    tile_opcode kind;
    bool nan, anywhere;
    int start;
    const char *name;
} reductions[] = {{TILE_OP_add, false, false, 0, "a sum"},
                  {TILE_OP_max, false, true, 0, "a maximum"},
                  {TILE_OP_min, false, true, 0, "a minimum"},
                  {TILE_OP_max, true, true, 0, "a maximum"},
                  {TILE_OP_min, true, true, 0, "a minimum"},
                  {TILE_OP_mul, false, false, 1, "a product"},
                  {TILE_OP_and, false, true, 0, "a bitwise and"},
                  {TILE_OP_or, false, true, 0, "a bitwise or"},
                  {TILE_OP_xor, false, false, 0, "a bitwise exclusive or"}};

/* The kind of reduction that computes the carried value; NULL: none. */
static const struct reduction *find_kind(checker *c, tile_value next, tile_value carried) {
    for (unsigned k = 0; k < sizeof reductions / sizeof *reductions; k++) {
        c->kind = reductions[k].kind;
        c->nan = reductions[k].nan;
        for (uint32_t id = 1; id < c->f->value_count; id++) {
            if (c->accumulates[id] == carried.id) c->accumulates[id] = 0;
            if (c->no_accumulation[id] == carried.id) c->no_accumulation[id] = 0;
        }
        if (accumulates_into(c, next, carried)) return &reductions[k];
    }
    return NULL;
}

/* Counts the uses of each value on the way from the carried value to this one, once. */
static void count_accumulations(checker *c, tile_value value, tile_value carried) {
    tile_value operands[MAX_ACCUMULATION_OPERANDS], inner;
    c->on_accumulation_path[value.id] = true;
    if (value.id == carried.id) return;
    unsigned count = accumulation_operands(c, value, carried, operands, &inner);
    for (unsigned i = 0; i < count; i++) {
        bool seen = c->on_accumulation_path[operands[i].id];
        c->summed[operands[i].id]++;
        if (!seen) count_accumulations(c, operands[i], i ? inner : carried);
    }
}

static bool has_other_uses(checker *c, tile_value next, tile_value carried) {
    c->summed[next.id]++;
    count_accumulations(c, next, carried);
    bool other = false;
    for (uint32_t id = 1; id < c->f->value_count; id++)
        other |= c->on_accumulation_path[id] && c->uses[id] != c->summed[id];
    return other;
}

static bool is_number(const checker *c, tile_value value, int number) {
    const tile_value_data *data = tile_value_at(c->f, value);
    tile_op op = tile_value_def(c->f, value);
    if (op.id && tile_op_opcode(c->f, op) == TILE_OP_splat)
        return is_number(c, tile_operand_src(c->f, op), number);
    if (data->kind != TILE_VALUE_CONSTANT) return false;
    return data->expr->kind == TILE_EXPR_FLOAT ? data->expr->number == number
                                               : data->expr->integer == number;
}

/* The first operation of the loop that uses the value, except for terminators. */
static tile_op find_misuse(const checker *c, tile_value value) {
    TILE_FOR_EACH_NESTED_OP (c->f, op, c->s->loop)
        if (!(tile_op_effects(c->f, op) & TILE_EFFECT_TERMINATOR) && tile_op_uses(c->f, op, value))
            return op;
    return TILE_NO_OP;
}

static void reject_sum(checker *c, tile_value carried, const char *why) {
    tile_op misuse = find_misuse(c, carried);
    FAIL(c, tile_op_loc(c->f, misuse.id ? misuse : c->s->loop),
         "%s, which the loop carries, %s; each part of a split loop begins at 0, and the "
         "parts are added",
         name_of(c, carried, "a value"), why);
    if (misuse.id) note_split(c);
}

static void reject_kind(checker *c, tile_value carried, const struct reduction *kind) {
    FAIL(c, tile_op_loc(c->f, c->s->loop),
         "%s, which the loop carries, is %s, and the strategy %s supports only sums; use %s",
         name_of(c, carried, "a value"), kind->name, split_info(c->s->strategy)->word,
         tile_strategies_of_any(c->s->pass->scratch));
}

static void reject_start(checker *c, tile_value carried, tile_value init,
                         const struct reduction *kind) {
    bool product = kind->kind == TILE_OP_mul;
    FAIL(c, tile_op_loc(c->f, c->s->loop),
         "%s starts at another value than %d, which each part would %s; start it at %d and %s %s "
         "after the loop",
         name_of(c, carried, "a carried value"), kind->start,
         kind->kind == TILE_OP_add ? "add"
         : product                 ? "multiply by"
                                   : "combine with",
         kind->start,
         kind->kind == TILE_OP_add ? "add"
         : product                 ? "multiply by"
                                   : "combine it with",
         name_of(c, init, "the value"));
}

static void check_sum(checker *c, unsigned i) {
    tile_op loop = c->s->loop;
    tile_value carried = tile_carried_received(c->f, loop, 0, i);
    tile_value next = tile_carried_sent(c->f, loop, 0, i);
    tile_value init = tile_carried_sent(c->f, loop, TILE_PARENT_OP, i);
    const tile_type *type = tile_value_type(c->f, carried);
    const struct reduction *kind = NULL;
    if (type->kind != TILE_TYPE_TILE)
        reject_sum(c, carried, "is no tile");
    else if (type->rank == TILE_MAX_RANK)
        reject_sum(c, carried, "has too many dims to be stored in parts");
    else if (!(kind = find_kind(c, next, carried)))
        reject_sum(c, carried,
                   "is no sum: it is not only added to (`dot`, `add`, `sub`, `fma`), nor only made "
                   "larger or smaller (`max`, `min`), multiplied (`mul`) or combined bit by bit "
                   "(`and`, `or`, `xor`)");
    else if (has_other_uses(c, next, carried))
        reject_sum(c, carried, "is also used before the sum is complete");
    else if (kind->kind != TILE_OP_add && c->s->strategy && split_info(c->s->strategy)->only_adds)
        reject_kind(c, carried, kind);
    else if (!kind->anywhere && !is_number(c, init, kind->start))
        reject_start(c, carried, init, kind);
    c->s->combine[i] = c->kind;
    c->s->nan[i] = c->nan;
}

/* Effects -------------------------------------------------------------------------------------- */

enum {
    ORDERS = TILE_EFFECT_ACQUIRE | TILE_EFFECT_RELEASE,
};

/* Whether the operation writes global memory or orders writes for other blocks. */
static bool is_visible_outside(const tile_function *f, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, accesses);
    bool seen = tile_op_effects(f, op) & ORDERS;
    for (unsigned i = 0; i < count; i++) seen |= accesses[i].write && !accesses[i].shared;
    return seen;
}

static void check_op(checker *c, tile_op op) {
    tile_function *f = c->f;
    if (c->ok && is_visible_outside(f, op)) {
        FAIL(c, tile_op_loc(f, op),
             "%s is inside a split loop, whose parts run in any order; move it after the loop",
             tile_op_name(f, op));
        note_split(c);
    }
}

static void check_before(checker *c, tile_op op) {
    tile_function *f = c->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    bool pdl = opcode == TILE_OP_pdl_wait || opcode == TILE_OP_pdl_trigger;
    if (!c->ok || pdl || !is_visible_outside(f, op)) return;
    FAIL(c, tile_op_loc(f, op),
         "%s comes before a split loop, and every part would execute it; move it after the loop",
         tile_op_name(f, op));
    note_split(c);
}

static void check_together(checker *c, tile_op op) {
    tile_function *f = c->f;
    if (!c->ok || !(tile_op_effects(f, op) & TILE_EFFECT_CLUSTER)) return;
    FAIL(c, tile_op_loc(f, op),
         "%s comes after a split loop, where the blocks of a cluster do not arrive together with "
         "the strategy %s; use workspace",
         tile_op_name(f, op), split_info(c->s->strategy)->word);
    note_split(c);
}

static void check_after_cluster_loop(checker *c) {
    tile_function *f = c->f;
    for (tile_op op = tile_op_next(f, c->s->loop); op.id; op = tile_op_next(f, op)) {
        check_together(c, op);
        TILE_FOR_EACH_NESTED_OP (f, inner, op) check_together(c, inner);
    }
}

static void check_effects(checker *c) {
    tile_function *f = c->f;
    for (tile_op op = tile_region_first(f, f->body); c->s->strategy && op.id != c->s->loop.id;
         op = tile_op_next(f, op)) {
        check_before(c, op);
        TILE_FOR_EACH_NESTED_OP (f, inner, op) check_before(c, inner);
    }
    if (c->ok)
        TILE_FOR_EACH_NESTED_OP (f, op, c->s->loop) check_op(c, op);
    if (c->ok && c->s->strategy && c->s->strategy->last_block_runs_epilogue)
        check_after_cluster_loop(c);
}

/* Shared memory -------------------------------------------------------------------------------- */

static void mark_written(checker *c, tile_op op) {
    tile_function *f = c->f;
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, accesses);
    for (unsigned i = 0; i < count; i++)
        if (accesses[i].shared && accesses[i].write) c->touched[accesses[i].memory.id] = true;
}

static void mark_written_in(checker *c, tile_op op) {
    mark_written(c, op);
    TILE_FOR_EACH_NESTED_OP (c->f, inner, op) mark_written(c, inner);
}

typedef struct access_search {
    tile_value buffer;
    bool reads;  /* reads or frees it */
    bool writes; /* writes all of it */
} access_search;

static void find_access(const tile_function *f, tile_op op, access_search *search) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, accesses);
    for (unsigned i = 0; i < count; i++) {
        if (accesses[i].memory.id != search->buffer.id) continue;
        bool whole = accesses[i].write && !accesses[i].index_count && !search->reads;
        if (whole)
            search->writes = true;
        else if (!search->writes)
            search->reads = true;
    }
}

/* Finds whether the region reads or completely writes the buffer first. Returns the operation that
 * reads, or none. Nested regions may not run, so their writes only count inside them. */
static tile_op search_region(const tile_function *f, tile_region region, access_search *search) {
    TILE_FOR_EACH_OP (f, op, region) {
        find_access(f, op, search);
        for (unsigned r = 0; r < tile_op_at(f, op)->region_count && !search->writes; r++) {
            access_search inner = {.buffer = search->buffer};
            search_region(f, tile_op_region(f, op, r), &inner);
            search->reads |= inner.reads;
        }
        if (search->reads) return op;
        if (search->writes) break;
    }
    return TILE_NO_OP;
}

/* An iteration must write a buffer before it reads it. */
static void check_buffer(checker *c, tile_value buffer) {
    access_search search = {.buffer = buffer};
    tile_op place = search_region(c->f, tile_op_region(c->f, c->s->loop, 0), &search);
    if (search.reads) {
        FAIL(c, tile_op_loc(c->f, place),
             "%s may hold data of another iteration of a split loop; write all of it before its "
             "first use (`pipelined` adds the stages)",
             name_of(c, buffer, "a shared buffer"));
        note_split(c);
    }
}

/* The code after the loop is executed by the last part, or by all parts for their shares. */
static void check_after_loop(checker *c, tile_op op) {
    tile_function *f = c->f;
    if (c->ok && c->s->strategy && tile_op_opcode(f, op) == TILE_OP_alloc_barrier) {
        FAIL(c, tile_op_loc(f, op),
             "alloc_barrier cannot follow a split loop: only one block per tile executes the code "
             "after the loop; move it before the loop");
        note_split(c);
    }
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = c->ok ? tile_op_accesses(f, op, accesses) : 0;
    for (unsigned i = 0; i < count; i++) {
        tile_value memory = accesses[i].memory;
        if (!accesses[i].shared || accesses[i].write || !c->touched[memory.id]) continue;
        c->touched[memory.id] = false;
        FAIL(c, tile_op_loc(f, op),
             "%s holds data of the last iteration of a split loop, which only one part executes; "
             "carry the data out of the loop by `iter` and `yield`",
             name_of(c, memory, "a shared buffer"));
        note_split(c);
    }
}

/* A buffer that is rewritten after the loop no longer holds the loop's data. */
static void forget_written(checker *c, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(c->f, op, accesses);
    for (unsigned i = 0; i < count; i++)
        if (accesses[i].shared && accesses[i].write && !accesses[i].index_count)
            c->touched[accesses[i].memory.id] = false;
}

static void check_shared(checker *c) {
    tile_function *f = c->f;
    mark_written_in(c, c->s->loop);
    for (uint32_t id = 1; id < f->value_count && c->ok; id++) {
        tile_op def = tile_value_def(f, (tile_value){id});
        bool outside = def.id && !tile_op_is_in(f, def, c->s->loop);
        if (c->touched[id] && outside) check_buffer(c, (tile_value){id});
    }
    for (tile_op op = tile_op_next(f, c->s->loop); op.id; op = tile_op_next(f, op)) {
        check_after_loop(c, op);
        TILE_FOR_EACH_NESTED_OP (f, inner, op) check_after_loop(c, inner);
        forget_written(c, op);
    }
}

/* Entry point -------------------------------------------------------------------------------- */

static void check_strategy(checker *c) {
    const split_strategy *strategy = c->s->strategy;
    const tile_strategy_info *info = split_info(strategy);
    const tile_function *f = c->f;
    tile_loc loc = tile_op_loc(f, c->s->loop);
    const char *why = strategy->rejects ? strategy->rejects(c->s) : NULL;
    if (why)
        FAIL(c, loc, "the strategy %s cannot split this loop: %s", info->word, why);
    else if (info->most_factor && c->s->factor > info->most_factor)
        FAIL(c, loc, "the strategy %s takes factors up to %u, not %lld", info->word,
             info->most_factor, (long long)c->s->factor);
    for (unsigned d = 0; d < f->grid_rank && strategy->needs_static_grid && c->ok; d++)
        if (tile_expr_holds(f->grid[d], TILE_EXPR_NUM_SMS))
            FAIL(c, loc,
                 "the grid of @%s depends on num_sms, so its kernels cannot know the number of "
                 "parts; use the strategy serial",
                 f->name);
}

static void check_place(checker *c) {
    tile_function *f = c->f;
    tile_loc loc = tile_op_loc(f, c->s->loop);
    if (c->s->strategy && tile_op_at(f, c->s->loop)->parent.id != f->body.id)
        FAIL(c, loc,
             "the loop is inside another operation; a split loop must be directly in the kernel's "
             "body");
    else if (f->sync_explicit)
        FAIL(c, loc,
             "@%s is `sync explicit`, and %s cannot write barriers there; remove `sync explicit`",
             f->name, c->s->strategy ? "split-k" : "group-warps");
    if (c->ok && c->s->strategy) check_strategy(c);
}

bool split_is_legal(split *s) {
    tile_arena *arena = s->pass->scratch;
    checker c = {.s = s, .f = s->f, .ok = true};
    c.uses = tile_count_uses(s->f, arena);
    c.summed = TILE_NEW_ARRAY(arena, uint32_t, s->f->value_count);
    c.no_accumulation = TILE_NEW_ARRAY(arena, uint32_t, s->f->value_count);
    c.accumulates = TILE_NEW_ARRAY(arena, uint32_t, s->f->value_count);
    c.on_accumulation_path = TILE_NEW_ARRAY(arena, bool, s->f->value_count);
    c.touched = TILE_NEW_ARRAY(arena, bool, s->f->value_count);
    s->combine = TILE_NEW_ARRAY(arena, tile_opcode, s->count + 1);
    s->nan = TILE_NEW_ARRAY(arena, bool, s->count + 1);
    check_place(&c);
    if (c.ok) check_effects(&c);
    for (unsigned i = 0; i < s->count && c.ok; i++) check_sum(&c, i);
    if (c.ok) check_shared(&c);
    return c.ok;
}
