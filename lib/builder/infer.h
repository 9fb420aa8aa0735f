/* Infers result types and checks operands: one function per rule of ops.def. */
#ifndef TILE_LIB_BUILDER_INFER_H
#define TILE_LIB_BUILDER_INFER_H

#include "lib/ir/function.h"

/* The input of a rule: an operation that need not exist yet. */
typedef struct tile_infer {
    tile_function *function;
    tile_opcode opcode;
    tile_loc loc;
    const tile_value *operands;
    const uint16_t *segment; /* as in tile_op_data */
    const tile_type *given;  /* type of the result as written, or NULL; later completed */
    const tile_attr *attrs;  /* the attributes that are already known, attr_count of them */
    unsigned attr_count;
    bool has_attrs;            /* all attributes are known, so missing ones are absent */
    const tile_type **results; /* space for TILE_MAX_RANK more entries than operands */
    unsigned result_count;
} tile_infer;

/* Checks the classes of operands and the row's rule, and fills results. Returns false after a
 * diagnostic. The verifier checks regions and attribute values. */
bool tile_infer_results(tile_infer *infer);

/* infer_given.c: completes the written type of the result with what the operands determine; the
 * rest does not change. The classes of the operands have been checked. Returns false after a
 * diagnostic. */
bool tile_infer_complete_given(tile_infer *infer);
/* Returns whether the operands never determine the whole type of the result. */
bool tile_infer_needs_given(tile_opcode opcode);

#endif
