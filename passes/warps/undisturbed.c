/* Loads of shared buffers that a dot can read in place. */
#include "passes/warps/undisturbed.h"

#include "lib/analysis/memory.h"

/* Whether an operation leaves a buffer as it is, and is no barrier, behind which other threads
 * could write there. */
static bool leaves_alone(const tile_function *f, tile_op op, tile_value buffer) {
    tile_access accesses[TILE_MAX_ACCESSES];
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_alloc_shared:
    case TILE_OP_load:
    case TILE_OP_load_shared:
    case TILE_OP_store:
    case TILE_OP_store_shared:
    case TILE_OP_copy:
    case TILE_OP_dot: break;
    case TILE_OP_free_shared: return tile_operand_buffer(f, op).id != buffer.id;
    default: return !tile_op_effects(f, op);
    }
    bool alone = true;
    unsigned count = tile_op_accesses(f, op, accesses);
    for (unsigned i = 0; i < count; i++)
        alone &= !accesses[i].write || !accesses[i].shared ||
                 tile_shared_source(f, accesses[i].memory).id != buffer.id;
    return alone;
}

bool undisturbed_load(const tile_function *f, tile_op load, tile_value buffer, tile_op dot) {
    bool alone = tile_op_at(f, load)->parent.id == tile_op_at(f, dot)->parent.id;
    for (tile_op op = tile_op_next(f, load); alone && op.id && op.id != dot.id;
         op = tile_op_next(f, op))
        alone = leaves_alone(f, op, buffer);
    return alone;
}
