/* assign-layouts: assigns a layout to every tile and shared buffer, and makes conversions explicit.
 *
 * The location of each element determines performance. Tensor cores need fixed fragments, coalesced
 * global accesses need neighboring threads on neighboring 16 bytes, and shared memory needs rows
 * spread over its banks.
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
 * Here, values that must agree anyway (operands and results of element-wise operations, values
 * carried by loops and branches) form one class with one layout. The request with the highest
 * priority selects it: an accumulator of `dot`, an operand of `dot`, a load, a store. Among
 * requests of equal priority, the cheapest layout is taken (cost_model.c), independent of their
 * order in the text.
 *
 * Every memory access works with every layout, so few places need a conversion:
 *
 * - before a `dot` whose operand is not held as a fragment
 * - before a store that would be narrow
 * - before a `broadcast` whose operand's class has a stronger request
 * - at a transpose, reshape, join or slice, if operand and result both have strong requests;
 *   otherwise one side takes the rearranged layout of the other
 *
 * An operand without inputs (`splat`, `iota`) is recomputed in the other layout instead. This is
 * sufficient because all other uses of tiles are element-wise. */
#include "lib/analysis/access.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/ir/regions.h"
#include "lib/layout/layout.h"
#include "lib/layout/pieces.h"
#include "lib/ops/combine.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "passes/common/part_check.h"
#include "passes/expand/prepare.h"
#include "passes/layouts/assign_layouts.h"
#include "passes/layouts/requests.h"

bool layouts_is_tile(const assignment *a, tile_value value) {
    return tile_value_type(a->f, value)->kind == TILE_TYPE_TILE;
}

unsigned layouts_warps_of(const assignment *a, tile_value tile) {
    return tile_executors_of_value(a->f, tile).warps;
}

unsigned layouts_warps_at(const assignment *a, tile_op op) {
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
    tile_value moved = takes ? tile_first_operand(f, op) : tile_op_result(f, op, 0);
    return tile_value_type(f, moved)->kind == TILE_TYPE_TILE ? moved : TILE_NO_VALUE;
}

bool layouts_of_copy(const tile_function *f, const tile_range *ranges, tile_op op,
                     tile_layout *layout) {
    tile_gather g;
    if (tile_op_opcode(f, op) != TILE_OP_copy_async || !tile_gather_of(f, op, &g)) return false;
    enum { WIDEST = 16 }; /* elements; the threads of index tiles and predicates */
    *layout = tile_narrow_copy_layout(f, ranges, tile_op_segment(f, op, g.operand).at, g.type,
                                      tile_executors_of(f, op).warps, WIDEST);
    return true;
}

const tile_mma *layouts_choose_mma(const tile_pass *pass, const tile_function *f, tile_op dot,
                                   bool laid_out) {
    tile_mma_query query = tile_product_query(f, dot);
    query.features = pass->target->features;
    if (!laid_out) query.acc_layout = NULL;
    return tile_mma_find(&query);
}

tile_layout layouts_of_pieces(const tile_function *f, tile_op store_async,
                              uint32_t extents[TILE_MAX_RANK]) {
    uint32_t dims[TILE_MAX_RANK];
    const tile_type *tile = tile_value_type(f, tile_operand_src(f, store_async));
    tile_type_dims(tile, dims);
    tile_type_dims(tile_value_type(f, tile_operand_ring(f, store_async)), extents);
    return tile_pieces_layout(dims, extents, tile->rank, tile_executors_of(f, store_async).warps);
}

/* 1. Classes: values with a common layout ----------------------------------------------------- */

uint32_t layouts_class_of(assignment *a, tile_value value) {
    uint32_t id = value.id;
    while (a->parent[id] != id) id = a->parent[id] = a->parent[a->parent[id]];
    return id;
}

static void unite(assignment *a, tile_value x, tile_value y) {
    if (x.id && y.id && layouts_is_tile(a, x) && layouts_is_tile(a, y))
        a->parent[layouts_class_of(a, y)] = layouts_class_of(a, x);
}

static void unite_carried(assignment *a, tile_op op) {
    for (unsigned i = 0; i < tile_carried_count(a->f, op); i++)
        TILE_FOR_EACH_BRANCH_POINT (a->f, op, at) {
            unite(a, tile_op_result(a->f, op, i), tile_carried_sent(a->f, op, at, i));
            unite(a, tile_op_result(a->f, op, i), tile_carried_received(a->f, op, at, i));
        }
}

/* The operands and the result of an atomic operation, which are used element by element. */
static void unite_values(assignment *a, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(a->f, op));
    for (unsigned i = 0; i < info->operand_count; i++) {
        const tile_values values = tile_op_segment(a->f, op, i);
        if (values.count == 1)
            unite(a, tile_op_result(a->f, op, 0), values.at[0]); /* not with memory */
    }
}

/* Unites a predicate with the tile that it guards, and the index tiles of one access. */
static void unite_gathered(assignment *a, tile_op op) {
    tile_gather g;
    tile_value first = TILE_NO_VALUE;
    if (!tile_gather_of(a->f, op, &g)) return;
    tile_value moved = layouts_moved_tile(a->f, op);
    if (moved.id) unite(a, moved, g.predicate);
    for (unsigned d = 0; g.tiles && d < g.rank; d++) {
        if (!layouts_is_tile(a, g.index[d])) continue;
        if (first.id) unite(a, first, g.index[d]);
        first = g.index[d];
    }
}

/* The operands of a reduction or scan by a function, and its results. */
static void unite_combined(assignment *a, tile_op op) {
    for (unsigned i = 1; i < tile_op_result_count(a->f, op); i++) {
        unite(a, tile_operands_src(a->f, op).at[0], tile_operands_src(a->f, op).at[i]);
        unite(a, tile_op_result(a->f, op, 0), tile_op_result(a->f, op, i));
    }
}

static void unite_op(assignment *a, tile_op op) {
    tile_function *f = a->f;
    const tile_op_data *data = tile_op_at(f, op);
    bool elementwise = tile_op_has_trait((tile_opcode)data->opcode, TILE_TRAIT_ELEMENTWISE) ||
                       (data->opcode == TILE_OP_asm && data->result_count);
    for (uint32_t i = 0; elementwise && i < data->operand_count; i++)
        unite(a, data->first_result, data->operands[i]);
    if (data->opcode == TILE_OP_dot)
        unite(a, data->first_result, data->operands[data->operand_count - 1]);
    if (layouts_is_atomic_tile(f, op)) unite_values(a, op);
    if (data->opcode == TILE_OP_gather) unite(a, data->first_result, tile_operand_at(f, op));
    unite_gathered(a, op);
    if (data->opcode == TILE_OP_reduce_arg) unite(a, data->first_result, tile_op_result(f, op, 1));
    if (tile_combines_by_function(data->opcode)) unite_combined(a, op);
    if (data->opcode == TILE_OP_dot_wait) unite(a, data->first_result, tile_operand_src(f, op));
    if (data->opcode == TILE_OP_unjoin) unite(a, data->first_result, tile_op_result(f, op, 1));
    if (data->opcode == TILE_OP_join) unite(a, tile_operand_lhs(f, op), tile_operand_rhs(f, op));
    unite_carried(a, op);
}

/* 2. Requests -------------------------------------------------------------------------------- */

/* Loads and stores have equal rank. */
static request_priority rank_of(request_priority priority) {
    return priority == PRIORITY_STORE ? PRIORITY_LOAD : priority;
}

static layout_candidate *find_candidate(assignment *a, uint32_t id, request_priority priority,
                                        const tile_layout *layout) {
    for (layout_candidate *at = a->candidates[id]; at; at = at->next)
        if (at->priority == priority && tile_layout_equal(&at->layout, layout)) return at;
    layout_candidate *more = TILE_NEW(a->pass->scratch, layout_candidate);
    *more = (layout_candidate){priority, 0, *layout, a->candidates[id]};
    return a->candidates[id] = more;
}

static propagated_request *find_propagated(const assignment *a, uint32_t id) {
    propagated_request *at = a->propagated[a->by.id];
    while (at && at->class != id) at = at->next;
    return at;
}

bool is_propagated_here(assignment *a, tile_value tile) {
    return a->by.id && find_propagated(a, layouts_class_of(a, tile));
}

/* Returns false if the operation has already requested this candidate. */
static bool replace_propagated(assignment *a, uint32_t id, layout_candidate *candidate) {
    propagated_request *before = find_propagated(a, id);
    if (before && before->candidate == candidate) return false;
    if (before) {
        before->candidate->requesters--;
        before->candidate = candidate;
        return true;
    }
    propagated_request *more = TILE_NEW(a->pass->scratch, propagated_request);
    *more = (propagated_request){id, candidate, a->propagated[a->by.id]};
    a->propagated[a->by.id] = more;
    return true;
}

void request_layout(assignment *a, tile_value value, request_priority priority,
                    const tile_layout *layout) {
    uint32_t id = layouts_class_of(a, value);
    if (rank_of(priority) < rank_of(a->class_priority[id])) return;
    layout_candidate *candidate = find_candidate(a, id, priority, layout);
    if (a->by.id && !replace_propagated(a, id, candidate)) return;
    if (candidate->requesters++ && !a->by.id) return;
    if (!a->is_unresolved[id]) a->unresolved[a->unresolved_count++] = id;
    a->is_unresolved[id] = true;
}

/* The highest priority among a class's requests, and the number of different layouts requested with
 * it. */
static request_priority strongest(const assignment *a, uint32_t id, unsigned *count) {
    request_priority most = PRIORITY_NONE;
    for (const layout_candidate *at = a->candidates[id]; at; at = at->next) {
        if (!at->requesters || rank_of(at->priority) < rank_of(most)) continue;
        *count = rank_of(at->priority) > rank_of(most) ? 1 : *count + 1;
        if (at->priority > most) most = at->priority;
    }
    return most;
}

typedef struct resolution {
    request_priority priority;
    const layout_candidate *best; /* NULL: the class keeps its layout */
} resolution;

/* Two classes could otherwise follow each other forever. */
enum { MAX_CHANGES = 8 };

static void commit_layout(assignment *a, uint32_t id, resolution what, layout_class_visitor *visit,
                          void *user) {
    bool same = !what.best || (a->class_priority[id] == what.priority &&
                               tile_layout_equal(&a->class_layout[id], &what.best->layout));
    if (same || a->changes[id] == MAX_CHANGES) return;
    a->changes[id]++;
    a->class_priority[id] = what.priority;
    a->class_layout[id] = what.best->layout;
    if (visit) visit(id, user);
}

void resolve_requests(assignment *a, layout_class_visitor *visit, void *user) {
    resolution *list = TILE_NEW_ARRAY(a->pass->scratch, resolution, a->unresolved_count + 1);
    for (unsigned choices = 0; choices < 2; choices++) {
        for (size_t i = 0; i < a->unresolved_count; i++) {
            uint32_t id = a->unresolved[i];
            unsigned count = 0;
            request_priority most = strongest(a, id, &count);
            list[i] = (resolution){most, NULL};
            if ((count > 1) == choices && !(a->is_fixed[id] && most == a->class_priority[id]))
                list[i].best = cheapest_candidate(a, id, rank_of(most));
        }
        for (size_t i = 0; i < a->unresolved_count; i++)
            commit_layout(a, a->unresolved[i], list[i], visit, user);
    }
    for (size_t i = 0; i < a->unresolved_count; i++) a->is_unresolved[a->unresolved[i]] = false;
    a->unresolved_count = 0;
}

const tile_layout *find_request(assignment *a, tile_value tile, request_priority *priority) {
    const tile_type *type = tile_value_type(a->f, tile);
    uint32_t class = layouts_class_of(a, tile);
    *priority = type->layout ? PRIORITY_GIVEN : a->class_priority[class];
    return type->layout ? type->layout : *priority ? &a->class_layout[class] : NULL;
}

const tile_layout *requested_layout(assignment *a, tile_value tile) {
    request_priority ignored;
    return find_request(a, tile, &ignored);
}

void request_blocked(assignment *a, tile_value value) {
    enum { WIDEST = 16 };
    const tile_type *type = tile_value_type(a->f, value);
    unsigned sizes = a->sizes[layouts_class_of(a, value)];
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(type, dims);
    for (unsigned bytes = 1; bytes <= WIDEST; bytes *= 2) {
        if (!(sizes & bytes)) continue;
        tile_layout layout = tile_layout_blocked(dims, type->rank, WIDEST / bytes, type->rank - 1,
                                                 layouts_warps_of(a, value));
        request_layout(a, value, PRIORITY_STORE, &layout);
    }
}

static void find_sizes(assignment *a) {
    for (uint32_t id = 1; id < a->value_count; id++) {
        const tile_type *type = tile_value_type(a->f, (tile_value){id});
        if (type->kind == TILE_TYPE_TILE)
            a->sizes[layouts_class_of(a, (tile_value){id})] |=
                (uint8_t)tile_scalar_bytes(type->scalar);
    }
}

/* A layout in the kernel's text is kept, so it must match the number of executing warps. */
static void check_given(assignment *a, tile_value value) {
    const tile_layout *given = tile_value_type(a->f, value)->layout;
    if (!layouts_is_tile(a, value) || !given ||
        1u << given->warp_bits == layouts_warps_of(a, value))
        return;
    tile_op def = tile_value_def(a->f, value);
    a->status = TILE_INVALID;
    tile_report(a->pass->context, TILE_ERROR, def.id ? tile_op_loc(a->f, def) : a->f->loc,
                "this tile's layout is for %u warps, and the operation has %u",
                1u << given->warp_bits, layouts_warps_of(a, value));
}

/* Checks the operation's results and its regions' arguments. Values of erased operations are
 * skipped. */
static void check_values(assignment *a, tile_op op) {
    tile_function *f = a->f;
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
        check_given(a, tile_op_result(f, op, i));
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++) {
        tile_region region = tile_op_region(f, op, r);
        for (unsigned i = 0; i < tile_region_at(f, region)->arg_count; i++)
            check_given(a, tile_region_arg(f, region, i));
    }
}

/* A layout in the kernel's text is requested for the class of the tile. */
static void request_given(assignment *a, tile_value value) {
    const tile_layout *given = tile_value_type(a->f, value)->layout;
    if (layouts_is_tile(a, value) && given) request_layout(a, value, PRIORITY_GIVEN, given);
}

/* 3. Layouts in types ------------------------------------------------------------------------ */

/* Requests layouts for classes without a request, from each value by the size of its elements. */
static void request_defaults(assignment *a) {
    for (uint32_t id = 1; id < a->value_count; id++) {
        tile_value value = {id};
        if (layouts_is_tile(a, value) && !requested_layout(a, value)) request_blocked(a, value);
    }
    resolve_requests(a, NULL, NULL);
}

static void set_layouts(assignment *a) {
    tile_context *context = a->pass->context;
    for (uint32_t id = 1; id < a->value_count; id++) {
        tile_value value = {id};
        const tile_type *type = tile_value_type(a->f, value);
        const tile_layout *shared = &a->shared[tile_shared_source(a->f, value).id];
        if (type->kind == TILE_TYPE_SHARED && !type->layout && shared->rank)
            tile_value_at(a->f, value)->type = tile_type_with_layout(context, type, shared);
        if (type->kind != TILE_TYPE_TILE || type->layout) continue;
        uint32_t class = layouts_class_of(a, value);
        tile_value_at(a->f, value)->type =
            tile_type_with_layout(context, type, &a->class_layout[class]);
    }
}

static assignment start(tile_pass *pass, tile_function *f) {
    size_t count = f->value_count;
    tile_arena *scratch = pass->scratch;
    assignment a = {.pass = pass, .f = f, .value_count = count};
    a.ranges = tile_range_analyse(f, scratch);
    a.parent = TILE_NEW_ARRAY(scratch, uint32_t, count);
    a.sizes = TILE_NEW_ARRAY(scratch, uint8_t, count);
    a.class_priority = TILE_NEW_ARRAY(scratch, request_priority, count);
    a.class_layout = TILE_NEW_ARRAY(scratch, tile_layout, count);
    a.shared = TILE_NEW_ARRAY(scratch, tile_layout, count);
    a.contiguous_dims = TILE_NEW_ARRAY(scratch, contiguous_dims, count);
    a.candidates = TILE_NEW_ARRAY(scratch, layout_candidate *, count);
    a.uses = TILE_NEW_ARRAY(scratch, layout_use *, count);
    a.unresolved = TILE_NEW_ARRAY(scratch, uint32_t, count);
    a.is_unresolved = TILE_NEW_ARRAY(scratch, bool, count);
    a.changes = TILE_NEW_ARRAY(scratch, uint8_t, count);
    a.propagated = TILE_NEW_ARRAY(scratch, propagated_request *, f->op_count);
    a.is_fixed = TILE_NEW_ARRAY(scratch, bool, count);
    a.counted_conversion = TILE_NEW_ARRAY(scratch, struct counted_conversion *, count);
    for (uint32_t id = 0; id < count; id++) a.parent[id] = id;
    return a;
}

/* Requests of the operations. Accumulators come first, because layouts of operands follow from
 * them. */
static void resolve_all_requests(assignment *a) {
    tile_function *f = a->f;
    for (uint32_t id = 1; id < a->value_count; id++) request_given(a, (tile_value){id});
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) request_sums(a, op);
    resolve_requests(a, NULL, NULL);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) request_operation(a, op);
    resolve_requests(a, NULL, NULL);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) request_order(a, op);
    a->ordered = true;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) request_operation(a, op);
    resolve_requests(a, NULL, NULL);
}

tile_status tile_pass_assign_layouts(tile_pass *pass, tile_function *f) {
    if (prepare_concats(pass, f) != TILE_OK) return TILE_INVALID;
    prepare_histograms(pass, f);
    prepare_copies(f);
    prepare_rounding(pass, f);
    prepare_dots(pass, f);
    assignment a = start(pass, f);
    a.status = check_uniform(pass, f);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) unite_op(&a, op);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) check_values(&a, op);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (!check_part_begins(pass, f, op, a.ranges)) a.status = TILE_INVALID;
    if (a.status != TILE_OK) return a.status;
    a.status = lay_out_buffers(pass, f, a.ranges, a.shared);
    if (a.status != TILE_OK) return a.status;
    find_sizes(&a);
    find_layout_uses(&a);
    resolve_all_requests(&a);
    propagating_ops list = find_propagating_ops(&a);
    request_two_way_layouts(&a, &list);
    propagate_requests(&a, &list);
    request_defaults(&a);
    set_layouts(&a);
    swizzle_buffers(pass, f, a.ranges);
    convert_layouts(pass, f, a.ranges);
    return TILE_OK;
}
