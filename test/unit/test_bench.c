/* tile-bench: times, shapes, attention and products. Its reports: test_bench_report.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/attention/pages.h"
#include "tools/tile-bench/attention/reference.h"
#include "tools/tile-bench/common/floats.h"
#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/common/threads.h"
#include "tools/tile-bench/measure/problem.h"
#include "tools/tile-bench/measure/shapes.h"

/* Statistics ---------------------------------------------------------------------------------- */

Test(bench, summary_of_an_odd_number) {
    double times[] = {5, 1, 4, 2, 3};
    bench_summary s = bench_summarize(times, 5);
    cr_assert(s.count == 5 && s.least == 1 && s.median == 3 && s.most == 5);
    cr_assert(s.spread == 1, "quartiles 2 and 4, not %g apart", 2 * s.spread);
}

Test(bench, summary_of_an_even_number) {
    double times[] = {4, 1, 2, 3};
    bench_summary s = bench_summarize(times, 4);
    cr_assert(s.median == 2.5, "%g", s.median);
    cr_assert(s.spread == 0.75, "quartiles 1.75 and 3.25, not %g apart", 2 * s.spread);
}

Test(bench, summary_of_one_and_of_none) {
    double time = 7;
    bench_summary s = bench_summarize(&time, 1);
    cr_assert(s.least == 7 && s.median == 7 && s.most == 7 && s.spread == 0);
    cr_assert(bench_summarize(NULL, 0).count == 0);
}

Test(bench, outliers_move_neither_median_nor_spread) {
    double times[] = {10, 11, 12, 13, 1e9};
    bench_summary s = bench_summarize(times, 5);
    cr_assert(s.median == 12 && s.spread == 1);
}

Test(bench, shuffles_are_permutations_and_all_come) {
    enum { COUNT = 4, ALL = 24 };
    bool seen[256] = {false};
    uint64_t state = 1;
    unsigned different = 0;
    for (int round = 0; round < 1000; round++) {
        unsigned order[COUNT], set = 0, code = 0;
        bench_shuffle(order, COUNT, &state);
        for (int i = 0; i < COUNT; i++) {
            set |= 1u << order[i];
            code = code * 4 + order[i];
        }
        cr_assert(set == (1u << COUNT) - 1);
        different += !seen[code];
        seen[code] = true;
    }
    cr_assert(different == ALL, "%u of %d orders", different, ALL);
}

/* Shapes -------------------------------------------------------------------------------------- */

Test(bench, all_lists_of_shapes_are_read) {
    static const char *const names[] = {"splitk", "skinny", "deep", "square", "odd", "tiny"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bench_shapes shapes = {.form = &bench_product_shapes};
        cr_assert(bench_shapes_add_list(&shapes, names[i]), "%s", names[i]);
        cr_assert(shapes.count >= 3, "%s", names[i]);
        free(shapes.shapes);
    }
}

Test(bench, all_lists_of_shapes_of_attention_are_read) {
    for (const bench_shape_list *list = bench_attention_shapes.lists; list->name; list++) {
        bench_shapes shapes = {.form = &bench_attention_shapes};
        cr_assert(bench_shapes_add_list(&shapes, list->name), "%s", list->name);
        for (size_t i = 0; i < shapes.count; i++)
            cr_assert(shapes.shapes[i][1] % shapes.shapes[i][2] == 0, "%s", list->name);
        free(shapes.shapes);
    }
}

Test(bench, a_word_behind_a_shape) {
    bench_shapes shapes = {.form = &bench_attention_shapes};
    cr_assert(bench_shapes_add(&shapes, "1,2,1,4,5,64") &&
              bench_shapes_add(&shapes, "1,2,1,4,5,64,causal"));
    cr_assert(shapes.shapes[0][6] == 0 && shapes.shapes[1][6] == 1 && shapes.shapes[1][5] == 64);
    free(shapes.shapes);
}

/* Attention ----------------------------------------------------------------------------------- */

static bench_attention make_attention(const char *type) {
    return (bench_attention){.batch = 2,
                             .heads = 4,
                             .groups = 2,
                             .m = 10,
                             .n = 10,
                             .d = 32,
                             .type = bench_type_find(type)};
}

/* Half of a square, as is customary; the visible part of a rectangle. */
Test(bench, sizes_of_attention) {
    bench_attention a = make_attention("bf16");
    double full = 4.0 * 2 * 4 * 10 * 10 * 32;
    cr_assert(bench_attention_flop(&a) == full);
    a.causal = true;
    cr_assert(bench_attention_flop(&a) == full / 2);
    a.n = 15;
    cr_assert(bench_attention_flop(&a) == full);
    cr_assert(bench_attention_read_bytes(&a) == 2.0 * 2 * 32 * (4 * 10 + 2 * 2 * 15));
    a.n = 5;
    cr_assert(bench_attention_flop(&a) == full / 8);
    cr_assert(bench_attention_write_bytes(&a) == 2.0 * 2 * 32 * 4 * 10);
}

static void write_value(const bench_attention *a, void *o, size_t index, double value) {
    tile_scalar scalar = a->type->result;
    tile_scalar_write(scalar, (char *)o + index * tile_scalar_bytes(scalar), value);
}

/* If all keys are equal, attention is the mean of v, which is computed here. Errors up to half a
 * step of the result's type pass; larger changes of one element and NaN are detected. */
static void check_means(const char *type) {
    bench_attention a = make_attention(type);
    tile_scalar operand = a.type->operand, result = a.type->result;
    size_t keys = (size_t)(a.n * a.d), count = (size_t)(a.batch * a.heads * a.m * a.d);
    bench_pattern *pattern = bench_pattern_create(a.type);
    char *v = malloc(keys * tile_scalar_bytes(operand)), *o = malloc(count * 4);
    bench_error error;
    for (int64_t head = 0; head < a.batch * a.heads; head++) {
        int64_t group = head / a.heads * a.groups + head % a.heads / 2;
        bench_attention_fill(&a, pattern, BENCH_INPUTS_equal, 2, group * a.n * a.d, keys, v);
        for (int64_t i = 0; i < a.m * a.d; i++) {
            double sum = 0;
            for (int64_t j = 0; j < a.n; j++)
                sum += tile_scalar_read(operand, v + (size_t)(j * a.d + i % a.d) *
                                                         tile_scalar_bytes(operand));
            write_value(&a, o, (size_t)(head * a.m * a.d + i), sum / (double)a.n);
        }
    }
    bench_reference *reference = bench_reference_create(&a, pattern, BENCH_INPUTS_equal);
    bench_reference_compare(reference, o, &error);
    cr_assert(error.all && !*error.wrong && error.share < 1, "%s: %s", type, error.wrong);
    cr_assert(error.norm <= ldexp(1, -(int)tile_scalar_mantissa(result) - 1), "%g", error.norm);
    write_value(&a, o, 37, 0.75);
    bench_reference_compare(reference, o, &error);
    cr_assert(strstr(error.wrong, "equal: element [0, 0, 1, 5] is 0.75") == error.wrong, "%s",
              error.wrong);
    write_value(&a, o, count - 1, NAN);
    bench_reference_compare(reference, o, &error);
    cr_assert_str_eq(error.wrong, "equal: element [1, 3, 9, 31] is NaN");
    free(v);
    free(o);
    bench_reference_destroy(reference);
    bench_pattern_destroy(pattern);
}

Test(bench, attention_is_compared_with_means) {
    static const char *const types[] = {"f16", "bf16"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) check_means(types[i]);
}

/* For every kind of input, an array is the same when it is generated whole or in pieces. */
Test(bench, inputs_are_the_same_in_pieces) {
    enum { COUNT = 2 * 2 * 10 * 32 };
    bench_attention a = make_attention("f16");
    bench_pattern *pattern = bench_pattern_create(a.type);
    for (unsigned inputs = 0; bench_inputs_name(inputs); inputs++)
        for (unsigned array = 1; array < 3; array++) {
            uint16_t whole[COUNT], pieces[COUNT];
            bench_inputs found;
            cr_assert(bench_inputs_find(bench_inputs_name(inputs), &found) && found == inputs);
            bench_attention_fill(&a, pattern, found, array, 0, COUNT, whole);
            for (int at = 0; at < COUNT; at += 7)
                bench_attention_fill(&a, pattern, found, array, at,
                                     COUNT - at < 7 ? (size_t)(COUNT - at) : 7, pieces + at);
            cr_assert(memcmp(whole, pieces, sizeof whole) == 0, "%s", bench_inputs_name(inputs));
        }
    bench_pattern_destroy(pattern);
}

/* Each element is determined by its position, even if several threads generate the array. */
Test(bench, large_inputs_are_made_of_their_places) {
    bench_attention a = make_attention("bf16");
    a.m = 3001;
    a.n = 2500;
    bench_pattern *pattern = bench_pattern_create(a.type);
    for (unsigned array = 0; array < 3; array++) {
        int64_t rows = array ? a.n : a.m, count = 2 * (array ? a.groups : a.heads) * rows * a.d;
        uint16_t *all = malloc((size_t)count * sizeof *all);
        const float *numbers = bench_pattern_numbers(pattern, array);
        bench_attention_fill(&a, pattern, BENCH_INPUTS_late, array, 0, (size_t)count, all);
        for (int64_t i = 0; i < count; i++) {
            float factor = bench_attention_factor(&a, BENCH_INPUTS_late, array, i / a.d % rows);
            uint16_t wanted;
            tile_scalar_write(TILE_bf16, &wanted, factor * numbers[i % BENCH_PATTERN_COUNT]);
            cr_assert(all[i] == wanted, "array %u, element %lld", array, (long long)i);
        }
        free(all);
    }
    bench_pattern_destroy(pattern);
}

/* Each page belongs to one entry of the table and has its keys. After the last key of a batch there
 * are NaNs. */
static void check_pages(const bench_attention *a, const bench_pattern *pattern) {
    int64_t pages = bench_pages_count(a), each = bench_pages_each(a), row = a->groups * a->d;
    int32_t *table = bench_pages_table(a);
    uint16_t *paged = malloc((size_t)(pages * a->page * row) * 2),
             *plain = malloc((size_t)a->d * 2);
    bool *seen = calloc((size_t)pages, 1);
    /* In two parts, as for large arrays. */
    bench_pages_fill(a, pattern, BENCH_INPUTS_late, 1, 0, 1, paged);
    bench_pages_fill(a, pattern, BENCH_INPUTS_late, 1, 1, pages - 1, paged + a->page * row);
    for (int64_t place = 0; place < pages; place++) {
        cr_assert(table[place] >= 0 && table[place] < pages && !seen[table[place]]);
        seen[table[place]] = true;
        for (int64_t j = 0; j < a->page; j++)
            for (int64_t g = 0; g < a->groups; g++) {
                int64_t key = place % each * a->page + j, batch = place / each;
                const uint16_t *at = paged + (table[place] * a->page + j) * row + g * a->d;
                memset(plain, 0xff, (size_t)a->d * 2);
                if (key < a->n)
                    bench_attention_fill(a, pattern, BENCH_INPUTS_late, 1,
                                         ((batch * a->groups + g) * a->n + key) * a->d,
                                         (size_t)a->d, plain);
                cr_assert(memcmp(at, plain, (size_t)a->d * 2) == 0, "key %lld", (long long)key);
            }
    }
    free(table);
    free(paged);
    free(plain);
    free(seen);
}

Test(bench, keys_are_found_through_the_table) {
    bench_attention a = make_attention("f16");
    bench_pattern *pattern = bench_pattern_create(a.type);
    a.page = 16;
    for (a.n = 1; a.n < 200; a.n += 31) check_pages(&a, pattern);
    bench_pattern_destroy(pattern);
}

/* With few queries, the rows of all heads are compared, not of only four. With many queries, the
 * rows include the first and the last head and the last row. */
Test(bench, rows_of_large_attention_are_spread) {
    bench_attention a = {16, 64, 8, 1, 1024, 64, false, bench_type_find("f16"), 0};
    bench_pattern *pattern = bench_pattern_create(a.type);
    bench_reference *r = bench_reference_create(&a, pattern, BENCH_INPUTS_random);
    cr_assert(bench_reference_rows(r) == 1024, "%zu", bench_reference_rows(r));
    bench_reference_destroy(r);
    a = (bench_attention){1, 8, 2, 2048, 2048, 64, true, a.type, 0};
    r = bench_reference_create(&a, pattern, BENCH_INPUTS_random);
    cr_assert(bench_reference_rows(r) == 1024, "%zu", bench_reference_rows(r));
    size_t count = (size_t)(a.heads * a.m * a.d);
    uint16_t *o = calloc(count, sizeof *o);
    bench_error error;
    tile_scalar_write(TILE_f16, o + count - 1, INFINITY);
    bench_reference_compare(r, o, &error);
    cr_assert_str_eq(error.wrong, "random: element [0, 7, 2047, 63] is infinite");
    tile_scalar_write(TILE_f16, o + count - 1, 7);
    bench_reference_compare(r, o, &error);
    cr_assert(error.most > 6.5 && error.share > 1 && !error.all, "%g", error.most);
    free(o);
    bench_reference_destroy(r);
    bench_pattern_destroy(pattern);
}

/* Every 16-bit number, the midpoint between it and the next one, and the adjacent floats. */
static void check_floats(tile_scalar scalar, unsigned last) {
    for (unsigned word = 0; word <= last; word++) {
        uint16_t words[2] = {(uint16_t)word, (uint16_t)(word + 1)};
        float at[2], wide[4], back[4];
        uint16_t stored[4];
        bench_load_floats(scalar, words, 2, at);
        cr_assert(at[0] == tile_scalar_read(scalar, &words[0]), "%x", word);
        float middle = (float)(((double)at[0] + at[1]) / 2);
        float all[4] = {at[0], middle, -nextafterf(middle, 0), nextafterf(middle, INFINITY)};
        memcpy(wide, all, sizeof wide);
        bench_store_floats(scalar, wide, 4, stored);
        bench_load_floats(scalar, stored, 4, back);
        for (int i = 0; i < 4; i++) {
            uint16_t wanted;
            tile_scalar_write(scalar, &wanted, wide[i]);
            cr_assert(stored[i] == wanted, "%a gives %x, not %x", wide[i], stored[i], wanted);
            cr_assert(back[i] == tile_scalar_read(scalar, &wanted));
        }
    }
}

Test(bench, floats_are_rounded_as_one_by_one) {
    check_floats(TILE_f16, 0x7bfe);
    check_floats(TILE_bf16, 0x7f7e);
}

Test(bench, what_is_not_finite_is_found_where_it_is) {
    static const tile_scalar scalars[] = {TILE_f16, TILE_bf16, TILE_f32};
    enum { COUNT = 10000 };
    for (size_t s = 0; s < sizeof scalars / sizeof *scalars; s++) {
        size_t width = tile_scalar_bytes(scalars[s]);
        char *data = calloc(COUNT, width);
        cr_assert(bench_find_nonfinite(scalars[s], data, COUNT) == COUNT);
        tile_scalar_write(scalars[s], data + 9999 * width, -INFINITY);
        cr_assert(bench_find_nonfinite(scalars[s], data, COUNT) == 9999);
        tile_scalar_write(scalars[s], data + 4097 * width, NAN);
        cr_assert(bench_find_nonfinite(scalars[s], data, COUNT) == 4097);
        free(data);
    }
}

static void mark(size_t index, void *user) {
    unsigned char *seen = user;
    seen[index]++;
}

Test(bench, shared_work_is_done_once) {
    enum { COUNT = 5000 };
    unsigned char seen[COUNT] = {0};
    bench_share(0, mark, seen);
    bench_share(COUNT, mark, seen);
    for (int i = 0; i < COUNT; i++) cr_assert(seen[i] == 1);
}

/* Products ------------------------------------------------------------------------------------ */

Test(bench, requests_are_read_as_they_were_written) {
    static const char *const lines[] = {"product 16 24 32 bf16 TN clean",
                                        "attention 1 4 2 33 40 64 1 f16 dirty",
                                        "attention 16 64 8 1 8192 128 0 e4m3 none"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        bench_problem problem;
        char flush[8], line[BENCH_PROBLEM_LINE];
        cr_assert(bench_problem_read(lines[i], &problem, flush), "%s", lines[i]);
        bench_problem_write(&problem, flush, line);
        cr_assert_str_eq(line, lines[i]);
    }
    bench_problem ignored;
    char flush[8];
    cr_assert(!bench_problem_read("attention 1 4 2 33 40 64 1 f17 dirty", &ignored, flush));
}

Test(bench, sizes_of_a_product) {
    bench_product p = {.m = 16, .n = 4096, .k = 14336, .type = bench_type_find("f16")};
    cr_assert(bench_product_flop(&p) == 2.0 * 16 * 4096 * 14336);
    cr_assert(bench_product_read_bytes(&p) == 2.0 * 14336 * (16 + 4096));
    cr_assert(bench_type_peak(p.type, 90) == 4096 && bench_type_peak(p.type, 75) == 0);
    cr_assert(!bench_read_trans("NX", &p) && bench_read_trans("TN", &p));
    cr_assert(p.transposed_a && !p.transposed_b);
    cr_assert_str_eq(bench_trans_name(&p), "TN");
}
