/* Operations of agents on barriers in shared memory, and asynchronous operations in flight. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/mbarrier.h"

#define FOR_EACH_LANE(lane, mask) \
    for (unsigned lane = 0; lane < CPU_LANES; (lane)++) \
        if ((mask) >> (lane)&1)

/* The barrier that a lane names; at level 2 the agent has a single lane. */
static bool find(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned lane,
                 cpu_mbarrier_at *at) {
    const uint32_t *buffers = cpu_at(run, agent, insn->operand[0]);
    const int32_t *index = cpu_at(run, agent, insn->index[0]);
    int said = run->program->lanes == 1 ? -1 : (int)lane;
    return cpu_find_mbarrier(run, agent, insn, said, buffers[lane], index[lane], at);
}

/* Arriving ------------------------------------------------------------------------------------- */

/* Handles all lanes with a single release. Level 2: one arrival for each warp of the set. */
static cpu_outcome arrive(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t lanes) {
    bool whole = run->program->lanes == 1, ok = true;
    if (!lanes) return CPU_NEXT;
    cpu_known *known = cpu_barrier_release(run, agent, lanes);
    FOR_EACH_LANE (lane, lanes) {
        cpu_mbarrier_at at;
        int said = whole ? -1 : (int)lane;
        ok = ok && find(run, agent, insn, lane, &at) &&
             cpu_barrier_arrive(run, agent, insn, said, at, whole ? agent->weight : 1, known);
    }
    cpu_known_drop(known);
    return ok ? CPU_NEXT : CPU_STOP;
}

CPU_HANDLER(cpu_run_barrier_arrive) {
    return arrive(run, agent, insn, 1);
}

CPU_HANDLER(cpu_run_mbarrier_arrive) {
    return arrive(run, agent, insn, cpu_active_lanes(run, agent, insn, 1));
}

/* flag: no arrival */
CPU_HANDLER(cpu_run_mbarrier_expect) {
    const int32_t *bytes = cpu_at(run, agent, insn->operand[1]);
    uint32_t lanes = cpu_active_lanes(run, agent, insn, 2);
    FOR_EACH_LANE (lane, lanes) {
        cpu_mbarrier_at at;
        if (!find(run, agent, insn, lane, &at) ||
            !cpu_barrier_expect(run, agent, insn, (int)lane, at, bytes[lane]))
            return CPU_STOP;
    }
    return insn->flag ? CPU_NEXT : arrive(run, agent, insn, lanes);
}

/* Waiting -------------------------------------------------------------------------------------- */

typedef enum test_outcome { PHASE_COMPLETE, PHASE_INCOMPLETE, PHASE_FAULT } test_outcome;

static test_outcome fault_early(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                                cpu_mbarrier_at at, int64_t known) {
    cpu_fault(run, agent, insn, lane,
              "the wait may pass one round early: phase %" PRId64
              " of %%%s[%u] is complete, and nothing orders that before this wait; phase %" PRId64
              " has the parity it names",
              known + 1, insn->name, at.index, known);
    return PHASE_FAULT;
}

static test_outcome fault_late(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                               cpu_mbarrier_at at, int64_t known) {
    cpu_fault(run, agent, insn, lane,
              "the wait comes too late: it is for phase %" PRId64 " of %%%s[%u], and phase %" PRId64
              ", which has the other parity, is also complete",
              known + 1, insn->name, at.index, known + 2);
    return PHASE_FAULT;
}

/* The number of latest phases whose completion the thread does not know; 3 means 3 or more. */
static int64_t unknown_phases(const cpu_agent *agent, int lane, const cpu_mbarrier *b) {
    enum { MOST = 3 };
    int64_t unknown = 0;
    while (unknown < MOST && unknown < b->phase &&
           !cpu_lane_knows(agent, lane, b->key, (uint32_t)(b->phase - unknown)))
        unknown++;
    return unknown;
}

static void note_wait(const cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t lanes,
                      const cpu_mbarrier *b, bool again) {
    cpu_phase_wait *wait = &b->waits[agent->index];
    bool more = wait->time == agent->clock.time && wait->phase == b->phase - 1;
    *wait = (cpu_phase_wait){.phase = b->phase - 1,
                             .time = agent->clock.time,
                             .lanes = lanes | (more ? wait->lanes : 0),
                             .insn = (uint32_t)(insn - run->program->insns),
                             .again = again};
    agent->clock.used = true;
    agent->accessed_lanes |= lanes;
}

/* The lane acquires what was known at the phase's completion. If all lanes wait, all acquire it;
 * then they are also ordered after their own accesses that arriving threads knew of. */
static void acquire_phase(const cpu_run *run, cpu_agent *agent, unsigned lane, cpu_known *known) {
    uint32_t time = cpu_known_time(known, agent->clock.agent);
    if (run->program->lanes > 1 && agent->mask != UINT32_MAX) {
        cpu_acquire_by_lanes(agent, UINT32_C(1) << lane, known);
        return;
    }
    cpu_clock_acquire(&agent->clock, known);
    if (time >= agent->last_sync_time) agent->last_sync_time = time + 1;
}

static test_outcome test_phase(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                               unsigned lane) {
    cpu_mbarrier_at at;
    int said = run->program->lanes == 1 ? -1 : (int)lane;
    const int32_t *parity = cpu_at(run, agent, insn->operand[1]);
    if (!find(run, agent, insn, lane, &at)) return PHASE_FAULT;
    if (parity[lane] != 0 && parity[lane] != 1) {
        cpu_fault(run, agent, insn, said, "the parity is %" PRId32 ", it must be 0 or 1",
                  parity[lane]);
        return PHASE_FAULT;
    }
    cpu_mbarrier *b = at.barrier;
    int64_t unknown = unknown_phases(agent, said, b), known = b->phase - 1 - unknown;
    bool next = ((known + 1) & 1) == parity[lane];
    if (!next && unknown) return fault_early(run, agent, insn, said, at, known);
    if (next && !unknown) return PHASE_INCOMPLETE;
    if (next && unknown > 1) return fault_late(run, agent, insn, said, at, known);
    acquire_phase(run, agent, lane, b->complete);
    if (insn->scope == TILE_WORD_scope_cluster)
        acquire_phase(run, agent, lane, b->completed_remotely);
    note_wait(run, agent, insn, UINT32_C(1) << lane, b, !next);
    return PHASE_COMPLETE;
}

CPU_HANDLER(cpu_run_barrier_wait) {
    FOR_EACH_LANE (lane, agent->mask) {
        test_outcome what = test_phase(run, agent, insn, lane);
        if (what == PHASE_FAULT) return CPU_STOP;
        if (what == PHASE_COMPLETE) continue;
        agent->state = CPU_AT_MBARRIER;
        agent->order.lane = lane;
        return CPU_PAUSE;
    }
    return CPU_NEXT;
}

/* A deadlock: all other agents have had their turns and cannot continue either. */
static cpu_outcome stop_waiting(cpu_run *run, cpu_agent *agent) {
    bool first = true;
    agent->state = CPU_AT_MBARRIER;
    for (unsigned b = 0; b < agent->block->cluster->count; b++)
        cpu_report_phases(run, agent->block->cluster->blocks[b], &first);
    return CPU_STOP;
}

/* After several failed tests in a loop, other agents run. */
CPU_HANDLER(cpu_run_mbarrier_test) {
    enum { SPIN_LIMIT = 16, MOST = 1 << 14 };
    uint8_t *to = cpu_at(run, agent, insn->result);
    bool any = false, landed = false;
    FOR_EACH_LANE (lane, agent->mask) {
        test_outcome what = test_phase(run, agent, insn, lane);
        if (what == PHASE_FAULT) return CPU_STOP;
        to[lane] = what == PHASE_COMPLETE;
        any |= what == PHASE_COMPLETE;
    }
    agent->failed_tests = any ? 0 : agent->failed_tests + 1;
    if (any) return CPU_NEXT;
    if (agent->failed_tests > MOST) return stop_waiting(run, agent);
    bool waits = agent->failed_tests % SPIN_LIMIT == 0;
    if (waits && !cpu_complete_next_flight(run, agent->block, &landed)) return CPU_STOP;
    if (waits && !landed) cpu_yield_spin(run, agent);
    agent->pc++;
    return CPU_PAUSE;
}

/* "and 64 bytes": the bytes that a phase lacks, or those in excess. */
static const char *bytes_text(tile_arena *arena, int64_t bytes) {
    if (!bytes) return " are missing";
    return bytes > 0 ? tile_arena_format(arena, " and %" PRId64 " bytes are missing", bytes)
                     : tile_arena_format(arena,
                                         " are missing, and %" PRId64
                                         " bytes more than expected have been written",
                                         -bytes);
}

static void report_phase(cpu_run *run, cpu_agent *agent, cpu_mbarrier_at at, bool first) {
    tile_arena scratch = {0};
    const cpu_insn *insn = &run->program->insns[agent->pc];
    const cpu_mbarrier *b = at.barrier;
    const char *what = tile_arena_format(
        &scratch, "for phase %" PRId64 " (parity %d) of %%%s[%u], where %u of %u arrivals%s",
        b->phase, (int)(b->phase & 1), insn->name, at.index, b->pending, b->count,
        bytes_text(&scratch, b->bytes));
    if (first)
        cpu_fault(run, agent, insn, -1, "deadlock: waits %s, and nothing more will arrive", what);
    else
        tile_report(run->context, TILE_NOTE, insn->loc, "%s wait%s here %s",
                    cpu_agent_name(&scratch, run, agent), agent->weight > 1 ? "" : "s", what);
    if (b->last)
        tile_report(run->context, TILE_NOTE, b->last->loc, "the last arrival at %%%s[%u], by %s",
                    insn->name, at.index, cpu_agent_name(&scratch, run, b->last_agent));
    else
        tile_report(run->context, TILE_NOTE, b->init->loc,
                    "no thread has arrived at %%%s[%u] since its initialization", insn->name,
                    at.index);
    tile_arena_reset(&scratch);
}

/* Reports agents whose byte counts are wrong first: the others usually wait as a consequence. */
void cpu_report_phases(cpu_run *run, cpu_block *block, bool *first) {
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned a = 0; a < run->program->agents; a++) {
            cpu_agent *agent = &block->agents[a];
            const cpu_insn *insn = &run->program->insns[agent->pc];
            cpu_mbarrier_at at;
            if (agent->state != CPU_AT_MBARRIER ||
                !find(run, agent, insn, agent->order.lane, &at) ||
                (at.barrier->bytes != 0) != (pass == 0))
                continue;
            report_phase(run, agent, at, *first);
            *first = false;
        }
}

/* Warps ---------------------------------------------------------------------------------------- */

CPU_HANDLER(cpu_run_elect) {
    uint8_t *to = cpu_at(run, agent, insn->result);
    if (!cpu_full_warp_active(run, agent, insn)) return CPU_STOP;
    for (unsigned lane = 0; lane < CPU_LANES; lane++) to[lane] = lane == 0;
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_sync_warp) {
    cpu_clock *clock = &agent->clock;
    if (!cpu_full_warp_active(run, agent, insn)) return CPU_STOP;
    cpu_clock_join(&clock, 1);
    agent->last_sync_time = clock->time;
    agent->accessed_lanes = 0;
    return CPU_NEXT;
}

/* In flight ------------------------------------------------------------------------------------ */

typedef struct cpu_flight {
    cpu_agent *agent;
    cpu_completion_function land;
    void *data;
    cpu_known *known;
    cpu_known *cause;
} cpu_flight;

void cpu_start_flight(cpu_agent *agent, cpu_completion_function land, void *data,
                      cpu_known *known) {
    cpu_block *block = agent->block;
    if (block->flight_count == block->flight_capacity) {
        block->flight_capacity = block->flight_capacity ? 2 * block->flight_capacity : 16;
        block->flights =
            tile_realloc(block->flights, sizeof *block->flights * block->flight_capacity);
    }
    if (known) known->ticks += CPU_TICKS_OF_FLIGHT;
    block->flights[block->flight_count++] =
        (cpu_flight){agent, land, data, known, cpu_clock_fork_async(&agent->clock)};
}

bool cpu_complete_next_flight(cpu_run *run, cpu_block *block, bool *landed) {
    *landed = block->flight_count > 0;
    if (!*landed) return true;
    cpu_flight flight = block->flights[0];
    block->flight_count--;
    memmove(block->flights, block->flights + 1, sizeof flight * block->flight_count);
    block->cause = flight.cause;
    bool ok = flight.land(run, flight.agent, flight.data, flight.known);
    block->cause = NULL;
    cpu_known_drop(flight.known);
    cpu_known_drop(flight.cause);
    return ok;
}

void cpu_drop_flights(cpu_block *block) {
    for (size_t i = 0; i < block->flight_count; i++) {
        free(block->flights[i].data);
        cpu_known_drop(block->flights[i].known);
        cpu_known_drop(block->flights[i].cause);
    }
    block->flight_count = 0;
}
