/* The block's barriers. Each expects a number of warps, some of which only arrive without waiting.
 * What an agent did before it arrived happens before what the waiting agents do next. */
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/mbarrier.h"

void cpu_clear_barriers(cpu_block *block) {
    for (unsigned i = 0; i < CPU_BARRIERS; i++) {
        cpu_clock_stop(&block->barriers[i].arrived);
        block->barriers[i] = (cpu_barrier){0};
    }
}

/* Names ---------------------------------------------------------------------------------------- */

static const char *barrier_name(tile_arena *arena, const cpu_block *block,
                                const cpu_barrier *barrier) {
    unsigned number = (unsigned)(barrier - block->barriers);
    return number ? tile_arena_format(arena, "barrier %u", number) : "the block's barrier";
}

static const cpu_barrier *barrier_of(const cpu_agent *agent) {
    const cpu_barrier *barrier = agent->block->barriers;
    while (!(barrier->waiting >> agent->index & 1)) barrier++;
    return barrier;
}

/* Arrivals ------------------------------------------------------------------------------------- */

/* why: the error, in words that complete a sentence after the barrier's name. */
static cpu_outcome reject(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                          const cpu_barrier *barrier, const char *why) {
    tile_arena scratch = {0};
    cpu_fault(run, agent, insn, -1,
              "arrives at %s %s: %u of %u warps have arrived, and it is not complete",
              barrier_name(&scratch, agent->block, barrier), why, barrier->arrived_warps,
              barrier->expected_warps);
    tile_report(run->context, TILE_NOTE, barrier->first->loc, "the first one arrived here");
    tile_arena_reset(&scratch);
    return CPU_STOP;
}

/* The agents whose threads wait. If the block is among them, its roles are included. */
static uint64_t add_role_agents(const cpu_run *run, uint64_t waiting) {
    return run->program->lanes == 1 && waiting & 1 ? UINT64_MAX : waiting;
}

/* Orders these agents after each other, and after those that `arrived` without waiting. */
static void synchronize(cpu_run *run, cpu_block *block, uint64_t agents, cpu_known *arrived) {
    cpu_clock *clocks[CPU_MAX_AGENTS];
    unsigned count = 0;
    for (unsigned a = 0; a < run->program->agents; a++)
        if (agents >> a & 1) clocks[count++] = &block->agents[a].clock;
    if (count) cpu_clock_join(clocks, count);
    for (unsigned a = 0; a < run->program->agents; a++) {
        cpu_agent *agent = &block->agents[a];
        if (!(agents >> a & 1)) continue;
        cpu_clock_acquire(&agent->clock, arrived);
        agent->last_sync_time = agent->clock.time;
        agent->accessed_lanes = 0;
    }
    if (count == run->program->agents) block->settled = clocks[0]->time - 1;
}

static void complete(cpu_run *run, cpu_block *block, cpu_barrier *barrier) {
    synchronize(run, block, add_role_agents(run, barrier->waiting), barrier->arrived.known);
    for (unsigned a = 0; a < run->program->agents; a++) {
        if (!(barrier->waiting >> a & 1)) continue;
        block->agents[a].state = CPU_READY;
        block->agents[a].pc++;
    }
    cpu_clock_stop(&barrier->arrived);
    *barrier = (cpu_barrier){0};
    run->counts->barriers++;
}

void cpu_sync_own_threads(cpu_run *run, cpu_agent *agent) {
    synchronize(run, agent->block, add_role_agents(run, UINT64_C(1) << agent->index), NULL);
}

cpu_outcome cpu_arrive_at_barrier(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                  unsigned number, unsigned expected_warps, bool waits) {
    cpu_barrier *barrier = &agent->block->barriers[number];
    uint64_t self = UINT64_C(1) << agent->index;
    if (!barrier->arrived_warps) {
        barrier->expected_warps = expected_warps;
        barrier->first = insn;
    }
    if (barrier->expected_warps != expected_warps)
        return reject(run, agent, insn, barrier, "for another number of warps");
    if (barrier->arrived_agents & self) return reject(run, agent, insn, barrier, "again");
    if (barrier->arrived_warps + agent->weight > expected_warps)
        return reject(run, agent, insn, barrier, "with too many warps");
    barrier->arrived_warps += agent->weight;
    barrier->arrived_agents |= self;
    if (waits) {
        barrier->waiting |= self;
        agent->state = CPU_AT_BARRIER;
    } else {
        cpu_known *known = cpu_clock_release(&agent->clock);
        cpu_clock_acquire(&barrier->arrived, known);
        cpu_known_drop(known);
    }
    bool alone = barrier->waiting == self;
    if (barrier->arrived_warps == expected_warps) complete(run, agent->block, barrier);
    if (!waits) return CPU_NEXT;
    /* The agent that completes the barrier is not the first to continue. */
    return agent->state == CPU_READY && alone ? CPU_JUMP : CPU_PAUSE;
}

/* Deadlocks ------------------------------------------------------------------------------------ */

static unsigned warps_that_ended(const cpu_run *run, const cpu_block *block) {
    unsigned ended = 0;
    if (run->program->lanes == 1) return 0;
    for (unsigned a = 0; a < run->program->agents; a++)
        if (block->agents[a].state == CPU_DONE) ended += block->agents[a].weight;
    return ended;
}

/* Returns whether an agent with a lower number waits at the same instruction. */
static bool waits_like_earlier(const cpu_block *block, unsigned agent) {
    for (unsigned a = 0; a < agent; a++)
        if (block->agents[a].state == CPU_AT_BARRIER &&
            block->agents[a].pc == block->agents[agent].pc)
            return true;
    return false;
}

void cpu_report_stuck(cpu_run *run, cpu_block *block) {
    tile_arena scratch = {0};
    bool first = true;
    unsigned ended = warps_that_ended(run, block);
    cpu_report_phases(run, block, &first);
    for (unsigned a = 0; a < run->program->agents; a++) {
        const cpu_agent *agent = &block->agents[a];
        if (agent->state != CPU_AT_BARRIER) continue;
        const cpu_insn *insn = &run->program->insns[agent->pc];
        const cpu_barrier *barrier = barrier_of(agent);
        const char *name = barrier_name(&scratch, block, barrier);
        if (waits_like_earlier(block, a)) continue;
        if (!first)
            tile_report(run->context, TILE_NOTE, insn->loc,
                        "%s %s here for %s, where %u of %u warps have arrived",
                        cpu_agent_name(&scratch, run, agent), agent->weight > 1 ? "wait" : "waits",
                        name, barrier->arrived_warps, barrier->expected_warps);
        else if (ended && barrier == block->barriers)
            cpu_fault(run, agent, insn, -1,
                      "barrier reached by part of the block: %u of %u warps have ended", ended,
                      run->program->warps);
        else
            cpu_fault(run, agent, insn, -1,
                      "deadlock: %u of %u warps have arrived at %s, and no other one will",
                      barrier->arrived_warps, barrier->expected_warps, name);
        first = false;
    }
    tile_arena_reset(&scratch);
}

bool cpu_barriers_may_end(cpu_run *run, cpu_block *block) {
    for (unsigned i = 0; i < CPU_BARRIERS; i++) {
        const cpu_barrier *barrier = &block->barriers[i];
        tile_arena scratch = {0};
        if (!barrier->arrived_warps) continue;
        cpu_fault(run, &block->agents[__builtin_ctzll(barrier->arrived_agents)], barrier->first, -1,
                  "the block ends, and %s is not complete: %u of %u warps have arrived, and the "
                  "others never did",
                  barrier_name(&scratch, block, barrier), barrier->arrived_warps,
                  barrier->expected_warps);
        tile_arena_reset(&scratch);
        return false;
    }
    return true;
}
