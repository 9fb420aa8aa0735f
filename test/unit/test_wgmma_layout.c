/* Layouts of wgmma: accumulators compared with the PTX ISA's figures; descriptors and tensor map
 * boxes compared with the layout of the buffer, element by element. */
#include "lib/layout/wgmma.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/layout_fixture.h"

TestSuite(wgmma_layout);

/* Accumulators --------------------------------------------------------------------------------- */

/* "WGMMA .m64nNk16 register fragment layout for accumulator matrix D": row and column of d[i] in
 * thread t of the warpgroup */
static void isa_accumulator(uint32_t t, uint32_t i, uint32_t *row, uint32_t *column) {
    *row = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2);
    *column = 8 * (i / 4) + 2 * (t % 4) + i % 2;
}

/* Returns the register of a thread that holds an element; -1: none. */
static int find_register(const tile_layout *layout, uint32_t thread, uint32_t index) {
    for (uint32_t r = 0; r < tile_layout_registers(layout); r++)
        if (tile_layout_apply(layout, r, thread % 32, thread / 32) == index) return (int)r;
    return -1;
}

/* Every warpgroup has whole instructions: thread t holds d[i] of each instruction of which thread 0
 * holds d[0]. */
static void expect_instructions(const tile_layout *layout, unsigned row_dim, uint32_t columns) {
    uint32_t blocks = 0, groups = (1u << layout->warp_bits) / 4;
    for (uint32_t first = 0; first < tile_layout_registers(layout); first++)
        for (uint32_t group = 0; group < groups; group++) {
            uint32_t begin = tile_layout_apply(layout, first, 0, 4 * group), at[2];
            uint32_t row0 = tile_layout_coordinate(layout, begin, row_dim);
            uint32_t column0 = tile_layout_coordinate(layout, begin, 1 - row_dim);
            if (row0 % 64 || column0 % columns) continue;
            blocks++;
            for (uint32_t t = 0; t < 128; t += 7) /* all lanes, all warps */
                for (uint32_t i = 0; i < columns / 2; i++) {
                    uint32_t row, column;
                    isa_accumulator(t, i, &row, &column);
                    at[row_dim] = row0 + row;
                    at[1 - row_dim] = column0 + column;
                    cr_assert_geq(
                        find_register(layout, 128 * group + t, tile_layout_index(layout, at)), 0);
                }
        }
    cr_assert_eq(blocks * columns / 2, tile_layout_registers(layout) * groups);
}

static const uint32_t row_extents[] = {64, 128, 192, 256, 320};
static const uint32_t column_extents[] = {8, 16, 24, 32, 48, 80, 96, 128, 192, 256};

#define FOR_EACH(item, array) \
    for (const uint32_t *item = array; item < (array) + sizeof(array) / sizeof *(array); item++)

/* Rows g and g + 8 of 16 are rows 2 g and 2 g + 1, in the accumulator and in the operand in
 * registers. */
static void expect_pairs(const tile_layout *plain, const tile_layout *paired, unsigned row_dim) {
    cr_assert_null(tile_layout_find_fault(paired));
    for (uint32_t r = 0; r < tile_layout_registers(plain); r++)
        for (uint32_t thread = 0; thread < 32u << plain->warp_bits; thread += 3) {
            uint32_t at[2], index = tile_layout_apply(plain, r, thread % 32, thread / 32);
            for (unsigned d = 0; d < 2; d++) at[d] = tile_layout_coordinate(plain, index, d);
            uint32_t row = at[row_dim] % 16;
            at[row_dim] = at[row_dim] - row + row % 8 * 2 + row / 8;
            cr_assert_eq(tile_layout_apply(paired, r, thread % 32, thread / 32),
                         tile_layout_index(plain, at));
        }
}

Test(wgmma_layout, paired_accumulators) {
    for (unsigned row_dim = 0; row_dim < 2; row_dim++)
        for (unsigned warps = 4; warps <= 8; warps *= 2) {
            const uint32_t dims[2] = {128, 64};
            const uint32_t turned[2] = {dims[row_dim], dims[1 - row_dim]};
            tile_layout plain = tile_wgmma_accumulator(turned, row_dim, warps),
                        paired = tile_wgmma_paired_accumulator(turned, row_dim, warps);
            uint32_t columns = 0, same = 0;
            cr_assert(tile_wgmma_holds(&plain, row_dim, TILE_f32, &columns));
            cr_assert(tile_wgmma_holds(&paired, row_dim, TILE_f32, &same));
            cr_assert_eq(columns, same);
            cr_assert_eq(tile_wgmma_far_row(&plain, row_dim), 8);
            cr_assert_eq(tile_wgmma_far_row(&paired, row_dim), 1);
            expect_pairs(&plain, &paired, row_dim);
            uint32_t extents[2] = {128, 128}; /* of e4m3: rows of the sums, and k */
            tile_layout operands[2] = {
                tile_wgmma_first_operand(&plain, row_dim, TILE_e4m3, extents),
                tile_wgmma_first_operand(&paired, row_dim, TILE_e4m3, extents)};
            expect_pairs(&operands[0], &operands[1], row_dim);
        }
}

Test(wgmma_layout, accumulators_are_those_of_the_isa) {
    unsigned admitted = 0;
    FOR_EACH(rows, row_extents)
    FOR_EACH(columns, column_extents)
    for (unsigned warps = 4; warps <= 16; warps *= 2)
        for (unsigned row_dim = 0; row_dim < 2; row_dim++) {
            uint32_t dims[2], wide = 0, other = 0;
            dims[row_dim] = *rows;
            dims[1 - row_dim] = *columns;
            if (!tile_wgmma_admits(dims, row_dim, warps)) continue;
            admitted++;
            tile_layout layout = tile_wgmma_accumulator(dims, row_dim, warps);
            layout_expect_all_held(&layout);
            cr_assert(tile_wgmma_holds(&layout, row_dim, TILE_f32, &wide));
            cr_assert(tile_wgmma_admits_columns(wide, TILE_f32));
            cr_assert(!tile_wgmma_holds(&layout, 1 - row_dim, TILE_f32, &other));
            expect_instructions(&layout, row_dim, wide);
        }
    cr_assert_geq(admitted, 200);
}

Test(wgmma_layout, odd_extents_are_one_instruction) {
    uint32_t columns;
    tile_layout wide = tile_wgmma_accumulator((uint32_t[]){128, 192}, 0, 8);
    cr_assert(tile_wgmma_holds(&wide, 0, TILE_f32, &columns));
    cr_expect_eq(columns, 192);
    tile_layout halves = tile_wgmma_accumulator((uint32_t[]){64, 192}, 0, 8);
    cr_assert(tile_wgmma_holds(&halves, 0, TILE_f32, &columns));
    cr_expect_eq(columns, 32);
    tile_layout bytes = tile_wgmma_accumulator((uint32_t[]){64, 56}, 0, 4);
    cr_assert(tile_wgmma_holds(&bytes, 0, TILE_i32, &columns));
    cr_expect_eq(columns, 8); /* i8 does not support n = 56 */
    cr_assert(tile_wgmma_holds(&bytes, 0, TILE_f32, &columns));
    cr_expect_eq(columns, 56);
}

Test(wgmma_layout, what_has_no_whole_fragment_is_not_admitted) {
    cr_expect(!tile_wgmma_admits((uint32_t[]){32, 64}, 0, 4));
    cr_expect(!tile_wgmma_admits((uint32_t[]){96, 64}, 0, 4)); /* three parts of 32 rows */
    cr_expect(!tile_wgmma_admits((uint32_t[]){64, 64}, 0, 2));
    cr_expect(!tile_wgmma_admits((uint32_t[]){64, 64}, 0, 12));
    cr_expect(!tile_wgmma_admits((uint32_t[]){64, 8}, 0, 8));
    cr_expect(tile_wgmma_admits((uint32_t[]){8, 64}, 1, 4));
}

/* An instruction reads its 64 rows and its columns; fewer and wider instructions read less. */
Test(wgmma_layout, instructions_read_their_operands) {
    static const struct {
        uint32_t dims[2], warps, most, plain, exchanged;
    } cases[] = {{{128, 256}, 8, 256, 640, 768}, {{256, 128}, 8, 256, 768, 640},
                 {{256, 128}, 8, 128, 768, 768}, {{192, 256}, 8, 256, 1152, 1024},
                 {{128, 64}, 4, 256, 256, 192},  {{128, 128}, 4, 256, 384, 384},
                 {{128, 192}, 4, 256, 512, 576}, {{192, 192}, 8, 256, 1728, 1728},
                 {{160, 256}, 8, 256, 0, 896},   {{160, 256}, 8, 64, 0, 1664}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t *dims = cases[i].dims, warps = cases[i].warps, most = cases[i].most;
        if (cases[i].plain)
            cr_expect_eq(tile_wgmma_reads(dims, TILE_WGMMA_PLAIN, warps, TILE_f32, most),
                         cases[i].plain, "case %zu", i);
        cr_expect_eq(tile_wgmma_reads(dims, TILE_WGMMA_SWAPPED, warps, TILE_f32, most),
                     cases[i].exchanged, "case %zu", i);
    }
}

/* "WGMMA .m64nNk16 register fragment layout for matrix A", k8 of tf32 and k32 of bytes, in 32-bit
 * registers of p elements */
Test(wgmma_layout, first_operands_are_those_of_the_isa) {
    static const struct {
        tile_scalar scalar;
        uint32_t pack;
    } types[] = {{TILE_f16, 2}, {TILE_tf32, 1}, {TILE_e4m3, 4}};
    for (unsigned type = 0; type < 3; type++)
        for (unsigned row_dim = 0; row_dim < 2; row_dim++) {
            uint32_t p = types[type].pack, dims[2] = {128, 128}, operand[2], at[2];
            operand[row_dim] = 128;
            operand[1 - row_dim] = 16 * p; /* two instructions */
            tile_layout acc = tile_wgmma_accumulator(dims, row_dim, 8);
            tile_layout layout =
                tile_wgmma_first_operand(&acc, row_dim, types[type].scalar, operand);
            layout_expect_all_held(&layout);
            cr_assert_eq(tile_layout_registers(&layout), 8 * p);
            for (uint32_t t = 0; t < 256; t++)
                for (uint32_t i = 0; i < 8 * p; i++) {
                    uint32_t in = i % (4 * p); /* within the instruction */
                    at[row_dim] = 16 * (t / 32) + t % 32 / 4 + 8 * (in / p % 2);
                    at[1 - row_dim] =
                        i / (4 * p) * 8 * p + in / (2 * p) * 4 * p + t % 4 * p + in % p;
                    cr_assert_eq(tile_layout_apply(&layout, i, t % 32, t / 32),
                                 tile_layout_index(&layout, at));
                }
        }
}

/* Descriptors ---------------------------------------------------------------------------------- */

/* Returns the byte from which the instruction reads element (row, k) of its block. start: in
 * bytes. */
static uint32_t address_of(const tile_wgmma_matrix *matrix, unsigned element_bytes, uint32_t start,
                           uint32_t row, uint32_t k) {
    uint32_t along = (matrix->mn_major ? row : k) * element_bytes;
    uint32_t across = matrix->mn_major ? k : row, width = matrix->swizzle;
    bool plain = matrix->swizzle == 16;
    bool turned = plain && matrix->mn_major; /* the strides are swapped */
    uint32_t next = turned ? matrix->stride : matrix->leading;
    uint32_t eight = turned ? matrix->leading : matrix->stride;
    uint32_t sum =
        start + along % width + along / width * next + across % 8 * width + across / 8 * eight;
    return sum ^ tile_wgmma_cross(matrix->swizzle, sum);
}

/* The elements that the instruction reads for each block must be the ones that the buffer holds
 * there. */
static void expect_decoded(const tile_layout *shared, unsigned k_dim, unsigned bytes,
                           uint32_t extent, const tile_wgmma_matrix *matrix) {
    uint32_t depth = 32 / bytes, at[2], offsets = tile_layout_registers(shared);
    uint32_t *index_at = malloc(offsets * sizeof *index_at);
    for (uint32_t o = 0; o < offsets; o++) index_at[o] = tile_layout_apply(shared, o, 0, 0);
    for (uint32_t mn0 = 0; mn0 < tile_layout_extent(shared, 1 - k_dim); mn0 += extent)
        for (uint32_t k0 = 0; k0 < tile_layout_extent(shared, k_dim); k0 += depth) {
            at[k_dim] = k0;
            at[1 - k_dim] = mn0;
            uint32_t start = tile_wgmma_start(shared, matrix, bytes, at);
            for (uint32_t mn = 0; mn < extent; mn++)
                for (uint32_t k = 0; k < depth; k++) {
                    uint32_t address = address_of(matrix, bytes, start, mn, k);
                    at[k_dim] = k0 + k;
                    at[1 - k_dim] = mn0 + mn;
                    cr_assert_eq(address % bytes, 0);
                    cr_assert_lt(address / bytes, offsets);
                    cr_assert_eq(index_at[address / bytes], tile_layout_index(shared, at));
                }
        }
    free(index_at);
}

static const uint32_t mn_extents[] = {8, 16, 24, 32, 64, 72, 80, 96, 128, 152, 192, 256};
static const uint32_t k_extents[] = {8, 16, 32, 48, 64, 96, 128};

Test(wgmma_layout, descriptors_decode_to_the_layout) {
    unsigned matched = 0;
    FOR_EACH(mn, mn_extents)
    FOR_EACH(k, k_extents)
    for (unsigned bytes = 1; bytes <= 4; bytes *= 2)
        for (unsigned choice = 0; choice < 4; choice++) {
            unsigned k_dim = choice % 2, fastest = choice / 2;
            uint32_t dims[2], part = tile_layout_part_extent(*mn);
            dims[k_dim] = *k;
            dims[1 - k_dim] = *mn;
            if (tile_layout_part_extent(*k) * bytes < 32) continue;
            tile_layout shared = tile_wgmma_shared(dims, fastest, bytes);
            cr_assert_null(tile_layout_find_fault(&shared));
            for (uint32_t extent = 8; extent <= *mn; extent += 8) {
                tile_wgmma_matrix matrix;
                bool inside = part % extent == 0;
                if (!inside && extent != *mn) continue;
                bool match = tile_wgmma_match(&shared, k_dim, bytes, extent, &matrix);
                /* Other parts along k, or more columns of atoms, are in between the parts along
                 * mn. */
                bool apart = !inside && ((k_dim == 1 && shared.count[1] > 1) ||
                                         (fastest == k_dim && *k * bytes > 128));
                if ((fastest == k_dim || bytes == 2) && !apart)
                    cr_assert(match, "%u x %u, %u bytes, %u", *mn, *k, bytes, extent);
                if (fastest != k_dim && bytes != 2) cr_assert(!match);
                if (!match) continue;
                matched++;
                expect_decoded(&shared, k_dim, bytes, extent, &matrix);
            }
        }
    cr_assert_geq(matched, 500);
}

static tile_wgmma_matrix match(const uint32_t dims[2], unsigned fastest, unsigned k_dim,
                               unsigned bytes, uint32_t extent) {
    tile_wgmma_matrix matrix = {.swizzle = 0};
    tile_layout shared = tile_wgmma_shared(dims, fastest, bytes);
    cr_assert(tile_wgmma_match(&shared, k_dim, bytes, extent, &matrix));
    return matrix;
}

/* Strides that were tested on an H200. */
Test(wgmma_layout, strides_are_those_measured) {
    tile_wgmma_matrix k = match((uint32_t[]){128, 64}, 1, 1, 2, 64);
    cr_expect(k.swizzle == 128 && !k.mn_major && k.stride == 1024 && k.leading == 16);
    tile_wgmma_matrix n = match((uint32_t[]){64, 256}, 1, 0, 2, 256);
    cr_expect(n.swizzle == 128 && n.mn_major && n.stride == 1024 && n.leading == 64 * 128);
    tile_layout shared = tile_wgmma_shared((uint32_t[]){64, 256}, 1, 2);
    cr_expect_eq(tile_wgmma_start(&shared, &n, 2, (uint32_t[]){16, 0}), 2048);
    tile_layout rows = tile_wgmma_shared((uint32_t[]){128, 64}, 1, 2);
    cr_expect_eq(tile_wgmma_start(&rows, &k, 2, (uint32_t[]){64, 16}), 8192 + 32);
}

Test(wgmma_layout, other_layouts_do_not_match) {
    tile_wgmma_matrix matrix;
    tile_layout wide = tile_layout_shared_swizzled((uint32_t[]){64, 128}, 2, 1, 2);
    cr_expect(!tile_wgmma_match(&wide, 1, 2, 64, &matrix)); /* rows of 256 bytes */
    tile_layout alike = tile_layout_shared_swizzled((uint32_t[]){64, 64}, 2, 1, 2);
    cr_expect(tile_wgmma_match(&alike, 1, 2, 64, &matrix)); /* rows of 128 bytes are atoms */
    expect_decoded(&alike, 1, 2, 64, &matrix);
    tile_layout other = alike;
    other.reg[8] ^= 1u << 3;
    cr_expect(!tile_wgmma_match(&other, 1, 2, 64, &matrix));
    tile_layout low = tile_wgmma_shared((uint32_t[]){4, 64}, 1, 2);
    cr_expect(!tile_wgmma_match(&low, 1, 2, 4, &matrix));
}

/* Boxes ---------------------------------------------------------------------------------------- */

/* A dense array at the offset of its first element, swizzled like addresses are. */
static void expect_boxes(const tile_layout *shared, unsigned bytes, const tile_tma_box *box) {
    uint32_t size = 1;
    for (unsigned d = 0; d < 2; d++) size *= box->extent[d];
    for (uint32_t r = 0; r < tile_layout_extent(shared, 0); r += box->extent[0])
        for (uint32_t c = 0; c < tile_layout_extent(shared, 1); c += box->extent[1]) {
            uint32_t first =
                tile_layout_offset_of(shared, tile_layout_index(shared, (uint32_t[]){r, c}));
            cr_assert_eq(first * bytes % (8 * box->swizzle) % (size * bytes), 0);
            for (uint32_t i = 0; i < size; i++) {
                uint32_t at[2] = {r, c}, inner = box->extent[box->order[0]];
                at[box->order[0]] += i % inner;
                at[box->order[1]] += i / inner;
                uint32_t sum = (first + i) * bytes;
                uint32_t address = sum ^ tile_wgmma_cross(box->swizzle, sum);
                cr_assert_eq(tile_layout_apply(shared, address / bytes, 0, 0),
                             tile_layout_index(shared, at));
            }
        }
}

Test(wgmma_layout, boxes_fill_the_layout) {
    FOR_EACH(rows, mn_extents)
    FOR_EACH(columns, k_extents)
    for (unsigned bytes = 1; bytes <= 4; bytes *= 2)
        for (unsigned fastest = 0; fastest < 2; fastest++) {
            uint32_t dims[2] = {*rows, *columns};
            tile_tma_box box;
            if (tile_layout_part_extent(dims[fastest]) * bytes < 16) continue;
            tile_layout shared = tile_wgmma_shared(dims, fastest, bytes);
            cr_assert(tile_tma_find_box(&shared, bytes, &box));
            cr_assert(box.rank == 2 && box.order[0] == fastest);
            cr_assert(box.extent[0] <= 256 && box.extent[1] <= 256);
            expect_boxes(&shared, bytes, &box);
        }
}

Test(wgmma_layout, a_box_is_a_column_of_atoms) {
    tile_tma_box box;
    tile_layout shared = tile_wgmma_shared((uint32_t[]){64, 256}, 1, 2);
    cr_assert(tile_tma_find_box(&shared, 2, &box));
    cr_expect(box.swizzle == 128 && box.extent[0] == 64 && box.extent[1] == 64);
    tile_layout parts = tile_wgmma_shared((uint32_t[]){152, 64}, 1, 2);
    cr_assert(tile_tma_find_box(&parts, 2, &box));
    cr_expect(box.swizzle == 128 && box.extent[0] == 152 && box.extent[1] == 64);
    tile_layout many = tile_wgmma_shared((uint32_t[]){288, 64}, 1, 2);
    cr_assert(tile_tma_find_box(&many, 2, &box));
    cr_expect(box.extent[0] == 96 && box.extent[1] == 64);
    tile_layout beside = tile_wgmma_shared((uint32_t[]){64, 192}, 1, 2);
    cr_assert(tile_tma_find_box(&beside, 2, &box));
    cr_expect(box.extent[0] == 64 && box.extent[1] == 64);
    tile_layout flat = tile_layout_shared_swizzled((uint32_t[]){512}, 1, 0, 4);
    cr_assert(tile_tma_find_box(&flat, 4, &box));
    cr_expect(box.swizzle == 16 && box.rank == 1 && box.extent[0] == 256);
}

/* The second row begins at its second chunk, so that no box of a whole row begins there. */
Test(wgmma_layout, boxes_begin_at_multiples_of_their_size) {
    tile_tma_box box;
    tile_layout shared = tile_layout_shared_swizzled((uint32_t[]){2, 128}, 2, 1, 2);
    cr_expect(!tile_tma_find_box(&shared, 2, &box) || box.extent[1] == 8);
}
