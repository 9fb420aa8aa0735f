/* tf32 buffers that copy_async fills from f32: see the header. */
#include "passes/expand/prepare.h"

typedef struct buffer_uses {
    tile_value buffer;
    tile_op first;    /* the first asynchronous copy that would have to round */
    bool others;      /* other uses, which need tf32 in memory */
    tile_op *readers; /* load_shared and dot */
    unsigned count;
} buffer_uses;

static bool is_copy_from_f32(tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_copy && opcode != TILE_OP_copy_async) return false;
    const tile_type *from = tile_value_type(f, tile_operand_src(f, op));
    return from->kind == TILE_TYPE_VIEW && from->scalar == TILE_f32;
}

static void visit_use(tile_function *f, tile_op op, buffer_uses *uses) {
    bool used = false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        used |= tile_op_operand(f, op, i).id == uses->buffer.id;
    if (!used) return;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_load_shared || opcode == TILE_OP_dot)
        uses->readers[uses->count++] = op;
    else if (!is_copy_from_f32(f, op))
        uses->others |= opcode != TILE_OP_free_shared;
    else if (opcode == TILE_OP_copy_async && !uses->first.id)
        uses->first = op;
}

/* Loads f32 from the buffer and rounds it by a cast. */
static tile_value read_rounded(tile_builder *b, const tile_value *element, unsigned count,
                               const tile_type *tile) {
    tile_context *context = tile_function_context(b->function);
    tile_value single = tile_build_load_shared(b, element[0], element + 1, count - 1,
                                               tile_type_with_scalar(context, tile, TILE_f32));
    return tile_build_cast(b, single, tile);
}

static void round_load(tile_pass *pass, tile_function *f, tile_op op) {
    const tile_values element = tile_operands_src(f, op);
    tile_value result = tile_op_result(f, op, 0);
    tile_builder b = tile_builder_before(f, op);
    tile_value rounded = read_rounded(&b, element.at, element.count, tile_value_type(f, result));
    tile_value *map = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    tile_value_at(f, rounded)->name = tile_value_at(f, result)->name;
    map[result.id] = rounded;
    tile_replace_values(f, f->body, map);
    tile_erase_op(f, op);
}

static void round_operands(tile_function *f, tile_op dot, tile_value buffer) {
    for (unsigned operand = 0; operand < 2; operand++) {
        const tile_values element = tile_op_segment(f, dot, operand);
        if (element.at[0].id == buffer.id) prepare_convert_operand(f, dot, operand, TILE_tf32);
    }
}

static void prepare_buffer(tile_pass *pass, tile_function *f, tile_value buffer) {
    buffer_uses uses = {.buffer = buffer,
                        .readers = TILE_NEW_ARRAY(pass->scratch, tile_op, f->op_count)};
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_use(f, op, &uses);
    if (!uses.first.id) return;
    if (uses.others) {
        tile_remark_at(
            f, uses.first,
            "copy_async: cp.async cannot round to tf32, so this copy goes through registers");
        return;
    }
    tile_value_at(f, buffer)->type =
        tile_type_with_scalar(pass->context, tile_value_type(f, buffer), TILE_f32);
    for (unsigned i = 0; i < uses.count; i++)
        if (tile_op_opcode(f, uses.readers[i]) == TILE_OP_dot)
            round_operands(f, uses.readers[i], buffer);
        else
            round_load(pass, f, uses.readers[i]);
}

void prepare_rounding(tile_pass *pass, tile_function *f) {
    for (uint32_t id = 1, count = f->op_count; id < count; id++) {
        tile_op op = {id};
        if (tile_op_opcode(f, op) != TILE_OP_alloc_shared) continue;
        tile_value buffer = tile_op_result(f, op, 0);
        if (tile_value_type(f, buffer)->scalar == TILE_tf32) prepare_buffer(pass, f, buffer);
    }
}
