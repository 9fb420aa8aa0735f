/* Parses the check's expression as a level-1 compute: names, numbers, + - * /, and operations in
 * call syntax. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile/build.h"
#include "tools/tile-run/expression.h"

typedef struct reader {
    const char *text; /* the whole option, for messages */
    const char *at;
    tile_context *context;
    tile_builder builder;
    run_argument *arguments;
    unsigned count;
    const tile_type *f64;
    unsigned depth;
} reader;

enum { DEEPEST = 100 };

static tile_value read_sum(reader *r);

static tile_value fail(reader *r, const char *why) {
    if (r->at) /* only the first error is reported */
        fprintf(stderr, "error: --check %s: %s, %s%.20s%s\n", r->text, why,
                *r->at ? "at '" : "at the end", r->at, *r->at ? "'" : "");
    r->at = NULL;
    return (tile_value){0};
}

static void skip_blanks(reader *r) {
    while (r->at && (*r->at == ' ' || *r->at == '\t')) r->at++;
}

static bool take(reader *r, char c) {
    skip_blanks(r);
    if (!r->at || *r->at != c) return false;
    r->at++;
    return true;
}

static bool in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Both operands must have values; the builder reports mismatches. */
static tile_value apply(reader *r, tile_opcode opcode, const tile_value *operands, unsigned count) {
    tile_segment segments[3];
    const tile_type *type = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (!operands[i].id) return operands[i];
        segments[i] = (tile_segment){operands[i], NULL, 0};
    }
    if (opcode == TILE_OP_matmul) {
        const tile_type *a = tile_value_type(r->builder.function, operands[0]);
        const tile_type *b = tile_value_type(r->builder.function, operands[1]);
        int64_t dims[TILE_MAX_RANK] = {0};
        if (a->rank < 2 || b->rank != a->rank)
            return fail(r, "matmul takes two matrices, or two batches of them");
        for (unsigned d = 0; d < a->rank; d++) dims[d] = tile_type_dim(d < a->rank - 1 ? a : b, d);
        type = tile_type_tensor(r->context, TILE_f64, a->rank, dims);
    }
    tile_value value = tile_build_op_value(&r->builder, opcode, segments, count, type);
    return value.id ? value : fail(r, "the operands' types or dims do not agree");
}

static tile_value read_call(reader *r, const char *name, size_t length) {
    tile_value operands[3];
    unsigned count = 0;
    tile_opcode opcode = tile_opcode_from_name(name, length);
    const tile_op_info *info = tile_op_get_info(opcode);
    bool typed = info->type_given && opcode != TILE_OP_matmul && /* apply computes its type */
                 opcode != TILE_OP_transpose; /* its operand determines the type */
    if (!info->name || !(info->levels & TILE_LEVEL_1) || typed) {
        r->at = name;
        return fail(r, "there is no such level-1 operation");
    }
    do {
        if (count == info->operand_count) return fail(r, "too many operands");
        operands[count++] = read_sum(r);
        if (!r->at) return (tile_value){0};
    } while (take(r, ','));
    if (!take(r, ')')) return fail(r, "expected ')'");
    if (count != info->operand_count) return fail(r, "too few operands");
    tile_value value = apply(r, opcode, operands, count);
    const char *kind = tile_kind_from_name(name, length);
    if (value.id && kind)
        tile_op_set_text(r->builder.function, tile_value_op(r->builder.function, value),
                         TILE_ATTR_kind, kind);
    return value;
}

static tile_value read_name(reader *r) {
    const char *name = r->at;
    while (in_name(*r->at)) r->at++;
    size_t length = (size_t)(r->at - name);
    if (take(r, '(')) return read_call(r, name, length);
    for (unsigned i = 0; i < r->count; i++) {
        const run_argument *argument = &r->arguments[i];
        if (strlen(argument->name) != length || memcmp(argument->name, name, length) != 0) continue;
        tile_value value = tile_function_arg(r->builder.function, i);
        const tile_type *type = tile_value_type(r->builder.function, value);
        return tile_build_cast(&r->builder, value,
                               tile_type_with_scalar(r->context, type, TILE_f64));
    }
    r->at = name;
    return fail(r, "there is no argument of this name");
}

static tile_value read_factor(reader *r) {
    skip_blanks(r);
    if (!r->at || ++r->depth > DEEPEST) return fail(r, "the expression is nested too deeply");
    tile_value value;
    char *end;
    if (take(r, '(')) {
        value = read_sum(r);
        if (r->at && !take(r, ')')) value = fail(r, "expected ')'");
    } else if (take(r, '-')) {
        value = read_factor(r);
        value = apply(r, TILE_OP_neg, &value, 1);
    } else if ((*r->at >= '0' && *r->at <= '9') || *r->at == '.') {
        double number = strtod(r->at, &end);
        r->at = end;
        value = tile_build_constant(&r->builder, r->f64, tile_expr_float(r->context, number));
    } else if (in_name(*r->at)) {
        value = read_name(r);
    } else {
        value = fail(r, "expected a name, a number or '('");
    }
    r->depth--;
    return value;
}

static tile_value read_product(reader *r) {
    tile_value value = read_factor(r);
    for (bool more = true; more && r->at;) {
        tile_opcode opcode = take(r, '*') ? TILE_OP_mul : take(r, '/') ? TILE_OP_div : TILE_OP_NONE;
        more = opcode != TILE_OP_NONE;
        if (more) {
            const tile_value both[2] = {value, read_factor(r)};
            value = apply(r, opcode, both, 2);
        }
    }
    return value;
}

static tile_value read_sum(reader *r) {
    tile_value value = read_product(r);
    for (bool more = true; more && r->at;) {
        tile_opcode opcode = take(r, '+') ? TILE_OP_add : take(r, '-') ? TILE_OP_sub : TILE_OP_NONE;
        more = opcode != TILE_OP_NONE;
        if (more) {
            const tile_value both[2] = {value, read_product(r)};
            value = apply(r, opcode, both, 2);
        }
    }
    return value;
}

/* A scalar matches any output; a tensor must have its dims. */
static tile_value check_shape(reader *r, tile_value value, const char *name,
                              const host_array *out) {
    const tile_type *type = tile_value_type(r->builder.function, value);
    if (type->kind == TILE_TYPE_SCALAR)
        return tile_build_splat(&r->builder, value,
                                tile_type_tensor(r->context, TILE_f64, out->rank, out->dims));
    bool fits = type->rank == out->rank;
    for (unsigned d = 0; fits && d < type->rank; d++) fits = tile_type_dim(type, d) == out->dims[d];
    if (fits) return value;
    fprintf(stderr, "error: --check %s: the expression's dims are [", r->text);
    for (unsigned d = 0; d < type->rank; d++)
        fprintf(stderr, "%s%lld", d ? ", " : "", (long long)tile_type_dim(type, d));
    fprintf(stderr, "], %s has [", name);
    for (unsigned d = 0; d < out->rank; d++)
        fprintf(stderr, "%s%lld", d ? ", " : "", (long long)out->dims[d]);
    fprintf(stderr, "]\n");
    return (tile_value){0};
}

tile_module *expression_build(tile_context *context, const char *text, const char *expression,
                              run_argument *arguments, unsigned count, const run_argument *output) {
    tile_module *module = tile_module_create(context);
    const tile_loc no_location = {0, 0, 0};
    tile_function *f = tile_function_create(module, TILE_COMPUTE, "check", no_location);
    reader r = {
        .text = text, .at = expression, .context = context, .arguments = arguments, .count = count};
    for (unsigned i = 0; i < count; i++) {
        const host_array *array = &arguments[i].array;
        tile_function_add_arg(f, arguments[i].name,
                              arguments[i].is_array ? tile_type_tensor(context, array->scalar,
                                                                       array->rank, array->dims)
                                                    : tile_type_scalar(context, TILE_f64));
    }
    const host_array *out = &output->array;
    const tile_type *type = tile_type_tensor(context, out->scalar, out->rank, out->dims);
    tile_function_add_result(f, "expected", type);
    r.builder = tile_builder_at_end(f, tile_function_body(f));
    r.f64 = tile_type_scalar(context, TILE_f64);
    tile_value value = read_sum(&r);
    skip_blanks(&r);
    if (r.at && *r.at) value = fail(&r, "expected the end");
    if (value.id) value = check_shape(&r, value, output->name, out);
    if (value.id) value = tile_build_cast(&r.builder, value, type);
    if (value.id) {
        tile_function_set_result(f, 0, value);
        return module;
    }
    tile_module_destroy(module);
    return NULL;
}

bool expression_is_matmul(const char *expression, run_argument *arguments, unsigned count,
                          const run_argument **a, const run_argument **b) {
    char left[64], right[64];
    int end = 0;
    if (sscanf(expression, " matmul ( %63[A-Za-z0-9_] , %63[A-Za-z0-9_] ) %n", left, right, &end) !=
            2 ||
        !end || expression[end])
        return false;
    *a = arguments_find(arguments, count, left, strlen(left));
    *b = arguments_find(arguments, count, right, strlen(right));
    return *a && *b && (*a)->is_array && (*b)->is_array && (*a)->array.rank == 2 &&
           (*b)->array.rank == 2 && (*a)->array.dims[1] == (*b)->array.dims[0];
}
