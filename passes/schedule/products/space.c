/* Tuning spaces of products, from lib/tuning as for a user's kernel with `tune auto`. */
#include "passes/schedule/products/space.h"

#include <string.h>

#include "lib/ir/function.h"
#include "lib/ir/syntax.h"
#include "lib/tuning/space.h"

/* The space -------------------------------------------------------------------------------------
 */

#define BIT(role) (1u << TILE_ROLE_##role)
#define TILE_ROLES (BIT(m) | BIT(n) | BIT(k) | BIT(stages) | BIT(warps))
#define SPLIT_ROLES (TILE_ROLES | BIT(split) | BIT(strategy))
#define GROUP_ROLES (SPLIT_ROLES | BIT(consumers))
#define ALL_ROLES (GROUP_ROLES | BIT(cluster_m) | BIT(cluster_n))

/* What lib/tuning is asked for. */
typedef struct extent {
    unsigned roles;                            /* the kernel's parameters */
    enum { FULL, CORE, FREE_CORE, FREE } rows; /* all points, the small space; without conditions */
    tile_operands operands;
    bool has_raster, may_persist; /* `raster auto`, `persistent auto` */
} extent;

static const extent extents[SCHED_SPACE_COUNT] = {
    [SCHED_SPACE_HALF] = {ALL_ROLES, FULL, TILE_OPERANDS_plain, true, true},
    [SCHED_SPACE_HALF_PART] = {SPLIT_ROLES, CORE, TILE_OPERANDS_plain, true, false},
    [SCHED_SPACE_BYTES] = {ALL_ROLES, FULL, TILE_OPERANDS_plain, true, true},
    [SCHED_SPACE_BYTES_PART] = {GROUP_ROLES, CORE, TILE_OPERANDS_plain, true, true},
    [SCHED_SPACE_BYTES_COMPUTED] = {TILE_ROLES, FREE_CORE, TILE_OPERANDS_plain, false, false},
    [SCHED_SPACE_SCALED] = {SPLIT_ROLES, CORE, TILE_OPERANDS_scaled, true, true},
    [SCHED_SPACE_PACKED] = {SPLIT_ROLES, CORE, TILE_OPERANDS_packed, false, false},
    [SCHED_SPACE_GATHERED] = {SPLIT_ROLES, CORE, TILE_OPERANDS_gathered, false, false},
    [SCHED_SPACE_SCATTERED] = {SPLIT_ROLES, CORE, TILE_OPERANDS_scattered, false, false},
    [SCHED_SPACE_REGISTER_OPERAND] = {SPLIT_ROLES, CORE, TILE_OPERANDS_computed, false, false},
    [SCHED_SPACE_TF32] = {ALL_ROLES, FULL, TILE_OPERANDS_plain, true, true},
    [SCHED_SPACE_TF32_WINDOWS] = {ALL_ROLES, FULL, TILE_OPERANDS_plain, true, true},
    [SCHED_SPACE_TF32_PART] = {GROUP_ROLES, CORE, TILE_OPERANDS_plain, true, true},
    [SCHED_SPACE_TF32_COMPUTED] = {TILE_ROLES, FREE_CORE, TILE_OPERANDS_plain, false, false},
    [SCHED_SPACE_PARTS] = {SPLIT_ROLES, CORE, TILE_OPERANDS_parts, false, false},
    [SCHED_SPACE_FMA_PART] = {SPLIT_ROLES, CORE, TILE_OPERANDS_plain, false, false},
    [SCHED_SPACE_FMA] = {SPLIT_ROLES, FULL, TILE_OPERANDS_plain, true, false},
    [SCHED_SPACE_FMA_WINDOWS] = {SPLIT_ROLES, FULL, TILE_OPERANDS_gathered, true, false},
    [SCHED_SPACE_FMA_FIXED] = {SPLIT_ROLES, FREE, TILE_OPERANDS_plain, false, false},
};

/* The names of the kernel's parameters, by role. */
static const char *const role_names[TILE_ROLE_COUNT] = {
    [TILE_ROLE_m] = "block_m",
    [TILE_ROLE_n] = "block_n",
    [TILE_ROLE_k] = "block_k",
    [TILE_ROLE_stages] = "stages",
    [TILE_ROLE_warps] = "num_warps",
    [TILE_ROLE_split] = SCHED_SPLIT,
    [TILE_ROLE_strategy] = SCHED_STRATEGY,
    [TILE_ROLE_consumers] = "consumers",
    [TILE_ROLE_cluster_m] = "cluster_m",
    [TILE_ROLE_cluster_n] = "cluster_n",
};

/* A kernel with the space's header; NULL after a diagnostic. */
static tile_function *make_head(schedule *s, tile_module *module, sched_space space,
                                const tile_type *element, const tile_type *sum) {
    enum { CHUNKS_OF_SCALED = 2 };
    const extent *x = &extents[space];
    const bool by_fma = space >= SCHED_SPACE_FMA_PART;
    tile_product_space q = {.covered = x->roles,
                            .element = element->scalar,
                            .sum = sum->scalar,
                            .operands = x->operands,
                            .chunks = x->operands == TILE_OPERANDS_scaled ? CHUNKS_OF_SCALED : 1,
                            .is_tf32 = !by_fma,
                            .has_windows = space == SCHED_SPACE_TF32_WINDOWS,
                            .is_core = x->rows == CORE || x->rows == FREE_CORE,
                            .is_free = x->rows >= FREE_CORE,
                            /* Without a target: that of a GPU with all rows. */
                            .target =
                                s->pass->has_target ? s->pass->target : tile_target_find("sm_90a")};
    tile_function *f = tile_function_create(module, TILE_KERNEL, "space", s->compute->loc);
    for (tile_role role = 0; role < TILE_ROLE_COUNT; role++) {
        bool is_word = role == TILE_ROLE_strategy || role == TILE_ROLE_consumers;
        if (!(x->roles >> role & 1)) continue;
        tile_function_add_param(f, role_names[role], is_word ? TILE_PARAM_word : TILE_PARAM_int,
                                NULL, NULL);
        q.at[role] = tile_expr_param(s->context, role_names[role]);
        if (sched_is_given(s, role_names[role])) q.given |= 1u << role;
    }
    if (!tile_space_add(f, &q)) return NULL;
    if (x->roles & BIT(cluster_m)) tile_function_set_cluster(f, 2, &q.at[TILE_ROLE_cluster_m]);
    if (x->has_raster) tile_function_set_raster(f, TILE_RASTER_ROWS, tile_space_raster(f, &q));
    if (x->may_persist) {
        tile_function_set_persistent(f, true, NULL);
        tile_function_set_persistent_if(f, tile_space_persistent(f, &q));
    }
    tile_function_set_warps(f, q.at[TILE_ROLE_warps]);
    return f;
}

void sched_copy_points(tile_function *to, const tile_function *from) {
    for (size_t i = 0; i < from->param_count; i++) {
        const tile_param_decl *p = &from->params[i];
        tile_function_add_param(to, p->name, p->kind, p->default_expr, p->default_type);
    }
    for (size_t i = 0; i < from->tune_count; i++) {
        const tile_tune_clause *t = &from->tunes[i];
        tile_function_add_tune(to, t->name_count, t->names, t->point_count, t->values);
    }
    for (size_t i = 0; i < from->where_count; i++) tile_function_add_where(to, from->wheres[i]);
}

/* A space for the same products without conditions that a point must satisfy. */
static sched_space without_conditions(sched_space space) {
    if (space == SCHED_SPACE_HALF) return SCHED_SPACE_HALF_PART;
    if (space == SCHED_SPACE_TF32 || space == SCHED_SPACE_TF32_WINDOWS ||
        space == SCHED_SPACE_TF32_PART)
        return SCHED_SPACE_TF32_COMPUTED;
    if (space >= SCHED_SPACE_FMA_PART) return SCHED_SPACE_FMA_FIXED;
    bool bytes = space == SCHED_SPACE_BYTES || space == SCHED_SPACE_BYTES_PART;
    return bytes ? SCHED_SPACE_BYTES_COMPUTED : space;
}

static void copy_head(tile_function *to, const tile_function *from) {
    sched_copy_points(to, from);
    if (from->cluster_rank) tile_function_set_cluster(to, from->cluster_rank, from->cluster);
    tile_function_set_raster(to, from->raster, from->raster_group);
    if (from->is_persistent) {
        tile_function_set_persistent(to, true, NULL);
        tile_function_set_persistent_if(to, from->persistent_if);
    }
    tile_function_set_warps(to, from->warps);
}

static bool has_name(const tile_tune_clause *clause, const char *name) {
    for (unsigned n = 0; n < clause->name_count; n++)
        if (strcmp(clause->names[n], name) == 0) return true;
    return false;
}

/* Adds the values that a point has for the clause's parameters. */
static void append_point(schedule *s, tile_function *to, tile_tune_clause *clause,
                         const char *const *of, const int *point, unsigned count) {
    size_t before = (size_t)clause->point_count * clause->name_count;
    const tile_expr **values =
        TILE_NEW_ARRAY(&to->module->arena, const tile_expr *, before + clause->name_count);
    memcpy(values, clause->values, before * sizeof *values);
    for (unsigned i = 0; i < count; i++)
        for (unsigned n = 0; n < clause->name_count; n++)
            if (strcmp(clause->names[n], of[i]) == 0)
                values[before + n] = tile_expr_int(s->context, point[i]);
    clause->values = values;
    clause->point_count++;
}

/* Adds smaller tiles with fewer stages to the clauses of the tile, the smallest last. */
static void add_lean_points(schedule *s, tile_function *to) {
    static const char *const of[] = {"block_m", "block_n", "block_k", "stages", "num_warps"};
    static const int points[][5] = {
        {64, 64, 32, 2, 4}, {64, 64, 32, 1, 4}, {32, 32, 32, 1, 4}, {16, 16, 32, 1, 1}};
    bool has_others = false; /* of which the clause would need a value */
    for (size_t t = 0; t < to->tune_count; t++) has_others |= has_name(&to->tunes[t], "cluster_m");
    for (size_t t = 0; t < to->tune_count && !has_others; t++) {
        tile_tune_clause *clause = &to->tunes[t];
        if (!has_name(clause, "block_m") && !has_name(clause, "block_k")) continue;
        for (size_t i = 0; i < sizeof points / sizeof *points; i++)
            append_point(s, to, clause, of, points[i], 5);
    }
}

static tile_tune_clause *find_splits(const tile_function *f) {
    for (size_t t = 0; t < f->tune_count; t++)
        if (strcmp(f->tunes[t].names[0], SCHED_SPLIT) == 0) return &f->tunes[t];
    return NULL;
}

/* Makes `parts` the first split. A space without splits gets the unsplit point after it. */
static void add_first_split(schedule *s, tile_function *to, const tile_expr *parts) {
    static const char *const names[] = {SCHED_SPLIT, SCHED_STRATEGY};
    enum { NAMES = sizeof names / sizeof *names };
    const tile_expr *first[] = {parts, tile_expr_word(s->context, "workspace")};
    const tile_expr *whole[] = {tile_expr_int(s->context, 1), tile_expr_word(s->context, "serial")};
    tile_tune_clause *clause = find_splits(to);
    if (!clause) {
        tile_function_add_param(to, SCHED_SPLIT, TILE_PARAM_int, NULL, NULL);
        tile_function_add_param(to, SCHED_STRATEGY, TILE_PARAM_word, NULL, NULL);
        tile_function_add_tune(to, NAMES, names, 1, whole);
        clause = find_splits(to);
    }
    size_t before = (size_t)clause->point_count * NAMES;
    const tile_expr **values =
        TILE_NEW_ARRAY(&to->module->arena, const tile_expr *, before + NAMES);
    memcpy(values, first, sizeof first);
    memcpy(values + NAMES, clause->values, before * sizeof *values);
    clause->values = values;
    clause->point_count++;
}

const tile_expr *sched_count_parts(schedule *s, const tile_expr *terms) {
    const tile_expr *length = tile_expr_int(s->context, SCHED_MAX_IN_PART);
    const tile_expr *parts = tile_expr_op(s->context, TILE_OP_ceildiv, terms, length, NULL);
    const tile_expr *most = tile_expr_int(s->context, TILE_MAX_SPLIT);
    const tile_expr *many = tile_expr_op(s->context, TILE_OP_gt, terms,
                                         tile_expr_int(s->context, SCHED_LONG_SUM), NULL);
    return tile_expr_op(s->context, TILE_OP_select, many,
                        tile_expr_op(s->context, TILE_OP_min, parts, most, NULL),
                        tile_expr_int(s->context, 0));
}

unsigned sched_count_sized(const tile_tune_clause *clause) {
    return strcmp(clause->names[0], SCHED_SPLIT) == 0 && clause->point_count &&
           tile_expr_holds(clause->values[0], TILE_EXPR_ARG);
}

/* Removes the points and conditions that depend on the launch size. */
static void drop_sized(tile_function *f) {
    tile_tune_clause *clause = find_splits(f);
    size_t kept = 0;
    if (clause && sched_count_sized(clause)) {
        clause->values += clause->name_count;
        clause->point_count--;
    }
    for (size_t i = 0; i < f->where_count; i++)
        if (!tile_expr_holds(f->wheres[i], TILE_EXPR_ARG)) f->wheres[kept++] = f->wheres[i];
    f->where_count = kept;
}

void sched_size_points(schedule *s, tile_function *f, const tile_expr *parts) {
    const tile_expr *one = tile_expr_int(s->context, 1);
    drop_sized(f);
    add_first_split(s, f, parts);
    tile_function_add_where(
        f, tile_expr_op(s->context, TILE_OP_ge, tile_expr_param(s->context, SCHED_SPLIT),
                        tile_expr_op(s->context, TILE_OP_max, parts, one, NULL), NULL));
}

bool sched_set_space(schedule *s, tile_function *to, sched_space space, const tile_type *element,
                     const tile_type *sum, const sched_space_needs *needs,
                     const sched_fixed *fixed) {
    tile_module *module = tile_module_create(s->context);
    const tile_function *from = make_head(s, module, space, element, sum);
    sched_space other = without_conditions(space);
    bool fits = from && (other == space || !fixed->count || sched_has_point(s, from, fixed));
    if (fits) copy_head(to, from);
    tile_module_destroy(module);
    if (!from) return false;
    if (!fits) return sched_set_space(s, to, other, element, sum, needs, fixed);
    if (needs->lean) add_lean_points(s, to);
    if (needs->parts > 1) add_first_split(s, to, tile_expr_int(s->context, needs->parts));
    if (needs->sized) sched_size_points(s, to, needs->sized);
    sched_fix_points(s, to, fixed);
    return true;
}
