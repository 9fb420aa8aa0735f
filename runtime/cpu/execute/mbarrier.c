/* Barriers in shared memory: their counters, and the completion of phases. */
#include "runtime/cpu/execute/mbarrier.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"

enum { BYTES = 8, MAX_BYTES = (1 << 20) - 1 };

/* Lifetime ------------------------------------------------------------------------------------- */

static uint64_t key_of(const cpu_run *run, const cpu_block *block, unsigned number) {
    uint64_t first = block->agents[0].clock.agent / run->program->agents;
    return CPU_PHASE | first << 20 | number;
}

static void create(const cpu_run *run, cpu_block *block) {
    const cpu_program *p = run->program;
    block->mbarriers = tile_malloc(sizeof *block->mbarriers * p->mbarrier_count);
    memset(block->mbarriers, 0, sizeof *block->mbarriers * p->mbarrier_count);
    for (unsigned i = 0; i < p->mbarrier_count; i++)
        block->mbarriers[i].waits = tile_malloc(sizeof(cpu_phase_wait) * p->agents);
}

static void forget(cpu_mbarrier *barrier) {
    cpu_clock_stop(&barrier->arriving);
    cpu_clock_stop(&barrier->from_remote);
    cpu_known_drop(barrier->complete);
    cpu_known_drop(barrier->completed_remotely);
}

void cpu_clear_mbarriers(const cpu_run *run, cpu_block *block) {
    const cpu_program *p = run->program;
    if (!p->mbarrier_count) return;
    if (!block->mbarriers) create(run, block);
    for (unsigned i = 0; i < p->mbarrier_count; i++) {
        cpu_mbarrier *barrier = &block->mbarriers[i];
        cpu_phase_wait *waits = barrier->waits;
        cpu_expectation *open = barrier->open;
        size_t capacity = barrier->open_capacity;
        forget(barrier);
        memset(waits, 0, sizeof *waits * p->agents);
        *barrier = (cpu_mbarrier){
            .waits = waits, .open = open, .open_capacity = capacity, .key = key_of(run, block, i)};
    }
}

void cpu_destroy_mbarriers(const cpu_program *program, cpu_block *block) {
    for (unsigned i = 0; block->mbarriers && i < program->mbarrier_count; i++) {
        forget(&block->mbarriers[i]);
        free(block->mbarriers[i].waits);
        free(block->mbarriers[i].open);
    }
    free(block->mbarriers);
}

cpu_mbarrier *cpu_mbarrier_of(const cpu_run *run, const cpu_block *block, uint32_t offset) {
    const cpu_program *p = run->program;
    for (unsigned i = 0; i < p->barrier_buffer_count; i++) {
        const cpu_barrier_buffer *buffer = &p->barrier_buffers[i];
        uint32_t inside = offset - buffer->offset;
        if (offset >= buffer->offset && inside < buffer->count * BYTES)
            return &block->mbarriers[buffer->first + inside / BYTES];
    }
    return NULL;
}

/* Finding -------------------------------------------------------------------------------------- */

static bool fault_use(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                      cpu_mbarrier_at at, const char *what) {
    cpu_fault(run, agent, insn, lane, "%%%s[%u] %s", insn->name, at.index, what);
    if (at.barrier->init)
        tile_report(run->context, TILE_NOTE, at.barrier->init->loc, "it is initialized here");
    return false;
}

/* At level 3 the text decides where buffers are, so another buffer may have overwritten the
 * barrier. */
static bool is_intact(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                      cpu_mbarrier_at at) {
    const cpu_shadow *shadow = &at.owner->shadow[at.offset >> run->program->granule_bits];
    const cpu_insn *writer = &run->program->insns[shadow->write_insn];
    if (run->program->level != 3 || !shadow->writer || writer == at.barrier->init) return true;
    fault_use(run, agent, insn, lane, at, "has been overwritten: another buffer has its bytes");
    tile_report(run->context, TILE_NOTE, writer->loc, "by this %s",
                tile_opcode_spelling(writer->opcode));
    return false;
}

/* Returns whether this thread is ordered after the initialization of the barrier. */
static bool is_published(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                         cpu_mbarrier_at at) {
    const cpu_mbarrier *b = at.barrier;
    if (!b->count) return fault_use(run, agent, insn, lane, at, "has not been initialized");
    if (!is_intact(run, agent, insn, lane, at)) return false;
    bool own = b->init_agent == agent->clock.agent;
    bool same = lane < 0 || (unsigned)lane == b->init_lane || b->init_time < agent->last_sync_time;
    if (own ? !same : !cpu_lane_knows(agent, lane, b->init_agent, b->init_time))
        return fault_use(
            run, agent, insn, lane, at,
            "may not be initialized yet: a barrier between its mbarrier_init and this is missing");
    return at.owner == agent->block || b->fenced ||
           fault_use(
               run, agent, insn, lane, at,
               "belongs to another block, which needs mbarrier_fence after its mbarrier_init");
}

static bool find_place(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint32_t buffer, int64_t index, cpu_mbarrier_at *at) {
    int64_t count = tile_type_elements(insn->memory);
    if (index < 0 || index >= count) {
        cpu_fault(run, agent, insn, lane,
                  "out of bounds: there is no barrier %" PRId64 " in %%%s, which has %" PRId64,
                  index, insn->name, count);
        return false;
    }
    at->owner = cpu_find_owner(run, agent, insn, lane, buffer);
    if (!at->owner) return false;
    at->index = (uint32_t)index;
    at->offset = cpu_buffer_offset(insn, buffer) + (uint32_t)index * BYTES;
    at->barrier = cpu_mbarrier_of(run, at->owner, at->offset);
    return true;
}

bool cpu_find_mbarrier(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint32_t buffer, int64_t index, cpu_mbarrier_at *at) {
    return find_place(run, agent, insn, lane, buffer, index, at) &&
           is_published(run, agent, insn, lane, *at);
}

/* Initialization ------------------------------------------------------------------------------- */

static bool init(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane, cpu_mbarrier_at at,
                 int64_t count) {
    cpu_mbarrier *b = at.barrier;
    if (b->count)
        return fault_use(run, agent, insn, lane, at, "is initialized again, while it is in use");
    if (count < 1 || count > MAX_BYTES) {
        cpu_fault(run, agent, insn, lane, "the count is %" PRId64 ", it must be 1 to %d", count,
                  MAX_BYTES);
        return false;
    }
    b->count = b->pending = (uint32_t)count;
    b->init = insn;
    b->init_agent = agent->clock.agent;
    b->init_time = agent->clock.time;
    b->init_lane = lane < 0 ? CPU_LANES : (unsigned)lane;
    agent->clock.used = true;
    cpu_clock_start(&b->arriving, b->key);
    return true;
}

/* integer: the buffer's offset. Level 2 initializes all of its barriers, followed by a block
 * barrier. In a mixed kernel that barrier comes before the first possible use. */
CPU_HANDLER(cpu_run_alloc_barrier) {
    cpu_run_alloc_shared(run, agent, insn);
    uint32_t buffer = *(const uint32_t *)cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < (uint32_t)tile_type_elements(insn->type); i++) {
        cpu_mbarrier_at at = {.owner = agent->block, .index = i};
        at.barrier = cpu_mbarrier_of(run, agent->block, buffer + i * BYTES);
        if (!init(run, agent, insn, -1, at, insn->second_count)) return CPU_STOP;
        at.barrier->fenced = true;
    }
    if (run->program->of_warps) return CPU_NEXT;
    return cpu_arrive_at_barrier(run, agent, insn, 0, run->program->warps, true);
}

CPU_HANDLER(cpu_run_mbarrier_init) {
    const uint32_t *buffers = cpu_at(run, agent, insn->operand[0]);
    const int32_t *index = cpu_at(run, agent, insn->index[0]);
    const int32_t *count = cpu_at(run, agent, insn->operand[1]);
    for (unsigned lane = 0; lane < CPU_LANES; lane++) {
        cpu_mbarrier_at at;
        if (!(agent->mask >> lane & 1)) continue;
        if (!find_place(run, agent, insn, (int)lane, buffers[lane], index[lane], &at) ||
            !cpu_shared_write(run, agent, insn, (int)lane, cpu_thread(agent, lane),
                              buffers[lane] + at.index * BYTES, BYTES) ||
            !init(run, agent, insn, (int)lane, at, count[lane]))
            return CPU_STOP;
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_mbarrier_fence) {
    (void)insn;
    for (unsigned i = 0; i < run->program->mbarrier_count; i++) {
        cpu_mbarrier *b = &agent->block->mbarriers[i];
        if (b->count && b->init_agent == agent->clock.agent && agent->mask >> b->init_lane & 1)
            b->fenced = true;
    }
    return CPU_NEXT;
}

/* Arrivals ------------------------------------------------------------------------------------- */

cpu_known *cpu_barrier_release(const cpu_run *run, cpu_agent *agent, uint32_t lanes) {
    uint64_t parts[CPU_LANES + 1];
    unsigned count = 0;
    bool partial = agent->clock.partial && lanes & agent->partial_lanes;
    bool all = !(agent->accessed_lanes & ~lanes) && (partial || !agent->clock.partial);
    if (run->program->lanes == 1 || all) return cpu_clock_release(&agent->clock);
    for (unsigned lane = 0; lane < CPU_LANES; lane++)
        if (lanes >> lane & 1) parts[count++] = cpu_lane_key(agent->clock.agent, lane);
    parts[count++] = cpu_warp_key(agent->clock.agent);
    return cpu_clock_release_part(&agent->clock, agent->last_sync_time, parts, count, partial);
}

static bool is_past(const cpu_mbarrier *b, uint64_t number, uint32_t time) {
    return cpu_clock_knows(&b->arriving, number, time) ||
           cpu_clock_knows(&b->arriving, number + CPU_LOADS_DONE, time) ||
           cpu_clock_knows(&b->arriving, number + CPU_ISSUED_BEFORE, time);
}

static bool knows_wait(const cpu_mbarrier *b, uint64_t agent, const cpu_phase_wait *wait) {
    bool all = true;
    if (is_past(b, agent, wait->time)) return true;
    for (unsigned lane = 0; lane < CPU_LANES && all; lane++)
        if (wait->lanes >> lane & 1) all = is_past(b, cpu_lane_key(agent, lane), wait->time);
    return all && wait->lanes;
}

/* Finds a wait for the preceding phase that is not ordered before this phase's end. In another
 * order of execution it would have seen this phase, which has the other parity. */
static bool check_waits(cpu_run *run, cpu_mbarrier_at at) {
    const cpu_mbarrier *b = at.barrier;
    for (unsigned a = 0; a < run->program->agents; a++) {
        const cpu_phase_wait *wait = &b->waits[a];
        const cpu_agent *agent = &at.owner->agents[a];
        if (!wait->time || wait->phase != b->phase - 1 || knows_wait(b, agent->clock.agent, wait))
            continue;
        const cpu_insn *insn = &run->program->insns[wait->insn];
        if (wait->again)
            cpu_fault(run, agent, insn, -1,
                      "the wait may pass one round early: nothing orders it before phase %" PRId64
                      " of %%%s[%u] is complete, and phase %" PRId64 " has the parity it names",
                      b->phase, insn->name, at.index, wait->phase);
        else
            cpu_fault(run, agent, insn, -1,
                      "the wait may come too late: nothing orders it before phase %" PRId64
                      " of %%%s[%u] is complete, and then phase %" PRId64
                      ", for which it waits, has the parity of the one to come",
                      b->phase, insn->name, at.index, wait->phase);
        if (b->last) {
            tile_arena scratch = {0};
            tile_report(run->context, TILE_NOTE, b->last->loc,
                        "the last arrival of phase %" PRId64 ": by %s", b->phase,
                        cpu_agent_name(&scratch, run, b->last_agent));
            tile_arena_reset(&scratch);
        }
        return false;
    }
    return true;
}

/* A copy that started in a phase must complete in it. */
static bool check_copies(cpu_run *run, cpu_mbarrier_at at) {
    const cpu_mbarrier *b = at.barrier;
    const cpu_insn *insn = b->expected ? b->expected : b->last;
    if (b->pending_transfers <= 0) return true;
    cpu_fault(run, b->last_agent ? b->last_agent : &at.owner->agents[0], insn ? insn : b->init, -1,
              "phase %" PRId64 " of a barrier, number %u of its buffer, is complete, and %" PRId64
              " bytes of copies that it counts are under way: fewer bytes are expected than copied",
              b->phase, at.index, b->pending_transfers);
    return false;
}

/* In another order of execution the phase could be complete already, and the next one would count
 * the bytes. */
static bool check_expectations(cpu_run *run, cpu_mbarrier_at at) {
    const cpu_mbarrier *b = at.barrier;
    const cpu_expectation *e = b->open;
    if (!b->open_count) return true;
    cpu_fault(run, e->agent, e->insn, e->lane,
              "its bytes may come too late for phase %" PRId64
              " of %%%s[%u]: no arrival of that phase comes after this, so that it may be complete "
              "before, and the next one counts them",
              b->phase, e->insn->name, at.index);
    if (b->last)
        tile_report(run->context, TILE_NOTE, b->last->loc, "the last arrival of phase %" PRId64,
                    b->phase);
    return false;
}

/* Completes the phase if no arrivals or bytes are missing. The next phase begins. */
static bool try_complete_phase(cpu_run *run, cpu_mbarrier_at at) {
    cpu_mbarrier *b = at.barrier;
    if (b->pending || b->bytes) return true;
    if (!check_copies(run, at) || !check_expectations(run, at) || !check_waits(run, at))
        return false;
    cpu_known_drop(b->complete);
    b->complete = cpu_clock_release(&b->arriving);
    cpu_known_drop(b->arriving.known);
    b->arriving.known = NULL;
    cpu_known_drop(b->completed_remotely);
    b->completed_remotely = b->from_remote.known;
    b->from_remote.known = NULL;
    b->phase++;
    b->pending = b->count;
    run->counts->barriers++;
    for (unsigned a = 0; a < run->program->agents; a++)
        if (at.owner->agents[a].state == CPU_AT_MBARRIER) at.owner->agents[a].state = CPU_READY;
    return true;
}

/* The block's scope does not include another block: only the completion of loads is released
 * there. */
static void release_to(cpu_mbarrier *b, const cpu_insn *insn, bool afar, cpu_known *known) {
    if (!afar) {
        cpu_clock_acquire(&b->arriving, known);
        return;
    }
    cpu_known *done = cpu_known_weaken(known, CPU_LOADS_DONE);
    cpu_clock_acquire(&b->arriving, done);
    cpu_known_drop(done);
    if (insn->scope == TILE_WORD_scope_cluster) cpu_clock_acquire(&b->from_remote, known);
}

/* An arrival closes the expectations that precede it: those of its own warp, or those it knows. */
static void close_expectations(const cpu_agent *agent, cpu_mbarrier *b, const cpu_known *known) {
    size_t left = 0;
    for (size_t i = 0; i < b->open_count; i++) {
        const cpu_expectation *e = &b->open[i];
        uint64_t number = e->agent->clock.agent;
        bool behind = e->agent == agent || cpu_known_time(known, number) >= e->time ||
                      (e->lane >= 0 &&
                       cpu_known_time(known, cpu_lane_key(number, (unsigned)e->lane)) >= e->time);
        if (!behind) b->open[left++] = *e;
    }
    b->open_count = left;
}

bool cpu_barrier_arrive(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        cpu_mbarrier_at at, unsigned count, cpu_known *known) {
    cpu_mbarrier *b = at.barrier;
    if (count > b->pending) {
        cpu_fault(run, agent, insn, lane,
                  "%u arrival%s at %%%s[%u], where %u of %u are missing in phase %" PRId64
                  ": more arrivals than its count",
                  count, count == 1 ? "" : "s", insn->name, at.index, b->pending, b->count,
                  b->phase);
        if (b->last) tile_report(run->context, TILE_NOTE, b->last->loc, "the arrival before it");
        return false;
    }
    release_to(b, insn, agent->block != at.owner, known);
    close_expectations(agent, b, known);
    b->pending -= count;
    b->last = insn;
    b->last_agent = agent;
    return try_complete_phase(run, at);
}

static void open_expectation(cpu_agent *agent, const cpu_insn *insn, int lane, cpu_mbarrier *b) {
    if (b->open_count == b->open_capacity) {
        b->open_capacity = b->open_capacity ? 2 * b->open_capacity : 4;
        b->open = tile_realloc(b->open, sizeof *b->open * b->open_capacity);
    }
    agent->clock.used = true;
    b->open[b->open_count++] = (cpu_expectation){agent, insn, agent->clock.time, lane};
}

bool cpu_barrier_expect(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        cpu_mbarrier_at at, int64_t bytes) {
    cpu_mbarrier *b = at.barrier;
    b->bytes += bytes;
    b->expected = insn;
    if (bytes) open_expectation(agent, insn, lane, b);
    if (bytes >= 0 && b->bytes <= MAX_BYTES) return true;
    cpu_fault(run, agent, insn, lane,
              "%%%s[%u] cannot expect %" PRId64 " bytes: a phase counts up to %d", insn->name,
              at.index, b->bytes, MAX_BYTES);
    return false;
}

bool cpu_barrier_complete(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                          cpu_mbarrier_at at, int64_t bytes, cpu_known *known) {
    cpu_mbarrier *b = at.barrier;
    if (!b->fenced)
        return fault_use(
            run, agent, insn, lane, at,
            "is not visible to asynchronous copies: add mbarrier_fence after its mbarrier_init");
    b->bytes -= bytes;
    b->pending_transfers -= bytes;
    cpu_clock_acquire(&b->arriving, known);
    cpu_clock_acquire(&b->arriving, agent->block->cause);
    return try_complete_phase(run, at);
}

/* End of a block ------------------------------------------------------------------------------- */

bool cpu_mbarriers_may_end(cpu_run *run, cpu_block *block) {
    for (unsigned i = 0; i < run->program->mbarrier_count; i++) {
        const cpu_mbarrier *b = &block->mbarriers[i];
        if (!b->bytes) continue;
        const cpu_insn *insn = b->expected ? b->expected : b->last ? b->last : b->init;
        if (b->bytes > 0)
            cpu_fault(run, &block->agents[0], insn, -1,
                      "the block ends, and %" PRId64
                      " bytes that a barrier expects have not been written: more are expected "
                      "than copied",
                      b->bytes);
        else
            cpu_fault(run, &block->agents[0], insn, -1,
                      "the block ends, and %" PRId64
                      " bytes more have been written than the barrier expects",
                      -b->bytes);
        return false;
    }
    return true;
}
