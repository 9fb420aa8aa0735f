/* Atomic accesses, compare-and-swap and fences. Only this file emits them.
 *
 * LLVM's atomicrmw is never used: for NVPTX it loses its ordering and scope. If PTX has an
 * instruction for a type and a kind, it is emitted as inline PTX: `red` if the old elements are not
 * used, else `atom`, on as many adjacent elements as one instruction of the target takes.
 * Everything else is a compare-and-swap loop on the element's own bits, or on the word that
 * contains a byte. */
#include <string.h>

#include "lib/codegen/ptx.h"
#include "lib/ops/atomic.h"

/* What an instruction takes -------------------------------------------------------------------- */

typedef struct instruction {
    const char *type; /* ".f32"; NULL: no instruction, a loop is emitted */
    unsigned parts;   /* registers of one instruction */
} instruction;

typedef struct atomic_access {
    tile_op op;
    const tile_type *type; /* of the value */
    tile_word kind;        /* NONE: compare-and-swap */
    bool shared;
    bool result; /* the old elements are used */
} atomic_access;

static const char *integer_type(tile_word kind, tile_scalar scalar) {
    _Static_assert(
        TILE_WORDS_kind == 17,
        "bits have and, or, xor and exch, other operations have others, and the rest has a case");
    bool is_long = tile_scalar_bits(scalar) == 64, is_unsigned = tile_scalar_is_unsigned(scalar);
    switch (kind) {
    case TILE_WORD_kind_add: return is_long ? ".u64" : ".s32"; /* wraps: signs are alike */
    case TILE_WORD_kind_min:
    case TILE_WORD_kind_max:
        if (is_unsigned) return is_long ? ".u64" : ".u32";
        return is_long ? ".s64" : ".s32";
    default: return is_long ? ".b64" : ".b32";
    }
}

/* A part is a scalar or a pair of 16-bit floats. */
static instruction add_of_floats(const atomic_access *a, const tile_target *target) {
    unsigned parts = tile_part_count(a->type);
    bool newer = tile_target_has(target, TILE_FEATURE_vector_atomics);
    bool pairs = tile_pack(a->type) == 2, vectors = newer && !a->shared;
    unsigned most = vectors ? 4 : 1;
    if (most > parts) most = parts;
    switch (a->type->scalar) {
    case TILE_f32: return (instruction){".f32", most};
    case TILE_f64: return (instruction){".f64", 1};
    case TILE_f16: return (instruction){pairs ? ".f16x2" : ".f16", pairs ? most : 1};
    case TILE_bf16:
        if (!newer) break; /* requires the same targets as the vectors */
        return (instruction){pairs ? ".bf16x2" : ".bf16", pairs ? most : 1};
    default: break;
    }
    return (instruction){NULL, 1};
}

/* PTX's float minima and maxima cannot be used: here NaN loses, on either side. */
static instruction choose(const atomic_access *a, const tile_target *target) {
    tile_scalar scalar = a->type->scalar;
    bool word = tile_scalar_bits(scalar) >= 32;
    if (a->kind == TILE_WORD_kind_exch)
        return (instruction){!word ? NULL : tile_scalar_bits(scalar) == 64 ? ".b64" : ".b32", 1};
    if (!tile_scalar_is_floating(scalar) && a->kind)
        return (instruction){word ? integer_type(a->kind, scalar) : NULL, 1};
    return a->kind == TILE_WORD_kind_add ? add_of_floats(a, target) : (instruction){NULL, 1};
}

static atomic_access access_of(const tile_function *f, tile_op op, const uint32_t *uses) {
    atomic_access a = {.op = op, .kind = tile_op_word(f, op, TILE_ATTR_kind)};
    a.type = tile_value_type(f, tile_moved_operand(f, op));
    a.shared = tile_value_type(f, tile_operand_dst(f, op))->kind == TILE_TYPE_SHARED;
    a.result = uses[tile_op_result(f, op, 0).id] > 0;
    return a;
}

/* `red` has at most release ordering, and no exchange. */
static bool is_red(const tile_function *f, const atomic_access *a) {
    return !a->result && !tile_op_acquires(f, a->op) && a->kind != TILE_WORD_kind_exch;
}

static tile_machine machine_of(const tile_function *f, const atomic_access *a, unsigned parts,
                               bool predicated) {
    if (is_red(f, a) && parts > 1)
        return predicated ? TILE_MACHINE_red_vector_if : TILE_MACHINE_red_vector;
    if (is_red(f, a)) return predicated ? TILE_MACHINE_red_if : TILE_MACHINE_red;
    if (parts > 1) return predicated ? TILE_MACHINE_atom_vector_if : TILE_MACHINE_atom_vector;
    return predicated ? TILE_MACHINE_atom_if : TILE_MACHINE_atom;
}

tile_machine tile_atomic_machine(const tile_function *f, tile_op op, const tile_target *target,
                                 const uint32_t *uses) {
    atomic_access a = access_of(f, op, uses);
    instruction one = choose(&a, target);
    return one.type ? machine_of(f, &a, one.parts, false) : TILE_MACHINE_atom_cas;
}

/* Modifiers of the instruction ----------------------------------------------------------------- */

/* On targets without clusters, the scope becomes the whole device. */
static const char *scope_of(const tile_emitter *e, tile_op op) {
    const char *scope = tile_op_attr_text(e->f, op, TILE_ATTR_scope);
    if (!scope) return "gpu";
    bool cluster = strcmp(scope, "cluster") == 0;
    return cluster && !tile_target_has(e->options->target, TILE_FEATURE_cluster) ? "gpu" : scope;
}

static const char *ordering_of(const tile_emitter *e, tile_op op) {
    const char *ordering = tile_op_attr_text(e->f, op, TILE_ATTR_ordering);
    return ordering ? ordering : "relaxed";
}

static const char *space_of(const atomic_access *a) {
    return a->shared ? "shared" : "global";
}

/* ".relaxed.gpu.global.add.noftz.v4.f16x2" */
static void modify(tile_ptx *ptx, const tile_emitter *e, const atomic_access *a,
                   const instruction *one) {
    bool half = strstr(one->type, "f16") != NULL;
    tile_ptx_modify(ptx, ".%s.%s.%s.%s%s", ordering_of(e, a->op), scope_of(e, a->op), space_of(a),
                    tile_op_attr_text(e->f, a->op, TILE_ATTR_kind), half ? ".noftz" : "");
    if (one->parts > 1) tile_ptx_modify(ptx, ".v%u", one->parts);
    tile_ptx_modify(ptx, "%s", one->type);
}

/* Instructions --------------------------------------------------------------------------------- */

static LLVMValueRef offset_address(tile_emitter *e, const atomic_access *a, LLVMValueRef address,
                                   unsigned element) {
    LLVMValueRef index = tile_llvm_int(e->i32, element);
    if (element == 0) return address;
    return LLVMBuildGEP2(e->builder, tile_llvm_scalar(e, a->type->scalar), address, &index, 1, "");
}

/* If the predicate is false, the old elements are zeros. */
static void emit_one(tile_emitter *e, const atomic_access *a, const instruction *one,
                     LLVMValueRef address, LLVMValueRef predicate, LLVMValueRef *parts,
                     LLVMValueRef *old) {
    enum { MAX_PARTS = 4 };
    bool red = is_red(e->f, a);
    LLVMTypeRef types[MAX_PARTS];
    tile_ptx ptx = tile_ptx_begin(e, machine_of(e->f, a, one->parts, predicate != NULL));
    for (unsigned i = 0; i < one->parts; i++) types[i] = LLVMTypeOf(parts[i]);
    modify(&ptx, e, a, one);
    if (!red && predicate) tile_ptx_add_zeroed(&ptx, types, one->parts);
    if (!red && !predicate) tile_ptx_add_results(&ptx, types, one->parts);
    tile_ptx_add_address(&ptx, address);
    if (predicate) tile_ptx_add_inputs(&ptx, &predicate, 1);
    tile_ptx_add_inputs(&ptx, parts, one->parts);
    tile_ptx_call(&ptx, red ? NULL : old);
}

static void emit_native(tile_emitter *e, const atomic_access *a, const instruction *one,
                        LLVMValueRef address, LLVMValueRef predicate) {
    LLVMValueRef *parts = tile_get_parts(e, tile_operand_src(e->f, a->op));
    LLVMValueRef *old = tile_new_parts(e, a->type);
    unsigned pack = tile_pack(a->type);
    for (unsigned i = 0; i < tile_part_count(a->type); i += one->parts)
        emit_one(e, a, one, offset_address(e, a, address, i * pack), predicate, parts + i, old + i);
    tile_set_parts(e, tile_op_result(e->f, a->op, 0), old);
}

/* Loops ---------------------------------------------------------------------------------------- */

/* A memory cell that compare-and-swap can access: the element's own bits, or a byte's word. */
typedef struct cell {
    LLVMValueRef address;
    LLVMTypeRef bits;   /* the integer that is swapped */
    LLVMValueRef shift; /* of a byte in its word; NULL: the element fills the cell */
} cell;

static LLVMBasicBlockRef new_block(tile_emitter *e, const char *name) {
    return LLVMAppendBasicBlockInContext(e->llvm, e->function, name);
}

static cell cell_of(tile_emitter *e, const atomic_access *a, LLVMValueRef address) {
    unsigned bits = tile_scalar_bits(a->type->scalar);
    if (bits > 8) return (cell){address, bits == 16 ? e->i16 : bits == 32 ? e->i32 : e->i64, NULL};
    LLVMTypeRef whole = a->shared ? e->i32 : e->i64;
    LLVMValueRef number = LLVMBuildPtrToInt(e->builder, address, whole, "");
    LLVMValueRef inside = LLVMBuildAnd(e->builder, number, tile_llvm_int(whole, 3), "");
    LLVMValueRef back = LLVMBuildNeg(e->builder, inside, "");
    LLVMValueRef shift = LLVMBuildIntCast2(e->builder, inside, e->i32, false, "");
    return (cell){LLVMBuildGEP2(e->builder, e->i8, address, &back, 1, ""), e->i32,
                  LLVMBuildShl(e->builder, shift, tile_llvm_int(e->i32, 3), "")};
}

static LLVMValueRef element_in(tile_emitter *e, const atomic_access *a, const cell *c,
                               LLVMValueRef bits) {
    LLVMTypeRef type = tile_llvm_scalar(e, a->type->scalar);
    if (!c->shift) return LLVMBuildBitCast(e->builder, bits, type, "");
    return LLVMBuildTrunc(e->builder, LLVMBuildLShr(e->builder, bits, c->shift, ""), type, "");
}

/* The cell's bits with the element replaced. */
static LLVMValueRef with_element(tile_emitter *e, const cell *c, LLVMValueRef bits,
                                 LLVMValueRef element) {
    if (!c->shift) return LLVMBuildBitCast(e->builder, element, c->bits, "");
    LLVMValueRef byte = LLVMBuildZExt(e->builder, element, e->i32, "");
    LLVMValueRef mask = LLVMBuildShl(e->builder, tile_llvm_int(e->i32, 0xff), c->shift, "");
    bits = LLVMBuildAnd(e->builder, bits, LLVMBuildNot(e->builder, mask, ""), "");
    return LLVMBuildOr(e->builder, bits, LLVMBuildShl(e->builder, byte, c->shift, ""), "");
}

static LLVMValueRef load_cell(tile_emitter *e, const atomic_access *a, const cell *c) {
    LLVMValueRef bits;
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_ld_relaxed);
    tile_ptx_modify(&ptx, ".%s.%s.b%u", scope_of(e, a->op), space_of(a),
                    LLVMGetIntTypeWidth(c->bits));
    tile_ptx_add_results(&ptx, &c->bits, 1);
    tile_ptx_add_inputs(&ptx, &c->address, 1);
    tile_ptx_call(&ptx, &bits);
    return bits;
}

static LLVMValueRef swap_cell(tile_emitter *e, const atomic_access *a, const cell *c,
                              LLVMValueRef expected, LLVMValueRef desired) {
    LLVMValueRef bits;
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_atom_cas);
    tile_ptx_modify(&ptx, ".%s.%s.%s.cas.b%u", ordering_of(e, a->op), scope_of(e, a->op),
                    space_of(a), LLVMGetIntTypeWidth(c->bits));
    tile_ptx_add_results(&ptx, &c->bits, 1);
    tile_ptx_add_inputs(&ptx, &c->address, 1);
    tile_ptx_add_inputs(&ptx, &expected, 1);
    tile_ptx_add_inputs(&ptx, &desired, 1);
    tile_ptx_call(&ptx, &bits);
    return bits;
}

/* i1: the element in the cell differs from the expected one. */
static LLVMValueRef differs(tile_emitter *e, const atomic_access *a, const cell *c,
                            LLVMValueRef bits, LLVMValueRef expected) {
    LLVMTypeRef integer = LLVMIntTypeInContext(e->llvm, tile_scalar_bits(a->type->scalar));
    LLVMValueRef is = LLVMBuildBitCast(e->builder, element_in(e, a, c, bits), integer, "");
    LLVMValueRef want = LLVMBuildBitCast(e->builder, expected, integer, "");
    return LLVMBuildICmp(e->builder, LLVMIntNE, is, want, "");
}

/* Repeats the swap until no other thread has modified the cell in between. expected: for
 * compare-and-swap, which also ends if the element differs from it; else NULL. Returns the old
 * element. */
static LLVMValueRef emit_loop(tile_emitter *e, const atomic_access *a, LLVMValueRef address,
                              LLVMValueRef expected, LLVMValueRef operand) {
    LLVMBasicBlockRef again = new_block(e, "swap"), done = new_block(e, "swapped");
    cell c = cell_of(e, a, address);
    LLVMValueRef first = load_cell(e, a, &c), element = operand;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
    LLVMBuildBr(e->builder, again);
    LLVMPositionBuilderAtEnd(e->builder, again);
    LLVMValueRef last = LLVMBuildPhi(e->builder, c.bits, "");
    LLVMValueRef old = expected ? with_element(e, &c, last, expected) : last;
    if (!expected && tile_kind_opcode(a->kind))
        element = tile_emit_int_op(e, tile_kind_opcode(a->kind), a->type->scalar,
                                   element_in(e, a, &c, old), operand, NULL);
    LLVMValueRef seen = swap_cell(e, a, &c, old, with_element(e, &c, old, element));
    LLVMValueRef end = LLVMBuildICmp(e->builder, LLVMIntEQ, seen, old, "");
    if (expected) end = LLVMBuildOr(e->builder, end, differs(e, a, &c, seen, expected), "");
    LLVMAddIncoming(last, &first, &before, 1);
    LLVMAddIncoming(last, &seen, &again, 1);
    LLVMBuildCondBr(e->builder, end, done, again);
    LLVMPositionBuilderAtEnd(e->builder, done);
    return element_in(e, a, &c, seen);
}

/* One compare-and-swap is enough if the element fills its cell. */
static LLVMValueRef emit_swap(tile_emitter *e, const atomic_access *a, LLVMValueRef address,
                              LLVMValueRef expected, LLVMValueRef desired) {
    cell c = cell_of(e, a, address);
    if (c.shift) return emit_loop(e, a, address, expected, desired);
    LLVMValueRef old = swap_cell(e, a, &c, with_element(e, &c, NULL, expected),
                                 with_element(e, &c, NULL, desired));
    return element_in(e, a, &c, old);
}

/* The builder continues in the block where the predicate holds; emit_after joins both paths. */
typedef struct branch {
    LLVMBasicBlockRef before, behind; /* NULL: there is no predicate */
} branch;

static branch emit_where(tile_emitter *e, LLVMValueRef predicate) {
    if (!predicate) return (branch){NULL, NULL};
    branch b = {LLVMGetInsertBlock(e->builder), new_block(e, "")};
    LLVMBasicBlockRef there = new_block(e, "atomic");
    LLVMBuildCondBr(e->builder, predicate, there, b.behind);
    LLVMPositionBuilderAtEnd(e->builder, there);
    return b;
}

static void emit_after(tile_emitter *e, const branch *b, LLVMValueRef *old, unsigned count) {
    if (!b->behind) return;
    LLVMBasicBlockRef there = LLVMGetInsertBlock(e->builder);
    LLVMBuildBr(e->builder, b->behind);
    LLVMPositionBuilderAtEnd(e->builder, b->behind);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef phi = LLVMBuildPhi(e->builder, LLVMTypeOf(old[i]), "");
        LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(old[i]));
        LLVMBasicBlockRef before = b->before;
        LLVMAddIncoming(phi, &old[i], &there, 1);
        LLVMAddIncoming(phi, &zero, &before, 1);
        old[i] = phi;
    }
}

static void emit_loops(tile_emitter *e, const atomic_access *a, LLVMValueRef address,
                       LLVMValueRef predicate) {
    unsigned count = (unsigned)tile_type_elements(a->type);
    tile_value src = tile_operand_src(e->f, a->op);
    LLVMValueRef *old = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, count);
    branch b = emit_where(e, predicate);
    for (unsigned i = 0; i < count; i++)
        old[i] =
            emit_loop(e, a, offset_address(e, a, address, i), NULL, tile_get_element(e, src, i));
    emit_after(e, &b, old, count);
    tile_set_elements(e, tile_op_result(e->f, a->op, 0), old);
}

/* Operations ----------------------------------------------------------------------------------- */

/* The predicate is always false: nothing is emitted. */
static void set_nothing(tile_emitter *e, const atomic_access *a) {
    LLVMValueRef *old = tile_new_parts(e, a->type);
    for (unsigned i = 0; i < tile_part_count(a->type); i++)
        old[i] = LLVMConstNull(tile_part_type(e, a->type));
    tile_set_parts(e, tile_op_result(e->f, a->op, 0), old);
}

void tile_emit_atomic_thread(tile_emitter *e, tile_op op) {
    atomic_access a = access_of(e->f, op, e->uses);
    instruction one = choose(&a, e->options->target);
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_dst),
                 predicate = tile_get_predicate(e, op);
    if (tile_is_always_false(predicate))
        set_nothing(e, &a);
    else if (one.type)
        emit_native(e, &a, &one, address, predicate);
    else
        emit_loops(e, &a, address, predicate);
}

void tile_emit_atomic_cas_thread(tile_emitter *e, tile_op op) {
    atomic_access a = access_of(e->f, op, e->uses);
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_dst),
                 predicate = tile_get_predicate(e, op);
    if (tile_is_always_false(predicate)) {
        set_nothing(e, &a);
        return;
    }
    branch b = emit_where(e, predicate);
    LLVMValueRef old =
        emit_swap(e, &a, address, tile_get_scalar(e, tile_operand_expected(e->f, op)),
                  tile_get_scalar(e, tile_operand_desired(e->f, op)));
    emit_after(e, &b, &old, 1);
    tile_set_scalar(e, tile_op_result(e->f, op, 0), old);
}

/* PTX only has fences that order both directions. */
void tile_emit_fence(tile_emitter *e, tile_op op) {
    bool sc = tile_op_word(e->f, op, TILE_ATTR_ordering) == TILE_WORD_ordering_sc;
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_fence);
    tile_ptx_modify(&ptx, ".%s.%s", sc ? "sc" : "acq_rel", scope_of(e, op));
    tile_ptx_call(&ptx, NULL);
}
