/* One table of results, and the ways to write it. */
#ifndef TILE_TOOLS_TILE_BENCH_REPORT_REPORT_H
#define TILE_TOOLS_TILE_BENCH_REPORT_REPORT_H

#include "tools/common/tool.h"
#include "tools/tile-bench/common/lab.h"

typedef enum bench_column {
#define COLUMN(id, form, heading, digits, where, meaning) BENCH_##id,
#include "tools/tile-bench/report/columns.def"
#undef COLUMN
    BENCH_COLUMNS
} bench_column;

enum { BENCH_MAX_SERIES = 66 };

typedef struct bench_cell {
    bool known;
    double number;
    char *text; /* of a text column; the report's */
} bench_cell;

typedef struct bench_row {
    unsigned group;  /* rows of one product have one number */
    unsigned series; /* rows of one candidate have one, below BENCH_MAX_SERIES */
    bench_cell cells[BENCH_COLUMNS];
} bench_row;

/* Start with zeros. */
typedef struct bench_report {
    bench_facts facts;
    char title[200];                   /* what was measured: "f16 NN, interleaved, .." */
    char peer[40];                     /* "cuBLASLt 13.1.0"; empty: there is none */
    const char *peer_kind, *peer_name; /* "cublaslt", and "cuBLAS" in headings; NULL: no peer */
    char peak[80]; /* what the tensor cores' peak was computed from; empty: it was not */
    unsigned
        best; /* text has so many kernels of each product, on lines of their own; 0: every row */
    bench_row *rows;
    size_t count;
} bench_report;

void bench_report_free(bench_report *report);
/* An empty row, until the next one is added. */
bench_row *bench_report_add(bench_report *report, unsigned group, unsigned series);
void bench_set_number(bench_row *row, bench_column column, double number);
void bench_set_text(bench_row *row, bench_column column, const char *text);
/* NULL or 0 where the cell is not known. */
const char *bench_text_of(const bench_row *row, bench_column column);
double bench_number_of(const bench_row *row, bench_column column);
/* Whether not all rows have the same in a column of text. */
bool bench_report_varies(const bench_report *report, bench_column column);
/* By group; in one, the ranked rows first, then the others of kernels, then the floors. */
void bench_report_sort(bench_report *report);

/* Text for a terminal; colour is for the best, what failed, and the floors. */
void bench_write_text(const bench_report *report, bool colour, tile_writer writer, void *user);
/* The two parts of it: what was measured how, and the table. */
void bench_write_title(const bench_report *report, tile_writer writer, void *user);
void bench_write_table(const bench_report *report, bool colour, tile_writer writer, void *user);
void bench_write_csv(const bench_report *report, tile_writer writer, void *user);
void bench_write_json(const bench_report *report, tile_writer writer, void *user);
/* Bars and a roofline in one SVG file that needs nothing else, for light and dark. */
void bench_write_svg(const bench_report *report, tile_writer writer, void *user);

/* printf to a writer, at most 2000 bytes at once. */
void bench_print(tile_writer writer, void *user, const char *format, ...) TILE_PRINTF(3, 4);

#endif
