/* Strides of a compute's tensors in memory.
 *
 * An argument or result with declared strides becomes a view argument with these strides. The
 * schedule keeps its dims in the order of the value. Only accesses (memory.c) and the choice of
 * tiles look at the order in memory:
 *
 *   - the tile of an access has its dims in the order of memory, the contiguous one last
 *   - a dim with stride 0 is read at coordinate 0, and its elements are repeated in registers
 *   - dims merge if the outer stride is the inner extent times the inner stride
 *
 * A reshape of a strided array is a view of it if the strides allow that. If they do not, an
 * operation between them gives the reshape an array of its own, row-major. */
#include "passes/schedule/kernel/schedule.h"

#include <string.h>

#include "lib/ir/operands.h"
#include "lib/ir/syntax.h"

/* Of an array --------------------------------------------------------------------------------- */

static const tile_expr *row_major(schedule *s, const tile_type *type, unsigned d) {
    const tile_expr *stride = tile_expr_int(s->context, 1);
    for (unsigned i = type->rank; i-- > d + 1;)
        stride = tile_expr_multiply(s->context, stride, sched_dim(s, type, i));
    return stride;
}

/* Returns whether both are the same product. */
static bool same_product(schedule *s, const tile_expr *a, const tile_expr *b) {
    const tile_expr *rest = a == b ? NULL : sched_without(s, a, b);
    return a == b || (rest && tile_expr_is(rest, 1));
}

/* Strides that are those of a row-major array are not strides. Those of dims of extent 1 do not
 * matter. */
static bool is_row_major(schedule *s, const tile_type *type, const tile_expr *const *strides) {
    for (unsigned d = 0; d < type->rank; d++)
        if (!tile_expr_is(sched_dim(s, type, d), 1) &&
            !same_product(s, strides[d], row_major(s, type, d)))
            return false;
    return true;
}

static const tile_expr *const *declared_strides(const schedule *s, sched_array *array) {
    const tile_function *f = s->compute;
    for (size_t i = 0; i < f->arg_count && array->place == SCHED_ARGUMENT; i++)
        if (f->args[i].value.id == array->value.id) return f->args[i].strides;
    for (size_t i = 0; i < f->result_count && array->place == SCHED_RESULT; i++)
        if (strcmp(f->results[i].name, array->name) == 0) {
            if (s->declared) array->declared = &s->declared[i];
            return f->results[i].strides;
        }
    return NULL;
}

int sched_array_of(const schedule *s, tile_value value) {
    for (size_t i = 0; i < s->array_count; i++)
        if (s->arrays[i].value.id == value.id) return (int)i;
    return -1;
}

int sched_writer_of(const schedule *s, unsigned array) {
    for (size_t i = 0; i < s->group_count; i++)
        for (size_t o = 0; o < s->groups[i]->output_count; o++)
            if (s->groups[i]->outputs[o].array == array) return (int)i;
    return -1;
}

bool sched_is_planned(const schedule *s, tile_value value) {
    int array = sched_array_of(s, value);
    return array >= 0 &&
           (s->arrays[array].place == SCHED_ARGUMENT || sched_writer_of(s, (unsigned)array) >= 0);
}

unsigned sched_add_array(schedule *s, const char *name, tile_value value, sched_place place) {
    sched_array array = {.name = name, .value = value, .place = place};
    const tile_expr *const *declared = declared_strides(s, &array);
    const tile_type *type = sched_type(s, value);
    for (unsigned d = 0; declared && declared[0] && d < type->rank; d++)
        array.strides[d] = sched_resolved(s, declared[d]);
    if (array.strides[0] && is_row_major(s, type, array.strides))
        memset(array.strides, 0, sizeof array.strides);
    s->arrays =
        tile_arena_grow(s->arena, s->arrays, s->array_count, &s->array_capacity, sizeof *s->arrays);
    s->arrays[s->array_count] = array;
    return (unsigned)s->array_count++;
}

tile_value sched_add_view(schedule *s, tile_function *f, unsigned array) {
    const sched_array *a = &s->arrays[array];
    const tile_type *type = a->declared ? a->declared->type : sched_type(s, a->value);
    const tile_expr *const *from = a->declared ? a->declared->strides : a->strides;
    const tile_expr *extents[TILE_MAX_RANK], *strides[TILE_MAX_RANK];
    for (unsigned d = 0; d < type->rank; d++) {
        extents[d] = sched_expr(s, type->dims[d]);
        if (from[0]) strides[d] = sched_expr(s, from[d]);
    }
    return tile_function_add_view_arg(f, a->name, sched_element(s, a->value), type->rank, extents,
                                      from[0] ? strides : NULL);
}

/* Order in memory ----------------------------------------------------------------------------- */

/* Returns whether stride a is provably smaller than b: a number, or a factor of it. */
static bool is_smaller(schedule *s, const tile_expr *a, const tile_expr *b) {
    int64_t x, y;
    bool numbers = tile_expr_is_int(a, &x) && tile_expr_is_int(b, &y);
    if (numbers || a == b) return numbers && x < y;
    return tile_expr_is(a, 1) || (!tile_expr_is(b, 1) && !tile_expr_is(b, 0) &&
                                  sched_without(s, b, a) && !sched_without(s, a, b));
}

void sched_memory_order(schedule *s, const sched_shape *shape, unsigned order[TILE_MAX_RANK]) {
    const unsigned rank = shape->type->rank;
    for (unsigned d = 0; d < rank; d++) {
        unsigned at = d;
        const bool one = !shape->strides[0] || tile_expr_is(sched_dim(s, shape->type, d), 1);
        for (; at && !one && is_smaller(s, shape->strides[order[at - 1]], shape->strides[d]); at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
}

unsigned sched_contiguous_dim(schedule *s, unsigned array) {
    unsigned order[TILE_MAX_RANK];
    sched_shape shape = sched_shape_of(s, array, s->arrays[array].value);
    sched_memory_order(s, &shape, order);
    return order[shape.type->rank - 1];
}

/* Reshapes ------------------------------------------------------------------------------------ */

/* The number of last dims whose extents multiply to the one extent; 0 if that is not provable. All
 * remaining dims of both sides always have equally many elements. */
static unsigned count_together(schedule *s, const sched_dims *many, const sched_dims *one) {
    const tile_expr *rest = one->extents[one->count - 1];
    for (unsigned n = 1; n <= many->count; n++) {
        rest = sched_without(s, rest, many->extents[many->count - n]);
        if (!rest) break;
        if (tile_expr_is(rest, 1)) return n;
    }
    return one->count == 1 ? many->count : 0;
}

/* Merges the last n dims. False if they are not contiguous. */
static bool merge_strides(schedule *s, const sched_shape *from, const sched_dims *a, unsigned n,
                          const tile_expr **stride) {
    *stride = from->strides[a->at[a->count - 1]];
    for (unsigned d = a->count - n; d + 1 < a->count; d++)
        if (!sched_is_contiguous(s, from->strides[a->at[d]], a->extents[d + 1],
                                 from->strides[a->at[d + 1]]))
            return false;
    return true;
}

bool sched_is_contiguous(schedule *s, const tile_expr *outer, const tile_expr *extent,
                         const tile_expr *inner) {
    const tile_expr *step = tile_expr_multiply(s->context, extent, inner);
    const tile_expr *rest = sched_without(s, outer, step);
    return outer == step || (rest && tile_expr_is(rest, 1));
}

bool sched_reshape_strides(schedule *s, const sched_shape *from, const tile_type *to,
                           const tile_expr *strides[TILE_MAX_RANK]) {
    sched_dims a = sched_long_dims(s, from->type), b = sched_long_dims(s, to);
    for (unsigned d = 0; d < to->rank; d++) strides[d] = NULL;
    while (a.count && b.count) {
        const unsigned first = a.at[0], first_to = b.at[0];
        unsigned merged = count_together(s, &a, &b), split = merged ? 1 : count_together(s, &b, &a);
        if (!split && a.extents[0] != b.extents[0]) return false;
        if (!split) {
            sched_drop_first(&a);
            sched_drop_first(&b);
            strides[first_to] = from->strides[first];
            continue;
        }
        const tile_expr *stride;
        if (!merge_strides(s, from, &a, merged ? merged : 1, &stride)) return false;
        for (unsigned i = 1; i <= split; i++) {
            strides[b.at[b.count - i]] = stride;
            stride = tile_expr_multiply(s->context, b.extents[b.count - i], stride);
        }
        a.count -= merged ? merged : 1;
        b.count -= split;
    }
    /* Those of dims of extent 1 do not matter. */
    for (unsigned d = to->rank; d-- > 0;) {
        if (strides[d]) continue;
        strides[d] = tile_expr_int(s->context, 1);
        if (d + 1 < to->rank)
            strides[d] = tile_expr_multiply(s->context, sched_dim(s, to, d + 1), strides[d + 1]);
    }
    return true;
}

sched_shape sched_shape_of(schedule *s, unsigned array, tile_value value) {
    const sched_array *a = &s->arrays[array];
    sched_shape shape = {.type = sched_type(s, value)};
    if (!a->strides[0]) return shape;
    if (value.id == a->value.id) {
        memcpy(shape.strides, a->strides, sizeof shape.strides);
        return shape;
    }
    tile_op op = tile_value_def(s->compute, value);
    const sched_shape from = sched_shape_of(s, array, tile_operand_src(s->compute, op));
    sched_reshape_strides(s, &from, shape.type, shape.strides);
    return shape;
}

/* Inserts an operation that gives the reshape's operand an array of its own. */
static void copy_operand(schedule *s, tile_op op) {
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, op);
    tile_value src = tile_operand_src(f, op);
    const unsigned rank = sched_type(s, src)->rank;
    int64_t order[TILE_MAX_RANK];
    for (unsigned d = 0; d < rank; d++) order[d] = d;
    const tile_attr attr = {.id = TILE_ATTR_order, .list = order, .count = rank};
    const tile_segment segments[] = {{src, NULL, 0}};
    tile_op copy =
        tile_build_op_of(&b, TILE_OP_transpose, segments, 1, sched_type(s, src), &attr, 1);
    tile_op_set_list(f, copy, TILE_ATTR_order, order, rank);
    tile_set_operand(f, op, TILE_OPERAND_src, tile_op_result(f, copy, 0));
}

/* The shape of a value that is an array with strides, or a reshape of one that is a view of it.
 * False: neither. */
static bool find_shape(schedule *s, tile_value value, sched_shape *shape) {
    const tile_function *f = s->compute;
    tile_op op = tile_value_def(f, value);
    sched_shape from;
    *shape = (sched_shape){.type = sched_type(s, value)};
    for (size_t i = 0; i < f->arg_count && !op.id; i++)
        if (f->args[i].value.id == value.id && f->args[i].strides[0])
            memcpy(shape->strides, f->args[i].strides, sizeof shape->strides);
    for (size_t i = 0; i < f->result_count && !shape->strides[0]; i++)
        if (f->results[i].value.id == value.id && f->results[i].strides[0])
            memcpy(shape->strides, f->results[i].strides, sizeof shape->strides);
    if (shape->strides[0]) {
        for (unsigned d = 0; d < shape->type->rank; d++)
            shape->strides[d] = sched_resolved(s, shape->strides[d]);
        return !is_row_major(s, shape->type, shape->strides);
    }
    return op.id && tile_op_opcode(f, op) == TILE_OP_reshape &&
           find_shape(s, tile_operand_src(f, op), &from) &&
           sched_reshape_strides(s, &from, shape->type, shape->strides);
}

sched_shape sched_find_shape(schedule *s, tile_value value) {
    sched_shape shape;
    return find_shape(s, value, &shape) ? shape : (sched_shape){.type = sched_type(s, value)};
}

static bool needs_copy(schedule *s, tile_op op) {
    sched_shape from, to = {.type = sched_type(s, tile_op_result(s->compute, op, 0))};
    return tile_op_opcode(s->compute, op) == TILE_OP_reshape &&
           find_shape(s, tile_operand_src(s->compute, op), &from) &&
           !sched_reshape_strides(s, &from, to.type, to.strides);
}

void sched_copy_reshaped(schedule *s) {
    bool found = false;
    TILE_FOR_EACH_OP_INSIDE (s->compute, op, s->compute->body) found |= needs_copy(s, op);
    if (!found) return;
    sched_clone_compute(s);
    TILE_FOR_EACH_OP_INSIDE (s->compute, op, s->compute->body)
        if (needs_copy(s, op)) copy_operand(s, op);
}
