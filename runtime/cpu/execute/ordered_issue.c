/* Level 2: ordered issue of warpgroups. A set of warpgroups runs as one agent. To find deadlocks,
 * each warpgroup separately follows the instructions that its set has executed, as far as the turns
 * that were passed to it permit:
 *
 *     executed      pass {edge}  await  pass  await  pass
 *     group 0                      x      x     x..           was passed a turn
 *     group 1                      x      x     ..            waits for group 0
 *
 * Several sets that execute the same region share the turns. If all of them wait, or the block ends
 * while one waits, that turn is never passed. */
#include <stdlib.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/decoding.h"

/* Instructions that a set has executed but not all of its warpgroups have passed. */
typedef struct executed {
    const cpu_agent *agent; /* of the set; NULL: it has executed no such instruction yet */
    const cpu_insn **insns;
    size_t count, capacity;
    uint64_t forgotten; /* number of instructions dropped before these */
} executed;

struct cpu_ordered_issue {
    unsigned warpgroups, of_set; /* 0: no ordered issue with this number yet */
    executed sets[CPU_BARRIERS];
    size_t at[CPU_BARRIERS]; /* by warpgroup: its next instruction in the list of its set */
    const cpu_insn *passed[CPU_BARRIERS]; /* to this one, which has not taken it yet; or NULL */
};

static executed *set_of(cpu_ordered_issue *t, unsigned warpgroup) {
    return &t->sets[warpgroup / t->of_set];
}

void cpu_clear_ordered_issue(cpu_block *block) {
    for (unsigned first = 0; block->ordered_issue && first < CPU_BARRIERS; first++)
        for (unsigned set = 0; set < CPU_BARRIERS; set++)
            free(block->ordered_issue[first].sets[set].insns);
    free(block->ordered_issue);
    block->ordered_issue = NULL;
}

static bool passes(const cpu_insn *insn) {
    return insn->opcode == TILE_OP_ordered_arrive;
}

/* Returns whether the instruction applies to this warpgroup. With `edge` only the first one waits,
 * or the last one passes. */
static bool is_for_set(const cpu_ordered_issue *t, const cpu_insn *insn, unsigned warpgroup) {
    return !insn->flag || warpgroup == (passes(insn) ? t->warpgroups - 1 : 0);
}

static bool waits(cpu_ordered_issue *t, unsigned warpgroup) {
    return t->at[warpgroup] < set_of(t, warpgroup)->count;
}

/* Advances a warpgroup by one instruction of its set. False: it waits or is done, or, with *twice
 * set after a report, a turn was passed twice. */
static bool try_continue(cpu_run *run, cpu_ordered_issue *t, unsigned warpgroup, bool *twice) {
    if (!waits(t, warpgroup) || *twice) return false;
    const executed *set = set_of(t, warpgroup);
    const cpu_insn *insn = set->insns[t->at[warpgroup]];
    unsigned next = (warpgroup + 1) % t->warpgroups;
    if (is_for_set(t, insn, warpgroup) && !passes(insn)) {
        if (!t->passed[warpgroup]) return false;
        t->passed[warpgroup] = NULL;
    } else if (is_for_set(t, insn, warpgroup)) {
        if ((*twice = t->passed[next] != NULL)) {
            cpu_fault(run, set->agent, insn, -1,
                      "warpgroup %u passes the turn on again, and warpgroup %u has not waited for "
                      "it before",
                      warpgroup, next);
            tile_report(run->context, TILE_NOTE, t->passed[next]->loc, "it was passed on here");
            return false;
        }
        t->passed[next] = insn;
    }
    t->at[warpgroup]++;
    return true;
}

/* Reports the waiting warpgroup that got least far: others may wait for its next step. */
static bool report_waiting(cpu_run *run, cpu_ordered_issue *t) {
    unsigned found = t->warpgroups;
    uint64_t least = 0;
    for (unsigned w = 0; w < t->warpgroups; w++) {
        uint64_t at = set_of(t, w)->forgotten + t->at[w];
        if (!waits(t, w) || (found < t->warpgroups && at >= least)) continue;
        found = w;
        least = at;
    }
    if (found == t->warpgroups) return true;
    const executed *set = set_of(t, found);
    cpu_fault(run, set->agent, set->insns[t->at[found]], -1,
              "deadlock: warpgroup %u of %u waits for its turn, which warpgroup %u never passes on",
              found, t->warpgroups, (found + t->warpgroups - 1) % t->warpgroups);
    return false;
}

/* Drops instructions that all warpgroups of the set have passed. */
static void drop_executed(cpu_ordered_issue *t, unsigned number) {
    executed *set = &t->sets[number];
    size_t first = set->count;
    for (unsigned w = number * t->of_set; w < (number + 1) * t->of_set; w++)
        first = t->at[w] < first ? t->at[w] : first;
    if (!first) return;
    memmove(set->insns, set->insns + first, (set->count - first) * sizeof *set->insns);
    for (unsigned w = number * t->of_set; w < (number + 1) * t->of_set; w++) t->at[w] -= first;
    set->count -= first;
    set->forgotten += first;
}

static void add(executed *set, const cpu_insn *insn) {
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? 2 * set->capacity : 16;
        const cpu_insn **more = tile_malloc(capacity * sizeof *more);
        if (set->count) memcpy(more, set->insns, set->count * sizeof *more);
        free(set->insns);
        set->insns = more;
        set->capacity = capacity;
    }
    set->insns[set->count++] = insn;
}

static CPU_HANDLER(run_turn) {
    cpu_block *block = agent->block;
    bool moved = true, twice = false, all_wait = true;
    if (!block->ordered_issue) {
        block->ordered_issue = tile_malloc(CPU_BARRIERS * sizeof *block->ordered_issue);
        memset(block->ordered_issue, 0, CPU_BARRIERS * sizeof *block->ordered_issue);
    }
    cpu_ordered_issue *t = &block->ordered_issue[insn->integer];
    t->warpgroups = insn->second_count;
    t->of_set = agent->weight / TILE_WARPS_PER_ORDERED_GROUP;
    t->sets[agent->group].agent = agent;
    add(&t->sets[agent->group], insn);
    while (moved) {
        moved = false;
        for (unsigned w = 0; w < t->warpgroups; w++) moved |= try_continue(run, t, w, &twice);
    }
    if (twice) return CPU_STOP;
    for (unsigned w = 0; w < t->warpgroups; w++) all_wait &= waits(t, w);
    if (all_wait && !report_waiting(run, t)) return CPU_STOP;
    for (unsigned set = 0; set * t->of_set < t->warpgroups; set++) drop_executed(t, set);
    return CPU_NEXT;
}

bool cpu_ordered_issue_may_end(cpu_run *run, const cpu_block *block) {
    for (unsigned first = 0; block->ordered_issue && first < CPU_BARRIERS; first++) {
        cpu_ordered_issue *t = &block->ordered_issue[first];
        if (!report_waiting(run, t)) return false;
        for (unsigned w = 0; w < t->warpgroups; w++) {
            if (!t->passed[w]) continue;
            cpu_fault(run, set_of(t, (w + t->warpgroups - 1) % t->warpgroups)->agent, t->passed[w],
                      -1,
                      "the block ends, and warpgroup %u never waits for the turn that is passed on "
                      "to it: after the last product, add `ordered_wait %u {edge}`",
                      w, first);
            return false;
        }
    }
    return true;
}

static void decode_turn(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, run_turn);
    insn->flag = tile_op_has_attr(d->f, op, TILE_ATTR_edge);
    insn->second_count = tile_ordered_warpgroups(tile_executors_of(d->f, op));
    tile_value_is_int(d->f, tile_operand_first(d->f, op), &insn->integer);
}

void cpu_decode_ordered_wait(cpu_decoder *d, tile_op op) {
    decode_turn(d, op);
}

void cpu_decode_ordered_arrive(cpu_decoder *d, tile_op op) {
    decode_turn(d, op);
}
