/* dot by a warpgroup: matrix descriptors for its operands and a sequence of wgmma.
 *
 * A warpgroup's share of the accumulator is divided into blocks of one instruction each: 64 rows,
 * and as many columns as are contiguous. For each 32 bytes of k, each block gets one wgmma. An
 * operand in shared memory is read in place: block and step offsets are constants, and the offsets
 * of stage and warpgroup are added once. All wgmma of the dot form one group; waiting for it makes
 * the accumulator available.
 *
 * An operand that is rounded to tf32 in registers is loaded and rounded step by step (rounds). If
 * the dot is `async`, each step is a group of its own. It first waits until fewer groups are
 * pending than a dot has. The same step of the dot before is then complete, so ptxas can use its
 * registers again.
 *
 * Sums of 8-bit floats are promoted to f32 registers every 128 elements of k, unless the dot is
 * `fast`. If an `fma` scales and adds these sums, it takes the place of the addition. An `async`
 * dot of at most 128 elements that begins from zero has nothing to add, and is not waited for.
 *
 * With `async`, dot_wait waits for the result. If blocks of several rows have equal sums, the dot
 * itself waits, because pending registers may have only one user. */
#include "lib/analysis/product.h"
#include "lib/ir/regions.h"
#include "lib/layout/layout.h"
#include "lib/ops/gather.h"
#include "lib/support/scalar.h"
#include "passes/lower/wgmma.h"

/* The start of a block, in the first warpgroup's share. */
typedef struct block_place {
    uint32_t row, column;
} block_place;

/* The blocks of the accumulator. */
typedef struct block_list {
    const tile_layout *layout;
    tile_scalar scalar;
    unsigned row_dim;
    uint32_t columns;
    unsigned count, size; /* size: registers per block */
    block_place *at;
    int64_t *order; /* block by block: the tile's register */
    tile_value *parts;
} block_list;

/* 1. The accumulator. ------------------------------------------------------------------------- */

static const tile_type *block_type(lowering *l, const block_list *list) {
    return lower_part_type(l, list->scalar, list->size);
}

/* The register of thread 0 that holds an element; it exists. */
static int64_t find_register(const tile_layout *layout, const uint32_t at[2]) {
    uint32_t index = tile_layout_index(layout, at), r = 0;
    while (tile_layout_apply(layout, r, 0, 0) != index) r++;
    return r;
}

/* A block's registers in the instruction's order: two columns, then the same in the instruction's
 * row 8, then 8 columns further. */
static void order_block(const block_list *list, unsigned block) {
    int64_t *order = list->order + (size_t)block * list->size;
    uint32_t far = tile_wgmma_far_row(list->layout, list->row_dim);
    for (unsigned i = 0; i < list->size; i++) {
        uint32_t at[2];
        at[list->row_dim] = list->at[block].row + far * (i / 2 % 2);
        at[1 - list->row_dim] = list->at[block].column + 8 * (i / 4) + i % 2;
        order[i] = find_register(list->layout, at);
    }
}

static block_list find_blocks(lowering *l, const tile_type *acc, const warpgroup_plan *plan) {
    const tile_layout *layout = acc->layout;
    block_list list = {.layout = layout, .scalar = acc->scalar};
    list.row_dim = plan->row_dim;
    list.columns = plan->columns;
    uint32_t registers = tile_layout_registers(layout);
    list.size = plan->columns / 2;
    unsigned most = registers / list.size;
    list.at = TILE_NEW_ARRAY(l->pass->scratch, block_place, most);
    list.order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, registers);
    list.parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, most);
    for (uint32_t r = 0; r < registers; r++) {
        uint32_t index = tile_layout_apply(layout, r, 0, 0);
        uint32_t row = tile_layout_coordinate(layout, index, plan->row_dim);
        uint32_t column = tile_layout_coordinate(layout, index, 1 - plan->row_dim);
        if (row % TILE_WGMMA_ROWS || column % plan->columns) continue;
        list.at[list.count] = (block_place){row, column};
        order_block(&list, list.count++);
    }
    return list;
}

static bool is_in_row(const int64_t *order, unsigned count) {
    bool in_row = true;
    for (unsigned i = 1; i < count; i++) in_row &= order[i] == order[0] + i;
    return in_row;
}

static tile_value permute(lowering *l, tile_value from, const int64_t *order, unsigned count) {
    const tile_type *type = tile_value_type(l->f, from);
    tile_value picked = tile_build_permute(
        &l->builder, from, tile_type_vector(tile_function_context(l->f), type->scalar, count));
    tile_op_set_list(l->f, tile_value_def(l->f, picked), TILE_ATTR_order, order, count);
    return picked;
}

static void cut_blocks(lowering *l, block_list *list, tile_value acc) {
    bool one = tile_type_elements(tile_value_type(l->f, acc)) == list->size;
    for (unsigned b = 0; b < list->count; b++) {
        const int64_t *order = list->order + (size_t)b * list->size;
        bool in_row = is_in_row(order, list->size);
        list->parts[b] = in_row && one ? acc
                         : in_row ? tile_build_extract(&l->builder, acc, lower_int(l, order[0]),
                                                       block_type(l, list))
                                  : permute(l, acc, order, list->size);
    }
}

static tile_value join_blocks(lowering *l, const block_list *list) {
    unsigned registers = list->count * list->size;
    tile_value all = list->count == 1 ? list->parts[0]
                                      : tile_build_concat(&l->builder, list->parts, list->count);
    if (is_in_row(list->order, registers)) return all;
    int64_t *back = TILE_NEW_ARRAY(l->pass->scratch, int64_t, registers);
    for (unsigned i = 0; i < registers; i++) back[list->order[i]] = i;
    return permute(l, all, back, registers);
}

/* 2. Products. -------------------------------------------------------------------------------- */

static tile_value flag(lowering *l, bool value) {
    tile_context *context = tile_function_context(l->f);
    return tile_function_constant(l->f, tile_type_scalar(context, TILE_i1),
                                  tile_expr_int(context, value));
}

/* Sets the first operand of a step's wgmma, by block. */
static void take_step(lowering *l, const block_list *list, const wgmma_source *first, uint32_t k,
                      tile_value *operands) {
    for (unsigned b = 0; b < list->count; b++)
        operands[b] = wgmma_take_fragment(l, first, list->at[b].row, k);
}

/* The first operand of each wgmma, by step and block. Fragments are extracted before the fence, but
 * those that are rounded step by step are left. */
static tile_value *take_first(lowering *l, const warpgroup_plan *plan, const block_list *list,
                              const wgmma_source *first) {
    uint32_t depth = tile_layout_extent(first->layout, first->k_dim);
    tile_value *operands =
        TILE_NEW_ARRAY(l->pass->scratch, tile_value, depth / plan->depth * list->count + 1u);
    for (uint32_t k = 0; first->fragment.id && !first->rounds && k < depth; k += plan->depth)
        take_step(l, list, first, k, operands + k / plan->depth * list->count);
    return operands;
}

/* A range of steps of k that the tensor cores accumulate. */
typedef struct span {
    uint32_t from, to;
    unsigned first, end; /* blocks */
    bool starts;         /* overwrites the accumulator */
    tile_value keep;     /* or overwrites it unless this holds; 0: none */
} span;

/* Returns whether an enclosing loop recomputes the loop's bounds. The loop might then run in one
 * iteration of the outer loop and not in the next. With an uninitialized accumulator, the zeros of
 * such an iteration would reach the wgmma of another one, and ptxas would serialize all of them
 * (C7515). */
static bool has_own_bounds(const tile_function *f, tile_op loop) {
    bool own = false;
    for (tile_op at = tile_op_parent(f, loop); at.id; at = tile_op_parent(f, at))
        for (unsigned i = 0; i < 2 && tile_repeats(f, at); i++)
            own |= tile_op_is_in(f, tile_value_def(f, tile_op_operand(f, loop, i)), at);
    return own;
}

bool lower_starts_sums(const lowering *l, tile_op loop, unsigned index) {
    const tile_function *f = &l->old;
    unsigned uses = 0;
    if (tile_op_opcode(f, loop) != TILE_OP_for || !tile_runs_at_least_once(f, loop) ||
        has_own_bounds(f, loop) ||
        !warpgroup_is_zero(f, tile_carried_sent(f, loop, TILE_PARENT_OP, index)))
        return false;
    tile_value sums = tile_carried_received(f, loop, 0, index);
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op op = {id};
        for (unsigned i = 0; f->ops[id].opcode && i < tile_op_operand_count(f, op); i++) {
            if (tile_op_operand(f, op, i).id != sums.id) continue;
            bool product = warpgroup_uses_wgmma(f, op) &&
                           tile_op_has_attr(f, op, TILE_ATTR_async) && !warpgroup_promotes(f, op) &&
                           tile_op_segment(f, op, TILE_MMA_ACC).at[0].id == sums.id &&
                           tile_op_at(f, op)->parent.id == tile_op_region(f, loop, 0).id;
            if (!product) return false;
            uses++;
        }
    }
    return uses == 1;
}

/* Returns whether this is not the first iteration; no value if the accumulator is initialized. */
static tile_value is_later(lowering *l, tile_value acc) {
    const tile_value_data *data = tile_value_at(&l->old, acc);
    if (data->kind != TILE_VALUE_REGION) return TILE_NO_VALUE;
    tile_region region = {data->owner};
    tile_op loop = tile_region_at(&l->old, region)->parent;
    unsigned own = tile_region_own_args(&l->old, region);
    if (!loop.id || data->index < own || !lower_starts_sums(l, loop, data->index - own))
        return TILE_NO_VALUE;
    return tile_build_ne(&l->builder, lower_mapped(l, tile_region_arg(&l->old, region, 0)),
                         lower_mapped(l, tile_operand_begin(&l->old, loop)));
}

static void multiply(lowering *l, tile_op op, const warpgroup_plan *plan, block_list *list,
                     const wgmma_source *first, tile_value *fragments, const wgmma_source *second,
                     span ks) {
    const unsigned steps = (ks.to - ks.from) / plan->depth;
    for (uint32_t k = ks.from; k < ks.to; k += plan->depth) {
        tile_value *step = fragments + k / plan->depth * list->count;
        if (first->stepwise) tile_build_wgmma_wait(&l->builder, lower_int(l, steps - 1), NULL, 0);
        if (first->rounds) {
            take_step(l, list, first, k, step);
            tile_build_wgmma_fence(&l->builder);
        }
        for (unsigned b = ks.first; b < ks.end; b++) {
            tile_value one =
                first->fragment.id ? step[b] : wgmma_name_matrix(l, first, list->at[b].row, k);
            tile_value other = wgmma_name_matrix(l, second, list->at[b].column, k);
            list->parts[b] = tile_build_wgmma(
                &l->builder, one, other, list->parts[b],
                k == ks.from && ks.keep.id ? ks.keep : flag(l, k > ks.from || !ks.starts),
                TILE_NO_VALUE);
            lower_copy_signs(l, op, list->parts[b], plan->row_dim == TILE_WGMMA_SWAPPED);
        }
        if (first->stepwise) tile_build_wgmma_commit(&l->builder);
    }
    if (!first->stepwise) tile_build_wgmma_commit(&l->builder);
}

/* The initial value is not read if it is zero, so its registers stay undefined. */
static void start_blocks(lowering *l, block_list *list) {
    for (unsigned b = 0; b < list->count; b++)
        list->parts[b] = tile_build_undefined(&l->builder, block_type(l, list));
}

/* Waits for all but the `left` most recent groups. */
static void wait_for_blocks(lowering *l, block_list *list, int64_t left) {
    tile_value *accs = TILE_NEW_ARRAY(l->pass->scratch, tile_value, list->count);
    for (unsigned b = 0; b < list->count; b++) accs[b] = list->parts[b];
    tile_value done = tile_build_wgmma_wait(&l->builder, lower_int(l, left), accs, list->count);
    for (unsigned b = 0; b < list->count; b++) list->parts[b].id = done.id + b;
}

/* The other operands of fma(dot, scale, sum), block by block (scaled_sum.c). */
typedef struct scaled_sum {
    tile_op fma; /* no operation: the sums are not scaled */
    block_list scale, sum;
} scaled_sum;

static block_list cut_operand(lowering *l, const block_list *list, tile_value operand) {
    block_list cut = *list;
    cut.parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, list->count);
    cut_blocks(l, &cut, lower_mapped(l, operand));
    return cut;
}

static scaled_sum take_scaled_sum(lowering *l, tile_op dot, const block_list *list) {
    lower_deferred(l, dot);
    scaled_sum s = {.fma = lower_scaled_sum(l, dot)};
    if (!s.fma.id) return s;
    s.scale = cut_operand(l, list, lower_scale_of_sum(&l->old, dot, s.fma));
    s.sum = cut_operand(l, list, tile_operand_addend(&l->old, s.fma));
    return s;
}

/* Processes one block at a time, so that the partial sums need only the registers of one block.
 * While one warpgroup adds them up, the wgmma of another one run. */
static void multiply_promoted(lowering *l, tile_op op, const warpgroup_plan *plan, block_list *list,
                              const wgmma_source *first, tile_value *fragments,
                              const wgmma_source *second, bool starts) {
    uint32_t depth = tile_layout_extent(first->layout, first->k_dim);
    scaled_sum scaled = {.fma = TILE_NO_OP};
    for (uint32_t k = 0; k < depth; k += WARPGROUP_PROMOTED_DEPTH) {
        uint32_t to = k + WARPGROUP_PROMOTED_DEPTH < depth ? k + WARPGROUP_PROMOTED_DEPTH : depth;
        for (unsigned b = 0; b < list->count; b++) {
            span ks = {.from = k, .to = to, .first = b, .end = b + 1, .starts = true};
            tile_value sum = list->parts[b];
            list->parts[b] = tile_build_undefined(&l->builder, block_type(l, list));
            tile_build_wgmma_fence(&l->builder);
            multiply(l, op, plan, list, first, fragments, second, ks);
            if (!b) scaled = take_scaled_sum(l, op, list);
            list->parts[b] =
                tile_build_wgmma_wait(&l->builder, lower_int(l, 0), &list->parts[b], 1);
            if (scaled.fma.id)
                list->parts[b] = tile_build_fma(&l->builder, list->parts[b], scaled.scale.parts[b],
                                                scaled.sum.parts[b]);
            else if (k || !starts)
                list->parts[b] = tile_build_add(&l->builder, sum, list->parts[b]);
        }
    }
}

/* Returns whether a dot has equal sums in all rows of the instruction: its first operand, in
 * registers, and its accumulator are repeated along the rows. */
static bool has_equal_rows(const lowering *l, tile_op op, const warpgroup_plan *plan) {
    const tile_function *f = &l->old;
    unsigned order = warpgroup_first(plan->row_dim);
    tile_value first = tile_op_segment(f, op, order).at[0];
    tile_value acc = tile_op_segment(f, op, TILE_MMA_ACC).at[0];
    if (tile_value_type(f, first)->kind != TILE_TYPE_TILE ||
        !tile_is_repeated(f, first, 1 - tile_product_k_dim(f, op, order)))
        return false;
    if (tile_is_repeated(f, acc, plan->row_dim == TILE_WGMMA_SWAPPED)) return true;
    warpgroup_plan before;
    tile_op dot = tile_value_def(f, acc);
    while (dot.id && tile_op_opcode(f, dot) == TILE_OP_dot_wait)
        dot = tile_value_def(f, tile_operand_src(f, dot));
    return dot.id && tile_op_opcode(f, dot) == TILE_OP_dot && warpgroup_uses_wgmma(f, dot) &&
           !warpgroup_find_plan(f, dot, &before) && before.row_dim == plan->row_dim &&
           has_equal_rows(l, dot, &before);
}

/* The blocks of the first rows, if the other rows have the same sums. Several wgmma with identical
 * operands would be merged by ptxas, which then waits in order to copy their result (C7517). */
static block_list first_rows(lowering *l, const block_list *list) {
    block_list first = *list;
    first.count = 0;
    first.at = TILE_NEW_ARRAY(l->pass->scratch, block_place, list->count);
    first.order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, list->count * list->size);
    first.parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, list->count);
    for (unsigned b = 0; b < list->count; b++) {
        if (list->at[b].row) continue;
        first.at[first.count] = list->at[b];
        order_block(&first, first.count++);
    }
    return first;
}

static void repeat_rows(block_list *list, const block_list *first) {
    for (unsigned b = 0; b < list->count; b++)
        for (unsigned i = 0; i < first->count; i++)
            if (first->at[i].column == list->at[b].column) list->parts[b] = first->parts[i];
}

bool lower_has_equal_rows(const lowering *l, tile_op dot) {
    warpgroup_plan plan;
    return !warpgroup_find_plan(&l->old, dot, &plan) && has_equal_rows(l, dot, &plan);
}

tile_value lower_wgmma(lowering *l, tile_op op) {
    warpgroup_plan plan;
    const char *fault = warpgroup_find_plan(&l->old, op, &plan);
    (void)fault; /* check.c has checked this */
    tile_value acc = tile_op_segment(&l->old, op, TILE_MMA_ACC).at[0];
    const tile_type *type = tile_value_type(&l->old, acc);
    bool starts = warpgroup_is_zero(&l->old, acc);
    unsigned order = warpgroup_first(plan.row_dim);
    wgmma_source first = wgmma_find_source(l, op, order, &plan, type->layout);
    wgmma_source second = wgmma_find_source(l, op, 1 - order, &plan, type->layout);
    block_list all = find_blocks(l, type, &plan);
    bool repeats = has_equal_rows(l, op, &plan);
    bool async = tile_op_has_attr(&l->old, op, TILE_ATTR_async) && !repeats;
    block_list list = repeats ? first_rows(l, &all) : all;
    first.stepwise = async && warpgroup_rounds(&l->old, op, plan.row_dim);
    if (starts)
        start_blocks(l, &list);
    else
        cut_blocks(l, &list, lower_mapped(l, acc));
    tile_value *fragments = take_first(l, &plan, &list, &first);
    uint32_t depth = tile_layout_extent(first.layout, first.k_dim);
    bool is_partial = async && starts && depth <= WARPGROUP_PROMOTED_DEPTH; /* nothing to add to */
    if (warpgroup_promotes(&l->old, op) && !is_partial) {
        multiply_promoted(l, op, &plan, &list, &first, fragments, &second, starts);
        if (repeats) repeat_rows(&all, &list);
        tile_value result = join_blocks(l, &all);
        lower_end_scaled_sum(l, op, result);
        return result;
    }
    span ks = {.to = depth, .end = list.count, .starts = starts, .keep = is_later(l, acc)};
    if (!first.rounds) tile_build_wgmma_fence(&l->builder);
    multiply(l, op, &plan, &list, &first, fragments, &second, ks);
    wgmma_drop_join(l, &first);
    if (!async) wait_for_blocks(l, &list, 0);
    if (repeats) repeat_rows(&all, &list);
    return join_blocks(l, &all);
}

/* Finds the dot that computes the sums; all paths lead back to the same one. */
static tile_op find_product(const tile_function *f, tile_value sums) {
    enum { MAX_STEPS = 16 };
    for (unsigned i = 0; i < MAX_STEPS; i++) {
        const tile_value_data *data = tile_value_at(f, sums);
        tile_op op = data->kind == TILE_VALUE_REGION
                         ? tile_region_at(f, (tile_region){data->owner})->parent
                         : tile_value_def(f, sums);
        if (!op.id || tile_op_opcode(f, op) == TILE_OP_dot) return op;
        if (tile_op_opcode(f, op) == TILE_OP_dot_wait) {
            sums = tile_operand_src(f, op);
            continue;
        }
        unsigned own = data->kind == TILE_VALUE_REGION
                           ? tile_region_own_args(f, (tile_region){data->owner})
                           : 0;
        if (tile_op_opcode(f, op) != TILE_OP_for) break;
        sums = tile_carried_sent(f, op, 0, data->index - own);
    }
    return TILE_NO_OP;
}

/* Returns whether the type allows a tile to be an accumulator of wgmma. */
static bool may_be_sums(const tile_type *type) {
    uint32_t columns;
    bool sums = type->scalar == TILE_f32 || type->scalar == TILE_f16 || type->scalar == TILE_i32;
    for (unsigned row_dim = 0; sums && row_dim < 2; row_dim++)
        if (tile_wgmma_holds(type->layout, row_dim, type->scalar, &columns)) return true;
    return false;
}

/* Waits for each block separately. */
static tile_value wait_for_parts(lowering *l, tile_op op, tile_value src, int64_t left) {
    warpgroup_plan plan;
    const tile_type *type = tile_value_type(&l->old, tile_operand_src(&l->old, op));
    tile_op dot = find_product(&l->old, tile_operand_src(&l->old, op));
    if ((dot.id && !warpgroup_uses_wgmma(&l->old, dot)) || !may_be_sums(type)) return src;
    if (!dot.id || warpgroup_find_plan(&l->old, dot, &plan))
        return tile_build_wgmma_wait(&l->builder, lower_int(l, left), &src, 1);
    if (has_equal_rows(l, dot, &plan)) return src; /* it has waited, also for all earlier dots */
    block_list list = find_blocks(l, type, &plan);
    cut_blocks(l, &list, src);
    wait_for_blocks(l, &list, left);
    return join_blocks(l, &list);
}

/* The groups of a pending dot; of several in the function, the fewest. */
static int64_t count_groups(lowering *l) {
    int64_t fewest = 0;
    for (uint32_t id = 1; id < l->old.op_count; id++) {
        warpgroup_plan plan;
        const tile_op op = {id};
        if (l->old.ops[id].opcode != TILE_OP_dot || !warpgroup_uses_wgmma(&l->old, op) ||
            !tile_op_has_attr(&l->old, op, TILE_ATTR_async))
            continue;
        bool steps =
            !warpgroup_find_plan(&l->old, op, &plan) && warpgroup_rounds(&l->old, op, plan.row_dim);
        int64_t groups = steps ? tile_product_query(&l->old, op).k / plan.depth : 1;
        if (!fewest || groups < fewest) fewest = groups;
    }
    return fewest ? fewest : 1;
}

/* Counts the `async` dots from op to the wait, in the region of both. */
static int64_t count_dots(const tile_function *f, tile_op op, tile_op wait) {
    int64_t count = 0;
    for (; op.id && op.id != wait.id; op = tile_op_next(f, op))
        count += tile_op_opcode(f, op) == TILE_OP_dot && tile_op_has_attr(f, op, TILE_ATTR_async);
    return count;
}

/* Returns whether at least `left` later dots precede the wait, so that a wait which leaves `left`
 * groups pending completes the dot with these sums. Of sums that a loop carries into its body, the
 * dots from the beginning of the body on are later ones. */
static bool is_finished(const tile_function *f, tile_op wait, int64_t left) {
    tile_value sums = tile_operand_src(f, wait);
    tile_region body = tile_op_at(f, wait)->parent;
    const tile_value_data *data = tile_value_at(f, sums);
    if (data->kind == TILE_VALUE_REGION && data->owner == body.id)
        return count_dots(f, tile_region_at(f, body)->first, wait) >= left;
    tile_op dot = tile_value_def(f, sums);
    if (!dot.id || tile_op_opcode(f, dot) != TILE_OP_dot ||
        tile_op_at(f, dot)->parent.id != body.id)
        return left == 0;
    return count_dots(f, tile_op_next(f, dot), wait) >= left;
}

tile_value lower_dot_wait(lowering *l, tile_op op) {
    tile_value src = lower_mapped(l, tile_operand_src(&l->old, op));
    bool found = false;
    int64_t left = 0;
    bool warpgroups =
        l->executors.warps % TILE_WARPGROUP == 0 && l->executors.first % TILE_WARPGROUP == 0;
    if (warpgroups)
        TILE_FOR_EACH_OP_INSIDE (&l->old, dot, l->old.body)
            found |= warpgroup_uses_wgmma(&l->old, dot);
    tile_value_is_int(&l->old, tile_operand_pending(&l->old, op), &left);
    if (!found) return src; /* mma.sync is synchronous */
    const int64_t groups = left ? left * count_groups(l) : 0;
    if (is_finished(&l->old, op, left)) return wait_for_parts(l, op, src, groups);
    tile_build_wgmma_wait(&l->builder, lower_int(l, groups), NULL, 0);
    return src;
}
