/* Helpers for the drawings of a report. Lengths are in pixels. */
#ifndef TILE_TOOLS_TILE_BENCH_REPORT_SVG_H
#define TILE_TOOLS_TILE_BENCH_REPORT_SVG_H

#include "tools/common/svg.h"
#include "tools/tile-bench/report/report.h"

enum {
    SVG_WIDTH = 980,
    SVG_MARGIN = 32,
};

typedef struct svg {
    const bench_report *report;
    tile_writer writer;
    void *user;
    double y; /* where the next panel begins */
} svg;

void svg_print(svg *s, const char *format, ...) TILE_PRINTF(2, 3);
/* Draws a line of text; anchor: start, middle or end. */
void svg_text(svg *s, double x, double y, const char *class, const char *anchor, const char *text);
/* "16 × 4096 × 14336", "4 × 32/8 × 4096 × 128 causal" */
void svg_name_shape(const bench_row *row, char text[64]);
/* Writes the properties that distinguish problems of one shape in the report, such as "bf16, NT,
 * dirty L2"; "": none. */
void svg_name_kind(const svg *s, const bench_row *row, char text[64]);
/* Returns the CSS class of a row's color: s0.., or `peer`. */
void svg_class_of(const svg *s, const bench_row *row, char class[16]);
bool svg_is_kind(const bench_row *row, const char *kind);
bool svg_is_peer(const bench_report *report, const bench_row *row);
/* Returns the index after the last row of the group that begins at `first`. */
size_t svg_group_end(const svg *s, size_t first);

/* Each panel has a function that returns its height (0: nothing to show), and one that draws it and
 * advances y. */
double svg_bars_height(const svg *s);
void svg_bars(svg *s);
double svg_roofline_height(const svg *s);
void svg_roofline(svg *s);

#endif
