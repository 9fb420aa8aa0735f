/* Bars: the speed of each candidate relative to the peer, or to the fastest candidate if there is
 * no peer. A dashed mark shows the floor. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/report/svg.h"

enum { LEFT = 214, RIGHT = 150, BAR = 15, GAP = 4, GROUP_GAP = 18, TOP = 46, BOTTOM = 44 };

/* Microseconds per launch of the measurement that is drawn; 0: none. */
static double time_of(const bench_row *row) {
    double latency = bench_number_of(row, BENCH_latency_us);
    return latency > 0 ? latency : bench_number_of(row, BENCH_sustained_us);
}

static bool is_floor(const bench_row *row) {
    return svg_is_kind(row, "floor");
}

/* The reference time of a group, which is drawn as 1: the peer's, else the shortest. */
static double unit_of(const bench_report *r, size_t first, size_t end) {
    double least = 0;
    for (size_t i = first; i < end; i++) {
        double time = time_of(&r->rows[i]);
        if (is_floor(&r->rows[i]) || time == 0) continue;
        if (svg_is_peer(r, &r->rows[i])) return time;
        if (least == 0 || time < least) least = time;
    }
    return least;
}

static double floor_of(const bench_report *r, size_t first, size_t end) {
    double most = 0;
    for (size_t i = first; i < end; i++)
        if (is_floor(&r->rows[i]) && time_of(&r->rows[i]) > most) most = time_of(&r->rows[i]);
    return most;
}

static unsigned bars_in(const bench_report *r, size_t first, size_t end) {
    unsigned count = 0;
    for (size_t i = first; i < end; i++) count += !is_floor(&r->rows[i]);
    return count;
}

/* Returns NULL if there is no peer. */
static const char *name_of_peer(const bench_report *r) {
    for (size_t i = 0; i < r->count; i++)
        if (svg_is_peer(r, &r->rows[i]) && time_of(&r->rows[i]) > 0)
            return bench_text_of(&r->rows[i], BENCH_name);
    return NULL;
}

/* The end of the axis: includes all bars, and those floors that are not too far away. */
static double range(const svg *s) {
    const bench_report *r = s->report;
    double most = 1;
    for (size_t first = 0, end; first < r->count; first = end) {
        end = svg_group_end(s, first);
        double unit = unit_of(r, first, end), least = floor_of(r, first, end);
        for (size_t i = first; i < end; i++)
            if (!is_floor(&r->rows[i]) && time_of(&r->rows[i]) > 0)
                most = fmax(most, unit / time_of(&r->rows[i]));
        if (least > 0 && unit / least < 1.6) most = fmax(most, unit / least);
    }
    return ceil(most * 1.02 / 0.25) * 0.25;
}

static double height_of_bars(const svg *s) {
    double height = 0;
    for (size_t first = 0, end; first < s->report->count; first = end) {
        end = svg_group_end(s, first);
        height += bars_in(s->report, first, end) * (BAR + GAP) - GAP + GROUP_GAP;
    }
    return height;
}

double svg_bars_height(const svg *s) {
    return s->report->count ? TOP + height_of_bars(s) + BOTTOM : 0;
}

/* Drawing ------------------------------------------------------------------------------------- */

static double place(double ratio, double most) {
    return LEFT + ratio / most * (SVG_WIDTH - LEFT - RIGHT);
}

static void axis(svg *s, double most) {
    double top = s->y + TOP - 12, bottom = s->y + TOP + height_of_bars(s) - GROUP_GAP + 8;
    double step = most > 3 ? ceil(most / 6) : most > 1.5 ? 0.5 : 0.25;
    for (double at = 0; at <= most + 1e-9; at += step) {
        char text[16];
        bool one = fabs(at - 1) < 1e-9;
        snprintf(text, sizeof text, "%g", at);
        svg_print(s, "<path d=\"M%.1f %.1fV%.1f\" class=\"%s\"/>\n", place(at, most), top, bottom,
                  one ? "one" : "grid");
        svg_text(s, place(at, most), bottom + 16, one ? "" : "soft", "middle", text);
    }
}

static void hint(svg *s, const bench_row *row) {
    const char *point = bench_text_of(row, BENCH_point);
    svg_print(s, "<title>");
    svg_escape(bench_text_of(row, BENCH_name), s->writer, s->user);
    svg_print(s, ": %.2f µs", time_of(row));
    if (point) {
        svg_print(s, "; ");
        svg_escape(point, s->writer, s->user);
    }
    svg_print(s, "</title>");
}

static void bar(svg *s, const bench_row *row, double y, double unit, double most) {
    double time = time_of(row), base = y + BAR - 3.5;
    char class[16], text[200];
    if (time == 0) {
        const char *name = bench_text_of(row, BENCH_name), *note = bench_text_of(row, BENCH_note);
        snprintf(text, sizeof text, "%.40s %.80s", name, note ? note : "was not measured");
        svg_text(s, LEFT + 4, base, "small bad", "start", text);
        return;
    }
    svg_class_of(s, row, class);
    svg_print(s, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"3\" class=\"%s\">",
              LEFT, y, fmax(place(unit / time, most) - LEFT, 1), BAR, class);
    hint(s, row);
    svg_print(s, "</rect>\n");
    snprintf(text, sizeof text, "%.2f×", unit / time);
    svg_text(s, SVG_WIDTH - RIGHT + 44, base,
             bench_number_of(row, BENCH_rank) == 1 ? "best" : "soft", "end", text);
    snprintf(text, sizeof text, time < 1000 ? "%.1f µs" : "%.0f µs", time);
    svg_text(s, SVG_WIDTH - SVG_MARGIN, base, "soft", "end", text);
}

static void draw_group(svg *s, size_t first, size_t end, unsigned number, double y, double most) {
    const bench_report *r = s->report;
    double unit = unit_of(r, first, end), least = floor_of(r, first, end), top = y;
    char text[64];
    snprintf(text, sizeof text, "%u", number);
    svg_text(s, SVG_MARGIN, y + BAR - 3.5, "soft small", "start", text);
    svg_name_shape(&r->rows[first], text);
    svg_text(s, SVG_MARGIN + 22, y + BAR - 3.5, "product", "start", text);
    svg_name_kind(s, &r->rows[first], text);
    if (*text) svg_text(s, SVG_MARGIN + 22, y + 2 * BAR - 3.5, "soft small", "start", text);
    for (size_t i = first; i < end; i++) {
        if (is_floor(&r->rows[i])) continue;
        bar(s, &r->rows[i], y, unit, most);
        y += BAR + GAP;
    }
    if (least > 0 && unit / least <= most)
        svg_print(s,
                  "<path d=\"M%.1f %.1fV%.1f\" class=\"floor\"><title>the floor: %.2f "
                  "µs</title></path>\n",
                  place(unit / least, most), top - 3, y - GAP + 3, least);
}

void svg_bars(svg *s) {
    const bench_report *r = s->report;
    if (!r->count) return;
    double most = range(s), y = s->y + TOP;
    unsigned number = 1;
    const char *peer = name_of_peer(r);
    char title[80];
    snprintf(title, sizeof title, "Speed relative to %.40s", peer ? peer : "the fastest");
    svg_text(s, SVG_MARGIN, s->y + 12, "panel", "start", title);
    svg_text(s, SVG_WIDTH - SVG_MARGIN, s->y + 12, "soft small", "end",
             "longer is faster; dashed: the floor");
    axis(s, most);
    for (size_t first = 0, end; first < r->count; first = end, number++) {
        end = svg_group_end(s, first);
        draw_group(s, first, end, number, y, most);
        y += bars_in(r, first, end) * (BAR + GAP) - GAP + GROUP_GAP;
    }
    s->y += svg_bars_height(s);
}
