/* Reductions of a product's rows, in the product's epilogue.
 *
 * A product whose rows are normalized is three kernels if each of the product, its statistics and
 * the normalized values has one: the result is written once and read twice. If a tile of the
 * product has whole rows, or whole groups of columns as for a group norm, its kernel can reduce
 * them in registers, and only the normalized values are written:
 *
 *     %p = matmul(%x, %w)                              [m, n]
 *     %g = reshape(%p)                                 [m, n / w, w], or [m * n / w, w]
 *     %c = %g - reduce_add(%g, axis = last) / w
 *     %y = %c * rsqrt(reduce_add(%c * %c, axis = last) / w)
 *
 * The compute is first cut as if products had no reductions (cut.c). Then a group of rows that
 * reads the product joins the product's group, followed by element-wise groups that read either.
 * The epilogue's domain is the product's, with the columns split in groups, if they are. All maps
 * of a joined group are rewritten to this domain, and a traversal checks that every value of the
 * product is needed exactly at the tile's own elements.
 *
 * The variance is computed as the text says it, by a second pass over the registers. */
#include "passes/schedule/cut/online.h"

#include <stdlib.h>

#include "passes/schedule/kernel/packed.h"
#include "passes/schedule/kernel/scaled.h"

/* The widest rows and groups: all products have tiles with so many columns. Wider tiles exist if
 * both operands are arrays, and even wider ones if their elements are narrow
 * (lib/tuning/space.def). */
enum { WIDTH_OF_COMPUTED = 64, WIDTH = 128, WIDTH_OF_NARROW = 256 };

/* The tallest columns: likewise. */
enum { HEIGHT = 128 };

bool sched_is_output(const sched_group *g, int array) {
    for (size_t o = 0; o < g->output_count; o++)
        if ((int)g->outputs[o].array == array && !g->outputs[o].part.id) return true;
    return false;
}

/* Domains -------------------------------------------------------------------------------------- */

static bool is_plain(const sched_coordinate *at) {
    return !at->index && !at->offset;
}

/* The number of nested pairs of dims; -1: it is something else. */
static int count_pairs(const sched_coordinate *at) {
    const sched_index *pair = at->index;
    if (!pair) return at->offset ? -1 : 0;
    if (pair->kind != SCHED_PAIR || at->offset || !is_plain(&pair->b) || pair->b.dim < 0) return -1;
    if (!pair->a.index && pair->a.dim < 0) return -1;
    int inner = count_pairs(&pair->a);
    return inner < 0 ? -1 : inner + 1;
}

/* Returns whether accesses to the value's array at the map have views of it, in which each part of
 * a pair is a dim, and dims that are parts of one coordinate are one dim. */
static bool has_views(schedule *s, tile_value value, const sched_map *map) {
    sched_shape shape = sched_find_shape(s, value);
    sched_map merged = *map;
    sched_merge_shape(s, &shape, &merged);
    unsigned rank = shape.type->rank, dims = rank;
    for (unsigned d = 0; d < rank; d++) {
        int pairs = count_pairs(&merged.at[d]);
        if (pairs < 0) return false;
        dims += (unsigned)pairs;
    }
    return dims <= TILE_MAX_RANK;
}

/* Which groups -------------------------------------------------------------------------------- */

/* The widest rows or groups of a product that multiplies the value. */
static int64_t widest_of(schedule *s, tile_value value) {
    bool narrow = tile_scalar_bits(sched_element(s, value)->scalar) <= 16;
    tile_op def;
    while (sched_array_of(s, value) < 0 && (def = tile_value_def(s->compute, value)).id) {
        tile_opcode opcode = tile_op_opcode(s->compute, def);
        if (opcode != TILE_OP_reshape && opcode != TILE_OP_transpose) return WIDTH_OF_COMPUTED;
        value = tile_operand_src(s->compute, def);
    }
    return narrow ? WIDTH_OF_NARROW : WIDTH;
}

int64_t sched_widest_rows(schedule *s, tile_op product) {
    int64_t widest = WIDTH_OF_NARROW;
    for (unsigned i = 0; i < 2; i++) {
        int64_t own = widest_of(s, sched_multiplied(s, product, i));
        if (own < widest) widest = own;
    }
    return widest;
}

bool sched_rows_fit_user_tile(const schedule *s, tile_op product, int64_t columns, bool groups) {
    const tile_attr *tile = tile_op_attr(s->compute, product, TILE_ATTR_tile);
    int64_t given = sched_given_number(s, "block_n");
    int64_t all[] = {tile && tile->count > 1 ? tile->list[1] : 0, given};
    bool fits = given >= 0;
    for (unsigned i = 0; i < 2; i++)
        fits &= !all[i] || (groups ? all[i] % columns == 0 : all[i] >= columns);
    return fits;
}

/* Returns whether the reductions may join a product: sums, maxima and the like, for which the user
 * asked for no kernel of their own. */
static bool are_plain(const schedule *s, const sched_group *g) {
    for (size_t i = 0; i < g->reduction_count; i++)
        if (tile_op_opcode(s->compute, g->reductions[i]) != TILE_OP_reduce ||
            sched_has_user_tile(s, g->reductions[i]))
            return false;
    return true;
}

/* Returns whether the other group reduces the product's rows: a dim of the product that is not
 * contiguous, such as the channels of [n, c, h, w]. */
static bool reduces_columns(schedule *s, const sched_group *g, const sched_group *from) {
    sched_map to;
    if (g->domain.rank < 2 ||
        !sched_map_in(s, &g->domain, sched_type_of_domain(s, &from->domain), &to))
        return false;
    const sched_coordinate *along = &to.at[from->axis];
    return is_plain(along) && along->dim == (int)g->domain.rank - 2;
}

/* Sets the domain of the product's epilogue to that of whole columns. False if a tile may not have
 * whole ones. */
static bool choose_columns(schedule *s, sched_group *g) {
    const unsigned m = g->domain.rank - 2;
    int64_t height = sched_constant(g->domain.extents[m]);
    if (height < 2 || height > HEIGHT || tile_expr_is(g->domain.extents[m + 1], 1) ||
        tile_op_has_attr(s->compute, g->root, TILE_ATTR_tile) || sched_given_number(s, "block_m") ||
        sched_scaled_of(s, g->root) || sched_packed_of(s, g->root))
        return false;
    g->rows = g->domain;
    g->reduced = m;
    g->has_rows = true;
    return true;
}

/* Sets the domain of the product's epilogue to the rows that the other group reduces. False if a
 * tile may not have whole ones. */
static bool choose_rows(schedule *s, sched_group *g, const sched_group *from) {
    const unsigned n = g->domain.rank - 1;
    if (reduces_columns(s, g, from)) return choose_columns(s, g);
    int64_t columns = sched_constant(g->domain.extents[n]);
    int64_t width = sched_constant(from->domain.extents[from->axis]);
    bool whole = columns == width;
    if (width < 2 || width > sched_widest_rows(s, g->root) || g->domain.rank < 2 ||
        tile_expr_is(g->domain.extents[n - 1], 1) ||
        !sched_rows_fit_user_tile(s, g->root, width, !whole))
        return false;
    g->rows = g->domain;
    if (!whole) {
        if (width & (width - 1) || columns % width || g->domain.rank + 2 > TILE_MAX_RANK)
            return false;
        g->width = tile_expr_int(s->context, width);
        g->rows.extents[n] = tile_expr_int(s->context, columns / width);
        g->rows.extents[g->rows.rank++] = g->width;
    }
    g->reduced = g->rows.rank - 1;
    g->has_rows = true;
    return true;
}

/* Joining ------------------------------------------------------------------------------------- */

/* The dims of the domain in that of the product's epilogue. */
static bool find_dims(schedule *s, const sched_group *g, const sched_group *from, sched_map *to) {
    const tile_type *type = sched_type_of_domain(s, &from->domain);
    sched_domain row = g->rows; /* of values with one element for each row */
    row.extents[g->reduced] = tile_expr_int(s->context, 1);
    if (sched_map_in(s, &g->rows, type, to)) {
        const sched_coordinate *along = &to->at[from->axis];
        return from->kind != SCHED_ROWS || (along->dim == (int)g->reduced && !along->offset);
    }
    return from->kind == SCHED_ELEMENTWISE && sched_map_in(s, &row, type, to);
}

static bool add_outputs(schedule *s, sched_group *g, const sched_group *from, const sched_map *to) {
    for (size_t i = 0; i < from->output_count; i++) {
        sched_output output = from->outputs[i];
        const tile_value value = s->arrays[output.array].value;
        if (output.part.id) return false;
        output.map = sched_substitute(s, &output.map, sched_type(s, value)->rank, to);
        if (!has_views(s, value, &output.map)) return false;
        g->outputs = tile_arena_grow(s->arena, g->outputs, g->output_count, &g->output_capacity,
                                     sizeof *g->outputs);
        g->outputs[g->output_count++] = output;
    }
    return true;
}

/* The product's own outputs, in the domain of its epilogue. */
static bool take_own_outputs(schedule *s, sched_group *g, const sched_group *product) {
    sched_map to;
    g->outputs = NULL;
    g->output_count = g->output_capacity = 0;
    to = sched_identity(&g->rows);
    bool found = product->has_rows ||
                 sched_map_in(s, &g->rows, sched_type_of_domain(s, &product->domain), &to);
    return found && add_outputs(s, g, product, &to);
}

static bool add_input(schedule *s, sched_group *g, const sched_mapped_stop *stop, size_t before) {
    tile_value read = sched_skip_reshapes(s, stop->value, TILE_NO_VALUE);
    int array = sched_array_of(s, read);
    if (array < 0 || sched_is_output(g, array)) return false;
    if (s->arrays[array].place != SCHED_ARGUMENT) {
        int writer = sched_writer_of(s, (unsigned)array);
        if (writer < 0 || (size_t)writer >= before) return false;
    }
    if (!stop->own_domain && !has_views(s, stop->value, &stop->map)) return false;
    const sched_input input = {
        .array = (unsigned)array,
        .same = read.id == stop->value.id && !stop->own_domain,
        .map = stop->map,
    };
    sched_add_input(s, g, &input);
    return true;
}

/* Traverses all that the group computes. False if its tile lacks a part of it. before: the group's
 * position; the arrays of groups before it are in memory. */
static bool traverse_outputs(schedule *s, sched_group *g, size_t before) {
    sched_traversal w = {.s = s, .g = g};
    g->inputs = NULL;
    g->reductions = NULL;
    g->input_count = g->input_capacity = g->reduction_count = g->reduction_capacity = 0;
    for (size_t i = 0; i < g->output_count; i++)
        sched_traverse_value(&w, s->arrays[g->outputs[i].array].value, &g->outputs[i].map, true);
    for (size_t i = 0; i < w.stop_count && !w.outside; i++)
        w.outside = !add_input(s, g, &w.stops[i], before);
    return !w.outside && !s->failed;
}

static bool reads_from(const sched_group *reader, const sched_group *writer) {
    for (size_t i = 0; i < reader->input_count; i++)
        if (sched_is_output(writer, (int)reader->inputs[i].array)) return true;
    return false;
}

static bool join(schedule *s, size_t product, const sched_group *from) {
    sched_group *g = s->groups[product], both = *g;
    sched_map to;
    if (g->dual.id || (from->kind != SCHED_ELEMENTWISE && from->kind != SCHED_ROWS)) return false;
    if (from->own_domain || from->chains || !reads_from(from, g) || !are_plain(s, from))
        return false;
    if (!g->has_rows && (from->kind != SCHED_ROWS || !choose_rows(s, &both, from))) return false;
    if (!take_own_outputs(s, &both, g) || !find_dims(s, &both, from, &to) ||
        !add_outputs(s, &both, from, &to) || !traverse_outputs(s, &both, product))
        return false;
    *g = both;
    return true;
}

void sched_remove_group(schedule *s, size_t index) {
    s->group_count--;
    for (size_t i = index; i < s->group_count; i++) s->groups[i] = s->groups[i + 1];
}

/* Removes the group's scratch arrays that no other group reads. */
static void drop_outputs(schedule *s, sched_group *g) {
    size_t kept = 0;
    for (size_t o = 0; o < g->output_count; o++) {
        bool read = s->arrays[g->outputs[o].array].place == SCHED_RESULT;
        for (size_t i = 0; i < s->group_count; i++)
            for (size_t n = 0; n < s->groups[i]->input_count; n++)
                read |= s->groups[i]->inputs[n].array == g->outputs[o].array;
        if (read) g->outputs[kept++] = g->outputs[o];
    }
    g->output_count = kept;
}

void sched_absorb_rows(schedule *s) {
    for (size_t p = 0; p < s->group_count && !s->failed; p++) {
        if (s->groups[p]->kind != SCHED_MATMUL) continue;
        for (size_t i = p + 1; i < s->group_count && !s->failed;) {
            if (join(s, p, s->groups[i])) {
                sched_remove_group(s, i);
                i = p + 1;
            } else {
                i++;
            }
        }
        if (s->groups[p]->has_rows) drop_outputs(s, s->groups[p]);
    }
}
