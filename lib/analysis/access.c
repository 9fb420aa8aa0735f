/* Computes access widths from the divisors of strides, extents, indices and pointers. */
#include "lib/analysis/access.h"

#include "lib/layout/cut.h"
#include "lib/layout/layout.h"
#include "lib/ops/im2col.h"
#include "lib/ops/shape.h"
#include "lib/support/integer.h"

/* The largest power of two up to `limit` that divides every multiple of `divisor`. */
static unsigned power_of_two_part(int64_t divisor, unsigned limit) {
    unsigned part = 1;
    while (part < limit && divisor % (part * 2) == 0) /* 0: a multiple of everything */
        part *= 2;
    return part;
}

/* The dim of stride 1 according to the type, or the last dim of a view without strides. */
static unsigned find_unit_dim(const tile_type *type) {
    if (!type->has_strides) return type->rank - 1;
    for (unsigned d = type->rank; d-- > 0;)
        if (tile_expr_is(type->strides[d], 1)) return d;
    return type->rank;
}

/* The divisor implied by {tensor_map} of an argument: all strides except the innermost are
 * multiples of 16 bytes, but for those of dims of one element, which no map uses. In a row-major
 * view without strides the last extent is the stride of the nearest longer dim. */
static int64_t divisor_of_map(const tile_arg_decl *arg, unsigned d, bool is_stride) {
    enum { UNIT = 16 };
    const tile_type *type = arg->type;
    bool told = is_stride && !tile_expr_is(arg->extents[d], 1);
    for (unsigned i = 0; i < d && !is_stride && !type->has_strides && d + 1 == type->rank; i++)
        told |= !tile_expr_is(arg->extents[i], 1);
    return arg->tensor_map && told ? UNIT / (int64_t)tile_scalar_bytes(type->scalar) : 1;
}

/* The divisor of a view's extent d, or of its stride d if the type has strides. */
static int64_t divisor_along(const tile_function *f, const tile_range *ranges, tile_value view,
                             unsigned d, bool is_stride) {
    const tile_value_data *data = tile_value_at(f, view);
    tile_op def = tile_value_def(f, view);
    if (tile_im2col_maker(f, view).id) { /* the channels */
        tile_value src = tile_operand_src(f, def);
        return divisor_along(f, ranges, src, tile_value_type(f, src)->rank - 1, is_stride);
    }
    if (data->kind == TILE_VALUE_ARG) {
        int64_t known = tile_range_of_expr(f, ranges,
                                           is_stride ? tile_function_arg_stride(f, data->index, d)
                                                     : tile_function_arg_extent(f, data->index, d))
                            .divisor;
        int64_t mapped = divisor_of_map(&f->args[data->index], d, is_stride);
        return known % mapped ? mapped : known;
    }
    const tile_values list =
        is_stride ? tile_operands_strides(f, def) : tile_operands_extents(f, def);
    return ranges[list.at[d].id].divisor;
}

/* Loads of less than 4 bytes are replaced by unaligned loads of 16 bytes. An access that begins
 * before the row must end before it, too: at a multiple of its width. */
static unsigned unaligned_width(const tile_range *index, unsigned width, unsigned bytes) {
    enum { VECTOR = 16, LEAST = 4 };
    bool whole = index->min >= 0 || index->divisor % (VECTOR / bytes) == 0;
    bool narrow = width * bytes < LEAST;
    return whole && narrow ? VECTOR / bytes : width;
}

/* Whether the kernel loads from an array of one row, such as weights. Its tile always contains the
 * array's end, where lanes load single elements; with several adjacent elements a lane, these loads
 * are far apart. (H200: the layer norm of 3000 x 8191 halves takes 79 us with 8 elements a lane,
 * and 55 us with one.) */
static bool loads_single_row(const tile_function *f) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (tile_op_opcode(f, op) != TILE_OP_load) continue;
        const tile_type *view = tile_value_type(f, tile_operands_src(f, op).at[0]);
        unsigned rows = 0;
        for (unsigned d = 0; d + 1 < view->rank; d++) rows += !tile_expr_is(view->dims[d], 1);
        if (!rows && tile_value_type(f, tile_op_result(f, op, 0))->kind == TILE_TYPE_TILE)
            return true;
    }
    return false;
}

/* A divisor of the offsets at which the rows of a tile begin, in elements, at most 16 bytes.
 * Without strides in the type, the stride of dim d is the product of the later extents. It is a
 * multiple of the last extent's divisor. */
static unsigned row_divisor(const tile_function *f, const tile_range *ranges,
                            const tile_value *element, unsigned unit) {
    const tile_type *type = tile_value_type(f, element[0]);
    const tile_op maker = tile_value_def(f, element[0]);
    const int64_t told = maker.id ? tile_op_attr_int(f, maker, TILE_ATTR_row_divisor, 0) : 0;
    const unsigned widest = 16 / tile_scalar_bytes(type->scalar);
    if (told > 0)
        return power_of_two_part(ranges[element[1 + unit].id].divisor,
                                 power_of_two_part(told, widest));
    unsigned width =
        power_of_two_part(ranges[element[0].id].divisor, 16) / tile_scalar_bytes(type->scalar);
    width = width ? width : 1;
    for (unsigned d = 0; d < type->rank && type->has_strides; d++)
        if (d != unit && !tile_expr_is(type->dims[d], 1)) /* where only element 0 is inside */
            width = power_of_two_part(divisor_along(f, ranges, element[0], d, true), width);
    if (!type->has_strides)
        width = power_of_two_part(divisor_along(f, ranges, element[0], unit, false), width);
    return power_of_two_part(ranges[element[1 + unit].id].divisor, width);
}

tile_access_facts tile_view_access(const tile_function *f, const tile_range *ranges,
                                   const tile_value *element) {
    const tile_type *type = tile_value_type(f, element[0]);
    tile_access_facts facts = {
        .unit_dim = find_unit_dim(type), .width = 1, .row_width = 1, .unaligned = 1};
    unsigned unit = facts.unit_dim, bytes = tile_scalar_bytes(type->scalar);
    for (unsigned d = 0; d < type->rank; d++)
        if (tile_value_type(f, element[1 + d])->kind == TILE_TYPE_TILE)
            facts.points = tile_value_type(f, element[1 + d])->rank;
    if (unit < type->rank && tile_value_type(f, element[1 + unit])->kind == TILE_TYPE_TILE)
        facts.unit_dim = unit = type->rank;
    if (unit == type->rank) return facts;
    facts.row_width = row_divisor(f, ranges, element, unit);
    facts.width =
        power_of_two_part(divisor_along(f, ranges, element[0], unit, false), facts.row_width);
    facts.unaligned = tile_im2col_maker(f, element[0]).id
                          ? facts.width
                          : unaligned_width(&ranges[element[1 + unit].id], facts.width, bytes);
    facts.shifts = facts.unaligned > facts.width && ranges[element[1 + unit].id].min >= 0 &&
                   !loads_single_row(f);
    return facts;
}

size_t tile_view_operand(const tile_function *f, tile_value memory) {
    for (;;) {
        const tile_value_data *data = tile_value_at(f, memory);
        if (data->kind == TILE_VALUE_ARG) return data->index;
        tile_op def = tile_value_def(f, memory);
        tile_opcode opcode = def.id ? tile_op_opcode(f, def) : TILE_OP_NONE;
        if (opcode != TILE_OP_view && opcode != TILE_OP_base && opcode != TILE_OP_im2col)
            return f->arg_count;
        memory = opcode == TILE_OP_view ? tile_operand_base(f, def) : tile_operand_src(f, def);
    }
}

static void mark_expr(const tile_expr *expr, bool *uses) {
    if (!expr) return;
    if (expr->kind == TILE_EXPR_ARG) uses[expr->integer] = true;
    for (unsigned i = 0; i < 3; i++) mark_expr(expr->args[i], uses);
}

static const tile_expr *expr_along(const tile_function *f, tile_value view, unsigned d,
                                   bool is_stride) {
    const tile_value_data *data = tile_value_at(f, view);
    tile_op def = tile_value_def(f, view);
    if (tile_im2col_maker(f, view).id) { /* the channels */
        tile_value src = tile_operand_src(f, def);
        return expr_along(f, src, tile_value_type(f, src)->rank - 1, is_stride);
    }
    if (data->kind == TILE_VALUE_ARG)
        return is_stride ? tile_function_arg_stride(f, data->index, d)
                         : tile_function_arg_extent(f, data->index, d);
    const tile_values list =
        is_stride ? tile_operands_strides(f, def) : tile_operands_extents(f, def);
    return tile_value_as_expr(f, list.at[d]);
}

enum { WIDEST = 16 }; /* elements: the limit of any access */

/* Of 1, 2, 4, 8 and 16, the largest that divides the expression whatever its arguments are. */
static int64_t divisor_of(const tile_expr *expr) {
    int64_t number;
    if (tile_expr_is_int(expr, &number)) return (int64_t)tile_gcd((uint64_t)number, WIDEST);
    if (!expr || expr->kind != TILE_EXPR_OP) return 1;
    int64_t lhs = divisor_of(expr->args[0]), rhs = expr->args[1] ? divisor_of(expr->args[1]) : 1;
    switch (expr->opcode) {
    case TILE_OP_mul: return (int64_t)tile_gcd((uint64_t)(lhs * rhs), WIDEST);
    case TILE_OP_add:
    case TILE_OP_sub:
    case TILE_OP_min:
    case TILE_OP_max: return lhs < rhs ? lhs : rhs;
    default: return 1;
    }
}

/* A stride that is a multiple of the widest access depends on no argument in this respect. */
static void mark_unaligned(const tile_expr *expr, bool *uses) {
    if (divisor_of(expr) < WIDEST) mark_expr(expr, uses);
}

void tile_mark_view_integers(const tile_function *f, tile_value view, bool *uses) {
    const tile_type *type = tile_value_type(f, view);
    unsigned unit = find_unit_dim(type);
    if (unit == type->rank || tile_view_operand(f, view) == f->arg_count) return;
    mark_unaligned(expr_along(f, view, unit, false), uses);
    for (unsigned d = 0; d < type->rank && type->has_strides; d++)
        if (d != unit) mark_unaligned(expr_along(f, view, d, true), uses);
}

unsigned tile_unit_dim(const tile_access_facts *facts, unsigned view_rank, unsigned tile_rank) {
    unsigned first =
        view_rank + facts->points - tile_rank; /* the first dim of the view after the points */
    bool covered = facts->unit_dim >= first && facts->unit_dim < view_rank;
    return covered ? facts->unit_dim - first + facts->points : tile_rank;
}

typedef tile_layout (*make_layout)(const uint32_t *dims, unsigned rank, unsigned vec,
                                   unsigned fastest, unsigned num_warps);

static tile_layout lay_out(make_layout make, const tile_function *f, const tile_range *ranges,
                           const tile_value *element, const tile_type *tile, unsigned num_warps,
                           unsigned most, bool unaligned) {
    uint32_t dims[TILE_MAX_RANK];
    tile_access_facts facts = tile_view_access(f, ranges, element);
    unsigned unit = tile_unit_dim(&facts, tile_value_type(f, element[0])->rank, tile->rank);
    unsigned width = unaligned ? facts.unaligned : facts.width;
    tile_type_dims(tile, dims);
    return make(dims, tile->rank, width < most ? width : most,
                unit < tile->rank ? unit : tile->rank - 1, num_warps);
}

tile_layout tile_access_layout(const tile_function *f, const tile_range *ranges,
                               const tile_value *element, const tile_type *tile,
                               unsigned num_warps) {
    const tile_layout *order = tile_value_type(f, element[0])->layout;
    if (order) {
        uint32_t dims[TILE_MAX_RANK];
        tile_type_dims(tile, dims);
        return tile_layout_ordered(order, dims, 16 / tile_scalar_bytes(tile->scalar), num_warps);
    }
    return lay_out(tile_layout_blocked, f, ranges, element, tile, num_warps, WIDEST, false);
}

unsigned tile_store_width(const tile_access_facts *facts, const tile_layout *layout,
                          unsigned unit) {
    bool shifts = facts->shifts && unit < layout->rank &&
                  tile_layout_run_lanes(layout, unit, facts->unaligned) >= facts->unaligned;
    return shifts ? facts->unaligned : facts->width;
}

tile_layout tile_transfer_layout(const tile_function *f, const tile_range *ranges,
                                 const tile_value *element, const tile_type *tile,
                                 unsigned num_warps) {
    tile_access_facts facts = tile_view_access(f, ranges, element);
    unsigned unit = tile_unit_dim(&facts, tile_value_type(f, element[0])->rank, tile->rank);
    /* Elements of a lane. With more, exchanging them takes longer than narrow accesses: softmax of
     * 2912 x 13761 halves, 56 a lane, 79 instead of 60 us (H200). */
    enum { MOST_SHIFTED = 32 };
    bool few = tile_type_elements(tile) <= (int64_t)MOST_SHIFTED * 32 * num_warps;
    if (facts.shifts && few && !tile_value_type(f, element[0])->layout) {
        tile_layout layout =
            lay_out(tile_layout_blocked, f, ranges, element, tile, num_warps, WIDEST, true);
        if (tile_store_width(&facts, &layout, unit) > facts.width) return layout;
    }
    return tile_access_layout(f, ranges, element, tile, num_warps);
}

/* Whether the buffer is contiguous along another dim than the view, and its elements are as long as
 * the smallest asynchronous copy. */
static bool is_turned(const tile_function *f, const tile_range *ranges, const tile_value *element,
                      const tile_type *tile) {
    const tile_layout *to = tile->layout;
    if (tile_scalar_bytes(tile->scalar) != 4 || !to || to->kind != TILE_LAYOUT_SHARED ||
        !to->reg_bits)
        return false;
    const tile_access_facts facts = tile_view_access(f, ranges, element);
    const unsigned unit = tile_unit_dim(&facts, tile_value_type(f, element[0])->rank, tile->rank);
    return unit < tile->rank && to->dim_bits[unit] && !tile_layout_coordinate(to, to->reg[0], unit);
}

tile_layout tile_copy_layout(const tile_function *f, const tile_range *ranges,
                             const tile_value *element, const tile_type *tile, unsigned num_warps) {
    if (is_turned(f, ranges, element, tile))
        return tile_narrow_copy_layout(f, ranges, element, tile, num_warps, 1);
    return lay_out(tile_layout_chunked, f, ranges, element, tile, num_warps, WIDEST, true);
}

tile_layout tile_narrow_copy_layout(const tile_function *f, const tile_range *ranges,
                                    const tile_value *element, const tile_type *tile,
                                    unsigned num_warps, unsigned most) {
    return lay_out(tile_layout_chunked, f, ranges, element, tile, num_warps, most, false);
}
