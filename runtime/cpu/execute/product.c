/* Products of matrices: `dot` on tiles, `mma` on the fragments of a warp.
 *
 * Both add the products one after the other in the order of k. Each is rounded as one fma in the
 * accumulator's type, to which both operands are converted first. So the result does not depend on
 * the split into instructions, and both levels produce the same bits. Integers wrap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analysis/product.h"
#include "lib/ops/precision.h"
#include "lib/support/float16.h"
#include "lib/support/scalar.h"
#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/products.h"
#include "runtime/cpu/execute/decoding.h"

typedef struct operand {
    tile_scalar scalar;
    bool is_unsigned;   /* integers: zero-extended */
    bool negated;       /* floats */
    uint32_t count;     /* number of elements */
    uint32_t *position; /* the index in the matrix of the i-th element; NULL: i */
} operand;

struct cpu_product {
    uint32_t m, n, k;
    operand lhs, rhs, acc;
    bool satfinite, popc;
    tile_word precision; /* of a dot: how f32 is split */
};

/* Decoding ------------------------------------------------------------------------------------- */

static cpu_product *add_product(cpu_decoder *d, tile_op op, uint32_t m, uint32_t n, uint32_t k) {
    tile_mma_query query = tile_product_query(d->f, op);
    cpu_product *product = TILE_NEW(&d->program->arena, cpu_product);
    *product = (cpu_product){
        .m = m,
        .n = n,
        .k = k,
        .lhs = {.scalar = query.lhs, .is_unsigned = query.unsigned_lhs, .count = m * k},
        .rhs = {.scalar = query.rhs, .is_unsigned = query.unsigned_rhs, .count = k * n},
        .acc = {.scalar = query.acc, .count = m * n},
        .precision = tile_op_word(d->f, op, TILE_ATTR_precision)};
    return product;
}

/* NULL if the operand is a tile. */
static const char *buffer_name(const cpu_decoder *d, tile_op op, unsigned side) {
    tile_value value = tile_op_segment(d->f, op, side).at[0];
    bool shared = tile_value_type(d->f, value)->kind == TILE_TYPE_SHARED;
    return shared ? tile_value_at(d->f, value)->name : NULL;
}

/* The positions of the elements of `rows` rows in a matrix stored by columns. */
static uint32_t *transposed_positions(cpu_decoder *d, uint32_t rows, uint32_t columns) {
    uint32_t *positions = TILE_NEW_ARRAY(&d->program->arena, uint32_t, (size_t)rows * columns);
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++)
            positions[row * columns + column] = column * rows + row;
    return positions;
}

void cpu_decode_dot(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_dot);
    tile_mma_query query = tile_product_query(d->f, op);
    insn->type = cpu_operand_type(d, op, TILE_OPERAND_lhs);
    insn->memory = cpu_operand_type(d, op, TILE_OPERAND_rhs);
    if (cpu_result_type(d, op)->rank != 2)
        CPU_FAIL(d, insn->loc, "dot: its operands are batches; run expand-dots");
    cpu_product *product = add_product(d, op, query.m, query.n, query.k);
    if (tile_op_has_attr(d->f, op, TILE_ATTR_trans_lhs))
        product->lhs.position = transposed_positions(d, query.k, query.m);
    if (tile_op_has_attr(d->f, op, TILE_ATTR_trans_rhs))
        product->rhs.position = transposed_positions(d, query.n, query.k);
    insn->product = product;
    insn->flag = tile_op_has_attr(d->f, op, TILE_ATTR_async);
    insn->name = cpu_operand_or_buffer_name(d, buffer_name(d, op, 0), buffer_name(d, op, 1));
    cpu_set_elements(d, insn, cpu_result_type(d, op));
}

void cpu_decode_dot_wait(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_dot_wait);
    insn->integer = cpu_pending_count(d, op);
    cpu_add_move(d, op, tile_operand_src(d->f, op), cpu_place_of(d, tile_op_result(d->f, op, 0)));
}

/* Register i of lane l is at i * CPU_LANES + l. */
static uint32_t *positions_of(cpu_decoder *d, const tile_layout *fragment, unsigned elements) {
    uint32_t *positions = TILE_NEW_ARRAY(&d->program->arena, uint32_t, elements * CPU_LANES);
    for (uint32_t i = 0; i < elements; i++)
        for (uint32_t lane = 0; lane < CPU_LANES; lane++)
            positions[i * CPU_LANES + lane] = tile_layout_apply(fragment, i, lane, 0);
    return positions;
}

void cpu_decode_mma(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_mma);
    const tile_mma *row = tile_product_instruction(d->f, op);
    cpu_product *product = add_product(d, op, row->m, row->n, row->k);
    operand *operands[] = {&product->lhs, &product->rhs, &product->acc};
    const uint32_t rows[] = {row->m, row->k, row->m}, columns[] = {row->k, row->n, row->n};
    for (unsigned o = 0; o < 3; o++) {
        tile_layout fragment = tile_mma_fragment(row, o, rows[o], columns[o]);
        operands[o]->position = positions_of(d, &fragment, tile_mma_elements(row, o));
    }
    insn->product = product;
    cpu_set_elements(d, insn, cpu_result_type(d, op));
}

/* The positions of the registers of an accumulator or an lhs: mma's fragments, consecutive along
 * n. */
static uint32_t *fragment_positions(cpu_decoder *d, uint32_t elements, uint32_t pack,
                                    uint32_t columns) {
    uint32_t *positions = TILE_NEW_ARRAY(&d->program->arena, uint32_t, elements * CPU_LANES);
    for (uint32_t i = 0; i < elements; i++)
        for (uint32_t lane = 0; lane < CPU_LANES; lane++) {
            uint32_t row = lane / 4 + i / pack % 2 * 8;
            uint32_t column = lane % 4 * pack + i % pack + i / (2 * pack) * 4 * pack;
            positions[i * CPU_LANES + lane] = row * columns + column;
        }
    return positions;
}

const cpu_product *cpu_product_of_wgmma(cpu_decoder *d, tile_op op) {
    enum { ROWS = 16, PAIR = 2 };
    const tile_type *lhs = cpu_operand_type(d, op, TILE_OPERAND_lhs);
    tile_mma_query query = tile_product_query(d->f, op);
    uint32_t size = tile_scalar_bytes(query.lhs), k = tile_wgmma_depth(query.lhs);
    uint32_t elements = cpu_value_elements(cpu_result_type(d, op)), n = 2 * elements;
    cpu_product *product = add_product(d, op, ROWS, n, k);
    tile_product_forms forms = tile_product_forms_of(d->f, op);
    product->lhs.negated = forms.negate_lhs;
    product->rhs.negated = forms.negate_rhs;
    product->satfinite = forms.satfinite;
    product->popc = forms.popc;
    if (forms.sparse) product->rhs.count *= 2;
    product->acc.position = fragment_positions(d, elements, PAIR, n);
    if (lhs->kind == TILE_TYPE_VECTOR)
        product->lhs.position = fragment_positions(d, cpu_value_elements(lhs), 4 / size, k);
    return product;
}

uint64_t cpu_product_size(const cpu_product *product) {
    return (uint64_t)product->m * product->n * product->k;
}

/* Elements ------------------------------------------------------------------------------------- */

static uint32_t position_of(const operand *o, uint32_t i) {
    return o->position ? o->position[i] : i;
}

/* An element converted to the accumulator's type, as by `cast`. */
static double real_element(const operand *o, tile_scalar acc, const char *at) {
    double value;
    if (o->is_unsigned)
        value = (double)((uint64_t)tile_integer_read(o->scalar, at) &
                         UINT64_MAX >> (64 - tile_scalar_bits(o->scalar)));
    else
        value = tile_scalar_read(o->scalar, at);
    return o->scalar == acc ? value : tile_scalar_round(acc, value);
}

static uint64_t integer_element(const operand *o, tile_scalar acc, const char *at) {
    unsigned char bytes[sizeof(int64_t)];
    if (tile_scalar_is_floating(o->scalar)) {
        tile_scalar_write(acc, bytes, tile_scalar_read(o->scalar, at));
        return (uint64_t)tile_integer_read(acc, bytes);
    }
    uint64_t value = (uint64_t)tile_integer_read(o->scalar, at);
    if (acc == TILE_i1) return value != 0;
    return o->is_unsigned ? value & UINT64_MAX >> (64 - tile_scalar_bits(o->scalar)) : value;
}

static void read_doubles(const operand *o, tile_scalar acc, const char *from, double *to) {
    unsigned size = tile_scalar_bytes(o->scalar);
    double factor = o->negated ? -1 : 1;
    for (uint32_t i = 0; i < o->count; i++)
        to[position_of(o, i)] = factor * real_element(o, acc, from + i * size);
}

static void read_floats(const operand *o, const char *from, float *to) {
    unsigned size = tile_scalar_bytes(o->scalar);
    float factor = o->negated ? -1 : 1;
    if (o->scalar == TILE_f16) { /* the most frequent type */
        for (uint32_t i = 0; i < o->count; i++) {
            uint16_t bits;
            memcpy(&bits, from + i * size, sizeof bits);
            to[position_of(o, i)] = factor * tile_f16_to_float(bits);
        }
        return;
    }
    for (uint32_t i = 0; i < o->count; i++)
        to[position_of(o, i)] = factor * (float)real_element(o, TILE_f32, from + i * size);
}

static void read_integers(const operand *o, tile_scalar acc, const char *from, uint64_t *to) {
    unsigned size = tile_scalar_bytes(o->scalar);
    for (uint32_t i = 0; i < o->count; i++)
        to[position_of(o, i)] = integer_element(o, acc, from + i * size);
}

/* Sums ----------------------------------------------------------------------------------------- */

static uint64_t count_ones(uint32_t bits) {
    uint64_t ones = 0;
    for (; bits; bits &= bits - 1) ones++;
    return ones;
}

static int64_t clamp_to_i32(int64_t sum) {
    return sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
}

#define MULTIPLY(name, type, expression) \
    static void name(const cpu_product *p, const type *a, const type *b, const uint32_t *picks, \
                     type *c) { \
        tile_scalar acc = p->acc.scalar; \
        (void)acc; \
        for (size_t i = 0; i < p->m; i++) \
            for (size_t l = 0; l < p->k; l++) { \
                const type *row = b + (picks ? picks[i * p->k + l] : l) * p->n; \
                for (size_t j = 0; j < p->n; j++) { \
                    type x = a[i * p->k + l], y = row[j], *sum = &c[i * p->n + j]; \
                    *sum = (expression); \
                } \
            } \
    }

MULTIPLY(multiply_exact, float, *sum + x * y)
MULTIPLY(multiply_float, float, fmaf(x, y, *sum))
MULTIPLY(multiply_double, double, fma(x, y, *sum))
MULTIPLY(multiply_narrow, double, tile_scalar_round(acc, fma(x, y, *sum)))
MULTIPLY(multiply_integer, uint64_t, *sum + x * y)
MULTIPLY(multiply_bits, uint64_t, *sum + count_ones((uint32_t)(x & y)))

/* Products of such elements have at most 22 bits and exponents well inside f32's range, so they are
 * exact. */
static bool is_half(tile_scalar scalar) {
    return scalar == TILE_f16 || tile_scalar_contains(TILE_f16, scalar);
}

static void take_parts(const cpu_product *p, const float *from, uint32_t count, unsigned part,
                       float *to) {
    double parts[TILE_MAX_PARTS];
    for (uint32_t i = 0; i < count; i++) {
        tile_split_parts(p->precision, from[i], parts);
        to[i] = (float)parts[part];
    }
}

/* The products of the parts, one after the other, as expand-dots makes dots of them. */
static void multiply_parts(const cpu_product *p, const float *a, const float *b, float *c) {
    const tile_precision *precision = tile_precision_of(p->precision);
    float *part = tile_malloc(((size_t)p->lhs.count + p->rhs.count) * sizeof *part);
    float *other = part + p->lhs.count;
    for (unsigned i = 0; i < precision->product_count; i++) {
        take_parts(p, a, p->lhs.count, precision->products[i].lhs, part);
        take_parts(p, b, p->rhs.count, precision->products[i].rhs, other);
        multiply_float(p, part, other, NULL, c);
    }
    free(part);
}

static void sum_floats(const cpu_product *p, const char *a, const char *b, const uint32_t *picks,
                       const char *c, char *to, float *work) {
    float *wa = work, *wb = wa + p->lhs.count, *wc = wb + p->rhs.count;
    read_floats(&p->lhs, a, wa);
    read_floats(&p->rhs, b, wb);
    read_floats(&p->acc, c, wc);
    if (tile_precision_of(p->precision)->product_count > 1)
        multiply_parts(p, wa, wb, wc);
    else if (is_half(p->lhs.scalar) && is_half(p->rhs.scalar))
        multiply_exact(p, wa, wb, picks, wc);
    else
        multiply_float(p, wa, wb, picks, wc);
    for (uint32_t i = 0; i < p->acc.count; i++)
        memcpy(to + i * sizeof(float), &wc[position_of(&p->acc, i)], sizeof(float));
}

static void sum_doubles(const cpu_product *p, const char *a, const char *b, const uint32_t *picks,
                        const char *c, char *to, double *work) {
    tile_scalar acc = p->acc.scalar;
    double *wa = work, *wb = wa + p->lhs.count, *wc = wb + p->rhs.count;
    read_doubles(&p->lhs, acc, a, wa);
    read_doubles(&p->rhs, acc, b, wb);
    read_doubles(&p->acc, acc, c, wc);
    if (acc == TILE_f64)
        multiply_double(p, wa, wb, picks, wc);
    else
        multiply_narrow(p, wa, wb, picks, wc);
    for (uint32_t i = 0; i < p->acc.count; i++)
        tile_scalar_write(acc, to + i * tile_scalar_bytes(acc), wc[position_of(&p->acc, i)]);
}

static void sum_integers(const cpu_product *p, const char *a, const char *b, const uint32_t *picks,
                         const char *c, char *to, uint64_t *work) {
    tile_scalar acc = p->acc.scalar;
    uint64_t *wa = work, *wb = wa + p->lhs.count, *wc = wb + p->rhs.count;
    read_integers(&p->lhs, acc, a, wa);
    read_integers(&p->rhs, acc, b, wb);
    read_integers(&p->acc, acc, c, wc);
    if (p->popc)
        multiply_bits(p, wa, wb, picks, wc);
    else
        multiply_integer(p, wa, wb, picks, wc);
    for (uint32_t i = 0; i < p->acc.count; i++) {
        int64_t sum = (int64_t)wc[position_of(&p->acc, i)];
        tile_integer_write(acc, to + i * tile_scalar_bytes(acc),
                           p->satfinite ? clamp_to_i32(sum) : sum);
    }
}

void cpu_multiply(const cpu_product *p, const char *a, const char *b, const uint32_t *picks,
                  const char *c, char *to) {
    union {
        float floats[1024];
        double doubles[1024];
        uint64_t integers[1024];
    } small; /* large enough for any instruction */
    size_t count = (size_t)p->lhs.count + p->rhs.count + p->acc.count;
    bool fits = count <= sizeof small.doubles / sizeof *small.doubles;
    void *work = fits ? (void *)&small : tile_malloc(count * sizeof(double));
    if (p->acc.scalar == TILE_f32)
        sum_floats(p, a, b, picks, c, to, work);
    else if (tile_scalar_is_floating(p->acc.scalar))
        sum_doubles(p, a, b, picks, c, to, work);
    else
        sum_integers(p, a, b, picks, c, to, work);
    if (!fits) free(work);
}

/* Running -------------------------------------------------------------------------------------- */

/* Finds the operand's stage in shared memory: an offset, CPU_NO_PLACE for a tile. */
static bool find_operand(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned index,
                         uint32_t *offset) {
    const tile_type *type = index ? insn->memory : insn->type;
    *offset = CPU_NO_PLACE;
    return type->kind == TILE_TYPE_TILE ||
           cpu_stage_offset(run, agent, insn, index, index ? insn->second : insn->index,
                            index ? insn->second_count : insn->index_count, type, offset);
}

/* A product with `async` reads its operand until a wait covers it. */
static bool read_operand(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned index,
                         uint32_t offset) {
    uint32_t bytes = cpu_stage_bytes(index ? insn->memory : insn->type);
    uint16_t thread = cpu_set_thread(agent, insn);
    return insn->flag ? cpu_lane_start_read(run, agent, insn, -1, thread, offset, bytes)
                      : cpu_shared_read(run, agent, insn, -1, thread, offset, bytes);
}

static void add_pending(cpu_agent *agent, const cpu_pending_dot *dot) {
    if (agent->dot_count == agent->dot_capacity) {
        agent->dot_capacity = agent->dot_capacity ? 2 * agent->dot_capacity : 8;
        agent->dots = tile_realloc(agent->dots, sizeof *agent->dots * agent->dot_capacity);
    }
    agent->dots[agent->dot_count++] = *dot;
}

/* The sums are complete immediately. Only level 3 completes them late. */
CPU_HANDLER(cpu_run_dot) {
    cpu_pending_dot dot = {.insn = insn};
    const char *elements[2];
    for (unsigned i = 0; i < 2; i++) {
        if (!find_operand(run, agent, insn, i, &dot.offset[i])) return CPU_STOP;
        bool tile = dot.offset[i] == CPU_NO_PLACE;
        if (!tile && !read_operand(run, agent, insn, i, dot.offset[i])) return CPU_STOP;
        elements[i] = tile ? cpu_at(run, agent, insn->operand[i])
                           : (const char *)agent->block->shared + dot.offset[i];
    }
    cpu_multiply(insn->product, elements[0], elements[1], NULL,
                 cpu_at(run, agent, insn->operand[2]), cpu_at(run, agent, insn->result));
    if (insn->flag) add_pending(agent, &dot);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_dot_wait) {
    size_t done = 0;
    for (; done + (size_t)insn->integer < agent->dot_count; done++) {
        const cpu_pending_dot *dot = &agent->dots[done];
        uint16_t thread = cpu_set_thread(agent, dot->insn);
        for (unsigned i = 0; i < 2; i++)
            if (dot->offset[i] != CPU_NO_PLACE)
                cpu_lane_end_read(run, agent, dot->insn, -1, thread, dot->offset[i],
                                  cpu_stage_bytes(i ? dot->insn->memory : dot->insn->type));
    }
    if (!done) return CPU_NEXT;
    agent->dot_count -= done;
    memmove(agent->dots, agent->dots + done, sizeof *agent->dots * agent->dot_count);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_mma) {
    if (!cpu_full_warp_active(run, agent, insn)) return CPU_STOP;
    cpu_multiply(insn->product, cpu_at(run, agent, insn->operand[0]),
                 cpu_at(run, agent, insn->operand[1]), NULL, cpu_at(run, agent, insn->operand[2]),
                 cpu_at(run, agent, insn->result));
    return CPU_NEXT;
}
