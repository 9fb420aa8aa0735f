/* Kernels and computes: parameters, arguments, results and clauses. */
#include "lib/text/parse_function.h"

#include <string.h>

#include "tile/strides.h"

#include "lib/ir/describe.h"
#include "lib/ir/level.h"
#include "lib/ops/kinds.h"
#include "lib/support/intern.h"
#include "lib/support/scalar.h"

/* Parameters ---------------------------------------------------------------------------------- */

static bool parse_param_kind(tile_parser *p, tile_param_kind *kind) {
    tile_guess guess = tile_guess_start(p->token.text, p->token.length);
    const char *name;
    for (unsigned k = 0; (name = tile_param_kind_name((tile_param_kind)k)); k++) {
        if (tile_parse_take_word(p, name)) {
            *kind = (tile_param_kind)k;
            return true;
        }
        tile_guess_try(&guess, name);
    }
    if (p->token.kind != TILE_TOKEN_WORD)
        return tile_parse_expected(p, "a parameter's kind: int, bool, type, dim or word");
    return tile_parse_error(p, p->token.loc,
                            "a parameter is an int, bool, type, dim or word, not '%.*s'%s",
                            (int)p->token.length, p->token.text, tile_guess_text(p, &guess, ""));
}

static bool check_param_name(tile_parser *p, const tile_token *token) {
    const char *text = token->text;
    size_t length = token->length;
    if (tile_function_find_param(p->function, text, length))
        return tile_parse_error(p, token->loc, "the parameter '%.*s' is declared twice",
                                (int)length, text);
    if (tile_opcode_from_name(text, length) || tile_scalar_from_name(text, length) ||
        tile_is_literal_word(text, length))
        return tile_parse_error(p, token->loc,
                                "'%.*s' is a word of the language and cannot name a "
                                "parameter",
                                (int)length, text);
    return true;
}

/* Any word, regardless of its other meanings. */
static const tile_expr *parse_word(tile_parser *p, const char *what) {
    const char *word = tile_parse_name(p, TILE_TOKEN_WORD, what);
    return word ? tile_parse_word_expr(p, word) : NULL;
}

static bool parse_param(tile_parser *p) {
    tile_token token = p->token;
    const char *name = tile_parse_name(p, TILE_TOKEN_WORD, "a parameter's name");
    tile_param_kind kind = TILE_PARAM_int;
    if (!name || !check_param_name(p, &token)) return false;
    if (!tile_parse_take(p, ":"))
        return tile_parse_error(
            p, token.loc,
            "a parameter is its name and its kind: `%s: int`, or bool, type, dim "
            "or word in place of int",
            name);
    if (!parse_param_kind(p, &kind)) return false;
    const tile_expr *expr = NULL;
    const tile_type *type = NULL;
    if (tile_parse_take(p, "=")) {
        tile_loc loc = p->token.loc;
        if (kind == TILE_PARAM_type) {
            if (!(type = tile_parse_type(p))) return false;
            if (type->kind != TILE_TYPE_SCALAR || !tile_scalar_is_data(type->scalar))
                return tile_parse_error(p, loc, "a type parameter is an element type such as f16");
        } else if (kind == TILE_PARAM_word) {
            if (!(expr = parse_word(p, "a word"))) return false;
        } else if (!(expr = tile_parse_host_expr(p, TILE_PRECEDENCE_ABOVE_COMPARE, false))) {
            return false;
        }
    }
    tile_function_add_param(p->function, name, kind, expr, type);
    p->function->params[p->function->param_count - 1].loc = token.loc;
    return true;
}

static bool parse_params(tile_parser *p) {
    if (!tile_parse_take(p, "<")) return true;
    do
        if (!parse_param(p)) return false;
    while (tile_parse_take(p, ","));
    return tile_parse_expect(p, ">");
}

/* Arguments and results ----------------------------------------------------------------------- */

static bool parse_arg_attrs(tile_parser *p, unsigned arg) {
    static const tile_attr_id ids[] = {TILE_ATTR_divisible, TILE_ATTR_noalias, TILE_ATTR_constant,
                                       TILE_ATTR_value, TILE_ATTR_tensor_map};
    enum { COUNT = sizeof ids / sizeof *ids };
    tile_attr_set allowed = {{0}};
    tile_parsed_attr attrs[COUNT];
    unsigned count = 0;
    tile_loc loc = p->token.loc;
    for (unsigned i = 0; i < COUNT; i++) tile_attr_set_add(&allowed, ids[i]);
    if (!tile_parse_attrs(p, allowed, "an argument", attrs, &count)) return false;
    for (unsigned i = 0; i < count; i++) {
        int64_t divisor, value;
        if (attrs[i].id == TILE_ATTR_noalias)
            tile_function_set_arg_noalias(p->function, arg, true);
        else if (attrs[i].id == TILE_ATTR_tensor_map)
            p->function->args[arg].tensor_map = true;
        else if (attrs[i].id == TILE_ATTR_constant)
            tile_function_set_arg_const(p->function, arg, true);
        else if (attrs[i].id == TILE_ATTR_value && !tile_expr_is_int(attrs[i].expr, &value))
            return tile_parse_error(p, loc, "'value' takes a number");
        else if (attrs[i].id == TILE_ATTR_value)
            p->function->args[arg].known = attrs[i].expr;
        else if (!tile_expr_is_int(attrs[i].expr, &divisor) || divisor < 1 ||
                 divisor > TILE_MAX_DIVISOR)
            return tile_parse_error(p, loc, "'divisible' takes a number from 1 to 2^30");
        else
            tile_function_set_arg_divisible(p->function, arg, (unsigned)divisor);
    }
    return true;
}

static bool parse_arg(tile_parser *p) {
    tile_loc loc = p->token.loc;
    bool bare = p->token.kind == TILE_TOKEN_WORD;
    if (bare && p->next.kind == TILE_TOKEN_PUNCT && *p->next.text == ':')
        return tile_parse_error(p, loc, "a value's name begins with %%: write %%%.*s",
                                (int)p->token.length, p->token.text);
    if (bare)
        return tile_parse_error(p, loc,
                                "an argument is its name and its type, `%%n: i32` or "
                                "`%%x: view<f32[%%n]>`");
    const char *name = tile_parse_name(p, TILE_TOKEN_VALUE, "an argument such as %n");
    if (name && tile_parse_at(p, "-"))
        return tile_parse_error(p, p->token.loc, "a name has letters, digits and _, not -");
    if (!name || !tile_parse_expect(p, ":")) return false;
    tile_shape shape;
    const tile_loc type_loc = p->token.loc;
    const tile_type *type = tile_parse_declared_type(p, &shape);
    if (!type || !tile_parse_check_arg_kind(p, name, type, type_loc)) return false;
    unsigned index = tile_function_arg_count(p->function);
    tile_value value =
        type->kind == TILE_TYPE_VIEW
            ? tile_declare_view_arg(p->function, name, type, shape.extents, shape.strides)
            : tile_function_add_arg(p->function, name, type);
    tile_function_set_arg_strides(p->function, index, shape.strides); /* of a tensor */
    return tile_parse_define(p, name, loc, value) && parse_arg_attrs(p, index);
}

static bool parse_args(tile_parser *p) {
    if (p->token.kind == TILE_TOKEN_WORD)
        return tile_parse_error(p, p->token.loc,
                                "arguments in parentheses follow the name: `%s @%s(%%n: i32, ..)`",
                                tile_function_kind_name(p->function->kind), p->function->name);
    if (!tile_parse_expect(p, "(")) return false;
    while (!tile_parse_at(p, ")")) {
        if (!parse_arg(p)) return false;
        if (!tile_parse_take(p, ",")) break;
    }
    return tile_parse_take(p, ")") || tile_parse_refuse_after_arg(p);
}

static bool has_result(const tile_function *f, const char *name) {
    for (size_t i = 0; i < f->result_count; i++)
        if (strcmp(f->results[i].name, name) == 0) return true;
    return false;
}

/* "->" "(" ("%"ID ":" type),+ ")" */
static bool parse_results(tile_parser *p) {
    if (!tile_parse_at(p, "->"))
        return tile_parse_expected(p, "the results, `-> (%y: tensor<f32[n]>)`");
    tile_parse_advance(p);
    if (!tile_parse_take(p, "("))
        return tile_parse_error(p, p->token.loc,
                                "results have names, in parentheses: `-> (%%y: %s)`",
                                p->function->kind == TILE_FUNC ? "f32" : "tensor<f32[n]>");
    do {
        tile_loc loc = p->token.loc;
        const char *name = tile_parse_name(p, TILE_TOKEN_VALUE, "a result such as %c");
        if (!name || !tile_parse_expect(p, ":")) return false;
        tile_shape shape;
        const tile_type *type = tile_parse_declared_type(p, &shape);
        if (!type) return false;
        if (tile_parse_find(p, name) || has_result(p->function, name))
            return tile_parse_error(p, loc, "%%%s is declared twice", name);
        tile_function_add_result(p->function, name, type);
        tile_function_set_result_strides(p->function, tile_function_result_count(p->function) - 1,
                                         shape.strides);
    } while (tile_parse_take(p, ","));
    return tile_parse_expect(p, ")");
}

/* A result is defined by the body's statement with its name. */
static void set_results(tile_parser *p) {
    for (unsigned i = 0; i < p->function->result_count; i++) {
        const tile_symbol *symbol = tile_parse_find(p, p->function->results[i].name);
        if (symbol) tile_function_set_result(p->function, i, symbol->value);
    }
}

/* Clauses ------------------------------------------------------------------------------------- */

static bool parse_extents(tile_parser *p, const tile_expr *extents[3], unsigned *rank) {
    tile_loc loc = p->token.loc;
    const tile_token open = p->token;
    *rank = 0;
    if (!tile_parse_take(p, "["))
        return tile_parse_error(p, loc, "extents are in brackets: `grid [1]`, `cluster [2]`");
    do {
        if (*rank == TILE_MAX_GRID_RANK)
            return tile_parse_error(p, loc,
                                    "a grid or cluster has at most %d dims; combine several into "
                                    "one, and separate them with `/` and `rem`",
                                    TILE_MAX_GRID_RANK);
        extents[*rank] = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, true);
        if (!extents[(*rank)++]) return false;
    } while (tile_parse_take(p, ","));
    return tile_parse_close(p, "]", &open);
}

static bool parse_grid(tile_parser *p) {
    const tile_expr *extents[3];
    unsigned rank;
    if (!parse_extents(p, extents, &rank)) return false;
    tile_function_set_grid(p->function, rank, extents);
    return true;
}

static bool parse_cluster(tile_parser *p) {
    const tile_expr *extents[3];
    unsigned rank;
    if (!parse_extents(p, extents, &rank)) return false;
    tile_function_set_cluster(p->function, rank, extents);
    return true;
}

/* "flat" ["[" expr,+ "]"]: the grid before flattening */
static bool parse_flat(tile_parser *p) {
    const tile_expr *extents[3];
    unsigned rank;
    tile_function_set_flat(p->function, true);
    if (!tile_parse_at(p, "[")) return true;
    tile_loc loc = p->token.loc;
    if (!parse_extents(p, extents, &rank)) return false;
    if (rank != 3) return tile_parse_error(p, loc, "a flattened grid has 3 extents, not %u", rank);
    for (unsigned d = 0; d < 3; d++) p->function->unfolded[d] = extents[d];
    return true;
}

static bool parse_warps(tile_parser *p) {
    const tile_expr *warps = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
    if (warps) tile_function_set_warps(p->function, warps);
    return warps != NULL;
}

/* An expression over a launch's sizes, but not its device: points are also chosen without a device.
 */
static const tile_expr *parse_sized(tile_parser *p) {
    tile_loc loc = p->token.loc;
    const tile_expr *expr = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, true);
    return expr && tile_parse_refuse_num_sms(p, loc, expr) ? expr : NULL;
}

static bool parse_where(tile_parser *p) {
    const tile_expr *condition = parse_sized(p);
    if (condition && tile_parse_at(p, "="))
        return tile_parse_equals(p, tile_expr_text(p->function, condition, &p->arena));
    if (condition) tile_function_add_where(p->function, condition);
    return condition != NULL;
}

static bool parse_sync(tile_parser *p) {
    tile_function_set_sync_explicit(p->function, true);
    return tile_parse_expect_word(p, "explicit");
}

/* "raster" ("auto" | ("rows" | "columns") "(" expr ")") */
static bool parse_raster(tile_parser *p) {
    tile_raster raster = TILE_RASTER_ROWS;
    const char *name;
    const tile_expr *group = NULL;
    if (tile_parse_take_word(p, "auto")) {
        tile_function_set_raster_auto(p->function);
        return true;
    }
    while ((name = tile_raster_name(raster)) && !tile_parse_at_word(p, name)) raster++;
    if (!name && tile_parse_old_word(p, TILE_RENAMED_clause, "raster")) return false;
    if (!name) return tile_parse_expected(p, "rows(n), columns(n) or auto");
    tile_parse_advance(p);
    if (!tile_parse_expect(p, "(") ||
        !(group = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false)) ||
        !tile_parse_expect(p, ")"))
        return false;
    tile_function_set_raster(p->function, raster, group);
    return true;
}

/* "persistent" ("auto" | ["if" expr] ["balanced" "by" expr]) */
static bool parse_persistent(tile_parser *p) {
    const tile_expr *cost = NULL, *condition = NULL;
    if (tile_parse_take_word(p, "auto")) {
        tile_function_set_persistent_auto(p->function);
        return true;
    }
    if (p->token.kind == TILE_TOKEN_INT)
        return tile_parse_error(
            p, p->token.loc, "`persistent` has no number: the launch fills the device with blocks");
    bool depends = tile_parse_take_word(p, "if");
    if (depends) condition = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
    if (depends && !condition) return false;
    if (tile_parse_old_word(p, TILE_RENAMED_clause, "persistent")) return false;
    bool balanced = tile_parse_take_word(p, "balanced");
    if (balanced && !tile_parse_take_word(p, "by"))
        return tile_parse_expected(p, "by, and the cost of a tile");
    p->has_block_id = balanced;
    if (balanced) cost = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, true);
    p->has_block_id = false;
    tile_function_set_persistent(p->function, true, cost);
    tile_function_set_persistent_if(p->function, condition);
    return !balanced || cost;
}

static bool parse_level(tile_parser *p) {
    tile_loc loc = p->token.loc;
    int64_t level;
    const tile_expr *expr = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
    if (!expr) return false;
    if (!tile_expr_is_int(expr, &level) || (level != 2 && level != 3))
        return tile_parse_error(p, loc, "a kernel is at level 2 or 3");
    tile_function_set_level(p->function, (unsigned)level);
    return true;
}

static bool parse_tune_name(tile_parser *p, const char **names, unsigned *count) {
    tile_token token = p->token;
    if (*count == TILE_MAX_TUNE_NAMES)
        return tile_parse_error(
            p, token.loc,
            "'tune' takes at most %d parameters at once; write another `tune` for the others",
            TILE_MAX_TUNE_NAMES);
    const char *name = tile_parse_name(p, TILE_TOKEN_WORD, "a parameter's name");
    if (!name) return false;
    const tile_param_decl *param = tile_function_find_param(p->function, name, strlen(name));
    if (!param) return tile_parse_refuse_param(p, &token);
    names[(*count)++] = name;
    return true;
}

static bool parse_tune_names(tile_parser *p, const char **names, unsigned *count) {
    if (!tile_parse_take(p, "(")) return parse_tune_name(p, names, count);
    do
        if (!parse_tune_name(p, names, count)) return false;
    while (tile_parse_take(p, ","));
    return tile_parse_expect(p, ")");
}

/* A number, a word or an element type, by the parameter's kind. */
static const tile_expr *parse_tune_value(tile_parser *p, const char *name) {
    const tile_param_decl *param = tile_function_find_param(p->function, name, strlen(name));
    const tile_token token = p->token;
    if (param->kind == TILE_PARAM_word) return parse_word(p, "a word");
    if (param->kind != TILE_PARAM_type) return parse_sized(p);
    bool word = token.kind == TILE_TOKEN_WORD;
    if (word && tile_scalar_is_data(tile_scalar_from_name(token.text, token.length)))
        return parse_word(p, "an element type such as f16");
    tile_parse_expected(p, "an element type such as f16");
    return NULL;
}

/* One point: a value, or a list in parentheses with one value for each name. */
static bool parse_point(tile_parser *p, const char *const *names, unsigned name_count,
                        const tile_expr **values) {
    tile_loc loc = p->token.loc;
    if (name_count == 1) return (values[0] = parse_tune_value(p, names[0])) != NULL;
    if (!tile_parse_take(p, "("))
        return tile_parse_error(p, loc, "a point has %u values in parentheses, one for each name",
                                name_count);
    unsigned count = 0;
    do {
        const tile_expr *value = count < name_count
                                     ? parse_tune_value(p, names[count])
                                     : tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
        if (!value) return false;
        if (count < name_count) values[count] = value;
        count++;
    } while (tile_parse_take(p, ","));
    if (count != name_count)
        return tile_parse_error(p, loc, "this point has %u values for %u parameters", count,
                                name_count);
    return tile_parse_expect(p, ")");
}

/* `tune auto`. A parameter may be called "auto", too: `tune auto in [1, 2]`. */
static bool parse_tune_auto(tile_parser *p) {
    const tile_token token = p->token;
    tile_parse_advance(p);
    if (p->function->kind != TILE_KERNEL)
        return tile_parse_error(p, token.loc,
                                "`tune auto` is a clause of kernels: a plan has the "
                                "points of the kernels that it launches");
    if (p->function->tune_auto)
        return tile_parse_error(p, token.loc, "`tune auto` is given twice: remove one of them");
    tile_function_set_tune_auto(p->function, true);
    return true;
}

/* "tune" ("auto" | (ID | "(" ID,+ ")") "in" "[" ...,+ "]") */
static bool parse_tune(tile_parser *p) {
    const char *names[TILE_MAX_TUNE_NAMES];
    unsigned name_count = 0;
    const tile_expr **values = NULL;
    size_t count = 0, capacity = 0;
    bool is_name = tile_text_is("in", p->next.text, p->next.length);
    if (tile_parse_at_word(p, "auto") && !is_name) return parse_tune_auto(p);
    if (!parse_tune_names(p, names, &name_count) || !tile_parse_expect_word(p, "in") ||
        !tile_parse_expect(p, "["))
        return false;
    do {
        for (unsigned i = 0; i < name_count; i++) {
            values = tile_arena_grow(&p->arena, values, count + i, &capacity, sizeof *values);
            values[count + i] = NULL;
        }
        if (!parse_point(p, names, name_count, values + count)) return false;
        count += name_count;
    } while (tile_parse_take(p, ","));
    if (!tile_parse_expect(p, "]")) return false;
    tile_function_add_tune(p->function, name_count, names, (unsigned)(count / name_count), values);
    return true;
}

/* A bare word, or this function's parameter of kind word; NULL if it is something else. */
static const tile_expr *find_word(tile_parser *p) {
    const tile_token *token = &p->token;
    const tile_param_decl *own = tile_function_find_param(p->function, token->text, token->length);
    const char *name = tile_intern_name(p->context, token->text, token->length);
    if (own) return own->kind == TILE_PARAM_word ? tile_expr_param(p->context, name) : NULL;
    return tile_is_literal_word(token->text, token->length) ? NULL : tile_parse_word_expr(p, name);
}

static bool parse_param_value(tile_parser *p, tile_param_value *value) {
    value->name =
        tile_parse_name(p, TILE_TOKEN_WORD, "the name of a parameter, as in `<block = 64>`");
    if (!value->name || !tile_parse_expect(p, "=")) return false;
    bool alone = p->token.kind == TILE_TOKEN_WORD && p->next.kind == TILE_TOKEN_PUNCT &&
                 (*p->next.text == ',' || *p->next.text == '>');
    if (alone) value->type = tile_parse_find_scalar(p, p->token.text, p->token.length);
    if (alone && !value->type) value->expr = find_word(p);
    if (value->type || value->expr)
        tile_parse_advance(p);
    else
        value->expr = tile_parse_host_expr(p, TILE_PRECEDENCE_ABOVE_COMPARE, true);
    return value->type || value->expr;
}

bool tile_parse_param_values(tile_parser *p, const tile_param_value **values, unsigned *count) {
    tile_param_value *read = NULL;
    size_t used = 0, capacity = 0;
    *values = NULL;
    *count = 0;
    if (!tile_parse_take(p, "<")) return true;
    do {
        read = tile_arena_grow(&p->arena, read, used, &capacity, sizeof *read);
        read[used] = (tile_param_value){.name = NULL};
        if (!parse_param_value(p, &read[used++])) return false;
    } while (tile_parse_take(p, ","));
    *values = read;
    *count = (unsigned)used;
    return tile_parse_expect(p, ">");
}

/* "of" "@"ID [values] */
static bool parse_of(tile_parser *p) {
    const tile_param_value *values;
    unsigned count;
    tile_loc loc = p->token.loc;
    const char *name = tile_parse_name(p, TILE_TOKEN_SYMBOL, "a compute such as @matmul");
    if (!name || !tile_parse_param_values(p, &values, &count)) return false;
    tile_function_set_reference(p->function, name, values, count);
    p->function->reference_loc = loc;
    return true;
}

static const struct {
    const char *word;
    bool repeats;
    bool (*parse)(tile_parser *p);
} clauses[] = {
    {"tune", true, parse_tune},
    {"where", true, parse_where},
    {"grid", false, parse_grid},
    {"flat", false, parse_flat},
    {"cluster", false, parse_cluster},
    {"warps", false, parse_warps},
    {"sync", false, parse_sync},
    {"level", false, parse_level},
    {"of", false, parse_of},
    {"raster", false, parse_raster},
    {"persistent", false, parse_persistent},
};

enum { CLAUSE_COUNT = sizeof clauses / sizeof *clauses };

bool tile_parse_at_clause(const tile_parser *p) {
    unsigned i = 0;
    while (i < CLAUSE_COUNT && !tile_parse_at_word(p, clauses[i].word)) i++;
    return i < CLAUSE_COUNT;
}

static bool unknown_clause(tile_parser *p) {
    if (tile_parse_foreign(p, TILE_FOREIGN_CLAUSE)) return false;
    tile_guess guess = tile_guess_start(p->token.text, p->token.length);
    for (unsigned i = 0; i < CLAUSE_COUNT; i++) tile_guess_try(&guess, clauses[i].word);
    return tile_parse_error(p, p->token.loc, "unknown clause '%.*s'%s", (int)p->token.length,
                            p->token.text, tile_guess_text(p, &guess, ""));
}

static bool is_for_plans(const char *clause) {
    static const char *const words[] = {"tune", "where", "of"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], clause) == 0) return true;
    return false;
}

static bool parse_clauses(tile_parser *p) {
    bool seen[CLAUSE_COUNT] = {false};
    while (p->token.kind == TILE_TOKEN_WORD) {
        unsigned i = 0;
        while (i < CLAUSE_COUNT && !tile_parse_at_word(p, clauses[i].word)) i++;
        if (i == CLAUSE_COUNT) return unknown_clause(p);
        if (seen[i] && !clauses[i].repeats)
            return tile_parse_error(p, p->token.loc, "'%s' is given twice", clauses[i].word);
        if (p->function->kind == TILE_PLAN && !is_for_plans(clauses[i].word))
            return tile_parse_error(
                p, p->token.loc,
                "'%s' is a clause of kernels: a plan launches kernels with their own clauses",
                clauses[i].word);
        seen[i] = true;
        tile_parse_advance(p);
        if (tile_parse_at(p, "="))
            return tile_parse_error(p, p->token.loc, "a clause has no `=`: write `%s %.*s`",
                                    clauses[i].word, (int)p->next.length, p->next.text);
        if (!clauses[i].parse(p)) return false;
    }
    return true;
}

/* Functions ----------------------------------------------------------------------------------- */

static bool at_kind(const tile_parser *p, tile_function_kind *kind) {
    const char *word;
    for (unsigned k = 0; (word = tile_function_kind_name((tile_function_kind)k)); k++)
        if (tile_parse_at_word(p, word)) {
            *kind = (tile_function_kind)k;
            return true;
        }
    return false;
}

/* `func` alone is a word of MLIR: func.func @name. */
bool tile_parse_at_function(const tile_parser *p) {
    tile_function_kind kind;
    return at_kind(p, &kind) && (kind != TILE_FUNC || p->next.kind == TILE_TOKEN_SYMBOL);
}

bool tile_parse_func_header(tile_parser *p) {
    tile_loc loc = p->token.loc;
    const char *name = tile_parse_name(p, TILE_TOKEN_SYMBOL, "a name such as @relu");
    bool fits = name && tile_check_func_name(p->context, name, loc);
    p->function = fits ? tile_function_create(p->module, TILE_FUNC, name, loc) : NULL;
    return p->function && parse_params(p) && parse_args(p) && parse_results(p);
}

bool tile_parse_body(tile_parser *p) {
    p->builder = tile_builder_at_end(p->function, tile_function_body(p->function));
    bool ok = tile_parse_region(p, tile_function_body(p->function), false);
    set_results(p);
    if (!p->function->level) p->function->level = tile_function_level_by_ops(p->function);
    return ok;
}

bool tile_parse_function(tile_parser *p) {
    tile_function_kind kind = TILE_COMPUTE;
    at_kind(p, &kind);
    tile_parse_advance(p);
    if (kind == TILE_FUNC) return tile_parse_func(p);
    tile_loc loc = p->token.loc;
    const char *name = tile_parse_name(p, TILE_TOKEN_SYMBOL, "a name such as @matmul");
    if (!name) return false;
    p->function = tile_function_create(p->module, kind, name, loc);
    if (!p->function) return false;
    p->function->level = 0; /* not specified yet */
    if (!parse_params(p) || !parse_args(p) ||
        !(kind == TILE_COMPUTE ? parse_results(p) : parse_clauses(p)))
        return false;
    return tile_parse_body(p);
}
