/* group-warps: distributes loop iterations over groups of warps within a block.
 *
 * With few rows and a wide matrix, a warp's instructions wait for each other. More warps on a
 * multiprocessor help, but only k is left to distribute over them. Separate blocks (split-k) add
 * their parts through global memory. `for .. groups (4)` divides a block's warps into four groups.
 * Each runs every fourth iteration, with its own stages and barrier. Their parts are combined once,
 * in shared memory, and all warps run the code after the loop.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * pipeline: group-warps
 * before:
 *   kernel @sums(%m: i32, %x: view<f32[%m, 64]>, %y: view<f32[1, 64]>)
 *       grid [1]  warps 4
 *   {
 *     %zero = splat 0.0 : tile<f32[1, 64]>
 *     %all = for %i = 0 to %m step 1 iter (%sum = %zero) groups (2) {
 *       %row = load %x[%i, 0] : tile<f32[1, 64]>
 *       %next = add %sum, %row : tile<f32[1, 64]>
 *       yield %next
 *     }
 *     store %all, %y[0, 0]
 *   }
 *
 * after:
 *   kernel @sums(%m: i32, %x: view<f32[%m, 64]>, %y: view<f32[1, 64]>)
 *       grid [1]  warps 4
 *   {
 *     %zero = splat 0.0 : tile<f32[1, 64]>
 *     %parts = alloc_shared : shared<f32[2][1, 64]>
 *     roles {
 *       warps 2 groups 2 as %group {
 *         %0 = splat 0.0 : tile<f32[1, 64]>
 *         %all = for %i = %group to %m step 2 iter (%sum = %0) {
 *           %row = load %x[%i, 0] : tile<f32[1, 64]>
 *           %next = add %sum, %row : tile<f32[1, 64]>
 *           yield %next
 *         }
 *         sync all
 *         store_shared %all, %parts[%group]
 *       }
 *     }
 *     %1 = load_shared %parts[0] : tile<f32[1, 64]>
 *     %2 = load_shared %parts[1] : tile<f32[1, 64]>
 *     %3 = add %1, %2 : tile<f32[1, 64]>
 *     free_shared %parts
 *     store %3, %y[0, 0]
 *   }
 *
 * Loops: those that split-k accepts (check.c), also nested ones. A part must begin at a number,
 * because a tile of the block is not available as a tile of a group. Each group gets its own copy
 * of buffers that the loop writes; buffers that it only reads are shared.
 *
 * `sync all` allows the parts to reuse the bytes of the stages: no group stores before all have
 * finished their loops (lib/analysis/liveness.c). Parts are combined in the order of the groups, so
 * that each launch computes the same bits. */
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "passes/common/loop_parts.h"
#include "passes/split/split.h"

typedef struct grouping {
    split s; /* s.factor: number of groups */
    tile_executors executors;
    tile_region region; /* the region of their role */
    tile_value number;  /* the group's number */
    tile_value *parts;  /* by carried value: a buffer with a stage for each group */
    loop_ahead whole;   /* the original loop */
} grouping;

/* 1. Checks ------------------------------------------------------------------------------------ */

static const char *name_of(const grouping *g, tile_value value) {
    const char *name = tile_value_at(g->s.f, value)->name;
    return name ? tile_arena_format(g->s.pass->scratch, "%%%s", name) : "a carried value";
}

/* The scalar that fills the tile, or 0. */
static tile_value filled_with(const tile_function *f, tile_value tile) {
    tile_op def = tile_value_def(f, tile);
    return def.id && tile_op_opcode(f, def) == TILE_OP_splat ? tile_operand_src(f, def)
                                                             : TILE_NO_VALUE;
}

static bool check_carried(const grouping *g) {
    tile_function *f = g->s.f;
    for (unsigned i = 0; i < g->s.count; i++) {
        tile_value carried = tile_carried_received(f, g->s.loop, 0, i);
        const char *name = name_of(g, carried);
        if (!filled_with(f, tile_carried_sent(f, g->s.loop, TILE_PARENT_OP, i)).id)
            return tile_error_at(
                g->s.f, g->s.loop,
                "groups: %s starts at a tile that is distributed over all warps; start it at a "
                "number, and combine it with the tile after the loop",
                name);
        if (tile_value_type(f, carried)->layout)
            return tile_error_at(g->s.f, g->s.loop,
                                 "groups: %s has a layout, which is either the block's or a "
                                 "group's; leave the layout to the compiler",
                                 name);
    }
    return true;
}

static bool check_body_op(grouping *g, tile_op op) {
    const tile_function *f = g->s.f;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        tile_value value = tile_op_operand(f, op, i);
        const tile_type *type = tile_value_type(f, value);
        bool barrier = type->kind == TILE_TYPE_SHARED && type->scalar == TILE_barrier;
        if (!barrier || tile_op_is_in(f, tile_value_def(f, value), g->s.loop)) continue;
        return tile_error_at(g->s.f, op,
                             "groups: %s uses a barrier that all warps share; allocate it in the "
                             "loop, or remove it: `pipelined` adds its own",
                             tile_op_name(f, op));
    }
    return true;
}

static bool is_possible(grouping *g) {
    if (!split_is_legal(&g->s) || !check_carried(g)) return false;
    TILE_FOR_EACH_NESTED_OP (g->s.f, op, g->s.loop)
        if (!check_body_op(g, op)) return false;
    return true;
}

/* 2. Buffers ----------------------------------------------------------------------------------- */

typedef struct written {
    tile_op loop;
    tile_arena *arena;
    tile_value *buffers; /* buffers from outside the loop that it writes */
    size_t count, capacity;
} written;

static void add_written(tile_function *f, tile_op op, written *w) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, accesses);
    for (unsigned i = 0; i < count; i++) {
        tile_value memory = accesses[i].memory;
        tile_op def = tile_value_def(f, memory);
        bool own = !accesses[i].shared || !accesses[i].write || !def.id ||
                   tile_op_opcode(f, def) != TILE_OP_alloc_shared || tile_op_is_in(f, def, w->loop);
        for (size_t k = 0; k < w->count; k++) own |= w->buffers[k].id == memory.id;
        if (own) continue;
        w->buffers =
            tile_arena_grow(w->arena, w->buffers, w->count, &w->capacity, sizeof *w->buffers);
        w->buffers[w->count++] = memory;
    }
}

/* Removes a buffer that only free_shared still uses. */
static void drop_buffer(grouping *g, tile_value buffer) {
    tile_function *f = g->s.f;
    for (uint32_t id = 1; id < f->op_count; id++)
        for (unsigned i = 0; i < f->ops[id].operand_count; i++)
            if (f->ops[id].opcode != TILE_OP_NONE && f->ops[id].operands[i].id == buffer.id &&
                f->ops[id].opcode != TILE_OP_free_shared)
                return;
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode == TILE_OP_free_shared &&
            tile_operand_buffer(f, (tile_op){id}).id == buffer.id)
            tile_erase_op(f, (tile_op){id});
    tile_erase_op(f, tile_value_def(f, buffer));
}

/* Clones the buffers that the loop writes, before it in the role's region. */
static void own_buffers(grouping *g, tile_builder *b) {
    tile_function *f = g->s.f;
    written w = {.loop = g->s.loop, .arena = g->s.pass->scratch};
    TILE_FOR_EACH_OP_INSIDE (f, op, tile_op_region(f, g->s.loop, 0)) add_written(f, op, &w);
    size_t before = f->value_count;
    tile_value *map = TILE_NEW_ARRAY(w.arena, tile_value, before + w.count);
    for (size_t i = 0; i < w.count; i++) {
        const char *name = tile_value_at(f, w.buffers[i])->name;
        tile_op own = tile_clone_op(b, tile_value_def(f, w.buffers[i]), map, before);
        if (name) tile_value_set_name(f, tile_op_result(f, own, 0), name);
    }
    tile_replace_values(f, tile_op_region(f, g->s.loop, 0), map);
    for (size_t i = 0; i < w.count; i++) drop_buffer(g, w.buffers[i]);
}

/* 3. The loop ---------------------------------------------------------------------------------- */

/* Group g runs iterations g, g + groups, .. of the original loop. */
static void stride_by_factor(grouping *g, tile_builder *b) {
    tile_function *f = g->s.f;
    loop_part own = loop_part_build(b, &g->whole, g->number, g->s.factor);
    tile_value *bounds = tile_op_at(f, g->s.loop)->operands;
    bounds[0] = own.begin;
    bounds[1] = own.end;
    bounds[2] = own.step;
}

static void reset_inits(grouping *g, tile_builder *b) {
    tile_function *f = g->s.f;
    for (unsigned i = 0; i < g->s.count; i++) {
        tile_value init = tile_carried_sent(f, g->s.loop, TILE_PARENT_OP, i);
        const tile_type *type = tile_value_type(f, init);
        tile_carried_send(f, g->s.loop, TILE_PARENT_OP, i,
                          tile_build_splat(b, filled_with(f, init), type));
    }
}

/* 4. The parts --------------------------------------------------------------------------------- */

static void make_parts(grouping *g, tile_builder *b) {
    g->parts = TILE_NEW_ARRAY(g->s.pass->scratch, tile_value, g->s.count + 1);
    for (unsigned i = 0; i < g->s.count; i++) {
        tile_type draft = *split_part_type(&g->s, i);
        draft.kind = TILE_TYPE_SHARED;
        draft.stages = tile_expr_int(g->s.context, g->s.factor);
        g->parts[i] = tile_build_alloc_shared(b, tile_type_get(g->s.context, &draft));
        tile_value_set_name(g->s.f, g->parts[i], "parts");
    }
}

/* Combines the parts after the roles, in the order of the groups. */
static tile_value combine_parts(grouping *g, tile_builder *b, unsigned i) {
    tile_value whole = TILE_NO_VALUE;
    const tile_type *type = split_part_type(&g->s, i);
    for (int64_t at = 0; at < g->s.factor; at++) {
        tile_value stage = tile_build_int(b, at);
        tile_value part = tile_build_load_shared(b, g->parts[i], &stage, 1, type);
        whole = at ? split_combine(&g->s, b, i, whole, part) : part;
    }
    tile_build_free_shared(b, g->parts[i]);
    return split_from_part(&g->s, b, i, whole);
}

static void store_parts(grouping *g, tile_builder *b) {
    tile_function *f = g->s.f;
    tile_build_sync(b, TILE_NO_VALUE, TILE_NO_VALUE);
    tile_op_set_flag(f, tile_region_at(f, g->region)->last, TILE_ATTR_all);
    for (unsigned i = 0; i < g->s.count; i++) {
        tile_value part = split_to_part(&g->s, b, i, tile_op_result(f, g->s.loop, i));
        tile_build_store_shared(b, part, g->parts[i], &g->number, 1);
    }
    tile_build_yield(b, NULL, 0);
}

static void make_roles(grouping *g) {
    tile_function *f = g->s.f;
    tile_builder b = tile_builder_before(f, g->s.loop);
    b.loc = tile_op_loc(f, g->s.loop);
    const tile_range *ranges = tile_range_analyse(f, g->s.pass->scratch);
    g->whole = loop_ahead_of(f, g->s.loop, ranges, f->value_count);
    make_parts(g, &b);
    tile_value warps = tile_build_int(&b, g->executors.warps),
               groups = tile_build_int(&b, g->s.factor);
    tile_op roles = tile_build_role_regions(&b, &warps, &groups, NULL, 1);
    g->region = tile_op_region(f, roles, 0);
    g->number = tile_region_arg(f, g->region, 0);
    tile_value_set_name(f, g->number, "group");
    tile_value *totals = TILE_NEW_ARRAY(g->s.pass->scratch, tile_value, g->s.count + 1);
    for (unsigned i = 0; i < g->s.count; i++) totals[i] = combine_parts(g, &b, i);
    tile_value *map = TILE_NEW_ARRAY(g->s.pass->scratch, tile_value, f->value_count);
    for (unsigned i = 0; i < g->s.count; i++) map[tile_op_result(f, g->s.loop, i).id] = totals[i];
    tile_replace_values(f, f->body, map);
    tile_builder inner = tile_builder_at_end(f, g->region);
    inner.loc = b.loc;
    own_buffers(g, &inner);
    reset_inits(g, &inner);
    stride_by_factor(g, &inner);
    tile_op_remove_attr(f, g->s.loop, TILE_ATTR_groups);
    tile_move_op(f, g->s.loop, g->region, TILE_NO_OP);
    store_parts(g, &inner);
}

tile_status tile_pass_group_warps(tile_pass *pass, tile_function *f) {
    unsigned count;
    long grouped = 0;
    const tile_op *loops = tile_find_ops(f, TILE_OP_for, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) {
        if (!tile_op_has_attr(f, loops[i], TILE_ATTR_groups)) continue;
        grouping g = {.s = {.pass = pass,
                            .context = pass->context,
                            .f = f,
                            .loop = loops[i],
                            .factor = tile_op_attr_int(f, loops[i], TILE_ATTR_groups, 1),
                            .count = tile_carried_count(f, loops[i])}};
        if (tile_is_grouped(f, loops[i])) {
            g.executors = tile_executors_of_loop(f, loops[i]);
            if (!is_possible(&g)) return TILE_INVALID;
            make_roles(&g);
            grouped++;
        }
        tile_op_remove_attr(f, loops[i], TILE_ATTR_groups);
    }
    tile_pass_count(pass, "grouped loops", grouped);
    return TILE_OK;
}
