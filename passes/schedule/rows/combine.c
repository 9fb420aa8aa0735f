/* Reductions and scans by a function: chunk by chunk, as in scan.c.
 *
 * A chunk may end after the row, and the function need not have an identity. So each element has a
 * bit that tells whether it exists, and a func of two elements with their bits is made:
 *
 *     func @f_present(%p: i1, %a: f32, %q: i1, %b: f32) -> (%r: i1, %c: f32)
 *     {
 *       %both = f(%a, %b)
 *       %c = select(%p, select(%q, %both, %a), %b)
 *       %r = %p | %q
 *     }
 *
 * The loop carries the bit and the result of the previous chunks:
 *
 *     %p, %y = for %i = 0 to %n step block iter (%p = false, %before = 0.0) {
 *       %t = load %x[%row, %i] : [1, block]
 *       %q, %own = reduce (%column + %i < %n, %t) {axis = 1, combine = @f_present}
 *       yield f_present(%p, %before, %q, %own)
 *     } */
#include "lib/ops/combine.h"

#include <string.h>

#include "lib/builder/inline.h"
#include "passes/schedule/rows/look_back.h"

enum { MAX_VALUES = TILE_MAX_COMBINED + 1 }; /* the bit, then the operands */

typedef struct combined {
    rows *r;
    tile_op op; /* of the compute */
    tile_combine with;
    const tile_type *elements[MAX_VALUES];
    const tile_function *present; /* the func with bits */
} combined;

static unsigned value_count(const combined *c) {
    return c->with.count + 1;
}

/* The func ------------------------------------------------------------------------------------- */

static void add_type_param(tile_function *f, const tile_type *element) {
    bool known = !element->param;
    for (size_t i = 0; i < f->param_count && !known; i++)
        known = f->params[i].name == element->param;
    if (!known) tile_function_add_param(f, element->param, TILE_PARAM_type, NULL, NULL);
}

/* Arguments of one side: p0 is the bit. */
static void add_arguments(const combined *c, tile_function *f, const char *stem,
                          tile_value *values) {
    for (unsigned i = 0; i < value_count(c); i++)
        values[i] = tile_function_add_arg(f, tile_arena_format(c->r->k.s->arena, "%s%u", stem, i),
                                          c->elements[i]);
}

static void add_result(const combined *c, tile_function *f, unsigned i, tile_value value) {
    tile_function_add_result(f, tile_arena_format(c->r->k.s->arena, "c%u", i), c->elements[i]);
    tile_function_set_result(f, i, value);
}

/* Returns whether an earlier operation has made this func. */
static bool is_present(const combined *c, const tile_function *f) {
    unsigned n = value_count(c);
    bool same = f->kind == TILE_FUNC && f->arg_count == 2 * n &&
                f->args[0].type == c->elements[0] && f->instance_of &&
                strcmp(f->instance_of, c->with.function->name) == 0;
    for (unsigned i = 0; i < n && same; i++) same = f->args[i].type == c->elements[i];
    return same;
}

static const tile_function *make_present(const combined *c) {
    schedule *s = c->r->k.s;
    unsigned n = c->with.count;
    tile_value a[MAX_VALUES], b[MAX_VALUES], both[2 * TILE_MAX_COMBINED],
        combined_values[TILE_MAX_COMBINED];
    for (const tile_function *made = s->compute->module->first; made; made = made->next)
        if (is_present(c, made)) return made;
    const char *name =
        sched_unique_name(s, tile_arena_format(s->arena, "%s_present", c->with.function->name));
    tile_function *f =
        tile_function_create(s->compute->module, TILE_FUNC, name, tile_op_loc(s->compute, c->op));
    if (!f) return NULL;
    f->instance_of = c->with.function->name;
    for (unsigned i = 0; i < value_count(c); i++) add_type_param(f, c->elements[i]);
    add_arguments(c, f, "a", a);
    add_arguments(c, f, "b", b);
    tile_builder to = tile_builder_at_end(f, f->body);
    to.loc = tile_op_loc(s->compute, c->op);
    for (unsigned i = 0; i < 2 * n; i++) both[i] = i < n ? a[i + 1] : b[i - n + 1];
    if (!tile_inline_func(&to, c->with.function, NULL, 0, both, 2 * n, combined_values))
        return NULL;
    add_result(c, f, 0, tile_build_or(&to, a[0], b[0]));
    for (unsigned i = 0; i < n; i++) {
        tile_value of_a = tile_build_select(&to, b[0], combined_values[i], a[i + 1]);
        add_result(c, f, i + 1, tile_build_select(&to, a[0], of_a, b[i + 1]));
    }
    return f;
}

/* Chunks --------------------------------------------------------------------------------------- */

/* i1: the element exists. */
static tile_value is_inside(rows *r) {
    tile_value end = sched_number(&r->k, sched_expr(r->k.s, r->extent));
    tile_value inside = tile_build_lt(&r->k.b, rows_index_along(r), end);
    return sched_broadcast_to_tile(&r->k, inside);
}

static bool load_elements(const combined *c, tile_value *values) {
    sched_kernel *k = &c->r->k;
    const tile_values src = tile_operands_src(k->s->compute, c->op);
    sched_map map = sched_identity(&k->g->domain);
    for (unsigned i = 0; i < c->with.count; i++) {
        tile_value value = sched_value(k, src.at[i], &map, c->elements[i + 1]);
        if (!value.id) return false;
        values[i + 1] = sched_broadcast_to_tile(k, value);
    }
    values[0] = is_inside(c->r);
    return true;
}

static tile_value identity_of(const combined *c, unsigned i) {
    sched_map none = {{{0, NULL, NULL}}};
    const tile_values identity = tile_operands_identity(c->r->k.s->compute, c->op);
    return sched_value(&c->r->k, identity.at[i - 1], &none, c->elements[i]);
}

static bool has_identity(const combined *c) {
    return tile_operands_identity(c->r->k.s->compute, c->op).count != 0;
}

/* Combines the elements of a chunk by an operation of this kind. */
static tile_op build_along(const combined *c, tile_opcode opcode, const tile_value *elements) {
    rows *r = c->r;
    tile_builder *b = &r->k.b;
    tile_value identity[MAX_VALUES] = {{0}};
    bool excludes = opcode == TILE_OP_scan_with && c->with.exclusive;
    const tile_attr attrs[] = {{.id = TILE_ATTR_axis, .expr = tile_expr_int(r->k.s->context, r->t)},
                               {.id = TILE_ATTR_combine, .text = c->present->name}};
    for (unsigned i = 1; i < value_count(c) && excludes; i++) identity[i] = identity_of(c, i);
    if (excludes)
        identity[0] = tile_build_constant(b, c->elements[0], tile_expr_int(r->k.s->context, 0));
    const tile_segment segments[] = {{TILE_NO_VALUE, elements, value_count(c)},
                                     {TILE_NO_VALUE, identity, excludes ? value_count(c) : 0},
                                     {TILE_NO_VALUE, NULL, 0}};
    tile_op op = tile_build_op_of(b, opcode, segments, 3, NULL, attrs, 2);
    if (!op.id) return op;
    tile_op_set_text(r->k.f, op, TILE_ATTR_combine, c->present->name);
    tile_op_set_int(r->k.f, op, TILE_ATTR_axis, r->t);
    if (c->with.reverse) tile_op_set_flag(r->k.f, op, TILE_ATTR_reverse);
    if (excludes) tile_op_set_flag(r->k.f, op, TILE_ATTR_exclusive);
    return op;
}

/* to = before combined with the results of op. */
static bool combine(const combined *c, const tile_value *before, tile_op op, tile_value *to) {
    tile_value arguments[2 * MAX_VALUES];
    unsigned count = value_count(c);
    for (unsigned i = 0; i < count; i++) {
        arguments[i] = before[i];
        arguments[count + i] = tile_op_result(c->r->k.f, op, i);
    }
    return tile_inline_func(&c->r->k.b, c->present, NULL, 0, arguments, 2 * count, to);
}

/* Records the operation's results; the identity where nothing was combined. */
static void remember(const combined *c, const tile_value *values, const sched_map *map,
                     bool may_be_none) {
    sched_kernel *k = &c->r->k;
    for (unsigned i = 1; i < value_count(c); i++) {
        tile_value value = values[i];
        if (may_be_none && has_identity(c))
            value = tile_build_select(&k->b, values[0], value, identity_of(c, i));
        const tile_type *type = sched_compute_type(k->s, c->elements[i]);
        sched_remember(k, tile_op_result(k->s->compute, c->op, i - 1), map, type,
                       sched_convert(k, value, type));
    }
}

static void build_chunk(rows *r, void *user, tile_value number, tile_value *carried) {
    const combined *c = user;
    sched_kernel *k = &r->k;
    size_t mark = sched_enter(k);
    tile_value elements[MAX_VALUES], all[MAX_VALUES];
    tile_op scan, sum;
    (void)number;
    if (!load_elements(c, elements)) return;
    if (!c->with.reduces) {
        sched_map map = sched_identity(&k->g->domain);
        if (!(scan = build_along(c, TILE_OP_scan_with, elements)).id ||
            !combine(c, carried, scan, all))
            return;
        remember(c, all, &map, c->with.exclusive);
        rows_store_outputs(r, false);
        if (r->known == 1) rows_store_outputs(r, true); /* no dim tells that an output is long */
    }
    if ((sum = build_along(c, TILE_OP_reduce_with, elements)).id && combine(c, carried, sum, all))
        for (unsigned i = 0; i < value_count(c); i++) carried[i] = all[i];
    sched_leave(k, mark);
}

/* Outputs with an element for each one of the row, once its result is known. */
static void store_chunk(rows *r, void *user, tile_value number, tile_value *carried) {
    size_t mark = sched_enter(&r->k);
    (void)user, (void)number, (void)carried;
    rows_store_outputs(r, false);
    sched_leave(&r->k, mark);
}

static bool start(combined *c) {
    schedule *s = c->r->k.s;
    const tile_values src = tile_operands_src(s->compute, c->op);
    if (!tile_combine_of(s->compute, c->op, &c->with)) {
        SCHED_FAIL(s, c->op, "%s: the axis must be a constant", tile_op_name(s->compute, c->op));
        return false;
    }
    c->elements[0] = tile_type_scalar(s->context, TILE_i1);
    for (unsigned i = 0; i < src.count; i++) c->elements[i + 1] = sched_element(s, src.at[i]);
    c->present = make_present(c);
    s->failed |= !c->present;
    return c->present != NULL;
}

/* A reduction of no elements has no result without an identity. */
static void require_elements(const combined *c) {
    sched_kernel *k = &c->r->k;
    if (!c->with.reduces || has_identity(c) || c->r->known > 0) return;
    k->b.loc = tile_op_loc(k->s->compute, c->op);
    tile_value end = sched_number(k, sched_expr(k->s, c->r->extent));
    tile_value any = tile_build_gt(&k->b, end, tile_build_int(&k->b, 0));
    const tile_segment condition = {any, NULL, 0};
    tile_op op = tile_build_op(&k->b, TILE_OP_assert, &condition, 1, NULL);
    if (op.id)
        tile_op_set_text(k->f, op, TILE_ATTR_text,
                         "`reduce` with a func combines no elements here: give it `identity = "
                         "(..)`, one number for each operand");
}

void rows_build_combined(rows *r) {
    sched_kernel *k = &r->k;
    combined c = {.r = r, .op = rows_op(r, 0)};
    tile_value carried[MAX_VALUES], none = TILE_NO_VALUE;
    if (!start(&c)) return;
    size_t mark = sched_enter(k);
    require_elements(&c);
    rows_chunks chunks = rows_count_chunks(r);
    for (unsigned i = 0; i < value_count(&c); i++)
        carried[i] = tile_build_zero(&k->b, rows_row_type(r, c.elements[i]));
    rows_loop_over_chunks(r, &chunks, c.with.reverse, carried, value_count(&c), build_chunk, &c);
    if (c.with.reduces && !k->s->failed) {
        sched_map map = rows_map_of_row(r);
        remember(&c, carried, &map, r->known <= 0);
        rows_store_outputs(r, true);
        if (rows_has_long_output(r))
            rows_loop_over_chunks(r, &chunks, false, &none, 0, store_chunk, &c);
    }
    sched_leave(k, mark);
}

/* Chunks of several blocks --------------------------------------------------------------------- */

static bool combine_prefixes(rows *r, void *user, const tile_value *before, const tile_value *own,
                             tile_value *to) {
    const combined *c = user;
    tile_value arguments[2 * MAX_VALUES];
    unsigned count = value_count(c);
    for (unsigned i = 0; i < count; i++) {
        arguments[i] = before[i];
        arguments[count + i] = own[i];
    }
    return tile_inline_func(&r->k.b, c->present, NULL, 0, arguments, 2 * count, to);
}

static bool results_of(const combined *c, tile_op op, tile_value *to) {
    for (unsigned i = 0; i < value_count(c) && op.id; i++) to[i] = tile_op_result(c->r->k.f, op, i);
    return op.id != 0;
}

/* Totals are in the order of the scan, also of a reverse one. */
static bool combine_totals(rows *r, void *user, const tile_value *tiles, tile_value *to) {
    combined forward = *(const combined *)user;
    (void)r;
    forward.with.reverse = false;
    return results_of(&forward, build_along(&forward, TILE_OP_reduce_with, tiles), to);
}

static const tile_expr *zero_of(const rows *r, const tile_type *element) {
    tile_context *context = r->k.s->context;
    return tile_scalar_is_floating(element->scalar) ? tile_expr_float(context, 0)
                                                    : tile_expr_int(context, 0);
}

static tile_value nothing(rows *r, void *user, unsigned index) {
    const combined *c = user;
    return tile_build_constant(&r->k.b, c->elements[index], zero_of(r, c->elements[index]));
}

void rows_build_combined_chunk(rows *r) {
    sched_kernel *k = &r->k;
    combined c = {.r = r, .op = rows_op(r, 0)};
    tile_value elements[MAX_VALUES], own[MAX_VALUES], before[MAX_VALUES], all[MAX_VALUES];
    rows_look_back w;
    if (!start(&c)) return;
    size_t mark = sched_enter(k);
    rows_prefix prefix = {.count = value_count(&c),
                          .user = &c,
                          .combine = combine_prefixes,
                          .total = combine_totals,
                          .nothing = nothing};
    for (unsigned i = 0; i < value_count(&c); i++) prefix.elements[i] = c.elements[i];
    rows_take_chunk(r, &prefix, c.with.reverse, &w);
    if (!load_elements(&c, elements) ||
        !results_of(&c, build_along(&c, TILE_OP_reduce_with, elements), own))
        return;
    rows_publish_total(&w, own);
    tile_op scan = build_along(&c, TILE_OP_scan_with, elements);
    if (!scan.id || !rows_wait_for_prefix(&w, own, before)) return;
    rows_end_chunk(&w);
    if (!combine(&c, before, scan, all)) return;
    sched_map map = sched_identity(&k->g->domain);
    remember(&c, all, &map, c.with.exclusive);
    rows_store_outputs(r, false);
    sched_leave(k, mark);
}
