/* Kernel parameters that attributes of operations fix: `tile`, `stages`, `warps`, `split` and
 * `strategy`. All others are left to the tuner or the cost model.
 *
 * The kernel's tune clauses keep the points that agree with the fixed values. If there are none, no
 * such point has been tuned; the fixed values then replace those of all points. */
#include "passes/schedule/kernel/given.h"

#include <inttypes.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "passes/passes.h"

/* Attributes ----------------------------------------------------------------------------------- */

void sched_fix(sched_fixed *fixed, tile_attr_id attr, const char *name, const tile_expr *value) {
    fixed->at[fixed->count].attr = attr;
    fixed->at[fixed->count].name = name;
    fixed->at[fixed->count++].value = value;
}

const tile_expr *sched_find_fixed(const sched_fixed *fixed, const char *name) {
    for (unsigned i = 0; i < fixed->count; i++)
        if (strcmp(fixed->at[i].name, name) == 0) return fixed->at[i].value;
    return NULL;
}

void sched_merge_fixed(schedule *s, tile_op op, const char *kind, const sched_fixed *own,
                       sched_fixed *all) {
    for (unsigned i = 0; i < own->count; i++) {
        const tile_expr *other = sched_find_fixed(all, own->at[i].name);
        if (!other)
            sched_fix(all, own->at[i].attr, own->at[i].name, own->at[i].value);
        else if (other != own->at[i].value)
            SCHED_FAIL(s, op, "%s: another %s of the same kernel has another `%s`",
                       tile_op_name(s->compute, op), kind, tile_attr_keyword(own->at[i].attr));
    }
}

/* Returns the attribute's number; NULL if it is absent, or not a number (after a diagnostic). */
static const tile_expr *number_of(schedule *s, tile_op op, tile_attr_id id) {
    const tile_attr *attr = tile_op_attr(s->compute, op, id);
    if (!attr) return NULL;
    const tile_expr *value = sched_resolved(s, attr->expr);
    if (sched_constant(value) >= 1) return value;
    SCHED_FAIL(s, op,
               "%s: `%s` must be a number of at least 1: if it is a dim of the compute, give it a "
               "value, as in schedule{n=4}",
               tile_op_name(s->compute, op), tile_attr_keyword(id));
    return NULL;
}

static void fix_number(schedule *s, tile_op op, tile_attr_id id, const char *name,
                       sched_fixed *fixed) {
    const tile_expr *value = number_of(s, op, id);
    if (value) sched_fix(fixed, id, name, value);
}

void sched_fix_attrs(schedule *s, tile_op op, sched_fixed *fixed) {
    const char *strategy = tile_op_attr_text(s->compute, op, TILE_ATTR_strategy);
    fix_number(s, op, TILE_ATTR_stages, "stages", fixed);
    fix_number(s, op, TILE_ATTR_warps, "num_warps", fixed);
    fix_number(s, op, TILE_ATTR_split, SCHED_SPLIT, fixed);
    const tile_expr *split = sched_find_fixed(fixed, SCHED_SPLIT);
    if (!strategy && split && tile_expr_is(split, 1)) strategy = "serial";
    if (strategy)
        sched_fix(fixed, TILE_ATTR_strategy, SCHED_STRATEGY, tile_expr_word(s->context, strategy));
}

/* Clusters of tiles are visited together in raster order. */
static const tile_expr *clusters_of(const tile_function *kernel, const tile_expr *tiles,
                                    unsigned dim) {
    tile_context *context = tile_function_context(kernel);
    if (dim >= kernel->cluster_rank) return tiles;
    const tile_expr *count = tile_expr_op(context, TILE_OP_div, tiles, kernel->cluster[dim], NULL);
    return tile_expr_op(context, TILE_OP_max, count, tile_expr_int(context, 1), NULL);
}

void sched_set_raster(schedule *s, tile_op op, tile_function *kernel) {
    enum { LIKELY = 8 };
    const char *word = tile_op_attr_text(s->compute, op, TILE_ATTR_raster);
    const tile_expr *group = number_of(s, op, TILE_ATTR_group);
    tile_raster raster = TILE_RASTER_ROWS;
    if (!word) return;
    while (strcmp(tile_raster_name(raster), word) != 0) raster++;
    if (!group) group = tile_expr_int(s->context, LIKELY);
    group = clusters_of(kernel, group, raster == TILE_RASTER_COLUMNS);
    tile_function_set_raster(kernel, raster, group);
}

/* Points --------------------------------------------------------------------------------------- */

/* A tune clause of the kernel whose points change. */
typedef struct clause {
    const tile_tune_clause *from;
    const sched_fixed *fixed;
    const tile_expr **values;
    unsigned count;
} clause;

static const tile_expr *value_of(const clause *c, const tile_expr *const *point, const char *name) {
    for (unsigned n = 0; n < c->from->name_count; n++)
        if (strcmp(c->from->names[n], name) == 0) return point[n];
    return NULL;
}

/* Returns whether the point has no parts, so that its strategy is irrelevant. */
static bool is_whole(const clause *c, const tile_expr *const *point) {
    const tile_expr *split = value_of(c, point, SCHED_SPLIT),
                    *strategy = value_of(c, point, SCHED_STRATEGY);
    return split && strategy && tile_expr_is(split, 1) && strcmp(strategy->name, "serial") == 0;
}

/* The point with the fixed values. */
static void fix_point(const clause *c, const tile_expr *const *point, const tile_expr **out) {
    bool whole = is_whole(c, point) && !sched_find_fixed(c->fixed, SCHED_SPLIT);
    for (unsigned n = 0; n < c->from->name_count; n++) {
        const tile_expr *fixed = sched_find_fixed(c->fixed, c->from->names[n]);
        if (whole && strcmp(c->from->names[n], SCHED_STRATEGY) == 0) fixed = NULL;
        out[n] = fixed ? fixed : point[n];
    }
}

static bool same_point(const clause *c, const tile_expr *const *a, const tile_expr *const *b) {
    for (unsigned n = 0; n < c->from->name_count; n++)
        if (a[n] != b[n]) return false;
    return true;
}

static void add_point(clause *c, const tile_expr *const *point) {
    unsigned width = c->from->name_count;
    for (unsigned i = 0; i < c->count; i++)
        if (same_point(c, c->values + i * width, point)) return;
    memcpy(c->values + c->count++ * width, point, width * sizeof *point);
}

/* Lists the points that agree, or all points with the fixed values. If a split is fixed, points
 * without parts are excluded. */
static void list_points(clause *c, const tile_expr **room, bool changed) {
    const tile_expr *split = sched_find_fixed(c->fixed, SCHED_SPLIT);
    bool in_parts = split && !tile_expr_is(split, 1);
    for (unsigned p = 0; p < c->from->point_count; p++) {
        const tile_expr *const *point = c->from->values + p * c->from->name_count;
        fix_point(c, point, room);
        if (changed ? !in_parts || !is_whole(c, point) : same_point(c, point, room))
            add_point(c, room);
    }
}

static bool is_about(const clause *c) {
    bool about = false;
    for (unsigned n = 0; n < c->from->name_count; n++)
        about |= sched_find_fixed(c->fixed, c->from->names[n]) != NULL;
    return about;
}

/* Returns whether no point agrees. A point without parts agrees with any strategy. */
static bool has_none(const clause *c) {
    bool none = !sched_find_fixed(c->fixed, SCHED_SPLIT);
    for (unsigned i = 0; i < c->count; i++)
        none &= is_whole(c, c->values + i * c->from->name_count);
    return none || !c->count;
}

static void fix_clause(schedule *s, tile_tune_clause *from, const sched_fixed *fixed) {
    size_t width = from->name_count;
    clause c = {.from = from, .fixed = fixed};
    if (!is_about(&c)) return;
    c.values = TILE_NEW_ARRAY(s->arena, const tile_expr *, width * from->point_count);
    const tile_expr **room = TILE_NEW_ARRAY(s->arena, const tile_expr *, width);
    list_points(&c, room, false);
    if (has_none(&c)) {
        c.count = 0;
        list_points(&c, room, true);
    }
    memcpy(from->values, c.values, sizeof *c.values * width * c.count);
    from->point_count = c.count;
}

/* Adds points with parts to a kernel that has none. */
static void add_parts(tile_function *kernel, const sched_fixed *fixed) {
    static const char *const strategies[] = {"exchange", "serial", "workspace"};
    enum { COUNT = sizeof strategies / sizeof *strategies };
    tile_context *context = tile_function_context(kernel);
    const tile_expr *split = sched_find_fixed(fixed, SCHED_SPLIT), *values[2 * COUNT];
    const tile_expr *strategy = sched_find_fixed(fixed, SCHED_STRATEGY);
    if (!split || tile_expr_is(split, 1)) return;
    for (unsigned i = 0; i < COUNT; i++) {
        values[2 * i] = split;
        values[2 * i + 1] = strategy ? strategy : tile_expr_word(context, strategies[i]);
    }
    tile_function_add_param(kernel, SCHED_SPLIT, TILE_PARAM_int, NULL, NULL);
    tile_function_add_param(kernel, SCHED_STRATEGY, TILE_PARAM_word, NULL, NULL);
    tile_function_add_tune(kernel, 2, (const char *const[]){SCHED_SPLIT, SCHED_STRATEGY},
                           strategy ? 1 : COUNT, values);
}

void sched_fix_points(schedule *s, tile_function *kernel, const sched_fixed *fixed) {
    for (size_t i = 0; i < kernel->tune_count; i++) fix_clause(s, &kernel->tunes[i], fixed);
    if (!tile_function_find_param(kernel, SCHED_SPLIT, strlen(SCHED_SPLIT)))
        add_parts(kernel, fixed);
}

/* Checking the space for the fixed values ------------------------------------------------------ */

static bool end_at_first(const tile_bound_params *point, void *user) {
    (void)point;
    *(bool *)user = true;
    return false;
}

bool sched_has_point(schedule *s, const tile_function *space, const sched_fixed *fixed) {
    tile_pass_option options[SCHED_MAX_FIXED];
    unsigned count = 0;
    bool found = false;
    for (unsigned i = 0; i < fixed->count; i++) {
        const char *name = fixed->at[i].name;
        const tile_expr *value = fixed->at[i].value;
        if (!tile_function_find_param(space, name, strlen(name))) continue;
        const char *text = value->kind == TILE_EXPR_WORD
                               ? value->name
                               : tile_arena_format(s->arena, "%" PRId64, value->integer);
        options[count++] = (tile_pass_option){name, text};
    }
    return tile_visit_points(space, options, count, NULL, s->arena, end_at_first, &found) && found;
}
