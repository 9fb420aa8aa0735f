/* Stores results of a specialized loop piece by piece, through a ring of small buffers. The store
 * of a piece overlaps the writing of the next one, and the last stores overlap the dots of the next
 * tile. */
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/store_ring.h"
#include "lib/analysis/tensor_map.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/ops/gather.h"
#include "lib/support/integer.h"
#include "passes/common/warpgroup.h"
#include "passes/warps/specialize.h"

/* Returns whether op may depend on the completed copy to the view, for which it does not wait. */
static bool needs_wait(const tile_function *f, tile_op op, tile_value view) {
    const unsigned orders = TILE_EFFECT_ACQUIRE | TILE_EFFECT_RELEASE | TILE_EFFECT_CLUSTER |
                            TILE_EFFECT_ATOMIC | TILE_EFFECT_REGION;
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, accesses);
    bool meets = (tile_op_effects(f, op) & orders) != 0;
    for (unsigned i = 0; i < count; i++)
        meets |= !accesses[i].shared && tile_may_alias(f, accesses[i].memory, view);
    return meets;
}

/* The operation after op, or after the branches that op ends. */
static tile_op next_after(const warp_specialization *s, tile_op op) {
    const tile_function *f = s->ring.f;
    uint32_t region = tile_op_at(f, s->final_wait)->parent.id;
    while (!tile_op_next(f, op).id && tile_op_at(f, op)->parent.id != region)
        op = tile_op_parent(f, op);
    return tile_op_next(f, op);
}

/* The same, but enters op if it is a branch, as in grids rounded up to whole clusters, where excess
 * blocks skip the branch. */
static tile_op next_entering_branch(const warp_specialization *s, tile_op op) {
    const tile_function *f = s->ring.f;
    if (tile_op_opcode(f, op) == TILE_OP_if && !tile_op_result_count(f, op))
        return tile_region_first(f, tile_op_region(f, op, 0));
    return next_after(s, op);
}

/* Returns NULL if the store can be asynchronous, or why not; *remedy: advice for the user, or
 * NULL. */
static const char *find_obstacle(const warp_specialization *s, tile_op op, const char **remedy) {
    const tile_function *f = s->ring.f;
    const tile_type *tile = tile_value_type(f, tile_operand_src(f, op));
    tile_value view = tile_operand_dst(f, op);
    *remedy = NULL;
    if (tile->rank != 2) return "its tile is not the result of a product";
    *remedy = "move it to the end";
    for (tile_op next = next_after(s, op); next.id; next = next_after(s, next))
        if (needs_wait(f, next, view) && tile_stores_may_alias(f, op, next))
            return "code after it may need the completed store";
    *remedy = "add `independent` to the loop around it, if its iterations are tiles of the grid";
    for (unsigned i = 0; i < s->outer_loop_count; i++)
        if (!tile_op_has_attr(f, s->outer_loops[i], TILE_ATTR_independent))
            return "the next iteration may need it complete";
    return NULL;
}

/* The ring ------------------------------------------------------------------------------------- */

void specialize_count_bytes(const warp_specialization *s, int64_t *released, int64_t *others) {
    enum { ALIGNMENT = 1024, OF_BARRIERS = 128 };
    const tile_function *f = s->ring.f;
    bool frees = !s->outer_loop_count && s->consumer_groups == 1;
    *released = *others = 0;
    for (uint32_t id = 1; id < f->op_count; id++) {
        int64_t stride;
        tile_op op = {id};
        if (!tile_op_is_alloc((tile_opcode)f->ops[id].opcode)) continue;
        bool barriers = f->ops[id].opcode == TILE_OP_alloc_barrier, staged = false;
        int64_t bytes = tile_alloc_bytes(f, op, &stride);
        for (unsigned i = 0; i < s->ring.plan.copy_count; i++)
            staged |= tile_op_result(f, op, 0).id == s->ring.buffers[i].id;
        bytes = tile_round_up(bytes > 0 ? bytes : 0, barriers ? OF_BARRIERS : ALIGNMENT);
        *(staged && frees ? released : others) += bytes;
    }
}

/* The dim of the tile that contains the dot's rows. */
static unsigned row_dim_of(const warp_specialization *s, const tile_type *tile) {
    const tile_function *f = s->ring.f;
    unsigned row_dim = TILE_WGMMA_PLAIN;
    TILE_FOR_EACH_OP (f, op, tile_op_region(f, s->ring.plan.loop, 0)) {
        if (tile_op_opcode(f, op) != TILE_OP_dot) continue;
        const tile_type *acc = warpgroup_operand(f, op, TILE_MMA_ACC);
        if (acc->dims[0] == tile->dims[0] && acc->dims[1] == tile->dims[1] &&
            warpgroup_row_dim(f, op, &row_dim))
            break;
    }
    return row_dim;
}

/* Stores share a ring if their pieces have the same shape, because they run in sequence. */
typedef struct store_rings {
    tile_value buffers[TILE_MAX_OPERANDS];
    unsigned count, stores;
} store_rings;

static tile_value make_ring(warp_specialization *s, store_rings *rings, tile_op op) {
    tile_function *f = s->ring.f;
    tile_context *context = tile_function_context(f);
    const tile_type *tile = tile_value_type(f, tile_operand_src(f, op));
    tile_store_ring chosen;
    tile_store_query query = {.row_dim = row_dim_of(s, tile),
                              .element_bytes = tile_scalar_bytes(tile->scalar),
                              .warps = s->warps,
                              .sets = s->consumer_groups,
                              .block_warps = s->warps * s->consumer_groups + WARPGROUP,
                              .alone = rings->stores == 1};
    if (s->warps * s->consumer_groups > WARPGROUP)
        query.registers = tile_entry_registers(query.block_warps);
    for (unsigned d = 0; d < 2; d++) query.dims[d] = (uint32_t)tile_type_dim(tile, d);
    for (unsigned i = 0; i < rings->count; i++) {
        const tile_type *other = tile_value_type(f, rings->buffers[i]);
        const uint32_t extents[2] = {(uint32_t)tile_type_dim(other, 0),
                                     (uint32_t)tile_type_dim(other, 1)};
        if (other->scalar == tile->scalar && tile_fits_store_ring(&query, extents))
            return rings->buffers[i];
    }
    specialize_count_bytes(s, &query.released, &query.others);
    if (!tile_choose_store_ring(s->ring.pass->target, &query, &chosen)) return TILE_NO_VALUE;
    const int64_t dims[2] = {chosen.extents[0], chosen.extents[1]};
    const tile_type *type = tile_type_shared(context, tile->scalar, chosen.stages, 2, dims);
    if (rings->count == TILE_MAX_OPERANDS) return TILE_NO_VALUE;
    tile_builder b = tile_builder_before(f, s->outer_loop_count ? specialize_outermost_op(s) : op);
    b.loc = tile_op_loc(f, op);
    return rings->buffers[rings->count++] = tile_build_alloc_shared(&b, type);
}

/* Stores --------------------------------------------------------------------------------------- */

static void replace_store(warp_specialization *s, tile_op op, tile_value buffer) {
    tile_function *f = s->ring.f;
    tile_value to[1 + TILE_MAX_RANK];
    const tile_values view = tile_operands_dst(f, op);
    for (unsigned i = 0; i < view.count; i++) to[i] = view.at[i];
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    tile_build_store_async(&b, tile_operand_src(f, op), to[0], to + 1, view.count - 1, buffer);
    ring_copy_cache_attrs(&s->ring, &b, op);
    tile_erase_op(f, op);
}

/* Excludes scratch: its address is known only at launch, so it has no tensor map, and opaque
 * scratch stores registers in their own order. */
static bool is_result(const tile_function *f, tile_op op) {
    if (tile_op_opcode(f, op) != TILE_OP_store || !tile_is_plain_access(f, op)) return false;
    tile_op def = tile_value_def(f, tile_operand_dst(f, op));
    return !def.id || tile_op_opcode(f, def) != TILE_OP_scratch;
}

/* Returns the first store at or after op, or TILE_NO_OP. */
static tile_op find_store(const warp_specialization *s, tile_op op) {
    while (op.id && !is_result(s->ring.f, op)) op = next_entering_branch(s, op);
    return op;
}

/* Reports stores after the enclosing loops, where the producer role has ended; they remain ordinary
 * stores. */
static void report_last(const warp_specialization *s) {
    const tile_function *f = s->ring.f;
    tile_op op = s->outer_loop_count ? tile_op_next(f, specialize_outermost_op(s)) : TILE_NO_OP;
    for (; op.id; op = tile_op_next(f, op))
        if (is_result(f, op) && tile_value_type(f, tile_operand_src(f, op))->rank == 2)
            tile_missed_at(f, op, "no TMA", "combine the two loops into one",
                           "it comes after a loop around the pipelined one");
}

void specialize_stores(warp_specialization *s, tile_region region) {
    tile_function *f = s->ring.f;
    store_rings rings = {.count = 0};
    const char *remedy;
    tile_op first = find_store(s, next_after(s, s->final_wait)), next;
    for (tile_op op = first; op.id; op = find_store(s, next_entering_branch(s, op)))
        rings.stores += !find_obstacle(s, op, &remedy);
    for (tile_op op = first; op.id; op = next) {
        next = find_store(s, next_entering_branch(s, op));
        const char *help, *why = find_obstacle(s, op, &help);
        tile_value view = tile_operand_dst(f, op);
        /* no remark for tiles of one value per row, such as sums and maxima */
        bool silent = tile_value_type(f, tile_operand_src(f, op))->rank < 2;
        const char *no_map = tile_view_cannot_have_map(f, view, s->ring.pass->scratch, &remedy);
        if (no_map && !silent) tile_missed_at(f, op, "no TMA", remedy, "%s", no_map);
        tile_value buffer = why ? TILE_NO_VALUE : make_ring(s, &rings, op);
        if (buffer.id)
            replace_store(s, op, buffer);
        else if (!no_map)
            tile_missed_at(f, op, "no TMA", why ? help : "use one stage less", "%s",
                           why ? why : "shared memory is too small for pieces of its tile");
    }
    report_last(s);
    if (!rings.count) return;
    tile_builder b = tile_builder_before(f, tile_region_yield(f, region));
    b.loc = tile_op_loc(f, specialize_outermost_op(s));
    tile_build_bulk_wait(&b, tile_build_int(&b, 0));
    tile_op_set_flag(f, tile_op_at(f, b.before)->prev, TILE_ATTR_read); /* before threads exit */
}
