/* Operations on whole rows: reduce_arg, scan and sort, at level 1, at levels 2 and 3 on the CPU
 * device and by definition, for all axes, element types and layouts. */
#include <math.h>

#include "lib/ops/kinds.h"
#include "test/unit/axis_fixture.h"

static const axis_shape shapes[] = {
    {1, {64}},         {1, {1}},
    {1, {192}},        {1, {31}},
    {2, {1, 192}},     {2, {16, 1}},
    {2, {12, 20}},     {2, {64, 64}},
    {2, {1, 2048}},    {2, {128, 16}},
    {3, {3, 1, 40}},   {3, {2, 16, 5}},
    {4, {2, 2, 4, 8}}, {5, {2, 1, 3, 1, 4}},
};

enum { SHAPE_COUNT = sizeof shapes / sizeof *shapes, MAX_COUNT = 4096 };

static char input[MAX_COUNT * sizeof(double)];
static char wanted[2][MAX_COUNT * sizeof(double)];
static void *const results[] = {wanted[0], wanted[1]};

static void write(tile_scalar scalar, void *at, int64_t value) {
    if (tile_scalar_is_floating(scalar))
        tile_scalar_write(scalar, at, (double)value);
    else
        tile_integer_write(scalar, at, value);
}

static int64_t number(size_t i, int64_t most) {
    if (most == 1) return i * 2654435761u >> 9 & 1 ? 1 : -1;
    return (int64_t)((uint32_t)(i * 2654435761u) >> 9) % (2 * most + 1) - most;
}

/* most: numbers are from -most to most. */
static void fill(const axis_sample *s, int64_t most) {
    size_t size = tile_scalar_bytes(s->scalar);
    for (size_t i = 0; i < axis_count(&s->from); i++)
        write(s->scalar, input + i * size, number(i, most));
}

/* Returns the position of element i of row r. */
static size_t index_of(const axis_sample *s, unsigned axis, size_t r, size_t i) {
    size_t inner = 1;
    for (unsigned d = axis + 1; d < s->from.rank; d++) inner *= (size_t)s->from.dims[d];
    return r / inner * (size_t)s->from.dims[axis] * inner + r % inner + i * inner;
}

static size_t row_count(const axis_sample *s, unsigned axis) {
    return axis_count(&s->from) / (size_t)s->from.dims[axis];
}

static void start(axis_sample *s, unsigned axis) {
    (void)axis;
    s->to = s->from;
    s->results = 1;
    s->scalars[0] = s->scalar;
    s->input = input;
}

/* The numbers are elements of the type. */
static bool is_less(tile_scalar scalar, int64_t a, int64_t b) {
    a = axis_number(scalar, a);
    b = axis_number(scalar, b);
    return tile_scalar_is_unsigned(scalar) ? (uint64_t)a < (uint64_t)b : a < b;
}

static void check_arg(text_fixture *x, axis_sample *s, bool most, unsigned axis) {
    size_t extent = (size_t)s->from.dims[axis], size = tile_scalar_bytes(s->scalar);
    start(s, axis);
    s->op =
        tile_arena_format(&x->arena, "reduce_arg_%s %%a {axis = %u}", most ? "max" : "min", axis);
    s->results = 2;
    s->scalars[1] = TILE_i32;
    s->to.dims[axis] = 1;
    fill(s, 40);
    for (size_t r = 0; r < row_count(s, axis); r++) {
        size_t best = 0;
        for (size_t i = 1; i < extent; i++) {
            int64_t a = number(index_of(s, axis, r, best), 40),
                    b = number(index_of(s, axis, r, i), 40);
            if (most ? is_less(s->scalar, a, b) : is_less(s->scalar, b, a)) best = i;
        }
        write(s->scalar, wanted[0] + r * size, number(index_of(s, axis, r, best), 40));
        write(TILE_i32, wanted[1] + r * sizeof(int32_t), (int64_t)best);
    }
    axis_check(x, s, axis_first_level(s), results);
}

static int64_t combine(tile_word kind, tile_scalar scalar, int64_t a, int64_t b) {
    int64_t result = 0;
    const tile_arith_flags none = {.nan = false};
    tile_fold_element(tile_kind_opcode(kind), scalar, none, a, b, 0, &result);
    return result;
}

typedef struct scan_case {
    const char *name;
    tile_word kind;
    bool reverse, exclusive;
} scan_case;

static const scan_case scans[] = {
    {"add", TILE_WORD_kind_add, false, false}, {"add", TILE_WORD_kind_add, true, true},
    {"max", TILE_WORD_kind_max, true, false},  {"add", TILE_WORD_kind_add, false, true},
    {"min", TILE_WORD_kind_min, false, false}, {"xor", TILE_WORD_kind_xor, true, false},
    {"mul", TILE_WORD_kind_mul, false, true},  {"or", TILE_WORD_kind_or, false, false}};

enum { SCAN_COUNT = sizeof scans / sizeof *scans };

static void check_scan(text_fixture *x, axis_sample *s, const scan_case *scan, unsigned axis) {
    size_t extent = (size_t)s->from.dims[axis], size = tile_scalar_bytes(s->scalar);
    bool floats = tile_scalar_is_floating(s->scalar);
    start(s, axis);
    s->op =
        tile_arena_format(&x->arena, "scan_%s %%a {axis = %u%s%s}", scan->name, axis,
                          scan->reverse ? ", reverse" : "", scan->exclusive ? ", exclusive" : "");
    fill(s, scan->kind == TILE_WORD_kind_mul ? 1 : 3);
    for (size_t r = 0; r < row_count(s, axis); r++) {
        bool first = true;
        int64_t sum = tile_kind_integer_identity(scan->kind, s->scalar);
        for (size_t i = 0; i < extent; i++) {
            size_t at = index_of(s, axis, r, scan->reverse ? extent - 1 - i : i);
            int64_t own = number(at, scan->kind == TILE_WORD_kind_mul ? 1 : 3);
            int64_t next = axis_number(
                s->scalar, combine(scan->kind, s->scalar, sum, axis_number(s->scalar, own)));
            if (floats && first && scan->kind != TILE_WORD_kind_add &&
                scan->kind != TILE_WORD_kind_mul)
                next = own; /* after an infinity */
            if (scan->exclusive && floats && first)
                tile_scalar_write(s->scalar, wanted[0] + at * size, tile_kind_identity(scan->kind));
            else
                write(s->scalar, wanted[0] + at * size, scan->exclusive ? sum : next);
            sum = next;
            first = false;
        }
    }
    axis_check(x, s, axis_first_level(s), results);
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int by_unsigned(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void check_sort(text_fixture *x, axis_sample *s, bool falling, unsigned axis) {
    static int64_t row[MAX_COUNT];
    size_t extent = (size_t)s->from.dims[axis], size = tile_scalar_bytes(s->scalar);
    start(s, axis);
    s->op =
        tile_arena_format(&x->arena, "sort %%a {axis = %u%s}", axis, falling ? ", descending" : "");
    fill(s, 100);
    for (size_t r = 0; r < row_count(s, axis); r++) {
        for (size_t i = 0; i < extent; i++)
            row[i] = axis_number(s->scalar, number(index_of(s, axis, r, i), 100));
        qsort(row, extent, sizeof *row,
              tile_scalar_is_unsigned(s->scalar) ? by_unsigned : by_number);
        for (size_t i = 0; i < extent; i++)
            write(s->scalar, wanted[0] + index_of(s, axis, r, falling ? extent - 1 - i : i) * size,
                  row[i]);
    }
    axis_check(x, s, axis_first_level(s), results);
}

Test(rows, arg_of_all_shapes, .timeout = 300) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < SHAPE_COUNT; i++)
        for (unsigned axis = 0; axis < shapes[i].rank; axis++)
            for (unsigned warps = 1; warps <= 8; warps *= 2) {
                axis_sample s = {.from = shapes[i], .warps = warps};
                s.scalar = warps % 3 ? TILE_f32 : TILE_i32;
                check_arg(&x, &s, (i + warps) % 3 != 0, axis);
                if (warps == 4) axis_emit_ptx(&x, &s);
            }
    text_close(&x);
}

Test(rows, scan_of_all_shapes, .timeout = 300) {
    text_fixture x;
    text_open(&x);
    unsigned k = 0;
    for (unsigned i = 0; i < SHAPE_COUNT; i++)
        for (unsigned axis = 0; axis < shapes[i].rank; axis++)
            for (unsigned warps = 1; warps <= 8; warps *= 2)
                for (unsigned n = 0; n < 2; n++, k++) {
                    axis_sample s = {.from = shapes[i], .warps = warps, .scalar = TILE_i32};
                    check_scan(&x, &s, &scans[k % SCAN_COUNT], axis);
                    if (warps == 4 && !n) axis_emit_ptx(&x, &s);
                }
    text_close(&x);
}

Test(rows, sort_of_all_shapes, .timeout = 300) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < SHAPE_COUNT; i++)
        for (unsigned axis = 0; axis < shapes[i].rank; axis++)
            for (unsigned warps = 1; warps <= 8; warps *= 2) {
                axis_sample s = {.from = shapes[i], .warps = warps};
                s.scalar = (i + axis) % 2 ? TILE_f32 : TILE_i32;
                check_sort(&x, &s, (i + warps) % 3 == 0, axis);
                if (warps == 4 && i < 7) axis_emit_ptx(&x, &s);
            }
    text_close(&x);
}

Test(rows, all_types, .timeout = 300) {
    static const unsigned some[] = {2, 6, 7};
    text_fixture x;
    text_open(&x);
    for (unsigned scalar = 1; scalar < TILE_SCALAR_COUNT; scalar++) {
        if (!tile_scalar_has_arithmetic((tile_scalar)scalar)) continue;
        for (unsigned i = 0; i < 3; i++) {
            axis_sample s = {.from = shapes[some[i]], .warps = 4, .scalar = (tile_scalar)scalar};
            unsigned axis = i % s.from.rank;
            for (unsigned k = 0; k < SCAN_COUNT; k++)
                if (tile_kind_combines(scans[k].kind, (tile_scalar)scalar))
                    check_scan(&x, &s, &scans[k], axis);
            if (scalar == TILE_i1) continue;
            check_arg(&x, &s, i, axis);
            check_sort(&x, &s, i % 2, axis);
            axis_emit_ptx(&x, &s);
        }
    }
    text_close(&x);
}

/* Layouts in which the rows must first be converted. */
Test(rows, random_layouts, .timeout = 300) {
    static const axis_shape squares[] = {{2, {32, 32}},   {2, {4, 64}},    {2, {128, 8}},
                                         {2, {2, 8}},     {3, {4, 8, 16}}, {1, {256}},
                                         {3, {1, 64, 16}}};
    text_fixture x;
    text_open(&x);
    uint64_t seed = 7;
    for (unsigned round = 0; round < 60; round++) {
        unsigned warp_bits = round % 4;
        axis_sample s = {.from = squares[round % 7], .scalar = TILE_i32, .warps = 1u << warp_bits};
        unsigned axis = round % s.from.rank;
        s.layout = axis_random_layout(&x, &s.from, warp_bits, &seed);
        check_arg(&x, &s, round % 2, axis);
        check_scan(&x, &s, &scans[round % SCAN_COUNT], axis);
        check_sort(&x, &s, round % 2, axis);
    }
    text_close(&x);
}

/* NaN loses everywhere except in the sort order. */
Test(rows, nan) {
    text_fixture x;
    text_open(&x);
    const float values[8] = {NAN, 3, -1, 3, NAN, NAN, NAN, NAN};
    float got[8];
    int32_t places[2];
    void *out[] = {got, places};
    axis_sample s = {.op = "reduce_arg_max %a {axis = 1}",
                     .from = {2, {2, 4}},
                     .to = {2, {2, 1}},
                     .scalar = TILE_f32,
                     .results = 2,
                     .scalars = {TILE_f32, TILE_i32},
                     .warps = 1,
                     .input = values};
    for (unsigned level = 1; level <= 3; level++) {
        level == 1 ? axis_run_compute(&x, &s, out) : axis_run_kernel(&x, &s, level, out);
        cr_expect(got[0] == 3 && places[0] == 1 && isnan(got[1]) && places[1] == 0, "level %u",
                  level);
    }
    s = (axis_sample){.op = "sort %a {axis = 1}",
                      .from = {2, {2, 4}},
                      .to = {2, {2, 4}},
                      .scalar = TILE_f32,
                      .results = 1,
                      .scalars = {TILE_f32},
                      .warps = 1,
                      .input = values};
    for (unsigned level = 1; level <= 3; level++) {
        level == 1 ? axis_run_compute(&x, &s, out) : axis_run_kernel(&x, &s, level, out);
        cr_expect(got[0] == -1 && got[1] == 3 && got[2] == 3 && isnan(got[3]) && isnan(got[4]),
                  "level %u", level);
    }
    text_close(&x);
}
