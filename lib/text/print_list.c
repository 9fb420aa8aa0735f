/* The list of a module's functions: what a caller gives to each. */
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/text/printer.h"
#include "tile/inspect.h"

enum { WIDTH = 100, INDENT = 10 };

/* Breaks lines, but not within nested brackets. */
typedef struct wrapped {
    tile_out out;
    unsigned column, depth;
} wrapped;

static void wrap(const char *text, size_t length, void *user) {
    enum { LONGEST_PIECE = 24 };
    wrapped *w = user;
    for (size_t i = 0; i < length; i++, w->column++) {
        char c = text[i];
        bool breaks = c == ' ' && w->depth <= 1 && w->column > WIDTH - LONGEST_PIECE;
        w->depth += c == '(' || c == '[';
        w->depth -= (c == ')' || c == ']') && w->depth;
        if (breaks) tile_out_print(&w->out, "\n%*s", INDENT, "");
        if (!breaks) tile_out_print(&w->out, "%c", c);
        if (breaks) w->column = INDENT;
        if (c == '\n') w->column = w->depth = 0;
    }
}

static void list_values(tile_printer *p) {
    const tile_function *f = p->f;
    for (size_t i = 0; i < f->param_count; i++) {
        PRINT(p, "  param   ");
        tile_print_param(p, &f->params[i]);
        PRINT(p, "\n");
    }
    for (size_t i = 0; i < tile_own_tunes(f); i++) {
        PRINT(p, "  tune    ");
        tile_print_tune(p, &f->tunes[i]);
        PRINT(p, "\n");
    }
    if (f->tune_auto) PRINT(p, "  tune    auto\n");
    for (size_t i = 0; i < tile_own_wheres(f); i++) {
        PRINT(p, "  where   ");
        tile_print_expr(p, f->wheres[i]);
        PRINT(p, "\n");
    }
}

static void list_arrays(tile_printer *p) {
    const tile_function *f = p->f;
    for (size_t i = 0; i < f->arg_count; i++) {
        PRINT(p, "  arg     ");
        tile_print_arg(p, &f->args[i]);
        PRINT(p, "\n");
    }
    for (size_t i = 0; i < f->result_count; i++) {
        PRINT(p, "  result  %%%s: ", f->results[i].name);
        tile_print_result_type(p, &f->results[i]);
        PRINT(p, "\n");
    }
}

void tile_module_list(const tile_module *module, const char *name, tile_writer writer, void *user) {
    TILE_GUARD(tile_module_context(module), )
    wrapped lines = {.out = {writer, user}};
    tile_printer p = {.out = {wrap, &lines}};
    const char *before = "";
    if (!module || !writer) return;
    for (const tile_function *f = module->first; f; f = f->next) {
        if (name && strcmp(f->name, name) != 0) continue;
        p.f = f;
        PRINT(&p, "%s%s @%s\n", before, tile_function_kind_name(f->kind), f->name);
        before = "\n";
        if (f->reference) PRINT(&p, "  of      @%s\n", f->reference);
        list_values(&p);
        list_arrays(&p);
    }
    tile_arena_reset(&p.text);
    tile_arena_reset(&p.arena);
}
