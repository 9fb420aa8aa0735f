/* Compares emitted integer arithmetic with tile_fold_element. The operands are constants, so LLVM
 * folds the emitted code, and the results are stored constants in the LLVM IR. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "lib/ir/arith.h"
#include "test/unit/codegen_fixture.h"
#include "test/unit/llvm_fixture.h"

static const int32_t lefts[] = {INT32_MIN, INT32_MIN + 1,
                                -130,      -128,
                                -65,       -64,
                                -63,       -7,
                                -4,        -3,
                                -2,        -1,
                                0,         1,
                                2,         3,
                                4,         7,
                                31,        63,
                                64,        65,
                                127,       128,
                                1000,      INT32_MAX - 1,
                                INT32_MAX};
static const int32_t rights[] = {INT32_MIN, -64, -7, -4, -3, -2, -1,   1,
                                 2,         3,   4,  7,  31, 64, 1024, INT32_MAX};
enum { LEFTS = sizeof lefts / sizeof *lefts, RIGHTS = sizeof rights / sizeof *rights };

/* The numbers' bits as those of a u32 or an i32. */
static int64_t element(tile_scalar scalar, int32_t bits) {
    return scalar == TILE_u32 ? (int64_t)(uint32_t)bits : bits;
}

/* True if ops.def defines the result. */
static bool is_defined(tile_opcode opcode, tile_scalar scalar, int32_t right) {
    if (opcode == TILE_OP_ceildiv) return element(scalar, right) > 0;
    if (opcode == TILE_OP_shl || opcode == TILE_OP_shr || opcode == TILE_OP_ushr)
        return right >= 0 && right < 32;
    return true;
}

/* Each left operand occurs once with each right operand. */
static void build(tile_function *f, tile_opcode opcode, tile_scalar scalar, bool is_unsigned,
                  tile_value x) {
    tile_builder b = tile_builder_at_end(f, tile_function_body(f));
    tile_context *context = tile_function_context(f);
    const tile_type *type = tile_type_scalar(context, scalar);
    int32_t at = 0;
    for (int i = 0; i < LEFTS; i++)
        for (int j = 0; j < RIGHTS; j++) {
            if (!is_defined(opcode, scalar, rights[j])) continue;
            const tile_expr *left = tile_expr_int(context, element(scalar, lefts[i])),
                            *right = tile_expr_int(context, element(scalar, rights[j]));
            const tile_segment operands[] = {{tile_build_constant(&b, type, left), NULL, 0},
                                             {tile_build_constant(&b, type, right), NULL, 0}};
            unsigned count = tile_op_get_info(opcode)->operand_count;
            tile_value value = tile_build_op_value(&b, opcode, operands, count, NULL);
            if (is_unsigned) tile_op_set_flag(f, tile_value_op(f, value), TILE_ATTR_unsigned);
            if (tile_value_type(f, value)->scalar == TILE_i1)
                value = tile_build_cast(&b, value, type);
            tile_value index = tile_build_int(&b, at++);
            tile_build_st_global(&b, value, x, &index, 1, TILE_NO_VALUE);
        }
}

static void check(const char *text, tile_opcode opcode, tile_scalar scalar, bool is_unsigned) {
    static const char store[] = "store i32 ";
    for (int i = 0; i < LEFTS; i++)
        for (int j = 0; j < RIGHTS; j++) {
            int64_t expected;
            if (!is_defined(opcode, scalar, rights[j])) continue;
            cr_assert(tile_fold_element(
                opcode, scalar, (tile_arith_flags){.is_unsigned = is_unsigned},
                element(scalar, lefts[i]), element(scalar, rights[j]), 0, &expected));
            text = strstr(text, store);
            cr_assert(text, "a result is missing");
            text += strlen(store);
            cr_assert_eq((int32_t)strtol(text, NULL, 10), (int32_t)expected,
                         "%s of %s, %d, %d: %.12s, not %d", tile_op_get_info(opcode)->name,
                         tile_scalar_name(scalar), lefts[i], rights[j], text, (int32_t)expected);
        }
}

static void check_operation(tile_opcode opcode, tile_scalar scalar, bool is_unsigned) {
    codegen_fixture x;
    tile_blob ir;
    codegen_open(&x, scalar == TILE_u32 ? "kernel @k(%x: ptr<u32>) grid [1] warps 1 {\n}\n"
                                        : "kernel @k(%x: ptr<i32>) grid [1] warps 1 {\n}\n");
    build(x.kernel, opcode, scalar, is_unsigned, tile_function_arg(x.kernel, 0));
    cr_assert_eq(codegen_emit(&x, TILE_EMIT_LLVM, "sm_80", &ir), TILE_OK, "%s", x.messages);
    fold_with_llvm(&ir);
    check(ir.data, opcode, scalar, is_unsigned);
    tile_blob_destroy(&ir);
    codegen_close(&x);
}

Test(codegen_arith, integers_as_folded) {
    static const tile_opcode opcodes[] = {
        TILE_OP_add,    TILE_OP_sub,      TILE_OP_mul, TILE_OP_div, TILE_OP_rem,
        TILE_OP_mod,    TILE_OP_ceildiv,  TILE_OP_min, TILE_OP_max, TILE_OP_and,
        TILE_OP_or,     TILE_OP_xor,      TILE_OP_shl, TILE_OP_shr, TILE_OP_ushr,
        TILE_OP_mul_hi, TILE_OP_popcount, TILE_OP_clz, TILE_OP_lt,  TILE_OP_le,
        TILE_OP_gt,     TILE_OP_ge,       TILE_OP_ult, TILE_OP_abs, TILE_OP_sign};
    for (unsigned i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        for (unsigned t = 0; t < 2; t++)
            check_operation(opcodes[i], t ? TILE_u32 : TILE_i32, false);
    check_operation(TILE_OP_mul_hi, TILE_i32, true);
}
