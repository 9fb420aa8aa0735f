/* The element order of opaque scratch: tiles are stored to memory in the order of the registers
 * that hold them.
 *
 * Row-major order would need another layout than that of accumulators, and thus a conversion
 * through shared memory. Instead each thread stores its registers directly, in units of 16 bytes,
 * and consecutive lanes access consecutive units. A load of the whole tile uses the same layout. A
 * load of a piece is contiguous, and its layout follows from the order (tile_layout_order). */
#include "lib/layout/layout.h"
#include "lib/ops/gather.h"
#include "passes/expand/prepare.h"

typedef struct scratch_use {
    tile_value memory;
    const tile_range *ranges;
    const tile_layout *held;
    uint32_t piece[TILE_MAX_RANK]; /* the smallest extents of a piece */
    bool fits;
} scratch_use;

/* A piece begins at a multiple of its extent; a whole dim begins at 0. */
static bool is_aligned(const scratch_use *u, const tile_function *f, tile_value index, unsigned d,
                       int64_t extent) {
    int64_t known, divisor = u->ranges[index.id].divisor;
    if (tile_value_is_int(f, index, &known)) return known % extent == 0;
    return extent < (int64_t)tile_layout_extent(u->held, d) && (!divisor || divisor % extent == 0);
}

static void visit_use(const tile_function *f, tile_op op, scratch_use *u) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_load && opcode != TILE_OP_store) return;
    bool stores = opcode == TILE_OP_store;
    const tile_values element = stores ? tile_operands_dst(f, op) : tile_operands_src(f, op);
    if (element.at[0].id != u->memory.id) return;
    u->fits &= tile_is_plain_access(f, op);
    if (!u->fits) return;
    const tile_type *tile =
        tile_value_type(f, stores ? tile_operand_src(f, op) : tile_op_result(f, op, 0));
    unsigned first = element.count - 1 - u->held->rank;
    u->fits &= tile->rank == u->held->rank;
    for (unsigned d = 0; d < tile->rank && u->fits; d++) {
        int64_t extent = tile_type_dim(tile, d);
        u->fits &= extent <= (int64_t)tile_layout_extent(u->held, d) &&
                   is_aligned(u, f, element.at[1 + first + d], d, extent);
        if (extent < (int64_t)u->piece[d]) u->piece[d] = (uint32_t)extent;
    }
}

bool order_scratch(const tile_function *f, const tile_range *ranges, tile_value scratch,
                   const tile_layout *held, tile_layout *order) {
    const tile_type *view = tile_value_type(f, scratch);
    scratch_use u = {.memory = scratch, .ranges = ranges, .held = held, .fits = true};
    if (view->rank < held->rank || !tile_layout_part_bits(held)) return false;
    for (unsigned d = 0; d < held->rank; d++) {
        u.piece[d] = tile_layout_extent(held, d);
        u.fits &= tile_type_dim(view, view->rank - held->rank + d) == (int64_t)u.piece[d];
    }
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_use(f, op, &u);
    return u.fits && tile_layout_order(held, u.piece, 16 / tile_scalar_bytes(view->scalar), order);
}
