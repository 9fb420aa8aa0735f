/* TMA stores. They read shared memory when the first wait covers them. They write when a wait
 * without `read` covers them, or after the block has ended. Until then, any other access to their
 * destination is a race. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/poison.h"
#include "runtime/cpu/execute/tma.h"

#define FOR_EACH_LANE(lane, mask) \
    for (unsigned lane = 0; lane < CPU_LANES; (lane)++) \
        if ((mask) >> (lane)&1)

/* A range of global memory that a store writes. */
typedef struct target {
    uint64_t begin, end;
} target;

typedef struct targets {
    target *runs;
    size_t count, capacity;
    target all; /* from the first to the last target */
} targets;

struct cpu_bulk {
    cpu_transfer t;
    uint32_t group; /* commit group in its lane */
    bool tile;      /* level 2: writes a tile to `view` */
    bool held;      /* level 2, from registers: `bytes` is filled, and the ring may still be read */
    cpu_view view;
    int64_t at[TILE_MAX_RANK];
    uint8_t *kept; /* level 2: from cpu_snapshot_gather */
    char *bytes;   /* the bytes that it has read; NULL: not read yet */
    targets targets;
};

static cpu_bulk *add_bulk(cpu_agent *agent, cpu_bulk bulk) {
    if (agent->bulk_count == agent->bulk_capacity) {
        agent->bulk_capacity = agent->bulk_capacity ? 2 * agent->bulk_capacity : 16;
        agent->bulks = tile_realloc(agent->bulks, sizeof *agent->bulks * agent->bulk_capacity);
    }
    agent->bulks[agent->bulk_count] = bulk;
    return &agent->bulks[agent->bulk_count++];
}

static void free_bulk(cpu_bulk *bulk) {
    free(bulk->bytes);
    free(bulk->kept);
    free(bulk->targets.runs);
}

/* In flight ------------------------------------------------------------------------------------ */

static void add_target(targets *to, uint64_t begin, uint64_t end) {
    target *last = to->count ? &to->runs[to->count - 1] : NULL;
    if (!to->count || begin < to->all.begin) to->all.begin = begin;
    if (!to->count || end > to->all.end) to->all.end = end;
    if (last && last->end == begin) {
        last->end = end;
        return;
    }
    if (to->count == to->capacity) {
        to->capacity = to->capacity ? 2 * to->capacity : 16;
        to->runs = tile_realloc(to->runs, sizeof *to->runs * to->capacity);
    }
    to->runs[to->count++] = (target){begin, end};
}

static void add_row(targets *to, uint64_t address, int64_t stride, int64_t first, int64_t end,
                    uint64_t size) {
    if (stride == 1)
        add_target(to, address + (uint64_t)first * size, address + (uint64_t)end * size);
    for (int64_t i = first; stride != 1 && i < end; i++) {
        uint64_t at = address + (uint64_t)i * (uint64_t)stride * size;
        add_target(to, at, at + size);
    }
}

static targets find_targets(const cpu_run *run, const cpu_agent *agent, const cpu_bulk *bulk) {
    const cpu_transfer *t = &bulk->t;
    const cpu_insn *insn = t->insn;
    targets found = {NULL, 0, 0, {0, 0}};
    int64_t first, end, stop;
    for (uint32_t row = 0; !bulk->tile && row < t->rows; row++) {
        uint64_t address = cpu_transfer_row(t, row, &first, &end);
        if (first < end) add_row(&found, address, 1, first, end, 1);
    }
    if (!bulk->tile) return found;
    cpu_rows walk = cpu_walk_rows(run, agent, insn, &bulk->view, bulk->at, insn->index_count);
    for (int64_t row = 0; row < walk.rows; row++) {
        uint64_t address = cpu_find_row(&walk, row, &first, &end);
        for (; cpu_next_run(&walk, row, &first, end, &stop); first = stop)
            add_row(&found, address, bulk->view.stride[insn->index_count - 1], first, stop,
                    tile_scalar_bytes(insn->type->scalar));
    }
    return found;
}

/* From now on, until it lands, it may write. */
static void start_bulk(cpu_run *run, cpu_agent *agent, cpu_bulk bulk) {
    bulk.targets = find_targets(run, agent, &bulk);
    add_bulk(agent, bulk);
    run->bulks++;
}

static bool fault_in_flight(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                            uint64_t address, bool writes, const cpu_range *range,
                            const cpu_bulk *bulk) {
    const cpu_insn *store = bulk->t.insn;
    cpu_fault(run, agent, insn, lane,
              "data race: %s offset %" PRIu64 " of %s%s, which a store in flight writes",
              writes ? "writes" : "reads", address - range->begin, *range->name ? "%" : "",
              *range->name ? range->name : "a buffer");
    tile_report(run->context, TILE_NOTE, store->loc,
                "the store: %s, complete where its thread has waited for it by bulk_wait without "
                "{read}",
                tile_opcode_spelling(store->opcode));
    return false;
}

static bool is_hit(const cpu_bulk *bulk, uint64_t begin, uint64_t end, uint64_t *first) {
    const targets *t = &bulk->targets;
    if (!t->count || end <= t->all.begin || begin >= t->all.end) return false;
    for (size_t i = 0; i < t->count; i++)
        if (begin < t->runs[i].end && end > t->runs[i].begin) {
            *first = begin > t->runs[i].begin ? begin : t->runs[i].begin;
            return true;
        }
    return false;
}

bool cpu_bulks_allow(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                     uint64_t address, uint64_t bytes, cpu_access access, const cpu_range *range) {
    uint64_t first;
    for (const cpu_block *block = run->live; block; block = block->next)
        for (unsigned a = 0; a < run->program->agents; a++)
            for (size_t i = 0; i < block->agents[a].bulk_count; i++) {
                const cpu_bulk *bulk = &block->agents[a].bulks[i];
                if (bulk == run->landing || !is_hit(bulk, address, address + bytes, &first) ||
                    (bulk->t.insn->kind && access & CPU_ATOMIC))
                    continue;
                return fault_in_flight(run, agent, insn, lane, first, access & CPU_WRITE, range,
                                       bulk);
            }
    return true;
}

/* Issue ---------------------------------------------------------------------------------------- */

CPU_HANDLER(cpu_run_copy_out) {
    cpu_bulk bulk = {.t = {.insn = insn, .rows = 1, .row_bytes = cpu_stage_bytes(insn->memory)},
                     .group = agent->bulk_commits[0],
                     .tile = true,
                     .view = *(const cpu_view *)cpu_at(run, agent, insn->operand[1])};
    cpu_view_position(run, agent, insn, insn->index, bulk.at);
    if (!cpu_stage_offset(run, agent, insn, 0, insn->second, insn->second_count, insn->memory,
                          &bulk.t.shared) ||
        !cpu_lane_start_read(run, agent, insn, -1, cpu_set_thread(agent, insn), bulk.t.shared,
                             bulk.t.row_bytes) ||
        !cpu_tile_may_escape(run, agent, insn, &bulk.view, bulk.at,
                             insn->poison ? agent->block->poison + bulk.t.shared : NULL))
        return CPU_STOP;
    bulk.kept = cpu_snapshot_gather(run, agent, insn);
    start_bulk(run, agent, bulk);
    return CPU_NEXT;
}

/* Checks that no poison reaches the array. The source in shared memory may not change until it has
 * been read, so this is checked at issue. */
static bool may_escape(cpu_run *run, const cpu_agent *agent, const cpu_transfer *t) {
    const uint8_t *poison = agent->block->poison;
    unsigned size = tile_scalar_bytes(t->insn->memory->scalar);
    int64_t first, end;
    for (uint32_t row = 0; poison && row < t->rows; row++) {
        cpu_transfer_row(t, row, &first, &end);
        for (uint32_t at = (uint32_t)first; at < end; at += size) {
            uint32_t in_piece = at % CPU_TMA_PIECE, byte = row * t->row_bytes + at - in_piece;
            const uint8_t *found = poison + cpu_transfer_place(t, byte) + in_piece;
            if (!cpu_poison_row_may_escape(run, agent, t->insn, found, 1, size)) return false;
        }
    }
    return true;
}

static cpu_outcome store(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    FOR_EACH_LANE (lane, agent->mask) {
        cpu_transfer t;
        if (!cpu_transfer_start(run, agent, insn, lane, &t) ||
            !cpu_lane_start_read(run, agent, insn, (int)lane, cpu_thread(agent, lane), t.shared,
                                 cpu_transfer_bytes(&t)) ||
            !may_escape(run, agent, &t))
            return CPU_STOP;
        start_bulk(run, agent, (cpu_bulk){.t = t, .group = agent->bulk_commits[lane]});
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_tma_store) {
    return store(run, agent, insn);
}

CPU_HANDLER(cpu_run_bulk_store) {
    return store(run, agent, insn);
}

static bool land(cpu_run *run, cpu_agent *agent, cpu_bulk *bulk);

/* Before a stage of the ring is reused, its previous contents have been read; that store lands
 * now. */
static bool finish_ring(cpu_run *run, cpu_agent *agent, uint32_t ring) {
    size_t kept = 0;
    bool ok = true;
    for (size_t i = 0; i < agent->bulk_count; i++) {
        cpu_bulk *bulk = &agent->bulks[i];
        if (!ok || !bulk->held || bulk->t.shared != ring) {
            agent->bulks[kept++] = *bulk;
            continue;
        }
        ok = land(run, agent, bulk);
    }
    agent->bulk_count = kept;
    return ok;
}

/* Stores whole tiles asynchronously. Only level 3 splits them into pieces in shared memory. */
CPU_HANDLER(cpu_run_store_async) {
    if (cpu_maybe_preempt(run, agent)) return CPU_PAUSE;
    uint32_t ring = *(const uint32_t *)cpu_at(run, agent, insn->operand[2]);
    size_t size = cpu_value_elements(insn->type) * (size_t)tile_scalar_bytes(insn->type->scalar);
    cpu_bulk bulk = {.t = {.insn = insn, .shared = ring},
                     .group = agent->bulk_commits[0],
                     .tile = true,
                     .held = true,
                     .view = *(const cpu_view *)cpu_at(run, agent, insn->operand[1])};
    cpu_view_position(run, agent, insn, insn->index, bulk.at);
    if (!finish_ring(run, agent, ring) ||
        !cpu_tile_may_escape(run, agent, insn, &bulk.view, bulk.at,
                             insn->poison ? agent->poison + insn->operand[0] : NULL))
        return CPU_STOP;
    bulk.bytes = tile_malloc(size);
    memcpy(bulk.bytes, cpu_at(run, agent, insn->operand[0]), size);
    start_bulk(run, agent, bulk);
    return cpu_run_bulk_commit(run, agent, insn);
}

CPU_HANDLER(cpu_run_bulk_commit) {
    (void)run;
    (void)insn;
    FOR_EACH_LANE (lane, agent->mask) agent->bulk_commits[lane]++;
    return CPU_NEXT;
}

/* Reads the bytes that the store copies from shared memory. */
static void read_source(cpu_run *run, cpu_agent *agent, cpu_bulk *bulk) {
    const cpu_transfer *t = &bulk->t;
    uint16_t thread = bulk->tile ? cpu_set_thread(agent, t->insn) : cpu_thread(agent, t->lane);
    bulk->bytes = tile_malloc(cpu_transfer_bytes(t));
    if (!t->array) memcpy(bulk->bytes, agent->block->shared + t->shared, cpu_transfer_bytes(t));
    for (uint32_t at = 0; t->array && at < cpu_transfer_bytes(t); at += CPU_TMA_PIECE)
        memcpy(bulk->bytes + at, agent->block->shared + cpu_transfer_place(t, at), CPU_TMA_PIECE);
    cpu_lane_end_read(run, agent, t->insn, bulk->tile ? -1 : (int)t->lane, thread, t->shared,
                      cpu_transfer_bytes(t));
}

static bool write_target(cpu_run *run, cpu_agent *agent, const cpu_bulk *bulk) {
    const cpu_transfer *t = &bulk->t;
    const cpu_insn *insn = t->insn;
    cpu_access access = insn->kind ? CPU_ATOMIC_UPDATE : CPU_WRITE;
    if (bulk->tile)
        return cpu_store_tile(run, agent, insn, &bulk->view, bulk->at, bulk->kept, bulk->bytes);
    for (uint32_t row = 0; row < t->rows; row++) {
        int64_t first, end;
        uint64_t address = cpu_transfer_row(t, row, &first, &end);
        const char *from = bulk->bytes + (size_t)row * t->row_bytes;
        if (!cpu_transfer_check(run, agent, t, address, first, end, access)) return false;
        if (first < end && !insn->kind)
            memcpy((void *)(uintptr_t)(address + (uint64_t)first), from + first,
                   (size_t)(end - first));
        for (int64_t at = first; insn->kind && at < end; at += insn->size)
            cpu_update_element(insn, (void *)(uintptr_t)(address + (uint64_t)at), from + at);
    }
    return true;
}

/* Writes the bytes, and frees the store. False after a report. */
static bool land(cpu_run *run, cpu_agent *agent, cpu_bulk *bulk) {
    run->landing = bulk;
    bool ok = write_target(run, agent, bulk);
    run->landing = NULL;
    run->bulks--;
    free_bulk(bulk);
    *bulk = (cpu_bulk){.group = 0}; /* the store is no longer in flight */
    return ok;
}

/* Returns whether a wait that leaves the lane's `pending` latest groups covers this store. */
static bool is_covered(const cpu_agent *agent, const cpu_bulk *bulk, int64_t pending) {
    return agent->mask >> bulk->t.lane & 1 &&
           bulk->group + pending < agent->bulk_commits[bulk->t.lane];
}

CPU_HANDLER(cpu_run_bulk_wait) {
    size_t kept = 0;
    bool ok = true;
    for (size_t i = 0; i < agent->bulk_count; i++) {
        cpu_bulk *bulk = &agent->bulks[i];
        bool covered = ok && is_covered(agent, bulk, insn->integer);
        if (covered && !bulk->bytes) read_source(run, agent, bulk);
        if (covered) bulk->held = false;
        if (!covered || insn->flag) {
            agent->bulks[kept++] = *bulk;
            continue;
        }
        ok = land(run, agent, bulk);
    }
    agent->bulk_count = kept;
    return ok ? CPU_NEXT : CPU_STOP;
}

/* Completes stores that have read their source. Others would read the memory of another block: a
 * fault. */
bool cpu_end_bulks(cpu_run *run, cpu_agent *agent) {
    bool ok = true;
    for (size_t i = 0; i < agent->bulk_count && ok; i++) {
        cpu_bulk *bulk = &agent->bulks[i];
        ok = bulk->bytes && !bulk->held;
        if (!ok)
            cpu_fault(run, agent, bulk->t.insn, bulk->tile ? -1 : (int)bulk->t.lane,
                      "the thread ends, and the store may not have read its shared memory yet: %s "
                      "missing after it",
                      bulk->held ? "bulk_wait 0 {read} is"
                                 : "bulk_commit and bulk_wait 0 {read} are");
        run->landing = bulk;
        ok = ok && write_target(run, agent, bulk);
        run->landing = NULL;
    }
    run->bulks -= agent->bulk_count;
    cpu_drop_bulks(agent);
    return ok;
}

void cpu_drop_bulks(cpu_agent *agent) {
    for (size_t i = 0; i < agent->bulk_count; i++) free_bulk(&agent->bulks[i]);
    agent->bulk_count = 0;
}

void cpu_transfer_bulks(cpu_agent *to, cpu_agent *from) {
    for (size_t i = 0; i < from->bulk_count; i++)
        add_bulk(to, from->bulks[i])->group += to->bulk_commits[0];
    to->bulk_commits[0] += from->bulk_commits[0];
    from->bulk_count = 0;
}
