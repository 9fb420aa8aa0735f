/* The rules of tensor maps and of copies through them. */
#include "lib/builder/infer_rules.h"

/* Checks what depends only on the map; the launch checks whether the hardware supports the
 * array. */
bool tile_infer_tensor_map(tile_infer *infer) {
    unsigned extents, strides;
    segment(infer, TILE_OPERAND_extents, &extents);
    segment(infer, TILE_OPERAND_strides, &strides);
    const tile_type *base = type_of(infer, TILE_OPERAND_base), *type = infer->given;
    if (!type || type->kind != TILE_TYPE_MAP)
        return fail(infer,
                    "the result must be a tensor map with the box of one copy; write for instance "
                    "tensor_map<f16[64, 64]>",
                    NULL, type ? ", not" : "", type);
    if (!same_element(base, type))
        return fail(infer, "the element types differ:", base, " and", type);
    if (type->rank != extents || (strides && strides != extents))
        return fail(infer, "there must be one extent, and one stride if any, for each dim of", type,
                    "", NULL);
    return result(infer, type);
}

/* Checks a copy through a map. The operands are the map with the list of coordinates, and the
 * shared buffer. */
static bool check_box(tile_infer *infer, unsigned map_operand, unsigned shared_operand) {
    unsigned count;
    const tile_type *map = type_at(infer, map_operand), *shared = type_at(infer, shared_operand);
    segment_at(infer, map_operand + 1, &count);
    if (!same_element(map, shared))
        return fail(infer, "the element types differ:", map, " and", shared);
    if (count != map->rank)
        return fail(infer, "there must be one coordinate for each dim of", map, "", NULL);
    return no_result(infer);
}

/* A map in im2col mode has one offset for each spatial dim. The map's attributes may be set later,
 * so the verifier compares the mode. */
bool tile_infer_tma_load(tile_infer *infer) {
    unsigned count;
    const tile_type *map = type_of(infer, TILE_OPERAND_map);
    segment(infer, TILE_OPERAND_offsets, &count);
    if (count && count + 2 != map->rank)
        return fail(infer,
                    "there must be one offset for each spatial dim, all but the first and last,"
                    " of",
                    map, "", NULL);
    return check_box(infer, 0, 3);
}

bool tile_infer_tma_store(tile_infer *infer) {
    return check_box(infer, 1, 0);
}

static bool check_bytes(tile_infer *infer, unsigned bytes_operand) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src),
                    *to = type_of(infer, TILE_OPERAND_dst);
    unsigned count;
    int64_t bytes;
    if (!same_element(from, to)) return fail(infer, "the element types differ:", from, " and", to);
    if (tile_value_is_int(infer->function, segment_at(infer, bytes_operand, &count)[0], &bytes) &&
        (bytes < 16 || bytes % 16))
        return fail(infer, "the number of bytes must be a multiple of 16", NULL, "", NULL);
    return no_result(infer);
}

bool tile_infer_bulk_load(tile_infer *infer) {
    return check_bytes(infer, 2);
}

bool tile_infer_bulk_store(tile_infer *infer) {
    return check_bytes(infer, 2);
}

bool tile_infer_copy_async(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src);
    if (!tile_infer_copy(infer)) return false;
    return from->kind == TILE_TYPE_VIEW || !type_of(infer, TILE_OPERAND_bar) ||
           fail(infer, "a copy to a view takes no barrier; wait for it by `bulk_wait`", NULL, "",
                NULL);
}

bool tile_infer_store_async(tile_infer *infer) {
    const tile_type *tile = type_of(infer, TILE_OPERAND_src),
                    *ring = type_of(infer, TILE_OPERAND_ring);
    if (!ring)
        return fail(infer, "write a ring of shared buffers as the operand after the view", NULL, "",
                    NULL);
    return tile_infer_store(infer) && tile_infer_check_part(infer, ring, tile);
}
