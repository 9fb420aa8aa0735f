/* Scans of few long rows: see look_back.c. */
#ifndef TILE_PASSES_SCHEDULE_ROWS_LOOK_BACK_H
#define TILE_PASSES_SCHEDULE_ROWS_LOOK_BACK_H

#include "lib/ops/combine.h"
#include "passes/schedule/rows/rows.h"

enum { ROWS_MAX_PREFIX = TILE_MAX_COMBINED + 1 };

/* What a scan knows of the elements before a chunk: one value or, for a func, several. */
typedef struct rows_prefix {
    unsigned count;
    const tile_type *elements[ROWS_MAX_PREFIX];
    void *user;
    /* Combines two prefixes, in their order. */
    bool (*combine)(rows *r, void *user, const tile_value *before, const tile_value *own,
                    tile_value *to);
    /* Combines the tiles' elements along the axis, in the order of their coordinates. */
    bool (*total)(rows *r, void *user, const tile_value *tiles, tile_value *to);
    /* The scalar of no elements. */
    tile_value (*nothing)(rows *r, void *user, unsigned index);
} rows_prefix;

typedef struct rows_look_back {
    rows *r;
    const rows_prefix *prefix;
    rows_chunks chunks;
    int members;                       /* chunks of a group */
    tile_value strip, number;          /* this block's rows, and the chunk in the scan's order */
    tile_value group, first, in_group; /* the group, its first chunk, and the place in it */
    tile_value flags, turns, left;     /* words in scratch */
    tile_value totals[ROWS_MAX_PREFIX], befores[ROWS_MAX_PREFIX];
} rows_look_back;

/* Chooses for chunks with `length` elements along the axis, of `strips` tiles beside each other
 * (-1: not known). few: with so many strips, a block for each of them suffices. */
rows_look_back_choice rows_choose_look_back(rows *r, int64_t length, int64_t strips, int few);
/* Sets the grid and the tile's start for the choice of rows.look_back. Where extents decide it, it
 * becomes a parameter. */
void rows_set_scan_grid(rows *r);

/* Takes the next chunk and sets the tile's start to it. */
void rows_take_chunk(rows *r, const rows_prefix *prefix, bool reverse, rows_look_back *w);
/* Makes the chunk's total visible to other blocks. */
void rows_publish_total(rows_look_back *w, const tile_value *own);
/* Waits for the chunks before this one and combines them. False after a diagnostic. */
bool rows_wait_for_prefix(rows_look_back *w, const tile_value *own, tile_value *before);
/* Leaves the words in scratch as they were before the launch. Comes before the stores of results,
 * for which its atomic would otherwise wait. */
void rows_end_chunk(rows_look_back *w);

#endif
