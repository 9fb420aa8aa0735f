#include "lib/layout/traffic.h"

#include <string.h>

#include "lib/layout/layout.h"

enum { LANES = 1 << TILE_LANE_BITS };

/* Matrices ------------------------------------------------------------------------------------- */

static bool is_column(const uint32_t *three, uint32_t first) {
    return three[0] == first && three[1] == 2 * first && three[2] == 4 * first;
}

/* Returns whether a lane's elements and the lanes of a quad are contiguous. */
static bool is_row(const uint32_t *reg, const uint32_t *lane, unsigned own_bits) {
    bool row = true;
    for (unsigned bit = 0; bit < own_bits; bit++) row &= reg[bit] == UINT32_C(1) << bit;
    for (unsigned i = 0; i < 2; i++) row &= lane[i] == UINT32_C(1) << (own_bits + i);
    return row;
}

uint32_t tile_matrices_step(const tile_matrices *m, const uint32_t *reg, unsigned bit) {
    if (!m->pairs) return reg[m->own_bits + bit];
    return reg[bit ? m->own_bits + bit : 1];
}

uint32_t tile_matrices_word_element(uint32_t i) {
    return (i & ~UINT32_C(7)) | (i & 3) << 1 | (i >> 2 & 1);
}

tile_matrices tile_matrices_find(const tile_layout *layout, const uint32_t *reg,
                                 const uint32_t *lane, const uint32_t *warp, uint32_t begin,
                                 unsigned element_bits) {
    uint32_t turned[3] = {reg[0], lane[0], lane[1]};
    tile_matrices found = {.own_bits = element_bits == 8 ? 2 : element_bits == 16 ? 1 : 0};
    if (element_bits < 8 || element_bits > 32 || layout->reg_bits < found.own_bits) return found;
    found.pairs = element_bits == 8 && layout->reg_bits > found.own_bits &&
                  reg[found.own_bits] == 1 && is_column(lane + 2, 2);
    found.trans = found.pairs || (element_bits == 16 && is_column(lane + 2, 1));
    if (!found.trans && !is_row(reg, lane, found.own_bits)) return found;
    memcpy(found.rows, found.trans ? turned : lane + 2, sizeof found.rows);
    uint32_t low = found.rows[0] | found.rows[1] | found.rows[2] | begin;
    for (unsigned bit = 0; bit + found.own_bits < layout->reg_bits; bit++)
        low |= tile_matrices_step(&found, reg, bit);
    for (unsigned bit = 0; bit < layout->warp_bits; bit++) low |= warp[bit];
    found.match = (low & ((UINT32_C(4) << found.own_bits) - 1)) == 0;
    return found;
}

/* Shared memory -------------------------------------------------------------------------------- */

/* Each matrix is served separately: its eight rows. */
static tile_traffic matrix_traffic(const tile_layout *tile, const tile_matrices *m,
                                   unsigned element_bytes) {
    enum { ROWS = 8, ROW_BYTES = 16 };
    uint32_t addresses[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        addresses[i] = tile_layout_combine(m->rows, 3, i) * element_bytes;
    unsigned count = tile_layout_registers(tile) >> m->own_bits, each = count < 4 ? count : 4;
    tile_traffic t = {.bytes = 4 * each, .accesses = count / each, .matrices = true};
    t.conflicts = count * tile_bank_conflicts(addresses, ROWS, ROW_BYTES);
    t.wavefronts = count + t.conflicts;
    return t;
}

/* Lists the addresses of the lanes. Lanes that replicate the elements of lower ones are left out.
 */
static unsigned list_lanes(const uint32_t *lane, unsigned bytes, uint32_t *addresses) {
    unsigned used = 0;
    for (uint32_t l = 0; l < LANES; l++) {
        bool first = true;
        for (unsigned i = 0; i < TILE_LANE_BITS; i++) first &= !(l >> i & 1) || lane[i];
        if (first) addresses[used++] = tile_layout_combine(lane, TILE_LANE_BITS, l) * bytes;
    }
    return used;
}

tile_traffic tile_traffic_shared(const tile_layout *tile, const tile_layout *memory,
                                 unsigned element_bytes, bool matrices) {
    uint32_t reg[TILE_LAYOUT_MAX_BITS], lane[TILE_LANE_BITS], warp[TILE_LAYOUT_MAX_WARP_BITS];
    uint32_t addresses[LANES], fixed = 0;
    tile_layout_to_offsets(tile, memory, reg, lane, warp);
    tile_matrices m =
        tile_matrices_find(tile, reg, lane, warp, 0, matrices ? 8 * element_bytes : 0);
    if (m.match) return matrix_traffic(tile, &m, element_bytes);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++) fixed |= lane[i];
    for (unsigned i = 0; i < tile->warp_bits; i++) fixed |= warp[i];
    tile_access_split cut = tile_split_fragment_accesses(tile, reg, fixed, 16 / element_bytes);
    tile_traffic t = {.bytes = element_bytes << cut.width_bits, .accesses = cut.count};
    unsigned used = list_lanes(lane, element_bytes, addresses);
    unsigned least = t.bytes >= 16 ? 4 : t.bytes == 8 ? 2 : 1;
    t.conflicts = t.accesses * tile_bank_conflicts(addresses, used, t.bytes);
    t.wavefronts = t.accesses * least + t.conflicts;
    return t;
}

/* Global memory -------------------------------------------------------------------------------- */

/* The start of the block of this many bytes that contains an index, as a unique number. */
static uint32_t block_of(const tile_layout *tile, unsigned d, uint32_t index,
                         unsigned element_bytes, unsigned block_bytes) {
    uint32_t coordinates[TILE_MAX_RANK];
    if (d == tile->rank) return index;
    for (unsigned k = 0; k < tile->rank; k++)
        coordinates[k] = tile_layout_coordinate(tile, index, k);
    unsigned elements = element_bytes < block_bytes ? block_bytes / element_bytes : 1;
    coordinates[d] -= coordinates[d] % elements;
    return tile_layout_index(tile, coordinates);
}

static void add_new(uint32_t *list, unsigned *count, uint32_t what) {
    for (unsigned i = 0; i < *count; i++)
        if (list[i] == what) return;
    list[(*count)++] = what;
}

/* The accesses of a warp's lanes with one register. */
typedef struct request {
    unsigned sectors, lines;
    unsigned held; /* lanes with elements of their own */
} request;

static request count_request(const tile_layout *tile, unsigned d, unsigned register_,
                             unsigned element_bytes) {
    uint32_t sectors[LANES], lines[LANES], indices[LANES];
    request r = {0, 0, 0};
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint32_t index = tile_layout_apply(tile, register_, lane, 0);
        add_new(indices, &r.held, index);
        add_new(sectors, &r.sectors, block_of(tile, d, index, element_bytes, TILE_SECTOR));
        add_new(lines, &r.lines, block_of(tile, d, index, element_bytes, TILE_LINE));
    }
    return r;
}

tile_traffic tile_traffic_global(const tile_layout *tile, unsigned d, unsigned width,
                                 unsigned element_bytes) {
    enum {
        LOOKED_AT = 4
    }; /* accesses that are counted: all are alike unless a sector has parts of
        * two rows */
    unsigned widest = d < tile->rank ? width : 1;
    tile_access_split cut =
        tile_split_accesses_along(tile, d < tile->rank ? d : tile->rank - 1u, widest);
    tile_traffic t = {.bytes = element_bytes << cut.width_bits, .accesses = cut.count};
    unsigned looked = cut.count < LOOKED_AT ? cut.count : LOOKED_AT, least = 0;
    request sum = {0, 0, 0};
    for (unsigned i = 0; i < looked; i++) {
        request r = count_request(tile, d, tile_access_split_register(&cut, i, 0), element_bytes);
        sum.sectors += r.sectors;
        sum.lines += r.lines;
        least += (r.held * t.bytes + TILE_SECTOR - 1) / TILE_SECTOR;
    }
    t.wavefronts = (unsigned)((uint64_t)sum.sectors * cut.count / looked);
    t.lines = (unsigned)((uint64_t)sum.lines * cut.count / looked);
    t.conflicts = t.wavefronts - (unsigned)((uint64_t)least * cut.count / looked);
    return t;
}

unsigned tile_traffic_cost_global(const tile_traffic *traffic) {
    enum { SECTOR = 4, LINE = 16, ACCESS = 2 };
    return SECTOR * traffic->wavefronts + LINE * traffic->lines + ACCESS * traffic->accesses;
}
