/* flatten-grid: launches y and z of a `flat` kernel's grid along x.
 *
 * A launch has up to 2^31 - 1 blocks along x, but only 65535 along y and z. The kernel still sees
 * the declared grid, so its author can ignore these limits.
 *
 * level: 2 and 3
 * requires: instantiated
 * keeps: everything
 * breaks: nothing
 *
 * pipeline: flatten-grid,canonicalize,dce
 * before:
 *   kernel @add(%m: i32, %n: i32, %x: ptr<f32>)
 *       grid [4, %m, %n]
 *       flat
 *       warps 4
 *   {
 *     %b, %c, %z = block_id : i32
 *     %g = view %x, [%n, %m, 256] : view<f32[?, ?, 256]>
 *     %0 = mul %b, 64 : i32
 *     %t = load %g[%z, %c, %0] : tile<f32[1, 1, 64]>
 *     %1 = add %t, %t : tile<f32[1, 1, 64]>
 *     store %1, %g[%z, %c, %0]
 *   }
 *
 * after:
 *   kernel @add(%m: i32, %n: i32, %x: ptr<f32>)
 *       grid [4 * %m * %n]
 *       flat [4, %m, %n]
 *       warps 4
 *   {
 *     %0, %1, %2 = block_id : i32
 *     %3 = max %m, 1 : i32
 *     %4 = rem %0, 4 : i32
 *     %5 = div %0, 4 : i32
 *     %6 = rem %5, %3 : i32
 *     %7 = div %5, %3 : i32
 *     %g = view %x, [%n, %m, 256] : view<f32[?, ?, 256]>
 *     %8 = mul %4, 64 : i32
 *     %t = load %g[%7, %6, %8] : tile<f32[1, 1, 64]>
 *     %9 = add %t, %t : tile<f32[1, 1, 64]>
 *     store %9, %g[%7, %6, %8]
 *   }
 *
 * How. Blocks are numbered x first, then y, then z: the order in which the device starts them in
 * either grid. A dim y or z along which a cluster has several blocks is not folded, because they
 * must stay neighbors. If a cluster has several blocks along x, clusters are numbered instead of
 * blocks, so that later passes see which values are equal in all blocks of a cluster.
 *
 * Result. `flat` names the declared grid afterwards. A launch evaluates it to choose between this
 * kernel and the one that is not flat, and to report the extent that is too large. The pass runs
 * after all other passes that change the grid. It skips grids with nothing to fold, for example
 * that of a `persistent` kernel. */
#include "lib/analysis/grid_fit.h"
#include "lib/ir/syntax.h"
#include "passes/common/replace_result.h"
#include "passes/grid/grid.h"

typedef struct folding {
    grid g;
    tile_function *f;
    tile_context *context;
    bool folds[3];
} folding;

static bool find_dims(folding *s) {
    bool any = false;
    for (unsigned d = 1; d < 3; d++) {
        s->folds[d] = tile_grid_folds(s->f, d) && !tile_expr_is(s->f->grid[d], 1);
        any |= s->folds[d];
    }
    return any;
}

/* False after a diagnostic. */
static bool check(const folding *s) {
    const tile_function *f = s->f;
    const char *before = f->raster || f->is_persistent ? "tile-scheduler" : NULL;
    if (before)
        tile_error_at(f, TILE_NO_OP,
                      "@%s: `%s` has not been applied yet; run %s before flatten-grid", f->name,
                      f->raster ? "raster" : "persistent", before);
    for (unsigned d = 0; d < f->grid_rank && !before; d++) {
        if (!tile_expr_holds(f->grid[d], TILE_EXPR_NUM_SMS)) continue;
        return tile_error_at(f, TILE_NO_OP,
                             "@%s is `flat`, and the kernel cannot compute extent %u of its grid, "
                             "which uses num_sms; remove `flat`, or write a grid of one dim",
                             f->name, d + 1);
    }
    return !before;
}

/* Finds the block's coordinates in the declared grid. Returns the number of clusters that precede
 * it along x. */
static tile_value find_block(folding *s, tile_builder *b) {
    grid *g = &s->g;
    tile_value rest = grid_divide(b, g->block[0], g->cluster_extent[0]);
    unsigned last = s->folds[2] ? 2 : 1;
    for (unsigned d = 0; d < 3; d++) {
        g->id[d] = g->block[d];
        if (d && !s->folds[d]) continue;
        tile_value extent = grid_divide(b, g->extent[d], g->cluster_extent[d]);
        g->id[d] = d == last ? rest : tile_build_rem(b, rest, extent);
        if (d != last) rest = tile_build_div(b, rest, extent);
    }
    tile_value cluster = g->id[0];
    g->id[0] = grid_block_of_rank(g, b, 0, cluster, grid_rank_in_cluster(g, b, 0));
    return cluster;
}

/* Whether the operation is block_id x / the blocks of a cluster along x. */
static bool counts_clusters(const folding *s, tile_op op) {
    const tile_function *f = s->f;
    int64_t by;
    if (tile_op_opcode(f, op) != TILE_OP_div ||
        !tile_value_is_int(f, tile_operand_rhs(f, op), &by) || by != tile_grid_cluster_extent(f, 0))
        return false;
    tile_value x = tile_operand_lhs(f, op);
    tile_op id = tile_value_def(f, x);
    return id.id && tile_op_opcode(f, id) == TILE_OP_block_id && !tile_value_at(f, x)->index;
}

/* Quotients that earlier passes computed to number clusters are equal in all blocks of a
 * cluster. Passes that share copies between these blocks must see that, so the quotients are
 * replaced by x. */
static void rename_clusters(folding *s, tile_builder *b, tile_value x) {
    grid *g = &s->g;
    for (unsigned d = 0; d < 3; d++)
        g->cluster[d] = d ? grid_divide(b, g->id[d], g->cluster_extent[d]) : x;
    for (tile_op op = {1}; op.id < g->old_ops; op.id++)
        if (counts_clusters(s, op)) replace_result(g->pass, s->f, op, x);
}

static void rename_blocks(folding *s, tile_pass *pass) {
    tile_builder b = grid_open(&s->g, pass, s->f);
    b.loc = s->f->loc;
    grid_find_block(&s->g, &b);
    for (unsigned d = 0; d < 3; d++) s->g.extent[d] = grid_build_extent(&s->g, &b, d);
    tile_value cluster = find_block(s, &b);
    if (s->f->cluster_rank) rename_clusters(s, &b, cluster);
    grid_close(&s->g);
}

static void set_grid(const folding *s) {
    tile_function *f = s->f;
    const tile_expr *one = tile_expr_int(s->context, 1);
    unsigned rank = 1;
    for (unsigned d = 1; d < f->grid_rank; d++) {
        if (s->folds[d]) {
            f->grid[0] = tile_expr_multiply(s->context, f->grid[0], f->grid[d]);
            f->grid[d] = one;
        }
        if (!tile_expr_is(f->grid[d], 1)) rank = d + 1;
    }
    f->grid_rank = rank;
}

tile_status tile_pass_flatten_grid(tile_pass *pass, tile_function *f) {
    folding s = {.f = f, .context = pass->context};
    if (!f->is_flat || f->unfolded[0] || !find_dims(&s)) return TILE_OK;
    if (!check(&s)) return TILE_INVALID;
    tile_pass_count(pass, "flattened", 1);
    for (unsigned d = 0; d < 3; d++) f->unfolded[d] = *grid_extent_at(f, d);
    if (tile_region_first(f, f->body).id) rename_blocks(&s, pass);
    set_grid(&s);
    return TILE_OK;
}
