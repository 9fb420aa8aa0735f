#include "lib/analysis/executors.h"

#include <assert.h>

tile_executors tile_executors_of_block(const tile_function *f) {
    int64_t warps;
    bool known = f->warps && tile_expr_is_int(f->warps, &warps) && warps > 0;
    return (tile_executors){.warps = known && warps <= TILE_MAX_WARPS ? (unsigned)warps : 0};
}

tile_executors tile_executors_in(const tile_function *f, tile_region region) {
    (void)region;
    return tile_executors_of_block(f);
}

tile_executors tile_executors_of(const tile_function *f, tile_op op) {
    return tile_executors_in(f, tile_op_at(f, op)->parent);
}

tile_executors tile_executors_of_value(const tile_function *f, tile_value value) {
    const tile_value_data *data = tile_value_at(f, value);
    if (data->kind == TILE_VALUE_RESULT) return tile_executors_of(f, (tile_op){data->owner});
    if (data->kind == TILE_VALUE_REGION) return tile_executors_in(f, (tile_region){data->owner});
    return tile_executors_of_block(f);
}

unsigned tile_warp_bits(tile_executors who) {
    unsigned bits = 0;
    while (1u << bits < who.warps) bits++;
    return bits;
}

/* The constant, 0 while it is none. */
static unsigned constant_operand(const tile_function *f, tile_op op, unsigned operand) {
    int64_t integer;
    bool known = tile_value_is_int(f, tile_op_operand(f, op, operand), &integer);
    return known && integer > 0 && integer <= TILE_MAX_WARPS ? (unsigned)integer : 0;
}

tile_barrier tile_barrier_of(const tile_function *f, tile_op op) {
    if (tile_op_operand_count(f, op))
        return (tile_barrier){constant_operand(f, op, 0), constant_operand(f, op, 1)};
    return (tile_barrier){.warps = tile_executors_of(f, op).warps};
}

void tile_build_sync_for(tile_builder *builder, tile_executors who) {
    assert(who.warps == tile_executors_in(builder->function, builder->region).warps);
    (void)who;
    tile_build_sync(builder, TILE_NO_VALUE, TILE_NO_VALUE);
}
