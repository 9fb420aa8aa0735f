/* The sanitizer: faults of a kernel, found at the access and reported with the source line. */
#ifndef TILE_RUNTIME_CPU_SANITIZE_CHECK_H
#define TILE_RUNTIME_CPU_SANITIZE_CHECK_H

#include "runtime/cpu/program/program.h"

/* Reports an error at the instruction, with the block, warps and lane (-1: no particular one).
 * Always returns CPU_STOP. */
cpu_outcome cpu_fault(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane,
                      const char *format, ...) TILE_PRINTF(5, 6);

/* The warps of the agent, for messages. */
const char *cpu_agent_name(tile_arena *arena, const cpu_run *run, const cpu_agent *agent);

/* Returns whether the bytes are inside of one buffer, which becomes run->last_range. */
bool cpu_find_global(cpu_run *run, uint64_t address, uint64_t bytes);
/* Checks global memory: inside of a live buffer, and aligned. False after a report. */
bool cpu_check_global(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane,
                      uint64_t address, uint64_t bytes, uint32_t alignment);

/* The coordinates of the block with this number: cluster number * blocks of a cluster + rank. */
void cpu_find_block(const cpu_run *run, uint64_t number, int64_t id[3]);
/* "block (1, 0, 0)" */
const char *cpu_block_name(tile_arena *arena, const cpu_block *block);

/* Checks that an access is inside of the instruction's shared buffer. */
bool cpu_inside_shared(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane,
                       int64_t offset, uint32_t bytes);
/* The same for a buffer that starts at `base`, including alignment. */
bool cpu_check_shared(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane,
                      uint32_t base, int64_t offset, uint32_t bytes);
/* shared_shadow.c: checks that the thread may access these bytes now, and records the access.
 * start_copy marks them as the target of an asynchronous copy; end_copy ends that. */
bool cpu_shared_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                     uint16_t thread, uint32_t offset, uint32_t bytes);
bool cpu_shared_write(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                      uint16_t thread, uint32_t offset, uint32_t bytes);
/* An atomic access, which reads and writes. */
bool cpu_shared_update(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint16_t thread, uint32_t offset, uint32_t bytes);
bool cpu_shared_start_copy(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                           uint16_t thread, uint32_t offset, uint32_t bytes);
/* The async proxy reads these bytes for the agent's warp, from now until end_read. Bytes written
 * through the generic proxy need a fence_async of the writing thread, and writes in the meantime
 * are races. For writes of the async proxy use start_copy and end_copy, with write_fences set to
 * CPU_BY_ASYNC_PROXY. start_read: false after a report. */
bool cpu_shared_start_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t offset,
                           uint32_t bytes);
void cpu_shared_end_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t offset,
                         uint32_t bytes);
/* time: of the agent, at which the bytes count as written; 0: now. */
void cpu_shared_end_copy(cpu_run *run, cpu_agent *agent, uint16_t thread, uint32_t time,
                         uint32_t offset, uint32_t bytes);
/* start_read and end_read for a single thread. */
bool cpu_lane_start_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                         uint16_t thread, uint32_t offset, uint32_t bytes);
void cpu_lane_end_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint16_t thread, uint32_t offset, uint32_t bytes);
/* start_copy in a block of the agent's cluster, for a copy that ends with publish. From then on,
 * agents that know this time of the key may access the bytes. */
bool cpu_cluster_start_copy(cpu_run *run, cpu_agent *agent, cpu_block *owner, const cpu_insn *insn,
                            int lane, uint16_t thread, uint32_t offset, uint32_t bytes);
void cpu_shared_publish(cpu_run *run, cpu_block *block, uint32_t offset, uint32_t bytes,
                        uint64_t key, uint32_t time);
/* The same for memory of a block of the agent's cluster. */
bool cpu_cluster_read(cpu_run *run, cpu_agent *agent, cpu_block *owner, const cpu_insn *insn,
                      int lane, uint16_t thread, uint32_t offset, uint32_t bytes);
bool cpu_cluster_write(cpu_run *run, cpu_agent *agent, cpu_block *owner, const cpu_insn *insn,
                       int lane, uint16_t thread, uint32_t offset, uint32_t bytes);
/* Marks these bytes as uninitialized. */
void cpu_shared_forget(cpu_run *run, cpu_agent *agent, uint32_t offset, uint32_t bytes);

/* Checks that clean scratch is zero again. */
tile_status cpu_check_clean(cpu_run *run);

/* A lane's thread number in its cluster, from 1. CPU_LANES: several threads of the agent, which
 * never count as the same thread. */
static inline uint16_t cpu_thread(const cpu_agent *agent, unsigned lane) {
    return (uint16_t)(agent->number * (CPU_LANES + 1) + lane + 1);
}

/* order.c: these lanes acquire what is known; the others when all lanes of the agent
 * synchronize. */
void cpu_acquire_by_lanes(cpu_agent *agent, uint32_t lanes, cpu_known *known);
/* The number of a single lane of an agent in clocks (cpu_clock_release_part). */
static inline uint64_t cpu_lane_key(uint64_t agent, unsigned lane) {
    return CPU_LANE | agent << 5 | lane;
}

/* The number in clocks for accesses of an agent's lanes to global memory, where lanes are not
 * distinguished. */
static inline uint64_t cpu_warp_key(uint64_t agent) {
    return CPU_WARP | agent;
}
/* Returns whether what another agent did at this time is ordered before a lane; lane -1: all
 * lanes. */
static inline bool cpu_lane_knows(const cpu_agent *agent, int lane, uint64_t other, uint32_t time) {
    bool more = lane >= 0 && agent->clock.partial && agent->partial_lanes >> lane & 1;
    return more ? cpu_clock_knows(&agent->clock, other, time)
                : cpu_clock_all_know(&agent->clock, other, time);
}

#endif
