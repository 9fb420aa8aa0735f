/* Which reshapes and gathers of computed values are computed where they are used.
 *
 * The elements of an array that a kernel needs are at a map (map.c). If the coordinates of several
 * dims of the array are the parts of one coordinate, these dims are one dim of a view:
 *
 *     reshape(%x * %x : [64, 2048, 2048]) : [64, 4194304]
 *
 * reads %x at (i, j / 2048, j % 2048), which is (i, j) of %x as [64, 4194304].
 *
 * So a reshape of a computed value costs nothing if every array below it is still read in runs of
 * contiguous elements. It is not free, and the value is stored before it, if
 *
 *   - a product, a reduction, a window or a concat is below it: the kernel of a product or a
 *     reduction stores its result at moved positions instead (cut/moved.c). A result that a
 *     kernel has written already is an array (cut/behind_reshapes.c),
 *   - a large array would be read in runs of less than a sector (32 bytes),
 *   - extents are not provably split or merged.
 *
 * A small array, such as a bias, may be read at any position. Element-wise operations before a free
 * reshape are computed once for each element that is read, as if the reshape came before them.
 *
 * A gather of a computed value computes only the gathered elements, if there are at most as many of
 * them as elements of the value, and if each operation below it is element-wise or is a reduction
 * that does not depend on the index. */
#include "passes/schedule/kernel/schedule.h"

#include "lib/support/scalar.h"

/* Arrays --------------------------------------------------------------------------------------- */

static const tile_expr *count_elements(schedule *s, const tile_type *type) {
    const tile_expr *count = tile_expr_int(s->context, 1);
    for (unsigned d = 0; d < type->rank; d++)
        count = tile_expr_multiply(s->context, count, sched_dim(s, type, d));
    return count;
}

/* Returns whether an array has far fewer elements than the type. */
static bool is_small(schedule *s, const tile_type *array, const tile_type *type) {
    enum { FEWER = 8 };
    const tile_expr *few = count_elements(s, array), *many = count_elements(s, type);
    int64_t own = sched_constant(few), all = sched_constant(many);
    if (own >= 0 && all >= 0) return own <= all / FEWER;
    const tile_expr *times = sched_without(s, many, few);
    return times && !tile_expr_is(times, 1);
}

/* The contiguous elements along the last dim of an array. */
typedef struct array_run {
    int dim;   /* of the domain; -1: one element */
    bool part; /* a part of the dim, of at least a sector */
} array_run;

/* Returns false if the runs are shorter than a sector. */
static bool find_run(const sched_coordinate *at, unsigned bytes, array_run *run) {
    enum { SECTOR = 32 };
    *run = (array_run){at->dim, false};
    if (!at->index) return true;
    if (at->offset || !at->index->by.expr) return false;
    if (at->index->kind == SCHED_PAIR) return find_run(&at->index->b, bytes, run);
    int64_t length = sched_constant(at->index->by.expr);
    const sched_coordinate *of = &at->index->a;
    *run = (array_run){of->dim, true};
    return at->index->kind == SCHED_REM && (length < 0 || length * bytes >= SECTOR) && !of->index &&
           !of->offset;
}

static bool find_last_run(schedule *s, tile_value array, const sched_map *map, array_run *run) {
    sched_map at = *map;
    sched_shape shape = sched_find_shape(s, array);
    unsigned order[TILE_MAX_RANK], bytes = tile_scalar_bits(sched_element(s, array)->scalar) / 8;
    sched_merge_shape(s, &shape, &at);
    sched_memory_order(s, &shape, order);
    *run = (array_run){-1, false};
    for (unsigned i = shape.type->rank; i-- > 0;) {
        const unsigned d = order[i];
        const tile_expr *stride = shape.strides[0] ? shape.strides[d] : NULL;
        bool one = tile_expr_is(sched_dim(s, shape.type, d), 1);
        if ((one && i) || (stride && tile_expr_is(stride, 0))) continue;
        return (!stride || one || tile_expr_is(stride, 1)) && find_run(&at.at[d], bytes, run);
    }
    return true;
}

bool sched_stores_runs(schedule *s, tile_value value, const sched_map *map,
                       const sched_domain *domain, bool product) {
    array_run run;
    unsigned last = domain->rank;
    bool depends = false;
    if (!find_last_run(s, value, map, &run)) return false;
    while (last > 0 && tile_expr_is(domain->extents[last - 1], 1)) last--;
    for (unsigned d = 0; last && d < sched_type(s, value)->rank; d++)
        depends |= sched_depends(&map->at[d], last - 1);
    return product || !depends || run.dim == (int)last - 1;
}

/* Where the search for arrays began: the type of the reshape or of the gather, and the last dim
 * that is not 1. */
typedef struct search {
    schedule *s;
    const tile_type *type;
    int last;
    bool gathers;
    sched_mapped_value *visited;
    size_t count, capacity;
} search;

static bool reads_runs(search *f, tile_value array, const sched_map *map) {
    array_run run;
    if (f->gathers || is_small(f->s, sched_type(f->s, array), f->type)) return true;
    return find_last_run(f->s, array, map, &run) && (!run.part || run.dim == f->last);
}

/* The search ----------------------------------------------------------------------------------- */

enum { MOST_VISITED = 1000 };

static bool visit_first(search *f, tile_value value, const sched_map *map) {
    unsigned rank = sched_type(f->s, value)->rank;
    for (size_t i = f->count; i-- > 0;)
        if (f->visited[i].value.id == value.id && sched_same_map(&f->visited[i].map, map, rank))
            return false;
    f->visited =
        tile_arena_grow(f->s->arena, f->visited, f->count, &f->capacity, sizeof *f->visited);
    f->visited[f->count++] = (sched_mapped_value){value, *map};
    return true;
}

/* Returns whether the reduction's result is one number for each row, and a gather along the row
 * needs that number. */
static bool is_of_row(search *f, tile_op op, const sched_map *map) {
    const tile_type *type = sched_type(f->s, tile_op_result(f->s->compute, op, 0));
    if (!f->gathers || tile_op_dims(tile_op_opcode(f->s->compute, op)) != TILE_DIMS_folded)
        return false;
    return !sched_is_computed(type->rank, map);
}

static bool reaches_arrays(search *f, tile_value value, const sched_map *map) {
    schedule *s = f->s;
    tile_op op = tile_value_def(s->compute, value);
    if (sched_type(s, value)->kind != TILE_TYPE_TENSOR || !visit_first(f, value, map)) return true;
    if (f->count > MOST_VISITED) return false;
    if (!op.id) return reads_runs(f, value, map);
    if (sched_array_of(s, value) >= 0 && is_small(s, sched_type(s, value), f->type)) return true;
    if (sched_is_planned(s, value) && reads_runs(f, value, map)) return true;
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    unsigned result = value.id - tile_op_result(s->compute, op, 0).id;
    sched_map at;
    if (is_of_row(f, op, map) || opcode == TILE_OP_iota) return true;
    bool moves = opcode == TILE_OP_broadcast || opcode == TILE_OP_transpose ||
                 opcode == TILE_OP_slice || opcode == TILE_OP_splat;
    if (opcode == TILE_OP_reshape) {
        tile_value from = tile_operand_src(s->compute, op);
        return sched_reshaped(s, sched_type(s, from), sched_type(s, value), map, &at) &&
               reaches_arrays(f, from, &at);
    }
    if (!moves && !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE)) return false;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        at = sched_operand_map(s, op, result, i, map);
        if (!reaches_arrays(f, tile_op_operand(s->compute, op, i), &at)) return false;
    }
    return true;
}

static search begin_search(schedule *s, tile_value value, bool gathers) {
    search f = {.s = s, .type = sched_type(s, value), .last = -1, .gathers = gathers};
    for (unsigned d = 0; d < f.type->rank; d++)
        if (!tile_expr_is(sched_dim(s, f.type, d), 1)) f.last = (int)d;
    return f;
}

static sched_map identity_of(schedule *s, const tile_type *type) {
    sched_domain domain = {.rank = type->rank};
    for (unsigned d = 0; d < type->rank; d++) domain.extents[d] = sched_dim(s, type, d);
    return sched_identity(&domain);
}

static bool find_free_reshape(schedule *s, tile_op op) {
    tile_value from = tile_operand_src(s->compute, op), to = tile_op_result(s->compute, op, 0);
    search f = begin_search(s, to, false);
    sched_map map = identity_of(s, f.type), at;
    return tile_value_def(s->compute, from).id &&
           sched_reshaped(s, sched_type(s, from), f.type, &map, &at) &&
           reaches_arrays(&f, from, &at);
}

/* Gathers -------------------------------------------------------------------------------------- */

sched_map sched_gathered(schedule *s, tile_op op, const sched_map *map) {
    tile_value index = tile_operand_at(s->compute, op);
    sched_map out = *map;
    out.at[sched_axis(s, op)] = sched_indexed(s, index, map, sched_type(s, index)->rank);
    return out;
}

static bool has_no_more(schedule *s, const tile_type *few, const tile_type *many, int64_t axis) {
    const tile_expr *a = sched_dim(s, few, (unsigned)axis), *b = sched_dim(s, many, (unsigned)axis);
    int64_t own = sched_constant(a), all = sched_constant(b);
    return a == b || own == 1 || (own >= 0 && all >= 0 && own <= all);
}

static bool find_free_gather(schedule *s, tile_op op) {
    tile_value from = tile_operand_src(s->compute, op), to = tile_op_result(s->compute, op, 0);
    search f = begin_search(s, to, true);
    sched_map map = identity_of(s, f.type), at = sched_gathered(s, op, &map);
    return tile_value_def(s->compute, from).id &&
           has_no_more(s, f.type, sched_type(s, from), sched_axis(s, op)) &&
           reaches_arrays(&f, from, &at);
}

/* Caches ----------------------------------------------------------------------------------------
 */

enum { UNKNOWN, FREE, STORED };

bool sched_is_free(schedule *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    uint32_t id = tile_op_result(s->compute, op, 0).id;
    if (opcode != TILE_OP_reshape && opcode != TILE_OP_gather) return false;
    if (!s->free[id])
        s->free[id] =
            (opcode == TILE_OP_reshape ? find_free_reshape(s, op) : find_free_gather(s, op))
                ? FREE
                : STORED;
    return s->free[id] == FREE;
}

bool sched_becomes_free(schedule *s, tile_op reshape) {
    uint32_t id = tile_op_result(s->compute, reshape, 0).id;
    if (s->free[id] != FREE && find_free_reshape(s, reshape)) s->free[id] = FREE;
    return s->free[id] == FREE;
}
