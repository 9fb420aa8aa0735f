/* matmul at level 1: the product of each batch, elements hidden by masks, and the ranges of correct
 * results. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/layout/mma.h"
#include "lib/ops/error.h"
#include "lib/ops/precision.h"
#include "lib/support/scalar.h"
#include "runtime/reference/element.h"
#include "runtime/reference/evaluation.h"
#include "runtime/reference/product.h"

/* Matrices ------------------------------------------------------------------------------------- */

/* An operand's matrix in one batch, as multiplied. */
typedef struct matrix {
    size_t rows, columns;
    double *data, *planes[PLANE_COUNT]; /* NULL: the operand does not have that plane */
} matrix;

typedef struct product {
    evaluation *e;
    tile_compute_array shapes[2], result;
    tile_value operands[2];
    bool turned[2];
    matrix lhs, rhs; /* of the current batch */
    tile_op op;
    size_t m, n, k;
    size_t first;            /* the first element of the current batch */
    double *to, *low, *high; /* of the current batch; low and high may be NULL: not requested */
    tile_word precision;
    unsigned char *unspecified; /* of the current batch, by element; NULL: none is */
} product;

/* The operand's batch for a batch of the result: missing dims and extents of 1 are broadcast. */
static size_t batch_of(const tile_compute_array *operand, const tile_compute_array *result,
                       size_t batch) {
    size_t at = 0, step = 1;
    for (unsigned d = result->rank - 2; d-- > 0;) {
        size_t along = batch % (size_t)result->dims[d];
        batch /= (size_t)result->dims[d];
        if (d + operand->rank < result->rank) continue;
        size_t extent = (size_t)operand->dims[d + operand->rank - result->rank];
        if (extent > 1) at += along * step;
        step *= extent;
    }
    return at;
}

/* A copy of one plane's matrix, transposed if `turned`; NULL: out of memory. */
static double *copy_matrix(const double *from, size_t rows, size_t columns, bool turned) {
    double *to = malloc(sizeof *to * (rows * columns + 1));
    for (size_t i = 0; to && turned && i < rows; i++)
        for (size_t j = 0; j < columns; j++) to[i * columns + j] = from[j * rows + i];
    if (to && !turned) memcpy(to, from, sizeof *to * rows * columns);
    return to;
}

static bool take_matrix(product *p, unsigned operand, size_t batch, matrix *to) {
    const evaluation *e = p->e;
    uint32_t id = p->operands[operand].id;
    size_t first = batch_of(&p->shapes[operand], &p->result, batch) * to->rows * to->columns;
    to->data = copy_matrix(e->data[id] + first, to->rows, to->columns, p->turned[operand]);
    bool ok = to->data != NULL;
    for (unsigned i = 0; i < PLANE_COUNT; i++) {
        const double *elements = e->planes[i][id];
        to->planes[i] = NULL;
        if (!elements || !ok) continue;
        to->planes[i] = copy_matrix(elements + first, to->rows, to->columns, p->turned[operand]);
        ok = to->planes[i] != NULL;
    }
    return ok;
}

static void free_matrix(matrix *x) {
    free(x->data);
    for (unsigned i = 0; i < PLANE_COUNT; i++) free(x->planes[i]);
    x->data = NULL;
    memset(x->planes, 0, sizeof x->planes);
}

static tile_interval range_at(const matrix *x, size_t i) {
    const double *low = x->planes[PLANE_LOW];
    return low ? (tile_interval){low[i], x->planes[PLANE_HIGH][i]} : range_point(x->data[i]);
}

/* Hidden elements -------------------------------------------------------------------------------
 *
 *     lhs [m, k]   weights; those that a mask hides are 0 and marked
 *     rhs [k, n]   the elements of the k keys in memory
 *
 * A key whose weights are hidden in all rows is ignored: an infinity or NaN in its row of rhs
 * counts as 0. If the key is visible in some rows, the result is unspecified in the other rows. A
 * kernel that loops over blocks of keys multiplies the infinity by 0 if some row of the block sees
 * the key, and skips it otherwise. The same holds with lhs and rhs exchanged. */

static bool is_hidden(const matrix *weights, size_t i) {
    return weights->planes[PLANE_HIDDEN][i] == 1 &&
           (weights->data[i] == 0 || isnan(weights->data[i]));
}

static bool has_unfinite(const matrix *x) {
    for (size_t i = 0; i < x->rows * x->columns; i++)
        if (!isfinite(x->data[i])) return true;
    return false;
}

/* The traversal of a matrix: the steps to the next key and to the next line, in elements. */
typedef struct walk {
    size_t key_step, line_step, lines;
} walk;

static size_t count_hidden(const matrix *weights, walk w, size_t key) {
    size_t count = 0;
    for (size_t line = 0; line < w.lines; line++)
        count += is_hidden(weights, key * w.key_step + line * w.line_step);
    return count;
}

static void zero_element(matrix *x, size_t i) {
    x->data[i] = 0;
    if (!x->planes[PLANE_LOW]) return;
    x->planes[PLANE_LOW][i] = x->planes[PLANE_HIGH][i] = 0;
}

/* Handles one key. `others` is the other operand. `result` finds an element of the product from a
 * line of the weights and a line of the others. */
static void apply_hidden_key(product *p, const matrix *weights, walk w, matrix *others, walk o,
                             walk result, size_t key) {
    size_t hidden = count_hidden(weights, w, key);
    for (size_t j = 0; hidden && j < o.lines; j++) {
        size_t at = key * o.key_step + j * o.line_step;
        if (isfinite(others->data[at])) continue;
        if (hidden == w.lines) zero_element(others, at);
        for (size_t i = 0; hidden < w.lines && i < w.lines; i++)
            if (is_hidden(weights, key * w.key_step + i * w.line_step))
                p->unspecified[i * result.key_step + j * result.line_step] = 1;
    }
}

static bool hide_of(product *p, const matrix *weights, walk w, matrix *others, walk o,
                    walk result) {
    if (!weights->planes[PLANE_HIDDEN] || !has_unfinite(others)) return true;
    if (!p->unspecified) p->unspecified = calloc(p->m * p->n + 1, 1);
    for (size_t key = 0; p->unspecified && key < p->k; key++)
        apply_hidden_key(p, weights, w, others, o, result, key);
    return p->unspecified != NULL;
}

static bool hide(product *p) {
    walk lhs = {1, p->k, p->m}, rhs = {p->n, 1, p->n};
    return hide_of(p, &p->lhs, lhs, &p->rhs, rhs, (walk){p->n, 1, 0}) &&
           hide_of(p, &p->rhs, rhs, &p->lhs, lhs, (walk){1, p->n, 0});
}

/* Ranges -------------------------------------------------------------------------------------- */

/* The maximum distance of an operand from level 1's number: that to the ends of its range, and half
 * a unit more if a kernel rounds it. `schedule` may round weights before it divides them by their
 * sum. */
static double radius_at(const matrix *x, const tile_error *rounding, size_t i) {
    tile_interval r = range_at(x, i);
    double value = x->data[i], radius = fmax(value - r.low, r.high - value);
    if (range_is_point(r)) return 0;
    if (isnan(r.low) || !(radius < INFINITY)) return INFINITY;
    return radius + fmax(fabs(value), rounding->least) * rounding->relative;
}

/* The error of a computed element as it is multiplied. */
static tile_error find_rounding(tile_scalar origin, tile_word precision) {
    double part = 2 * tile_scalar_rounding(TILE_bf16);
    if (tile_scalar_bits(origin) <= 16)
        return (tile_error){.relative = tile_scalar_rounding(origin),
                            .least = tile_scalar_least(origin)};
    switch (precision) {
    case TILE_WORD_precision_tf32:
        return (tile_error){.relative = 2 * tile_scalar_rounding(TILE_tf32)};
    case TILE_WORD_precision_bf16x3: return (tile_error){.relative = part * part};
    case TILE_WORD_precision_bf16x6: return (tile_error){.relative = part * part * part};
    default: return (tile_error){.relative = 0};
    }
}

/* The absolute values of the elements, with `most` plus their radius; NULL: out of memory. */
static double *take_sizes(const matrix *x, tile_error rounding, bool most) {
    size_t count = x->rows * x->columns;
    double *sizes = malloc(sizeof *sizes * (count + 1));
    for (size_t i = 0; sizes && i < count; i++)
        sizes[i] = fabs(x->data[i]) + (most ? radius_at(x, &rounding, i) : 0);
    return sizes;
}

/* Sums of the absolute values of products; NULL: out of memory. */
static double *multiply_sizes(const product *p, const tile_scalar *origins, bool most) {
    double *a = take_sizes(&p->lhs, find_rounding(origins[0], p->precision), most),
           *b = take_sizes(&p->rhs, find_rounding(origins[1], p->precision), most);
    double *sums = malloc(sizeof *sums * (p->m * p->n + 1));
    if (a && b && sums) tile_multiply_reals(a, b, sums, p->m, p->n, p->k);
    if (!a || !b) {
        free(sums);
        sums = NULL;
    }
    free(a);
    free(b);
    return sums;
}

/* The range of a sum, product by product, if some are infinite or NaN. */
static tile_interval sum_ranges(const product *p, size_t i, size_t j, double error) {
    const range_op times = {.opcode = TILE_OP_mul,
                            .operand_count = 2,
                            .from = TILE_f64,
                            .to = TILE_f64,
                            .precision = TILE_f64};
    tile_interval sum = range_point(0);
    double size = 0;
    bool points = true;
    for (size_t l = 0; l < p->k; l++) {
        const tile_interval x[2] = {range_at(&p->lhs, i * p->k + l),
                                    range_at(&p->rhs, l * p->n + j)};
        tile_interval term = range_apply(&times, x, x[0].low * x[1].low);
        if (range_is_point(term) && isnan(term.low)) return term; /* the sum is NaN */
        points &= range_is_point(term);
        size += range_size(term);
        sum = (tile_interval){sum.low + term.low, sum.high + term.high};
    }
    if (isnan(sum.low) || isnan(sum.high)) return points ? range_point(NAN) : range_anything();
    if (isfinite(sum.low)) sum.low -= error * size;
    if (isfinite(sum.high)) sum.high += error * size;
    return sum;
}

static bool is_whole(const matrix *x) {
    for (size_t i = 0; i < x->rows * x->columns; i++)
        if (x->data[i] != rint(x->data[i])) return false;
    return !x->planes[PLANE_LOW];
}

/* Returns whether the type represents sums of integers of this size exactly. */
static bool is_exact(tile_scalar precision, double size) {
    return size * tile_scalar_rounding(precision == TILE_f64 ? TILE_f64 : TILE_f32) <= 1;
}

/* The error of the sums relative to the sum of absolute values. slack: how much larger this sum is
 * for the products of parts. */
static double find_error(const product *p, const tile_scalar origins[2], tile_scalar sum,
                         bool exact, double *slack) {
    const tile_precision *parts = tile_precision_of(p->precision);
    *slack = 1;
    if (p->precision == TILE_WORD_precision_tf32)
        return tile_product_error(TILE_tf32, TILE_tf32, sum, p->k);
    if (parts->product_count == 1) return tile_product_error(origins[0], origins[1], sum, p->k);
    double part = 2 * tile_scalar_rounding(TILE_bf16), rest = 1;
    *slack = (1 + part) * (1 + part);
    for (unsigned i = 0; i < parts->part_count; i++) rest *= part;
    double error = tile_product_error(TILE_bf16, TILE_bf16, sum, p->k * parts->product_count);
    return error * *slack + (exact ? 0 : rest); /* rest: the products that are left out */
}

static bool find_ranges(product *p) {
    const evaluation *e = p->e;
    tile_scalar precision = evaluation_precision(e, p->result.scalar);
    const tile_scalar origins[2] = {e->origins[p->operands[TILE_MMA_LHS].id],
                                    e->origins[p->operands[TILE_MMA_RHS].id]};
    const tile_error rounding = tile_op_error_of(TILE_OP_add, precision, false);
    bool exact = !p->lhs.planes[PLANE_LOW] && !p->rhs.planes[PLANE_LOW];
    bool whole = exact && is_whole(&p->lhs) && is_whole(&p->rhs);
    double slack, error = find_error(p, origins, precision, exact, &slack);
    double *least = multiply_sizes(p, origins, false);
    double *most = exact ? NULL : multiply_sizes(p, origins, true);
    bool ok = least && (exact || most);
    for (size_t i = 0; ok && i < p->m * p->n; i++) {
        double value = p->to[i], size = exact ? least[i] : most[i];
        tile_interval r = {value - (size - least[i]) - error * size,
                           value + (size - least[i]) + error * size};
        if (!isfinite(value) || !isfinite(size)) r = sum_ranges(p, i / p->n, i % p->n, error);
        if (whole && is_exact(precision, size * slack)) r = range_point(value);
        bool rounds = tile_scalar_bits(precision) == 16;
        if (rounds && !(range_is_point(r) && tile_scalar_round(precision, r.low) == r.low))
            r = range_widen(&rounding, precision, r, 0);
        r = range_overflow(precision, r);
        if (p->unspecified && p->unspecified[i]) r = range_anything();
        p->low[i] = r.low;
        p->high[i] = r.high;
    }
    free(least);
    free(most);
    return ok;
}

/* Integers ------------------------------------------------------------------------------------- */

/* An operand's matrix as integers of the result's type; NULL: out of memory. */
static int64_t *as_integers(const product *p, unsigned operand, const matrix *x) {
    const tile_arith_flags plain = {.nan = false};
    const double *bits = x->planes[PLANE_INTEGER];
    tile_scalar from = p->shapes[operand].scalar, to = p->result.scalar;
    size_t count = x->rows * x->columns;
    int64_t *integers = malloc(sizeof *integers * (count + 1));
    for (size_t i = 0; integers && i < count; i++) {
        tile_number number = tile_element_number(from, x->data[i]), result = {0, 0};
        if (bits) memcpy(&number.integer, &bits[i], sizeof number.integer);
        tile_element_compute(TILE_OP_cast, from, to, plain, &number, &result);
        integers[i] = result.integer;
    }
    return integers;
}

/* Sums wrap to the width of the type, as those of a dot do. False: out of memory. */
static bool multiply_integers(const product *p) {
    tile_value result = tile_op_result(p->e->f, p->op, 0);
    int64_t *x = as_integers(p, TILE_MMA_LHS, &p->lhs), *y = as_integers(p, TILE_MMA_RHS, &p->rhs);
    int64_t *columns = malloc(sizeof *columns * (p->k * p->n + 1));
    bool ok = x && y && columns;
    for (size_t l = 0; ok && l < p->k; l++)
        for (size_t j = 0; j < p->n; j++) columns[j * p->k + l] = y[l * p->n + j];
    for (size_t i = 0; ok && i < p->m * p->n; i++) {
        int64_t sum = tile_multiply_rows(x + i / p->n * p->k, columns + i % p->n * p->k, p->k);
        evaluation_set_number(p->e, result, p->first + i,
                              tile_number_wrap(p->result.scalar, (tile_number){0, sum}));
    }
    free(x);
    free(y);
    free(columns);
    return ok;
}

/* Undefined elements --------------------------------------------------------------------------- */

/* The first number in a line of the matrix. */
static double poison_of_line(const matrix *x, size_t begin, size_t step, size_t count) {
    const double *plane = x->planes[PLANE_POISON];
    double found = 0;
    for (size_t l = 0; plane && l < count && !found; l++) found = plane[begin + l * step];
    return found;
}

/* An element depends on its whole row of lhs and column of rhs. */
static void poison_product(const product *p) {
    tile_value result = tile_op_result(p->e->f, p->op, 0);
    double *to = p->e->planes[PLANE_POISON][result.id];
    for (size_t i = 0; to && i < p->m; i++) {
        double row = poison_of_line(&p->lhs, i * p->k, 1, p->k);
        for (size_t j = 0; j < p->n; j++)
            to[p->first + i * p->n + j] = row ? row : poison_of_line(&p->rhs, j, p->n, p->k);
    }
}

/* Precision of f32 ----------------------------------------------------------------------------- */

/* Part `part` of each element. */
static void take_parts(tile_word precision, const double *from, size_t count, unsigned part,
                       double *to) {
    double parts[TILE_MAX_PARTS];
    for (size_t i = 0; i < count; i++) {
        tile_split_parts(precision, from[i], parts);
        to[i] = parts[part];
    }
}

/* Computes the sum of the products of parts; false: out of memory. */
static bool multiply_parts(const product *p) {
    const tile_precision *precision = tile_precision_of(p->precision);
    double *a = malloc(sizeof *a * (p->m * p->k + 1)), *b = malloc(sizeof *b * (p->k * p->n + 1)),
           *sum = malloc(sizeof *sum * (p->m * p->n + 1));
    bool ok = a && b && sum;
    for (size_t i = 0; ok && i < p->m * p->n; i++) p->to[i] = 0;
    for (unsigned i = 0; ok && i < precision->product_count; i++) {
        take_parts(p->precision, p->lhs.data, p->m * p->k, precision->products[i].lhs, a);
        take_parts(p->precision, p->rhs.data, p->k * p->n, precision->products[i].rhs, b);
        tile_multiply_reals(a, b, sum, p->m, p->n, p->k);
        for (size_t j = 0; j < p->m * p->n; j++) p->to[j] += sum[j];
    }
    free(a);
    free(b);
    free(sum);
    return ok;
}

static double round_element(tile_word precision, double value) {
    double parts[TILE_MAX_PARTS];
    tile_split_parts(precision, value, parts);
    return parts[0] + parts[1] + parts[2];
}

/* Replaces the elements by the sums of their parts. Ranges contain both: `schedule` may multiply
 * elements before it scales them, which are rounded differently. */
static void round_matrix(tile_word precision, matrix *x) {
    double *low = x->planes[PLANE_LOW], *high = x->planes[PLANE_HIGH];
    for (size_t i = 0; i < x->rows * x->columns; i++) {
        bool point = low && range_is_point(range_at(x, i));
        x->data[i] = round_element(precision, x->data[i]);
        if (!low) continue;
        low[i] = point ? x->data[i] : fmin(low[i], round_element(precision, low[i]));
        high[i] = point ? x->data[i] : fmax(high[i], round_element(precision, high[i]));
    }
}

/* False: out of memory. */
static bool multiply_reals(product *p) {
    if (!p->precision || p->precision == TILE_WORD_precision_ieee) {
        tile_multiply_reals(p->lhs.data, p->rhs.data, p->to, p->m, p->n, p->k);
        return true;
    }
    bool ok = multiply_parts(p);
    round_matrix(p->precision, &p->lhs);
    round_matrix(p->precision, &p->rhs);
    return ok;
}

/* All batches --------------------------------------------------------------------------------- */

static bool multiply(product *p) {
    if (!tile_scalar_is_floating(p->result.scalar)) return multiply_integers(p);
    if (!hide(p)) return false;
    return multiply_reals(p) && (!p->low || find_ranges(p));
}

static bool run_batch(product *p, size_t batch) {
    bool ok = take_matrix(p, TILE_MMA_LHS, batch, &p->lhs) &&
              take_matrix(p, TILE_MMA_RHS, batch, &p->rhs) && multiply(p);
    if (ok) poison_product(p);
    free_matrix(&p->lhs);
    free_matrix(&p->rhs);
    free(p->unspecified);
    p->unspecified = NULL;
    return ok;
}

static bool open(product *p, evaluation *e, tile_op op) {
    *p = (product){.e = e, .op = op};
    static const tile_attr_id turns[2] = {TILE_ATTR_trans_lhs, TILE_ATTR_trans_rhs};
    for (unsigned i = 0; i < 2; i++) {
        p->operands[i] = tile_op_operand(e->f, op, i);
        p->turned[i] = tile_op_has_attr(e->f, op, turns[i]);
        if (!evaluation_operand(e, tile_op_operand(e->f, op, i), &p->shapes[i])) return false;
    }
    p->precision = tile_op_word(e->f, op, TILE_ATTR_precision);
    tile_value result = tile_op_result(e->f, op, 0);
    if (!evaluation_resolve(e, tile_value_type(e->f, result), &p->result)) return false;
    const tile_compute_array *lhs = &p->shapes[0], *c = &p->result;
    p->m = (size_t)c->dims[c->rank - 2];
    p->n = (size_t)c->dims[c->rank - 1];
    p->k = (size_t)lhs->dims[lhs->rank - (p->turned[0] ? 2 : 1)];
    p->lhs = (matrix){.rows = p->m, .columns = p->k};
    p->rhs = (matrix){.rows = p->k, .columns = p->n};
    evaluation_create_integers(e, result);
    for (unsigned i = 0; i < 2; i++)
        if (e->planes[PLANE_POISON][p->operands[i].id])
            evaluation_create_plane(e, PLANE_POISON, result);
    if (!e->ranged || !tile_scalar_is_floating(c->scalar)) return true;
    p->low = evaluation_create_plane(e, PLANE_LOW, result);
    p->high = evaluation_create_plane(e, PLANE_HIGH, result);
    return p->low && p->high;
}

void evaluation_matmul(evaluation *e, tile_op op, double *to) {
    product p;
    size_t batches = 1;
    if (!open(&p, e, op)) return;
    for (unsigned d = 0; d + 2 < p.result.rank; d++) batches *= (size_t)p.result.dims[d];
    for (size_t i = 0; i < batches && !e->failed; i++) {
        p.first = i * p.m * p.n;
        p.to = to + p.first;
        if (!run_batch(&p, i)) FAIL(e, "@%s: out of host memory for a matrix", e->f->name);
        if (p.low) p.low += p.m * p.n;
        if (p.high) p.high += p.m * p.n;
    }
}
