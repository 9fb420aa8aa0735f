/* Operations on shapes and coordinates: the same at level 1, at levels 2 and 3 on the CPU device
 * and by their definition, for extents that are odd counts times powers of two and ranks from 1 to
 * 6; and they become PTX. */
#include <math.h>
#include <stdlib.h>

#include "lib/ir/scalar.h"
#include "lib/layout/layout.h"
#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/compile.h"
#include "tile/compute.h"
#include "tile/device.h"

enum { MAX_BYTES = 1 << 20 };

typedef struct shape {
    unsigned rank;
    int64_t dims[TILE_MAX_RANK];
} shape;

static const shape shapes[] = {{1, {64}},
                               {1, {1}},
                               {1, {192}},
                               {1, {31}},
                               {2, {1, 192}},
                               {2, {16, 1}},
                               {2, {12, 20}},
                               {2, {64, 64}},
                               {3, {3, 1, 40}},
                               {3, {2, 16, 5}},
                               {4, {1, 3, 1, 7}},
                               {4, {2, 2, 4, 8}},
                               {5, {2, 1, 3, 1, 4}},
                               {6, {3, 2, 1, 4, 1, 10}},
                               {6, {1, 1, 1, 1, 1, 1}}};

enum { SHAPE_COUNT = sizeof shapes / sizeof *shapes };

static size_t count_of(const shape *s) {
    size_t count = 1;
    for (unsigned d = 0; d < s->rank; d++) count *= (size_t)s->dims[d];
    return count;
}

/* [2, 3] */
static const char *dims_text(text_fixture *x, const shape *s) {
    const char *text = "[";
    for (unsigned d = 0; d < s->rank; d++)
        text = tile_arena_format(&x->arena, "%s%s%lld", text, d ? ", " : "", (long long)s->dims[d]);
    return tile_arena_format(&x->arena, "%s]", text);
}

/* 0, 0 */
static const char *zeros_text(text_fixture *x, const shape *s) {
    const char *text = "0";
    for (unsigned d = 1; d < s->rank; d++) text = tile_arena_format(&x->arena, "%s, 0", text);
    return text;
}

/* One operation from %a (if from is given) to %r. */
typedef struct sample {
    const char *steps;     /* lines before it, NULL: none */
    const char *statement; /* with %s for the result's kind: tensor or tile */
    const shape *from, *to;
    tile_scalar scalar; /* of both */
    unsigned warps;
    const void *input;
} sample;

static const char *compute_text(text_fixture *x, const sample *s) {
    const char *name = tile_scalar_name(s->scalar), *to = dims_text(x, s->to);
    const char *argument = "", *op = tile_arena_format(&x->arena, s->statement, "tensor");
    if (s->from)
        argument = tile_arena_format(&x->arena, "%%a: tensor<%s%s>", name, dims_text(x, s->from));
    return tile_arena_format(&x->arena,
                             "compute @f(%s) -> (%%r: tensor<%s%s>) {\n%s  %%r = %s\n}\n", argument,
                             name, to, s->steps ? s->steps : "", op);
}

static const char *kernel_text(text_fixture *x, const sample *s) {
    const char *name = tile_scalar_name(s->scalar), *to = dims_text(x, s->to);
    const char *argument = "", *load = "";
    const char *op = tile_arena_format(&x->arena, s->statement, "tile");
    if (s->from) {
        const char *from = dims_text(x, s->from);
        argument = tile_arena_format(&x->arena, "%%pa: ptr<%s>, ", name);
        load = tile_arena_format(&x->arena,
                                 "  %%ga = view %%pa, %s : view<%s%s>\n"
                                 "  %%a = load %%ga[%s] : tile<%s%s>\n",
                                 from, name, from, zeros_text(x, s->from), name, from);
    }
    return tile_arena_format(&x->arena,
                             "kernel @k(%s%%pr: ptr<%s>) grid [1] warps %u {\n%s%s  %%r = %s\n"
                             "  %%gr = view %%pr, %s : view<%s%s>\n  store %%r, %%gr[%s]\n}\n",
                             argument, name, s->warps, load, s->steps ? s->steps : "", op, to, name,
                             to, zeros_text(x, s->to));
}

static void run_compute(text_fixture *x, const sample *s, void *result) {
    tile_module *module = text_parse(x, compute_text(x, s));
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

static void run_kernel(text_fixture *x, const sample *s, unsigned level, void *result) {
    tile_module *module = text_parse(x, kernel_text(x, s));
    cr_assert(module, "%s", x->messages);
    tile_device_options options = {.size = sizeof options, .level = level};
    tile_device *device = NULL;
    tile_kernel *kernel = NULL;
    tile_argument arguments[2] = {{0}};
    unsigned count = 0;
    size_t size = tile_scalar_bytes(s->scalar), bytes = count_of(s->to) * size;
    cr_assert_eq(tile_device_create_cpu(x->context, &options, &device), TILE_OK);
    if (s->from) {
        size_t input = count_of(s->from) * size;
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

static void emit_ptx(text_fixture *x, const sample *s) {
    tile_module *module = text_parse(x, kernel_text(x, s));
    tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_90a")};
    tile_blob ptx = {NULL, 0};
    cr_expect_eq(tile_compile(module, "k", NULL, 0, &options, &ptx, NULL), TILE_OK, "%s",
                 x->messages);
    tile_blob_destroy(&ptx);
    tile_module_destroy(module);
}

/* wanted: the elements by the definition. */
static void check(text_fixture *x, const sample *s, const unsigned char *wanted) {
    unsigned char *got = malloc(MAX_BYTES);
    size_t size = tile_scalar_bytes(s->scalar), count = count_of(s->to);
    x->length = 0;
    for (unsigned level = 1; level <= 3; level++) {
        memset(got, 0xa5, count * size);
        if (level == 1)
            run_compute(x, s, got);
        else
            run_kernel(x, s, level, got);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(memcmp(wanted + i * size, got + i * size, size), 0,
                         "level %u, element %zu: %g, not %g, in\n%s", level, i,
                         tile_scalar_read(s->scalar, got + i * size),
                         tile_scalar_read(s->scalar, wanted + i * size), kernel_text(x, s));
    }
    free(got);
}

/* The coordinate of row-major element i along a dim. */
static int64_t coordinate(const shape *s, size_t i, unsigned axis) {
    for (unsigned d = s->rank; --d > axis;) i /= (size_t)s->dims[d];
    return (int64_t)(i % (size_t)s->dims[axis]);
}

static void check_iota(text_fixture *x, const shape *to, tile_scalar scalar, unsigned axis,
                       unsigned warps, int64_t start, int64_t step) {
    unsigned char *wanted = malloc(MAX_BYTES);
    size_t size = tile_scalar_bytes(scalar);
    sample s = {.to = to, .scalar = scalar, .warps = warps};
    s.statement = tile_arena_format(
        &x->arena, "iota {axis = %u, start = %lld, step = %lld} : %%s<%s%s>", axis,
        (long long)start, (long long)step, tile_scalar_name(scalar), dims_text(x, to));
    for (size_t i = 0; i < count_of(to); i++) {
        int64_t value = start + step * coordinate(to, i, axis);
        if (tile_scalar_is_floating(scalar))
            tile_scalar_write(scalar, wanted + i * size, (double)value);
        else
            tile_integer_write(scalar, wanted + i * size, value);
    }
    check(x, &s, wanted);
    if (axis == 0) emit_ptx(x, &s);
    free(wanted);
}

Test(shape, iota_of_all_shapes) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < SHAPE_COUNT; i++)
        for (unsigned axis = 0; axis < shapes[i].rank; axis++)
            check_iota(&x, &shapes[i], TILE_i32, axis, i % 2 ? 4 : 1, i % 3, 1 + i % 4);
    text_close(&x);
}

/* Integers wrap, floats round; an i64 is one also beyond i32. */
Test(shape, iota_of_all_types) {
    static const int64_t numbers[][2] = {{0, 1},  {-100, 3},   {5, 0},
                                         {7, -1}, {40000, 70}, {INT64_C(3) << 31, INT32_MIN}};
    static const shape row = {2, {3, 64}};
    text_fixture x;
    text_open(&x);
    for (unsigned scalar = TILE_i8; scalar < TILE_SCALAR_COUNT; scalar++)
        for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (tile_scalar_has_arithmetic((tile_scalar)scalar))
                check_iota(&x, &row, (tile_scalar)scalar, 1, 1, numbers[i][0], numbers[i][1]);
    text_close(&x);
}

/* What is repeated, and in what. */
typedef struct stretch {
    shape from, to;
} stretch;

static const stretch stretches[] = {{{1, {1}}, {1, {64}}},
                                    {{1, {1}}, {1, {192}}},
                                    {{1, {64}}, {1, {64}}},
                                    {{1, {24}}, {2, {10, 24}}},
                                    {{2, {64, 1}}, {2, {64, 64}}},
                                    {{2, {1, 64}}, {2, {64, 64}}},
                                    {{2, {1, 1}}, {2, {16, 192}}},
                                    {{2, {12, 1}}, {2, {12, 40}}},
                                    {{2, {1, 40}}, {2, {12, 40}}},
                                    {{2, {1, 192}}, {2, {1, 192}}},
                                    {{2, {1, 1}}, {2, {1, 192}}},
                                    {{2, {3, 1}}, {4, {2, 1, 3, 20}}},
                                    {{3, {3, 1, 8}}, {3, {3, 16, 8}}},
                                    {{3, {1, 6, 1}}, {3, {5, 6, 7}}},
                                    {{4, {1, 3, 1, 7}}, {4, {2, 3, 4, 7}}},
                                    {{1, {10}}, {6, {3, 2, 1, 4, 1, 10}}},
                                    {{6, {3, 1, 1, 4, 1, 1}}, {6, {3, 2, 1, 4, 5, 10}}},
                                    {{5, {1, 1, 1, 1, 1}}, {6, {2, 3, 2, 1, 3, 2}}}};

enum { STRETCH_COUNT = sizeof stretches / sizeof *stretches };

/* The element of the narrow shape that element i of the wide one repeats. */
static size_t repeated(const stretch *s, size_t i) {
    size_t at = 0;
    for (unsigned d = 0; d < s->from.rank; d++) {
        int64_t along = coordinate(&s->to, i, s->to.rank - s->from.rank + d);
        at = at * (size_t)s->from.dims[d] + (s->from.dims[d] == 1 ? 0 : (size_t)along);
    }
    return at;
}

static void check_broadcast(text_fixture *x, const stretch *t, tile_scalar scalar, unsigned warps) {
    unsigned char *wanted = malloc(MAX_BYTES), *input = malloc(MAX_BYTES);
    size_t size = tile_scalar_bytes(scalar);
    sample s = {.from = &t->from, .to = &t->to, .scalar = scalar, .warps = warps, .input = input};
    s.statement = tile_arena_format(&x->arena, "broadcast %%%%a : %%s<%s%s>",
                                    tile_scalar_name(scalar), dims_text(x, &t->to));
    for (size_t i = 0; i < count_of(&t->from); i++)
        tile_scalar_write(scalar, input + i * size, (double)(int)(i * 7 % 97) - 40);
    for (size_t i = 0; i < count_of(&t->to); i++)
        memcpy(wanted + i * size, input + repeated(t, i) * size, size);
    check(x, &s, wanted);
    if (scalar == TILE_f32) emit_ptx(x, &s);
    free(wanted);
    free(input);
}

Test(shape, broadcast_of_all_shapes) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < STRETCH_COUNT; i++) {
        check_broadcast(&x, &stretches[i], TILE_f32, 1);
        check_broadcast(&x, &stretches[i], TILE_f32, 8);
    }
    text_close(&x);
}

Test(shape, broadcast_of_all_types) {
    text_fixture x;
    text_open(&x);
    for (unsigned scalar = 1; scalar < TILE_barrier; scalar++)
        for (unsigned i = 5; i < 9; i++) check_broadcast(&x, &stretches[i], (tile_scalar)scalar, 4);
    text_close(&x);
}

/* Chains of operations that put elements in other places: a value and, of each of its elements,
 * which one of the input's it is. */
typedef struct arrangement {
    shape dims;
    const char *name;
    uint32_t *from;
} arrangement;

typedef struct chain {
    text_fixture *x;
    uint32_t state;
    const char *steps;
    unsigned names;
    bool powers; /* extents that are powers of two only */
} chain;

enum { CHAIN_ELEMENTS = 1 << 12 };

static uint32_t draw(chain *c, uint32_t below) {
    c->state = c->state * 1664525u + 1013904223u;
    return (c->state >> 8) % below;
}

static arrangement start(chain *c, const shape *dims) {
    arrangement a = {*dims, NULL, TILE_NEW_ARRAY(&c->x->arena, uint32_t, count_of(dims))};
    a.name = tile_arena_format(&c->x->arena, "%%v%u", c->names++);
    return a;
}

static void step(chain *c, const arrangement *to, const char *text) {
    c->steps = tile_arena_format(&c->x->arena, "%s  %s = %s\n", c->steps, to->name, text);
}

/* The element with these coordinates. */
static uint32_t *element(const arrangement *a, const int64_t *at) {
    size_t index = 0;
    for (unsigned d = 0; d < a->dims.rank; d++)
        index = index * (size_t)a->dims.dims[d] + (size_t)at[d];
    return &a->from[index];
}

static void coordinates_of(const shape *dims, size_t i, int64_t *at) {
    for (unsigned d = 0; d < dims->rank; d++) at[d] = coordinate(dims, i, d);
}

static arrangement chain_transpose(chain *c, const arrangement *a) {
    unsigned order[TILE_MAX_RANK], rank = a->dims.rank;
    const char *list = "";
    shape dims = {.rank = rank};
    bool plain = rank > 1 && draw(c, 3) == 0;
    for (unsigned d = 0; d < rank; d++) order[d] = d;
    for (unsigned d = rank; !plain && d-- > 1;) {
        unsigned other = draw(c, d + 1), was = order[d];
        order[d] = order[other];
        order[other] = was;
    }
    if (plain) order[rank - 1] = rank - 2, order[rank - 2] = rank - 1;
    for (unsigned d = 0; d < rank; d++) {
        dims.dims[d] = a->dims.dims[order[d]];
        list = tile_arena_format(&c->x->arena, "%s%s%u", list, d ? ", " : "", order[d]);
    }
    arrangement to = start(c, &dims);
    for (size_t i = 0; i < count_of(&dims); i++) {
        int64_t at[TILE_MAX_RANK], from[TILE_MAX_RANK];
        coordinates_of(&dims, i, at);
        for (unsigned d = 0; d < rank; d++) from[order[d]] = at[d];
        to.from[i] = *element(a, from);
    }
    step(c, &to,
         plain ? tile_arena_format(&c->x->arena, "transpose %s", a->name)
               : tile_arena_format(&c->x->arena, "transpose %s {order = [%s]}", a->name, list));
    return to;
}

static arrangement chain_reshape(chain *c, const arrangement *a) {
    static const int64_t primes[] = {2, 3, 5, 7};
    shape dims = {.rank = 1 + draw(c, TILE_MAX_RANK)};
    int64_t left = (int64_t)count_of(&a->dims);
    for (unsigned d = 0; d < dims.rank; d++) dims.dims[d] = 1;
    for (unsigned i = 0; i < 4; i++)
        for (; left % primes[i] == 0; left /= primes[i]) dims.dims[draw(c, dims.rank)] *= primes[i];
    dims.dims[draw(c, dims.rank)] *= left;
    arrangement to = start(c, &dims);
    memcpy(to.from, a->from, sizeof *to.from * count_of(&dims));
    step(c, &to,
         tile_arena_format(&c->x->arena, "reshape %s : %s", a->name, dims_text(c->x, &dims)));
    return to;
}

static arrangement chain_slice(chain *c, const arrangement *a) {
    shape dims = a->dims;
    int64_t first[TILE_MAX_RANK];
    const char *list = "";
    for (unsigned d = 0; d < dims.rank; d++) {
        int64_t parts = draw(c, 2) ? 1 : dims.dims[d] % 2 == 0 ? 2 : dims.dims[d] % 3 == 0 ? 3 : 1;
        dims.dims[d] /= parts;
        first[d] = dims.dims[d] * (int64_t)draw(c, (uint32_t)parts);
        list =
            tile_arena_format(&c->x->arena, "%s%s%lld", list, d ? ", " : "", (long long)first[d]);
    }
    arrangement to = start(c, &dims);
    for (size_t i = 0; i < count_of(&dims); i++) {
        int64_t at[TILE_MAX_RANK];
        coordinates_of(&dims, i, at);
        for (unsigned d = 0; d < dims.rank; d++) at[d] += first[d];
        to.from[i] = *element(a, at);
    }
    step(c, &to,
         tile_arena_format(&c->x->arena, "slice %s, [%s] : %s", a->name, list,
                           dims_text(c->x, &dims)));
    return to;
}

static void chain_split(chain *c, const arrangement *a, arrangement halves[2]) {
    shape dims = a->dims;
    dims.rank--;
    for (unsigned h = 0; h < 2; h++) {
        halves[h] = start(c, &dims);
        for (size_t i = 0; i < count_of(&dims); i++) halves[h].from[i] = a->from[2 * i + h];
    }
    c->steps = tile_arena_format(&c->x->arena, "%s  %s, %s = unjoin %s\n", c->steps, halves[0].name,
                                 halves[1].name, a->name);
}

static arrangement chain_join(chain *c, const arrangement *a, const arrangement *b) {
    shape dims = a->dims;
    dims.dims[dims.rank++] = 2;
    arrangement to = start(c, &dims);
    for (size_t i = 0; i < count_of(&dims); i++) to.from[i] = (i % 2 ? b : a)->from[i / 2];
    step(c, &to, tile_arena_format(&c->x->arena, "join %s, %s", a->name, b->name));
    return to;
}

static arrangement chain_concat(chain *c, const arrangement *a, const arrangement *b) {
    unsigned axis = draw(c, a->dims.rank), count = c->powers ? 2 : 2 + draw(c, 2);
    const arrangement *parts[] = {a, b, a};
    shape dims = a->dims;
    const char *list = "";
    dims.dims[axis] *= count;
    for (unsigned i = 0; i < count; i++)
        list = tile_arena_format(&c->x->arena, "%s%s%s", list, i ? ", " : "", parts[i]->name);
    arrangement to = start(c, &dims);
    for (size_t i = 0; i < count_of(&dims); i++) {
        int64_t at[TILE_MAX_RANK];
        coordinates_of(&dims, i, at);
        int64_t part = at[axis] / a->dims.dims[axis];
        at[axis] %= a->dims.dims[axis];
        to.from[i] = *element(parts[part], at);
    }
    step(c, &to, tile_arena_format(&c->x->arena, "concat %s {axis = %u}", list, axis));
    return to;
}

static bool is_in_chains(tile_opcode opcode) {
    return opcode == TILE_OP_transpose || opcode == TILE_OP_reshape || opcode == TILE_OP_slice ||
           opcode == TILE_OP_unjoin || opcode == TILE_OP_join;
}

/* Two values of one shape: halves, or the same one twice. */
static void chain_pair(chain *c, const arrangement *a, arrangement pair[2]) {
    unsigned rank = a->dims.rank;
    pair[0] = pair[1] = *a;
    if (rank > 1 && a->dims.dims[rank - 1] == 2)
        chain_split(c, a, pair);
    else if (draw(c, 2))
        pair[1] = chain_transpose(c, a);
    bool same = true;
    for (unsigned d = 0; d < pair[0].dims.rank; d++)
        same &= pair[0].dims.dims[d] == pair[1].dims.dims[d];
    if (!same) pair[1] = pair[0];
}

static arrangement chain_step(chain *c, const arrangement *a) {
    arrangement pair[2];
    size_t count = count_of(&a->dims);
    switch (draw(c, 6)) {
    case 0: return chain_transpose(c, a);
    case 1:
    case 2: return chain_reshape(c, a);
    case 3: return chain_slice(c, a);
    case 4:
        chain_pair(c, a, pair);
        if (pair[0].dims.rank == TILE_MAX_RANK || count > CHAIN_ELEMENTS / 2) return pair[1];
        return chain_join(c, &pair[1], &pair[0]);
    default:
        chain_pair(c, a, pair);
        return count > CHAIN_ELEMENTS / 3 ? pair[1] : chain_concat(c, &pair[0], &pair[1]);
    }
}

static bool has_tile(const shape *dims) {
    bool can = true;
    for (unsigned d = 0; d < dims->rank; d++) can &= tile_layout_admits_extent(dims->dims[d]);
    return can;
}

/* The next one whose shape a tile can have. */
static arrangement chain_on(chain *c, const arrangement *a) {
    const char *before = c->steps;
    arrangement to = chain_step(c, a);
    while (!has_tile(&to.dims)) {
        c->steps = before;
        to = chain_step(c, a);
    }
    return to;
}

static void check_chain(text_fixture *x, uint32_t seed, tile_scalar scalar, bool powers) {
    static const shape odd[] = {{2, {12, 20}}, {3, {2, 16, 5}},   {1, {192}},
                                {2, {64, 6}},  {4, {1, 3, 1, 7}}, {2, {48, 32}}};
    static const shape even[] = {{2, {64, 32}},     {1, {256}},   {3, {2, 16, 8}},
                                 {4, {2, 2, 4, 8}}, {2, {16, 2}}, {2, {4, 4}}};
    chain c = {.x = x, .state = seed * 2654435761u + 1, .steps = "", .powers = powers};
    unsigned which = draw(&c, 6), length = 1 + draw(&c, 5);
    const shape *from = powers ? &even[which] : &odd[which];
    unsigned char *wanted = malloc(MAX_BYTES), *input = malloc(MAX_BYTES);
    size_t size = tile_scalar_bytes(scalar);
    arrangement a = {*from, "%a", TILE_NEW_ARRAY(&x->arena, uint32_t, count_of(from))};
    for (size_t i = 0; i < count_of(from); i++) {
        a.from[i] = (uint32_t)i;
        tile_scalar_write(scalar, input + i * size, (double)(int)(i * 7 % 97) - 40);
    }
    for (unsigned i = 0; i < length; i++) a = chain_on(&c, &a);
    sample s = {.from = from, .to = &a.dims, .scalar = scalar, .input = input, .steps = c.steps};
    s.warps = 1u << draw(&c, 4);
    s.statement = tile_arena_format(&x->arena, "%%%s", a.name);
    for (size_t i = 0; i < count_of(&a.dims); i++)
        memcpy(wanted + i * size, input + a.from[i] * size, size);
    check(x, &s, wanted);
    if (seed % 8 == 0) emit_ptx(x, &s);
    free(wanted);
    free(input);
}

Test(shape, chains_of_powers_of_two) {
    static const tile_scalar scalars[] = {TILE_f32, TILE_f16,  TILE_i8,
                                          TILE_f64, TILE_bf16, TILE_i1};
    text_fixture x;
    for (uint32_t seed = 0; seed < 300; seed++) {
        text_open(&x);
        check_chain(&x, seed, scalars[seed % 6], true);
        text_close(&x);
    }
}

Test(shape, chains_of_any_extents) {
    static const tile_scalar scalars[] = {TILE_f32, TILE_f16,  TILE_i8,
                                          TILE_f64, TILE_e4m3, TILE_i64};
    text_fixture x;
    for (uint32_t seed = 0; seed < 300; seed++) {
        text_open(&x);
        check_chain(&x, 1000 + seed, scalars[seed % 6], false);
        text_close(&x);
    }
}

/* Indices that run along a dim and begin anew at the source's extent. */
static void check_gather(text_fixture *x, const shape *from, unsigned axis, unsigned along,
                         int64_t extent, const char *index, tile_scalar scalar, unsigned warps) {
    unsigned char *wanted = malloc(MAX_BYTES), *input = malloc(MAX_BYTES);
    size_t size = tile_scalar_bytes(scalar);
    shape to = *from;
    to.dims[axis] = extent;
    sample s = {.from = from, .to = &to, .scalar = scalar, .warps = warps, .input = input};
    s.statement = tile_arena_format(
        &x->arena,
        "gather(%%%%a, rem((iota(axis = %u, start = 5, step = 7) : %%s<%s%s>), %lld), axis = %u)",
        along, index, dims_text(x, &to), (long long)from->dims[axis], axis);
    for (size_t i = 0; i < count_of(from); i++)
        tile_scalar_write(scalar, input + i * size, (double)(int)(i * 7 % 97) - 40);
    for (size_t i = 0; i < count_of(&to); i++) {
        size_t at = 0;
        int64_t taken = (5 + 7 * coordinate(&to, i, along)) % from->dims[axis];
        for (unsigned d = 0; d < to.rank; d++)
            at = at * (size_t)from->dims[d] + (size_t)(d == axis ? taken : coordinate(&to, i, d));
        memcpy(wanted + i * size, input + at * size, size);
    }
    check(x, &s, wanted);
    if (scalar == TILE_f32 && warps == 4) emit_ptx(x, &s);
    free(wanted);
    free(input);
}

Test(shape, gather_of_all_shapes) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < SHAPE_COUNT; i++)
        for (unsigned axis = 0;
             axis<shapes[i].rank; axis += shapes[i].rank> 1 ? shapes[i].rank - 1 : 1) {
            unsigned other = (axis + 1) % shapes[i].rank;
            check_gather(&x, &shapes[i], axis, axis, 12, "i32", TILE_f32, 1);
            check_gather(&x, &shapes[i], axis, other, 8, "i64", TILE_f32, 4);
        }
    text_close(&x);
}

Test(shape, gather_of_all_types) {
    text_fixture x;
    text_open(&x);
    for (unsigned scalar = 1; scalar < TILE_barrier; scalar++)
        check_gather(&x, &shapes[6], 1, 0, 32, "i32", (tile_scalar)scalar, 4);
    text_close(&x);
}

/* Every row that levels 1 and 2 have stands in one of these tests, or in test_reduce.c or
 * test_rows.c. */
Test(shape, of_all_rows) {
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_op_get_info((tile_opcode)i)->levels == TILE_LEVELS_L12)
            cr_expect(i == TILE_OP_iota || i == TILE_OP_broadcast || i == TILE_OP_reduce ||
                          i == TILE_OP_gather || i == TILE_OP_reduce_arg || i == TILE_OP_scan ||
                          i == TILE_OP_sort || is_in_chains((tile_opcode)i),
                      "%s is not tested here", tile_op_get_info((tile_opcode)i)->name);
}

/* A layout whose registers and lanes share bits of a coordinate. */
Test(shape, iota_in_a_layout_of_its_own) {
    text_fixture x;
    text_open(&x);
    const char *text =
        "#turned = layout {reg = [[33]], lane = [[1], [3], [4], [9], [24]], warp = []}\n"
        "kernel @k(%pr: ptr<i32>) grid [1] warps 1 {\n"
        "  %r = iota {axis = 0, start = 1, step = 3} : tile<i32[64], #turned>\n"
        "  %s = alloc_shared : shared<i32[64]>\n"
        "  store_shared %r, %s\n"
        "  %t = load_shared %s : tile<i32[64]>\n"
        "  %gr = view %pr, [64] : view<i32[64]>\n  store %t, %gr[0]\n}\n";
    tile_module *module = text_parse(&x, text);
    cr_assert(module, "%s", x.messages);
    tile_device_options options = {.size = sizeof options, .level = 3};
    tile_device *device = NULL;
    tile_kernel *kernel = NULL;
    tile_argument argument = {0};
    int32_t got[64];
    cr_assert_eq(tile_device_create_cpu(x.context, &options, &device), TILE_OK);
    cr_assert_eq(tile_buffer_create(device, sizeof got, &argument.buffer), TILE_OK);
    cr_assert_eq(tile_kernel_create(device, module, "k", NULL, 0, &kernel), TILE_OK, "%s",
                 x.messages);
    cr_assert_eq(tile_kernel_launch(kernel, &argument, 1, NULL), TILE_OK, "%s", x.messages);
    cr_assert_eq(tile_buffer_read(argument.buffer, 0, got, sizeof got), TILE_OK);
    for (int i = 0; i < 64; i++) cr_expect_eq(got[i], 1 + 3 * i, "[%d] is %d", i, got[i]);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(argument.buffer);
    tile_device_destroy(device);
    tile_module_destroy(module);
    text_close(&x);
}
