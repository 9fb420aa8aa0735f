/* The rules of warpgroup operations: products of matrices in shared memory. */
#include "lib/builder/infer_rules.h"
#include "lib/layout/wgmma.h"
#include "lib/support/scalar.h"

bool tile_infer_wgmma_descriptor(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src);
    if (!given(infer, TILE_TYPE_DESCRIPTOR, "the result must be a descriptor")) return false;
    return same_element(from, infer->given) ||
           fail(infer, "the result must have the element type of", from, "", NULL);
}

static bool fail_types(const tile_infer *infer, const tile_type *const types[3]) {
    tile_context *context = tile_function_context(infer->function);
    const char *names[3];
    for (unsigned i = 0; i < 3; i++) names[i] = tile_scalar_name(types[i]->scalar);
    tile_report(context, TILE_ERROR, infer->loc, "wgmma: there is no instruction for %s x %s + %s",
                names[0], names[1], names[2]);
    bool f32 = types[0]->scalar == TILE_f32 && types[1]->scalar == TILE_f32;
    tile_report(
        context, TILE_NOTE, infer->loc,
        f32 ? "wgmma multiplies f32 as tf32: write `precision = tf32`, or declare the buffers "
              "with elements of tf32"
            : "it multiplies f16 and bf16, tf32, e4m3 and e5m2 (also mixed) into f32, f16 "
              "and the 8-bit floats into f16, i8 and u8 (also mixed) into i32, and the "
              "bits of i32 into i32");
    return false;
}

static bool check_columns(const tile_infer *infer, const tile_type *acc) {
    int64_t columns = 2 * tile_type_elements(acc);
    if (columns > 0 && columns <= TILE_WGMMA_MAX_COLUMNS &&
        tile_wgmma_admits_columns((uint32_t)columns, acc->scalar))
        return true;
    return fail(infer, "acc holds half of n, and n is a multiple of 8 up to 256", NULL,
                tile_scalar_as_signed(acc->scalar) == TILE_i32
                    ? " (of 16 above 32, for i32), not twice"
                    : ", not twice",
                acc);
}

/* Only 16-bit elements may be contiguous along m or n. */
static bool check_major(const tile_infer *infer, const tile_type *operand) {
    return !operand->mn_major || tile_scalar_bits(operand->scalar) == 16 ||
           fail(infer, "only operands of 16-bit elements may be `mn`, not", operand, "", NULL);
}

/* Checks a warp's fragment of lhs: 16 rows of 32 bytes, distributed over 32 lanes. */
static bool check_fragment(const tile_infer *infer, const tile_type *lhs) {
    enum { BYTES = 16 };
    if (lhs->kind != TILE_TYPE_VECTOR ||
        tile_type_elements(lhs) * tile_scalar_bytes(lhs->scalar) == BYTES)
        return true;
    return fail(infer, "lhs in registers is 16 bytes of each thread, mma's fragment, not", lhs, "",
                NULL);
}

bool tile_infer_wgmma(tile_infer *infer) {
    const tile_type *types[3];
    for (unsigned i = 0; i < 3; i++) types[i] = type_at(infer, i);
    for (unsigned i = 0; i < 3; i++)
        if (types[i]->param) return fail(infer, "its types must be known, not", types[i], "", NULL);
    const tile_mma_query query = product_query(infer, types);
    if (tile_wgmma_find(&query) == TILE_WGMMA_none) return fail_types(infer, types);
    if (type_of(infer, TILE_OPERAND_keep)->kind != TILE_TYPE_SCALAR)
        return fail(infer, "keep must be one i1, not", type_of(infer, TILE_OPERAND_keep), "", NULL);
    return check_fragment(infer, types[0]) && check_major(infer, types[0]) &&
           check_major(infer, types[1]) && check_columns(infer, types[2]) &&
           result(infer, types[2]);
}

/* One result per operand. */
bool tile_infer_wgmma_wait(tile_infer *infer) {
    unsigned count;
    const tile_value *accs = segment(infer, TILE_OPERAND_accs, &count);
    if (!count) return no_result(infer);
    for (unsigned i = 0; i < count; i++) {
        const tile_type *type = tile_value_type(infer->function, accs[i]);
        if (infer->given && i == 0 && infer->given != type)
            return fail(infer, "the result is", type, ", not", infer->given);
        infer->results[i] = type;
    }
    infer->result_count = count;
    return true;
}

bool tile_infer_stmatrix(tile_infer *infer) {
    const tile_type *type = type_of(infer, TILE_OPERAND_src);
    int64_t bits = tile_type_elements(type) * tile_scalar_bits(type->scalar);
    unsigned each = tile_scalar_bits(type->scalar);
    if ((each != 8 && each != 16 && each != 32) || (bits != 32 && bits != 64 && bits != 128) ||
        !same_element(type, type_of(infer, TILE_OPERAND_dst)))
        return fail(infer,
                    "the value must be 4, 8 or 16 bytes of the buffer's elements, which have 8, 16 "
                    "or 32 bits, not",
                    type, "", NULL);
    return no_result(infer);
}

bool tile_infer_undefined(tile_infer *infer) {
    return given(infer, TILE_TYPE_VECTOR, "the result must be a vector");
}
