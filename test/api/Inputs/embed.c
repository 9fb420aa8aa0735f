/* The first program of an embedder, valid as C and as C++: an error through the sink, PTX and the
 * launch interface from text, and a run on the CPU device. */
#include <stdio.h>
#include <string.h>

#include <tile/device.h>

static const char scale[] = "kernel @scale<block: int>(%n: i32, %x: ptr<f32>, %f: f32)\n"
                            "    tune block in [128, 256] grid [ceildiv(%n, block)] warps 4\n"
                            "{\n"
                            "  %b, %by, %bz = block_id : i32\n"
                            "  %v = view %x, [%n] : view<f32[?]>\n"
                            "  %t = load %v[%b * block] : tile<f32[block]>\n"
                            "  %s = splat %f : tile<f32[block]>\n"
                            "  %u = %t * %s\n"
                            "  store %u, %v[%b * block]\n"
                            "}\n";

static void print(const tile_diagnostic *diagnostic, void *prefix) {
    printf("%s %s:%u:%u: %s\n", (const char *)prefix, diagnostic->file, diagnostic->line,
           diagnostic->column, diagnostic->message);
}

static void write_out(const char *text, size_t length, void *file) {
    fwrite(text, 1, length, (FILE *)file);
}

static tile_status compile(const tile_module *module) {
    tile_module *copy = tile_module_clone(module);
    tile_emit_options options;
    tile_blob ptx;
    tile_abi *abi = NULL;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.target = tile_target_find("sm_90a");
    tile_status status = tile_compile(copy, "scale", NULL, 0, &options, &ptx, &abi);
    if (status == TILE_OK) {
        puts(strstr(ptx.data, ".visible .entry scale"));
        tile_abi_print(abi, write_out, stdout);
        tile_blob_destroy(&ptx);
    }
    tile_abi_destroy(abi);
    tile_module_destroy(copy);
    return status;
}

static tile_status run(tile_context *context, const tile_module *module) {
    float x[1000];
    tile_device *device = NULL;
    tile_kernel *kernel = NULL;
    tile_buffer *buffer = NULL;
    tile_argument arguments[3];
    for (int i = 0; i < 1000; i++) x[i] = (float)i;
    memset(arguments, 0, sizeof arguments);
    tile_status status = tile_device_create_cpu(context, NULL, &device);
    if (status == TILE_OK) status = tile_kernel_create(device, module, "scale", NULL, 0, &kernel);
    if (status == TILE_OK)
        status = tile_buffer_wrap(device, (uint64_t)(uintptr_t)x, sizeof x, &buffer);
    arguments[0].integer = 1000;
    arguments[1].buffer = buffer;
    arguments[2].number = 2.5;
    if (status == TILE_OK) status = tile_kernel_launch(kernel, arguments, 3, NULL);
    printf("run: %s, x[999] = %g\n", tile_status_name(status), x[999]);
    arguments[0].integer = 1001;
    printf("past the end: %s\n", tile_status_name(tile_kernel_launch(kernel, arguments, 3, NULL)));
    tile_buffer_destroy(buffer);
    tile_kernel_destroy(kernel);
    tile_device_destroy(device);
    return status;
}

int main(void) {
    char prefix[] = "sink:";
    const char wrong[] = "kernel @k(%n: i33) {\n}\n";
    tile_context *context = tile_context_create();
    tile_context_set_sink(context, print, prefix);
    tile_module_destroy(tile_module_parse(context, "wrong.tile", wrong, sizeof wrong - 1));
    tile_module *module = tile_module_parse(context, "scale.tile", scale, sizeof scale - 1);
    tile_status status = module ? compile(module) : TILE_INVALID;
    if (status == TILE_OK) status = run(context, module);
    tile_module_destroy(module);
    tile_context_destroy(context);
    return (int)status;
}
