/* The sanitizer's checks.
 *
 * Races: a block's time is cut into epochs by its barriers. For each granule of shared memory (the
 * smallest element of the kernel's buffers) the shadow keeps the last writer and the last reader,
 * or CPU_MANY readers, with their epochs. Two threads that touch a granule in one epoch, one of
 * them writing, race: nothing orders them, whatever order they happen to run in here. It does not
 * matter that older accesses are forgotten: an epoch ends for all threads at once. */
#include "runtime/cpu/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

cpu_outcome cpu_fault(cpu_run *run, const cpu_warp *warp, const cpu_insn *insn, int lane,
                      const char *format, ...) {
    tile_arena scratch = {0};
    va_list args;
    va_start(args, format);
    const char *message = tile_arena_vformat(&scratch, format, args);
    va_end(args);
    const int64_t *id = warp->block->id;
    const char *place = "";
    if (run->program->lanes > 1)
        place = lane < 0 ? tile_arena_format(&scratch, ", warp %u", warp->index)
                         : tile_arena_format(&scratch, ", warp %u, lane %d", warp->index, lane);
    tile_report(run->context, TILE_ERROR, insn->loc,
                "%s: %s, in block (%" PRId64 ", %" PRId64 ", %" PRId64 ")%s",
                tile_op_get_info(insn->opcode)->name, message, id[0], id[1], id[2], place);
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

static bool fault_outside(cpu_run *run, const cpu_warp *warp, const cpu_insn *insn, int lane,
                          uint64_t address, uint64_t bytes, size_t nearest) {
    if (!run->range_count) {
        cpu_fault(run, warp, insn, lane, "%" PRIu64 " bytes of global memory, where there is none",
                  bytes);
        return false;
    }
    const cpu_range *range = &run->ranges[nearest];
    cpu_fault(run, warp, insn, lane,
              "out of bounds: %" PRIu64 " bytes at offset %" PRId64 " of %s%s, which has %" PRIu64
              " bytes",
              bytes, (int64_t)(address - range->begin), *range->name ? "%" : "a buffer",
              range->name, range->end - range->begin);
    return false;
}

/* Sets last_range to one that holds the bytes: mostly the last one again, else the nearest; buffers
 * that the caller wrapped may overlap, so that in the end all are tried. */
static bool find_memory(cpu_run *run, uint64_t address, uint64_t bytes) {
    if (run->range_count && inside(&run->ranges[run->last_range], address, bytes)) return true;
    size_t nearest = run->last_range = find_range(run, address);
    for (size_t i = 0; i < run->range_count; i++) {
        run->last_range = (nearest + i) % run->range_count;
        if (inside(&run->ranges[run->last_range], address, bytes)) return true;
    }
    run->last_range = nearest;
    return false;
}

bool cpu_check_global(cpu_run *run, const cpu_warp *warp, const cpu_insn *insn, int lane,
                      uint64_t address, uint64_t bytes, uint32_t alignment) {
    if (!find_memory(run, address, bytes))
        return fault_outside(run, warp, insn, lane, address, bytes, run->last_range);
    if (address % alignment == 0) return true;
    const cpu_range *range = &run->ranges[run->last_range];
    cpu_fault(run, warp, insn, lane,
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
            tile_report(
                run->context, TILE_ERROR, scratch->loc,
                "scratch: clean memory is not zero at the end of the launch: element %" PRId64
                " was left behind",
                at / scratch->element_bytes);
            status = TILE_FAULT;
            break;
        }
    }
    return status;
}

/* Shared memory -------------------------------------------------------------------------------- */

bool cpu_check_shared(cpu_run *run, const cpu_warp *warp, const cpu_insn *insn, int lane,
                      uint32_t base, int64_t offset, uint32_t bytes) {
    int64_t limit = tile_type_elements(insn->memory) * tile_type_slot_count(insn->memory) *
                    tile_scalar_bytes(insn->memory->scalar);
    if (offset < 0 || offset + bytes > limit) {
        cpu_fault(run, warp, insn, lane,
                  "out of bounds: %u bytes at offset %" PRId64 " of %%%s, which has %" PRId64
                  " bytes",
                  bytes, offset, insn->name, limit);
        return false;
    }
    if ((base + (uint64_t)offset) % bytes == 0 || (bytes & (bytes - 1))) return true;
    cpu_fault(run, warp, insn, lane,
              "misaligned: offset %" PRId64 " of %%%s is not a multiple of %u bytes", offset,
              insn->name, bytes);
    return false;
}

static bool fault_at(cpu_run *run, const cpu_warp *warp, const cpu_insn *insn, int lane,
                     const char *what, uint32_t granule) {
    cpu_fault(run, warp, insn, lane, "%s, at byte %" PRIu64 " of the block's shared memory (%%%s)",
              what, (uint64_t)granule << run->program->granule_bits, insn->name);
    return false;
}

/* The granules that hold these bytes. */
static void granules(const cpu_run *run, uint32_t offset, uint32_t bytes, uint32_t *first,
                     uint32_t *end) {
    unsigned bits = run->program->granule_bits;
    *first = offset >> bits;
    *end = (offset + bytes + (1u << bits) - 1) >> bits;
}

bool cpu_shared_read(cpu_run *run, const cpu_warp *warp, const cpu_insn *insn, int lane,
                     uint16_t thread, uint32_t offset, uint32_t bytes) {
    uint32_t first, end, epoch = warp->block->epoch;
    if (!warp->block->shadow) return true;
    granules(run, offset, bytes, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        cpu_shadow *shadow = &warp->block->shadow[i];
        if (shadow->writer == CPU_IN_FLIGHT)
            return fault_at(run, warp, insn, lane, "read while an asynchronous copy is in flight",
                            i);
        if (!shadow->writer)
            return fault_at(run, warp, insn, lane, "read of uninitialised shared memory", i);
        if (shadow->write_epoch == epoch && (shadow->writer != thread || thread == CPU_MANY))
            return fault_at(run, warp, insn, lane,
                            "data race: read without a barrier after a write", i);
        bool again = shadow->read_epoch == epoch && shadow->reader != thread;
        shadow->reader = again ? CPU_MANY : thread;
        shadow->read_epoch = epoch;
    }
    return true;
}

/* What a write would collide with, NULL if nothing. */
static const char *collision(const cpu_shadow *shadow, uint32_t epoch, uint16_t thread) {
    if (shadow->writer == CPU_IN_FLIGHT) return "write while an asynchronous copy is in flight";
    bool many = thread == CPU_MANY;
    if (shadow->writer && shadow->write_epoch == epoch && (shadow->writer != thread || many))
        return "data race: write without a barrier after another write";
    if (shadow->reader && shadow->read_epoch == epoch && (shadow->reader != thread || many))
        return "data race: write without a barrier after a read";
    return NULL;
}

static bool mark_write(cpu_run *run, const cpu_warp *warp, const cpu_insn *insn, int lane,
                       uint16_t thread, uint16_t writer, uint32_t offset, uint32_t bytes) {
    uint32_t first, end, epoch = warp->block->epoch;
    if (!warp->block->shadow) return true;
    granules(run, offset, bytes, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        cpu_shadow *shadow = &warp->block->shadow[i];
        const char *what = collision(shadow, epoch, thread);
        if (what) return fault_at(run, warp, insn, lane, what, i);
        shadow->writer = writer;
        shadow->write_epoch = epoch;
    }
    return true;
}

bool cpu_shared_write(cpu_run *run, const cpu_warp *warp, const cpu_insn *insn, int lane,
                      uint16_t thread, uint32_t offset, uint32_t bytes) {
    return mark_write(run, warp, insn, lane, thread, thread, offset, bytes);
}

bool cpu_shared_start_copy(cpu_run *run, const cpu_warp *warp, const cpu_insn *insn, int lane,
                           uint16_t thread, uint32_t offset, uint32_t bytes) {
    return mark_write(run, warp, insn, lane, thread, CPU_IN_FLIGHT, offset, bytes);
}

void cpu_shared_end_copy(cpu_run *run, const cpu_warp *warp, uint16_t thread, uint32_t offset,
                         uint32_t bytes) {
    uint32_t first, end;
    granules(run, offset, bytes, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        warp->block->shadow[i].writer = thread;
        warp->block->shadow[i].write_epoch = warp->block->epoch;
    }
}
