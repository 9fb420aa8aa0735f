/* Checks plans: the host can execute their steps, and kernels accept the arguments. */
#include <string.h>

#include "lib/check/verify.h"
#include "lib/ir/describe.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/support/guess.h"
#include "lib/tuning/roles.h"

typedef struct checker {
    tile_function *f;
    tile_arena scratch;
    unsigned errors;
} checker;

#define FAIL(c, loc, ...) \
    ((c)->errors++, tile_report(tile_function_context((c)->f), TILE_ERROR, (loc), __VA_ARGS__))

static const char *type_text(checker *c, const tile_type *type) {
    return tile_type_text(c->f, type, NULL, &c->scratch);
}

/* Values -------------------------------------------------------------------------------------- */

/* The host computes with integers; floats are only passed on. */
static bool is_known_to_host(const checker *c, tile_value value) {
    const tile_value_data *data = tile_value_at(c->f, value);
    return data->kind == TILE_VALUE_ARG || data->kind == TILE_VALUE_CONSTANT ||
           tile_value_as_expr(c->f, value) != NULL;
}

static bool has_unsigned(const checker *c, tile_op op) {
    bool found = false;
    for (unsigned i = 0; i < tile_op_operand_count(c->f, op); i++)
        found |=
            tile_scalar_is_unsigned(tile_value_type(c->f, tile_op_operand(c->f, op, i))->scalar);
    return found;
}

static void check_arithmetic(checker *c, tile_op op) {
    for (unsigned i = 0; i < tile_op_result_count(c->f, op); i++)
        if (!is_known_to_host(c, tile_op_result(c->f, op, i)))
            FAIL(c, tile_op_loc(c->f, op),
                 "%s: a plan computes only integers, from numbers, integer arguments and "
                 "`num_sms`%s",
                 tile_op_name(c->f, op),
                 has_unsigned(c, op) ? ", and only with signed ones; cast to i64" : "");
}

static void check_scratch(checker *c, tile_op op) {
    tile_loc loc = tile_op_loc(c->f, op);
    if (tile_op_has_attr(c->f, op, TILE_ATTR_clean))
        FAIL(c, loc, "scratch of a plan cannot be {clean}: set it with `fill`");
    if (tile_op_has_attr(c->f, op, TILE_ATTR_opaque))
        FAIL(c, loc, "scratch of a plan cannot be {opaque}, because several kernels may use it");
    if (tile_value_type(c->f, tile_op_result(c->f, op, 0))->kind != TILE_TYPE_VIEW)
        FAIL(c, loc, "scratch of a plan must be a view");
    if (tile_op_parent(c->f, op).id)
        FAIL(c, loc, "scratch exists until the plan ends; move it out of the `%s`",
             tile_op_name(c->f, tile_op_parent(c->f, op)));
}

static void check_for(checker *c, tile_op op) {
    tile_loc loc = tile_op_loc(c->f, op);
    const tile_op_data *data = tile_op_at(c->f, op);
    const tile_value bounds[] = {tile_operand_begin(c->f, op), tile_operand_end(c->f, op),
                                 tile_operand_step(c->f, op)};
    static const char *const words[] = {"begin", "end", "step"};
    if (tile_carried_count(c->f, op))
        FAIL(c, loc,
             "the `for` of a plan cannot carry values: compute them from its variable, as in "
             "`subview %%w[rem(%%i, 2), 0], [%%n]`");
    for (unsigned i = 0; i < data->attr_count; i++)
        FAIL(c, loc,
             "'%s' is for the loops of kernels; remove it: a plan's `for` repeats its steps",
             tile_attr_get_info(data->attrs[i].id)->name);
    for (unsigned i = 0; i < 3; i++)
        if (!is_known_to_host(c, bounds[i]))
            FAIL(
                c, loc,
                "the %s of a plan's `for` must be an integer expression over arguments, parameters "
                "and variables of enclosing loops",
                words[i]);
    if (tile_loop_depth(c->f, op) == TILE_MAX_PLAN_LOOPS)
        FAIL(c, loc, "a plan has at most %d nested loops, and this is one more",
             TILE_MAX_PLAN_LOOPS);
}

/* Views --------------------------------------------------------------------------------------- */

/* The extents of a view that is an argument, a scratch or a subview. */
static const tile_expr *extent_of(const checker *c, tile_value view, unsigned d) {
    const tile_value_data *data = tile_value_at(c->f, view);
    if (data->kind == TILE_VALUE_ARG) return tile_function_arg_extent(c->f, data->index, d);
    const tile_values extents = tile_operands_extents(c->f, tile_value_def(c->f, view));
    return tile_value_as_expr(c->f, extents.at[d]);
}

/* The number of elements of a view; -1: it is known only at the launch. */
static int64_t elements_of(const checker *c, tile_value view) {
    int64_t elements = 1, extent;
    for (unsigned d = 0; d < tile_value_type(c->f, view)->rank; d++) {
        if (!tile_expr_is_int(extent_of(c, view, d), &extent) || extent < 0) return -1;
        if (__builtin_mul_overflow(elements, extent, &elements)) return -1;
    }
    return elements;
}

/* The place in src of the first element; -1: it is known only at the launch. */
static int64_t start_of(const checker *c, tile_op op) {
    const tile_values at = tile_operands_src(c->f, op);
    int64_t start = 0, place, extent;
    for (unsigned i = 1; i < at.count; i++) {
        const tile_expr *known = extent_of(c, at.at[0], i - 1);
        if (!tile_value_is_int(c->f, at.at[i], &place) || place < 0) return -1;
        if (!tile_expr_is_int(known, &extent)) extent = 0;
        if (__builtin_mul_overflow(start, extent, &start) ||
            __builtin_add_overflow(start, place, &start))
            return -1;
    }
    return start;
}

/* What is known is checked here, the rest before the first step of a launch. */
static void check_subview(checker *c, tile_op op) {
    const tile_value src = tile_operand_src(c->f, op);
    int64_t have = elements_of(c, src), want = elements_of(c, tile_op_result(c->f, op, 0));
    int64_t start = start_of(c, op);
    const tile_values extents = tile_operands_extents(c->f, op), at = tile_operands_src(c->f, op);
    for (unsigned d = 0; d < extents.count; d++)
        if (!is_known_to_host(c, extents.at[d]))
            FAIL(c, tile_op_loc(c->f, op), "subview: extent %u is not known to the host", d);
    for (unsigned i = 1; i < at.count; i++)
        if (!is_known_to_host(c, at.at[i]))
            FAIL(c, tile_op_loc(c->f, op), "subview: coordinate %u is not known to the host",
                 i - 1);
    if (have >= 0 && want >= 0 && start >= 0 && want > have - start)
        FAIL(c, tile_op_loc(c->f, op),
             "subview: %lld elements from element %lld on do not fit into %s, which has %lld",
             (long long)want, (long long)start, type_text(c, tile_value_type(c->f, src)),
             (long long)have);
}

/* Launches ------------------------------------------------------------------------------------ */

/* Returns whether a kernel's argument accepts the value. Types that are parameters are compared
 * once they are bound. */
static bool takes(const tile_type *wanted, const tile_type *given) {
    bool same = wanted->param || given->param || wanted->scalar == given->scalar;
    switch (wanted->kind) {
    case TILE_TYPE_PTR:
        return same && (given->kind == TILE_TYPE_PTR ||
                        (given->kind == TILE_TYPE_VIEW && !given->has_strides));
    case TILE_TYPE_VIEW:
        return same && (given->kind == TILE_TYPE_PTR ||
                        (given->kind == TILE_TYPE_VIEW && given->rank == wanted->rank &&
                         (wanted->has_strides || !given->has_strides)));
    case TILE_TYPE_SCALAR: return same && given->kind == TILE_TYPE_SCALAR;
    case TILE_TYPE_TENSOR:
    case TILE_TYPE_SHARED:
    case TILE_TYPE_TILE:
    case TILE_TYPE_VECTOR:
    case TILE_TYPE_MAP:
    case TILE_TYPE_DESCRIPTOR: return false;
    }
    return false;
}

static const tile_param_value *find_value(const tile_attr *values, const char *name) {
    for (unsigned i = 0; values && i < values->count; i++)
        if (strcmp(values->values[i].name, name) == 0) return &values->values[i];
    return NULL;
}

static bool is_tuned(const tile_function *kernel, const char *name) {
    for (size_t t = 0; t < kernel->tune_count; t++)
        for (unsigned n = 0; n < kernel->tunes[t].name_count; n++)
            if (strcmp(kernel->tunes[t].names[n], name) == 0) return true;
    return false;
}

static bool is_covered(const tile_function *kernel, const tile_param_decl *param) {
    return is_tuned(kernel, param->name) || tile_is_covered_by_auto(kernel, param);
}

/* A parameter has a value of the launch, points or a default. */
static void check_param(checker *c, const tile_attr *values, const tile_function *kernel,
                        const tile_param_decl *param, tile_loc loc) {
    if (find_value(values, param->name) || is_covered(kernel, param) || param->default_expr ||
        param->default_type)
        return;
    FAIL(c, loc, "'%s' of @%s has no value; write `launch @%s<%s = %s>(..)`", param->name,
         kernel->name, kernel->name, param->name, param->kind == TILE_PARAM_type ? "f16" : "..");
}

/* The type that the launch gives to the kernel's type parameter; NULL: it is known later. */
static const tile_type *bound_type(const tile_attr *values, const tile_function *kernel,
                                   const char *name) {
    const tile_param_decl *param = tile_function_find_param(kernel, name, strlen(name));
    const tile_param_value *value = find_value(values, name);
    if (value) return value->type;
    return param && !is_tuned(kernel, name) ? param->default_type : NULL;
}

/* An argument whose element type is a parameter. */
static void check_element(checker *c, const tile_attr *values, const tile_function *kernel,
                          const tile_arg_decl *arg, const tile_type *type, tile_loc loc) {
    const char *name = arg->type->param;
    const tile_type *bound = name ? bound_type(values, kernel, name) : NULL;
    if (!bound || bound->param || type->param || bound->scalar == type->scalar) return;
    const char *scalar = tile_scalar_name(type->scalar);
    FAIL(c, loc,
         "argument %%%s of @%s is %s with %s = %s%s, not %s; write `launch @%s<%s = %s>(..)`",
         arg->name, kernel->name, tile_type_text(kernel, arg->type, NULL, &c->scratch), name,
         tile_scalar_name(bound->scalar), find_value(values, name) ? "" : " by default",
         type_text(c, type), kernel->name, name, scalar);
}

static void check_arguments(checker *c, tile_op op, const tile_function *kernel, tile_loc loc) {
    unsigned count = tile_op_operand_count(c->f, op);
    const tile_attr *values = tile_op_attr(c->f, op, TILE_ATTR_values);
    const char *name = kernel->instance_of ? kernel->instance_of : kernel->name;
    if (count != kernel->arg_count) {
        const char *names = "";
        for (unsigned i = 0; i < kernel->arg_count; i++)
            names = tile_arena_format(&c->scratch, "%s%s%%%s", names, i ? ", " : "",
                                      kernel->args[i].name);
        FAIL(c, loc, "@%s takes %zu argument%s (%s), not %u", name, kernel->arg_count,
             kernel->arg_count == 1 ? "" : "s", names, count);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        const tile_arg_decl *arg = &kernel->args[i];
        const tile_type *given = tile_value_type(c->f, tile_op_operand(c->f, op, i));
        if (takes(arg->type, given))
            check_element(c, values, kernel, arg, given, loc);
        else
            FAIL(c, loc, "argument %%%s of @%s is %s, not %s", arg->name, name,
                 tile_type_text(kernel, arg->type, NULL, &c->scratch), type_text(c, given));
    }
}

static bool is_given_before(const tile_attr *values, unsigned index) {
    for (unsigned i = 0; i < index; i++)
        if (strcmp(values->values[i].name, values->values[index].name) == 0) return true;
    return false;
}

static void check_value(checker *c, tile_loc loc, const tile_attr *values, unsigned index,
                        const tile_function *kernel) {
    const tile_param_value *value = &values->values[index];
    const tile_param_decl *param =
        tile_function_find_param(kernel, value->name, strlen(value->name));
    bool is_type = param && param->kind == TILE_PARAM_type;
    if (!param) {
        tile_guess guess = tile_guess_start(value->name, strlen(value->name));
        for (size_t i = 0; i < kernel->param_count; i++)
            tile_guess_try(&guess, kernel->params[i].name);
        FAIL(c, loc, "@%s has no parameter '%s'%s", kernel->name, value->name,
             tile_guess_phrase(&guess, "", &c->scratch));
    } else if (is_given_before(values, index)) {
        FAIL(c, loc, "'%s' of @%s is given twice", value->name, kernel->name);
    } else if (is_type ? !value->type || value->type->kind != TILE_TYPE_SCALAR
                       : !value->expr || value->type) {
        FAIL(c, loc, "'%s' of @%s is %s", value->name, kernel->name,
             is_type                          ? "an element type"
             : param->kind == TILE_PARAM_word ? "a word"
                                              : "a number");
    } else if (param->kind == TILE_PARAM_word) {
        if (!tile_expr_is_word(c->f, value->expr))
            FAIL(c, loc, "'%s' of @%s is a word", value->name, kernel->name);
    } else if (value->expr && !tile_is_param_expr(c->f, value->expr)) {
        FAIL(c, loc, "'%s' of @%s must follow from the plan's parameters", value->name,
             kernel->name);
    } else if (value->expr && tile_divides_by_zero(value->expr)) {
        FAIL(c, loc, "'%s' of @%s has no value: '%s' divides by zero", value->name, kernel->name,
             tile_expr_text(c->f, value->expr, &c->scratch));
    }
}

static bool is_step(tile_opcode opcode) {
    return opcode == TILE_OP_launch || opcode == TILE_OP_fill || opcode == TILE_OP_if ||
           opcode == TILE_OP_for;
}

/* The previous step in its region, 0 if there is none. */
static tile_op step_before(const checker *c, tile_op op) {
    while ((op = tile_op_at(c->f, op)->prev).id) {
        tile_opcode opcode = tile_op_opcode(c->f, op);
        if (is_step(opcode)) break;
    }
    return op;
}

static tile_op last_step(const checker *c, tile_region region) {
    tile_op last = tile_region_at(c->f, region)->last;
    return last.id && !is_step(tile_op_opcode(c->f, last)) ? step_before(c, last) : last;
}

/* The first step of a loop comes after the last one of the iteration before; in the first iteration
 * it overlaps the launch right before the loop, if there is one. */
static bool overlaps_launch(const checker *c, tile_op op) {
    tile_op before = step_before(c, op), parent = tile_op_parent(c->f, op);
    if (!before.id && parent.id && tile_op_opcode(c->f, parent) == TILE_OP_for)
        before = last_step(c, tile_op_region(c->f, parent, 0));
    return tile_op_opcode(c->f, before) == TILE_OP_launch;
}

static void check_dependent(checker *c, tile_op op, const tile_function *kernel) {
    tile_loc loc = tile_op_loc(c->f, op);
    if (!tile_op_has_attr(c->f, op, TILE_ATTR_pdl)) return;
    if (!overlaps_launch(c, op))
        FAIL(c, loc,
             "a step with 'pdl' overlaps the launch right before it, and there is none here; "
             "remove 'pdl'");
    if (!tile_function_waits(kernel))
        FAIL(c, loc,
             "@%s is launched with 'pdl' but has no `pdl_wait`, so nothing orders it after the "
             "previous steps; add `pdl_wait` to the kernel",
             kernel->name);
}

/* Returns NULL after a report at the name. */
static const tile_function *find_kernel(checker *c, const char *name, tile_loc loc) {
    const tile_function *kernel = tile_module_find(c->f->module, name);
    if (kernel && kernel->kind == TILE_KERNEL) return kernel;
    tile_guess guess = tile_guess_start(name, strlen(name));
    for (const tile_function *f = c->f->module->first; f; f = f->next)
        if (f->kind == TILE_KERNEL) tile_guess_try(&guess, f->name);
    if (kernel)
        FAIL(c, loc, "@%s is a %s, and a plan launches kernels only; write its steps here", name,
             tile_function_kind_name(kernel->kind));
    else
        FAIL(c, loc, "there is no kernel @%s%s", name, tile_guess_phrase(&guess, "@", &c->scratch));
    return NULL;
}

static void check_resident(checker *c, tile_op op) {
    const char *other = tile_op_attr_text(c->f, op, TILE_ATTR_otherwise);
    bool resident = tile_op_has_attr(c->f, op, TILE_ATTR_resident);
    tile_loc loc = tile_op_loc(c->f, op);
    if (resident && tile_op_has_attr(c->f, op, TILE_ATTR_pdl))
        FAIL(c, loc,
             "a step with 'resident' runs alone on the device and overlaps no other; remove 'pdl'");
    if (other && !resident)
        FAIL(c, loc,
             "'otherwise' applies only to a launch with 'resident'; add 'resident', or remove "
             "'otherwise'");
    tile_loc at = tile_op_attr_loc(c->f, op, TILE_ATTR_otherwise);
    const tile_function *kernel = other ? find_kernel(c, other, at) : NULL;
    if (!kernel) return;
    if (kernel->param_count)
        FAIL(c, at,
             "@%s has parameters, and `otherwise` cannot give it values; name a kernel without "
             "parameters",
             kernel->name);
    check_arguments(c, op, kernel, at);
}

static void check_launch(checker *c, tile_op op) {
    const char *name = tile_op_attr_text(c->f, op, TILE_ATTR_callee);
    const tile_loc loc = tile_op_attr_loc(c->f, op, TILE_ATTR_callee);
    const tile_function *kernel = find_kernel(c, name, loc);
    const tile_attr *values = tile_op_attr(c->f, op, TILE_ATTR_values);
    if (!kernel) return;
    const unsigned errors = c->errors;
    check_resident(c, op);
    for (unsigned i = 0; values && i < values->count; i++)
        check_value(c, tile_op_attr_loc(c->f, op, TILE_ATTR_values), values, i, kernel);
    if (c->errors == errors) check_arguments(c, op, kernel, loc);
    check_dependent(c, op, kernel);
    for (size_t p = 0; p < kernel->param_count && c->errors == errors; p++)
        check_param(c, values, kernel, &kernel->params[p], loc);
}

/* Plans --------------------------------------------------------------------------------------- */

static void check_op(checker *c, tile_op op) {
    switch (tile_op_opcode(c->f, op)) {
    case TILE_OP_scratch: check_scratch(c, op); break;
    case TILE_OP_launch: check_launch(c, op); break;
    case TILE_OP_fill:
        if (tile_value_type(c->f, tile_operand_dst(c->f, op))->has_strides)
            FAIL(c, tile_op_loc(c->f, op), "fill: the view must be row-major, without strides");
        break;
    case TILE_OP_yield: break;
    case TILE_OP_for: check_for(c, op); break;
    case TILE_OP_subview: check_subview(c, op); break;
    case TILE_OP_if:
        if (tile_op_result_count(c->f, op))
            FAIL(c, tile_op_loc(c->f, op), "the `if` of a plan cannot have results");
        break;
    default: check_arithmetic(c, op); break;
    }
}

static void check_args(checker *c) {
    for (size_t i = 0; i < c->f->arg_count; i++) {
        const tile_arg_decl *arg = &c->f->args[i];
        bool fits = arg->type->kind == TILE_TYPE_PTR || arg->type->kind == TILE_TYPE_VIEW ||
                    arg->type->kind == TILE_TYPE_SCALAR;
        if (!fits)
            FAIL(c, c->f->loc,
                 "argument %%%s of a plan must be a pointer, a view or a scalar, not "
                 "%s",
                 arg->name, type_text(c, arg->type));
    }
}

bool tile_verify_plan(tile_function *f) {
    checker c = {.f = f};
    check_args(&c);
    bool has_clauses = f->grid_rank || f->cluster_rank || f->warps || f->sync_explicit ||
                       f->raster || f->is_persistent || f->is_flat || f->level;
    if (has_clauses || f->result_count)
        FAIL(&c, f->loc, "a plan cannot have results or a kernel's clauses, such as `grid`");
    if (!c.errors)
        TILE_FOR_EACH_OP_INSIDE (f, op, f->body) check_op(&c, op);
    tile_arena_reset(&c.scratch);
    return c.errors == 0;
}
