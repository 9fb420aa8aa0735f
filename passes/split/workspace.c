/* workspace: blocks store their parts to memory; a second kernel adds them and runs the code after
 * the loop. The kernel becomes a plan with the same name:
 *
 *     plan @k(...)
 *     {
 *       %parts = scratch [factor * tiles, 64, 64] : view<f32[?, 64, 64]>
 *       launch @k_partial(..., %parts)          up to the loop, a block for each part
 *       launch @k_reduce(..., %parts) {pdl}     a block for each tile
 *     }
 *
 * Both take the arguments of the kernel. Parts are ordered by part, then by tile, each in row-major
 * order: every access is wide and needs no bounds check. The order of additions depends only on the
 * number of parts (epilogue_pieces.c).
 *
 * If the parts have few elements, as those of a sum of all elements, a second kernel takes longer
 * to start than to run. Then the kernel stays one: the last block that stores a part of a tile adds
 * all of them, in the same order. */
#include "lib/analysis/memory.h"
#include "lib/ir/syntax.h"
#include "passes/common/host_value.h"
#include "passes/common/kernel_steps.h"
#include "passes/split/split.h"

/* Names ---------------------------------------------------------------------------------------- */

static const char *free_argument(const split *s, const tile_function *f, unsigned i) {
    const char *name = tile_value_at(s->f, tile_op_result(s->f, s->loop, i))->name;
    const char *stem = tile_arena_format(s->pass->scratch, "%s_parts", name ? name : "sum");
    name = stem;
    for (unsigned n = 2; tile_function_find_arg(f, name); n++)
        name = tile_arena_format(s->pass->scratch, "%s_%u", stem, n);
    return name;
}

/* Scratch -------------------------------------------------------------------------------------- */

/* The number of all parts, as an expression of the launch. */
static const tile_expr *count_parts(const split *s) {
    const tile_expr *count = tile_expr_int(s->context, s->factor);
    for (unsigned d = 0; d < s->f->grid_rank; d++)
        count = tile_expr_multiply(s->context, count, s->f->grid[d]);
    return count;
}

/* Adds an argument for the parts of each sum to the kernel; parts[i] is its value. */
static void add_arguments(const split *s, tile_function *kernel, tile_value *parts) {
    const tile_expr *extents[TILE_MAX_RANK] = {count_parts(s)};
    for (unsigned i = 0; i < s->count; i++) {
        const tile_type *type = split_part_type(s, i);
        for (unsigned d = 0; d < type->rank; d++) extents[d + 1] = type->dims[d];
        parts[i] = tile_function_add_view_arg(kernel, free_argument(s, kernel, i),
                                              tile_type_scalar(s->context, type->scalar),
                                              type->rank + 1, extents, NULL);
        tile_function_set_arg_divisible(kernel, (unsigned)kernel->arg_count - 1, 16);
        tile_function_set_arg_noalias(kernel, (unsigned)kernel->arg_count - 1, true); /* scratch */
    }
}

/* The first kernel ----------------------------------------------------------------------------- */

static void erase_all(tile_function *f, const tile_op *ops, unsigned count) {
    while (count-- > 0) tile_erase_op(f, ops[count]);
}

static tile_function *make_partial(const split *s) {
    split own = *s;
    grid g;
    unsigned count;
    tile_function *f = own.f = steps_copy_kernel(s->f, "partial");
    tile_value *parts = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    add_arguments(s, f, parts);
    split_distribute_parts(&own, &g);
    const tile_op *epilogue = split_take_epilogue(&own, &count);
    erase_all(f, epilogue, count);
    tile_builder b = split_builder_after_loop(&own);
    tile_build_pdl_trigger(&b);
    tile_value first =
        tile_build_add(&b, tile_build_mul(&b, g.part, grid_count_tiles(&b, g.extent, 3)),
                       grid_number_tile(&g, &b));
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_part_index(&b, split_part_type(s, i), first, place);
        tile_value part = split_to_part(&own, &b, i, tile_op_result(f, own.loop, i));
        tile_build_store(&b, part, parts[i], place, rank, TILE_NO_VALUE);
    }
    return f;
}

/* The second kernel ---------------------------------------------------------------------------- */

static void mark_operands(tile_function *f, tile_op op, bool *live) {
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        live[tile_op_operand(f, op, i).id] = true;
}

static void mark_all(tile_function *f, tile_op op, bool *live) {
    mark_operands(f, op, live);
    TILE_FOR_EACH_NESTED_OP (f, inner, op) mark_operands(f, inner, live);
}

/* Whether an operation before the loop is needed after it: for a value that is used there, to fill
 * a buffer that is used there, or to order such operations. */
static bool is_needed(const tile_function *f, tile_op op, const bool *live) {
    enum { ORDERS = TILE_EFFECT_BARRIER | TILE_EFFECT_WAIT | TILE_EFFECT_REGION };
    unsigned effects = tile_op_effects(f, op);
    tile_opcode opcode = tile_op_opcode(f, op);
    bool needed =
        effects & ORDERS || opcode == TILE_OP_commit_group || opcode == TILE_OP_pdl_trigger;
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
        needed |= live[tile_op_result(f, op, i).id];
    for (unsigned i = 0; i < tile_op_operand_count(f, op) && effects; i++) {
        tile_value value = tile_op_operand(f, op, i);
        needed |= live[value.id] && tile_value_type(f, value)->kind == TILE_TYPE_SHARED;
    }
    return needed;
}

/* Erases the loop and the operations before it that only the loop needs, in reverse order, so that
 * their operands can be erased as well. */
static void drop_unneeded(const split *s, tile_function *f) {
    bool *live = TILE_NEW_ARRAY(s->pass->scratch, bool, f->value_count);
    for (tile_op op = tile_op_next(f, s->loop); op.id; op = tile_op_next(f, op))
        if (tile_op_opcode(f, op) != TILE_OP_free_shared) mark_all(f, op, live);
    for (tile_op op = tile_op_next(f, s->loop), next; op.id; op = next) {
        next = tile_op_next(f, op);
        bool frees = tile_op_opcode(f, op) == TILE_OP_free_shared;
        if (frees && !live[tile_operand_buffer(f, op).id]) tile_erase_op(f, op);
    }
    tile_op before = tile_op_at(f, s->loop)->prev;
    tile_erase_op(f, s->loop);
    for (tile_op op = before; op.id; op = before) {
        before = tile_op_at(f, op)->prev;
        if (is_needed(f, op, live))
            mark_all(f, op, live);
        else
            tile_erase_op(f, op);
    }
}

/* As many pieces as give each thread one wide access of every part; more of them if there are many
 * parts. */
static int64_t count_pieces(const split *s) {
    enum { BYTES = 16 };
    int64_t warps = 1, most = 1;
    tile_expr_is_int(s->f->warps, &warps);
    for (unsigned i = 0; i < s->count; i++) {
        const tile_type *type = split_part_type(s, i);
        int64_t bytes = tile_type_elements(type) * tile_scalar_bytes(type->scalar);
        if (bytes / (BYTES * 32 * warps) > most) most = bytes / (BYTES * 32 * warps);
    }
    enum { MANY = 16 };
    return s->factor > MANY ? most * (s->factor / MANY) : most;
}

static tile_function *make_reduce(const split *s) {
    split own = *s;
    grid g;
    unsigned count;
    tile_function *f = own.f = steps_copy_kernel(s->f, "reduce");
    tile_value *parts = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    tile_value *sums = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    add_arguments(s, f, parts);
    tile_op *epilogue = split_take_epilogue(&own, &count);
    split_pieces cut = split_choose_pieces(&own, epilogue, count, count_pieces(s));
    tile_value first = split_into_pieces(&own, &cut, &g);
    tile_builder b = tile_builder_at_end(f, f->body);
    b.loc = tile_op_loc(f, own.loop);
    tile_value tile = grid_number_tile(&g, &b), tiles = grid_count_tiles(&b, g.extent, 3);
    split_sum_pieces(&own, &b, &cut, first, tile, tiles, parts, sums);
    split_copy_pieces(&own, &cut, &b, epilogue, count, first, sums);
    erase_all(f, epilogue, count);
    drop_unneeded(&own, f);
    b = tile_builder_before(f, tile_region_first(f, f->body));
    b.loc = tile_op_loc(s->f, s->loop);
    tile_build_pdl_wait(&b);
    return f;
}

/* One kernel ----------------------------------------------------------------------------------- */

bool split_last_block_adds(const tile_function *f, tile_op loop) {
    enum { FEW = 4, MOST_PARTS = 2048 };
    if (f->is_persistent || f->cluster_rank) return false;
    if (tile_op_attr_int(f, loop, TILE_ATTR_split, 1) > MOST_PARTS) return false;
    for (unsigned i = 0; i < tile_op_result_count(f, loop); i++) {
        const tile_type *type = tile_value_type(f, tile_op_result(f, loop, i));
        int64_t elements = 1;
        if (type->kind != TILE_TYPE_TILE) return false;
        for (unsigned d = 0; d < type->rank; d++) {
            int64_t extent;
            if (!tile_expr_is_int(type->dims[d], &extent)) return false;
            elements *= extent;
        }
        if (elements > FEW) return false;
    }
    return true;
}

static void store_parts(split *s, tile_builder *b, tile_value at, const tile_value *parts) {
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_part_index(b, split_part_type(s, i), at, place);
        tile_value part = split_to_part(s, b, i, tile_op_result(s->f, s->loop, i));
        tile_build_store(b, part, parts[i], place, rank, TILE_NO_VALUE);
    }
}

static tile_status add_in_last_block(split *s) {
    tile_arena *arena = s->pass->scratch;
    const split_pieces whole = {.count = 1};
    tile_value *parts = TILE_NEW_ARRAY(arena, tile_value, s->count + 1);
    tile_value *sums = TILE_NEW_ARRAY(arena, tile_value, s->count + 1);
    grid g;
    unsigned count;
    split_distribute_parts(s, &g);
    tile_op *epilogue = split_take_epilogue(s, &count);
    tile_builder b = split_before_epilogue(s, epilogue, count);
    tile_value tiles = grid_count_tiles(&b, g.extent, 3), tile = grid_number_tile(&g, &b);
    tile_value factor = tile_build_int(&b, s->factor), all = tile_build_mul(&b, tiles, factor);
    tile_value arrived = split_zeroed_words(s, &b, tiles, "arrived");
    for (unsigned i = 0; i < s->count; i++) parts[i] = split_scratch(s, &b, i, all);
    store_parts(s, &b, tile_build_add(&b, tile_build_mul(&b, g.part, tiles), tile), parts);
    tile_value last = split_arrive(&b, arrived, tile, factor);
    split_branch branch = split_begin_branch(&b, last, NULL, 0);
    /* No block arrives any more, so the reset needs no ordering. */
    split_build_atomic(&branch.yes, "exch", NULL, tile_build_int(&b, 0), arrived, &tile, 1);
    split_sum_pieces(s, &branch.yes, &whole, tile_build_int(&b, 0), tile, tiles, parts, sums);
    split_finish(s, &branch.yes, epilogue, count, sums);
    tile_build_yield(&branch.yes, NULL, 0);
    tile_build_yield(&branch.no, NULL, 0);
    return TILE_OK;
}

/* The plan ------------------------------------------------------------------------------------- */

tile_status split_workspace(split *s) {
    tile_arena *arena = s->pass->scratch;
    if (split_last_block_adds(s->f, s->loop)) return add_in_last_block(s);
    tile_loc loc = tile_op_loc(s->f, s->loop);
    const tile_expr *parts = count_parts(s);
    const tile_type **types = TILE_NEW_ARRAY(arena, const tile_type *, s->count + 1);
    tile_value *scratch = TILE_NEW_ARRAY(arena, tile_value, s->count + 1);
    for (unsigned i = 0; i < s->count; i++) types[i] = split_part_type(s, i);
    tile_function *partial = make_partial(s), *reduce = make_reduce(s);
    steps_become_plan(s->f);
    tile_builder b = tile_builder_at_end(s->f, s->f->body);
    b.loc = loc;
    tile_value count = host_value_cast(&b, host_value(&b, parts), TILE_i32);
    for (unsigned i = 0; i < s->count; i++) {
        tile_value extents[TILE_MAX_RANK] = {count};
        for (unsigned d = 0; d < types[i]->rank; d++)
            extents[d + 1] = tile_build_int(&b, tile_type_dim(types[i], d));
        scratch[i] = tile_build_scratch(&b, extents, types[i]->rank + 1,
                                        tile_type_scalar(s->context, types[i]->scalar));
        tile_value_set_name(s->f, scratch[i], partial->args[s->f->arg_count + i].name);
    }
    split_launch(&b, partial, scratch, arena);
    tile_op last = split_launch(&b, reduce, scratch, arena);
    tile_op_set_flag(s->f, last, TILE_ATTR_pdl);
    return TILE_OK;
}
