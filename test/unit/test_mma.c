/* The rows of mma.def: their fragments compared with the PTX ISA's tables, which are written here
 * shape by shape; the choice of a row; layouts of tiles made of fragments. */
#include "test/unit/layout_fixture.h"
#include "test/unit/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/scalar.h"
#include "lib/support/target.h"

/* Fragments ------------------------------------------------------------------------------------ */

typedef struct place {
    uint32_t row, column;
} place;

typedef place (*fragment_of)(uint32_t g, uint32_t t, uint32_t i);

/* "Matrix Fragments for mma.m16n8k16 with floating point type" */
static place a_16816(uint32_t g, uint32_t t, uint32_t i) {
    bool upper = i < 2 || (4 <= i && i < 6);
    return (place){upper ? g : g + 8, i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
}

static place b_16816(uint32_t g, uint32_t t, uint32_t i) {
    return (place){i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g};
}

static place c_16_8(uint32_t g, uint32_t t, uint32_t i) {
    return (place){i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

/* "mma.m16n8k8": f16 and bf16, tf32, f64 */
static place a_1688(uint32_t g, uint32_t t, uint32_t i) {
    return (place){i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

static place b_1688(uint32_t g, uint32_t t, uint32_t i) {
    return (place){t * 2 + i, g};
}

static place a_1688_words(uint32_t g, uint32_t t, uint32_t i) {
    return (place){i == 0 || i == 2 ? g : g + 8, i == 0 || i == 1 ? t : t + 4};
}

static place b_1688_words(uint32_t g, uint32_t t, uint32_t i) {
    return (place){i == 0 ? t : t + 4, g};
}

/* "mma.m16n8k4": tf32, f64 */
static place a_1684(uint32_t g, uint32_t t, uint32_t i) {
    return (place){i == 0 ? g : g + 8, t};
}

static place b_1684(uint32_t g, uint32_t t, uint32_t i) {
    (void)i;
    return (place){t, g};
}

/* "mma.m16n8k8 with .f64" and "mma.m16n8k16 with .f64" */
static place a_wide_f64(uint32_t g, uint32_t t, uint32_t i) {
    return i % 2 == 0 ? (place){g, i * 2 + t} : (place){g + 8, i * 2 - 2 + t};
}

static place b_wide_f64(uint32_t g, uint32_t t, uint32_t i) {
    return (place){t + i * 4, g};
}

/* "mma.m8n8k4 with .f64" */
static place a_884(uint32_t g, uint32_t t, uint32_t i) {
    (void)i;
    return (place){g, t};
}

static place b_884(uint32_t g, uint32_t t, uint32_t i) {
    (void)i;
    return (place){t, g};
}

static place c_884(uint32_t g, uint32_t t, uint32_t i) {
    return (place){g, t * 2 + (i & 1)};
}

/* "mma.m16n8k16 with .u8 or .s8" */
static place a_16816_bytes(uint32_t g, uint32_t t, uint32_t i) {
    return (place){i < 4 ? g : g + 8, t * 4 + (i & 3)};
}

static place b_16816_bytes(uint32_t g, uint32_t t, uint32_t i) {
    return (place){t * 4 + i, g};
}

/* "mma.m16n8k32" */
static place a_16832_bytes(uint32_t g, uint32_t t, uint32_t i) {
    bool upper = i < 4 || (8 <= i && i < 12);
    return (place){upper ? g : g + 8, i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16};
}

static place b_16832_bytes(uint32_t g, uint32_t t, uint32_t i) {
    return (place){i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g};
}

/* One of the ISA's tables, and the rows of mma.def that it applies to, by shape and bits of lhs. */
static const struct {
    const char *shape;
    unsigned bits;
    fragment_of of[3];
} isa[] = {
    {"m16n8k16", 16, {a_16816, b_16816, c_16_8}},
    {"m16n8k8", 16, {a_1688, b_1688, c_16_8}},
    {"m16n8k8", 32, {a_1688_words, b_1688_words, c_16_8}},
    {"m16n8k4", 32, {a_1684, b_1684, c_16_8}},
    {"m16n8k4", 64, {a_1684, b_1684, c_16_8}},
    {"m16n8k8", 64, {a_wide_f64, b_wide_f64, c_16_8}},
    {"m16n8k16", 64, {a_wide_f64, b_wide_f64, c_16_8}},
    {"m8n8k4", 64, {a_884, b_884, c_884}},
    {"m16n8k16", 8, {a_16816_bytes, b_16816_bytes, c_16_8}},
    {"m16n8k32", 8, {a_16832_bytes, b_16832_bytes, c_16_8}},
};

static const fragment_of *isa_of(const tile_mma *row) {
    for (unsigned i = 0; i < sizeof isa / sizeof *isa; i++)
        if (!strcmp(isa[i].shape, row->shape) && isa[i].bits == tile_scalar_bits(row->lhs))
            return isa[i].of;
    return NULL;
}

static void extents_of(const tile_mma *row, unsigned operand, uint32_t *rows, uint32_t *columns) {
    *rows = operand == TILE_MMA_RHS ? row->k : row->m;
    *columns = operand == TILE_MMA_LHS ? row->k : row->n;
}

#define FOR_EACH_ROW(row, i) \
    for (unsigned i = 0; i < 1000; i++) \
        for (const tile_mma *row = tile_mma_at(i); row; row = NULL)

Test(mma, fragments_are_those_of_the_ptx_isa) {
    FOR_EACH_ROW (row, i) {
        const fragment_of *of = isa_of(row);
        cr_assert(of, "%s with %u bits: write its table down here", row->shape,
                  tile_scalar_bits(row->lhs));
        cr_assert_eq(tile_mma_index(row), i);
        for (unsigned operand = 0; operand < 3; operand++) {
            uint32_t rows, columns;
            extents_of(row, operand, &rows, &columns);
            tile_layout fragment = tile_mma_fragment(row, operand, rows, columns);
            cr_assert_null(tile_layout_find_fault(&fragment));
            cr_assert_eq(tile_layout_registers(&fragment), tile_mma_elements(row, operand));
            for (uint32_t lane = 0; lane < 32; lane++)
                for (uint32_t e = 0; e < tile_mma_elements(row, operand); e++) {
                    place at = of[operand](lane / 4, lane % 4, e);
                    cr_assert_eq(tile_layout_apply(&fragment, e, lane, 0),
                                 at.row * columns + at.column, "%s operand %u lane %u element %u",
                                 row->shape, operand, lane, e);
                }
        }
    }
}

/* All types of an operand have the same width, so the row determines its fragment. */
Test(mma, rows_differ) {
    FOR_EACH_ROW (a, i)
        FOR_EACH_ROW (b, j)
            cr_assert(i == j || strcmp(a->shape, b->shape) || a->lhs != b->lhs ||
                          a->rhs != b->rhs || a->acc != b->acc ||
                          a->unsigned_lhs != b->unsigned_lhs || a->unsigned_rhs != b->unsigned_rhs,
                      "%s twice", a->shape);
}

/* Tiles ---------------------------------------------------------------------------------------- */

static void check_tile(const tile_mma *row, uint32_t m, uint32_t n, uint32_t k, unsigned warps) {
    uint32_t warps_m, warps_n;
    tile_mma_choose_warps(row, m, n, warps, &warps_m, &warps_n);
    cr_assert_eq(warps_m * warps_n, warps);
    tile_layout sum = tile_mma_accumulator(row, m, n, warps_m, warps_n);
    cr_assert(tile_mma_holds(row, &sum), "%s", row->shape);
    layout_expect_all_held(&sum);
    tile_layout operands[2] = {tile_mma_operand(row, &sum, TILE_MMA_LHS, m, k),
                               tile_mma_operand(row, &sum, TILE_MMA_RHS, k, n)};
    for (unsigned o = 0; o < 2; o++) {
        layout_expect_all_held(&operands[o]);
        for (uint32_t warp = 0; warp < warps; warp++) {
            bool wanted[1024] = {false}, held[1024] = {false};
            layout_collect_coordinates(&sum, warp, o, wanted);
            layout_collect_coordinates(&operands[o], warp, o, held);
            cr_assert_arr_eq(wanted, held, sizeof held);
        }
    }
}

static void check_tiles(const tile_mma *row, unsigned number) {
    for (uint32_t m = row->m; m <= 8 * row->m; m += row->m)
        for (uint32_t n = row->n; n <= 8 * row->n; n *= 2)
            for (unsigned warps = 1; warps <= 8; warps *= 2)
                if (is_in_share(number++)) check_tile(row, m, n, 3 * row->k, warps);
}

Test(mma, tiles_of_every_row) {
    FOR_EACH_ROW (row, i) {
        check_tiles(row, i);
        check_tiles(tile_mma_swap(row), i + 1);
        for (unsigned operand = 0; operand < 2; operand++)
            if (tile_mma_pair(row, operand)) check_tiles(tile_mma_pair(row, operand), i + operand);
    }
}

/* Rows g and g + 8 of the instruction's first operand and of the sums are rows 2 g and 2 g + 1. */
Test(mma, paired_rows_hold_pairs) {
    unsigned count = 0;
    FOR_EACH_ROW (row, i)
        for (unsigned operand = 0; operand < 2; operand++) {
            const tile_mma *form = operand == TILE_MMA_LHS ? row : tile_mma_swap(row),
                           *paired = tile_mma_pair(row, operand);
            cr_assert_eq(paired != NULL, tile_scalar_bits(row->lhs) == 8, "%s", row->shape);
            if (!paired) continue;
            count++;
            cr_assert(paired->paired && paired->exchanged == form->exchanged);
            cr_assert_eq(tile_mma_index(paired), i);
            cr_assert_eq(tile_mma_pair(paired, operand), paired);
            cr_assert_eq(tile_mma_swap(tile_mma_swap(paired)), paired);
            for (unsigned o = 0; o < 3; o++) {
                uint32_t rows, columns;
                unsigned d = operand == TILE_MMA_RHS; /* the instruction's rows */
                extents_of(form, o, &rows, &columns);
                tile_layout plain = tile_mma_fragment(form, o, rows, columns);
                tile_layout pairs = tile_mma_fragment(paired, o, rows, columns);
                cr_assert_null(tile_layout_find_fault(&pairs));
                for (uint32_t lane = 0; lane < 32; lane++)
                    for (uint32_t e = 0; e < tile_mma_elements(form, o); e++) {
                        uint32_t at = tile_layout_apply(&plain, e, lane, 0);
                        uint32_t to[2] = {at / columns, at % columns};
                        if (o != 1 - operand) to[d] = to[d] % 8 * 2 + to[d] / 8;
                        cr_assert_eq(tile_layout_apply(&pairs, e, lane, 0), to[0] * columns + to[1],
                                     "%s operand %u", row->shape, o);
                    }
            }
        }
    cr_assert(count > 0);
}

/* C^T = B^T A^T: a lane's elements of lhs are its elements of the instruction's second operand at
 * swapped coordinates. */
Test(mma, exchanged_rows_hold_the_transposed_matrices) {
    static const unsigned instead[] = {TILE_MMA_RHS, TILE_MMA_LHS, TILE_MMA_ACC};
    FOR_EACH_ROW (row, i) {
        const tile_mma *exchanged = tile_mma_swap(row);
        cr_assert(exchanged->exchanged && !row->exchanged);
        cr_assert_eq(tile_mma_swap(exchanged), row);
        cr_assert_eq(tile_mma_index(exchanged), i);
        cr_assert(exchanged->lhs == row->rhs && exchanged->rhs == row->lhs);
        cr_assert(exchanged->unsigned_lhs == row->unsigned_rhs);
        cr_assert(exchanged->m == row->n && exchanged->n == row->m && exchanged->k == row->k);
        for (unsigned o = 0; o < 3; o++) {
            uint32_t rows, columns, plain = instead[o];
            extents_of(exchanged, o, &rows, &columns);
            tile_layout fragment = tile_mma_fragment(exchanged, o, rows, columns);
            tile_layout whole = tile_mma_fragment(row, plain, columns, rows);
            cr_assert_null(tile_layout_find_fault(&fragment));
            cr_assert_eq(tile_mma_elements(exchanged, o), tile_mma_elements(row, plain));
            for (uint32_t lane = 0; lane < 32; lane++)
                for (uint32_t e = 0; e < tile_mma_elements(row, plain); e++) {
                    uint32_t at = tile_layout_apply(&whole, e, lane, 0);
                    cr_assert_eq(tile_layout_apply(&fragment, e, lane, 0),
                                 at % rows * columns + at / rows, "%s operand %u", row->shape, o);
                }
        }
    }
}

/* Counts bank conflicts of the addresses of one register of all lanes of warp 0. */
static unsigned conflicts_of(const tile_layout *tile, const tile_layout *shared, uint32_t reg,
                             unsigned bytes) {
    uint32_t addresses[32];
    for (uint32_t lane = 0; lane < 32; lane++)
        addresses[lane] =
            bytes * tile_layout_offset_of(shared, tile_layout_apply(tile, reg, lane, 0));
    return tile_bank_conflicts(addresses, 32, bytes);
}

/* What ldmatrix cannot load is loaded by words. For every storage order of the buffer there are no
 * bank conflicts. */
Test(mma, words_of_fragments_are_read_without_conflicts) {
    FOR_EACH_ROW (row, i) {
        unsigned bytes = tile_scalar_bytes(row->lhs);
        for (uint32_t size = 64; bytes >= 4 && size <= 256; size *= 2) {
            uint32_t k = size / bytes < row->k ? row->k : size / bytes;
            tile_layout sum = tile_mma_accumulator(row, 64, 64, 1, 1);
            tile_layout operands[2] = {tile_mma_operand(row, &sum, TILE_MMA_LHS, 64, k),
                                       tile_mma_operand(row, &sum, TILE_MMA_RHS, k, 64)};
            for (unsigned o = 0; o < 2; o++)
                for (unsigned fastest = 0; fastest < 2; fastest++) {
                    const uint32_t dims[2] = {o ? k : 64, o ? 64 : k};
                    tile_layout shared = tile_layout_shared_swizzled(dims, 2, fastest, bytes);
                    for (uint32_t reg = 0; reg < tile_layout_registers(&operands[o]); reg++)
                        cr_assert_eq(conflicts_of(&operands[o], &shared, reg, bytes), 0,
                                     "%s operand %u, k %u, fastest %u", row->shape, o, k, fastest);
                }
        }
    }
}

/* An accumulator may come from another operation: fragments in another order are accepted, other
 * layouts are not. */
Test(mma, what_holds_fragments) {
    FOR_EACH_ROW (row, i) {
        tile_layout sum = tile_mma_accumulator(row, 4 * row->m, 4 * row->n, 2, 2);
        unsigned own = tile_mma_fragment(row, TILE_MMA_ACC, row->m, row->n).reg_bits;
        uint32_t basis = sum.reg[own];
        cr_assert(tile_mma_holds(row, &sum));
        sum.reg[own] = sum.warp[0];
        sum.warp[0] = basis;
        cr_assert(tile_mma_holds(row, &sum), "%s", row->shape);
        sum.reg[own] ^= sum.warp[1];
        cr_assert_not(tile_mma_holds(row, &sum), "%s: along both dims at once", row->shape);
        sum = tile_mma_accumulator(row, 4 * row->m, 4 * row->n, 2, 2);
        basis = sum.lane[0];
        sum.lane[0] = sum.lane[1];
        sum.lane[1] = basis;
        cr_assert_not(tile_mma_holds(row, &sum), "%s: other lanes", row->shape);
        const uint32_t dims[2] = {4 * row->m, 4 * row->n};
        sum = tile_layout_blocked(dims, 2, 4, 1, 4);
        cr_assert_not(tile_mma_holds(row, &sum));
        sum = tile_layout_shared_swizzled(dims, 2, 1, 4);
        cr_assert_not(tile_mma_holds(row, &sum));
    }
}

/* Choosing a row ------------------------------------------------------------------------------- */

static void expect_shape(const tile_mma *row, const char *shape) {
    cr_assert_str_eq(row ? row->shape : "none", shape);
}

Test(mma, every_row_is_found_by_what_it_is) {
    FOR_EACH_ROW (row, i) {
        tile_mma_query query = {.lhs = row->lhs,
                                .rhs = row->rhs,
                                .acc = row->acc,
                                .unsigned_lhs = row->unsigned_lhs,
                                .unsigned_rhs = row->unsigned_rhs,
                                .m = row->m,
                                .n = row->n,
                                .k = row->k,
                                .features = UINT32_C(1) << row->feature};
        int64_t counts[3];
        cr_assert_eq(tile_mma_find(&query), row);
        for (unsigned o = 0; o < 3; o++) counts[o] = tile_mma_elements(row, o);
        cr_assert_eq(tile_mma_of_fragments(&query, counts), row);
        counts[1]++;
        cr_assert_null(tile_mma_of_fragments(&query, counts));
    }
}

static void expect_reason(const tile_mma_query *query, const char *reason) {
    char text[320];
    tile_mma_explain(query, text, sizeof text);
    cr_assert_null(tile_mma_find(query));
    cr_assert_str_eq(text, reason);
}

/* The widest shape that fits is chosen. */
Test(mma, shapes_are_chosen_by_extents) {
    tile_mma_query query = layout_half_query();
    expect_shape(tile_mma_find(&query), "m16n8k16");
    query.k = 24;
    expect_shape(tile_mma_find(&query), "m16n8k8");
    query.lhs = query.rhs = TILE_tf32;
    expect_shape(tile_mma_find(&query), "m16n8k8");
    query.k = 12;
    expect_shape(tile_mma_find(&query), "m16n8k4");
    query.lhs = query.rhs = query.acc = TILE_f64;
    expect_shape(tile_mma_find(&query), "m8n8k4");
    query.lhs = query.rhs = TILE_i8;
    query.acc = TILE_i32;
    query.unsigned_rhs = true;
    query.k = 96;
    expect_shape(tile_mma_find(&query), "m16n8k32");
    cr_assert(tile_mma_find(&query)->unsigned_rhs && !tile_mma_find(&query)->unsigned_lhs);
    query.k = 48;
    expect_shape(tile_mma_find(&query), "m16n8k16");
}

/* If rows would be wasted, the operands are swapped. If that would waste columns, too, no row
 * fits. */
Test(mma, small_products_are_exchanged) {
    tile_mma_query query = layout_half_query();
    query.n = 16;
    cr_assert_not(tile_mma_find(&query)->exchanged, "m 16 and n 16 fit as they are");
    query.m = 8;
    cr_assert(tile_mma_find(&query)->exchanged);
    expect_shape(tile_mma_find(&query), "m16n8k16");
    query.m = 24;
    cr_assert(tile_mma_find(&query)->exchanged);
    query.n = 8;
    cr_assert_null(tile_mma_find(&query));
    query.m = 4;
    query.n = 64;
    cr_assert_null(tile_mma_find(&query));
    query.m = 8;
    query.lhs = TILE_e4m3;
    query.rhs = TILE_e5m2;
    query.features = tile_target_find("sm_89")->features;
    query.k = 32;
    cr_assert_eq(tile_mma_find(&query)->lhs, TILE_e4m3);
    query.lhs = query.rhs = query.acc = TILE_f64;
    expect_shape(tile_mma_find(&query), "m8n8k4");
    query.features = tile_target_find("sm_90")->features;
    expect_shape(tile_mma_find(&query), "m16n8k16");
}

/* Operands are widened to the smallest types that hold them and have an instruction. */
Test(mma, operands_are_widened) {
    static const struct {
        tile_scalar lhs, rhs, acc, wide; /* NONE: there is none */
    } cases[] = {
        {TILE_e4m3, TILE_e4m3, TILE_f32, TILE_f16},
        {TILE_e4m3, TILE_e5m2, TILE_f16, TILE_f16},
        {TILE_f16, TILE_e5m2, TILE_f32, TILE_f16},
        {TILE_bf16, TILE_e4m3, TILE_f32, TILE_bf16},
        {TILE_bf16, TILE_f16, TILE_f32, TILE_tf32},
        {TILE_tf32, TILE_f16, TILE_f32, TILE_tf32},
        {TILE_f32, TILE_f32, TILE_f64, TILE_f64},
        {TILE_f32, TILE_f16, TILE_f32, TILE_SCALAR_NONE},
        {TILE_i8, TILE_f16, TILE_f32, TILE_f16},
        {TILE_i8, TILE_i16, TILE_i32, TILE_SCALAR_NONE},
        {TILE_bf16, TILE_i8, TILE_f32, TILE_bf16},
        {TILE_i16, TILE_f16, TILE_f32, TILE_SCALAR_NONE},
        {TILE_i32, TILE_f32, TILE_f64, TILE_f64},
        {TILE_i8, TILE_i8, TILE_f16, TILE_f16},
        {TILE_bf16, TILE_bf16, TILE_bf16, TILE_SCALAR_NONE},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_mma_query query = layout_half_query();
        query.lhs = cases[i].lhs;
        query.rhs = cases[i].rhs;
        query.acc = cases[i].acc;
        cr_expect_null(tile_mma_find(&query), "case %u", i);
        const tile_mma *row = tile_mma_find_wider(&query);
        cr_expect_eq(row ? row->lhs : TILE_SCALAR_NONE, cases[i].wide, "case %u", i);
    }
    tile_mma_query query = layout_half_query();
    query.lhs = TILE_i8;
    query.unsigned_lhs = true;
    cr_expect_null(tile_mma_find_wider(&query), "0 to 255 are not what a cast gives");
}

/* Compared for all values: integers with this many bits are exact. */
Test(mma, widened_integers_are_exact) {
    for (int i = -128; i < 128; i++) {
        cr_assert_eq(tile_scalar_round(TILE_f16, i), i);
        cr_assert_eq(tile_scalar_round(TILE_bf16, i), i);
    }
}

Test(mma, the_table_says_why_nothing_fits) {
    tile_mma_query query = layout_half_query();
    expect_shape(tile_mma_find(&query), "m16n8k16");
    query.k = 4;
    expect_reason(&query, "mma m16n8k8 needs multiples of its extents, not m 16, n 8, k 4");
    query = layout_half_query();
    query.m = 4;
    query.n = 16;
    expect_reason(&query,
                  "mma m16n8k8 needs multiples of its extents, not m 4, n 16, k 16 (8 rows would "
                  "do)");
    query = layout_half_query();
    query.lhs = query.rhs = TILE_e4m3;
    query.k = 32;
    char targets[TILE_TARGETS_TEXT], reason[256];
    snprintf(reason, sizeof reason, "mma m16n8k32 on e4m3 and e4m3 needs %s",
             tile_feature_targets(TILE_FEATURE_mma_float8, targets, sizeof targets));
    expect_reason(&query, reason);
    query.features = tile_target_find("sm_89")->features;
    expect_shape(tile_mma_find(&query), "m16n8k32");
    query = layout_half_query();
    query.lhs = query.rhs = TILE_f32;
    expect_reason(&query, "no mma instruction multiplies f32 by f32 and accumulates in f32");
    const uint32_t dims[2] = {16, 8};
    tile_layout blocked = tile_layout_blocked(dims, 2, 4, 1, 1);
    query = layout_half_query();
    query.acc_layout = &blocked;
    expect_reason(&query, "the accumulator's layout does not consist of fragments of mma m16n8k16");
}
