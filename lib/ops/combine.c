/* Combining elements by a function: see the header. */
#include "lib/ops/combine.h"

#include "lib/ir/describe.h"
#include "lib/layout/layout.h"
#include "lib/layout/reduce.h"
#include "lib/ops/shape.h"

static unsigned operand_count(const tile_function *f, tile_op op) {
    return tile_operands_src(f, op).count;
}

static const tile_type *operand_type(const tile_function *f, tile_op op, unsigned i) {
    return tile_value_type(f, tile_operands_src(f, op).at[i]);
}

static const tile_function *function_of(const tile_function *f, tile_op op) {
    const char *name = tile_op_attr_text(f, op, TILE_ATTR_combine);
    return name ? tile_module_find(f->module, name) : NULL;
}

bool tile_combine_of(const tile_function *f, tile_op op, tile_combine *combine) {
    int64_t axis = tile_op_attr_int(f, op, TILE_ATTR_axis, -1);
    *combine = (tile_combine){.function = function_of(f, op),
                              .count = operand_count(f, op),
                              .axis = (unsigned)axis,
                              .reduces = tile_op_opcode(f, op) == TILE_OP_reduce_with,
                              .reverse = tile_op_has_attr(f, op, TILE_ATTR_reverse),
                              .exclusive = tile_op_has_attr(f, op, TILE_ATTR_exclusive)};
    return combine->function && axis >= 0 && axis < operand_type(f, op, 0)->rank;
}

/* Checks ---------------------------------------------------------------------------------------- */

static bool is_scalar_of(const tile_type *type, const tile_type *element) {
    return type->kind == TILE_TYPE_SCALAR && type->scalar == element->scalar &&
           type->param == element->param;
}

/* Reports a parameter or result of the function that is not of the operand's element type. */
static bool fail_type(const tile_function *f, tile_op op, const tile_function *function,
                      const char *what, unsigned number, const tile_type *found,
                      const tile_type *operand) {
    tile_arena scratch = {0};
    tile_type draft = {
        .kind = TILE_TYPE_SCALAR, .scalar = operand->scalar, .param = operand->param};
    tile_error_at(f, op, "%s: %s %u of @%s is %s, and must be %s, the element type of its operand",
                  tile_op_name(f, op), what, number, function->name,
                  tile_type_text(function, found, NULL, &scratch),
                  tile_type_text(f, tile_type_get(tile_function_context(f), &draft), NULL,
                                 &scratch));
    tile_arena_reset(&scratch);
    return false;
}

static bool check_signature(const tile_function *f, tile_op op, const tile_function *function) {
    unsigned n = operand_count(f, op);
    if (function->arg_count != 2 * n || function->result_count != n)
        return tile_error_at(
            f, op,
            "%s: @%s takes %u scalars and gives %u; for %u operand%s it must take %u, first those "
            "of the elements before, and give %u",
            tile_op_name(f, op), function->name, (unsigned)function->arg_count,
            (unsigned)function->result_count, n, n == 1 ? "" : "s", 2 * n, n);
    for (unsigned i = 0; i < 2 * n; i++)
        if (!is_scalar_of(function->args[i].type, operand_type(f, op, i % n)))
            return fail_type(f, op, function, "parameter", i + 1, function->args[i].type,
                             operand_type(f, op, i % n));
    for (unsigned i = 0; i < n; i++)
        if (!is_scalar_of(function->results[i].type, operand_type(f, op, i)))
            return fail_type(f, op, function, "result", i + 1, function->results[i].type,
                             operand_type(f, op, i));
    return true;
}

static bool check_body(const tile_function *f, tile_op op, const tile_function *function) {
    TILE_FOR_EACH_OP (function, at, function->body) {
        if (tile_op_has_trait(tile_op_opcode(function, at), TILE_TRAIT_ELEMENTWISE)) continue;
        tile_error_at(f, op,
                      "%s: @%s combines elements one by one, so it may only contain element-wise "
                      "operations, not `%s`; choose between values by `select`",
                      tile_op_name(f, op), function->name, tile_op_name(function, at));
        tile_note_at(function, at, "the `%s` in @%s", tile_op_name(function, at), function->name);
        return false;
    }
    return true;
}

static bool check_function(const tile_function *f, tile_op op) {
    const char *name = tile_op_attr_text(f, op, TILE_ATTR_combine);
    const tile_function *function = function_of(f, op);
    if (!name) return true; /* reported as a missing attribute */
    if (!function)
        return tile_error_at(f, op, "%s: there is no function @%s", tile_op_name(f, op), name);
    return check_signature(f, op, function) && check_body(f, op, function);
}

static bool check_identity(const tile_function *f, tile_op op) {
    unsigned n = operand_count(f, op);
    const tile_values identity = tile_operands_identity(f, op);
    if (!identity.count && tile_op_has_attr(f, op, TILE_ATTR_exclusive))
        return tile_error_at(f, op,
                             "%s: `exclusive` needs the value of the first result: write "
                             "`identity = (..)`, one number for each operand",
                             tile_op_name(f, op));
    if (!identity.count) return true;
    if (identity.count != n)
        return tile_error_at(f, op, "%s: `identity` has %u number%s for %u operand%s",
                             tile_op_name(f, op), identity.count, identity.count == 1 ? "" : "s", n,
                             n == 1 ? "" : "s");
    for (unsigned i = 0; i < n; i++)
        if (!is_scalar_of(tile_value_type(f, identity.at[i]), operand_type(f, op, i)))
            return tile_error_at(f, op,
                                 "%s: number %u of `identity` does not have the element type of "
                                 "operand %u",
                                 tile_op_name(f, op), i + 1, i + 1);
    return true;
}

bool tile_verify_combine(const tile_function *f, tile_op op) {
    if (!tile_combines_by_function(tile_op_opcode(f, op))) return true;
    return check_function(f, op) && check_identity(f, op);
}

/* Layouts --------------------------------------------------------------------------------------- */

tile_layout tile_combine_result(const tile_combine *combine, const tile_layout *layout) {
    return combine->reduces ? tile_reduce_make_plan(layout, combine->axis).narrow : *layout;
}

tile_scalar tile_combine_word(const tile_function *f, tile_op op) {
    static const tile_scalar words[] = {TILE_i8, TILE_i16, TILE_i32, TILE_i64};
    unsigned bytes = 1, word = 0;
    for (unsigned i = 0; i < operand_count(f, op); i++) {
        unsigned own = tile_scalar_bytes(operand_type(f, op, i)->scalar);
        if (own > bytes) bytes = own;
    }
    while (1u << word < bytes) word++;
    return words[word];
}

const tile_type *tile_combine_buffer(const tile_function *f, tile_op op,
                                     const tile_layout *layout) {
    tile_combine combine;
    tile_axis_map along;
    bool warps = false;
    tile_context *context = tile_function_context(f);
    if (!tile_combine_of(f, op, &combine)) return NULL;
    tile_axis_map_find(layout, combine.axis, &along);
    for (unsigned i = 0; i < along.count; i++) warps |= along.bits[i].holder == TILE_HELD_BY_WARP;
    if (!warps) return NULL;
    tile_scalar word = tile_combine_word(f, op);
    tile_layout shared = tile_axis_map_shared_cells(layout, &along, tile_scalar_bytes(word));
    tile_type draft = {.kind = TILE_TYPE_SHARED, .scalar = word, .rank = layout->rank};
    for (unsigned d = 0; d < layout->rank; d++)
        draft.dims[d] = tile_expr_int(context, tile_layout_extent(&shared, d));
    draft.stages = tile_expr_int(context, combine.count);
    draft.layout = &shared;
    return tile_type_get(context, &draft);
}
