/* Inline PTX: translates a template and operands to LLVM's text, constraints and call. */
#include "lib/codegen/ptx.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/support/arena.h"

/* Text ----------------------------------------------------------------------------------------- */

typedef struct text {
    tile_arena *arena;
    char *data;
    size_t length, capacity;
} text;

static void append(text *to, const char *piece) {
    for (; *piece; piece++) {
        to->data = tile_arena_grow(to->arena, to->data, to->length, &to->capacity, 1);
        to->data[to->length++] = *piece;
    }
}

static void append_number(text *to, const char *before, unsigned number) {
    char digits[16];
    snprintf(digits, sizeof digits, "%u", number);
    append(to, before);
    append(to, digits);
}

/* Operands ------------------------------------------------------------------------------------- */

tile_ptx tile_ptx_begin(tile_emitter *e, tile_machine machine) {
    return (tile_ptx){.e = e, .machine = machine, .modifiers = "", .tail = ""};
}

void tile_ptx_modify(tile_ptx *ptx, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *more = tile_arena_vformat(&ptx->e->arena, format, args);
    va_end(args);
    ptx->modifiers = tile_arena_format(&ptx->e->arena, "%s%s", ptx->modifiers, more);
}

void tile_ptx_set_tail(tile_ptx *ptx, const char *tail) {
    ptx->tail = tail;
}

static void push(tile_ptx *ptx, tile_ptx_list *to, LLVMValueRef value) {
    to->values =
        tile_arena_grow(&ptx->e->arena, to->values, to->count, &to->capacity, sizeof *to->values);
    to->values[to->count++] = value;
}

static void open_group(tile_ptx *ptx, bool is_result, unsigned count) {
    ptx->groups = tile_arena_grow(&ptx->e->arena, ptx->groups, ptx->group_count,
                                  &ptx->group_capacity, sizeof *ptx->groups);
    size_t first = is_result ? ptx->results.count : ptx->inputs.count;
    ptx->groups[ptx->group_count++] =
        (tile_ptx_group){.is_result = is_result, .first = (unsigned)first, .count = count};
}

void tile_ptx_add_results(tile_ptx *ptx, const LLVMTypeRef *types, unsigned count) {
    open_group(ptx, true, count);
    for (unsigned i = 0; i < count; i++) push(ptx, &ptx->results, LLVMGetPoison(types[i]));
}

void tile_ptx_add_zeroed(tile_ptx *ptx, const LLVMTypeRef *types, unsigned count) {
    tile_ptx_add_filled(ptx, types, count, 0);
}

void tile_ptx_add_filled(tile_ptx *ptx, const LLVMTypeRef *types, unsigned count, uint32_t fill) {
    ptx->zeroed = true;
    ptx->fill = fill;
    tile_ptx_add_results(ptx, types, count);
}

void tile_ptx_add_tied(tile_ptx *ptx, const LLVMValueRef *values, unsigned count) {
    ptx->tied = true;
    open_group(ptx, true, count);
    for (unsigned i = 0; i < count; i++) push(ptx, &ptx->results, values[i]);
}

/* Returns where these inputs occur consecutively; the number of inputs if nowhere. */
static size_t find_inputs(const tile_ptx *ptx, const LLVMValueRef *values, unsigned count) {
    for (size_t first = 0; count && first + count <= ptx->inputs.count; first++)
        if (memcmp(ptx->inputs.values + first, values, count * sizeof *values) == 0) return first;
    return ptx->inputs.count;
}

void tile_ptx_add_inputs(tile_ptx *ptx, const LLVMValueRef *values, unsigned count) {
    size_t found = find_inputs(ptx, values, count);
    open_group(ptx, false, count);
    ptx->groups[ptx->group_count - 1].first = (unsigned)found;
    if (found < ptx->inputs.count) return;
    for (unsigned i = 0; i < count; i++) push(ptx, &ptx->inputs, values[i]);
}

void tile_ptx_add_sums(tile_ptx *ptx, const uint32_t *registers, unsigned count) {
    open_group(ptx, false, count);
    ptx->groups[ptx->group_count - 1].sums = registers;
    ptx->ordered = true;
}

/* Size of an element, in bytes, for addresses as address.c builds them. */
static int64_t bytes_of(LLVMTypeRef element) {
    switch (LLVMGetTypeKind(element)) {
    case LLVMDoubleTypeKind: return 8;
    case LLVMFloatTypeKind: return 4;
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 2;
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(element) / 8;
    default: return 0; /* unknown */
    }
}

/* Returns whether an address is its operand plus a constant, which is *bytes. */
static bool constant_step(LLVMValueRef address, int64_t *bytes) {
    if (!LLVMIsAGetElementPtrInst(address) || LLVMGetNumOperands(address) != 2) return false;
    LLVMValueRef index = LLVMGetOperand(address, 1);
    int64_t size = bytes_of(LLVMGetGEPSourceElementType(address));
    if (!size || !LLVMIsAConstantInt(index)) return false;
    return !__builtin_mul_overflow(LLVMConstIntGetSExtValue(index), size, bytes);
}

void tile_ptx_add_address(tile_ptx *ptx, LLVMValueRef address) {
    int64_t offset = 0, bytes;
    while (constant_step(address, &bytes) && !__builtin_add_overflow(offset, bytes, &bytes) &&
           bytes == (int32_t)bytes) {
        offset = bytes;
        address = LLVMGetOperand(address, 0);
    }
    tile_ptx_add_inputs(ptx, &address, 1);
    ptx->groups[ptx->group_count - 1].offset = (int32_t)offset;
}

void tile_ptx_put_before(tile_ptx *ptx, const char *instruction) {
    ptx->before = instruction;
}

void tile_ptx_next(tile_ptx *ptx, unsigned first) {
    if (!ptx->count) ptx->shared = (unsigned)ptx->group_count;
    if (ptx->count == 1) ptx->own = (unsigned)ptx->group_count - ptx->shared;
    ptx->firsts = tile_arena_grow(&ptx->e->arena, ptx->firsts, ptx->count, &ptx->capacity,
                                  sizeof *ptx->firsts);
    ptx->firsts[ptx->count++] = first;
}

/* Types ---------------------------------------------------------------------------------------- */

static bool is_byte(const tile_ptx *ptx, LLVMValueRef value) {
    return LLVMTypeOf(value) == ptx->e->i8;
}

static LLVMTypeRef register_type(const tile_ptx *ptx, LLVMValueRef value) {
    return is_byte(ptx, value) ? ptx->e->i16 : LLVMTypeOf(value);
}

static LLVMValueRef to_register(const tile_ptx *ptx, LLVMValueRef value) {
    return is_byte(ptx, value) ? LLVMBuildZExt(ptx->e->builder, value, ptx->e->i16, "") : value;
}

/* The constraint letters of PTX registers by size (LLVM Language Reference, "NVPTX"). */
const char *tile_ptx_letter(LLVMTypeRef type) {
    switch (LLVMGetTypeKind(type)) {
    case LLVMFloatTypeKind: return "f";
    case LLVMDoubleTypeKind: return "d";
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return "h";
    case LLVMPointerTypeKind: {
        unsigned space = LLVMGetPointerAddressSpace(type);
        return space == SPACE_SHARED || space == SPACE_CLUSTER ? "r" : "l";
    }
    case LLVMIntegerTypeKind: {
        unsigned bits = LLVMGetIntTypeWidth(type);
        return bits == 1 ? "b" : bits <= 16 ? "h" : bits == 32 ? "r" : "l";
    }
    default: return "r"; /* a vector fills one 32-bit register */
    }
}

/* The call ------------------------------------------------------------------------------------- */

/* LLVM numbers the results, then the inputs. vector: in braces even if it is one register. */
static void append_group(const tile_ptx *ptx, text *to, const tile_ptx_group *group, bool vector) {
    unsigned first = group->first + (group->is_result ? 0 : (unsigned)ptx->results.count);
    vector |= group->count > 1;
    if (vector) append(to, "{");
    for (unsigned i = 0; i < group->count; i++) {
        if (i) append(to, ", ");
        append_number(to, group->sums ? "%sum" : "$", group->sums ? group->sums[i] : first + i);
    }
    if (vector) append(to, "}");
    if (group->offset) append(to, tile_arena_format(to->arena, "+%" PRId32, group->offset));
}

/* $0 is group `first`, $1 is `rest`; {$1} is always a vector. */
static void append_instruction(const tile_ptx *ptx, text *code, unsigned first, unsigned rest) {
    for (const char *at = tile_machine_text(ptx->machine); *at; at++) {
        const char one[2] = {*at, 0};
        bool vector = at[0] == '{' && at[1] == '$';
        at += vector;
        if (*at == '*') {
            append(code, ptx->modifiers);
        } else if (*at == '#') {
            append(code, ptx->tail);
        } else if (*at == '$') {
            unsigned group = (unsigned)(*++at - '0');
            append_group(ptx, code, &ptx->groups[group ? rest + group - 1 : first], vector);
            at += vector;
        } else {
            append(code, one);
        }
    }
}

/* Size of a register in bits. */
static unsigned register_bits(LLVMTypeRef type) {
    switch (*tile_ptx_letter(type)) {
    case 'd':
    case 'l': return 64;
    case 'h': return 16;
    default: return 32;
    }
}

static void append_fill(const tile_ptx *ptx, text *code) {
    for (unsigned i = 0; i < ptx->results.count; i++) {
        append_number(code, "mov.b", register_bits(register_type(ptx, ptx->results.values[i])));
        append_number(code, " $", i);
        append_number(code, ", ", ptx->fill);
        append(code, ";\n\t");
    }
}

static text write_code(const tile_ptx *ptx) {
    text code = {.arena = &ptx->e->arena};
    if (ptx->zeroed) append_fill(ptx, &code);
    if (ptx->before) {
        append(&code, ptx->before);
        append(&code, "\n\t");
    }
    if (!ptx->count) append_instruction(ptx, &code, 0, 1);
    for (unsigned i = 0; i < ptx->count; i++) {
        if (i) append(&code, "\n\t");
        append_instruction(ptx, &code, ptx->firsts[i], ptx->shared + i * ptx->own);
    }
    return code;
}

static text write_constraints(const tile_ptx *ptx) {
    text to = {.arena = &ptx->e->arena};
    const char *comma = "";
    for (size_t i = 0; i < ptx->results.count; i++, comma = ",") {
        append(&to, comma);
        append(&to, ptx->zeroed ? "=&" : "="); /* early clobber */
        append(&to, tile_ptx_letter(register_type(ptx, ptx->results.values[i])));
    }
    for (size_t i = 0; i < ptx->inputs.count; i++, comma = ",") {
        append(&to, comma);
        append(&to, tile_ptx_letter(register_type(ptx, ptx->inputs.values[i])));
    }
    for (size_t i = 0; ptx->tied && i < ptx->results.count; i++)
        append_number(&to, ",", (unsigned)i);
    if (tile_machine_marks(ptx->machine) & TILE_MACHINE_MEMORY) {
        append(&to, comma);
        append(&to, "~{memory}");
    }
    return to;
}

static LLVMTypeRef result_type(const tile_ptx *ptx) {
    size_t count = ptx->results.count;
    if (count == 0) return LLVMVoidTypeInContext(ptx->e->llvm);
    LLVMTypeRef *types = TILE_NEW_ARRAY(&ptx->e->arena, LLVMTypeRef, count);
    for (size_t i = 0; i < count; i++) types[i] = register_type(ptx, ptx->results.values[i]);
    return count == 1 ? types[0]
                      : LLVMStructTypeInContext(ptx->e->llvm, types, (unsigned)count, false);
}

static LLVMValueRef *collect_args(const tile_ptx *ptx, LLVMTypeRef *types, unsigned *count) {
    size_t tied = ptx->tied ? ptx->results.count : 0;
    LLVMValueRef *args = TILE_NEW_ARRAY(&ptx->e->arena, LLVMValueRef, ptx->inputs.count + tied + 1);
    *count = 0;
    for (size_t i = 0; i < ptx->inputs.count; i++)
        args[(*count)++] = to_register(ptx, ptx->inputs.values[i]);
    for (size_t i = 0; i < tied; i++) args[(*count)++] = to_register(ptx, ptx->results.values[i]);
    for (unsigned i = 0; i < *count; i++) types[i] = LLVMTypeOf(args[i]);
    return args;
}

void tile_ptx_call(tile_ptx *ptx, LLVMValueRef *results) {
    tile_emitter *e = ptx->e;
    unsigned marks = tile_machine_marks(ptx->machine), count;
    text code = write_code(ptx), constraints = write_constraints(ptx);
    LLVMTypeRef *types =
        TILE_NEW_ARRAY(&e->arena, LLVMTypeRef, ptx->inputs.count + ptx->results.count + 1);
    LLVMValueRef *args = collect_args(ptx, types, &count);
    LLVMTypeRef type = LLVMFunctionType(result_type(ptx), types, count, false);
    LLVMValueRef callee = LLVMGetInlineAsm(
        type, code.data, code.length, constraints.data, constraints.length,
        ptx->ordered || marks & TILE_MACHINE_MEMORY, false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef call = LLVMBuildCall2(e->builder, type, callee, args, count, "");
    tile_machine_mark(e, ptx->machine, call);
    for (size_t i = 0; i < ptx->results.count; i++) {
        LLVMValueRef one = ptx->results.count > 1
                               ? LLVMBuildExtractValue(e->builder, call, (unsigned)i, "")
                               : call;
        results[i] =
            is_byte(ptx, ptx->results.values[i]) ? LLVMBuildTrunc(e->builder, one, e->i8, "") : one;
    }
}
