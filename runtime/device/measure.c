/* Statistics of repeated launches. The device times each launch. */
#include "runtime/device/measure.h"

#include <stdlib.h>
#include <string.h>

#include "lib/support/options.h"

enum {
    MIN_SAMPLES = 3,   /* before a work can be abandoned for its median */
    WARMUP_FACTOR = 2, /* by how much slower a warm-up launch must be for that */
    MAX_BATCH = 1 << 20,
};

tile_status tile_take_measure_options(tile_context *context, const tile_measure_options *given,
                                      tile_measure_options *taken) {
    if (!TILE_TAKE_OPTIONS(context, tile_measure_options, taken, given)) return TILE_INVALID;
    if (!taken->repeats) taken->repeats = 1;
    if (!taken->batch) taken->batch = 1;
    if (taken->warmup <= TILE_MAX_REPEATS && taken->repeats <= TILE_MAX_REPEATS &&
        taken->batch <= MAX_BATCH && taken->flush <= TILE_FLUSH_CLEAN)
        return TILE_OK;
    tile_report(context, TILE_ERROR, (tile_loc){0},
                "%u launches to warm up and %u timed ones, in batches of %u: at most %d each, and "
                "batches of at most %d",
                taken->warmup, taken->repeats, taken->batch, TILE_MAX_REPEATS, MAX_BATCH);
    return TILE_INVALID;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarize(double *samples, tile_measurement *m) {
    unsigned n = m->repeats;
    if (!n) return;
    qsort(samples, n, sizeof *samples, by_size);
    m->fastest = samples[0];
    m->lower = samples[n / 4];
    m->median = samples[n / 2];
    m->upper = samples[n - 1 - n / 4];
    m->slowest = samples[n - 1];
}

/* The samples of one work. */
typedef struct series {
    double *samples;
    double fastest;
    tile_measurement *m;
} series;

static void add_sample(series *s, double seconds, double abandon_above) {
    if (!s->m->repeats || seconds < s->fastest) s->fastest = seconds;
    s->samples[s->m->repeats++] = seconds;
    s->m->abandoned =
        abandon_above > 0 && s->m->repeats >= MIN_SAMPLES && s->fastest > abandon_above;
}

/* A round: each work is timed once. */
static tile_status take_round(tile_device *device, const tile_timed *works, unsigned count,
                              const tile_measure_options *options, unsigned round, series *all) {
    for (unsigned i = 0; i < count; i++) {
        tile_timed timed = works[i];
        double seconds = 0;
        if (all[i].m->abandoned) continue;
        timed.flush = options->flush;
        timed.batch = options->batch;
        tile_status status = device->ops->time(device, &timed, &seconds);
        if (status != TILE_OK) return status;
        seconds /= options->batch;
        if (round >= options->warmup)
            add_sample(&all[i], seconds, options->abandon_above);
        else if (round && options->abandon_above > 0 &&
                 seconds > WARMUP_FACTOR * options->abandon_above)
            add_sample(&all[i], seconds, options->abandon_above), all[i].m->abandoned = true;
    }
    return TILE_OK;
}

tile_status tile_measure_timed(tile_device *device, const tile_timed *works, unsigned count,
                               const tile_measure_options *options, tile_measurement *out) {
    size_t room = options->repeats;
    double *samples = tile_malloc(sizeof *samples * (count * room + 1));
    series *all = tile_malloc(sizeof *all * (count + 1u));
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < count; i++) {
        out[i] = (tile_measurement){0};
        all[i] = (series){.samples = samples + i * room, .m = &out[i]};
    }
    for (unsigned round = 0; round < options->warmup + options->repeats && status == TILE_OK;
         round++)
        status = take_round(device, works, count, options, round, all);
    for (unsigned i = 0; i < count && status == TILE_OK; i++) {
        if (options->samples)
            memcpy(options->samples + i * room, all[i].samples, sizeof *samples * out[i].repeats);
        summarize(all[i].samples, &out[i]);
    }
    free(all);
    free(samples);
    return status;
}

/* Works of the caller ------------------------------------------------------------------------- */

typedef struct caller {
    const tile_work *work;
    void *stream;
} caller;

static tile_status launch(void *user) {
    const caller *c = user;
    return c->work->launch(c->stream, c->work->user);
}

tile_status tile_measure_works(tile_device *device, const tile_work *works, unsigned count,
                               void *stream, const tile_measure_options *options,
                               tile_measurement *out) {
    TILE_GUARD(device ? device->context : NULL, TILE_OUT_OF_MEMORY)
    tile_measure_options taken;
    if (!device || (count && !works)) return TILE_INVALID;
    tile_status status = tile_take_measure_options(device->context, options, &taken);
    if (status != TILE_OK) return status;
    caller *callers = tile_malloc(sizeof *callers * (count + 1u));
    tile_timed *timed = tile_malloc(sizeof *timed * (count + 1u));
    for (unsigned i = 0; i < count; i++) {
        callers[i] = (caller){&works[i], stream};
        timed[i] = (tile_timed){.launch = launch, .user = &callers[i], .stream = stream};
    }
    status = tile_measure_timed(device, timed, count, &taken, out);
    free(timed);
    free(callers);
    return status;
}
