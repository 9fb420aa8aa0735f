#include "runtime/reference/element.h"

#include "lib/ops/cast.h"
#include "lib/support/scalar.h"

static int64_t integer_of(tile_scalar scalar, double value) {
    return scalar == TILE_u64 ? tile_integer_of_type(scalar, value)
                              : tile_integer_from_double(value, INT64_MIN, INT64_MAX);
}

tile_number tile_element_number(tile_scalar scalar, double value) {
    return (tile_number){value, tile_scalar_is_floating(scalar) ? 0 : integer_of(scalar, value)};
}

tile_number tile_element_read(tile_scalar scalar, const void *from) {
    return (tile_number){tile_scalar_read(scalar, from),
                         tile_scalar_is_floating(scalar) ? 0 : tile_integer_read(scalar, from)};
}

static void cast_number(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags,
                        tile_number x, void *bytes) {
    if (tile_scalar_is_floating(from))
        tile_cast_float(to, arith_flags, x.real, bytes);
    else
        tile_cast_integer(from, to, arith_flags, x.integer, bytes);
}

double tile_element_cast(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags, double x) {
    unsigned char bytes[sizeof(double)];
    cast_number(from, to, arith_flags, tile_element_number(from, x), bytes);
    return tile_scalar_read(to, bytes);
}

static bool compute_float(tile_opcode opcode, tile_scalar to, tile_arith_flags arith_flags,
                          const tile_number *x, tile_number *result) {
    double real;
    if (!tile_fold_real(opcode, TILE_f64, arith_flags, x[0].real, x[1].real, x[2].real, &real))
        return false;
    *result = tile_element_number(to, real);
    return true;
}

bool tile_element_compute(tile_opcode opcode, tile_scalar from, tile_scalar to,
                          tile_arith_flags arith_flags, const tile_number *x, tile_number *result) {
    unsigned char bytes[sizeof(double)];
    int64_t value;
    switch (opcode) {
    case TILE_OP_splat: *result = x[0]; return true;
    case TILE_OP_select: *result = x[0].real != 0 ? x[1] : x[2]; return true;
    case TILE_OP_cast: cast_number(from, to, arith_flags, x[0], bytes); break;
    case TILE_OP_bitcast: tile_number_write(from, x[0], bytes); break;
    default:
        if (tile_scalar_is_floating(from)) return compute_float(opcode, to, arith_flags, x, result);
        if (!tile_element_is_defined(opcode, from, x[1].integer))
            value = 0;
        else if (!tile_fold_element(opcode, from, arith_flags, x[0].integer, x[1].integer,
                                    x[2].integer, &value))
            return false;
        tile_integer_write(to, bytes, value); /* wraps to the width of the type */
    }
    *result = tile_element_read(to, bytes);
    return true;
}

bool tile_element_value(tile_opcode opcode, tile_scalar from, tile_scalar to,
                        tile_arith_flags arith_flags, const double *x, double *result) {
    tile_number numbers[3], number;
    for (unsigned i = 0; i < 3; i++) numbers[i] = tile_element_number(from, x[i]);
    if (!tile_element_compute(opcode, from, to, arith_flags, numbers, &number)) return false;
    *result = number.real;
    return true;
}
