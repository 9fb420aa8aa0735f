/* Rules of funcs: a func computes its results from scalars, one element at a time, so that a call
 * can be inlined for arrays of any shape. */
#include <string.h>

#include "lib/builder/inline.h"
#include "lib/check/verify.h"
#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/ops/kinds.h"
#include "lib/support/scalar.h"

/* Declarations -------------------------------------------------------------------------------- */

static bool is_element(const tile_type *type) {
    return type->kind == TILE_TYPE_SCALAR && (type->param || tile_scalar_is_data(type->scalar));
}

static bool check_type(const tile_function *f, const char *what, const char *name,
                       const tile_type *type) {
    if (is_element(type)) return true;
    tile_arena scratch = {0};
    const char *text = tile_type_text(f, type, NULL, &scratch);
    tile_error_at(f, TILE_NO_OP,
                  "%s %%%s of a func must be a scalar such as f32, not %s; a call applies the func "
                  "to each element of an array",
                  what, name, text);
    tile_arena_reset(&scratch);
    return false;
}

static bool check_declarations(const tile_function *f) {
    bool ok = tile_check_func_name(tile_function_context(f), f->name, f->loc);
    for (size_t i = 0; i < f->param_count; i++) {
        tile_param_kind kind = f->params[i].kind;
        if (kind == TILE_PARAM_type || kind == TILE_PARAM_int || kind == TILE_PARAM_bool) continue;
        ok = tile_error_at(f, TILE_NO_OP,
                           "the parameter '%s' of a func must be a type, int or bool, not a %s",
                           f->params[i].name, tile_param_kind_name(kind));
    }
    for (size_t i = 0; i < f->arg_count; i++) {
        const tile_arg_decl *arg = &f->args[i];
        ok &= check_type(f, "argument", arg->name, arg->type);
        if (arg->divisible || arg->noalias || arg->tensor_map || arg->is_const || arg->known)
            ok =
                tile_error_at(f, TILE_NO_OP,
                              "argument %%%s of a func has attributes, which only the arguments of "
                              "a kernel have; remove them",
                              arg->name);
    }
    for (size_t i = 0; i < f->result_count; i++)
        ok &= check_type(f, "result", f->results[i].name, f->results[i].type);
    if (f->grid_rank || f->is_flat || f->cluster_rank || f->warps || f->sync_explicit ||
        tile_function_has_tune(f) || f->where_count || f->reference)
        ok = tile_error_at(f, TILE_NO_OP,
                           "func @%s cannot have a kernel's clause, such as `grid`; remove it",
                           f->name);
    return ok;
}

/* Operations ---------------------------------------------------------------------------------- */

static bool check_op(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    const tile_op_info *info = tile_op_get_info(opcode);
    const char *advice = info->shape == TILE_SHAPE_BRANCH
                             ? "; choose by `select(%condition, %yes, %no)`"
                         : info->shape || info->effects ? "; write it in the kernel that calls @"
                                                        : "";
    if (opcode != TILE_OP_call && !(info->traits & TILE_TRAIT_ELEMENTWISE))
        return tile_error_at(f, op,
                             "%s is not allowed in a func, which has element-wise operations, "
                             "constants and calls of other funcs%s%s",
                             tile_op_spelling(info), advice,
                             *advice && info->shape != TILE_SHAPE_BRANCH ? f->name : "");
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++) {
        const tile_type *type = tile_value_type(f, tile_op_result(f, op, i));
        if (type->kind != TILE_TYPE_SCALAR)
            return tile_error_of(f, op, "a func computes scalars, and this result is an array");
    }
    return true;
}

bool tile_verify_func(const tile_function *f) {
    if (f->kind != TILE_FUNC) return true;
    bool ok = check_declarations(f);
    TILE_FOR_EACH_OP (f, op, f->body) ok &= check_op(f, op);
    return ok;
}

/* Whether the caller can have the value: a number over its parameters, or an element type. */
static bool is_value(const tile_function *f, const tile_param_value *value) {
    const char *param = value->type ? value->type->param : NULL;
    const tile_param_decl *own = param ? tile_function_find_param(f, param, strlen(param)) : NULL;
    if (!value->type) return tile_is_param_expr(f, value->expr);
    return param ? own && own->kind == TILE_PARAM_type : tile_scalar_is_data(value->type->scalar);
}

bool tile_verify_call(const tile_function *f, tile_op op) {
    const tile_attr *values = tile_op_attr(f, op, TILE_ATTR_values);
    if (tile_op_opcode(f, op) != TILE_OP_call || !values) return true;
    for (unsigned i = 0; i < values->count; i++)
        if (!is_value(f, &values->values[i]))
            return tile_error_at(f, op,
                                 "the value of '%s' may depend on compile-time parameters of @%s "
                                 "only",
                                 values->values[i].name, f->name);
    return true;
}

/* Recursion ----------------------------------------------------------------------------------- */

/* Visits the funcs that f calls, each once. */
static bool follow(tile_function *f, const tile_call_chain *chain) {
    bool ok = true;
    f->is_followed = true;
    TILE_FOR_EACH_OP (f, op, f->body) {
        const char *name = tile_op_attr_text(f, op, TILE_ATTR_callee);
        tile_function *callee = tile_op_opcode(f, op) == TILE_OP_call && name
                                    ? tile_module_find(f->module, name)
                                    : NULL;
        if (!callee || callee->kind != TILE_FUNC) continue; /* reported as an operation */
        const tile_call_chain inner = {callee, tile_op_loc(f, op), chain};
        if (!tile_check_call_chain(tile_function_context(f), chain, callee, inner.call))
            ok = false;
        else if (!callee->is_followed)
            ok &= follow(callee, &inner);
    }
    return ok;
}

bool tile_verify_recursion(const tile_module *module) {
    bool ok = true;
    for (tile_function *f = module->first; f; f = f->next) f->is_followed = false;
    for (tile_function *f = module->first; f; f = f->next) {
        const tile_call_chain chain = {f, f->loc, NULL};
        if (f->kind == TILE_FUNC && !f->is_followed) ok &= follow(f, &chain);
    }
    return ok;
}
