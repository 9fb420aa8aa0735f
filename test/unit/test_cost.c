/* The columns `cost` and `error` of ops.def and the trait ROUNDS: every elementwise row has them,
 * and they agree with the row's meaning. */
#include <criterion/criterion.h>

#include <math.h>

#include "lib/ir/cost.h"
#include "lib/ir/arith.h"
#include "lib/ops/error.h"

static bool is_elementwise(tile_opcode opcode) {
    return tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
}

Test(cost, every_elementwise_row_has_one) {
    tile_cost addition = tile_op_cost(TILE_OP_add);
    unsigned rows = 0;
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        tile_opcode opcode = (tile_opcode)i;
        const char *name = tile_op_get_info(opcode)->name;
        tile_cost cost = tile_op_cost(opcode);
        rows += is_elementwise(opcode);
        cr_expect_eq(cost.issue > 0, is_elementwise(opcode), "%s", name);
        if (!is_elementwise(opcode)) continue;
        cr_expect(cost.issue >= addition.issue && cost.latency >= addition.latency &&
                      cost.code >= addition.code,
                  "%s: no operation is cheaper than an addition", name);
        cr_expect_eq(tile_op_is_costly(opcode), cost.latency > addition.latency, "%s", name);
    }
    cr_expect_geq(rows, 44);
    cr_expect_eq(addition.issue, 1);
}

/* True if small integers give integers that the type can represent. */
static bool keeps_whole_numbers(tile_opcode opcode) {
    for (int a = 1; a <= 9; a++)
        for (int b = 1; b <= 9; b++) {
            double result;
            tile_arith_flags arith_flags = {.rounding = TILE_ROUNDING_EVEN};
            if (!tile_fold_real(opcode, TILE_f32, arith_flags, a, b, b - a, &result)) return true;
            if (result != floor(result)) return false;
        }
    return true;
}

/* A comparison with integer inputs is exact only for rows without ROUNDS. If ROUNDS is missing,
 * correct results would be reported as wrong; if it is set needlessly, wrong results would pass. */
Test(cost, rows_round_or_are_checked_exactly) {
    unsigned rounding = 0;
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        tile_opcode opcode = (tile_opcode)i;
        const char *name = tile_op_get_info(opcode)->name;
        bool rounds = tile_op_has_trait(opcode, TILE_TRAIT_ROUNDS);
        rounding += rounds;
        if (!is_elementwise(opcode)) {
            cr_expect(!rounds, "%s", name);
            continue;
        }
        bool approximate = tile_op_is_approximate(opcode);
        cr_expect(rounds || !approximate, "%s: a row with WITHIN must have ROUNDS", name);
        cr_expect_eq(rounds, approximate || !keeps_whole_numbers(opcode),
                     "%s: a row has ROUNDS if its error is WITHIN or if whole operands give "
                     "fractions, and only then",
                     name);
        cr_expect(!rounds || tile_op_error_of(opcode, TILE_f32, false).relative > 0, "%s", name);
    }
    cr_expect_geq(rounding, 11);
}
