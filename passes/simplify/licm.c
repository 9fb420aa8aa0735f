/* licm: moves pure operations with loop-invariant operands out of the loop.
 *
 * The row offsets of a tile, for example, do not depend on k. They are computed once before the
 * loop, so that the loop keeps only the work that feeds the tensor cores.
 *
 * level: 2 and 3
 * requires: nothing
 * keeps: everything
 * breaks: nothing
 *
 * before:
 *   kernel @rows(%n: i32, %k: i32, %p: ptr<f32>)
 *       grid [%n]  warps 4
 *   {
 *     %x, %y, %z = block_id : i32
 *     %g = view %p, [%n, %k] : view<f32[?, ?]>
 *     for %i = 0 to %k step 128 {
 *       %row = add %x, 1 : i32
 *       %part = div %k, %n : i32
 *       %t = load %g[%row, %i] : tile<f32[128]>
 *       store %t, %g[%x, %part]
 *     }
 *   }
 *
 * after:
 *   kernel @rows(%n: i32, %k: i32, %p: ptr<f32>)
 *       grid [%n]  warps 4
 *   {
 *     %x, %y, %z = block_id : i32
 *     %g = view %p, [%n, %k] : view<f32[?, ?]>
 *     %row = add %x, 1 : i32
 *     for %i = 0 to %k step 128 {
 *       %part = div %k, %n : i32
 *       %t = load %g[%row, %i] : tile<f32[128]>
 *       store %t, %g[%x, %part]
 *     }
 *   }
 *
 * Inner loops are processed first, so that an operation moves out as many levels as possible. These
 * operations stay in the loop:
 *
 * - A division whose divisor may be zero: a loop without iterations does not divide.
 * - `splat` and `iota`: a tile that is live in registers across the loop costs more than filling it
 *   again.
 * - Sums of one value with many constants (the coordinates of a thread's elements), in a loop
 *   around another loop, which would keep all of them in registers.
 *
 * From a branch in the loop, which may not be taken, only scalars are moved: they are mostly
 * addresses.
 *
 * Divisions of short vectors by a constant are moved from branches as well, with the `splat` that
 * is their divisor: the places of the rows that a thread copies. A division takes ten instructions,
 * and its result as many registers as its operand. */
#include "lib/analysis/executors.h"
#include "lib/ir/regions.h"
#include "lib/ir/arith.h"
#include "passes/pass.h"

enum { MANY = 16 /* registers */, FEW = 8 /* elements of a vector */ };

typedef struct hoist {
    tile_function *f;
    uint32_t *depth; /* by value: number of regions that enclose its definition */
    uint32_t *sums;  /* by value: number of its sums with constants */
    long moved;
} hoist;

static void set_depth(hoist *h, tile_value first, uint32_t count, uint32_t depth) {
    for (uint32_t i = 0; i < count; i++) h->depth[first.id + i] = depth;
}

static bool can_move(const hoist *h, tile_op id, uint32_t loop_depth) {
    const tile_op_data *op = tile_op_at(h->f, id);
    if (tile_op_effects(h->f, id) || op->region_count || op->opcode == TILE_OP_scratch ||
        op->opcode == TILE_OP_splat || op->opcode == TILE_OP_iota ||
        op->opcode == TILE_OP_element || tile_may_divide_by_zero(h->f, id))
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (h->depth[op->operands[i].id] >= loop_depth) return false;
    return true;
}

/* The value that op adds to a constant; 0 if op is not such a sum. */
static tile_value summand(const tile_function *f, tile_op op) {
    int64_t constant;
    tile_opcode opcode = (tile_opcode)tile_op_at(f, op)->opcode;
    bool sum = (opcode == TILE_OP_add || opcode == TILE_OP_or) &&
               tile_value_is_int(f, tile_operand_rhs(f, op), &constant);
    return sum ? tile_operand_lhs(f, op) : TILE_NO_VALUE;
}

static bool is_around_loop(const tile_function *f, tile_region region) {
    bool found = false;
    TILE_FOR_EACH_OP (f, op, region) {
        const tile_op_data *data = tile_op_at(f, op);
        for (unsigned r = 0; r < data->region_count; r++)
            found |= tile_repeats(f, op) || is_around_loop(f, data->regions[r]);
    }
    return found;
}

static bool gives_scalars(const tile_function *f, const tile_op_data *op) {
    for (uint32_t i = 0; i < op->result_count; i++)
        if (tile_value_type(f, (tile_value){op->first_result.id + i})->kind != TILE_TYPE_SCALAR)
            return false;
    return true;
}

/* The divisor of a short vector that all its elements have in common; no value for other
 * operations. */
static tile_value common_divisor(const tile_function *f, tile_op op) {
    tile_opcode opcode = (tile_opcode)tile_op_at(f, op)->opcode;
    int64_t divisor, elements;
    if (opcode != TILE_OP_div && opcode != TILE_OP_rem) return TILE_NO_VALUE;
    const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
    const tile_value rhs = tile_operand_rhs(f, op);
    const tile_op splat = tile_value_def(f, rhs);
    bool fits = type->kind == TILE_TYPE_VECTOR && tile_expr_is_int(type->dims[0], &elements) &&
                elements <= FEW && splat.id && tile_op_at(f, splat)->opcode == TILE_OP_splat &&
                tile_value_is_int(f, tile_operand_src(f, splat), &divisor) && divisor != 0;
    return fits ? rhs : TILE_NO_VALUE;
}

/* Hoists the division and its divisor. */
static bool hoist_division(hoist *h, tile_op loop, tile_op op, uint32_t depth) {
    tile_function *f = h->f;
    const tile_value divisor = common_divisor(f, op);
    const tile_region outside = tile_op_at(f, loop)->parent;
    const tile_op_data *data = tile_op_at(f, op);
    if (!divisor.id || h->depth[tile_operand_lhs(f, op).id] > depth) return false;
    if (h->depth[divisor.id] > depth) {
        tile_move_op(f, tile_value_def(f, divisor), outside, loop);
        set_depth(h, divisor, 1, depth);
        h->moved++;
    }
    tile_move_op(f, op, outside, loop);
    set_depth(h, data->first_result, data->result_count, depth);
    h->moved++;
    return true;
}

/* Hoists from a region of `loop` and from the branches in it. depth: of the region that contains
 * the loop. */
static void hoist_from_region(hoist *h, tile_op loop, tile_region region, uint32_t depth,
                              bool around) {
    tile_function *f = h->f;
    bool branch = tile_region_at(f, region)->parent.id != loop.id;
    for (tile_op op = tile_region_at(f, region)->first, next; op.id; op = next) {
        const tile_op_data *data = tile_op_at(f, op);
        next = data->next;
        for (unsigned r = 0; data->opcode == TILE_OP_if && r < data->region_count; r++)
            hoist_from_region(h, loop, data->regions[r], depth, around);
        if (hoist_division(h, loop, op, depth)) continue;
        if (!can_move(h, op, depth + 1) || (branch && !gives_scalars(f, data))) continue;
        if (around && h->sums[summand(f, op).id] > MANY) continue;
        tile_move_op(f, op, tile_op_at(f, loop)->parent, loop);
        set_depth(h, data->first_result, data->result_count, depth);
        h->moved++;
    }
}

static void visit_region(hoist *h, tile_region region, uint32_t depth) {
    tile_function *f = h->f;
    set_depth(h, tile_region_at(f, region)->first_arg, tile_region_at(f, region)->arg_count, depth);
    TILE_FOR_EACH_OP (f, op, region) {
        const tile_op_data *data = tile_op_at(f, op);
        set_depth(h, data->first_result, data->result_count, depth);
        for (unsigned r = 0; r < data->region_count; r++)
            visit_region(h, data->regions[r], depth + 1);
        bool moves = tile_repeats(f, op) && !tile_is_grouped(f, op);
        for (unsigned r = 0; r < data->region_count && moves; r++)
            hoist_from_region(h, op, data->regions[r], depth, is_around_loop(f, data->regions[r]));
    }
}

tile_status tile_pass_licm(tile_pass *pass, tile_function *f) {
    /* Constants and arguments have depth 0, like values that the body of the function defines. */
    hoist h = {.f = f, .depth = TILE_NEW_ARRAY(pass->scratch, uint32_t, f->value_count)};
    h.sums = TILE_NEW_ARRAY(pass->scratch, uint32_t, f->value_count);
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode) h.sums[summand(f, (tile_op){id}).id]++;
    h.sums[0] = 0;
    visit_region(&h, f->body, 0);
    tile_pass_count(pass, "moved", h.moved);
    return TILE_OK;
}
