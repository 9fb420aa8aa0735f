/* The list of a module's functions as JSON, for programs that choose a function and its arguments:
 *
 *   {
 *     "format"        1, the version of these fields
 *     "functions"     in the order of the text, each with
 *       "kind"          "kernel", "compute", "func" or "plan"
 *       "name"          without @
 *       "line"          in its file
 *       "of"            the compute that is its reference; "": none
 *       "params"        compile-time parameters, each with "name", "kind" ("int", "bool", "type",
 *                       "dim" or "word") and "default"; "": none
 *       "tune"          each clause with "params", the names, and "points", a list of values each
 *       "where"         conditions
 *       "args"          each with "name", "type", "divisible" (1: nothing is said), "noalias",
 *                       "const" and "tensor_map"
 *       "results"       each with "name" and "type"
 *   }
 *
 * Types, values and conditions are text, as in the program. */
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/support/json.h"
#include "lib/text/printer.h"
#include "tile/inspect.h"

typedef struct lister {
    tile_printer printer; /* writes to `piece` */
    tile_text piece;
    tile_arena arena;
    tile_text to;
    const tile_function *f;
} lister;

/* Puts what was printed as a string. */
static void put_piece(lister *l) {
    tile_text_append("", 1, &l->piece);
    tile_json_put_string(&l->to, l->piece.data);
    l->piece.length = 0;
}

static void put_expr(lister *l, const tile_expr *expr) {
    tile_print_expr(&l->printer, expr);
    put_piece(l);
}

/* Begins element i of a list with its name. */
static void put_name(lister *l, size_t i, const char *name) {
    tile_text_format(&l->to, "%s\n      {\"name\": ", i ? "," : "");
    tile_json_put_string(&l->to, name);
}

static void put_params(lister *l) {
    tile_text_format(&l->to, ",\n     \"params\": [");
    for (size_t i = 0; i < l->f->param_count; i++) {
        const tile_param_decl *param = &l->f->params[i];
        put_name(l, i, param->name);
        tile_json_put_field(&l->to, "kind", tile_param_kind_name(param->kind));
        tile_text_format(&l->to, ", \"default\": ");
        tile_print_default(&l->printer, param);
        put_piece(l);
        tile_text_format(&l->to, "}");
    }
    tile_text_format(&l->to, "]");
}

/* A value of the parameter. */
static void put_value(lister *l, const char *name, const tile_expr *value) {
    const tile_param_decl *param = tile_function_find_param(l->f, name, strlen(name));
    bool truth = param && param->kind == TILE_PARAM_bool && value->kind == TILE_EXPR_INT;
    if (truth)
        tile_json_put_string(&l->to, value->integer ? "true" : "false");
    else
        put_expr(l, value);
}

static void put_tune(lister *l, const tile_tune_clause *tune) {
    tile_text_format(&l->to, "\n      {\"params\": [");
    for (unsigned n = 0; n < tune->name_count; n++) {
        tile_text_format(&l->to, "%s", n ? ", " : "");
        tile_json_put_string(&l->to, tune->names[n]);
    }
    tile_text_format(&l->to, "], \"points\": [");
    for (unsigned p = 0; p < tune->point_count; p++) {
        tile_text_format(&l->to, "%s[", p ? ", " : "");
        for (unsigned n = 0; n < tune->name_count; n++) {
            tile_text_format(&l->to, "%s", n ? ", " : "");
            put_value(l, tune->names[n], tune->values[p * tune->name_count + n]);
        }
        tile_text_format(&l->to, "]");
    }
    tile_text_format(&l->to, "]}");
}

static void put_space(lister *l) {
    tile_text_format(&l->to, ",\n     \"tune\": [");
    for (size_t i = 0; i < tile_own_tunes(l->f); i++) {
        tile_text_format(&l->to, "%s", i ? "," : "");
        put_tune(l, &l->f->tunes[i]);
    }
    tile_text_format(&l->to, "],\n     \"where\": [");
    for (size_t i = 0; i < tile_own_wheres(l->f); i++) {
        tile_text_format(&l->to, "%s", i ? ", " : "");
        put_expr(l, l->f->wheres[i]);
    }
    tile_text_format(&l->to, "]");
}

static void put_flag(lister *l, const char *name, bool value) {
    tile_text_format(&l->to, ", \"%s\": %s", name, value ? "true" : "false");
}

static void put_arrays(lister *l) {
    tile_text_format(&l->to, ",\n     \"args\": [");
    for (size_t i = 0; i < l->f->arg_count; i++) {
        const tile_arg_decl *arg = &l->f->args[i];
        put_name(l, i, arg->name);
        tile_text_format(&l->to, ", \"divisible\": %u", arg->divisible ? arg->divisible : 1);
        put_flag(l, "noalias", arg->noalias);
        put_flag(l, "const", arg->is_const);
        put_flag(l, "tensor_map", arg->tensor_map);
        tile_text_format(&l->to, ", \"type\": ");
        tile_print_arg_type(&l->printer, arg);
        put_piece(l);
        tile_text_format(&l->to, "}");
    }
    tile_text_format(&l->to, "],\n     \"results\": [");
    for (size_t i = 0; i < l->f->result_count; i++) {
        put_name(l, i, l->f->results[i].name);
        tile_text_format(&l->to, ", \"type\": ");
        tile_print_result_type(&l->printer, &l->f->results[i]);
        put_piece(l);
        tile_text_format(&l->to, "}");
    }
    tile_text_format(&l->to, "]");
}

static void put_function(lister *l, const tile_function *f, bool first) {
    l->f = l->printer.f = f;
    tile_text_format(&l->to, "%s\n    {\"kind\": ", first ? "" : ",");
    tile_json_put_string(&l->to, tile_function_kind_name(f->kind));
    tile_json_put_field(&l->to, "name", f->name);
    tile_text_format(&l->to, ", \"line\": %u", (unsigned)f->loc.line);
    tile_json_put_field(&l->to, "of", f->reference);
    put_params(l);
    put_space(l);
    put_arrays(l);
    tile_text_format(&l->to, "}");
}

void tile_module_list_json(const tile_module *module, const char *name, tile_writer writer,
                           void *user) {
    TILE_GUARD(tile_module_context(module), )
    lister l = {.f = NULL};
    bool first = true;
    if (!module || !writer) return;
    l.to.arena = l.piece.arena = &l.arena;
    l.printer.out = (tile_out){tile_text_append, &l.piece};
    tile_text_format(&l.to, "{\n  \"format\": 1,\n  \"functions\": [");
    for (const tile_function *f = module->first; f; f = f->next) {
        if (name && strcmp(f->name, name) != 0) continue;
        put_function(&l, f, first);
        first = false;
    }
    tile_text_format(&l.to, "\n  ]\n}\n");
    writer(l.to.data, l.to.length, user);
    tile_arena_reset(&l.printer.text);
    tile_arena_reset(&l.printer.arena);
    tile_arena_reset(&l.arena);
}
