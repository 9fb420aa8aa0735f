#include "lib/ops/formula.h"

#include <string.h>

#include "lib/ir/arith.h"
#include "lib/ir/syntax.h"

enum { FIRST_BITS = 6 };
static const uint32_t NO_STEP = UINT32_MAX;

struct tile_formula_step {
    int64_t value;
    uint32_t args[3]; /* OP: steps, the first one in place of what it does not have; PARAM and ARG:
                         args[0] is the index */
    uint32_t level;
    tile_int_meaning fold; /* OP */
    uint8_t kind;          /* tile_expr_kind */
    bool known, is_required;
    bool is_own; /* depends on no lower level but 0 */
};

typedef struct tile_formula_result {
    int64_t value;
    bool known;
} tile_formula_result;

struct tile_formula_place {
    const tile_expr *expr; /* NULL: free */
    uint32_t step;
};

/* Expressions are interned: equal ones have one address. */
static tile_formula_place *find_place(const tile_formulas *set, const tile_expr *expr) {
    const size_t mask = ((size_t)1 << set->place_bits) - 1;
    size_t at =
        (size_t)(((uintptr_t)expr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - set->place_bits));
    while (set->places[at].expr && set->places[at].expr != expr) at = (at + 1) & mask;
    return &set->places[at];
}

/* At most half of the places are taken. */
static void grow_places(tile_formulas *set) {
    tile_formula_place *old = set->places;
    const size_t old_count = (size_t)1 << set->place_bits++;
    set->places = TILE_NEW_ARRAY(set->arena, tile_formula_place, 2 * old_count);
    for (size_t i = 0; i < old_count; i++)
        if (old[i].expr) *find_place(set, old[i].expr) = old[i];
}

void tile_formulas_open(tile_formulas *set, const tile_function *f, const size_t *levels,
                        tile_arena *arena) {
    *set = (tile_formulas){.f = f, .levels = levels, .arena = arena, .place_bits = FIRST_BITS};
    set->places = TILE_NEW_ARRAY(arena, tile_formula_place, (size_t)1 << FIRST_BITS);
}

/* Names are interned, so comparing pointers finds most of them. */
static uint32_t find_param(const tile_function *f, const char *name) {
    for (uint32_t i = 0; i < f->param_count; i++)
        if (f->params[i].name == name) return i;
    for (uint32_t i = 0; i < f->param_count; i++)
        if (strcmp(f->params[i].name, name) == 0) return i;
    return NO_STEP;
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static bool has_no_meaning(int64_t a, int64_t b, int64_t c, int64_t *result) {
    (void)a, (void)b, (void)c, (void)result;
    return false;
}

static uint32_t add(tile_formulas *set, const tile_expr *expr);

static tile_formula_step make_step(tile_formulas *set, const tile_expr *expr) {
    tile_formula_step step = {.kind = (uint8_t)expr->kind, .is_own = true};
    switch (expr->kind) {
    case TILE_EXPR_INT:
        step.value = expr->integer;
        step.known = true;
        break;
    case TILE_EXPR_WORD:
        step.value = tile_word_value(expr->name);
        step.known = true;
        break;
    case TILE_EXPR_PARAM:
        step.args[0] = find_param(set->f, expr->name);
        if (step.args[0] != NO_STEP && set->levels)
            step.level = (uint32_t)set->levels[step.args[0]];
        break;
    case TILE_EXPR_ARG: step.args[0] = (uint32_t)expr->integer; break;
    case TILE_EXPR_OP:
        for (unsigned i = 0; i < 3; i++) {
            step.args[i] = expr->args[i] ? add(set, expr->args[i]) : step.args[0];
            step.level = larger(step.level, set->steps[step.args[i]].level);
        }
        for (unsigned i = 0; i < 3; i++) {
            const tile_formula_step *arg = &set->steps[step.args[i]];
            step.is_own &= arg->level == 0 || (arg->level == step.level && arg->is_own);
        }
        step.fold = tile_int_meaning_of(expr->opcode);
        if (!step.fold) step.fold = has_no_meaning;
        break;
    case TILE_EXPR_FLOAT:
    case TILE_EXPR_NUM_SMS:
    case TILE_EXPR_BLOCK_ID:
    case TILE_EXPR_LOOP: break;
    }
    return step;
}

/* Returns the number of its step. */
static uint32_t add(tile_formulas *set, const tile_expr *expr) {
    const tile_formula_place *found = find_place(set, expr);
    if (found->expr) return found->step;
    const tile_formula_step step = make_step(set, expr);
    const uint32_t number = (uint32_t)set->count;
    set->steps =
        tile_arena_grow(set->arena, set->steps, set->count, &set->capacity, sizeof *set->steps);
    set->steps[set->count++] = step;
    if (2 * set->count > (size_t)1 << set->place_bits) grow_places(set);
    *find_place(set, expr) = (tile_formula_place){expr, number};
    return number;
}

void tile_formulas_require(tile_formulas *set, const tile_expr *condition) {
    const uint32_t step = add(set, condition); /* may move the steps */
    set->steps[step].is_required = true;
}

/* Moves the steps of one kind of a level to the end of the sorted ones. */
static size_t move_steps(const tile_formulas *set, size_t level, bool own,
                         tile_formula_step *sorted, uint32_t *places, size_t end) {
    for (uint32_t i = 0; i < set->count; i++) {
        tile_formula_step step = set->steps[i];
        if (step.level != level || step.is_own != own) continue;
        for (unsigned a = 0; a < 3 && step.kind == TILE_EXPR_OP; a++)
            step.args[a] = places[step.args[a]];
        places[i] = (uint32_t)end;
        sorted[end++] = step;
    }
    return end;
}

void tile_formulas_sort(tile_formulas *set, size_t count) {
    size_t end = 0;
    tile_formula_step *sorted = TILE_NEW_ARRAY(set->arena, tile_formula_step, set->count + 1);
    uint32_t *places = TILE_NEW_ARRAY(set->arena, uint32_t, set->count + 1);
    set->ends = TILE_NEW_ARRAY(set->arena, size_t, count + 1);
    set->own_ends = TILE_NEW_ARRAY(set->arena, size_t, count + 1);
    set->saved = TILE_NEW_ARRAY(set->arena, tile_formula_result *, count + 1);
    for (size_t level = 0; level < count; level++) {
        end = set->own_ends[level] = move_steps(set, level, true, sorted, places, end);
        end = set->ends[level] = move_steps(set, level, false, sorted, places, end);
    }
    set->steps = sorted;
}

static void evaluate(const tile_formulas *set, tile_formula_step *step,
                     const tile_formula_inputs *inputs) {
    const tile_formula_step *a, *b, *c;
    switch ((tile_expr_kind)step->kind) {
    case TILE_EXPR_PARAM:
        step->known = step->args[0] != NO_STEP && inputs->params[step->args[0]].bound;
        if (step->known) step->value = inputs->params[step->args[0]].value;
        return;
    case TILE_EXPR_ARG:
        step->known = inputs->sizes != NULL;
        if (step->known) step->value = inputs->sizes[step->args[0]];
        return;
    case TILE_EXPR_NUM_SMS:
        step->known = inputs->num_sms > 0 && inputs->num_sms <= TILE_MAX_SMS;
        step->value = inputs->num_sms;
        return;
    case TILE_EXPR_OP:
        a = &set->steps[step->args[0]];
        b = &set->steps[step->args[1]];
        c = &set->steps[step->args[2]];
        step->known = a->known && b->known && c->known &&
                      step->fold(a->value, b->value, c->value, &step->value);
        return;
    case TILE_EXPR_INT:
    case TILE_EXPR_WORD:
    case TILE_EXPR_FLOAT:
    case TILE_EXPR_BLOCK_ID:
    case TILE_EXPR_LOOP: return;
    }
}

static bool holds(const tile_formula_step *step) {
    return !step->is_required || (step->known && step->value);
}

static bool evaluate_steps(tile_formulas *set, size_t begin, size_t end,
                           const tile_formula_inputs *inputs) {
    for (size_t i = begin; i < end; i++) {
        evaluate(set, &set->steps[i], inputs);
        if (!holds(&set->steps[i])) return false;
    }
    return true;
}

/* Steps that depend on several levels are operations. */
static bool evaluate_operations(tile_formulas *set, size_t begin, size_t end) {
    const tile_formula_step *steps = set->steps;
    for (tile_formula_step *step = set->steps + begin; step < set->steps + end; step++) {
        const tile_formula_step *a = &steps[step->args[0]], *b = &steps[step->args[1]],
                                *c = &steps[step->args[2]];
        step->known = a->known & b->known & c->known &&
                      step->fold(a->value, b->value, c->value, &step->value);
        if (!holds(step)) return false;
    }
    return true;
}

static size_t begin_of(const tile_formulas *set, size_t level) {
    return level ? set->ends[level - 1] : 0;
}

bool tile_formulas_evaluate(tile_formulas *set, size_t level, const tile_formula_inputs *inputs) {
    if (set->ends) return evaluate_steps(set, begin_of(set, level), set->ends[level], inputs);
    for (size_t i = 0; i < set->count; i++)
        if (set->steps[i].level >= level && !evaluate_steps(set, i, i + 1, inputs)) return false;
    return true;
}

void tile_formulas_save(tile_formulas *set, size_t level, size_t row, size_t count,
                        const tile_formula_inputs *inputs) {
    const size_t begin = begin_of(set, level), width = set->own_ends[level] - begin;
    if (!set->saved[level])
        set->saved[level] = TILE_NEW_ARRAY(set->arena, tile_formula_result, width * count + 1);
    tile_formula_result *to = set->saved[level] + width * row;
    for (size_t i = 0; i < width; i++) {
        tile_formula_step *step = &set->steps[begin + i];
        evaluate(set, step, inputs);
        to[i] = (tile_formula_result){step->value, step->known};
    }
}

bool tile_formulas_repeat(tile_formulas *set, size_t level, size_t row) {
    const size_t begin = begin_of(set, level), width = set->own_ends[level] - begin;
    const tile_formula_result *from = set->saved[level] + width * row;
    for (size_t i = 0; i < width; i++) {
        tile_formula_step *step = &set->steps[begin + i];
        step->value = from[i].value;
        step->known = from[i].known;
        if (!holds(step)) return false;
    }
    return evaluate_operations(set, set->own_ends[level], set->ends[level]);
}

bool tile_formulas_read(tile_formulas *set, const tile_expr *expr,
                        const tile_formula_inputs *inputs, int64_t *value) {
    const tile_formula_place *found = find_place(set, expr);
    uint32_t number = found->step;
    if (!found->expr) {
        const size_t before = set->count;
        number = add(set, expr);
        for (size_t i = before; i < set->count; i++) evaluate(set, &set->steps[i], inputs);
    }
    if (set->steps[number].known) *value = set->steps[number].value;
    return set->steps[number].known;
}
