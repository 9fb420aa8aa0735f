/* For tests of code generation: takes IR text, returns LLVM IR or PTX, and collects diagnostics. */
#ifndef TILE_TEST_UNIT_CODEGEN_FIXTURE_H
#define TILE_TEST_UNIT_CODEGEN_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tile/compile.h"

typedef struct codegen_fixture {
    tile_context *context;
    tile_module *module;
    tile_function *kernel;
    char messages[8192]; /* errors, one per line */
} codegen_fixture;

static inline void codegen_sink(const tile_diagnostic *diagnostic, void *user) {
    codegen_fixture *x = user;
    size_t length = strlen(x->messages);
    snprintf(x->messages + length, sizeof x->messages - length, "%s\n", diagnostic->message);
}

/* Parses text; its first function is the kernel. */
static inline void codegen_open(codegen_fixture *x, const char *text) {
    *x = (codegen_fixture){.context = tile_context_create()};
    tile_context_set_sink(x->context, codegen_sink, x);
    x->module = tile_module_parse(x->context, "test.tile", text, strlen(text));
    cr_assert(x->module, "%s", x->messages);
    x->kernel = tile_module_function(x->module, 0);
}

static inline void codegen_close(codegen_fixture *x) {
    tile_module_destroy(x->module);
    tile_context_destroy(x->context);
}

static inline tile_status codegen_emit(codegen_fixture *x, tile_emit_kind kind, const char *target,
                                       tile_blob *out) {
    const tile_emit_options options = {.size = sizeof options, .target = tile_target_find(target)};
    return tile_emit(x->kernel, kind, &options, out);
}

/* Returns how often a piece of text occurs. */
static inline unsigned count_of(const char *text, const char *piece) {
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, piece)); at += strlen(piece)) count++;
    return count;
}

/* Compiles a text, which must succeed; the caller destroys the blob. */
static inline tile_blob codegen_of(const char *text, tile_emit_kind kind, const char *target) {
    codegen_fixture x;
    tile_blob out;
    codegen_open(&x, text);
    tile_status status = codegen_emit(&x, kind, target, &out);
    cr_assert_eq(status, TILE_OK, "%s", x.messages);
    codegen_close(&x);
    return out;
}

#endif
