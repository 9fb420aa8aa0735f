/* Layouts of shared buffers: contiguous along the contiguous dim of their views, and swizzled.
 * Buffers that wgmma reads use the swizzles of its descriptors. */
#include <string.h>

#include "lib/analysis/access.h"
#include "lib/analysis/memory.h"
#include "lib/layout/wgmma.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"
#include "passes/common/warpgroup.h"
#include "passes/layouts/assign_layouts.h"

typedef struct plan {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    tile_layout *shared; /* by value of alloc_shared */
    const bool *named;   /* by value id of alloc_shared: wgmma reads it */
    const bool *copied;  /* likewise: TMA may read or write it */
    tile_status status;
} plan;

/* Whether rows of this many bytes fill a swizzle atom, so that TMA boxes do as well. */
static bool has_atoms(int64_t row_bytes, int64_t rows) {
    enum { NARROWEST = 32, ROWS = 8 };
    return row_bytes % NARROWEST == 0 && rows % ROWS == 0;
}

static bool is_filled(const tile_type *type, unsigned fastest) {
    int64_t bytes = tile_scalar_bytes(type->scalar);
    return type->rank == 2 &&
           has_atoms(tile_type_dim(type, fastest) * bytes, tile_type_dim(type, 1 - fastest));
}

/* Lays out a buffer of more than two dims like one of two, whose rows combine all dims but the
 * last. With power-of-two extents, the bits of coordinates have the same numbers. False if TMA
 * boxes would not fill it. */
static bool lay_rows(const tile_type *type, unsigned fastest, tile_layout *layout) {
    uint32_t dims[TILE_MAX_RANK], flat[2] = {1, 1};
    unsigned bytes = tile_scalar_bytes(type->scalar);
    bool whole = type->rank > 2 && fastest + 1 == type->rank;
    tile_type_dims(type, dims);
    for (unsigned d = 0; d < type->rank && whole; d++) {
        whole = tile_layout_part_extent(dims[d]) == dims[d];
        flat[d == fastest] *= dims[d];
    }
    if (!whole || !has_atoms((int64_t)flat[1] * bytes, flat[0])) return false;
    tile_layout rows = tile_wgmma_shared(flat, 1, bytes);
    *layout = tile_layout_blank(TILE_LAYOUT_SHARED, dims, type->rank);
    memcpy(layout->reg, rows.reg, sizeof rows.reg);
    layout->reg_bits = rows.reg_bits;
    return true;
}

/* Row after row. */
static tile_layout lay_plain(const uint32_t *dims, unsigned rank, unsigned fastest) {
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_SHARED, dims, rank);
    tile_layout_add_registers(&layout, fastest, 1, tile_layout_part_extent(dims[fastest]));
    for (unsigned d = rank; d-- > 0;)
        if (d != fastest)
            tile_layout_add_registers(&layout, d, 1, tile_layout_part_extent(dims[d]));
    return layout;
}

/* The layout is the same in all blocks of a cluster. Under a swizzle of other rows than those of an
 * atom, no TMA box would hold a whole row. */
static void lay_buffer(plan *p, tile_value buffer, unsigned fastest) {
    const tile_type *type = tile_value_type(p->f, buffer);
    uint32_t dims[TILE_MAX_RANK], id = tile_shared_source(p->f, buffer).id;
    tile_type_dims(type, dims);
    if (p->copied[id] && lay_rows(type, fastest, &p->shared[id])) return;
    if (p->named[id] || (p->copied[id] && is_filled(type, fastest)))
        p->shared[id] = warpgroup_buffer_layout(type, fastest);
    else if (p->copied[id])
        p->shared[id] = lay_plain(dims, type->rank, fastest);
    else
        p->shared[id] =
            tile_layout_shared_swizzled(dims, type->rank, fastest, tile_scalar_bytes(type->scalar));
}

/* An offset has no meaning in a buffer whose layout the compiler selects. */
static void check_offsets(plan *p, tile_op op) {
    tile_function *f = p->f;
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    for (unsigned i = 0; i < info->operand_count; i++) {
        const tile_values values = tile_op_segment(f, op, i);
        if (info->operands[i].form != TILE_FORM_address || values.count != 2) continue;
        const tile_type *type = tile_value_type(f, values.at[0]);
        bool flat = type->rank == 1 && !type->stages; /* its coordinate is the offset */
        if (type->kind != TILE_TYPE_SHARED || type->layout || flat) continue;
        if (!p->shared[tile_shared_source(f, values.at[0]).id].rank) continue;
        p->status = TILE_INVALID;
        tile_error_at(f, op,
                      "%s: tile operations also use this buffer, so the compiler chooses its "
                      "layout; instead of an offset write %scoordinates, one for each dim",
                      tile_op_spelling(info), type->stages ? "the stage and " : "");
    }
}

/* Row after row: threads access 16 bytes of a row each, and neighboring ones are in one row. One
 * address then serves all of a thread's accesses, where a swizzle takes several registers. */
static void lay_unswizzled(plan *p, tile_value buffer, unsigned fastest) {
    const tile_type *type = tile_value_type(p->f, buffer);
    uint32_t dims[TILE_MAX_RANK], id = tile_shared_source(p->f, buffer).id;
    tile_type_dims(type, dims);
    if (!p->named[id] && !p->copied[id]) p->shared[id] = lay_plain(dims, type->rank, fastest);
}

static void lay_operands(plan *p, tile_op op) {
    tile_function *f = p->f;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        tile_value value = tile_op_operand(f, op, i);
        const tile_type *type = tile_value_type(f, value);
        if (type->kind != TILE_TYPE_SHARED || !tile_op_handles_tile(f, op, value)) continue;
        lay_buffer(p, value, type->rank - 1);
        if (layouts_keeps_sums(p->pass, f, value)) lay_unswizzled(p, value, type->rank - 1);
    }
}

static void lay_copied(plan *p, tile_op op) {
    tile_function *f = p->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    bool stores = opcode == TILE_OP_store_async;
    if (opcode != TILE_OP_copy && opcode != TILE_OP_copy_async && !stores) return;
    const tile_values from = stores ? tile_operands_ring(f, op) : tile_operands_src(f, op),
                      to = tile_operands_dst(f, op);
    bool in = tile_value_type(f, from.at[0])->kind == TILE_TYPE_VIEW;
    const tile_value *view = in ? from.at : to.at, *buffer = in ? to.at : from.at;
    unsigned rank = tile_value_type(f, buffer[0])->rank;
    tile_access_facts facts = tile_view_access(f, p->ranges, view);
    unsigned unit = tile_unit_dim(&facts, tile_value_type(f, view[0])->rank, rank);
    if (unit == rank) return;
    const tile_value source = tile_shared_source(f, buffer[0]);
    const bool turned = in && layouts_turns_copy(p->pass, f, source, unit);
    lay_buffer(p, buffer[0], turned ? 1 - unit : unit);
    if (in && layouts_turns_copy(p->pass, f, source, 1 - unit)) lay_unswizzled(p, buffer[0], unit);
}

/* A buffer that wgmma reads and no copy fills uses the dim that wgmma prefers. */
static void lay_read(plan *p, tile_op op) {
    tile_function *f = p->f;
    for (unsigned operand = 0; warpgroup_uses_wgmma(f, op) && operand < 2; operand++) {
        tile_value value = tile_op_segment(f, op, operand).at[0];
        const tile_type *type = tile_value_type(f, value);
        if (type->kind == TILE_TYPE_SHARED)
            lay_buffer(p, value, warpgroup_contiguous_dim(f, op, operand));
    }
}

tile_status lay_out_buffers(tile_pass *pass, tile_function *f, const tile_range *ranges,
                            tile_layout *shared) {
    plan p = {.pass = pass, .f = f, .ranges = ranges, .shared = shared};
    p.named = warpgroup_buffers(f, pass->scratch);
    p.copied = async_copied_buffers(f, pass->scratch);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) lay_operands(&p, op);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) lay_read(&p, op);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) lay_copied(&p, op);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) check_offsets(&p, op);
    return p.status;
}
