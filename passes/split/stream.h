/* stream_k in parts: which iterations of which tiles a block has, and how sums come together. */
#ifndef TILE_PASSES_SPLIT_STREAM_H
#define TILE_PASSES_SPLIT_STREAM_H

#include "passes/split/split.h"

typedef struct stream {
    split *s;
    tile_function *f;
    grid g;
    /* Clusters, where there are any, in place of blocks, and of tiles. */
    tile_value place[3], rank;      /* of the block in it; rank: none where it is alone */
    tile_value in_grid;             /* i1: the block has a tile of the grid; none: each has */
    tile_value extent[3], tiles;    /* of the grid in clusters, and their number */
    tile_value begin, end, step;    /* of the loop, for every tile */
    tile_value length;              /* iterations of a tile, at least 1 */
    tile_value unit, units;         /* this cluster's number, and how many there are */
    tile_value turns;               /* tiles that each does alone */
    tile_value groups, group;       /* of clusters that share tiles, and this one's */
    tile_value members, member;     /* of a group, and which one this is */
    tile_value has_two;             /* i1: the group has two tiles; else it has one */
    tile_value lead, share, larger; /* iterations: of the first member more than of others; of a
                                       member; so many members have one more */
    tile_value from, to;            /* this one's share, counted from the group's first tile */
    tile_value first, shared;       /* its first tile of the group, and the one of this turn */
    tile_value slice;               /* tiles of each coordinate z; none where there is only one */
    tile_value tile;                /* of this turn */
    tile_value low, high;           /* its iterations that this block has */
    tile_value owner, last;         /* the first and the last member that have some of them */
    tile_value is_first;            /* i1: this one has the first one */
    tile_value counts, word;        /* blocks that have stored their parts, by tile; this one's */
    tile_value *parts;              /* scratch, by carried value */
} stream;

/* stream_sums.c */

/* Memory for parts; the builder stands before the loop over tiles. */
void split_stream_scratch(stream *t, tile_builder *b);
/* Behind the loop that is split: hands this block's sums over, or totals[i] are the sums of all.
 * i1: they are, and the block goes on with the tile. */
tile_value split_stream_sum(stream *t, tile_builder *b, tile_value *totals);

#endif
