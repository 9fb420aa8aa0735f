/* Element types: the table's properties, and integers in memory. */
#include "lib/support/scalar.h"

#include <criterion/criterion.h>
#include <math.h>

Test(scalar, integers_wrap_and_clamp) {
    unsigned char bytes[8];
    tile_integer_write(TILE_i8, bytes, 300);
    cr_assert_eq(tile_integer_read(TILE_i8, bytes), 44);
    tile_integer_write(TILE_i16, bytes, -32769);
    cr_assert_eq(tile_integer_read(TILE_i16, bytes), 32767);
    tile_integer_write(TILE_i1, bytes, 3);
    cr_assert_eq(tile_integer_read(TILE_i1, bytes), 1);
    tile_scalar_write(TILE_i32, bytes, -3e9);
    cr_assert_eq(tile_scalar_read(TILE_i32, bytes), -2147483648.0);
    tile_scalar_write(TILE_i64, bytes, 1e30);
    cr_assert_eq(tile_integer_read(TILE_i64, bytes), INT64_MAX);
    tile_scalar_write(TILE_i8, bytes, NAN);
    cr_assert_eq(tile_scalar_read(TILE_i8, bytes), 0);
    tile_scalar_write(TILE_i32, bytes, -2.9);
    cr_assert_eq(tile_scalar_read(TILE_i32, bytes), -2);
    tile_integer_write(TILE_u8, bytes, -1);
    cr_assert_eq(tile_integer_read(TILE_u8, bytes), 255);
    cr_assert_eq(tile_integer_read(TILE_i8, bytes), -1);
    tile_scalar_write(TILE_u16, bytes, -3.5);
    cr_assert_eq(tile_scalar_read(TILE_u16, bytes), 0);
    tile_scalar_write(TILE_u32, bytes, 5e9);
    cr_assert_eq(tile_scalar_read(TILE_u32, bytes), 4294967295.0);
    tile_scalar_write(TILE_u64, bytes, 0x1p63);
    cr_assert_eq(tile_integer_read(TILE_u64, bytes), INT64_MIN, "its bits");
    cr_assert_eq(tile_scalar_read(TILE_u64, bytes), 0x1p63);
    tile_scalar_write(TILE_u64, bytes, 1e30);
    cr_assert_eq(tile_integer_read(TILE_u64, bytes), -1);
    tile_scalar_write(TILE_i1, bytes, 0.25);
    cr_assert_eq(tile_scalar_read(TILE_i1, bytes), 1);
}

Test(scalar, which_integers_fit) {
    cr_assert(tile_integer_fits(TILE_i8, -128) && tile_integer_fits(TILE_i8, 127));
    cr_assert_not(tile_integer_fits(TILE_i8, -129) || tile_integer_fits(TILE_i8, 128));
    cr_assert(tile_integer_fits(TILE_i1, 0) && tile_integer_fits(TILE_i1, 1));
    cr_assert_not(tile_integer_fits(TILE_i1, -1) || tile_integer_fits(TILE_i1, 2));
    cr_assert(tile_integer_fits(TILE_i64, INT64_MIN) && tile_integer_fits(TILE_f16, INT64_MAX));
    cr_assert(tile_integer_fits(TILE_SCALAR_NONE, INT64_MAX));
    cr_assert(tile_integer_fits(TILE_u8, 255) && tile_integer_fits(TILE_u32, UINT32_MAX));
    cr_assert_not(tile_integer_fits(TILE_u8, 256) || tile_integer_fits(TILE_u16, -1));
}

/* Every unsigned type has a signed one of its width, and the other way round; other types are
 * unchanged. */
Test(scalar, signs_come_in_pairs) {
    for (unsigned i = 1; i < TILE_SCALAR_COUNT; i++) {
        tile_scalar scalar = (tile_scalar)i;
        bool is_unsigned = tile_scalar_is_unsigned(scalar);
        cr_assert_eq(is_unsigned, tile_scalar_name(scalar)[0] == 'u');
        cr_assert_eq(tile_scalar_as_unsigned(tile_scalar_as_signed(scalar)),
                     is_unsigned ? scalar : tile_scalar_as_unsigned(scalar));
        cr_assert_eq(tile_scalar_bits(tile_scalar_as_signed(scalar)), tile_scalar_bits(scalar));
        cr_assert_not(tile_scalar_is_unsigned(tile_scalar_as_signed(scalar)));
    }
    cr_assert_eq(tile_scalar_as_unsigned(TILE_i16), TILE_u16);
    cr_assert_eq(tile_scalar_as_signed(TILE_u64), TILE_i64);
    cr_assert_eq(tile_scalar_as_unsigned(TILE_i1), TILE_i1);
    cr_assert_eq(tile_scalar_as_unsigned(TILE_barrier), TILE_barrier);
    cr_assert_eq(tile_scalar_as_signed(TILE_f32), TILE_f32);
}

Test(scalar, facts) {
    cr_assert_eq(tile_scalar_pack(TILE_e4m3), 4);
    cr_assert_eq(tile_scalar_pack(TILE_bf16), 2);
    cr_assert_eq(tile_scalar_pack(TILE_i1), 1);
    cr_assert_eq(tile_scalar_pack(TILE_SCALAR_NONE), 1);
    cr_assert_eq(tile_scalar_mantissa(TILE_tf32), 10);
    cr_assert(tile_scalar_has_arithmetic(TILE_f16));
    cr_assert_not(tile_scalar_has_arithmetic(TILE_tf32));
    cr_assert_eq(tile_scalar_from_name("e5m2", 4), TILE_e5m2);
    cr_assert_eq(tile_scalar_from_name("none", 4), TILE_SCALAR_NONE);
}

static const tile_scalar halves[] = {TILE_f16, TILE_bf16, TILE_e4m3, TILE_e5m2};

/* Against all values of the smaller type. */
Test(scalar, containment_holds_for_every_value) {
    static const tile_scalar all[] = {TILE_f16,  TILE_bf16, TILE_e4m3, TILE_e5m2,
                                      TILE_tf32, TILE_f32,  TILE_f64};
    for (unsigned p = 0; p < sizeof halves / sizeof *halves; p++)
        for (unsigned w = 0; w < sizeof all / sizeof *all; w++) {
            bool holds = true;
            for (unsigned code = 0; code < 1u << tile_scalar_bits(halves[p]); code++) {
                double value = tile_scalar_read(halves[p], &code);
                holds &= isnan(value) || tile_scalar_round(all[w], value) == value;
            }
            cr_expect_eq(tile_scalar_contains(all[w], halves[p]), holds && all[w] != halves[p],
                         "%s in %s", tile_scalar_name(halves[p]), tile_scalar_name(all[w]));
        }
    cr_assert(tile_scalar_contains(TILE_i32, TILE_u16) && tile_scalar_contains(TILE_u32, TILE_u8));
    cr_assert_not(tile_scalar_contains(TILE_i32, TILE_u32));
    cr_assert_not(tile_scalar_contains(TILE_u32, TILE_i8));
    cr_assert(tile_scalar_contains(TILE_i32, TILE_i8));
    cr_assert_not(tile_scalar_contains(TILE_f32, TILE_i8));
}

Test(scalar, rounding_is_what_memory_does) {
    cr_assert_eq(tile_scalar_round(TILE_e4m3, 17), 16);
    cr_assert_eq(tile_scalar_round(TILE_e5m2, INFINITY), 57344);
    cr_assert_eq(tile_scalar_round(TILE_tf32, 1 + 0x1p-11), 1 + 0x1p-10);
    cr_assert_eq(tile_scalar_round(TILE_i8, 300), 127);
}
