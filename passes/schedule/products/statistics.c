/* Epilogues that reduce the rows of a product, groups of its columns, or whole columns: see
 * cut/absorb.c.
 *
 * The accumulator of a tile has whole rows, so each reduction is one operation on registers. Groups
 * of columns are a third dim of the tile, which costs nothing: a reshape to
 * [block_m, block_n / width, width] renames registers. The stored tiles have two dims again. */
#include <math.h>
#include <string.h>

#include "lib/ops/kinds.h"
#include "passes/schedule/products/product.h"

/* Tuning points -------------------------------------------------------------------------------- */

/* Returns whether a tile with so many rows has whole columns, and at most half of it is empty,
 * except that wgmma has at least 64 rows. (H200, minima of 64 channels: tiles of 128 rows take as
 * long for the product alone as those of 64 rows and a second kernel.) */
static bool fits_columns(const product *p, int64_t rows) {
    enum { LEAST = 64 };
    const int64_t height = sched_constant(p->k.g->rows.extents[p->m]);
    return rows >= height && rows < 2 * (height > LEAST ? height : LEAST);
}

/* Returns whether a tile with so many rows and columns has whole rows or groups, and leaves
 * registers for the values of the epilogue. */
static bool fits_rows(const product *p, int64_t rows, int64_t columns, bool reads_tile) {
    /* Elements of an accumulator: others between them take as many registers, but leave fewer. */
    enum { LARGE = 24576, LARGEST = 32768 };
    const sched_group *g = p->k.g;
    int64_t width = sched_constant(g->width ? g->width : g->rows.extents[p->n]);
    bool has_room = rows * columns <= LARGE || (rows * columns == LARGEST && !reads_tile);
    if (g->reduced == p->m) return has_room && fits_columns(p, rows);
    return has_room && (g->width ? columns % width == 0 : columns >= width);
}

static int find_name(const tile_tune_clause *clause, const char *name) {
    for (unsigned n = 0; n < clause->name_count; n++)
        if (strcmp(clause->names[n], name) == 0) return (int)n;
    return -1;
}

/* Adds wide tiles with few rows, so that few rows make enough blocks. */
static unsigned add_wide(const product *p, const tile_tune_clause *clause,
                         const tile_expr **values) {
    static const struct {
        const char *name;
        int values[2];
    } points[] = {{"block_m", {64, 16}},
                  {"block_n", {256, 256}},
                  {"num_warps", {8, 4}},
                  {"cluster_m", {1, 1}},
                  {"cluster_n", {1, 1}}};
    enum { NAMES = sizeof points / sizeof *points, POINTS = 2, WIDE = 128 };
    if (p->k.g->width || p->k.g->reduced == p->m ||
        sched_constant(p->k.g->rows.extents[p->n]) <= WIDE)
        return 0;
    for (unsigned n = 0; n < clause->name_count; n++) {
        unsigned at = 0;
        while (at < NAMES && strcmp(points[at].name, clause->names[n]) != 0) at++;
        if (at == NAMES) return 0;
        for (unsigned i = 0; i < POINTS; i++)
            values[i * clause->name_count + n] =
                tile_expr_int(p->k.s->context, points[at].values[i]);
    }
    return POINTS;
}

/* Two groups of warps that alternate between tiles spill the values of the epilogue of large ones.
 */
static void exclude_large_in_turns(product *p) {
    enum { MOST = 16384 };
    static const char consumers[] = "consumers";
    tile_context *context = p->k.s->context;
    if (!tile_function_find_param(p->k.f, consumers, strlen(consumers))) return;
    const tile_expr *tile =
        tile_expr_multiply(context, product_param(p, "block_m"), product_param(p, "block_n"));
    const tile_expr *small =
        tile_expr_op(context, TILE_OP_le, tile, tile_expr_int(context, MOST), NULL);
    const tile_expr *other = tile_expr_op(context, TILE_OP_ne, product_param(p, consumers),
                                          tile_expr_word(context, "ping_pong"), NULL);
    tile_function_add_where(p->k.f, tile_expr_op(context, TILE_OP_or, other, small, NULL));
}

/* Each of three groups of warps has a third of a tile's rows. */
static void exclude_parts_of_columns(product *p) {
    static const char consumers[] = "consumers";
    tile_context *context = p->k.s->context;
    if (!tile_function_find_param(p->k.f, consumers, strlen(consumers))) return;
    tile_function_add_where(p->k.f, tile_expr_op(context, TILE_OP_ne, product_param(p, consumers),
                                                 tile_expr_word(context, "cooperative_3"), NULL));
}

/* Points are removed, not excluded by a condition, because the first one is used where nothing else
 * decides. */
void product_restrict_tiles(product *p, bool reads_tile) {
    enum { MORE = 2 };
    tile_function *f = p->k.f;
    /* A user's tile has whole rows: otherwise the reductions are not in the epilogue. */
    if (tile_op_has_attr(p->k.s->compute, p->op, TILE_ATTR_tile)) return;
    for (size_t t = 0; t < f->tune_count; t++) {
        tile_tune_clause *clause = &f->tunes[t];
        int rows = find_name(clause, "block_m"), columns = find_name(clause, "block_n");
        const unsigned width = clause->name_count;
        unsigned kept = 0;
        if (rows < 0 || columns < 0) continue;
        const tile_expr **values = TILE_NEW_ARRAY(&f->module->arena, const tile_expr *,
                                                  (size_t)(clause->point_count + MORE) * width);
        for (unsigned i = 0; i < clause->point_count; i++) {
            const tile_expr *const *point = clause->values + (size_t)i * width;
            if (fits_rows(p, sched_constant(point[rows]), sched_constant(point[columns]),
                          reads_tile))
                memcpy(values + (size_t)kept++ * width, point, width * sizeof *values);
        }
        kept += add_wide(p, clause, values + (size_t)kept * width);
        clause->values = values;
        clause->point_count = kept;
    }
    exclude_large_in_turns(p);
    if (p->k.g->reduced == p->m) exclude_parts_of_columns(p);
}

/* Tiles --------------------------------------------------------------------------------------- */

/* The dims of the kernel's tile: those of the epilogue's domain, or of the product. */
static void set_rows(product *p) {
    sched_kernel *k = &p->k;
    const sched_group *g = k->g;
    product_set_sums(p);
    if (!g->width) return;
    sched_set_tile(
        k, p->n, 1,
        tile_expr_op(k->s->context, TILE_OP_div, product_param(p, "block_n"), g->width, NULL));
    sched_set_tile(k, p->n + 1, 2, g->width);
}

static void set_columns(product *p) {
    product_set_sums(p);
    p->k.tile_rank = 2;
}

/* Reductions ---------------------------------------------------------------------------------- */

static tile_value identity_of(product *p, tile_op op, const tile_type *type) {
    sched_kernel *k = &p->k;
    tile_word kind = tile_op_word(k->s->compute, op, TILE_ATTR_kind);
    if (!tile_scalar_is_floating(type->scalar))
        return tile_build_constant(
            &k->b, type,
            tile_expr_int(k->s->context, tile_kind_integer_identity(kind, type->scalar)));
    /* Maxima and minima ignore NaN, unless the operation says otherwise. */
    bool extreme = kind == TILE_WORD_kind_max || kind == TILE_WORD_kind_min;
    bool ignores = extreme && !tile_op_has_attr(k->s->compute, op, TILE_ATTR_nan);
    double number = ignores ? (double)NAN : tile_kind_identity(kind);
    return tile_build_constant(&k->b, type, tile_expr_float(k->s->context, number));
}

/* Groups end where tiles do. A tile may extend after the end of a row, or of a column. */
static tile_value hide_tail(product *p, tile_op op, const tile_type *type, tile_value elements) {
    sched_kernel *k = &p->k;
    const sched_coordinate along = sched_dim_coordinate(k->g->reduced);
    if (k->g->width) return elements;
    tile_value end = sched_number(k, sched_expr(k->s, k->g->rows.extents[k->g->reduced]));
    tile_value inside = tile_build_lt(&k->b, sched_coordinate_tile(k, &along), end);
    return tile_build_select(&k->b, inside, elements, identity_of(p, op, type));
}

static tile_value build_reduce(product *p, tile_op like, tile_value elements) {
    static const tile_attr_id copied[] = {TILE_ATTR_kind, TILE_ATTR_nan};
    enum { COPIED = sizeof copied / sizeof *copied };
    sched_kernel *k = &p->k;
    const int64_t axis = k->tile_of[k->g->reduced];
    tile_attr attrs[COPIED + 1] = {
        {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, axis)}};
    unsigned count = 1;
    for (unsigned i = 0; i < COPIED; i++) {
        const tile_attr *attr = tile_op_attr(k->s->compute, like, copied[i]);
        if (attr) attrs[count++] = *attr;
    }
    const tile_segment segments[] = {{elements, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    tile_op op = tile_build_op_of(&k->b, TILE_OP_reduce, segments, 2, NULL, attrs, count);
    if (!op.id) return TILE_NO_VALUE;
    for (unsigned i = 0; i < COPIED; i++)
        tile_op_take_attr(k->f, op, k->s->compute, like, copied[i]);
    tile_op_set_int(k->f, op, TILE_ATTR_axis, axis);
    return tile_op_result(k->f, op, 0);
}

static void reduce(product *p, tile_op op) {
    sched_kernel *k = &p->k;
    schedule *s = k->s;
    tile_value src = tile_operand_src(s->compute, op);
    const tile_type *type = sched_compute_type(s, sched_element(s, src));
    sched_map map;
    if (!sched_map_in(s, &k->g->rows, sched_type(s, src), &map)) return;
    tile_value elements = sched_broadcast_to_tile(k, sched_value(k, src, &map, type));
    if (!elements.id) return;
    tile_value reduced = build_reduce(p, op, hide_tail(p, op, type, elements));
    map.at[sched_axis(s, op)] = sched_zero_coordinate();
    sched_remember(k, tile_op_result(s->compute, op, 0), &map, type, reduced);
}

/* Outputs -------------------------------------------------------------------------------------- */

static bool is_long(const product *p, const sched_output *output) {
    const schedule *s = p->k.s;
    const tile_type *type = sched_type(s, s->arrays[output->array].value);
    bool along = false;
    for (unsigned d = 0; d < type->rank; d++)
        along |= sched_depends(&output->map.at[d], p->k.g->reduced);
    return along;
}

/* The dims of the epilogue's domain in that of the product. */
static sched_map in_columns(product *p) {
    schedule *s = p->k.s;
    const sched_group *g = p->k.g;
    sched_map to = {{{0, NULL, NULL}}};
    for (unsigned d = 0; d < g->rows.rank; d++) to.at[d] = sched_dim_coordinate(d);
    if (!g->width) return to;
    const sched_coordinate column = sched_dim_coordinate(p->n);
    to.at[p->n] = sched_computed(s, SCHED_DIV, &column, NULL, g->width);
    to.at[p->n + 1] = sched_computed(s, SCHED_REM, &column, NULL, g->width);
    return to;
}

/* Stores a tile of the epilogue. One with all columns is stored as a tile of the product, which
 * bulk stores accept. */
static void store(product *p, const sched_output *output, tile_value tile,
                  const sched_domain *columns, tile_value first_column) {
    sched_kernel *k = &p->k;
    schedule *s = k->s;
    unsigned rank = sched_type(s, s->arrays[output->array].value)->rank;
    if (!k->g->width || !is_long(p, output)) {
        sched_store(k, output->array, &output->map, tile);
        return;
    }
    const sched_map to = in_columns(p), map = sched_substitute(s, &output->map, rank, &to);
    const sched_domain rows = k->g->domain;
    const tile_value first[] = {k->start[p->n], k->start[p->n + 1]};
    k->g->domain = *columns;
    k->start[p->n] = first_column;
    set_columns(p);
    const tile_type *type = sched_full_type(k, sched_element(s, s->arrays[output->array].value));
    sched_store(k, output->array, &map, tile_build_reshape(&k->b, tile, TILE_NO_VALUE, type));
    k->g->domain = rows;
    memcpy(&k->start[p->n], first, sizeof first);
    set_rows(p);
}

void product_build_statistics(product *p, tile_value sums) {
    sched_kernel *k = &p->k;
    schedule *s = k->s;
    const sched_domain columns = k->g->domain;
    const tile_value first_column = k->start[p->n];
    tile_value result = tile_op_result(s->compute, p->op, 0);
    const tile_type *working = sched_compute_type(s, sched_element(s, result));
    sched_map map;
    if (!sched_map_in(s, &k->g->rows, sched_type(s, result), &map)) return;
    sched_leave(k, 0); /* tiles of other domains */
    set_columns(p);
    sums = sched_convert(k, sums, working);
    k->g->domain = k->g->rows;
    if (k->g->width) {
        k->start[p->n] = tile_build_div(&k->b, first_column, sched_number(k, k->g->width));
        k->start[p->n + 1] = tile_build_int(&k->b, 0);
    }
    set_rows(p);
    if (k->g->width)
        sums = tile_build_reshape(&k->b, sums, TILE_NO_VALUE, sched_full_type(k, working));
    sched_remember(k, result, &map, working, sums);
    for (size_t i = 0; i < k->g->reduction_count && !s->failed; i++) reduce(p, k->g->reductions[i]);
    for (size_t i = 0; i < k->g->output_count && !s->failed; i++) {
        const sched_output *output = &k->g->outputs[i];
        tile_value value = s->arrays[output->array].value;
        tile_value tile = sched_value(k, value, &output->map, sched_element(s, value));
        if (tile.id && is_long(p, output)) tile = sched_broadcast_to_tile(k, tile);
        if (tile.id) store(p, output, tile, &columns, first_column);
    }
    k->g->domain = columns;
}
