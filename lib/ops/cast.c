/* The semantics of casts, and their attributes. */
#include <math.h>
#include <string.h>

#include "lib/ops/cast.h"
#include "lib/ops/atomic.h"
#include "lib/support/scalar.h"

/* Integers ------------------------------------------------------------------------------------- */

static int64_t largest_integer(tile_scalar scalar) {
    return (int64_t)((UINT64_C(1) << (tile_scalar_bits(scalar) - 1)) - 1);
}

static uint64_t largest_unsigned(tile_scalar scalar) {
    return UINT64_MAX >> (64 - tile_scalar_bits(scalar));
}

tile_scalar tile_cast_scalar(tile_scalar scalar, tile_arith_flags arith_flags) {
    return arith_flags.is_unsigned ? tile_scalar_as_unsigned(scalar) : scalar;
}

/* Clamps a number of type `from` to the range of `to`. */
static int64_t clamp(tile_scalar from, tile_scalar to, int64_t value) {
    int64_t high = largest_integer(to);
    if (tile_scalar_is_unsigned(from)) {
        uint64_t most = tile_scalar_is_unsigned(to) ? largest_unsigned(to) : (uint64_t)high;
        return (uint64_t)value > most ? (int64_t)most : value;
    }
    if (!tile_scalar_is_unsigned(to))
        return value > high ? high : value < -high - 1 ? -high - 1 : value;
    if (value < 0) return 0;
    return (uint64_t)value > largest_unsigned(to) ? (int64_t)largest_unsigned(to) : value;
}

void tile_cast_integer(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags,
                       int64_t value, void *dst) {
    if (arith_flags.is_unsigned) value = (int64_t)((uint64_t)value & largest_unsigned(from));
    from = tile_cast_scalar(from, arith_flags);
    to = tile_cast_scalar(to, arith_flags);
    if (to == TILE_i1) {
        tile_integer_write(to, dst, value != 0);
    } else if (!tile_scalar_is_floating(to)) {
        tile_integer_write(to, dst, arith_flags.saturates ? clamp(from, to, value) : value);
    } else if (to == TILE_f32) { /* through a double it could be rounded twice */
        float rounded = tile_scalar_is_unsigned(from) ? (float)(uint64_t)value : (float)value;
        memcpy(dst, &rounded, sizeof rounded);
    } else {
        tile_cast_float(to, (tile_arith_flags){.saturates = arith_flags.saturates},
                        tile_integer_to_double(from, value), dst);
    }
}

/* Floats --------------------------------------------------------------------------------------- */

double tile_scalar_largest(tile_scalar scalar) {
    switch (scalar) {
    case TILE_f16: return 0x1.ffcp15;
    case TILE_bf16: return 0x1.fep127;
    case TILE_f32: return 0x1.fffffep127;
    case TILE_tf32: return 0x1.ffcp127;
    case TILE_f64: return 0x1.fffffffffffffp1023;
    case TILE_e4m3: return 448;
    case TILE_e5m2: return 57344;
    case TILE_i1:
    case TILE_i8:
    case TILE_i16:
    case TILE_i32:
    case TILE_i64:
    case TILE_u8:
    case TILE_u16:
    case TILE_u32:
    case TILE_u64:
    case TILE_barrier:
    case TILE_SCALAR_NONE:
    case TILE_SCALAR_COUNT: break;
    }
    return INFINITY;
}

static void cast_to_integer(tile_scalar to, tile_arith_flags arith_flags, double value, void *dst) {
    if (arith_flags.rounding) value = tile_round_whole(arith_flags.rounding, value);
    to = tile_cast_scalar(to, arith_flags);
    tile_integer_write(to, dst, tile_integer_of_type(to, value));
}

/* One step towards zero: the bit patterns of floats are ordered by magnitude. */
static void step_back(tile_scalar scalar, void *at) {
    uint64_t bits = 0;
    unsigned unit = scalar == TILE_tf32 ? 1u << 13 : 1;
    memcpy(&bits, at, tile_scalar_bytes(scalar));
    bits -= unit;
    memcpy(at, &bits, tile_scalar_bytes(scalar));
}

void tile_cast_float(tile_scalar to, tile_arith_flags arith_flags, double value, void *dst) {
    double largest = tile_scalar_largest(to);
    if (to != TILE_i1 && !tile_scalar_is_floating(to)) {
        cast_to_integer(to, arith_flags, value, dst);
        return;
    }
    if (arith_flags.saturates)
        value = value > largest ? largest : value < -largest ? -largest : value;
    tile_scalar_write(to, dst, value);
    if (arith_flags.rounding == TILE_ROUNDING_ZERO && fabs(tile_scalar_read(to, dst)) > fabs(value))
        step_back(to, dst);
}

void tile_cast_element(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags,
                       const void *src, void *dst) {
    if (tile_scalar_is_floating(from))
        tile_cast_float(to, arith_flags, tile_scalar_read(from, src), dst);
    else
        tile_cast_integer(from, to, arith_flags, tile_integer_read(from, src), dst);
}

/* Checks --------------------------------------------------------------------------------------- */

static bool is_integer(tile_scalar scalar) {
    return !tile_scalar_is_floating(scalar) && scalar != TILE_i1;
}

/* Returns why the types have no such cast; NULL if they have. */
static const char *reason_against(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags) {
    bool floats = tile_scalar_is_floating(from) && tile_scalar_is_floating(to);
    bool byte = tile_scalar_bits(to) == 8;
    if (arith_flags.rounding && !tile_scalar_is_floating(from))
        return "integers are rounded to nearest even; remove `round`";
    if (arith_flags.rounding && to == TILE_i1)
        return "a cast to i1 compares with 0; remove `round`";
    if (arith_flags.rounding > TILE_ROUNDING_ZERO && floats)
        return "a cast between floats takes `round = even` or `round = zero`";
    if (arith_flags.rounding == TILE_ROUNDING_ZERO && floats && byte)
        return "casts to 8-bit floats round to nearest even; remove `round`";
    if (arith_flags.rounding == TILE_ROUNDING_EVEN && to == TILE_tf32)
        return "casts to tf32 round to nearest, ties away from zero; remove `round`, or write "
               "`zero`";
    if (arith_flags.is_unsigned && !is_integer(from) && !is_integer(to))
        return "`unsigned` applies to integers; remove it";
    if (tile_cast_scalar(from, arith_flags) == TILE_u64 && to == TILE_tf32)
        return "an unsigned 64-bit integer cannot be cast to tf32; cast it to f32 first";
    if (arith_flags.saturates && to == TILE_i1)
        return "a cast to i1 compares with 0; remove `saturate`";
    return NULL;
}

bool tile_verify_cast(const tile_function *f, tile_op op) {
    if (tile_op_opcode(f, op) != TILE_OP_cast) return true;
    const tile_type *from = tile_value_type(f, tile_operand_src(f, op));
    const tile_type *to = tile_value_type(f, tile_op_result(f, op, 0));
    if (from->param || to->param) return true;
    const char *reason = reason_against(from->scalar, to->scalar, tile_op_arith_flags(f, op));
    if (reason)
        tile_error_at(f, op, "cast from %s to %s: %s", tile_scalar_name(from->scalar),
                      tile_scalar_name(to->scalar), reason);
    return !reason;
}
