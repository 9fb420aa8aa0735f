/* The kernel of an online loop: rows that are not stored. */
#ifndef TILE_PASSES_SCHEDULE_ONLINE_ONLINE_KERNEL_H
#define TILE_PASSES_SCHEDULE_ONLINE_ONLINE_KERNEL_H

#include "passes/schedule/cut/online.h"

typedef struct online_kernel {
    sched_kernel k;
    sched_online *o;
    const tile_expr *rows, *columns; /* of a tile of elements */
    const tile_expr *deep, *wide;
    bool packed;            /* several dims are packed into rows: the results' maps are not dims of
                               the domain */
    bool few_rows;          /* few rows: each column is read about once, and there are few blocks */
    bool limited;           /* points of some kinds are limited to launches that gain from them */
    const tile_expr *split; /* the number of parts that the columns are split into; NULL: not
                               split */
    const tile_expr *tiles; /* the total number of row tiles */
    tile_value part, tile;  /* of this block */
    tile_value left[SCHED_MAX_INNER_PRODUCTS];     /* the row operand: in shared memory, or a
                                                      tile */
    tile_value before[SCHED_MAX_EXPONENTIALS];     /* by exponential: the previous subtrahend */
    tile_value now[SCHED_MAX_EXPONENTIALS];        /* the current one */
    tile_value correction[SCHED_MAX_EXPONENTIALS]; /* the factor of previous sums; 0: not built */
    tile_value exps[SCHED_MAX_EXPONENTIALS];       /* 0: not built */
    tile_value carried[SCHED_MAX_CARRIED];         /* current maxima */
    tile_value keys[SCHED_MAX_INNER_PRODUCTS]; /* the column operand up to the end of the loop; 0:
                                                  all of it */
    tile_value values[SCHED_MAX_CARRIED];      /* the same for operands of products */
    bool recomputing;                          /* values at hidden keys are zeroed: recompute.c */
    tile_value key_buffers[SCHED_MAX_INNER_PRODUCTS],
        value_buffers[SCHED_MAX_CARRIED]; /* used when
                                             recomputing */
    bool ordered;                         /* the grid has sets: see grid.c */
    tile_value inside;                    /* i1: the block has rows; 0: always */
    tile_value all; /* i1: rows have elements and no mask hides whole blocks of them; 0:
                       always */
} online_kernel;

/* A tile, the exponentials by which it must be rescaled, and its deferred factors. */
typedef struct rescaled_value {
    tile_value tile;
    unsigned exps; /* one bit per exponential */
    sched_deferred_factor deferred[SCHED_MAX_DEFERRED];
    unsigned deferred_count;
} rescaled_value;

/* mask.c */

/* Before the loop: computes the last coordinates that rows see. Returns the end of the loop. block:
 * the extent of the row tile, which begins at the rows' start. */
tile_value sched_build_bounds(sched_kernel *k, sched_online *o, const tile_expr *block);
/* The start of the loop, a multiple of the columns' block: no row of the tile sees earlier keys. */
tile_value sched_build_begin(sched_kernel *k, sched_online *o, const tile_expr *block);
/* Returns whether the loop may visit keys that this mask hides from all rows of the batch and
 * head. */
bool sched_mask_hides_keys(sched_kernel *k, const sched_online *o,
                           const sched_masked_input *masked_input);
/* Returns whether the loop ends later for later rows. */
bool sched_bound_grows_with_row(sched_kernel *k, const sched_online *o);
/* Returns whether the loop's bounds may depend on the rows. */
bool sched_bounds_vary(schedule *s, const sched_online *o);
/* In the loop: masks the elements. */
void sched_build_masked_inputs(sched_kernel *k, sched_online *o);
/* i1, by coordinate along n: it is before the end. */
tile_value sched_build_in_bounds(sched_kernel *k, const sched_online *o);

/* last_key.c */

/* Returns whether every mask is known to show the last key to the last row, for all sizes. */
bool sched_last_row_sees_last_key(schedule *s, const sched_group *g, const sched_online *o);

/* online.c */

/* Creates the group's kernel. */
void sched_make_online(schedule *s, sched_group *g, const char *name);

void online_set_elements(online_kernel *w);
bool online_is_largest(const online_kernel *w, const sched_carried_reduction *fold);
/* The identity of a carried reduction. */
tile_value online_identity_of(online_kernel *w, const sched_carried_reduction *fold);
/* Computes the exponentials' subtrahends from the carried values. */
void online_build_rows(online_kernel *w, const tile_value *carried, tile_value *rows);
/* After the loop: computes and stores the functions of the carried reductions. */
void online_finish(online_kernel *w, const tile_value *folds, const rescaled_value *left);
tile_value online_number(online_kernel *w, double value);
/* Marks the operation as `fast`. */
tile_value online_set_fast(online_kernel *w, tile_value value);
/* Multiplies a carried value by the corrections of these exponentials. */
tile_value online_rescale(online_kernel *w, tile_value carried, unsigned exps);
/* A value of the rows, as a tile. */
tile_value online_row_value(online_kernel *w, const sched_mapped_value *at);

/* Assigns the tile's dims to an operand, in the order of its array's dims. */
void online_set_operand_tile(online_kernel *w, const sched_product_operand *side,
                             const tile_expr *rows, const tile_expr *columns);
bool online_is_transposed(const online_kernel *w, const sched_product_operand *side);
bool online_find_access(online_kernel *w, const sched_product_operand *side, sched_access *access);
tile_op online_build_loop(online_kernel *w, tile_value begin, tile_value end, rescaled_value *left);

const tile_type *online_f32(const online_kernel *w);
/* The type that the instruction multiplies: 16-bit floats if both operands have the same such
 * type. */
const tile_type *online_multiplied(const online_kernel *w, const tile_type *a, const tile_type *b);
const tile_type *online_inner_type(const online_kernel *w, const sched_inner_product *inner);

/* recompute.c */

/* If sums of products are NaN, runs the loop again with values at hidden keys zeroed, and replaces
 * the carried reductions. */
void online_recompute(online_kernel *w, tile_value begin, tile_value end, tile_value *folds);
/* In that loop: loads a block of the operand through the buffer in the type of the product.
 * online_load_visible: those of a carried reduction. */
tile_value online_copy_visible(online_kernel *w, const sched_product_operand *side, tile_value part,
                               tile_value buffer, tile_value predicate, const tile_type *type);
tile_value online_load_visible(online_kernel *w, unsigned fold, const tile_type *type);

/* rescaled.c */

/* The subtrahend of an exponential; for an fma, times its factor. */
tile_value online_build_row(online_kernel *w, const sched_exponential *e);
/* After the loop: the factor that turns sums of these exponentials into those of the compute, a
 * tile of rows; 0: none. */
tile_value online_build_final_scale(online_kernel *w, unsigned exps);
/* The factor that corrects the previous sums. */
tile_value online_rescale_factor(online_kernel *w, unsigned index);
tile_value online_build_scaled(online_kernel *w, sched_mapped_value at, const tile_type *element,
                               rescaled_value *out);

/* pack.c */

/* Packs a dim of few rows and the preceding dim, along which the other operands are constant, into
 * one. False if the dims stay separate. */
bool online_pack_rows(schedule *s, sched_group *g);

/* split.c */

/* The tile along x. x, y and z are the block's indices in a grid with `split` times as many blocks
 * along x. */
tile_value online_locate_part(online_kernel *w, tile_value x, tile_value y, tile_value z,
                              const tile_expr *const grid[3]);
/* Narrows begin and end to the columns of the block's part. */
void online_locate_columns(online_kernel *w, tile_value *begin, tile_value *end);
/* After the loop over the block's part: combines the results of all parts and finishes them. */
void online_combine_parts(online_kernel *w, const tile_value *own, const rescaled_value *left);

/* points.c */

/* Returns whether tensor cores compute all products. */
bool online_uses_tensor_cores(const online_kernel *w);
/* Returns whether a head has more elements than a warp can accumulate: warps share its columns. */
bool online_is_deep(const online_kernel *w);

/* Adds the kernel's parameters and points, and sets the extents of tiles. */
void online_add_points(online_kernel *w);
/* Keeps the points that agree with the operations' attributes. */
void online_fix_points(online_kernel *w);

/* outputs.c: online_whole_map gives the map over the dims of the loop's tile; online_store_outputs
 * stores all outputs. */
sched_map online_whole_map(const online_kernel *w, const sched_map *map);
void online_store_outputs(online_kernel *w);

/* grid.c */

/* Sets the grid and the tile's starts. */
void online_set_grid(online_kernel *w);
/* Afterwards: orders tiles by their loop bounds. Returns the end of the loop. */
tile_value online_set_order(online_kernel *w, tile_value begin, tile_value end);

#endif
