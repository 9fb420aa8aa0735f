/* The layout of sums that threads add by fma.
 *
 * A thread holds as many rows as columns, so that few elements of the operands are read for each
 * product, and 8 x 4 threads of a warp share these. The lowest bits of a dim of the sums are
 *
 *     registers   if the operand's elements are contiguous along it: a thread reads 16 bytes of it
 *     lanes       if they are contiguous along k: a thread reads 16 bytes along k, and the swizzle
 * of the buffer keeps lanes with consecutive rows in different banks
 *
 * 16 bytes along k stay in registers for four k, which is too much beside 64 sums and more: there,
 * operands of f32 are contiguous along the other dim, whatever the view. */
#include "lib/analysis/access.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/ir/effects.h"
#include "lib/layout/layout.h"
#include "lib/ops/shape.h"
#include "lib/support/integer.h"
#include "passes/common/warpgroup.h"
#include "passes/layouts/assign_layouts.h"
#include "passes/layouts/requests.h"

enum { MAX_WIDTH_BITS = 2 };

/* Whether op copies a view to the buffer; sets the dim along which the buffer is contiguous. */
static bool copies_to(const assignment *a, tile_op op, tile_value buffer, unsigned *along) {
    tile_opcode opcode = tile_op_opcode(a->f, op);
    if (opcode != TILE_OP_copy && opcode != TILE_OP_copy_async) return false;
    const tile_values from = tile_operands_src(a->f, op), to = tile_operands_dst(a->f, op);
    if (tile_value_type(a->f, from.at[0])->kind != TILE_TYPE_VIEW ||
        tile_shared_source(a->f, to.at[0]).id != buffer.id)
        return false;
    unsigned rank = tile_value_type(a->f, from.at[0])->rank;
    tile_access_facts facts = tile_view_access(a->f, a->ranges, from.at);
    unsigned unit = tile_unit_dim(&facts, rank, 2);
    if (unit < 2) *along = unit;
    return unit < 2;
}

/* Whether each thread adds so many products for each element that it reads that copies of single
 * elements cost little beside them. */
static bool has_many_products(const tile_function *f, tile_op dot) {
    enum { MANY = 64 /* sums of a thread */ };
    const tile_type *acc = tile_value_type(f, tile_op_result(f, dot, 0));
    const int64_t threads = INT64_C(32) * tile_executors_of(f, dot).warps;
    return tile_type_elements(acc) >= MANY * threads;
}

bool layouts_turns_copy(const tile_pass *pass, const tile_function *f, tile_value buffer,
                        unsigned along) {
    const tile_type *type = tile_value_type(f, buffer);
    if (type->rank != 2 || type->scalar != TILE_f32) return false;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (tile_op_opcode(f, op) != TILE_OP_dot) continue;
        for (unsigned operand = 0; operand < 2; operand++) {
            const tile_value value = tile_op_segment(f, op, operand).at[0];
            if (tile_shared_source(f, value).id == buffer.id)
                return along == tile_product_k_dim(f, op, operand) && has_many_products(f, op) &&
                       !warpgroup_uses_wgmma(f, op) && !layouts_choose_mma(pass, f, op, false);
        }
    }
    return false;
}

/* Whether threads compute a tile of this type as many sums of products. */
static bool has_sums_of(const tile_pass *pass, const tile_function *f, const tile_type *type) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (tile_op_opcode(f, op) != TILE_OP_dot) continue;
        const tile_type *acc = tile_value_type(f, tile_op_result(f, op, 0));
        if (acc->scalar == TILE_f32 && acc->rank == type->rank &&
            tile_type_dim(acc, 0) == tile_type_dim(type, 0) &&
            tile_type_dim(acc, 1) == tile_type_dim(type, 1) && has_many_products(f, op) &&
            !warpgroup_uses_wgmma(f, op) && !layouts_choose_mma(pass, f, op, false))
            return true;
    }
    return false;
}

bool layouts_keeps_sums(const tile_pass *pass, const tile_function *f, tile_value buffer) {
    const tile_type *type = tile_value_type(f, buffer);
    if (type->rank != 2 || type->scalar != TILE_f32 || type->stages) return false;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        const tile_opcode opcode = tile_op_opcode(f, op);
        bool uses = false;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            uses |= tile_op_operand(f, op, i).id == buffer.id;
        if (uses && opcode != TILE_OP_load_shared && opcode != TILE_OP_store_shared &&
            opcode != TILE_OP_free_shared)
            return false;
    }
    return has_sums_of(pass, f, type);
}

/* Whether the operand's elements are contiguous along k in shared memory, where tiles are put with
 * their last dim contiguous. */
static bool is_along_k(const assignment *a, tile_op dot, unsigned operand) {
    const unsigned k_dim = tile_product_k_dim(a->f, dot, operand);
    unsigned along = 1;
    tile_value value = tile_op_segment(a->f, dot, operand).at[0];
    if (layouts_is_tile(a, value)) return along == k_dim;
    tile_value buffer = tile_shared_source(a->f, value);
    TILE_FOR_EACH_OP_INSIDE (a->f, op, a->f->body)
        if (copies_to(a, op, buffer, &along)) break;
    return along == k_dim && !layouts_turns_copy(a->pass, a->f, buffer, along);
}

/* The bits of one dim of the sums. */
typedef struct dim_bits {
    unsigned lanes, warps, registers;
    unsigned width; /* registers of the lowest bits; the lanes' bits follow */
} dim_bits;

/* Bits are those of lanes and of registers before. */
static void share_among_warps(const assignment *a, tile_op dot, dim_bits *rows, dim_bits *columns) {
    tile_word policy = tile_op_word(a->f, dot, TILE_ATTR_policy);
    bool by_rows = policy == TILE_WORD_policy_rows, by_columns = policy == TILE_WORD_policy_columns;
    for (unsigned i = tile_log2(layouts_warps_at(a, dot)); i-- > 0;) {
        bool longer = rows->registers >= columns->registers;
        bool first = by_rows ? rows->registers > 0 : by_columns ? !columns->registers : longer;
        dim_bits *taken = first ? rows : columns;
        taken->registers--;
        taken->warps++;
    }
}

static void add_bits(tile_layout *layout, unsigned d, const dim_bits *bits) {
    uint32_t next = UINT32_C(1) << tile_layout_dim_shift(layout, d);
    unsigned lane = d == 1 ? 0 : TILE_LANE_BITS - bits->lanes, warp = layout->warp_bits;
    for (unsigned i = 0; i < bits->width; i++, next <<= 1) layout->reg[layout->reg_bits++] = next;
    for (unsigned i = 0; i < bits->lanes; i++, next <<= 1) layout->lane[lane + i] = next;
    for (unsigned i = bits->width; i < bits->registers; i++, next <<= 1)
        layout->reg[layout->reg_bits++] = next;
    for (unsigned i = 0; i < bits->warps; i++, next <<= 1) layout->warp[warp + i] = next;
    layout->warp_bits = (uint8_t)(warp + bits->warps);
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

bool layouts_of_fma(const assignment *a, tile_op dot, tile_layout *layout) {
    enum { ROW_LANES = 2 };
    const tile_type *acc = tile_value_type(a->f, tile_op_result(a->f, dot, 0));
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(acc, dims);
    *layout = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 2);
    unsigned m = layout->dim_bits[0], n = layout->dim_bits[1];
    unsigned width = tile_scalar_bits(acc->scalar) == 64 ? 1 : MAX_WIDTH_BITS;
    dim_bits rows = {.lanes = least(ROW_LANES, m)}, columns = {0};
    columns.lanes = least(TILE_LANE_BITS - rows.lanes, n);
    rows.lanes = TILE_LANE_BITS - columns.lanes;
    if (rows.lanes > m || m + n < TILE_LANE_BITS + tile_log2(layouts_warps_at(a, dot)))
        return false;
    rows.registers = m - rows.lanes;
    columns.registers = n - columns.lanes;
    share_among_warps(a, dot, &rows, &columns);
    if (!is_along_k(a, dot, TILE_MMA_LHS)) rows.width = least(width, rows.registers);
    if (!is_along_k(a, dot, TILE_MMA_RHS)) columns.width = least(width, columns.registers);
    add_bits(layout, 1, &columns);
    add_bits(layout, 0, &rows);
    return true;
}
