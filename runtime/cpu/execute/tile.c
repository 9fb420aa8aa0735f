/* Level 2: operations of a block on whole tiles. A tile is row-major, both in registers and in
 * shared memory. Layouts only determine which thread holds an element, and do not change values. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/poison.h"
#include "runtime/cpu/sanitize/global_shadow.h"

uint32_t cpu_stage_bytes(const tile_type *buffer) {
    return (uint32_t)tile_type_elements(buffer) * tile_scalar_bytes(buffer->scalar);
}

/* Views ---------------------------------------------------------------------------------------- */

void cpu_view_position(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                       const uint32_t *index, int64_t at[TILE_MAX_RANK]) {
    for (unsigned d = 0; d < insn->index_count; d++)
        if (!insn->gather || !insn->gather->is_tile[d])
            at[d] = *(const int32_t *)cpu_at(run, agent, index[d]);
}

cpu_rows cpu_walk_rows(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                       const cpu_view *view, const int64_t *at, unsigned view_rank) {
    const cpu_gather *gather = insn->gather;
    cpu_rows walk = {.view = view,
                     .tile = insn->type,
                     .view_rank = view_rank,
                     .points = gather ? gather->points : 0,
                     .at = at,
                     .gather = gather,
                     .rows = 1,
                     .length = 1};
    walk.covered = walk.tile->rank - walk.points;
    for (unsigned d = 0; d < walk.tile->rank; d++) walk.rows *= tile_type_dim(walk.tile, d);
    if (walk.covered) walk.length = tile_type_dim(walk.tile, walk.tile->rank - 1);
    walk.rows /= walk.length;
    for (unsigned d = 0; gather && d < view_rank; d++)
        if (gather->is_tile[d]) walk.index[d] = cpu_at(run, agent, insn->index[gather->first + d]);
    if (gather && gather->predicate != CPU_NO_PLACE)
        walk.mask = cpu_at(run, agent, gather->predicate);
    return walk;
}

/* The coordinate of a row in dim d of the view. *row counts the tile's rows; the dim is divided
 * out. */
static int64_t position_of(const cpu_rows *walk, unsigned d, int64_t *row) {
    unsigned first = walk->view_rank - walk->covered;
    if (walk->index[d])
        return walk->gather->is_long[d] ? ((const int64_t *)walk->index[d])[*row]
                                        : ((const int32_t *)walk->index[d])[*row];
    if (d < first) return walk->at[d];
    int64_t extent = tile_type_dim(walk->tile, d - first + walk->points), own = *row % extent;
    *row /= extent;
    return walk->at[d] + own;
}

/* The element of src at a position of the filter and a place of the window. */
static uint64_t find_in_window(const cpu_view *view, int64_t position, int64_t place,
                               bool *inside) {
    const tile_im2col *w = view->windows;
    uint64_t element = 0;
    *inside = true;
    for (unsigned i = w->spatial; i-- > 0;) {
        int64_t extent = view->source_extent[1 + i], places = tile_im2col_places(w, i, extent);
        int64_t at = position % w->filter[i] * w->dilations[i] - w->pads[i][0];
        if (places < 1) {
            *inside = false;
            return 0;
        }
        at += place % places * w->strides[i];
        *inside &= at >= 0 && at < extent;
        element += (uint64_t)at * (uint64_t)view->source_stride[1 + i];
        position /= w->filter[i];
        place /= places;
    }
    *inside &= place < view->source_extent[0];
    return element + (uint64_t)place * (uint64_t)view->source_stride[0];
}

uint64_t cpu_find_row(const cpu_rows *walk, int64_t row, int64_t *first, int64_t *end) {
    const cpu_view *view = walk->view;
    unsigned last = walk->view_rank - 1;
    int64_t positions[TILE_MAX_RANK] = {0};
    uint64_t element = 0; /* wraps, as on a GPU, for extreme strides */
    *first = 0;
    *end = walk->length;
    if (walk->covered) {
        *first = walk->at[last] < 0 ? -walk->at[last] : 0;
        *end = view->extent[last] - walk->at[last];
        *end = *end > walk->length ? walk->length : *end;
        element = (uint64_t)walk->at[last] * (uint64_t)view->stride[last];
    }
    for (unsigned d = walk->view_rank - (walk->covered > 0); d-- > 0;) {
        positions[d] = position_of(walk, d, &row);
        if (positions[d] < 0 || positions[d] >= view->extent[d]) *end = 0;
        element += (uint64_t)positions[d] * (uint64_t)view->stride[d];
    }
    if (view->windows && *first < *end) {
        bool inside;
        element += find_in_window(view, positions[TILE_IM2COL_POSITION],
                                  positions[TILE_IM2COL_PLACE], &inside);
        if (!inside) *end = 0;
    }
    if (*first > *end) *first = *end = 0;
    return view->base + element * tile_scalar_bytes(walk->tile->scalar);
}

bool cpu_next_run(const cpu_rows *walk, int64_t row, int64_t *first, int64_t end, int64_t *stop) {
    const uint8_t *mask = walk->mask;
    *stop = end;
    if (!mask) return *first < end;
    if (walk->gather->one_predicate) return *first < end && *mask;
    mask += row * walk->length;
    while (*first < end && !mask[*first]) ++*first;
    *stop = *first;
    while (*stop < end && mask[*stop]) ++*stop;
    return *first < end;
}

bool cpu_access_row(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address,
                    int64_t stride, int64_t first, int64_t end, cpu_access access) {
    unsigned size = tile_scalar_bytes(insn->type->scalar);
    bool dense = stride == 1;
    uint64_t step = (uint64_t)stride * size;
    uint64_t bytes = dense ? (uint64_t)(end - first) * size : size;
    for (int64_t i = first; i < end; i += dense ? end - first : 1) {
        uint64_t at = address + (uint64_t)i * step;
        if (!cpu_check_global(run, agent, insn, -1, at, bytes, size) ||
            !cpu_global_access(run, agent, insn, -1, at, bytes, access))
            return false;
    }
    return true;
}

/* Fills in the padding for elements that are not read. */
static void pad_row(const cpu_rows *walk, char *to) {
    size_t size = tile_scalar_bytes(walk->tile->scalar);
    if (!walk->gather) memset(to, 0, size * (size_t)walk->length);
    for (int64_t i = 0; walk->gather && i < walk->length; i++)
        memcpy(to + (size_t)i * size, walk->gather->pad, size);
}

/* Reads the row's elements [first, end). */
static void read_row(const cpu_rows *walk, uint64_t address, int64_t stride, int64_t first,
                     int64_t end, char *to) {
    unsigned size = tile_scalar_bytes(walk->tile->scalar);
    if (stride == 1) {
        memcpy(to + first * size, (const void *)(uintptr_t)(address + (uint64_t)first * size),
               (size_t)(end - first) * size);
        return;
    }
    for (int64_t i = first; i < end; i++)
        memcpy(to + i * size,
               (const void *)(uintptr_t)(address + (uint64_t)i * (uint64_t)stride * size), size);
}

/* Rounds copies of f32 to a tf32 buffer. */
static void round_row(const cpu_insn *insn, char *row, int64_t count) {
    if (insn->from != TILE_f32 || insn->type->scalar != TILE_tf32) return;
    for (int64_t i = 0; i < count; i++) {
        char *at = row + i * (int64_t)sizeof(float);
        tile_scalar_write(TILE_tf32, at, tile_scalar_read(TILE_f32, at));
    }
}

/* The bytes of an index tile, or of the predicate. */
static size_t gathered_bytes(const cpu_insn *insn, int d) {
    const cpu_gather *gather = insn->gather;
    size_t points = 1;
    for (unsigned t = 0; t < gather->points; t++) points *= (size_t)tile_type_dim(insn->type, t);
    if (d >= 0) return gather->is_tile[d] ? points * (gather->is_long[d] ? 8 : 4) : 0;
    if (gather->predicate == CPU_NO_PLACE) return 0;
    return gather->one_predicate ? 1 : (size_t)tile_type_elements(insn->type);
}

/* The size of its copy, rounded up so that the next one is aligned. */
static size_t kept_bytes(const cpu_insn *insn, int d) {
    return (gathered_bytes(insn, d) + 7) / 8 * 8;
}

uint8_t *cpu_snapshot_gather(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn) {
    const cpu_gather *gather = insn->gather;
    size_t size = 0;
    if (!gather) return NULL;
    for (int d = -1; d < TILE_MAX_RANK; d++) size += kept_bytes(insn, d);
    uint8_t *kept = tile_malloc(size + 1), *at = kept;
    for (int d = -1; d < TILE_MAX_RANK; d++) {
        size_t bytes = gathered_bytes(insn, d);
        if (!bytes) continue;
        uint32_t place = d < 0 ? gather->predicate : insn->index[gather->first + (unsigned)d];
        memcpy(at, cpu_at(run, agent, place), bytes);
        at += kept_bytes(insn, d);
    }
    return kept;
}

static void use_kept(cpu_rows *walk, const cpu_insn *insn, const uint8_t *kept) {
    for (int d = -1; kept && d < TILE_MAX_RANK; d++) {
        size_t bytes = kept_bytes(insn, d);
        if (bytes && d < 0) walk->mask = kept;
        if (bytes && d >= 0) walk->index[d] = kept;
        kept += bytes;
    }
}

/* Reports a coordinate for which tensor maps and threads would read other elements. */
static bool begins_in_windows(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                              const cpu_view *view, const int64_t at[TILE_MAX_RANK]) {
    const int64_t position = at[TILE_IM2COL_POSITION], place = at[TILE_IM2COL_PLACE];
    if (!view->windows ||
        (position >= 0 && position < view->extent[TILE_IM2COL_POSITION] && place >= 0))
        return true;
    cpu_fault(run, agent, insn, -1,
              "the position, %" PRId64 ", is not one of the filter's %" PRId64
              ", or the place, %" PRId64 ", is negative",
              position, view->extent[TILE_IM2COL_POSITION], place);
    return false;
}

bool cpu_load_tile(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                   const int64_t at[TILE_MAX_RANK], const uint8_t *kept, char *to) {
    cpu_rows walk = cpu_walk_rows(run, agent, insn, view, at, insn->index_count);
    if (!begins_in_windows(run, agent, insn, view, at)) return false;
    use_kept(&walk, insn, kept);
    unsigned size = tile_scalar_bytes(insn->type->scalar);
    int64_t stride = view->stride[insn->index_count - 1], first, end, stop;
    for (int64_t row = 0; row < walk.rows; row++) {
        uint64_t address = cpu_find_row(&walk, row, &first, &end);
        char *own = to ? to + row * walk.length * size : NULL;
        if (own) pad_row(&walk, own);
        for (; cpu_next_run(&walk, row, &first, end, &stop); first = stop) {
            if (!cpu_access_row(run, agent, insn, address, stride, first, stop, CPU_READ))
                return false;
            if (own) read_row(&walk, address, stride, first, stop, own);
        }
        if (own) round_row(insn, own, walk.length);
    }
    return true;
}

/* Stores elements [first, end) of a row. poison: that of the stored elements, or NULL. from NULL:
 * only checks the poison. */
static bool store_run(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address,
                      int64_t stride, int64_t first, int64_t end, const char *from,
                      const uint8_t *poison) {
    unsigned size = tile_scalar_bytes(insn->type->scalar);
    if ((from && !cpu_access_row(run, agent, insn, address, stride, first, end, CPU_WRITE)) ||
        (poison &&
         !cpu_poison_row_may_escape(run, agent, insn, poison + first * size, end - first, size)))
        return false;
    for (int64_t i = first; i < end && from; i++)
        memcpy((void *)(uintptr_t)(address + (uint64_t)i * (uint64_t)stride * size),
               from + i * size, size);
    return true;
}

static bool store_tile(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                       const int64_t at[TILE_MAX_RANK], const uint8_t *kept, const char *from,
                       const uint8_t *poison) {
    cpu_rows walk = cpu_walk_rows(run, agent, insn, view, at, insn->index_count);
    use_kept(&walk, insn, kept);
    int64_t bytes = walk.length * tile_scalar_bytes(insn->type->scalar);
    int64_t stride = view->stride[insn->index_count - 1], first, end, stop;
    for (int64_t row = 0; row < walk.rows; row++) {
        uint64_t address = cpu_find_row(&walk, row, &first, &end);
        for (; cpu_next_run(&walk, row, &first, end, &stop); first = stop)
            if (!store_run(run, agent, insn, address, stride, first, stop,
                           from ? from + row * bytes : NULL, poison ? poison + row * bytes : NULL))
                return false;
    }
    return true;
}

bool cpu_tile_may_escape(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                         const int64_t at[TILE_MAX_RANK], const uint8_t *poison) {
    return !poison || store_tile(run, agent, insn, view, at, NULL, NULL, poison);
}

bool cpu_store_tile(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                    const int64_t at[TILE_MAX_RANK], const uint8_t *kept, const char *from) {
    return store_tile(run, agent, insn, view, at, kept, from, NULL);
}

CPU_HANDLER(cpu_run_load) {
    int64_t at[TILE_MAX_RANK] = {0};
    cpu_view_position(run, agent, insn, insn->index, at);
    const cpu_view *view = cpu_at(run, agent, insn->operand[0]);
    char *to = cpu_at(run, agent, insn->result);
    return cpu_load_tile(run, agent, insn, view, at, NULL, to) ? CPU_NEXT : CPU_STOP;
}

CPU_HANDLER(cpu_run_inside) {
    int64_t at[TILE_MAX_RANK] = {0}, first, end;
    cpu_view_position(run, agent, insn, insn->index, at);
    const cpu_view *view = cpu_at(run, agent, insn->operand[0]);
    cpu_rows walk = cpu_walk_rows(run, agent, insn, view, at, insn->index_count);
    uint8_t *to = cpu_at(run, agent, insn->result);
    for (int64_t row = 0; row < walk.rows; row++, to += walk.length) {
        cpu_find_row(&walk, row, &first, &end);
        memset(to, 0, (size_t)walk.length);
        if (first < end) memset(to + first, 1, (size_t)(end - first));
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_store) {
    if (cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    int64_t at[TILE_MAX_RANK] = {0};
    cpu_view_position(run, agent, insn, insn->index, at);
    const cpu_view *view = cpu_at(run, agent, insn->operand[1]);
    const char *from = cpu_at(run, agent, insn->operand[0]);
    const uint8_t *poison = insn->poison ? agent->poison + insn->operand[0] : NULL;
    return store_tile(run, agent, insn, view, at, NULL, from, poison) ? CPU_NEXT : CPU_STOP;
}

/* Shared memory -------------------------------------------------------------------------------- */

bool cpu_stage_offset(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, unsigned operand,
                      const uint32_t *index, uint32_t index_count, const tile_type *buffer,
                      uint32_t *offset) {
    bool staged = index_count && buffer->stages;
    int64_t stage = staged ? *(const int32_t *)cpu_at(run, agent, index[0]) : 0;
    int64_t stages = tile_type_stage_count(buffer);
    if (stage < 0 || stage >= stages) {
        cpu_fault(run, agent, insn, -1,
                  "out of bounds: stage %" PRId64 " of %%%s, which has %" PRId64, stage, insn->name,
                  stages);
        return false;
    }
    *offset =
        cpu_buffer_offset(insn, *(const uint32_t *)cpu_at(run, agent, insn->operand[operand])) +
        (uint32_t)stage * cpu_stage_bytes(buffer);
    return true;
}

/* The block in whose memory operand `operand` is; NULL after a report. */
static cpu_block *find_owner(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                             unsigned operand) {
    const uint32_t *buffer = cpu_at(run, agent, insn->operand[operand]);
    return cpu_find_owner(run, agent, insn, -1, *buffer);
}

static bool fault_part(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, unsigned d,
                       int64_t at, const char *what) {
    cpu_fault(run, agent, insn, -1,
              "%s: along dim %u the part begins at %" PRId64 " and has %" PRId64
              " elements, and %%%s has %" PRId64,
              what, d, at, tile_type_dim(insn->type, d), insn->name,
              tile_type_dim(insn->memory, d));
    return false;
}

bool cpu_start_part(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned operand,
                    cpu_part *walk) {
    const tile_type *part = insn->type, *buffer = insn->memory;
    unsigned stages = buffer->stages != NULL;
    *walk = (cpu_part){.owner = find_owner(run, agent, insn, operand), .rows = 1};
    if (!walk->owner || !cpu_stage_offset(run, agent, insn, operand, insn->index, insn->index_count,
                                          buffer, &walk->begin))
        return false;
    if (insn->index_count == stages) {
        walk->row_bytes = cpu_stage_bytes(buffer);
        return true;
    }
    for (unsigned d = 0; d < part->rank; d++) {
        int64_t at = *(const int32_t *)cpu_at(run, agent, insn->index[stages + d]);
        int64_t extent = tile_type_dim(part, d);
        if (at < 0 || at + extent > tile_type_dim(buffer, d))
            return fault_part(run, agent, insn, d, at, "out of bounds");
        if (at % extent) return fault_part(run, agent, insn, d, at, "no multiple of its extent");
        walk->at[d] = at;
    }
    for (unsigned d = 0; d + 1 < part->rank; d++) walk->rows *= tile_type_dim(part, d);
    walk->row_bytes = tile_type_dim(part, part->rank - 1) * tile_scalar_bytes(part->scalar);
    return true;
}

uint32_t cpu_part_row(const cpu_part *walk, const cpu_insn *insn, int64_t row) {
    int64_t at = 0, place[TILE_MAX_RANK] = {0};
    for (unsigned d = insn->type->rank - 1; d-- > 0;) {
        place[d] = row % tile_type_dim(insn->type, d);
        row /= tile_type_dim(insn->type, d);
    }
    for (unsigned d = 0; d < insn->type->rank; d++)
        at = at * tile_type_dim(insn->memory, d) + walk->at[d] + place[d];
    return walk->begin + (uint32_t)at * tile_scalar_bytes(insn->type->scalar);
}

CPU_HANDLER(cpu_run_load_shared) {
    cpu_part walk;
    char *to = cpu_at(run, agent, insn->result);
    if (!cpu_start_part(run, agent, insn, 0, &walk)) return CPU_STOP;
    uint32_t bytes = (uint32_t)walk.row_bytes;
    for (int64_t row = 0; row < walk.rows; row++, to += bytes) {
        uint32_t offset = cpu_part_row(&walk, insn, row);
        if (!cpu_cluster_read(run, agent, walk.owner, insn, -1, cpu_set_thread(agent, insn), offset,
                              bytes))
            return CPU_STOP;
        memcpy(to, walk.owner->shared + offset, bytes);
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_store_shared) {
    cpu_part walk;
    const char *from = cpu_at(run, agent, insn->operand[0]);
    if (!cpu_start_part(run, agent, insn, 1, &walk)) return CPU_STOP;
    uint32_t bytes = (uint32_t)walk.row_bytes;
    for (int64_t row = 0; row < walk.rows; row++, from += bytes) {
        uint32_t offset = cpu_part_row(&walk, insn, row);
        if (!cpu_cluster_write(run, agent, walk.owner, insn, -1, cpu_set_thread(agent, insn),
                               offset, bytes))
            return CPU_STOP;
        memcpy(walk.owner->shared + offset, from, bytes);
    }
    return CPU_NEXT;
}

/* flag: the first operand is the view; otherwise the second one is. index: coordinates in the view;
 * second: in the shared buffer. */
CPU_HANDLER(cpu_run_copy) {
    uint32_t offset, bytes = cpu_stage_bytes(insn->memory);
    unsigned view_operand = insn->flag ? 0 : 1;
    int64_t at[TILE_MAX_RANK] = {0};
    if (!insn->flag && cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    const cpu_view *view = cpu_at(run, agent, insn->operand[view_operand]);
    if (!cpu_stage_offset(run, agent, insn, 1 - view_operand, insn->second, insn->second_count,
                          insn->memory, &offset))
        return CPU_STOP;
    cpu_view_position(run, agent, insn, insn->index, at);
    char *shared = (char *)agent->block->shared + offset;
    const uint8_t *poison = insn->poison ? agent->block->poison + offset : NULL;
    bool fine =
        insn->flag
            ? cpu_shared_write(run, agent, insn, -1, cpu_set_thread(agent, insn), offset, bytes) &&
                  cpu_load_tile(run, agent, insn, view, at, NULL, shared)
            : cpu_shared_read(run, agent, insn, -1, cpu_set_thread(agent, insn), offset, bytes) &&
                  store_tile(run, agent, insn, view, at, NULL, shared, poison);
    return fine ? CPU_NEXT : CPU_STOP;
}

/* Semaphores ----------------------------------------------------------------------------------- */

/* The address of the word, 0 after a report. */
static uint64_t find_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    const cpu_view *view = cpu_at(run, agent, insn->operand[0]);
    int64_t at[TILE_MAX_RANK] = {0};
    uint64_t address = view->base;
    cpu_view_position(run, agent, insn, insn->index, at);
    for (unsigned d = 0; d < insn->index_count; d++) {
        if (at[d] < 0 || at[d] >= view->extent[d]) {
            cpu_fault(run, agent, insn, -1,
                      "out of bounds: index %" PRId64 " in a dim of %" PRId64 " semaphores", at[d],
                      view->extent[d]);
            return 0;
        }
        address += (uint64_t)at[d] * (uint64_t)view->stride[d] * sizeof(int32_t);
    }
    return cpu_check_global(run, agent, insn, -1, address, sizeof(int32_t), sizeof(int32_t))
               ? address
               : 0;
}

CPU_HANDLER(cpu_run_lock_semaphore) {
    uint64_t address = find_word(run, agent, insn);
    const int32_t *value = cpu_at(run, agent, insn->operand[1]);
    if (!address) return CPU_STOP;
    cpu_outcome outcome = cpu_wait_for_word(run, agent, insn, -1, address, *value);
    if (outcome == CPU_NEXT) cpu_sync_own_threads(run, agent);
    return outcome;
}

CPU_HANDLER(cpu_run_release_semaphore) {
    if (cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    uint64_t address = find_word(run, agent, insn);
    const int32_t *value = cpu_at(run, agent, insn->operand[1]);
    cpu_sync_own_threads(run, agent);
    if (!address || !cpu_global_release(run, agent, insn, -1, address)) return CPU_STOP;
    *(int32_t *)(uintptr_t)address = *value;
    return cpu_maybe_preempt_after(run, agent);
}
