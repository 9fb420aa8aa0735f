/* What the table of targets (tile/target.h) says about a struct that somebody hands in. */
#ifndef TILE_LIB_SUPPORT_TARGET_H
#define TILE_LIB_SUPPORT_TARGET_H

#include "tile/target.h"

/* Bytes of a multiprocessor's shared memory that the driver takes for each block that it holds. */
enum { TILE_SHARED_RESERVED = 1024 };

/* Whether the target is a row of the table, or a copy of one. LLVM takes the name of any other for
 * a processor that it does not know, and prints. False after a diagnostic; NULL is none. */
bool tile_target_check(tile_context *context, tile_loc loc, const tile_target *target);

/* A feature's name in features.def, what it is in the words of a diagnostic, and the set of those
 * that it needs. */
const char *tile_feature_name(tile_feature feature);
const char *tile_feature_text(tile_feature feature);
uint32_t tile_feature_needs(tile_feature feature);

/* The targets that have it, in words that go behind "compile for": "sm_89 or later" (in the order
 * of the table), "sm_90a". Cut to size; gives text back. */
enum { TILE_TARGETS_TEXT = 160 };
const char *tile_feature_targets(tile_feature feature, char *text, size_t size);

/* These two are what compares the compute capability of a GPU (90: 9.0) with a target's. Whether
 * such a GPU runs the target's cubins; the target with the most features of which it runs the code,
 * NULL if there is none. */
bool tile_target_runs_on(const tile_target *target, unsigned capability);
const tile_target *tile_target_for(unsigned capability);

/* How many blocks a multiprocessor holds at once: 0 if not even one, `registers` of a thread
 * (0: not known, they suffice). *limit, if it is not NULL, is what more of would let it hold more.
 * The rules are those of the CUDA occupancy calculator: registers go to warps in pieces of 256 from
 * one of four files of 16384, shared memory to blocks in pieces of 128 bytes. */
unsigned tile_target_residency(const tile_target *target, unsigned warps, unsigned registers,
                               unsigned shared_bytes, const char **limit);

#endif
