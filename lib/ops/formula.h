/* Host expressions prepared for many evaluations, as at each point of a tuning space.
 *
 * tile_expr_eval walks an expression and finds each parameter by its name. A set of formulas is a
 * list of steps: parameters are indices of an array, and parts that expressions have in common are
 * one step. Each step has a level, the largest of the levels of the parameters that it needs, so
 * that steps can be repeated only when their parameters change. Results are those of
 * tile_expr_eval. Threads: one at a time for each set. */
#ifndef TILE_LIB_OPS_FORMULA_H
#define TILE_LIB_OPS_FORMULA_H

#include "lib/ir/function.h"

/* The value of a function's parameter. */
typedef struct tile_bound_param {
    int64_t value;      /* int, bool, dim; of type and word: tile_word_value */
    const char *word;   /* word */
    tile_scalar scalar; /* type */
    bool bound;
} tile_bound_param;

/* What expressions are evaluated with. Coordinates of blocks and variables of loops are unknown. */
typedef struct tile_formula_inputs {
    const tile_bound_param *params; /* by parameter of the function */
    const int64_t *sizes;           /* by argument; NULL: unknown */
    int64_t num_sms;                /* 0: unknown */
} tile_formula_inputs;

typedef struct tile_formula_step tile_formula_step;
typedef struct tile_formula_place tile_formula_place;

typedef struct tile_formulas {
    const tile_function *f;
    tile_arena *arena;
    const size_t *levels; /* by parameter; NULL: all are 0 */
    tile_formula_step *steps;
    size_t count, capacity;
    tile_formula_place *places; /* steps, hashed by expression */
    unsigned place_bits;
    /* By level, once they are sorted: the number of steps up to its last one, and up to the last
     * one of them that depends on no lower level but 0. */
    size_t *ends, *own_ends;
    struct tile_formula_result **saved; /* by level: of the latter steps, row by row */
} tile_formulas;

void tile_formulas_open(tile_formulas *set, const tile_function *f, const size_t *levels,
                        tile_arena *arena);

/* Adds a condition: an expression that must have a value other than 0. */
void tile_formulas_require(tile_formulas *set, const tile_expr *condition);

/* Ends the additions: sorts steps by levels, which are below `count`. */
void tile_formulas_sort(tile_formulas *set, size_t count);

/* Evaluates the steps of one level, after those of lower levels. Without tile_formulas_sort,
 * evaluates those of the level and above. Stops and returns false at the first condition that does
 * not hold. */
bool tile_formulas_evaluate(tile_formulas *set, size_t level, const tile_formula_inputs *inputs);

/* Evaluates the steps that depend on this level and on level 0 only, and saves their results in a
 * row, for tile_formulas_repeat. Rows are below `count`. Level 0 has been evaluated. */
void tile_formulas_save(tile_formulas *set, size_t level, size_t row, size_t count,
                        const tile_formula_inputs *inputs);
/* The same as tile_formulas_evaluate with the inputs of the saved row. */
bool tile_formulas_repeat(tile_formulas *set, size_t level, size_t row);

/* The value of an expression; false if it is unknown, or on division by zero. An expression that is
 * new is added, and evaluated with these inputs, which must be those of the last evaluation. Not
 * after tile_formulas_sort. */
bool tile_formulas_read(tile_formulas *set, const tile_expr *expr,
                        const tile_formula_inputs *inputs, int64_t *value);

#endif
