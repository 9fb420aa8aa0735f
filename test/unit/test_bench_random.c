/* tile-bench: random problems, and the distribution of their results. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/random/distribution.h"
#include "tools/tile-bench/random/draw.h"
#include "tools/tile-bench/random/read_csv.h"
#include "tools/tile-bench/random/regret.h"

/* Drawing ------------------------------------------------------------------------------------- */

static bench_draw make_draw(uint64_t seed) {
    return (bench_draw){.seed = seed, .classes = {64, 8, 1}, .class_count = 3, .max_bytes = 0x1p30};
}

static bench_product draw_product(const bench_draw *draw, unsigned index, const char *type) {
    bench_product p = {.type = bench_type_find(type)};
    cr_assert(bench_draw_product(draw, index, &p));
    return p;
}

/* Of an extent from 1 to 2^14 whose logarithm is uniform, each doubling has a 14th. */
Test(bench_random, logarithms_are_uniform) {
    enum { DOUBLINGS = 14, COUNT = DOUBLINGS * 2000 };
    unsigned counts[DOUBLINGS] = {0};
    uint64_t state = 5;
    for (unsigned i = 0; i < COUNT; i++) {
        int64_t drawn = bench_draw_log(&state, 1, (1 << DOUBLINGS) - 1);
        cr_assert(drawn >= 1 && drawn < 1 << DOUBLINGS);
        counts[(unsigned)floor(log2((double)drawn))]++;
    }
    /* Six standard deviations. */
    for (unsigned i = 0; i < DOUBLINGS; i++)
        cr_expect(fabs(counts[i] - 2000.0) < 6 * sqrt(2000.0), "2^%u: %u", i, counts[i]);
}

Test(bench_random, a_seed_and_an_index_make_a_problem) {
    const bench_draw one = make_draw(1), two = make_draw(2);
    unsigned same = 0;
    for (unsigned i = 0; i < 100; i++) {
        bench_product a = draw_product(&one, i, "bf16"), b = draw_product(&one, i, "bf16");
        bench_product other = draw_product(&two, i, "bf16");
        cr_assert(a.m == b.m && a.n == b.n && a.k == b.k);
        same += a.m == other.m && a.n == other.n && a.k == other.k;
    }
    cr_assert(same == 0, "%u of 100 problems do not depend on the seed", same);
}

Test(bench_random, extents_are_of_their_class) {
    static const int64_t classes[] = {64, 8, 1};
    const bench_draw draw = make_draw(3);
    unsigned odd = 0, aligned_m = 0, small_m = 0;
    for (unsigned i = 0; i < 900; i++) {
        bench_product p = draw_product(&draw, i, "bf16");
        cr_assert(p.n % classes[i % 3] == 0 && p.k % classes[i % 3] == 0);
        cr_assert(p.n >= 32 && p.k >= 32 && p.m >= 1);
        cr_assert(p.m <= 16384 && p.n <= 16384 && p.k <= 16384);
        odd += i % 3 == 2 && (p.n % 8 != 0 || p.k % 8 != 0);
        aligned_m += i % 3 == 0 && p.m % 64 == 0;
        small_m += p.m < 64;
    }
    for (unsigned i = 0; i < 90; i++) {
        bench_product p = {.type = bench_type_find("bf16"), .transposed_a = true};
        cr_assert(bench_draw_product(&draw, i, &p) && p.m % classes[i % 3] == 0);
    }
    cr_expect(odd > 270, "%u of 300 problems of any extents have pitches without alignment", odd);
    cr_expect(aligned_m > 120 && aligned_m < 190, "%u of 300", aligned_m);
    cr_expect(small_m > 150, "%u of 900 decode", small_m);
}

Test(bench_random, arrays_fit) {
    bench_draw draw = make_draw(4);
    draw.max_bytes = 1 << 20;
    for (unsigned i = 0; i < 100; i++) {
        bench_product p = draw_product(&draw, i, "f32");
        cr_assert(bench_product_read_bytes(&p) + bench_product_write_bytes(&p) <= 1 << 20);
    }
    draw.min_bytes = 1 << 19;
    draw.max_m = 64;
    for (unsigned i = 0; i < 100; i++) {
        bench_product p = draw_product(&draw, i, "f32");
        cr_assert(bench_product_read_bytes(&p) + bench_product_write_bytes(&p) >= 1 << 19);
        cr_assert(p.m <= 64);
    }
    draw.max_bytes = 100;
    bench_product none = {.type = bench_type_find("f32")};
    cr_assert(!bench_draw_product(&draw, 0, &none));
}

Test(bench_random, attention_of_all_kinds) {
    const bench_draw draw = make_draw(6);
    unsigned causal = 0, longer = 0, grouped = 0, depths[257] = {0};
    for (unsigned i = 0; i < 400; i++) {
        bench_attention a = {.type = bench_type_find("f16")};
        cr_assert(bench_draw_attention(&draw, i, &a));
        cr_assert(a.n >= a.m && a.m >= 16 && a.heads % a.groups == 0 && a.heads <= 64);
        cr_assert(a.m % draw.classes[i % 3] == 0 && a.n % draw.classes[i % 3] == 0);
        cr_assert(bench_attention_read_bytes(&a) + bench_attention_write_bytes(&a) <= 0x1p30);
        causal += a.causal;
        longer += a.n > a.m;
        grouped += a.heads > a.groups;
        depths[a.d]++;
    }
    cr_expect(causal > 150 && causal < 250, "%u of 400", causal);
    cr_expect(longer > 20 && grouped > 100, "%u, %u", longer, grouped);
    cr_expect(depths[64] > 50 && depths[96] > 50 && depths[128] > 50 && depths[256] > 50);
}

/* Each operation and type has the same shapes, as far as these fit. */
Test(bench_random, rows_of_all_lengths) {
    const bench_draw draw = make_draw(8);
    unsigned short_rows = 0, long_rows = 0, large = 0;
    for (unsigned i = 0; i < 300; i++) {
        bench_rows a = {.op = BENCH_ROWS_softmax, .type = bench_type_find("f32")};
        bench_rows b = {.op = BENCH_ROWS_argmax, .type = a.type};
        cr_assert(bench_draw_rows(&draw, i, &a) && bench_draw_rows(&draw, i, &b));
        cr_assert(a.m == b.m && a.n == b.n && a.n % draw.classes[i % 3] == 0);
        double bytes = bench_rows_read_bytes(&a) + bench_rows_write_bytes(&a);
        cr_assert(bytes <= 0x1p30 && a.n >= 16 && a.n <= 16384 && a.m >= 1);
        short_rows += a.n < 256;
        long_rows += a.n >= 4096;
        large += bytes >= 32e6;
    }
    cr_expect(short_rows > 60 && long_rows > 30 && large > 30, "%u, %u, %u", short_rows, long_rows,
              large);
}

Test(bench_random, bytes_of_rows) {
    bench_rows r = {.op = BENCH_ROWS_layer_norm, .m = 3, .n = 5, .type = bench_type_find("f16")};
    cr_assert(bench_rows_read_bytes(&r) == 2 * 5 * (3 + 2) && bench_rows_write_bytes(&r) == 30);
    r.op = BENCH_ROWS_argmax;
    cr_assert(bench_rows_read_bytes(&r) == 30 && bench_rows_write_bytes(&r) == 12);
    r.op = BENCH_ROWS_max;
    cr_assert(bench_rows_write_bytes(&r) == 6);
}

/* Distributions ------------------------------------------------------------------------------- */

/* One of the problems has a type, a layout and a route: each is drawn sometimes. */
Test(bench_random, choices_are_independent) {
    const bench_draw draw = {.seed = 3};
    unsigned found[4][2] = {{0}};
    for (unsigned i = 0; i < 400; i++)
        found[bench_draw_one(&draw, i, 0, 4)][bench_draw_one(&draw, i, 1, 2)]++;
    for (unsigned a = 0; a < 4; a++)
        for (unsigned b = 0; b < 2; b++)
            cr_expect(found[a][b] > 25 && found[a][b] < 75, "%u, %u: %u", a, b, found[a][b]);
    cr_expect_eq(bench_draw_one(&draw, 7, 0, 4), bench_draw_one(&draw, 7, 0, 4));
}

Test(bench_random, distribution_of_ratios) {
    static const double ratios[] = {0.5, 2, 1, 0.96};
    bench_distribution d = bench_distribute(ratios, 4);
    cr_assert(d.count == 4 && d.least == 0.5 && d.most == 2 && d.equal == 0.5);
    cr_assert(d.near_equal == 0.75);
    cr_assert_float_eq(d.mean, pow(0.96, 0.25), 1e-12);
    cr_assert(bench_distribute(NULL, 0).mean == 0);
}

static const char csv[] =
    "m,n,k,type,trans,l2,name,kind,status,latency_us,ratio,peer_us,card,version,origin,point,note\n"
    "16,32,64,bf16,NT,dirty,kernel,kernel,right,20,0.5,10,H,1,,a=1 (picked),\n"
    "16,32,64,bf16,NT,dirty,kernel,kernel,right,12,,,H,1,sample,\"a=2, \"\"b\"\"=3\",\n"
    "16,32,64,bf16,NT,dirty,cuBLASLt,cublaslt,right,10,1,10,H,1,,,\n"
    "1,32,64,bf16,NT,dirty,kernel,kernel,right,5,2,10,H,1,,a=1 (picked),\n"
    "1,32,40,bf16,NT,dirty,kernel,kernel,wrong,,,,H,1,,,\"wrong: two\nlines\"\n"
    "1,33,40,bf16,NT,dirty,kernel,kernel,right,7,,,H,1,,a=1,\n";

static char *write_all(const bench_report *report,
                       void (*write)(const bench_report *, tile_writer, void *)) {
    tool_text text = {NULL, 0, 0};
    tool_append("", 0, &text);
    write(report, tool_append, &text);
    return text.data;
}

Test(bench_random, a_file_is_read_as_it_was_written) {
    bench_report report = {0}, again = {0};
    cr_assert(bench_read_csv("f", csv, &report));
    cr_assert(report.count == 6 && report.rows[2].group == 0 && report.rows[3].group == 1);
    cr_assert_str_eq(bench_text_of(&report.rows[1], BENCH_point), "a=2, \"b\"=3");
    cr_assert_str_eq(bench_text_of(&report.rows[4], BENCH_note), "wrong: two\nlines");
    char *first = write_all(&report, bench_write_csv);
    cr_assert(bench_read_csv("f", first, &again));
    char *second = write_all(&again, bench_write_csv);
    cr_assert_str_eq(first, second);
    free(first);
    free(second);
    bench_report_free(&report);
    bench_report_free(&again);
}

/* Shares of the floors: of a copy for rows, of a plain read for products with few rows. */
Test(bench_random, the_text_has_the_shares_of_floors) {
    static const char text[] =
        "m,n,k,op,type,trans,l2,name,kind,latency_us,floor_share,read_bytes,write_bytes\n"
        "9,8192,,sum,f16,,dirty,kernel,kernel,5,0.5,64e6,4\n"
        "9,8000,,sum,f16,,dirty,kernel,kernel,5,0.8,64e6,4\n"
        "9,100,,sum,f16,,dirty,kernel,kernel,5,0.2,64e6,4\n"
        "64,8192,8192,,f16,NN,dirty,kernel,kernel,5,0.9,200e6,4\n"
        "1,8192,8192,,f16,NN,dirty,kernel,kernel,5,0.7,200e6,4\n"
        "1,8192,8,,f16,NN,dirty,kernel,kernel,5,0.6,1e6,4\n"
        "65,8192,8,,f16,NN,dirty,kernel,kernel,5,0.1,1e6,4\n";
    bench_report report = {0};
    cr_assert(bench_read_csv("f", text, &report));
    char *written = write_all(&report, bench_write_distributions);
    cr_expect(strstr(written,
                     "of the speed of a copy: geometric mean 0.431; of 2 with long rows in "
                     "32 MB or more, least 0.500\n"),
              "%s", written);
    cr_expect(strstr(written, "of 2 with at most 64 rows that read 100 MB or more, least share of "
                              "the floor 0.700\n"),
              "%s", written);
    cr_expect(strstr(written, "of 1 with at most 64 rows that read less than 30 MB, least share of "
                              "the floor 0.600\n"),
              "%s", written);
    free(written);
    bench_report_free(&report);
}

Test(bench_random, damaged_files_are_refused) {
    static const char *const texts[] = {"m,n,k,what\n1,2,3,4\n", "m,n\n1,x\n", "m,n\n1\n",
                                        "m,n\n1,2,3\n", "m,note\n1,\"open\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bench_report report = {0};
        cr_expect(!bench_read_csv("f", texts[i], &report), "%s", texts[i]);
        bench_report_free(&report);
    }
}

Test(bench_random, the_text_has_the_lowest_ratios_and_the_best_points) {
    bench_report report = {.peer = "cuBLASLt 13", .peer_name = "cuBLAS"};
    cr_assert(bench_read_csv("f", csv, &report));
    char *text = write_all(&report, bench_write_distributions);
    cr_expect_str_eq(text,
                     "bf16 NT L2 dirty, kernel: 4 shapes, 2 of them beside cuBLASLt 13\n"
                     "  geometric mean 1.000, least 0.500, most 2.000; 50 % >= 1.00, 50 % >= 0.95\n"
                     "  0.500  16 x 32 x 64: 20.00 us, cuBLAS 10.00 us; a=1 (picked)\n"
                     "         best point: 12.00 us, ratio 0.833; a=2, \"b\"=3\n"
                     "  2.000  1 x 32 x 64: 5.00 us, cuBLAS 10.00 us; a=1 (picked)\n"
                     "  1 x 32 x 40: wrong: two\nlines\n"
                     "  no peer: 1 x 33 x 40: 7.00 us\n\n");
    free(text);
    report.rows[0].is_other = report.rows[3].is_other = report.rows[4].is_other = true;
    text = write_all(&report, bench_write_distributions);
    cr_expect(strstr(text, "1 shapes, 0 of them") == text + strlen("bf16 NT L2 dirty, kernel: "));
    free(text);
    bench_report_free(&report);
}

/* Regret -------------------------------------------------------------------------------------- */

Test(bench_random, regret_of_the_first_choice) {
    static const char text[] =
        "m,n,k,type,trans,l2,name,latency_us,source,origin,estimate_us,point\n"
        "1,2,3,f16,NN,dirty,kernel,10,s,,,p (picked)\n"
        "1,2,3,f16,NN,dirty,kernel,11,s,picked,5,p\n"
        "1,2,3,f16,NN,dirty,kernel,10,s,model,6,q\n"
        "1,2,3,f16,NN,dirty,compute,8,t,picked,1,p\n"
        "1,2,3,f16,NN,dirty,kernel,8,s,sample,7,r\n"
        "1,2,4,f16,NN,dirty,kernel,9,s,picked,7,p\n";
    bench_report report = {0};
    size_t count;
    cr_assert(bench_read_csv("f", text, &report));
    bench_space *spaces = bench_find_spaces(&report, &count);
    cr_assert(count == 3 && spaces[0].count == 3 && spaces[1].count == 1 && spaces[2].count == 1);
    cr_assert(spaces[0].first == &report.rows[1] && spaces[0].best == &report.rows[4]);
    cr_assert_float_eq(spaces[0].regret, 11.0 / 8 - 1, 1e-12);
    spaces[0].estimates[0] = 8; /* the model now prefers q */
    spaces[0].estimates[2] = 0; /* and has no r any more */
    bench_set_regret(&spaces[0]);
    cr_assert(spaces[0].known == 2 && spaces[0].first == &report.rows[2]);
    cr_assert(spaces[0].best == &report.rows[2] && spaces[0].regret == 0);
    bench_free_spaces(spaces, count);
    bench_report_free(&report);
}
