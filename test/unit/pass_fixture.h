/* For tests of passes on kernels that are built in C: a context that collects its diagnostics, a
 * kernel, a call of one pass, and the kernel's outline as one line. */
#ifndef TILE_TEST_UNIT_PASS_FIXTURE_H
#define TILE_TEST_UNIT_PASS_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "passes/pass.h"

typedef struct pass_fixture {
    tile_context *context;
    tile_module *module;
    tile_function *kernel;
    tile_builder b; /* inserts at the end of the body */
    tile_arena scratch;
    char messages[8192]; /* one per line: severity number, message */
    long statistic;      /* the last one reported as `watched` */
    const char *watched;
} pass_fixture;

static inline void fixture_sink(const tile_diagnostic *diagnostic, void *user) {
    pass_fixture *x = user;
    size_t length = strlen(x->messages);
    snprintf(x->messages + length, sizeof x->messages - length, "%d %s\n", diagnostic->severity,
             diagnostic->message);
}

static inline void fixture_statistic(const char *pass, const char *name, long value, void *user) {
    pass_fixture *x = user;
    (void)pass;
    if (x->watched && strcmp(name, x->watched) == 0) x->statistic = value;
}

/* An empty kernel @k of four warps without arguments. */
static inline void fixture_open(pass_fixture *x) {
    *x = (pass_fixture){.context = tile_context_create()};
    tile_context_set_sink(x->context, fixture_sink, x);
    x->module = tile_module_create(x->context);
    x->kernel = tile_function_create(x->module, TILE_KERNEL, "k", (tile_loc){0});
    const tile_expr *one = tile_expr_int(x->context, 1);
    tile_function_set_grid(x->kernel, 1, &one);
    tile_function_set_warps(x->kernel, tile_expr_int(x->context, 4));
    x->b = tile_builder_at_end(x->kernel, tile_function_body(x->kernel));
}

static inline void fixture_close(pass_fixture *x) {
    tile_arena_reset(&x->scratch);
    tile_module_destroy(x->module);
    tile_context_destroy(x->context);
}

/* Runs the pass on a kernel that must be valid before and, if the pass succeeds, after it. */
static inline tile_status fixture_run(pass_fixture *x, tile_pass_function function) {
    cr_assert_eq(tile_function_verify(x->kernel), TILE_OK, "before the pass: %s", x->messages);
    tile_pass pass = {.context = x->context,
                      .target = tile_target_find("sm_80"),
                      .scratch = &x->scratch,
                      .statistic = fixture_statistic,
                      .report_user = x,
                      .name = "test"};
    tile_status status = function(&pass, x->kernel);
    if (status == TILE_OK)
        cr_assert_eq(tile_function_verify(x->kernel), TILE_OK, "after the pass: %s", x->messages);
    return status;
}

static inline tile_value fixture_arg(pass_fixture *x, const char *name, tile_scalar scalar,
                                     bool ptr) {
    const tile_type *type =
        ptr ? tile_type_ptr(x->context, scalar) : tile_type_scalar(x->context, scalar);
    return tile_function_add_arg(x->kernel, name, type);
}

/* Returns a rows x columns view of a pointer argument. */
static inline tile_value fixture_view(pass_fixture *x, const char *name, tile_scalar scalar,
                                      int64_t rows, int64_t columns, bool noalias) {
    tile_value pointer = fixture_arg(x, name, scalar, true);
    tile_function_set_arg_noalias(x->kernel, tile_function_arg_count(x->kernel) - 1, noalias);
    const int64_t dims[] = {rows, columns};
    const tile_value extents[] = {tile_build_int(&x->b, rows), tile_build_int(&x->b, columns)};
    return tile_build_view(&x->b, pointer, extents, 2, NULL, 0,
                           tile_type_view(x->context, scalar, 2, dims));
}

static inline const tile_type *fixture_tile(pass_fixture *x, tile_scalar scalar, int64_t rows,
                                            int64_t columns) {
    const int64_t dims[] = {rows, columns};
    return tile_type_tile(x->context, scalar, 2, dims);
}

static inline tile_value fixture_buffer(pass_fixture *x, const char *name, unsigned stages,
                                        int64_t rows, int64_t columns) {
    const int64_t dims[] = {rows, columns};
    tile_value buffer =
        tile_build_alloc_shared(&x->b, tile_type_shared(x->context, TILE_f16, stages, 2, dims));
    tile_value_set_name(x->kernel, buffer, name);
    return buffer;
}

typedef struct outline {
    char text[4096];
    size_t length;
} outline;

static inline void outline_add(outline *o, const char *word) {
    bool glued = !o->length || o->text[o->length - 1] == '{';
    o->length += (size_t)snprintf(o->text + o->length, sizeof o->text - o->length, "%s%s",
                                  glued ? "" : " ", word);
}

static inline void outline_region(const tile_function *f, tile_region region, outline *o) {
    TILE_FOR_EACH_OP (f, op, region) {
        const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
        char word[64];
        int64_t pending;
        if (!info->effects || info->effects & (TILE_EFFECT_TERMINATOR | TILE_EFFECT_ALLOC))
            continue;
        snprintf(word, sizeof word, "%s", info->name);
        if (tile_op_opcode(f, op) == TILE_OP_wait_group &&
            tile_value_is_int(f, tile_op_operand(f, op, 0), &pending))
            snprintf(word, sizeof word, "wait_group(%lld)", (long long)pending);
        outline_add(o, word);
        for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++) {
            tile_region inner = tile_op_region(f, op, r);
            if (r == 1 && tile_op_opcode(f, tile_region_first(f, inner)) == TILE_OP_yield)
                continue; /* there is no else branch */
            outline_add(o, "{");
            outline_region(f, inner, o);
            o->length += (size_t)snprintf(o->text + o->length, sizeof o->text - o->length, "}");
        }
    }
}

/* Returns the kernel's operations in order: names, without pure operations and allocations, regions
 * in braces. The text is valid until the next call. */
static inline const char *fixture_outline(const pass_fixture *x) {
    static outline o;
    o = (outline){.length = 0};
    outline_region(x->kernel, x->kernel->body, &o);
    return o.text;
}

#endif
