/* Checks whether the compute in `of @compute` can be the reference of the function. */
#include <string.h>

#include "lib/check/verify.h"
#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/support/guess.h"

typedef struct checker {
    const tile_function *f, *compute;
    tile_arena scratch;
    unsigned errors;
} checker;

#define FAIL(c, ...) \
    ((c)->errors++, \
     tile_report(tile_function_context((c)->f), TILE_ERROR, (c)->f->reference_loc, __VA_ARGS__))

static const char *type_text(checker *c, const tile_function *f, const tile_type *type) {
    return tile_type_text(f, type, NULL, &c->scratch);
}

/* A type parameter matches any element type, which is known at launch. */
static bool same_element(const tile_type *a, const tile_type *b) {
    return a->param || b->param || a->scalar == b->scalar;
}

static bool fits(const tile_type *of_compute, const tile_type *type) {
    bool shaped = of_compute->kind == TILE_TYPE_TENSOR
                      ? type->kind == TILE_TYPE_PTR ||
                            (type->kind == TILE_TYPE_VIEW && type->rank == of_compute->rank)
                      : type->kind == of_compute->kind;
    return shaped && same_element(of_compute, type);
}

/* Checks that an argument or result of the compute is an argument of the function with the same
 * name. */
static void check_name(checker *c, const char *name, const tile_type *type, const char *what) {
    const tile_arg_decl *arg = tile_function_find_arg(c->f, name);
    const char *kind = tile_function_kind_name(c->f->kind);
    if (!arg)
        FAIL(c, "@%s has the %s %%%s, and this %s has no argument of that name", c->compute->name,
             what, name, kind);
    else if (!fits(type, arg->type))
        FAIL(c, "the %s %%%s of @%s is %s, and the argument %%%s of this %s is %s", what, name,
             c->compute->name, type_text(c, c->compute, type), name, kind,
             type_text(c, c->f, arg->type));
}

static bool is_given(const tile_function *f, const char *name) {
    for (size_t i = 0; i < f->reference_count; i++)
        if (strcmp(f->reference_values[i].name, name) == 0) return true;
    return false;
}

static void check_dim(checker *c, const tile_param_decl *param) {
    const tile_arg_decl *arg = tile_function_find_arg(c->f, param->name);
    const tile_param_decl *own = tile_function_find_param(c->f, param->name, strlen(param->name));
    bool is_number = arg && arg->type->kind == TILE_TYPE_SCALAR && !arg->type->param &&
                     !tile_scalar_is_floating(arg->type->scalar);
    if (param->kind == TILE_PARAM_type || is_given(c->f, param->name) || is_number ||
        (own && own->kind != TILE_PARAM_type && own->kind != TILE_PARAM_word) ||
        param->default_expr)
        return;
    FAIL(c,
         "'%s' of @%s has no value: declare an integer argument or a parameter of that name, or "
         "write `of @%s<%s = ..>`",
         param->name, c->compute->name, c->compute->name, param->name);
}

static bool is_first(const checker *c, const tile_param_value *value) {
    for (const tile_param_value *before = c->f->reference_values; before < value; before++)
        if (strcmp(before->name, value->name) == 0) return false;
    return true;
}

static void check_value(checker *c, const tile_param_value *value) {
    const tile_param_decl *param =
        tile_function_find_param(c->compute, value->name, strlen(value->name));
    if (!is_first(c, value))
        FAIL(c, "'%s' of @%s is given twice", value->name, c->compute->name);
    else if (!param)
        FAIL(c, "@%s has no parameter '%s'", c->compute->name, value->name);
    else if (param->kind == TILE_PARAM_type)
        FAIL(c, "'%s' of @%s is a type, which follows from the arguments; remove it", value->name,
             c->compute->name);
    else if (!value->expr || !tile_is_host_expr(c->f, value->expr))
        FAIL(c, "'%s' of @%s must follow from parameters and integer arguments", value->name,
             c->compute->name);
    else if (tile_divides_by_zero(value->expr))
        FAIL(c, "'%s' of @%s has no value: '%s' divides by zero", value->name, c->compute->name,
             tile_expr_text(c->f, value->expr, &c->scratch));
}

static void check_compute(checker *c) {
    const tile_function *compute = c->compute;
    for (size_t i = 0; i < compute->arg_count; i++)
        check_name(c, compute->args[i].name, compute->args[i].type, "argument");
    for (size_t i = 0; i < compute->result_count; i++)
        check_name(c, compute->results[i].name, compute->results[i].type, "result");
    for (size_t i = 0; i < c->f->reference_count; i++) check_value(c, &c->f->reference_values[i]);
    for (size_t i = 0; i < compute->param_count; i++) check_dim(c, &compute->params[i]);
}

static void fail_unknown(checker *c) {
    const char *name = c->f->reference;
    const tile_function *found = tile_module_find(c->f->module, name);
    if (found) {
        FAIL(c, "@%s is a %s, and a reference is a compute", name,
             tile_function_kind_name(found->kind));
        return;
    }
    tile_guess guess = tile_guess_start(name, strlen(name));
    for (const tile_function *f = c->f->module->first; f; f = f->next)
        if (f->kind == TILE_COMPUTE) tile_guess_try(&guess, f->name);
    FAIL(c, "there is no compute @%s%s", name, tile_guess_phrase(&guess, "@", &c->scratch));
}

bool tile_verify_reference(const tile_function *f) {
    checker c = {.f = f, .compute = tile_module_find(f->module, f->reference)};
    if (!f->reference) return true;
    if (f->kind == TILE_COMPUTE)
        FAIL(&c, "a compute is its own reference: `of` is for kernels and plans; remove it");
    else if (!c.compute || c.compute->kind != TILE_COMPUTE)
        fail_unknown(&c);
    else
        check_compute(&c);
    tile_arena_reset(&c.scratch);
    return c.errors == 0;
}
