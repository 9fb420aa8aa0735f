/* The operands of a product: the arrays that they are computed from, and matrices of windows. */
#include "passes/schedule/products/product.h"

#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"

/* Operands ------------------------------------------------------------------------------------- */

tile_op product_of_side(const product *p, unsigned index) {
    return index == 2 ? p->dual : p->op;
}

/* The position of the operand in its product. */
static unsigned position(unsigned index) {
    return index ? 1 : 0;
}

tile_value product_value_of_side(const schedule *s, const product *p, unsigned index) {
    return tile_op_operand(s->compute, product_of_side(p, index), position(index));
}

static tile_value multiplied(product *p, unsigned index) {
    return sched_multiplied(p->k.s, product_of_side(p, index), position(index));
}

/* Casts follow operations that move elements (sched_move_casts). A cast whose result is already in
 * memory is not removed. */
void product_choose_elements(product *p) {
    schedule *s = p->k.s;
    bool in_memory = false;
    for (unsigned i = 0; i < p->side_count; i++)
        in_memory |= multiplied(p, i).id != p->sides[i].value.id &&
                     sched_find_input(s, p->k.g, p->sides[i].value) >= 0;
    for (unsigned i = 0; i < p->side_count; i++) {
        if (!in_memory) p->sides[i].value = multiplied(p, i);
        p->sides[i].element = sched_element(s, p->sides[i].value);
        if (p->sides[i].element->scalar != TILE_f32) p->precision = TILE_WORD_NONE;
    }
}

bool product_uses_tensor_cores(const product *p) {
    return p->precision != TILE_WORD_NONE || p->sum->scalar != TILE_f32 ||
           p->sides[0].element->scalar != TILE_f32;
}

/* The coordinate along k, m or n. */
static sched_coordinate along(const product *p, unsigned dim) {
    sched_coordinate at = sched_dim_coordinate(dim);
    if (dim != p->depth || p->taps < 0) return at;
    const sched_coordinate tap = sched_dim_coordinate((unsigned)p->taps);
    return sched_computed(p->k.s, SCHED_PAIR, &tap, &at, p->extent_k);
}

/* Sets the dims of an operand: batches, then two of m, n and k. */
static void place_operand(product *p, product_operand *side, bool transposed) {
    schedule *s = p->k.s;
    const tile_type *type = sched_type(s, side->value);
    unsigned rank = type->rank, result = sched_type(s, tile_op_result(s->compute, p->op, 0))->rank;
    for (unsigned d = 0; d + 2 < rank; d++) {
        bool repeated = tile_expr_is(sched_dim(s, type, d), 1);
        side->map.at[d] =
            repeated ? sched_zero_coordinate() : sched_dim_coordinate(d + result - rank);
    }
    side->map.at[rank - 2] = along(p, transposed ? side->column : side->row);
    side->map.at[rank - 1] = along(p, transposed ? side->row : side->column);
}

/* Finds the large array that the operand is computed from, and its map. */
typedef struct search {
    product *p;
    product_operand *side;
    unsigned found;
    sched_visited_values visits;
} search;

static void find_source(search *f, tile_value value, const sched_map *map) {
    schedule *s = f->p->k.s;
    const tile_type *type = sched_type(s, value);
    int array = sched_find_input(s, f->p->k.g, value);
    tile_op op = tile_value_def(s->compute, value);
    if (type->kind != TILE_TYPE_TENSOR || !sched_visit_first(s, &f->visits, value, map)) return;
    if (array >= 0) {
        bool rows = false, columns = false;
        for (unsigned d = 0; d < type->rank; d++) {
            rows |= sched_depends(&map->at[d], f->side->row);
            columns |= sched_depends(&map->at[d], f->side->column);
        }
        if (!rows || !columns) return;
        f->found += f->side->source.id != value.id ||
                    !sched_same_map(&f->side->source_map, map, type->rank);
        f->side->array = array;
        f->side->source = value;
        f->side->source_map = *map;
        return;
    }
    if (!op.id || !sched_is_inline(s, op)) return;
    unsigned result = value.id - tile_op_result(s->compute, op, 0).id;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        sched_map at = sched_operand_map(s, op, result, i, map);
        find_source(f, tile_op_operand(s->compute, op, i), &at);
    }
}

/* Returns whether the operand is the array rounded from f32 to tf32, perhaps moved before or after
 * that. */
static bool is_rounded(const product *p, const product_operand *side) {
    schedule *s = p->k.s;
    const bool slices = p->taps < 0;
    const tile_op cast =
        tile_value_def(s->compute, sched_without_moves(s, p->k.g, side->value, slices));
    return side->array >= 0 && side->element->scalar == TILE_tf32 && cast.id &&
           tile_op_opcode(s->compute, cast) == TILE_OP_cast &&
           sched_element(s, side->source)->scalar == TILE_f32 &&
           sched_without_moves(s, p->k.g, tile_operand_src(s->compute, cast), slices).id ==
               side->source.id;
}

void product_take_operand(product *p, unsigned index) {
    schedule *s = p->k.s;
    product_operand *side = &p->sides[index];
    search f = {.p = p, .side = side};
    side->array = -1;
    side->source = TILE_NO_VALUE;
    side->row = index ? p->depth : p->m;
    side->column = index ? p->n : p->depth;
    place_operand(p, side,
                  tile_op_has_attr(s->compute, product_of_side(p, index),
                                   index ? TILE_ATTR_trans_rhs : TILE_ATTR_trans_lhs));
    find_source(&f, side->value, &side->map);
    side->sources = f.found;
    if (f.found != 1) side->array = -1;
    side->plain = side->array >= 0 && sched_element(s, side->source) == side->element &&
                  sched_without_moves(s, p->k.g, side->value, p->taps < 0).id == side->source.id;
    side->rounded = is_rounded(p, side);
}

/* Windows -------------------------------------------------------------------------------------- */

/* The coordinate of an operand along the dim in which its array is contiguous. */
static const sched_coordinate *contiguous_coordinate(const product *p,
                                                     const product_operand *side) {
    unsigned order[TILE_MAX_RANK];
    const sched_shape shape = sched_shape_of(p->k.s, (unsigned)side->array, side->source);
    sched_memory_order(p->k.s, &shape, order);
    return &side->source_map.at[order[shape.type->rank - 1]];
}

/* The coordinate in its group, if channels of a group follow those of the groups before. Then
 * *grouped is set. */
static const sched_coordinate *without_group(const product *p, const sched_coordinate *at,
                                             bool *grouped) {
    *grouped = false;
    while (at->index && !at->offset && at->index->kind == SCHED_PAIR &&
           !sched_depends(&at->index->a, p->depth)) {
        at = &at->index->b;
        *grouped = true;
    }
    return at;
}

/* The coordinate along the contiguous dim, in its group. */
static const sched_coordinate *last_coordinate(const product *p, const product_operand *side,
                                               bool *grouped) {
    return without_group(p, contiguous_coordinate(p, side), grouped);
}

/* Returns whether the coordinate grows by 1 along the dim: it is the dim, or a pair with it, such
 * as that of a group and a channel. */
static bool steps_along(const sched_coordinate *at, unsigned dim) {
    if (!at->index) return at->dim == (int)dim;
    return at->index->kind == SCHED_PAIR && !sched_depends(&at->index->a, dim) &&
           steps_along(&at->index->b, dim);
}

/* Finds the extent of the channels if the coordinate is that of a channel, the last digit of k.
 * NULL: it is another one, or the extent is too small for a separate tile. */
static const tile_expr *find_channels(const product *p, const sched_coordinate *at, bool grouped) {
    enum { FEWEST = 8, FEWEST_OF_GROUP = 4 };
    const sched_coordinate depth = sched_dim_coordinate(p->depth);
    if (!at->index || at->offset || at->index->kind != SCHED_REM ||
        !sched_same_coordinate(&at->index->a, &depth))
        return NULL;
    const int64_t known = sched_constant(at->index->by.expr);
    bool fits = known < 0 || known >= (grouped ? FEWEST_OF_GROUP : FEWEST);
    return fits ? at->index->by.expr : NULL;
}

/* If the operand is a matrix of windows, returns the extent that is contiguous along k, which is
 * [taps, channels] in one dim. NULL if it is no such matrix. Threads copy single elements for fma,
 * so that channels may be anywhere in memory. */
static const tile_expr *channels_of(const product *p, const product_operand *side) {
    if (side->array < 0) return NULL;
    bool grouped = false;
    const sched_coordinate *last = last_coordinate(p, side, &grouped);
    const tile_expr *found = find_channels(p, last, grouped);
    if (product_uses_tensor_cores(p) && p->sides[0].element->scalar != TILE_f64) return found;
    const unsigned rank = sched_type(p->k.s, side->source)->rank;
    for (unsigned d = 0; d < rank && !found; d++) {
        const sched_coordinate *at = without_group(p, &side->source_map.at[d], &grouped);
        found = find_channels(p, at, false);
    }
    return found;
}

/* The same of rows that are rounded in registers, are contiguous along the other dim of the
 * product, and which each position of the filter shifts: k is [taps, channels], and a tile of a
 * tap's channels has whole rows. */
static const tile_expr *channels_of_shifted(const product *p, const product_operand *side) {
    const unsigned other = side->row == p->depth ? side->column : side->row;
    const sched_coordinate depth = sched_dim_coordinate(p->depth);
    sched_digit digits[2];
    unsigned count;
    int64_t offset;
    if (side->array < 0 || !side->rounded ||
        !sched_find_digits(p->k.s, contiguous_coordinate(p, side), digits, 2, &count, &offset) ||
        count != 2)
        return NULL;
    const unsigned own = digits[0].dim == (int)other ? 0 : 1;
    if (digits[own].dim != (int)other || digits[own].low != 1 || digits[own].size ||
        digits[own].scale != 1 || digits[1 - own].dim != (int)p->depth)
        return NULL;
    for (unsigned d = 0; d < sched_type(p->k.s, side->source)->rank; d++) {
        const sched_coordinate *at = &side->source_map.at[d];
        if (at->index && !at->offset && at->index->kind == SCHED_REM &&
            sched_same_coordinate(&at->index->a, &depth) && at->index->by.expr &&
            tile_expr_is(at->index->by.expr, digits[1 - own].low))
            return at->index->by.expr;
    }
    return NULL;
}

bool product_reads_along_k(const product *p, const product_operand *side) {
    return side->array >= 0 && sched_depends(contiguous_coordinate(p, side), p->depth);
}

bool product_gathers_rows(const product *p, const product_operand *side) {
    bool grouped = false;
    if (!side->gathered || p->taps >= 0) return true;
    const sched_coordinate *last = last_coordinate(p, side, &grouped);
    const unsigned dims[] = {side->row, side->column};
    for (unsigned i = 0; i < 2; i++) {
        const sched_coordinate own = sched_dim_coordinate(dims[i]);
        unsigned found = 0;
        for (unsigned d = 0; d < sched_type(p->k.s, side->source)->rank; d++)
            found += sched_depends(&side->source_map.at[d], dims[i]);
        if (found == 1 && sched_same_coordinate(last, &own)) return true;
    }
    return steps_along(contiguous_coordinate(p, side), p->depth);
}

/* Returns whether the coordinate is out of bounds after the end of k. */
static bool ends_with_k(const product *p, const sched_coordinate *at, const tile_expr *extent) {
    const sched_coordinate depth = sched_dim_coordinate(p->depth);
    const sched_index *index = at->index;
    const tile_expr *by = NULL;
    if (at->offset) return false;
    if (!index || index->kind == SCHED_PAIR)
        return sched_same_coordinate(index ? &index->b : at, &depth);
    sched_coordinate of = *at;
    while (of.index && !of.offset && of.index->kind == SCHED_DIV && of.index->by.expr) {
        by = by ? tile_expr_multiply(p->k.s->context, by, of.index->by.expr) : of.index->by.expr;
        of = of.index->a;
    }
    return by && sched_same_coordinate(&of, &depth) &&
           sched_same_extent(p->k.s, tile_expr_multiply(p->k.s->context, by, extent), p->extent_k);
}

bool product_passes_end(const product *p, const product_operand *side) {
    enum { LONGEST = 64 }; /* tile along k */
    schedule *s = p->k.s;
    const tile_type *type = sched_type(s, side->source);
    bool depends = false, ends = false;
    for (unsigned d = 0; d < type->rank; d++) {
        const sched_coordinate *at = &side->source_map.at[d];
        depends |= sched_depends(at, p->depth);
        ends |= ends_with_k(p, at, sched_dim(s, type, d));
    }
    int64_t extent = sched_constant(p->extent_k);
    return side->gathered && p->taps < 0 && depends && !ends &&
           (extent < 0 || extent % LONGEST != 0);
}

/* Splits k so that a tile along k stays within one tap and its elements are contiguous in both
 * matrices. Otherwise index tiles select each element. */
void product_choose_taps(product *p) {
    schedule *s = p->k.s;
    sched_domain *domain = &p->k.g->domain;
    const tile_expr *channels = channels_of(p, &p->sides[0]), *taps = NULL;
    if (!channels) channels = channels_of(p, &p->sides[1]);
    for (unsigned i = 0; i < 2 && !channels; i++) channels = channels_of_shifted(p, &p->sides[i]);
    if (channels) taps = sched_without(s, p->extent_k, channels);
    if (!taps || domain->rank == TILE_MAX_RANK) return;
    for (unsigned i = 0; i < p->side_count; i++)
        if (p->sides[i].array >= 0 && sched_type(s, p->sides[i].source)->rank == TILE_MAX_RANK)
            return;
    p->taps = (int)domain->rank;
    domain->extents[domain->rank++] = taps;
    domain->extents[p->depth] = p->extent_k = channels;
    for (unsigned i = 0; i < p->side_count; i++) product_take_operand(p, i);
}

/* Order of dims -------------------------------------------------------------------------------- */

/* Returns whether the rows of a gathered tile are along the other dim of the product than by
 * default. */
static bool has_turned_rows(const product *p, const product_operand *side) {
    if (!side->gathered) return false;
    const sched_coordinate *last = contiguous_coordinate(p, side);
    if (p->taps < 0 && !steps_along(last, side->row)) return false;
    return sched_depends(last, side->row) && !sched_depends(last, side->column);
}

/* A copy with the array's order of dims can be a TMA copy. Its elements are contiguous along k in
 * shared memory if they are in the array, as wgmma requires of 32-bit elements. The rows of windows
 * are contiguous in the array. */
void product_choose_order(product *p) {
    schedule *s = p->k.s;
    for (unsigned i = 0; i < p->side_count; i++) {
        product_operand *side = &p->sides[i];
        unsigned row = 0, column = 0, order[TILE_MAX_RANK];
        side->turned =
            side->windowed ? side != &p->sides[0] : side->plain && has_turned_rows(p, side);
        if (!side->plain || side->gathered || p->taps >= 0 || !(p->precision || p->scaled))
            continue;
        const sched_shape shape = sched_shape_of(s, (unsigned)side->array, side->source);
        sched_memory_order(s, &shape, order);
        for (unsigned d = 0; d < shape.type->rank; d++) {
            if (sched_depends(&side->source_map.at[order[d]], side->row)) row = d;
            if (sched_depends(&side->source_map.at[order[d]], side->column)) column = d;
        }
        side->turned = column < row;
    }
}
