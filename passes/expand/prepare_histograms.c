/* Histograms: clears a shared buffer, then each thread atomically adds 1 at the index of each of
 * its elements. */
#include "passes/common/replace_result.h"
#include "passes/expand/prepare.h"

static const tile_type *like(tile_function *f, const tile_type *type, tile_type_kind kind,
                             tile_scalar scalar) {
    tile_type draft = *type;
    draft.kind = kind;
    draft.scalar = scalar;
    draft.layout = NULL;
    return tile_type_get(tile_function_context(f), &draft);
}

/* Casts to the type of index tiles. */
static tile_value index_of(tile_builder *b, tile_value src) {
    const tile_type *type = tile_value_type(b->function, src);
    if (type->scalar == TILE_i32 || type->scalar == TILE_i64) return src;
    tile_scalar index = type->scalar == TILE_u64 ? TILE_i64 : TILE_i32;
    return tile_build_cast(b, src, like(b->function, type, TILE_TYPE_TILE, index));
}

/* Stores the zeros before the elements are loaded, not after the wait for them. */
static tile_value build_zeros(tile_function *f, tile_op op, const tile_type *to) {
    tile_op def = tile_value_def(f, tile_operand_src(f, op));
    bool loads = def.id && tile_op_opcode(f, def) == TILE_OP_load &&
                 tile_op_at(f, def)->parent.id == tile_op_at(f, op)->parent.id;
    tile_builder b = tile_builder_before(f, loads ? def : op);
    b.loc = tile_op_loc(f, op);
    tile_value buffer = tile_build_alloc_shared(&b, like(f, to, TILE_TYPE_SHARED, TILE_i32)),
               zeros = tile_build_zero(&b, like(f, to, TILE_TYPE_TILE, TILE_i32));
    tile_build_store_shared(&b, zeros, buffer, NULL, 0);
    return buffer;
}

static void prepare_histogram(tile_pass *pass, tile_function *f, tile_op op) {
    const tile_type *to = tile_value_type(f, tile_op_result(f, op, 0));
    tile_value buffer = build_zeros(f, op, to);
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    tile_value at = index_of(&b, tile_operand_src(f, op));
    tile_value old =
        tile_build_atomic(&b, tile_build_int(&b, 1), buffer, &at, 1, TILE_NO_VALUE, TILE_NO_VALUE);
    tile_op_set_text(f, tile_value_def(f, old), TILE_ATTR_kind, "add");
    tile_value counted = tile_build_load_shared(&b, buffer, NULL, 0, to);
    tile_build_free_shared(&b, buffer);
    replace_result(pass, f, op, counted);
}

void prepare_histograms(tile_pass *pass, tile_function *f) {
    unsigned count;
    const tile_op *ops = tile_find_ops(f, TILE_OP_histogram, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) prepare_histogram(pass, f, ops[i]);
}
