#include "tools/common/annotate.h"

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
