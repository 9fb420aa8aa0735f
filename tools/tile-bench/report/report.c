/* Writes the table of results as text, CSV and JSON. */
#include "tools/tile-bench/report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum form { FORM_text, FORM_whole, FORM_number, FORM_small, FORM_share } form;
typedef enum where {
    WHERE_always,
    WHERE_own,
    WHERE_varying,
    WHERE_known,
    WHERE_brief,
    WHERE_data,
    WHERE_file
} where;

static const struct {
    const char *id, *heading;
    form form;
    where where;
    int digits;
} columns[BENCH_COLUMNS] = {
#define COLUMN(id, form, heading, digits, where, meaning) \
    {#id, heading, FORM_##form, WHERE_##where, digits},
#include "tools/tile-bench/report/columns.def"
#undef COLUMN
};

void bench_print(tile_writer writer, void *user, const char *format, ...) {
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    writer(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1, user);
}

static void put(tile_writer writer, void *user, const char *text) {
    writer(text, strlen(text), user);
}

/* Rows ---------------------------------------------------------------------------------------- */

bench_row *bench_report_add(bench_report *report, unsigned group, unsigned series) {
    report->rows = realloc(report->rows, (report->count + 1) * sizeof *report->rows);
    if (!report->rows) abort();
    bench_row *row = &report->rows[report->count++];
    memset(row, 0, sizeof *row);
    row->group = group;
    row->series = series;
    return row;
}

void bench_report_free(bench_report *report) {
    for (size_t i = 0; i < report->count; i++)
        for (int c = 0; c < BENCH_COLUMNS; c++) free(report->rows[i].cells[c].text);
    free(report->rows);
    report->rows = NULL;
    report->count = 0;
}

void bench_set_number(bench_row *row, bench_column column, double number) {
    row->cells[column].known = true;
    row->cells[column].number = number;
}

void bench_set_text(bench_row *row, bench_column column, const char *text) {
    free(row->cells[column].text);
    row->cells[column].known = true;
    row->cells[column].text = tool_copy(text, strlen(text));
}

const char *bench_text_of(const bench_row *row, bench_column column) {
    return row->cells[column].text;
}

double bench_number_of(const bench_row *row, bench_column column) {
    return row->cells[column].known ? row->cells[column].number : 0;
}

bench_column bench_column_find(const char *id) {
    int column = 0;
    while (column < BENCH_COLUMNS && strcmp(columns[column].id, id) != 0) column++;
    return (bench_column)column;
}

bool bench_set_cell(bench_row *row, bench_column column, const char *text) {
    char *end;
    if (columns[column].form == FORM_text) {
        bench_set_text(row, column, text);
        return true;
    }
    bench_set_number(row, column, strtod(text, &end));
    return end != text && !*end;
}

void bench_copy_cell(const bench_row *from, bench_row *to, bench_column column) {
    const bench_cell *cell = &from->cells[column];
    if (cell->known && cell->text)
        bench_set_text(to, column, cell->text);
    else if (cell->known)
        bench_set_number(to, column, cell->number);
}

bool bench_same_problem(const bench_row *a, const bench_row *b) {
    for (int c = 0; c <= BENCH_l2; c++) {
        const char *x = a->cells[c].text, *y = b->cells[c].text;
        if (a->cells[c].known != b->cells[c].known || a->cells[c].number != b->cells[c].number ||
            strcmp(x ? x : "", y ? y : "") != 0)
            return false;
    }
    return true;
}

static bool has_text(const bench_row *row, bench_column column, const char *text) {
    const char *found = bench_text_of(row, column);
    return found && text && strcmp(found, text) == 0;
}

bool bench_report_varies(const bench_report *r, bench_column column) {
    for (size_t i = 1; i < r->count; i++) {
        const char *a = bench_text_of(&r->rows[i], column);
        const char *b = bench_text_of(&r->rows[0], column);
        if (strcmp(a ? a : "", b ? b : "") != 0) return true;
    }
    return false;
}

/* Returns the sort key of a row within its group. */
static double place_of(const bench_row *row) {
    if (row->cells[BENCH_rank].known) return row->cells[BENCH_rank].number;
    if (has_text(row, BENCH_kind, "floor")) return 2e9;
    return 1e9;
}

static int by_place(const void *a, const void *b) {
    const bench_row *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return (place_of(x) > place_of(y)) - (place_of(x) < place_of(y));
}

/* An insertion sort, because it is stable, unlike qsort. There are few rows. */
void bench_report_sort(bench_report *report) {
    for (size_t i = 1; i < report->count; i++)
        for (size_t j = i; j && by_place(&report->rows[j - 1], &report->rows[j]) > 0; j--) {
            bench_row swap = report->rows[j];
            report->rows[j] = report->rows[j - 1];
            report->rows[j - 1] = swap;
        }
}

/* Text ---------------------------------------------------------------------------------------- */

enum { MARGIN = 2, MAX_CELL = 200 };

/* Counts UTF-8 characters. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void write_cell(const bench_row *row, int column, char text[MAX_CELL]) {
    const bench_cell *cell = &row->cells[column];
    *text = 0;
    if (!cell->known) return;
    switch (columns[column].form) {
    case FORM_text: snprintf(text, MAX_CELL, "%s", cell->text); break;
    case FORM_whole: snprintf(text, MAX_CELL, "%.0f", cell->number); break;
    case FORM_number: snprintf(text, MAX_CELL, "%.*f", columns[column].digits, cell->number); break;
    case FORM_small: snprintf(text, MAX_CELL, "%.*e", columns[column].digits, cell->number); break;
    case FORM_share:
        snprintf(text, MAX_CELL, "%.*f %%", columns[column].digits, 100 * cell->number);
        break;
    }
}

/* True if the row shows its note instead of numbers, because the candidate failed. */
static bool is_reported(const bench_row *row) {
    return row->cells[BENCH_note].known && !row->cells[BENCH_latency_us].known;
}

/* A brief text lists only the first kernels of each problem, which are the best. */
static bool is_listed(const bench_report *r, size_t row) {
    unsigned before = 0;
    if (!r->best) return true;
    for (size_t i = row; i-- > 0 && r->rows[i].group == r->rows[row].group;)
        before += has_text(&r->rows[i], BENCH_kind, "kernel");
    return has_text(&r->rows[row], BENCH_kind, "kernel") && before < r->best;
}

static bool is_known(const bench_report *r, int column) {
    for (size_t i = 0; i < r->count; i++)
        if (r->rows[i].cells[column].known) return true;
    return false;
}

static bool is_shown(const bench_report *r, int column) {
    switch (columns[column].where) {
    case WHERE_always: return true;
    case WHERE_data:
    case WHERE_file: return false;
    case WHERE_brief:
        if (!r->best) return false;
        break;
    case WHERE_varying: return bench_report_varies(r, (bench_column)column);
    case WHERE_own:
    case WHERE_known: break;
    }
    for (size_t i = 0; i < r->count; i++)
        if (is_listed(r, i) && r->rows[i].cells[column].known) return true;
    return false;
}

/* Writes the column's heading, with the peer's name filled in. */
static void write_heading(const bench_report *r, int column, char text[MAX_CELL]) {
    static const char word[] = "{peer}";
    const char *heading = columns[column].heading, *at = strstr(heading, word);
    if (at)
        snprintf(text, MAX_CELL, "%.*s%s%s", (int)(at - heading), heading,
                 r->peer_name ? r->peer_name : "peer", at + strlen(word));
    else
        snprintf(text, MAX_CELL, "%s", heading);
}

static int measure_column(const bench_report *r, int column) {
    char heading[MAX_CELL];
    write_heading(r, column, heading);
    int width = width_of(heading);
    for (size_t i = 0; i < r->count; i++) {
        char text[MAX_CELL];
        if (!is_listed(r, i)) continue;
        write_cell(&r->rows[i], column, text);
        if (width_of(text) > width) width = width_of(text);
    }
    return width;
}

static void pad(int count, tile_writer writer, void *user) {
    for (; count > 0; count--) put(writer, user, " ");
}

static void align(const char *text, int width, bool left, tile_writer writer, void *user) {
    if (!left) pad(width - width_of(text), writer, user);
    put(writer, user, text);
    if (left) pad(width - width_of(text), writer, user);
}

/* True if the column has the same value in all rows of a group, and so is written only in the
 * first. */
static bool is_of_product(int column) {
    return column <= BENCH_l2;
}

/* Writes a row without trailing blanks. */
static void write_row(const bench_row *row, bool first, const int *widths, tile_writer writer,
                      void *user) {
    int gap = 0;
    for (int c = 0; c < BENCH_COLUMNS; c++) {
        char text[MAX_CELL] = "";
        if (widths[c] < 0) continue;
        if (first || !is_of_product(c)) write_cell(row, c, text);
        if (is_reported(row) && c > BENCH_name) break;
        bool left = columns[c].form == FORM_text;
        if (*text) {
            pad(gap + (left ? 0 : widths[c] - width_of(text)), writer, user);
            put(writer, user, text);
            gap = MARGIN + (left ? widths[c] - width_of(text) : 0);
        } else {
            gap += widths[c] + MARGIN;
        }
    }
    if (is_reported(row)) {
        pad(gap, writer, user);
        put(writer, user, bench_text_of(row, BENCH_note));
    }
}

static const char *paint_of(const bench_row *row) {
    if (is_reported(row)) return "\033[31m";
    if (has_text(row, BENCH_kind, "floor")) return "\033[2m";
    return bench_number_of(row, BENCH_rank) == 1 ? "\033[1m" : "";
}

static void write_facts(const bench_report *r, tile_writer writer, void *user) {
    const bench_facts *f = &r->facts;
    bench_print(writer, user, "%s", *f->name ? f->name : "?");
    if (f->sms) bench_print(writer, user, ", %u SMs", f->sms);
    if (f->clock) bench_print(writer, user, ", %u MHz", f->clock);
    if (f->l2_bytes) bench_print(writer, user, ", %.0f MiB of L2", (double)f->l2_bytes / 0x1p20);
    if (f->power_limit) bench_print(writer, user, ", %u W", f->power_limit);
    if (*f->driver) bench_print(writer, user, "; driver %s", f->driver);
    if (*r->peer) bench_print(writer, user, "; %s", r->peer);
    put(writer, user, "\n");
}

static void write_headings(const bench_report *r, const int *widths, tile_writer writer,
                           void *user) {
    int total = 0;
    for (int c = 0; c < BENCH_COLUMNS; c++) {
        if (widths[c] < 0) continue;
        bool last = true;
        char heading[MAX_CELL];
        write_heading(r, c, heading);
        for (int d = c + 1; d < BENCH_COLUMNS; d++) last &= widths[d] < 0;
        bool left = columns[c].form == FORM_text;
        pad(total ? MARGIN : 0, writer, user);
        align(heading, last && left ? 0 : widths[c], left, writer, user);
        total += (total ? MARGIN : 0) + (last && left ? width_of(heading) : widths[c]);
    }
    put(writer, user, "\n");
    for (int i = 0; i < total; i++) put(writer, user, "─");
    put(writer, user, "\n");
}

void bench_write_title(const bench_report *r, tile_writer writer, void *user) {
    write_facts(r, writer, user);
    bench_print(writer, user, "%s\n", r->title);
    if (*r->peak) bench_print(writer, user, "%s\n", r->peak);
    put(writer, user, "\n");
}

void bench_write_text(const bench_report *r, bool colour, tile_writer writer, void *user) {
    bench_write_title(r, writer, user);
    bench_write_table(r, colour, writer, user);
}

void bench_write_table(const bench_report *r, bool colour, tile_writer writer, void *user) {
    int widths[BENCH_COLUMNS];
    for (int c = 0; c < BENCH_COLUMNS; c++) widths[c] = is_shown(r, c) ? measure_column(r, c) : -1;
    write_headings(r, widths, writer, user);
    for (size_t i = 0; i < r->count; i++) {
        const bench_row *row = &r->rows[i];
        bool first = r->best || i == 0 || row[-1].group != row->group;
        const char *paint = colour ? paint_of(row) : "";
        if (!is_listed(r, i)) continue;
        if (first && i && !r->best) put(writer, user, "\n");
        put(writer, user, paint);
        write_row(row, first, widths, writer, user);
        put(writer, user, *paint ? "\033[0m\n" : "\n");
    }
}

/* Data ---------------------------------------------------------------------------------------- */

/* Integers are written as such, other numbers with all significant digits of a double. */
static void write_number(double number, tile_writer writer, void *user) {
    bool whole = number == floor(number) && fabs(number) < 1e15;
    bench_print(writer, user, whole ? "%.0f" : "%.9g", number);
}

/* Quotes as RFC 4180 says. */
static void write_csv_text(const char *text, tile_writer writer, void *user) {
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (!quoted) {
        put(writer, user, text);
        return;
    }
    put(writer, user, "\"");
    for (; *text; text++) {
        if (*text == '"') put(writer, user, "\"");
        writer(text, 1, user);
    }
    put(writer, user, "\"");
}

static bool is_in_csv(const bench_report *r, int column, bool known) {
    if (known) return is_known(r, column);
    if (columns[column].where == WHERE_file) return is_known(r, column);
    return columns[column].where != WHERE_own || r->count == 0 || is_known(r, column);
}

static void write_csv(const bench_report *r, bool known, tile_writer writer, void *user) {
    bool first = true;
    for (int c = 0; c < BENCH_COLUMNS; c++) {
        if (!is_in_csv(r, c, known)) continue;
        bench_print(writer, user, "%s%s", first ? "" : ",", columns[c].id);
        first = false;
    }
    put(writer, user, "\n");
    for (size_t i = 0; i < r->count; i++) {
        first = true;
        for (int c = 0; c < BENCH_COLUMNS; c++) {
            const bench_cell *cell = &r->rows[i].cells[c];
            if (!is_in_csv(r, c, known)) continue;
            if (!first) put(writer, user, ",");
            first = false;
            if (!cell->known) continue;
            if (columns[c].form == FORM_text)
                write_csv_text(cell->text, writer, user);
            else
                write_number(cell->number, writer, user);
        }
        put(writer, user, "\n");
    }
}

void bench_write_csv(const bench_report *r, tile_writer writer, void *user) {
    write_csv(r, false, writer, user);
}

void bench_write_known_csv(const bench_report *r, tile_writer writer, void *user) {
    write_csv(r, true, writer, user);
}

static void write_json_row(const bench_row *row, tile_writer writer, void *user) {
    bool first = true;
    put(writer, user, "    {");
    for (int c = 0; c < BENCH_COLUMNS; c++) {
        const bench_cell *cell = &row->cells[c];
        if (!cell->known) continue;
        bench_print(writer, user, "%s\"%s\": ", first ? "" : ", ", columns[c].id);
        first = false;
        if (columns[c].form == FORM_text)
            tool_write_json_string(cell->text, writer, user);
        else
            write_number(cell->number, writer, user);
    }
    put(writer, user, "}");
}

void bench_write_json(const bench_report *r, tile_writer writer, void *user) {
    const bench_facts *f = &r->facts;
    put(writer, user, "{\n  \"device\": {\"name\": ");
    tool_write_json_string(f->name, writer, user);
    bench_print(writer, user,
                ", \"sms\": %u, \"capability\": %u, \"clock_mhz\": %u, \"l2_bytes\": %llu, "
                "\"power_limit_w\": %u, \"driver\": ",
                f->sms, f->capability, f->clock, (unsigned long long)f->l2_bytes, f->power_limit);
    tool_write_json_string(f->driver, writer, user);
    put(writer, user, "},\n  \"title\": ");
    tool_write_json_string(r->title, writer, user);
    put(writer, user, ",\n  \"peer\": ");
    tool_write_json_string(r->peer, writer, user);
    put(writer, user, ",\n  \"rows\": [\n");
    for (size_t i = 0; i < r->count; i++) {
        write_json_row(&r->rows[i], writer, user);
        put(writer, user, i + 1 < r->count ? ",\n" : "\n");
    }
    put(writer, user, "  ]\n}\n");
}
