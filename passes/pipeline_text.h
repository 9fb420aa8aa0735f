/* Pipelines as text: pass{key=value flag},pass */
#ifndef TILE_PASSES_PIPELINE_TEXT_H
#define TILE_PASSES_PIPELINE_TEXT_H

#include "passes/pass.h"

/* A row of passes.def with its function. */
typedef struct tile_pass_row {
    tile_pass_info info;
    const char *keeps;
    const char *breaks;
    tile_pass_function run;
} tile_pass_row;

typedef struct tile_pipeline_step {
    const tile_pass_row *row;
    tile_pass_option *options;
    unsigned option_count;
    tile_loc loc; /* in the pipeline's text; only for tile_pipeline_error */
} tile_pipeline_step;

typedef struct tile_pipeline {
    tile_context *context;
    const char *text;
    tile_pipeline_step *steps;
    size_t count, capacity;
} tile_pipeline;

/* Splits the text and checks that the passes can follow each other. False after a diagnostic. */
bool tile_pipeline_parse(tile_context *context, const char *text, tile_arena *arena,
                         tile_pipeline *pipeline);
/* Reports an error that quotes the pipeline; always false. */
bool tile_pipeline_error(tile_pipeline *pipeline, tile_loc loc, const char *format, ...)
    TILE_PRINTF(3, 4);

/* Whether the pass, or a pass that it needs, names `need` among what it requires. */
bool tile_pass_row_builds_on(const tile_pass_row *row, const char *need);

#endif
