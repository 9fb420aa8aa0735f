/* Processes one text of the fuzz target. The rules:
 *
 * - A text that is refused is refused with an error, and TILE_OK means that there was no error.
 * - What prints also parses, and prints the same again. This holds for the module as read, a clone
 * of it, the module after the passes, and a launch interface.
 * - Passes preserve the IR's rules (the manager verifies after each pass), and LLVM accepts its
 * input. TILE_FAILED is a defect here, because no system call can fail.
 * - An `include` is an error without a resolver. With one, all that it found is released.
 * - A kernel that runs on the CPU device at level 2 and at level 3 has the same results at both.
 * - Nothing crashes, hangs or exhausts memory; the sanitizers and libFuzzer's limits check that. */
#include "test/fuzz/fuzz_tile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/fuzz_session.h"
#include "tile/compile.h"
#include "tile/parse.h"

/* Rules -------------------------------------------------------------------------------------- */

void fuzz_fail(const char *rule, const char *detail) {
    fprintf(stderr, "fuzz: broken rule: %s: %s\n", rule, detail);
    abort();
}

static void drop(const char *text, size_t length, void *user) {
    (void)text, (void)length, (void)user;
}

static void listen(const tile_diagnostic *d, void *user) {
    listener *l = user;
    if (!*d->message) fuzz_fail("a diagnostic says something", d->file);
    if (d->text && d->column > d->text_length + 1)
        fuzz_fail("a diagnostic points into its line", d->message);
    if (d->severity == TILE_ERROR) snprintf(l->last, sizeof l->last, "%s", d->message);
    tile_diagnostic_print(d, drop, NULL);
}

bool fuzz_choose(const session *s, unsigned salt, unsigned of) {
    uint32_t mixed = (s->hash ^ salt * UINT32_C(0x9e3779b9)) * UINT32_C(0x85ebca6b);
    return s->options->all || (mixed >> 16) % of == 0;
}

static uint32_t hash_of(const char *text, size_t length) {
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * UINT32_C(16777619);
    return hash;
}

bool fuzz_succeeded(session *s, const char *call, tile_status status, unsigned before) {
    bool errors = tile_context_error_count(s->context) != before;
    if (status == TILE_OK && errors) fuzz_fail("no error behind TILE_OK", s->listener.last);
    if (status != TILE_OK && !errors) fuzz_fail("no failure without an error", call);
    if (status == TILE_FAILED) fuzz_fail(call, s->listener.last);
    return status == TILE_OK;
}

/* Text --------------------------------------------------------------------------------------- */

static tool_text print(const tile_module *module) {
    tool_text out = {NULL, 0, 0};
    tool_append("", 0, &out);
    tile_module_print(module, tool_append, &out);
    return out;
}

/* Prints a module, compares it with the text, and frees the text. */
static void check_same(const char *rule, tool_text *text, const tile_module *module) {
    tool_text again = print(module);
    if (again.size != text->size || memcmp(again.data, text->data, text->size) != 0) {
        fprintf(stderr, "---- first\n%s---- then\n%s", text->data, again.data);
        fuzz_fail(rule, "the texts differ");
    }
    free(again.data);
}

/* Uses a new context, because types and expressions that already exist would hide a defect. */
static void check_round_trip(const char *rule, const tile_module *module) {
    tool_text text = print(module);
    listener l = {{0}};
    tile_context *context = tile_context_create();
    tile_context_set_sink(context, listen, &l);
    tile_module *again = tile_module_parse(context, "printed", text.data, text.size);
    if (!again) {
        fprintf(stderr, "---- printed\n%s", text.data);
        fuzz_fail(rule, l.last);
    }
    check_same(rule, &text, again);
    tile_module_destroy(again);
    tile_context_destroy(context);
    free(text.data);
}

/* Code --------------------------------------------------------------------------------------- */

static void emit(session *s, const tile_function *kernel, const tile_target *target,
                 tile_emit_kind kind) {
    const tile_emit_options options = {.size = sizeof options, .target = target};
    unsigned before = tile_context_error_count(s->context);
    tile_blob blob;
    tile_status status = tile_emit(kernel, kind, &options, &blob);
    if (fuzz_succeeded(s, "tile_emit failed", status, before)) s->counts->emitted++;
    tile_blob_destroy(&blob);
}

static tool_text print_abi(const tile_abi *abi) {
    tool_text out = {NULL, 0, 0};
    tile_abi_print(abi, tool_append, &out);
    return out;
}

/* A launch interface that is read back prints the same. */
static void check_abi(session *s, const tile_abi *abi) {
    tool_text text = print_abi(abi);
    tile_abi *again = tile_abi_read(s->context, text.data, text.size);
    if (!again) fuzz_fail("what an interface prints reads back", s->listener.last);
    tool_text other = print_abi(again);
    if (strcmp(text.data, other.data) != 0)
        fuzz_fail("an interface that was read prints the same", text.data);
    free(text.data);
    free(other.data);
    tile_abi_destroy(again);
}

static void check_abi_of(session *s, const tile_function *kernel) {
    unsigned before = tile_context_error_count(s->context);
    tile_abi *abi = tile_abi_create(kernel);
    if (fuzz_succeeded(s, "tile_abi_create", abi ? TILE_OK : TILE_INVALID, before))
        check_abi(s, abi);
    tile_abi_destroy(abi);
}

/* Removes plans, because they name parameters of kernels that are gone after one kernel is
 * instantiated. */
static void remove_plans(tile_module *module) {
    unsigned i = 0;
    for (tile_function *f; (f = tile_module_function(module, i));)
        if (tile_function_get_kind(f) == TILE_PLAN)
            tile_module_remove(module, f);
        else
            i++;
}

/* Clones the kernel and runs the passes of a level on it; NULL if the target or the passes refuse
 * it. */
static tile_function *lower(session *s, tile_module *module, const char *kernel, unsigned level,
                            const tile_target *target) {
    const tile_pass_options options = {.size = sizeof options, .target = target};
    tile_function *f;
    unsigned before = tile_context_error_count(s->context);
    remove_plans(module);
    tile_status status =
        tile_lower(module, kernel, NULL, 0, tile_default_pipeline(level), &options, &f);
    return fuzz_succeeded(s, "tile_lower failed", status, before) ? f : NULL;
}

static void try_target(session *s, const tile_module *module, const char *kernel,
                       const char *name) {
    const tile_target *target = tile_target_find(name);
    tile_module *own = tile_module_clone(module);
    tile_function *f = lower(s, own, kernel, 3, target);
    if (f) {
        s->counts->lowered++;
        check_round_trip("what level 3 prints reads back", own);
        check_abi_of(s, f);
        if (fuzz_choose(s, 1, 32)) emit(s, f, target, TILE_EMIT_LLVM);
        if (fuzz_choose(s, 2, 16)) emit(s, f, target, TILE_EMIT_PTX);
    }
    tile_module_destroy(own);
}

static void try_level_2(session *s, const tile_module *module, const char *kernel) {
    tile_module *own = tile_module_clone(module);
    if (lower(s, own, kernel, 2, NULL)) check_round_trip("what level 2 prints reads back", own);
    tile_module_destroy(own);
}

/* Kernels ------------------------------------------------------------------------------------- */

static void try_kernel(session *s, const tile_module *module, const char *kernel) {
    if (fuzz_choose(s, 3, 2)) try_target(s, module, kernel, "sm_90a");
    if (fuzz_choose(s, 4, 4)) try_target(s, module, kernel, "sm_80");
    if (fuzz_choose(s, 5, 2)) try_level_2(s, module, kernel);
    if (fuzz_choose(s, 6, 4)) fuzz_run_kernel(s, module, kernel);
}

/* Modules ------------------------------------------------------------------------------------ */

/* Runs the passes of all levels on functions whose parameters are not bound. */
static void try_general_passes(session *s, const tile_module *module) {
    const tile_pass_options options = {.size = sizeof options};
    tile_module *own = tile_module_clone(module);
    unsigned before = tile_context_error_count(s->context);
    tile_status status = tile_run_passes(own, "canonicalize,cse,dce", &options);
    if (fuzz_succeeded(s, "tile_run_passes failed", status, before))
        check_round_trip("what the passes print reads back", own);
    tile_module_destroy(own);
}

static void try_module(session *s, const tile_module *module) {
    enum { MAX_KERNELS = 4 };
    tool_text text = print(module);
    tile_module *copy = tile_module_clone(module);
    if (s->options->plant) text.size--;
    check_same("a clone prints the same", &text, copy);
    tile_module_destroy(copy);
    free(text.data);
    check_round_trip("what prints reads back", module);
    if (fuzz_choose(s, 8, 2)) try_general_passes(s, module);
    tile_function *f;
    for (unsigned i = 0; i < MAX_KERNELS && (f = tile_module_function(module, i)); i++)
        if (tile_function_get_kind(f) == TILE_KERNEL)
            try_kernel(s, module, tile_function_name(f));
        else if (fuzz_choose(s, 7, 4))
            fuzz_run_compute(s, f);
}

/* Texts of two kinds -------------------------------------------------------------------------- */

/* The input holds the texts that it includes: each begins with a line `//- NAME`. */
typedef struct texts {
    const char *start, *end;
    unsigned held; /* found and not released */
} texts;

static const char text_marker[] = "\n//- ";

/* The next marker from `at` on, or the end. */
static const char *find_marker(const texts *t, const char *at) {
    size_t length = sizeof text_marker - 1;
    for (; (size_t)(t->end - at) >= length; at++)
        if (memcmp(at, text_marker, length) == 0) return at;
    return t->end;
}

/* Finds the text of that name, else the last one, so that a mutated name finds one, too. */
static tile_status find_text(const tile_include *include, tile_included *found, void *user) {
    texts *t = user;
    const char *at = find_marker(t, t->start);
    size_t length = strlen(include->spelling);
    t->held++;
    if (at == t->end) return TILE_UNAVAILABLE;
    for (const char *next = at; next != t->end; next = find_marker(t, next + 1)) {
        const char *name = next + sizeof text_marker - 1;
        at = next;
        if ((size_t)(t->end - name) > length && memcmp(name, include->spelling, length) == 0 &&
            name[length] == '\n')
            break;
    }
    size_t size = (size_t)(find_marker(t, at + 1) - at);
    char *memory = malloc(size + 32), *name = memory + size;
    if (!memory) return TILE_OUT_OF_MEMORY;
    memcpy(memory, at, size); /* the marker is a comment */
    snprintf(name, 32, "text %zu", (size_t)(at - t->start));
    *found = (tile_included){.identity = name, .text = memory, .length = size, .memory = memory};
    return TILE_OK;
}

static void release_text(tile_included *found, void *user) {
    texts *t = user;
    free(found->memory);
    t->held--;
}

static tile_module *parse(session *s, const char *text, size_t length) {
    texts t = {text, text + length, 0};
    const tile_parse_options options = {
        .size = sizeof options, .resolve = find_text, .release = release_text, .user = &t};
    size_t first = (size_t)(find_marker(&t, text) - text);
    if (first == length) return tile_module_parse(s->context, "input", text, length);
    tile_module *module = tile_module_parse_with(s->context, "input", text, first, &options);
    if (t.held) fuzz_fail("what a resolver found is released", s->listener.last);
    return module;
}

static void try_module_text(session *s, const char *text, size_t length) {
    tile_module *module = parse(s, text, length);
    s->counts->parsed += module != NULL;
    if (fuzz_succeeded(s, "tile_module_parse", module ? TILE_OK : TILE_INVALID, 0))
        try_module(s, module);
    tile_module_destroy(module);
}

/* A launch interface as JSON. */
static void try_abi_text(session *s, const char *text, size_t length) {
    enum { MAX_ARGS = 64 };
    int64_t ones[MAX_ARGS], grid[3], clean, plain;
    for (unsigned i = 0; i < MAX_ARGS; i++) ones[i] = 1;
    tile_abi *abi = tile_abi_read(s->context, text, length);
    s->counts->parsed += abi != NULL;
    if (fuzz_succeeded(s, "tile_abi_read", abi ? TILE_OK : TILE_INVALID, 0)) check_abi(s, abi);
    if (abi && tile_abi_arg_count(abi) <= MAX_ARGS) {
        tile_abi_grid(abi, ones, NULL, grid);
        tile_abi_scratch(abi, ones, NULL, &clean, &plain);
        tile_abi_table_extents(abi, 0, ones, grid);
    }
    tile_abi_destroy(abi);
}

void fuzz_text(const char *text, size_t length, const fuzz_options *options, fuzz_counts *counts) {
    session s = {.context = tile_context_create(),
                 .hash = hash_of(text, length),
                 .options = options,
                 .counts = counts};
    tile_context_set_sink(s.context, listen, &s.listener);
    counts->inputs++;
    if (*text == '{')
        try_abi_text(&s, text, length);
    else
        try_module_text(&s, text, length);
    tile_context_destroy(s.context);
}
