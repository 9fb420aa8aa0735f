/* choose-instructions: decides for each dot whether a warpgroup computes it with wgmma.
 *
 * wgmma reads its operands from shared memory directly, executes on four warps at once, and reaches
 * the peak rate of the tensor cores on sm_90a. mma.sync needs its operands in registers and reaches
 * 0.79 of that rate.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated, laid_out
 * breaks: nothing
 *
 * target: sm_90a
 * pipeline: choose-instructions
 * before:
 *   kernel @tile(%p: ptr<f16>, %c: ptr<f32>)
 *       grid [1]  warps 4
 *   {
 *     %a = view %p, [64, 64] : view<f16[64, 64]>
 *     %o = view %c, [64, 64] : view<f32[64, 64]>
 *     %s = alloc_shared : shared<f16[64, 64]>
 *     %t = alloc_shared : shared<f16[64, 64]>
 *     copy %a[0, 0], %s
 *     copy %a[0, 0], %t
 *     %zero = splat 0.0 : tile<f32[64, 64]>
 *     %x = load_shared %s : tile<f16[64, 64]>
 *     %sum = dot %x, %t, %zero : tile<f32[64, 64]>
 *     store %sum, %o[0, 0]
 *   }
 *
 * after:
 *   kernel @tile(%p: ptr<f16>, %c: ptr<f32>)
 *       grid [1]  warps 4
 *   {
 *     %a = view %p, [64, 64] : view<f16[64, 64]>
 *     %o = view %c, [64, 64] : view<f32[64, 64]>
 *     %s = alloc_shared : shared<f16[64, 64]>
 *     %t = alloc_shared : shared<f16[64, 64]>
 *     copy %a[0, 0], %s
 *     copy %a[0, 0], %t
 *     %zero = splat 0.0 : tile<f32[64, 64]>
 *     %sum = dot %s, %t, %zero {via = wgmma} : tile<f32[64, 64]>
 *     store %sum, %o[0, 0]
 *   }
 *
 * A dot uses wgmma if the target supports it, if its types, extents and the number of warps fit,
 * and if at least one operand is in shared memory. Such an operand is one of: a buffer; a
 * load_shared whose only use is this dot, with no operation between them that may change the buffer
 * (the dot then reads it in place); a load in a `pipelined` loop, for which the pass pipeline makes
 * a buffer. The other operand may be a tile in registers. That includes an operand rounded to tf32
 * when it is loaded, because an asynchronous copy cannot convert. Elements other than 16-bit ones
 * must be contiguous along k in shared memory, and therefore in the view that they are copied from.
 * If one operand of them is not, each warp loads its rows of it to registers.
 *
 * A user's `via` overrides the choice. All other dots use mma.sync, and a remark gives the reason.
 * Further reasons are: the accumulators need too many registers together with those of other
 * pending dots; the kernel calls `print` or `assert`, at which ptxas serializes all wgmma; the dot
 * has at most 32 rows, although wgmma could compute it, and rhs is not contiguous along k.
 *
 * The pass also decides which operand becomes the first operand of the instruction, and records it
 * (`swap_operands`: rhs) before any layout depends on it. The choice is, in this order: the operand
 * in registers; the operand that lets four lanes hold the rows that are reduced after the loop; the
 * operand that lets a thread hold contiguous elements of tiles combined with the accumulator; the
 * operand with which the instructions, 64 rows by their columns each, read less
 * shared memory. */
#include <stdio.h>
#include <string.h>

#include "lib/analysis/access.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/live_across.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/pipeline_plan.h"
#include "lib/analysis/product.h"
#include "lib/ir/remark.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"
#include "lib/support/target.h"
#include "passes/common/warpgroup.h"
#include "passes/expand/prepare.h"
#include "passes/warps/misaligned_rows.h"

typedef struct chooser {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    const uint32_t *uses; /* by value */
    uint8_t *along;       /* by buffer: 1 + the contiguous dim of its copies; 0: no copies */
    bool *single;         /* by buffer of tf32: it holds f32, rounded when it is loaded */
    const int64_t *held;  /* by op: bytes of other dots' accumulators that are pending while it
                             runs */
    tile_op *dots;
    unsigned count;
    tile_op call; /* a print or assert, or TILE_NO_OP */
    bool failed;
} chooser;

/* Why a dot does not use wgmma, and the remedy. */
typedef struct obstacle {
    char why[200];
    const char *remedy; /* NULL: none */
    bool found;
} obstacle;

static const char *operand_name(unsigned operand) {
    return operand == TILE_MMA_LHS ? "lhs" : "rhs";
}

#define OBSTACLE(o, help, ...) \
    ((o)->found = true, (o)->remedy = (help), (void)snprintf((o)->why, sizeof(o)->why, __VA_ARGS__))

/* 1. Sources of shared buffers ---------------------------------------------------------------- */

/* 1 + the dim of a tile of this rank in which a view's elements are contiguous; 0: none. */
static uint8_t contiguous_dim(const chooser *c, const tile_value *view, unsigned rank) {
    tile_access_facts facts = tile_view_access(c->f, c->ranges, view);
    unsigned unit = tile_unit_dim(&facts, tile_value_type(c->f, view[0])->rank, rank);
    return unit < rank ? (uint8_t)(1 + unit) : 0;
}

/* Returns whether a copy is asynchronous, or becomes so by pipelining, and so cannot round. */
static bool cannot_round(const chooser *c, tile_op copy, const tile_value *from,
                         const tile_value *to) {
    bool ahead =
        tile_op_opcode(c->f, copy) == TILE_OP_copy_async || tile_pipelined_around(c->f, copy).id;
    return ahead && tile_value_type(c->f, from[0])->scalar == TILE_f32 &&
           tile_value_type(c->f, to[0])->scalar == TILE_tf32;
}

static void collect(chooser *c, tile_op op) {
    tile_function *f = c->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_dot) c->dots[c->count++] = op;
    if (opcode == TILE_OP_print || opcode == TILE_OP_assert) c->call = op;
    if (opcode != TILE_OP_copy && opcode != TILE_OP_copy_async) return;
    const tile_values from = tile_operands_src(f, op), to = tile_operands_dst(f, op);
    bool in = tile_value_type(f, from.at[0])->kind == TILE_TYPE_VIEW;
    const tile_value *view = in ? from.at : to.at, *buffer = in ? to.at : from.at;
    unsigned rank = tile_value_type(f, buffer[0])->rank;
    uint8_t along = contiguous_dim(c, view, rank);
    if (along) c->along[tile_shared_source(f, buffer[0]).id] = along;
    if (cannot_round(c, op, from.at, to.at)) c->single[tile_shared_source(f, buffer[0]).id] = true;
}

/* 2. Operands --------------------------------------------------------------------------------- */

/* Returns whether an operation leaves a buffer unchanged and is no barrier, after which other
 * threads could write the buffer. */
static bool preserves_buffer(const tile_function *f, tile_op op, tile_value buffer) {
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_alloc_shared:
    case TILE_OP_load:
    case TILE_OP_load_shared:
    case TILE_OP_store:
    case TILE_OP_store_shared:
    case TILE_OP_copy:
    case TILE_OP_dot: break;
    case TILE_OP_free_shared: return tile_operand_buffer(f, op).id != buffer.id;
    default: return !tile_op_effects(f, op);
    }
    return !tile_may_write(f, op, buffer);
}

/* Returns whether no operation between the load and the later dot, in the same region, may change
 * the buffer. */
static bool undisturbed_load(const tile_function *f, tile_op load, tile_value buffer, tile_op dot) {
    bool alone = tile_op_at(f, load)->parent.id == tile_op_at(f, dot)->parent.id;
    for (tile_op op = tile_op_next(f, load); alone && op.id && op.id != dot.id;
         op = tile_op_next(f, op))
        alone = preserves_buffer(f, op, buffer);
    return alone;
}

/* Finds the load_shared of a whole buffer, or stage, that the dot can read in place; TILE_NO_OP if
 * there is none. */
static tile_op load_in_place(const chooser *c, tile_op dot, tile_value tile, obstacle *o) {
    tile_op load = tile_value_def(c->f, tile);
    if (!load.id || tile_op_opcode(c->f, load) != TILE_OP_load_shared) return TILE_NO_OP;
    const tile_values element = tile_operands_src(c->f, load);
    const tile_type *buffer = tile_value_type(c->f, element.at[0]);
    if (buffer->cluster || element.count != 1u + (buffer->stages != NULL)) return TILE_NO_OP;
    if (c->uses[tile.id] != 1)
        OBSTACLE(o, "pass the buffer to `dot`", "the load_shared of an operand has other uses");
    else if (!undisturbed_load(c->f, load, element.at[0], dot))
        OBSTACLE(o, "move the load_shared next to the dot",
                 "between an operand's load_shared and the dot its buffer may be written or freed");
    return o->found ? TILE_NO_OP : load;
}

/* Returns whether the pass pipeline will make a buffer for the load. */
static bool will_be_staged(const chooser *c, tile_value tile) {
    tile_op load = tile_value_def(c->f, tile);
    if (!load.id || tile_op_opcode(c->f, load) != TILE_OP_load) return false;
    return tile_value_type(c->f, tile_operand_src(c->f, load))->kind == TILE_TYPE_VIEW &&
           tile_pipelined_around(c->f, load).id != 0;
}

/* Finds the dim along which an operand is contiguous in shared memory. False, possibly with a
 * reason, if it is not in shared memory. */
static bool find_shared(const chooser *c, tile_op dot, unsigned operand, unsigned *along,
                        obstacle *o) {
    tile_value value = tile_op_segment(c->f, dot, operand).at[0];
    const tile_type *type = tile_value_type(c->f, value);
    unsigned known = c->along[value.id];
    if (type->kind == TILE_TYPE_TILE && will_be_staged(c, value)) {
        const tile_values view = tile_operands_src(c->f, tile_value_def(c->f, value));
        known = contiguous_dim(c, view.at, 2);
    } else if (type->kind == TILE_TYPE_TILE) {
        tile_op load = load_in_place(c, dot, value, o);
        if (!load.id) return false;
        value = tile_operand_src(c->f, load);
        type = tile_value_type(c->f, value);
        known = c->along[value.id];
    }
    if (type->cluster) return false;
    if (c->single[value.id]) {
        OBSTACLE(o, "copy it from a view of tf32, whose low 13 bits are ignored",
                 "%s is copied from f32 and rounded to tf32 when it is loaded, but wgmma reads "
                 "shared memory directly",
                 operand_name(operand));
        return false;
    }
    *along = known ? known - 1 : warpgroup_contiguous_dim(c->f, dot, operand);
    return true;
}

/* reasons: why lhs and rhs are not in shared memory, if known. */
static tile_dot_facts facts_of(const chooser *c, tile_op dot, obstacle reasons[2]) {
    tile_dot_facts facts = warpgroup_facts(c->f, dot);
    for (unsigned operand = 0; operand < 2; operand++) {
        tile_dot_operand *o = &facts.operand[operand];
        reasons[operand].found = false;
        o->shared = find_shared(c, dot, operand, &o->along, &reasons[operand]);
    }
    tile_dot_choose_registers(&facts);
    return facts;
}

/* 3. The dot ---------------------------------------------------------------------------------- */

static void report_registers(const tile_dot_facts *dot, obstacle *o) {
    OBSTACLE(o,
             tile_dot_promotes(dot)
                 ? "use more warps or smaller tiles, or {fast}, which leaves them in the tensor "
                   "cores at less precision"
                 : "use more warps or smaller tiles",
             "the accumulators take %lld registers per thread, which leaves too few for wgmma",
             (long long)tile_dot_registers(dot));
}

static void report_matrix(const tile_dot_facts *dot, unsigned operand, obstacle *o) {
    const tile_dot_operand *of = &dot->operand[operand];
    tile_scalar scalar = operand == TILE_MMA_LHS ? dot->query.lhs : dot->query.rhs;
    if (of->layout)
        OBSTACLE(o, "leave the layout to the compiler", "no descriptor names the layout of %s",
                 operand_name(operand));
    else if (of->along != of->k_dim && tile_scalar_bytes(scalar) != 2)
        OBSTACLE(o, "store it with k contiguous, or copy it from such a view",
                 "in shared memory, elements of %s (%u bits) are contiguous along %s, which wgmma "
                 "supports for 16 bits only",
                 operand_name(operand), tile_scalar_bits(scalar),
                 operand == TILE_MMA_LHS ? "m" : "n");
    else
        OBSTACLE(o, "use extents of at least 8 rows and 16 bytes",
                 "%s is too small for the atoms of a descriptor", operand_name(operand));
}

/* operand: the operand that the obstacle concerns, if any. */
static void report_obstacle(const tile_dot_facts *dot, tile_wgmma_obstacle found, unsigned operand,
                            obstacle *o) {
    const tile_mma_query *query = &dot->query;
    switch (found) {
    case TILE_WGMMA_NO_OBSTACLE: break;
    case TILE_WGMMA_OBSTACLE_TYPES:
        OBSTACLE(
            o, "cast the operands to one of these",
            "wgmma multiplies f16, bf16, tf32, 8-bit floats and i8, not %s by %s with sums in %s",
            tile_scalar_name(query->lhs), tile_scalar_name(query->rhs),
            tile_scalar_name(query->acc));
        break;
    case TILE_WGMMA_OBSTACLE_WARPS:
        OBSTACLE(o, "use 4, 8 or 16 warps",
                 "a warpgroup is four warps from a multiple of four on, and this is executed by %u "
                 "from warp %u on",
                 dot->warps, dot->first);
        break;
    case TILE_WGMMA_OBSTACLE_ROWS:
        OBSTACLE(
            o, "make m or n a multiple of 64, make the other one larger, or use fewer warps",
            "each warpgroup takes 64 rows and a multiple of 8 columns, and the sums are %u x %u "
            "for %u warps",
            (unsigned)query->m, (unsigned)query->n, dot->warps);
        break;
    case TILE_WGMMA_OBSTACLE_K:
        OBSTACLE(o, "make k larger", "k is %u, and wgmma takes multiples of %u", (unsigned)query->k,
                 (unsigned)tile_wgmma_depth(query->lhs));
        break;
    case TILE_WGMMA_OBSTACLE_REGISTERS: report_registers(dot, o); break;
    case TILE_WGMMA_OBSTACLE_GIVEN_LAYOUT:
        OBSTACLE(o, "leave the layout to the compiler", "the accumulator's layout is given");
        break;
    case TILE_WGMMA_OBSTACLE_ROW_DIM:
        OBSTACLE(o, "remove `swap_operands`, and the compiler chooses",
                 "exchanged, each warpgroup takes 64 columns of the sums and a multiple of 8 rows");
        break;
    case TILE_WGMMA_OBSTACLE_NOT_SHARED:
        OBSTACLE(o, "store it by store_shared, and pass the buffer to `dot`",
                 "%s is in registers, and wgmma takes it from shared memory only",
                 operand_name(operand));
        break;
    case TILE_WGMMA_OBSTACLE_DESCRIPTOR: report_matrix(dot, operand, o); break;
    }
}

/* A tile with the accumulator's extents that is combined with it: loaded from an argument or added
 * by an atomic. NULL if op moves none. Scratch does not count, because its order follows the layout
 * of its tiles. */
static const tile_value *find_other(const tile_function *f, tile_op op, const tile_type *acc) {
    bool loads = tile_op_opcode(f, op) == TILE_OP_load;
    if (!loads && tile_op_opcode(f, op) != TILE_OP_atomic) return NULL;
    const tile_type *tile =
        tile_value_type(f, loads ? tile_op_result(f, op, 0) : tile_operand_src(f, op));
    const tile_values memory = loads ? tile_operands_src(f, op) : tile_operands_dst(f, op);
    tile_value root = tile_memory_root(f, memory.at[0]);
    bool holds = !loads || (root.id && tile_value_at(f, root)->kind == TILE_VALUE_ARG);
    bool alike = tile->kind == TILE_TYPE_TILE && tile->rank == 2 && tile->dims[0] == acc->dims[0] &&
                 tile->dims[1] == acc->dims[1];
    return holds && alike && tile_value_type(f, memory.at[0])->kind == TILE_TYPE_VIEW ? memory.at
                                                                                      : NULL;
}

/* Returns the row dim of reductions, or else the one with which a thread accesses contiguous
 * elements of such tiles: those along the instruction's columns. Loads in the dot's own region are
 * assumed to be its operands. 2: no preference. */
static unsigned row_dim_of_others(const chooser *c, tile_op dot) {
    const tile_type *acc = warpgroup_operand(c->f, dot, TILE_MMA_ACC);
    const unsigned reduced = tile_row_dim_of_reductions(c->f, dot, acc, NULL, NULL);
    if (reduced < 2) return reduced;
    for (uint32_t id = 1; id < c->f->op_count; id++) {
        tile_op op = {id};
        const tile_value *memory = find_other(c->f, op, acc);
        bool own = tile_op_at(c->f, op)->parent.id == tile_op_at(c->f, dot)->parent.id;
        unsigned along = memory && !own ? contiguous_dim(c, memory, 2) : 0;
        if (along) return 1 - (along - 1);
    }
    return 2;
}

/* Returns whether three groups could share each dot of the loop along row_dim. */
static bool all_admit_cooperative_3(const chooser *c, tile_op loop, unsigned row_dim) {
    TILE_FOR_EACH_OP (c->f, op, tile_op_region(c->f, loop, 0)) {
        obstacle ignored[2];
        if (tile_op_opcode(c->f, op) != TILE_OP_dot) continue;
        tile_dot_facts facts = facts_of(c, op, ignored);
        unsigned said = tile_dot_row_dim_of_registers(&facts);
        if ((said < 2 && said != row_dim) || !tile_dot_admits_cooperative_3(&facts, row_dim))
            return false;
    }
    return true;
}

/* Returns the row dim along which three groups can share the dot, if the loop requests
 * cooperative_3, or if it requests ordered issue and all its dots can be shared that way. 2: no
 * preference. */
static unsigned row_dim_of_cooperative_3(const chooser *c, tile_op dot,
                                         const tile_dot_facts *facts) {
    tile_op loop = tile_op_parent(c->f, dot);
    bool shared_by_3 = warpgroup_requests(c->f, loop, "cooperative_3"),
         ping_pong = warpgroup_requests(c->f, loop, "ordered");
    for (unsigned row_dim = 0; row_dim < 2; row_dim++)
        if ((shared_by_3 && tile_dot_admits_cooperative_3(facts, row_dim)) ||
            (ping_pong && all_admit_cooperative_3(c, loop, row_dim)))
            return row_dim;
    return 2;
}

static unsigned warps_of_sums(const chooser *c, tile_op dot, const tile_dot_facts *facts) {
    return tile_dot_sum_warps(facts,
                              warpgroup_requests(c->f, tile_op_parent(c->f, dot), "ping_pong"));
}

/* Uses the preferred row dim, or the other one if extents or layouts do not allow it. */
static void check_dot(const chooser *c, tile_op dot, const tile_dot_facts *facts,
                      const obstacle reasons[2], unsigned *row_dim, obstacle *o) {
    bool said = tile_op_has_attr(c->f, dot, TILE_ATTR_swap_operands);
    unsigned operand = 0;
    tile_wgmma_obstacle found = tile_find_wgmma_obstacle(facts);
    if (found == TILE_WGMMA_NO_OBSTACLE) {
        *row_dim = said ? TILE_WGMMA_SWAPPED
                        : tile_dot_prefer_row_dim(facts, warps_of_sums(c, dot, facts),
                                                  row_dim_of_cooperative_3(c, dot, facts),
                                                  row_dim_of_others(c, dot));
        found = tile_choose_row_dim(facts, said, row_dim, &operand);
    }
    if (found == TILE_WGMMA_OBSTACLE_NOT_SHARED && reasons[operand].found)
        *o = reasons[operand];
    else
        report_obstacle(facts, found, operand, o);
}

/* Transposed operands: those in shared memory, now or after pipelining, are read in place. */

static const tile_attr_id trans_of[2] = {TILE_ATTR_trans_lhs, TILE_ATTR_trans_rhs};

/* Returns the matrix that the operand transposes, if it can be read in place; else no value. */
static tile_value find_transposed(const chooser *c, tile_op dot, unsigned operand) {
    tile_value value = tile_op_segment(c->f, dot, operand).at[0];
    tile_op transpose = tile_value_def(c->f, value);
    obstacle ignored = {.found = false};
    if (!transpose.id || tile_op_opcode(c->f, transpose) != TILE_OP_transpose ||
        tile_value_type(c->f, value)->rank != 2 || tile_op_has_attr(c->f, dot, trans_of[operand]))
        return TILE_NO_VALUE;
    const tile_attr *order = tile_op_attr(c->f, transpose, TILE_ATTR_order);
    tile_value source = tile_operand_src(c->f, transpose);
    bool exchanges = !order || order->list[0] == 1;
    bool alone = c->uses[value.id] == 1; /* otherwise the loaded tile is still needed */
    bool shared =
        will_be_staged(c, source) || (alone && load_in_place(c, dot, source, &ignored).id);
    return exchanges && shared ? source : TILE_NO_VALUE;
}

/* was: the previous operands, for revert_choice. */
static void use_transposed(const chooser *c, tile_op dot, tile_value was[2]) {
    for (unsigned operand = 0; operand < 2; operand++) {
        tile_value source = find_transposed(c, dot, operand);
        was[operand] = TILE_NO_VALUE;
        if (!source.id) continue;
        was[operand] = tile_op_segment(c->f, dot, operand).at[0];
        prepare_set_operand(c->f, dot, operand, source);
        tile_op_set_flag(c->f, dot, trans_of[operand]);
    }
}

/* Removes transposes without other uses, so that the dot is the only reader of the copied data. */
static void drop_transposed(const chooser *c, const tile_value was[2]) {
    for (unsigned operand = 0; operand < 2; operand++)
        if (was[operand].id && c->uses[was[operand].id] == 1)
            tile_erase_op(c->f, tile_value_def(c->f, was[operand]));
}

static void revert_choice(const chooser *c, tile_op dot, const tile_value was[2]) {
    for (unsigned operand = 0; operand < 2; operand++) {
        if (!was[operand].id) continue;
        prepare_set_operand(c->f, dot, operand, was[operand]);
        tile_op_remove_attr(c->f, dot, trans_of[operand]);
    }
}

/* Conditions elsewhere in the kernel: a call, at which ptxas serializes all wgmma of the kernel
 * (C7510), and registers for the accumulators of other pending dots besides its own and for an
 * operand in registers. */
static void check_others(const chooser *c, tile_op dot, const tile_dot_facts *facts,
                         unsigned row_dim, obstacle *o) {
    unsigned warps = warps_of_sums(c, dot, facts);
    /* Scaled sums are added to a tile that is held across the dot: it counts as the dot's own. */
    const tile_type *acc = warpgroup_operand(c->f, dot, TILE_MMA_ACC);
    int64_t own = warpgroup_scaled_sum(c->f, dot).id ? tile_type_elements(acc) * 4 : 0;
    int64_t sums = tile_dot_excess_registers(facts, row_dim, warps, c->held[dot.id] - own);
    if (c->call.id)
        OBSTACLE(o, "remove it (`drop-asserts` removes every assert), or write {via = wgmma}",
                 "the kernel calls %s, and ptxas then ends each wgmma before the next",
                 tile_op_name(c->f, c->call));
    else if (sums)
        OBSTACLE(o, "use more warps or smaller tiles, or a loop for each product",
                 "its accumulators, those of other pending dots, and an operand in registers take "
                 "%lld registers per thread, which leaves too few for wgmma",
                 (long long)sums);
}

/* 4. The decision ----------------------------------------------------------------------------- */

static void load_to_registers(chooser *c, tile_op dot, unsigned operand) {
    const tile_values element = tile_op_segment(c->f, dot, operand);
    tile_builder b = tile_builder_before(c->f, dot);
    if (tile_op_has_attr(c->f, dot, trans_of[operand]))
        prepare_transpose_operand(c->f, dot, operand);
    else
        prepare_set_operand(c->f, dot, operand, prepare_tile(&b, element.at, element.count));
}

/* The dot reads buffers directly, instead of tiles that were loaded from them, unless wgmma cannot
 * read them. */
static void take_operands(chooser *c, tile_op dot, const tile_dot_facts *facts) {
    for (unsigned operand = 0; operand < 2; operand++) {
        tile_value value = tile_op_segment(c->f, dot, operand).at[0];
        obstacle reason = {.found = false};
        if (!facts->operand[operand].shared) load_to_registers(c, dot, operand);
        if (!facts->operand[operand].shared || tile_value_type(c->f, value)->kind != TILE_TYPE_TILE)
            continue;
        tile_op load = load_in_place(c, dot, value, &reason);
        if (!load.id) continue;
        const tile_values element = tile_operands_src(c->f, load);
        prepare_set_element(c->f, dot, operand, element.at, element.count);
        tile_erase_op(c->f, load);
    }
}

/* Remarks on operands loaded from shared memory for the dot alone that a descriptor could
 * describe. */
static void report_loaded(const chooser *c, tile_op dot) {
    for (unsigned operand = 0; operand < 2; operand++) {
        char part[80];
        tile_value value = tile_op_segment(c->f, dot, operand).at[0];
        tile_op load = tile_value_def(c->f, value);
        obstacle reason = {.found = false};
        if (tile_value_type(c->f, value)->kind != TILE_TYPE_TILE || !load.id ||
            tile_op_opcode(c->f, load) != TILE_OP_load_shared || c->uses[value.id] != 1)
            continue;
        const tile_type *buffer = tile_value_type(c->f, tile_operand_src(c->f, load));
        if (buffer->cluster || load_in_place(c, dot, value, &reason).id) continue;
        snprintf(part, sizeof part, "%s is a part of its buffer, and descriptors name whole stages",
                 operand_name(operand));
        tile_missed_at(c->f, dot, "not in place",
                       reason.found
                           ? reason.remedy
                           : "use a buffer for each group, or give the whole tile to all its warps",
                       "%s", reason.found ? reason.why : part);
    }
}

/* Moves the dot to the `fma` that scales its sums, across operations that compute and read. Their
 * results are then available while lower-tiles builds both. */
static void move_to_scaled_sum(chooser *c, tile_op dot) {
    tile_function *f = c->f;
    tile_op fma = warpgroup_scaled_sum(f, dot), at = tile_op_at(f, dot)->next;
    for (; fma.id && at.id && at.id != fma.id; at = tile_op_at(f, at)->next) {
        const unsigned reads = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_READ_SHARED;
        if (tile_op_effects(f, at) & ~reads || tile_op_at(f, at)->region_count) return;
    }
    if (fma.id && at.id) tile_move_op(f, dot, tile_op_at(f, dot)->parent, fma);
}

static void reject(chooser *c, tile_op dot, const char *why, const char *remedy) {
    c->failed = true;
    tile_error_at(c->f, dot, "dot: it cannot be computed via wgmma: %s%s%s", why,
                  remedy ? "; " : "", remedy ? remedy : "");
}

static void reject_target(chooser *c, tile_op dot) {
    char targets[TILE_TARGETS_TEXT];
    tile_arena *arena = c->pass->scratch;
    tile_feature_targets(TILE_FEATURE_wgmma, targets, sizeof targets);
    reject(c, dot, tile_arena_format(arena, "%s has no wgmma", c->pass->target->name),
           tile_arena_format(arena, "compile for %s, or remove `via`", targets));
}

static void decide(chooser *c, tile_op dot) {
    bool forced = warpgroup_uses_wgmma(c->f, dot);
    unsigned row_dim = TILE_WGMMA_PLAIN;
    tile_value was[2];
    obstacle o = {.found = false}, reasons[2];
    if (warpgroup_uses_mma(c->f, dot)) return;
    if (!tile_target_has(c->pass->target, TILE_FEATURE_wgmma)) {
        if (forced) reject_target(c, dot);
        return;
    }
    use_transposed(c, dot, was);
    const tile_dot_facts facts = facts_of(c, dot, reasons);
    check_dot(c, dot, &facts, reasons, &row_dim, &o);
    if (!o.found && !forced) check_others(c, dot, &facts, row_dim, &o);
    if (o.found || (tile_dot_is_flat(&facts) && !forced)) revert_choice(c, dot, was);
    if (o.found && forced) {
        reject(c, dot, o.why, o.remedy);
        return;
    }
    if (o.found) {
        tile_missed_at(c->f, dot, "no wgmma", o.remedy, "%s", o.why);
        return;
    }
    if (tile_dot_is_flat(&facts) && !forced) {
        tile_missed_at(c->f, dot, "no wgmma",
                       "write {via = wgmma} if its operands are in shared memory already, or if "
                       "there are many columns",
                       "products of at most 32 rows are usually limited by memory, and mma.sync is "
                       "then as fast, unless rhs is contiguous along k");
        return;
    }
    if (tile_remarks_wanted(c->f)) report_loaded(c, dot);
    drop_transposed(c, was);
    take_operands(c, dot, &facts);
    tile_op_set_text(c->f, dot, TILE_ATTR_via, "wgmma");
    move_to_scaled_sum(c, dot);
    if (row_dim == TILE_WGMMA_SWAPPED) tile_op_set_flag(c->f, dot, TILE_ATTR_swap_operands);
    tile_pass_count(c->pass, "dots by wgmma", 1);
}

tile_status tile_pass_choose_instructions(tile_pass *pass, tile_function *f) {
    chooser c = {.pass = pass, .f = f};
    choose_misaligned_rows(pass, f, tile_range_analyse(f, pass->scratch),
                           tile_count_uses(f, pass->scratch));
    c.ranges = tile_range_analyse(f, pass->scratch);
    c.uses = tile_count_uses(f, pass->scratch);
    c.along = TILE_NEW_ARRAY(pass->scratch, uint8_t, f->value_count);
    c.single = TILE_NEW_ARRAY(pass->scratch, bool, f->value_count);
    c.dots = TILE_NEW_ARRAY(pass->scratch, tile_op, f->op_count);
    c.held = tile_live_across_bytes(f, pass->scratch);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) collect(&c, op);
    for (unsigned i = 0; i < c.count; i++) decide(&c, c.dots[i]);
    return c.failed ? TILE_INVALID : TILE_OK;
}
