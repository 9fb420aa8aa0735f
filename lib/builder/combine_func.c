/* Plain funcs for reductions and scans: see the header. */
#include "lib/builder/combine_func.h"

#include <string.h>

#include "lib/builder/builder.h"
#include "lib/builder/inline.h"
#include "lib/ops/combine.h"
#include "lib/support/text.h"

bool tile_func_is_plain(const tile_function *func) {
    bool plain = !func->param_count;
    TILE_FOR_EACH_OP (func, op, func->body) plain &= tile_op_opcode(func, op) != TILE_OP_call;
    return plain;
}

/* The name and the types of the operands: @first_least_f32_i32. *made: the module has this func
 * already. */
static const char *name_of(const tile_function *func, const tile_scalar *scalars, unsigned count,
                           tile_function **made, tile_arena *arena) {
    const char *name = func->name;
    for (unsigned i = 0; i < count / 2; i++) /* the other half has the same types */
        name = tile_arena_format(arena, "%s_%s", name, tile_scalar_name(scalars[i]));
    while ((*made = tile_module_find(func->module, name)) &&
           !((*made)->instance_of && strcmp((*made)->instance_of, func->name) == 0))
        name = tile_arena_format(arena, "%s_", name);
    return name;
}

/* Fills the body with that of the func. */
static bool inline_body(tile_function *to, const tile_function *func, tile_loc loc,
                        const tile_value *arguments, unsigned count, tile_arena *arena) {
    tile_value *results = TILE_NEW_ARRAY(arena, tile_value, func->result_count + 1);
    tile_builder b = tile_builder_at_end(to, to->body);
    b.loc = loc;
    if (!tile_inline_func(&b, func, NULL, 0, arguments, count, results)) return false;
    for (unsigned i = 0; i < func->result_count; i++) {
        tile_function_add_result(to, func->results[i].name, tile_value_type(to, results[i]));
        tile_function_set_result(to, i, results[i]);
    }
    return true;
}

const tile_function *tile_func_plain(const tile_function *func, tile_loc loc,
                                     const tile_scalar *scalars, unsigned count) {
    tile_arena arena = {0};
    tile_function *made;
    if (tile_func_is_plain(func)) return func;
    const char *name = name_of(func, scalars, count, &made, &arena);
    if (!made && (made = tile_function_create(func->module, TILE_FUNC, name, func->loc))) {
        tile_value *arguments = TILE_NEW_ARRAY(&arena, tile_value, count + 1u);
        made->instance_of = func->name;
        for (unsigned i = 0; i < count && i < func->arg_count; i++)
            arguments[i] =
                tile_function_add_arg(made, func->args[i].name,
                                      tile_type_scalar(tile_function_context(func), scalars[i]));
        if (!inline_body(made, func, loc, arguments, count, &arena)) {
            tile_module_remove(func->module, made);
            made = NULL;
        }
    }
    tile_arena_reset(&arena);
    return made;
}

static bool make_plain(tile_function *f, tile_op op) {
    tile_combine combine;
    tile_scalar scalars[2 * TILE_MAX_COMBINED];
    const tile_values src = tile_operands_src(f, op);
    if (!tile_combine_of(f, op, &combine)) return true;
    for (unsigned i = 0; i < 2 * combine.count; i++) {
        scalars[i] = tile_value_type(f, src.at[i % combine.count])->scalar;
        if (!scalars[i]) return true;
    }
    const tile_function *plain =
        tile_func_plain(combine.function, tile_op_loc(f, op), scalars, 2 * combine.count);
    if (plain) tile_op_set_text(f, op, TILE_ATTR_combine, plain->name);
    return plain != NULL;
}

bool tile_make_combines_plain(tile_function *f) {
    bool ok = true;
    for (uint32_t id = 1; id < f->op_count && ok; id++)
        if (tile_combines_by_function((tile_opcode)f->ops[id].opcode))
            ok = make_plain(f, (tile_op){id});
    return ok;
}
