/* For tests that run LLVM's passes on the emitted code. */
#ifndef TILE_TEST_UNIT_LLVM_FIXTURE_H
#define TILE_TEST_UNIT_LLVM_FIXTURE_H

#include <criterion/criterion.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

#include "tile/compile.h"

/* Runs the passes; ir is LLVM IR, and is replaced by the result. */
static inline void run_llvm_passes(tile_blob *ir, const char *passes) {
    LLVMContextRef llvm = LLVMContextCreate();
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir->data, ir->size, "");
    LLVMModuleRef module;
    char *message;
    cr_assert_eq(LLVMParseIRInContext2(llvm, buffer, &module, &message), 0, "%s", message);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    cr_assert_null(LLVMRunPasses(module, passes, NULL, options));
    char *text = LLVMPrintModuleToString(module);
    tile_blob_destroy(ir);
    ir->size = strlen(text);
    ir->data = malloc(ir->size + 1);
    memcpy(ir->data, text, ir->size + 1);
    LLVMDisposeMessage(text);
    LLVMDisposePassBuilderOptions(options);
    LLVMDisposeModule(module);
    LLVMDisposeMemoryBuffer(buffer);
    LLVMContextDispose(llvm);
}

/* Folds constants with LLVM, so that its results can be compared with ours. */
static inline void fold_with_llvm(tile_blob *ir) {
    run_llvm_passes(ir, "function(instcombine<no-verify-fixpoint>)");
}

#endif
