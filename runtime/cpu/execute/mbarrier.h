/* Barriers in shared memory (mbarriers), and asynchronous operations that arrive at them.
 *
 * A barrier counts arrivals and bytes. When neither is missing, the phase is complete and the next
 * one begins. A wait only names a parity; this code checks that it cannot be confused with the
 * parity of the phase before or after. Clocks order a phase with a wait: completing phase k is an
 * event (`key`, time k + 1). An agent that waits acquires it, and so does each agent to which that
 * one releases. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_MBARRIER_H
#define TILE_RUNTIME_CPU_EXECUTE_MBARRIER_H

#include "runtime/cpu/sanitize/check.h"

/* The last phase for which an agent has waited. */
typedef struct cpu_phase_wait {
    int64_t phase; /* -1: before the first one */
    uint32_t time; /* of the agent; 0: it has never waited */
    uint32_t lanes, insn;
    bool again; /* the agent knew that the phase was complete */
} cpu_phase_wait;

/* Bytes that this phase expects, while no arrival of the phase follows the expectation. */
typedef struct cpu_expectation {
    const cpu_agent *agent;
    const cpu_insn *insn;
    uint32_t time;
    int lane;
} cpu_expectation;

typedef struct cpu_mbarrier {
    uint32_t count;   /* arrivals per phase; 0: not initialized */
    uint32_t pending; /* arrivals missing in the current phase */
    int64_t bytes;    /* expected but not written yet; negative: written but not expected yet */
    int64_t pending_transfers; /* bytes of copies in flight that it will count */
    int64_t phase;             /* the current, incomplete phase, from 0 */
    bool fenced;               /* blocks of the cluster and asynchronous copies may see it */
    uint64_t key;
    cpu_clock arriving;    /* what the agents that arrived in this phase know */
    cpu_clock from_remote; /* likewise in other blocks; only for waits with the cluster's scope */
    cpu_known *complete, *completed_remotely; /* both for the last complete phase */
    uint64_t init_agent;                      /* the agent that initialized it */
    uint32_t init_time;
    unsigned init_lane;
    const cpu_insn *init, *last, *expected; /* initialization, last arrival, last expectation */
    const cpu_agent *last_agent;
    cpu_phase_wait *waits; /* by agent of the block */
    cpu_expectation *open;
    size_t open_count, open_capacity;
} cpu_mbarrier;

/* One barrier of a block, as named by an instruction. */
typedef struct cpu_mbarrier_at {
    cpu_block *owner;
    cpu_mbarrier *barrier;
    uint32_t index;  /* in its buffer */
    uint32_t offset; /* in the owner's shared memory */
} cpu_mbarrier_at;

/* Finds the barrier that this lane names: `buffer` is the value of the buffer, `index` the barrier
 * in it. False after a report: it is out of bounds, not initialized, or its initialization is not
 * ordered before this thread. */
bool cpu_find_mbarrier(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint32_t buffer, int64_t index, cpu_mbarrier_at *at);
/* The barrier at this byte of the block's shared memory, NULL if there is none. */
cpu_mbarrier *cpu_mbarrier_of(const cpu_run *run, const cpu_block *block, uint32_t offset);

/* Adds bytes to those that the phase expects. False after a report, as below. */
bool cpu_barrier_expect(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        cpu_mbarrier_at at, int64_t bytes);
/* `count` arrivals, which release `known` (from cpu_barrier_release, or a clock's). */
bool cpu_barrier_arrive(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        cpu_mbarrier_at at, unsigned count, cpu_known *known);
/* A copy of `bytes` bytes that the barrier will count starts. */
static inline void cpu_barrier_begin(cpu_mbarrier *barrier, int64_t bytes) {
    barrier->pending_transfers += bytes;
}
/* The asynchronous operation that agent and insn started has written bytes. known: the events
 * before the write, and the write itself. */
bool cpu_barrier_complete(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                          cpu_mbarrier_at at, int64_t bytes, cpu_known *known);
/* What these lanes release: all that the agent knows and did, but of the other lanes only what
 * precedes their last synchronization. The caller drops it. */
cpu_known *cpu_barrier_release(const cpu_run *run, cpu_agent *agent, uint32_t lanes);

void cpu_clear_mbarriers(const cpu_run *run, cpu_block *block);
void cpu_destroy_mbarriers(const cpu_program *program, cpu_block *block);
/* Called when the block's agents have ended. Returns whether the barriers are complete; otherwise
 * reports. */
bool cpu_mbarriers_may_end(cpu_run *run, cpu_block *block);
/* Reports which agents of the block wait for which phase. *first: the fault itself has not been
 * reported. */
void cpu_report_phases(cpu_run *run, cpu_block *block, bool *first);

/* In the background ----------------------------------------------------------------------------
 *
 * An asynchronous operation (a copy) lands only when no agent of the block can continue otherwise,
 * or at the block's end. This is as late as possible, so that missing waits are found. */

/* Completes the operation and frees data, a single allocation; drops nothing else. False after a
 * report. */
typedef bool (*cpu_completion_function)(cpu_run *run, cpu_agent *agent, void *data,
                                        cpu_known *known);
/* known: the knowledge that the completion releases. It is taken over and may be NULL. */
void cpu_start_flight(cpu_agent *agent, cpu_completion_function land, void *data, cpu_known *known);
/* Lands the oldest operation. False after a report; *landed: there was one. */
bool cpu_complete_next_flight(cpu_run *run, cpu_block *block, bool *landed);
/* After a fault: drops all operations in flight. */
void cpu_drop_flights(cpu_block *block);

#endif
