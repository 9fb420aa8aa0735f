/* A timeline of a launch's agents, if requested (tile_device_options.trace).
 *
 * The agents are executed one after the other here, so no time can be measured. Instead each agent
 * counts ticks, about the cycles that its operations would take on a GPU (trace.c has the costs).
 * The clocks that order agents for the race detector also carry the ticks: an agent that waits
 * continues at the tick of the agents for which it waited. So the trace has the overlap that the
 * program permits. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_TRACE_H
#define TILE_RUNTIME_CPU_EXECUTE_TRACE_H

#include "runtime/cpu/program/program.h"

/* Called around an instruction's handler, only if run->trace is set. */
void cpu_trace_before(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
void cpu_trace_after(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, bool paused);

#endif
