/* Computes results in the order of their memory.
 *
 * A result with strides may have another order of dims in memory, such as images whose channels are
 * last. If only operations that work in any order of dims lead to it, they are built again on
 * permuted values, and the result is the value in the order of memory. The tiles of all kernels
 * then follow memory. The view argument keeps the declared dims, and kernels view its memory.
 *
 *     %y = relu(convolve(%x, %f, dims = "nchw,kcrs->nkpq"))      %y: strides [h * w * k, 1, w * k,
 * k]
 *
 * becomes
 *
 *     %y = relu(convolve(transpose(%x), transpose(%f), dims = "nhwc,krsc->npqk"))
 *
 * A transpose of an argument only changes coordinates. */
#include "passes/schedule/kernel/schedule.h"

#include <string.h>

#include "lib/ir/syntax.h"

typedef struct order {
    unsigned dims[TILE_MAX_RANK]; /* dim i of the permuted value is this dim of the value */
} order;

typedef struct ordered_value {
    struct ordered_value *next;
    tile_value value, moved;
    order order;
} ordered_value;

typedef struct mover {
    schedule *s;
    ordered_value *known;
    tile_value *map; /* no entries, except while an operation is cloned */
    size_t count;    /* number of original values */
    bool *checked;   /* by value: it can be permuted */
} mover;

static bool is_identity(const order *o, unsigned rank) {
    for (unsigned d = 0; d < rank; d++)
        if (o->dims[d] != d) return false;
    return true;
}

/* Which results ------------------------------------------------------------------------------- */

/* Returns whether the operation works in any order of dims. */
static bool has_any_order(const schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (tile_op_result_count(f, op) != 1 || tile_op_at(f, op)->region_count ||
        tile_op_has_attr(f, op, TILE_ATTR_tile))
        return false;
    switch (opcode) {
    case TILE_OP_splat:
    case TILE_OP_iota:
    case TILE_OP_reduce:
    case TILE_OP_scan:
    case TILE_OP_transpose:
    case TILE_OP_convolve: return true;
    case TILE_OP_broadcast:
        return sched_type(s, tile_operand_src(f, op))->rank ==
               sched_type(s, tile_op_result(f, op, 0))->rank;
    default: return tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
    }
}

static bool can_permute(mover *m, tile_value value) {
    const tile_function *f = m->s->compute;
    tile_op op = tile_value_def(f, value);
    if (!op.id || m->checked[value.id]) return true;
    if (!has_any_order(m->s, op)) return false;
    bool ends =
        tile_op_opcode(f, op) == TILE_OP_convolve; /* its operands have orders of their own */
    for (unsigned i = 0; i < tile_op_operand_count(f, op) && !ends; i++)
        if (!can_permute(m, tile_op_operand(f, op, i))) return false;
    return m->checked[value.id] = true;
}

static order order_of(schedule *s, const tile_type *type, const tile_expr *const *strides) {
    sched_shape shape = {.type = type};
    order own;
    for (unsigned d = 0; strides[0] && d < type->rank; d++)
        shape.strides[d] = sched_resolved(s, strides[d]);
    sched_memory_order(s, &shape, own.dims);
    return own;
}

/* Results that share values keep one order. */
static bool wants_orders(mover *m) {
    const tile_function *f = m->s->compute;
    bool all = f->result_count > 0;
    for (size_t i = 0; i < f->result_count && all; i++) {
        const tile_result_decl *result = &f->results[i];
        if (result->type->kind != TILE_TYPE_TENSOR || !tile_value_def(f, result->value).id)
            return false;
        order own = order_of(m->s, result->type, result->strides);
        all = !is_identity(&own, result->type->rank) && can_permute(m, result->value);
    }
    return all;
}

/* Permuted values ----------------------------------------------------------------------------- */

static const tile_type *permuted_type(schedule *s, const tile_type *type, const order *o) {
    tile_type draft = *type;
    for (unsigned d = 0; d < type->rank; d++) draft.dims[d] = type->dims[o->dims[d]];
    return tile_type_get(s->context, &draft);
}

static tile_value transposed(schedule *s, tile_builder *b, tile_value value, const order *o) {
    const tile_type *type = sched_type(s, value);
    int64_t list[TILE_MAX_RANK];
    for (unsigned d = 0; d < type->rank; d++) list[d] = o->dims[d];
    const tile_attr attr = {.id = TILE_ATTR_order, .list = list, .count = type->rank};
    const tile_segment segments[] = {{value, NULL, 0}};
    tile_op op =
        tile_build_op_of(b, TILE_OP_transpose, segments, 1, permuted_type(s, type, o), &attr, 1);
    if (!op.id) return TILE_NO_VALUE;
    tile_op_set_list(s->compute, op, TILE_ATTR_order, list, type->rank);
    return tile_op_result(s->compute, op, 0);
}

static tile_value permuted(mover *m, tile_value value, const order *o);

/* The order of a transpose's operand that gives the wanted order of its result. */
static order order_before(const schedule *s, tile_op op, const order *o) {
    const tile_attr *attr = tile_op_attr(s->compute, op, TILE_ATTR_order);
    unsigned rank = sched_type(s, tile_op_result(s->compute, op, 0))->rank;
    order own = {{0}};
    for (unsigned d = 0; d < rank; d++)
        own.dims[d] = attr ? (unsigned)attr->list[o->dims[d]] : rank - 1 - o->dims[d];
    return own;
}

/* The letters of dims in another order; false if spatial dims change their order among each other,
 * which lists of the operation follow. */
static bool permute_letters(char *letters, unsigned rank, const order *o) {
    char own[TILE_MAX_RANK];
    unsigned last = 0;
    memcpy(own, letters, rank);
    for (unsigned d = 0; d < rank; d++) {
        letters[d] = own[o->dims[d]];
        if (strchr("nck", letters[d])) continue;
        if (last > o->dims[d]) return false;
        last = o->dims[d];
    }
    return true;
}

/* A convolution reads each operand in the order of its memory, and has this order of its result. */
static tile_value permuted_convolution(mover *m, tile_op op, const order *o) {
    schedule *s = m->s;
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    char *dims = tile_arena_format(s->arena, "%s", tile_op_attr(f, op, TILE_ATTR_dims)->text);
    char *at = dims;
    const tile_type *type = sched_type(s, tile_op_result(f, op, 0));
    for (unsigned i = 0; i < 2; i++) {
        tile_value operand = tile_op_operand(f, op, i);
        const tile_value_data *data = tile_value_at(f, operand);
        unsigned rank = sched_type(s, operand)->rank;
        order own = {{0}};
        for (unsigned d = 0; d < rank; d++) own.dims[d] = d;
        if (data->kind == TILE_VALUE_ARG)
            own = order_of(s, data->type, f->args[data->index].strides);
        char kept[TILE_MAX_RANK];
        memcpy(kept, at, rank);
        if (!permute_letters(at, rank, &own))
            memcpy(at, kept, rank);
        else if (!is_identity(&own, rank))
            m->map[operand.id] = transposed(s, &b, operand, &own);
        at = strpbrk(at, ",>") + 1;
    }
    bool fits = permute_letters(at, type->rank, o);
    if (!fits) memcpy(at, strchr(tile_op_attr(f, op, TILE_ATTR_dims)->text, '>') + 1, type->rank);
    tile_op copy = tile_clone_op(&b, op, m->map, m->count);
    for (unsigned i = 0; i < 2; i++) m->map[tile_op_operand(f, op, i).id] = TILE_NO_VALUE;
    m->map[tile_op_result(f, op, 0).id] = TILE_NO_VALUE;
    tile_op_set_text(f, copy, TILE_ATTR_dims, dims);
    tile_value made = tile_op_result(f, copy, 0);
    if (!fits) return transposed(s, &b, made, o);
    tile_value_at(f, made)->type = permuted_type(s, type, o);
    return made;
}

static tile_value permuted_copy(mover *m, tile_op op, const order *o) {
    schedule *s = m->s;
    tile_function *f = s->compute;
    unsigned count = tile_op_operand_count(f, op);
    const tile_type *type = sched_type(s, tile_op_result(f, op, 0));
    tile_value *moved = TILE_NEW_ARRAY(s->arena, tile_value, count + 1);
    for (unsigned i = 0; i < count; i++) moved[i] = permuted(m, tile_op_operand(f, op, i), o);
    tile_builder b = tile_builder_before(f, op);
    for (unsigned i = 0; i < count; i++)
        if (tile_op_operand(f, op, i).id < m->count)
            m->map[tile_op_operand(f, op, i).id] = moved[i];
    tile_op copy = tile_clone_op(&b, op, m->map, m->count);
    for (unsigned i = 0; i < count; i++)
        if (tile_op_operand(f, op, i).id < m->count)
            m->map[tile_op_operand(f, op, i).id] = TILE_NO_VALUE;
    tile_value made = tile_op_result(f, copy, 0);
    m->map[tile_op_result(f, op, 0).id] = TILE_NO_VALUE;
    tile_value_at(f, made)->type = permuted_type(s, type, o);
    int64_t axis = sched_axis(s, op);
    for (unsigned d = 0; d < type->rank && axis >= 0; d++)
        if (o->dims[d] == axis) {
            tile_op_set_int(f, copy, TILE_ATTR_axis, d);
            break;
        }
    return made;
}

static tile_value permuted(mover *m, tile_value value, const order *o) {
    schedule *s = m->s;
    tile_function *f = s->compute;
    const tile_type *type = sched_type(s, value);
    if (type->kind != TILE_TYPE_TENSOR || is_identity(o, type->rank)) return value;
    for (const ordered_value *known = m->known; known; known = known->next)
        if (known->value.id == value.id && memcmp(&known->order, o, sizeof *o) == 0)
            return known->moved;
    tile_op op = tile_value_def(f, value);
    ordered_value *made = TILE_NEW(s->arena, ordered_value);
    *made = (ordered_value){.value = value, .order = *o};
    if (!op.id) {
        tile_op first = tile_region_at(f, f->body)->first;
        tile_builder b = tile_builder_before(f, first);
        b.loc = f->loc;
        made->moved = transposed(s, &b, value, o);
    } else if (tile_op_opcode(f, op) == TILE_OP_transpose) {
        order before = order_before(s, op, o);
        made->moved = permuted(m, tile_operand_src(f, op), &before);
    } else if (tile_op_opcode(f, op) == TILE_OP_convolve) {
        made->moved = permuted_convolution(m, op, o);
    } else {
        made->moved = permuted_copy(m, op, o);
    }
    made->next = m->known;
    m->known = made;
    return made->moved;
}

void sched_order_results(schedule *s) {
    size_t count = s->compute->value_count;
    mover m = {.s = s,
               .count = count,
               .map = TILE_NEW_ARRAY(s->arena, tile_value, count),
               .checked = TILE_NEW_ARRAY(s->arena, bool, count)};
    if (!wants_orders(&m)) return;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    s->declared = TILE_NEW_ARRAY(s->arena, sched_shape, f->result_count);
    for (size_t i = 0; i < f->result_count; i++) {
        tile_result_decl *result = &f->results[i];
        sched_shape *declared = &s->declared[i];
        order own = {{0}}, found = order_of(s, result->type, result->strides);
        memcpy(own.dims, found.dims, sizeof *own.dims * result->type->rank);
        declared->type = result->type;
        for (unsigned d = 0; d < result->type->rank; d++)
            declared->strides[d] = sched_resolved(s, result->strides[d]);
        for (unsigned d = 0; d < result->type->rank; d++)
            result->strides[d] = declared->strides[own.dims[d]];
        tile_value moved = permuted(&m, result->value, &own);
        if (!moved.id) {
            s->failed = true;
            return;
        }
        result->value = moved;
        result->type = sched_type(s, moved);
    }
}
