/* Products with weights of 4 bits, eight in each 32-bit word (packed.c). */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_PACKED_H
#define TILE_PASSES_SCHEDULE_KERNEL_PACKED_H

#include "passes/schedule/kernel/schedule.h"

enum {
    SCHED_PACKED_BITS = 4,   /* of a number */
    SCHED_PACKED_NUMBERS = 8 /* in a word: bits 4 i to 4 i + 3 have the one at 8 w + i along k */
};

/* A product whose right operand is computed from words. */
typedef struct sched_packed {
    tile_op matmul;
    tile_value words; /* 32-bit integers, or their bytes */
    bool bytes;       /* they are [n, k / 2] */
    bool transposed;  /* the words are [n, k / 8]; else [k / 8, n] */
    int64_t offset;   /* is subtracted from each number, 0 to 15 */
    unsigned group;   /* numbers along k with one scale: 64 or 128 */
    tile_value scale; /* of each group and column, or of each column; 0: none */
    int group_dim;    /* of scale: counts groups; -1: none does */
    int column_dim;   /* of scale: counts columns */
} sched_packed;

/* Finds such products. Each one then multiplies its left operand with the words, and has an entry
 * in s->packed. The schedule's compute is a copy afterwards if there are any. */
void sched_find_packed(schedule *s);
/* The entry of a product; NULL if it has no packed operand. */
const sched_packed *sched_packed_of(const schedule *s, tile_op matmul);

#endif
