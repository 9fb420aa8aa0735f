/* TMA copies: their operands, and loads.
 *
 * Loads complete asynchronously (mbarrier.h), as late as their barrier permits, and read their
 * source at that time. A read that the barrier's wait does not cover is therefore reported: the
 * data is in flight, or was published by a phase that the reader does not know. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/tma.h"

enum { PIECE = CPU_TMA_PIECE, BOX_ALIGNMENT = 128, MAX_ROW = 256 * 8 };

#define FOR_EACH_LANE(lane, mask) \
    for (unsigned lane = 0; lane < CPU_LANES; (lane)++) \
        if ((mask) >> (lane)&1)

CPU_HANDLER(cpu_run_tensor_map) {
    uint32_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < run->program->lanes; lane++) to[lane] = (uint32_t)insn->integer;
    return CPU_NEXT;
}

/* Operands ------------------------------------------------------------------------------------- */

uint32_t cpu_transfer_bytes(const cpu_transfer *t) {
    return t->row_bytes * t->rows;
}

/* Positions along spatial dim i at which a window may begin. */
static int64_t count_places(const tile_tensor_map *m, unsigned i) {
    int64_t length = m->extents[1 + i] + m->upper_corner[i] - m->lower_corner[i];
    return length < 1 ? 0 : (length - 1) / m->element_strides[i] + 1;
}

/* In im2col mode: bytes from the array's first element to an element of the box, which counts the
 * places where a window may begin, from the coordinates on. No byte is inside if it is outside. */
static uint64_t find_place(const cpu_transfer *t, uint32_t row, int64_t *first, int64_t *end) {
    const tile_tensor_map *m = t->array;
    int64_t carry = row;
    uint64_t bytes = 0;
    for (unsigned i = m->spatial; i-- > 0;) {
        int64_t lower = m->lower_corner[i], step = m->element_strides[i];
        int64_t places = count_places(m, i), place = (t->at[1 + i] - lower) / step + carry;
        carry = place / places;
        int64_t at = lower + place % places * step + t->offsets[i];
        if (at < 0 || at >= m->extents[1 + i]) *end = *first;
        bytes += (uint64_t)at * (uint64_t)m->strides[1 + i];
    }
    int64_t at = t->at[0] + carry;
    if (at < 0 || at >= m->extents[0]) *end = *first;
    return bytes + (uint64_t)at * (uint64_t)m->strides[0];
}

uint64_t cpu_transfer_row(const cpu_transfer *t, uint32_t row, int64_t *first, int64_t *end) {
    const tile_tensor_map *m = t->array;
    *first = 0;
    *end = t->row_bytes;
    if (!m) return t->address;
    unsigned last = m->rank - 1, size = tile_scalar_bytes(m->scalar);
    int64_t left = m->extents[last] - t->at[last], skipped = -t->at[last];
    uint64_t address = m->address + (uint64_t)t->at[last] * size;
    if (skipped > 0) *first = skipped * size < *end ? skipped * size : *end;
    if (left * size < *end) *end = left * size > *first ? left * size : *first;
    if (m->spatial) return address + find_place(t, row, first, end);
    for (unsigned d = last; d-- > 0;) {
        int64_t at = t->at[d] + row % m->box[d];
        row /= m->box[d];
        if (at < 0 || at >= m->extents[d]) *end = *first;
        address += (uint64_t)at * (uint64_t)m->strides[d];
    }
    return address;
}

uint32_t cpu_transfer_place(const cpu_transfer *t, uint32_t byte) {
    uint32_t at = t->shared + byte, width = t->array ? t->array->swizzle : 0;
    return width ? at ^ (at >> 7 & (width / PIECE - 1)) * PIECE : at;
}

bool cpu_transfer_check(cpu_run *run, cpu_agent *agent, const cpu_transfer *t, uint64_t address,
                        int64_t first, int64_t end, cpu_access access) {
    if (first >= end) return true;
    uint64_t at = address + (uint64_t)first, bytes = (uint64_t)(end - first);
    return cpu_check_global(run, agent, t->insn, (int)t->lane, at, bytes, t->insn->size) &&
           cpu_global_access(run, agent, t->insn, (int)t->lane, at, bytes, access);
}

static bool cpu_transfer_check_all(cpu_run *run, cpu_agent *agent, const cpu_transfer *t,
                                   cpu_access access) {
    int64_t first, end;
    for (uint32_t row = 0; row < t->rows; row++) {
        uint64_t address = cpu_transfer_row(t, row, &first, &end);
        if (!cpu_transfer_check(run, agent, t, address, first, end, access)) return false;
    }
    return true;
}

/* Issue ---------------------------------------------------------------------------------------- */

static bool misaligned(cpu_run *run, const cpu_agent *agent, const cpu_transfer *t,
                       const char *what, uint64_t value, unsigned unit) {
    if (value % unit == 0) return false;
    cpu_fault(run, agent, t->insn, (int)t->lane, "%s, %" PRIu64 ", is not a multiple of %u", what,
              value, unit);
    return true;
}

/* Coordinates for which the hardware raises an illegal instruction, determined by experiment
 * (H200). */
static bool refuse_place(cpu_run *run, const cpu_agent *agent, const cpu_transfer *t) {
    unsigned last = t->array->rank - 1;
    bool store = t->insn->at_barrier == NULL;
    if (t->at[last] * (int64_t)t->insn->size % PIECE) {
        cpu_fault(run, agent, t->insn, (int)t->lane,
                  "the innermost coordinate, %" PRId64 ", is not a multiple of 16 bytes",
                  t->at[last]);
        return true;
    }
    for (unsigned i = 0; i < t->array->spatial; i++) {
        int64_t from = t->at[1 + i] - t->array->lower_corner[i],
                step = t->array->element_strides[i];
        if (from >= 0 && from % step == 0 && from / step < count_places(t->array, i)) continue;
        cpu_fault(run, agent, t->insn, (int)t->lane,
                  "no window begins at coordinate %" PRId64 " along dim %u", t->at[1 + i], 1 + i);
        return true;
    }
    for (unsigned d = 0; d <= last && store; d++)
        if (t->at[d] < 0) {
            cpu_fault(run, agent, t->insn, (int)t->lane,
                      "along dim %u the coordinate of a store is %" PRId64
                      ", and must not be below 0",
                      d, t->at[d]);
            return true;
        }
    return false;
}

bool cpu_transfer_start(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned lane,
                        cpu_transfer *t) {
    const uint32_t *buffers = cpu_at(run, agent, insn->operand[1]);
    const int32_t *offsets = cpu_at(run, agent, insn->second[0]);
    int64_t offset = (int64_t)offsets[lane] * tile_scalar_bytes(insn->memory->scalar);
    *t = (cpu_transfer){.insn = insn, .lane = lane, .rows = 1};
    unsigned unit = PIECE;
    if (insn->type->kind == TILE_TYPE_MAP) {
        const uint32_t *maps = cpu_at(run, agent, insn->operand[0]);
        t->array = &run->launch->maps[maps[lane]].array;
        for (unsigned d = 0; d < t->array->rank; d++)
            t->at[d] = ((const int32_t *)cpu_at(run, agent, insn->index[d]))[lane];
        for (unsigned i = 0; i < t->array->spatial; i++)
            t->offsets[i] =
                ((const int32_t *)cpu_at(run, agent, insn->index[t->array->rank + i]))[lane];
        for (unsigned d = 0; d + 1 < t->array->rank; d++) t->rows *= t->array->box[d];
        t->row_bytes = t->array->box[t->array->rank - 1] * insn->size;
        unit = BOX_ALIGNMENT;
    } else {
        const int32_t *bytes = cpu_at(run, agent, insn->index[1]);
        uint64_t addresses[CPU_LANES] = {0};
        cpu_global_addresses(run, agent, insn, 0, UINT32_C(1) << lane, addresses);
        t->address = addresses[lane];
        t->row_bytes = (uint32_t)bytes[lane];
        if (bytes[lane] <= 0 ||
            misaligned(run, agent, t, "its size in bytes", t->row_bytes, PIECE) ||
            misaligned(run, agent, t, "its address in global memory", t->address, PIECE)) {
            if (bytes[lane] <= 0)
                cpu_fault(run, agent, insn, (int)lane, "it copies %" PRId32 " bytes", bytes[lane]);
            return false;
        }
    }
    if (t->array && refuse_place(run, agent, t)) return false;
    t->shared = cpu_buffer_offset(insn, buffers[lane]) + (uint32_t)offset;
    return cpu_inside_shared(run, agent, insn, (int)lane, offset, cpu_transfer_bytes(t)) &&
           !misaligned(run, agent, t, "its offset in the block's shared memory", t->shared, unit);
}

/* Loads ---------------------------------------------------------------------------------------- */

static cpu_block *block_of_rank(const cpu_agent *agent, unsigned rank) {
    return agent->block->cluster->blocks[rank];
}

static bool all_ended(const cpu_run *run, const cpu_block *block) {
    for (unsigned a = 0; a < run->program->agents; a++)
        if (block->agents[a].state != CPU_DONE) return false;
    return true;
}

static void write_row(cpu_block *block, const cpu_transfer *t, uint32_t row, const char *bytes) {
    for (uint32_t at = 0; at < t->row_bytes; at += PIECE) {
        uint32_t to = cpu_transfer_place(t, row * t->row_bytes + at);
        memcpy(block->shared + to, bytes + at, PIECE);
        if (block->poison) memset(block->poison + to, 0, PIECE);
    }
}

/* Writes to one of the cluster's blocks. */
static bool land_in(cpu_run *run, cpu_agent *agent, const cpu_transfer *t, cpu_block *block) {
    cpu_mbarrier *barrier = cpu_mbarrier_of(run, block, t->bar_offset);
    cpu_mbarrier_at at = {.owner = block, .barrier = barrier, .index = t->bar.index};
    char row_bytes[MAX_ROW];
    if (all_ended(run, block)) {
        cpu_fault(run, agent, t->insn, (int)t->lane,
                  "the block has ended while a copy to its shared memory is in flight: wait for "
                  "its barrier before the end");
        return false;
    }
    for (uint32_t row = 0; row < t->rows; row++) {
        int64_t first, end;
        uint64_t address = cpu_transfer_row(t, row, &first, &end);
        if (!t->array) {
            memcpy(block->shared + t->shared, (const void *)(uintptr_t)address, t->row_bytes);
            if (block->poison) memset(block->poison + t->shared, 0, t->row_bytes);
            continue;
        }
        memset(row_bytes, 0, t->row_bytes);
        if (first < end)
            memcpy(row_bytes + first, (const void *)(uintptr_t)(address + (uint64_t)first),
                   (size_t)(end - first));
        write_row(block, t, row, row_bytes);
    }
    cpu_shared_publish(run, block, t->shared, cpu_transfer_bytes(t), barrier->key,
                       (uint32_t)barrier->phase + 1);
    return cpu_barrier_complete(run, agent, t->insn->at_barrier, (int)t->lane, at,
                                cpu_transfer_bytes(t), NULL);
}

static bool land(cpu_run *run, cpu_agent *agent, void *data, cpu_known *known) {
    cpu_transfer *t = data;
    bool ok = cpu_transfer_check_all(run, agent, t, CPU_READ);
    (void)known;
    for (unsigned rank = 0; t->blocks >> rank && ok; rank++)
        if (t->blocks >> rank & 1) ok = land_in(run, agent, t, block_of_rank(agent, rank));
    free(t);
    return ok;
}

static bool find_blocks(cpu_run *run, cpu_agent *agent, cpu_transfer *t) {
    const cpu_insn *insn = t->insn;
    t->blocks = UINT32_C(1) << agent->block->rank;
    if (insn->operand[3] == CPU_NO_PLACE) return true;
    const int32_t *masks = cpu_at(run, agent, insn->operand[3]);
    t->blocks = (uint32_t)masks[t->lane];
    if (!(t->blocks >> agent->block->cluster->count)) return true;
    cpu_fault(run, agent, insn, (int)t->lane,
              "the blocks %#" PRIx32 " are more than the cluster has: it has %u", t->blocks,
              agent->block->cluster->count);
    return false;
}

static bool find_barrier(cpu_run *run, cpu_agent *agent, cpu_transfer *t) {
    const cpu_insn *insn = t->insn;
    const uint32_t *buffers = cpu_at(run, agent, insn->operand[2]);
    const int32_t *index = cpu_at(run, agent, insn->second[1]);
    unsigned lane = t->lane;
    t->bar_offset = cpu_buffer_offset(insn, buffers[lane]) + 8 * (uint32_t)index[lane];
    return cpu_find_mbarrier(run, agent, insn->at_barrier, (int)lane, buffers[lane], index[lane],
                             &t->bar);
}

static bool mark_targets(cpu_run *run, cpu_agent *agent, const cpu_transfer *t) {
    for (unsigned rank = 0; t->blocks >> rank; rank++) {
        if (!(t->blocks >> rank & 1)) continue;
        cpu_block *block = block_of_rank(agent, rank);
        if (!cpu_cluster_start_copy(run, agent, block, t->insn, (int)t->lane,
                                    cpu_thread(agent, t->lane), t->shared, cpu_transfer_bytes(t)))
            return false;
        cpu_barrier_begin(cpu_mbarrier_of(run, block, t->bar_offset), cpu_transfer_bytes(t));
    }
    return true;
}

static cpu_outcome load(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    FOR_EACH_LANE (lane, agent->mask) {
        cpu_transfer t;
        if (!cpu_transfer_start(run, agent, insn, lane, &t) || !find_blocks(run, agent, &t) ||
            !find_barrier(run, agent, &t) || !cpu_transfer_check_all(run, agent, &t, CPU_READ) ||
            !mark_targets(run, agent, &t))
            return CPU_STOP;
        cpu_transfer *kept = tile_malloc(sizeof *kept);
        *kept = t;
        cpu_start_flight(agent, land, kept, NULL);
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_tma_load) {
    return load(run, agent, insn);
}

CPU_HANDLER(cpu_run_bulk_load) {
    return load(run, agent, insn);
}

/* Level 2: a copy of a tile. Blocks of a cluster that share the copy each multicast one piece of
 * it. */
typedef struct counted {
    const cpu_insn *insn;
    cpu_view view;
    int64_t at[TILE_MAX_RANK];
    uint8_t *kept; /* from cpu_snapshot_gather */
    uint32_t target;
    cpu_mbarrier_at bar;
    unsigned first, step, sharers; /* ranks of the destination blocks: first, first + step, .. */
    uint32_t begin, end;           /* range of the tile's bytes that this block copies */
} counted;

static void find_share(const cpu_agent *agent, counted *c, uint32_t bytes) {
    enum { UNIT = 16 };
    unsigned rank = agent->block->rank, place = 0;
    c->sharers = c->insn->sharers ? c->insn->sharers : 1;
    c->step = c->insn->sharer_step;
    if (c->sharers > 1) place = rank / c->step % c->sharers;
    c->first = rank - place * c->step;
    c->begin = (uint32_t)((uint64_t)bytes * place / c->sharers) & ~(UNIT - 1u);
    c->end = (uint32_t)((uint64_t)bytes * (place + 1) / c->sharers) & ~(UNIT - 1u);
    if (place + 1 == c->sharers) c->end = bytes;
}

static cpu_mbarrier_at barrier_in(const cpu_run *run, const counted *c, cpu_block *block) {
    cpu_mbarrier_at at = c->bar;
    if (c->sharers == 1) return at;
    at.owner = block;
    at.barrier = cpu_mbarrier_of(run, block, c->bar.offset);
    return at;
}

/* bytes: of the whole tile. */
static bool land_share(cpu_run *run, cpu_agent *agent, const counted *c, const char *bytes,
                       cpu_block *block) {
    cpu_mbarrier_at bar = barrier_in(run, c, block);
    uint32_t at = c->target + c->begin, size = c->end - c->begin;
    if (all_ended(run, block)) {
        cpu_fault(run, agent, c->insn, -1,
                  "the block has ended while a copy to its shared memory is in flight: wait for "
                  "its barrier before the end");
        return false;
    }
    memcpy(block->shared + at, bytes + c->begin, size);
    if (block->poison) memset(block->poison + at, 0, size);
    cpu_shared_publish(run, block, at, size, bar.barrier->key, (uint32_t)bar.barrier->phase + 1);
    return cpu_barrier_complete(run, agent, c->insn->at_barrier, -1, bar, (int64_t)size, NULL);
}

static bool land_tile(cpu_run *run, cpu_agent *agent, void *data, cpu_known *known) {
    counted *c = data;
    char *bytes = tile_malloc(cpu_stage_bytes(c->insn->memory));
    bool ok = cpu_load_tile(run, agent, c->insn, &c->view, c->at, c->kept, bytes);
    (void)known;
    for (unsigned i = 0; i < c->sharers && ok; i++)
        ok = land_share(run, agent, c, bytes, block_of_rank(agent, c->first + i * c->step));
    free(bytes);
    free(c->kept);
    free(c);
    return ok;
}

static bool mark_share(cpu_run *run, cpu_agent *agent, const counted *c, cpu_block *block) {
    uint32_t size = c->end - c->begin;
    if (!cpu_cluster_start_copy(run, agent, block, c->insn, -1, cpu_set_thread(agent, c->insn),
                                c->target + c->begin, size))
        return false;
    cpu_barrier_begin(barrier_in(run, c, block).barrier, size);
    return true;
}

CPU_HANDLER(cpu_run_copy_counted) {
    const cpu_insn *named = insn->at_barrier;
    uint32_t bytes = cpu_stage_bytes(insn->memory);
    counted c = {.insn = insn, .view = *(const cpu_view *)cpu_at(run, agent, insn->operand[0])};
    const uint32_t *buffer = cpu_at(run, agent, named->operand[0]);
    const int32_t *index = cpu_at(run, agent, named->index[0]);
    if (!cpu_stage_offset(run, agent, insn, 1, insn->second, insn->second_count, insn->memory,
                          &c.target))
        return CPU_STOP;
    find_share(agent, &c, bytes);
    cpu_view_position(run, agent, insn, insn->index, c.at);
    bool ok = cpu_find_mbarrier(run, agent, named, -1, *buffer, *index, &c.bar) &&
              cpu_barrier_expect(run, agent, named, -1, c.bar, bytes) &&
              cpu_load_tile(run, agent, insn, &c.view, c.at, NULL, NULL);
    for (unsigned i = 0; i < c.sharers && ok; i++)
        ok = mark_share(run, agent, &c, block_of_rank(agent, c.first + i * c.step));
    if (!ok) return CPU_STOP;
    counted *kept = tile_malloc(sizeof *kept);
    *kept = c;
    kept->kept = cpu_snapshot_gather(run, agent, insn);
    cpu_start_flight(agent, land_tile, kept, NULL);
    return CPU_NEXT;
}
