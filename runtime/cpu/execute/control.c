/* Control flow with lane masks, ids, references to buffers, and moves of values. */
#include <inttypes.h>
#include <string.h>

#include "runtime/cpu/execute/poison.h"
#include "runtime/cpu/execute/products.h"

static uint32_t pop_mask(cpu_agent *agent) {
    return agent->masks[--agent->depth];
}

static void push_mask(cpu_agent *agent, uint32_t mask) {
    agent->masks[agent->depth++] = mask;
}

static cpu_outcome jump(cpu_agent *agent, uint32_t target) {
    agent->pc = target;
    return CPU_JUMP;
}

/* Values that are easy to recognize: NaN, -1. */
CPU_HANDLER(cpu_run_undefined) {
    memset(cpu_at(run, agent, insn->result), 0xff, (size_t)insn->count * insn->size);
    return CPU_NEXT;
}

/* Loops: enter, then { test; body; next }, then region_end, which restores the mask. ----------- */

CPU_HANDLER(cpu_run_loop_enter) {
    const int32_t *step = cpu_at(run, agent, insn->operand[2]);
    for (unsigned lane = 0; lane < run->program->lanes; lane++)
        if (agent->mask >> lane & 1 && step[lane] <= 0)
            return cpu_fault(run, agent, insn, (int)lane,
                             "the step is %" PRId32 ", it must be positive", step[lane]);
    memcpy(cpu_at(run, agent, insn->result), cpu_at(run, agent, insn->operand[0]),
           sizeof(int32_t) * run->program->lanes);
    push_mask(agent, agent->mask);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_loop_test) {
    const int32_t *at = cpu_at(run, agent, insn->result);
    const int32_t *end = cpu_at(run, agent, insn->operand[1]);
    uint32_t below = 0;
    for (unsigned lane = 0; lane < run->program->lanes; lane++)
        below |= (uint32_t)(at[lane] < end[lane]) << lane;
    agent->mask &= below;
    return agent->mask ? CPU_NEXT : jump(agent, insn->target);
}

/* A lane whose counter would overflow an i32 leaves the loop. */
CPU_HANDLER(cpu_run_loop_next) {
    int32_t *at = cpu_at(run, agent, insn->result);
    const int32_t *step = cpu_at(run, agent, insn->operand[2]);
    for (unsigned lane = 0; lane < run->program->lanes; lane++) {
        if (!(agent->mask >> lane & 1)) continue;
        int64_t next = (int64_t)at[lane] + step[lane];
        if (next > INT32_MAX)
            agent->mask &= ~(UINT32_C(1) << lane);
        else
            at[lane] = (int32_t)next;
    }
    return jump(agent, insn->target);
}

/* while: enter, then { first region; test; second region; repeat }, then region_end. ----------- */

CPU_HANDLER(cpu_run_while_enter) {
    (void)run;
    (void)insn;
    push_mask(agent, agent->mask);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_while_test) {
    const uint8_t *condition = cpu_at(run, agent, insn->operand[0]);
    uint32_t holds = 0;
    for (unsigned lane = 0; lane < run->program->lanes; lane++)
        holds |= (uint32_t)(condition[lane] != 0) << lane;
    agent->mask &= holds;
    return agent->mask ? CPU_NEXT : jump(agent, insn->target);
}

CPU_HANDLER(cpu_run_repeat) {
    (void)run;
    return jump(agent, insn->target);
}

/* Branches: if; first region; else; second region; region_end. --------------------------------- */

CPU_HANDLER(cpu_run_if) {
    const uint8_t *condition = cpu_at(run, agent, insn->operand[0]);
    uint32_t holds = 0;
    for (unsigned lane = 0; lane < run->program->lanes; lane++)
        holds |= (uint32_t)(condition[lane] != 0) << lane;
    push_mask(agent, agent->mask);
    push_mask(agent, agent->mask & ~holds);
    agent->mask &= holds;
    return agent->mask ? CPU_NEXT : jump(agent, insn->target);
}

CPU_HANDLER(cpu_run_else) {
    (void)run;
    agent->mask = pop_mask(agent);
    return agent->mask ? CPU_NEXT : jump(agent, insn->target);
}

CPU_HANDLER(cpu_run_region_end) {
    (void)run;
    (void)insn;
    agent->mask = pop_mask(agent);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_move) {
    const char *from = cpu_at(run, agent, insn->operand[0]);
    char *to = cpu_at(run, agent, insn->result);
    uint32_t lanes = run->program->lanes, size = insn->size;
    uint32_t all = lanes == CPU_LANES ? UINT32_MAX : 1;
    if (agent->mask == all) {
        memcpy(to, from, (size_t)insn->count * size);
        return CPU_NEXT;
    }
    for (uint32_t i = 0; i < insn->count; i++)
        if (agent->mask >> i % lanes & 1) memcpy(to + i * size, from + i * size, size);
    return CPU_NEXT;
}

void cpu_add_move(cpu_decoder *d, tile_op op, tile_value from, uint32_t to) {
    const tile_type *type = tile_value_type(d->f, from);
    uint32_t place = cpu_place_of(d, from);
    if (place == to || !cpu_stream_has(d, from)) return;
    cpu_insn *insn = cpu_add_insn(d, op, cpu_run_move);
    cpu_set_elements(d, insn, type);
    insn->operand[0] = place;
    insn->result = to;
    cpu_propagate_poison_move(d, op, from);
}

CPU_HANDLER(cpu_run_end) {
    (void)insn;
    if (!cpu_complete_all_copies(run, agent) || !cpu_end_products(run, agent) ||
        !cpu_end_bulks(run, agent))
        return CPU_STOP;
    agent->state = CPU_DONE;
    return CPU_PAUSE;
}

bool cpu_all_lanes_active(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    if (agent->mask == (run->program->lanes == CPU_LANES ? UINT32_MAX : 1)) return true;
    cpu_fault(run, agent, insn, -1,
              "barrier reached by part of the block: lanes %#" PRIx32 " of the warp", agent->mask);
    return false;
}

/* order: the barrier's number by group; count: expected warps; flag: arrives without waiting. */
CPU_HANDLER(cpu_run_sync) {
    if (!cpu_all_lanes_active(run, agent, insn)) return CPU_STOP;
    unsigned number = (unsigned)insn->order[agent->group];
    return cpu_arrive_at_barrier(run, agent, insn, number, insn->count, !insn->flag);
}

/* Ids and references --------------------------------------------------------------------------- */

cpu_outcome cpu_set_all(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int64_t value) {
    int32_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < run->program->lanes; lane++) to[lane] = (int32_t)value;
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_block_id) {
    return cpu_set_all(run, agent, insn, agent->block->id[insn->integer]);
}

CPU_HANDLER(cpu_run_grid_dim) {
    return cpu_set_all(run, agent, insn, run->grid[insn->integer]);
}

CPU_HANDLER(cpu_run_thread_id) {
    int32_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < CPU_LANES; lane++)
        to[lane] = (int32_t)((agent->index - agent->set) * CPU_LANES + lane);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_lane_id) {
    int32_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < CPU_LANES; lane++) to[lane] = (int32_t)lane;
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_warp_id) {
    return cpu_set_all(run, agent, insn, agent->index - agent->set);
}

CPU_HANDLER(cpu_run_view) {
    cpu_view *view = cpu_at(run, agent, insn->result);
    memset(view, 0, sizeof *view);
    view->base = *(const uint64_t *)cpu_at(run, agent, insn->operand[0]);
    for (uint32_t d = 0; d < insn->index_count; d++)
        view->extent[d] = *(const int32_t *)cpu_at(run, agent, insn->index[d]);
    cpu_make_contiguous(view, insn->index_count);
    for (uint32_t d = 0; d < insn->second_count; d++) {
        const void *stride = cpu_at(run, agent, insn->second[d]);
        view->stride[d] =
            insn->order[d] == sizeof(int64_t) ? *(const int64_t *)stride : *(const int32_t *)stride;
    }
    return CPU_NEXT;
}

/* The extents of places are counted, because loads ask only whether a place is inside of src. */
CPU_HANDLER(cpu_run_im2col) {
    const cpu_view *from = cpu_at(run, agent, insn->operand[0]);
    cpu_view *view = cpu_at(run, agent, insn->result), made = {.base = from->base};
    const tile_im2col *w = insn->windows;
    made.windows = w;
    made.extent[TILE_IM2COL_POSITION] = tile_im2col_positions(w);
    made.extent[TILE_IM2COL_PLACE] = from->extent[0];
    made.extent[TILE_IM2COL_CHANNEL] = from->extent[w->spatial + 1];
    made.stride[TILE_IM2COL_CHANNEL] = 1;
    for (unsigned d = 0; d <= w->spatial; d++) {
        made.source_extent[d] = from->extent[d];
        made.source_stride[d] = from->stride[d];
        if (d) made.extent[TILE_IM2COL_PLACE] *= tile_im2col_places(w, d - 1, from->extent[d]);
    }
    *view = made;
    return CPU_NEXT;
}

static bool set_address(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address) {
    uint64_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < run->program->lanes; lane++) to[lane] = address;
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_base) {
    const cpu_view *view = cpu_at(run, agent, insn->operand[0]);
    return set_address(run, agent, insn, view->base);
}

CPU_HANDLER(cpu_run_misalignment) {
    enum { UNIT = 128 };
    const uint64_t *address = cpu_at(run, agent, insn->operand[0]);
    int32_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < run->program->lanes; lane++)
        to[lane] = (int32_t)(address[lane] % UNIT);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_scratch) {
    uint64_t base = (uint64_t)(uintptr_t)run->scratch[insn->integer];
    if (insn->type->kind == TILE_TYPE_VIEW) {
        cpu_view *view = cpu_at(run, agent, insn->result);
        memset(view, 0, sizeof *view);
        view->base = base;
        for (uint32_t d = 0; d < insn->index_count; d++)
            view->extent[d] = *(const int32_t *)cpu_at(run, agent, insn->index[d]);
        cpu_make_contiguous(view, insn->index_count);
        return CPU_NEXT;
    }
    return set_address(run, agent, insn, base);
}

CPU_HANDLER(cpu_run_tile_schedule) {
    const tile_launch_table *table = &run->launch->tables[insn->integer];
    const int32_t *entries = (const int32_t *)(uintptr_t)table->address;
    const int32_t *asked = cpu_at(run, agent, insn->operand[0]);
    int32_t *to = cpu_at(run, agent, insn->result);
    for (unsigned lane = 0; lane < run->program->lanes; lane++) {
        int32_t index = asked[lane] < 0 ? 0 : asked[lane];
        to[lane] = entries[index < table->entries ? index : table->entries - 1];
    }
    return CPU_NEXT;
}

void cpu_decode_alloc_shared(cpu_decoder *d, tile_op op) {
    int64_t stride;
    tile_alloc_bytes(d->f, op, &stride);
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_alloc_shared);
    insn->type = cpu_result_type(d, op);
    insn->integer = d->shared_at[op.id];
    insn->size = (uint32_t)stride; /* from one group's buffer to the next */
}

/* The value is the buffer's offset. At level 2 the old contents become uninitialized. At level 3
 * another warp may be using the buffer already. */
CPU_HANDLER(cpu_run_alloc_shared) {
    int64_t offset = insn->integer + agent->group * (int64_t)insn->size;
    if (run->program->level == 2) {
        uint32_t bytes = cpu_stage_bytes(insn->type) * (uint32_t)tile_type_stage_count(insn->type);
        cpu_shared_forget(run, agent, (uint32_t)offset, bytes);
    }
    return cpu_set_all(run, agent, insn, offset);
}

/* Fragments ------------------------------------------------------------------------------------ */

CPU_HANDLER(cpu_run_extract) {
    uint32_t step = run->program->lanes * insn->size;
    const char *from = cpu_at(run, agent, insn->operand[0]);
    memcpy(cpu_at(run, agent, insn->result), from + insn->integer * step,
           (size_t)insn->count * insn->size);
    return CPU_NEXT;
}

/* Returns whether a part that begins at `first` is inside of a lane's vector. */
static bool has_part(const cpu_run *run, const cpu_insn *insn, int32_t first) {
    return first >= 0 && (int64_t)first + insn->count / run->program->lanes <= insn->integer;
}

/* Checks the same for all active lanes; false after a report. */
static bool have_parts(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                       const int32_t *first) {
    for (unsigned lane = 0; lane < run->program->lanes; lane++) {
        if (has_part(run, insn, first[lane]) || !(agent->mask >> lane & 1)) continue;
        cpu_fault(run, agent, insn, (int)lane,
                  "out of bounds: %" PRIu32 " elements from %" PRId32 " on of a vector of %" PRId64,
                  insn->count / run->program->lanes, first[lane], insn->integer);
        return false;
    }
    return true;
}

CPU_HANDLER(cpu_run_extract_at) {
    unsigned lanes = run->program->lanes;
    uint32_t size = insn->size;
    const char *from = cpu_at(run, agent, insn->operand[0]);
    const int32_t *first = cpu_at(run, agent, insn->operand[1]);
    char *to = cpu_at(run, agent, insn->result);
    if (!have_parts(run, agent, insn, first)) return CPU_STOP;
    for (uint32_t i = 0; i < insn->count; i++)
        if (has_part(run, insn, first[i % lanes]))
            memcpy(to + i * size, from + ((size_t)first[i % lanes] * lanes + i) * size, size);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_insert) {
    unsigned lanes = run->program->lanes;
    uint32_t size = insn->size;
    const char *part = cpu_at(run, agent, insn->operand[1]);
    const int32_t *first = cpu_at(run, agent, insn->operand[2]);
    char *to = cpu_at(run, agent, insn->result);
    if (!have_parts(run, agent, insn, first)) return CPU_STOP;
    memcpy(to, cpu_at(run, agent, insn->operand[0]), (size_t)insn->integer * lanes * size);
    for (uint32_t i = 0; i < insn->count; i++)
        if (has_part(run, insn, first[i % lanes]))
            memcpy(to + ((size_t)first[i % lanes] * lanes + i) * size, part + i * size, size);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_concat) {
    char *to = cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < insn->index_count; i++) {
        uint32_t bytes = insn->second[i] * run->program->lanes * insn->size;
        memcpy(to, cpu_at(run, agent, insn->index[i]), bytes);
        to += bytes;
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_permute) {
    uint32_t step = run->program->lanes * insn->size;
    const char *from = cpu_at(run, agent, insn->operand[0]);
    char *to = cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < insn->count / run->program->lanes; i++)
        memcpy(to + i * step, from + insn->order[i] * step, step);
    return CPU_NEXT;
}
