/* Compares emitted casts to and from the types without arithmetic with tile_scalar_write, for a
 * target without instructions for them. The operands are constants, so LLVM folds the emitted code,
 * and the results are stored constants in the LLVM IR. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "lib/analysis/range.h"
#include "lib/ops/cast.h"
#include "lib/support/scalar.h"
#include "test/unit/codegen_fixture.h"
#include "test/unit/llvm_fixture.h"
#include "test/unit/share.h"

enum { MAX_INPUTS = 40000, WIDTH = 4, PART = 1024 }; /* PART: inputs per kernel */

typedef struct inputs {
    double values[MAX_INPUTS];
    unsigned count;
    unsigned parts;               /* checked or left to another share, over all casts */
    tile_arith_flags arith_flags; /* of the casts */
} inputs;

static void add(inputs *in, double value) {
    cr_assert_lt(in->count, MAX_INPUTS);
    in->values[in->count++] = value;
}

static void add_both_signs(inputs *in, double value) {
    add(in, value);
    add(in, -value);
}

/* Reads the constant words of the next store; returns where it ends. */
static const char *read_store(const char *at, uint32_t *words, unsigned count) {
    at = strstr(at, "store ");
    cr_assert(at, "a result is missing");
    at += strlen("store ");
    if (*at == '<') at = strchr(at, '>') + 2; /* skips the vector type */
    bool zero = strncmp(at, "zero", 4) == 0, splat = strncmp(at, "splat", 5) == 0;
    for (unsigned w = 0; w < count; w++) {
        char *end;
        if (zero || (splat && w)) {
            words[w] = zero ? 0 : words[0];
            continue;
        }
        at = strchr(strchr(at, 'i'), ' '); /* i32, i16 or i8 */
        words[w] = (uint32_t)strtoll(at, &end, 10);
        cr_assert(end != at, "no number: %.60s", at);
        at = end;
    }
    return at;
}

/* Checks the memory contents of a cast vector, as little-endian words. */
static void expect_words(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags,
                         const double *values, unsigned width, uint32_t *words) {
    unsigned char bytes[8 * WIDTH] = {0};
    for (unsigned k = 0; k < width; k++)
        if (tile_scalar_is_floating(from))
            tile_cast_float(to, arith_flags, tile_scalar_round(from, values[k]),
                            bytes + k * tile_scalar_bytes(to));
        else
            tile_cast_integer(from, to, arith_flags, tile_wrap_int(from, (int64_t)values[k]),
                              bytes + k * tile_scalar_bytes(to));
    memcpy(words, bytes, sizeof bytes);
}

/* Checks for equal bits; for types with infinities any NaN matches. */
static void expect_same(tile_scalar from, tile_scalar to, double value, const char *got,
                        const char *expected) {
    bool same = memcmp(got, expected, tile_scalar_bytes(to)) == 0;
    if (to != TILE_e4m3 && to != TILE_e5m2)
        same |= isnan(tile_scalar_read(to, got)) && isnan(tile_scalar_read(to, expected));
    cr_assert(same, "%s to %s, %a: %g, not %g", tile_scalar_name(from), tile_scalar_name(to), value,
              tile_scalar_read(to, got), tile_scalar_read(to, expected));
}

static void set_manner(tile_function *f, tile_value cast, tile_arith_flags arith_flags) {
    static const char *const words[] = {"", "even", "zero", "up", "down"};
    tile_op op = tile_value_op(f, cast);
    if (arith_flags.is_unsigned) tile_op_set_flag(f, op, TILE_ATTR_unsigned);
    if (arith_flags.saturates) tile_op_set_flag(f, op, TILE_ATTR_saturate);
    if (arith_flags.rounding) tile_op_set_text(f, op, TILE_ATTR_round, words[arith_flags.rounding]);
}

static const tile_expr *number(const codegen_fixture *x, tile_scalar scalar, double value) {
    return tile_scalar_is_floating(scalar) ? tile_expr_float(x->context, value)
                                           : tile_expr_int(x->context, (int64_t)value);
}

static void build(codegen_fixture *x, tile_scalar from, tile_scalar to,
                  tile_arith_flags arith_flags, const double *values, unsigned count,
                  unsigned width) {
    tile_builder b = tile_builder_at_end(x->kernel, tile_function_body(x->kernel));
    const tile_type *scalar = tile_type_scalar(x->context, from);
    const tile_type *result =
        width > 1 ? tile_type_vector(x->context, to, width) : tile_type_scalar(x->context, to);
    for (unsigned i = 0; i + width <= count; i += width) {
        tile_value parts[WIDTH];
        for (unsigned k = 0; k < width; k++)
            parts[k] = tile_function_constant(x->kernel, scalar, number(x, from, values[i + k]));
        tile_value all = width > 1 ? tile_build_concat(&b, parts, width) : parts[0];
        tile_value at = tile_build_int(&b, i);
        tile_value cast = tile_build_cast(&b, all, result);
        set_manner(x->kernel, cast, arith_flags);
        tile_build_st_global(&b, cast, tile_function_arg(x->kernel, 0), &at, 1, TILE_NO_VALUE);
    }
}

static void check_part(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags,
                       const double *values, unsigned count, unsigned width) {
    codegen_fixture x;
    tile_blob ir;
    char text[96];
    unsigned bytes = width * tile_scalar_bytes(to), words = (bytes + 3) / 4;
    uint32_t mask = bytes < 4 ? (UINT32_C(1) << 8 * bytes) - 1 : UINT32_MAX;
    snprintf(text, sizeof text, "kernel @k(%%x: ptr<%s>) grid [1] warps 1 {\n}\n",
             tile_scalar_name(to));
    codegen_open(&x, text);
    build(&x, from, to, arith_flags, values, count, width);
    cr_assert_eq(codegen_emit(&x, TILE_EMIT_LLVM, "sm_80", &ir), TILE_OK, "%s", x.messages);
    fold_with_llvm(&ir);
    const char *at = ir.data;
    for (unsigned i = 0; i + width <= count; i += width) {
        uint32_t expected[2 * WIDTH], got[2 * WIDTH];
        expect_words(from, to, arith_flags, values + i, width, expected);
        at = read_store(at, got, words);
        got[0] &= mask;
        for (unsigned k = 0; k < width; k++)
            expect_same(from, to, values[i + k], (char *)got + k * tile_scalar_bytes(to),
                        (char *)expected + k * tile_scalar_bytes(to));
    }
    tile_blob_destroy(&ir);
    codegen_close(&x);
}

/* Checks one cast of all inputs, in vectors of `width` or as scalars. */
static void check(tile_scalar from, tile_scalar to, inputs *in, unsigned width) {
    for (unsigned first = 0; first < in->count; first += PART) {
        unsigned left = in->count - first;
        if (is_in_share(in->parts++))
            check_part(from, to, in->arith_flags, in->values + first, left < PART ? left : PART,
                       width);
    }
}

static void check_both(tile_scalar from, tile_scalar to, inputs *in) {
    check(from, to, in, 1);
    check(from, to, in, WIDTH);
}

/* Adds every value of an 8-bit or 16-bit type, or each `step`-th one. */
static void add_values(inputs *in, tile_scalar scalar, unsigned step) {
    for (uint32_t code = 0; code < UINT32_C(1) << tile_scalar_bits(scalar); code += step)
        add(in, tile_scalar_read(scalar, &code));
}

static const tile_scalar byte_floats[] = {TILE_e4m3, TILE_e5m2};

Test(codegen_cast, from_8_bits_every_value) {
    static const tile_scalar to[] = {TILE_f16, TILE_bf16, TILE_f32, TILE_tf32, TILE_f64};
    for (unsigned i = 0; i < 2; i++) {
        inputs in = {.count = 0};
        add_values(&in, byte_floats[i], 1);
        for (unsigned k = 0; k < sizeof to / sizeof *to; k++)
            check(byte_floats[i], to[k], &in, to[k] == TILE_f64 ? 2 : 4);
        check_both(byte_floats[i], byte_floats[1 - i], &in);
    }
}

Test(codegen_cast, halves_to_8_bits) {
    static inputs in;
    add_values(&in, TILE_f16, 3);
    for (unsigned i = 0; i < 2; i++) check_both(TILE_f16, byte_floats[i], &in);
    in.count = 0;
    add_values(&in, TILE_bf16, 3);
    for (unsigned i = 0; i < 2; i++) check_both(TILE_bf16, byte_floats[i], &in);
}

/* Adds all codes, the midpoints between them, and the adjacent f32 on both sides of each. */
static void add_boundaries(inputs *in, tile_scalar scalar) {
    for (uint32_t code = 0; code < 0x7f; code++) {
        uint32_t next = code + 1;
        double low = tile_scalar_read(scalar, &code), high = tile_scalar_read(scalar, &next);
        if (!isfinite(high)) high = 2 * low;
        double at[] = {low, (low + high) / 2};
        for (unsigned i = 0; isfinite(low) && i < 2; i++) {
            add_both_signs(in, at[i]);
            add_both_signs(in, (double)nextafterf((float)at[i], 0));
            add_both_signs(in, (double)nextafterf((float)at[i], INFINITY));
        }
    }
}

static void add_extremes(inputs *in) {
    static const double values[] = {0,    1e-45,  1.1754942e-38, 1.17549435e-38, 465,
                                    480,  57344,  61439.996,     61440,          65536,
                                    1e30, 3.4e38, INFINITY};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        add_both_signs(in, (double)(float)values[i]);
    add(in, NAN);
    for (uint32_t bits = 0; bits < 0x7f800000; bits += 0x7a337) {
        float value;
        memcpy(&value, &bits, sizeof value);
        add_both_signs(in, (double)value);
    }
    while (in->count % WIDTH) add(in, 0);
}

Test(codegen_cast, floats_to_8_bits) {
    static inputs in;
    for (unsigned i = 0; i < 2; i++) {
        in.count = 0;
        add_boundaries(&in, byte_floats[i]);
        add_extremes(&in);
        check_both(TILE_f32, byte_floats[i], &in);
    }
}

/* Adds values near some integers, and values that types cannot represent. */
static void add_near_integers(inputs *in) {
    static const double values[] = {0,          1,          2,         3,     126,     127,
                                    128,        254,        255,       256,   32767,   32768,
                                    65535,      65536,      65504,     65519, 2097151, 8388607,
                                    2147483647, 2147483648, 4294967295};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        for (double near = -0.5; near <= 0.5; near += 0.25)
            add_both_signs(in, (double)(float)(values[i] + near));
}

Test(codegen_cast, floats_to_integers_as_told) {
    static inputs in;
    static const tile_scalar to[] = {TILE_i8, TILE_i16, TILE_i32, TILE_u8, TILE_u16, TILE_u32};
    add_near_integers(&in);
    add_extremes(&in);
    for (unsigned rounding = 0; rounding <= TILE_ROUNDING_DOWN; rounding++)
        for (unsigned i = 0; i < 6; i++) {
            in.arith_flags =
                (tile_arith_flags){.is_unsigned = i >= 3, .rounding = (tile_rounding)rounding};
            check(TILE_f32, to[i % 3], &in, 1);
            check(TILE_f32, to[3 + i % 3], &in, 1);
        }
}

Test(codegen_cast, floats_to_narrower_ones_as_told) {
    static inputs in;
    static const tile_scalar to[] = {TILE_f16, TILE_bf16, TILE_tf32, TILE_f32};
    add_near_integers(&in);
    add_extremes(&in);
    for (uint32_t code = 0; code < 0x7c00; code += 97) { /* and values next to those of f16 */
        double value = tile_scalar_read(TILE_f16, &code);
        add_both_signs(&in, (double)nextafterf((float)value, 0));
        add_both_signs(&in, (double)nextafterf((float)value, INFINITY));
    }
    for (unsigned i = 0; i < 12; i++) {
        tile_scalar scalar = to[i % 4];
        in.arith_flags = (tile_arith_flags){
            .saturates = i < 8, .rounding = i >= 4 ? TILE_ROUNDING_ZERO : TILE_ROUNDING_NONE};
        bool by_instruction = scalar == TILE_tf32 && i < 4; /* LLVM does not fold it */
        if (!by_instruction) check(TILE_f32, scalar, &in, 1);
    }
}

Test(codegen_cast, integers_as_told) {
    static inputs in;
    static const tile_scalar types[] = {TILE_i8,  TILE_i16, TILE_i32,  TILE_u8, TILE_u16,
                                        TILE_u32, TILE_f16, TILE_bf16, TILE_f32};
    static const double values[] = {0,        1,          2,          126,       127,   128,
                                    200,      255,        256,        32767,     32768, 65504,
                                    65519,    65520,      65535,      65536,     70000, 1e6,
                                    33554431, 2139095040, 2147483583, 2147483647};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) add_both_signs(&in, values[i]);
    for (unsigned m = 0; m < 4; m++)
        for (unsigned from = 0; from < 6; from++)
            for (unsigned to = 0; to < sizeof types / sizeof *types; to++) {
                in.arith_flags = (tile_arith_flags){.is_unsigned = m & 1, .saturates = m & 2};
                if (types[from] != types[to]) check(types[from], types[to], &in, 1);
            }
}
