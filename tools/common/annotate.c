#include "tools/common/annotate.h"

#include <stdlib.h>

#include "tools/common/assembler.h"

tile_module *tool_lower_copy(const tile_module *module, const char *kernel,
                             const tile_build_options *wanted, tool_remarks remarks) {
    tile_context *context = tile_module_context(module);
    tile_module *copy = tile_module_clone(module);
    tile_artifact *artifact = NULL;
    tile_build_options only = *wanted;
    only.wants = 0;
    only.cache = NULL;
    only.timing = NULL;
    tile_context_set_sink(context, NULL, NULL);
    tile_artifact_build(copy, kernel, &only, &artifact);
    tile_artifact_destroy(artifact);
    tool_print_remarks(context, remarks);
    return copy;
}

bool tool_put_code(const tile_dump_options *dump, const tile_module *lowered, const tile_blob *code,
                   tool_text *text) {
    tile_dump_options options = *dump;
    tile_blob annotated = {NULL, 0};
    bool ok = true;
    if (lowered) {
        options.kernel = tile_module_find(lowered, tile_abi_entry(options.abi));
        ok = tile_annotate(&options, code, &annotated) == TILE_OK;
        code = &annotated;
    }
    if (ok) tool_append(code->data, code->size, text);
    tile_blob_destroy(&annotated);
    return ok;
}

const char *tool_find_disassembler(const char *given, char **found) {
    *found = given ? NULL : tool_find_cuda_program("nvdisasm");
    if (!*found && !given) *found = tool_find_cuda_program("cuobjdump");
    return given ? given : *found;
}

bool tool_find_spills(const tile_dump_options *dump, const tile_module *lowered,
                      const tile_blob *ptx, tile_resources *resources) {
    if (!lowered || !(resources->spill_store_bytes || resources->spill_load_bytes)) return true;
    tile_context *context = tile_module_context(lowered);
    tile_dump_options options = *dump;
    tile_blob sass = {NULL, 0};
    char *found;
    options.kernel = tile_module_find(lowered, tile_abi_entry(options.abi));
    options.disassembler = tool_find_disassembler(dump->disassembler, &found);
    bool ok = !options.disassembler ||
              (tile_disassemble(context, ptx, options.emit->target, options.ptxas,
                                options.disassembler, &sass) == TILE_OK &&
               tile_inspect_spills(&options, &sass, resources) == TILE_OK);
    tile_blob_destroy(&sass);
    free(found);
    return ok;
}
