/* Decoding a kernel to a program: operands become places, regions become jumps. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/ir/regions.h"
#include "lib/launch/abi.h"
#include "lib/support/scalar.h"
#include "runtime/cpu/decode/decode.h"

/* Arithmetic ----------------------------------------------------------------------------------- */

/* cast, bitcast, select and splat process the result's elements, all others those of the
 * operands. */
void cpu_decode_elementwise(cpu_decoder *d, tile_op op) {
    const tile_type *from = tile_value_type(d->f, tile_first_operand(d->f, op)),
                    *to = cpu_result_type(d, op);
    tile_opcode opcode = tile_op_opcode(d->f, op);
    bool compares = tile_op_has_trait(opcode, TILE_TRAIT_COMPARE);
    const tile_type *type = compares ? from : to;
    bool plain = !tile_op_at(d->f, op)->attr_count;
    bool has_bodies = d->program->level == 3 && !d->program->host_math;
    cpu_handler math = has_bodies ? cpu_math_handler(opcode) : NULL;
    cpu_handler arith = cpu_arith_handler(opcode, type->scalar, from->scalar, plain);
    cpu_insn *insn = cpu_add_op(d, op, math ? math : arith);
    cpu_set_elements(d, insn, type);
    insn->from = from->scalar;
    insn->arith_flags = tile_op_arith_flags(d->f, op);
    insn->flag = math ? tile_op_has_attr(d->f, op, TILE_ATTR_fast) : from->kind == TILE_TYPE_SCALAR;
    if (!insn->handler)
        CPU_FAIL(d, insn->loc, "%s is not defined for elements of %s", tile_opcode_spelling(opcode),
                 tile_scalar_name(type->scalar));
}

/* Regions -------------------------------------------------------------------------------------- */

static void decode_region(cpu_decoder *d, tile_region region);

static void enter_masks(cpu_decoder *d, unsigned count) {
    d->depth += count;
    if (d->depth > d->program->mask_depth) d->program->mask_depth = d->depth;
}

/* Moves the initial values to the places of region arguments and results. */
static void move_inits(cpu_decoder *d, tile_op op) {
    for (unsigned i = 0; i < tile_carried_count(d->f, op); i++)
        cpu_add_move(d, op, tile_carried_sent(d->f, op, TILE_PARENT_OP, i),
                     cpu_place_of(d, tile_op_result(d->f, op, i)));
}

void cpu_decode_for(cpu_decoder *d, tile_op op) {
    tile_region body = tile_op_region(d->f, op, 0);
    bool pipelined = tile_op_has_attr(d->f, op, TILE_ATTR_pipelined);
    move_inits(d, op);
    uint32_t counter = cpu_place_of(d, tile_region_arg(d->f, body, 0));
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

void cpu_decode_if(cpu_decoder *d, tile_op op) {
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

/* Decodes the region in place. Only its own barriers order its accesses. */
void cpu_decode_sync_explicit(cpu_decoder *d, tile_op op) {
    bool outside = d->own_order;
    d->own_order = false;
    decode_region(d, tile_op_region(d->f, op, 0));
    d->own_order = outside;
}

void cpu_decode_while(cpu_decoder *d, tile_op op) {
    move_inits(d, op);
    cpu_add_insn(d, op, cpu_run_while_enter);
    enter_masks(d, 1);
    uint32_t head = d->program->insn_count;
    decode_region(d, tile_op_region(d->f, op, 0));
    uint32_t test = d->program->insn_count;
    cpu_add_insn(d, op, cpu_run_while_test)->operand[0] = d->decision;
    decode_region(d, tile_op_region(d->f, op, 1));
    cpu_add_insn(d, op, cpu_run_repeat)->target = head;
    d->program->insns[test].target = d->program->insn_count;
    cpu_add_insn(d, op, cpu_run_region_end);
    d->depth--;
}

void cpu_decode_parallel(cpu_decoder *d, tile_op op) {
    d->parallel_extents = cpu_parallel_extents(d, op);
    if (!d->parallel_extents) return;
    d->parallel_rank = tile_op_operand_count(d->f, op);
    cpu_enter_parallel(d, op, cpu_add_insn(d, op, cpu_run_parallel_enter));
    uint32_t body = d->program->insn_count;
    decode_region(d, tile_op_region(d->f, op, 0));
    cpu_insn *next = cpu_add_insn(d, op, cpu_run_parallel_next);
    cpu_enter_parallel(d, op, next);
    next->target = body;
    d->parallel_rank = 0;
}

/* The warps, or agents, of each region jump to it. */
void cpu_decode_roles(cpu_decoder *d, tile_op op) {
    unsigned count = tile_op_at(d->f, op)->region_count;
    uint32_t *ends = TILE_NEW_ARRAY(&d->scratch, uint32_t, count + 1u);
    cpu_role *roles = TILE_NEW_ARRAY(&d->program->arena, cpu_role, count + 1u);
    cpu_insn *insn = cpu_add_insn(d, op, cpu_run_roles);
    insn->roles = roles;
    insn->second_count = count;
    for (unsigned r = 0; r < count; r++) {
        tile_executors who = tile_executors_of_role(d->f, op, r);
        tile_region region = tile_op_region(d->f, op, r);
        roles[r] = (cpu_role){who.first, who.warps, who.groups, d->program->insn_count,
                              cpu_place_of(d, tile_region_arg(d->f, region, 0))};
        if (!who.warps)
            CPU_FAIL(d, tile_op_loc(d->f, op), "roles: the warps of a region are not known yet");
        decode_region(d, region);
        ends[r] = d->program->insn_count;
        cpu_add_insn(d, op, cpu_run_role_end);
    }
    for (unsigned r = 0; r < count; r++) d->program->insns[ends[r]].target = d->program->insn_count;
}

/* Returns whether the place is written by one of the parent's moves other than that of carried
 * value i. */
static bool is_overwritten(cpu_decoder *d, tile_op parent, uint32_t place, uint32_t i) {
    for (uint32_t k = 0; k < tile_op_at(d->f, parent)->result_count; k++)
        if (k != i && cpu_place_of(d, tile_op_result(d->f, parent, k)) == place) return true;
    return false;
}

/* A yield moves all values simultaneously: values that another move would overwrite are first
 * copied aside. A condition, which precedes the carried values, keeps its place or is copied
 * aside. */
void cpu_decode_yield(cpu_decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    tile_op parent = tile_op_parent(d->f, op);
    if (tile_shape_of(d->f, parent) == TILE_SHAPE_ELEMENTS) {
        cpu_put_elements(d, op, parent);
        return;
    }
    uint32_t own = data->operand_count - tile_carried_count(d->f, parent), end = d->temporary;
    uint32_t *aside = TILE_NEW_ARRAY(&d->scratch, uint32_t, data->operand_count);
    bool finite = tile_op_has_attr(d->f, parent, TILE_ATTR_finite);
    for (uint32_t i = 0; i < data->operand_count; i++) {
        const tile_type *type = tile_value_type(d->f, data->operands[i]);
        if (finite) cpu_decode_finite(d, op, data->operands[i]);
        uint32_t place = cpu_place_of(d, data->operands[i]);
        aside[i] = CPU_NO_PLACE;
        if (!is_overwritten(d, parent, place, i < own ? UINT32_MAX : i - own)) continue;
        aside[i] = end;
        end += cpu_value_place_bytes(type, d->program->lanes);
        cpu_add_move(d, op, data->operands[i], aside[i]);
    }
    if (end > d->program->frame_bytes) d->program->frame_bytes = end;
    for (uint32_t i = own; i < data->operand_count; i++) {
        uint32_t to = cpu_place_of(d, tile_op_result(d->f, parent, i - own));
        uint32_t from = cpu_place_of(d, data->operands[i]), move = d->program->insn_count;
        cpu_add_move(d, op, data->operands[i], to);
        for (; aside[i] != CPU_NO_PLACE && move < d->program->insn_count; move++)
            if (d->program->insns[move].operand[0] == from)
                d->program->insns[move].operand[0] = aside[i];
    }
    if (!own) return;
    d->decision =
        aside[0] != CPU_NO_PLACE ? aside[0] : cpu_place_of(d, tile_first_operand(d->f, op));
}

/* Order ---------------------------------------------------------------------------------------- */

void cpu_decode_pdl_wait(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_pdl_wait);
}

/* The start of the next launch is not simulated: it counts as immediate. */
void cpu_decode_pdl_trigger(cpu_decoder *d, tile_op op) {
    (void)d;
    (void)op;
}

void cpu_decode_fence(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_fence);
    d->program->fences = true;
}

void cpu_decode_fence_async(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_fence_async);
}

void cpu_decode_commit_group(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_commit_group);
}

void cpu_decode_wait_group(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_wait_group)->integer = cpu_pending_count(d, op);
}

void cpu_decode_uniform(cpu_decoder *d, tile_op op) {
    const tile_type *type = cpu_result_type(d, op);
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_uniform);
    cpu_set_elements(d, insn, type);
    insn->integer = d->program->uniform_count; /* the numbers of its groups are consecutive */
    d->program->uniform_count += tile_executors_of(d->f, op).groups;
}

static const int64_t *barrier_numbers(cpu_decoder *d, tile_op op) {
    unsigned groups = tile_executors_of(d->f, op).groups;
    int64_t *numbers = TILE_NEW_ARRAY(&d->program->arena, int64_t, groups + 1u);
    for (unsigned g = 0; g < groups; g++) numbers[g] = tile_barrier_of(d->f, op, g).number;
    return numbers;
}

void cpu_decode_sync(cpu_decoder *d, tile_op op) {
    tile_barrier barrier = tile_barrier_of(d->f, op, 0);
    cpu_insn *insn = cpu_add_insn(d, op, cpu_run_sync);
    insn->order = barrier_numbers(d, op);
    insn->count = barrier.warps;
    insn->flag = insn->opcode == TILE_OP_sync_arrive;
    if (!barrier.warps)
        CPU_FAIL(d, insn->loc, "%s: the number of participating warps is not known yet",
                 tile_op_name(d->f, op));
}

void cpu_decode_sync_arrive(cpu_decoder *d, tile_op op) {
    cpu_decode_sync(d, op);
}

void cpu_decode_cluster_arrive(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_cluster_arrive)->flag = tile_op_has_attr(d->f, op, TILE_ATTR_relaxed);
}

void cpu_decode_cluster_wait(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_cluster_wait);
}

/* Nothing to execute: the placement of buffers decides which one has the bytes. */
void cpu_decode_free_shared(cpu_decoder *d, tile_op op) {
    (void)d;
    (void)op;
}

/* Dispatch: the name of a row is that of the function that decodes it, if its levels have code.
 * - */

typedef void (*decode_function)(cpu_decoder *d, tile_op op);

static const decode_function decoders[TILE_OPCODE_LIMIT] = {
#define DECODER_L0(name) NULL /* runtime/launch/plan.c */
#define DECODER_L1(name) NULL /* runtime/reference/compute.c */
#define DECODER_L2(name) cpu_decode_##name
#define DECODER_L12(name) cpu_decode_##name
#define DECODER_L123(name) cpu_decode_##name
#define DECODER_INLINED(name) NULL
#define DECODER_EXPANDED(name) NULL
#define DECODER_L3(name) cpu_decode_##name
#define DECODER_L23(name) cpu_decode_##name
#define DECODER_L023(name) cpu_decode_##name
#define DECODER_LX(name) cpu_decode_##name
#define OP(number, name, levels, ...) [number] = DECODER_##levels(name),
#define ELEMENTWISE_OP(number, name, ...) [number] = cpu_decode_elementwise,
#include "tile/ops.def"
};

static void decode_with_poison(cpu_decoder *d, tile_op op) {
    cpu_check_poison_uses(d, op);
    uint32_t first = d->program->insn_count;
    decoders[tile_op_opcode(d->f, op)](d, op);
    cpu_propagate_poison(d, op, first);
}

static void decode_op(cpu_decoder *d, tile_op op) {
    if (d->mixed) {
        cpu_decode_mixed(d, op, decode_with_poison);
        return;
    }
    const tile_op_data *data = tile_op_at(d->f, op);
    const tile_op_info *info = tile_op_get_info((tile_opcode)data->opcode);
    unsigned level = d->program->level == 2 ? TILE_LEVEL_2 : TILE_LEVEL_3;
    if (!(info->levels & level) || !decoders[data->opcode])
        CPU_FAIL(d, data->loc, "%s cannot be executed at level %u", tile_op_spelling(info),
                 d->program->level);
    else
        decode_with_poison(d, op);
}

static void decode_region(cpu_decoder *d, tile_region region) {
    TILE_FOR_EACH_OP (d->f, op, region) {
        if (!d->failed) decode_op(d, op);
    }
}

/* The maximum number of groups that run concurrently in any role of the function. */
static unsigned most_groups(const tile_function *f) {
    unsigned most = 0;
    for (uint32_t id = 1; id < f->op_count; id++) {
        unsigned groups = 0;
        if (f->ops[id].opcode != TILE_OP_roles) continue;
        for (unsigned r = 0; r < f->ops[id].region_count; r++)
            groups += tile_executors_of_role(f, (tile_op){id}, r).groups;
        most = groups > most ? groups : most;
    }
    return most;
}

static void end_stream(cpu_decoder *d) {
    cpu_program *p = d->program;
    p->insns =
        tile_arena_grow(&p->arena, p->insns, p->insn_count, &d->insn_capacity, sizeof *p->insns);
    p->insns[p->insn_count++] = (cpu_insn){.handler = cpu_run_end, .name = "", .loc = d->f->loc};
}

/* Decodes the block's instructions, then those of the warps. */
static void decode_mixed(cpu_decoder *d, tile_function *f) {
    cpu_program *p = d->program;
    uint32_t *arg_places = p->arg_places, temporary = d->temporary, clean_place = d->clean_place;
    cpu_start_mixed(d, f);
    cpu_enter_stream(d, false, d->places);
    cpu_enter_stream(d, true, NULL);
    cpu_place_values(d);
    uint32_t *places = d->places, warps_temporary = d->temporary, warps_clean = d->clean_place;
    p->warps_arg_places = p->arg_places;
    p->arg_places = arg_places;
    cpu_enter_stream(d, true, places);
    cpu_enter_stream(d, false, NULL);
    d->temporary = temporary;
    d->clean_place = clean_place;
    decode_region(d, f->body);
    end_stream(d);
    p->warps_begin = p->insn_count;
    d->temporary = warps_temporary;
    d->clean_place = warps_clean;
    d->depth = d->pipelined = 0;
    cpu_enter_stream(d, true, NULL);
    decode_region(d, f->body);
    end_stream(d);
    cpu_program *of_warps = TILE_NEW(&p->arena, cpu_program);
    *of_warps = *p;
    p->of_warps = of_warps;
    cpu_enter_stream(d, false, NULL);
}

static void decode_function_body(cpu_decoder *d, tile_function *f) {
    unsigned warps = tile_executors_of_block(f).warps;
    bool pipelined = false;
    cpu_program *p = d->program;
    if (!warps) {
        CPU_FAIL(d, f->loc, "kernel @%s: the number of warps is not known", f->name);
        return;
    }
    if (!tile_cluster_extents(f, p->cluster)) {
        CPU_FAIL(d, f->loc,
                 "@%s: a cluster's extents must be constants and their product at most %d", f->name,
                 TILE_MAX_CLUSTER);
        return;
    }
    p->cluster_blocks = (unsigned)(p->cluster[0] * p->cluster[1] * p->cluster[2]);
    p->warps = warps;
    bool mixed = p->level == 2 && cpu_is_mixed(d, f);
    p->agents = p->level != 2 ? warps : 1 + (mixed ? warps : most_groups(f));
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        pipelined |= tile_op_has_attr(f, op, TILE_ATTR_pipelined);
    d->own_order = !f->sync_explicit || pipelined;
    cpu_find_poison(d);
    cpu_place_all(d, f);
    if (mixed && !d->failed) {
        decode_mixed(d, f);
    } else {
        if (!d->failed) decode_region(d, f->body);
        end_stream(d);
    }
}

cpu_program *cpu_program_create(tile_function *function, unsigned level, bool host_math) {
    cpu_program *program = tile_malloc(sizeof *program);
    *program = (cpu_program){.function = function,
                             .level = level,
                             .host_math = host_math,
                             .lanes = level == 2 ? 1 : CPU_LANES};
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
