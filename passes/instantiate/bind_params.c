/* Binding parameters: reading values, defaults, the first point that fits, `where`. */
#include "passes/instantiate/bind_params.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/accumulator.h"
#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"

/* Names in a function are interned, so comparing pointers finds most of them. */
static tile_bound_param *find(const tile_bound_params *bound, const char *name) {
    for (size_t i = 0; i < bound->f->param_count; i++)
        if (bound->f->params[i].name == name) return &bound->params[i];
    for (size_t i = 0; i < bound->f->param_count; i++)
        if (strcmp(bound->f->params[i].name, name) == 0) return &bound->params[i];
    return NULL;
}

const tile_bound_param *tile_find_bound(const tile_bound_params *bound, const char *name) {
    return find(bound, name);
}

tile_scalar tile_find_bound_scalar(const tile_bound_params *bound, const char *name) {
    size_t length;
    bool accumulates = tile_is_accumulator(name, &name, &length);
    for (size_t i = 0; i < bound->f->param_count; i++) {
        const char *own = bound->f->params[i].name;
        if (strlen(own) != length || memcmp(own, name, length) != 0) continue;
        tile_scalar scalar = bound->params[i].scalar;
        return accumulates && scalar ? tile_accumulator_scalar(scalar) : scalar;
    }
    return TILE_SCALAR_NONE;
}

static bool param_value(const char *name, int64_t *value, void *user) {
    const tile_bound_param *param = find(user, name);
    if (!param || !param->bound) return false;
    *value = param->value;
    return true;
}

static bool arg_value(unsigned index, int64_t *value, void *user) {
    const tile_bound_params *bound = user;
    if (!bound->sizes) return false;
    *value = bound->sizes[index];
    return true;
}

tile_bindings tile_param_bindings(tile_bound_params *bound) {
    return (tile_bindings){.param = param_value, .arg = arg_value, .user = bound};
}

bool tile_is_open_where(const tile_bound_params *bound, const tile_expr *where) {
    return !bound->sizes && tile_expr_holds(where, TILE_EXPR_ARG);
}

bool tile_needs_sizes(const tile_function *f) {
    for (size_t i = 0; i < f->where_count; i++)
        if (tile_expr_holds(f->wheres[i], TILE_EXPR_ARG)) return true;
    return false;
}

/* Given values ------------------------------------------------------------------------------- */

static bool read_integer(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 0);
    return end != text && !*end && !errno;
}

static bool set_type(tile_bound_param *param, tile_scalar scalar) {
    param->scalar = scalar;
    param->value = scalar ? tile_word_value(tile_scalar_name(scalar)) : 0;
    return scalar != TILE_SCALAR_NONE;
}

static bool set_word(tile_bound_param *param, const char *word) {
    param->word = word;
    param->value = tile_word_value(word);
    return *word != 0;
}

/* Reads a value in the format of its kind; false if the text is invalid. */
static bool read_value(tile_param_kind kind, const char *text, tile_bound_param *param) {
    switch (kind) {
    case TILE_PARAM_type: return set_type(param, tile_scalar_of_data(text));
    case TILE_PARAM_word: return set_word(param, text);
    case TILE_PARAM_bool:
        param->value = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
        return param->value || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
    case TILE_PARAM_dim: return read_integer(text, &param->value) && param->value >= 0;
    case TILE_PARAM_int: return read_integer(text, &param->value);
    }
    return false;
}

static const char *expected_words(tile_param_kind kind) {
    switch (kind) {
    case TILE_PARAM_type: return "an element type such as f16";
    case TILE_PARAM_word: return "a word";
    case TILE_PARAM_bool: return "true or false";
    case TILE_PARAM_dim: return "an integer that is not negative";
    case TILE_PARAM_int: return "an integer";
    }
    return "";
}

bool tile_bind_given(tile_bound_params *bound, const tile_pass_option *option) {
    const tile_function *f = bound->f;
    tile_bound_param *param = find(bound, option->key);
    if (!param) return true;
    tile_param_kind kind = f->params[param - bound->params].kind;
    if (param->bound)
        return tile_error_at(f, TILE_NO_OP, "the parameter '%s' is given twice", option->key);
    if (!read_value(kind, option->value, param))
        return tile_error_at(f, TILE_NO_OP, "the parameter '%s' takes %s, not '%s'", option->key,
                             expected_words(kind), option->value);
    return param->bound = true;
}

/* Defaults and tuning points ----------------------------------------------------------------- */

bool tile_evaluate_param(tile_bound_params *bound, tile_param_kind kind, const tile_expr *expr,
                         tile_bound_param *param) {
    tile_bindings bindings = tile_param_bindings(bound);
    *param = (tile_bound_param){.bound = true};
    bool named = kind == TILE_PARAM_word || kind == TILE_PARAM_type;
    if (named && (!expr || expr->kind != TILE_EXPR_WORD)) return false; /* not verified yet */
    if (kind == TILE_PARAM_word) return set_word(param, expr->name);
    if (kind == TILE_PARAM_type) return set_type(param, tile_scalar_of_data(expr->name));
    return tile_expr_eval(expr, &bindings, &param->value);
}

/* Iterates to a fixed point. */
void tile_bind_defaults(tile_bound_params *bound) {
    for (bool progress = true; progress;) {
        progress = false;
        for (size_t i = 0; i < bound->f->param_count; i++) {
            const tile_param_decl *decl = &bound->f->params[i];
            tile_bound_param *param = &bound->params[i];
            if (param->bound) continue;
            tile_bound_param value;
            if (decl->default_type)
                param->bound = set_type(param, decl->default_type->scalar);
            else if (decl->default_expr &&
                     tile_evaluate_param(bound, decl->kind, decl->default_expr, &value))
                *param = value;
            progress |= param->bound;
        }
    }
}

static bool has_default(const tile_function *f, size_t i) {
    return f->params[i].default_expr || f->params[i].default_type;
}

/* True if the clause has a parameter that only the tuning space can bind. */
static bool clause_matters(const tile_bound_params *bound, const tile_tune_clause *clause) {
    for (unsigned n = 0; n < clause->name_count; n++) {
        const tile_bound_param *param = find(bound, clause->names[n]);
        if (param && !param->bound && !has_default(bound->f, (size_t)(param - bound->params)))
            return true;
    }
    return false;
}

/* Binds the values of the point. If they contradict bound ones, binds nothing and returns false.
 * added: bit set of the clause's names that were bound. */
static bool bind_point(tile_bound_params *bound, const tile_tune_clause *clause, unsigned point,
                       uint32_t *added) {
    *added = 0;
    for (unsigned n = 0; n < clause->name_count; n++) {
        tile_bound_param *param = find(bound, clause->names[n]), value;
        bool fits = param && n < 32 &&
                    tile_evaluate_param(bound, bound->f->params[param - bound->params].kind,
                                        clause->values[point * clause->name_count + n], &value);
        if (fits && param->bound)
            fits = param->value == value.value;
        else if (fits) {
            *param = value;
            *added |= (uint32_t)1 << n;
        }
        if (fits) continue;
        for (unsigned undo = 0; undo < n; undo++)
            if (*added >> undo & 1) find(bound, clause->names[undo])->bound = false;
        return false;
    }
    return true;
}

/* Finds the first point that agrees; the last clause varies fastest. Clauses without common
 * names are independent; others are searched with backtracking. *reached: the last clause that
 * was tried. */
static bool search_points(tile_bound_params *bound, size_t clause_index, size_t *reached) {
    if (clause_index == bound->f->tune_count) return true;
    *reached = clause_index > *reached ? clause_index : *reached;
    const tile_tune_clause *clause = &bound->f->tunes[clause_index];
    if (!clause_matters(bound, clause)) return search_points(bound, clause_index + 1, reached);
    for (unsigned point = 0; point < clause->point_count; point++) {
        uint32_t added;
        if (!bind_point(bound, clause, point, &added)) continue;
        if (search_points(bound, clause_index + 1, reached)) return true;
        for (unsigned n = 0; n < clause->name_count; n++)
            if (added >> n & 1) find(bound, clause->names[n])->bound = false;
    }
    return false;
}

static bool fail_missing(const tile_bound_params *bound, const char *name, const char *why,
                         const char *values) {
    return tile_error_at(bound->f, TILE_NO_OP, "the parameter '%s' has no value%s%s", name, why,
                         values);
}

/* Reports a parameter that neither the caller nor the text gives a value. */
static bool check_given(const tile_bound_params *bound) {
    const tile_function *f = bound->f;
    for (size_t i = 0; i < f->param_count; i++)
        if (!bound->params[i].bound && !has_default(f, i) && !tile_is_tuned(f, f->params[i].name))
            return fail_missing(
                bound, f->params[i].name,
                "; give it a default in the text, as in <n: int = 64> or <T: type = "
                "f16>, or bind it (--param)",
                "");
    return true;
}

/* Whether points decide about a parameter that is tuned. */
static bool has_choice(const tile_bound_params *bound) {
    for (size_t t = 0; t < bound->f->tune_count; t++)
        if (clause_matters(bound, &bound->f->tunes[t])) return true;
    return false;
}

static bool take_point(const tile_bound_params *point, void *user) {
    tile_bound_params *bound = user;
    bound->params = point->params;
    return false;
}

/* The first point may fit the given values, but not a `where`: takes the next one that fits both.
 * If there is none, the `where` is reported for the first one. */
static bool find_valid_point(const tile_pass_option *options, unsigned count, tile_arena *arena,
                             tile_bound_params *bound) {
    for (size_t i = 0; i < bound->f->where_count; i++)
        if (!tile_where_holds(bound, i))
            return tile_visit_points(bound->f, options, count, NULL, arena, take_point, bound);
    return true;
}

bool tile_bind_params(const tile_function *f, const tile_pass_option *options,
                      unsigned option_count, tile_arena *arena, tile_bound_params *bound) {
    bound->f = f;
    bound->sizes = NULL;
    bound->params = TILE_NEW_ARRAY(arena, tile_bound_param, f->param_count + 1);
    for (unsigned i = 0; i < option_count; i++)
        if (!tile_bind_given(bound, &options[i])) return false;
    tile_bind_defaults(bound);
    const bool chooses = option_count && has_choice(bound);
    size_t reached = 0;
    bool found = search_points(bound, 0, &reached);
    if (!found && !check_given(bound)) return false; /* points may depend on it */
    if (!found) {
        const tile_tune_clause *clause = &f->tunes[reached];
        for (unsigned n = 0; n < clause->name_count; n++)
            if (!find(bound, clause->names[n])->bound)
                return fail_missing(bound, clause->names[n], ": no point of `tune` agrees with ",
                                    tile_bound_text(bound, NULL, arena));
    }
    tile_bind_defaults(bound);
    if (!check_given(bound)) return false;
    for (size_t i = 0; i < f->param_count; i++)
        if (!bound->params[i].bound)
            return fail_missing(bound, f->params[i].name,
                                ": its default divides by zero, or depends on a parameter that has "
                                "no value",
                                "");
    return !chooses || find_valid_point(options, option_count, arena, bound);
}

/* Conditions ---------------------------------------------------------------------------------- */

bool tile_is_tuned(const tile_function *f, const char *param) {
    for (size_t t = 0; t < f->tune_count; t++)
        for (unsigned n = 0; n < f->tunes[t].name_count; n++)
            if (strcmp(f->tunes[t].names[n], param) == 0) return true;
    return false;
}

static bool where_holds(tile_bound_params *bound, size_t index) {
    const tile_expr *where = bound->f->wheres[index];
    tile_bindings bindings = tile_param_bindings(bound);
    int64_t value;
    return tile_is_open_where(bound, where) || (tile_expr_eval(where, &bindings, &value) && value);
}

bool tile_where_holds(const tile_bound_params *point, size_t index) {
    tile_bound_params copy = *point;
    return where_holds(&copy, index);
}

const char *tile_sizes_text(const tile_function *f, const tile_expr *where, const int64_t *sizes,
                            tile_arena *arena) {
    const char *text = "";
    for (size_t a = 0; a < f->arg_count; a++) {
        bool named = where && tile_expr_names_arg(where, a);
        for (size_t i = 0; i < f->where_count && !where; i++)
            named |= tile_expr_names_arg(f->wheres[i], a);
        if (named)
            text = tile_arena_format(arena, "%s%s%s=%" PRId64, text, *text ? " " : "",
                                     f->args[a].name, sizes[a]);
    }
    return text;
}

const char *tile_bound_value(const tile_bound_params *bound, size_t param, tile_arena *arena) {
    const tile_bound_param *value = &bound->params[param];
    switch (bound->f->params[param].kind) {
    case TILE_PARAM_type: return tile_scalar_name(value->scalar);
    case TILE_PARAM_word: return value->word;
    case TILE_PARAM_bool: return value->value ? "true" : "false";
    case TILE_PARAM_dim:
    case TILE_PARAM_int: return tile_arena_format(arena, "%" PRId64, value->value);
    }
    return "";
}

/* Words and checks --------------------------------------------------------------------------- */

const char *tile_bound_text(const tile_bound_params *bound, const tile_expr *expr,
                            tile_arena *arena) {
    const char *text = "";
    for (size_t i = 0; i < bound->f->param_count; i++) {
        const char *name = bound->f->params[i].name;
        if (!bound->params[i].bound || (expr && !tile_expr_names_param(expr, name))) continue;
        text = tile_arena_format(arena, "%s%s%s = %s", text, *text ? ", " : "", name,
                                 tile_bound_value(bound, i, arena));
    }
    return text;
}

const char *tile_where_text(const tile_bound_params *bound, const tile_expr *where,
                            tile_arena *arena) {
    const tile_function *f = bound->f;
    const char *text = tile_bound_text(bound, where, arena);
    for (size_t a = 0; a < f->arg_count; a++)
        if (f->args[a].known)
            text = tile_arena_format(arena, "%s%s%%%s = %s", text, *text ? ", " : "",
                                     f->args[a].name, tile_expr_text(f, f->args[a].known, arena));
    return text;
}

bool tile_check_wheres(tile_bound_params *bound, tile_arena *arena) {
    const tile_function *f = bound->f;
    tile_bindings bindings = tile_param_bindings(bound);
    bool holds = true;
    for (size_t i = 0; i < f->where_count; i++) {
        int64_t value;
        if (tile_is_open_where(bound, f->wheres[i])) continue;
        const char *clause = tile_expr_text(f, f->wheres[i], arena);
        if (!tile_expr_eval(f->wheres[i], &bindings, &value))
            holds =
                tile_error_at(f, TILE_NO_OP, "`where %s` has no value: it divides by zero, with %s",
                              clause, tile_bound_text(bound, f->wheres[i], arena));
        else if (!value)
            holds = tile_error_at(f, TILE_NO_OP, "`where %s` does not hold: %s", clause,
                                  tile_bound_text(bound, f->wheres[i], arena));
    }
    return holds;
}

bool tile_bindings_are_complete(tile_context *context, const tile_binding *bindings,
                                unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!bindings || !bindings[i].name || !bindings[i].value) {
            tile_report(context, TILE_ERROR, (tile_loc){0},
                        "binding %u of %u has no name or no value", i + 1, count);
            return false;
        }
    return true;
}

/* Keys that name arguments --------------------------------------------------------------------- */

static const char divisible_suffix[] = TILE_DIVISIBLE_SUFFIX;

size_t tile_divisible_argument(const tile_function *f, const char *key) {
    size_t i = 0, length = strlen(key), suffix = sizeof divisible_suffix - 1;
    if (length <= suffix || strcmp(key + length - suffix, divisible_suffix) != 0)
        return f->arg_count;
    while (i < f->arg_count && (strncmp(f->args[i].name, key, length - suffix) != 0 ||
                                strlen(f->args[i].name) != length - suffix))
        i++;
    return i;
}

size_t tile_constant_argument(const tile_function *f, const char *key) {
    size_t i = 0;
    if (*key == '%')
        key++;
    else if (tile_function_find_param(f, key, strlen(key)))
        return f->arg_count;
    while (i < f->arg_count && !(f->args[i].is_const && strcmp(f->args[i].name, key) == 0)) i++;
    return i;
}

bool tile_is_for_another_target(const tile_function *f, const char *key) {
    bool before = true;
    for (const tile_function *other = f->module->first; other; other = other->next) {
        if (other == f)
            before = false;
        else if ((before && !other->param_count) ||
                 tile_function_find_param(other, key, strlen(key)) ||
                 tile_divisible_argument(other, key) < other->arg_count ||
                 tile_constant_argument(other, key) < other->arg_count)
            return true;
    }
    return false;
}
