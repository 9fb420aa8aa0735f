/* Level 2: accesses of threads to views, at their own coordinates. For each element it is checked
 * whether it is inside of the extents, and its address is computed. */
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/poison.h"
#include "runtime/cpu/sanitize/global_shadow.h"

uint32_t cpu_view_lanes(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                        unsigned operand, unsigned element, uint32_t mask,
                        uint64_t addresses[CPU_LANES]) {
    const cpu_view *view = cpu_at(run, agent, insn->operand[operand]);
    uint32_t inside = mask;
    for (unsigned lane = 0; lane < CPU_LANES; lane++) {
        uint64_t offset = 0; /* wraps, as on a GPU, for extreme strides */
        if (!(mask >> lane & 1)) continue;
        for (unsigned d = 0; d < insn->index_count; d++) {
            int64_t at = ((const int32_t *)cpu_at(run, agent, insn->index[d]))[lane];
            if (d + 1 == insn->index_count) at += element;
            if (at < 0 || at >= view->extent[d]) inside &= ~(UINT32_C(1) << lane);
            offset += (uint64_t)at * (uint64_t)view->stride[d];
        }
        addresses[lane] = view->base + offset * insn->size;
    }
    return inside;
}

/* The position of element `element` of a lane in the registers. */
static size_t place_of(const cpu_insn *insn, unsigned element, unsigned lane) {
    return ((size_t)element * CPU_LANES + lane) * insn->size;
}

CPU_HANDLER(cpu_run_ld_view) {
    uint32_t active = cpu_active_lanes(run, agent, insn, 1);
    char *to = cpu_at(run, agent, insn->result);
    for (unsigned e = 0; e < insn->count / CPU_LANES; e++) {
        uint64_t addresses[CPU_LANES] = {0};
        uint32_t inside = cpu_view_lanes(run, agent, insn, 0, e, active, addresses);
        if (!cpu_global_lanes(run, agent, insn, inside, addresses, insn->size, CPU_READ))
            return CPU_STOP;
        for (unsigned lane = 0; lane < CPU_LANES; lane++) {
            const void *from =
                inside >> lane & 1 ? (const void *)(uintptr_t)addresses[lane] : insn->gather->pad;
            if (agent->mask >> lane & 1) memcpy(to + place_of(insn, e, lane), from, insn->size);
        }
        cpu_count_sectors(run, inside, addresses);
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_st_view) {
    if (cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    uint32_t active = cpu_active_lanes(run, agent, insn, 2);
    const char *from = cpu_at(run, agent, insn->operand[0]);
    for (unsigned e = 0; e < insn->count / CPU_LANES; e++) {
        uint64_t addresses[CPU_LANES] = {0};
        uint32_t inside = cpu_view_lanes(run, agent, insn, 1, e, active, addresses);
        if (!cpu_global_lanes(run, agent, insn, inside, addresses, insn->size, CPU_WRITE) ||
            !cpu_poison_element_may_escape(run, agent, insn, e, inside))
            return CPU_STOP;
        for (unsigned lane = 0; lane < CPU_LANES; lane++)
            if (inside >> lane & 1)
                memcpy((void *)(uintptr_t)addresses[lane], from + place_of(insn, e, lane),
                       insn->size);
        cpu_count_sectors(run, inside, addresses);
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_inside_lanes) {
    uint64_t addresses[CPU_LANES] = {0};
    uint32_t inside = cpu_view_lanes(run, agent, insn, 0, 0, agent->mask, addresses);
    uint8_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < CPU_LANES; lane++)
        if (agent->mask >> lane & 1) to[lane] = inside >> lane & 1;
    return CPU_NEXT;
}
