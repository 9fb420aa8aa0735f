/* Roles: at level 3 each warp goes to its region; at level 2 the block's agent becomes one for each
 * group, and comes back when all of them have ended.
 *
 * Between agents only barriers order anything. What the block did before, and what the groups did
 * for what comes after them, is ordered where the compiler puts barriers (cpu_insn.own_order). */
#include <string.h>

#include "runtime/cpu/exec.h"

/* Level 3 -------------------------------------------------------------------------------------- */

static cpu_outcome go_to_role(cpu_run *run, cpu_warp *warp, const cpu_insn *insn) {
    if (warp->mask != UINT32_MAX)
        return cpu_fault(run, warp, insn, -1, "reached by part of the warp: lanes %#x", warp->mask);
    const cpu_role *role = insn->roles;
    while (warp->index >= role->first + role->warps * role->groups) role++;
    warp->group = (warp->index - role->first) / role->warps;
    warp->set = role->first + warp->group * role->warps;
    int32_t *to = cpu_at(run, warp, role->group);
    for (unsigned lane = 0; lane < CPU_LANES; lane++) to[lane] = (int32_t)warp->group;
    warp->pc = role->pc;
    return CPU_JUMP;
}

/* Level 2 -------------------------------------------------------------------------------------- */

/* What happened for `from` happens before what `to` does. */
static void order_after(cpu_warp *to, cpu_warp *from, bool own_order) {
    cpu_known *known = own_order ? cpu_clock_release(&from->clock) : from->clock.known;
    cpu_clock_acquire(&to->clock, known);
    if (own_order) cpu_known_drop(known);
}

/* A group sees all that the block has in registers. */
static void start_group(cpu_run *run, cpu_warp *block, cpu_warp *warp, const cpu_role *role,
                        unsigned group) {
    uint32_t bytes = run->program->frame_bytes;
    memcpy(warp->frame, block->frame, bytes);
    if (warp->poison) memcpy(warp->poison, block->poison, bytes);
    warp->set = warp->first = role->first + group * role->warps;
    warp->weight = role->warps;
    warp->group = group;
    *(int32_t *)cpu_at(run, warp, role->group) = (int32_t)group;
    warp->depth = block->depth;
    warp->mask = 1;
    warp->pc = role->pc;
    warp->state = CPU_READY;
    memset(warp->commits, 0, sizeof warp->commits);
}

static cpu_outcome split(cpu_run *run, cpu_warp *warp, const cpu_insn *insn) {
    cpu_warp *next = warp + 1;
    for (unsigned r = 0; r < insn->second_count; r++)
        for (unsigned g = 0; g < insn->roles[r].groups; g++, next++) {
            start_group(run, warp, next, &insn->roles[r], g);
            order_after(next, warp, insn->own_order);
        }
    warp->state = CPU_APART;
    return CPU_PAUSE;
}

/* The last one to end wakes the block. */
static cpu_outcome join(cpu_run *run, cpu_warp *warp, const cpu_insn *insn) {
    cpu_warp *block = warp->block->warps;
    cpu_hand_over_copies(block, warp);
    if (insn->own_order) order_after(block, warp, true);
    warp->state = CPU_DONE;
    for (unsigned a = 1; a < run->program->agents; a++)
        if (block[a].state != CPU_DONE) return CPU_PAUSE;
    block->state = CPU_READY;
    block->pc = insn->target;
    return CPU_PAUSE;
}

/* ---------------------------------------------------------------------------------------------- */

CPU_HANDLER(cpu_run_roles) {
    return run->program->lanes == 1 ? split(run, warp, insn) : go_to_role(run, warp, insn);
}

CPU_HANDLER(cpu_run_role_end) {
    if (run->program->lanes == 1) return join(run, warp, insn);
    warp->set = warp->group = 0;
    warp->pc = insn->target;
    return CPU_JUMP;
}
