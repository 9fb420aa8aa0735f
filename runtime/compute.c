/* Level 1: each value is an array of doubles; operations run in text order, and a value's memory is
 * given back after its last use. */
#include "tile/compute.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/arith.h"
#include "lib/ir/syntax.h"
#include "lib/ir/function.h"
#include "lib/ir/reduce.h"
#include "lib/ir/rearrange.h"
#include "lib/ir/scalar.h"
#include "lib/ir/shape.h"

static const int64_t max_elements = INT64_C(1) << 40;

typedef struct bound_param {
    const char *name;
    int64_t value;
    tile_scalar scalar; /* type parameters */
} bound_param;

typedef struct evaluation {
    const tile_function *f;
    tile_arena scratch;
    bound_param *params;
    size_t param_count, param_capacity;
    double **data;  /* by value id */
    size_t *counts; /* elements, by value id */
    uint32_t *uses; /* still to come, by value id */
    bool failed;
} evaluation;

#define FAIL(e, ...) \
    ((e)->failed = true, \
     tile_report(tile_function_context((e)->f), TILE_ERROR, (e)->f->loc, __VA_ARGS__))

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

static bool evaluate(evaluation *e, const tile_expr *expr, int64_t *value) {
    tile_bindings bindings = {.param = param_value, .user = e};
    return expr && tile_expr_eval(expr, &bindings, value);
}

/* Compared, a type is its name. */
static void add_type(evaluation *e, const char *name, tile_scalar scalar) {
    bound_param *param = add_param(e, name);
    param->scalar = scalar;
    param->value = tile_word_value(tile_scalar_name(scalar));
}

/* An input's dims give values to the parameters that stand alone in its type. */
static void bind_input(evaluation *e, const tile_arg_decl *arg, const tile_compute_array *input) {
    const tile_type *type = arg->type;
    if (type->rank != input->rank) {
        FAIL(e, "@%s: %%%s has rank %u, the array has rank %u", e->f->name, arg->name, type->rank,
             input->rank);
        return;
    }
    for (unsigned d = 0; d < type->rank; d++) {
        const tile_expr *dim = type->dims[d];
        if (dim && dim->kind == TILE_EXPR_PARAM && !find_param(e, dim->name))
            add_param(e, dim->name)->value = input->dims[d];
    }
    if (type->param && !find_param(e, type->param)) add_type(e, type->param, input->scalar);
}

/* The element type of a result, where nothing but its array determines it. */
static void bind_output(evaluation *e, const tile_type *type, const tile_compute_array *output) {
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
        else if (evaluate(e, param->default_expr, &value))
            add_param(e, param->name)->value = value;
        else
            FAIL(e, "@%s: the inputs do not determine the parameter %s", e->f->name, param->name);
    }
}

static tile_scalar scalar_of(const evaluation *e, const tile_type *type) {
    const bound_param *param = type->param ? find_param(e, type->param) : NULL;
    return param ? param->scalar : type->scalar;
}

/* The shape of a type under the bound parameters; false after a report. */
static bool resolve(evaluation *e, const tile_type *type, tile_compute_array *shape) {
    int64_t elements = 1;
    *shape = (tile_compute_array){.scalar = scalar_of(e, type), .rank = type->rank};
    for (unsigned d = 0; d < type->rank && !e->failed; d++) {
        int64_t *dim = &shape->dims[d];
        if (!evaluate(e, type->dims[d], dim) || *dim < 0 ||
            (*dim && elements > max_elements / *dim))
            FAIL(e, "@%s: an extent of a tensor cannot be computed or is out of range", e->f->name);
        elements *= *dim;
    }
    return !e->failed;
}

static size_t count_elements(const tile_compute_array *shape) {
    size_t count = 1;
    for (unsigned d = 0; d < shape->rank; d++) count *= (size_t)shape->dims[d];
    return count;
}

static bool same_dims(const tile_compute_array *a, const tile_compute_array *b) {
    bool same = a->rank == b->rank;
    for (unsigned d = 0; same && d < a->rank; d++) same = a->dims[d] == b->dims[d];
    return same;
}

/* Tensors keep their type, a scalar is converted. */
static void check_input(evaluation *e, const tile_arg_decl *arg, const tile_compute_array *input) {
    tile_compute_array shape;
    if (!resolve(e, arg->type, &shape)) return;
    if (!same_dims(&shape, input))
        FAIL(e, "@%s: the dims of %%%s do not agree with the other inputs or its type", e->f->name,
             arg->name);
    else if (shape.rank && shape.scalar != input->scalar)
        FAIL(e, "@%s: %%%s has elements of %s, not %s", e->f->name, arg->name,
             tile_scalar_name(shape.scalar), tile_scalar_name(input->scalar));
}

/* outputs: NULL if they are not known yet. */
static bool bind(evaluation *e, const tile_compute_array *inputs, unsigned input_count,
                 const tile_compute_array *outputs, unsigned output_count) {
    const tile_function *f = e->f;
    if (f->kind != TILE_COMPUTE)
        FAIL(e, "@%s is a kernel, not a compute", f->name);
    else if (input_count != f->arg_count || output_count != f->result_count)
        FAIL(e, "@%s takes %zu inputs and gives %zu results, not %u and %u", f->name, f->arg_count,
             f->result_count, input_count, output_count);
    for (unsigned i = 0; i < input_count && !e->failed; i++) bind_input(e, &f->args[i], &inputs[i]);
    for (unsigned i = 0; outputs && i < output_count && !e->failed; i++)
        bind_output(e, f->results[i].type, &outputs[i]);
    if (!e->failed) bind_defaults(e);
    for (unsigned i = 0; i < input_count && !e->failed; i++)
        check_input(e, &f->args[i], &inputs[i]);
    return !e->failed;
}

/* Values --------------------------------------------------------------------------------------- */

static double *create_value(evaluation *e, tile_value value) {
    tile_compute_array shape;
    if (!resolve(e, tile_value_type(e->f, value), &shape)) return NULL;
    size_t count = count_elements(&shape);
    double *data = malloc(sizeof *data * (count + 1));
    if (!data) FAIL(e, "@%s: out of host memory for a tensor of %zu elements", e->f->name, count);
    e->data[value.id] = data;
    e->counts[value.id] = count;
    return data;
}

static void read_input(evaluation *e, const tile_arg_decl *arg, const tile_compute_array *input) {
    double *to = create_value(e, arg->value);
    const char *from = input->data;
    unsigned size = tile_scalar_bytes(input->scalar);
    for (size_t i = 0; to && i < e->counts[arg->value.id]; i++)
        to[i] = tile_scalar_read(input->scalar, from + i * size);
}

static void make_constant(evaluation *e, tile_value value) {
    int64_t integer = 0;
    const tile_expr *expr = tile_value_at(e->f, value)->expr;
    bool floating = expr->kind == TILE_EXPR_FLOAT;
    if (!floating && !evaluate(e, expr, &integer))
        FAIL(e, "@%s: a constant cannot be computed", e->f->name);
    double *to = create_value(e, value);
    if (to) *to = floating ? expr->number : (double)integer;
}

static void drop_value(evaluation *e, uint32_t value) {
    free(e->data[value]);
    e->data[value] = NULL;
}

static void drop_use(evaluation *e, uint32_t value) {
    if (e->uses[value] && --e->uses[value] == 0) drop_value(e, value);
}

/* Operations ----------------------------------------------------------------------------------- */

/* Wrapped to the width of the type. */
static bool integer_value(tile_opcode opcode, tile_scalar scalar, tile_manner manner,
                          const double *x, double *result) {
    int64_t value, in[3];
    unsigned char bytes[sizeof(int64_t)];
    for (unsigned i = 0; i < 3; i++) in[i] = tile_integer_from_double(x[i], INT64_MIN, INT64_MAX);
    if (!tile_fold_element(opcode, scalar, manner, in[0], in[1], in[2], &value)) return false;
    tile_integer_write(scalar, bytes, value);
    *result = (double)tile_integer_read(scalar, bytes);
    return true;
}

static double cast_value(tile_scalar from, tile_scalar to, tile_manner manner, double x) {
    unsigned char bytes[sizeof(double)];
    if (tile_scalar_is_floating(from))
        tile_cast_float(to, manner, x, bytes);
    else
        tile_cast_integer(from, to, manner, tile_integer_from_double(x, INT64_MIN, INT64_MAX),
                          bytes);
    return tile_scalar_read(to, bytes);
}

static double bitcast_value(tile_scalar from, tile_scalar to, double x) {
    unsigned char bytes[sizeof(double)];
    tile_scalar_write(from, bytes, x);
    return tile_scalar_read(to, bytes);
}

/* One element of an element-wise operation; from: the type of the first operand. */
static bool element_value(tile_opcode opcode, tile_scalar from, tile_scalar to, tile_manner manner,
                          const double *x, double *result) {
    switch (opcode) {
    case TILE_OP_cast: *result = cast_value(from, to, manner, x[0]); return true;
    case TILE_OP_bitcast: *result = bitcast_value(from, to, x[0]); return true;
    case TILE_OP_splat: *result = x[0]; return true;
    case TILE_OP_select: *result = x[0] != 0 ? x[1] : x[2]; return true;
    default: break;
    }
    if (tile_scalar_is_floating(from))
        return tile_fold_real(opcode, TILE_f64, manner, x[0], x[1], x[2], result);
    return integer_value(opcode, to, manner, x, result);
}

static void fail_element(evaluation *e, const tile_op_data *op, tile_scalar scalar) {
    int64_t any;
    tile_opcode opcode = (tile_opcode)op->opcode;
    bool divides = !tile_scalar_is_floating(scalar) && tile_fold_int(opcode, 1, 1, 1, &any);
    e->failed = true;
    if (divides)
        tile_report(tile_function_context(e->f), TILE_ERROR, op->loc, "%s: division by zero",
                    tile_op_get_info(opcode)->name);
    else
        tile_report(tile_function_context(e->f), TILE_ERROR, op->loc,
                    "%s is not defined for elements of %s", tile_op_get_info(opcode)->name,
                    tile_scalar_name(scalar));
}

/* Element by element; an operand with fewer elements is repeated along the leading dims. */
static void compute_elementwise(evaluation *e, tile_op id, double *to) {
    const tile_op_data *op = tile_op_at(e->f, id);
    tile_scalar from = scalar_of(e, tile_value_type(e->f, op->operands[0]));
    tile_scalar scalar = scalar_of(e, tile_value_type(e->f, op->first_result));
    tile_manner manner = tile_op_manner(e->f, id);
    size_t count = e->counts[op->first_result.id], at[3] = {0};
    for (size_t i = 0; i < count && !e->failed; i++) {
        double x[3] = {0};
        for (uint32_t o = 0; o < op->operand_count && o < 3; o++) {
            x[o] = e->data[op->operands[o].id][at[o]];
            at[o] = at[o] + 1 == e->counts[op->operands[o].id] ? 0 : at[o] + 1;
        }
        if (!element_value((tile_opcode)op->opcode, from, scalar, manner, x, &to[i]))
            fail_element(e, op, from);
    }
}

/* Blocks of rows of rhs that stay in the cache; for each element the products are added in k order.
 */
static void run_matmul(const double *a, const double *b, double *c, size_t m, size_t n, size_t k) {
    enum { K_BLOCK = 64, N_BLOCK = 512 };
    memset(c, 0, sizeof *c * m * n);
    for (size_t n0 = 0; n0 < n; n0 += N_BLOCK)
        for (size_t k0 = 0; k0 < k; k0 += K_BLOCK) {
            size_t n1 = n - n0 < N_BLOCK ? n : n0 + N_BLOCK,
                   k1 = k - k0 < K_BLOCK ? k : k0 + K_BLOCK;
            for (size_t i = 0; i < m; i++)
                for (size_t l = k0; l < k1; l++) {
                    double factor = a[i * k + l];
                    const double *row = b + l * n;
                    double *sum = c + i * n;
                    for (size_t j = n0; j < n1; j++) sum[j] += factor * row[j];
                }
        }
}

/* Sums of integers wrap, as those of a dot do. */
static void run_integer_matmul(const double *a, const double *b, double *c, size_t m, size_t n,
                               size_t k, tile_scalar from, tile_scalar to) {
    const tile_manner plain = {.nan = false};
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            uint64_t sum = 0;
            unsigned char bytes[sizeof(int64_t)];
            for (size_t l = 0; l < k; l++)
                sum += (uint64_t)(int64_t)cast_value(from, to, plain, a[i * k + l]) *
                       (uint64_t)(int64_t)cast_value(from, to, plain, b[l * n + j]);
            tile_integer_write(to, bytes, (int64_t)sum);
            c[i * n + j] = (double)tile_integer_read(to, bytes);
        }
}

/* Shape and elements of operand `index`; NULL after a report. */
static const double *operand_of(evaluation *e, tile_op op, unsigned index,
                                tile_compute_array *shape) {
    tile_value value = tile_op_operand(e->f, op, index);
    return resolve(e, tile_value_type(e->f, value), shape) ? e->data[value.id] : NULL;
}

/* The batch of an operand for one of the result's: extents of 1 and missing dims are repeated. */
static size_t batch_of(const tile_compute_array *operand, const tile_compute_array *result,
                       size_t batch) {
    size_t at = 0, step = 1;
    for (unsigned d = result->rank - 2; d-- > 0;) {
        size_t along = batch % (size_t)result->dims[d];
        batch /= (size_t)result->dims[d];
        if (d + operand->rank < result->rank) continue;
        size_t extent = (size_t)operand->dims[d + operand->rank - result->rank];
        if (extent > 1) at += along * step;
        step *= extent;
    }
    return at;
}

/* A matrix as it is multiplied: copied to `room` if it lies transposed. */
static const double *take_matrix(const double *from, size_t rows, size_t columns, double *room) {
    if (!room) return from;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) room[i * columns + j] = from[j * rows + i];
    return room;
}

static double *room_for(evaluation *e, bool turned, size_t count) {
    double *room = turned ? malloc(sizeof *room * (count + 1)) : NULL;
    if (turned && !room) FAIL(e, "@%s: out of host memory for a matrix", e->f->name);
    return room;
}

static void compute_matmul(evaluation *e, tile_op op, double *to) {
    tile_compute_array a, b, c;
    const double *lhs = operand_of(e, op, 0, &a), *rhs = operand_of(e, op, 1, &b);
    tile_value result = tile_op_result(e->f, op, 0);
    if (!lhs || !rhs || !resolve(e, tile_value_type(e->f, result), &c)) return;
    bool turn_lhs = tile_op_has_attr(e->f, op, TILE_ATTR_trans_lhs),
         turn_rhs = tile_op_has_attr(e->f, op, TILE_ATTR_trans_rhs);
    size_t m = (size_t)c.dims[c.rank - 2], n = (size_t)c.dims[c.rank - 1],
           k = (size_t)a.dims[a.rank - (turn_lhs ? 2 : 1)], batches = 1;
    for (unsigned d = 0; d + 2 < c.rank; d++) batches *= (size_t)c.dims[d];
    double *left = room_for(e, turn_lhs, m * k), *right = room_for(e, turn_rhs, k * n);
    for (size_t i = 0; i < batches && !e->failed; i++) {
        const double *x = take_matrix(lhs + batch_of(&a, &c, i) * m * k, m, k, left);
        const double *y = take_matrix(rhs + batch_of(&b, &c, i) * k * n, k, n, right);
        if (tile_scalar_is_floating(c.scalar))
            run_matmul(x, y, to + i * m * n, m, n, k);
        else
            run_integer_matmul(x, y, to + i * m * n, m, n, k, a.scalar, c.scalar);
    }
    free(left);
    free(right);
}

static int64_t attr_of(evaluation *e, tile_op op, tile_attr_id id, int64_t otherwise) {
    const tile_attr *attr = tile_op_attr(e->f, op, id);
    if (attr && !evaluate(e, attr->expr, &otherwise))
        FAIL(e, "@%s: the attribute '%s' cannot be computed", e->f->name,
             tile_attr_get_info(id)->name);
    return otherwise;
}

static void compute_iota(evaluation *e, tile_op op, double *to) {
    tile_compute_array shape;
    tile_value result = tile_op_result(e->f, op, 0);
    int64_t axis = attr_of(e, op, TILE_ATTR_axis, 0);
    tile_iota iota = {(unsigned)axis, attr_of(e, op, TILE_ATTR_start, 0),
                      attr_of(e, op, TILE_ATTR_step, 1)};
    if (!resolve(e, tile_value_type(e->f, result), &shape)) return;
    if (axis < 0 || axis >= shape.rank || shape.scalar == TILE_i1 ||
        !tile_scalar_has_arithmetic(shape.scalar)) {
        FAIL(e, "@%s: iota has no axis %lld of %s", e->f->name, (long long)axis,
             tile_scalar_name(shape.scalar));
        return;
    }
    size_t inner = 1, extent = (size_t)shape.dims[axis];
    for (unsigned d = (unsigned)axis + 1; d < shape.rank; d++) inner *= (size_t)shape.dims[d];
    for (size_t i = 0; i < e->counts[result.id]; i++) {
        unsigned char element[sizeof(double)];
        tile_iota_write(&iota, (int64_t)(i / inner % extent), shape.scalar, element);
        to[i] = tile_scalar_read(shape.scalar, element);
    }
}

static void compute_broadcast(evaluation *e, tile_op op, double *to) {
    tile_compute_array narrow, wide;
    const double *from = operand_of(e, op, 0, &narrow);
    if (!from || !resolve(e, tile_value_type(e->f, tile_op_result(e->f, op, 0)), &wide)) return;
    if (count_elements(&wide))
        tile_repeat_elements(wide.rank, wide.dims, narrow.rank, narrow.dims, sizeof *to, from, to);
}

static void compute_gather(evaluation *e, tile_op op, double *to) {
    tile_compute_array a, at;
    const double *from = operand_of(e, op, 0, &a), *index = operand_of(e, op, 1, &at);
    int64_t axis = attr_of(e, op, TILE_ATTR_axis, 0);
    if (!from || !index || e->failed) return;
    bool fits = axis >= 0 && axis < a.rank && a.rank == at.rank;
    for (unsigned d = 0; fits && d < a.rank; d++) fits = d == axis || a.dims[d] == at.dims[d];
    if (!fits) {
        FAIL(e, "@%s: gather: src and its indices must have the same extents but along the axis",
             e->f->name);
        return;
    }
    tile_rows source = tile_rows_along(a.dims, a.rank, (unsigned)axis),
              rows = tile_rows_along(at.dims, at.rank, (unsigned)axis);
    for (size_t row = 0; row < rows.outer * rows.inner && !e->failed; row++)
        for (size_t i = 0; i < rows.extent && !e->failed; i++) {
            size_t place = tile_row_begin(&rows, row) + i * rows.inner;
            if (index[place] < 0 || index[place] >= (double)source.extent)
                FAIL(e, "@%s: gather: the index %.0f is outside of an extent of %zu", e->f->name,
                     index[place], source.extent);
            else
                to[place] =
                    from[tile_row_begin(&source, row) + (size_t)index[place] * source.inner];
        }
}

static void compute_reduce(evaluation *e, tile_op op, double *to) {
    tile_compute_array a;
    const double *from = operand_of(e, op, 0, &a);
    tile_word kind = tile_op_word(e->f, op, TILE_ATTR_kind);
    int64_t axis = attr_of(e, op, TILE_ATTR_axis, 0);
    if (!from || e->failed) return;
    if (axis < 0 || axis >= a.rank || !tile_kind_combines(kind, a.scalar)) {
        FAIL(e, "@%s: reduce has no such kind of %s along axis %lld", e->f->name,
             tile_scalar_name(a.scalar), (long long)axis);
        return;
    }
    tile_rows rows = tile_rows_along(a.dims, a.rank, (unsigned)axis);
    for (size_t row = 0; row < rows.outer * rows.inner; row++) {
        tile_accumulator sum = tile_accumulate_start(kind, a.scalar);
        const double *first = from + tile_row_begin(&rows, row);
        for (size_t i = 0; i < rows.extent; i++) tile_accumulate_real(&sum, first[i * rows.inner]);
        to[row] = tile_accumulate_result(&sum);
    }
}

/* What the operands of one operation give to result `index`. to: its elements. */
static void rearrange(evaluation *e, tile_op op, unsigned index, unsigned operands,
                      const int64_t *first, double *to) {
    tile_compute_array from, result;
    int64_t axis = attr_of(e, op, TILE_ATTR_axis, 0), before = 0;
    if (!resolve(e, tile_value_type(e->f, tile_op_result(e->f, op, index)), &result)) return;
    for (unsigned i = 0; i < operands; i++) {
        const double *elements = operand_of(e, op, i, &from);
        if (!elements) return;
        tile_placement placement = tile_rearrange(e->f, op, i, index, axis, first, before);
        tile_place_elements(&placement, from.dims, from.rank, result.dims, sizeof *to, elements,
                            to);
        before += from.dims[axis];
    }
}

static void compute_transpose(evaluation *e, tile_op op, double *to) {
    rearrange(e, op, 0, 1, NULL, to);
}

static void compute_join(evaluation *e, tile_op op, double *to) {
    rearrange(e, op, 0, 2, NULL, to);
}

/* The result's extent along the axis may be written in another way than as the operands' sum. */
static void compute_concat(evaluation *e, tile_op op, double *to) {
    tile_compute_array part, whole;
    int64_t axis = attr_of(e, op, TILE_ATTR_axis, 0), sum = 0;
    for (unsigned i = 0; i < tile_op_operand_count(e->f, op) && !e->failed; i++)
        if (operand_of(e, op, i, &part)) sum += part.dims[axis];
    if (!resolve(e, tile_value_type(e->f, tile_op_result(e->f, op, 0)), &whole)) return;
    if (sum != whole.dims[axis]) {
        FAIL(e, "@%s: the operands of concat have %lld along the axis, the result %lld", e->f->name,
             (long long)sum, (long long)whole.dims[axis]);
        return;
    }
    rearrange(e, op, 0, tile_op_operand_count(e->f, op), NULL, to);
}

static void compute_unjoin(evaluation *e, tile_op op, double *to) {
    tile_compute_array from;
    tile_value second = tile_op_result(e->f, op, 1);
    double *other = create_value(e, second);
    if (!other || !operand_of(e, op, 0, &from)) return;
    if (from.dims[from.rank - 1] != 2) {
        FAIL(e, "@%s: unjoin needs a last dim of 2, not of %lld", e->f->name,
             (long long)from.dims[from.rank - 1]);
        return;
    }
    rearrange(e, op, 0, 1, NULL, to);
    rearrange(e, op, 1, 1, NULL, other);
    if (!e->uses[second.id]) drop_value(e, second.id);
}

static void compute_reshape(evaluation *e, tile_op op, double *to) {
    tile_value from = tile_op_operand(e->f, op, 0), result = tile_op_result(e->f, op, 0);
    if (e->counts[from.id] != e->counts[result.id])
        FAIL(e, "@%s: reshape makes %zu elements of %zu", e->f->name, e->counts[result.id],
             e->counts[from.id]);
    else
        rearrange(e, op, 0, 1, NULL, to);
}

static void compute_slice(evaluation *e, tile_op op, double *to) {
    int64_t first[TILE_MAX_RANK] = {0};
    tile_compute_array whole, part;
    unsigned count;
    const tile_value *values = tile_op_segment(e->f, op, 1, &count);
    if (!operand_of(e, op, 0, &whole) ||
        !resolve(e, tile_value_type(e->f, tile_op_result(e->f, op, 0)), &part))
        return;
    for (unsigned d = 0; d < count && !e->failed; d++) {
        first[d] = (int64_t)e->data[values[d].id][0];
        if (first[d] < 0 || first[d] > whole.dims[d] - part.dims[d] ||
            (part.dims[d] && first[d] % part.dims[d]))
            FAIL(e,
                 "@%s: slice begins at %lld of %lld, which is no multiple of its extent, %lld, "
                 "or too far behind",
                 e->f->name, (long long)first[d], (long long)whole.dims[d],
                 (long long)part.dims[d]);
    }
    if (!e->failed) rearrange(e, op, 0, 1, first, to);
}

/* Rows of an operand one by one; NULL after a report. What is computed goes to `to`, and
 * coordinates, where there are any, to `places`. */
static void compute_rows(evaluation *e, tile_op op, double *to, double *places) {
    tile_compute_array a;
    tile_opcode opcode = tile_op_opcode(e->f, op);
    const double *from = operand_of(e, op, 0, &a);
    tile_scan scan = tile_scan_of(e->f, op);
    int64_t axis = attr_of(e, op, TILE_ATTR_axis, 0);
    if (!from || e->failed) return;
    bool combines = opcode == TILE_OP_sort ? tile_scalar_has_arithmetic(a.scalar)
                                           : tile_kind_combines(scan.kind, a.scalar);
    if (axis < 0 || axis >= a.rank || !combines) {
        FAIL(e, "@%s: %s is not defined for %s along axis %lld", e->f->name,
             tile_op_get_info(opcode)->name, tile_scalar_name(a.scalar), (long long)axis);
        return;
    }
    tile_rows rows = tile_rows_along(a.dims, a.rank, (unsigned)axis);
    tile_number *row = malloc(sizeof *row * (rows.extent + 1));
    for (size_t r = 0; row && r < rows.outer * rows.inner; r++) {
        size_t first = tile_row_begin(&rows, r), found;
        for (size_t i = 0; i < rows.extent; i++)
            row[i] = tile_number_of(a.scalar, from[first + i * rows.inner]);
        if (places) {
            found = tile_row_find(scan.kind, a.scalar, row, rows.extent);
            places[r] = (double)found;
            to[r] = rows.extent ? tile_number_value(a.scalar, row[found])
                                : tile_kind_identity(scan.kind);
            continue;
        }
        if (opcode == TILE_OP_sort)
            tile_row_sort(tile_op_has_attr(e->f, op, TILE_ATTR_descending), a.scalar, row,
                          rows.extent);
        else
            tile_row_scan(scan, a.scalar, row, rows.extent);
        for (size_t i = 0; i < rows.extent; i++)
            to[first + i * rows.inner] = tile_number_value(a.scalar, row[i]);
    }
    if (!row) FAIL(e, "@%s: out of host memory for a row", e->f->name);
    free(row);
}

static void compute_reduce_arg(evaluation *e, tile_op op, double *to) {
    double *places = create_value(e, tile_op_result(e->f, op, 1));
    if (places) compute_rows(e, op, to, places);
}

static void compute_scan(evaluation *e, tile_op op, double *to) {
    compute_rows(e, op, to, NULL);
}

static void compute_sort(evaluation *e, tile_op op, double *to) {
    compute_rows(e, op, to, NULL);
}

/* A row's name names the function that computes it, where it has level 1. */
static void (*const computers[TILE_OPCODE_LIMIT])(evaluation *e, tile_op op, double *to) = {
#define COMPUTER_L0(name) NULL
#define COMPUTER_L1(name) compute_##name
#define COMPUTER_L2(name) NULL
#define COMPUTER_L12(name) compute_##name
#define COMPUTER_L123(name) compute_##name
#define COMPUTER_L3(name) NULL
#define COMPUTER_L23(name) NULL
#define COMPUTER_L023(name) NULL
#define COMPUTER_LX(name) compute_##name
#define OP(number, name, levels, ...) [number] = COMPUTER_##levels(name),
#define ELEMENTWISE_OP(number, name, ...) [number] = compute_elementwise,
#include "tile/ops.def"
};

static void run_op(evaluation *e, tile_op op) {
    const tile_op_data *data = tile_op_at(e->f, op);
    double *to = create_value(e, data->first_result);
    if (!to) return;
    computers[data->opcode](e, op, to);
    for (uint32_t i = 0; i < data->operand_count; i++) drop_use(e, data->operands[i].id);
}

static void store_output(evaluation *e, const tile_result_decl *result,
                         const tile_compute_array *output) {
    tile_compute_array shape;
    if (!resolve(e, result->type, &shape)) return;
    if (!same_dims(&shape, output)) {
        FAIL(e, "@%s: the array for %%%s does not have its dims", e->f->name, result->name);
        return;
    }
    char *to = output->data;
    const double *from = e->data[result->value.id];
    unsigned size = tile_scalar_bytes(output->scalar);
    for (size_t i = 0; i < e->counts[result->value.id]; i++)
        tile_scalar_write(output->scalar, to + i * size, from[i]);
}

static void run_body(evaluation *e, const tile_compute_array *inputs) {
    const tile_function *f = e->f;
    e->data = TILE_NEW_ARRAY(&e->scratch, double *, f->value_count);
    e->counts = TILE_NEW_ARRAY(&e->scratch, size_t, f->value_count);
    e->uses = tile_count_uses(f, &e->scratch);
    for (size_t i = 0; i < f->result_count; i++)
        e->uses[f->results[i].value.id]++; /* stays until it is stored */
    for (size_t i = 0; i < f->arg_count && !e->failed; i++) read_input(e, &f->args[i], &inputs[i]);
    for (uint32_t id = 1; id < f->value_count && !e->failed; id++)
        if (f->values[id].kind == TILE_VALUE_CONSTANT && e->uses[id])
            make_constant(e, (tile_value){id});
    TILE_FOR_EACH_OP (f, op, f->body) {
        if (!e->failed) run_op(e, op);
    }
}

static void free_values(evaluation *e) {
    for (size_t id = 1; e->data && id < e->f->value_count; id++) free(e->data[id]);
    tile_arena_reset(&e->scratch);
}

tile_status tile_compute_shapes(const tile_function *compute, const tile_compute_array *inputs,
                                unsigned input_count, tile_compute_array *outputs,
                                unsigned output_count) {
    evaluation e = {.f = compute};
    if (!compute) return TILE_INVALID;
    if (bind(&e, inputs, input_count, NULL, output_count))
        for (unsigned i = 0; i < output_count && !e.failed; i++) {
            tile_compute_array shape;
            resolve(&e, compute->results[i].type, &shape);
            outputs[i].scalar = shape.scalar;
            outputs[i].rank = shape.rank;
            memcpy(outputs[i].dims, shape.dims, sizeof shape.dims);
        }
    free_values(&e);
    return e.failed ? TILE_INVALID : TILE_OK;
}

tile_status tile_compute_run(const tile_function *compute, const tile_compute_array *inputs,
                             unsigned input_count, const tile_compute_array *outputs,
                             unsigned output_count) {
    evaluation e = {.f = compute};
    if (!compute) return TILE_INVALID;
    if (bind(&e, inputs, input_count, outputs, output_count)) run_body(&e, inputs);
    for (unsigned i = 0; i < output_count && !e.failed; i++)
        store_output(&e, &compute->results[i], &outputs[i]);
    free_values(&e);
    return e.failed ? TILE_INVALID : TILE_OK;
}

static bool gives_fractions(unsigned opcode, bool floats) {
    static const tile_opcode functions[] = {TILE_OP_sqrt, TILE_OP_rsqrt, TILE_OP_exp,  TILE_OP_exp2,
                                            TILE_OP_log,  TILE_OP_log2,  TILE_OP_tanh, TILE_OP_erf,
                                            TILE_OP_sin,  TILE_OP_cos};
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i] == opcode) return true;
    return opcode == TILE_OP_div && floats;
}

bool tile_compute_rounds(const tile_function *compute) {
    for (uint32_t id = 1; compute && id < compute->op_count; id++) {
        const tile_type *type = tile_value_type(compute, compute->ops[id].first_result);
        if (gives_fractions(compute->ops[id].opcode, type && tile_scalar_is_floating(type->scalar)))
            return true;
    }
    return false;
}

/* Behind the casts that round it: the compute's input of this number, a matrix. */
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
        value = tile_op_operand(f, op, 0);
    return value;
}

bool tile_compute_find_product(const tile_function *f, unsigned *lhs, unsigned *rhs) {
    if (!f || f->kind != TILE_COMPUTE || tile_function_result_count(f) != 1) return false;
    tile_op op = tile_value_def(f, without_casts(f, tile_function_result(f, 0)));
    return op.id && tile_op_opcode(f, op) == TILE_OP_matmul &&
           find_matrix(f, without_casts(f, tile_op_operand(f, op, 0)), lhs) &&
           find_matrix(f, without_casts(f, tile_op_operand(f, op, 1)), rhs);
}
