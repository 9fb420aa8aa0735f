/* The model by which candidates are ordered, and those dropped that cannot fit.
 *
 * It reads the instantiated kernel at level 2, without lowering it, as one block runs it: loops
 * with their trip counts where the sizes give them, the first block's coordinates. Counted are
 * products, bytes between global and shared memory or registers, bytes stored, shared memory that
 * is alive at once (a pipelined copy's buffer as often as the loop has stages), and accumulators.
 * Then, with B blocks on one multiprocessor at once, and W waves of them:
 *
 *   products   B x operations / rate. mma.sync of a warp reads its operands from shared memory, so
 *              the rate is bounded by the shape of the warps' tiles as well
 *   traffic    B x bytes / what a multiprocessor gets. Little's law: no more than what is in
 * flight, stages - 1 copies of each block, in a latency wave       the longest of these, and a
 * latency to begin with memory     at least what all arrays have, at the memory's rate, in all
 * waves together order      blocks that wait for each other at semaphores take turns, a latency
 * each
 *
 * Tiles that wgmma takes on the target are estimated by estimate_warpgroups.
 *
 * The rates are of the target's generation, per multiprocessor and cycle, and the device's own
 * clock and bandwidth. Nothing is fitted to shapes. Absolute times are off by a factor of two or
 * so; what counts is that the likely ones come first. */
#include "runtime/tune/model.h"

#include <math.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/store_ring.h"
#include "lib/codegen/steps.h"
#include "lib/ir/syntax.h"
#include "lib/layout/wgmma.h"
#include "lib/support/target.h"
#include "passes/tile/split_steps.h"

static const double launch_seconds = 2.5e-6, latency = 0.8e-6, turn_seconds = 1.2e-6;
/* What a byte that is moved for each operation adds to their time, found by tiles of 128 x 128, 192
 * and 256 on an H200 at its power limit; and what one warpgroup alone gets of wgmma's rate. */
static const double power_of_moving = 10, alone = 0.92;
static const double part_of_line = 0.25; /* what more it costs to bring less than whole lines */
static const double shares = 4;      /* of a tile, that stream_k deals out, where they are many */
static const double hidden = 0.2;    /* what shows of work behind the memory's, or the reverse */
static const double l2_factor = 1.6; /* of the memory's bandwidth: all that goes through the L2 */

/* What multiprocessors of all targets have in common (CUDA C++ Programming Guide, table of
 * technical specifications); where they differ, targets.def says it. */
enum {
    SM_REGISTERS = 65536,
    SHARED_PER_CYCLE = 128, /* bytes */
    LINE = 128,             /* bytes of the L2's */
    L2_PER_CYCLE =
        56, /* bytes that TMA brings: 64 of the wires', as 128 x 128 tiles have got them */
    MOST_REGISTERS = 255,
    OTHER_REGISTERS = 40, /* of a thread, beside accumulators: fragments, addresses */
    WARPS_TO_SATURATE = 8,
    PRODUCER_WARPS = 4, /* the warpgroup that a loop's copies have to themselves */
};

typedef struct machine {
    const tile_target *target;
    double sms, clock, bandwidth; /* Hz, bytes per second */
    double mma, wgmma; /* operations of f16 per cycle and multiprocessor; 0: there is none */
} machine;

/* What one block does. */
typedef struct work {
    double operations;           /* of products of 16-bit elements; others count by their width */
    double shared_reads;         /* bytes that the warps read for them */
    double loaded, stored;       /* bytes */
    double in_flight;            /* the largest sum of a loop's copies that are under way, bytes */
    double accumulators;         /* bytes of the largest one */
    int64_t shared, most_shared; /* bytes alive */
    double turns;                /* of semaphores; 0: none */
    double wgmma;                /* of the operations, those that warpgroups compute */
    double depth;                /* copies that the deepest of the loops has under way */
    bool roles;                  /* warps that only copy, beside the others: specialize-warps */
    bool ping_pong;              /* asked for: groups of warps that take turns at tiles */
} work;

typedef struct scan {
    const tile_function *f;
    const int64_t *sizes;
    const machine *m;
    int64_t *values; /* by value id */
    bool *known;
    uint64_t used; /* a set of arguments */
    int64_t grid[3], semaphores;
    unsigned warps;
    work w;
    double copied;       /* by the body of the innermost loop so far */
    bool may_have_roles; /* the innermost loop */
    int meets;           /* how often blocks wait for each other's parts of sums, about */
    bool boxes;          /* tiles are stored in the background */
    int64_t stored;      /* bytes of shared memory that this takes */
    bool takes_turns;    /* groups of warps at tiles */
} scan;

static double least(double a, double b) {
    return a < b ? a : b;
}

static double most(double a, double b) {
    return a > b ? a : b;
}

/* Integers --------------------------------------------------------------------------------------
 */

static bool value_of(scan *s, tile_value value, int64_t *integer) {
    const tile_value_data *data = tile_value_at(s->f, value);
    if (data->kind == TILE_VALUE_CONSTANT) return tile_expr_is_int(data->expr, integer);
    *integer = s->values[value.id];
    return s->known[value.id];
}

static void set_value(scan *s, tile_value value, int64_t integer) {
    s->values[value.id] = integer;
    s->known[value.id] = true;
}

static void fold(scan *s, const tile_op_data *op) {
    int64_t in[3] = {0}, out;
    if (op->result_count != 1 || op->operand_count < 1 || op->operand_count > 3) return;
    const tile_type *type = tile_value_type(s->f, op->first_result);
    if (type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(type->scalar)) return;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!value_of(s, op->operands[i], &in[i])) return;
    if (op->opcode == TILE_OP_cast)
        set_value(s, op->first_result, in[0]);
    else if (tile_fold_int((tile_opcode)op->opcode, in[0], in[1], in[2], &out))
        set_value(s, op->first_result, out);
}

/* Operations ------------------------------------------------------------------------------------
 */

static double bytes_of(const tile_type *type) {
    int64_t elements = tile_type_elements(type);
    return elements > 0 ? (double)elements * tile_scalar_bytes(type->scalar) : 0;
}

/* The element count that a warp's part of the product has least of both sides together: warps split
 * rows and columns, and each reads its rows and its columns. */
static double reads_of_warps(double m, double n, double k, unsigned warps) {
    double least = INFINITY;
    for (unsigned rows = 1; rows <= warps; rows *= 2) {
        double columns = (double)warps / rows, reads = k * (m * columns + n * rows);
        if (reads < least) least = reads;
    }
    return least;
}

/* Both operands of an instruction's 64 rows, and the second one again for the next 64. */
static double reads_of_warpgroups(double m, double n, double k) {
    return k * (m + n * ceil(m / TILE_WGMMA_ROWS));
}

static bool takes_wgmma(const scan *s, const tile_type *lhs, const tile_type *rhs,
                        const tile_type *acc) {
    const tile_mma_query types = {.lhs = lhs->scalar, .rhs = rhs->scalar, .acc = acc->scalar};
    const uint32_t dims[2] = {(uint32_t)tile_type_dim(acc, 0), (uint32_t)tile_type_dim(acc, 1)};
    return s->m->wgmma > 0 && tile_wgmma_multiplies(&types) &&
           (tile_wgmma_admits(dims, TILE_WGMMA_PLAIN, s->warps) ||
            tile_wgmma_admits(dims, TILE_WGMMA_EXCHANGED, s->warps));
}

static void add_dot(scan *s, const tile_op_data *op, double times) {
    const tile_type *lhs = tile_value_type(s->f, op->operands[0]);
    const tile_type *acc = tile_value_type(s->f, op->first_result);
    if (acc->rank != 2) return;
    double m = (double)tile_type_dim(acc, 0), n = (double)tile_type_dim(acc, 1);
    double k = (double)tile_type_dim(lhs, lhs->rank - 1), width = tile_scalar_bytes(lhs->scalar);
    /* mma.sync takes 16 rows and 8 columns at least. */
    double rows = ceil(m / 16) * 16, columns = ceil(n / 8) * 8;
    double operations = times * 2 * rows * columns * k * width / 2;
    s->w.operations += operations;
    if (takes_wgmma(s, lhs, tile_value_type(s->f, op->operands[op->segment[0]]), acc)) {
        s->w.wgmma += operations;
        s->w.shared_reads += times * width * reads_of_warpgroups(m, n, k);
        s->w.roles |= s->may_have_roles;
    } else {
        s->w.shared_reads += times * width * reads_of_warps(rows, columns, k, s->warps);
    }
    if (bytes_of(acc) > s->w.accumulators) s->w.accumulators = bytes_of(acc);
}

static bool is_view(const scan *s, tile_value value) {
    return tile_value_type(s->f, value)->kind == TILE_TYPE_VIEW;
}

static void take_shared(scan *s, int64_t bytes) {
    s->w.shared += bytes;
    if (s->w.shared > s->w.most_shared) s->w.most_shared = s->w.shared;
}

static int64_t shared_bytes(const tile_type *type) {
    int64_t stages = tile_type_stage_count(type);
    return (int64_t)bytes_of(type) * (stages > 0 ? stages : 1);
}

/* A copy into a buffer without stages, in a loop that gives it some. */
static void add_copy(scan *s, const tile_op_data *op, double times, int64_t stages) {
    tile_value dst = op->operands[op->segment[0]];
    const tile_type *type = tile_value_type(s->f, dst);
    double bytes = bytes_of(type);
    if (!is_view(s, op->operands[0])) {
        s->w.stored += times * bytes_of(tile_value_type(s->f, op->operands[0]));
        return;
    }
    double row = (double)tile_type_dim(type, type->rank - 1) * tile_scalar_bytes(type->scalar);
    s->w.loaded += times * bytes * (s->m->wgmma > 0 && row < LINE ? 1 + part_of_line : 1);
    bool ring = type->stages != NULL;
    int64_t depth = ring ? tile_type_stage_count(type) : stages;
    s->copied += bytes * (double)(depth > 1 ? depth - 1 : 1);
    if (!ring && stages > 1) take_shared(s, (int64_t)bytes * (stages - 1));
}

static int64_t count_trips(scan *s, const tile_op_data *op) {
    int64_t begin, end, step;
    if (!value_of(s, op->operands[0], &begin) || !value_of(s, op->operands[1], &end) ||
        !value_of(s, op->operands[2], &step) || step <= 0)
        return 1;
    return end > begin ? (end - begin + step - 1) / step : 0;
}

static void scan_region(scan *s, tile_region region, double times, int64_t stages);

static void scan_loop(scan *s, tile_op id, const tile_op_data *op, double times) {
    int64_t trips = count_trips(s, op), stages = 1, begin;
    const tile_region_data *body = tile_region_at(s->f, op->regions[0]);
    double before = s->copied;
    const char *consumers = tile_op_attr_text(s->f, id, TILE_ATTR_consumers);
    s->w.ping_pong |= consumers && strcmp(consumers, "ping_pong") == 0;
    if (tile_op_has_attr(s->f, id, TILE_ATTR_pipelined))
        stages = tile_op_attr_int(s->f, id, TILE_ATTR_pipelined, 1);
    if (body->arg_count && value_of(s, op->operands[0], &begin))
        set_value(s, body->first_arg, begin);
    s->copied = 0;
    s->may_have_roles = stages > 1 && !s->f->sync_explicit && !s->f->cluster_rank &&
                        (s->warps == 4 || s->warps == 8);
    s->w.depth = most(s->w.depth, (double)stages - 1);
    scan_region(s, op->regions[0], times * (double)trips, stages);
    if (s->copied > s->w.in_flight && trips > 0) s->w.in_flight = s->copied;
    s->copied = before;
    s->may_have_roles = false;
}

static void scan_branch(scan *s, const tile_op_data *op, double times, int64_t stages) {
    int64_t condition;
    bool known = value_of(s, op->operands[0], &condition);
    for (uint32_t r = 0; r < op->region_count; r++)
        if (!known || (condition != 0) == (r == 0)) scan_region(s, op->regions[r], times, stages);
}

/* A kernel of a plan may be given arrays that it never looks at. */
static void note_arguments(scan *s, const tile_op_data *op) {
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tile_value_data *value = tile_value_at(s->f, op->operands[i]);
        if (value->kind == TILE_VALUE_ARG && value->index < 64)
            s->used |= UINT64_C(1) << value->index;
    }
}

/* Tiles are stored in the background, through a ring, as specialize-warps makes it; stores share
 * one. What the products' own takes is never free in a persistent kernel. */
static void note_boxes(scan *s, const tile_op_data *op) {
    enum { PRODUCER = 4 /* warps */, BARRIERS = 256 /* bytes */ };
    const tile_type *tile = tile_value_type(s->f, op->operands[0]);
    unsigned sets = s->w.ping_pong ? 2 : 1, warps = s->warps / sets;
    bool persistent = s->f->is_persistent;
    tile_store_ring ring;
    tile_store_query query = {.element_bytes = tile_scalar_bytes(tile->scalar),
                              .warps = warps,
                              .sets = sets,
                              .block_warps = s->warps + PRODUCER,
                              .others = BARRIERS + (persistent ? s->w.shared - s->stored : 0),
                              .released = persistent ? 0 : s->w.shared,
                              .alone = true};
    if (s->warps > PRODUCER) query.registers = tile_entry_registers(query.block_warps);
    if (!s->w.roles || tile->rank != 2) return;
    for (unsigned d = 0; d < 2; d++) query.dims[d] = (uint32_t)tile_type_dim(tile, d);
    if (!tile_wgmma_admits(query.dims, query.row_dim, warps)) query.row_dim = TILE_WGMMA_EXCHANGED;
    s->boxes = tile_choose_store_ring(s->m->target, &query, &ring);
    if (!s->boxes || !persistent || ring.bytes <= s->stored) return;
    take_shared(s, ring.bytes - s->stored);
    s->stored = ring.bytes;
}

static void scan_op(scan *s, tile_op id, double times, int64_t stages) {
    const tile_op_data *op = tile_op_at(s->f, id);
    note_arguments(s, op);
    switch (op->opcode) {
    case TILE_OP_for: scan_loop(s, id, op, times); return;
    case TILE_OP_if: scan_branch(s, op, times, stages); return;
    case TILE_OP_block_id:
    case TILE_OP_grid_dim:
        for (uint32_t i = 0; i < op->result_count; i++)
            set_value(s, tile_op_result(s->f, id, i),
                      op->opcode == TILE_OP_block_id ? 0 : s->grid[i]);
        return;
    case TILE_OP_atomic: /* a ticket, as the first block draws it; of a tile, read and written */
        if (op->result_count) set_value(s, op->first_result, 0);
        for (uint32_t i = 0; i < op->operand_count; i++)
            if (tile_value_type(s->f, op->operands[i])->kind == TILE_TYPE_TILE) {
                s->meets = 3; /* the last one for all */
                s->w.stored += 2 * times * bytes_of(tile_value_type(s->f, op->operands[i]));
            }
        return;
    case TILE_OP_dot: add_dot(s, op, times); return;
    case TILE_OP_load:
        s->w.loaded += times * bytes_of(tile_value_type(s->f, op->first_result));
        return;
    case TILE_OP_store:
        note_boxes(s, op);
        s->w.stored += times * bytes_of(tile_value_type(s->f, op->operands[0]));
        return;
    case TILE_OP_copy:
    case TILE_OP_copy_async: add_copy(s, op, times, stages); return;
    case TILE_OP_alloc_shared:
        take_shared(s, shared_bytes(tile_value_type(s->f, op->first_result)));
        return;
    case TILE_OP_free_shared:
        s->w.shared -= shared_bytes(tile_value_type(s->f, op->operands[0]));
        return;
    case TILE_OP_scratch: s->meets = s->meets > 2 ? s->meets : 2; return;
    case TILE_OP_lock_semaphore: s->w.turns = 1; return;
    default: break; /* what has no cost of its own is computed, if it is an integer */
    }
    fold(s, op);
    for (uint32_t r = 0; r < op->region_count; r++) scan_region(s, op->regions[r], times, stages);
}

static void scan_region(scan *s, tile_region region, double times, int64_t stages) {
    for (tile_op op = tile_region_first(s->f, region); op.id; op = tile_op_next(s->f, op))
        scan_op(s, op, times, stages);
}

/* The launch ------------------------------------------------------------------------------------
 */

static bool arg_value(unsigned index, int64_t *value, void *user) {
    const scan *s = user;
    *value = s->sizes[index];
    return true;
}

/* Elements of the smallest scratch: the semaphores, of which blocks take turns at one. */
static void count_semaphores(scan *s, const tile_bindings *bindings) {
    (void)bindings;
    for (uint32_t id = 1; id < s->f->op_count; id++) {
        const tile_op_data *op = &s->f->ops[id];
        int64_t count = 1, extent;
        if (op->opcode != TILE_OP_scratch) continue;
        for (uint32_t i = 0; i < op->operand_count; i++)
            count *= value_of(s, op->operands[i], &extent) && extent > 0 ? extent : 1;
        if (!s->semaphores || count < s->semaphores) s->semaphores = count;
    }
}

static double view_bytes(const scan *s, const tile_bindings *bindings) {
    double bytes = 0;
    for (size_t i = 0; i < s->f->arg_count; i++) {
        const tile_type *type = s->f->args[i].type;
        double elements = 1;
        if (type->kind != TILE_TYPE_VIEW || i >= 64 || !(s->used >> i & 1)) continue;
        for (unsigned d = 0; d < type->rank; d++) {
            int64_t extent;
            if (!tile_expr_eval(s->f->args[i].extents[d], bindings, &extent)) extent = 1;
            elements *= (double)extent;
        }
        bytes += elements * tile_scalar_bytes(type->scalar);
    }
    return bytes;
}

static double registers_of(const scan *s) {
    return s->w.accumulators / 4 / (32.0 * s->warps);
}

/* NULL if it fits; else why not, in the arena. */
static const char *find_obstacle(const scan *s, const machine *m, tile_arena *arena) {
    unsigned threads = 32 * s->warps;
    if (threads > 1024)
        return tile_arena_format(arena, "%u threads, a block has at most 1024", threads);
    if (s->w.most_shared > (int64_t)m->target->max_shared_bytes)
        return tile_arena_format(arena, "%lld bytes of shared memory, %s has %u",
                                 (long long)s->w.most_shared, m->target->name,
                                 m->target->max_shared_bytes);
    if (registers_of(s) > MOST_REGISTERS)
        return tile_arena_format(arena,
                                 "its accumulators take %.0f registers of a thread, which has %d",
                                 registers_of(s), MOST_REGISTERS);
    if (s->w.ping_pong && !s->takes_turns)
        return "no groups take turns at its tiles: it is the same with consumers = cooperative";
    return NULL;
}

/* Blocks of which a multiprocessor has the room. */
static double count_resident(const scan *s, const machine *m) {
    if (s->f->is_persistent) return 1;
    unsigned warps = s->warps + (s->w.roles ? PRODUCER_WARPS : 0);
    double threads = 32.0 * warps;
    double registers = least(MOST_REGISTERS + 1, ceil((registers_of(s) + OTHER_REGISTERS) / 8) * 8);
    double blocks = least(m->target->sm_blocks, m->target->sm_warps / warps);
    blocks = least(blocks, floor(SM_REGISTERS / (registers * threads)));
    double shared = (double)s->w.most_shared + TILE_SHARED_RESERVED;
    blocks = least(blocks, floor(m->target->sm_shared_bytes / shared));
    return most(blocks, 1);
}

/* Tiles of which warpgroups compute the products. A multiprocessor has so many of them one after
 * the other, or several at once that share it, which takes as long. Then a tile is stored, while
 * nothing else happens unless there is another one: of the other group, or of another block. Data
 * that moves takes power, which the clock lacks then. */
static double estimate_warpgroups(const scan *s, const machine *m, double blocks, double share) {
    double tiles = ceil(blocks / m->sms), resident = least(count_resident(s, m), tiles);
    bool overlaps = s->takes_turns || resident > 1, full = overlaps || s->warps >= 8;
    double moved = power_of_moving * s->w.loaded / s->w.operations;
    double products = s->w.wgmma / (full ? m->wgmma : alone * m->wgmma) * (1 + moved) +
                      (s->w.operations - s->w.wgmma) / m->mma;
    products = most(products, s->w.shared_reads / SHARED_PER_CYCLE) / m->clock;
    double fast = L2_PER_CYCLE * m->clock;
    if (s->w.roles && s->w.in_flight > 0) share = least(fast, resident * s->w.in_flight / latency);
    double body = most(products, s->w.loaded / share),
           end = s->w.stored / share * (s->boxes ? 1 : 2);
    if (s->w.depth > 0) end += latency / s->w.depth; /* until the ring is full again */
    double starts = s->f->is_persistent ? 1 : ceil(tiles / resident);
    double last = 2 * s->w.stored / share; /* of all multiprocessors at once, and waited for */
    return starts * latency + tiles * body + (overlaps ? 1 : tiles) * end + last;
}

static double count_cluster(const scan *s) {
    double blocks = 1;
    int64_t extent;
    for (unsigned d = 0; d < s->f->cluster_rank; d++)
        if (tile_expr_is_int(s->f->cluster[d], &extent)) blocks *= (double)extent;
    return blocks;
}

static double estimate(const scan *s, const machine *m, double arrays) {
    double blocks = (double)s->grid[0] * (double)s->grid[1] * (double)s->grid[2];
    double resident = least(count_resident(s, m), ceil(blocks / m->sms));
    double waves = ceil(blocks / (resident * m->sms)), warps = resident * s->warps;
    double mma = m->mma * least(1, warps / WARPS_TO_SATURATE);
    double products = most(s->w.operations / mma, s->w.shared_reads / SHARED_PER_CYCLE) / m->clock;
    double share = m->bandwidth * l2_factor / m->sms;
    if (s->w.in_flight > 0) share = least(share, resident * s->w.in_flight / latency);
    double wave = most(products, (s->w.loaded + s->w.stored) / share) * resident + latency;
    double all = waves * wave, chain = 0;
    if (s->w.wgmma > 0) all = estimate_warpgroups(s, m, blocks, share);
    if (s->w.turns > 0 && s->semaphores)
        chain = (blocks / (double)s->semaphores - 1) * turn_seconds;
    double memory = arrays / m->bandwidth, meeting = s->meets * latency;
    if (s->f->grid_rank && tile_expr_holds(s->f->grid[0], TILE_EXPR_NUM_SMS))
        meeting += shares * latency; /* stream_k: a tile's last block adds the parts in turn */
    if (s->f->cluster_rank) meeting += count_cluster(s) * latency;
    return launch_seconds + most(all, memory) + hidden * least(all, memory) + chain + meeting;
}

/* Seconds of a launch of the instantiated kernel; *why is not NULL if it cannot fit. */
static double estimate_kernel(const tile_function *f, const int64_t *sizes, const machine *m,
                              tile_arena *arena, const char **why) {
    scan s = {.f = f, .sizes = sizes, .m = m, .grid = {1, 1, 1}};
    const tile_bindings bindings = {.arg = arg_value, .user = &s, .num_sms = (int64_t)m->sms};
    int64_t warps = 1;
    s.values = TILE_NEW_ARRAY(arena, int64_t, f->value_count + 1);
    s.known = TILE_NEW_ARRAY(arena, bool, f->value_count + 1);
    for (unsigned i = 0; i < f->grid_rank; i++)
        if (!tile_expr_eval(f->grid[i], &bindings, &s.grid[i]) || s.grid[i] < 1) s.grid[i] = 1;
    if (f->warps && tile_expr_eval(f->warps, &bindings, &warps) && warps > 0 && warps < 1 << 16)
        s.warps = (unsigned)warps;
    else
        s.warps = 1;
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind == TILE_TYPE_SCALAR) set_value(&s, f->args[i].value, sizes[i]);
    scan_region(&s, f->body, 1, 1);
    count_semaphores(&s, &bindings);
    s.takes_turns = s.w.ping_pong && s.w.roles && f->is_persistent && s.warps == 8;
    *why = find_obstacle(&s, m, arena);
    return estimate(&s, m, view_bytes(&s, &bindings));
}

/* Plans: their launches one after the other. */
static double estimate_plan(const tile_function *f, const int64_t *sizes, const machine *m,
                            tile_arena *arena, const char **why) {
    tile_steps *steps = tile_steps_create(f);
    scan s = {.f = f, .sizes = sizes};
    const tile_bindings bindings = {.arg = arg_value, .user = &s, .num_sms = (int64_t)m->sms};
    double seconds = 0;
    for (size_t i = 0; steps && i < steps->step_count && !*why; i++) {
        const tile_step *step = &steps->steps[i];
        if (step->kind != TILE_STEP_LAUNCH) continue;
        int64_t *own = TILE_NEW_ARRAY(arena, int64_t, step->given_count + 1u);
        for (unsigned g = 0; g < step->given_count; g++) {
            const tile_given *given = &step->given[g];
            if (given->kind == TILE_GIVEN_ARGUMENT) own[g] = sizes[given->index];
            if (given->kind == TILE_GIVEN_INTEGER) tile_expr_eval(given->expr, &bindings, &own[g]);
        }
        const tile_function *kernel = tile_module_find(f->module, steps->kernels[step->kernel]);
        if (kernel) seconds += estimate_kernel(kernel, own, m, arena, why);
    }
    tile_steps_destroy(steps);
    return seconds;
}

static void take_rates(machine *m) {
    static const double rates[][2] = {
#define TARGET(name, capability, specific, ptx, shared, warps, blocks, sm_shared, mma, wgmma) \
    {mma, wgmma},
#include "tile/targets.def"
#undef TARGET
    };
    unsigned row = 0;
    while (strcmp(tile_target_at(row)->name, m->target->name) != 0) row++;
    m->mma = rates[row][0];
    m->wgmma = rates[row][1];
}

static machine describe(const tile_device *device) {
    machine m = {.target = device->target,
                 .sms = device->num_sms ? device->num_sms : 132,
                 .clock = device->clock ? 1e3 * device->clock : 1.755e9,
                 .bandwidth = 4e12};
    take_rates(&m);
    if (device->memory_clock && device->memory_bus)
        m.bandwidth = 2e3 * device->memory_clock * device->memory_bus / 8;
    return m;
}

/* Loops that are split have their blocks and launches. */
static tile_status deal_out(tile_module *module, const char *name, const tile_target *target) {
    const tile_pass_options passes = {.size = sizeof passes, .target = target, .kernel = name};
    if (tile_takes_steps(tile_module_find(module, name)))
        return tile_make_steps(module, name, target);
    return tile_run_passes(module, "split-k", &passes);
}

/* The first error, into the point's arena. */
static void take_message(const tile_diagnostic *d, void *user) {
    tune_point *point = user;
    if (d->severity != TILE_ERROR || point->c.state == TILE_CANDIDATE_dropped) return;
    point->c.state = TILE_CANDIDATE_dropped;
    point->c.why = tile_arena_string(&point->arena, d->message, strlen(d->message));
}

void tune_estimate_points(const tile_device *device, const tile_module *module, const char *name,
                          const int64_t *sizes, tune_point *points, size_t count) {
    machine m = describe(device);
    tile_context *context = tile_module_context(module);
    tile_sink sink = context->sink;
    void *user = context->sink_user;
    unsigned errors = context->errors;
    for (size_t i = 0; i < count; i++) {
        tile_candidate *c = &points[i].c;
        tile_arena arena = {0};
        const char *why = NULL;
        tile_module *copy = tile_module_clone(module);
        tile_context_set_sink(context, take_message, &points[i]);
        if (tile_instantiate(copy, name, c->bindings, c->binding_count) == TILE_OK &&
            deal_out(copy, name, device->target) == TILE_OK) {
            const tile_function *f = tile_module_find(copy, name);
            c->estimate = f->kind == TILE_PLAN ? estimate_plan(f, sizes, &m, &arena, &why)
                                               : estimate_kernel(f, sizes, &m, &arena, &why);
        }
        if (why) {
            c->state = TILE_CANDIDATE_dropped;
            c->why = tile_arena_string(&points[i].arena, why, strlen(why));
        }
        tile_module_destroy(copy);
        tile_arena_reset(&arena);
    }
    tile_context_set_sink(context, sink, user);
    context->errors = errors;
}
