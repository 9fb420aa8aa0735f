/* Shared buffers with the attribute `misaligned`, whose rows keep the offset, modulo 16 bytes, that
 * they have in global memory. With p elements from row to row and c elements in 16 bytes, row i
 * begins at element
 *
 *     i * p + (i / 8) * c + (offset of the view + i * stride) mod c
 *
 * because coordinates that differ between copies are multiples of 16 bytes. So threads know where a
 * row begins without loading anything, and mostly before the loop. Rows i, i + 8, .. i + 56 of
 * 16-bit elements have the same offset mod c, and (i / 8) * c puts them into eight different groups
 * of four banks: a warp whose lanes read words of these rows has no conflicts. */
#include "lib/analysis/access.h"
#include "lib/analysis/memory.h"
#include "lib/layout/layout.h"
#include "passes/lower/lower.h"

enum { CHUNK = 16 /* bytes */, MAX_SHIFTS = 16, ROWS = 8 };

typedef struct misaligned_rows {
    const tile_type *type;
    unsigned unit;           /* the dim along which rows are contiguous */
    int64_t columns, chunk;  /* elements of a row, and in 16 bytes */
    int64_t pitch;           /* from row to row in shared memory */
    int64_t stage;           /* elements of a stage */
    unsigned width;          /* a divisor of the offsets at which rows begin, in elements */
    tile_value base, stride; /* i32: elements, of which only the lowest bits matter */
} misaligned_rows;

static tile_op alloc_of(const lowering *l, tile_value buffer) {
    return tile_value_def(&l->old, tile_shared_source(&l->old, buffer));
}

bool lower_is_misaligned(const lowering *l, tile_value buffer) {
    tile_op alloc = alloc_of(l, buffer);
    return alloc.id && tile_op_opcode(&l->old, alloc) == TILE_OP_alloc_shared &&
           tile_op_has_attr(&l->old, alloc, TILE_ATTR_misaligned);
}

/* A copy to the buffer. All of them copy from the same view. */
static tile_op find_copy(const lowering *l, tile_value buffer) {
    tile_value source = tile_shared_source(&l->old, buffer);
    TILE_FOR_EACH_OP_INSIDE (&l->old, op, l->old.body) {
        tile_opcode opcode = tile_op_opcode(&l->old, op);
        if (opcode != TILE_OP_copy && opcode != TILE_OP_copy_async) continue;
        tile_value to = tile_operands_dst(&l->old, op).at[0];
        if (tile_shared_source(&l->old, to).id == source.id) return op;
    }
    return TILE_NO_OP;
}

static tile_value to_int(lowering *l, tile_value value) {
    const tile_type *type = tile_type_scalar(tile_function_context(l->f), TILE_i32);
    return tile_value_type(l->f, value)->scalar == TILE_i32
               ? value
               : tile_build_cast(&l->builder, value, type);
}

static misaligned_rows shape_of(const lowering *l, tile_value buffer) {
    misaligned_rows r = {.type = tile_value_type(&l->old, buffer)};
    r.unit = (unsigned)tile_op_attr_int(&l->old, alloc_of(l, buffer), TILE_ATTR_misaligned, 0);
    r.chunk = CHUNK / (int64_t)tile_scalar_bytes(r.type->scalar);
    r.columns = tile_type_dim(r.type, r.unit);
    r.pitch = r.columns + r.chunk;
    int64_t rows = tile_type_dim(r.type, 1 - r.unit);
    r.stage = rows * r.pitch + (rows + ROWS - 1) / ROWS * r.chunk;
    return r;
}

static tile_value place_of(lowering *l, const misaligned_rows *r, tile_value row) {
    tile_builder *b = &l->builder;
    tile_value eights = tile_build_shr(b, row, lower_int(l, 3));
    return lower_add(l, lower_mul(l, row, lower_int(l, r->pitch)),
                     lower_mul(l, eights, lower_int(l, r->chunk)));
}

/* Adds the coordinates of the tile's first row, which are the same for all copies unless they are
 * multiples of 16 bytes. */
static void add_first_row(lowering *l, const tile_value *from, misaligned_rows *r) {
    const lower_view *view = l->views[from[0].id];
    const tile_type *type = tile_value_type(&l->old, from[0]);
    for (unsigned d = 0; d < type->rank; d++) {
        bool one = tile_expr_is(type->dims[d], 1); /* only element 0 is inside */
        if (one || l->ranges[from[1 + d].id].divisor % r->chunk == 0) continue;
        tile_value index = to_int(l, lower_mapped(l, from[1 + d]));
        r->base = lower_add(l, r->base, lower_mul(l, index, to_int(l, view->strides[d])));
    }
}

static misaligned_rows rows_of(lowering *l, tile_value buffer) {
    const tile_values from = tile_operands_src(&l->old, find_copy(l, buffer));
    const lower_view *view = l->views[from.at[0].id];
    misaligned_rows r = shape_of(l, buffer);
    unsigned log = 0;
    while (CHUNK >> log > r.chunk) log++;
    r.width = tile_view_access(&l->old, l->ranges, from.at).row_width;
    r.stride = to_int(l, view->strides[tile_value_type(&l->old, from.at[0])->rank - 1 - r.unit]);
    r.base = l->ranges[from.at[0].id].divisor % CHUNK == 0
                 ? lower_int(l, 0)
                 : tile_build_shr(&l->builder, tile_build_misalignment(&l->builder, view->base),
                                  lower_int(l, log));
    if (r.width < r.chunk) add_first_row(l, from.at, &r);
    return r;
}

/* At level 3 the buffer is a sequence of elements. */
bool lower_alloc_misaligned(lowering *l, tile_op op) {
    tile_value buffer = tile_op_result(&l->old, op, 0);
    if (!tile_op_has_attr(&l->old, op, TILE_ATTR_misaligned)) return false;
    misaligned_rows r = shape_of(l, buffer);
    tile_type draft = *r.type;
    draft.rank = 1;
    draft.dims[0] =
        tile_expr_int(tile_function_context(l->f), r.stage * tile_type_stage_count(r.type));
    draft.dims[1] = draft.stages = NULL;
    draft.layout = NULL;
    l->map[buffer.id] =
        tile_build_alloc_shared(&l->builder, tile_type_get(tile_function_context(l->f), &draft));
    tile_value_at(l->f, l->map[buffer.id])->name = tile_value_at(&l->old, buffer)->name;
    tile_op_set_int(l->f, tile_value_def(l->f, l->map[buffer.id]), TILE_ATTR_offset,
                    tile_op_attr_int(&l->old, op, TILE_ATTR_offset, 0));
    return true;
}

static tile_value shift_of(lowering *l, const misaligned_rows *r, tile_value row) {
    if (r->width == r->chunk) return lower_int(l, 0);
    tile_value offset = lower_add(l, r->base, lower_mul(l, row, r->stride));
    return tile_build_and(&l->builder, offset, lower_int(l, r->chunk - 1));
}

/* A thread's coordinates along a dim: sums, or exclusive-ors if bits overlap. */
typedef struct dim_of_thread {
    tile_value start;
    bool overlaps;
} dim_of_thread;

static dim_of_thread dim_of(lowering *l, const tile_layout *layout, unsigned d) {
    return (dim_of_thread){lower_thread_coordinate(l, layout, d), lower_bits_overlap(layout, d)};
}

static tile_value coordinate_of(lowering *l, const dim_of_thread *dim, int64_t of_register) {
    if (!dim->overlaps) return lower_add(l, dim->start, lower_int(l, of_register));
    return of_register ? tile_build_xor(&l->builder, dim->start, lower_int(l, of_register))
                       : dim->start;
}

static tile_value stage_offset(lowering *l, const misaligned_rows *r, const tile_value *element) {
    tile_value stage = r->type->stages ? lower_mapped(l, element[1]) : lower_int(l, 0);
    return lower_mul(l, stage, lower_int(l, r->stage));
}

/* Loads ---------------------------------------------------------------------------------------- */

/* Rows whose numbers in the registers differ by a multiple of the chunk have the same shift, so
 * that one offset serves all of them. */
tile_value lower_load_misaligned(lowering *l, const tile_value *element, unsigned count,
                                 const tile_type *tile) {
    misaligned_rows r = rows_of(l, element[0]);
    const tile_layout *layout = tile->layout;
    const unsigned row_dim = 1 - r.unit, first = 1 + (r.type->stages != NULL);
    dim_of_thread row = dim_of(l, layout, row_dim), column = dim_of(l, layout, r.unit);
    tile_value at[MAX_SHIFTS], stage = stage_offset(l, &r, element), buffer;
    bool known[MAX_SHIFTS] = {false};
    if (count > first) {
        stage = lower_add(l, stage, lower_mapped(l, element[first + r.unit]));
        row.start = lower_add(l, row.start, lower_mapped(l, element[first + row_dim]));
    }
    buffer = lower_mapped(l, element[0]);
    tile_access_split cut = tile_split_accesses_along(layout, r.unit, r.width);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, cut.count);
    const tile_type *part = lower_part_type(l, tile->scalar, 1u << cut.width_bits);
    for (unsigned i = 0; i < cut.count; i++) {
        unsigned register_ = tile_access_split_register(&cut, i, 0);
        int64_t own_row = lower_register_coordinate(layout, register_, row_dim),
                own_column = lower_register_coordinate(layout, register_, r.unit),
                low = own_row % r.chunk;
        bool sums = !row.overlaps && !column.overlaps;
        tile_value offset = sums ? at[low] : TILE_NO_VALUE;
        if (!sums || !known[low]) {
            tile_value number = coordinate_of(l, &row, sums ? low : own_row);
            offset = lower_add(l, place_of(l, &r, number), shift_of(l, &r, number));
            offset = lower_add(l, offset, coordinate_of(l, &column, sums ? 0 : own_column));
            offset = lower_add(l, offset, stage);
            at[low] = offset;
            known[low] = true;
        }
        if (sums)
            offset = lower_add(l, offset,
                               lower_int(l, (own_row - low) * r.pitch +
                                                (own_row - low) / ROWS * r.chunk + own_column));
        parts[i] = tile_build_ld_shared(&l->builder, buffer, &offset, 1, TILE_NO_VALUE, part);
    }
    return lower_combine_accesses(l, parts, &cut);
}

/* Copies --------------------------------------------------------------------------------------- */

typedef struct chunk_copy {
    tile_op op;
    misaligned_rows rows;
    const lower_view *view;
    const tile_value *from; /* the view and its coordinates, in the old body */
    unsigned view_rank;
    tile_value stage;
    tile_value origin; /* i64: the offset of the tile's first element */
    tile_value inside; /* i1: the coordinates of the dims before rows and columns are in bounds; no
                          value if that is provable */
} chunk_copy;

static tile_value index_of(lowering *l, const chunk_copy *c, unsigned dim) {
    return lower_mapped(l, c->from[1 + c->view_rank - 2 + dim]);
}

/* One chunk of a row. */
static void copy_chunk(lowering *l, const chunk_copy *c, tile_value row, tile_value column) {
    tile_builder *b = &l->builder;
    const misaligned_rows *r = &c->rows;
    const unsigned rows = c->view_rank - 1 - r->unit, unit = c->view_rank - 2 + r->unit;
    tile_value shift = shift_of(l, r, row);
    tile_value begin = tile_build_sub(b, column, shift); /* of the chunk, from the row's start */
    tile_value first = tile_build_max(b, tile_build_sub(b, shift, column), lower_int(l, 0));
    tile_value end =
        tile_build_sub(b, c->view->limits[unit], lower_add(l, index_of(l, c, r->unit), begin));
    tile_value inside =
        tile_build_ult(b, lower_add(l, index_of(l, c, 1 - r->unit), row), c->view->limits[rows]);
    inside = lower_and(l, inside, c->inside);
    tile_value source = lower_add(l, c->origin, lower_to_long(l, begin));
    source = lower_add(l, source, lower_mul(l, lower_to_long(l, row), c->view->strides[rows]));
    tile_value target = lower_add(l, place_of(l, r, row), column);
    target = lower_add(l, target, c->stage);
    end = tile_build_select(b, inside, end, lower_int(l, 0));
    tile_build_cp_async_part(b, c->view->base, &source, 1,
                             lower_mapped(l, tile_operands_dst(&l->old, c->op).at[0]), &target, 1,
                             first, end);
    lower_copy_cache_hints(l, c->op);
}

/* The chunks from this column on. */
static void copy_columns(lowering *l, const chunk_copy *c, int64_t from, int64_t columns) {
    const misaligned_rows *r = &c->rows;
    uint32_t dims[2];
    dims[r->unit] = (uint32_t)columns;
    dims[1 - r->unit] = (uint32_t)tile_type_dim(r->type, 1 - r->unit);
    tile_layout layout =
        tile_layout_chunked(dims, 2, (unsigned)r->chunk, r->unit, 1u << l->warp_bits);
    tile_access_split cut = tile_split_accesses_along(&layout, r->unit, (unsigned)r->chunk);
    tile_value holder = lower_is_first_holder(l, &layout);
    tile_builder outer = l->builder;
    tile_op guard = {0};
    if (holder.id) {
        guard = tile_build_if_else(&l->builder, holder, NULL, 0);
        l->builder.region = tile_op_region(l->f, guard, 0);
    }
    dim_of_thread row = dim_of(l, &layout, 1 - r->unit), column = dim_of(l, &layout, r->unit);
    for (unsigned i = 0; i < cut.count; i++) {
        unsigned register_ = tile_access_split_register(&cut, i, 0);
        int64_t own_row = lower_register_coordinate(&layout, register_, 1 - r->unit),
                own_column = lower_register_coordinate(&layout, register_, r->unit);
        tile_value at = coordinate_of(l, &column, own_column);
        copy_chunk(l, c, coordinate_of(l, &row, own_row), lower_add(l, at, lower_int(l, from)));
    }
    if (!guard.id) return;
    tile_build_yield(&l->builder, NULL, 0);
    l->builder.region = tile_op_region(l->f, guard, 1);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder = outer;
}

static tile_value leading_dims_inside(lowering *l, const chunk_copy *c) {
    tile_value all = TILE_NO_VALUE;
    for (unsigned d = 0; d + 2 < c->view_rank; d++) {
        const tile_value old = c->from[1 + d];
        all = lower_and(l, all, lower_in_bounds(l, old, lower_mapped(l, old), c->view->limits[d]));
    }
    return all;
}

bool lower_copy_misaligned(lowering *l, tile_op op) {
    const tile_values from = tile_operands_src(&l->old, op), to = tile_operands_dst(&l->old, op);
    if (!lower_is_misaligned(l, to.at[0])) return false;
    chunk_copy c = {.op = op, .rows = rows_of(l, to.at[0]), .from = from.at};
    c.view = l->views[from.at[0].id];
    c.view_rank = tile_value_type(&l->old, from.at[0])->rank;
    c.stage = stage_offset(l, &c.rows, to.at);
    c.origin = lower_view_offset(l, from.at, from.count);
    c.inside = leading_dims_inside(l, &c);
    copy_columns(l, &c, 0, c.rows.columns);
    if (c.rows.width < c.rows.chunk) copy_columns(l, &c, c.rows.columns, c.rows.chunk);
    return true;
}
