/* The performance model. It orders candidates and drops those that cannot fit.
 *
 * work.c reads from the kernel's text what one block does. This file estimates the time for it. A
 * multiprocessor executes q = ceil(blocks / multiprocessors) blocks, R of them concurrently. Each
 * block takes about the longest of
 *
 *   products   operations / rate. Operands are read from shared memory, which also has a rate.
 *              Arithmetic of threads in the loop (masks, exponentials, coordinates) is added
 *   traffic    bytes / L2 bandwidth, both of one multiprocessor and of all together. Rows that
 *              cross L2 lines (a pitch that is no multiple of 128 bytes) cost several times more
 *   latency    bytes / bytes in flight (Little's law): the stages of R blocks, except those that
 *              are being read or released, up to what a multiprocessor can have in flight
 *
 * The memory time covers all arrays once, and data that is read again after its eviction from the
 * L2. Block time and memory time overlap badly if they are about equal: together they take the
 * square root of the sum of their squares. Each time that blocks start, their first products start
 * with a delay, of which other blocks hide a part. Split sums cost the transfer of their parts, and
 * a rendezvous for each strategy.
 *
 * The rates are those of the target's generation, per multiprocessor and cycle. Clock and bandwidth
 * are the device's. The constants were fitted to measured points of products of all types and
 * layouts, by both routes, at 200 shapes on an H200; none is specific to a shape. Absolute times
 * are off by about a fifth: only the order matters. */
#include "runtime/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analysis/product.h"
#include "lib/ir/syntax.h"
#include "lib/support/context.h"
#include "lib/support/target.h"
#include "passes/passes.h"
#include "runtime/model/estimate.h"
#include "runtime/model/packed.h"
#include "runtime/model/plan_model.h"
#include "runtime/model/work.h"
#include "tile/split.h"

/* Seconds. */
static const double launch = 1.5e-6, start = 1.65e-6 /* of the first blocks */,
                    start_again = 4.66e-6 /* of blocks that replace others */,
                    start_next = 0.47e-6 /* of a kernel that begins while another one ends */,
                    start_more = 1.1e-6 /* of a product's further blocks beside the first */;
static const double l2_latency = 1.08e-6, tile_turnaround = 3.25e-6;
static const double exchange_rendezvous = 2.06e-6, workspace_rendezvous = 2.33e-6,
                    atomic_rendezvous = 1.26e-6,
                    cluster_rendezvous = 0.159e-6 /* for each of its blocks */,
                    stream_k_rendezvous = 3e-6, stream_k_start = 1.9e-6, sm_count_query = 9.4e-6,
                    multicast_rendezvous = 0.539e-6;
/* Seconds of a block that loads and computes, and of each further round of loads. */
static const double load_once = 1.9e-6, load_again = 0.9e-6;
/* The share of the instructions of such blocks that no other block's loads hide. */
static const double exposed_issue = 0.25;
/* The share of the memory bandwidth that writing and reading partial sums achieves. */
static const double parts_share = 0.76;
/* The additional cost of a product's rows that do not begin at multiples of 16 bytes: sectors at
 * the ends of a tile's rows are written in parts (150 instead of 87 us for 7088 x 13087 x 240,
 * H200). */
static const double parts_of_sectors = 2.9;
/* Bytes of such rows that the L2 keeps: it merges the parts there (18 us for 2168 x 3411 x 294 with
 * rows of 6822 bytes, which is 28 with the additional cost, H200). */
static const double merged_bytes = 29e6;
/* Stages that are not in flight: one is being read, another one is not released yet. */
static const double stages_not_in_flight = 1.4;
/* The relative slowdown of memory for each further `crowded_bytes` that a multiprocessor requests
 * at once (H200, products of 12 us and more: the sixth stage costs 0.8 % in the mean of 77
 * products, and 8 % of 16 whose threads copy rows that are not aligned). */
static const double crowding = 0.088, crowded_bytes = 48e3;
/* The additional cost of rows that cross L2 lines: in the L2 traffic of one multiprocessor, in that
 * of all, and in that of threads' own copies. */
static const double crossing_own = 5.7, crossing_all = 3.9, crossing_copies = 2.7;
/* The share of data with evict_first that later readers load from memory again. */
static const double evicted_share = 0.5;
/* The relative slowdown at the chip's power limit for each byte moved per operation. Work that
 * takes power_seconds gets half of it. */
static const double power_of_moving = 14, power_seconds = 93.7e-6;
/* At the power limit, idle multiprocessors allow a faster clock for the others. So this share of
 * the gain from sharing the last round is lost. */
static const double power_of_idle = 0.094;

/* The relative slowdown of copies in chunks without other warps. */
static const double chunks_of_few_warps = 0.45;

/* How far fewer warps hide the latency of arithmetic between products, and the share of its rate if
 * blocks compute that do not take turns. */
static const double hiding_power = 0.6, out_of_turn = 0.87;

/* Properties that multiprocessors of all targets share (CUDA C++ Programming Guide, table of
 * technical specifications). targets.def has those that differ. */
enum {
    SHARED_PER_CYCLE = 90,   /* bytes, of at most 128, when warps read operands for mma.sync */
    OPERANDS_PER_CYCLE = 99, /* bytes, when wgmma reads its operands */
    MAX_IN_FLIGHT = 150000,  /* bytes of a multiprocessor */
    L2_PER_CYCLE = 120,      /* bytes, if all multiprocessors load */
    MAX_L2_PER_CYCLE = 280,  /* bytes, if one of them loads */
    COPIES_PER_CYCLE = 160,  /* bytes, if one of them loads by copies of its threads */
    STORED_PER_CYCLE = 17,   /* bytes of a tile that is stored while no products run */
    RING_PER_CYCLE = 19,     /* likewise, if it is stored through a ring */
    UNALIGNED_PER_CYCLE = 8, /* likewise, if its rows do not begin at multiples of 16 bytes */
    FETCH_CYCLES = 29,       /* of a thread's access in code for one stage that runs only once */
    OPERAND_CYCLES = 500,    /* of an iteration whose rows go to registers for wgmma: the minimum */
    REGISTERS_CYCLES = 1400, /* of an iteration that loads to registers */
    PACKED_PER_CYCLE = 17,   /* bytes that a kernel which only copies loads with shifts */
    WAIT_CYCLES = 46,        /* of an iteration that waits for the copies of producer warps */
    BARRIER_CYCLES = 170,    /* of one whose warps both copy and multiply */
    PROMOTION_CYCLES = 270,  /* of an iteration that waits for its products and adds them */
    ZEROS_PER_CYCLE = 18,    /* bytes of TMA boxes outside of the array */
    ELEMENTS_PER_CYCLE = 2,  /* loaded one by one and stored to shared memory */
    SHIFTED_PER_CYCLE = 13,  /* bytes of rows that begin anywhere, loaded with shifts */
    WORDS_PER_CYCLE = 6,     /* of 4 or 8 bytes, copied asynchronously */
    CHUNKS_PER_CYCLE = 24,   /* bytes of rows that begin anywhere, copied in chunks */
    CHUNK_ROW_CYCLES = 4,    /* of such a row of a tile, which has one chunk more */
    COMPUTED_PER_CYCLE = 48, /* bytes of tiles of which a few values are computed each */
    ADDED_PER_CYCLE = 5,     /* bytes that atomics add */
    NEIGHBOURS_PER_CYCLE = 3, /* bytes of partial sums from the cluster's other blocks */
    PART_PER_CYCLE = 33,      /* bytes of a partial sum that one block adds */
    PIECE = 16,               /* bytes that are loaded with a shift */
    WARPS_TO_SATURATE = 4,
    WARPS_TO_HIDE = 12, /* to hide the latency of arithmetic between products */
    LANES = 128,
    CHAIN_CYCLES = 600, /* of an iteration in which threads compute: the minimum */
};

/* Times ---------------------------------------------------------------------------------------- */

/* A smooth maximum: values that are about as long as the longest add to it. */
static double longest(double a, double b, double c) {
    double most_of_all = most(a, most(b, c));
    if (!(most_of_all > 0)) return 0;
    double sum = 0, parts[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        double share = parts[i] / most_of_all, cube = share * share * share;
        sum += cube * cube * cube * cube;
    }
    return most_of_all * pow(sum, 1.0 / 12);
}

/* The relative slowdown of products: moving data takes power, which lowers the clock. */
static double slowed_by_power(const point_estimate *s) {
    const machine *m = s->m;
    double seconds = s->blocks * s->cost.wgmma / (m->wgmma * m->sms * m->clock);
    double idle = ceil(s->each) / s->each - 1; /* if the last round was not shared */
    return (power_of_moving * s->cost.loaded / s->cost.operations + power_of_idle * idle) *
           seconds / (seconds + power_seconds);
}

/* Cycles of the threads' arithmetic beside one block's products. Between products it is a dependent
 * chain. The groups of a block take turns: one computes while another one's products run. Blocks
 * that share a multiprocessor do not, and wait for each other. On an H200, 32 heads of 4096 queries
 * and keys, depth 64, take 280 us in tiles of 192 x 128 and 12 warps, 319 in tiles of 128 x 128 and
 * 8 warps, and 327 if three blocks of 64 x 64 and 4 warps run at once. */
static double time_arithmetic(const point_estimate *s, double resident) {
    const double blocks = resident;
    /* With roles that set register counts, one block uses all registers of a multiprocessor. */
    if (s->made.roles && point_warps(s) > PRODUCER_WARPS) resident = 1;
    double rate = LANES * pow(least(1, resident * point_warps(s) / WARPS_TO_HIDE), hiding_power);
    if (blocks > 1) rate *= out_of_turn;
    double chain = s->cost.arithmetic > 0 ? CHAIN_CYCLES * s->steps / resident : 0;
    return s->cost.indexing / rate + most(s->cost.arithmetic / rate, chain);
}

/* Cycles of one block's products while `resident` blocks share the multiprocessor. */
static double time_products(const point_estimate *s, double resident) {
    const tune_cost *c = &s->cost;
    double mma = s->m->mma * least(1, resident * point_warps(s) / WARPS_TO_SATURATE);
    double cycles = (c->operations - c->wgmma) / mma;
    cycles += (s->made.roles ? WAIT_CYCLES : BARRIER_CYCLES) * s->steps / resident;
    if (c->wgmma > 0) cycles += c->wgmma / s->m->wgmma * (1 + slowed_by_power(s));
    if (s->w->promotes) cycles += PROMOTION_CYCLES * s->steps;
    if (s->w->loads_rows) cycles = most(cycles, OPERAND_CYCLES * s->steps / resident);
    cycles += time_arithmetic(s, resident);
    /* H200, 13 x 12395 x 15343 of bf16, NT: 257 us with rows of 64 bytes, 209 of 128, 139 of 256. A
     * third of the warps takes 1.3 times as long. */
    double idle = 1 - least(1, resident * point_warps(s) / WARPS_TO_HIDE);
    cycles += (c->chunks / CHUNKS_PER_CYCLE + c->chunk_rows * CHUNK_ROW_CYCLES) *
              (1 + chunks_of_few_warps * idle);
    return most(cycles, c->reads / (c->wgmma > 0 ? OPERANDS_PER_CYCLE : SHARED_PER_CYCLE));
}

/* Bytes that a multiprocessor has in flight: the stages of its blocks, up to all that they load and
 * to what the memory system takes. */
static double bytes_in_flight(const point_estimate *s, double resident) {
    double stages = s->w->depth > 1 ? most(s->w->depth - stages_not_in_flight, 0.5) : 1;
    return least(resident * least(stages * s->w->in_flight, s->cost.loaded), MAX_IN_FLIGHT);
}

/* The relative slowdown of memory by requests beyond those that it can serve. */
static double slowed_by_requests(const point_estimate *s, double resident) {
    if (!(s->w->in_flight > 0) || s->w->depth < 2) return 0;
    double asked = resident * least((s->w->depth - 1) * s->w->in_flight, s->cost.loaded);
    return crowding * most(asked / crowded_bytes - 1, 0);
}

/* Seconds until all bytes of the block have arrived, limited by the bytes in flight. */
static double time_latency(const point_estimate *s, double resident) {
    const tune_cost *c = &s->cost;
    if (!(s->w->in_flight > 0) || !(c->loaded > 0)) return 0;
    return c->loaded * l2_latency / bytes_in_flight(s, resident);
}

/* Bytes that a block loads from the L2. Bytes in rows that cross lines cost `crossing` times
 * more. */
static double requested_bytes(const point_estimate *s, double crossing) {
    const tune_cost *c = &s->cost;
    double bytes = c->loaded + crossing * c->crossing;
    return s->made.roles ? bytes - c->shared - crossing * c->shared_crossing : bytes;
}

/* The rounds of tiles on a multiprocessor, weighted by L2 use. Tiles of a round that is not full
 * get a larger share of the L2 bandwidth each, up to the limit of one multiprocessor. */
static double count_rounds(const point_estimate *s, double most_bytes) {
    bool shares = s->strategy == TILE_STRATEGY_stream_k;
    double even = (shares ? s->tiles : s->blocks) / point_places(s), full = floor(even);
    if (!shares && !s->made.persistent) return even;
    double least_time = L2_PER_CYCLE / most_bytes * (shares ? s->last : 1);
    return even > full ? full + most(even - full, least_time) : full;
}

/* Seconds until the loop's first stages were requested. Their copies are unrolled, and this code is
 * fetched when the first block runs it. Producer warps request them in a loop. */
static double time_stages(const point_estimate *s) {
    const tune_cost *c = &s->cost;
    if (s->made.roles || s->w->depth < 2 || !(s->steps > 0)) return 0;
    double accesses = (c->elements + c->words + c->shifted / PIECE) / s->steps;
    double each = FETCH_CYCLES * accesses / (32.0 * s->w->warps);
    return (s->w->depth - 1) * each / s->m->clock;
}

/* Cycles of a block's loads to registers, which are stored to shared memory: each iteration waits
 * for its own. */
static double time_registers(const point_estimate *s, double resident) {
    const tune_cost *c = &s->cost;
    double loads = c->elements / ELEMENTS_PER_CYCLE + c->shifted / SHIFTED_PER_CYCLE;
    return loads > 0 ? loads + REGISTERS_CYCLES * most(s->steps, 1) / resident : 0;
}

/* Seconds of `each` blocks on one multiprocessor, of which `resident` run concurrently. */
static double time_blocks(const point_estimate *s, double each, double resident) {
    const machine *m = s->m;
    double own = requested_bytes(s, s->made.roles ? crossing_own : crossing_copies);
    double all = requested_bytes(s, s->made.roles ? crossing_all : crossing_copies);
    double rate = s->made.roles ? MAX_L2_PER_CYCLE : COPIES_PER_CYCLE;
    double seconds = each * longest(time_products(s, resident) / m->clock, own / (rate * m->clock),
                                    time_latency(s, resident));
    seconds += each * (time_registers(s, resident) + s->cost.words / WORDS_PER_CYCLE) / m->clock;
    seconds += each * s->cost.outside / (ZEROS_PER_CYCLE * m->clock);
    double rounds = count_rounds(s, rate) / s->each;
    return longest(seconds, rounds * all / (L2_PER_CYCLE * m->clock), 0);
}

/* Time of memory traffic: each array once, and the data evicted from the L2 once more. */
static double time_memory(const point_estimate *s) {
    return (s->w->arrays + evicted_share * s->blocks * s->cost.reloaded_bytes) / s->m->bandwidth;
}

/* The additional time of the L2 for sectors that are written in parts. */
static double time_parts_of_sectors(const point_estimate *s) {
    double evicted = most(s->blocks * s->cost.unaligned - merged_bytes, 0);
    return parts_of_sectors * evicted / s->m->bandwidth;
}

/* The exposed time of storing tiles: none if other warpgroups or blocks compute meanwhile. */
static double time_stores(const point_estimate *s, double each, double resident) {
    double aligned = s->cost.stored - s->cost.unaligned;
    bool ring = s->made.roles && s->w->store_ring_bytes > 0;
    double cycles = aligned / (ring ? RING_PER_CYCLE : STORED_PER_CYCLE) +
                    s->cost.unaligned / UNALIGNED_PER_CYCLE;
    double tile = cycles / s->m->clock;
    /* The blocks of a split store a part of the tile each. */
    if (s->strategy != TILE_STRATEGY_stream_k) tile /= s->factor;
    bool alone = s->made.persistent || resident < 2;
    return alone ? (s->made.ping_pong_fits ? 1 : each) * tile : 0;
}

/* The last block that shares a tile adds the parts of the others. */
static double time_shares(const point_estimate *s) {
    double part = s->w->sums / (PART_PER_CYCLE * s->m->clock);
    double rendezvous_count = s->members > 1 ? stream_k_rendezvous + (s->members - 1) * part : 0;
    return stream_k_start + rendezvous_count;
}

/* Exchange needs all blocks at once. A grid that the device cannot hold is split serially instead
 * (passes/split/exchange.c). */
static tile_strategy resident_strategy(const point_estimate *s, double resident) {
    bool fits = s->blocks <= resident * point_places(s);
    return s->strategy == TILE_STRATEGY_exchange && !fits ? TILE_STRATEGY_serial : s->strategy;
}

/* Time of handing over partial sums, for all blocks. */
static double time_parts(const point_estimate *s, double resident) {
    double parts = s->blocks * s->w->sums / (s->m->bandwidth * parts_share);
    double chain = 2 * s->w->sums / (L2_PER_CYCLE * s->m->clock);
    double others = (1 - 1 / s->factor) * s->w->sums;
    switch (resident_strategy(s, resident)) {
    case TILE_STRATEGY_none:
    case TILE_STRATEGY_COUNT: break;
    case TILE_STRATEGY_serial: return (s->factor - 1) * (tile_turnaround + chain);
    case TILE_STRATEGY_exchange: return exchange_rendezvous + parts;
    case TILE_STRATEGY_workspace: return workspace_rendezvous + parts;
    case TILE_STRATEGY_atomic:
        return atomic_rendezvous + parts + resident * s->w->sums / (ADDED_PER_CYCLE * s->m->clock);
    case TILE_STRATEGY_cluster:
        return s->factor * cluster_rendezvous + others / (NEIGHBOURS_PER_CYCLE * s->m->clock);
    case TILE_STRATEGY_stream_k: return time_shares(s);
    }
    return 0;
}

/* Kernels without products: blocks wait for their loads while other blocks load. */
static double time_streams(const point_estimate *s) {
    double each = ceil(s->blocks / point_places(s));
    double registers = s->w->widest / 4 / (32.0 * s->w->warps);
    double resident = least(point_count_resident(s, registers), each);
    double waits = each / resident * (load_once + s->rounds * load_again);
    double asked = s->blocks * s->cost.loaded / (L2_PER_CYCLE * s->m->sms * s->m->clock);
    /* Elements outside of the array take instructions, too. */
    double issue = each * (s->cost.loaded + s->cost.outside) / (COMPUTED_PER_CYCLE * s->m->clock);
    issue += each * s->cost.shifted / (PACKED_PER_CYCLE * s->m->clock);
    return launch + start + longest(most(waits, issue), time_memory(s) * s->w->lines, asked) +
           exposed_issue * issue + time_parts(s, resident);
}

double tune_model_start_time(void) {
    return launch + start - start_next;
}

static double estimate(const point_estimate *s) {
    if (!(s->cost.operations > 0) && s->w->widest > 0)
        return time_streams(s) + s->w->rendezvous_count * l2_latency;
    double each = ceil(s->blocks / point_places(s)),
           resident = least(point_count_resident(s, point_registers(s)), each);
    double starts = s->made.persistent ? 1 : ceil(each / resident);
    double body = time_blocks(s, each, resident);
    double memory =
        time_memory(s) * (1 + slowed_by_requests(s, resident)) + time_parts_of_sectors(s);
    double seconds = launch + start + (starts - 1) * start_again / resident +
                     (s->cost.operations > 0 ? start_more * (resident - 1) : 0) +
                     sqrt(body * body + memory * memory);
    seconds += time_stores(s, each, resident) + time_stages(s) +
               point_time_epilogue(s, each, resident, body / each);
    if (s->w->semaphores) seconds += (s->blocks / (double)s->w->semaphores - 1) * tile_turnaround;
    if (s->made.roles && s->cost.shared > 0)
        seconds += multicast_rendezvous;
    else if (s->w->cluster > 1)
        seconds += (double)s->w->cluster * cluster_rendezvous;
    if (s->w->uses_num_sms) seconds += sm_count_query;
    return seconds + s->w->rendezvous_count * l2_latency + time_parts(s, resident);
}

/* Kernels and plans ---------------------------------------------------------------------------- */

/* Estimates an instantiated kernel, or a kernel at a point. The point may have a split that the
 * kernel's text does not have. */
static double estimate_work(const machine *m, const tune_work *work, int64_t factor,
                            tile_strategy is, tile_arena *arena, const char **why) {
    point_estimate s = {.m = m, .w = work, .factor = 1, .each = 1};
    if (is && (factor > 1 || tile_strategy_get_info(is)->splits_one))
        s.factor = (double)factor, s.strategy = is;
    point_distribute(&s);
    s.made = tune_expect_passes(work, s.strategy);
    *why = point_find_obstacle(&s, arena);
    return estimate(&s);
}

static machine describe(const tile_device *device) {
    machine m = {.target = device->target,
                 .sms = device->num_sms ? device->num_sms : 132,
                 .clock = device->clock ? 1e3 * device->clock : 1.98e9,
                 .bandwidth = 4.8e12,
                 .mma = device->target->mma_rate,
                 .wgmma = device->target->wgmma_rate};
    if (device->memory_clock && device->memory_bus)
        m.bandwidth = 2e3 * device->memory_clock * device->memory_bus / 8;
    return m;
}

/* Models --------------------------------------------------------------------------------------- */

/* The work at points that differ only in their split. */
typedef struct known_work {
    struct known_work *next;
    const tile_bound_param *params;
    tune_work work;
} known_work;

enum { HEADS = 256 };

struct tune_model {
    machine m;
    const tile_function *f;
    const int64_t *sizes;
    tile_arena *arena;
    tune_reader *reader;
    tile_arena *reasons;   /* NULL: they are omitted */
    const char *last_word; /* of a strategy */
    tile_strategy last;
    bool requests_wgmma;
    bool *own; /* by parameter: it changes the work */
    known_work *heads[HEADS];
};

tune_model *tune_model_create(const tile_device *device, const tile_function *f,
                              const int64_t *sizes, tile_arena *arena) {
    tune_model *model = TILE_NEW(arena, tune_model);
    *model = (tune_model){
        .m = describe(device), .f = f, .sizes = sizes, .arena = arena, .reasons = arena};
    model->reader = tune_reader_create(f, sizes, model->m.target, (unsigned)model->m.sms, arena);
    model->requests_wgmma = tile_requests_wgmma(f);
    model->own = TILE_NEW_ARRAY(arena, bool, f->param_count + 1);
    tune_find_own(f, model->own);
    return model;
}

void tune_model_omit_reasons(tune_model *model) {
    model->reasons = NULL;
}

static tile_strategy strategy_of(tune_model *model, const char *word) {
    if (word != model->last_word) {
        model->last = tile_strategy_from_word(word);
        model->last_word = word;
    }
    return model->last;
}

static uint64_t hash_own(const tune_model *model, const tile_bound_params *point) {
    uint64_t hash = 0;
    for (size_t i = 0; i < model->f->param_count; i++)
        if (model->own[i])
            hash = (hash ^ (uint64_t)point->params[i].value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

static bool is_known(const tune_model *model, const known_work *known,
                     const tile_bound_params *point) {
    for (size_t i = 0; i < model->f->param_count; i++)
        if (model->own[i] && known->params[i].value != point->params[i].value) return false;
    return true;
}

static const tune_work *find_work(tune_model *model, const tile_bound_params *point) {
    known_work **head = &model->heads[hash_own(model, point) >> 56];
    for (known_work *known = *head; known; known = known->next)
        if (is_known(model, known, point)) return &known->work;
    known_work *added = TILE_NEW(model->arena, known_work);
    size_t size = sizeof *point->params * (model->f->param_count + !model->f->param_count);
    added->params = tile_arena_copy(model->arena, point->params, size);
    added->next = *head;
    tune_reader_read(model->reader, point, &added->work);
    *head = added;
    return &added->work;
}

double tune_model_estimate(tune_model *model, const tile_bound_params *point,
                           const tile_split_point *split, const char **why) {
    int64_t factor;
    const char *strategy;
    *why = NULL;
    if (!model->m.wgmma && model->requests_wgmma) {
        *why = tile_arena_format(model->arena, "its dots request wgmma, which %s lacks",
                                 model->m.target->name);
        return INFINITY;
    }
    tune_reader_read_split(model->reader, point, &factor, &strategy);
    if (split) factor = split->factor, strategy = split->strategy;
    return estimate_work(&model->m, find_work(model, point), factor, strategy_of(model, strategy),
                         model->reasons, why);
}

/* Points --------------------------------------------------------------------------------------- */

static tile_status run_split(tile_module *module, const char *name, const tile_target *target) {
    const tile_pass_options passes = {.size = sizeof passes, .target = target, .kernel = name};
    if (tile_becomes_plan(tile_module_find(module, name)))
        return tile_make_steps(module, name, target);
    return tile_run_passes(module, "split-k", &passes);
}

bool tune_is_legal(const tile_device *device, const tile_module *module, const char *name,
                   const tile_binding *bindings, unsigned count) {
    tile_module *copy = tile_module_clone(module);
    bool legal = tile_instantiate(copy, name, bindings, count) == TILE_OK &&
                 run_split(copy, name, device->target) == TILE_OK;
    tile_module_destroy(copy);
    return legal;
}

/* Copies the first error into the point's arena. */
static void take_message(const tile_diagnostic *d, void *user) {
    tune_point *point = user;
    if (d->severity != TILE_ERROR || point->c.state == TILE_CANDIDATE_dropped) return;
    point->c.state = TILE_CANDIDATE_dropped;
    point->c.why = tile_arena_string(&point->arena, d->message, strlen(d->message));
}

/* Estimates a point of a kernel from its text. */
static double estimate_point(tune_model *model, const tile_candidate *c, tile_arena *arena,
                             const char **why) {
    tile_pass_option *options = TILE_NEW_ARRAY(arena, tile_pass_option, c->binding_count + 1u);
    tile_split_point split = {.factor = 1};
    tile_bound_params bound;
    for (unsigned i = 0; i < c->binding_count; i++) {
        options[i] = (tile_pass_option){c->bindings[i].name, c->bindings[i].value};
        if (strcmp(options[i].key, TILE_SPLIT_FACTOR) == 0)
            split.factor = (unsigned)strtoul(options[i].value, NULL, 10);
        if (strcmp(options[i].key, TILE_SPLIT_STRATEGY) == 0) split.strategy = options[i].value;
    }
    if (!tile_bind_params(model->f, options, c->binding_count, arena, &bound)) return 0;
    return tune_model_estimate(model, &bound, split.strategy ? &split : NULL, why);
}

static double estimate_plan(const tile_device *device, const tile_function *plan,
                            const int64_t *sizes, tile_arena *arena, const char **why) {
    return tune_plan_estimate(tune_plan_model_create(device, plan, sizes, NULL, arena), NULL, why);
}

typedef struct packed_model {
    const char *arguments; /* that are packed; NULL: none yet */
    tune_model *model;     /* NULL: they cannot be packed */
    tune_packed packed;
} packed_model;

/* What the points of a space have in common. */
typedef struct listed_model {
    tune_model *model;
    packed_model packed[TUNE_MAX_PACKINGS];
} listed_model;

static packed_model *find_packed(listed_model *l, const tile_device *device,
                                 const tile_module *module, const char *name,
                                 const tile_candidate *c, tile_arena *arena) {
    const char *arguments = tune_packing_of(c->bindings, c->binding_count);
    packed_model *p = l->packed;
    while (p->arguments && strcmp(p->arguments, arguments) != 0)
        if (++p == l->packed + TUNE_MAX_PACKINGS) return NULL;
    if (p->arguments) return p;
    const tile_pass_option *given = tune_make_options(c->bindings, c->binding_count, arena);
    p->arguments = arguments;
    if (tune_pack(device, module, name, arguments, l->model->sizes, given, c->binding_count,
                  l->model->arena, &p->packed))
        p->model = tune_model_create(device, p->packed.reader, p->packed.sizes, l->model->arena);
    return p;
}

/* Estimates a point with packed arguments. */
static double estimate_packed(listed_model *l, const tile_device *device, const tile_module *module,
                              const char *name, const tile_candidate *c, tile_arena *arena,
                              const char **why) {
    const packed_model *p = find_packed(l, device, module, name, c, arena);
    return p && p->model ? p->packed.copies + estimate_point(p->model, c, arena, why) : 0;
}

/* Checks that the point can be instantiated and its sums split, and estimates it. */
static double estimate_listed_point(listed_model *l, const tile_device *device,
                                    const tile_module *module, const char *name,
                                    const tile_candidate *c, tile_arena *arena, const char **why) {
    double seconds = 0;
    tile_module *copy = tile_module_clone(module);
    const bool is_plan = l->model->f->kind == TILE_PLAN;
    const bool legal = tile_instantiate(copy, name, c->bindings, c->binding_count) == TILE_OK &&
                       run_split(copy, name, l->model->m.target) == TILE_OK;
    if (legal && !is_plan && tune_packing_of(c->bindings, c->binding_count))
        seconds = estimate_packed(l, device, module, name, c, arena, why);
    else if (legal)
        seconds = is_plan ? estimate_plan(device, tile_module_find(copy, name), l->model->sizes,
                                          arena, why)
                          : estimate_point(l->model, c, arena, why);
    tile_module_destroy(copy);
    return seconds;
}

void tune_estimate_points(const tile_device *device, const tile_module *module, const char *name,
                          const int64_t *sizes, const tune_watch *watch, tune_point *points,
                          size_t count) {
    tile_arena whole = {0};
    tile_context *context = tile_module_context(module);
    const tile_diversion diversion = tile_context_divert(context, NULL, NULL);
    listed_model l = {.model =
                          tune_model_create(device, tile_module_find(module, name), sizes, &whole)};
    for (size_t i = 0; i < count; i++) {
        tile_candidate *c = &points[i].c;
        tile_arena arena = {0};
        const char *why = NULL;
        if (watch && !watch->keep_going("Estimating", i, count, watch->user)) break;
        if (c->state == TILE_CANDIDATE_dropped) continue;
        tile_context_set_sink(context, take_message, &points[i]);
        c->estimate = estimate_listed_point(&l, device, module, name, c, &arena, &why);
        if (why) {
            c->state = TILE_CANDIDATE_dropped;
            c->why = tile_arena_string(&points[i].arena, why, strlen(why));
        }
        tile_arena_reset(&arena);
    }
    for (unsigned i = 0; i < TUNE_MAX_PACKINGS; i++) tile_module_destroy(l.packed[i].packed.module);
    tile_context_restore(&diversion);
    tile_arena_reset(&whole);
}
