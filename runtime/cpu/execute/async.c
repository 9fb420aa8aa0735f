/* Asynchronous copies. A copy completes only when a wait covers it, as late as the program permits,
 * so a missing wait is detected. It also reads its source then. For race detection it counts as a
 * read both at issue and at completion, since it can happen at any time in between. The agent's own
 * writes do not race with its copies, so they are detected by comparing the source with its
 * contents at issue.
 *
 * Each lane has its own groups. A copy belongs to the next group that its lane commits. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/mbarrier.h"
#include "runtime/cpu/sanitize/global_shadow.h"

static cpu_copy *add_copy(cpu_agent *agent, const cpu_insn *insn) {
    if (agent->copy_count == agent->copy_capacity) {
        agent->copy_capacity = agent->copy_capacity ? agent->copy_capacity * 2 : 16;
        agent->copies = tile_realloc(agent->copies, sizeof *agent->copies * agent->copy_capacity);
    }
    cpu_copy *copy = &agent->copies[agent->copy_count++];
    *copy = (cpu_copy){.insn = insn, .lanes = agent->mask, .number = agent->copies_issued++};
    memcpy(copy->group, agent->commits, sizeof copy->group);
    return copy;
}

/* Reads the sources of these lanes, element by element if parts of them differ in length. */
static bool read_sources(cpu_run *run, cpu_agent *agent, const cpu_copy *copy, uint32_t lanes) {
    const cpu_insn *insn = copy->insn;
    uint32_t bytes = (uint32_t)insn->integer, each = insn->size;
    if (insn->opcode == TILE_OP_cp_async)
        return cpu_global_lanes(run, agent, insn, lanes & ~copy->zeros, copy->source, bytes,
                                CPU_READ);
    for (uint32_t at = 0; at < bytes; at += each) {
        uint64_t addresses[CPU_LANES] = {0};
        uint32_t read = 0;
        for (unsigned lane = 0; lane < CPU_LANES; lane++) {
            bool inside = at >= copy->first[lane] && at < copy->end[lane];
            if (lanes >> lane & 1 && inside) read |= UINT32_C(1) << lane;
            addresses[lane] = copy->source[lane] + at;
        }
        if (!cpu_global_lanes(run, agent, insn, read, addresses, each, CPU_READ)) return false;
    }
    return true;
}

/* The part of each lane is known. */
static cpu_outcome start_lanes(cpu_run *run, cpu_agent *agent, cpu_copy *copy) {
    const cpu_insn *insn = copy->insn;
    uint32_t bytes = (uint32_t)insn->integer, active = agent->mask & ~copy->zeros;
    cpu_global_addresses(run, agent, insn, 0, active, copy->source);
    if (!cpu_shared_offsets(run, agent, insn, 1, insn->second, agent->mask, bytes, copy->target))
        return CPU_STOP;
    if (!read_sources(run, agent, copy, agent->mask)) return CPU_STOP;
    for (unsigned lane = 0; lane < CPU_LANES; lane++) {
        if (agent->mask >> lane & 1 &&
            !cpu_shared_start_copy(run, agent, insn, (int)lane, cpu_thread(agent, lane),
                                   copy->target[lane], bytes))
            return CPU_STOP;
    }
    copy->seen = tile_malloc((size_t)bytes * CPU_LANES);
    for (unsigned lane = 0; lane < CPU_LANES; lane++)
        if (active >> lane & 1)
            memcpy(copy->seen + lane * bytes + copy->first[lane],
                   (const char *)(uintptr_t)copy->source[lane] + copy->first[lane],
                   (size_t)copy->end[lane] - copy->first[lane]);
    cpu_count_sectors(run, active, copy->source);
    cpu_count_conflicts(run, agent->mask, copy->target, bytes);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_cp_async) {
    uint32_t active = cpu_active_lanes(run, agent, insn, 2);
    cpu_copy *copy = add_copy(agent, insn);
    copy->zeros = agent->mask & ~active;
    memset(copy->end, (int)insn->integer, sizeof copy->end);
    return start_lanes(run, agent, copy);
}

static int32_t clamp(int32_t value, int32_t least, int32_t most) {
    return value < least ? least : value > most ? most : value;
}

CPU_HANDLER(cpu_run_cp_async_part) {
    const int32_t *first = cpu_at(run, agent, insn->operand[2]),
                  *end = cpu_at(run, agent, insn->operand[3]);
    int32_t count = (int32_t)(insn->integer / insn->size);
    cpu_copy *copy = add_copy(agent, insn);
    for (unsigned lane = 0; lane < CPU_LANES; lane++) {
        if (!(agent->mask >> lane & 1)) continue;
        int32_t to = clamp(end[lane], 0, count), from = clamp(first[lane], 0, to);
        copy->first[lane] = (uint8_t)(from * insn->size);
        copy->end[lane] = (uint8_t)(to * insn->size);
        if (from == to) copy->zeros |= UINT32_C(1) << lane;
    }
    return start_lanes(run, agent, copy);
}

CPU_HANDLER(cpu_run_copy_async) {
    uint32_t target;
    if (!cpu_stage_offset(run, agent, insn, 1, insn->second, insn->second_count, insn->memory,
                          &target))
        return CPU_STOP;
    cpu_copy *copy = add_copy(agent, insn);
    copy->target[0] = target;
    copy->view = *(const cpu_view *)cpu_at(run, agent, insn->operand[0]);
    cpu_view_position(run, agent, insn, insn->index, copy->at);
    copy->seen = tile_malloc(cpu_stage_bytes(insn->memory));
    if (!cpu_load_tile(run, agent, insn, &copy->view, copy->at, NULL, copy->seen)) return CPU_STOP;
    copy->kept = cpu_snapshot_gather(run, agent, insn);
    return cpu_shared_start_copy(run, agent, insn, -1, cpu_set_thread(agent, insn), target,
                                 cpu_stage_bytes(insn->memory))
               ? CPU_NEXT
               : CPU_STOP;
}

static bool fault_changed(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane) {
    cpu_fault(run, agent, insn, lane,
              "its source has been overwritten before the copy completed: put `wait_group` before "
              "the write");
    return false;
}

/* What precedes the part has arbitrary contents. */
static void write_lane(const cpu_copy *copy, unsigned lane, uint8_t *to) {
    uint32_t bytes = (uint32_t)copy->insn->integer, first = copy->first[lane],
             end = copy->zeros >> lane & 1 ? first : copy->end[lane];
    memset(to, 0xff, first);
    memcpy(to + first, copy->seen + lane * bytes + first, end - first);
    memset(to + end, 0, bytes - end);
}

static bool land_lanes(cpu_run *run, cpu_agent *agent, cpu_copy *copy, uint32_t lanes) {
    uint32_t bytes = (uint32_t)copy->insn->integer, read = lanes & ~copy->zeros;
    for (unsigned lane = 0; lane < CPU_LANES; lane++)
        if (read >> lane & 1 &&
            memcmp((const char *)(uintptr_t)copy->source[lane] + copy->first[lane],
                   copy->seen + lane * bytes + copy->first[lane],
                   (size_t)copy->end[lane] - copy->first[lane]) != 0)
            return fault_changed(run, agent, copy->insn, (int)lane);
    if (!read_sources(run, agent, copy, read)) return false;
    for (unsigned lane = 0; lane < CPU_LANES; lane++) {
        if (!(lanes >> lane & 1)) continue;
        write_lane(copy, lane, agent->block->shared + copy->target[lane]);
        cpu_shared_end_copy(run, agent, cpu_thread(agent, lane), copy->done[lane],
                            copy->target[lane], bytes);
    }
    return true;
}

static void drop_memory(cpu_copy *copy) {
    free(copy->kept);
    free(copy->seen);
    copy->kept = NULL;
    copy->seen = NULL;
}

/* Completes these lanes' part of a copy; false after a report. */
static bool land(cpu_run *run, cpu_agent *agent, cpu_copy *copy, uint32_t lanes) {
    copy->lanes &= ~lanes;
    if (run->program->lanes > 1) {
        if (!land_lanes(run, agent, copy, lanes)) return false;
        if (!copy->lanes) drop_memory(copy);
        return true;
    }
    char *to = (char *)agent->block->shared + copy->target[0];
    if (!cpu_load_tile(run, agent, copy->insn, &copy->view, copy->at, copy->kept, to)) return false;
    if (memcmp(to, copy->seen, cpu_stage_bytes(copy->insn->memory)) != 0)
        return fault_changed(run, agent, copy->insn, -1);
    drop_memory(copy);
    cpu_shared_end_copy(run, agent, cpu_set_thread(agent, copy->insn), copy->done[0],
                        copy->target[0], cpu_stage_bytes(copy->insn->memory));
    return true;
}

CPU_HANDLER(cpu_run_pdl_wait) {
    (void)run;
    (void)insn;
    agent->waited |= agent->mask;
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_fence_async) {
    (void)run;
    (void)insn;
    if (agent->fence_count == agent->fence_capacity) {
        agent->fence_capacity = agent->fence_capacity ? agent->fence_capacity * 2 : 16;
        agent->fences = tile_realloc(agent->fences, sizeof *agent->fences * agent->fence_capacity);
    }
    agent->clock.used = true;
    agent->fences[agent->fence_count++] = (cpu_proxy_fence){agent->clock.time, agent->mask};
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_commit_group) {
    (void)insn;
    for (unsigned lane = 0; lane < run->program->lanes; lane++)
        agent->commits[lane] += agent->mask >> lane & 1;
    return CPU_NEXT;
}

/* The lanes of the copy that a wait with `pending` groups covers. */
static uint32_t covered_lanes(const cpu_agent *agent, const cpu_copy *copy, int64_t pending) {
    uint32_t covered = 0;
    for (unsigned lane = 0; lane < CPU_LANES; lane++)
        if (copy->lanes & agent->mask & UINT32_C(1) << lane)
            covered |= (uint32_t)(copy->group[lane] + pending < agent->commits[lane]) << lane;
    return covered;
}

static void drop_landed(cpu_agent *agent) {
    size_t kept = 0;
    for (size_t i = 0; i < agent->copy_count; i++)
        if (agent->copies[i].lanes) {
            if (kept != i) agent->copies[kept] = agent->copies[i];
            kept++;
        }
    agent->copy_count = kept;
}

CPU_HANDLER(cpu_run_wait_group) {
    for (size_t i = 0; i < agent->copy_count; i++) {
        uint32_t covered = covered_lanes(agent, &agent->copies[i], insn->integer);
        if (covered && !land(run, agent, &agent->copies[i], covered)) return CPU_STOP;
    }
    drop_landed(agent);
    return CPU_NEXT;
}

/* Arrivals of copies --------------------------------------------------------------------------- */

/* Arrives for each lane whose copies are complete. */
typedef struct arrival {
    const cpu_insn *insn;
    uint64_t issued; /* copies that were issued before it */
    uint32_t lanes;
    cpu_mbarrier_at at[CPU_LANES];
} arrival;

static bool land_arrival(cpu_run *run, cpu_agent *agent, void *data, cpu_known *known) {
    arrival *a = data;
    bool ok = true;
    for (size_t i = 0; i < agent->copy_count && ok; i++) {
        cpu_copy *copy = &agent->copies[i];
        uint32_t lanes = copy->lanes & a->lanes;
        if (lanes && copy->number < a->issued) ok = land(run, agent, copy, lanes);
    }
    drop_landed(agent);
    for (unsigned lane = 0; lane < CPU_LANES && ok; lane++)
        if (a->lanes >> lane & 1)
            ok = cpu_barrier_arrive(run, agent, a->insn, (int)lane, a->at[lane], 1, known);
    free(data);
    return ok;
}

/* flag: the barrier's count includes the arrival; otherwise the phase expects one more. */
CPU_HANDLER(cpu_run_mbarrier_cp_async) {
    const uint32_t *buffers = cpu_at(run, agent, insn->operand[0]);
    const int32_t *index = cpu_at(run, agent, insn->index[0]);
    arrival *a = tile_malloc(sizeof *a);
    *a = (arrival){.insn = insn, .issued = agent->copies_issued, .lanes = agent->mask};
    for (unsigned lane = 0; lane < CPU_LANES; lane++) {
        if (!(agent->mask >> lane & 1)) continue;
        if (!cpu_find_mbarrier(run, agent, insn, (int)lane, buffers[lane], index[lane],
                               &a->at[lane])) {
            free(a);
            return CPU_STOP;
        }
        a->at[lane].barrier->pending += !insn->flag;
        for (size_t i = 0; i < agent->copy_count; i++) {
            cpu_copy *copy = &agent->copies[i];
            if (copy->lanes >> lane & 1 && !copy->done[lane]) copy->done[lane] = agent->clock.time;
        }
    }
    agent->clock.used = true;
    cpu_start_flight(agent, land_arrival, a, cpu_barrier_release(run, agent, agent->mask));
    return CPU_NEXT;
}

bool cpu_complete_all_copies(cpu_run *run, cpu_agent *agent) {
    for (size_t i = 0; i < agent->copy_count; i++)
        if (!land(run, agent, &agent->copies[i], agent->copies[i].lanes)) return false;
    agent->copy_count = 0;
    return true;
}

void cpu_transfer_copies(cpu_agent *to, cpu_agent *from) {
    for (size_t i = 0; i < from->copy_count; i++) {
        cpu_copy *copy = add_copy(to, from->copies[i].insn);
        *copy = from->copies[i];
        copy->group[0] += to->commits[0];
    }
    to->commits[0] += from->commits[0];
    from->copy_count = 0;
}
