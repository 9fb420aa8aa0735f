/* What passes tell each other by attributes of operations, as attrs.def has it (by, read_by,
 * until). */
#ifndef TILE_PASSES_ATTRIBUTE_CONTRACT_H
#define TILE_PASSES_ATTRIBUTE_CONTRACT_H

#include "passes/pipeline_text.h"

/* How a pass uses an attribute. */
typedef enum tile_attr_use {
    TILE_ATTR_UNUSED,
    TILE_ATTR_USED_ASIDE, /* marked `early:` or `late:`, so that its order says nothing */
    TILE_ATTR_USED,
} tile_attr_use;

/* names: the column `by` or `read_by` of an attribute. */
tile_attr_use tile_attr_used_by(const char *names, const char *pass);

/* No pass may read an attribute before all the passes that write it. False after a diagnostic. */
bool tile_contract_check_order(tile_pipeline *p);

/* Whether the function lacks the attributes that only passes of this pipeline write. False after a
 * diagnostic. */
bool tile_contract_check_input(const tile_pipeline *p, const tile_function *f);

/* Whether the function lacks the attributes that the first `done` steps must have removed. False
 * after a diagnostic. */
bool tile_contract_check_left(const tile_pipeline *p, size_t done, const tile_function *f);

#endif
