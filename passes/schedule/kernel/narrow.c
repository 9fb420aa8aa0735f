/* Casts to a wider type before products. Matrix instructions multiply narrow elements exactly and
 * accumulate in the wide type, so casts of both operands can be removed. If other operations move
 * the elements after the cast, they are moved before it:
 *
 *     matmul(reshape(f32(%q)), f32(%k))    becomes    matmul(f32(reshape(%q)), f32(%k))
 *
 * The same holds for other operations that use what a kernel may have to write, because a reshape
 * may be the place where it is written:
 *
 *     exp(reshape(f32(f16(matmul(%a, %b)))))   becomes   exp(f32(reshape(f16(matmul(%a, %b)))))
 *
 * The pass changes a copy of the compute, because the compute is the reference for what is
 * generated from it. */
#include "passes/schedule/kernel/schedule.h"

#include <math.h>
#include <string.h>

#include "lib/ir/effects.h"
#include "lib/support/scalar.h"

tile_value sched_strip_cast(schedule *s, tile_value value) {
    tile_op op = tile_value_def(s->compute, value);
    if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_cast ||
        tile_op_at(s->compute, op)->attr_count)
        return value;
    tile_value from = tile_operand_src(s->compute, op);
    const tile_type *wide = sched_element(s, value), *narrow = sched_element(s, from);
    bool keeps = narrow->scalar != TILE_i1 && tile_scalar_contains(wide->scalar, narrow->scalar);
    return keeps && tile_scalar_bits(narrow->scalar) <= 16 ? from : value;
}

/* Returns whether products of elements of these types are those of the wide types. bf16x3 leaves
 * out the smallest product of an f16's parts. */
static bool multiplies_narrow(schedule *s, tile_op op, const tile_type *a, const tile_type *b) {
    bool parts = tile_op_word(s->compute, op, TILE_ATTR_precision) == TILE_WORD_precision_bf16x3;
    if (parts && (a->scalar == TILE_f16 || b->scalar == TILE_f16)) return false;
    bool bytes =
        tile_scalar_as_signed(a->scalar) == TILE_i8 && tile_scalar_as_signed(b->scalar) == TILE_i8;
    return bytes || (a == b && (a->scalar == TILE_f16 || a->scalar == TILE_bf16 ||
                                a->scalar == TILE_e4m3 || a->scalar == TILE_e5m2));
}

tile_value sched_multiplied(schedule *s, tile_op op, unsigned operand) {
    tile_value lhs = sched_strip_cast(s, tile_operand_lhs(s->compute, op));
    tile_value rhs = sched_strip_cast(s, tile_operand_rhs(s->compute, op));
    bool narrow = multiplies_narrow(s, op, sched_element(s, lhs), sched_element(s, rhs));
    if (!narrow) return tile_op_operand(s->compute, op, operand);
    return operand ? rhs : lhs;
}

/* Moves --------------------------------------------------------------------------------------- */

/* Returns whether a window's padding is representable in this type. */
static bool holds_pad(schedule *s, tile_op window, tile_scalar scalar) {
    char bytes[8];
    int64_t whole;
    const tile_attr *attr = tile_op_attr(s->compute, window, TILE_ATTR_pad);
    if (!attr) return true;
    bool is_float = attr->expr->kind == TILE_EXPR_FLOAT;
    if (!is_float && !tile_expr_is_int(attr->expr, &whole)) return false;
    if (!is_float && !tile_scalar_is_floating(scalar)) return tile_integer_fits(scalar, whole);
    double pad = is_float ? attr->expr->number : (double)whole;
    if (!tile_scalar_is_floating(scalar)) return false;
    tile_scalar_write(scalar, bytes, pad);
    double held = tile_scalar_read(scalar, bytes);
    return held == pad || (isnan(held) && isnan(pad));
}

unsigned sched_moved_operands(const schedule *s, tile_op op) {
    return tile_op_result_count(s->compute, op) == 1 ? tile_moved_operands(s->compute, op) : 0;
}

bool sched_only_moves(const schedule *s, tile_op op) {
    tile_dims dims = tile_op_dims(tile_op_opcode(s->compute, op));
    return sched_moved_operands(s, op) == 1 && dims != TILE_DIMS_taken &&
           dims != TILE_DIMS_windowed;
}

/* Results by value of the original compute, so that each value is analyzed and moved once, however
 * many paths lead to it. */
typedef struct narrowing {
    schedule *s;
    bool *seen;
    const tile_type **narrow; /* by value: result of find_narrow, if seen */
    tile_value *moved;        /* by value: the moved value; none: not moved yet */
    tile_value *map;          /* no entries, except while an operation is cloned */
    size_t count;             /* number of original values */
} narrowing;

static const tile_type *find_narrow(narrowing *n, tile_value value);

/* find_narrow for a value that is not a cast. */
static const tile_type *find_in_operands(narrowing *n, tile_value value) {
    schedule *s = n->s;
    tile_op op = tile_value_def(s->compute, value);
    unsigned count = op.id ? sched_moved_operands(s, op) : 0;
    const tile_type *narrow = NULL;
    for (unsigned i = 0; i < count; i++) {
        const tile_type *own = find_narrow(n, tile_op_operand(s->compute, op, i));
        if (!own || (i && own != narrow)) return NULL;
        narrow = own;
    }
    bool holds = !narrow || tile_op_opcode(s->compute, op) != TILE_OP_window ||
                 holds_pad(s, op, narrow->scalar);
    return holds ? narrow : NULL;
}

/* Returns the element type of the casts' sources, if all moved elements come from removable casts
 * with one source type; else NULL. */
static const tile_type *find_narrow(narrowing *n, tile_value value) {
    tile_value from = sched_strip_cast(n->s, value);
    if (from.id != value.id) return sched_element(n->s, from);
    if (!n->seen[value.id]) n->narrow[value.id] = find_in_operands(n, value);
    n->seen[value.id] = true;
    return n->narrow[value.id];
}

/* Builds the value without the casts that find_narrow found. */
static tile_value move_narrow(narrowing *n, tile_value value) {
    schedule *s = n->s;
    tile_function *f = s->compute;
    tile_op op = tile_value_def(f, value);
    tile_value from = sched_strip_cast(s, value);
    if (from.id != value.id) return from;
    if (n->moved[value.id].id) return n->moved[value.id];
    unsigned count = sched_moved_operands(s, op);
    tile_value *moved = TILE_NEW_ARRAY(s->arena, tile_value, count);
    for (unsigned i = 0; i < count; i++) moved[i] = move_narrow(n, tile_op_operand(f, op, i));
    tile_builder b = tile_builder_at_end(f, f->body);
    b.before = op;
    for (unsigned i = 0; i < count; i++) n->map[tile_op_operand(f, op, i).id] = moved[i];
    tile_op copy = tile_clone_op(&b, op, n->map, n->count);
    for (unsigned i = 0; i < count; i++) n->map[tile_op_operand(f, op, i).id] = TILE_NO_VALUE;
    n->map[value.id] = TILE_NO_VALUE;
    tile_value_data *result = tile_value_at(f, tile_op_result(f, copy, 0));
    tile_type draft = *result->type;
    draft.scalar = tile_value_type(f, moved[0])->scalar;
    draft.param = tile_value_type(f, moved[0])->param;
    result->type = tile_type_get(s->context, &draft);
    return n->moved[value.id] = tile_op_result(f, copy, 0);
}

/* Products ------------------------------------------------------------------------------------ */

static bool is_moved(schedule *s, tile_value value) {
    return sched_strip_cast(s, value).id == value.id;
}

/* Returns the narrow type if both operands of the product can be multiplied without their casts and
 * an operation moves elements after at least one cast; else NULL. */
static const tile_type *find_product(narrowing *n, tile_op op) {
    schedule *s = n->s;
    if (tile_op_opcode(s->compute, op) != TILE_OP_matmul) return NULL;
    tile_value lhs = tile_operand_lhs(s->compute, op), rhs = tile_operand_rhs(s->compute, op);
    const tile_type *a = find_narrow(n, lhs), *b = find_narrow(n, rhs);
    bool found = a && b && multiplies_narrow(s, op, a, b) && (is_moved(s, lhs) || is_moved(s, rhs));
    return found ? a : NULL;
}

static void change_product(narrowing *n, tile_op op) {
    schedule *s = n->s;
    tile_function *f = s->compute;
    for (unsigned i = 0; i < 2; i++) {
        tile_value value = tile_op_operand(f, op, i);
        if (!is_moved(s, value)) continue;
        tile_value moved = move_narrow(n, value);
        tile_builder b = tile_builder_at_end(f, f->body);
        b.before = op;
        b.loc = tile_op_loc(f, op);
        tile_op_at(f, op)->operands[i] = tile_build_cast(&b, moved, sched_element(s, value));
    }
}

static narrowing begin_narrowing(schedule *s) {
    size_t count = s->compute->value_count;
    return (narrowing){.s = s,
                       .seen = TILE_NEW_ARRAY(s->arena, bool, count),
                       .narrow = TILE_NEW_ARRAY(s->arena, const tile_type *, count),
                       .moved = TILE_NEW_ARRAY(s->arena, tile_value, count),
                       .map = TILE_NEW_ARRAY(s->arena, tile_value, count),
                       .count = count};
}

void sched_clone_compute(schedule *s) {
    tile_function *from = s->compute;
    s->compute = tile_function_clone(from, sched_unique_name(s, from->name));
    tile_module_remove(from->module, s->compute);
    s->compute->name = from->name;
}

tile_value sched_reduce(schedule *s, tile_builder *b, tile_value value, unsigned axis,
                        const char *kind) {
    tile_type draft = *sched_type(s, value);
    draft.dims[axis] = tile_expr_int(s->context, 1);
    const tile_segment segments[] = {{value, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    const tile_attr along = {.id = TILE_ATTR_axis, .expr = tile_expr_int(s->context, axis)};
    tile_op op = tile_build_op_of(b, TILE_OP_reduce, segments, 2, tile_type_get(s->context, &draft),
                                  &along, 1);
    tile_op_set_text(s->compute, op, TILE_ATTR_kind, kind);
    tile_op_set_int(s->compute, op, TILE_ATTR_axis, axis);
    return tile_op_result(s->compute, op, 0);
}

/* Written values ------------------------------------------------------------------------------ */

/* By value: whether it is computed, in the last place, from a product, reduction or scan. */
static bool *find_written(schedule *s) {
    const tile_function *f = s->compute;
    bool *written = TILE_NEW_ARRAY(s->arena, bool, f->value_count);
    TILE_FOR_EACH_OP (f, op, f->body) {
        const tile_opcode opcode = tile_op_opcode(f, op);
        bool own = !tile_opcode_moves(opcode) && tile_op_dims(opcode) != TILE_DIMS_counted &&
                   !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            own |= written[tile_op_operand(f, op, i).id];
        for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
            written[tile_op_result(f, op, i).id] = own;
    }
    return written;
}

/* Returns whether the operand consists of moved elements that were cast, and may be written. */
static bool moves_written(narrowing *n, const bool *written, tile_value value) {
    return value.id < n->count && written[value.id] && is_moved(n->s, value) &&
           find_narrow(n, value);
}

/* Returns whether the operation, which moves no elements itself, has such an operand. */
static bool uses_written(narrowing *n, const bool *written, tile_op op) {
    bool found = false;
    if (sched_moved_operands(n->s, op)) return false;
    for (unsigned i = 0; i < tile_op_operand_count(n->s->compute, op); i++)
        found |= moves_written(n, written, tile_op_operand(n->s->compute, op, i));
    return found;
}

static void change_operands(narrowing *n, const bool *written, tile_op op) {
    schedule *s = n->s;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        tile_value value = tile_op_operand(s->compute, op, i);
        if (!moves_written(n, written, value)) continue;
        tile_value moved = move_narrow(n, value);
        tile_builder b = tile_builder_before(s->compute, op);
        b.loc = tile_op_loc(s->compute, op);
        tile_op_at(s->compute, op)->operands[i] =
            tile_build_cast(&b, moved, sched_element(s, value));
    }
}

static void move_written(schedule *s) {
    const bool *written = find_written(s);
    bool found = false;
    narrowing n = begin_narrowing(s);
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) found |= uses_written(&n, written, op);
    if (!found) return;
    sched_clone_compute(s);
    written = find_written(s);
    n = begin_narrowing(s);
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body)
        if (uses_written(&n, written, op)) change_operands(&n, written, op);
}

void sched_move_casts(schedule *s) {
    bool found = false;
    narrowing n = begin_narrowing(s);
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) found |= find_product(&n, op) != NULL;
    if (found) {
        sched_clone_compute(s);
        n = begin_narrowing(s);
        TILE_FOR_EACH_OP (s->compute, op, s->compute->body)
            if (find_product(&n, op)) change_product(&n, op);
    }
    move_written(s);
}
