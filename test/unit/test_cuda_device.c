/* The CUDA device on a fake driver that only counts and records: contexts, modules, scratch,
 * launches and failures. */
#define _XOPEN_SOURCE 700
#include "runtime/cuda/device.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/codegen_fixture.h"
#include "test/unit/cuda_fixture.h"

static const char kernel_text[] =
    "kernel @k(%n: i32, %s: f32, %x: ptr<f32>) grid [%n, 2] warps 4 {\n"
    "  %a = scratch [%n] {clean} : ptr<i32>\n"
    "  %b = scratch [%n] : ptr<i32>\n"
    "  %t = tile_schedule %n, [%n, 2] {cost = block_id(0) * block_id(1)}\n"
    "}\n";

/* The fixture --------------------------------------------------------------------------------- */

typedef struct cuda_fixture {
    codegen_fixture text;
    tile_device *device;
    tile_variant variant;
    tile_buffer buffer;
} cuda_fixture;

static void open_gpu_for(cuda_fixture *x, const char *text) {
    memset(&gpu, 0, sizeof gpu);
    gpu.devices = 1;
    gpu.major = 9;
    gpu.next = 1 << 20;
    *x = (cuda_fixture){0};
    codegen_open(&x->text, text);
}

static void open_gpu(cuda_fixture *x) {
    open_gpu_for(x, kernel_text);
}

static tile_status create(cuda_fixture *x, const tile_device_options *options) {
    return tile_cuda_device_create(x->text.context, &fake, options, &x->device);
}

static void open_device_for(cuda_fixture *x, const char *text) {
    open_gpu_for(x, text);
    cr_assert_eq(create(x, NULL), TILE_OK, "%s", x->text.messages);
    x->variant = (tile_variant){.abi = tile_abi_create(x->text.kernel), .ptx = {(char *)"ptx", 3}};
    x->buffer = (tile_buffer){.device = x->device, .address = 4096, .bytes = 1024};
    cr_assert_eq(x->device->ops->prepare(x->device, &x->variant), TILE_OK);
}

static void open_device(cuda_fixture *x) {
    open_device_for(x, kernel_text);
}

static void close_device(cuda_fixture *x) {
    x->device->ops->discard(x->device, &x->variant);
    cr_assert_eq(gpu.loads, gpu.unloads);
    tile_abi_destroy((tile_abi *)x->variant.abi);
    tile_device_destroy(x->device);
    cr_assert_eq(gpu.allocations, gpu.frees);
    cr_assert_eq(gpu.retained, 0);
    codegen_close(&x->text);
}

static tile_status launch_with(cuda_fixture *x, int64_t clean, int64_t plain, CUstream stream) {
    const tile_argument arguments[] = {{.integer = -3}, {.number = 1.5}, {&x->buffer, 64, 0, 0}};
    const tile_launch what = {.variant = &x->variant,
                              .arguments = arguments,
                              .argument_count = 3,
                              .grid = {5, 2, 1},
                              .clean_bytes = clean,
                              .plain_bytes = plain,
                              .tables = {{8192, 10}},
                              .stream = stream};
    return x->device->ops->launch(x->device, &what);
}

/* Devices and contexts ------------------------------------------------------------------------ */

Test(cuda_device, target_and_context_follow_the_gpu) {
    cuda_fixture x;
    open_device(&x);
    cr_assert_str_eq(tile_device_name(x.device), "GPU 0");
    cr_assert_str_eq(tile_device_target(x.device)->name, "sm_90a");
    cr_assert(tile_device_is_cuda(x.device));
    cr_assert_eq(gpu.retained, 1);
    cr_assert_null(gpu.current, "the thread had no context and has none again");
    cr_assert_eq(launch_with(&x, 0, 0, NULL), TILE_OK);
    cr_assert_eq(gpu.launched_in, PRIMARY);
    cr_assert_null(gpu.current);
    close_device(&x);
}

/* A named target must be of the GPU's generation, or its code would not run. */
Test(cuda_device, a_target_may_be_named) {
    cuda_fixture x;
    open_gpu(&x);
    tile_device_options options = {.size = sizeof options, .target = tile_target_find("sm_90")};
    cr_assert_eq(create(&x, &options), TILE_OK, "%s", x.text.messages);
    cr_expect_str_eq(tile_device_target(x.device)->name, "sm_90");
    tile_device_destroy(x.device);
    options.target = tile_target_find("sm_80");
    cr_expect_eq(create(&x, &options), TILE_UNSUPPORTED);
    cr_expect_str_eq(x.text.messages, "code for sm_80 does not run on GPU 0, whose compute "
                                      "capability is 9.0\n");
    cr_expect_null(x.device);
    codegen_close(&x.text);
}

Test(cuda_device, the_callers_context_is_used) {
    cuda_fixture x;
    open_gpu(&x);
    gpu.current = CALLERS;
    cr_assert_eq(create(&x, NULL), TILE_OK);
    cr_assert_str_eq(tile_device_name(x.device), "GPU 7");
    cr_assert_eq(gpu.retained, 0);
    tile_device_destroy(x.device);
    cr_assert_eq(gpu.current, CALLERS);
    codegen_close(&x.text);
}

Test(cuda_device, another_context_is_current_again_after_a_launch) {
    cuda_fixture x;
    open_device(&x);
    gpu.current = CALLERS;
    cr_assert_eq(launch_with(&x, 0, 0, NULL), TILE_OK);
    cr_assert_eq(gpu.launched_in, PRIMARY);
    cr_assert_eq(gpu.current, CALLERS);
    close_device(&x);
    cr_assert_eq(gpu.current, CALLERS);
}

Test(cuda_device, what_is_not_there_is_told) {
    cuda_fixture x;
    open_gpu(&x);
    gpu.devices = 0;
    cr_assert_eq(create(&x, NULL), TILE_UNAVAILABLE);
    gpu.devices = 2;
    const tile_device_options third = {.size = sizeof third, .ordinal = 2};
    cr_assert_eq(create(&x, &third), TILE_UNAVAILABLE);
    gpu.major = 7;
    gpu.minor = 5;
    cr_assert_eq(create(&x, NULL), TILE_UNSUPPORTED);
    cr_assert_null(x.device);
    cr_assert_eq(gpu.retained, 0, "a device that was not made keeps nothing");
    cr_assert_str_eq(x.text.messages, "the CUDA driver finds no GPU\n"
                                      "there is no GPU 2: the driver finds 2, numbered from 0\n"
                                      "GPU 0 has compute capability 7.5; 8.0 is needed\n");
    codegen_close(&x.text);
}

/* Modules ------------------------------------------------------------------------------------- */

Test(cuda_device, variants_of_equal_text_share_a_module) {
    cuda_fixture x;
    open_device(&x);
    tile_variant same = {.abi = x.variant.abi, .ptx = {(char *)"ptx", 3}};
    tile_variant other = {.abi = x.variant.abi, .ptx = {(char *)"ptx2", 4}};
    cr_assert_eq(x.device->ops->prepare(x.device, &same), TILE_OK);
    cr_assert_eq(gpu.loads, 1);
    cr_assert_eq(x.device->ops->prepare(x.device, &other), TILE_OK);
    cr_assert_eq(gpu.loads, 2);
    x.device->ops->discard(x.device, &same);
    cr_assert_eq(gpu.unloads, 0);
    x.device->ops->discard(x.device, &other);
    cr_assert_eq(gpu.unloads, 1);
    close_device(&x);
}

Test(cuda_device, the_assemblers_words_are_passed_on) {
    cuda_fixture x;
    open_device(&x);
    tile_variant bad = {.abi = x.variant.abi, .ptx = {(char *)"bad", 3}};
    gpu.load_result = 218;
    cr_assert_eq(x.device->ops->prepare(x.device, &bad), TILE_FAILED);
    cr_assert_str_eq(x.text.messages,
                     "cuModuleLoadDataEx: refused (218): refused\nline 1: what is this\n");
    x.device->ops->discard(x.device, &bad);
    gpu.loads--; /* the one that failed */
    close_device(&x);
}

/* The assembler prints its input, and counts its calls. */
Test(cuda_device, a_cache_keeps_cubins_for_later_devices) {
    static const char script[] = "#!/bin/sh\n"
                                 "[ \"$1\" = --version ] && exec echo 1.0\n"
                                 "printf . >>\"${0%/*}/calls\"\n"
                                 "echo \"$1\" $(wc -l)\n";
    char folder[] = "/tmp/tile-gpu-XXXXXX", ptxas[64], calls[64], first[64] = "";
    struct stat counted;
    cr_assert(mkdtemp(folder));
    snprintf(ptxas, sizeof ptxas, "%s/ptxas", folder);
    snprintf(calls, sizeof calls, "%s/calls", folder);
    FILE *file = fopen(ptxas, "w");
    fputs(script, file);
    fclose(file);
    chmod(ptxas, 0700);
    for (unsigned i = 0; i < 4; i++) {
        cuda_fixture x;
        tile_kernel *kernel;
        open_gpu(&x);
        const tile_device_options options = {
            .size = sizeof options, .ptxas = ptxas, .cache_dir = i < 3 ? folder : NULL};
        cr_assert_eq(create(&x, &options), TILE_OK);
        cr_assert_eq(tile_kernel_create(x.device, x.text.module, "k", NULL, 0, &kernel), TILE_OK,
                     "%s", x.text.messages);
        cr_expect_eq(strncmp(gpu.image, "-arch=sm_90a ", 13), 0, "%s", gpu.image);
        if (i) cr_expect_str_eq(gpu.image, first);
        strcpy(first, gpu.image);
        cr_expect(strstr(tile_kernel_ptx(kernel)->data, ".entry k("));
        cr_expect(stat(calls, &counted) == 0 && counted.st_size == (i < 3 ? 1 : 2), "device %u", i);
        tile_kernel_destroy(kernel);
        cr_expect_eq(gpu.loads, gpu.unloads);
        tile_device_destroy(x.device);
        cr_expect_str_eq(x.text.messages, "");
        codegen_close(&x.text);
    }
    char remove[96];
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    cr_expect_eq(system(remove), 0);
}

/* The driver's linker, which could make a cubin, is not used: its code for PTX is slower. */
Test(cuda_device, without_an_assembler_the_driver_takes_ptx) {
    char folder[] = "/tmp/tile-gpu-XXXXXX", remove[96];
    cr_assert(mkdtemp(folder));
    for (unsigned i = 0; i < 2; i++) {
        cuda_fixture x;
        tile_kernel *kernel;
        open_gpu(&x);
        const tile_device_options options = {.size = sizeof options, .cache_dir = folder};
        cr_assert_eq(create(&x, &options), TILE_OK);
        cr_assert_eq(tile_kernel_create(x.device, x.text.module, "k", NULL, 0, &kernel), TILE_OK,
                     "%s", x.text.messages);
        cr_expect(strstr(gpu.image, "NVPTX"), "%s", gpu.image);
        tile_kernel_destroy(kernel);
        tile_device_destroy(x.device);
        cr_expect_str_eq(x.text.messages, "");
        codegen_close(&x.text);
    }
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    cr_expect_eq(system(remove), 0);
}

/* Launches and scratch ------------------------------------------------------------------------ */

Test(cuda_device, parameters_arrive) {
    cuda_fixture x;
    open_device(&x);
    cr_assert_eq(launch_with(&x, 256, 512, NULL), TILE_OK);
    cr_assert(gpu.grid[0] == 5 && gpu.grid[1] == 2 && gpu.grid[2] == 1);
    cr_assert_eq(gpu.block, 128);
    cr_assert_eq(gpu.shared, 0);
    cr_assert_eq(gpu.n, -3);
    cr_assert_eq(gpu.s, 1.5f);
    cr_assert_eq(gpu.x, 4096 + 64);
    cr_assert_eq(gpu.table, 8192);
    cr_assert(gpu.clean && gpu.plain && gpu.clean != gpu.plain);
    cr_assert(gpu.cleared == gpu.clean && gpu.cleared_bytes == 256);
    close_device(&x);
}

Test(cuda_device, a_repeated_launch_neither_allocates_nor_clears) {
    cuda_fixture x;
    open_device(&x);
    cr_assert_eq(launch_with(&x, 256, 512, STREAM(0)), TILE_OK);
    cr_assert_eq(launch_with(&x, 100, 512, STREAM(0)), TILE_OK);
    cr_assert(gpu.allocations == 2 && gpu.clears == 1);
    cr_assert_eq(launch_with(&x, 256, 512, STREAM(1)), TILE_OK);
    cr_assert(gpu.allocations == 4 && gpu.clears == 2, "another stream has scratch of its own");
    cr_assert_eq(gpu.cleared_on, STREAM(1));
    close_device(&x);
}

Test(cuda_device, outgrown_scratch_is_kept_for_launches_in_flight) {
    cuda_fixture x;
    open_device(&x);
    cr_assert_eq(launch_with(&x, 1024, 0, NULL), TILE_OK);
    CUdeviceptr first = gpu.clean;
    cr_assert_eq(launch_with(&x, 1280, 0, NULL), TILE_OK);
    cr_assert_neq(gpu.clean, first);
    cr_assert(gpu.cleared == gpu.clean && gpu.cleared_bytes == 2048);
    cr_assert_eq(gpu.frees, 0);
    cr_assert_eq(launch_with(&x, 2048, 0, NULL), TILE_OK);
    cr_assert_eq(gpu.allocations, 2, "it had doubled");
    close_device(&x);
}

Test(cuda_device, after_a_fault_every_stream_clears_its_scratch) {
    cuda_fixture x;
    open_device(&x);
    for (unsigned i = 0; i < 2; i++) cr_assert_eq(launch_with(&x, 256, 0, STREAM(i)), TILE_OK);
    gpu.wait_result = TILE_CUDA_ERROR_ILLEGAL_ADDRESS;
    cr_assert_eq(tile_device_synchronize(x.device), TILE_FAULT);
    cr_assert_str_eq(x.text.messages, "cuCtxSynchronize: illegal (700): illegal\n");
    for (unsigned i = 0; i < 2; i++) {
        unsigned before = gpu.clears;
        cr_assert_eq(launch_with(&x, 256, 0, STREAM(i)), TILE_OK);
        cr_assert(gpu.clears == before + 1 && gpu.cleared == gpu.clean);
        cr_assert_eq(launch_with(&x, 256, 0, STREAM(i)), TILE_OK);
        cr_assert_eq(gpu.clears, before + 1);
    }
    close_device(&x);
}

Test(cuda_device, a_refused_launch_is_told_and_soils) {
    cuda_fixture x;
    open_device(&x);
    gpu.launch_result = 701;
    cr_assert_eq(launch_with(&x, 256, 0, NULL), TILE_FAILED);
    gpu.launch_result = 0;
    cr_assert_eq(launch_with(&x, 256, 0, NULL), TILE_OK);
    cr_assert_eq(gpu.clears, 2);
    cr_assert_str_eq(x.text.messages, "cuLaunchKernelEx: refused (701): refused\n");
    close_device(&x);
}

Test(cuda_device, captured_streams_launch_but_get_no_new_scratch) {
    cuda_fixture x;
    open_device(&x);
    gpu.capturing = 1;
    cr_assert_eq(launch_with(&x, 256, 0, NULL), TILE_UNSUPPORTED);
    cr_assert_eq(launch_with(&x, 0, 256, NULL), TILE_UNSUPPORTED);
    cr_assert(gpu.allocations == 0 && gpu.clears == 0 && gpu.launches == 0);
    cr_assert_not_null(strstr(x.text.messages, "tile_kernel_prepare"));
    cr_assert_eq(launch_with(&x, 0, 0, NULL), TILE_OK, "without scratch nothing is in the way");
    gpu.capturing = 0;
    cr_assert_eq(launch_with(&x, 256, 256, NULL), TILE_OK);
    gpu.capturing = 1;
    cr_assert_eq(launch_with(&x, 256, 256, NULL), TILE_OK);
    close_device(&x);
}

Test(cuda_device, what_is_reserved_is_there_at_the_launch) {
    cuda_fixture x;
    open_device(&x);
    const tile_launch what = {
        .variant = &x.variant, .grid = {1, 1, 1}, .clean_bytes = 256, .plain_bytes = 512};
    bool capturing;
    cr_assert_eq(x.device->ops->reserve(x.device, &what), TILE_OK);
    cr_assert(gpu.allocations == 2 && gpu.clears == 1 && gpu.launches == 0);
    gpu.capturing = 1;
    cr_assert_eq(x.device->ops->is_capturing(x.device, NULL, &capturing), TILE_OK);
    cr_assert(capturing);
    cr_assert_eq(launch_with(&x, 256, 512, NULL), TILE_OK);
    cr_assert(gpu.allocations == 2 && gpu.clears == 1 && gpu.launches == 1);
    close_device(&x);
}

Test(cuda_device, a_launch_asks_for_what_it_needs) {
    cuda_fixture x;
    open_device(&x);
    const tile_argument arguments[] = {{0}, {0}, {&x.buffer, 0, 0, 0}};
    tile_launch what = {
        .variant = &x.variant, .arguments = arguments, .argument_count = 3, .grid = {1, 1, 1}};
    for (unsigned i = 0; i < 4; i++) {
        what.overlaps = i & 1;
        what.resident = i & 2;
        cr_assert_eq(x.device->ops->launch(x.device, &what), TILE_OK);
        cr_assert_eq(gpu.attributes, (i & 1 ? 1u << 6 : 0) | (i & 2 ? 1u << 2 : 0));
    }
    close_device(&x);
}

/* Clusters of more than 8 blocks run if the device has the capacity and the function allows it. */
Test(cuda_device, large_clusters_are_allowed) {
    static const int sizes[] = {1, 8, 9, 16};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cuda_fixture x;
        char text[128];
        snprintf(text, sizeof text, "kernel @k() grid [%d] cluster [%d] warps 1 {\n}\n", sizes[i],
                 sizes[i]);
        open_device_for(&x, text);
        cr_expect_eq(gpu.large_clusters, sizes[i] > 8, "%d blocks", sizes[i]);
        close_device(&x);
    }
}

Test(cuda_device, too_large_a_grid_is_refused) {
    cuda_fixture x;
    open_device(&x);
    const tile_argument arguments[] = {{0}, {0}, {&x.buffer, 0, 0, 0}};
    const tile_launch what = {
        .variant = &x.variant, .arguments = arguments, .argument_count = 3, .grid = {1, 65536, 1}};
    cr_assert_eq(x.device->ops->launch(x.device, &what), TILE_UNSUPPORTED);
    cr_assert_not_null(
        strstr(x.text.messages, "65536 blocks along y; a launch takes at most 65535 there"));
    cr_assert_eq(gpu.launches, 0);
    close_device(&x);
}

/* As many parameters as a kernel can have. */
Test(cuda_device, all_parameters_of_a_full_kernel_arrive) {
    enum { TABLES = TILE_MAX_ARGUMENTS + 2, MAPS = TABLES + TILE_MAX_TABLES };
    cuda_fixture x;
    static char text[65536];
    size_t end = (size_t)snprintf(text, sizeof text, "kernel @k(");
    for (unsigned i = 0; i < TILE_MAX_ARGUMENTS; i++)
        end += (size_t)snprintf(text + end, sizeof text - end, "%s%%a%u: %s", i ? ", " : "", i,
                                i ? "i64" : "ptr<i8>");
    end += (size_t)snprintf(text + end, sizeof text - end,
                            ") grid [1] warps 1 {\n"
                            "  %%c = scratch [64] {clean} : ptr<i32>\n"
                            "  %%p = scratch [64] : ptr<i32>\n");
    for (unsigned i = 0; i < TILE_MAX_TABLES; i++)
        end += (size_t)snprintf(
            text + end, sizeof text - end,
            "  %%t%u = tile_schedule 1, [8] {cost = block_id(0) * %u + %%a63}\n", i, i + 1);
    for (unsigned i = 0; i < TILE_MAX_TENSOR_MAPS; i++)
        end += (size_t)snprintf(text + end, sizeof text - end,
                                "  %%m%u = tensor_map %%a0, [%u] : tensor_map<i8[16]>\n", i, i + 1);
    snprintf(text + end, sizeof text - end, "}\n");
    open_device_for(&x, text);
    cr_assert_eq(tile_abi_parameter_count(x.variant.abi), TILE_MAX_PARAMETERS);
    tile_argument arguments[TILE_MAX_ARGUMENTS] = {{.buffer = &x.buffer}};
    for (int i = 1; i < TILE_MAX_ARGUMENTS; i++) arguments[i].integer = -1 - i;
    tile_launch what = {.variant = &x.variant,
                        .arguments = arguments,
                        .argument_count = TILE_MAX_ARGUMENTS,
                        .grid = {1, 1, 1},
                        .clean_bytes = 256,
                        .plain_bytes = 512};
    for (unsigned i = 0; i < TILE_MAX_TABLES; i++) what.tables[i].address = 8192 + 512 * i;
    for (unsigned i = 0; i < TILE_MAX_TENSOR_MAPS; i++)
        memset(what.maps[i].encoded, (int)i + 1, TILE_TENSOR_MAP_BYTES);
    gpu.all_count = TILE_MAX_PARAMETERS;
    cr_assert_eq(x.device->ops->launch(x.device, &what), TILE_OK, "%s", x.text.messages);
    for (int i = 1; i < TILE_MAX_ARGUMENTS; i++) cr_expect_eq((int64_t)gpu.all[i], -1 - i, "%d", i);
    cr_expect_eq(gpu.all[TILE_MAX_ARGUMENTS], gpu.cleared);
    cr_expect(gpu.all[TILE_MAX_ARGUMENTS + 1] &&
              gpu.all[TILE_MAX_ARGUMENTS + 1] != gpu.all[TILE_MAX_ARGUMENTS]);
    for (unsigned i = 0; i < TILE_MAX_TABLES; i++)
        cr_expect_eq(gpu.all[TABLES + i], 8192 + 512 * i, "%u", i);
    for (unsigned i = 0; i < TILE_MAX_TENSOR_MAPS; i++)
        cr_expect_eq(gpu.all[MAPS + i], UINT64_C(0x0101010101010101) * (i + 1), "%u", i);
    close_device(&x);
}
