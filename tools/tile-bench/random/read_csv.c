#include "tools/tile-bench/random/read_csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *path, *at;
    unsigned line;
    tool_text cell;
    int columns[BENCH_COLUMNS]; /* of the file's cells; BENCH_COLUMNS: one that is skipped */
    unsigned count;
} reader;

static bool fail(const reader *r, const char *what, const char *word) {
    fprintf(stderr, "error: %s:%u: %s '%s'\n", r->path, r->line, what, word);
    return false;
}

/* Reads a cell, which RFC 4180 allows to be quoted. *last: it ends its line. */
static bool read_cell(reader *r, bool *last) {
    bool quoted = *r->at == '"';
    r->cell.size = 0;
    r->at += quoted;
    tool_append("", 0, &r->cell);
    while (*r->at) {
        if (quoted && r->at[0] == '"' && r->at[1] != '"') break;
        if (!quoted && strchr(",\r\n", *r->at)) break;
        r->line += *r->at == '\n';
        r->at += quoted && *r->at == '"';
        tool_append(r->at++, 1, &r->cell);
    }
    if (quoted && *r->at != '"') return fail(r, "a quote is not closed in", r->cell.data);
    r->at += quoted;
    r->at += *r->at == '\r';
    *last = *r->at != ',';
    if (*last && *r->at && *r->at != '\n') return fail(r, "a comma is missing after", r->cell.data);
    r->line += *r->at == '\n';
    r->at += *r->at != 0;
    return true;
}

static bool read_head(reader *r) {
    for (bool last = false; !last;) {
        if (!read_cell(r, &last)) return false;
        if (r->count == BENCH_COLUMNS)
            return fail(r, "there are too many columns, with", r->cell.data);
        int column = bench_column_find(r->cell.data);
        if (column == BENCH_COLUMNS)
            return fail(r, "another version of tile-bench wrote the column", r->cell.data);
        r->columns[r->count++] = column;
    }
    return true;
}

static bool read_row(reader *r, bench_row *row) {
    bool last = false;
    for (unsigned i = 0; i < r->count; i++) {
        if (last) return fail(r, "the row ends too early, at", r->cell.data);
        if (!read_cell(r, &last)) return false;
        if (!*r->cell.data) continue;
        if (bench_set_cell(row, (bench_column)r->columns[i], r->cell.data)) continue;
        return fail(r, "a number was expected, not", r->cell.data);
    }
    return last || fail(r, "the row has more cells than the first line, after", r->cell.data);
}

bool bench_read_csv(const char *path, const char *text, bench_report *report) {
    reader r = {.path = path, .at = text, .line = 1};
    bool ok = read_head(&r);
    while (ok && *r.at) {
        bench_row *row = bench_report_add(report, 0, 0);
        ok = read_row(&r, row);
        size_t before = report->count - 1;
        if (before) row->group = row[-1].group + !bench_same_problem(&row[-1], row);
    }
    free(r.cell.data);
    return ok;
}
