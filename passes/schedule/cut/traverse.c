/* Traverses the computation of a value up to values that are, or must be, in memory. */
#include "passes/schedule/cut/online.h"

#include "lib/ir/cost.h"
#include "lib/ops/combine.h"
#include "passes/schedule/kernel/packed.h"
#include "passes/schedule/kernel/scaled.h"

bool sched_is_tensor(const schedule *s, tile_value value) {
    return sched_type(s, value)->kind == TILE_TYPE_TENSOR;
}

sched_domain sched_domain_of(schedule *s, tile_value value) {
    const tile_type *type = sched_type(s, value);
    sched_domain domain = {.rank = type->rank};
    for (unsigned d = 0; d < type->rank; d++) domain.extents[d] = sched_dim(s, type, d);
    return domain;
}

/* Traversal ------------------------------------------------------------------------------------ */

static void add_stop(sched_traversal *w, tile_value value, const sched_map *map) {
    w->stops =
        tile_arena_grow(w->s->arena, w->stops, w->stop_count, &w->stop_capacity, sizeof *w->stops);
    bool in_window = w->inside && w->g && w->g->kind == SCHED_WINDOWED;
    w->stops[w->stop_count++] = (sched_mapped_stop){value, *map, w->own_domain || in_window};
}

/* Adds an array that is read at positions outside the group's domain. */
static void add_stop_with_own_domain(sched_traversal *w, tile_value value, const sched_map *map) {
    bool own_domain = w->own_domain;
    w->own_domain = true;
    add_stop(w, value, map);
    w->own_domain = own_domain;
}

/* Adds a value of which all elements are needed. */
static void add_whole(sched_traversal *w, tile_value value) {
    sched_domain own = sched_domain_of(w->s, value);
    sched_map at = sched_identity(&own);
    add_stop_with_own_domain(w, value, &at);
}

/* A reshape of a value that the group has, which needs no computed coordinates, or only before
 * other reshapes. */
static bool is_identity_reshape(const sched_traversal *w, tile_op op, const sched_map *map) {
    schedule *s = w->s;
    const tile_type *to = sched_type(s, tile_op_result(s->compute, op, 0));
    sched_map at;
    if (tile_op_opcode(s->compute, op) != TILE_OP_reshape) return false;
    const tile_type *from = sched_type(s, tile_operand_src(s->compute, op));
    bool passed = w->passed && w->passed[tile_op_result(s->compute, op, 0).id];
    return sched_reshaped(s, from, to, map, &at) && (passed || !sched_is_computed(from->rank, &at));
}

/* A reshape of the product's result, on the way to the value that the group stores. */
static bool is_traversed_reshape(const sched_traversal *w, tile_op op) {
    const schedule *s = w->s;
    return w->through.id && !w->own_domain && tile_op_opcode(s->compute, op) == TILE_OP_reshape &&
           sched_moved_product(s, tile_operand_src(s->compute, op)).id == w->through.id;
}

/* Returns whether the group has the array's value in registers: it computes it before it stores
 * it. */
static bool has_in_registers(const sched_traversal *w, int array) {
    return w->g && w->g->has_rows && !w->own_domain && sched_is_output(w->g, array);
}

/* A reshape of what a product's epilogue computes. Reshapes of other arrays are views. */
static bool is_reshape_in_rows(sched_traversal *w, tile_op op, const sched_map *map) {
    schedule *s = w->s;
    sched_map at;
    if (!w->g || !w->g->has_rows || w->own_domain ||
        tile_op_opcode(s->compute, op) != TILE_OP_reshape)
        return false;
    tile_value result = tile_op_result(s->compute, op, 0), from = tile_operand_src(s->compute, op);
    int array = sched_array_of(s, sched_skip_reshapes(s, from, TILE_NO_VALUE));
    return (array < 0 || has_in_registers(w, array)) &&
           sched_regrouped(s, sched_type(s, from), sched_type(s, result), map, &at);
}

static bool is_absorbed(sched_traversal *w, tile_op op, const sched_map *map);
static bool is_compacted(const sched_traversal *w, tile_op op);
static void traverse_gathered(sched_traversal *w, tile_op op, const sched_map *map);
static void traverse_windowed(sched_traversal *w, tile_op op, const sched_map *map);

static void push(sched_traversal *w, tile_value value, const sched_map *map) {
    w->pending = tile_arena_grow(w->s->arena, w->pending, w->pending_count, &w->pending_capacity,
                                 sizeof *w->pending);
    w->pending[w->pending_count++] = (sched_mapped_stop){value, *map, w->own_domain};
}

static void traverse_gathered(sched_traversal *w, tile_op op, const sched_map *map) {
    tile_value src = tile_operand_src(w->s->compute, op);
    sched_map at = sched_gathered(w->s, op, map);
    if (sched_array_of(w->s, src) >= 0 || !sched_is_free(w->s, op))
        add_whole(w, src);
    else
        push(w, src, &at);
}

/* Visits one value. Its operands become pending, the first one last. */
static void traverse_one(sched_traversal *w, tile_value value, const sched_map *map, bool outer) {
    schedule *s = w->s;
    tile_op op = tile_value_def(s->compute, value);
    if (!sched_is_tensor(s, value) || !sched_visit_first(s, &w->done, value, map)) return;
    int array = sched_array_of(s, value);
    bool in_memory = array >= 0 && !outer && !has_in_registers(w, array);
    bool reads = in_memory && w->g && w->g->kind == SCHED_WINDOWED && !w->g->recomputes;
    if (op.id && !reads && is_absorbed(w, op, map)) return;
    if (in_memory || !op.id ||
        (!sched_is_inline(s, op) && !is_identity_reshape(w, op, map) &&
         !is_traversed_reshape(w, op) && !is_reshape_in_rows(w, op, map))) {
        add_stop(w, value, map);
        return;
    }
    unsigned result = value.id - tile_op_result(s->compute, op, 0).id, first = 0;
    if (tile_op_opcode(s->compute, op) == TILE_OP_gather) {
        traverse_gathered(w, op, map);
        first = 1;
    }
    if (tile_op_opcode(s->compute, op) == TILE_OP_window) {
        if (is_compacted(w, op))
            add_stop(w, value, map);
        else
            traverse_windowed(w, op, map);
        return;
    }
    for (unsigned i = tile_op_operand_count(s->compute, op); i-- > first;) {
        sched_map at = sched_operand_map(s, op, result, i, map);
        push(w, tile_op_operand(s->compute, op, i), &at);
    }
}

void sched_traverse_value(sched_traversal *w, tile_value value, const sched_map *map, bool outer) {
    size_t before = w->pending_count;
    traverse_one(w, value, map, outer);
    while (w->pending_count > before) {
        sched_mapped_stop next = w->pending[--w->pending_count];
        traverse_one(w, next.value, &next.map, false);
    }
}

sched_mapped_value sched_skip_broadcasts(schedule *s, sched_mapped_value at) {
    tile_op op;
    while ((op = tile_value_def(s->compute, at.value)).id &&
           tile_op_dims(tile_op_opcode(s->compute, op)) == TILE_DIMS_stretched)
        at = sched_mapped_operand(s, op, 0, &at.map);
    return at;
}

/* Returns whether `value` is `from` or depends on it. */
static bool depends(const schedule *s, tile_value value, tile_value from, bool *visited) {
    tile_op op = tile_value_def(s->compute, value);
    if (value.id == from.id) return true;
    if (!op.id || visited[value.id]) return false;
    visited[value.id] = true;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        if (depends(s, tile_op_operand(s->compute, op, i), from, visited)) return true;
    return false;
}

bool sched_is_computed_from(const schedule *s, tile_value value, tile_value from) {
    return depends(s, value, from, TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count));
}

/* Rows ---------------------------------------------------------------------------------------- */

bool sched_is_reduction(const schedule *s, tile_op op) {
    return tile_op_dims(tile_op_opcode(s->compute, op)) == TILE_DIMS_folded ||
           sched_is_along(s, op);
}

bool sched_same_domain(const sched_domain *a, const sched_domain *b) {
    if (a->rank != b->rank) return false;
    for (unsigned d = 0; d < a->rank; d++)
        if (a->extents[d] != b->extents[d]) return false;
    return true;
}

bool sched_is_chunked_scan(schedule *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    int64_t axis = sched_axis(s, op);
    if (tile_combines_by_function(opcode)) return true;
    if (opcode != TILE_OP_scan) return false;
    const tile_type *type = sched_type(s, tile_operand_src(s->compute, op));
    if (axis < 0 || axis >= type->rank) return false;
    int64_t known = sched_constant(sched_dim(s, type, (unsigned)axis));
    return known < 0 || known > TILE_MAX_SORTED_ROW;
}

/* Returns whether op is a reduction of the group's rows: of an array with the domain's extents,
 * along its axis, and needed at the tile's rows. */
static bool reduces_rows(const schedule *s, const sched_group *g, tile_op op,
                         const sched_map *map) {
    if (!sched_is_reduction(s, op) || sched_axis(s, op) != g->axis) return false;
    sched_domain source =
        sched_domain_of((schedule *)(uintptr_t)s, tile_operand_src(s->compute, op));
    sched_map identity = sched_identity(&g->domain);
    if (!sched_same_domain(&source, &g->domain)) return false;
    for (unsigned d = 0; d < source.rank; d++)
        if ((d != g->axis || sched_is_along(s, op)) &&
            !sched_same_coordinate(&map->at[d], &identity.at[d]))
            return false;
    return true;
}

void sched_add_reduction(schedule *s, sched_group *g, tile_op op) {
    for (size_t i = 0; i < g->reduction_count; i++)
        if (g->reductions[i].id == op.id) return;
    g->reductions = tile_arena_grow(s->arena, g->reductions, g->reduction_count,
                                    &g->reduction_capacity, sizeof *g->reductions);
    g->reductions[g->reduction_count++] = op;
}

/* In a product's kernel, element-wise functions of an operand are recomputed for each tile: casts,
 * scales and similar functions of one array. Operations that only move elements (sched_is_inline)
 * are free, except gather, which loads single elements from arbitrary addresses. */
static bool is_cheap(tile_opcode opcode) {
    return opcode != TILE_OP_gather && !tile_op_is_costly(opcode);
}

/* The maximum number of operations that may be recomputed for an element wherever it is used.
 * Windows of windows with n levels need about n * n / 2. */
enum { MAX_REPEATED = 64 };

typedef enum repetition { ALWAYS_REPEATED, REPEATED_IF_CHEAP, NEVER_REPEATED } repetition;

/* Cached result, and the number of arrays when it was found; 0: none. */
typedef struct sched_repeat {
    size_t arrays;
    repetition found;
} sched_repeat;

static bool stops_at(const sched_traversal *w, tile_value value) {
    for (size_t n = 0; n < w->stop_count; n++)
        if (w->stops[n].value.id == value.id) return true;
    return false;
}

/* Returns whether at most one of the arrays is larger than a row. */
static bool reads_little(const sched_traversal *w) {
    schedule *s = w->s;
    unsigned large = 0;
    for (size_t i = 0; i < w->stop_count; i++) {
        const tile_type *type = sched_type(s, w->stops[i].value);
        unsigned extents = 0;
        tile_value read = sched_skip_reshapes(s, w->stops[i].value, TILE_NO_VALUE);
        if (sched_array_of(s, read) < 0) return false;
        for (unsigned d = 0; d < type->rank; d++)
            extents += !tile_expr_is(sched_dim(s, type, d), 1);
        large += extents > 1;
    }
    return large <= 1;
}

static repetition measure_repetition(const sched_traversal *w) {
    schedule *s = w->s;
    unsigned computed = 0;
    for (size_t i = 0; i < w->done.count; i++) {
        tile_op op = tile_value_def(s->compute, w->done.items[i].value);
        if (!op.id || stops_at(w, w->done.items[i].value)) continue;
        tile_opcode opcode = tile_op_opcode(s->compute, op);
        if (!is_cheap(opcode)) return NEVER_REPEATED;
        computed += tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
    }
    if (!reads_little(w)) return NEVER_REPEATED;
    return computed > MAX_REPEATED ? REPEATED_IF_CHEAP : ALWAYS_REPEATED;
}

static repetition find_repetition(schedule *s, tile_value value) {
    if (!s->repeats) s->repeats = TILE_NEW_ARRAY(s->arena, sched_repeat, s->compute->value_count);
    if (s->repeats[value.id].arrays != s->array_count) {
        sched_traversal alone = {.s = s};
        sched_domain own = sched_domain_of(s, value);
        sched_map at = sched_identity(&own);
        sched_traverse_value(&alone, value, &at, false);
        s->repeats[value.id] = (sched_repeat){s->array_count, measure_repetition(&alone)};
    }
    return s->repeats[value.id].found;
}

bool sched_may_repeat(schedule *s, tile_value value) {
    return find_repetition(s, value) == ALWAYS_REPEATED;
}

bool sched_is_expensive_to_repeat(schedule *s, tile_value value) {
    return find_repetition(s, value) == REPEATED_IF_CHEAP;
}

/* Returns whether the coordinate is a quotient, so that neighbors of the product do not follow each
 * other along the dim (products/order.c). */
static bool has_quotient(const sched_coordinate *at) {
    while (at->index && at->index->kind == SCHED_REM) at = &at->index->a;
    return at->index && at->index->kind == SCHED_DIV;
}

/* The operand of a cast, or of a reshape that keeps the last dim; none of other operations. */
static tile_value before_reshape(schedule *s, tile_op op, const tile_type *to) {
    const tile_opcode opcode = tile_op_opcode(s->compute, op);
    if (opcode != TILE_OP_cast && opcode != TILE_OP_reshape) return TILE_NO_VALUE;
    const tile_value src = tile_operand_src(s->compute, op);
    const tile_type *from = sched_type(s, src);
    bool same = sched_dim(s, from, from->rank - 1u) == sched_dim(s, to, to->rank - 1u);
    return same ? src : TILE_NO_VALUE;
}

/* The transpose, if the value is one whose last dim is another one of its source, possibly with
 * other dims reshaped. */
static tile_op find_turning(schedule *s, tile_value value) {
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id) {
        const tile_type *type = sched_type(s, value);
        const unsigned last = type->rank - 1u;
        if (tile_op_opcode(s->compute, op) == TILE_OP_transpose)
            return sched_transposed_dim(s, op, last) != last ? op : TILE_NO_OP;
        value = before_reshape(s, op, type);
        if (!value.id) break;
    }
    return TILE_NO_OP;
}

static bool changes_last_dim(schedule *s, tile_value value) {
    return find_turning(s, value).id != 0;
}

/* Returns whether a product reads the operand, a transpose in a batch, from memory: the rows of its
 * source begin at odd multiples of 2 bytes, so that they would be read element by element, and its
 * own rows can be copied by TMA. Other arrays with such rows are packed if that is estimated to
 * pay (passes/pack). */
static bool has_aligned_rows_only(schedule *s, tile_value operand) {
    enum { LEAST = 4, MAP = 16 /* bytes */ };
    const tile_type *to = sched_type(s, operand);
    const tile_op transpose = find_turning(s, operand);
    if (!transpose.id) return false;
    const tile_type *from = sched_type(s, tile_operand_src(s->compute, transpose));
    if (from->rank < 3) return false;
    const int64_t own = sched_constant(sched_dim(s, to, to->rank - 1u)),
                  row = sched_constant(sched_dim(s, from, from->rank - 1u)),
                  bytes = from->param ? 0 : tile_scalar_bytes(from->scalar);
    return own > 0 && row > 1 && row * bytes % LEAST != 0 && own * bytes % MAP == 0;
}

/* Returns whether a product reads the windows, which have one position each, from memory: the
 * windowed dims are the last ones, and their strides would make it read each element alone. */
static bool is_compacted(const sched_traversal *w, tile_op op) {
    schedule *s = w->s;
    const tile_type *to = sched_type(s, tile_op_result(s->compute, op, 0));
    const unsigned count = tile_operands_strides(s->compute, op).count;
    const unsigned end = (unsigned)sched_axis(s, op) + count;
    if (!w->own_domain || end + count != to->rank) return false;
    for (unsigned d = end; d < to->rank; d++)
        if (!tile_expr_is(sched_dim(s, to, d), 1)) return false;
    return true;
}

/* Each element of src is in several windows, so expensive values are stored. A product reads the
 * windows of a transpose from memory if their last dim is contiguous there only: it would read each
 * element alone otherwise (lib/ops/convolution_form.c). */
static void traverse_windowed(sched_traversal *w, tile_op op, const sched_map *map) {
    schedule *s = w->s;
    tile_value src = tile_operand_src(s->compute, op);
    sched_map at = sched_operand_map(s, op, 0, 0, map);
    const unsigned rank = sched_type(s, src)->rank;
    const unsigned end = (unsigned)sched_axis(s, op) + tile_operands_strides(s->compute, op).count;
    bool stored =
        w->own_domain && end < rank && !sched_pads_last_dim(s, op) && changes_last_dim(s, src) &&
        !has_quotient(&map->at[sched_type(s, tile_op_result(s->compute, op, 0))->rank - 1]);
    const tile_op def = tile_value_def(s->compute, src);
    bool is_window = def.id && tile_op_opcode(s->compute, def) == TILE_OP_window;
    if (!stored && (is_window || sched_may_repeat(s, src) || sched_may_nest(w, src)))
        sched_traverse_value(w, src, &at, false);
    else
        add_stop_with_own_domain(w, src, &at);
}

/* An operand's coordinates are [.., m, k] or [.., k, n], not those of the product. Expensive
 * operands are stored. */
static void traverse_operand(sched_traversal *w, tile_op matmul, unsigned index) {
    schedule *s = w->s;
    tile_value operand = tile_op_operand(s->compute, matmul, index);
    sched_domain own = sched_domain_of(s, operand);
    sched_map at = sched_identity(&own);
    w->own_domain = true;
    bool stored = sched_original_operand(s, operand).id || sched_packed_of(s, matmul) ||
                  has_aligned_rows_only(s, operand);
    if (s->expands[operand.id] || (!stored && sched_may_repeat(s, operand)))
        sched_traverse_value(w, operand, &at, false);
    else
        add_stop(w, sched_array_of(s, operand) < 0 ? sched_multiplied(s, matmul, index) : operand,
                 &at);
    w->own_domain = false;
}

static bool is_folded(sched_traversal *w, tile_op op) {
    const sched_inner_product *inner = sched_find_inner(w->g->online, op);
    const sched_carried_reduction *fold = sched_find_carried_reduction(w->g->online, op);
    for (unsigned i = 0; inner && i < 2; i++) add_whole(w, inner->sides[i].from.value);
    if (fold) sched_traverse_value(w, fold->source.value, &fold->source.map, false);
    if (fold && fold->product) add_whole(w, fold->rhs.from.value);
    return inner || fold;
}

/* Returns whether a product's epilogue reduces op's operand, and traverses it. */
static bool is_reduced_in_epilogue(sched_traversal *w, tile_op op, const sched_map *map) {
    schedule *s = w->s;
    sched_group *g = w->g;
    if (tile_op_opcode(s->compute, op) != TILE_OP_reduce) return false;
    const int64_t axis = sched_axis(s, op);
    const tile_value src = tile_operand_src(s->compute, op);
    const int array = sched_array_of(s, tile_op_result(s->compute, op, 0));
    const int last = (int)g->reduced;
    sched_map at, row;
    if ((array >= 0 && !has_in_registers(w, array)) ||
        !sched_map_in(s, &g->rows, sched_type(s, src), &at) || at.at[axis].dim != last ||
        at.at[axis].offset)
        return false;
    row = at;
    row.at[axis] = sched_zero_coordinate();
    for (unsigned d = 0; d < sched_type(s, src)->rank; d++)
        if (sched_depends(&row.at[d], (unsigned)last)) return false;
    if (!sched_same_map(&row, map, sched_type(s, src)->rank)) return false;
    sched_traverse_value(w, src, &at, false);
    sched_add_reduction(s, g, op);
    return true;
}

/* Returns whether the group itself computes op, and traverses its operands. */
static bool is_absorbed(sched_traversal *w, tile_op op, const sched_map *map) {
    schedule *s = w->s;
    sched_group *g = w->g;
    if (!g || w->own_domain) return false;
    if (g->kind == SCHED_ONLINE) return is_folded(w, op);
    if (g->kind == SCHED_WINDOWED) return sched_absorb_windowed(w, op, map);
    if (g->has_rows && is_reduced_in_epilogue(w, op, map)) return true;
    if (g->kind == SCHED_MATMUL && (op.id == g->root.id || op.id == g->dual.id)) {
        sched_map own;
        const tile_type *type = sched_type(s, tile_op_result(s->compute, op, 0));
        if (g->has_rows) {
            bool same = sched_map_in(s, &g->rows, type, &own);
            w->outside |= !same || !sched_same_map(&own, map, type->rank);
        }
        for (unsigned i = 0; i < 2; i++) traverse_operand(w, op, i);
        const sched_scaled *scaled = sched_scaled_of(s, op);
        for (unsigned i = 0; scaled && i < scaled->count; i++)
            add_whole(w, scaled->scales[i].value);
        const sched_packed *packed = sched_packed_of(s, op);
        if (packed && packed->scale.id) add_whole(w, packed->scale);
        return true;
    }
    if (g->kind != SCHED_ROWS || (g->own_domain && w->inside) || !reduces_rows(s, g, op, map))
        return false;
    if (g->chains ? op.id != g->root.id : sched_is_chunked_scan(s, op)) return false;
    sched_map at = sched_identity(&g->domain);
    bool inside = w->inside;
    w->inside = true;
    const tile_values src = tile_operands_src(s->compute, op);
    unsigned count = tile_combines_by_function(tile_op_opcode(s->compute, op)) ? src.count : 1;
    for (unsigned i = count; i-- > 0;) sched_traverse_value(w, src.at[i], &at, false);
    w->inside = inside;
    sched_add_reduction(s, g, op);
    return true;
}
