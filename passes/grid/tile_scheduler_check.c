#include "passes/grid/tile_scheduler_check.h"

static bool is_wait(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    return opcode == TILE_OP_lock_semaphore || opcode == TILE_OP_wait_value ||
           opcode == TILE_OP_wait_acquire;
}

static bool rejects_clusters(tile_function *f) {
    if (!f->is_persistent || !f->cluster_rank) return false;
    if (f->cost) {
        tile_error_at(f, TILE_NO_OP,
                      "`persistent balanced by` and `cluster` cannot be combined: the tiles of a "
                      "cluster are neighbors in the grid; remove one of them");
        return true;
    }
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (!is_wait(f, op)) continue;
        tile_error_of(
            f, op,
            "@%s is `persistent` and has clusters: not all of them may run at the same time, so "
            "that no tile may wait for another one; remove `cluster` or `persistent`",
            f->name);
        return true;
    }
    return false;
}

/* A block allocates its barriers once, and their phases continue from tile to tile. */
static bool rejects_barriers(tile_pass *pass, tile_function *f) {
    unsigned count;
    const tile_op *barriers = tile_find_ops(f, TILE_OP_alloc_barrier, pass->scratch, &count);
    if (!f->is_persistent || !count) return false;
    tile_error_at(
        f, barriers[0],
        "alloc_barrier: @%s is `persistent`, and every tile of a block would allocate new "
        "barriers; write the loop over tiles yourself, after alloc_barrier, or remove `persistent`",
        f->name);
    return true;
}

bool tile_scheduler_is_refused(tile_pass *pass, tile_function *f) {
    return rejects_clusters(f) || rejects_barriers(pass, f);
}
