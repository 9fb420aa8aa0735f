/* Checks warpgroup product operations, except their types: the numbers of a descriptor, and the
 * executing warps. */
#include "lib/analysis/executors.h"
#include "lib/analysis/product.h"
#include "lib/check/verify.h"

/* PTX ISA, "Matrix Descriptor Format": 14-bit fields that omit the lowest four bits. */
static bool verify_stride(const tile_function *f, tile_op op, tile_attr_id id) {
    enum { UNIT = 16, LIMIT = 1 << 18 };
    int64_t bytes = tile_op_attr_int(f, op, id, UNIT);
    if (bytes >= 0 && bytes % UNIT == 0 && bytes < LIMIT) return true;
    return tile_error_at(
        f, op, "wgmma_descriptor: '%s' must be a multiple of %d bytes below 2^18, not %lld",
        tile_attr_get_info(id)->name, UNIT, (long long)bytes);
}

static bool verify_descriptor(const tile_function *f, tile_op op) {
    int64_t swizzle = tile_op_attr_int(f, op, TILE_ATTR_swizzle, 128);
    if (swizzle != 128 && swizzle != 64 && swizzle != 32 && swizzle)
        return tile_error_of(f, op, "'swizzle' must be 128, 64 or 32 bytes, or 0 for none");
    return verify_stride(f, op, TILE_ATTR_leading) && verify_stride(f, op, TILE_ATTR_stride);
}

static bool verify_warpgroup(const tile_function *f, tile_op op) {
    enum { WARPGROUP = 4 };
    tile_executors executors = tile_executors_of(f, op);
    if (f->level == 2 && !tile_sync_is_explicit(f, op))
        return tile_error_of(
            f, op,
            "the compiler inserts no barriers for memory that a descriptor names; put this code in "
            "`sync explicit { .. }`, or write the kernel at level 3");
    if (executors.warps % WARPGROUP == 0 && executors.first % WARPGROUP == 0) return true;
    return tile_error_of(
        f, op,
        "whole warpgroups must execute it, 4 warps from a multiple of 4 on, not %u from warp %u on",
        executors.warps, executors.first);
}

static bool verify_wait(const tile_function *f, tile_op op) {
    int64_t pending;
    if (!tile_value_is_int(f, tile_operand_pending(f, op), &pending) || pending >= 0) return true;
    return tile_error_of(f, op, "the number of pending groups must not be negative");
}

/* Checks which threads provide the positions of elements in a sparse lhs. With 8-bit elements all
 * threads do, so the selector is 0. */
static bool verify_places(const tile_function *f, tile_op op, tile_scalar lhs) {
    enum { BYTE = 8 };
    int64_t selector = tile_op_attr_int(f, op, TILE_ATTR_selector, 0);
    bool sparse = tile_product_forms_of(f, op).sparse;
    if (!sparse && tile_op_has_attr(f, op, TILE_ATTR_selector))
        return tile_error_of(
            f, op, "'selector' applies only with the operand `places`, which comes after keep");
    if (sparse && tile_op_has_attr(f, op, TILE_ATTR_popc))
        return tile_error_of(
            f, op, "`popc` and `places` cannot be combined: products of bits are not sparse");
    if (selector == 0 || (selector == 1 && tile_scalar_bits(lhs) > BYTE)) return true;
    return tile_error_of(f, op, "'selector' must be 0 or 1, and 0 with elements of 8 bits");
}

/* Checks the attributes that PTX supports for each kind of element: negation for floats, signs and
 * clamped sums for integers, `popc` for bits. */
static bool verify_attributes(const tile_function *f, tile_op op) {
    enum {
        FLOATS = 1 << TILE_WGMMA_floats,
        INTEGERS = 1 << TILE_WGMMA_integers,
        BITS = 1 << TILE_WGMMA_bits
    };
    static const struct {
        tile_attr_id attr;
        unsigned refused; /* unsigned floats are rejected in verify.c */
        const char *why;
    } rows[] = {
        {TILE_ATTR_negate_lhs, INTEGERS | BITS, "only floats are negated"},
        {TILE_ATTR_negate_rhs, INTEGERS | BITS, "only floats are negated"},
        {TILE_ATTR_satfinite, FLOATS | BITS, "only sums of i8 are clamped"},
        {TILE_ATTR_unsigned_lhs, BITS, "bits have no sign"},
        {TILE_ATTR_unsigned_rhs, BITS, "bits have no sign"},
        {TILE_ATTR_popc, FLOATS | INTEGERS, "only the bits of i32 are counted"},
    };
    tile_mma_query query = tile_product_query(f, op);
    tile_wgmma_elements elements = tile_wgmma_find(&query);
    if (elements == TILE_WGMMA_bits && !tile_op_has_attr(f, op, TILE_ATTR_popc))
        return tile_error_of(
            f, op, "i32 is multiplied bit by bit: add `popc`, or use operands with elements of i8");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!(rows[i].refused >> elements & 1) || !tile_op_has_attr(f, op, rows[i].attr)) continue;
        return tile_error_at(f, op, "wgmma: '%s' does not apply to elements of %s: %s; remove it",
                             tile_attr_get_info(rows[i].attr)->name, tile_scalar_name(query.lhs),
                             rows[i].why);
    }
    return verify_places(f, op, query.lhs);
}

bool tile_verify_wgmma(tile_function *f, tile_op op) {
    if (tile_op_opcode(f, op) == TILE_OP_wgmma_wait && !verify_wait(f, op)) return false;
    if (tile_op_opcode(f, op) == TILE_OP_wgmma_descriptor) return verify_descriptor(f, op);
    if (tile_op_opcode(f, op) == TILE_OP_wgmma && !verify_attributes(f, op)) return false;
    bool group = tile_op_get_info(tile_op_opcode(f, op))->effects & TILE_EFFECT_WARPGROUP;
    return !group || f->kind != TILE_KERNEL || verify_warpgroup(f, op);
}
