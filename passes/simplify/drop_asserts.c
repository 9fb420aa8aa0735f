/* drop-asserts: removes every `assert`.
 *
 * A check in an inner loop costs its condition and a branch, and ptxas cannot move instructions
 * across the branch. Tested kernels are therefore compiled without asserts.
 *
 * level: 2 and 3
 * requires: nothing
 * keeps: everything
 * breaks: nothing
 *
 * pipeline: drop-asserts,dce
 * before:
 *   kernel @check(%n: i32, %c: ptr<i32>) grid [1] warps 1 level 3 {
 *     %fits = le %n, 64 : i1
 *     assert %fits {text = "n is too large"}
 *     st_global %n, %c[0]
 *   }
 * after:
 *   kernel @check(%n: i32, %c: ptr<i32>) grid [1] warps 1 level 3 {
 *     st_global %n, %c[0]
 *   } */
#include "passes/pass.h"

tile_status tile_pass_drop_asserts(tile_pass *pass, tile_function *f) {
    long dropped = 0;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (tile_op_opcode(f, op) != TILE_OP_assert) continue;
        tile_erase_op(f, op);
        dropped++;
    }
    tile_pass_count(pass, "dropped", dropped);
    return TILE_OK;
}
