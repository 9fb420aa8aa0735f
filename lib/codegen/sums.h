/* Vectors in registers that LLVM does not see: see sums.c. */
#ifndef TILE_LIB_CODEGEN_SUMS_H
#define TILE_LIB_CODEGEN_SUMS_H

#include "lib/codegen/emitter.h"

typedef struct tile_sums tile_sums;

/* begin: before the body is emitted. The other function adds the declaration after it. */
void tile_sums_begin(tile_emitter *e);
void tile_sums_end(tile_emitter *e);

/* Returns one register for each part of the value; NULL: LLVM holds the value. */
const uint32_t *tile_sum_registers(const tile_emitter *e, tile_value value);
/* The value is in these registers from here on; kept, not copied. */
void tile_sum_keep_in_registers(tile_emitter *e, tile_value value, const uint32_t *registers);

/* LLVM values of a held vector for the current operation; tile_get_parts calls it. */
LLVMValueRef *tile_sum_move_out(tile_emitter *e, tile_value value);
/* Drops those values: before the next operation, and when another block begins. */
void tile_sums_drop_copies(tile_emitter *e);

/* extract, permute, concat: true if the result is an alias of the same registers. */
bool tile_sum_extract(tile_emitter *e, tile_value from, unsigned first, tile_value result);
bool tile_sum_permute(tile_emitter *e, tile_op op);
bool tile_sum_concat(tile_emitter *e, tile_op op);

/* The registers that product op adds to and overwrites, NULL if acc is not held. *copied: acc was
 * copied to them first. */
const uint32_t *tile_sum_acquire(tile_emitter *e, tile_op op, tile_value acc, bool *copied);

/* A cast of f32 to pairs of 16 bits; an addition of f32 whose result a loop or a branch yields.
 * Returns true if it has been emitted because src or an operand is held. */
bool tile_sum_narrow(tile_emitter *e, tile_value src, tile_value result);
bool tile_sum_add(tile_emitter *e, tile_op op);

/* Decides which carried values of a `for` are held, and moves their initial values. */
void tile_sums_enter_loop(tile_emitter *e, tile_op loop);
/* Moves the values that an iteration yields. */
void tile_sums_end_iteration(tile_emitter *e, tile_op loop);
/* Decides which results of an `if` are held, and moves the values that its sides yield. ends: the
 * last blocks of the sides, which end in branches. */
void tile_sums_join(tile_emitter *e, tile_op branch, const LLVMBasicBlockRef ends[2]);

#endif
