/* What the table of targets (tile/target.h) says about a struct that somebody hands in. */
#ifndef TILE_LIB_SUPPORT_TARGET_H
#define TILE_LIB_SUPPORT_TARGET_H

#include "tile/target.h"

/* Bytes of a multiprocessor's shared memory that the driver takes for each block that it holds. */
enum { TILE_SHARED_RESERVED = 1024 };

/* Whether the target is a row of the table, or a copy of one. LLVM takes the name of any other for
 * a processor that it does not know, and prints. False after a diagnostic; NULL is none. */
bool tile_target_check(tile_context *context, tile_loc loc, const tile_target *target);

/* How many blocks a multiprocessor holds at once: 0 if not even one, `registers` of a thread
 * (0: not known, they suffice). *limit, if it is not NULL, is what more of would let it hold more.
 * The rules are those of the CUDA occupancy calculator: registers go to warps in pieces of 256 from
 * one of four files of 16384, shared memory to blocks in pieces of 128 bytes. */
unsigned tile_target_residency(const tile_target *target, unsigned warps, unsigned registers,
                               unsigned shared_bytes, const char **limit);

#endif
