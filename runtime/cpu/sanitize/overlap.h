/* Launches that overlap: what the preceding launches have accessed, and what a launch may not
 * access before it has waited for them.
 *
 * A launch that may start early is executed after the preceding one here. Missing waits are found
 * without running both concurrently: before its `pdl_wait` no thread may access scratch, read what
 * the preceding launches have written, or write what they have accessed. In a chain of overlapping
 * launches this covers all of them from the first one, since each may start before the preceding
 * one has waited. */
#ifndef TILE_RUNTIME_CPU_SANITIZE_OVERLAP_H
#define TILE_RUNTIME_CPU_SANITIZE_OVERLAP_H

#include "runtime/cpu/program/program.h"

typedef struct cpu_span {
    uint64_t begin, end;
} cpu_span;

/* Byte ranges; sorted and disjoint between calls. */
typedef struct cpu_spans {
    cpu_span *spans;
    size_t count, capacity;
} cpu_spans;

/* The accesses of a chain of launches so far. All zero: none. */
typedef struct cpu_launch_log {
    cpu_spans written, read;
} cpu_launch_log;

/* Adds the accesses in the shadow of a launch. add_cell is a callback for cpu_global_visit, whose
 * user is the launch log; then call end once. */
void cpu_launch_log_add_cell(uint64_t begin, uint64_t end, bool written, bool read,
                             void *launch_log);
void cpu_launch_log_end(cpu_launch_log *launch_log);
void cpu_launch_log_clear(cpu_launch_log *launch_log);

/* Checks that lanes (a set) of the agent may access these bytes, which are in run->ranges[range].
 * False after a report. */
bool cpu_overlap_allows(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, uint32_t lanes,
                        uint64_t address, uint64_t bytes, bool writes, size_t range);

#endif
