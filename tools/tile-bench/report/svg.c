/* Draws a report as one picture: head, legend, bars, roofline.
 *
 * Each mark has a <title> with its meaning, which browsers show on hover. */
#include "tools/tile-bench/report/svg.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Writing ------------------------------------------------------------------------------------- */

void svg_print(svg *s, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    svg_vprint(s->writer, s->user, format, arguments);
    va_end(arguments);
}

void svg_text(svg *s, double x, double y, const char *class, const char *anchor, const char *text) {
    svg_print(s, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class,
              anchor);
    svg_escape(text, s->writer, s->user);
    svg_print(s, "</text>\n");
}

/* Rows ---------------------------------------------------------------------------------------- */

bool svg_is_kind(const bench_row *row, const char *kind) {
    const char *own = bench_text_of(row, BENCH_kind);
    return own && strcmp(own, kind) == 0;
}

bool svg_is_peer(const bench_report *report, const bench_row *row) {
    return report->peer_kind && svg_is_kind(row, report->peer_kind);
}

void svg_class_of(const svg *s, const bench_row *row, char class[16]) {
    if (svg_is_peer(s->report, row))
        strcpy(class, "peer");
    else
        snprintf(class, 16, "s%u", row->series % SVG_COLOURS);
}

size_t svg_group_end(const svg *s, size_t first) {
    size_t end = first;
    while (end < s->report->count && s->report->rows[end].group == s->report->rows[first].group)
        end++;
    return end;
}

void svg_name_shape(const bench_row *row, char text[64]) {
    double m = bench_number_of(row, BENCH_m), n = bench_number_of(row, BENCH_n);
    if (!row->cells[BENCH_batch].known) {
        snprintf(text, 64, "%.0f × %.0f × %.0f", m, n, bench_number_of(row, BENCH_k));
        return;
    }
    double heads = bench_number_of(row, BENCH_heads), groups = bench_number_of(row, BENCH_groups);
    char shared[16] = "", keys[16] = "";
    if (groups != heads) snprintf(shared, sizeof shared, "/%.0f", groups);
    if (m != n) snprintf(keys, sizeof keys, "/%.0f", n);
    snprintf(text, 64, "%.0f × %.0f%s × %.0f%s × %.0f%s", bench_number_of(row, BENCH_batch), heads,
             shared, m, keys, bench_number_of(row, BENCH_d),
             strcmp(bench_text_of(row, BENCH_mask), "causal") == 0 ? " causal" : "");
}

void svg_name_kind(const svg *s, const bench_row *row, char text[64]) {
    static const bench_column columns[] = {BENCH_type, BENCH_trans, BENCH_l2};
    size_t length = 0;
    *text = 0;
    for (int i = 0; i < 3; i++)
        if (bench_report_varies(s->report, columns[i]))
            length += (size_t)snprintf(text + length, 64 - length, "%s%.16s%s", length ? ", " : "",
                                       bench_text_of(row, columns[i]),
                                       columns[i] == BENCH_l2 ? " L2" : "");
}

/* The head ------------------------------------------------------------------------------------ */

/* Returns the candidate's entry in the legend: the first row of each series that is not a floor. */
static const bench_row *first_of_series(const bench_report *r, unsigned series) {
    for (size_t i = 0; i < r->count; i++)
        if (r->rows[i].series == series && !svg_is_kind(&r->rows[i], "floor")) return &r->rows[i];
    return NULL;
}

/* Points of the same kernel are distinguished by their parameters. */
static void name_series(const bench_report *r, const bench_row *row, char *text, size_t size) {
    const char *name = bench_text_of(row, BENCH_name), *point = bench_text_of(row, BENCH_point);
    bool shared = false;
    for (unsigned i = 0; i < BENCH_MAX_SERIES; i++) {
        const bench_row *other = first_of_series(r, i);
        shared |= other && other->series != row->series &&
                  strcmp(bench_text_of(other, BENCH_name), name) == 0;
    }
    snprintf(text, size, "%s%s%s", name, shared && point ? "  " : "", shared && point ? point : "");
}

/* An estimate: characters of this font are 6.4 pixels wide on average. */
static double width_of(const char *text) {
    return 6.4 * (double)strlen(text);
}

/* Draws the legend, or only computes where it ends. */
static double legend(svg *s, double y, bool draws) {
    double x = SVG_MARGIN;
    for (unsigned i = 0; i < BENCH_MAX_SERIES; i++) {
        const bench_row *row = first_of_series(s->report, i);
        char text[120], class[16];
        if (!row) continue;
        name_series(s->report, row, text, sizeof text);
        if (x > SVG_MARGIN && x + 18 + width_of(text) > SVG_WIDTH - SVG_MARGIN) {
            x = SVG_MARGIN;
            y += 20;
        }
        svg_class_of(s, row, class);
        if (draws) {
            svg_print(
                s,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"3\" class=\"%s\"/>\n",
                x, y - 10, class);
            svg_text(s, x + 17, y, "", "start", text);
        }
        x += 17 + width_of(text) + 22;
    }
    return y;
}

static void head(svg *s) {
    const bench_report *r = s->report;
    const bench_facts *f = &r->facts;
    char line[400];
    svg_text(s, SVG_MARGIN, 46, "title", "start", f->name);
    int length = snprintf(line, sizeof line, "%s", r->title);
    if (f->clock)
        snprintf(line + length, sizeof line - (size_t)length, "; %u SMs, %u MHz, %u W", f->sms,
                 f->clock, f->power_limit);
    svg_text(s, SVG_MARGIN, 68, "soft", "start", line);
    length = snprintf(line, sizeof line, "%s", r->peer);
    if (*f->driver)
        length += snprintf(line + length, sizeof line - (size_t)length, "%sdriver %s",
                           length ? "; " : "", f->driver);
    if (*r->peak)
        snprintf(line + length, sizeof line - (size_t)length, "%s%s", length ? "; " : "", r->peak);
    svg_text(s, SVG_MARGIN, 86, "soft", "start", line);
    s->y = legend(s, 118, true) + 30;
}

void bench_write_svg(const bench_report *report, tile_writer writer, void *user) {
    svg s = {.report = report, .writer = writer, .user = user};
    double end = legend(&s, 118, false) + 30 + svg_bars_height(&s) + svg_roofline_height(&s);
    svg_print(&s,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
              "height=\"%.0f\" role=\"img\">\n<title>",
              SVG_WIDTH, end, SVG_WIDTH, end);
    svg_escape(report->title, writer, user);
    svg_print(&s, "</title>\n");
    svg_write_style(writer, user);
    svg_print(&s, "<rect class=\"paper\" width=\"%d\" height=\"%.0f\" rx=\"12\"/>\n", SVG_WIDTH,
              end);
    head(&s);
    svg_bars(&s);
    svg_roofline(&s);
    svg_print(&s, "</svg>\n");
}
