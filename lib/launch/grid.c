/* Evaluation of grids at a launch, and launch limits. */
#include <inttypes.h>
#include <stdio.h>

#include "lib/analysis/grid_fit.h"
#include "lib/ir/describe.h"
#include "lib/launch/data.h"
#include "lib/support/options.h"

bool tile_cluster_extents(const tile_function *kernel, int64_t extents[3]) {
    int64_t blocks = 1;
    for (unsigned d = 0; d < 3; d++) {
        extents[d] = 1;
        if (d < kernel->cluster_rank && !tile_expr_is_int(kernel->cluster[d], &extents[d]))
            return false;
        if (extents[d] < 1 || extents[d] > TILE_MAX_CLUSTER) return false;
        blocks *= extents[d];
    }
    return blocks <= TILE_MAX_CLUSTER;
}

/* Returns false if the expression contains something that is known only inside the kernel. */
bool tile_abi_is_launch_expr(const tile_expr *expr) {
    if (!expr || expr->kind == TILE_EXPR_PARAM || expr->kind == TILE_EXPR_FLOAT) return false;
    for (unsigned i = 0; i < 3 && expr->args[i]; i++)
        if (!tile_abi_is_launch_expr(expr->args[i])) return false;
    return true;
}

/* Creation ------------------------------------------------------------------------------------- */

/* Returns false after a diagnostic if an extent is known only inside the kernel. */
static bool fill_extents(tile_abi *abi, const tile_function *f, const tile_expr *const *from,
                         unsigned rank, tile_abi_extents *to) {
    *to = (tile_abi_extents){.text = {"1", "1", "1"}, .rank = rank};
    for (unsigned d = 0; d < rank; d++) {
        if (!tile_abi_is_launch_expr(from[d])) {
            return tile_error_at(
                f, TILE_NO_OP, "@%s: the grid must be computable from the kernel's arguments alone",
                f->name);
        }
        to->at[d] = from[d];
        to->text[d] = tile_expr_text(f, from[d], &abi->arena);
    }
    return true;
}

bool tile_abi_fill_grid(tile_abi *abi, const tile_function *f) {
    if (!fill_extents(abi, f, f->grid, f->grid_rank, &abi->grid) ||
        !fill_extents(abi, f, f->unfolded, f->unfolded[0] ? 3 : 0, &abi->unfolded))
        return false;
    if (tile_cluster_extents(f, abi->cluster)) return true;
    return tile_error_at(f, TILE_NO_OP,
                         "@%s: a cluster's extents must be constants and their product at most %d",
                         f->name, TILE_MAX_CLUSTER);
}

/* Evaluation ----------------------------------------------------------------------------------- */

/* The grid that the kernel sees; it is launched as it is unless it is flat. */
static const tile_abi_extents *written_grid(const tile_abi *abi) {
    return abi->unfolded.rank ? &abi->unfolded : &abi->grid;
}

static void report_no_grid(const tile_abi *abi, const int64_t *args, const tile_launch_facts *facts,
                           const tile_abi_extents *extents, unsigned d) {
    int64_t count;
    tile_grid_excess excess;
    const tile_expr *counted = tile_grid_counted(extents->at[d], &excess);
    if (counted && tile_abi_evaluate(abi, counted, args, facts, &count) && count > TILE_MAX_TILES)
        tile_report(abi->context, TILE_ERROR, abi->loc,
                    "@%s: these arguments give %" PRId64 " %s; a %s kernel counts at most %d of "
                    "them: make its tiles larger, or launch it for parts of the arrays",
                    abi->entry, count,
                    excess == TILE_TOO_MANY_TILES ? "tiles" : "iterations of all tiles together",
                    excess == TILE_TOO_MANY_TILES ? "`persistent`" : "`stream_k`", TILE_MAX_TILES);
    else
        tile_report(abi->context, TILE_ERROR, abi->loc,
                    "@%s: the grid is invalid for these arguments: dim %u is %s", abi->entry, d,
                    extents->text[d]);
}

static tile_status evaluate(const tile_abi *abi, const int64_t *args,
                            const tile_launch_facts *facts, const tile_abi_extents *extents,
                            int64_t grid[3]) {
    for (unsigned d = 0; d < 3; d++) {
        grid[d] = 1;
        if (d >= extents->rank) continue;
        if (tile_abi_evaluate(abi, extents->at[d], args, facts, &grid[d]) && grid[d] >= 0) continue;
        report_no_grid(abi, args, facts, extents, d);
        return TILE_INVALID;
    }
    return TILE_OK;
}

static tile_status check_clusters(const tile_abi *abi, const int64_t grid[3]) {
    for (unsigned d = 0; d < 3; d++) {
        if (grid[d] % abi->cluster[d] == 0) continue;
        tile_report(abi->context, TILE_ERROR, abi->loc,
                    "@%s: a grid of %" PRId64 " x %" PRId64 " x %" PRId64
                    " blocks is not made of whole clusters: dim %u must be a multiple of "
                    "%" PRId64 "; round it up in `grid`, or launch without `cluster`",
                    abi->entry, grid[0], grid[1], grid[2], d, abi->cluster[d]);
        return TILE_INVALID;
    }
    return TILE_OK;
}

/* The flattened extent along x may overflow an integer. */
static tile_status check_folded(const tile_abi *abi, const int64_t grid[3]) {
    int64_t blocks = grid[0];
    bool fits = true;
    for (unsigned d = 1; d < 3; d++)
        fits &= abi->cluster[d] > 1 || !__builtin_mul_overflow(blocks, grid[d], &blocks);
    if (!grid[0] || !grid[1] || !grid[2] || (fits && blocks <= tile_grid_limit(0))) return TILE_OK;
    tile_report(abi->context, TILE_ERROR, abi->loc,
                "@%s: the grid has %" PRId64 " x %" PRId64 " x %" PRId64
                " blocks; extents beyond %d along y and z are launched along x, where a launch "
                "takes %d blocks at most: make the tiles larger, or launch it for parts of the "
                "arrays",
                abi->entry, grid[0], grid[1], grid[2], TILE_MAX_GRID_YZ, TILE_MAX_GRID_X);
    return TILE_UNSUPPORTED;
}

tile_status tile_abi_find_grid(const tile_abi *abi, const int64_t *args,
                               const tile_launch_facts *facts, int64_t grid[3]) {
    tile_launch_facts known;
    if (!TILE_TAKE_OPTIONS(abi->context, tile_launch_facts, &known, facts)) return TILE_INVALID;
    tile_status status = evaluate(abi, args, &known, written_grid(abi), grid);
    if (status == TILE_OK) status = check_clusters(abi, grid);
    if (status != TILE_OK || !abi->unfolded.rank) return status;
    status = check_folded(abi, grid);
    return status == TILE_OK ? evaluate(abi, args, &known, &abi->grid, grid) : status;
}

/* Limits --------------------------------------------------------------------------------------- */

/* An extent of 0 is no launch, even if others are too large. */
bool tile_abi_grid_fits(const int64_t grid[3]) {
    bool empty = false, fits = true;
    for (unsigned d = 0; d < 3; d++) {
        empty |= !grid[d];
        fits &= grid[d] <= tile_grid_limit(d);
    }
    return empty || fits;
}

tile_status tile_abi_check_grid(const tile_abi *abi, const int64_t grid[3]) {
    char why[120] = "";
    unsigned d = 0;
    if (tile_abi_grid_fits(grid)) return TILE_OK;
    while (grid[d] <= tile_grid_limit(d)) d++;
    if (d && abi->cluster[d] > 1)
        snprintf(why, sizeof why,
                 ", and %" PRId64 " blocks of a cluster along %c cannot be launched along x",
                 abi->cluster[d], "xyz"[d]);
    tile_report(abi->context, TILE_ERROR, abi->loc,
                "@%s: the grid has %" PRId64 " blocks along %c; a launch takes at most %" PRId64
                " there%s: let each block compute several tiles with `persistent`, or %s",
                abi->entry, grid[d], "xyz"[d], tile_grid_limit(d), why,
                d ? "write this extent first" : "make the tiles larger");
    return TILE_UNSUPPORTED;
}

tile_status tile_abi_grid(const tile_abi *abi, const int64_t *args, const tile_launch_facts *facts,
                          int64_t grid[3]) {
    TILE_GUARD(abi ? abi->context : NULL, TILE_OUT_OF_MEMORY)
    if (!abi) return TILE_INVALID;
    tile_status status = tile_abi_find_grid(abi, args, facts, grid);
    return status == TILE_OK ? tile_abi_check_grid(abi, grid) : status;
}

bool tile_abi_fits_condition(const tile_abi *abi, int64_t most, const int64_t *args) {
    const tile_abi_extents *extents = written_grid(abi);
    int64_t extent;
    for (unsigned d = 1; d < extents->rank; d++)
        if (!tile_abi_evaluate(abi, extents->at[d], args, NULL, &extent) || extent > most)
            return false;
    return true;
}
