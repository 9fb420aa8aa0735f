#include "runtime/cpu/execute/poison.h"

#include <stdlib.h>
#include <string.h>

#include "lib/ir/arith.h"
#include "lib/ops/reduce.h"
#include "lib/support/float16.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"

static uint8_t *poison_of(const cpu_agent *agent, uint32_t place) {
    return agent->poison + place;
}

/* Uses ----------------------------------------------------------------------------------------- */

static bool fault_use(cpu_run *run, const cpu_agent *agent, const cpu_insn *use, int lane,
                      uint8_t origin) {
    const char *name = tile_opcode_spelling(use->opcode);
    if (origin == CPU_MANY_ORIGINS) {
        cpu_fault(run, agent, use, lane,
                  "uses the result of a division by zero, or of a shift out of range");
        return false;
    }
    const cpu_insn *made = &run->program->insns[run->program->origins[origin]];
    if (tile_opcode_shifts(made->opcode))
        cpu_fault(run, agent, made, lane, "shift by less than 0 or more than %u bits",
                  tile_scalar_bits(made->scalar) - 1);
    else
        cpu_fault(run, agent, made, lane, "division by zero");
    tile_report(run->context, TILE_NOTE, use->loc, "its result is used here, by %s", name);
    return false;
}

CPU_HANDLER(cpu_run_poison_check) {
    return cpu_poison_may_escape(run, agent, insn, agent->mask) ? CPU_NEXT : CPU_STOP;
}

static bool may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, uint32_t begin,
                       uint32_t end, uint32_t lanes) {
    const uint8_t *poison = poison_of(agent, insn->operand[0]);
    for (uint32_t i = begin; i < end; i++) {
        uint32_t lane = i % run->program->lanes;
        if (poison[i * insn->size] && lanes >> lane & 1)
            return fault_use(run, agent, insn, (int)lane, poison[i * insn->size]);
    }
    return true;
}

bool cpu_poison_may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                           uint32_t lanes) {
    return may_escape(run, agent, insn, 0, insn->count, lanes);
}

bool cpu_poison_element_may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                                   unsigned element, uint32_t lanes) {
    uint32_t begin = element * run->program->lanes;
    return !insn->poison || may_escape(run, agent, insn, begin, begin + run->program->lanes, lanes);
}

bool cpu_poison_row_may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                               const uint8_t *poison, int64_t count, unsigned size) {
    for (int64_t i = 0; i < count; i++)
        if (poison[i * size]) return fault_use(run, agent, insn, -1, poison[i * size]);
    return true;
}

/* Moves ---------------------------------------------------------------------------------------- */

static void place_plain_operands(const cpu_agent *agent, const cpu_poison *p, uint8_t *saved) {
    for (uint32_t i = 0; i < p->plain_count; i++) {
        uint8_t *poison = poison_of(agent, p->plain[i].place);
        memcpy(saved, poison, p->plain[i].bytes);
        memcpy(poison, agent->frame + p->plain[i].place, p->plain[i].bytes);
        saved += p->plain[i].bytes;
    }
}

static void restore_poison(const cpu_agent *agent, const cpu_poison *p, const uint8_t *saved) {
    for (uint32_t i = 0; i < p->plain_count; i++) {
        memcpy(poison_of(agent, p->plain[i].place), saved, p->plain[i].bytes);
        saved += p->plain[i].bytes;
    }
}

typedef struct memory_of_block {
    uint8_t *shared;
    cpu_shadow *shadow;
} memory_of_block;

/* Exchanges the blocks' shared memory with its poison, and back. */
static void show_poison(const cpu_cluster *cluster, memory_of_block *memory) {
    for (unsigned b = 0; b < cluster->count; b++) {
        cpu_block *block = cluster->blocks[b];
        memory[b] = (memory_of_block){block->shared, block->shadow};
        block->shared = block->poison;
        block->shadow = NULL;
    }
}

static void show_memory(const cpu_cluster *cluster, const memory_of_block *memory) {
    for (unsigned b = 0; b < cluster->count; b++) {
        cluster->blocks[b]->shared = memory[b].shared;
        cluster->blocks[b]->shadow = memory[b].shadow;
    }
}

/* The access has already been checked and counted, so there is no shadow memory. */
CPU_HANDLER(cpu_run_poison_again) {
    const cpu_cluster *cluster = agent->block->cluster;
    memory_of_block *memory = tile_malloc(sizeof *memory * cluster->count);
    const tile_cpu_counts counts = *run->counts;
    uint8_t *frame = agent->frame, *saved = tile_malloc(insn->poison->plain_bytes);
    place_plain_operands(agent, insn->poison, saved);
    agent->frame = agent->poison;
    show_poison(cluster, memory);
    cpu_outcome outcome = insn->poison->handler(run, agent, insn);
    agent->frame = frame;
    show_memory(cluster, memory);
    *run->counts = counts;
    restore_poison(agent, insn->poison, saved);
    free(memory);
    free(saved);
    return outcome;
}

CPU_HANDLER(cpu_run_poison_copied) {
    uint32_t offsets[CPU_LANES] = {0};
    uint8_t *poison = agent->block->poison;
    if (run->program->lanes == 1) {
        unsigned shared = insn->flag ? 1 : 0;
        if (!cpu_stage_offset(run, agent, insn, shared, insn->second, insn->second_count,
                              insn->memory, offsets))
            return CPU_STOP;
        memset(poison + offsets[0], 0, cpu_stage_bytes(insn->memory));
        return CPU_NEXT;
    }
    uint32_t bytes = (uint32_t)insn->integer;
    if (!cpu_shared_offsets(run, agent, insn, 1, insn->second, agent->mask, bytes, offsets))
        return CPU_STOP;
    for (unsigned lane = 0; lane < CPU_LANES; lane++)
        if (agent->mask >> lane & 1) memset(poison + offsets[lane], 0, bytes);
    return CPU_NEXT;
}

/* Arithmetic ----------------------------------------------------------------------------------- */

/* The first origin among element i of the operands from `first` on. */
static uint8_t poison_at(const cpu_agent *agent, const cpu_insn *insn, unsigned first, uint32_t i) {
    const cpu_poison *p = insn->poison;
    for (unsigned k = first; k < 3; k++)
        if (p->may[k] && poison_of(agent, insn->operand[k])[i * p->size[k]])
            return poison_of(agent, insn->operand[k])[i * p->size[k]];
    return 0;
}

CPU_HANDLER(cpu_run_poison_spread) {
    (void)run;
    uint8_t *result = poison_of(agent, insn->result);
    for (uint32_t i = 0; i < insn->count; i++)
        result[i * insn->poison->result_size] = poison_at(agent, insn, 0, i);
    return CPU_NEXT;
}

/* The operand that is not selected is harmless. */
CPU_HANDLER(cpu_run_poison_select) {
    const cpu_poison *p = insn->poison;
    const uint8_t *condition = cpu_at(run, agent, insn->operand[0]);
    uint8_t *result = poison_of(agent, insn->result);
    for (uint32_t i = 0; i < insn->count; i++) {
        uint32_t c = insn->flag ? i % run->program->lanes : i;
        unsigned side = condition[c] ? 1 : 2;
        uint8_t found = p->may[0] ? poison_of(agent, insn->operand[0])[c] : 0;
        if (!found && p->may[side])
            found = poison_of(agent, insn->operand[side])[i * p->size[side]];
        result[i * p->result_size] = found;
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_poison_make) {
    const cpu_poison *p = insn->poison;
    const char *b = cpu_at(run, agent, insn->operand[1]);
    uint8_t *result = poison_of(agent, insn->result);
    for (uint32_t i = 0; i < insn->count; i++) {
        int64_t y = tile_integer_read(insn->scalar, b + i * insn->size);
        uint8_t found = poison_at(agent, insn, 0, i);
        if (!found && !tile_element_is_defined(insn->opcode, insn->scalar, y)) found = p->origin;
        result[i * p->result_size] = found;
    }
    return CPU_NEXT;
}

static tile_rows rows_of(const cpu_insn *insn) {
    int64_t dims[TILE_MAX_RANK];
    for (unsigned d = 0; d < insn->type->rank; d++) dims[d] = tile_type_dim(insn->type, d);
    return tile_rows_along(dims, insn->type->rank, (unsigned)insn->integer);
}

/* The first origin among the elements of a row. */
static uint8_t poison_of_row(const cpu_agent *agent, const cpu_insn *insn, const tile_rows *rows,
                             size_t row) {
    const uint8_t *from = poison_of(agent, insn->operand[0]);
    uint8_t found = 0;
    for (size_t i = 0; i < rows->extent && !found; i++)
        found = from[(tile_row_begin(rows, row) + i * rows->inner) * insn->size];
    return found;
}

CPU_HANDLER(cpu_run_poison_reduce) {
    tile_rows rows = rows_of(insn);
    (void)run;
    for (size_t row = 0; row < rows.outer * rows.inner; row++)
        poison_of(agent, insn->result)[row * insn->size] = poison_of_row(agent, insn, &rows, row);
    return CPU_NEXT;
}

/* Each element of a scan depends on the preceding ones. */
static void scan_row(const cpu_agent *agent, const cpu_insn *insn, const tile_rows *rows,
                     size_t row) {
    const uint8_t *from = poison_of(agent, insn->operand[0]);
    uint8_t *to = poison_of(agent, insn->result), found = 0;
    for (size_t i = 0; i < rows->extent; i++) {
        size_t place = insn->reverse ? rows->extent - 1 - i : i;
        size_t at = (tile_row_begin(rows, row) + place * rows->inner) * insn->size;
        uint8_t before = found;
        if (!found) found = from[at];
        to[at] = insn->exclusive ? before : found;
    }
}

/* Poison of a row reaches all elements of a sort, and both results of reduce_arg. */
CPU_HANDLER(cpu_run_poison_rows) {
    tile_rows rows = rows_of(insn);
    uint8_t *to = poison_of(agent, insn->result);
    (void)run;
    for (size_t row = 0; row < rows.outer * rows.inner; row++) {
        if (insn->opcode == TILE_OP_scan) {
            scan_row(agent, insn, &rows, row);
            continue;
        }
        uint8_t found = poison_of_row(agent, insn, &rows, row);
        for (size_t i = 0; insn->opcode == TILE_OP_sort && i < rows.extent; i++)
            to[(tile_row_begin(&rows, row) + i * rows.inner) * insn->size] = found;
        if (insn->opcode == TILE_OP_sort) continue;
        to[row * insn->size] = found;
        poison_of(agent, insn->second[0])[row * sizeof(int32_t)] = found;
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_poison_redux) {
    const uint8_t *from = poison_of(agent, insn->operand[0]);
    uint8_t *to = poison_of(agent, insn->result);
    (void)run;
    for (uint32_t e = 0; e < insn->count; e += CPU_LANES) {
        uint8_t found = 0;
        for (unsigned i = 0; i < CPU_LANES && !found; i++) found = from[(e + i) * insn->size];
        for (unsigned i = 0; i < CPU_LANES; i++) to[(e + i) * insn->size] = found;
    }
    return CPU_NEXT;
}

/* Products ------------------------------------------------------------------------------------- */

uint8_t cpu_first_poison(const uint8_t *poison, uint32_t count, uint32_t size) {
    for (uint32_t i = 0; i < count; i++)
        if (poison[i * size]) return poison[i * size];
    return 0;
}

void cpu_write_ones(tile_scalar scalar, const uint8_t *poison, uint32_t count, uint8_t *to) {
    unsigned size = tile_scalar_bytes(scalar);
    for (uint32_t i = 0; i < count; i++)
        tile_scalar_write(scalar, to + i * size, !poison || poison[i * size]);
}

/* Fills an operand with ones: everywhere, or for poisoned elements. */
static void write_ones(const cpu_agent *agent, const cpu_insn *insn, unsigned operand, bool all,
                       uint8_t *to) {
    const cpu_poison *p = insn->poison;
    cpu_write_ones(p->scalar[operand], all ? NULL : poison_of(agent, insn->operand[operand]),
                   p->count[operand], to);
}

/* Multiplies ones for poisoned elements by ones everywhere. A result that is not zero depends on
 * poison, for any layout of the fragments. */
static cpu_outcome multiply_ones(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                 unsigned poisoned, uint8_t found) {
    const cpu_poison *p = insn->poison;
    uint8_t *frame = agent->frame, *result = poison_of(agent, insn->result);
    cpu_insn product = *insn;
    uint32_t bytes = 0;
    for (unsigned k = 0; k < 3; k++) {
        product.operand[k] = bytes;
        bytes += (uint32_t)tile_round_up(p->count[k] * p->size[k], CPU_PLACE_ALIGN);
    }
    product.result = bytes;
    uint8_t *ones = tile_malloc(bytes + p->count[2] * p->size[2]);
    write_ones(agent, insn, 0, poisoned != 0, ones + product.operand[0]);
    write_ones(agent, insn, 1, poisoned != 1, ones + product.operand[1]);
    memset(ones + product.operand[2], 0, bytes - product.operand[2]);
    agent->frame = ones;
    cpu_outcome outcome = p->handler(run, agent, &product);
    agent->frame = frame;
    for (uint32_t i = 0; outcome == CPU_NEXT && i < p->count[2]; i++)
        if (tile_scalar_read(p->scalar[2], ones + bytes + i * p->size[2]) != 0)
            result[i * p->size[2]] = found;
    free(ones);
    return outcome;
}

CPU_HANDLER(cpu_run_poison_mma) {
    const cpu_poison *p = insn->poison;
    cpu_outcome outcome = CPU_NEXT;
    uint32_t bytes = p->count[2] * p->size[2];
    memset(poison_of(agent, insn->result), 0, bytes);
    if (p->may[2])
        memcpy(poison_of(agent, insn->result), poison_of(agent, insn->operand[2]), bytes);
    for (unsigned k = 0; k < 2 && outcome == CPU_NEXT; k++) {
        const uint8_t *poison = poison_of(agent, insn->operand[k]);
        uint8_t found = p->may[k] ? cpu_first_poison(poison, p->count[k], p->size[k]) : 0;
        if (found) outcome = multiply_ones(run, agent, insn, k, found);
    }
    return outcome;
}

/* The poison of an operand, NULL if it has none. */
static const uint8_t *dot_poison(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                                 unsigned operand, const tile_type *type) {
    uint32_t offset, count = operand ? insn->second_count : insn->index_count;
    if (!insn->poison->may[operand]) return NULL;
    if (type->kind == TILE_TYPE_TILE) return poison_of(agent, insn->operand[operand]);
    return cpu_stage_offset(run, agent, insn, operand, operand ? insn->second : insn->index, count,
                            type, &offset)
               ? agent->block->poison + offset
               : NULL;
}

/* A result depends on its whole row of lhs and column of rhs. */
CPU_HANDLER(cpu_run_poison_dot) {
    const cpu_poison *p = insn->poison;
    size_t m = (size_t)tile_type_dim(insn->type, 0), k = (size_t)tile_type_dim(insn->type, 1);
    size_t n = insn->count / m;
    const uint8_t *a = dot_poison(run, agent, insn, 0, insn->type);
    const uint8_t *b = dot_poison(run, agent, insn, 1, insn->memory);
    const uint8_t *c = p->may[2] ? poison_of(agent, insn->operand[2]) : NULL;
    uint8_t *result = poison_of(agent, insn->result);
    for (size_t i = 0; i < m; i++) {
        uint8_t row = 0;
        for (size_t l = 0; a && l < k && !row; l++) row = a[(i * k + l) * p->size[0]];
        for (size_t j = 0; j < n; j++) {
            uint8_t found = row;
            for (size_t l = 0; b && l < k && !found; l++) found = b[(l * n + j) * p->size[1]];
            if (c && !found) found = c[(i * n + j) * p->size[2]];
            result[(i * n + j) * p->size[2]] = found;
        }
    }
    return CPU_NEXT;
}

void cpu_propagate_poison_move(cpu_decoder *d, tile_op op, tile_value from) {
    if (!d->program->poison) return;
    uint32_t move = d->program->insn_count - 1;
    cpu_insn again = d->program->insns[move];
    cpu_poison *p = TILE_NEW(&d->program->arena, cpu_poison);
    p->handler = again.handler;
    again.handler = cpu_run_poison_again;
    again.poison = p;
    again.operand[0] = cpu_poison_place(d, from, again.operand[0]);
    *cpu_add_insn(d, op, NULL) = again;
}
