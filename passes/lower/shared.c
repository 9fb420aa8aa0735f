/* Fragments in shared buffers: register offsets, loads and stores, ldmatrix and stmatrix. */
#include <string.h>

#include "lib/layout/layout.h"
#include "lib/layout/traffic.h"
#include "lib/ops/gather.h"
#include "passes/lower/lower.h"

/* The offset of a part whose coordinates are all constants and have no bits within the part, so
 * that it can be added. False if they do not, or if the layout repeats parts along such a dim. */
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

/* A register's contribution to the offset within a stage. */
uint32_t lower_register_offset(const lower_shared_map *map, const tile_layout *layout,
                               unsigned register_) {
    uint32_t added = (register_ >> layout->reg_bits << map->part_bits) ^ map->origin;
    for (unsigned bit = 0; bit < layout->reg_bits; bit++)
        if (register_ >> bit & 1) added ^= map->reg[bit];
    return added;
}

/* The element offset in the buffer: stage + (thread's contribution ^ registers' contribution).
 * thread_bits is the union of all bits of the thread's contribution. */
static tile_value shared_offset(lowering *l, const lower_shared_map *map, tile_value thread_part,
                                uint32_t thread_bits, uint32_t register_part) {
    uint32_t overlapping = register_part & thread_bits;
    tile_value offset = thread_part;
    if (overlapping) offset = tile_build_xor(&l->builder, offset, lower_int(l, overlapping));
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
    a.cut = tile_split_fragment_accesses(layout, a.map.reg, a.thread_bits, widest);
    return a;
}

tile_value lower_shared_access_offset(lowering *l, const lower_shared_access *a,
                                      unsigned register_) {
    return shared_offset(l, &a->map, a->thread_part, a->thread_bits,
                         lower_register_offset(&a->map, a->layout, register_));
}

/* ldmatrix and stmatrix ----------------------------------------------------------------------- */

static tile_matrices match_matrices(const lower_shared_map *map, const tile_type *tile) {
    return tile_matrices_find(tile->layout, map->reg, map->lane, map->warp,
                              map->begin.id ? map->begin_bits : 0, tile_scalar_bits(tile->scalar));
}

/* A fragment accessed as matrices, up to four per instruction. */
typedef struct matrix_access {
    const lower_shared_map *map;
    const tile_layout *layout;
    tile_matrices match;
    uint32_t thread_bits; /* bits that the thread's contribution may have */
    tile_value thread_part;
    unsigned each, count;  /* registers per instruction, and instructions */
    const tile_type *part; /* of one instruction */
} matrix_access;

/* False if the fragment does not consist of matrices. */
static bool start_matrices(lowering *l, const lower_shared_map *map, const tile_type *tile,
                           matrix_access *a) {
    const tile_layout *layout = tile->layout;
    tile_matrices match = match_matrices(map, tile);
    if (!match.match) return false;
    unsigned matrix_bits = layout->reg_bits - match.own_bits;
    if (matrix_bits > 2) matrix_bits = 2;
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS] = {match.rows[0], match.rows[1],
                                                                  match.rows[2]};
    for (unsigned bit = 0; bit < matrix_bits; bit++)
        bases[3 + bit] = tile_matrices_step(&match, map->reg, bit);
    memcpy(bases + TILE_LANE_BITS, map->warp, sizeof(uint32_t) * layout->warp_bits);
    unsigned inputs = TILE_LANE_BITS + (unsigned)layout->warp_bits;
    *a = (matrix_access){.map = map, .layout = layout, .match = match};
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

/* The words of pairs as fragments, or the other way round. Codegen does it by one prmt for each
 * register. */
static tile_value order_pairs(lowering *l, const matrix_access *a, tile_value part, bool to_words) {
    int64_t order[16]; /* of an instruction's elements: at most 16 bytes */
    if (!a->match.pairs) return part;
    for (uint32_t i = 0; i < a->each; i++) {
        uint32_t word = tile_matrices_word_element(i);
        order[to_words ? word : i] = to_words ? i : word;
    }
    return lower_permute(l, part, order, a->each);
}

static tile_value load_matrices(lowering *l, const lower_shared_map *map, const tile_type *tile) {
    matrix_access a;
    if (!start_matrices(l, map, tile, &a)) return TILE_NO_VALUE;
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, a.count);
    for (unsigned i = 0; i < a.count; i++) {
        tile_value offset = matrix_offset(l, &a, i);
        parts[i] = tile_build_ldmatrix(&l->builder, map->buffer, &offset, 1, a.part);
        if (a.match.trans) tile_op_set_flag(l->f, tile_value_def(l->f, parts[i]), TILE_ATTR_trans);
        parts[i] = order_pairs(l, &a, parts[i], false);
    }
    return a.count == 1 ? parts[0] : tile_build_concat(&l->builder, parts, a.count);
}

/* False if nothing was built. */
static bool store_matrices(lowering *l, tile_value fragment, const lower_shared_map *map,
                           const tile_type *tile) {
    matrix_access a;
    if (!start_matrices(l, map, tile, &a)) return false;
    for (unsigned i = 0; i < a.count; i++) {
        tile_value offset = matrix_offset(l, &a, i), first = lower_int(l, i * a.each);
        tile_value part =
            a.count == 1 ? fragment : tile_build_extract(&l->builder, fragment, first, a.part);
        part = order_pairs(l, &a, part, true);
        tile_build_stmatrix(&l->builder, part, map->buffer, &offset, 1);
        tile_op store = tile_region_at(l->f, l->builder.region)->last;
        if (a.match.trans) tile_op_set_flag(l->f, store, TILE_ATTR_trans);
    }
    return true;
}

/* Loads and stores ---------------------------------------------------------------------------- */

static tile_value load_elements(lowering *l, const lower_shared_map *map, const tile_type *tile) {
    lower_shared_access a = lower_start_shared(l, map, tile->layout, lower_widest(tile->scalar));
    unsigned accesses = a.cut.count;
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, accesses);
    for (unsigned i = 0; i < accesses; i++) {
        tile_value offset =
            lower_shared_access_offset(l, &a, tile_access_split_register(&a.cut, i, 0));
        parts[i] = tile_build_ld_shared(&l->builder, a.map.buffer, &offset, 1, TILE_NO_VALUE,
                                        lower_part_type(l, tile->scalar, 1u << a.cut.width_bits));
    }
    return lower_combine_accesses(l, parts, &a.cut);
}

tile_value lower_load_mapped(lowering *l, const lower_shared_map *map, const tile_type *tile,
                             bool whole_warps) {
    /* ldmatrix cannot read the memory of another block. */
    bool plain = !tile_value_type(l->f, map->buffer)->cluster;
    tile_value matrices = whole_warps && plain ? load_matrices(l, map, tile) : TILE_NO_VALUE;
    return matrices.id ? matrices : load_elements(l, map, tile);
}

tile_value lower_load_shared(lowering *l, const tile_value *element, unsigned count,
                             const tile_type *tile, bool whole_warps) {
    if (lower_is_misaligned(l, element[0])) return lower_load_misaligned(l, element, count, tile);
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
    tile_value predicate = lower_is_first_holder(l, tile->layout);
    bool plain = !predicate.id && !tile_value_type(l->f, map->buffer)->cluster;
    if (plain && tile_target_has(l->pass->target, TILE_FEATURE_stmatrix) &&
        store_matrices(l, fragment, map, tile))
        return;
    lower_shared_access a = lower_start_shared(l, map, tile->layout, lower_widest(tile->scalar));
    for (unsigned i = 0; i < a.cut.count; i++) {
        tile_value offset =
            lower_shared_access_offset(l, &a, tile_access_split_register(&a.cut, i, 0));
        tile_value part = lower_extract_access(l, fragment, &a.cut, i);
        tile_build_st_shared(&l->builder, part, a.map.buffer, &offset, 1, predicate);
    }
}

/* Coordinates in bounds ---------------------------------------------------------------------------
 */

/* Assumes that coordinates in shared buffers are in bounds. GPU code ignores the assumption. The
 * CPU device checks it, even if a guard skips the access or the offset is that of another element
 * of the buffer. */
static const char *text_of(lowering *l, tile_value buffer) {
    const tile_value_data *data = tile_value_at(&l->old, buffer);
    const char *text = "", *name = data->name;
    for (unsigned d = 0; d < data->type->rank; d++)
        text = tile_arena_format(l->pass->scratch, "%s%s%lld", text, d ? ", " : "",
                                 (long long)tile_type_dim(data->type, d));
    return tile_arena_format(l->pass->scratch,
                             "out of bounds: the coordinates are outside of %s%s, which has [%s] "
                             "elements",
                             name ? "%" : "the buffer", name ? name : "", text);
}

void lower_assume_in_bounds(lowering *l, tile_value buffer, tile_value inside,
                            tile_value predicate) {
    if (!inside.id) return;
    if (predicate.id)
        inside = tile_build_or(&l->builder, tile_build_not(&l->builder, predicate), inside);
    tile_build_assume(&l->builder, inside);
    tile_op_set_text(l->f, tile_region_at(l->f, l->builder.region)->last, TILE_ATTR_text,
                     text_of(l, buffer));
}

tile_value lower_in_bounds_of_buffer(lowering *l, const tile_type *buffer, const tile_value *index,
                                     unsigned run) {
    tile_value all = TILE_NO_VALUE;
    for (unsigned d = 0; d < buffer->rank; d++) {
        tile_range at = l->ranges[index[d].id];
        int64_t extent = tile_type_dim(buffer, d);
        if (d + 1u == buffer->rank) extent -= (int64_t)run - 1;
        if (at.min >= 0 && at.max < extent) continue;
        tile_value in = tile_build_ult(&l->builder, lower_mapped(l, index[d]),
                                       lower_int(l, extent < 0 ? 0 : extent));
        all = lower_and(l, all, in);
    }
    return all;
}

void lower_assume_element_in_bounds(lowering *l, tile_op op, const tile_value *element,
                                    unsigned run) {
    const tile_type *buffer = tile_value_type(&l->old, element[0]);
    tile_value predicate = tile_op_predicate(&l->old, op);
    lower_assume_in_bounds(
        l, element[0],
        lower_in_bounds_of_buffer(l, buffer, element + 1 + (buffer->stages != NULL), run),
        predicate.id ? lower_mapped(l, predicate) : TILE_NO_VALUE);
}
