/* Level 1: each value is an array of doubles. Operations run in text order, and the memory of a
 * value is freed after its last use. */
#include "runtime/reference/element.h"
#include "runtime/reference/evaluation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/builder/expand_convolve.h"
#include "lib/builder/inline.h"
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"

static const int64_t max_elements = INT64_C(1) << TILE_MAX_TENSOR_LOG2;

typedef struct bound_param {
    const char *name;
    int64_t value;
    tile_scalar scalar; /* of type parameters */
} bound_param;

/* Parameters ----------------------------------------------------------------------------------- */

static bound_param *find_param(const evaluation *e, const char *name) {
    for (size_t i = 0; i < e->param_count; i++)
        if (strcmp(e->params[i].name, name) == 0) return &e->params[i];
    return NULL;
}

static bound_param *add_param(evaluation *e, const char *name) {
    e->params = tile_arena_grow(&e->scratch, e->params, e->param_count, &e->param_capacity,
                                sizeof *e->params);
    e->params[e->param_count] = (bound_param){.name = name};
    return &e->params[e->param_count++];
}

static bool param_value(const char *name, int64_t *value, void *user) {
    const bound_param *param = find_param(user, name);
    if (param) *value = param->value;
    return param != NULL;
}

bool evaluation_of(evaluation *e, const tile_expr *expr, int64_t *value) {
    tile_bindings bindings = {.param = param_value, .user = e};
    return expr && tile_expr_eval(expr, &bindings, value);
}

/* The name of a type is its value in comparisons. */
static void add_type(evaluation *e, const char *name, tile_scalar scalar) {
    bound_param *param = add_param(e, name);
    param->scalar = scalar;
    param->value = tile_word_value(tile_scalar_name(scalar));
}

static void bind_values(evaluation *e, const tile_compute_value *values, unsigned count) {
    for (unsigned i = 0; i < count && !e->failed; i++) {
        const char *name = values[i].name ? values[i].name : "";
        const tile_param_decl *param = tile_function_find_param(e->f, name, strlen(name));
        bool is_type = values[i].scalar != TILE_SCALAR_NONE;
        if (!param)
            FAIL(e, "@%s has no parameter '%s'", e->f->name, name);
        else if (find_param(e, name))
            FAIL(e, "'%s' of @%s is given twice", name, e->f->name);
        else if (is_type != (param->kind == TILE_PARAM_type))
            FAIL(e, "'%s' of @%s is %s", name, e->f->name,
                 is_type ? "a number, not a type" : "a type, not a number");
        else if (is_type && !tile_scalar_is_data(values[i].scalar))
            FAIL(e, "'%s' of @%s is an element type such as f16, not %s", name, e->f->name,
                 tile_scalar_name(values[i].scalar));
        else if (is_type)
            add_type(e, param->name, values[i].scalar);
        else
            add_param(e, param->name)->value = values[i].number;
    }
}

/* The dims of an input determine the parameters that are an extent of its type. */
static void bind_input(evaluation *e, const tile_arg_decl *arg, const tile_compute_array *input) {
    const tile_type *type = arg->type;
    if (type->rank != input->rank) {
        FAIL(e, "@%s: %%%s has rank %u, the array has rank %u", e->f->name, arg->name, type->rank,
             input->rank);
        return;
    }
    if (!tile_scalar_is_data(input->scalar)) {
        FAIL(e, "@%s: the array for %%%s needs an element type such as f16, not %s", e->f->name,
             arg->name, tile_scalar_name(input->scalar));
        return;
    }
    for (unsigned d = 0; d < type->rank; d++) {
        const tile_expr *dim = type->dims[d];
        if (dim && dim->kind == TILE_EXPR_PARAM && !find_param(e, dim->name))
            add_param(e, dim->name)->value = input->dims[d];
    }
    if (type->param && !find_param(e, type->param)) add_type(e, type->param, input->scalar);
}

/* Determines the element type and the extents of a result that only its array determines. */
static void bind_output(evaluation *e, const tile_type *type, const tile_compute_array *output) {
    for (unsigned d = 0; d < type->rank && d < output->rank; d++) {
        const tile_expr *dim = type->dims[d];
        if (!dim || dim->kind != TILE_EXPR_PARAM || find_param(e, dim->name)) continue;
        const tile_param_decl *param = tile_function_find_param(e->f, dim->name, strlen(dim->name));
        if (param && !param->default_expr) add_param(e, dim->name)->value = output->dims[d];
    }
    if (!type->param || find_param(e, type->param)) return;
    const tile_param_decl *param = tile_function_find_param(e->f, type->param, strlen(type->param));
    if (param && !param->default_type) add_type(e, type->param, output->scalar);
}

static void bind_defaults(evaluation *e) {
    for (size_t i = 0; i < e->f->param_count; i++) {
        const tile_param_decl *param = &e->f->params[i];
        int64_t value;
        if (find_param(e, param->name)) continue;
        if (param->kind == TILE_PARAM_type && param->default_type)
            add_type(e, param->name, param->default_type->scalar);
        else if (evaluation_of(e, param->default_expr, &value))
            add_param(e, param->name)->value = value;
        else
            FAIL(
                e,
                "@%s: the inputs do not determine the parameter %s; give it a default, or a value: "
                "`of @%s<%s = ..>`, --param %s=..",
                e->f->name, param->name, e->f->name, param->name, param->name);
    }
}

tile_scalar evaluation_scalar_of(const evaluation *e, const tile_type *type) {
    const bound_param *param = type->param ? find_param(e, type->param) : NULL;
    return param ? param->scalar : type->scalar;
}

tile_scalar evaluation_scalar(const evaluation *e, tile_value value) {
    return evaluation_scalar_of(e, tile_value_type(e->f, value));
}

tile_scalar evaluation_precision(const evaluation *e, tile_scalar scalar) {
    return scalar == TILE_f64 ? e->f64_as : scalar;
}

bool evaluation_resolve(evaluation *e, const tile_type *type, tile_compute_array *shape) {
    int64_t elements = 1;
    *shape = (tile_compute_array){.scalar = evaluation_scalar_of(e, type), .rank = type->rank};
    for (unsigned d = 0; d < type->rank && !e->failed; d++) {
        int64_t *dim = &shape->dims[d];
        tile_bindings bindings = {.param = param_value, .user = e};
        if (!tile_extent_eval(type->dims[d], &bindings, dim) || *dim < 0 ||
            (*dim && elements > max_elements / *dim))
            FAIL(e, "@%s: an extent of a tensor cannot be computed or is out of range", e->f->name);
        elements *= *dim;
    }
    return !e->failed;
}

size_t evaluation_count(const tile_compute_array *shape) {
    size_t count = 1;
    for (unsigned d = 0; d < shape->rank; d++) count *= (size_t)shape->dims[d];
    return count;
}

static bool same_dims(const tile_compute_array *a, const tile_compute_array *b) {
    bool same = a->rank == b->rank;
    for (unsigned d = 0; same && d < a->rank; d++) same = a->dims[d] == b->dims[d];
    return same;
}

/* Tensors must have the declared type; a scalar is converted. */
static void check_input(evaluation *e, const tile_arg_decl *arg, const tile_compute_array *input) {
    tile_compute_array shape;
    if (!evaluation_resolve(e, arg->type, &shape)) return;
    if (!same_dims(&shape, input))
        FAIL(e, "@%s: the dims of %%%s do not agree with the other inputs or its type", e->f->name,
             arg->name);
    else if (shape.rank && shape.scalar != input->scalar)
        FAIL(e, "@%s: %%%s has elements of %s, not %s", e->f->name, arg->name,
             tile_scalar_name(shape.scalar), tile_scalar_name(input->scalar));
}

/* The given values of parameters. */
typedef struct given {
    const tile_compute_value *values;
    unsigned count;
} given;

/* outputs: NULL if they are not known yet. */
static bool bind(evaluation *e, given told, const tile_compute_array *inputs, unsigned input_count,
                 const tile_compute_array *outputs, unsigned output_count) {
    const tile_function *f = e->f;
    if (f->kind != TILE_COMPUTE)
        FAIL(e, "@%s is a %s, not a compute", f->name, tile_function_kind_name(f->kind));
    else if (input_count != f->arg_count || output_count != f->result_count)
        FAIL(e, "@%s takes %zu inputs and gives %zu results, not %u and %u", f->name, f->arg_count,
             f->result_count, input_count, output_count);
    if (!e->failed) bind_values(e, told.values, told.count);
    for (unsigned i = 0; i < input_count && !e->failed; i++) bind_input(e, &f->args[i], &inputs[i]);
    for (unsigned i = 0; outputs && i < output_count && !e->failed; i++)
        bind_output(e, f->results[i].type, &outputs[i]);
    if (!e->failed) bind_defaults(e);
    for (unsigned i = 0; i < input_count && !e->failed; i++)
        check_input(e, &f->args[i], &inputs[i]);
    return !e->failed;
}

/* Values --------------------------------------------------------------------------------------- */

double *evaluation_create(evaluation *e, tile_value value) {
    tile_compute_array shape;
    if (!evaluation_resolve(e, tile_value_type(e->f, value), &shape)) return NULL;
    size_t count = evaluation_count(&shape);
    evaluation_drop(e, value.id); /* of an earlier iteration */
    double *data = malloc(sizeof *data * (count + 1));
    if (!data) FAIL(e, "@%s: out of host memory for a tensor of %zu elements", e->f->name, count);
    e->data[value.id] = data;
    e->counts[value.id] = count;
    return data;
}

double *evaluation_create_plane(evaluation *e, plane_kind which, tile_value value) {
    size_t count = e->counts[value.id];
    double *data = malloc(sizeof *data * (count + 1));
    if (!data) FAIL(e, "@%s: out of host memory for a tensor of %zu elements", e->f->name, count);
    free(e->planes[which][value.id]);
    e->planes[which][value.id] = data;
    return data;
}

/* The range of a number that kernels round to the value's type, but level 1 does not. */
static void range_scalar(evaluation *e, tile_value value) {
    tile_scalar type = evaluation_precision(e, evaluation_scalar(e, value));
    double number = *e->data[value.id];
    if (!e->ranged || !tile_scalar_is_floating(type)) return;
    tile_interval r = range_round(type, range_point(number));
    if (range_is_point(r)) return;
    double *low = evaluation_create_plane(e, PLANE_LOW, value);
    double *high = evaluation_create_plane(e, PLANE_HIGH, value);
    if (!low || !high) return;
    *low = r.low;
    *high = r.high;
}

static void read_input(evaluation *e, const tile_arg_decl *arg, const tile_compute_array *input) {
    double *to = evaluation_create(e, arg->value);
    const char *from = input->data;
    unsigned size = tile_scalar_bytes(input->scalar);
    evaluation_create_integers(e, arg->value);
    for (size_t i = 0; to && i < e->counts[arg->value.id]; i++)
        evaluation_set_number(e, arg->value, i, tile_element_read(input->scalar, from + i * size));
    evaluation_drop_integers(e, arg->value);
    e->origins[arg->value.id] = evaluation_scalar(e, arg->value);
    if (to && arg->type->rank == 0) range_scalar(e, arg->value);
}

static void make_constant(evaluation *e, tile_value value) {
    int64_t integer = 0;
    const tile_expr *expr = tile_value_at(e->f, value)->expr;
    bool floating = expr->kind == TILE_EXPR_FLOAT;
    if (!floating && !evaluation_of(e, expr, &integer))
        FAIL(e, "@%s: a constant cannot be computed", e->f->name);
    double *to = evaluation_create(e, value);
    tile_scalar scalar = e->origins[value.id] = evaluation_scalar(e, value);
    evaluation_create_integers(e, value);
    if (to)
        evaluation_set_number(
            e, value, 0,
            floating ? (tile_number){expr->number, 0}
                     : (tile_number){tile_integer_to_double(scalar, integer), integer});
    evaluation_drop_integers(e, value);
    if (to) range_scalar(e, value);
}

void evaluation_drop(evaluation *e, uint32_t value) {
    free(e->data[value]);
    e->data[value] = NULL;
    for (unsigned i = 0; i < PLANE_COUNT; i++) {
        free(e->planes[i][value]);
        e->planes[i][value] = NULL;
    }
}

void evaluation_drop_use(evaluation *e, uint32_t value) {
    if (e->uses[value] && --e->uses[value] == 0) evaluation_drop(e, value);
}

void evaluation_run_op(evaluation *e, tile_op op) {
    const tile_op_data *data = tile_op_at(e->f, op);
    bool loops = data->region_count > 0; /* creates its results itself */
    evaluation_check_operands(e, op);
    if (e->failed) return;
    double *to = loops ? NULL : evaluation_create(e, data->first_result);
    if (!to && !loops) return;
    evaluation_compute(e, op, to);
    if (!e->failed) evaluation_follow(e, op);
    for (uint32_t i = 0; i < data->operand_count; i++) evaluation_drop_use(e, data->operands[i].id);
}

static void store_output(evaluation *e, const tile_result_decl *result,
                         const tile_compute_array *output) {
    tile_compute_array shape;
    if (!evaluation_resolve(e, result->type, &shape)) return;
    if (!same_dims(&shape, output)) {
        FAIL(e, "@%s: the array for %%%s does not have its dims", e->f->name, result->name);
        return;
    }
    evaluation_check_result(e, result, output);
    char *to = output->data;
    unsigned size = tile_scalar_bytes(output->scalar);
    for (size_t i = 0; i < e->counts[result->value.id]; i++)
        tile_number_write(output->scalar, evaluation_number(e, result->value, output->scalar, i),
                          to + i * size);
}

/* Ranges in the array's type, which may differ from the result's. */
static void store_ranges(const evaluation *e, const tile_result_decl *result,
                         const tile_compute_array *output, tile_interval *to) {
    uint32_t id = result->value.id;
    bool rounds = output->scalar != evaluation_scalar_of(e, result->type) &&
                  tile_scalar_is_floating(output->scalar);
    for (size_t i = 0; i < e->counts[id]; i++) {
        to[i] = evaluation_range(e, id, i);
        if (rounds) to[i] = range_round(output->scalar, to[i]);
    }
}

static void run_body(evaluation *e, const tile_compute_array *inputs) {
    const tile_function *f = e->f;
    e->data = TILE_NEW_ARRAY(&e->scratch, double *, f->value_count);
    for (unsigned i = 0; i < PLANE_COUNT; i++)
        e->planes[i] = TILE_NEW_ARRAY(&e->scratch, double *, f->value_count);
    e->origins = TILE_NEW_ARRAY(&e->scratch, tile_scalar, f->value_count);
    e->counts = TILE_NEW_ARRAY(&e->scratch, size_t, f->value_count);
    e->uses = tile_count_uses(f, &e->scratch);
    for (size_t i = 0; i < f->result_count; i++)
        e->uses[f->results[i].value.id]++; /* the result is used until it is stored */
    for (size_t i = 0; i < f->arg_count && !e->failed; i++) read_input(e, &f->args[i], &inputs[i]);
    for (uint32_t id = 1; id < f->value_count && !e->failed; id++)
        if (f->values[id].kind == TILE_VALUE_CONSTANT && e->uses[id])
            make_constant(e, (tile_value){id});
    TILE_FOR_EACH_OP (f, op, f->body) {
        if (!e->failed) evaluation_run_op(e, op);
    }
}

static void free_values(evaluation *e) {
    for (uint32_t id = 1; e->data && id < e->f->value_count; id++) evaluation_drop(e, id);
    tile_arena_reset(&e->scratch);
}

tile_status tile_compute_shapes_with(const tile_function *compute, const tile_compute_value *values,
                                     unsigned value_count, const tile_compute_array *inputs,
                                     unsigned input_count, tile_compute_array *outputs,
                                     unsigned output_count) {
    TILE_GUARD(compute ? tile_function_context(compute) : NULL, TILE_OUT_OF_MEMORY)
    evaluation e = {.f = compute};
    if ((value_count && !values) || tile_function_verify(compute) != TILE_OK) return TILE_INVALID;
    if (bind(&e, (given){values, value_count}, inputs, input_count, NULL, output_count))
        for (unsigned i = 0; i < output_count && !e.failed; i++) {
            tile_compute_array shape;
            evaluation_resolve(&e, compute->results[i].type, &shape);
            outputs[i].scalar = shape.scalar;
            outputs[i].rank = shape.rank;
            memcpy(outputs[i].dims, shape.dims, sizeof shape.dims);
        }
    free_values(&e);
    return e.failed ? TILE_INVALID : TILE_OK;
}

tile_status tile_compute_shapes(const tile_function *compute, const tile_compute_array *inputs,
                                unsigned input_count, tile_compute_array *outputs,
                                unsigned output_count) {
    return tile_compute_shapes_with(compute, NULL, 0, inputs, input_count, outputs, output_count);
}

/* For products: the number of elements that each result sums. */
static double work_depth(evaluation *e, tile_op op) {
    tile_compute_array lhs;
    if (tile_op_opcode(e->f, op) != TILE_OP_matmul ||
        !evaluation_resolve(e, tile_value_type(e->f, tile_operand_lhs(e->f, op)), &lhs))
        return 1;
    bool turned = tile_op_has_attr(e->f, op, TILE_ATTR_trans_lhs);
    return (double)lhs.dims[lhs.rank - (turned ? 2 : 1)];
}

double evaluation_work(const tile_function *compute, const tile_compute_value *values,
                       unsigned value_count, const tile_compute_array *inputs, unsigned input_count,
                       const tile_compute_array *outputs, unsigned output_count) {
    evaluation e = {.f = compute, .f64_as = TILE_f64};
    double work = 0;
    if (bind(&e, (given){values, value_count}, inputs, input_count, outputs, output_count)) {
        TILE_FOR_EACH_OP_INSIDE (compute, op, compute->body) {
            tile_compute_array shape;
            tile_value result = tile_op_result(compute, op, 0);
            if (result.id && evaluation_resolve(&e, tile_value_type(compute, result), &shape))
                work += (double)evaluation_count(&shape) * work_depth(&e, op) *
                        evaluation_iterations(&e, op);
        }
    }
    free_values(&e);
    return e.failed ? INFINITY : work;
}

static bool has_composed_ops(const tile_function *f) {
    bool found = false;
    for (uint32_t id = 1; id < f->op_count; id++)
        found |= f->ops[id].opcode == TILE_OP_call || f->ops[id].opcode == TILE_OP_convolve;
    return found;
}

/* A compute whose calls of funcs are inlined, and whose convolutions are products of windows: the
 * compute itself, or a copy of it in *copy. NULL after a diagnostic. */
static const tile_function *expand_ops(const tile_function *compute, tile_module **copy) {
    *copy = has_composed_ops(compute) ? tile_module_clone(compute->module) : NULL;
    if (!*copy) return compute;
    tile_function *f = tile_module_find(*copy, compute->name);
    bool ok = tile_inline_calls(f) && tile_expand_convolutions(f, false);
    return ok && tile_function_verify(f) == TILE_OK ? f : NULL;
}

/* ranges: NULL, or for each output NULL or an array for the ranges of its elements. */
static tile_status run(evaluation *e, given told, const tile_compute_array *inputs,
                       unsigned input_count, const tile_compute_array *outputs,
                       tile_interval *const *ranges, unsigned output_count) {
    tile_module *copy;
    const tile_function *expanded = expand_ops(e->f, &copy);
    if (expanded)
        e->f = expanded;
    else
        e->failed = true;
    if (!e->failed && bind(e, told, inputs, input_count, outputs, output_count))
        run_body(e, inputs);
    for (unsigned i = 0; i < output_count && !e->failed; i++) {
        const tile_result_decl *result = &e->f->results[i];
        store_output(e, result, &outputs[i]);
        if (!e->failed && ranges && ranges[i]) store_ranges(e, result, &outputs[i], ranges[i]);
    }
    free_values(e);
    tile_module_destroy(copy);
    return e->failed ? TILE_INVALID : TILE_OK;
}

tile_status evaluation_run(const tile_function *compute, const tile_compute_value *values,
                           unsigned value_count, const tile_compute_array *inputs,
                           unsigned input_count, const tile_compute_array *outputs,
                           unsigned output_count) {
    evaluation e = {.f = compute, .f64_as = TILE_f64};
    return run(&e, (given){values, value_count}, inputs, input_count, outputs, NULL, output_count);
}

tile_status tile_compute_run_intervals(const tile_function *compute,
                                       const tile_compute_value *values, unsigned value_count,
                                       const tile_compute_array *inputs, unsigned input_count,
                                       const tile_compute_array *outputs,
                                       tile_interval *const *ranges, unsigned output_count,
                                       tile_scalar f64_as) {
    TILE_GUARD(compute ? tile_function_context(compute) : NULL, TILE_OUT_OF_MEMORY)
    if ((value_count && !values) || (output_count && !ranges) || !tile_scalar_is_floating(f64_as) ||
        tile_function_verify(compute) != TILE_OK)
        return TILE_INVALID;
    evaluation e = {.f = compute, .ranged = true, .f64_as = f64_as};
    return run(&e, (given){values, value_count}, inputs, input_count, outputs, ranges,
               output_count);
}

tile_status tile_compute_run_with(const tile_function *compute, const tile_compute_value *values,
                                  unsigned value_count, const tile_compute_array *inputs,
                                  unsigned input_count, const tile_compute_array *outputs,
                                  unsigned output_count) {
    TILE_GUARD(compute ? tile_function_context(compute) : NULL, TILE_OUT_OF_MEMORY)
    if ((value_count && !values) || tile_function_verify(compute) != TILE_OK) return TILE_INVALID;
    return evaluation_run(compute, values, value_count, inputs, input_count, outputs, output_count);
}

tile_status tile_compute_run(const tile_function *compute, const tile_compute_array *inputs,
                             unsigned input_count, const tile_compute_array *outputs,
                             unsigned output_count) {
    return tile_compute_run_with(compute, NULL, 0, inputs, input_count, outputs, output_count);
}

static bool has_rounding(const tile_function *f) {
    for (uint32_t id = 1; id < f->op_count; id++) {
        const tile_type *type = tile_value_type(f, f->ops[id].first_result);
        bool floats = type && tile_scalar_is_floating(type->scalar);
        if (floats && tile_op_has_trait(f->ops[id].opcode, TILE_TRAIT_ROUNDS)) return true;
    }
    return false;
}

bool tile_compute_rounds(const tile_function *compute) {
    TILE_GUARD(compute ? tile_function_context(compute) : NULL, true)
    tile_module *copy = NULL;
    const tile_function *f = compute ? expand_ops(compute, &copy) : NULL;
    bool rounds = f && has_rounding(f);
    tile_module_destroy(copy);
    return rounds;
}

/* Finds the matrix before the casts that round it: the number of the compute's input. */
static bool find_matrix(const tile_function *f, tile_value value, unsigned *input) {
    for (unsigned i = 0; i < f->arg_count; i++)
        if (tile_function_arg(f, i).id == value.id) {
            *input = i;
            return f->args[i].type->rank == 2;
        }
    return false;
}

static tile_value without_casts(const tile_function *f, tile_value value) {
    tile_op op;
    while ((op = tile_value_def(f, value)).id && tile_op_opcode(f, op) == TILE_OP_cast)
        value = tile_operand_src(f, op);
    return value;
}

bool tile_compute_find_product(const tile_function *f, tile_product_inputs *product) {
    tile_product_inputs found;
    if (!f || f->kind != TILE_COMPUTE || tile_function_result_count(f) != 1) return false;
    tile_op op = tile_value_def(f, without_casts(f, tile_function_result(f, 0)));
    if (!op.id || tile_op_opcode(f, op) != TILE_OP_matmul ||
        !find_matrix(f, without_casts(f, tile_operand_lhs(f, op)), &found.lhs) ||
        !find_matrix(f, without_casts(f, tile_operand_rhs(f, op)), &found.rhs))
        return false;
    found.trans_lhs = tile_op_has_attr(f, op, TILE_ATTR_trans_lhs);
    found.trans_rhs = tile_op_has_attr(f, op, TILE_ATTR_trans_rhs);
    *product = found;
    return true;
}
