/* Accesses of tiles that have more dims than the view: see the header. */
#include "lib/builder/lower_rank.h"

#include "lib/builder/builder.h"
#include "lib/ir/operands.h"

static const tile_type *type_of(const tile_builder *b, tile_value value) {
    return tile_value_type(b->function, value);
}

/* Places of the view and of the predicate. */
static unsigned place_of_memory(tile_opcode opcode) {
    return tile_place_of(opcode, opcode == TILE_OP_load ? TILE_OPERAND_src : TILE_OPERAND_dst);
}

static const tile_type *moved_type(const tile_builder *b, tile_opcode opcode,
                                   const tile_segment *segments, const tile_type *type) {
    return opcode == TILE_OP_load
               ? type
               : type_of(b, segments[tile_place_of(opcode, TILE_OPERAND_src)].head);
}

/* The type without its first `count` extents of 1; false: there are not as many. */
static bool drop_ones(const tile_type *type, unsigned count, tile_type *dropped) {
    *dropped = *type;
    dropped->rank = 0;
    dropped->layout = NULL;
    for (unsigned d = 0; d < type->rank; d++) {
        bool drops = count && tile_expr_is(type->dims[d], 1);
        count -= drops;
        if (!drops) dropped->dims[dropped->rank++] = type->dims[d];
    }
    return count == 0;
}

bool tile_lowers_rank(const tile_builder *builder, tile_opcode opcode, const tile_segment *segments,
                      const tile_type *type) {
    tile_type dropped;
    if (opcode != TILE_OP_load && opcode != TILE_OP_store) return false;
    const tile_segment *memory = &segments[place_of_memory(opcode)];
    const tile_type *moved = moved_type(builder, opcode, segments, type);
    const tile_type *view = type_of(builder, memory->head);
    if (!moved || !view || view->kind != TILE_TYPE_VIEW || moved->rank <= view->rank ||
        (moved->kind != TILE_TYPE_TILE && !tile_type_is_extents(moved)))
        return false;
    for (unsigned i = 0; i < memory->tail_count; i++)
        if (type_of(builder, memory->tail[i])->kind == TILE_TYPE_TILE) return false;
    return drop_ones(moved, moved->rank - view->rank, &dropped);
}

static tile_value reshape(tile_builder *b, tile_value value, const tile_type *like) {
    tile_type draft = *like;
    draft.kind = TILE_TYPE_TILE;
    draft.scalar = type_of(b, value)->scalar;
    draft.param = type_of(b, value)->param;
    return tile_build_reshape(b, value, TILE_NO_VALUE,
                              tile_type_get(tile_function_context(b->function), &draft));
}

/* A predicate with the dims of the tile loses the same ones. */
static tile_value lower_predicate(tile_builder *b, tile_value predicate, const tile_type *moved,
                                  const tile_type *dropped) {
    const tile_type *own = type_of(b, predicate);
    if (own->kind != TILE_TYPE_TILE || own->rank != moved->rank) return predicate;
    tile_type draft = *moved;
    draft.kind = TILE_TYPE_TILE;
    draft.scalar = own->scalar;
    draft.param = own->param;
    draft.layout = NULL;
    const tile_type *whole = tile_type_get(tile_function_context(b->function), &draft);
    if (own != whole) predicate = tile_build_broadcast(b, predicate, whole);
    return predicate.id ? reshape(b, predicate, dropped) : predicate;
}

tile_op tile_build_lower_rank(tile_builder *builder, tile_opcode opcode,
                              const tile_segment *segments, unsigned count, const tile_type *type,
                              const tile_attr *attrs, unsigned attr_count) {
    tile_context *context = tile_function_context(builder->function);
    unsigned memory = place_of_memory(opcode), predicate = memory + 1;
    const tile_type *moved = moved_type(builder, opcode, segments, type);
    const tile_type *view = type_of(builder, segments[memory].head);
    tile_segment own[TILE_MAX_OPERANDS];
    tile_type dropped;
    drop_ones(moved, moved->rank - view->rank, &dropped);
    for (unsigned i = 0; i < count; i++) own[i] = segments[i];
    if (own[predicate].head.id &&
        !(own[predicate].head = lower_predicate(builder, own[predicate].head, moved, &dropped)).id)
        return TILE_NO_OP;
    if (opcode == TILE_OP_store) {
        own[0].head = reshape(builder, own[0].head, &dropped);
        if (!own[0].head.id) return TILE_NO_OP;
        return tile_build_op_of(builder, opcode, own, count, NULL, attrs, attr_count);
    }
    tile_op load = tile_build_op_of(builder, opcode, own, count, tile_type_get(context, &dropped),
                                    attrs, attr_count);
    if (!load.id) return TILE_NO_OP;
    tile_value result = reshape(builder, tile_op_result(builder->function, load, 0), moved);
    return result.id ? tile_value_def(builder->function, result) : TILE_NO_OP;
}
