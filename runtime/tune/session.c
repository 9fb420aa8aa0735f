#include "runtime/tune/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/function.h"
#include "runtime/compile/store.h"
#include "runtime/launch/kernel.h"
#include "runtime/launch/tuned.h"
#include "runtime/tune/check.h"

struct tune_session {
    tile_arena arena; /* of the task */
    tune_task task;
    tile_context *context;
    tile_arena messages;
    const char *message; /* the first error of the current trial, with its notes */
    bool in_error;
    tile_device *device;
    tile_module *module;
    tile_store *store;
    bool is_ready; /* the following members have been created, for the first trial's kernel */
    bool has_small;
    tune_shape small, tuned;
    tune_check small_check, tuned_check;
};

/* One trial. */
typedef struct trial {
    tune_session *s;
    const tune_trial *given;
    tile_arena *arena;
    tune_outcome *outcome;
    tile_kernel *kernel;
    tile_binding *bindings;
    unsigned count;
} trial;

/* Diagnostics ---------------------------------------------------------------------------------- */

static void take_message(const tile_diagnostic *d, void *user) {
    tune_session *s = user;
    if (d->severity == TILE_ERROR && !s->message) {
        s->message = tile_arena_string(&s->messages, d->message, strlen(d->message));
        s->in_error = true;
    } else if (d->severity == TILE_NOTE && s->in_error) {
        s->message = tile_arena_format(&s->messages, "%s; %s", s->message, d->message);
    } else {
        s->in_error = false;
    }
}

static void forget_messages(tune_session *s) {
    tile_arena_reset(&s->messages);
    s->message = NULL;
    s->in_error = false;
}

/* Opening -------------------------------------------------------------------------------------- */

static tile_status open_device(tune_session *s) {
    tile_status status = s->task.cuda
                             ? tile_device_create_cuda(s->context, &s->task.device, &s->device)
                             : tile_device_create_cpu(s->context, &s->task.device, &s->device);
    if (status != TILE_OK) return status;
    s->device->store = s->store = tile_store_create();
    return TILE_OK;
}

tune_session *tune_session_open(const char *task, size_t size, tile_arena *arena,
                                const char **why) {
    tune_session *s = tile_malloc(sizeof *s);
    *s = (tune_session){.context = tile_context_create()};
    bool ok = tune_task_read(task, size, &s->arena, &s->task);
    tile_context_set_sink(s->context, take_message, s);
    if (ok) ok = open_device(s) == TILE_OK;
    if (ok) {
        s->module = tile_module_parse(s->context, "tune", s->task.text, strlen(s->task.text));
        ok = s->module && tile_module_find(s->module, s->task.kernel);
    }
    if (ok) return s;
    const char *message = s->message ? s->message : "the task cannot be read";
    *why = tile_arena_string(arena, message, strlen(message));
    tune_session_close(s);
    return NULL;
}

static void close_shapes(tune_session *s) {
    tune_check_close(&s->small_check);
    tune_check_close(&s->tuned_check);
    tune_shape_close(&s->small);
    tune_shape_close(&s->tuned);
    s->is_ready = false;
}

void tune_session_close(tune_session *s) {
    if (!s) return;
    close_shapes(s);
    tile_device_destroy(s->device);
    tile_module_destroy(s->module);
    tile_context_destroy(s->context);
    tile_store_destroy(s->store);
    tile_arena_reset(&s->messages);
    tile_arena_reset(&s->arena);
    free(s);
}

/* Creates the arrays, for the first kernel that compiles: all kernels have the same ones. */
static tile_status open_shapes(trial *t) {
    tune_session *s = t->s;
    const tune_task *task = &s->task;
    int64_t sizes[TILE_MAX_ARGUMENTS];
    unsigned roles[TILE_MAX_ARGUMENTS] = {0};
    double limit = 2048;
    tile_status status = TILE_OK;
    const tile_abi *abi = t->kernel->head;
    for (unsigned i = 0; i < task->argument_count; i++) sizes[i] = task->arguments[i].integer;
    s->has_small = !task->unchecked && tune_task_has_small_shape(task);
    if (task->unchecked) {
        for (unsigned i = 0; i < task->argument_count; i++) /* integers may be coordinates */
            if (tile_scalar_is_floating(tile_abi_arg_at(abi, i)->type->scalar))
                roles[i] = TUNE_READ;
    } else {
        status =
            tune_check_open(&s->tuned_check, s->module, task->kernel, t->bindings, t->count, sizes);
        if (status == TILE_OK) {
            tune_check_roles(&s->tuned_check, roles);
            limit = tune_check_limit(&s->tuned_check);
        }
    }
    if (status == TILE_OK && s->has_small)
        status = tune_check_open(&s->small_check, s->module, task->kernel, t->bindings, t->count,
                                 task->small);
    if (status == TILE_OK && s->has_small)
        status = tune_shape_open(&s->small, s->device, task, abi, task->small, roles, limit, false);
    if (status == TILE_OK)
        status = tune_shape_open(&s->tuned, s->device, task, abi, sizes, roles, limit, true);
    s->is_ready = status == TILE_OK;
    if (!s->is_ready) close_shapes(s);
    return status;
}

/* A trial -------------------------------------------------------------------------------------- */

/* Returns true, and sets the outcome, if this status or error ends the trial. */
static bool ends(trial *t, tile_status status, tile_candidate_state state, const char *why) {
    tune_session *s = t->s;
    if (status == TILE_OK && !why) return false;
    if (status == TILE_FAULT) state = TILE_CANDIDATE_fault;
    if (!why) why = s->message ? s->message : tile_status_name(status);
    t->outcome->state = state;
    t->outcome->why = tile_arena_string(t->arena, why, strlen(why));
    /* After a fault a CUDA context fails all calls. */
    t->outcome->broken = s->task.cuda && status == TILE_FAULT;
    return true;
}

/* The point's bindings, and the values of {const} arguments. */
static void make_bindings(trial *t) {
    const tune_task *task = &t->s->task;
    const tile_function *f = tile_module_find(t->s->module, task->kernel);
    unsigned count = 0;
    const tile_binding *own = tile_read_bindings(t->given->bindings, t->arena, &count);
    t->bindings = TILE_NEW_ARRAY(t->arena, tile_binding, count + task->argument_count + 1u);
    for (unsigned i = 0; own && i < count; i++) t->bindings[i] = own[i];
    for (unsigned i = 0; i < task->argument_count && i < f->arg_count; i++) {
        if (!f->args[i].is_const || f->args[i].known) continue;
        t->bindings[count].name = tile_arena_format(t->arena, "%%%s", f->args[i].name);
        t->bindings[count++].value =
            tile_arena_format(t->arena, "%" PRId64, task->arguments[i].integer);
    }
    t->count = count;
}

static tile_status launch_checked(trial *t, tune_shape *shape) {
    tile_status status = tune_shape_reset(shape);
    if (status == TILE_OK)
        status = tile_kernel_launch(t->kernel, shape->arguments, t->s->task.argument_count, NULL);
    return status == TILE_OK ? tile_device_synchronize(t->s->device) : status;
}

/* Launches at the shape and compares the results. `when` precedes the message of an error. True if
 * the trial ends. */
static bool check_at(trial *t, tune_shape *shape, tune_check *check, bool is_small,
                     const char *when) {
    const char *why = NULL;
    tile_status status = launch_checked(t, shape);
    if (ends(t, status, TILE_CANDIDATE_refused, NULL)) return true;
    status = is_small ? tune_check_elements(check, shape, t->arena, &why)
                      : tune_check_large(check, &t->s->small_check, shape, t->arena, &why);
    if (why) why = tile_arena_format(t->arena, "%s: %s", when, why);
    return ends(t, status, TILE_CANDIDATE_wrong, why);
}

/* "at 240 240 240" */
static const char *at_sizes(const trial *t, const int64_t *sizes) {
    const tile_abi *abi = t->kernel->head;
    const char *text = "at";
    for (unsigned i = 0; i < t->s->task.argument_count; i++) {
        const tile_abi_arg *arg = tile_abi_arg_at(abi, i);
        if (arg->type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(arg->type->scalar))
            text = tile_arena_format(t->arena, "%s %s=%" PRId64, text, arg->name, sizes[i]);
    }
    return text;
}

/* A `where` of the candidate is false at the small shape: only prepares the comparison at the tuned
 * one, which needs the rounding errors at the small shape. */
static bool skip_small(trial *t) {
    tune_session *s = t->s;
    tile_status status = tune_shape_reset(&s->small);
    if (status == TILE_OK) status = tune_check_prepare(&s->small_check, &s->small);
    t->outcome->check = tune_check_words(&s->tuned_check);
    return ends(t, status, TILE_CANDIDATE_refused, NULL);
}

/* Compares with the compute, at the small shape, or at the tuned one if that is small itself. */
static bool check_before(trial *t) {
    tune_session *s = t->s;
    if (s->task.unchecked || t->given->again) return false;
    if (!s->has_small) {
        t->outcome->check = "element by element";
        return check_at(t, &s->tuned, &s->tuned_check, true, at_sizes(t, s->tuned.sizes));
    }
    if (!tile_point_allows(t->kernel->first, s->small.arguments)) return skip_small(t);
    t->outcome->check =
        tile_arena_format(t->arena, "element by element %s; then %s", at_sizes(t, s->small.sizes),
                          tune_check_words(&s->tuned_check));
    return check_at(t, &s->small, &s->small_check, true, at_sizes(t, s->small.sizes));
}

/* Checks at the tuned shape, unless the candidate was abandoned: reading a large result takes
 * longer than measuring. Launches twice, since a race may show in only one launch. */
static bool check_after(trial *t) {
    tune_session *s = t->s;
    const char *when = at_sizes(t, s->tuned.sizes);
    if (s->task.unchecked || t->given->again) return false;
    bool each = !s->has_small || s->tuned_check.is_short;
    if (s->has_small && check_at(t, &s->tuned, &s->tuned_check, each, when)) return true;
    return check_at(t, &s->tuned, &s->tuned_check, each,
                    tile_arena_format(t->arena, "%s, launched again", when));
}

/* Options for one of several rounds: fewer launches, which take less than a third of the first
 * measurement. */
static void shorten(tile_measure_options *options) {
    enum { SHARE = 3, LEAST = 3, WARMUP = 2 };
    unsigned repeats = options->repeats / SHARE;
    options->repeats = repeats > LEAST ? repeats : LEAST;
    if (options->warmup > WARMUP) options->warmup = WARMUP;
}

static bool measure(trial *t) {
    tune_session *s = t->s;
    tile_measure_options options = s->task.measure;
    tune_outcome *o = t->outcome;
    options.abandon_above = t->given->again ? 0 : t->given->abandon_above;
    if (t->given->again) shorten(&options);
    tile_status status =
        tile_measure(t->kernel, s->tuned.timed, s->task.argument_count, NULL, &options, &o->time);
    if (ends(t, status, TILE_CANDIDATE_refused, NULL)) return true;
    o->state = o->time.abandoned ? TILE_CANDIDATE_abandoned : TILE_CANDIDATE_measured;
    return o->time.abandoned;
}

static void take_larger(int *to, int value) {
    if (value > *to) *to = value;
}

/* Covers all compiled variants, because the one that was launched is among them. */
static void describe_kernel(tune_outcome *o, tile_device *device, const tile_kernel *kernel) {
    for (unsigned i = 0; i < TILE_MAX_VARIANTS; i++) {
        tile_variant *variant = tile_find_variant(kernel->first, i);
        tile_kernel_attributes a = {0};
        int blocks = 0;
        if (!variant) continue;
        take_larger(&o->shared_bytes, (int)tile_abi_shared_bytes(variant->abi));
        if (device->ops->attributes) device->ops->attributes(device, variant, &a);
        if (device->ops->residency) device->ops->residency(device, variant, &blocks);
        take_larger(&o->registers, a.registers);
        take_larger(&o->local_bytes, a.local_bytes);
        take_larger(&o->shared_bytes, a.shared_bytes);
        if (blocks && (!o->blocks_per_sm || blocks < o->blocks_per_sm)) o->blocks_per_sm = blocks;
    }
}

static void describe(trial *t) {
    if (!t->kernel->first->plan) {
        describe_kernel(t->outcome, t->s->device, t->kernel);
        return;
    }
    const tile_plan *plan = t->kernel->first->plan;
    for (unsigned i = 0; tile_plan_kernel_at(plan, i); i++)
        describe_kernel(t->outcome, t->s->device, tile_plan_kernel_at(plan, i));
}

static void run(trial *t) {
    tune_session *s = t->s;
    tile_status status =
        tile_kernel_create(s->device, s->module, s->task.kernel, t->bindings, t->count, &t->kernel);
    if (ends(t, status, TILE_CANDIDATE_refused, NULL)) return;
    describe(t);
    if (!s->is_ready && ends(t, open_shapes(t), TILE_CANDIDATE_refused, NULL)) return;
    if (check_before(t) || measure(t)) return;
    describe(t); /* variants have been added */
    check_after(t);
}

void tune_session_try(tune_session *s, const tune_trial *given, tile_arena *arena,
                      tune_outcome *outcome) {
    trial t = {.s = s, .given = given, .arena = arena, .outcome = outcome};
    *outcome = (tune_outcome){.state = TILE_CANDIDATE_refused, .why = ""};
    forget_messages(s);
    for (unsigned i = 0; i < given->artifact_count; i++)
        tile_store_keep(s->store, given->artifacts[i].key, given->artifacts[i].data,
                        given->artifacts[i].size);
    make_bindings(&t);
    run(&t);
    tile_kernel_destroy(t.kernel);
}
