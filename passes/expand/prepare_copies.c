/* Copies with index tiles, predicates and pads that go through registers: see the header. */
#include "lib/ir/remark.h"
#include "lib/ops/gather.h"
#include "passes/expand/prepare.h"

static bool is_copy(tile_opcode opcode) {
    return opcode == TILE_OP_copy || opcode == TILE_OP_copy_async;
}

/* Returns why an asynchronous copy becomes synchronous; NULL if it stays asynchronous or never
 * was. */
static const char *find_obstacle(const tile_function *f, tile_op op) {
    if (tile_op_opcode(f, op) != TILE_OP_copy_async) return NULL;
    if (tile_op_mechanism(f, op) == TILE_MECHANISM_BARRIER)
        return "a copy with a barrier moves boxes, which have no index tiles, no predicate and no "
               "pad";
    if (tile_op_mechanism(f, op) == TILE_MECHANISM_BULK_GROUP)
        return "TMA copies boxes, which have no index tiles, no predicate and no pad";
    return NULL;
}

static const tile_type *tile_of(tile_function *f, const tile_type *buffer, tile_scalar scalar) {
    tile_type draft = *buffer;
    draft.kind = TILE_TYPE_TILE;
    draft.scalar = scalar;
    draft.stages = NULL;
    draft.layout = NULL;
    return tile_type_get(tile_function_context(f), &draft);
}

/* Copies pad and cache hints of the copy to the access built last. */
static void copy_attrs(tile_function *f, const tile_builder *b, tile_op copy) {
    static const tile_attr_id ids[] = {TILE_ATTR_pad, TILE_ATTR_cache, TILE_ATTR_cache_if};
    tile_op built = tile_op_at(f, b->before)->prev;
    for (unsigned i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i] != TILE_ATTR_pad || tile_op_opcode(f, built) == TILE_OP_load)
            tile_op_take_attr(f, built, f, copy, ids[i]);
}

static void copy_through_registers(tile_function *f, tile_op op) {
    tile_gather g;
    const tile_values from = tile_operands_src(f, op), to = tile_operands_dst(f, op);
    tile_gather_of(f, op, &g);
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    const tile_type *buffer = g.type, *view = tile_value_type(f, g.memory);
    if (g.operand == 0) {
        const tile_type *type = tile_of(f, buffer, view->scalar);
        tile_value tile =
            tile_build_load(&b, from.at[0], from.at + 1, from.count - 1, g.predicate, type);
        copy_attrs(f, &b, op);
        if (buffer->scalar != view->scalar)
            tile = tile_build_cast(&b, tile, tile_of(f, buffer, buffer->scalar));
        tile_build_store_shared(&b, tile, to.at[0], to.at + 1, to.count - 1);
    } else {
        tile_value tile = tile_build_load_shared(&b, from.at[0], from.at + 1, from.count - 1,
                                                 tile_of(f, buffer, buffer->scalar));
        tile_build_store(&b, tile, to.at[0], to.at + 1, to.count - 1, g.predicate);
        copy_attrs(f, &b, op);
    }
    tile_erase_op(f, op);
}

void prepare_copies(tile_function *f) {
    for (uint32_t id = 1, count = f->op_count; id < count; id++) {
        tile_op op = {id};
        if (!is_copy(tile_op_opcode(f, op)) || tile_is_plain_access(f, op)) continue;
        const char *obstacle = find_obstacle(f, op);
        if (tile_op_opcode(f, op) == TILE_OP_copy_async && !obstacle) continue;
        if (obstacle)
            tile_missed_at(f, op, "not asynchronous",
                           "use copy_async to a buffer, without a barrier", "%s", obstacle);
        copy_through_registers(f, op);
    }
}
