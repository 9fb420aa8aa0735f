/* What launching a plan does, without the plan: steps in order, with expressions over the plan's
 * arguments in place of values. */
#ifndef TILE_LIB_LAUNCH_STEPS_H
#define TILE_LIB_LAUNCH_STEPS_H

#include "lib/ir/function.h"

typedef enum tile_step_kind {
    TILE_STEP_LAUNCH,
    TILE_STEP_FILL,
    TILE_STEP_BRANCH, /* to `target` if the condition does not hold */
    TILE_STEP_JUMP,   /* to `target` */
} tile_step_kind;

typedef enum tile_given_kind {
    TILE_GIVEN_ARGUMENT, /* the plan's argument `index`, as it is */
    TILE_GIVEN_SCRATCH,  /* scratch `index` */
    TILE_GIVEN_INTEGER,  /* the value of expr */
    TILE_GIVEN_NUMBER,   /* a float */
} tile_given_kind;

/* What a step gives a kernel, or fills a view with. */
typedef struct tile_given {
    tile_given_kind kind;
    unsigned index;
    const tile_expr *expr;
    double number;
} tile_given;

typedef struct tile_step {
    tile_step_kind kind;
    tile_loc loc;
    unsigned kernel;   /* LAUNCH: its index */
    bool overlaps;     /* LAUNCH: with the launch before it */
    bool overlapped;   /* LAUNCH: by the launch behind it */
    bool resident;     /* LAUNCH: all blocks at once */
    int otherwise;     /* LAUNCH: the kernel that takes its place where that cannot be; -1: none */
    tile_given *given; /* LAUNCH: the kernel's arguments. FILL: the view, then the value */
    unsigned given_count;
    tile_scalar scalar;                      /* FILL: of the elements */
    unsigned rank;                           /* FILL */
    const tile_expr *extents[TILE_MAX_RANK]; /* FILL */
    const tile_expr *condition;              /* BRANCH */
    unsigned target;
} tile_step;

typedef struct tile_step_scratch {
    const char *name; /* "" if it has none */
    tile_loc loc;
    tile_scalar scalar;
    unsigned rank;
    const tile_expr *extents[TILE_MAX_RANK];
    unsigned first, last; /* the steps that use it; first > last: none does */
} tile_step_scratch;

typedef struct tile_steps {
    tile_arena arena;
    tile_context *context;
    const tile_function *plan; /* borrowed, for its arguments */
    const char **kernels;      /* names */
    tile_step *steps;
    tile_step_scratch *scratch;
    size_t kernel_count, step_count, scratch_count;
    size_t kernel_capacity, step_capacity, scratch_capacity;
} tile_steps;

/* Of an instantiated plan that has been verified, which must live as long. */
tile_steps *tile_steps_create(const tile_function *plan);
void tile_steps_destroy(tile_steps *steps); /* NULL is fine */

/* Whether a launch is of this kernel; else it only takes the place of others (`otherwise`). */
bool tile_steps_launch(const tile_steps *steps, unsigned kernel);

/* Offsets of the scratch whose sizes are given, each a multiple of `alignment`: what is used at
 * the same time lies apart, other scratch may share bytes. Returns how many bytes that takes. */
int64_t tile_steps_place(const tile_steps *steps, const int64_t *bytes, int64_t alignment,
                         int64_t *offsets);

#endif
