/* Level 2: coordinates and shapes of tiles, which are row-major here. */
#include "lib/ir/shape.h"

#include "runtime/cpu/exec.h"

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

CPU_HANDLER(cpu_run_broadcast) {
    int64_t narrow[TILE_MAX_RANK], wide[TILE_MAX_RANK];
    dims_of(insn->type, narrow);
    dims_of(insn->memory, wide);
    tile_repeat_elements(insn->memory->rank, wide, insn->type->rank, narrow, insn->size,
                         cpu_at(run, agent, insn->operand[0]), cpu_at(run, agent, insn->result));
    return CPU_NEXT;
}
