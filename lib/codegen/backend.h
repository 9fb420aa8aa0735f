/* LLVM's part of the work: what it must be told, the passes, PTX, and its ways to fail. */
#ifndef TILE_LIB_CODEGEN_BACKEND_H
#define TILE_LIB_CODEGEN_BACKEND_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "tile/compile.h"

/* LLVM objects of one emission and what it complained about. */
typedef struct tile_backend {
    tile_context *context;
    tile_loc loc; /* where complaints are reported that tell no place */
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    bool has_variables; /* allocas, which become registers first */
    /* LLVM may complain several times about one operation, and not each time say where it is. */
    unsigned errors;
    char first[256], last[256]; /* words of the first and of the last complaint */
    tile_loc place;             /* what one of them tells */
} tile_backend;

/* Creates the objects. TILE_FAILED after a diagnostic. */
tile_status tile_backend_open(tile_backend *backend, tile_context *context, tile_loc loc,
                              const char *module_name, const tile_target *target,
                              unsigned ptx_version);
void tile_backend_close(tile_backend *backend);

/* TILE_FAILED after one diagnostic for all complaints. */
tile_status tile_backend_optimize(tile_backend *backend);
tile_status tile_backend_print(tile_backend *backend, tile_emit_kind kind, tile_blob *out);

/* Runs step(user). Where LLVM gives up for good, its words become a diagnostic and TILE_FAILED
 * comes back; its objects are then in no state to be disposed of and stay allocated. */
tile_status tile_backend_guard(tile_backend *backend, tile_status (*step)(void *user), void *user);

/* True if LLVM can write this version of PTX. */
bool tile_backend_has_ptx(unsigned version);

#endif
