/* Pipelines as text: pass{key=value flag},pass */
#ifndef TILE_PASSES_PIPELINE_TEXT_H
#define TILE_PASSES_PIPELINE_TEXT_H

#include "passes/pass.h"

/* A row of passes.def with its functions. The sets are of properties: TILE_PROPERTY_<name>. */
typedef struct tile_pass_row {
    tile_pass_info info;
    tile_pass_function run;               /* scope function */
    tile_module_pass_function run_module; /* scope module */
    unsigned needs, gives, keeps, breaks;
} tile_pass_row;

typedef struct tile_pass_table {
    const tile_pass_row *rows;
    unsigned count; /* at most 64 */
} tile_pass_table;

/* passes.def */
extern const tile_pass_table tile_all_passes;

/* One bit for each property of properties.def. */
enum {
#define PROPERTY(name, meaning) TILE_PROPERTY_BIT_##name,
#include "passes/properties.def"
#undef PROPERTY
    TILE_PROPERTY_COUNT,
#define PROPERTY(name, meaning) TILE_PROPERTY_##name = 1 << TILE_PROPERTY_BIT_##name,
#include "passes/properties.def"
#undef PROPERTY
};

typedef struct tile_pipeline_step {
    const tile_pass_row *row;
    tile_pass_option *options;
    unsigned option_count;
    tile_loc loc; /* in the pipeline's text; only for tile_pipeline_error */
} tile_pipeline_step;

/* The columns of attrs.def for an attribute that carries information between passes. Sets of passes
 * have a bit for each row of the pipeline's table. */
typedef struct tile_attr_contract {
    tile_attr_id id;
    bool by_users;
    uint64_t writers, readers, until;
} tile_attr_contract;

typedef struct tile_pipeline {
    tile_context *context;
    const tile_pass_table *passes;
    const char *text;
    tile_pipeline_step *steps;
    size_t count, capacity;
    const tile_attr_contract *contracts;
    unsigned contract_count;
} tile_pipeline;

/* Splits the text and checks the order of the passes. False after a diagnostic. */
bool tile_pipeline_parse(tile_context *context, const tile_pass_table *passes, const char *text,
                         tile_arena *arena, tile_pipeline *pipeline);
/* Reports an error that quotes the pipeline. Always returns false. */
bool tile_pipeline_error(tile_pipeline *pipeline, tile_loc loc, const char *format, ...)
    TILE_PRINTF(3, 4);

/* Like tile_run_passes, with the passes of another table. */
tile_status tile_run_passes_of(const tile_pass_table *passes, tile_module *module,
                               const char *pipeline, const tile_pass_options *options);

#endif
