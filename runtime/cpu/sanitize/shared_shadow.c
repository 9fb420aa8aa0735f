/* The shadow of shared memory: it finds races, uninitialized reads, and accesses to copies in
 * flight.
 *
 * Each granule (the smallest element of the kernel's buffers) has a cell with its last write and
 * the reads since then, at most one for each agent: an access ordered after an agent's later read
 * is also ordered after its earlier ones. Two threads race if they access the same granule, one of
 * them writes, and nothing orders them, in whatever order they run here. Clocks (clocks.h) order
 * threads of different agents. Only a barrier of their agent orders lanes of the same agent. Most
 * barriers are block barriers, so `settled` times are checked first. Atomic accesses do not race
 * with each other. The last atomic access of each agent since the write is in a separate list.
 *
 * Memory belongs to a block, which owns its cells and lists. The accessing agent may be in another
 * block of its cluster. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/support/arena.h"
#include "runtime/cpu/sanitize/check.h"
#include "runtime/cpu/sanitize/global_shadow.h"

/* An access that is being checked cell by cell. */
typedef struct access {
    cpu_run *run;
    cpu_agent *agent;
    cpu_block *owner; /* owner of the memory */
    const cpu_insn *insn;
    int lane;
    uint16_t thread;
    uint32_t number; /* number of the instruction */
} access;

static access begin_access(cpu_run *run, cpu_agent *agent, cpu_block *owner, const cpu_insn *insn,
                           int lane, uint16_t thread) {
    agent->clock.used = true;
    agent->accessed_lanes |= lane < 0 ? UINT32_MAX : UINT32_C(1) << lane;
    return (access){run, agent, owner, insn, lane, thread, (uint32_t)(insn - run->program->insns)};
}

/* The range of granules that contain these bytes. */
static void granules(const cpu_run *run, uint32_t offset, uint32_t bytes, uint32_t *first,
                     uint32_t *end) {
    unsigned bits = run->program->granule_bits;
    *first = offset >> bits;
    *end = (offset + bytes + (1u << bits) - 1) >> bits;
}

/* Order ---------------------------------------------------------------------------------------- */

/* The number of the thread's agent in its cluster. */
static unsigned agent_of(uint16_t thread) {
    return (thread - 1u) / (CPU_LANES + 1);
}

static cpu_agent *find_agent(const access *a, uint16_t thread) {
    unsigned agents = a->run->program->agents, number = agent_of(thread);
    return &a->owner->cluster->blocks[number / agents]->agents[number % agents];
}

static bool is_one_thread(uint16_t thread) {
    return (thread - 1u) % (CPU_LANES + 1) != CPU_LANES;
}

/* The lane that makes the access; -1: several lanes. */
static int lane_of(const access *a) {
    return is_one_thread(a->thread) ? (int)((a->thread - 1u) % (CPU_LANES + 1)) : -1;
}

/* Returns whether the access is ordered after what the thread did at this time. `more` is added to
 * the numbers that are looked up in the clock. */
static bool is_known(const access *a, uint16_t thread, uint32_t time, uint64_t more) {
    const cpu_agent *agent = a->agent;
    uint64_t number = agent->clock.agent - agent->number + agent_of(thread);
    if (cpu_lane_knows(agent, lane_of(a), number + more, time)) return true;
    unsigned its = (thread - 1u) % (CPU_LANES + 1);
    return is_one_thread(thread) &&
           cpu_lane_knows(agent, lane_of(a), cpu_lane_key(number, its) + more, time);
}

static bool is_before(const access *a, uint16_t thread, uint32_t time) {
    const cpu_agent *agent = a->agent;
    if (thread == CPU_PUBLISHED) {
        const cpu_publication *p = &a->owner->publications[time];
        return cpu_lane_knows(agent, lane_of(a), p->key, p->time);
    }
    unsigned other = agent_of(thread), first = agent->number - agent->index;
    bool same_block = other - first < a->run->program->agents;
    if (same_block && time <= agent->block->settled) return true;
    if (other == agent->number)
        return (thread == a->thread && is_one_thread(thread)) || time < agent->last_sync_time;
    return is_known(a, thread, time, 0);
}

/* The same for a read of the thread, where the completion of the load is sufficient. */
static bool is_read(const access *a, uint16_t thread, uint32_t time) {
    return is_before(a, thread, time) || is_known(a, thread, time, CPU_LOADS_DONE);
}

/* Faults --------------------------------------------------------------------------------------- */

static bool fault_at(const access *a, const char *what, uint32_t granule) {
    tile_arena scratch = {0};
    bool own = a->owner == a->agent->block;
    cpu_fault(a->run, a->agent, a->insn, a->lane,
              "%s, at byte %" PRIu64 " of %s shared memory%s%s (%%%s)", what,
              (uint64_t)granule << a->run->program->granule_bits, own ? "the block's" : "the",
              own ? "" : " of ", own ? "" : cpu_block_name(&scratch, a->owner), a->insn->name);
    tile_arena_reset(&scratch);
    return false;
}

/* Reports an access to a copy that has landed, but whose phase this thread does not know. */
static bool fault_published(const access *a, const char *what, uint32_t granule,
                            const cpu_insn *insn) {
    tile_arena scratch = {0};
    fault_at(a, tile_arena_format(&scratch, "data race: %s", what), granule);
    tile_report(a->run->context, TILE_NOTE, insn->loc,
                "the other access: %s, which is complete where its barrier has been waited for",
                tile_opcode_spelling(insn->opcode));
    tile_arena_reset(&scratch);
    return false;
}

static bool fault_race(const access *a, const char *what, uint32_t granule, uint16_t thread,
                       uint32_t number) {
    const cpu_insn *insn = &a->run->program->insns[number];
    tile_arena scratch = {0};
    if (thread == CPU_PUBLISHED) return fault_published(a, what, granule, insn);
    const cpu_agent *other = find_agent(a, thread);
    bool partial = other->block != a->agent->block;
    const char *name =
        partial ? cpu_block_name(&scratch, other->block) : cpu_agent_name(&scratch, a->run, other);
    fault_at(a, tile_arena_format(&scratch, "data race: %s", what), granule);
    tile_report(a->run->context, TILE_NOTE, insn->loc, "the other access: %s, by %s%s",
                tile_opcode_spelling(insn->opcode), name,
                partial
                    ? "; cluster_arrive and cluster_wait between the two order them, or a barrier "
                      "in shared memory and {scope = cluster}"
                    : "");
    tile_arena_reset(&scratch);
    return false;
}

/* Reports an access to a copy in flight, and the wait that is missing or waits for another
 * phase. */
static bool fault_in_flight(const access *a, const char *what, const cpu_shadow *shadow,
                            uint32_t granule) {
    const cpu_insn *copy = &a->run->program->insns[shadow->write_insn];
    const char *name = tile_opcode_spelling(copy->opcode);
    tile_arena scratch = {0};
    fault_at(a, tile_arena_format(&scratch, "%s while an asynchronous copy is in flight", what),
             granule);
    if (copy->at_barrier)
        tile_report(a->run->context, TILE_NOTE, copy->loc,
                    "the copy: %s, complete where its phase of %%%s has been waited for", name,
                    copy->at_barrier->name);
    else
        tile_report(
            a->run->context, TILE_NOTE, copy->loc,
            "the copy: %s; it is complete after the wait_group that covers it and a barrier", name);
    tile_arena_reset(&scratch);
    return false;
}

/* Readers -------------------------------------------------------------------------------------- */

static uint32_t new_reader(cpu_block *block, cpu_reader reader) {
    uint32_t index = block->free_reader;
    if (index) {
        block->free_reader = block->readers[index].next;
    } else {
        if (block->reader_count >= block->reader_capacity) {
            block->reader_capacity = block->reader_capacity ? 2 * block->reader_capacity : 256;
            block->readers =
                tile_realloc(block->readers, sizeof *block->readers * block->reader_capacity);
        }
        index = block->reader_count++;
    }
    block->readers[index] = reader;
    return index;
}

static void drop_list(cpu_block *block, uint32_t list) {
    for (uint32_t at = list, next; at; at = next) {
        next = block->readers[at].next;
        block->readers[at].next = block->free_reader;
        block->free_reader = at;
    }
}

static void drop_readers(cpu_block *block, cpu_shadow *shadow) {
    drop_list(block, shadow->readers);
    drop_list(block, shadow->updates);
    shadow->readers = shadow->reader = 0;
    shadow->updates = 0;
}

/* Removes the agent's own earlier read, and reads ordered before this one. */
static void prune_readers(const access *a, cpu_shadow *shadow) {
    cpu_block *block = a->owner;
    for (uint32_t *at = &shadow->readers; *at;) {
        cpu_reader *reader = &block->readers[*at];
        bool own = agent_of(reader->thread) == a->agent->number;
        if (!own && !is_before(a, reader->thread, reader->time)) {
            at = &reader->next;
            continue;
        }
        uint32_t index = *at;
        *at = reader->next;
        block->readers[index].next = block->free_reader;
        block->free_reader = index;
    }
}

static void add_read(const access *a, cpu_shadow *shadow) {
    uint16_t thread = a->thread;
    bool own = shadow->reader && agent_of(shadow->reader) == a->agent->number;
    bool before = !shadow->reader || is_before(a, shadow->reader, shadow->read_time);
    if (own && !before) thread = cpu_thread(a->agent, CPU_LANES);
    if (shadow->readers) prune_readers(a, shadow);
    if (!own && !before) {
        cpu_reader other = {shadow->reader, shadow->read_time, shadow->read_insn, shadow->readers,
                            0};
        shadow->readers = new_reader(a->owner, other);
    }
    shadow->reader = thread;
    shadow->read_time = a->agent->clock.time;
    shadow->read_insn = a->number;
}

/* Atomic accesses ------------------------------------------------------------------------------ */

static void add_update(const access *a, cpu_shadow *shadow) {
    cpu_block *block = a->owner;
    uint32_t at = shadow->updates;
    while (at && agent_of(block->readers[at].thread) != a->agent->number)
        at = block->readers[at].next;
    if (!at) {
        cpu_reader own = {a->thread, a->agent->clock.time, a->number, shadow->updates,
                          (uint32_t)a->agent->fence_count};
        shadow->updates = new_reader(block, own);
        return;
    }
    cpu_reader *own = &block->readers[at];
    bool before = is_before(a, own->thread, own->time);
    own->thread = before ? a->thread : cpu_thread(a->agent, CPU_LANES);
    own->time = a->agent->clock.time;
    own->insn = a->number;
    own->fences = (uint32_t)a->agent->fence_count;
}

/* Accesses ------------------------------------------------------------------------------------- */

/* Checks that this access is ordered after all entries of a list, according to is_fine. */
static bool check_list(const access *a, uint32_t list,
                       bool (*is_fine)(const access *, uint16_t, uint32_t), const char *what,
                       uint32_t granule) {
    for (uint32_t at = list; at; at = a->owner->readers[at].next) {
        const cpu_reader *other = &a->owner->readers[at];
        if (!is_fine(a, other->thread, other->time))
            return fault_race(a, what, granule, other->thread, other->insn);
    }
    return true;
}

/* False after a report if the read races. */
static bool check_read(const access *a, const cpu_shadow *shadow, uint32_t granule) {
    if (shadow->writer == CPU_IN_FLIGHT) return fault_in_flight(a, "read", shadow, granule);
    if (!shadow->writer && !a->insn->speculative)
        return fault_at(a, "read of uninitialized shared memory", granule);
    if (shadow->writer && !is_before(a, shadow->writer, shadow->write_time))
        return fault_race(a, "read without a barrier after a write", granule, shadow->writer,
                          shadow->write_insn);
    return check_list(a, shadow->updates, is_before,
                      "read without a barrier after an atomic access", granule);
}

bool cpu_cluster_read(cpu_run *run, cpu_agent *agent, cpu_block *owner, const cpu_insn *insn,
                      int lane, uint16_t thread, uint32_t offset, uint32_t bytes) {
    uint32_t first, end;
    if (!owner->shadow) return true;
    access a = begin_access(run, agent, owner, insn, lane, thread);
    granules(run, offset, bytes, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        cpu_shadow *shadow = &owner->shadow[i];
        if (!check_read(&a, shadow, i)) return false;
        add_read(&a, shadow);
    }
    return true;
}

bool cpu_shared_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                     uint16_t thread, uint32_t offset, uint32_t bytes) {
    return cpu_cluster_read(run, agent, agent->block, insn, lane, thread, offset, bytes);
}

/* The thread wrote when its agent had executed `fences` fence_async. Returns whether the thread
 * executed another one since, ordered before this access. */
static bool is_fenced(const access *a, uint16_t thread, uint32_t fences) {
    if (fences == CPU_BY_ASYNC_PROXY) return true;
    const cpu_agent *writer = find_agent(a, thread);
    unsigned lane = (thread - 1u) % (CPU_LANES + 1);
    uint32_t all = a->run->program->lanes == 1 ? 1 : UINT32_MAX;
    uint32_t lanes = lane < CPU_LANES ? UINT32_C(1) << lane : all;
    for (size_t i = fences; i < writer->fence_count; i++)
        if ((writer->fences[i].lanes & lanes) == lanes)
            return is_before(a, thread, writer->fences[i].time);
    return false;
}

static bool fault_fence(const access *a, uint16_t thread, uint32_t number, uint32_t granule) {
    const cpu_insn *insn = &a->run->program->insns[number];
    tile_arena scratch = {0};
    const char *name = cpu_agent_name(&scratch, a->run, find_agent(a, thread));
    fault_at(a,
             tile_arena_format(
                 &scratch, "%s reads data that no fence_async has made visible to the async proxy",
                 tile_opcode_spelling(a->insn->opcode)),
             granule);
    tile_report(a->run->context, TILE_NOTE, insn->loc,
                "written here: %s, by %s; put a fence_async after it, in the thread that writes "
                "and before the barrier",
                tile_opcode_spelling(insn->opcode), name);
    tile_arena_reset(&scratch);
    return false;
}

/* Checks writes and atomic updates of the granule. Where the compiler inserts barriers, it also
 * inserts the fences. False after a report. */
static bool check_fences(const access *a, const cpu_shadow *shadow, uint32_t granule) {
    if (a->run->program->lanes == 1 && a->insn->own_order) return true;
    if (shadow->writer && !is_fenced(a, shadow->writer, shadow->write_fences))
        return fault_fence(a, shadow->writer, shadow->write_insn, granule);
    for (uint32_t at = shadow->updates; at; at = a->owner->readers[at].next) {
        const cpu_reader *update = &a->owner->readers[at];
        if (!is_fenced(a, update->thread, update->fences))
            return fault_fence(a, update->thread, update->insn, granule);
    }
    return true;
}

bool cpu_shared_start_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t offset,
                           uint32_t bytes) {
    return cpu_lane_start_read(run, agent, insn, -1, cpu_thread(agent, CPU_LANES), offset, bytes);
}

bool cpu_lane_start_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                         uint16_t thread, uint32_t offset, uint32_t bytes) {
    uint32_t first, end;
    cpu_block *owner = agent->block;
    if (!owner->shadow) return true;
    access a = begin_access(run, agent, owner, insn, lane, thread);
    granules(run, offset, bytes, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        cpu_shadow *shadow = &owner->shadow[i];
        if (!check_read(&a, shadow, i) || !check_fences(&a, shadow, i)) return false;
        shadow->pending++;
        shadow->pending_thread = a.thread;
        shadow->pending_insn = a.number;
    }
    return true;
}

void cpu_shared_end_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t offset,
                         uint32_t bytes) {
    cpu_lane_end_read(run, agent, insn, -1, cpu_thread(agent, CPU_LANES), offset, bytes);
}

void cpu_lane_end_read(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint16_t thread, uint32_t offset, uint32_t bytes) {
    uint32_t first, end;
    if (!agent->block->shadow) return;
    access a = begin_access(run, agent, agent->block, insn, lane, thread);
    granules(run, offset, bytes, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        agent->block->shadow[i].pending--;
        add_read(&a, &agent->block->shadow[i]);
    }
}

static bool check_reads(const access *a, const cpu_shadow *shadow, uint32_t granule,
                        const char *what) {
    if (!shadow->reader) return true;
    if (!is_read(a, shadow->reader, shadow->read_time))
        return fault_race(a, what, granule, shadow->reader, shadow->read_insn);
    return check_list(a, shadow->readers, is_read, what, granule);
}

/* Returns whether both are stores of the same tile's element to the same address. */
static bool is_one_store(const access *a, const cpu_shadow *shadow) {
    return shadow->writer != CPU_PUBLISHED &&
           cpu_is_same_tile_store(a->agent, a->insn, find_agent(a, shadow->writer),
                                  &a->run->program->insns[shadow->write_insn]);
}

static bool fault_pending(const access *a, const cpu_shadow *shadow, uint32_t granule,
                          const char *what) {
    tile_arena scratch = {0};
    fault_race(
        a,
        tile_arena_format(
            &scratch, "%s while an asynchronous operation that nothing has waited for reads", what),
        granule, shadow->pending_thread, shadow->pending_insn);
    tile_arena_reset(&scratch);
    return false;
}

/* False after a report if the write races. */
static bool check_write(const access *a, const cpu_shadow *shadow, uint32_t granule) {
    if (shadow->writer == CPU_IN_FLIGHT) return fault_in_flight(a, "write", shadow, granule);
    if (shadow->pending) return fault_pending(a, shadow, granule, "write");
    if (shadow->writer && !is_before(a, shadow->writer, shadow->write_time) &&
        !is_one_store(a, shadow))
        return fault_race(a, "write without a barrier after another write", granule, shadow->writer,
                          shadow->write_insn);
    return check_list(a, shadow->updates, is_before,
                      "write without a barrier after an atomic access", granule) &&
           check_reads(a, shadow, granule, "write without a barrier after a read");
}

static bool mark_write(const access *a, uint16_t writer, uint32_t offset, uint32_t bytes) {
    uint32_t first, end;
    if (!a->owner->shadow) return true;
    granules(a->run, offset, bytes, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        cpu_shadow *shadow = &a->owner->shadow[i];
        if (!check_write(a, shadow, i)) return false;
        if (shadow->reader || shadow->updates) drop_readers(a->owner, shadow);
        shadow->writer = writer;
        shadow->write_time = a->agent->clock.time;
        shadow->write_insn = a->number;
        shadow->write_fences = (uint32_t)a->agent->fence_count;
    }
    return true;
}

bool cpu_cluster_write(cpu_run *run, cpu_agent *agent, cpu_block *owner, const cpu_insn *insn,
                       int lane, uint16_t thread, uint32_t offset, uint32_t bytes) {
    access a = begin_access(run, agent, owner, insn, lane, thread);
    return mark_write(&a, thread, offset, bytes);
}

bool cpu_shared_write(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                      uint16_t thread, uint32_t offset, uint32_t bytes) {
    return cpu_cluster_write(run, agent, agent->block, insn, lane, thread, offset, bytes);
}

bool cpu_shared_update(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint16_t thread, uint32_t offset, uint32_t bytes) {
    uint32_t first, end;
    if (!agent->block->shadow) return true;
    access a = begin_access(run, agent, agent->block, insn, lane, thread);
    granules(run, offset, bytes, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        cpu_shadow *shadow = &agent->block->shadow[i];
        if (shadow->writer == CPU_IN_FLIGHT) return fault_in_flight(&a, "updated", shadow, i);
        if (shadow->pending) return fault_pending(&a, shadow, i, "update");
        if (!shadow->writer) return fault_at(&a, "read of uninitialized shared memory", i);
        if (!is_before(&a, shadow->writer, shadow->write_time))
            return fault_race(&a, "atomic access without a barrier after a write", i,
                              shadow->writer, shadow->write_insn);
        if (!check_reads(&a, shadow, i, "atomic access without a barrier after a read"))
            return false;
        add_update(&a, shadow);
    }
    return true;
}

bool cpu_shared_start_copy(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                           uint16_t thread, uint32_t offset, uint32_t bytes) {
    access a = begin_access(run, agent, agent->block, insn, lane, thread);
    return mark_write(&a, CPU_IN_FLIGHT, offset, bytes);
}

bool cpu_cluster_start_copy(cpu_run *run, cpu_agent *agent, cpu_block *owner, const cpu_insn *insn,
                            int lane, uint16_t thread, uint32_t offset, uint32_t bytes) {
    access a = begin_access(run, agent, owner, insn, lane, thread);
    return mark_write(&a, CPU_IN_FLIGHT, offset, bytes);
}

/* Copies of the same phase share a publication. */
static uint32_t add_publication(cpu_block *block, uint64_t key, uint32_t time) {
    uint32_t count = block->publication_count;
    const cpu_publication *last = count ? &block->publications[count - 1] : NULL;
    if (last && last->key == key && last->time == time) return count - 1;
    if (count == block->publication_capacity) {
        block->publication_capacity = count ? 2 * count : 64;
        block->publications = tile_realloc(block->publications, sizeof *block->publications *
                                                                    block->publication_capacity);
    }
    block->publications[block->publication_count++] = (cpu_publication){key, time};
    return count;
}

void cpu_shared_publish(cpu_run *run, cpu_block *block, uint32_t offset, uint32_t bytes,
                        uint64_t key, uint32_t time) {
    uint32_t first, end;
    if (!block->shadow) return;
    uint32_t place = add_publication(block, key, time);
    granules(run, offset, bytes, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        block->shadow[i].writer = CPU_PUBLISHED;
        block->shadow[i].write_time = place;
        block->shadow[i].write_fences = CPU_BY_ASYNC_PROXY;
    }
}

void cpu_shared_end_copy(cpu_run *run, cpu_agent *agent, uint16_t thread, uint32_t time,
                         uint32_t offset, uint32_t bytes) {
    uint32_t first, end;
    granules(run, offset, bytes, &first, &end);
    agent->clock.used = true;
    for (uint32_t i = first; i < end; i++) {
        agent->block->shadow[i].writer = thread;
        agent->block->shadow[i].write_fences = (uint32_t)agent->fence_count;
        agent->block->shadow[i].write_time = time ? time : agent->clock.time;
    }
}

/* Earlier writes become uninitialized memory. What another block has written since this one arrived
 * at the cluster's barrier belongs to the new buffer and is kept. */
void cpu_shared_forget(cpu_run *run, cpu_agent *agent, uint32_t offset, uint32_t bytes) {
    unsigned bits = run->program->granule_bits;
    const access a = {.run = run, .agent = agent, .owner = agent->block};
    for (uint32_t i = offset >> bits; i < (offset + bytes) >> bits; i++) {
        cpu_shadow *shadow = &agent->block->shadow[i];
        if (!shadow->writer || shadow->writer == CPU_IN_FLIGHT) continue;
        if (shadow->writer == CPU_PUBLISHED) {
            if (is_before(&a, shadow->writer, shadow->write_time)) shadow->writer = 0;
            continue;
        }
        bool own = agent_of(shadow->writer) - (agent->number - agent->index) < run->program->agents;
        if (own || is_before(&a, shadow->writer, shadow->write_time)) shadow->writer = 0;
    }
}
