#include "runtime/tune/choose.h"

#include "lib/support/context.h"
#include "runtime/tune/model.h"
#include "runtime/tune/space.h"

/* Points with the same estimate come as the space lists them. */
static const tune_point *find_fastest(const tune_point *points, size_t count) {
    const tune_point *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (points[i].c.state != TILE_CANDIDATE_dropped &&
            (!best || points[i].c.estimate < best->c.estimate))
            best = &points[i];
    return best;
}

const tile_binding *tune_choose_point(const tile_device *device, const tile_module *module,
                                      const char *name, const int64_t *sizes, tile_arena *arena,
                                      unsigned *count) {
    tune_point *points;
    size_t point_count;
    const tile_function *f = tile_module_find(module, name);
    if (!tune_list_points(f, NULL, 0, arena, &points, &point_count)) return NULL;
    tune_estimate_points(device, module, name, sizes, points, point_count);
    const tune_point *best = find_fastest(points, point_count);
    for (size_t i = 0; i < point_count; i++)
        if (&points[i] != best) tile_arena_reset(&points[i].arena);
    if (!best) return NULL;
    *count = best->c.binding_count;
    return best->c.bindings;
}
