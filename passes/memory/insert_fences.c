/* Inserts fence_async after ordinary writes to buffers that wgmma reads, or that are copied to
 * views: see pending_accesses.h.
 *
 * These operations read through the async proxy. It only sees writes of the generic proxy
 * (st.shared, cp.async) after a fence.proxy.async of the thread that wrote. A write is complete
 * immediately, a copy_async after a wait_group that covers it. So a fence follows the last of
 * several consecutive writes, and each wait_group if any copy_async writes such a buffer. It then
 * precedes every barrier that orders the write, no matter who inserted it. Copies by TMA need no
 * fence, and copies that a barrier counts are ordered by the threads that arrive there. */
#include "lib/analysis/memory.h"
#include "passes/common/warpgroup.h"
#include "passes/memory/pending_accesses.h"

typedef struct fences {
    tile_function *f;
    bool *read;  /* by value: buffers that wgmma reads or that are copied to a view */
    bool copied; /* one of them is written by asynchronous copies */
    long count;
} fences;

static bool writes(const fences *all, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(all->f, op, accesses);
    bool found = false;
    for (unsigned i = 0; i < count; i++)
        found |= accesses[i].shared && accesses[i].write &&
                 all->read[tile_shared_source(all->f, accesses[i].memory).id];
    return found;
}

static bool is_copy(const tile_function *f, tile_op op) {
    return tile_op_get_info(tile_op_opcode(f, op))->completion == TILE_COMPLETION_STARTS;
}

static bool needs_fence(const fences *all, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(all->f, op));
    if (info->completion == TILE_COMPLETION_WAITS && info->mechanism == TILE_MECHANISM_GROUP)
        return all->copied;
    return info->completion == TILE_COMPLETION_NOW && writes(all, op);
}

/* The next operation with an effect. */
static tile_op next_effect(const tile_function *f, tile_op op) {
    do op = tile_op_next(f, op);
    while (op.id && !tile_op_effects(f, op));
    return op;
}

static void put_fence(fences *all, tile_op op) {
    tile_function *f = all->f;
    if (!needs_fence(all, op)) return;
    tile_op next = next_effect(f, op);
    if (next.id && (tile_op_opcode(f, next) == TILE_OP_fence_async || needs_fence(all, next)))
        return; /* that fence covers both */
    tile_builder b = tile_builder_before(f, op);
    b.before = tile_op_at(f, op)->next;
    tile_build_fence_async(&b);
    all->count++;
}

long insert_fences(tile_function *f, tile_arena *scratch) {
    fences all = {.f = f, .read = warpgroup_buffers(f, scratch)};
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_copy_async &&
            tile_op_mechanism(f, op) == TILE_MECHANISM_BULK_GROUP)
            all.read[tile_operand_src(f, op).id] = true;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        all.copied |=
            is_copy(f, op) && tile_op_mechanism(f, op) == TILE_MECHANISM_GROUP && writes(&all, op);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) put_fence(&all, op);
    return all.count;
}
