/* Level 3: memory accesses of a warp's lanes, and tensor core operations. */
#include <inttypes.h>
#include <string.h>

#include "lib/layout/layout.h"
#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/poison.h"
#include "runtime/cpu/sanitize/global_shadow.h"

#define FOR_EACH_LANE(lane, mask) \
    for (unsigned lane = 0; lane < CPU_LANES; (lane)++) \
        if ((mask) >> (lane)&1)

uint32_t cpu_active_lanes(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                          unsigned predicate) {
    if (insn->operand[predicate] == CPU_NO_PLACE) return agent->mask;
    const uint8_t *holds = cpu_at(run, agent, insn->operand[predicate]);
    uint32_t active = 0;
    FOR_EACH_LANE (lane, agent->mask) active |= (uint32_t)(holds[lane] != 0) << lane;
    return active;
}

static int64_t read_index(const void *values, tile_scalar scalar, unsigned lane) {
    return scalar == TILE_i64 ? ((const int64_t *)values)[lane] : ((const int32_t *)values)[lane];
}

void cpu_global_addresses(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                          unsigned operand, uint32_t mask, uint64_t addresses[CPU_LANES]) {
    const uint64_t *base = cpu_at(run, agent, insn->operand[operand]);
    const void *index = insn->index_count ? cpu_at(run, agent, insn->index[0]) : NULL;
    FOR_EACH_LANE (lane, mask) {
        int64_t offset = index ? read_index(index, insn->from, lane) : 0;
        addresses[lane] = base[lane] + (uint64_t)offset * insn->size;
    }
}

/* The row-major offset of an element at [stage,] coordinates; false after a report. */
static bool place_element(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                          const uint32_t *index, unsigned lane, int64_t *offset) {
    const tile_type *memory = insn->memory;
    unsigned stages = memory->stages != NULL;
    *offset = 0;
    for (unsigned i = 0; i < stages + memory->rank; i++) {
        int64_t extent =
            i < stages ? tile_type_stage_count(memory) : tile_type_dim(memory, i - stages);
        int64_t at = ((const int32_t *)cpu_at(run, agent, index[i]))[lane];
        *offset = *offset * extent + at;
        if (at >= 0 && at < extent) continue;
        cpu_fault(run, agent, insn, (int)lane,
                  "out of bounds: %s %" PRId64 " of %%%s, which has %" PRId64,
                  i < stages ? "stage" : "coordinate", at, insn->name, extent);
        return false;
    }
    return true;
}

bool cpu_shared_offsets(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                        unsigned operand, const uint32_t *index, uint32_t mask, uint32_t bytes,
                        uint32_t offsets[CPU_LANES]) {
    const uint32_t *base = cpu_at(run, agent, insn->operand[operand]);
    const int32_t *element = cpu_at(run, agent, index[0]);
    FOR_EACH_LANE (lane, mask) {
        int64_t offset = element[lane];
        if (insn->placed && !place_element(run, agent, insn, index, lane, &offset)) return false;
        offset *= tile_scalar_bytes(insn->memory->scalar);
        uint32_t at = cpu_buffer_offset(insn, base[lane]);
        if (!cpu_check_shared(run, agent, insn, (int)lane, at, offset, bytes)) return false;
        offsets[lane] = at + (uint32_t)offset;
    }
    return true;
}

/* Counts --------------------------------------------------------------------------------------- */

/* An aligned access of at most 16 bytes is in one sector. */
void cpu_count_sectors(cpu_run *run, uint32_t mask, const uint64_t addresses[CPU_LANES]) {
    uint64_t seen[CPU_LANES];
    unsigned count = 0;
    FOR_EACH_LANE (lane, mask) {
        uint64_t sector = addresses[lane] / 32;
        unsigned i = count;
        while (i > 0 && seen[i - 1] != sector) i--;
        if (i == 0) seen[count++] = sector;
    }
    run->counts->sectors += count;
}

/* Idle lanes repeat the address of an active lane of their group: the same word costs nothing. */
void cpu_count_conflicts(cpu_run *run, uint32_t mask, const uint32_t offsets[CPU_LANES],
                         uint32_t bytes) {
    unsigned group = bytes == 16 ? 8 : bytes == 8 ? 16 : CPU_LANES;
    for (unsigned first = 0; first < CPU_LANES; first += group) {
        uint32_t addresses[CPU_LANES];
        unsigned count = 0;
        for (unsigned lane = first; lane < first + group; lane++)
            if (mask >> lane & 1) addresses[count++] = offsets[lane];
        if (count) run->counts->bank_conflicts += tile_bank_conflicts(addresses, count, bytes);
    }
}

/* Loads and stores ----------------------------------------------------------------------------- */

/* A lane's elements are `lanes` apart in a register and contiguous in memory. */
static void scatter(char *registers, const char *memory, unsigned lane, uint32_t elements,
                    uint32_t size) {
    for (uint32_t e = 0; e < elements; e++)
        memcpy(registers + (e * CPU_LANES + lane) * size, memory + e * size, size);
}

static void gather(char *memory, const char *registers, unsigned lane, uint32_t elements,
                   uint32_t size) {
    for (uint32_t e = 0; e < elements; e++)
        memcpy(memory + e * size, registers + (e * CPU_LANES + lane) * size, size);
}

CPU_HANDLER(cpu_run_ld_global) {
    static const char zeros[16];
    uint64_t addresses[CPU_LANES] = {0};
    uint32_t elements = insn->count / CPU_LANES, bytes = elements * insn->size;
    uint32_t active = cpu_active_lanes(run, agent, insn, 1);
    char *to = cpu_at(run, agent, insn->result);
    cpu_global_addresses(run, agent, insn, 0, active, addresses);
    if (!cpu_global_lanes(run, agent, insn, active, addresses, bytes, CPU_READ)) return CPU_STOP;
    FOR_EACH_LANE (lane, agent->mask) {
        bool reads = active >> lane & 1;
        scatter(to, reads ? (const char *)(uintptr_t)addresses[lane] : zeros, lane, elements,
                insn->size);
    }
    cpu_count_sectors(run, active, addresses);
    return CPU_NEXT;
}

/* Accesses only the elements before `count`, one by one: rows begin anywhere. */
CPU_HANDLER(cpu_run_ld_global_unaligned) {
    static const char zeros[16];
    uint64_t addresses[CPU_LANES] = {0};
    uint32_t elements = insn->count / CPU_LANES, active = cpu_active_lanes(run, agent, insn, 2);
    const int32_t *counts = cpu_at(run, agent, insn->operand[1]);
    char *to = cpu_at(run, agent, insn->result);
    cpu_global_addresses(run, agent, insn, 0, active, addresses);
    FOR_EACH_LANE (lane, agent->mask) scatter(to, zeros, lane, elements, insn->size);
    for (uint32_t e = 0; e < elements; e++) {
        uint32_t reads = 0;
        FOR_EACH_LANE (lane, active) reads |= (uint32_t)((int64_t)e < counts[lane]) << lane;
        if (!cpu_global_lanes(run, agent, insn, reads, addresses, insn->size, CPU_READ))
            return CPU_STOP;
        cpu_count_sectors(run, reads, addresses);
        FOR_EACH_LANE (lane, reads) {
            memcpy(to + ((size_t)e * CPU_LANES + lane) * insn->size,
                   (const char *)(uintptr_t)addresses[lane], insn->size);
            addresses[lane] += insn->size;
        }
    }
    return CPU_NEXT;
}

/* Checks the address of a prefetch, which reads nothing. */
CPU_HANDLER(cpu_run_prefetch) {
    uint64_t addresses[CPU_LANES] = {0};
    uint32_t active = cpu_active_lanes(run, agent, insn, 1);
    cpu_global_addresses(run, agent, insn, 0, active, addresses);
    FOR_EACH_LANE (lane, active)
        if (!cpu_check_global(run, agent, insn, (int)lane, addresses[lane], insn->size, insn->size))
            return CPU_STOP;
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_st_global) {
    if (cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    uint64_t addresses[CPU_LANES] = {0};
    uint32_t elements = insn->count / CPU_LANES, bytes = elements * insn->size;
    uint32_t active = cpu_active_lanes(run, agent, insn, 2);
    const char *from = cpu_at(run, agent, insn->operand[0]);
    cpu_global_addresses(run, agent, insn, 1, active, addresses);
    if (!cpu_global_lanes(run, agent, insn, active, addresses, bytes, CPU_WRITE)) return CPU_STOP;
    if (insn->poison && !cpu_poison_may_escape(run, agent, insn, active)) return CPU_STOP;
    FOR_EACH_LANE (lane, active)
        gather((char *)(uintptr_t)addresses[lane], from, lane, elements, insn->size);
    cpu_count_sectors(run, active, addresses);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_ld_shared) {
    static const char zeros[16];
    uint32_t offsets[CPU_LANES] = {0};
    uint32_t elements = insn->count / CPU_LANES, bytes = elements * insn->size;
    uint32_t active = cpu_active_lanes(run, agent, insn, 1);
    char *to = cpu_at(run, agent, insn->result);
    if (!cpu_shared_offsets(run, agent, insn, 0, insn->index, active, bytes, offsets))
        return CPU_STOP;
    const uint32_t *buffers = cpu_at(run, agent, insn->operand[0]);
    FOR_EACH_LANE (lane, agent->mask & ~active) scatter(to, zeros, lane, elements, insn->size);
    FOR_EACH_LANE (lane, active) {
        cpu_block *owner = cpu_find_owner(run, agent, insn, (int)lane, buffers[lane]);
        if (!owner || !cpu_cluster_read(run, agent, owner, insn, (int)lane, cpu_thread(agent, lane),
                                        offsets[lane], bytes))
            return CPU_STOP;
        scatter(to, (const char *)owner->shared + offsets[lane], lane, elements, insn->size);
    }
    cpu_count_conflicts(run, active, offsets, bytes);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_st_shared) {
    uint32_t offsets[CPU_LANES] = {0};
    uint32_t elements = insn->count / CPU_LANES, bytes = elements * insn->size;
    uint32_t active = cpu_active_lanes(run, agent, insn, 2);
    const char *from = cpu_at(run, agent, insn->operand[0]);
    if (!cpu_shared_offsets(run, agent, insn, 1, insn->index, active, bytes, offsets))
        return CPU_STOP;
    const uint32_t *buffers = cpu_at(run, agent, insn->operand[1]);
    FOR_EACH_LANE (lane, active) {
        cpu_block *owner = cpu_find_owner(run, agent, insn, (int)lane, buffers[lane]);
        if (!owner || !cpu_cluster_write(run, agent, owner, insn, (int)lane,
                                         cpu_thread(agent, lane), offsets[lane], bytes))
            return CPU_STOP;
        gather((char *)owner->shared + offsets[lane], from, lane, elements, insn->size);
    }
    cpu_count_conflicts(run, active, offsets, bytes);
    return CPU_NEXT;
}

/* Tensor cores --------------------------------------------------------------------------------- */

bool cpu_full_warp_active(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    if (agent->mask == UINT32_MAX) return true;
    cpu_fault(run, agent, insn, -1, "reached by part of the warp: lanes %#" PRIx32, agent->mask);
    return false;
}

/* The rows of matrix j, 16 bytes each, are at the offsets of lanes 8j to 8j + 7. Lane l has bytes 4
 * * (l % 4) to 4 * (l % 4) + 3 of row l / 4. Transposed, with units of 16 bits (an element or two
 * bytes): units 2 * (l % 4) and 2 * (l % 4) + 1 of column l / 4. `operand` is the address. */
static cpu_outcome run_matrices(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                unsigned operand, bool stores) {
    enum { ROWS = 8, ROW_BYTES = 16, LANE_BYTES = 4 };
    uint32_t offsets[CPU_LANES] = {0}, size = insn->size, each = LANE_BYTES / size;
    uint32_t unit = size == 1 ? 2 : 1; /* elements that stay together when transposed */
    uint32_t matrices = insn->count / CPU_LANES / each;
    uint32_t givers = matrices == 4 ? UINT32_MAX : (UINT32_C(1) << matrices * ROWS) - 1;
    uint8_t *fragment = cpu_at(run, agent, stores ? insn->operand[0] : insn->result);
    uint8_t *shared = agent->block->shared;
    if (!cpu_full_warp_active(run, agent, insn) ||
        !cpu_shared_offsets(run, agent, insn, operand, insn->index, givers, ROW_BYTES, offsets))
        return CPU_STOP;
    FOR_EACH_LANE (lane, givers) {
        uint16_t warp = cpu_thread(agent, CPU_LANES);
        bool ok =
            stores ? cpu_shared_write(run, agent, insn, (int)lane, warp, offsets[lane], ROW_BYTES)
                   : cpu_shared_read(run, agent, insn, (int)lane, warp, offsets[lane], ROW_BYTES);
        if (!ok) return CPU_STOP;
    }
    for (uint32_t j = 0; j < matrices; j++)
        for (unsigned lane = 0; lane < CPU_LANES; lane++)
            for (unsigned e = 0; e < each; e++) {
                unsigned row = insn->flag ? lane % 4 * (each / unit) + e / unit : lane / 4;
                unsigned column = insn->flag ? lane / 4 * unit + e % unit : lane % 4 * each + e;
                uint8_t *here = fragment + ((j * each + e) * CPU_LANES + lane) * size;
                uint8_t *there = shared + offsets[j * ROWS + row] + column * size;
                memcpy(stores ? there : here, stores ? here : there, size);
            }
    cpu_count_conflicts(run, givers, offsets, ROW_BYTES);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_ldmatrix) {
    return run_matrices(run, agent, insn, 0, false);
}

CPU_HANDLER(cpu_run_stmatrix) {
    return run_matrices(run, agent, insn, 1, true);
}

/* Semaphores ----------------------------------------------------------------------------------- */

CPU_HANDLER(cpu_run_wait_acquire) {
    uint64_t addresses[CPU_LANES] = {0};
    const int32_t *value = cpu_at(run, agent, insn->operand[1]);
    cpu_global_addresses(run, agent, insn, 0, agent->mask, addresses);
    FOR_EACH_LANE (lane, agent->mask) {
        if (!cpu_check_global(run, agent, insn, (int)lane, addresses[lane], 4, 4)) return CPU_STOP;
        cpu_outcome outcome =
            cpu_wait_for_word(run, agent, insn, (int)lane, addresses[lane], value[lane]);
        if (outcome != CPU_NEXT) return outcome;
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_st_release) {
    if (cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    uint64_t addresses[CPU_LANES] = {0};
    const int32_t *value = cpu_at(run, agent, insn->operand[1]);
    cpu_global_addresses(run, agent, insn, 0, agent->mask, addresses);
    FOR_EACH_LANE (lane, agent->mask) {
        if (!cpu_check_global(run, agent, insn, (int)lane, addresses[lane], 4, 4) ||
            !cpu_global_release(run, agent, insn, (int)lane, addresses[lane]))
            return CPU_STOP;
        *(int32_t *)(uintptr_t)addresses[lane] = value[lane];
    }
    return cpu_maybe_preempt_after(run, agent);
}
