/* The tables of operations and attributes as C arrays. */
#include "lib/ir/function.h"
#include "lib/support/text.h"
#include "tile/ops_macros.h"

/* The words of ops.def's columns. */
enum {
    PLAIN = 0,
    ELEMENTWISE = TILE_TRAIT_ELEMENTWISE,
    COMMUTATIVE = TILE_TRAIT_COMMUTATIVE,
    COMPARE = TILE_TRAIT_COMPARE,
    CONVERT = TILE_TRAIT_CONVERT,
    WHOLE_SET = TILE_TRAIT_WHOLE_SET,
    ONE_THREAD = TILE_TRAIT_ONE_THREAD,
    DIVERGES = TILE_TRAIT_DIVERGES,
    FRESH = TILE_TRAIT_FRESH,
    OWN_BUFFER = TILE_TRAIT_OWN_BUFFER,
    BARRIER_BEFORE = TILE_TRAIT_BARRIER_BEFORE,
    BARRIER_AFTER = TILE_TRAIT_BARRIER_AFTER,
    UNIFORM = TILE_TRAIT_UNIFORM,
    SIDE_RESULT = TILE_TRAIT_SIDE_RESULT,
    GATHERS = TILE_TRAIT_GATHERS,
    ROUNDS = TILE_TRAIT_ROUNDS,
};

enum {
    NONE = 0,
    BARRIER = TILE_EFFECT_BARRIER | TILE_EFFECT_COLLECTIVE,
    ARRIVE = TILE_EFFECT_RELEASE | TILE_EFFECT_COLLECTIVE,
    CLUSTER_ARRIVE = TILE_EFFECT_RELEASE | TILE_EFFECT_COLLECTIVE | TILE_EFFECT_CLUSTER,
    CLUSTER_WAIT = TILE_EFFECT_ACQUIRE | TILE_EFFECT_COLLECTIVE | TILE_EFFECT_CLUSTER,
    BARRIER_OF_WARP = TILE_EFFECT_ACQUIRE | TILE_EFFECT_RELEASE | TILE_EFFECT_COLLECTIVE,
    ACQUIRE = TILE_EFFECT_ACQUIRE,
    RELEASE = TILE_EFFECT_RELEASE,
    FENCE = TILE_EFFECT_ACQUIRE | TILE_EFFECT_RELEASE,
    ATOMIC = TILE_EFFECT_ATOMIC, /* and the effects of `ordering`: tile_op_effects */
    REPORT = TILE_EFFECT_REPORT,
    ASSEMBLY = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_WRITE_GLOBAL | TILE_EFFECT_READ_SHARED |
               TILE_EFFECT_WRITE_SHARED | TILE_EFFECT_COLLECTIVE | TILE_EFFECT_ACQUIRE |
               TILE_EFFECT_RELEASE, /* or the effects of `effect`: tile_op_effects */
    WARP = TILE_EFFECT_COLLECTIVE,
    WARPGROUP = TILE_EFFECT_COLLECTIVE | TILE_EFFECT_WARPGROUP,
    PRODUCT_OF_SHARED = WARPGROUP | TILE_EFFECT_READ_SHARED,
    REGION = TILE_EFFECT_REGION,
    TERMINATOR = TILE_EFFECT_TERMINATOR,
    ALLOC = TILE_EFFECT_ALLOC,
    READ_GLOBAL = TILE_EFFECT_READ_GLOBAL,
    WRITE_GLOBAL = TILE_EFFECT_WRITE_GLOBAL,
    STEP = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_WRITE_GLOBAL,
};

/* The memory that an access to an operand of a class may touch. */
enum {
    TOUCH_none_barrier = 0, /* the barrier itself, not the data that it guards */
    TOUCH_none_any_barrier = 0,
    TOUCH_none_shared = 0,
    TOUCH_none_view = 0,
    TOUCH_none_pointer = 0,
    TOUCH_read_pointer = TILE_EFFECT_READ_GLOBAL,
    TOUCH_read_view = TILE_EFFECT_READ_GLOBAL,
    TOUCH_read_shared = TILE_EFFECT_READ_SHARED,
    TOUCH_read_any_shared = TILE_EFFECT_READ_SHARED,
    TOUCH_read_tile_or_shared = TILE_EFFECT_READ_SHARED,
    TOUCH_read_memory = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_READ_SHARED,
    TOUCH_read_global = TILE_EFFECT_READ_GLOBAL,
    TOUCH_write_pointer = TILE_EFFECT_WRITE_GLOBAL,
    TOUCH_write_global = TILE_EFFECT_WRITE_GLOBAL,
    TOUCH_write_view = TILE_EFFECT_WRITE_GLOBAL,
    TOUCH_write_shared = TILE_EFFECT_WRITE_SHARED,
    TOUCH_write_any_shared = TILE_EFFECT_WRITE_SHARED,
    TOUCH_write_memory = TILE_EFFECT_WRITE_GLOBAL | TILE_EFFECT_WRITE_SHARED,
    TOUCH_update_shared = TILE_EFFECT_READ_SHARED | TILE_EFFECT_WRITE_SHARED,
    TOUCH_update_memory = TOUCH_read_memory | TOUCH_write_memory,
    TOUCH_update_location = TOUCH_update_memory,
};
#define EFFECT_none
#define EFFECT_value(name, class)
#define EFFECT_optional(name, class)
#define EFFECT_element(name, class, access) | TOUCH_##access##_##class
#define EFFECT_part(name, class, access) | TOUCH_##access##_##class
#define EFFECT_address(name, class, access) | TOUCH_##access##_##class
#define EFFECT_optaddress(name, class, access) | TOUCH_##access##_##class
#define EFFECT_whole(name, class, access) | TOUCH_##access##_##class
#define EFFECT_list(name, class)
#define EFFECT_optlist(name, class)
#define EFFECT_variadic(name, class)

/* Operands and attributes: entries of the row's arrays, and their number. */
#define OPERAND_none
#define OPERAND_value(name, class) {TILE_FORM_value, #name, TILE_CLASS_##class, TILE_ACCESS_none},
#define OPERAND_optional(name, class) \
    {TILE_FORM_optional, #name, TILE_CLASS_##class, TILE_ACCESS_none},
#define OPERAND_element(name, class, access) \
    {TILE_FORM_element, #name, TILE_CLASS_##class, TILE_ACCESS_##access},
#define OPERAND_part(name, class, access) \
    {TILE_FORM_part, #name, TILE_CLASS_##class, TILE_ACCESS_##access},
#define OPERAND_address(name, class, access) \
    {TILE_FORM_address, #name, TILE_CLASS_##class, TILE_ACCESS_##access},
#define OPERAND_optaddress(name, class, access) \
    {TILE_FORM_optaddress, #name, TILE_CLASS_##class, TILE_ACCESS_##access},
#define OPERAND_whole(name, class, access) \
    {TILE_FORM_whole, #name, TILE_CLASS_##class, TILE_ACCESS_##access},
#define OPERAND_list(name, class) {TILE_FORM_list, #name, TILE_CLASS_##class, TILE_ACCESS_none},
#define OPERAND_optlist(name, class) \
    {TILE_FORM_optlist, #name, TILE_CLASS_##class, TILE_ACCESS_none},
#define OPERAND_variadic(name, class) \
    {TILE_FORM_variadic, #name, TILE_CLASS_##class, TILE_ACCESS_none},
#define ATTRIBUTE_none
#define ATTRIBUTE_required(name) {true, TILE_ATTR_##name},
#define ATTRIBUTE_optional(name) {false, TILE_ATTR_##name},
#define ONE_none
#define ONE_value(name, class) +1
#define ONE_optional(...) +1 /* operand or attribute */
#define ONE_element(name, class, access) +1
#define ONE_part(name, class, access) +1
#define ONE_address(name, class, access) +1
#define ONE_optaddress(name, class, access) +1
#define ONE_whole(name, class, access) +1
#define ONE_list(name, class) +1
#define ONE_optlist(name, class) +1
#define ONE_variadic(name, class) +1
#define ONE_required(name) +1

/* Positions of operands by name: PLACE_value(lhs, ..) (0), gives lhs the position 0. */
#define PLACE_none
#define PLACE_value(name, class) [TILE_OPERAND_##name] = 1 +
#define PLACE_optional(name, class) [TILE_OPERAND_##name] = 1 +
#define PLACE_element(name, class, access) [TILE_OPERAND_##name] = 1 +
#define PLACE_part(name, class, access) [TILE_OPERAND_##name] = 1 +
#define PLACE_address(name, class, access) [TILE_OPERAND_##name] = 1 +
#define PLACE_optaddress(name, class, access) [TILE_OPERAND_##name] = 1 +
#define PLACE_whole(name, class, access) [TILE_OPERAND_##name] = 1 +
#define PLACE_list(name, class) [TILE_OPERAND_##name] = 1 +
#define PLACE_optlist(name, class) [TILE_OPERAND_##name] = 1 +
#define PLACE_variadic(name, class) [TILE_OPERAND_##name] = 1 +

/* The words of the columns typing and completion set fields of the row. */
#define TYPING_inferred .type_given = false
#define TYPING_given .type_given = true
#define TYPING_loop .shape = TILE_SHAPE_LOOP
#define TYPING_while_loop .shape = TILE_SHAPE_WHILE
#define TYPING_branch .shape = TILE_SHAPE_BRANCH
#define TYPING_launch .type_given = false
#define TYPING_call .type_given = false
#define TYPING_body .shape = TILE_SHAPE_BODY
#define TYPING_elements .shape = TILE_SHAPE_ELEMENTS
#define COMPLETION_now .completion = TILE_COMPLETION_NOW
#define COMPLETION_starts_group \
    .completion = TILE_COMPLETION_STARTS, .mechanism = TILE_MECHANISM_GROUP
#define COMPLETION_starts_barrier \
    .completion = TILE_COMPLETION_STARTS, .mechanism = TILE_MECHANISM_BARRIER
#define COMPLETION_starts_bulk \
    .completion = TILE_COMPLETION_STARTS, .mechanism = TILE_MECHANISM_BULK_GROUP
#define COMPLETION_commits_bulk \
    .completion = TILE_COMPLETION_COMMITS, .mechanism = TILE_MECHANISM_BULK_GROUP
#define COMPLETION_waits_bulk \
    .completion = TILE_COMPLETION_WAITS, .mechanism = TILE_MECHANISM_BULK_GROUP
#define COMPLETION_commits_group \
    .completion = TILE_COMPLETION_COMMITS, .mechanism = TILE_MECHANISM_GROUP
#define COMPLETION_waits_group \
    .completion = TILE_COMPLETION_WAITS, .mechanism = TILE_MECHANISM_GROUP
#define COMPLETION_starts_wgmma \
    .completion = TILE_COMPLETION_STARTS, .mechanism = TILE_MECHANISM_WGMMA
#define COMPLETION_commits_wgmma \
    .completion = TILE_COMPLETION_COMMITS, .mechanism = TILE_MECHANISM_WGMMA
#define COMPLETION_waits_wgmma \
    .completion = TILE_COMPLETION_WAITS, .mechanism = TILE_MECHANISM_WGMMA
enum {
    DURING_now = 0,
    DURING_starts_group = TILE_EFFECT_ASYNC,
    DURING_starts_barrier = TILE_EFFECT_ASYNC,
    DURING_starts_bulk = TILE_EFFECT_ASYNC,
    DURING_commits_bulk = TILE_EFFECT_ASYNC,
    DURING_waits_bulk = TILE_EFFECT_WAIT,
    DURING_commits_group = TILE_EFFECT_ASYNC,
    DURING_waits_group = TILE_EFFECT_WAIT,
    DURING_starts_wgmma = TILE_EFFECT_ASYNC,
    DURING_commits_wgmma = TILE_EFFECT_ASYNC,
    DURING_waits_wgmma = TILE_EFFECT_WAIT,
};

static const tile_op_info op_table[TILE_OPCODE_LIMIT] = {
#define OP(number, name_, levels_, operands_, attributes_, typing_, rule_, traits_, effects_, \
           completion_, dims_, meaning_) \
    [number] = {.name = #name_, \
                .levels = TILE_LEVELS_##levels_, \
                .operand_count = 0 TILE_EACH(ONE_, operands_), \
                .operands = {TILE_EACH(OPERAND_, operands_){TILE_FORM_value, NULL, TILE_CLASS_any, \
                                                            TILE_ACCESS_none}}, \
                .attr_count = 0 TILE_EACH(ONE_, attributes_), \
                .attrs = {TILE_EACH(ATTRIBUTE_, attributes_){false, TILE_ATTR_NONE}}, \
                TYPING_##typing_, \
                .traits = traits_, \
                .effects = (effects_) | DURING_##completion_ TILE_EACH(EFFECT_, operands_), \
                COMPLETION_##completion_, \
                .meaning = meaning_},
#include "tile/ops.def"
};

static const tile_attr_info attr_table[TILE_ATTR_LIMIT] = {
#define ATTR(number, name, kind, by, read_by, until, meaning) \
    [number] = {#name, TILE_KIND_##kind, meaning, by, read_by, until},
#include "tile/attrs.def"
};

const tile_op_info *tile_op_get_info(tile_opcode opcode) {
    return &op_table[(unsigned)opcode < TILE_OPCODE_LIMIT ? opcode : TILE_OP_NONE];
}

const tile_attr_info *tile_attr_get_info(tile_attr_id id) {
    return &attr_table[(unsigned)id < TILE_ATTR_LIMIT ? id : TILE_ATTR_NONE];
}

bool tile_op_has_trait(tile_opcode opcode, unsigned traits) {
    return (tile_op_get_info(opcode)->traits & traits) != 0;
}

tile_attr_id tile_attr_from_name(const char *name, size_t length) {
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++)
        if (tile_text_is(attr_table[i].name, name, length)) return (tile_attr_id)i;
    return TILE_ATTR_NONE;
}

const uint8_t tile_operand_table[TILE_OPCODE_LIMIT][TILE_OPERAND_COUNT] = {
#define OP(number, name, levels, operands, ...) [number] = {TILE_NUMBERED(PLACE_, operands)},
#include "tile/ops.def"
};
