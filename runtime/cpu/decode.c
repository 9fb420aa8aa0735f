/* From a kernel to a program: operands become slots, regions become jumps. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/float16.h"
#include "runtime/cpu/decode.h"

/* Values --------------------------------------------------------------------------------------- */

uint32_t cpu_add_constant(cpu_decoder *d, const tile_type *type) {
    cpu_program *p = d->program;
    uint32_t at = p->constant_bytes;
    p->constant_bytes += cpu_value_slot_bytes(type, p->lanes);
    if (p->constant_bytes > d->constant_capacity) {
        size_t larger = p->constant_bytes * (size_t)2;
        uint8_t *moved = TILE_NEW_ARRAY(&p->arena, uint8_t, larger);
        if (at) memcpy(moved, p->constants, at);
        p->constants = moved;
        d->constant_capacity = larger;
    }
    return at | CPU_CONSTANT_SLOT;
}

static void materialise(cpu_decoder *d, tile_value value, uint32_t slot) {
    const tile_value_data *data = tile_value_at(d->f, value);
    uint8_t *at = d->program->constants + (slot & ~CPU_CONSTANT_SLOT);
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

uint32_t cpu_slot_of(cpu_decoder *d, tile_value value) {
    const tile_value_data *data = tile_value_at(d->f, value);
    if (d->slots[value.id] == CPU_NO_SLOT && data->kind == TILE_VALUE_CONSTANT) {
        d->slots[value.id] = cpu_add_constant(d, data->type);
        materialise(d, value, d->slots[value.id]);
    }
    return d->slots[value.id];
}

const tile_type *cpu_operand_type(const cpu_decoder *d, tile_op op, unsigned operand) {
    unsigned count;
    const tile_value *values = tile_op_segment(d->f, op, operand, &count);
    return count ? tile_value_type(d->f, values[0]) : NULL;
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
                       .result = CPU_NO_SLOT,
                       .operand = {CPU_NO_SLOT, CPU_NO_SLOT, CPU_NO_SLOT},
                       .own_order = d->own_order,
                       .name = "memory",
                       .loc = data->loc};
    return insn;
}

void cpu_set_elements(const cpu_decoder *d, cpu_insn *insn, const tile_type *type) {
    insn->scalar = type->scalar;
    insn->count = cpu_value_elements(type) * d->program->lanes;
    insn->size = cpu_value_size(type);
}

uint32_t *cpu_slots_of(cpu_decoder *d, const tile_value *values, unsigned count) {
    uint32_t *slots = TILE_NEW_ARRAY(&d->program->arena, uint32_t, count);
    for (unsigned i = 0; i < count; i++) slots[i] = cpu_slot_of(d, values[i]);
    return slots;
}

cpu_insn *cpu_add_op(cpu_decoder *d, tile_op op, cpu_handler handler) {
    cpu_insn *insn = cpu_add_insn(d, op, handler);
    const tile_op_info *info = tile_op_get_info(insn->opcode);
    bool first = true;
    for (unsigned i = 0; i < info->operand_count && i < 3; i++) {
        unsigned count, heads = info->operands[i].form <= TILE_FORM_element;
        const tile_value *values = tile_op_segment(d->f, op, i, &count);
        if (heads && count) {
            const tile_value_data *data = tile_value_at(d->f, values[0]);
            insn->operand[i] = cpu_slot_of(d, values[0]);
            if (data->type->kind == TILE_TYPE_SHARED)
                insn->name = data->name ? data->name : insn->name;
        }
        if (info->operands[i].form < TILE_FORM_element) continue;
        uint32_t tail = count > heads ? count - heads : 0;
        *(first ? &insn->index : &insn->second) = cpu_slots_of(d, values + heads, tail);
        *(first ? &insn->index_count : &insn->second_count) = tail;
        first = false;
    }
    if (tile_op_at(d->f, op)->result_count)
        insn->result = cpu_slot_of(d, tile_op_result(d->f, op, 0));
    return insn;
}
_Static_assert(TILE_FORM_value < TILE_FORM_element && TILE_FORM_optional < TILE_FORM_element &&
                   TILE_FORM_list > TILE_FORM_element,
               "forms with a head come first, element last of them");

void cpu_add_move(cpu_decoder *d, tile_op op, tile_value from, uint32_t to) {
    const tile_type *type = tile_value_type(d->f, from);
    uint32_t slot = cpu_slot_of(d, from);
    if (slot == to) return;
    cpu_insn *insn = cpu_add_insn(d, op, cpu_run_move);
    cpu_set_elements(d, insn, type);
    insn->operand[0] = slot;
    insn->result = to;
}

/* Arithmetic ----------------------------------------------------------------------------------- */

static void decode_arith(cpu_decoder *d, tile_op op) {
    const tile_type *type = cpu_operand_type(d, op, 0);
    cpu_insn *insn = cpu_add_op(d, op, NULL);
    cpu_set_elements(d, insn, type);
    insn->handler = cpu_arith_handler(insn->opcode, type->scalar, type->scalar);
}

/* Those whose elements are the result's. */
static void decode_convert(cpu_decoder *d, tile_op op) {
    const tile_type *type = cpu_result_type(d, op), *from = cpu_operand_type(d, op, 0);
    cpu_insn *insn = cpu_add_op(
        d, op,
        cpu_arith_handler((tile_opcode)tile_op_at(d->f, op)->opcode, type->scalar, from->scalar));
    cpu_set_elements(d, insn, type);
    insn->from = from->scalar;
    insn->flag = from->kind == TILE_TYPE_SCALAR;
}

/* Regions -------------------------------------------------------------------------------------- */

static void decode_region(cpu_decoder *d, tile_region region);

static void enter_masks(cpu_decoder *d, unsigned count) {
    d->depth += count;
    if (d->depth > d->program->mask_depth) d->program->mask_depth = d->depth;
}

static void decode_for(cpu_decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    tile_region body = data->regions[0];
    bool pipelined = tile_op_has_attr(d->f, op, TILE_ATTR_pipelined);
    for (uint32_t i = 0; i < data->result_count; i++)
        cpu_add_move(d, op, data->operands[3 + i], cpu_slot_of(d, tile_op_result(d->f, op, i)));
    uint32_t counter = cpu_slot_of(d, tile_region_arg(d->f, body, 0));
    cpu_add_op(d, op, cpu_run_loop_enter)->result = counter;
    enter_masks(d, 1);
    d->pipelined += pipelined;
    uint32_t test = d->program->insn_count;
    cpu_add_op(d, op, cpu_run_loop_test)->result = counter;
    decode_region(d, body);
    cpu_insn *next = cpu_add_op(d, op, cpu_run_loop_next);
    next->result = counter;
    next->target = test;
    d->program->insns[test].target = d->program->insn_count;
    cpu_add_insn(d, op, cpu_run_region_end);
    d->pipelined -= pipelined;
    d->depth--;
}

static void decode_if(cpu_decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    uint32_t branch = d->program->insn_count;
    cpu_add_op(d, op, cpu_run_if);
    enter_masks(d, 2);
    decode_region(d, data->regions[0]);
    uint32_t otherwise = d->program->insn_count;
    d->program->insns[branch].target = otherwise;
    cpu_add_insn(d, op, cpu_run_else);
    decode_region(d, data->regions[1]);
    d->program->insns[otherwise].target = d->program->insn_count;
    cpu_add_insn(d, op, cpu_run_region_end);
    d->depth -= 2;
}

/* Whether a slot is one that the parent's moves write, at another place than this one. */
static bool is_overwritten(cpu_decoder *d, tile_op parent, uint32_t slot, uint32_t position) {
    for (uint32_t i = 0; i < tile_op_at(d->f, parent)->result_count; i++)
        if (i != position && cpu_slot_of(d, tile_op_result(d->f, parent, i)) == slot) return true;
    return false;
}

/* A yield moves all its values at once: those that another move would overwrite go aside first. */
static void decode_yield(cpu_decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    tile_op parent = tile_op_parent(d->f, op);
    uint32_t *aside = TILE_NEW_ARRAY(&d->scratch, uint32_t, data->operand_count);
    uint32_t end = d->temporary;
    for (uint32_t i = 0; i < data->operand_count; i++) {
        const tile_type *type = tile_value_type(d->f, data->operands[i]);
        aside[i] = CPU_NO_SLOT;
        if (!is_overwritten(d, parent, cpu_slot_of(d, data->operands[i]), i)) continue;
        aside[i] = end;
        end += cpu_value_slot_bytes(type, d->program->lanes);
        cpu_add_move(d, op, data->operands[i], aside[i]);
    }
    if (end > d->program->frame_bytes) d->program->frame_bytes = end;
    for (uint32_t i = 0; i < data->operand_count; i++) {
        uint32_t to = cpu_slot_of(d, tile_op_result(d->f, parent, i));
        uint32_t count = d->program->insn_count;
        cpu_add_move(d, op, data->operands[i], to);
        if (aside[i] != CPU_NO_SLOT && d->program->insn_count > count)
            d->program->insns[count].operand[0] = aside[i];
    }
}

/* Rows without results. */
static void decode_none(cpu_decoder *d, tile_op op) {
    int64_t pending = 0;
    switch (tile_op_at(d->f, op)->opcode) {
    case TILE_OP_yield: decode_yield(d, op); break;
    case TILE_OP_commit_group: cpu_add_op(d, op, cpu_run_commit_group); break;
    case TILE_OP_wait_group:
        if (!tile_value_is_int(d->f, tile_op_operand(d->f, op, 0), &pending))
            CPU_FAIL(d, tile_op_loc(d->f, op),
                     "wait_group: how many may be pending is not known yet");
        cpu_add_op(d, op, cpu_run_wait_group)->integer = pending;
        break;
    case TILE_OP_sync: cpu_add_op(d, op, cpu_run_sync); break;
    default: break; /* free_shared */
    }
}

/* Dispatch: each row's rule names the function that decodes it. -------------------------------- */

#define RULE_arith decode_arith
#define RULE_compare decode_arith
#define RULE_unary decode_arith
#define RULE_fma decode_arith
#define RULE_select decode_convert
#define RULE_cast decode_convert
#define RULE_splat decode_convert
#define RULE_none decode_none
#define RULE_for decode_for
#define RULE_if decode_if
#define RULE_matmul NULL /* level 1: runtime/compute.c */
#define RULE_transpose NULL
#define RULE_index cpu_decode_index
#define RULE_index3 cpu_decode_index3
#define RULE_view cpu_decode_view
#define RULE_scratch cpu_decode_scratch
#define RULE_given_shared cpu_decode_given_shared
#define RULE_load cpu_decode_load
#define RULE_store cpu_decode_store
#define RULE_load_shared cpu_decode_load_shared
#define RULE_store_shared cpu_decode_store_shared
#define RULE_copy cpu_decode_copy
#define RULE_dot cpu_decode_dot
#define RULE_convert_layout cpu_decode_convert_layout
#define RULE_semaphore cpu_decode_semaphore
#define RULE_extract cpu_decode_extract
#define RULE_concat cpu_decode_concat
#define RULE_shuffle cpu_decode_shuffle
#define RULE_ld_global cpu_decode_ld_global
#define RULE_st_global cpu_decode_st_global
#define RULE_ld_shared cpu_decode_ld_shared
#define RULE_st_shared cpu_decode_st_shared
#define RULE_ldmatrix cpu_decode_ldmatrix
#define RULE_mma cpu_decode_mma
#define RULE_cp_async cpu_decode_cp_async
#define RULE_word cpu_decode_word

typedef void (*decode_function)(cpu_decoder *d, tile_op op);

static const decode_function decoders[TILE_OPCODE_LIMIT] = {
#define OP(number, name, levels, operands, attrs, rule, effects, meaning) [number] = RULE_##rule,
#include "tile/ops.def"
#undef OP
};

static void decode_op(cpu_decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    const tile_op_info *info = tile_op_get_info((tile_opcode)data->opcode);
    unsigned level = d->program->level == 2 ? TILE_LEVEL_2 : TILE_LEVEL_3;
    if (!(info->levels & level) || !decoders[data->opcode])
        CPU_FAIL(d, data->loc, "%s cannot be executed at level %u", info->name, d->program->level);
    else
        decoders[data->opcode](d, op);
}

static void decode_region(cpu_decoder *d, tile_region region) {
    TILE_FOR_EACH_OP (d->f, op, region) {
        if (!d->failed) decode_op(d, op);
    }
}

static void find_pipelined(tile_function *f, tile_op op, void *user) {
    *(bool *)user |= tile_op_has_attr(f, op, TILE_ATTR_pipelined);
}

static void decode_function_body(cpu_decoder *d, tile_function *f) {
    int64_t warps;
    bool pipelined = false;
    cpu_program *p = d->program;
    if (!tile_expr_is_int(f->warps, &warps) || warps < 1 || warps > 32) {
        CPU_FAIL(d, f->loc, "kernel @%s: the number of warps is not known", f->name);
        return;
    }
    p->warps = p->level == 2 ? 1 : (unsigned)warps;
    tile_walk(f, f->body, find_pipelined, &pipelined);
    d->own_order = !f->sync_explicit || pipelined;
    cpu_place_all(d, f);
    if (!d->failed) decode_region(d, f->body);
    p->insns =
        tile_arena_grow(&p->arena, p->insns, p->insn_count, &d->insn_capacity, sizeof *p->insns);
    p->insns[p->insn_count++] = (cpu_insn){.handler = cpu_run_end, .name = "", .loc = f->loc};
}

cpu_program *cpu_program_create(tile_function *function, unsigned level) {
    cpu_program *program = tile_malloc(sizeof *program);
    *program =
        (cpu_program){.function = function, .level = level, .lanes = level == 2 ? 1 : CPU_LANES};
    cpu_decoder d = {.program = program, .f = function};
    decode_function_body(&d, function);
    tile_arena_reset(&d.scratch);
    if (!d.failed) return program;
    cpu_program_destroy(program);
    return NULL;
}

void cpu_program_destroy(cpu_program *program) {
    if (!program) return;
    tile_arena_reset(&program->arena);
    free(program);
}
