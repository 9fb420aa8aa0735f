/* Tuning: from the space of a kernel or plan (`tune`, `where`) to its fastest point for a shape.
 *
 *   tile_tune_options options = {.size = sizeof options, .worker = "/usr/bin/tile-worker",
 *                                .budget = 20};
 *   tile_tune_argument sizes[] = {{.integer = 4096}, {.integer = 4096}, {.integer = 14336}};
 *   tile_tuning *tuning;
 *   tile_tune(device, module, "matmul_splitk", sizes, 3, &options, &tuning);
 *   tile_tuning_print(tuning, TILE_TUNING_TEXT, writer, user);
 *
 * What happens. The points of the space are listed; what cannot fit the target (threads, shared
 * memory, registers) is dropped before any code is made; the rest is ordered by a model of its time
 * (runtime/model/model.c says which), so that a budget that ends early ends behind the likely ones.
 *
 * Threads compile, each in a context of its own, an assembler as a process beside each, while what
 * is ready is measured.
 *
 * A candidate is checked before it counts. First at a small shape, element by element, against the
 * compute that the kernel names with `of`. Then it is measured, and if it is not abandoned, two
 * launches on whole numbers at the tuned shape are looked at: a product by Freivalds' test,
 * anything else by equality with the first candidate that passed (where rounding allows no
 * equality: within a bound).
 *
 * The fastest ones are measured again in turn, in five rounds, of which each one's middle counts:
 * what slows the device down for a while does not choose. The best is kept in the device's cache,
 * under the sizes of these arguments, where launches with the same ones find it, and others of
 * their bucket (tile/device.h) that have no point of their own.
 *
 * Candidates run in a worker, a program of its own whose main calls tile_tune_serve: one that
 * faults, hangs or takes too much memory costs that candidate and a new worker. Without a worker
 * they run in this process, on a device like the caller's: a fault is then still one candidate's on
 * the CPU device, but on a GPU it ends the CUDA context, and a hang is nobody's to end.
 *
 * Threads: a call works on its device's context; several tunings may run side by side on devices of
 * different contexts. The library starts threads and processes (posix_spawn), never forks, and
 * reads no environment. */
#ifndef TILE_TUNE_H
#define TILE_TUNE_H

#include "tile/cache.h"
#include "tile/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An argument of the launch that is tuned for. */
typedef struct tile_tune_argument {
    int64_t integer; /* a scalar */
    double number;
    int64_t elements; /* of the memory behind a pointer; a view's follow from the sizes */
    /* An array's contents at the tuned shape, `bytes` of them from its lowest address; NULL: made,
     * whole numbers for the checks and floats in (-1/2, 1/2) for the times. What the kernel gives
     * is made always. */
    const void *data;
    size_t bytes;
} tile_tune_argument;

typedef enum tile_candidate_state {
#define CANDIDATE(name, meaning) TILE_CANDIDATE_##name,
#include "tile/candidates.def"
#undef CANDIDATE
} tile_candidate_state;

/* "dropped", ..; NULL if there is no such state. */
TILE_API const char *tile_candidate_state_name(tile_candidate_state state);

/* A point of the space, and what became of it. What is not known is 0. */
typedef struct tile_candidate {
    const tile_binding *bindings; /* of all parameters that `tune` gives values */
    unsigned binding_count;
    const char *text; /* "block_m=128 block_n=64" */
    tile_candidate_state state;
    const char *why;       /* "" if there is nothing to say */
    double estimate;       /* seconds, by the model */
    tile_measurement time; /* of a launch */
    double rate;          /* by which it is ranked: time.median, unless the options say otherwise */
    int registers;        /* per thread; of a plan the largest of its kernels, in these four */
    int local_bytes;      /* per thread: spills and stack */
    int shared_bytes;     /* per block */
    int blocks_per_sm;    /* resident at once */
    double build_seconds; /* compiling it took */
} tile_candidate;

/* What is told while it works. */
typedef struct tile_tune_progress {
    /* "Splitting" and "Estimating" while candidates are listed, "Building" while code is made, then
     * "Tuning" */
    const char *stage;
    const char *name; /* "matmul_splitk 4096-4096-4096-d16": sizes, what all are divisible by */
    unsigned done, total;
    double seconds;             /* since the stage began */
    const tile_candidate *best; /* so far; NULL: none yet */
} tile_tune_progress;

/* When there is a point for these arguments already. */
typedef enum tile_retune {
    TILE_RETUNE_MISSING, /* takes it, of whatever compiler */
    TILE_RETUNE_STALE,   /* takes it if this compiler made it */
    TILE_RETUNE_ALWAYS,
} tile_retune;

typedef struct tile_tune_options {
    size_t size;        /* sizeof(tile_tune_options) */
    const char *worker; /* path of the worker program; NULL: in this process */
    /* Given ones restrict the space; the result is not kept then, for it is not the space's. */
    const tile_binding *bindings;
    unsigned binding_count;
    unsigned jobs; /* threads that compile; 0: one for each core */
    /* Seconds after which no candidate is begun, whether or not one has won; 0: no end. One is
     * always tried, and one that has begun may take `timeout`. */
    double budget;
    /* Seconds that a worker may take for one candidate; 0: 20. To begin it may take three times as
     * long, and 5 at least. */
    double timeout;
    uint64_t worker_bytes; /* host memory that a worker may take; 0: half of the machine's */
    tile_retune retune;
    /* Joins the space with that of splitting the reduction loop (tile/split.h), where the author
     * wrote no clause `split`: with factors that make about as many blocks as the device has
     * multiprocessors. Those points have the bindings split.factor and split.strategy. */
    bool split;
    bool unchecked; /* allows a kernel that names no reference; the point says so (tile/cache.h) */
    /* Launches of each candidate; NULL: 5 and 20 on a GPU with TILE_FLUSH_DIRTY, 0 and 1 on the CPU
     * device. `abandon_above` is the tuner's, `samples` are not given. */
    const tile_measure_options *measure;
    uint64_t seed; /* of the arrays; 0: 1 */
    /* The number by which a candidate is ranked, smaller first; NULL: the median. */
    double (*rate)(const tile_candidate *candidate, void *user);
    /* Called on the calling thread, at most some ten times a second, and at the end of a stage. */
    void (*progress)(const tile_tune_progress *progress, void *user);
    void *user; /* of both */
} tile_tune_options;

/* Calls visit for each point of the space of a kernel or plan (kernel NULL: of the only one that
 * has `tune`; a named one without `tune` has the point that is given) that agrees with the
 * bindings: "block_m=128 block_n=64", what `tune` names and what is given, until it returns false.
 * TILE_INVALID after a diagnostic, as tile_tune. */
TILE_API tile_status tile_list_points(const tile_module *module, const char *kernel,
                                      const tile_binding *bindings, unsigned binding_count,
                                      bool (*visit)(const char *point, void *user), void *user);

/* What a tuning found; it holds nothing of the device or the module. */
typedef struct tile_tuning tile_tuning;

/* Tunes for these arguments, one for each of the kernel's. A kernel without `tune` has one point,
 * which is checked and measured; with `split` others: if one of them is the best, kernels made of
 * it from then on, without bindings, look for points as one with `tune` does. *out, the caller's,
 * is there also when no candidate won: with all that was found out. TILE_INVALID after a diagnostic
 * where the space or the arguments are wrong, or there is no reference and `unchecked` does not
 * allow it; TILE_UNAVAILABLE if the worker cannot be started; TILE_FAILED if no candidate won. */
TILE_API tile_status tile_tune(tile_device *device, const tile_module *module, const char *kernel,
                               const tile_tune_argument *arguments, unsigned argument_count,
                               const tile_tune_options *options, tile_tuning **out);
TILE_API void tile_tuning_destroy(tile_tuning *tuning);

typedef struct tile_tuning_facts {
    const char *name;   /* as in tile_tune_progress */
    const char *sizes;  /* of the arguments: "m=4000 n=4096 k=4096" */
    const char *bucket; /* theirs: "m=4088 n=4096 k=4096" */
    const char *check;  /* what the results were compared with, in words */
    bool found;         /* the point was there, nothing was measured */
    bool stale;         /* found, and of another compiler */
    bool in_process;    /* there was no worker */
    bool unchecked;
    bool kept;            /* in the device's cache */
    unsigned restarts;    /* of the worker */
    double build_seconds; /* from the first candidate's code to the last one's */
    double seconds;       /* in all */
} tile_tuning_facts;

TILE_API tile_tuning_facts tile_tuning_get_facts(const tile_tuning *tuning);
/* The winner; NULL if there is none. */
TILE_API const tile_candidate *tile_tuning_best(const tile_tuning *tuning);
/* All candidates: the measured ones first, the fastest of them first, then as they were ordered. */
TILE_API unsigned tile_tuning_candidate_count(const tile_tuning *tuning);
TILE_API const tile_candidate *tile_tuning_candidate_at(const tile_tuning *tuning,
                                                        unsigned index); /* NULL past the end */

typedef enum tile_tuning_form { TILE_TUNING_TEXT, TILE_TUNING_JSON } tile_tuning_form;
/* Every candidate with what became of it, as a table or as JSON. */
TILE_API void tile_tuning_print(const tile_tuning *tuning, tile_tuning_form form,
                                tile_writer writer, void *user);

/* What a worker program's main does: takes candidates from a pipe until it ends. Nothing else may
 * write to `output`. Returns the exit status. */
TILE_API int tile_tune_serve(int input, int output);

#ifdef __cplusplus
}
#endif

#endif
