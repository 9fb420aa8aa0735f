/* The steps of launching a plan, independent of the plan: in order, with expressions over the
 * plan's arguments in place of values. */
#ifndef TILE_LIB_LAUNCH_STEPS_H
#define TILE_LIB_LAUNCH_STEPS_H

#include "lib/ir/function.h"

typedef enum tile_step_kind {
    TILE_STEP_LAUNCH,
    TILE_STEP_FILL,
    TILE_STEP_BRANCH, /* to `target` unless the condition holds */
    TILE_STEP_JUMP,   /* to `target` */
    TILE_STEP_FOR,    /* start of a loop; to `target` if it has no iteration */
    TILE_STEP_NEXT,   /* end of a loop: the step in `target` is its TILE_STEP_FOR */
} tile_step_kind;

typedef enum tile_given_kind {
    TILE_GIVEN_ARGUMENT, /* the plan's argument `index`, unchanged */
    TILE_GIVEN_SCRATCH,  /* scratch `index` */
    TILE_GIVEN_VIEW,     /* subview `index` */
    TILE_GIVEN_INTEGER,  /* the value of expr */
    TILE_GIVEN_NUMBER,   /* a float */
} tile_given_kind;

/* An argument of a step's kernel, or the value with which a step fills a view. */
typedef struct tile_given {
    tile_given_kind kind;
    unsigned index;
    const tile_expr *expr;
    double number;
} tile_given;

typedef struct tile_step {
    tile_step_kind kind;
    tile_loc loc;
    unsigned kernel;   /* LAUNCH: index of the kernel */
    bool overlaps;     /* LAUNCH: may overlap the preceding launch */
    bool overlapped;   /* LAUNCH: the following launch may overlap it */
    bool resident;     /* LAUNCH: all blocks must be resident at once */
    int otherwise;     /* LAUNCH: the kernel that replaces it if they cannot be; -1: none */
    tile_given *given; /* LAUNCH: the kernel's arguments. FILL: the view, then the value */
    unsigned given_count;
    tile_scalar scalar;                      /* FILL: type of the elements */
    unsigned rank;                           /* FILL */
    const tile_expr *extents[TILE_MAX_RANK]; /* FILL */
    const tile_expr *condition;              /* BRANCH */
    unsigned loop;                           /* FOR, NEXT: the depth of its variable */
    const char *variable;                    /* FOR: its name, "" if unnamed */
    const tile_expr *begin, *end, *by;       /* FOR */
    unsigned target;
} tile_step;

typedef struct tile_step_scratch {
    const char *name; /* "" if unnamed */
    tile_loc loc;
    tile_scalar scalar;
    unsigned rank;
    const tile_expr *extents[TILE_MAX_RANK];
    /* The first and last step that use it, with all of a loop in which it is used; first > last:
     * none. */
    unsigned first, last;
} tile_step_scratch;

/* A row-major view of elements of another view, from coordinates on. Its expressions have a value
 * in the steps that use it. */
typedef struct tile_step_view {
    tile_loc loc;
    tile_given of; /* ARGUMENT, SCRATCH or VIEW */
    tile_scalar scalar;
    unsigned of_rank, rank;
    const tile_expr *of_extents[TILE_MAX_RANK], *at[TILE_MAX_RANK]; /* of_rank */
    const tile_expr *extents[TILE_MAX_RANK];
} tile_step_view;

typedef struct tile_steps {
    tile_arena arena;
    tile_context *context;
    const tile_function *plan; /* borrowed, for its arguments */
    const char **kernels;      /* names of kernels */
    tile_step *steps;
    tile_step_scratch *scratch;
    tile_step_view *views;
    size_t kernel_count, step_count, scratch_count, view_count;
    size_t kernel_capacity, step_capacity, scratch_capacity, view_capacity;
} tile_steps;

/* plan: an instantiated and verified plan, which must live as long. */
tile_steps *tile_steps_create(const tile_function *plan);
void tile_steps_destroy(tile_steps *steps); /* NULL is fine */

/* Returns whether some launch is of this kernel; otherwise it only replaces others (`otherwise`).
 */
bool tile_steps_launch(const tile_steps *steps, unsigned kernel);

/* Computes offsets for scratch of these sizes, each a multiple of `alignment`. Scratch that is in
 * use at the same time does not overlap; other scratch may share bytes. Returns the total size in
 * bytes. */
int64_t tile_steps_place(const tile_steps *steps, const int64_t *bytes, int64_t alignment,
                         int64_t *offsets);

/* Returns whether the launch passes the plan's parameter, as a value of `<..>` or in an argument,
 * alone or in an expression. The plan need not be instantiated. */
bool tile_launch_passes(const tile_function *plan, tile_op launch, const char *param);

#endif
