/* Rows that share columns, packed into one tile: for grouped heads with few queries, all rows that
 * see the same keys become the rows of a tile, so that keys are read once per group.
 *
 *     domain [batch, groups, heads of a group, m, d]  ->  [batch, groups, heads of a group * m, d]
 *
 * The last dim before the rows and the row dim become one, M. Element (h, i) is at (M / m, M % m).
 * Arrays in which both dims are adjacent, such as queries and results, get one dim for them
 * (sched_merge_dims). Others are read with index tiles. */
#include "passes/schedule/online/online_kernel.h"

#include "lib/ir/syntax.h"

typedef struct packing {
    schedule *s;
    unsigned at;           /* the packed dim */
    const tile_expr *rows; /* the extent of the second dim */
} packing;

/* Coordinates ---------------------------------------------------------------------------------- */

static sched_coordinate packed_dim(const packing *p, int dim) {
    sched_coordinate whole = sched_dim_coordinate(p->at);
    bool one = tile_expr_is(p->rows, 1);
    if (dim == (int)p->at)
        return one ? whole : sched_computed(p->s, SCHED_DIV, &whole, NULL, p->rows);
    if (dim == (int)p->at + 1)
        return one ? sched_zero_coordinate()
                   : sched_computed(p->s, SCHED_REM, &whole, NULL, p->rows);
    return dim > (int)p->at ? sched_dim_coordinate((unsigned)dim - 1)
                            : (sched_coordinate){dim, NULL, NULL};
}

static sched_coordinate packed(const packing *p, const sched_coordinate *at);

static sched_coordinate packed_index(const packing *p, const sched_index *index) {
    sched_map map = {{{0, NULL, NULL}}};
    for (unsigned d = 0; d < index->rank; d++) map.at[d] = packed(p, &index->map->at[d]);
    return sched_indexed(p->s, index->by.value, &map, index->rank);
}

static sched_coordinate packed(const packing *p, const sched_coordinate *at) {
    sched_coordinate out;
    if (!at->index) {
        out = packed_dim(p, at->dim);
    } else {
        const sched_index *index = at->index;
        sched_coordinate a = packed(p, &index->a), b = packed(p, &index->b);
        switch (index->kind) {
        case SCHED_PAIR:
        case SCHED_DIV:
        case SCHED_EXACT:
        case SCHED_REM: out = sched_computed(p->s, index->kind, &a, &b, index->by.expr); break;
        case SCHED_SUM: out = sched_sum(p->s, &a, index->by, &b); break;
        case SCHED_TAKEN: out = packed_index(p, index); break;
        case SCHED_NUMBER: return *at;
        }
    }
    return at->offset ? sched_shifted(p->s, &out, TILE_OP_add, at->offset) : out;
}

static void pack_map(const packing *p, tile_value value, sched_map *map) {
    if (!value.id || !sched_is_tensor(p->s, value)) return;
    for (unsigned d = 0; d < sched_type(p->s, value)->rank; d++)
        map->at[d] = packed(p, &map->at[d]);
}

static void pack_mapped_value(const packing *p, sched_mapped_value *at) {
    pack_map(p, at->value, &at->map);
}

static void pack_side(const packing *p, sched_product_operand *side) {
    pack_mapped_value(p, &side->from);
    side->row -= side->row > p->at;
    side->column -= side->column > p->at;
}

static void pack_result(const packing *p, tile_op op, sched_map *map) {
    pack_map(p, tile_op_result(p->s->compute, op, 0), map);
}

/* The loop's values ---------------------------------------------------------------------------- */

static void pack_folds(const packing *p, sched_online *o) {
    for (unsigned i = 0; i < o->fold_count; i++) {
        sched_carried_reduction *fold = &o->folds[i];
        pack_result(p, fold->op, &fold->map);
        pack_mapped_value(p, &fold->source);
        if (fold->product) pack_side(p, &fold->rhs);
    }
    for (unsigned i = 0; i < o->exp_count; i++) {
        sched_exponential *e = &o->exps[i];
        pack_result(p, e->op, &e->map);
        pack_mapped_value(p, &e->x);
        pack_mapped_value(p, &e->rho);
        pack_mapped_value(p, &e->top);
        pack_mapped_value(p, &e->by);
    }
}

static void pack_online(const packing *p, sched_online *o) {
    for (unsigned i = 0; i < o->inner_count; i++) {
        pack_result(p, o->inner[i].op, &o->inner[i].map);
        pack_side(p, &o->inner[i].sides[0]);
        pack_side(p, &o->inner[i].sides[1]);
    }
    pack_folds(p, o);
    for (unsigned i = 0; i < o->masked_input_count; i++) {
        sched_mapped_value *parts[] = {&o->masked_inputs[i].whole, &o->masked_inputs[i].shown,
                                       &o->masked_inputs[i].seen, &o->masked_inputs[i].by};
        for (unsigned n = 0; n < 4; n++) pack_mapped_value(p, parts[n]);
    }
    sched_classified_value *forms =
        TILE_NEW_ARRAY(p->s->arena, sched_classified_value, o->form_count + 1);
    for (size_t i = 0; i < o->form_count; i++) {
        forms[i] = o->forms[i];
        pack_mapped_value(p, &forms[i].at);
    }
    o->forms = forms;
    o->m--, o->n--, o->depth--;
}

static void pack_group(const packing *p, sched_group *g) {
    tile_context *context = p->s->context;
    sched_domain *domain = &g->domain;
    sched_online *o = TILE_NEW_ARRAY(p->s->arena, sched_online, 1);
    *o = *g->online;
    pack_online(p, o);
    g->online = o;
    domain->extents[p->at] =
        tile_expr_multiply(context, domain->extents[p->at], domain->extents[p->at + 1]);
    for (unsigned d = p->at + 1; d + 1 < SCHED_MAX_DIMS; d++)
        domain->extents[d] = domain->extents[d + 1];
    domain->rank--;
    for (size_t i = 0; i < g->input_count; i++)
        pack_map(p, p->s->arrays[g->inputs[i].array].value, &g->inputs[i].map);
    for (size_t i = 0; i < g->output_count; i++)
        pack_map(p, p->s->arrays[g->outputs[i].array].value, &g->outputs[i].map);
}

/* Conditions ----------------------------------------------------------------------------------- */

static bool depends(const schedule *s, const sched_mapped_value *at, unsigned dim) {
    bool found = false;
    for (unsigned d = 0; d < sched_type(s, at->value)->rank; d++)
        found |= sched_depends(&at->map.at[d], dim);
    return found;
}

/* Returns whether the packed rows are one dim of the array, or a part of one. */
static bool has_rows(schedule *s, tile_value value, const sched_map *map, unsigned dim) {
    const tile_type *type = sched_type(s, value);
    unsigned found = 0;
    for (unsigned d = type->rank; d-- > 0;) {
        sched_coordinate at;
        d = sched_merge_dims(s, type, map, d, &at);
        if (!sched_depends(&at, dim)) continue;
        const sched_coordinate *own = &at;
        if (at.index && at.index->kind == SCHED_PAIR && !sched_depends(&at.index->a, dim))
            own = &at.index->b;
        if (own->index || own->offset || at.offset) return false;
        found++;
    }
    return found == 1;
}

static bool is_whole(schedule *s, const sched_group *g) {
    const sched_online *o = g->online;
    bool whole = true;
    for (unsigned i = 0; i < o->inner_count; i++)
        whole &= has_rows(s, o->inner[i].sides[0].from.value, &o->inner[i].sides[0].from.map, o->m);
    for (size_t i = 0; i < g->output_count; i++)
        whole &= has_rows(s, s->arrays[g->outputs[i].array].value, &g->outputs[i].map, o->m);
    return whole;
}

static bool is_shared(const schedule *s, const sched_online *o, unsigned dim) {
    bool shared = true;
    for (unsigned i = 0; i < o->inner_count; i++)
        shared &= !depends(s, &o->inner[i].sides[1].from, dim);
    for (unsigned i = 0; i < o->fold_count; i++)
        if (o->folds[i].product) shared &= !depends(s, &o->folds[i].rhs.from, dim);
    return shared;
}

bool online_pack_rows(schedule *s, sched_group *g) {
    const sched_online *o = g->online;
    int64_t rows = sched_constant(g->domain.extents[o->m]);
    if (rows < 0 || rows > SCHED_FEW_ROWS || !o->m ||
        tile_expr_is(g->domain.extents[o->m - 1], 1) || !is_shared(s, o, o->m - 1))
        return false;
    const packing p = {s, o->m - 1, g->domain.extents[o->m]};
    sched_group own = *g;
    own.inputs = TILE_NEW_ARRAY(s->arena, sched_input, g->input_count + 1);
    own.outputs = TILE_NEW_ARRAY(s->arena, sched_output, g->output_count + 1);
    for (size_t i = 0; i < g->input_count; i++) own.inputs[i] = g->inputs[i];
    for (size_t i = 0; i < g->output_count; i++) own.outputs[i] = g->outputs[i];
    own.input_capacity = g->input_count + 1;
    own.output_capacity = g->output_count + 1;
    pack_group(&p, &own);
    if (!is_whole(s, &own)) return false;
    own.online->packed = true;
    *g = own;
    return true;
}
