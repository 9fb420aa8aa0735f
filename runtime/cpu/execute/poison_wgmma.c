/* Poison through the products of a warpgroup: from registers of threads, and from shared memory
 * that descriptors describe. An element of the result depends on its whole row of lhs and column of
 * rhs. Multiplying matrices of ones finds these elements in the registers. */
#include <stdlib.h>
#include <string.h>

#include "lib/support/scalar.h"
#include "runtime/cpu/execute/poison.h"
#include "runtime/cpu/execute/products.h"
#include "runtime/cpu/execute/wgmma_matrix.h"

enum { WARPS = 4, WARP_ROWS = 16 };

/* An operand of one warp, in the form of cpu_multiply. */
typedef struct side {
    tile_scalar scalar;
    uint32_t count;  /* number of elements */
    uint8_t *poison; /* NULL: no poison */
} side;

static uint64_t descriptor_of(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned k) {
    uint64_t bits;
    memcpy(&bits, cpu_at(run, agent, insn->operand[k]), sizeof bits);
    return bits;
}

static side find_lhs(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    side s = {.scalar = insn->type->scalar};
    uint32_t size = tile_scalar_bytes(s.scalar), bytes = WARP_ROWS * CPU_WGMMA_BYTES;
    s.count = bytes / size;
    if (cpu_wgmma_takes_fragment(insn)) {
        const uint8_t *poison = agent->poison + insn->operand[0];
        if (insn->poison->may[0]) s.poison = memcpy(tile_malloc(bytes), poison, bytes);
    } else if (agent->block->poison) {
        cpu_matrix lhs = cpu_wgmma_lhs(insn, descriptor_of(run, agent, insn, 0));
        s.poison = (uint8_t *)cpu_gather_matrix(agent->block->poison, &lhs,
                                                agent->index % WARPS * WARP_ROWS, WARP_ROWS, false);
    }
    return s;
}

static side find_rhs(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    cpu_matrix rhs = cpu_wgmma_rhs(insn, descriptor_of(run, agent, insn, 1));
    side s = {.scalar = insn->memory->scalar, .count = rhs.rows * rhs.depth};
    if (agent->block->poison)
        s.poison = (uint8_t *)cpu_gather_matrix(agent->block->poison, &rhs, 0, rhs.rows, true);
    return s;
}

/* Multiplies ones for this side's poisoned elements by all ones for the other side. */
static void multiply_ones(const cpu_insn *insn, const side *poisoned, const side *other,
                          const uint32_t *picks, bool is_lhs, uint8_t *result) {
    uint32_t bytes = insn->count * insn->size;
    uint8_t found =
        cpu_first_poison(poisoned->poison, poisoned->count, tile_scalar_bytes(poisoned->scalar));
    if (!found) return;
    uint8_t *own = tile_malloc(poisoned->count * tile_scalar_bytes(poisoned->scalar));
    uint8_t *ones = tile_malloc(other->count * tile_scalar_bytes(other->scalar));
    char *sums = memset(tile_malloc(bytes), 0, bytes);
    cpu_write_ones(poisoned->scalar, poisoned->poison, poisoned->count, own);
    cpu_write_ones(other->scalar, NULL, other->count, ones);
    cpu_multiply(insn->product, (char *)(is_lhs ? own : ones), (char *)(is_lhs ? ones : own), picks,
                 sums, sums);
    for (uint32_t i = 0; i < insn->count; i++)
        if (tile_scalar_read(insn->scalar, sums + i * insn->size) != 0)
            result[i * insn->size] = found;
    free(sums);
    free(ones);
    free(own);
}

/* Starts without the accumulator's poison if the product does not keep it. */
static void start_sums(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    uint8_t *result = agent->poison + insn->result;
    uint32_t bytes = insn->count * insn->size;
    const bool *keep = cpu_at(run, agent, insn->operand[3]);
    if (insn->poison->may[2] && *keep)
        memmove(result, agent->poison + insn->operand[2], bytes);
    else
        memset(result, 0, bytes);
}

CPU_HANDLER(cpu_run_poison_wgmma) {
    side lhs = find_lhs(run, agent, insn), rhs = find_rhs(run, agent, insn);
    uint32_t *picks = insn->flag ? cpu_wgmma_picks(run, agent, insn) : NULL;
    uint8_t *result = agent->poison + insn->result;
    start_sums(run, agent, insn);
    if (lhs.poison) multiply_ones(insn, &lhs, &rhs, picks, true, result);
    if (rhs.poison) multiply_ones(insn, &rhs, &lhs, picks, false, result);
    free(picks);
    free(lhs.poison);
    free(rhs.poison);
    return CPU_NEXT;
}

/* Results and operands may share places. */
CPU_HANDLER(cpu_run_poison_wgmma_wait) {
    uint8_t **copies = tile_malloc(sizeof *copies * (insn->index_count + 1));
    (void)run;
    for (uint32_t i = 0; i < insn->index_count; i++)
        copies[i] = memcpy(tile_malloc((size_t)insn->order[i]), agent->poison + insn->index[i],
                           (size_t)insn->order[i]);
    for (uint32_t i = 0; i < insn->index_count; i++) {
        memcpy(agent->poison + insn->second[i], copies[i], (size_t)insn->order[i]);
        free(copies[i]);
    }
    free(copies);
    return CPU_NEXT;
}
