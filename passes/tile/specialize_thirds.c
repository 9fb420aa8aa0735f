/* Thirds: three groups of consumers, each of which has a third of the rows of every tile.
 *
 *     192 x 192      group 0    rows   0 to  63    wgmma m64n192, all of them
 *                    group 1    rows  64 to 127
 *                    group 2    rows 128 to 191
 *
 * Two groups would have to cut the columns, into instructions that are narrower than the parts of
 * shared layouts, and reading operands takes longer then than multiplying them. Layouts deal tiles
 * out to powers of two of warps, so that three groups are no set: each runs the region for itself,
 * with a tile of a third of the rows (of the columns, where the product is exchanged). The operand
 * with the rows has a stage of its own for each group, all under one pair of barriers. */
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/ir/shape.h"
#include "lib/layout/wgmma.h"
#include "passes/tile/specialize.h"
#include "passes/tile/warpgroup.h"

enum { GROUPS = WARPGROUP_THIRDS };

/* Which tiles are dealt out ---------------------------------------------------------------------
 */

typedef struct division {
    specialist *s;
    tile_function *f;
    unsigned from_end; /* the dim that is dealt out, counted from a tile's last one: 1, 2 .. */
    bool *dealt;       /* by value */
    bool changed;
    tile_op fault;            /* an operation that cannot be run on a third; 0: none */
    const char *why, *remedy; /* remedy: NULL if nothing helps */
} division;

static bool is_dealt(const division *d, tile_value value) {
    return value.id && d->dealt[value.id];
}

static void deal(division *d, tile_value value) {
    if (!value.id || d->dealt[value.id]) return;
    const tile_type *type = tile_value_type(d->f, value);
    if (type->kind != TILE_TYPE_TILE || type->rank < d->from_end) return;
    d->dealt[value.id] = d->changed = true;
}

static void deal_all(division *d, tile_op op) {
    bool any = false;
    for (unsigned i = 0; i < tile_op_operand_count(d->f, op); i++)
        any |= is_dealt(d, tile_op_operand(d->f, op, i));
    for (unsigned i = 0; i < tile_op_result_count(d->f, op); i++)
        any |= is_dealt(d, tile_op_result(d->f, op, i));
    for (unsigned i = 0; any && i < tile_op_operand_count(d->f, op); i++)
        deal(d, tile_op_operand(d->f, op, i));
    for (unsigned i = 0; any && i < tile_op_result_count(d->f, op); i++)
        deal(d, tile_op_result(d->f, op, i));
}

static void deal_both(division *d, tile_value a, tile_value b) {
    if (is_dealt(d, a)) deal(d, b);
    if (is_dealt(d, b)) deal(d, a);
}

static void deal_carried(division *d, tile_op op, unsigned i) {
    bool any = false;
    TILE_FOR_EACH_PLACE (d->f, op, at)
        any |= is_dealt(d, tile_carried_sent(d->f, op, at, i)) ||
               is_dealt(d, tile_carried_received(d->f, op, at, i));
    TILE_FOR_EACH_PLACE (d->f, op, at) {
        if (!any) continue;
        deal(d, tile_carried_sent(d->f, op, at, i));
        deal(d, tile_carried_received(d->f, op, at, i));
    }
}

/* An extent of 1 is repeated in each third. */
static void deal_repeated(division *d, tile_op op) {
    tile_value from = tile_op_operand(d->f, op, 0), to = tile_op_result(d->f, op, 0);
    const tile_type *type = tile_value_type(d->f, from);
    if (is_dealt(d, from)) deal(d, to);
    if (is_dealt(d, to) && type->kind == TILE_TYPE_TILE && type->rank >= d->from_end &&
        tile_type_dim(type, type->rank - d->from_end) > 1)
        deal(d, from);
}

static void visit_dealt(tile_function *f, tile_op op, void *user) {
    division *d = user;
    unsigned size;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_dot)
        deal_both(d, *tile_op_segment(f, op, TILE_MMA_ACC, &size), tile_op_result(f, op, 0));
    else if (opcode == TILE_OP_broadcast)
        deal_repeated(d, op);
    else if (opcode == TILE_OP_dot_wait || tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE))
        deal_all(d, op);
    for (unsigned i = 0; i < tile_carried_count(f, op); i++) deal_carried(d, op, i);
}

static void visit_dot(tile_function *f, tile_op op, void *user) {
    if (warpgroup_takes(f, op)) deal(user, tile_op_result(f, op, 0));
}

static void find_dealt(division *d, tile_region region) {
    d->dealt = TILE_NEW_ARRAY(d->s->ring.pass->scratch, bool, d->f->value_count);
    tile_walk(d->f, region, visit_dot, d);
    do {
        d->changed = false;
        tile_walk(d->f, region, visit_dealt, d);
    } while (d->changed);
}

/* Conditions ------------------------------------------------------------------------------------
 */

static void refuse(division *d, tile_op op, const char *why, const char *remedy) {
    if (d->fault.id) return;
    d->fault = op;
    d->why = why;
    d->remedy = remedy;
}

static bool touches_dealt(const division *d, tile_op op) {
    bool any = false;
    for (unsigned i = 0; i < tile_op_operand_count(d->f, op); i++)
        any |= is_dealt(d, tile_op_operand(d->f, op, i));
    for (unsigned i = 0; i < tile_op_result_count(d->f, op); i++)
        any |= is_dealt(d, tile_op_result(d->f, op, i));
    return any;
}

/* The view's segment of what moves a tile between registers and memory. */
static unsigned memory_of(tile_opcode opcode) {
    return opcode == TILE_OP_store || opcode == TILE_OP_store_async;
}

static bool moves(const division *d, tile_op op) {
    unsigned size;
    tile_opcode opcode = tile_op_opcode(d->f, op);
    if (opcode != TILE_OP_load && opcode != TILE_OP_store) return false;
    tile_value view = *tile_op_segment(d->f, op, memory_of(opcode), &size);
    tile_op def = tile_value_def(d->f, view);
    return tile_value_type(d->f, view)->kind == TILE_TYPE_VIEW &&
           (!def.id || tile_op_opcode(d->f, def) != TILE_OP_scratch);
}

static bool may_have_third(const division *d, tile_op op) {
    tile_iota iota;
    tile_opcode opcode = tile_op_opcode(d->f, op);
    if (opcode == TILE_OP_iota) {
        unsigned rank = tile_value_type(d->f, tile_op_result(d->f, op, 0))->rank;
        return tile_iota_of(d->f, op, &iota) && iota.axis != rank - d->from_end;
    }
    return tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) || opcode == TILE_OP_splat ||
           opcode == TILE_OP_dot || opcode == TILE_OP_broadcast || opcode == TILE_OP_yield ||
           tile_carried_count(d->f, op) > 0 || moves(d, op);
}

/* Or names a buffer, or meets others: whatever is not the same if each group does it. */
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

/* What a staged copy gives: a buffer or a tile. */
static tile_value staged_value(const specialist *s, unsigned i) {
    tile_staged_copy copy = s->ring.plan.copies[i];
    return copy.buffer.id ? copy.buffer : tile_op_result(s->ring.f, copy.op, 0);
}

/* The buffer of a staged copy is named, or free. */
static bool is_of_ring(const specialist *s, tile_op op) {
    const tile_function *f = s->ring.f;
    tile_opcode opcode = tile_op_opcode(f, op);
    tile_value buffer = opcode == TILE_OP_alloc_shared  ? tile_op_result(f, op, 0)
                        : opcode == TILE_OP_free_shared ? tile_op_operand(f, op, 0)
                                                        : TILE_NO_VALUE;
    bool found = false;
    for (unsigned i = 0; buffer.id && i < s->ring.plan.copy_count; i++)
        found |= staged_value(s, i).id == buffer.id;
    return found;
}

/* Of what the consumers run. */
static void check_op(tile_function *f, tile_op op, void *user) {
    division *d = user;
    tile_opcode opcode = tile_op_opcode(f, op);
    bool dealt = touches_dealt(d, op), stores = opcode == TILE_OP_store && dealt && moves(d, op);
    if (tile_lays_out_warps(f, op))
        refuse(d, op, "its layout is for the warps that share a tile", "leave the layout out");
    if (specialize_is_outside(d->s, op) || tile_is_staged(&d->s->ring.plan, op) ||
        is_of_ring(d->s, op))
        return;
    if (tile_numbers_warps(f, op))
        refuse(d, op, "it counts the warps that share a tile", NULL);
    else if (dealt && !may_have_third(d, op))
        refuse(d, op, "a group cannot do it with a third of the rows", NULL);
    else if (!stores && opcode != TILE_OP_dot && writes(f, op))
        refuse(d, op, "it is no part of a tile, and each group would do it", NULL);
}

/* Whether the products alone use it, as the operand with their rows. */
static bool is_operand_alone(const specialist *s, tile_value staged, unsigned operand) {
    const tile_function *f = s->ring.f;
    bool alone = true;
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op op = {id};
        tile_opcode opcode = (tile_opcode)f->ops[id].opcode;
        if (!opcode || tile_is_staged(&s->ring.plan, op) || opcode == TILE_OP_free_shared) continue;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            alone &= tile_op_operand(f, op, i).id != staged.id ||
                     (opcode == TILE_OP_dot && i == operand);
    }
    return alone;
}

/* Whether the product's operand with the rows comes through the ring, which then deals it out. */
static bool find_operand(specialist *s, tile_op dot, unsigned operand) {
    unsigned size;
    tile_value value = *tile_op_segment(s->ring.f, dot, operand, &size);
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++) {
        if (staged_value(s, i).id != value.id || !is_operand_alone(s, value, operand)) continue;
        s->dealt[i] = true;
        return true;
    }
    return false;
}

static bool miss(const specialist *s, tile_op op, const char *why, const char *remedy) {
    tile_remark_missed(s->ring.f, op, "no thirds", why, remedy);
    return false;
}

static bool can_divide(specialist *s) {
    tile_function *f = s->ring.f;
    tile_op loop = s->ring.plan.loop;
    unsigned known = TILE_MAX_RANK, row_dim;
    TILE_FOR_EACH_OP (f, op, tile_op_region(f, loop, 0)) {
        if (tile_op_opcode(f, op) != TILE_OP_dot) continue;
        if (!warpgroup_row_dim(f, op, &row_dim) || !warpgroup_admits_thirds(f, op, row_dim))
            return miss(s, op, "three groups of 4 warps cannot each compute a third of its rows",
                        "take 192 rows and at most 192 columns, whose sums stay in the tensor "
                        "cores");
        if (known < TILE_MAX_RANK && known != row_dim)
            return miss(s, op, "its rows are not those of the product before", NULL);
        known = row_dim;
        unsigned first = warpgroup_first(row_dim);
        if (tile_product_k_dim(f, op, first) != (first == TILE_MMA_LHS))
            return miss(s, op, "its operand with the rows lies transposed", NULL);
        if (!find_operand(s, op, first))
            return miss(s, op, "its operand with the rows is no copy that products alone use",
                        NULL);
    }
    division d = {.s = s, .f = f, .from_end = known == TILE_WGMMA_PLAIN ? 2 : 1};
    find_dealt(&d, f->body);
    tile_walk(f, f->body, check_op, &d);
    if (d.fault.id) return miss(s, d.fault, d.why, d.remedy);
    s->dealt_dim = known;
    return true;
}

void specialize_plan_thirds(specialist *s) {
    s->dealt = TILE_NEW_ARRAY(s->ring.pass->scratch, bool, s->ring.plan.copy_count + 1u);
    s->readers = 1;
    if (!warpgroup_asks_thirds(s->ring.f, s->ring.plan.loop)) return;
    if (!can_divide(s)) {
        memset(s->dealt, 0, s->ring.plan.copy_count * sizeof *s->dealt);
        return;
    }
    s->warps = WARPGROUP;
    s->sets = s->readers = GROUPS;
}

/* Building --------------------------------------------------------------------------------------
 */

static const tile_type *third_of(const specialist *s, const tile_type *type, unsigned dim) {
    tile_context *context = tile_function_context(s->ring.f);
    int64_t stages = tile_type_stage_count(type);
    tile_type draft = *type;
    draft.dims[dim] = tile_expr_int(context, tile_type_dim(type, dim) / GROUPS);
    if (type->stages) draft.stages = tile_expr_int(context, stages * GROUPS);
    return tile_type_get(context, &draft);
}

void specialize_deal_buffers(specialist *s) {
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++) {
        tile_value_data *buffer = tile_value_at(s->ring.f, s->ring.buffers[i]);
        if (s->dealt[i]) buffer->type = third_of(s, buffer->type, s->dealt_dim);
    }
}

tile_value specialize_dealt_stage(tile_builder *b, tile_value stage, tile_value group) {
    return tile_build_add(b, tile_build_mul(b, stage, tile_build_int(b, GROUPS)), group);
}

/* Products read their group's stage. */
static void read_own_stages(specialist *s) {
    tile_function *f = s->ring.f;
    tile_region body = tile_op_region(f, s->ring.plan.loop, 0);
    tile_builder b = tile_builder_before(f, tile_region_first(f, body));
    b.loc = tile_op_loc(f, s->ring.plan.loop);
    tile_value own = specialize_dealt_stage(&b, s->ring.stage, s->group);
    TILE_FOR_EACH_OP (f, op, body)
        for (unsigned i = 0; i < s->ring.plan.copy_count; i++)
            for (uint32_t k = 0; s->dealt[i] && k + 1 < tile_op_operand_count(f, op); k++)
                if (tile_op_opcode(f, op) == TILE_OP_dot &&
                    tile_op_operand(f, op, k).id == s->ring.buffers[i].id)
                    tile_op_at(f, op)->operands[k + 1] = own;
}

typedef struct placing {
    division *d;
    tile_value group;
} placing;

/* A tile is moved from where the group's third of it begins. */
static void visit_moved(tile_function *f, tile_op op, void *user) {
    placing *p = user;
    unsigned size;
    if (!touches_dealt(p->d, op) || !moves(p->d, op)) return;
    tile_opcode opcode = tile_op_opcode(f, op);
    tile_value tile = opcode == TILE_OP_load ? tile_op_result(f, op, 0) : tile_op_operand(f, op, 0);
    const tile_type *type = tile_value_type(f, tile);
    const tile_value *element = tile_op_segment(f, op, memory_of(opcode), &size);
    unsigned at = size - p->d->from_end;
    int64_t rows = tile_type_dim(type, type->rank - p->d->from_end) / GROUPS;
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    tile_value first = tile_build_mul(&b, p->group, tile_build_int(&b, rows));
    tile_value moved = tile_build_add(&b, element[at], first);
    tile_op_at(f, op)->operands[(unsigned)(element - tile_op_at(f, op)->operands) + at] = moved;
}

void specialize_divide(specialist *s, tile_region region) {
    tile_function *f = s->ring.f;
    division d = {.s = s, .f = f, .from_end = s->dealt_dim == TILE_WGMMA_PLAIN ? 2 : 1};
    placing p = {.d = &d, .group = s->group};
    read_own_stages(s);
    find_dealt(&d, region);
    uint32_t values = f->value_count;
    tile_walk(f, region, visit_moved, &p);
    for (uint32_t id = 1; id < values; id++) {
        tile_value_data *value = tile_value_at(f, (tile_value){id});
        if (d.dealt[id]) value->type = third_of(s, value->type, value->type->rank - d.from_end);
    }
}
