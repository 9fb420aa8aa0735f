/* Scans that a compute writes with other operations, as scans: see scans.c. */
#ifndef TILE_PASSES_SCHEDULE_CUT_SCANS_H
#define TILE_PASSES_SCHEDULE_CUT_SCANS_H

#include "lib/ops/kinds.h"
#include "passes/schedule/cut/cut.h"

/* What a scan is described by, besides its source. */
typedef struct scan_traits {
    unsigned axis;
    tile_word kind;
    bool reverse, exclusive;
} scan_traits;

/* The defining operation, if it has this opcode; else no operation. */
tile_op scans_def(const schedule *s, tile_value value, tile_opcode opcode);
/* Reads a scan by a kind whose axis is known. */
bool scans_read(const schedule *s, tile_op op, scan_traits *traits);
/* A builder before op, at its location. */
tile_builder scans_builder(const schedule *s, tile_op op);
/* Builds a scan of src by `like`'s kind along an axis, with `like`'s attributes of the schedule. */
tile_value scans_build(const schedule *s, tile_builder *b, tile_op like, tile_value src,
                       const scan_traits *traits);
/* The number of which the value consists; NULL: none. */
const tile_expr *scans_number(const schedule *s, tile_value value);
/* Returns whether both values are the same elements, in row-major order. */
bool scans_same_elements(schedule *s, tile_value a, tile_value b);

/* Each of these returns a value that equals op's result, built before op; or none. */

/* scan_shifts.c: concats of a scan, or scans of a concat, that make it exclusive. */
tile_value scans_from_shift(schedule *s, tile_op op);
/* scan_flips.c: a scan between two flips. */
tile_value scans_from_flip(schedule *s, tile_op op, const uint32_t *uses);
/* scan_transposes.c: a scan of a transposed array, or of which the result is transposed. */
tile_value scans_from_transpose(schedule *s, tile_op op, const uint32_t *uses);
/* scan_chunks.c: scans of chunks, and of their totals. */
tile_value scans_from_chunks(schedule *s, tile_op op);

#endif
