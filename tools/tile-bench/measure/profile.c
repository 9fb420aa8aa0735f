/* Runs ncu and parses its CSV: one line per metric and kernel, columns found by their headings.
 * Source: Nsight Compute CLI documentation, "Console output" and "Sections". */
#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/measure/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/tool.h"
#include "tools/tile-bench/common/pool.h"

/* CSV ----------------------------------------------------------------------------------------- */

enum { MAX_FIELDS = 32, MAX_FIELD = 160 };

typedef struct line {
    char fields[MAX_FIELDS][MAX_FIELD];
    unsigned count;
} line;

static void add_letter(char field[MAX_FIELD], size_t *length, char letter) {
    if (*length + 1 < MAX_FIELD) field[(*length)++] = letter;
}

/* Splits a line into its fields, which may be quoted (RFC 4180). Returns the start of the next
 * line. */
static const char *read_line(const char *at, line *to) {
    bool quoted = false;
    size_t length = 0;
    memset(to, 0, sizeof *to);
    to->count = 1;
    for (; *at && (quoted || *at != '\n'); at++) {
        char *field = to->fields[to->count - 1];
        if (*at == '"' && quoted && at[1] == '"')
            add_letter(field, &length, *at++);
        else if (*at == '"')
            quoted = !quoted;
        else if (*at == ',' && !quoted && to->count < MAX_FIELDS) {
            to->count++;
            length = 0;
        } else if (*at != '\r')
            add_letter(field, &length, *at);
    }
    return *at ? at + 1 : at;
}

static int find_field(const line *head, const char *name) {
    for (unsigned i = 0; i < head->count; i++)
        if (strcmp(head->fields[i], name) == 0) return (int)i;
    return -1;
}

/* "1,234.5" */
static double number_of(const char *text) {
    char digits[64];
    size_t length = 0;
    for (; *text && length + 1 < sizeof digits; text++)
        if (*text != ',') digits[length++] = *text;
    digits[length] = 0;
    return strtod(digits, NULL);
}

/* ncu versions name units differently: "us" was "usecond". */
static double microseconds_of(double value, const char *unit) {
    switch (*unit) {
    case 'n': return value / 1e3;
    case 'm': return value * 1e3;
    case 's': return value * 1e6;
    default: return value;
    }
}

/* Counters ------------------------------------------------------------------------------------ */

static void take_metric(const char *name, const char *unit, double value, bench_counters *kernel) {
    if (strcmp(name, "Duration") == 0) kernel->microseconds = microseconds_of(value, unit);
    if (strcmp(name, "Compute (SM) Throughput") == 0) kernel->sm = value / 100;
    if (strcmp(name, "DRAM Throughput") == 0) kernel->dram = value / 100;
    if (strcmp(name, "L2 Hit Rate") == 0) kernel->l2_hit = value / 100;
    if (strcmp(name, "Achieved Occupancy") == 0) kernel->occupancy = value / 100;
}

static const bench_counters nothing = {0, -1, -1, -1, -1};

/* Adds a kernel's time to the total. The other counters are those of the longest kernel; *longest
 * is its time. */
static void take_kernel(const bench_counters *kernel, double *longest, bench_counters *all) {
    double sum = all->microseconds + kernel->microseconds;
    if (kernel->microseconds > *longest) {
        *longest = kernel->microseconds;
        *all = *kernel;
    }
    all->microseconds = sum;
}

/* Parses the output of `ncu --csv --page details`; false if it contains no kernel. */
static bool read_counters(const char *text, bench_counters *counters) {
    line head = {.count = 0}, row;
    char id[MAX_FIELD] = "";
    bench_counters kernel = nothing;
    double longest = 0;
    *counters = nothing;
    /* ncu prints its own lines, such as "==PROF== ..", before the headings. */
    while (*text && find_field(&head, "Metric Name") < 0) text = read_line(text, &head);
    int ids = find_field(&head, "ID"), names = find_field(&head, "Metric Name");
    int units = find_field(&head, "Metric Unit"), values = find_field(&head, "Metric Value");
    if (ids < 0 || names < 0 || units < 0 || values < 0) return false;
    while (*text) {
        text = read_line(text, &row);
        if ((int)row.count <= values) continue;
        if (strcmp(id, row.fields[ids]) != 0) {
            take_kernel(&kernel, &longest, counters);
            kernel = nothing;
            memcpy(id, row.fields[ids], sizeof id);
        }
        take_metric(row.fields[names], row.fields[units], number_of(row.fields[values]), &kernel);
    }
    take_kernel(&kernel, &longest, counters);
    return longest > 0;
}

/* Running ncu --------------------------------------------------------------------------------- */

/* Returns the last nonempty line, where programs usually report what went wrong. */
static void last_line(const char *text, char *why, size_t size) {
    size_t end = strlen(text);
    while (end && (text[end - 1] == '\n' || text[end - 1] == '\r')) end--;
    size_t begin = end;
    while (begin && text[begin - 1] != '\n') begin--;
    if (end > begin)
        snprintf(why, size, "%.*s", (int)(end - begin), text + begin);
    else
        snprintf(why, size, "ncu has written nothing");
}

static bool run_profile_request(bench_worker *worker, const char *request, const char *wanted,
                                double answer_timeout, char *why, size_t size) {
    bench_worker_send(worker, request);
    const char *answer = bench_worker_receive(worker, answer_timeout);
    if (strncmp(answer, wanted, strlen(wanted)) == 0) return true;
    snprintf(why, size, "%s", answer);
    return false;
}

enum { MAX_WORDS = 60, MAX_POINT = 400 };

/* Returns the worker's words with the point fixed, so that nothing is tuned again. `kept` stores
 * the new words. */
static void fix_point(const char *const *words, const char *point, char kept[MAX_POINT],
                      const char *fixed[MAX_WORDS]) {
    unsigned count = 0;
    size_t used = 0;
    for (; *words && count + 1 < MAX_WORDS; words++)
        if (!point || (strncmp(*words, "--param=", 8) != 0 && strncmp(*words, "--tune", 6) != 0 &&
                       strcmp(*words, "--retune") != 0 && strcmp(*words, "--split") != 0))
            fixed[count++] = *words;
    while (point && *(point += strspn(point, " ")) && *point != '(') {
        size_t length = strcspn(point, " ");
        if (used + length + 9 > MAX_POINT || count + 1 == MAX_WORDS) break;
        fixed[count++] = kept + used;
        used +=
            (size_t)snprintf(kept + used, MAX_POINT - used, "--param=%.*s", (int)length, point) + 1;
        point += length;
    }
    fixed[count] = NULL;
}

/* ncu logs to a file, because standard output carries the worker's answers. */
static bool run_ncu(const char *ncu, const char *log, const char *const *words, const char *product,
                    double answer_timeout, char *why, size_t why_size) {
    const char *own[] = {"--csv",
                         "--page",
                         "details",
                         "--profile-from-start",
                         "off",
                         "--section",
                         "SpeedOfLight",
                         "--section",
                         "MemoryWorkloadAnalysis",
                         "--section",
                         "Occupancy",
                         "--force-overwrite",
                         "--log-file",
                         log,
                         NULL};
    bench_worker *worker = bench_worker_start(NULL, words, ncu, own);
    bool ok = run_profile_request(worker, product, "ready", answer_timeout, why, why_size) &&
              run_profile_request(worker, "profile", "profiled", answer_timeout, why, why_size);
    ok = bench_worker_finish(worker, answer_timeout) && ok;
    bench_worker_stop(worker);
    return ok;
}

bool bench_profile(const char *ncu, const char *const *words, const char *point,
                   const char *product, double answer_timeout, bench_counters *counters, char *why,
                   size_t why_size) {
    char path[] = "/tmp/tile-bench-XXXXXX", kept[MAX_POINT];
    const char *fixed[MAX_WORDS];
    size_t size;
    int file = mkstemp(path);
    if (file < 0) {
        snprintf(why, why_size, "no file could be made in /tmp");
        return false;
    }
    close(file);
    fix_point(words, point, kept, fixed);
    bool ok = run_ncu(ncu, path, fixed, product, answer_timeout, why, why_size);
    char *text = tool_read_file(path, &size);
    remove(path);
    bool found = ok && text && read_counters(text, counters);
    if (!found && text && (ok || *text)) last_line(text, why, why_size);
    free(text);
    return found;
}
