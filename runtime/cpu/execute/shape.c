/* Level 2: coordinates and shapes of tiles; tiles are row-major. */
#include "lib/ops/shape.h"

#include <inttypes.h>
#include <string.h>

#include "lib/ops/rearrange.h"
#include "lib/ops/reduce.h"
#include "lib/support/scalar.h"
#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/decoding.h"

CPU_HANDLER(cpu_run_iota) {
    const tile_type *type = insn->type;
    uint32_t inner = 1, extent = (uint32_t)tile_type_dim(type, insn->iota->axis);
    char *to = cpu_at(run, agent, insn->result);
    for (unsigned d = insn->iota->axis + 1; d < type->rank; d++)
        inner *= (uint32_t)tile_type_dim(type, d);
    for (uint32_t i = 0; i < insn->count; i++)
        tile_iota_write(insn->iota, i / inner % extent, insn->scalar, to + i * insn->size);
    return CPU_NEXT;
}

static void dims_of(const tile_type *type, int64_t dims[TILE_MAX_RANK]) {
    for (unsigned d = 0; d < type->rank; d++) dims[d] = tile_type_dim(type, d);
}

CPU_HANDLER(cpu_run_gather) {
    int64_t from_dims[TILE_MAX_RANK], to_dims[TILE_MAX_RANK];
    dims_of(insn->memory, from_dims);
    dims_of(insn->type, to_dims);
    tile_rows source = tile_rows_along(from_dims, insn->memory->rank, (unsigned)insn->integer),
              rows = tile_rows_along(to_dims, insn->type->rank, (unsigned)insn->integer);
    const char *from = cpu_at(run, agent, insn->operand[0]),
               *index = cpu_at(run, agent, insn->operand[1]);
    char *to = cpu_at(run, agent, insn->result);
    unsigned index_size = tile_scalar_bytes(insn->from);
    for (size_t row = 0; row < rows.outer * rows.inner; row++)
        for (size_t i = 0; i < rows.extent; i++) {
            size_t place = tile_row_begin(&rows, row) + i * rows.inner;
            int64_t at = tile_integer_read(insn->from, index + place * index_size);
            if (at < 0 || at >= (int64_t)source.extent) {
                cpu_fault(run, agent, insn, -1,
                          "out of bounds: index %" PRId64 " in an extent of %zu", at,
                          source.extent);
                return CPU_STOP;
            }
            size_t taken = tile_row_begin(&source, row) + (size_t)at * source.inner;
            memcpy(to + place * insn->size, from + taken * insn->size, insn->size);
        }
    return CPU_NEXT;
}

/* Moves elements from one operand to one result. */
typedef struct element_move {
    tile_placement placement;
    const tile_type *from, *to;
    unsigned operand;
    bool listed; /* its place is in `index`, not in `operand` */
    uint32_t result;
} element_move;

struct cpu_moves {
    unsigned count;
    element_move *items;
};

static CPU_HANDLER(run_move_elements) {
    int64_t narrow[TILE_MAX_RANK], wide[TILE_MAX_RANK];
    for (unsigned i = 0; i < insn->moves->count; i++) {
        const element_move *move = &insn->moves->items[i];
        uint32_t place = (move->listed ? insn->index : insn->operand)[move->operand];
        dims_of(move->from, narrow);
        dims_of(move->to, wide);
        tile_place_elements(&move->placement, narrow, move->from->rank, wide, insn->size,
                            cpu_at(run, agent, place), cpu_at(run, agent, move->result));
    }
    return CPU_NEXT;
}

static void decode_moves(cpu_decoder *d, tile_op op) {
    tile_arena *arena = &d->program->arena;
    cpu_insn *insn = cpu_add_op(d, op, run_move_elements);
    unsigned operands = tile_moved_operands(d->f, op), results = tile_op_result_count(d->f, op);
    bool listed = insn->opcode == TILE_OP_concat;
    cpu_moves *moves = TILE_NEW(arena, cpu_moves);
    moves->items = TILE_NEW_ARRAY(arena, element_move, operands * results);
    for (unsigned o = 0; o < operands; o++)
        for (unsigned r = 0; r < results; r++) {
            tile_value from = tile_op_operand(d->f, op, o), to = tile_op_result(d->f, op, r);
            moves->items[moves->count++] = (element_move){tile_placement_of(d->f, op, o, r),
                                                          tile_value_type(d->f, from),
                                                          tile_value_type(d->f, to),
                                                          o,
                                                          listed,
                                                          cpu_place_of(d, to)};
        }
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    insn->moves = moves;
}

#define MOVES(name) \
    void cpu_decode_##name(cpu_decoder *d, tile_op op) { \
        decode_moves(d, op); \
    }
MOVES(broadcast)
MOVES(transpose)
MOVES(reshape)
MOVES(slice)
MOVES(unjoin)
MOVES(join)

static void decode_concat_vectors(cpu_decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    uint32_t *counts = TILE_NEW_ARRAY(&d->program->arena, uint32_t, data->operand_count);
    for (uint32_t i = 0; i < data->operand_count; i++)
        counts[i] = cpu_value_elements(tile_value_type(d->f, data->operands[i]));
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_concat);
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    insn->second = counts;
}

void cpu_decode_concat(cpu_decoder *d, tile_op op) {
    if (tile_is_rearrangement(d->f, op))
        decode_moves(d, op);
    else
        decode_concat_vectors(d, op);
}
