/* stream_k: the iterations and tiles of a block, and the combination of partial sums. */
#ifndef TILE_PASSES_SPLIT_STREAM_H
#define TILE_PASSES_SPLIT_STREAM_H

#include "passes/split/split.h"

typedef struct stream {
    split *s;
    tile_function *f;
    grid g;
    /* If there are clusters, units and members are clusters instead of blocks, and tiles are those
     * of whole clusters. */
    tile_value place[3], rank;      /* of the block in its cluster; rank: none without clusters */
    tile_value in_grid;             /* i1: the block has a tile of the grid; none: all blocks do */
    tile_value extent[3], tiles;    /* the grid in clusters, and its number of tiles */
    tile_value begin, end, step;    /* bounds of the loop, equal for all tiles */
    tile_value length;              /* iterations of a tile, at least 1 */
    tile_value unit, units;         /* this cluster's number, and the number of clusters */
    tile_value turns;               /* tiles that each cluster computes alone */
    tile_value groups, group;       /* of clusters that share tiles; this one's */
    tile_value members, member;     /* members of a group; this cluster's member number */
    tile_value has_two;             /* i1: the group has two tiles; else one */
    tile_value lead, share, larger; /* iterations: excess of the first member; of each member;
                                       number of members with one more */
    tile_value from, to;      /* iterations of this member, counted from the group's first tile */
    tile_value first, shared; /* its first tile in the group; its tile of this turn */
    tile_value tiles_per_z;   /* tiles with the same z; none if there is one z */
    tile_value tile;          /* tile of this turn */
    tile_value low, high;     /* range of its iterations that this block runs */
    tile_value owner, last;   /* first and last member that run iterations of the tile */
    tile_value is_first;      /* i1: this member is the first one */
    tile_value counts, word;  /* by tile: blocks that have stored parts; index of this one */
    tile_value *parts;        /* scratch, by carried value */
} stream;

/* stream_sums.c */

/* Allocates scratch for the parts; b is before the loop over tiles. */
void split_stream_scratch(stream *t, tile_builder *b);
/* After the split loop: publishes this block's partial sums, or sets totals[i] to the complete
 * sums. Returns an i1: the sums are complete, and the block continues with the tile. */
tile_value split_stream_sum(stream *t, tile_builder *b, tile_value *totals);

#endif
