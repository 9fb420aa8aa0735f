/* Operands of operations by the names that they have in ops.def; lib/ir/function.h includes this.
 *
 *     tile_operand_dst(f, op)           the operand's first value (the base of an element);
 *                                       TILE_NO_VALUE if the operand is absent
 *     tile_operands_dst(f, op)          all its values: an element's base and coordinates, a list
 *     TILE_OPERAND_dst                  the name, for functions that take one
 *
 * The row must have an operand of that name (tile_op_takes tells). No other code uses the position
 * of an operand in a row. */
#ifndef TILE_LIB_IR_OPERANDS_H
#define TILE_LIB_IR_OPERANDS_H

#include <assert.h>

typedef enum tile_operand_name {
    TILE_OPERAND_NONE,
#define OPERAND(name) TILE_OPERAND_##name,
#include "lib/ir/operands.def"
#undef OPERAND
    TILE_OPERAND_COUNT
} tile_operand_name;

/* By operation: 1 + the position of the operand in the row, 0: the row does not have it. */
extern const uint8_t tile_operand_table[TILE_OPCODE_LIMIT][TILE_OPERAND_COUNT];

static inline bool tile_op_takes(tile_opcode opcode, tile_operand_name name) {
    return tile_operand_table[opcode][name] != 0;
}

/* The position of the operand in the row, which must have it: for functions that take a position.
 */
static inline unsigned tile_place_of(tile_opcode opcode, tile_operand_name name) {
    assert(tile_op_takes(opcode, name));
    return tile_operand_table[opcode][name] - 1u;
}

/* Values inside the operation, which must not change meanwhile. */
typedef struct tile_values {
    tile_value *at;
    unsigned count; /* 0: the operand is absent */
} tile_values;

tile_values tile_named_operands(const tile_function *f, tile_op op, tile_operand_name name);
tile_value tile_named_operand(const tile_function *f, tile_op op, tile_operand_name name);

/* For operations whose operands are alike, or for any operation: TILE_NO_VALUE if it has none. */
static inline tile_value tile_first_operand(const tile_function *f, tile_op op) {
    return tile_op_operand(f, op, 0);
}

/* The stored, added or compared value: `src`, or `expected` of a compare-and-swap. */
static inline tile_value tile_moved_operand(const tile_function *f, tile_op op) {
    bool swaps = tile_op_takes((tile_opcode)tile_op_at(f, op)->opcode, TILE_OPERAND_expected);
    return tile_named_operand(f, op, swaps ? TILE_OPERAND_expected : TILE_OPERAND_src);
}

/* Replaces the operand's first value, which must exist. */
static inline void tile_set_operand(tile_function *f, tile_op op, tile_operand_name name,
                                    tile_value value) {
    const tile_values values = tile_named_operands(f, op, name);
    assert(values.count);
    values.at[0] = value;
}

#define OPERAND(name) \
    static inline tile_value tile_operand_##name(const tile_function *f, tile_op op) { \
        return tile_named_operand(f, op, TILE_OPERAND_##name); \
    } \
    static inline tile_values tile_operands_##name(const tile_function *f, tile_op op) { \
        return tile_named_operands(f, op, TILE_OPERAND_##name); \
    }
#include "lib/ir/operands.def"
#undef OPERAND

#endif
