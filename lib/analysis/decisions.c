#include "lib/analysis/decisions.h"

#include "lib/support/integer.h"
#include "lib/support/scalar.h"
#include "lib/support/target.h"

/* Registers ----------------------------------------------------------------------------------- */

bool tile_dot_promotes(const tile_dot_facts *dot) {
    tile_scalar lhs = dot->query.lhs;
    return tile_scalar_bits(lhs) == 8 && tile_scalar_is_floating(lhs) &&
           dot->query.acc == TILE_f32 && !dot->fast;
}

int64_t tile_dot_sum_registers(const tile_dot_facts *dot, unsigned warps) {
    int64_t bytes = (int64_t)dot->query.m * dot->query.n * tile_scalar_bytes(dot->query.acc);
    return bytes / 4 / (32 * (int64_t)warps);
}

int64_t tile_dot_registers(const tile_dot_facts *dot) {
    enum { FEW_COLUMNS = 64 };
    int64_t sums = tile_dot_sum_registers(dot, dot->warps),
            own = sums < FEW_COLUMNS / 2 ? sums : FEW_COLUMNS / 2;
    return tile_dot_promotes(dot) ? sums + own : sums;
}

static unsigned first_operand_of(unsigned row_dim) {
    return row_dim == TILE_WGMMA_PLAIN ? TILE_MMA_LHS : TILE_MMA_RHS;
}

static unsigned bytes_of(const tile_dot_facts *dot, unsigned operand) {
    return tile_scalar_bytes(operand == TILE_MMA_LHS ? dot->query.lhs : dot->query.rhs);
}

/* Registers for the instruction's first operand: each warp holds the rows of its sums. Warpgroups
 * that cannot share the rows evenly hold all of them. */
static int64_t first_registers(const tile_dot_facts *dot, unsigned row_dim, unsigned warps) {
    unsigned operand = first_operand_of(row_dim);
    const uint32_t *dims = dot->operand[operand].dims;
    uint32_t rows = row_dim == TILE_WGMMA_PLAIN ? dot->query.m : dot->query.n;
    const uint32_t blocks = rows / TILE_WGMMA_ROWS, groups = warps / TILE_WARPGROUP;
    const int64_t shared_by = (int64_t)tile_gcd(groups, blocks);
    int64_t holders = blocks && groups ? TILE_WARPGROUP * shared_by : warps;
    return (int64_t)dims[0] * dims[1] * bytes_of(dot, operand) / (128 * holders);
}

int64_t tile_dot_excess_registers(const tile_dot_facts *dot, unsigned row_dim, unsigned warps,
                                  int64_t held) {
    enum { BLOCK_REGISTERS = 65536, MAX_THREAD_REGISTERS = 255, OTHER_REGISTERS = 24 };
    int64_t others = held / (128 * (int64_t)warps);
    int64_t sums = tile_dot_registers(dot) * dot->warps / warps + others;
    int64_t there = BLOCK_REGISTERS / (32 * (int64_t)dot->warps);
    there = (there < MAX_THREAD_REGISTERS ? there : MAX_THREAD_REGISTERS) - OTHER_REGISTERS;
    bool in_registers = !dot->operand[first_operand_of(row_dim)].shared;
    int64_t first = in_registers ? first_registers(dot, row_dim, warps) : 0;
    return sums + first <= there ? 0 : sums + first;
}

static bool is_across(const tile_dot_facts *dot, unsigned operand) {
    const tile_dot_operand *o = &dot->operand[operand];
    return o->shared && !o->layout && o->along != o->k_dim && bytes_of(dot, operand) != 2;
}

void tile_dot_choose_registers(tile_dot_facts *dot) {
    for (unsigned i = 0; i < 2; i++) {
        if (!is_across(dot, i) || is_across(dot, 1 - i) || !dot->operand[1 - i].shared) continue;
        dot->operand[i].shared = false;
        return;
    }
}

/* Rows ---------------------------------------------------------------------------------------- */

static bool admits(const tile_dot_facts *dot, unsigned row_dim, unsigned warps) {
    const uint32_t dims[2] = {dot->query.m, dot->query.n};
    return tile_wgmma_admits(dims, row_dim, warps);
}

static bool admits_any(const tile_dot_facts *dot, unsigned warps) {
    return admits(dot, TILE_WGMMA_PLAIN, warps) || admits(dot, TILE_WGMMA_SWAPPED, warps);
}

bool tile_dot_admits(const tile_dot_facts *dot, unsigned row_dim) {
    return admits(dot, row_dim, dot->warps);
}

uint32_t tile_dot_most_columns(const tile_dot_facts *dot, unsigned warps) {
    int64_t left = TILE_WGMMA_MAX_REGISTERS - tile_dot_sum_registers(dot, warps);
    if (!tile_dot_promotes(dot)) return TILE_WGMMA_MAX_COLUMNS;
    return left > 0 ? 2 * (uint32_t)left : 0;
}

static unsigned better_row_dim(const tile_dot_facts *dot, unsigned warps) {
    const uint32_t dims[2] = {dot->query.m, dot->query.n};
    uint32_t most = tile_dot_most_columns(dot, warps);
    tile_scalar acc = dot->query.acc;
    if (!admits(dot, TILE_WGMMA_SWAPPED, warps)) return TILE_WGMMA_PLAIN;
    if (!admits(dot, TILE_WGMMA_PLAIN, warps)) return TILE_WGMMA_SWAPPED;
    return tile_wgmma_reads(dims, TILE_WGMMA_SWAPPED, warps, acc, most) <
                   tile_wgmma_reads(dims, TILE_WGMMA_PLAIN, warps, acc, most)
               ? TILE_WGMMA_SWAPPED
               : TILE_WGMMA_PLAIN;
}

unsigned tile_dot_row_dim_of_registers(const tile_dot_facts *dot) {
    if (!dot->operand[TILE_MMA_LHS].shared) return TILE_WGMMA_PLAIN;
    return dot->operand[TILE_MMA_RHS].shared ? 2 : TILE_WGMMA_SWAPPED;
}

unsigned tile_dot_prefer_row_dim(const tile_dot_facts *dot, unsigned warps, unsigned shared_by_3,
                                 unsigned others) {
    unsigned registers = tile_dot_row_dim_of_registers(dot);
    if (registers < 2) return registers;
    if (shared_by_3 < 2) return shared_by_3;
    return others < 2 ? others : better_row_dim(dot, warps);
}

/* wgmma --------------------------------------------------------------------------------------- */

tile_wgmma_obstacle tile_find_wgmma_obstacle(const tile_dot_facts *dot) {
    const tile_mma_query *q = &dot->query;
    if (!tile_wgmma_multiplies(q)) return TILE_WGMMA_OBSTACLE_TYPES;
    if (dot->warps % TILE_WARPGROUP || dot->first % TILE_WARPGROUP)
        return TILE_WGMMA_OBSTACLE_WARPS;
    if (!admits_any(dot, dot->warps)) return TILE_WGMMA_OBSTACLE_ROWS;
    if (tile_layout_part_extent(q->k) % tile_wgmma_depth(q->lhs)) return TILE_WGMMA_OBSTACLE_K;
    if (tile_dot_registers(dot) > TILE_WGMMA_MAX_REGISTERS) return TILE_WGMMA_OBSTACLE_REGISTERS;
    return q->acc_layout ? TILE_WGMMA_OBSTACLE_GIVEN_LAYOUT : TILE_WGMMA_NO_OBSTACLE;
}

/* The smallest number of columns of the second operand in an instruction (warpgroup_find_plan). */
static uint32_t least_columns(const tile_dot_facts *dot, unsigned row_dim) {
    const uint32_t dims[2] = {dot->query.m, dot->query.n};
    uint32_t columns = 8, part = tile_layout_part_extent(dims[1 - row_dim]);
    tile_layout layout = tile_wgmma_accumulator(dims, row_dim, dot->warps);
    tile_wgmma_holds(&layout, row_dim, dot->query.acc, &columns);
    return part < columns ? part : columns;
}

/* Returns whether a descriptor can describe the operand in its given or future layout. */
static bool is_named(const tile_dot_facts *dot, unsigned operand, uint32_t rows) {
    const tile_dot_operand *o = &dot->operand[operand];
    unsigned bytes = bytes_of(dot, operand);
    tile_wgmma_matrix matrix;
    tile_layout own;
    if (!o->layout) own = tile_wgmma_shared(o->dims, o->along, bytes);
    return tile_wgmma_match(o->layout ? o->layout : &own, o->k_dim, bytes, rows, &matrix);
}

static tile_wgmma_obstacle check_operands(const tile_dot_facts *dot, unsigned row_dim,
                                          unsigned *operand) {
    unsigned first = first_operand_of(row_dim);
    *operand = 1 - first;
    if (!dot->operand[1 - first].shared) return TILE_WGMMA_OBSTACLE_NOT_SHARED;
    if (!is_named(dot, 1 - first, least_columns(dot, row_dim)))
        return TILE_WGMMA_OBSTACLE_DESCRIPTOR;
    *operand = first;
    bool named = !dot->operand[first].shared || is_named(dot, first, TILE_WGMMA_ROWS);
    return named ? TILE_WGMMA_NO_OBSTACLE : TILE_WGMMA_OBSTACLE_DESCRIPTOR;
}

tile_wgmma_obstacle tile_choose_row_dim(const tile_dot_facts *dot, bool is_given, unsigned *row_dim,
                                        unsigned *operand) {
    tile_wgmma_obstacle found = TILE_WGMMA_OBSTACLE_ROW_DIM;
    unsigned preferred = *row_dim, at;
    for (unsigned i = 0; i < (is_given ? 1u : 2u); i++) {
        *row_dim = i ? 1 - preferred : preferred;
        if (!tile_dot_admits(dot, *row_dim)) continue;
        tile_wgmma_obstacle reason = check_operands(dot, *row_dim, &at);
        if (reason == TILE_WGMMA_NO_OBSTACLE) return TILE_WGMMA_NO_OBSTACLE;
        if (found == TILE_WGMMA_OBSTACLE_ROW_DIM) found = reason, *operand = at;
    }
    return found;
}

/* Consumers ----------------------------------------------------------------------------------- */

bool tile_dot_admits_cooperative_3(const tile_dot_facts *dot, unsigned row_dim) {
    enum { MAX_SUMS = 96 /* per thread */ };
    uint32_t dims[2] = {dot->query.m, dot->query.n};
    bool equal = dims[row_dim] % TILE_COOPERATIVE_3 == 0 && !tile_dot_promotes(dot);
    dims[row_dim] /= TILE_COOPERATIVE_3;
    return equal && tile_wgmma_admits(dims, row_dim, TILE_WARPGROUP) &&
           tile_dot_sum_registers(dot, TILE_WARPGROUP * TILE_COOPERATIVE_3) <= MAX_SUMS;
}

tile_rejection tile_dot_rejects_ping_pong(const tile_dot_facts *dot) {
    if (!admits_any(dot, TILE_WARPGROUP))
        return (tile_rejection){"4 warps cannot compute its tile alone", NULL};
    if (TILE_PING_PONG * tile_dot_registers(dot) > TILE_WGMMA_MAX_REGISTERS)
        return (tile_rejection){"the sums of its tile do not fit into the registers of 4 warps",
                                "use a smaller tile"};
    return (tile_rejection){NULL, NULL};
}

unsigned tile_dot_sum_warps(const tile_dot_facts *dot, bool asks_ping_pong) {
    bool turns = asks_ping_pong && dot->warps == TILE_PING_PONG * TILE_WARPGROUP &&
                 !tile_dot_rejects_ping_pong(dot).why;
    return turns ? TILE_WARPGROUP : dot->warps;
}

/* Loops --------------------------------------------------------------------------------------- */

static bool has_wgmma(const tile_loop_facts *loop) {
    return tile_target_has(loop->target, TILE_FEATURE_wgmma);
}

tile_rejection tile_loop_rejects_roles(const tile_loop_facts *loop) {
    if (loop->stages < 2)
        return (tile_rejection){"one stage cannot be filled while it is read",
                                "write `pipelined (2)` or more"};
    if (loop->ordered)
        return (tile_rejection){"`order` and `stage` schedule the statements of one set of warps",
                                "remove them"};
    if (loop->is_explicit)
        return (tile_rejection){
            "it is marked `sync explicit`, and the compiler inserts no barriers in it",
            "remove `sync explicit`, or write `roles`"};
    if (loop->warps != TILE_WARPGROUP && loop->warps != 2 * TILE_WARPGROUP)
        return (tile_rejection){"the kernel's warps are not one or two warpgroups",
                                "write `warps 4` or `warps 8`"};
    return (tile_rejection){NULL, NULL};
}

tile_rejection tile_loop_rejects_dot(const tile_loop_facts *loop, bool wgmma, bool mma) {
    if (has_wgmma(loop) && !wgmma)
        return (tile_rejection){"it is not computed by wgmma", "the remark \"no wgmma\" says why"};
    if (!has_wgmma(loop) && !mma) return (tile_rejection){"no mma instruction computes it", NULL};
    return (tile_rejection){NULL, NULL};
}

tile_rejection tile_loop_rejects_chain(const tile_loop_facts *loop) {
    if (has_wgmma(loop)) return (tile_rejection){NULL, NULL};
    return (tile_rejection){
        "it is an mma.sync product of another product's result: the fragments of both would spill "
        "in the registers that a block with a producer warp has",
        NULL};
}

tile_rejection tile_loop_rejects_ping_pong(const tile_loop_facts *loop) {
    if (!has_wgmma(loop)) return (tile_rejection){"the target has no wgmma", NULL};
    if (loop->warps != TILE_PING_PONG * TILE_WARPGROUP)
        return (tile_rejection){"it needs two groups of 4 warps", "write `warps 8`"};
    if (!loop->over_tiles)
        return (tile_rejection){"groups alternate between tiles, and a block has only one tile",
                                "make the kernel `persistent`"};
    return (tile_rejection){NULL, NULL};
}

/* A block whose warpgroups change their register counts is resident alone, too. */
static bool preserves_occupancy(const tile_outer_ring_facts *copies, int64_t bytes) {
    const tile_target *target = copies->target;
    unsigned warps = copies->warps + TILE_WARPGROUP;
    return copies->alone || copies->warps > TILE_WARPGROUP ||
           tile_target_residency(target, warps, 0, (unsigned)bytes, NULL) ==
               tile_target_residency(target, warps, 0, (unsigned)(bytes + copies->stage), NULL);
}

unsigned tile_choose_outer_ring_stages(const tile_outer_ring_facts *copies) {
    enum { PIECES = 2 * 64 * 128 /* bytes per warpgroup */ };
    int64_t bytes = copies->bytes + (int64_t)PIECES * (copies->warps / TILE_WARPGROUP);
    bool fits = bytes + copies->stage <= (int64_t)copies->target->max_shared_bytes;
    return fits && preserves_occupancy(copies, bytes) ? 2 : 1;
}
