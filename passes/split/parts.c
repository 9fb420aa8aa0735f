/* Common to all strategies: a block for each part, tile numbers, the epilogue. */
#include "passes/common/loop_parts.h"
#include "passes/split/split.h"

/* The grid without parts. In a dim with one block, the coordinate is 0. */
static tile_builder open_grid(const split *s, grid *g) {
    tile_builder b = grid_open(g, s->pass, s->f);
    b.loc = tile_op_loc(s->f, s->loop);
    grid_find_block(g, &b);
    grid_find_extents(g, &b, TILE_NO_VALUE, g->extent);
    for (unsigned d = 0; d < 3; d++)
        g->id[d] = tile_value_is(b.function, g->extent[d], 1) ? tile_build_int(&b, 0) : g->block[d];
    return b;
}

static void multiply_grid(const grid *g, unsigned dim, int64_t by) {
    const tile_expr **extent = grid_extent_at(g->f, dim);
    *extent = tile_expr_op(g->pass->context, TILE_OP_mul, *extent,
                           tile_expr_int(g->pass->context, by), NULL);
}

unsigned split_dim(const split *s) {
    return s->strategy->parts_are_adjacent && s->f->is_flat ? 0 : 2;
}

/* Returns whether ranges are exact: the loop begins at 0, with a step of at least 2, so that the
 * number of its iterations and that of the parts together fit an i32. */
static bool may_be_ranges(const split *s) {
    const tile_value *bounds = tile_op_at(s->f, s->loop)->operands;
    int64_t step;
    return s->strategy && !s->strategy->parts_are_adjacent && tile_value_is(s->f, bounds[0], 0) &&
           tile_value_is_int(s->f, bounds[2], &step) && step >= 2;
}

static void choose_iterations(split *s, tile_value part) {
    tile_function *f = s->f;
    const tile_range *ranges = tile_range_analyse(f, s->pass->scratch);
    if (may_be_ranges(s) && split_reads_along(s, ranges)) {
        split_set_range(s, part);
        return;
    }
    tile_builder b = tile_builder_before(f, s->loop);
    const loop_ahead whole = loop_ahead_of(f, s->loop, ranges, f->value_count);
    loop_part own = loop_part_build(&b, &whole, part, s->factor);
    tile_value *bounds = tile_op_at(f, s->loop)->operands;
    bounds[0] = own.begin;
    bounds[1] = own.end;
    bounds[2] = own.step;
}

tile_op split_find_pdl_wait(const tile_function *f, tile_op loop) {
    tile_op found = TILE_NO_OP;
    for (tile_op op = tile_region_first(f, f->body); op.id && op.id != loop.id;
         op = tile_op_next(f, op))
        if (tile_op_opcode(f, op) == TILE_OP_pdl_wait) found = op;
    return found;
}

/* Takes a unique part, in ascending order: a block that waits for lower parts waits for blocks that
 * already run. The block that takes the last part resets the tile's counter. */
static tile_value take_ticket(split *s, tile_builder *at_start, const grid *g) {
    tile_builder place = *at_start, *b = &place;
    tile_op wait = split_find_pdl_wait(s->f, s->loop);
    if (wait.id) place.before = tile_op_next(s->f, wait);
    tile_value tickets = split_zeroed_words(s, b, grid_count_tiles(b, g->extent, 3), "tickets");
    tile_value tile = grid_number_tile(g, b);
    tile_value part = split_build_atomic(b, "add", NULL, tile_build_int(b, 1), tickets, &tile, 1);
    tile_value last = tile_build_eq(b, part, tile_build_int(b, s->factor - 1));
    split_branch branch = split_begin_branch(b, last, NULL, 0);
    split_build_atomic(&branch.yes, "exch", NULL, tile_build_int(b, 0), tickets, &tile, 1);
    tile_build_yield(&branch.yes, NULL, 0);
    tile_build_yield(&branch.no, NULL, 0);
    /* The part is in bounds; makes this visible in the code. */
    part = tile_build_min(b, part, tile_build_int(b, s->factor - 1));
    return tile_build_max(b, part, tile_build_int(b, 0));
}

void split_distribute_parts(split *s, grid *g) {
    tile_builder b = open_grid(s, g);
    unsigned dim = split_dim(s);
    tile_value at = g->part = g->block[dim];
    if (!tile_value_is(b.function, g->extent[dim], 1)) { /* parts share the dim */
        tile_value factor = tile_build_int(&b, s->factor), all[3];
        grid_take_results(&b, tile_build_grid_dim(&b), all);
        bool inner = s->strategy->parts_are_adjacent;
        g->extent[dim] = tile_build_div(&b, all[dim], factor);
        tile_value outer = tile_build_div(&b, at, inner ? factor : g->extent[dim]);
        tile_value rest = tile_build_rem(&b, at, inner ? factor : g->extent[dim]);
        g->part = inner ? rest : outer;
        g->id[dim] = inner ? outer : rest;
    }
    if (s->strategy->takes_ticket) g->part = take_ticket(s, &b, g);
    tile_value_set_name(s->f, g->part, "part");
    multiply_grid(g, dim, s->factor);
    grid_close(g);
    choose_iterations(s, g->part);
    tile_op_remove_attr(s->f, s->loop, TILE_ATTR_split);
    tile_op_remove_attr(s->f, s->loop, TILE_ATTR_strategy);
}

tile_value split_into_pieces(split *s, const split_pieces *pieces, grid *g) {
    tile_function *f = s->f;
    tile_builder b = open_grid(s, g);
    if (pieces->count == 1) return tile_build_int(&b, 0);
    tile_value count = tile_build_int(&b, pieces->count), x = g->block[0], piece = x;
    if (tile_value_is(b.function, g->extent[0], 1)) {
        g->id[0] = tile_build_int(&b, 0);
    } else {
        g->id[0] = tile_build_div(&b, x, count);
        piece = tile_build_rem(&b, x, count);
    }
    multiply_grid(g, 0, pieces->count);
    int64_t known;
    if (!tile_value_is_int(f, g->extent[0], &known))
        g->extent[0] = tile_build_div(&b, g->extent[0], count);
    const tile_type *type = tile_value_type(f, tile_op_result(f, s->loop, 0));
    int64_t length = tile_type_dim(type, pieces->axis) / pieces->count;
    tile_value first = length == 1 ? piece : tile_build_mul(&b, piece, tile_build_int(&b, length));
    grid_close(g);
    f->raster = TILE_RASTER_NONE;
    f->raster_group = NULL;
    f->cluster_rank = 0;
    return first;
}

/* What follows the loop ------------------------------------------------------------------------ */

tile_builder split_builder_after_loop(const split *s) {
    tile_op next = tile_op_next(s->f, s->loop);
    tile_builder b = next.id ? tile_builder_before(s->f, next)
                             : tile_builder_at_end(s->f, tile_op_at(s->f, s->loop)->parent);
    b.loc = tile_op_loc(s->f, s->loop);
    return b;
}

/* Ignores free_shared. */
static bool uses(const tile_function *f, tile_op op, tile_value buffer) {
    return tile_op_opcode(f, op) != TILE_OP_free_shared && tile_op_uses(f, op, buffer);
}

static bool is_used_after(const split *s, tile_value buffer) {
    bool found = false;
    for (tile_op op = tile_op_next(s->f, s->loop); op.id && !found; op = tile_op_next(s->f, op)) {
        found = uses(s->f, op, buffer);
        TILE_FOR_EACH_NESTED_OP (s->f, inner, op) found |= uses(s->f, inner, buffer);
    }
    return found;
}

/* Replaces values in the operation and in its regions. */
static void replace_in(tile_function *f, tile_op op, const tile_value *map) {
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        tile_value *operand = &tile_op_at(f, op)->operands[i];
        if (map[operand->id].id) *operand = map[operand->id];
    }
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
        tile_replace_values(f, tile_op_region(f, op, r), map);
}

tile_op *split_take_epilogue(split *s, unsigned *count) {
    tile_function *f = s->f;
    tile_op *ops = TILE_NEW_ARRAY(s->pass->scratch, tile_op, f->op_count);
    tile_op first = tile_op_next(f, s->loop);
    *count = 0;
    for (tile_op op = first, next; op.id; op = next) {
        next = tile_op_next(f, op);
        tile_opcode opcode = tile_op_opcode(f, op);
        bool early =
            (opcode == TILE_OP_free_shared && !is_used_after(s, tile_operand_buffer(f, op))) ||
            (opcode == TILE_OP_pdl_wait && !*count);
        if (!early)
            ops[(*count)++] = op;
        else if (op.id != first.id)
            tile_move_op(f, op, tile_op_at(f, first)->parent, first);
    }
    return ops;
}

tile_builder split_before_epilogue(const split *s, const tile_op *epilogue, unsigned count) {
    tile_builder b = count ? tile_builder_before(s->f, epilogue[0]) : split_builder_after_loop(s);
    b.loc = tile_op_loc(s->f, s->loop);
    return b;
}

void split_finish(split *s, tile_builder *b, const tile_op *epilogue, unsigned count,
                  const tile_value *totals) {
    tile_function *f = s->f;
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, f->value_count + s->count);
    for (unsigned i = 0; i < s->count; i++)
        map[tile_op_result(f, s->loop, i).id] = split_from_part(s, b, i, totals[i]);
    for (unsigned i = 0; i < count; i++) {
        tile_move_op(f, epilogue[i], b->region, TILE_NO_OP);
        replace_in(f, epilogue[i], map);
    }
}

/* Sums ----------------------------------------------------------------------------------------- */

const tile_type *split_part_type(const split *s, unsigned i) {
    const tile_type *type = tile_value_type(s->f, tile_op_result(s->f, s->loop, i));
    bool is_short = tile_scalar_is_floating(type->scalar) && tile_scalar_bits(type->scalar) < 32;
    return is_short ? tile_type_with_scalar(s->context, type, TILE_f32) : type;
}

tile_value split_as_type(tile_builder *b, tile_value value, const tile_type *type) {
    return tile_value_type(b->function, value) == type ? value : tile_build_cast(b, value, type);
}

tile_value split_to_part(split *s, tile_builder *b, unsigned i, tile_value value) {
    return split_as_type(b, value, split_part_type(s, i));
}

tile_value split_from_part(split *s, tile_builder *b, unsigned i, tile_value value) {
    return split_as_type(b, value, tile_value_type(s->f, tile_op_result(s->f, s->loop, i)));
}

tile_value split_combine(const split *s, tile_builder *b, unsigned i, tile_value lhs,
                         tile_value rhs) {
    const tile_segment segments[] = {{lhs, NULL, 0}, {rhs, NULL, 0}};
    tile_value one = tile_build_op_value(b, s->combine[i], segments, 2, NULL);
    if (s->nan[i]) tile_op_set_flag(b->function, tile_value_def(b->function, one), TILE_ATTR_nan);
    return one;
}

bool split_only_adds(const split *s) {
    for (unsigned i = 0; i < s->count; i++)
        if (s->combine[i] != TILE_OP_add) return false;
    return true;
}

/* Memory between blocks ------------------------------------------------------------------------ */

unsigned split_part_index(tile_builder *b, const tile_type *type, tile_value number,
                          tile_value place[TILE_MAX_RANK]) {
    place[0] = number;
    for (unsigned d = 0; d < type->rank; d++) place[d + 1] = tile_build_int(b, 0);
    return type->rank + 1;
}

unsigned split_indices_of_part(tile_builder *b, const tile_type *type, tile_value part,
                               tile_value tile, tile_value tiles, tile_value place[TILE_MAX_RANK]) {
    if (tiles.id)
        return split_part_index(b, type, tile_build_add(b, tile_build_mul(b, part, tiles), tile),
                                place);
    place[0] = tile;
    place[1] = part;
    for (unsigned d = 0; d < type->rank; d++) place[d + 2] = tile_build_int(b, 0);
    return type->rank + 2;
}

/* Scratch with extents [counts.., extents of a part..]. */
static tile_value scratch_of(const split *s, tile_builder *b, unsigned i, const tile_value *counts,
                             unsigned first) {
    const tile_type *type = split_part_type(s, i);
    tile_value extents[TILE_MAX_RANK];
    for (unsigned d = 0; d < first; d++) extents[d] = counts[d];
    for (unsigned d = 0; d < type->rank; d++)
        extents[first + d] = tile_build_int(b, tile_type_dim(type, d));
    tile_value scratch = tile_build_scratch(b, extents, first + type->rank,
                                            tile_type_scalar(s->context, type->scalar));
    const char *name = tile_value_at(s->f, tile_op_result(s->f, s->loop, i))->name;
    if (name) tile_value_set_name(s->f, scratch, name);
    return scratch;
}

tile_value split_scratch(const split *s, tile_builder *b, unsigned i, tile_value count) {
    return scratch_of(s, b, i, &count, 1);
}

tile_value split_opaque_scratch(const split *s, tile_builder *b, unsigned i, tile_value tiles) {
    const tile_value counts[] = {tiles, tile_build_int(b, s->factor)};
    tile_value parts = scratch_of(s, b, i, counts, 2);
    tile_op_set_flag(b->function, tile_value_def(b->function, parts), TILE_ATTR_opaque);
    return parts;
}

tile_value split_zeroed_words(const split *s, tile_builder *b, tile_value count, const char *name) {
    tile_value words = tile_build_scratch(b, &count, 1, tile_type_scalar(s->context, TILE_i32));
    tile_op_set_flag(b->function, tile_value_def(b->function, words), TILE_ATTR_clean);
    tile_value_set_name(b->function, words, name);
    return words;
}

tile_value split_build_atomic(tile_builder *b, const char *kind, const char *ordering,
                              tile_value value, tile_value memory, const tile_value *index,
                              unsigned rank) {
    tile_value old = tile_build_atomic(b, value, memory, index, rank, TILE_NO_VALUE, TILE_NO_VALUE);
    tile_op op = tile_value_def(b->function, old);
    tile_op_set_text(b->function, op, TILE_ATTR_kind, kind);
    if (ordering) tile_op_set_text(b->function, op, TILE_ATTR_ordering, ordering);
    return old;
}

tile_value split_arrive(tile_builder *b, tile_value counts, tile_value tile, tile_value parts) {
    tile_value before =
        split_build_atomic(b, "add", "acq_rel", tile_build_int(b, 1), counts, &tile, 1);
    return tile_build_eq(b, before, tile_build_sub(b, parts, tile_build_int(b, 1)));
}

split_branch split_begin_branch(tile_builder *b, tile_value condition,
                                const tile_type *const *types, unsigned count) {
    tile_function *f = b->function;
    split_branch branch = {.op = tile_build_if_else(b, condition, types, count)};
    branch.yes = tile_builder_at_end(f, tile_op_region(f, branch.op, 0));
    branch.no = tile_builder_at_end(f, tile_op_region(f, branch.op, 1));
    branch.yes.loc = branch.no.loc = b->loc;
    return branch;
}

tile_builder split_begin_tiles(split *s, const char *name, split_tiles *t) {
    *t = (split_tiles){.sums = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1)};
    split_distribute_parts(s, &t->g);
    t->epilogue = split_take_epilogue(s, &t->count);
    tile_builder b = split_before_epilogue(s, t->epilogue, t->count);
    tile_value tiles = grid_count_tiles(&b, t->g.extent, 3);
    t->tile = grid_number_tile(&t->g, &b);
    t->words = split_zeroed_words(s, &b, tiles, name);
    for (unsigned i = 0; i < s->count; i++) t->sums[i] = split_scratch(s, &b, i, tiles);
    return b;
}
