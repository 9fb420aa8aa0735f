/* The points of a kernel's or plan's space as candidates, and the shape at which they are checked.
 */
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

/* A candidate while it is worked on. */
typedef struct tune_point {
    tile_candidate c;       /* first: what the caller sees */
    size_t order;           /* as the space lists it */
    tune_build_state build; /* under the builder's lock */
    tile_arena arena;       /* the builder's: of the log, and of why it failed */
    tile_store_log log;
} tune_point;

enum { TUNE_MAX_POINTS = TILE_MAX_TUNE_POINTS };

/* Who follows the work that comes before the first candidate. */
typedef struct tune_watch {
    /* Called after each point; false ends the work there. `stage` as tile_tune_progress has it. */
    bool (*keep_going)(const char *stage, size_t done, size_t total, void *user);
    void *user;
} tune_watch;

/* All points that agree with the bindings, and with the sizes (NULL: of no launch); without a
 * `tune` the one that they are. False after a report: the bindings are wrong, there is no point, or
 * there are too many. */
bool tune_list_points(const tile_function *f, const tile_binding *bindings, unsigned count,
                      const int64_t *sizes, tile_arena *arena, tune_point **points,
                      size_t *point_count);

/* The bindings as tile_visit_points takes them, in the arena. */
tile_pass_option *tune_make_options(const tile_binding *bindings, unsigned count,
                                    tile_arena *arena);

/* What `tune` names and what is given, with the point's values, in the arena. */
tile_binding *tune_name_point(const tile_bound_params *point, const tile_binding *given,
                              unsigned given_count, tile_arena *arena, unsigned *count);

/* Adds, to points at which the reduction loop of the kernel, or of one that the plan launches, can
 * be split, those with split.factor and split.strategy (tile/split.h). sizes: an integer for each
 * argument. Nothing is reported. Where the watch (NULL: none) ends it, the remaining points are
 * joined with none.
 */
void tune_join_splits(const tile_device *device, const tile_module *module, const tile_function *f,
                      const int64_t *sizes, const tune_watch *watch, tile_arena *arena,
                      tune_point **points, size_t *count);

/* Whether it has such a loop, which carries no clause. */
bool tune_may_split(const tile_function *f);

/* The integers of a small shape with the same divisors, so that the same variants run: sizes above
 * `limit` become at most so large, and smaller still while the arrays together would take long.
 * Strides and flags, which are no extents, stay; so do {const} arguments, which are in the code. */
void tune_choose_small(const tile_function *f, const tile_tune_argument *arguments, int64_t limit,
                       int64_t *small);

/* "4096-4096-14336-d16": sizes, and what they all are divisible by up to 16; in the arena. */
const char *tune_shape_name(const tile_function *f, const tile_tune_argument *arguments,
                            tile_arena *arena);

#endif
