/* reduce-late: moves cross-lane and cross-warp reductions of a row out of the loop that accumulates
 * them.
 *
 * A row of a dot's sums is distributed over four lanes, other rows over a whole warp or several
 * warps. Each reduction takes two to five shuffles per row, or a barrier and shared memory. A loop
 * that only adds the result to a carried value can carry each thread's partial result instead and
 * combine these once.
 *
 * level: 2 to 2
 * requires: instantiated, laid_out
 * keeps: instantiated, laid_out
 * breaks: allocated, synchronised
 *
 * pipeline: reduce-late
 * before:
 *   #wide = layout {reg = [[0, 1], [8, 0], [0, 8]],
 *     lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []}
 *   #rows = layout {reg = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = []}
 *
 *   kernel @total(%n: i32, %a: view<f32[16, %n]>, %f: f32, %c: view<f32[16, 1]>)
 *       grid [1]
 *       warps 1
 *   {
 *     %zero = splat 0.0 : tile<f32[16, 1], #rows>
 *     %sum = for %j = 0 to %n step 16 iter (%s = %zero) {
 *       %t = load %a[0, %j] : tile<f32[16, 16], #wide>
 *       %factor = splat %f : tile<f32[16, 1], #rows>
 *       %scaled = mul %s, %factor : tile<f32[16, 1], #rows>
 *       %own = reduce %t {kind = add, axis = 1, fast} : tile<f32[16, 1], #rows>
 *       %next = add %scaled, %own : tile<f32[16, 1], #rows>
 *       yield %next
 *     }
 *     store %sum, %c[0, 0]
 *   }
 *
 * after:
 *   #layout0 = layout {reg = [[8, 0]],
 *     lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = []}
 *   #layout1 = layout {reg = [[8, 0]],
 *     lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = []}
 *   #layout2 = layout {reg = [[0, 1], [8, 0], [0, 8]],
 *     lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []}
 *   #layout3 = layout {reg = [[0, 0, 0, 1], [8, 0, 0, 0], [0, 1, 0, 0]],
 *     lane = [[0, 0, 1, 0], [0, 0, 2, 0], [1, 0, 0, 0], [2, 0, 0, 0], [4, 0, 0, 0]], warp = []}
 *   #layout4 = layout {reg = [[8, 0, 0, 0], [0, 1, 0, 0]],
 *     lane = [[0, 0, 1, 0], [0, 0, 2, 0], [1, 0, 0, 0], [2, 0, 0, 0], [4, 0, 0, 0]], warp = []}
 *   #layout5 = layout {reg = [[8, 0, 0, 0]],
 *     lane = [[0, 0, 1, 0], [0, 0, 2, 0], [1, 0, 0, 0], [2, 0, 0, 0], [4, 0, 0, 0]], warp = []}
 *
 *   kernel @total(%n: i32, %a: view<f32[16, %n]>, %f: f32, %c: view<f32[16, 1]>)
 *       grid [1]
 *       warps 1
 *   {
 *     %zero = splat 0.0 : tile<f32[16, 1], #layout0>
 *     %0 = splat 0.0 : tile<f32[16, 4], #layout1>
 *     %sum = for %j = 0 to %n step 16 iter (%s = %0) {
 *       %t = load %a[0, %j] : tile<f32[16, 16], #layout2>
 *       %factor = splat %f : tile<f32[16, 1], #layout0>
 *       %1 = reshape %t : tile<f32[16, 2, 4, 2], #layout3>
 *       %2 = reduce %1 {kind = add, axis = 3, fast} : tile<f32[16, 2, 4, 1], #layout4>
 *       %3 = reduce %2 {kind = add, axis = 1, fast} : tile<f32[16, 1, 4, 1], #layout5>
 *       %4 = reshape %3 : tile<f32[16, 4], #layout1>
 *       %5 = broadcast %factor : tile<f32[16, 4], #layout1>
 *       %6 = mul %s, %5 : tile<f32[16, 4], #layout1>
 *       %7 = add %6, %4 : tile<f32[16, 4], #layout1>
 *       yield %7
 *     }
 *     %8 = reduce %sum {kind = add, axis = 1, fast} : tile<f32[16, 1], #layout0>
 *     store %8, %c[0, 0]
 *   }
 *
 * Loops: the carried value is updated by x = x * factor op reduce(tile) and is used nowhere else in
 * the loop. `op` is the operation of the reduction; a factor is only allowed for sums. The partial
 * results of a row begin with the identity of `op`, except for one, which begins with the loop's
 * initial value. A loop that continues with another loop's result takes that loop's partial
 * results. Sums and products of floats are then computed in another order, and an infinite factor
 * turns an empty part into NaN, so the reduction must be `fast`. Nothing changes if a single thread
 * holds the whole row.
 *
 * This needs no new operations: the axis is reshaped into dims that one thread holds and dims
 * distributed over threads. The first ones are reduced in the loop, the others after it. */
#include <string.h>

#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/layout/layout.h"
#include "lib/layout/rearrange.h"
#include "lib/ops/reduce.h"
#include "lib/ops/shape.h"
#include "passes/pass.h"

typedef struct sinker {
    tile_pass *pass;
    tile_function *f;
    uint32_t *uses;    /* by value */
    tile_value *parts; /* by value: the tile of partial results that it is reduced from after a
                          loop; 0: none */
    size_t room;       /* size of these two arrays */
} sinker;

/* 1. Steps ------------------------------------------------------------------------------------ */

/* x = before * factor op reduce. */
typedef struct step {
    tile_op combine, scale, reduce; /* scale: the multiplication, if it is a separate operation */
    tile_value before, factor;      /* factor: 0: none */
} step;

static bool is_once(const sinker *m, tile_value value, tile_opcode opcode) {
    tile_op def = tile_value_def(m->f, value);
    return def.id && m->uses[value.id] == 1 && tile_op_opcode(m->f, def) == opcode;
}

/* Splits a product into the value before and the factor; wanted: preferred as the value before. */
static void collect_factors(step *s, tile_value a, tile_value b, tile_value wanted) {
    bool second = b.id == wanted.id;
    s->before = second ? b : a;
    s->factor = second ? a : b;
}

static bool take_sum(const sinker *m, tile_value rest, tile_value sum, tile_value wanted, step *s) {
    if (!is_once(m, sum, TILE_OP_reduce)) return false;
    s->reduce = tile_value_def(m->f, sum);
    tile_word kind = tile_op_word(m->f, s->reduce, TILE_ATTR_kind);
    s->before = rest;
    if (tile_kind_opcode(kind) != tile_op_opcode(m->f, s->combine) ||
        tile_op_has_attr(m->f, s->reduce, TILE_ATTR_nan) !=
            tile_op_has_attr(m->f, s->combine, TILE_ATTR_nan))
        return false;
    if (kind != TILE_WORD_kind_add || rest.id == wanted.id || !is_once(m, rest, TILE_OP_mul))
        return true;
    s->scale = tile_value_def(m->f, rest);
    collect_factors(s, tile_operand_lhs(m->f, s->scale), tile_operand_rhs(m->f, s->scale), wanted);
    return true;
}

/* Whether the value is such a step; wanted: preferred as the value before. */
static bool find_step(const sinker *m, tile_value value, tile_value wanted, step *s) {
    *s = (step){.combine = tile_value_def(m->f, value)};
    if (!s->combine.id) return false;
    const tile_op_data *data = tile_op_at(m->f, s->combine);
    if (data->opcode == TILE_OP_fma) {
        tile_value sum = data->operands[2];
        s->reduce = tile_value_def(m->f, sum);
        collect_factors(s, data->operands[0], data->operands[1], wanted);
        return is_once(m, sum, TILE_OP_reduce) &&
               tile_op_word(m->f, s->reduce, TILE_ATTR_kind) == TILE_WORD_kind_add;
    }
    return data->operand_count == 2 &&
           (take_sum(m, data->operands[0], data->operands[1], wanted, s) ||
            take_sum(m, data->operands[1], data->operands[0], wanted, s));
}

static bool is_defined_in(const tile_function *f, tile_op op, tile_region region) {
    return !op.id || tile_op_at(f, op)->parent.id == region.id;
}

/* Finds the step of carried value i, if the loop uses that value for nothing else. */
static bool find_loop_step(const sinker *m, tile_op loop, unsigned i, step *s) {
    tile_region body = tile_op_region(m->f, loop, 0);
    tile_value received = tile_carried_received(m->f, loop, 0, i),
               sent = tile_carried_sent(m->f, loop, 0, i);
    return tile_value_type(m->f, received)->kind == TILE_TYPE_TILE && m->uses[received.id] == 1 &&
           m->uses[sent.id] == 1 && find_step(m, sent, received, s) &&
           s->before.id == received.id && s->factor.id != received.id &&
           is_defined_in(m->f, s->combine, body) && is_defined_in(m->f, s->scale, body) &&
           is_defined_in(m->f, s->reduce, body);
}

/* 2. The axis --------------------------------------------------------------------------------- */

/* The reduced tile's dims with the axis cut into pieces, and the type of the carried partial
 * results. */
typedef struct cut {
    unsigned axis, rank;
    uint32_t dims[TILE_MAX_RANK];
    bool own[TILE_MAX_RANK]; /* one thread holds the whole piece */
    const tile_type *parts;
} cut;

static bool add_dim(cut *c, uint32_t extent, bool own) {
    if (c->rank == TILE_MAX_RANK) return false;
    c->dims[c->rank] = extent;
    c->own[c->rank++] = own;
    return true;
}

/* Bits of the axis that are distributed over lanes, warps or blocks. */
static uint32_t shared_bits(const tile_layout *layout, unsigned axis) {
    uint32_t all = 0;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++) all |= layout->lane[i];
    for (unsigned i = 0; i < layout->warp_bits; i++) all |= layout->warp[i];
    for (unsigned i = 0; i < layout->block_bits; i++) all |= layout->block[i];
    return tile_layout_coordinate(layout, all, axis);
}

/* Cuts the axis into pieces, from the highest bit down. */
static bool cut_axis(cut *c, const tile_layout *layout, uint32_t shared) {
    uint32_t extent = layout->count[c->axis];
    bool own = true, fits = true;
    for (unsigned bit = layout->dim_bits[c->axis]; bit-- > 0;) {
        bool is_own = !(shared >> bit & 1);
        if (is_own != own && extent > 1) fits &= add_dim(c, extent, own);
        if (is_own != own) extent = 1;
        own = is_own;
        extent *= 2;
    }
    return (extent == 1 || add_dim(c, extent, own)) && fits;
}

static bool cut_dims(cut *c, const tile_layout *layout, uint32_t shared) {
    for (unsigned d = 0; d < layout->rank; d++)
        if (d == c->axis ? !cut_axis(c, layout, shared)
                         : !add_dim(c, tile_layout_extent(layout, d), false))
            return false;
    return true;
}

/* The layout of the partial results after each thread has reduced its own pieces; false if the
 * pieces are not only in registers. */
static bool reduce_own(const cut *c, const tile_layout *from, uint32_t *parts, tile_layout *to) {
    tile_layout layout;
    if (!tile_layout_reshape(from, c->dims, c->rank, &layout)) return false;
    for (unsigned d = 0; d < c->rank; d++) {
        if (!c->own[d]) continue;
        tile_reduce_plan plan = tile_reduce_make_plan(&layout, d);
        if (plan.lane_steps || plan.cell_bits) return false;
        layout = plan.narrow;
    }
    return tile_layout_reshape(&layout, parts, from->rank, to);
}

static const tile_type *type_of(const sinker *m, tile_scalar scalar, const tile_layout *layout) {
    tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = scalar, .rank = layout->rank};
    for (unsigned d = 0; d < draft.rank; d++)
        draft.dims[d] = tile_expr_int(m->pass->context, tile_layout_extent(layout, d));
    draft.layout = layout;
    return tile_type_get(m->pass->context, &draft);
}

/* False if the reduction involves only registers, or if the layout of partial results does not
 * match the layout of the result. */
static bool find_cut(const sinker *m, tile_op reduce, cut *c) {
    tile_layout held;
    tile_reduction reduction;
    uint32_t parts[TILE_MAX_RANK];
    const tile_type *from = tile_value_type(m->f, tile_operand_src(m->f, reduce)),
                    *to = tile_value_type(m->f, tile_op_result(m->f, reduce, 0));
    if (!tile_reduction_of(m->f, reduce, &reduction) ||
        tile_reduction_scalar(reduction.kind, from->scalar) != from->scalar)
        return false;
    *c = (cut){.axis = reduction.axis};
    uint32_t shared = shared_bits(from->layout, c->axis);
    tile_type_dims(from, parts);
    parts[c->axis] = UINT32_C(1) << __builtin_popcount(shared);
    if (!shared || !cut_dims(c, from->layout, shared) || !reduce_own(c, from->layout, parts, &held))
        return false;
    c->parts = type_of(m, from->scalar, &held);
    tile_layout narrow = tile_broadcast_layout(to, &held);
    return tile_layout_equal(&narrow, to->layout) &&
           tile_layout_registers(&held) == tile_layout_registers(to->layout);
}

/* 3. Parts ------------------------------------------------------------------------------------ */

static tile_value reshape(const sinker *m, tile_builder *b, tile_value tile, const uint32_t *dims,
                          unsigned rank) {
    tile_layout layout;
    const tile_type *from = tile_value_type(m->f, tile);
    tile_layout_reshape(from->layout, dims, rank, &layout);
    const tile_type *to = type_of(m, from->scalar, &layout);
    return from == to ? tile : tile_build_reshape(b, tile, TILE_NO_VALUE, to);
}

/* Builds the same reduction of another tile along another dim; buffer: 0 if it needs none. */
static tile_value reduce_like(const sinker *m, tile_builder *b, tile_op like, tile_value tile,
                              unsigned axis, tile_value buffer, const tile_type *to) {
    const tile_segment segments[] = {{tile, NULL, 0}, {buffer, NULL, 0}};
    const tile_attr along = {.id = TILE_ATTR_axis, .expr = tile_expr_int(m->pass->context, axis)};
    tile_op op = tile_build_op_of(b, TILE_OP_reduce, segments, 2, NULL, &along, 1);
    tile_op_set_text(m->f, op, TILE_ATTR_kind,
                     tile_attr_word_text(tile_op_word(m->f, like, TILE_ATTR_kind)));
    tile_op_set_int(m->f, op, TILE_ATTR_axis, axis);
    tile_op_take_attr(m->f, op, m->f, like, TILE_ATTR_nan);
    tile_op_take_attr(m->f, op, m->f, like, TILE_ATTR_fast);
    tile_value_at(m->f, tile_op_result(m->f, op, 0))->type = to;
    return tile_op_result(m->f, op, 0);
}

static tile_value build_own(const sinker *m, tile_builder *b, tile_op reduce, const cut *c) {
    uint32_t dims[TILE_MAX_RANK];
    tile_value tile = reshape(m, b, tile_operand_src(m->f, reduce), c->dims, c->rank);
    for (unsigned d = c->rank; d-- > 0;) {
        if (!c->own[d]) continue;
        const tile_type *type = tile_value_type(m->f, tile);
        tile_layout narrow = tile_reduce_make_plan(type->layout, d).narrow;
        tile = reduce_like(m, b, reduce, tile, d, TILE_NO_VALUE, type_of(m, type->scalar, &narrow));
    }
    tile_type_dims(c->parts, dims);
    return reshape(m, b, tile, dims, c->parts->rank);
}

static tile_value identity_of(const sinker *m, tile_word kind, tile_scalar scalar) {
    tile_context *context = m->pass->context;
    const tile_expr *expr = tile_scalar_is_floating(scalar)
                                ? tile_expr_float(context, tile_kind_identity(kind))
                                : tile_expr_int(context, tile_kind_integer_identity(kind, scalar));
    return tile_function_constant(m->f, tile_type_scalar(context, scalar), expr);
}

/* Whether combining a value with itself does not change it. */
static bool is_idempotent(tile_word kind) {
    return kind == TILE_WORD_kind_min || kind == TILE_WORD_kind_max || kind == TILE_WORD_kind_and ||
           kind == TILE_WORD_kind_or;
}

/* Initial partial results: the value in the first part of each row, the identity in the others. */
static tile_value initial_parts(const sinker *m, tile_builder *b, tile_value value, tile_word kind,
                                const cut *c) {
    tile_op def = tile_value_def(m->f, value);
    bool filled = def.id && tile_op_opcode(m->f, def) == TILE_OP_splat;
    tile_value nothing = identity_of(m, kind, c->parts->scalar);
    if (filled && (is_idempotent(kind) || tile_operand_src(m->f, def).id == nothing.id))
        return tile_build_splat(b, tile_operand_src(m->f, def), c->parts);
    tile_value all = tile_build_broadcast(b, value, c->parts);
    if (is_idempotent(kind)) return all;
    const tile_type *i32 = tile_type_with_scalar(m->pass->context, c->parts, TILE_i32);
    tile_value place = tile_build_iota(b, i32);
    tile_op_set_int(m->f, tile_value_def(m->f, place), TILE_ATTR_axis, c->axis);
    tile_value first = tile_build_eq(b, place, tile_build_splat(b, tile_build_int(b, 0), i32));
    return tile_build_select(b, first, all, tile_build_splat(b, nothing, c->parts));
}

static tile_value step_parts(sinker *m, const step *s, const cut *c, tile_value before) {
    tile_builder b = tile_builder_before(m->f, s->combine);
    tile_word kind = tile_op_word(m->f, s->reduce, TILE_ATTR_kind);
    tile_value own = build_own(m, &b, s->reduce, c), next;
    tile_value factor = s->factor;
    if (factor.id) factor = tile_build_broadcast(&b, factor, c->parts);
    if (factor.id && !s->scale.id) return tile_build_fma(&b, before, factor, own);
    if (factor.id) before = tile_build_mul(&b, before, factor);
    const tile_segment operands[] = {{before, NULL, 0}, {own, NULL, 0}};
    next = tile_build_op_value(&b, tile_kind_opcode(kind), operands, 2, NULL);
    tile_op_take_attr(m->f, tile_value_def(m->f, next), m->f, s->combine, TILE_ATTR_nan);
    return next;
}

static bool may_reorder(const sinker *m, const step *s) {
    tile_word kind = tile_op_word(m->f, s->reduce, TILE_ATTR_kind);
    tile_scalar scalar = tile_value_type(m->f, s->before)->scalar;
    bool rounds = tile_scalar_is_floating(scalar) &&
                  (kind == TILE_WORD_kind_add || kind == TILE_WORD_kind_mul);
    return !rounds || tile_op_has_attr(m->f, s->reduce, TILE_ATTR_fast);
}

/* Whether both reductions combine elements in the same way. */
static bool is_like(const sinker *m, tile_op reduce, tile_op like) {
    return tile_op_word(m->f, reduce, TILE_ATTR_kind) == tile_op_word(m->f, like, TILE_ATTR_kind) &&
           tile_op_has_attr(m->f, reduce, TILE_ATTR_nan) ==
               tile_op_has_attr(m->f, like, TILE_ATTR_nan);
}

/* Partial results for a value before the loop, for a reduction like `like`: those of another loop,
 * those of a step that was peeled from the loop, or new ones. */
static tile_value parts_before(sinker *m, tile_op loop, tile_value value, tile_op like,
                               const cut *c, unsigned depth) {
    step s;
    cut other;
    tile_value known = m->parts[value.id]; /* if so, value is a reduction of known */
    if (known.id && tile_value_type(m->f, known) == c->parts &&
        is_like(m, tile_value_def(m->f, value), like))
        return known;
    tile_builder b = tile_builder_before(m->f, loop);
    if (!depth || m->uses[value.id] != 1 || !find_step(m, value, TILE_NO_VALUE, &s) ||
        !is_like(m, s.reduce, like) || !may_reorder(m, &s) || !find_cut(m, s.reduce, &other) ||
        other.parts != c->parts)
        return initial_parts(m, &b, value, tile_op_word(m->f, like, TILE_ATTR_kind), c);
    return step_parts(m, &s, c, parts_before(m, s.combine, s.before, like, c, depth - 1));
}

/* 4. Loops ------------------------------------------------------------------------------------ */

/* Builds the remaining reduction after the loop; across warps, through a buffer. */
static tile_value build_rest(const sinker *m, tile_op loop, tile_value parts, const step *s,
                             const cut *c, const tile_type *to) {
    tile_builder b = tile_builder_before(m->f, loop);
    b.before = tile_op_at(m->f, loop)->next;
    b.loc = tile_op_loc(m->f, s->reduce);
    tile_reduce_plan plan = tile_reduce_make_plan(c->parts->layout, c->axis);
    if (!tile_reduce_exchanges(&plan, to->layout))
        return reduce_like(m, &b, s->reduce, parts, c->axis, TILE_NO_VALUE, to);
    const tile_type *cells = tile_reduction_buffer(m->f, s->reduce, c->parts->scalar, &plan);
    tile_value buffer = tile_build_alloc_shared(&b, cells);
    tile_value sum = reduce_like(m, &b, s->reduce, parts, c->axis, buffer, to);
    tile_build_free_shared(&b, buffer);
    return sum;
}

static void revisit(sinker *m) {
    tile_value *parts = TILE_NEW_ARRAY(m->pass->scratch, tile_value, m->f->value_count);
    if (m->room) memcpy(parts, m->parts, sizeof *parts * m->room);
    m->parts = parts;
    m->room = m->f->value_count;
    m->uses = tile_count_uses(m->f, m->pass->scratch);
}

/* Makes the loop carry partial results instead of the result. */
static void sink_after_loop(sinker *m, tile_op loop, unsigned i, const step *s, const cut *c) {
    enum { DEPTH = 4 };
    tile_function *f = m->f;
    tile_value init = tile_carried_sent(f, loop, TILE_PARENT_OP, i),
               result = tile_op_result(f, loop, i);
    const tile_type *to = tile_value_type(f, result);
    init = parts_before(m, loop, init, s->reduce, c, DEPTH);
    tile_carried_send(f, loop, TILE_PARENT_OP, i, init);
    tile_value_at(f, s->before)->type = c->parts;
    tile_value_at(f, result)->type = c->parts;
    tile_carried_send(f, loop, 0, i, step_parts(m, s, c, s->before));
    tile_value sum = build_rest(m, loop, result, s, c, to);
    tile_op rest = tile_value_def(f, sum);
    tile_value *map = TILE_NEW_ARRAY(m->pass->scratch, tile_value, f->value_count);
    map[result.id] = sum;
    tile_replace_values(f, f->body, map);
    tile_op_at(f, rest)->operands[0] = result; /* restored: it was replaced by itself */
    tile_erase_op(f, s->combine);
    if (s->scale.id) tile_erase_op(f, s->scale);
    tile_erase_op(f, s->reduce);
    revisit(m);
    m->parts[sum.id] = result;
}

static long visit_loop(sinker *m, tile_op loop) {
    long moved = 0;
    for (unsigned i = 0; i < tile_carried_count(m->f, loop); i++) {
        step s;
        cut c;
        if (!find_loop_step(m, loop, i, &s) || !find_cut(m, s.reduce, &c)) continue;
        if (tile_sync_is_explicit(m->f, loop) && tile_op_at(m->f, s.reduce)->segment[1]) continue;
        if (!may_reorder(m, &s)) {
            tile_missed_at(m->f, s.reduce, "not after the loop", "add `fast` to the reduction",
                           "threads exchange partial sums of a row in each iteration, because the "
                           "order of additions of floats must be kept");
            continue;
        }
        sink_after_loop(m, loop, i, &s, &c);
        moved++;
    }
    return moved;
}

tile_status tile_pass_reduce_late(tile_pass *pass, tile_function *f) {
    unsigned count;
    long moved = 0;
    const tile_op *loops = tile_find_ops(f, TILE_OP_for, pass->scratch, &count);
    sinker m = {.pass = pass, .f = f};
    if (count) revisit(&m);
    for (unsigned i = 0; i < count; i++) moved += visit_loop(&m, loops[i]);
    tile_pass_count(pass, "moved", moved);
    return TILE_OK;
}
