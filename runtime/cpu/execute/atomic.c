/* Atomic accesses at both levels, fences, and waits for a word in memory.
 *
 * Elements are updated one after the other. With a seed the lanes of a warp are processed in
 * another order, and blocks may run in any order, so sums of floats differ as they may on a GPU. */
#include <inttypes.h>
#include <string.h>

#include "lib/support/scalar.h"
#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/mbarrier.h"
#include "runtime/cpu/execute/poison.h"

/* One element ---------------------------------------------------------------------------------- */

enum { MAX_BYTES = 8 };

/* A sum in global memory flushes subnormal inputs and results to zero (PTX ISA, "atom"). */
static double flush(double value) {
    return value > -0x1p-126 && value < 0x1p-126 ? value < 0 ? -0.0 : 0.0 : value;
}

static void update_float(const cpu_insn *insn, void *at, const void *operand) {
    double result, a = tile_scalar_read(insn->scalar, at);
    double b = tile_scalar_read(insn->scalar, operand);
    bool flushes = insn->scalar == TILE_f32 && insn->kind == TILE_WORD_kind_add &&
                   insn->memory->kind != TILE_TYPE_SHARED;
    tile_fold_float(tile_kind_opcode(insn->kind), insn->scalar, flushes ? flush(a) : a,
                    flushes ? flush(b) : b, 0, &result);
    tile_scalar_write(insn->scalar, at, result);
    if (flushes) tile_scalar_write(insn->scalar, at, flush(tile_scalar_read(insn->scalar, at)));
}

static void update_integer(const cpu_insn *insn, void *at, const void *operand) {
    int64_t result;
    tile_fold_element(tile_kind_opcode(insn->kind), insn->scalar, insn->arith_flags,
                      tile_integer_read(insn->scalar, at), tile_integer_read(insn->scalar, operand),
                      0, &result);
    tile_integer_write(insn->scalar, at, result);
}

/* desired: for compare and swap; old: receives the old element, or NULL. Returns true if the
 * element changes. */
static bool update(const cpu_insn *insn, void *at, const void *operand, const void *desired,
                   void *old) {
    char before[MAX_BYTES];
    memcpy(before, at, insn->size);
    if (desired) {
        if (memcmp(at, operand, insn->size) == 0) memcpy(at, desired, insn->size);
    } else if (!tile_kind_opcode(insn->kind)) {
        memcpy(at, operand, insn->size);
    } else if (tile_scalar_is_floating(insn->scalar)) {
        update_float(insn, at, operand);
    } else {
        update_integer(insn, at, operand);
    }
    if (old) memcpy(old, before, insn->size);
    return memcmp(before, at, insn->size) != 0;
}

void cpu_update_element(const cpu_insn *insn, void *at, const void *operand) {
    update(insn, at, operand, NULL, NULL);
}

/* The operands of the instruction, for all lanes or for a tile. */
typedef struct operands {
    const char *src, *desired; /* desired is NULL if it is not a compare and swap */
    const uint8_t *predicate;  /* NULL: no predicate */
    bool one_predicate;        /* one predicate for all elements */
    char *old;                 /* receives old elements; NULL: unused */
    cpu_known *released;       /* the knowledge that the updates release, or NULL */
    bool changed;              /* an update changed memory */
} operands;

/* The index of the memory operand; the predicate follows it. */
static unsigned memory_of(const cpu_insn *insn) {
    return (unsigned)insn->integer - 1;
}

static operands operands_of(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    operands o = {.src = memory_of(insn) ? cpu_at(run, agent, insn->operand[0]) : NULL};
    uint32_t predicate = insn->operand[insn->integer];
    if (insn->flag) o.desired = cpu_at(run, agent, insn->operand[1]);
    if (predicate != CPU_NO_PLACE) o.predicate = cpu_at(run, agent, predicate);
    o.one_predicate = insn->gather && insn->gather->one_predicate;
    if (insn->result != CPU_NO_PLACE) {
        o.old = cpu_at(run, agent, insn->result);
        if (agent->poison) /* old elements are never poison */
            memset(agent->poison + insn->result, 0, (size_t)insn->count * insn->size);
    }
    return o;
}

/* Returns whether the updates acquire or release what agents know. */
static bool orders(const cpu_run *run, const cpu_insn *insn, const operands *o) {
    return insn->acquires || o->released || run->program->fences;
}

static bool update_at(const cpu_insn *insn, const operands *o, void *at, size_t element) {
    size_t byte = element * insn->size;
    return update(insn, at, o->src + byte, o->desired ? o->desired + byte : NULL,
                  o->old ? o->old + byte : NULL);
}

/* Level 2 -------------------------------------------------------------------------------------- */

static bool is_active(const operands *o, int64_t element) {
    return !o->predicate || o->predicate[o->one_predicate ? 0 : element];
}

/* Finds the next range of elements of a row to update, from *first on and before end; false:
 * none. */
static bool next_run(const operands *o, int64_t row_start, int64_t *first, int64_t end,
                     int64_t *stop) {
    while (*first < end && !is_active(o, row_start + *first)) ++*first;
    *stop = *first;
    while (*stop < end && is_active(o, row_start + *stop)) ++*stop;
    return *first < end;
}

typedef bool (*visit_run)(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, operands *o,
                          uint64_t address, int64_t stride, int64_t element, int64_t count);

static bool visit_runs(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, operands *o,
                       visit_run visit) {
    int64_t at[TILE_MAX_RANK] = {0}, first, end, stop;
    const cpu_view *view = cpu_at(run, agent, insn->operand[memory_of(insn)]);
    cpu_view_position(run, agent, insn, insn->index, at);
    cpu_rows rows = cpu_walk_rows(run, agent, insn, view, at, insn->index_count);
    int64_t stride = view->stride[insn->index_count - 1];
    for (int64_t row = 0; row < rows.rows; row++) {
        uint64_t address = cpu_find_row(&rows, row, &first, &end);
        int64_t start = row * rows.length;
        for (; next_run(o, start, &first, end, &stop); first = stop) {
            uint64_t from = address + (uint64_t)first * (uint64_t)stride * insn->size;
            if (!visit(run, agent, insn, o, from, stride, start + first, stop - first))
                return false;
        }
    }
    return true;
}

static bool touch_run(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, operands *o,
                      uint64_t address, int64_t stride, int64_t element, int64_t count) {
    const uint8_t *poison =
        insn->poison ? agent->poison + insn->operand[0] + element * insn->size : NULL;
    (void)o;
    return cpu_access_row(run, agent, insn, address, stride, 0, count, CPU_ATOMIC_UPDATE) &&
           (!poison || cpu_poison_row_may_escape(run, agent, insn, poison, count, insn->size));
}

static bool update_run(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, operands *o,
                       uint64_t address, int64_t stride, int64_t element, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t at = address + (uint64_t)i * (uint64_t)stride * insn->size;
        if (insn->acquires || o->released || run->program->fences)
            cpu_update_word(run, agent, insn, at, o->released);
        o->changed |= update_at(insn, o, (void *)(uintptr_t)at, (size_t)(element + i));
    }
    return true;
}

CPU_HANDLER(cpu_run_atomic) {
    if (cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    operands o = operands_of(run, agent, insn);
    if (insn->releases) cpu_sync_own_threads(run, agent);
    if (!visit_runs(run, agent, insn, &o, touch_run)) return CPU_STOP;
    if (o.old) memset(o.old, 0, (size_t)insn->count * insn->size);
    o.released = cpu_begin_updates(run, agent, insn);
    visit_runs(run, agent, insn, &o, update_run);
    cpu_known_drop(o.released);
    if (insn->acquires) cpu_sync_own_threads(run, agent);
    return cpu_yield_after_updates(run, agent, insn, o.changed);
}

/* The offset of one element of a buffer, from all of its coordinates. False after a report. */
static bool find_element(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t *offset) {
    const tile_type *buffer = insn->memory;
    unsigned stages = buffer->stages != NULL;
    int64_t element = 0;
    if (!cpu_stage_offset(run, agent, insn, memory_of(insn), insn->index, stages, buffer, offset))
        return false;
    for (unsigned d = 0; d < buffer->rank; d++) {
        int64_t at = *(const int32_t *)cpu_at(run, agent, insn->index[stages + d]);
        int64_t extent = tile_type_dim(buffer, d);
        if (at < 0 || at >= extent) {
            cpu_fault(run, agent, insn, -1,
                      "out of bounds: along dim %u the coordinate is %" PRId64
                      ", and %%%s has %" PRId64 " elements there",
                      d, at, insn->name, extent);
            return false;
        }
        element = element * extent + at;
    }
    *offset += (uint32_t)element * insn->size;
    return true;
}

static bool load_shared(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const operands *o,
                        uint32_t offset, uint32_t element) {
    if (!is_active(o, element)) return true;
    if (!cpu_shared_read(run, agent, insn, -1, cpu_set_thread(agent, insn), offset, insn->size))
        return false;
    memcpy(o->old + (size_t)element * insn->size, agent->block->shared + offset, insn->size);
    return true;
}

static bool update_shared(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, operands *o,
                          uint32_t offset, uint32_t element) {
    if (!memory_of(insn)) return load_shared(run, agent, insn, o, offset, element);
    bool stores = insn->opcode == TILE_OP_store; /* the poison is stored as well */
    const uint8_t *poison =
        insn->poison && !stores ? agent->poison + insn->operand[0] + element * insn->size : NULL;
    uint16_t thread = cpu_set_thread(agent, insn);
    if (!is_active(o, element)) return true;
    bool fine = stores ? cpu_shared_write(run, agent, insn, -1, thread, offset, insn->size)
                       : cpu_shared_update(run, agent, insn, -1, thread, offset, insn->size);
    if (!fine || (poison && !cpu_poison_row_may_escape(run, agent, insn, poison, 1, insn->size)))
        return false;
    if (orders(run, insn, o))
        cpu_update_word(run, agent, insn, cpu_shared_word(run, agent, offset), o->released);
    o->changed |= update_at(insn, o, agent->block->shared + offset, element);
    return true;
}

/* Checks that no element of a row outside of the buffer (before `first` or from `end` on) is
 * accessed; false after a report. */
static bool covers_all_elements(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                const operands *o, const cpu_rows *rows, int64_t row, int64_t first,
                                int64_t end) {
    for (int64_t i = 0; i < rows->length; i++) {
        if ((i >= first && i < end) || !is_active(o, row * rows->length + i)) continue;
        cpu_fault(run, agent, insn, -1,
                  "out of bounds: the coordinates of element %" PRId64 " are outside of %%%s",
                  row * rows->length + i, insn->name);
        return false;
    }
    return true;
}

/* Updates elements at index tiles. Elements outside of the buffer are not accessed. */
static bool update_points(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, operands *o) {
    const tile_type *buffer = insn->memory;
    unsigned stages = buffer->stages != NULL;
    uint32_t begin;
    int64_t at[TILE_MAX_RANK] = {0}, first, end;
    cpu_view stage = {.base = 0};
    if (!cpu_stage_offset(run, agent, insn, memory_of(insn), insn->index, stages, buffer, &begin))
        return false;
    for (unsigned d = 0; d < buffer->rank; d++) {
        stage.extent[d] = tile_type_dim(buffer, d);
        if (!insn->gather->is_tile[d])
            at[d] = *(const int32_t *)cpu_at(run, agent, insn->index[stages + d]);
    }
    cpu_make_contiguous(&stage, buffer->rank);
    cpu_rows rows = cpu_walk_rows(run, agent, insn, &stage, at, buffer->rank);
    for (int64_t row = 0; row < rows.rows; row++) {
        uint64_t offset = cpu_find_row(&rows, row, &first, &end);
        if (insn->gather->within &&
            !covers_all_elements(run, agent, insn, o, &rows, row, first, end))
            return false;
        for (int64_t i = first; i < end; i++)
            if (!update_shared(run, agent, insn, o,
                               begin + (uint32_t)offset + (uint32_t)i * insn->size,
                               (uint32_t)(row * rows.length + i)))
                return false;
    }
    return true;
}

static bool update_buffer(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, operands *o) {
    uint32_t offset, element = 0;
    cpu_part part;
    if (insn->gather && insn->gather->points) return update_points(run, agent, insn, o);
    if (insn->type->kind == TILE_TYPE_SCALAR)
        return !is_active(o, 0) || (find_element(run, agent, insn, &offset) &&
                                    update_shared(run, agent, insn, o, offset, 0));
    if (!cpu_start_part(run, agent, insn, memory_of(insn), &part)) return false;
    for (int64_t row = 0; row < part.rows; row++) {
        offset = cpu_part_row(&part, insn, row);
        for (int64_t i = 0; i < part.row_bytes; i += insn->size)
            if (!update_shared(run, agent, insn, o, offset + (uint32_t)i, element++)) return false;
    }
    return true;
}

CPU_HANDLER(cpu_run_atomic_shared) {
    operands o = operands_of(run, agent, insn);
    if (o.old) memset(o.old, 0, (size_t)insn->count * insn->size);
    if (insn->releases) cpu_sync_own_threads(run, agent);
    o.released = cpu_begin_updates(run, agent, insn);
    bool fine = update_buffer(run, agent, insn, &o);
    cpu_known_drop(o.released);
    if (!fine) return CPU_STOP;
    if (insn->acquires) cpu_sync_own_threads(run, agent);
    return cpu_yield_after_updates(run, agent, insn, o.changed);
}

CPU_HANDLER(cpu_run_by_element) {
    operands o = operands_of(run, agent, insn);
    if (o.old) memset(o.old, 0, (size_t)insn->count * insn->size);
    return update_buffer(run, agent, insn, &o) ? CPU_NEXT : CPU_STOP;
}

/* Level 3 -------------------------------------------------------------------------------------- */

/* The lane that is processed at this turn. */
static unsigned lane_of(const cpu_run *run, const cpu_agent *agent, unsigned turn) {
    if (!run->random) return turn;
    uint64_t mixed = (run->random + agent->pc) * UINT64_C(0x9e3779b97f4a7c15);
    unsigned step = (unsigned)(mixed >> 48) | 1;
    return (turn * step + (unsigned)(mixed >> 40)) % CPU_LANES;
}

static void clear_old(const cpu_agent *agent, const cpu_insn *insn, const operands *o) {
    for (uint32_t i = 0; o->old && i < insn->count; i++)
        if (agent->mask >> i % CPU_LANES & 1) memset(o->old + i * insn->size, 0, insn->size);
}

/* Updates a lane's contiguous elements from `first` on. */
static bool update_lane(const cpu_insn *insn, const operands *o, char *at, unsigned lane,
                        uint32_t first, uint32_t count) {
    bool changed = false;
    for (uint32_t e = 0; e < count; e++)
        changed |= update_at(insn, o, at + e * insn->size, (first + e) * CPU_LANES + lane);
    return changed;
}

/* Updates the lanes' elements from `first` on, which start at these addresses. */
static void update_global(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, operands *o,
                          uint32_t active, const uint64_t addresses[CPU_LANES], uint32_t first,
                          uint32_t count) {
    bool handed_on = orders(run, insn, o);
    for (unsigned turn = 0; turn < CPU_LANES; turn++) {
        unsigned lane = lane_of(run, agent, turn);
        if (!(active >> lane & 1)) continue;
        for (uint32_t e = 0; handed_on && e < count; e++)
            cpu_update_word(run, agent, insn, addresses[lane] + e * insn->size, o->released);
        o->changed |= update_lane(insn, o, (char *)(uintptr_t)addresses[lane], lane, first, count);
    }
    cpu_count_sectors(run, active, addresses);
}

static bool may_escape(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t active) {
    return !insn->poison || cpu_poison_may_escape(run, agent, insn, active);
}

CPU_HANDLER(cpu_run_atomic_global) {
    if (cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    uint64_t addresses[CPU_LANES] = {0};
    uint32_t elements = insn->count / CPU_LANES;
    uint32_t active = cpu_active_lanes(run, agent, insn, (unsigned)insn->integer);
    operands o = operands_of(run, agent, insn);
    cpu_global_addresses(run, agent, insn, memory_of(insn), active, addresses);
    if (!cpu_global_lanes(run, agent, insn, active, addresses, elements * insn->size,
                          CPU_ATOMIC_UPDATE) ||
        !may_escape(run, agent, insn, active))
        return CPU_STOP;
    clear_old(agent, insn, &o);
    o.released = cpu_begin_updates(run, agent, insn);
    update_global(run, agent, insn, &o, active, addresses, 0, elements);
    cpu_known_drop(o.released);
    return cpu_yield_after_updates(run, agent, insn, o.changed);
}

/* Level 2: updates elements one by one; each may be outside of the view. */
CPU_HANDLER(cpu_run_atomic_lanes_view) {
    if (cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    uint64_t addresses[CPU_LANES] = {0};
    uint32_t elements = insn->count / CPU_LANES;
    uint32_t active = cpu_active_lanes(run, agent, insn, (unsigned)insn->integer);
    unsigned memory = insn->flag ? 2 : 1;
    operands o = operands_of(run, agent, insn);
    for (uint32_t e = 0; e < elements; e++) {
        uint32_t inside = cpu_view_lanes(run, agent, insn, memory, e, active, addresses);
        if (!cpu_global_lanes(run, agent, insn, inside, addresses, insn->size, CPU_ATOMIC_UPDATE) ||
            !cpu_poison_element_may_escape(run, agent, insn, e, inside))
            return CPU_STOP;
    }
    clear_old(agent, insn, &o);
    o.released = cpu_begin_updates(run, agent, insn);
    for (uint32_t e = 0; e < elements; e++) {
        uint32_t inside = cpu_view_lanes(run, agent, insn, memory, e, active, addresses);
        update_global(run, agent, insn, &o, inside, addresses, e, 1);
    }
    cpu_known_drop(o.released);
    return cpu_yield_after_updates(run, agent, insn, o.changed);
}

CPU_HANDLER(cpu_run_atomic_lanes_shared) {
    uint32_t offsets[CPU_LANES] = {0}, bytes = insn->count / CPU_LANES * insn->size;
    uint32_t active = cpu_active_lanes(run, agent, insn, (unsigned)insn->integer);
    operands o = operands_of(run, agent, insn);
    if (!cpu_shared_offsets(run, agent, insn, memory_of(insn), insn->index, active, bytes,
                            offsets) ||
        !may_escape(run, agent, insn, active))
        return CPU_STOP;
    clear_old(agent, insn, &o);
    o.released = insn->releases ? cpu_barrier_release(run, agent, active)
                                : cpu_begin_updates(run, agent, insn);
    bool fine = true, handed_on = orders(run, insn, &o);
    for (unsigned turn = 0; turn < CPU_LANES && fine; turn++) {
        unsigned lane = lane_of(run, agent, turn);
        if (!(active >> lane & 1)) continue;
        fine = cpu_shared_update(run, agent, insn, (int)lane, cpu_thread(agent, lane),
                                 offsets[lane], bytes);
        for (uint32_t at = 0; fine && handed_on && at < bytes; at += insn->size)
            cpu_update_word(run, agent, insn, cpu_shared_word(run, agent, offsets[lane] + at),
                            o.released);
        if (fine)
            o.changed |= update_lane(insn, &o, (char *)agent->block->shared + offsets[lane], lane,
                                     0, insn->count / CPU_LANES);
    }
    cpu_known_drop(o.released);
    if (!fine) return CPU_STOP;
    cpu_count_conflicts(run, active, offsets, bytes);
    return cpu_yield_after_updates(run, agent, insn, o.changed);
}

/* Fences --------------------------------------------------------------------------------------- */

CPU_HANDLER(cpu_run_fence) {
    cpu_fence(run, agent, insn);
    return CPU_NEXT;
}

cpu_outcome cpu_wait_for_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                              uint64_t address, int32_t value) {
    bool met = tile_compare_holds(insn->kind, *(const int32_t *)(uintptr_t)address, value);
    if (!cpu_global_acquire(run, agent, insn, lane, address, met)) return CPU_STOP;
    if (met) return CPU_NEXT;
    agent->state = CPU_WAITING;
    agent->order.address = address;
    agent->order.lane = lane < 0 ? 0 : (unsigned)lane;
    return CPU_PAUSE;
}
