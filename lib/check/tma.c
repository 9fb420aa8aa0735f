/* Checks tensor maps and bulk copies for rules that depend on attributes, which are set after the
 * operation is built. */
#include "lib/check/verify.h"
#include "lib/ops/atomic.h"
#include "lib/ops/gather.h"
#include "lib/ops/im2col.h"

/* PTX ISA, "cp.reduce.async.bulk": the types that can be added, compared, or combined bitwise. */
static bool can_combine(tile_scalar scalar, tile_word kind) {
    bool is_float = tile_scalar_is_floating(scalar);
    unsigned bits = tile_scalar_bits(scalar);
    if (!tile_scalar_has_arithmetic(scalar) || bits < 16) return false;
    switch (kind) {
    case TILE_WORD_kind_add: return is_float || bits >= 32;
    case TILE_WORD_kind_min:
    case TILE_WORD_kind_max: return is_float ? bits == 16 : bits >= 32;
    case TILE_WORD_kind_and:
    case TILE_WORD_kind_or:
    case TILE_WORD_kind_xor: return !is_float && bits >= 32;
    default: return false;
    }
}

/* A map of i64 elements is signed, and tensor copies cannot add signed i64. */
static bool lacks_sum(const tile_function *f, tile_op op, tile_scalar scalar) {
    return tile_op_opcode(f, op) == TILE_OP_tma_store && scalar == TILE_i64 &&
           tile_op_word(f, op, TILE_ATTR_kind) == TILE_WORD_kind_add;
}

static bool check_kind(const tile_function *f, tile_op op) {
    const tile_type *source = tile_value_type(f, tile_operand_src(f, op));
    if (lacks_sum(f, op, source->scalar))
        return tile_error_at(f, op,
                             "tma_store: tensor copies have no `add` of i64; use bulk_store");
    if (!tile_op_has_attr(f, op, TILE_ATTR_kind) || source->param ||
        can_combine(source->scalar, tile_op_word(f, op, TILE_ATTR_kind)))
        return true;
    return tile_error_at(f, op,
                         "%s: `%s` of %s is not available: add takes floats and integers of 32 "
                         "or 64 bits; min and max take f16, bf16 and these integers; and, or and "
                         "xor take these integers",
                         tile_opcode_spelling(tile_op_opcode(f, op)),
                         tile_op_attr_text(f, op, TILE_ATTR_kind),
                         tile_scalar_name(source->scalar));
}

static bool check_multicast(const tile_function *f, tile_op op) {
    enum { DIMS = 3 };
    const tile_attr *dim = tile_op_attr(f, op, TILE_ATTR_multicast);
    int64_t number;
    if (!dim) return true;
    if (tile_op_mechanism(f, op) != TILE_MECHANISM_BARRIER)
        return tile_error_at(f, op,
                             "copy_async: with `multicast` each block of the cluster waits at a "
                             "barrier for the copies of the others; add the barrier operand");
    if (!tile_expr_is_int(dim->expr, &number) || (number >= 0 && number < DIMS)) return true;
    return tile_error_at(
        f, op, "copy_async: `multicast` must be a dim of the cluster, 0, 1 or 2, not %lld",
        (long long)number);
}

static bool check_map(const tile_function *f, tile_op op) {
    int64_t swizzle = tile_op_attr_int(f, op, TILE_ATTR_swizzle, 0);
    const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
    bool windows = tile_op_has_attr(f, op, TILE_ATTR_filter);
    tile_im2col read;
    tile_arena scratch = {0};
    if (swizzle && swizzle != 32 && swizzle != 64 && swizzle != 128)
        return tile_error_at(
            f, op, "tensor_map: the swizzle must be 0, 32, 64 or 128 bytes wide, not %lld",
            (long long)swizzle);
    if (!windows) return true;
    if (type->rank < 3 || type->rank > TILE_MAX_MAP_RANK)
        return tile_error_at(f, op, "tensor_map: a map with `filter` has 3 to 5 dims, not %u",
                             type->rank);
    for (unsigned d = 0; d + 2 < type->rank; d++)
        if (!tile_expr_is(type->dims[d], 1))
            return tile_error_at(f, op,
                                 "tensor_map: the box of a map with `filter` has 1 element along "
                                 "all dims but the last two");
    const tile_op_data *data = tile_op_at(f, op);
    const char *wrong =
        tile_im2col_read(data->attrs, data->attr_count, type->rank - 2, &scratch, &read);
    if (wrong) tile_error_at(f, op, "tensor_map: %s", wrong);
    tile_arena_reset(&scratch);
    return !wrong;
}

static bool check_offsets(const tile_function *f, tile_op op) {
    tile_op map = tile_value_def(f, tile_operand_map(f, op));
    unsigned given = tile_operands_offsets(f, op).count;
    bool windows = map.id && tile_op_has_attr(f, map, TILE_ATTR_filter);
    unsigned wanted = windows ? tile_operands_at(f, op).count - 2 : 0;
    return given == wanted ||
           tile_error_at(f, op,
                         "tma_load: a map with `filter` takes one offset for each spatial dim, and "
                         "others none: there must be %u, not %u",
                         wanted, given);
}

/* Tiles are read at positions, places and channels; other operations do not know the windows. */
static bool check_windows(const tile_function *f, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        tile_opcode opcode = tile_op_opcode(f, op);
        bool reads =
            opcode == TILE_OP_load || opcode == TILE_OP_copy || opcode == TILE_OP_copy_async;
        if (!tile_im2col_maker(f, tile_op_operand(f, op, i)).id) continue;
        const tile_type *tile =
            reads ? tile_value_type(f, opcode == TILE_OP_load ? tile_op_result(f, op, 0)
                                                              : tile_operand_dst(f, op))
                  : NULL;
        if (reads && i == 0 && tile->rank <= 2 && tile_is_plain_access(f, op)) continue;
        return tile_error_at(f, op,
                             "%s: a view of windows is read by `load`, `copy` and `copy_async`, as "
                             "whole tiles of one or two dims without index tiles, predicate or pad",
                             tile_opcode_spelling(opcode));
    }
    return true;
}

bool tile_verify_tma(const tile_function *f, tile_op op) {
    int64_t number;
    if (!check_windows(f, op)) return false;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_copy_async: return check_multicast(f, op);
    case TILE_OP_tensor_map: return check_map(f, op);
    case TILE_OP_tma_load: return check_offsets(f, op);
    case TILE_OP_tma_store:
    case TILE_OP_bulk_store: return check_kind(f, op);
    case TILE_OP_bulk_wait:
        if (!tile_value_is_int(f, tile_operand_pending(f, op), &number) || number >= 0) return true;
        return tile_error_at(f, op, "bulk_wait cannot leave %lld groups pending",
                             (long long)number);
    default: return true; /* the other operations have no such rules */
    }
}
