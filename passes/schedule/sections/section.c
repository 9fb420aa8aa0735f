/* Makes a compute of a section: a copy of the whole compute with the operations that the section
 * needs. */
#include "passes/schedule/sections/sections.h"

#include <string.h>

#include "tile/strides.h"

#include "lib/ir/syntax.h"

typedef struct maker {
    schedule *s;
    const tile_function *from;
    tile_function *f;
    sched_section *section;
    const sched_section_values *values;
    tile_value *map; /* by value of the compute; 0: it is the same */
    bool *taken;     /* by value of the compute: it is an argument */
} maker;

static bool is_taken(const tile_function *f, const char *name) {
    bool taken = tile_function_find_arg(f, name) != NULL ||
                 tile_function_find_param(f, name, strlen(name)) != NULL;
    for (size_t i = 0; i < f->result_count; i++) taken |= strcmp(f->results[i].name, name) == 0;
    return taken;
}

static const char *unique_name(const maker *m, const char *stem) {
    const char *name = stem;
    for (unsigned i = 2; is_taken(m->f, name); i++)
        name = tile_arena_format(m->s->arena, "%s_%u", stem, i);
    return name;
}

static void bind_array(maker *m, const char *name, const sched_location *at) {
    sched_section *section = m->section;
    section->arrays = tile_arena_grow(m->s->arena, section->arrays, section->array_count,
                                      &section->array_capacity, sizeof *section->arrays);
    section->arrays[section->array_count++] = (sched_section_array){name, *at};
}

/* Variables of loops exist inside of them. */
static bool is_in_scope(const maker *m, const sched_variable *variable) {
    const sched_loop *loop = m->section->resident ? m->section->resident->loop : m->section->loop;
    if (tile_value_at(m->from, variable->value)->kind == TILE_VALUE_ARG) return true;
    while (loop && strcmp(loop->variable->name, variable->name) != 0) loop = loop->outer;
    return loop != NULL;
}

tile_function *sched_clone_with_numbers(schedule *s, const tile_expr *const *exprs) {
    const tile_function *from = s->compute;
    tile_function *f = tile_function_clone(s->compute, sched_unique_name(s, from->name));
    tile_module_remove(from->module, f);
    f->name = from->name;
    tile_value *numbers = TILE_NEW_ARRAY(s->arena, tile_value, from->value_count);
    for (uint32_t id = 1; id < from->value_count; id++)
        if (exprs[id])
            numbers[id] =
                tile_function_constant(f, tile_type_scalar(s->context, TILE_i32), exprs[id]);
    tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
    memcpy(map, numbers, sizeof *map * from->value_count);
    tile_replace_values(f, f->body, map);
    return f;
}

/* Makes i32 arguments and variables of loops parameters. Tensors of the compute stay arguments, and
 * its other scalars, too. */
static void take_variables(maker *m) {
    tile_function *f = m->f;
    size_t kept = 0;
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind == TILE_TYPE_TENSOR || f->args[i].type->scalar != TILE_i32)
            f->args[kept++] = f->args[i];
    f->arg_count = kept;
    for (size_t i = 0; i < m->values->variable_count; i++)
        if (is_in_scope(m, &m->values->variables[i]))
            tile_function_add_param(f, m->values->variables[i].name, TILE_PARAM_int, NULL, NULL);
}

/* A tensor that other sections have stored becomes an argument. */
static void take_value(maker *m, tile_value value) {
    const sched_location *at = &m->values->at[value.id];
    tile_op op = tile_value_def(m->from, value);
    bool computed = op.id && m->values->needed[op.id];
    if (!at->buffer || computed || m->taken[value.id]) return;
    m->taken[value.id] = true;
    if (at->buffer->is_argument) {
        bind_array(m, at->buffer->name, at);
        return;
    }
    const char *name = unique_name(m, at->buffer->name);
    m->map[value.id] = tile_function_add_arg(m->f, name, tile_value_type(m->from, value));
    bind_array(m, name, at);
}

static void take_operands(maker *m, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(m->from, op); i++)
        take_value(m, tile_op_operand(m->from, op, i));
}

/* The body consists of the needed operations in program order. */
static void move_needed(maker *m) {
    tile_function *f = m->f;
    tile_region body = tile_add_region(f, TILE_NO_OP, NULL, 0);
    TILE_FOR_EACH_OP_INSIDE (m->from, op, m->from->body) {
        if (m->values->needed[op.id]) {
            take_operands(m, op);
            tile_move_op(f, op, body, TILE_NO_OP);
        } else {
            f->ops[op.id].opcode = TILE_OP_NONE;
            f->ops[op.id].operand_count = 0;
        }
    }
    f->body = body;
}

static void add_results(maker *m) {
    m->f->results = NULL;
    m->f->result_count = m->f->result_capacity = 0;
    for (size_t i = 0; i < m->section->store_count; i++) {
        const sched_section_store *store = &m->section->stores[i];
        take_value(m, store->value);
        tile_value value = m->map[store->value.id].id ? m->map[store->value.id] : store->value;
        const char *name = unique_name(m, store->name);
        tile_function_add_result(m->f, name, tile_value_type(m->f, value));
        tile_function_set_result(m->f, (unsigned)i, value);
        const sched_buffer *to = store->to.buffer;
        if (to && to->result >= 0)
            tile_function_set_result_strides(m->f, (unsigned)i,
                                             m->from->results[to->result].strides);
        if (store->to.buffer) bind_array(m, name, &store->to);
    }
    for (unsigned i = 0; m->section->resident && i < m->section->resident->count; i++)
        if (!m->section->resident->carried[i].in_place)
            take_value(m, m->section->resident->carried[i].init);
}

/* Kernels know where parts are from expressions. */
static void check_slices(maker *m) {
    TILE_FOR_EACH_OP (m->f, op, m->f->body) {
        if (tile_op_opcode(m->f, op) != TILE_OP_slice &&
            tile_op_opcode(m->f, op) != TILE_OP_insert_slice)
            continue;
        const tile_values first = tile_operands_first(m->f, op);
        for (unsigned d = 0; d < first.count; d++) {
            if (tile_value_at(m->f, first.at[d])->kind == TILE_VALUE_CONSTANT) continue;
            SCHED_FAIL(m->s, op,
                       "%s: coordinate %u is not known to the host; compute it from dims, i32 "
                       "arguments and variables of loops, or use `gather`",
                       tile_opcode_spelling(tile_op_opcode(m->f, op)), d);
            return;
        }
    }
}

void sched_make_section(schedule *s, sched_section *section, const sched_section_values *values) {
    maker m = {.s = s, .from = s->compute, .section = section, .values = values};
    m.f = sched_clone_with_numbers(s, values->exprs);
    m.map = TILE_NEW_ARRAY(s->arena, tile_value, m.from->value_count);
    m.taken = TILE_NEW_ARRAY(s->arena, bool, m.from->value_count);
    take_variables(&m);
    move_needed(&m);
    add_results(&m);
    tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, m.f->value_count);
    memcpy(map, m.map, sizeof *map * m.from->value_count);
    tile_replace_values(m.f, m.f->body, map);
    check_slices(&m);
    section->compute = m.f;
    if (!s->failed) sched_find_parts(s, section, values);
    if (!s->failed) sched_expand_inserts(s, m.f);
    section->map = m.map;
}
