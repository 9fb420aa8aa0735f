/* The points of a kernel's or plan's space as candidates, and the shape for which they are
 * checked. */
#ifndef TILE_RUNTIME_MODEL_SPACE_H
#define TILE_RUNTIME_MODEL_SPACE_H

#include "lib/ir/function.h"
#include "passes/passes.h"
#include "runtime/compile/store.h"
#include "runtime/device/device.h"
#include "tile/tune.h"

typedef enum tune_build_state {
    TUNE_UNBUILT,
    TUNE_BUILDING,
    TUNE_BUILT,
    TUNE_BUILD_FAILED
} tune_build_state;

/* A candidate during tuning. */
typedef struct tune_point {
    tile_candidate c;       /* must be first: the part that the caller sees */
    size_t order;           /* its position in the space */
    tune_build_state build; /* under the builder's lock */
    tile_arena arena;       /* the builder's: the log, and why the build failed */
    tile_store_log log;
} tune_point;

enum { TUNE_MAX_POINTS = TILE_MAX_TUNE_POINTS };

/* Observes the work that precedes the first candidate. */
typedef struct tune_watch {
    /* Called after each point; false stops the work. `stage` as in tile_tune_progress. */
    bool (*keep_going)(const char *stage, size_t done, size_t total, void *user);
    void *user;
} tune_watch;

/* Lists all points that agree with the bindings and the sizes of the bucket (NULL: unknown). Those
 * at which a `where` is false for the exact sizes are dropped (c.state, c.why). Without a `tune`
 * clause there is a single point. Returns false after a report: the bindings are wrong, there is no
 * point, or there are too many. */
bool tune_list_points(const tile_function *f, const tile_binding *bindings, unsigned count,
                      const int64_t *sizes, tile_arena *arena, tune_point **points,
                      size_t *point_count);

/* The same; points at which a `where` is false for the bucket are listed, too, as dropped, unless
 * there are too many. */
bool tune_list_all_points(const tile_function *f, const tile_binding *bindings, unsigned count,
                          const int64_t *sizes, tile_arena *arena, tune_point **points,
                          size_t *point_count);

/* Converts the bindings to the form of tile_visit_points, in the arena. */
tile_pass_option *tune_make_options(const tile_binding *bindings, unsigned count,
                                    tile_arena *arena);

/* Names points of a function: the texts of numbers that they share are made once. */
typedef struct tune_namer tune_namer;
tune_namer *tune_namer_create(const tile_function *f, const tile_binding *given,
                              unsigned given_count, tile_arena *arena);
/* The most values that a point has. */
unsigned tune_namer_count(const tune_namer *namer);
/* Sets the bindings to the point's values of all `tune` parameters and of the given bindings. The
 * texts are in the namer's arena. Returns their number. */
unsigned tune_namer_name(tune_namer *namer, const tile_bound_params *point, tile_binding *bindings);

/* The same for a single point; the bindings are in the arena, too. */
tile_binding *tune_name_point(const tile_bound_params *point, const tile_binding *given,
                              unsigned given_count, tile_arena *arena, unsigned *count);

/* Adds points with split.factor and split.strategy (tile/split.h) to those whose kernel, or a
 * kernel that the plan launches, has a reduction loop that can be split. sizes: an integer for each
 * argument. Nothing is reported. If the watch (NULL: none) stops the work, no splits are added to
 * the remaining points. */
void tune_join_splits(const tile_device *device, const tile_module *module, const tile_function *f,
                      const int64_t *sizes, const tune_watch *watch, tile_arena *arena,
                      tune_point **points, size_t *count);

/* Returns whether it has such a loop without a `split` clause. */
bool tune_may_split(const tile_function *f);

/* The integers of a small shape with the same divisors, so that the same variants run. Sizes above
 * `limit` become at most `limit`, and smaller still while all arrays together would take long.
 * Strides and flags, which are not extents, do not change. Neither do {const} arguments, which are
 * part of the code. */
void tune_choose_small(const tile_function *f, const tile_tune_argument *arguments, int64_t limit,
                       int64_t *small);

/* "4096-4096-14336-d16": the sizes, and their greatest common divisor up to 16; in the arena. */
const char *tune_shape_name(const tile_function *f, const tile_tune_argument *arguments,
                            tile_arena *arena);

#endif
