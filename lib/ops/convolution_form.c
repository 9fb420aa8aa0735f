/* The form in which a convolution reads its windows: bytes moved against bytes of gathers. */
#include "lib/ops/convolution.h"

#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"
#include "lib/support/integer.h"

/* Returns whether the steps along the channels of one position are nearly full, and many. */
static bool fills_steps(const tile_convolution_traffic *t) {
    enum { STEP = 16, SHORT = 8 /* channels */, EMPTY = 8 /* at most one part in so many */ };
    static const double many = 1e9; /* products, which take 10 launches */
    if (t->channels < SHORT || t->positions < 2) return false;
    const int64_t empty = t->channels == SHORT ? 0 : (STEP - t->channels % STEP) % STEP;
    return empty * EMPTY <= t->channels && t->windows * t->filters >= many;
}

tile_convolution_form tile_convolution_form_of(const tile_convolution_traffic *t) {
    enum { VECTOR = 16 /* bytes */, WIDE = 8 /* channels */, BLOCK = 128 /* filters */ };
    static const double launch = 8e6; /* bytes */
    bool wide = t->channels < 0 || t->channels >= WIDE, known = t->input >= 0 && t->windows >= 0;
    if (t->channels_last) return wide ? TILE_CONVOLUTION_CHANNELS_LAST : TILE_CONVOLUTION_IN_PLACE;
    if (t->by_fma && fills_steps(t)) return TILE_CONVOLUTION_POSITIONS_FIRST;
    if (!wide || t->by_fma) return TILE_CONVOLUTION_IN_PLACE;
    if (t->positions == 1 && !t->apart) return TILE_CONVOLUTION_IN_PLACE;
    if (t->shifted) return TILE_CONVOLUTION_SHIFTED;
    if (!known) return TILE_CONVOLUTION_MOVED;
    double blocks = t->filters > BLOCK ? t->filters / BLOCK : 1;
    return VECTOR * t->windows * blocks > 2 * t->input + launch ? TILE_CONVOLUTION_MOVED
                                                                : TILE_CONVOLUTION_IN_PLACE;
}

/* The number that the expression is; -1 if it is not known. */
static int64_t number(const tile_expr *expr) {
    int64_t value;
    return tile_expr_is_int(expr, &value) ? value : -1;
}

static double times(double a, int64_t b) {
    return a < 0 || b < 0 ? -1 : a * (double)b;
}

bool tile_convolution_is_by_fma(const tile_function *f, tile_op op, const tile_type *lhs) {
    tile_word precision = tile_op_word(f, op, TILE_ATTR_precision);
    bool ieee = precision == TILE_WORD_NONE || precision == TILE_WORD_precision_ieee;
    return !lhs->param && (lhs->scalar == TILE_f64 || (lhs->scalar == TILE_f32 && ieee));
}

/* Returns whether the rows of windows of one position begin at odd multiples. With strides or pads,
 * a first kernel writes the windows without gaps, so that they have the rows of the result; if
 * these are aligned, TMA copies them. Rows of lhs itself are read more slowly only if cp.async
 * cannot copy them. The windows of phases have neither strides nor pads. */
static bool are_apart(const tile_convolution *c, const tile_type *lhs, const tile_type *result) {
    enum { BY_TMA = 16, BY_CP_ASYNC = 4 /* bytes */ };
    bool moved = false;
    for (unsigned i = 0; i < c->spatial; i++)
        moved |=
            c->strides[i] != 1 || (c->input_dilations[i] == 1 && (c->pads[i][0] || c->pads[i][1]));
    int64_t row = lhs->param ? 2 : tile_scalar_bytes(lhs->scalar);
    for (unsigned i = 0; i < c->spatial; i++) {
        int64_t extent =
            number(moved ? result->dims[c->result.spatial[i]] : lhs->dims[c->lhs.spatial[i]]);
        row = extent < 0 || row < 0 ? -1 : row * (extent % BY_TMA) % BY_TMA;
    }
    return row >= 0 && row % (moved ? BY_TMA : BY_CP_ASYNC) != 0;
}

/* Returns whether the product copies the rows of lhs [n, c, places] at one position of the filter
 * after the other, and rounds them to tf32 in registers: wgmma takes those elements from registers
 * in any order (passes/schedule/cut/rounded.c). TMA copies no rows that begin at any element, and
 * cp.async copies no 2 bytes. It copies 4 bytes at a time: with 128 filters of 3 positions that
 * takes less time than moving the array (H200: 250 us instead of 293), with 64 of 5 more (199,
 * 145).
 */
static bool are_shifted(const tile_function *f, tile_op op, const tile_convolution *c) {
    enum {
        FEW = 1024 /* places: they are united with those of other images */,
        ROW = 16 /* bytes */
    };
    enum { MOST_TAPS = 3, LEAST_FILTERS = 65, MOST_FILTERS = 128 };
    const tile_value value = tile_operand_lhs(f, op);
    const tile_op cast = tile_value_def(f, value);
    const tile_type *lhs = tile_value_type(f, value),
                    *rhs = tile_value_type(f, tile_operand_rhs(f, op)),
                    *result = tile_value_type(f, tile_op_result(f, op, 0));
    if (lhs->param || lhs->scalar != TILE_tf32 || !cast.id ||
        tile_op_opcode(f, cast) != TILE_OP_cast || c->spatial != 1 || c->groups ||
        c->batch_groups || c->strides[0] != 1 || c->input_dilations[0] != 1 || lhs->rank != 3 ||
        c->lhs.outer != 0 || c->lhs.spatial[0] != 2 || c->result.outer != 0 ||
        c->result.spatial[0] != 2)
        return false;
    const tile_value array = tile_operand_src(f, cast);
    const int64_t extent = number(lhs->dims[2]), filters = number(result->dims[1]),
                  taps = number(rhs->dims[c->rhs.spatial[0]]);
    return !tile_value_def(f, array).id && tile_value_type(f, array)->scalar == TILE_f32 &&
           extent > 0 && extent * tile_scalar_bytes(TILE_f32) % ROW == 0 &&
           number(result->dims[2]) > FEW && filters >= LEAST_FILTERS && filters <= MOST_FILTERS &&
           taps > 0 && taps <= MOST_TAPS;
}

tile_convolution_form tile_convolution_choose_form(const tile_function *f, tile_op op,
                                                   const tile_convolution *c) {
    tile_context *context = tile_function_context(f);
    const tile_type *lhs = tile_value_type(f, tile_operand_lhs(f, op)),
                    *rhs = tile_value_type(f, tile_operand_rhs(f, op)),
                    *result = tile_value_type(f, tile_op_result(f, op, 0));
    const tile_expr *groups = c->groups ? c->groups : c->batch_groups;
    const tile_expr *filters = result->dims[c->result.channel];
    if (groups)
        filters = tile_extent_canonical(context,
                                        tile_expr_op(context, TILE_OP_div, filters, groups, NULL));
    tile_convolution_traffic t = {
        .by_fma = tile_convolution_is_by_fma(f, op, lhs),
        .channels_last = c->lhs.channel + 1u == lhs->rank,
        .channels = number(rhs->dims[c->rhs.outer]),
        .positions = 1,
        .apart = are_apart(c, lhs, result),
        .shifted = are_shifted(f, op, c),
        .input = lhs->param ? 2 : tile_scalar_bytes(lhs->scalar),
        .windows = 1,
        .filters = (double)number(filters),
    };
    for (unsigned d = 0; d < lhs->rank; d++) t.input = times(t.input, number(lhs->dims[d]));
    for (unsigned i = 0; i < c->spatial; i++) {
        int64_t taps = number(rhs->dims[c->rhs.spatial[i]]), step = c->input_dilations[i];
        step /= (int64_t)tile_gcd((uint64_t)step, (uint64_t)c->dilations[i]);
        taps = taps < 0 ? -1 : (taps + step - 1) / step; /* of a phase */
        t.positions = taps < 0 || t.positions < 0 ? -1 : t.positions * taps;
        t.windows = times(t.windows, number(result->dims[c->result.spatial[i]]));
    }
    t.windows = times(t.windows, number(lhs->dims[c->lhs.outer]));
    t.windows = times(t.windows, number(lhs->dims[c->lhs.channel]));
    t.windows = times(t.windows, t.positions);
    return tile_convolution_form_of(&t);
}
