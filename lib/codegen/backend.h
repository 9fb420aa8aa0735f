/* The interface to LLVM: options, passes, PTX output and error handling. */
#ifndef TILE_LIB_CODEGEN_BACKEND_H
#define TILE_LIB_CODEGEN_BACKEND_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "tile/compile.h"

/* The LLVM objects of one emission and the diagnostics that LLVM reported. */
typedef struct tile_backend {
    tile_context *context;
    tile_loc loc; /* reported for diagnostics without a location */
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    bool has_variables; /* allocas, which are promoted to registers first */
    /* LLVM may report several errors for one operation, and not all of them have a location. */
    unsigned errors;
    char first[256], last[256]; /* text of the first and of the last error */
    tile_loc place;             /* location of one of them */
} tile_backend;

/* Creates the objects. TILE_FAILED after a diagnostic. */
tile_status tile_backend_open(tile_backend *backend, tile_context *context, tile_loc loc,
                              const char *module_name, const tile_target *target,
                              unsigned ptx_version);
void tile_backend_close(tile_backend *backend);

/* These return TILE_FAILED after one diagnostic for all errors that LLVM reported. */
tile_status tile_backend_optimize(tile_backend *backend);
tile_status tile_backend_print(tile_backend *backend, tile_emit_kind kind, tile_blob *out);

/* Runs step(user). If LLVM has a fatal error, its message becomes a diagnostic and the result is
 * TILE_FAILED. LLVM's objects are then in an invalid state and are leaked. */
tile_status tile_backend_guard(tile_backend *backend, tile_status (*step)(void *user), void *user);

/* Returns whether LLVM can write this version of PTX. */
bool tile_backend_has_ptx(unsigned version);

#endif
