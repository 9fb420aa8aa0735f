/* Plans on a device. All steps are checked before the first is launched, so an invalid argument is
 * reported before anything happens. A fill is also a launch, of a kernel that is made here. */
#include "runtime/launch/plan.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/remark.h"
#include "lib/launch/abi.h"
#include "lib/launch/steps.h"
#include "lib/support/context.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"
#include "passes/passes.h"
#include "runtime/device/arguments.h"
#include "runtime/device/measure.h"

enum { WIDTHS = 4 /* 1, 2, 4 and 8 bytes */ };

/* Scratch of the launches on one stream. It is freed only with the plan, because launches may still
 * use it. Added under the context's lock, found without one. */
typedef struct stream_scratch {
    struct stream_scratch *next; /* older */
    void *stream;
    tile_buffer *buffer;
} stream_scratch;

struct tile_plan {
    tile_device *device;
    tile_module *module; /* instantiated */
    tile_steps *steps;
    tile_abi *head; /* the abi of a kernel with the plan's arguments */
    /* NULL: a fallback that has not been used yet. Added under the context's lock, found without
     * one. */
    tile_kernel *_Atomic *kernels;
    tile_kernel *fills[WIDTHS];
    stream_scratch *_Atomic scratch;
};

static const tile_loc no_location = {0, 0, 0};

/* Making -------------------------------------------------------------------------------------- */

/* Fills bits, so one kernel handles all types of a width. %s is an integer type. */
static const char fill_text[] =
    "kernel @fill(%%n: i32 {divisible = 16}, %%value: %s, %%x: ptr<%s>)\n"
    "    grid [ceildiv(%%n, 1024)] warps 4 {\n"
    "  %%b = block_id\n"
    "  %%g = view %%x, [%%n]\n"
    "  store splat(%%value) : [1024], %%g[%%b * 1024]\n"
    "}\n";

static tile_status make_fill(tile_plan *plan, unsigned width) {
    static const char *const types[WIDTHS] = {"i8", "i16", "i32", "i64"};
    const char *t = types[width];
    tile_arena arena = {0};
    const char *text = tile_arena_format(&arena, fill_text, t, t);
    tile_module *module = tile_module_parse(plan->device->context, "fill", text, strlen(text));
    tile_status status = TILE_FAILED;
    if (module)
        status = tile_kernel_create(plan->device, module, "fill", NULL, 0, &plan->fills[width]);
    tile_module_destroy(module);
    tile_arena_reset(&arena);
    return status;
}

static unsigned width_of(tile_scalar scalar) {
    unsigned width = 0;
    while (1u << width < tile_scalar_bytes(scalar)) width++;
    return width;
}

static tile_status make_kernel(tile_plan *plan, unsigned index) {
    tile_kernel *made;
    tile_status status =
        tile_kernel_create(plan->device, plan->module, plan->steps->kernels[index], NULL, 0, &made);
    if (status == TILE_OK) atomic_store_explicit(&plan->kernels[index], made, memory_order_release);
    return status;
}

static tile_status make_kernels(tile_plan *plan) {
    const tile_steps *steps = plan->steps;
    tile_status status = TILE_OK;
    plan->kernels = tile_malloc(sizeof *plan->kernels * (steps->kernel_count + 1));
    memset(plan->kernels, 0, sizeof *plan->kernels * (steps->kernel_count + 1));
    for (unsigned i = 0; i < steps->kernel_count && status == TILE_OK; i++)
        if (tile_steps_launch(steps, i)) status = make_kernel(plan, i);
    for (size_t i = 0; i < steps->step_count && status == TILE_OK; i++) {
        unsigned width = width_of(steps->steps[i].scalar);
        if (steps->steps[i].kind == TILE_STEP_FILL && !plan->fills[width])
            status = make_fill(plan, width);
    }
    return status;
}

tile_status tile_plan_create(tile_device *device, tile_module *module, const char *name,
                             tile_plan **out) {
    tile_plan *plan = tile_malloc(sizeof *plan);
    *plan = (tile_plan){.device = device, .module = module};
    *out = NULL;
    tile_status status = tile_make_steps(module, name, device->target);
    if (status == TILE_OK) plan->steps = tile_steps_create(tile_module_find(plan->module, name));
    if (status == TILE_OK)
        plan->head = tile_arguments_create(plan->module, plan->steps->plan->name);
    if (status == TILE_OK && !plan->head) status = TILE_INVALID;
    if (status == TILE_OK) status = make_kernels(plan);
    if (status == TILE_OK)
        *out = plan;
    else
        tile_plan_destroy(plan);
    return status;
}

void tile_plan_destroy(tile_plan *plan) {
    if (!plan) return;
    for (size_t i = 0; plan->kernels && i < plan->steps->kernel_count; i++)
        tile_kernel_destroy(plan->kernels[i]);
    for (unsigned i = 0; i < WIDTHS; i++) tile_kernel_destroy(plan->fills[i]);
    for (stream_scratch *scratch = plan->scratch, *next; scratch; scratch = next) {
        next = scratch->next;
        tile_buffer_destroy(scratch->buffer);
        free(scratch);
    }
    free((void *)plan->kernels);
    tile_abi_destroy(plan->head);
    tile_steps_destroy(plan->steps);
    tile_module_destroy(plan->module);
    free(plan);
}

/* One launch of the plan ---------------------------------------------------------------------- */

/* A scratch view during a launch. */
typedef struct view_place {
    tile_argument argument;
    tile_buffer *own; /* CPU: a buffer each, so an access cannot reach another one */
} view_place;

enum { FEW_VIEWS = 32 }; /* launches of plans with more allocate memory */

typedef struct run {
    tile_plan *plan;
    const tile_argument *arguments;
    void *stream;
    view_place *scratch; /* by scratch view of the plan: few, or in the arena */
    int64_t *bytes;      /* of each view, and then their offsets */
    view_place few[FEW_VIEWS];
    int64_t few_bytes[2 * FEW_VIEWS];
    tile_arena arena;
    bool launched; /* the preceding step launched blocks that the next one may overlap */
    /* The loops around the current step, from the outermost on. */
    const tile_step *open[TILE_MAX_PLAN_LOOPS];
    unsigned depth;
    int64_t loops[TILE_MAX_PLAN_LOOPS], ends[TILE_MAX_PLAN_LOOPS], by[TILE_MAX_PLAN_LOOPS];
} run;

static bool fail(const run *r, tile_loc loc, const char *what) {
    tile_report(r->plan->device->context, TILE_ERROR, loc, "@%s: %s", r->plan->steps->plan->name,
                what);
    return false;
}

static bool argument_value(unsigned index, int64_t *value, void *user) {
    const run *r = user;
    *value = r->arguments[index].integer;
    return true;
}

static bool evaluate(const run *r, const tile_expr *expr, int64_t *value) {
    const tile_bindings bindings = {.arg = argument_value,
                                    .user = (void *)r,
                                    .num_sms = r->plan->device->num_sms,
                                    .loops = r->loops,
                                    .loop_count = TILE_MAX_PLAN_LOOPS};
    return tile_expr_eval(expr, &bindings, value);
}

/* The product of these extents; false after a report. */
static bool count_elements(const run *r, tile_loc loc, const tile_expr *const *extents,
                           unsigned rank, int64_t *count) {
    const int64_t most = INT64_C(1) << TILE_MAX_TENSOR_LOG2;
    *count = 1;
    for (unsigned d = 0; d < rank; d++) {
        int64_t extent;
        if (!evaluate(r, extents[d], &extent))
            return fail(r, loc, "an extent has no value: it divides by zero");
        if (extent < 0 || extent > INT32_MAX) {
            tile_report(r->plan->device->context, TILE_ERROR, loc,
                        "@%s: the extent of dim %u is %" PRId64
                        ", which must be from 0 to 2^31 - 1",
                        r->plan->steps->plan->name, d, extent);
            return false;
        }
        if (extent && *count > most / extent)
            return fail(r, loc, "its extents are more than 2^40 elements; make it smaller");
        *count *= extent;
    }
    return true;
}

/* Scratch ------------------------------------------------------------------------------------- */

/* CPU: fresh memory, so uninitialized reads are detected. */
static tile_status provide_apart(run *r) {
    tile_status status = TILE_OK;
    for (size_t i = 0; i < r->plan->steps->scratch_count && status == TILE_OK; i++) {
        view_place *view = &r->scratch[i];
        status = tile_buffer_create(r->plan->device, (size_t)r->bytes[i], &view->own);
        if (status != TILE_OK) break;
        view->own->of_plan = true;
        view->own->scratch_loc = r->plan->steps->scratch[i].loc;
        view->argument.buffer = view->own;
    }
    return status;
}

static tile_buffer *find_buffer(const run *r, int64_t bytes) {
    stream_scratch *scratch = atomic_load_explicit(&r->plan->scratch, memory_order_acquire);
    while (scratch &&
           (scratch->stream != r->stream || tile_buffer_size(scratch->buffer) < (size_t)bytes))
        scratch = scratch->next;
    return scratch ? scratch->buffer : NULL;
}

static tile_status grow_scratch(run *r, int64_t bytes) {
    tile_device *device = r->plan->device;
    bool capturing = false;
    tile_status status = device->ops->is_capturing
                             ? device->ops->is_capturing(device, r->stream, &capturing)
                             : TILE_OK;
    if (status != TILE_OK) return status;
    if (capturing) {
        fail(r, no_location,
             "it has no scratch yet, and the stream is being captured: call "
             "tile_kernel_prepare before the capture begins");
        return TILE_UNSUPPORTED;
    }
    stream_scratch *added = tile_malloc(sizeof *added);
    *added = (stream_scratch){.next = r->plan->scratch, .stream = r->stream};
    status = tile_buffer_create(device, (size_t)bytes, &added->buffer);
    if (status == TILE_OK)
        atomic_store_explicit(&r->plan->scratch, added, memory_order_release);
    else
        free(added);
    return status;
}

static tile_status provide_together(run *r) {
    const tile_steps *steps = r->plan->steps;
    int64_t *offsets = r->bytes + steps->scratch_count;
    int64_t total = tile_steps_place(steps, r->bytes, TILE_SCRATCH_ALIGNMENT, offsets);
    tile_context *context = r->plan->device->context;
    tile_status status = TILE_OK;
    tile_buffer *buffer = find_buffer(r, total);
    if (!buffer) {
        tile_context_lock(context);
        status = grow_scratch(r, total);
        tile_context_unlock(context);
        buffer = find_buffer(r, total);
    }
    for (size_t i = 0; i < steps->scratch_count; i++)
        r->scratch[i].argument = (tile_argument){.buffer = buffer, .offset = (size_t)offsets[i]};
    return status;
}

static tile_status provide_scratch(run *r) {
    const tile_steps *steps = r->plan->steps;
    for (size_t i = 0; i < steps->scratch_count; i++) {
        const tile_step_scratch *scratch = &steps->scratch[i];
        if (!count_elements(r, scratch->loc, scratch->extents, scratch->rank, &r->bytes[i]))
            return TILE_INVALID;
        r->bytes[i] *= tile_scalar_bytes(scratch->scalar);
    }
    if (!steps->scratch_count) return TILE_OK;
    bool has_streams = r->plan->device->ops->is_capturing != NULL;
    return has_streams ? provide_together(r) : provide_apart(r);
}

/* Steps --------------------------------------------------------------------------------------- */

/* The place in its view of a subview's first element; false after a report. */
static bool find_start(const run *r, const tile_step_view *view, int64_t *start) {
    for (unsigned d = 0; d < view->of_rank; d++) {
        int64_t at, extent;
        if (!evaluate(r, view->at[d], &at) || !evaluate(r, view->of_extents[d], &extent))
            return fail(r, view->loc,
                        "a coordinate of this subview has no value: it divides by zero");
        if (at < 0 || at >= extent) {
            tile_report(r->plan->device->context, TILE_ERROR, view->loc,
                        "@%s: coordinate %u of this subview is %" PRId64
                        ", which must be from 0 to %" PRId64,
                        r->plan->steps->plan->name, d, at, extent - 1);
            return false;
        }
        *start = *start * extent + at;
    }
    return true;
}

/* Finds where a subview begins in its view, in bytes, and how many bytes it has. False after a
 * report: it reaches beyond its view. */
static bool find_window(const run *r, const tile_step_view *view, int64_t *offset, int64_t *bytes) {
    int64_t count, whole, start = 0;
    int64_t width = tile_scalar_bytes(view->scalar);
    if (!count_elements(r, view->loc, view->extents, view->rank, &count) ||
        !count_elements(r, view->loc, view->of_extents, view->of_rank, &whole) ||
        (count && !find_start(r, view, &start)))
        return false;
    if (count > whole - start) {
        tile_report(r->plan->device->context, TILE_ERROR, view->loc,
                    "@%s: this subview has %" PRId64 " elements from element %" PRId64
                    " on, of a view with %" PRId64 "; make it smaller, or the view larger",
                    r->plan->steps->plan->name, count, start, whole);
        return false;
    }
    *offset = start * width;
    *bytes = count * width;
    return true;
}

/* The value that a step passes as a launch's argument; false after a report. window: is filled for
 * a subview, and contains its bytes only. */
static bool take_given(const run *r, tile_loc loc, const tile_given *given, tile_buffer *window,
                       tile_argument *to) {
    int64_t offset, bytes;
    *to = (tile_argument){.buffer = NULL};
    switch (given->kind) {
    case TILE_GIVEN_VIEW: {
        const tile_step_view *view = &r->plan->steps->views[given->index];
        if (!find_window(r, view, &offset, &bytes) || !take_given(r, loc, &view->of, window, to))
            return false;
        tile_buffer_set_window(window, to->buffer, to->offset + (size_t)offset, (size_t)bytes);
        *to = (tile_argument){.buffer = window};
        return true;
    }
    case TILE_GIVEN_ARGUMENT: *to = r->arguments[given->index]; return true;
    case TILE_GIVEN_SCRATCH: *to = r->scratch[given->index].argument; return true;
    case TILE_GIVEN_NUMBER: to->number = given->number; return true;
    case TILE_GIVEN_INTEGER:
        if (!evaluate(r, given->expr, &to->integer))
            return fail(r, loc, "an argument of this step has no value: it divides by zero");
        return true;
    }
    return false;
}

/* Returns the kernel. It is made if needed, unless the stream is being captured. */
static tile_status take_kernel(const run *r, unsigned index, tile_kernel **kernel) {
    tile_plan *plan = r->plan;
    *kernel = atomic_load_explicit(&plan->kernels[index], memory_order_acquire);
    if (*kernel) return TILE_OK;
    tile_status status = tile_refuse_capture(plan->device, plan->steps->kernels[index], r->stream);
    if (status != TILE_OK) return status;
    tile_context_lock(plan->device->context);
    if (!plan->kernels[index])
        status = make_kernel(plan, index); /* another thread may have made it */
    *kernel = plan->kernels[index];
    tile_context_unlock(plan->device->context);
    return status;
}

static tile_status reject(const run *r, const tile_step *step, int64_t room) {
    tile_report(r->plan->device->context, TILE_ERROR, step->loc,
                "@%s: the blocks of @%s cannot all run at once, as 'resident' requires: the device "
                "holds %" PRId64 "; launch fewer, or add `otherwise`",
                r->plan->steps->plan->name, r->plan->steps->kernels[step->kernel], room);
    return TILE_UNSUPPORTED;
}

/* Reported once: only while the fallback has not been made. */
static void report_otherwise(const run *r, const tile_step *step, int64_t room) {
    char why[200];
    tile_plan *plan = r->plan;
    const char **kernels = plan->steps->kernels;
    if (atomic_load_explicit(&plan->kernels[step->otherwise], memory_order_acquire)) return;
    snprintf(why, sizeof why,
             "the device runs %" PRId64 " blocks of @%s at once, this launch has more, and @%s "
             "takes its place",
             room, kernels[step->kernel], kernels[step->otherwise]);
    tile_missed_at(plan->steps->plan, TILE_NO_OP, "not resident",
                   "launch fewer blocks, with a smaller split or larger tiles", "%s", why);
}

/* Not all blocks can run at the same time: launches the step's fallback instead. */
static tile_status run_fallback(const run *r, const tile_step *step, const tile_argument *arguments,
                                tile_step_launch *how, tile_step_mode mode) {
    tile_kernel *kernel;
    if (step->otherwise < 0) return reject(r, step, how->room);
    report_otherwise(r, step, how->room);
    tile_status status = take_kernel(r, (unsigned)step->otherwise, &kernel);
    *how = (tile_step_launch){.stream = r->stream, .overlapped = step->overlapped};
    return status == TILE_OK
               ? tile_kernel_take_step(kernel, arguments, step->given_count, how, mode)
               : status;
}

static tile_status take_launch(run *r, const tile_step *step, tile_step_mode mode) {
    tile_argument arguments[TILE_MAX_ARGUMENTS];
    tile_buffer windows[TILE_MAX_ARGUMENTS];
    tile_step_launch how = {.stream = r->stream,
                            .overlaps = step->overlaps && r->launched,
                            .overlapped = step->overlapped,
                            .resident = step->resident};
    for (unsigned i = 0; i < step->given_count; i++)
        if (!take_given(r, step->loc, &step->given[i], &windows[i], &arguments[i]))
            return TILE_INVALID;
    tile_status status = tile_kernel_take_step(r->plan->kernels[step->kernel], arguments,
                                               step->given_count, &how, mode);
    if (status == TILE_OK && how.refused) status = run_fallback(r, step, arguments, &how, mode);
    r->launched = how.launched && step->overlapped;
    return status;
}

/* The bits of one element as an integer of its width. */
static int64_t bits_of(tile_scalar scalar, const tile_argument *value, unsigned width) {
    static const tile_scalar integers[WIDTHS] = {TILE_i8, TILE_i16, TILE_i32, TILE_i64};
    unsigned char bytes[sizeof(int64_t)] = {0};
    if (tile_scalar_is_floating(scalar))
        tile_scalar_write(scalar, bytes, value->number);
    else
        tile_integer_write(scalar, bytes, value->integer);
    return tile_integer_read(integers[width], bytes);
}

/* Launches the fill in pieces whose size fits an i32. */
static tile_status take_fill(run *r, const tile_step *step, tile_step_mode mode) {
    enum { PIECE = 1 << 30 };
    tile_argument view, value;
    tile_buffer window;
    int64_t count;
    tile_step_launch how = {.stream = r->stream};
    unsigned width = width_of(step->scalar);
    r->launched = false;
    if (!take_given(r, step->loc, &step->given[0], &window, &view) ||
        !take_given(r, step->loc, &step->given[1], NULL, &value) ||
        !count_elements(r, step->loc, step->extents, step->rank, &count))
        return TILE_INVALID;
    tile_status status = TILE_OK;
    for (int64_t done = 0; done < count && status == TILE_OK; done += PIECE) {
        tile_argument arguments[3] = {
            {.integer = count - done < PIECE ? count - done : PIECE},
            {.integer = bits_of(step->scalar, &value, width)},
            {.buffer = view.buffer, .offset = view.offset + ((size_t)done << width)}};
        status = tile_kernel_take_step(r->plan->fills[width], arguments, 3, &how, mode);
    }
    return status;
}

/* Begins a loop. Sets *next to the step after the loop if it has no iteration. */
static bool begin_loop(run *r, const tile_step *step, size_t *next) {
    int64_t *variable = &r->loops[step->loop], *end = &r->ends[step->loop];
    int64_t *by = &r->by[step->loop];
    if (!evaluate(r, step->begin, variable) || !evaluate(r, step->end, end) ||
        !evaluate(r, step->by, by))
        return fail(r, step->loc, "a bound of this `for` has no value: it divides by zero");
    if (*by < 1) {
        tile_report(r->plan->device->context, TILE_ERROR, step->loc,
                    "@%s: the step of this `for` is %" PRId64 ", which must be positive",
                    r->plan->steps->plan->name, *by);
        return false;
    }
    r->open[step->loop] = step;
    r->depth = step->loop + (*variable < *end);
    if (*variable >= *end) *next = step->target;
    return true;
}

/* Sets *next to the first step of the loop's body if there is one more iteration. */
static void continue_loop(run *r, const tile_step *step, size_t *next) {
    int64_t *variable = &r->loops[step->loop];
    uint64_t left = (uint64_t)r->ends[step->loop] - (uint64_t)*variable; /* at least 1 */
    bool continues = (uint64_t)r->by[step->loop] < left;
    r->depth = step->loop + continues;
    if (!continues) return;
    *variable += r->by[step->loop];
    *next = step->target + 1;
}

/* Says in which iterations a step has failed. */
static void note_iterations(const run *r) {
    for (unsigned i = r->depth; i-- > 0;)
        tile_report(r->plan->device->context, TILE_NOTE, r->open[i]->loc,
                    "in the iteration with %%%s = %" PRId64, r->open[i]->variable, r->loops[i]);
}

static tile_status take_steps(run *r, tile_step_mode mode) {
    const tile_steps *steps = r->plan->steps;
    tile_status status = TILE_OK;
    int64_t condition;
    const uint64_t most = r->plan->device->max_operations;
    r->depth = 0;
    for (size_t i = 0, taken = 0; i < steps->step_count && status == TILE_OK;) {
        const tile_step *step = &steps->steps[i++];
        if (most && taken++ == most) {
            fail(r, step->loc, "the plan has executed its limit of steps");
            status = TILE_FAULT;
            break;
        }
        switch (step->kind) {
        case TILE_STEP_LAUNCH: status = take_launch(r, step, mode); break;
        case TILE_STEP_FILL: status = take_fill(r, step, mode); break;
        case TILE_STEP_BRANCH:
            if (!evaluate(r, step->condition, &condition)) {
                fail(r, step->loc, "the condition of this `if` has no value: it divides by zero");
                status = TILE_INVALID;
            } else if (!condition) {
                i = step->target;
            }
            break;
        case TILE_STEP_JUMP: i = step->target; break;
        case TILE_STEP_FOR:
            if (!begin_loop(r, step, &i)) status = TILE_INVALID;
            break;
        case TILE_STEP_NEXT: continue_loop(r, step, &i); break;
        }
    }
    if (status != TILE_OK) note_iterations(r);
    return status;
}

/* Checks the steps and makes their kernels and scratch, without launching anything. */
static tile_status begin(run *r, tile_step_mode mode) {
    const tile_plan *plan = r->plan;
    int64_t numbers[TILE_MAX_ARGUMENTS];
    tile_status status = tile_check_arguments(plan->device, plan->steps->plan->name, plan->head,
                                              r->arguments, numbers);
    if (status == TILE_OK) status = provide_scratch(r);
    return status == TILE_OK ? take_steps(r, mode) : status;
}

static void end(run *r) {
    for (size_t i = 0; i < r->plan->steps->scratch_count; i++)
        tile_buffer_destroy(r->scratch[i].own);
    tile_arena_reset(&r->arena);
}

tile_kernel *tile_plan_kernel_at(const tile_plan *plan, unsigned index) {
    for (unsigned i = 0; i < plan->steps->kernel_count; i++) {
        tile_kernel *kernel = atomic_load_explicit(&plan->kernels[i], memory_order_acquire);
        if (kernel && !index--) return kernel;
    }
    return NULL;
}

const tile_function *tile_plan_function(const tile_plan *plan) {
    return plan->steps->plan;
}

tile_device *tile_plan_device(const tile_plan *plan) {
    return plan->device;
}

/* Initializes only as much scratch as the plan has. */
static void set_up(run *r, tile_plan *plan, const tile_argument *arguments, void *stream) {
    r->plan = plan;
    r->arguments = arguments;
    r->stream = stream;
    r->launched = false;
    r->arena = (tile_arena){0};
    const size_t count = plan->steps->scratch_count;
    const bool few = count <= FEW_VIEWS;
    r->scratch = few ? r->few : TILE_NEW_ARRAY(&r->arena, view_place, count);
    r->bytes = few ? r->few_bytes : TILE_NEW_ARRAY(&r->arena, int64_t, 2 * count);
    for (size_t i = 0; i < count; i++) r->scratch[i] = (view_place){.own = NULL};
}

tile_status tile_plan_run(tile_plan *plan, const tile_argument *arguments, void *stream,
                          bool prepare) {
    run r;
    set_up(&r, plan, arguments, stream);
    tile_status status = begin(&r, prepare ? TILE_STEP_PREPARE : TILE_STEP_CHECK);
    if (status == TILE_OK && !prepare) status = take_steps(&r, TILE_STEP_RUN);
    end(&r);
    return status;
}

static tile_status run_steps(void *user) {
    return take_steps(user, TILE_STEP_RUN);
}

tile_status tile_plan_measure(tile_plan *plan, const tile_argument *arguments, void *stream,
                              const tile_measure_options *options, tile_measurement *out) {
    run r;
    set_up(&r, plan, arguments, stream);
    const tile_timed timed = {.launch = run_steps, .user = &r, .stream = stream};
    tile_status status = begin(&r, TILE_STEP_PREPARE);
    if (status == TILE_OK) status = tile_measure_timed(plan->device, &timed, 1, options, out);
    end(&r);
    return status;
}
