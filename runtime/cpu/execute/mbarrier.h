/* Barriers in shared memory (mbarriers), and what goes on beside the agents and arrives there.
 *
 * A barrier counts arrivals and bytes; when both are there the phase is complete, and the next one
 * begins. A wait names a parity only: that it cannot be taken for the one of the phase before or
 * behind is checked here. What orders a phase with a wait is known by clocks: completing phase k is
 * an event of its own (`key`, time k + 1), which who waits comes to know, and everybody whom they
 * tell. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_MBARRIER_H
#define TILE_RUNTIME_CPU_EXECUTE_MBARRIER_H

#include "runtime/cpu/sanitize/check.h"

/* The last phase that an agent has waited for. */
typedef struct cpu_phase_wait {
    int64_t phase; /* -1: before the first one */
    uint32_t time; /* of the agent; 0: it never has */
    uint32_t lanes, insn;
    bool again; /* of a phase that it knew to be complete */
} cpu_phase_wait;

/* Bytes that this phase expects, and no arrival of it comes behind that yet. */
typedef struct cpu_expectation {
    const cpu_agent *agent;
    const cpu_insn *insn;
    uint32_t time;
    int lane;
} cpu_expectation;

typedef struct cpu_mbarrier {
    uint32_t count;            /* arrivals of each phase; 0: not initialised */
    uint32_t pending;          /* that are missing in this one */
    int64_t bytes;             /* expected and not written yet; below 0: the other way round */
    int64_t pending_transfers; /* bytes that copies have begun to write, to be counted here */
    int64_t phase;             /* the one that is not complete, from 0 */
    bool fenced;               /* blocks of the cluster and copies in the background may see it */
    uint64_t key;
    cpu_clock arriving;    /* knows what those know who have arrived in this phase */
    cpu_clock from_remote; /* the same of other blocks, for waits of the cluster's scope only */
    cpu_known *complete, *completed_remotely; /* what those knew who arrived in the last one */
    uint64_t init_agent;                      /* who has initialised it */
    uint32_t init_time;
    unsigned init_lane;
    const cpu_insn *init, *last, *expected; /* the last arrival, the last expectation */
    const cpu_agent *last_agent;
    cpu_phase_wait *waits; /* by agent of the block */
    cpu_expectation *open;
    size_t open_count, open_capacity;
} cpu_mbarrier;

/* One barrier of a block, as an instruction names it. */
typedef struct cpu_mbarrier_at {
    cpu_block *owner;
    cpu_mbarrier *barrier;
    uint32_t index;  /* in its buffer */
    uint32_t offset; /* in the owner's shared memory */
} cpu_mbarrier_at;

/* The barrier that this lane names: `buffer` is the buffer's value, `index` which of its barriers.
 * False after a report: out of its bounds, not initialised, or not for all that this thread
 * knows. */
bool cpu_find_mbarrier(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint32_t buffer, int64_t index, cpu_mbarrier_at *at);
/* The barrier at this byte of the block's shared memory, NULL if there is none. */
cpu_mbarrier *cpu_mbarrier_of(const cpu_run *run, const cpu_block *block, uint32_t offset);

/* The phase needs so many more bytes. False after a report, as below. */
bool cpu_barrier_expect(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        cpu_mbarrier_at at, int64_t bytes);
/* `count` arrivals, which release what `known` holds (cpu_barrier_release, or a clock's). */
bool cpu_barrier_arrive(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        cpu_mbarrier_at at, unsigned count, cpu_known *known);
/* A copy of so many bytes begins in the background, that the barrier will count. */
static inline void cpu_barrier_begin(cpu_mbarrier *barrier, int64_t bytes) {
    barrier->pending_transfers += bytes;
}
/* Bytes have been written in the background, by what agent and insn started; known: what the
 * writing happens after, and the writing itself. */
bool cpu_barrier_complete(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                          cpu_mbarrier_at at, int64_t bytes, cpu_known *known);
/* What these lanes release: all that the agent knows and did, but of the other lanes only what is
 * before all met. The caller drops it. */
cpu_known *cpu_barrier_release(const cpu_run *run, cpu_agent *agent, uint32_t lanes);

void cpu_clear_mbarriers(const cpu_run *run, cpu_block *block);
void cpu_destroy_mbarriers(const cpu_program *program, cpu_block *block);
/* The block's agents have ended: whether nothing is left undone, else a report. */
bool cpu_mbarriers_may_end(cpu_run *run, cpu_block *block);
/* Reports who of the block waits for which phase. *first: nobody has reported the fault itself. */
void cpu_report_phases(cpu_run *run, cpu_block *block, bool *first);

/* In the background ----------------------------------------------------------------------------
 *
 * What an agent has started and does not wait for (copies) lands when nobody of the block can go on
 * otherwise, or at its end: as late as possible, so that what should have waited is found. */

/* Does it, and frees data, which is one piece of memory; drops nothing else. False after a report.
 */
typedef bool (*cpu_completion_function)(cpu_run *run, cpu_agent *agent, void *data,
                                        cpu_known *known);
/* known: what is known to whom it tells; taken over, may be NULL. */
void cpu_start_flight(cpu_agent *agent, cpu_completion_function land, void *data, cpu_known *known);
/* Lands the oldest one. False after a report; *landed: there was one. */
bool cpu_complete_next_flight(cpu_run *run, cpu_block *block, bool *landed);
/* After a fault: none of them will. */
void cpu_drop_flights(cpu_block *block);

#endif
