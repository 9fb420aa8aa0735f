/* instantiate: turns a parameterized kernel into one kernel: binds parameters, checks conditions.
 *
 * With constants for parameters, loops have constant trip counts, offsets fold, and the divisors of
 * arguments determine the width of memory accesses.
 *
 * level: any
 * requires: nothing
 * keeps: nothing
 * breaks: nothing
 *
 * pipeline: instantiate{block=256 n.divisible=4}
 * before:
 *   kernel @scale<block: int, T: type = f32, factor: int>(%n: i32, %x: ptr<T>)
 *       tune (block, factor) in [(512, 1), (256, 2), (256, 3)]
 *       where block <= 1024
 *       grid [ceildiv(%n, block)]  warps block / 64
 *   {
 *     %b, %by, %bz = block_id : i32
 *     %g = view %x, [%n] : view<T[?]>
 *     %t = load %g[%b * block * factor] : tile<T[block]>
 *     store %t, %g[%b * block]
 *   }
 *
 * after:
 *   kernel @scale(%n: i32 {divisible = 4}, %x: ptr<f32> {divisible = 16})
 *       grid [ceildiv(%n, 256)]  warps 4
 *   {
 *     %b, %by, %bz = block_id : i32
 *     %g = view %x, [%n] : view<f32[?]>
 *     %0 = mul %b, 256 : i32
 *     %1 = mul %0, 2 : i32
 *     %t = load %g[%1] : tile<f32[256]>
 *     %2 = mul %b, 256 : i32
 *     store %t, %g[%2]
 *   }
 *
 * Parameters that neither options nor defaults bind get the first point of `tune` that fits the
 * target.
 *
 * A {const} argument whose value is given is replaced by that constant. It stays in the argument
 * list, and the launch compares it with the constant. Calls of funcs are inlined first.
 *
 * A pointer or view without `divisible` is assumed to be divisible by 16; write `{divisible = 1}`
 * if it is not.
 *
 * Options: the name and value of a parameter or a {const} argument (%n if a parameter has the same
 * name); an argument's name with `.divisible` and a number. Types of values change in place. Each
 * type is mapped independently, so that equal types stay equal. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/builder/inline.h"
#include "lib/ir/renames.h"
#include "lib/ir/describe.h"
#include "lib/support/intern.h"
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "lib/ir/named.h"
#include "lib/support/guess.h"
#include "lib/support/integer.h"
#include "lib/tuning/space.h"
#include "passes/instantiate/bind_steps.h"
#include "passes/instantiate/fit_point.h"
#include "passes/instantiate/note_widths.h"
#include "passes/instantiate/plan.h"
#include "passes/pass.h"
#include "passes/passes.h"
#include "tile/compile.h"

typedef struct instance {
    tile_function *f;
    tile_context *context;
    tile_bound_params bound;
    tile_bindings bindings;
    tile_arena *arena;
    unsigned errors;
} instance;

#define FAIL(i, loc, ...) ((i)->errors++, tile_report((i)->context, TILE_ERROR, (loc), __VA_ARGS__))

/* Options ------------------------------------------------------------------------------------ */

static void fail_unknown(instance *i, const char *key) {
    tile_guess guess = tile_guess_start(key, strlen(key));
    for (size_t p = 0; p < i->f->param_count; p++) tile_guess_try(&guess, i->f->params[p].name);
    FAIL(i, i->f->loc, "@%s has no parameter '%s'%s", i->f->name, key,
         tile_guess_phrase(&guess, "", i->arena));
}

static void set_divisible(instance *i, size_t arg, const char *text) {
    char *end;
    errno = 0;
    long divisor = strtol(text, &end, 10);
    if (end == text || *end || errno || divisor < 1 || divisor > 1 << 30)
        FAIL(i, i->f->loc, "'%s%s' takes a number from 1 to 2^30, not '%s'", i->f->args[arg].name,
             TILE_DIVISIBLE_SUFFIX, text);
    else
        i->f->args[arg].divisible = (unsigned)divisor;
}

/* Sets the value of a {const} argument. */
static void set_value(instance *i, size_t index, const char *text) {
    tile_arg_decl *arg = &i->f->args[index];
    int64_t value, known;
    char *end;
    errno = 0;
    value = strtoll(text, &end, 0);
    if (end == text || *end || errno || !tile_integer_fits(arg->type->scalar, value))
        FAIL(i, i->f->loc, "the argument %%%s takes an integer of its type, not '%s'", arg->name,
             text);
    else if (arg->known && tile_expr_is_int(arg->known, &known) && known != value)
        FAIL(i, i->f->loc, "the argument %%%s is %" PRId64 " already, not %" PRId64, arg->name,
             known, value);
    else
        arg->known = tile_expr_int(i->context, value);
}

/* Assumes the alignment that allocators and drivers provide, enough for the widest accesses; a less
 * aligned launch selects a separately compiled variant. Level 3 is kept as written, and a plan
 * accesses no memory. */
static void assume_alignment(tile_function *f) {
    enum { WIDEST_ACCESS = 16 };
    for (size_t a = 0; a < f->arg_count && f->level != 3 && f->level; a++)
        if (tile_type_is_address(f->args[a].type) && !f->args[a].divisible)
            f->args[a].divisible = WIDEST_ACCESS;
}

static void read_options(instance *i, const tile_pass_option *options, unsigned count) {
    for (unsigned o = 0; o < count; o++) {
        const char *key = options[o].key;
        size_t arg = tile_divisible_argument(i->f, key),
               constant = tile_constant_argument(i->f, key);
        if (arg < i->f->arg_count)
            set_divisible(i, arg, options[o].value);
        else if (constant < i->f->arg_count)
            set_value(i, constant, options[o].value);
        else if (!tile_function_find_param(i->f, key, strlen(key)) &&
                 !tile_is_for_another_target(i->f, key))
            fail_unknown(i, key);
    }
}

/* Substitution ------------------------------------------------------------------------------- */

static bool divides_by_zero(const tile_expr *expr) {
    bool division = expr->kind == TILE_EXPR_OP &&
                    (expr->opcode == TILE_OP_div || expr->opcode == TILE_OP_ceildiv ||
                     expr->opcode == TILE_OP_rem || expr->opcode == TILE_OP_mod);
    if (division && tile_expr_is(expr->args[1], 0)) return true;
    for (unsigned a = 0; a < 3 && expr->args[a]; a++)
        if (divides_by_zero(expr->args[a])) return true;
    return false;
}

/* Substitutes the parameters' values in the expression. Reports a division by zero. */
static const tile_expr *bind_expr(instance *i, tile_loc loc, const tile_expr *expr) {
    if (!expr) return NULL;
    const tile_bound_param *word =
        expr->kind == TILE_EXPR_PARAM ? tile_find_bound(&i->bound, expr->name) : NULL;
    if (word && word->word) return tile_expr_word(i->context, word->word);
    const tile_expr *bound = tile_expr_substitute(i->context, expr, &i->bindings);
    if (divides_by_zero(bound))
        FAIL(i, loc, "'%s' divides by zero: %s", tile_expr_text(i->f, expr, i->arena),
             tile_bound_text(&i->bound, expr, i->arena));
    return bound;
}

/* As above, for a constant: the result must not depend on arguments. */
static const tile_expr *bind_constant(instance *i, tile_loc loc, const tile_expr *expr) {
    unsigned before = i->errors;
    const tile_expr *bound = bind_expr(i, loc, expr);
    int64_t value;
    if (bound && bound->kind != TILE_EXPR_FLOAT && !tile_expr_is_int(bound, &value) &&
        i->errors == before)
        FAIL(i, loc, "'%s' must be known at compile time", tile_expr_text(i->f, expr, i->arena));
    return bound;
}

static const tile_type *bind_type(instance *i, tile_loc loc, const tile_type *type) {
    tile_type draft = *type;
    if (type->param) {
        draft.scalar = tile_find_bound_scalar(&i->bound, type->param);
        if (draft.scalar) {
            draft.param = NULL;
        } else {
            FAIL(i, loc, "'%s' is not a type", type->param);
        }
    }
    for (unsigned d = 0; d < type->rank; d++) {
        draft.dims[d] = bind_constant(i, loc, type->dims[d]);
        draft.strides[d] = bind_constant(i, loc, type->strides[d]);
    }
    draft.stages = bind_constant(i, loc, type->stages);
    return tile_type_get(i->context, &draft);
}

static void bind_constant_value(instance *i, tile_value value, tile_value *map) {
    tile_value_data old = *tile_value_at(i->f, value);
    const tile_type *type = bind_type(i, i->f->loc, old.type);
    const tile_expr *expr = i->f->kind == TILE_PLAN /* it may depend on the device */
                                ? bind_expr(i, i->f->loc, old.expr)
                                : bind_constant(i, i->f->loc, old.expr);
    bool floating = tile_scalar_is_floating(type->scalar);
    int64_t integer;
    if (type->scalar && tile_expr_is_int(expr, &integer)) {
        if (floating)
            expr = tile_expr_float(i->context, (double)integer);
        else if (!tile_integer_fits(type->scalar, integer) && expr != old.expr)
            FAIL(i, i->f->loc, "'%s' is %" PRId64 ", which does not fit into %s: %s",
                 tile_expr_text(i->f, old.expr, i->arena), integer, tile_scalar_name(type->scalar),
                 tile_bound_text(&i->bound, old.expr, i->arena));
    } else if (type->scalar && expr->kind == TILE_EXPR_FLOAT && !floating) {
        FAIL(i, i->f->loc, "the constant %s cannot have the type %s",
             tile_expr_text(i->f, expr, i->arena), tile_scalar_name(type->scalar));
    }
    tile_value bound = tile_function_constant(i->f, type, expr);
    if (bound.id != value.id) map[value.id] = bound;
}

/* The value of an argument that is known, for expressions. */
static bool known_argument(unsigned index, int64_t *value, void *user) {
    const tile_bound_params *bound = user;
    const tile_expr *known = index < bound->f->arg_count ? bound->f->args[index].known : NULL;
    return known && tile_expr_is_int(known, value);
}

static bool has_constants(const tile_function *f) {
    for (size_t a = 0; a < f->arg_count; a++)
        if (f->args[a].known) return true;
    return false;
}

static void bind_argument(instance *i, tile_value value, tile_value *map) {
    const tile_value_data data = *tile_value_at(i->f, value);
    tile_arg_decl *arg = &i->f->args[data.index];
    if (!arg->known) return;
    arg->divisible = 0; /* the known value implies its divisors and may lack this one */
    map[value.id] = tile_function_constant(i->f, data.type, arg->known);
}

/* Constants with different names and the same value are merged. */
static void bind_values(instance *i) {
    uint32_t count = (uint32_t)i->f->value_count;
    tile_value *map = TILE_NEW_ARRAY(i->arena, tile_value, 2 * (size_t)count);
    for (uint32_t id = 1; id < count; id++) {
        tile_value value = {id};
        const tile_value_data data = *tile_value_at(i->f, value);
        tile_loc loc = i->f->loc;
        if (data.kind == TILE_VALUE_CONSTANT) {
            bind_constant_value(i, value, map);
            continue;
        }
        if (data.kind == TILE_VALUE_RESULT) loc = i->f->ops[data.owner].loc;
        const tile_type *type = bind_type(i, loc, data.type);
        tile_value_at(i->f, value)->type = type;
        if (data.kind == TILE_VALUE_ARG) bind_argument(i, value, map);
    }
    tile_replace_values(i->f, i->f->body, map);
    /* The old constants may only equal their replacements now: constants are looked up by their
     * contents. */
    for (uint32_t id = 1; id < count; id++) {
        if (!map[id].id || i->f->values[id].kind != TILE_VALUE_CONSTANT) continue;
        i->f->values[id].type = i->f->values[map[id].id].type;
        i->f->values[id].expr = i->f->values[map[id].id].expr;
    }
}

/* Binds the parameter values in a launch's attribute. */
static void bind_attr_values(instance *i, tile_loc loc, tile_attr *attr) {
    if (!attr->values) return;
    tile_param_value *values = tile_copy_values(i->f->module, attr->values, attr->count);
    for (unsigned v = 0; v < attr->count; v++) {
        values[v].expr = bind_expr(i, loc, values[v].expr);
        if (values[v].type) values[v].type = bind_type(i, loc, values[v].type);
    }
    attr->values = values;
}

/* Binds a number whose type was a parameter. */
static void bind_attr_type(instance *i, tile_loc loc, tile_attr *attr) {
    int64_t integer;
    if (!attr->type) return;
    attr->type = bind_type(i, loc, attr->type);
    if (tile_scalar_is_floating(attr->type->scalar) && tile_expr_is_int(attr->expr, &integer))
        attr->expr = tile_expr_float(i->context, (double)integer);
}

/* Replaces a parameter of kind word by its word. */
static void bind_attr(instance *i, tile_loc loc, tile_attr *attr) {
    const tile_bound_param *param = NULL;
    if (tile_attr_get_info(attr->id)->kind == TILE_KIND_word && attr->expr &&
        attr->expr->kind == TILE_EXPR_PARAM)
        param = tile_find_bound(&i->bound, attr->expr->name);
    if (!param || !param->word) {
        bool of_tile = tile_attr_get_info(attr->id)->kind == TILE_KIND_tile;
        attr->expr = (of_tile ? bind_expr : bind_constant)(i, loc, attr->expr);
        bind_attr_values(i, loc, attr);
        bind_attr_type(i, loc, attr);
        return;
    }
    const char *word, *words = "";
    bool known = false;
    for (unsigned w = 0; (word = tile_attr_word(attr->id, w)); w++) {
        known |= strcmp(word, param->word) == 0;
        words = tile_arena_format(i->arena, "%s%s%s", words, w ? ", " : "", word);
    }
    const tile_rename *row = tile_rename_find(TILE_RENAMED_word, tile_attr_keyword(attr->id),
                                              param->word, strlen(param->word));
    if (!known && row && row->now)
        FAIL(i, loc, "%s: `%s` is now `%s`", tile_bound_text(&i->bound, attr->expr, i->arena),
             row->old, row->now);
    else if (!known)
        FAIL(i, loc, "'%s' is one of %s, but %s", tile_attr_keyword(attr->id), words,
             tile_bound_text(&i->bound, attr->expr, i->arena));
    attr->text = tile_intern_name(i->context, param->word, strlen(param->word));
    attr->expr = NULL;
}

static void bind_attrs(instance *i) {
    for (uint32_t id = 1; id < i->f->op_count; id++) {
        tile_op_data *op = &i->f->ops[id];
        for (unsigned a = 0; op->opcode && a < op->attr_count; a++)
            bind_attr(i, op->loc, &op->attrs[a]);
    }
}

/* Binds the parameters of the reference: those given explicitly, and those with the name of a
 * parameter of this function. */
static void bind_reference(instance *i) {
    tile_function *f = i->f;
    const tile_function *compute = tile_module_find(f->module, f->reference);
    size_t given = f->reference_count, room = given + (compute ? compute->param_count : 0);
    tile_param_value *values = TILE_NEW_ARRAY(i->arena, tile_param_value, room + 1);
    for (size_t v = 0; v < given; v++) {
        values[v] = f->reference_values[v];
        values[v].expr = bind_expr(i, f->reference_loc, values[v].expr);
    }
    for (size_t p = 0; compute && p < compute->param_count; p++) {
        const char *name = compute->params[p].name;
        const tile_bound_param *own = tile_function_find_param(f, name, strlen(name))
                                          ? tile_find_bound(&i->bound, name)
                                          : NULL;
        bool told = tile_function_find_arg(f, name) != NULL;
        for (size_t v = 0; v < f->reference_count && !told; v++)
            told = strcmp(values[v].name, name) == 0;
        if (own && !own->scalar && !own->word && !told)
            values[given++] = (tile_param_value){name, tile_expr_int(i->context, own->value), NULL};
    }
    tile_loc loc = f->reference_loc;
    tile_function_set_reference(f, f->reference, values, (unsigned)given);
    f->reference_loc = loc;
}

/* Removes a cluster of one block, unless the kernel uses cluster operations. */
static void bind_cluster(instance *i) {
    tile_function *f = i->f;
    bool alone = true;
    for (unsigned d = 0; d < f->cluster_rank; d++) {
        f->cluster[d] = bind_expr(i, f->loc, f->cluster[d]);
        alone = alone && f->cluster[d] && tile_expr_is(f->cluster[d], 1);
    }
    if (alone && !(f->cluster_rank && tile_uses_cluster(f))) tile_function_set_cluster(f, 0, NULL);
}

static void bind_declarations(instance *i) {
    tile_function *f = i->f;
    if (f->reference) bind_reference(i);
    for (size_t a = 0; a < f->arg_count; a++) {
        tile_arg_decl *arg = &f->args[a];
        arg->type = bind_type(i, f->loc, arg->type);
        for (unsigned d = 0; d < TILE_MAX_RANK; d++) {
            arg->extents[d] = bind_expr(i, f->loc, arg->extents[d]);
            arg->strides[d] = bind_expr(i, f->loc, arg->strides[d]);
        }
    }
    for (size_t r = 0; r < f->result_count; r++)
        f->results[r].type = bind_type(i, f->loc, f->results[r].type);
    for (unsigned d = 0; d < f->grid_rank; d++) f->grid[d] = bind_expr(i, f->loc, f->grid[d]);
    for (unsigned d = 0; d < 3; d++) f->unfolded[d] = bind_expr(i, f->loc, f->unfolded[d]);
    bind_cluster(i);
    f->raster_group = bind_constant(i, f->loc, f->raster_group);
    f->cost = bind_expr(i, f->loc, f->cost);
    f->warps = bind_constant(i, f->loc, f->warps);
}

/* Keeps the conditions that depend on arguments: launches check them. */
static void bind_wheres(instance *i) {
    tile_function *f = i->f;
    size_t kept = 0;
    int64_t value;
    for (size_t w = 0; w < f->where_count; w++) {
        const tile_expr *where = tile_simplify_where(f, bind_expr(i, f->loc, f->wheres[w]));
        const char *text = tile_expr_text(f, f->wheres[w], i->arena);
        if (tile_expr_is(where, 0))
            FAIL(i, f->loc, "`where %s` does not hold: %s", text,
                 tile_where_text(&i->bound, f->wheres[w], i->arena));
        else if (!tile_expr_is_int(where, &value))
            f->wheres[kept++] = where;
    }
    f->where_count = kept;
}

/* Resolves `persistent if`. */
static void decide_persistent(instance *i) {
    tile_function *f = i->f;
    int64_t holds;
    f->persistent_if = bind_constant(i, f->loc, f->persistent_if);
    if (!f->persistent_if || !tile_expr_is_int(f->persistent_if, &holds)) return;
    tile_function_set_persistent(f, holds != 0, holds ? f->cost : NULL);
    f->persistent_if = NULL;
}

/* Resolves named layouts for the type's extents and the warps that share it. */
static void resolve_layout(instance *i, tile_value value) {
    const tile_type *type = tile_value_type(i->f, value);
    tile_op def = tile_value_def(i->f, value);
    tile_loc loc = def.id ? tile_op_loc(i->f, def) : i->f->loc;
    tile_layout layout;
    if (!tile_layout_is_named(type->layout)) return;
    unsigned warps = tile_executors_of_value(i->f, value).warps;
    const char *fault = tile_layout_resolve(type, warps, &layout);
    if (fault)
        FAIL(i, loc, "%s has no layout #%s: %s", tile_type_text(i->f, type, NULL, i->arena),
             tile_layout_name_text(tile_layout_name_of(type->layout)), fault);
    else
        tile_value_at(i->f, value)->type = tile_type_with_layout(i->context, type, &layout);
}

static bool resolve_layouts(instance *i) {
    bool any = false;
    for (uint32_t id = 1; id < i->f->value_count; id++) {
        any |= tile_layout_is_named(i->f->values[id].type->layout);
        resolve_layout(i, (tile_value){id});
    }
    return any;
}

/* Errors report values; a note after the first one adds the parameters. */
static void note_parameters(instance *i) {
    const char *values = tile_bound_text(&i->bound, NULL, i->arena);
    const char *text = tile_arena_format(i->arena, "instantiated with %s", values);
    const char *note = tile_intern_name(i->context, text, strlen(text));
    if (*values) tile_context_note_next_error(i->context, i->f->loc, note);
}

static tile_status check_result(instance *i) {
    bool ok = !i->errors && tile_function_verify(i->f) == TILE_OK && tile_inline_calls(i->f);
    tile_context_note_next_error(i->context, i->f->loc, NULL);
    return ok ? TILE_OK : TILE_INVALID;
}

/* What `auto` stands for, with the types of the options. */
static bool resolve_tuning(tile_function *f, const tile_pass_option *options, unsigned count,
                           const tile_target *target, tile_arena *arena) {
    tile_binding *given = TILE_NEW_ARRAY(arena, tile_binding, count + 1u);
    for (unsigned i = 0; i < count; i++)
        given[i] = (tile_binding){options[i].key, options[i].value};
    return tile_resolve_tuning(f, target, given, count) == TILE_OK;
}

tile_status tile_instantiate_function(tile_function *f, const tile_pass_option *options,
                                      unsigned count, const tile_target *target,
                                      tile_arena *arena) {
    instance i = {.f = f, .context = tile_function_context(f), .arena = arena};
    if (!resolve_tuning(f, options, count, target, arena) || tile_plan_take_points(f) != TILE_OK ||
        !tile_inline_calls(f))
        return TILE_INVALID;
    tile_settle_tuning(f);
    /* 1. Values of the parameters, properties of the arguments. */
    read_options(&i, options, count);
    assume_alignment(f);
    if (i.errors || !tile_bind_params(f, options, count, arena, &i.bound) ||
        !tile_check_wheres(&i.bound, arena))
        return TILE_INVALID;
    tile_choose_fitting_point(f, options, count, target, arena, &i.bound);
    note_widths(f, options, count, arena);
    i.bindings = tile_param_bindings(&i.bound);
    i.bindings.arg = known_argument;
    decide_persistent(&i);
    if (i.errors) return TILE_INVALID;
    note_parameters(&i);
    if (!f->param_count && !has_constants(f)) {
        if (resolve_layouts(&i) && check_result(&i) != TILE_OK) return TILE_INVALID;
        return tile_instantiate_launches(f, target, arena);
    }
    /* 2. Substitution. */
    bind_declarations(&i);
    bind_wheres(&i);
    bind_attrs(&i);
    bind_values(&i);
    resolve_layouts(&i);
    tile_status status = check_result(&i);
    /* 3. Removal of the parameters; the point is kept for remarks and dumps. */
    const char *point = tile_bound_text(&i.bound, NULL, arena);
    if (f->param_count) f->point = tile_intern_name(i.context, point, strlen(point));
    f->param_count = f->tune_count = 0;
    /* 4. Instances of the kernels that a plan launches. */
    return status == TILE_OK ? tile_instantiate_launches(f, target, arena) : status;
}

/* True if every parameter has a default, an option or a tuning clause. */
static bool has_values(const tile_function *f, const tile_pass *pass) {
    for (size_t p = 0; p < f->param_count; p++) {
        const tile_param_decl *param = &f->params[p];
        bool told = param->default_expr || param->default_type;
        for (unsigned o = 0; o < pass->option_count; o++)
            told |= strcmp(pass->options[o].key, param->name) == 0;
        for (size_t t = 0; t < f->tune_count; t++)
            for (unsigned n = 0; n < f->tunes[t].name_count; n++)
                told |= strcmp(f->tunes[t].names[n], param->name) == 0;
        if (!told) return false;
    }
    return true;
}

static tile_status instantiate(tile_pass *pass, tile_function *f) {
    return tile_instantiate_function(f, pass->options, pass->option_count, pass->target,
                                     pass->scratch);
}

/* Plans come before the kernels that they launch, because they bind those kernels' parameters. A
 * kernel is removed if it has instances and its own parameters have no values. A compute's
 * parameters are bound by its inputs. */
tile_status tile_pass_instantiate(tile_pass *pass, tile_function *f) {
    tile_function *plan;
    tile_status status = TILE_OK;
    if (f->kind == TILE_COMPUTE) return tile_inline_calls(f) ? TILE_OK : TILE_INVALID;
    if (!resolve_tuning(f, pass->options, pass->option_count, pass->target, pass->scratch))
        return TILE_INVALID;
    while (status == TILE_OK && (plan = tile_find_launching_plan(f)))
        status = instantiate(pass, plan);
    if (status != TILE_OK) return status;
    if (tile_has_instances(f) && !has_values(f, pass)) {
        tile_module_remove(f->module, f);
        return TILE_OK;
    }
    status = instantiate(pass, f);
    if (status == TILE_OK) tile_remark_stored_elements(f);
    return status;
}

/* Public entry points ------------------------------------------------------------------------ */

tile_status tile_instantiate_for(tile_module *module, const char *kernel,
                                 const tile_binding *bindings, unsigned binding_count,
                                 const tile_target *target) {
    tile_function *f = tile_module_find(module, kernel);
    if (!module) return TILE_INVALID;
    if (!f) {
        tile_report(module->context, TILE_ERROR, (tile_loc){0}, "there is no function @%s",
                    kernel ? kernel : "");
        return TILE_INVALID;
    }
    if (!tile_bindings_are_complete(module->context, bindings, binding_count)) return TILE_INVALID;
    tile_arena arena = {0};
    const bool was_plan = f->kind == TILE_PLAN; /* packing makes a plan of a kernel */
    tile_pass_option *options = TILE_NEW_ARRAY(&arena, tile_pass_option, binding_count + 1u);
    instance i = {.f = f, .context = module->context, .arena = &arena};
    i.errors += tile_resolve_tuning(f, target, bindings, binding_count) != TILE_OK ||
                !tile_bind_packing(f, bindings, binding_count) ||
                tile_plan_take_points(f) != TILE_OK || !tile_bind_split(f, bindings, binding_count);
    unsigned count = 0;
    for (unsigned o = 0; o < binding_count; o++) {
        if (tile_binds_no_parameter(&bindings[o])) continue;
        options[count++] = (tile_pass_option){bindings[o].name, bindings[o].value};
        if (!tile_function_find_param(f, bindings[o].name, strlen(bindings[o].name)) &&
            tile_constant_argument(f, bindings[o].name) == f->arg_count)
            fail_unknown(&i, bindings[o].name);
    }
    tile_status status =
        i.errors ? TILE_INVALID : tile_instantiate_function(f, options, count, target, &arena);
    if (status == TILE_OK && was_plan &&
        !tile_bind_plan_packing(f, bindings, binding_count, &arena))
        status = TILE_INVALID;
    tile_arena_reset(&arena);
    return status;
}

tile_status tile_instantiate(tile_module *module, const char *kernel, const tile_binding *bindings,
                             unsigned binding_count) {
    TILE_GUARD_OUTSIDE(tile_module_context(module), TILE_OUT_OF_MEMORY)
    return tile_instantiate_for(module, kernel, bindings, binding_count, NULL);
}
