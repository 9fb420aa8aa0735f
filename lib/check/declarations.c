/* Checks a function's declarations, and its types, constants and attributes. These are errors that
 * the text form cannot express, but a program that uses the C builder functions can make. */
#include "lib/check/verify.h"

#include <string.h>

#include "lib/ir/accumulator.h"
#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"

enum { MAX_EXPR_NODES = 10000 };

typedef struct checker {
    tile_function *f;
    unsigned errors;
} checker;

#define FAIL(c, loc, ...) \
    ((c)->errors++, tile_report(tile_function_context((c)->f), TILE_ERROR, (loc), __VA_ARGS__))

/* Names --------------------------------------------------------------------------------------- */

static bool is_name(const char *name, bool digits_first) {
    size_t length = name ? strlen(name) : 0;
    return length &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
               length &&
           (digits_first || *name < '0' || *name > '9');
}

static bool is_word_of_the_language(const char *name) {
    size_t length = strlen(name);
    return tile_opcode_from_name(name, length) || tile_scalar_from_name(name, length) ||
           tile_is_literal_word(name, length);
}

static const char *shown(const char *name) {
    return name ? name : "";
}

/* Expressions --------------------------------------------------------------------------------- */

typedef enum scope { SCOPE_PARAMS, SCOPE_SIZES, SCOPE_ARGS, SCOPE_TILE } scope;

/* Returns whether the expression compares two words. If parameters are compared, they must be among
 * the first `params`. */
static bool compares_words(const tile_function *f, const tile_expr *expr, size_t params) {
    if (expr->opcode != TILE_OP_eq && expr->opcode != TILE_OP_ne) return false;
    for (unsigned i = 0; i < 2; i++) {
        const tile_expr *arg = expr->args[i];
        if (!arg || !tile_expr_is_word(f, arg)) return false;
        if (arg->kind == TILE_EXPR_PARAM &&
            (size_t)(tile_function_find_param(f, arg->name, strlen(arg->name)) - f->params) >=
                params)
            return false;
    }
    return true;
}

/* What an expression may refer to: the first `params` parameters, the integers among the first
 * `args` arguments, properties of the device known at launch, and the coordinates of a tile. */
typedef struct names {
    size_t params, args;
    bool device, tile;
} names;

static bool is_host_expr(const tile_function *f, const tile_expr *expr, const names *allowed,
                         unsigned *budget) {
    if (!expr || !*budget) return false;
    --*budget;
    switch (expr->kind) {
    case TILE_EXPR_INT: return true;
    case TILE_EXPR_FLOAT:
    case TILE_EXPR_LOOP:
    case TILE_EXPR_WORD: return false;
    case TILE_EXPR_NUM_SMS: return allowed->device;
    case TILE_EXPR_BLOCK_ID: return allowed->tile;
    case TILE_EXPR_PARAM:
        for (size_t i = 0; i < allowed->params; i++)
            if (f->params[i].name && strcmp(f->params[i].name, expr->name) == 0)
                return !tile_expr_is_word(f, expr);
        return false;
    case TILE_EXPR_ARG:
        return (uint64_t)expr->integer < allowed->args &&
               tile_type_is_size(f->args[expr->integer].type);
    case TILE_EXPR_OP:
        if (compares_words(f, expr, allowed->params)) return true;
        for (unsigned i = 0; i < 3 && expr->args[i]; i++)
            if (!is_host_expr(f, expr->args[i], allowed, budget)) return false;
        return true;
    }
    return false;
}

static bool is_expr(const tile_function *f, const tile_expr *expr, scope allowed) {
    unsigned budget = MAX_EXPR_NODES;
    const names all = {.params = f->param_count,
                       .args = allowed != SCOPE_PARAMS ? f->arg_count : 0,
                       .device = allowed == SCOPE_ARGS,
                       .tile = allowed == SCOPE_TILE};
    return is_host_expr(f, expr, &all, &budget);
}

bool tile_divides_by_zero(const tile_expr *expr) {
    static const tile_bindings none = {.num_sms = 0};
    static const tile_expr_kind leaves[] = {TILE_EXPR_PARAM,   TILE_EXPR_ARG,      TILE_EXPR_WORD,
                                            TILE_EXPR_NUM_SMS, TILE_EXPR_BLOCK_ID, TILE_EXPR_LOOP};
    int64_t value;
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (tile_expr_holds(expr, leaves[i])) return false;
    return !tile_expr_eval(expr, &none, &value);
}

/* Checks an expression that is otherwise valid at its position. */
static void check_division(checker *c, tile_loc loc, const tile_expr *expr) {
    tile_arena scratch = {0};
    if (tile_divides_by_zero(expr))
        FAIL(c, loc, "'%s' has no value: it divides by zero", tile_expr_text(c->f, expr, &scratch));
    tile_arena_reset(&scratch);
}

bool tile_is_host_expr(const tile_function *f, const tile_expr *expr) {
    return is_expr(f, expr, SCOPE_ARGS);
}

bool tile_is_param_expr(const tile_function *f, const tile_expr *expr) {
    return is_expr(f, expr, SCOPE_PARAMS);
}

/* Types --------------------------------------------------------------------------------------- */

/* Returns whether an expression can be the value of a parameter: a word, the name of an element
 * type, or a number over the parameters before `params` and the integer arguments before `args`. */
static bool fits_param(const tile_function *f, const tile_param_decl *param, const tile_expr *expr,
                       size_t params, size_t args) {
    unsigned budget = MAX_EXPR_NODES;
    bool word = expr && expr->kind == TILE_EXPR_WORD;
    if (param->kind == TILE_PARAM_word) return word && is_name(expr->name, false);
    if (param->kind == TILE_PARAM_type)
        return word && tile_scalar_of_data(expr->name) != TILE_SCALAR_NONE;
    const names before = {.params = params, .args = args};
    return is_host_expr(f, expr, &before, &budget);
}

static bool is_type_param(const tile_function *f, const char *name) {
    size_t length;
    tile_is_accumulator(name, &name, &length);
    const tile_param_decl *param = tile_function_find_param(f, name, length);
    return param && param->kind == TILE_PARAM_type;
}

static void check_type(checker *c, tile_loc loc, const tile_type *type) {
    const char *param;
    size_t length;
    if (type->param && c->f->kind != TILE_KERNEL && c->f->kind != TILE_FUNC &&
        tile_is_accumulator(type->param, &param, &length))
        FAIL(c, loc, "'%s' is an element type in kernels only; write a type such as f32",
             type->param);
    else if (type->param && !is_type_param(c->f, type->param))
        FAIL(c, loc, "a type names the parameter '%s', which is not declared as a type",
             type->param);
    else if (!type->param && !type->scalar)
        FAIL(c, loc, "a type has no element type");
    if (type->stages && !is_expr(c->f, type->stages, SCOPE_PARAMS))
        FAIL(c, loc,
             "the number of stages of a shared buffer may depend on compile-time parameters only");
    else if (type->stages)
        check_division(c, loc, type->stages);
    for (unsigned d = 0; d < type->rank; d++) {
        const tile_expr *numbers[] = {type->dims[d], type->strides[d]};
        for (unsigned i = 0; i < 2; i++)
            if (numbers[i] && !is_expr(c->f, numbers[i], SCOPE_PARAMS))
                FAIL(c, loc,
                     "extents and strides in a type may depend on compile-time parameters only");
            else if (numbers[i])
                check_division(c, loc, numbers[i]);
    }
}

/* Declarations -------------------------------------------------------------------------------- */

static void check_params(checker *c) {
    tile_function *f = c->f;
    for (size_t i = 0; i < f->param_count; i++) {
        const tile_param_decl *param = &f->params[i];
        bool is_type = param->kind == TILE_PARAM_type;
        if (!is_name(param->name, false) || is_word_of_the_language(param->name))
            FAIL(c, f->loc, "'%s' cannot name a parameter", shown(param->name));
        else if (tile_function_find_param(f, param->name, strlen(param->name)) != param)
            FAIL(c, f->loc, "the parameter '%s' is declared twice", param->name);
        else if ((unsigned)param->kind > TILE_PARAM_word)
            FAIL(c, f->loc, "the parameter '%s' has no valid kind", param->name);
        else if (param->kind == TILE_PARAM_word && f->kind == TILE_COMPUTE)
            FAIL(c, f->loc, "the parameter '%s' is a word: only a kernel may have word parameters",
                 param->name);
        else if (is_type ? param->default_expr != NULL : param->default_type != NULL)
            FAIL(c, f->loc, "the default of '%s' does not have the parameter's kind", param->name);
        else if (param->default_type && (param->default_type->kind != TILE_TYPE_SCALAR ||
                                         !tile_scalar_is_data(param->default_type->scalar)))
            FAIL(c, f->loc, "the default of '%s' must be an element type such as f16", param->name);
        else if (param->default_expr && !fits_param(f, param, param->default_expr, i, 0))
            FAIL(c, f->loc,
                 param->kind == TILE_PARAM_word
                     ? "the default of '%s' must be a word"
                     : "the default of '%s' may depend on the parameters before it only",
                 param->name);
    }
}

/* Checks the parts of a view argument that are not in its type. */
static void check_view_arg(checker *c, size_t index) {
    tile_function *f = c->f;
    const tile_arg_decl *arg = &f->args[index];
    const names before = {.params = f->param_count, .args = index};
    for (unsigned d = 0; d < 2 * arg->type->rank; d++) {
        bool is_stride = d >= arg->type->rank;
        unsigned dim = is_stride ? d - arg->type->rank : d, budget = MAX_EXPR_NODES;
        const tile_expr *expr = is_stride ? arg->strides[dim] : arg->extents[dim];
        int64_t extent;
        if (is_stride && !arg->type->has_strides) continue;
        if (!is_host_expr(f, expr, &before, &budget))
            FAIL(c, f->loc,
                 "the %s of dim %u of the view %%%s may depend on parameters and integer arguments "
                 "before it only",
                 is_stride ? "stride" : "extent", dim, shown(arg->name));
        else if (!is_stride && tile_expr_is_int(expr, &extent) &&
                 (extent < 0 || extent > INT32_MAX))
            FAIL(c, f->loc, "the extent of dim %u of the view %%%s is %lld, not from 0 to 2^31 - 1",
                 dim, shown(arg->name), (long long)extent);
    }
}

static void check_constant_arg(checker *c, const tile_arg_decl *arg) {
    bool integer =
        arg->type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(arg->type->scalar);
    char range[TILE_RANGE_TEXT];
    int64_t value;
    if ((arg->is_const || arg->known) && (!integer || c->f->kind != TILE_KERNEL))
        FAIL(c, c->f->loc,
             "the argument '%s' cannot be {const}; only an integer argument of a kernel can",
             shown(arg->name));
    else if (arg->known && !arg->is_const)
        FAIL(c, c->f->loc,
             "the argument '%s' has a value and is not {const}; add {const}, or remove the value",
             shown(arg->name));
    else if (arg->known && (!tile_expr_is_int(arg->known, &value) ||
                            !tile_integer_fits(arg->type->scalar, value)))
        FAIL(c, c->f->loc, "the value of the argument '%s' does not fit its type: %s",
             shown(arg->name), tile_integer_range_text(arg->type->scalar, range));
}

static void check_args(checker *c) {
    tile_function *f = c->f;
    for (size_t i = 0; i < f->arg_count; i++) {
        if (!is_name(f->args[i].name, true))
            FAIL(c, f->loc, "'%s' cannot name an argument", shown(f->args[i].name));
        for (size_t j = 0; j < i; j++)
            if (f->args[i].name == f->args[j].name)
                FAIL(c, f->loc, "the argument '%s' is declared twice", shown(f->args[i].name));
        check_type(c, f->loc, f->args[i].type);
        if (f->args[i].type->kind == TILE_TYPE_VIEW) check_view_arg(c, i);
        check_constant_arg(c, &f->args[i]);
        if (f->args[i].divisible > TILE_MAX_DIVISOR)
            FAIL(c, f->loc, "'divisible' takes a number from 1 to 2^30");
        if (f->args[i].tensor_map &&
            (f->args[i].type->kind != TILE_TYPE_VIEW || f->args[i].type->rank > TILE_MAX_MAP_RANK))
            FAIL(c, f->loc, "'tensor_map' is for views of 1 to %d dims, not for the argument '%s'",
                 TILE_MAX_MAP_RANK, shown(f->args[i].name));
    }
    for (size_t i = 0; i < f->result_count; i++) {
        if (!is_name(f->results[i].name, true))
            FAIL(c, f->loc, "'%s' cannot name a result", shown(f->results[i].name));
        check_type(c, f->loc, f->results[i].type);
    }
}

static void check_tune(checker *c, const tile_tune_clause *tune) {
    bool ok = tune->name_count && tune->point_count;
    for (unsigned i = 0; i < tune->name_count; i++) {
        const char *name = tune->names[i];
        const tile_param_decl *param =
            name ? tile_function_find_param(c->f, name, strlen(name)) : NULL;
        ok &= param != NULL;
        for (unsigned k = 0; ok && k < i; k++)
            if (strcmp(tune->names[k], name) == 0)
                FAIL(c, c->f->loc, "the parameter '%s' appears twice in one `tune`", name);
        for (unsigned k = 0; ok && k < tune->point_count; k++) {
            const tile_expr *value = tune->values[k * tune->name_count + i];
            ok &= fits_param(c->f, param, value, c->f->param_count, c->f->arg_count);
            if (ok) check_division(c, c->f->loc, value);
        }
    }
    if (!ok)
        FAIL(c, c->f->loc,
             "`tune` needs declared parameters, and for each of them in each point a value that "
             "depends on compile-time parameters and integer arguments only");
}

static unsigned dims_named(const tile_expr *expr) {
    unsigned dims = expr->kind == TILE_EXPR_BLOCK_ID ? 1u << expr->integer : 0;
    for (unsigned i = 0; i < 3 && expr->args[i]; i++) dims |= dims_named(expr->args[i]);
    return dims;
}

static void check_raster(checker *c) {
    const tile_function *f = c->f;
    bool grouped = f->raster != TILE_RASTER_NONE;
    bool is_open = f->raster_auto && !f->raster_group; /* lib/tuning will compute it */
    int64_t group;
    if (grouped && !tile_raster_name(f->raster))
        FAIL(c, f->loc, "`raster` must be rows(n) or columns(n)");
    else if (!is_open && (grouped != (f->raster_group != NULL) ||
                          (grouped && !is_expr(f, f->raster_group, SCOPE_PARAMS))))
        FAIL(c, f->loc,
             "`raster`: n of rows(n) and columns(n) may depend on compile-time parameters only");
    else if (grouped && !is_open && tile_divides_by_zero(f->raster_group))
        check_division(c, f->loc, f->raster_group);
    else if (grouped && tile_expr_is_int(f->raster_group, &group) &&
             (group < 1 || group > TILE_MAX_RASTER_GROUP))
        FAIL(c, f->loc, "`raster` %s takes 1 to %d, not %lld", tile_raster_name(f->raster),
             TILE_MAX_RASTER_GROUP, (long long)group);
    else if (grouped && f->grid_rank == 1)
        FAIL(c, f->loc, "`raster` orders the first two dims of a grid, and this one has one dim");
}

static void fail_cost(checker *c, tile_loc loc) {
    FAIL(c, loc,
         "the cost of a tile may depend on compile-time parameters, integer arguments and "
         "block_id(0), block_id(1) or block_id(2) only");
}

/* A persistent kernel computes its tiles from the declared grid. */
static void check_persistent(checker *c) {
    const tile_function *f = c->f;
    for (unsigned d = 0; d < f->grid_rank && f->is_persistent; d++)
        if (is_expr(f, f->grid[d], SCOPE_ARGS) && tile_expr_holds(f->grid[d], TILE_EXPR_NUM_SMS))
            FAIL(c, f->loc,
                 "the extent of dim %u of the grid of a `persistent` kernel counts tiles; it "
                 "cannot use num_sms, the number of blocks that share the tiles",
                 d);
    if (f->persistent_if && !f->is_persistent)
        FAIL(c, f->loc, "a condition requires `persistent`");
    else if (f->persistent_if && !is_expr(f, f->persistent_if, SCOPE_PARAMS))
        FAIL(c, f->loc, "`persistent if` may depend on compile-time parameters only");
    else if (f->persistent_if)
        check_division(c, f->loc, f->persistent_if);
    if (f->cost && f->raster)
        FAIL(
            c, f->loc,
            "`persistent balanced` visits tiles in the order of their numbers: leave `raster` out, "
            "or write a grid of one dim and compute from block_id(0) which tile is meant");
    if (!f->cost) return;
    unsigned dims = is_expr(f, f->cost, SCOPE_TILE) ? dims_named(f->cost) : 0;
    if (!f->is_persistent)
        FAIL(c, f->loc, "the cost of a tile requires `persistent`");
    else if (!is_expr(f, f->cost, SCOPE_TILE))
        fail_cost(c, f->loc);
    else if (dims >> f->grid_rank)
        FAIL(c, f->loc, "the cost of a tile names a dim that the grid does not have");
}

/* These clauses change the code of a block. At level 3 that code is already in the kernel. */
static void check_walk(checker *c) {
    const tile_function *f = c->f;
    const char *clause = f->raster ? "raster" : "persistent";
    check_raster(c);
    check_persistent(c);
    if (!f->raster && !f->is_persistent) return;
    if (f->kind != TILE_KERNEL)
        FAIL(c, f->loc, "`%s` is a clause of kernels only; remove it", clause);
    else if (f->level == 3)
        FAIL(c, f->loc,
             "`%s` has no meaning at level 3, where a kernel is compiled as written; remove it",
             clause);
}

/* Passes compute with constant extents, so they must be valid. */
static void check_cluster(checker *c) {
    const tile_function *f = c->f;
    int64_t blocks = 1, extent;
    for (unsigned d = 0; d < f->cluster_rank; d++) {
        if (!is_expr(f, f->cluster[d], SCOPE_PARAMS))
            FAIL(c, f->loc,
                 "the extent of dim %u of the cluster may depend on compile-time parameters only",
                 d);
        else
            check_division(c, f->loc, f->cluster[d]);
        if (!tile_expr_is_int(f->cluster[d], &extent)) continue;
        bool fits = blocks && extent >= 1 && extent <= TILE_MAX_CLUSTER / blocks;
        blocks = fits ? blocks * extent : 0;
    }
    if (!blocks)
        FAIL(c, f->loc, "@%s: a cluster's extents must be constants and their product at most %d",
             f->name, TILE_MAX_CLUSTER);
}

/* Level 1 accepts any number of arguments; a launch has a limit. */
static void check_count(checker *c) {
    const tile_function *f = c->f;
    if (f->kind != TILE_COMPUTE && f->arg_count > TILE_MAX_ARGUMENTS)
        FAIL(c, f->loc,
             "@%s has %zu arguments, and a %s takes at most %d; combine several arrays into one, "
             "or turn numbers that do not change into parameters",
             shown(f->name), f->arg_count, tile_function_kind_name(f->kind), TILE_MAX_ARGUMENTS);
}

static void check_grid(checker *c, const tile_expr *const *extents, unsigned rank) {
    tile_loc loc = c->f->loc;
    for (unsigned d = 0; d < rank; d++)
        if (!is_expr(c->f, extents[d], SCOPE_ARGS))
            FAIL(c, loc,
                 "the extent of dim %u of the grid may depend on compile-time parameters and "
                 "integer arguments only",
                 d);
        else
            check_division(c, loc, extents[d]);
}

static void check_header(checker *c) {
    tile_function *f = c->f;
    check_count(c);
    if (!is_name(f->name, false)) FAIL(c, f->loc, "'%s' cannot name a function", shown(f->name));
    check_grid(c, f->grid, f->grid_rank);
    check_grid(c, f->unfolded, f->unfolded[0] ? 3 : 0);
    check_cluster(c);
    check_walk(c);
    if (f->warps && !is_expr(f, f->warps, SCOPE_PARAMS))
        FAIL(c, f->loc, "`warps` may depend on compile-time parameters only");
    else if (f->warps)
        check_division(c, f->loc, f->warps);
    for (size_t i = 0; i < f->where_count; i++)
        if (!is_expr(f, f->wheres[i], SCOPE_SIZES))
            FAIL(c, f->loc,
                 "`where` may depend on compile-time parameters and integer arguments only");
        else
            check_division(c, f->loc, f->wheres[i]);
    for (size_t i = 0; i < f->tune_count; i++) check_tune(c, &f->tunes[i]);
}

/* Operations ---------------------------------------------------------------------------------- */

static void check_constant(checker *c, tile_loc loc, const tile_value_data *value) {
    int64_t integer;
    char range[TILE_RANGE_TEXT];
    bool is_float = value->expr->kind == TILE_EXPR_FLOAT;
    scope allowed = c->f->kind == TILE_PLAN ? SCOPE_ARGS : SCOPE_PARAMS; /* num_sms */
    if (!value->type->scalar && !value->type->param)
        FAIL(c, loc, "a constant has no element type");
    else if (!is_float && !is_expr(c->f, value->expr, allowed))
        FAIL(c, loc, "a constant may depend on compile-time parameters only");
    else if (!is_float && tile_divides_by_zero(value->expr))
        check_division(c, loc, value->expr);
    else if (!value->type->param && tile_expr_is_int(value->expr, &integer) &&
             !tile_integer_fits(value->type->scalar, integer))
        FAIL(c, loc, "%lld does not fit %s: %s", (long long)integer,
             tile_scalar_name(value->type->scalar),
             tile_integer_range_text(value->type->scalar, range));
}

/* Returns whether the word is one of the attribute's, or a parameter that will be one. */
static bool is_word(const checker *c, const tile_attr *attr) {
    const char *word;
    for (unsigned i = 0; (word = tile_attr_word(attr->id, i)) && attr->text; i++)
        if (strcmp(word, attr->text) == 0) return true;
    if (attr->text || attr->expr->kind != TILE_EXPR_PARAM) return false;
    const tile_param_decl *param =
        tile_function_find_param(c->f, attr->expr->name, strlen(attr->expr->name));
    return param && param->kind == TILE_PARAM_word;
}

static bool is_constant(const checker *c, const tile_attr *attr) {
    bool floating = tile_scalar_is_floating(attr->type->scalar);
    if (attr->type->kind != TILE_TYPE_SCALAR) return false;
    return attr->expr->kind == TILE_EXPR_FLOAT
               ? floating
               : !floating && is_expr(c->f, attr->expr, SCOPE_PARAMS);
}

/* All blocks must give the same cache hints. */
static void check_condition(checker *c, tile_loc loc, const tile_expr *expr) {
    bool of_tile = is_expr(c->f, expr, SCOPE_TILE) && dims_named(expr);
    if (of_tile || !is_expr(c->f, expr, SCOPE_ARGS) || tile_expr_holds(expr, TILE_EXPR_NUM_SMS))
        FAIL(c, loc, "`cache_if` may depend on compile-time parameters and integer arguments only");
    else
        check_division(c, loc, expr);
}

static void check_attr(checker *c, tile_loc loc, const tile_attr *attr) {
    const tile_attr_info *info = tile_attr_get_info(attr->id);
    bool ok = tile_attr_has_its_kind(attr);
    if (ok && info->kind == TILE_KIND_expr) ok = is_expr(c->f, attr->expr, SCOPE_PARAMS);
    if (ok && attr->id == TILE_ATTR_cache_if)
        check_condition(c, loc, attr->expr);
    else if (ok && info->kind == TILE_KIND_tile && !is_expr(c->f, attr->expr, SCOPE_TILE))
        fail_cost(c, loc);
    if (ok && info->kind == TILE_KIND_word) ok = is_word(c, attr);
    if (ok && info->kind == TILE_KIND_constant) ok = is_constant(c, attr);
    if (info->name && !ok)
        FAIL(c, loc, "the attribute '%s' has a value of the wrong kind", info->name);
    else if (info->kind == TILE_KIND_text && strlen(attr->text) > TILE_MAX_TEXT)
        FAIL(c, loc, "'%s' is a text of more than %d bytes; write a shorter one", info->name,
             TILE_MAX_TEXT);
    else if (ok && info->kind == TILE_KIND_expr)
        check_division(c, loc, attr->expr);
}

static void check_op(checker *c, tile_op op) {
    const tile_function *f = c->f;
    const tile_op_data *data = tile_op_at(f, op);
    for (uint32_t i = 0; i < data->operand_count; i++) {
        const tile_value_data *value = tile_value_at(f, data->operands[i]);
        if (data->operands[i].id < f->value_count && value->kind == TILE_VALUE_CONSTANT)
            check_constant(c, data->loc, value);
    }
    for (uint32_t i = 0; i < data->result_count; i++)
        check_type(c, data->loc, tile_value_type(f, tile_op_result(f, op, i)));
    for (unsigned i = 0; i < data->attr_count; i++) check_attr(c, data->loc, &data->attrs[i]);
}

/* Checks results that are constants; other values are checked with their operations. */
static void check_results(checker *c) {
    const tile_function *f = c->f;
    for (size_t i = 0; i < f->result_count; i++) {
        const tile_value value = f->results[i].value;
        if (value.id && value.id < f->value_count &&
            f->values[value.id].kind == TILE_VALUE_CONSTANT)
            check_constant(c, f->loc, &f->values[value.id]);
    }
}

bool tile_verify_declarations(tile_function *f) {
    checker c = {.f = f};
    check_params(&c);
    check_args(&c);
    check_header(&c);
    check_results(&c);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) check_op(&c, op);
    return c.errors == 0;
}
