/* Checks an operation that takes or makes an array: at level 1, in a kernel at levels 2 and 3 on
 * the CPU device, possibly with a given layout, and as PTX. */
#ifndef TILE_TEST_AXIS_FIXTURE_H
#define TILE_TEST_AXIS_FIXTURE_H

#include <stdlib.h>

#include "lib/analysis/range.h"
#include "lib/ir/arith.h"
#include "lib/support/scalar.h"
#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/compile.h"
#include "tile/compute.h"
#include "tile/device.h"

enum { AXIS_RESULTS = 2 };

typedef struct axis_shape {
    unsigned rank;
    int64_t dims[TILE_MAX_RANK];
} axis_shape;

typedef struct axis_sample {
    const char *op;      /* with operand %a: "reduce %a {kind = add, axis = 1}" */
    const char *compute; /* the same at level 1; NULL: the text is the same */
    const char *steps;   /* lines before it; NULL: none */
    const char *funcs;   /* that it names; NULL: none */
    axis_shape from, to; /* a `from` of rank 0 means that there is no %a */
    tile_scalar scalar;
    unsigned results;
    tile_scalar scalars[AXIS_RESULTS]; /* of the results */
    unsigned warps;
    const char *layout; /* of the tile, or NULL */
    const void *input;
} axis_sample;

static inline size_t axis_count(const axis_shape *s) {
    size_t count = 1;
    for (unsigned d = 0; d < s->rank; d++) count *= (size_t)s->dims[d];
    return count;
}

static inline const char *axis_dims(text_fixture *x, const axis_shape *s) {
    const char *text = "[";
    for (unsigned d = 0; d < s->rank; d++)
        text = tile_arena_format(&x->arena, "%s%s%lld", text, d ? ", " : "", (long long)s->dims[d]);
    return tile_arena_format(&x->arena, "%s]", text);
}

static inline const char *axis_zeros(text_fixture *x, const axis_shape *s) {
    const char *text = "0";
    for (unsigned d = 1; d < s->rank; d++) text = tile_arena_format(&x->arena, "%s, 0", text);
    return text;
}

static inline const char *axis_compute(text_fixture *x, const axis_sample *s) {
    const char *argument = "", *results = "", *names = "";
    for (unsigned i = 0; i < s->results; i++) {
        results = tile_arena_format(&x->arena, "%s%s%%r%u: tensor<%s%s>", results, i ? ", " : "", i,
                                    tile_scalar_name(s->scalars[i]), axis_dims(x, &s->to));
        names = tile_arena_format(&x->arena, "%s%s%%r%u", names, i ? ", " : "", i);
    }
    if (s->from.rank)
        argument = tile_arena_format(&x->arena, "%%a: tensor<%s%s>", tile_scalar_name(s->scalar),
                                     axis_dims(x, &s->from));
    return tile_arena_format(&x->arena, "compute @f(%s) -> (%s) {\n%s  %s = %s\n}\n%s", argument,
                             results, s->steps ? s->steps : "", names,
                             s->compute ? s->compute : s->op, s->funcs ? s->funcs : "");
}

/* A tile with a layout is loaded from a shared buffer. */
static inline const char *axis_load(text_fixture *x, const axis_sample *s) {
    const char *dims = axis_dims(x, &s->from), *zeros = axis_zeros(x, &s->from);
    const char *name = tile_scalar_name(s->scalar);
    if (!s->from.rank) return "";
    if (!s->layout)
        return tile_arena_format(&x->arena, "  %%a = load %%ga[%s] : %s\n", zeros, dims);
    return tile_arena_format(&x->arena,
                             "  %%s = alloc_shared : shared<%s%s>\n  copy %%ga[%s], %%s\n"
                             "  %%a = load_shared %%s : tile<%s%s, #l>\n",
                             name, dims, zeros, name, dims);
}

static inline const char *axis_kernel(text_fixture *x, const axis_sample *s) {
    const char *args = "", *stores = "", *names = "";
    if (s->from.rank)
        args = tile_arena_format(&x->arena, "%%ga: view<%s%s>, ", tile_scalar_name(s->scalar),
                                 axis_dims(x, &s->from));
    for (unsigned i = 0; i < s->results; i++) {
        args = tile_arena_format(&x->arena, "%s%s%%g%u: view<%s%s>", args, i ? ", " : "", i,
                                 tile_scalar_name(s->scalars[i]), axis_dims(x, &s->to));
        stores = tile_arena_format(&x->arena, "%s  store %%r%u, %%g%u[%s]\n", stores, i, i,
                                   axis_zeros(x, &s->to));
        names = tile_arena_format(&x->arena, "%s%s%%r%u", names, i ? ", " : "", i);
    }
    return tile_arena_format(
        &x->arena, "%s%s\nkernel @k(%s) grid [1] warps %u {\n%s%s  %s = %s\n%s}\n%s",
        s->layout ? "#l = " : "", s->layout ? s->layout : "", args, s->warps, axis_load(x, s),
        s->steps ? s->steps : "", names, s->op, stores, s->funcs ? s->funcs : "");
}

static inline void axis_run_compute(text_fixture *x, const axis_sample *s, void *const *results) {
    tile_module *module = text_parse(x, axis_compute(x, s));
    cr_assert(module, "%s\n%s", x->messages, axis_compute(x, s));
    tile_compute_array in = {.scalar = s->scalar, .rank = s->from.rank, .data = (void *)s->input};
    tile_compute_array out[AXIS_RESULTS];
    memcpy(in.dims, s->from.dims, sizeof in.dims);
    for (unsigned i = 0; i < s->results; i++) {
        out[i] =
            (tile_compute_array){.scalar = s->scalars[i], .rank = s->to.rank, .data = results[i]};
        memcpy(out[i].dims, s->to.dims, sizeof out[i].dims);
    }
    cr_assert_eq(
        tile_compute_run(tile_module_function(module, 0), &in, s->from.rank > 0, out, s->results),
        TILE_OK, "%s", x->messages);
    tile_module_destroy(module);
}

static inline void axis_run_kernel(text_fixture *x, const axis_sample *s, unsigned level,
                                   void *const *results) {
    tile_module *module = text_parse(x, axis_kernel(x, s));
    cr_assert(module, "%s\n%s", x->messages, axis_kernel(x, s));
    tile_device_options options = {.size = sizeof options, .level = level};
    tile_device *device = NULL;
    tile_kernel *kernel = NULL;
    tile_argument arguments[1 + AXIS_RESULTS] = {{0}};
    unsigned inputs = s->from.rank > 0, count = inputs + s->results;
    cr_assert_eq(tile_device_create_cpu(x->context, &options, &device), TILE_OK);
    if (inputs) {
        size_t bytes = axis_count(&s->from) * tile_scalar_bytes(s->scalar);
        cr_assert_eq(tile_buffer_create(device, bytes, &arguments[0].buffer), TILE_OK);
        cr_assert_eq(tile_buffer_write(arguments[0].buffer, 0, s->input, bytes), TILE_OK);
    }
    for (unsigned i = 0; i < s->results; i++) {
        size_t bytes = axis_count(&s->to) * tile_scalar_bytes(s->scalars[i]);
        cr_assert_eq(tile_buffer_create(device, bytes, &arguments[inputs + i].buffer), TILE_OK);
    }
    cr_assert_eq(tile_kernel_create(device, module, "k", NULL, 0, &kernel), TILE_OK, "%s\n%s",
                 x->messages, axis_kernel(x, s));
    cr_assert_eq(tile_kernel_launch(kernel, arguments, count, NULL), TILE_OK, "%s\n%s", x->messages,
                 axis_kernel(x, s));
    for (unsigned i = 0; i < s->results; i++)
        cr_assert_eq(tile_buffer_read(arguments[inputs + i].buffer, 0, results[i],
                                      axis_count(&s->to) * tile_scalar_bytes(s->scalars[i])),
                     TILE_OK);
    tile_kernel_destroy(kernel);
    while (count) tile_buffer_destroy(arguments[--count].buffer);
    tile_device_destroy(device);
    tile_module_destroy(module);
}

/* The number as an element of the type: integers wrap. */
static inline int64_t axis_number(tile_scalar scalar, int64_t number) {
    return tile_scalar_is_floating(scalar) ? number : tile_wrap_int(scalar, number);
}

/* The lowest level to run: level 1 computes in f64, which rounds large numbers of a u64. */
static inline unsigned axis_first_level(const axis_sample *s) {
    return s->layout || s->scalar == TILE_u64 ? 2 : 1;
}

/* wanted: the results by definition. first: the lowest level to run. */
static inline void axis_check(text_fixture *x, const axis_sample *s, unsigned first,
                              void *const *wanted) {
    void *got[AXIS_RESULTS] = {NULL};
    size_t count = axis_count(&s->to);
    x->length = 0;
    for (unsigned level = first; level <= 3; level++) {
        for (unsigned i = 0; i < s->results; i++)
            got[i] = memset(malloc(count * sizeof(double)), 0xa5, count * sizeof(double));
        if (level == 1)
            axis_run_compute(x, s, got);
        else
            axis_run_kernel(x, s, level, got);
        for (unsigned i = 0; i < s->results; i++) {
            size_t size = tile_scalar_bytes(s->scalars[i]);
            for (size_t k = 0; k < count; k++) {
                const char *a = (const char *)wanted[i] + k * size, *b = (char *)got[i] + k * size;
                cr_assert_eq(memcmp(a, b, size), 0,
                             "level %u, result %u, element %zu: %g, not %g, "
                             "in\n%s",
                             level, i, k, tile_scalar_read(s->scalars[i], b),
                             tile_scalar_read(s->scalars[i], a), axis_kernel(x, s));
            }
            free(got[i]);
        }
    }
}

static inline void axis_emit_ptx(text_fixture *x, const axis_sample *s) {
    static const char *const targets[] = {"sm_80", "sm_90a"};
    for (unsigned i = 0; i < 2; i++) {
        tile_module *module = text_parse(x, axis_kernel(x, s));
        tile_emit_options options = {.size = sizeof options,
                                     .target = tile_target_find(targets[i])};
        tile_blob ptx = {NULL, 0};
        cr_expect_eq(tile_compile(module, "k", NULL, 0, &options, &ptx, NULL), TILE_OK, "%s",
                     x->messages);
        tile_blob_destroy(&ptx);
        tile_module_destroy(module);
    }
}

/* The coordinate of row-major element i along a dim. */
static inline int64_t axis_coordinate(const axis_shape *s, size_t i, unsigned axis) {
    for (unsigned d = s->rank; --d > axis;) i /= (size_t)s->dims[d];
    return (int64_t)(i % (size_t)s->dims[axis]);
}

/* Random numbers and layouts ------------------------------------------------------------------- */

static inline uint32_t axis_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static inline const char *axis_basis(text_fixture *x, const axis_shape *s, uint32_t index) {
    const char *text = "[";
    unsigned shift = 0, shifts[TILE_MAX_RANK];
    for (unsigned d = s->rank; d-- > 0;) {
        shifts[d] = shift;
        while (shift - shifts[d] < 20 && INT64_C(1) << (shift - shifts[d]) < s->dims[d]) shift++;
    }
    for (unsigned d = 0; d < s->rank; d++)
        text = tile_arena_format(&x->arena, "%s%s%u", text, d ? ", " : "",
                                 index >> shifts[d] & (uint32_t)(s->dims[d] - 1));
    return tile_arena_format(&x->arena, "%s]", text);
}

/* Returns a random layout of a tile whose extents are powers of two. Its bases span all
 * coordinates; some are used for several inputs together, some are zero (copies). */
static inline const char *axis_random_layout(text_fixture *x, const axis_shape *s,
                                             unsigned warp_bits, uint64_t *seed) {
    unsigned bits = 0, threads = 5 + warp_bits, registers;
    uint32_t basis[20];
    const char *names[] = {"reg", "lane", "warp"}, *text = "layout {";
    while ((size_t)1 << bits < axis_count(s)) bits++;
    for (unsigned i = 0; i < bits; i++) { /* an invertible matrix: unit rows, added to other rows */
        basis[i] = UINT32_C(1) << i;
        for (unsigned k = 0; k < i && axis_random(seed) % 2; k++)
            if (axis_random(seed) % 3 == 0) basis[i] ^= basis[k];
    }
    for (unsigned i = bits; i-- > 1;) {
        unsigned k = axis_random(seed) % (i + 1);
        uint32_t other = basis[i];
        basis[i] = basis[k];
        basis[k] = other;
    }
    registers = bits > threads ? bits - threads : 0;
    while (registers < bits && registers < 6 && axis_random(seed) % 2) registers++;
    unsigned counts[] = {registers, 5, warp_bits}, at = 0;
    for (unsigned list = 0; list < 3; list++) {
        text = tile_arena_format(&x->arena, "%s%s%s = [", text, list ? ", " : "", names[list]);
        for (unsigned i = 0; i < counts[list]; i++) {
            unsigned left = bits - at, cells = counts[list] - i + (list == 1 ? warp_bits : 0);
            bool takes = left && (list == 0 || left >= cells || axis_random(seed) % 2);
            uint32_t index = takes ? basis[at++] : 0;
            if (!takes && at && axis_random(seed) % 2) index = basis[axis_random(seed) % at];
            text = tile_arena_format(&x->arena, "%s%s%s", text, i ? ", " : "",
                                     axis_basis(x, s, index));
        }
        text = tile_arena_format(&x->arena, "%s]", text);
    }
    return tile_arena_format(&x->arena, "%s}", text);
}

#endif
