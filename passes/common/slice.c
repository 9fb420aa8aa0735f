/* Slices of tiles: see the header. */
#include "passes/common/slice.h"

#include "passes/common/host_value.h"

const tile_type *slice_type(tile_context *context, const tile_type *type, unsigned dim,
                            int64_t count) {
    tile_type draft = *type;
    draft.layout = NULL;
    draft.dims[dim] = tile_expr_int(context, tile_type_dim(type, dim) / count);
    return tile_type_get(context, &draft);
}

void slice_move(tile_function *f, tile_op op, unsigned place, unsigned rank, unsigned dim,
                tile_value first) {
    int64_t known;
    const tile_values element = tile_op_segment(f, op, place);
    tile_value *index = &element.at[element.count - rank + dim];
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    first = host_value_cast(&b, first, tile_value_type(f, *index)->scalar);
    bool zero = tile_value_is_int(f, *index, &known) && known == 0;
    *index = zero ? first : tile_build_add(&b, *index, first);
}

tile_value slice_iota(tile_builder *b, tile_op iota, const tile_type *to) {
    tile_value again = tile_build_iota(b, to);
    const tile_op_data *data = tile_op_at(b->function, iota);
    tile_op_data *copy = tile_op_at(b->function, tile_value_def(b->function, again));
    copy->attrs = tile_arena_copy(&b->function->module->arena, data->attrs,
                                  sizeof *data->attrs * data->attr_count);
    copy->attr_count = data->attr_count;
    return again;
}

/* The type in which all numbers of the tile are exact, or wrap as in the tile. Floats are still
 * rounded once. */
static tile_scalar scalar_of_numbers(const tile_type *whole, const tile_iota *iota) {
    int64_t span, last;
    if (!tile_scalar_is_floating(whole->scalar)) return whole->scalar;
    bool small = !__builtin_mul_overflow(iota->step, tile_type_dim(whole, iota->axis), &span) &&
                 !__builtin_add_overflow(iota->start, span, &last) && last == (int32_t)last &&
                 iota->start == (int32_t)iota->start && span == (int32_t)span;
    return small ? TILE_i32 : TILE_i64;
}

/* The offset of the slice's first number: first * each. */
static tile_value build_before(tile_builder *b, tile_scalar scalar, tile_value first,
                               int64_t each) {
    tile_context *context = tile_function_context(b->function);
    tile_scalar in = scalar == TILE_i32 && each == (int32_t)each ? TILE_i32 : TILE_i64;
    tile_value by = tile_function_constant(b->function, tile_type_scalar(context, in),
                                           tile_expr_int(context, each));
    first = host_value_cast(b, first, in);
    return host_value_cast(b, each == 1 ? first : tile_build_mul(b, first, by), scalar);
}

tile_value slice_numbers(tile_builder *early, tile_builder *b, tile_op op, const tile_type *to,
                         tile_value first, int64_t unit) {
    tile_iota iota;
    tile_function *f = b->function;
    tile_value numbers = tile_op_result(f, op, 0);
    if (!tile_iota_of(f, op, &iota)) return TILE_NO_VALUE;
    tile_scalar scalar = scalar_of_numbers(tile_value_type(f, numbers), &iota);
    const tile_type *type = tile_type_with_scalar(tile_function_context(f), to, scalar);
    tile_value before =
        build_before(early, scalar, first, (int64_t)((uint64_t)unit * (uint64_t)iota.step));
    tile_value own = slice_iota(b, op, type);
    tile_value all = tile_build_add(b, own, tile_build_splat(b, before, type));
    if (type != to) all = tile_build_cast(b, all, to);
    tile_value_at(f, all)->name = tile_value_at(f, numbers)->name;
    return all;
}
