/* Adds instructions to a program, with the places of their operands. */
#include "runtime/cpu/program/decoder.h"

#include <string.h>

#include "lib/support/scalar.h"

/* Values --------------------------------------------------------------------------------------- */

uint32_t cpu_add_constant(cpu_decoder *d, const tile_type *type) {
    cpu_program *p = d->program;
    uint32_t at = p->constant_bytes;
    p->constant_bytes += cpu_value_place_bytes(type, p->lanes);
    if (p->constant_bytes > d->constant_capacity) {
        size_t larger = p->constant_bytes * (size_t)2;
        uint8_t *moved = TILE_NEW_ARRAY(&p->arena, uint8_t, larger);
        if (at) memcpy(moved, p->constants, at);
        p->constants = moved;
        d->constant_capacity = larger;
    }
    return at | CPU_CONSTANT_PLACE;
}

static void materialise(cpu_decoder *d, tile_value value, uint32_t place) {
    const tile_value_data *data = tile_value_at(d->f, value);
    uint8_t *at = d->program->constants + (place & ~CPU_CONSTANT_PLACE);
    unsigned size = cpu_value_size(data->type);
    if (data->expr->kind != TILE_EXPR_INT && data->expr->kind != TILE_EXPR_FLOAT) {
        CPU_FAIL(d, d->f->loc, "kernel @%s still has compile-time parameters: instantiate it first",
                 d->f->name);
        return;
    }
    for (unsigned lane = 0; lane < d->program->lanes; lane++)
        if (data->expr->kind == TILE_EXPR_FLOAT)
            tile_scalar_write(data->type->scalar, at + lane * size, data->expr->number);
        else
            tile_integer_write(data->type->scalar, at + lane * size, data->expr->integer);
}

uint32_t cpu_place_of(cpu_decoder *d, tile_value value) {
    const tile_value_data *data = tile_value_at(d->f, value);
    if (d->places[value.id] == CPU_NO_PLACE && data->kind == TILE_VALUE_CONSTANT) {
        d->places[value.id] = cpu_add_constant(d, data->type);
        materialise(d, value, d->places[value.id]);
    }
    return d->places[value.id];
}

const tile_type *cpu_operand_type(const cpu_decoder *d, tile_op op, tile_operand_name name) {
    return tile_value_type(d->f, tile_named_operand(d->f, op, name));
}

const tile_type *cpu_result_type(const cpu_decoder *d, tile_op op) {
    return tile_value_type(d->f, tile_op_result(d->f, op, 0));
}

/* Instructions --------------------------------------------------------------------------------- */

cpu_insn *cpu_add_insn(cpu_decoder *d, tile_op op, cpu_handler handler) {
    cpu_program *p = d->program;
    const tile_op_data *data = tile_op_at(d->f, op);
    p->insns =
        tile_arena_grow(&p->arena, p->insns, p->insn_count, &d->insn_capacity, sizeof *p->insns);
    cpu_insn *insn = &p->insns[p->insn_count++];
    *insn = (cpu_insn){.handler = handler,
                       .opcode = (tile_opcode)data->opcode,
                       .result = CPU_NO_PLACE,
                       .operand = {CPU_NO_PLACE, CPU_NO_PLACE, CPU_NO_PLACE, CPU_NO_PLACE},
                       .own_order = d->own_order,
                       .releases = tile_op_releases(d->f, op),
                       .acquires = tile_op_acquires(d->f, op),
                       .scope = tile_op_word(d->f, op, TILE_ATTR_scope),
                       .speculative = tile_op_has_attr(d->f, op, TILE_ATTR_speculative),
                       .name = "memory",
                       .loc = data->loc};
    return insn;
}

void cpu_set_elements(const cpu_decoder *d, cpu_insn *insn, const tile_type *type) {
    insn->scalar = type->scalar;
    insn->count = cpu_value_elements(type) * d->program->lanes;
    insn->size = cpu_value_size(type);
}

uint32_t *cpu_places_of(cpu_decoder *d, const tile_value *values, unsigned count) {
    uint32_t *places = TILE_NEW_ARRAY(&d->program->arena, uint32_t, count);
    for (unsigned i = 0; i < count; i++) places[i] = cpu_place_of(d, values[i]);
    return places;
}

cpu_insn *cpu_add_op(cpu_decoder *d, tile_op op, cpu_handler handler) {
    cpu_insn *insn = cpu_add_insn(d, op, handler);
    const tile_op_info *info = tile_op_get_info(insn->opcode);
    unsigned lists = 0;
    for (unsigned i = 0; i < info->operand_count && i < CPU_OPERANDS; i++) {
        unsigned heads = tile_form_has_head(info->operands[i].form);
        const tile_values values = tile_op_segment(d->f, op, i);
        if (heads && values.count) {
            const tile_value_data *data = tile_value_at(d->f, values.at[0]);
            insn->operand[i] = cpu_place_of(d, values.at[0]);
            if (data->type->kind == TILE_TYPE_SHARED)
                insn->name = data->name ? data->name : insn->name;
        }
        if (heads && !tile_form_has_brackets(info->operands[i].form)) continue;
        uint32_t tail = values.count > heads ? values.count - heads : 0;
        insn->placed |= tail > 1 && info->operands[i].form == TILE_FORM_address;
        if (++lists > 2) continue; /* the decoder of the operation handles a third one */
        *(lists == 1 ? &insn->index : &insn->second) = cpu_places_of(d, values.at + heads, tail);
        *(lists == 1 ? &insn->index_count : &insn->second_count) = tail;
    }
    if (tile_op_at(d->f, op)->result_count)
        insn->result = cpu_place_of(d, tile_op_result(d->f, op, 0));
    return insn;
}

int64_t cpu_pending_count(cpu_decoder *d, tile_op wait) {
    int64_t pending = 0;
    if (!tile_value_is_int(d->f, tile_operand_pending(d->f, wait), &pending))
        CPU_FAIL(d, tile_op_loc(d->f, wait), "%s: how many may be pending is not known yet",
                 tile_op_name(d->f, wait));
    return pending;
}
