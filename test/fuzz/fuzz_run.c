/* Runs kernels on the CPU device, and computes at level 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/fuzz_session.h"
#include "tile/compute.h"
#include "tile/device.h"

/* Kernels ------------------------------------------------------------------------------------- */

/* Small launches only: random text may request any size. */
enum {
    MAX_RUN_ARGS = 16,
    MAX_RUN_BLOCKS = 4,
    RUN_BYTES = 1 << 14, /* of each buffer; also the limit for scratch memory */
    MAX_RUN_OPERATIONS = 10000,
};

/* One kernel on the CPU device, at one level. */
typedef struct run {
    tile_device *device;
    tile_kernel *kernel;
    const tile_abi *abi;
    tile_argument arguments[MAX_RUN_ARGS];
    int64_t integers[MAX_RUN_ARGS];
    unsigned count;
} run;

/* Fills with zeros and ones: as sizes, coordinates and values they rarely cause refusals. */
static bool fill_arguments(run *r) {
    uint8_t bytes[RUN_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = i % 24 == 0;
    r->count = tile_abi_arg_count(r->abi);
    for (unsigned i = 0; i < r->count; i++) {
        const tile_abi_arg *arg = tile_abi_arg_at(r->abi, i);
        tile_argument *to = &r->arguments[i];
        to->integer = r->integers[i] = 64 % arg->divisible ? arg->divisible : 64;
        to->number = 1.5;
        if (arg->type->kind == TILE_TYPE_SCALAR) continue;
        if (tile_buffer_create(r->device, sizeof bytes, &to->buffer) != TILE_OK ||
            tile_buffer_write(to->buffer, 0, bytes, sizeof bytes) != TILE_OK)
            return false;
    }
    return true;
}

static bool is_small(const run *r) {
    int64_t grid[3], clean, plain;
    const tile_abi_parameter *p;
    for (unsigned i = 0; (p = tile_abi_parameter_at(r->abi, i)); i++)
        if (p->kind == TILE_PARAMETER_table &&
            (tile_abi_table_extents(r->abi, p->index, r->integers, grid) != TILE_OK ||
             grid[0] * grid[1] * grid[2] > MAX_RUN_BLOCKS))
            return false;
    const tile_launch_facts facts = {.size = sizeof facts, .num_sms = 132};
    return tile_abi_grid(r->abi, r->integers, &facts, grid) == TILE_OK &&
           tile_abi_scratch(r->abi, r->integers, &facts, &clean, &plain) == TILE_OK &&
           grid[0] * grid[1] * grid[2] <= MAX_RUN_BLOCKS && clean + plain <= RUN_BYTES;
}

/* False if the kernel does not run, or is stopped by a fault. */
static bool run_kernel(session *s, run *r, const tile_module *module, const char *kernel,
                       unsigned level) {
    const tile_device_options options = {
        .size = sizeof options, .level = level, .max_operations = MAX_RUN_OPERATIONS};
    unsigned before = tile_context_error_count(s->context);
    *r = (run){.count = 0};
    tile_status status = tile_device_create_cpu(s->context, &options, &r->device);
    if (status == TILE_OK)
        status = tile_kernel_create(r->device, module, kernel, NULL, 0, &r->kernel);
    if (!fuzz_succeeded(s, "tile_kernel_create failed", status, before)) return false;
    r->abi = tile_kernel_abi(r->kernel);
    if (tile_abi_arg_count(r->abi) > MAX_RUN_ARGS || !fill_arguments(r) || !is_small(r))
        return false;
    before = tile_context_error_count(s->context);
    status = tile_kernel_launch(r->kernel, r->arguments, r->count, NULL);
    s->counts->launched++;
    return fuzz_succeeded(s, "tile_kernel_launch failed", status, before);
}

static void end_run(run *r) {
    for (unsigned i = 0; i < r->count; i++) tile_buffer_destroy(r->arguments[i].buffer);
    tile_kernel_destroy(r->kernel);
    tile_device_destroy(r->device);
}

/* NaNs compare equal, whatever their payloads. */
static bool is_equal(tile_scalar scalar, const uint8_t *a, const uint8_t *b) {
    if (memcmp(a, b, tile_scalar_bytes(scalar)) == 0) return true;
    return tile_scalar_is_floating(scalar) && isnan(tile_scalar_read(scalar, a)) &&
           isnan(tile_scalar_read(scalar, b));
}

static void compare_argument(const run *x, const run *y, unsigned index) {
    const tile_abi_arg *arg = tile_abi_arg_at(x->abi, index);
    uint8_t a[RUN_BYTES], b[RUN_BYTES];
    unsigned step = tile_scalar_bytes(arg->type->scalar);
    if (!x->arguments[index].buffer) return;
    tile_buffer_read(x->arguments[index].buffer, 0, a, sizeof a);
    tile_buffer_read(y->arguments[index].buffer, 0, b, sizeof b);
    for (size_t at = 0; at < sizeof a; at += step)
        if (!is_equal(arg->type->scalar, a + at, b + at)) {
            fprintf(stderr, "%%%s[%zu] is %g at level 2, %g at level 3\n", arg->name, at / step,
                    tile_scalar_read(arg->type->scalar, a + at),
                    tile_scalar_read(arg->type->scalar, b + at));
            fuzz_fail("level 2 and level 3 give the same", tile_abi_entry(x->abi));
        }
}

/* Buffers that are not alive at the same time share their bytes. Then the device does not detect
 * that a buffer is read before it is written, and levels 2 and 3 may read different values. */
static bool may_share_bytes(const tile_module *module, const char *kernel) {
    tool_text text = {NULL, 0, 0};
    unsigned buffers = 0;
    tile_function_print(tile_module_find(module, kernel), tool_append, &text);
    for (const char *at = text.data; (at = strstr(at, "= alloc_shared")); at++) buffers++;
    free(text.data);
    return buffers > 1;
}

void fuzz_run_kernel(session *s, const tile_module *module, const char *kernel) {
    run two, three;
    bool ok = run_kernel(s, &two, module, kernel, 2);
    ok &= run_kernel(s, &three, module, kernel, 3);
    ok = ok && !may_share_bytes(module, kernel);
    for (unsigned i = 0; i < two.count && ok; i++) compare_argument(&two, &three, i);
    end_run(&two);
    end_run(&three);
}

/* Computes ------------------------------------------------------------------------------------ */

enum { MAX_ARRAYS = 8, MAX_ELEMENTS = 1 << 12, UNKNOWN_DIM = 4 };

/* Allocates an array. False if it would be too large. */
static bool allocate(tile_compute_array *array) {
    int64_t count = 1;
    for (unsigned d = 0; d < array->rank; d++) {
        if (array->dims[d] < 0 || array->dims[d] > MAX_ELEMENTS) return false;
        count *= array->dims[d];
        if (count > MAX_ELEMENTS) return false;
    }
    array->data = calloc((size_t)count + 1, tile_scalar_bytes(array->scalar));
    for (int64_t i = 0; i < count; i++)
        tile_scalar_write(array->scalar,
                          (char *)array->data + (size_t)i * tile_scalar_bytes(array->scalar),
                          (double)(i % 3));
    return true;
}

static tile_compute_array input_of(const tile_function *f, unsigned index) {
    const tile_type *type = tile_function_arg_type(f, index);
    tile_compute_array array = {.scalar = type->scalar ? type->scalar : TILE_f32,
                                .rank = type->rank};
    for (unsigned d = 0; d < type->rank; d++) {
        int64_t dim = tile_type_dim(type, d);
        array.dims[d] = dim < 0 ? UNKNOWN_DIM : dim;
    }
    return array;
}

void fuzz_run_compute(session *s, const tile_function *f) {
    tile_compute_array inputs[MAX_ARRAYS] = {{0}}, outputs[MAX_ARRAYS] = {{0}};
    unsigned count = tile_function_arg_count(f), results = tile_function_result_count(f);
    unsigned before = tile_context_error_count(s->context);
    if (count > MAX_ARRAYS || results > MAX_ARRAYS) return;
    bool small = true;
    for (unsigned i = 0; i < count && small; i++) {
        inputs[i] = input_of(f, i);
        small = allocate(&inputs[i]);
    }
    if (small && fuzz_succeeded(s, "tile_compute_shapes failed",
                                tile_compute_shapes(f, inputs, count, outputs, results), before)) {
        for (unsigned i = 0; i < results && small; i++) small = allocate(&outputs[i]);
        if (small)
            fuzz_succeeded(s, "tile_compute_run failed",
                           tile_compute_run(f, inputs, count, outputs, results), before);
        s->counts->launched++;
    }
    for (unsigned i = 0; i < MAX_ARRAYS; i++) {
        free(inputs[i].data);
        free(outputs[i].data);
    }
}
