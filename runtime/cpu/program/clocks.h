/* What happens before what between agents: vector clocks.
 *
 * An agent is what runs in program order: a warp at level 3; the block at level 2, or a group of
 * its warps in roles. It numbers its own time from 1; a barrier or a release ends one piece of time
 * and begins the next. Beside that it knows up to which time it comes after each other agent: that
 * is all that a barrier or an acquire changes. source: Flanagan and Freund, "FastTrack: efficient
 * and precise dynamic race detection", 2009. */
#ifndef TILE_RUNTIME_CPU_PROGRAM_CLOCKS_H
#define TILE_RUNTIME_CPU_PROGRAM_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Agents first to first + count - 1 are known up to and including this time. */
typedef struct cpu_known_span {
    uint64_t first;
    uint32_t count, time;
} cpu_known_span;

/* Sorted spans of different agents; agents of one block mostly share one. Never changes once it is
 * made: agents and semaphores share it and count themselves. */
typedef struct cpu_known {
    uint32_t references, count;
    uint64_t ticks; /* of those who are known, the latest (trace.h) */
    cpu_known_span spans[];
} cpu_known;

typedef struct cpu_clock {
    uint64_t agent;
    uint32_t time;
    uint64_t ticks;     /* not before those of anything that it knows; 0 without a trace */
    bool used;          /* something happened at this time that others may have to know */
    cpu_known *known;   /* NULL: nothing of anybody */
    cpu_known *partial; /* what only some of the agent's threads know, until all meet; or NULL */
} cpu_clock;

/* A clock holds memory from start to stop; one that is all zero may be stopped. */
void cpu_clock_start(cpu_clock *clock, uint64_t agent);
void cpu_clock_stop(cpu_clock *clock);

/* Whether what the agent did at this time happens before what the clock's does now. */
bool cpu_clock_knows(const cpu_clock *clock, uint64_t agent, uint32_t time);
/* The same for a thread that is none of those who know more. */
bool cpu_clock_all_know(const cpu_clock *clock, uint64_t agent, uint32_t time);

/* Not only agents have numbers under which clocks know a time: single lanes of one, what all of its
 * lanes did with global memory, the phases of barriers. To the numbers of agents and lanes is added
 * CPU_LOADS_DONE where their loads are known to be done, but what they stored need not be seen, and
 * CPU_CAUSED where they are known to be past. */
#define CPU_LOADS_DONE (UINT64_C(1) << 59)
#define CPU_CAUSED (UINT64_C(1) << 60)
#define CPU_WARP (UINT64_C(1) << 61)
#define CPU_LANE (UINT64_C(1) << 62)
#define CPU_PHASE (UINT64_C(1) << 63)

/* Up to which time the agent is known; 0: not at all. */
uint32_t cpu_known_time(const cpu_known *known, uint64_t agent);

/* A barrier: all know of all. agents ascend by number. */
void cpu_clock_join(cpu_clock *const *clocks, unsigned count);

/* All that the agent knows, its own time included: what an acquire takes over. The caller drops it.
 */
cpu_known *cpu_clock_release(cpu_clock *clock);
/* The same for some of the agent's threads: of its own time what is before `since`, when all of
 * them met, and all that these did, who are known like agents under numbers of their own. apart:
 * they are some of those who know more. */
cpu_known *cpu_clock_release_part(cpu_clock *clock, uint32_t since, const uint64_t *parts,
                                  unsigned count, bool partial);
/* Of what is known only so much: CPU_LOADS_DONE or CPU_CAUSED. The caller drops it. */
cpu_known *cpu_known_weaken(const cpu_known *known, uint64_t to);
/* What the agent starts now in the background happens after all that it knows, and releases none of
 * it. The caller drops it. */
cpu_known *cpu_clock_background(cpu_clock *clock);
void cpu_clock_acquire(cpu_clock *clock, cpu_known *known); /* known may be NULL */
void cpu_clock_acquire_partial(cpu_clock *clock, cpu_known *known);
void cpu_known_drop(cpu_known *known); /* NULL is fine */

#endif
