/* tile_emit: compiles one kernel at level 3 to LLVM IR or PTX. */
#include <stdlib.h>

#include "lib/codegen/backend.h"
#include "lib/codegen/emitter.h"
#include "lib/codegen/marked.h"
#include "lib/support/clock.h"
#include "lib/support/options.h"
#include "lib/support/target.h"

typedef struct emission {
    tile_emitter emitter;
    tile_backend backend;
    tile_emit_kind kind;
    tile_blob *out;
} emission;

/* Reports the time since *since and restarts it. */
static void report_time(const tile_emit_options *options, const char *step, double *since) {
    double at = tile_seconds_now();
    if (options->timing) options->timing(step, at - *since, options->report_user);
    *since = at;
}

static void begin_emitter(emission *em) {
    tile_emitter *e = &em->emitter;
    e->llvm = em->backend.llvm;
    e->module = em->backend.module;
    e->builder = LLVMCreateBuilderInContext(e->llvm);
    e->i1 = LLVMInt1TypeInContext(e->llvm);
    e->i8 = LLVMInt8TypeInContext(e->llvm);
    e->i16 = LLVMInt16TypeInContext(e->llvm);
    e->i32 = LLVMInt32TypeInContext(e->llvm);
    e->i64 = LLVMInt64TypeInContext(e->llvm);
}

static tile_status run(void *user) {
    emission *em = user;
    const tile_emit_options *options = em->emitter.options;
    double since = tile_seconds_now();
    begin_emitter(em);
    tile_emit_kernel(&em->emitter);
    LLVMDisposeBuilder(em->emitter.builder);
    report_time(options, "llvm-build", &since);
    tile_status status = tile_backend_optimize(&em->backend);
    report_time(options, "llvm-passes", &since);
    if (status == TILE_OK) status = tile_backend_print(&em->backend, em->kind, em->out);
    report_time(options, em->kind == TILE_EMIT_PTX ? "llvm-ptx" : "llvm-print", &since);
    return status;
}

/* Chooses the requested version, if the code can be written in it. */
static tile_status choose_ptx(const tile_function *kernel, const tile_emit_options *options,
                              unsigned *version) {
    tile_context *context = tile_function_context(kernel);
    unsigned asked = options->ptx_version;
    tile_status status = tile_emit_check(kernel, options->target, asked, version);
    if (status != TILE_OK || !asked) return status;
    if (!tile_backend_has_ptx(asked)) {
        tile_report(context, TILE_ERROR, (tile_loc){0}, "PTX version %u.%u is not supported",
                    asked / 10, asked % 10);
        return TILE_INVALID;
    }
    if (asked < *version) {
        tile_error_at(kernel, TILE_NO_OP, "@%s for %s needs PTX %u.%u, not %u.%u", kernel->name,
                      options->target->name, *version / 10, *version % 10, asked / 10, asked % 10);
        return TILE_INVALID;
    }
    *version = asked;
    return TILE_OK;
}

static tile_status emit(const tile_function *kernel, tile_emit_kind kind,
                        const tile_emit_options *options, bool is_marked, tile_blob *out) {
    tile_context *context = tile_function_context(kernel);
    unsigned ptx_version;
    if (!tile_target_check(context, kernel->loc, options->target)) return TILE_INVALID;
    if (kind != TILE_EMIT_LLVM && kind != TILE_EMIT_PTX) {
        tile_error_at(kernel, TILE_NO_OP, "there is no output of kind %d", (int)kind);
        return TILE_INVALID;
    }
    tile_status status = choose_ptx(kernel, options, &ptx_version);
    if (status != TILE_OK) return status;
    double since = tile_seconds_now();
    emission em = {.emitter = {.f = kernel,
                               .options = options,
                               .ptx_version = ptx_version,
                               .is_marked = is_marked},
                   .kind = kind,
                   .out = out};
    status = tile_backend_open(&em.backend, context, kernel->loc, kernel->name, options->target,
                               ptx_version);
    report_time(options, "llvm-start", &since);
    em.backend.has_variables = options->stamps;
    if (status == TILE_OK) status = tile_backend_guard(&em.backend, run, &em);
    tile_backend_close(&em.backend);
    tile_arena_reset(&em.emitter.arena);
    return status;
}

tile_status tile_emit(const tile_function *kernel, tile_emit_kind kind,
                      const tile_emit_options *given, tile_blob *out) {
    TILE_GUARD(kernel ? tile_function_context(kernel) : NULL, TILE_OUT_OF_MEMORY)
    tile_emit_options options;
    *out = (tile_blob){0};
    if (!kernel) return TILE_INVALID;
    if (!TILE_TAKE_OPTIONS(tile_function_context(kernel), tile_emit_options, &options, given))
        return TILE_INVALID;
    return emit(kernel, kind, &options, false, out);
}

tile_status tile_emit_marked(const tile_function *kernel, tile_emit_kind kind,
                             const tile_emit_options *options, tile_blob *out) {
    *out = (tile_blob){0};
    tile_diversion diversion = tile_context_divert(tile_function_context(kernel), NULL, NULL);
    tile_status status = emit(kernel, kind, options, true, out);
    tile_context_restore(&diversion);
    return status;
}

void tile_blob_destroy(tile_blob *blob) {
    if (!blob) return;
    free(blob->data);
    *blob = (tile_blob){0};
}
