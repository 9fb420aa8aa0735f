/* The candidates of a run, from the command line or from the kernels that come with the tools. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/tile-bench/measure/options.h"

/* The words live as long as the process, which is why all are kept here. */
static tool_text words;

const char *bench_word(const char *name, const char *value, size_t length) {
    tool_text text = {NULL, 0, 0};
    tool_append(name, strlen(name), &text);
    tool_append(value, length, &text);
    tool_append((const char *)&text.data, sizeof text.data, &words);
    return text.data;
}

/* Returns NULL after a message. */
static bench_candidate_spec *take_contender(bench_options *o, const char *name) {
    if (o->plan.contender_count < BENCH_MAX_CANDIDATES)
        return &o->plan.contenders[o->plan.contender_count++];
    bench_complain(o, "there are too many candidates, with", name);
    return NULL;
}

bench_candidate_spec *bench_add_contender(bench_options *o, const char *name, const char *kind) {
    bench_candidate_spec *c = take_contender(o, name);
    if (!c) return NULL;
    *c = (bench_candidate_spec){.name = name, .kind = kind};
    bench_contender_add_word(c, "worker");
    bench_contender_add_word(c, bench_word("--candidate=", kind, strlen(kind)));
    return c;
}

/* Parses "folder/file.tile:name". A colon that a slash follows is part of the path. */
bool bench_add_kernel(bench_options *o, const char *value) {
    const char *colon = strrchr(value, ':');
    if (colon && strchr(colon, '/')) colon = NULL;
    size_t length = colon ? (size_t)(colon - value) : strlen(value);
    const char *base = value + length;
    while (base > value && base[-1] != '/') base--;
    size_t name = length - (size_t)(base - value);
    if (name > 5 && strncmp(base + name - 5, ".tile", 5) == 0) name -= 5;
    const char *own =
        colon ? bench_word("", colon + 1, strlen(colon + 1)) : bench_word("", base, name);
    bench_candidate_spec *c = bench_add_contender(o, own, "kernel");
    if (!c) return false;
    c->source = bench_word("", value, strlen(value));
    bench_contender_add_word(c, bench_word("--file=", value, length));
    if (colon) bench_contender_add_word(c, bench_word("--kernel=", colon + 1, strlen(colon + 1)));
    o->open = o->plan.contender_count - 1;
    o->own_count = c->word_count;
    *o->own_point = 0;
    o->has_point = false;
    return true;
}

static void add_to_point(bench_candidate_spec *c, const char *text, size_t length) {
    size_t used = strlen(c->point);
    snprintf(c->point + used, sizeof c->point - used, "%s%.*s", used ? " " : "", (int)length, text);
    bench_contender_add_word(c, bench_word("--param=", text, length));
}

static bool has_kernel(const bench_options *o, const char *value) {
    return (o->plan.contender_count && strcmp(o->plan.contenders[o->open].kind, "kernel") == 0) ||
           bench_complain(o, "there is no --kernel before", value);
}

/* Applies to all points of the kernel, given before or after. */
bool bench_add_param(bench_options *o, const char *value) {
    if (!has_kernel(o, value)) return false;
    for (unsigned i = o->open; i < o->plan.contender_count; i++)
        add_to_point(&o->plan.contenders[i], value, strlen(value));
    if (!o->has_point) {
        o->own_count = o->plan.contenders[o->open].word_count;
        memcpy(o->own_point, o->plan.contenders[o->open].point, sizeof o->own_point);
    }
    return true;
}

bool bench_add_point(bench_options *o, const char *value) {
    if (!has_kernel(o, value)) return false;
    bench_candidate_spec *c = &o->plan.contenders[o->open];
    if (o->has_point) {
        const bench_candidate_spec first = *c;
        c = take_contender(o, first.name);
        if (!c) return false;
        *c = first;
        c->word_count = o->own_count;
        memset(c->words + c->word_count, 0, sizeof *c->words * (BENCH_MAX_WORDS - c->word_count));
        memcpy(c->point, o->own_point, sizeof c->point);
    }
    o->has_point = true;
    while (*(value += strspn(value, " ,"))) {
        size_t length = strcspn(value, " ,");
        add_to_point(c, value, length);
        value += length;
    }
    return true;
}

/* Folders that may contain files shipped with the tools: the installation, a build inside the
 * source tree, or the top of the source tree. */
typedef struct places {
    char program[512];
    const char *folders[3][2];
} places;

enum { PLACES = 3 };

static void find_places(places *p, const char *installed, const char *source) {
    ssize_t length = readlink("/proc/self/exe", p->program, sizeof p->program - 1);
    p->program[length > 0 ? length : 0] = 0;
    char *slash = strrchr(p->program, '/');
    if (slash) *slash = 0;
    for (unsigned i = 0; i < PLACES; i++) p->folders[i][0] = i < 2 ? p->program : "";
    p->folders[0][1] = installed;
    p->folders[1][1] = source;
    p->folders[2][1] = source + strlen("/../../");
}

/* Finds the first folder that contains the file; false if there is none. */
static bool find_file(const places *p, const char *name, char *path, size_t size) {
    for (unsigned f = 0; f < PLACES; f++) {
        snprintf(path, size, "%s%s%s", p->folders[f][0], p->folders[f][1], name);
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

bool bench_find_kernel(const char *name, char *path, size_t size) {
    places p;
    find_places(&p, "/../share/tile/kernels/", "/../../tools/kernels/");
    return find_file(&p, name, path, size);
}

bool bench_find_script(const char *folder, const char *name, char *path, size_t size) {
    places p;
    char source[100];
    snprintf(source, sizeof source, "/../../tools/tile-bench/%s/", folder);
    find_places(&p, "/../share/tile/", source);
    return find_file(&p, name, path, size);
}

bool bench_add_shipped(bench_options *o, const char *const *names, const char *kernel,
                       const char *const *params) {
    places p;
    char path[700];
    bool any = false;
    find_places(&p, "/../share/tile/kernels/", "/../../tools/kernels/");
    for (size_t i = 0; names[i]; i++) {
        if (!find_file(&p, names[i], path, sizeof path - 64)) continue;
        size_t end = strlen(path);
        snprintf(path + end, sizeof path - end, "%s", kernel);
        if (!bench_add_kernel(o, path)) return false; /* it copies the words that it keeps */
        o->plan.contenders[o->open].source = bench_word(names[i], kernel, strlen(kernel));
        for (unsigned w = 0; params[w]; w++)
            if (!bench_add_param(o, params[w])) return false;
        any = true;
    }
    if (any) return true;
    fprintf(stderr, "error: the kernels that come with the tools, %s%s%s, are in none of", names[0],
            names[1] ? " and " : "", names[1] ? names[1] : "");
    for (unsigned f = 0; f < PLACES; f++)
        fprintf(stderr, "%s %s%s", f ? "," : "", p.folders[f][0], p.folders[f][1]);
    fputs("; give --kernel, or --no-kernels to measure without any\n", stderr);
    return false;
}
