/* Results of a specialised loop go to memory by boxes: a buffer takes the tile, one thread starts
 * its copy, and the next tile's products run while it is under way. */
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "passes/tile/specialize.h"

enum { ROW_BYTES = 32, ROWS = 8 }; /* of a buffer that boxes tile: multiples of these */

/* Whether op must not begin before the copy to the view is complete, of which it knows nothing. */
static bool must_wait(const tile_function *f, tile_op op, tile_value view) {
    const unsigned orders = TILE_EFFECT_ACQUIRE | TILE_EFFECT_RELEASE | TILE_EFFECT_CLUSTER |
                            TILE_EFFECT_ATOMIC | TILE_EFFECT_REGION;
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, accesses);
    bool meets = (tile_op_effects(f, op) & orders) != 0;
    for (unsigned i = 0; i < count; i++)
        meets |= !accesses[i].shared && tile_may_alias(f, accesses[i].memory, view);
    return meets;
}

/* NULL if the store can be a copy of boxes, or why not; *remedy: what to write. */
static const char *find_obstacle(const specialist *s, tile_op op, const char **remedy) {
    unsigned size;
    const tile_function *f = s->ring.f;
    const tile_type *tile = tile_value_type(f, tile_op_operand(f, op, 0));
    tile_value view = *tile_op_segment(f, op, 1, &size);
    const tile_value_data *data = tile_value_at(f, view);
    *remedy = "say {tensor_map} of the argument, or launch with arrays that tensor maps take";
    if (data->kind != TILE_VALUE_ARG || !f->args[data->index].tensor_map)
        return "a tensor map may not be able to describe the view's array";
    *remedy = NULL;
    if (tile->rank != 2 || data->type->scalar != tile->scalar ||
        tile_type_dim(tile, 1) * tile_scalar_bytes(tile->scalar) % ROW_BYTES != 0 ||
        tile_type_dim(tile, 0) % ROWS != 0)
        return "its tile does not consist of boxes, 8 rows of 32 bytes";
    for (tile_op next = tile_op_at(f, op)->next; next.id; next = tile_op_at(f, next)->next)
        if (must_wait(f, next, view)) return "what comes behind it may need it complete";
    for (unsigned i = 0; i < s->around_count; i++)
        if (!tile_op_has_attr(f, s->around[i], TILE_ATTR_independent))
            return "the next iteration may need it complete";
    return NULL;
}

/* Until all copies of this thread are complete, or have read their buffers. */
static void build_wait(tile_builder *b, bool read) {
    tile_build_bulk_wait(b, tile_build_int(b, 0));
    tile_op built = b->before.id ? tile_op_at(b->function, b->before)->prev
                                 : tile_region_at(b->function, b->region)->last;
    if (read) tile_op_set_flag(b->function, built, TILE_ATTR_read);
}

static void replace_store(specialist *s, tile_op op, tile_value buffer) {
    unsigned size;
    tile_function *f = s->ring.f;
    tile_value tile = tile_op_operand(f, op, 0), to[1 + TILE_MAX_RANK];
    const tile_value *view = tile_op_segment(f, op, 1, &size);
    for (unsigned i = 0; i < size; i++) to[i] = view[i];
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    build_wait(&b, true);
    tile_build_store_shared(&b, tile, buffer, NULL, 0);
    tile_build_copy_async(&b, buffer, NULL, 0, to[0], to + 1, size - 1, TILE_NO_VALUE, NULL, 0);
    ring_keep_cache(&s->ring, &b, op);
    tile_build_bulk_commit(&b);
    tile_erase_op(f, op);
}

void specialize_stores(specialist *s, tile_region region) {
    tile_function *f = s->ring.f;
    bool any = false;
    tile_op top = specialize_top(s);
    tile_op next = tile_op_at(f, s->done)->next;
    for (tile_op op = next; op.id; op = next) {
        next = tile_op_at(f, op)->next;
        if (tile_op_opcode(f, op) != TILE_OP_store) continue;
        const char *remedy, *why = find_obstacle(s, op, &remedy);
        if (why) {
            tile_remark_missed(f, op, "no TMA", why, remedy);
            continue;
        }
        const tile_type *tile = tile_value_type(f, tile_op_operand(f, op, 0));
        const int64_t dims[2] = {tile_type_dim(tile, 0), tile_type_dim(tile, 1)};
        tile_builder b = tile_builder_before(f, s->around_count ? top : op);
        b.loc = tile_op_loc(f, op);
        replace_store(s, op,
                      tile_build_alloc_shared(&b, tile_type_shared(tile_function_context(f),
                                                                   tile->scalar, 0, 2, dims)));
        any = true;
    }
    if (!any) return;
    tile_builder b = tile_builder_before(f, tile_region_yield(f, region));
    b.loc = tile_op_loc(f, top);
    build_wait(&b, false);
}
