/* The rules of accesses whose brackets may contain index tiles. All index tiles of an access have
 * the same shape S. The moved tile has the shape S, followed by extents along the memory's last
 * dims, whose indices are scalar starts. */
#include "lib/builder/infer_rules.h"
#include "lib/ir/accumulator.h"
#include "lib/ops/shape.h"

/* The indices of an element operand, by dim, and the number of dims. */
static const tile_value *indices_of(const tile_infer *infer, unsigned operand, unsigned *rank) {
    unsigned count;
    const tile_value *values = segment_at(infer, operand, &count);
    const tile_type *memory = tile_value_type(infer->function, values[0]);
    unsigned stages = memory->stages != NULL;
    *rank = memory->rank;
    return count == 1u + stages + memory->rank ? values + 1 + stages : NULL;
}

static const tile_type *tile_at(const tile_infer *infer, tile_value index) {
    const tile_type *type = tile_value_type(infer->function, index);
    return type->kind == TILE_TYPE_TILE ? type : NULL;
}

const tile_type *tile_infer_points(const tile_infer *infer, unsigned operand) {
    unsigned rank;
    const tile_value *index = indices_of(infer, operand, &rank);
    for (unsigned d = 0; index && d < rank; d++)
        if (tile_at(infer, index[d])) return tile_at(infer, index[d]);
    return NULL;
}

static bool check_shapes_of_points(const tile_infer *infer, const tile_value *index, unsigned rank,
                                   const tile_type *points) {
    for (unsigned d = 0; d < rank; d++) {
        const tile_type *tile = tile_at(infer, index[d]);
        if (tile && !same_dims(infer, tile, points))
            return fail(infer, "the index tiles of one access must have one shape, not", points,
                        " and", tile);
    }
    return true;
}

bool tile_infer_check_points(const tile_infer *infer, unsigned operand, const tile_type *moved) {
    unsigned rank;
    const tile_value *index = indices_of(infer, operand, &rank);
    const tile_type *points = tile_infer_points(infer, operand);
    if (!points) return true;
    if (!check_shapes_of_points(infer, index, rank, points)) return false;
    bool begins = moved->rank >= points->rank;
    for (unsigned d = 0; begins && d < points->rank; d++)
        begins = same_extent(infer, moved->dims[d], points->dims[d]);
    if (!begins)
        return fail(infer,
                    "a tile at index tiles has their shape first, then the extents of the "
                    "dims with scalar starts:",
                    moved, " at", points);
    unsigned covered = moved->rank - points->rank;
    if (covered > rank)
        return fail(infer,
                    "the memory has fewer dims than the tile has after those of its index tiles:",
                    moved, " of", type_at(infer, operand));
    for (unsigned d = rank - covered; d < rank; d++)
        if (tile_at(infer, index[d]))
            return fail(infer,
                        "index tiles must come before scalar starts: along the memory's last dims "
                        "the tile extends from scalars, not from",
                        tile_at(infer, index[d]), " for", moved);
    return true;
}

bool tile_infer_check_predicate(const tile_infer *infer, unsigned operand, const tile_type *moved) {
    const tile_type *predicate = type_at(infer, operand);
    if (!predicate || predicate->kind == TILE_TYPE_SCALAR) return true;
    bool fits = predicate->kind == TILE_TYPE_TILE && same_dims(infer, predicate, moved);
    return fits || fail(infer,
                        "the predicate must have the shape of what is moved (extents of 1 are "
                        "stretched) or be a scalar, not",
                        predicate, " for", moved);
}

/* Checks the element type, and the memory's last dims unless index tiles replace them. */
static bool check_moved(const tile_infer *infer, const tile_type *moved, unsigned memory_operand,
                        unsigned predicate_operand) {
    const tile_type *memory = type_at(infer, memory_operand);
    if (!tile_elements_may_agree(moved, memory))
        return tile_infer_refuse_elements(infer, moved, memory);
    bool gathers = tile_infer_points(infer, memory_operand);
    if (!gathers && moved->rank > memory->rank)
        return tile_infer_refuse_shapes(infer, moved, memory);
    return tile_infer_check_points(infer, memory_operand, moved) &&
           tile_infer_check_predicate(infer, predicate_operand, moved);
}

/* The result has elements of i1 instead of the memory's. */
bool tile_infer_inside(tile_infer *infer) {
    const tile_type *to = infer->given, *view = type_of(infer, TILE_OPERAND_src);
    bool gathers = tile_infer_points(infer, 0);
    if (to->scalar != TILE_i1 || (to->kind != TILE_TYPE_TILE && to->kind != TILE_TYPE_SCALAR))
        return fail(infer, "the result must be a tile of i1, or an i1, not", to, "", NULL);
    if (!gathers && to->rank > view->rank)
        return fail(infer, "the shapes do not match:", to, " and", view);
    return result(infer, to) && tile_infer_check_points(infer, 0, to);
}

/* The axis is not known here, so tile_verify_gather checks it. */
bool tile_infer_gather(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src), *at = type_of(infer, TILE_OPERAND_at),
                    *buffer = type_of(infer, TILE_OPERAND_buffer);
    if (src->kind != TILE_TYPE_TILE && src->kind != TILE_TYPE_TENSOR)
        return fail(infer, "operand 'src' must be a tile or a tensor, not", src, "", NULL);
    if (at->kind != src->kind || at->rank != src->rank ||
        (!at->param && at->scalar != TILE_i32 && at->scalar != TILE_i64))
        return fail(infer, "the indices must be of i32 or i64 and of src's kind and rank, not", at,
                    " for", src);
    if (buffer && (buffer->stages || !same_dims(infer, src, buffer) || !same_element(src, buffer)))
        return fail(infer, "the buffer must have src's shape and no stages, not", buffer, " for",
                    src);
    tile_type draft = *at;
    draft.scalar = src->scalar;
    draft.param = src->param;
    return result(infer, tile_type_get(tile_function_context(infer->function), &draft));
}

bool tile_infer_element(tile_infer *infer) {
    const tile_type *src = type_of(infer, TILE_OPERAND_src);
    unsigned count;
    segment(infer, TILE_OPERAND_at, &count);
    if (count != src->rank) {
        tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                    "%%t[..]: the tile has %u dims, and there are %u coordinates", src->rank,
                    count);
        return false;
    }
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .scalar = src->scalar, .param = src->param};
    return result(infer, tile_type_get(tile_function_context(infer->function), &draft));
}

static bool is_movable(const tile_type *type) {
    return type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_SCALAR;
}

/* Checks an access to single elements of a shared buffer: a tile with the shape of its index tiles,
 * or one element. The predicate is the operand after the buffer. */
static bool check_in_buffer(const tile_infer *infer, const tile_type *moved, unsigned operand) {
    const tile_type *buffer = type_at(infer, operand);
    bool scalar = moved->kind == TILE_TYPE_SCALAR;
    if (!same_element(moved, buffer)) return tile_infer_refuse_elements(infer, moved, buffer);
    if (scalar && !tile_infer_is_part(infer, operand))
        return fail(infer, "an access to one element needs an index for each dim of", buffer, "",
                    NULL);
    if (!scalar && !tile_infer_points(infer, operand))
        return fail(infer,
                    operand ? "without index tiles, use store_shared to store a tile to"
                            : "without index tiles, use load_shared to load a tile from",
                    buffer, "", NULL);
    return tile_infer_check_points(infer, operand, moved) &&
           tile_infer_check_predicate(infer, operand + 1, moved);
}

static bool check_access(const tile_infer *infer, const tile_type *moved, unsigned operand) {
    return type_at(infer, operand)->kind == TILE_TYPE_VIEW
               ? check_moved(infer, moved, operand, operand + 1)
               : check_in_buffer(infer, moved, operand);
}

bool tile_infer_load_view(tile_infer *infer) {
    const tile_type *to = infer->given;
    if (!to || !is_movable(to))
        return fail(infer, "the result must be a tile, or a scalar", NULL,
                    to ? ", not" : "; write its type after ':'", to);
    return result(infer, to) && check_access(infer, to, 0);
}

/* No tile is made, so extents that no tile may have are allowed. */
bool tile_infer_prefetch_l2(tile_infer *infer) {
    unsigned count;
    const tile_type *view = type_of(infer, TILE_OPERAND_src);
    const tile_value *extents = segment(infer, TILE_OPERAND_extents, &count);
    int64_t elements = 1;
    if (!count || count > view->rank)
        return fail(infer, "there must be extents for the last dims of", view, "", NULL);
    for (unsigned d = 0; d < count; d++) {
        int64_t extent = 1;
        tile_value_is_int(infer->function, extents[d], &extent);
        if (extent < 1 || extent > TILE_MAX_TILE_ELEMENTS ||
            (elements *= extent) > TILE_MAX_TILE_ELEMENTS)
            return fail(infer,
                        "extents must be at least 1, and their product at most the 1048576 "
                        "elements of a tile",
                        NULL, "", NULL);
    }
    return no_result(infer);
}

bool tile_infer_store_view(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src);
    if (!is_movable(from))
        return fail(infer, "operand 'src' must be a tile or a scalar, not", from, "", NULL);
    return no_result(infer) && check_access(infer, from, 1);
}
