/* The tables of operations, attributes and scalars as C arrays. */
#include <string.h>

#include "tile/ir.h"

/* Effects of ops.def's last column. */
enum {
    PURE = 0,
    READ_GLOBAL = TILE_EFFECT_READ_GLOBAL,
    WRITE_GLOBAL = TILE_EFFECT_WRITE_GLOBAL,
    READ_SHARED = TILE_EFFECT_READ_SHARED,
    WRITE_SHARED = TILE_EFFECT_WRITE_SHARED,
    READ_SHARED_WARP = TILE_EFFECT_READ_SHARED | TILE_EFFECT_COLLECTIVE,
    COPY = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_WRITE_GLOBAL | TILE_EFFECT_READ_SHARED |
           TILE_EFFECT_WRITE_SHARED,
    COPY_ASYNC = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_WRITE_SHARED | TILE_EFFECT_ASYNC,
    CONVERT = TILE_EFFECT_READ_SHARED | TILE_EFFECT_WRITE_SHARED,
    ASYNC = TILE_EFFECT_ASYNC,
    WAIT = TILE_EFFECT_WAIT,
    BARRIER = TILE_EFFECT_BARRIER | TILE_EFFECT_COLLECTIVE,
    ACQUIRE = TILE_EFFECT_ACQUIRE | TILE_EFFECT_READ_GLOBAL,
    RELEASE = TILE_EFFECT_RELEASE | TILE_EFFECT_WRITE_GLOBAL,
    WARP = TILE_EFFECT_COLLECTIVE,
    REGION = TILE_EFFECT_REGION,
    TERMINATOR = TILE_EFFECT_TERMINATOR,
    ALLOC = TILE_EFFECT_ALLOC,
    FREE = TILE_EFFECT_ALLOC,
};

#define ROW(form, name, class) \
    { TILE_FORM_##form, #name, TILE_CLASS_##class }
#define OPERANDS_0() .operand_count = 0
#define OPERANDS_1(f1, n1, c1) .operand_count = 1, .operands = {ROW(f1, n1, c1)}
#define OPERANDS_2(f1, n1, c1, f2, n2, c2) \
    .operand_count = 2, .operands = {ROW(f1, n1, c1), ROW(f2, n2, c2)}
#define OPERANDS_3(f1, n1, c1, f2, n2, c2, f3, n3, c3) \
    .operand_count = 3, .operands = {ROW(f1, n1, c1), ROW(f2, n2, c2), ROW(f3, n3, c3)}
#define OPERANDS_4(f1, n1, c1, f2, n2, c2, f3, n3, c3, f4, n4, c4) \
    .operand_count = 4, \
    .operands = {ROW(f1, n1, c1), ROW(f2, n2, c2), ROW(f3, n3, c3), ROW(f4, n4, c4)}
#define HOW_required true
#define HOW_optional false
#define ATTRS_0() .attr_count = 0
#define ATTRS_1(h1, a1) .attr_count = 1, .attrs = {{HOW_##h1, TILE_ATTR_##a1}}
#define ATTRS_4(h1, a1, h2, a2, h3, a3, h4, a4) \
    .attr_count = 4, .attrs = {{HOW_##h1, TILE_ATTR_##a1}, \
                               {HOW_##h2, TILE_ATTR_##a2}, \
                               {HOW_##h3, TILE_ATTR_##a3}, \
                               {HOW_##h4, TILE_ATTR_##a4}}

static const tile_op_info op_table[TILE_OPCODE_LIMIT] = {
#define OP(number, name_, levels_, operands_, attrs_, rule_, effects_, meaning_) \
    [number] = {.name = #name_, \
                .levels = TILE_LEVELS_##levels_, \
                operands_, \
                attrs_, \
                .rule = #rule_, \
                .effects = effects_, \
                .meaning = meaning_},
#include "tile/ops.def"
#undef OP
};

static const tile_attr_info attr_table[TILE_ATTR_LIMIT] = {
#define ATTR(number, name, kind, meaning) [number] = {#name, TILE_KIND_##kind, meaning},
#include "tile/attrs.def"
#undef ATTR
};

static const struct {
    const char *name;
    unsigned bits;
    bool floating;
} scalar_table[TILE_SCALAR_COUNT] = {
#define CLASS_integer false
#define CLASS_floating true
#define SCALAR(number, name, bits, class, meaning) [number] = {#name, bits, CLASS_##class},
#include "tile/scalars.def"
#undef SCALAR
};

const tile_op_info *tile_op_get_info(tile_opcode opcode) {
    return &op_table[(unsigned)opcode < TILE_OPCODE_LIMIT ? opcode : TILE_OP_NONE];
}

const tile_attr_info *tile_attr_get_info(tile_attr_id id) {
    return &attr_table[(unsigned)id < TILE_ATTR_LIMIT ? id : TILE_ATTR_NONE];
}

static bool names_equal(const char *name, const char *text, size_t length) {
    return name && strlen(name) == length && memcmp(name, text, length) == 0;
}

tile_opcode tile_opcode_from_name(const char *name, size_t length) {
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (names_equal(op_table[i].name, name, length)) return (tile_opcode)i;
    return TILE_OP_NONE;
}

tile_attr_id tile_attr_from_name(const char *name, size_t length) {
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++)
        if (names_equal(attr_table[i].name, name, length)) return (tile_attr_id)i;
    return TILE_ATTR_NONE;
}

const char *tile_scalar_name(tile_scalar scalar) {
    return (unsigned)scalar < TILE_SCALAR_COUNT && scalar ? scalar_table[scalar].name : "none";
}

unsigned tile_scalar_bits(tile_scalar scalar) {
    return (unsigned)scalar < TILE_SCALAR_COUNT ? scalar_table[scalar].bits : 0;
}

unsigned tile_scalar_bytes(tile_scalar scalar) {
    return (tile_scalar_bits(scalar) + 7) / 8;
}

bool tile_scalar_is_floating(tile_scalar scalar) {
    return (unsigned)scalar < TILE_SCALAR_COUNT && scalar_table[scalar].floating;
}

tile_scalar tile_scalar_from_name(const char *name, size_t length) {
    for (unsigned i = 1; i < TILE_SCALAR_COUNT; i++)
        if (names_equal(scalar_table[i].name, name, length)) return (tile_scalar)i;
    return TILE_SCALAR_NONE;
}
