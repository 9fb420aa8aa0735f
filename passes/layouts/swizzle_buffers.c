/* Changes the layout of buffers whose accesses have bank conflicts: rows of 16-byte chunks stay
 * contiguous, but chunks move to other banks.
 *
 * The default layout spreads eight rows over the banks, which suits mma fragments. Threads that
 * hold more than 16 contiguous bytes of a row skip chunks, and lanes at both ends of a long row
 * conflict:
 *
 *     [16, 64] of i32, lane i has 32 bytes at offset i * 32
 *     chunks 0 2 4 6 8 10 12 14 .., banks 0 8 16 24 0 ..
 *
 * Each bit of the offset above a line of banks may be xored with the three bits of a chunk's number
 * in its line. For each bit in turn, the first combination that reduces the number of wavefronts is
 * taken. */
#include "lib/analysis/access.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/layout/layout.h"
#include "lib/layout/traffic.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"
#include "passes/common/warpgroup.h"
#include "passes/layouts/assign_layouts.h"

typedef struct buffer_use {
    tile_layout tile;
    bool matrices;
    struct buffer_use *next;
} buffer_use;

typedef struct swizzling {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    buffer_use **uses; /* by value of alloc_shared */
    bool *fixed;       /* likewise: an operation relies on the layout */
} swizzling;

static void add_use(swizzling *s, tile_value buffer, const tile_layout *tile, bool matrices) {
    uint32_t id = tile_shared_source(s->f, buffer).id;
    buffer_use *use = TILE_NEW(s->pass->scratch, buffer_use);
    *use = (buffer_use){*tile, matrices, s->uses[id]};
    s->uses[id] = use;
}

static void fix(swizzling *s, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
        s->fixed[tile_shared_source(s->f, tile_op_operand(s->f, op, i)).id] = true;
}

static void add_transfer(swizzling *s, tile_op op, bool loads) {
    tile_value tile = loads ? tile_op_result(s->f, op, 0) : tile_operand_src(s->f, op);
    const tile_values element = loads ? tile_operands_src(s->f, op) : tile_operands_dst(s->f, op);
    const tile_type *type = tile_value_type(s->f, tile);
    if (type->kind != TILE_TYPE_TILE || !type->layout)
        fix(s, op);
    else
        add_use(s, element.at[0], type->layout, loads);
}

static void add_copy(swizzling *s, tile_op op) {
    const tile_values from = tile_operands_src(s->f, op), to = tile_operands_dst(s->f, op);
    bool in = tile_value_type(s->f, from.at[0])->kind == TILE_TYPE_VIEW;
    const tile_value *view = in ? from.at : to.at, *buffer = in ? to.at : from.at;
    if (tile_value_type(s->f, view[0])->kind != TILE_TYPE_VIEW) {
        fix(s, op);
        return;
    }
    tile_layout layout = tile_copy_layout(s->f, s->ranges, view, tile_value_type(s->f, buffer[0]),
                                          tile_executors_of(s->f, op).warps);
    add_use(s, buffer[0], &layout, false);
}

static void visit_access(swizzling *s, tile_op op) {
    tile_function *f = s->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_load_shared || opcode == TILE_OP_store_shared)
        add_transfer(s, op, opcode == TILE_OP_load_shared);
    else if (opcode == TILE_OP_copy || opcode == TILE_OP_copy_async)
        add_copy(s, op);
    else if (opcode != TILE_OP_free_shared)
        fix(s, op);
}

static unsigned wavefronts(const buffer_use *uses, const tile_layout *memory, unsigned bytes) {
    unsigned sum = 0;
    for (; uses; uses = uses->next)
        sum += tile_traffic_shared(&uses->tile, memory, bytes, uses->matrices).wavefronts;
    return sum;
}

static unsigned conflicts(const buffer_use *uses, const tile_layout *memory, unsigned bytes) {
    unsigned sum = 0;
    for (; uses; uses = uses->next)
        sum += tile_traffic_shared(&uses->tile, memory, bytes, uses->matrices).conflicts;
    return sum;
}

/* Whether the buffer has the default layout and no operation relies on it. */
static bool is_free(const swizzling *s, tile_value buffer, const tile_type *type) {
    uint32_t dims[TILE_MAX_RANK];
    unsigned last = type->rank - 1;
    tile_type_dims(type, dims);
    if (s->fixed[buffer.id] || !s->uses[buffer.id] || type->rank != 2) return false;
    tile_layout plain = tile_layout_shared_swizzled(dims, type->rank, last,
                                                    tile_scalar_bytes(type->scalar)),
                named = warpgroup_buffer_layout(type, last);
    return tile_layout_equal(type->layout, &plain) && !tile_layout_equal(type->layout, &named);
}

static void swizzle(const swizzling *s, tile_value buffer, const tile_type *type) {
    enum { CHUNK = 16, LINE = 128, CROSSINGS = 8 };
    unsigned bytes = tile_scalar_bytes(type->scalar), chunk = 0;
    const buffer_use *uses = s->uses[buffer.id];
    tile_layout best = *type->layout;
    if (!conflicts(uses, &best, bytes)) return;
    while (bytes << chunk < CHUNK) chunk++;
    unsigned least = wavefronts(uses, &best, bytes), before = least;
    for (unsigned bit = chunk + 3; bit < best.reg_bits; bit++) {
        tile_layout tried = best;
        for (unsigned crossing = 1; crossing < CROSSINGS; crossing++) {
            tried.reg[bit] = best.reg[bit];
            for (unsigned i = 0; i < 3; i++)
                if (crossing >> i & 1) tried.reg[bit] ^= best.reg[chunk + i];
            unsigned cost = wavefronts(uses, &tried, bytes);
            if (cost >= least) continue;
            least = cost;
            best = tried;
            break;
        }
    }
    if (least < before)
        tile_value_at(s->f, buffer)->type = tile_type_with_layout(s->pass->context, type, &best);
}

void swizzle_buffers(tile_pass *pass, tile_function *f, const tile_range *ranges) {
    swizzling s = {pass, f, ranges, NULL, NULL};
    s.uses = TILE_NEW_ARRAY(pass->scratch, buffer_use *, f->value_count);
    s.fixed = TILE_NEW_ARRAY(pass->scratch, bool, f->value_count);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_access(&s, op);
    for (uint32_t id = 1; id < f->value_count; id++) {
        const tile_type *type = tile_value_type(f, (tile_value){id});
        if (type->kind == TILE_TYPE_SHARED && type->layout && is_free(&s, (tile_value){id}, type))
            swizzle(&s, (tile_value){id}, type);
    }
}
