#include "tools/tile-bench/program/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"
#include "tools/tile-bench/program/subject.h"

typedef struct entry {
    char name[80], class_name[80];
    unsigned launches;
    double bytes;
} entry;

/* False after diagnostics. */
static bool find_entry(const bench_program_plan *plan, unsigned index, entry *e) {
    static bench_subject s;
    bench_text_facts facts;
    const char *path = plan->files[index];
    if (!bench_text_read(path, &facts)) return false;
    tile_context *context = tile_context_create();
    tool_print_diagnostics(context);
    bool ok = bench_subject_open(&s, context, NULL, plan->target, path, plan->function,
                                 &plan->settings, &facts.fills) == TILE_OK;
    bench_text_stem(path, e->name, sizeof e->name);
    bench_text_class(path, e->class_name, sizeof e->class_name);
    e->launches = s.launches;
    e->bytes = ok ? bench_subject_bytes(&s) : 0;
    bench_subject_close(&s);
    tile_context_destroy(context);
    return ok;
}

static void print_bytes(double bytes, tool_text *text) {
    static const char *const units[] = {"bytes", "KB", "MB", "GB"};
    char number[40];
    unsigned unit = 0;
    for (; bytes >= 1000 && unit < 3; unit++) bytes /= 1000;
    int length = snprintf(number, sizeof number, unit && bytes < 10 ? "%.1f %s" : "%.0f %s", bytes,
                          units[unit]);
    tool_append(number, (size_t)length, text);
}

/* The result of a GPU; NULL if there is none. */
static const bench_result *find_result(const bench_results *results, const entry *e) {
    for (unsigned i = 0; i < results->count; i++) {
        const bench_result *r = &results->list[i];
        if (strcmp(bench_result_text(r, BENCH_FIELD_name), e->name) == 0 &&
            strcmp(bench_result_text(r, BENCH_FIELD_class), e->class_name) == 0 &&
            strcmp(bench_result_text(r, BENCH_FIELD_device), "cpu") != 0)
            return r;
    }
    return NULL;
}

static void print_times(const bench_result *r) {
    double us = r ? bench_result_number(r, BENCH_FIELD_us) : 0;
    double ratio = r ? bench_result_number(r, BENCH_FIELD_ratio) : 0;
    if (us > 0) printf(us < 100 ? " %.1f" : " %.0f", us);
    printf(" |");
    if (ratio > 0) printf(" %.2f", ratio);
    printf(" |\n");
}

bool bench_program_list(const bench_program_plan *plan, const bench_results *results) {
    bool ok = true;
    printf("| class | program | kernels | inputs and results | us | x PyTorch |\n"
           "|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < plan->file_count; i++) {
        entry e;
        tool_text bytes = {NULL, 0, 0};
        if (!find_entry(plan, i, &e)) {
            ok = false;
            continue;
        }
        print_bytes(e.bytes, &bytes);
        printf("| %s | `%s` | %u | %s |", e.class_name, e.name, e.launches, bytes.data);
        print_times(find_result(results, &e));
        free(bytes.data);
    }
    return ok;
}

bool bench_program_write_list(const bench_program_plan *plan, const char *path) {
    static const char head[] = "class,name,kernels,bytes\n";
    tool_text text = {NULL, 0, 0};
    char line[240];
    bool ok = true;
    tool_append(head, sizeof head - 1, &text);
    for (unsigned i = 0; i < plan->file_count && ok; i++) {
        entry e;
        ok = find_entry(plan, i, &e);
        int length = snprintf(line, sizeof line, "%s,%s,%u,%.0f\n", e.class_name, e.name,
                              e.launches, e.bytes);
        tool_append(line, (size_t)length, &text);
    }
    ok = ok && tool_write_file(path, text.data, text.size);
    free(text.data);
    return ok;
}

/* The kernels of the program in the text of the file; -1: it is not there. */
static int find_known(const char *text, const entry *e) {
    char key[200];
    int length = snprintf(key, sizeof key, "\n%s,%s,", e->class_name, e->name);
    const char *found = strstr(text, key);
    return found ? (int)strtol(found + length, NULL, 10) : -1;
}

bool bench_program_compare_list(const bench_program_plan *plan, const char *path) {
    size_t size;
    unsigned fewer = 0;
    char *text = tool_read_file(path, &size);
    bool ok = text != NULL;
    for (unsigned i = 0; text && i < plan->file_count; i++) {
        entry e;
        if (!find_entry(plan, i, &e)) {
            ok = false;
            continue;
        }
        int known = find_known(text, &e);
        if (known < 0) {
            printf("%s: %u kernels, and %s has no such program: update it with --write-list\n",
                   plan->files[i], e.launches, path);
            ok = false;
        } else if ((int)e.launches > known) {
            printf("%s: %u kernels, more than the %d in %s\n", plan->files[i], e.launches, known,
                   path);
            ok = false;
        } else if ((int)e.launches < known) {
            printf("%s: %u kernels, fewer than the %d in %s\n", plan->files[i], e.launches, known,
                   path);
            fewer++;
        }
    }
    if (ok)
        printf("%u programs, %u of them with fewer kernels than in %s\n", plan->file_count, fewer,
               path);
    if (ok && fewer) printf("update it: tile-bench program FOLDER --write-list=%s\n", path);
    free(text);
    return ok;
}
