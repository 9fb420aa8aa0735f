/* tile_compile: from a parsed module to PTX in one call. */
#include <string.h>

#include "lib/ir/function.h"
#include "tile/compile.h"

/* The kernel of that name; without a name the only kernel there is. NULL after a diagnostic. */
static tile_function *choose_kernel(tile_module *module, const char *name) {
    tile_function *only = NULL;
    unsigned kernels = 0;
    for (tile_function *f = module->first; f; f = f->next) {
        if (f->kind != TILE_KERNEL || (name && strcmp(f->name, name) != 0))
            continue;
        only = f;
        kernels++;
    }
    if (kernels == 1)
        return only;
    if (name)
        tile_report(module->context, TILE_ERROR, (tile_loc){0}, "there is no kernel @%s", name);
    else
        tile_report(module->context, TILE_ERROR, (tile_loc){0},
                    kernels ? "there are %u kernels: name one" : "there is no kernel", kernels);
    return NULL;
}

static bool has_level_2(const tile_function *f) {
    for (uint32_t i = 1; i < f->op_count; i++) {
        unsigned levels = tile_op_get_info((tile_opcode)f->ops[i].opcode)->levels;
        if (f->ops[i].opcode && !(levels & TILE_LEVEL_3))
            return true;
    }
    return false;
}

/* At level 3 these have other types than at level 2: a view's value tells which it is. */
static bool has_view(const tile_function *f) {
    for (uint32_t i = 1; i < f->value_count; i++)
        if (f->values[i].type && f->values[i].type->kind == TILE_TYPE_VIEW)
            return true;
    return false;
}

tile_status tile_compile(tile_module *module, const char *kernel, const tile_binding *bindings,
                         unsigned binding_count, const tile_emit_options *options, tile_blob *ptx,
                         tile_abi **abi) {
    *ptx = (tile_blob){0};
    if (abi)
        *abi = NULL;
    tile_function *f = choose_kernel(module, kernel);
    if (!f)
        return TILE_INVALID;
    const char *name = f->name;
    tile_status status = tile_instantiate(module, name, bindings, binding_count, NULL);
    if (status != TILE_OK)
        return status;
    f = tile_module_find(module, name);
    const tile_pass_options pass_options = {.size = sizeof pass_options,
                                            .target = options->target,
                                            .kernel = name,
                                            .timing = options->timing,
                                            .report_user = options->report_user};
    const char *pipeline = tile_default_pipeline(has_level_2(f) || has_view(f) ? 2 : 3);
    status = tile_run_passes(module, pipeline, &pass_options);
    if (status != TILE_OK)
        return status;
    f = tile_module_find(module, name);
    status = tile_emit(f, TILE_EMIT_PTX, options, ptx);
    if (status != TILE_OK || !abi)
        return status;
    *abi = tile_abi_create(f);
    if (*abi)
        return TILE_OK;
    tile_blob_destroy(ptx);
    return TILE_INVALID;
}
