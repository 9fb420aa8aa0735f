/* Operands of products with few rows, whose rows in memory begin anywhere: see the header. */
#include "passes/warps/misaligned_rows.h"

#include "lib/analysis/access.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/pipeline_plan.h"
#include "lib/analysis/product.h"
#include "lib/ir/regions.h"
#include "lib/layout/layout.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "passes/common/warpgroup.h"
#include "passes/expand/prepare.h"

enum {
    CHUNK = 16,   /* bytes of a cp.async */
    FEW_ROWS = 64 /* of the product */
};

/* An operand that can be copied in whole chunks. */
typedef struct candidate {
    tile_value buffer;
    tile_op copy, load; /* load: the load_shared of the whole buffer, or none */
    unsigned unit;      /* the buffer's dim along which rows are contiguous */
    unsigned bytes;     /* that one access can copy */
    unsigned row_bytes; /* to which rows are aligned */
} candidate;

typedef struct rows {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    const uint32_t *uses;
} rows;

static bool is_copy(const tile_function *f, tile_op op) {
    return tile_op_opcode(f, op) == TILE_OP_copy || tile_op_opcode(f, op) == TILE_OP_copy_async;
}

/* The only copy to the buffer. False if other operations than it, `reader` and free_shared use the
 * buffer. */
static bool find_copy(const rows *r, tile_value buffer, tile_op reader, tile_op *copy) {
    *copy = TILE_NO_OP;
    TILE_FOR_EACH_OP_INSIDE (r->f, op, r->f->body)
        for (unsigned i = 0; i < tile_op_operand_count(r->f, op); i++) {
            if (tile_op_operand(r->f, op, i).id != buffer.id || op.id == reader.id ||
                tile_op_opcode(r->f, op) == TILE_OP_free_shared)
                continue;
            if (!is_copy(r->f, op) || copy->id) return false;
            *copy = op;
        }
    return copy->id;
}

/* Returns whether the value may differ between iterations of the loop. */
static bool varies(const tile_function *f, tile_value value, tile_op loop) {
    tile_op op = tile_value_def(f, value);
    if (!op.id) return tile_value_at(f, value)->kind != TILE_VALUE_ARG;
    while (op.id && op.id != loop.id) op = tile_op_parent(f, op);
    return op.id;
}

/* Whether each row of the tile begins at the same offset, modulo 16 bytes, in all iterations. */
static bool has_fixed_offsets(const rows *r, tile_op copy, const tile_value *element,
                              const tile_type *view, unsigned unit, int64_t chunk) {
    const tile_op loop = tile_pipelined_around(r->f, copy);
    for (unsigned d = 0; d < view->rank; d++) {
        const tile_value index = element[1 + d];
        if (tile_value_type(r->f, index)->kind == TILE_TYPE_TILE) return false;
        const bool known = r->ranges[index.id].divisor % chunk == 0;
        if (d + 2 == view->rank + unit ? !known : !known && varies(r->f, index, loop)) return false;
    }
    return true;
}

/* Whether the copy moves less than 16 bytes at once, because of where rows begin. */
static bool is_narrow(const rows *r, candidate *c) {
    tile_function *f = r->f;
    const tile_values from = tile_operands_src(f, c->copy), to = tile_operands_dst(f, c->copy);
    const tile_type *view = tile_value_type(f, from.at[0]), *buffer = tile_value_type(f, c->buffer);
    if (view->kind != TILE_TYPE_VIEW || view->layout || view->scalar != buffer->scalar ||
        to.at[0].id != c->buffer.id || to.count != 1 || buffer->rank != 2 || view->rank < 2 ||
        !tile_is_plain_access(f, c->copy) || tile_op_pads(f, c->copy) ||
        tile_scalar_bits(view->scalar) < 8)
        return false;
    const int64_t bytes = tile_scalar_bytes(view->scalar), chunk = CHUNK / bytes;
    tile_access_facts facts = tile_view_access(f, r->ranges, from.at);
    c->unit = tile_unit_dim(&facts, view->rank, 2);
    c->bytes = facts.width * (unsigned)bytes;
    c->row_bytes = facts.row_width * (unsigned)bytes;
    if (c->unit >= 2 || facts.points || c->bytes >= CHUNK) return false;
    return tile_type_dim(buffer, c->unit) % chunk == 0 &&
           has_fixed_offsets(r, c->copy, from.at, view, c->unit, chunk);
}

/* The dim of the operand along which the sums' rows or columns are. */
static unsigned dim_of_sums(const tile_function *f, tile_op dot, unsigned operand) {
    static const tile_attr_id trans[2] = {TILE_ATTR_trans_lhs, TILE_ATTR_trans_rhs};
    return (operand == TILE_MMA_RHS) ^ (unsigned)tile_op_has_attr(f, dot, trans[operand]);
}

static bool find_candidate(const rows *r, tile_op dot, unsigned operand, candidate *c) {
    tile_function *f = r->f;
    const tile_values element = tile_op_segment(f, dot, operand);
    tile_op reader = dot;
    *c = (candidate){.buffer = element.at[0]};
    if (tile_value_type(f, c->buffer)->kind == TILE_TYPE_TILE) {
        c->load = tile_value_def(f, c->buffer);
        if (!c->load.id || tile_op_opcode(f, c->load) != TILE_OP_load_shared ||
            r->uses[c->buffer.id] != 1)
            return false;
        const tile_values src = tile_operands_src(f, c->load);
        if (src.count != 1) return false;
        reader = c->load;
        c->buffer = src.at[0];
    } else if (element.count != 1) {
        return false;
    }
    const tile_type *type = tile_value_type(f, c->buffer);
    tile_op alloc = tile_value_def(f, c->buffer);
    if (type->kind != TILE_TYPE_SHARED || type->layout || type->stages || type->cluster ||
        !alloc.id || tile_op_opcode(f, alloc) != TILE_OP_alloc_shared ||
        tile_op_has_attr(f, alloc, TILE_ATTR_misaligned))
        return false;
    return find_copy(r, c->buffer, reader, &c->copy) && is_narrow(r, c) &&
           tile_pipelined_around(f, c->copy).id &&
           tile_pipelined_around(f, c->copy).id == tile_pipelined_around(f, reader).id;
}

/* A tile whose lanes read adjacent words of a row. */
static tile_value load_words(const rows *r, tile_builder *b, const candidate *c) {
    enum { WORD = 4 };
    tile_function *f = r->f;
    tile_type part = *tile_value_type(f, c->buffer);
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(&part, dims);
    tile_layout layout = tile_layout_blocked(dims, 2, WORD / tile_scalar_bytes(part.scalar),
                                             c->unit, tile_executors_in(f, b->region).warps);
    part.kind = TILE_TYPE_TILE;
    part.layout = &layout;
    return tile_build_load_shared(b, c->buffer, NULL, 0,
                                  tile_type_get(tile_function_context(f), &part));
}

/* again: all warps read the operand, so it is stored once more, aligned. */
static void use_chunks(const rows *r, tile_op dot, unsigned operand, const candidate *c,
                       bool again) {
    tile_function *f = r->f;
    tile_builder b = tile_builder_before(f, c->load.id ? c->load : dot);
    const tile_type *type = tile_value_type(f, c->buffer);
    tile_op_set_int(f, tile_value_def(f, c->buffer), TILE_ATTR_misaligned, c->unit);
    tile_pass_count(r->pass, "operands with misaligned rows", 1);
    if (!again && c->load.id) return;
    tile_value tile = again ? load_words(r, &b, c) : prepare_tile(&b, &c->buffer, 1);
    if (again) {
        tile_value aligned = tile_build_alloc_shared(&b, type);
        tile_build_store_shared(&b, tile, aligned, NULL, 0);
        if (c->load.id) {
            tile_set_operand(f, c->load, TILE_OPERAND_src, aligned);
            return;
        }
        tile = aligned;
    }
    prepare_set_operand(f, dot, operand, tile);
}

/* Others copy 8 bytes to where wgmma reads them, or load bytes to registers. That is faster for
 * rows of 16-bit elements that are aligned to 8 bytes (H200, 8 x 10022 x 2308 of bf16: 27 us
 * instead of 32), and where each register of mma.sync, which has 4 bytes along k, would take four
 * loads (1 x 10065 x 12058 of i8: 69 us instead of 79). */
static bool pays(const rows *r, tile_op dot, unsigned operand, const candidate *c) {
    enum { REGISTER = 4, WIDE = 8 };
    const unsigned bytes = tile_scalar_bytes(tile_value_type(r->f, c->buffer)->scalar);
    if (bytes == 2) return c->bytes < WIDE;
    return bytes == 1 && c->unit != dim_of_sums(r->f, dot, operand) && c->row_bytes >= REGISTER;
}

/* Order of rows -------------------------------------------------------------------------------- */

/* Element (h * a + i) * c + j along the dim becomes element (h * c + j) * a + i. */
static tile_value regroup(tile_builder *b, tile_value tile, unsigned dim, int64_t a, int64_t c) {
    tile_function *f = b->function;
    tile_context *context = tile_function_context(f);
    const tile_type *type = tile_value_type(f, tile);
    const int64_t other = tile_type_dim(type, 1 - dim), high = tile_type_dim(type, dim) / (a * c);
    const int64_t extents[2][4] = {{high, a, c, other}, {other, high, a, c}};
    static const int64_t order[2][4] = {{0, 2, 1, 3}, {0, 1, 3, 2}};
    tile_type cut = *type, turned;
    cut.rank = 4;
    cut.layout = NULL;
    for (unsigned d = 0; d < 4; d++) cut.dims[d] = tile_expr_int(context, extents[dim][d]);
    turned = cut;
    for (unsigned d = 0; d < 4; d++) turned.dims[d] = cut.dims[order[dim][d]];
    tile_value parts = tile_build_reshape(b, tile, TILE_NO_VALUE, tile_type_get(context, &cut));
    parts = tile_build_transpose(b, parts, tile_type_get(context, &turned));
    tile_op_set_list(f, tile_value_def(f, parts), TILE_ATTR_order, order[dim], 4);
    return tile_build_reshape(b, parts, TILE_NO_VALUE, type);
}

/* The index of the loop's carried value that only the dot adds to, and which begins with equal
 * elements; -1: there is none. */
static int carried_sum(const rows *r, tile_op dot, tile_op loop) {
    tile_function *f = r->f;
    const tile_values acc = tile_operands_acc(f, dot);
    tile_value result = tile_op_result(f, dot, 0);
    if (tile_op_opcode(f, loop) != TILE_OP_for || !acc.count ||
        tile_op_at(f, dot)->parent.id != tile_op_region(f, loop, 0).id)
        return -1;
    for (unsigned i = 0; i < tile_carried_count(f, loop); i++) {
        tile_op init = tile_value_def(f, tile_carried_sent(f, loop, TILE_PARENT_OP, i));
        if (tile_carried_received(f, loop, 0, i).id == acc.at[0].id &&
            tile_carried_sent(f, loop, 0, i).id == result.id && r->uses[acc.at[0].id] == 1 &&
            r->uses[result.id] == 1 && init.id && tile_op_opcode(f, init) == TILE_OP_splat)
            return (int)i;
    }
    return -1;
}

/* Replaces the loop's result by `order` of it. */
static void order_result(const rows *r, tile_op loop, unsigned index, unsigned dim, int64_t a,
                         int64_t c) {
    tile_function *f = r->f;
    tile_value result = tile_op_result(f, loop, index);
    tile_builder b = tile_builder_before(f, tile_op_next(f, loop));
    tile_value ordered = regroup(&b, result, dim, a, c);
    tile_value *map = TILE_NEW_ARRAY(r->pass->scratch, tile_value, f->value_count);
    map[result.id] = ordered;
    tile_op first = tile_op_next(f, loop);
    tile_replace_values(f, f->body, map);
    tile_set_operand(f, first, TILE_OPERAND_src, result);
}

/* The large operand is contiguous along k: eight lanes read words of eight rows. If these begin at
 * different offsets, their words are in overlapping banks. So the dot computes the rows (columns of
 * the sums) in another order, in which they have the same offset. */
static void order_rows(const rows *r, tile_op dot, unsigned operand, const candidate *c) {
    enum { LANES = 8 };
    tile_function *f = r->f;
    tile_op loop = tile_pipelined_around(f, c->copy);
    const unsigned of_sums = operand == TILE_MMA_RHS, dim = dim_of_sums(f, dot, operand);
    tile_value tile = tile_op_segment(f, dot, operand).at[0];
    const tile_type *type = tile_value_type(f, tile);
    const int64_t extent = tile_type_dim(type, dim),
                  chunk = CHUNK / (int64_t)tile_scalar_bytes(type->scalar);
    const int index = carried_sum(r, dot, loop);
    if (c->unit == dim || index < 0 || extent < 2 * LANES || (extent & (extent - 1))) return;
    const int64_t same = extent / LANES < chunk ? extent / LANES : chunk;
    tile_builder b = tile_builder_before(f, dot);
    prepare_set_operand(f, dot, operand, regroup(&b, tile, dim, LANES, same));
    order_result(r, loop, (unsigned)index, of_sums, same, LANES);
}

/* Bytes of the buffers that the loop fills: those of one stage by copies, and the others. */
static void count_bytes(const tile_function *f, tile_op loop, int64_t *stage, int64_t *others) {
    int64_t stride;
    *stage = *others = 0;
    TILE_FOR_EACH_NESTED_OP (f, op, loop) {
        bool copies = is_copy(f, op);
        if (!copies && tile_op_opcode(f, op) != TILE_OP_store_shared) continue;
        tile_value buffer = tile_operands_dst(f, op).at[0];
        if (tile_value_type(f, buffer)->kind == TILE_TYPE_SHARED)
            *(copies ? stage : others) +=
                tile_alloc_bytes(f, tile_value_def(f, tile_shared_source(f, buffer)), &stride);
    }
}

/* The longer rows may need a stage less. */
static void limit_stages(const rows *r, tile_op loop) {
    enum { RESERVED = 2048 }; /* bytes of alignment and barriers */
    int64_t stages = tile_op_attr_int(r->f, loop, TILE_ATTR_pipelined, 0), stage, others;
    count_bytes(r->f, loop, &stage, &others);
    int64_t most =
        ((int64_t)r->pass->target->max_shared_bytes - RESERVED - others) / (stage > 0 ? stage : 1);
    if (stages > most && most > 1) tile_op_set_int(r->f, loop, TILE_ATTR_pipelined, most);
}

static void visit_dot(const rows *r, tile_op dot) {
    tile_function *f = r->f;
    const tile_type *acc = tile_value_type(f, tile_op_result(f, dot, 0));
    candidate found[2];
    bool narrow[2];
    if (acc->rank != 2 || warpgroup_uses_wgmma(f, dot) ||
        !tile_product_mma(f, dot, r->pass->target))
        return;
    const int64_t m = tile_type_dim(acc, 0), n = tile_type_dim(acc, 1);
    const unsigned large = m > n ? TILE_MMA_LHS : TILE_MMA_RHS;
    const int64_t few = m > n ? n : m;
    if (few > FEW_ROWS) return;
    for (unsigned i = 0; i < 2; i++) narrow[i] = find_candidate(r, dot, i, &found[i]);
    /* The rows of the large operand are interleaved (interleave-rows). */
    if (!narrow[large] && narrow[1 - large] && warpgroup_uses_mma(f, dot)) {
        tile_op loop = tile_pipelined_around(f, found[1 - large].copy);
        use_chunks(r, dot, 1 - large, &found[1 - large], true);
        limit_stages(r, loop);
        return;
    }
    if (!narrow[large] || (narrow[1 - large] && found[0].buffer.id == found[1].buffer.id)) return;
    if (!pays(r, dot, large, &found[large])) return;
    tile_op loop = tile_pipelined_around(f, found[large].copy);
    if (tile_op_attr_int(f, loop, TILE_ATTR_pipelined, 0) < 3) return;
    use_chunks(r, dot, large, &found[large], false);
    order_rows(r, dot, large, &found[large]);
    if (narrow[1 - large]) use_chunks(r, dot, 1 - large, &found[1 - large], true);
    tile_op_set_text(f, dot, TILE_ATTR_via, "mma");
    limit_stages(r, loop);
}

void choose_misaligned_rows(tile_pass *pass, tile_function *f, const tile_range *ranges,
                            const uint32_t *uses) {
    rows r = {.pass = pass, .f = f, .ranges = ranges, .uses = uses};
    unsigned count = 0;
    tile_op *dots = TILE_NEW_ARRAY(pass->scratch, tile_op, f->op_count);
    if (!tile_target_has(pass->target, TILE_FEATURE_cp_async)) return;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_dot) dots[count++] = op;
    for (unsigned i = 0; i < count; i++) visit_dot(&r, dots[i]);
}
