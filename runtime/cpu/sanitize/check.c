/* Faults, and checks of bounds and alignment. */
#include "runtime/cpu/sanitize/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Returns whether the agent stands for all warps of the block, in roles or not. */
static bool is_block(const cpu_program *program, const cpu_agent *agent) {
    return program->lanes == 1 && agent->index == (program->of_warps ? program->warps : 0);
}

const char *cpu_agent_name(tile_arena *arena, const cpu_run *run, const cpu_agent *agent) {
    unsigned last = agent->first + agent->weight - 1;
    if (is_block(run->program, agent)) return "the block";
    return agent->weight == 1 ? tile_arena_format(arena, "warp %u", agent->first)
                              : tile_arena_format(arena, "warps %u to %u", agent->first, last);
}

void cpu_find_block(const cpu_run *run, uint64_t number, int64_t id[3]) {
    const cpu_program *p = run->program;
    int64_t rank = (int64_t)(number % p->cluster_blocks);
    int64_t cluster = (int64_t)(number / p->cluster_blocks);
    for (unsigned d = 0; d < 3; d++) {
        int64_t clusters = run->grid[d] / p->cluster[d];
        id[d] = cluster % clusters * p->cluster[d] + rank % p->cluster[d];
        cluster /= clusters;
        rank /= p->cluster[d];
    }
}

const char *cpu_block_name(tile_arena *arena, const cpu_block *block) {
    const int64_t *id = block->id;
    return tile_arena_format(arena, "block (%" PRId64 ", %" PRId64 ", %" PRId64 ")", id[0], id[1],
                             id[2]);
}

cpu_outcome cpu_fault(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane,
                      const char *format, ...) {
    tile_arena scratch = {0};
    va_list args;
    va_start(args, format);
    const char *message = tile_arena_vformat(&scratch, format, args);
    va_end(args);
    const int64_t *id = agent->block->id;
    const char *place = "";
    if (!is_block(run->program, agent))
        place = tile_arena_format(&scratch, ", %s", cpu_agent_name(&scratch, run, agent));
    if (lane >= 0) place = tile_arena_format(&scratch, "%s, lane %d", place, lane);
    tile_report(run->context, TILE_ERROR, insn->loc,
                "%s: %s, in block (%" PRId64 ", %" PRId64 ", %" PRId64 ")%s",
                tile_opcode_spelling(insn->opcode), message, id[0], id[1], id[2], place);
    tile_arena_reset(&scratch);
    return CPU_STOP;
}

/* Global memory -------------------------------------------------------------------------------- */

static bool inside(const cpu_range *range, uint64_t address, uint64_t bytes) {
    return address >= range->begin && address <= range->end && bytes <= range->end - address;
}

/* The last range that begins at or before the address; ranges are sorted. */
static size_t find_range(const cpu_run *run, uint64_t address) {
    size_t low = 0, high = run->range_count;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (run->ranges[middle].begin <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool fault_outside(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane,
                          uint64_t address, uint64_t bytes, size_t nearest) {
    if (!run->range_count) {
        cpu_fault(run, agent, insn, lane,
                  "%" PRIu64 " bytes of global memory, at an address that belongs to no buffer",
                  bytes);
        return false;
    }
    const cpu_range *range = &run->ranges[nearest];
    cpu_fault(run, agent, insn, lane,
              "out of bounds: %" PRIu64 " bytes at offset %" PRId64 " of %s%s, which has %" PRIu64
              " bytes",
              bytes, (int64_t)(address - range->begin), *range->name ? "%" : "a buffer",
              range->name, range->end - range->begin);
    return false;
}

/* Sets last_range to a range that contains the bytes. Usually that is the last one again, otherwise
 * the nearest. Buffers that wrap the caller's memory may overlap, so finally all are tried. */
bool cpu_find_global(cpu_run *run, uint64_t address, uint64_t bytes) {
    if (run->range_count && inside(&run->ranges[run->last_range], address, bytes)) return true;
    size_t nearest = run->last_range = find_range(run, address);
    for (size_t i = 0; i < run->range_count; i++) {
        run->last_range = (nearest + i) % run->range_count;
        if (inside(&run->ranges[run->last_range], address, bytes)) return true;
    }
    run->last_range = nearest;
    return false;
}

bool cpu_check_global(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane,
                      uint64_t address, uint64_t bytes, uint32_t alignment) {
    if (!cpu_find_global(run, address, bytes))
        return fault_outside(run, agent, insn, lane, address, bytes, run->last_range);
    if (address % alignment == 0) return true;
    const cpu_range *range = &run->ranges[run->last_range];
    cpu_fault(run, agent, insn, lane,
              "misaligned: offset %" PRIu64 " of %s%s is not a multiple of %u bytes",
              address - range->begin, *range->name ? "%" : "a buffer", range->name, alignment);
    return false;
}

tile_status cpu_check_clean(cpu_run *run) {
    const cpu_program *program = run->program;
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < program->scratch_count; i++) {
        const cpu_scratch *scratch = &program->scratch[i];
        if (!scratch->clean) continue;
        for (int64_t at = 0; at < run->scratch_bytes[i]; at++) {
            if (!run->scratch[i][at]) continue;
            tile_report(run->context, TILE_ERROR, scratch->loc,
                        "scratch: {clean} memory must be zero at the end of the launch, and "
                        "element %" PRId64 " is not",
                        at / scratch->element_bytes);
            status = TILE_FAULT;
            break;
        }
    }
    return status;
}

/* Shared memory -------------------------------------------------------------------------------- */

bool cpu_inside_shared(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane,
                       int64_t offset, uint32_t bytes) {
    int64_t limit = tile_type_elements(insn->memory) * tile_type_stage_count(insn->memory) *
                    tile_scalar_bytes(insn->memory->scalar);
    if (offset >= 0 && offset + bytes <= limit) return true;
    cpu_fault(run, agent, insn, lane,
              "out of bounds: %u bytes at offset %" PRId64 " of %%%s, which has %" PRId64 " bytes",
              bytes, offset, insn->name, limit);
    return false;
}

bool cpu_check_shared(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane,
                      uint32_t base, int64_t offset, uint32_t bytes) {
    if (!cpu_inside_shared(run, agent, insn, lane, offset, bytes)) return false;
    if ((base + (uint64_t)offset) % bytes == 0 || (bytes & (bytes - 1))) return true;
    cpu_fault(run, agent, insn, lane,
              "misaligned: offset %" PRId64 " of %%%s is not a multiple of %u bytes", offset,
              insn->name, bytes);
    return false;
}
