/* Accumulators of products in registers that LLVM does not see.
 *
 * A loop of products carries its accumulators: about 128 values per thread. Each needs a phi in
 * each block where paths join, and an operand and a result of each instruction. For LLVM that is
 * most of the kernel, although it cannot improve it. So the registers get names, which one line in
 * the entry block declares,
 *
 *     .reg .b32 %sum<128>;
 *
 * and the products are inline PTX with %sum0, .. in place of operands. LLVM keeps such calls in
 * order (they have side effects) and needs no phi and no copy.
 *
 * A vector of the IR that is held this way has a register for each part. It is held if a loop
 * carries it and a product adds to it, and so are the vectors derived from it. A product overwrites
 * the accumulators that it adds to, and a loop its initial values. The result of a branch has the
 * registers of one of its sides. A value that would be overwritten while it is still used
 * (content.h) is copied. extract, permute, concat and wgmma_wait are aliases of the same registers.
 * Any other use of a held vector gets LLVM values, which are moved out of the registers there. */
#include "lib/codegen/sums.h"

#include "lib/analysis/content.h"
#include "lib/codegen/ptx.h"
#include "lib/ir/regions.h"

struct tile_sums {
    tile_content *content;
    const uint32_t **registers; /* by value id; NULL: LLVM holds the value */
    uint32_t count;             /* number of registers */
    uint32_t *stamps;           /* by register: see are_apart */
    size_t stamp_capacity;
    uint32_t stamp;
    tile_value *moved; /* that have LLVM values here, for the operation being emitted */
    size_t moved_count, moved_capacity;
};

void tile_sums_begin(tile_emitter *e) {
    e->sums = TILE_NEW(&e->arena, tile_sums);
    e->sums->content = tile_content_find(e->f, &e->arena);
    e->sums->registers = TILE_NEW_ARRAY(&e->arena, const uint32_t *, e->f->value_count);
}

void tile_sums_end(tile_emitter *e) {
    if (!e->sums->count) return;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(e->function);
    LLVMPositionBuilderBefore(e->builder, LLVMGetFirstInstruction(entry));
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_declare_sums);
    tile_ptx_modify(&ptx, "%u", e->sums->count);
    tile_ptx_call(&ptx, NULL);
    tile_return_to(e, here);
}

/* Registers ------------------------------------------------------------------------------------ */

const uint32_t *tile_sum_registers(const tile_emitter *e, tile_value value) {
    return e->sums->registers[value.id];
}

/* Returns whether each part of a vector of this type is one 32-bit register. */
static bool fits(const tile_type *type) {
    return type->kind == TILE_TYPE_VECTOR &&
           tile_scalar_bits(type->scalar) * tile_pack(type) == 32 &&
           tile_type_elements(type) <= TILE_CONTENT_LIMIT;
}

static unsigned part_count(const tile_emitter *e, tile_value value) {
    return tile_part_count(tile_value_type(e->f, value));
}

static uint32_t *new_registers(tile_emitter *e, unsigned count) {
    uint32_t *registers = TILE_NEW_ARRAY(&e->arena, uint32_t, count);
    for (unsigned i = 0; i < count; i++) registers[i] = e->sums->count++;
    return registers;
}

/* Returns whether no register occurs twice, neither in this list nor in those checked since
 * start_stamps. */
static bool are_apart(tile_sums *s, const uint32_t *registers, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (s->stamps[registers[i]] == s->stamp)
            return false;
        else
            s->stamps[registers[i]] = s->stamp;
    return true;
}

static void start_stamps(tile_emitter *e) {
    tile_sums *s = e->sums;
    if (s->stamp_capacity < s->count) {
        s->stamp_capacity = 2u * s->count;
        s->stamps = TILE_NEW_ARRAY(&e->arena, uint32_t, s->stamp_capacity);
        s->stamp = 0;
    }
    s->stamp++;
}

/* Moves ---------------------------------------------------------------------------------------- */

static LLVMValueRef *move_out(tile_emitter *e, const uint32_t *registers, const tile_type *type) {
    unsigned count = tile_part_count(type);
    LLVMValueRef *parts = tile_new_parts(e, type);
    LLVMTypeRef part = tile_part_type(e, type);
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_move_sum);
    for (unsigned i = 0; i < count; i++) tile_ptx_add_results(&ptx, &part, 1);
    for (unsigned i = 0; i < count; i++) {
        tile_ptx_next(&ptx, i);
        tile_ptx_add_sums(&ptx, &registers[i], 1);
    }
    tile_ptx_call(&ptx, parts);
    return parts;
}

static void move_zeros(tile_emitter *e, const uint32_t *registers, LLVMValueRef *parts,
                       unsigned count) {
    unsigned zeros = 0;
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_clear_sum);
    for (unsigned i = 0; i < count; i++)
        if (LLVMIsNull(parts[i])) tile_ptx_add_sums(&ptx, &registers[i], 1);
    for (unsigned i = 0; i < count; i++)
        if (LLVMIsNull(parts[i])) tile_ptx_next(&ptx, zeros++);
    if (zeros) tile_ptx_call(&ptx, NULL);
}

static bool is_moved(LLVMValueRef part) {
    return !LLVMIsNull(part) && !LLVMIsPoison(part);
}

static void move_in(tile_emitter *e, const uint32_t *registers, LLVMValueRef *parts,
                    unsigned count) {
    unsigned moved = 0;
    move_zeros(e, registers, parts, count);
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_move_sum);
    for (unsigned i = 0; i < count; i++)
        if (is_moved(parts[i])) tile_ptx_add_sums(&ptx, &registers[i], 1);
    for (unsigned i = 0; i < count; i++) {
        if (!is_moved(parts[i])) continue;
        tile_ptx_next(&ptx, moved++);
        tile_ptx_add_inputs(&ptx, &parts[i], 1);
    }
    if (moved) tile_ptx_call(&ptx, NULL);
}

LLVMValueRef *tile_sum_move_out(tile_emitter *e, tile_value value) {
    tile_sums *s = e->sums;
    tile_flush_mmas(e);
    s->moved =
        tile_arena_grow(&e->arena, s->moved, s->moved_count, &s->moved_capacity, sizeof *s->moved);
    s->moved[s->moved_count++] = value;
    return move_out(e, s->registers[value.id], tile_value_type(e->f, value));
}

void tile_sums_drop_copies(tile_emitter *e) {
    tile_sums *s = e->sums;
    while (s->moved_count) e->parts[s->moved[--s->moved_count].id] = NULL;
}

static bool are_same(const uint32_t *a, const uint32_t *b, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (a[i] != b[i]) return false;
    return true;
}

/* Pending moves into registers, done in parallel: the source of one may be the target of another.
 */
typedef struct moves {
    tile_emitter *e;
    tile_value *from;
    const uint32_t **to;
    LLVMValueRef **parts;
    unsigned count;
} moves;

static moves begin_moves(tile_emitter *e, unsigned most) {
    return (moves){.e = e,
                   .from = TILE_NEW_ARRAY(&e->arena, tile_value, most + 1u),
                   .to = TILE_NEW_ARRAY(&e->arena, const uint32_t *, most + 1u),
                   .parts = TILE_NEW_ARRAY(&e->arena, LLVMValueRef *, most + 1u)};
}

static void add_move(moves *m, tile_value from, const uint32_t *to) {
    const uint32_t *registers = m->e->sums->registers[from.id];
    if (registers && are_same(registers, to, part_count(m->e, from))) return;
    m->from[m->count] = from;
    m->to[m->count++] = to;
}

static void make_moves(moves *m) {
    for (unsigned i = 0; i < m->count; i++) m->parts[i] = tile_get_parts(m->e, m->from[i]);
    for (unsigned i = 0; i < m->count; i++)
        move_in(m->e, m->to[i], m->parts[i], part_count(m->e, m->from[i]));
    tile_sums_drop_copies(m->e);
}

/* Names ---------------------------------------------------------------------------------------- */

void tile_sum_keep_in_registers(tile_emitter *e, tile_value value, const uint32_t *registers) {
    e->sums->registers[value.id] = registers;
}

bool tile_sum_extract(tile_emitter *e, tile_value from, unsigned first, tile_value result) {
    const tile_type *type = tile_value_type(e->f, result);
    const uint32_t *registers = e->sums->registers[from.id];
    unsigned pack = tile_pack(type);
    if (!registers || pack != tile_pack(tile_value_type(e->f, from)) || first % pack) return false;
    tile_sum_keep_in_registers(e, result, registers + first / pack);
    return true;
}

/* Fails if registers occur twice: a write to one element would change another. */
static bool keep_apart(tile_emitter *e, tile_value value, const uint32_t *registers) {
    start_stamps(e);
    if (!are_apart(e->sums, registers, part_count(e, value))) return false;
    tile_sum_keep_in_registers(e, value, registers);
    return true;
}

bool tile_sum_concat(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    uint32_t *registers = TILE_NEW_ARRAY(&e->arena, uint32_t, tile_part_count(type));
    unsigned at = 0;
    for (unsigned i = 0; i < tile_op_operand_count(e->f, op); i++) {
        tile_value part = tile_op_operand(e->f, op, i);
        const uint32_t *from = e->sums->registers[part.id];
        if (!from || tile_pack(tile_value_type(e->f, part)) != tile_pack(type)) return false;
        for (unsigned k = 0; k < part_count(e, part); k++) registers[at++] = from[k];
    }
    return keep_apart(e, result, registers);
}

bool tile_sum_permute(tile_emitter *e, tile_op op) {
    tile_value from = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    const uint32_t *registers = e->sums->registers[from.id];
    const int64_t *order = tile_op_attr(e->f, op, TILE_ATTR_order)->list;
    const tile_type *type = tile_value_type(e->f, result);
    unsigned pack = tile_pack(type), count = tile_part_count(type);
    if (!registers || pack != tile_pack(tile_value_type(e->f, from))) return false;
    uint32_t *chosen = TILE_NEW_ARRAY(&e->arena, uint32_t, count);
    for (unsigned i = 0; i < count; i++) {
        chosen[i] = registers[order[i * pack] / pack];
        for (unsigned k = 0; k < pack; k++)
            if (order[i * pack + k] != order[i * pack] + k || order[i * pack] % pack) return false;
    }
    return keep_apart(e, result, chosen);
}

/* Products ------------------------------------------------------------------------------------- */

const uint32_t *tile_sum_acquire(tile_emitter *e, tile_op op, tile_value acc, bool *copied) {
    const uint32_t *registers = e->sums->registers[acc.id];
    const tile_type *type = tile_value_type(e->f, acc);
    if (!registers) return NULL;
    *copied = tile_content_is_read(e->sums->content, acc, op, TILE_MOMENT_AT);
    if (!*copied) return registers;
    tile_flush_mmas(e);
    uint32_t *others = new_registers(e, tile_part_count(type));
    move_in(e, others, move_out(e, registers, type), tile_part_count(type));
    return others;
}

bool tile_sum_narrow(tile_emitter *e, tile_value src, tile_value result) {
    const uint32_t *registers = e->sums->registers[src.id];
    const tile_type *type = tile_value_type(e->f, result);
    unsigned count = tile_part_count(type);
    LLVMTypeRef part = tile_part_type(e, type);
    LLVMValueRef *parts = tile_new_parts(e, type);
    if (!registers) return false;
    tile_flush_mmas(e);
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_narrow_sums);
    tile_ptx_modify(&ptx, "%sx2", tile_scalar_name(type->scalar));
    for (unsigned i = 0; i < count; i++) tile_ptx_add_results(&ptx, &part, 1);
    for (unsigned i = 0; i < count; i++) {
        tile_ptx_next(&ptx, i);
        tile_ptx_add_sums(&ptx, &registers[2 * i], 1);
        tile_ptx_add_sums(&ptx, &registers[2 * i + 1], 1);
    }
    tile_ptx_call(&ptx, parts);
    tile_set_parts(e, result, parts);
    return true;
}

/* Returns whether a loop or a branch yields the value. */
static bool is_yielded(const tile_emitter *e, tile_value value) {
    uint32_t count;
    const tile_op *readers = tile_content_readers(e->sums->content, value, &count);
    for (uint32_t i = 0; i < count; i++)
        if (tile_op_effects(e->f, readers[i]) & TILE_EFFECT_TERMINATOR) return true;
    return false;
}

bool tile_sum_add(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    if (tile_op_opcode(e->f, op) != TILE_OP_add || type->scalar != TILE_f32) return false;
    for (unsigned k = 0; k < 2; k++) {
        tile_value sum = tile_op_operand(e->f, op, k), other = tile_op_operand(e->f, op, 1 - k);
        const uint32_t *registers = e->sums->registers[sum.id];
        if (!registers || e->sums->registers[other.id] || !is_yielded(e, result) ||
            tile_content_is_read(e->sums->content, sum, op, TILE_MOMENT_AT))
            continue;
        tile_flush_mmas(e);
        LLVMValueRef *parts = tile_get_parts(e, other);
        tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_add_to_sum);
        for (unsigned i = 0; i < tile_part_count(type); i++)
            tile_ptx_add_sums(&ptx, &registers[i], 1);
        for (unsigned i = 0; i < tile_part_count(type); i++) {
            tile_ptx_next(&ptx, i);
            tile_ptx_add_inputs(&ptx, &parts[i], 1);
        }
        tile_ptx_call(&ptx, NULL);
        tile_sum_keep_in_registers(e, result, registers);
        return true;
    }
    return false;
}

/* Returns whether a product adds to the value, or to the value carried by a loop that starts with
 * it. */
static bool is_summed(const tile_emitter *e, tile_value value) {
    uint32_t count;
    const tile_op *readers = tile_content_readers(e->sums->content, value, &count);
    for (uint32_t i = 0; i < count; i++) {
        tile_op reader = readers[i];
        switch (tile_op_opcode(e->f, reader)) {
        case TILE_OP_mma:
        case TILE_OP_wgmma:
            if (tile_operand_acc(e->f, reader).id == value.id) return true;
            break;
        case TILE_OP_extract:
            if (!tile_extract_is_name(e->f, reader)) break;
            /* fall through */
        case TILE_OP_permute:
            if (is_summed(e, tile_op_result(e->f, reader, 0))) return true;
            break;
        case TILE_OP_for:
            for (unsigned k = 0; k < tile_carried_count(e->f, reader); k++)
                if (tile_carried_sent(e->f, reader, TILE_PARENT_OP, k).id == value.id &&
                    is_summed(e, tile_carried_received(e->f, reader, 0, k)))
                    return true;
            break;
        default: break;
        }
    }
    return false;
}

/* Control -------------------------------------------------------------------------------------- */

void tile_sums_enter_loop(tile_emitter *e, tile_op loop) {
    tile_sums *s = e->sums;
    moves m = begin_moves(e, tile_carried_count(e->f, loop));
    for (unsigned i = 0; i < tile_carried_count(e->f, loop); i++) {
        tile_value init = tile_carried_sent(e->f, loop, TILE_PARENT_OP, i);
        tile_value arg = tile_carried_received(e->f, loop, 0, i);
        const uint32_t *registers = s->registers[init.id];
        if (!fits(tile_value_type(e->f, arg)) || !(registers || is_summed(e, arg))) continue;
        if (!registers || tile_content_is_read(s->content, init, loop, TILE_MOMENT_AT))
            registers = new_registers(e, part_count(e, arg));
        add_move(&m, init, registers);
        tile_sum_keep_in_registers(e, arg, registers);
        tile_sum_keep_in_registers(e, tile_op_result(e->f, loop, i), registers);
    }
    make_moves(&m);
}

void tile_sums_end_iteration(tile_emitter *e, tile_op loop) {
    moves m = begin_moves(e, tile_carried_count(e->f, loop));
    for (unsigned i = 0; i < tile_carried_count(e->f, loop); i++) {
        tile_value arg = tile_carried_received(e->f, loop, 0, i);
        const uint32_t *registers = e->sums->registers[arg.id];
        if (registers) add_move(&m, tile_carried_sent(e->f, loop, 0, i), registers);
    }
    make_moves(&m);
}

/* The registers of result i of a branch: those of the value that one side yields, if that value has
 * no other use; NULL if no side holds it. */
static const uint32_t *choose_registers(tile_emitter *e, tile_op branch, unsigned i) {
    bool held = false;
    unsigned count = part_count(e, tile_op_result(e->f, branch, i));
    for (int r = 0; r < 2; r++) {
        tile_value sent = tile_carried_sent(e->f, branch, r, i);
        const uint32_t *registers = e->sums->registers[sent.id];
        held |= registers != NULL;
        if (registers && !tile_content_is_read(e->sums->content, sent, branch, TILE_MOMENT_AFTER) &&
            are_apart(e->sums, registers, count))
            return registers;
    }
    return held ? new_registers(e, count) : NULL;
}

void tile_sums_join(tile_emitter *e, tile_op branch, const LLVMBasicBlockRef ends[2]) {
    unsigned count = tile_op_result_count(e->f, branch);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    tile_sums_drop_copies(e);
    start_stamps(e);
    for (unsigned i = 0; i < count; i++)
        tile_sum_keep_in_registers(e, tile_op_result(e->f, branch, i),
                                   choose_registers(e, branch, i));
    for (int r = 0; r < 2; r++) {
        moves m = begin_moves(e, count);
        for (unsigned i = 0; i < count; i++) {
            const uint32_t *to = e->sums->registers[tile_op_result(e->f, branch, i).id];
            if (to) add_move(&m, tile_carried_sent(e->f, branch, r, i), to);
        }
        LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(ends[r]));
        make_moves(&m);
    }
    tile_return_to(e, here);
}
