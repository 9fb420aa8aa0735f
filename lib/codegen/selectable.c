/* Code generation starts at instruction selection: the LLVM passes before it take longer than
 * selection itself, and our code needs none of them. Those passes also lower constructs that
 * selection cannot handle or silently miscompiles. We never emit such constructs; this file checks
 * that. */
#include "lib/codegen/selectable.h"

#include <stdbool.h>
#include <string.h>

/* Names (LLVM Language Reference) -------------------------------------------------------------- */

/* Intrinsics that pre-isel-intrinsic-lowering, scalarize-masked-mem-intrin, expand-reductions and
 * nvvm-reflect lower. */
static const char *const lowered[] = {
    "llvm.mem",           "llvm.masked.",         "llvm.vector.reduce.", "llvm.objc.",
    "llvm.load.relative", "llvm.is.constant",     "llvm.stackrest",      "llvm.experimental.",
    "llvm.vp.",           "llvm.stacksave",       "llvm.launder.invar",  "llvm.strip.invar",
    "llvm.lifetime",      "llvm.get.active.lane", "__nvvm_reflect",
};

static const char *check_declaration(LLVMValueRef function) {
    size_t length;
    const char *name = LLVMGetValueName2(function, &length);
    if (!LLVMIsDeclaration(function)) return NULL;
    for (unsigned i = 0; i < sizeof lowered / sizeof *lowered; i++)
        if (strncmp(name, lowered[i], strlen(lowered[i])) == 0) return name;
    return NULL;
}

/* "Identifiers" in the PTX ISA: nvptx-assign-valid-global-names renames all others. */
static bool is_identifier(LLVMValueRef global) {
    size_t length;
    const char *name = LLVMGetValueName2(global, &length);
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$";
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$0123456789";
    return length && strchr(first, *name) && strspn(name, rest) == length;
}

/* Instructions --------------------------------------------------------------------------------- */

static bool is_word(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           (LLVMGetIntTypeWidth(type) == 32 || LLVMGetIntTypeWidth(type) == 64);
}

static bool is_aggregate(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind;
}

/* Updates that atomic-expand does not change. */
static bool is_machine_update(LLVMValueRef update) {
    if (!is_word(LLVMTypeOf(update))) return false;
    switch (LLVMGetAtomicRMWBinOp(update)) {
    case LLVMAtomicRMWBinOpXchg:
    case LLVMAtomicRMWBinOpAdd:
    case LLVMAtomicRMWBinOpAnd:
    case LLVMAtomicRMWBinOpOr:
    case LLVMAtomicRMWBinOpXor:
    case LLVMAtomicRMWBinOpMax:
    case LLVMAtomicRMWBinOpMin:
    case LLVMAtomicRMWBinOpUMax:
    case LLVMAtomicRMWBinOpUMin: return true;
    default: return false;
    }
}

static const char *check_instruction(LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMAlloca: /* nvptx-lower-alloca makes accesses of variables local ones; without it,
                        passing an address to a call (print.c) is correct as well */
        return is_aggregate(LLVMGetAllocatedType(instruction)) ? NULL : "alloca";
    case LLVMUnreachable: return "unreachable"; /* nvptx-lower-unreachable */
    case LLVMFRem: return "frem";               /* expand-ir-insts */
    case LLVMInvoke: return "invoke";           /* lowerinvoke */
    case LLVMCallBr: return "callbr";
    case LLVMVAArg: return "va_arg";
    case LLVMLoad: /* nvptx-lower-aggr-copies */
        return is_aggregate(LLVMTypeOf(instruction)) ? "load of an aggregate" : NULL;
    case LLVMStore:
        return is_aggregate(LLVMTypeOf(LLVMGetOperand(instruction, 0))) ? "store of an aggregate"
                                                                        : NULL;
    case LLVMAtomicRMW: return is_machine_update(instruction) ? NULL : "atomicrmw";
    case LLVMAtomicCmpXchg:
        return is_word(LLVMTypeOf(LLVMGetOperand(instruction, 1))) ? NULL : "cmpxchg";
    default: return NULL;
    }
}

static const char *check_function(LLVMValueRef function, LLVMValueRef *at) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (*at = LLVMGetFirstInstruction(block); *at; *at = LLVMGetNextInstruction(*at)) {
            const char *found = check_instruction(*at);
            if (found) return found;
        }
    return NULL;
}

const char *tile_find_unselectable(LLVMModuleRef module, LLVMValueRef *at) {
    const char *found = NULL;
    *at = NULL;
    for (LLVMValueRef global = LLVMGetFirstGlobal(module); global;
         global = LLVMGetNextGlobal(global)) {
        if (!LLVMGetPointerAddressSpace(LLVMTypeOf(global)))
            return "global in generic address space"; /* generic-to-nvvm */
        if (!is_identifier(global)) return "name of a global";
    }
    for (LLVMValueRef function = LLVMGetFirstFunction(module); function && !found;
         function = LLVMGetNextFunction(function)) {
        bool defined = !LLVMIsDeclaration(function);
        if (defined && !is_identifier(function)) return "name of a function";
        found = defined ? check_function(function, at) : check_declaration(function);
    }
    return found;
}
