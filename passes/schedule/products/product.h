/* The parts of a product. */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_PRODUCT_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_PRODUCT_H

#include <string.h>

#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"
#include "lib/ops/convolution.h"
#include "lib/ops/im2col.h"
#include "passes/schedule/kernel/given.h"
#include "passes/schedule/kernel/packed.h"
#include "passes/schedule/kernel/scaled.h"
#include "passes/schedule/kernel/schedule.h"

typedef struct product_operand {
    tile_value value;         /* the multiplied value, without removed casts */
    const tile_type *element; /* the multiplied type */
    sched_map map;            /* by its dims, in the domain including k */
    int array;                /* the array that is copied to shared memory; -1: loaded where it is
                                 needed */
    unsigned sources;  /* number of array accesses that it is computed from, each as large as the
                          tile */
    tile_value source; /* the value of the array */
    sched_map source_map;
    bool plain;    /* it is the array itself */
    bool rounded;  /* it is the array, rounded to tf32 in registers */
    bool gathered; /* loaded with index tiles */
    bool windowed; /* copied from a view of windows (windows.c) */
    bool reversed; /* from the last position of the filter on */
    tile_im2col windows;
    sched_shape windows_of; /* the array, with the windows' dims */
    int images;             /* the batch dim that selects the image; -1: the rows do */
    bool turned;            /* copied in the array's order of dims; the product exchanges them */
    tile_value shared;
    tile_value second;    /* of scaled sums: the buffer of the step's second chunk */
    unsigned row, column; /* dims of the domain */
} product_operand;

/* A digit of the number of a tap, along which the filter has a coordinate (taps.c). */
typedef struct product_digit {
    const sched_coordinate *at;   /* the digit */
    const sched_coordinate *rest; /* the coordinate is scale * digit + rest + offset; NULL: digit */
    const tile_expr *offset;      /* NULL: 0 */
    int64_t scale, extent;        /* extent: of the filter along the coordinate */
    int64_t count, weight;        /* values of the digit; what one of them adds to the number */
    tile_value first, number;     /* values inside of the filter */
} product_digit;

/* Groups of a convolution that a block computes together (groups.c). */
typedef struct product_groups {
    unsigned count;                      /* in a block; 0: the batch is no such groups */
    unsigned windows;                    /* the operand of windows; the other one is the filter */
    unsigned channel;                    /* the dim of the domain of the filter's channels */
    const tile_expr *channels, *filters; /* of one group */
    sched_map identity;                  /* of the result in the domain before */
} product_groups;

/* The elements that a mask shows: those where one number is above or below another one. */
typedef struct product_seen {
    bool found;
    tile_opcode compare;
    sched_linear side[2]; /* along m, along n, or the same everywhere */
} product_seen;

/* The left operand, the right one, and that of a second product. */
enum { PRODUCT_SIDES = 3 };

typedef struct product {
    sched_kernel k;
    tile_op op, dual;     /* dual: a second product of the left operand; none (cut/dual.c) */
    unsigned m, n, depth; /* dims of the domain, to which k is added last */
    int taps;             /* -1: none; else the dim after depth: k is taps x depth */
    product_digit digits[TILE_MAX_SPATIAL]; /* of taps, the highest first */
    unsigned digit_count;                   /* 0: all taps are multiplied */
    const tile_expr *extent_k;              /* the extent of depth */
    product_operand sides[PRODUCT_SIDES];
    unsigned side_count;
    product_groups groups;
    product_seen seen;
    const tile_type *sum;       /* type of an accumulator element */
    const sched_scaled *scaled; /* scales of the sums of each step; NULL: none */
    const sched_packed *packed; /* how the right operand is unpacked; NULL: it is not */
    tile_word precision;        /* of a product of f32; NONE: ieee, or other elements */
} product;

/* A parameter of the kernel. */
static inline const tile_expr *product_param(const product *p, const char *name) {
    return tile_expr_param(p->k.s->context, name);
}

static inline bool product_has_param(const product *p, const char *name) {
    return tile_function_find_param(p->k.f, name, strlen(name)) != NULL;
}

/* operands.c */

/* The product that the operand is of. */
tile_op product_of_side(const product *p, unsigned index);
/* The operand in the compute. */
tile_value product_value_of_side(const schedule *s, const product *p, unsigned index);
/* Finds the multiplied values, without casts of both to a wider type, and their elements. */
void product_choose_elements(product *p);
/* Finds the array that an operand is computed from, and its map. */
void product_take_operand(product *p, unsigned index);
/* Splits k so that a tile along k stays within one tap of a convolution. */
void product_choose_taps(product *p);
/* Returns whether the rows of a gathered tile, along either dim, are contiguous in memory; also if
 * the tile is not gathered. */
bool product_gathers_rows(const product *p, const product_operand *side);
/* Returns whether the operand's array is contiguous along k, as wgmma needs 32-bit elements in
 * shared memory. */
bool product_reads_along_k(const product *p, const product_operand *side);
/* Returns whether a tile of the operand may have elements after the end of k: those of windows are
 * next to the last one. */
bool product_passes_end(const product *p, const product_operand *side);
/* Decides for each array whether its copies have the array's order of dims. */
void product_choose_order(product *p);
/* Returns whether the elements are multiplied by tensor cores. */
bool product_uses_tensor_cores(const product *p);

/* windows.c */

/* Finds out whether the operand's rows are windows that a tensor map can describe. */
bool product_find_windows(product *p, unsigned index);
/* Copies the current step's tile of them. */
void product_copy_windows(product *p, const product_operand *side);

/* grid.c */

/* Sets the grid, and where a block begins along m, n and the batch dims. */
void product_set_grid(product *p);

/* hidden_tiles.c */

/* Finds out whether a mask hides tiles of the product. */
void product_find_hidden_tiles(product *p);
/* An i1: whether the mask shows an element of the block's tile. */
tile_value product_sees_tile(product *p);

/* taps.c */

/* Finds the digits of the taps if some taps may be outside of the filter. */
void product_find_digits(product *p);
/* The number of taps inside. Sets the ranges of the digits. */
tile_value product_count_taps(product *p);
/* The tap of a number below the number of taps. */
tile_value product_find_tap(product *p, tile_value number);

/* points.c */

/* Sets the tuning space and the points that it lists. Returns false after a diagnostic. */
bool product_set_points(product *p);
/* Returns whether the epilogue reads an array of the result's extents, such as a residual. */
bool product_reads_tile(const product *p);
/* The number of terms of each sum; -1: not known. */
int64_t product_count_terms(const product *p);
const tile_expr *product_express_terms(const product *p);

/* matmul.c */

/* Allocates the buffer of an operand, and copies the current step's tile to it. */
void product_alloc_side(product *p, unsigned index);
void product_copy_side(product *p, unsigned index);
/* Builds a loop over tiles along k that carries sums. *parts: tiles per tap. */
tile_op product_build_steps(product *p, const tile_value *sums, unsigned count, tile_value *parts);
/* Sets the start of the tile along k. */
void product_enter_step(product *p, tile_value step, tile_value parts);
/* Multiplies tiles of the operands. rhs: the index of the right one. */
tile_value product_build_dot(product *p, const tile_value *taken, unsigned rhs, tile_value sum);
/* Sets the kernel's tile to that of the sums. */
void product_set_sums(product *p);
/* The columns of a product that a block computes. */
const tile_expr *product_columns(const product *p);
/* Sets the stages of the loop over k, and how it is split. */
void product_set_loop(product *p, tile_op loop);

/* statistics.c */

/* Restricts the tuning points to tiles with whole rows, or whole groups of columns. reads_tile: the
 * epilogue reads an array of the result's extents. */
void product_restrict_tiles(product *p, bool reads_tile);
/* Builds an epilogue with reductions of the product's rows. */
void product_build_statistics(product *p, tile_value sums);

/* packed.c: builds the loop of a product whose right operand is unpacked; returns the sums. */
tile_value product_build_packed(product *p);

/* groups.c */

/* Makes one tile of several groups of a convolution, if their channels are few. */
void product_merge_groups(product *p);
/* The coordinates of the former domain of the result, by dim, in the domain with merged groups. */
sched_map product_split_groups(const product *p);
/* The values that the tiles of groups fix. */
void product_fix_groups(const product *p, sched_fixed *fixed);
/* Builds the loop of a product with merged groups; returns the sums. */
tile_value product_build_groups(product *p);
/* interleave.c: an output whose rows are interleaved from several rows of the product. */
typedef struct product_interleaved {
    int64_t count; /* of the product's rows */
    sched_map map; /* in the domain of the interleaved rows */
} product_interleaved;

/* Returns whether the output has such rows. */
bool product_find_interleaved(const product *p, const sched_output *output,
                              product_interleaved *out);
/* Stores the sums' tile. */
void product_store_interleaved(product *p, const sched_output *output,
                               const product_interleaved *rows, tile_value tile);
/* Builds the epilogue for interleaved rows, if its only result has them and it reads an array of
 * the result's extents. Returns false if not. */
bool product_build_interleaved(product *p, tile_value sums);

/* scales.c: the scale of each element of the current step's sums. */
tile_value product_build_scale(product *p);

#endif
