/* The order of execution: agents of a block between barriers, blocks of a grid around semaphores.
 *
 * A block runs until it ends, all of its agents wait for a semaphore or the cluster's barrier, or
 * it is preempted. The blocks of a cluster start together. Another cluster starts only if no live
 * block can continue, so few are alive at a time. If no cluster is left to start, or the device is
 * full, the live blocks wait for something that is never released: a deadlock.
 *
 * Agents are preempted before a write to global memory or after a release, while other blocks
 * continue. In natural order this happens to one agent of every second block before its first
 * write, and to each agent that releases while a block waits. With a seed it is random. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/integer.h"
#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/mbarrier.h"
#include "runtime/cpu/execute/products.h"
#include "runtime/cpu/execute/trace.h"

/* Splitmix64. A nonzero state means "shuffle". */
static uint64_t next_random(cpu_run *run) {
    uint64_t z = run->random += UINT64_C(0x9e3779b97f4a7c15);
    run->random += run->random == 0;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

enum {
    MAX_PREEMPTIONS = 4, /* per block, with a seed */
    MAX_PREEMPTED = 4,   /* blocks at a time: each has a frame and shared memory */
    MAX_SLEEP = 4,       /* ticks */
};

/* Blocks --------------------------------------------------------------------------------------- */

static cpu_block *create_block(const cpu_program *program) {
    cpu_block *block = tile_malloc(sizeof *block);
    *block = (cpu_block){.agents = tile_malloc(sizeof(cpu_agent) * program->agents)};
    block->shared = tile_malloc(program->shared_bytes);
    block->shadow =
        tile_malloc(sizeof(cpu_shadow) * ((program->shared_bytes >> program->granule_bits) + 1));
    block->uniform_values =
        tile_malloc(sizeof *block->uniform_values * (program->uniform_count + 1u));
    memset(block->uniform_values, 0, sizeof *block->uniform_values * (program->uniform_count + 1u));
    if (program->shared_poison)
        block->poison = memset(tile_malloc(program->shared_bytes), 0, program->shared_bytes);
    for (unsigned w = 0; w < program->agents; w++) {
        cpu_agent *agent = &block->agents[w];
        *agent = (cpu_agent){.block = block, .index = w, .first = w, .weight = 1};
        agent->visits = tile_malloc(sizeof *agent->visits * (program->uniform_count + 1u));
        agent->masks = tile_malloc(sizeof(uint32_t) * (program->mask_depth + 1u));
        agent->frame = tile_malloc(program->frame_bytes);
        memset(agent->frame, 0, program->frame_bytes);
        if (program->poison)
            agent->poison = memset(tile_malloc(program->frame_bytes), 0, program->frame_bytes);
    }
    return block;
}

static void destroy_blocks(const cpu_program *program, cpu_block *list) {
    for (cpu_block *next; list; list = next) {
        next = list->next;
        for (unsigned w = 0; w < program->agents; w++) {
            free(list->agents[w].visits);
            free(list->agents[w].masks);
            free(list->agents[w].frame);
            free(list->agents[w].poison);
            for (size_t i = 0; i < list->agents[w].copy_count; i++) {
                free(list->agents[w].copies[i].kept);
                free(list->agents[w].copies[i].seen);
            }
            free(list->agents[w].copies);
            free(list->agents[w].fences);
            free(list->agents[w].dots);
            cpu_claims_destroy(list->agents[w].claims);
            cpu_clear_products(&list->agents[w]);
            cpu_drop_bulks(&list->agents[w]);
            free(list->agents[w].bulks);
            cpu_clock_stop(&list->agents[w].clock);
            cpu_order_clear(&list->agents[w].order);
        }
        if (list->cluster) cpu_leave_cluster(list);
        free(list->remote_accesses);
        free(list->agents);
        free(list->shared);
        free(list->shadow);
        for (unsigned u = 0; u < program->uniform_count; u++) free(list->uniform_values[u].values);
        free(list->uniform_values);
        free(list->poison);
        free(list->readers);
        cpu_drop_flights(list);
        free(list->flights);
        cpu_destroy_mbarriers(program, list);
        free(list->publications);
        cpu_clear_barriers(list);
        cpu_clear_ordered_issue(list);
        cpu_clear_warpgroups(program, list);
        free(list);
    }
}

static void start_agent(const cpu_run *run, cpu_block *block, unsigned index, uint64_t number) {
    const cpu_program *program = run->program;
    cpu_agent *agent = &block->agents[index];
    bool block_wide = program->lanes == 1 && index == (program->of_warps ? program->warps : 0);
    bool idle = program->lanes == 1 && index > 0 && !program->of_warps; /* until there are roles */
    bool warp = program->lanes == CPU_LANES || (program->of_warps && !block_wide);
    agent->state = idle ? CPU_DONE : CPU_READY;
    if (block_wide) {
        agent->weight = program->warps;
        agent->first = 0;
    }
    agent->number = block->rank * program->agents + index;
    agent->set = agent->group = 0;
    agent->was_preempted = false;
    agent->has_arrived = false;
    agent->cluster_wait_count = 0;
    agent->pc = program->of_warps && warp ? program->warps_begin : 0;
    agent->depth = 0;
    agent->mask = warp ? UINT32_MAX : 1;
    agent->copy_count = 0;
    agent->fence_count = 0;
    agent->dot_count = 0;
    agent->copies_issued = 0;
    cpu_clear_products(agent);
    memset(agent->bulk_commits, 0, sizeof agent->bulk_commits);
    memset(agent->commits, 0, sizeof agent->commits);
    agent->waited = 0;
    memset(agent->visits, 0, sizeof *agent->visits * program->uniform_count);
    memset(agent->recent, 0, sizeof agent->recent);
    agent->last_sync_time = 1;
    agent->accessed_lanes = 0;
    agent->failed_tests = 0;
    agent->tracing = (cpu_tracing){.arithmetic = NULL};
    cpu_clock_start(&agent->clock, number * program->agents + index);
    cpu_order_clear(&agent->order);
}

/* rank: in the cluster with this number. */
static cpu_block *start_block(cpu_run *run, cpu_cluster *cluster, int64_t cluster_number,
                              unsigned rank) {
    const cpu_program *program = run->program;
    uint64_t number = (uint64_t)cluster_number * cluster->count + rank;
    cpu_block *block = run->idle;
    if (block)
        run->idle = block->next;
    else
        block = create_block(program);
    block->next = NULL;
    block->cluster = cluster;
    block->rank = rank;
    block->ended = false;
    block->settled = 0;
    block->reader_count = 1;
    block->publication_count = 0;
    block->free_reader = 0;
    cpu_clear_barriers(block);
    cpu_clear_ordered_issue(block);
    cpu_clear_warpgroups(program, block);
    block->waits = block->preempted = false;
    block->preemptions_left = run->random ? MAX_PREEMPTIONS : 1;
    cpu_find_block(run, number, block->id);
    memset(block->shadow, 0,
           sizeof(cpu_shadow) * ((program->shared_bytes >> program->granule_bits) + 1));
    for (unsigned u = 0; u < program->uniform_count; u++) block->uniform_values[u].count = 0;
    for (unsigned w = 0; w < program->agents; w++) start_agent(run, block, w, number);
    cpu_clear_mbarriers(run, block);
    return block;
}

/* Starts all blocks of the cluster, in order or shuffled. */
static void start_cluster(cpu_run *run, int64_t number) {
    cpu_cluster *cluster = cpu_cluster_create(run->program->cluster_blocks);
    run->held += cluster->count;
    for (unsigned rank = 0; rank < cluster->count; rank++)
        cluster->blocks[rank] = start_block(run, cluster, number, rank);
    bool shuffled = run->random && cluster->count > 1;
    unsigned first = shuffled ? (unsigned)(next_random(run) % cluster->count) : 0;
    for (unsigned i = cluster->count; i-- > 0;) {
        cpu_block *block = cluster->blocks[(first + i) % cluster->count];
        block->next = run->live;
        run->live = block;
    }
}

/* A block's shared memory stays allocated until all blocks of its cluster have ended. */
static bool end_block(cpu_run *run, cpu_block *block) {
    cpu_cluster *cluster = block->cluster;
    if (!cpu_barriers_may_end(run, block) || !cpu_ordered_issue_may_end(run, block) ||
        !cpu_mbarriers_may_end(run, block) || !cpu_block_may_end(run, block))
        return false;
    block->ended = true;
    if (++cluster->ended < cluster->count) return true;
    run->held -= cluster->count;
    for (unsigned rank = 0, count = cluster->count; rank < count; rank++) {
        cpu_block *idle = cluster->blocks[rank];
        free(idle->remote_accesses);
        idle->remote_accesses = NULL;
        idle->next = run->idle;
        run->idle = idle;
        cpu_leave_cluster(idle); /* the last block frees the cluster */
    }
    return true;
}

/* After a fault: collects blocks that have ended in clusters that have not. */
static void collect_ended(cpu_run *run) {
    for (cpu_block *block = run->live; block; block = block->next)
        for (unsigned rank = 0; rank < block->cluster->count; rank++) {
            cpu_block *other = block->cluster->blocks[rank];
            if (!other->ended) continue;
            other->ended = false;
            other->next = run->idle;
            run->idle = other;
        }
}

/* Preemption ----------------------------------------------------------------------------------- */

static bool may_preempt(const cpu_run *run, const cpu_block *block) {
    unsigned most = run->random ? MAX_PREEMPTED : 1;
    return block->preempted || run->preempted_blocks < most;
}

static void preempt(cpu_run *run, cpu_agent *agent) {
    cpu_block *block = agent->block;
    agent->state = CPU_PREEMPTED;
    run->preempted_blocks += !block->preempted;
    block->preempted = true;
}

bool cpu_maybe_preempt(cpu_run *run, cpu_agent *agent) {
    bool was_here = agent->was_preempted;
    agent->was_preempted = false;
    if (was_here || !agent->block->preemptions_left || !may_preempt(run, agent->block))
        return false;
    if (run->random && next_random(run) % 4) return false;
    agent->block->preemptions_left--;
    agent->was_preempted = true;
    preempt(run, agent);
    return true;
}

cpu_outcome cpu_maybe_preempt_after(cpu_run *run, cpu_agent *agent) {
    bool now = run->random ? next_random(run) % 2 : run->waiting > 0;
    if (!now || !may_preempt(run, agent->block)) return CPU_NEXT;
    agent->pc++;
    preempt(run, agent);
    return CPU_PAUSE;
}

void cpu_yield_spin(cpu_run *run, cpu_agent *agent) {
    agent->block->is_spinning = true;
    preempt(run, agent);
}

/* Preempts regardless of the limits: a loop of updates that waits for another block would otherwise
 * never end. No other block can wait for this agent's next step. */
cpu_outcome cpu_yield_after_updates(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                    bool changed) {
    enum { SPIN_LIMIT = 64 };
    agent->order.unchanged_updates = changed ? 0 : agent->order.unchanged_updates + 1;
    if (agent->order.unchanged_updates < SPIN_LIMIT)
        return insn->releases ? cpu_maybe_preempt_after(run, agent) : CPU_NEXT;
    agent->order.unchanged_updates = 0;
    cpu_yield_spin(run, agent);
    agent->pc++;
    return CPU_PAUSE;
}

static void wake(cpu_run *run, cpu_block *block) {
    for (unsigned w = 0; w < run->program->agents; w++)
        if (block->agents[w].state == CPU_PREEMPTED) block->agents[w].state = CPU_READY;
    block->preempted = false;
    run->preempted_blocks--;
}

/* Agents --------------------------------------------------------------------------------------- */

/* Runs an agent until it cannot continue. False after a fault. */
static bool run_stream(cpu_run *run, cpu_agent *agent) {
    const cpu_insn *insns = run->program->insns;
    uint32_t start = agent->pc;
    uint64_t executed = 0;
    cpu_outcome outcome = CPU_NEXT;
    bool waited = agent->state == CPU_WAITING;
    agent->state = CPU_READY;
    while (outcome == CPU_NEXT || outcome == CPU_JUMP) {
        const cpu_insn *insn = &insns[agent->pc];
        if (executed == run->operations_left) {
            outcome =
                cpu_fault(run, agent, insn, -1, "the launch has executed its limit of operations");
            break;
        }
        if (run->trace) cpu_trace_before(run, agent, insn);
        outcome = insn->handler(run, agent, insn);
        if (run->trace) cpu_trace_after(run, agent, insn, outcome == CPU_PAUSE);
        agent->pc += outcome == CPU_NEXT;
        executed++;
    }
    run->counts->operations += executed - agent->was_preempted;
    run->operations_left -= executed - agent->was_preempted;
    bool still = waited && agent->state == CPU_WAITING && executed == 1 && agent->pc == start;
    agent->block->progressed |= !still;
    return outcome != CPU_STOP;
}

static bool run_agent(cpu_run *run, cpu_agent *agent) {
    const cpu_program *program = run->program;
    bool warp = program->of_warps && agent->index < program->warps;
    if (warp) run->program = program->of_warps;
    bool ok = run_stream(run, agent);
    run->program = program;
    return ok;
}

/* Runs all agents that can continue, in order or shuffled. */
static bool run_agents(cpu_run *run, cpu_block *block) {
    unsigned order[CPU_MAX_AGENTS], count = run->program->agents;
    for (unsigned i = 0; i < count; i++) {
        unsigned j = run->random ? (unsigned)(next_random(run) % (i + 1)) : i;
        order[i] = order[j];
        order[j] = i;
    }
    for (unsigned i = 0; i < count; i++) {
        cpu_agent *agent = &block->agents[order[i]];
        if ((agent->state == CPU_READY || agent->state == CPU_WAITING) && !run_agent(run, agent))
            return false;
    }
    return true;
}

static unsigned count_state(const cpu_run *run, const cpu_block *block, cpu_state state) {
    unsigned count = 0;
    for (unsigned w = 0; w < run->program->agents; w++) count += block->agents[w].state == state;
    return count;
}

typedef enum block_state { BLOCK_DONE, BLOCK_WAITS, BLOCK_PREEMPTED, BLOCK_FAULT } block_state;

/* With several blocks in the cluster, another block may complete the phase. */
static bool waits_for_others(const cpu_run *run, const cpu_block *block) {
    bool phases = count_state(run, block, CPU_AT_MBARRIER) && block->cluster->count > 1;
    return phases || count_state(run, block, CPU_WAITING) ||
           count_state(run, block, CPU_AT_CLUSTER);
}

/* With a seed, operations in flight may complete while agents can still run. */
static bool lands_early(cpu_run *run, const cpu_block *block) {
    return run->random && block->flight_count && next_random(run) % 4 == 0;
}

static block_state run_block(cpu_run *run, cpu_block *block) {
    bool any = false, landed;
    for (;;) {
        block->progressed = false;
        if (!run_agents(run, block)) return BLOCK_FAULT;
        any |= block->progressed;
        bool ready = count_state(run, block, CPU_READY) > 0;
        if (ready && !lands_early(run, block)) continue;
        if (!cpu_complete_next_flight(run, block, &landed)) return BLOCK_FAULT;
        if (landed || ready) continue;
        if (count_state(run, block, CPU_DONE) == run->program->agents) return BLOCK_DONE;
        if (!block->preempted && !waits_for_others(run, block)) {
            cpu_report_stuck(run, block);
            return BLOCK_FAULT;
        }
        if (!block->progressed) {
            block->progressed = any;
            return block->preempted ? BLOCK_PREEMPTED : BLOCK_WAITS;
        }
    }
}

/* The grid ------------------------------------------------------------------------------------- */

/* Visits the numbers of clusters, 0 to total - 1, once each: in order, or with a stride that is
 * coprime with total. */
typedef struct block_order {
    int64_t total, started, at, stride;
} block_order;

static block_order order_blocks(cpu_run *run) {
    block_order order = {.total = 1, .stride = 1};
    for (unsigned d = 0; d < 3; d++) order.total *= run->grid[d] / run->program->cluster[d];
    if (!run->random || order.total < 2) return order;
    order.at = (int64_t)(next_random(run) % (uint64_t)order.total);
    do order.stride = 1 + (int64_t)(next_random(run) % (uint64_t)(order.total - 1));
    while (tile_gcd((uint64_t)order.stride, (uint64_t)order.total) != 1);
    return order;
}

static int64_t next_cluster(block_order *order) {
    int64_t number = order->at;
    order->at = (order->at + order->stride) % order->total;
    order->started++;
    return number;
}

/* Runs a live block, unless it is preempted and its time has not come. */
static block_state visit_block(cpu_run *run, cpu_block *block, bool wake_all, bool *progress) {
    if (block->preempted && !wake_all && run->ticks < block->wake_tick) return BLOCK_PREEMPTED;
    if (block->preempted) wake(run, block);
    run->waiting -= block->waits;
    block->is_spinning = false;
    block_state state = run_block(run, block);
    bool got_on = state == BLOCK_DONE || (block->progressed && !block->is_spinning);
    block->waits = state == BLOCK_WAITS;
    run->waiting += block->waits;
    run->ticks += got_on;
    *progress |= got_on;
    if (state == BLOCK_PREEMPTED)
        block->wake_tick = run->ticks + 1 + (run->random ? next_random(run) % MAX_SLEEP : 0);
    return state;
}

/* Runs each live block once. False after a fault; *progress: some block made progress. */
static bool run_live(cpu_run *run, bool wake_all, bool *progress) {
    *progress = false;
    for (cpu_block **at = &run->live; *at;) {
        cpu_block *block = *at;
        block_state state = visit_block(run, block, wake_all, progress);
        if (state == BLOCK_FAULT) return false;
        if (state != BLOCK_DONE) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        block->next = NULL;
        if (!end_block(run, block)) {
            block->next = run->live;
            run->live = block;
            return false;
        }
    }
    return true;
}

static bool is_stuck(cpu_run *run) {
    for (const cpu_block *block = run->live; block; block = block->next)
        if (cpu_cluster_is_stuck(run, block->cluster)) return true;
    return false;
}

/* Reports the argument whose buffer contains the word, and its offset. */
static void report_word(cpu_run *run, const cpu_insn *insn, uint64_t address) {
    if (!cpu_find_global(run, address, sizeof(int32_t))) return;
    const cpu_range *range = &run->ranges[run->last_range];
    tile_report(run->context, TILE_NOTE, insn->loc,
                "the word at offset %" PRIu64 " of %s%s is %" PRId32, address - range->begin,
                *range->name ? "%" : "", *range->name ? range->name : "scratch",
                *(const int32_t *)(uintptr_t)address);
}

static void report_deadlock(cpu_run *run) {
    unsigned blocks = 0;
    const cpu_block *first = NULL;
    for (const cpu_block *block = run->live; block; block = block->next) {
        if (!first && count_state(run, block, CPU_WAITING)) first = block;
        blocks++;
    }
    for (unsigned w = 0; first && w < run->program->agents; w++) {
        const cpu_agent *agent = &first->agents[w];
        const cpu_insn *insn = &run->program->insns[agent->pc];
        unsigned lane = agent->order.lane;
        if (agent->state != CPU_WAITING) continue;
        const int32_t *value = cpu_at(run, agent, insn->operand[1]);
        const char *compare = tile_compare_symbol(insn->kind);
        cpu_fault(run, agent, insn, (int)lane,
                  "deadlock: waits for %s value %s%" PRId32
                  ", which no block will store; %u block%s wait%s",
                  *compare ? "a" : "the", compare, value[lane], blocks, blocks == 1 ? "" : "s",
                  blocks == 1 ? "s" : "");
        report_word(run, insn, agent->order.address);
        if (run->waits_for_residency)
            tile_report(run->context, TILE_NOTE, insn->loc,
                        "%" PRId64 " blocks run at once, which is all that the device holds: the "
                        "others start when one of these ends",
                        run->held);
        return;
    }
}

static tile_status run_grid(cpu_run *run) {
    block_order order = order_blocks(run);
    bool progress;
    for (;;) {
        if (!run_live(run, false, &progress)) return TILE_FAULT;
        if (progress) continue;
        if (is_stuck(run)) return TILE_FAULT;
        bool full = run->held + run->program->cluster_blocks > run->room && run->held;
        run->waits_for_residency = full && order.started < order.total;
        if (full || order.started == order.total) {
            if (!run->preempted_blocks) break;
            if (!run_live(run, true, &progress)) return TILE_FAULT;
            continue;
        }
        start_cluster(run, next_cluster(&order));
    }
    if (!run->live) return TILE_OK;
    report_deadlock(run);
    return TILE_FAULT;
}

tile_status cpu_execute(cpu_run *run) {
    tile_status status = run_grid(run);
    collect_ended(run);
    destroy_blocks(run->program, run->live);
    destroy_blocks(run->program, run->idle);
    run->live = run->idle = NULL;
    return status == TILE_OK ? cpu_check_clean(run) : status;
}
