/* Divides the rows of every tile among three consumer warpgroups.
 *
 *     %all = dot %q, %k, ..          q, all, max: a third of the rows; k: read by every group
 *     %max = reduce %all {axis = 1}
 *     %row = iota {axis = 0}         a third of the values, plus the group's first row
 *     store %max, %c[%x, 0]          at the start of the group's third
 *
 * Propagation starts at the loop's dots. Values computed from a third, and its operands, are
 * distributed along the same dim of the tile. A shared buffer that such tiles are copied to becomes
 * private to each group, with a third of the rows, unless the producer fills it. An operation that
 * groups cannot execute independently is reported at its line. */
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/ops/gather.h"
#include "passes/common/slice.h"
#include "passes/common/warpgroup.h"
#include "passes/warps/specialize.h"

enum { GROUPS = TILE_COOPERATIVE_3 };

typedef struct division {
    const warp_specialization *s;
    tile_function *f;
    uint8_t *distributed; /* by value: 1 + the distributed dim; 0: each group has the whole value */
    size_t count;         /* number of its entries; values created later have none */
    bool changed;
    tile_op fault;            /* the first operation that cannot run on a third, or TILE_NO_OP */
    const char *why, *remedy; /* remedy: NULL if there is none */
} division;

static void reject(division *d, tile_op op, const char *why, const char *remedy) {
    if (d->fault.id) return;
    d->fault = op;
    d->why = why;
    d->remedy = remedy;
}

/* Finding the distributed tiles ---------------------------------------------------------------- */

static bool is_distributed(const division *d, tile_value value) {
    return value.id < d->count && d->distributed[value.id];
}

/* A tile or a shared buffer of elements. */
static bool has_rows(const division *d, tile_value value) {
    if (!value.id) return false;
    const tile_type *type = tile_value_type(d->f, value);
    return type->kind == TILE_TYPE_TILE ||
           (type->kind == TILE_TYPE_SHARED && type->scalar != TILE_barrier);
}

/* Buffers of the ring: their stages are distributed by the producer, or not at all. */
static bool is_ring_buffer(const warp_specialization *s, tile_value value) {
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++) {
        if (tile_staged_value(s->ring.f, &s->ring.plan.copies[i]).id == value.id ||
            (s->ring.buffers && s->ring.buffers[i].id == value.id))
            return true;
    }
    return false;
}

static void mark_distributed(division *d, tile_op op, tile_value value, unsigned dim) {
    if (!has_rows(d, value) || is_ring_buffer(d->s, value) || d->distributed[value.id] == 1 + dim)
        return;
    const tile_type *type = tile_value_type(d->f, value);
    if (d->distributed[value.id] || dim >= type->rank || tile_type_dim(type, dim) % GROUPS) {
        reject(d, op, "its row dimension differs from that of the products", NULL);
        return;
    }
    d->distributed[value.id] = (uint8_t)(1 + dim);
    d->changed = true;
}

static tile_value tile_of(const division *d, tile_op op, unsigned i) {
    unsigned operands = tile_op_operand_count(d->f, op);
    return i < operands ? tile_op_operand(d->f, op, i) : tile_op_result(d->f, op, i - operands);
}

static unsigned tile_count(const division *d, tile_op op) {
    return tile_op_operand_count(d->f, op) + tile_op_result_count(d->f, op);
}

/* Distributes operands and results alike. */
static void propagate_elementwise(division *d, tile_op op) {
    unsigned distributed = 0;
    for (unsigned i = 0; i < tile_count(d, op); i++)
        if (is_distributed(d, tile_of(d, op, i)))
            distributed = d->distributed[tile_of(d, op, i).id];
    for (unsigned i = 0; distributed && i < tile_count(d, op); i++)
        mark_distributed(d, op, tile_of(d, op, i), distributed - 1);
}

static void propagate_carried(division *d, tile_op op, unsigned i) {
    unsigned distributed = 0;
    TILE_FOR_EACH_BRANCH_POINT (d->f, op, at) {
        tile_value sent = tile_carried_sent(d->f, op, at, i),
                   received = tile_carried_received(d->f, op, at, i);
        if (is_distributed(d, sent)) distributed = d->distributed[sent.id];
        if (is_distributed(d, received)) distributed = d->distributed[received.id];
    }
    TILE_FOR_EACH_BRANCH_POINT (d->f, op, at) {
        if (!distributed) continue;
        mark_distributed(d, op, tile_carried_sent(d->f, op, at, i), distributed - 1);
        mark_distributed(d, op, tile_carried_received(d->f, op, at, i), distributed - 1);
    }
}

/* Distributes the operand's dims that are dims of the result. */
static void propagate_mapped(division *d, tile_op op) {
    tile_dim map[TILE_MAX_RANK];
    tile_value a = tile_operand_src(d->f, op), b = tile_op_result(d->f, op, 0);
    unsigned src = tile_place_of(tile_op_opcode(d->f, op), TILE_OPERAND_src);
    unsigned rank = tile_dim_map(d->f, op, 0, src, map);
    for (unsigned dim = 0; dim < rank; dim++) {
        if (map[dim].kind != TILE_DIM_OF) continue;
        if (is_distributed(d, a) && d->distributed[a.id] == 1 + dim)
            mark_distributed(d, op, b, map[dim].of);
        if (is_distributed(d, b) && d->distributed[b.id] == 1 + map[dim].of)
            mark_distributed(d, op, a, dim);
    }
}

/* Operations that repeat, combine or rename elements along some dims preserve the others. */
static bool keeps_dims(const tile_function *f, tile_op op) {
    tile_dims dims = tile_op_dims(tile_op_opcode(f, op));
    return (dims == TILE_DIMS_stretched || dims == TILE_DIMS_folded || dims == TILE_DIMS_flat) &&
           tile_op_operand_count(f, op) == 1 && tile_op_result_count(f, op) == 1;
}

/* Distributes the accumulator and the operand with its rows: dim 0 of lhs, or dim 1 of rhs. */
static void propagate_product(division *d, tile_op op) {
    unsigned dim = d->s->distributed_dim;
    const tile_values acc = tile_op_segment(d->f, op, TILE_MMA_ACC);
    const tile_value values[] = {acc.count ? acc.at[0] : TILE_NO_VALUE, tile_op_result(d->f, op, 0),
                                 tile_op_segment(d->f, op, warpgroup_first(dim)).at[0]};
    bool any = false;
    for (unsigned i = 0; i < 3; i++) any |= is_distributed(d, values[i]);
    for (unsigned i = 0; i < 3 && any; i++) mark_distributed(d, op, values[i], dim);
}

static void propagate(division *d, tile_op op) {
    tile_function *f = d->f;
    tile_dims dims = tile_op_dims(tile_op_opcode(f, op));
    if (tile_op_opcode(f, op) == TILE_OP_dot)
        propagate_product(d, op);
    else if (keeps_dims(f, op))
        propagate_mapped(d, op);
    else if (dims == TILE_DIMS_same || dims == TILE_DIMS_each)
        propagate_elementwise(d, op);
    for (unsigned i = 0; i < tile_carried_count(f, op); i++) propagate_carried(d, op, i);
}

/* Buffers that the producer fills before the loop: a group reads a third of them. */
static bool is_outer_ring_buffer(const warp_specialization *s, tile_value value) {
    bool found = false;
    for (unsigned i = 0; i < s->outer_loop_ring.ring.plan.copy_count; i++)
        found |= s->outer_loop_ring.ring.plan.copies[i].buffer.id == value.id;
    return found;
}

static void find_distributed(division *d, tile_region region) {
    const tile_pipeline_plan *outer_loop_ring = &d->s->outer_loop_ring.ring.plan;
    d->count = d->f->value_count;
    d->distributed = TILE_NEW_ARRAY(d->s->ring.pass->scratch, uint8_t, d->count);
    for (unsigned i = 0; i < outer_loop_ring->copy_count; i++)
        d->distributed[outer_loop_ring->copies[i].buffer.id] = (uint8_t)(1 + d->s->distributed_dim);
    TILE_FOR_EACH_NESTED_OP (d->f, op, d->s->ring.plan.loop)
        if (warpgroup_uses_wgmma(d->f, op))
            mark_distributed(d, op, tile_op_result(d->f, op, 0), d->s->distributed_dim);
    do {
        d->changed = false;
        TILE_FOR_EACH_OP_INSIDE (d->f, op, region) propagate(d, op);
    } while (d->changed);
}

/* Conditions ----------------------------------------------------------------------------------- */

static bool uses_distributed(const division *d, tile_op op) {
    bool any = false;
    for (unsigned i = 0; i < tile_count(d, op); i++) any |= is_distributed(d, tile_of(d, op, i));
    return any;
}

/* Returns whether all tiles and buffers of op are distributed. */
static bool all_distributed(const division *d, tile_op op) {
    bool all = true;
    for (unsigned i = 0; i < tile_count(d, op); i++)
        all &= !has_rows(d, tile_of(d, op, i)) || is_distributed(d, tile_of(d, op, i));
    return all;
}

/* Returns the index of a tile transfer's operand that is a view of global memory other than
 * scratch; TILE_MAX_OPERANDS if there is none. */
static unsigned view_of(const tile_function *f, tile_op op) {
    unsigned last = 0;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_load && opcode != TILE_OP_store && opcode != TILE_OP_copy)
        return TILE_MAX_OPERANDS;
    last = opcode != TILE_OP_load;
    for (unsigned i = 0; i <= last; i++) {
        tile_value view = tile_op_segment(f, op, i).at[0];
        tile_op def = tile_value_def(f, view);
        if (tile_value_type(f, view)->kind == TILE_TYPE_VIEW &&
            (!def.id || tile_op_opcode(f, def) != TILE_OP_scratch))
            return i;
    }
    return TILE_MAX_OPERANDS;
}

static bool moves(const division *d, tile_op op) {
    tile_gather gather;
    bool points = tile_gather_of(d->f, op, &gather) && gather.tiles;
    return view_of(d->f, op) != TILE_MAX_OPERANDS && !points;
}

/* Returns whether each shared operand of op is a whole buffer or stage. */
static bool uses_whole_buffer(const tile_function *f, tile_op op) {
    bool whole = true;
    for (unsigned i = 0; i < tile_op_get_info(tile_op_opcode(f, op))->operand_count; i++) {
        const tile_values element = tile_op_segment(f, op, i);
        if (!element.count) continue;
        const tile_type *type = tile_value_type(f, element.at[0]);
        whole &= type->kind != TILE_TYPE_SHARED || element.count == 1u + (type->stages != NULL);
    }
    return whole;
}

/* Accesses of the group's private buffer. */
static bool uses_own_buffer(const division *d, tile_op op) {
    switch (tile_op_opcode(d->f, op)) {
    case TILE_OP_alloc_shared: return !tile_value_type(d->f, tile_of(d, op, 0))->layout;
    case TILE_OP_free_shared: return true;
    case TILE_OP_load_shared:
    case TILE_OP_store_shared: return all_distributed(d, op) && uses_whole_buffer(d->f, op);
    default: return false;
    }
}

/* Carried values must be distributed on all paths or on none. */
static bool carries_consistently(const division *d, tile_op op) {
    bool alike = true;
    for (unsigned i = 0; i < tile_carried_count(d->f, op); i++) {
        bool distributed = is_distributed(d, tile_carried_received(d->f, op, TILE_PARENT_OP, i));
        TILE_FOR_EACH_BRANCH_POINT (d->f, op, at)
            alike &= is_distributed(d, tile_carried_sent(d->f, op, at, i)) == distributed &&
                     is_distributed(d, tile_carried_received(d->f, op, at, i)) == distributed;
    }
    return alike;
}

/* A broadcast may also repeat its operand within each third. */
static bool keeps_rows(const division *d, tile_op op) {
    tile_value a = tile_operand_src(d->f, op), b = tile_op_result(d->f, op, 0);
    unsigned src = tile_place_of(tile_op_opcode(d->f, op), TILE_OPERAND_src);
    unsigned own = is_distributed(d, b)
                       ? tile_dim_in_operand(d->f, op, src, d->distributed[b.id] - 1u)
                       : TILE_NO_DIM;
    if (is_distributed(d, a)) return d->distributed[a.id] == 1 + own;
    return tile_op_dims(tile_op_opcode(d->f, op)) == TILE_DIMS_stretched && own == TILE_NO_DIM;
}

static bool can_be_distributed(const division *d, tile_op op) {
    tile_iota iota;
    tile_opcode opcode = tile_op_opcode(d->f, op);
    if (opcode == TILE_OP_iota) return tile_iota_of(d->f, op, &iota);
    if (opcode == TILE_OP_dot || opcode == TILE_OP_yield) return true;
    if (tile_carried_count(d->f, op)) return carries_consistently(d, op);
    if (keeps_dims(d->f, op)) return keeps_rows(d, op);
    if (moves(d, op)) return all_distributed(d, op) && uses_whole_buffer(d->f, op);
    bool element = tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) || opcode == TILE_OP_dot_wait;
    return (element && all_distributed(d, op)) || uses_own_buffer(d, op);
}

/* Returns whether op has effects that must not be repeated by each group: a write, an access to a
 * buffer, synchronization. */
static bool writes(const tile_function *f, tile_op op) {
    const unsigned harmless = TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR;
    tile_opcode opcode = tile_op_opcode(f, op);
    tile_access accesses[TILE_MAX_ACCESSES];
    bool reads = opcode == TILE_OP_load || opcode == TILE_OP_load_shared;
    bool any = !reads && (tile_op_effects(f, op) & ~harmless) != 0;
    unsigned count = tile_op_accesses(f, op, accesses);
    for (unsigned i = 0; i < count; i++) any |= accesses[i].write;
    return any;
}

/* A staged copy, or the allocation or free of a ring buffer. */
static bool is_ring_op(const warp_specialization *s, tile_op op) {
    const tile_function *f = s->ring.f;
    tile_opcode opcode = tile_op_opcode(f, op);
    tile_value buffer = opcode == TILE_OP_alloc_shared  ? tile_op_result(f, op, 0)
                        : opcode == TILE_OP_free_shared ? tile_operand_buffer(f, op)
                                                        : TILE_NO_VALUE;
    return tile_is_staged(&s->ring.plan, op) || (buffer.id && is_ring_buffer(s, buffer));
}

/* Checks a dot with a third of the rows: its accumulator and its operand with the rows. The operand
 * must come through the ring or be private to the group. */
static void check_product(division *d, tile_op op) {
    unsigned row_dim, first = warpgroup_first(d->s->distributed_dim);
    const tile_dot_facts facts = warpgroup_facts(d->f, op);
    tile_value one = tile_op_segment(d->f, op, first).at[0],
               other = tile_op_segment(d->f, op, 1 - first).at[0];
    if (!warpgroup_uses_wgmma(d->f, op) || !warpgroup_row_dim(d->f, op, &row_dim) ||
        !tile_dot_admits_cooperative_3(&facts, d->s->distributed_dim))
        reject(d, op, "three groups of 4 warps cannot each compute a third of its rows",
               "use 192 rows and at most 192 columns, whose sums stay in the tensor cores");
    else if (row_dim != d->s->distributed_dim || is_distributed(d, other))
        reject(d, op, "its row dimension differs from that of the product before", NULL);
    else if (tile_product_k_dim(d->f, op, first) != (first == TILE_MMA_LHS))
        reject(d, op, "its row operand is transposed", NULL);
    else if (!is_distributed(d, one) && !is_ring_buffer(d->s, one))
        reject(d, op, "each group would need all rows of its row operand", NULL);
}

/* Checks an operation that the consumers run. */
static void check_op(division *d, tile_op op) {
    tile_function *f = d->f;
    bool distributed = uses_distributed(d, op),
         own = distributed && (moves(d, op) || uses_own_buffer(d, op));
    if (tile_lays_out_warps(f, op))
        reject(d, op, "its layout is for the warps that share a tile", "remove the layout");
    if (is_ring_op(d->s, op) || (!distributed && specialize_is_shared_by_all(d->s, op))) return;
    if (tile_numbers_warps(f, op))
        reject(d, op, "it counts the warps that share a tile", NULL);
    else if (distributed && !can_be_distributed(d, op))
        reject(d, op, "this operation cannot be split across three consumer warpgroups", NULL);
    else if (distributed && tile_op_opcode(f, op) == TILE_OP_dot)
        check_product(d, op);
    else if (!own && tile_op_opcode(f, op) != TILE_OP_dot && writes(f, op))
        reject(d, op, "it does not work on a part of a tile, and each group would execute it",
               NULL);
}

bool specialize_check_division(warp_specialization *s) {
    tile_function *f = s->ring.f;
    division d = {.s = s, .f = f};
    find_distributed(&d, f->body);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) check_op(&d, op);
    if (d.fault.id) {
        tile_missed_at(f, d.fault, "no cooperative_3", d.remedy, "%s", d.why);
        return false;
    }
    s->distributed_along = d.distributed;
    /* This buffer is now private to a group instead of shared by the block. */
    for (uint32_t id = 1; id < s->old_ops; id++)
        if (f->ops[id].opcode == TILE_OP_alloc_shared &&
            is_distributed(&d, tile_op_result(f, (tile_op){id}, 0)))
            s->run_by_all[id] = false;
    return true;
}

/* Building ------------------------------------------------------------------------------------- */

static const tile_type *distributed_type(const division *d, tile_value value) {
    return slice_type(tile_function_context(d->f), tile_value_type(d->f, value),
                      d->distributed[value.id] - 1u, GROUPS);
}

/* Adds the start of the group's third to the coordinates of a tile access. */
static void offset_access(const division *d, tile_op op) {
    tile_function *f = d->f;
    unsigned i = 0;
    if (!uses_distributed(d, op) || !moves(d, op)) return;
    while (!has_rows(d, tile_of(d, op, i)) || !is_distributed(d, tile_of(d, op, i))) i++;
    tile_value tile = tile_of(d, op, i);
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    const tile_type *type = tile_value_type(f, tile);
    unsigned dim = d->distributed[tile.id] - 1u;
    tile_value rows = tile_build_int(&b, tile_type_dim(type, dim) / GROUPS);
    slice_move(f, op, view_of(f, op), type->rank, dim, tile_build_mul(&b, d->s->group, rows));
}

/* Builds the group's row offset before the loops, because it is loop-invariant. */
static tile_value build_numbers(const division *d, tile_op op) {
    tile_function *f = d->f;
    tile_value numbers = tile_op_result(f, op, 0);
    tile_builder b = tile_builder_before(f, op),
                 early =
                     tile_builder_before(f, tile_region_first(f, tile_executors_of(f, op).role));
    b.loc = early.loc = tile_op_loc(f, op);
    const tile_type *to = distributed_type(d, numbers);
    return slice_numbers(&early, &b, op, to, d->s->group,
                         tile_type_dim(to, d->distributed[numbers.id] - 1u));
}

/* Row indices count from the first row of the whole tile. */
static void divide_numbers(const division *d) {
    unsigned count;
    tile_function *f = d->f;
    tile_arena *scratch = d->s->ring.pass->scratch;
    size_t values = f->value_count;
    const tile_op *iotas = tile_find_ops(f, TILE_OP_iota, scratch, &count);
    tile_value *numbers = TILE_NEW_ARRAY(scratch, tile_value, values);
    for (unsigned i = 0; i < count; i++) {
        tile_iota iota;
        tile_value result = tile_op_result(f, iotas[i], 0);
        if (!is_distributed(d, result) || !tile_iota_of(f, iotas[i], &iota) ||
            iota.axis != d->distributed[result.id] - 1u)
            continue;
        numbers[result.id] = build_numbers(d, iotas[i]);
    }
    tile_value *map = TILE_NEW_ARRAY(scratch, tile_value, f->value_count);
    for (size_t id = 0; id < values; id++) map[id] = numbers[id];
    tile_replace_values(f, f->body, map);
}

void specialize_divide(warp_specialization *s, tile_region region) {
    tile_function *f = s->ring.f;
    division d = {.s = s, .f = f};
    find_distributed(&d, region);
    uint32_t values = f->value_count;
    TILE_FOR_EACH_OP_INSIDE (f, op, region) offset_access(&d, op);
    divide_numbers(&d);
    for (uint32_t id = 1; id < values; id++)
        if (d.distributed[id] && !is_outer_ring_buffer(s, (tile_value){id}))
            tile_value_at(f, (tile_value){id})->type = distributed_type(&d, (tile_value){id});
}
