/* The rules of atomic operations. */
#include "lib/builder/infer_rules.h"

/* Checks that atomics support the element type. If it is a parameter, it is checked once the
 * parameter has a value. */
static bool check_element(const tile_infer *infer, const tile_type *type) {
    bool fits = type->param || (type->scalar != TILE_i1 && type->scalar != TILE_tf32 &&
                                tile_scalar_has_arithmetic(type->scalar));
    return fits || fail(infer,
                        "the elements of an atomic access must be integers of 8 to 64 bits, f16, "
                        "bf16, f32 or f64, not",
                        type, "", NULL);
}

/* Checks that a tile fits the last dims of a view, or a whole buffer or a part of it; a scalar is
 * one element. */
static bool check_places(const tile_infer *infer, const tile_type *src, unsigned operand) {
    const tile_type *memory = type_at(infer, operand);
    bool scalar = src->kind == TILE_TYPE_SCALAR, part = tile_infer_is_part(infer, operand);
    if (!same_element(src, memory))
        return fail(infer, "the element types differ:", src, " and", memory);
    if (tile_infer_points(infer, operand)) return tile_infer_check_points(infer, operand, src);
    if (scalar && memory->kind == TILE_TYPE_SHARED)
        return part || fail(infer, "an access to one element needs an index for each dim of",
                            memory, "", NULL);
    if (scalar) return true;
    if (src->kind == TILE_TYPE_TILE && part) return tile_infer_check_part(infer, src, memory);
    bool fits = src->kind == TILE_TYPE_TILE && src->rank <= memory->rank;
    for (unsigned d = 0; fits && memory->kind == TILE_TYPE_SHARED && d < memory->rank; d++)
        fits = src->rank == memory->rank && src->dims[d] == memory->dims[d];
    return fits || fail(infer, "the shapes do not match:", src, " and", memory);
}

static bool check_predicate(const tile_infer *infer, const tile_type *src,
                            const tile_type *predicate) {
    if (!predicate || (src->kind == predicate->kind && same_dims(infer, src, predicate)) ||
        predicate->kind == TILE_TYPE_SCALAR)
        return true;
    return fail(infer, "the predicate must have the shape of the value:", predicate, " for", src);
}

/* The buffer through which all threads get the result (assign-layouts). */
static bool check_buffer(const tile_infer *infer, const tile_type *src, const tile_type *buffer) {
    bool scalar = src->kind == TILE_TYPE_SCALAR;
    if (!buffer) return true;
    bool fits =
        !buffer->stages && same_element(src, buffer) && buffer->rank == (scalar ? 1 : src->rank);
    for (unsigned d = 0; fits && !scalar && d < src->rank; d++)
        fits = buffer->dims[d] == src->dims[d];
    return fits || fail(infer, "the buffer must have the result's shape and no stages, not", buffer,
                        " for", src);
}

bool tile_infer_atomic(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    return check_element(infer, src) && check_places(infer, src, 1) &&
           check_predicate(infer, src, type_of(infer, TILE_OPERAND_predicate)) &&
           check_buffer(infer, src, type_of(infer, TILE_OPERAND_buffer)) && result(infer, src);
}

static bool check_desired(const tile_infer *infer) {
    const tile_type *expected = type_of(infer, TILE_OPERAND_expected),
                    *desired = type_of(infer, TILE_OPERAND_desired);
    return expected == desired ||
           fail(infer, "both values must have the same type, not", expected, " and", desired);
}

bool tile_infer_atomic_cas(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_expected);
    return check_desired(infer) && check_element(infer, src) && check_places(infer, src, 2) &&
           check_predicate(infer, src, type_of(infer, TILE_OPERAND_predicate)) &&
           check_buffer(infer, src, type_of(infer, TILE_OPERAND_buffer)) && result(infer, src);
}

/* For consecutive elements of one thread. */
bool tile_infer_atomic_thread(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    return tile_infer_own_predicate(infer, 2) &&
           tile_infer_is_access(infer, src, type_of(infer, TILE_OPERAND_dst)) &&
           check_element(infer, src) && result(infer, src);
}

bool tile_infer_atomic_cas_thread(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_expected);
    if (!tile_infer_own_predicate(infer, 3)) return false;
    if (src->kind != TILE_TYPE_SCALAR)
        return fail(infer, "compare and swap by a thread takes one element, a scalar, not", src, "",
                    NULL);
    return check_desired(infer) &&
           tile_infer_is_access(infer, src, type_of(infer, TILE_OPERAND_dst)) &&
           check_element(infer, src) && result(infer, src);
}
