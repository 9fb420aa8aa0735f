/* Clusters: blocks that run at the same time, their barrier, and access to each other's shared
 * memory.
 *
 * A buffer from map_shared is the rank of its block and the buffer's offset there, packed into one
 * word. An access must happen after that block's start and before its end, in any order of blocks:
 * a cluster barrier or another release by the other block must order it. What the other block knows
 * when it ends must include the access. An arrival at a barrier there is known when the phase is
 * complete, whatever else the arrival orders. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/mbarrier.h"

/* The packed result of map_shared. */
enum { OFFSET_BITS = 27, OFFSET_MASK = (1 << OFFSET_BITS) - 1 };
#define NO_BLOCK UINT32_C(0x80000000)

/* Clusters ------------------------------------------------------------------------------------- */

cpu_cluster *cpu_cluster_create(unsigned blocks) {
    cpu_cluster *cluster = tile_malloc(sizeof *cluster);
    *cluster = (cpu_cluster){.count = blocks, .attached = blocks};
    cluster->blocks = tile_malloc(sizeof *cluster->blocks * blocks);
    return cluster;
}

void cpu_leave_cluster(cpu_block *block) {
    cpu_cluster *cluster = block->cluster;
    block->cluster = NULL;
    if (--cluster->attached) return;
    cpu_clock_stop(&cluster->arriving);
    cpu_clock_stop(&cluster->arrived);
    free(cluster->blocks);
    free(cluster);
}

/* Ranks ---------------------------------------------------------------------------------------- */

CPU_HANDLER(cpu_run_cluster_rank) {
    return cpu_set_all(run, agent, insn, agent->block->rank);
}

CPU_HANDLER(cpu_run_cluster_id) {
    unsigned d = (unsigned)insn->integer;
    return cpu_set_all(run, agent, insn, agent->block->id[d] / run->program->cluster[d]);
}

CPU_HANDLER(cpu_run_cluster_dim) {
    return cpu_set_all(run, agent, insn, run->program->cluster[insn->integer]);
}

/* The barrier ---------------------------------------------------------------------------------- */

static void complete(cpu_run *run, cpu_cluster *cluster) {
    cpu_clock_stop(&cluster->arrived);
    cluster->arrived = cluster->arriving;
    cluster->arriving = (cpu_clock){.known = NULL};
    cluster->arrived_warps = 0;
    cluster->rounds++;
    run->counts->barriers++;
    for (unsigned b = 0; b < cluster->count; b++)
        for (unsigned a = 0; a < run->program->agents; a++) {
            cpu_agent *agent = &cluster->blocks[b]->agents[a];
            if (agent->state == CPU_AT_CLUSTER) agent->state = CPU_READY;
        }
}

/* flag: relaxed */
CPU_HANDLER(cpu_run_cluster_arrive) {
    cpu_cluster *cluster = agent->block->cluster;
    if (!cpu_all_lanes_active(run, agent, insn)) return CPU_STOP;
    if (agent->has_arrived)
        return cpu_fault(run, agent, insn, -1,
                         "arrives at the cluster's barrier again; `cluster_wait` comes first");
    agent->has_arrived = true;
    agent->arrived_without_order = insn->flag;
    agent->round = cluster->rounds;
    if (!insn->flag) {
        cpu_known *known = cpu_clock_release(&agent->clock);
        cpu_clock_acquire(&cluster->arriving, known);
        cpu_known_drop(known);
        agent->arrived_at = agent->clock.time;
    }
    cluster->arrived_warps += agent->weight;
    if (cluster->arrived_warps == cluster->count * run->program->warps) complete(run, cluster);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_cluster_wait) {
    cpu_cluster *cluster = agent->block->cluster;
    if (!cpu_all_lanes_active(run, agent, insn)) return CPU_STOP;
    if (!agent->has_arrived)
        return cpu_fault(run, agent, insn, -1,
                         "waits at the cluster's barrier without having arrived; `cluster_arrive` "
                         "comes first");
    if (agent->round == cluster->rounds) {
        agent->state = CPU_AT_CLUSTER;
        return CPU_PAUSE;
    }
    cpu_clock_acquire(&agent->clock, cluster->arrived.known);
    if (!agent->arrived_without_order) agent->last_sync_time = agent->arrived_at;
    if (!agent->arrived_without_order) agent->accessed_lanes = UINT32_MAX; /* or since it arrived */
    agent->has_arrived = false;
    agent->cluster_wait_count++;
    return CPU_NEXT;
}

/* Deadlocks ------------------------------------------------------------------------------------ */

static unsigned count_state(const cpu_run *run, const cpu_cluster *cluster, cpu_state state) {
    unsigned count = 0;
    for (unsigned b = 0; b < cluster->count; b++)
        for (unsigned a = 0; a < run->program->agents; a++)
            count += cluster->blocks[b]->agents[a].state == state;
    return count;
}

/* Notes where the first block is that has not arrived. */
static void note_missing(cpu_run *run, const cpu_cluster *cluster) {
    tile_arena scratch = {0};
    bool said = false;
    for (unsigned b = 0; b < cluster->count && !said; b++) {
        const cpu_block *block = cluster->blocks[b];
        const char *name = cpu_block_name(&scratch, block);
        const cpu_agent *missing = NULL;
        for (unsigned a = 0; a < run->program->agents && !missing; a++)
            if (block->agents[a].state == CPU_AT_BARRIER && !block->agents[a].has_arrived)
                missing = &block->agents[a];
        said = missing || block->ended;
        if (missing)
            tile_report(run->context, TILE_NOTE, run->program->insns[missing->pc].loc,
                        "%s waits here, for its own barrier", name);
        else if (block->ended)
            tile_report(
                run->context, TILE_NOTE, run->program->function->loc,
                "%s has ended; all blocks of a cluster must execute the same `cluster_arrive`",
                name);
    }
    tile_arena_reset(&scratch);
}

/* No agent waits for the cluster. Reports agents that wait for phases that are never completed. */
static bool phases_are_stuck(cpu_run *run, const cpu_cluster *cluster) {
    bool first = true;
    for (unsigned b = 0; b < cluster->count; b++)
        cpu_report_phases(run, cluster->blocks[b], &first);
    return !first;
}

bool cpu_cluster_is_stuck(cpu_run *run, const cpu_cluster *cluster) {
    const cpu_agent *first = NULL;
    if (count_state(run, cluster, CPU_READY) || count_state(run, cluster, CPU_WAITING) ||
        count_state(run, cluster, CPU_PREEMPTED))
        return false;
    for (unsigned b = 0; b < cluster->count; b++)
        for (unsigned a = 0; a < run->program->agents && !first; a++)
            if (cluster->blocks[b]->agents[a].state == CPU_AT_CLUSTER)
                first = &cluster->blocks[b]->agents[a];
    if (!first) return phases_are_stuck(run, cluster);
    cpu_fault(run, first, &run->program->insns[first->pc], -1,
              "deadlock: %u of %u warps have arrived at the cluster's barrier, and no other one "
              "will",
              cluster->arrived_warps, cluster->count * run->program->warps);
    note_missing(run, cluster);
    return true;
}

/* Shared memory of other blocks ---------------------------------------------------------------- */

CPU_HANDLER(cpu_run_map_shared) {
    const uint32_t *from = cpu_at(run, agent, insn->operand[0]);
    const int32_t *rank = cpu_at(run, agent, insn->operand[1]);
    uint32_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < run->program->lanes; lane++) {
        bool there = rank[lane] >= 0 && rank[lane] < (int32_t)agent->block->cluster->count;
        to[lane] = there ? from[lane] | (uint32_t)rank[lane] << OFFSET_BITS : NO_BLOCK;
    }
    return CPU_NEXT;
}

uint32_t cpu_buffer_offset(const cpu_insn *insn, uint32_t buffer) {
    return insn->memory->cluster ? buffer & OFFSET_MASK : buffer;
}

static bool has_started(const cpu_run *run, const cpu_agent *agent, const cpu_block *block) {
    bool found = agent->cluster_wait_count > 0;
    for (unsigned a = 0; a < run->program->agents && !found; a++)
        found = cpu_clock_knows(&agent->clock, block->agents[a].clock.agent, 1);
    return found;
}

static bool is_arrival(const cpu_insn *insn) {
    return insn->opcode == TILE_OP_mbarrier_arrive || insn->opcode == TILE_OP_barrier_arrive;
}

/* Records the latest visit of each agent: first all accesses, then all arrivals. An arrival follows
 * the end of the time interval that it releases, hence the - 1. */
static void note_remote_access(const cpu_run *run, cpu_block *block, const cpu_agent *agent,
                               const cpu_insn *insn, int lane) {
    unsigned count = block->cluster->count * run->program->agents;
    if (!block->remote_accesses) {
        block->remote_accesses = tile_malloc(sizeof *block->remote_accesses * count * 2);
        memset(block->remote_accesses, 0, sizeof *block->remote_accesses * count * 2);
    }
    bool arrives = is_arrival(insn);
    block->remote_accesses[agent->number + (arrives ? count : 0)] =
        (cpu_remote_access){agent->clock.time - arrives, insn, lane};
}

cpu_block *cpu_find_owner(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                          uint32_t buffer) {
    tile_arena scratch = {0};
    cpu_cluster *cluster = agent->block->cluster;
    const char *why = NULL;
    if (!insn->memory->cluster) return agent->block;
    cpu_block *block = buffer == NO_BLOCK ? NULL : cluster->blocks[buffer >> OFFSET_BITS];
    if (block == agent->block) return block;
    if (!block)
        why = tile_arena_format(
            &scratch, "%%%s was mapped with a rank outside of the cluster, whose ranks are 0 to %u",
            insn->name, cluster->count - 1);
    else if (!has_started(run, agent, block))
        why = tile_arena_format(&scratch,
                                "%s may not have started, so that its shared memory may not exist; "
                                "put `cluster_arrive` and `cluster_wait` before the first access",
                                cpu_block_name(&scratch, block));
    else if (block->ended)
        why = tile_arena_format(&scratch,
                                "%s has ended, and its shared memory with it; put `cluster_arrive` "
                                "and `cluster_wait` after the last access",
                                cpu_block_name(&scratch, block));
    if (why)
        cpu_fault(run, agent, insn, lane, "%s", why);
    else
        note_remote_access(run, block, agent, insn, lane);
    tile_arena_reset(&scratch);
    return why ? NULL : block;
}

static bool knows_arrival(const cpu_clock *clock, uint64_t agent, const cpu_remote_access *visit) {
    bool lane = visit->lane >= 0;
    uint64_t key = lane ? cpu_lane_key(agent, (unsigned)visit->lane) : agent;
    return cpu_clock_knows(clock, agent + CPU_LOADS_DONE, visit->time) ||
           cpu_clock_knows(clock, key + CPU_LOADS_DONE, visit->time) ||
           cpu_clock_knows(clock, key, visit->time);
}

/* Returns whether one of the block's agents, which have all ended, knows of the visit. */
static bool is_known(const cpu_run *run, const cpu_block *block, const cpu_agent *visitor,
                     const cpu_remote_access *visit) {
    bool known = false, arrival = is_arrival(visit->insn);
    uint64_t number = visitor->clock.agent;
    for (unsigned a = 0; a < run->program->agents && !known; a++)
        known = cpu_clock_knows(&block->agents[a].clock, number, visit->time) ||
                (arrival && knows_arrival(&block->agents[a].clock, number, visit));
    return known;
}

bool cpu_block_may_end(cpu_run *run, cpu_block *block) {
    unsigned agents = run->program->agents, count = block->cluster->count * agents;
    for (unsigned i = 0; block->remote_accesses && i < 2 * count; i++) {
        const cpu_remote_access *visit = &block->remote_accesses[i];
        const cpu_agent *agent = &block->cluster->blocks[i % count / agents]->agents[i % agents];
        if (!visit->time || is_known(run, block, agent, visit)) continue;
        tile_arena scratch = {0};
        cpu_fault(run, agent, visit->insn, visit->lane,
                  "%s may have ended before this, and its shared memory with it; put "
                  "`cluster_arrive` and `cluster_wait` after the last access",
                  cpu_block_name(&scratch, block));
        tile_arena_reset(&scratch);
        return false;
    }
    return true;
}
