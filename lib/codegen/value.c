/* How IR values are held as LLVM values: see emitter.h. */
#include "lib/codegen/sums.h"
#include "lib/ops/gather.h"
#include "lib/support/scalar.h"

LLVMTypeRef tile_llvm_scalar(const tile_emitter *e, tile_scalar scalar) {
    switch (scalar) {
    case TILE_i1: return e->i1;
    case TILE_i16:
    case TILE_u16: return e->i16;
    case TILE_i32:
    case TILE_u32: return e->i32;
    case TILE_i64:
    case TILE_u64:
    case TILE_barrier: return e->i64;
    case TILE_f16: return LLVMHalfTypeInContext(e->llvm);
    case TILE_bf16: return LLVMBFloatTypeInContext(e->llvm);
    case TILE_f32:
    case TILE_tf32: return LLVMFloatTypeInContext(e->llvm);
    case TILE_f64: return LLVMDoubleTypeInContext(e->llvm);
    case TILE_i8:
    case TILE_u8:
    case TILE_e4m3: /* as in memory: cast.c and mma interpret the bits */
    case TILE_e5m2: return e->i8;
    case TILE_SCALAR_NONE:
    case TILE_SCALAR_COUNT: break; /* legal.c has rejected it */
    }
    return NULL;
}

static unsigned element_count(const tile_type *type) {
    return type->kind == TILE_TYPE_VECTOR ? (unsigned)tile_type_elements(type) : 1;
}

unsigned tile_pack(const tile_type *type) {
    unsigned pack = tile_scalar_pack(type->scalar);
    return type->kind == TILE_TYPE_VECTOR && element_count(type) % pack == 0 ? pack : 1;
}

unsigned tile_part_count(const tile_type *type) {
    return element_count(type) / tile_pack(type);
}

LLVMTypeRef tile_part_type(const tile_emitter *e, const tile_type *type) {
    if (tile_type_is_address(type)) return LLVMPointerTypeInContext(e->llvm, SPACE_GLOBAL);
    if (type->kind == TILE_TYPE_DESCRIPTOR) return e->i64;
    if (type->kind == TILE_TYPE_SHARED)
        return LLVMPointerTypeInContext(e->llvm, type->cluster ? SPACE_CLUSTER : SPACE_SHARED);
    if (type->kind == TILE_TYPE_MAP) return LLVMPointerTypeInContext(e->llvm, SPACE_GENERIC);
    LLVMTypeRef scalar = tile_llvm_scalar(e, type->scalar);
    return tile_pack(type) > 1 ? LLVMVectorType(scalar, tile_pack(type)) : scalar;
}

LLVMValueRef *tile_new_parts(tile_emitter *e, const tile_type *type) {
    return TILE_NEW_ARRAY(&e->arena, LLVMValueRef, tile_part_count(type));
}

LLVMValueRef tile_llvm_int(LLVMTypeRef type, int64_t value) {
    return LLVMConstInt(type, (unsigned long long)value, true);
}

/* LLVM has no 8-bit floats: they are represented by their bits. */
static LLVMValueRef float_constant(const tile_emitter *e, tile_scalar scalar, double number) {
    LLVMTypeRef type = tile_llvm_scalar(e, scalar);
    uint8_t bits = 0;
    if (tile_scalar_bits(scalar) != 8) return LLVMConstReal(type, number);
    tile_scalar_write(scalar, &bits, number);
    return LLVMConstInt(type, bits, false);
}

static LLVMValueRef constant(const tile_emitter *e, const tile_value_data *data) {
    LLVMTypeRef type = tile_llvm_scalar(e, data->type->scalar);
    if (data->expr->kind == TILE_EXPR_FLOAT)
        return float_constant(e, data->type->scalar, data->expr->number);
    /* LLVM expects the upper bits to be a sign extension */
    unsigned unused = 64 - LLVMGetIntTypeWidth(type);
    return tile_llvm_int(type, (int64_t)((uint64_t)data->expr->integer << unused) >> unused);
}

LLVMValueRef *tile_get_parts(tile_emitter *e, tile_value value) {
    if (!e->parts[value.id] && tile_sum_registers(e, value))
        e->parts[value.id] = tile_sum_move_out(e, value);
    if (!e->parts[value.id]) tile_set_scalar(e, value, constant(e, tile_value_at(e->f, value)));
    return e->parts[value.id];
}

LLVMValueRef tile_get_scalar(tile_emitter *e, tile_value value) {
    return tile_get_parts(e, value)[0];
}

LLVMValueRef tile_get_operand(tile_emitter *e, tile_op op, tile_operand_name name) {
    tile_value value = tile_named_operand(e->f, op, name);
    return value.id ? tile_get_scalar(e, value) : NULL;
}

LLVMValueRef tile_get_predicate(tile_emitter *e, tile_op op) {
    LLVMValueRef predicate = tile_get_operand(e, op, TILE_OPERAND_predicate);
    return predicate && LLVMIsAConstantInt(predicate) && LLVMConstIntGetZExtValue(predicate)
               ? NULL
               : predicate;
}

bool tile_is_always_false(LLVMValueRef predicate) {
    return predicate && LLVMIsNull(predicate);
}

LLVMValueRef tile_get_element(tile_emitter *e, tile_value value, unsigned index) {
    LLVMValueRef *parts = tile_get_parts(e, value);
    unsigned pack = tile_pack(tile_value_type(e->f, value));
    if (pack == 1) return parts[index];
    return LLVMBuildExtractElement(e->builder, parts[index / pack],
                                   tile_llvm_int(e->i32, index % pack), "");
}

void tile_set_parts(tile_emitter *e, tile_value value, LLVMValueRef *parts) {
    e->parts[value.id] = parts;
}

void tile_set_scalar(tile_emitter *e, tile_value value, LLVMValueRef scalar) {
    LLVMValueRef *parts = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, 1);
    parts[0] = scalar;
    tile_set_parts(e, value, parts);
}

void tile_set_elements(tile_emitter *e, tile_value value, const LLVMValueRef *elements) {
    const tile_type *type = tile_value_type(e->f, value);
    LLVMValueRef *parts = tile_new_parts(e, type);
    unsigned pack = tile_pack(type);
    LLVMTypeRef part_type = tile_part_type(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++) {
        if (pack == 1) {
            parts[i] = elements[i];
            continue;
        }
        LLVMValueRef part = LLVMGetPoison(part_type);
        for (unsigned k = 0; k < pack; k++)
            part = LLVMBuildInsertElement(e->builder, part, elements[pack * i + k],
                                          tile_llvm_int(e->i32, k), "");
        parts[i] = part;
    }
    tile_set_parts(e, value, parts);
}

void tile_emit_splat(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef scalar = tile_get_scalar(e, tile_operand_src(e->f, op));
    LLVMValueRef *elements = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, element_count(type));
    for (unsigned i = 0; i < element_count(type); i++) elements[i] = scalar;
    tile_set_elements(e, result, elements);
}

/* The number that all elements of the value are; none if it is not known. */
static tile_value constant_of(const tile_function *f, tile_value value) {
    tile_op def = tile_value_def(f, value);
    if (def.id && tile_op_opcode(f, def) == TILE_OP_splat) value = tile_operand_src(f, def);
    bool known = tile_value_at(f, value)->kind == TILE_VALUE_CONSTANT;
    return known ? value : TILE_NO_VALUE;
}

tile_value tile_pad_of_load(const tile_emitter *e, tile_op load) {
    enum { NEAR = 4 };
    const tile_function *f = e->f;
    tile_value predicate = tile_op_predicate(f, load), result = tile_op_result(f, load, 0);
    const tile_scalar scalar = tile_value_type(f, result)->scalar;
    if (tile_op_opcode(f, load) != TILE_OP_ld_global || !predicate.id || e->uses[result.id] != 1 ||
        tile_value_at(f, predicate)->kind == TILE_VALUE_CONSTANT || scalar == TILE_i1 ||
        tile_scalar_bytes(scalar) > 4)
        return TILE_NO_VALUE;
    tile_op op = tile_op_at(f, load)->next;
    for (unsigned i = 0; op.id && i < NEAR; i++, op = tile_op_at(f, op)->next)
        if (tile_op_opcode(f, op) == TILE_OP_select && tile_operand_yes(f, op).id == result.id)
            return tile_operand_condition(f, op).id == predicate.id
                       ? constant_of(f, tile_operand_no(f, op))
                       : TILE_NO_VALUE;
    return TILE_NO_VALUE;
}

static bool selects_pad(const tile_emitter *e, tile_op select) {
    tile_op load = tile_value_def(e->f, tile_operand_yes(e->f, select));
    return load.id && tile_op_opcode(e->f, load) == TILE_OP_ld_global &&
           tile_operand_condition(e->f, select).id == tile_op_predicate(e->f, load).id &&
           tile_pad_of_load(e, load).id;
}

void tile_emit_select(tile_emitter *e, tile_op op) {
    if (selects_pad(e, op)) {
        tile_set_parts(e, tile_op_result(e->f, op, 0),
                       tile_get_parts(e, tile_operand_yes(e->f, op)));
        return;
    }
    tile_value result = tile_op_result(e->f, op, 0), condition = tile_operand_condition(e->f, op);
    tile_value yes = tile_operand_yes(e->f, op), no = tile_operand_no(e->f, op);
    const tile_type *type = tile_value_type(e->f, result);
    bool whole = tile_value_type(e->f, condition)->kind == TILE_TYPE_SCALAR;
    if (whole) {
        LLVMValueRef *parts = tile_new_parts(e, type), test = tile_get_scalar(e, condition);
        for (unsigned i = 0; i < tile_part_count(type); i++)
            parts[i] = LLVMBuildSelect(e->builder, test, tile_get_parts(e, yes)[i],
                                       tile_get_parts(e, no)[i], "");
        tile_set_parts(e, result, parts);
        return;
    }
    unsigned count = (unsigned)tile_type_elements(type);
    LLVMValueRef *elements = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, count);
    for (unsigned i = 0; i < count; i++)
        elements[i] = LLVMBuildSelect(e->builder, tile_get_element(e, condition, i),
                                      tile_get_element(e, yes, i), tile_get_element(e, no, i), "");
    tile_set_elements(e, result, elements);
}

/* Takes over whole parts if they are aligned, so that no pack is split and rebuilt. */
static bool take_parts(tile_emitter *e, tile_value from, unsigned first, const tile_type *type,
                       LLVMValueRef *to) {
    unsigned pack = tile_pack(tile_value_type(e->f, from));
    if (pack != tile_pack(type) || first % pack) return false;
    LLVMValueRef *parts = tile_get_parts(e, from);
    for (unsigned i = 0; i < tile_part_count(type); i++) to[i] = parts[first / pack + i];
    return true;
}

/* Selects the element at a dynamic index. */
static LLVMValueRef choose(tile_emitter *e, LLVMValueRef *elements, unsigned count,
                           LLVMValueRef index) {
    LLVMValueRef chosen = elements[0];
    for (unsigned i = 1; i < count; i++) {
        LLVMValueRef here =
            LLVMBuildICmp(e->builder, LLVMIntEQ, index, tile_llvm_int(e->i32, i), "");
        chosen = LLVMBuildSelect(e->builder, here, elements[i], chosen, "");
    }
    return chosen;
}

static LLVMValueRef *all_elements(tile_emitter *e, tile_value value) {
    unsigned count = element_count(tile_value_type(e->f, value));
    LLVMValueRef *elements = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, count);
    for (unsigned i = 0; i < count; i++) elements[i] = tile_get_element(e, value, i);
    return elements;
}

static void choose_elements(tile_emitter *e, tile_op op) {
    tile_value from = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    unsigned count = element_count(tile_value_type(e->f, from)),
             part = element_count(tile_value_type(e->f, result));
    LLVMValueRef index = tile_get_scalar(e, tile_operand_first(e->f, op));
    LLVMValueRef *elements = all_elements(e, from), *chosen;
    chosen = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, part);
    for (unsigned i = 0; i < part; i++)
        chosen[i] = choose(e, elements + i, count - part + 1, index);
    tile_set_elements(e, result, chosen);
}

/* Replaces whole registers if the parts are aligned. */
static bool insert_parts(tile_emitter *e, tile_op op, tile_value from, tile_value with) {
    int64_t first;
    const tile_type *type = tile_value_type(e->f, from), *part = tile_value_type(e->f, with);
    unsigned pack = tile_pack(type);
    if (!tile_value_is_int(e->f, tile_operand_first(e->f, op), &first) || first % pack ||
        pack != tile_pack(part))
        return false;
    LLVMValueRef *parts = tile_new_parts(e, type), *old = tile_get_parts(e, from),
                 *other = tile_get_parts(e, with);
    unsigned begin = (unsigned)first / pack, count = tile_part_count(part);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = i >= begin && i < begin + count ? other[i - begin] : old[i];
    tile_set_parts(e, tile_op_result(e->f, op, 0), parts);
    return true;
}

/* Each element is selected between the old one and the inserted one. */
void tile_emit_insert(tile_emitter *e, tile_op op) {
    tile_value from = tile_operand_src(e->f, op), with = tile_operand_elements(e->f, op);
    if (insert_parts(e, op, from, with)) return;
    unsigned count = element_count(tile_value_type(e->f, from)),
             part = element_count(tile_value_type(e->f, with));
    LLVMValueRef first = tile_get_scalar(e, tile_operand_first(e->f, op));
    LLVMValueRef *elements = all_elements(e, from), *others = all_elements(e, with);
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < part && k <= i; k++) {
            LLVMValueRef here =
                LLVMBuildICmp(e->builder, LLVMIntEQ, first, tile_llvm_int(e->i32, i - k), "");
            elements[i] = LLVMBuildSelect(e->builder, here, others[k], elements[i], "");
        }
    tile_set_elements(e, tile_op_result(e->f, op, 0), elements);
}

void tile_emit_extract(tile_emitter *e, tile_op op) {
    if (!tile_extract_is_name(e->f, op)) {
        choose_elements(e, op);
        return;
    }
    tile_value from = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    int64_t first = 0;
    tile_value_is_int(e->f, tile_operand_first(e->f, op), &first);
    if (tile_sum_extract(e, from, (unsigned)first, result)) return;
    LLVMValueRef *parts = tile_new_parts(e, type);
    if (take_parts(e, from, (unsigned)first, type, parts)) {
        tile_set_parts(e, result, parts);
        return;
    }
    LLVMValueRef *elements = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, element_count(type));
    for (unsigned i = 0; i < element_count(type); i++)
        elements[i] = tile_get_element(e, from, (unsigned)first + i);
    tile_set_elements(e, result, elements);
}

/* Returns whether all operands are represented like the result: then the parts of the result are
 * the concatenated parts of the operands. */
static bool concat_parts(tile_emitter *e, tile_op op, const tile_type *type, LLVMValueRef *parts) {
    unsigned at = 0, count = tile_op_operand_count(e->f, op);
    for (unsigned i = 0; i < count; i++) {
        tile_value from = tile_op_operand(e->f, op, i);
        const tile_type *from_type = tile_value_type(e->f, from);
        if (tile_pack(from_type) != tile_pack(type)) return false;
        take_parts(e, from, 0, from_type, parts + at);
        at += tile_part_count(from_type);
    }
    return true;
}

void tile_emit_concat(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    if (tile_sum_concat(e, op)) return;
    LLVMValueRef *parts = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, element_count(type));
    if (concat_parts(e, op, type, parts)) {
        tile_set_parts(e, result, parts);
        return;
    }
    LLVMValueRef *elements = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, element_count(type));
    unsigned at = 0;
    for (unsigned i = 0; i < tile_op_operand_count(e->f, op); i++) {
        tile_value from = tile_op_operand(e->f, op, i);
        for (unsigned k = 0; k < element_count(tile_value_type(e->f, from)); k++)
            elements[at++] = tile_get_element(e, from, k);
    }
    tile_set_elements(e, result, elements);
}

/* The elements of a pack, in `order`, from at most two packs: LLVM makes one prmt of the shuffle.
 * NULL if they are from more. */
static LLVMValueRef shuffle_packs(tile_emitter *e, LLVMValueRef *from, const int64_t *order,
                                  unsigned pack) {
    enum { MOST = 4 };
    int64_t first = order[0] / pack, second = first;
    LLVMValueRef mask[MOST];
    if (pack > MOST) return NULL;
    for (unsigned i = 0; i < pack; i++) {
        int64_t here = order[i] / pack;
        if (here != first && second == first) second = here;
        if (here != first && here != second) return NULL;
        mask[i] = tile_llvm_int(e->i32, order[i] % pack + (here == first ? 0 : pack));
    }
    return LLVMBuildShuffleVector(e->builder, from[first], from[second],
                                  LLVMConstVector(mask, pack), "");
}

/* Returns whether the packs of the result are shuffled from packs of bytes. */
static bool shuffle_bytes(tile_emitter *e, tile_value from, const int64_t *order,
                          tile_value result) {
    enum { BYTES = 4 };
    const tile_type *type = tile_value_type(e->f, result);
    unsigned pack = tile_pack(type);
    if (pack != BYTES || pack != tile_pack(tile_value_type(e->f, from))) return false;
    LLVMValueRef *parts = tile_new_parts(e, type), *whole = tile_get_parts(e, from);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        if (!(parts[i] = shuffle_packs(e, whole, order + i * pack, pack))) return false;
    tile_set_parts(e, result, parts);
    return true;
}

void tile_emit_permute(tile_emitter *e, tile_op op) {
    tile_value from = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    const int64_t *order = tile_op_attr(e->f, op, TILE_ATTR_order)->list;
    const tile_type *type = tile_value_type(e->f, result);
    unsigned pack = tile_pack(type);
    if (tile_sum_permute(e, op)) return;
    bool whole = pack > 1 && pack == tile_pack(tile_value_type(e->f, from));
    for (unsigned i = 0; whole && i < element_count(type); i++)
        whole = order[i] == order[i - i % pack] + i % pack && order[i - i % pack] % pack == 0;
    if (whole) {
        LLVMValueRef *parts = tile_new_parts(e, type);
        for (unsigned i = 0; i < tile_part_count(type); i++)
            parts[i] = tile_get_parts(e, from)[order[pack * i] / pack];
        tile_set_parts(e, result, parts);
        return;
    }
    if (shuffle_bytes(e, from, order, result)) return;
    LLVMValueRef *elements = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, element_count(type));
    for (unsigned i = 0; i < element_count(type); i++)
        elements[i] = tile_get_element(e, from, (unsigned)order[i]);
    tile_set_elements(e, result, elements);
}
