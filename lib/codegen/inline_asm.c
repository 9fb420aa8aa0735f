/* asm: the user's inline PTX, as one call of LLVM's inline assembly.
 *
 * A register is a PTX register: a scalar, or 32 bits of a vector's narrow elements. With effect
 * `pure` a call takes one register of each operand, so that a vector takes one call per register.
 * With any other effect one call takes all registers of all operands in their order. Pure calls may
 * be moved, merged and removed. All others stay in place and are executed by whole warps. */
#include <string.h>

#include "lib/codegen/emitter.h"
#include "lib/codegen/ptx.h"
#include "lib/ops/assembly.h"

typedef struct call {
    tile_emitter *e;
    tile_op op;
    LLVMValueRef *args;
    LLVMTypeRef *types;
    unsigned count, capacity;
    const char *constraints;
} call;

static LLVMTypeRef register_type(const tile_emitter *e, LLVMTypeRef type) {
    return type == e->i8 ? e->i16 : type;
}

static void constrain(call *c, const char *prefix, LLVMTypeRef type) {
    c->constraints = tile_arena_format(&c->e->arena, "%s%s%s%s", c->constraints,
                                       *c->constraints ? "," : "", prefix, tile_ptx_letter(type));
}

static void add_arg(call *c, LLVMValueRef value) {
    tile_emitter *e = c->e;
    if (LLVMTypeOf(value) == e->i8) value = LLVMBuildZExt(e->builder, value, e->i16, "");
    c->args[c->count] = value;
    c->types[c->count++] = LLVMTypeOf(value);
    constrain(c, "", LLVMTypeOf(value));
}

static LLVMTypeRef results_type(const tile_emitter *e, LLVMTypeRef one, unsigned count) {
    if (!count) return LLVMVoidTypeInContext(e->llvm);
    LLVMTypeRef *types = TILE_NEW_ARRAY((tile_arena *)&e->arena, LLVMTypeRef, count);
    for (unsigned i = 0; i < count; i++) types[i] = one;
    return count == 1 ? one : LLVMStructTypeInContext(e->llvm, types, count, false);
}

static void mark(const call *c, LLVMValueRef made, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddCallSiteAttribute(made, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(c->e->llvm, kind, 0));
}

/* Makes one call; results: `count` of this part type. */
static void finish(call *c, LLVMTypeRef part, unsigned count, LLVMValueRef *results) {
    tile_emitter *e = c->e;
    const char *text = tile_op_attr_text(e->f, c->op, TILE_ATTR_text);
    tile_word effect = tile_op_word(e->f, c->op, TILE_ATTR_effect);
    bool pure = effect == TILE_WORD_effect_pure, warp = effect == TILE_WORD_effect_warp;
    LLVMTypeRef one = count ? register_type(e, part) : NULL;
    if (!pure && !warp)
        c->constraints = tile_arena_format(&e->arena, "%s%s~{memory}", c->constraints,
                                           *c->constraints ? "," : "");
    LLVMTypeRef type = LLVMFunctionType(results_type(e, one, count), c->types, c->count, false);
    LLVMValueRef callee =
        LLVMGetInlineAsm(type, text, strlen(text), c->constraints, strlen(c->constraints), !pure,
                         false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef made = LLVMBuildCall2(e->builder, type, callee, c->args, c->count, "");
    mark(c, made, "nounwind");
    if (pure)
        mark(c, made, "memory"); /* value 0: accesses no memory */
    else
        mark(c, made, "convergent");
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef value = count > 1 ? LLVMBuildExtractValue(e->builder, made, i, "") : made;
        results[i] = part == e->i8 ? LLVMBuildTrunc(e->builder, value, e->i8, "") : value;
    }
}

static call begin(tile_emitter *e, tile_op op) {
    unsigned registers = 1;
    for (unsigned i = 0; i < tile_op_operand_count(e->f, op); i++)
        registers += tile_part_count(tile_value_type(e->f, tile_op_operand(e->f, op, i)));
    return (call){.e = e,
                  .op = op,
                  .args = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, registers),
                  .types = TILE_NEW_ARRAY(&e->arena, LLVMTypeRef, registers),
                  .constraints = ""};
}

/* Emits the call for register r of each operand; every call takes all scalars. */
static LLVMValueRef emit_register(tile_emitter *e, tile_op op, unsigned r, LLVMTypeRef part) {
    LLVMValueRef result;
    call c = begin(e, op);
    constrain(&c, "=", register_type(e, part));
    for (unsigned i = 0; i < tile_op_operand_count(e->f, op); i++) {
        tile_value value = tile_op_operand(e->f, op, i);
        bool alone = tile_part_count(tile_value_type(e->f, value)) == 1;
        add_arg(&c, tile_get_parts(e, value)[alone ? 0 : r]);
    }
    finish(&c, part, 1, &result);
    return result;
}

void tile_emit_asm(tile_emitter *e, tile_op op) {
    bool gives = tile_op_result_count(e->f, op) > 0;
    const tile_type *type = gives ? tile_value_type(e->f, tile_op_result(e->f, op, 0)) : NULL;
    LLVMValueRef *parts = gives ? tile_new_parts(e, type) : NULL;
    LLVMTypeRef part = gives ? tile_part_type(e, type) : NULL;
    unsigned count = gives ? tile_part_count(type) : 0;
    if (tile_op_word(e->f, op, TILE_ATTR_effect) == TILE_WORD_effect_pure) {
        for (unsigned r = 0; r < count; r++) parts[r] = emit_register(e, op, r, part);
    } else {
        call c = begin(e, op);
        for (unsigned i = 0; i < count; i++) constrain(&c, "=", register_type(e, part));
        for (unsigned i = 0; i < tile_op_operand_count(e->f, op); i++) {
            tile_value value = tile_op_operand(e->f, op, i);
            LLVMValueRef *from = tile_get_parts(e, value);
            for (unsigned k = 0; k < tile_part_count(tile_value_type(e->f, value)); k++)
                add_arg(&c, from[k]);
        }
        finish(&c, part, count, parts);
    }
    if (gives) tile_set_parts(e, tile_op_result(e->f, op, 0), parts);
}
