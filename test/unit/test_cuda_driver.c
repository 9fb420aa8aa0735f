/* The CUDA driver on a machine without one, and the translation of its results. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/driver/driver.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <string.h>

#include "test/unit/text_fixture.h"
#include "tile/device.h"

Test(cuda_driver, its_absence_is_told_in_the_loaders_words) {
    text_fixture x;
    tile_device *device = (tile_device *)&x;
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
        cr_skip_test("this machine has a CUDA driver");
    char words[256]; /* the loader's text is valid only until its next call */
    snprintf(words, sizeof words, "%s", dlerror());
    text_open(&x);
    for (unsigned attempt = 1; attempt <= 2; attempt++) {
        cr_assert_eq(tile_device_create_cuda(x.context, NULL, &device), TILE_UNAVAILABLE);
        cr_assert_null(device);
        cr_assert_eq(x.errors, attempt);
    }
    cr_assert_not_null(strstr(x.messages, "0:0: error: there is no CUDA driver: "), "%s",
                       x.messages);
    cr_assert_not_null(strstr(x.messages, words), "%s\nand not: %s", x.messages, words);
    text_close(&x);
}

static CUresult known_name(CUresult error, const char **text) {
    *text = "CUDA_ERROR_INVALID_VALUE";
    return error != 1;
}

static CUresult known_string(CUresult error, const char **text) {
    *text = "invalid argument";
    return error != 1;
}

/* The driver sets NULL for an unknown number. */
static CUresult unknown(CUresult error, const char **text) {
    *text = NULL;
    return error != 0;
}

Test(cuda_driver, results_become_diagnostics) {
    text_fixture x;
    const tile_driver known = {.cuGetErrorName = known_name, .cuGetErrorString = known_string};
    const tile_driver without = {.cuGetErrorName = unknown, .cuGetErrorString = unknown};
    text_open(&x);
    cr_assert_eq(tile_driver_check(x.context, &known, 0, "cuMemAlloc"), TILE_OK);
    cr_assert_eq(x.errors, 0);
    cr_assert_eq(tile_driver_check(x.context, &known, 1, "cuMemAlloc"), TILE_FAILED);
    cr_assert_eq(tile_driver_check(x.context, &without, 12345, "cuInit"), TILE_FAILED);
    cr_assert_str_eq(x.messages,
                     "0:0: error: cuMemAlloc: CUDA_ERROR_INVALID_VALUE (1): invalid argument\n"
                     "0:0: error: cuInit: unknown error (12345): the driver has no text for it\n");
    text_close(&x);
}
