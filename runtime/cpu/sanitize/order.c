/* Order between agents through words in global and shared memory: releases, acquires, fences.
 *
 * A word carries the knowledge of its release sequence. A release store begins a sequence; atomic
 * updates continue it and add what they release. A relaxed update releases what preceded its
 * agent's last release fence. What a relaxed read finds is acquired at the next acquire fence. Both
 * are limited by the scopes. */
#include <stdlib.h>
#include <string.h>

#include "lib/support/arena.h"
#include "runtime/cpu/sanitize/check.h"
#include "runtime/cpu/sanitize/global_shadow.h"

/* Lanes ---------------------------------------------------------------------------------------- */

void cpu_acquire_by_lanes(cpu_agent *agent, uint32_t lanes, cpu_known *known) {
    if (!agent->clock.partial) agent->partial_lanes = 0;
    agent->partial_lanes |= lanes;
    cpu_clock_acquire_partial(&agent->clock, known);
}

/* Words ---------------------------------------------------------------------------------------- */

void cpu_words_open(cpu_words *words) {
    *words = (cpu_words){.capacity = 16};
    words->words = tile_malloc(sizeof *words->words * words->capacity);
    memset(words->words, 0, sizeof *words->words * words->capacity);
}

void cpu_words_close(cpu_words *words) {
    for (size_t i = 0; i < words->capacity; i++) cpu_clock_stop(&words->words[i].known);
    free(words->words);
}

static cpu_word *find_word(const cpu_words *words, uint64_t address) {
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % words->capacity;
    while (words->words[at].address && words->words[at].address != address)
        at = (at + 1) % words->capacity;
    return &words->words[at];
}

static void grow(cpu_words *words) {
    cpu_words old = *words;
    words->capacity *= 2;
    words->words = tile_malloc(sizeof *old.words * words->capacity);
    memset(words->words, 0, sizeof *old.words * words->capacity);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.words[i].address) *find_word(words, old.words[i].address) = old.words[i];
    free(old.words);
}

/* time: of the agent, when it releases the word. */
static cpu_word *make_word(cpu_words *words, uint64_t address, const cpu_agent *agent,
                           uint32_t time) {
    if (2 * (words->count + 1) > words->capacity) grow(words);
    cpu_word *word = find_word(words, address);
    if (word->address) return word;
    words->count++;
    word->address = address;
    word->first_agent = agent->clock.agent;
    word->first_time = time;
    return word;
}

/* Scopes --------------------------------------------------------------------------------------- */

cpu_reach cpu_reach_of(tile_word scope) {
    switch (scope) {
    case TILE_WORD_scope_cta: return CPU_REACH_BLOCK;
    case TILE_WORD_scope_cluster: return CPU_REACH_CLUSTER;
    default: return CPU_REACH_ALL;
    }
}

/* Agents are numbered by block, and blocks by cluster. */
cpu_reach cpu_distance(const cpu_run *run, uint64_t agent, uint64_t other) {
    uint64_t block = run->program->agents, cluster = block * run->program->cluster_blocks;
    if (agent / block == other / block) return CPU_REACH_BLOCK;
    return agent / cluster == other / cluster ? CPU_REACH_CLUSTER : CPU_REACH_ALL;
}

bool cpu_is_same_tile_store(const cpu_agent *agent, const cpu_insn *insn, const cpu_agent *other,
                            const cpu_insn *its) {
    return insn->any_stays && its->any_stays && insn->loc.file == its->loc.file &&
           insn->loc.line == its->loc.line && insn->loc.column == its->loc.column &&
           agent->block == other->block && agent->set == other->set && agent->group == other->group;
}

static cpu_reach less(cpu_reach a, cpu_reach b) {
    return a < b ? a : b;
}

/* Updates -------------------------------------------------------------------------------------- */

void cpu_acquire_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address) {
    const cpu_word *word = find_word(cpu_global_words(run->global), address);
    if (!word->known.known) return;
    cpu_reach needed = cpu_distance(run, agent->clock.agent, word->agent);
    if (needed > less(word->reach, cpu_reach_of(insn->scope))) {
        agent->order.narrow = insn;
        return;
    }
    if (!insn->acquires)
        cpu_clock_acquire(&agent->order.seen[needed], word->known.known);
    else if (run->program->lanes > 1 && agent->mask != UINT32_MAX)
        cpu_acquire_by_lanes(agent, agent->mask, word->known.known);
    else
        cpu_clock_acquire(&agent->clock, word->known.known);
}

/* Larger than any address; a block's shared memory is smaller than 2^26 bytes. */
uint64_t cpu_shared_word(const cpu_run *run, const cpu_agent *agent, uint32_t offset) {
    uint64_t block = agent->clock.agent / run->program->agents;
    return UINT64_C(1) << 63 | block << 26 | offset;
}

bool cpu_knows_word(cpu_run *run, const cpu_agent *agent, uint64_t address) {
    const cpu_word *word = find_word(cpu_global_words(run->global), address);
    return word->address && cpu_clock_knows(&agent->clock, word->first_agent, word->first_time);
}

void cpu_release_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address) {
    cpu_word *word = make_word(cpu_global_words(run->global), address, agent, agent->clock.time);
    cpu_clock_stop(&word->known);
    word->known.known = cpu_clock_release(&agent->clock);
    word->agent = agent->clock.agent;
    word->reach = cpu_reach_of(insn->scope);
}

cpu_known *cpu_begin_updates(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    (void)run;
    if (insn->releases) return cpu_clock_release(&agent->clock);
    if (agent->order.fenced) agent->order.fenced->references++;
    return agent->order.fenced;
}

void cpu_update_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address,
                     cpu_known *released) {
    if (insn->acquires || run->program->fences) cpu_acquire_word(run, agent, insn, address);
    if (!released) return;
    uint32_t now = agent->clock.time - (insn->releases ? 1 : 0); /* the release ended that time */
    cpu_word *word = make_word(cpu_global_words(run->global), address, agent, now);
    cpu_reach reach = cpu_reach_of(insn->scope);
    cpu_clock_acquire(&word->known, released);
    word->agent = agent->clock.agent;
    word->reach = insn->releases ? reach : less(reach, agent->order.fence);
}

/* Fences --------------------------------------------------------------------------------------- */

void cpu_fence(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    cpu_order *order = &agent->order;
    cpu_reach reach = cpu_reach_of(insn->scope);
    (void)run;
    for (unsigned r = 0; insn->acquires && r < CPU_REACHES; r++) {
        if (order->seen[r].known && r > reach) order->narrow = insn;
        if (r <= reach) cpu_clock_acquire(&agent->clock, order->seen[r].known);
    }
    if (!insn->releases) return;
    cpu_known_drop(order->fenced);
    order->fenced = cpu_clock_release(&agent->clock);
    order->fence = reach;
}

void cpu_order_clear(cpu_order *order) {
    cpu_known_drop(order->fenced);
    for (unsigned r = 0; r < CPU_REACHES; r++) cpu_clock_stop(&order->seen[r]);
    *order = (cpu_order){.fenced = NULL};
}
