/* Finds products whose right operand is unpacked from words: weights of 4 bits, as a model's linear
 * layers store them.
 *
 *     %number = (broadcast(reshape(%words)) >> 4 * iota) & 15
 *     matmul(f32(%a), f32(reshape(%number - 8)) * scales repeated along k)
 *
 * The operand is recognized by coordinates: the number at k is at bits 4 (k % 8) of word k / 8,
 * whatever reshapes, transposes and slices lead there. Words may also be bytes, of which `join`
 * puts the low and the high number side by side. The product's kernel unpacks the numbers on
 * the way from shared memory to the tensor cores (products/packed.c), which need them unscaled. So
 * the scales are moved out of the sums of each group of k. This changes only how results are
 * rounded: numbers of 4 bits are exact in 16-bit floats, scaled ones are not. */
#include "passes/schedule/kernel/packed.h"

#include <math.h>

#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "passes/schedule/kernel/factors.h"

/* Dims of the coordinates during the analysis. */
enum { ROW, COLUMN, K };

/* Coordinates ---------------------------------------------------------------------------------- */

/* If the coordinate is k / number or k % number, returns the number, else 0. */
static int64_t part_of_k(const sched_coordinate *at, sched_index_kind kind) {
    if (!at->index || at->offset || at->index->kind != kind || !at->index->by.expr) return 0;
    bool of_k = !at->index->a.index && !at->index->a.offset && at->index->a.dim == K;
    return of_k ? sched_constant(at->index->by.expr) : 0;
}

static bool is_column(const sched_coordinate *at) {
    return !at->index && !at->offset && at->dim == COLUMN;
}

/* Integers ------------------------------------------------------------------------------------- */

/* Returns whether all elements are one known integer, which may have a floating type. */
static bool find_integer(const schedule *s, tile_value value, int64_t *number) {
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id) {
        tile_opcode opcode = tile_op_opcode(s->compute, op);
        if (opcode != TILE_OP_splat && opcode != TILE_OP_broadcast) return false;
        value = tile_first_operand(s->compute, op);
    }
    const tile_expr *expr = tile_value_at(s->compute, value)->expr;
    if (!expr || expr->kind != TILE_EXPR_FLOAT) return expr && tile_expr_is_int(expr, number);
    bool whole = fabs(expr->number) < 0x1p30 && expr->number == floor(expr->number);
    if (whole) *number = (int64_t)expr->number;
    return whole;
}

/* Goes to the operation that computes the value, through operations that move its elements. */
static tile_op find_source(schedule *s, sched_factor *at) {
    while (sched_follow_moves(s, at)) continue;
    return tile_value_def(s->compute, at->value);
}

static sched_factor operand_of(schedule *s, tile_op op, unsigned index, const sched_factor *at) {
    return (sched_factor){tile_op_operand(s->compute, op, index),
                          sched_operand_map(s, op, 0, index, &at->map)};
}

/* If the value is `opcode` of another value and a known integer, goes to the other value. */
static bool follow_integer(schedule *s, sched_factor *at, tile_opcode opcode, int64_t *number) {
    sched_factor from = *at;
    tile_op op = find_source(s, &from);
    if (!op.id || tile_op_opcode(s->compute, op) != opcode) return false;
    bool either = opcode == TILE_OP_and || opcode == TILE_OP_add || opcode == TILE_OP_mul;
    for (unsigned i = 0; i < 1u + either; i++)
        if (find_integer(s, tile_op_operand(s->compute, op, 1 - i), number)) {
            *at = operand_of(s, op, i, &from);
            return true;
        }
    return false;
}

/* The number of numbers in a word, if the value is the first bit of the number at k in it, such as
 * 4 (k % 8); else 0. */
static int64_t find_first_bit(schedule *s, sched_factor at) {
    int64_t factor = 1, number;
    if (follow_integer(s, &at, TILE_OP_mul, &number))
        factor = number;
    else if (follow_integer(s, &at, TILE_OP_shl, &number) && number >= 0 && number < 32)
        factor = INT64_C(1) << number;
    tile_op op = find_source(s, &at);
    if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_iota) return 0;
    const tile_attr *start = tile_op_attr(s->compute, op, TILE_ATTR_start);
    const tile_attr *step = tile_op_attr(s->compute, op, TILE_ATTR_step);
    if (start && !tile_expr_is(start->expr, 0)) return 0;
    if (step && (!tile_expr_is_int(step->expr, &number) || number < 0 || number > 32)) return 0;
    if (step) factor *= number;
    return factor == SCHED_PACKED_BITS ? part_of_k(&at.map.at[sched_axis(s, op)], SCHED_REM) : 0;
}

/* Numbers -------------------------------------------------------------------------------------- */

/* Where numbers are in words. */
typedef struct numbers {
    sched_factor words;
    int64_t in_word; /* numbers in a word: the one at k is at bits 4 (k % in_word); 0: at `shift` */
    int64_t shift, offset;
} numbers;

/* Goes from shifted words to the words. */
static bool follow_shift(schedule *s, numbers *to, sched_factor at) {
    sched_factor from = at;
    tile_op op = find_source(s, &from);
    tile_opcode opcode = op.id ? tile_op_opcode(s->compute, op) : TILE_OP_NONE;
    to->words = at;
    if (opcode != TILE_OP_shr && opcode != TILE_OP_ushr) return true;
    to->words = operand_of(s, op, 0, &from);
    if (find_integer(s, tile_operand_rhs(s->compute, op), &to->shift)) return true;
    to->in_word = find_first_bit(s, operand_of(s, op, 1, &from));
    return to->in_word != 0;
}

/* The last value on the path from the words' use whose dims count words and columns. */
static bool find_words(schedule *s, sched_packed *to, sched_factor at, int64_t in_word) {
    do {
        tile_op op = tile_value_def(s->compute, at.value);
        if (op.id && tile_op_opcode(s->compute, op) == TILE_OP_cast)
            at = operand_of(s, op, 0, &at); /* the lowest bits of a wider integer are the same */
        const tile_type *type = sched_type(s, at.value);
        bool first = is_column(&at.map.at[0]), last = is_column(&at.map.at[1]);
        bool bytes = type->scalar == TILE_i8 || type->scalar == TILE_u8;
        if (type->kind != TILE_TYPE_TENSOR || type->rank != 2 || first == last ||
            part_of_k(&at.map.at[first], SCHED_DIV) != in_word ||
            in_word != (bytes ? 2 : SCHED_PACKED_NUMBERS) ||
            !(bytes ? first : type->scalar == TILE_i32))
            continue;
        to->words = at.value;
        to->transposed = first;
        to->bytes = bytes;
    } while (sched_follow_moves(s, &at));
    return to->words.id != 0;
}

/* The known number by which the operation shifts its first operand's values; 0 if it does not. */
static bool find_offset(const schedule *s, tile_op op, int64_t *offset) {
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    if (opcode != TILE_OP_sub && opcode != TILE_OP_add) return false;
    tile_value by = tile_operand_rhs(s->compute, op);
    tile_scalar scalar = tile_value_type(s->compute, by)->scalar;
    bool wraps = !tile_scalar_is_floating(scalar) && tile_scalar_as_signed(scalar) != scalar;
    if (wraps || !find_integer(s, by, offset)) return false;
    if (opcode == TILE_OP_add) *offset = -*offset;
    return true;
}

static bool follow_numbers(schedule *s, numbers *to, sched_factor at, bool is_half);

/* Two numbers of each byte, the low one first. */
static bool follow_join(schedule *s, numbers *to, tile_op op, const sched_factor *at) {
    unsigned last = sched_type(s, at->value)->rank - 1;
    numbers sides[2];
    if (part_of_k(&at->map.at[last], SCHED_REM) != 2) return false;
    for (unsigned i = 0; i < 2; i++) {
        sides[i] = (numbers){.offset = to->offset};
        if (!follow_numbers(s, &sides[i], operand_of(s, op, i, at), true)) return false;
        if (sides[i].in_word || sides[i].shift != SCHED_PACKED_BITS * (int64_t)i) return false;
    }
    *to = sides[0];
    to->in_word = 2;
    return sides[0].offset == sides[1].offset && sides[0].words.value.id == sides[1].words.value.id;
}

/* Goes from numbers, as integers or floats, to words. is_half: one of two that are joined. */
static bool follow_numbers(schedule *s, numbers *to, sched_factor at, bool is_half) {
    int64_t number;
    for (;;) {
        sched_factor from = at;
        tile_op op = find_source(s, &at);
        if (!op.id || tile_op_has_attr(s->compute, op, TILE_ATTR_unsigned)) return false;
        tile_opcode opcode = tile_op_opcode(s->compute, op);
        if (opcode == TILE_OP_join) return !is_half && follow_join(s, to, op, &at);
        if (opcode == TILE_OP_and)
            return follow_integer(s, &from, TILE_OP_and, &number) &&
                   number == (1 << SCHED_PACKED_BITS) - 1 && follow_shift(s, to, from);
        if (sched_type(s, at.value)->scalar == TILE_u8 && opcode != TILE_OP_cast)
            return follow_shift(s, to, from) && to->shift == SCHED_PACKED_BITS;
        if (opcode != TILE_OP_cast && !find_offset(s, op, &number)) return false;
        if (opcode != TILE_OP_cast) to->offset += number;
        at = operand_of(s, op, 0, &at);
    }
}

/* Takes a factor that consists of numbers unpacked from words. */
static bool take_numbers(schedule *s, sched_packed *to, sched_factor at) {
    numbers found = {.offset = 0};
    if (!follow_numbers(s, &found, at, false) || !found.in_word) return false;
    to->offset = found.offset;
    return found.offset >= 0 && found.offset < 1 << SCHED_PACKED_BITS &&
           find_words(s, to, found.words, found.in_word);
}

/* Scales --------------------------------------------------------------------------------------- */

/* A thread has at least two words of a group and column (products/packed.c). */
static bool is_group(int64_t group) {
    return group == 64 || group == 128;
}

/* Notes the dims of a value whose elements are scales of columns, or of groups and columns. */
static void note_scale(schedule *s, sched_packed *to, const sched_factor *at) {
    const tile_type *type = sched_type(s, at->value);
    int column = -1, groups = -1;
    int64_t group = 0;
    if (type->kind != TILE_TYPE_TENSOR || !tile_scalar_is_floating(type->scalar)) return;
    for (unsigned d = 0; d < type->rank; d++) {
        const sched_coordinate *dim = &at->map.at[d];
        bool counts_groups = is_group(part_of_k(dim, SCHED_DIV));
        if (is_column(dim) ? column >= 0 : !counts_groups || groups >= 0) return;
        if (counts_groups) group = part_of_k(dim, SCHED_DIV);
        *(counts_groups ? &groups : &column) = (int)d;
    }
    if (column < 0) return;
    to->scale = at->value;
    to->column_dim = column;
    to->group_dim = groups;
    if (groups >= 0) to->group = (unsigned)group;
}

/* Also goes through casts to wider types: the kernel converts what it loads. */
static bool follow_scale(schedule *s, sched_factor *at) {
    tile_value narrow = sched_strip_cast(s, at->value);
    if (narrow.id == at->value.id) return sched_follow_moves(s, at);
    at->value = narrow;
    return true;
}

static bool take_scale(schedule *s, sched_packed *to, sched_factor at) {
    if (to->scale.id) return false;
    do note_scale(s, to, &at);
    while (follow_scale(s, &at));
    return to->scale.id != 0;
}

/* Products ------------------------------------------------------------------------------------- */

/* The 16-bit elements of the left operand; no value if it has others. */
static tile_value take_lhs(schedule *s, tile_op op) {
    tile_value value = sched_strip_cast(s, tile_operand_lhs(s->compute, op));
    bool plain = !tile_op_has_attr(s->compute, op, TILE_ATTR_trans_lhs) &&
                 sched_is_half(sched_type(s, value));
    return plain ? value : TILE_NO_VALUE;
}

static bool match(schedule *s, tile_op op, sched_packed *to, tile_value *lhs) {
    *to = (sched_packed){.matmul = op, .group = 128, .group_dim = -1};
    if (tile_op_opcode(s->compute, op) != TILE_OP_matmul ||
        tile_op_has_attr(s->compute, op, TILE_ATTR_precision) ||
        tile_op_has_attr(s->compute, op, TILE_ATTR_tile) || /* may be no multiple of a group */
        tile_op_has_attr(s->compute, op, TILE_ATTR_warps))
        return false;
    const tile_type *result = sched_type(s, tile_op_result(s->compute, op, 0));
    bool floats = result->scalar == TILE_f32 || sched_is_half(result);
    *lhs = take_lhs(s, op);
    if (result->rank != 2 || !floats || !lhs->id) return false;
    bool across = tile_op_has_attr(s->compute, op, TILE_ATTR_trans_rhs);
    sched_factors all = {.halves = true};
    sched_map map = {{{0, NULL, NULL}}};
    map.at[across] = sched_dim_coordinate(K);
    map.at[!across] = sched_dim_coordinate(COLUMN);
    sched_collect_factors(s, &all, sched_strip_cast(s, tile_operand_rhs(s->compute, op)), &map);
    for (unsigned i = 0; i < all.count && !all.too_many; i++)
        if (!(!to->words.id && take_numbers(s, to, all.items[i])) &&
            !take_scale(s, to, all.items[i]))
            return false;
    return !all.too_many && to->words.id;
}

const sched_packed *sched_packed_of(const schedule *s, tile_op matmul) {
    for (size_t i = 0; i < s->packed_count; i++)
        if (s->packed[i].matmul.id == matmul.id) return &s->packed[i];
    return NULL;
}

static void add_entry(schedule *s, const sched_packed *entry) {
    s->packed = tile_arena_grow(s->arena, s->packed, s->packed_count, &s->packed_capacity,
                                sizeof *s->packed);
    s->packed[s->packed_count++] = *entry;
}

void sched_find_packed(schedule *s) {
    bool found = false;
    sched_packed entry;
    tile_value lhs;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) found |= match(s, op, &entry, &lhs);
    if (!found) return;
    sched_clone_compute(s);
    bool *kept = TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count);
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) {
        if (!match(s, op, &entry, &lhs)) continue;
        const tile_value sides[] = {lhs, entry.words};
        for (unsigned i = 0; i < 2; i++) tile_op_at(s->compute, op)->operands[i] = sides[i];
        kept[entry.scale.id] = true;
        add_entry(s, &entry);
    }
    kept[0] = false;
    sched_erase_unused(s, kept);
}
