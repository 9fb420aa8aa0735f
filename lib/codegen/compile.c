/* From a parsed module to a lowered kernel and to PTX, in one call each. */
#include <string.h>

#include "lib/ir/function.h"
#include "lib/support/clock.h"
#include "lib/support/options.h"
#include "tile/compile.h"

/* The kernel of that name; without a name the only kernel there is. NULL after a diagnostic. */
static tile_function *choose_kernel(tile_module *module, const char *name) {
    tile_function *only = NULL;
    unsigned kernels = 0;
    for (tile_function *f = module->first; f; f = f->next) {
        if (f->kind != TILE_KERNEL || (name && strcmp(f->name, name) != 0)) continue;
        only = f;
        kernels++;
    }
    if (kernels == 1) return only;
    if (name)
        tile_report(module->context, TILE_ERROR, (tile_loc){0}, "there is no kernel @%s", name);
    else if (kernels)
        tile_report(module->context, TILE_ERROR, (tile_loc){0}, "there are %u kernels: name one",
                    kernels);
    else
        tile_report(module->context, TILE_ERROR, (tile_loc){0}, "there is no kernel");
    return NULL;
}

tile_status tile_lower(tile_module *module, const char *kernel, const tile_binding *bindings,
                       unsigned binding_count, const char *pipeline,
                       const tile_pass_options *options, tile_function **out) {
    if (out) *out = NULL;
    tile_function *f = module ? choose_kernel(module, kernel) : NULL;
    if (!f) return TILE_INVALID;
    const char *name = f->name;
    tile_pass_options passes;
    tile_take_options(&passes, sizeof passes, options);
    double begin = tile_seconds_now();
    tile_status status = tile_instantiate(module, name, bindings, binding_count, NULL);
    if (status != TILE_OK) return status;
    if (passes.timing) passes.timing("instantiate", tile_seconds_now() - begin, passes.report_user);
    passes.kernel = name;
    /* What is at level 3 already is compiled as it is written. */
    if (!pipeline) pipeline = tile_function_level(f) == 3 ? "" : tile_default_pipeline(3);
    status = tile_run_passes(module, pipeline, &passes);
    if (out) *out = status == TILE_OK ? tile_module_find(module, name) : NULL;
    return status;
}

tile_status tile_compile(tile_module *module, const char *kernel, const tile_binding *bindings,
                         unsigned binding_count, const tile_emit_options *options, tile_blob *ptx,
                         tile_abi **abi) {
    *ptx = (tile_blob){0};
    if (abi) *abi = NULL;
    tile_function *f;
    tile_emit_options emit;
    tile_take_options(&emit, sizeof emit, options);
    const tile_pass_options passes = {.size = sizeof passes,
                                      .target = emit.target,
                                      .timing = emit.timing,
                                      .report_user = emit.report_user};
    tile_status status = tile_lower(module, kernel, bindings, binding_count, NULL, &passes, &f);
    if (status == TILE_OK) status = tile_emit(f, TILE_EMIT_PTX, &emit, ptx);
    if (status != TILE_OK || !abi) return status;
    *abi = tile_abi_create(f);
    if (*abi) return TILE_OK;
    tile_blob_destroy(ptx);
    return TILE_INVALID;
}
