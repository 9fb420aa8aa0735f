/* Rows whose extent is not known when the kernel is made. One kernel serves all lengths: its points
 * differ in the elements of a tile along the rows, and each launch selects one of them.
 *
 *     tune (rows, block, num_warps) in [(1, 8192, 8), .., (16, 128, 4), (32, 128, 4), ..]
 *     where rows == 1 | %n <= block
 *
 * A block of long rows has one of them. If it fits the tile, it is read once; otherwise the block
 * loops along it. A block of one short row would leave most threads without an element, and a grid
 * of many short rows would consist mostly of the starts of blocks. So a block has several rows that
 * all fit the tile. Short rows that are adjacent in memory are one range of it, and a row that a
 * few lanes hold is reduced by shuffles. */
#include "passes/schedule/rows/rows.h"

#include <string.h>

#include "lib/ir/syntax.h"

enum { MAX_POINTS = 32 };

static const tile_expr *constant(const rows *r, int value) {
    return tile_expr_int(r->k.s->context, value);
}

static const tile_expr *expr(const rows *r, tile_opcode op, const tile_expr *a,
                             const tile_expr *b) {
    return tile_expr_op(r->k.s->context, op, a, b, NULL);
}

/* For a tile in a loop, in which each element has a partial sum: a quarter of the block. */
static const tile_expr *quarter(const rows *r, const tile_expr *block) {
    return expr(r, TILE_OP_div, block, constant(r, 4));
}

/* The most bytes of an element that the rows are read from. */
static unsigned widest_input(const rows *r) {
    unsigned bytes = 0;
    for (size_t i = 0; i < r->k.g->input_count; i++) {
        tile_value value = r->k.s->arrays[r->k.g->inputs[i].array].value;
        unsigned own = tile_scalar_bytes(sched_element(r->k.s, value)->scalar);
        bytes = own > bytes ? own : bytes;
    }
    return bytes;
}

/* Adds tiles of 2048 elements, 16 for each thread, and of 4096 if these are not wide, with at most
 * as many rows as there are, if that is known. If rows of 129 to 512 elements are combined with
 * other arrays, such as weights, the larger tiles have too few threads in flight (layer norm of
 * 11353 x 456 halves: 12.4 us instead of 11.8). */
static unsigned add_short(const rows *r, int64_t most_rows, int *points, unsigned count) {
    enum { LONGEST = 2048, SHORTEST = 16, WARPS = 4, WIDE = 4 /* bytes */ };
    const bool combined = r->k.g->input_count > 1;
    const int most = widest_input(r) >= WIDE ? LONGEST : 2 * LONGEST;
    for (int block = LONGEST; block >= SHORTEST; block /= 2)
        for (int elements = LONGEST; elements <= most; elements *= 2) {
            const int point[] = {elements / block, block, WARPS};
            if (point[0] == 1 || (most_rows >= 0 && point[0] >= 2 * most_rows)) continue;
            if (combined && elements > LONGEST && block > 128 && block < 1024) continue;
            memcpy(points + 3 * count++, point, sizeof point);
        }
    return count;
}

/* True if a block goes along its row only if no tile holds it: each step of a scan waits for the
 * one before, rows of outputs are read again (a softmax of 4224 halves takes 1.4 times as long),
 * and sums have more loads in flight with the largest tiles. */
static bool prefers_one_tile(const rows *r) {
    return rows_can_scan_chunks(r) || rows_has_long_output(r) ||
           (r->last == 1 && !rows_return_index(r));
}

/* Short rows fit a tile, and are not split. A plan that takes no parameters launches the first
 * point, whose block of this length must admit all rows. */
static void limit_short(rows *r, const rows_tile_params *p, int first_block, bool in_parts) {
    enum { LONGEST = 16384, SHORT = 1024 };
    const tile_expr *one = constant(r, 1), *end = sched_expr(r->k.s, r->extent);
    const tile_expr *split = in_parts ? tile_expr_param(r->k.s->context, SCHED_SPLIT) : NULL;
    const tile_expr *fits = expr(r, TILE_OP_le, end, p->block);
    const tile_expr *single = expr(r, TILE_OP_eq, p->rows, one);
    const tile_expr *looped = expr(r, TILE_OP_gt, end, constant(r, LONGEST));
    if (split) {
        fits = expr(r, TILE_OP_and, fits, expr(r, TILE_OP_eq, split, one));
        looped = expr(r, TILE_OP_or, looped, expr(r, TILE_OP_gt, split, one));
    }
    if (r->k.s->group_count > 1 || r->k.s->is_section)
        looped =
            expr(r, TILE_OP_or, looped, expr(r, TILE_OP_eq, p->block, constant(r, first_block)));
    if (!rows_can_scan_chunks(r) && rows_has_long_output(r)) /* the model never prefers these */
        looped = expr(r, TILE_OP_or, looped, expr(r, TILE_OP_le, p->block, constant(r, SHORT)));
    if (prefers_one_tile(r)) single = expr(r, TILE_OP_and, single, looped);
    tile_function_add_where(r->k.f, expr(r, TILE_OP_or, single, fits));
}

rows_tile_params rows_add_lengths(rows *r, int beside, const int *along, unsigned count,
                                  bool in_parts) {
    const bool several = beside >= 0 && beside < (int)r->axis && r->known < 0;
    const tile_expr *params[3];
    unsigned from = several ? 0 : 1, points_count = count;
    int points[3 * MAX_POINTS];
    params[0] = several ? sched_add_param(&r->k, "rows") : constant(r, 1);
    params[1] = sched_add_param(&r->k, "block");
    params[2] = sched_add_param(&r->k, "num_warps");
    for (unsigned i = 0; i < count && several; i++) {
        const int point[] = {1, along[2 * i], along[2 * i + 1]};
        memcpy(points + 3 * i, point, sizeof point);
    }
    if (several)
        points_count =
            add_short(r, sched_constant(r->k.g->domain.extents[beside]), points, points_count);
    rows_set_tiles(r, beside, params[0], params[1]);
    sched_add_tune(&r->k, params + from, 3 - from, several ? points : along, points_count);
    sched_set_warps(&r->k, params[2]);
    const rows_tile_params p = {params[0], params[1]};
    if (!several) return p;
    limit_short(r, &p, along[0], in_parts);
    r->short_rows = p.rows;
    r->short_block = p.block;
    return p;
}

/* A kernel with both a tile and a loop has the registers of the loop, which are more. So the points
 * say which of them a launch needs. A plan, whose kernels take no parameters, needs both.
 *
 *     tune whole in [1, 0]
 *     where whole == 1 & %n <= block | whole == 0 & %n > block */
static void add_whole(rows *r) {
    static const int values[] = {1, 0};
    if (!r->short_rows || r->k.s->group_count > 1 || r->k.s->is_section) return;
    const tile_expr *end = sched_expr(r->k.s, r->extent), *cases[2];
    r->whole = sched_add_param(&r->k, "whole");
    sched_add_tune(&r->k, &r->whole, 1, values, 2);
    for (unsigned i = 0; i < 2; i++)
        cases[i] = expr(r, TILE_OP_and, expr(r, TILE_OP_eq, r->whole, constant(r, values[i])),
                        expr(r, values[i] ? TILE_OP_le : TILE_OP_gt, end, r->short_block));
    tile_function_add_where(r->k.f, expr(r, TILE_OP_or, cases[0], cases[1]));
}

tile_value rows_has_several(rows *r) {
    return tile_build_gt(&r->k.b, sched_number(&r->k, r->short_rows), tile_build_int(&r->k.b, 1));
}

tile_value rows_loop_end(rows *r) {
    tile_value end = sched_number(&r->k, sched_expr(r->k.s, r->extent));
    if (!r->short_rows) return end;
    return tile_build_select(&r->k.b, rows_has_several(r), sched_number(&r->k, r->short_block),
                             end);
}

/* Several rows always fit; so the kernel of such a point has no loop. */
static tile_value build_fits(rows *r, const tile_expr *block) {
    sched_kernel *k = &r->k;
    if (r->whole) return tile_build_eq(&k->b, sched_number(k, r->whole), tile_build_int(&k->b, 1));
    tile_value end = sched_number(k, sched_expr(k->s, r->extent));
    tile_value fits = tile_build_le(&k->b, end, sched_number(k, block));
    return r->short_rows ? tile_build_or(&k->b, rows_has_several(r), fits) : fits;
}

void rows_build_either(rows *r, int beside, const tile_expr *others, const tile_expr *block,
                       const tile_expr *looped, void (*build_long)(rows *r)) {
    sched_kernel *k = &r->k;
    add_whole(r);
    tile_op both = tile_build_if_else(&k->b, build_fits(r, block), NULL, 0);
    tile_builder outside = k->b;
    for (unsigned i = 0; i < 2; i++) {
        k->b = tile_builder_at_end(k->f, tile_op_region(k->f, both, i));
        rows_set_tiles(r, beside, others, i ? looped : block);
        if (i)
            build_long(r);
        else
            rows_build_at_once(r);
        tile_build_yield(&k->b, NULL, 0);
    }
    k->b = outside;
}

/* A few blocks with a row of one array each wait for memory, not for its bytes: a tile of 1024
 * threads holds the whole row. (The last kernel of a loss adds 32768 numbers.) */
static bool prefers_whole_row(const rows *r, int64_t blocks) {
    enum { LONGEST = 32768, FEW = 64 };
    return blocks >= 0 && blocks <= FEW && r->known >= 0 && r->known <= LONGEST &&
           r->k.g->reduction_count == 1 && r->k.g->input_count == 1 && !rows_return_index(r) &&
           tile_scalar_bytes(rows_type(r, 0)->scalar) <= 4;
}

void rows_build_unknown(rows *r, int beside) {
    static const int points[] = {4096,  4, 8192,  8, 6144,  8, 4096,  8, 2048,  4, 1024, 4,
                                 10240, 8, 12288, 8, 14336, 8, 16384, 8, 16384, 16};
    static const int all_summed[] = {32768, 32, 8192, 8, 16384, 8, 4096, 4, 2048, 4, 1024, 4};
    const tile_expr *parts[2];
    bool once = r->last == 1 && !rows_has_long_output(r);
    int64_t blocks = rows_count_others(r, -1, 1);
    const bool whole = once && prefers_whole_row(r, blocks);
    const int *summed = whole ? all_summed : all_summed + 2;
    /* An unknown number of rows is assumed to be large. */
    bool few = once || blocks >= 0 || rows_must_split(r);
    bool splits = few && rows_may_split(r, summed[0], blocks);
    rows_tile_params p =
        rows_add_lengths(r, beside, once ? summed : points, once ? whole ? 6 : 5 : 11, splits);
    if (splits) rows_add_splits(r, summed[0], blocks, 1, parts);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    if (!splits && r->known >= 0 && r->online_sum_count)
        rows_set_tiles(r, beside, p.rows, quarter(r, p.block));
    if (splits)
        rows_build_split(r, parts[0], parts[1]);
    else if (once || r->known >= 0)
        rows_build_in_steps(r);
    else
        rows_build_either(r, beside, p.rows, p.block, quarter(r, p.block), rows_build_in_steps);
}
