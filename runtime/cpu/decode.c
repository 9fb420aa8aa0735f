/* From a kernel to a program: operands become slots, regions become jumps. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/float16.h"
#include "runtime/cpu/exec.h"

enum {
    MAX_VALUE_BYTES = 1 << 26,  /* of all lanes together */
    MAX_SHARED_BYTES = 1 << 26, /* far above any GPU's: targets are checked by allocate-shared */
    SHARED_ALIGN = 128,
};
static const uint64_t max_frame_bytes = UINT64_C(1) << 30;

typedef struct decoder {
    cpu_program *program;
    const tile_function *f;
    tile_arena scratch;
    uint32_t *slots; /* by value id */
    size_t insn_capacity;
    size_t constant_capacity;
    uint32_t *shared_at; /* by op id: where an alloc_shared's buffer is */
    uint32_t temporary;  /* where values wait that a loop's yield exchanges; behind all slots */
    unsigned depth;      /* of the mask stack */
    unsigned pipelined;  /* how many pipelined loops are open */
    bool own_order;
    bool failed;
} decoder;

#define FAIL(d, loc, ...) \
    ((d)->failed = true, tile_report(tile_function_context((d)->f), TILE_ERROR, (loc), __VA_ARGS__))

/* Values ------------------------------------------------------------------------------------------- */

static uint32_t value_count(const decoder *d, const tile_type *type) {
    return cpu_value_elements(type) * d->program->lanes;
}

/* A place for a value of this type in the constants. */
static uint32_t add_constant(decoder *d, const tile_type *type) {
    cpu_program *p = d->program;
    uint32_t at = p->constant_bytes;
    uint32_t bytes = value_count(d, type) * cpu_value_size(type);
    p->constant_bytes += (bytes + CPU_SLOT_ALIGN - 1) / CPU_SLOT_ALIGN * CPU_SLOT_ALIGN;
    if (p->constant_bytes > d->constant_capacity) {
        size_t larger = p->constant_bytes * (size_t)2;
        uint8_t *moved = TILE_NEW_ARRAY(&p->arena, uint8_t, larger);
        if (at)
            memcpy(moved, p->constants, at);
        p->constants = moved;
        d->constant_capacity = larger;
    }
    return at | CPU_CONSTANT_SLOT;
}

static void materialise(decoder *d, tile_value value, uint32_t slot) {
    const tile_value_data *data = tile_value_at(d->f, value);
    uint8_t *at = d->program->constants + (slot & ~CPU_CONSTANT_SLOT);
    unsigned size = cpu_value_size(data->type);
    if (data->expr->kind != TILE_EXPR_INT && data->expr->kind != TILE_EXPR_FLOAT) {
        FAIL(d, d->f->loc, "kernel @%s still has compile-time parameters: instantiate it first",
             d->f->name);
        return;
    }
    for (unsigned lane = 0; lane < d->program->lanes; lane++)
        if (data->expr->kind == TILE_EXPR_FLOAT)
            tile_number_write(data->type->scalar, at + lane * size, data->expr->number);
        else
            tile_integer_write(data->type->scalar, at + lane * size, data->expr->integer);
}

static uint32_t slot_of(decoder *d, tile_value value) {
    const tile_value_data *data = tile_value_at(d->f, value);
    if (d->slots[value.id] == CPU_NO_SLOT && data->kind == TILE_VALUE_CONSTANT) {
        d->slots[value.id] = add_constant(d, data->type);
        materialise(d, value, d->slots[value.id]);
    }
    return d->slots[value.id];
}

static const tile_type *operand_type(const decoder *d, tile_op op, unsigned operand) {
    unsigned count;
    const tile_value *values = tile_op_segment(d->f, op, operand, &count);
    return count ? tile_value_type(d->f, values[0]) : NULL;
}

static const tile_type *result_type(const decoder *d, tile_op op) {
    return tile_value_type(d->f, tile_op_result(d->f, op, 0));
}

/* Instructions ------------------------------------------------------------------------------------- */

/* Valid until the next one is added. */
static cpu_insn *add_insn(decoder *d, tile_op op, cpu_handler handler) {
    cpu_program *p = d->program;
    const tile_op_data *data = tile_op_at(d->f, op);
    p->insns = tile_arena_grow(&p->arena, p->insns, p->insn_count, &d->insn_capacity, sizeof *p->insns);
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

/* Elements that the instruction handles: those of a value of this type. */
static void set_elements(const decoder *d, cpu_insn *insn, const tile_type *type) {
    insn->scalar = type->scalar;
    insn->count = value_count(d, type);
    insn->size = cpu_value_size(type);
}

static uint32_t *slots_of(decoder *d, const tile_value *values, unsigned count) {
    uint32_t *slots = TILE_NEW_ARRAY(&d->program->arena, uint32_t, count);
    for (unsigned i = 0; i < count; i++)
        slots[i] = slot_of(d, values[i]);
    return slots;
}

/* An instruction with the operation's operands as the row says: heads go to operand[], the brackets of
 * the first element or list to index, those of the second one to second. */
static cpu_insn *add_op(decoder *d, tile_op op, cpu_handler handler) {
    cpu_insn *insn = add_insn(d, op, handler);
    const tile_op_info *info = tile_op_get_info(insn->opcode);
    bool first = true;
    for (unsigned i = 0; i < info->operand_count && i < 3; i++) {
        unsigned count, heads = info->operands[i].form <= TILE_FORM_element;
        const tile_value *values = tile_op_segment(d->f, op, i, &count);
        if (heads && count) {
            const tile_value_data *data = tile_value_at(d->f, values[0]);
            insn->operand[i] = slot_of(d, values[0]);
            if (data->type->kind == TILE_TYPE_SHARED)
                insn->name = data->name ? data->name : insn->name;
        }
        if (info->operands[i].form < TILE_FORM_element)
            continue;
        uint32_t tail = count > heads ? count - heads : 0;
        *(first ? &insn->index : &insn->second) = slots_of(d, values + heads, tail);
        *(first ? &insn->index_count : &insn->second_count) = tail;
        first = false;
    }
    if (tile_op_at(d->f, op)->result_count)
        insn->result = slot_of(d, tile_op_result(d->f, op, 0));
    return insn;
}
_Static_assert(TILE_FORM_value < TILE_FORM_element && TILE_FORM_optional < TILE_FORM_element &&
                   TILE_FORM_list > TILE_FORM_element,
               "forms with a head come first, element last of them");

static void add_move(decoder *d, tile_op op, tile_value from, uint32_t to) {
    const tile_type *type = tile_value_type(d->f, from);
    uint32_t slot = slot_of(d, from);
    if (slot == to)
        return;
    cpu_insn *insn = add_insn(d, op, cpu_run_move);
    set_elements(d, insn, type);
    insn->operand[0] = slot;
    insn->result = to;
}

/* Arithmetic --------------------------------------------------------------------------------------- */

static void decode_arith(decoder *d, tile_op op) {
    const tile_type *type = operand_type(d, op, 0);
    cpu_insn *insn = add_op(d, op, NULL);
    set_elements(d, insn, type);
    insn->handler = cpu_arith_handler(insn->opcode, type->scalar, type->scalar);
}

/* Those whose elements are the result's. */
static void decode_convert(decoder *d, tile_op op) {
    const tile_type *type = result_type(d, op), *from = operand_type(d, op, 0);
    cpu_insn *insn = add_op(d, op, cpu_arith_handler((tile_opcode)tile_op_at(d->f, op)->opcode,
                                                     type->scalar, from->scalar));
    set_elements(d, insn, type);
    insn->from = from->scalar;
    insn->flag = from->kind == TILE_TYPE_SCALAR;
}

/* Regions ------------------------------------------------------------------------------------------ */

static void decode_region(decoder *d, tile_region region);

static void enter_masks(decoder *d, unsigned count) {
    d->depth += count;
    if (d->depth > d->program->mask_depth)
        d->program->mask_depth = d->depth;
}

static void decode_for(decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    tile_region body = data->regions[0];
    bool pipelined = tile_op_has_attr(d->f, op, TILE_ATTR_pipelined);
    for (uint32_t i = 0; i < data->result_count; i++)
        add_move(d, op, data->operands[3 + i], slot_of(d, tile_op_result(d->f, op, i)));
    uint32_t counter = slot_of(d, tile_region_arg(d->f, body, 0));
    add_op(d, op, cpu_run_loop_enter)->result = counter;
    enter_masks(d, 1);
    d->pipelined += pipelined;
    uint32_t test = d->program->insn_count;
    add_op(d, op, cpu_run_loop_test)->result = counter;
    decode_region(d, body);
    cpu_insn *next = add_op(d, op, cpu_run_loop_next);
    next->result = counter;
    next->target = test;
    d->program->insns[test].target = d->program->insn_count;
    add_insn(d, op, cpu_run_region_end);
    d->pipelined -= pipelined;
    d->depth--;
}

static void decode_if(decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    uint32_t branch = d->program->insn_count;
    add_op(d, op, cpu_run_if);
    enter_masks(d, 2);
    decode_region(d, data->regions[0]);
    uint32_t otherwise = d->program->insn_count;
    d->program->insns[branch].target = otherwise;
    add_insn(d, op, cpu_run_else);
    decode_region(d, data->regions[1]);
    d->program->insns[otherwise].target = d->program->insn_count;
    add_insn(d, op, cpu_run_region_end);
    d->depth -= 2;
}

/* Whether a slot is one that the parent's moves write, at another place than this one. */
static bool is_overwritten(decoder *d, tile_op parent, uint32_t slot, uint32_t position) {
    for (uint32_t i = 0; i < tile_op_at(d->f, parent)->result_count; i++)
        if (i != position && slot_of(d, tile_op_result(d->f, parent, i)) == slot)
            return true;
    return false;
}

/* A yield moves all its values at once: those that another move would overwrite go aside first. */
static void decode_yield(decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    tile_op parent = tile_region_at(d->f, data->parent)->parent;
    uint32_t *aside = TILE_NEW_ARRAY(&d->scratch, uint32_t, data->operand_count);
    uint32_t end = d->temporary;
    for (uint32_t i = 0; i < data->operand_count; i++) {
        const tile_type *type = tile_value_type(d->f, data->operands[i]);
        aside[i] = CPU_NO_SLOT;
        if (!is_overwritten(d, parent, slot_of(d, data->operands[i]), i))
            continue;
        aside[i] = end;
        end += (value_count(d, type) * cpu_value_size(type) + CPU_SLOT_ALIGN - 1) / CPU_SLOT_ALIGN *
               CPU_SLOT_ALIGN;
        add_move(d, op, data->operands[i], aside[i]);
    }
    if (end > d->program->frame_bytes)
        d->program->frame_bytes = end;
    for (uint32_t i = 0; i < data->operand_count; i++) {
        uint32_t to = slot_of(d, tile_op_result(d->f, parent, i));
        uint32_t count = d->program->insn_count;
        add_move(d, op, data->operands[i], to);
        if (aside[i] != CPU_NO_SLOT && d->program->insn_count > count)
            d->program->insns[count].operand[0] = aside[i];
    }
}

/* Rows without results. */
static void decode_none(decoder *d, tile_op op) {
    int64_t pending = 0;
    switch (tile_op_at(d->f, op)->opcode) {
    case TILE_OP_yield: decode_yield(d, op); break;
    case TILE_OP_commit_group: add_op(d, op, cpu_run_commit_group); break;
    case TILE_OP_wait_group:
        if (!tile_value_is_int(d->f, tile_op_operand(d->f, op, 0), &pending))
            FAIL(d, tile_op_loc(d->f, op), "wait_group: how many may be pending is not known yet");
        add_op(d, op, cpu_run_wait_group)->integer = pending;
        break;
    case TILE_OP_sync: add_op(d, op, cpu_run_sync); break;
    default: break; /* free_shared */
    }
}

/* Ids and references ------------------------------------------------------------------------------- */

static void decode_index(decoder *d, tile_op op) {
    add_op(d, op, cpu_run_thread_id);
}

static void decode_index3(decoder *d, tile_op op) {
    bool block = tile_op_at(d->f, op)->opcode == TILE_OP_block_id;
    for (unsigned dim = 0; dim < 3; dim++) {
        cpu_insn *insn = add_insn(d, op, block ? cpu_run_block_id : cpu_run_grid_dim);
        insn->result = slot_of(d, tile_op_result(d->f, op, dim));
        insn->integer = dim;
    }
}

static void decode_view(decoder *d, tile_op op) {
    unsigned count;
    const tile_value *strides = tile_op_segment(d->f, op, 2, &count);
    int64_t *sizes = TILE_NEW_ARRAY(&d->program->arena, int64_t, count);
    for (unsigned i = 0; i < count; i++)
        sizes[i] = cpu_value_size(tile_value_type(d->f, strides[i]));
    cpu_insn *insn = add_op(d, op, cpu_run_view);
    insn->second = slots_of(d, strides, count);
    insn->order = sizes;
    insn->type = result_type(d, op);
}

static void decode_scratch(decoder *d, tile_op op) {
    unsigned count;
    const tile_value *extents = tile_op_segment(d->f, op, 0, &count);
    cpu_program *p = d->program;
    size_t capacity = p->scratch_count; /* scratch is rare: the array grows by one */
    cpu_insn *insn = add_op(d, op, cpu_run_scratch);
    insn->type = result_type(d, op);
    insn->integer = p->scratch_count;
    p->scratch = tile_arena_grow(&p->arena, p->scratch, p->scratch_count, &capacity, sizeof *p->scratch);
    cpu_scratch *scratch = &p->scratch[p->scratch_count++];
    *scratch = (cpu_scratch){.rank = count,
                             .element_bytes = tile_scalar_bytes(insn->type->scalar),
                             .clean = tile_op_has_attr(d->f, op, TILE_ATTR_clean),
                             .loc = insn->loc};
    for (unsigned i = 0; i < count && i < TILE_MAX_RANK; i++)
        if (!(scratch->extents[i] = tile_value_as_expr(d->f, extents[i])))
            FAIL(d, scratch->loc, "scratch: extent %u depends on more than the kernel's arguments", i + 1);
}

static void decode_given_shared(decoder *d, tile_op op) {
    cpu_insn *insn = add_op(d, op, cpu_run_alloc_shared);
    insn->type = result_type(d, op);
    insn->integer = d->shared_at[op.id];
}

/* Level 2 ------------------------------------------------------------------------------------------ */

static void decode_access(decoder *d, tile_op op, cpu_handler handler, const tile_type *tile,
                          const tile_type *memory) {
    cpu_insn *insn = add_op(d, op, handler);
    set_elements(d, insn, tile);
    insn->type = tile;
    insn->memory = memory;
}

static void decode_load(decoder *d, tile_op op) {
    decode_access(d, op, cpu_run_load, result_type(d, op), operand_type(d, op, 0));
}

static void decode_store(decoder *d, tile_op op) {
    decode_access(d, op, cpu_run_store, operand_type(d, op, 0), operand_type(d, op, 1));
}

static void decode_load_shared(decoder *d, tile_op op) {
    decode_access(d, op, cpu_run_load_shared, result_type(d, op), operand_type(d, op, 0));
}

static void decode_store_shared(decoder *d, tile_op op) {
    decode_access(d, op, cpu_run_store_shared, operand_type(d, op, 0), operand_type(d, op, 1));
}

/* In a pipelined loop, whose groups the pipeline pass will make, copy_async means a copy. */
static void decode_copy(decoder *d, tile_op op) {
    bool from_view = operand_type(d, op, 0)->kind == TILE_TYPE_VIEW;
    bool async = tile_op_at(d->f, op)->opcode == TILE_OP_copy_async && !d->pipelined;
    cpu_insn *insn = add_op(d, op, async ? cpu_run_copy_async : cpu_run_copy);
    insn->type = insn->memory = operand_type(d, op, from_view ? 1 : 0);
    insn->flag = from_view;
    if (!from_view) {
        cpu_insn was = *insn;
        insn->index = was.second;
        insn->index_count = was.second_count;
        insn->second = was.index;
        insn->second_count = was.index_count;
    }
}

static void decode_dot(decoder *d, tile_op op) {
    cpu_insn *insn = add_op(d, op, cpu_run_dot);
    insn->type = operand_type(d, op, 0);
    insn->memory = operand_type(d, op, 1);
    insn->from = insn->type->scalar;
    set_elements(d, insn, result_type(d, op));
}

static void decode_convert_layout(decoder *d, tile_op op) {
    add_move(d, op, tile_op_operand(d->f, op, 0), slot_of(d, tile_op_result(d->f, op, 0)));
}

static void decode_semaphore(decoder *d, tile_op op) {
    bool lock = tile_op_at(d->f, op)->opcode == TILE_OP_lock_semaphore;
    add_op(d, op, lock ? cpu_run_lock_semaphore : cpu_run_release_semaphore);
}

/* Level 3 ------------------------------------------------------------------------------------------ */

static void decode_extract(decoder *d, tile_op op) {
    cpu_insn *insn = add_op(d, op, cpu_run_extract);
    set_elements(d, insn, result_type(d, op));
    tile_value_is_int(d->f, tile_op_operand(d->f, op, 1), &insn->integer);
}

static void decode_concat(decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    uint32_t *counts = TILE_NEW_ARRAY(&d->program->arena, uint32_t, data->operand_count);
    for (uint32_t i = 0; i < data->operand_count; i++)
        counts[i] = cpu_value_elements(tile_value_type(d->f, data->operands[i]));
    cpu_insn *insn = add_op(d, op, cpu_run_concat);
    set_elements(d, insn, result_type(d, op));
    insn->second = counts;
}

static void decode_shuffle(decoder *d, tile_op op) {
    const tile_attr *order = tile_op_attr(d->f, op, TILE_ATTR_order);
    cpu_insn *insn = add_op(d, op, cpu_run_shuffle);
    set_elements(d, insn, result_type(d, op));
    insn->order = tile_arena_copy(&d->program->arena, order->list, sizeof(int64_t) * order->count);
}

/* An access of a fragment; from is the type of a pointer's index. */
static cpu_insn *add_access(decoder *d, tile_op op, cpu_handler handler, const tile_type *fragment,
                            unsigned memory_operand) {
    unsigned count;
    const tile_value *values = tile_op_segment(d->f, op, memory_operand, &count);
    cpu_insn *insn = add_op(d, op, handler);
    set_elements(d, insn, fragment);
    insn->type = fragment;
    insn->memory = tile_value_type(d->f, values[0]);
    insn->from = count > 1 ? tile_value_type(d->f, values[1])->scalar : TILE_i32;
    return insn;
}

static void decode_ld_global(decoder *d, tile_op op) {
    add_access(d, op, cpu_run_ld_global, result_type(d, op), 0);
}

static void decode_st_global(decoder *d, tile_op op) {
    add_access(d, op, cpu_run_st_global, operand_type(d, op, 0), 1);
}

static void decode_ld_shared(decoder *d, tile_op op) {
    add_access(d, op, cpu_run_ld_shared, result_type(d, op), 0);
}

static void decode_st_shared(decoder *d, tile_op op) {
    add_access(d, op, cpu_run_st_shared, operand_type(d, op, 0), 1);
}

static void decode_ldmatrix(decoder *d, tile_op op) {
    add_access(d, op, cpu_run_ldmatrix, result_type(d, op), 0)->flag =
        tile_op_has_attr(d->f, op, TILE_ATTR_trans);
}

static void decode_mma(decoder *d, tile_op op) {
    cpu_insn *insn = add_op(d, op, cpu_run_mma);
    set_elements(d, insn, result_type(d, op));
    insn->from = operand_type(d, op, 0)->scalar;
}

static void decode_cp_async(decoder *d, tile_op op) {
    const tile_type *pointer = operand_type(d, op, 0);
    cpu_insn *insn = add_access(d, op, cpu_run_cp_async, pointer, 0);
    insn->size = tile_scalar_bytes(pointer->scalar);
    insn->memory = operand_type(d, op, 1);
    insn->integer = tile_op_attr_int(d->f, op, TILE_ATTR_bytes, 16);
}

static void decode_word(decoder *d, tile_op op) {
    bool wait = tile_op_at(d->f, op)->opcode == TILE_OP_wait_acquire;
    cpu_insn *insn = add_access(d, op, wait ? cpu_run_wait_acquire : cpu_run_st_release,
                                operand_type(d, op, 1), 0);
    insn->size = sizeof(int32_t);
}

/* Dispatch: each row's rule names the function that decodes it. ------------------------------------ */

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
#define RULE_index decode_index
#define RULE_index3 decode_index3
#define RULE_view decode_view
#define RULE_scratch decode_scratch
#define RULE_given_shared decode_given_shared
#define RULE_load decode_load
#define RULE_store decode_store
#define RULE_load_shared decode_load_shared
#define RULE_store_shared decode_store_shared
#define RULE_copy decode_copy
#define RULE_dot decode_dot
#define RULE_convert_layout decode_convert_layout
#define RULE_semaphore decode_semaphore
#define RULE_extract decode_extract
#define RULE_concat decode_concat
#define RULE_shuffle decode_shuffle
#define RULE_ld_global decode_ld_global
#define RULE_st_global decode_st_global
#define RULE_ld_shared decode_ld_shared
#define RULE_st_shared decode_st_shared
#define RULE_ldmatrix decode_ldmatrix
#define RULE_mma decode_mma
#define RULE_cp_async decode_cp_async
#define RULE_word decode_word

typedef void (*decode_function)(decoder *d, tile_op op);

static const decode_function decoders[TILE_OPCODE_LIMIT] = {
#define OP(number, name, levels, operands, attrs, rule, effects, meaning) [number] = RULE_##rule,
#include "tile/ops.def"
#undef OP
};

static void decode_op(decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    const tile_op_info *info = tile_op_get_info((tile_opcode)data->opcode);
    unsigned level = d->program->level == 2 ? TILE_LEVEL_2 : TILE_LEVEL_3;
    if (!(info->levels & level) || !decoders[data->opcode])
        FAIL(d, data->loc, "%s cannot be executed at level %u", info->name, d->program->level);
    else
        decoders[data->opcode](d, op);
}

static void decode_region(decoder *d, tile_region region) {
    TILE_FOR_EACH_OP(d->f, op, region) {
        if (!d->failed)
            decode_op(d, op);
    }
}

/* Before decoding ---------------------------------------------------------------------------------- */

/* Everything must be of known and sane size. */
static void check_values(decoder *d) {
    for (uint32_t id = 1; id < d->f->value_count && !d->failed; id++) {
        const tile_type *type = d->f->values[id].type;
        bool array = type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_VECTOR;
        int64_t elements = array ? tile_type_elements(type) : 1;
        if (elements < 0 || type->param)
            FAIL(d, d->f->loc, "kernel @%s still has compile-time parameters: instantiate it first",
                 d->f->name);
        else if (elements * cpu_value_size(type) * d->program->lanes > MAX_VALUE_BYTES)
            FAIL(d, d->f->loc, "kernel @%s has a value of %" PRId64 " elements, too many to execute",
                 d->f->name, elements);
    }
}

typedef struct shared_walk {
    decoder *d;
    bool placed; /* look at those that have an offset, then at the others */
    int64_t end, smallest;
} shared_walk;

static void place_shared(tile_function *f, tile_op op, void *user) {
    shared_walk *walk = user;
    if (tile_op_opcode(f, op) != TILE_OP_alloc_shared ||
        tile_op_has_attr(f, op, TILE_ATTR_offset) != walk->placed)
        return;
    const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
    int64_t elements = tile_type_elements(type), slots = tile_type_slot_count(type);
    int64_t size = tile_scalar_bytes(type->scalar);
    int64_t aligned = (walk->end + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
    int64_t offset = tile_op_attr_int(f, op, TILE_ATTR_offset, aligned);
    if (elements < 1 || slots < 1 || offset < 0 || offset + elements * slots * size > MAX_SHARED_BYTES) {
        FAIL(walk->d, tile_op_loc(f, op), "alloc_shared: the buffer is too large to execute");
        return;
    }
    walk->d->shared_at[op.id] = (uint32_t)offset;
    walk->smallest = size < walk->smallest ? size : walk->smallest;
    if (offset + elements * slots * size > walk->end)
        walk->end = offset + elements * slots * size;
}

static void place_all_shared(decoder *d, tile_function *f) {
    shared_walk walk = {.d = d, .smallest = 16};
    d->shared_at = TILE_NEW_ARRAY(&d->scratch, uint32_t, f->op_count);
    for (int pass = 0; pass < 2; pass++) {
        walk.placed = pass == 0;
        tile_walk(f, f->body, place_shared, &walk);
    }
    d->program->shared_bytes = (uint32_t)(walk.end + 15) / 16 * 16;
    while (1 << d->program->granule_bits < walk.smallest)
        d->program->granule_bits++;
}

static void find_pipelined(tile_function *f, tile_op op, void *user) {
    *(bool *)user |= tile_op_has_attr(f, op, TILE_ATTR_pipelined);
}

static void place_values(decoder *d) {
    const tile_function *f = d->f;
    d->slots = TILE_NEW_ARRAY(&d->scratch, uint32_t, f->value_count);
    for (uint32_t id = 0; id < f->value_count; id++)
        d->slots[id] = CPU_NO_SLOT;
    uint64_t bytes = cpu_assign_slots(f, d->program->lanes, d->slots, &d->scratch);
    if (bytes > max_frame_bytes)
        FAIL(d, f->loc, "kernel @%s needs %" PRIu64 " bytes of registers, too many to execute", f->name,
             bytes);
    d->temporary = d->program->frame_bytes = (uint32_t)bytes;
    d->program->arg_slots = TILE_NEW_ARRAY(&d->program->arena, uint32_t, f->arg_count);
    for (size_t i = 0; i < f->arg_count; i++) {
        d->slots[f->args[i].value.id] = add_constant(d, f->args[i].type);
        d->program->arg_slots[i] = d->slots[f->args[i].value.id];
    }
}

static void decode_function_body(decoder *d, tile_function *f) {
    int64_t warps;
    bool pipelined = false;
    cpu_program *p = d->program;
    if (!tile_expr_is_int(f->warps, &warps) || warps < 1 || warps > 32) {
        FAIL(d, f->loc, "kernel @%s: the number of warps is not known", f->name);
        return;
    }
    p->warps = p->level == 2 ? 1 : (unsigned)warps;
    tile_walk(f, f->body, find_pipelined, &pipelined);
    d->own_order = !f->sync_explicit || pipelined;
    check_values(d);
    if (!d->failed)
        place_all_shared(d, f);
    if (!d->failed)
        place_values(d);
    if (!d->failed)
        decode_region(d, f->body);
    p->insns = tile_arena_grow(&p->arena, p->insns, p->insn_count, &d->insn_capacity, sizeof *p->insns);
    p->insns[p->insn_count++] = (cpu_insn){.handler = cpu_run_end, .name = "", .loc = f->loc};
}

cpu_program *cpu_program_create(tile_function *function, unsigned level) {
    cpu_program *program = tile_malloc(sizeof *program);
    *program = (cpu_program){
        .function = function, .level = level, .lanes = level == 2 ? 1 : CPU_LANES};
    decoder d = {.program = program, .f = function};
    decode_function_body(&d, function);
    tile_arena_reset(&d.scratch);
    if (!d.failed)
        return program;
    cpu_program_destroy(program);
    return NULL;
}

void cpu_program_destroy(cpu_program *program) {
    if (!program)
        return;
    tile_arena_reset(&program->arena);
    free(program);
}
