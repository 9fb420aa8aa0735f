/* Rewrites products of 8-bit floats that have a scale for each block of 128 elements along k, as
 * weights and activations of language models have.
 *
 *     matmul(f32(%a) * %sa, f32(%b) * %sb)                 %sa, %sb: scales, repeated along k
 *     reduce_add(matmul(%ca, %cb) * %sa * %sb, axis = 0)   %ca, %cb: [k / 128, m, 128] and so on
 *
 * Both become matmul(%a, %b), for which the schedule notes the arrays of scales. Its kernel
 * multiplies the elements by tensor cores, which need them unscaled, and scales the sum of each 128
 * products where it is added. In the first form the scales are moved out of the sums. This changes
 * only how results are rounded, and the sums are rounded less often than the scaled elements would
 * be.
 *
 * Scales are recognized by the coordinates of their arrays. A path of operations that only move
 * elements leads from the scaled value to an array, each dim of which counts rows, columns, or
 * blocks of 128 rows, columns or elements along k. */
#include "passes/schedule/kernel/scaled.h"

#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "passes/schedule/kernel/factors.h"

/* Dims of the coordinates during the analysis. K is a whole dim in the first form, and chunks of
 * PART elements in the second one. */
enum { ROW, COLUMN, K, CHUNK, PART };

/* Coordinates ---------------------------------------------------------------------------------- */

static bool is_block_size(const sched_index *index) {
    return index->by.expr && sched_constant(index->by.expr) == SCHED_SCALED_ELEMENTS;
}

/* Returns whether the coordinate is the number of a block of this dim. */
static bool is_block_of(const sched_coordinate *at, int dim) {
    return at->index && !at->offset && at->index->kind == SCHED_DIV && is_block_size(at->index) &&
           !at->index->a.index && !at->index->a.offset && at->index->a.dim == dim;
}

/* Returns whether the coordinate counts the elements of all chunks along k. */
static bool counts_chunks(const sched_coordinate *at) {
    return at->index && !at->offset && at->index->kind == SCHED_PAIR && is_block_size(at->index) &&
           !at->index->a.index && !at->index->a.offset && at->index->a.dim == CHUNK &&
           !at->index->b.index && !at->index->b.offset && at->index->b.dim == PART;
}

static bool find_scale_dim(const sched_coordinate *at, sched_scale_dim *dim) {
    static const sched_scale_dim whole[] = {
        [ROW] = SCHED_SCALE_ROW, [COLUMN] = SCHED_SCALE_COLUMN, [CHUNK] = SCHED_SCALE_CHUNK};
    static const sched_scale_dim block[] = {[ROW] = SCHED_SCALE_ROW_BLOCK,
                                            [COLUMN] = SCHED_SCALE_COLUMN_BLOCK,
                                            [K] = SCHED_SCALE_CHUNK};
    *dim = SCHED_SCALE_ONE;
    if (at->offset) return false;
    if (!at->index && at->dim < 0) return true;
    if (!at->index && (at->dim == ROW || at->dim == COLUMN || at->dim == CHUNK)) {
        *dim = whole[at->dim];
        return true;
    }
    for (int d = ROW; d <= K; d++)
        if (is_block_of(at, d)) {
            *dim = block[d];
            return true;
        }
    return false;
}

/* Scales ------------------------------------------------------------------------------------- */

/* Also goes through a cast to a wider type: the kernel converts what it loads. */
static bool follow_scale(schedule *s, sched_factor *at) {
    tile_value narrow = sched_strip_cast(s, at->value);
    if (narrow.id == at->value.id) return sched_follow_moves(s, at);
    at->value = narrow;
    return true;
}

/* Notes the array that the factor repeats, the last one on the path whose dims are all known. */
static bool add_scale(schedule *s, sched_scaled *to, const sched_factor *from) {
    sched_factor at = *from;
    sched_scale found = {.value = TILE_NO_VALUE};
    do {
        sched_scale scale = {.value = at.value};
        const tile_type *type = sched_type(s, at.value);
        bool known = type->kind == TILE_TYPE_TENSOR && tile_scalar_is_floating(type->scalar);
        for (unsigned d = 0; d < type->rank && known; d++)
            known = find_scale_dim(&at.map.at[d], &scale.dims[d]);
        if (known) found = scale;
    } while (follow_scale(s, &at));
    if (!found.value.id || to->count == SCHED_MAX_SCALES) return false;
    to->scales[to->count++] = found;
    return true;
}

static bool is_bytes(const schedule *s, tile_value value) {
    tile_scalar scalar = sched_type(s, value)->scalar;
    return scalar == TILE_e4m3 || scalar == TILE_e5m2;
}

/* Products of scaled operands ------------------------------------------------------------------ */

/* The unscaled elements of an operand, and its scales; no value if it is no such operand. */
static tile_value take_operand(schedule *s, sched_scaled *to, tile_op op, unsigned index) {
    static const tile_attr_id trans[] = {TILE_ATTR_trans_lhs, TILE_ATTR_trans_rhs};
    tile_value value = tile_op_operand(s->compute, op, index);
    bool across = tile_op_has_attr(s->compute, op, trans[index]) != (index == 1);
    sched_map map = {{{0, NULL, NULL}}};
    map.at[across] = sched_dim_coordinate(index ? COLUMN : ROW);
    map.at[!across] = sched_dim_coordinate(K);
    sched_factors all = {.count = 0};
    tile_value elements = TILE_NO_VALUE;
    sched_collect_factors(s, &all, value, &map);
    if (all.too_many) return TILE_NO_VALUE;
    for (unsigned i = 0; i < all.count; i++) {
        bool own = is_bytes(s, sched_strip_cast(s, all.items[i].value)) && !elements.id &&
                   sched_same_map(&all.items[i].map, &map, 2);
        if (own)
            elements = all.items[i].value;
        else if (!add_scale(s, to, &all.items[i]))
            return TILE_NO_VALUE;
    }
    return elements;
}

static bool has_chunks(const sched_scaled *entry) {
    bool chunks = false;
    for (unsigned i = 0; i < entry->count; i++)
        for (unsigned d = 0; d < TILE_MAX_RANK; d++)
            chunks |= entry->scales[i].dims[d] == SCHED_SCALE_CHUNK;
    return chunks;
}

static bool is_product(const schedule *s, tile_op op) {
    return op.id && tile_op_opcode(s->compute, op) == TILE_OP_matmul &&
           !tile_op_has_attr(s->compute, op, TILE_ATTR_precision);
}

/* Fills *to and the operands without their scales. */
static bool match_operands(schedule *s, tile_op op, sched_scaled *to, tile_value elements[2]) {
    *to = (sched_scaled){.matmul = op};
    if (!is_product(s, op) || sched_type(s, tile_op_result(s->compute, op, 0))->rank != 2)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        elements[i] = take_operand(s, to, op, i);
        if (!elements[i].id) return false;
    }
    const tile_type *a = sched_type(s, sched_strip_cast(s, elements[0])),
                    *b = sched_type(s, sched_strip_cast(s, elements[1]));
    return a->scalar == b->scalar && has_chunks(to);
}

/* Sums of scaled products ---------------------------------------------------------------------- */

/* The matrix of which the operand of a product of chunks is a reshape. *transposed: it is stored
 * [k, rows] or [k, columns]. */
static tile_value whole_matrix(schedule *s, tile_op op, unsigned index, bool *transposed) {
    static const tile_attr_id trans[] = {TILE_ATTR_trans_lhs, TILE_ATTR_trans_rhs};
    sched_factor at = {tile_op_operand(s->compute, op, index), {{{0, NULL, NULL}}}};
    bool across = tile_op_has_attr(s->compute, op, trans[index]) != (index == 1);
    if (sched_type(s, at.value)->rank != 3) return TILE_NO_VALUE;
    at.map.at[0] = sched_dim_coordinate(CHUNK);
    at.map.at[1 + across] = sched_dim_coordinate(index ? COLUMN : ROW);
    at.map.at[2 - across] = sched_dim_coordinate(PART);
    at.value = sched_strip_cast(s, at.value);
    do {
        at.value = sched_strip_cast(s, at.value);
        for (unsigned d = 0; d < 2 && sched_type(s, at.value)->rank == 2; d++) {
            const sched_coordinate *rows = &at.map.at[1 - d];
            if (!counts_chunks(&at.map.at[d]) || rows->index || rows->offset ||
                rows->dim != (index ? COLUMN : ROW) || !is_bytes(s, at.value))
                continue;
            *transposed = (d == 0) != (index == 1);
            return at.value;
        }
    } while (sched_follow_moves(s, &at));
    return TILE_NO_VALUE;
}

/* A sum over chunks of k, and the product that it becomes. */
typedef struct chunked_product {
    tile_op matmul; /* of the chunks */
    tile_value matrices[2];
    bool transposed[2];
    sched_scaled entry;
} chunked_product;

static bool adds_chunks(const schedule *s, tile_op op) {
    if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_reduce ||
        tile_op_word(s->compute, op, TILE_ATTR_kind) != TILE_WORD_kind_add)
        return false;
    const tile_type *type = sched_type(s, tile_operand_src(s->compute, op));
    return type->rank == 3 && type->scalar == TILE_f32 && sched_axis(s, op) == 0;
}

static bool match_chunks(schedule *s, tile_op op, chunked_product *to) {
    *to = (chunked_product){.matmul = TILE_NO_OP};
    if (!adds_chunks(s, op)) return false;
    sched_factors all = {.count = 0};
    sched_map map = {{{0, NULL, NULL}}};
    map.at[0] = sched_dim_coordinate(CHUNK);
    map.at[1] = sched_dim_coordinate(ROW);
    map.at[2] = sched_dim_coordinate(COLUMN);
    sched_collect_factors(s, &all, tile_operand_src(s->compute, op), &map);
    for (unsigned i = 0; i < all.count && !all.too_many; i++) {
        tile_op def = tile_value_def(s->compute, all.items[i].value);
        if (!to->matmul.id && is_product(s, def) && sched_same_map(&all.items[i].map, &map, 3))
            to->matmul = def;
        else if (!add_scale(s, &to->entry, &all.items[i]))
            return false;
    }
    for (unsigned i = 0; i < 2 && to->matmul.id && !all.too_many; i++)
        to->matrices[i] = whole_matrix(s, to->matmul, i, &to->transposed[i]);
    return to->matrices[0].id && to->matrices[1].id && has_chunks(&to->entry) &&
           sched_type(s, to->matrices[0])->scalar == sched_type(s, to->matrices[1])->scalar;
}

/* Builds the product of whole matrices before the sum, in its type. */
static tile_value build_whole(schedule *s, tile_op op, chunked_product *c) {
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, c->matmul);
    const tile_type *sum = sched_type(s, tile_op_result(f, op, 0));
    const tile_type *chunks = sched_type(s, tile_op_result(f, c->matmul, 0));
    tile_type draft = *chunks;
    draft.scalar = TILE_f32;
    draft.param = NULL;
    draft.rank = 2;
    draft.dims[0] = chunks->dims[1];
    draft.dims[1] = chunks->dims[2];
    const tile_segment sides[] = {{c->matrices[0], NULL, 0}, {c->matrices[1], NULL, 0}};
    tile_attr attrs[2];
    unsigned count = 0;
    if (c->transposed[0]) attrs[count++] = (tile_attr){.id = TILE_ATTR_trans_lhs};
    if (c->transposed[1]) attrs[count++] = (tile_attr){.id = TILE_ATTR_trans_rhs};
    tile_op made = tile_build_op_of(&b, TILE_OP_matmul, sides, 2, tile_type_get(s->context, &draft),
                                    attrs, count);
    for (unsigned i = 0; i < count && made.id; i++) tile_op_set_flag(f, made, attrs[i].id);
    c->entry.matmul = made;
    return tile_build_reshape(&b, tile_op_result(f, made, 0), TILE_NO_VALUE, sum);
}

/* The schedule's list -------------------------------------------------------------------------- */

static void add_entry(schedule *s, const sched_scaled *entry) {
    s->scaled = tile_arena_grow(s->arena, s->scaled, s->scaled_count, &s->scaled_capacity,
                                sizeof *s->scaled);
    s->scaled[s->scaled_count++] = *entry;
}

const sched_scaled *sched_scaled_of(const schedule *s, tile_op matmul) {
    for (size_t i = 0; i < s->scaled_count; i++)
        if (s->scaled[i].matmul.id == matmul.id) return &s->scaled[i];
    return NULL;
}

/* Erases operations whose results have no use and are no scales. */
static void erase_unused(schedule *s) {
    bool *kept = TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count);
    for (size_t i = 0; i < s->scaled_count; i++)
        for (unsigned n = 0; n < s->scaled[i].count; n++)
            kept[s->scaled[i].scales[n].value.id] = true;
    sched_erase_unused(s, kept);
}

static bool has_scaled(schedule *s) {
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) {
        sched_scaled entry;
        chunked_product chunks;
        tile_value elements[2];
        found |= match_operands(s, op, &entry, elements) || match_chunks(s, op, &chunks);
    }
    return found;
}

void sched_find_scaled(schedule *s) {
    if (!has_scaled(s)) return;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    const unsigned count = (unsigned)f->op_count;
    for (uint32_t id = 1; id < count; id++) {
        tile_op op = {id};
        sched_scaled entry;
        chunked_product chunks;
        tile_value elements[2];
        if (!f->ops[id].opcode) continue;
        if (match_operands(s, op, &entry, elements)) {
            for (unsigned i = 0; i < 2; i++) tile_op_at(f, op)->operands[i] = elements[i];
            add_entry(s, &entry);
        } else if (match_chunks(s, op, &chunks)) {
            tile_value to = build_whole(s, op, &chunks);
            tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
            map[tile_op_result(f, op, 0).id] = to;
            add_entry(s, &chunks.entry);
            tile_replace_values(f, f->body, map);
        }
    }
    erase_unused(s);
}
