/* The rules of level 3: fragments in the registers of one thread, and its memory accesses. */
#include <limits.h>

#include "lib/builder/infer_rules.h"
#include "lib/layout/mma.h"

/* Number of elements of a scalar or vector, -1 for other types. */
static int64_t fragment_count(const tile_type *type) {
    bool fits = type && (type->kind == TILE_TYPE_SCALAR || type->kind == TILE_TYPE_VECTOR);
    return fits ? tile_type_elements(type) : -1;
}

/* Checks that `part` elements are within a vector, starting at the value of operand `place`, or at
 * 0 if that is not a number. */
static bool check_part(const tile_infer *infer, unsigned place, int64_t part,
                       const tile_type *whole) {
    unsigned count;
    int64_t first = 0, all = tile_type_elements(whole);
    if (!tile_value_is_int(infer->function, segment_at(infer, place, &count)[0], &first)) first = 0;
    return (first >= 0 && (all < 0 || first <= all - part)) ||
           fail(infer, "the elements are out of range of", whole, "", NULL);
}

bool tile_infer_extract(tile_infer *infer) {
    int64_t part = fragment_count(infer->given);
    const tile_type *from = type_of(infer, TILE_OPERAND_src);
    if (part < 1 || !same_element(from, infer->given))
        return fail(infer, "the result must be elements of", from, "", NULL);
    return check_part(infer, 1, part, from) && result(infer, infer->given);
}

bool tile_infer_insert(tile_infer *infer) {
    int64_t part = fragment_count(type_of(infer, TILE_OPERAND_elements));
    const tile_type *whole = type_of(infer, TILE_OPERAND_src),
                    *elements = type_of(infer, TILE_OPERAND_elements);
    if (part < 1 || !same_element(whole, elements))
        return fail(infer, "the new elements must be of the type of", whole, ", not", elements);
    return check_part(infer, 2, part, whole) && result(infer, whole);
}

/* Vectors whose extents depend on parameters: the result has their sum. */
static bool concat_later(tile_infer *infer, const tile_value *values, unsigned count) {
    tile_context *context = tile_function_context(infer->function);
    const tile_type *first = tile_value_type(infer->function, values[0]);
    tile_type draft = {
        .kind = TILE_TYPE_VECTOR, .scalar = first->scalar, .param = first->param, .rank = 1};
    for (unsigned i = 0; i < count; i++) {
        const tile_type *type = tile_value_type(infer->function, values[i]);
        const tile_expr *extent = type->rank ? type->dims[0] : tile_expr_int(context, 1);
        draft.dims[0] =
            i ? tile_expr_op(context, TILE_OP_add, draft.dims[0], extent, NULL) : extent;
    }
    return result(infer, tile_type_get(context, &draft));
}

bool tile_infer_concat(tile_infer *infer) {
    unsigned count;
    const tile_value *values = segment(infer, TILE_OPERAND_src, &count);
    const tile_type *array = type_of(infer, TILE_OPERAND_src);
    if (array && (array->kind == TILE_TYPE_TILE || array->kind == TILE_TYPE_TENSOR))
        return tile_infer_concat_arrays(infer);
    if (attr_of(infer, TILE_ATTR_axis))
        return fail(infer, "`axis` is for tiles and tensors, not for", array, "", NULL);
    int64_t total = 0;
    for (unsigned i = 0; i < count; i++) {
        const tile_type *type = tile_value_type(infer->function, values[i]);
        int64_t part = fragment_count(type);
        bool fits = type->kind == TILE_TYPE_SCALAR || type->kind == TILE_TYPE_VECTOR;
        if (!fits || part == 0 || !same_element(type, tile_value_type(infer->function, values[0])))
            return fail(infer, "the operands must be scalars and vectors of one element type, not",
                        type, "", NULL);
        total = total < 0 || part < 0 ? -1 : total + part;
    }
    if (total < 0) return concat_later(infer, values, count);
    if (!count) return fail(infer, "it needs an operand", NULL, "", NULL);
    if (total > UINT_MAX) total = UINT_MAX; /* more than any thread holds, which result() reports */
    tile_scalar scalar = tile_value_type(infer->function, values[0])->scalar;
    return result(
        infer, tile_type_vector(tile_function_context(infer->function), scalar, (unsigned)total));
}

bool tile_infer_permute(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src);
    return given(infer, TILE_TYPE_VECTOR, "the result must be a vector") &&
           (same_element(from, infer->given) ||
            fail(infer, "the result must have the element type of", from, "", NULL));
}

/* Consecutive elements in memory: 1, 2, 4, ... up to 16 bytes. */
bool tile_infer_is_access(const tile_infer *infer, const tile_type *fragment,
                          const tile_type *memory) {
    int64_t count = fragment_count(fragment);
    if (count < 1 || !same_element(fragment, memory))
        return fail(infer, "the value must be a scalar or vector of the memory's element type, not",
                    fragment, "", NULL);
    int64_t bytes = count * tile_scalar_bytes(fragment->scalar);
    if ((count & (count - 1)) || bytes > 16)
        return fail(infer,
                    "an access must have a power of two of elements and at most 16 bytes, not",
                    fragment, "", NULL);
    return true;
}

bool tile_infer_own_predicate(const tile_infer *infer, unsigned operand) {
    const tile_type *predicate = type_at(infer, operand);
    return !predicate || predicate->kind == TILE_TYPE_SCALAR ||
           fail(infer, "the predicate must be an i1 of the thread, not", predicate, "", NULL);
}

bool tile_infer_thread_load(tile_infer *infer) {
    return tile_infer_own_predicate(infer, 1) &&
           tile_infer_is_access(infer, infer->given, type_of(infer, TILE_OPERAND_src)) &&
           result(infer, infer->given);
}

bool tile_infer_unaligned_load(tile_infer *infer) {
    const tile_type *memory = type_of(infer, TILE_OPERAND_src);
    if (memory->kind != TILE_TYPE_PTR)
        return fail(infer, "it loads from a pointer and an offset, not from", memory, "", NULL);
    if (!tile_infer_own_predicate(infer, 2) || !tile_infer_is_access(infer, infer->given, memory))
        return false;
    int64_t count = fragment_count(infer->given);
    if (count < 2 || count * tile_scalar_bytes(infer->given->scalar) < 4)
        return fail(infer, "the result must be a vector of 4, 8 or 16 bytes, not", infer->given, "",
                    NULL);
    return result(infer, infer->given);
}

bool tile_infer_thread_store(tile_infer *infer) {
    return tile_infer_own_predicate(infer, 2) && no_result(infer) &&
           tile_infer_is_access(infer, type_of(infer, TILE_OPERAND_src),
                                type_of(infer, TILE_OPERAND_dst));
}

bool tile_infer_prefetch_l2_thread(tile_infer *infer) {
    return tile_infer_own_predicate(infer, 1) && no_result(infer);
}

bool tile_infer_st_async(tile_infer *infer) {
    const tile_type *value = type_of(infer, TILE_OPERAND_src);
    if (!tile_infer_is_access(infer, value, type_of(infer, TILE_OPERAND_dst))) return false;
    if (fragment_count(value) * tile_scalar_bytes(value->scalar) < 4)
        return fail(infer, "the value must have 4, 8 or 16 bytes, not", value, "", NULL);
    return no_result(infer);
}

/* Each matrix provides 32 bits per lane. */
bool tile_infer_ldmatrix(tile_infer *infer) {
    const tile_type *type = infer->given;
    int64_t count = type && type->kind == TILE_TYPE_VECTOR ? fragment_count(type) : -1;
    unsigned bits = count > 0 ? tile_scalar_bits(type->scalar) : 0;
    bool narrow = bits == 8 || bits == 16 || bits == 32;
    if (!narrow || (count * bits != 32 && count * bits != 64 && count * bits != 128) ||
        !same_element(type, type_of(infer, TILE_OPERAND_src)))
        return fail(
            infer,
            "the result must be 4, 8 or 16 bytes of the buffer's elements, which have 8, 16 "
            "or 32 bits",
            NULL, "", NULL);
    return result(infer, type);
}

static bool fail_mma(const tile_infer *infer, const tile_type *const types[3],
                     const tile_mma_query *query) {
    tile_context *context = tile_function_context(infer->function);
    tile_arena scratch = {0};
    tile_report(context, TILE_ERROR, infer->loc, "mma: there is no instruction for %s, %s and %s",
                type_text(infer, types[0], &scratch), type_text(infer, types[1], &scratch),
                type_text(infer, types[2], &scratch));
    tile_arena_reset(&scratch);
    for (unsigned i = 0; tile_mma_at(i); i++) {
        const tile_mma *row = tile_mma_at(i);
        if (row->lhs != query->lhs || row->rhs != query->rhs || row->unsigned_lhs ||
            row->unsigned_rhs)
            continue;
        tile_report(context, TILE_NOTE, infer->loc, "%s takes %s[%u], %s[%u] and %s[%u]",
                    row->shape, tile_scalar_name(types[0]->scalar),
                    tile_mma_elements(row, TILE_MMA_LHS), tile_scalar_name(types[1]->scalar),
                    tile_mma_elements(row, TILE_MMA_RHS), tile_scalar_name(row->acc),
                    tile_mma_elements(row, TILE_MMA_ACC));
    }
    return false;
}

/* Signs do not affect types; the verifier checks them. */
bool tile_infer_mma(tile_infer *infer) {
    const tile_type *types[3];
    int64_t counts[3];
    for (unsigned i = 0; i < 3; i++) {
        types[i] = type_at(infer, i);
        counts[i] = fragment_count(types[i]);
    }
    const tile_mma_query query = product_query(infer, types);
    return tile_mma_of_fragments(&query, counts) ? result(infer, types[2])
                                                 : fail_mma(infer, types, &query);
}

bool tile_infer_cp_async(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src),
                    *to = type_of(infer, TILE_OPERAND_dst);
    if (!same_element(from, to)) return fail(infer, "the element types differ:", from, " and", to);
    return no_result(infer);
}

bool tile_infer_word(tile_infer *infer) {
    if (first_type(infer)->scalar != TILE_i32)
        return fail(infer, "the pointer must be ptr<i32>, not", first_type(infer), "", NULL);
    return no_result(infer);
}

/* For tiles, element i of the result is computed from element i of each operand. */
static bool check_asm_operand(const tile_infer *infer, const tile_type *type) {
    const tile_type *given = infer->given;
    bool fits = type->kind == TILE_TYPE_SCALAR || type->kind == TILE_TYPE_VECTOR ||
                type->kind == TILE_TYPE_PTR;
    if (type->kind == TILE_TYPE_TILE)
        return (given && type->kind == given->kind && same_dims(infer, type, given) &&
                (!type->scalar || !given->scalar ||
                 tile_scalar_bits(type->scalar) == tile_scalar_bits(given->scalar))) ||
               fail(infer,
                    "asm with a tile as an operand must have a tile of the same extents and "
                    "element width as its result, not",
                    type, " to", given);
    if (given && given->kind == TILE_TYPE_TILE && type->kind != TILE_TYPE_SCALAR)
        return fail(infer, "asm with a tile as its result takes tiles and scalars, not", type, "",
                    NULL);
    return fits || fail(infer, "an operand must be a scalar, a pointer, a vector or a tile, not",
                        type, "", NULL);
}

bool tile_infer_asm(tile_infer *infer) {
    unsigned count;
    const tile_value *values = segment(infer, TILE_OPERAND_src, &count);
    for (unsigned i = 0; i < count; i++)
        if (!check_asm_operand(infer, tile_value_type(infer->function, values[i]))) return false;
    if (!infer->given) return no_result(infer);
    if (infer->given->kind != TILE_TYPE_SCALAR && infer->given->kind != TILE_TYPE_VECTOR &&
        infer->given->kind != TILE_TYPE_TILE)
        return fail(infer, "the result must be a scalar, a vector or a tile, not", infer->given, "",
                    NULL);
    return result(infer, infer->given);
}
