/* Builds operations and checks them. */
#include "lib/builder/builder.h"

#include <string.h>

#include "lib/builder/fill.h"
#include "lib/builder/bitcast_width.h"
#include "lib/builder/lower_rank.h"
#include "lib/ir/accumulator.h"
#include "lib/ir/regions.h"
#include "lib/ir/function.h"
#include "lib/builder/infer.h"
#include "lib/builder/infer_rules.h"
#include "lib/builder/broadcast_operands.h"

tile_builder tile_builder_at_end(tile_function *function, tile_region region) {
    tile_builder builder = {.function = function, .region = region};
    if (function) builder.loc = function->loc;
    return builder;
}

/* An invalid op is kept in the builder, so that has_place reports it. */
tile_builder tile_builder_before(tile_function *function, tile_op op) {
    tile_builder builder = {.function = function, .before = op, .loc = tile_op_loc(function, op)};
    if (function && op.id < function->op_count) builder.region = tile_op_at(function, op)->parent;
    return builder;
}

static tile_context *context_of(const tile_builder *builder) {
    return builder && builder->function ? tile_function_context(builder->function) : NULL;
}

/* Returns whether the value belongs to the function; 0 has been reported before. */
static bool is_known(const tile_builder *builder, tile_value value) {
    if (value.id < builder->function->value_count) return value.id != 0;
    tile_report(tile_function_context(builder->function), TILE_ERROR, builder->loc,
                "this value does not belong to @%s", builder->function->name);
    return false;
}

/* Returns whether operations can be inserted there. Region 0 belongs to an operation that was not
 * built. */
static bool has_place(const tile_builder *builder) {
    const tile_function *f = builder->function;
    bool before = builder->before.id < f->op_count;
    if (!builder->region.id && before) return false;
    if (builder->region.id < f->region_count && before &&
        (!builder->before.id || tile_op_at(f, builder->before)->parent.id == builder->region.id))
        return true;
    tile_report(tile_function_context(f), TILE_ERROR, builder->loc,
                "this %s does not belong to @%s",
                before && builder->region.id >= f->region_count ? "region" : "place", f->name);
    return false;
}

static bool is_ready(const tile_builder *builder) {
    return builder && builder->function;
}

/* Checks that each segment has only the parts that its row allows. */
static bool check_parts(const tile_builder *builder, const tile_op_info *info,
                        const tile_segment *segments) {
    for (unsigned i = 0; i < info->operand_count; i++) {
        tile_operand_form form = info->operands[i].form;
        bool list = tile_form_is_list(form);
        if (list ? !segments[i].head.id : !segments[i].tail_count || tile_form_has_brackets(form))
            continue;
        tile_report(tile_function_context(builder->function), TILE_ERROR, builder->loc,
                    "%s: operand '%s' is %s", tile_op_spelling(info), info->operands[i].name,
                    list ? "a list: pass its values as the tail" : "one value: pass no tail");
        return false;
    }
    return true;
}

/* Concatenates the segments. Returns false if a required value is missing or does not belong to the
 * function. */
static bool flatten(const tile_builder *builder, const tile_op_info *info,
                    const tile_segment *segments, unsigned count, tile_value *operands,
                    uint16_t *segment_sizes) {
    unsigned at = 0;
    for (unsigned i = 0; i < count; i++) {
        tile_operand_form form = info->operands[i].form;
        unsigned start = at;
        if (tile_form_has_head(form) && segments[i].head.id && !is_known(builder, segments[i].head))
            return false;
        if (tile_form_has_head(form) && segments[i].head.id)
            operands[at++] = segments[i].head;
        else if (tile_form_has_head(form) && !tile_form_may_miss(form))
            return false;
        for (unsigned t = 0; t < segments[i].tail_count; t++) {
            if (!segments[i].tail || !is_known(builder, segments[i].tail[t])) return false;
            operands[at++] = segments[i].tail[t];
        }
        segment_sizes[i] = (uint16_t)(at - start);
    }
    return true;
}

tile_op tile_build_op(tile_builder *builder, tile_opcode opcode, const tile_segment *segments,
                      unsigned segment_count, const tile_type *type) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_OP)
    return tile_build_op_of(builder, opcode, segments, segment_count, type, NULL, 0);
}

/* Builds zeros for a dot without an accumulator, of its result's type if that is given. */
static tile_value start_sum(tile_builder *builder, const tile_segment *segments,
                            const tile_type *type, const tile_attr *attrs, unsigned attr_count) {
    const tile_value operands[] = {segments[0].head, segments[1].head};
    const uint16_t sizes[TILE_MAX_OPERANDS] = {1, 1};
    const tile_infer infer = {.function = builder->function,
                              .opcode = TILE_OP_dot,
                              .loc = builder->loc,
                              .operands = operands,
                              .segment = sizes,
                              .attrs = attrs,
                              .attr_count = attr_count};
    tile_context *context = tile_function_context(builder->function);
    if (!is_known(builder, operands[0]) || !is_known(builder, operands[1])) return TILE_NO_VALUE;
    const tile_type *lhs = tile_value_type(builder->function, operands[0]);
    const tile_type *element = tile_accumulator_type(context, lhs), *sum = type;
    if (!sum) {
        const tile_type *product = tile_infer_product(&infer, element);
        tile_type draft = product ? *product : (tile_type){0};
        draft.kind = TILE_TYPE_TILE;
        draft.stages = NULL;
        sum = product ? tile_type_get(context, &draft) : NULL;
    }
    if (!sum || sum->kind != TILE_TYPE_TILE) {
        tile_arena scratch = {0};
        const tile_type *rhs = tile_value_type(builder->function, operands[1]);
        if (lhs->kind == TILE_TYPE_VIEW || rhs->kind == TILE_TYPE_VIEW)
            tile_report(context, TILE_ERROR, builder->loc,
                        "dot: the operands must be tiles or shared buffers, not views; load them: "
                        "`dot(load %%a[%%i, %%k] : [64, 32], load %%b[%%k, %%j] : [32, 64])`");
        else
            tile_report(context, TILE_ERROR, builder->loc,
                        "dot: the operands must be [m, k] and [k, n], not %s and %s; "
                        "`trans_rhs` or `trans_lhs` exchanges the dims of one: `dot(%%a, %%b, "
                        "trans_rhs)`",
                        tile_type_text(builder->function, lhs, NULL, &scratch),
                        tile_type_text(builder->function, rhs, NULL, &scratch));
        tile_arena_reset(&scratch);
        return TILE_NO_VALUE;
    }
    return tile_build_zero(builder, sum);
}

static bool lacks_sum(const tile_builder *builder, tile_opcode opcode, const tile_segment *segments,
                      unsigned count) {
    return opcode == TILE_OP_dot && count == 3 && !segments[2].head.id && segments[0].head.id &&
           segments[1].head.id && has_place(builder);
}

tile_op tile_build_op_of(tile_builder *builder, tile_opcode opcode, const tile_segment *segments,
                         unsigned segment_count, const tile_type *type, const tile_attr *attrs,
                         unsigned attr_count) {
    if (is_ready(builder) && segments && lacks_sum(builder, opcode, segments, segment_count)) {
        tile_segment all[] = {segments[0], segments[1], segments[2]};
        all[2].head = start_sum(builder, segments, type, attrs, attr_count);
        if (!all[2].head.id) return TILE_NO_OP;
        return tile_build_op_of(builder, opcode, all, 3, type, attrs, attr_count);
    }
    if (!is_ready(builder) || (segment_count && !segments)) return TILE_NO_OP;
    if (opcode == TILE_OP_bitcast && segment_count == 1 && segments[0].head.id &&
        is_known(builder, segments[0].head) && has_place(builder) &&
        tile_changes_width(builder, segments[0].head, type))
        return tile_value_def(builder->function,
                              tile_build_bitcast_width(builder, segments[0].head, type));
    if (opcode == TILE_OP_fill && segment_count == 2 && segments[0].head.id &&
        segments[1].head.id && builder->function->kind == TILE_KERNEL &&
        is_known(builder, segments[0].head) && is_known(builder, segments[1].head) &&
        has_place(builder))
        return tile_build_fill_stores(builder, segments[0].head, segments[1].head);
    const tile_op_info *info = tile_op_get_info(opcode);
    tile_context *context = tile_function_context(builder->function);
    if (!info->name || segment_count != info->operand_count) {
        tile_report(context, TILE_ERROR, builder->loc, "%s takes %u operands, not %u",
                    info->name ? tile_op_spelling(info) : "an unknown operation",
                    info->operand_count, segment_count);
        return TILE_NO_OP;
    }
    if (!has_place(builder) || !check_parts(builder, info, segments)) return TILE_NO_OP;
    size_t total = 0;
    for (unsigned i = 0; i < segment_count; i++) total += 1 + (size_t)segments[i].tail_count;
    if (total > UINT16_MAX) {
        tile_report(context, TILE_ERROR, builder->loc,
                    "%s has more operands than the 65535 allowed", tile_op_spelling(info));
        return TILE_NO_OP;
    }
    tile_arena scratch = {0};
    tile_value *operands = TILE_NEW_ARRAY(&scratch, tile_value, total + 1);
    uint16_t sizes[TILE_MAX_OPERANDS] = {0};
    tile_op op = TILE_NO_OP;
    bool complete = flatten(builder, info, segments, segment_count, operands, sizes);
    if (complete && tile_lowers_rank(builder, opcode, segments, type))
        op = tile_build_lower_rank(builder, opcode, segments, segment_count, type, attrs,
                                   attr_count);
    else if (complete &&
             (!tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) ||
              tile_broadcast_operands(builder, opcode, operands, segment_count)) &&
             (!tile_op_has_trait(opcode, TILE_TRAIT_GATHERS) ||
              (tile_splat_scalars(builder, opcode, operands, sizes) &&
               tile_broadcast_predicate(builder, opcode, operands, sizes, type)))) {
        tile_infer infer = {.function = builder->function,
                            .opcode = opcode,
                            .loc = builder->loc,
                            .operands = operands,
                            .segment = sizes,
                            .given = type,
                            .attrs = attrs,
                            .attr_count = attr_count,
                            .has_attrs = attrs != NULL,
                            .results =
                                TILE_NEW_ARRAY(&scratch, const tile_type *, total + TILE_MAX_RANK)};
        if (tile_infer_results(&infer)) {
            unsigned count = 0;
            for (unsigned i = 0; i < segment_count; i++) count += sizes[i];
            op = tile_add_op(builder, opcode, operands, count, sizes, infer.results,
                             infer.result_count);
        }
    }
    tile_arena_reset(&scratch);
    return op;
}

tile_value tile_build_op_value(tile_builder *builder, tile_opcode opcode,
                               const tile_segment *segments, unsigned segment_count,
                               const tile_type *type) {
    tile_op op = tile_build_op(builder, opcode, segments, segment_count, type);
    return op.id ? tile_op_result(builder->function, op, 0) : TILE_NO_VALUE;
}

tile_value tile_build_constant(tile_builder *builder, const tile_type *type,
                               const tile_expr *expr) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_VALUE)
    if (!is_ready(builder)) return TILE_NO_VALUE;
    tile_context *context = tile_function_context(builder->function);
    if (!expr || !type || type->kind != TILE_TYPE_SCALAR) {
        tile_report(context, TILE_ERROR, builder->loc,
                    "a constant needs a scalar type and a value");
        return TILE_NO_VALUE;
    }
    bool floating = tile_scalar_is_floating(type->scalar);
    if (floating && expr->kind == TILE_EXPR_INT)
        expr = tile_expr_float(context, (double)expr->integer);
    if (floating != (expr->kind == TILE_EXPR_FLOAT)) {
        tile_report(context, TILE_ERROR, builder->loc, "this constant cannot have the type %s",
                    tile_scalar_name(type->scalar));
        return TILE_NO_VALUE;
    }
    return tile_function_constant(builder->function, type, expr);
}

tile_value tile_build_zero(tile_builder *builder, const tile_type *type) {
    tile_context *context = tile_function_context(builder->function);
    tile_type one = {.kind = TILE_TYPE_SCALAR, .scalar = type->scalar, .param = type->param};
    tile_value zero =
        tile_build_constant(builder, tile_type_get(context, &one), tile_expr_int(context, 0));
    return type->kind == TILE_TYPE_SCALAR ? zero : tile_build_splat(builder, zero, type);
}

tile_value tile_build_int(tile_builder *builder, int64_t value) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_VALUE)
    if (!is_ready(builder)) return TILE_NO_VALUE;
    tile_context *context = tile_function_context(builder->function);
    return tile_function_constant(builder->function, tile_type_scalar(context, TILE_i32),
                                  tile_expr_int(context, value));
}

tile_value tile_build_float(tile_builder *builder, double value) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_VALUE)
    if (!is_ready(builder)) return TILE_NO_VALUE;
    tile_context *context = tile_function_context(builder->function);
    return tile_function_constant(builder->function, tile_type_scalar(context, TILE_f32),
                                  tile_expr_float(context, value));
}

/* Operations with regions --------------------------------------------------------------------- */

/* Traversals of regions recurse, so the parser and the builders limit the depth. */
static bool can_nest(const tile_builder *builder) {
    const tile_function *f = builder->function;
    unsigned depth = 1;
    if (!has_place(builder)) return false;
    for (tile_op around = tile_region_at(f, builder->region)->parent; around.id;
         around = tile_op_parent(f, around))
        depth++;
    if (depth < TILE_MAX_DEPTH) return true;
    tile_report(tile_function_context(f), TILE_ERROR, builder->loc, TILE_TOO_MANY_REGIONS,
                TILE_MAX_DEPTH);
    return false;
}

/* Adds the region of a loop: its own argument, then the carried ones. */
static void add_loop_region(tile_function *f, tile_op op, const tile_type *own) {
    tile_arena scratch = {0};
    unsigned count = 0, carried = tile_op_result_count(f, op);
    const tile_type **types = TILE_NEW_ARRAY(&scratch, const tile_type *, carried + 1u);
    if (own) types[count++] = own;
    for (unsigned i = 0; i < carried; i++)
        types[count++] = tile_value_type(f, tile_op_result(f, op, i));
    tile_add_region(f, op, types, count);
    tile_arena_reset(&scratch);
}

tile_op tile_build_for_loop(tile_builder *builder, tile_value begin, tile_value end,
                            tile_value step, const tile_value *inits, unsigned init_count) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_OP)
    if (!is_ready(builder)) return TILE_NO_OP;
    tile_function *f = builder->function;
    const tile_segment segments[] = {
        {begin, NULL, 0}, {end, NULL, 0}, {step, NULL, 0}, {TILE_NO_VALUE, inits, init_count}};
    if (!can_nest(builder)) return TILE_NO_OP;
    tile_op op = tile_build_op(builder, TILE_OP_for, segments, 4, NULL);
    if (op.id) add_loop_region(f, op, tile_value_type(f, begin));
    return op;
}

static const tile_value *filled(tile_builder *builder, tile_arena *arena, const tile_value *given,
                                unsigned count, int64_t otherwise) {
    if (given) return given;
    tile_value *values = TILE_NEW_ARRAY(arena, tile_value, count + 1u);
    for (unsigned i = 0; i < count; i++) values[i] = tile_build_int(builder, otherwise);
    return values;
}

tile_op tile_build_role_regions(tile_builder *builder, const tile_value *warps,
                                const tile_value *groups, const tile_value *registers,
                                unsigned count) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_OP)
    if (!is_ready(builder) || !warps || !can_nest(builder)) return TILE_NO_OP;
    tile_arena scratch = {0};
    const tile_segment segments[] = {
        {TILE_NO_VALUE, warps, count},
        {TILE_NO_VALUE, filled(builder, &scratch, groups, count, 1), count},
        {TILE_NO_VALUE, filled(builder, &scratch, registers, count, 0), count}};
    tile_op op = tile_build_op(builder, TILE_OP_roles, segments, 3, NULL);
    tile_arena_reset(&scratch);
    const tile_type *i32 = tile_type_scalar(tile_function_context(builder->function), TILE_i32);
    for (unsigned r = 0; r < count && op.id; r++) tile_add_region(builder->function, op, &i32, 1);
    return op;
}

tile_op tile_build_while_loop(tile_builder *builder, const tile_value *inits, unsigned init_count) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_OP)
    const tile_segment segments[] = {{TILE_NO_VALUE, inits, init_count}};
    if (!is_ready(builder) || !can_nest(builder)) return TILE_NO_OP;
    tile_op op = tile_build_op(builder, TILE_OP_while, segments, 1, NULL);
    for (unsigned r = 0; r < 2 && op.id; r++) add_loop_region(builder->function, op, NULL);
    return op;
}

static bool are_typed(const tile_builder *builder, const tile_type *const *types, unsigned count,
                      const char *what) {
    bool typed = types || !count;
    for (unsigned i = 0; typed && i < count; i++) typed = types[i] != NULL;
    if (!typed)
        tile_report(tile_function_context(builder->function), TILE_ERROR, builder->loc,
                    "a result of `%s` has no type", what);
    return typed;
}

tile_op tile_build_sync_explicit(tile_builder *builder, const tile_type *const *result_types,
                                 unsigned result_count) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_OP)
    const uint16_t sizes[TILE_MAX_OPERANDS] = {0};
    if (!is_ready(builder) || !can_nest(builder) ||
        !are_typed(builder, result_types, result_count, "sync explicit"))
        return TILE_NO_OP;
    tile_op op =
        tile_add_op(builder, TILE_OP_sync_explicit, NULL, 0, sizes, result_types, result_count);
    tile_add_region(builder->function, op, NULL, 0);
    return op;
}

tile_op tile_build_parallel(tile_builder *builder, const tile_value *extents, unsigned rank,
                            const tile_type *const *result_types, unsigned result_count) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_OP)
    uint16_t sizes[TILE_MAX_OPERANDS] = {(uint16_t)rank};
    if (!is_ready(builder) || !can_nest(builder) ||
        !are_typed(builder, result_types, result_count, "parallel"))
        return TILE_NO_OP;
    tile_function *f = builder->function;
    if (!extents || !rank || rank > TILE_MAX_RANK) {
        tile_report(tile_function_context(f), TILE_ERROR, builder->loc,
                    "parallel takes 1 to %d extents, not %u", TILE_MAX_RANK, rank);
        return TILE_NO_OP;
    }
    for (unsigned i = 0; i < rank; i++)
        if (!extents[i].id || !is_known(builder, extents[i])) return TILE_NO_OP;
    const tile_type *types[TILE_MAX_RANK];
    for (unsigned i = 0; i < rank; i++)
        types[i] = tile_type_scalar(tile_function_context(f), TILE_i32);
    tile_op op =
        tile_add_op(builder, TILE_OP_parallel, extents, rank, sizes, result_types, result_count);
    tile_add_region(f, op, types, rank);
    return op;
}

tile_op tile_build_launch(tile_builder *builder, const char *callee, const tile_param_value *values,
                          unsigned value_count, const tile_value *arguments,
                          unsigned argument_count) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_OP)
    const tile_segment segments[] = {{TILE_NO_VALUE, arguments, arguments ? argument_count : 0}};
    if (!is_ready(builder)) return TILE_NO_OP;
    tile_op op = tile_build_op(builder, TILE_OP_launch, segments, 1, NULL);
    tile_op_set_text(builder->function, op, TILE_ATTR_callee, callee ? callee : "");
    tile_op_set_values(builder->function, op, TILE_ATTR_values, values, value_count);
    return op;
}

tile_op tile_build_call(tile_builder *builder, const char *callee, const tile_param_value *values,
                        unsigned value_count, const tile_value *arguments,
                        unsigned argument_count) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_OP)
    const tile_segment segments[] = {{TILE_NO_VALUE, arguments, arguments ? argument_count : 0}};
    const tile_attr attrs[] = {
        {.id = TILE_ATTR_callee, .text = callee ? callee : ""},
        {.id = TILE_ATTR_values, .values = values, .count = values ? value_count : 0}};
    if (!is_ready(builder)) return TILE_NO_OP;
    tile_op op = tile_build_op_of(builder, TILE_OP_call, segments, 1, NULL, attrs, 2);
    tile_op_set_text(builder->function, op, TILE_ATTR_callee, attrs[0].text);
    tile_op_set_values(builder->function, op, TILE_ATTR_values, values, value_count);
    return op;
}

tile_op tile_build_if_else(tile_builder *builder, tile_value condition,
                           const tile_type *const *result_types, unsigned result_count) {
    TILE_GUARD_OUTSIDE(context_of(builder), TILE_NO_OP)
    if (!is_ready(builder)) return TILE_NO_OP;
    tile_function *f = builder->function;
    if (!condition.id || !is_known(builder, condition) || !can_nest(builder)) return TILE_NO_OP;
    if (!are_typed(builder, result_types, result_count, "if")) return TILE_NO_OP;
    const tile_type *type = tile_value_type(f, condition);
    if (type->kind != TILE_TYPE_SCALAR || type->scalar != TILE_i1) {
        tile_arena scratch = {0};
        tile_report(tile_function_context(f), TILE_ERROR, builder->loc,
                    "the condition of `if` must be one i1, not %s%s",
                    tile_type_text(f, type, NULL, &scratch),
                    type->kind == TILE_TYPE_TILE && tile_type_elements(type) == 1
                        ? "; take its element: `if scalar(%condition)`"
                    : tile_type_is_array(type)
                        ? "; choose between tiles by `select(%condition, %yes, %no)`, or give the "
                          "store the condition: `store %t, %y[%i], %condition`"
                        : "; compare it: `if %n != 0`");
        tile_arena_reset(&scratch);
        return TILE_NO_OP;
    }
    const uint16_t sizes[TILE_MAX_OPERANDS] = {1};
    tile_op op = tile_add_op(builder, TILE_OP_if, &condition, 1, sizes, result_types, result_count);
    tile_add_region(f, op, NULL, 0);
    tile_add_region(f, op, NULL, 0);
    return op;
}
