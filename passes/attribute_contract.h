/* Attributes that carry information from one pass to another, as attrs.def declares them (by,
 * read_by, until). */
#ifndef TILE_PASSES_ATTRIBUTE_CONTRACT_H
#define TILE_PASSES_ATTRIBUTE_CONTRACT_H

#include "passes/pipeline_text.h"

/* Returns whether a column of an attribute, `by` or `read_by`, contains the word. Words marked
 * `early:` or `late:` do not count, because they are exempt from the order. */
bool tile_attr_used_by(const char *names, const char *word);

/* Resolves the pass names in the columns against the pipeline's table, once for all checks. */
void tile_contract_resolve(tile_pipeline *p, tile_arena *arena);

/* Checks that no pass reads an attribute before the first pass that writes it. False after a
 * diagnostic. */
bool tile_contract_check_order(tile_pipeline *p);

/* Checks that the function has no attribute whose writers are all passes yet to run. False after a
 * diagnostic. */
bool tile_contract_check_input(const tile_pipeline *p, const tile_function *f);

/* Checks that the function has none of the attributes that the first `done` steps must have
 * removed. False after a diagnostic. */
bool tile_contract_check_left(const tile_pipeline *p, size_t done, const tile_function *f);

#endif
