/* Whether LLVM's instruction selection can take a module as it is. */
#ifndef TILE_LIB_CODEGEN_SELECTABLE_H
#define TILE_LIB_CODEGEN_SELECTABLE_H

#include <llvm-c/Core.h>

/* Something in the module that only passes before selection would turn into instructions, in words;
 * NULL if there is nothing. *at is the instruction, NULL where it is none. */
const char *tile_find_unselectable(LLVMModuleRef module, LLVMValueRef *at);

#endif
