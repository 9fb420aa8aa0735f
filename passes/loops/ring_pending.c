/* Dots that stay pending past an iteration: see ring.h. On an H200, a 128x256x64 loop with four
 * stages runs 1.11 times as fast with it. */
#include "lib/analysis/access.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ops/gather.h"
#include "passes/common/warpgroup.h"
#include "passes/loops/ring.h"

typedef struct products {
    ring *r;
    const uint32_t *uses; /* by value */
    unsigned count;
    bool fit;
} products;

/* The index of the carried value that the dot accumulates into and that has no other use; -1:
 * none. */
static int carried_sum(const products *p, tile_op dot) {
    const tile_function *f = p->r->f;
    tile_op loop = p->r->plan.loop;
    tile_value acc = tile_op_segment(f, dot, TILE_MMA_ACC).at[0];
    tile_value sum = tile_op_result(f, dot, 0);
    for (unsigned i = 0; i < tile_carried_count(f, loop); i++)
        if (tile_carried_received(f, loop, 0, i).id == acc.id)
            return tile_carried_sent(f, loop, 0, i).id == sum.id && p->uses[acc.id] == 1 &&
                           p->uses[sum.id] == 1
                       ? (int)i
                       : -1;
    return -1;
}

/* A staged buffer, or a load through its own buffer. */
static bool is_staged(const ring *r, tile_value value) {
    bool staged = false;
    for (unsigned i = 0; i < r->plan.copy_count; i++)
        staged |= tile_staged_value(r->f, &r->plan.copies[i]).id == value.id;
    return staged;
}

/* Whether the next iteration may write the buffer while the dot still reads it. */
static bool is_written(const ring *r, tile_value buffer) {
    TILE_FOR_EACH_NESTED_OP (r->f, op, r->plan.loop)
        if (tile_may_write(r->f, op, tile_shared_source(r->f, buffer))) return true;
    return false;
}

bool ring_may_stay_pending(const ring *r, tile_op dot) {
    bool staged[2], fit = true;
    for (unsigned o = 0; o < 2; o++) {
        tile_value value = tile_op_segment(r->f, dot, o).at[0];
        bool buffer = tile_value_type(r->f, value)->kind == TILE_TYPE_SHARED;
        staged[o] = is_staged(r, value);
        fit &= !buffer || staged[o] || !is_written(r, value);
    }
    return fit && warpgroup_may_stay_pending(r->f, dot, staged);
}

static void add_dot(products *p, tile_op op) {
    const tile_function *f = p->r->f;
    bool direct = tile_op_parent(f, op).id == p->r->plan.loop.id;
    p->fit &= direct && warpgroup_uses_wgmma(f, op) && !warpgroup_promotes(f, op) &&
              carried_sum(p, op) >= 0 && ring_may_stay_pending(p->r, op);
    p->count++;
}

/* Whether threads copy single elements because of index tiles or a predicate. Addresses and
 * predicates then need registers, and ptxas moves the sums of pending dots out of them. */
static bool is_copied_by_elements(const ring *r) {
    enum { LEAST = 4 }; /* bytes of a cp.async */
    const tile_range *ranges = NULL;
    bool found = false;
    for (unsigned i = 0; i < r->plan.copy_count; i++) {
        tile_op op = r->plan.copies[i].op;
        if (tile_is_plain_access(r->f, op)) continue;
        const tile_values view = tile_operands_src(r->f, op);
        if (!ranges) ranges = tile_range_analyse(r->f, r->pass->scratch);
        unsigned bytes = tile_scalar_bytes(tile_value_type(r->f, view.at[0])->scalar);
        found |= tile_view_access(r->f, ranges, view.at).width * bytes < LEAST;
    }
    return found;
}

unsigned ring_count_pending(ring *r) {
    products p = {.r = r, .fit = true};
    p.uses = tile_count_uses(r->f, r->pass->scratch);
    enum { MIN_DISTANCE = 3 }; /* one of them is lost; latency requires two iterations */
    bool ordered = r->plan.order_count || r->plan.copies_last; /* by the user */
    if (r->plan.distance < MIN_DISTANCE || ordered || is_copied_by_elements(r)) return 0;
    TILE_FOR_EACH_NESTED_OP (r->f, op, r->plan.loop)
        if (tile_op_opcode(r->f, op) == TILE_OP_dot) add_dot(&p, op);
    return p.fit ? p.count : 0;
}

/* Replaces the loop's result by the result of a wait after the loop. */
static void wait_after(ring *r, tile_builder *b, unsigned carried) {
    tile_function *f = r->f;
    tile_value result = tile_op_result(f, r->plan.loop, carried);
    tile_value done = tile_build_dot_wait(b, result, tile_build_int(b, 0));
    tile_value *map = TILE_NEW_ARRAY(r->pass->scratch, tile_value, f->value_count);
    tile_value_at(f, done)->name = tile_value_at(f, result)->name;
    map[result.id] = done;
    tile_replace_values(f, f->body, map);
    tile_set_operand(f, tile_value_def(f, done), TILE_OPERAND_src, result); /* restored */
}

void ring_make_pending(ring *r, tile_builder *after, unsigned count) {
    tile_function *f = r->f;
    tile_op loop = r->plan.loop;
    tile_region body = tile_op_region(f, loop, 0);
    tile_builder b = tile_builder_before(f, tile_region_yield(f, body));
    b.loc = tile_op_loc(f, loop);
    for (unsigned i = 0; i < tile_carried_count(f, loop); i++) {
        tile_value sent = tile_carried_sent(f, loop, 0, i);
        tile_op dot = tile_value_def(f, sent);
        if (!dot.id || !warpgroup_uses_wgmma(f, dot)) continue;
        tile_op_set_flag(f, dot, TILE_ATTR_async);
        tile_carried_send(f, loop, 0, i, tile_build_dot_wait(&b, sent, tile_build_int(&b, count)));
        wait_after(r, after, i);
    }
}
