/* The shadow of global memory: it finds races between agents, and uninitialized reads.
 *
 * Two accesses of a byte by different agents race if one of them writes, they are not both atomic
 * with scopes that include both agents, and neither happens before the other (clocks.h). A race is
 * found in any order of execution, because only the order that the program guarantees counts. A
 * shadow lives as long as a launch, because launches are ordered. Accesses by different lanes of
 * one agent race in the same way, until all of them synchronize. A lane's own accesses are ordered.
 *
 * Each cell covers a few bytes. It holds the last non-atomic write and, since then, the reads and
 * those atomic writes that are not ordered before a later one. A page of cells is allocated at the
 * first access, with cells as large as that access permits. If an access ends inside of a cell, the
 * page is replaced by one with smaller cells. So the shadow is exact to the byte, and a wide access
 * checks few cells. */
#ifndef TILE_RUNTIME_CPU_SANITIZE_GLOBAL_SHADOW_H
#define TILE_RUNTIME_CPU_SANITIZE_GLOBAL_SHADOW_H

#include "runtime/cpu/program/program.h"

typedef enum cpu_access {
    CPU_READ = 0,
    CPU_WRITE = 1,
    CPU_ATOMIC = 2,
    CPU_MODIFY = 4, /* an atomic write that also reads */
    CPU_ATOMIC_READ = CPU_ATOMIC | CPU_READ,
    CPU_ATOMIC_WRITE = CPU_ATOMIC | CPU_WRITE,
    CPU_ATOMIC_UPDATE = CPU_ATOMIC | CPU_WRITE | CPU_MODIFY,
} cpu_access;

/* Creates the shadow of run->ranges, which are sorted by address, and sets their regions. */
cpu_global *cpu_global_create(cpu_run *run);
void cpu_global_destroy(cpu_global *global); /* NULL is fine */

/* Visits all accesses since the shadow was created. */
typedef void (*cpu_global_visitor)(uint64_t begin, uint64_t end, bool written, bool read,
                                   void *user);
void cpu_global_visit(const cpu_global *global, cpu_global_visitor visit, void *user);

/* Checks an access of the agent to these bytes, which are in run->last_range (cpu_check_global).
 * False after a report. */
bool cpu_global_access(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint64_t address, uint64_t bytes, cpu_access access);
/* Each lane of the mask accesses `bytes` bytes (a power of two) at its address. Checks bounds,
 * alignment (cpu_check_global) and races. */
bool cpu_global_lanes(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t mask,
                      const uint64_t addresses[CPU_LANES], uint32_t bytes, cpu_access access);

/* For a 32-bit word that the caller reads and writes, and has found to be in bounds
 * (cpu_check_global). met: the word has the expected value. Then what happened before the release
 * that stored it happens before what this agent does next. */
bool cpu_global_acquire(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        uint64_t address, bool met);
bool cpu_global_release(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        uint64_t address);

/* Order through atomic updates (order.c), for words that the caller has accessed and now changes.
 * begin: what all of them release, or NULL; the caller drops it. Then call update once for each
 * word. */
cpu_known *cpu_begin_updates(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
void cpu_update_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address,
                     cpu_known *released);
/* A pseudo address for a word in shared memory of the agent's block. */
uint64_t cpu_shared_word(const cpu_run *run, const cpu_agent *agent, uint32_t offset);
/* A fence of the agent. */
void cpu_fence(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
/* Drops the state of an agent's fences, when the agent starts or ends. */
void cpu_order_clear(cpu_order *order);
/* The reach of a scope, and the smallest reach that includes two given agents of the launch. */
cpu_reach cpu_reach_of(tile_word scope);
cpu_reach cpu_distance(const cpu_run *run, uint64_t agent, uint64_t other);
/* Returns whether two agents store parts of one tile, so that either value may remain where they
 * overlap. The compiler inserts a barrier between two such stores of a set, so both belong to the
 * same execution. */
bool cpu_is_same_tile_store(const cpu_agent *agent, const cpu_insn *insn, const cpu_agent *other,
                            const cpu_insn *its);

/* The knowledge that the latest release of a word carries (order.c). */
typedef struct cpu_word {
    uint64_t address; /* 0: a free entry */
    cpu_clock known;  /* of no agent: what the word's release sequence releases */
    uint64_t agent;   /* the last agent that released it, and the reach */
    cpu_reach reach;
    uint64_t first_agent; /* the first agent that released it, and when */
    uint32_t first_time;
} cpu_word;
typedef struct cpu_words {
    cpu_word *words; /* hashed, at most half full */
    size_t count, capacity;
} cpu_words;
void cpu_words_open(cpu_words *words);
void cpu_words_close(cpu_words *words);
cpu_words *cpu_global_words(cpu_global *global);
/* The agent reads the word's value. As its instruction says, it acquires the word's knowledge now
 * or at a fence. */
void cpu_acquire_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address);
/* Returns whether the agent knows, by other means than the word, that it has been released. */
bool cpu_knows_word(cpu_run *run, const cpu_agent *agent, uint64_t address);
/* A store, which ends the word's release sequence and begins another one. */
void cpu_release_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address);

/* tma_store.c: checks that no store in flight writes these bytes; false after a report. Called only
 * if run->bulks is not 0. */
bool cpu_bulks_allow(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                     uint64_t address, uint64_t bytes, cpu_access access, const cpu_range *range);

#endif
