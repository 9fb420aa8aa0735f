/* Reductions: the same at level 1, at levels 2 and 3 on the CPU device and by definition, for all
 * kinds, element types and axes, and with any layout of the tile. */
#include <math.h>

#include "lib/layout/layout.h"
#include "lib/layout/reduce.h"
#include "lib/ops/kinds.h"
#include "test/unit/axis_fixture.h"

static const axis_shape shapes[] = {
    {1, {64}},         {1, {1}},          {1, {192}},           {1, {31}},
    {2, {1, 192}},     {2, {16, 1}},      {2, {12, 20}},        {2, {64, 64}},
    {2, {1, 4096}},    {2, {128, 16}},    {3, {3, 1, 40}},      {3, {2, 16, 5}},
    {4, {1, 3, 1, 7}}, {4, {2, 2, 4, 8}}, {5, {2, 1, 3, 1, 4}}, {6, {3, 2, 1, 4, 1, 10}},
};

enum { SHAPE_COUNT = sizeof shapes / sizeof *shapes, MAX_COUNT = 4096 };

static const struct {
    const char *name;
    tile_word kind;
} kinds[] = {{"add", TILE_WORD_kind_add}, {"mul", TILE_WORD_kind_mul}, {"min", TILE_WORD_kind_min},
             {"max", TILE_WORD_kind_max}, {"and", TILE_WORD_kind_and}, {"or", TILE_WORD_kind_or},
             {"xor", TILE_WORD_kind_xor}};

enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static void write(tile_scalar scalar, void *at, int64_t value) {
    if (tile_scalar_is_floating(scalar))
        tile_scalar_write(scalar, at, (double)value);
    else
        tile_integer_write(scalar, at, value);
}

/* Numbers whose sums and products are exact in every type, or wrap. */
static int64_t number(tile_word kind, size_t i) {
    int64_t any = (int64_t)(i * 2654435761u >> 7 & 0xffff);
    if (kind == TILE_WORD_kind_mul) return any % 16 ? 1 - 2 * (any & 1) : 2;
    return kind == TILE_WORD_kind_add ? any % 7 - 3 : any % 251 - 125;
}

static int64_t combine(tile_word kind, tile_scalar scalar, int64_t a, int64_t b) {
    int64_t result = 0;
    const tile_arith_flags none = {.nan = false};
    tile_fold_element(tile_kind_opcode(kind), scalar, none, a, b, 0, &result);
    return result;
}

static void define(const axis_sample *s, tile_word kind, unsigned axis, void *wanted) {
    size_t inner = 1, size = tile_scalar_bytes(s->scalar), extent = (size_t)s->from.dims[axis];
    for (unsigned d = axis + 1; d < s->from.rank; d++) inner *= (size_t)s->from.dims[d];
    for (size_t row = 0; row < axis_count(&s->to); row++) {
        size_t first = row / inner * extent * inner + row % inner;
        int64_t sum = 0;
        for (size_t i = 0; i < extent; i++) {
            int64_t one = axis_number(s->scalar, number(kind, first + i * inner));
            sum = i ? axis_number(s->scalar, combine(kind, s->scalar, sum, one)) : one;
        }
        write(s->scalar, (char *)wanted + row * size, sum);
    }
}

static void check_kind(text_fixture *x, axis_sample *s, unsigned k, unsigned axis, bool emits) {
    static char input[MAX_COUNT * sizeof(double)], wanted[MAX_COUNT * sizeof(double)];
    void *results[] = {wanted};
    size_t size = tile_scalar_bytes(s->scalar), count = axis_count(&s->from);
    for (size_t i = 0; i < count; i++) write(s->scalar, input + i * size, number(kinds[k].kind, i));
    s->op = tile_arena_format(&x->arena, "reduce_%s(%%a, axis = %u)", kinds[k].name, axis);
    s->to = s->from;
    s->to.dims[axis] = 1;
    s->results = 1;
    s->scalars[0] = s->scalar;
    s->input = input;
    define(s, kinds[k].kind, axis, wanted);
    axis_check(x, s, axis_first_level(s), results);
    if (emits) axis_emit_ptx(x, s);
}

Test(reduce, all_shapes_and_axes, .timeout = 300) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < SHAPE_COUNT; i++)
        for (unsigned axis = 0; axis < shapes[i].rank; axis++)
            for (unsigned warps = 1; warps <= 8; warps *= 2) {
                axis_sample s = {.from = shapes[i], .scalar = TILE_f32, .warps = warps};
                check_kind(&x, &s, 0, axis, warps == 4);
                s.scalar = TILE_i32;
                check_kind(&x, &s, 6, axis, false);
            }
    text_close(&x);
}

Test(reduce, all_types_and_kinds, .timeout = 300) {
    static const unsigned some[] = {2, 6, 7, 11};
    text_fixture x;
    text_open(&x);
    for (unsigned scalar = 1; scalar < TILE_SCALAR_COUNT; scalar++)
        for (unsigned k = 0; k < KIND_COUNT; k++) {
            if (!tile_kind_combines(kinds[k].kind, (tile_scalar)scalar)) continue;
            for (unsigned i = 0; i < sizeof some / sizeof *some; i++) {
                axis_sample s = {.from = shapes[some[i]],
                                 .scalar = (tile_scalar)scalar,
                                 .warps = 1 + 3 * (i % 2)};
                check_kind(&x, &s, k, i % s.from.rank, i == 2);
            }
        }
    text_close(&x);
}

/* Registers, lanes and warps that share coordinate bits, copies, rows held by several warps. */
Test(reduce, random_layouts, .timeout = 300) {
    static const axis_shape squares[] = {{2, {32, 32}},   {2, {4, 64}},    {2, {128, 8}},
                                         {2, {2, 8}},     {3, {4, 8, 16}}, {1, {256}},
                                         {3, {1, 64, 16}}};
    text_fixture x;
    text_open(&x);
    uint64_t seed = 1;
    for (unsigned round = 0; round < 150; round++) {
        unsigned warp_bits = round % 4;
        axis_sample s = {.from = squares[round % 7],
                         .scalar = round % 3 ? TILE_i32 : TILE_f32,
                         .warps = 1u << warp_bits};
        s.layout = axis_random_layout(&x, &s.from, warp_bits, &seed);
        check_kind(&x, &s, round % 3 == 1 ? 6 : 0, round % s.from.rank, round % 16 == 0);
    }
    text_close(&x);
}

/* Draws a layout of [8, 64] for 2 warps, in which some lanes hold the same elements, in any order.
 * Only some of these layouts are valid. */
static tile_layout draw_layout(uint64_t *seed) {
    const uint32_t dims[] = {8, 64};
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 2);
    layout.reg_bits = 4;
    layout.warp_bits = 1;
    for (unsigned i = 0; i < 10; i++) {
        uint32_t *bits = i < 4 ? &layout.reg[i] : i < 9 ? &layout.lane[i - 4] : &layout.warp[i - 9];
        *bits = UINT32_C(1) << axis_random(seed) % 9;
        if (axis_random(seed) % 4 == 0) *bits ^= UINT32_C(1) << axis_random(seed) % 9;
    }
    return layout;
}

/* Lists the elements along the row that a thread combines for its first result, in order. */
static void list_steps(const tile_reduce_plan *plan, uint32_t thread, uint32_t row[16]) {
    for (uint32_t step = 0; step < 1u << plan->own_steps; step++)
        row[step] = tile_layout_apply(&plan->source, tile_reduce_register(plan, 0, step, 0),
                                      thread % 32, thread / 32);
}

static bool same_elements(const uint32_t *a, const uint32_t *b, unsigned count) {
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count; k++) found += a[i] == b[k];
    return found == count;
}

/* Threads that combine the same elements do so in the same order. Without that rule some would
 * not. */
Test(reduce, holders_keep_the_order) {
    unsigned in_order = 0, others = 0, differing = 0;
    uint64_t seed = 1;
    for (unsigned round = 0; round < 400000; round++) {
        tile_layout layout = draw_layout(&seed);
        if (tile_layout_find_fault(&layout)) continue;
        tile_reduce_plan plan = tile_reduce_make_plan(&layout, round % 2);
        unsigned steps = 1u << plan.own_steps;
        bool differs = false;
        uint32_t rows[64][16];
        for (uint32_t t = 0; t < 64; t++) list_steps(&plan, t, rows[t]);
        for (uint32_t t = 1; t < 64; t++)
            for (uint32_t u = 0; u < t; u++)
                differs |= same_elements(rows[t], rows[u], steps) &&
                           memcmp(rows[t], rows[u], steps * sizeof **rows) != 0;
        bool ordered = tile_reduce_in_order(&plan);
        in_order += ordered;
        others += !ordered;
        differing += differs;
        cr_assert(!(ordered && differs), "round %u", round);
    }
    cr_assert(in_order > 20 && others > 20 && differing > 5, "%u %u %u", in_order, others,
              differing);
}

/* As ops.def specifies for NaN, and for sums of f16 with intermediate values beyond f16. */
Test(reduce, nan_and_rounding) {
    text_fixture x;
    text_open(&x);
    float values[8] = {NAN, 3, -1, NAN, NAN, NAN, NAN, NAN};
    float most[2] = {3, NAN};
    void *wanted[] = {most};
    axis_sample s = {.op = "reduce_max(%a, axis = 1)",
                     .from = {2, {2, 4}},
                     .to = {2, {2, 1}},
                     .scalar = TILE_f32,
                     .results = 1,
                     .scalars = {TILE_f32},
                     .warps = 1,
                     .input = values};
    float got[2];
    void *results[] = {got};
    for (unsigned level = 1; level <= 3; level++) {
        if (level == 1)
            axis_run_compute(&x, &s, results);
        else
            axis_run_kernel(&x, &s, level, results);
        cr_expect(got[0] == 3 && isnan(got[1]), "level %u: %g %g", level, got[0], got[1]);
    }
    uint16_t halves[4], sum;
    const double numbers[] = {65504, 65504, -65504, 1};
    for (unsigned i = 0; i < 4; i++) tile_scalar_write(TILE_f16, &halves[i], numbers[i]);
    tile_scalar_write(TILE_f16, &sum, 65504);
    wanted[0] = &sum;
    s = (axis_sample){.op = "reduce_add(%a, axis = 0)",
                      .from = {1, {4}},
                      .to = {1, {1}},
                      .scalar = TILE_f16,
                      .results = 1,
                      .scalars = {TILE_f16},
                      .warps = 1,
                      .input = halves};
    axis_check(&x, &s, 1, wanted);
    text_close(&x);
}
