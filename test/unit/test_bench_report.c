/* tile-bench: writing rows, checking limits, and drawing. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/attention/reference.h"
#include "tools/tile-bench/report/limits.h"
#include "tools/tile-bench/report/svg.h"

/* Reports ------------------------------------------------------------------------------------- */

static bench_row *add_row(bench_report *r, unsigned group, unsigned series, const char *name,
                          const char *kind, double us, double rank) {
    bench_row *row = bench_report_add(r, group, series);
    bench_set_number(row, BENCH_m, 16);
    bench_set_number(row, BENCH_n, 32);
    bench_set_number(row, BENCH_k, 64);
    bench_set_number(row, BENCH_flop, 2.0 * 16 * 32 * 64);
    bench_set_number(row, BENCH_read_bytes, 2 * 64 * (16 + 32));
    bench_set_number(row, BENCH_write_bytes, 2 * 16 * 32);
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
    bench_report r = {
        .facts = {.name = "GPU <1> & \"2\""}, .title = "f16", .peer_kind = "cublaslt"};
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

/* Limits -------------------------------------------------------------------------------------- */

Test(bench, errors_are_beside_what_flash_allows) {
    bench_shares s = {0, 0};
    bench_error flash = {.most = 4e-4, .norm = 1e-4}, own = {.most = 4e-4, .norm = 1.3e-4};
    bench_shares_add(&s, &own, &flash);
    cr_assert(fabs(s.most - 0.5) < 1e-9 && fabs(s.norm - 1) < 1e-9, "%g %g", s.most, s.norm);
    /* The worst of all checks counts. */
    bench_shares_add(&s, &(bench_error){.most = 1e-3, .norm = 1e-5}, &flash);
    cr_assert(fabs(s.most - 1.25) < 1e-9 && fabs(s.norm - 1) < 1e-9, "%g %g", s.most, s.norm);
    /* If flash attention has no error, none is allowed in the norm. */
    bench_shares exact = {0, 0};
    bench_shares_add(&exact, &(bench_error){0}, &(bench_error){0});
    cr_assert(exact.most == 0 && exact.norm == 0);
    bench_shares_add(&exact, &(bench_error){.most = 1e-5, .norm = 1e-5}, &(bench_error){0});
    cr_assert(fabs(exact.most - 0.05) < 1e-9 && exact.norm > 1000);
}

/* Checks a report with one kernel in which all columns of limits.def are known. */
static bool check_limits(double error, double norm, double ratio, bool times, tool_text *text) {
    bench_report r = {.title = "f16"};
    for (int i = 0; i < 3; i++) {
        /* A peer and a kernel that is wrong are ignored. */
        bench_row *row = add_row(&r, 0, 0, "mine", i == 1 ? "cudnn" : "kernel", 2, 1);
        if (i == 2) bench_set_text(row, BENCH_status, "wrong");
        bench_set_number(row, BENCH_error_peer, i ? 9 : error);
        bench_set_number(row, BENCH_norm_peer, i ? 9 : norm);
        bench_set_number(row, BENCH_type_ratio, i ? 0.1 : ratio);
    }
    bool kept = bench_limits_check(&r, times, tool_append, text);
    bench_report_free(&r);
    return kept;
}

Test(bench, each_limit_is_kept_or_broken) {
    static const struct {
        double error, norm, ratio;
        bool times, kept;
        const char *told;
    } cases[] = {
        {1, 1, 0.97, true, true, "is at most 1 in 1 of 1, 1.000 at worst"},
        {1.001, 1, 0.97, true, false,
         "broken: mine 16 32 64 f16 NN dirty: 1.001 is the largest error over 1.5 times flash's"},
        {0.1, 1.01, 0.97, true, false, ": 1.010 is the error's norm over 1.3 times flash's"},
        {0.1, 0.1, 0.96, true, false,
         ": 0.960 is the speed of bf16 over that of f16, below 0.97\n"},
        {0.1, 0.1, 0.96, false, true, "in 1 of 1, 0.100 at worst"},
        {NAN, 0.1, 1, true, false, "broken: mine"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tool_text text = {NULL, 0, 0};
        bool kept =
            check_limits(cases[i].error, cases[i].norm, cases[i].ratio, cases[i].times, &text);
        cr_assert(kept == cases[i].kept, "%zu: %s", i, text.data);
        cr_assert_not_null(strstr(text.data, cases[i].told), "%zu: %s", i, text.data);
        free(text.data);
    }
}

/* Columns without a comparison violate no limit and print nothing. */
Test(bench, unknown_columns_have_no_limit) {
    bench_report r = make_report();
    tool_text text = {NULL, 0, 0};
    cr_assert(bench_limits_check(&r, true, tool_append, &text) && text.size == 0);
    bench_report_free(&r);
}

/* SVG ----------------------------------------------------------------------------------------- */

Test(bench, xml_holds_any_text) {
    tool_text text = {NULL, 0, 0};
    svg_escape("a<b> & \"c\" 'd'\x01\n\xc3\x97", tool_append, &text);
    cr_assert_str_eq(text.data, "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;  \xc3\x97");
    free(text.data);
}

/* Checks that `<` and `>` alternate, and that each `&` begins an XML entity. */
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

/* Finds the position at which a number such as "12" is drawn in small letters. */
static bool find_number(const char *text, unsigned number, number_place *place) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "text-anchor=\"start\">%u</text>", number);
    const char *end = strstr(text, wanted), *begin = end;
    while (begin && begin > text && *begin != '<') begin--;
    return end && sscanf(begin, "<text x=\"%lf\" y=\"%lf\"", &place->x, &place->y) == 2;
}

/* The numbers of problems at the same point of the roofline do not overlap. */
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
        bench_set_number(row, BENCH_m, 64 + i % 2); /* distinct problems */
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
