/* Rows: reductions along one axis and what is computed from them. A block has a few rows and either
 * all of their elements in one tile, read once, or goes along them a tile at a time: once for each
 * reduction that needs the results of others, and once more for what has as many elements as the
 * rows. Then each place of the tile has a sum of its own, and these are combined at the end.
 *
 * Elements of a tile behind the end of a row must not count: they are what changes nothing, because
 * the loads give that, or by a select. Of the largest float that is NaN, which min and max leave
 * out: a row of nothing but NaN gives NaN. Where the maximum is only subtracted from its own row,
 * as a softmax does, it is -inf instead, which needs no select behind it: exp makes 0 of that. */
#include "passes/compute/schedule_rows.h"

#include <math.h>
#include <string.h>

#include "lib/ir/syntax.h"

static sched_map row_map(const rows *r) {
    sched_map map = sched_identity(&r->k.g->domain);
    map.at[r->axis] = (sched_coordinate){-1, NULL};
    return map;
}

/* Levels ----------------------------------------------------------------------------------------
 */

int rows_find(const rows *r, tile_value value) {
    tile_op op = tile_value_def(r->k.s->compute, value);
    for (size_t i = 0; op.id && i < r->k.g->reduction_count; i++)
        if (r->k.g->reductions[i].id == op.id) return (int)i;
    return -1;
}

/* The highest level of a reduction that the value is computed from. */
static unsigned level_of(rows *r, tile_value value, unsigned *seen) {
    schedule *s = r->k.s;
    tile_op op = tile_value_def(s->compute, value);
    int reduction = rows_find(r, value);
    unsigned level = 0;
    if (!op.id || (reduction < 0 && sched_find_input(s, r->k.g, value) >= 0)) return 0;
    if (seen[value.id]) return seen[value.id] - 1;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        unsigned of_operand = level_of(r, tile_op_operand(s->compute, op, i), seen);
        if (of_operand > level) level = of_operand;
    }
    level += reduction >= 0;
    if (reduction >= 0) r->levels[reduction] = level;
    seen[value.id] = level + 1;
    return level;
}

static void find_levels(rows *r) {
    schedule *s = r->k.s;
    unsigned *seen = TILE_NEW_ARRAY(s->arena, unsigned, s->compute->value_count);
    r->levels = TILE_NEW_ARRAY(s->arena, unsigned, r->k.g->reduction_count + 1);
    for (size_t i = 0; i < r->k.g->reduction_count; i++) {
        level_of(r, tile_op_result(s->compute, r->k.g->reductions[i], 0), seen);
        if (r->levels[i] > r->last) r->last = r->levels[i];
    }
}

static bool is_along(const rows *r, size_t index) {
    return sched_is_along(r->k.s, rows_op(r, index));
}

static bool has_flag(const rows *r, size_t index, tile_attr_id id) {
    return tile_op_has_attr(r->k.s->compute, rows_op(r, index), id);
}

/* Values ----------------------------------------------------------------------------------------
 */

static tile_value number(rows *r, const tile_type *type, double value) {
    return tile_build_constant(&r->k.b, type, tile_expr_float(r->k.s->context, value));
}

/* What stands last when it has been sorted. */
static tile_value last_of(rows *r, size_t index) {
    const tile_type *type = rows_type(r, index);
    bool falls = has_flag(r, index, TILE_ATTR_descending);
    if (tile_scalar_is_floating(type->scalar)) return number(r, type, falls ? -INFINITY : NAN);
    tile_word kind = falls ? TILE_WORD_kind_max : TILE_WORD_kind_min;
    return tile_build_constant(
        &r->k.b, type,
        tile_expr_int(r->k.s->context, tile_kind_integer_identity(kind, type->scalar)));
}

/* What changes nothing. */
static tile_value identity_of(rows *r, size_t index) {
    const tile_type *type = rows_type(r, index);
    if (rows_is_sort(r, index)) return last_of(r, index);
    if (rows_leaves_nan_out(r, index))
        return number(r, type,
                      rows_may_be_infinite(r, index) ? tile_kind_identity(rows_kind(r, index))
                                                     : NAN);
    if (tile_scalar_is_floating(type->scalar))
        return number(r, type, tile_kind_identity(rows_kind(r, index)));
    int64_t identity = tile_kind_integer_identity(rows_kind(r, index), type->scalar);
    return tile_build_constant(&r->k.b, type, tile_expr_int(r->k.s->context, identity));
}

static tile_value place_along(rows *r) {
    const sched_coordinate at = {(int)r->axis, NULL};
    return sched_coordinate_tile(&r->k, &at);
}

/* The elements of the tile that count. */
static tile_value elements_of(rows *r, size_t index) {
    sched_kernel *k = &r->k;
    sched_map map = sched_identity(&k->g->domain);
    tile_value value =
        sched_full(k, sched_value(k, rows_source(r, index), &map, rows_type(r, index)));
    if (!value.id || rows_count_nothing(r, index)) return value;
    tile_value end = sched_number(k, sched_expr(k->s, r->extent));
    tile_value inside = tile_build_lt(&k->b, place_along(r), end);
    return tile_build_select(&k->b, inside, value, identity_of(r, index));
}

static tile_op build_along(rows *r, tile_opcode opcode, tile_value src, tile_op like) {
    static const tile_attr_id more[] = {TILE_ATTR_kind, TILE_ATTR_nan, TILE_ATTR_reverse,
                                        TILE_ATTR_exclusive, TILE_ATTR_descending};
    enum { MORE = sizeof more / sizeof *more };
    sched_kernel *k = &r->k;
    tile_attr attrs[MORE + 1] = {
        {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, r->t)}};
    unsigned count = 1;
    for (unsigned i = 0; i < MORE; i++) {
        const tile_attr *attr = tile_op_attr(k->s->compute, like, more[i]);
        if (attr) attrs[count++] = *attr;
    }
    const tile_segment segments[] = {
        {src, NULL, 0}, {TILE_NO_VALUE, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    tile_op op = tile_build_op_of(&k->b, opcode, segments, opcode == TILE_OP_reduce_arg ? 3 : 2,
                                  NULL, attrs, count);
    if (!op.id) return op;
    for (unsigned i = 0; i < MORE; i++) tile_op_take_attr(k->f, op, k->s->compute, like, more[i]);
    tile_op_set_int(k->f, op, TILE_ATTR_axis, r->t);
    return op;
}

/* Rows without elements. */
static tile_value of_none(rows *r, size_t index, tile_value value) {
    sched_kernel *k = &r->k;
    if (!rows_leaves_nan_out(r, index) || rows_may_be_infinite(r, index) || r->known > 0)
        return value;
    tile_value end = sched_number(k, sched_expr(k->s, r->extent));
    tile_value any = tile_build_gt(&k->b, end, tile_build_int(&k->b, 0));
    return tile_build_select(
        &k->b, any, value, number(r, rows_type(r, index), tile_kind_identity(rows_kind(r, index))));
}

/* The reduction's results, each of the type that it is computed in. */
static void remember_results(rows *r, size_t index, tile_value value, tile_value place) {
    schedule *s = r->k.s;
    sched_map map = is_along(r, index) ? sched_identity(&r->k.g->domain) : row_map(r);
    tile_op op = r->k.g->reductions[index];
    if (!value.id) return;
    sched_remember(&r->k, tile_op_result(s->compute, op, 0), &map, rows_type(r, index),
                   of_none(r, index, value));
    if (rows_finds_place(r, index))
        sched_remember(&r->k, tile_op_result(s->compute, op, 1), &map,
                       tile_type_scalar(s->context, TILE_i32), place);
}

static void reduce_tile(rows *r, size_t index, tile_value elements) {
    bool places = rows_finds_place(r, index);
    tile_op like = r->k.g->reductions[index];
    tile_op op = build_along(r, tile_op_opcode(r->k.s->compute, like), elements, like);
    remember_results(r, index, tile_op_result(r->k.f, op, 0),
                     places ? tile_op_result(r->k.f, op, 1) : TILE_NO_VALUE);
}

/* Outputs ---------------------------------------------------------------------------------------
 */

/* Whether the output has elements along the axis. */
static bool is_long(const rows *r, const sched_output *output) {
    const tile_type *type = sched_type(r->k.s, r->k.s->arrays[output->array].value);
    for (unsigned d = 0; d < type->rank; d++)
        if (output->map.at[d].dim == (int)r->axis) return true;
    return false;
}

static void store_outputs(rows *r, bool of_rows) {
    sched_kernel *k = &r->k;
    schedule *s = k->s;
    for (size_t i = 0; i < k->g->output_count && !s->failed; i++) {
        const sched_output *output = &k->g->outputs[i];
        tile_value value = s->arrays[output->array].value;
        if (is_long(r, output) == of_rows) continue;
        tile_value tile = sched_value(k, value, &output->map, sched_element(s, value));
        if (tile.id) sched_store(k, output->array, &output->map, tile);
    }
}

static bool has_long_output(const rows *r) {
    for (size_t i = 0; i < r->k.g->output_count; i++)
        if (is_long(r, &r->k.g->outputs[i])) return true;
    return false;
}

/* One tile ---------------------------------------------------------------------------------------
 */

static void build_at_once(rows *r) {
    size_t mark = sched_enter(&r->k);
    r->k.start[r->axis] = tile_build_int(&r->k.b, 0);
    for (unsigned level = 1; level <= r->last; level++)
        for (size_t i = 0; i < r->k.g->reduction_count; i++)
            if (r->levels[i] == level) reduce_tile(r, i, elements_of(r, i));
    store_outputs(r, true);
    store_outputs(r, false);
    sched_leave(&r->k, mark);
}

/* Tile by tile -----------------------------------------------------------------------------------
 */

static tile_value with_nan(rows *r, size_t index, tile_value extreme) {
    if (rows_takes_nan(r, index))
        tile_op_set_flag(r->k.f, tile_value_def(r->k.f, extreme), TILE_ATTR_nan);
    return extreme;
}

static tile_value combine(rows *r, size_t index, tile_value a, tile_value b) {
    tile_builder *to = &r->k.b;
    switch (rows_kind(r, index)) {
    case TILE_WORD_kind_add: return tile_build_add(to, a, b);
    case TILE_WORD_kind_mul: return tile_build_mul(to, a, b);
    case TILE_WORD_kind_min: return with_nan(r, index, tile_build_min(to, a, b));
    case TILE_WORD_kind_max: return with_nan(r, index, tile_build_max(to, a, b));
    case TILE_WORD_kind_and: return tile_build_and(to, a, b);
    case TILE_WORD_kind_or: return tile_build_or(to, a, b);
    case TILE_WORD_kind_xor: return tile_build_xor(to, a, b);
    default: break;
    }
    SCHED_FAIL(r->k.s, r->k.g->reductions[index], "this kind of reduction is not scheduled yet");
    return TILE_NO_VALUE;
}

/* Whether b goes before a, which has a lower coordinate: not where they are equal. */
static tile_value is_better(rows *r, size_t index, tile_value a, tile_value b) {
    tile_builder *to = &r->k.b;
    bool largest = rows_kind(r, index) == TILE_WORD_kind_max;
    tile_value better = largest ? tile_build_gt(to, b, a) : tile_build_lt(to, b, a);
    if (!tile_scalar_is_floating(rows_type(r, index)->scalar)) return better;
    tile_value nan = tile_build_ne(to, a, a), fine = tile_build_eq(to, b, b);
    return tile_build_or(to, better, tile_build_and(to, nan, fine));
}

/* Carried values: one of each reduction of the level, two of those that find a place. */
typedef struct carried {
    size_t reductions[64];
    unsigned count, values;
    tile_value at[128];
} carried;

static void begin_sums(rows *r, unsigned level, carried *c) {
    sched_kernel *k = &r->k;
    k->start[r->axis] = tile_build_int(&k->b, 0);
    for (size_t i = 0; i < k->g->reduction_count; i++) {
        if (r->levels[i] != level) continue;
        if (c->count == 64) {
            SCHED_FAIL(k->s, k->g->reductions[i],
                       "more than 64 reductions of the same rows: compute some of them in another "
                       "compute");
            return;
        }
        c->reductions[c->count++] = i;
        c->at[c->values++] = sched_full(k, identity_of(r, i));
        if (rows_finds_place(r, i)) c->at[c->values++] = sched_full(k, place_along(r));
    }
}

static void add_elements(rows *r, const carried *c, tile_region body, tile_value *next) {
    sched_kernel *k = &r->k;
    for (unsigned i = 0, at = 0; i < c->count; i++) {
        size_t index = c->reductions[i];
        tile_value elements = elements_of(r, index);
        tile_value sum = tile_region_arg(k->f, body, at + 1);
        if (!elements.id) return;
        if (!rows_finds_place(r, index)) {
            next[at++] = combine(r, index, sum, elements);
            continue;
        }
        tile_value better = is_better(r, index, sum, elements);
        tile_value place = tile_region_arg(k->f, body, at + 2);
        next[at++] = tile_build_select(&k->b, better, elements, sum);
        next[at++] = tile_build_select(&k->b, better, sched_full(k, place_along(r)), place);
    }
}

/* A loop along the rows; the builder stands in it, before its yield, until leave_loop. */
typedef struct loop {
    tile_op op;
    tile_builder outside;
    size_t mark;
} loop;

static loop enter_loop(rows *r, const tile_value *inits, unsigned count) {
    sched_kernel *k = &r->k;
    loop l = {.mark = sched_enter(k)};
    l.op = tile_build_for_loop(&k->b, tile_build_int(&k->b, 0),
                               sched_number(k, sched_expr(k->s, r->extent)),
                               sched_number(k, k->block[r->t]), inits, count);
    l.outside = k->b;
    tile_region body = tile_op_region(k->f, l.op, 0);
    k->b = tile_builder_at_end(k->f, body);
    k->start[r->axis] = tile_region_arg(k->f, body, 0);
    return l;
}

static void leave_loop(rows *r, const loop *l, const tile_value *next, unsigned count) {
    tile_build_yield(&r->k.b, next, count);
    r->k.b = l->outside;
    sched_leave(&r->k, l->mark);
}

/* Of equal ones the lowest coordinate; where all are NaN, the first. */
static tile_value find_place(rows *r, tile_value values, tile_value places, tile_value best) {
    tile_builder *b = &r->k.b;
    sched_kernel *k = &r->k;
    tile_value here = tile_build_eq(b, values, best);
    const tile_type *type = tile_value_type(k->f, values);
    if (tile_scalar_is_floating(type->scalar))
        here = tile_build_or(b, here, sched_full(k, tile_build_ne(b, best, best)));
    tile_value candidates = tile_build_select(b, here, places, tile_build_int(b, INT32_MAX));
    const tile_segment segments[] = {{candidates, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, r->t)};
    tile_op op = tile_build_op_of(b, TILE_OP_reduce, segments, 2, NULL, &axis, 1);
    tile_op_set_text(k->f, op, TILE_ATTR_kind, "min");
    tile_op_set_int(k->f, op, TILE_ATTR_axis, r->t);
    return tile_op_result(k->f, op, 0);
}

static void finish_sums(rows *r, const carried *c, tile_op op) {
    for (unsigned i = 0, at = 0; i < c->count; i++) {
        size_t index = c->reductions[i];
        tile_value sums = tile_op_result(r->k.f, op, at++);
        tile_op along = build_along(r, TILE_OP_reduce, sums, r->k.g->reductions[index]);
        tile_value best = tile_op_result(r->k.f, along, 0), place = TILE_NO_VALUE;
        if (rows_finds_place(r, index))
            place = find_place(r, sums, tile_op_result(r->k.f, op, at++), best);
        remember_results(r, index, best, place);
    }
}

static void build_tile_by_tile(rows *r) {
    size_t mark = sched_enter(&r->k);
    for (unsigned level = 1; level <= r->last && !r->k.s->failed; level++) {
        carried c = {.count = 0};
        tile_value next[128];
        begin_sums(r, level, &c);
        loop l = enter_loop(r, c.at, c.values);
        add_elements(r, &c, tile_op_region(r->k.f, l.op, 0), next);
        leave_loop(r, &l, next, c.values);
        finish_sums(r, &c, l.op);
    }
    store_outputs(r, true);
    if (has_long_output(r)) {
        loop l = enter_loop(r, NULL, 0);
        store_outputs(r, false);
        leave_loop(r, &l, NULL, 0);
    }
    sched_leave(&r->k, mark);
}

/* Tiles ------------------------------------------------------------------------------------------
 */

/* The dim beside the axis: the last one, if that is not the axis, else the one before; -1: none. */
static int dim_beside(const rows *r) {
    const sched_domain *domain = &r->k.g->domain;
    int found = -1;
    for (unsigned d = 0; d < domain->rank; d++)
        if (d != r->axis && !sched_is_one(domain->extents[d])) found = (int)d;
    return found;
}

static int power_above(int64_t extent, int most) {
    int block = 1;
    while (block < most && block < extent) block *= 2;
    return block;
}

static const tile_expr *constant(const rows *r, int value) {
    return tile_expr_int(r->k.s->context, value);
}

/* Both dims of the tile, or the only one; the axis' has `along` elements. */
static void set_tiles(rows *r, int beside, const tile_expr *other, const tile_expr *along) {
    bool before = beside >= 0 && beside < (int)r->axis;
    r->t = before ? 1 : 0;
    if (beside >= 0) sched_set_tile(&r->k, (unsigned)beside, before ? 0 : 1, other);
    sched_set_tile(&r->k, r->axis, r->t, along);
}

/* Rows lie side by side in memory, or their elements do: then tiles are as wide as sectors ask for,
 * and go down the axis. */
static void build_columns(rows *r, int beside) {
    static const int points[] = {64, 32, 8, 128, 32, 8, 32, 64, 8, 32, 128, 8, 16, 256, 8};
    const tile_expr *params[] = {sched_add_param(&r->k, "rows"), sched_add_param(&r->k, "columns"),
                                 sched_add_param(&r->k, "num_warps")};
    set_tiles(r, beside, params[1], params[0]);
    sched_add_tune(&r->k, params, 3, points, 5);
    sched_set_warps(&r->k, params[2]);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    build_tile_by_tile(r);
}

/* Rows of known extent: several in a tile where they are short. */
static void build_known(rows *r, int beside) {
    int block = power_above(r->known, 16384), height = block < 2048 ? 2048 / block : 1;
    int64_t others = beside < 0 ? 1 : sched_constant(r->k.g->domain.extents[beside]);
    if (others > 0 && others < height) height = power_above(others, height);
    int warps = block * height <= 4096 ? 4 : block * height <= 8192 ? 8 : 16;
    const int points[] = {height, warps, height, warps / 2, 2 * height, warps, 1, warps};
    const tile_expr *params[] = {sched_add_param(&r->k, "rows"),
                                 sched_add_param(&r->k, "num_warps")};
    set_tiles(r, beside, params[0], constant(r, block));
    sched_add_tune(&r->k, params, 2, points, height > 1 ? 4 : 2);
    sched_set_warps(&r->k, params[1]);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    build_at_once(r);
}

static const tile_expr *quarter(const rows *r, const tile_expr *block) {
    return tile_expr_op(r->k.s->context, TILE_OP_div, block, constant(r, 4), NULL);
}

/* At once where a row fits the block's tile, else tile by tile, with fewer elements in a tile,
 * since each of them has a sum. */
static void build_either(rows *r, int beside, const tile_expr *block) {
    sched_kernel *k = &r->k;
    tile_value end = sched_number(k, sched_expr(k->s, r->extent));
    tile_value fits = tile_build_le(&k->b, end, sched_number(k, block));
    tile_op both = tile_build_if_else(&k->b, fits, NULL, 0);
    tile_builder outside = k->b;
    for (unsigned i = 0; i < 2; i++) {
        k->b = tile_builder_at_end(k->f, tile_op_region(k->f, both, i));
        set_tiles(r, beside, constant(r, 1), i ? quarter(r, block) : block);
        if (i)
            build_tile_by_tile(r);
        else
            build_at_once(r);
        tile_build_yield(&k->b, NULL, 0);
    }
    k->b = outside;
}

/* One row for each block. */
static void build_unknown(rows *r, int beside) {
    static const int points[] = {8192, 8, 8192, 16, 4096, 8, 4096, 4, 2048, 4, 1024, 4, 16384, 16};
    static const int summed[] = {8192, 8, 8192, 4, 4096, 4, 2048, 4, 1024, 4};
    const tile_expr *params[] = {sched_add_param(&r->k, "block"),
                                 sched_add_param(&r->k, "num_warps")};
    bool once = r->last == 1 && !has_long_output(r);
    set_tiles(r, beside, constant(r, 1), params[0]);
    sched_add_tune(&r->k, params, 2, once ? summed : points, once ? 5 : 7);
    sched_set_warps(&r->k, params[1]);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    if (once)
        build_tile_by_tile(r);
    else if (r->known >= 0)
        build_tile_by_tile(r);
    else
        build_either(r, beside, params[0]);
}

/* A scan or sort has all of a row in one tile; false after a report. */
static bool fits_along(rows *r) {
    for (size_t i = 0; i < r->k.g->reduction_count; i++) {
        tile_op op = r->k.g->reductions[i];
        if (!is_along(r, i) || (r->known >= 0 && r->known <= 16384)) continue;
        SCHED_FAIL(r->k.s, op,
                   "%s: a block has a whole row, of at most 16384 elements, and its extent is %s: "
                   "%s",
                   tile_op_name(r->k.s->compute, op), r->known < 0 ? "not known" : "more",
                   r->known < 0 ? "give it, as in schedule{n=4096}" : "write a kernel for it");
        return false;
    }
    return true;
}

static bool has_along(const rows *r) {
    for (size_t i = 0; i < r->k.g->reduction_count; i++)
        if (is_along(r, i)) return true;
    return false;
}

void sched_make_rows(schedule *s, sched_group *g, const char *name) {
    rows r = {.axis = g->axis};
    sched_kernel_open(&r.k, s, g, name);
    r.extent = g->domain.extents[g->axis];
    r.known = sched_constant(r.extent);
    find_levels(&r);
    int beside = dim_beside(&r);
    if (!fits_along(&r)) return;
    if (beside > (int)r.axis && !has_along(&r))
        build_columns(&r, beside);
    else if (r.known >= 0 && r.known <= 16384)
        build_known(&r, beside);
    else
        build_unknown(&r, beside);
}
