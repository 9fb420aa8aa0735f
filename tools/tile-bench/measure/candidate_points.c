/* Further points of a candidate's kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile/pack.h"
#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/measure/candidate_state.h"

/* All points that the model has ranked. */
typedef struct ranking {
    bench_point *points;
    size_t count, capacity;
} ranking;

static bool take_rank(const tile_binding *bindings, unsigned count, double seconds, void *user) {
    ranking *r = user;
    if (r->count == r->capacity) {
        r->capacity = 2 * r->capacity + 64;
        r->points = realloc(r->points, r->capacity * sizeof *r->points);
        if (!r->points) abort();
    }
    bench_point *point = &r->points[r->count++];
    *point = (bench_point){.estimate = seconds};
    bench_write_bindings(bindings, count, point->text, sizeof point->text);
    return true;
}

/* Bindings may also name parameters that are no choice, but not a packing that the point lacks. */
static bool has_packing(const bench_point *point, const tile_binding *bindings, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(bindings[i].name, TILE_PACK_ARGUMENTS) == 0)
            return strstr(point->text, TILE_PACK_ARGUMENTS "=") != NULL;
    return true;
}

/* True if the bindings of the launch have all values of the point. */
static bool is_launched(const bench_point *point, const tile_binding *bindings, unsigned count) {
    char word[BENCH_POINT_TEXT + 2];
    if (!has_packing(point, bindings, count)) return false;
    for (const char *at = point->text; *at; at += strcspn(at, " "), at += *at == ' ') {
        bool found = false;
        size_t length = strcspn(at, " ");
        for (unsigned i = 0; i < count && !found; i++) {
            snprintf(word, sizeof word, "%s=%s", bindings[i].name, bindings[i].value);
            found = strlen(word) == length && strncmp(word, at, length) == 0;
        }
        if (!found) return false;
    }
    return true;
}

/* Moves the point from the ranking to the list, unless the list has it. */
static void take_point(bench_candidate *c, ranking *r, size_t index, const char *origin) {
    bench_point *point = &r->points[index];
    point->origin = origin;
    for (unsigned i = 0; i < c->point_count; i++)
        if (strcmp(c->points[i].text, point->text) == 0) return;
    c->points[c->point_count++] = *point;
}

/* The pick, then half of the points in the order of the model, then others at random. */
static tile_status choose_points(bench_candidate *c, ranking *r, unsigned count, uint64_t seed) {
    const tile_binding *bindings;
    unsigned binding_count;
    tile_status status =
        tile_kernel_point(c->kernel, c->arguments, c->argument_count, &bindings, &binding_count);
    if (status != TILE_OK) return status;
    for (size_t i = 0; i < r->count && !c->point_count; i++)
        if (is_launched(&r->points[i], bindings, binding_count)) take_point(c, r, i, "picked");
    if (!c->point_count)
        return bench_refuse(c, "the point of the launch is not among those of the model", NULL);
    size_t next = 0;
    for (; next < r->count && c->point_count < (count + 1) / 2; next++)
        take_point(c, r, next, "model");
    /* What remains, in random order. */
    for (; next < r->count && c->point_count < count; next++) {
        size_t other = next + bench_random(&seed, r->count - next);
        bench_point swap = r->points[next];
        r->points[next] = r->points[other];
        r->points[other] = swap;
        take_point(c, r, next, "sample");
    }
    return TILE_OK;
}

/* Reads the result of a launch on whole numbers. */
static tile_status read_result(bench_candidate *c, unsigned place, char **data) {
    tile_status status = bench_arrays_fill(c->lab, &c->data, BENCH_WHOLE);
    return status == TILE_OK ? bench_candidate_fetch(c, place, data) : status;
}

tile_status bench_kernel_choose_points(bench_candidate *c, unsigned count, uint64_t seed) {
    ranking r = {NULL, 0, 0};
    if (c->points_asked == count && c->points_seed == seed) return TILE_OK;
    c->point_count = 0;
    c->points_asked = count;
    c->points_seed = seed;
    if (count > BENCH_MAX_POINTS) count = BENCH_MAX_POINTS;
    tile_status status =
        tile_kernel_rank_points(c->kernel, c->arguments, c->argument_count, take_rank, &r);
    if (status == TILE_OK && r.count) status = choose_points(c, &r, count, seed);
    free(r.points);
    return status;
}

tile_status bench_candidate_list_points(bench_candidate *c, unsigned count, uint64_t seed,
                                        unsigned *listed) {
    *listed = 0;
    if (!c->is_set || c->options->kind != BENCH_KERNEL || c->data.problem.is_attention ||
        c->data.problem.is_rows)
        return bench_refuse(c, "further points are measured of a kernel's products", NULL);
    tile_status status = bench_kernel_choose_points(c, count, seed);
    c->has_expected = false;
    if (status == TILE_OK && c->point_count) {
        char *expected;
        status = read_result(c, 0, &expected);
        c->has_expected = status == TILE_OK;
    }
    if (status == TILE_OK) *listed = c->point_count;
    return status;
}

tile_status bench_kernel_load_points(bench_candidate *c, unsigned count, uint64_t seed) {
    tile_status status = bench_kernel_choose_points(c, count, seed);
    for (unsigned i = 1; i < c->point_count && status == TILE_OK; i++)
        bench_candidate_take_point(c, i);
    /* The reason is reported when they are listed. */
    if (status != TILE_OK) c->points_asked = c->point_count = 0;
    return c->point_count ? bench_candidate_take_point(c, 0) : TILE_OK;
}

tile_status bench_candidate_rank(bench_candidate *c, const bench_problem *problem,
                                 tile_rank_visit visit, void *user) {
    tile_status status = bench_candidate_reserve(c, problem);
    if (status == TILE_OK) status = bench_kernel_create(c, TILE_FLUSH_NONE);
    return status == TILE_OK
               ? tile_kernel_rank_points(c->kernel, c->arguments, c->argument_count, visit, user)
               : status;
}

const bench_point *bench_candidate_point(const bench_candidate *c, unsigned index) {
    return index < c->point_count ? &c->points[index] : NULL;
}

tile_status bench_candidate_take_point(bench_candidate *c, unsigned index) {
    tile_binding bindings[BENCH_MAX_BINDINGS];
    char text[BENCH_POINT_TEXT];
    unsigned count = 0;
    if (index >= c->point_count) return bench_refuse(c, "there is no such point", NULL);
    memcpy(text, c->points[index].text, sizeof text);
    for (char *at = strtok(text, " "); at && count < BENCH_MAX_BINDINGS; at = strtok(NULL, " ")) {
        char *value = strchr(at, '=');
        if (!value) return bench_refuse(c, "it has no value", at);
        *value = 0;
        bindings[count++] = (tile_binding){at, value + 1};
    }
    tile_status status =
        tile_kernel_set_point(c->kernel, c->arguments, c->argument_count, bindings, count);
    return status == TILE_OK ? tile_kernel_prepare(c->kernel, c->arguments, c->argument_count, NULL)
                             : status;
}

tile_status bench_candidate_compare(bench_candidate *c, bool *same) {
    char *data = NULL;
    *same = false;
    if (!c->has_expected) return bench_refuse(c, "there are no points yet", NULL);
    tile_status status = read_result(c, 1, &data);
    *same = status == TILE_OK &&
            memcmp(data, c->host, tile_buffer_size(bench_arrays_result(&c->data))) == 0;
    return status;
}
