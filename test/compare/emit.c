/* Prints what a build of Tile generates for many kernels, in one process. compare.py compiles this
 * program against each of the two trees that it compares. It uses only the public headers.
 *
 * Reads requests from standard input, one per line: VERB FILE FUNCTION TARGET BINDINGS, separated
 * by tabs; BINDINGS is "block_m=128 T=f16". The verbs:
 *   points    lists the points of the function's space that agree with the bindings
 *   lower     runs the passes up to level 3; only the outcome is written
 *   ptx       writes the launch interface and the PTX of all kernels, without line information
 *   schedule  writes the file's module after the pass `schedule`; FUNCTION is not used
 *
 * Answers each request with records, the last of which is `done`. A record is a line KIND LENGTH
 * NAME, then LENGTH bytes, then a newline:
 *   point, interface, ptx, module   results
 *   error, warning, remark, note    the message of a diagnostic
 *   done                            NAME is the status, "ok" after a success */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile/artifact.h"
#include "tile/parse.h"
#include "tile/pass.h"
#include "tile/tune.h"

enum { MAX_BINDINGS = 64, MAX_LINE = 1 << 16, FIELDS = 5 };

/* The current file, used until a request names another one. */
typedef struct source {
    char *path;
    tile_context *context;
    tile_module *module; /* NULL: it does not parse */
} source;

typedef struct request {
    const char *verb, *path, *function;
    const tile_target *target;
    tile_binding bindings[MAX_BINDINGS];
    unsigned binding_count;
} request;

typedef struct text {
    char *data;
    size_t size, capacity;
} text;

/* Exits; the reader detects it because the answer has no `done`. */
static void fail(const char *what, const char *word) {
    fprintf(stderr, "emit: %s '%s'\n", what, word);
    exit(1);
}

/* Records ------------------------------------------------------------------------------------- */

static void put(const char *kind, const char *name, const char *data, size_t size) {
    printf("%s %zu %s\n", kind, size, name);
    fwrite(data, 1, size, stdout);
    putchar('\n');
}

static void put_diagnostic(const tile_diagnostic *diagnostic, void *user) {
    static const char *const kinds[] = {[TILE_ERROR] = "error",
                                        [TILE_WARNING] = "warning",
                                        [TILE_REMARK] = "remark",
                                        [TILE_NOTE] = "note"};
    (void)user;
    put(kinds[diagnostic->severity], "", diagnostic->message, strlen(diagnostic->message));
}

static bool put_point(const char *point, void *user) {
    (void)user;
    put("point", "", point, strlen(point));
    return true;
}

static void append(const char *data, size_t size, void *user) {
    text *t = user;
    if (t->size + size > t->capacity) {
        t->capacity = 2 * (t->size + size);
        t->data = realloc(t->data, t->capacity);
        if (!t->data) fail("no memory for", "a text");
    }
    memcpy(t->data + t->size, data, size);
    t->size += size;
}

static void put_text(const char *kind, const char *name, text *t) {
    put(kind, name, t->size ? t->data : "", t->size);
    t->size = 0;
}

/* Requests ------------------------------------------------------------------------------------ */

static tile_status list_points(const request *r, tile_module *module) {
    tile_binding left[MAX_BINDINGS];
    unsigned count = r->binding_count;
    const char *name = r->function;
    tile_function *f = tile_module_find(module, name);
    memcpy(left, r->bindings, sizeof left);
    if (f && tile_function_get_kind(f) == TILE_COMPUTE) {
        tile_status status = tile_schedule(module, r->function, r->target, left, &count, &name);
        if (status != TILE_OK) return status;
    }
    return tile_list_points(module, name, left, count, put_point, NULL);
}

static void put_artifact(const tile_artifact *artifact) {
    text t = {NULL, 0, 0};
    const tile_artifact_kernel *made;
    const tile_function *plan = tile_artifact_plan(artifact);
    if (plan && tile_plan_print(plan, append, &t) == TILE_OK)
        put_text("interface", tile_function_name(plan), &t);
    for (unsigned i = 0; (made = tile_artifact_kernel_at(artifact, i)); i++) {
        const char *name = tile_abi_entry(made->abi);
        tile_abi_print(made->abi, append, &t);
        put_text("interface", name, &t);
        put("ptx", name, made->ptx.data, made->ptx.size);
    }
    free(t.data);
}

static tile_status compile(const request *r, tile_module *module, unsigned wants) {
    const tile_build_options build = {
        .size = sizeof build, .target = r->target, .wants = wants, .no_line_info = true};
    const tile_pass_options none = {.size = sizeof none, .target = r->target};
    tile_artifact *artifact = NULL;
    tile_function *kernel = NULL;
    tile_status status =
        tile_lower(module, r->function, r->bindings, r->binding_count, "", &none, &kernel);
    if (status == TILE_OK)
        status = tile_artifact_build(module, tile_function_name(kernel), &build, &artifact);
    if (artifact && wants) put_artifact(artifact);
    tile_artifact_destroy(artifact);
    return status;
}

static tile_status schedule(const request *r, tile_module *module) {
    const tile_pass_options options = {.size = sizeof options, .target = r->target};
    text t = {NULL, 0, 0};
    tile_status status = tile_run_passes(module, "schedule", &options);
    if (status == TILE_OK) {
        tile_module_print(module, append, &t);
        put_text("module", "", &t);
    }
    free(t.data);
    return status;
}

static void answer(const request *r, const tile_module *parsed) {
    tile_module *module = parsed ? tile_module_clone(parsed) : NULL;
    tile_status status = TILE_INVALID;
    if (!module)
        ;
    else if (strcmp(r->verb, "points") == 0)
        status = list_points(r, module);
    else if (strcmp(r->verb, "lower") == 0)
        status = compile(r, module, 0);
    else if (strcmp(r->verb, "ptx") == 0)
        status = compile(r, module, TILE_WANT_PTX);
    else if (strcmp(r->verb, "schedule") == 0)
        status = schedule(r, module);
    else
        fail("there is no verb", r->verb);
    tile_module_destroy(module);
    put("done", tile_status_name(status), "", 0);
    fflush(stdout);
}

/* Input --------------------------------------------------------------------------------------- */

static void close_source(source *s) {
    tile_module_destroy(s->module);
    tile_context_destroy(s->context);
    free(s->path);
    *s = (source){.path = NULL};
}

static void read_file(const char *path, text *t) {
    char buffer[4096];
    size_t size;
    FILE *file = fopen(path, "rb");
    if (!file) fail("cannot open", path);
    while ((size = fread(buffer, 1, sizeof buffer, file)) > 0) append(buffer, size, t);
    fclose(file);
}

static void open_source(source *s, const char *path) {
    text t = {NULL, 0, 0};
    if (s->path && strcmp(s->path, path) == 0) return;
    close_source(s);
    read_file(path, &t);
    s->path = malloc(strlen(path) + 1);
    if (!s->path) fail("no memory for", path);
    strcpy(s->path, path);
    s->context = tile_context_create();
    tile_context_set_sink(s->context, put_diagnostic, NULL);
    tile_context_set_remarks(s->context, true);
    const tile_parse_options options = {
        .size = sizeof options, .resolve = tile_resolve_file, .release = tile_release_file};
    s->module = tile_module_parse_with(s->context, path, t.data, t.size, &options);
    free(t.data);
}

/* Splits "A=1 B=2" in place. */
static void read_bindings(char *words, request *r) {
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        char *equal = strchr(word, '=');
        if (!equal || r->binding_count == MAX_BINDINGS) fail("cannot bind", word);
        *equal = 0;
        r->bindings[r->binding_count++] = (tile_binding){word, equal + 1};
    }
}

/* Splits the line in place. */
static void read_request(char *line, request *r) {
    char *fields[FIELDS] = {line};
    for (unsigned i = 1; i < FIELDS; i++) {
        fields[i] = strchr(fields[i - 1], '\t');
        if (!fields[i]) fail("too few fields in", line);
        *fields[i]++ = 0;
    }
    *r = (request){.verb = fields[0], .path = fields[1], .function = fields[2]};
    r->target = tile_target_find(fields[3]);
    if (!r->target) fail("there is no target", fields[3]);
    read_bindings(fields[4], r);
}

int main(void) {
    static char line[MAX_LINE];
    source current = {.path = NULL};
    while (fgets(line, sizeof line, stdin)) {
        request r;
        size_t length = strcspn(line, "\n");
        if (!line[length]) fail("no end of line in", line);
        line[length] = 0;
        read_request(line, &r);
        open_source(&current, r.path);
        answer(&r, current.module);
    }
    close_source(&current);
    return 0;
}
