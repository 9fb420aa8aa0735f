/* Draws layouts: one grid per tile, whose colors are warps and lanes, or banks.
 *
 * Adjacent elements that one thread holds are one rectangle, and so are elements in one 16-byte
 * chunk of a buffer. Each mark has a <title> with its meaning, which browsers show on hover. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/svg.h"
#include "tools/tile-opt/layouts.h"

enum { MARGIN = 32, WIDTH = 1040, LEFT = 76, HEAD = 62, LINE = 18, FOOT = 34, LANES = 32 };

typedef struct drawing {
    tool_text *out;
    double y;
} drawing;

static void print(drawing *d, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    svg_vprint(tool_append, d->out, format, arguments);
    va_end(arguments);
}

static void text(drawing *d, double x, double y, const char *class, const char *anchor,
                 const char *words) {
    print(d, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class, anchor);
    svg_escape(words, tool_append, d->out);
    print(d, "</text>\n");
}

/* Colours -------------------------------------------------------------------------------------- */

/* The color of a mark: its hue, one of eight series, and its opacity. */
typedef struct shade {
    unsigned hue;
    double full;
} shade;

/* The hue shows the warp and the opacity the lane. With a single warp, hues show quads of lanes. */
static shade thread_shade(const tile_layout *l, uint32_t thread) {
    unsigned lane = thread % LANES;
    if (!l->warp_bits) return (shade){lane / 4 % SVG_COLOURS, 0.42 + 0.16 * (lane % 4)};
    return (shade){thread / LANES % SVG_COLOURS, 0.28 + 0.66 * lane / (LANES - 1)};
}

static shade bank_shade(uint32_t bank) {
    return (shade){bank / 4, 0.42 + 0.16 * (bank % 4)};
}

static void mark(drawing *d, double x, double y, double width, double height, shade s,
                 const char *title) {
    print(d,
          "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" rx=\"2\" class=\"s%u\" "
          "fill-opacity=\"%.2f\">",
          x, y, width, height, s.hue, s.full);
    if (title) {
        print(d, "<title>");
        svg_escape(title, tool_append, d->out);
        print(d, "</title>");
    }
    print(d, "</rect>\n");
}

/* Grids ---------------------------------------------------------------------------------------- */

typedef struct plane {
    layouts_grid grid;
    bool shared;
    double cell; /* side length */
} plane;

static bool belong_together(const plane *p, uint32_t a, uint32_t b) {
    if (!p->shared) return layouts_thread(a) == layouts_thread(b);
    uint32_t x = layouts_byte(&p->grid, a), y = layouts_byte(&p->grid, b);
    return x / 16 == y / 16 && x / 4 <= y / 4;
}

static uint32_t run_end(const plane *p, uint32_t row, uint32_t column) {
    uint32_t first = layouts_holder(&p->grid, row, column), end = column + 1;
    while (end < p->grid.shown_columns &&
           belong_together(p, first, layouts_holder(&p->grid, row, end)))
        end++;
    return end;
}

static void title_of(const plane *p, uint32_t row, uint32_t column, uint32_t end, tool_text *out) {
    uint32_t first = layouts_holder(&p->grid, row, column),
             last = layouts_holder(&p->grid, row, end - 1);
    layouts_format(out, "[%u, %u", row, column);
    if (end > column + 1) layouts_format(out, " to %u", end - 1);
    if (p->shared)
        layouts_format(out, "]: byte %u, bank %u", layouts_byte(&p->grid, first),
                       layouts_bank(&p->grid, first));
    else
        layouts_format(out, "]: thread %u (warp %u, lane %u), register %u to %u",
                       layouts_thread(first), layouts_thread(first) / LANES,
                       layouts_thread(first) % LANES, layouts_register(first),
                       layouts_register(last));
}

/* Draws as much of the label as fits; characters are 5 pixels wide. */
static void label_run(drawing *d, const plane *p, double x, double y, double width,
                      uint32_t holder) {
    enum { LETTER = 5 };
    tool_text label = {NULL, 0, 0};
    uint32_t what = p->shared ? layouts_byte(&p->grid, holder) : layouts_thread(holder);
    layouts_format(&label, "%u", what);
    size_t plain = label.size;
    layouts_format(&label, p->shared ? "@%u" : ":%u",
                   p->shared ? layouts_bank(&p->grid, holder) : layouts_register(holder));
    if ((double)label.size * LETTER > width - 2) label.data[label.size = plain] = 0;
    if ((double)label.size * LETTER <= width - 2 && p->cell >= 9)
        text(d, x + width / 2, y + p->cell / 2 + 3, "cell", "middle", label.data);
    free(label.data);
}

static void draw_row(drawing *d, const plane *p, uint32_t row) {
    double y = d->y + row * p->cell;
    for (uint32_t c = 0, end; c < p->grid.shown_columns; c = end) {
        tool_text title = {NULL, 0, 0};
        uint32_t holder = layouts_holder(&p->grid, row, c);
        end = run_end(p, row, c);
        double x = LEFT + c * p->cell, width = (end - c) * p->cell - 1;
        title_of(p, row, c, end, &title);
        mark(d, x, y, width, p->cell - 1,
             p->shared ? bank_shade(layouts_bank(&p->grid, holder))
                       : thread_shade(p->grid.type->layout, layouts_thread(holder)),
             title.data);
        label_run(d, p, x, y, width, holder);
        free(title.data);
    }
}

/* Returns how many rows or columns one axis label must cover to have enough room. */
static uint32_t label_step(double cell, double room) {
    uint32_t step = 1;
    while (step * cell < room) step *= 2;
    return step;
}

static void draw_axes(drawing *d, const plane *p) {
    char number[16];
    for (uint32_t c = 0; c < p->grid.shown_columns; c += label_step(p->cell, 26)) {
        snprintf(number, sizeof number, "%u", c);
        text(d, LEFT + (c + 0.5) * p->cell, d->y - 6, "soft small", "middle", number);
    }
    for (uint32_t r = 0; r < p->grid.shown_rows; r += label_step(p->cell, 14)) {
        snprintf(number, sizeof number, "%u", p->grid.type->rank == 1 ? r * p->grid.columns : r);
        text(d, LEFT - 8, d->y + (r + 0.5) * p->cell + 4, "soft small", "end", number);
    }
}

/* Legends -------------------------------------------------------------------------------------- */

static void swatches(drawing *d, const char *what, unsigned count, bool banks,
                     const tile_layout *layout, unsigned step) {
    enum { SIDE = 20 };
    char number[16];
    text(d, LEFT, d->y + 12, "soft", "start", what);
    for (unsigned i = 0; i < count; i++) {
        double x = LEFT + 52 + i * (SIDE + 2.0);
        mark(d, x, d->y, SIDE, 15, banks ? bank_shade(i) : thread_shade(layout, i * step), NULL);
        snprintf(number, sizeof number, "%u", i);
        text(d, x + SIDE / 2.0, d->y + 11.5, "cell", "middle", number);
    }
    d->y += LINE + 4;
}

static void draw_legend(drawing *d, const plane *p) {
    const tile_layout *l = p->grid.type->layout;
    if (p->shared) {
        swatches(d, "banks", LANES, true, l, 1);
        return;
    }
    if (l->warp_bits) swatches(d, "warps", 1u << l->warp_bits, false, l, LANES);
    swatches(d, l->warp_bits ? "lanes" : "lanes", LANES, false, l, 1);
}

/* Panels --------------------------------------------------------------------------------------- */

static plane open_plane(const layouts_group *group) {
    enum { LARGEST = 34 };
    plane p = {.grid = layouts_open(group->type), .shared = group->type->kind == TILE_TYPE_SHARED};
    p.cell = floor((WIDTH - LEFT - MARGIN) / (double)p.grid.shown_columns);
    if (p.cell > LARGEST) p.cell = LARGEST;
    return p;
}

static double panel_height(const layouts_group *group) {
    plane p = open_plane(group);
    double legends = (p.shared || !group->type->layout->warp_bits ? 1 : 2) * (LINE + 4.0);
    double height =
        HEAD + p.cell * p.grid.shown_rows + 18 + legends + LINE * group->use_count + FOOT;
    layouts_close(&p.grid);
    return height;
}

static void describe(drawing *d, const layouts_group *group, const plane *p) {
    tool_text words = {NULL, 0, 0};
    text(d, MARGIN, d->y + 16, "panel", "start", group->names.data);
    layouts_format(&words, "@%s  ", group->function);
    layouts_describe(group->type, &words);
    if (p->grid.shown_rows < p->grid.rows || p->grid.shown_columns < p->grid.columns)
        layouts_format(&words, "; the first %u x %u", p->grid.shown_rows, p->grid.shown_columns);
    text(d, MARGIN, d->y + 34, "soft", "start", words.data);
    free(words.data);
}

static void draw_panel(drawing *d, const layouts_group *group) {
    plane p = open_plane(group);
    double begin = d->y;
    describe(d, group, &p);
    d->y += HEAD;
    draw_axes(d, &p);
    for (uint32_t r = 0; r < p.grid.shown_rows; r++) draw_row(d, &p, r);
    d->y += p.cell * p.grid.shown_rows + 18;
    draw_legend(d, &p);
    for (unsigned i = 0; i < group->use_count; i++) {
        tool_text words = {NULL, 0, 0};
        bool bad = group->uses[i].needless != 0;
        layouts_describe_use(&group->uses[i], &words);
        text(d, LEFT, d->y + 12, bad ? "bad" : "soft", "start", words.data);
        free(words.data);
        d->y += LINE;
    }
    d->y = begin + panel_height(group);
    layouts_close(&p.grid);
}

void layouts_draw(const layouts_report *report, tool_text *out) {
    static const char own[] =
        "<style>.cell { font-size: 9px; fill: #10151d; pointer-events: none }\n"
        "@media (prefers-color-scheme: dark) { .cell { fill: #f3f6fa } }</style>\n";
    drawing d = {.out = out, .y = MARGIN - 8};
    double height = d.y;
    for (unsigned i = 0; i < report->count; i++) height += panel_height(&report->groups[i]);
    print(&d,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
          "height=\"%.0f\" role=\"img\">\n<title>Layouts</title>\n",
          WIDTH, height, WIDTH, height);
    svg_write_style(tool_append, out);
    tool_append(own, sizeof own - 1, out);
    print(&d, "<rect class=\"paper\" width=\"%d\" height=\"%.0f\" rx=\"12\"/>\n", WIDTH, height);
    for (unsigned i = 0; i < report->count; i++) draw_panel(&d, &report->groups[i]);
    print(&d, "</svg>\n");
}
