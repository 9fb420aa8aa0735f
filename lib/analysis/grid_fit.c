#include "lib/analysis/grid_fit.h"

#include "lib/analysis/range.h"
#include "lib/ir/syntax.h"

int64_t tile_grid_limit(unsigned d) {
    return d ? TILE_MAX_GRID_YZ : TILE_MAX_GRID_X;
}

int64_t tile_grid_cluster_extent(const tile_function *f, unsigned d) {
    int64_t extent;
    bool known = d < f->cluster_rank && tile_expr_is_int(f->cluster[d], &extent);
    return known && extent > 1 ? extent : 1;
}

int64_t tile_grid_cluster_blocks(const tile_function *f, unsigned dims) {
    int64_t blocks = 1;
    for (unsigned d = 0; d < dims; d++) blocks *= tile_grid_cluster_extent(f, d);
    return blocks;
}

bool tile_grid_folds(const tile_function *f, unsigned d) {
    return d && d < f->grid_rank && tile_grid_cluster_extent(f, d) == 1;
}

/* Number of parts of a loop that split-k distributes along z; 1: none. */
static int64_t find_parts(const tile_function *f) {
    int64_t parts = 1;
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op op = {id};
        if (tile_op_opcode(f, op) == TILE_OP_for && tile_op_has_attr(f, op, TILE_ATTR_split))
            parts = tile_op_attr_int(f, op, TILE_ATTR_split, 1);
    }
    return parts;
}

/* Ranges by value for tile_range_of_expr, which follow from the types of the arguments alone. */
static const tile_range *range_arguments(const tile_function *f, tile_arena *arena) {
    tile_range *ranges = TILE_NEW_ARRAY(arena, tile_range, f->value_count);
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind == TILE_TYPE_SCALAR)
            ranges[f->args[i].value.id] = tile_range_of_scalar(f->args[i].type->scalar);
    return ranges;
}

/* A grid that depends on num_sms is assumed to fit. */
static bool names_device(const tile_function *f) {
    for (unsigned d = 0; d < f->grid_rank; d++)
        if (tile_expr_holds(f->grid[d], TILE_EXPR_NUM_SMS)) return true;
    return false;
}

tile_grid_fit tile_find_grid_fit(const tile_function *f, tile_arena *arena) {
    int64_t parts = find_parts(f);
    tile_grid_fit fit = TILE_GRID_FITS;
    bool visits = f->is_persistent && parts == 1; /* all blocks are along x, each with many tiles */
    if (f->grid_rank < 2 || visits || names_device(f)) return fit;
    const tile_range *ranges = range_arguments(f, arena);
    for (unsigned d = 1; d < f->grid_rank; d++) {
        if (!tile_grid_folds(f, d)) continue;
        tile_range extent = tile_range_of_expr(f, ranges, f->grid[d]);
        int64_t most = tile_grid_limit(d) / (d == 2 ? parts : 1);
        if (extent.min > most) return TILE_GRID_EXCEEDS;
        if (extent.max > most) fit = TILE_GRID_MAY_EXCEED;
    }
    return fit;
}

const tile_expr *tile_grid_count(tile_context *context, const tile_expr *count,
                                 const tile_expr *blocks, tile_grid_excess excess) {
    int64_t known;
    if (tile_expr_is_int(count, &known) && known <= TILE_MAX_TILES) return blocks;
    const tile_expr *many =
        tile_expr_op(context, TILE_OP_gt, count, tile_expr_int(context, TILE_MAX_TILES), NULL);
    return tile_expr_op(context, TILE_OP_select, many, tile_expr_int(context, excess), blocks);
}

const tile_expr *tile_grid_counted(const tile_expr *expr, tile_grid_excess *excess) {
    int64_t most, value;
    if (expr->kind != TILE_EXPR_OP || expr->opcode != TILE_OP_select ||
        !tile_expr_is_int(expr->args[1], &value) ||
        (value != TILE_TOO_MANY_TILES && value != TILE_TOO_MANY_ITERATIONS))
        return NULL;
    const tile_expr *many = expr->args[0];
    if (many->kind != TILE_EXPR_OP || many->opcode != TILE_OP_gt ||
        !tile_expr_is_int(many->args[1], &most) || most != TILE_MAX_TILES)
        return NULL;
    *excess = (tile_grid_excess)value;
    return many->args[0];
}
