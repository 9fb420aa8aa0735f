/* The kernel of rows that nobody writes. */
#ifndef TILE_PASSES_SCHEDULE_ONLINE_ONLINE_KERNEL_H
#define TILE_PASSES_SCHEDULE_ONLINE_ONLINE_KERNEL_H

#include "passes/schedule/cut/online.h"

typedef struct online_kernel {
    sched_kernel k;
    sched_online *o;
    const tile_expr *rows, *columns; /* of a tile of elements */
    const tile_expr *deep, *wide;
    bool packed;            /* rows of several dims: their results' maps are none of the domain */
    bool few_rows;          /* rows: each column is read once or so, and blocks are few */
    const tile_expr *split; /* into how many parts the columns are cut; NULL: into none */
    const tile_expr *tiles; /* how many tiles of rows there are in all */
    tile_value part, tile;  /* the block's own */
    tile_value left[SCHED_MAX_INNER_PRODUCTS];     /* the rows' side: shared, or a tile */
    tile_value before[SCHED_MAX_EXPONENTIALS];     /* exponents' row part, as it was */
    tile_value now[SCHED_MAX_EXPONENTIALS];        /* as it is */
    tile_value correction[SCHED_MAX_EXPONENTIALS]; /* of what was folded before; 0: not made */
    tile_value exps[SCHED_MAX_EXPONENTIALS];       /* 0: not made */
    tile_value carried[SCHED_MAX_CARRIED];         /* of maxima, as they are looked at */
    tile_value
        keys[SCHED_MAX_INNER_PRODUCTS];   /* the columns' side up to the walk's end; 0: all of it */
    tile_value values[SCHED_MAX_CARRIED]; /* of products: the same */
    bool recomputing;                     /* values at hidden keys are left out: recompute.c */
    tile_value key_buffers[SCHED_MAX_INNER_PRODUCTS], value_buffers[SCHED_MAX_CARRIED]; /* then */
    bool ordered;      /* the grid has sets: see grid.c */
    tile_value inside; /* whether the block has rows; 0: always */
    tile_value all;    /* whether rows have elements, and masks hide no blocks of them; 0: always */
} online_kernel;

/* A tile, by which exponentials it is to be corrected, and what was left out of it. */
typedef struct rescaled_value {
    tile_value tile;
    unsigned exps; /* a bit for each */
    sched_deferred_factor deferred[SCHED_MAX_DEFERRED];
    unsigned deferred_count;
} rescaled_value;

/* mask.c */

/* Before the walk: the last coordinates that rows see; returns where the walk ends. `rows` is the
 * row tile's start, `block` its extent. */
tile_value sched_build_bounds(sched_kernel *k, sched_online *o, const tile_expr *block);
/* Where it begins: no row of the tile sees anything before that multiple of the columns' block. */
tile_value sched_build_begin(sched_kernel *k, sched_online *o, const tile_expr *block);
/* Whether a walk may come to keys that no row of the batch and head sees by this mask. */
bool sched_mask_hides_keys(sched_kernel *k, const sched_online *o,
                           const sched_masked_input *masked_input);
/* Whether walks of later rows end later. */
bool sched_bound_grows_with_row(sched_kernel *k, const sched_online *o);
/* Whether where walks begin or end may depend on their rows. */
bool sched_bounds_vary(schedule *s, const sched_online *o);
/* In the walk: what is left of the elements. */
void sched_build_masked_inputs(sched_kernel *k, sched_online *o);
/* The coordinates along n; whether they are before the end. */
tile_value sched_build_in_bounds(sched_kernel *k, const sched_online *o);

/* online.c */

/* Gives the group a kernel. */
void sched_make_online(schedule *s, sched_group *g, const char *name);

void online_set_elements(online_kernel *w);
bool online_is_largest(const online_kernel *w, const sched_carried_reduction *fold);
/* What changes nothing of it. */
tile_value online_identity_of(online_kernel *w, const sched_carried_reduction *fold);
/* Exponents' row parts, of what is carried. */
void online_build_rows(online_kernel *w, const tile_value *carried, tile_value *rows);
/* Behind the walk: what is computed of the folds, and stored. */
void online_finish(online_kernel *w, const tile_value *folds, const rescaled_value *left);
tile_value online_number(online_kernel *w, double value);
/* The operation may be rounded differently. */
tile_value online_set_fast(online_kernel *w, tile_value value);
/* What is carried, times what corrects it for these exponentials. */
tile_value online_rescale(online_kernel *w, tile_value carried, unsigned exps);
/* A value of rows, as a tile of them. */
tile_value online_row_value(online_kernel *w, const sched_mapped_value *at);

/* The side's tile gets the tile's dims, in the order in which its array has them. */
void online_set_operand_tile(online_kernel *w, const sched_product_operand *side,
                             const tile_expr *rows, const tile_expr *columns);
bool online_is_transposed(const online_kernel *w, const sched_product_operand *side);
bool online_find_access(online_kernel *w, const sched_product_operand *side, sched_access *access);
tile_op online_build_loop(online_kernel *w, tile_value begin, tile_value end, rescaled_value *left);

const tile_type *online_f32(const online_kernel *w);
/* What the instruction multiplies: 16-bit floats if both sides are of one such type. */
const tile_type *online_multiplied(const online_kernel *w, const tile_type *a, const tile_type *b);
const tile_type *online_inner_type(const online_kernel *w, const sched_inner_product *inner);

/* recompute.c */

/* If sums of products are NaN, walks once more without values at hidden keys; folds are replaced.
 */
void online_recompute(online_kernel *w, tile_value begin, tile_value end, tile_value *folds);
/* In that walk: the side's block by the buffer, as what is multiplied; a fold's values. */
tile_value online_copy_visible(online_kernel *w, const sched_product_operand *side, tile_value part,
                               tile_value buffer, tile_value predicate, const tile_type *type);
tile_value online_load_visible(online_kernel *w, unsigned fold, const tile_type *type);

/* rescaled.c */

/* top as it is subtracted; in an fma, with the factor. */
tile_value online_build_row(online_kernel *w, const sched_exponential *e);
/* After the walk: what sums of these exponentials are multiplied by to be those of the compute, a
 * tile of rows; 0: they are. */
tile_value online_build_final_scale(online_kernel *w, unsigned exps);
/* What corrects what was folded before. */
tile_value online_rescale_factor(online_kernel *w, unsigned index);
tile_value online_build_scaled(online_kernel *w, sched_mapped_value at, const tile_type *element,
                               rescaled_value *out);

/* pack.c */

/* Makes one dim of few rows and the dim before them, along which others are the same; false: it
 * stays. */
bool online_pack_rows(schedule *s, sched_group *g);

/* split.c */

/* The tile along x; x, y and z are those of the block, of a grid that has `split` times as many
 * along x. */
tile_value online_locate_part(online_kernel *w, tile_value x, tile_value y, tile_value z,
                              const tile_expr *const grid[3]);
/* The part's columns, of those from begin to end. */
void online_locate_columns(online_kernel *w, tile_value *begin, tile_value *end);
/* Behind the walk along the part: what all of them have found is finished. */
void online_combine_parts(online_kernel *w, const tile_value *own, const rescaled_value *left);

/* points.c */

/* Whether tensor cores multiply all of it. */
bool online_uses_tensor_cores(const online_kernel *w);

/* Gives the kernel its parameters and points; fills the extents of tiles. */
void online_add_points(online_kernel *w);
/* Keeps of them what attributes of the operations say. */
void online_fix_points(online_kernel *w);

/* outputs.c: the map with the dims of the walked tile; and all stores. */
sched_map online_whole_map(const online_kernel *w, const sched_map *map);
void online_store_outputs(online_kernel *w);

/* grid.c */

/* Sets grid and starts. */
void online_set_grid(online_kernel *w);
/* Behind it: the order of tiles by the walks' bounds; returns where the walk ends. */
tile_value online_set_order(online_kernel *w, tile_value begin, tile_value end);

#endif
