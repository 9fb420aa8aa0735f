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
 * layout, so a conversion is needed in few places only: before a `dot` whose operand is not held
 * as a fragment, before a store that would be narrow, before a `broadcast` of what somebody
 * else has a stronger wish for, and beside a transpose, reshape, join, slice .. whose two sides
 * have strong wishes. These take their operands' layout rearranged, or their result's. An operand
 * computed from nothing (`splat`, `iota`) is computed again in the other layout instead. That is
 * enough because tiles between those points are used element by element. */
#include "lib/analysis/access.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/analysis/rearranged.h"
#include "lib/ir/gather.h"
#include "lib/ir/reduce.h"
#include "lib/ir/regions.h"
#include "lib/ir/shape.h"
#include "lib/layout/layout.h"
#include "lib/layout/pieces.h"
#include "lib/layout/reduce.h"
#include "lib/support/integer.h"
#include "passes/tile/assign_layouts.h"
#include "passes/tile/prepare.h"
#include "passes/tile/warpgroup.h"

/* How much a class wants its layout; the strongest wins, the first among equals. */
typedef enum strength {
    WISH_NONE,
    WISH_STORE,
    WISH_LOAD,
    WISH_BOTH,   /* of loads and stores along two dims, wide along both */
    WISH_PIECES, /* of a store through a ring: more than loads, which take every layout, and else
                    the whole tile goes through a buffer before it */
    WISH_REPEAT, /* by a broadcast; more than loads, too */
    WISH_REDUCE, /* as the threads have it that combine elements */
    WISH_FMA,
    WISH_OPERAND,
    WISH_SUM,
    WISH_WARPGROUP, /* mma takes its fragments, too */
    WISH_GIVEN,     /* by the kernel's text: not to be changed */
} strength;

/* Along which dims of a class's tiles loads and stores move neighbours, by how many at once; 0:
 * none does. */
typedef struct lines {
    unsigned width[TILE_MAX_RANK];
} lines;

typedef struct assignment {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    size_t value_count;  /* when the classes were made */
    uint32_t *parent;    /* union-find over values */
    strength *wish;      /* by class */
    tile_layout *wanted; /* by class */
    lines *lines;        /* by class */
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

bool layouts_of_copy(const tile_function *f, const tile_range *ranges, tile_op op,
                     tile_layout *layout) {
    unsigned count;
    tile_gather g;
    if (tile_op_opcode(f, op) != TILE_OP_copy_async || !tile_gather_of(f, op, &g)) return false;
    *layout = tile_copy_layout(f, ranges, tile_op_segment(f, op, g.operand, &count), g.type,
                               tile_executors_of(f, op).warps);
    return true;
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
    if (data->opcode == TILE_OP_gather) unite(a, data->first_result, data->operands[1]);
    unite_gathered(a, op);
    if (data->opcode == TILE_OP_reduce_arg) unite(a, data->first_result, tile_op_result(f, op, 1));
    if (data->opcode == TILE_OP_dot_wait) unite(a, data->first_result, data->operands[0]);
    if (data->opcode == TILE_OP_unjoin) unite(a, data->first_result, tile_op_result(f, op, 1));
    if (data->opcode == TILE_OP_join) unite(a, data->operands[0], data->operands[1]);
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

enum { MAX_SOURCES = 64 };

/* Whether a tile can be held in any layout, as what it is computed from can: read from shared
 * memory (*shared is set then), loaded beside that, or made of numbers. *budget: how many values
 * may still be looked at, some of them again. */
static bool takes_any_layout(const assignment *a, tile_value tile, unsigned *budget, bool *shared) {
    tile_op def = tile_value_def(a->f, tile);
    tile_opcode opcode = tile_op_opcode(a->f, def);
    if (!is_tile(a, tile)) return true;
    if (!def.id || !*budget) return false;
    --*budget;
    *shared |= opcode == TILE_OP_load_shared;
    if (opcode == TILE_OP_load_shared || opcode == TILE_OP_load || opcode == TILE_OP_iota)
        return true;
    bool passes = tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) ||
                  opcode == TILE_OP_broadcast || tile_is_rearrangement(a->f, def);
    for (unsigned i = 0; i < tile_op_operand_count(a->f, def) && passes; i++)
        passes = takes_any_layout(a, tile_op_operand(a->f, def, i), budget, shared);
    return passes;
}

/* Whether a tile comes from shared memory, computed or rearranged perhaps: then that can be read as
 * it is wanted. */
static bool is_read_from_shared(const assignment *a, tile_value tile) {
    unsigned budget = MAX_SOURCES;
    bool shared = false;
    return takes_any_layout(a, tile, &budget, &shared) && shared;
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

/* As many warps along the one dim as have a fragment of their own there, the others along the
 * other.
 */
static void choose_warps(assignment *a, tile_op op, const tile_mma *row, uint32_t *along_m,
                         uint32_t *along_n) {
    const tile_type *acc = tile_value_type(a->f, tile_op_result(a->f, op, 0));
    uint32_t m = (uint32_t)tile_type_dim(acc, 0), n = (uint32_t)tile_type_dim(acc, 1);
    unsigned warps = warps_at(a, op);
    tile_word policy = tile_op_word(a->f, op, TILE_ATTR_policy);
    bool rows = policy == TILE_WORD_policy_rows;
    tile_mma_choose_warps(row, m, n, warps, along_m, along_n);
    if (!rows && policy != TILE_WORD_policy_columns) return;
    uint32_t fragments =
        rows ? tile_layout_part_extent(m) / row->m : tile_layout_part_extent(n) / row->n;
    uint32_t most = fragments < 1 ? 1 : fragments < warps ? fragments : warps;
    *along_m = rows ? most : warps / most;
    *along_n = rows ? warps / most : most;
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
    choose_warps(a, op, row, &warps_m, &warps_n);
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

/* The layout that a tile will have, and how much it is wished; NULL while nobody has a wish for it.
 */
static const tile_layout *wish_for(assignment *a, tile_value tile, strength *how_much) {
    const tile_type *type = tile_value_type(a->f, tile);
    uint32_t class = class_of(a, tile);
    *how_much = type->layout ? WISH_GIVEN : a->wish[class];
    return type->layout ? type->layout : *how_much ? &a->wanted[class] : NULL;
}

static const tile_layout *layout_of(assignment *a, tile_value tile) {
    strength ignored;
    return wish_for(a, tile, &ignored);
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

/* Index tiles are held by those who hold their points' elements; a copy's predicate, too. */
static bool wish_points(assignment *a, tile_op op) {
    tile_gather g;
    tile_layout copied;
    bool changed = false;
    if (!tile_gather_of(a->f, op, &g)) return false;
    tile_value moved = layouts_moved_tile(a->f, op);
    const tile_layout *layout = moved.id ? layout_of(a, moved) : NULL;
    if (layouts_of_copy(a->f, a->ranges, op, &copied)) layout = &copied;
    if (!layout) return false;
    if (!moved.id && g.predicate.id && is_tile(a, g.predicate))
        changed |= wish_narrow(a, g.predicate, layout);
    if (!g.tiles) return changed;
    tile_layout points = tile_points_layout(g.shape, layout, false);
    for (unsigned d = 0; d < g.rank; d++)
        if (is_tile(a, g.index[d])) changed |= wish_narrow(a, g.index[d], &points);
    return changed;
}

/* The weaker side of what is only rearranged takes the stronger one's wish. */
static bool wish_rearranged(assignment *a, tile_op op) {
    strength of_operand, of_result;
    bool changed = false;
    for (unsigned i = 0; i < tile_rearranged_operands(a->f, op); i++)
        for (unsigned r = 0; r < tile_op_result_count(a->f, op); r++) {
            tile_value operand = tile_op_operand(a->f, op, i), result = tile_op_result(a->f, op, r);
            tile_layout layout;
            const tile_layout *held = wish_for(a, operand, &of_operand),
                              *wanted = wish_for(a, result, &of_result);
            if (of_result > of_operand && tile_layout_of_operand(a->f, op, i, wanted, &layout)) {
                wish(a, operand, of_result, &layout);
                changed = true;
            } else if (of_operand > of_result &&
                       tile_layout_of_result(a->f, op, i, held, &layout)) {
                wish(a, result, of_operand, &layout);
                changed = true;
            }
        }
    return changed;
}

static bool works_on_rows(tile_opcode opcode) {
    return opcode == TILE_OP_reduce || opcode == TILE_OP_reduce_arg || opcode == TILE_OP_scan ||
           opcode == TILE_OP_sort;
}

/* A scan or sort leaves elements where they are, if it can be done there. */
static bool wish_rows(assignment *a, tile_op op) {
    const tile_layout *operand = layout_of(a, tile_op_operand(a->f, op, 0));
    uint32_t class = class_of(a, tile_op_result(a->f, op, 0));
    if (!operand || a->wish[class] >= WISH_REDUCE) return false;
    tile_layout layout = tile_rows_layout(a->f, op, warps_at(a, op));
    wish(a, tile_op_result(a->f, op, 0), WISH_REDUCE,
         tile_rows_fit(a->f, op, operand) ? operand : &layout);
    return true;
}

/* True if the result's class has a new wish: what each thread holds when it has combined what the
 * operand's layout gives it. */
static bool wish_reduced(assignment *a, tile_op op) {
    tile_reduction reduction;
    if (tile_op_opcode(a->f, op) == TILE_OP_scan || tile_op_opcode(a->f, op) == TILE_OP_sort)
        return wish_rows(a, op);
    const tile_layout *operand = layout_of(a, tile_op_operand(a->f, op, 0));
    uint32_t class = class_of(a, tile_op_result(a->f, op, 0));
    if (!operand || a->wish[class] >= WISH_REDUCE || !tile_reduction_of(a->f, op, &reduction))
        return false;
    tile_reduce_plan plan = tile_reduce_make_plan(operand, reduction.axis);
    wish(a, tile_op_result(a->f, op, 0), WISH_REDUCE, &plan.narrow);
    return true;
}

/* Operations through which wishes go from one tile to another. */
typedef struct passages {
    tile_op *ops;
    unsigned count;
    tile_op *reduce; /* and the others that work on rows */
    unsigned reductions;
} passages;

static void list_passage(tile_function *f, tile_op op, void *user) {
    passages *list = user;
    tile_gather g;
    if (tile_op_opcode(f, op) == TILE_OP_broadcast || tile_is_rearrangement(f, op) ||
        (tile_gather_of(f, op, &g) && (g.tiles || g.predicate.id)))
        list->ops[list->count++] = op;
    if (works_on_rows(tile_op_opcode(f, op))) list->reduce[list->reductions++] = op;
}

static passages find_passages(assignment *a) {
    passages list = {TILE_NEW_ARRAY(a->pass->scratch, tile_op, a->f->op_count), 0,
                     TILE_NEW_ARRAY(a->pass->scratch, tile_op, a->f->op_count), 0};
    tile_walk(a->f, a->f->body, list_passage, &list);
    return list;
}

static bool pass_wishes(assignment *a, tile_op op) {
    if (tile_op_opcode(a->f, op) == TILE_OP_broadcast) return wish_repeated(a, op);
    return tile_is_rearrangement(a->f, op) ? wish_rearranged(a, op) : wish_points(a, op);
}

/* The tile that one of them gives or moves. */
static tile_value main_tile(const assignment *a, tile_op op) {
    bool gives = tile_op_opcode(a->f, op) == TILE_OP_broadcast || tile_is_rearrangement(a->f, op);
    return gives ? tile_op_result(a->f, op, 0) : layouts_moved_tile(a->f, op);
}

/* True if one of them had no layout, and has one now. */
static bool wish_first(assignment *a, const passages *list) {
    for (unsigned i = list->count + list->reductions; i-- > 0;) {
        bool reduces = i < list->reductions;
        tile_value tile = reduces ? tile_op_operand(a->f, list->reduce[i], 0)
                                  : main_tile(a, list->ops[i - list->reductions]);
        if (!tile.id || layout_of(a, tile)) continue;
        wish_blocked(a, tile);
        return true;
    }
    return false;
}

/* Wishes go from the operands of reductions to their results, from other results to operands, the
 * last operations first, as a result may be repeated again, and both ways where elements are only
 * rearranged; around loops they go once more. A class that nobody has a wish for gets one here. */
static void wish_derived(assignment *a, const passages *list) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < list->reductions; i++) changed |= wish_reduced(a, list->reduce[i]);
        for (unsigned i = list->count; i-- > 0;) changed |= pass_wishes(a, list->ops[i]);
        changed = changed || wish_first(a, list);
    }
}

/* Lines ------------------------------------------------------------------------------------------
 *
 * A tile that is loaded along one dim and stored along another, transposed or by its view's
 * strides, can be held in blocks that are wide along both: then each access is, nothing goes
 * through shared memory, and a warp's accesses begin and end with whole sectors:
 *
 *     f16, w1 = w2 = 8     lanes 0 1 2 3 load 64 bytes of each of 8 rows, lanes 0 4 8 .. 28 store
 *                          128 bytes of each of 8 columns */

static void draw_line(assignment *a, const tile_value *element, tile_value tile) {
    unsigned rank = tile_value_type(a->f, tile)->rank;
    if (tile_value_type(a->f, element[0])->layout) return;
    tile_access_facts facts = tile_view_access(a->f, a->ranges, element);
    unsigned d = tile_unit_dim(&facts, tile_value_type(a->f, element[0])->rank, rank);
    if (d < rank) a->lines[class_of(a, tile)].width[d] = facts.width;
}

static void draw_lines_of(tile_function *f, tile_op op, void *user) {
    tile_value tile;
    tile_gather g;
    const tile_value *element = transfer(f, op, &tile);
    if (element && !(tile_gather_of(f, op, &g) && g.tiles)) draw_line(user, element, tile);
}

/* Of one side of a transpose, where the other has them; true if there is a new one. */
static bool extend_line(lines *to, unsigned d, const lines *from, unsigned s) {
    if (to->width[d] || !from->width[s]) return false;
    to->width[d] = from->width[s];
    return true;
}

static bool extend_lines(assignment *a, tile_op op) {
    bool changed = false;
    if (tile_op_opcode(a->f, op) != TILE_OP_transpose) return false;
    tile_placement p = tile_placement_of(a->f, op, 0, 0);
    lines *from = &a->lines[class_of(a, tile_op_operand(a->f, op, 0))],
          *to = &a->lines[class_of(a, tile_op_result(a->f, op, 0))];
    for (unsigned d = 0; d < p.rank; d++)
        if (extend_line(to, d, from, p.source[d]) || extend_line(from, p.source[d], to, d))
            changed = true;
    return changed;
}

/* Whether the lanes of such blocks move whole sectors along both dims. */
static bool fills_sectors(const tile_type *type, const uint32_t size[2]) {
    enum { SECTOR = 32, FIRST_LANES = 4, SECOND_LANES = 8 };
    unsigned bytes = tile_scalar_bytes(type->scalar);
    return size[0] * bytes * FIRST_LANES >= SECTOR && size[1] * bytes * SECOND_LANES >= SECTOR;
}

/* The layout that is wide along both, if there are two dims and each thread can have a block. False
 * if it is not, or nobody wishes it. */
static bool wish_both(assignment *a, tile_value value) {
    const tile_type *type = tile_value_type(a->f, value);
    const lines *l = &a->lines[class_of(a, value)];
    unsigned found = 0, dims[2] = {0}, warps = warps_of(a, value);
    uint32_t extents[TILE_MAX_RANK], size[2];
    for (unsigned d = type->rank; d-- > 0;)
        if (l->width[d] && found++ < 2) dims[found - 1] = d;
    if (found != 2 || a->wish[class_of(a, value)] >= WISH_BOTH) return false;
    tile_type_dims(type, extents);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t part = tile_layout_part_extent(extents[dims[i]]);
        size[i] = l->width[dims[i]] < part ? l->width[dims[i]] : part;
    }
    if (!fills_sectors(type, size)) return false;
    tile_layout layout =
        tile_layout_blocked_both(extents, type->rank, dims[0], size[0], dims[1], size[1], warps);
    if (tile_layout_part_bits(&layout) < TILE_LANE_BITS + tile_log2(size[0] * size[1] * warps))
        return false;
    wish(a, value, WISH_BOTH, &layout);
    return true;
}

static void wish_transposed(assignment *a, const passages *list) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < list->count; i++)
            if (tile_op_opcode(a->f, list->ops[i]) == TILE_OP_transpose)
                changed |= wish_rearranged(a, list->ops[i]);
    }
}

static void wish_lines(assignment *a, const passages *list) {
    bool changed = true;
    tile_walk(a->f, a->f->body, draw_lines_of, a);
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < list->count; i++) changed |= extend_lines(a, list->ops[i]);
    }
    for (uint32_t id = 1; id < a->value_count; id++) {
        tile_value value = {id};
        if (is_tile(a, value) && class_of(a, value) == id && wish_both(a, value))
            wish_transposed(a, list); /* before their classes choose for themselves */
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
    if (prepare_concats(pass, f) != TILE_OK) return TILE_INVALID;
    prepare_copies(f);
    prepare_rounding(pass, f);
    prepare_dots(pass, f);
    assignment a = {.pass = pass, .f = f, .value_count = f->value_count};
    a.ranges = tile_range_analyse(f, pass->scratch);
    a.parent = TILE_NEW_ARRAY(pass->scratch, uint32_t, a.value_count);
    a.wish = TILE_NEW_ARRAY(pass->scratch, strength, a.value_count);
    a.wanted = TILE_NEW_ARRAY(pass->scratch, tile_layout, a.value_count);
    a.shared = TILE_NEW_ARRAY(pass->scratch, tile_layout, a.value_count);
    a.lines = TILE_NEW_ARRAY(pass->scratch, lines, a.value_count);
    for (uint32_t id = 0; id < a.value_count; id++) a.parent[id] = id;
    a.status = check_uniform(pass, f);
    tile_walk(f, f->body, unite_op, &a);
    tile_walk(f, f->body, wish_op, &a);
    tile_walk(f, f->body, order_op, &a);
    a.ordered = true;
    tile_walk(f, f->body, wish_op, &a);
    for (uint32_t id = 1; id < a.value_count; id++) check_given(&a, (tile_value){id});
    if (a.status != TILE_OK) return a.status;
    passages list = find_passages(&a);
    wish_lines(&a, &list);
    wish_derived(&a, &list);
    a.status = lay_out_buffers(pass, f, a.ranges, a.shared);
    if (a.status != TILE_OK) return a.status;
    set_layouts(&a);
    convert_layouts(pass, f, a.ranges);
    return TILE_OK;
}
