/* Matrix instructions: the table, the selection, and fragments as layouts. */
#include "lib/layout/mma.h"

#include <stdio.h>
#include <string.h>

#include "lib/support/scalar.h"
#include "lib/support/target.h"

/* The table ----------------------------------------------------------------------------------- */

#define SIGNS_ss false, false
#define SIGNS_us true, false
#define SIGNS_su false, true
#define SIGNS_uu true, true
#define EXCHANGED_ss SIGNS_ss
#define EXCHANGED_us SIGNS_su
#define EXCHANGED_su SIGNS_us
#define EXCHANGED_uu SIGNS_uu
#define PLACES(first, second) TILE_MMA_PLACE_##first, TILE_MMA_PLACE_##second

#define PLAIN(paired, m, n, k, lhs, rhs, acc, signs, lhs_place, rhs_place, feature, ptx) \
    { \
        "m" #m "n" #n "k" #k, false, paired, m, n, k, TILE_##lhs, TILE_##rhs, TILE_##acc, \
            SIGNS_##signs, PLACES(lhs_place, rhs_place), TILE_FEATURE_##feature, ptx \
    }
#define EXCHANGED(paired, m, n, k, lhs, rhs, acc, signs, lhs_place, rhs_place, feature, ptx) \
    { \
        "m" #m "n" #n "k" #k, true, paired, n, m, k, TILE_##rhs, TILE_##lhs, TILE_##acc, \
            EXCHANGED_##signs, PLACES(rhs_place, lhs_place), TILE_FEATURE_##feature, ptx \
    }

enum { FORMS = 4, PAIRED = 2 };

/* Each row in its forms: plain, exchanged, paired, paired and exchanged. The first one that fits is
 * taken. */
static const tile_mma table[] = {
#define MMA(name, m, n, k, lhs, rhs, acc, signs, lhs_place, rhs_place, feature, ptx, intrinsic) \
    PLAIN(false, m, n, k, lhs, rhs, acc, signs, lhs_place, rhs_place, feature, ptx), \
        EXCHANGED(false, m, n, k, lhs, rhs, acc, signs, lhs_place, rhs_place, feature, ptx), \
        PLAIN(true, m, n, k, lhs, rhs, acc, signs, lhs_place, rhs_place, feature, ptx), \
        EXCHANGED(true, m, n, k, lhs, rhs, acc, signs, lhs_place, rhs_place, feature, ptx),
#include "lib/layout/mma.def"
};

enum { ROWS = sizeof table / sizeof *table };

const tile_mma *tile_mma_at(unsigned index) {
    return index < ROWS / FORMS ? &table[FORMS * index] : NULL;
}

const tile_mma *tile_mma_swap(const tile_mma *row) {
    return row->exchanged ? row - 1 : row + 1;
}

const tile_mma *tile_mma_pair(const tile_mma *row, unsigned operand) {
    enum { PAIRS = 16 };
    if (row->exchanged != (operand == TILE_MMA_RHS)) row = tile_mma_swap(row);
    bool bytes = tile_scalar_bits(operand == TILE_MMA_LHS ? row->lhs : row->rhs) == 8;
    bool pairs = (operand == TILE_MMA_LHS ? row->m : row->n) == PAIRS;
    return !bytes || !pairs ? NULL : row->paired ? row : row + PAIRED;
}

unsigned tile_mma_index(const tile_mma *row) {
    return (unsigned)(row - table) / FORMS;
}

/* Selection ------------------------------------------------------------------------------------ */

tile_mma_query tile_mma_query_of(tile_scalar lhs, tile_scalar rhs, tile_scalar acc) {
    return (tile_mma_query){.lhs = tile_scalar_as_signed(lhs),
                            .rhs = tile_scalar_as_signed(rhs),
                            .acc = tile_scalar_as_signed(acc),
                            .unsigned_lhs = tile_scalar_is_unsigned(lhs),
                            .unsigned_rhs = tile_scalar_is_unsigned(rhs)};
}

tile_mma_query tile_mma_query_as_tf32(tile_mma_query query) {
    if (query.lhs == TILE_f32) query.lhs = TILE_tf32;
    if (query.rhs == TILE_f32) query.rhs = TILE_tf32;
    return query;
}

const char *tile_mma_type_name(tile_scalar scalar, bool is_unsigned) {
    return tile_scalar_name(is_unsigned ? tile_scalar_as_unsigned(scalar) : scalar);
}

static bool has_types(const tile_mma *row, const tile_mma_query *q) {
    return row->lhs == q->lhs && row->rhs == q->rhs && row->acc == q->acc &&
           row->unsigned_lhs == q->unsigned_lhs && row->unsigned_rhs == q->unsigned_rhs;
}

/* Returns whether every value of type `part` is a value of `whole`; an unsigned integer would need
 * another cast. */
static bool holds_type(tile_scalar whole, tile_scalar part, bool is_unsigned) {
    if (whole == part) return !is_unsigned;
    if (!tile_scalar_is_floating(part))
        return !is_unsigned && tile_scalar_bits(part) <= tile_scalar_mantissa(whole) + 2;
    return tile_scalar_contains(whole, part);
}

static bool has_wider_types(const tile_mma *row, const tile_mma_query *q) {
    return row->acc == q->acc && tile_scalar_is_floating(row->lhs) &&
           holds_type(row->lhs, q->lhs, q->unsigned_lhs) &&
           holds_type(row->rhs, q->rhs, q->unsigned_rhs);
}

static bool divides(const tile_mma *row, const tile_mma_query *q) {
    return q->m % row->m == 0 && q->n % row->n == 0 && q->k % row->k == 0;
}

static bool is_there(const tile_mma *row, const tile_mma_query *q) {
    return q->features >> row->feature & 1;
}

static bool fits(const tile_mma *row, const tile_mma_query *q) {
    return is_there(row, q) && divides(row, q) &&
           (q->acc_layout ? tile_mma_holds(row, q->acc_layout) : !row->paired);
}

const tile_mma *tile_mma_find(const tile_mma_query *q) {
    for (unsigned i = 0; i < ROWS; i++)
        if (has_types(&table[i], q) && fits(&table[i], q)) return &table[i];
    return NULL;
}

const tile_mma *tile_mma_find_wider(const tile_mma_query *q) {
    for (unsigned i = 0; i < ROWS; i++)
        if (has_wider_types(&table[i], q) && fits(&table[i], q)) return &table[i];
    return NULL;
}

/* The row with these types that violates the fewest requirements. */
static const tile_mma *nearest(const tile_mma_query *q) {
    const tile_mma *best = NULL;
    for (unsigned i = 0; i < ROWS; i++) {
        if (table[i].exchanged || table[i].paired || !has_types(&table[i], q)) continue;
        if (!best) best = &table[i];
        if (is_there(&table[i], q) && !divides(best, q)) best = &table[i];
    }
    return best;
}

/* Returns whether only m prevents the use of the row. */
static bool fits_with_rows(const tile_mma_query *q, uint32_t rows) {
    tile_mma_query other = *q;
    other.m = rows;
    return !q->acc_layout && tile_mma_find(&other);
}

void tile_mma_explain(const tile_mma_query *q, char *text, size_t size) {
    const tile_mma *row = nearest(q);
    const char *lhs = tile_mma_type_name(q->lhs, q->unsigned_lhs),
               *rhs = tile_mma_type_name(q->rhs, q->unsigned_rhs);
    char targets[TILE_TARGETS_TEXT];
    if (!row)
        snprintf(text, size, "no mma instruction multiplies %s by %s and accumulates in %s", lhs,
                 rhs, tile_scalar_name(q->acc));
    else if (!is_there(row, q))
        snprintf(text, size, "mma %s on %s and %s needs %s", row->shape, lhs, rhs,
                 tile_feature_targets(row->feature, targets, sizeof targets));
    else if (!divides(row, q))
        snprintf(text, size, "mma %s needs multiples of its extents, not m %u, n %u, k %u%s",
                 row->shape, (unsigned)q->m, (unsigned)q->n, (unsigned)q->k,
                 fits_with_rows(q, 8) ? " (8 rows would do)" : "");
    else
        snprintf(text, size, "the accumulator's layout does not consist of fragments of mma %s",
                 row->shape);
}

const tile_mma *tile_mma_of_fragments(const tile_mma_query *types, const int64_t counts[3]) {
    for (unsigned i = 0; i < ROWS; i++) {
        bool same = !table[i].exchanged && !table[i].paired && has_types(&table[i], types);
        for (unsigned o = 0; o < 3; o++) same &= tile_mma_elements(&table[i], o) == counts[o];
        if (same) return &table[i];
    }
    return NULL;
}

/* Fragments ----------------------------------------------------------------------------------- */

/* Puts two lane bits along dim `quad` in steps of `step`, three along the other dim from `first`
 * on.
 */
static void set_lanes(tile_layout *layout, unsigned quad, uint32_t step, uint32_t first) {
    for (unsigned i = 0; i < 2; i++)
        layout->lane[i] = step << i << tile_layout_dim_shift(layout, quad);
    for (unsigned i = 0; i < 3; i++)
        layout->lane[2 + i] = first << i << tile_layout_dim_shift(layout, 1 - quad);
}

/* index with its coordinates exchanged */
static uint32_t exchange(const tile_layout *layout, uint32_t index) {
    return tile_layout_coordinate(layout, index, 1) << layout->dim_bits[0] |
           tile_layout_coordinate(layout, index, 0);
}

/* The layout of the exchanged matrix. */
static tile_layout exchange_dims(const tile_layout *layout) {
    const uint32_t dims[2] = {tile_layout_extent(layout, 1), tile_layout_extent(layout, 0)};
    tile_layout exchanged = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 2);
    exchanged.reg_bits = layout->reg_bits;
    for (unsigned i = 0; i < layout->reg_bits; i++)
        exchanged.reg[i] = exchange(layout, layout->reg[i]);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        exchanged.lane[i] = exchange(layout, layout->lane[i]);
    return exchanged;
}

static tile_layout plain_fragment(const tile_mma *row, unsigned operand, uint32_t rows,
                                  uint32_t columns) {
    const uint32_t dims[2] = {rows, columns};
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 2);
    unsigned quad = operand == TILE_MMA_RHS ? 0 : 1;
    uint32_t pack = operand == TILE_MMA_ACC   ? 2
                    : operand == TILE_MMA_LHS ? tile_scalar_pack(row->lhs)
                                              : tile_scalar_pack(row->rhs);
    bool pairs = row->paired && operand != TILE_MMA_RHS; /* they have the instruction's rows */
    tile_layout_add_registers(&layout, quad, 1, pack);
    if (operand != TILE_MMA_RHS)
        tile_layout_add_registers(&layout, 0, pairs ? 1 : 8, pairs ? 2 : row->m);
    tile_layout_add_registers(&layout, quad, 4 * pack, operand == TILE_MMA_ACC ? row->n : row->k);
    set_lanes(&layout, quad, pack, pairs ? 2 : 1);
    return layout;
}

tile_layout tile_mma_fragment(const tile_mma *row, unsigned operand, uint32_t rows,
                              uint32_t columns) {
    if (!row->exchanged) return plain_fragment(row, operand, rows, columns);
    static const unsigned instead[] = {TILE_MMA_RHS, TILE_MMA_LHS, TILE_MMA_ACC};
    tile_layout fragment = plain_fragment(tile_mma_swap(row), instead[operand], columns, rows);
    return exchange_dims(&fragment);
}

unsigned tile_mma_elements(const tile_mma *row, unsigned operand) {
    const uint32_t elements[] = {row->m * row->k, row->k * row->n, row->m * row->n};
    return elements[operand] >> TILE_LANE_BITS;
}

/* Tiles --------------------------------------------------------------------------------------- */

void tile_mma_choose_warps(const tile_mma *row, uint32_t m, uint32_t n, unsigned num_warps,
                           uint32_t *warps_m, uint32_t *warps_n) {
    *warps_m = *warps_n = 1;
    m = tile_layout_part_extent(m);
    n = tile_layout_part_extent(n);
    while (*warps_m * *warps_n < num_warps) {
        uint32_t share_m = m / *warps_m, share_n = n / *warps_n;
        bool can_m = share_m > row->m, can_n = share_n > row->n;
        /* On a tie rows are split: then the operand whose rows are contiguous along k in shared
         * memory is read less often. */
        if (can_m && (share_m >= share_n || !can_n))
            *warps_m *= 2;
        else
            *warps_n *= 2;
    }
}

/* Puts warp bits along dim d, `share` elements each. Bits past the part's end replicate. */
static void add_warps(tile_layout *layout, unsigned d, uint32_t warps, uint32_t share) {
    for (uint32_t w = 1; w < warps; w *= 2) {
        bool inside = share * w < UINT32_C(1) << layout->dim_bits[d];
        layout->warp[layout->warp_bits++] =
            inside ? share * w << tile_layout_dim_shift(layout, d) : 0;
    }
}

static uint32_t share_of(uint32_t extent, uint32_t warps, uint32_t least) {
    uint32_t share = tile_layout_part_extent(extent) / warps;
    return share < least ? least : share;
}

tile_layout tile_mma_accumulator(const tile_mma *row, uint32_t m, uint32_t n, uint32_t warps_m,
                                 uint32_t warps_n) {
    tile_layout layout = tile_mma_fragment(row, TILE_MMA_ACC, m, n);
    uint32_t share_m = share_of(m, warps_m, row->m), share_n = share_of(n, warps_n, row->n);
    tile_layout_add_registers(&layout, 1, row->n, share_n);
    tile_layout_add_registers(&layout, 0, row->m, share_m);
    add_warps(&layout, 0, warps_m, share_m);
    add_warps(&layout, 1, warps_n, share_n);
    return layout;
}

/* Returns whether a basis steps from one fragment to another: along one dim, by whole fragments. */
static bool is_step(const tile_layout *acc, uint32_t basis, const tile_mma *row) {
    uint32_t along_m = tile_layout_coordinate(acc, basis, 0),
             along_n = tile_layout_coordinate(acc, basis, 1);
    return along_m % row->m == 0 && along_n % row->n == 0 && !(along_m && along_n);
}

bool tile_mma_holds(const tile_mma *row, const tile_layout *acc) {
    if (acc->kind != TILE_LAYOUT_REGISTER || acc->rank != 2) return false;
    uint32_t m = tile_layout_extent(acc, 0), n = tile_layout_extent(acc, 1);
    if (m % row->m || n % row->n) return false;
    tile_layout fragment = tile_mma_fragment(row, TILE_MMA_ACC, m, n);
    if (acc->reg_bits < fragment.reg_bits ||
        memcmp(acc->reg, fragment.reg, sizeof *acc->reg * fragment.reg_bits) != 0 ||
        memcmp(acc->lane, fragment.lane, sizeof acc->lane) != 0)
        return false;
    bool steps = true;
    for (unsigned i = fragment.reg_bits; i < acc->reg_bits; i++)
        steps &= is_step(acc, acc->reg[i], row);
    for (unsigned i = 0; i < acc->warp_bits; i++) steps &= is_step(acc, acc->warp[i], row);
    return steps;
}

tile_layout tile_mma_operand(const tile_mma *row, const tile_layout *acc, unsigned operand,
                             uint32_t rows, uint32_t columns) {
    tile_layout layout = tile_mma_fragment(row, operand, rows, columns);
    unsigned k = operand == TILE_MMA_LHS ? 1 : 0, other = 1 - k;
    uint32_t depth = UINT32_C(1) << layout.dim_bits[k];
    unsigned own = tile_mma_fragment(row, TILE_MMA_ACC, row->m, row->n).reg_bits;
    layout.warp_bits = acc->warp_bits;
    layout.block_bits = acc->block_bits;
    for (unsigned i = 0; i < acc->warp_bits; i++)
        layout.warp[i] = tile_layout_coordinate(acc, acc->warp[i], other)
                         << tile_layout_dim_shift(&layout, other);
    if (operand == TILE_MMA_LHS) tile_layout_add_registers(&layout, k, row->k, depth);
    for (unsigned i = own; i < acc->reg_bits; i++) {
        uint32_t along = tile_layout_coordinate(acc, acc->reg[i], other);
        if (along) tile_layout_add_registers(&layout, other, along, along + 1);
    }
    if (operand == TILE_MMA_RHS) tile_layout_add_registers(&layout, k, row->k, depth);
    return layout;
}
