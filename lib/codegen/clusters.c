/* Blocks of a cluster: their ranks and coordinates, the cluster barrier, and addresses of each
 * other's shared memory. */
#include "lib/codegen/emitter.h"

void tile_emit_cluster_rank(tile_emitter *e, tile_op op) {
    int64_t extents[3];
    tile_cluster_extents(e->f, extents); /* checked by the verifier */
    LLVMValueRef rank = tile_machine_call(e, TILE_MACHINE_cluster_rank, NULL, 0);
    tile_machine_set_range(e, rank, 0, (uint32_t)(extents[0] * extents[1] * extents[2]));
    tile_set_scalar(e, tile_op_result(e->f, op, 0), rank);
}

void tile_emit_cluster_id(tile_emitter *e, tile_op op) {
    for (unsigned d = 0; d < 3; d++) {
        tile_machine machine = (tile_machine)(TILE_MACHINE_cluster_id_x + d);
        tile_set_scalar(e, tile_op_result(e->f, op, d), tile_machine_call(e, machine, NULL, 0));
    }
}

void tile_emit_cluster_dim(tile_emitter *e, tile_op op) {
    int64_t extents[3];
    tile_cluster_extents(e->f, extents); /* checked by the verifier */
    for (unsigned d = 0; d < 3; d++)
        tile_set_scalar(e, tile_op_result(e->f, op, d), tile_llvm_int(e->i32, extents[d]));
}

void tile_emit_cluster_arrive(tile_emitter *e, tile_op op) {
    tile_machine_call(e, tile_machine_of_op(e->f, op), NULL, 0);
}

void tile_emit_cluster_wait(tile_emitter *e, tile_op op) {
    tile_machine_call(e, tile_machine_of_op(e->f, op), NULL, 0);
}

void tile_emit_map_shared(tile_emitter *e, tile_op op) {
    LLVMValueRef args[] = {tile_get_scalar(e, tile_operand_src(e->f, op)),
                           tile_get_scalar(e, tile_operand_rank(e->f, op))};
    tile_set_scalar(e, tile_op_result(e->f, op, 0),
                    tile_machine_call(e, tile_machine_of_op(e->f, op), args, 2));
}
