#include "lib/ops/atomic.h"

/* Results ------------------------------------------------------------------------------------- */

bool tile_value_is_used(const tile_function *f, tile_value value) {
    for (uint32_t id = 1; id < f->op_count; id++)
        for (uint32_t i = 0; f->ops[id].opcode && i < f->ops[id].operand_count; i++)
            if (f->ops[id].operands[i].id == value.id) return true;
    return false;
}

/* Meaning ------------------------------------------------------------------------------------- */

tile_opcode tile_kind_opcode(tile_word kind) {
    _Static_assert(TILE_WORDS_kind == 17, "each operation that combines has a case");
    switch (kind) {
    case TILE_WORD_kind_add: return TILE_OP_add;
    case TILE_WORD_kind_mul: return TILE_OP_mul;
    case TILE_WORD_kind_min: return TILE_OP_min;
    case TILE_WORD_kind_max: return TILE_OP_max;
    case TILE_WORD_kind_and: return TILE_OP_and;
    case TILE_WORD_kind_or: return TILE_OP_or;
    case TILE_WORD_kind_xor: return TILE_OP_xor;
    default: return TILE_OP_NONE;
    }
}

bool tile_atomic_allows_vectors(const tile_function *f, tile_op op) {
    tile_scalar scalar = tile_value_type(f, tile_moved_operand(f, op))->scalar;
    return tile_op_word(f, op, TILE_ATTR_kind) == TILE_WORD_kind_add &&
           tile_scalar_is_floating(scalar) && tile_scalar_bits(scalar) <= 32;
}

bool tile_compare_holds(tile_word compare, int32_t word, int32_t value) {
    _Static_assert(TILE_WORDS_compare == 6,
                   "eq is the default, and each other comparison has a case");
    switch (compare) {
    case TILE_WORD_compare_ne: return word != value;
    case TILE_WORD_compare_lt: return word < value;
    case TILE_WORD_compare_le: return word <= value;
    case TILE_WORD_compare_gt: return word > value;
    case TILE_WORD_compare_ge: return word >= value;
    default: return word == value;
    }
}

const char *tile_compare_symbol(tile_word compare) {
    _Static_assert(TILE_WORDS_compare == 6,
                   "eq is the default, and each other comparison has a case");
    switch (compare) {
    case TILE_WORD_compare_ne: return "!= ";
    case TILE_WORD_compare_lt: return "< ";
    case TILE_WORD_compare_le: return "<= ";
    case TILE_WORD_compare_gt: return "> ";
    case TILE_WORD_compare_ge: return ">= ";
    default: return "";
    }
}

/* Checks -------------------------------------------------------------------------------------- */

/* Sums of truth values, or of the bits of floats, are meaningless. */
static bool verify_kind(const tile_function *f, tile_op op) {
    const tile_type *type = tile_value_type(f, tile_operand_src(f, op));
    tile_word kind = tile_op_word(f, op, TILE_ATTR_kind);
    bool bits =
        kind == TILE_WORD_kind_and || kind == TILE_WORD_kind_or || kind == TILE_WORD_kind_xor;
    if (type->param || !bits || !tile_scalar_is_floating(type->scalar)) return true;
    return tile_error_of(f, op, "and, or and xor take integers");
}

bool tile_verify_atomic(const tile_function *f, tile_op op) {
    tile_word ordering = tile_op_word(f, op, TILE_ATTR_ordering);
    if (tile_op_opcode(f, op) == TILE_OP_fence)
        return ordering != TILE_WORD_ordering_relaxed ||
               tile_error_of(f, op, "a relaxed fence orders nothing; remove it");
    if (!(tile_op_get_info(tile_op_opcode(f, op))->effects & TILE_EFFECT_ATOMIC)) return true;
    if (ordering == TILE_WORD_ordering_sc)
        return tile_error_of(f, op, "PTX has no sc access; put `fence {ordering = sc}` before it");
    return !tile_op_has_attr(f, op, TILE_ATTR_kind) || verify_kind(f, op);
}
