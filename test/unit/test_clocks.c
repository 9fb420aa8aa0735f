#include "runtime/cpu/program/clocks.h"

#include <criterion/criterion.h>
#include <string.h>

enum { AGENTS = 12 };

Test(clocks, a_barrier_tells_all_of_all) {
    cpu_clock a = {0}, b = {0}, c = {0};
    cpu_clock_start(&a, 8);
    cpu_clock_start(&b, 9);
    cpu_clock_start(&c, 10);
    cr_assert(cpu_clock_knows(&a, 8, 1), "an agent knows itself");
    cr_assert_not(cpu_clock_knows(&a, 9, 1));
    a.used = b.used = true;
    cpu_clock *both[] = {&a, &b};
    cpu_clock_join(both, 2);
    cr_assert(cpu_clock_knows(&a, 9, 1));
    cr_assert(cpu_clock_knows(&b, 8, 1));
    cr_assert_not(cpu_clock_knows(&a, 9, b.time), "what comes after the barrier is not known");
    cr_assert_not(cpu_clock_knows(&c, 8, 1));
    cr_assert_eq(a.known, b.known, "what they know is there once");
    cr_assert_eq(a.known->count, 1, "agents side by side are one span");
    cpu_clock_stop(&a);
    cpu_clock_stop(&b);
    cpu_clock_stop(&c);
}

Test(clocks, a_release_passes_on_what_its_agent_knows) {
    cpu_clock a = {0}, b = {0}, c = {0};
    cpu_clock_start(&a, 30);
    cpu_clock_start(&b, 7);
    cpu_clock_start(&c, 100);
    cpu_known *first = cpu_clock_release(&a);
    cpu_clock_acquire(&b, first);
    cpu_known *second = cpu_clock_release(&b);
    cpu_clock_acquire(&c, second);
    cr_assert(cpu_clock_knows(&c, 30, 1));
    cr_assert(cpu_clock_knows(&c, 7, 1));
    cr_assert_not(cpu_clock_knows(&c, 30, 2), "what a did after its release");
    cr_assert_not(cpu_clock_knows(&a, 7, 1));
    cpu_clock_acquire(&c, NULL);
    cpu_known_drop(first);
    cpu_known_drop(second);
    cpu_clock_stop(&a);
    cpu_clock_stop(&b);
    cpu_clock_stop(&c);
}

Test(clocks, some_threads_release_what_they_did) {
    cpu_clock a = {0}, b = {0};
    const uint64_t lane = CPU_LANE | 8 << 5 | 3;
    cpu_clock_start(&a, 8);
    cpu_clock_start(&b, 9);
    cpu_known_drop(cpu_clock_release(&a));
    cpu_known_drop(cpu_clock_release(&a));
    cr_assert_eq(a.time, 3);
    cpu_known *known = cpu_clock_release_part(&a, 2, &lane, 1, false);
    cpu_clock_acquire(&b, known);
    cr_assert(cpu_clock_knows(&b, 8, 1), "what was before all met");
    cr_assert_not(cpu_clock_knows(&b, 8, 2), "what the others did since then");
    cr_assert(cpu_clock_knows(&b, lane, 3), "what the thread did");
    cr_assert_eq(a.time, 4);
    cpu_known_drop(known);
    cpu_clock_stop(&a);
    cpu_clock_stop(&b);
}

Test(clocks, what_some_know_is_told_by_them_until_all_meet) {
    cpu_clock a = {0}, b = {0};
    cpu_clock *alone[] = {&b};
    cpu_clock_start(&a, 8);
    cpu_clock_start(&b, 9);
    cpu_known *first = cpu_clock_release(&a);
    cpu_clock_acquire_partial(&b, first);
    cr_assert(cpu_clock_knows(&b, 8, 1));
    cr_assert_not(cpu_clock_all_know(&b, 8, 1));
    cpu_known *others = cpu_clock_release_part(&b, 1, NULL, 0, false);
    cpu_known *theirs = cpu_clock_release_part(&b, 1, NULL, 0, true);
    cr_assert_eq(cpu_known_time(others, 8), 0);
    cr_assert_eq(cpu_known_time(theirs, 8), 1);
    cpu_clock_join(alone, 1);
    cr_assert(cpu_clock_all_know(&b, 8, 1));
    cr_assert_null(b.partial);
    cpu_known_drop(first);
    cpu_known_drop(others);
    cpu_known_drop(theirs);
    cpu_clock_stop(&a);
    cpu_clock_stop(&b);
}

Test(clocks, a_cause_is_past_and_not_seen) {
    cpu_clock a = {0}, b = {0}, c = {0};
    cpu_clock_start(&a, 8);
    cpu_clock_start(&b, 9);
    cpu_clock_start(&c, 10);
    cpu_known *first = cpu_clock_release(&a);
    cpu_clock_acquire(&b, first);
    cpu_known *cause = cpu_clock_fork_async(&b);
    cpu_clock_acquire(&c, cause);
    cr_assert_not(cpu_clock_knows(&c, 8, 1));
    cr_assert_not(cpu_clock_knows(&c, 9, 1));
    cr_assert(cpu_clock_knows(&c, 8 + CPU_ISSUED_BEFORE, 1));
    cr_assert(cpu_clock_knows(&c, 9 + CPU_ISSUED_BEFORE, 1));
    cr_assert_not(cpu_clock_knows(&c, 9 + CPU_ISSUED_BEFORE, b.time), "what it does next");
    cpu_known *passed_on = cpu_clock_fork_async(&c);
    cr_assert_eq(cpu_known_time(passed_on, 8 + CPU_ISSUED_BEFORE), 1);
    cr_assert_eq(cpu_known_time(passed_on, 8), 0);
    cpu_known_drop(first);
    cpu_known_drop(cause);
    cpu_known_drop(passed_on);
    cpu_clock_stop(&a);
    cpu_clock_stop(&b);
    cpu_clock_stop(&c);
}

/* Compares with clocks that are plain arrays of times, under random barriers and releases. */
typedef struct model {
    cpu_clock clocks[AGENTS];
    uint32_t times[AGENTS][AGENTS];
    cpu_known *released;
    uint32_t released_times[AGENTS];
} model;

static uint64_t agent_number(unsigned i) {
    return i < 5 ? 100 + i : i < 8 ? 1000 + i : 3 * (uint64_t)i; /* some are adjacent */
}

static void raise_times(uint32_t *to, const uint32_t *from) {
    for (unsigned i = 0; i < AGENTS; i++) to[i] = from[i] > to[i] ? from[i] : to[i];
}

static void meet_all_from(model *m, unsigned first, unsigned count) {
    cpu_clock *clocks[AGENTS];
    uint32_t all[AGENTS] = {0};
    for (unsigned i = 0; i < count; i++) {
        clocks[i] = &m->clocks[first + i];
        clocks[i]->used = true;
        m->times[first + i][first + i] = clocks[i]->time;
        raise_times(all, m->times[first + i]);
    }
    cpu_clock_join(clocks, count);
    for (unsigned i = 0; i < count; i++) raise_times(m->times[first + i], all);
}

static void release_and_acquire(model *m, unsigned from, unsigned to) {
    m->times[from][from] = m->clocks[from].time;
    memcpy(m->released_times, m->times[from], sizeof m->released_times);
    cpu_known_drop(m->released);
    m->released = cpu_clock_release(&m->clocks[from]);
    cpu_clock_acquire(&m->clocks[to], m->released);
    raise_times(m->times[to], m->released_times);
}

static void compare(const model *m) {
    for (unsigned i = 0; i < AGENTS; i++)
        for (unsigned j = 0; j < AGENTS; j++) {
            if (i == j) continue;
            uint32_t time = m->times[i][j];
            cr_assert(!time || cpu_clock_knows(&m->clocks[i], agent_number(j), time));
            /* A barrier may advance an agent's own time by more than one; nothing happened at the
             * skipped times. */
            cr_assert_not(cpu_clock_knows(&m->clocks[i], agent_number(j), m->clocks[j].time));
        }
}

Test(clocks, random_orders_agree_with_plain_vectors) {
    model m = {0};
    uint32_t random = 1;
    for (unsigned i = 0; i < AGENTS; i++) cpu_clock_start(&m.clocks[i], agent_number(i));
    for (unsigned step = 0; step < 2000; step++) {
        random = random * 1664525 + 1013904223;
        unsigned a = (random >> 8) % AGENTS, b = (random >> 16) % AGENTS;
        if (random >> 28 == 0)
            for (unsigned i = 0; i < AGENTS; i++) { /* occasionally a new launch */
                cpu_clock_start(&m.clocks[i], agent_number(i));
                memset(m.times[i], 0, sizeof m.times[i]);
            }
        else if (random >> 31)
            release_and_acquire(&m, a, b);
        else if (a < 5)
            meet_all_from(&m, 0, 5);
        else if (a < 8)
            meet_all_from(&m, 5, 3);
        compare(&m);
    }
    cpu_known_drop(m.released);
    for (unsigned i = 0; i < AGENTS; i++) cpu_clock_stop(&m.clocks[i]);
}
