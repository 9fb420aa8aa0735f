/* Stamps: where code spends its time, compiled in on request (tile_emit_options.stamps).
 *
 * Before and after each operation that synchronises, and at both ends of the kernel, the first lane
 * of a warp writes a stamp of 16 bytes: %globaltimer (64 bits), %clock (32 bits), and which
 * operation it was, 2 * id + (1 behind it); id 0 is the kernel. They go to TILE_STAMPS_NAME, a
 * global array of the module that whoever loads it reads by its name and clears: warp w of block b
 * (x first) has TILE_STAMPS_OF_WARP of them from (b * warps + w) * TILE_STAMPS_OF_WARP on, of as
 * many blocks as there is room for. What comes behind is left out. */
#ifndef TILE_LIB_CODEGEN_STAMPS_H
#define TILE_LIB_CODEGEN_STAMPS_H

#include <stdint.h>

#include "lib/ir/function.h"

#define TILE_STAMPS_NAME "tile_stamps"

enum {
    TILE_STAMPS_OF_WARP = 2048,
    TILE_STAMPED_WARPS = 512, /* of all blocks */
};

typedef struct tile_stamp {
    uint64_t time; /* %globaltimer, nanoseconds; 0: none was written */
    uint32_t clock, what;
} tile_stamp;

#endif
