/* Who has accessed global memory in this launch: what the cells of the shadow refer to by number.
 *
 * An event is one instruction of one agent at one piece of its time. Readers are sets of events,
 * kept as lists that share their tails: cells that have been read alike have the same number, so
 * that a whole row is looked at once. Number 0 is no event, or the empty set. */
#ifndef TILE_RUNTIME_CPU_PROGRAM_ACCESS_LOG_H
#define TILE_RUNTIME_CPU_PROGRAM_ACCESS_LOG_H

#include <stddef.h>

#include "runtime/cpu/program/clocks.h"

/* Which lane of the agent accessed a byte: from its address, so that a loop over memory makes one
 * event. Each has 2^bits bytes, lane n those of a multiple of 32 from which n - turn is left. */
typedef struct cpu_lanes {
    uint8_t bits; /* or one of these */
    uint8_t turn; /* CPU_ONE_LANE: that one */
} cpu_lanes;

enum {
    CPU_ANY_LANES = 0xff, /* the agent has none, or it does not matter */
    CPU_ALL_LANES = 0xfe, /* several of them each byte */
    CPU_ONE_LANE = 0xfd,
};

typedef struct cpu_event {
    uint64_t agent;
    uint32_t time;
    uint32_t insn : 31;
    uint32_t atomic : 1;
    cpu_lanes lanes;
} cpu_event;

typedef struct cpu_readers {
    uint32_t rest, event;
    uint32_t next_event, next; /* the set that this one became last, and by which event */
} cpu_readers;

typedef struct cpu_log {
    cpu_event *events;
    uint32_t event_count, event_capacity;
    cpu_readers *readers;
    uint32_t readers_count, readers_capacity;
    uint32_t limit;      /* of both together, before entries without references are dropped */
    uint32_t generation; /* numbers change when it does */
    uint32_t *kept_events, *kept_readers; /* by old number: the new one; 1: is to be kept */
} cpu_log;

/* An agent's latest event of a few instructions, so that a loop does not make one each time. */
enum { CPU_RECENT = 16 };
typedef struct cpu_recent {
    uint32_t insn, time, generation, event;
    cpu_lanes lanes;
} cpu_recent;

void cpu_log_open(cpu_log *log);
void cpu_log_close(cpu_log *log);

/* The agent's event for this instruction now; recent is the agent's array of CPU_RECENT. */
uint32_t cpu_log_event(cpu_log *log, cpu_clock *clock, cpu_recent *recent, uint32_t insn,
                       bool atomic, cpu_lanes lanes);
/* The set with one event more, of this clock's agent; members that it comes after are left out,
 * where they are found at once. since: the agent's lanes have met then, and of what they did later
 * one comes after another only if they are the same lanes. */
uint32_t cpu_log_add_reader(cpu_log *log, const cpu_clock *clock, uint32_t since, uint32_t readers,
                            uint32_t event);

/* When the log is full: start, mark all numbers in use, squeeze, renew all numbers, end. */
bool cpu_log_is_full(const cpu_log *log);
void cpu_log_start_sweep(cpu_log *log);
void cpu_log_mark(cpu_log *log, uint32_t event, uint32_t readers);
void cpu_log_squeeze(cpu_log *log);
void cpu_log_renew(const cpu_log *log, uint32_t *event, uint32_t *readers);
void cpu_log_end_sweep(cpu_log *log);

#endif
