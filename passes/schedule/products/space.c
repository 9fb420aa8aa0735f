/* Tuning spaces of products. They are written as kernel headers in Tile IR: that of
 * tools/kernels/matmul.tile, whose text is embedded in the library, and similar ones for other
 * types. */
#include "passes/schedule/products/space.h"

#include <string.h>

#include "lib/ir/function.h"
#include "lib/ir/syntax.h"
#include "matmul_text.h" /* matmul_text: tools/kernels/matmul.tile */

#define PARAMS_PLAIN "block_m: int, block_n: int, block_k: int, stages: int, num_warps: int"

static const char *const spaces[] = {
    [SCHED_SPACE_HALF_PART] =
        "kernel @space<" PARAMS_PLAIN ", split: int, strategy: word>()\n"
        "  tune (block_m, block_n, num_warps) in [(128, 128, 4), (128, 256, 8), (256, 128, 8),\n"
        "      (128, 128, 8), (128, 64, 4), (64, 64, 4), (16, 64, 4)]\n"
        "  tune (block_k, stages) in [(64, 4), (64, 3), (64, 6)]\n"
        "  tune (split, strategy) in [(1, serial), (4, exchange), (16, exchange)]\n"
        "  grid [1, 1] raster rows(min(16, 4 + 8 * block_n / block_m)) warps num_warps\n"
        "{}\n",
    [SCHED_SPACE_HALF_BATCHED] =
        "kernel @space<" PARAMS_PLAIN ">()\n"
        "  tune (block_m, block_n, block_k, stages, num_warps) in\n"
        "    [(128, 128, 64, 4, 4), (128, 128, 32, 4, 4), (64, 64, 64, 4, 4), (64, 128, 64, 3, "
        "4),\n"
        "     (128, 256, 64, 3, 8), (16, 64, 128, 4, 4), (32, 64, 64, 4, 4)]\n"
        "  grid [1] warps num_warps\n"
        "{}\n",
    [SCHED_SPACE_BYTES] =
        "kernel @space<" PARAMS_PLAIN ", consumers: word>()\n"
        "  tune (block_m, block_n, num_warps) in [(128, 128, 4), (128, 256, 8), (256, 128, 8),\n"
        "      (128, 192, 8), (128, 128, 8), (128, 64, 4), (64, 64, 4), (16, 64, 4)]\n"
        "  tune (block_k, stages) in [(128, 4), (128, 3), (128, 5), (128, 6), (128, 2)]\n"
        "  tune consumers in [cooperative, ping_pong]\n"
        "  where consumers == cooperative | num_warps == 8 & block_m * block_n == 16384 &\n"
        "        (block_m + block_n) * 128 * stages + 32768 <= 230000\n"
        "  grid [1, 1] raster rows(min(16, 4 + 8 * block_n / block_m)) warps num_warps\n"
        "  persistent if consumers == ping_pong | block_m * block_n >= 24576 &\n"
        "      (block_m + block_n) * 128 * stages + 32768 <= 230000\n"
        "{}\n",
    [SCHED_SPACE_BYTES_BATCHED] =
        "kernel @space<" PARAMS_PLAIN ">()\n"
        "  tune (block_m, block_n, block_k, stages, num_warps) in\n"
        "    [(128, 128, 128, 4, 4), (64, 64, 128, 4, 4), (128, 256, 128, 3, 8)]\n"
        "  grid [1] warps num_warps\n"
        "{}\n",
    [SCHED_SPACE_SCALED] =
        "kernel @space<" PARAMS_PLAIN ", split: int, strategy: word>()\n"
        "  tune (block_m, block_n, num_warps) in [(128, 128, 8), (64, 256, 8), (64, 128, 4),\n"
        "      (64, 64, 4), (16, 128, 4), (16, 64, 4)]\n"
        "  tune (block_k, stages) in [(128, 3), (128, 2), (128, 4), (128, 5)]\n"
        "  tune (split, strategy) in [(1, serial), (2, exchange), (4, exchange), (8, exchange),\n"
        "      (16, exchange), (2, cluster), (4, cluster), (4, workspace), (8, workspace)]\n"
        "  grid [1, 1] raster rows(min(16, 4 + 8 * block_n / block_m)) warps num_warps\n"
        "  persistent if split == 1 & num_warps == 8 &\n"
        "      (block_m + block_n) * 256 * stages + 32768 <= 230000\n"
        "{}\n",
    [SCHED_SPACE_GATHERED] =
        "kernel @space<" PARAMS_PLAIN ", split: int, strategy: word>()\n"
        "  tune (block_m, block_n, block_k, stages, num_warps) in\n"
        "    [(64, 64, 32, 3, 4), (128, 64, 32, 3, 8), (128, 128, 32, 3, 8), (128, 128, 64, 3, "
        "8),\n"
        "     (128, 64, 64, 4, 8), (64, 64, 64, 4, 4), (128, 256, 64, 3, 8)]\n"
        "  tune (split, strategy) in [(1, serial), (4, exchange), (16, exchange)]\n"
        "  grid [1] warps num_warps\n"
        "{}\n",
    [SCHED_SPACE_SCATTERED] =
        "kernel @space<" PARAMS_PLAIN ", split: int, strategy: word>()\n"
        "  tune (block_m, block_n, block_k, stages, num_warps) in\n"
        "    [(64, 64, 32, 2, 4), (64, 64, 16, 4, 4), (128, 64, 32, 2, 8), (64, 64, 32, 3, 8),\n"
        "     (128, 128, 32, 3, 8)]\n"
        "  tune (split, strategy) in [(1, serial), (4, exchange), (16, exchange)]\n"
        "  grid [1] warps num_warps\n"
        "{}\n",
    [SCHED_SPACE_REGISTER_OPERAND] =
        "kernel @space<" PARAMS_PLAIN ", split: int, strategy: word>()\n"
        "  tune (block_m, block_n, block_k, stages, num_warps) in\n"
        "    [(64, 128, 64, 4, 4), (16, 64, 128, 5, 4), (16, 128, 128, 4, 4), (32, 64, 128, 5, "
        "4),\n"
        "     (64, 64, 128, 4, 4), (64, 64, 64, 4, 4), (128, 128, 32, 4, 8)]\n"
        "  tune (split, strategy) in [(1, serial), (4, serial), (2, cluster), (4, cluster),\n"
        "      (4, atomic), (8, atomic)]\n"
        "  grid [1] warps num_warps\n"
        "{}\n",
    [SCHED_SPACE_TF32] =
        "kernel @space<" PARAMS_PLAIN ", split: int, strategy: word, consumers: word>()\n"
        "  tune (block_m, block_n, num_warps) in [(128, 128, 4), (128, 256, 8), (256, 128, 8),\n"
        "      (128, 192, 8), (128, 128, 8), (128, 64, 4), (64, 64, 4), (16, 64, 4)]\n"
        "  tune (block_k, stages) in [(32, 4), (32, 3), (32, 6)]\n"
        "  tune (split, strategy) in [(1, serial), (4, exchange), (16, exchange)]\n"
        "  tune consumers in [cooperative, ping_pong]\n"
        "  where consumers == cooperative | split == 1 & num_warps == 8 &\n"
        "        block_m * block_n == 16384 & (block_m + block_n) * 128 * stages + 65536 <= "
        "230000\n"
        "  grid [1, 1] raster rows(min(16, 4 + 8 * block_n / block_m)) warps num_warps\n"
        "  persistent if consumers == ping_pong | split == 1 & block_m * block_n >= 24576 &\n"
        "      (block_m + block_n) * 128 * stages + 32768 <= 230000\n"
        "{}\n",
    [SCHED_SPACE_TF32_BATCHED] = "kernel @space<" PARAMS_PLAIN ">()\n"
                                 "  tune (block_m, block_n, block_k, stages, num_warps) in\n"
                                 "    [(128, 128, 32, 4, 4), (128, 256, 32, 3, 8), (64, 128, 32, "
                                 "3, 4), (64, 64, 32, 4, 4),\n"
                                 "     (16, 64, 64, 4, 4), (32, 64, 32, 4, 4)]\n"
                                 "  grid [1] warps num_warps\n"
                                 "{}\n",
    [SCHED_SPACE_PARTS] =
        "kernel @space<" PARAMS_PLAIN ", split: int, strategy: word>()\n"
        "  tune (block_m, block_n, block_k, stages, num_warps) in\n"
        "    [(128, 128, 32, 3, 8), (64, 128, 32, 3, 4), (64, 64, 32, 4, 4), (16, 64, 32, 4, 4)]\n"
        "  tune (split, strategy) in [(1, serial), (4, exchange), (16, exchange)]\n"
        "  grid [1] warps num_warps\n"
        "{}\n",
    [SCHED_SPACE_FMA_PART] =
        "kernel @space<" PARAMS_PLAIN ", split: int, strategy: word>()\n"
        "  tune (block_m, block_n, block_k, stages, num_warps) in\n"
        "    [(64, 64, 16, 3, 4), (128, 128, 16, 3, 8), (128, 64, 16, 3, 4), (32, 64, 32, 3, 4),\n"
        "     (16, 64, 32, 3, 4)]\n"
        "  tune (split, strategy) in [(1, serial), (4, exchange), (16, exchange)]\n"
        "  grid [1] warps num_warps\n"
        "{}\n",
    [SCHED_SPACE_FMA] =
        "kernel @space<" PARAMS_PLAIN ", split: int, strategy: word>()\n"
        "  tune (block_m, block_n, block_k, stages, num_warps) in\n"
        "    [(64, 64, 16, 3, 4), (128, 128, 16, 3, 8), (128, 64, 16, 3, 4), (64, 128, 16, 3, 4),\n"
        "     (128, 64, 16, 3, 8), (32, 64, 32, 3, 4), (32, 32, 32, 3, 4), (16, 64, 32, 3, 4),\n"
        "     (8, 64, 64, 3, 4), (4, 128, 32, 4, 4), (64, 8, 64, 3, 4)]\n"
        "  tune (split, strategy) in [(1, serial), (2, exchange), (4, exchange), (8, exchange),\n"
        "      (16, exchange), (32, exchange), (64, exchange), (4, serial), (16, workspace),\n"
        "      (64, workspace)]\n"
        "  grid [1] warps num_warps\n"
        "{}\n",
};

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
    if (space == SCHED_SPACE_TF32) return SCHED_SPACE_TF32_BATCHED;
    return space == SCHED_SPACE_BYTES ? SCHED_SPACE_BYTES_BATCHED : space;
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

/* Adds smaller tiles with fewer stages to the tile clause, the smallest last. */
static void add_lean_points(schedule *s, tile_function *to) {
    static const int points[][5] = {
        {64, 64, 32, 2, 4}, {64, 64, 32, 1, 4}, {32, 32, 32, 1, 4}, {16, 16, 32, 1, 1}};
    enum { POINTS = sizeof points / sizeof *points, NAMES = 5 };
    tile_tune_clause *clause = &to->tunes[0];
    if (clause->name_count != NAMES) return;
    size_t before = (size_t)clause->point_count * NAMES;
    const tile_expr **values =
        TILE_NEW_ARRAY(&to->module->arena, const tile_expr *, before + (size_t)POINTS * NAMES);
    memcpy(values, clause->values, before * sizeof *values);
    for (size_t i = 0; i < (size_t)POINTS * NAMES; i++)
        values[before + i] = tile_expr_int(s->context, points[i / NAMES][i % NAMES]);
    clause->values = values;
    clause->point_count += POINTS;
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

bool sched_set_space(schedule *s, tile_function *to, sched_space space,
                     const sched_space_needs *needs, const sched_fixed *fixed) {
    bool shipped = space == SCHED_SPACE_HALF;
    const char *text = shipped ? matmul_text : spaces[space];
    tile_module *module = tile_module_parse(s->context, "schedule", text, strlen(text));
    if (!module) return false;
    const tile_function *from = tile_module_find(module, shipped ? "matmul" : "space");
    sched_space other = without_conditions(space);
    bool fits = other == space || !fixed->count || sched_has_point(s, from, fixed);
    if (fits) copy_head(to, from);
    tile_module_destroy(module);
    if (!fits) return sched_set_space(s, to, other, needs, fixed);
    if (needs->lean) add_lean_points(s, to);
    if (needs->parts > 1) add_first_split(s, to, tile_expr_int(s->context, needs->parts));
    if (needs->sized) sched_size_points(s, to, needs->sized);
    sched_fix_points(s, to, fixed);
    return true;
}
