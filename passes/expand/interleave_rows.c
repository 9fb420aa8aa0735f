/* interleave-rows: gives each block rows of the large operand that begin at the same offset.
 *
 * A product with few rows reads one large operand once, and reading it takes all the time. The rows
 * of an operand with 1001 halves each begin at eight different offsets modulo 16 bytes, so that
 * whole chunks of 16 bytes contain other terms of each row, and warps have to shift each row by its
 * own offset. Rows that are eight apart begin at the same offset. If a block has such rows, all of
 * them have the same terms in whole chunks, and only the few rows of the other operand are shifted.
 * Memory transfers segments of 64 bytes, so rows are chosen that begin at the same offset in these:
 * no segment is read by two blocks, or in two iterations.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * target: sm_90a
 * pipeline: instantiate,interleave-rows,canonicalize,cse,dce
 * before:
 *   kernel @rows(%a: view<f16[16, 2049]>, %b: view<f16[2049, 4096], strides [1, 2049]>,
 *                %c: view<f32[16, 4096]>)
 *       grid [64]
 *       warps 4
 *   {
 *     %y, %z, %w = block_id : i32
 *     %j = mul %y, 64 : i32
 *     %sa = alloc_shared : shared<f16[16, 64]>
 *     %sb = alloc_shared : shared<f16[64, 64]>
 *     %zero = splat 0.0 : tile<f32[16, 64]>
 *     %acc = for %i = 0 to 2049 step 64 iter (%sum = %zero) pipelined (4) {
 *       copy %a[0, %i], %sa
 *       copy %b[%i, %j], %sb
 *       %part = dot %sa, %sb, %sum : tile<f32[16, 64]>
 *       yield %part
 *     }
 *     store %acc, %c[0, %j]
 *   }
 *
 * after:
 *   kernel @rows(%a: view<f16[16, 2049]> {divisible = 16},
 *                %b: view<f16[2049, 4096], strides [1, 2049]> {divisible = 16},
 *                %c: view<f32[16, 4096]> {divisible = 16})
 *       grid [64]
 *       warps 4
 *   {
 *     %y, %z, %w = block_id : i32
 *     %0 = rem %y, 32 : i32
 *     %1 = div %y, 32 : i32
 *     %2 = mul %1, 64 : i32
 *     %sa = alloc_shared : shared<f16[16, 64]>
 *     %sb = alloc_shared : shared<f16[64, 64]>
 *     %zero = splat 0.0 : tile<f32[16, 64]>
 *     %3 = base %b : ptr<f16>
 *     %4 = misalignment %3 : i32
 *     %5 = div %4, 2 : i32
 *     %6 = mul %0, 2049 : i32
 *     %7 = add %5, %6 : i32
 *     %8 = sub 0, %7 : i32
 *     %9 = and %8, 31 : i32
 *     %10 = sub 2049, %9 : i32
 *     %11 = div %10, 8 : i32
 *     %12 = mul %11, 8 : i32
 *     %13 = base %a : ptr<f16>
 *     %14 = view %13, [32, 16, %12], [1, 2049, 1] : view<f16[32, 16, ?], strides [1, 2049, 1]>
 *     %15 = view %3, [32, 32, %12, 128], [1, 2049, 1, i64(65568)]
 *         {row_divisor = 8} : view<f16[32, 32, ?, ?], strides [1, 2049, 1, 65568]>
 *     %acc = for %i = 0 to 2049 step 64 iter (%sum = %zero) pipelined (4) {
 *       copy %14[%9, 0, %i], %sa
 *       copy %15[%9, %0, %i, %2], %sb {cache = evict_first}
 *       %part = dot %sa, %sb, %sum {via = mma} : tile<f32[16, 64]>
 *       yield %part
 *     }
 *     %16 = view %13, [16, %9], [2049, 1] : view<f16[16, ?], strides [2049, 1]>
 *     %17 = load %16[0, 0] : tile<f16[16, 32]>
 *     %18 = view %3, [32, %9, 128], [2049, 1, i64(65568)]
 *         : view<f16[32, ?, ?], strides [2049, 1, 65568]>
 *     %19 = load %18[%0, 0, %2] : tile<f16[32, 64]>
 *     %20 = dot %17, %19, %acc : tile<f32[16, 64]>
 *     %21 = add %9, %12 : i32
 *     %22 = view %13, [16, 2049], [2049, 1] : view<f16[16, 2049], strides [2049, 1]>
 *     %23 = load %22[0, %21] : tile<f16[16, 16]>
 *     %24 = view %3, [32, 2049, 128], [2049, 1, i64(65568)]
 *         : view<f16[32, 2049, ?], strides [2049, 1, 65568]>
 *     %25 = load %24[%0, %21, %2] : tile<f16[16, 64]>
 *     %26 = dot %23, %25, %20 : tile<f32[16, 64]>
 *     %27 = base %c : ptr<f32>
 *     %28 = view %27, [32, 16, 128], [1, 4096, 32]
 *         : view<f32[32, 16, ?], strides [1, 4096, 32]>
 *     store %26, %28[%0, 0, %2]
 *   }
 *
 * How. With `period` rows from one offset to its next occurrence, block y has the rows r, r +
 * period, .. of the array, where r = y mod period: views with a first dim for r and a longer stride
 * replace the views of all accesses to the tile's rows. `head` terms precede the first segment,
 * less than one. The loop reads whole chunks after them. Two small products add the head, and the
 * tail after the last whole chunk, when it has ended. The grid has blocks for whole tiles of each
 * r.
 *
 * It applies to arrays of known extents with many rows, so that few tiles are partly empty.
 *
 * Phases: 1. find the product (interleave_find.c); 2. coordinates; 3. accesses to the tile's rows;
 * 4. the loop; 5. head and tail; 6. the grid. */
#include "lib/analysis/product.h"
#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"
#include "lib/layout/mma.h"
#include "lib/support/integer.h"
#include "lib/ops/gather.h"
#include "passes/common/host_value.h"
#include "passes/expand/prepare.h"
#include "passes/expand/interleave_rows.h"

typedef struct interleaving {
    tile_pass *pass;
    tile_function *f;
    interleave_plan plan;
    tile_value remainder; /* r: the tile's first row in memory */
    tile_value first_row; /* of the tile, among the rows r, r + period, .. */
    tile_value head;      /* terms before the first segment */
    tile_value whole;     /* terms in whole chunks after it */
} interleaving;

/* Numbers -------------------------------------------------------------------------------------- */

static tile_value wide(tile_builder *b, tile_value value) {
    return host_value_cast(b, value, TILE_i64);
}

static tile_value multiply(tile_builder *b, tile_value x, tile_value y) {
    tile_context *context = tile_function_context(b->function);
    int64_t left, right;
    if (tile_value_is(b->function, x, 1)) return y;
    if (tile_value_is(b->function, y, 1)) return x;
    if (tile_value_is_int(b->function, x, &left) && tile_value_is_int(b->function, y, &right) &&
        left >= 0 && right >= 0 && left < INT32_MAX && right < INT32_MAX)
        return tile_build_constant(b, tile_type_scalar(context, TILE_i64),
                                   tile_expr_int(context, left * right));
    return tile_build_mul(b, wide(b, x), wide(b, y));
}

static tile_value extent_of(tile_builder *b, tile_value view, unsigned d) {
    tile_function *f = b->function;
    const tile_value_data *data = tile_value_at(f, view);
    if (data->kind != TILE_VALUE_ARG)
        return tile_operands_extents(f, tile_value_def(f, view)).at[d];
    return host_value_cast(b, host_value(b, tile_function_arg_extent(f, data->index, d)), TILE_i32);
}

/* In elements; without strides the product of the later extents. */
static tile_value stride_of(tile_builder *b, tile_value view, unsigned d) {
    tile_function *f = b->function;
    const tile_value_data *data = tile_value_at(f, view);
    const tile_type *type = tile_value_type(f, view);
    if (type->has_strides && data->kind == TILE_VALUE_ARG)
        return host_value(b, tile_function_arg_stride(f, data->index, d));
    if (type->has_strides) return tile_operands_strides(f, tile_value_def(f, view)).at[d];
    tile_value stride = tile_build_int(b, 1);
    for (unsigned i = d + 1; i < type->rank; i++)
        stride = multiply(b, stride, extent_of(b, view, i));
    return stride;
}

/* Views ---------------------------------------------------------------------------------------- */

/* A view of the same memory while its dims change. */
typedef struct dims {
    tile_value extents[TILE_MAX_RANK], strides[TILE_MAX_RANK], index[TILE_MAX_RANK];
    unsigned rank;
} dims;

static dims dims_of(tile_builder *b, tile_value view, const tile_value *index) {
    dims all = {.rank = tile_value_type(b->function, view)->rank};
    for (unsigned d = 0; d < all.rank; d++) {
        all.extents[d] = extent_of(b, view, d);
        all.strides[d] = stride_of(b, view, d);
        all.index[d] = index[d];
    }
    return all;
}

/* Adds a first dim, along which the tile does not extend. */
static void add_dim(dims *all, tile_value extent, tile_value stride, tile_value index) {
    for (unsigned d = all->rank++; d > 0; d--) {
        all->extents[d] = all->extents[d - 1];
        all->strides[d] = all->strides[d - 1];
        all->index[d] = all->index[d - 1];
    }
    all->extents[0] = extent, all->strides[0] = stride, all->index[0] = index;
}

/* Along dim d, the rows r, r + period, .. */
static void interleave(const interleaving *s, tile_builder *b, dims *all, unsigned d) {
    const tile_value period = tile_build_int(b, s->plan.period), stride = all->strides[d];
    tile_value rest = tile_build_sub(b, tile_build_int(b, s->plan.period - 1), s->remainder);
    all->extents[d] = tile_build_div(b, tile_build_add(b, all->extents[d], rest), period);
    all->strides[d] = multiply(b, stride, period);
    all->index[d] = s->first_row;
    add_dim(all, period, stride, s->remainder);
}

/* element: the view, then its coordinates. */
static void build_view(tile_builder *b, tile_value view, const dims *all, tile_value *element) {
    tile_value base = tile_build_base(b, view);
    element[0] = tile_build_view(b, base, all->extents, all->rank, all->strides, all->rank, NULL);
    for (unsigned d = 0; d < all->rank; d++) element[1 + d] = all->index[d];
}

/* 2. Coordinates ------------------------------------------------------------------------------- */

/* Moves the operation that computes the value before the loop. */
static void hoist(const interleaving *s, tile_value value) {
    tile_op op = tile_value_def(s->f, value);
    if (!op.id || tile_op_parent(s->f, op).id != s->plan.loop.id) return;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
        hoist(s, tile_op_operand(s->f, op, i));
    tile_move_op(s->f, op, s->f->body, s->plan.loop);
}

static void find_rows(interleaving *s) {
    tile_function *f = s->f;
    tile_builder b = tile_builder_before(f, tile_op_next(f, s->plan.block_id));
    tile_value block = tile_op_result(f, s->plan.block_id, s->plan.grid_dim);
    tile_value period = tile_build_int(&b, s->plan.period);
    s->remainder = tile_build_rem(&b, block, period);
    tile_value tile = tile_build_div(&b, block, period);
    s->first_row = tile_build_mul(&b, tile, tile_build_int(&b, s->plan.tile));
}

/* Terms up to the next multiple of 16 bytes after the start of row r. */
static void find_head(interleaving *s) {
    const interleave_operand *o = &s->plan.sides[s->plan.large];
    tile_function *f = s->f;
    tile_builder b = tile_builder_before(f, s->plan.loop);
    const int64_t bytes = tile_scalar_bytes(tile_value_type(f, o->view)->scalar);
    tile_value start = tile_build_div(&b, tile_build_misalignment(&b, tile_build_base(&b, o->view)),
                                      tile_build_int(&b, bytes));
    for (unsigned d = 0; d < o->rank; d++) {
        if (d == o->k) continue;
        tile_value index = d == o->rows ? s->remainder : o->index[d];
        tile_value stride = host_value_cast(&b, stride_of(&b, o->view, d), TILE_i32);
        start = tile_build_add(&b, start,
                               tile_build_mul(&b, host_value_cast(&b, index, TILE_i32), stride));
    }
    start = tile_build_sub(&b, tile_build_int(&b, 0), start);
    s->head = tile_build_and(&b, start, tile_build_int(&b, s->plan.segment - 1));
}

/* 3. Accesses ---------------------------------------------------------------------------------- */

static void visit_access(const interleaving *s, tile_op op) {
    tile_function *f = s->f;
    tile_gather g;
    tile_value element[TILE_MAX_RANK + 1];
    if (!tile_gather_of(f, op, &g) || tile_value_type(f, g.memory)->kind != TILE_TYPE_VIEW) return;
    for (unsigned d = 0; d < tile_value_type(f, g.memory)->rank; d++) {
        if (!interleave_is_first_row(f, &s->plan, g.index[d])) continue;
        tile_builder b = tile_builder_before(f, op);
        dims all = dims_of(&b, g.memory, g.index);
        interleave(s, &b, &all, d);
        build_view(&b, g.memory, &all, element);
        prepare_set_element(f, op, g.operand, element, all.rank + 1);
        return;
    }
}

/* 4. The loop ---------------------------------------------------------------------------------- */

/* Which terms of a row: whole chunks after the head, or the head, or the tail after the chunks. */
typedef enum terms { CHUNKS, HEAD, TAIL } terms;

static void build_terms(const interleaving *s, tile_builder *b, const interleave_operand *o,
                        terms part, tile_value *element, unsigned *rank) {
    const bool is_large = o == &s->plan.sides[s->plan.large];
    dims all = dims_of(b, o->view, o->index);
    tile_value own = all.strides[o->k], zero = tile_build_int(b, 0);
    if (part == HEAD) all.extents[o->k] = tile_build_min(b, all.extents[o->k], s->head);
    if (part == CHUNKS) all.extents[o->k] = s->whole;
    if (part == HEAD) all.index[o->k] = zero;
    if (part == TAIL) all.index[o->k] = tile_build_add(b, s->head, s->whole);
    if (is_large) interleave(s, b, &all, o->rows);
    if (part == CHUNKS) add_dim(&all, tile_build_int(b, s->plan.segment), own, s->head);
    build_view(b, o->view, &all, element);
    if (part == CHUNKS && is_large)
        tile_op_set_int(s->f, tile_value_def(s->f, element[0]), TILE_ATTR_row_divisor,
                        s->plan.chunk);
    *rank = all.rank;
}

/* Terms in whole chunks after the head. */
static void find_whole(interleaving *s) {
    const interleave_operand *o = &s->plan.sides[s->plan.large];
    tile_builder b = tile_builder_before(s->f, s->plan.loop);
    tile_value chunk = tile_build_int(&b, s->plan.chunk);
    tile_value rest = tile_build_sub(&b, extent_of(&b, o->view, o->k), s->head);
    rest = tile_build_max(&b, rest, tile_build_int(&b, 0));
    s->whole = tile_build_mul(&b, tile_build_div(&b, rest, chunk), chunk);
}

static void rewrite_copy(const interleaving *s, const interleave_operand *o) {
    tile_value element[TILE_MAX_RANK + 1];
    unsigned rank;
    tile_builder b = tile_builder_before(s->f, s->plan.loop);
    build_terms(s, &b, o, CHUNKS, element, &rank);
    prepare_set_element(s->f, o->copy, tile_place_of(TILE_OP_copy, TILE_OPERAND_src), element,
                        rank + 1);
}

/* A block reads whole segments of memory, which no other block reads unless the grid has blocks for
 * other rows of the few. */
static void add_hint(const interleaving *s) {
    enum { FEW = 4 };
    tile_context *context = tile_function_context(s->f);
    const interleave_operand *o = &s->plan.sides[s->plan.large];
    const tile_expr *few = NULL;
    if (tile_op_has_attr(s->f, o->copy, TILE_ATTR_cache)) return;
    for (unsigned d = 0; d < s->f->grid_rank; d++) {
        const tile_value block = tile_op_result(s->f, s->plan.block_id, d);
        bool own_batch = d == s->plan.grid_dim || tile_expr_is(s->f->grid[d], 1);
        for (unsigned i = 0; i < o->rank; i++) own_batch |= o->index[i].id == block.id;
        if (own_batch) continue;
        const tile_expr *own =
            tile_expr_op(context, TILE_OP_le, s->f->grid[d], tile_expr_int(context, FEW), NULL);
        few = few ? tile_expr_op(context, TILE_OP_and, few, own, NULL) : own;
    }
    tile_op_set_text(s->f, o->copy, TILE_ATTR_cache, "evict_first");
    if (few) tile_op_set_expr(s->f, o->copy, TILE_ATTR_cache_if, few);
}

/* 5. Head and tail ----------------------------------------------------------------------------- */

static tile_value load_terms(const interleaving *s, tile_builder *b, unsigned number, terms part,
                             int64_t depth) {
    const interleave_operand *o = &s->plan.sides[number];
    tile_value element[TILE_MAX_RANK + 1];
    unsigned rank;
    tile_type draft = *tile_value_type(s->f, o->buffer);
    build_terms(s, b, o, part, element, &rank);
    draft.kind = TILE_TYPE_TILE;
    draft.dims[tile_product_k_dim(s->f, s->plan.dot, number)] =
        tile_expr_int(tile_function_context(s->f), depth);
    return tile_build_load(b, element[0], element + 1, rank, TILE_NO_VALUE,
                           tile_type_get(tile_function_context(s->f), &draft));
}

/* The sums with these terms. */
static tile_value add_terms(const interleaving *s, tile_builder *b, terms part, tile_value sums) {
    static const tile_attr_id kept[] = {TILE_ATTR_unsigned_lhs, TILE_ATTR_unsigned_rhs,
                                        TILE_ATTR_fast, TILE_ATTR_policy, TILE_ATTR_precision};
    tile_function *f = s->f;
    const int64_t depth = tile_round_up(part == HEAD ? s->plan.segment : s->plan.chunk,
                                        tile_product_mma(f, s->plan.dot, s->pass->target)->k);
    tile_value lhs = load_terms(s, b, TILE_MMA_LHS, part, depth);
    tile_value rhs = load_terms(s, b, TILE_MMA_RHS, part, depth);
    tile_value all = tile_build_dot(b, lhs, NULL, 0, rhs, NULL, 0, sums);
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        tile_op_take_attr(f, tile_value_def(f, all), f, s->plan.dot, kept[i]);
    return all;
}

static void add_ends(const interleaving *s) {
    tile_function *f = s->f;
    tile_builder b = tile_builder_before(f, tile_op_next(f, s->plan.loop));
    tile_value sums = tile_op_result(f, s->plan.loop, 0), with_head, all;
    with_head = add_terms(s, &b, HEAD, sums);
    all = add_terms(s, &b, TAIL, with_head);
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, f->value_count);
    map[sums.id] = all;
    tile_replace_values(f, f->body, map);
    tile_set_operand(f, tile_value_def(f, with_head), TILE_OPERAND_acc, sums);
}

/* 6. The grid ---------------------------------------------------------------------------------- */

static void resize_grid(const interleaving *s) {
    tile_context *context = tile_function_context(s->f);
    const tile_expr **extent = &s->f->grid[s->plan.grid_dim];
    const tile_expr *period = tile_expr_int(context, s->plan.period),
                    *tile = tile_expr_int(context, s->plan.tile);
    const interleave_operand *o = &s->plan.sides[s->plan.large];
    const tile_expr *rows = interleave_extent(s->f, o->view, o->rows);
    rows = tile_expr_op(context, TILE_OP_ceildiv, rows, period, NULL);
    *extent = tile_expr_op(context, TILE_OP_mul, period,
                           tile_expr_op(context, TILE_OP_ceildiv, rows, tile, NULL), NULL);
}

tile_status tile_pass_interleave_rows(tile_pass *pass, tile_function *f) {
    interleaving s = {.pass = pass, .f = f};
    if (!interleave_find(pass, f, &s.plan)) return TILE_OK;
    const interleave_plan *plan = &s.plan;
    resize_grid(&s);
    for (unsigned i = 0; i < 2; i++) {
        const tile_op view = tile_value_def(f, plan->sides[i].view);
        if (view.id) hoist(&s, plan->sides[i].view);
        for (unsigned d = 0; d < plan->sides[i].rank; d++)
            if (d != plan->sides[i].k) hoist(&s, plan->sides[i].index[d]);
    }
    find_rows(&s);
    find_head(&s);
    find_whole(&s);
    add_ends(&s);
    for (unsigned i = 0; i < 2; i++) rewrite_copy(&s, &plan->sides[i]);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_access(&s, op);
    add_hint(&s);
    tile_op_set_text(f, plan->dot, TILE_ATTR_via, "mma");
    tile_pass_count(pass, "products with interleaved rows", 1);
    return TILE_OK;
}
