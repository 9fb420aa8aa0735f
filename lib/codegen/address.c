/* Addresses: a base and a sum of offsets.
 *
 * The usual way is one address computation over the whole sum. But a typical offset is
 *
 *     (where the lane reads, swizzled: xor) + stage * bytes of a stage
 *
 * with only the stage changing in the loop. LLVM sees that the two parts share no bits and
 * reassociates the sum: (lane's part or stage's part) xor swizzle. Then no part of it is
 * loop-invariant. So the parts are added to the address one after the other, the least often
 * changing first (parts of outer loops, parts of inner loops, constants), and the first additions
 * stay before the loop. Offsets wrap as addresses do, so the order does not change the result.
 *
 * The rows of a copy are the exception: the distance of a row from the first one is added after the
 * part that changes in the loop. This takes one addition per row either way. But the distance is
 * the same for all threads and is held in a uniform register, whereas one address per row, computed
 * before the loop, would take two registers of every thread (a 128x128x64 loop: 255 registers and
 * 302 us, instead of 242 and 288). Stepping from each row to the next would take even fewer
 * registers, but then each address waits for the one before it (297 us).
 *
 * So are swizzles that are written after the stage, (lane's part + stage) ^ swizzle: all of them
 * share the register of the sum. Each access flips bits of the whole address if the buffer begins
 * at a multiple of these bits. */
#include "lib/analysis/executors.h"
#include "lib/codegen/emitter.h"
#include "lib/ir/regions.h"

enum { MAX_TERMS = 8, DISTANCE_DEPTH = 0xfffe, CONSTANT_DEPTH = 0xffff };

typedef struct term {
    LLVMValueRef value;
    unsigned depth; /* loops it changes in; DISTANCE_DEPTH, CONSTANT_DEPTH: added last */
} term;

typedef struct sum {
    term terms[MAX_TERMS];
    unsigned count;
} sum;

static unsigned loops_around(const tile_function *f, tile_region region) {
    unsigned depth = 0;
    while (region.id) {
        tile_op around = tile_region_at(f, region)->parent;
        if (!around.id) break;
        depth += tile_repeats(f, around);
        region = tile_op_at(f, around)->parent;
    }
    return depth;
}

static unsigned loop_depth(tile_emitter *e, tile_value value);

/* A pure operation can be hoisted to the loop depth of its operands. */
static unsigned depth_of_result(tile_emitter *e, tile_op op) {
    const tile_op_data *data = tile_op_at(e->f, op);
    unsigned depth = 0;
    if (tile_op_get_info((tile_opcode)data->opcode)->effects)
        return loops_around(e->f, data->parent);
    for (uint32_t i = 0; i < data->operand_count; i++) {
        unsigned operand = loop_depth(e, data->operands[i]);
        if (operand != CONSTANT_DEPTH && operand > depth) depth = operand;
    }
    return depth;
}

/* Returns the number of enclosing loops in which a value changes. */
static unsigned loop_depth(tile_emitter *e, tile_value value) {
    const tile_value_data *data = tile_value_at(e->f, value);
    if (data->kind == TILE_VALUE_CONSTANT) return CONSTANT_DEPTH;
    if (!e->depths[value.id]) {
        unsigned depth = 0;
        if (data->kind == TILE_VALUE_RESULT)
            depth = depth_of_result(e, (tile_op){data->owner});
        else if (data->kind == TILE_VALUE_REGION)
            depth = loops_around(e->f, (tile_region){data->owner});
        e->depths[value.id] = (uint16_t)(depth + 1);
    }
    return e->depths[value.id] - 1u;
}

/* Returns whether the value is the distance of a row from the first one: a term added to the first
 * row's address, which the other rows share. */
static bool is_distance(const tile_emitter *e, tile_value value) {
    int64_t rows;
    tile_op def = tile_value_def(e->f, value);
    return def.id && tile_op_opcode(e->f, def) == TILE_OP_mul &&
           tile_value_type(e->f, value)->scalar == TILE_i64 &&
           tile_value_is_int(e->f, tile_operand_rhs(e->f, def), &rows);
}

/* The block from which a loop is entered comes right before the loop's own blocks. */
static bool is_inside(const tile_emitted_loop *loop, LLVMValueRef value) {
    if (!LLVMIsAInstruction(value)) return false;
    LLVMBasicBlockRef of = LLVMGetInstructionParent(value), block = loop->enter;
    while (block && block != of) block = LLVMGetNextBasicBlock(block);
    return block && block != loop->enter;
}

/* Moves the builder to the outermost place where both operands are available and returns its block.
 * A constant stays, as part of the access. */
static LLVMBasicBlockRef go_outside(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    const tile_emitted_loop *out = NULL, *loop = LLVMIsConstant(b) ? NULL : e->loop;
    for (; loop && !is_inside(loop, a) && !is_inside(loop, b); loop = loop->around) out = loop;
    if (!out) return LLVMGetInsertBlock(e->builder);
    LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(out->enter));
    return out->enter;
}

/* Splits sums into terms as long as `to` has room; terms of equal depth are added in order. */
static void add_terms(tile_emitter *e, sum *to, tile_value value) {
    tile_op def = tile_value_def(e->f, value);
    if (def.id && tile_op_opcode(e->f, def) == TILE_OP_add && to->count + 2 <= MAX_TERMS &&
        (loop_depth(e, tile_operand_lhs(e->f, def)) != loop_depth(e, tile_operand_rhs(e->f, def)) ||
         is_distance(e, tile_operand_rhs(e->f, def)))) {
        add_terms(e, to, tile_operand_lhs(e->f, def));
        add_terms(e, to, tile_operand_rhs(e->f, def));
        return;
    }
    LLVMValueRef scalar = tile_get_scalar(e, value);
    bool distance = is_distance(e, value);
    unsigned depth = distance ? DISTANCE_DEPTH : loop_depth(e, value), at = to->count;
    for (unsigned i = 0; i < to->count && !distance; i++)
        if (to->terms[i].depth == depth) at = i;
    if (to->count == MAX_TERMS) at = MAX_TERMS - 1;
    if (at < to->count) {
        LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
        go_outside(e, to->terms[at].value, scalar);
        to->terms[at].value = LLVMBuildAdd(e->builder, to->terms[at].value, scalar, "");
        tile_return_to(e, here);
        return;
    }
    for (to->count++; at > 0 && to->terms[at - 1].depth > depth; at--)
        to->terms[at] = to->terms[at - 1];
    to->terms[at] = (term){scalar, depth};
}

static LLVMValueRef *find_step(tile_emitter *e, tile_address_step wanted) {
    for (unsigned i = 0; i < TILE_RECENT_STEPS; i++) {
        tile_address_step *recent = &e->steps[i];
        if (recent->base == wanted.base && recent->offset == wanted.offset &&
            recent->element == wanted.element && recent->block == wanted.block)
            return &recent->address;
    }
    e->steps[e->next_step] = wanted;
    LLVMValueRef *address = &e->steps[e->next_step].address;
    e->next_step = (e->next_step + 1) % TILE_RECENT_STEPS;
    return address;
}

/* Builds the addition before the loops that change neither operand. Adjacent accesses mostly share
 * their first steps, so recently built ones are reused. No `inbounds`: under a predicate the
 * address may be out of bounds. */
static LLVMValueRef step(tile_emitter *e, LLVMTypeRef element, LLVMValueRef base,
                         LLVMValueRef offset) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder), block = go_outside(e, base, offset);
    LLVMValueRef *address = find_step(
        e, (tile_address_step){.block = block, .element = element, .base = base, .offset = offset});
    if (!*address) *address = LLVMBuildGEP2(e->builder, element, base, &offset, 1, "");
    tile_return_to(e, here);
    return *address;
}

static tile_op def_as(const tile_function *f, tile_value value, tile_opcode opcode) {
    tile_op def = tile_value_def(f, value);
    return def.id && tile_op_opcode(f, def) == opcode ? def : (tile_op){0};
}

/* An offset (sum ^ swizzle) + distance. */
typedef struct swizzled_offset {
    tile_value sum;
    int64_t swizzle, distance;
} swizzled_offset;

/* Whether the offset has this form, and the swizzle flips bits below the buffer's alignment. */
static bool is_swizzled(const tile_emitter *e, tile_value buffer, tile_value offset,
                        swizzled_offset *to) {
    const tile_function *f = e->f;
    const tile_type *type = tile_value_type(f, buffer);
    const tile_op alloc = def_as(f, buffer, TILE_OP_alloc_shared),
                  added = def_as(f, offset, TILE_OP_add);
    *to = (swizzled_offset){.sum = offset};
    if (added.id && tile_value_is_int(f, tile_operand_rhs(f, added), &to->distance))
        offset = tile_operand_lhs(f, added);
    const tile_op flipped = def_as(f, offset, TILE_OP_xor);
    if (!alloc.id || !flipped.id || type->cluster ||
        !tile_value_is_int(f, tile_operand_rhs(f, flipped), &to->swizzle) || to->swizzle <= 0)
        return false;
    to->sum = tile_operand_lhs(f, flipped);
    const int64_t bytes = tile_scalar_bytes(type->scalar);
    int64_t above = 1, stride;
    while (above <= to->swizzle * bytes) above *= 2;
    tile_alloc_bytes(f, alloc, &stride);
    return above <= TILE_SHARED_ALIGNMENT && def_as(f, to->sum, TILE_OP_add).id &&
           tile_op_attr_int(f, alloc, TILE_ATTR_offset, 0) % above == 0 && stride % above == 0;
}

static LLVMValueRef flip_bits(tile_emitter *e, LLVMValueRef address, int64_t bits) {
    LLVMValueRef number = LLVMBuildPtrToInt(e->builder, address, e->i32, "");
    number = LLVMBuildXor(e->builder, number, tile_llvm_int(e->i32, bits), "");
    return LLVMBuildIntToPtr(e->builder, number, LLVMTypeOf(address), "");
}

static LLVMValueRef emit_swizzled(tile_emitter *e, tile_value buffer, swizzled_offset offset) {
    const tile_type *type = tile_value_type(e->f, buffer);
    LLVMTypeRef element = tile_llvm_scalar(e, type->scalar);
    LLVMValueRef address = tile_get_scalar(e, buffer);
    sum terms = {.count = 0};
    add_terms(e, &terms, offset.sum);
    for (unsigned i = 0; i < terms.count; i++)
        address = step(e, element, address, terms.terms[i].value);
    address = flip_bits(e, address, offset.swizzle * tile_scalar_bytes(type->scalar));
    return offset.distance ? step(e, element, address, tile_llvm_int(e->i32, offset.distance))
                           : address;
}

static LLVMValueRef emit_address(tile_emitter *e, tile_op op, tile_operand_name operand,
                                 bool hidden) {
    const tile_values values = tile_named_operands(e->f, op, operand);
    const tile_type *type = tile_value_type(e->f, values.at[0]);
    swizzled_offset swizzled;
    if (!hidden && type->kind == TILE_TYPE_SHARED && type->scalar != TILE_i1 &&
        is_swizzled(e, values.at[0], values.at[1], &swizzled))
        return emit_swizzled(e, values.at[0], swizzled);
    LLVMValueRef address = tile_get_scalar(e, values.at[0]);
    /* i1 takes a byte in memory */
    LLVMTypeRef element = type->scalar == TILE_i1 ? e->i8 : tile_llvm_scalar(e, type->scalar);
    sum offset = {.count = 0};
    if (type->kind == TILE_TYPE_PTR && tile_value_type(e->f, values.at[1])->scalar == TILE_i32)
        /* a 32-bit sum wraps before the address does: it is not split */
        offset.terms[offset.count++].value =
            LLVMBuildSExt(e->builder, tile_get_scalar(e, values.at[1]), e->i64, "");
    else
        add_terms(e, &offset, values.at[1]);
    for (unsigned i = 0; i < offset.count; i++) {
        if (hidden && offset.terms[i].depth == CONSTANT_DEPTH) {
            address = tile_emit_hidden(e, address);
            hidden = false;
        }
        address = step(e, element, address, offset.terms[i].value);
    }
    return hidden ? tile_emit_hidden(e, address) : address;
}

LLVMValueRef tile_emit_address(tile_emitter *e, tile_op op, tile_operand_name operand) {
    return emit_address(e, op, operand, false);
}

LLVMValueRef tile_emit_hidden_address(tile_emitter *e, tile_op op, tile_operand_name operand) {
    return emit_address(e, op, operand, true);
}
