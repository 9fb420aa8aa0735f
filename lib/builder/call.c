/* Calls of funcs: see the header. */
#include "lib/builder/call.h"

#include <string.h>

#include "lib/builder/broadcast_operands.h"
#include "lib/builder/infer_rules.h"
#include "lib/ir/accumulator.h"
#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/support/guess.h"

/* A call that is checked. */
typedef struct binding {
    const tile_function *caller, *callee;
    tile_context *context;
    tile_loc loc;
    tile_arena *arena;
    tile_call *call;
} binding;

/* Reports an error at the call and where the func is defined. */
#define FAIL(b, ...) \
    (tile_report((b)->context, TILE_ERROR, (b)->loc, __VA_ARGS__), note_definition(b))

static bool note_definition(const binding *b) {
    tile_report(b->context, TILE_NOTE, b->callee->loc, "@%s is defined here", b->callee->name);
    return false;
}

const tile_function *tile_call_find(const tile_function *caller, tile_loc loc, const char *name) {
    const tile_function *found = tile_module_find(caller->module, name);
    if (found && found->kind == TILE_FUNC) return found;
    tile_arena scratch = {0};
    tile_guess guess = tile_guess_start(name, strlen(name));
    for (const tile_function *f = caller->module->first; f; f = f->next)
        if (f->kind == TILE_FUNC) tile_guess_try(&guess, f->name);
    if (found)
        tile_report(tile_function_context(caller), TILE_ERROR, loc,
                    "@%s is a %s and cannot be called; a `func` can", name,
                    tile_function_kind_name(found->kind));
    else
        tile_report(tile_function_context(caller), TILE_ERROR, loc, "there is no func @%s%s", name,
                    tile_guess_phrase(&guess, "@", &scratch));
    tile_arena_reset(&scratch);
    return NULL;
}

/* Parameters ---------------------------------------------------------------------------------- */

static tile_param_value *find_value(const tile_call *call, const char *name, size_t length) {
    const tile_param_decl *param = tile_function_find_param(call->callee, name, length);
    return param ? &call->values[param - call->callee->params] : NULL;
}

const tile_type *tile_call_type(const tile_call *call, const tile_type *type) {
    const char *name;
    size_t length;
    if (!type->param) return type;
    bool accumulates = tile_is_accumulator(type->param, &name, &length);
    const tile_param_value *value = find_value(call, name, length);
    if (!value || !value->type) return NULL;
    return accumulates ? tile_accumulator_type(tile_function_context(call->callee), value->type)
                       : value->type;
}

const tile_expr *tile_call_expr(const tile_call *call, const tile_expr *expr) {
    tile_context *context = tile_function_context(call->callee);
    if (!expr || (expr->kind != TILE_EXPR_PARAM && expr->kind != TILE_EXPR_OP)) return expr;
    if (expr->kind == TILE_EXPR_OP)
        return tile_expr_op(context, expr->opcode, tile_call_expr(call, expr->args[0]),
                            tile_call_expr(call, expr->args[1]),
                            tile_call_expr(call, expr->args[2]));
    const tile_param_value *value = find_value(call, expr->name, strlen(expr->name));
    if (!value || (!value->expr && !value->type)) return expr;
    if (value->expr) return value->expr;
    return value->type->param ? tile_expr_param(context, value->type->param)
                              : tile_expr_word(context, tile_scalar_name(value->type->scalar));
}

static const char *kind_phrase(tile_param_kind kind) {
    return kind == TILE_PARAM_type ? "an element type such as f16"
                                   : "a number that is known at compile time";
}

static bool is_compile_time(const tile_expr *expr) {
    return expr && expr->kind != TILE_EXPR_FLOAT && expr->kind != TILE_EXPR_WORD &&
           !tile_expr_has_arg(expr) && !tile_expr_holds(expr, TILE_EXPR_NUM_SMS);
}

static bool bind_given(const binding *b, const tile_param_value *given) {
    const tile_function *callee = b->callee;
    const char *name = given->name ? given->name : "";
    tile_param_value *value = find_value(b->call, name, strlen(name));
    if (!value) {
        tile_guess guess = tile_guess_start(name, strlen(name));
        for (size_t i = 0; i < callee->param_count; i++)
            tile_guess_try(&guess, callee->params[i].name);
        return FAIL(b, "@%s has no parameter '%s'%s", callee->name, name,
                    tile_guess_phrase(&guess, "", b->arena));
    }
    tile_param_kind kind = callee->params[value - b->call->values].kind;
    if (value->type || value->expr)
        return FAIL(b, "the parameter '%s' of @%s is given twice", name, callee->name);
    value->type = given->type;
    value->expr = given->expr;
    bool fits = kind == TILE_PARAM_type
                    ? given->type && !given->expr && given->type->kind == TILE_TYPE_SCALAR
                    : !given->type && is_compile_time(given->expr);
    return fits ||
           FAIL(b, "the parameter '%s' of @%s takes %s", name, callee->name, kind_phrase(kind));
}

/* Binds the parameter T to the element type of an argument that is declared as T. */
static void bind_argument(const binding *b, const tile_arg_decl *arg, const tile_type *have) {
    const char *name = arg->type->param;
    tile_param_value *value = name ? find_value(b->call, name, strlen(name)) : NULL;
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .scalar = have->scalar, .param = have->param};
    if (value && !value->type && !value->expr) value->type = tile_type_get(b->context, &draft);
}

/* Parameters come before the defaults that use them. */
static bool bind_defaults(const binding *b) {
    const tile_function *callee = b->callee;
    for (size_t i = 0; i < callee->param_count; i++) {
        tile_param_value *value = &b->call->values[i];
        const tile_param_decl *param = &callee->params[i];
        if (value->type || value->expr) continue;
        value->type = param->default_type;
        value->expr = tile_call_expr(b->call, param->default_expr);
        if (!value->type && !value->expr)
            return FAIL(
                b, "the parameter '%s' of @%s has no value: write `%s<%s = ..>(..)` with %s",
                param->name, callee->name, callee->name, param->name, kind_phrase(param->kind));
    }
    return true;
}

/* Arguments ----------------------------------------------------------------------------------- */

static const char *value_name(const binding *b, tile_value value) {
    const tile_value_data *data = tile_value_at(b->caller, value);
    if (data->kind == TILE_VALUE_CONSTANT) return tile_expr_text(b->caller, data->expr, b->arena);
    return data->name ? tile_arena_format(b->arena, "%%%s", data->name) : "..";
}

static bool check_argument(const binding *b, size_t index, tile_value value) {
    const tile_arg_decl *arg = &b->callee->args[index];
    const tile_type *have = tile_value_type(b->caller, value);
    const tile_type *want = tile_call_type(b->call, arg->type);
    const char *text = tile_type_text(b->caller, have, NULL, b->arena);
    if (have->kind != TILE_TYPE_SCALAR && !tile_type_is_array(have))
        return FAIL(b, "argument %%%s of @%s must be a scalar, tensor, tile or vector, not %s%s",
                    arg->name, b->callee->name, text,
                    have->kind == TILE_TYPE_VIEW ? "; load a tile of it" : "");
    if (!want) return FAIL(b, "argument %%%s of @%s has no type", arg->name, b->callee->name);
    if (have->scalar == want->scalar && have->param == want->param) return true;
    const char *element = tile_type_text(b->caller, want, NULL, b->arena);
    if (*value_name(b, value) == '.')
        return FAIL(b, "argument %%%s of @%s has elements of %s, not %s; cast it: `%s(..)`",
                    arg->name, b->callee->name, element, text, element);
    return FAIL(b, "argument %%%s of @%s has elements of %s, and %s is %s; cast it: `%s(%s)`",
                arg->name, b->callee->name, element, value_name(b, value), text, element,
                value_name(b, value));
}

bool tile_call_bind(const tile_function *caller, tile_loc loc, const tile_function *callee,
                    const tile_param_value *given, unsigned given_count,
                    const tile_value *arguments, unsigned argument_count, tile_arena *arena,
                    tile_call *call) {
    const binding b = {caller, callee, tile_function_context(caller), loc, arena, call};
    *call = (tile_call){callee, TILE_NEW_ARRAY(arena, tile_param_value, callee->param_count + 1)};
    for (size_t i = 0; i < callee->param_count; i++) call->values[i].name = callee->params[i].name;
    if (argument_count != callee->arg_count)
        return FAIL(&b, "@%s takes %zu argument%s, not %u", callee->name, callee->arg_count,
                    callee->arg_count == 1 ? "" : "s", argument_count);
    for (unsigned i = 0; i < given_count; i++)
        if (!bind_given(&b, &given[i])) return false;
    for (unsigned i = 0; i < argument_count; i++)
        bind_argument(&b, &callee->args[i], tile_value_type(caller, arguments[i]));
    if (!bind_defaults(&b)) return false;
    for (unsigned i = 0; i < argument_count; i++)
        if (!check_argument(&b, i, arguments[i])) return false;
    return true;
}

/* Results ------------------------------------------------------------------------------------- */

/* Makes room for more results than the caller of a rule provides. */
static void provide_results(tile_infer *infer, unsigned arguments, size_t results) {
    if (results > arguments + (size_t)TILE_MAX_RANK)
        infer->results =
            TILE_NEW_ARRAY(&infer->function->module->arena, const tile_type *, results);
}

/* Reports two arrays among the arguments: the first one, and one of another shape. */
static bool fail_shapes(const tile_infer *infer, const tile_function *callee) {
    unsigned count;
    const tile_value *arguments = segment(infer, TILE_OPERAND_arguments, &count);
    const tile_type *first = NULL, *other = NULL;
    tile_arena scratch = {0};
    for (unsigned i = 0; i < count; i++) {
        const tile_type *type = tile_value_type(infer->function, arguments[i]);
        if (!first && tile_type_is_array(type)) first = type;
        if (first && tile_type_is_array(type) && !same_dims(infer, first, type)) other = type;
    }
    const char *types = first && other ? tile_arena_format(&scratch, ", not %s and %s",
                                                           type_text(infer, first, &scratch),
                                                           type_text(infer, other, &scratch))
                                       : "";
    tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                "the arguments of @%s have no common shape: tiles need the same rank, and extents "
                "must be equal or 1%s",
                callee->name, types);
    tile_arena_reset(&scratch);
    return false;
}

/* Each result has the common shape of the arguments. */
static bool set_results(tile_infer *infer, const tile_call *call) {
    unsigned count;
    const tile_function *callee = call->callee;
    const tile_value *arguments = segment(infer, TILE_OPERAND_arguments, &count);
    provide_results(infer, count, callee->result_count);
    for (size_t i = 0; i < callee->result_count; i++) {
        const tile_type *element = tile_call_type(call, callee->results[i].type);
        infer->results[i] =
            element ? tile_broadcast_type(infer->function, arguments, count, element) : NULL;
        if (!infer->results[i]) return fail_shapes(infer, callee);
    }
    infer->result_count = (unsigned)callee->result_count;
    return true;
}

bool tile_infer_call(tile_infer *infer) {
    unsigned count;
    const tile_value *arguments = segment(infer, TILE_OPERAND_arguments, &count);
    const tile_attr *name = attr_of(infer, TILE_ATTR_callee),
                    *values = attr_of(infer, TILE_ATTR_values);
    if (!name || !name->text)
        return fail(infer, "the callee is missing: use tile_build_call", NULL, "", NULL);
    const tile_function *callee = tile_call_find(infer->function, infer->loc, name->text);
    tile_arena scratch = {0};
    tile_call call;
    bool ok = callee &&
              tile_call_bind(infer->function, infer->loc, callee, values ? values->values : NULL,
                             values ? values->count : 0, arguments, count, &scratch, &call) &&
              set_results(infer, &call);
    tile_arena_reset(&scratch);
    return ok;
}
