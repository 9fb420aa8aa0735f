/* The parts of a product. */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_PRODUCT_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_PRODUCT_H

#include "lib/ir/effects.h"
#include "lib/ops/convolution.h"
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
    bool gathered; /* loaded with index tiles */
    bool turned;   /* copied in the array's order of dims; the product exchanges them */
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

typedef struct product {
    sched_kernel k;
    tile_op op;
    unsigned m, n, depth; /* dims of the domain, to which k is added last */
    int taps;             /* -1: none; else the dim after depth: k is taps x depth */
    product_digit digits[TILE_MAX_SPATIAL]; /* of taps, the highest first */
    unsigned digit_count;                   /* 0: all taps are multiplied */
    const tile_expr *extent_k;              /* the extent of depth */
    product_operand sides[2];
    const tile_type *sum;       /* type of an accumulator element */
    const sched_scaled *scaled; /* scales of the sums of each step; NULL: none */
    const sched_packed *packed; /* how the right operand is unpacked; NULL: it is not */
    tile_word precision;        /* of a product of f32; NONE: ieee, or other elements */
} product;

/* operands.c */

/* Finds the multiplied values, without casts of both to a wider type, and their elements. */
void product_choose_elements(product *p);
/* Finds the array that an operand is computed from, and its map. */
void product_take_operand(product *p, unsigned index);
/* Splits k so that a tile along k stays within one tap of a convolution. */
void product_choose_taps(product *p);
/* Decides for each array whether its copies have the array's order of dims. */
void product_choose_order(product *p);
/* Returns whether an operand with index tiles is copied in rows along k. */
bool product_gathers_rows(const product *p, const product_operand *side);
/* Returns whether the elements are multiplied by tensor cores. */
bool product_uses_tensor_cores(const product *p);

/* grid.c */

/* Sets the grid, and where a block begins along m, n and the batch dims. */
void product_set_grid(product *p);

/* taps.c */

/* Finds the digits of the taps if some taps may be outside of the filter. */
void product_find_digits(product *p);
/* The number of taps inside. Sets the ranges of the digits. */
tile_value product_count_taps(product *p);
/* The tap of a number below the number of taps. */
tile_value product_find_tap(product *p, tile_value number);

/* matmul.c */

/* Allocates the buffer of the left operand, and copies the current step's tile to it. */
void product_alloc_lhs(product *p);
void product_copy_lhs(product *p);
/* Sets the kernel's tile to that of the sums. */
void product_set_sums(product *p);
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

/* scales.c: the scale of each element of the current step's sums. */
tile_value product_build_scale(product *p);

#endif
