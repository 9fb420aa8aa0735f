#include "runtime/cpu/program/access_log.h"

#include <stdlib.h>
#include <string.h>

#include "lib/support/arena.h"

enum { FIRST_LIMIT = 1 << 20 };

void cpu_log_open(cpu_log *log) {
    *log = (cpu_log){.event_count = 1, .readers_count = 1, .limit = FIRST_LIMIT, .generation = 1};
    log->event_capacity = log->readers_capacity = 64;
    log->events = tile_malloc(sizeof *log->events * log->event_capacity);
    log->readers = tile_malloc(sizeof *log->readers * log->readers_capacity);
    log->events[0] = (cpu_event){0};
    log->readers[0] = (cpu_readers){0};
}

void cpu_log_close(cpu_log *log) {
    free(log->events);
    free(log->readers);
}

/* Adding --------------------------------------------------------------------------------------- */

static bool same_lanes(cpu_lanes a, cpu_lanes b) {
    return a.bits == b.bits && a.turn == b.turn;
}

uint32_t cpu_log_event(cpu_log *log, cpu_clock *clock, cpu_recent *recent, uint32_t insn,
                       bool atomic, cpu_lanes lanes) {
    cpu_recent *last = &recent[insn % CPU_RECENT];
    clock->used = true;
    if (last->insn == insn && last->time == clock->time && last->generation == log->generation &&
        same_lanes(last->lanes, lanes))
        return last->event;
    if (log->event_count == log->event_capacity)
        log->events = tile_realloc(log->events, sizeof *log->events * (log->event_capacity *= 2));
    log->events[log->event_count] =
        (cpu_event){clock->agent, clock->time, insn & INT32_MAX, atomic, lanes};
    *last = (cpu_recent){insn, clock->time, log->generation, log->event_count, lanes};
    return log->event_count++;
}

static uint32_t push(cpu_log *log, uint32_t rest, uint32_t event) {
    if (log->readers_count == log->readers_capacity)
        log->readers =
            tile_realloc(log->readers, sizeof *log->readers * (log->readers_capacity *= 2));
    log->readers[log->readers_count] = (cpu_readers){.rest = rest, .event = event};
    return log->readers_count++;
}

/* Drops some of the first members of the set, namely those ordered before the agent's access: a
 * write that races with one of those also races with this access, unless it is atomic and they are
 * not. */
static uint32_t drop_known(cpu_log *log, const cpu_clock *clock, uint32_t since, uint32_t readers,
                           uint32_t latest) {
    enum { LOOKED_AT = 8 };
    uint32_t kept[LOOKED_AT], count = 0, rest = readers;
    bool dropped = false;
    const cpu_event *mine = &log->events[latest];
    for (unsigned i = 0; i < LOOKED_AT && rest; i++) {
        uint32_t number = log->readers[rest].event;
        const cpu_event *event = &log->events[number];
        bool apart = event->agent == clock->agent && event->time >= since &&
                     !same_lanes(event->lanes, mine->lanes);
        bool drop = event->atomic >= mine->atomic && !apart &&
                    cpu_clock_knows(clock, event->agent, event->time);
        dropped |= drop;
        if (!drop) kept[count++] = number;
        rest = log->readers[rest].rest;
    }
    if (!dropped) return readers;
    while (count > 0) rest = push(log, rest, kept[--count]);
    return rest;
}

uint32_t cpu_log_add_reader(cpu_log *log, const cpu_clock *clock, uint32_t since, uint32_t readers,
                            uint32_t event) {
    if (log->readers[readers].event == event) return readers;
    if (log->readers[readers].next_event == event) return log->readers[readers].next;
    uint32_t set = push(log, drop_known(log, clock, since, readers, event), event);
    log->readers[readers].next_event = event;
    log->readers[readers].next = set;
    return set;
}

/* Sweeping ------------------------------------------------------------------------------------- */

bool cpu_log_is_full(const cpu_log *log) {
    return log->event_count / 2 + log->readers_count / 2 >= log->limit / 2;
}

void cpu_log_start_sweep(cpu_log *log) {
    size_t events = sizeof(uint32_t) * log->event_count;
    size_t readers = sizeof(uint32_t) * log->readers_count;
    log->kept_events = memset(tile_malloc(events), 0, events);
    log->kept_readers = memset(tile_malloc(readers), 0, readers);
}

void cpu_log_mark(cpu_log *log, uint32_t event, uint32_t readers) {
    log->kept_events[event] = log->kept_readers[readers] = 1;
}

/* The tail of a set is older than the set. So one backward pass marks everything reachable, and one
 * forward pass compacts it. */
void cpu_log_squeeze(cpu_log *log) {
    uint32_t events = 1, sets = 1;
    for (uint32_t i = log->readers_count; i-- > 1;)
        if (log->kept_readers[i]) cpu_log_mark(log, log->readers[i].event, log->readers[i].rest);
    for (uint32_t i = 1; i < log->event_count; i++)
        if (log->kept_events[i]) {
            log->events[events] = log->events[i];
            log->kept_events[i] = events++;
        }
    for (uint32_t i = 1; i < log->readers_count; i++)
        if (log->kept_readers[i]) {
            cpu_readers set = {.rest = log->readers[i].rest, .event = log->readers[i].event};
            cpu_log_renew(log, &set.event, &set.rest);
            log->readers[sets] = set;
            log->kept_readers[i] = sets++;
        }
    log->event_count = events;
    log->readers_count = sets;
    log->readers[0] = (cpu_readers){0};
    log->generation++;
    while (log->limit < INT32_MAX && events / 2 + sets / 2 >= log->limit / 4) log->limit *= 2;
}

void cpu_log_renew(const cpu_log *log, uint32_t *event, uint32_t *readers) {
    *event = *event ? log->kept_events[*event] : 0;
    *readers = *readers ? log->kept_readers[*readers] : 0;
}

void cpu_log_end_sweep(cpu_log *log) {
    free(log->kept_events);
    free(log->kept_readers);
    log->kept_events = log->kept_readers = NULL;
}
