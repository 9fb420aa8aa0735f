/* Decoding of TMA copies.
 *
 *     operand[]  0 the map or pointer, 1 the shared buffer, 2 its barriers, 3 the cluster's blocks
 *     index      coordinates; of a pointer its index, and the bytes
 *     second     the shared buffer's offset; the barrier's index
 */
#include "runtime/cpu/decode/decode.h"

#include <string.h>

void cpu_decode_tensor_map(cpu_decoder *d, tile_op op) {
    unsigned count;
    const tile_map *maps = tile_map_list(d->f, &d->scratch, &count);
    cpu_insn *insn = cpu_add_insn(d, op, cpu_run_tensor_map);
    insn->result = cpu_place_of(d, tile_op_result(d->f, op, 0));
    insn->integer = tile_map_index(d->f, op, maps, count);
}

static const char *name_of(cpu_decoder *d, tile_value value) {
    const char *name = tile_value_at(d->f, value)->name;
    return name ? name : "memory";
}

static cpu_insn *add_copy(cpu_decoder *d, tile_op op, cpu_handler handler,
                          tile_operand_name outside, tile_operand_name shared) {
    const tile_values from = tile_named_operands(d->f, op, outside);
    uint32_t *second = TILE_NEW_ARRAY(&d->program->arena, uint32_t, 2);
    cpu_insn *insn = cpu_add_insn(d, op, handler);
    insn->operand[0] = cpu_place_of(d, from.at[0]);
    insn->type = tile_value_type(d->f, from.at[0]);
    insn->size = tile_scalar_bytes(insn->type->scalar);
    insn->scalar = insn->type->scalar;
    const tile_values buffer = tile_named_operands(d->f, op, shared);
    insn->operand[1] = cpu_place_of(d, buffer.at[0]);
    insn->memory = tile_value_type(d->f, buffer.at[0]);
    insn->name = name_of(d, buffer.at[0]);
    second[0] = cpu_place_of(d, buffer.at[1]);
    insn->second = second;
    insn->second_count = 1;
    insn->kind = tile_op_word(d->f, op, TILE_ATTR_kind);
    return insn;
}

static void set_coordinates(cpu_decoder *d, cpu_insn *insn, tile_op op) {
    const tile_values at = tile_operands_at(d->f, op);
    insn->index = cpu_places_of(d, at.at, at.count);
    insn->index_count = at.count;
}

/* The offsets of a map in im2col mode follow the coordinates. */
static void set_offsets(cpu_decoder *d, cpu_insn *insn, tile_op op) {
    const tile_values at = tile_operands_at(d->f, op), offsets = tile_operands_offsets(d->f, op);
    tile_value all[TILE_MAX_MAP_RANK + TILE_MAX_SPATIAL];
    if (!offsets.count) return;
    memcpy(all, at.at, sizeof *all * at.count);
    memcpy(all + at.count, offsets.at, sizeof *all * offsets.count);
    insn->index = cpu_places_of(d, all, at.count + offsets.count);
    insn->index_count = at.count + offsets.count;
}

/* Sets a pointer's index, of type insn->from, and the number of bytes. */
static void set_bytes(cpu_decoder *d, cpu_insn *insn, tile_op op, tile_operand_name pointer) {
    tile_value values[2] = {tile_named_operands(d->f, op, pointer).at[1],
                            tile_operand_bytes(d->f, op)};
    insn->from = tile_value_type(d->f, values[0])->scalar;
    insn->index = cpu_places_of(d, values, 2);
    insn->index_count = 2;
}

/* Messages about the barrier use its name. */
static void set_barrier(cpu_decoder *d, cpu_insn *insn, tile_op op) {
    const tile_values bar = tile_operands_bar(d->f, op);
    const tile_values mask = tile_operands_blocks(d->f, op);
    insn->operand[2] = cpu_place_of(d, bar.at[0]);
    insn->second[1] = cpu_place_of(d, bar.at[1]);
    insn->second_count = 2;
    if (mask.count) insn->operand[3] = cpu_place_of(d, mask.at[0]);
    cpu_insn *named = TILE_NEW(&d->program->arena, cpu_insn);
    *named = *insn;
    named->name = name_of(d, bar.at[0]);
    named->memory = tile_value_type(d->f, bar.at[0]);
    insn->at_barrier = named;
}

void cpu_decode_tma_load(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = add_copy(d, op, cpu_run_tma_load, TILE_OPERAND_map, TILE_OPERAND_dst);
    set_coordinates(d, insn, op);
    set_offsets(d, insn, op);
    set_barrier(d, insn, op);
}

void cpu_decode_tma_store(cpu_decoder *d, tile_op op) {
    set_coordinates(d, add_copy(d, op, cpu_run_tma_store, TILE_OPERAND_map, TILE_OPERAND_src), op);
}

void cpu_decode_bulk_load(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = add_copy(d, op, cpu_run_bulk_load, TILE_OPERAND_src, TILE_OPERAND_dst);
    set_bytes(d, insn, op, TILE_OPERAND_src);
    set_barrier(d, insn, op);
}

void cpu_decode_bulk_store(cpu_decoder *d, tile_op op) {
    set_bytes(d, add_copy(d, op, cpu_run_bulk_store, TILE_OPERAND_dst, TILE_OPERAND_src), op,
              TILE_OPERAND_dst);
}

void cpu_decode_bulk_commit(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_bulk_commit);
}

void cpu_decode_bulk_wait(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_bulk_wait);
    insn->integer = cpu_pending_count(d, op);
    insn->flag = tile_op_has_attr(d->f, op, TILE_ATTR_read);
}

void cpu_name_barrier(cpu_decoder *d, tile_op op) {
    const tile_values bar = tile_operands_bar(d->f, op);
    cpu_insn *insn = &d->program->insns[d->program->insn_count - 1];
    cpu_insn *named = TILE_NEW(&d->program->arena, cpu_insn);
    *named = *insn;
    named->name = name_of(d, bar.at[0]);
    named->memory = tile_value_type(d->f, bar.at[0]);
    named->operand[0] = cpu_place_of(d, bar.at[0]);
    named->index = cpu_places_of(d, bar.at + 1, bar.count - 1);
    insn->at_barrier = named;
    insn->name = name_of(d, tile_operand_dst(d->f, op));
}

void cpu_set_sharing(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = &d->program->insns[d->program->insn_count - 1];
    int64_t extent, dim = tile_op_attr_int(d->f, op, TILE_ATTR_multicast, -1);
    insn->sharer_step = 1;
    for (int64_t i = 0; i <= dim && i < d->f->cluster_rank; i++) {
        if (!tile_expr_is_int(d->f->cluster[i], &extent)) extent = 1;
        if (i == dim)
            insn->sharers = (unsigned)extent;
        else
            insn->sharer_step *= (unsigned)extent;
    }
}
