/* Result types and operand checks of the operations: one function per rule of ops.def. */
#ifndef TILE_LIB_BUILDER_INFER_H
#define TILE_LIB_BUILDER_INFER_H

#include "lib/ir/function.h"

/* What a rule looks at: an operation that need not exist yet. */
typedef struct tile_infer {
    tile_function *function;
    tile_opcode opcode;
    tile_loc loc;
    const tile_value *operands;
    const uint16_t *segment; /* as in tile_op_data */
    const tile_type *given;  /* the result's type as written, or NULL; then completed */
    const tile_attr *attrs;  /* those that are known already, attr_count of them */
    unsigned attr_count;
    bool has_attrs;            /* all of them are known: one that is not there is absent */
    const tile_type **results; /* room for TILE_MAX_RANK more than there are operands */
    unsigned result_count;
} tile_infer;

/* Checks classes and the row's rule, fills results. False after a diagnostic. Regions and what
 * attributes may be are the verifier's. */
bool tile_infer_results(tile_infer *infer);

/* infer_given.c: fills in what the type as written leaves out and the operands tell; what they do
 * not tell stays as it is. The operands' classes have been checked. False after a diagnostic. */
bool tile_infer_complete_given(tile_infer *infer);
/* Whether the operands never tell all of the result's type. */
bool tile_infer_needs_given(tile_opcode opcode);

#endif
