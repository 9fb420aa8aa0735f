/* Fragments in shared buffers: where each register lies, loads and stores, ldmatrix and stmatrix.
 */
#include <string.h>

#include "lib/layout/layout.h"
#include "passes/tile/lower.h"

/* What the coordinates of a part add to its offsets where all are constants: bits that the part has
 * none of, so that they can be added. False if they are not, or lie in parts of another count. */
static bool find_origin(const lowering *l, const tile_value *at, const tile_layout *layout,
                        uint32_t *origin) {
    uint32_t index = 0;
    for (unsigned d = 0; d < layout->rank; d++) {
        int64_t coordinate;
        if (!tile_value_is_int(l->f, at[d], &coordinate) || (coordinate && layout->count[d] > 1) ||
            coordinate >> layout->dim_bits[d] != 0)
            return false;
        index |= (uint32_t)coordinate << tile_layout_dim_shift(layout, d);
    }
    *origin = tile_layout_offset_of(layout, index);
    return true;
}

void lower_map_part(lowering *l, const tile_layout *memory, const tile_value *coordinates,
                    const tile_layout *layout, lower_shared_map *map) {
    if (coordinates && !find_origin(l, coordinates, memory, &map->origin))
        map->begin = lower_laid_out_offset(l, memory, coordinates, layout, &map->begin_bits);
    map->part_bits = tile_layout_part_bits(memory);
    tile_layout_to_offsets(layout, memory, map->reg, map->lane, map->warp);
}

lower_shared_map lower_map_shared(lowering *l, const tile_value *element, unsigned count,
                                  const tile_layout *layout) {
    const tile_type *type = tile_value_type(&l->old, element[0]);
    lower_shared_map map = {.buffer = lower_mapped(l, element[0])};
    unsigned stages = type->stages != NULL;
    bool whole = count == 1 + stages;
    tile_value stage = stages ? lower_mapped(l, element[1]) : lower_int(l, 0);
    tile_value coordinates[TILE_MAX_RANK];
    for (unsigned d = 0; d < type->rank && !whole; d++)
        coordinates[d] = lower_mapped(l, element[1 + stages + d]);
    lower_map_part(l, type->layout, whole ? NULL : coordinates, layout, &map);
    map.stage = lower_mul(l, stage, lower_int(l, tile_type_elements(type)));
    return map;
}

lower_shared_map lower_map_stage(lowering *l, tile_value buffer, tile_value begin,
                                 const tile_layout *layout) {
    const tile_type *type = tile_value_type(&l->old, buffer);
    lower_shared_map map = {.buffer = lower_mapped(l, buffer), .stage = begin};
    map.part_bits = tile_layout_part_bits(type->layout);
    tile_layout_to_offsets(layout, type->layout, map.reg, map.lane, map.warp);
    return map;
}

/* What a register adds to the offset in a stage. */
uint32_t lower_register_offset(const lower_shared_map *map, const tile_layout *layout,
                               unsigned register_) {
    uint32_t added = (register_ >> layout->reg_bits << map->part_bits) ^ map->origin;
    for (unsigned bit = 0; bit < layout->reg_bits; bit++)
        if (register_ >> bit & 1) added ^= map->reg[bit];
    return added;
}

/* Element offset in the buffer: stage + (what the thread adds ^ what the registers add).
 * thread_bits is the union of all that the thread can add. */
static tile_value shared_offset(lowering *l, const lower_shared_map *map, tile_value thread_part,
                                uint32_t thread_bits, uint32_t register_part) {
    uint32_t crossed = register_part & thread_bits;
    tile_value offset = thread_part;
    if (crossed) offset = tile_build_xor(&l->builder, offset, lower_int(l, crossed));
    offset = lower_add(l, offset, map->stage);
    return lower_add(l, offset, lower_int(l, register_part & ~thread_bits));
}

lower_shared_access lower_start_shared(lowering *l, const lower_shared_map *map,
                                       const tile_layout *layout, unsigned widest) {
    lower_shared_access a = {.map = *map, .layout = layout};
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS];
    unsigned inputs = TILE_LANE_BITS + (unsigned)layout->warp_bits;
    memcpy(bases, a.map.lane, sizeof a.map.lane);
    memcpy(bases + TILE_LANE_BITS, a.map.warp, sizeof(uint32_t) * layout->warp_bits);
    for (unsigned i = 0; i < inputs; i++) a.thread_bits |= bases[i];
    a.thread_part = lower_thread_map(l, bases, inputs);
    if (map->begin.id) {
        a.thread_bits |= map->begin_bits;
        a.thread_part = tile_build_xor(&l->builder, a.thread_part, map->begin);
    }
    a.cut = lower_cut_fragment(layout, a.map.reg, a.thread_bits, widest);
    return a;
}

tile_value lower_shared_access_offset(lowering *l, const lower_shared_access *a,
                                      unsigned register_) {
    return shared_offset(l, &a->map, a->thread_part, a->thread_bits,
                         lower_register_offset(&a->map, a->layout, register_));
}

/* ldmatrix and stmatrix ----------------------------------------------------------------------- */

/* ldmatrix gives lane i of a warp four neighbouring bytes, p elements, of row i / 4 of a matrix:
 * elements p * (i % 4) to p * (i % 4) + p - 1. A row is 16 bytes in a row of shared memory, and
 * lane i says where row i % 8 of matrix i / 8 begins. With .trans, rows and columns of an 8x8
 * matrix of 16-bit elements change places. So of what the register and lane bits add to the offset,
 *
 *              registers       lane 0, 1    lane 2, 3, 4
 *    plain     1 .. p / 2      p, 2p        rows            columns lie side by side
 *    trans     row 1           rows 2, 4    1, 2, 4         rows lie side by side
 *
 * and everything else must leave the bits inside a row alone. stmatrix stores what ldmatrix loads.
 */
typedef struct matrix_match {
    bool matches;
    bool trans;
    unsigned own_bits; /* register bits inside a matrix: log2 of p */
    uint32_t rows[3];  /* what bits 0..2 of a row's number add */
} matrix_match;

static bool is_column(const uint32_t *three) {
    return three[0] == 1 && three[1] == 2 && three[2] == 4;
}

/* Whether a lane's elements and the lanes of a quad lie side by side. */
static bool is_row(const lower_shared_map *map, unsigned own_bits) {
    bool row = true;
    for (unsigned bit = 0; bit < own_bits; bit++) row &= map->reg[bit] == UINT32_C(1) << bit;
    for (unsigned i = 0; i < 2; i++) row &= map->lane[i] == UINT32_C(1) << (own_bits + i);
    return row;
}

static matrix_match match_matrices(const lower_shared_map *map, const tile_type *tile) {
    const tile_layout *layout = tile->layout;
    unsigned bits = tile_scalar_bits(tile->scalar);
    uint32_t turned[3] = {map->reg[0], map->lane[0], map->lane[1]};
    matrix_match match = {.own_bits = bits == 8 ? 2 : bits == 16 ? 1 : 0};
    if (bits < 8 || bits > 32 || layout->reg_bits < match.own_bits) return match;
    match.trans = bits == 16 && is_column(map->lane + 2);
    if (!match.trans && !is_row(map, match.own_bits)) return match;
    memcpy(match.rows, match.trans ? turned : map->lane + 2, sizeof match.rows);
    uint32_t low =
        match.rows[0] | match.rows[1] | match.rows[2] | (map->begin.id ? map->begin_bits : 0);
    for (unsigned bit = match.own_bits; bit < layout->reg_bits; bit++) low |= map->reg[bit];
    for (unsigned bit = 0; bit < layout->warp_bits; bit++) low |= map->warp[bit];
    match.matches = (low & ((UINT32_C(4) << match.own_bits) - 1)) == 0;
    return match;
}

/* A fragment as matrices: up to four in each instruction. */
typedef struct matrix_access {
    const lower_shared_map *map;
    const tile_layout *layout;
    bool trans;
    uint32_t thread_bits; /* that the thread's part may have */
    tile_value thread_part;
    unsigned each, count;  /* registers of an instruction, and instructions */
    const tile_type *part; /* of one */
} matrix_access;

/* False if the fragment does not consist of matrices. */
static bool start_matrices(lowering *l, const lower_shared_map *map, const tile_type *tile,
                           matrix_access *a) {
    const tile_layout *layout = tile->layout;
    matrix_match match = match_matrices(map, tile);
    if (!match.matches) return false;
    unsigned matrix_bits = layout->reg_bits - match.own_bits;
    if (matrix_bits > 2) matrix_bits = 2;
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS] = {match.rows[0], match.rows[1],
                                                                  match.rows[2]};
    for (unsigned bit = 0; bit < matrix_bits; bit++)
        bases[3 + bit] = map->reg[match.own_bits + bit];
    memcpy(bases + TILE_LANE_BITS, map->warp, sizeof(uint32_t) * layout->warp_bits);
    unsigned inputs = TILE_LANE_BITS + (unsigned)layout->warp_bits;
    *a = (matrix_access){.map = map, .layout = layout, .trans = match.trans};
    for (unsigned i = 0; i < inputs; i++) a->thread_bits |= bases[i];
    a->thread_part = lower_thread_map(l, bases, inputs);
    if (map->begin.id) {
        a->thread_bits |= map->begin_bits;
        a->thread_part = tile_build_xor(&l->builder, a->thread_part, map->begin);
    }
    a->each = 1u << (match.own_bits + matrix_bits);
    a->count = tile_layout_registers(layout) / a->each;
    a->part = tile_type_vector(tile_function_context(l->f), tile->scalar, a->each);
    return true;
}

static tile_value matrix_offset(lowering *l, const matrix_access *a, unsigned index) {
    uint32_t added = lower_register_offset(a->map, a->layout, index * a->each);
    return shared_offset(l, a->map, a->thread_part, a->thread_bits, added);
}

static tile_value load_matrices(lowering *l, const lower_shared_map *map, const tile_type *tile) {
    matrix_access a;
    if (!start_matrices(l, map, tile, &a)) return TILE_NO_VALUE;
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, a.count);
    for (unsigned i = 0; i < a.count; i++) {
        tile_value offset = matrix_offset(l, &a, i);
        parts[i] = tile_build_ldmatrix(&l->builder, map->buffer, &offset, 1, a.part);
        if (a.trans) tile_op_set_flag(l->f, tile_value_def(l->f, parts[i]), TILE_ATTR_trans);
    }
    return a.count == 1 ? parts[0] : tile_build_concat(&l->builder, parts, a.count);
}

/* False if nothing has been built. */
static bool store_matrices(lowering *l, tile_value fragment, const lower_shared_map *map,
                           const tile_type *tile) {
    matrix_access a;
    if (!start_matrices(l, map, tile, &a)) return false;
    for (unsigned i = 0; i < a.count; i++) {
        tile_value offset = matrix_offset(l, &a, i), first = lower_int(l, i * a.each);
        tile_value part =
            a.count == 1 ? fragment : tile_build_extract(&l->builder, fragment, first, a.part);
        tile_build_stmatrix(&l->builder, part, map->buffer, &offset, 1);
        tile_op store = tile_region_at(l->f, l->builder.region)->last;
        if (a.trans) tile_op_set_flag(l->f, store, TILE_ATTR_trans);
    }
    return true;
}

/* Loads and stores ---------------------------------------------------------------------------- */

static tile_value load_elements(lowering *l, const lower_shared_map *map, const tile_type *tile) {
    lower_shared_access a = lower_start_shared(l, map, tile->layout, lower_widest(tile->scalar));
    unsigned accesses = a.cut.count;
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, accesses);
    for (unsigned i = 0; i < accesses; i++) {
        tile_value offset = lower_shared_access_offset(l, &a, lower_cut_register(&a.cut, i, 0));
        parts[i] = tile_build_ld_shared(&l->builder, a.map.buffer, &offset, 1,
                                        lower_part_type(l, tile->scalar, 1u << a.cut.width_bits));
    }
    return lower_assemble(l, parts, &a.cut);
}

tile_value lower_load_mapped(lowering *l, const lower_shared_map *map, const tile_type *tile,
                             bool whole_warps) {
    /* ldmatrix reads the block's own memory. */
    bool plain = !tile_value_type(l->f, map->buffer)->cluster;
    tile_value matrices = whole_warps && plain ? load_matrices(l, map, tile) : TILE_NO_VALUE;
    return matrices.id ? matrices : load_elements(l, map, tile);
}

tile_value lower_load_shared(lowering *l, const tile_value *element, unsigned count,
                             const tile_type *tile, bool whole_warps) {
    lower_shared_map map = lower_map_shared(l, element, count, tile->layout);
    return lower_load_mapped(l, &map, tile, whole_warps);
}

void lower_store_shared(lowering *l, tile_value fragment, const tile_type *tile,
                        const tile_value *element, unsigned count) {
    lower_shared_map map = lower_map_shared(l, element, count, tile->layout);
    lower_store_mapped(l, fragment, &map, tile);
}

void lower_store_mapped(lowering *l, tile_value fragment, const lower_shared_map *map,
                        const tile_type *tile) {
    enum { FIRST_WITH_STMATRIX = 90 };
    tile_value predicate = lower_first_holder(l, tile->layout);
    bool plain = !predicate.id && !tile_value_type(l->f, map->buffer)->cluster;
    if (plain && l->pass->target->compute_capability >= FIRST_WITH_STMATRIX &&
        store_matrices(l, fragment, map, tile))
        return;
    lower_shared_access a = lower_start_shared(l, map, tile->layout, lower_widest(tile->scalar));
    for (unsigned i = 0; i < a.cut.count; i++) {
        tile_value offset = lower_shared_access_offset(l, &a, lower_cut_register(&a.cut, i, 0));
        tile_value part = lower_take(l, fragment, &a.cut, i);
        tile_build_st_shared(&l->builder, part, a.map.buffer, &offset, 1, predicate);
    }
}
