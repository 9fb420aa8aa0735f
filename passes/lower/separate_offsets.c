/* separate-offsets: computes the addresses of neighboring accesses as one sum plus constants.
 *
 * The windows of a stencil read many elements at known distances. Each address is a sum of its own
 * in 64 bits: the coordinates differ before they are multiplied by strides. The pass multiplies the
 * constants out, so that all these accesses share one sum and differ by a constant, which is part
 * of a load instruction.
 *
 * level: 3 to 3
 * requires: nothing
 * keeps: everything
 * breaks: nothing
 *
 * pipeline: separate-offsets,cse,dce
 * before:
 *   kernel @column(%x: ptr<f32>, %y: ptr<f32>)
 *       grid [1]
 *       warps 1
 *       level 3
 *   {
 *     %lane = lane_id : i32
 *     %0 = cast %lane : i64
 *     %1 = mul %0, i64(100) : i64
 *     %2 = ld_global %x[%1] : f32
 *     %3 = add %lane, 1 : i32
 *     %4 = cast %3 : i64
 *     %5 = mul %4, i64(100) : i64
 *     %6 = ld_global %x[%5] : f32
 *     %7 = add %lane, 2 : i32
 *     %8 = cast %7 : i64
 *     %9 = mul %8, i64(100) : i64
 *     %10 = ld_global %x[%9] : f32
 *     %11 = add %lane, 3 : i32
 *     %12 = cast %11 : i64
 *     %13 = mul %12, i64(100) : i64
 *     %14 = ld_global %x[%13] : f32
 *     %15 = add %2, %6 : f32
 *     %16 = add %10, %14 : f32
 *     %17 = add %15, %16 : f32
 *     st_global %17, %y[%lane]
 *   }
 *
 * after:
 *   kernel @column(%x: ptr<f32>, %y: ptr<f32>)
 *       grid [1]
 *       warps 1
 *       level 3
 *   {
 *     %lane = lane_id : i32
 *     %0 = cast %lane : i64
 *     %1 = mul %0, i64(100) : i64
 *     %2 = ld_global %x[%1] : f32
 *     %3 = add %1, i64(100) : i64
 *     %4 = ld_global %x[%3] : f32
 *     %5 = add %1, i64(200) : i64
 *     %6 = ld_global %x[%5] : f32
 *     %7 = add %1, i64(300) : i64
 *     %8 = ld_global %x[%7] : f32
 *     %9 = add %2, %4 : f32
 *     %10 = add %6, %8 : f32
 *     %11 = add %9, %10 : f32
 *     st_global %11, %y[%lane]
 *   }
 *
 * Correctness: sums in 64 bits are equal modulo 2^64 in any order. A sum in 32 bits is split only
 * if its range shows that it does not wrap around.
 *
 * Only groups of several addresses are changed: a single one would gain nothing.
 *
 * Asynchronous copies of windows have other channels and positions of the filter each, but the same
 * places. Their addresses then share the sum of all terms from outside of the region, which licm
 * moves out of the loop, and the other terms are added in 32 bits if these suffice. */
#include <math.h>
#include <stdlib.h>

#include "lib/analysis/memory.h"
#include "lib/analysis/range.h"
#include "passes/pass.h"

enum { MAX_TERMS = 12, MIN_ADDRESSES = 4 };
#define LARGEST 0x1p50 /* of a coefficient */

/* coefficient * a scalar, or a register of a vector. */
typedef struct term {
    tile_value value;
    unsigned index;
    int64_t coefficient;
} term;

typedef struct form {
    term terms[MAX_TERMS];
    unsigned count;
    int64_t constant;
} form;

typedef struct address {
    tile_op op;
    unsigned operand; /* the index among the operation's operands */
    tile_value memory;
    tile_region region;
    form sum;
    bool grouped, separated;
} address;

typedef struct separator {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    address *addresses;
    size_t count, capacity;
    bool copies; /* asynchronous copies are read, too */
    long changed;
} separator;

/* Reading -------------------------------------------------------------------------------------- */

static bool add_term(form *to, tile_value value, unsigned index, int64_t coefficient) {
    for (unsigned i = 0; i < to->count; i++)
        if (to->terms[i].value.id == value.id && to->terms[i].index == index) {
            to->terms[i].coefficient += coefficient;
            return true;
        }
    if (to->count == MAX_TERMS) return false;
    to->terms[to->count++] = (term){value, index, coefficient};
    return true;
}

/* The number that all registers of a value have. */
static bool find_number(const separator *s, tile_value value, int64_t *number) {
    tile_op def = tile_value_def(s->f, value);
    if (def.id && tile_op_opcode(s->f, def) == TILE_OP_splat) value = tile_operand_src(s->f, def);
    return tile_value_is_int(s->f, value, number);
}

static bool is_narrow(const separator *s, tile_value value) {
    return tile_value_type(s->f, value)->scalar == TILE_i32;
}

/* The part of a concat that has this register, which becomes relative to it. */
static tile_value part_of(const separator *s, tile_op concat, unsigned *index) {
    for (unsigned i = 0; i < tile_op_operand_count(s->f, concat); i++) {
        tile_value part = tile_op_operand(s->f, concat, i);
        const tile_type *type = tile_value_type(s->f, part);
        unsigned length = type->kind == TILE_TYPE_SCALAR ? 1 : (unsigned)tile_type_elements(type);
        if (*index < length) return part;
        *index -= length;
    }
    return TILE_NO_VALUE;
}

/* The range of one register: the analysis knows that of all registers together. */
static tile_range range_of(const separator *s, tile_value value, unsigned index, unsigned depth) {
    tile_op def = tile_value_def(s->f, value);
    bool scalar = tile_value_type(s->f, value)->kind == TILE_TYPE_SCALAR;
    if (!def.id || !depth || scalar) return s->ranges[value.id];
    tile_opcode opcode = tile_op_opcode(s->f, def);
    if (opcode == TILE_OP_concat) {
        tile_value part = part_of(s, def, &index);
        return part.id ? range_of(s, part, index, depth - 1) : s->ranges[value.id];
    }
    if (opcode == TILE_OP_splat) return s->ranges[tile_operand_src(s->f, def).id];
    if (s->copies && opcode == TILE_OP_permute) {
        index = (unsigned)tile_op_attr(s->f, def, TILE_ATTR_order)->list[index];
        return range_of(s, tile_operand_src(s->f, def), index, depth - 1);
    }
    bool divides = s->copies && (opcode == TILE_OP_div || opcode == TILE_OP_rem);
    if (opcode != TILE_OP_add && opcode != TILE_OP_mul && !divides) return s->ranges[value.id];
    const tile_range both[] = {range_of(s, tile_operand_lhs(s->f, def), index, depth - 1),
                               range_of(s, tile_operand_rhs(s->f, def), index, depth - 1)};
    return tile_range_apply(opcode, tile_value_type(s->f, value)->scalar, both);
}

/* Returns whether a sum or product of i32 equals that of integers. i64 may wrap around. */
static bool is_exact(const separator *s, tile_op op, unsigned index) {
    enum { DEPTH = 6 };
    if (!is_narrow(s, tile_op_result(s->f, op, 0))) return true;
    tile_range a = range_of(s, tile_operand_lhs(s->f, op), index, DEPTH);
    tile_range b = range_of(s, tile_operand_rhs(s->f, op), index, DEPTH);
    if (tile_op_opcode(s->f, op) == TILE_OP_add)
        return a.min + b.min >= INT32_MIN && a.max + b.max <= INT32_MAX;
    int64_t ends[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
    for (unsigned i = 0; i < 4; i++)
        if (ends[i] < INT32_MIN || ends[i] > INT32_MAX) return false;
    return true;
}

/* Adds coefficient * register `index` of the value, a scalar if it is one. */
static bool add_value(const separator *s, tile_value value, unsigned index, int64_t coefficient,
                      form *to) {
    const tile_type *type = tile_value_type(s->f, value);
    tile_op def = tile_value_def(s->f, value);
    int64_t number;
    if (tile_value_is_int(s->f, value, &number)) {
        to->constant = (int64_t)((uint64_t)to->constant + (uint64_t)coefficient * (uint64_t)number);
        return true;
    }
    tile_opcode opcode = def.id ? tile_op_opcode(s->f, def) : TILE_OP_NONE;
    if (opcode == TILE_OP_add && is_exact(s, def, index))
        return add_value(s, tile_operand_lhs(s->f, def), index, coefficient, to) &&
               add_value(s, tile_operand_rhs(s->f, def), index, coefficient, to);
    if (opcode == TILE_OP_mul && is_exact(s, def, index) &&
        find_number(s, tile_operand_rhs(s->f, def), &number) &&
        fabs((double)coefficient * (double)number) < LARGEST)
        return add_value(s, tile_operand_lhs(s->f, def), index, coefficient * number, to);
    if (opcode == TILE_OP_cast && type->scalar == TILE_i64 &&
        is_narrow(s, tile_operand_src(s->f, def)))
        return add_value(s, tile_operand_src(s->f, def), index, coefficient, to);
    if (opcode == TILE_OP_splat)
        return add_value(s, tile_operand_src(s->f, def), 0, coefficient, to);
    if (opcode == TILE_OP_concat) {
        tile_value part = part_of(s, def, &index);
        return part.id && add_value(s, part, index, coefficient, to);
    }
    if (s->copies && opcode == TILE_OP_permute) {
        index = (unsigned)tile_op_attr(s->f, def, TILE_ATTR_order)->list[index];
        return add_value(s, tile_operand_src(s->f, def), index, coefficient, to);
    }
    if (opcode == TILE_OP_extract && type->kind == TILE_TYPE_SCALAR &&
        tile_value_is_int(s->f, tile_operand_first(s->f, def), &number))
        return add_value(s, tile_operand_src(s->f, def), (unsigned)number, coefficient, to);
    return add_term(to, value, type->kind == TILE_TYPE_SCALAR ? 0 : index, coefficient);
}

static int compare_terms(const void *a, const void *b) {
    const term *x = a, *y = b;
    if (x->value.id != y->value.id) return x->value.id < y->value.id ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool accesses_global(const separator *s, tile_opcode opcode) {
    return opcode == TILE_OP_ld_global || opcode == TILE_OP_st_global ||
           (s->copies && opcode == TILE_OP_cp_async);
}

/* Addresses of copies take the place of products by fma, which all threads compute. Matrix
 * instructions leave them enough time. */
static bool adds_by_fma(const tile_function *f) {
    bool copies = false;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        const tile_opcode opcode = tile_op_opcode(f, op);
        copies |= opcode == TILE_OP_cp_async;
        if (opcode == TILE_OP_mma || opcode == TILE_OP_wgmma) return false;
    }
    return copies;
}

/* Only accesses to pointers: an index of a view has bounds. */
static void add_address(separator *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->f, op);
    if (!accesses_global(s, opcode)) return;
    address a = {.op = op, .region = tile_op_at(s->f, op)->parent};
    const tile_op_data *data = tile_op_at(s->f, op);
    const bool stores = opcode == TILE_OP_st_global;
    a.memory = stores ? tile_operands_dst(s->f, op).at[0] : tile_operands_src(s->f, op).at[0];
    a.operand = stores ? 2 : 1;
    if (a.operand >= data->operand_count ||
        tile_value_type(s->f, a.memory)->kind != TILE_TYPE_PTR ||
        tile_value_type(s->f, data->operands[a.operand])->scalar != TILE_i64 ||
        !add_value(s, data->operands[a.operand], 0, 1, &a.sum))
        return;
    qsort(a.sum.terms, a.sum.count, sizeof *a.sum.terms, compare_terms);
    s->addresses = tile_arena_grow(s->pass->scratch, s->addresses, s->count, &s->capacity,
                                   sizeof *s->addresses);
    s->addresses[s->count++] = a;
}

/* Changing ------------------------------------------------------------------------------------- */

static bool has_same_terms(const form *a, const form *b) {
    bool same = a->count == b->count;
    for (unsigned i = 0; same && i < a->count; i++)
        same = compare_terms(&a->terms[i], &b->terms[i]) == 0 &&
               a->terms[i].coefficient == b->terms[i].coefficient;
    return same;
}

static bool same_sum(const address *a, const address *b) {
    return a->memory.id == b->memory.id && a->region.id == b->region.id &&
           has_same_terms(&a->sum, &b->sum);
}

static tile_value build_term(const separator *s, tile_builder *b, const term *t) {
    const tile_type *wide = tile_type_scalar(tile_function_context(s->f), TILE_i64);
    const tile_type *type = tile_value_type(s->f, t->value);
    tile_value value = t->value;
    if (type->kind != TILE_TYPE_SCALAR)
        value = tile_build_extract(b, value, tile_build_int(b, t->index),
                                   tile_type_scalar(tile_function_context(s->f), type->scalar));
    if (type->scalar != TILE_i64) value = tile_build_cast(b, value, wide);
    if (t->coefficient == 1) return value;
    const tile_expr *by = tile_expr_int(tile_function_context(s->f), t->coefficient);
    return tile_build_mul(b, value, tile_function_constant(s->f, wide, by));
}

/* The sum of an address without its constant. */
static tile_value build_sum(const separator *s, tile_builder *b, const form *sum) {
    tile_value all = TILE_NO_VALUE;
    for (unsigned i = 0; i < sum->count; i++) {
        if (!sum->terms[i].coefficient) continue;
        tile_value own = build_term(s, b, &sum->terms[i]);
        all = all.id ? tile_build_add(b, all, own) : own;
    }
    return all;
}

/* Returns whether the addresses already share their sum. */
static bool share_sum(const separator *s, const address *a, const address *b) {
    tile_value sums[2];
    const address *both[] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        int64_t number;
        tile_value index = tile_op_operand(s->f, both[i]->op, both[i]->operand);
        tile_op def = tile_value_def(s->f, index);
        bool adds = def.id && tile_op_opcode(s->f, def) == TILE_OP_add &&
                    tile_value_is_int(s->f, tile_operand_rhs(s->f, def), &number);
        sums[i] = adds ? tile_operand_lhs(s->f, def) : index;
    }
    return sums[0].id == sums[1].id;
}

/* The number of addresses with the same sum whose sums are computed separately. */
static unsigned count_separate(const separator *s, size_t first) {
    unsigned separate = 0;
    for (size_t i = first; i < s->count; i++) {
        bool shared = !same_sum(&s->addresses[first], &s->addresses[i]);
        for (size_t before = first; before < i && !shared; before++)
            shared = same_sum(&s->addresses[first], &s->addresses[before]) &&
                     share_sum(s, &s->addresses[before], &s->addresses[i]);
        separate += !shared;
    }
    return separate;
}

static void separate(separator *s, size_t first) {
    address *a = &s->addresses[first];
    tile_builder b = tile_builder_before(s->f, a->op);
    const tile_type *wide = tile_type_scalar(tile_function_context(s->f), TILE_i64);
    tile_value sum = build_sum(s, &b, &a->sum);
    for (size_t i = first; i < s->count; i++) {
        address *own = &s->addresses[i];
        if (!same_sum(a, own)) continue;
        const tile_expr *number = tile_expr_int(tile_function_context(s->f), own->sum.constant);
        tile_value constant = tile_function_constant(s->f, wide, number);
        b = tile_builder_before(s->f, own->op);
        tile_value index = !sum.id             ? constant
                           : own->sum.constant ? tile_build_add(&b, sum, constant)
                                               : sum;
        tile_op_at(s->f, own->op)->operands[own->operand] = index;
        own->separated = true;
        s->changed++;
    }
}

/* Parts of addresses --------------------------------------------------------------------------- */

/* Returns whether the value is the same in all iterations: it comes from outside of the region, or
 * is computed from such values, so that licm moves it there. */
static bool is_outer(const separator *s, tile_region region, tile_value value, unsigned depth) {
    const tile_op def = tile_value_def(s->f, value);
    if (tile_value_at(s->f, value)->kind == TILE_VALUE_CONSTANT) return true;
    if (!def.id) return false;
    if (tile_op_at(s->f, def)->parent.id != region.id) return true;
    const tile_opcode opcode = tile_op_opcode(s->f, def);
    bool outer = depth > 0 && (tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) ||
                               opcode == TILE_OP_concat || opcode == TILE_OP_permute ||
                               opcode == TILE_OP_extract || opcode == TILE_OP_splat);
    for (unsigned i = 0; outer && i < tile_op_operand_count(s->f, def); i++)
        outer = is_outer(s, region, tile_op_operand(s->f, def, i), depth - 1);
    return outer;
}

/* The terms from outside of the region, or the others and the constant. */
static form part_of_sum(const separator *s, const address *a, bool outer) {
    enum { DEPTH = 8 };
    form part = {.constant = outer ? 0 : a->sum.constant};
    for (unsigned i = 0; i < a->sum.count; i++) {
        const term *t = &a->sum.terms[i];
        if (t->coefficient && is_outer(s, a->region, t->value, DEPTH) == outer)
            part.terms[part.count++] = *t;
    }
    return part;
}

/* Returns whether the terms are of 32 bits, and so are their sums in any order. */
static bool is_short(const separator *s, const form *sum) {
    enum { DEPTH = 6 };
    double most = fabs((double)sum->constant);
    for (unsigned i = 0; i < sum->count; i++) {
        const term *t = &sum->terms[i];
        if (!is_narrow(s, t->value)) return false;
        const tile_range range = range_of(s, t->value, t->index, DEPTH);
        most +=
            fabs((double)t->coefficient) * fmax(fabs((double)range.min), fabs((double)range.max));
    }
    return most <= INT32_MAX;
}

/* The terms and the constant, in 32 bits and then cast. */
static tile_value build_short(const separator *s, tile_builder *b, const form *sum) {
    tile_context *context = tile_function_context(s->f);
    const tile_type *narrow = tile_type_scalar(context, TILE_i32);
    tile_value all = TILE_NO_VALUE;
    for (unsigned i = 0; i < sum->count; i++) {
        const term *t = &sum->terms[i];
        tile_value own = t->value;
        if (tile_value_type(s->f, own)->kind != TILE_TYPE_SCALAR)
            own = tile_build_extract(b, own, tile_build_int(b, t->index), narrow);
        if (t->coefficient != 1) own = tile_build_mul(b, own, tile_build_int(b, t->coefficient));
        all = all.id ? tile_build_add(b, all, own) : own;
    }
    if (sum->constant) all = tile_build_add(b, all, tile_build_int(b, sum->constant));
    return tile_build_cast(b, all, tile_type_scalar(context, TILE_i64));
}

/* Returns whether the address consists of an outer part, which *outer becomes, and a short one.
 * Windows of two dims gain nothing: the sums of their coordinates are compared with bounds. */
static bool has_parts(const separator *s, const address *a, form *outer) {
    enum { FEWEST = 4 /* a channel and three positions */ };
    const form inner = part_of_sum(s, a, false);
    *outer = part_of_sum(s, a, true);
    return !a->separated && tile_op_opcode(s->f, a->op) == TILE_OP_cp_async && outer->count > 1 &&
           inner.count >= FEWEST && is_short(s, &inner);
}

/* Only if a thread copies elements of one place: several sums in 64 bits would take registers. */
static void separate_parts(separator *s, size_t first) {
    form outer, own;
    size_t count = 0;
    const address *a = &s->addresses[first];
    if (!has_parts(s, a, &outer)) return;
    bool *member = TILE_NEW_ARRAY(s->pass->scratch, bool, s->count);
    for (size_t i = first; i < s->count; i++) {
        const address *other = &s->addresses[i];
        member[i] = other->memory.id == a->memory.id && other->region.id == a->region.id &&
                    has_parts(s, other, &own);
        if (member[i] && !has_same_terms(&outer, &own)) return;
        count += member[i];
    }
    if (count < MIN_ADDRESSES) return;
    tile_builder b = tile_builder_before(s->f, a->op);
    const tile_value sum = build_sum(s, &b, &outer);
    for (size_t i = first; i < s->count; i++) {
        if (!member[i]) continue;
        address *other = &s->addresses[i];
        const form inner = part_of_sum(s, other, false);
        b = tile_builder_before(s->f, other->op);
        tile_op_at(s->f, other->op)->operands[other->operand] =
            tile_build_add(&b, sum, build_short(s, &b, &inner));
        other->separated = true;
        s->changed++;
    }
}

tile_status tile_pass_separate_offsets(tile_pass *pass, tile_function *f) {
    separator s = {.pass = pass, .f = f, .copies = adds_by_fma(f)};
    bool accesses = false;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) accesses |= accesses_global(&s, tile_op_opcode(f, op));
    if (!accesses) return TILE_OK;
    s.ranges = tile_range_analyse(f, pass->scratch);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) add_address(&s, op);
    for (size_t i = 0; i < s.count; i++) {
        if (s.addresses[i].grouped) continue;
        bool many = count_separate(&s, i) >= MIN_ADDRESSES;
        for (size_t j = s.count; j-- > i;)
            s.addresses[j].grouped |= same_sum(&s.addresses[i], &s.addresses[j]);
        if (many) separate(&s, i);
    }
    for (size_t i = 0; i < s.count; i++) separate_parts(&s, i);
    tile_pass_count(pass, "addresses", s.changed);
    return TILE_OK;
}
