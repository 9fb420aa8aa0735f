/* Queries of the table of targets (tile/target.h) for structs from outside. */
#ifndef TILE_LIB_SUPPORT_TARGET_H
#define TILE_LIB_SUPPORT_TARGET_H

#include "tile/target.h"

/* Bytes of a multiprocessor's shared memory that the driver reserves per resident block. */
enum { TILE_SHARED_RESERVED = 1024 };

/* Returns whether the target is a row of the table, or a copy of one. LLVM would treat any other
 * name as an unknown processor and print a message. False after a diagnostic; NULL is rejected. */
bool tile_target_check(tile_context *context, tile_loc loc, const tile_target *target);

/* A feature's name in features.def, its description in diagnostics, and the features that it
 * requires. */
const char *tile_feature_name(tile_feature feature);
const char *tile_feature_text(tile_feature feature);
uint32_t tile_feature_needs(tile_feature feature);

/* The targets that have the feature, to follow "compile for": "sm_89 or later" (in the order of the
 * table), "sm_90a". Truncated to size; returns text. */
enum { TILE_TARGETS_TEXT = 160 };
const char *tile_feature_targets(tile_feature feature, char *text, size_t size);

/* These two compare the compute capability of a GPU (90: 9.0) with targets. The first returns
 * whether the GPU runs the target's cubins. The second returns the target with the most features
 * whose code the GPU runs; NULL if there is none. */
bool tile_target_runs_on(const tile_target *target, unsigned capability);
const tile_target *tile_target_for(unsigned capability);

/* The number of blocks that are resident on a multiprocessor; 0 if not even one. registers: per
 * thread (0: unknown, not a limit). *limit, if limit is not NULL, is the resource that limits the
 * number. The rules are those of the CUDA occupancy calculator: registers are allocated to warps in
 * units of 256, from one of four files of 16384 registers; shared memory to blocks in units of 128
 * bytes. */
unsigned tile_target_residency(const tile_target *target, unsigned warps, unsigned registers,
                               unsigned shared_bytes, const char **limit);

#endif
