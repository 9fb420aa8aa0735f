/* Row reductions of products whose rows are longer than a tile, and of arrays of few long rows, in
 * parts.
 *
 * If only sums, maxima and the like of a product's rows are needed, the product's result need not
 * be written. Each tile reduces groups of its columns (absorb.c), and a second kernel combines the
 * groups of a row. The compute is rewritten, on a copy, before it is cut:
 *
 *     reduce_add(%x, axis = last)              reduce_add(reduce_add(reshape(%x) : [m, n / w, w]))
 *
 * Each group of w = 64 columns becomes one number of f32: 1/32 of the bytes of a result in f16,
 * which is written and read as well. Two sums that depend on other reductions of the same rows have
 * a form in parts, too. In both, %t is one number per row, and p, q are of a group:
 *
 *     reduce_add(exp(%x - %t))     p = max of the group, limited to finite numbers,
 *                                  q = reduce_add(exp(%x - p)): the sum of q * exp(p - %t)
 *     reduce_add((%x - %t)^2)      p = mean of the group, q = reduce_add((%x - p)^2):
 *                                  the sum of q + w * (p - %t)^2
 *
 * The first one needs no maximum of the whole row before the group's elements are gone. If %t is
 * the maximum, all factors exp(p - %t) are at most 1, up to rounding. The second one adds
 * non-negative terms, so nothing cancels, as in a variance that is computed as E[x^2] - E[x]^2: its
 * relative error is that of a sum of w + n / w terms, plus the rounding of %x - p, which is less
 * than that of %x - %t where the group's mean is closer to its elements.
 *
 * An array of few long rows is reduced by many blocks. A sum that depends on another reduction of
 * its rows would read the array again. In parts of a few thousand elements one kernel reads it once
 * for all of them. (Layer norm of 16 x 4194304 f32: the array is read twice, not three times.) */
#include "passes/schedule/cut/online.h"

#include <float.h>

#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"

enum { GROUP = 64, SMALLEST_GROUP = 16, DEEP = 256 /* online loops compute up to so many terms */ };

/* What is known of the values that depend on the result of a product, or on an array. */
typedef struct row_uses {
    schedule *s;
    tile_value root;
    bool is_array;
    int64_t width;         /* elements of a group */
    const tile_type *type; /* of the root */
    bool *is_long;         /* by value: has the root's elements, each computed of the same one */
    bool *is_row;          /* by value: depends on a reduction of the root's rows */
    tile_op *reductions;
    size_t count, capacity;
} row_uses;

/* A sum that depends on other reductions of its row. */
typedef struct late_sum {
    tile_value x, row; /* exp(x - row), or (x - row)^2; row: before it is broadcast */
    tile_opcode exp;   /* exp or exp2; TILE_OP_mul: a square */
    tile_op top;       /* the maximum of x, if the compute has it */
} late_sum;

static tile_op def_of(const schedule *s, tile_value value, tile_opcode opcode) {
    tile_op op = tile_value_def(s->compute, value);
    return op.id && tile_op_opcode(s->compute, op) == opcode ? op : TILE_NO_OP;
}

static bool has_same_dims(const schedule *s, tile_value value, const tile_type *type) {
    const tile_type *own = sched_type(s, value);
    bool same = own->rank == type->rank;
    for (unsigned d = 0; same && d < type->rank; d++) same = own->dims[d] == type->dims[d];
    return same;
}

/* Which reductions ----------------------------------------------------------------------------- */

static bool is_row_reduction(const row_uses *u, tile_op op) {
    const tile_function *f = u->s->compute;
    return tile_op_opcode(f, op) == TILE_OP_reduce && !sched_has_user_tile(u->s, op) &&
           sched_axis(u->s, op) == u->type->rank - 1;
}

/* Follows the root's elements through op. False if something but a row reduction needs those of a
 * product, which would not be stored. */
static bool follow(row_uses *u, tile_op op) {
    const tile_function *f = u->s->compute;
    bool any = false, row = false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        any |= u->is_long[tile_op_operand(f, op, i).id];
        row |= u->is_row[tile_op_operand(f, op, i).id];
    }
    if (any && is_row_reduction(u, op)) {
        u->reductions = tile_arena_grow(u->s->arena, u->reductions, u->count, &u->capacity,
                                        sizeof *u->reductions);
        u->reductions[u->count++] = op;
        u->is_row[tile_op_result(f, op, 0).id] = true;
        return true;
    }
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++) {
        tile_value result = tile_op_result(f, op, i);
        u->is_long[result.id] = any;
        u->is_row[result.id] = row;
        if (any && (!tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_ELEMENTWISE) ||
                    !has_same_dims(u->s, result, u->type))) {
            u->is_long[result.id] = false;
            if (!u->is_array) return false;
        }
    }
    return true;
}

static bool find_uses(row_uses *u) {
    const tile_function *f = u->s->compute;
    tile_op root = tile_value_def(f, u->root);
    u->is_long = TILE_NEW_ARRAY(u->s->arena, bool, f->value_count);
    u->is_row = TILE_NEW_ARRAY(u->s->arena, bool, f->value_count);
    u->is_long[u->root.id] = true;
    tile_op first = root.id ? tile_op_next(f, root) : tile_region_first(f, f->body);
    for (tile_op op = first; op.id; op = tile_op_next(f, op))
        if (!follow(u, op)) return false;
    for (size_t i = 0; i < f->result_count && !u->is_array; i++)
        if (u->is_long[f->results[i].value.id]) return false;
    return u->count;
}

/* Returns whether the value is computed only of the root's elements and of arguments. */
static bool is_of_arguments(const row_uses *u, tile_value value) {
    schedule *s = u->s;
    sched_traversal w = {.s = s};
    sched_domain own = sched_domain_of(s, value);
    sched_map identity = sched_identity(&own);
    sched_traverse_value(&w, value, &identity, true);
    for (size_t i = 0; i < w.stop_count; i++) {
        tile_op op = tile_value_def(s->compute, w.stops[i].value);
        if (op.id && (w.stops[i].value.id != u->root.id || !sched_is_all(s, &w.stops[i], &own)))
            return false;
    }
    return true;
}

/* The number per row that is broadcast to the value; none if it is something else. */
static tile_value row_of(const row_uses *u, tile_value value) {
    tile_value row = sched_strip_broadcasts(u->s, value);
    const tile_type *type = sched_type(u->s, row);
    const unsigned last = u->type->rank - 1u;
    bool is_row = row.id != value.id && type->rank == u->type->rank &&
                  tile_expr_is(sched_dim(u->s, type, last), 1) && !u->is_long[row.id];
    return is_row ? row : TILE_NO_VALUE;
}

/* The first maximum of the rows of x. */
static tile_op maximum_of(const row_uses *u, tile_value x) {
    const tile_function *f = u->s->compute;
    for (size_t i = 0; i < u->count; i++)
        if (tile_operand_src(f, u->reductions[i]).id == x.id &&
            tile_op_word(f, u->reductions[i], TILE_ATTR_kind) == TILE_WORD_kind_max)
            return u->reductions[i];
    return TILE_NO_OP;
}

static bool is_late_sum(const row_uses *u, tile_op op, late_sum *sum) {
    const schedule *s = u->s;
    const tile_function *f = s->compute;
    if (tile_op_word(f, op, TILE_ATTR_kind) != TILE_WORD_kind_add) return false;
    tile_value term = tile_operand_src(f, op);
    tile_op def = tile_value_def(f, term);
    if (sched_element((schedule *)(uintptr_t)s, term)->scalar != TILE_f32 || !def.id) return false;
    sum->exp = tile_op_opcode(f, def);
    bool squares =
        sum->exp == TILE_OP_mul && tile_operand_lhs(f, def).id == tile_operand_rhs(f, def).id;
    if (!squares && sum->exp != TILE_OP_exp && sum->exp != TILE_OP_exp2) return false;
    if (tile_op_at(f, def)->attr_count) return false;
    def = def_of(s, squares ? tile_operand_lhs(f, def) : tile_operand_src(f, def), TILE_OP_sub);
    if (!def.id || tile_op_at(f, def)->attr_count) return false;
    sum->x = tile_operand_lhs(f, def);
    sum->row = row_of(u, tile_operand_rhs(f, def));
    sum->top = maximum_of(u, sum->x);
    return sum->row.id && u->is_long[sum->x.id] && is_of_arguments(u, sum->x);
}

static int64_t group_of(int64_t columns) {
    int64_t width = GROUP;
    while (columns % width) width /= 2;
    return width;
}

/* Returns whether the product's rows are longer than a tile, and its sums than those of an online
 * loop. */
static bool is_large(schedule *s, tile_op op) {
    const tile_type *type = sched_type(s, tile_op_result(s->compute, op, 0));
    tile_value lhs = tile_operand_lhs(s->compute, op);
    const tile_type *from = sched_type(s, lhs);
    bool transposed = tile_op_has_attr(s->compute, op, TILE_ATTR_trans_lhs);
    if (type->rank < 2 || type->rank + 2 > TILE_MAX_RANK) return false;
    int64_t columns = sched_constant(sched_dim(s, type, type->rank - 1u));
    int64_t deep = sched_constant(sched_dim(s, from, from->rank - (transposed ? 2u : 1u)));
    return columns > sched_widest_rows(s, op) && group_of(columns) >= SMALLEST_GROUP &&
           !tile_expr_is(sched_dim(s, type, type->rank - 2u), 1) && (deep < 0 || deep > DEEP) &&
           sched_rows_fit_user_tile(s, op, group_of(columns), true);
}

/* Rewriting ------------------------------------------------------------------------------------ */

typedef struct rewriter {
    schedule *s;
    tile_builder b;
    const tile_type *type; /* of the root */
    int64_t width;
} rewriter;

static const tile_type *shaped(const rewriter *w, tile_value like, bool grouped, bool one) {
    const unsigned last = w->type->rank - 1u;
    int64_t columns = sched_constant(sched_dim(w->s, w->type, last));
    tile_type draft = *sched_type(w->s, like);
    for (unsigned d = 0; d < last; d++) draft.dims[d] = w->type->dims[d];
    draft.rank = (uint8_t)(last + 1 + grouped);
    draft.dims[last] = tile_expr_int(w->s->context, columns / w->width);
    if (grouped) draft.dims[last + 1] = tile_expr_int(w->s->context, one ? 1 : w->width);
    return tile_type_get(w->s->context, &draft);
}

/* The elements in groups, in the type in which sums are computed. */
static tile_value group_elements(rewriter *w, tile_value x) {
    const tile_type *wide = sched_compute_type(w->s, sched_element(w->s, x));
    if (wide != sched_element(w->s, x)) x = tile_build_cast(&w->b, x, wide);
    return tile_build_reshape(&w->b, x, TILE_NO_VALUE, shaped(w, x, true, false));
}

static tile_value reduce_by(rewriter *w, tile_value value, tile_op like) {
    const unsigned axis = sched_type(w->s, value)->rank - 1u;
    tile_function *f = w->s->compute;
    tile_value out = sched_reduce(w->s, &w->b, value, axis,
                                  tile_attr_word_text(tile_op_word(f, like, TILE_ATTR_kind)));
    if (tile_op_has_attr(f, like, TILE_ATTR_nan))
        tile_op_set_flag(f, tile_value_def(f, out), TILE_ATTR_nan);
    return out;
}

/* One number per group, as a row of the second kernel. */
static tile_value as_row(rewriter *w, tile_value groups) {
    return tile_build_reshape(&w->b, groups, TILE_NO_VALUE, shaped(w, groups, false, false));
}

static tile_value number(rewriter *w, double value, tile_value like) {
    const tile_type *type = sched_type(w->s, like);
    return tile_build_splat(&w->b,
                            tile_build_constant(&w->b, sched_element(w->s, like),
                                                tile_expr_float(w->s->context, value)),
                            type);
}

static tile_value repeat(rewriter *w, tile_value value, tile_value like) {
    return tile_build_broadcast(&w->b, value, sched_type(w->s, like));
}

/* Without infinities, whose differences would be NaN. */
static tile_value limit(rewriter *w, tile_value value) {
    tile_value below = tile_build_min(&w->b, value, number(w, (double)FLT_MAX, value));
    return tile_build_max(&w->b, below, number(w, -(double)FLT_MAX, value));
}

static tile_value sum_exponentials(rewriter *w, const late_sum *sum) {
    tile_builder *b = &w->b;
    tile_value x = group_elements(w, sum->x);
    const unsigned axis = sched_type(w->s, x)->rank - 1u;
    tile_value top =
        sum->top.id ? reduce_by(w, x, sum->top) : sched_reduce(w->s, b, x, axis, "max");
    tile_value p = limit(w, top);
    bool two = sum->exp == TILE_OP_exp2;
    tile_value e = tile_build_sub(b, x, repeat(w, p, x));
    e = two ? tile_build_exp2(b, e) : tile_build_exp(b, e);
    tile_value q = sched_reduce(w->s, b, e, axis, "add");
    /* The maximum is stored, because that of the row needs it as well. */
    p = limit(w, as_row(w, top));
    q = as_row(w, q);
    tile_value by = tile_build_sub(b, p, repeat(w, sum->row, p));
    return tile_build_mul(b, q, two ? tile_build_exp2(b, by) : tile_build_exp(b, by));
}

static tile_value sum_squares(rewriter *w, const late_sum *sum) {
    tile_builder *b = &w->b;
    tile_value x = group_elements(w, sum->x);
    const unsigned axis = sched_type(w->s, x)->rank - 1u;
    tile_value sum_p = sched_reduce(w->s, b, x, axis, "add");
    tile_value p = tile_build_mul(b, sum_p, number(w, 1.0 / (double)w->width, sum_p));
    tile_value d = tile_build_sub(b, x, repeat(w, p, x));
    tile_value q = sched_reduce(w->s, b, tile_build_mul(b, d, d), axis, "add");
    /* The sum is stored, because the mean of the row needs it as well. */
    p = as_row(w, sum_p);
    p = tile_build_mul(b, p, number(w, 1.0 / (double)w->width, p));
    q = as_row(w, q);
    tile_value far = tile_build_sub(b, p, repeat(w, sum->row, p));
    far = tile_build_mul(b, tile_build_mul(b, far, far), number(w, (double)w->width, far));
    return tile_build_add(b, q, far);
}

static tile_builder before(schedule *s, tile_op op) {
    tile_builder b = tile_builder_before(s->compute, op);
    b.loc = tile_op_loc(s->compute, op);
    return b;
}

static void reduce_in_parts(const row_uses *u, tile_op op, const late_sum *sum) {
    schedule *s = u->s;
    tile_function *f = s->compute;
    rewriter w = {.s = s, .b = before(s, op), .type = u->type, .width = u->width};
    tile_value parts;
    if (!sum->x.id)
        parts = as_row(&w, reduce_by(&w, group_elements(&w, tile_operand_src(f, op)), op));
    else if (sum->exp == TILE_OP_mul)
        parts = sum_squares(&w, sum);
    else
        parts = sum_exponentials(&w, sum);
    tile_value all = reduce_by(&w, parts, op);
    const tile_type *declared = sched_element(s, tile_op_result(f, op, 0));
    if (sched_element(s, all) != declared) all = tile_build_cast(&w.b, all, declared);
    sched_replace(s, op, all);
    sched_mark_expanded(s);
    s->repeats = NULL;
}

/* Products and arrays -------------------------------------------------------------------------- */

/* The elements of a group of few rows: a block holds one in its registers, and there are enough
 * blocks for all multiprocessors, if possible. 0: no number of elements divides the row. */
static int64_t part_of_rows(schedule *s, const tile_type *type) {
    enum { MOST = 8192, LEAST = 1024, STEP = 8, BLOCKS = 512 };
    const unsigned last = type->rank - 1u;
    int64_t rows = 1, columns = sched_constant(sched_dim(s, type, last)), found = 0;
    for (unsigned d = 0; d < last; d++) rows *= sched_constant(sched_dim(s, type, d));
    for (int64_t width = MOST; width >= LEAST; width -= STEP) {
        if (columns % width) continue;
        found = width;
        if (rows * (columns / width) >= BLOCKS) break;
    }
    return found;
}

/* Returns whether all blocks reduce each row of the array. */
static bool is_few_rows(schedule *s, tile_value root) {
    const tile_type *type = sched_type(s, root);
    tile_op op = tile_value_def(s->compute, root);
    while (op.id && tile_op_opcode(s->compute, op) == TILE_OP_reshape)
        op = tile_value_def(s->compute, tile_operand_src(s->compute, op));
    if (op.id || type->kind != TILE_TYPE_TENSOR || type->rank < 2 || type->rank + 2 > TILE_MAX_RANK)
        return false;
    const sched_domain domain = sched_domain_of(s, root);
    return sched_is_few_and_long(&domain, domain.rank - 1) && part_of_rows(s, type);
}

/* Sets the root and its groups. False if op is no product, or its rows are short. */
static bool take_product(row_uses *u, tile_op op) {
    schedule *s = u->s;
    if (tile_op_opcode(s->compute, op) != TILE_OP_matmul || !is_large(s, op)) return false;
    u->root = tile_op_result(s->compute, op, 0);
    u->type = sched_type(s, u->root);
    u->width = group_of(sched_constant(sched_dim(s, u->type, u->type->rank - 1u)));
    return true;
}

static bool take_array(row_uses *u, tile_value value) {
    if (!is_few_rows(u->s, value)) return false;
    u->root = value;
    u->is_array = true;
    u->type = sched_type(u->s, value);
    u->width = part_of_rows(u->s, u->type);
    return true;
}

/* Finds the reductions of the root's rows, and the form of those that depend on others. False if a
 * product's result is needed otherwise, or if no reduction of an array depends on another one. */
static bool find_sums(row_uses *u, late_sum **sums) {
    schedule *s = u->s;
    bool late = false;
    u->count = 0;
    if (!find_uses(u)) return false;
    *sums = TILE_NEW_ARRAY(s->arena, late_sum, u->count);
    for (size_t i = 0; i < u->count; i++) {
        tile_value src = tile_operand_src(s->compute, u->reductions[i]);
        late |= u->is_row[src.id];
        if (u->is_row[src.id] ? !is_late_sum(u, u->reductions[i], &(*sums)[i])
                              : !is_of_arguments(u, src))
            return false;
    }
    return late || !u->is_array;
}

/* Returns whether the root has such sums. rewrites: the last ones come first, as they use the
 * results of earlier ones. */
static bool visit_root(row_uses *u, bool rewrites) {
    late_sum *sums;
    if (!find_sums(u, &sums)) return false;
    for (size_t i = u->count; rewrites && i-- > 0;) reduce_in_parts(u, u->reductions[i], &sums[i]);
    return true;
}

static bool visit_roots(schedule *s, bool rewrites) {
    const unsigned ops = (unsigned)s->compute->op_count;
    bool found = false;
    for (uint32_t id = 1; id < ops; id++) {
        row_uses u = {.s = s};
        if (s->compute->ops[id].opcode && take_product(&u, (tile_op){id}))
            found |= visit_root(&u, rewrites);
    }
    for (size_t i = 0; i < s->compute->arg_count; i++) {
        row_uses u = {.s = s};
        if (take_array(&u, s->compute->args[i].value)) found |= visit_root(&u, rewrites);
    }
    for (uint32_t id = 1; id < ops; id++) {
        row_uses u = {.s = s};
        if (s->compute->ops[id].opcode == TILE_OP_reshape &&
            take_array(&u, tile_op_result(s->compute, (tile_op){id}, 0)))
            found |= visit_root(&u, rewrites);
    }
    return found;
}

void sched_reduce_in_parts(schedule *s) {
    sched_mark_expanded(s);
    bool found = visit_roots(s, false);
    s->repeats = NULL;
    if (!found) return;
    sched_clone_compute(s);
    visit_roots(s, true);
    sched_merge_same(s);
}
