/* Decoding of operations on barriers in shared memory. */
#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/decoding.h"

static cpu_insn *decode_at(cpu_decoder *d, tile_op op, cpu_handler handler) {
    cpu_insn *insn = cpu_add_op(d, op, handler);
    insn->memory = cpu_operand_type(d, op, TILE_OPERAND_bar);
    return insn;
}

/* A barrier of the cluster's blocks follows it. */
void cpu_decode_alloc_barrier(cpu_decoder *d, tile_op op) {
    int64_t stride;
    tile_alloc_bytes(d->f, op, &stride);
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_alloc_barrier);
    const tile_value_data *data = tile_value_at(d->f, tile_op_result(d->f, op, 0));
    insn->type = insn->memory = cpu_result_type(d, op);
    insn->name = data->name ? data->name : insn->name;
    insn->integer = d->shared_at[op.id];
    insn->size = (uint32_t)stride;
    insn->second_count = (uint32_t)tile_op_attr_int(d->f, op, TILE_ATTR_count, 1);
    if (!d->f->cluster_rank) return;
    cpu_add_insn(d, op, cpu_run_cluster_arrive);
    cpu_add_insn(d, op, cpu_run_cluster_wait);
}

void cpu_decode_barrier_arrive(cpu_decoder *d, tile_op op) {
    decode_at(d, op, cpu_run_barrier_arrive);
}

void cpu_decode_barrier_wait(cpu_decoder *d, tile_op op) {
    decode_at(d, op, cpu_run_barrier_wait);
}

void cpu_decode_mbarrier_init(cpu_decoder *d, tile_op op) {
    decode_at(d, op, cpu_run_mbarrier_init);
}

void cpu_decode_mbarrier_fence(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_mbarrier_fence);
}

void cpu_decode_mbarrier_arrive(cpu_decoder *d, tile_op op) {
    decode_at(d, op, cpu_run_mbarrier_arrive);
}

void cpu_decode_mbarrier_expect(cpu_decoder *d, tile_op op) {
    decode_at(d, op, cpu_run_mbarrier_expect)->flag =
        tile_op_has_attr(d->f, op, TILE_ATTR_noarrive);
}

void cpu_decode_mbarrier_wait(cpu_decoder *d, tile_op op) {
    decode_at(d, op, cpu_run_barrier_wait);
}

void cpu_decode_mbarrier_test(cpu_decoder *d, tile_op op) {
    decode_at(d, op, cpu_run_mbarrier_test);
}

void cpu_decode_mbarrier_cp_async(cpu_decoder *d, tile_op op) {
    decode_at(d, op, cpu_run_mbarrier_cp_async)->flag = tile_op_has_attr(d->f, op, TILE_ATTR_noinc);
}

/* operand[]: the value, the buffer, its barriers, the predicate; index: the buffer's offset,
 * second: the barrier's index. */
void cpu_decode_st_async(cpu_decoder *d, tile_op op) {
    const tile_values buffer = tile_operands_dst(d->f, op);
    const tile_values bar = tile_operands_bar(d->f, op);
    cpu_insn *named = TILE_NEW(&d->program->arena, cpu_insn);
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_st_async);
    cpu_set_elements(d, insn, cpu_operand_type(d, op, TILE_OPERAND_src));
    insn->memory = tile_value_type(d->f, buffer.at[0]);
    *named = *insn;
    named->memory = tile_value_type(d->f, bar.at[0]);
    if (tile_value_at(d->f, bar.at[0])->name) named->name = tile_value_at(d->f, bar.at[0])->name;
    if (tile_value_at(d->f, buffer.at[0])->name)
        insn->name = tile_value_at(d->f, buffer.at[0])->name;
    insn->at_barrier = named;
}

void cpu_decode_elect(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_elect);
}

void cpu_decode_sync_warp(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_sync_warp);
}
