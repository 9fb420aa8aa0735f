/* Launches that overlap: what the launches before one have accessed, and what it may not touch
 * before it has waited for them.
 *
 * A launch that may begin early runs here after the one before it, and whether it waits is found
 * without running both at once: before its `pdl_wait`, no thread may touch scratch, nor read what
 * the launches before have written, nor write what they have accessed. In a chain of overlapping
 * launches that goes back to its beginning, since each of them may begin before the one before it
 * has waited. */
#ifndef TILE_RUNTIME_CPU_SANITIZE_OVERLAP_H
#define TILE_RUNTIME_CPU_SANITIZE_OVERLAP_H

#include "runtime/cpu/program/program.h"

typedef struct cpu_span {
    uint64_t begin, end;
} cpu_span;

/* Bytes, as spans; sorted and apart from each other between calls. */
typedef struct cpu_spans {
    cpu_span *spans;
    size_t count, capacity;
} cpu_spans;

/* What a chain of launches has accessed so far. All zero: nothing. */
typedef struct cpu_launch_log {
    cpu_spans written, read;
} cpu_launch_log;

/* Adds what the shadow of a launch has seen: add_cell is for cpu_global_visit, whose user is the
 * trail; then once end. */
void cpu_launch_log_add_cell(uint64_t begin, uint64_t end, bool written, bool read,
                             void *launch_log);
void cpu_launch_log_end(cpu_launch_log *launch_log);
void cpu_launch_log_clear(cpu_launch_log *launch_log);

/* Whether lanes (a set) of the agent may access these bytes, which lie in run->ranges[range]. False
 * after a report. */
bool cpu_overlap_allows(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, uint32_t lanes,
                        uint64_t address, uint64_t bytes, bool writes, size_t range);

#endif
