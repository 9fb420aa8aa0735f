/* Products: each block computes a tile of the result in a pipelined loop over k, then the epilogue.
 *
 * An operand that is an array, with its dims in any order, is copied to shared memory and
 * multiplied from there. An operand that is computed (a cast, a scale) is loaded from shared
 * memory, computed in registers and multiplied from these. An operand whose rows are windows is
 * loaded with index tiles, which computes a convolution without storing the matrix of windows.
 * An operand that is unpacked from words is in packed.c.
 * Casts of both operands to a wider type are removed, because the instructions multiply narrow
 * elements exactly and accumulate in the wide type. */
#include "passes/schedule/kernel/schedule.h"

#include <string.h>

#include "lib/support/scalar.h"
#include "passes/schedule/kernel/long.h"
#include "passes/schedule/products/product.h"
#include "passes/schedule/products/space.h"

/* The kernel ----------------------------------------------------------------------------------- */

/* The blocks of two products have block_n columns together. */
const tile_expr *product_columns(const product *p) {
    tile_context *context = p->k.s->context;
    const tile_expr *all = product_param(p, "block_n");
    return p->dual.id ? tile_expr_op(context, TILE_OP_div, all, tile_expr_int(context, 2), NULL)
                      : all;
}

static void set_tiles(product *p, unsigned row, const tile_expr *rows, unsigned column,
                      const tile_expr *columns) {
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) p->k.tile_of[d] = -1;
    sched_set_tile(&p->k, row, 0, rows);
    sched_set_tile(&p->k, column, 1, columns);
}

/* The tile's extent along m or n, or along k if an operand has it. Of merged groups they are fixed,
 * and the filter has the channels of one group. */
static const tile_expr *block_of(const product *p, unsigned index) {
    const product_groups *g = &p->groups;
    bool fixed = g->count && g->windows != index;
    if (fixed) return p->k.g->domain.extents[index ? p->n : p->m];
    return index ? product_columns(p) : product_param(p, "block_m");
}

static void set_side(product *p, unsigned index) {
    bool is_filter = p->groups.count && p->groups.windows != index;
    unsigned other = index ? p->n : p->m, depth = is_filter ? p->groups.channel : p->depth;
    const tile_expr *block = block_of(p, index), *along = product_param(p, "block_k");
    if (p->groups.count) along = p->k.g->domain.extents[depth];
    if ((index > 0) != p->sides[index].turned)
        set_tiles(p, depth, along, other, block);
    else
        set_tiles(p, other, block, depth, along);
}

void product_set_sums(product *p) {
    set_tiles(p, p->m, block_of(p, 0), p->n, block_of(p, 1));
}

static void find_gathered(product *p, unsigned index) {
    product_operand *side = &p->sides[index];
    sched_map merged = side->source_map;
    set_side(p, index);
    if (side->array >= 0) { /* as an access merges dims */
        sched_shape shape = sched_shape_of(p->k.s, (unsigned)side->array, side->source);
        sched_merge_shape(p->k.s, &shape, &merged);
        side->gathered = sched_is_scattered(&p->k, shape.type->rank, &merged);
    }
    side->windowed = side->gathered && !p->groups.count && product_find_windows(p, index);
    side->gathered &= !side->windowed;
    if (side->gathered) /* index tiles do not end with a slice */
        side->plain &=
            sched_without_moves(p->k.s, p->k.g, side->value, false).id == side->source.id;
}

static tile_value alloc_side(product *p, const product_operand *side) {
    if (side->array < 0) return TILE_NO_VALUE;
    const tile_type *element = sched_element(p->k.s, side->source);
    tile_type draft = {.kind = TILE_TYPE_SHARED,
                       .scalar = element->scalar,
                       .rank = 2,
                       .dims = {p->k.block[0], p->k.block[1]}};
    return tile_build_alloc_shared(&p->k.b, tile_type_get(p->k.s->context, &draft));
}

/* Copies the array's tile to shared memory with its dims in the tile's order. */
static void copy_side(product *p, product_operand *side) {
    sched_kernel *k = &p->k;
    sched_access access;
    if (side->array < 0) return;
    const unsigned array = (unsigned)side->array;
    const bool ended = product_passes_end(p, side);
    if (side->windowed) {
        product_copy_windows(p, side);
        return;
    }
    k->straight = true;
    if (ended
            ? sched_find_ended_access(k, array, side->source, &side->source_map, p->depth, &access)
            : sched_find_access(k, array, side->source, &side->source_map, &access)) {
        if (!side->gathered && !ended)
            sched_end_access(k, array, side->source, &side->source_map, p->depth, &access);
        tile_build_copy(&k->b, access.view, access.index, access.rank, side->shared, NULL, 0,
                        TILE_NO_VALUE);
    }
    k->straight = false;
}

void product_alloc_side(product *p, unsigned index) {
    set_side(p, index);
    p->sides[index].shared = alloc_side(p, &p->sides[index]);
}

void product_copy_side(product *p, unsigned index) {
    set_side(p, index);
    copy_side(p, &p->sides[index]);
    product_set_sums(p);
}

/* Arrays give 0 after the end of k, but values computed from these may be anything. If both
 * operands are computed, one of them is set to 0 there. */
static tile_value end_with_k(product *p, const product_operand *side, tile_value tile) {
    sched_kernel *k = &p->k;
    const sched_coordinate depth = sched_dim_coordinate(p->depth);
    bool plain = true;
    for (unsigned i = 1; i < p->side_count; i++) plain &= p->sides[i].plain;
    if (side != &p->sides[0] || plain || !tile.id) return tile;
    tile_value end = sched_number(k, sched_expr(k->s, p->extent_k));
    tile_value inside = tile_build_lt(&k->b, sched_coordinate_tile(k, &depth), end);
    return tile_build_select(&k->b, inside, tile, tile_build_zero(&k->b, side->element));
}

/* Returns the operand as a shared buffer or a tile. */
static tile_value take_side(product *p, product_operand *side) {
    sched_kernel *k = &p->k;
    if (side->plain) return side->shared;
    if (side->array >= 0)
        sched_remember(k, side->source, &side->source_map, sched_element(k->s, side->source),
                       tile_build_load_shared(&k->b, side->shared, NULL, 0, NULL));
    tile_value tile = sched_value(k, side->value, &side->map, side->element);
    return end_with_k(p, side, sched_broadcast_to_tile(k, tile));
}

static void set_split(product *p, tile_op loop) {
    if (!product_has_param(p, "split")) return;
    tile_op_set_expr(p->k.f, loop, TILE_ATTR_split, product_param(p, "split"));
    tile_op_set_expr(p->k.f, loop, TILE_ATTR_strategy, product_param(p, "strategy"));
}

static void set_stages(product *p, tile_op loop) {
    tile_op_set_expr(p->k.f, loop, TILE_ATTR_pipelined, product_param(p, "stages"));
    if (product_has_param(p, "consumers"))
        tile_op_set_expr(p->k.f, loop, TILE_ATTR_consumers, product_param(p, "consumers"));
}

void product_set_loop(product *p, tile_op loop) {
    set_stages(p, loop);
    set_split(p, loop);
}

/* The end of a loop that adds up the product: 0 if a mask hides the block's tile. */
static tile_value unless_hidden(product *p, tile_value end) {
    tile_builder *b = &p->k.b;
    if (!p->seen.found) return end;
    return tile_build_select(b, product_sees_tile(p), end, tile_build_int(b, 0));
}

/* The number of tiles along k; *along: those of one tap. */
static tile_value count_steps(product *p, tile_value *along) {
    sched_kernel *k = &p->k;
    const tile_expr *extent = sched_expr(k->s, p->extent_k), *block = product_param(p, "block_k");
    *along = sched_number(k, tile_expr_op(k->s->context, TILE_OP_ceildiv, extent, block, NULL));
    if (p->taps < 0) return unless_hidden(p, *along);
    const tile_expr *taps = sched_expr(k->s, k->g->domain.extents[p->taps]);
    tile_value number = p->digit_count ? product_count_taps(p) : sched_number(k, taps);
    return tile_build_mul(&k->b, number, *along);
}

/* Without taps, the loop is over tiles along k, else over the channels of each tap. */
tile_op product_build_steps(product *p, const tile_value *sums, unsigned count, tile_value *parts) {
    *parts = TILE_NO_VALUE;
    sched_kernel *k = &p->k;
    tile_value zero = tile_build_int(&k->b, 0);
    const tile_expr *extent = sched_expr(k->s, p->extent_k), *block = product_param(p, "block_k");
    if (p->scaled)
        block = tile_expr_multiply(k->s->context, tile_expr_int(k->s->context, 2), block);
    if (p->taps < 0)
        return tile_build_for_loop(&k->b, zero, unless_hidden(p, sched_number(k, extent)),
                                   sched_number(k, block), sums, count);
    tile_value steps = count_steps(p, parts);
    return tile_build_for_loop(&k->b, zero, steps, tile_build_int(&k->b, 1), sums, count);
}

void product_enter_step(product *p, tile_value step, tile_value parts) {
    sched_kernel *k = &p->k;
    k->start[p->depth] = step;
    if (p->taps < 0) return;
    k->start[p->taps] = tile_build_div(&k->b, step, parts);
    if (p->digit_count) k->start[p->taps] = product_find_tap(p, k->start[p->taps]);
    k->start[p->depth] = tile_build_mul(&k->b, tile_build_rem(&k->b, step, parts),
                                        sched_number(k, product_param(p, "block_k")));
}

tile_value product_build_dot(product *p, const tile_value *taken, unsigned rhs, tile_value sum) {
    const tile_segment segments[] = {{taken[0], NULL, 0}, {taken[rhs], NULL, 0}, {sum, NULL, 0}};
    tile_attr attrs[3];
    unsigned count = 0;
    if (p->sides[0].turned) attrs[count++] = (tile_attr){.id = TILE_ATTR_trans_lhs};
    if (p->sides[rhs].turned) attrs[count++] = (tile_attr){.id = TILE_ATTR_trans_rhs};
    tile_op op = tile_build_op_of(&p->k.b, TILE_OP_dot, segments, 3, NULL, attrs, count);
    if (!op.id) return TILE_NO_VALUE;
    for (unsigned i = 0; i < count; i++) tile_op_set_flag(p->k.f, op, attrs[i].id);
    if (p->precision)
        tile_op_set_text(p->k.f, op, TILE_ATTR_precision, tile_attr_word_text(p->precision));
    return tile_op_result(p->k.f, op, 0);
}

/* Copies and multiplies the tiles of one step. sums, next: of each product. */
static void build_step(product *p, const tile_value *sums, tile_value *next) {
    tile_value taken[PRODUCT_SIDES];
    size_t mark = sched_enter(&p->k);
    for (unsigned i = 0; i < p->side_count; i++) {
        set_side(p, i);
        copy_side(p, &p->sides[i]);
    }
    for (unsigned i = 0; i < p->side_count; i++) {
        set_side(p, i);
        taken[i] = take_side(p, &p->sides[i]);
        sched_leave(&p->k, mark); /* the other operand's tiles have other dims */
    }
    for (unsigned i = 1; i < p->side_count; i++)
        next[i - 1] = product_build_dot(p, taken, i, sums[i - 1]);
}

/* Scaled sums. A step has two chunks of k, with one product each: while the sums of the first one
 * are scaled and added, the tensor cores compute the second one. */
enum { CHUNKS = 2 };

static void enter_chunk(product *p, tile_value step, unsigned chunk) {
    sched_kernel *k = &p->k;
    tile_value block = sched_number(k, product_param(p, "block_k"));
    k->start[p->depth] = chunk ? tile_build_add(&k->b, step, block) : step;
}

/* Copies the operands of a chunk, and returns their buffers. */
static void copy_chunk(product *p, unsigned chunk, tile_value taken[2]) {
    for (unsigned i = 0; i < 2; i++) {
        product_operand of = p->sides[i];
        if (chunk) of.shared = of.second;
        set_side(p, i);
        copy_side(p, &of);
        taken[i] = of.shared;
    }
}

static tile_value build_scaled_step(product *p, tile_value step, tile_value sum) {
    sched_kernel *k = &p->k;
    tile_value taken[CHUNKS][2], scale[CHUNKS], part[CHUNKS];
    for (unsigned c = 0; c < CHUNKS; c++) {
        enter_chunk(p, step, c);
        copy_chunk(p, c, taken[c]);
    }
    product_set_sums(p);
    for (unsigned c = 0; c < CHUNKS; c++) {
        enter_chunk(p, step, c);
        scale[c] = product_build_scale(p);
    }
    tile_value zero = tile_build_zero(&k->b, sched_full_type(k, p->sum));
    for (unsigned c = 0; c < CHUNKS; c++) {
        part[c] = product_build_dot(p, taken[c], 1, zero);
        if (!part[c].id || !scale[c].id) return TILE_NO_VALUE;
        tile_op_set_flag(k->f, tile_value_def(k->f, part[c]), TILE_ATTR_async);
    }
    for (unsigned c = 0; c < CHUNKS; c++) {
        tile_value later = tile_build_int(&k->b, CHUNKS - 1 - (int)c);
        sum = tile_build_fma(&k->b, tile_build_dot_wait(&k->b, part[c], later), scale[c], sum);
    }
    return sum;
}

/* Builds the current step at the end of the builder's loop. all: the chunked sum, or NULL. */
static void fill_loop(product *p, tile_op loop, tile_value step, tile_value parts,
                      const sched_chunked_sum *all) {
    sched_kernel *k = &p->k;
    tile_region body = tile_op_region(k->f, loop, 0);
    product_enter_step(p, step, parts);
    tile_value sums[PRODUCT_SIDES - 1], next[PRODUCT_SIDES - 1];
    for (unsigned i = 0; i + 1 < p->side_count; i++) sums[i] = tile_region_arg(k->f, body, 1 + i);
    if (p->scaled)
        next[0] = build_scaled_step(p, step, sums[0]);
    else
        build_step(p, sums, next);
    if (all) next[0] = sched_step_chunked(k, all, tile_region_arg(k->f, body, 0), next[0]);
    tile_build_yield(&k->b, next, p->side_count - 1);
}

static tile_builder enter_loop(product *p, tile_op loop) {
    tile_builder outside = p->k.b;
    p->k.b = tile_builder_in(&outside, loop, 0);
    return outside;
}

/* Parts of chunked sums: each part is an iteration of an outer loop, which split-k assigns to a
 * separate block, as in rows/sums.c. A split loop must carry the sum itself. */
static tile_value build_chunks_in_parts(product *p, tile_value zero) {
    sched_kernel *k = &p->k;
    tile_builder *b = &k->b;
    const tile_type *type = tile_value_type(k->f, zero);
    const tile_expr *block = product_param(p, "block_k");
    tile_value none = tile_build_int(b, 0), one = tile_build_int(b, 1), along, steps;
    tile_value buffer = sched_alloc_chunked(k, type),
               split = sched_number(k, product_param(p, "split"));
    steps = count_steps(p, &along);
    tile_op outer = tile_build_for_loop(b, none, split, one, &zero, 1);
    set_split(p, outer);
    tile_builder outside = enter_loop(p, outer);
    tile_value part = tile_region_arg(k->f, tile_op_region(k->f, outer, 0), 0);
    tile_value left = tile_build_max(b, tile_build_sub(b, steps, part), none);
    sched_chunked_sum all = sched_begin_chunked(k, buffer, type, product_express_terms(p), block,
                                                tile_expr_int(k->s->context, 1));
    tile_value own = tile_build_zero(b, type);
    tile_op loop = tile_build_for_loop(b, none, tile_build_ceildiv(b, left, split), one, &own, 1);
    set_stages(p, loop);
    tile_builder inside = enter_loop(p, loop);
    tile_value number = tile_region_arg(k->f, tile_op_region(k->f, loop, 0), 0);
    tile_value step = tile_build_add(b, tile_build_mul(b, number, split), part);
    if (p->taps < 0) step = tile_build_mul(b, step, sched_number(k, block));
    fill_loop(p, loop, step, along, &all);
    k->b = inside;
    own = sched_end_chunked(k, &all, tile_op_result(k->f, loop, 0));
    tile_value before = tile_region_arg(k->f, tile_op_region(k->f, outer, 0), 1);
    tile_value next = tile_build_add(b, before, own);
    tile_build_yield(b, &next, 1);
    k->b = outside;
    return tile_op_result(k->f, outer, 0);
}

/* Computes the accumulators. */
static void build_loop(product *p, tile_value *sums) {
    sched_kernel *k = &p->k;
    for (unsigned i = 0; i < p->side_count; i++) {
        set_side(p, i);
        p->sides[i].shared = alloc_side(p, &p->sides[i]);
        if (p->scaled) p->sides[i].second = alloc_side(p, &p->sides[i]);
    }
    product_set_sums(p);
    const tile_type *type = sched_full_type(k, p->sum);
    tile_value zero = tile_build_zero(&k->b, type), zeros[] = {zero, zero}, parts;
    bool chunks = !product_uses_tensor_cores(p) && sched_needs_chunks(product_count_terms(p));
    if (chunks && product_has_param(p, "split")) {
        sums[0] = build_chunks_in_parts(p, zero);
        return;
    }
    const tile_expr *block = product_param(p, "block_k");
    const tile_expr *unit = p->taps < 0 ? block : tile_expr_int(k->s->context, 1);
    sched_chunked_sum all = {TILE_NO_VALUE, TILE_NO_VALUE};
    if (chunks)
        all = sched_begin_chunked(k, sched_alloc_chunked(k, type), type, product_express_terms(p),
                                  block, unit);
    tile_op loop = product_build_steps(p, zeros, p->side_count - 1, &parts);
    product_set_loop(p, loop);
    tile_builder outside = enter_loop(p, loop);
    tile_value step = tile_region_arg(k->f, tile_op_region(k->f, loop, 0), 0);
    fill_loop(p, loop, step, parts, chunks ? &all : NULL);
    k->b = outside;
    for (unsigned i = 0; i + 1 < p->side_count; i++) sums[i] = tile_op_result(k->f, loop, i);
    if (chunks) sums[0] = sched_end_chunked(k, &all, sums[0]);
}

/* A product with one row also has a row dim, but its tiles have more rows. */
static sched_map whole_map(const product *p, const sched_map *map) {
    sched_map out = *map;
    out.at[p->m].dim = (int)p->m;
    out.at[p->n].dim = (int)p->n;
    return out;
}

static void remember_sums(product *p, tile_op op, const sched_map *identity, const sched_map *whole,
                          tile_value sums) {
    schedule *s = p->k.s;
    tile_value result = tile_op_result(s->compute, op, 0);
    const tile_type *working = sched_compute_type(s, sched_element(s, result));
    sums = sched_convert(&p->k, sums, working);
    sched_remember(&p->k, result, identity, working, sums);
    sched_remember(&p->k, result, whole, working, sums);
}

static void build_epilogue(product *p, const tile_value *sums) {
    sched_kernel *k = &p->k;
    schedule *s = k->s;
    sched_domain domain = {.rank = p->depth};
    memcpy(domain.extents, k->g->domain.extents, sizeof domain.extents);
    sched_map own = sched_identity(&domain), identity = own, whole = whole_map(p, &own), split;
    product_interleaved rows;
    if (p->groups.count) {
        own = p->groups.identity;
        split = product_split_groups(p);
        whole = identity = sched_substitute(s, &own, domain.rank, &split);
    }
    product_set_sums(p);
    if (product_build_interleaved(p, sums[0])) return;
    remember_sums(p, p->op, &identity, &whole, sums[0]);
    if (p->dual.id) remember_sums(p, p->dual, &identity, &whole, sums[1]);
    for (size_t i = 0; i < k->g->output_count && !s->failed; i++) {
        const sched_output *output = &k->g->outputs[i];
        tile_value value = sched_output_value(s, output);
        unsigned rank = sched_type(s, value)->rank;
        bool moved = rank != p->depth || !sched_same_map(&output->map, &own, rank);
        sched_map there = output->map;
        if (p->groups.count) there = sched_substitute(s, &there, rank, &split);
        const sched_map *at = moved ? &there : &identity;
        tile_value tile =
            sched_broadcast_to_tile(k, sched_value(k, value, at, sched_element(s, value)));
        if (!tile.id) continue;
        if (moved && product_find_interleaved(p, output, &rows))
            product_store_interleaved(p, output, &rows, tile);
        else
            sched_store_output(k, output, moved ? at : &whole, tile);
    }
}

static bool take_product(product *p, schedule *s, sched_group *g) {
    p->op = g->root;
    p->dual = g->dual;
    p->side_count = p->dual.id ? PRODUCT_SIDES : PRODUCT_SIDES - 1;
    if (g->domain.rank == TILE_MAX_RANK) {
        SCHED_FAIL(s, g->root,
                   "matmul: a product of %d dims is not scheduled: reshape the batches "
                   "to one",
                   TILE_MAX_RANK);
        return false;
    }
    p->m = g->domain.rank - 2;
    p->n = g->domain.rank - 1;
    p->depth = g->domain.rank;
    p->taps = -1;
    p->scaled = sched_scaled_of(s, g->root);
    p->packed = sched_packed_of(s, g->root);
    p->precision = tile_op_word(s->compute, g->root, TILE_ATTR_precision);
    if (p->precision == TILE_WORD_precision_ieee) p->precision = TILE_WORD_NONE;
    for (unsigned i = 0; i < p->side_count; i++) p->sides[i].value = product_value_of_side(s, p, i);
    const tile_type *lhs = sched_type(s, p->sides[0].value);
    bool transposed = tile_op_has_attr(s->compute, g->root, TILE_ATTR_trans_lhs);
    p->extent_k = sched_dim(s, lhs, lhs->rank - (transposed ? 2 : 1));
    g->domain.extents[g->domain.rank++] = p->extent_k;
    return true;
}

void sched_make_matmul(schedule *s, sched_group *g, const char *name) {
    product p = {.op = g->root};
    if (!take_product(&p, s, g)) return;
    sched_kernel_open(&p.k, s, g, name);
    product_choose_elements(&p);
    for (unsigned i = 0; i < p.side_count; i++) product_take_operand(&p, i);
    p.sum = sched_sum_type(s, p.op, p.sides[0].element->scalar);
    product_choose_taps(&p);
    if (!p.dual.id) product_merge_groups(&p);
    for (unsigned i = 0; i < p.side_count; i++) find_gathered(&p, i);
    product_choose_order(&p);
    product_find_digits(&p);
    product_find_hidden_tiles(&p);
    if (!product_set_points(&p)) return;
    sched_set_raster(s, p.op, p.k.f);
    product_set_grid(&p);
    tile_value sums[PRODUCT_SIDES - 1];
    if (p.packed)
        sums[0] = product_build_packed(&p);
    else if (p.groups.count)
        sums[0] = product_build_groups(&p);
    else
        build_loop(&p, sums);
    if (g->has_rows)
        product_build_statistics(&p, sums[0]);
    else
        build_epilogue(&p, sums);
}
