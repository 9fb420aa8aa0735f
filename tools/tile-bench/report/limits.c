/* Checks the limits that a report must satisfy. */
#include "tools/tile-bench/report/limits.h"

#include <math.h>
#include <string.h>

/* If no error is allowed, any error exceeds the limit; the ratio is capped so that it stays
 * finite. */
static double share_of(double own, double allowed) {
    const double largest = 1e6;
    double share = allowed > 0 ? own / allowed : own > 0 ? largest : 0;
    return share < largest ? share : largest;
}

void bench_shares_add(bench_shares *shares, const bench_error *own, const bench_error *flash) {
    shares->most = fmax(shares->most, share_of(own->most, 1.5 * flash->most + 2e-4));
    shares->norm = fmax(shares->norm, share_of(own->norm, 1.3 * flash->norm));
}

typedef enum relation { RELATION_most, RELATION_least } relation;
typedef enum where { WHERE_everywhere, WHERE_timed } where;

typedef struct limit {
    bench_column column;
    relation relation;
    double bound;
    where where;
    const char *what;
} limit;

static const limit limits[] = {
#define LIMIT(column, relation, bound, where, what) \
    {BENCH_##column, RELATION_##relation, bound, WHERE_##where, what},
#include "tools/tile-bench/report/limits.def"
#undef LIMIT
};

static bool is_right_kernel(const bench_row *row) {
    const char *kind = bench_text_of(row, BENCH_kind), *status = bench_text_of(row, BENCH_status);
    return kind && strcmp(kind, "kernel") == 0 && status && strncmp(status, "right", 5) == 0;
}

static double excess(const limit *l, double value) {
    return l->relation == RELATION_most ? value - l->bound : l->bound - value;
}

/* Writes, for example, "attention 1 16 16 4096 4096 128 causal bf16 dirty", as far as the row's
 * cells are known. */
static void write_name(const bench_row *row, tile_writer writer, void *user) {
    bench_print(writer, user, "%s", bench_text_of(row, BENCH_name));
    for (int c = 0; c <= BENCH_l2; c++) {
        const char *text = bench_text_of(row, (bench_column)c);
        if (text && *text)
            bench_print(writer, user, " %s", text);
        else if (!text && row->cells[c].known)
            bench_print(writer, user, " %.0f", row->cells[c].number);
    }
}

static bool check_limit(const limit *l, const bench_report *r, tile_writer writer, void *user) {
    unsigned kept = 0, broken = 0;
    double worst = 0;
    for (size_t i = 0; i < r->count; i++) {
        const bench_row *row = &r->rows[i];
        double value = bench_number_of(row, l->column);
        if (!is_right_kernel(row) || !row->cells[l->column].known) continue;
        if (kept + broken == 0 || excess(l, value) > excess(l, worst)) worst = value;
        /* A comparison with NaN is false, so a NaN violates the limit. */
        bool keeps = excess(l, value) <= 0;
        kept += keeps;
        broken += !keeps;
        if (keeps) continue;
        bench_print(writer, user, "broken: ");
        write_name(row, writer, user);
        bench_print(writer, user, ": %.3f is %s, %s %g\n", value, l->what,
                    l->relation == RELATION_most ? "above" : "below", l->bound);
    }
    if (kept + broken)
        bench_print(writer, user, "limit: %s is at %s %g in %u of %u, %.3f at worst\n", l->what,
                    l->relation == RELATION_most ? "most" : "least", l->bound, kept, kept + broken,
                    worst);
    return !broken;
}

/* Reports rows without a comparison, so that they are not mistaken for passing. */
static void report_missing(const bench_report *r, tile_writer writer, void *user) {
    unsigned flash = 0, missing = 0;
    for (size_t i = 0; i < r->count; i++) {
        const bench_row *row = &r->rows[i];
        const char *kind = bench_text_of(row, BENCH_kind);
        flash += kind && strcmp(kind, "flash") == 0;
        missing += is_right_kernel(row) && !row->cells[BENCH_error_peer].known;
    }
    if (flash && missing)
        bench_print(writer, user,
                    "limit: %u were measured without flash and are not compared with it\n",
                    missing);
}

bool bench_limits_check(const bench_report *report, bool times, tile_writer writer, void *user) {
    bool kept = true;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (times || limits[i].where == WHERE_everywhere)
            kept &= check_limit(&limits[i], report, writer, user);
    report_missing(report, writer, user);
    return kept;
}
