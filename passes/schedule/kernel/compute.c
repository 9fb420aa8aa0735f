/* Queries about the compute: its parameters, types and operations, and the arrays that groups
 * read. */
#include "passes/schedule/kernel/schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"

const char *sched_given(const schedule *s, const char *param) {
    for (unsigned i = 0; i < s->pass->option_count; i++)
        if (strcmp(s->pass->options[i].key, param) == 0) return s->pass->options[i].value;
    for (size_t i = 0; i < s->compute->param_count; i++) {
        const tile_param_decl *own = &s->compute->params[i];
        if (strcmp(own->name, param) != 0) continue;
        if (own->default_type) return tile_scalar_name(own->default_type->scalar);
        if (tile_function_has_number(s->compute, param))
            return tile_arena_format(s->arena, "%" PRId64, own->default_expr->integer);
    }
    return NULL;
}

bool sched_is_given(const schedule *s, const char *param) {
    const size_t prefix = strlen(SCHED_GIVEN);
    for (unsigned i = 0; i < s->pass->option_count; i++) {
        const char *key = s->pass->options[i].key;
        if (strncmp(key, SCHED_GIVEN, prefix) == 0 && strcmp(key + prefix, param) == 0) return true;
    }
    return false;
}

int64_t sched_given_number(const schedule *s, const char *param) {
    const size_t prefix = strlen(SCHED_GIVEN);
    for (unsigned i = 0; i < s->pass->option_count; i++) {
        const tile_pass_option *option = &s->pass->options[i];
        if (strncmp(option->key, SCHED_GIVEN, prefix) != 0 ||
            strcmp(option->key + prefix, param) != 0)
            continue;
        char *end = NULL;
        long long value = option->value ? strtoll(option->value, &end, 10) : 0;
        return end && end != option->value && !*end && value > 0 ? value : -1;
    }
    return 0;
}

/* Replaces parameters by their given values, or else by arguments. */
static const tile_expr *replace(schedule *s, const tile_expr *expr, bool to_arguments) {
    if (expr->kind == TILE_EXPR_PARAM) {
        const char *given = sched_given(s, expr->name);
        if (given) return tile_expr_int(s->context, strtoll(given, NULL, 10));
        for (unsigned i = 0; to_arguments && i < s->dim_count; i++)
            if (strcmp(s->dims[i]->name, expr->name) == 0) return tile_expr_arg(s->context, i);
    }
    if (expr->kind != TILE_EXPR_OP) return expr;
    const tile_expr *args[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < 3 && expr->args[i]; i++)
        args[i] = replace(s, expr->args[i], to_arguments);
    return tile_expr_op(s->context, expr->opcode, args[0], args[1], args[2]);
}

const tile_expr *sched_expr(schedule *s, const tile_expr *expr) {
    return replace(s, expr, true);
}

const tile_expr *sched_resolved(schedule *s, const tile_expr *expr) {
    return replace(s, expr, false);
}

static const tile_type *resolved_type(schedule *s, const tile_type *type) {
    tile_type draft = *type;
    if (type->kind != TILE_TYPE_TENSOR) return type;
    for (unsigned d = 0; d < type->rank; d++) draft.dims[d] = sched_resolved(s, type->dims[d]);
    return tile_type_get(s->context, &draft);
}

/* Returns whether the parameters in the expression are numbers, not words. */
static bool has_numbers(const tile_function *f, const tile_expr *expr) {
    if (expr->kind == TILE_EXPR_PARAM) {
        const tile_param_decl *param = tile_function_find_param(f, expr->name, strlen(expr->name));
        return param && (param->kind == TILE_PARAM_int || param->kind == TILE_PARAM_dim);
    }
    for (unsigned i = 0; expr->kind == TILE_EXPR_OP && i < 3 && expr->args[i]; i++)
        if (!has_numbers(f, expr->args[i])) return false;
    return true;
}

void sched_resolve_extents(schedule *s) {
    tile_function *f = s->compute;
    for (size_t i = 0; i < f->arg_count; i++) f->args[i].type = resolved_type(s, f->args[i].type);
    for (size_t i = 0; i < f->result_count; i++)
        f->results[i].type = resolved_type(s, f->results[i].type);
    for (uint32_t id = 1; id < f->value_count; id++)
        f->values[id].type = resolved_type(s, f->values[id].type);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        const tile_op_data *data = tile_op_at(f, op);
        if (tile_op_opcode(f, op) != TILE_OP_convolve) continue;
        for (unsigned i = 0; i < data->attr_count; i++)
            if (data->attrs[i].expr && has_numbers(f, data->attrs[i].expr))
                tile_op_set_expr(f, op, data->attrs[i].id, sched_resolved(s, data->attrs[i].expr));
    }
}

const tile_expr *sched_dim(schedule *s, const tile_type *type, unsigned d) {
    return sched_resolved(s, type->dims[d]);
}

const tile_type *sched_element(schedule *s, tile_value value) {
    const tile_type *type = sched_type(s, value);
    const char *given = type->param ? sched_given(s, type->param) : NULL;
    if (given) return tile_type_scalar(s->context, tile_scalar_from_name(given, strlen(given)));
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .scalar = type->scalar, .param = type->param};
    return tile_type_get(s->context, &draft);
}

const tile_type *sched_compute_type(schedule *s, const tile_type *element) {
    return sched_is_half(element) ? tile_type_scalar(s->context, TILE_f32) : element;
}

const tile_type *sched_sum_type(schedule *s, tile_op matmul, tile_scalar multiplied) {
    tile_scalar declared = sched_element(s, tile_op_result(s->compute, matmul, 0))->scalar;
    tile_scalar sum = TILE_i32;
    if (tile_scalar_is_floating(declared))
        sum = declared == TILE_f64 || multiplied == TILE_f64 ? TILE_f64 : TILE_f32;
    else if (tile_scalar_bits(declared) == 64)
        sum = TILE_i64;
    if (!tile_scalar_is_floating(declared) && tile_scalar_is_floating(multiplied))
        SCHED_FAIL(s, matmul,
                   "matmul: products of %s are not integers: cast the operands or the result",
                   tile_scalar_name(multiplied));
    return tile_type_scalar(s->context, sum);
}

const char *sched_unique_name(schedule *s, const char *stem) {
    const char *name = stem;
    for (unsigned i = 2; tile_module_find(s->compute->module, name); i++)
        name = tile_arena_format(s->arena, "%s_%u", stem, i);
    return name;
}

int64_t sched_axis(const schedule *s, tile_op op) {
    return tile_op_attr_int(s->compute, op, TILE_ATTR_axis, -1);
}

/* Operations along rows whose results have as many elements as their operands. */
bool sched_is_along(const schedule *s, tile_op op) {
    return tile_op_dims(tile_op_opcode(s->compute, op)) == TILE_DIMS_along;
}

bool sched_fits_cluster(const schedule *s, tile_op op, int64_t extent) {
    return s->pass->has_target && tile_target_has(s->pass->target, TILE_FEATURE_cluster) &&
           extent > SCHED_PART_OF_ROW && extent <= SCHED_PART_OF_ROW * SCHED_CLUSTER &&
           tile_op_opcode(s->compute, op) == TILE_OP_reduce &&
           sched_type(s, tile_operand_src(s->compute, op))->scalar != TILE_f64;
}

int sched_input_of(const schedule *s, const sched_group *g, tile_value value) {
    for (size_t i = 0; i < g->input_count; i++)
        if (s->arrays[g->inputs[i].array].value.id == value.id) return (int)g->inputs[i].array;
    return -1;
}

int sched_find_input(const schedule *s, const sched_group *g, tile_value value) {
    int found = sched_input_of(s, g, value);
    tile_op op = tile_value_def(s->compute, value);
    if (found >= 0 || !op.id || tile_op_opcode(s->compute, op) != TILE_OP_reshape) return found;
    return sched_find_input(s, g, tile_operand_src(s->compute, op));
}

bool sched_visit_first(schedule *s, sched_visited_values *visits, tile_value value,
                       const sched_map *map) {
    unsigned rank = sched_type(s, value)->rank, places = 0;
    uint32_t *latest = sched_last_entry_of(s->arena, &visits->latest, value);
    if (s->failed) return false;
    for (uint32_t i = *latest; i; i = visits->items[i - 1].before, places++)
        if (sched_same_map(&visits->items[i - 1].map, map, rank)) return false;
    if (places == SCHED_MAX_PLACES) {
        const char *name = tile_value_at(s->compute, value)->name;
        SCHED_FAIL(s, tile_value_def(s->compute, value),
                   "%%%s is used in more than %d places for one element of a result; end the "
                   "compute after it, or after an operation that uses it several times, and start "
                   "a separate compute",
                   name ? name : "?", SCHED_MAX_PLACES);
        return false;
    }
    visits->items = tile_arena_grow(s->arena, visits->items, visits->count, &visits->capacity,
                                    sizeof *visits->items);
    visits->items[visits->count++] = (sched_visited_value){value, *latest, *map};
    *latest = (uint32_t)visits->count;
    return true;
}
