/* What passes tell each other by attributes of operations, as attrs.def has it (by, read_by,
 * until). */
#ifndef TILE_PASSES_ATTRIBUTE_CONTRACT_H
#define TILE_PASSES_ATTRIBUTE_CONTRACT_H

#include "passes/pipeline_text.h"

/* Whether a column of an attribute, `by` or `read_by`, has the word; not where it is marked
 * `early:` or `late:`, so that the order says nothing. */
bool tile_attr_used_by(const char *names, const char *word);

/* Looks the names of the columns up in the pipeline's table, once for all checks. */
void tile_contract_resolve(tile_pipeline *p, tile_arena *arena);

/* No pass may read an attribute before all the passes that write it. False after a diagnostic. */
bool tile_contract_check_order(tile_pipeline *p);

/* Whether the function lacks the attributes that only passes of this pipeline write. False after a
 * diagnostic. */
bool tile_contract_check_input(const tile_pipeline *p, const tile_function *f);

/* Whether the function lacks the attributes that the first `done` steps must have removed. False
 * after a diagnostic. */
bool tile_contract_check_left(const tile_pipeline *p, size_t done, const tile_function *f);

#endif
