#include "runtime/cpu/program/clocks.h"

#include <stdlib.h>

#include "lib/support/arena.h"

/* Knowledge ------------------------------------------------------------------------------------ */

static uint64_t end_of(const cpu_known_span *span) {
    return span->first + span->count;
}

static cpu_known *make_known(uint32_t capacity) {
    cpu_known *known = tile_malloc(sizeof *known + sizeof *known->spans * capacity);
    *known = (cpu_known){.references = 1};
    return known;
}

void cpu_known_drop(cpu_known *known) {
    if (known && --known->references == 0) free(known);
}

static void append(cpu_known *known, uint64_t first, uint64_t count, uint32_t time) {
    cpu_known_span *last = known->count ? &known->spans[known->count - 1] : NULL;
    if (last && end_of(last) == first && last->time == time && last->count + count <= UINT32_MAX)
        last->count += (uint32_t)count;
    else
        known->spans[known->count++] = (cpu_known_span){first, (uint32_t)count, time};
}

/* The later time of both for each agent, by a sweep over the ends of the spans. */
static cpu_known *merge(const cpu_known_span *a, uint32_t a_count, const cpu_known_span *b,
                        uint32_t b_count) {
    cpu_known *known = make_known(2 * (a_count + b_count));
    const cpu_known_span *a_end = a + a_count, *b_end = b + b_count;
    uint64_t at = 0;
    while (a < a_end || b < b_end) {
        uint64_t a_first = a == a_end ? UINT64_MAX : a->first < at ? at : a->first;
        uint64_t b_first = b == b_end ? UINT64_MAX : b->first < at ? at : b->first;
        uint64_t first = a_first < b_first ? a_first : b_first;
        bool in_a = a < a_end && a_first == first, in_b = b < b_end && b_first == first;
        uint64_t a_stop = in_a ? end_of(a) : a_first, b_stop = in_b ? end_of(b) : b_first;
        uint32_t a_time = in_a ? a->time : 0, b_time = in_b ? b->time : 0;
        at = a_stop < b_stop ? a_stop : b_stop;
        append(known, first, at - first, a_time > b_time ? a_time : b_time);
        a += in_a && end_of(a) == at;
        b += in_b && end_of(b) == at;
    }
    return known;
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static void replace(cpu_clock *clock, cpu_known *known) {
    cpu_known_drop(clock->known);
    clock->known = known;
}

/* Clocks --------------------------------------------------------------------------------------- */

void cpu_clock_start(cpu_clock *clock, uint64_t agent) {
    cpu_clock_stop(clock);
    *clock = (cpu_clock){.agent = agent, .time = 1};
}

void cpu_clock_stop(cpu_clock *clock) {
    replace(clock, NULL);
    cpu_known_drop(clock->partial);
    clock->partial = NULL;
}

uint32_t cpu_known_time(const cpu_known *known, uint64_t agent) {
    uint32_t low = 0, high = known ? known->count : 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const cpu_known_span *span = &known->spans[middle];
        if (agent < span->first)
            high = middle;
        else if (agent >= end_of(span))
            low = middle + 1;
        else
            return span->time;
    }
    return 0;
}

bool cpu_clock_knows(const cpu_clock *clock, uint64_t agent, uint32_t time) {
    return cpu_clock_all_know(clock, agent, time) ||
           (clock->partial && time && time <= cpu_known_time(clock->partial, agent));
}

bool cpu_clock_all_know(const cpu_clock *clock, uint64_t agent, uint32_t time) {
    return agent == clock->agent || (time && time <= cpu_known_time(clock->known, agent));
}

/* At its maximum the time no longer advances: races may then be missed. */
static void begin_time(cpu_clock *clock, uint32_t after) {
    clock->time = after < UINT32_MAX ? after + 1 : after;
    clock->used = false;
}

static void adopt(cpu_known **into, cpu_known *known) {
    cpu_known *old = *into;
    if (!known || known == old) return;
    if (old) {
        *into = merge(old->spans, old->count, known->spans, known->count);
        (*into)->ticks = later(old->ticks, known->ticks);
    } else {
        *into = known;
        known->references++;
    }
    cpu_known_drop(old);
}

void cpu_clock_acquire(cpu_clock *clock, cpu_known *known) {
    if (known) clock->ticks = later(clock->ticks, known->ticks);
    adopt(&clock->known, known);
}

void cpu_clock_acquire_partial(cpu_clock *clock, cpu_known *known) {
    if (known) clock->ticks = later(clock->ticks, known->ticks);
    adopt(&clock->partial, known);
}

static void add_span(cpu_known **known, cpu_known_span span) {
    const cpu_known nothing = {0}, *old = *known ? *known : &nothing;
    cpu_known *all = merge(old->spans, old->count, &span, 1);
    cpu_known_drop(*known);
    *known = all;
}

/* Ends a release: a new time begins, which later acquirers do not know. */
static cpu_known *finish_release(cpu_clock *clock, cpu_known *all) {
    all->ticks = clock->ticks;
    begin_time(clock, clock->time);
    clock->used = true;
    return all;
}

cpu_known *cpu_clock_release(cpu_clock *clock) {
    cpu_known *all = NULL;
    adopt(&all, clock->known);
    adopt(&all, clock->partial);
    add_span(&all, (cpu_known_span){clock->agent, 1, clock->time});
    return finish_release(clock, all);
}

cpu_known *cpu_clock_release_part(cpu_clock *clock, uint32_t since, const uint64_t *parts,
                                  unsigned count, bool partial) {
    cpu_known *all = NULL;
    adopt(&all, clock->known);
    if (partial) adopt(&all, clock->partial);
    add_span(&all, (cpu_known_span){clock->agent, 1, since - 1});
    for (unsigned i = 0; i < count; i++) add_span(&all, (cpu_known_span){parts[i], 1, clock->time});
    return finish_release(clock, all);
}

/* Merges the spans whose numbers begin in [low, high), with `more` added to the numbers. */
static void take_range(cpu_known **into, const cpu_known *known, uint64_t low, uint64_t high,
                       uint64_t more) {
    cpu_known *some = make_known(known->count);
    for (uint32_t i = 0; i < known->count; i++) {
        const cpu_known_span *span = &known->spans[i];
        if (span->first >= low && span->first - low < high - low)
            append(some, span->first + more, span->count, span->time);
    }
    adopt(into, some);
    cpu_known_drop(some);
}

cpu_known *cpu_known_weaken(const cpu_known *known, uint64_t to) {
    static const uint64_t bases[] = {0, CPU_LANE};
    cpu_known *weak = NULL;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t done = bases[i] + CPU_LOADS_DONE, caused = bases[i] + CPU_ISSUED_BEFORE;
        take_range(&weak, known, bases[i], done, to);
        take_range(&weak, known, done, caused,
                   to == CPU_ISSUED_BEFORE ? CPU_ISSUED_BEFORE - CPU_LOADS_DONE : 0);
        take_range(&weak, known, caused, caused + CPU_LOADS_DONE, 0);
    }
    take_range(&weak, known, CPU_PHASE, UINT64_MAX, 0);
    weak->ticks = known->ticks;
    return weak;
}

cpu_known *cpu_clock_fork_async(cpu_clock *clock) {
    cpu_known *all = cpu_clock_release(clock);
    cpu_known *cause = cpu_known_weaken(all, CPU_ISSUED_BEFORE);
    cpu_known_drop(all);
    return cause;
}

/* Returns whether all clocks have the same knowledge, and no agent has done anything that is
 * unknown to the others. */
static bool are_joined(cpu_clock *const *clocks, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (clocks[i]->used || clocks[i]->partial || clocks[i]->known != clocks[0]->known)
            return false;
    return true;
}

static void join_ticks(cpu_clock *const *clocks, unsigned count) {
    uint64_t ticks = 0;
    for (unsigned i = 0; i < count; i++) ticks = later(ticks, clocks[i]->ticks);
    for (unsigned i = 0; i < count; i++) clocks[i]->ticks = ticks;
}

/* All clocks continue at the same time, so that they form a single span. */
void cpu_clock_join(cpu_clock *const *clocks, unsigned count) {
    join_ticks(clocks, count);
    if (are_joined(clocks, count)) return;
    cpu_clock all = {.agent = clocks[0]->agent};
    cpu_known *present = make_known(count);
    for (unsigned i = 0; i < count; i++)
        if (clocks[i]->time > all.time) all.time = clocks[i]->time;
    for (unsigned i = 0; i < count; i++) {
        append(present, clocks[i]->agent, 1, all.time);
        cpu_clock_acquire(&all, clocks[i]->known);
        cpu_clock_acquire(&all, clocks[i]->partial);
    }
    present->ticks = clocks[0]->ticks;
    cpu_clock_acquire(&all, present);
    cpu_known_drop(present);
    for (unsigned i = 0; i < count; i++) {
        all.known->references++;
        replace(clocks[i], all.known);
        cpu_known_drop(clocks[i]->partial);
        clocks[i]->partial = NULL;
        begin_time(clocks[i], all.time);
    }
    cpu_clock_stop(&all);
}
