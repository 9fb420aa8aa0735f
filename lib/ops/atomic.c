#include "lib/ops/atomic.h"

#include "lib/ops/assembly.h"

#include <string.h>

/* By tile_word. */
static const struct {
    tile_attr_id id;
    const char *text;
} word_texts[] = {
    {TILE_ATTR_NONE, ""},
#define ATTR(number, name, ...)
#define WORD(attribute, word, meaning) {TILE_ATTR_##attribute, #word},
#include "tile/attrs.def"
};
enum { WORDS = sizeof word_texts / sizeof *word_texts };

tile_word tile_op_word(const tile_function *f, tile_op op, tile_attr_id id) {
    const char *text = tile_op_attr_text(f, op, id);
    for (unsigned i = 1; text && i < WORDS; i++)
        if (word_texts[i].id == id && strcmp(word_texts[i].text, text) == 0) return (tile_word)i;
    return TILE_WORD_NONE;
}

const char *tile_attr_word_text(tile_word word) {
    return word_texts[(unsigned)word < WORDS ? word : 0].text;
}

/* Order --------------------------------------------------------------------------------------- */

enum { RELEASES = 1, ACQUIRES = 2 };

/* What may be any ordering, a parameter that has no value yet, is both. */
static unsigned order_of(const tile_function *f, tile_op op) {
    unsigned effects = tile_op_get_info(tile_op_opcode(f, op))->effects;
    bool fence = tile_op_opcode(f, op) == TILE_OP_fence;
    if (!(effects & TILE_EFFECT_ATOMIC) && !fence)
        return (effects & TILE_EFFECT_RELEASE ? RELEASES : 0) |
               (effects & TILE_EFFECT_ACQUIRE ? ACQUIRES : 0);
    if (!tile_op_has_attr(f, op, TILE_ATTR_ordering)) return fence ? RELEASES | ACQUIRES : 0;
    _Static_assert(TILE_WORDS_ordering == 5, "relaxed, acquire, release; acq_rel and sc are both");
    switch (tile_op_word(f, op, TILE_ATTR_ordering)) {
    case TILE_WORD_ordering_relaxed: return 0;
    case TILE_WORD_ordering_acquire: return ACQUIRES;
    case TILE_WORD_ordering_release: return RELEASES;
    default: return RELEASES | ACQUIRES;
    }
}

bool tile_op_releases(const tile_function *f, tile_op op) {
    return order_of(f, op) & RELEASES;
}

bool tile_op_acquires(const tile_function *f, tile_op op) {
    return order_of(f, op) & ACQUIRES;
}

/* Copies go one way. */
static unsigned effects_of_copy(const tile_function *f, tile_op op, unsigned effects) {
    bool in = tile_value_type(f, tile_operand_src(f, op))->kind == TILE_TYPE_VIEW;
    return effects & ~(in ? TILE_EFFECT_READ_SHARED | TILE_EFFECT_WRITE_GLOBAL
                          : TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_WRITE_SHARED);
}

/* A load comes from one of both, a store goes to one. */
static unsigned effects_of_transfer(const tile_function *f, tile_op op, unsigned effects) {
    bool stores = tile_op_opcode(f, op) == TILE_OP_store;
    tile_value memory = stores ? tile_operand_dst(f, op) : tile_operand_src(f, op);
    bool view = tile_value_type(f, memory)->kind == TILE_TYPE_VIEW;
    return effects & ~(unsigned)(view ? TILE_EFFECT_READ_SHARED | TILE_EFFECT_WRITE_SHARED
                                      : TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_WRITE_GLOBAL);
}

tile_mechanism tile_op_mechanism(const tile_function *f, tile_op op) {
    if (tile_op_opcode(f, op) != TILE_OP_copy_async)
        return tile_op_get_info(tile_op_opcode(f, op))->mechanism;
    if (tile_operands_bar(f, op).count) return TILE_MECHANISM_BARRIER;
    bool in = tile_value_type(f, tile_operand_src(f, op))->kind == TILE_TYPE_VIEW;
    return in ? TILE_MECHANISM_GROUP : TILE_MECHANISM_BULK_GROUP;
}

/* What goes through a buffer of its own touches no memory while it has none. */
static bool lacks_buffer(const tile_function *f, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    return info->traits & TILE_TRAIT_OWN_BUFFER &&
           !tile_op_at(f, op)->segment[info->operand_count - 1]; /* both have one, or none */
}

unsigned tile_op_effects(const tile_function *f, tile_op op) {
    unsigned effects = tile_op_get_info((tile_opcode)tile_op_at(f, op)->opcode)->effects;
    if (tile_op_opcode(f, op) == TILE_OP_asm) return tile_asm_effects(f, op);
    if (lacks_buffer(f, op))
        return effects & ~(unsigned)(TILE_EFFECT_READ_SHARED | TILE_EFFECT_WRITE_SHARED);
    if (tile_op_opcode(f, op) == TILE_OP_dot && tile_op_has_attr(f, op, TILE_ATTR_async))
        return effects | TILE_EFFECT_ASYNC;
    if (tile_op_opcode(f, op) == TILE_OP_copy_async) return effects_of_copy(f, op, effects);
    if (tile_op_opcode(f, op) == TILE_OP_load || tile_op_opcode(f, op) == TILE_OP_store)
        return effects_of_transfer(f, op, effects);
    if (!(effects & TILE_EFFECT_ATOMIC)) return effects;
    return effects | (tile_op_releases(f, op) ? TILE_EFFECT_RELEASE : 0u) |
           (tile_op_acquires(f, op) ? TILE_EFFECT_ACQUIRE : 0u);
}

/* Results ------------------------------------------------------------------------------------- */

bool tile_value_is_used(const tile_function *f, tile_value value) {
    for (uint32_t id = 1; id < f->op_count; id++)
        for (uint32_t i = 0; f->ops[id].opcode && i < f->ops[id].operand_count; i++)
            if (f->ops[id].operands[i].id == value.id) return true;
    return false;
}

/* Meaning ------------------------------------------------------------------------------------- */

tile_opcode tile_kind_opcode(tile_word kind) {
    _Static_assert(TILE_WORDS_kind == 16, "what combines has a case");
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

bool tile_atomic_takes_neighbours(const tile_function *f, tile_op op) {
    tile_scalar scalar = tile_value_type(f, tile_moved_operand(f, op))->scalar;
    return tile_op_word(f, op, TILE_ATTR_kind) == TILE_WORD_kind_add &&
           tile_scalar_is_floating(scalar) && tile_scalar_bits(scalar) <= 32;
}

bool tile_compare_holds(tile_word compare, int32_t word, int32_t value) {
    _Static_assert(TILE_WORDS_compare == 6, "eq goes without saying, each other one has a case");
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
    _Static_assert(TILE_WORDS_compare == 6, "eq goes without saying, each other one has a case");
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

/* A sum of truth values or of floats' bits means nothing. */
static bool verify_kind(const tile_function *f, tile_op op) {
    const tile_type *type = tile_value_type(f, tile_operand_src(f, op));
    tile_word kind = tile_op_word(f, op, TILE_ATTR_kind);
    bool bits =
        kind == TILE_WORD_kind_and || kind == TILE_WORD_kind_or || kind == TILE_WORD_kind_xor;
    if (type->param || !bits || !tile_scalar_is_floating(type->scalar)) return true;
    return tile_error_of(f, op, "and, or and xor are for integers");
}

bool tile_verify_atomic(const tile_function *f, tile_op op) {
    tile_word ordering = tile_op_word(f, op, TILE_ATTR_ordering);
    if (tile_op_opcode(f, op) == TILE_OP_fence)
        return ordering != TILE_WORD_ordering_relaxed ||
               tile_error_of(f, op, "a relaxed fence orders nothing; leave it out");
    if (!(tile_op_get_info(tile_op_opcode(f, op))->effects & TILE_EFFECT_ATOMIC)) return true;
    if (ordering == TILE_WORD_ordering_sc)
        return tile_error_of(f, op, "PTX has no sc access; put `fence {ordering = sc}` before it");
    return !tile_op_has_attr(f, op, TILE_ATTR_kind) || verify_kind(f, op);
}
