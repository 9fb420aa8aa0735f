/* Ranges and divisors: every operation compared with all values of small ranges, then whole
 * functions. */
#include "lib/analysis/range.h"

#include <criterion/criterion.h>

#include "lib/ir/arith.h"
#include "tile/build.h"

/* One operation ------------------------------------------------------------------------------ */

static const tile_scalar bytes[] = {TILE_i8, TILE_u8};

static bool contains(tile_range r, int64_t value) {
    bool multiple = r.divisor ? value % r.divisor == 0 : value == 0;
    return value >= r.min && value <= r.max && multiple && !((uint64_t)value & r.zeros);
}

/* Ranges with up to eight members near the wrap-around of the 8-bit type and around zero. */
static unsigned list_ranges(tile_range *out, tile_scalar scalar) {
    static const int64_t starts[] = {-128, -127, -65, -7, -4,  -1,  0,  1,
                                     2,    5,    62,  64, 120, 190, 248};
    const tile_range all = tile_range_of_scalar(scalar);
    static const int64_t divisors[] = {1, 2, 3, 4, 6, 8, 12, 64};
    unsigned count = 0;
    for (unsigned s = 0; s < sizeof starts / sizeof *starts; s++)
        for (unsigned d = 0; d < sizeof divisors / sizeof *divisors; d++)
            for (int64_t members = 1; members <= 7; members += 3) {
                int64_t divisor = divisors[d], min = starts[s];
                while (min % divisor) min++;
                int64_t max = min + (members - 1) * divisor;
                if (min >= all.min && max <= all.max)
                    out[count++] = (tile_range){min, max, min || max ? divisor : 0, 0};
            }
    out[count++] = (tile_range){0, 71, 1, ~UINT64_C(71)};
    out[count++] = (tile_range){8, 120, 8, 0x17};
    out[count++] = (tile_range){all.min, all.max, 1, 0x21};
    return count;
}

static bool is_defined(tile_opcode opcode, int64_t b) {
    switch (opcode) {
    case TILE_OP_ceildiv: return b > 0;
    case TILE_OP_shl:
    case TILE_OP_ushr:
    case TILE_OP_shr: return b >= 0 && b < 8;
    default: return true;
    }
}

static void check_binary(tile_opcode opcode, tile_scalar scalar, tile_scalar result, tile_range a,
                         tile_range b) {
    const tile_range operands[] = {a, b, {0}};
    tile_range r = tile_range_apply(opcode, result, operands);
    int64_t step_a = a.divisor ? a.divisor : 1, step_b = b.divisor ? b.divisor : 1;
    for (int64_t x = a.min; x <= a.max; x += step_a)
        for (int64_t y = b.min; y <= b.max; y += step_b) {
            int64_t value;
            if (!contains(a, x) || !contains(b, y) || !is_defined(opcode, y) ||
                !tile_fold_element(opcode, scalar, (tile_arith_flags){.nan = false}, x, y, 0,
                                   &value))
                continue;
            cr_assert(contains(r, tile_wrap_int(result, value)),
                      "%s of %ld and %ld is not in [%ld, %ld] x%ld", tile_op_get_info(opcode)->name,
                      (long)x, (long)y, (long)r.min, (long)r.max, (long)r.divisor);
        }
}

Test(range, binary_operations_contain_every_result) {
    static const tile_opcode opcodes[] = {
        TILE_OP_add,     TILE_OP_sub, TILE_OP_mul,  TILE_OP_div, TILE_OP_rem, TILE_OP_mod,
        TILE_OP_ceildiv, TILE_OP_min, TILE_OP_max,  TILE_OP_and, TILE_OP_or,  TILE_OP_xor,
        TILE_OP_shl,     TILE_OP_shr, TILE_OP_eq,   TILE_OP_ne,  TILE_OP_lt,  TILE_OP_le,
        TILE_OP_gt,      TILE_OP_ge,  TILE_OP_ushr,
    };
    for (unsigned o = 0; o < sizeof opcodes / sizeof *opcodes; o++) {
        bool compare = opcodes[o] >= TILE_OP_eq && opcodes[o] <= TILE_OP_ge;
        for (unsigned t = 0; t < 2; t++) {
            tile_range ranges[400];
            unsigned count = list_ranges(ranges, bytes[t]);
            cr_assert_gt(count, 100);
            for (unsigned i = 0; i < count * count; i++)
                check_binary(opcodes[o], bytes[t], compare ? TILE_i1 : bytes[t], ranges[i / count],
                             ranges[i % count]);
        }
    }
}

Test(range, unary_operations_contain_every_result) {
    static const tile_opcode opcodes[] = {TILE_OP_neg, TILE_OP_not, TILE_OP_abs, TILE_OP_popcount,
                                          TILE_OP_clz};
    for (unsigned t = 0; t < 2; t++) {
        tile_range ranges[400];
        unsigned count = list_ranges(ranges, bytes[t]);
        for (unsigned o = 0; o < sizeof opcodes / sizeof *opcodes; o++)
            for (unsigned i = 0; i < count; i++)
                check_binary(opcodes[o], bytes[t], bytes[t], ranges[i], tile_range_of_int(0));
    }
}

Test(range, truth_values_contain_every_result) {
    static const tile_opcode opcodes[] = {TILE_OP_add, TILE_OP_sub, TILE_OP_mul, TILE_OP_and,
                                          TILE_OP_or,  TILE_OP_xor, TILE_OP_not, TILE_OP_neg};
    const tile_range ranges[] = {{0}, {1, 1, 1, 0}, {0, 1, 1, 0}};
    for (unsigned o = 0; o < sizeof opcodes / sizeof *opcodes; o++)
        for (unsigned i = 0; i < 9; i++)
            check_binary(opcodes[o], TILE_i8, TILE_i1, ranges[i / 3], ranges[i % 3]);
}

/* The bounds are tight, not only valid. */
Test(range, exact_cases) {
    const tile_range all = tile_range_of_scalar(TILE_i32), eight = tile_range_of_int(8);
    const tile_range by_eight[] = {{0, 800, 16, 0}, eight};
    tile_range r = tile_range_apply(TILE_OP_div, TILE_i32, by_eight);
    cr_assert(r.min == 0 && r.max == 100 && r.divisor == 2);
    const tile_range of_all[] = {all, eight};
    r = tile_range_apply(TILE_OP_mod, TILE_i32, of_all);
    cr_assert(r.min == 0 && r.max == 7 && r.divisor == 1);
    r = tile_range_apply(TILE_OP_mul, TILE_i32, of_all);
    cr_assert(r.min == INT32_MIN && r.max == INT32_MAX - 7 && r.divisor == 8, "wrapping keeps 8");
    const tile_range by_six[] = {all, tile_range_of_int(6)};
    r = tile_range_apply(TILE_OP_mul, TILE_i32, by_six);
    cr_assert_eq(r.divisor, 2, "wrapping loses the 3");
}

/* A lane's row, a warp's row, and an offset: 7 + 64 + 56. */
Test(range, coordinates_made_by_xor) {
    const tile_range thread = {0, 127, 1, 0};
    const tile_range low[] = {thread, tile_range_of_int(7)},
                     high[] = {thread, tile_range_of_int(32)};
    tile_range both[] = {tile_range_apply(TILE_OP_and, TILE_i32, low),
                         tile_range_apply(TILE_OP_and, TILE_i32, high)};
    const tile_range twice[] = {both[1], tile_range_of_int(1)};
    both[1] = tile_range_apply(TILE_OP_shl, TILE_i32, twice);
    const tile_range row[] = {tile_range_apply(TILE_OP_xor, TILE_i32, both), tile_range_of_int(56)};
    tile_range r = tile_range_apply(TILE_OP_add, TILE_i32, row);
    cr_assert(r.min == 56 && r.max == 127, "%d to %d", (int)r.min, (int)r.max);
}

Test(range, wide_values_do_not_overflow) {
    const tile_range all = tile_range_of_scalar(TILE_i64);
    const tile_range both[] = {all, all, all};
    for (int opcode = TILE_OP_add; opcode <= TILE_OP_select; opcode++) {
        tile_range r = tile_range_apply((tile_opcode)opcode, TILE_i64, both);
        cr_assert_leq(r.min, r.max);
    }
}

/* Functions ---------------------------------------------------------------------------------- */

typedef struct fixture {
    tile_context *context;
    tile_module *module;
    tile_function *kernel;
    tile_builder b;
    tile_arena arena;
} fixture;

static fixture open_kernel(void) {
    fixture x = {.context = tile_context_create()};
    x.module = tile_module_create(x.context);
    x.kernel = tile_function_create(x.module, TILE_KERNEL, "k", (tile_loc){0});
    tile_function_set_warps(x.kernel, tile_expr_int(x.context, 4));
    x.b = tile_builder_at_end(x.kernel, tile_function_body(x.kernel));
    return x;
}

static void close_kernel(fixture *x) {
    tile_arena_reset(&x->arena);
    tile_module_destroy(x->module);
    tile_context_destroy(x->context);
}

static tile_value index_arg(fixture *x, const char *name, unsigned divisible) {
    tile_value arg = tile_function_add_arg(x->kernel, name, tile_type_scalar(x->context, TILE_i32));
    tile_function_set_arg_divisible(x->kernel, tile_function_arg_count(x->kernel) - 1, divisible);
    return arg;
}

static tile_range range_of(fixture *x, tile_value value) {
    cr_assert_eq(tile_context_error_count(x->context), 0);
    return tile_range_analyse(x->kernel, &x->arena)[value.id];
}

Test(range, block_id_times_block_stays_inside_the_extent) {
    fixture x = open_kernel();
    index_arg(&x, "m", 0);
    const tile_expr *blocks = tile_expr_op(x.context, TILE_OP_ceildiv, tile_expr_arg(x.context, 0),
                                           tile_expr_int(x.context, 128), NULL);
    tile_function_set_grid(x.kernel, 1, &blocks);
    tile_value id = tile_build_block_id(&x.b);
    tile_value row = tile_build_mul(&x.b, id, tile_build_int(&x.b, 128));
    tile_range r = range_of(&x, row);
    cr_assert(r.min == 0 && r.max == INT32_MAX - 127 && r.divisor == 128);
    r = range_of(&x, (tile_value){id.id + 1});
    cr_assert(r.min == 0 && r.max == 0, "one block along dims that the grid does not name");
    close_kernel(&x);
}

Test(range, extents_of_views_are_not_negative) {
    fixture x = open_kernel();
    tile_value n = index_arg(&x, "n", 8);
    tile_value p = tile_function_add_arg(x.kernel, "p", tile_type_ptr(x.context, TILE_f16));
    tile_function_set_arg_divisible(x.kernel, 1, 16);
    cr_assert_lt(range_of(&x, n).min, 0);
    const int64_t dims[] = {-1};
    tile_build_view(&x.b, p, &n, 1, NULL, 0, tile_type_view(x.context, TILE_f16, 1, dims));
    tile_range r = range_of(&x, n);
    cr_assert(r.min == 0 && r.max == INT32_MAX - 7 && r.divisor == 8);
    cr_assert_eq(range_of(&x, p).divisor, 16);
    close_kernel(&x);
}

Test(range, view_arguments) {
    fixture x = open_kernel();
    tile_value n = index_arg(&x, "n", 8), m = index_arg(&x, "m", 4);
    const tile_expr *m_expr = tile_expr_arg(x.context, 1);
    const tile_expr *extents[] = {
        tile_expr_arg(x.context, 0),
        tile_expr_op(x.context, TILE_OP_mul, m_expr, tile_expr_int(x.context, 6), NULL)};
    tile_value v = tile_function_add_view_arg(x.kernel, "v", tile_type_scalar(x.context, TILE_f16),
                                              2, extents, NULL);
    tile_function_set_arg_divisible(x.kernel, 2, 64);
    tile_value base = tile_build_base(&x.b, v);
    tile_range r = range_of(&x, n);
    cr_expect(r.min == 0 && r.max == INT32_MAX - 7 && r.divisor == 8);
    cr_expect_lt(range_of(&x, m).min, 0, "m * 6 may wrap: nothing is known of m alone");
    cr_expect_eq(range_of(&x, v).divisor, 64);
    cr_expect_eq(range_of(&x, base).divisor, 64);
    const tile_range *ranges = tile_range_analyse(x.kernel, &x.arena);
    cr_expect_eq(tile_range_of_expr(x.kernel, ranges, extents[1]).divisor, 24);
    close_kernel(&x);
}

Test(range, loops) {
    fixture x = open_kernel();
    tile_value n = index_arg(&x, "n", 0);
    tile_value zero = tile_build_int(&x.b, 0), step = tile_build_int(&x.b, 32);
    const tile_value inits[] = {zero, zero};
    tile_op loop = tile_build_for_loop(&x.b, zero, n, step, inits, 2);
    tile_region body = tile_op_region(x.kernel, loop, 0);
    tile_builder inner = tile_builder_at_end(x.kernel, body);
    tile_value iv = tile_region_arg(x.kernel, body, 0);
    tile_value stage = tile_region_arg(x.kernel, body, 1), sum = tile_region_arg(x.kernel, body, 2);
    tile_value next =
        tile_build_mod(&inner, tile_build_add(&inner, stage, tile_build_int(&inner, 1)),
                       tile_build_int(&inner, 7));
    tile_value more = tile_build_add(&inner, sum, tile_build_int(&inner, 8));
    const tile_value yields[] = {next, more};
    tile_build_yield(&inner, yields, 2);
    tile_range r = range_of(&x, iv);
    cr_assert(r.min == 0 && r.max == INT32_MAX - 31 && r.divisor == 32);
    r = range_of(&x, stage);
    cr_assert(r.min == 0 && r.max == 6, "mod bounds what the loop carries: [%ld, %ld]", (long)r.min,
              (long)r.max);
    r = range_of(&x, tile_op_result(x.kernel, loop, 1));
    cr_assert(r.min == INT32_MIN && r.divisor == 8, "the sum wraps, and stays a multiple of 8");
    close_kernel(&x);
}
