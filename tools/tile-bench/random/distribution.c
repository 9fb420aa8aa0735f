#include "tools/tile-bench/random/distribution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED = 10, SHAPE_TEXT = 100 };

bench_distribution bench_distribute(const double *ratios, size_t count) {
    bench_distribution d = {.count = count};
    double logs = 0;
    for (size_t i = 0; i < count; i++) {
        logs += log(ratios[i]);
        d.least = i && d.least < ratios[i] ? d.least : ratios[i];
        d.most = d.most > ratios[i] ? d.most : ratios[i];
        d.equal += ratios[i] >= 1;
        d.near_equal += ratios[i] >= 0.95;
    }
    if (!count) return d;
    d.mean = exp(logs / (double)count);
    d.equal /= (double)count;
    d.near_equal /= (double)count;
    return d;
}

/* Rows ---------------------------------------------------------------------------------------- */

static const char *text_of(const bench_row *row, bench_column column) {
    const char *text = bench_text_of(row, column);
    return text ? text : "";
}

/* True if the row is a kernel's own one of this run, not that of one of its further points. */
static bool is_pick(const bench_row *row) {
    return !row->is_other && strcmp(text_of(row, BENCH_kind), "kernel") == 0 &&
           !row->cells[BENCH_origin].known;
}

/* True if both rows belong to the same summary. */
static bool is_alike(const bench_row *a, const bench_row *b) {
    static const bench_column keys[] = {BENCH_type, BENCH_trans, BENCH_mask,
                                        BENCH_op,   BENCH_l2,    BENCH_name};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(text_of(a, keys[i]), text_of(b, keys[i])) != 0) return false;
    return true;
}

static void write_shape(const bench_row *row, char text[SHAPE_TEXT]) {
    static const bench_column extents[] = {BENCH_batch, BENCH_heads, BENCH_groups, BENCH_m,
                                           BENCH_n,     BENCH_k,     BENCH_d};
    size_t used = 0;
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        if (row->cells[extents[i]].known)
            used += (size_t)snprintf(text + used, SHAPE_TEXT - used, "%s%.0f", used ? " x " : "",
                                     bench_number_of(row, extents[i]));
}

/* The fastest of the points that were measured beside the pick; NULL: none. */
static const bench_row *find_best(const bench_report *r, const bench_row *pick) {
    const bench_row *best = NULL;
    for (size_t i = 0; i < r->count; i++) {
        const bench_row *row = &r->rows[i];
        if (row->group != pick->group || !row->cells[BENCH_origin].known || !is_alike(row, pick))
            continue;
        double us = bench_number_of(row, BENCH_latency_us);
        if (us > 0 && (!best || us < bench_number_of(best, BENCH_latency_us))) best = row;
    }
    return best;
}

/* Writing ------------------------------------------------------------------------------------- */

static void write_key(const bench_row *row, tile_writer writer, void *user) {
    static const bench_column keys[] = {BENCH_op, BENCH_type, BENCH_trans, BENCH_mask, BENCH_l2};
    bool first = true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = text_of(row, keys[i]);
        if (!*text) continue;
        bench_print(writer, user, "%s%s%s", first ? "" : " ", keys[i] == BENCH_l2 ? "L2 " : "",
                    text);
        first = false;
    }
}

static void write_pick(const bench_report *r, const bench_row *row, tile_writer writer,
                       void *user) {
    char shape[SHAPE_TEXT];
    double us = bench_number_of(row, BENCH_latency_us);
    const char *peer = r->peer_name ? r->peer_name : "peer";
    write_shape(row, shape);
    bench_print(writer, user, "  %.3f  %s: %.2f us, %s %.2f us; %s\n",
                bench_number_of(row, BENCH_ratio), shape, us, peer,
                bench_number_of(row, BENCH_peer_us), text_of(row, BENCH_point));
    const bench_row *best = find_best(r, row);
    if (!best) return;
    double best_us = bench_number_of(best, BENCH_latency_us);
    bench_print(writer, user, "         best point: %.2f us, ratio %.3f; %s\n", best_us,
                bench_number_of(row, BENCH_peer_us) / best_us, text_of(best, BENCH_point));
}

static int by_ratio(const void *a, const void *b) {
    double x = bench_number_of(*(const bench_row *const *)a, BENCH_ratio);
    double y = bench_number_of(*(const bench_row *const *)b, BENCH_ratio);
    return (x > y) - (x < y);
}

/* The picks of one summary. */
typedef struct group {
    const bench_row **rated, **others; /* with a ratio; without one */
    size_t rated_count, other_count;
} group;

static void write_shares(bench_distribution d, tile_writer writer, void *user) {
    bench_print(writer, user,
                "  geometric mean %.3f, least %.3f, most %.3f; %.0f %% >= 1.00, %.0f %% >= 0.95\n",
                d.mean, d.least, d.most, 100 * d.equal, 100 * d.near_equal);
}

/* Writes those that failed, or those that only lack a peer. */
static void write_others(const group *g, bool failed, tile_writer writer, void *user) {
    size_t count = 0;
    for (size_t i = 0; i < g->other_count; i++) {
        char shape[SHAPE_TEXT];
        const bench_row *row = g->others[i];
        double us = bench_number_of(row, BENCH_latency_us);
        if ((us == 0) != failed || ++count > LISTED) continue;
        write_shape(row, shape);
        if (failed)
            bench_print(writer, user, "  %s: %s\n", shape, text_of(row, BENCH_note));
        else
            bench_print(writer, user, "  no peer: %s: %.2f us\n", shape, us);
    }
    if (count > LISTED) bench_print(writer, user, "  .. and %zu more\n", count - LISTED);
}

/* The lowest ratio of those that take long enough for the launch not to matter. */
static void write_long(const group *g, tile_writer writer, void *user) {
    const double short_us = 10;
    size_t count = 0, below = 0;
    double least = 0;
    for (size_t i = 0; i < g->rated_count; i++) {
        double ratio = bench_number_of(g->rated[i], BENCH_ratio);
        if (bench_number_of(g->rated[i], BENCH_peer_us) <= short_us) continue;
        if (!count++) least = ratio; /* they are sorted */
        below += ratio < 1;
    }
    if (count)
        bench_print(writer, user,
                    "  of %zu for which the peer takes more than 10 us, %zu are below 1.00, least "
                    "%.3f\n",
                    count, below, least);
}

/* The shares of the speed of a copy, of operations on rows. */
static void write_copies(const group *g, tile_writer writer, void *user) {
    const double long_row = 4096, large_bytes = 32e6;
    const bench_row **lists[] = {g->rated, g->others};
    const size_t counts[] = {g->rated_count, g->other_count};
    size_t count = 0, large = 0;
    double logs = 0, least = INFINITY;
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < counts[l]; i++) {
            const bench_row *row = lists[l][i];
            double share = bench_number_of(row, BENCH_floor_share);
            double bytes =
                bench_number_of(row, BENCH_read_bytes) + bench_number_of(row, BENCH_write_bytes);
            if (!row->cells[BENCH_op].known || share <= 0) continue;
            count++;
            logs += log(share);
            if (bench_number_of(row, BENCH_n) < long_row || bytes < large_bytes) continue;
            large++;
            least = fmin(least, share);
        }
    if (!count) return;
    bench_print(writer, user, "  of the speed of a copy: geometric mean %.3f",
                exp(logs / (double)count));
    if (large)
        bench_print(writer, user, "; of %zu with long rows in 32 MB or more, least %.3f", large,
                    least);
    bench_print(writer, user, "\n");
}

/* Of products with few rows, which are bound by reading the weights: the lowest share of the speed
 * of a plain read. */
static void write_weights(const group *g, tile_writer writer, void *user) {
    static const struct {
        double bytes;
        const char *text;
    } sizes[] = {{100e6, "100 MB or more"}, {30e6, "30 to 100 MB"}, {0, "less than 30 MB"}};
    const double few_rows = 64;
    size_t counts[3] = {0};
    double least[3];
    for (size_t i = 0; i < g->rated_count + g->other_count; i++) {
        const bench_row *row = i < g->rated_count ? g->rated[i] : g->others[i - g->rated_count];
        double share = bench_number_of(row, BENCH_floor_share);
        int size = 0;
        if (!row->cells[BENCH_k].known || bench_number_of(row, BENCH_m) > few_rows || share <= 0)
            continue;
        while (bench_number_of(row, BENCH_read_bytes) < sizes[size].bytes) size++;
        if (!counts[size]++ || share < least[size]) least[size] = share;
    }
    for (int i = 0; i < 3; i++)
        if (counts[i])
            bench_print(writer, user,
                        "  of %zu with at most 64 rows that read %s, least share of the floor "
                        "%.3f\n",
                        counts[i], sizes[i].text, least[i]);
}

static void write_group(const bench_report *r, const group *g, tile_writer writer, void *user) {
    const bench_row *first = g->rated_count ? g->rated[0] : g->others[0];
    double *ratios = calloc(g->rated_count + 1, sizeof *ratios);
    if (!ratios) abort();
    for (size_t i = 0; i < g->rated_count; i++)
        ratios[i] = bench_number_of(g->rated[i], BENCH_ratio);
    bench_distribution d = bench_distribute(ratios, g->rated_count);
    free(ratios);
    write_key(first, writer, user);
    bench_print(writer, user, ", %s: %zu shapes, %zu of them beside %s\n",
                text_of(first, BENCH_name), g->rated_count + g->other_count, g->rated_count,
                *r->peer ? r->peer : "a peer");
    if (d.count) write_shares(d, writer, user);
    write_long(g, writer, user);
    write_copies(g, writer, user);
    write_weights(g, writer, user);
    for (size_t i = 0; i < g->rated_count && i < LISTED; i++)
        write_pick(r, g->rated[i], writer, user);
    write_others(g, true, writer, user);
    write_others(g, false, writer, user);
    writer("\n", 1, user);
}

/* Writes a summary over all types, layouts and operations for each candidate, if there are several
 * of these. */
static void write_totals(const bench_report *r, unsigned groups, tile_writer writer, void *user) {
    double *ratios = calloc(r->count + 1, sizeof *ratios);
    if (!ratios) abort();
    for (size_t i = 0; i < r->count && groups > 1; i++) {
        const char *name = text_of(&r->rows[i], BENCH_name);
        size_t count = 0;
        bool first = is_pick(&r->rows[i]);
        for (size_t k = 0; k < i && first; k++)
            first = !is_pick(&r->rows[k]) || strcmp(text_of(&r->rows[k], BENCH_name), name) != 0;
        for (size_t k = i; k < r->count && first; k++)
            if (is_pick(&r->rows[k]) && r->rows[k].cells[BENCH_ratio].known &&
                strcmp(text_of(&r->rows[k], BENCH_name), name) == 0)
                ratios[count++] = bench_number_of(&r->rows[k], BENCH_ratio);
        if (!count) continue;
        bench_print(writer, user, "all, %s: %zu results beside %s\n", name, count,
                    *r->peer ? r->peer : "a peer");
        write_shares(bench_distribute(ratios, count), writer, user);
    }
    free(ratios);
}

void bench_write_distributions(const bench_report *r, tile_writer writer, void *user) {
    const bench_row **rows = calloc(2 * r->count + 1, sizeof *rows);
    bool *taken = calloc(r->count + 1, sizeof *taken);
    unsigned groups = 0;
    if (!rows || !taken) abort();
    for (size_t i = 0; i < r->count; i++) {
        group g = {.rated = rows, .others = rows + r->count};
        for (size_t k = i; k < r->count && is_pick(&r->rows[i]) && !taken[i]; k++) {
            const bench_row *row = &r->rows[k];
            if (!is_pick(row) || !is_alike(&r->rows[i], row)) continue;
            if (k > i) taken[k] = true;
            if (row->cells[BENCH_ratio].known)
                g.rated[g.rated_count++] = row;
            else
                g.others[g.other_count++] = row;
        }
        qsort(g.rated, g.rated_count, sizeof *g.rated, by_ratio);
        if (!g.rated_count && !g.other_count) continue;
        write_group(r, &g, writer, user);
        groups++;
    }
    write_totals(r, groups, writer, user);
    free(rows);
    free(taken);
}

void bench_write_name(const bench_row *row, tile_writer writer, void *user) {
    char shape[SHAPE_TEXT];
    write_shape(row, shape);
    write_key(row, writer, user);
    bench_print(writer, user, ", %s, %s", text_of(row, BENCH_name), shape);
}

void bench_write_ratios(const bench_report *r, size_t first, tile_writer writer, void *user) {
    for (size_t i = first; i < r->count; i++) {
        const bench_row *row = &r->rows[i];
        if (!is_pick(row)) continue;
        bench_write_name(row, writer, user);
        if (!row->cells[BENCH_latency_us].known)
            bench_print(writer, user, ": %s\n", text_of(row, BENCH_note));
        else if (!row->cells[BENCH_ratio].known)
            bench_print(writer, user, ": %.2f us\n", bench_number_of(row, BENCH_latency_us));
        else
            bench_print(writer, user, ": %.2f us, ratio %.3f\n",
                        bench_number_of(row, BENCH_latency_us), bench_number_of(row, BENCH_ratio));
    }
}
