/* Rows: reductions along one axis and the values computed from them. A block has a few rows. If a
 * tile can hold all of their elements, they are read once. Otherwise the block loops along the rows
 * one tile at a time. One loop computes all reductions that depend on no other ones, or that can be
 * corrected after the loop (assign_loops.c). Further loops compute the reductions that must wait
 * for these, and outputs with as many elements as the rows. Each position of the tile has a
 * separate partial sum; these are combined at the end. A short axis, such as that of a pooling
 * window, would leave most of a tile empty or make the tile small. In that case the tile has two
 * other dims and the loop advances along the axis by one element.
 *
 * Elements of a tile after the end of a row must not affect the result: the load's pad, or a
 * select, makes them the identity of the reduction. For the maximum or minimum of floats the
 * identity is NaN, which these operations ignore, so a row that contains only NaN gives NaN. If the
 * maximum is only subtracted from its own row, as in softmax, the pad is -inf instead: exp maps it
 * to 0, so no select is needed after it. */
#include "passes/schedule/rows/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/ir/syntax.h"

sched_map rows_map_of_row(const rows *r) {
    sched_map map = sched_identity(&r->k.g->domain);
    map.at[r->axis] = sched_zero_coordinate();
    return map;
}

/* Levels --------------------------------------------------------------------------------------- */

int rows_reduction_index(const rows *r, tile_value value) {
    tile_op op = tile_value_def(r->k.s->compute, value);
    for (size_t i = 0; op.id && i < r->k.g->reduction_count; i++)
        if (r->k.g->reductions[i].id == op.id) return (int)i;
    return -1;
}

/* The highest level of the reductions that the value is computed from. */
static unsigned level_of(rows *r, tile_value value, unsigned *seen) {
    schedule *s = r->k.s;
    tile_op op = tile_value_def(s->compute, value);
    int reduction = rows_reduction_index(r, value);
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

/* Values --------------------------------------------------------------------------------------- */

static tile_value number(rows *r, const tile_type *type, double value) {
    return tile_build_constant(&r->k.b, type, tile_expr_float(r->k.s->context, value));
}

/* The value that sorts after all others. */
static tile_value last_of(rows *r, size_t index) {
    const tile_type *type = rows_type(r, index);
    bool is_descending = has_flag(r, index, TILE_ATTR_descending);
    if (tile_scalar_is_floating(type->scalar))
        return number(r, type, is_descending ? -INFINITY : NAN);
    tile_word kind = is_descending ? TILE_WORD_kind_max : TILE_WORD_kind_min;
    return tile_build_constant(
        &r->k.b, type,
        tile_expr_int(r->k.s->context, tile_kind_integer_identity(kind, type->scalar)));
}

tile_value rows_identity_of(rows *r, size_t index) {
    const tile_type *type = rows_type(r, index);
    if (rows_is_sort(r, index)) return last_of(r, index);
    if (rows_ignores_nan(r, index))
        return number(r, type,
                      rows_may_be_infinite(r, index) ? tile_kind_identity(rows_kind(r, index))
                                                     : NAN);
    if (tile_scalar_is_floating(type->scalar))
        return number(r, type, tile_kind_identity(rows_kind(r, index)));
    int64_t identity = tile_kind_integer_identity(rows_kind(r, index), type->scalar);
    return tile_build_constant(&r->k.b, type, tile_expr_int(r->k.s->context, identity));
}

tile_value rows_index_along(rows *r) {
    const sched_coordinate at = sched_dim_coordinate(r->axis);
    return sched_coordinate_tile(&r->k, &at);
}

tile_value rows_elements_of(rows *r, size_t index) {
    sched_kernel *k = &r->k;
    sched_map map = sched_identity(&k->g->domain);
    tile_value value = sched_broadcast_to_tile(
        k, sched_value(k, rows_source(r, index), &map, rows_type(r, index)));
    if (!value.id || rows_tail_is_neutral(r, index)) return value;
    tile_value end = sched_number(k, sched_expr(k->s, r->extent));
    tile_value inside = tile_build_lt(&k->b, rows_index_along(r), end);
    return tile_build_select(&k->b, inside, value, rows_identity_of(r, index));
}

tile_op rows_build_along(rows *r, tile_opcode opcode, tile_value src, tile_op like) {
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

tile_value rows_reduce(rows *r, tile_value tile, const char *kind) {
    sched_kernel *k = &r->k;
    const tile_segment segments[] = {{tile, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, r->t)};
    tile_op op = tile_build_op_of(&k->b, TILE_OP_reduce, segments, 2, NULL, &axis, 1);
    if (!op.id) return TILE_NO_VALUE;
    tile_op_set_text(k->f, op, TILE_ATTR_kind, kind);
    tile_op_set_int(k->f, op, TILE_ATTR_axis, r->t);
    return tile_op_result(k->f, op, 0);
}

/* Replaces the result for rows without elements. */
static tile_value of_none(rows *r, size_t index, tile_value value) {
    sched_kernel *k = &r->k;
    if (!rows_ignores_nan(r, index) || rows_may_be_infinite(r, index) || r->known > 0) return value;
    tile_value end = sched_number(k, sched_expr(k->s, r->extent));
    tile_value any = tile_build_gt(&k->b, end, tile_build_int(&k->b, 0));
    return tile_build_select(
        &k->b, any, value, number(r, rows_type(r, index), tile_kind_identity(rows_kind(r, index))));
}

void rows_remember_results(rows *r, size_t index, tile_value value, tile_value place) {
    schedule *s = r->k.s;
    sched_map map = is_along(r, index) ? sched_identity(&r->k.g->domain) : rows_map_of_row(r);
    tile_op op = r->k.g->reductions[index];
    if (!value.id) return;
    sched_remember(&r->k, tile_op_result(s->compute, op, 0), &map, rows_type(r, index),
                   of_none(r, index, value));
    if (rows_returns_index(r, index))
        sched_remember(&r->k, tile_op_result(s->compute, op, 1), &map,
                       tile_type_scalar(s->context, TILE_i32), place);
}

static void reduce_tile(rows *r, size_t index, tile_value elements) {
    bool places = rows_returns_index(r, index);
    tile_op like = r->k.g->reductions[index];
    tile_op op = rows_build_along(r, tile_op_opcode(r->k.s->compute, like), elements, like);
    rows_remember_results(r, index, tile_op_result(r->k.f, op, 0),
                          places ? tile_op_result(r->k.f, op, 1) : TILE_NO_VALUE);
}

/* Outputs -------------------------------------------------------------------------------------- */

bool rows_is_long(const rows *r, const sched_output *output) {
    const tile_type *type = sched_type(r->k.s, r->k.s->arrays[output->array].value);
    for (unsigned d = 0; d < type->rank; d++)
        if (sched_depends(&output->map.at[d], r->axis)) return true;
    return false;
}

void rows_store_outputs(rows *r, bool of_rows) {
    sched_kernel *k = &r->k;
    schedule *s = k->s;
    for (size_t i = 0; i < k->g->output_count && !s->failed; i++) {
        const sched_output *output = &k->g->outputs[i];
        tile_value value = s->arrays[output->array].value;
        if (rows_is_long(r, output) == of_rows) continue;
        tile_value tile = sched_value(k, value, &output->map, sched_element(s, value));
        if (tile.id) sched_store(k, output->array, &output->map, tile);
    }
}

bool rows_has_long_output(const rows *r) {
    for (size_t i = 0; i < r->k.g->output_count; i++)
        if (rows_is_long(r, &r->k.g->outputs[i])) return true;
    return false;
}

/* A whole row in one tile ---------------------------------------------------------------------- */

void rows_build_at_once(rows *r) {
    size_t mark = sched_enter(&r->k);
    r->k.start[r->axis] = tile_build_int(&r->k.b, 0);
    for (unsigned level = 1; level <= r->last; level++)
        for (size_t i = 0; i < r->k.g->reduction_count; i++)
            if (r->levels[i] == level) reduce_tile(r, i, rows_elements_of(r, i));
    rows_store_outputs(r, true);
    rows_store_outputs(r, false);
    sched_leave(&r->k, mark);
}

/* Row by row in several tiles ------------------------------------------------------------------ */

/* The dim other than the axis: the last one, or the one before it if the axis is last; -1: none. */
static int dim_beside(const rows *r) {
    const sched_domain *domain = &r->k.g->domain;
    int found = -1;
    for (unsigned d = 0; d < domain->rank; d++)
        if (d != r->axis && !tile_expr_is(domain->extents[d], 1)) found = (int)d;
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

void rows_set_tiles(rows *r, int beside, const tile_expr *other, const tile_expr *along) {
    bool before = beside >= 0 && beside < (int)r->axis;
    r->t = before ? 1 : 0;
    if (beside >= 0) sched_set_tile(&r->k, (unsigned)beside, before ? 0 : 1, other);
    sched_set_tile(&r->k, r->axis, r->t, along);
}

/* As many tiles in a step as the registers can hold besides the sums. */
void rows_build_in_steps(rows *r) {
    enum { MANY = 4 };
    unsigned carried = 0;
    for (size_t i = 0; i < r->k.g->reduction_count; i++)
        carried += rows_count_carried(r, i) * (rows_type(r, i)->scalar == TILE_f64 ? 2 : 1);
    r->copies = !r->online_sum_count || r->tile ? 1 : carried > MANY ? 2 : ROWS_MAX_COPIES;
    rows_build_tile_by_tile(r);
    r->copies = 1;
}

/* The axis is not contiguous: tiles have the width of whole sectors, and the loop goes down the
 * axis. */
static void build_columns(rows *r, int beside) {
    enum { LIKELY = 16 };
    int points[ROWS_COLUMN_POINTS * 3];
    unsigned count = rows_list_columns(r, beside, true, points);
    int64_t along = points[0], blocks = rows_count_others(r, beside, points[1]);
    bool splits = rows_may_split(r, along, blocks);
    if (!splits) count = rows_list_columns(r, beside, false, points);
    for (unsigned p = 0; p < count; p++)
        if (points[3 * p] < r->least) r->least = points[3 * p];
    const tile_expr *params[] = {sched_add_param(&r->k, "rows"), sched_add_param(&r->k, "columns"),
                                 sched_add_param(&r->k, "num_warps")};
    const tile_expr *parts[2];
    rows_set_tiles(r, beside, params[1], params[0]);
    sched_add_tune(&r->k, params, 3, points, count);
    if (splits) rows_add_splits(r, along, blocks, LIKELY, parts);
    sched_set_warps(&r->k, params[2]);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    if (splits)
        rows_build_split(r, parts[0], parts[1]);
    else
        rows_build_in_steps(r);
}

/* Returns whether the kernel reads and writes so much that the memory's time is all that counts. */
static bool copies_much(const rows *r) {
    enum { LARGE = 256 << 20 /* bytes */, WIDTH = 4 };
    for (size_t i = 0; i < r->k.g->output_count; i++) {
        const sched_output *output = &r->k.g->outputs[i];
        tile_value value = r->k.s->arrays[output->array].value;
        if (rows_is_long(r, output) && sched_count_bytes(r->k.s, output->array) >= LARGE &&
            tile_scalar_bytes(sched_element(r->k.s, value)->scalar) == WIDTH)
            return true;
    }
    return false;
}

/* The point whose threads have few elements each: memory is fastest if few bytes are requested at a
 * time. (H200, f32, warps of the best point and of the usual one: rows of 8192 are normalized in
 * 507 us with 32, 524 with 8, their softmax in 518 with 16; rows of 4096 take 518 with 16, 524 with
 * 4, and 822 with 32; rows of 1024 508, and 524 if a block has two.) Returns the number of points:
 * 0 if other times count, too. */
static unsigned list_small(const rows *r, int block, int height, int *points) {
    enum { EACH = 8, WARP = 32, LEAST = 4, MOST = 16, LIGHT = 8192 };
    const bool light =
        block == LIGHT && height == 1 && r->k.g->reduction_count == 1 && r->k.g->input_count == 1;
    if (!copies_much(r)) return 0;
    while (height > 1 && block * height > EACH * WARP * LEAST) height /= 2;
    int warps = block * height / (EACH * WARP), most = light ? 2 * MOST : MOST;
    points[0] = height;
    points[1] = warps < LEAST ? LEAST : warps > most ? most : warps;
    return 1;
}

void rows_set_known_tiles(rows *r, int beside) {
    int block = power_above(r->known, 16384), height = block < 2048 ? 2048 / block : 1;
    int64_t others = beside < 0 ? 1 : sched_constant(r->k.g->domain.extents[beside]);
    if (others > 0 && others < height) height = power_above(others, height);
    int warps = block * height <= 4096 ? 4 : block * height <= 8192 ? 8 : 16;
    const int usual[] = {height, warps, height, warps / 2, 2 * height, warps, 1, warps};
    int points[2 + sizeof usual / sizeof *usual];
    unsigned first = list_small(r, block, height, points);
    memcpy(points + 2 * first, usual, sizeof usual);
    const tile_expr *params[] = {sched_add_param(&r->k, "rows"),
                                 sched_add_param(&r->k, "num_warps")};
    rows_set_tiles(r, beside, params[0], constant(r, block));
    sched_add_tune(&r->k, params, 2, points, first ? first : height > 1 ? 4 : 2);
    sched_set_warps(&r->k, params[1]);
}

static void build_known(rows *r, int beside) {
    rows_set_known_tiles(r, beside);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    rows_build_at_once(r);
}

/* A sort needs the whole row in one tile, and so does a scan combined with other reductions. False
 * after a diagnostic. */
static bool fits_along(rows *r) {
    if (rows_can_scan_chunks(r)) return true;
    for (size_t i = 0; i < r->k.g->reduction_count; i++) {
        tile_op op = r->k.g->reductions[i];
        if (!is_along(r, i) || (r->known >= 0 && r->known <= TILE_MAX_SORTED_ROW)) continue;
        SCHED_FAIL(
            r->k.s, op,
            "%s: a block computes a whole row, of at most %d elements, and its extent is %s: %s",
            tile_op_name(r->k.s->compute, op), TILE_MAX_SORTED_ROW,
            r->known < 0 ? "not known" : "more",
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

/* Short axes ----------------------------------------------------------------------------------- */

/* The last dim before `beside` that is not the axis; -1: none. */
static int dim_before(const rows *r, int beside) {
    for (int d = beside - 1; d >= 0; d--)
        if (d != (int)r->axis && !tile_expr_is(r->k.g->domain.extents[d], 1)) return d;
    return -1;
}

/* For pooling windows, and for reductions of few arrays along a leading axis, a tile of both dims
 * would consist mostly of the axis. Contiguous elements along the other dim are read together. */
static bool has_one_element_along(const rows *r, int beside) {
    enum { SHORT = 32 };
    bool apart = beside > (int)r->axis;
    for (size_t i = 0; i < r->k.g->reduction_count; i++)
        apart |= r->k.s->expands[rows_source(r, i).id];
    return apart && r->known > 0 && r->known <= SHORT && !has_along(r) && !rows_must_split(r) &&
           dim_before(r, beside) >= 0;
}

static void set_one_element_along(rows *r, int before, int beside,
                                  const tile_expr *const *extents) {
    r->one_element_along = true;
    sched_set_tile(&r->k, (unsigned)before, 0, extents[0]);
    sched_set_tile(&r->k, (unsigned)beside, 1, extents[1]);
}

/* Loops along the axis element by element, with tiles of two other dims. */
static void build_one_element(rows *r, int beside) {
    enum { POINTS = 5 };
    static const int shapes[POINTS][3] = {
        {8, 128, 4}, {16, 64, 4}, {4, 256, 4}, {32, 32, 4}, {4, 64, 4}};
    const tile_expr *params[] = {sched_add_param(&r->k, "rows"), sched_add_param(&r->k, "columns"),
                                 sched_add_param(&r->k, "num_warps")};
    int before = dim_before(r, beside), points[POINTS * 3];
    unsigned count = 0;
    for (unsigned i = 0; i < POINTS; i++) {
        int64_t wide = sched_constant(r->k.g->domain.extents[beside]);
        int64_t high = sched_constant(r->k.g->domain.extents[before]);
        int width = wide < 0 ? shapes[i][1] : power_above(wide, shapes[i][1]);
        int height = shapes[i][0] * (shapes[i][1] / width);
        if (high >= 0) height = power_above(high, height);
        count += rows_add_point(points, count, height, width, shapes[i][2]);
    }
    set_one_element_along(r, before, beside, params);
    sched_add_tune(&r->k, params, 3, points, count);
    sched_set_warps(&r->k, params[2]);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    rows_build_tile_by_tile(r);
}

/* Tiles chosen by attributes ------------------------------------------------------------------- */

/* Reductions of the same rows become one kernel; each of them may have attributes. */
static void take_given(rows *r) {
    const tile_function *f = r->k.s->compute;
    for (size_t i = 0; i < r->k.g->reduction_count; i++) {
        tile_op op = rows_op(r, i);
        const tile_attr *tile = tile_op_attr(f, op, TILE_ATTR_tile);
        sched_fixed own = {.count = 0};
        sched_fix_attrs(r->k.s, op, &own);
        sched_merge_fixed(r->k.s, op, "reduction", &own, &r->fixed);
        if (tile && r->tile && memcmp(tile->list, r->tile, tile->count * sizeof *tile->list) != 0)
            SCHED_FAIL(r->k.s, op, "%s: another reduction of the same kernel has another tile",
                       tile_op_name(f, op));
        if (tile) r->tile = tile->list;
    }
}

static int64_t given_extent(const rows *r, unsigned d) {
    return tile_expr_is(r->k.g->domain.extents[d], 1) ? 1 : r->tile[d];
}

/* The dims other than the axis along which the tile has several elements; returns their number. */
static unsigned find_given(const rows *r, int dims[TILE_MAX_RANK]) {
    unsigned count = 0;
    for (unsigned d = 0; d < r->k.g->domain.rank; d++)
        if (d != r->axis && given_extent(r, d) > 1) dims[count++] = (int)d;
    return count;
}

static void add_warps(rows *r, int64_t elements) {
    const int likely = elements <= 4096 ? 4 : elements <= 8192 ? 8 : 16;
    const int points[] = {likely, likely / 2, 2 * likely};
    const tile_expr *warps = sched_add_param(&r->k, "num_warps");
    sched_add_tune(&r->k, &warps, 1, points, likely == 16 ? 2 : 3);
    sched_set_warps(&r->k, warps);
}

/* Tiles of one element along the axis and several along two other dims. */
static void build_given_one_element(rows *r, const int *dims) {
    const tile_expr *extents[] = {tile_expr_int(r->k.s->context, r->tile[dims[0]]),
                                  tile_expr_int(r->k.s->context, r->tile[dims[1]])};
    set_one_element_along(r, dims[0], dims[1], extents);
    add_warps(r, r->tile[dims[0]] * r->tile[dims[1]]);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    rows_build_tile_by_tile(r);
}

static void build_given_beside(rows *r, int beside) {
    int64_t along = given_extent(r, r->axis), others = beside < 0 ? 1 : r->tile[beside];
    int64_t blocks = rows_count_others(r, beside, others);
    bool fits = r->known >= 0 && r->known <= along;
    const tile_expr *parts[2], *other = tile_expr_int(r->k.s->context, others);
    const tile_expr *block = tile_expr_int(r->k.s->context, along);
    bool chains = (!fits || rows_combines(r)) && rows_can_scan_chunks(r);
    if (!fits && !chains && has_along(r))
        SCHED_FAIL(r->k.s, rows_op(r, 0),
                   "%s: a block has a whole row, of %" PRId64 " elements, and the tile %" PRId64
                   " of it",
                   tile_op_name(r->k.s->compute, rows_op(r, 0)), r->known, along);
    bool splits = !r->k.s->failed && !chains && rows_may_split(r, along, blocks);
    if (r->k.s->failed) return;
    r->least = along;
    rows_set_tiles(r, beside, other, block);
    add_warps(r, along * others);
    if (chains) {
        rows_build_chunks(r, beside);
        return;
    }
    if (splits) rows_add_splits(r, along, blocks, 1, parts);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    if (splits)
        rows_build_split(r, parts[0], parts[1]);
    else if (fits)
        rows_build_at_once(r);
    else if (r->known >= 0 || (r->last == 1 && !rows_has_long_output(r)))
        rows_build_tile_by_tile(r);
    else
        rows_build_either(r, beside, other, block, block, rows_build_in_steps);
}

static void build_given(rows *r) {
    int dims[TILE_MAX_RANK];
    unsigned count = find_given(r, dims);
    bool loops = count == 2 && given_extent(r, r->axis) == 1 && !has_along(r) && !rows_combines(r);
    if (loops && !rows_must_split(r))
        build_given_one_element(r, dims);
    else if (count < 2)
        build_given_beside(r, count ? dims[0] : -1);
    else
        SCHED_FAIL(r->k.s, rows_op(r, 0),
                   "%s: a tile has several elements along the axis and one other dim, or, where it "
                   "is not split, 1 along the axis and several along two other dims",
                   tile_op_name(r->k.s->compute, rows_op(r, 0)));
}

static void build(rows *r) {
    int beside = dim_beside(r);
    if (r->tile)
        build_given(r);
    else if (rows_combines(r))
        rows_build_chunks(r, beside);
    else if (rows_has_whole_columns(r, beside))
        rows_build_whole_columns(r, beside);
    else if (has_one_element_along(r, beside))
        build_one_element(r, beside);
    else if (beside > (int)r->axis && !has_along(r))
        build_columns(r, beside);
    else if (beside > (int)r->axis && rows_can_scan_chunks(r))
        rows_build_chunks(r, beside);
    else if (r->known >= 0 && r->known <= 16384 && !rows_must_split(r))
        build_known(r, beside);
    else if (rows_can_scan_chunks(r))
        rows_build_chunks(r, beside);
    else if (rows_fit_cluster(r, beside))
        rows_build_clusters(r, beside);
    else if (!rows_build_with_vector(r, beside))
        rows_build_unknown(r, beside);
}

void sched_make_rows(schedule *s, sched_group *g, const char *name) {
    rows r = {.axis = g->axis, .copies = 1, .least = ROWS_MANY};
    sched_kernel_open(&r.k, s, g, name);
    r.extent = g->domain.extents[g->axis];
    r.known = sched_constant(r.extent);
    find_levels(&r);
    rows_assign_loops(&r);
    if (!fits_along(&r)) return;
    r.k.streams = r.last_loop == 1 && !rows_has_long_output(&r);
    take_given(&r);
    if (!s->failed) build(&r);
    if (!s->failed) sched_fix_points(s, r.k.f, &r.fixed);
}
