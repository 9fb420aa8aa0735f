/* The table of results, and functions that write it. */
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
    char *text; /* of a text column; owned by the report */
} bench_cell;

typedef struct bench_row {
    unsigned group;  /* equal in all rows of one problem */
    unsigned series; /* equal in all rows of one candidate, below BENCH_MAX_SERIES */
    bool is_other;   /* read from a file, and not of a problem of this run */
    bench_cell cells[BENCH_COLUMNS];
} bench_row;

/* Zero-initialize. */
typedef struct bench_report {
    bench_facts facts;
    char title[200];                   /* what was measured: "f16 NN, interleaved, .." */
    char peer[40];                     /* "cuBLASLt 13.1.0"; empty: no peer */
    const char *peer_kind, *peer_name; /* "cublaslt", and in headings "cuBLAS"; NULL: no peer */
    char peak[80];                     /* how the tensor cores' peak was computed; empty: unknown */
    unsigned
        best; /* text lists this many kernels of each product, on separate lines; 0: every row */
    bench_row *rows;
    size_t count;
} bench_report;

void bench_report_free(bench_report *report);
/* Adds an empty row; the pointer is valid until the next row is added. */
bench_row *bench_report_add(bench_report *report, unsigned group, unsigned series);
void bench_set_number(bench_row *row, bench_column column, double number);
void bench_set_text(bench_row *row, bench_column column, const char *text);
/* Return NULL or 0 if the cell is unknown. */
const char *bench_text_of(const bench_row *row, bench_column column);
double bench_number_of(const bench_row *row, bench_column column);
/* Returns the column with this id, BENCH_COLUMNS if there is none. */
bench_column bench_column_find(const char *id);
/* Sets a cell from its text in a CSV file. False if a number was expected. */
bool bench_set_cell(bench_row *row, bench_column column, const char *text);
void bench_copy_cell(const bench_row *from, bench_row *to, bench_column column);
/* True if both rows have the same cells up to the column l2. */
bool bench_same_problem(const bench_row *a, const bench_row *b);
/* True if rows differ in a text column. */
bool bench_report_varies(const bench_report *report, bench_column column);
/* Sorts by group. Within a group, ranked rows come first, then other kernels, then floors. */
void bench_report_sort(bench_report *report);

/* Writes text for a terminal. Colors mark the best rows, failures and floors. */
void bench_write_text(const bench_report *report, bool colour, tile_writer writer, void *user);
/* The two parts of it: what was measured and how, and the table. */
void bench_write_title(const bench_report *report, tile_writer writer, void *user);
void bench_write_table(const bench_report *report, bool colour, tile_writer writer, void *user);
void bench_write_csv(const bench_report *report, tile_writer writer, void *user);
/* Writes only the columns that some row has. */
void bench_write_known_csv(const bench_report *report, tile_writer writer, void *user);
void bench_write_json(const bench_report *report, tile_writer writer, void *user);
/* Writes bars and a roofline as one self-contained SVG file, for light and dark themes. */
void bench_write_svg(const bench_report *report, tile_writer writer, void *user);

/* printf to a writer, at most 2000 bytes per call. */
void bench_print(tile_writer writer, void *user, const char *format, ...) TILE_PRINTF(3, 4);

#endif
