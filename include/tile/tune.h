/* Tuning: finds the fastest point for a shape in the space of a kernel or plan (`tune`, `where`).
 *
 *   tile_tune_options options = {.size = sizeof options, .worker = "/usr/bin/tile-worker",
 *                                .budget = 20};
 *   tile_tune_argument sizes[] = {{.integer = 4096}, {.integer = 4096}, {.integer = 14336}};
 *   tile_tuning *tuning;
 *   tile_tune(device, module, "matmul_splitk", sizes, 3, &options, &tuning);
 *   tile_tuning_print(tuning, TILE_TUNING_TEXT, writer, user);
 *
 * The tuner lists the points of the space. It drops points that cannot fit the target (threads,
 * shared memory, registers) before any code is generated. It sorts the rest by a cost model
 * (documented in runtime/model/model.c), so that a short budget is spent on the most promising
 * points. If parameters of a plan belong to different kernels and do not depend on each other, the
 * points of one kernel are tried after those of another, not their combinations.
 *
 * Several threads compile candidates, each in its own context with an assembler process, while
 * candidates that are ready are measured.
 *
 * Each candidate is checked before it counts. First it runs on a small shape and is compared,
 * element by element, with the compute that the kernel names with `of`. Then it is measured. If it
 * can still win, the results of two launches on whole numbers at the tuned shape are checked. A
 * product is checked by Freivalds' test. Other results must equal those of the first candidate that
 * passed, or be within a bound of them if rounding prevents equality.
 *
 * The fastest candidates are measured again alternately, in five rounds, and the median of the
 * rounds counts. So a temporary slowdown of the device does not affect the choice. The best point
 * is stored in the device's cache, under the sizes of these arguments. Launches with the same sizes
 * use it, and so do launches with other sizes of their bucket (tile/device.h) that have no point.
 *
 * Candidates run in a worker, a separate program whose main calls tile_tune_serve. If a candidate
 * faults, hangs or takes too much memory, only that candidate fails, and a new worker is started.
 * Without a worker they run in this process, on a device like the caller's. Then a fault on the CPU
 * device fails only that candidate, but on a GPU it destroys the CUDA context, and nothing can end
 * a hang.
 *
 * Threads: a call uses its device's context; several tunings may run concurrently on devices of
 * different contexts. The library starts threads and processes (posix_spawn). It never forks, and
 * it reads no environment variables. */
#ifndef TILE_TUNE_H
#define TILE_TUNE_H

#include "tile/cache.h"
#include "tile/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An argument of the tuned launch. */
typedef struct tile_tune_argument {
    int64_t integer; /* a scalar */
    double number;
    int64_t elements; /* for a pointer: number of elements of its memory; for a view it follows from
                         the sizes */
    /* Contents of an array at the tuned shape, `bytes` bytes from its lowest address. NULL:
     * generated, whole numbers for the checks and floats in (-1/2, 1/2) for the measurements.
     * Arrays that the kernel writes are always generated. */
    const void *data;
    size_t bytes;
} tile_tune_argument;

typedef enum tile_candidate_state {
#define CANDIDATE(name, meaning) TILE_CANDIDATE_##name,
#include "tile/candidates.def"
#undef CANDIDATE
} tile_candidate_state;

/* "dropped", ...; NULL if there is no such state. */
TILE_API const char *tile_candidate_state_name(tile_candidate_state state);

/* A point of the space and its result. Unknown numbers are 0. */
typedef struct tile_candidate {
    const tile_binding *bindings; /* of all parameters that `tune` gives values */
    unsigned binding_count;
    const char *text; /* "block_m=128 block_n=64" */
    tile_candidate_state state;
    const char *why;       /* reason for the state, or "" */
    double estimate;       /* seconds estimated by the cost model */
    tile_measurement time; /* seconds per launch */
    double rate;   /* the rank, smaller first: time.median, unless tile_tune_options.rate is set */
    int registers; /* per thread; for a plan, this and the next three fields are maxima over its
                      kernels */
    int local_bytes;      /* per thread: spills and stack */
    int shared_bytes;     /* per block */
    int blocks_per_sm;    /* resident at once */
    double build_seconds; /* seconds to compile it */
} tile_candidate;

/* Progress of a tuning. */
typedef struct tile_tune_progress {
    /* "Splitting" and "Estimating" while candidates are listed, "Building" while code is compiled,
     * then "Tuning" */
    const char *stage;
    const char
        *name; /* "matmul_splitk 4096-4096-4096-d16": sizes, and a common divisor of all of them */
    unsigned done, total;
    double seconds;             /* since the stage began */
    const tile_candidate *best; /* best so far; NULL: none yet */
} tile_tune_progress;

/* What to do if there already is a point for these arguments. */
typedef enum tile_retune {
    TILE_RETUNE_MISSING, /* uses it, whatever compiler made it */
    TILE_RETUNE_STALE,   /* uses it if this compiler made it */
    TILE_RETUNE_ALWAYS,
} tile_retune;

typedef struct tile_tune_options {
    size_t size;        /* sizeof(tile_tune_options) */
    const char *worker; /* path of the worker program; NULL: run candidates in this process */
    /* Bindings that restrict the space. The result is then not stored, because it is not the best
     * point of the whole space. */
    const tile_binding *bindings;
    unsigned binding_count;
    unsigned jobs; /* compiler threads; 0: one per core */
    /* Seconds after which no candidate is started, even if none has won; 0: no limit. At least one
     * candidate is tried, and a running one may still take `timeout` seconds. */
    double budget;
    /* Seconds allowed to a worker for one candidate; 0: 20. Its start may take three times as long,
     * but at least 5. */
    double timeout;
    uint64_t worker_bytes; /* limit on a worker's host memory; 0: half of the machine's */
    tile_retune retune;
    /* Adds the points that split the reduction loop (tile/split.h), if the kernel has no `split`
     * clause. The factors are those that give about as many blocks as the device has
     * multiprocessors. These points have the bindings split.factor and split.strategy. */
    bool split;     /* of a plan, all combinations of points are then tried */
    bool unchecked; /* allows a kernel without a reference; its point is marked unchecked
                       (tile/cache.h) */
    /* How to measure each candidate. NULL: 5 warmup and 20 timed launches with TILE_FLUSH_DIRTY on
     * a GPU, 0 and 1 on the CPU device. `abandon_above` and `samples` are
     * ignored: the tuner sets them. */
    const tile_measure_options *measure;
    uint64_t seed; /* seed of the generated arrays; 0: 1 */
    /* Returns the number by which a candidate is ranked, smaller first; NULL: the median. */
    double (*rate)(const tile_candidate *candidate, void *user);
    /* Called on the calling thread, at most about ten times a second, and at the end of each
     * stage. */
    void (*progress)(const tile_tune_progress *progress, void *user);
    void *user; /* passed to rate and progress */
} tile_tune_options;

/* Calls visit for each point of the space of a kernel or plan that agrees with the bindings, until
 * it returns false. A point is text such as "block_m=128 block_n=64": the names in `tune` and the
 * bindings. kernel NULL: the only function that has `tune`. A named one without `tune` has a single
 * point, the bindings. Returns TILE_INVALID after a diagnostic, as tile_tune does. */
TILE_API tile_status tile_list_points(const tile_module *module, const char *kernel,
                                      const tile_binding *bindings, unsigned binding_count,
                                      bool (*visit)(const char *point, void *user), void *user);

/* A question about a space. */
typedef struct tile_space_query {
    size_t size;        /* sizeof(tile_space_query) */
    const char *kernel; /* NULL: the only kernel or plan that has `tune` */
    const tile_binding *bindings;
    unsigned binding_count;
    const tile_target *target; /* NULL: points are not checked for a target */
    const tile_binding *sizes; /* integer arguments: {"n", "1000"}; none: `where` clauses that name
                                  arguments are assumed to be true */
    unsigned size_count;
} tile_space_query;

/* Calls visit for each point that agrees with the bindings, until it returns false. dropped: NULL
 * if a launch may use the point, else why not: a `where` is false, or the target cannot run it.
 * TILE_INVALID after a diagnostic. */
TILE_API tile_status tile_explain_points(const tile_module *module, const tile_space_query *query,
                                         bool (*visit)(const char *point, const char *dropped,
                                                       void *user),
                                         void *user);

/* The result of a tuning. It does not refer to the device or the module. */
typedef struct tile_tuning tile_tuning;

/* Tunes for these arguments, one for each argument of the kernel. A kernel without `tune` has one
 * point, which is checked and measured. With options->split it has further points. If one of these
 * is the best, kernels created later without bindings select points at launch, like a kernel with
 * `tune`. The caller owns *out, which is also set, with all results, if no candidate won. Returns
 * TILE_INVALID after a diagnostic if the space or the arguments are invalid, or if there is no
 * reference and `unchecked` is not set; TILE_UNAVAILABLE if the worker cannot be started;
 * TILE_FAILED if no candidate won. */
TILE_API tile_status tile_tune(tile_device *device, const tile_module *module, const char *kernel,
                               const tile_tune_argument *arguments, unsigned argument_count,
                               const tile_tune_options *options, tile_tuning **out);
TILE_API void tile_tuning_destroy(tile_tuning *tuning);

typedef struct tile_tuning_facts {
    const char *name;   /* as in tile_tune_progress */
    const char *sizes;  /* sizes of the arguments: "m=4000 n=4096 k=4096" */
    const char *bucket; /* bucket of the arguments: "m=4088 n=4096 k=4096" */
    const char *check;  /* description of what the results were compared with */
    bool found;         /* a stored point was used; nothing was measured */
    bool stale;         /* the stored point was made by another compiler */
    bool in_process;    /* there was no worker */
    bool unchecked;
    bool kept;            /* stored in the device's cache */
    unsigned restarts;    /* how often the worker was restarted */
    double build_seconds; /* from the start of the first compilation to the end of the last */
    double seconds;       /* total */
    const char *unkept;   /* why the best point is not stored; NULL: it is, or there is none */
} tile_tuning_facts;

TILE_API tile_tuning_facts tile_tuning_get_facts(const tile_tuning *tuning);
/* The winner; NULL if there is none. */
TILE_API const tile_candidate *tile_tuning_best(const tile_tuning *tuning);
/* All candidates: first the measured ones, fastest first, then the others in the order of the
 * model. */
TILE_API unsigned tile_tuning_candidate_count(const tile_tuning *tuning);
TILE_API const tile_candidate *tile_tuning_candidate_at(const tile_tuning *tuning,
                                                        unsigned index); /* NULL past the end */

typedef enum tile_tuning_form { TILE_TUNING_TEXT, TILE_TUNING_JSON } tile_tuning_form;
/* Prints every candidate and its state, as a table or as JSON. */
TILE_API void tile_tuning_print(const tile_tuning *tuning, tile_tuning_form form,
                                tile_writer writer, void *user);

/* Main function of a worker program: reads candidates from the pipe `input` until it is closed.
 * Nothing else may write to `output`. Returns the exit status. */
TILE_API int tile_tune_serve(int input, int output);

#ifdef __cplusplus
}
#endif

#endif
