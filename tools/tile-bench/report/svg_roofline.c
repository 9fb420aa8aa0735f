/* The roofline (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model
 * for multicore architectures", 2009): FLOP/s over FLOP/byte, both on logarithmic axes. The slope
 * is the highest measured read bandwidth; the ceiling is the computed peak. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/report/svg.h"

enum { LEFT = 78, RIGHT = 32, PLOT = 340, TOP = 34, BOTTOM = 62 };

typedef struct plot {
    double x0, x1, y0, y1; /* edges, as powers of ten */
    double bandwidth;      /* bytes per second; 0: unknown */
    double peak;           /* FLOP per second; 0: unknown */
    double top;
} plot;

static double flop_of(const bench_row *row) {
    return bench_number_of(row, BENCH_flop);
}

static double bytes_of(const bench_row *row, bool with_result) {
    return bench_number_of(row, BENCH_read_bytes) +
           (with_result ? bench_number_of(row, BENCH_write_bytes) : 0);
}

static double speed_of(const bench_row *row) {
    double speed = bench_number_of(row, BENCH_tflops);
    return 1e12 * (speed > 0 ? speed : bench_number_of(row, BENCH_sustained_tflops));
}

static bool is_drawn(const bench_row *row) {
    return !svg_is_kind(row, "floor") && speed_of(row) > 0 && bytes_of(row, true) > 0;
}

/* False if there is nothing to draw, or if there are several types, because their ceilings
 * differ. */
static bool find_edges(const svg *s, plot *p) {
    const bench_report *r = s->report;
    double least_x = 1e300, most_x = 0, least_y = 1e300, most_y = 0;
    *p = (plot){0};
    for (size_t i = 0; i < r->count; i++) {
        const bench_row *row = &r->rows[i];
        if (strcmp(bench_text_of(row, BENCH_type), bench_text_of(&r->rows[0], BENCH_type)) != 0)
            return false;
        const char *status = bench_text_of(row, BENCH_status);
        double latency = bench_number_of(row, BENCH_latency_us);
        if (status && strcmp(status, "floor") == 0 && latency > 0)
            p->bandwidth = fmax(p->bandwidth, bytes_of(row, false) / (1e-6 * latency));
        if (status && strcmp(status, "computed") == 0)
            p->peak = 1e12 * bench_number_of(row, BENCH_tflops);
        if (!is_drawn(row)) continue;
        double x = flop_of(row) / bytes_of(row, true);
        least_x = fmin(least_x, x);
        most_x = fmax(most_x, x);
        least_y = fmin(least_y, speed_of(row));
        most_y = fmax(most_y, speed_of(row));
    }
    if (most_y == 0 || p->bandwidth == 0 || p->peak == 0) return false;
    p->x0 = log10(least_x * 0.5);
    p->x1 = log10(fmax(most_x * 2, 2.5 * p->peak / p->bandwidth));
    p->y0 = log10(least_y * 0.5);
    p->y1 = log10(fmax(p->peak, most_y) * 1.6);
    return true;
}

double svg_roofline_height(const svg *s) {
    plot p;
    return s->report->count && find_edges(s, &p) ? TOP + PLOT + BOTTOM : 0;
}

/* Drawing ------------------------------------------------------------------------------------- */

static double across(const plot *p, double x) {
    return LEFT + (log10(x) - p->x0) / (p->x1 - p->x0) * (SVG_WIDTH - LEFT - RIGHT);
}

static double down(const plot *p, double y) {
    return p->top + PLOT - (log10(y) - p->y0) / (p->y1 - p->y0) * PLOT;
}

/* Fills the reachable area under the roof. The slope leaves the picture at its left edge or at its
 * bottom. */
static void ground(svg *s, const plot *p) {
    double from = fmax(pow(10, p->x0), pow(10, p->y0) / p->bandwidth), bottom = p->top + PLOT;
    svg_print(s, "<path d=\"M%.1f %.1fV%.1fL%.1f %.1fH%dV%.1fZ\" class=\"under\"/>\n",
              across(p, from), bottom, down(p, from * p->bandwidth),
              across(p, p->peak / p->bandwidth), down(p, p->peak), SVG_WIDTH - RIGHT, bottom);
}

static void grid(svg *s, const plot *p) {
    char text[32];
    for (double d = ceil(p->x0); d <= p->x1; d++) {
        double x = across(p, pow(10, d));
        svg_print(s, "<path d=\"M%.1f %.1fV%.1f\" class=\"grid\"/>\n", x, p->top, p->top + PLOT);
        snprintf(text, sizeof text, "%g", pow(10, d));
        svg_text(s, x, p->top + PLOT + 18, "soft", "middle", text);
    }
    for (double d = ceil(p->y0); d <= p->y1; d++) {
        double y = down(p, pow(10, d));
        svg_print(s, "<path d=\"M%d %.1fH%d\" class=\"grid\"/>\n", LEFT, y, SVG_WIDTH - RIGHT);
        snprintf(text, sizeof text, "%g", pow(10, d - 12));
        svg_text(s, LEFT - 10, y + 4, "soft", "end", text);
    }
    svg_text(s, SVG_WIDTH - RIGHT, p->top + PLOT + 36, "soft small", "end",
             "FLOP per byte of a, b and c");
    svg_text(s, LEFT, p->top - 10, "soft small", "start", "TFLOP/s");
}

static void roof(svg *s, const plot *p) {
    double ridge = p->peak / p->bandwidth;
    double from = fmax(pow(10, p->x0), pow(10, p->y0) / p->bandwidth);
    char text[80];
    svg_print(s, "<path d=\"M%.1f %.1fL%.1f %.1fH%d\" class=\"roof\"/>\n", across(p, from),
              down(p, from * p->bandwidth), across(p, ridge), down(p, p->peak), SVG_WIDTH - RIGHT);
    snprintf(text, sizeof text, "%.0f TFLOP/s, computed", 1e-12 * p->peak);
    svg_text(s, SVG_WIDTH - RIGHT - 4, down(p, p->peak) - 7, "small", "end", text);
    double middle = sqrt(from * ridge), x = across(p, middle), y = down(p, middle * p->bandwidth);
    double angle =
        atan2(down(p, p->peak) - down(p, from * p->bandwidth), across(p, ridge) - across(p, from));
    snprintf(text, sizeof text, "%.2f TB/s, measured", 1e-12 * p->bandwidth);
    svg_print(s,
              "<text x=\"%.1f\" y=\"%.1f\" class=\"small\" text-anchor=\"middle\" "
              "transform=\"rotate(%.1f %.1f %.1f)\" dy=\"-7\">%s</text>\n",
              x, y, angle * 180 / 3.14159265358979, x, y, text);
}

static void dot(svg *s, const plot *p, const bench_row *row) {
    double x = across(p, flop_of(row) / bytes_of(row, true)), y = down(p, speed_of(row));
    char class[16], shape[64], kind[64];
    svg_class_of(s, row, class);
    svg_name_shape(row, shape);
    svg_name_kind(s, row, kind);
    svg_print(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"dot %s\"><title>", x, y,
              svg_is_peer(s->report, row) ? 4.5 : 5.5, class);
    svg_print(s, "%s%s%s, ", shape, *kind ? ", " : "", kind);
    svg_escape(bench_text_of(row, BENCH_name), s->writer, s->user);
    svg_print(s, ": %.1f TFLOP/s</title></circle>\n", 1e-12 * speed_of(row));
}

/* A problem's number, next to its lowest dot. */
typedef struct label {
    double x, y; /* where its text begins */
    unsigned number;
} label;

enum { LABEL_HEIGHT = 13, DIGIT_WIDTH = 8 };

static double width_of(const label *l) {
    unsigned digits = 1;
    for (unsigned n = l->number; n >= 10; n /= 10) digits++;
    return digits * DIGIT_WIDTH;
}

static bool do_overlap(const label *a, const label *b) {
    return a->x < b->x + width_of(b) && b->x < a->x + width_of(a) &&
           fabs(a->y - b->y) < LABEL_HEIGHT;
}

static bool is_free(const label *labels, size_t count, const label *l) {
    for (size_t i = 0; i < count; i++)
        if (do_overlap(&labels[i], l)) return false;
    return true;
}

/* Avoids overlaps between labels of nearby problems: tries positions alternately below and above
 * the existing labels, then further to the right. */
static void place_label(const plot *p, label *labels, size_t count, label l) {
    enum { FEW = 6 };
    const double wanted = l.y, bottom = p->top + PLOT - 4;
    for (unsigned step = 1; !is_free(labels, count, &l); step++) {
        double shift = (step + 1) / 2 * LABEL_HEIGHT;
        l.y = wanted + (step % 2 ? shift : -shift);
        if (l.y > bottom) l.y = wanted; /* taken; the next step tries above */
        if (step < FEW) continue;
        l.x += width_of(&l);
        l.y = wanted;
        step = 0;
    }
    labels[count] = l;
}

/* Draws the dots of one problem, one above the other. False: it has none. */
static bool draw_group(svg *s, const plot *p, size_t first, size_t end, label *l) {
    const bench_row *rows = s->report->rows;
    double least = 0, most = 0;
    for (size_t i = first; i < end; i++) {
        double speed = is_drawn(&rows[i]) ? speed_of(&rows[i]) : 0;
        if (speed > most) most = speed;
        if (speed > 0 && (least == 0 || speed < least)) least = speed;
    }
    if (most == 0) return false;
    double x = across(p, flop_of(&rows[first]) / bytes_of(&rows[first], true));
    svg_print(s, "<path d=\"M%.1f %.1fV%.1f\" class=\"stem\"/>\n", x, down(p, least),
              down(p, most));
    for (size_t i = end; i-- > first;) /* draws the best one last, on top */
        if (is_drawn(&rows[i])) dot(s, p, &rows[i]);
    l->x = x + 9;
    l->y = down(p, least) + 14;
    return true;
}

/* Drawn after all dots. */
static void draw_labels(svg *s, const label *labels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", labels[i].number);
        svg_text(s, labels[i].x, labels[i].y, "soft small", "start", text);
    }
}

void svg_roofline(svg *s) {
    plot p;
    unsigned number = 1;
    size_t count = 0;
    if (!s->report->count || !find_edges(s, &p)) return;
    label *labels = calloc(s->report->count, sizeof *labels);
    p.top = s->y + TOP;
    svg_text(s, SVG_MARGIN, s->y + 4, "panel", "start", "Roofline");
    svg_text(s, SVG_WIDTH - SVG_MARGIN, s->y + 4, "soft small", "end",
             "numbers: the products above");
    ground(s, &p);
    grid(s, &p);
    roof(s, &p);
    for (size_t first = 0, end; first < s->report->count; first = end, number++) {
        label l = {.number = number};
        end = svg_group_end(s, first);
        bool drawn = draw_group(s, &p, first, end, &l);
        if (drawn && labels) place_label(&p, labels, count++, l);
    }
    draw_labels(s, labels, count);
    free(labels);
    s->y += svg_roofline_height(s);
}
