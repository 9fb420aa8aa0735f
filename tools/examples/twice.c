/* The shortest complete program: from kernel text to a launch. */
#include <stdio.h>
#include <tile/tile.h>

static const char text[] =
    "kernel @twice(%n: i32, %x: view<f32[%n]>) grid [ceildiv(%n, 256)] warps 4\n"
    "{ %b = block_id  store 2.0 * load %x[%b * 256] : [256], %x[%b * 256] }\n";

int main(void) {
    float x[1000] = {1, 2, 3};
    tile_device *device;
    tile_kernel *kernel;
    tile_buffer *buffer;
    tile_context *context = tile_context_create();
    tile_module *module = tile_module_parse(context, "twice", text, sizeof text - 1);
    if (tile_device_create_cuda(context, NULL, &device) != TILE_OK)
        tile_device_create_cpu(context, NULL, &device);
    tile_kernel_create(device, module, "twice", NULL, 0, &kernel);
    tile_buffer_create(device, sizeof x, &buffer);
    tile_buffer_write(buffer, 0, x, sizeof x);
    tile_kernel_launch(kernel, (tile_argument[]){{.integer = 1000}, {.buffer = buffer}}, 2, NULL);
    tile_buffer_read(buffer, 0, x, sizeof x);
    printf("%g %g %g\n", x[0], x[1], x[2]);
    tile_buffer_destroy(buffer);
    tile_kernel_destroy(kernel);
    tile_device_destroy(device);
    tile_module_destroy(module);
    tile_context_destroy(context);
}
