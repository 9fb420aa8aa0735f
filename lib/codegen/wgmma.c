/* Products by a warpgroup: descriptors, wgmma.mma_async, and the instructions that order it.
 *
 * wgmma accesses registers after the instruction has been issued. LLVM has no notion of that. It
 * sees inline PTX that turns old accumulators into new ones. The wait is inline PTX that does the
 * same, or ends a basic block, so that all uses of the sums stay after the wait. ptxas expects the
 * inputs to be written before wgmma.fence; otherwise it inserts a fence or even waits for each
 * product (C7510 and following). So the fence also takes the registers that the products after it
 * read, and returns them. */
#include "lib/analysis/executors.h"
#include "lib/analysis/product.h"
#include "lib/codegen/ptx.h"
#include "lib/codegen/sums.h"
#include "lib/layout/wgmma.h"

/* Descriptors ---------------------------------------------------------------------------------- */

/* PTX ISA, "Matrix Descriptor Format": fields hold addresses and strides without their low four
 * bits. In a cluster, the bits of a shared address above these hold the block's rank. */
enum { ADDRESS_MASK = 0x3ffff, UNIT_BITS = 4, LEADING_BIT = 16, SWIZZLE_BIT = 62 - 32 };

static unsigned swizzle_mode(int64_t swizzle) {
    return swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
}

/* The address of a matrix, split so that descriptors of parts of one buffer share the base. */
typedef struct split {
    LLVMValueRef base; /* a pointer */
    tile_value rest;   /* offset in elements; may be absent */
    int64_t bytes;     /* a constant multiple of a descriptor's unit */
} split;

static split split_address(tile_emitter *e, tile_op op) {
    const tile_values values = tile_operands_src(e->f, op);
    int64_t number, size = tile_scalar_bytes(tile_value_type(e->f, values.at[0])->scalar), stride;
    split s = {.base = tile_get_scalar(e, values.at[0]), .rest = values.at[1]};
    tile_op alloc = tile_value_def(e->f, values.at[0]), add = tile_value_def(e->f, s.rest);
    if (alloc.id && tile_op_opcode(e->f, alloc) == TILE_OP_alloc_shared &&
        tile_alloc_bytes(e->f, alloc, &stride) >= 0 && !stride) {
        s.bytes = tile_op_attr_int(e->f, alloc, TILE_ATTR_offset, 0);
        s.base = e->shared;
    }
    while (add.id && tile_op_opcode(e->f, add) == TILE_OP_add &&
           tile_value_is_int(e->f, tile_operand_rhs(e->f, add), &number) &&
           number * size % (1 << UNIT_BITS) == 0) {
        s.bytes += number * size;
        s.rest = tile_operand_lhs(e->f, add);
        add = tile_value_def(e->f, s.rest);
    }
    if (!tile_value_is_int(e->f, s.rest, &number)) return s;
    s.bytes += number * size;
    s.rest = TILE_NO_VALUE;
    return s;
}

/* Address and leading stride. The base is masked, not the sum: the start of shared memory is one
 * register for the whole kernel, and what a loop adds to it stays in ptxas's uniform registers,
 * which wgmma needs. The sum is the matrix's address without the rank, however it is split, and so
 * does not carry. */
static LLVMValueRef emit_low_word(tile_emitter *e, tile_op op, uint32_t leading) {
    split s = split_address(e, op);
    const tile_type *buffer = tile_value_type(e->f, tile_operand_src(e->f, op));
    LLVMValueRef unit = tile_llvm_int(e->i32, UNIT_BITS);
    LLVMValueRef mask = tile_llvm_int(e->i32, ADDRESS_MASK >> UNIT_BITS);
    int64_t upper = (int64_t)(leading >> UNIT_BITS) << LEADING_BIT, lower = s.bytes >> UNIT_BITS;
    LLVMValueRef low = LLVMBuildPtrToInt(e->builder, s.base, e->i32, "");
    low = LLVMBuildAnd(e->builder, LLVMBuildLShr(e->builder, low, unit, ""), mask, "");
    if (s.rest.id) {
        LLVMValueRef size = tile_llvm_int(e->i32, tile_scalar_bytes(buffer->scalar));
        LLVMValueRef more = LLVMBuildNSWMul(e->builder, tile_get_scalar(e, s.rest), size, "");
        low = LLVMBuildAdd(e->builder, low, LLVMBuildAShr(e->builder, more, unit, ""), "");
    }
    return LLVMBuildAdd(e->builder, low, tile_llvm_int(e->i32, upper + lower), "");
}

void tile_emit_wgmma_descriptor(tile_emitter *e, tile_op op) {
    tile_wgmma_matrix m = tile_wgmma_matrix_of(e->f, op);
    LLVMValueRef low = emit_low_word(e, op, m.leading);
    uint32_t high = m.stride >> UNIT_BITS | (uint32_t)swizzle_mode(m.swizzle) << SWIZZLE_BIT;
    LLVMValueRef halves[] = {LLVMGetUndef(e->i32), LLVMConstInt(e->i32, high, false)};
    LLVMValueRef pair = LLVMBuildInsertElement(e->builder, LLVMConstVector(halves, 2), low,
                                               tile_llvm_int(e->i32, 0), "");
    tile_set_scalar(e, tile_op_result(e->f, op, 0), LLVMBuildBitCast(e->builder, pair, e->i64, ""));
}

/* Products ------------------------------------------------------------------------------------- */

static bool has(const tile_emitter *e, tile_op op, tile_attr_id attr) {
    return tile_op_has_attr(e->f, op, attr);
}

static const char *element_name(tile_scalar scalar, bool is_unsigned) {
    if (tile_scalar_bits(scalar) == 32 && !tile_scalar_is_floating(scalar)) return "b1";
    if (scalar == TILE_i8) return is_unsigned ? "u8" : "s8";
    return tile_scalar_name(scalar);
}

/* The operands after the predicate: scale factors, for floats only, and whether an operand in
 * shared memory is `mn`, for 16-bit types only. */
static const char *tail_of(tile_emitter *e, tile_op op, const tile_type *lhs,
                           const tile_type *rhs) {
    if (!tile_scalar_is_floating(lhs->scalar)) return "";
    const char *factors =
        tile_arena_format(&e->arena, ", %d, %d", has(e, op, TILE_ATTR_negate_lhs) ? -1 : 1,
                          has(e, op, TILE_ATTR_negate_rhs) ? -1 : 1);
    if (tile_scalar_bits(lhs->scalar) != 16) return factors;
    if (lhs->kind == TILE_TYPE_VECTOR)
        return tile_arena_format(&e->arena, "%s, %d", factors, rhs->mn_major);
    return tile_arena_format(&e->arena, "%s, %d, %d", factors, lhs->mn_major, rhs->mn_major);
}

static void add_lhs(tile_emitter *e, tile_ptx *ptx, tile_value lhs) {
    const tile_type *type = tile_value_type(e->f, lhs);
    unsigned count = tile_part_count(type);
    LLVMValueRef *words = tile_new_parts(e, type);
    for (unsigned i = 0; i < count; i++) {
        words[i] = tile_get_parts(e, lhs)[i];
        if (type->kind == TILE_TYPE_VECTOR)
            words[i] = LLVMBuildBitCast(e->builder, words[i], e->i32, "");
    }
    tile_ptx_add_inputs(ptx, words, count);
}

/* Sums that are not kept may be absent. */
static const LLVMValueRef *acc_parts(tile_emitter *e, tile_value acc, tile_value keep) {
    const tile_type *type = tile_value_type(e->f, acc);
    int64_t kept;
    if (!tile_value_is_int(e->f, keep, &kept) || kept) return tile_get_parts(e, acc);
    LLVMValueRef *nothing = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        nothing[i] = LLVMGetPoison(tile_part_type(e, type));
    return nothing;
}

/* Returns whether two products are the same instruction except for their values. */
static bool same_attributes(const tile_emitter *e, tile_op a, tile_op b) {
    static const tile_attr_id attrs[] = {TILE_ATTR_unsigned_lhs, TILE_ATTR_unsigned_rhs,
                                         TILE_ATTR_negate_lhs,   TILE_ATTR_negate_rhs,
                                         TILE_ATTR_satfinite,    TILE_ATTR_popc};
    bool same = true;
    for (unsigned i = 0; i < sizeof attrs / sizeof *attrs; i++)
        same &= has(e, a, attrs[i]) == has(e, b, attrs[i]);
    return same;
}

static bool is_product(const tile_emitter *e, tile_op op) {
    return op.id && tile_op_opcode(e->f, op) == TILE_OP_wgmma;
}

static bool is_sparse(const tile_emitter *e, tile_op op) {
    return tile_product_forms_of(e->f, op).sparse;
}

/* The next product, if only arithmetic is in between and it differs only in its values; else no
 * operation. */
static tile_op next_product(const tile_emitter *e, tile_op op) {
    tile_op next = tile_op_next(e->f, op);
    while (next.id && !tile_op_effects(e->f, next) && !tile_op_at(e->f, next)->region_count)
        next = tile_op_next(e->f, next);
    if (!is_product(e, next) || !same_attributes(e, op, next)) return TILE_NO_OP;
    if (is_sparse(e, op) || is_sparse(e, next)) return TILE_NO_OP;
    tile_value acc = tile_operand_acc(e->f, next);
    if (is_product(e, tile_value_def(e->f, acc)) && e->uses[acc.id] != 1) return TILE_NO_OP;
    for (unsigned i = 0; i < 3; i++) {
        const tile_type *type = tile_value_type(e->f, tile_op_operand(e->f, op, i));
        bool here = i < 2 && type->kind == TILE_TYPE_VECTOR; /* a fence may follow it */
        if (here || type != tile_value_type(e->f, tile_op_operand(e->f, next, i)))
            return TILE_NO_OP;
    }
    return next;
}

static void add_operands(tile_emitter *e, tile_ptx *ptx, tile_op op) {
    LLVMValueRef keep = tile_get_scalar(e, tile_operand_keep(e->f, op));
    add_lhs(e, ptx, tile_operand_lhs(e->f, op));
    tile_ptx_add_inputs(ptx, tile_get_parts(e, tile_operand_rhs(e->f, op)), 1);
    if (is_sparse(e, op)) {
        LLVMValueRef places = tile_get_scalar(e, tile_operand_places(e->f, op));
        tile_ptx_add_inputs(ptx, &places, 1);
    }
    tile_ptx_add_inputs(ptx, &keep, 1);
}

static tile_ptx begin_products(tile_emitter *e, tile_op op) {
    const tile_type *a = tile_value_type(e->f, tile_operand_lhs(e->f, op));
    const tile_type *b = tile_value_type(e->f, tile_operand_rhs(e->f, op));
    const tile_type *type = tile_value_type(e->f, tile_op_result(e->f, op, 0));
    tile_ptx ptx = tile_ptx_begin(e, tile_machine_of_op(e->f, op));
    tile_mma_query query = tile_product_query(e->f, op);
    bool bits = has(e, op, TILE_ATTR_popc);
    uint32_t depth = tile_wgmma_depth(query.lhs) * (is_sparse(e, op) ? 2 : 1);
    tile_ptx_modify(&ptx, "m%dn%uk%u%s.%s.%s.%s%s", TILE_WGMMA_ROWS,
                    2 * (unsigned)tile_type_elements(type),
                    depth * (bits ? tile_scalar_bits(a->scalar) : 1),
                    has(e, op, TILE_ATTR_satfinite) ? ".satfinite" : "",
                    !tile_scalar_is_floating(type->scalar) ? "s32" : tile_scalar_name(type->scalar),
                    element_name(query.lhs, query.unsigned_lhs),
                    element_name(query.rhs, query.unsigned_rhs), bits ? ".and.popc" : "");
    tile_ptx_set_tail(&ptx, tail_of(e, op, a, b));
    return ptx;
}

/* Returns the index of the sum that a product adds to; `count` if it adds to none of them. */
static unsigned find_sum(const tile_emitter *e, tile_op op, const tile_value *sums,
                         unsigned count) {
    tile_value acc = tile_operand_acc(e->f, op);
    unsigned i = 0;
    while (i < count && sums[i].id != acc.id) i++;
    return i;
}

/* Returns whether the run of products after the fence reads all values that the fence would take:
 * then fence and products are one call. */
static bool is_fence_of_products(const tile_emitter *e, tile_op fence, const tile_value *values,
                                 size_t count) {
    tile_op product = tile_op_next(e->f, fence);
    size_t found = 0;
    while (product.id && !tile_op_effects(e->f, product) &&
           !tile_op_at(e->f, product)->region_count)
        product = tile_op_next(e->f, product);
    if (!is_product(e, product)) return false;
    for (; product.id; product = next_product(e, product))
        for (size_t i = 0; i < count; i++)
            found += tile_operand_acc(e->f, product).id == values[i].id;
    return found == count;
}

/* A run of products is one call: for each call, LLVM spends time on every register of the sums. It
 * is emitted at the last product of the run, when all descriptors are known. */
static void emit_products(tile_emitter *e, const tile_op *ops, unsigned count) {
    const tile_type *type = tile_value_type(e->f, tile_op_result(e->f, ops[0], 0));
    unsigned parts = tile_part_count(type), sum_count = 0;
    tile_value *sums = TILE_NEW_ARRAY(&e->arena, tile_value, count);
    unsigned *which = TILE_NEW_ARRAY(&e->arena, unsigned, count);
    tile_ptx ptx = begin_products(e, ops[0]);
    if (e->fence_waits) tile_ptx_put_before(&ptx, tile_machine_text(TILE_MACHINE_wgmma_fence));
    e->fence_waits = false;
    for (unsigned i = 0; i < count; i++) {
        const uint32_t *held = tile_sum_registers(e, tile_op_result(e->f, ops[i], 0));
        which[i] = find_sum(e, ops[i], sums, sum_count);
        if (which[i] == sum_count && held) {
            sum_count++;
            tile_ptx_add_sums(&ptx, held, parts);
        } else if (which[i] == sum_count) {
            sum_count++;
            tile_ptx_add_tied(
                &ptx, acc_parts(e, tile_operand_acc(e->f, ops[i]), tile_operand_keep(e->f, ops[i])),
                parts);
        }
        sums[which[i]] = tile_op_result(e->f, ops[i], 0);
    }
    for (unsigned i = 0; i < count; i++) {
        tile_ptx_next(&ptx, which[i]);
        add_operands(e, &ptx, ops[i]);
    }
    LLVMValueRef *results = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, parts * sum_count);
    tile_ptx_call(&ptx, results);
    for (unsigned i = 0; i < sum_count; i++)
        if (!tile_sum_registers(e, sums[i])) tile_set_parts(e, sums[i], results + i * parts);
}

static void flush_products(tile_emitter *e) {
    if (e->product_count) emit_products(e, e->products, (unsigned)e->product_count);
    e->product_count = 0;
}

/* The result is held if the sums that it adds to are. Products that are held and products that are
 * not cannot be one call. */
static void hold_sums(tile_emitter *e, tile_op op) {
    bool copied = false;
    tile_value result = tile_op_result(e->f, op, 0);
    const uint32_t *held = tile_sum_acquire(e, op, tile_operand_acc(e->f, op), &copied);
    if (e->product_count &&
        !held != !tile_sum_registers(e, tile_op_result(e->f, e->products[0], 0)))
        flush_products(e);
    e->fence_waits |= copied;
    tile_sum_keep_in_registers(e, result, held);
}

void tile_emit_wgmma(tile_emitter *e, tile_op op) {
    hold_sums(e, op);
    e->products = tile_arena_grow(&e->arena, e->products, e->product_count, &e->product_capacity,
                                  sizeof *e->products);
    e->products[e->product_count++] = op;
    if (!next_product(e, op).id) flush_products(e);
}

void tile_emit_undefined(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = LLVMGetPoison(tile_part_type(e, type));
    tile_set_parts(e, result, parts);
}

/* Order ---------------------------------------------------------------------------------------- */

/* An instruction that takes the registers of the values and returns them as the results. */
static void emit_through(tile_emitter *e, tile_ptx *ptx, const tile_value *values,
                         const tile_value *results, unsigned count) {
    unsigned total = 0, at = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned parts = tile_part_count(tile_value_type(e->f, values[i]));
        tile_ptx_add_tied(ptx, tile_get_parts(e, values[i]), parts);
        total += parts;
    }
    LLVMValueRef *out = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, total + 1u);
    tile_ptx_call(ptx, total ? out : NULL);
    for (unsigned i = 0; i < count; i++) {
        tile_set_parts(e, results[i], out + at);
        at += tile_part_count(tile_value_type(e->f, values[i]));
    }
}

typedef struct fenced {
    tile_emitter *e;
    tile_region region; /* of the fence */
    tile_value *values;
    size_t count, capacity;
} fenced;

/* Adds a vector that was computed in the fence's region by anything but wgmma. */
static void add_fenced(fenced *s, tile_value value) {
    const tile_function *f = s->e->f;
    tile_op def = tile_value_def(f, value);
    if (!def.id || tile_op_at(f, def)->parent.id != s->region.id || !s->e->parts[value.id] ||
        tile_value_type(f, value)->kind != TILE_TYPE_VECTOR ||
        tile_op_opcode(f, def) == TILE_OP_undefined ||
        tile_op_effects(f, def) & TILE_EFFECT_WARPGROUP)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->values[i].id == value.id) return;
    s->values = tile_arena_grow(&s->e->arena, s->values, s->count, &s->capacity, sizeof *s->values);
    s->values[s->count++] = value;
}

/* Takes the values that the products up to the next fence read. */
void tile_emit_wgmma_fence(tile_emitter *e, tile_op op) {
    fenced s = {.e = e, .region = tile_op_at(e->f, op)->parent};
    for (tile_op at = tile_op_next(e->f, op); at.id; at = tile_op_next(e->f, at)) {
        if (tile_op_opcode(e->f, at) == TILE_OP_wgmma_fence) break;
        bool product = tile_op_opcode(e->f, at) == TILE_OP_wgmma;
        for (unsigned i = 0; product && i < tile_op_operand_count(e->f, at); i++)
            add_fenced(&s, tile_op_operand(e->f, at, i));
    }
    e->fence_waits = is_fence_of_products(e, op, s.values, s.count);
    if (e->fence_waits) return;
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_wgmma_fence);
    emit_through(e, &ptx, s.values, s.values, (unsigned)s.count);
}

void tile_emit_wgmma_commit(tile_emitter *e, tile_op op) {
    (void)op;
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_wgmma_commit);
    tile_ptx_call(&ptx, NULL);
}

/* Returns whether products are in the same block as the wait, not only in a loop before it. */
static bool has_products_beside(const tile_emitter *e, tile_op wait) {
    TILE_FOR_EACH_OP (e->f, at, tile_op_at(e->f, wait)->parent)
        if (is_product(e, at)) return true;
    return false;
}

/* After a loop, the uses of the sums are emitted in a new basic block, since code generation hoists
 * nothing across the end of one. If products are in the same block, as inside a loop, the wait
 * takes the sums and returns them: a new basic block would split the address arithmetic there. */
void tile_emit_wgmma_wait(tile_emitter *e, tile_op op) {
    int64_t pending = 0;
    const tile_values accs = tile_operands_accs(e->f, op);
    tile_value *results = TILE_NEW_ARRAY(&e->arena, tile_value, accs.count + 1u);
    tile_value *passed = TILE_NEW_ARRAY(&e->arena, tile_value, accs.count + 1u);
    unsigned seen = 0;
    for (unsigned i = 0; i < accs.count; i++) {
        tile_value result = tile_op_result(e->f, op, i);
        const uint32_t *held = tile_sum_registers(e, accs.at[i]);
        tile_sum_keep_in_registers(e, result, held);
        if (held) continue;
        passed[seen] = accs.at[i];
        results[seen++] = result;
    }
    tile_value_is_int(e->f, tile_operand_pending(e->f, op), &pending);
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_wgmma_wait);
    tile_ptx_modify(&ptx, "%u", (unsigned)pending);
    if (!seen || has_products_beside(e, op)) {
        emit_through(e, &ptx, passed, results, seen);
        return;
    }
    tile_ptx_call(&ptx, NULL);
    for (unsigned i = 0; i < seen; i++) tile_set_parts(e, results[i], tile_get_parts(e, passed[i]));
    LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(e->llvm, e->function, "complete");
    LLVMBuildBr(e->builder, behind);
    LLVMPositionBuilderAtEnd(e->builder, behind);
}
