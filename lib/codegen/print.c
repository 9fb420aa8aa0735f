/* Output of a kernel to the host: assert and print, by vprintf and trap (CUDA C++ Programming
 * Guide, "Formatted Output"). The driver writes what has been printed when the host waits for the
 * grid. */
#include <string.h>

#include "lib/codegen/emitter.h"

/* A line under construction: the format text and the arguments of its conversions. */
typedef struct line {
    tile_emitter *e;
    const char *format;
    LLVMValueRef *args;
    size_t count, capacity;
} line;

static void append(line *l, const char *text) {
    l->format = tile_arena_format(&l->e->arena, "%s%s", l->format ? l->format : "", text);
}

/* Text of the user: each % is literal. */
static void append_text(line *l, const char *text) {
    for (; text && *text; text++) {
        const char one[] = {*text, 0};
        append(l, *text == '%' ? "%%" : one);
    }
}

static void append_value(line *l, const char *place, LLVMValueRef value) {
    append(l, place);
    l->args = tile_arena_grow(&l->e->arena, l->args, l->count, &l->capacity, sizeof *l->args);
    l->args[l->count++] = value;
}

/* Converts a number as C does for a variadic function. */
static void append_number(line *l, tile_scalar scalar, LLVMValueRef value) {
    tile_emitter *e = l->e;
    LLVMTypeRef f64 = LLVMDoubleTypeInContext(e->llvm);
    if (tile_scalar_is_floating(scalar)) {
        if (scalar != TILE_f64) value = LLVMBuildFPExt(e->builder, value, f64, "");
        append_value(l, scalar == TILE_f64 ? "%.17g" : "%g", value);
    } else if (tile_scalar_bits(scalar) == 64) {
        append_value(l, tile_scalar_is_unsigned(scalar) ? "%llu" : "%lld", value);
    } else {
        bool is_unsigned = tile_scalar_is_unsigned(scalar);
        bool extends = scalar != TILE_i1 && !is_unsigned;
        append_value(l, is_unsigned ? "%u" : "%d",
                     LLVMBuildIntCast2(e->builder, value, e->i32, extends, ""));
    }
}

static void append_block(line *l) {
    static const tile_machine ids[] = {TILE_MACHINE_block_id_x, TILE_MACHINE_block_id_y,
                                       TILE_MACHINE_block_id_z};
    static const char *const places[] = {"block (%d, ", "%d, ", "%d)"};
    for (unsigned d = 0; d < 3; d++)
        append_value(l, places[d], tile_machine_call(l->e, ids[d], NULL, 0));
}

/* The text as a global constant. */
static LLVMValueRef constant_text(tile_emitter *e, const char *text) {
    LLVMValueRef bytes = LLVMConstStringInContext2(e->llvm, text, strlen(text), false);
    LLVMValueRef global = LLVMAddGlobalInAddressSpace(
        e->module, LLVMTypeOf(bytes), tile_arena_format(&e->arena, "tile_text_%u", e->text_count++),
        SPACE_GLOBAL);
    LLVMSetInitializer(global, bytes);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    return LLVMConstAddrSpaceCast(global, LLVMPointerTypeInContext(e->llvm, SPACE_GENERIC));
}

/* Allocates the arguments in the entry block: elsewhere it would allocate on each execution. */
static LLVMValueRef build_room(tile_emitter *e, LLVMTypeRef type) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(e->function);
    LLVMPositionBuilderBefore(e->builder, LLVMGetFirstInstruction(entry));
    LLVMValueRef room = LLVMBuildAlloca(e->builder, type, "");
    tile_return_to(e, here);
    return room;
}

static void emit_line(line *l) {
    tile_emitter *e = l->e;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(e->llvm, SPACE_GENERIC);
    LLVMTypeRef parameters[] = {pointer, pointer};
    LLVMTypeRef signature = LLVMFunctionType(e->i32, parameters, 2, false);
    LLVMValueRef callee = LLVMGetNamedFunction(e->module, "vprintf");
    if (!callee) callee = LLVMAddFunction(e->module, "vprintf", signature);
    LLVMTypeRef *types = TILE_NEW_ARRAY(&e->arena, LLVMTypeRef, l->count + 1u);
    for (size_t i = 0; i < l->count; i++) types[i] = LLVMTypeOf(l->args[i]);
    LLVMTypeRef all = LLVMStructTypeInContext(e->llvm, types, (unsigned)l->count, false);
    LLVMValueRef room = build_room(e, all);
    for (size_t i = 0; i < l->count; i++)
        LLVMBuildStore(e->builder, l->args[i],
                       LLVMBuildStructGEP2(e->builder, all, room, (unsigned)i, ""));
    LLVMValueRef args[] = {constant_text(e, l->format), room};
    LLVMBuildCall2(e->builder, signature, callee, args, 2, "");
}

void tile_emit_print(tile_emitter *e, tile_op op) {
    const tile_values at = tile_operands_at(e->f, op);
    const tile_values src = tile_operands_src(e->f, op);
    const char *text = tile_op_attr_text(e->f, op, TILE_ATTR_text);
    line l = {.e = e};
    append_block(&l);
    append(&l, text ? ", " : "");
    append_text(&l, text);
    for (unsigned i = 0; i < at.count; i++) {
        append(&l, i ? ", " : " [");
        append_number(&l, TILE_i32, tile_get_scalar(e, at.at[i]));
    }
    append(&l, at.count ? "]" : "");
    for (unsigned i = 0; i < src.count; i++) {
        append(&l, i ? ", " : ": ");
        append_number(&l, tile_value_type(e->f, src.at[i])->scalar, tile_get_scalar(e, src.at[i]));
    }
    append(&l, "\n");
    emit_line(&l);
}

/* One thread writes for all active threads of its warp. */
static LLVMValueRef is_first_active(tile_emitter *e) {
    LLVMValueRef active = tile_machine_call(e, TILE_MACHINE_active_mask, NULL, 0);
    LLVMValueRef below = tile_machine_call(e, TILE_MACHINE_lanes_below, NULL, 0);
    LLVMValueRef others = LLVMBuildAnd(e->builder, active, below, "");
    return LLVMBuildICmp(e->builder, LLVMIntEQ, others, tile_llvm_int(e->i32, 0), "");
}

static void emit_failure(tile_emitter *e, tile_op op) {
    const tile_context *context = tile_function_context(e->f);
    const char *text = tile_op_attr_text(e->f, op, TILE_ATTR_text);
    tile_loc loc = tile_op_loc(e->f, op);
    line l = {.e = e};
    if (loc.line && loc.file < context->source_count)
        append_text(&l, tile_arena_format(&e->arena, "%s:%u:%u: ", context->sources[loc.file].name,
                                          loc.line, loc.column));
    append(&l, "assert: ");
    append_text(&l, text ? text : "the condition is false");
    append(&l, ", in ");
    append_block(&l);
    append(&l, "\n");
    emit_line(&l);
}

void tile_emit_assert(tile_emitter *e, tile_op op) {
    tile_value condition = tile_operand_condition(e->f, op);
    const tile_type *type = tile_value_type(e->f, condition);
    unsigned count = type->kind == TILE_TYPE_VECTOR ? (unsigned)tile_type_elements(type) : 1;
    LLVMValueRef holds = tile_get_element(e, condition, 0);
    for (unsigned i = 1; i < count; i++)
        holds = LLVMBuildAnd(e->builder, holds, tile_get_element(e, condition, i), "");
    LLVMBasicBlockRef fails = LLVMAppendBasicBlockInContext(e->llvm, e->function, "fails");
    LLVMBasicBlockRef says = LLVMAppendBasicBlockInContext(e->llvm, e->function, "says");
    LLVMBasicBlockRef stops = LLVMAppendBasicBlockInContext(e->llvm, e->function, "stops");
    LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(e->llvm, e->function, "");
    LLVMBuildCondBr(e->builder, holds, behind, fails);
    LLVMPositionBuilderAtEnd(e->builder, fails);
    LLVMBuildCondBr(e->builder, is_first_active(e), says, stops);
    LLVMPositionBuilderAtEnd(e->builder, says);
    emit_failure(e, op);
    LLVMBuildBr(e->builder, stops);
    LLVMPositionBuilderAtEnd(e->builder, stops);
    tile_machine_call(e, TILE_MACHINE_trap, NULL, 0);
    LLVMBuildBr(e->builder, behind);
    LLVMPositionBuilderAtEnd(e->builder, behind);
}

/* Earlier passes have used it. */
void tile_emit_assume(tile_emitter *e, tile_op op) {
    (void)e;
    (void)op;
}
