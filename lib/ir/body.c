/* The contents of functions: values, operations, regions, attributes. Passes change them with the
 * functions of rewrite.c. */
#include "lib/ir/body.h"

#include <string.h>

#include "lib/support/intern.h"

/* Reading ------------------------------------------------------------------------------------- */

/* Entry 0, which is empty, is returned for ids that the function does not have. */
static const tile_op_data *op_of(const tile_function *f, tile_op op) {
    static const tile_op_data none = {0};
    return f ? &f->ops[op.id < f->op_count ? op.id : 0] : &none;
}

static const tile_region_data *region_of(const tile_function *f, tile_region region) {
    static const tile_region_data none = {0};
    return f ? &f->regions[region.id < f->region_count ? region.id : 0] : &none;
}

tile_op tile_region_first(const tile_function *f, tile_region region) {
    return region_of(f, region)->first;
}

tile_op tile_op_next(const tile_function *f, tile_op op) {
    return op_of(f, op)->next;
}

tile_opcode tile_op_opcode(const tile_function *f, tile_op op) {
    return (tile_opcode)op_of(f, op)->opcode;
}

tile_loc tile_op_loc(const tile_function *f, tile_op op) {
    return op_of(f, op)->loc;
}

unsigned tile_op_operand_count(const tile_function *f, tile_op op) {
    return op_of(f, op)->operand_count;
}

tile_value tile_op_operand(const tile_function *f, tile_op op, unsigned index) {
    const tile_op_data *data = op_of(f, op);
    return index < data->operand_count ? data->operands[index] : TILE_NO_VALUE;
}

unsigned tile_op_result_count(const tile_function *f, tile_op op) {
    return op_of(f, op)->result_count;
}

tile_value tile_op_result(const tile_function *f, tile_op op, unsigned index) {
    const tile_op_data *data = op_of(f, op);
    return (tile_value){index < data->result_count ? data->first_result.id + index : 0};
}

tile_region tile_op_region(const tile_function *f, tile_op op, unsigned index) {
    const tile_op_data *data = op_of(f, op);
    return index < data->region_count ? data->regions[index] : TILE_NO_REGION;
}

tile_value tile_region_arg(const tile_function *f, tile_region region, unsigned index) {
    const tile_region_data *data = region_of(f, region);
    return (tile_value){index < data->arg_count ? data->first_arg.id + index : 0};
}

tile_op tile_value_op(const tile_function *f, tile_value value) {
    return f && value.id < f->value_count ? tile_value_def(f, value) : TILE_NO_OP;
}

const tile_type *tile_value_type(const tile_function *f, tile_value value) {
    return f && value.id < f->value_count ? f->values[value.id].type : NULL;
}

void tile_value_set_name(tile_function *f, tile_value value, const char *name) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f || !value.id || value.id >= f->value_count) return;
    tile_value_at(f, value)->name =
        name ? tile_intern_name(f->module->context, name, strlen(name)) : NULL;
}

bool tile_op_handles_tile(const tile_function *f, tile_op op, tile_value value) {
    const tile_type *type = tile_value_type(f, value);
    return type->kind == TILE_TYPE_TILE ||
           (type->kind == TILE_TYPE_SHARED && type->scalar != TILE_barrier &&
            tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_WHOLE_SET));
}

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
    size_t capacity = f->constant_capacity ? f->constant_capacity * 2 : 32;
    f->constant_table = TILE_NEW_ARRAY(&f->module->arena, uint32_t, capacity);
    f->constant_capacity = capacity; /* after the allocation has succeeded */
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
    if ((count & (count - 1)) == 0) { /* 0 or a power of two: the array is full */
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

void tile_adopt_region(tile_function *f, tile_op op, unsigned r, tile_region region) {
    tile_op_at(f, op)->regions[r] = region;
    tile_region_at(f, region)->parent = op;
}

void tile_link_op(tile_function *f, tile_op op, tile_region region, tile_op before) {
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

void tile_unlink_op(tile_function *f, tile_op op) {
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
    tile_link_op(f, op, builder->region, builder->before);
    return op;
}

/* Attributes and operands --------------------------------------------------------------------- */

tile_values tile_op_segment(const tile_function *f, tile_op op, unsigned operand) {
    const tile_op_data *data = tile_op_at(f, op);
    unsigned start = 0;
    for (unsigned i = 0; i < operand; i++) start += data->segment[i];
    return (tile_values){data->operands + start,
                         operand < TILE_MAX_OPERANDS ? data->segment[operand] : 0};
}

tile_values tile_named_operands(const tile_function *f, tile_op op, tile_operand_name name) {
    return tile_op_segment(f, op, tile_place_of((tile_opcode)tile_op_at(f, op)->opcode, name));
}

tile_value tile_named_operand(const tile_function *f, tile_op op, tile_operand_name name) {
    const tile_values values = tile_named_operands(f, op, name);
    return values.count ? values.at[0] : TILE_NO_VALUE;
}

bool tile_sync_is_explicit_in(const tile_function *f, tile_region region) {
    tile_op op = tile_region_at(f, region)->parent;
    while (op.id && tile_op_opcode(f, op) != TILE_OP_sync_explicit) op = tile_op_parent(f, op);
    return op.id || f->sync_explicit;
}

bool tile_is_placed(const tile_function *f, tile_op op, unsigned operand) {
    const tile_values values = tile_op_segment(f, op, operand);
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    if (info->operands[operand].form != TILE_FORM_address || !values.count) return false;
    tile_type_kind kind = tile_value_type(f, values.at[0])->kind;
    return kind == TILE_TYPE_VIEW || (kind == TILE_TYPE_SHARED && values.count > 2);
}

const tile_attr *tile_op_attr(const tile_function *f, tile_op op, tile_attr_id id) {
    const tile_op_data *data = tile_op_at(f, op);
    for (unsigned i = 0; i < data->attr_count; i++)
        if (data->attrs[i].id == id) return &data->attrs[i];
    return NULL;
}

bool tile_attr_has_its_kind(const tile_attr *attr) {
    tile_attr_kind kind = tile_attr_get_info(attr->id)->kind;
    unsigned has = (attr->expr != NULL) + 2 * (attr->count != 0 && !attr->values) +
                   4 * (attr->text != NULL) + 8 * (attr->type != NULL) +
                   16 * (attr->values != NULL);
    static const unsigned wanted[] = {
        [TILE_KIND_flag] = 0,     [TILE_KIND_expr] = 1,    [TILE_KIND_list] = 2,
        [TILE_KIND_word] = 4,     [TILE_KIND_text] = 4,    [TILE_KIND_symbol] = 4,
        [TILE_KIND_constant] = 9, [TILE_KIND_values] = 16, [TILE_KIND_tile] = 1,
    };
    return has == wanted[kind] || (kind == TILE_KIND_word && has == 1);
}

const char *tile_op_attr_text(const tile_function *f, tile_op op, tile_attr_id id) {
    const tile_attr *attr = tile_op_attr(f, op, id);
    return attr ? attr->text : NULL;
}

tile_loc tile_op_attr_loc(const tile_function *f, tile_op op, tile_attr_id id) {
    const tile_attr *attr = tile_op_attr(f, op, id);
    return attr && attr->loc.line ? attr->loc : tile_op_loc(f, op);
}

void tile_op_set_attr_loc(tile_function *f, tile_op op, tile_attr_id id, tile_loc loc) {
    const tile_op_data *data = tile_op_at(f, op);
    for (unsigned i = 0; i < data->attr_count; i++)
        if (data->attrs[i].id == id) data->attrs[i].loc = loc;
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
        return; /* the operation was not built, which has been reported */
    if (!tile_attr_get_info(attr.id)->name) {
        tile_error_at(f, op, "there is no attribute of number %d", (int)attr.id);
        return;
    }
    tile_op_remove_attr(f, op, attr.id);
    tile_op_data *data = tile_op_at(f, op);
    tile_attr *attrs = TILE_NEW_ARRAY(&f->module->arena, tile_attr, data->attr_count + 1u);
    if (data->attr_count) memcpy(attrs, data->attrs, sizeof *attrs * data->attr_count);
    attrs[data->attr_count++] = attr;
    data->attrs = attrs;
}

void tile_op_take_attr(tile_function *f, tile_op op, const tile_function *from, tile_op source,
                       tile_attr_id id) {
    const tile_attr *attr = tile_op_attr(from, source, id);
    if (attr) set_attr(f, op, *attr);
}

void tile_op_set_flag(tile_function *f, tile_op op, tile_attr_id id) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    set_attr(f, op, (tile_attr){.id = id});
}

void tile_op_set_expr(tile_function *f, tile_op op, tile_attr_id id, const tile_expr *expr) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    set_attr(f, op, (tile_attr){.id = id, .expr = expr});
}

void tile_op_set_int(tile_function *f, tile_op op, tile_attr_id id, int64_t value) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (f) tile_op_set_expr(f, op, id, tile_expr_int(f->module->context, value));
}

void tile_op_set_list(tile_function *f, tile_op op, tile_attr_id id, const int64_t *values,
                      unsigned count) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f || (count && !values)) return;
    const int64_t *list =
        count ? tile_arena_copy(&f->module->arena, values, sizeof *values * count) : NULL;
    set_attr(f, op, (tile_attr){.id = id, .list = list, .count = count});
}

void tile_op_set_text(tile_function *f, tile_op op, tile_attr_id id, const char *text) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f || !text) return;
    set_attr(
        f, op,
        (tile_attr){.id = id, .text = tile_intern_name(f->module->context, text, strlen(text))});
}

void tile_op_set_values(tile_function *f, tile_op op, tile_attr_id id,
                        const tile_param_value *values, unsigned count) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f || !values || !count) return;
    set_attr(f, op,
             (tile_attr){
                 .id = id, .values = tile_copy_values(f->module, values, count), .count = count});
}

void tile_op_set_constant(tile_function *f, tile_op op, tile_attr_id id, const tile_type *type,
                          const tile_expr *expr) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f || !type || !expr) return;
    set_attr(f, op, (tile_attr){.id = id, .type = type, .expr = expr});
}
