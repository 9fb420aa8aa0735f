/* assign-layouts: gives every tile and shared buffer a layout, and makes conversions explicit.
 *
 * Where an element lives decides everything: tensor cores want fixed fragments, global memory wants
 * neighbouring threads on neighbouring 16 bytes, shared memory wants rows spread over its banks.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: allocated, synchronised
 *
 * before:
 *   kernel @fill(%c: ptr<f32> {divisible = 16}) grid [1] warps 1 {
 *     %gc = view %c, [128] : view<f32[128]>
 *     %t = splat 1.0 : tile<f32[128]>
 *     store %t, %gc[0]
 *   }
 * after:
 *   #blocked = layout {reg = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []}
 *   kernel @fill(%c: ptr<f32> {divisible = 16}) grid [1] warps 1 {
 *     %gc = view %c, [128] : view<f32[128]>
 *     %t = splat 1.0 : tile<f32[128], #blocked>
 *     store %t, %gc[0]
 *   }
 *
 * The usual way attaches a layout to each operation and then searches for conversions to remove.
 * Here values that must agree anyway (operands and results of element-wise operations, what loops
 * and branches carry) form one class with one layout, chosen by the strongest wish in it: an
 * accumulator of `dot`, an operand of `dot`, a load, a store. Every memory access works with every
 * layout, so a conversion is needed in three places only: before a `dot` whose operand is not held
 * as a fragment, before a store that would be narrow, and before a `broadcast` of what somebody
 * else has a stronger wish for. An operand computed from nothing (`splat`, `iota`) is computed
 * again in the other layout instead. That is enough because tiles between those points are used
 * element by element. */
#include "lib/analysis/access.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/ir/gather.h"
#include "lib/ir/reduce.h"
#include "lib/ir/regions.h"
#include "lib/ir/shape.h"
#include "lib/layout/layout.h"
#include "lib/layout/pieces.h"
#include "lib/layout/reduce.h"
#include "passes/tile/assign_layouts.h"
#include "passes/tile/prepare.h"
#include "passes/tile/warpgroup.h"

/* How much a class wants its layout; the strongest wins, the first among equals. */
typedef enum strength {
    WISH_NONE,
    WISH_STORE,
    WISH_LOAD,
    WISH_PIECES, /* of a store through a ring: more than loads, which take every layout, and else
                    the whole tile goes through a buffer before it */
    WISH_REPEAT, /* by a broadcast; more than loads, too */
    WISH_REDUCE, /* as the threads have it that combine elements */
    WISH_FMA,
    WISH_OPERAND,
    WISH_SUM,
    WISH_WARPGROUP, /* mma takes its fragments, too */
} strength;

typedef struct assignment {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    size_t value_count;  /* when the classes were made */
    uint32_t *parent;    /* union-find over values */
    strength *wish;      /* by class */
    tile_layout *wanted; /* by class */
    tile_layout *shared; /* by value of alloc_shared: its buffer's layout */
    bool ordered;        /* opaque scratch has its orders, as far as there are any */
    tile_status status;
} assignment;

static bool is_tile(const assignment *a, tile_value value) {
    return tile_value_type(a->f, value)->kind == TILE_TYPE_TILE;
}

/* The warps that share a tile. */
static unsigned warps_of(const assignment *a, tile_value tile) {
    return tile_executors_of_value(a->f, tile).warps;
}

static unsigned warps_at(const assignment *a, tile_op op) {
    return tile_executors_of(a->f, op).warps;
}

bool layouts_is_atomic_tile(const tile_function *f, tile_op op) {
    unsigned effects = tile_op_get_info(tile_op_opcode(f, op))->effects;
    return effects & TILE_EFFECT_ATOMIC &&
           tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_WHOLE_SET);
}

tile_value layouts_moved_tile(const tile_function *f, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    bool takes = info->operand_count && info->operands[0].form == TILE_FORM_value;
    if (!takes && !tile_op_result_count(f, op)) return TILE_NO_VALUE;
    tile_value moved = takes ? tile_op_operand(f, op, 0) : tile_op_result(f, op, 0);
    return tile_value_type(f, moved)->kind == TILE_TYPE_TILE ? moved : TILE_NO_VALUE;
}

const tile_mma *layouts_choose_mma(const tile_pass *pass, const tile_function *f, tile_op dot,
                                   bool laid_out) {
    tile_mma_query query = tile_product_query(f, dot);
    query.capability = pass->target->compute_capability;
    if (!laid_out) query.acc_layout = NULL;
    return tile_mma_find(&query);
}

tile_layout layouts_of_pieces(const tile_function *f, tile_op store_async,
                              uint32_t extents[TILE_MAX_RANK]) {
    unsigned count;
    uint32_t dims[TILE_MAX_RANK];
    const tile_type *tile = tile_value_type(f, tile_op_operand(f, store_async, 0));
    tile_type_dims(tile, dims);
    tile_type_dims(tile_value_type(f, tile_op_segment(f, store_async, 2, &count)[0]), extents);
    return tile_pieces_layout(dims, extents, tile->rank, tile_executors_of(f, store_async).warps);
}

/* 1. Classes: values that have one layout. ---------------------------------------------------- */

static uint32_t class_of(assignment *a, tile_value value) {
    uint32_t id = value.id;
    while (a->parent[id] != id) id = a->parent[id] = a->parent[a->parent[id]];
    return id;
}

static void unite(assignment *a, tile_value x, tile_value y) {
    if (x.id && y.id && is_tile(a, x) && is_tile(a, y)) a->parent[class_of(a, y)] = class_of(a, x);
}

static void unite_carried(assignment *a, tile_op op) {
    for (unsigned i = 0; i < tile_carried_count(a->f, op); i++)
        TILE_FOR_EACH_PLACE (a->f, op, at) {
            unite(a, tile_op_result(a->f, op, i), tile_carried_sent(a->f, op, at, i));
            unite(a, tile_op_result(a->f, op, i), tile_carried_received(a->f, op, at, i));
        }
}

/* What an atomic operation takes and gives, element by element. */
static void unite_values(assignment *a, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(a->f, op));
    for (unsigned i = 0; i < info->operand_count; i++) {
        unsigned count;
        const tile_value *values = tile_op_segment(a->f, op, i, &count);
        if (count == 1) unite(a, tile_op_result(a->f, op, 0), values[0]); /* not with memory */
    }
}

/* A predicate with what it is for, and the index tiles of one access. */
static void unite_gathered(assignment *a, tile_op op) {
    tile_gather g;
    tile_value first = TILE_NO_VALUE;
    if (!tile_gather_of(a->f, op, &g)) return;
    tile_value moved = layouts_moved_tile(a->f, op);
    if (moved.id) unite(a, moved, g.predicate);
    for (unsigned d = 0; g.tiles && d < g.rank; d++) {
        if (!is_tile(a, g.index[d])) continue;
        if (first.id) unite(a, first, g.index[d]);
        first = g.index[d];
    }
}

static void unite_op(tile_function *f, tile_op op, void *user) {
    assignment *a = user;
    const tile_op_data *data = tile_op_at(f, op);
    bool elementwise = tile_op_has_trait((tile_opcode)data->opcode, TILE_TRAIT_ELEMENTWISE);
    for (uint32_t i = 0; elementwise && i < data->operand_count; i++)
        unite(a, data->first_result, data->operands[i]);
    if (data->opcode == TILE_OP_dot)
        unite(a, data->first_result, data->operands[data->operand_count - 1]);
    if (layouts_is_atomic_tile(f, op)) unite_values(a, op);
    unite_gathered(a, op);
    if (data->opcode == TILE_OP_dot_wait) unite(a, data->first_result, data->operands[0]);
    unite_carried(a, op);
}

/* 2. Wishes. ---------------------------------------------------------------------------------- */

static void wish(assignment *a, tile_value value, strength how_much, const tile_layout *layout) {
    uint32_t id = class_of(a, value);
    if (how_much <= a->wish[id]) return;
    a->wish[id] = how_much;
    a->wanted[id] = *layout;
}

/* Without an instruction each thread has neighbours along n, read and stored together. */
static void wish_fma(assignment *a, tile_op op, const tile_type *acc) {
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(acc, dims);
    tile_layout layout =
        tile_layout_blocked(dims, 2, 16 / tile_scalar_bytes(acc->scalar), 1, warps_at(a, op));
    wish(a, tile_op_result(a->f, op, 0), WISH_FMA, &layout);
}

/* Whether a tile comes from shared memory, converted perhaps: then it can be read as it is wanted.
 */
static bool is_read_from_shared(const assignment *a, tile_value tile) {
    tile_op def = tile_value_def(a->f, tile);
    while (tile_op_opcode(a->f, def) == TILE_OP_cast)
        def = tile_value_def(a->f, tile_op_operand(a->f, def, 0));
    return tile_op_opcode(a->f, def) == TILE_OP_load_shared;
}

static void wish_warpgroup(assignment *a, tile_op op) {
    unsigned row_dim;
    tile_layout layout, fragment;
    if (!warpgroup_accumulator(a->f, op, &row_dim, &layout)) return;
    wish(a, tile_op_result(a->f, op, 0), WISH_WARPGROUP, &layout);
    tile_value first = warpgroup_unpacked(a->f, op, row_dim);
    if (first.id && warpgroup_fragment(a->f, op, &layout, row_dim, &fragment))
        wish(a, first, WISH_OPERAND, &fragment);
}

static void wish_dot(assignment *a, tile_op op) {
    unsigned count;
    if (warpgroup_takes(a->f, op)) {
        wish_warpgroup(a, op);
        return;
    }
    const tile_mma *row = layouts_choose_mma(a->pass, a->f, op, false);
    const tile_type *acc = tile_value_type(a->f, tile_op_result(a->f, op, 0));
    if (!row) {
        wish_fma(a, op, acc);
        return;
    }
    uint32_t m = (uint32_t)tile_type_dim(acc, 0), n = (uint32_t)tile_type_dim(acc, 1);
    uint32_t warps_m, warps_n;
    tile_mma_choose_warps(row, m, n, warps_at(a, op), &warps_m, &warps_n);
    tile_layout layout = tile_mma_accumulator(row, m, n, warps_m, warps_n);
    wish(a, tile_op_result(a->f, op, 0), WISH_SUM, &layout);
    for (unsigned operand = 0; operand < 2; operand++) {
        tile_value value = tile_op_segment(a->f, op, operand, &count)[0];
        tile_layout fragment =
            tile_product_fragment(row, &layout, operand, tile_value_type(a->f, value));
        if (is_tile(a, value) && is_read_from_shared(a, value))
            wish(a, value, WISH_OPERAND, &fragment);
    }
}

/* A layout that stands in the kernel is kept, so it must be made for the warps that execute. */
static void check_given(assignment *a, tile_value value) {
    const tile_layout *given = tile_value_type(a->f, value)->layout;
    if (!is_tile(a, value) || !given || 1u << given->warp_bits == warps_of(a, value)) return;
    tile_op def = tile_value_def(a->f, value);
    a->status = TILE_INVALID;
    tile_report(a->pass->context, TILE_ERROR, def.id ? tile_op_loc(a->f, def) : a->f->loc,
                "this tile's layout is for %u warps, and the operation has %u",
                1u << given->warp_bits, warps_of(a, value));
}

/* For a class that nobody has a wish for: its first value decides, as the elements of the others
 * may have another size. */
static void wish_blocked(assignment *a, tile_value value) {
    const tile_type *type = tile_value_type(a->f, value);
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(type, dims);
    tile_layout layout = tile_layout_blocked(dims, type->rank, 16 / tile_scalar_bytes(type->scalar),
                                             type->rank - 1, warps_of(a, value));
    wish(a, value, WISH_STORE, &layout);
}

/* Where an atomic operation names its memory. */
static const tile_value *atomic_memory(const tile_function *f, tile_op op, unsigned *count) {
    return tile_op_segment(f, op, tile_op_opcode(f, op) == TILE_OP_atomic_cas ? 2 : 1, count);
}

/* As a store of the tile. */
static void wish_atomic(assignment *a, tile_op op) {
    unsigned count;
    tile_value tile = tile_op_operand(a->f, op, 0);
    const tile_value *memory = atomic_memory(a->f, op, &count);
    if (!is_tile(a, tile) || tile_value_type(a->f, memory[0])->kind != TILE_TYPE_VIEW) return;
    tile_layout layout =
        tile_access_layout(a->f, a->ranges, memory, tile_value_type(a->f, tile), warps_at(a, op));
    wish(a, tile, WISH_STORE, &layout);
}

/* What a load or store moves: its tile, and where that lies in memory. NULL: op is neither, or
 * moves a scalar. */
static const tile_value *transfer(const tile_function *f, tile_op op, tile_value *tile) {
    unsigned count;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_load && opcode != TILE_OP_store) return NULL;
    bool loads = opcode == TILE_OP_load;
    *tile = layouts_moved_tile(f, op);
    return tile->id ? tile_op_segment(f, op, loads ? 0 : 1, &count) : NULL;
}

static bool is_opaque(const tile_function *f, tile_value memory) {
    tile_op def = tile_value_def(f, memory);
    return tile_op_opcode(f, def) == TILE_OP_scratch && tile_op_has_attr(f, def, TILE_ATTR_opaque);
}

static void wish_op(tile_function *f, tile_op op, void *user) {
    assignment *a = user;
    tile_value tile;
    if (tile_op_opcode(f, op) == TILE_OP_dot) wish_dot(a, op);
    const tile_value *element = transfer(f, op, &tile);
    if (element && (a->ordered || !is_opaque(f, element[0]))) {
        bool loads = tile_op_opcode(f, op) == TILE_OP_load;
        tile_layout layout =
            tile_access_layout(f, a->ranges, element, tile_value_type(f, tile), warps_at(a, op));
        wish(a, tile, loads ? WISH_LOAD : WISH_STORE, &layout);
    }
    if (tile_op_opcode(f, op) == TILE_OP_store_async) {
        uint32_t extents[TILE_MAX_RANK];
        tile_layout layout = layouts_of_pieces(f, op, extents);
        wish(a, tile_op_operand(f, op, 0), WISH_PIECES, &layout);
    }
    if (layouts_is_atomic_tile(f, op)) wish_atomic(a, op);
}

/* Opaque scratch lies as its first tile is held that somebody has a wish for. */
static void order_op(tile_function *f, tile_op op, void *user) {
    assignment *a = user;
    tile_value tile;
    tile_layout order;
    const tile_value *element = transfer(f, op, &tile);
    if (!element || tile_op_opcode(f, op) != TILE_OP_store || !is_opaque(f, element[0])) return;
    const tile_type *view = tile_value_type(f, element[0]);
    uint32_t class = class_of(a, tile);
    if (!view->layout && a->wish[class] &&
        order_scratch(f, a->ranges, element[0], &a->wanted[class], &order))
        tile_value_at(f, element[0])->type = tile_type_with_layout(a->pass->context, view, &order);
}

/* The layout that a tile will have; NULL while nobody has a wish for it. */
static const tile_layout *layout_of(assignment *a, tile_value tile) {
    const tile_type *type = tile_value_type(a->f, tile);
    if (type->layout) return type->layout;
    return a->wish[class_of(a, tile)] ? &a->wanted[class_of(a, tile)] : NULL;
}

/* True if a class has a new wish: to hold what another tile asks for. */
static bool wish_narrow(assignment *a, tile_value tile, const tile_layout *layout) {
    if (a->wish[class_of(a, tile)] >= WISH_REPEAT) return false;
    wish(a, tile, WISH_REPEAT, layout);
    return true;
}

/* The operand of a broadcast is held as the result's repeats it. */
static bool wish_repeated(assignment *a, tile_op op) {
    tile_value operand = tile_op_operand(a->f, op, 0);
    const tile_layout *result = layout_of(a, tile_op_result(a->f, op, 0));
    if (!result) return false;
    tile_layout narrow = tile_broadcast_layout(tile_value_type(a->f, operand), result);
    return wish_narrow(a, operand, &narrow);
}

/* Index tiles are held by those who hold their points' elements. */
static bool wish_points(assignment *a, tile_op op) {
    tile_gather g;
    bool changed = false;
    if (!tile_gather_of(a->f, op, &g) || !g.tiles) return false;
    tile_value moved = layouts_moved_tile(a->f, op);
    const tile_layout *layout = moved.id ? layout_of(a, moved) : NULL;
    if (!layout) return false;
    tile_layout points = tile_points_layout(g.shape, layout, false);
    for (unsigned d = 0; d < g.rank; d++)
        if (is_tile(a, g.index[d])) changed |= wish_narrow(a, g.index[d], &points);
    return changed;
}

static bool asks_operands(const tile_function *f, tile_op op) {
    tile_gather g;
    return tile_op_opcode(f, op) == TILE_OP_broadcast || (tile_gather_of(f, op, &g) && g.tiles);
}

/* True if the result's class has a new wish: what each thread holds when it has combined what the
 * operand's layout gives it. */
static bool wish_reduced(assignment *a, tile_op op) {
    tile_reduction reduction;
    const tile_layout *operand = layout_of(a, tile_op_operand(a->f, op, 0));
    uint32_t class = class_of(a, tile_op_result(a->f, op, 0));
    if (!operand || a->wish[class] >= WISH_REDUCE || !tile_reduction_of(a->f, op, &reduction))
        return false;
    tile_reduce_plan plan = tile_reduce_make_plan(operand, reduction.axis);
    wish(a, tile_op_result(a->f, op, 0), WISH_REDUCE, &plan.narrow);
    return true;
}

/* True if a reduction's operand had no layout, and has one now. */
static bool wish_first_operand(assignment *a, const tile_op *reduce, unsigned count) {
    for (unsigned i = count; i-- > 0;) {
        tile_value operand = tile_op_operand(a->f, reduce[i], 0);
        if (layout_of(a, operand)) continue;
        wish_blocked(a, operand);
        return true;
    }
    return false;
}

/* Wishes go from the operands of reductions to their results, and from other results to operands,
 * the last operations first, as a result may be repeated again; around loops they go once more. A
 * class that nobody has a wish for gets one here. */
static void wish_derived(assignment *a) {
    unsigned count = 0, reductions;
    bool changed = true;
    const tile_op *reduce = tile_find_ops(a->f, TILE_OP_reduce, a->pass->scratch, &reductions);
    tile_op *ops = TILE_NEW_ARRAY(a->pass->scratch, tile_op, a->f->op_count);
    for (uint32_t id = 1; id < a->f->op_count; id++)
        if (a->f->ops[id].opcode && asks_operands(a->f, (tile_op){id}))
            ops[count++] = (tile_op){id};
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < reductions; i++) changed |= wish_reduced(a, reduce[i]);
        for (unsigned i = count; i-- > 0;)
            changed |= tile_op_opcode(a->f, ops[i]) == TILE_OP_broadcast ? wish_repeated(a, ops[i])
                                                                         : wish_points(a, ops[i]);
        for (unsigned i = count; i-- > 0 && !changed;) {
            tile_value moved = layouts_moved_tile(a->f, ops[i]);
            if (tile_op_opcode(a->f, ops[i]) == TILE_OP_broadcast)
                moved = tile_op_result(a->f, ops[i], 0);
            if (!moved.id || layout_of(a, moved)) continue;
            wish_blocked(a, moved);
            changed = true;
        }
        changed = changed || wish_first_operand(a, reduce, reductions);
    }
}

/* 3. Types get their layouts. ----------------------------------------------------------------- */

static void set_layouts(assignment *a) {
    tile_context *context = a->pass->context;
    for (uint32_t id = 1; id < a->value_count; id++) {
        tile_value value = {id};
        const tile_type *type = tile_value_type(a->f, value);
        const tile_layout *shared = &a->shared[tile_shared_source(a->f, value).id];
        if (type->kind == TILE_TYPE_SHARED && !type->layout && shared->rank)
            tile_value_at(a->f, value)->type = tile_type_with_layout(context, type, shared);
        if (type->kind != TILE_TYPE_TILE || type->layout) continue;
        uint32_t class = class_of(a, value);
        if (!a->wish[class]) wish_blocked(a, value);
        tile_value_at(a->f, value)->type = tile_type_with_layout(context, type, &a->wanted[class]);
    }
}

tile_status tile_pass_assign_layouts(tile_pass *pass, tile_function *f) {
    prepare_rounding(pass, f);
    prepare_dots(pass, f);
    assignment a = {.pass = pass, .f = f, .value_count = f->value_count};
    a.ranges = tile_range_analyse(f, pass->scratch);
    a.parent = TILE_NEW_ARRAY(pass->scratch, uint32_t, a.value_count);
    a.wish = TILE_NEW_ARRAY(pass->scratch, strength, a.value_count);
    a.wanted = TILE_NEW_ARRAY(pass->scratch, tile_layout, a.value_count);
    a.shared = TILE_NEW_ARRAY(pass->scratch, tile_layout, a.value_count);
    for (uint32_t id = 0; id < a.value_count; id++) a.parent[id] = id;
    a.status = check_uniform(pass, f);
    tile_walk(f, f->body, unite_op, &a);
    tile_walk(f, f->body, wish_op, &a);
    tile_walk(f, f->body, order_op, &a);
    a.ordered = true;
    tile_walk(f, f->body, wish_op, &a);
    for (uint32_t id = 1; id < a.value_count; id++) check_given(&a, (tile_value){id});
    if (a.status != TILE_OK) return a.status;
    wish_derived(&a);
    a.status = lay_out_buffers(pass, f, a.ranges, a.shared);
    if (a.status != TILE_OK) return a.status;
    set_layouts(&a);
    convert_layouts(pass, f, a.ranges);
    return TILE_OK;
}
