/* Roles. At level 3 each warp jumps to its region. At level 2 the block's agent is replaced by one
 * agent for each group, and continues when all of them have ended.
 *
 * Only barriers order agents. What the block did before the roles, and what the groups did for the
 * code after them, is ordered where the compiler inserts barriers (cpu_insn.own_order). */
#include <string.h>

#include "runtime/cpu/execute/exec.h"

/* Level 3 -------------------------------------------------------------------------------------- */

static cpu_outcome go_to_role(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    if (agent->mask != UINT32_MAX)
        return cpu_fault(run, agent, insn, -1, "reached by part of the warp: lanes %#x",
                         agent->mask);
    const cpu_role *role = insn->roles;
    const cpu_role *last = role + insn->second_count - 1;
    while (role < last && agent->index >= role->first + role->warps * role->groups) role++;
    agent->group = (agent->index - role->first) / role->warps;
    agent->set = role->first + agent->group * role->warps;
    int32_t *to = cpu_at(run, agent, role->group);
    for (unsigned lane = 0; lane < CPU_LANES; lane++) to[lane] = (int32_t)agent->group;
    agent->pc = role->pc;
    return CPU_JUMP;
}

/* Level 2 -------------------------------------------------------------------------------------- */

/* Orders what `to` does after what `from` did. */
static void order_after(cpu_agent *to, cpu_agent *from, bool own_order) {
    cpu_known *known = own_order ? cpu_clock_release(&from->clock) : from->clock.known;
    cpu_clock_acquire(&to->clock, known);
    if (own_order) cpu_known_drop(known);
}

/* A group starts with a copy of the block's registers. */
static void start_group(cpu_run *run, cpu_agent *block, cpu_agent *agent, const cpu_role *role,
                        unsigned group) {
    uint32_t bytes = run->program->frame_bytes;
    memcpy(agent->frame, block->frame, bytes);
    if (agent->poison) memcpy(agent->poison, block->poison, bytes);
    agent->set = agent->first = role->first + group * role->warps;
    agent->weight = role->warps;
    agent->group = group;
    *(int32_t *)cpu_at(run, agent, role->group) = (int32_t)group;
    agent->depth = block->depth;
    agent->mask = 1;
    agent->pc = role->pc;
    agent->state = CPU_READY;
    memset(agent->commits, 0, sizeof agent->commits);
    agent->waited = block->waited;
    agent->has_arrived = block->has_arrived;
    agent->arrived_without_order = block->arrived_without_order;
    agent->round = block->round;
    agent->arrived_at = agent->last_sync_time; /* its threads' earlier accesses are the block's */
    agent->cluster_wait_count = block->cluster_wait_count;
}

static cpu_outcome split(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    cpu_agent *next = agent + 1;
    for (unsigned r = 0; r < insn->second_count; r++)
        for (unsigned g = 0; g < insn->roles[r].groups; g++, next++) {
            start_group(run, agent, next, &insn->roles[r], g);
            order_after(next, agent, insn->own_order);
        }
    agent->state = CPU_IN_ROLES;
    return CPU_PAUSE;
}

/* All groups have arrived equally often at the cluster's barrier; otherwise its next round never
 * completes. */
static void join_arrivals(const cpu_run *run, cpu_agent *block) {
    block->has_arrived = false;
    for (unsigned a = 1; a < run->program->agents; a++) {
        const cpu_agent *group = &block[a];
        if (group->cluster_wait_count > block->cluster_wait_count)
            block->cluster_wait_count = group->cluster_wait_count;
        if (!group->has_arrived) continue;
        block->has_arrived = true;
        block->arrived_without_order = group->arrived_without_order;
        block->round = group->round;
        block->arrived_at = block->last_sync_time;
    }
}

/* The last agent to end wakes the block. */
static cpu_outcome join(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    cpu_agent *block = agent->block->agents;
    cpu_transfer_copies(block, agent);
    cpu_transfer_bulks(block, agent);
    if (insn->own_order) order_after(block, agent, true);
    agent->state = CPU_DONE;
    for (unsigned a = 1; a < run->program->agents; a++)
        if (block[a].state != CPU_DONE) return CPU_PAUSE;
    join_arrivals(run, block);
    uint32_t waited = UINT32_MAX;
    for (unsigned a = 1; a < run->program->agents; a++) waited &= block[a].waited;
    block->waited |= waited;
    block->state = CPU_READY;
    block->pc = insn->target;
    return CPU_PAUSE;
}

/* ---------------------------------------------------------------------------------------------- */

CPU_HANDLER(cpu_run_roles) {
    return run->program->lanes == 1 ? split(run, agent, insn) : go_to_role(run, agent, insn);
}

CPU_HANDLER(cpu_run_role_end) {
    if (run->program->lanes == 1) return join(run, agent, insn);
    agent->set = agent->group = 0;
    agent->pc = insn->target;
    return CPU_JUMP;
}
