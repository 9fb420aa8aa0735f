/* Rejects parts of shared buffers that begin outside the buffer or at an offset that is not
 * allowed. Runs before a layout is chosen and before tiles are lowered, so that level 2 rejects the
 * same parts as level 3. */
#include "passes/common/part_check.h"

#include "lib/ops/gather.h"

void visit_parts(const tile_function *f, tile_op op, tile_part_visitor *visit, void *user) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    for (unsigned i = 0; i < info->operand_count; i++) {
        if (info->operands[i].form != TILE_FORM_part) continue;
        const tile_values part = tile_op_segment(f, op, i);
        const tile_type *memory = tile_value_type(f, part.at[0]);
        tile_value tile = i == 0 ? tile_op_result(f, op, 0) : tile_moved_operand(f, op);
        const tile_type *type = tile_value_type(f, tile);
        bool whole =
            memory->kind != TILE_TYPE_SHARED || part.count == 1u + (memory->stages != NULL);
        tile_gather gather;
        if (whole || type->kind != TILE_TYPE_TILE) continue;
        if (!tile_gather_of(f, op, &gather) || !gather.tiles) visit(op, part.at, type, user);
    }
}

typedef struct checker {
    tile_pass *pass;
    const tile_function *f;
    const tile_range *ranges;
    bool ok;
} checker;

static void refuse(checker *c, tile_op op, unsigned d, int64_t begin, const char *further,
                   int64_t extent, int64_t whole) {
    tile_error_of(
        c->f, op,
        "along dim %u the part begins at %lld%s and has %lld elements, and the buffer has "
        "%lld; let it begin at a multiple of %lld from 0 to %lld",
        d, (long long)begin, further, (long long)extent, (long long)whole, (long long)extent,
        (long long)(whole - extent));
    c->ok = false;
}

static void check_dim(checker *c, tile_op op, unsigned d, tile_value at, int64_t extent,
                      int64_t whole) {
    const tile_range *range = &c->ranges[at.id];
    bool one = range->min == range->max;
    bool outside = range->max < 0 || range->min > whole - extent;
    bool multiple = range->divisor % extent == 0;
    if (!outside && (multiple || (one && range->min % extent == 0))) return;
    if (one || outside) {
        int64_t nearest = range->max < 0 ? range->max : range->min;
        refuse(c, op, d, nearest,
               one              ? ""
               : range->max < 0 ? " or before"
                                : " or after",
               extent, whole);
        return;
    }
    c->ok = false;
    tile_error_of(c->f, op,
                  "along dim %u the part has %lld elements, and where it begins is not known to be "
                  "a multiple of that; write the coordinate as a product with %lld, or put `assume "
                  "rem(%%i, %lld) == 0` before it",
                  d, (long long)extent, (long long)extent, (long long)extent);
}

static void check_begin(tile_op op, const tile_value *part, const tile_type *tile, void *user) {
    checker *c = user;
    const tile_type *buffer = tile_value_type(c->f, part[0]);
    const tile_value *at = part + 1 + (buffer->stages != NULL);
    for (unsigned d = 0; d < tile->rank && c->ok; d++) {
        int64_t extent = tile_type_dim(tile, d), whole = tile_type_dim(buffer, d);
        if (extent > 0 && whole > 0) check_dim(c, op, d, at[d], extent, whole);
    }
}

bool check_part_begins(tile_pass *pass, const tile_function *f, tile_op op,
                       const tile_range *ranges) {
    checker c = {pass, f, ranges, true};
    visit_parts(f, op, check_begin, &c);
    return c.ok;
}
