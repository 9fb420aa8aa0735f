/* allocate-shared: assigns every shared buffer an offset in the block's shared memory.
 *
 * Shared memory limits the number of blocks per SM and the number of pipeline stages. Buffers with
 * disjoint live ranges (for example, the stages of a matmul and its epilogue) use the same bytes.
 *
 * level: 2 to 2
 * requires: instantiated, laid_out
 * keeps: instantiated, laid_out
 * breaks: nothing
 *
 * pipeline: allocate-shared
 * before:
 *   kernel @exchange(%p: ptr<f16>)
 *       grid [1]  warps 4
 *   {
 *     %g = view %p, [256, 64] : view<f16[256, 64]>
 *     %a = alloc_shared : shared<f16[64, 64]>
 *     %b = alloc_shared : shared<f16[128, 64]>
 *     copy %g[0, 0], %a
 *     copy %a, %g[64, 0]
 *     copy %g[128, 0], %b
 *     copy %b, %g[0, 0]
 *   }
 *
 * after:
 *   kernel @exchange(%p: ptr<f16>)
 *       grid [1]  warps 4
 *   {
 *     %g = view %p, [256, 64] : view<f16[256, 64]>
 *     %a = alloc_shared {offset = 0} : shared<f16[64, 64]>
 *     %b = alloc_shared {offset = 0} : shared<f16[128, 64]>
 *     copy %g[0, 0], %a
 *     copy %a, %g[64, 0]
 *     copy %g[128, 0], %b
 *     copy %b, %g[0, 0]
 *   }
 *
 * If a block's roles use all registers of an SM, no other block fits there. Its buffers then get
 * disjoint bytes if all of them fit, so that no thread waits for the reuse of a buffer.
 *
 * Phases:
 *
 * 1. Compute live ranges (lib/analysis/liveness.h).
 * 2. Place buffers, largest first, each at the lowest offset that does not overlap a buffer with an
 *    overlapping live range.
 * 3. Check the limit.
 *
 * insert-barriers runs later, because buffers that share bytes determine where threads race. */
#include <stdlib.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/liveness.h"
#include "lib/ir/describe.h"
#include "lib/support/integer.h"
#include "passes/common/warpgroup.h"
#include "passes/pass.h"

/* 128 bytes: all 32 banks, because a swizzle's bank arithmetic starts at bank 0. Descriptors of
 * wgmma need eight rows of a swizzle aligned to their size, at most 1024 bytes. */
enum { BUFFER_ALIGNMENT = 128, ATOM_ALIGNMENT = 1024 };

typedef struct place {
    tile_lifetime life;
    int64_t size, alignment;
    int64_t offset; /* -1: not placed yet */
} place;

static int by_size(const void *left, const void *right) {
    const place *const *a = left, *const *b = right;
    if ((*a)->size != (*b)->size) return (*a)->size < (*b)->size ? 1 : -1;
    return (*a)->life.alloc.id < (*b)->life.alloc.id ? -1 : 1;
}

/* The lowest offset at which the buffer overlaps no buffer with an overlapping live range; apart:
 * no buffer at all. */
static int64_t find_offset(const tile_function *f, const place *places, unsigned count,
                           const place *buffer, bool apart) {
    int64_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned i = 0; i < count; i++) {
            const place *other = &places[i];
            if (other->offset < 0 ||
                (!apart && !tile_live_together(f, &other->life, &buffer->life)) ||
                other->offset >= offset + buffer->size || offset >= other->offset + other->size)
                continue;
            offset = tile_round_up(other->offset + other->size, buffer->alignment);
            moved = true;
        }
    }
    return offset;
}

/* Lists the buffers that are live where most bytes are needed. */
static void report_too_large(tile_pass *pass, tile_function *f, const place *places, unsigned count,
                             int64_t total) {
    uint32_t peak = 0;
    int64_t peak_bytes = -1;
    for (unsigned i = 0; i < count; i++) {
        int64_t bytes = 0;
        for (unsigned j = 0; j < count; j++)
            if (places[j].life.first <= places[i].life.first &&
                places[i].life.first <= places[j].life.last)
                bytes += places[j].size;
        if (bytes > peak_bytes) {
            peak_bytes = bytes;
            peak = places[i].life.first;
        }
    }
    tile_error_at(f, TILE_NO_OP, "@%s needs %lld bytes of shared memory, %s has %u per block",
                  f->name, (long long)total, pass->target->name, pass->target->max_shared_bytes);
    for (unsigned i = 0; i < count; i++) {
        if (places[i].life.first > peak || places[i].life.last < peak) continue;
        const tile_value_data *value = tile_value_at(f, places[i].life.buffer);
        tile_note_at(f, places[i].life.alloc, "%s%s takes %lld bytes: %s",
                     value->name ? "%" : "a buffer", value->name ? value->name : "",
                     (long long)places[i].size,
                     tile_type_text(f, value->type, NULL, pass->scratch));
    }
}

/* Phase 1. Returns NULL after a diagnostic. */
static place *collect(tile_pass *pass, tile_function *f, unsigned *count) {
    tile_lifetime *lives = tile_shared_lifetimes(f, pass->scratch, count);
    place *places = TILE_NEW_ARRAY(pass->scratch, place, *count + 1u);
    const bool *read = warpgroup_buffers(f, pass->scratch);
    const bool *copied = async_copied_buffers(f, pass->scratch);
    for (unsigned i = 0; i < *count; i++) {
        int64_t stride;
        places[i] = (place){.life = lives[i], .offset = -1};
        bool atoms = read[lives[i].buffer.id] || copied[lives[i].buffer.id];
        places[i].alignment = atoms ? ATOM_ALIGNMENT : BUFFER_ALIGNMENT;
        places[i].size = tile_alloc_bytes(f, lives[i].alloc, &stride);
        if (places[i].size < 0) {
            tile_error_at(f, lives[i].alloc,
                          "the size of a shared buffer must be a positive constant");
            return NULL;
        }
    }
    return places;
}

/* Phase 2. Returns the total number of bytes. */
static int64_t put(const tile_function *f, place **order, const place *places, unsigned count,
                   bool apart) {
    int64_t total = 0;
    for (unsigned i = 0; i < count; i++) order[i]->offset = -1;
    for (unsigned i = 0; i < count; i++) {
        order[i]->offset = find_offset(f, places, count, order[i], apart);
        int64_t end = order[i]->offset + order[i]->size;
        total = total > end ? total : end;
    }
    return total;
}

tile_status tile_pass_allocate_shared(tile_pass *pass, tile_function *f) {
    unsigned count;
    place *places = collect(pass, f, &count);
    if (!places) return TILE_INVALID;
    place **order = TILE_NEW_ARRAY(pass->scratch, place *, count + 1u);
    int64_t most = pass->target->max_shared_bytes, sum = 0;
    for (unsigned i = 0; i < count; i++) order[i] = &places[i];
    for (unsigned i = 0; i < count; i++) sum += places[i].size;
    if (count) qsort(order, count, sizeof(place *), by_size);
    bool alone = tile_uses_all_sm_registers(f) && sum <= most;
    int64_t total = alone ? put(f, order, places, count, true) : most + 1;
    if (total > most) total = put(f, order, places, count, false);
    if (total > most) {
        report_too_large(pass, f, places, count, total);
        return TILE_UNSUPPORTED;
    }
    for (unsigned i = 0; i < count; i++)
        tile_op_set_int(f, places[i].life.alloc, TILE_ATTR_offset, places[i].offset);
    tile_pass_count(pass, "bytes of shared memory", (long)total);
    tile_pass_count(pass, "bytes shared by several buffers", (long)(sum > total ? sum - total : 0));
    return TILE_OK;
}
