/* Tuning points whose blocks are multiples of a run.
 *
 * An access with runs of 4 elements (points.c) needs tiles with a multiple of 4 elements along the
 * run. If the block is a parameter, its other points are removed, so that every point of the kernel
 * is possible, and the first one, which a plan launches, too. A kernel without such points has
 * shorter runs, or none:
 *
 *     tune (rows, num_warps) in [(1, 16), (1, 8)]                     no runs along the rows
 *     tune (rows, columns) in [(1, 2048), (4, 512), (16, 128)]        runs of 4: (4, 512), (16,
 * 128)
 *
 * A condition that names arguments, such as `rows == 1 | %n <= block`, selects among the points at
 * each launch. Points of its parameters are not removed. */
#include "passes/schedule/kernel/schedule.h"

#include <string.h>

#include "lib/ir/syntax.h"

typedef struct tuning_point {
    const tile_tune_clause *clause;
    const tile_expr *const *values;
} tuning_point;

static bool find_value(const char *name, int64_t *value, void *user) {
    const tuning_point *point = user;
    for (unsigned n = 0; n < point->clause->name_count; n++)
        if (strcmp(point->clause->names[n], name) == 0)
            return tile_expr_is_int(point->values[n], value);
    return false;
}

static bool names_param_of(const tile_expr *expr, const tile_tune_clause *clause) {
    for (unsigned n = 0; n < clause->name_count; n++)
        if (tile_expr_names_param(expr, clause->names[n])) return true;
    return false;
}

/* The clause that alone decides the block; NULL: there is none. */
static tile_tune_clause *find_clause(tile_function *f, const tile_expr *block) {
    tile_tune_clause *found = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < f->tune_count; i++) {
        if (!names_param_of(block, &f->tunes[i])) continue;
        found = &f->tunes[i];
        count++;
    }
    return count == 1 ? found : NULL;
}

/* Returns whether launches select among the clause's points. */
static bool is_selected(const tile_function *f, const tile_tune_clause *clause) {
    for (size_t i = 0; i < f->where_count; i++)
        if (tile_expr_holds(f->wheres[i], TILE_EXPR_ARG) && names_param_of(f->wheres[i], clause))
            return true;
    return false;
}

static bool is_multiple(const tile_tune_clause *clause, unsigned p, const tile_expr *block,
                        int64_t size) {
    tuning_point point = {clause, clause->values + p * clause->name_count};
    const tile_bindings bindings = {.param = find_value, .user = &point};
    int64_t value;
    return tile_expr_eval(block, &bindings, &value) && value % size == 0;
}

bool sched_has_multiples(const sched_kernel *k, const tile_expr *block, int64_t size) {
    const tile_tune_clause *clause = find_clause(k->f, block);
    int64_t known = sched_constant(block);
    unsigned count = 0;
    if (known >= 0) return known % size == 0;
    if (!clause) return false;
    for (unsigned p = 0; p < clause->point_count; p++) count += is_multiple(clause, p, block, size);
    return is_selected(k->f, clause) ? count == clause->point_count : count > 0;
}

void sched_keep_multiples(sched_kernel *k, const tile_expr *block, int64_t size) {
    tile_tune_clause *clause = find_clause(k->f, block);
    unsigned count = 0;
    if (!clause || sched_constant(block) >= 0) return;
    const size_t width = clause->name_count;
    for (unsigned p = 0; p < clause->point_count; p++)
        if (is_multiple(clause, p, block, size))
            memmove(clause->values + width * count++, clause->values + width * p,
                    width * sizeof *clause->values);
    clause->point_count = count;
}
