/* The rule that chooses how a convolution reads its input: a case in each row. */
#include <criterion/criterion.h>

#include "lib/ops/convolution.h"

enum { MB = 1000000 };

#define IN_PLACE TILE_CONVOLUTION_IN_PLACE
#define POSITIONS_FIRST TILE_CONVOLUTION_POSITIONS_FIRST
#define LAST TILE_CONVOLUTION_CHANNELS_LAST
#define MOVED TILE_CONVOLUTION_MOVED
#define SHIFTED TILE_CONVOLUTION_SHIFTED

static const struct {
    const char *what;
    tile_convolution_traffic traffic;
    tile_convolution_form form;
} cases[] = {
    {"NHWC 32x56x56x64, 3x3",
     {.channels_last = true,
      .channels = 64,
      .positions = 9,
      .input = 12.8 * MB,
      .windows = 58 * MB},
     LAST},
    {"NHWC of 3 channels",
     {.channels_last = true, .channels = 3, .positions = 49, .input = 10 * MB, .windows = 59 * MB},
     IN_PLACE},
    {"NCHW 32x64x56x56, 3x3",
     {.channels = 64, .positions = 9, .input = 12.8 * MB, .windows = 58 * MB, .filters = 64},
     MOVED},
    {"the same by fma",
     {.by_fma = true,
      .channels = 64,
      .positions = 9,
      .input = 25.6 * MB,
      .windows = 58 * MB,
      .filters = 64},
     POSITIONS_FIRST},
    {"by fma, groups of 8 channels",
     {.by_fma = true,
      .channels = 8,
      .positions = 27,
      .input = 35 * MB,
      .windows = 960 * MB,
      .filters = 8},
     POSITIONS_FIRST},
    {"by fma, steps of 16 channels of which a third is empty",
     {.by_fma = true,
      .channels = 24,
      .positions = 9,
      .input = 25.6 * MB,
      .windows = 58 * MB,
      .filters = 64},
     IN_PLACE},
    {"by fma, and the filter takes as long as the product",
     {.by_fma = true,
      .channels = 64,
      .positions = 9,
      .input = 0.1 * MB,
      .windows = 0.2 * MB,
      .filters = 64},
     IN_PLACE},
    {"by fma, one position",
     {.by_fma = true,
      .channels = 64,
      .positions = 1,
      .input = 25.6 * MB,
      .windows = 58 * MB,
      .filters = 64},
     IN_PLACE},
    {"NCH 32x64x131072, 3",
     {.channels = 64,
      .positions = 3,
      .shifted = true,
      .input = 1074 * MB,
      .windows = 805 * MB,
      .filters = 128},
     SHIFTED},
    {"the same with 3 channels",
     {.channels = 3, .positions = 3, .shifted = true, .input = 50 * MB, .windows = 38 * MB},
     IN_PLACE},
    {"NCHW of 3 channels, 7x7",
     {.channels = 3, .positions = 49, .input = 9.6 * MB, .windows = 59 * MB, .filters = 64},
     IN_PLACE},
    {"NCHW, 1x1",
     {.channels = 512, .positions = 1, .input = 25 * MB, .windows = 13 * MB},
     IN_PLACE},
    {"NCHW 32x3072x7x7, 1x1: rows of 98 bytes",
     {.channels = 3072,
      .positions = 1,
      .apart = true,
      .input = 9.6 * MB,
      .windows = 4.8 * MB,
      .filters = 768},
     MOVED},
    {"NCHW 1x16x7x7, 1x1: a launch takes longer",
     {.channels = 16, .positions = 1, .apart = true, .input = 1568, .windows = 784, .filters = 16},
     IN_PLACE},
    {"NCHW 1x16x7x7, 3x3: a launch takes longer",
     {.channels = 16, .positions = 9, .input = 1568, .windows = 7056, .filters = 16},
     IN_PLACE},
    {"the same with so many filters that it is read in 1000 blocks",
     {.channels = 16, .positions = 9, .input = 1568, .windows = 7056, .filters = 128000},
     MOVED},
    {"NCHW 32x64x56x56, 2x2, strides so long that little of it is read",
     {.channels = 64, .positions = 4, .input = 12.8 * MB, .windows = 0.8 * MB, .filters = 64},
     IN_PLACE},
    {"a batch that is not known",
     {.channels = 64, .positions = 9, .input = -1, .windows = -1},
     MOVED},
    {"channels that are not known",
     {.channels = -1, .positions = 9, .input = -1, .windows = -1},
     MOVED},
    {"a filter that is not known",
     {.channels = 64, .positions = -1, .input = 12.8 * MB, .windows = -1},
     MOVED},
};

Test(convolution, forms) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tile_convolution_form_of(&cases[i].traffic), cases[i].form, "%s",
                     cases[i].what);
}
