/* tile-opt with an additional, faulty pass: plant{fault=..}. The tool's sources are compiled with
 * the names below instead of the library's. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "passes/pipeline_text.h"

const tile_pass_info *faulty_pass_at(unsigned index);
tile_status faulty_run_passes(tile_module *module, const char *pipeline,
                              const tile_pass_options *options);

enum { MAX_PASSES = 64 };

static tile_op find(const tile_function *f, tile_opcode opcode) {
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode == opcode) return (tile_op){id};
    return TILE_NO_OP;
}

/* Injects a wrong result, a race, a violated rule, an error, a crash or an endless loop, if the
 * function has a suitable place. */
static tile_status plant(tile_pass *pass, tile_function *f) {
    const char *fault = pass->option_count ? pass->options[0].value : "";
    tile_op add = find(f, TILE_OP_add), sync = find(f, TILE_OP_sync);
    if (strcmp(fault, "wrong") == 0 && add.id) f->ops[add.id].opcode = TILE_OP_sub;
    if (strcmp(fault, "race") == 0 && sync.id) tile_erase_op(f, sync);
    if (strcmp(fault, "broken") == 0 && add.id)
        tile_op_at(f, add)->operands[0] = tile_op_result(f, add, 0);
    if (strcmp(fault, "error") == 0 && add.id) {
        tile_report(pass->context, TILE_ERROR, f->loc, "planted");
        return TILE_UNSUPPORTED;
    }
    if (strcmp(fault, "crash") == 0 && add.id) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would end the process differently */
        raise(SIGSEGV);
    }
    if (strcmp(fault, "endless") == 0 && add.id)
        for (;;) pause();
    return TILE_OK;
}

static const tile_pass_table *all_passes(void) {
    static tile_pass_row rows[MAX_PASSES];
    static tile_pass_table table = {rows, 0};
    if (table.count) return &table;
    memcpy(rows, tile_all_passes.rows, tile_all_passes.count * sizeof *rows);
    rows[tile_all_passes.count] = (tile_pass_row){
        .info = {.name = "plant",
                 .level_in = TILE_LEVEL_2 | TILE_LEVEL_3,
                 .level_out = TILE_LEVEL_2 | TILE_LEVEL_3,
                 .requires_ = "",
                 .meaning = "do something wrong",
                 .options = "fault",
                 .establishes = "",
                 .keeps = "KEEPS_ALL",
                 .breaks = ""},
        .run = plant,
        .keeps = ~0u,
    };
    table.count = tile_all_passes.count + 1;
    return &table;
}

const tile_pass_info *faulty_pass_at(unsigned index) {
    const tile_pass_table *table = all_passes();
    return index < table->count ? &table->rows[index].info : NULL;
}

tile_status faulty_run_passes(tile_module *module, const char *pipeline,
                              const tile_pass_options *options) {
    if (!module) return TILE_INVALID;
    return tile_run_passes_of(all_passes(), module, pipeline, options);
}
