/* Adding, moving, copying and erasing operations, regions and values. */
#include <string.h>

#include "lib/ir/function.h"

/* Values and constants ------------------------------------------------------------------------ */

tile_value tile_add_value(tile_function *f, tile_value_kind kind, uint32_t owner, uint32_t index,
                          const tile_type *type) {
    f->values = tile_arena_grow(&f->module->arena, f->values, f->value_count, &f->value_capacity,
                                sizeof *f->values);
    f->values[f->value_count] =
        (tile_value_data){.kind = (uint8_t)kind, .owner = owner, .index = index, .type = type};
    return (tile_value){(uint32_t)f->value_count++};
}

static uint32_t *find_constant(const tile_function *f, const tile_type *type,
                               const tile_expr *expr) {
    size_t mask = f->constant_capacity - 1;
    size_t hash = ((uintptr_t)type >> 4) * 31 + ((uintptr_t)expr >> 4) * 17;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint32_t id = f->constant_table[i];
        if (!id || (f->values[id].type == type && f->values[id].expr == expr))
            return &f->constant_table[i];
    }
}

static void rehash_constants(tile_function *f) {
    f->constant_capacity = f->constant_capacity ? f->constant_capacity * 2 : 32;
    f->constant_table = TILE_NEW_ARRAY(&f->module->arena, uint32_t, f->constant_capacity);
    for (uint32_t id = 1; id < f->value_count; id++)
        if (f->values[id].kind == TILE_VALUE_CONSTANT)
            *find_constant(f, f->values[id].type, f->values[id].expr) = id;
}

tile_value tile_function_constant(tile_function *f, const tile_type *type, const tile_expr *expr) {
    if (f->constant_count * 4 >= f->constant_capacity * 3) rehash_constants(f);
    uint32_t *place = find_constant(f, type, expr);
    if (!*place) {
        tile_value value = tile_add_value(f, TILE_VALUE_CONSTANT, 0, 0, type);
        tile_value_at(f, value)->expr = expr;
        *place = value.id;
        f->constant_count++;
    }
    return (tile_value){*place};
}

bool tile_value_is_int(const tile_function *f, tile_value value, int64_t *integer) {
    const tile_value_data *data = tile_value_at(f, value);
    return data->kind == TILE_VALUE_CONSTANT && tile_expr_is_int(data->expr, integer);
}

/* Regions and operations ---------------------------------------------------------------------- */

static void append_region(tile_function *f, tile_op_data *op, tile_region region) {
    uint32_t count = op->region_count;
    if ((count & (count - 1)) == 0) { /* 0 or a power of two: full */
        tile_region *larger = TILE_NEW_ARRAY(&f->module->arena, tile_region, count ? 2 * count : 1);
        if (count) memcpy(larger, op->regions, sizeof *larger * count);
        op->regions = larger;
    }
    op->regions[op->region_count++] = region;
}

tile_region tile_add_region(tile_function *f, tile_op parent, const tile_type *const *arg_types,
                            unsigned arg_count) {
    f->regions = tile_arena_grow(&f->module->arena, f->regions, f->region_count,
                                 &f->region_capacity, sizeof *f->regions);
    tile_region region = {(uint32_t)f->region_count++};
    f->regions[region.id] = (tile_region_data){.parent = parent, .arg_count = arg_count};
    for (unsigned i = 0; i < arg_count; i++) {
        tile_value value = tile_add_value(f, TILE_VALUE_REGION, region.id, i, arg_types[i]);
        if (i == 0) tile_region_at(f, region)->first_arg = value;
    }
    if (parent.id) append_region(f, tile_op_at(f, parent), region);
    return region;
}

static void link_op(tile_function *f, tile_op op, tile_region region, tile_op before) {
    tile_region_data *list = tile_region_at(f, region);
    tile_op_data *data = tile_op_at(f, op);
    data->parent = region;
    data->next = before;
    data->prev = before.id ? tile_op_at(f, before)->prev : list->last;
    if (data->prev.id)
        tile_op_at(f, data->prev)->next = op;
    else
        list->first = op;
    if (before.id)
        tile_op_at(f, before)->prev = op;
    else
        list->last = op;
}

static void unlink_op(tile_function *f, tile_op op) {
    tile_op_data *data = tile_op_at(f, op);
    tile_region_data *list = tile_region_at(f, data->parent);
    if (data->prev.id)
        tile_op_at(f, data->prev)->next = data->next;
    else
        list->first = data->next;
    if (data->next.id)
        tile_op_at(f, data->next)->prev = data->prev;
    else
        list->last = data->prev;
    data->prev = data->next = TILE_NO_OP;
    data->parent = TILE_NO_REGION;
}

tile_op tile_add_op(tile_builder *builder, tile_opcode opcode, const tile_value *operands,
                    unsigned operand_count, const uint16_t *segments,
                    const tile_type *const *result_types, unsigned result_count) {
    tile_function *f = builder->function;
    tile_arena *arena = &f->module->arena;
    f->ops = tile_arena_grow(arena, f->ops, f->op_count, &f->op_capacity, sizeof *f->ops);
    tile_op op = {(uint32_t)f->op_count++};
    tile_op_data data = {.opcode = (uint16_t)opcode, .loc = builder->loc};
    data.operand_count = operand_count;
    data.operands = tile_arena_copy(arena, operands, sizeof *operands * operand_count);
    memcpy(data.segment, segments, sizeof data.segment);
    data.result_count = result_count;
    for (unsigned i = 0; i < result_count; i++) {
        tile_value value = tile_add_value(f, TILE_VALUE_RESULT, op.id, i, result_types[i]);
        if (i == 0) data.first_result = value;
    }
    f->ops[op.id] = data;
    link_op(f, op, builder->region, builder->before);
    return op;
}

void tile_erase_op(tile_function *f, tile_op op) {
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++) {
        tile_op inner;
        while ((inner = tile_region_at(f, tile_op_at(f, op)->regions[r])->first).id)
            tile_erase_op(f, inner);
    }
    unlink_op(f, op);
    tile_op_at(f, op)->opcode = TILE_OP_NONE;
}

void tile_move_op(tile_function *f, tile_op op, tile_region region, tile_op before) {
    unlink_op(f, op);
    link_op(f, op, region, before);
}

/* Attributes and operands --------------------------------------------------------------------- */

const tile_value *tile_op_segment(const tile_function *f, tile_op op, unsigned operand,
                                  unsigned *count) {
    const tile_op_data *data = tile_op_at(f, op);
    unsigned start = 0;
    for (unsigned i = 0; i < operand; i++) start += data->segment[i];
    *count = operand < TILE_MAX_OPERANDS ? data->segment[operand] : 0;
    return data->operands + start;
}

bool tile_sync_is_explicit_in(const tile_function *f, tile_region region) {
    tile_op op = tile_region_at(f, region)->parent;
    while (op.id && tile_op_opcode(f, op) != TILE_OP_sync_explicit) op = tile_op_parent(f, op);
    return op.id || f->sync_explicit;
}

bool tile_is_placed(const tile_function *f, tile_op op, unsigned operand) {
    unsigned count;
    const tile_value *values = tile_op_segment(f, op, operand, &count);
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    return info->operands[operand].form == TILE_FORM_address && count > 2 &&
           tile_value_type(f, values[0])->kind == TILE_TYPE_SHARED;
}

const tile_attr *tile_op_attr(const tile_function *f, tile_op op, tile_attr_id id) {
    const tile_op_data *data = tile_op_at(f, op);
    for (unsigned i = 0; i < data->attr_count; i++)
        if (data->attrs[i].id == id) return &data->attrs[i];
    return NULL;
}

bool tile_op_has_attr(const tile_function *f, tile_op op, tile_attr_id id) {
    return tile_op_attr(f, op, id) != NULL;
}

int64_t tile_op_attr_int(const tile_function *f, tile_op op, tile_attr_id id, int64_t otherwise) {
    const tile_attr *attr = tile_op_attr(f, op, id);
    int64_t value;
    return attr && tile_expr_is_int(attr->expr, &value) ? value : otherwise;
}

void tile_op_remove_attr(tile_function *f, tile_op op, tile_attr_id id) {
    tile_op_data *data = tile_op_at(f, op);
    unsigned kept = 0;
    for (unsigned i = 0; i < data->attr_count; i++)
        if (data->attrs[i].id != id) data->attrs[kept++] = data->attrs[i];
    data->attr_count = (uint8_t)kept;
}

static void set_attr(tile_function *f, tile_op op, tile_attr attr) {
    if (!f || !op.id || op.id >= f->op_count)
        return; /* the operation was not built; that has been reported */
    if (!tile_attr_get_info(attr.id)->name) {
        tile_report(f->module->context, TILE_ERROR, tile_op_loc(f, op),
                    "there is no attribute of number %d", (int)attr.id);
        return;
    }
    tile_op_remove_attr(f, op, attr.id);
    tile_op_data *data = tile_op_at(f, op);
    tile_attr *attrs = TILE_NEW_ARRAY(&f->module->arena, tile_attr, data->attr_count + 1u);
    if (data->attr_count) memcpy(attrs, data->attrs, sizeof *attrs * data->attr_count);
    attrs[data->attr_count++] = attr;
    data->attrs = attrs;
}

void tile_op_set_flag(tile_function *f, tile_op op, tile_attr_id id) {
    set_attr(f, op, (tile_attr){.id = id});
}

void tile_op_set_expr(tile_function *f, tile_op op, tile_attr_id id, const tile_expr *expr) {
    set_attr(f, op, (tile_attr){.id = id, .expr = expr});
}

void tile_op_set_int(tile_function *f, tile_op op, tile_attr_id id, int64_t value) {
    if (f) tile_op_set_expr(f, op, id, tile_expr_int(f->module->context, value));
}

void tile_op_set_list(tile_function *f, tile_op op, tile_attr_id id, const int64_t *values,
                      unsigned count) {
    if (!f) return;
    const int64_t *list =
        count ? tile_arena_copy(&f->module->arena, values, sizeof *values * count) : NULL;
    set_attr(f, op, (tile_attr){.id = id, .list = list, .count = count});
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
    TILE_FOR_EACH_OP (f, op, region) {
        tile_op_data *data = tile_op_at(f, op);
        for (uint32_t i = 0; i < data->operand_count; i++)
            while (map[data->operands[i].id].id) data->operands[i] = map[data->operands[i].id];
        for (unsigned r = 0; r < data->region_count; r++)
            tile_replace_values(f, data->regions[r], map);
    }
    if (region.id != f->body.id) return;
    for (size_t i = 0; i < f->result_count; i++)
        while (map[f->results[i].value.id].id) f->results[i].value = map[f->results[i].value.id];
}

/* Walking ------------------------------------------------------------------------------------- */

void tile_walk(tile_function *f, tile_region region, tile_op_visitor visit, void *user) {
    for (tile_op op = tile_region_at(f, region)->first, next; op.id; op = next) {
        visit(f, op, user);
        for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
            tile_walk(f, tile_op_at(f, op)->regions[r], visit, user);
        next = tile_op_at(f, op)->next;
    }
}

uint32_t *tile_count_uses(const tile_function *f, tile_arena *arena) {
    uint32_t *uses = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    for (size_t i = 1; i < f->op_count; i++)
        for (uint32_t o = 0; f->ops[i].opcode && o < f->ops[i].operand_count; o++)
            uses[f->ops[i].operands[o].id]++;
    for (size_t i = 0; i < f->result_count; i++) uses[f->results[i].value.id]++;
    return uses;
}

/* Whoever reads an expression walks it as a tree: x + x of y + y of ... grows to 2^n nodes. */
enum { MAX_EXPR_NODES = 1000 };

static const tile_expr *as_expr(const tile_function *f, tile_value value, unsigned *budget) {
    if (!*budget) return NULL;
    --*budget;
    const tile_value_data *data = tile_value_at(f, value);
    if (data->type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(data->type->scalar))
        return NULL;
    if (data->kind == TILE_VALUE_CONSTANT) return data->expr;
    if (data->kind == TILE_VALUE_ARG) return tile_expr_arg(f->module->context, data->index);
    if (data->kind != TILE_VALUE_RESULT) return NULL;
    const tile_op_data *op = &f->ops[data->owner];
    if (op->opcode == TILE_OP_cast) return as_expr(f, op->operands[0], budget);
    const tile_expr *args[3] = {NULL, NULL, NULL};
    if (op->operand_count > 3 || op->region_count) return NULL;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!(args[i] = as_expr(f, op->operands[i], budget))) return NULL;
    return tile_expr_op(f->module->context, (tile_opcode)op->opcode, args[0], args[1], args[2]);
}

const tile_expr *tile_value_as_expr(const tile_function *f, tile_value value) {
    unsigned budget = MAX_EXPR_NODES;
    return as_expr(f, value, &budget);
}
