/* Groups of a convolution with few channels. A tile of one group has short rows: 32 bytes for 16
 * channels of f16. The channels of groups next to each other are contiguous, so a block takes as
 * many groups as have rows of up to 128 bytes together:
 *
 *     windows  [rows, groups * channels]       one copy
 *     filter   [channels, groups * filters]    one copy
 *     sums     [rows, filters] for each group, a product of parts of both tiles
 *
 * One product of the whole tiles would need a filter with zeros between the groups, and the zeros
 * would turn infinities of other groups to NaN.
 *
 * Instructions multiply 8 channels at least. Two groups of 4 channels have one part of the windows.
 * A product for each of them reads zeros in place of the other one's elements, and the columns of
 * the other one's filters are not used:
 *
 *     part of the windows   [rows, 0 to 3, zeros]   [rows, zeros, 4 to 7]
 *     part of the filter    0 to 3 of the filters of the first group, 4 to 7 of those of the second
 *
 * The domain gets the block's groups along its dims of the filters and of k. Let G be the groups of
 * a block. Group g of filter n becomes
 *
 *     g = G * b + n' / filters      n = n' % filters      with the new dims b and n' */
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "passes/schedule/products/product.h"
#include "passes/schedule/products/space.h"

enum {
    ROW = 128,          /* bytes */
    SHORT_ROW = 32,     /* of a group that is merged although its operands are plain arrays */
    CHANNELS = 8,       /* of a product, at least */
    LEAST = 4,          /* channels or filters of a group */
    MOST_FILTERS = 128, /* of a block */
    MOST_SUMS = 32,
};

static bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

/* Returns whether the coordinate is that of element `dim` of each group. */
static bool is_of_group(const product *p, const sched_coordinate *at, unsigned dim) {
    const sched_coordinate group = sched_dim_coordinate(p->m - 1), own = sched_dim_coordinate(dim);
    return at->index && !at->offset && at->index->kind == SCHED_PAIR &&
           sched_same_coordinate(&at->index->a, &group) &&
           sched_same_coordinate(&at->index->b, &own);
}

/* Returns whether the channels of groups next to each other are contiguous in the windows' array.
 */
static bool has_groups(const product *p, const product_operand *side) {
    schedule *s = p->k.s;
    unsigned order[TILE_MAX_RANK], others = 0;
    const sched_shape shape = sched_shape_of(s, (unsigned)side->array, side->source);
    sched_memory_order(s, &shape, order);
    const unsigned last = shape.type->rank - 1u;
    for (unsigned i = 0; i < last; i++) {
        const sched_coordinate *at = &side->source_map.at[order[i]];
        others += sched_depends(at, p->depth) || sched_depends(at, p->m - 1);
    }
    return !others && is_of_group(p, &side->source_map.at[order[last]], p->depth);
}

/* Returns whether a tile can have this extent: a small odd count times a power of two. */
static bool is_extent(int64_t n) {
    enum { MOST_ODD = 7 };
    while (n % 2 == 0) n /= 2;
    return n <= MOST_ODD;
}

/* The number of groups in a block; 1: they are not merged. Rows of up to 128 bytes are preferred,
 * and then longer ones to short ones. */
static int64_t count_groups(const product *p, int64_t groups, int64_t channels, int64_t filters) {
    const int64_t bytes = channels * tile_scalar_bytes(p->sides[0].element->scalar);
    const int64_t taps = p->taps < 0 ? 1 : sched_constant(p->k.g->domain.extents[p->taps]);
    const int64_t pair = channels < CHANNELS ? 2 : 1;
    int64_t best = 1;
    if (!is_power_of_two(channels) || !is_power_of_two(filters) || channels < LEAST ||
        filters < LEAST || taps < 0 || pair * filters < CHANNELS ||
        (p->taps < 0 && bytes > SHORT_ROW))
        return 1;
    for (int64_t count = 2; count <= groups && count * bytes <= 2 * ROW; count++) {
        bool fits = groups % count == 0 && count % pair == 0 && is_extent(count) &&
                    count * filters <= MOST_FILTERS;
        if (fits && (count * bytes <= ROW || best * bytes <= ROW / 2)) best = count;
    }
    return taps * best * channels <= SCHED_LONG_SUM ? best : 1;
}

/* Returns whether an operand is an array, or one that is only rounded. */
static bool is_array(const product *p, const product_operand *side) {
    schedule *s = p->k.s;
    const bool slices = p->taps < 0;
    if (side->plain || side->array < 0) return side->plain;
    const tile_value value = sched_without_moves(s, p->k.g, side->value, slices);
    const tile_op cast = tile_value_def(s->compute, value);
    if (!cast.id || tile_op_opcode(s->compute, cast) != TILE_OP_cast ||
        tile_op_at(s->compute, cast)->attr_count)
        return false;
    const tile_value source = tile_operand_src(s->compute, cast);
    return sched_without_moves(s, p->k.g, source, slices).id == side->source.id;
}

/* Returns whether the operand is the same for all batches but the groups: phases of a filter are
 * not, and leave out some taps. */
static bool is_without_phases(const product *p, const product_operand *side) {
    bool same = true;
    for (unsigned d = 0; d < sched_type(p->k.s, side->source)->rank; d++)
        for (unsigned batch = 0; batch + 1 < p->m; batch++)
            same &= !sched_depends(&side->source_map.at[d], batch);
    return same;
}

/* Returns whether a user chooses values that merged groups fix. */
static bool is_fixed(const product *p) {
    static const tile_attr_id attrs[] = {TILE_ATTR_tile, TILE_ATTR_split, TILE_ATTR_strategy};
    bool fixed = false;
    for (unsigned i = 0; i < sizeof attrs / sizeof *attrs; i++)
        fixed |= tile_op_has_attr(p->k.s->compute, p->op, attrs[i]);
    return fixed;
}

static bool can_merge(product *p, unsigned windows) {
    const product_operand *side = &p->sides[windows], *filter = &p->sides[1 - windows];
    const sched_domain *domain = &p->k.g->domain;
    const tile_scalar type = side->element->scalar;
    bool half = type == TILE_f16 || type == TILE_bf16;
    bool tf32 = p->precision == TILE_WORD_precision_tf32 || type == TILE_tf32;
    if (p->sum->scalar != TILE_f32 || !(half || tf32) || p->scaled || p->packed ||
        p->k.g->has_rows || p->m < 1 || domain->rank == TILE_MAX_RANK || is_fixed(p))
        return false;
    return is_array(p, side) && is_array(p, filter) && is_without_phases(p, filter) &&
           has_groups(p, side);
}

static const tile_expr *times(const product *p, const tile_expr *a, int64_t b) {
    return tile_expr_multiply(p->k.s->context, a, tile_expr_int(p->k.s->context, b));
}

/* Coordinates of the former dims if the groups of a block are along `dim`, which has `size`
 * elements of each. */
static sched_map split_along(const product *p, unsigned dim, const tile_expr *size) {
    schedule *s = p->k.s;
    const unsigned group = p->m - 1;
    const sched_coordinate own = sched_dim_coordinate(dim), block = sched_dim_coordinate(group);
    sched_map out;
    for (unsigned d = 0; d < TILE_MAX_RANK; d++) out.at[d] = sched_dim_coordinate(d);
    const sched_coordinate in_block = sched_computed(s, SCHED_DIV, &own, NULL, size);
    out.at[group] = sched_computed(s, SCHED_PAIR, &block, &in_block,
                                   tile_expr_int(s->context, p->groups.count));
    out.at[dim] = sched_computed(s, SCHED_REM, &own, NULL, size);
    return out;
}

static void substitute(product *p, product_operand *side, const sched_map *to) {
    schedule *s = p->k.s;
    side->source_map =
        sched_substitute(s, &side->source_map, sched_type(s, side->source)->rank, to);
}

void product_merge_groups(product *p) {
    unsigned windows = 0;
    schedule *s = p->k.s;
    sched_domain *domain = &p->k.g->domain;
    while (windows < 2 && !can_merge(p, windows)) windows++;
    if (windows == 2) return;
    const unsigned group = p->m - 1, of_filter = windows ? p->m : p->n;
    const int64_t groups = sched_constant(domain->extents[group]),
                  channels = sched_constant(p->extent_k),
                  filters = sched_constant(domain->extents[of_filter]),
                  count = count_groups(p, groups, channels, filters);
    if (count < 2) return;
    p->groups = (product_groups){.count = (unsigned)count,
                                 .windows = windows,
                                 .channel = domain->rank,
                                 .channels = tile_expr_int(s->context, channels),
                                 .filters = tile_expr_int(s->context, filters)};
    sched_domain sums = *domain;
    sums.rank = p->depth;
    p->groups.identity = sched_identity(&sums);
    const sched_map along_k = split_along(p, p->depth, p->groups.channels);
    sched_map along_filters = split_along(p, of_filter, p->groups.filters);
    along_filters.at[p->depth] = sched_dim_coordinate(p->groups.channel);
    substitute(p, &p->sides[windows], &along_k);
    substitute(p, &p->sides[1 - windows], &along_filters);
    product_operand *filter = &p->sides[1 - windows];
    *(windows ? &filter->column : &filter->row) = p->groups.channel;
    domain->extents[group] = tile_expr_int(s->context, groups / count);
    domain->extents[of_filter] = times(p, p->groups.filters, count);
    domain->extents[p->depth] = p->extent_k = times(p, p->groups.channels, count);
    domain->extents[domain->rank++] = p->groups.channels;
}

sched_map product_split_groups(const product *p) {
    const unsigned of_filter = p->groups.windows ? p->m : p->n;
    return split_along(p, of_filter, p->groups.filters);
}

void product_fix_groups(const product *p, sched_fixed *fixed) {
    tile_context *context = p->k.s->context;
    const tile_expr *one = tile_expr_int(context, 1);
    if (!p->groups.count) return;
    sched_fix(fixed, TILE_ATTR_tile, p->groups.windows ? "block_m" : "block_n",
              times(p, p->groups.filters, p->groups.count));
    sched_fix(fixed, TILE_ATTR_tile, "block_k", times(p, p->groups.channels, p->groups.count));
    sched_fix(fixed, TILE_ATTR_split, SCHED_SPLIT, one);
    sched_fix(fixed, TILE_ATTR_strategy, SCHED_STRATEGY, tile_expr_word(context, "serial"));
}

/* The loop ------------------------------------------------------------------------------------- */

static const tile_type *tile_of(const product *p, const tile_type *element, const tile_expr *rows,
                                const tile_expr *columns) {
    tile_type draft = {.kind = TILE_TYPE_TILE,
                       .scalar = element->scalar,
                       .param = element->param,
                       .rank = 2,
                       .dims = {rows, columns}};
    return tile_type_get(p->k.s->context, &draft);
}

/* Groups that one product has: two if they have 4 channels. */
static unsigned in_product(const product *p) {
    return sched_constant(p->groups.channels) < CHANNELS ? 2 : 1;
}

/* The rows or columns of the tile below `end`. */
static tile_value is_below(product *p, const tile_type *tile, unsigned axis, const tile_expr *end) {
    sched_kernel *k = &p->k;
    const tile_attr along = {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, axis)};
    const tile_type *type = tile_type_with_scalar(k->s->context, tile, TILE_i32);
    tile_op op = tile_build_op_of(&k->b, TILE_OP_iota, NULL, 0, type, &along, 1);
    tile_op_set_int(k->f, op, TILE_ATTR_axis, axis);
    return tile_build_lt(&k->b, tile_op_result(k->f, op, 0), sched_number(k, end));
}

/* The tile's extents [along m or n, along k], in the order of the operand. */
static const tile_type *part_of(const product *p, unsigned index, const tile_type *element,
                                const tile_expr *other, const tile_expr *depth) {
    const bool depth_first = (index == 1) != p->sides[index].turned;
    return depth_first ? tile_of(p, element, depth, other) : tile_of(p, element, other, depth);
}

/* Repeats the channels of two groups, and keeps those of each group in its place. */
static tile_value spread_filter(product *p, unsigned index, tile_value part) {
    sched_kernel *k = &p->k;
    const product_operand *side = &p->sides[index];
    const unsigned depth = (index == 1) != side->turned ? 0 : 1;
    tile_type split = *tile_value_type(k->f, part), whole = split;
    for (unsigned d = split.rank++; d > depth; d--) split.dims[d] = split.dims[d - 1];
    split.dims[depth] = tile_expr_int(k->s->context, 1);
    tile_value tile =
        tile_build_reshape(&k->b, part, TILE_NO_VALUE, tile_type_get(k->s->context, &split));
    split.dims[depth] = tile_expr_int(k->s->context, 2);
    tile = tile_build_broadcast(&k->b, tile, tile_type_get(k->s->context, &split));
    whole.dims[depth] = times(p, p->groups.channels, 2);
    const tile_type *type = tile_type_get(k->s->context, &whole);
    tile = tile_build_reshape(&k->b, tile, TILE_NO_VALUE, type);
    const tile_value first = is_below(p, type, depth, p->groups.channels);
    const tile_value own = is_below(p, type, 1 - depth, p->groups.filters);
    return tile_build_select(&k->b, tile_build_eq(&k->b, first, own), tile,
                             tile_build_zero(&k->b, type));
}

/* The part of an operand's tile for product i. */
static tile_value take_part(product *p, unsigned index, unsigned i) {
    sched_kernel *k = &p->k;
    const product_operand *side = &p->sides[index];
    const bool is_windows = index == p->groups.windows;
    const tile_expr *rows = tile_expr_param(k->s->context, index ? "block_n" : "block_m");
    const tile_expr *depth = times(p, p->groups.channels, is_windows ? in_product(p) : 1);
    if (!is_windows) rows = times(p, p->groups.filters, in_product(p));
    const tile_type *type = part_of(p, index, sched_element(k->s, side->source), rows, depth);
    const bool depth_first = (index == 1) != side->turned;
    const unsigned axis = is_windows == depth_first ? 0 : 1;
    tile_value at[] = {tile_build_int(&k->b, 0), tile_build_int(&k->b, 0)};
    at[axis] = sched_number(k, times(p, is_windows ? depth : rows, i));
    tile_value part = tile_build_load_shared(&k->b, side->shared, at, 2, type);
    if (!is_windows && in_product(p) > 1) part = spread_filter(p, index, part);
    return sched_convert(k, part, side->element);
}

/* The windows of one of two groups, and zeros. */
static tile_value keep_group(product *p, tile_value part, unsigned group) {
    sched_kernel *k = &p->k;
    const product_operand *side = &p->sides[p->groups.windows];
    const tile_type *type = tile_value_type(k->f, part);
    const unsigned depth = (p->groups.windows == 1) != side->turned ? 0 : 1;
    const tile_value first = is_below(p, type, depth, p->groups.channels),
                     zero = tile_build_zero(&k->b, type);
    return group ? tile_build_select(&k->b, first, zero, part)
                 : tile_build_select(&k->b, first, part, zero);
}

/* Adds product i to the sums of its groups. */
static void multiply_part(product *p, unsigned i, tile_value *sums) {
    const unsigned windows = p->groups.windows, groups = in_product(p);
    tile_value taken[] = {take_part(p, 0, i), take_part(p, 1, i)};
    const tile_value whole = taken[windows];
    for (unsigned g = 0; g < groups; g++) {
        if (groups > 1) taken[windows] = keep_group(p, whole, g);
        sums[i * groups + g] = product_build_dot(p, taken, 1, sums[i * groups + g]);
    }
}

/* The sums of both groups of a product. */
static tile_value join_groups(product *p, const tile_value *sums) {
    const tile_type *type = tile_value_type(p->k.f, sums[0]);
    const tile_value first = is_below(p, type, p->groups.windows ? 0 : 1, p->groups.filters);
    return tile_build_select(&p->k.b, first, sums[0], sums[1]);
}

static tile_value concat(product *p, const tile_value *tiles, unsigned count, unsigned axis) {
    sched_kernel *k = &p->k;
    const tile_segment segments[] = {{TILE_NO_VALUE, tiles, count}};
    const tile_attr along = {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, axis)};
    if (count == 1) return tiles[0];
    tile_op op = tile_build_op_of(&k->b, TILE_OP_concat, segments, 1, NULL, &along, 1);
    tile_op_set_int(k->f, op, TILE_ATTR_axis, axis);
    return tile_op_result(k->f, op, 0);
}

tile_value product_build_groups(product *p) {
    sched_kernel *k = &p->k;
    const unsigned windows = p->groups.windows, count = p->groups.count, groups = in_product(p);
    const tile_expr *block = tile_expr_param(k->s->context, windows ? "block_n" : "block_m");
    const tile_expr *filters = times(p, p->groups.filters, groups);
    const tile_type *type =
        windows ? tile_of(p, p->sum, filters, block) : tile_of(p, p->sum, block, filters);
    tile_value sums[MOST_SUMS], parts;
    for (unsigned i = 0; i < 2; i++) product_alloc_side(p, i);
    product_set_sums(p);
    for (unsigned i = 0; i < count; i++) sums[i] = tile_build_zero(&k->b, type);
    tile_op loop = product_build_steps(p, sums, count, &parts);
    product_set_loop(p, loop);
    tile_builder outside = k->b;
    k->b = tile_builder_in(&outside, loop, 0);
    const tile_region body = tile_op_region(k->f, loop, 0);
    product_enter_step(p, tile_region_arg(k->f, body, 0), parts);
    k->start[p->groups.channel] = tile_build_int(&k->b, 0);
    size_t mark = sched_enter(k);
    for (unsigned i = 0; i < 2; i++) product_copy_side(p, i);
    sched_leave(k, mark);
    for (unsigned i = 0; i < count; i++) sums[i] = tile_region_arg(k->f, body, i + 1);
    for (unsigned i = 0; i < count / groups; i++) multiply_part(p, i, sums);
    tile_build_yield(&k->b, sums, count);
    k->b = outside;
    for (unsigned i = 0; i < count; i++) sums[i] = tile_op_result(k->f, loop, i);
    for (unsigned i = 0; i < count / groups && groups > 1; i++)
        sums[i] = join_groups(p, &sums[i * groups]);
    return concat(p, sums, count / groups, windows ? 0 : 1);
}
