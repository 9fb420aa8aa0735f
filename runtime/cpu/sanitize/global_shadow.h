/* The shadow of global memory: races between agents, and reads of memory that has not been written.
 *
 * Two accesses of the same byte by different agents race if one of them writes, not both are atomic
 * in scopes that hold both agents, and neither happens before the other (clocks.h). Found whatever
 * order they run in here, since it is their order in the program that counts. A shadow lives as
 * long as a launch: launches are ordered. Accesses by lanes of one agent race likewise until all of
 * them meet: a lane's own come after each other.
 *
 * Each cell stands for a few bytes and holds the last write that was not atomic, and since then the
 * reads and those atomic writes that no later one comes after. A page of
 * cells is made when memory is touched first, with cells as large as that access allows, and made
 * again with smaller ones when an access ends inside of a cell: so it is exact to the byte, and a
 * wide access looks at few cells. */
#ifndef TILE_RUNTIME_CPU_SANITIZE_GLOBAL_SHADOW_H
#define TILE_RUNTIME_CPU_SANITIZE_GLOBAL_SHADOW_H

#include "runtime/cpu/program/program.h"

typedef enum cpu_access {
    CPU_READ = 0,
    CPU_WRITE = 1,
    CPU_ATOMIC = 2,
    CPU_MODIFY = 4, /* an atomic write that reads, too */
    CPU_ATOMIC_READ = CPU_ATOMIC | CPU_READ,
    CPU_ATOMIC_WRITE = CPU_ATOMIC | CPU_WRITE,
    CPU_ATOMIC_UPDATE = CPU_ATOMIC | CPU_WRITE | CPU_MODIFY,
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

/* What is ordered by atomic updates, whose words the caller has accessed and now changes (order.c).
 * begin: what all of them hand on to those who acquire them, or NULL; the caller drops it. Then one
 * call for each word. */
cpu_known *cpu_begin_updates(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
void cpu_update_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address,
                     cpu_known *released);
/* What stands for the address of a word in the agent's block's shared memory. */
uint64_t cpu_shared_word(const cpu_run *run, const cpu_agent *agent, uint32_t offset);
/* A fence of the agent. */
void cpu_fence(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
/* Forgets what an agent's fences have to do with; for one that starts, or is no more. */
void cpu_order_clear(cpu_order *order);
/* How far a scope reaches, and the least that reaches from one agent of the launch to another. */
cpu_reach cpu_reach_of(tile_word scope);
cpu_reach cpu_distance(const cpu_run *run, uint64_t agent, uint64_t other);
/* Two agents store parts of one tile, of which any one stays where they meet. The compiler puts a
 * barrier between one such store of a set and the next, so that they are of one execution. */
bool cpu_any_stays(const cpu_agent *agent, const cpu_insn *insn, const cpu_agent *other,
                   const cpu_insn *its);

/* order.c's store: what the latest releases of words knew. */
typedef struct cpu_word {
    uint64_t address; /* 0: a free place */
    cpu_clock known;  /* of nobody: what the word's release sequence hands on */
    uint64_t agent;   /* the latest one that released it, and how far */
    cpu_reach reach;
    uint64_t first_agent; /* the first one that did, and when */
    uint32_t first_time;
} cpu_word;
typedef struct cpu_words {
    cpu_word *words; /* hashed, at most half full */
    size_t count, capacity;
} cpu_words;
void cpu_words_open(cpu_words *words);
void cpu_words_close(cpu_words *words);
cpu_words *cpu_global_words(cpu_global *global);
/* The agent reads the word's value: it acquires what comes with it as its instruction says, at once
 * or at a fence. */
void cpu_acquire_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address);
/* Whether the agent knows, other than by the word itself, that it has been released. */
bool cpu_knows_word(cpu_run *run, const cpu_agent *agent, uint64_t address);
/* A store, which ends the word's release sequence and begins another one. */
void cpu_release_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address);

/* tma_store.c: whether no store that may still be writing has these bytes; false after a report.
 * Asked where run->bulks is not 0. */
bool cpu_bulks_allow(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                     uint64_t address, uint64_t bytes, cpu_access access, const cpu_range *range);

#endif
