/* Checks that parts of tensors are inside of them, as level 1 does. Kernels mask accesses by the
 * extents of arrays, so that a part outside would be 0. A coordinate is checked by an `assert` in
 * the kernel if the schedule cannot prove it: first >= 0 and first + size <= whole for all
 * iterations. */
#include "passes/schedule/sections/sections.h"

#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"

typedef struct prover {
    schedule *s;
    const sched_section_values *values;
} prover;

/* Variables of loops and i32 arguments may be negative; other parameters are extents. */
static bool is_extent(const prover *p, const tile_expr *expr) {
    for (size_t i = 0; i < p->values->variable_count; i++)
        if (tile_expr_names_param(expr, p->values->variables[i].name)) return false;
    return expr->kind == TILE_EXPR_PARAM;
}

/* Returns whether the sum or product of extents cannot be negative. */
static bool is_sum_of_extents(const prover *p, const tile_expr *expr) {
    int64_t number;
    if (tile_expr_is_int(expr, &number)) return number >= 0;
    if (expr->kind != TILE_EXPR_OP) return is_extent(p, expr);
    bool sums = expr->opcode == TILE_OP_add || expr->opcode == TILE_OP_mul;
    return sums && is_sum_of_extents(p, expr->args[0]) && is_sum_of_extents(p, expr->args[1]);
}

static const tile_expr *replace_param(tile_context *context, const tile_expr *expr,
                                      const tile_expr *param, const tile_expr *by) {
    const tile_expr *args[3] = {NULL, NULL, NULL};
    if (expr == param) return by;
    if (expr->kind != TILE_EXPR_OP) return expr;
    for (unsigned i = 0; i < 3 && expr->args[i]; i++)
        args[i] = replace_param(context, expr->args[i], param, by);
    return tile_expr_op(context, expr->opcode, args[0], args[1], args[2]);
}

static const tile_expr *minus(tile_context *context, const tile_expr *a, const tile_expr *b) {
    const tile_expr *negative = tile_expr_multiply(context, tile_expr_int(context, -1), b);
    const tile_expr *sum = tile_expr_op(context, TILE_OP_add, a, negative, NULL);
    return tile_extent_canonical(context, sum);
}

/* Replaces the loops' variables by the first or the last value, whichever makes the expression
 * smaller. Expressions that are not linear in a variable keep it. */
static const tile_expr *smallest(const prover *p, const sched_loop *loop, const tile_expr *expr) {
    tile_context *context = p->s->context;
    const tile_expr *one = tile_expr_int(context, 1);
    for (; loop; loop = loop->outer) {
        const tile_expr *t = loop->variable;
        int64_t growth;
        if (!tile_expr_names_param(expr, t->name)) continue;
        const tile_expr *next =
            replace_param(context, expr, t, tile_expr_op(context, TILE_OP_add, t, one, NULL));
        if (!tile_expr_is_int(minus(context, next, expr), &growth)) continue;
        const tile_expr *end = growth < 0 ? minus(context, loop->end, one) : loop->begin;
        expr = tile_extent_canonical(context, replace_param(context, expr, t, end));
    }
    return expr;
}

static bool is_never_negative(const prover *p, const sched_loop *loop, const tile_expr *expr) {
    return is_sum_of_extents(p, smallest(p, loop, expr));
}

static void check_dim(const prover *p, sched_section *section, sched_part part) {
    const sched_loop *loop = section->resident ? section->resident->loop : section->loop;
    tile_context *context = p->s->context;
    const tile_expr *left = minus(context, minus(context, part.whole, part.first), part.size);
    if (is_never_negative(p, loop, tile_extent_canonical(context, part.first)) &&
        is_never_negative(p, loop, left))
        return;
    section->parts = tile_arena_grow(p->s->arena, section->parts, section->part_count,
                                     &section->part_capacity, sizeof *section->parts);
    section->parts[section->part_count++] = part;
}

/* The part that a slice reads or an insert_slice writes. */
static void check_op(const prover *p, sched_section *section, const tile_function *f, tile_op op) {
    bool inserts = tile_op_opcode(f, op) == TILE_OP_insert_slice;
    const tile_type *src = tile_value_type(f, tile_operand_src(f, op)),
                    *result = tile_value_type(f, tile_op_result(f, op, 0));
    const tile_values first = tile_operands_first(f, op);
    for (unsigned d = 0; d < first.count; d++) {
        const tile_expr *at = tile_value_at(f, first.at[d])->expr;
        if (!at && first.at[d].id < p->s->compute->value_count)
            at = p->values->exprs[first.at[d].id];
        if (!at || tile_expr_is_int(at, &(int64_t){0})) continue;
        check_dim(p, section,
                  (sched_part){.name = tile_op_name(f, op),
                               .loc = tile_op_loc(f, op),
                               .first = at,
                               .size = (inserts ? src : result)->dims[d],
                               .whole = (inserts ? result : src)->dims[d]});
    }
}

void sched_find_parts(schedule *s, sched_section *section, const sched_section_values *values) {
    const prover p = {s, values};
    const sched_resident *r = section->resident;
    TILE_FOR_EACH_OP (section->compute, op, section->compute->body) {
        if (tile_op_opcode(section->compute, op) == TILE_OP_slice)
            check_op(&p, section, section->compute, op);
    }
    for (unsigned i = 0; r && i < r->count; i++)
        if (r->carried[i].in_place)
            check_op(&p, section, s->compute,
                     tile_value_def(s->compute, tile_carried_sent(s->compute, r->loop->op, 0, i)));
}
