/* Coordinates of a tile's elements, computed from the thread index and the register. Tiles with
 * repeated elements, which only rename registers. */
#include "lib/analysis/rearranged.h"
#include "lib/analysis/runs.h"
#include "lib/layout/layout.h"
#include "lib/ops/shape.h"
#include "passes/lower/lower.h"

/* i32 if the elements fit it or wrap like integers of up to 32 bits, else i64. */
static tile_scalar scalar_of(const tile_iota *iota, const tile_type *type) {
    if (!tile_scalar_is_floating(type->scalar))
        return tile_scalar_bits(type->scalar) == 64 ? TILE_i64 : TILE_i32;
    int64_t step, extent = tile_type_dim(type, iota->axis), last;
    bool small = !__builtin_mul_overflow(iota->step, extent, &step) &&
                 !__builtin_add_overflow(iota->start, step, &last) && iota->step >= INT32_MIN &&
                 iota->step <= INT32_MAX && iota->start >= INT32_MIN && iota->start <= INT32_MAX &&
                 last >= INT32_MIN && last <= INT32_MAX;
    return small ? TILE_i32 : TILE_i64;
}

typedef struct counter {
    lowering *l;
    const tile_iota *iota;
    const tile_type *scalar;
    tile_value thread; /* the thread's coordinate */
    bool overlapping;  /* the thread and its registers change the same bits */
    tile_value base;   /* start + step * the thread's coordinate */
    tile_value more;   /* added to all; no value: nothing */
} counter;

static tile_value number(const counter *c, int64_t value) {
    return tile_function_constant(
        c->l->f, c->scalar,
        tile_expr_int(tile_function_context(c->l->f), tile_wrap_int(c->scalar->scalar, value)));
}

/* start + step * coordinate + more */
static tile_value rescaled_value(const counter *c, tile_value coordinate) {
    if (c->scalar->scalar == TILE_i64) coordinate = lower_to_long(c->l, coordinate);
    tile_value product = lower_mul(c->l, coordinate, number(c, c->iota->step));
    tile_value sum = lower_add(c->l, product, number(c, c->iota->start));
    return c->more.id ? lower_add(c->l, sum, c->more) : sum;
}

static tile_value count(const counter *c, int64_t added) {
    if (!c->overlapping) {
        uint64_t product = (uint64_t)c->iota->step * (uint64_t)added;
        return lower_add(c->l, c->base, number(c, (int64_t)product));
    }
    tile_value other = lower_int(c->l, added);
    return rescaled_value(c, added ? tile_build_xor(&c->l->builder, c->thread, other) : c->thread);
}

/* Registers with equal coordinates share one value. */
static tile_value count_from(lowering *l, tile_op op, const tile_type *type,
                             const tile_value *ahead, tile_value more) {
    tile_iota iota = {0};
    tile_context *context = tile_function_context(l->f);
    tile_iota_of(&l->old, op, &iota);
    const tile_type *whole = tile_value_type(&l->old, tile_op_result(&l->old, op, 0));
    counter c = {l,
                 &iota,
                 tile_type_scalar(context, scalar_of(&iota, whole)),
                 lower_thread_coordinate(l, type->layout, iota.axis),
                 lower_bits_overlap(type->layout, iota.axis),
                 TILE_NO_VALUE,
                 more};
    if (ahead) c.thread = lower_add(l, c.thread, ahead[iota.axis]);
    c.base = rescaled_value(&c, c.thread);
    unsigned registers = tile_type_registers(type);
    tile_value *values = TILE_NEW_ARRAY(l->pass->scratch, tile_value, registers);
    tile_value *known =
        TILE_NEW_ARRAY(l->pass->scratch, tile_value, tile_layout_extent(type->layout, iota.axis));
    for (unsigned i = 0; i < registers; i++) {
        int64_t added = lower_register_coordinate(type->layout, i, iota.axis);
        if (!known[added].id) known[added] = count(&c, added);
        values[i] = known[added];
    }
    tile_value all = tile_build_concat(&l->builder, values, registers);
    if (c.scalar->scalar == type->scalar) return all;
    return tile_build_cast(&l->builder, all, tile_type_vector(context, type->scalar, registers));
}

tile_value lower_count(lowering *l, tile_op op, const tile_type *type, const tile_value *ahead) {
    return count_from(l, op, type, ahead, TILE_NO_VALUE);
}

tile_value lower_iota(lowering *l, tile_op op) {
    return lower_count(l, op, tile_value_type(&l->old, tile_op_result(&l->old, op, 0)), NULL);
}

/* Adds the scalar to the thread's coordinate first. Otherwise LICM would hoist the sums of the
 * loop-invariant thread coordinate and each register's coordinate, and keep all of them live. */
bool lower_shifted_iota(lowering *l, tile_op op) {
    if (tile_op_opcode(&l->old, op) != TILE_OP_add) return false;
    tile_value result = tile_op_result(&l->old, op, 0);
    const tile_type *type = tile_value_type(&l->old, result);
    if (type->kind != TILE_TYPE_TILE || (type->scalar != TILE_i32 && type->scalar != TILE_i64))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        tile_value one = tile_op_operand(&l->old, op, i),
                   other = tile_op_operand(&l->old, op, 1 - i);
        tile_op splat = tile_value_def(&l->old, one), iota = tile_value_def(&l->old, other);
        if (!splat.id || tile_op_opcode(&l->old, splat) != TILE_OP_splat || !iota.id ||
            tile_op_opcode(&l->old, iota) != TILE_OP_iota || l->fused[iota.id] ||
            tile_value_type(&l->old, other) != type)
            continue;
        tile_value more = lower_mapped(l, tile_operand_src(&l->old, splat));
        l->map[result.id] = count_from(l, iota, type, NULL, more);
        return true;
    }
    return false;
}

/* Permutes registers; order has one entry for each register of the result. */
static tile_value permute(lowering *l, tile_value source, const int64_t *order, unsigned count) {
    const tile_type *type = tile_value_type(l->f, source);
    bool same = tile_type_elements(type) == count;
    for (unsigned i = 0; i < count && same; i++) same = order[i] == i;
    if (same) return source;
    tile_value other = tile_build_permute(
        &l->builder, source, tile_type_vector(tile_function_context(l->f), type->scalar, count));
    tile_op_set_list(l->f, tile_value_def(l->f, other), TILE_ATTR_order, order, count);
    return other;
}

tile_value lower_repeat(lowering *l, tile_value source, const tile_type *from,
                        const tile_type *to) {
    unsigned registers = tile_type_registers(to);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, registers);
    for (unsigned i = 0; i < registers; i++)
        order[i] = tile_layout_narrow_register(to->layout, from->layout, i);
    return permute(l, source, order, registers);
}

tile_value lower_reorder(lowering *l, tile_value source, const tile_type *from,
                         const tile_type *to) {
    unsigned registers = tile_type_registers(to);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, registers);
    for (unsigned i = 0; i < registers; i++)
        order[i] = tile_layout_offset_of(from->layout, tile_layout_apply(to->layout, i, 0, 0));
    return permute(l, source, order, registers);
}

/* Finds the result's register for a register of an operand. False if the result does not contain
 * it. */
static bool find_register(const tile_placement *p, const tile_type *from, const tile_type *to,
                          unsigned register_, uint32_t *found) {
    uint32_t index = tile_layout_apply(from->layout, register_, 0, 0), coordinates[TILE_MAX_RANK];
    int64_t from_at[TILE_MAX_RANK], to_at[TILE_MAX_RANK], dims[TILE_MAX_RANK];
    for (unsigned d = 0; d < from->rank; d++)
        from_at[d] = tile_layout_coordinate(from->layout, index, d);
    for (unsigned d = 0; d < to->rank; d++) dims[d] = tile_type_dim(to, d);
    if (!p->flat && !tile_placed_coordinates(p, from_at, from->rank, dims, to_at)) return false;
    for (unsigned d = 0; d < to->rank; d++) coordinates[d] = (uint32_t)to_at[d];
    /* with the same parts: tile_layout_reshape */
    if (!p->flat) index = tile_layout_index(to->layout, coordinates);
    *found = tile_layout_offset_of(to->layout, index);
    return true;
}

static tile_value rearrange(lowering *l, tile_op op, unsigned result, tile_value all) {
    const tile_type *to = tile_value_type(&l->old, tile_op_result(&l->old, op, result));
    unsigned registers = tile_type_registers(to), before = 0;
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, registers);
    for (unsigned i = 0; i < tile_moved_operands(&l->old, op); i++) {
        const tile_type *from = tile_value_type(&l->old, tile_op_operand(&l->old, op, i));
        tile_placement p = tile_placement_of(&l->old, op, i, result);
        for (unsigned k = 0; k < tile_type_registers(from); k++) {
            uint32_t at;
            if (find_register(&p, from, to, k, &at)) order[at] = before + k;
        }
        before += tile_type_registers(from);
    }
    return permute(l, all, order, registers);
}

/* Row-major memory offsets of a tile's elements: the thread's contributions. */
typedef struct row_walk {
    const tile_layout *layout;
    tile_value thread[TILE_MAX_RANK]; /* the thread's coordinates */
    tile_value sum;                   /* its offset, over the dims without overlapping bits */
    int64_t step[TILE_MAX_RANK];
    bool overlapping[TILE_MAX_RANK];
} row_walk;

/* first: coordinates of the tile's first element in an array with these extents. */
static row_walk start_rows(lowering *l, const tile_layout *layout, const int64_t *first,
                           const int64_t *extents) {
    row_walk w = {.layout = layout};
    int64_t step = 1, origin = 0;
    for (unsigned d = layout->rank; d-- > 0; step *= extents[d]) {
        w.step[d] = step;
        origin += first[d] * step;
    }
    w.sum = lower_int(l, origin);
    for (unsigned d = 0; d < layout->rank; d++) {
        w.thread[d] = lower_thread_coordinate(l, layout, d);
        w.overlapping[d] = lower_bits_overlap(layout, d);
        if (!w.overlapping[d])
            w.sum = lower_add(l, w.sum, lower_mul(l, w.thread[d], lower_int(l, w.step[d])));
    }
    return w;
}

static tile_value row_offset(lowering *l, const row_walk *w, unsigned register_) {
    tile_value offset = w->sum;
    int64_t known = 0;
    for (unsigned d = 0; d < w->layout->rank; d++) {
        int64_t own = lower_register_coordinate(w->layout, register_, d);
        if (!w->overlapping[d]) {
            known += own * w->step[d];
            continue;
        }
        tile_value at = tile_build_xor(&l->builder, w->thread[d], lower_int(l, own));
        offset = lower_add(l, offset, lower_mul(l, at, lower_int(l, w->step[d])));
    }
    return lower_add(l, offset, lower_int(l, known));
}

static void store_rows(lowering *l, tile_value fragment, const tile_type *tile, tile_value buffer,
                       const int64_t *extents) {
    static const int64_t zeros[TILE_MAX_RANK];
    tile_value predicate = lower_is_first_holder(l, tile->layout);
    row_walk w = start_rows(l, tile->layout, zeros, extents);
    const tile_type *element = lower_part_type(l, tile->scalar, 1);
    for (unsigned i = 0; i < tile_type_registers(tile); i++) {
        tile_value offset = row_offset(l, &w, i);
        tile_value part = tile_build_extract(&l->builder, fragment, lower_int(l, i), element);
        tile_build_st_shared(&l->builder, part, buffer, &offset, 1, predicate);
    }
}

static tile_value load_rows(lowering *l, const tile_type *tile, tile_value buffer,
                            const int64_t *first, const int64_t *extents) {
    unsigned count = tile_type_registers(tile);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, count);
    row_walk w = start_rows(l, tile->layout, first, extents);
    for (unsigned i = 0; i < count; i++) {
        tile_value offset = row_offset(l, &w, i);
        parts[i] = tile_build_ld_shared(&l->builder, buffer, &offset, 1, TILE_NO_VALUE,
                                        lower_part_type(l, tile->scalar, 1));
    }
    return tile_build_concat(&l->builder, parts, count);
}

/* Stores rows with the extents of the source and loads them with those of the result. */
static void rearrange_in_memory(lowering *l, tile_op op, tile_value old_buffer) {
    tile_value source = tile_operand_src(&l->old, op), result = tile_op_result(&l->old, op, 0);
    const tile_type *from = tile_value_type(&l->old, source),
                    *to = tile_value_type(&l->old, result);
    tile_placement p = tile_placement_of(&l->old, op, 0, 0);
    int64_t had[TILE_MAX_RANK], has[TILE_MAX_RANK], first[TILE_MAX_RANK];
    tile_value buffer = lower_mapped(l, old_buffer);
    for (unsigned d = 0; d < from->rank; d++) had[d] = tile_type_dim(from, d);
    for (unsigned d = 0; d < to->rank; d++) {
        has[d] = tile_type_dim(to, d);
        first[d] = p.flat ? 0 : -p.added[d];
    }
    if (tile_sync_is_explicit(&l->old, op)) lower_end_with_sync(l);
    store_rows(l, lower_mapped(l, source), from, buffer, had);
    tile_build_sync_for(&l->builder, l->executors);
    l->map[result.id] = load_rows(l, to, buffer, first, p.flat ? has : had);
}

void lower_rearrange(lowering *l, tile_op op) {
    tile_value buffer = tile_rearranging_buffer(&l->old, op);
    if (buffer.id) {
        rearrange_in_memory(l, op, buffer);
        return;
    }
    unsigned count = tile_moved_operands(&l->old, op);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, count);
    for (unsigned i = 0; i < count; i++)
        parts[i] = lower_mapped(l, tile_op_operand(&l->old, op, i));
    tile_value all = count == 1 ? parts[0] : tile_build_concat(&l->builder, parts, count);
    for (unsigned r = 0; r < tile_op_result_count(&l->old, op); r++)
        l->map[tile_op_result(&l->old, op, r).id] = rearrange(l, op, r, all);
}

tile_value lower_broadcast(lowering *l, tile_op op) {
    tile_value source = tile_operand_src(&l->old, op);
    return lower_repeat(l, lower_mapped(l, source), tile_value_type(&l->old, source),
                        tile_value_type(&l->old, tile_op_result(&l->old, op, 0)));
}

/* Register bits of a layout that only move within a run of equal comparison results along some
 * dim. */
static uint32_t shared_bits(const lowering *l, tile_op op, const tile_layout *layout) {
    uint32_t bits = 0;
    for (unsigned d = 0; d < layout->rank; d++) {
        unsigned run = tile_compare_run(&l->old, l->ranges, op, d);
        unsigned shift = tile_layout_dim_shift(layout, d);
        for (unsigned b = 0; run > 1 && b < layout->reg_bits; b++)
            for (unsigned k = 0; k < layout->dim_bits[d] && 1u << k < run; k++)
                if (layout->reg[b] == UINT32_C(1) << (shift + k)) bits |= UINT32_C(1) << b;
    }
    return bits;
}

/* Builds one comparison per run that a thread holds, instead of one per register. */
bool lower_compare(lowering *l, tile_op op) {
    if (!tile_op_has_trait(tile_op_opcode(&l->old, op), TILE_TRAIT_COMPARE) ||
        tile_op_operand_count(&l->old, op) != 2)
        return false;
    const tile_type *type = tile_value_type(&l->old, tile_op_result(&l->old, op, 0));
    if (type->kind != TILE_TYPE_TILE) return false;
    uint32_t same = shared_bits(l, op, type->layout);
    if (!same) return false;
    unsigned registers = tile_type_registers(type), count = 0;
    int64_t *first = TILE_NEW_ARRAY(l->pass->scratch, int64_t, registers);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, registers);
    for (unsigned i = 0; i < registers; i++) {
        if (!(i & same)) {
            order[i] = count;
            first[count++] = i;
        }
        order[i] = order[i & ~same];
    }
    tile_segment operands[2];
    for (unsigned i = 0; i < 2; i++)
        operands[i] = (tile_segment){
            .head = permute(l, lower_mapped(l, tile_op_operand(&l->old, op, i)), first, count)};
    tile_value found =
        tile_build_op_value(&l->builder, tile_op_opcode(&l->old, op), operands, 2, NULL);
    l->map[tile_op_result(&l->old, op, 0).id] = permute(l, found, order, registers);
    return true;
}
