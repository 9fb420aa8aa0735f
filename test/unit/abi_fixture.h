/* Kernels for tests of the launch interface. */
#ifndef TILE_TEST_ABI_FIXTURE_H
#define TILE_TEST_ABI_FIXTURE_H

#include "test/unit/codegen_fixture.h"

static const char kernel[] =
    "kernel @k(%n: i32, %x: ptr<f32> {divisible = 16}) grid [ceildiv(%n, 128), 3] warps 2 {\n"
    "  %s = alloc_shared {offset = 256} : shared<f16[3][8, 16]>\n"
    "  %a = scratch [%n] {clean} : ptr<i32>\n"
    "  %b = scratch [%n, 2] : ptr<f32>\n"
    "  %c = scratch [7] {clean} : ptr<i32>\n"
    "  st_global 1, %c[%n]\n"
    "}\n";

static const char two_tables[] =
    "kernel @k(%n: i32, %m: i64, %x: ptr<f32>) grid [3] warps 1 {\n"
    "  %i = block_id\n"
    "  %s = scratch [2] : ptr<i32>\n"
    "  %e = i32(%m) + 1\n"
    "  %a = tile_schedule %i, [%n, %e] {cost = block_id(0) * (block_id(1) + %n) / %m}\n"
    "  %b = tile_schedule %a, [4] {cost = mod(block_id(0), 2)}\n"
    "  %c = tile_schedule %b, [%n, %e, 1] {cost = block_id(0) * (block_id(1) + %n) / %m}\n"
    "  st_global %c, %s[%a]\n"
    "}\n";

static const char dealer[] = "kernel @k(%n: i32) grid [1] warps 1 {\n"
                             "  %a = tile_schedule %n, [%n] {cost = %n - 1 - block_id(0)}\n"
                             "}\n";

static inline void append(const char *text, size_t length, void *user) {
    char *to = user;
    strncat(to, text, length);
}

#endif
