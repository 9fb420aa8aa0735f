/* Erasing, moving, copying, replacing and traversing the contents of a function. */
#include <string.h>

#include "lib/ir/body.h"
#include "lib/support/scalar.h"

/* Erasing and moving -------------------------------------------------------------------------- */

void tile_erase_op(tile_function *f, tile_op op) {
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++) {
        tile_op inner;
        while ((inner = tile_region_at(f, tile_op_at(f, op)->regions[r])->first).id)
            tile_erase_op(f, inner);
    }
    tile_op next = tile_op_at(f, op)->next;
    tile_region parent = tile_op_at(f, op)->parent;
    tile_unlink_op(f, op);
    tile_op_at(f, op)->opcode = TILE_OP_NONE;
    tile_op_at(f, op)->next = next;
    tile_op_at(f, op)->parent = parent;
}

void tile_move_op(tile_function *f, tile_op op, tile_region region, tile_op before) {
    tile_unlink_op(f, op);
    tile_link_op(f, op, region, before);
}

/* Copying and replacing ----------------------------------------------------------------------- */

static tile_value look_up(const tile_value *map, size_t map_count, tile_value value) {
    return value.id < map_count && map[value.id].id ? map[value.id] : value;
}

static void clone_region(tile_function *f, tile_region from, tile_op parent, tile_loc loc,
                         tile_value *map, size_t map_count) {
    unsigned arg_count = tile_region_at(f, from)->arg_count;
    tile_region to = tile_add_region(f, parent, NULL, 0);
    for (unsigned i = 0; i < arg_count; i++) {
        tile_value old = tile_region_arg(f, from, i);
        tile_value_data data = *tile_value_at(f, old);
        tile_value value = tile_add_value(f, TILE_VALUE_REGION, to.id, i, data.type);
        tile_value_at(f, value)->name = data.name;
        if (i == 0) tile_region_at(f, to)->first_arg = value;
        if (old.id < map_count) map[old.id] = value;
    }
    tile_region_at(f, to)->arg_count = arg_count;
    tile_builder inner = {.function = f, .region = to, .loc = loc};
    TILE_FOR_EACH_OP (f, op, from) tile_clone_op(&inner, op, map, map_count);
}

tile_op tile_clone_op(tile_builder *builder, tile_op op, tile_value *map, size_t map_count) {
    tile_function *f = builder->function;
    tile_op_data data = *tile_op_at(f, op);
    tile_arena scratch = {0};
    tile_value *operands = TILE_NEW_ARRAY(&scratch, tile_value, data.operand_count + 1u);
    const tile_type **types = TILE_NEW_ARRAY(&scratch, const tile_type *, data.result_count + 1u);
    for (uint32_t i = 0; i < data.operand_count; i++)
        operands[i] = look_up(map, map_count, data.operands[i]);
    for (uint32_t i = 0; i < data.result_count; i++)
        types[i] = tile_value_type(f, tile_op_result(f, op, i));
    tile_builder place = *builder;
    place.loc = data.loc;
    tile_op copy = tile_add_op(&place, (tile_opcode)data.opcode, operands, data.operand_count,
                               data.segment, types, data.result_count);
    tile_op_at(f, copy)->attrs =
        tile_arena_copy(&f->module->arena, data.attrs, sizeof *data.attrs * data.attr_count);
    tile_op_at(f, copy)->attr_count = data.attr_count;
    for (uint32_t i = 0; i < data.result_count; i++) {
        tile_value from = tile_op_result(f, op, i), to = tile_op_result(f, copy, i);
        tile_value_at(f, to)->name = tile_value_at(f, from)->name;
        if (from.id < map_count) map[from.id] = to;
    }
    for (unsigned r = 0; r < data.region_count; r++)
        clone_region(f, data.regions[r], copy, data.loc, map, map_count);
    tile_arena_reset(&scratch);
    return copy;
}

void tile_replace_values(tile_function *f, tile_region region, const tile_value *map) {
    TILE_FOR_EACH_OP_INSIDE (f, op, region) {
        tile_op_data *data = tile_op_at(f, op);
        for (uint32_t i = 0; i < data->operand_count; i++)
            while (map[data->operands[i].id].id) data->operands[i] = map[data->operands[i].id];
    }
    if (region.id != f->body.id) return;
    for (size_t i = 0; i < f->result_count; i++)
        while (map[f->results[i].value.id].id) f->results[i].value = map[f->results[i].value.id];
}

/* Traversal ------------------------------------------------------------------------------------ */

tile_op tile_op_first_nested(const tile_function *f, tile_op op) {
    const tile_op_data *data = tile_op_at(f, op);
    tile_op first = TILE_NO_OP;
    for (unsigned r = 0; r < data->region_count && !first.id; r++)
        first = tile_region_at(f, data->regions[r])->first;
    return first;
}

/* The first operation in op's regions after this one. */
static tile_op first_after(const tile_function *f, tile_op op, tile_region region) {
    const tile_op_data *data = tile_op_at(f, op);
    tile_op first = TILE_NO_OP;
    bool passed = false;
    for (unsigned r = 0; r < data->region_count && !first.id; r++) {
        if (passed) first = tile_region_at(f, data->regions[r])->first;
        passed |= data->regions[r].id == region.id;
    }
    return first;
}

tile_op tile_op_leave(const tile_function *f, tile_op op, tile_region root, tile_op outer) {
    tile_op next = tile_op_first_nested(f, op);
    while (!next.id) {
        next = tile_op_at(f, op)->next;
        if (next.id) { /* it was erased after op: it is no longer in the region */
            op = next;
            if (tile_op_at(f, op)->opcode == TILE_OP_NONE) next = TILE_NO_OP;
            continue;
        }
        tile_region region = tile_op_at(f, op)->parent;
        if (!region.id || region.id == root.id) return TILE_NO_OP;
        op = tile_region_at(f, region)->parent;
        if (op.id == outer.id) return first_after(f, op, region);
        next = first_after(f, op, region);
    }
    return next;
}

tile_op *tile_find_ops(const tile_function *f, tile_opcode opcode, tile_arena *arena,
                       unsigned *count) {
    unsigned all = 0;
    for (size_t id = 1; id < f->op_count; id++) all += f->ops[id].opcode == opcode;
    tile_op *ops = TILE_NEW_ARRAY(arena, tile_op, all + 1u);
    *count = 0;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == opcode) ops[(*count)++] = op;
    return ops;
}

bool tile_op_uses(const tile_function *f, tile_op op, tile_value value) {
    const tile_op_data *data = tile_op_at(f, op);
    bool found = false;
    for (uint32_t i = 0; i < data->operand_count; i++) found |= data->operands[i].id == value.id;
    return found;
}

bool tile_function_waits(const tile_function *f) {
    for (size_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode == TILE_OP_pdl_wait) return true;
    return false;
}

uint32_t *tile_count_uses(const tile_function *f, tile_arena *arena) {
    uint32_t *uses = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    for (size_t i = 1; i < f->op_count; i++)
        for (uint32_t o = 0; f->ops[i].opcode && o < f->ops[i].operand_count; o++)
            uses[f->ops[i].operands[o].id]++;
    for (size_t i = 0; i < f->result_count; i++) uses[f->results[i].value.id]++;
    return uses;
}

/* Expressions are traversed as trees: x + x of y + y of ... has 2^n nodes. */
enum { MAX_EXPR_NODES = 1000 };

typedef struct readout {
    const tile_function *f;
    unsigned budget;
    bool of_tile; /* may contain block_id */
} readout;

unsigned tile_loop_depth(const tile_function *f, tile_op op) {
    unsigned depth = 0;
    while ((op = tile_op_parent(f, op)).id) depth += tile_op_opcode(f, op) == TILE_OP_for;
    return depth;
}

/* A plan's loop repeats steps of the host, which knows its variable. */
static const tile_expr *loop_variable(const tile_function *f, const tile_value_data *data) {
    tile_op loop = tile_region_at(f, (tile_region){data->owner})->parent;
    bool is_variable = f->kind == TILE_PLAN && loop.id && !data->index;
    if (!is_variable || tile_op_opcode(f, loop) != TILE_OP_for) return NULL;
    return tile_expr_loop(f->module->context, tile_loop_depth(f, loop));
}

/* Host expressions are evaluated in i64: they have no unsigned arithmetic, and no u64. Comparisons,
 * and casts that keep the value, are none. */
static bool is_unsigned_math(const tile_function *f, const tile_op_data *op, tile_scalar to) {
    bool found = tile_scalar_is_unsigned(to);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        tile_scalar from = tile_value_at(f, op->operands[i])->type->scalar;
        if (op->opcode == TILE_OP_cast && tile_scalar_contains(to, from)) return false;
        found |= to == TILE_i1 ? from == TILE_u64 : tile_scalar_is_unsigned(from);
    }
    return found;
}

static const tile_expr *as_expr(readout *r, tile_value value) {
    const tile_function *f = r->f;
    if (!r->budget) return NULL;
    --r->budget;
    const tile_value_data *data = tile_value_at(f, value);
    if (data->type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(data->type->scalar))
        return NULL;
    if (data->kind == TILE_VALUE_CONSTANT) return data->expr;
    if (data->kind == TILE_VALUE_ARG) return tile_expr_arg(f->module->context, data->index);
    if (data->kind == TILE_VALUE_REGION) return loop_variable(f, data);
    const tile_op_data *op = &f->ops[data->owner];
    unsigned d = value.id - op->first_result.id;
    if (op->opcode == TILE_OP_grid_dim)
        return d < f->grid_rank ? f->grid[d] : tile_expr_int(f->module->context, 1);
    if (op->opcode == TILE_OP_block_id && r->of_tile)
        return tile_expr_block_id(f->module->context, d);
    bool casts = op->opcode == TILE_OP_cast && !op->attr_count;
    if (is_unsigned_math(f, op, data->type->scalar)) return NULL;
    if (casts) return as_expr(r, tile_operand_src(f, (tile_op){data->owner}));
    const tile_expr *args[3] = {NULL, NULL, NULL};
    if (op->operand_count > 3 || op->region_count) return NULL;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!(args[i] = as_expr(r, op->operands[i]))) return NULL;
    return tile_expr_op(f->module->context, (tile_opcode)op->opcode, args[0], args[1], args[2]);
}

const tile_expr *tile_value_as_expr(const tile_function *f, tile_value value) {
    readout r = {.f = f, .budget = MAX_EXPR_NODES};
    return as_expr(&r, value);
}

const tile_expr *tile_value_as_cost(const tile_function *f, tile_value value) {
    readout r = {.f = f, .budget = MAX_EXPR_NODES, .of_tile = true};
    return as_expr(&r, value);
}
