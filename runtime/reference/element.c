#include "runtime/reference/element.h"

#include "lib/ops/cast.h"
#include "lib/support/scalar.h"

static int64_t integer_of(tile_scalar scalar, double value) {
    return scalar == TILE_u64 ? tile_integer_of_type(scalar, value)
                              : tile_integer_from_double(value, INT64_MIN, INT64_MAX);
}

/* Wraps the result to the width of its type. */
static bool integer_value(tile_opcode opcode, tile_scalar from, tile_scalar to,
                          tile_arith_flags arith_flags, const double *x, double *result) {
    int64_t value, in[3];
    unsigned char bytes[sizeof(int64_t)];
    for (unsigned i = 0; i < 3; i++) in[i] = integer_of(from, x[i]);
    if (!tile_fold_element(opcode, from, arith_flags, in[0], in[1], in[2], &value)) return false;
    tile_integer_write(to, bytes, value);
    *result = tile_scalar_read(to, bytes);
    return true;
}

double tile_element_cast(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags, double x) {
    unsigned char bytes[sizeof(double)];
    if (tile_scalar_is_floating(from))
        tile_cast_float(to, arith_flags, x, bytes);
    else
        tile_cast_integer(from, to, arith_flags, integer_of(from, x), bytes);
    return tile_scalar_read(to, bytes);
}

static double bitcast_value(tile_scalar from, tile_scalar to, double x) {
    unsigned char bytes[sizeof(double)];
    tile_scalar_write(from, bytes, x);
    return tile_scalar_read(to, bytes);
}

/* One element of an elementwise operation; from: the type of the first operand. */
bool tile_element_value(tile_opcode opcode, tile_scalar from, tile_scalar to,
                        tile_arith_flags arith_flags, const double *x, double *result) {
    switch (opcode) {
    case TILE_OP_cast: *result = tile_element_cast(from, to, arith_flags, x[0]); return true;
    case TILE_OP_bitcast: *result = bitcast_value(from, to, x[0]); return true;
    case TILE_OP_splat: *result = x[0]; return true;
    case TILE_OP_select: *result = x[0] != 0 ? x[1] : x[2]; return true;
    default: break;
    }
    if (tile_scalar_is_floating(from))
        return tile_fold_real(opcode, TILE_f64, arith_flags, x[0], x[1], x[2], result);
    return integer_value(opcode, from, to, arith_flags, x, result);
}
