/* Grids of online loops: assigns rows to blocks, and orders the tiles of an SM.
 *
 * Rows of batches that read the same columns should run at the same time, so that the columns are
 * read from L2. If the length of the loop depends on the rows, as under a causal mask, two more
 * things matter. The longest loops run first, so that none of them runs alone at the end. A block
 * that fills an SM overlaps its loads and stores with the preceding and following tiles. The grid
 * is therefore
 *
 *     [batches of a set, tiles of rows, sets]
 *
 * The columns of a set of batches fit CACHE bytes, and the longest tiles of a set come first. The
 * launch distributes the tiles by the number of visited elements, which it computes from the loop's
 * own bounds. It cannot read memory; bounds that depend on memory make the device distribute the
 * tiles, in the same order. If all loops have equal length, no distribution is needed and batches
 * run in sequence. The same holds for few rows whose columns are split into parts (split.c), where
 * there are about as many blocks as SMs. */
#include "passes/schedule/online/online_kernel.h"

#include "lib/ir/syntax.h"

enum {
    CACHE = 1 << 24,      /* bytes of a set's columns: at most a third of an L2 */
    MAX_GRID_Z = 65535,   /* blocks along z */
    LARGE_TILE = 1 << 20, /* multiplications per step, from which on an SM has one block */
};

/* Batch dims ----------------------------------------------------------------------------------- */

static bool side_depends(const online_kernel *w, const sched_product_operand *side, unsigned dim) {
    unsigned rank = sched_type(w->k.s, side->from.value)->rank;
    for (unsigned d = 0; d < rank; d++)
        if (sched_depends(&side->from.map.at[d], dim)) return true;
    return false;
}

/* The distinct column operands of the loop; returns their number. */
static unsigned column_sides(const online_kernel *w, const sched_product_operand **sides,
                             int64_t *extents) {
    unsigned count = 0;
    for (unsigned i = 0; i < w->o->inner_count; i++) {
        extents[count] = w->o->deep;
        sides[count++] = &w->o->inner[i].sides[1];
    }
    for (unsigned i = 0; i < w->o->fold_count; i++) {
        if (!w->o->folds[i].product) continue;
        extents[count] = w->o->wide;
        sides[count++] = &w->o->folds[i].rhs;
    }
    return count;
}

enum { MAX_SIDES = SCHED_MAX_INNER_PRODUCTS + SCHED_MAX_CARRIED };

static bool shares_columns(const online_kernel *w, unsigned dim) {
    const sched_product_operand *sides[MAX_SIDES];
    int64_t extents[MAX_SIDES];
    unsigned count = column_sides(w, sides, extents);
    for (unsigned i = 0; i < count; i++)
        if (side_depends(w, sides[i], dim)) return false;
    return true;
}

/* Bytes per coordinate along n; an array that is read twice counts once. */
static int64_t bytes_of_column(const online_kernel *w) {
    const sched_product_operand *sides[MAX_SIDES];
    int64_t extents[MAX_SIDES], bytes = 0;
    unsigned count = column_sides(w, sides, extents);
    for (unsigned i = 0; i < count; i++) {
        bool there = false;
        for (unsigned b = 0; b < i; b++)
            there |= sched_same_part(w->k.s, &sides[b]->from, &sides[i]->from);
        if (!there) bytes += extents[i] * tile_scalar_bytes(sides[i]->element->scalar);
    }
    return bytes > 0 ? bytes : 1;
}

static const tile_expr *extent_of(const online_kernel *w, unsigned dim) {
    return sched_expr(w->k.s, w->k.g->domain.extents[dim]);
}

/* The batch dims, fastest first: those along which columns are constant, so that adjacent blocks
 * read the same ones. Returns their number. */
static unsigned batch_dims(const online_kernel *w, unsigned *dims) {
    unsigned count = 0;
    for (unsigned shared = 2; shared-- > 0;)
        for (unsigned d = w->o->m; d-- > 0;)
            if (!tile_expr_is(w->k.g->domain.extents[d], 1) &&
                shares_columns(w, d) == (shared == 1))
                dims[count++] = d;
    return count;
}

/* Expressions ---------------------------------------------------------------------------------- */

static const tile_expr *make(const online_kernel *w, tile_opcode opcode, const tile_expr *a,
                             const tile_expr *b) {
    return tile_expr_op(w->k.s->context, opcode, a, b, NULL);
}

static const tile_expr *number(const online_kernel *w, int64_t value) {
    return tile_expr_int(w->k.s->context, value);
}

static const tile_expr *at_least_one(const online_kernel *w, const tile_expr *expr) {
    return make(w, TILE_OP_max, expr, number(w, 1));
}

static const tile_expr *count_batches(const online_kernel *w, bool shared_alone) {
    unsigned dims[TILE_MAX_RANK], count = batch_dims(w, dims);
    const tile_expr *product = number(w, 1);
    for (unsigned i = count; i-- > 0;)
        if (!shared_alone || shares_columns(w, dims[i]))
            product = tile_expr_multiply(w->k.s->context, product, extent_of(w, dims[i]));
    return product;
}

static bool names_tile(const tile_expr *expr) {
    return expr && (expr->kind == TILE_EXPR_BLOCK_ID || names_tile(expr->args[0]) ||
                    names_tile(expr->args[1]) || names_tile(expr->args[2]));
}

static const tile_expr *both(const online_kernel *w, const tile_expr *a, const tile_expr *b) {
    int64_t known;
    if (tile_expr_is_int(a, &known)) return known ? b : a;
    if (tile_expr_is_int(b, &known)) return known ? a : b;
    return make(w, TILE_OP_and, a, b);
}

/* The condition under which the expression is equal for all tiles, whichever branch its selects
 * take: not 0. */
static const tile_expr *when_same(const online_kernel *w, const tile_expr *expr) {
    const tile_expr *same = number(w, 1);
    int64_t a, b;
    if (!names_tile(expr)) return same;
    if (expr->kind == TILE_EXPR_BLOCK_ID) return number(w, 0);
    if (expr->opcode != TILE_OP_select) {
        for (unsigned i = 0; i < 3 && expr->args[i]; i++)
            same = both(w, same, when_same(w, expr->args[i]));
        return same;
    }
    const tile_expr *first = when_same(w, expr->args[1]), *second = when_same(w, expr->args[2]);
    same = when_same(w, expr->args[0]);
    if (first == second) return both(w, same, first);
    if (tile_expr_is_int(first, &a) && tile_expr_is_int(second, &b))
        first = b ? make(w, TILE_OP_eq, expr->args[0], number(w, 0)) : expr->args[0];
    else
        first = tile_expr_op(w->k.s->context, TILE_OP_select, expr->args[0], first, second);
    return both(w, same, first);
}

/* The grid ------------------------------------------------------------------------------------- */

/* cost: of a tile. Compares the product of a step's rows, columns and depth with LARGE_TILE. */
static void set_persistent(online_kernel *w, const tile_expr *cost) {
    int64_t deep = w->deep->integer, wide = w->wide->integer;
    int64_t most = deep > wide ? deep : wide;
    if (!online_uses_tensor_cores(w)) return;
    tile_function_set_persistent(w->k.f, true, cost);
    tile_function_set_persistent_if(
        w->k.f, make(w, TILE_OP_ge, tile_expr_multiply(w->k.s->context, w->rows, w->columns),
                     number(w, (LARGE_TILE + most - 1) / most)));
}

static const tile_expr *count_tiles(const online_kernel *w) {
    return make(w, TILE_OP_ceildiv, extent_of(w, w->o->m), w->rows);
}

static void start_rows(online_kernel *w, tile_value tile) {
    w->k.start[w->o->m] = tile_build_mul(&w->k.b, tile, sched_number(&w->k, w->rows));
}

/* Splits a linear batch index into the coordinates of the dims; the last dim gets the rest. */
static void start_batches(online_kernel *w, const unsigned *dims, unsigned count, tile_value left) {
    sched_kernel *k = &w->k;
    for (unsigned i = 0; i < count; i++) {
        k->start[dims[i]] = left;
        if (i + 1 == count) break;
        tile_value extent = sched_number(k, extent_of(w, dims[i]));
        extent = tile_build_max(&k->b, extent, tile_build_int(&k->b, 1));
        k->start[dims[i]] = tile_build_rem(&k->b, left, extent);
        left = tile_build_div(&k->b, left, extent);
    }
}

/* x: the row tile, and the part of the columns; y: the fastest batch dim; z: the others. */
static void set_plain(online_kernel *w, const unsigned *dims, unsigned count) {
    sched_kernel *k = &w->k;
    const tile_expr *rest = number(w, 1);
    for (unsigned i = 1; i < count; i++)
        rest = tile_expr_multiply(k->s->context, extent_of(w, dims[i]), rest);
    const tile_expr *grid[] = {count_tiles(w), count ? extent_of(w, dims[0]) : number(w, 1), rest};
    const tile_expr *own[] = {grid[0], grid[1], grid[2]};
    if (w->split) own[0] = tile_expr_multiply(k->s->context, w->split, grid[0]);
    tile_function_set_grid(k->f, count > 1 ? 3 : count ? 2 : 1, own);
    tile_value x = tile_build_block_id(&k->b), y = {x.id + 1}, z = {x.id + 2};
    if (count) k->start[dims[0]] = y;
    if (count > 1) start_batches(w, dims + 1, count - 1, z);
    start_rows(w, online_locate_part(w, x, y, z, grid));
}

/* The index of the row tile, reversed if loops of later rows are longer. */
static tile_value order_rows(online_kernel *w, tile_value tile) {
    tile_builder *to = &w->k.b;
    if (!sched_bound_grows_with_row(&w->k, w->o)) return tile;
    tile_value last =
        tile_build_sub(to, sched_number(&w->k, count_tiles(w)), tile_build_int(to, 1));
    return tile_build_max(to, tile_build_sub(to, last, tile), tile_build_int(to, 0));
}

/* x: batches of a set; y: the row tile; z: sets. The last set may have indices after the last
 * batch; these have no rows. */
static void set_ordered(online_kernel *w, const unsigned *dims, unsigned count) {
    sched_kernel *k = &w->k;
    tile_builder *to = &k->b;
    const tile_expr *batches = count_batches(w, false);
    const tile_expr *grid[] = {batches, count_tiles(w), number(w, 1)};
    tile_value x = tile_build_block_id(to), near = tile_build_grid_dim(to), all;
    tile_function_set_grid(k->f, count ? 3 : 1, count ? grid : grid + 1);
    if (!count) {
        start_rows(w, order_rows(w, x));
        return;
    }
    tile_value batch = tile_build_add(to, tile_build_mul(to, (tile_value){x.id + 2}, near), x);
    all = sched_number(k, batches);
    w->inside = tile_build_lt(to, batch, all);
    tile_value row = order_rows(w, (tile_value){x.id + 1});
    start_rows(w, tile_build_select(to, w->inside, row, (tile_value){near.id + 1}));
    batch = tile_build_min(to, batch, tile_build_sub(to, all, tile_build_int(to, 1)));
    start_batches(w, dims, count, tile_build_max(to, batch, tile_build_int(to, 0)));
}

void online_set_grid(online_kernel *w) {
    unsigned dims[TILE_MAX_RANK], count = batch_dims(w, dims);
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) w->k.start[d] = tile_build_int(&w->k.b, 0);
    w->ordered = !w->split && sched_bounds_vary(w->k.s, w->o);
    if (w->ordered)
        set_ordered(w, dims, count);
    else
        set_plain(w, dims, count);
}

/* Computes the number of batches per set: see the head comment. */
static void set_sets(online_kernel *w, const tile_expr *same) {
    const tile_expr *batches = count_batches(w, false);
    const tile_expr *columns = at_least_one(w, sched_expr(w->k.s, w->o->extent));
    const tile_expr *fit = number(w, CACHE / bytes_of_column(w));
    fit = at_least_one(w, make(w, TILE_OP_div, fit, columns));
    fit = tile_expr_multiply(w->k.s->context, fit, at_least_one(w, count_batches(w, true)));
    const tile_expr *one =
        at_least_one(w, make(w, TILE_OP_ceildiv, batches, number(w, MAX_GRID_Z)));
    const tile_expr *most = tile_expr_op(w->k.s->context, TILE_OP_select, same, one, fit);
    const tile_expr *sets = make(w, TILE_OP_ceildiv, batches, most);
    const tile_expr *grid[] = {make(w, TILE_OP_ceildiv, batches, at_least_one(w, sets)),
                               count_tiles(w), sets};
    tile_function_set_grid(w->k.f, 3, grid);
}

/* Simplifies the expression under the assumption that the condition holds. */
static const tile_expr *given(const online_kernel *w, const tile_expr *expr,
                              const tile_expr *holds) {
    if (!expr || expr->kind != TILE_EXPR_OP) return expr;
    if (expr->opcode == TILE_OP_select && expr->args[0] == holds)
        return given(w, expr->args[1], holds);
    return tile_expr_op(w->k.s->context, expr->opcode, given(w, expr->args[0], holds),
                        given(w, expr->args[1], holds), given(w, expr->args[2], holds));
}

/* The length of the loop, as an expression of the launch. */
static const tile_expr *length_of(const online_kernel *w, tile_value begin, tile_value end) {
    const tile_expr *first = tile_value_as_cost(w->k.f, begin);
    const tile_expr *last = tile_value_as_cost(w->k.f, end);
    if (!first || !last) return NULL;
    bool whole = first->kind == TILE_EXPR_INT && !first->integer;
    const tile_expr *length = whole ? last : make(w, TILE_OP_sub, last, first);
    if (!w->inside.id) return length;
    const tile_expr *inside = tile_value_as_cost(w->k.f, w->inside);
    length = given(w, length, inside);
    return tile_expr_op(w->k.s->context, TILE_OP_select, inside, length, number(w, 0));
}

/* If the launch cannot compute the bounds, the device distributes the tiles. */
tile_value online_set_order(online_kernel *w, tile_value begin, tile_value end) {
    if (w->split) return end;
    if (w->inside.id) {
        const tile_expr *first = tile_value_as_cost(w->k.f, begin);
        const tile_expr *last = tile_value_as_cost(w->k.f, end);
        bool known = first && last;
        set_sets(w, known ? both(w, when_same(w, first), when_same(w, last)) : number(w, 0));
    }
    const tile_expr *length = length_of(w, begin, end);
    if (length)
        set_persistent(w, names_tile(length) ? make(w, TILE_OP_add, length, w->columns) : NULL);
    return w->inside.id ? tile_build_select(&w->k.b, w->inside, end, begin) : end;
}
