/* The accesses to global memory in this launch. Cells of the shadow refer to them by number.
 *
 * An event is one instruction of one agent during one of its time intervals. Readers are sets of
 * events, stored as lists that share tails. Cells with the same readers have the same number, so a
 * whole row is checked once. Number 0 is no event, or the empty set. */
#ifndef TILE_RUNTIME_CPU_PROGRAM_ACCESS_LOG_H
#define TILE_RUNTIME_CPU_PROGRAM_ACCESS_LOG_H

#include <stddef.h>

#include "runtime/cpu/program/clocks.h"

/* Derives the lane that accessed a byte from its address, so that a loop over memory needs a single
 * event. Each lane has 2^bits bytes: the lane is (address / 2^bits + turn) mod 32. */
typedef struct cpu_lanes {
    uint8_t bits; /* log2 of the bytes of a lane; or one of the constants below */
    uint8_t turn; /* CPU_ONE_LANE: number of the lane */
} cpu_lanes;

enum {
    CPU_ANY_LANES = 0xff, /* no particular lane, or irrelevant */
    CPU_ALL_LANES = 0xfe, /* several lanes for each byte */
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
    uint32_t next_event, next; /* the last set made from this one, and the event that was added */
} cpu_readers;

typedef struct cpu_log {
    cpu_event *events;
    uint32_t event_count, event_capacity;
    cpu_readers *readers;
    uint32_t readers_count, readers_capacity;
    uint32_t limit;      /* of events and sets together, before unreferenced ones are dropped */
    uint32_t generation; /* incremented when numbers change */
    uint32_t *kept_events, *kept_readers; /* by old number: the new one; during marking, 1: kept */
} cpu_log;

/* An agent's latest events, so that a loop does not make a new one in each iteration. */
enum { CPU_RECENT = 16 };
typedef struct cpu_recent {
    uint32_t insn, time, generation, event;
    cpu_lanes lanes;
} cpu_recent;

void cpu_log_open(cpu_log *log);
void cpu_log_close(cpu_log *log);

/* The agent's event for this instruction at this time. recent: the agent's array of CPU_RECENT. */
uint32_t cpu_log_event(cpu_log *log, cpu_clock *clock, cpu_recent *recent, uint32_t insn,
                       bool atomic, cpu_lanes lanes);
/* The set plus one event of this clock's agent, without members that precede it, if they are found
 * quickly. since: when the agent's lanes last synchronized. Their later events are only ordered if
 * they are of the same lanes. */
uint32_t cpu_log_add_reader(cpu_log *log, const cpu_clock *clock, uint32_t since, uint32_t readers,
                            uint32_t event);

/* If the log is full, call start, mark all numbers in use, squeeze, renew all numbers, end. */
bool cpu_log_is_full(const cpu_log *log);
void cpu_log_start_sweep(cpu_log *log);
void cpu_log_mark(cpu_log *log, uint32_t event, uint32_t readers);
void cpu_log_squeeze(cpu_log *log);
void cpu_log_renew(const cpu_log *log, uint32_t *event, uint32_t *readers);
void cpu_log_end_sweep(cpu_log *log);

#endif
