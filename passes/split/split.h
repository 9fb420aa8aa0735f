/* What the files of split-k share: the loop that is split, where a block stands, what is combined.
 */
#ifndef TILE_PASSES_SPLIT_SPLIT_H
#define TILE_PASSES_SPLIT_SPLIT_H

#include "lib/ops/strategy.h"
#include "passes/grid/grid.h"

typedef struct split split;

/* A strategy: what it makes of a kernel whose clause has been found legal. What it can do is in
 * lib/ops/strategy.def. */
typedef struct split_strategy {
    tile_strategy is;
    tile_status (*lower)(split *s);
    bool becomes_plan;       /* the kernel becomes a plan */
    bool needs_static_grid;  /* the kernel computes the grid's extents, which the launch alone knows
                         where  they name the device */
    bool takes_ticket;       /* parts are drawn by the blocks as they come, in place of block_id */
    bool parts_are_adjacent; /* the parts of a tile are neighbours in the grid */
    bool last_block_runs_epilogue; /* behind the loop: the block that comes last, perhaps alone of
                                      its cluster */
    tile_feature needs;            /* what the target must have */
    const char *(*rejects)(const split *s); /* why it cannot split this loop; NULL: it can */
} split_strategy;

static inline const tile_strategy_info *split_info(const split_strategy *strategy) {
    return tile_strategy_get_info(strategy->is);
}

struct split {
    tile_pass *pass;
    tile_context *context;
    tile_function *f;
    tile_op loop;
    int64_t factor;                 /* at least 2 */
    const split_strategy *strategy; /* NULL: the parts are groups of one block's warps */
    unsigned count;       /* of carried values, all of which are sums, or other reductions */
    tile_opcode *combine; /* by carried value, once it is legal: what puts parts together */
    bool *nan;            /* and whether NaN wins then */
    bool quiet;           /* only to see whether it is legal */
};

/* NULL past the end, or if there is no such word, which attrs.def does not have either. */
const split_strategy *split_strategy_at(unsigned index);
const split_strategy *split_find_strategy(const char *word);
/* "; did you mean 'serial'?" or "", in the arena. */
const char *split_suggest_strategy(const char *word, tile_arena *arena);

/* The loops of the function that have the clause: the first one, and how many there are. */
tile_op split_find_clause(const tile_function *f, unsigned *count);
/* Whether loops of the body carry values, of those whose variable has the name (NULL: all). */
bool split_has_loop(const tile_function *f, const char *name);
/* The only loop of the body that carries values, of those whose variable has the name (NULL: all);
 * 0 after a diagnostic. */
tile_op split_find_loop(const tile_function *f, const char *name);

/* check.c: false after a diagnostic that names what keeps the loop from being split. */
bool split_is_legal(split *s);

/* parts.c */

/* The dim of the grid along which parts lie: z, the slowest; those that are a cluster lie along x
 * where a flat grid has the others there, too. */
unsigned split_dim(const split *s);
/* Gives each part a block of its own: the grid gets the parts along that dim, block_id and
 * grid_dim still say what was declared, and the loop runs the iterations part, part + factor,
 * ... The clause is gone then. */
void split_distribute_parts(split *s, grid *g);
/* A tile cut into pieces along a dim. */
typedef struct split_pieces {
    unsigned axis;
    int64_t count; /* 1: it is not cut; else a power of two that divides the extent */
} split_pieces;

/* Gives each piece a block: the first dim of the grid gets so many times more. Returns where the
 * block's piece begins along the axis. */
tile_value split_into_pieces(split *s, const split_pieces *pieces, grid *g);

/* Behind the loop, before what follows it. */
tile_builder split_builder_after_loop(const split *s);
/* The last pdl_wait before the loop, in the body itself; 0: there is none. */
tile_op split_find_pdl_wait(const tile_function *f, tile_op loop);
/* The operations behind the loop, in order, without the free_shared of buffers that none of them
 * uses, and a pdl_wait in front of them; these stay right behind the loop. In the pass' scratch
 * arena. */
tile_op *split_take_epilogue(split *s, unsigned *count);

tile_builder split_before_epilogue(const split *s, const tile_op *epilogue, unsigned count);
/* Moves them to the builder's region, which has nothing behind the builder yet, where they see the
 * sums in place of what the loop carries. */
void split_finish(split *s, tile_builder *b, const tile_op *epilogue, unsigned count,
                  const tile_value *totals);

/* Scratch for `count` parts of carried value i, [count, extents..], and the indices of one. */
tile_value split_scratch(const split *s, tile_builder *b, unsigned i, tile_value count);
unsigned split_part_index(tile_builder *b, const tile_type *type, tile_value number,
                          tile_value place[TILE_MAX_RANK]);
/* Scratch for all parts of carried value i, [tiles, factor, extents..], each in an order of its
 * own. */
tile_value split_opaque_scratch(const split *s, tile_builder *b, unsigned i, tile_value tiles);
/* The indices of part `part` of a tile: there, or, where `tiles` is a value, in scratch for that
 * many times the factor, by part. */
unsigned split_indices_of_part(tile_builder *b, const tile_type *type, tile_value part,
                               tile_value tile, tile_value tiles, tile_value place[TILE_MAX_RANK]);
/* Clean scratch: an i32 for each tile. */
tile_value split_zeroed_words(const split *s, tile_builder *b, tile_value count, const char *name);
/* ordering: NULL for relaxed. */
tile_value split_build_atomic(tile_builder *b, const char *kind, const char *ordering,
                              tile_value value, tile_value memory, const tile_value *index,
                              unsigned rank);
/* Says that this block's accesses for a part of the tile are done; true for the block that is the
 * last of so many to say so, which sees those of all others. */
tile_value split_arrive(tile_builder *b, tile_value counts, tile_value tile, tile_value parts);

/* if condition { yes } else { no }; end both with a yield. */
typedef struct split_branch {
    tile_op op;
    tile_builder yes, no;
} split_branch;
split_branch split_begin_branch(tile_builder *b, tile_value condition,
                                const tile_type *const *types, unsigned count);

/* The type in which carried value i is handed from block to block: its own, f32 for shorter floats.
 */
const tile_type *split_part_type(const split *s, unsigned i);
/* The value of carried value i in that type, and back. */
tile_value split_to_part(split *s, tile_builder *b, unsigned i, tile_value value);
/* Two parts of carried value i, or sums of them, together. */
tile_value split_combine(const split *s, tile_builder *b, unsigned i, tile_value lhs,
                         tile_value rhs);
/* Whether all carried values are sums. */
bool split_only_adds(const split *s);
tile_value split_as_type(tile_builder *b, tile_value value, const tile_type *type);
tile_value split_from_part(split *s, tile_builder *b, unsigned i, tile_value value);

/* A kernel whose parts are distributed over blocks, and the scratch in which those of a tile meet.
 */
typedef struct split_tiles {
    grid g;
    tile_op *epilogue; /* what stood behind the loop */
    unsigned count;
    tile_value tile;  /* this block's */
    tile_value words; /* clean, one for each tile */
    tile_value *sums; /* of each carried value, one for each tile */
} split_tiles;
/* Deals the parts out; the builder comes after the loop. name: of the words. */
tile_builder split_begin_tiles(split *s, const char *name, split_tiles *t);

/* epilogue_pieces.c */

/* Into how many pieces what comes after the loop can be cut, `wanted` at most. */
split_pieces split_choose_pieces(split *s, const tile_op *epilogue, unsigned count, int64_t wanted);
/* for %piece = part to the number of pieces step factor {}; first: where the piece begins. */
tile_builder split_open_pieces(const split *s, const split_pieces *pieces, tile_builder *b,
                               tile_value part, tile_value *first);
const tile_type *split_piece_type(const split *s, const split_pieces *pieces,
                                  const tile_type *type);
/* Copies what comes after the loop, and what it needs of the code before it, by pieces, for the
 * piece that begins at the coordinate `first` of the axis; sums[i] is the piece of carried value i.
 */
void split_copy_pieces(split *s, const split_pieces *pieces, tile_builder *b,
                       const tile_op *epilogue, unsigned count, tile_value first,
                       const tile_value *sums);

/* How part `part` is loaded, a value for each carried one. */
typedef struct split_part_loader {
    const split *s;
    void (*load)(const struct split_part_loader *a, tile_builder *b, tile_value part,
                 tile_value *loaded);
} split_part_loader;
/* Adds all parts in their order, beginning with 0, or with the first where not all are sums. */
void split_add_parts(const split_part_loader *a, tile_builder *b, const tile_type *const *types,
                     tile_value *sums);
/* Adds parts from, from + 1, .., below `to`, `length` at a time: the last of them may be beyond. */
void split_add_loop(const split_part_loader *a, tile_builder *b, tile_value from, tile_value to,
                    int64_t length, tile_value *sums);
/* How many parts of these types a thread's registers have room for. */
int64_t split_count_at_once(const split *s, const tile_type *const *types);

/* Where a piece begins along the axis. */
tile_value split_piece_begin(const split *s, const split_pieces *pieces, tile_builder *b,
                             tile_value piece);
/* Whether split_sum_pieces takes the parts as rows of a matrix: then they lie row by row. */
bool split_adds_rows(const split *s, const split_pieces *pieces);
/* Adds the pieces of all parts, which lie as split_indices_of_part says, in an order that their
 * number decides; sums[i] has the type of carried value i's piece. */
void split_sum_pieces(split *s, tile_builder *b, const split_pieces *pieces, tile_value first,
                      tile_value tile, tile_value tiles, const tile_value *parts, tile_value *sums);

/* steps.c: a copy of the kernel under a name of its own, as a new root of the pass manager.
 */
tile_function *split_copy_kernel(const split *s, const char *suffix);
/* An empty plan with the kernel's name and arguments. */
void split_become_plan(tile_function *f);

/* A launch of the kernel on the arguments of the builder's plan, and more behind them. */
tile_op split_launch(tile_builder *b, const tile_function *kernel, const tile_value *more,
                     tile_arena *arena);

/* A file each. */
tile_status split_serial(split *s);
tile_status split_workspace(split *s);
tile_status split_atomic(split *s);
tile_status split_cluster(split *s);
const char *split_cluster_rejects(const split *s);
tile_status split_exchange(split *s);
tile_status split_stream_k(split *s);
const char *split_stream_k_rejects(const split *s);

#endif
