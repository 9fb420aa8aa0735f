/* Which words of `kind` are valid for an operation and its elements. */
#include "lib/ops/kinds.h"

#include <math.h>
#include <string.h>

#include "lib/ir/accumulator.h"
#include "lib/ir/syntax.h"
#include "lib/support/text.h"

enum { MAX_KINDS = 8 };

#define COMBINING \
    TILE_WORD_kind_add, TILE_WORD_kind_min, TILE_WORD_kind_max, TILE_WORD_kind_and, \
        TILE_WORD_kind_or, TILE_WORD_kind_xor

/* An operation without a row takes no kind. */
static const struct {
    tile_opcode opcode;
    tile_word words[MAX_KINDS];
} takers[] = {
    {TILE_OP_atomic, {COMBINING, TILE_WORD_kind_exch}},
    {TILE_OP_atomic_thread, {COMBINING, TILE_WORD_kind_exch}},
    {TILE_OP_tma_store, {COMBINING, TILE_WORD_kind_exch}}, /* it has its own diagnostic */
    {TILE_OP_bulk_store, {COMBINING, TILE_WORD_kind_exch}},
    {TILE_OP_reduce, {COMBINING, TILE_WORD_kind_mul}},
    {TILE_OP_reduce_arg, {TILE_WORD_kind_max, TILE_WORD_kind_min}},
    {TILE_OP_scan, {COMBINING, TILE_WORD_kind_mul, TILE_WORD_kind_logsumexp}},
    {TILE_OP_redux, {COMBINING}},
    {TILE_OP_shfl,
     {TILE_WORD_kind_idx, TILE_WORD_kind_up, TILE_WORD_kind_down, TILE_WORD_kind_xor}},
    {TILE_OP_vote, {TILE_WORD_kind_any, TILE_WORD_kind_all, TILE_WORD_kind_ballot}},
    {TILE_OP_round,
     {TILE_WORD_kind_even, TILE_WORD_kind_zero, TILE_WORD_kind_up, TILE_WORD_kind_down}},
};

static const tile_word *kinds_of(tile_opcode opcode) {
    for (unsigned i = 0; i < sizeof takers / sizeof *takers; i++)
        if (takers[i].opcode == opcode) return takers[i].words;
    return NULL;
}

/* Returns whether this word is valid for the attribute `kind` of this operation. */
static bool takes_kind(tile_opcode opcode, tile_word kind) {
    const tile_word *kinds = kinds_of(opcode);
    for (unsigned i = 0; kinds && kind && i < MAX_KINDS; i++)
        if (kinds[i] == kind) return true;
    return false;
}

bool tile_opcode_takes_kind(tile_opcode opcode, const char *word) {
    const tile_word *kinds = kinds_of(opcode);
    for (unsigned i = 0; kinds && i < MAX_KINDS && kinds[i]; i++)
        if (strcmp(tile_attr_word_text(kinds[i]), word) == 0) return true;
    return false;
}

bool tile_kind_combines(tile_word kind, tile_scalar scalar) {
    bool bits =
        kind == TILE_WORD_kind_and || kind == TILE_WORD_kind_or || kind == TILE_WORD_kind_xor;
    if (!tile_scalar_has_arithmetic(scalar)) return false;
    if (kind == TILE_WORD_kind_logsumexp) return tile_scalar_is_floating(scalar);
    return bits ? !tile_scalar_is_floating(scalar) : scalar != TILE_i1;
}

/* min and max ignore NaN, so NaN is their identity. */
double tile_kind_identity(tile_word kind) {
    if (kind == TILE_WORD_kind_min) return INFINITY;
    if (kind == TILE_WORD_kind_max || kind == TILE_WORD_kind_logsumexp) return -INFINITY;
    return kind == TILE_WORD_kind_mul;
}

int64_t tile_kind_integer_identity(tile_word kind, tile_scalar scalar) {
    int64_t most = (int64_t)((UINT64_C(1) << (tile_scalar_bits(scalar) - 1)) - 1);
    if (tile_scalar_is_unsigned(scalar)) {
        bool ones = kind == TILE_WORD_kind_min || kind == TILE_WORD_kind_and;
        return ones ? (int64_t)(UINT64_MAX >> (64 - tile_scalar_bits(scalar)))
                    : kind == TILE_WORD_kind_mul;
    }
    if (kind == TILE_WORD_kind_min) return most;
    if (kind == TILE_WORD_kind_max) return -most - 1;
    if (kind == TILE_WORD_kind_and) return -1;
    return kind == TILE_WORD_kind_mul;
}

static bool refuse_word(const tile_function *f, tile_op op, const tile_word *kinds) {
    tile_arena scratch = {0};
    const char *list = "";
    for (unsigned i = 0; i < MAX_KINDS && kinds[i]; i++)
        list = tile_arena_format(&scratch, "%s%s%s", list, i ? ", " : "",
                                 tile_attr_word_text(kinds[i]));
    tile_error_of(f, op, "it has no kind `%s`; write one of %s",
                  tile_op_attr_text(f, op, TILE_ATTR_kind), list);
    tile_arena_reset(&scratch);
    return false;
}

static bool refuse_elements(const tile_function *f, tile_op op, tile_scalar scalar) {
    const char *remedy = "and, or and xor take integers; add, mul, min and max take numbers";
    if (!tile_scalar_has_arithmetic(scalar)) remedy = "cast it to f32 first";
    if (scalar == TILE_i1) remedy = "i1 takes and, or and xor; cast it to i32 to count";
    if (tile_op_word(f, op, TILE_ATTR_kind) == TILE_WORD_kind_logsumexp)
        remedy = "logsumexp takes floats; cast it to f32 first";
    return tile_error_of(f, op, "there is no `%s` of %s: %s",
                         tile_op_attr_text(f, op, TILE_ATTR_kind), tile_scalar_name(scalar),
                         remedy);
}

/* Kernels have no instruction for it, and a func says in which precision they compute. */
static bool refuse_level(const tile_function *f, tile_op op) {
    return tile_error_of(f, op,
                         "`logsumexp` is a kind of computes; in a kernel, write `scan (%%x, %%one) "
                         "{axis = 0, combine = @f}` with a func that combines a maximum and a sum");
}

/* Operations that check themselves what they can combine. */
static bool combines_elements(tile_opcode opcode) {
    return opcode == TILE_OP_reduce || opcode == TILE_OP_reduce_arg || opcode == TILE_OP_scan;
}

bool tile_verify_kind(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    const tile_word *kinds = kinds_of(opcode);
    tile_word kind = tile_op_word(f, op, TILE_ATTR_kind);
    if (!kinds || !kind) return true;
    if (!takes_kind(opcode, kind)) return refuse_word(f, op, kinds);
    const tile_type *type = tile_value_type(f, tile_operand_src(f, op));
    if (kind == TILE_WORD_kind_logsumexp && type->kind != TILE_TYPE_TENSOR)
        return refuse_level(f, op);
    bool orders = kind == TILE_WORD_kind_min || kind == TILE_WORD_kind_max;
    if (!orders && tile_op_has_attr(f, op, TILE_ATTR_nan)) {
        return tile_error_of(f, op,
                             "`nan` applies to the kinds min and max only; remove it, as other "
                             "kinds propagate NaN anyway");
    }
    return !combines_elements(opcode) || type->param || tile_kind_combines(kind, type->scalar) ||
           refuse_elements(f, op, type->scalar);
}

/* Names of operations ---------------------------------------------------------------------------
 */

/* Other spellings of an operation with its kind. */
static const struct {
    const char *name, *canonical;
} spellings[] = {{"ceil", "round_up"}, {"trunc", "round_zero"}};

/* Returns the word of `kind` that follows the name, as in atomic_add; NULL if it is another name.
 */
static const char *kind_after(const char *name, const tile_word *kinds, const char *text,
                              size_t length) {
    size_t own = strlen(name);
    if (length <= own + 1 || memcmp(name, text, own) != 0 || text[own] != '_') return NULL;
    for (unsigned i = 0; i < MAX_KINDS && kinds[i]; i++) {
        const char *word = tile_attr_word_text(kinds[i]);
        if (tile_text_is(word, text + own + 1, length - own - 1)) return word;
    }
    return NULL;
}

/* The row of takers that a name with a kind is of; *word: the kind. NULL: there is none. */
static const tile_opcode *find_taker(const char *name, size_t length, const char **word) {
    for (unsigned i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (tile_text_is(spellings[i].name, name, length)) {
            name = spellings[i].canonical;
            length = strlen(name);
        }
    for (unsigned i = 0; i < sizeof takers / sizeof *takers; i++) {
        *word = kind_after(tile_op_get_info(takers[i].opcode)->name, takers[i].words, name, length);
        if (*word) return &takers[i].opcode;
    }
    return NULL;
}

tile_opcode tile_opcode_from_name(const char *name, size_t length) {
    const char *word;
    if (!name || !length) return TILE_OP_NONE;
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        const char *own = tile_op_get_info((tile_opcode)i)->name;
        if (own && *own == *name && tile_text_is(own, name, length)) return (tile_opcode)i;
    }
    const tile_opcode *taker = find_taker(name, length, &word);
    return taker ? *taker : TILE_OP_NONE;
}

const char *tile_kind_from_name(const char *name, size_t length) {
    const char *word;
    const char *own = tile_op_get_info(tile_opcode_from_name(name, length))->name;
    if (!own || tile_text_is(own, name, length)) return NULL; /* reduce_arg is a name */
    return find_taker(name, length, &word) ? word : NULL;
}

const char *tile_kind_names(tile_opcode opcode, tile_arena *arena) {
    const tile_word *kinds = kinds_of(opcode);
    const char *name = tile_op_get_info(opcode)->name, *list = "";
    for (unsigned i = 0; kinds && i < MAX_KINDS && kinds[i]; i++) {
        bool last = i + 1 == MAX_KINDS || !kinds[i + 1];
        list = tile_arena_format(arena, "%s%s%s_%s", list,
                                 !i     ? ""
                                 : last ? " or "
                                        : ", ",
                                 name, tile_attr_word_text(kinds[i]));
    }
    return list;
}

const char *tile_kind_names_like(const char *name, size_t length, tile_arena *arena) {
    for (unsigned i = 0; i < sizeof takers / sizeof *takers; i++) {
        const char *own = tile_op_get_info(takers[i].opcode)->name;
        size_t prefix = strlen(own);
        if (length > prefix + 1 && name[prefix] == '_' && memcmp(name, own, prefix) == 0)
            return tile_kind_names(takers[i].opcode, arena);
    }
    return "";
}

bool tile_check_func_name(tile_context *context, const char *name, tile_loc loc) {
    size_t length = strlen(name);
    bool cast = tile_scalar_from_name(name, length) || strcmp(name, TILE_ACCUMULATOR_WORD) == 0;
    const char *what = tile_opcode_from_name(name, length)  ? "an operation"
                       : tile_is_literal_word(name, length) ? "a number"
                       : cast                               ? "a cast"
                                                            : NULL;
    if (what)
        tile_report(context, TILE_ERROR, loc,
                    "`%s(..)` is %s, so a func cannot have the name @%s; choose another name", name,
                    what, name);
    return !what;
}
