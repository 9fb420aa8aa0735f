/* Scans of logarithms of sums, by a func.
 *
 *     scan_logsumexp(%x)    ->    %m, %s = scan (%x, 1) {combine = @log_sum}
 *                                 %m + log(%s)
 *
 * An element stands for s * exp(m): the largest element so far, and the sum of the exponentials
 * relative to it, so that nothing overflows and one exponential combines two of them:
 *
 *     func @log_sum(%m, %s, %n, %t)
 *     {
 *       %e = exp(min(%m, %n) - max(%m, %n))
 *       return max(%m, %n), select(%m >= %n, %s + %t * %e, %s * %e + %t)
 *     }
 *
 * Infinities are replaced by the largest numbers before they are subtracted. The sum of a NaN is
 * NaN. */
#include <float.h>
#include <math.h>

#include "lib/ops/kinds.h"
#include "lib/ops/reduce.h"
#include "passes/schedule/cut/cut.h"

enum { MAXIMUM, SUM, PAIR };

static tile_value number(tile_builder *b, tile_context *context, const tile_type *type,
                         double value) {
    return tile_build_constant(b, type, tile_expr_float(context, value));
}

/* The func ------------------------------------------------------------------------------------- */

static tile_value clamp(tile_builder *b, tile_context *context, const tile_type *type,
                        tile_value value) {
    const double most = type->scalar == TILE_f64 ? DBL_MAX : (double)FLT_MAX;
    value = tile_build_min(b, value, number(b, context, type, most));
    return tile_build_max(b, value, number(b, context, type, -most));
}

static tile_function *make_func(schedule *s, const tile_type *type, tile_loc loc) {
    static const char *const names[2 * PAIR] = {"m", "s", "n", "t"}, *const results[PAIR] = {"c",
                                                                                             "d"};
    tile_value v[2 * PAIR], to[PAIR];
    tile_function *f =
        tile_function_create(s->compute->module, TILE_FUNC, sched_unique_name(s, "log_sum"), loc);
    if (!f) return NULL;
    for (unsigned i = 0; i < 2 * PAIR; i++) v[i] = tile_function_add_arg(f, names[i], type);
    tile_builder b = tile_builder_at_end(f, f->body);
    b.loc = loc;
    const tile_value *own = v, *other = v + PAIR;
    to[MAXIMUM] = tile_build_max(&b, own[MAXIMUM], other[MAXIMUM]);
    tile_value least = tile_build_min(&b, own[MAXIMUM], other[MAXIMUM]);
    tile_value by = tile_build_exp(&b, tile_build_sub(&b, clamp(&b, s->context, type, least),
                                                      clamp(&b, s->context, type, to[MAXIMUM])));
    tile_value larger = tile_build_ge(&b, own[MAXIMUM], other[MAXIMUM]);
    to[SUM] = tile_build_select(&b, larger, tile_build_fma(&b, other[SUM], by, own[SUM]),
                                tile_build_fma(&b, own[SUM], by, other[SUM]));
    for (unsigned i = 0; i < PAIR; i++) {
        tile_function_add_result(f, results[i], type);
        tile_function_set_result(f, i, to[i]);
    }
    return f;
}

/* The compute ---------------------------------------------------------------------------------- */

static const tile_type *with_element(const schedule *s, const tile_type *type,
                                     const tile_type *element) {
    tile_type draft = *type;
    draft.scalar = element->scalar;
    draft.param = element->param;
    return tile_type_get(s->context, &draft);
}

static tile_value expand(schedule *s, tile_op op) {
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, op);
    tile_value src = tile_operand_src(f, op);
    const tile_type *own = sched_type(s, src), *element = sched_element(s, src);
    const tile_type *type = sched_compute_type(s, element);
    const tile_scan scan = tile_scan_of(f, op);
    b.loc = tile_op_loc(f, op);
    tile_function *func = make_func(s, type, b.loc);
    if (!func) return TILE_NO_VALUE;
    tile_value x = type == element ? src : tile_build_cast(&b, src, type);
    tile_value one =
        tile_build_splat(&b, number(&b, s->context, type, 1), with_element(s, own, type));
    tile_value sum = tile_build_select(&b, tile_build_eq(&b, x, x), one, x);
    const tile_value elements[PAIR] = {x, sum};
    const tile_value nothing[PAIR] = {number(&b, s->context, type, -INFINITY),
                                      number(&b, s->context, type, 0)};
    const tile_segment segments[] = {{TILE_NO_VALUE, elements, PAIR},
                                     {TILE_NO_VALUE, nothing, scan.exclusive ? PAIR : 0},
                                     {TILE_NO_VALUE, NULL, 0}};
    const tile_attr attrs[] = {
        {.id = TILE_ATTR_axis, .expr = tile_expr_int(s->context, sched_axis(s, op))},
        {.id = TILE_ATTR_combine, .text = func->name}};
    tile_op made = tile_build_op_of(&b, TILE_OP_scan_with, segments, 3, NULL, attrs, 2);
    if (!made.id) return TILE_NO_VALUE;
    tile_op_set_text(f, made, TILE_ATTR_combine, func->name);
    tile_op_set_int(f, made, TILE_ATTR_axis, sched_axis(s, op));
    if (scan.reverse) tile_op_set_flag(f, made, TILE_ATTR_reverse);
    if (scan.exclusive) tile_op_set_flag(f, made, TILE_ATTR_exclusive);
    tile_op_take_attr(f, made, f, op, TILE_ATTR_tile);
    tile_op_take_attr(f, made, f, op, TILE_ATTR_warps);
    tile_value all = tile_build_add(&b, tile_op_result(f, made, MAXIMUM),
                                    tile_build_log(&b, tile_op_result(f, made, SUM)));
    return type == element ? all : tile_build_cast(&b, all, element);
}

static bool is_log_sum(const tile_function *f, tile_op op) {
    return tile_op_opcode(f, op) == TILE_OP_scan &&
           tile_op_word(f, op, TILE_ATTR_kind) == TILE_WORD_kind_logsumexp;
}

void sched_expand_log_sums(schedule *s) {
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) found |= is_log_sum(s->compute, op);
    if (!found) return;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    uint32_t count = (uint32_t)f->op_count;
    for (uint32_t id = 1; id < count && !s->failed; id++) {
        tile_op op = {id};
        if (!f->ops[id].opcode || !is_log_sum(f, op) || sched_axis(s, op) < 0) continue;
        tile_value to = expand(s, op);
        s->failed |= !to.id;
        if (s->failed) return;
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
        map[tile_op_result(f, op, 0).id] = to;
        tile_replace_values(f, f->body, map);
        tile_erase_op(f, op);
    }
}
