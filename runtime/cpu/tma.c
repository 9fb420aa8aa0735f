/* The tensor memory accelerator: boxes of arrays in global memory. */
#include "runtime/cpu/exec.h"

CPU_HANDLER(cpu_run_tensor_map) {
    uint32_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < run->program->lanes; lane++) to[lane] = (uint32_t)insn->integer;
    return CPU_NEXT;
}
