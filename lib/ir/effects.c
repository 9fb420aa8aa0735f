/* The effects of an operation, from its row and its attributes. */
#include "lib/ir/effects.h"

#include <string.h>

/* Indexed by tile_word. */
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

tile_word tile_attr_find_word(tile_attr_id id, const char *text) {
    for (unsigned i = 1; text && i < WORDS; i++)
        if (word_texts[i].id == id && strcmp(word_texts[i].text, text) == 0) return (tile_word)i;
    return TILE_WORD_NONE;
}

tile_word tile_op_word(const tile_function *f, tile_op op, tile_attr_id id) {
    return tile_attr_find_word(id, tile_op_attr_text(f, op, id));
}

const char *tile_attr_word(tile_attr_id id, unsigned index) {
    for (unsigned i = 1; i < WORDS; i++)
        if (word_texts[i].id == id && index-- == 0) return word_texts[i].text;
    return NULL;
}

const char *tile_attr_word_text(tile_word word) {
    return word_texts[(unsigned)word < WORDS ? word : 0].text;
}

/* Ordering ------------------------------------------------------------------------------------- */

enum { RELEASES = 1, ACQUIRES = 2 };

/* An unknown ordering, of a parameter without a value, counts as both. */
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

/* A copy reads one memory space and writes the other. */
static unsigned effects_of_copy(const tile_function *f, tile_op op, unsigned effects) {
    bool in = tile_value_type(f, tile_operand_src(f, op))->kind == TILE_TYPE_VIEW;
    return effects & ~(in ? TILE_EFFECT_READ_SHARED | TILE_EFFECT_WRITE_GLOBAL
                          : TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_WRITE_SHARED);
}

/* A load reads one of the spaces, a store writes one. */
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

/* An operation with an optional buffer of its own touches no memory if it has none. */
static bool lacks_buffer(const tile_function *f, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    return info->traits & TILE_TRAIT_OWN_BUFFER &&
           !tile_op_at(f, op)->segment[info->operand_count - 1]; /* all of them or none */
}

static unsigned effects_of_asm(const tile_function *f, tile_op op) {
    const unsigned reads = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_READ_SHARED;
    const unsigned writes = TILE_EFFECT_WRITE_GLOBAL | TILE_EFFECT_WRITE_SHARED;
    switch (tile_op_word(f, op, TILE_ATTR_effect)) {
    case TILE_WORD_effect_pure: return 0;
    case TILE_WORD_effect_reads: return reads;
    case TILE_WORD_effect_writes: return reads | writes;
    case TILE_WORD_effect_warp: return TILE_EFFECT_COLLECTIVE;
    default: /* a barrier, or not known yet */
        return reads | writes | TILE_EFFECT_COLLECTIVE | TILE_EFFECT_ACQUIRE | TILE_EFFECT_RELEASE;
    }
}

unsigned tile_op_effects(const tile_function *f, tile_op op) {
    unsigned effects = tile_op_get_info((tile_opcode)tile_op_at(f, op)->opcode)->effects;
    if (tile_op_opcode(f, op) == TILE_OP_asm) return effects_of_asm(f, op);
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
