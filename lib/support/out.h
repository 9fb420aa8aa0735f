/* Formatted text to a tile_writer. */
#ifndef TILE_LIB_SUPPORT_OUT_H
#define TILE_LIB_SUPPORT_OUT_H

#include "tile/base.h"

typedef struct tile_out {
    tile_writer writer;
    void *user;
} tile_out;

void tile_out_text(const tile_out *out, const char *text);
/* printf's format. */
void tile_out_print(const tile_out *out, const char *format, ...) TILE_PRINTF(2, 3);

#endif
