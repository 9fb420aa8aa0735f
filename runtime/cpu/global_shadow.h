/* The shadow of global memory: races between agents, and reads of what nobody has written.
 *
 * Two accesses of the same byte by different agents race if one of them writes, not both are
 * atomic, and neither happens before the other (clocks.h). Found whatever order they run in here,
 * since it is their order in the program that counts. A shadow lives as long as a launch: launches
 * are ordered.
 *
 * Each cell stands for a few bytes and holds the last write and the reads since then. A page of
 * cells is made when memory is touched first, with cells as large as that access allows, and made
 * again with smaller ones when an access ends inside of a cell: so it is exact to the byte, and a
 * wide access looks at few cells. */
#ifndef TILE_RUNTIME_CPU_GLOBAL_SHADOW_H
#define TILE_RUNTIME_CPU_GLOBAL_SHADOW_H

#include "runtime/cpu/program.h"

typedef enum cpu_access {
    CPU_READ = 0,
    CPU_WRITE = 1,
    CPU_ATOMIC = 2,
    CPU_ATOMIC_READ = CPU_ATOMIC | CPU_READ,
    CPU_ATOMIC_WRITE = CPU_ATOMIC | CPU_WRITE,
} cpu_access;

/* Of run->ranges, sorted by address; sets their regions. */
cpu_global *cpu_global_create(cpu_run *run);
void cpu_global_destroy(cpu_global *global); /* NULL is fine */

/* What has been accessed since the shadow was made. */
typedef void (*cpu_global_visitor)(uint64_t begin, uint64_t end, bool written, bool read,
                                   void *user);
void cpu_global_visit(const cpu_global *global, cpu_global_visitor visit, void *user);

/* The agent accesses these bytes, which lie in the range run->last_range (cpu_check_global). False
 * after a report. */
bool cpu_global_access(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint64_t address, uint64_t bytes, cpu_access access);
/* Each lane of the mask accesses so many bytes, a power of two, at its address: checks bounds and
 * alignment (cpu_check_global) and races. */
bool cpu_global_lanes(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t mask,
                      const uint64_t addresses[CPU_LANES], uint32_t bytes, cpu_access access);

/* A 32-bit word, which the caller reads and writes and has found inside of its range
 * (cpu_check_global). met: the word has the value that is waited for; then what happened before the
 * release that stored it happens before what this agent does from now on. */
bool cpu_global_acquire(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        uint64_t address, bool met);
bool cpu_global_release(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        uint64_t address);

#endif
