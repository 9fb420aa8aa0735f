/* Inlining of funcs: see the header.
 *
 * A func computes one element from scalars. For a tile the same operations are built on tiles:
 * operands that do not depend on an argument stay scalars until an operation combines them with a
 * tile, which splats them. */
#include "lib/builder/inline.h"

#include "lib/builder/broadcast_operands.h"
#include "lib/builder/builder.h"
#include "lib/builder/call.h"
#include "lib/builder/combine_func.h"

/* The calls of one function that are being replaced. */
typedef struct inliner {
    tile_arena arena;
    unsigned built; /* operations */
} inliner;

/* The body of one call. */
typedef struct body {
    inliner *all;
    tile_builder builder;
    tile_call call;
    const tile_call_chain *chain;
    tile_value *map; /* by value of the callee: the value in the function */
    tile_loc place;  /* of the call */
} body;

static tile_context *context_of(const body *b) {
    return tile_function_context(b->builder.function);
}

/* Recursion ----------------------------------------------------------------------------------- */

static void note_call(tile_context *context, const tile_function *caller,
                      const tile_function *callee, tile_loc loc) {
    tile_report(context, TILE_NOTE, loc, "@%s calls @%s here", caller->name, callee->name);
}

/* Notes the calls from `first` to the innermost one, in order. */
static void note_cycle(tile_context *context, const tile_call_chain *chain,
                       const tile_function *first) {
    if (chain->callee == first) return;
    note_cycle(context, chain->outer, first);
    note_call(context, chain->outer->callee, chain->callee, chain->call);
}

bool tile_check_call_chain(tile_context *context, const tile_call_chain *chain,
                           const tile_function *callee, tile_loc call) {
    const tile_call_chain *link = chain;
    unsigned depth = 0;
    for (; link && link->callee != callee; link = link->outer) depth++;
    if (link) {
        tile_report(context, TILE_ERROR, callee->loc,
                    "@%s calls itself%s: a func is inlined where it is called, so it cannot be "
                    "recursive; remove one of the calls, or write a loop in the kernel",
                    callee->name, chain == link ? "" : " through other funcs");
        note_cycle(context, chain, callee);
        note_call(context, chain->callee, callee, call);
        return false;
    }
    if (depth <= TILE_MAX_CALL_DEPTH) return true;
    tile_report(context, TILE_ERROR, call,
                "more than %d calls of funcs are nested; write the code of some of them in place",
                TILE_MAX_CALL_DEPTH);
    return false;
}

/* Bodies -------------------------------------------------------------------------------------- */

static bool inline_call(inliner *all, tile_builder *at, const tile_call_chain *outer,
                        const tile_function *callee, const tile_param_value *values,
                        unsigned value_count, const tile_value *arguments, unsigned argument_count,
                        tile_value *results);

static tile_value refuse(const body *b, tile_loc loc) {
    tile_report(context_of(b), TILE_ERROR, loc,
                "the body of @%s is invalid; verify it (tile_function_verify)",
                b->call.callee->name);
    return TILE_NO_VALUE;
}

/* A float whose value depends on parameters of the caller is cast from an integer. */
static tile_value constant(tile_builder *builder, const tile_type *type, const tile_expr *expr) {
    int64_t number;
    bool known = expr->kind == TILE_EXPR_FLOAT || tile_expr_is_int(expr, &number);
    if (known || !tile_scalar_is_floating(type->scalar))
        return tile_build_constant(builder, type, expr);
    const tile_type *i32 = tile_type_scalar(tile_function_context(builder->function), TILE_i32);
    return tile_build_cast(builder, tile_build_constant(builder, i32, expr), type);
}

/* The value in the function; 0 after a diagnostic. */
static tile_value value_of(body *b, tile_value value) {
    const tile_function *callee = b->call.callee;
    if (!value.id || value.id >= callee->value_count) return refuse(b, callee->loc);
    const tile_value_data *data = tile_value_at(callee, value);
    tile_value *mapped = &b->map[value.id];
    if (mapped->id || data->kind != TILE_VALUE_CONSTANT)
        return mapped->id ? *mapped : refuse(b, callee->loc);
    const tile_type *type = tile_call_type(&b->call, data->type);
    const tile_expr *expr = tile_call_expr(&b->call, data->expr);
    if (!type || !expr) return refuse(b, callee->loc);
    return *mapped = constant(&b->builder, type, expr);
}

/* The location of code in the callee, seen through this call. */
static tile_loc place_of(const body *b, tile_loc loc) {
    if (loc.line && b->place.line)
        loc.file = tile_context_add_call(context_of(b), loc.file, b->call.callee->name, b->place);
    return loc.line ? loc : b->place;
}

/* Gives the results of an operation of the callee their values in the function. */
static void set_results(body *b, const tile_op_data *data, const tile_value *results) {
    tile_function *f = b->builder.function;
    for (uint32_t i = 0; i < data->result_count; i++) {
        tile_value from = {data->first_result.id + i};
        const char *name = tile_value_at(b->call.callee, from)->name;
        b->map[from.id] = results[i];
        if (name && tile_value_def(f, results[i]).id && !tile_value_at(f, results[i])->name)
            tile_value_at(f, results[i])->name = name;
    }
}

static bool copy_call(body *b, const tile_op_data *data) {
    inliner *all = b->all;
    tile_value *arguments = TILE_NEW_ARRAY(&all->arena, tile_value, data->operand_count + 1u);
    tile_value *results = TILE_NEW_ARRAY(&all->arena, tile_value, data->result_count + 1u);
    const tile_attr *name = NULL, *values = NULL;
    for (unsigned i = 0; i < data->attr_count; i++) {
        if (data->attrs[i].id == TILE_ATTR_callee) name = &data->attrs[i];
        if (data->attrs[i].id == TILE_ATTR_values) values = &data->attrs[i];
    }
    unsigned count = values ? values->count : 0;
    tile_param_value *bound = TILE_NEW_ARRAY(&all->arena, tile_param_value, count + 1u);
    for (unsigned i = 0; i < count; i++) {
        bound[i] = values->values[i];
        bound[i].expr = tile_call_expr(&b->call, bound[i].expr);
        if (bound[i].type) bound[i].type = tile_call_type(&b->call, bound[i].type);
    }
    for (uint32_t i = 0; i < data->operand_count; i++)
        if (!(arguments[i] = value_of(b, data->operands[i])).id) return false;
    const tile_function *callee =
        name && name->text ? tile_call_find(b->builder.function, b->builder.loc, name->text) : NULL;
    if (!callee || callee->result_count != data->result_count) return false;
    if (!inline_call(all, &b->builder, b->chain, callee, bound, count, arguments,
                     data->operand_count, results))
        return false;
    set_results(b, data, results);
    return true;
}

static bool copy_op(body *b, tile_op op) {
    const tile_function *callee = b->call.callee;
    const tile_op_data *data = tile_op_at(callee, op);
    const tile_op_info *info = tile_op_get_info((tile_opcode)data->opcode);
    tile_segment segments[TILE_MAX_OPERANDS] = {{{0}, NULL, 0}};
    b->builder.loc = place_of(b, data->loc);
    if (data->opcode == TILE_OP_call) return copy_call(b, data);
    if (!(info->traits & TILE_TRAIT_ELEMENTWISE) || data->operand_count != info->operand_count ||
        data->result_count != 1)
        return refuse(b, data->loc).id;
    for (uint32_t i = 0; i < data->operand_count; i++)
        if (!(segments[i].head = value_of(b, data->operands[i])).id) return false;
    const tile_type *type = tile_call_type(&b->call, tile_value_type(callee, data->first_result));
    tile_op made =
        tile_build_op_of(&b->builder, (tile_opcode)data->opcode, segments, info->operand_count,
                         info->type_given ? type : NULL, data->attrs, data->attr_count);
    if (!made.id) return false;
    for (unsigned i = 0; i < data->attr_count; i++)
        tile_op_take_attr(b->builder.function, made, callee, op, data->attrs[i].id);
    const tile_value result = tile_op_result(b->builder.function, made, 0);
    set_results(b, data, &result);
    return true;
}

/* Repeats a result that depends on fewer dims, or on no argument. */
static tile_value conform(tile_builder *builder, tile_value value, const tile_type *type) {
    const tile_type *have = tile_value_type(builder->function, value);
    tile_context *context = tile_function_context(builder->function);
    if (have == type || (have->kind == TILE_TYPE_TENSOR && tile_type_equal(context, have, type)))
        return value;
    if (have->kind == TILE_TYPE_SCALAR) return tile_build_splat(builder, value, type);
    return tile_type_same_dims(context, have, type)
               ? tile_build_convert_layout(builder, value, TILE_NO_VALUE, type)
               : tile_build_broadcast(builder, value, type);
}

static bool take_results(body *b, const tile_value *arguments, unsigned count,
                         tile_value *results) {
    const tile_function *callee = b->call.callee;
    tile_function *f = b->builder.function;
    b->builder.loc = b->place;
    for (size_t i = 0; i < callee->result_count; i++) {
        const tile_type *element = tile_call_type(&b->call, callee->results[i].type);
        const tile_type *type = element ? tile_broadcast_type(f, arguments, count, element) : NULL;
        tile_value value = value_of(b, callee->results[i].value);
        if (!value.id) return false;
        results[i] = type ? conform(&b->builder, value, type) : refuse(b, callee->loc);
        if (!results[i].id) return false;
    }
    return true;
}

static bool has_room(const body *b) {
    if (b->all->built <= TILE_MAX_INLINED) return true;
    tile_report(context_of(b), TILE_ERROR, b->place,
                "the calls of funcs in @%s become more than %d operations; write a loop instead of "
                "repeated calls, such as this call of @%s",
                b->builder.function->name, TILE_MAX_INLINED, b->call.callee->name);
    return false;
}

static bool inline_call(inliner *all, tile_builder *at, const tile_call_chain *outer,
                        const tile_function *callee, const tile_param_value *values,
                        unsigned value_count, const tile_value *arguments, unsigned argument_count,
                        tile_value *results) {
    const tile_call_chain chain = {callee, at->loc, outer};
    body b = {.all = all, .builder = *at, .chain = &chain, .place = at->loc};
    tile_function *f = at->function;
    if (!tile_check_call_chain(tile_function_context(f), outer, callee, at->loc) ||
        !tile_call_bind(f, at->loc, callee, values, value_count, arguments, argument_count,
                        &all->arena, &b.call))
        return false;
    b.map = TILE_NEW_ARRAY(&all->arena, tile_value, callee->value_count);
    for (unsigned i = 0; i < argument_count; i++) b.map[callee->args[i].value.id] = arguments[i];
    TILE_FOR_EACH_OP (callee, op, callee->body) {
        all->built++;
        if (!has_room(&b) || !copy_op(&b, op)) return false;
    }
    return take_results(&b, arguments, argument_count, results);
}

bool tile_inline_func(tile_builder *builder, const tile_function *callee,
                      const tile_param_value *values, unsigned value_count,
                      const tile_value *arguments, unsigned argument_count, tile_value *results) {
    inliner all = {.built = 0};
    const tile_call_chain self = {builder->function, builder->loc, NULL};
    bool ok = inline_call(&all, builder, &self, callee, values, value_count, arguments,
                          argument_count, results);
    tile_arena_reset(&all.arena);
    return ok;
}

/* Functions ----------------------------------------------------------------------------------- */

static bool replace_call(inliner *all, tile_function *f, tile_op op, tile_value *map,
                         size_t map_count) {
    const tile_op_data data = *tile_op_at(f, op);
    const tile_attr *values = tile_op_attr(f, op, TILE_ATTR_values);
    const char *name = tile_op_attr_text(f, op, TILE_ATTR_callee);
    tile_builder builder = tile_builder_before(f, op);
    const tile_function *callee = tile_call_find(f, builder.loc, name ? name : "");
    if (!callee || callee->result_count != data.result_count) return false;
    size_t first_new = f->op_count;
    tile_value *arguments = TILE_NEW_ARRAY(&all->arena, tile_value, data.operand_count + 1u);
    tile_value *results = TILE_NEW_ARRAY(&all->arena, tile_value, data.result_count + 1u);
    for (uint32_t i = 0; i < data.operand_count; i++) {
        arguments[i] = data.operands[i];
        while (arguments[i].id < map_count && map[arguments[i].id].id)
            arguments[i] = map[arguments[i].id];
    }
    const tile_call_chain self = {f, builder.loc, NULL};
    if (!inline_call(all, &builder, &self, callee, values ? values->values : NULL,
                     values ? values->count : 0, arguments, data.operand_count, results))
        return false;
    for (uint32_t i = 0; i < data.result_count; i++) {
        tile_value old = {data.first_result.id + i};
        const char *own = tile_value_at(f, old)->name;
        if (own && tile_value_def(f, results[i]).id >= first_new)
            tile_value_at(f, results[i])->name = own;
        map[old.id] = results[i];
    }
    tile_erase_op(f, op);
    return true;
}

bool tile_inline_calls(tile_function *f) {
    inliner all = {.built = 0};
    unsigned count;
    tile_op *calls = tile_find_ops(f, TILE_OP_call, &all.arena, &count);
    size_t values = count ? f->value_count : 0;
    tile_value *map = TILE_NEW_ARRAY(&all.arena, tile_value, values + 1);
    bool ok = true;
    for (unsigned i = 0; i < count && ok; i++) ok = replace_call(&all, f, calls[i], map, values);
    if (count && ok) {
        tile_value *whole = TILE_NEW_ARRAY(&all.arena, tile_value, f->value_count);
        for (size_t id = 0; id < values; id++) whole[id] = map[id];
        tile_replace_values(f, f->body, whole);
    }
    tile_arena_reset(&all.arena);
    return ok && tile_make_combines_plain(f);
}
