/* The tuning space of products (space.def), for any kernel that multiplies tiles. Threads: as the
 * function's module. */
#ifndef TILE_LIB_TUNING_SPACE_H
#define TILE_LIB_TUNING_SPACE_H

#include "lib/tuning/roles.h"
#include "tile/compile.h"

/* Part of the key of tuned points. */
#define TILE_SPACE_VERSION 6

/* A kernel, as the space sees it. */
typedef struct tile_product_space {
    const tile_expr *at[TILE_ROLE_COUNT]; /* as in tile_roles */
    uint32_t covered;                     /* bit r: role r is a parameter that gets points */
    tile_scalar element;                  /* NONE: it is the parameter `element_param` */
    const char *element_param;
    tile_scalar sum;           /* of the sums; NONE: not known */
    tile_operands operands;    /* as in tile_roles */
    unsigned chunks;           /* as in tile_roles */
    bool is_tf32;              /* f32 is multiplied as tf32 */
    bool has_windows;          /* of f32: each step is at one position of a filter */
    bool columns_first;        /* as in tile_roles */
    bool is_core;              /* only the rows of scope CORE */
    bool is_free;              /* without rules */
    uint32_t given;            /* bit r: a user gives a value to the covered role r */
    const tile_target *target; /* must not be NULL */
} tile_product_space;

/* Adds the space's `tune` and `where` clauses for the covered roles. A role that is not covered
 * restricts the points of the others to the rows with its value, if that is a number or word of the
 * space. False after a diagnostic. */
bool tile_space_add(tile_function *f, const tile_product_space *query);

/* n of `raster rows(n)`, and the condition of `persistent if`; NULL after a diagnostic. */
const tile_expr *tile_space_raster(const tile_function *f, const tile_product_space *query);
const tile_expr *tile_space_persistent(const tile_function *f, const tile_product_space *query);

/* Gives the function, and the others of its module, what `tune auto`, `raster auto` and `persistent
 * auto` stand for on the target: clauses after their own ones. They are still printed as `auto`.
 * given: values of the function's parameters, of which that of the element type matters. target
 * NULL: functions that are not resolved yet get the space of sm_90a. INVALID after a diagnostic. */
tile_status tile_resolve_tuning(tile_function *f, const tile_target *target,
                                const tile_binding *given, unsigned count);

/* Makes the clauses of a resolved kernel its own, so that nothing is `auto` any more: passes that
 * change the kernel call it. */
void tile_settle_tuning(tile_function *f);

/* Visits each row of the tables: that of the clause with `roles`, of which values[i] is a number,
 * or -1 for `word`; for tests. */
typedef struct tile_space_row {
    const tile_role *roles;
    unsigned role_count;
    const int *values;
    const char *word; /* of the last role; NULL: it is a number */
    unsigned classes; /* bits, in the order of space.def */
    tile_feature needs;
    bool is_core;
} tile_space_row;

void tile_space_visit_rows(void (*visit)(const tile_space_row *row, void *user), void *user);

#endif
