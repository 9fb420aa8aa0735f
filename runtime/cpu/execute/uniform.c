/* `uniform`: the values of a warp's lanes are compared when they reach it. Warps are compared with
 * the first warp that reached it the same number of times. Under divergent control flow this count
 * is meaningless, so assign-layouts rejects it there. */
#include <stdio.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"

static uint64_t bits_of(const char *values, uint32_t size, unsigned lane) {
    uint64_t bits = 0;
    memcpy(&bits, values + lane * size, size);
    return bits;
}

static uint64_t *agreed_value(cpu_uniform_values *agreement, uint32_t visit) {
    if (visit >= agreement->capacity) {
        agreement->capacity = agreement->capacity ? agreement->capacity * 2 : 16;
        agreement->values =
            tile_realloc(agreement->values, sizeof *agreement->values * agreement->capacity);
    }
    return &agreement->values[visit];
}

static cpu_outcome fail(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, unsigned lane,
                        uint64_t value, const char *who, uint64_t other) {
    char texts[2][32];
    const uint64_t values[] = {value, other};
    for (unsigned i = 0; i < 2; i++)
        snprintf(texts[i], sizeof texts[i], "%g", tile_scalar_read(insn->scalar, &values[i]));
    return cpu_fault(run, agent, insn, (int)lane,
                     "the value is %s here and %s in %s; every thread must have the same", texts[0],
                     texts[1], who);
}

CPU_HANDLER(cpu_run_uniform) {
    const char *values = cpu_at(run, agent, insn->operand[0]);
    unsigned lanes = run->program->lanes, first = 0;
    while (first < lanes && !(agent->mask >> first & 1)) first++;
    memcpy(cpu_at(run, agent, insn->result), values, (size_t)insn->size * lanes);
    if (first == lanes) return CPU_NEXT;
    uint64_t value = bits_of(values, insn->size, first);
    for (unsigned lane = first; lane < lanes; lane++)
        if (agent->mask >> lane & 1 && bits_of(values, insn->size, lane) != value)
            return fail(run, agent, insn, lane, bits_of(values, insn->size, lane), "another lane",
                        value);
    uint32_t number = (uint32_t)insn->integer + agent->group;
    cpu_uniform_values *agreement = &agent->block->uniform_values[number];
    uint32_t visit = agent->visits[number]++;
    uint64_t *agreed = agreed_value(agreement, visit);
    if (visit >= agreement->count) {
        *agreed = value;
        agreement->count = visit + 1;
    } else if (*agreed != value) {
        return fail(run, agent, insn, first, value, "another warp", *agreed);
    }
    return CPU_NEXT;
}
