/* The happens-before relation between agents: vector clocks.
 *
 * An agent executes in program order: a warp at level 3, the block or a group of its warps (in
 * roles) at level 2. It numbers its own time from 1; a barrier or a release ends one time interval
 * and begins the next. For each other agent it has the time up to which that agent's events happen
 * before its own. Only barriers and acquires change this knowledge. source: Flanagan and Freund,
 * "FastTrack: efficient and precise dynamic race detection", 2009. */
#ifndef TILE_RUNTIME_CPU_PROGRAM_CLOCKS_H
#define TILE_RUNTIME_CPU_PROGRAM_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Agents `first` to `first + count - 1` are known up to and including this time. */
typedef struct cpu_known_span {
    uint64_t first;
    uint32_t count, time;
} cpu_known_span;

/* Sorted spans of disjoint agents; the agents of a block usually share one. It is immutable and
 * reference-counted: agents and semaphores share it. */
typedef struct cpu_known {
    uint32_t references, count;
    uint64_t ticks; /* the latest of the known agents (trace.h) */
    cpu_known_span spans[];
} cpu_known;

typedef struct cpu_clock {
    uint64_t agent;
    uint32_t time;
    uint64_t ticks;     /* at least those of all that it knows; 0 without a trace */
    bool used;          /* there was an event at this time that others may have to know */
    cpu_known *known;   /* NULL: nothing */
    cpu_known *partial; /* known by some of the agent's threads, until all synchronize */
} cpu_clock;

/* A clock owns memory from start to stop. A clock that is all zero may be stopped. */
void cpu_clock_start(cpu_clock *clock, uint64_t agent);
void cpu_clock_stop(cpu_clock *clock);

/* Returns whether what the agent did at this time happens before what the clock's agent does
 * now. */
bool cpu_clock_knows(const cpu_clock *clock, uint64_t agent, uint32_t time);
/* The same for a thread that does not know `partial`. */
bool cpu_clock_all_know(const cpu_clock *clock, uint64_t agent, uint32_t time);

/* Agents are not the only numbers whose times clocks contain. There are also numbers for single
 * lanes, for the accesses of an agent's lanes to global memory, and for phases of barriers. Adding
 * CPU_LOADS_DONE to the number of an agent or lane gives weaker knowledge: its loads are done, but
 * its stores may not be visible. Adding CPU_ISSUED_BEFORE only says that they are in the past. */
#define CPU_LOADS_DONE (UINT64_C(1) << 59)
#define CPU_ISSUED_BEFORE (UINT64_C(1) << 60)
#define CPU_WARP (UINT64_C(1) << 61)
#define CPU_LANE (UINT64_C(1) << 62)
#define CPU_PHASE (UINT64_C(1) << 63)

/* The time up to which the agent is known; 0: unknown. */
uint32_t cpu_known_time(const cpu_known *known, uint64_t agent);

/* A barrier: all clocks acquire the knowledge of all. The agents are in ascending order. */
void cpu_clock_join(cpu_clock *const *clocks, unsigned count);

/* All that the agent knows, including its own time: what an acquire adds. The caller drops it. */
cpu_known *cpu_clock_release(cpu_clock *clock);
/* The same for some of the agent's threads. Of the agent's own time it includes what precedes
 * `since`, when all threads synchronized, and what these threads did, under their own numbers.
 * partial: they are among the threads that know `partial`. */
cpu_known *cpu_clock_release_part(cpu_clock *clock, uint32_t since, const uint64_t *parts,
                                  unsigned count, bool partial);
/* Weakens the knowledge to CPU_LOADS_DONE or CPU_ISSUED_BEFORE. The caller drops it. */
cpu_known *cpu_known_weaken(const cpu_known *known, uint64_t to);
/* The knowledge of an asynchronous operation that the agent starts now. It happens after all that
 * the agent knows, but does not release it. The caller drops it. */
cpu_known *cpu_clock_fork_async(cpu_clock *clock);
void cpu_clock_acquire(cpu_clock *clock, cpu_known *known); /* known may be NULL */
void cpu_clock_acquire_partial(cpu_clock *clock, cpu_known *known);
void cpu_known_drop(cpu_known *known); /* NULL is fine */

#endif
