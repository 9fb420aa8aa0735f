/* Level 2 kernels that contain operations of threads. Besides the block's agent, which is the last
 * one, each warp has an agent. All agents follow the program, each with its own instructions:
 *
 *     block's agent   operations on tiles, and uniform operations
 *     warps' agents   operations of threads, and uniform operations
 *
 * So all agents compute uniform scalars and execute uniform control flow. Only the warps execute
 * divergent control flow. Before each operation with an effect all agents are synchronized, as by
 * the barriers that the compiler inserts (this barrier is not counted). A result that only one side
 * can compute is copied to the other side: a scalar from a tile operation, a `uniform`, elements
 * of a tile that become a fragment, and vice versa.
 *
 * A tile is row-major in the frame of the block's agent. The layout in its type determines which
 * elements a thread reads from there. Level 3 does the same with registers. */
#include <string.h>

#include "lib/analysis/uniform.h"
#include "lib/ir/regions.h"
#include "lib/layout/layout.h"
#include "runtime/cpu/execute/poison.h"
#include "runtime/cpu/execute/decoding.h"

/* The agents that execute an operation. */
enum { BLOCK = 1, WARPS = 2 };

struct cpu_mixed {
    bool *divergent;             /* by value */
    unsigned stream;             /* that is decoded now: BLOCK or WARPS */
    unsigned streams_apart;      /* number of open branches that are divergent */
    bool elements;               /* in `parallel`, which only the block's agent runs */
    uint32_t *places[WARPS + 1]; /* by stream, by value */
};

/* Detection ----------------------------------------------------------------------------------- */

static bool is_between(tile_opcode opcode) {
    return opcode == TILE_OP_to_fragment || opcode == TILE_OP_from_fragment ||
           opcode == TILE_OP_coordinates;
}

static bool is_of_threads(tile_opcode opcode) {
    return is_between(opcode) || !(tile_op_get_info(opcode)->levels & TILE_LEVEL_2);
}

static bool is_explicit(const tile_function *f) {
    bool found = f->sync_explicit;
    for (uint32_t id = 1; id < f->op_count; id++)
        found |= f->ops[id].opcode == TILE_OP_sync_explicit || f->ops[id].opcode == TILE_OP_roles;
    return found;
}

bool cpu_is_mixed(cpu_decoder *d, tile_function *f) {
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_opcode opcode = (tile_opcode)f->ops[id].opcode;
        if (!opcode || !is_of_threads(opcode)) continue;
        if (!is_explicit(f)) return true;
        CPU_FAIL(d, f->ops[id].loc,
                 "%s: operations of threads in `roles` or `sync explicit` can be executed at level "
                 "3 only",
                 tile_opcode_spelling(opcode));
        return false;
    }
    return false;
}

/* Decoding ------------------------------------------------------------------------------------ */

/* The streams that have a value. */
static unsigned streams_of(const cpu_decoder *d, tile_value value) {
    const tile_type *type = tile_value_type(d->f, value);
    if (type->kind == TILE_TYPE_TILE) return BLOCK;
    if (type->kind == TILE_TYPE_VECTOR || d->mixed->divergent[value.id]) return WARPS;
    return BLOCK | WARPS;
}

bool cpu_stream_has(const cpu_decoder *d, tile_value value) {
    return !d->mixed || streams_of(d, value) & d->mixed->stream;
}

static unsigned streams_of_op(const cpu_decoder *d, tile_op op) {
    tile_opcode opcode = tile_op_opcode(d->f, op);
    const tile_op_info *info = tile_op_get_info(opcode);
    if (is_of_threads(opcode) || opcode == TILE_OP_uniform) return WARPS;
    if (opcode == TILE_OP_view || opcode == TILE_OP_im2col) return BLOCK | WARPS;
    if (info->traits & TILE_TRAIT_WHOLE_SET) return BLOCK;
    unsigned streams = BLOCK | WARPS;
    for (unsigned i = 0; i < tile_op_result_count(d->f, op); i++)
        streams &= streams_of(d, tile_op_result(d->f, op, i));
    for (unsigned i = 0; i < tile_op_operand_count(d->f, op); i++) {
        unsigned operand = streams_of(d, tile_op_operand(d->f, op, i));
        if (operand == BLOCK) return BLOCK;
        streams &= operand;
    }
    return streams == (BLOCK | WARPS) && info->effects & TILE_EFFECT_REPORT ? BLOCK : streams;
}

static bool decides_separately(const cpu_decoder *d, tile_op op) {
    for (unsigned i = 0; i < tile_control_operand_count(d->f, op); i++)
        if (d->mixed->divergent[tile_control_operand(d->f, op, i).id]) return true;
    return false;
}

static void add_join(cpu_decoder *d, tile_op op) {
    if (!d->mixed->streams_apart) cpu_add_insn(d, op, cpu_run_join_agents);
}

/* Copies elements of a value that the other stream has computed, after a synchronization. */
static void add_transfer(cpu_decoder *d, tile_op op, tile_value value, cpu_handler handler,
                         unsigned from) {
    const tile_type *type = tile_value_type(d->f, value);
    if (type->kind != TILE_TYPE_SCALAR && type->kind != TILE_TYPE_PTR) return;
    cpu_insn *insn = cpu_add_insn(d, op, handler);
    cpu_set_elements(d, insn, type);
    insn->operand[0] = d->mixed->places[from][value.id];
    insn->result = cpu_place_of(d, value);
}

static void exchange_results(cpu_decoder *d, tile_op op, unsigned streams) {
    bool any = false;
    for (unsigned i = 0; i < tile_op_result_count(d->f, op); i++)
        any |= streams_of(d, tile_op_result(d->f, op, i)) == (BLOCK | WARPS);
    if (!any || streams == (BLOCK | WARPS) || d->mixed->streams_apart) return;
    add_join(d, op);
    for (unsigned i = 0; i < tile_op_result_count(d->f, op); i++) {
        tile_value value = tile_op_result(d->f, op, i);
        if (streams_of(d, value) != (BLOCK | WARPS) || streams == d->mixed->stream) continue;
        add_transfer(d, op, value,
                     streams == BLOCK ? cpu_run_broadcast_to_warps : cpu_run_copy_from_first_warp,
                     streams);
    }
    add_join(d, op); /* then the source may reuse the place for the next value */
}

static bool check_streams(cpu_decoder *d, tile_op op, unsigned streams) {
    if (streams != BLOCK) return true;
    if (d->mixed->streams_apart) {
        CPU_FAIL(d, tile_op_loc(d->f, op),
                 "%s is in divergent control flow: all threads that execute it together must reach "
                 "it",
                 tile_op_name(d->f, op));
        return false;
    }
    for (unsigned i = 0; i < tile_op_operand_count(d->f, op); i++) {
        tile_value value = tile_op_operand(d->f, op, i);
        if (tile_value_type(d->f, value)->kind == TILE_TYPE_TILE || !d->mixed->divergent[value.id])
            continue;
        CPU_FAIL(d, tile_op_loc(d->f, op),
                 "%s: an operand differs between threads, and a tile operation takes uniform ones",
                 tile_op_name(d->f, op));
        return false;
    }
    return true;
}

/* The positions of elements in a tile, by warp, register and lane. */
static const uint32_t *fragment_places(cpu_decoder *d, const tile_type *tile) {
    const tile_layout *layout = tile->layout;
    uint32_t registers = tile_layout_registers(layout), warps = UINT32_C(1) << layout->warp_bits;
    uint32_t *table =
        TILE_NEW_ARRAY(&d->program->arena, uint32_t, (size_t)registers * CPU_LANES * warps);
    uint32_t *at = table;
    for (uint32_t warp = 0; warp < warps; warp++)
        for (uint32_t r = 0; r < registers; r++)
            for (uint32_t lane = 0; lane < CPU_LANES; lane++, at++) {
                uint32_t index = tile_layout_apply(layout, r, lane, warp);
                for (unsigned dim = 0; dim < layout->rank; dim++)
                    *at = *at * tile_layout_extent(layout, dim) +
                          tile_layout_coordinate(layout, index, dim);
            }
    return table;
}

/* The layout of a tile for the kernel's warps; NULL after a report. */
static const tile_type *laid_out(cpu_decoder *d, tile_op op, const tile_type *tile) {
    unsigned warps = tile_executors_of_block(d->f).warps;
    if (tile->layout && tile->layout->kind == TILE_LAYOUT_REGISTER &&
        UINT32_C(1) << tile->layout->warp_bits == warps)
        return tile;
    CPU_FAIL(d, tile_op_loc(d->f, op), "%s: the tile has no layout for the kernel's %u warps",
             tile_op_name(d->f, op), warps);
    return NULL;
}

static void decode_fragment(cpu_decoder *d, tile_op op, const tile_type *tile,
                            cpu_handler handler) {
    if (!laid_out(d, op, tile)) return;
    cpu_insn *insn = cpu_add_op(d, op, handler);
    cpu_set_elements(d, insn, tile);
    insn->type = tile;
    insn->count = tile_layout_registers(tile->layout) * CPU_LANES;
    insn->elements = fragment_places(d, tile);
}

void cpu_decode_to_fragment(cpu_decoder *d, tile_op op) {
    tile_value src = tile_operand_src(d->f, op);
    decode_fragment(d, op, tile_value_type(d->f, src), cpu_run_to_fragment);
    if (!d->failed)
        d->program->insns[d->program->insn_count - 1].operand[0] = d->mixed->places[BLOCK][src.id];
}

static void decode_to_tile(cpu_decoder *d, tile_op op, cpu_handler handler) {
    tile_value tile = tile_op_result(d->f, op, 0);
    decode_fragment(d, op, tile_value_type(d->f, tile), handler);
    if (!d->failed)
        d->program->insns[d->program->insn_count - 1].result = d->mixed->places[BLOCK][tile.id];
}

void cpu_decode_from_fragment(cpu_decoder *d, tile_op op) {
    decode_to_tile(d, op, cpu_run_from_fragment);
}

static void decode_region_op(cpu_decoder *d, tile_op op, void (*decode)(cpu_decoder *, tile_op)) {
    bool streams_apart = decides_separately(d, op);
    if (streams_apart) add_join(d, op);
    d->mixed->streams_apart += streams_apart;
    if (!streams_apart || d->mixed->stream == WARPS) decode(d, op);
    d->mixed->streams_apart -= streams_apart;
    if (streams_apart) add_join(d, op);
}

/* Warps wait while the block's agent runs the region for each element. */
static void decode_parallel(cpu_decoder *d, tile_op op, void (*decode)(cpu_decoder *, tile_op)) {
    if (!check_streams(d, op, BLOCK)) return;
    add_join(d, op);
    d->mixed->elements = true;
    if (d->mixed->stream == BLOCK) decode(d, op);
    d->mixed->elements = false;
    add_join(d, op);
}

void cpu_decode_mixed(cpu_decoder *d, tile_op op, void (*decode)(cpu_decoder *, tile_op)) {
    const unsigned quiet = TILE_EFFECT_TERMINATOR | TILE_EFFECT_REGION | TILE_EFFECT_COLLECTIVE;
    tile_opcode opcode = tile_op_opcode(d->f, op);
    unsigned streams = streams_of_op(d, op);
    bool meets = (tile_op_effects(d->f, op) & ~quiet) || is_between(opcode);
    if (d->mixed->elements) {
        if (check_streams(d, op, BLOCK)) decode(d, op);
        return;
    }
    if (opcode == TILE_OP_parallel) {
        decode_parallel(d, op, decode);
        return;
    }
    if (tile_shape_of(d->f, op) != TILE_SHAPE_NONE) {
        decode_region_op(d, op, decode);
        return;
    }
    if (tile_op_effects(d->f, op) & TILE_EFFECT_TERMINATOR) streams = BLOCK | WARPS;
    if (!check_streams(d, op, streams)) return;
    if (meets) add_join(d, op);
    if (opcode == TILE_OP_sync && !tile_op_operand_count(d->f, op)) return;
    if (opcode == TILE_OP_alloc_barrier && d->mixed->stream == WARPS)
        cpu_decode_alloc_shared(d, op); /* the block's agent initializes them */
    else if (streams & d->mixed->stream)
        decode(d, op);
    if (opcode == TILE_OP_from_fragment || opcode == TILE_OP_to_fragment) add_join(d, op);
    if (opcode == TILE_OP_from_fragment) {
        if (d->mixed->stream == WARPS && !d->failed) decode_to_tile(d, op, cpu_run_check_fragment);
        add_join(d, op); /* then another tile may use the place */
    } else {
        exchange_results(d, op, streams);
    }
}

void cpu_start_mixed(cpu_decoder *d, tile_function *f) {
    d->mixed = TILE_NEW(&d->scratch, cpu_mixed);
    d->mixed->divergent = tile_divergent_values(f, &d->scratch);
}

void cpu_enter_stream(cpu_decoder *d, bool warps, uint32_t *places) {
    d->mixed->stream = warps ? WARPS : BLOCK;
    if (places) d->mixed->places[d->mixed->stream] = places;
    d->places = d->mixed->places[d->mixed->stream];
    d->program->level = warps ? 3 : 2;
    d->program->lanes = warps ? CPU_LANES : 1;
}

void cpu_decode_coordinates(cpu_decoder *d, tile_op op) {
    const tile_type *tile = tile_value_type(d->f, tile_operand_of(d->f, op));
    if (!laid_out(d, op, tile)) return;
    for (unsigned dim = 0; dim < tile->rank; dim++) {
        cpu_insn *insn = cpu_add_insn(d, op, cpu_run_coordinates);
        insn->operand[1] = cpu_place_of(d, tile_operand_element(d->f, op));
        insn->result = cpu_place_of(d, tile_op_result(d->f, op, dim));
        insn->type = tile;
        insn->integer = dim;
    }
}

/* Running ------------------------------------------------------------------------------------- */

static cpu_agent *block_agent(const cpu_run *run, const cpu_agent *agent) {
    return &agent->block->agents[run->program->agents - 1];
}

CPU_HANDLER(cpu_run_join_agents) {
    uint64_t barriers = run->counts->barriers;
    cpu_outcome outcome = cpu_arrive_at_barrier(run, agent, insn, 0, 2 * run->program->warps, true);
    run->counts->barriers = barriers;
    return outcome;
}

CPU_HANDLER(cpu_run_broadcast_to_warps) {
    const uint8_t *from = block_agent(run, agent)->frame + insn->operand[0];
    uint8_t *to = cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < insn->count; i++) memcpy(to + i * insn->size, from, insn->size);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_copy_from_first_warp) {
    memcpy(cpu_at(run, agent, insn->result), agent->block->agents[0].frame + insn->operand[0],
           insn->size);
    return CPU_NEXT;
}

static const uint32_t *places_of_warp(const cpu_agent *agent, const cpu_insn *insn) {
    return insn->elements + (size_t)agent->index * insn->count;
}

/* Copies elements of the tile to the warp's registers. */
static void use_arrival(const cpu_agent *agent, const cpu_insn *insn, const uint8_t *tile,
                        uint8_t *to) {
    const uint32_t *place = places_of_warp(agent, insn);
    for (uint32_t i = 0; i < insn->count; i++)
        memcpy(to + i * insn->size, tile + place[i] * insn->size, insn->size);
}

CPU_HANDLER(cpu_run_to_fragment) {
    use_arrival(agent, insn, block_agent(run, agent)->frame + insn->operand[0],
                cpu_at(run, agent, insn->result));
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_poison_to_fragment) {
    use_arrival(agent, insn, block_agent(run, agent)->poison + insn->operand[0],
                agent->poison + insn->result);
    return CPU_NEXT;
}

/* Returns whether the lane writes its elements. Of lanes with the same elements only the first one
 * does; the others are compared with it. */
static bool has_results(const cpu_agent *agent, const cpu_insn *insn, uint32_t lane) {
    uint32_t redundant = tile_layout_redundant_threads(insn->type->layout);
    return !((agent->index << TILE_LANE_BITS | lane) & redundant);
}

static void give(const cpu_agent *agent, const cpu_insn *insn, const uint8_t *from, uint8_t *tile) {
    const uint32_t *place = places_of_warp(agent, insn);
    for (uint32_t i = 0; i < insn->count; i++)
        if (has_results(agent, insn, i % CPU_LANES))
            memcpy(tile + place[i] * insn->size, from + i * insn->size, insn->size);
}

CPU_HANDLER(cpu_run_from_fragment) {
    give(agent, insn, cpu_at(run, agent, insn->operand[0]),
         block_agent(run, agent)->frame + insn->result);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_poison_from_fragment) {
    give(agent, insn, agent->poison + insn->operand[0],
         block_agent(run, agent)->poison + insn->result);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_check_fragment) {
    const uint8_t *tile = block_agent(run, agent)->frame + insn->result;
    const uint32_t *place = places_of_warp(agent, insn);
    const uint8_t *own = cpu_at(run, agent, insn->operand[0]);
    for (uint32_t i = 0; i < insn->count; i++)
        if (memcmp(tile + place[i] * insn->size, own + i * insn->size, insn->size) != 0)
            return cpu_fault(run, agent, insn, (int)(i % CPU_LANES),
                             "element %u of this thread differs from the copy in another thread, "
                             "which holds the same element of the tile",
                             i / CPU_LANES);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_coordinates) {
    const tile_layout *layout = insn->type->layout;
    const int32_t *element = cpu_at(run, agent, insn->operand[1]);
    int32_t *to = cpu_at(run, agent, insn->result);
    uint32_t registers = tile_layout_registers(layout);
    for (uint32_t lane = 0; lane < CPU_LANES; lane++) {
        bool active = agent->mask >> lane & 1, inside = (uint32_t)element[lane] < registers;
        if (active && !inside)
            return cpu_fault(run, agent, insn, (int)lane,
                             "a thread holds the elements 0 to %u of the tile, not %d",
                             registers - 1, element[lane]);
        uint32_t index =
            tile_layout_apply(layout, inside ? (uint32_t)element[lane] : 0, lane, agent->index);
        to[lane] = (int32_t)tile_layout_coordinate(layout, index, (unsigned)insn->integer);
    }
    return CPU_NEXT;
}
