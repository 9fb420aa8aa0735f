#include "tools/tile-bench/program/result.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"

static const struct {
    const char *name;
    bool is_number;
} columns[BENCH_FIELDS] = {
#define text false
#define number true
#define COLUMN(name, kind, meaning) {#name, kind},
#include "tools/tile-bench/program/columns.def"
#undef COLUMN
#undef text
#undef number
};

static void print(tile_writer writer, void *user, const char *format, ...) {
    char line[600];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (length > 0)
        writer(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1, user);
}

/* Cells ------------------------------------------------------------------------------------- */

bench_result *bench_results_add(bench_results *r) {
    if (r->count == r->capacity) {
        r->capacity = 2 * r->capacity + 16;
        r->list = realloc(r->list, r->capacity * sizeof *r->list);
        if (!r->list) abort();
    }
    r->list[r->count] = (bench_result){.step_count = 0};
    return &r->list[r->count++];
}

static void free_result(bench_result *r) {
    for (unsigned c = 0; c < BENCH_FIELDS; c++) free(r->cells[c]);
    free(r->steps);
}

void bench_results_keep_right(bench_results *r) {
    unsigned kept = 0;
    for (unsigned i = 0; i < r->count; i++)
        if (bench_result_is_right(&r->list[i]))
            r->list[kept++] = r->list[i];
        else
            free_result(&r->list[i]);
    r->count = kept;
}

void bench_results_drop_last(bench_results *r) {
    free_result(&r->list[--r->count]);
}

void bench_results_free(bench_results *r) {
    for (unsigned i = 0; i < r->count; i++) free_result(&r->list[i]);
    free(r->list);
    *r = (bench_results){.count = 0};
}

void bench_result_set(bench_result *r, bench_field cell, const char *content) {
    char *copy = tool_copy(content, strlen(content));
    free(r->cells[cell]);
    r->cells[cell] = copy;
}

void bench_result_set_number(bench_result *r, bench_field cell, double value) {
    char content[40];
    snprintf(content, sizeof content, cell == BENCH_FIELD_bytes ? "%.0f" : "%.6g", value);
    bench_result_set(r, cell, content);
}

const char *bench_result_text(const bench_result *r, bench_field cell) {
    return r->cells[cell] ? r->cells[cell] : "";
}

double bench_result_number(const bench_result *r, bench_field cell) {
    return strtod(bench_result_text(r, cell), NULL);
}

bool bench_result_is_right(const bench_result *r) {
    return strcmp(bench_result_text(r, BENCH_FIELD_check), "right") == 0;
}

bool bench_result_is_same(const bench_result *a, const bench_result *b) {
    for (unsigned c = 0; c <= BENCH_FIELD_target; c++)
        if (strcmp(bench_result_text(a, (bench_field)c), bench_result_text(b, (bench_field)c)) != 0)
            return false;
    return true;
}

/* Files ------------------------------------------------------------------------------------- */

static void write_cell(const char *content, tile_writer writer, void *user) {
    if (!content[strcspn(content, ",\"\n")]) {
        writer(content, strlen(content), user);
        return;
    }
    writer("\"", 1, user);
    for (; *content; content++) {
        if (*content == '"') writer("\"", 1, user);
        writer(content, 1, user);
    }
    writer("\"", 1, user);
}

void bench_results_write_csv(const bench_results *r, tile_writer writer, void *user) {
    for (unsigned c = 0; c < BENCH_FIELDS; c++)
        print(writer, user, "%s%s", c ? "," : "", columns[c].name);
    for (unsigned i = 0; i < r->count; i++) {
        for (unsigned c = 0; c < BENCH_FIELDS; c++) {
            writer(c ? "," : "\n", 1, user);
            write_cell(bench_result_text(&r->list[i], (bench_field)c), writer, user);
        }
    }
    writer("\n", 1, user);
}

static void write_steps(const bench_result *r, tile_writer writer, void *user) {
    print(writer, user, ", \"kernels\": [");
    for (unsigned i = 0; i < r->step_count; i++) {
        const bench_step *s = &r->steps[i];
        print(writer, user,
              "%s\n     {\"kernel\": \"%s\", \"grid\": [%lld, %lld, %lld], \"us\": %.6g, "
              "\"read_bytes\": %.17g, \"written_bytes\": %.17g, \"operations\": %.17g, "
              "\"floor_us\": %.6g}",
              i ? "," : "", s->kernel, s->grid[0], s->grid[1], s->grid[2], 1e6 * s->seconds,
              s->read_bytes, s->written_bytes, s->operations, 1e6 * s->floor_seconds);
    }
    print(writer, user, "]");
}

void bench_results_write_json(const bench_results *r, tile_writer writer, void *user) {
    print(writer, user, "[");
    for (unsigned i = 0; i < r->count; i++) {
        print(writer, user, "%s\n  {", i ? "," : "");
        for (unsigned c = 0; c < BENCH_FIELDS; c++) {
            const char *content = r->list[i].cells[c];
            print(writer, user, "%s\"%s\": ", c ? ", " : "", columns[c].name);
            if (!content && columns[c].is_number)
                print(writer, user, "null");
            else if (columns[c].is_number)
                writer(content, strlen(content), user);
            else
                tool_write_json_string(content ? content : "", writer, user);
        }
        write_steps(&r->list[i], writer, user);
        print(writer, user, "}");
    }
    print(writer, user, "\n]\n");
}

/* Reads a cell, which may be quoted, and moves *at past what ends it. False if a quote is open. */
static bool read_cell(const char **at, tool_text *cell, bool *last) {
    const char *c = *at;
    bool quoted = *c == '"';
    cell->size = 0;
    tool_append("", 0, cell);
    for (c += quoted; *c; c++) {
        if (quoted && *c == '"' && c[1] != '"') break;
        if (!quoted && (*c == ',' || *c == '\n')) break;
        c += quoted && *c == '"';
        tool_append(c, 1, cell);
    }
    if (quoted && *c != '"') return false;
    c += quoted;
    *last = *c != ',';
    *at = c + (*c != 0);
    return true;
}

static bool is_head(const char **at, tool_text *cell) {
    bool last = false;
    for (unsigned c = 0; c < BENCH_FIELDS; c++)
        if (last || !read_cell(at, cell, &last) || strcmp(cell->data, columns[c].name) != 0)
            return false;
    return last;
}

bool bench_results_read_csv(const char *path, const char *csv, bench_results *r) {
    tool_text cell = {NULL, 0, 0};
    unsigned line = 1;
    bool ok = is_head(&csv, &cell);
    if (!ok)
        fprintf(stderr, "error: %s: another version of tile-bench wrote it: give another file\n",
                path);
    while (ok && *csv) {
        bench_result *added = bench_results_add(r);
        bool last = false;
        line++;
        for (unsigned c = 0; c < BENCH_FIELDS && ok; c++) {
            ok = !last && read_cell(&csv, &cell, &last);
            if (ok && *cell.data) bench_result_set(added, (bench_field)c, cell.data);
        }
        ok &= last;
        if (!ok) fprintf(stderr, "error: %s:%u: the row has another form\n", path, line);
    }
    free(cell.data);
    return ok;
}

/* The distribution -------------------------------------------------------------------------- */

typedef struct distribution {
    unsigned programs, right, judged, at_one, at_095, with_floor, compiled;
    double log_sum, worst, floor_log_sum, compile_seconds, torch_compile_seconds;
    const char *worst_name;
} distribution;

static void add(distribution *d, const bench_result *r) {
    double ratio = bench_result_number(r, BENCH_FIELD_ratio);
    d->programs++;
    if (!bench_result_is_right(r)) return;
    d->right++;
    double of_floor = bench_result_number(r, BENCH_FIELD_of_floor);
    double torch_seconds = bench_result_number(r, BENCH_FIELD_torch_compile_s);
    if (of_floor > 0) {
        d->with_floor++;
        d->floor_log_sum += log(of_floor);
    }
    if (torch_seconds > 0) {
        d->compiled++;
        d->torch_compile_seconds += torch_seconds;
        d->compile_seconds += bench_result_number(r, BENCH_FIELD_compile_s);
    }
    if (!(ratio > 0)) return;
    if (!d->judged || ratio < d->worst) {
        d->worst = ratio;
        d->worst_name = bench_result_text(r, BENCH_FIELD_name);
    }
    d->judged++;
    d->log_sum += log(ratio);
    d->at_one += ratio >= 1;
    d->at_095 += ratio >= 0.95;
}

static void write_row(const char *name, const distribution *d, tile_writer writer, void *user) {
    print(writer, user, "| %s | %u | %u | %u |", name, d->programs, d->right, d->judged);
    if (d->judged)
        print(writer, user, " %.2f | %.2f, %s | %.0f %% | %.0f %% |", exp(d->log_sum / d->judged),
              d->worst, d->worst_name, 100.0 * d->at_one / d->judged,
              100.0 * d->at_095 / d->judged);
    else
        print(writer, user, " | | | |");
    if (d->with_floor) print(writer, user, " %.2f", exp(d->floor_log_sum / d->with_floor));
    print(writer, user, " |\n");
}

static bool has_class(const bench_results *r, unsigned until, const char *name) {
    for (unsigned i = 0; i < until; i++)
        if (strcmp(bench_result_text(&r->list[i], BENCH_FIELD_class), name) == 0) return true;
    return false;
}

void bench_results_write_summary(const bench_results *r, tile_writer writer, void *user) {
    distribution all = {.programs = 0};
    print(writer, user,
          "| class | programs | right | beside PyTorch | geometric mean | worst | >= "
          "1.00 | >= 0.95 | of the floor's speed |\n|---|---|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < r->count; i++) {
        const char *name = bench_result_text(&r->list[i], BENCH_FIELD_class);
        distribution one = {.programs = 0};
        add(&all, &r->list[i]);
        if (has_class(r, i, name)) continue;
        for (unsigned k = i; k < r->count; k++)
            if (strcmp(bench_result_text(&r->list[k], BENCH_FIELD_class), name) == 0)
                add(&one, &r->list[k]);
        write_row(*name ? name : "-", &one, writer, user);
    }
    write_row("all", &all, writer, user);
    if (all.compiled)
        print(writer, user, "%u programs compiled in %.1f s, by torch.compile in %.1f s\n",
              all.compiled, all.compile_seconds, all.torch_compile_seconds);
    for (unsigned i = 0; i < r->count; i++)
        if (!bench_result_is_right(&r->list[i]))
            print(writer, user, "%s %s/%s: %s\n", bench_result_text(&r->list[i], BENCH_FIELD_check),
                  bench_result_text(&r->list[i], BENCH_FIELD_class),
                  bench_result_text(&r->list[i], BENCH_FIELD_name),
                  bench_result_text(&r->list[i], BENCH_FIELD_why));
}
