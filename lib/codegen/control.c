/* Control flow: blocks and branches for regions, one phi for each part of a value that a region
 * carries.
 *
 * A loop with `unroll (n)` has n copies of its body in a row, and leaves after any of them:
 *
 *     before:  begin < end ?  enter : exit
 *     enter:   goto body
 *     body:    phis; copy 1;  index < last ?  copy 2 : exit
 *     copy 2:  index + step;  ...             body : exit
 *     exit:    phis
 *
 * where last = end - step, clamped. Unlike index + step < end, index < last cannot overflow, and
 * the addition is only used if it does not overflow either. LLVM would not unroll such loops: it
 * cannot prove that the convergent operations in them (barriers, mma) are not split over two paths.
 */
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/codegen/sums.h"
#include "lib/ir/regions.h"

static LLVMBasicBlockRef new_block(const tile_emitter *e, const char *name) {
    return LLVMAppendBasicBlockInContext(e->llvm, e->function, name);
}

static LLVMValueRef *begin_phis(tile_emitter *e, const tile_type *type) {
    LLVMValueRef *phis = tile_new_parts(e, type);
    LLVMTypeRef part = tile_part_type(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        phis[i] = LLVMBuildPhi(e->builder, part, "");
    return phis;
}

static void add_incoming(const tile_type *type, LLVMValueRef *phis, LLVMValueRef *parts,
                         LLVMBasicBlockRef from) {
    for (unsigned i = 0; i < tile_part_count(type); i++)
        LLVMAddIncoming(phis[i], &parts[i], &from, 1);
}

/* The parts of carried value i that come from `from`. */
static LLVMValueRef *sent_parts(tile_emitter *e, tile_op op, int from, unsigned i) {
    return tile_get_parts(e, tile_carried_sent(e->f, op, from, i));
}

/* All carried values as LLVM values: values held by sums.c are moved out here. */
static LLVMValueRef **take_sent(tile_emitter *e, tile_op op, int from) {
    unsigned carried = tile_carried_count(e->f, op);
    LLVMValueRef **parts = TILE_NEW_ARRAY(&e->arena, LLVMValueRef *, carried + 1);
    for (unsigned i = 0; i < carried; i++) parts[i] = sent_parts(e, op, from, i);
    tile_sums_drop_copies(e);
    return parts;
}

/* while ---------------------------------------------------------------------------------------- */

void tile_emit_while(tile_emitter *e, tile_op op) {
    unsigned carried = tile_carried_count(e->f, op);
    LLVMBasicBlockRef head = new_block(e, "while"), body = new_block(e, "do");
    LLVMBasicBlockRef exit = new_block(e, "exit"), before = LLVMGetInsertBlock(e->builder);
    LLVMValueRef **phis = TILE_NEW_ARRAY(&e->arena, LLVMValueRef *, carried + 1);
    LLVMValueRef **inits = take_sent(e, op, TILE_PARENT_OP);
    LLVMBuildBr(e->builder, head);
    LLVMPositionBuilderAtEnd(e->builder, head);
    for (unsigned i = 0; i < carried; i++) {
        const tile_type *type = tile_value_type(e->f, tile_op_result(e->f, op, i));
        phis[i] = begin_phis(e, type);
        add_incoming(type, phis[i], inits[i], before);
        tile_set_parts(e, tile_carried_received(e->f, op, 0, i), phis[i]);
    }
    tile_emit_region(e, tile_op_region(e->f, op, 0));
    tile_lines_set(e, op);
    LLVMValueRef **asked = take_sent(e, op, 0);
    LLVMBuildCondBr(e->builder, tile_get_scalar(e, tile_control_operand(e->f, op, 0)), body, exit);
    /* The end of the first region precedes both: no phis are needed there. */
    for (unsigned i = 0; i < carried; i++) {
        tile_set_parts(e, tile_carried_received(e->f, op, 1, i), asked[i]);
        tile_set_parts(e, tile_op_result(e->f, op, i), asked[i]);
    }
    LLVMPositionBuilderAtEnd(e->builder, body);
    tile_emit_region(e, tile_op_region(e->f, op, 1));
    for (unsigned i = 0; i < carried; i++)
        add_incoming(tile_value_type(e->f, tile_op_result(e->f, op, i)), phis[i],
                     sent_parts(e, op, 1, i), LLVMGetInsertBlock(e->builder));
    LLVMBuildBr(e->builder, head);
    LLVMPositionBuilderAtEnd(e->builder, exit);
}

/* if ------------------------------------------------------------------------------------------- */

/* Returns whether the operation is undefined, not only unspecified, for some operands. */
static bool may_trap(const tile_function *f, tile_op op) {
    return tile_may_divide_by_zero(f, op) || (tile_opcode_divides(tile_op_opcode(f, op)) &&
                                              tile_value_is(f, tile_operand_rhs(f, op), -1));
}

/* Returns whether the `if` holds only asynchronous copies and the operations that compute their
 * addresses. A branch around them would split the loop body into basic blocks, and ptxas moves no
 * mma across those. Each copy has a predicate instead. */
static bool is_flat(const tile_function *f, tile_op op) {
    bool copies = false;
    if (tile_op_result_count(f, op)) return false;
    for (unsigned r = 0; r < 2; r++)
        TILE_FOR_EACH_OP (f, inner, tile_op_region(f, op, r)) {
            tile_opcode opcode = tile_op_opcode(f, inner);
            bool copy =
                (opcode == TILE_OP_cp_async || opcode == TILE_OP_cp_async_part) && r == 0;
            copies |= copy;
            if (opcode == TILE_OP_yield || copy) continue;
            if (tile_op_effects(f, inner) || may_trap(f, inner)) return false;
        }
    return copies;
}

/* An `if` whose sides only execute one of several numbered barriers. */
typedef struct choice {
    tile_op barrier; /* one of them; the others have its kind and its warp count */
    unsigned count;
} choice;

static bool find_choice(const tile_function *f, tile_op op, choice *found);

/* Finds one barrier on each path. */
static bool find_choice_in(const tile_function *f, tile_region region, choice *found) {
    unsigned here = 0;
    TILE_FOR_EACH_OP (f, inner, region) {
        tile_opcode opcode = tile_op_opcode(f, inner);
        if (opcode == TILE_OP_yield) continue;
        if (opcode == TILE_OP_sync || opcode == TILE_OP_sync_arrive) {
            if (!tile_op_operand_count(f, inner)) return false;
            if (!found->count++) found->barrier = inner;
            if (opcode != tile_op_opcode(f, found->barrier) ||
                tile_barrier_of(f, inner, 0).warps != tile_barrier_of(f, found->barrier, 0).warps)
                return false;
            here++;
        } else if (opcode == TILE_OP_if) {
            if (!find_choice(f, inner, found)) return false;
            here++;
        } else if (tile_op_effects(f, inner) || may_trap(f, inner)) {
            return false;
        }
    }
    return here == 1;
}

static bool find_choice(const tile_function *f, tile_op op, choice *found) {
    return !tile_op_result_count(f, op) && find_choice_in(f, tile_op_region(f, op, 0), found) &&
           find_choice_in(f, tile_op_region(f, op, 1), found);
}

static LLVMValueRef emit_number(tile_emitter *e, tile_op op);

static LLVMValueRef emit_number_in(tile_emitter *e, tile_region region) {
    LLVMValueRef number = NULL;
    TILE_FOR_EACH_OP (e->f, op, region) {
        tile_opcode opcode = tile_op_opcode(e->f, op);
        if (opcode == TILE_OP_sync || opcode == TILE_OP_sync_arrive)
            number = tile_llvm_int(e->i32, tile_barrier_of(e->f, op, 0).number);
        else if (opcode == TILE_OP_if)
            number = emit_number(e, op);
        else if (opcode != TILE_OP_yield)
            tile_emit_op(e, op);
    }
    return number;
}

/* The number of the barrier that a choice executes. */
static LLVMValueRef emit_number(tile_emitter *e, tile_op op) {
    LLVMValueRef condition = tile_get_scalar(e, tile_operand_condition(e->f, op));
    LLVMValueRef first = emit_number_in(e, tile_op_region(e->f, op, 0));
    LLVMValueRef second = emit_number_in(e, tile_op_region(e->f, op, 1));
    return LLVMBuildSelect(e->builder, condition, first, second, "");
}

/* ptxas turns a branch between two barriers into predicates. Branches between more would split the
 * loop body like those around copies do, and as many predicates would cost the overlap of products
 * that the barriers are for. All lanes of a warp choose the same number. */
static bool emit_choice(tile_emitter *e, tile_op op) {
    choice found = {TILE_NO_OP, 0};
    if (!find_choice(e->f, op, &found) || found.count < 3) return false;
    LLVMValueRef number = emit_number(e, op);
    tile_stamps_put(e, found.barrier, false);
    tile_emit_barrier(e, found.barrier, number);
    tile_stamps_put(e, found.barrier, true);
    return true;
}

void tile_emit_if(tile_emitter *e, tile_op op) {
    if (emit_choice(e, op)) return;
    if (is_flat(e->f, op)) {
        e->only_if = tile_get_scalar(e, tile_operand_condition(e->f, op));
        tile_emit_region(e, tile_op_region(e->f, op, 0));
        e->only_if = NULL;
        return;
    }
    LLVMBasicBlockRef ends[2], sides[2] = {new_block(e, "then"), new_block(e, "else")};
    LLVMBasicBlockRef join = new_block(e, "join");
    LLVMBuildCondBr(e->builder, tile_get_scalar(e, tile_operand_condition(e->f, op)), sides[0],
                    sides[1]);
    for (unsigned r = 0; r < 2; r++) {
        LLVMPositionBuilderAtEnd(e->builder, sides[r]);
        tile_emit_region(e, tile_op_region(e->f, op, r));
        ends[r] = LLVMGetInsertBlock(e->builder);
        LLVMBuildBr(e->builder, join);
    }
    LLVMPositionBuilderAtEnd(e->builder, join);
    tile_sums_join(e, op, ends);
    for (unsigned i = 0; i < tile_op_result_count(e->f, op); i++) {
        tile_value result = tile_op_result(e->f, op, i);
        if (tile_sum_registers(e, result)) continue;
        const tile_type *type = tile_value_type(e->f, result);
        LLVMValueRef *phis = begin_phis(e, type);
        for (unsigned r = 0; r < 2; r++)
            add_incoming(type, phis, sent_parts(e, op, (int)r, i), ends[r]);
        tile_set_parts(e, result, phis);
    }
}

/* Ring buffers --------------------------------------------------------------------------------- */

enum { MAX_STEPS = 8 }; /* operations from the value of one iteration to that of the next */

/* Wraps the value to the width that the emitted code has. */
static bool wrap(const tile_type *type, int64_t *value) {
    if (type->kind != TILE_TYPE_SCALAR || (type->scalar != TILE_i32 && type->scalar != TILE_i1))
        return false;
    *value = type->scalar == TILE_i1 ? *value & 1 : (int32_t)*value;
    return true;
}

/* Evaluates `value` with `arg` equal to `at`. */
static bool evaluate(const tile_function *f, tile_value value, tile_value arg, int64_t at,
                     unsigned steps, int64_t *result) {
    int64_t operands[3] = {0};
    const tile_type *type = tile_value_type(f, value);
    tile_op def = tile_value_def(f, value);
    if (value.id == arg.id) {
        *result = at;
        return true;
    }
    if (tile_value_is_int(f, value, result)) return true;
    if (!def.id || !steps || tile_op_operand_count(f, def) > 3 || tile_op_effects(f, def))
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(f, def); i++)
        if (!evaluate(f, tile_op_operand(f, def, i), arg, at, steps - 1, &operands[i]))
            return false;
    return tile_fold_int(tile_op_opcode(f, def), operands[0], operands[1], operands[2], result) &&
           wrap(type, result);
}

bool tile_loop_is_periodic(const tile_function *f, tile_op loop, unsigned carried, int64_t copies,
                           int64_t *value) {
    tile_value arg = tile_carried_received(f, loop, 0, carried);
    tile_value next = tile_carried_sent(f, loop, 0, carried);
    const tile_type *type = tile_value_type(f, arg);
    if (type->kind != TILE_TYPE_SCALAR || type->scalar != TILE_i32 ||
        !tile_value_is_int(f, tile_carried_sent(f, loop, TILE_PARENT_OP, carried), value))
        return false;
    int64_t at = *value;
    for (int64_t i = 0; i < copies; i++)
        if (!evaluate(f, next, arg, at, MAX_STEPS, &at)) return false;
    return at == *value;
}

/* for ------------------------------------------------------------------------------------------ */

typedef struct loop {
    tile_op op;
    tile_region region;
    unsigned carried;
    int64_t copies;
    LLVMValueRef begin, end, step, last;
    LLVMBasicBlockRef before, enter, body, exit;
    LLVMValueRef index, index_phi;
    LLVMValueRef *
        *phis;   /* by carried value; NULL: held by sums.c, or a constant at the body's head */
    bool surely; /* it runs at least once */
} loop;

static const tile_type *carried_type(const tile_emitter *e, const loop *l, unsigned i) {
    return tile_value_type(e->f, tile_op_result(e->f, l->op, i));
}

static bool is_held(const tile_emitter *e, const loop *l, unsigned i) {
    return tile_sum_registers(e, tile_op_result(e->f, l->op, i)) != NULL;
}

static LLVMValueRef *initial_parts(tile_emitter *e, const loop *l, unsigned i) {
    return sent_parts(e, l->op, TILE_PARENT_OP, i);
}

/* Returns whether an enclosing condition already implies the loop's own entry condition: sums then
 * need no phi of both paths after it. */
static bool runs_surely(const tile_function *f, tile_op op) {
    for (tile_op at = op, around; (around = tile_op_parent(f, at)).id; at = around) {
        if (tile_op_opcode(f, around) != TILE_OP_if ||
            tile_op_region(f, around, 0).id != tile_op_at(f, at)->parent.id)
            continue;
        tile_op asked = tile_value_def(f, tile_operand_condition(f, around));
        if (asked.id && tile_op_opcode(f, asked) == TILE_OP_lt &&
            tile_operand_lhs(f, asked).id == tile_operand_begin(f, op).id &&
            tile_operand_rhs(f, asked).id == tile_operand_end(f, op).id)
            return true;
    }
    return false;
}

static void enter_body(tile_emitter *e, loop *l) {
    l->before = LLVMGetInsertBlock(e->builder);
    if (l->surely) {
        LLVMBuildBr(e->builder, l->enter);
    } else {
        LLVMValueRef runs = LLVMBuildICmp(e->builder, LLVMIntSLT, l->begin, l->end, "");
        LLVMBuildCondBr(e->builder, runs, l->enter, l->exit);
    }
    LLVMPositionBuilderAtEnd(e->builder, l->enter);
    LLVMBuildBr(e->builder, l->body);
    LLVMPositionBuilderAtEnd(e->builder, l->body);
    l->index = l->index_phi = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(l->index, &l->begin, &l->enter, 1);
    for (unsigned i = 0; i < l->carried; i++) {
        int64_t constant;
        if (is_held(e, l, i)) continue;
        LLVMValueRef *parts = initial_parts(e, l, i);
        if (l->copies < 2 || !tile_loop_is_periodic(e->f, l->op, i, l->copies, &constant)) {
            l->phis[i] = begin_phis(e, carried_type(e, l, i));
            add_incoming(carried_type(e, l, i), l->phis[i], parts, l->enter);
            parts = l->phis[i];
        }
        tile_set_parts(e, tile_carried_received(e->f, l->op, 0, i), parts);
    }
}

static loop begin_loop(tile_emitter *e, tile_op op) {
    loop l = {.op = op,
              .region = tile_op_region(e->f, op, 0),
              .carried = tile_op_result_count(e->f, op),
              .copies = tile_op_attr_int(e->f, op, TILE_ATTR_unroll, 1),
              .surely = runs_surely(e->f, op),
              .begin = tile_get_scalar(e, tile_operand_begin(e->f, op)),
              .end = tile_get_scalar(e, tile_operand_end(e->f, op)),
              .step = tile_get_scalar(e, tile_operand_step(e->f, op)),
              .enter = new_block(e, "enter"),
              .body = new_block(e, "loop"),
              .exit = new_block(e, "exit")};
    LLVMValueRef both[] = {l.end, l.step};
    l.phis = TILE_NEW_ARRAY(&e->arena, LLVMValueRef *, l.carried + 1);
    tile_sums_enter_loop(e, op);
    l.last = tile_machine_call(e, TILE_MACHINE_subtract_clamp, both, 2);
    enter_body(e, &l);
    return l;
}

/* The results come from before the loop and from each copy of the body; an entry is NULL if its
 * value comes from one copy only. */
static LLVMValueRef **begin_results(tile_emitter *e, const loop *l) {
    LLVMValueRef **phis = TILE_NEW_ARRAY(&e->arena, LLVMValueRef *, l->carried + 1);
    if (l->surely && l->copies == 1) return phis;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMPositionBuilderAtEnd(e->builder, l->exit);
    for (unsigned i = 0; i < l->carried; i++) {
        if (is_held(e, l, i)) continue;
        phis[i] = begin_phis(e, carried_type(e, l, i));
        if (!l->surely)
            add_incoming(carried_type(e, l, i), phis[i], initial_parts(e, l, i), l->before);
    }
    LLVMPositionBuilderAtEnd(e->builder, here);
    return phis;
}

/* What this copy yields, read before the next copy assigns new parts to the same IR values. */
static LLVMValueRef **take_yields(tile_emitter *e, const loop *l) {
    LLVMValueRef **parts = TILE_NEW_ARRAY(&e->arena, LLVMValueRef *, l->carried + 1);
    for (unsigned i = 0; i < l->carried; i++)
        if (!is_held(e, l, i)) parts[i] = sent_parts(e, l->op, 0, i);
    return parts;
}

/* Prevents ptxas from unrolling a loop that the user does not want unrolled. */
static void forbid_unrolling(tile_emitter *e, LLVMValueRef branch) {
    static const char words[] = "llvm.loop.unroll.disable";
    LLVMMetadataRef word = LLVMMDStringInContext2(e->llvm, words, strlen(words));
    LLVMMetadataRef self = LLVMTemporaryMDNode(e->llvm, NULL, 0);
    LLVMMetadataRef parts[2] = {self, LLVMMDNodeInContext2(e->llvm, &word, 1)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(e->llvm, parts, 2);
    LLVMMetadataReplaceAllUsesWith(self, node); /* a loop's id refers to itself first */
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->llvm, "llvm.loop", strlen("llvm.loop")),
                    LLVMMetadataAsValue(e->llvm, node));
}

/* Ends one copy: branches to the next copy, or back to the loop's head. */
static void end_copy(tile_emitter *e, loop *l, bool is_last, LLVMValueRef **results) {
    LLVMValueRef **parts = take_yields(e, l);
    tile_sums_end_iteration(e, l->op);
    LLVMBasicBlockRef end = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef next = is_last ? l->body : new_block(e, "copy");
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSLT, l->index, l->last, "");
    l->index = LLVMBuildNSWAdd(e->builder, l->index, l->step, "");
    LLVMValueRef branch = LLVMBuildCondBr(e->builder, more, next, l->exit);
    for (unsigned i = 0; i < l->carried; i++) {
        const tile_type *type = carried_type(e, l, i);
        if (is_held(e, l, i)) continue;
        if (results[i])
            add_incoming(type, results[i], parts[i], end);
        else
            results[i] = parts[i];
        if (!is_last)
            tile_set_parts(e, tile_carried_received(e->f, l->op, 0, i), parts[i]);
        else if (l->phis[i])
            add_incoming(type, l->phis[i], parts[i], end);
    }
    if (is_last) {
        LLVMAddIncoming(l->index_phi, &l->index, &end, 1);
        if (l->copies == 1 && tile_op_has_attr(e->f, l->op, TILE_ATTR_unroll))
            forbid_unrolling(e, branch);
    }
    LLVMPositionBuilderAtEnd(e->builder, next);
}

void tile_emit_sync_explicit(tile_emitter *e, tile_op op) {
    tile_emit_region(e, tile_op_region(e->f, op, 0));
    for (unsigned i = 0; i < tile_carried_count(e->f, op); i++)
        tile_set_parts(e, tile_op_result(e->f, op, i), sent_parts(e, op, 0, i));
}

void tile_emit_for(tile_emitter *e, tile_op op) {
    loop l = begin_loop(e, op);
    LLVMValueRef **results = begin_results(e, &l);
    tile_emitted_loop emitted = {l.enter, e->loop};
    e->loop = &emitted;
    for (int64_t copy = 1; copy <= l.copies; copy++) {
        tile_set_scalar(e, tile_region_arg(e->f, l.region, 0), l.index);
        tile_emit_region(e, l.region);
        tile_lines_set(e, op);
        end_copy(e, &l, copy == l.copies, results);
    }
    e->loop = emitted.around;
    LLVMPositionBuilderAtEnd(e->builder, l.exit);
    for (unsigned i = 0; i < l.carried; i++)
        if (!is_held(e, &l, i)) tile_set_parts(e, tile_op_result(e->f, op, i), results[i]);
    tile_recompute_predicates(e, op);
}
