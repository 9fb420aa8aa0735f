/* What the agents of a launch do over time, for who asked (tile_device_options.trace).
 *
 * Agents run one after the other here, so there is no time to measure: each counts ticks of its
 * own, about the cycles that its operations would take (trace.c has the costs), and what orders
 * agents for the race detector, the clocks, takes the ticks along: who waits goes on at the tick of
 * those whom it waited for. So the trace has the overlap that the program allows. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_TRACE_H
#define TILE_RUNTIME_CPU_EXECUTE_TRACE_H

#include "lib/ir/function.h"

struct cpu_run;
struct cpu_agent;
struct cpu_insn;

enum {
    CPU_TRACED_GROUPS = 16,   /* the latest ones, of each mechanism: more are never waited for */
    CPU_TICKS_OF_FLIGHT = 600 /* from an asynchronous copy's start to its bytes */
};

/* What an agent has under way. */
typedef struct cpu_tracing {
    const struct cpu_insn *arithmetic; /* the first of what is not told one by one, or NULL */
    uint64_t arithmetic_since;
    const struct cpu_insn *waiting; /* or NULL */
    uint64_t waiting_since;
    uint64_t began;                                           /* the instruction that runs */
    uint64_t busy[TILE_MECHANISM_COUNT];                      /* until when the mechanism is */
    uint64_t groups[TILE_MECHANISM_COUNT][CPU_TRACED_GROUPS]; /* when they are complete */
    uint64_t committed[TILE_MECHANISM_COUNT];
} cpu_tracing;

/* Around an instruction's handler; only where run->trace is there. */
void cpu_trace_before(struct cpu_run *run, struct cpu_agent *agent, const struct cpu_insn *insn);
void cpu_trace_after(struct cpu_run *run, struct cpu_agent *agent, const struct cpu_insn *insn,
                     bool paused);

#endif
