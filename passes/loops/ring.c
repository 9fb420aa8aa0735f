#include "passes/loops/ring.h"

#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"

/* Buffers ----------------------------------------------------------------------------- */

static const tile_type *buffer_type(ring *r, const tile_type *from) {
    tile_context *context = tile_function_context(r->f);
    tile_type draft = *from;
    draft.kind = TILE_TYPE_SHARED;
    draft.layout = NULL;
    draft.stages = r->plan.distance ? tile_expr_int(context, r->plan.stages) : NULL;
    return tile_type_get(context, &draft);
}

void ring_make_buffers(ring *r) {
    tile_function *f = r->f;
    r->buffers = TILE_NEW_ARRAY(r->pass->scratch, tile_value, r->plan.copy_count + 1u);
    tile_builder b = tile_builder_before(f, r->plan.loop);
    for (unsigned i = 0; i < r->plan.copy_count; i++) {
        tile_staged_copy copy = r->plan.copies[i];
        if (!copy.buffer.id) {
            tile_value tile = tile_op_result(f, copy.op, 0);
            b.loc = tile_op_loc(f, copy.op);
            r->buffers[i] = tile_build_alloc_shared(&b, buffer_type(r, tile_value_type(f, tile)));
            tile_value_at(f, r->buffers[i])->name = tile_value_at(f, tile)->name;
            continue;
        }
        tile_op alloc = tile_value_def(f, copy.buffer);
        r->buffers[i] = copy.buffer;
        tile_value_at(f, copy.buffer)->type = buffer_type(r, tile_value_type(f, copy.buffer));
        if (tile_ancestor_in(f, alloc, tile_op_region(f, r->plan.loop, 0)).id)
            tile_move_op(f, alloc, b.region, r->plan.loop);
    }
}

/* Copies -------------------------------------------------------------------------------------- */

tile_value ring_rematerialize_address(ring *r, tile_builder *b, tile_value value, tile_value *map,
                                      size_t map_count) {
    tile_function *f = r->f;
    if (value.id < map_count && map[value.id].id) return map[value.id];
    tile_op def = tile_value_def(f, value);
    if (!def.id || !tile_ancestor_in(f, def, tile_op_region(f, r->plan.loop, 0)).id) return value;
    for (unsigned i = 0; i < tile_op_operand_count(f, def); i++)
        ring_rematerialize_address(r, b, tile_op_operand(f, def, i), map, map_count);
    tile_clone_op(b, def, map, map_count);
    return map[value.id];
}

void ring_copy_cache_attrs(ring *r, const tile_builder *b, tile_op op) {
    tile_op built =
        b->before.id ? tile_op_at(r->f, b->before)->prev : tile_region_at(r->f, b->region)->last;
    tile_op_take_attr(r->f, built, r->f, op, TILE_ATTR_pad);
    tile_op_take_attr(r->f, built, r->f, op, TILE_ATTR_cache);
    tile_op_take_attr(r->f, built, r->f, op, TILE_ATTR_cache_if);
}

/* Reading stages ------------------------------------------------------------------------------ */

/* Replaces operand `operand` of op by the buffer and the stage. */
static void set_stage_operand(ring *r, tile_op op, unsigned operand, tile_value buffer) {
    tile_function *f = r->f;
    const tile_values segment = tile_op_segment(f, op, operand);
    tile_op_data *data = tile_op_at(f, op);
    unsigned start = (unsigned)(segment.at - data->operands),
             taken = segment.count + (r->stage.id != 0);
    tile_value *operands = TILE_NEW_ARRAY(&f->module->arena, tile_value, data->operand_count + 2u);
    unsigned at = 0;
    for (unsigned i = 0; i < start; i++) operands[at++] = data->operands[i];
    operands[at++] = buffer;
    if (r->stage.id) operands[at++] = r->stage;
    for (unsigned i = start + 1; i < data->operand_count; i++) operands[at++] = data->operands[i];
    data->operands = operands;
    data->operand_count = at;
    data->segment[operand] = (uint16_t)taken;
}

/* The buffer for an operand: a staged buffer, or the buffer of a staged load that a dot uses. */
static tile_value staged_buffer(const ring *r, tile_op op, unsigned operand, tile_value value) {
    bool is_dot_operand = tile_op_opcode(r->f, op) == TILE_OP_dot && operand < 2;
    for (unsigned i = 0; i < r->plan.copy_count; i++) {
        tile_staged_copy copy = r->plan.copies[i];
        if (copy.buffer.id ? copy.buffer.id == value.id
                           : is_dot_operand && tile_op_result(r->f, copy.op, 0).id == value.id)
            return r->buffers[i];
    }
    return TILE_NO_VALUE;
}

static void visit_reader(ring *r, tile_op op) {
    tile_function *f = r->f;
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    for (unsigned i = 0; i < info->operand_count; i++) {
        const tile_values values = tile_op_segment(f, op, i);
        bool part = info->operands[i].form == TILE_FORM_part; /* its coordinates stay */
        if (!part && (info->operands[i].form != TILE_FORM_element || values.count != 1)) continue;
        tile_value buffer = staged_buffer(r, op, i, values.at[0]);
        if (buffer.id) set_stage_operand(r, op, i, buffer);
    }
}

void ring_read_stages(ring *r) {
    ring_read_stages_in(r, tile_op_region(r->f, r->plan.loop, 0));
}

void ring_read_stages_in(ring *r, tile_region region) {
    TILE_FOR_EACH_OP_INSIDE (r->f, op, region) visit_reader(r, op);
}

void ring_remove_copies(ring *r) {
    tile_function *f = r->f;
    uint32_t *uses = tile_count_uses(f, r->pass->scratch);
    tile_value *map =
        TILE_NEW_ARRAY(r->pass->scratch, tile_value, f->value_count + r->plan.copy_count);
    for (unsigned i = 0; i < r->plan.copy_count; i++) {
        tile_op op = r->plan.copies[i].op;
        tile_builder b = tile_builder_before(f, op);
        if (!r->plan.copies[i].buffer.id && uses[tile_op_result(f, op, 0).id]) {
            tile_value tile = tile_op_result(f, op, 0);
            tile_value again = tile_build_load_shared(
                &b, r->buffers[i], &r->stage, r->stage.id ? 1 : 0, tile_value_type(f, tile));
            tile_value_at(f, again)->name = tile_value_at(f, tile)->name;
            map[tile.id] = again;
        }
        tile_erase_op(f, op);
    }
    tile_replace_values(f, f->body, map);
}

void ring_free_buffers(ring *r, tile_builder *b) {
    tile_function *f = r->f;
    tile_region body = tile_op_region(f, r->plan.loop, 0);
    for (unsigned i = 0; i < r->plan.copy_count; i++) {
        bool freed = !r->plan.copies[i].buffer.id;
        for (uint32_t id = 1; id < f->op_count; id++) {
            tile_op op = {id};
            if (f->ops[id].opcode != TILE_OP_free_shared ||
                tile_operand_buffer(f, op).id != r->buffers[i].id ||
                !tile_ancestor_in(f, op, body).id)
                continue;
            tile_erase_op(f, op);
            freed = true;
        }
        if (freed) tile_build_free_shared(b, r->buffers[i]);
    }
}
