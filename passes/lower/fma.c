/* dot without a matrix instruction: each thread computes its elements of the accumulator with
 * scalar fma.
 *
 * Both operands are in shared memory. For each k, a thread loads the rows of lhs and the columns of
 * rhs that its elements need, with the widest contiguous accesses. It converts them to the
 * accumulator's type and adds the products with fma (integers: mul and add), `vec` columns at a
 * time. The contribution of k to an offset is linear over its bits, and parts are contiguous:
 *
 *     k = part, high bits, low bits      short code unrolls all of k;
 *                                        otherwise part and high bits are the induction variable
 *                                        of one loop, whose rounds unroll the low bits
 *
 * Accumulators therefore add in the order of k, as the CPU device does at level 2.
 *
 * Products of one k have no order. An fma of f32 reads three registers, and the register file
 * delivers two in a cycle, one from each of its banks: it takes one cycle if one operand is that
 * of the instruction before (`.reuse` in SASS) and the other two are in different banks. So the
 * products of a thread are single ones, in two halves of its columns, row after row, forward and
 * back. ptxas selects the registers, and considers banks only while it has enough of them: of 1024
 * products of 8 x 8 sums, 108 to 200 then take a second cycle, otherwise about 650. What the loop
 * keeps in registers counts therefore:
 *
 *     operands that are read along m or n as they were copied are not swizzled (lay_out_buffers.c)
 *     swizzles are applied to the address of the stage, which is one register (address.c)
 *     sums of chunks are added to shared memory a vector at a time (shared_sum.c)
 *
 * Times of 2048 x 4096 x 8192 at 128 x 128 x 16 with 8 warps (H200, us):
 *
 *     contiguous along    without   with these three
 *     lhs m, rhs n        3018      2674
 *     lhs k, rhs n        3304      2979
 *     lhs m, rhs k        3151      2865
 *     lhs k, rhs k        3464      3220
 *
 * In the last case both operands are swizzled, and the order is that of the transposed product: in
 * two halves of the rows, column after column. There, 200 of 1024 products take a second cycle
 * instead of 680 (the time above is without it). */
#include <string.h>

#include "lib/analysis/product.h"
#include "lib/support/scalar.h"
#include "passes/lower/lower.h"

/* Maximum products in one round of the loop, if a round has more than one k. Longer rounds exceed
 * the instruction cache and slow down LLVM and ptxas. */
enum { MAX_PRODUCTS = 1024 };

/* State of one operand in one round. */
typedef struct loop_operand {
    tile_layout
        layout; /* [m, k] or [k, n]: registers cover its rows or columns, and the low bits of k */
    unsigned k_dim;
    bool is_unsigned;
    lower_shared_access access;
    uint32_t high[TILE_LAYOUT_MAX_BITS]; /* contribution of the high bits of k to the offset */
    int64_t part_stride;                 /* elements from one part along k to the next */
    bool is_swizzled;     /* offsets of different k differ in bits that depend on the thread */
    bool swizzles_late;   /* the stage is added before k's low bits are xored */
    tile_value offset;    /* of this round: contribution of k's part, its high bits and the
                             thread, and the stage */
    tile_value *loaded;   /* by access of the cut, converted; no value if not loaded in this
                             round */
    tile_value *elements; /* by register */
    uint32_t *registers;  /* by row-major position in the operand: register + 1, or 0 if not held */
} loop_operand;

typedef struct fma_loop {
    lowering *l;
    tile_op op; /* in the old body */
    const tile_type *acc;
    unsigned vec;      /* columns per group */
    unsigned groups;   /* in the thread's part of the accumulator */
    unsigned k_bits;   /* bits of k within a part */
    unsigned low_bits; /* those unrolled in one round */
    uint32_t k_parts;
    bool is_loop;
    loop_operand lhs, rhs;
    tile_value *accs; /* by group */
    uint32_t *order;  /* groups in the order in which they are added to */
} fma_loop;

/* Layouts ------------------------------------------------------------------------------------- */

/* Appends a coordinate along dim d unless the registers already span it. */
static void add_coordinate(tile_layout *layout, uint32_t *span, unsigned d, uint32_t along) {
    uint32_t rest = along;
    for (unsigned bit = 32; bit-- > 0;)
        if (rest >> bit & 1 && span[bit]) rest ^= span[bit];
    for (unsigned bit = 32; rest && bit-- > 0;)
        if (rest >> bit & 1) {
            span[bit] = rest;
            layout->reg[layout->reg_bits++] = along << tile_layout_dim_shift(layout, d);
            return;
        }
}

/* Covers the rows or columns of the thread's part of the accumulator, and the low bits of k. */
static tile_layout operand_layout(const tile_layout *acc, const tile_type *type, unsigned k_dim,
                                  unsigned low_bits) {
    const uint32_t dims[2] = {(uint32_t)tile_type_dim(type, 0), (uint32_t)tile_type_dim(type, 1)};
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 2);
    unsigned d = 1 - k_dim, shift = tile_layout_dim_shift(&layout, d);
    uint32_t span[32] = {0};
    layout.warp_bits = acc->warp_bits;
    for (unsigned i = 0; i < acc->reg_bits; i++)
        add_coordinate(&layout, span, d, tile_layout_coordinate(acc, acc->reg[i], d));
    for (unsigned i = 0; i < low_bits; i++)
        layout.reg[layout.reg_bits++] = UINT32_C(1) << i << tile_layout_dim_shift(&layout, k_dim);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        layout.lane[i] = tile_layout_coordinate(acc, acc->lane[i], d) << shift;
    for (unsigned i = 0; i < acc->warp_bits; i++)
        layout.warp[i] = tile_layout_coordinate(acc, acc->warp[i], d) << shift;
    return layout;
}

static uint32_t position_of(const tile_layout *layout, uint32_t row, uint32_t column) {
    return row * tile_layout_extent(layout, 1) + column;
}

static void number_registers(fma_loop *x, loop_operand *o) {
    uint32_t count = tile_layout_registers(&o->layout);
    uint32_t elements = tile_layout_extent(&o->layout, 0) * tile_layout_extent(&o->layout, 1);
    tile_arena *scratch = x->l->pass->scratch;
    o->registers = TILE_NEW_ARRAY(scratch, uint32_t, elements);
    o->loaded = TILE_NEW_ARRAY(scratch, tile_value, o->access.cut.count);
    o->elements = TILE_NEW_ARRAY(scratch, tile_value, count);
    for (uint32_t r = 0; r < count; r++) {
        uint32_t row = (uint32_t)lower_register_coordinate(&o->layout, r, 0);
        uint32_t column = (uint32_t)lower_register_coordinate(&o->layout, r, 1);
        o->registers[position_of(&o->layout, row, column)] = r + 1;
    }
}

/* Whether (thread's bits + stage) ^ k's bits == (thread's bits ^ k's bits) + stage. The swizzled
 * addresses of all k then take one register, and not one each for every k of a swizzle, which ptxas
 * needs for the sums (above). */
static bool can_swizzle_late(const loop_operand *o, const tile_type *type, bool has_parts) {
    int64_t above = 1;
    while (above <= o->access.thread_bits) above *= 2;
    return type->stages && tile_type_elements(type) % above == 0 &&
           (!has_parts || o->part_stride % above == 0);
}

/* Prepares everything that does not depend on the round. */
static void start_operand(fma_loop *x, loop_operand *o, unsigned operand) {
    static const tile_attr_id signs[] = {TILE_ATTR_unsigned_lhs, TILE_ATTR_unsigned_rhs};
    lowering *l = x->l;
    const tile_values element = tile_op_segment(&l->old, x->op, operand);
    const tile_type *type = tile_value_type(&l->old, element.at[0]);
    o->k_dim = operand == TILE_MMA_LHS ? 1 : 0;
    o->is_unsigned = tile_op_has_attr(&l->old, x->op, signs[operand]) && type->scalar != TILE_i1 &&
                     !tile_scalar_is_unsigned(type->scalar); /* a cast extends it by zeros */
    o->layout = operand_layout(x->acc->layout, type, o->k_dim, x->low_bits);
    lower_shared_map map = lower_map_shared(l, element.at, element.count, &o->layout);
    o->access = lower_start_shared(l, &map, &o->layout, lower_widest(type->scalar));
    o->part_stride = o->k_dim == 1 ? 1 : type->layout->count[1];
    o->part_stride <<= tile_layout_part_bits(type->layout);
    for (unsigned i = x->low_bits; i < x->k_bits; i++) {
        uint32_t k = UINT32_C(1) << i << tile_layout_dim_shift(&o->layout, o->k_dim);
        o->high[i] = tile_layout_offset_of(type->layout, k);
        o->access.thread_bits |= o->high[i];
    }
    o->access.cut = tile_split_fragment_accesses(&o->layout, o->access.map.reg,
                                                 o->access.thread_bits, lower_widest(type->scalar));
    o->swizzles_late = can_swizzle_late(o, type, x->k_parts > 1);
    for (uint32_t r = 0; r < tile_layout_registers(&o->layout); r++)
        o->is_swizzled |=
            (lower_register_offset(&o->access.map, &o->layout, r) & o->access.thread_bits) != 0;
    number_registers(x, o);
}

/* Reading ------------------------------------------------------------------------------------- */

static const tile_type *like(const tile_type *shape, lowering *l, tile_scalar scalar) {
    return tile_type_with_scalar(tile_function_context(l->f), shape, scalar);
}

static tile_value splat_int(lowering *l, const tile_type *type, int64_t value) {
    tile_context *context = tile_function_context(l->f);
    tile_value scalar = tile_function_constant(l->f, tile_type_scalar(context, type->scalar),
                                               tile_expr_int(context, value));
    return type->kind == TILE_TYPE_SCALAR ? scalar : tile_build_splat(&l->builder, scalar, type);
}

/* Converts to the accumulator's type. Unsigned integers are first extended to a wider integer
 * type. */
static tile_value convert(lowering *l, tile_value value, tile_scalar to, bool is_unsigned) {
    const tile_type *type = tile_value_type(l->f, value);
    unsigned bits = tile_scalar_bits(type->scalar);
    bool wider = tile_scalar_is_floating(to) || tile_scalar_bits(to) > bits;
    if (is_unsigned && wider) {
        tile_scalar room = tile_scalar_is_floating(to) ? bits < 32 ? TILE_i32 : TILE_i64 : to;
        type = like(type, l, room);
        value = tile_build_cast(&l->builder, value, type);
        value = tile_build_and(&l->builder, value,
                               splat_int(l, type, (int64_t)(UINT64_MAX >> (64 - bits))));
    }
    return type->scalar == to ? value : tile_build_cast(&l->builder, value, like(type, l, to));
}

static tile_value load(fma_loop *x, loop_operand *o, unsigned index) {
    lowering *l = x->l;
    if (o->loaded[index].id) return o->loaded[index];
    lower_shared_access access = o->access;
    access.layout = &o->layout;
    access.thread_part = o->offset;
    if (o->swizzles_late) access.map.stage = lower_int(l, 0);
    tile_value offset =
        lower_shared_access_offset(l, &access, tile_access_split_register(&access.cut, index, 0));
    tile_scalar scalar = tile_value_type(l->f, access.map.buffer)->scalar;
    tile_value value =
        tile_build_ld_shared(&l->builder, access.map.buffer, &offset, 1, TILE_NO_VALUE,
                             lower_part_type(l, scalar, 1u << access.cut.width_bits));
    return o->loaded[index] = convert(l, value, x->acc->scalar, o->is_unsigned);
}

/* Returns the access of the cut that contains a register; *element: its position in the access. */
static unsigned access_of(const tile_access_split *cut, unsigned register_, unsigned *element) {
    unsigned index = register_ >> (cut->rest_bits + cut->width_bits) << cut->rest_bits;
    *element = 0;
    for (unsigned i = 0; i < cut->rest_bits; i++) index |= (register_ >> cut->rest[i] & 1) << i;
    for (unsigned i = 0; i < cut->width_bits; i++) *element |= (register_ >> cut->bits[i] & 1) << i;
    return index;
}

/* Returns one element, converted. */
static tile_value element_at(fma_loop *x, loop_operand *o, uint32_t row, uint32_t column) {
    unsigned element, register_ = o->registers[position_of(&o->layout, row, column)] - 1;
    if (o->elements[register_].id) return o->elements[register_];
    tile_value part = load(x, o, access_of(&o->access.cut, register_, &element));
    if (o->access.cut.width_bits)
        part = tile_build_extract(&x->l->builder, part, lower_int(x->l, element),
                                  lower_part_type(x->l, x->acc->scalar, 1));
    return o->elements[register_] = part;
}

/* Returns vec adjacent columns, as part of one access if they are contiguous. */
static tile_value columns_at(fma_loop *x, uint32_t k, uint32_t column) {
    lowering *l = x->l;
    loop_operand *o = &x->rhs;
    unsigned first = 0, index = 0;
    bool together = true;
    if (x->vec == 1) return element_at(x, o, k, column);
    for (unsigned i = 0; i < x->vec; i++) {
        unsigned element, register_ = o->registers[position_of(&o->layout, k, column + i)] - 1,
                          access = access_of(&o->access.cut, register_, &element);
        if (i == 0) {
            index = access;
            first = element;
        }
        together &= access == index && element == first + i;
    }
    if (together) {
        tile_value part = load(x, o, index);
        if (tile_type_elements(tile_value_type(l->f, part)) == x->vec) return part;
        return tile_build_extract(&l->builder, part, lower_int(l, first),
                                  lower_part_type(l, x->acc->scalar, x->vec));
    }
    tile_value parts[16];
    for (unsigned i = 0; i < x->vec; i++) parts[i] = element_at(x, o, k, column + i);
    return tile_build_concat(&l->builder, parts, x->vec);
}

/* Adding -------------------------------------------------------------------------------------- */

static tile_value add_product(lowering *l, tile_value a, tile_value b, tile_value acc) {
    const tile_type *type = tile_value_type(l->f, acc);
    if (type->kind == TILE_TYPE_VECTOR) a = tile_build_splat(&l->builder, a, type);
    if (tile_scalar_is_floating(type->scalar)) return tile_build_fma(&l->builder, a, b, acc);
    return tile_build_add(&l->builder, tile_build_mul(&l->builder, a, b), acc);
}

static void add_step(fma_loop *x, uint32_t k) {
    tile_value rhs = TILE_NO_VALUE;
    uint32_t column_of_rhs = 0;
    for (unsigned i = 0; i < x->groups; i++) {
        const uint32_t g = x->order[i];
        uint32_t row = (uint32_t)lower_register_coordinate(x->acc->layout, g * x->vec, 0);
        uint32_t column = (uint32_t)lower_register_coordinate(x->acc->layout, g * x->vec, 1);
        if (!rhs.id || column != column_of_rhs) rhs = columns_at(x, k, column);
        column_of_rhs = column;
        x->accs[g] = add_product(x->l, element_at(x, &x->lhs, row, k), rhs, x->accs[g]);
    }
}

static void begin_round(fma_loop *x, loop_operand *o, tile_value k) {
    lowering *l = x->l;
    memset(o->loaded, 0, sizeof *o->loaded * o->access.cut.count);
    memset(o->elements, 0, sizeof *o->elements * tile_layout_registers(&o->layout));
    o->offset = o->access.thread_part;
    if (k.id && x->low_bits < x->k_bits) {
        tile_value added = lower_bit_map(l, k, x->k_parts > 1 ? 32 : x->k_bits, o->high, x->k_bits);
        o->offset = tile_build_xor(&l->builder, o->offset, added);
    }
    if (k.id && x->k_parts > 1) {
        tile_value part = tile_build_shr(&l->builder, k, lower_int(l, x->k_bits));
        o->offset = lower_add(l, o->offset, lower_mul(l, part, lower_int(l, o->part_stride)));
    }
    if (o->swizzles_late) o->offset = lower_add(l, o->offset, o->access.map.stage);
}

/* Adds the products of `count` values of k, beginning at the loop's k, or at 0 without a loop. */
static void add_steps(fma_loop *x, tile_value k, uint32_t count) {
    begin_round(x, &x->lhs, k);
    begin_round(x, &x->rhs, k);
    for (uint32_t i = 0; i < count; i++) add_step(x, i);
}

static void add_in_loop(fma_loop *x) {
    lowering *l = x->l;
    tile_builder outer = l->builder;
    tile_op loop = tile_build_for_loop(&l->builder, lower_int(l, 0),
                                       lower_int(l, (int64_t)x->k_parts << x->k_bits),
                                       lower_int(l, INT64_C(1) << x->low_bits), x->accs, x->groups);
    tile_region body = tile_op_region(l->f, loop, 0);
    l->builder.region = body;
    for (unsigned g = 0; g < x->groups; g++) x->accs[g] = tile_region_arg(l->f, body, g + 1);
    add_steps(x, tile_region_arg(l->f, body, 0), UINT32_C(1) << x->low_bits);
    tile_build_yield(&l->builder, x->accs, x->groups);
    l->builder = outer;
    for (unsigned g = 0; g < x->groups; g++) x->accs[g] = tile_op_result(l->f, loop, g);
}

/* Whether operands of consecutive products matter (above). */
static bool shares_operands(tile_scalar acc) {
    return acc == TILE_f32;
}

/* The bits of registers that move along a dim, by bit; returns how many. */
static unsigned bits_along(const tile_layout *acc, unsigned d, uint32_t to[32]) {
    unsigned count = 0;
    for (unsigned i = 0; i < acc->reg_bits; i++)
        if (tile_layout_coordinate(acc, acc->reg[i], d)) to[count++] = UINT32_C(1) << i;
    return count;
}

static uint32_t register_at(const uint32_t *bits, unsigned count, uint32_t number) {
    uint32_t register_ = 0;
    for (unsigned i = 0; i < count; i++)
        if (number >> i & 1) register_ |= bits[i];
    return register_;
}

/* In two halves of the columns, row after row, forward and back; or likewise with rows and columns
 * exchanged (above). */
static void order_products(fma_loop *x) {
    const tile_layout *acc = x->acc->layout;
    const unsigned outer_dim = x->lhs.is_swizzled && x->rhs.is_swizzled;
    uint32_t outer_bits[32], inner_bits[32], at = 0;
    for (uint32_t g = 0; g < x->groups; g++) x->order[g] = g;
    const unsigned outer = bits_along(acc, outer_dim, outer_bits),
                   inner = bits_along(acc, 1 - outer_dim, inner_bits);
    if (!shares_operands(x->acc->scalar) || !inner || outer + inner != acc->reg_bits ||
        x->groups != UINT32_C(1) << acc->reg_bits)
        return;
    const uint32_t half = UINT32_C(1) << (inner - 1), last = (UINT32_C(1) << outer) - 1;
    for (uint32_t i = 0; i < x->groups; i++) {
        const uint32_t block = i / half, second = block > last;
        const uint32_t line = second ? 2 * last + 1 - block : block;
        const uint32_t step = i % half, place = block % 2 ? half - 1 - step : step;
        x->order[at++] = register_at(outer_bits, outer, line) |
                         register_at(inner_bits, inner, place + second * half);
    }
}

/* The number of contiguous columns in a thread's lowest registers. */
static unsigned run_of(const tile_layout *acc) {
    unsigned bits = 0;
    while (bits < acc->reg_bits && bits < 4 && acc->reg[bits] == UINT32_C(1) << bits &&
           bits < acc->dim_bits[1])
        bits++;
    return 1u << bits;
}

/* Estimated instructions for one multiply-add. */
static int64_t cost_of(tile_scalar acc) {
    return acc == TILE_i64 ? 4 : 1;
}

static int64_t length_of_step(const tile_type *acc) {
    return tile_type_registers(acc) * cost_of(acc->scalar);
}

/* Decides whether there is a loop, and how many k a round unrolls. */
static void plan_rounds(fma_loop *x, const tile_layout *lhs) {
    int64_t step = length_of_step(x->acc);
    x->k_bits = x->low_bits = lhs->dim_bits[1];
    x->k_parts = lhs->count[1];
    if (step * x->k_parts << x->k_bits <= MAX_PRODUCTS) return;
    while (x->low_bits && step << x->low_bits > MAX_PRODUCTS) x->low_bits--;
    x->is_loop = x->low_bits < x->k_bits || x->k_parts > 1;
}

int64_t lower_fma_length(const tile_type *acc, const tile_type *lhs) {
    int64_t step = length_of_step(acc), all = step * tile_type_dim(lhs, 1);
    int64_t round = step > MAX_PRODUCTS ? step : MAX_PRODUCTS;
    return all < round ? all : round;
}

tile_value lower_fma_loop(lowering *l, tile_op op) {
    tile_value acc = tile_op_segment(&l->old, op, TILE_MMA_ACC).at[0];
    const tile_type *type = tile_value_type(&l->old, acc);
    const tile_type *lhs =
        tile_value_type(&l->old, tile_op_segment(&l->old, op, TILE_MMA_LHS).at[0]);
    fma_loop x = {.l = l, .op = op, .acc = type};
    x.vec = shares_operands(type->scalar) ? 1 : run_of(type->layout);
    x.groups = tile_layout_registers(type->layout) / x.vec;
    x.order = TILE_NEW_ARRAY(l->pass->scratch, uint32_t, x.groups);
    plan_rounds(&x, lhs->layout);
    x.accs = TILE_NEW_ARRAY(l->pass->scratch, tile_value, x.groups);
    for (unsigned g = 0; g < x.groups; g++)
        x.accs[g] = tile_build_extract(&l->builder, l->map[acc.id], lower_int(l, g * x.vec),
                                       lower_part_type(l, type->scalar, x.vec));
    start_operand(&x, &x.lhs, TILE_MMA_LHS);
    start_operand(&x, &x.rhs, TILE_MMA_RHS);
    order_products(&x);
    if (x.is_loop)
        add_in_loop(&x);
    else
        add_steps(&x, TILE_NO_VALUE, x.k_parts << x.k_bits);
    return tile_build_concat(&l->builder, x.accs, x.groups);
}
