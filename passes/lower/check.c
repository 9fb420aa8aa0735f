/* Checks the preconditions of lower-tiles. The input text may be written by hand and may have
 * skipped earlier passes. */
#include <stdio.h>

#include "lib/analysis/rearranged.h"
#include "lib/analysis/conversion.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/grid_fit.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/ops/combine.h"
#include "lib/ops/gather.h"
#include "lib/ops/reduce.h"
#include "lib/ir/remark.h"
#include "lib/ops/shape.h"
#include "lib/layout/layout.h"
#include "lib/layout/pieces.h"
#include "passes/common/part_check.h"
#include "passes/common/warpgroup.h"
#include "passes/lower/lower.h"

typedef struct checker {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    int64_t instructions; /* estimated, of one thread, up to the current operation */
    bool ok;
    bool register_heavy; /* registers: the remark was issued */
} checker;

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void check_value(checker *c, tile_op op, tile_value value) {
    const tile_type *type = tile_value_type(c->f, value);
    bool tile = type->kind == TILE_TYPE_TILE;
    bool whole = tile_op_handles_tile(c->f, op, value);
    if (type->param)
        c->ok =
            tile_error_at(c->f, op, "a compile-time parameter has no value yet; run instantiate");
    else if (!type->layout && (tile || (type->kind == TILE_TYPE_SHARED && whole)))
        c->ok = tile_error_at(c->f, op, "%s",
                              tile ? "this tile has no layout; run assign-layouts"
                                   : "this shared buffer has no layout; run assign-layouts");
    else if (tile && 1u << type->layout->warp_bits != tile_executors_of(c->f, op).warps)
        c->ok = tile_error_at(
            c->f, op, "this tile's layout is for another number of warps; run assign-layouts");
}

/* A thread has 255 registers. A much larger accumulator would become thousands of spilling
 * instructions and take minutes in the assembler. */
enum { MAX_ACC_REGISTERS = 1024 };

/* Checks that operands are as assign-layouts leaves them: fragments of an instruction, or in shared
 * memory. */
static void check_dot(checker *c, tile_op op) {
    const tile_type *acc = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    const tile_mma *row = tile_product_mma(c->f, op, c->pass->target);
    if (tile_type_registers(acc) > MAX_ACC_REGISTERS)
        c->ok = tile_error_at(
            c->f, op,
            "dot: the accumulator takes more than 1024 registers of each thread; use smaller "
            "tiles or "
            "more warps");
    if (warpgroup_uses_wgmma(c->f, op)) {
        warpgroup_plan plan;
        const char *fault = warpgroup_find_plan(c->f, op, &plan);
        if (fault) tile_error_at(c->f, op, "dot: %s; run assign-layouts", fault);
        c->ok &= !fault;
        return;
    }
    for (unsigned operand = 0; operand < 2; operand++) {
        const tile_type *type = tile_value_type(c->f, tile_op_segment(c->f, op, operand).at[0]);
        if (type->kind != TILE_TYPE_TILE) continue;
        tile_layout wanted;
        if (row) wanted = tile_product_fragment(row, acc->layout, operand, type);
        if (!row || !tile_layout_equal(&wanted, type->layout))
            c->ok = tile_error_at(
                c->f, op, "%s",
                row ? "dot: an operand's layout is not the instruction's fragments; run "
                      "assign-layouts"
                    : "dot: no mma instruction has these types and extents, so the operands must "
                      "be in shared memory; run assign-layouts");
    }
}

static void check_convert(checker *c, tile_op op) {
    tile_shuffle_plan plan;
    const tile_type *tile = tile_value_type(c->f, tile_operand_src(c->f, op));
    const tile_layout *to = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    if (!tile_operands_buffer(c->f, op).count && !tile_layout_same_threads(tile->layout, to) &&
        !tile_conversion_shuffles(tile, to, &plan))
        c->ok = tile_error_at(
            c->f, op,
            "convert_layout: elements move between warps, which takes a shared buffer as second "
            "operand");
}

/* Checks that each thread holds the elements that it rearranges. */
static void check_rearranged(checker *c, tile_op op) {
    bool buffer = tile_rearranging_buffer(c->f, op).id != 0;
    bool fits = buffer || tile_can_rearrange(c->f, op);
    for (unsigned i = 0; i < tile_moved_operands(c->f, op) && !buffer; i++)
        for (unsigned r = 0; r < tile_op_result_count(c->f, op); r++) {
            tile_layout wanted;
            const tile_layout *to = tile_value_type(c->f, tile_op_result(c->f, op, r))->layout;
            const tile_layout *from = tile_value_type(c->f, tile_op_operand(c->f, op, i))->layout;
            fits &= (tile_layout_of_operand(c->f, op, i, to, &wanted) &&
                     tile_layout_same_threads(&wanted, from)) ||
                    (tile_layout_of_result(c->f, op, i, from, &wanted) &&
                     tile_layout_same_threads(&wanted, to));
        }
    if (fits) return;
    c->ok = false;
    tile_error_of(c->f, op,
                  "threads do not hold the elements that they rearrange; run assign-layouts");
}

static void check_broadcast(checker *c, tile_op op) {
    const tile_type *from = tile_value_type(c->f, tile_operand_src(c->f, op));
    const tile_type *to = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    tile_layout wanted = tile_broadcast_layout(from, to->layout);
    if (!tile_layout_equal(&wanted, from->layout))
        c->ok = tile_error_at(
            c->f, op,
            "broadcast: threads do not hold the elements that they repeat; run assign-layouts");
}

/* Checks that the layouts of the index tiles determine the copy's threads. */
static void check_copy(checker *c, tile_op op, const tile_gather *g) {
    tile_layout ignored;
    if (!g->tiles && !g->predicate.id) return;
    if (tile_op_opcode(c->f, op) == TILE_OP_copy ||
        tile_op_mechanism(c->f, op) != TILE_MECHANISM_GROUP ||
        !lower_gathered_copy(c->f, c->ranges, op, &ignored))
        c->ok = tile_error_at(c->f, op,
                              "threads cannot make a copy with these index tiles, predicate or "
                              "pad; run assign-layouts");
}

/* The gather uses a buffer or shuffles, and the indices have the layout of the result. */
static bool is_gatherable(const tile_function *f, tile_op op) {
    unsigned axis = (unsigned)tile_op_attr_int(f, op, TILE_ATTR_axis, 0);
    tile_lookup_plan plan;
    const tile_layout *to = tile_value_type(f, tile_op_result(f, op, 0))->layout;
    return tile_layout_equal(tile_value_type(f, tile_operand_at(f, op))->layout, to) &&
           (tile_operands_buffer(f, op).count ||
            tile_gather_shuffles(tile_value_type(f, tile_operand_src(f, op)), to, axis, &plan));
}

static void check_gather(checker *c, tile_op op) {
    tile_gather g;
    if (tile_op_opcode(c->f, op) == TILE_OP_gather && !is_gatherable(c->f, op))
        c->ok = tile_error_at(
            c->f, op,
            "gather: elements move between threads, which takes a shared buffer, and each has the "
            "indices of its elements; run assign-layouts");
    if (!tile_gather_of(c->f, op, &g)) return;
    if (tile_op_opcode(c->f, op) == TILE_OP_copy && tile_op_pads(c->f, op))
        c->ok =
            tile_error_at(c->f, op, "a copy with a pad goes through registers; run assign-layouts");
    else if (g.type->kind == TILE_TYPE_SHARED)
        check_copy(c, op, &g);
    if (g.type->kind != TILE_TYPE_TILE) return;
    tile_layout points;
    bool fits = true;
    if (g.tiles) points = tile_points_layout(g.shape, g.type->layout, false);
    for (unsigned d = 0; g.tiles && d < g.rank; d++) {
        const tile_type *type = tile_value_type(c->f, g.index[d]);
        fits &= type->kind != TILE_TYPE_TILE || tile_layout_equal(&points, type->layout);
    }
    const tile_type *predicate = g.predicate.id ? tile_value_type(c->f, g.predicate) : NULL;
    if (predicate && predicate->kind == TILE_TYPE_TILE)
        fits &= tile_layout_equal(predicate->layout, g.type->layout);
    if (!fits)
        c->ok = tile_error_at(
            c->f, op,
            "threads do not hold the indices or the predicate of the elements that they access; "
            "run assign-layouts");
}

static void fail_buffer(checker *c, tile_op op, bool missing) {
    c->ok = false;
    tile_error_of(c->f, op, "%s",
                  missing ? "warps exchange elements, which needs a shared buffer as the operand "
                            "after the tile; run assign-layouts"
                          : "the buffer's extents or layout are not those that the tile's layout "
                            "requires; remove the buffer, and assign-layouts adds it");
}

/* wanted: NULL if no buffer is needed. */
static void check_row_buffer(checker *c, tile_op op, tile_operand_name name,
                             const tile_type *wanted) {
    const tile_values buffer = tile_named_operands(c->f, op, name);
    if (wanted && (!buffer.count || tile_value_type(c->f, buffer.at[0]) != wanted))
        fail_buffer(c, op, !buffer.count);
}

static void check_reduce(checker *c, tile_op op) {
    tile_reduction reduction;
    bool finds = tile_op_opcode(c->f, op) == TILE_OP_reduce_arg;
    if (!tile_reduction_of(c->f, op, &reduction)) {
        c->ok = tile_error_at(c->f, op, "reduce: axis and kind must be known at compile time");
        return;
    }
    const tile_type *from = tile_value_type(c->f, tile_operand_src(c->f, op));
    const tile_layout *to = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    tile_reduce_plan plan = tile_reduce_make_plan(from->layout, reduction.axis);
    if (finds && !tile_layout_equal(to, tile_value_type(c->f, tile_op_result(c->f, op, 1))->layout))
        c->ok = tile_error_at(c->f, op, "reduce_arg: both results must have one layout");
    if (!tile_reduce_exchanges(&plan, to)) return;
    tile_scalar scalar = tile_reduction_scalar(reduction.kind, from->scalar);
    check_row_buffer(c, op, TILE_OPERAND_buffer, tile_reduction_buffer(c->f, op, scalar, &plan));
    if (finds && c->ok)
        check_row_buffer(c, op, TILE_OPERAND_places,
                         tile_reduction_buffer(c->f, op, TILE_i32, &plan));
}

static void check_rows(checker *c, tile_op op) {
    const tile_layout *layout = tile_value_type(c->f, tile_operand_src(c->f, op))->layout;
    bool sorts = tile_op_opcode(c->f, op) == TILE_OP_sort;
    if (tile_op_attr_int(c->f, op, TILE_ATTR_axis, -1) < 0 ||
        (!sorts && !tile_op_word(c->f, op, TILE_ATTR_kind)))
        c->ok =
            tile_error_at(c->f, op, "scan and sort: axis and kind must be known at compile time");
    else if (!tile_rows_fit(c->f, op, layout) ||
             !tile_layout_equal(layout, tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout))
        c->ok = tile_error_at(c->f, op,
                              "threads do not hold the rows as it takes them; run assign-layouts");
    else
        check_row_buffer(c, op, sorts ? TILE_OPERAND_buffer : TILE_OPERAND_totals,
                         tile_rows_buffer(c->f, op, layout));
}

static void check_combined(checker *c, tile_op op) {
    tile_combine combine;
    const tile_values src = tile_operands_src(c->f, op);
    const tile_layout *rows = tile_value_type(c->f, src.at[0])->layout;
    if (!tile_combine_of(c->f, op, &combine)) {
        c->ok = tile_error_at(c->f, op, "%s: the axis must be known at compile time",
                              tile_op_name(c->f, op));
        return;
    }
    bool fits = tile_rows_fit(c->f, op, rows);
    const tile_layout result = fits ? tile_combine_result(&combine, rows) : *rows;
    for (unsigned i = 0; i < combine.count && fits; i++)
        fits =
            tile_layout_equal(rows, tile_value_type(c->f, src.at[i])->layout) &&
            tile_layout_equal(&result, tile_value_type(c->f, tile_op_result(c->f, op, i))->layout);
    if (!fits)
        c->ok = tile_error_at(c->f, op,
                              "threads do not hold the rows as it takes them; run assign-layouts");
    else
        check_row_buffer(c, op, TILE_OPERAND_buffer, tile_combine_buffer(c->f, op, rows));
}

/* Rejects a stage that is provably out of range; the CPU device checks the others. The check runs
 * here because branches on parameters and constants have been folded by now. */
static void check_stages(checker *c, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(c->f, op, accesses);
    for (unsigned i = 0; i < count; i++) {
        if (!accesses[i].stage.id) continue;
        const tile_value_data *buffer = tile_value_at(c->f, accesses[i].memory);
        tile_range stage = c->ranges[accesses[i].stage.id];
        int64_t stages = tile_type_stage_count(buffer->type);
        if (stage.max >= 0 && stage.min < stages) continue;
        c->ok = false;
        tile_error_of(c->f, op, "stage %lld does not exist, %s%s has the stages 0 to %lld",
                      (long long)(stage.max < 0 ? stage.max : stage.min),
                      buffer->name ? "%" : "the buffer", buffer->name ? buffer->name : "",
                      (long long)stages - 1);
        return;
    }
}

/* Rejects a rank that is provably out of range; the CPU device checks the others. */
static void check_rank(checker *c, tile_op op) {
    int64_t blocks = tile_grid_cluster_blocks(c->f, 3);
    if (tile_op_opcode(c->f, op) != TILE_OP_map_shared) return;
    tile_range rank = c->ranges[tile_operand_rank(c->f, op).id];
    if (rank.max >= 0 && rank.min < blocks) return;
    c->ok = false;
    tile_error_at(
        c->f, op,
        "map_shared: there is no block with the rank %lld, a cluster has the ranks 0 to %lld",
        (long long)(rank.max < 0 ? rank.max : rank.min), (long long)blocks - 1);
}

/* The offset of a part is the exclusive-or of the offsets of its start and of the coordinates
 * inside it, so the two must have no bits in common. */
static void check_part(tile_op op, const tile_value *part, const tile_type *tile, void *user) {
    checker *c = user;
    const tile_type *buffer = tile_value_type(c->f, part[0]);
    bool counted = false, same = true;
    for (unsigned d = 0; d < tile->rank; d++) {
        counted |= tile->layout->count[d] > 1;
        same &= tile->layout->count[d] == buffer->layout->count[d];
    }
    if (counted && !same)
        c->ok = tile_error_at(c->f, op,
                              "a part of a buffer must have extents that are powers of two here");
}

static void check_parts(checker *c, tile_op op) {
    c->ok &= check_part_begins(c->pass, c->f, op, c->ranges);
    visit_parts(c->f, op, check_part, c);
}

static void check_pieces(checker *c, tile_op op) {
    tile_pieces pieces;
    uint32_t extents[TILE_MAX_RANK];
    const tile_type *tile = tile_value_type(c->f, tile_operand_src(c->f, op));
    const tile_type *ring = tile_value_type(c->f, tile_operand_ring(c->f, op));
    tile_type_dims(ring, extents);
    if (!tile_pieces_cut(tile->layout, extents, &pieces))
        c->ok = tile_error_at(
            c->f, op,
            "store_async: each four warps need whole pieces of their own, with an element for each "
            "thread; take other extents of the ring");
    else if (tile_type_stage_count(ring) % pieces.groups) {
        c->ok = false;
        tile_error_at(c->f, op,
                      "store_async: the ring has %lld stages, which %u groups of four warps cannot "
                      "share equally",
                      (long long)tile_type_stage_count(ring), (unsigned)pieces.groups);
    }
}

/* Elements of a tile that one thread holds, or elements of a shared buffer that it moves. */
static int64_t elements_of_thread(const checker *c, tile_op op, tile_value value) {
    const tile_type *type = tile_value_type(c->f, value);
    if (type->kind == TILE_TYPE_TILE) return tile_type_registers(type);
    if (type->kind != TILE_TYPE_SHARED) return 0;
    return tile_type_elements(type) / (32 * (int64_t)tile_executors_of(c->f, op).warps);
}

/* Estimates the instructions of a tile operation: one for each element of the largest tile. A dot
 * has an mma for each accumulator fragment and slice of the inner extent, and the loads of its
 * operands. */
static int64_t instructions_of(const checker *c, tile_op op) {
    enum { ELEMENTS_OF_LDMATRIX = 8 };
    const tile_op_data *data = tile_op_at(c->f, op);
    int64_t most = 1;
    if (data->opcode != TILE_OP_iota &&
        !tile_op_has_trait(tile_op_opcode(c->f, op), TILE_TRAIT_WHOLE_SET | TILE_TRAIT_ELEMENTWISE))
        return 0;
    for (uint32_t i = 0; i < data->operand_count && data->opcode != TILE_OP_load_shared; i++)
        most = larger(most, elements_of_thread(c, op, data->operands[i]));
    for (uint32_t i = 0; i < data->result_count; i++)
        most = larger(most, elements_of_thread(c, op, tile_op_result(c->f, op, i)));
    if (data->opcode != TILE_OP_dot) return most;
    enum { EACH_WGMMA = 8 }; /* instructions for two descriptors and the product */
    if (warpgroup_uses_wgmma(c->f, op))
        return EACH_WGMMA * most * tile_type_dim(warpgroup_operand(c->f, op, TILE_MMA_LHS), 1) / 64;
    const tile_mma *row = tile_product_mma(c->f, op, c->pass->target);
    const tile_type *left = tile_value_type(c->f, tile_operand_lhs(c->f, op));
    if (!row)
        return larger(most,
                      lower_fma_length(tile_value_type(c->f, tile_op_result(c->f, op, 0)), left));
    int64_t fragments = elements_of_thread(c, op, tile_op_result(c->f, op, 0)) /
                        tile_mma_elements(row, TILE_MMA_ACC);
    return fragments * (tile_type_dim(left, 1) / row->k) + most / ELEMENTS_OF_LDMATRIX;
}

/* Tile data per thread is counted in registers of 32 bits; a thread has REGISTERS of them. */
enum { REGISTER_BITS = 32, REGISTERS = 255 };
static uint64_t bits_of(const tile_type *type) {
    if (type->kind != TILE_TYPE_TILE || !type->layout) return 0;
    return (uint64_t)tile_layout_registers(type->layout) * tile_scalar_bits(type->scalar);
}

/* Rejects a tile that needs many times the registers of a thread. */
static void check_registers(checker *c, tile_op op) {
    enum { MOST = 16 * (REGISTERS + 1) };
    for (unsigned i = 0; i < tile_op_result_count(c->f, op); i++) {
        const tile_type *type = tile_value_type(c->f, tile_op_result(c->f, op, i));
        uint64_t registers = bits_of(type) / REGISTER_BITS;
        if (registers <= MOST) continue;
        c->ok = false;
        if (c->register_heavy) return;
        c->register_heavy = true;
        tile_error_of(c->f, op,
                      "the tile takes %llu registers of each of %u threads, which have %d; use "
                      "smaller tiles or more warps",
                      (unsigned long long)registers, 32u << type->layout->warp_bits, REGISTERS);
        return;
    }
}

/* Remarks on a loop whose carried values and own work exceed the registers. The code is correct,
 * but it keeps some values in local memory. */
static void report_spills(const checker *c, tile_op op) {
    enum { MOST = 224 };
    tile_opcode opcode = tile_op_opcode(c->f, op);
    uint64_t bits = 0;
    char why[160];
    if ((opcode != TILE_OP_for && opcode != TILE_OP_while) || !tile_remarks_wanted(c->f)) return;
    for (unsigned i = 0; i < tile_op_result_count(c->f, op); i++)
        bits += bits_of(tile_value_type(c->f, tile_op_result(c->f, op, i)));
    if (bits / REGISTER_BITS <= MOST) return;
    snprintf(why, sizeof why, "its values take %llu registers of each thread, which has %d",
             (unsigned long long)(bits / REGISTER_BITS), REGISTERS);
    tile_missed_at(c->f, op, "not in registers", "use smaller tiles or more warps", "%s", why);
}

/* Reports the operation at which a thread's code becomes too long. The compile time of LLVM grows
 * faster than linearly with code size, and code that exceeds the instruction cache is slow. */
static void check_length(checker *c, tile_op op) {
    enum { MAX_INSTRUCTIONS = 1 << 15 };
    int64_t before = c->instructions;
    c->instructions += instructions_of(c, op);
    if (before > MAX_INSTRUCTIONS || c->instructions <= MAX_INSTRUCTIONS) return;
    c->ok = false;
    tile_error_of(c->f, op,
                  "the code of one thread exceeds %d instructions here; use smaller tiles, more "
                  "warps or a loop",
                  MAX_INSTRUCTIONS);
}

static void check_op(tile_function *f, tile_op op, checker *c) {
    bool before = c->ok;
    c->ok = true;
    if (tile_op_opcode(f, op) == TILE_OP_parallel)
        c->ok = tile_error_at(
            c->f, op,
            "parallel: its elements are not operations on tiles yet; run expand-parallel before "
            "assign-layouts");
    for (unsigned i = 0; i < tile_op_operand_count(f, op) && c->ok; i++)
        check_value(c, op, tile_op_operand(f, op, i));
    for (unsigned i = 0; i < tile_op_result_count(f, op) && c->ok; i++)
        check_value(c, op, tile_op_result(f, op, i));
    if (tile_op_is_alloc(tile_op_opcode(f, op)) && !tile_op_has_attr(f, op, TILE_ATTR_offset))
        c->ok = tile_error_at(c->f, op, "%s",
                              tile_op_opcode(f, op) == TILE_OP_alloc_shared
                                  ? "alloc_shared: the buffer has no offset; run allocate-shared"
                                  : "alloc_barrier: the buffer has no offset; run allocate-shared");
    if (tile_op_has_attr(f, op, TILE_ATTR_pipelined))
        c->ok = tile_error_at(c->f, op,
                              "this loop is still `pipelined`; run pipeline before lower-tiles");
    if (tile_op_has_attr(f, op, TILE_ATTR_split))
        c->ok = tile_error_at(c->f, op,
                              "this loop is still to be `split`; run split-k before lower-tiles");
    if (tile_op_has_attr(f, op, TILE_ATTR_groups))
        c->ok = tile_error_at(
            c->f, op, "this loop still has `groups`; run group-warps before assign-layouts");
    tile_iota iota;
    if (tile_op_opcode(f, op) == TILE_OP_iota && !tile_iota_of(f, op, &iota))
        c->ok = tile_error_at(c->f, op, "iota: axis, start and step must be known at compile time");
    if (c->ok) check_stages(c, op);
    if (c->ok) check_gather(c, op);
    if (c->ok) check_parts(c, op);
    if (c->ok) check_rank(c, op);
    if (c->ok) check_registers(c, op);
    if (c->ok) report_spills(c, op);
    if (c->ok) check_length(c, op);
    if (c->ok && tile_op_opcode(f, op) == TILE_OP_dot) check_dot(c, op);
    if (c->ok && tile_op_opcode(f, op) == TILE_OP_convert_layout) check_convert(c, op);
    if (c->ok && tile_op_opcode(f, op) == TILE_OP_broadcast) check_broadcast(c, op);
    tile_opcode opcode = tile_op_opcode(f, op);
    if (c->ok && (opcode == TILE_OP_reduce || opcode == TILE_OP_reduce_arg)) check_reduce(c, op);
    if (c->ok && (opcode == TILE_OP_scan || opcode == TILE_OP_sort)) check_rows(c, op);
    if (c->ok && tile_combines_by_function(opcode)) check_combined(c, op);
    if (c->ok && tile_is_rearrangement(f, op)) check_rearranged(c, op);
    if (c->ok && tile_op_opcode(f, op) == TILE_OP_store_async) check_pieces(c, op);
    c->ok &= before;
}

bool lower_can(tile_pass *pass, tile_function *f, const tile_range *ranges) {
    checker c = {.pass = pass, .f = f, .ranges = ranges, .ok = true};
    if (!tile_executors_of_block(f).warps)
        c.ok =
            tile_error_at(c.f, TILE_NO_OP, "the number of warps is not known yet; run instantiate");
    if (f->raster || f->is_persistent)
        c.ok = tile_error_at(
            c.f, TILE_NO_OP,
            "`raster` or `persistent` has not been applied yet; run the pass tile-scheduler first");
    if (c.ok)
        TILE_FOR_EACH_OP_INSIDE (f, op, f->body) check_op(f, op, &c);
    return c.ok;
}
