#include "lib/builder/bitcast_width.h"

#include "lib/ir/describe.h"
#include "lib/support/integer.h"

enum { MAX_PARTS = 8 };

typedef struct bitcast_width {
    tile_builder *b;
    tile_context *context;
    unsigned parts; /* narrow elements per wide element */
    unsigned bits;  /* width of a narrow element */
} bitcast_width;

static const tile_type *type_of(const bitcast_width *x, tile_value value) {
    return tile_value_type(x->b->function, value);
}

bool tile_changes_width(const tile_builder *builder, tile_value src, const tile_type *type) {
    const tile_type *from = tile_value_type(builder->function, src);
    return type && from && !type->param && !from->param && type->scalar && from->scalar &&
           tile_type_is_array(from) &&
           (tile_type_is_array(type) || type->kind == TILE_TYPE_SCALAR) &&
           tile_scalar_bits(from->scalar) >= 8 && tile_scalar_bits(type->scalar) >= 8 &&
           tile_scalar_bits(from->scalar) != tile_scalar_bits(type->scalar);
}

static tile_scalar integer_of(unsigned bits) {
    return bits == 8 ? TILE_i8 : bits == 16 ? TILE_i16 : bits == 32 ? TILE_i32 : TILE_i64;
}

/* Casts the bits to another element type of the same width. */
static tile_value as_scalar(bitcast_width *x, tile_value value, tile_scalar scalar) {
    if (type_of(x, value)->scalar == scalar) return value;
    return tile_build_bitcast(x->b, value, tile_type_scalar(x->context, scalar));
}

static tile_value as_integers(bitcast_width *x, tile_value value) {
    return as_scalar(x, value, integer_of(tile_scalar_bits(type_of(x, value)->scalar)));
}

static tile_value shift(bitcast_width *x, tile_opcode opcode, tile_value value, unsigned part) {
    if (!part) return value;
    const tile_type *scalar = tile_type_scalar(x->context, type_of(x, value)->scalar);
    tile_value amount =
        tile_build_constant(x->b, scalar, tile_expr_int(x->context, part * x->bits));
    return opcode == TILE_OP_shl ? tile_build_shl(x->b, value, amount)
                                 : tile_build_ushr(x->b, value, amount);
}

/* The type with the last extent `last`, followed by `twos` dims of extent 2. */
static const tile_type *type_with(const bitcast_width *x, const tile_type *like,
                                  const tile_expr *last, unsigned twos) {
    tile_type draft = *like;
    draft.dims[like->rank - 1] = last;
    for (unsigned i = 0; i < twos; i++) draft.dims[draft.rank++] = tile_expr_int(x->context, 2);
    return tile_type_get(x->context, &draft);
}

static const tile_expr *rescaled_value(const bitcast_width *x, const tile_expr *extent,
                                       tile_opcode opcode) {
    return tile_expr_op(x->context, opcode, extent, tile_expr_int(x->context, x->parts), NULL);
}

/* Joins parts first, first + step, .. along a new last dim. The parts between them are joined along
 * the dims after it. */
static tile_value join_parts(bitcast_width *x, const tile_value *part, unsigned first,
                             unsigned step) {
    if (step == x->parts) return part[first];
    tile_value even = join_parts(x, part, first, step * 2),
               odd = join_parts(x, part, first + step, step * 2);
    return even.id && odd.id ? tile_build_join(x->b, even, odd) : TILE_NO_VALUE;
}

static tile_value permuted(bitcast_width *x, tile_value vector, const int64_t *order,
                           unsigned count) {
    tile_value other = tile_build_permute(x->b, vector, type_of(x, vector));
    if (other.id)
        tile_op_set_list(x->b->function, tile_value_def(x->b->function, other), TILE_ATTR_order,
                         order, count);
    return other;
}

/* Reorders the elements of a vector from interleaved, where the parts of a wide element are
 * consecutive, to part by part; or back. */
static tile_value permute_parts(bitcast_width *x, tile_value vector, bool back) {
    tile_arena scratch = {0};
    unsigned count = (unsigned)tile_type_elements(type_of(x, vector)), wide = count / x->parts;
    int64_t *order = TILE_NEW_ARRAY(&scratch, int64_t, count);
    for (unsigned i = 0; i < wide; i++)
        for (unsigned p = 0; p < x->parts; p++)
            order[back ? i * x->parts + p : p * wide + i] = back ? p * wide + i : i * x->parts + p;
    tile_value other = permuted(x, vector, order, count);
    tile_arena_reset(&scratch);
    return other;
}

static tile_value unpack(bitcast_width *x, tile_value src, tile_scalar to) {
    tile_value part[MAX_PARTS], whole = as_integers(x, src), all;
    const tile_type *narrow = tile_type_scalar(x->context, integer_of(x->bits)), *type;
    for (unsigned p = 0; p < x->parts; p++) {
        tile_value low = shift(x, TILE_OP_ushr, whole, p);
        part[p] = low.id ? tile_build_cast(x->b, low, narrow) : TILE_NO_VALUE;
        if (!part[p].id) return TILE_NO_VALUE;
    }
    type = type_of(x, part[0]);
    if (type->kind == TILE_TYPE_VECTOR) {
        all = permute_parts(x, tile_build_concat(x->b, part, x->parts), true);
    } else {
        const tile_expr *last = rescaled_value(x, type->dims[type->rank - 1], TILE_OP_mul);
        all = join_parts(x, part, 0, 1);
        if (all.id) all = tile_build_reshape(x->b, all, TILE_NO_VALUE, type_with(x, type, last, 0));
    }
    return all.id ? as_scalar(x, all, to) : all;
}

/* Splits the tile along its last dims, each of which separates two parts. */
static void take_apart(bitcast_width *x, tile_value tile, unsigned first, unsigned step,
                       tile_value *part) {
    if (step == x->parts || !tile.id) {
        part[first] = tile;
        return;
    }
    tile_value even = tile_build_unjoin(x->b, tile);
    if (!even.id) return;
    take_apart(x, even, first, step * 2, part);
    take_apart(x, tile_op_result(x->b->function, tile_value_def(x->b->function, even), 1),
               first + step, step * 2, part);
}

static tile_value pack(bitcast_width *x, tile_value src, tile_scalar to) {
    tile_value part[MAX_PARTS] = {{0}}, narrow = as_integers(x, src), all = TILE_NO_VALUE;
    const tile_type *type = type_of(x, narrow);
    const tile_type *wide = tile_type_scalar(x->context, integer_of(x->bits * x->parts));
    const tile_expr *last = rescaled_value(x, type->dims[type->rank - 1], TILE_OP_div);
    if (type->kind == TILE_TYPE_VECTOR) {
        unsigned count = (unsigned)tile_type_elements(type) / x->parts;
        tile_value dealt = permute_parts(x, narrow, false);
        for (unsigned p = 0; p < x->parts; p++)
            part[p] = tile_build_extract(x->b, dealt, tile_build_int(x->b, p * count),
                                         tile_type_vector(x->context, type->scalar, count));
    } else {
        tile_value split = tile_build_reshape(x->b, narrow, TILE_NO_VALUE,
                                              type_with(x, type, last, tile_log2(x->parts)));
        take_apart(x, split, 0, 1, part);
    }
    for (unsigned p = 0; p < x->parts; p++) {
        if (!part[p].id) return TILE_NO_VALUE;
        tile_value own = tile_build_cast(x->b, part[p], wide);
        if (!own.id) return TILE_NO_VALUE;
        tile_op_set_flag(x->b->function, tile_value_def(x->b->function, own), TILE_ATTR_unsigned);
        own = shift(x, TILE_OP_shl, own, p);
        all = p ? tile_build_or(x->b, all, own) : own;
    }
    return as_scalar(x, all, to);
}

static bool refuse(const bitcast_width *x, const char *what, const tile_type *from,
                   const tile_type *to) {
    tile_arena scratch = {0};
    tile_report(x->context, TILE_ERROR, x->b->loc, "bitcast: %s: from %s to %s", what,
                tile_type_text(x->b->function, from, NULL, &scratch),
                tile_type_text(x->b->function, to, NULL, &scratch));
    tile_arena_reset(&scratch);
    return false;
}

/* Extents that are not known yet are checked once they are. */
static bool check(const bitcast_width *x, const tile_type *from, const tile_type *to,
                  bool narrows) {
    bool array = tile_type_is_array(to);
    bool alike = !array || (to->kind == from->kind && to->rank == from->rank);
    int64_t have, want;
    for (unsigned d = 0; array && alike && d + 1 < from->rank; d++)
        alike = tile_extents_equal(x->context, to->dims[d], from->dims[d]);
    const tile_expr *last = from->dims[from->rank - 1];
    bool known = tile_expr_is_int(last, &have);
    if (alike && array && known && tile_expr_is_int(to->dims[to->rank - 1], &want))
        alike = narrows ? have * x->parts == want : have == want * x->parts;
    if (!alike)
        return refuse(x, "the last extent changes as the width does, the others stay", from, to);
    if (!narrows && known && have % x->parts)
        return refuse(
            x, "the last extent is not a multiple of the number of elements that form a new one",
            from, to);
    if (from->scalar == TILE_tf32 || to->scalar == TILE_tf32)
        return refuse(x, "some bits of tf32 are ignored; cast to or from f32 instead", from, to);
    if (from->kind == TILE_TYPE_VECTOR && tile_type_elements(from) < 0)
        return refuse(
            x, "a vector needs a known number of elements: write numbers instead of parameters",
            from, to);
    unsigned room = from->kind == TILE_TYPE_VECTOR ? 0 : tile_log2(x->parts);
    if (from->rank + room > TILE_MAX_RANK)
        return refuse(x,
                      "it would need more dims than a type can have; reshape to fewer dims first",
                      from, to);
    return true;
}

tile_value tile_build_bitcast_width(tile_builder *builder, tile_value src, const tile_type *type) {
    bitcast_width x = {builder, tile_function_context(builder->function), 0, 0};
    const tile_type *from = tile_value_type(builder->function, src);
    unsigned has = tile_scalar_bits(from->scalar), gets = tile_scalar_bits(type->scalar);
    x.bits = has < gets ? has : gets;
    x.parts = (has < gets ? gets : has) / x.bits;
    if (!check(&x, from, type, gets < has)) return TILE_NO_VALUE;
    return gets < has ? unpack(&x, src, type->scalar) : pack(&x, src, type->scalar);
}
