/* Loops at level 1: each iteration runs the body with the values that the previous one yielded. */
#include <stdlib.h>
#include <string.h>

#include "lib/ir/regions.h"
#include "runtime/reference/evaluation.h"

/* A carried value between two iterations. */
typedef struct carried_value {
    double *data, *planes[PLANE_COUNT];
    size_t count;
    tile_scalar origin;
} carried_value;

typedef struct loop {
    evaluation *e;
    tile_op op;
    tile_region body;
    uint32_t *uses; /* by value: its uses in the body */
    bool *owned;    /* by value: it is defined in the body */
    unsigned count; /* of carried values */
    carried_value *next;
} loop;

static double *copy_elements(evaluation *e, const double *from, size_t count) {
    double *to = from ? malloc(sizeof *to * (count + 1)) : NULL;
    if (to) memcpy(to, from, sizeof *to * count);
    if (from && !to)
        FAIL(e, "@%s: out of host memory for a tensor of %zu elements", e->f->name, count);
    return to;
}

static void copy_value(evaluation *e, tile_value from, carried_value *to) {
    to->count = e->counts[from.id];
    to->origin = e->origins[from.id];
    to->data = copy_elements(e, e->data[from.id], to->count);
    for (unsigned i = 0; i < PLANE_COUNT; i++)
        to->planes[i] = copy_elements(e, e->planes[i][from.id], to->count);
}

/* Moves the carried value to a value of the compute. */
static void set_value(evaluation *e, tile_value to, carried_value *from) {
    evaluation_drop(e, to.id);
    e->data[to.id] = from->data;
    for (unsigned i = 0; i < PLANE_COUNT; i++) e->planes[i][to.id] = from->planes[i];
    e->counts[to.id] = from->count;
    e->origins[to.id] = from->origin;
    *from = (carried_value){.data = NULL};
}

static void own_values(loop *l, tile_value first, unsigned count) {
    for (unsigned i = 0; i < count; i++) l->owned[first.id + i] = true;
}

static void own_arguments(loop *l, tile_region region) {
    const tile_region_data *data = tile_region_at(l->e->f, region);
    own_values(l, data->first_arg, data->arg_count);
}

static loop open_loop(evaluation *e, tile_op op) {
    const tile_function *f = e->f;
    loop l = {.e = e, .op = op, .body = tile_op_region(f, op, 0)};
    l.uses = TILE_NEW_ARRAY(&e->scratch, uint32_t, f->value_count);
    l.owned = TILE_NEW_ARRAY(&e->scratch, bool, f->value_count);
    l.count = tile_carried_count(f, op);
    l.next = TILE_NEW_ARRAY(&e->scratch, carried_value, l.count + 1);
    own_arguments(&l, l.body);
    TILE_FOR_EACH_NESTED_OP (f, inner, op) {
        const tile_op_data *data = tile_op_at(f, inner);
        own_values(&l, data->first_result, data->result_count);
        for (unsigned i = 0; i < data->operand_count; i++) l.uses[data->operands[i].id]++;
        for (unsigned r = 0; r < data->region_count; r++) own_arguments(&l, data->regions[r]);
    }
    for (unsigned i = 0; i < l.count; i++)
        copy_value(e, tile_carried_sent(f, op, TILE_PARENT_OP, i), &l.next[i]);
    return l;
}

/* Values from outside of the loop keep the uses of one iteration, so that none drops them. */
static void begin_iteration(loop *l, int64_t number) {
    evaluation *e = l->e;
    for (uint32_t id = 1; id < e->f->value_count; id++)
        e->uses[id] = l->owned[id] ? l->uses[id] : e->uses[id] + l->uses[id];
    tile_value variable = tile_region_arg(e->f, l->body, 0);
    double *to = evaluation_create(e, variable);
    if (to) *to = (double)number;
    e->origins[variable.id] = evaluation_scalar(e, variable);
    for (unsigned i = 0; i < l->count; i++)
        set_value(e, tile_carried_received(e->f, l->op, 0, i), &l->next[i]);
}

static void run_iteration(loop *l, int64_t number) {
    evaluation *e = l->e;
    tile_op yield = tile_region_yield(e->f, l->body);
    begin_iteration(l, number);
    TILE_FOR_EACH_OP (e->f, op, l->body) {
        if (!e->failed && op.id != yield.id) evaluation_run_op(e, op);
    }
    for (unsigned i = 0; i < l->count && !e->failed; i++)
        copy_value(e, tile_carried_sent(e->f, l->op, 0, i), &l->next[i]);
    for (unsigned i = 0; i < l->count; i++)
        evaluation_drop_use(e, tile_carried_sent(e->f, l->op, 0, i).id);
}

static void close_loop(loop *l) {
    evaluation *e = l->e;
    for (uint32_t id = 1; id < e->f->value_count; id++) {
        if (l->owned[id]) evaluation_drop(e, id);
        if (!l->uses[id] || l->owned[id]) continue;
        e->uses[id] -= l->uses[id];
        if (!e->uses[id]) evaluation_drop(e, id);
    }
    for (unsigned i = 0; i < l->count; i++) {
        tile_value result = tile_op_result(e->f, l->op, i);
        set_value(e, result, &l->next[i]);
        if (!e->uses[result.id]) evaluation_drop(e, result.id);
    }
}

void evaluation_loop(evaluation *e, tile_op op) {
    int64_t begin = (int64_t)*e->data[tile_operand_begin(e->f, op).id],
            end = (int64_t)*e->data[tile_operand_end(e->f, op).id],
            step = (int64_t)*e->data[tile_operand_step(e->f, op).id];
    if (step < 1) {
        e->failed = true;
        tile_report(tile_function_context(e->f), TILE_ERROR, tile_op_loc(e->f, op),
                    "for: the step must be 1 or more, not %lld", (long long)step);
        return;
    }
    loop l = open_loop(e, op);
    for (int64_t i = begin; i < end && !e->failed; i += step) run_iteration(&l, i);
    close_loop(&l);
}

/* The number of iterations if it is known before the compute runs, else 1. */
static double count_iterations(evaluation *e, tile_op op) {
    const tile_value bounds[] = {tile_operand_begin(e->f, op), tile_operand_end(e->f, op),
                                 tile_operand_step(e->f, op)};
    int64_t at[3];
    for (unsigned i = 0; i < 3; i++) {
        const tile_value_data *data = tile_value_at(e->f, bounds[i]);
        if (data->kind != TILE_VALUE_CONSTANT || !evaluation_of(e, data->expr, &at[i])) return 1;
    }
    return at[2] > 0 && at[1] > at[0] ? (double)(at[1] - at[0]) / (double)at[2] : 0;
}

double evaluation_iterations(evaluation *e, tile_op op) {
    double count = 1;
    for (tile_op outer = tile_op_parent(e->f, op); outer.id; outer = tile_op_parent(e->f, outer))
        count *= count_iterations(e, outer);
    return count;
}
