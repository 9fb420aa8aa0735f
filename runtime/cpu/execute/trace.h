/* What the agents of a launch do over time, for who asked (tile_device_options.trace).
 *
 * Agents run one after the other here, so there is no time to measure: each counts ticks of its
 * own, about the cycles that its operations would take (trace.c has the costs), and what orders
 * agents for the race detector, the clocks, takes the ticks along: who waits goes on at the tick of
 * those whom it waited for. So the trace has the overlap that the program allows. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_TRACE_H
#define TILE_RUNTIME_CPU_EXECUTE_TRACE_H

#include "runtime/cpu/program/program.h"

/* Around an instruction's handler; only where run->trace is there. */
void cpu_trace_before(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
void cpu_trace_after(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, bool paused);

#endif
