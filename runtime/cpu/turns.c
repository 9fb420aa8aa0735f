/* Level 2: turns of warpgroups. A set runs as one agent, and its warpgroups in step; whether each
 * of them would ever have its turn is found by following them through what the set has executed,
 * each as far as the turns go that have been passed on:
 *
 *     executed      pass {edge}  await  pass  await  pass
 *     group 0                      x      x     x..           has been passed on to
 *     group 1                      x      x     ..            waits for group 0
 *
 * When all of them wait, or the block ends while one does, nobody passes that turn on. */
#include <stdlib.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "runtime/cpu/decode.h"

struct cpu_turns {
    unsigned groups;
    const cpu_agent *agent; /* that runs the set; NULL: there are none of this number */
    const cpu_insn **done;  /* what the set has executed and not all groups have passed */
    size_t count, capacity;
    size_t at[CPU_BARRIERS];              /* by group: the next of these */
    const cpu_insn *passed[CPU_BARRIERS]; /* to this group, which has not taken it; or NULL */
};

void cpu_clear_turns(cpu_block *block) {
    for (unsigned first = 0; block->turns && first < CPU_BARRIERS; first++)
        free(block->turns[first].done);
    free(block->turns);
    block->turns = NULL;
}

static bool passes(const cpu_insn *insn) {
    return insn->opcode == TILE_OP_pass_turn;
}

/* With `edge` the first group waits, or the last one passes; else all do. */
static bool concerns(const cpu_turns *t, const cpu_insn *insn, unsigned group) {
    return !insn->flag || group == (passes(insn) ? t->groups - 1 : 0);
}

/* A group goes on by one of what the set has executed; false: it waits, or has done all, or, after
 * a report, *twice. */
static bool go_on(cpu_run *run, cpu_turns *t, unsigned group, bool *twice) {
    if (t->at[group] == t->count || *twice) return false;
    const cpu_insn *insn = t->done[t->at[group]];
    unsigned next = (group + 1) % t->groups;
    if (concerns(t, insn, group) && !passes(insn)) {
        if (!t->passed[group]) return false;
        t->passed[group] = NULL;
    } else if (concerns(t, insn, group)) {
        if ((*twice = t->passed[next] != NULL)) {
            cpu_fault(run, t->agent, insn, -1,
                      "warpgroup %u passes the turn on again, and warpgroup %u has not waited for "
                      "it before",
                      group, next);
            tile_report(run->context, TILE_NOTE, t->passed[next]->loc, "it was passed on here");
            return false;
        }
        t->passed[next] = insn;
    }
    t->at[group]++;
    return true;
}

/* Of those that wait the one that came least far: others may wait for what it would do. */
static bool report_waiting(cpu_run *run, const cpu_turns *t) {
    unsigned g = 0;
    for (unsigned other = 1; other < t->groups; other++)
        if (t->at[other] < t->at[g]) g = other;
    if (t->at[g] == t->count) return true;
    cpu_fault(run, t->agent, t->done[t->at[g]], -1,
              "deadlock: warpgroup %u of %u waits for its turn, which warpgroup %u never passes on",
              g, t->groups, (g + t->groups - 1) % t->groups);
    return false;
}

/* What all groups have passed needs not be kept. */
static void forget(cpu_turns *t) {
    size_t first = t->count;
    for (unsigned g = 0; g < t->groups; g++) first = t->at[g] < first ? t->at[g] : first;
    memmove(t->done, t->done + first, (t->count - first) * sizeof *t->done);
    for (unsigned g = 0; g < t->groups; g++) t->at[g] -= first;
    t->count -= first;
}

static void add(cpu_turns *t, const cpu_insn *insn) {
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 16;
        const cpu_insn **more = tile_malloc(capacity * sizeof *more);
        if (t->count) memcpy(more, t->done, t->count * sizeof *more);
        free(t->done);
        t->done = more;
        t->capacity = capacity;
    }
    t->done[t->count++] = insn;
}

static CPU_HANDLER(run_turn) {
    cpu_block *block = agent->block;
    bool moved = true, twice = false, all_wait = true;
    if (!block->turns) {
        block->turns = tile_malloc(CPU_BARRIERS * sizeof *block->turns);
        memset(block->turns, 0, CPU_BARRIERS * sizeof *block->turns);
    }
    cpu_turns *t = &block->turns[insn->integer];
    t->agent = agent;
    t->groups = agent->weight / TILE_WARPS_OF_TURN;
    add(t, insn);
    while (moved) {
        moved = false;
        for (unsigned g = 0; g < t->groups; g++) moved |= go_on(run, t, g, &twice);
    }
    if (twice) return CPU_STOP;
    for (unsigned g = 0; g < t->groups; g++) all_wait &= t->at[g] < t->count;
    if (all_wait && !report_waiting(run, t)) return CPU_STOP;
    forget(t);
    return CPU_NEXT;
}

bool cpu_turns_may_end(cpu_run *run, const cpu_block *block) {
    for (unsigned first = 0; block->turns && first < CPU_BARRIERS; first++) {
        const cpu_turns *t = &block->turns[first];
        if (!t->agent) continue;
        if (!report_waiting(run, t)) return false;
        for (unsigned g = 0; g < t->groups; g++) {
            if (!t->passed[g]) continue;
            cpu_fault(run, t->agent, t->passed[g], -1,
                      "the block ends, and warpgroup %u never waits for the turn that is passed on "
                      "to it: take what is left behind the last one, `await_turn %u {edge}`",
                      g, first);
            return false;
        }
    }
    return true;
}

static void decode_turn(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, run_turn);
    insn->flag = tile_op_has_attr(d->f, op, TILE_ATTR_edge);
    tile_value_is_int(d->f, tile_op_operand(d->f, op, 0), &insn->integer);
}

void cpu_decode_await_turn(cpu_decoder *d, tile_op op) {
    decode_turn(d, op);
}

void cpu_decode_pass_turn(cpu_decoder *d, tile_op op) {
    decode_turn(d, op);
}
