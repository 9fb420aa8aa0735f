/* What goes between a tuning and its worker: numbers and texts in an order that both know. The two
 * are of one version (serve.c checks that), on one machine, so bytes are as they lie in memory. */
#ifndef TILE_RUNTIME_TUNE_MESSAGE_H
#define TILE_RUNTIME_TUNE_MESSAGE_H

#include "lib/support/text.h"

/* Which messages they are: the versions of the two sides, that have to be the same. Their builds
 * need not be: a program with libtile.a inside may use the worker that is installed. In the arena.
 */
const char *tune_protocol(tile_arena *arena);

/* Writing appends to a text. */
void tune_put(tile_text *to, const void *data, size_t size); /* with its size */
void tune_put_text(tile_text *to, const char *text);         /* NULL is kept */
void tune_put_u64(tile_text *to, uint64_t value);
void tune_put_double(tile_text *to, double value);

/* A message that is read; what is not there is 0, and makes it bad. */
typedef struct tune_reader {
    const char *at, *end;
    tile_arena *arena; /* of the texts; bytes are borrowed from the message */
    bool bad;
} tune_reader;

const void *tune_get(tune_reader *from, size_t *size);
const char *tune_get_text(tune_reader *from);
uint64_t tune_get_u64(tune_reader *from);
double tune_get_double(tune_reader *from);

#endif
