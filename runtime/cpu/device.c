/* The CPU device. Its memory is host memory, and a launch executes the IR synchronously. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/launch/abi.h"
#include "lib/support/clock.h"
#include "lib/support/scalar.h"
#include "lib/support/integer.h"
#include "lib/support/options.h"
#include "lib/support/target.h"
#include "runtime/cpu/decode/decode.h"
#include "runtime/cpu/sanitize/global_shadow.h"
#include "runtime/cpu/sanitize/overlap.h"
#include "tile/cache.h"

typedef struct cpu_device {
    tile_device base;
    uint64_t seed;
    bool host_math;
    void (*trace)(const tile_trace_event *event, void *user);
    void *trace_user;
    void (*print)(const char *line, void *user);
    void *print_user;
    cpu_launch_log launch_log; /* of launches that the next one may overlap */
} cpu_device;

enum { DEFAULT_SMS = 132 /* of an H100 */ };

enum { POISON = 0xff /* NaN in every float type */ };

/* Memory --------------------------------------------------------------------------------------- */

static void *allocate_bytes(size_t bytes) {
    if (bytes > SIZE_MAX / 4) return NULL;
    return aligned_alloc(TILE_SCRATCH_ALIGNMENT,
                         (size_t)tile_round_up((int64_t)bytes + 1, TILE_SCRATCH_ALIGNMENT));
}

static tile_status cpu_allocate(tile_device *device, size_t bytes, uint64_t *address) {
    void *data = allocate_bytes(bytes);
    if (!data) {
        tile_report(device->context, TILE_ERROR, (tile_loc){0}, "out of host memory: %zu bytes",
                    bytes);
        return TILE_FAILED;
    }
    memset(data, POISON, bytes);
    *address = (uint64_t)(uintptr_t)data;
    return TILE_OK;
}

static void cpu_release(tile_device *device, uint64_t address, size_t bytes) {
    (void)device;
    (void)bytes;
    free((void *)(uintptr_t)address);
}

static tile_status cpu_write(tile_device *device, uint64_t address, const void *data,
                             size_t bytes) {
    (void)device;
    memcpy((void *)(uintptr_t)address, data, bytes);
    return TILE_OK;
}

static tile_status cpu_read(tile_device *device, uint64_t address, void *data, size_t bytes) {
    (void)device;
    memcpy(data, (const void *)(uintptr_t)address, bytes);
    return TILE_OK;
}

/* Kernels -------------------------------------------------------------------------------------- */

static tile_status cpu_prepare(tile_device *device, tile_variant *variant) {
    const tile_function *f = variant->function;
    if (device->level == 2 && f->level == 3) {
        tile_report(device->context, TILE_ERROR, f->loc,
                    "@%s is at level 3 and cannot run at level 2", f->name);
        return TILE_INVALID;
    }
    variant->code = cpu_program_create(variant->function, device->level,
                                       ((const cpu_device *)(const void *)device)->host_math);
    return variant->code ? TILE_OK : TILE_INVALID;
}

static void cpu_discard(tile_device *device, tile_variant *variant) {
    (void)device;
    cpu_program_destroy(variant->code);
    variant->code = NULL;
}

static bool argument_value(unsigned index, int64_t *value, void *user) {
    const tile_launch *launch = user;
    if (index >= launch->argument_count) return false;
    *value = launch->arguments[index].integer;
    return true;
}

/* The launch has checked that the expressions can be evaluated. Several threads may call this, so
 * it must not create expressions. */
static void fill_view(const cpu_run *run, uint8_t *to, unsigned index, uint64_t address) {
    const tile_arg_decl *arg = &run->program->function->args[index];
    tile_launch launch = *run->launch;
    tile_bindings bindings = {.arg = argument_value, .user = &launch};
    cpu_view view = {.base = address};
    for (unsigned d = 0; d < arg->type->rank; d++)
        tile_expr_eval(arg->extents[d], &bindings, &view.extent[d]);
    cpu_make_contiguous(&view, arg->type->rank);
    for (unsigned d = 0; d < arg->type->rank && arg->type->has_strides; d++)
        tile_expr_eval(arg->strides[d], &bindings, &view.stride[d]);
    memcpy(to, &view, sizeof view);
}

static void fill_argument(const cpu_run *run, unsigned index, unsigned lanes, uint32_t place) {
    const cpu_program *program = run->program;
    const tile_type *type = program->function->args[index].type;
    const tile_argument *argument = &run->launch->arguments[index];
    uint64_t address = (argument->buffer ? argument->buffer->address : 0) + argument->offset;
    uint8_t *to = run->constants + (place & ~CPU_CONSTANT_PLACE);
    uint32_t size = cpu_value_size(type);
    for (unsigned lane = 0; lane < lanes; lane++, to += size) {
        if (type->kind == TILE_TYPE_VIEW) {
            fill_view(run, to, index, address);
        } else if (type->kind == TILE_TYPE_PTR) {
            memcpy(to, &address, sizeof address);
        } else if (tile_scalar_is_floating(type->scalar)) {
            tile_scalar_write(type->scalar, to, argument->number);
        } else {
            tile_integer_write(type->scalar, to, argument->integer);
        }
    }
}

static void fill_constants(cpu_run *run) {
    const cpu_program *program = run->program;
    run->constants = tile_malloc(program->constant_bytes);
    if (program->constant_bytes)
        memcpy(run->constants, program->constants, program->constant_bytes);
    for (unsigned i = 0; i < program->function->arg_count; i++) {
        fill_argument(run, i, program->lanes, program->arg_places[i]);
        if (program->of_warps) fill_argument(run, i, CPU_LANES, program->warps_arg_places[i]);
    }
}

/* Scratch -------------------------------------------------------------------------------------- */

static tile_status scratch_size(const cpu_run *run, const cpu_scratch *scratch, int64_t *bytes) {
    tile_launch launch = *run->launch;
    tile_bindings bindings = {.arg = argument_value, .user = &launch, .num_sms = launch.num_sms};
    *bytes = scratch->element_bytes;
    for (unsigned d = 0; d < scratch->rank; d++) {
        int64_t extent;
        bool known = tile_expr_eval(scratch->extents[d], &bindings, &extent);
        if (!known || extent < 0 || (extent && *bytes > INT64_C(1) << 40) || extent > INT32_MAX) {
            tile_report(run->context, TILE_ERROR, scratch->loc,
                        "scratch: the extent of dim %u cannot be computed or is out of range", d);
            return TILE_INVALID;
        }
        *bytes *= extent;
    }
    return TILE_OK;
}

static tile_status provide_scratch(cpu_run *run) {
    unsigned count = run->program->scratch_count;
    run->scratch = tile_malloc(sizeof *run->scratch * (count + 1u));
    run->scratch_bytes = tile_malloc(sizeof *run->scratch_bytes * (count + 1u));
    memset(run->scratch, 0, sizeof *run->scratch * (count + 1u));
    for (unsigned i = 0; i < count; i++) {
        const cpu_scratch *scratch = &run->program->scratch[i];
        tile_status status = scratch_size(run, scratch, &run->scratch_bytes[i]);
        if (status != TILE_OK) return status;
        run->scratch[i] = allocate_bytes((size_t)run->scratch_bytes[i]);
        if (!run->scratch[i]) {
            tile_report(run->context, TILE_ERROR, scratch->loc,
                        "scratch: the host has no %" PRId64 " bytes left", run->scratch_bytes[i]);
            return TILE_FAILED;
        }
        memset(run->scratch[i], scratch->clean ? 0 : POISON, (size_t)run->scratch_bytes[i]);
    }
    return TILE_OK;
}

/* Accessible ranges ---------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
    const cpu_range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static const char *argument_of(const cpu_run *run, const tile_buffer *buffer) {
    for (unsigned i = 0; i < run->launch->argument_count; i++)
        if (run->launch->arguments[i].buffer == buffer) return run->program->function->args[i].name;
    return "";
}

static bool is_window(const tile_launch *launch, unsigned argument) {
    const tile_buffer *buffer = launch->arguments[argument].buffer;
    return buffer && buffer->window_of;
}

/* Returns whether the launch may access only parts of the buffer, which are arguments. */
static bool has_only_windows(const cpu_run *run, const tile_buffer *buffer) {
    bool windows = false;
    for (unsigned i = 0; i < run->launch->argument_count; i++) {
        const tile_buffer *argument = run->launch->arguments[i].buffer;
        if (argument == buffer) return false;
        windows |= argument && argument->window_of == buffer;
    }
    return windows;
}

static void add_range(cpu_run *run, const tile_buffer *buffer) {
    run->ranges[run->range_count++] = (cpu_range){.begin = buffer->address,
                                                  .end = buffer->address + buffer->bytes,
                                                  .name = argument_of(run, buffer),
                                                  .is_scratch = buffer->of_plan,
                                                  .tracked = buffer->written ? buffer : NULL};
}

static void collect_ranges(cpu_run *run, const tile_device *device) {
    size_t count = run->program->scratch_count + run->launch->argument_count;
    for (const tile_buffer *buffer = device->buffers; buffer; buffer = buffer->next) count++;
    run->ranges = tile_malloc(sizeof *run->ranges * (count + 1));
    for (const tile_buffer *buffer = device->buffers; buffer; buffer = buffer->next)
        if (!has_only_windows(run, buffer)) add_range(run, buffer);
    for (unsigned i = 0; i < run->launch->argument_count; i++)
        if (is_window(run->launch, i)) add_range(run, run->launch->arguments[i].buffer);
    for (unsigned i = 0; i < run->program->scratch_count; i++) {
        const cpu_scratch *scratch = &run->program->scratch[i];
        uint64_t begin = (uint64_t)(uintptr_t)run->scratch[i];
        run->ranges[run->range_count++] =
            (cpu_range){.begin = begin,
                        .end = begin + (uint64_t)run->scratch_bytes[i],
                        .name = "",
                        .plain = scratch->clean ? NULL : scratch,
                        .is_scratch = true};
    }
    qsort(run->ranges, run->range_count, sizeof *run->ranges, by_address);
}

/* Launching ------------------------------------------------------------------------------------ */

/* The number of blocks that fit on a multiprocessor of the target, assuming enough registers. */
static tile_status cpu_residency(tile_device *device, tile_variant *variant, int *blocks) {
    const tile_target *target = device->target;
    unsigned most = tile_target_residency(target, tile_abi_warps(variant->abi), 0,
                                          tile_abi_shared_bytes(variant->abi), NULL);
    *blocks = most ? (int)most : 1;
    return TILE_OK;
}

static tile_status check_clusters(const tile_device *device, const cpu_program *program,
                                  const int64_t grid[3]) {
    bool whole = true;
    for (unsigned d = 0; d < 3; d++) whole &= grid[d] % program->cluster[d] == 0;
    if (whole) return TILE_OK;
    tile_report(device->context, TILE_ERROR, program->function->loc,
                "@%s: a grid of %lld x %lld x %lld blocks is not made of whole clusters",
                program->function->name, (long long)grid[0], (long long)grid[1],
                (long long)grid[2]);
    return TILE_INVALID;
}

static tile_status cpu_launch(tile_device *device, const tile_launch *launch) {
    const cpu_program *program = launch->variant->code;
    cpu_device *cpu = (cpu_device *)(void *)device;
    if (!launch->overlaps) cpu_launch_log_clear(&cpu->launch_log);
    cpu_run run = {.program = program,
                   .launch = launch,
                   .context = device->context,
                   .trace = cpu->trace,
                   .trace_user = cpu->trace_user,
                   .print = cpu->print,
                   .print_user = cpu->print_user,
                   .counts = &device->counts,
                   .operations_left = device->max_operations ? device->max_operations : UINT64_MAX,
                   .random = cpu->seed,
                   .launch_log = launch->overlaps ? &cpu->launch_log : NULL};
    memcpy(run.grid, launch->grid, sizeof run.grid);
    int blocks;
    cpu_residency(device, launch->variant, &blocks);
    run.room = (int64_t)blocks * device->num_sms;
    if (launch->argument_count != program->function->arg_count) {
        tile_report(device->context, TILE_ERROR, program->function->loc,
                    "@%s takes %zu arguments, not %u", program->function->name,
                    program->function->arg_count, launch->argument_count);
        return TILE_INVALID;
    }
    tile_status status = check_clusters(device, program, run.grid);
    if (status != TILE_OK) return status;
    fill_constants(&run);
    status = provide_scratch(&run);
    if (status == TILE_OK) {
        collect_ranges(&run, device);
        run.global = cpu_global_create(&run);
        status = cpu_execute(&run);
        if (launch->overlapped) {
            cpu_global_visit(run.global, cpu_launch_log_add_cell, &cpu->launch_log);
            cpu_launch_log_end(&cpu->launch_log);
        }
    }
    cpu_global_destroy(run.global);
    for (unsigned i = 0; i < program->scratch_count; i++) free(run.scratch[i]);
    free(run.scratch);
    free(run.scratch_bytes);
    free(run.ranges);
    free(run.constants);
    return status;
}

static tile_status cpu_synchronize(tile_device *device) {
    (void)device;
    return TILE_OK;
}

static tile_status cpu_time(tile_device *device, const tile_timed *timed, double *seconds) {
    double start = tile_seconds_now();
    tile_status status = TILE_OK;
    (void)device;
    for (unsigned i = 0; i < timed->batch && status == TILE_OK; i++)
        status = timed->launch(timed->user);
    *seconds = tile_seconds_now() - start;
    return status;
}

static tile_status cpu_fill(tile_device *device, uint64_t address, unsigned char byte,
                            size_t bytes) {
    (void)device;
    memset((void *)(uintptr_t)address, byte, bytes);
    return TILE_OK;
}

static void cpu_describe(const tile_device *device, tile_device_options *options) {
    const cpu_device *cpu = (const cpu_device *)(const void *)device;
    *options = (tile_device_options){.size = sizeof *options,
                                     .level = device->level,
                                     .seed = cpu->seed,
                                     .target = device->is_faithful ? device->target : NULL,
                                     .max_operations = device->max_operations,
                                     .host_math = cpu->host_math,
                                     .sms = device->num_sms,
                                     .pipeline = device->pipeline};
}

static void cpu_destroy(tile_device *device) {
    cpu_launch_log_clear(&((cpu_device *)(void *)device)->launch_log);
    free((char *)(uintptr_t)device->pipeline);
    free(device);
}

tile_status tile_device_create_cpu(tile_context *context, const tile_device_options *options,
                                   tile_device **out) {
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    static const tile_device_ops ops = {.destroy = cpu_destroy,
                                        .allocate = cpu_allocate,
                                        .release = cpu_release,
                                        .write = cpu_write,
                                        .read = cpu_read,
                                        .prepare = cpu_prepare,
                                        .discard = cpu_discard,
                                        .launch = cpu_launch,
                                        .residency = cpu_residency,
                                        .synchronize = cpu_synchronize,
                                        .fill = cpu_fill,
                                        .describe = cpu_describe,
                                        .time = cpu_time};
    tile_device_options taken;
    *out = NULL;
    if (!context || !TILE_TAKE_OPTIONS(context, tile_device_options, &taken, options))
        return TILE_INVALID;
    unsigned level = taken.level ? taken.level : 3;
    if (level != 2 && level != 3) {
        tile_report(context, TILE_ERROR, (tile_loc){0}, "the CPU device runs level 2 or 3, not %u",
                    level);
        return TILE_INVALID;
    }
    if (taken.target && !tile_target_check(context, (tile_loc){0}, taken.target))
        return TILE_INVALID;
    cpu_device *device = tile_malloc(sizeof *device);
    *device = (cpu_device){
        .base = {.ops = &ops,
                 .context = context,
                 .target = tile_target_find(taken.target ? taken.target->name : "sm_90"),
                 .name = "cpu",
                 .level = level,
                 .tuned = taken.tuned,
                 .num_sms = taken.sms ? taken.sms : DEFAULT_SMS,
                 .tracks_writes = true,
                 .max_operations = taken.max_operations,
                 .is_faithful = taken.target != NULL},
        .seed = taken.seed,
        .host_math = taken.host_math,
        .trace = taken.trace,
        .trace_user = taken.trace_user,
        .print = taken.print,
        .print_user = taken.print_user};
    if (taken.pipeline) {
        char *pipeline = tile_malloc(strlen(taken.pipeline) + 1);
        device->base.pipeline = strcpy(pipeline, taken.pipeline);
    }
    if (taken.cache_dir) tile_cache_create(context, taken.cache_dir, NULL, &device->base.cache);
    *out = &device->base;
    return TILE_OK;
}
