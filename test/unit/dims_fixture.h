/* Runs an operation on up to three arrays, at level 1 or in a kernel on the CPU device, repeatedly
 * with different elements. */
#ifndef TILE_TEST_DIMS_FIXTURE_H
#define TILE_TEST_DIMS_FIXTURE_H

#include "test/unit/axis_fixture.h"

enum { INPUTS = 3, MOST = 96, BYTES = MOST * 8, RESULTS = 2 };

typedef struct array {
    tile_scalar scalar;
    axis_shape shape;
} array;

/* An operation with its operands and results; inputs are %a, %b and %c. */
typedef struct sample {
    const char *name;       /* of the row */
    const char *lines;      /* NULL: `%r = op`; with two results `%r, %s = op` */
    const char *op;         /* text of the operation */
    array inputs[INPUTS];   /* ends with one without elements */
    array results[RESULTS]; /* same; for `lines`, the memory %gr that they write */
    int64_t most[INPUTS];   /* elements are 1 to this number; 0: any values */
} sample;

/* Texts ---------------------------------------------------------------------------------------- */

static const char *const letters[] = {"a", "b", "c"};
static const char *const names[] = {"r", "s"};

static inline bool is_there(const array *a) {
    return a->scalar != TILE_SCALAR_NONE;
}

static inline const char *type_text(text_fixture *x, const char *kind, const array *a) {
    return tile_arena_format(&x->arena, "%s<%s%s>", kind, tile_scalar_name(a->scalar),
                             axis_dims(x, &a->shape));
}

static inline const char *list_text(text_fixture *x, const array *arrays, unsigned most,
                                    const char *const *their, const char *prefix,
                                    const char *kind) {
    const char *text = "";
    for (unsigned i = 0; i < most && is_there(&arrays[i]); i++)
        text = tile_arena_format(&x->arena, "%s%s%%%s%s%s%s", text, i ? ", " : "", prefix, their[i],
                                 kind ? ": " : "", kind ? type_text(x, kind, &arrays[i]) : "");
    return text;
}

static inline const char *compute_text(text_fixture *x, const sample *s) {
    static const char func[] =
        "func @mixed(%a: f32, %b: f32, %c: f32, %d: f32) -> (%e: f32, %f: f32) "
        "{\n  %e = %a + %b + %c + %d\n  %f = %e\n}\n";
    return tile_arena_format(&x->arena, "compute @k(%s) -> (%s) {\n  %s = %s\n}\n%s",
                             list_text(x, s->inputs, INPUTS, letters, "", "tensor"),
                             list_text(x, s->results, RESULTS, names, "", "tensor"),
                             list_text(x, s->results, RESULTS, names, "", NULL), s->op, func);
}

static inline const char *kernel_text(text_fixture *x, const sample *s) {
    const char *body = s->lines, *loads = "";
    if (!body)
        body = tile_arena_format(&x->arena, "  %%r = %s\n  store %%r, %%gr[%s]\n", s->op,
                                 axis_zeros(x, &s->results[0].shape));
    for (unsigned i = 0; i < INPUTS && is_there(&s->inputs[i]); i++)
        loads = tile_arena_format(&x->arena, "%s  %%%s = load %%g%s[%s] : %s\n", loads, letters[i],
                                  letters[i], axis_zeros(x, &s->inputs[i].shape),
                                  axis_dims(x, &s->inputs[i].shape));
    return tile_arena_format(&x->arena,
                             "kernel @k(%s, %s, %%m: view<f32[8, 4]>) grid [1] warps 4 {\n%s%s}\n",
                             list_text(x, s->inputs, INPUTS, letters, "g", "view"),
                             list_text(x, s->results, RESULTS, names, "g", "view"), loads, body);
}

/* Runs ----------------------------------------------------------------------------------------- */

/* A sample that is being run, at level 1 or as a kernel. */
typedef struct runner {
    text_fixture *x;
    const sample *s;
    tile_module *module;
    tile_device *device; /* NULL: level 1 */
    tile_kernel *kernel;
    tile_argument arguments[INPUTS + RESULTS + 1];
    unsigned inputs, results;
    unsigned char elements[INPUTS][BYTES];
} runner;

static inline size_t bytes_of(const array *a) {
    return axis_count(&a->shape) * tile_scalar_bytes(a->scalar);
}

static inline void add_argument(runner *r, unsigned i, size_t bytes) {
    cr_assert_eq(tile_buffer_create(r->device, bytes, &r->arguments[i].buffer), TILE_OK);
}

static inline void open_device(runner *r) {
    float memory[32];
    tile_device_options options = {.size = sizeof options, .level = 2};
    const char *text = kernel_text(r->x, r->s);
    unsigned last = r->inputs + r->results;
    cr_assert_eq(tile_device_create_cpu(r->x->context, &options, &r->device), TILE_OK);
    cr_assert_eq(tile_kernel_create(r->device, r->module, "k", NULL, 0, &r->kernel), TILE_OK,
                 "%s\n%s", r->x->messages, text);
    for (unsigned i = 0; i < r->inputs; i++) add_argument(r, i, bytes_of(&r->s->inputs[i]));
    for (unsigned i = 0; i < r->results; i++)
        add_argument(r, r->inputs + i, bytes_of(&r->s->results[i]));
    for (unsigned i = 0; i < 32; i++) memory[i] = (float)(200 + i);
    add_argument(r, last, sizeof memory);
    cr_assert_eq(tile_buffer_write(r->arguments[last].buffer, 0, memory, sizeof memory), TILE_OK);
}

static inline void open_runner(runner *r, text_fixture *x, const sample *s, bool kernel) {
    *r = (runner){.x = x, .s = s};
    const char *text = kernel ? kernel_text(x, s) : compute_text(x, s);
    while (r->inputs < INPUTS && is_there(&s->inputs[r->inputs])) r->inputs++;
    while (r->results < RESULTS && is_there(&s->results[r->results])) r->results++;
    x->length = 0;
    r->module = text_parse(x, text);
    cr_assert(r->module, "%s\n%s", x->messages, text);
    if (kernel) open_device(r);
}

static inline void close_runner(runner *r) {
    tile_kernel_destroy(r->kernel);
    for (unsigned i = 0; i < INPUTS + RESULTS + 1; i++) tile_buffer_destroy(r->arguments[i].buffer);
    tile_device_destroy(r->device);
    tile_module_destroy(r->module);
}

static inline tile_compute_array level_1(const array *a, void *data) {
    tile_compute_array out = {.scalar = a->scalar, .rank = a->shape.rank, .data = data};
    memcpy(out.dims, a->shape.dims, sizeof out.dims);
    return out;
}

static inline void run_compute(runner *r, unsigned char results[RESULTS][BYTES]) {
    tile_compute_array in[INPUTS], out[RESULTS];
    for (unsigned i = 0; i < r->inputs; i++) in[i] = level_1(&r->s->inputs[i], r->elements[i]);
    for (unsigned i = 0; i < r->results; i++) out[i] = level_1(&r->s->results[i], results[i]);
    cr_assert_eq(
        tile_compute_run(tile_module_function(r->module, 0), in, r->inputs, out, r->results),
        TILE_OK, "%s", r->x->messages);
}

static inline void run_kernel(runner *r, unsigned char results[RESULTS][BYTES]) {
    for (unsigned i = 0; i < r->inputs + r->results; i++) {
        bool input = i < r->inputs;
        const array *a = input ? &r->s->inputs[i] : &r->s->results[i - r->inputs];
        if (!input) memset(results[i - r->inputs], 0, BYTES);
        cr_assert_eq(tile_buffer_write(r->arguments[i].buffer, 0,
                                       input ? r->elements[i] : results[i - r->inputs],
                                       bytes_of(a)),
                     TILE_OK);
    }
    cr_assert_eq(tile_kernel_launch(r->kernel, r->arguments, r->inputs + r->results + 1, NULL),
                 TILE_OK, "%s\n%s", r->x->messages, kernel_text(r->x, r->s));
    for (unsigned i = 0; i < r->results; i++)
        cr_assert_eq(tile_buffer_read(r->arguments[r->inputs + i].buffer, 0, results[i],
                                      bytes_of(&r->s->results[i])),
                     TILE_OK);
}

static inline void run(runner *r, unsigned char results[RESULTS][BYTES]) {
    if (r->device)
        run_kernel(r, results);
    else
        run_compute(r, results);
}

#endif
