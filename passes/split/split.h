/* Declarations shared by the files of split-k: the split loop, strategies, parts and pieces. */
#ifndef TILE_PASSES_SPLIT_SPLIT_H
#define TILE_PASSES_SPLIT_SPLIT_H

#include "lib/analysis/range.h"
#include "lib/ops/strategy.h"
#include "passes/grid/grid.h"

typedef struct split split;

/* A strategy: how to lower a kernel with a legal clause. lib/ops/strategy.def describes its
 * properties. */
typedef struct split_strategy {
    tile_strategy is;
    tile_status (*lower)(split *s);
    bool becomes_plan;       /* the kernel becomes a plan, unless split_last_block_adds */
    bool needs_static_grid;  /* the kernel computes the grid's extents, so they must not depend on
                                the device */
    bool takes_ticket;       /* blocks take their parts by ticket instead of by block_id */
    bool parts_are_adjacent; /* the parts of a tile are neighbors in the grid */
    bool last_block_runs_epilogue; /* one block per tile runs the code after the loop; other blocks
                                      of its cluster may not */
    tile_feature needs;            /* feature that the target must have */
    const char *(*rejects)(const split *s); /* the reason why it cannot split this loop, or NULL */
} split_strategy;

static inline const tile_strategy_info *split_info(const split_strategy *strategy) {
    return tile_strategy_get_info(strategy->is);
}

struct split {
    tile_pass *pass;
    tile_context *context;
    tile_function *f;
    tile_op loop;
    int64_t factor;                 /* at least 2; strategies with splits_one also accept 1 */
    const split_strategy *strategy; /* NULL: the parts are groups of one block's warps */
    unsigned count;       /* number of carried values, which are all sums or other reductions */
    tile_opcode *combine; /* by carried value, set by split_is_legal: combines two parts */
    bool *nan;            /* likewise: whether it propagates NaN */
    bool quiet;           /* checks without diagnostics */
};

/* NULL if the index is past the end, or if attrs.def has no such word. */
const split_strategy *split_strategy_at(unsigned index);
const split_strategy *split_find_strategy(const char *word);
/* "; did you mean 'serial'?" or "", in the arena. */
const char *split_suggest_strategy(const char *word, tile_arena *arena);

/* The first loop of the function with the clause, and the number of such loops. */
tile_op split_find_clause(const tile_function *f, unsigned *count);
/* Whether a loop of the body carries values. name: of its variable; NULL: any. */
bool split_has_loop(const tile_function *f, const char *name);
/* The only loop of the body that carries values. name: of its variable; NULL: any. 0 after a
 * diagnostic. */
tile_op split_find_loop(const tile_function *f, const char *name);

/* check.c: false after a diagnostic with the reason why the loop cannot be split. */
bool split_is_legal(split *s);

/* parts.c */

/* The dim of the grid along which parts are numbered: z, which varies slowest; x if the parts form
 * a cluster and the grid is flat. */
unsigned split_dim(const split *s);
/* Gives each part its own block: multiplies that dim of the grid by the factor. block_id and
 * grid_dim still refer to the declared grid, and the loop runs the iterations part, part + factor,
 * .., or a contiguous range of them. Removes the clause. */
void split_distribute_parts(split *s, grid *g);

/* ranges.c */

/* Returns whether an iteration reads most of its bytes in short pieces of rows along the loop. */
bool split_reads_along(const split *s, const tile_range *ranges);
/* Gives the loop, which begins at 0 and has a step of at least 2, the part's range. */
void split_set_range(split *s, tile_value part);

/* parts.c */

/* A tile cut into pieces along a dim. */
typedef struct split_pieces {
    unsigned axis;
    int64_t count; /* 1: not cut; else a power of two that divides the extent */
} split_pieces;

/* Gives each piece its own block: multiplies the first dim of the grid by their number. Returns the
 * coordinate along the axis at which the block's piece begins. */
tile_value split_into_pieces(split *s, const split_pieces *pieces, grid *g);

/* A builder directly after the loop. */
tile_builder split_builder_after_loop(const split *s);
/* The last pdl_wait before the loop, directly in the body; 0: none. */
tile_op split_find_pdl_wait(const tile_function *f, tile_op loop);
/* The operations after the loop, in order, in the pass's scratch arena. Leaves out, directly after
 * the loop, a pdl_wait that precedes them and the free_shared of buffers that none of them uses. */
tile_op *split_take_epilogue(split *s, unsigned *count);

tile_builder split_before_epilogue(const split *s, const tile_op *epilogue, unsigned count);
/* Moves the epilogue to the end of the builder's region and replaces the values that the loop
 * carries by the sums. */
void split_finish(split *s, tile_builder *b, const tile_op *epilogue, unsigned count,
                  const tile_value *totals);

/* Scratch for `count` parts of carried value i, [count, extents..], and the indices of one part. */
tile_value split_scratch(const split *s, tile_builder *b, unsigned i, tile_value count);
unsigned split_part_index(tile_builder *b, const tile_type *type, tile_value number,
                          tile_value place[TILE_MAX_RANK]);
/* Scratch for all parts of carried value i, [tiles, factor, extents..], each in an opaque
 * layout. */
tile_value split_opaque_scratch(const split *s, tile_builder *b, unsigned i, tile_value tiles);
/* The indices of part `part` of a tile in opaque scratch. If `tiles` is a value: in scratch for
 * tiles * factor parts, ordered by part. */
unsigned split_indices_of_part(tile_builder *b, const tile_type *type, tile_value part,
                               tile_value tile, tile_value tiles, tile_value place[TILE_MAX_RANK]);
/* Scratch that is zero at launch: an i32 for each tile. */
tile_value split_zeroed_words(const split *s, tile_builder *b, tile_value count, const char *name);
/* ordering: NULL: relaxed. */
tile_value split_build_atomic(tile_builder *b, const char *kind, const char *ordering,
                              tile_value value, tile_value memory, const tile_value *index,
                              unsigned rank);
/* Signals that this block has finished its accesses for a part of the tile. True for the last block
 * to do so, which sees the accesses of all others. */
tile_value split_arrive(tile_builder *b, tile_value counts, tile_value tile, tile_value parts);

/* if condition { yes } else { no }; the caller ends both with a yield. */
typedef struct split_branch {
    tile_op op;
    tile_builder yes, no;
} split_branch;
split_branch split_begin_branch(tile_builder *b, tile_value condition,
                                const tile_type *const *types, unsigned count);

/* The type in which carried value i is passed between blocks: its own; f32 for shorter floats. */
const tile_type *split_part_type(const split *s, unsigned i);
/* Converts carried value i to that type, and back. */
tile_value split_to_part(split *s, tile_builder *b, unsigned i, tile_value value);
/* Combines two parts of carried value i, or partial results of them. */
tile_value split_combine(const split *s, tile_builder *b, unsigned i, tile_value lhs,
                         tile_value rhs);
/* Whether all carried values are sums. */
bool split_only_adds(const split *s);
tile_value split_as_type(tile_builder *b, tile_value value, const tile_type *type);
tile_value split_from_part(split *s, tile_builder *b, unsigned i, tile_value value);

/* A kernel whose parts are distributed over blocks, and the scratch in which a tile's parts are
 * combined. */
typedef struct split_tiles {
    grid g;
    tile_op *epilogue; /* the operations after the loop */
    unsigned count;
    tile_value tile;  /* the number of this block's tile */
    tile_value words; /* zero at launch, one for each tile */
    tile_value *sums; /* by carried value: a sum for each tile */
} split_tiles;
/* Distributes the parts; returns a builder after the loop. name: of the words. */
tile_builder split_begin_tiles(split *s, const char *name, split_tiles *t);

/* epilogue_pieces.c */

/* The number of pieces, at most `wanted`, into which the code after the loop can be cut. */
split_pieces split_choose_pieces(split *s, const tile_op *epilogue, unsigned count, int64_t wanted);
/* for %piece = part to the number of pieces step factor {}; first: the begin of the piece. */
tile_builder split_open_pieces(const split *s, const split_pieces *pieces, tile_builder *b,
                               tile_value part, tile_value *first);
const tile_type *split_piece_type(const split *s, const split_pieces *pieces,
                                  const tile_type *type);
/* Clones the code after the loop, and what it needs of the code before it, for the piece that
 * begins at coordinate `first` of the axis. sums[i] is the piece of carried value i. */
void split_copy_pieces(split *s, const split_pieces *pieces, tile_builder *b,
                       const tile_op *epilogue, unsigned count, tile_value first,
                       const tile_value *sums);

/* Loads part `part`: one value for each carried value. */
typedef struct split_part_loader {
    const split *s;
    void (*load)(const struct split_part_loader *a, tile_builder *b, tile_value part,
                 tile_value *loaded);
} split_part_loader;
/* Adds all parts in order, starting with 0, or with the first part if not all values are sums. */
void split_add_parts(const split_part_loader *a, tile_builder *b, const tile_type *const *types,
                     tile_value *sums);
/* Adds parts from, from + 1, .. below `to`, `length` at a time. The last group may exceed `to`. */
void split_add_loop(const split_part_loader *a, tile_builder *b, tile_value from, tile_value to,
                    int64_t length, tile_value *sums);
/* The number of parts of these types that fit in a thread's registers. */
int64_t split_count_at_once(const split *s, const tile_type *const *types);

/* The begin of a piece along the axis. */
tile_value split_piece_begin(const split *s, const split_pieces *pieces, tile_builder *b,
                             tile_value piece);
/* Whether split_sum_pieces loads the parts as rows of a matrix: then they must be stored in
 * row-major order. */
bool split_adds_rows(const split *s, const split_pieces *pieces);
/* Adds the pieces of all parts, which are stored as described at split_indices_of_part, in an order
 * that only depends on their number. sums[i] has the type of carried value i's piece. */
void split_sum_pieces(split *s, tile_builder *b, const split_pieces *pieces, tile_value first,
                      tile_value tile, tile_value tiles, const tile_value *parts, tile_value *sums);

/* workspace.c: whether the parts have so few elements that the last block of a tile adds them,
 * instead of a second kernel. */
bool split_last_block_adds(const tile_function *f, tile_op loop);

/* steps.c: builds a launch of the kernel with the arguments of the builder's plan, followed by
 * `more`. */
tile_op split_launch(tile_builder *b, const tile_function *kernel, const tile_value *more,
                     tile_arena *arena);

/* One file each. */
tile_status split_serial(split *s);
tile_status split_workspace(split *s);
tile_status split_atomic(split *s);
tile_status split_cluster(split *s);
const char *split_cluster_rejects(const split *s);
tile_status split_exchange(split *s);
tile_status split_stream_k(split *s);
const char *split_stream_k_rejects(const split *s);

#endif
