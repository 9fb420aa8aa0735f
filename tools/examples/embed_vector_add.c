/* Embedding Tile: builds z = x + y with the C builder alone, prints its PTX, and runs it on the CPU
 * device and, if there is one, on a GPU. Includes only Tile's public headers and the C library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile/build.h"
#include "tile/compile.h"
#include "tile/device.h"

enum { BLOCK = 1024, COUNT = 100003 };

static void write_out(const char *text, size_t length, void *file) {
    fwrite(text, 1, length, file);
}

static void print_diagnostic(const tile_diagnostic *diagnostic, void *file) {
    tile_diagnostic_print(diagnostic, write_out, file);
}

static tile_module *build_vector_add(tile_context *context) {
    const int64_t block = BLOCK;
    const tile_loc no_location = {0, 0, 0};
    const tile_type *f32 = tile_type_scalar(context, TILE_f32);
    const tile_type *tile = tile_type_tile(context, TILE_f32, 1, &block);

    tile_module *module = tile_module_create(context);
    tile_function *kernel = tile_function_create(module, TILE_KERNEL, "vector_add", no_location);
    const tile_expr *n = tile_expr_arg(context, 0); /* x, y, z: view<f32[%n]> */
    tile_function_add_arg(kernel, "n", tile_type_scalar(context, TILE_i32));
    tile_function_set_arg_divisible(kernel, 0,
                                    4); /* any other n runs a separately compiled variant */
    tile_value x = tile_function_add_view_arg(kernel, "x", f32, 1, &n, NULL);
    tile_value y = tile_function_add_view_arg(kernel, "y", f32, 1, &n, NULL);
    tile_value z = tile_function_add_view_arg(kernel, "z", f32, 1, &n, NULL);
    const tile_expr *blocks =
        tile_expr_op(context, TILE_OP_ceildiv, n, tile_expr_int(context, BLOCK), NULL);
    tile_function_set_grid(kernel, 1, &blocks);
    tile_function_set_warps(kernel, tile_expr_int(context, 4));

    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    tile_value first = tile_build_mul(&b, tile_build_block_id(&b), tile_build_int(&b, BLOCK));
    tile_value sum = tile_build_add(&b, tile_build_load(&b, x, &first, 1, (tile_value){0}, tile),
                                    tile_build_load(&b, y, &first, 1, (tile_value){0}, tile));
    tile_build_store(&b, sum, z, &first, 1, (tile_value){0});
    return module;
}

static tile_status run(tile_device *device, const tile_module *module) {
    static float x[COUNT], y[COUNT], z[COUNT];
    tile_kernel *kernel = NULL;
    tile_buffer *buffers[3] = {NULL, NULL, NULL};
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = (float)(2 * i);
    }
    tile_status status = tile_kernel_create(device, module, "vector_add", NULL, 0, &kernel);
    for (int i = 0; i < 3 && status == TILE_OK; i++)
        status = tile_buffer_create(device, sizeof x, &buffers[i]);
    if (status == TILE_OK) status = tile_buffer_write(buffers[0], 0, x, sizeof x);
    if (status == TILE_OK) status = tile_buffer_write(buffers[1], 0, y, sizeof y);
    const tile_argument arguments[] = {
        {.integer = COUNT}, {.buffer = buffers[0]}, {.buffer = buffers[1]}, {.buffer = buffers[2]}};
    if (status == TILE_OK) status = tile_kernel_launch(kernel, arguments, 4, NULL);
    if (status == TILE_OK) status = tile_device_synchronize(device);
    if (status == TILE_OK) status = tile_buffer_read(buffers[2], 0, z, sizeof z);
    int wrong = 0;
    for (int i = 0; i < COUNT && status == TILE_OK; i++) wrong += z[i] != x[i] + y[i];
    if (status == TILE_OK)
        printf("%s: %d elements, %d wrong\n", tile_device_name(device), COUNT, wrong);
    for (int i = 0; i < 3; i++) tile_buffer_destroy(buffers[i]);
    tile_kernel_destroy(kernel);
    return wrong ? TILE_FAULT : status;
}

static tile_status print_ptx(const tile_module *module) {
    tile_module *copy = tile_module_clone(module);
    tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_90a")};
    tile_blob ptx = {NULL, 0};
    tile_status status = tile_compile(copy, "vector_add", NULL, 0, &options, &ptx, NULL);
    if (status == TILE_OK) fwrite(ptx.data, 1, ptx.size, stdout);
    tile_blob_destroy(&ptx);
    tile_module_destroy(copy);
    return status;
}

int main(void) {
    tile_context *context = tile_context_create();
    tile_context_set_sink(context, print_diagnostic, stderr);
    tile_module *module = build_vector_add(context);
    tile_device *device = NULL;
    tile_status status = tile_context_error_count(context) ? TILE_INVALID : print_ptx(module);
    if (status == TILE_OK) status = tile_device_create_cpu(context, NULL, &device);
    if (status == TILE_OK) status = run(device, module);
    tile_device_destroy(device);
    device = NULL;
    tile_context_set_sink(context, NULL, NULL); /* a missing GPU is not an error here */
    if (status == TILE_OK && tile_device_create_cuda(context, NULL, &device) == TILE_OK) {
        tile_context_set_sink(context, print_diagnostic, stderr);
        status = run(device, module);
        tile_device_destroy(device);
    } else if (status == TILE_OK) {
        printf("no CUDA device: skipped\n");
    }
    tile_module_destroy(module);
    tile_context_destroy(context);
    return status == TILE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
