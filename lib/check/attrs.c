/* Checks the values of numbers and words that an operation accepts, and flags that depend on the
 * types of its operands. */
#include "lib/check/verify.h"
#include "lib/ir/describe.h"
#include "lib/ir/effects.h"
#include "lib/ir/operands.h"
#include "lib/ir/syntax.h"
#include "lib/ops/atomic.h"
#include "lib/support/scalar.h"

typedef struct checker {
    const tile_function *f;
    bool ok;
} checker;

static int64_t int_of(const checker *c, tile_op op, tile_attr_id id, int64_t otherwise) {
    return tile_op_attr_int(c->f, op, id, otherwise);
}

static bool has(const checker *c, tile_op op, tile_attr_id id) {
    return tile_op_has_attr(c->f, op, id);
}

static void check_loop(checker *c, tile_op op) {
    int64_t step, depth = int_of(c, op, TILE_ATTR_pipelined, 1);
    int64_t factor = int_of(c, op, TILE_ATTR_split, 1);
    if (tile_value_is_int(c->f, tile_operand_step(c->f, op), &step) && step <= 0)
        c->ok = tile_error_at(c->f, op, "the step of `for` must be positive, it is %lld",
                              (long long)step);
    if (depth < 1 || depth > TILE_MAX_STAGES)
        c->ok = tile_error_at(c->f, op, "pipelined takes 1 to %d stages, not %lld", TILE_MAX_STAGES,
                              (long long)depth);
    if (factor < 1 || factor > TILE_MAX_SPLIT)
        c->ok = tile_error_at(c->f, op, "split takes 1 to %d parts, not %lld", TILE_MAX_SPLIT,
                              (long long)factor);
    if (has(c, op, TILE_ATTR_split) != has(c, op, TILE_ATTR_strategy))
        c->ok = tile_error_at(c->f, op, "split takes a factor and a strategy: `split(8, serial)`");
    if (!has(c, op, TILE_ATTR_pipelined) && has(c, op, TILE_ATTR_consumers))
        c->ok = tile_error_at(c->f, op,
                              "`consumers` requires `pipelined`: write both in its parentheses, "
                              "`pipelined (4, consumers = cooperative)`");
    if (!has(c, op, TILE_ATTR_producer_fed) && has(c, op, TILE_ATTR_ordered_issue))
        c->ok = tile_error_at(c->f, op,
                              "`ordered_issue` requires `producer_fed`; write `pipelined (4, "
                              "consumers = ordered)`, which sets both");
    if (int_of(c, op, TILE_ATTR_unroll, 1) < 1)
        c->ok = tile_error_at(c->f, op, "unroll takes at least 1");
}

/* Checks the number of pending groups that a wait may leave; what: name of the groups. */
static void check_pending(checker *c, tile_op op, const char *what) {
    int64_t pending;
    if (tile_value_is_int(c->f, tile_operand_pending(c->f, op), &pending) && pending < 0)
        c->ok = tile_error_at(c->f, op, "%s cannot leave %lld %s pending", tile_op_name(c->f, op),
                              (long long)pending, what);
}

static void check_dot(checker *c, tile_op op) {
    const char *text = tile_op_attr_text(c->f, op, TILE_ATTR_via);
    tile_word via = tile_op_word(c->f, op, TILE_ATTR_via);
    if (text && via != TILE_WORD_via_mma && via != TILE_WORD_via_wgmma)
        c->ok = tile_error_at(c->f, op, "a dot is computed via mma or wgmma, not via %s", text);
    if (has(c, op, TILE_ATTR_swap_operands) && via != TILE_WORD_via_wgmma)
        c->ok = tile_error_at(
            c->f, op,
            "`swap_operands` selects how wgmma computes a dot; write `via = wgmma` as well");
}

static void check_offset(checker *c, tile_op op) {
    int64_t offset = int_of(c, op, TILE_ATTR_offset, 0);
    if (offset < 0 || offset > INT32_MAX)
        c->ok = tile_error_at(c->f, op, "alloc_shared: the offset must be from 0 to %d, it is %lld",
                              INT32_MAX, (long long)offset);
}

static void check_order(checker *c, tile_op op) {
    const tile_attr *order = tile_op_attr(c->f, op, TILE_ATTR_order);
    int64_t count = tile_type_elements(tile_value_type(c->f, tile_operand_src(c->f, op)));
    if (!order) return;
    if (order->count != tile_type_elements(tile_value_type(c->f, tile_op_result(c->f, op, 0))))
        c->ok = tile_error_at(c->f, op,
                              "permute: 'order' needs one entry for each element of the result");
    for (unsigned i = 0; i < order->count; i++)
        if (order->list[i] < 0 || order->list[i] >= count)
            c->ok = tile_error_at(
                c->f, op,
                "permute: there is no element %lld; `order` counts the elements of src from 0",
                (long long)order->list[i]);
}

static void check_axis(checker *c, tile_op op) {
    unsigned rank = tile_value_type(c->f, tile_op_result(c->f, op, 0))->rank;
    int64_t axis = int_of(c, op, TILE_ATTR_axis, 0);
    if (rank && (axis < 0 || axis >= rank))
        c->ok = tile_error_at(c->f, op, "iota: the axis must be from 0 to %u, it is %lld", rank - 1,
                              (long long)axis);
}

static void check_bytes(checker *c, tile_op op) {
    int64_t bytes = int_of(c, op, TILE_ATTR_bytes, 0);
    if (bytes != 4 && bytes != 8 && bytes != 16)
        c->ok =
            tile_error_at(c->f, op, "cp_async copies 4, 8 or 16 bytes, not %lld", (long long)bytes);
}

static void check_matrices(checker *c, tile_op op) {
    bool load = tile_op_opcode(c->f, op) == TILE_OP_ldmatrix;
    if (!has(c, op, TILE_ATTR_trans)) return;
    tile_value moved = load ? tile_op_result(c->f, op, 0) : tile_operand_src(c->f, op);
    const tile_type *type = tile_value_type(c->f, moved);
    if (tile_scalar_bits(type->scalar) > 16)
        c->ok =
            tile_error_at(c->f, op, "%s transposes elements of 16 bits or pairs of bytes, not %s",
                          tile_op_name(c->f, op), tile_scalar_name(type->scalar));
}

/* Operands that are read as unsigned must be integers, and 64-bit ones are allowed only where the
 * accumulator wraps at that width anyway. */
static void check_signs(checker *c, tile_op op) {
    static const tile_attr_id signs[] = {TILE_ATTR_unsigned_lhs, TILE_ATTR_unsigned_rhs};
    for (unsigned i = 0; i < 2; i++) {
        if (!has(c, op, signs[i])) continue;
        const tile_type *type = tile_value_type(c->f, tile_op_segment(c->f, op, i).at[0]),
                        *acc = tile_value_type(c->f, tile_operand_acc(c->f, op));
        const char *name = tile_attr_get_info(signs[i])->name;
        if (type->param || acc->param) continue;
        if (tile_scalar_is_floating(type->scalar))
            c->ok = tile_error_at(c->f, op, "%s: the elements must be integers, not %s", name,
                                  tile_scalar_name(type->scalar));
        else if (tile_scalar_bits(type->scalar) == 64 && tile_scalar_is_floating(acc->scalar))
            c->ok = tile_error_at(c->f, op, "%s: i64 must be signed where the accumulator is %s",
                                  name, tile_scalar_name(acc->scalar));
    }
}

/* Tensor cores add the products of a precision other than ieee in f32. */
static void check_precision(checker *c, tile_op op) {
    tile_word precision = tile_op_word(c->f, op, TILE_ATTR_precision);
    bool fragments = tile_op_at(c->f, op)->opcode != TILE_OP_dot &&
                     tile_op_at(c->f, op)->opcode != TILE_OP_matmul;
    const char *text = tile_op_attr_text(c->f, op, TILE_ATTR_precision);
    if (!has(c, op, TILE_ATTR_precision)) return;
    if (text && !precision) {
        c->ok =
            tile_error_at(c->f, op, "%s: `precision` takes ieee, tf32, bf16x3 or bf16x6, not '%s'",
                          tile_op_name(c->f, op), text);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const tile_type *type = tile_value_type(c->f, tile_op_segment(c->f, op, i).at[0]);
        if (type->param || type->scalar == TILE_f32) continue;
        c->ok = tile_error_at(c->f, op,
                              "%s: `precision` selects how f32 is multiplied, and %s has elements "
                              "of %s; remove it, or cast the operands to f32",
                              tile_op_name(c->f, op), i ? "rhs" : "lhs",
                              tile_scalar_name(type->scalar));
        return;
    }
    if (!precision || precision == TILE_WORD_precision_ieee) return;
    const tile_type *sum = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    const char *word = tile_attr_word_text(precision);
    if (fragments && precision != TILE_WORD_precision_tf32)
        c->ok =
            tile_error_at(c->f, op,
                          "%s: one instruction cannot multiply as %s; write `precision = tf32`, "
                          "or a product of each part",
                          tile_op_name(c->f, op), word);
    else if (!sum->param && sum->scalar != TILE_f32 &&
             (!tile_scalar_is_floating(sum->scalar) || tile_scalar_bits(sum->scalar) > 16 ||
              tile_op_opcode(c->f, op) != TILE_OP_matmul))
        c->ok =
            tile_error_at(c->f, op,
                          "%s: `precision = %s` has sums of f32, not %s; remove it, or cast the "
                          "result",
                          tile_op_name(c->f, op), word, tile_scalar_name(sum->scalar));
}

bool tile_verify_attrs(const tile_function *f, tile_op op) {
    checker c = {.f = f, .ok = true};
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_for) check_loop(&c, op);
    if (opcode == TILE_OP_wait_group) check_pending(&c, op, "groups");
    if (opcode == TILE_OP_dot_wait) check_pending(&c, op, "products");
    if (opcode == TILE_OP_dot) check_dot(&c, op);
    if (opcode == TILE_OP_alloc_shared) check_offset(&c, op);
    if (opcode == TILE_OP_permute) check_order(&c, op);
    if (opcode == TILE_OP_iota) check_axis(&c, op);
    if (opcode == TILE_OP_cp_async) check_bytes(&c, op);
    if (opcode == TILE_OP_ldmatrix || opcode == TILE_OP_stmatrix) check_matrices(&c, op);
    if (c.ok && tile_op_takes(opcode, TILE_OPERAND_acc)) check_signs(&c, op);
    if (c.ok) check_precision(&c, op);
    return c.ok;
}
