#include "tools/tile-bench/program/subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/clock.h"
#include "tools/common/include.h"

static const tile_loc no_location = {0, 0, 0};

static tile_status refuse(const bench_subject *s, const char *name, const char *why) {
    tile_report(s->context, TILE_ERROR, no_location, "%s: %s", name, why);
    return TILE_INVALID;
}

/* The function ------------------------------------------------------------------------------ */

/* The one of this name; else the only plan, kernel or compute, in this order. */
static const tile_function *find_function(const bench_subject *s, const char *path,
                                          const char *name) {
    static const tile_function_kind kinds[] = {TILE_PLAN, TILE_KERNEL, TILE_COMPUTE};
    const tile_function *f, *found = name ? tile_module_find(s->module, name) : NULL;
    unsigned count = found != NULL;
    for (unsigned k = 0; k < 3 && !name && !count; k++)
        for (unsigned i = 0; (f = tile_module_function(s->module, i)); i++)
            if (tile_function_get_kind(f) == kinds[k]) found = f, count++;
    if (count == 1 && tile_function_get_kind(found) != TILE_FUNC) return found;
    refuse(s, path,
           name ? "there is no compute, plan or kernel of the name that --kernel gives"
                : "it must have one compute, plan or kernel: name it with --kernel");
    return NULL;
}

static bool is_argument(const tile_function *f, const char *name) {
    for (unsigned i = 0; i < tile_function_arg_count(f); i++)
        if (strcmp(tile_function_arg_name(f, i), name) == 0) return true;
    return false;
}

/* Values of a compute's parameters, and those of a kernel's parameters, are bindings; others are
 * arguments. */
static void bind(bench_subject *s, const tile_function *f, const bench_settings *settings) {
    for (unsigned i = 0; i < settings->count; i++)
        if (!is_argument(f, settings->list[i].name))
            s->bindings[s->binding_count++] =
                (tile_binding){settings->list[i].name, settings->list[i].value};
}

/* Launches and fills in the text of a plan. Of two regions of an `if` both count. */
static unsigned count_launches(const tile_function *f, tile_region region) {
    unsigned count = 0;
    for (tile_op op = tile_region_first(f, region); op.id; op = tile_op_next(f, op)) {
        tile_opcode opcode = tile_op_opcode(f, op);
        count += opcode == TILE_OP_launch || opcode == TILE_OP_fill;
        for (unsigned i = 0; tile_op_region(f, op, i).id; i++)
            count += count_launches(f, tile_op_region(f, op, i));
    }
    return count;
}

static tile_status schedule(bench_subject *s, const tile_function *f, const tile_target *target) {
    s->name = tile_function_name(f);
    if (tile_function_get_kind(f) == TILE_COMPUTE) {
        tile_status status =
            tile_schedule(s->module, s->name, target, s->bindings, &s->binding_count, &s->name);
        if (status != TILE_OK) return status;
    }
    const tile_function *made = tile_module_find(s->module, s->name);
    bool is_plan = tile_function_get_kind(made) == TILE_PLAN;
    s->launches = is_plan ? count_launches(made, tile_function_body(made)) : 1;
    return TILE_OK;
}

/* Arrays ------------------------------------------------------------------------------------ */

static tile_status take_scalars(bench_subject *s, const tile_function *f,
                                const bench_settings *settings, int64_t *sizes) {
    s->argument_count = tile_function_arg_count(f);
    if (s->argument_count > TILE_MAX_ARGUMENTS)
        return refuse(s, s->name, "it has more arguments than a launch can have");
    for (unsigned i = 0; i < s->argument_count; i++) {
        const char *name = tile_function_arg_name(f, i);
        const char *value = bench_settings_find(settings, name);
        sizes[i] = 0;
        if (tile_function_arg_type(f, i)->kind != TILE_TYPE_SCALAR) continue;
        if (!value) {
            tile_report(s->context, TILE_ERROR, no_location,
                        "@%s: argument '%s' has no value: give it with --param %s=NUMBER", s->name,
                        name, name);
            return TILE_INVALID;
        }
        s->arguments[i].number = strtod(value, NULL);
        sizes[i] = s->arguments[i].integer = strtoll(value, NULL, 0);
    }
    return TILE_OK;
}

static tile_status add_array(bench_subject *s, const tile_function *f,
                             const tile_compute_array *shape, unsigned argument,
                             const int64_t *strides) {
    program_array *a = &s->arrays[s->count++];
    *a =
        (program_array){.name = tile_function_arg_name(f, argument),
                        .argument = argument,
                        .shape = *shape,
                        .elements = 1,
                        .is_number = tile_function_arg_type(f, argument)->kind == TILE_TYPE_SCALAR};
    for (unsigned d = 0; d < shape->rank; d++) {
        a->strides[d] = strides[d];
        if (strides[d] < 0)
            return refuse(s, a->name, "arrays with negative strides are not measured");
        if (!shape->dims[d]) return refuse(s, a->name, "the array is empty: give larger sizes");
        a->elements += (size_t)(shape->dims[d] - 1) * (size_t)strides[d];
    }
    return TILE_OK;
}

static tile_status find_arrays(bench_subject *s, const bench_settings *settings,
                               const bench_settings *fills) {
    static tile_compute_array shapes[TILE_MAX_ARGUMENTS];
    static int64_t strides[TILE_MAX_ARGUMENTS][TILE_MAX_RANK];
    unsigned which[TILE_MAX_ARGUMENTS];
    int64_t sizes[TILE_MAX_ARGUMENTS];
    const tile_function *f = tile_module_find(s->instance, s->name);
    const tile_function *compute = tile_module_find(s->module, tile_function_reference(f));
    if (!compute)
        return refuse(s, s->name,
                      "it names no reference, so its results cannot be checked: add "
                      "`of @compute` to it");
    unsigned inputs = tile_function_arg_count(compute);
    unsigned count = inputs + tile_function_result_count(compute);
    if (count > TILE_MAX_ARGUMENTS) return refuse(s, s->name, "it has too many arrays");
    tile_status status = take_scalars(s, f, settings, sizes);
    s->value_count = TILE_MAX_ARGUMENTS;
    if (status == TILE_OK)
        status = tile_reference_shapes(f, sizes, &s->compute, shapes, which, strides, count);
    if (status == TILE_OK) status = tile_reference_values(f, sizes, s->values, &s->value_count);
    for (unsigned i = 0; i < count && status == TILE_OK; i++) {
        status = add_array(s, f, &shapes[i], which[i], strides[i]);
        s->input_count += i < inputs;
    }
    for (unsigned i = 0; i < s->input_count && status == TILE_OK; i++) {
        if (s->arrays[i].is_number) continue;
        const char *why = program_array_set_kind(&s->arrays[i], fills, s->arrays, s->count);
        if (why) status = refuse(s, s->arrays[i].name, why);
    }
    return status;
}

tile_status bench_subject_open(bench_subject *s, tile_context *context, bench_lab *lab,
                               const tile_target *target, const char *path, const char *function,
                               const bench_settings *settings, const bench_settings *fills) {
    *s = (bench_subject){.context = context, .lab = lab};
    double began = tile_seconds_now();
    s->module = tool_parse_file(context, path);
    if (!s->module) return refuse(s, path, "the file cannot be read");
    const tile_function *f = find_function(s, path, function);
    if (!f) return TILE_INVALID;
    if (lab) target = tile_device_target(bench_lab_device(lab));
    bind(s, f, settings);
    tile_status status = schedule(s, f, target);
    if (status != TILE_OK) return status;
    s->compile_seconds = tile_seconds_now() - began;
    s->instance = tile_module_clone(s->module);
    status = tile_instantiate(s->instance, s->name, s->bindings, s->binding_count);
    return status == TILE_OK ? find_arrays(s, settings, fills) : status;
}

static tile_status load_array(bench_subject *s, unsigned index, const float *numbers) {
    program_array *a = &s->arrays[index];
    const size_t width = tile_scalar_bytes(a->shape.scalar);
    size_t count = a->elements < BENCH_NUMBERS ? a->elements : BENCH_NUMBERS;
    tile_status status = bench_memory_create(s->lab, program_array_bytes(a), &a->memory);
    s->arguments[a->argument].buffer = a->memory.buffer;
    if (status != TILE_OK || index >= s->input_count) return status;
    char *data = malloc(count * width + 1);
    if (!data) return refuse(s, a->name, "out of memory");
    program_array_make(a, index, numbers, count, data);
    status = bench_memory_repeat(s->lab, &a->memory, data, count * width);
    free(data);
    return status;
}

tile_status bench_subject_load(bench_subject *s, const float *numbers) {
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < s->count && status == TILE_OK; i++)
        if (!s->arrays[i].is_number) status = load_array(s, i, numbers);
    double began = tile_seconds_now();
    if (status == TILE_OK)
        status = tile_kernel_create(bench_lab_device(s->lab), s->module, s->name, s->bindings,
                                    s->binding_count, &s->kernel);
    if (status == TILE_OK)
        status = tile_kernel_prepare(s->kernel, s->arguments, s->argument_count, NULL);
    s->compile_seconds += tile_seconds_now() - began;
    return status;
}

void bench_subject_close(bench_subject *s) {
    tile_kernel_destroy(s->kernel);
    for (unsigned i = 0; i < s->count; i++) bench_memory_destroy(s->lab, &s->arrays[i].memory);
    tile_module_destroy(s->instance);
    tile_module_destroy(s->module);
    *s = (bench_subject){.context = NULL};
}

static void write_list(const int64_t *numbers, unsigned count, tile_writer writer, void *user) {
    char number[32];
    for (unsigned i = 0; i < count; i++) {
        int length =
            snprintf(number, sizeof number, "%s%lld", i ? "," : ":", (long long)numbers[i]);
        writer(number, (size_t)length, user);
    }
    if (!count) writer(":", 1, user);
}

void bench_subject_describe(const bench_subject *s, tile_writer writer, void *user) {
    char head[400];
    for (unsigned i = 0; i < s->count; i++) {
        const program_array *a = &s->arrays[i];
        if (a->is_number) continue;
        int length = snprintf(head, sizeof head, " %s:%s:%s:%s:%.9g:%lld", a->name,
                              i < s->input_count ? "in" : "out", tile_scalar_name(a->shape.scalar),
                              a->kind, a->factor, (long long)a->bound);
        writer(head, (size_t)length < sizeof head ? (size_t)length : sizeof head - 1, user);
        write_list(a->shape.dims, a->shape.rank, writer, user);
        write_list(a->strides, a->shape.rank, writer, user);
    }
}

double bench_subject_bytes(const bench_subject *s) {
    double bytes = 0;
    for (unsigned i = 0; i < s->count; i++)
        bytes += (double)program_array_count(&s->arrays[i]) *
                 tile_scalar_bytes(s->arrays[i].shape.scalar);
    return bytes;
}

double bench_subject_elements(const bench_subject *s) {
    double elements = 0;
    for (unsigned i = 0; i < s->count; i++) elements += (double)s->arrays[i].elements;
    return elements;
}

/* Results ----------------------------------------------------------------------------------- */

tile_status bench_subject_launch(bench_subject *s) {
    tile_status status = TILE_OK;
    for (unsigned i = s->input_count; i < s->count && status == TILE_OK; i++) {
        status = bench_memory_fill(s->lab, &s->arrays[i].memory, 0xff);
        tile_buffer_forget(s->arrays[i].memory.buffer);
    }
    if (status == TILE_OK)
        status = tile_kernel_launch(s->kernel, s->arguments, s->argument_count, NULL);
    return status == TILE_OK ? tile_device_synchronize(bench_lab_device(s->lab)) : status;
}

/* The elements of the shape, row-major. The caller frees them. */
static tile_status read_elements(const bench_subject *s, const program_array *a, char **data) {
    const size_t bytes = program_array_bytes(a), width = tile_scalar_bytes(a->shape.scalar);
    const size_t count = program_array_count(a);
    char *memory = malloc(bytes + 1);
    *data = malloc(count * width + 1);
    if (a->is_number && *data) {
        tile_scalar_write(a->shape.scalar, *data, s->arguments[a->argument].number);
        free(memory);
        return TILE_OK;
    }
    tile_status status = memory && *data ? tile_buffer_read(a->memory.buffer, 0, memory, bytes)
                                         : refuse(s, a->name, "out of memory");
    for (size_t i = 0; i < count && status == TILE_OK; i++)
        memcpy(*data + i * width, memory + program_array_place(a, i) * width, width);
    free(memory);
    return status;
}

static void compare(const program_array *a, const char *got, const char *want,
                    const tile_interval *ranges, char *why, size_t size) {
    const size_t width = tile_scalar_bytes(a->shape.scalar), count = program_array_count(a);
    for (size_t i = 0; i < count && !*why; i++) {
        double have = tile_scalar_read(a->shape.scalar, got + i * width);
        double expected = tile_scalar_read(a->shape.scalar, want + i * width);
        if (have == expected || (isnan(have) && isnan(expected)) ||
            tile_interval_holds(ranges[i], have))
            continue;
        snprintf(why, size, "element %zu of %s is %.9g, where level 1 allows %.9g to %.9g", i,
                 a->name, have, ranges[i].low, ranges[i].high);
    }
}

/* Level 1 on the inputs, then the comparison. */
static tile_status check_with(const bench_subject *s, tile_compute_array *arrays,
                              tile_interval **ranges, size_t *elements, char *why, size_t size) {
    const unsigned inputs = s->input_count, results = s->count - inputs;
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < s->count && status == TILE_OK; i++) {
        const program_array *a = &s->arrays[i];
        arrays[i] = a->shape;
        arrays[i].data = NULL;
        if (i < inputs) {
            char *data;
            status = read_elements(s, a, &data);
            arrays[i].data = data;
            continue;
        }
        const size_t count = program_array_count(a);
        arrays[i].data = calloc(count + 1, tile_scalar_bytes(a->shape.scalar));
        ranges[i] = calloc(count + 1, sizeof *ranges[i]);
        if (!arrays[i].data || !ranges[i]) return refuse(s, a->name, "out of memory");
    }
    if (status == TILE_OK)
        status = tile_compute_run_intervals(s->compute, s->values, s->value_count, arrays, inputs,
                                            arrays + inputs, ranges + inputs, results, TILE_f64);
    for (unsigned i = inputs; i < s->count && status == TILE_OK && !*why; i++) {
        char *got;
        status = read_elements(s, &s->arrays[i], &got);
        if (status == TILE_OK) compare(&s->arrays[i], got, arrays[i].data, ranges[i], why, size);
        *elements += program_array_count(&s->arrays[i]);
        free(got);
    }
    return status;
}

tile_status bench_subject_check(bench_subject *s, size_t *elements, char *why, size_t size) {
    tile_compute_array arrays[TILE_MAX_ARGUMENTS];
    tile_interval *ranges[TILE_MAX_ARGUMENTS] = {NULL};
    memset(arrays, 0, sizeof arrays);
    *elements = 0;
    *why = 0;
    tile_status status = check_with(s, arrays, ranges, elements, why, size);
    for (unsigned i = 0; i < s->count; i++) {
        free(arrays[i].data);
        free(ranges[i]);
    }
    return status;
}

tile_status bench_subject_save(bench_subject *s, unsigned index, const char *path) {
    const program_array *a = &s->arrays[s->input_count + index];
    const size_t bytes = program_array_bytes(a);
    char *data = malloc(bytes + 1);
    tile_status status = data ? tile_buffer_read(a->memory.buffer, 0, data, bytes)
                              : refuse(s, a->name, "out of memory");
    if (status == TILE_OK && !tool_write_file(path, data, bytes))
        status = refuse(s, path, "the result cannot be written");
    free(data);
    return status;
}
