/* Reads the operands of products from the operations. */
#include "lib/analysis/product.h"

#include <limits.h>

#include "lib/ir/effects.h"

static const tile_type *operand_type(const tile_function *f, tile_op op, unsigned operand) {
    return tile_value_type(f, tile_op_segment(f, op, operand).at[0]);
}

unsigned tile_product_k_dim(const tile_function *f, tile_op dot, unsigned operand) {
    bool lhs = operand == TILE_MMA_LHS;
    bool turned = tile_op_has_attr(f, dot, lhs ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs);
    return lhs != turned;
}

tile_mma_query tile_product_query(const tile_function *f, tile_op op) {
    const tile_type *lhs = operand_type(f, op, TILE_MMA_LHS),
                    *rhs = operand_type(f, op, TILE_MMA_RHS),
                    *acc = operand_type(f, op, TILE_MMA_ACC);
    tile_mma_query query = tile_mma_query_of(lhs->scalar, rhs->scalar, acc->scalar);
    query.unsigned_lhs |= tile_op_has_attr(f, op, TILE_ATTR_unsigned_lhs);
    query.unsigned_rhs |= tile_op_has_attr(f, op, TILE_ATTR_unsigned_rhs);
    if (tile_op_word(f, op, TILE_ATTR_precision) == TILE_WORD_precision_tf32)
        query = tile_mma_query_as_tf32(query);
    query.features = UINT32_MAX;
    if (acc->kind != TILE_TYPE_TILE) return query;
    query.m = (uint32_t)tile_type_dim(acc, 0);
    query.n = (uint32_t)tile_type_dim(acc, 1);
    query.k = (uint32_t)tile_type_dim(lhs, tile_product_k_dim(f, op, TILE_MMA_LHS));
    query.acc_layout = acc->layout;
    return query;
}

const tile_mma *tile_product_mma(const tile_function *f, tile_op dot, const tile_target *target) {
    tile_mma_query query = tile_product_query(f, dot);
    query.features = target->features;
    return tile_mma_find(&query);
}

const tile_mma *tile_product_instruction(const tile_function *f, tile_op mma) {
    tile_mma_query query = tile_product_query(f, mma);
    int64_t counts[3];
    for (unsigned i = 0; i < 3; i++) counts[i] = tile_type_elements(operand_type(f, mma, i));
    return tile_mma_of_fragments(&query, counts);
}

bool tile_requests_wgmma(const tile_function *f) {
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode == TILE_OP_dot &&
            tile_op_word(f, (tile_op){id}, TILE_ATTR_via) == TILE_WORD_via_wgmma)
            return true;
    return false;
}

bool tile_consumes_dot(const tile_function *f, tile_op op, tile_region region, bool *seen) {
    bool found = false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op) && !found; i++) {
        tile_op def = tile_value_def(f, tile_op_operand(f, op, i));
        if (!def.id || tile_op_at(f, def)->parent.id != region.id || seen[def.id]) continue;
        seen[def.id] = true;
        found = tile_op_opcode(f, def) == TILE_OP_dot || tile_consumes_dot(f, def, region, seen);
    }
    return found;
}

bool tile_dot_is_alone(const tile_function *f, tile_op dot) {
    unsigned count = 0;
    TILE_FOR_EACH_OP (f, op, tile_op_at(f, dot)->parent)
        count += tile_op_opcode(f, op) == TILE_OP_dot;
    return count == 1;
}

bool tile_dots_are_chained(const tile_function *f, tile_region region, tile_arena *arena) {
    bool chained = false;
    TILE_FOR_EACH_OP (f, op, region)
        for (unsigned i = 0; i < 2 && tile_op_opcode(f, op) == TILE_OP_dot; i++) {
            bool *seen = TILE_NEW_ARRAY(arena, bool, f->op_count);
            tile_op def = tile_value_def(f, tile_op_segment(f, op, i).at[0]);
            chained |= def.id && tile_op_at(f, def)->parent.id == region.id &&
                       tile_consumes_dot(f, def, region, seen);
        }
    return chained;
}

tile_layout tile_product_fragment(const tile_mma *row, const tile_layout *acc, unsigned operand,
                                  const tile_type *type) {
    return tile_mma_operand(row, acc, operand, (uint32_t)tile_type_dim(type, 0),
                            (uint32_t)tile_type_dim(type, 1));
}

tile_product_forms tile_product_forms_of(const tile_function *f, tile_op wgmma) {
    return (tile_product_forms){.sparse = tile_operands_places(f, wgmma).count != 0,
                                .negate_lhs = tile_op_has_attr(f, wgmma, TILE_ATTR_negate_lhs),
                                .negate_rhs = tile_op_has_attr(f, wgmma, TILE_ATTR_negate_rhs),
                                .satfinite = tile_op_has_attr(f, wgmma, TILE_ATTR_satfinite),
                                .popc = tile_op_has_attr(f, wgmma, TILE_ATTR_popc)};
}

tile_wgmma_matrix tile_wgmma_matrix_of(const tile_function *f, tile_op op) {
    enum { PIECE = 16, ROWS = 8 };
    int64_t swizzle = tile_op_attr_int(f, op, TILE_ATTR_swizzle, 0);
    if (!swizzle) swizzle = PIECE;
    return (tile_wgmma_matrix){
        .swizzle = (unsigned)swizzle,
        .mn_major = tile_value_type(f, tile_op_result(f, op, 0))->mn_major,
        .leading = (uint32_t)tile_op_attr_int(f, op, TILE_ATTR_leading, PIECE),
        .stride = (uint32_t)tile_op_attr_int(f, op, TILE_ATTR_stride, ROWS * swizzle)};
}

/* Reductions after the loop -------------------------------------------------------------------- */

enum { ANY = 2 };

static int64_t known_extent(const void *user, const tile_type *type, unsigned d) {
    (void)user;
    return tile_type_dim(type, d);
}

/* The row dim for a reduction of the tile; ANY: it has other extents than m x n. */
static unsigned row_dim_of(const tile_type *type, int64_t axis, int64_t m, int64_t n,
                           tile_extent_of *extent_of, const void *user) {
    int64_t rows = 1, columns = 1;
    unsigned d = 0, first_column;
    if (type->kind != TILE_TYPE_TILE) return ANY;
    for (; d < type->rank && rows < m; d++) rows *= extent_of(user, type, d);
    first_column = d;
    for (; d < type->rank && columns <= n; d++) columns *= extent_of(user, type, d);
    if (rows != m || columns != n) return ANY;
    return axis >= (int64_t)first_column ? TILE_WGMMA_PLAIN : TILE_WGMMA_SWAPPED;
}

unsigned tile_row_dim_of_reductions(const tile_function *f, tile_op dot, const tile_type *sums,
                                    tile_extent_of *extent_of, const void *user) {
    const tile_region own = tile_op_at(f, dot)->parent;
    if (!extent_of) extent_of = known_extent;
    const int64_t m = extent_of(user, sums, 0), n = extent_of(user, sums, 1);
    unsigned found = ANY;
    for (uint32_t id = 1; id < f->op_count; id++) {
        const tile_op op = {id};
        if (f->ops[id].opcode != TILE_OP_reduce || f->ops[id].parent.id == own.id) continue;
        const unsigned row_dim =
            row_dim_of(tile_value_type(f, tile_operand_src(f, op)),
                       tile_op_attr_int(f, op, TILE_ATTR_axis, -1), m, n, extent_of, user);
        if (row_dim == ANY) continue;
        if (found != ANY && found != row_dim) return ANY;
        found = row_dim;
    }
    return found;
}
