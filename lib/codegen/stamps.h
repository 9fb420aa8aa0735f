/* Stamps: where code spends its time, compiled in on request (tile_emit_options.stamps).
 *
 * Before and after each operation that synchronizes, and at both ends of the kernel, the first lane
 * of a warp writes a 16-byte stamp: %globaltimer (64 bits), %clock (32 bits), and the operation as
 * 2 * id, plus 1 after it; id 0 is the kernel. The stamps go to the module's global array
 * TILE_STAMPS_NAME, which the loader of the module finds by name and clears. Warp w of block b (x
 * first) has TILE_STAMPS_OF_WARP of them from (b * warps + w) * TILE_STAMPS_OF_WARP on. Stamps that
 * do not fit in the array are dropped. */
#ifndef TILE_LIB_CODEGEN_STAMPS_H
#define TILE_LIB_CODEGEN_STAMPS_H

#include <stdint.h>

#include "lib/ir/function.h"

#define TILE_STAMPS_NAME "tile_stamps"

enum {
    TILE_STAMPS_OF_WARP = 2048,
    TILE_STAMPED_WARPS = 512, /* in all blocks */
};

typedef struct tile_stamp {
    uint64_t time; /* %globaltimer, nanoseconds; 0: no stamp was written */
    uint32_t clock, what;
} tile_stamp;

#endif
