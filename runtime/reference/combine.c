/* Reductions and scans by a function, at level 1: the function's body in doubles, and in ranges. */
#include <stdlib.h>
#include <string.h>

#include "lib/builder/combine_func.h"
#include "lib/ir/arith.h"
#include "lib/ops/combine.h"
#include "lib/ops/reduce.h"
#include "lib/support/scalar.h"
#include "runtime/reference/element.h"
#include "runtime/reference/evaluation.h"

/* A number and what rounding may make of it. */
typedef struct number {
    tile_number value;
    tile_interval range;
    double poison; /* as in PLANE_POISON */
} number;

/* One number for each operand. */
typedef struct numbers {
    number at[TILE_MAX_COMBINED];
} numbers;

/* Kernels combine blocks of elements first, then blocks of blocks: those of a thread, of a warp and
 * of a chunk. Rounding depends on that order. */
static const size_t block_sizes[] = {1, 8, 256, 4096};
enum { LEVELS = sizeof block_sizes / sizeof *block_sizes };

typedef struct combining {
    evaluation *e;
    tile_op op;
    tile_combine with;
    bool rounds;    /* ranges are computed, and some operand is a float */
    number *values; /* of the function, by value id */
    numbers row, earlier;
    numbers blocks;         /* the same elements as `earlier`, by blocks */
    numbers before[LEVELS]; /* the complete blocks of this level in the block around them */
    bool has[LEVELS];       /* there are some */
    double *low[TILE_MAX_COMBINED], *high[TILE_MAX_COMBINED];
    double *poison[TILE_MAX_COMBINED]; /* NULL: all elements are defined */
} combining;

static tile_scalar scalar_in(const combining *c, tile_value value) {
    return tile_value_type(c->with.function, value)->scalar;
}

/* Of an exact result, the range is computed too: the operands may have ranges. */
static tile_interval range_of(const combining *c, tile_op op, const number *x, double value) {
    const tile_function *f = c->with.function;
    tile_interval ranges[3];
    tile_scalar to = scalar_in(c, tile_op_result(f, op, 0));
    tile_scalar precision = evaluation_precision(c->e, to);
    tile_opcode opcode = tile_op_opcode(f, op);
    const range_op as = {
        .opcode = opcode,
        .operand_count = tile_op_operand_count(f, op),
        .from = scalar_in(c, tile_first_operand(f, op)),
        .to = to,
        .precision = precision,
        .arith_flags = tile_op_arith_flags(f, op),
        .error = tile_op_error_of(opcode, precision, tile_op_has_attr(f, op, TILE_ATTR_fast))};
    for (unsigned i = 0; i < 3; i++) ranges[i] = x[i].range;
    return range_apply(&as, ranges, value);
}

/* Returns whether the result of an operation of the function is undefined. */
static bool is_undefined(const combining *c, tile_op op, const number *x) {
    const tile_function *f = c->with.function;
    tile_opcode opcode = tile_op_opcode(f, op);
    bool selects = opcode == TILE_OP_select, second = x[0].value.real != 0;
    if (selects) return x[0].poison || x[second ? 1 : 2].poison;
    return x[0].poison || x[1].poison || x[2].poison ||
           !tile_element_is_defined(opcode, scalar_in(c, tile_first_operand(f, op)),
                                    x[1].value.integer);
}

static bool compute_op(const combining *c, tile_op op) {
    const tile_function *f = c->with.function;
    number x[3] = {{{0, 0}, {0, 0}, 0}};
    tile_number values[3];
    for (unsigned i = 0; i < tile_op_operand_count(f, op) && i < 3; i++)
        x[i] = c->values[tile_op_operand(f, op, i).id];
    for (unsigned i = 0; i < 3; i++) values[i] = x[i].value;
    number *result = &c->values[tile_op_result(f, op, 0).id];
    if (!tile_element_compute(tile_op_opcode(f, op), scalar_in(c, tile_first_operand(f, op)),
                              scalar_in(c, tile_op_result(f, op, 0)), tile_op_arith_flags(f, op),
                              values, &result->value))
        return false;
    result->poison = is_undefined(c, op, x) ? c->op.id : 0;
    if (c->e->ranged) result->range = range_of(c, op, x, result->value.real);
    return true;
}

static numbers combine(combining *c, const numbers *first, const numbers *second) {
    const tile_function *f = c->with.function;
    unsigned n = c->with.count;
    numbers result;
    for (unsigned i = 0; i < n; i++) {
        c->values[tile_function_arg(f, i).id] = first->at[i];
        c->values[tile_function_arg(f, n + i).id] = second->at[i];
    }
    TILE_FOR_EACH_OP (f, op, f->body)
        if (!c->e->failed && !compute_op(c, op))
            FAIL(c->e, "@%s: `%s` is not defined for these numbers", f->name, tile_op_name(f, op));
    for (unsigned i = 0; i < n; i++) result.at[i] = c->values[f->results[i].value.id];
    return result;
}

/* Adds element k of a row to the blocks. */
static void combine_blocks(combining *c, size_t k) {
    numbers all[LEVELS];
    unsigned complete = 0;
    for (unsigned j = 0; j < LEVELS && !c->e->failed; j++) {
        const numbers *rest = j ? &all[j - 1] : &c->row;
        if (k == 0) c->has[j] = false;
        all[j] = c->has[j] ? combine(c, &c->before[j], rest) : *rest;
        if ((k + 1) % block_sizes[j] == 0) complete = j;
    }
    if (c->e->failed) return;
    for (unsigned j = 0; j < complete; j++) c->has[j] = false;
    c->before[complete] = all[complete];
    c->has[complete] = true;
    c->blocks = all[LEVELS - 1];
}

static void set_constants(const combining *c) {
    const tile_function *f = c->with.function;
    for (uint32_t id = 1; id < f->value_count; id++) {
        int64_t integer = 0;
        const tile_value_data *data = &f->values[id];
        if (data->kind != TILE_VALUE_CONSTANT) continue;
        bool floating = data->expr->kind == TILE_EXPR_FLOAT;
        if (!floating && !tile_expr_is_int(data->expr, &integer))
            FAIL(c->e, "@%s: a constant cannot be computed", f->name);
        tile_number value = {data->expr->number, 0};
        if (!floating)
            value = (tile_number){tile_integer_to_double(data->type->scalar, integer), integer};
        tile_scalar precision = evaluation_precision(c->e, data->type->scalar);
        c->values[id] = (number){value,
                                 floating ? range_round(precision, range_point(value.real))
                                          : range_point(value.real),
                                 0};
    }
}

static number number_at(const combining *c, tile_value value, size_t at) {
    return (number){evaluation_number(c->e, value, evaluation_scalar(c->e, value), at),
                    evaluation_range(c->e, value.id, at), evaluation_poison(c->e, value, at)};
}

/* Sets `earlier` to the identity; false if there is none. */
static bool start_row(combining *c) {
    const tile_values identity = tile_operands_identity(c->e->f, c->op);
    for (unsigned i = 0; i < identity.count; i++)
        c->earlier.at[i] = number_at(c, identity.at[i], 0);
    c->blocks = c->earlier;
    return identity.count != 0;
}

/* What rounding may make of result i in any order of the same elements: twice the range of two
 * orders. A number without rounding errors has none in any order. */
static tile_interval range_of_result(const combining *c, unsigned i) {
    tile_interval range = c->earlier.at[i].range;
    if (!c->rounds || range_is_point(range)) return range;
    range = range_union(range, c->blocks.at[i].range);
    double width = range.high - range.low;
    if (!isfinite(width)) return range;
    return (tile_interval){range.low - width / 2, range.high + width / 2};
}

static void store(const combining *c, size_t at) {
    for (unsigned i = 0; i < c->with.count; i++) {
        tile_value result = tile_op_result(c->e->f, c->op, i);
        evaluation_set_number(c->e, result, at, c->earlier.at[i].value);
        if (c->poison[i]) c->poison[i][at] = c->earlier.at[i].poison;
        if (!c->e->ranged) continue;
        const tile_interval range = range_of_result(c, i);
        c->low[i][at] = range.low;
        c->high[i][at] = range.high;
    }
}

static void take_row(combining *c, const tile_rows *rows, size_t row) {
    unsigned n = c->with.count;
    size_t begin = tile_row_begin(rows, row);
    const tile_values src = tile_operands_src(c->e->f, c->op);
    if (!start_row(c) && !rows->extent && c->with.reduces) {
        FAIL(c->e,
             "@%s: %s combines no elements here: give it `identity = (..)`, one number for each "
             "operand",
             c->e->f->name, tile_op_name(c->e->f, c->op));
        return;
    }
    for (size_t k = 0; k < rows->extent && !c->e->failed; k++) {
        size_t at = begin + (c->with.reverse ? rows->extent - 1 - k : k) * rows->inner;
        for (unsigned i = 0; i < n; i++) c->row.at[i] = number_at(c, src.at[i], at);
        if (c->with.exclusive) store(c, at);
        c->earlier = k ? combine(c, &c->earlier, &c->row) : c->row;
        if (c->rounds) combine_blocks(c, k);
        if (!c->with.reduces && !c->with.exclusive) store(c, at);
    }
    if (c->with.reduces) store(c, row);
}

/* Returns whether an element of a result may be undefined. */
static bool may_poison(const combining *c) {
    const tile_function *f = c->with.function;
    bool may = false;
    for (uint32_t i = 0; i < tile_op_operand_count(c->e->f, c->op); i++)
        may |= c->e->planes[PLANE_POISON][tile_op_operand(c->e->f, c->op, i).id] != NULL;
    TILE_FOR_EACH_OP (f, op, f->body) {
        tile_opcode opcode = tile_op_opcode(f, op);
        may |= tile_opcode_divides(opcode) || tile_opcode_shifts(opcode);
    }
    return may;
}

/* Arrays for the results; the first one has its elements. */
static void create_results(combining *c) {
    bool poisons = !c->e->failed && may_poison(c);
    for (unsigned i = 0; i < c->with.count && !c->e->failed; i++) {
        tile_value result = tile_op_result(c->e->f, c->op, i);
        if (i) evaluation_create(c->e, result);
        evaluation_create_integers(c->e, result);
        if (poisons) c->poison[i] = evaluation_create_plane(c->e, PLANE_POISON, result);
        if (!c->e->ranged || c->e->failed) continue;
        c->low[i] = evaluation_create_plane(c->e, PLANE_LOW, result);
        c->high[i] = evaluation_create_plane(c->e, PLANE_HIGH, result);
    }
}

/* Replaces a func with parameters or calls by a plain one, in a copy of the module. */
static tile_module *take_plain(combining *c) {
    tile_scalar scalars[2 * TILE_MAX_COMBINED];
    const tile_function *f = c->e->f;
    const tile_values src = tile_operands_src(f, c->op);
    if (tile_func_is_plain(c->with.function)) return NULL;
    tile_module *copy = tile_module_clone(f->module);
    for (unsigned i = 0; i < 2 * c->with.count; i++)
        scalars[i] = evaluation_scalar(c->e, src.at[i % c->with.count]);
    const tile_function *func = copy ? tile_module_find(copy, c->with.function->name) : NULL;
    c->with.function =
        func ? tile_func_plain(func, tile_op_loc(f, c->op), scalars, 2 * c->with.count) : NULL;
    c->e->failed |= !c->with.function;
    return copy;
}

void evaluation_combine(evaluation *e, tile_op op, double *to) {
    tile_compute_array a;
    combining c = {.e = e, .op = op};
    if (!tile_combine_of(e->f, op, &c.with)) {
        FAIL(e, "@%s: %s has no axis or no function", e->f->name, tile_op_name(e->f, op));
        return;
    }
    tile_module *copy = take_plain(&c);
    (void)to;
    create_results(&c);
    for (unsigned i = 0; i < c.with.count && !e->failed; i++) {
        tile_value src = tile_operands_src(e->f, op).at[i];
        evaluation_operand(e, src, &a);
        c.rounds |= e->ranged && tile_scalar_is_floating(evaluation_scalar(e, src));
    }
    c.values = c.with.function ? calloc(c.with.function->value_count, sizeof *c.values) : NULL;
    if (!c.values && !e->failed) FAIL(e, "@%s: out of host memory for a row", e->f->name);
    if (!e->failed) set_constants(&c);
    if (!e->failed) {
        tile_rows rows = tile_rows_along(a.dims, a.rank, c.with.axis);
        for (size_t r = 0; r < rows.outer * rows.inner && !e->failed; r++) take_row(&c, &rows, r);
    }
    free(c.values);
    tile_module_destroy(copy);
    for (unsigned i = 1; i < c.with.count; i++)
        if (!e->uses[tile_op_result(e->f, op, i).id])
            evaluation_drop(e, tile_op_result(e->f, op, i).id);
}
