/* Line tables: .loc directives that map PTX to the source text.
 *
 * The compile unit emits directives only. A full line table would put `debug` into .target, which
 * disables ptxas' optimizations.
 *
 * In marked code (tile_emit_marked) the lines are operations instead: the file has no name, and the
 * line is the operation's id plus 1. */
#include <string.h>

#include "lib/codegen/emitter.h"

enum {
    DIRECTIVES_ONLY = 3
}; /* DICompileUnit::DebugDirectivesOnly, which the C API does not name */

static LLVMMetadataRef file_of(tile_emitter *e, uint32_t index) {
    if (!e->line_files[index]) {
        const tile_context *context = tile_function_context(e->f);
        const char *name = e->is_marked ? "operations" : tile_context_source_name(context, index);
        e->line_files[index] = LLVMDIBuilderCreateFile(e->lines, name, strlen(name), "", 0);
    }
    return e->line_files[index];
}

/* The location of an operation; TILE_NO_OP: the kernel's. */
static tile_loc place_of(const tile_emitter *e, tile_op op) {
    if (e->is_marked) return (tile_loc){.line = op.id + 1};
    return op.id ? tile_op_loc(e->f, op) : e->f->loc;
}

void tile_lines_begin(tile_emitter *e) {
    size_t sources = e->is_marked ? 1 : tile_function_context(e->f)->source_count;
    tile_loc loc = place_of(e, TILE_NO_OP);
    bool is_wanted = e->is_marked || !e->options->no_line_info;
    if (!is_wanted || !loc.line || loc.file >= sources) return;
    e->lines = LLVMCreateDIBuilder(e->module);
    e->line_file_count = (uint32_t)sources;
    e->line_files = TILE_NEW_ARRAY(&e->arena, LLVMMetadataRef, e->line_file_count);
    e->line_scopes = TILE_NEW_ARRAY(&e->arena, LLVMMetadataRef, e->line_file_count);
    LLVMMetadataRef file = file_of(e, loc.file);
    LLVMDIBuilderCreateCompileUnit(e->lines, LLVMDWARFSourceLanguageC11, file, "tile", 4, true, "",
                                   0, 0, "", 0, (LLVMDWARFEmissionKind)DIRECTIVES_ONLY, 0, false,
                                   false, "", 0, "", 0);
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(e->lines, file, NULL, 0, LLVMDIFlagZero);
    e->line_scope =
        LLVMDIBuilderCreateFunction(e->lines, file, e->f->name, strlen(e->f->name), "", 0, file,
                                    loc.line, type, false, true, loc.line, LLVMDIFlagZero, true);
    LLVMSetSubprogram(e->function, e->line_scope);
    e->line_scopes[loc.file] = e->line_scope;
    LLVMValueRef version = tile_llvm_int(e->i32, LLVMDebugMetadataVersion());
    LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18,
                      LLVMValueAsMetadata(version));
}

/* An operation without a location keeps the previous one. */
void tile_lines_set(tile_emitter *e, tile_op op) {
    tile_loc loc = place_of(e, op);
    if (!e->lines || !loc.line || loc.file >= e->line_file_count) return;
    if (!e->line_scopes[loc.file])
        e->line_scopes[loc.file] =
            LLVMDIBuilderCreateLexicalBlockFile(e->lines, e->line_scope, file_of(e, loc.file), 0);
    e->line_here = LLVMDIBuilderCreateDebugLocation(e->llvm, loc.line, loc.column,
                                                    e->line_scopes[loc.file], NULL);
    LLVMSetCurrentDebugLocation2(e->builder, e->line_here);
}

void tile_return_to(tile_emitter *e, LLVMBasicBlockRef block) {
    LLVMPositionBuilderAtEnd(e->builder, block);
    LLVMSetCurrentDebugLocation2(e->builder, e->line_here);
}

void tile_lines_end(tile_emitter *e) {
    if (!e->lines) return;
    LLVMDIBuilderFinalize(e->lines);
    LLVMDisposeDIBuilder(e->lines);
    e->lines = NULL;
}
