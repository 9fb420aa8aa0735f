/* shift-comparisons: compares elements of the form `common sum + constant` as constants.
 *
 * A mask compares a thread's column coordinates with its row coordinates. The columns share one sum
 * and differ by constants, while there are only a few row values. The pass subtracts the sum from
 * the rows, so that the constants become immediates of the comparisons. Columns then need no
 * arithmetic and no registers.
 *
 * level: 3 to 3
 * requires: nothing
 * keeps: everything
 * breaks: nothing
 *
 * pipeline: shift-comparisons,dce
 * before:
 *   kernel @mask(%last: i32, %x: ptr<i32>)
 *       grid [1]
 *       warps 8
 *       level 3
 *   {
 *     roles {
 *       warps 4 registers 40 {
 *       }
 *       warps 4 registers 232 {
 *         %lane = lane_id : i32
 *         %0 = add %lane, 32 : i32
 *         %1 = add %lane, 64 : i32
 *         %2 = add %lane, 96 : i32
 *         %columns = concat %lane, %0, %1, %2 : vector<i32[4]>
 *         %rows = splat %last : vector<i32[4]>
 *         %seen = le %columns, %rows : vector<i1[4]>
 *         %words = cast %seen : vector<i32[4]>
 *         st_global %words, %x[0]
 *       }
 *     }
 *   }
 *
 * after:
 *   kernel @mask(%last: i32, %x: ptr<i32>)
 *       grid [1]
 *       warps 8
 *       level 3
 *   {
 *     roles {
 *       warps 4 registers 40 {
 *       }
 *       warps 4 registers 232 {
 *         %lane = lane_id : i32
 *         %0 = max %last, -1 : i32
 *         %1 = sub %0, %lane : i32
 *         %2 = concat 0, 32, 64, 96 : vector<i32[4]>
 *         %3 = splat %1 : vector<i32[4]>
 *         %seen = le %2, %3 : vector<i1[4]>
 *         %words = cast %seen : vector<i32[4]>
 *         st_global %words, %x[0]
 *       }
 *     }
 *   }
 *
 * Correctness: the sum is not negative, and sum + largest constant fits an i32, so no column wraps
 * around. A row value below the smallest column can be raised to that column minus 1 without
 * changing any comparison; the difference then does not wrap around either.
 *
 * Applied in kernels whose roles set their register counts. In other kernels ptxas balances
 * registers against occupancy, and with slightly lower demand it may spill to fit one more
 * block. */
#include "lib/analysis/executors.h"
#include "lib/analysis/range.h"
#include "passes/pass.h"

enum { MAX_SUMMANDS = 2, MIN_COLUMNS_PER_ROW = 4 };

typedef struct shifter {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    size_t range_count; /* values created later have no range */
    long moved;
} shifter;

/* A sum of scalars and a constant. */
typedef struct linear {
    tile_value summands[MAX_SUMMANDS];
    unsigned count;
    int64_t constant;
} linear;

/* The columns: elements that differ only by constants. */
typedef struct columns {
    linear first;
    int64_t *constants;
    unsigned count;
    int64_t max_constant;
} columns;

/* Reading -------------------------------------------------------------------------------------- */

static tile_range range_of(const shifter *s, tile_value value) {
    return value.id < s->range_count ? s->ranges[value.id] : tile_range_of_scalar(TILE_i32);
}

/* Returns whether op is a sum, or an `or` of operands without common bits. */
static bool adds(const shifter *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->f, op);
    if (opcode == TILE_OP_add) return true;
    if (opcode != TILE_OP_or) return false;
    const tile_range both[] = {range_of(s, tile_operand_lhs(s->f, op)),
                               range_of(s, tile_operand_rhs(s->f, op))};
    tile_range common = tile_range_apply(TILE_OP_and, TILE_i32, both);
    return common.min == 0 && common.max == 0;
}

/* Adds a scalar to the sum, collecting its constant addends separately. */
static bool add_scalar(const shifter *s, tile_value value, linear *sum) {
    int64_t constant;
    for (;;) {
        tile_op def = tile_value_def(s->f, value);
        if (tile_value_is_int(s->f, value, &constant)) {
            sum->constant += constant;
            return true;
        }
        if (!def.id || !adds(s, def) ||
            !tile_value_is_int(s->f, tile_operand_rhs(s->f, def), &constant))
            break;
        sum->constant += constant;
        value = tile_operand_lhs(s->f, def);
    }
    if (sum->count == MAX_SUMMANDS) return false;
    sum->summands[sum->count++] = value;
    return true;
}

static unsigned registers_of(const shifter *s, tile_value value) {
    return (unsigned)tile_type_elements(tile_value_type(s->f, value));
}

/* Returns the operand of a concat that provides register i of its result, and makes i relative to
 * it. */
static tile_value find_part(const shifter *s, tile_op concat, unsigned *i) {
    unsigned part = 0;
    for (;; part++) {
        unsigned length = registers_of(s, tile_op_operand(s->f, concat, part));
        if (*i < length) return tile_op_operand(s->f, concat, part);
        *i -= length;
    }
}

/* Adds register i of a vector to the sum. */
static bool add_register(const shifter *s, tile_value value, unsigned i, linear *sum) {
    if (tile_value_type(s->f, value)->kind == TILE_TYPE_SCALAR) return add_scalar(s, value, sum);
    for (tile_op def; (def = tile_value_def(s->f, value)).id;) {
        switch (tile_op_opcode(s->f, def)) {
        case TILE_OP_permute:
            i = (unsigned)tile_op_attr(s->f, def, TILE_ATTR_order)->list[i];
            value = tile_operand_src(s->f, def);
            break;
        case TILE_OP_concat: value = find_part(s, def, &i); break;
        case TILE_OP_splat: return add_scalar(s, tile_operand_src(s->f, def), sum);
        case TILE_OP_add:
            return add_register(s, tile_operand_lhs(s->f, def), i, sum) &&
                   add_register(s, tile_operand_rhs(s->f, def), i, sum);
        default: return false;
        }
        if (tile_value_type(s->f, value)->kind == TILE_TYPE_SCALAR)
            return add_scalar(s, value, sum);
    }
    return false;
}

static bool same_summands(const linear *a, const linear *b) {
    bool same = a->count == b->count;
    for (unsigned i = 0; i < a->count && same; i++) same = a->summands[i].id == b->summands[i].id;
    return same;
}

static bool read_columns(const shifter *s, tile_value value, columns *c) {
    c->count = registers_of(s, value);
    c->constants = TILE_NEW_ARRAY(s->pass->scratch, int64_t, c->count);
    c->max_constant = 0;
    for (unsigned i = 0; i < c->count; i++) {
        linear one = {.count = 0};
        if (!add_register(s, value, i, &one) || one.constant < 0) return false;
        if (i == 0) c->first = one;
        if (!same_summands(&c->first, &one)) return false;
        c->constants[i] = one.constant;
        c->max_constant = one.constant > c->max_constant ? one.constant : c->max_constant;
    }
    return c->first.count > 0;
}

/* *min_sum: the smallest value of the sum. False if a column, or its distance from a row, may wrap
 * around. */
static bool range_of_columns(const shifter *s, const columns *c, int64_t *min_sum) {
    int64_t min = 0, max = c->max_constant;
    for (unsigned i = 0; i < c->first.count; i++) {
        tile_range r = range_of(s, c->first.summands[i]);
        if (r.min < 0) return false;
        min += r.min;
        max += r.max;
    }
    *min_sum = min;
    return max <= INT32_MAX;
}

/* Changing ------------------------------------------------------------------------------------- */

/* Returns the few distinct row values, which a permute or splat distributes over the registers; no
 * value if there are many. */
static tile_value find_rows(const shifter *s, tile_value value, unsigned count) {
    tile_op def = tile_value_def(s->f, value);
    tile_opcode opcode = def.id ? tile_op_opcode(s->f, def) : TILE_OP_yield;
    if (opcode != TILE_OP_permute && opcode != TILE_OP_splat) return TILE_NO_VALUE;
    tile_value rows = tile_operand_src(s->f, def);
    return registers_of(s, rows) * MIN_COLUMNS_PER_ROW <= count ? rows : TILE_NO_VALUE;
}

/* Returns the value as a scalar or splat, to match the type of the rows. */
static tile_value like_rows(tile_builder *b, tile_value value, const tile_type *rows) {
    return rows->kind == TILE_TYPE_SCALAR ? value : tile_build_splat(b, value, rows);
}

/* The row values minus the columns' sum. */
static tile_value shift_rows(const shifter *s, tile_builder *b, tile_value rows, const columns *c,
                             int64_t min_sum) {
    const tile_type *type = tile_value_type(s->f, rows);
    if (range_of(s, rows).min < min_sum - 1)
        rows = tile_build_max(b, rows, like_rows(b, tile_build_int(b, min_sum - 1), type));
    tile_value sum = c->first.summands[0];
    for (unsigned i = 1; i < c->first.count; i++)
        sum = tile_build_add(b, sum, c->first.summands[i]);
    return tile_build_sub(b, rows, like_rows(b, sum, type));
}

/* Distributes the shifted values over the registers as the rows were. */
static tile_value spread_rows(const shifter *s, tile_builder *b, tile_value shifted,
                              tile_value spread) {
    tile_op def = tile_value_def(s->f, spread);
    const tile_type *type = tile_value_type(s->f, spread);
    if (tile_op_opcode(s->f, def) == TILE_OP_splat) return tile_build_splat(b, shifted, type);
    const int64_t *order = tile_op_attr(s->f, def, TILE_ATTR_order)->list;
    tile_value again = tile_build_permute(b, shifted, type);
    tile_op_set_list(s->f, tile_value_def(s->f, again), TILE_ATTR_order, order,
                     registers_of(s, spread));
    return again;
}

/* side: the operand index of the columns. */
static bool shift(shifter *s, tile_op op, unsigned side) {
    columns c = {.count = 0};
    int64_t min_sum;
    tile_value spread = tile_op_operand(s->f, op, 1 - side);
    tile_value rows = find_rows(s, spread, registers_of(s, spread));
    if (!rows.id || !read_columns(s, tile_op_operand(s->f, op, side), &c) ||
        !range_of_columns(s, &c, &min_sum))
        return false;
    tile_builder b = tile_builder_before(s->f, op);
    tile_value *constants = TILE_NEW_ARRAY(s->pass->scratch, tile_value, c.count);
    for (unsigned i = 0; i < c.count; i++) constants[i] = tile_build_int(&b, c.constants[i]);
    tile_value shifted = shift_rows(s, &b, rows, &c, min_sum);
    tile_op_at(s->f, op)->operands[side] = tile_build_concat(&b, constants, c.count);
    tile_op_at(s->f, op)->operands[1 - side] = spread_rows(s, &b, shifted, spread);
    return true;
}

/* Signed comparisons only, because the ranges are signed. */
static bool compares(tile_opcode opcode) {
    return tile_op_has_trait(opcode, TILE_TRAIT_COMPARE) && opcode != TILE_OP_ult;
}

static void visit(shifter *s, tile_op op) {
    tile_function *f = s->f;
    if (!compares(tile_op_opcode(f, op))) return;
    const tile_type *type = tile_value_type(f, tile_operand_lhs(f, op));
    if (type->kind != TILE_TYPE_VECTOR || type->scalar != TILE_i32) return;
    s->moved += shift(s, op, 0) || shift(s, op, 1);
}

tile_status tile_pass_shift_comparisons(tile_pass *pass, tile_function *f) {
    if (!tile_sets_registers(f)) return TILE_OK;
    shifter s = {.pass = pass,
                 .f = f,
                 .ranges = tile_range_analyse(f, pass->scratch),
                 .range_count = f->value_count};
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit(&s, op);
    tile_pass_count(pass, "comparisons", s.moved);
    return TILE_OK;
}
