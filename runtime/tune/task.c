#include "runtime/tune/task.h"

/* The target, by name. */
static void write_device(tile_text *to, const tune_task *task) {
    const tile_device_options *d = &task->device;
    tune_put_u64(to, task->cuda);
    tune_put_u64(to, d->level);
    tune_put_u64(to, d->seed);
    tune_put_text(to, d->ptxas);
    tune_put_u64(to, (uint64_t)d->ordinal);
    tune_put_text(to, d->target ? d->target->name : NULL);
    tune_put_u64(to, d->max_operations);
    tune_put_u64(to, d->sms);
}

static void read_device(tune_reader *from, tune_task *task) {
    tile_device_options *d = &task->device;
    *d = (tile_device_options){.size = sizeof *d};
    task->cuda = tune_get_u64(from);
    d->level = (unsigned)tune_get_u64(from);
    d->seed = tune_get_u64(from);
    d->ptxas = tune_get_text(from);
    d->ordinal = (int)tune_get_u64(from);
    const char *target = tune_get_text(from);
    d->target = target ? tile_target_find(target) : NULL;
    d->max_operations = tune_get_u64(from);
    d->sms = (unsigned)tune_get_u64(from);
}

static void write_measure(tile_text *to, const tile_measure_options *m) {
    tune_put_u64(to, m->warmup);
    tune_put_u64(to, m->repeats);
    tune_put_u64(to, m->batch);
    tune_put_u64(to, m->flush);
}

static void read_measure(tune_reader *from, tile_measure_options *m) {
    *m = (tile_measure_options){.size = sizeof *m};
    m->warmup = (unsigned)tune_get_u64(from);
    m->repeats = (unsigned)tune_get_u64(from);
    m->batch = (unsigned)tune_get_u64(from);
    m->flush = (tile_flush)tune_get_u64(from);
}

void tune_task_write(tile_text *to, const tune_task *task) {
    write_device(to, task);
    tune_put_text(to, task->text);
    tune_put_text(to, task->kernel);
    tune_put_u64(to, task->unchecked);
    tune_put_u64(to, task->seed);
    write_measure(to, &task->measure);
    tune_put_u64(to, task->argument_count);
    for (unsigned i = 0; i < task->argument_count; i++) {
        const tile_tune_argument *a = &task->arguments[i];
        tune_put_u64(to, (uint64_t)a->integer);
        tune_put_double(to, a->number);
        tune_put_u64(to, (uint64_t)a->elements);
        tune_put(to, a->data, a->data ? a->bytes : 0);
        tune_put_u64(to, (uint64_t)task->small[i]);
    }
}

bool tune_task_read(tune_reader *from, tune_task *task) {
    *task = (tune_task){.cuda = false};
    read_device(from, task);
    task->text = tune_get_text(from);
    task->kernel = tune_get_text(from);
    task->unchecked = tune_get_u64(from);
    task->seed = tune_get_u64(from);
    read_measure(from, &task->measure);
    uint64_t count = tune_get_u64(from);
    if (from->bad || count > TILE_MAX_ARGUMENTS || !task->text || !task->kernel) return false;
    task->argument_count = (unsigned)count;
    task->arguments = TILE_NEW_ARRAY(from->arena, tile_tune_argument, count + 1);
    task->small = TILE_NEW_ARRAY(from->arena, int64_t, count + 1);
    for (unsigned i = 0; i < count; i++) {
        tile_tune_argument *a = &task->arguments[i];
        a->integer = (int64_t)tune_get_u64(from);
        a->number = tune_get_double(from);
        a->elements = (int64_t)tune_get_u64(from);
        a->data = tune_get(from, &a->bytes);
        if (!a->bytes) a->data = NULL;
        task->small[i] = (int64_t)tune_get_u64(from);
    }
    return !from->bad;
}

bool tune_task_has_small_shape(const tune_task *task) {
    for (unsigned i = 0; i < task->argument_count; i++)
        if (task->small[i] != task->arguments[i].integer) return true;
    return false;
}

void tune_trial_write(tile_text *to, const tune_trial *trial) {
    tune_put_text(to, trial->bindings);
    tune_put_double(to, trial->hopeless);
    tune_put_u64(to, trial->again);
    tune_put_u64(to, trial->artifact_count);
    for (unsigned i = 0; i < trial->artifact_count; i++) {
        tune_put_text(to, trial->keys[i]);
        tune_put(to, trial->data[i], trial->sizes[i]);
    }
}

enum { MOST_ARTIFACTS = 1 << 12 };

bool tune_trial_read(tune_reader *from, tune_trial *trial) {
    *trial = (tune_trial){.bindings = tune_get_text(from)};
    trial->hopeless = tune_get_double(from);
    trial->again = tune_get_u64(from);
    uint64_t count = tune_get_u64(from);
    if (from->bad || count > MOST_ARTIFACTS || !trial->bindings) return false;
    trial->artifact_count = (unsigned)count;
    trial->keys = TILE_NEW_ARRAY(from->arena, const char *, count + 1);
    trial->data = TILE_NEW_ARRAY(from->arena, const void *, count + 1);
    trial->sizes = TILE_NEW_ARRAY(from->arena, size_t, count + 1);
    for (unsigned i = 0; i < count; i++) {
        trial->keys[i] = tune_get_text(from);
        trial->data[i] = tune_get(from, &trial->sizes[i]);
        if (!trial->keys[i]) return false;
    }
    return !from->bad;
}

void tune_outcome_write(tile_text *to, const tune_outcome *outcome) {
    const tile_measurement *t = &outcome->time;
    tune_put_u64(to, outcome->state);
    tune_put_text(to, outcome->why);
    tune_put_text(to, outcome->check);
    tune_put_u64(to, outcome->broken);
    const double times[] = {t->median, t->fastest, t->slowest, t->lower, t->upper};
    for (unsigned i = 0; i < sizeof times / sizeof *times; i++) tune_put_double(to, times[i]);
    tune_put_u64(to, t->repeats);
    tune_put_u64(to, t->hopeless);
    tune_put_u64(to, (uint64_t)outcome->registers);
    tune_put_u64(to, (uint64_t)outcome->local_bytes);
    tune_put_u64(to, (uint64_t)outcome->shared_bytes);
    tune_put_u64(to, (uint64_t)outcome->blocks_per_sm);
}

bool tune_outcome_read(tune_reader *from, tune_outcome *outcome) {
    tile_measurement *t = &outcome->time;
    uint64_t state = tune_get_u64(from);
    *outcome = (tune_outcome){.state = (tile_candidate_state)state, .why = tune_get_text(from)};
    outcome->check = tune_get_text(from);
    outcome->broken = tune_get_u64(from);
    double *times[] = {&t->median, &t->fastest, &t->slowest, &t->lower, &t->upper};
    for (unsigned i = 0; i < sizeof times / sizeof *times; i++) *times[i] = tune_get_double(from);
    t->repeats = (unsigned)tune_get_u64(from);
    t->hopeless = tune_get_u64(from);
    outcome->registers = (int)tune_get_u64(from);
    outcome->local_bytes = (int)tune_get_u64(from);
    outcome->shared_bytes = (int)tune_get_u64(from);
    outcome->blocks_per_sm = (int)tune_get_u64(from);
    return !from->bad && state <= TILE_CANDIDATE_measured;
}
