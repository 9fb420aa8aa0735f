/* Checks that LLVM's instruction selection can take a module without earlier passes. */
#ifndef TILE_LIB_CODEGEN_SELECTABLE_H
#define TILE_LIB_CODEGEN_SELECTABLE_H

#include <llvm-c/Core.h>

/* Returns a description of something in the module that only passes before selection would lower to
 * instructions; NULL if there is nothing. *at is the instruction, NULL if it is not an instruction.
 */
const char *tile_find_unselectable(LLVMModuleRef module, LLVMValueRef *at);

#endif
