/* The table of element types, and elements in memory. */
#include "lib/support/scalar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/support/float16.h"
#include "lib/support/text.h"

static const struct {
    const char *name;
    unsigned bits;
    enum { CLASS_integer, CLASS_natural, CLASS_floating } class;
    enum { USE_none, USE_arithmetic, USE_storage, USE_synchronization } use;
    unsigned exponent, mantissa, pack;
} table[TILE_SCALAR_COUNT] = {
    [TILE_SCALAR_NONE] = {.name = "none", .pack = 1},
#define SCALAR(number, name, bits, class, exponent, mantissa, pack, use, meaning) \
    [number] = {#name, bits, CLASS_##class, USE_##use, exponent, mantissa, pack},
#include "tile/scalars.def"
#undef SCALAR
};

#define SCALAR(number, name, bits, class, exponent, mantissa, pack, use, meaning) \
    _Static_assert((exponent) == 0 || 1 + (exponent) + (mantissa) == (bits) || \
                       TILE_##name == TILE_tf32, \
                   #name ": the fields are as wide as the type"); \
    _Static_assert((pack) == 1 || (pack) * (bits) == 32, #name ": a register is filled");
#include "tile/scalars.def"
#undef SCALAR

/* A value outside the table becomes no type. */
static tile_scalar known(tile_scalar scalar) {
    return (unsigned)scalar < TILE_SCALAR_COUNT ? scalar : TILE_SCALAR_NONE;
}

const char *tile_scalar_name(tile_scalar scalar) {
    return table[known(scalar)].name;
}

unsigned tile_scalar_bits(tile_scalar scalar) {
    return table[known(scalar)].bits;
}

unsigned tile_scalar_bytes(tile_scalar scalar) {
    return (tile_scalar_bits(scalar) + 7) / 8;
}

bool tile_scalar_is_floating(tile_scalar scalar) {
    return table[known(scalar)].class == CLASS_floating;
}

bool tile_scalar_is_unsigned(tile_scalar scalar) {
    return table[known(scalar)].class == CLASS_natural;
}

/* The first integer type of this class and width; the type itself if there is none. */
static tile_scalar with_class(tile_scalar scalar, unsigned class) {
    for (unsigned i = 1; i < TILE_SCALAR_COUNT && !tile_scalar_is_floating(scalar); i++)
        if (table[i].class == class && table[i].bits == tile_scalar_bits(scalar) &&
            table[i].use == table[known(scalar)].use)
            return (tile_scalar)i;
    return scalar;
}

tile_scalar tile_scalar_as_unsigned(tile_scalar scalar) {
    return with_class(scalar, CLASS_natural);
}

tile_scalar tile_scalar_as_signed(tile_scalar scalar) {
    return with_class(scalar, CLASS_integer);
}

unsigned tile_scalar_mantissa(tile_scalar scalar) {
    return table[known(scalar)].mantissa;
}

double tile_scalar_whole_limit(tile_scalar scalar) {
    if (tile_scalar_is_floating(scalar)) return ldexp(1, (int)tile_scalar_mantissa(scalar) + 1);
    return ldexp(1, (int)tile_scalar_bits(scalar) - !tile_scalar_is_unsigned(scalar));
}

unsigned tile_scalar_exponent(tile_scalar scalar) {
    return table[known(scalar)].exponent;
}

bool tile_scalar_has_arithmetic(tile_scalar scalar) {
    return table[known(scalar)].use == USE_arithmetic;
}

bool tile_scalar_is_data(tile_scalar scalar) {
    return tile_scalar_has_arithmetic(scalar) || table[known(scalar)].use == USE_storage;
}

tile_scalar tile_scalar_of_data(const char *name) {
    tile_scalar scalar = tile_scalar_from_name(name, strlen(name));
    return tile_scalar_is_data(scalar) ? scalar : TILE_SCALAR_NONE;
}

unsigned tile_scalar_pack(tile_scalar scalar) {
    return table[known(scalar)].pack;
}

/* True for subnormals as well: a wider exponent has smaller ones, an equal one has the same. */
bool tile_scalar_contains(tile_scalar whole, tile_scalar part) {
    if (whole == part || tile_scalar_is_floating(whole) != tile_scalar_is_floating(part))
        return false;
    if (!tile_scalar_is_floating(whole))
        return table[whole].bits > table[part].bits &&
               (!tile_scalar_is_unsigned(whole) || tile_scalar_is_unsigned(part) ||
                part == TILE_i1);
    return table[whole].exponent >= table[part].exponent &&
           table[whole].mantissa >= table[part].mantissa;
}

tile_scalar tile_scalar_from_name(const char *name, size_t length) {
    for (unsigned i = 1; name && i < TILE_SCALAR_COUNT; i++)
        if (tile_text_is(table[i].name, name, length)) return (tile_scalar)i;
    return TILE_SCALAR_NONE;
}

/* Elements in memory --------------------------------------------------------------------------- */

#define READ(type, address) \
    do { \
        type element; \
        memcpy(&element, address, sizeof element); \
        return element; \
    } while (0)

#define WRITE(type, address, value) \
    do { \
        type element = (type)(value); \
        memcpy(address, &element, sizeof element); \
    } while (0)

static uint16_t read_u16(const void *address) {
    READ(uint16_t, address);
}

static uint32_t read_u32(const void *address) {
    READ(uint32_t, address);
}

int64_t tile_integer_read(tile_scalar scalar, const void *address) {
    switch (scalar) {
    case TILE_i1: return *(const uint8_t *)address != 0;
    case TILE_i8: READ(int8_t, address);
    case TILE_i16: READ(int16_t, address);
    case TILE_i32: READ(int32_t, address);
    case TILE_i64:
    case TILE_u64: READ(int64_t, address); /* a u64 above 2^63 as its bits */
    case TILE_u8: READ(uint8_t, address);
    case TILE_u16: READ(uint16_t, address);
    case TILE_u32: READ(uint32_t, address);
    case TILE_f16:
    case TILE_bf16:
    case TILE_f32:
    case TILE_f64:
    case TILE_tf32:
    case TILE_e4m3:
    case TILE_e5m2:
    case TILE_barrier:
    case TILE_SCALAR_NONE:
    case TILE_SCALAR_COUNT: break;
    }
    return 0;
}

void tile_integer_write(tile_scalar scalar, void *address, int64_t value) {
    switch (scalar) {
    case TILE_i1: WRITE(uint8_t, address, value & 1); break;
    case TILE_i8:
    case TILE_u8: WRITE(uint8_t, address, value); break;
    case TILE_i16:
    case TILE_u16: WRITE(uint16_t, address, value); break;
    case TILE_i32:
    case TILE_u32: WRITE(uint32_t, address, value); break;
    case TILE_i64:
    case TILE_u64: WRITE(int64_t, address, value); break;
    case TILE_f16:
    case TILE_bf16:
    case TILE_f32:
    case TILE_f64:
    case TILE_tf32:
    case TILE_e4m3:
    case TILE_e5m2:
    case TILE_barrier:
    case TILE_SCALAR_NONE:
    case TILE_SCALAR_COUNT: break;
    }
}

double tile_scalar_read(tile_scalar scalar, const void *address) {
    switch (scalar) {
    case TILE_f16: return tile_f16_to_float(read_u16(address));
    case TILE_bf16: return tile_bf16_to_float(read_u16(address));
    case TILE_f32: READ(float, address);
    case TILE_tf32: return tile_tf32_to_float(read_u32(address));
    case TILE_f64: READ(double, address);
    case TILE_e4m3: return tile_e4m3_to_float(*(const uint8_t *)address);
    case TILE_e5m2: return tile_e5m2_to_float(*(const uint8_t *)address);
    case TILE_i1:
    case TILE_i8:
    case TILE_i16:
    case TILE_i32:
    case TILE_i64:
    case TILE_u8:
    case TILE_u16:
    case TILE_u32: return (double)tile_integer_read(scalar, address);
    case TILE_u64: return (double)(uint64_t)tile_integer_read(scalar, address);
    case TILE_barrier:
    case TILE_SCALAR_NONE:
    case TILE_SCALAR_COUNT: break;
    }
    return 0;
}

bool tile_integer_fits(tile_scalar scalar, int64_t value) {
    unsigned bits = tile_scalar_bits(scalar);
    if (!scalar || bits >= 64 || tile_scalar_is_floating(scalar)) return true;
    if (tile_scalar_is_unsigned(scalar)) return value >= 0 && value >> bits == 0;
    int64_t limit = (int64_t)1 << (bits - 1);
    return bits == 1 ? value == 0 || value == 1 : value >= -limit && value < limit;
}

const char *tile_integer_range_text(tile_scalar scalar, char text[TILE_RANGE_TEXT]) {
    unsigned bits = tile_scalar_bits(scalar);
    bool is_unsigned = tile_scalar_is_unsigned(scalar) || bits == 1;
    uint64_t most = UINT64_MAX >> (64 - bits + !is_unsigned);
    int64_t least = is_unsigned ? 0 : -(int64_t)most - 1;
    snprintf(text, TILE_RANGE_TEXT, "%s holds %" PRId64 " to %" PRIu64, tile_scalar_name(scalar),
             least, most);
    return text;
}

int64_t tile_integer_from_double(double value, int64_t low, int64_t high) {
    if (isnan(value)) return 0;
    if (value <= (double)low) return low;
    return value >= (double)high ? high : (int64_t)value;
}

int64_t tile_integer_of_type(tile_scalar scalar, double value) {
    int64_t high = (int64_t)(UINT64_MAX >> (65 - tile_scalar_bits(scalar)));
    if (!tile_scalar_is_unsigned(scalar)) return tile_integer_from_double(value, -high - 1, high);
    if (!(value > 0)) return 0;
    uint64_t most = 2 * (uint64_t)high + 1;
    return (int64_t)(value >= (double)most ? most : (uint64_t)value);
}

double tile_integer_to_double(tile_scalar scalar, int64_t value) {
    return tile_scalar_is_unsigned(scalar) ? (double)(uint64_t)value : (double)value;
}

bool tile_scalar_same(tile_scalar scalar, const void *a, const void *b) {
    double x = tile_scalar_read(scalar, a), y = tile_scalar_read(scalar, b);
    if (!tile_scalar_is_floating(scalar))
        return tile_integer_read(scalar, a) == tile_integer_read(scalar, b);
    return x == y || (isnan(x) && isnan(y));
}

static void write_integer(tile_scalar scalar, void *address, double value) {
    if (scalar == TILE_i1)
        tile_integer_write(scalar, address, !(value == 0));
    else
        tile_integer_write(scalar, address, tile_integer_of_type(scalar, value));
}

void tile_scalar_write(tile_scalar scalar, void *address, double value) {
    switch (scalar) {
    case TILE_f16: WRITE(uint16_t, address, tile_f16_from_double(value)); break;
    case TILE_bf16: WRITE(uint16_t, address, tile_bf16_from_double(value)); break;
    case TILE_f32: WRITE(float, address, value); break;
    case TILE_tf32: WRITE(uint32_t, address, tile_tf32_from_double(value)); break;
    case TILE_f64: WRITE(double, address, value); break;
    case TILE_e4m3: WRITE(uint8_t, address, tile_e4m3_from_double(value)); break;
    case TILE_e5m2: WRITE(uint8_t, address, tile_e5m2_from_double(value)); break;
    case TILE_i1:
    case TILE_i8:
    case TILE_i16:
    case TILE_i32:
    case TILE_i64:
    case TILE_u8:
    case TILE_u16:
    case TILE_u32:
    case TILE_u64: write_integer(scalar, address, value); break;
    case TILE_barrier:
    case TILE_SCALAR_NONE:
    case TILE_SCALAR_COUNT: break;
    }
}

double tile_scalar_round(tile_scalar scalar, double value) {
    unsigned char bytes[sizeof(double)];
    tile_scalar_write(scalar, bytes, value);
    return tile_scalar_read(scalar, bytes);
}
