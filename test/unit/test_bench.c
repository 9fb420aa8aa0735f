/* tile-bench: what it says of many times, and how it writes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/product.h"
#include "tools/tile-bench/statistics.h"
#include "tools/tile-bench/svg.h"

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

/* Products ------------------------------------------------------------------------------------ */

Test(bench, all_lists_of_shapes_are_read) {
    static const char *const names[] = {"splitk", "skinny", "deep", "square", "odd", "tiny"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bench_shapes shapes = {0};
        cr_assert(bench_shapes_add_list(&shapes, names[i]), "%s", names[i]);
        cr_assert(shapes.count >= 3, "%s", names[i]);
        free(shapes.shapes);
    }
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

/* Reports ------------------------------------------------------------------------------------- */

static bench_row *add_row(bench_report *r, unsigned group, unsigned series, const char *name,
                          const char *kind, double us, double rank) {
    bench_row *row = bench_report_add(r, group, series);
    bench_set_number(row, BENCH_m, 16);
    bench_set_number(row, BENCH_n, 32);
    bench_set_number(row, BENCH_k, 64);
    bench_set_text(row, BENCH_type, "f16");
    bench_set_text(row, BENCH_trans, "NN");
    bench_set_text(row, BENCH_l2, "dirty");
    bench_set_text(row, BENCH_name, name);
    bench_set_text(row, BENCH_kind, kind);
    bench_set_text(row, BENCH_status, us > 0 ? "right" : "failed");
    if (us > 0)
        bench_set_number(row, BENCH_latency_us, us);
    else
        bench_set_text(row, BENCH_note, "failed: \"it\" <hangs> & more,\nsays\t'it'");
    if (rank > 0) bench_set_number(row, BENCH_rank, rank);
    return row;
}

static char *written(const bench_report *r,
                     void (*write)(const bench_report *, tile_writer, void *)) {
    tool_text text = {NULL, 0, 0};
    write(r, tool_append, &text);
    return text.data;
}

static void write_plain(const bench_report *r, tile_writer writer, void *user) {
    bench_write_text(r, false, writer, user);
}

static bench_report make_report(void) {
    bench_report r = {.facts = {.name = "GPU <1> & \"2\""}, .title = "f16"};
    add_row(&r, 0, 2, "read", "floor", 1.5, 0);
    add_row(&r, 0, 0, "slow", "kernel", 40, 2);
    add_row(&r, 0, 1, "ends & <hangs>", "kernel", 0, 0);
    add_row(&r, 0, 3, "fast", "kernel", 2.25, 1);
    bench_report_sort(&r);
    return r;
}

Test(bench, rows_are_sorted_by_what_they_are) {
    static const char *const names[] = {"fast", "slow", "ends & <hangs>", "read"};
    bench_report r = make_report();
    for (size_t i = 0; i < 4; i++)
        cr_assert_str_eq(bench_text_of(&r.rows[i], BENCH_name), names[i]);
    bench_report_free(&r);
}

Test(bench, text_is_aligned_and_failures_are_told) {
    bench_report r = make_report();
    char *text = written(&r, write_plain);
    const char *table = strstr(text, "\n\n");
    cr_assert_str_eq(table,
                     "\n\n"
                     " m   n   k  name               us\n"
                     "─────────────────────────────────\n"
                     "16  32  64  fast             2.25\n"
                     "            slow            40.00\n"
                     "            ends & <hangs>  failed: \"it\" <hangs> & more,\nsays\t'it'\n"
                     "            read             1.50\n");
    free(text);
    bench_report_free(&r);
}

Test(bench, csv_quotes_what_it_has_to) {
    bench_report r = make_report();
    char *text = written(&r, bench_write_csv);
    cr_assert(strncmp(text, "m,n,k,type,trans,l2,name,kind,status,rank,latency_us,", 53) == 0);
    cr_assert_not_null(strstr(text, "\n16,32,64,f16,NN,dirty,fast,kernel,right,1,2.25,"));
    cr_assert_not_null(strstr(text, ",\"failed: \"\"it\"\" <hangs> & more,\nsays\t'it'\"\n"));
    free(text);
    bench_report_free(&r);
}

Test(bench, json_escapes_what_it_has_to) {
    bench_report r = make_report();
    char *text = written(&r, bench_write_json);
    cr_assert_not_null(strstr(text, "\"name\": \"GPU <1> & \\\"2\\\"\""));
    cr_assert_not_null(
        strstr(text, "\"note\": \"failed: \\\"it\\\" <hangs> & more,\\u000asays\\u0009'it'\""));
    free(text);
    bench_report_free(&r);
}

/* SVG ----------------------------------------------------------------------------------------- */

Test(bench, xml_holds_any_text) {
    tool_text text = {NULL, 0, 0};
    svg_escape("a<b> & \"c\" 'd'\x01\n\xc3\x97", tool_append, &text);
    cr_assert_str_eq(text.data, "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;  \xc3\x97");
    free(text.data);
}

/* Between a `<` and its `>` there is no other one, and an `&` begins one of XML's entities. */
static bool is_well_formed(const char *text) {
    bool inside = false;
    for (; *text; text++) {
        if (*text == '<' && inside) return false;
        if (*text == '<') inside = true;
        if (*text == '>' && !inside) return false;
        if (*text == '>') inside = false;
        if (*text == '&' && !strchr("alqg#", text[1])) return false;
    }
    return !inside;
}

Test(bench, the_picture_holds_any_name) {
    bench_report r = make_report();
    char *text = written(&r, bench_write_svg);
    cr_assert(is_well_formed(text));
    cr_assert_not_null(strstr(text, "GPU &lt;1&gt; &amp; &quot;2&quot;"));
    cr_assert_not_null(strstr(text, "ends &amp; &lt;hangs&gt; failed: &quot;it&quot;"));
    cr_assert_not_null(strstr(text, "Speed relative to the fastest"));
    cr_assert_null(strstr(text, "Roofline"), "there is no peak to draw");
    free(text);
    bench_report_free(&r);
}

Test(bench, the_picture_has_a_roof_where_there_is_one) {
    bench_report r = make_report();
    bench_row *row = add_row(&r, 0, 4, "cuBLASLt", "cublaslt", 2, 1);
    bench_set_number(row, BENCH_tflops, 30);
    for (size_t i = 0; i < r.count; i++)
        if (svg_is_kind(&r.rows[i], "floor")) bench_set_text(&r.rows[i], BENCH_status, "floor");
    row = add_row(&r, 0, 5, "peak", "floor", 0.5, 0);
    bench_set_text(row, BENCH_status, "computed");
    bench_set_number(row, BENCH_tflops, 120);
    char *text = written(&r, bench_write_svg);
    cr_assert(is_well_formed(text));
    cr_assert_not_null(strstr(text, "Speed relative to cuBLASLt"));
    cr_assert_not_null(strstr(text, "120 TFLOP/s, computed"));
    cr_assert_not_null(strstr(text, "class=\"dot peer\""));
    free(text);
    bench_report_free(&r);
}

typedef struct number_place {
    double x, y;
} number_place;

/* Where the picture has "12", in small letters that begin there. */
static bool find_number(const char *text, unsigned number, number_place *place) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "text-anchor=\"start\">%u</text>", number);
    const char *end = strstr(text, wanted), *begin = end;
    while (begin && begin > text && *begin != '<') begin--;
    return end && sscanf(begin, "<text x=\"%lf\" y=\"%lf\"", &place->x, &place->y) == 2;
}

/* Products at one place of the roofline keep their numbers apart. */
Test(bench, numbers_beside_dots_can_be_read) {
    enum { PRODUCTS = 30 };
    bench_report r = make_report();
    number_place places[PRODUCTS + 1];
    bench_row *row = add_row(&r, 0, 0, "reading", "floor", 0.5, 0);
    bench_set_text(row, BENCH_status, "floor");
    row = add_row(&r, 0, 1, "peak", "floor", 0.5, 0);
    bench_set_text(row, BENCH_status, "computed");
    bench_set_number(row, BENCH_tflops, 120);
    for (unsigned i = 1; i < PRODUCTS; i++) {
        row = add_row(&r, i, 0, "some", "kernel", 2, 1);
        bench_set_number(row, BENCH_m, 64 + i % 2); /* a product each */
        bench_set_number(row, BENCH_tflops, 30);
    }
    char *text = written(&r, bench_write_svg);
    unsigned count = 0;
    for (unsigned n = 1; n <= PRODUCTS; n++)
        count += find_number(strstr(text, "Roofline"), n, &places[count]);
    cr_assert_geq(count, PRODUCTS - 1, "%u", count);
    for (unsigned a = 0; a < count; a++)
        for (unsigned b = 0; b < a; b++)
            cr_expect(places[a].x - places[b].x > 7 || places[b].x - places[a].x > 7 ||
                          places[a].y - places[b].y > 12 || places[b].y - places[a].y > 12,
                      "%u and %u", a, b);
    free(text);
    bench_report_free(&r);
}

Test(bench, an_empty_report_is_a_picture) {
    bench_report r = {.title = "nothing"};
    char *text = written(&r, bench_write_svg);
    cr_assert(is_well_formed(text));
    free(text);
}
