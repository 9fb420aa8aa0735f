/* An operation that puts elements in other places, or makes them: at level 1, in a kernel at levels
 * 2 and 3 of the CPU device, and as PTX. */
#ifndef TILE_TEST_SHAPE_FIXTURE_H
#define TILE_TEST_SHAPE_FIXTURE_H

#include "lib/layout/layout.h"
#include "test/unit/axis_fixture.h"

enum { SHAPE_BYTES = 1 << 20 };

/* One operation from %a (if from is given) to %r. */
typedef struct shape_sample {
    const char *steps;     /* lines before it, NULL: none */
    const char *statement; /* with %s for the result's kind: tensor or tile */
    const axis_shape *from, *to;
    tile_scalar scalar; /* of both */
    unsigned warps;
    const void *input;
} shape_sample;

static inline const char *shape_compute(text_fixture *x, const shape_sample *s) {
    const char *name = tile_scalar_name(s->scalar), *to = axis_dims(x, s->to);
    const char *argument = "", *op = tile_arena_format(&x->arena, s->statement, "tensor");
    if (s->from)
        argument = tile_arena_format(&x->arena, "%%a: tensor<%s%s>", name, axis_dims(x, s->from));
    return tile_arena_format(&x->arena,
                             "compute @f(%s) -> (%%r: tensor<%s%s>) {\n%s  %%r = %s\n}\n", argument,
                             name, to, s->steps ? s->steps : "", op);
}

static inline const char *shape_kernel(text_fixture *x, const shape_sample *s) {
    const char *name = tile_scalar_name(s->scalar), *to = axis_dims(x, s->to);
    const char *argument = "", *load = "";
    const char *op = tile_arena_format(&x->arena, s->statement, "tile");
    if (s->from) {
        const char *from = axis_dims(x, s->from);
        argument = tile_arena_format(&x->arena, "%%pa: ptr<%s>, ", name);
        load = tile_arena_format(&x->arena,
                                 "  %%ga = view %%pa, %s : view<%s%s>\n"
                                 "  %%a = load %%ga[%s] : tile<%s%s>\n",
                                 from, name, from, axis_zeros(x, s->from), name, from);
    }
    return tile_arena_format(&x->arena,
                             "kernel @k(%s%%pr: ptr<%s>) grid [1] warps %u {\n%s%s  %%r = %s\n"
                             "  %%gr = view %%pr, %s : view<%s%s>\n  store %%r, %%gr[%s]\n}\n",
                             argument, name, s->warps, load, s->steps ? s->steps : "", op, to, name,
                             to, axis_zeros(x, s->to));
}

static inline void shape_run_compute(text_fixture *x, const shape_sample *s, void *result) {
    tile_module *module = text_parse(x, shape_compute(x, s));
    cr_assert(module, "%s", x->messages);
    tile_compute_array in = {.scalar = s->scalar, .data = (void *)s->input};
    tile_compute_array out = {.scalar = s->scalar, .rank = s->to->rank, .data = result};
    memcpy(out.dims, s->to->dims, sizeof out.dims);
    if (s->from) {
        in.rank = s->from->rank;
        memcpy(in.dims, s->from->dims, sizeof in.dims);
    }
    cr_assert_eq(tile_compute_run(tile_module_function(module, 0), &in, s->from != NULL, &out, 1),
                 TILE_OK, "%s", x->messages);
    tile_module_destroy(module);
}

static inline void shape_run_kernel(text_fixture *x, const shape_sample *s, unsigned level,
                                    void *result) {
    tile_module *module = text_parse(x, shape_kernel(x, s));
    cr_assert(module, "%s", x->messages);
    tile_device_options options = {.size = sizeof options, .level = level};
    tile_device *device = NULL;
    tile_kernel *kernel = NULL;
    tile_argument arguments[2] = {{0}};
    unsigned count = 0;
    size_t size = tile_scalar_bytes(s->scalar), bytes = axis_count(s->to) * size;
    cr_assert_eq(tile_device_create_cpu(x->context, &options, &device), TILE_OK);
    if (s->from) {
        size_t input = axis_count(s->from) * size;
        cr_assert_eq(tile_buffer_create(device, input, &arguments[count].buffer), TILE_OK);
        cr_assert_eq(tile_buffer_write(arguments[count++].buffer, 0, s->input, input), TILE_OK);
    }
    cr_assert_eq(tile_buffer_create(device, bytes, &arguments[count++].buffer), TILE_OK);
    cr_assert_eq(tile_kernel_create(device, module, "k", NULL, 0, &kernel), TILE_OK, "%s",
                 x->messages);
    cr_assert_eq(tile_kernel_launch(kernel, arguments, count, NULL), TILE_OK, "%s", x->messages);
    cr_assert_eq(tile_buffer_read(arguments[count - 1].buffer, 0, result, bytes), TILE_OK);
    tile_kernel_destroy(kernel);
    while (count) tile_buffer_destroy(arguments[--count].buffer);
    tile_device_destroy(device);
    tile_module_destroy(module);
}

static inline void shape_emit_ptx(text_fixture *x, const shape_sample *s) {
    tile_module *module = text_parse(x, shape_kernel(x, s));
    tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_90a")};
    tile_blob ptx = {NULL, 0};
    cr_expect_eq(tile_compile(module, "k", NULL, 0, &options, &ptx, NULL), TILE_OK, "%s",
                 x->messages);
    tile_blob_destroy(&ptx);
    tile_module_destroy(module);
}

/* wanted: the elements by the definition. */
static inline void shape_check(text_fixture *x, const shape_sample *s,
                               const unsigned char *wanted) {
    unsigned char *got = malloc(SHAPE_BYTES);
    size_t size = tile_scalar_bytes(s->scalar), count = axis_count(s->to);
    x->length = 0;
    for (unsigned level = 1; level <= 3; level++) {
        memset(got, 0xa5, count * size);
        if (level == 1)
            shape_run_compute(x, s, got);
        else
            shape_run_kernel(x, s, level, got);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(memcmp(wanted + i * size, got + i * size, size), 0,
                         "level %u, element %zu: %g, not %g, in\n%s", level, i,
                         tile_scalar_read(s->scalar, got + i * size),
                         tile_scalar_read(s->scalar, wanted + i * size), shape_kernel(x, s));
    }
    free(got);
}

/* The coordinate of row-major element i along a dim. */
static inline int64_t shape_coordinate(const axis_shape *s, size_t i, unsigned axis) {
    for (unsigned d = s->rank; --d > axis;) i /= (size_t)s->dims[d];
    return (int64_t)(i % (size_t)s->dims[axis]);
}

#endif
