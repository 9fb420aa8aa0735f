/* roll-elementwise: computes long chains of element-wise operations in a loop over registers.
 *
 * A thread may hold 128 elements of a tile. A function such as mish takes 60 instructions for each
 * of them: 128 copies of its code take seconds to compile, do not fit the instruction cache, and
 * give ptxas so many instructions to reorder that it spills. A loop has the code of a few elements.
 *
 * level: 3 to 3
 * requires: nothing
 * keeps: everything
 * breaks: nothing
 *
 * pipeline: roll-elementwise,dce
 * before:
 *   kernel @erf(%p: ptr<f32>)
 *       grid [1]
 *       warps 4
 *       level 3
 *   {
 *     %few = ld_global %p[0] : vector<f32[4]>
 *     %some = concat %few, %few, %few, %few : vector<f32[16]>
 *     %more = concat %some, %some, %some, %some : vector<f32[64]>
 *     %x = concat %more, %more, %more, %more : vector<f32[256]>
 *     %y = erf %x : vector<f32[256]>
 *     %z = extract %y, 4 : vector<f32[4]>
 *     st_global %z, %p[0]
 *   }
 *
 * after:
 *   kernel @erf(%p: ptr<f32>)
 *       grid [1]
 *       warps 4
 *       level 3
 *   {
 *     %few = ld_global %p[0] : vector<f32[4]>
 *     %some = concat %few, %few, %few, %few : vector<f32[16]>
 *     %more = concat %some, %some, %some, %some : vector<f32[64]>
 *     %x = concat %more, %more, %more, %more : vector<f32[256]>
 *     %0 = for %1 = 0 to 4 step 1 iter (%2 = %x) {
 *       %3 = extract %2, 0 : vector<f32[64]>
 *       %y = erf %3 : vector<f32[64]>
 *       %4 = extract %2, 64 : vector<f32[192]>
 *       %5 = concat %4, %y : vector<f32[256]>
 *       yield %5
 *     }
 *     %z = extract %0, 4 : vector<f32[4]>
 *     st_global %z, %p[0]
 *   }
 *
 * A loop cannot index registers. So each iteration computes the first elements of the vectors that
 * it carries, and rotates them:
 *
 *     before      x0 x1 x2 x3
 *     iteration   x1 x2 x3 y0     y0 = f(x0)
 *     iteration   x2 x3 y0 y1
 *     ..
 *     after       y0 y1 y2 y3
 *
 * A result takes the registers of an operand of the same type. With a body of about 2000
 * instructions, the moves are less than a tenth of the loop.
 *
 * A chain consists of connected operations on vectors of one length. It ends where another
 * operation uses one of its values. Cheap operations at both ends of a chain stay outside if fewer
 * registers are carried then, such as an addition of a bias before an activation, or a cast to f16
 * after it.
 *
 * Chains next to products that are in flight stay as they are: ptxas orders wgmma only in code
 * without loops. */
#include <string.h>

#include "lib/ir/cost.h"
#include "lib/ir/regions.h"
#include "passes/lower/roll.h"
#include "passes/pass.h"

enum {
    MIN_ELEMENTS = 4, /* of an iteration, which are computed in parallel */
    MAX_INPUTS = 16,
    CHEAP = 2, /* code of an operation that may stay outside */
    FAST_CODE = 4,
    REGISTER_BITS = 32
};

typedef struct chain chain;
struct chain {
    chain *merged; /* into this one; NULL: none */
    tile_op *ops;  /* in program order */
    size_t count, capacity;
    unsigned length; /* of its vectors */
    bool closed;
};

/* A vector that the loop carries. */
typedef struct slot {
    tile_value init;   /* no value: undefined */
    tile_value output; /* the member whose result it collects; no value: it only rotates */
    unsigned step;     /* elements that an iteration uses */
} slot;

/* An operand of the chain from outside. */
typedef struct input {
    tile_value value;
    tile_value scalar;    /* if all elements are the same: this one */
    tile_value source;    /* if it is a permutation of fewer elements: those .. */
    const int64_t *order; /* .. and their order in the first iteration */
    unsigned step;        /* elements of `source` by which iterations differ; 0: none */
    unsigned slot;
} input;

typedef struct roller {
    tile_pass *pass;
    tile_function *f;
    chain **chain_of;  /* by operation */
    bool *member;      /* by operation: of the chain being changed */
    bool *is_replaced; /* by operation: a loop computes it */
    uint32_t limit;    /* operations and values from here on are new */
    uint32_t value_limit;
    tile_value *map;      /* by value: what replaces it */
    const uint32_t *uses; /* by value */
    uint32_t *place;      /* by operation: its position in program order */
    uint32_t places;
    long rolled;
} roller;

typedef struct plan {
    chain *c;
    input inputs[MAX_INPUTS];
    slot slots[2 * MAX_INPUTS];
    unsigned input_count, slot_count, elements; /* of an iteration */
} plan;

unsigned roll_code_of(const tile_function *f, tile_op op) {
    unsigned code = tile_op_cost(tile_op_opcode(f, op)).code;
    const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
    if (tile_op_has_attr(f, op, TILE_ATTR_fast) && code > FAST_CODE) return FAST_CODE;
    return type->scalar == TILE_f64 ? 2 * code : code;
}

/* Chains --------------------------------------------------------------------------------------- */

/* The length of the vectors of an element-wise operation; 0: it is none, or has a scalar operand.
 */
static unsigned length_of(const tile_function *f, tile_op op) {
    if (!tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_ELEMENTWISE) ||
        tile_op_result_count(f, op) != 1)
        return 0;
    const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
    if (type->kind != TILE_TYPE_VECTOR) return 0;
    unsigned length = (unsigned)tile_type_elements(type);
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        const tile_type *operand = tile_value_type(f, tile_op_operand(f, op, i));
        if (operand->kind != TILE_TYPE_VECTOR || tile_type_elements(operand) != length) return 0;
    }
    return length;
}

static chain *find_chain(const roller *r, tile_op op) {
    chain *c = op.id && op.id < r->limit ? r->chain_of[op.id] : NULL;
    while (c && c->merged) c = c->merged;
    return c;
}

static chain *chain_of_value(const roller *r, tile_value value) {
    chain *c = find_chain(r, tile_value_def(r->f, value));
    return c && !c->closed ? c : NULL;
}

static void add_op(roller *r, chain *c, tile_op op) {
    c->ops = tile_arena_grow(r->pass->scratch, c->ops, c->count, &c->capacity, sizeof *c->ops);
    c->ops[c->count++] = op;
    r->chain_of[op.id] = c;
}

static chain *new_chain(roller *r, unsigned length) {
    chain *c = TILE_NEW(r->pass->scratch, chain);
    c->length = length;
    return c;
}

static void merge(roller *r, chain *into, chain *from) {
    for (size_t i = 0; i < from->count; i++) add_op(r, into, from->ops[i]);
    from->merged = into;
    from->closed = true;
}

/* Restores the program order after chains were merged. They are short, and nearly in order. */
static void sort_ops(const roller *r, chain *c) {
    for (size_t i = 1; i < c->count; i++) {
        tile_op op = c->ops[i];
        size_t at = i;
        for (; at && r->place[c->ops[at - 1].id] > r->place[op.id]; at--)
            c->ops[at] = c->ops[at - 1];
        c->ops[at] = op;
    }
}

static void join_chain(roller *r, tile_op op, unsigned length) {
    chain *c = NULL;
    for (unsigned i = 0; i < tile_op_operand_count(r->f, op); i++) {
        chain *other = chain_of_value(r, tile_op_operand(r->f, op, i));
        if (!other || other == c || other->length != length) continue;
        if (c)
            merge(r, c, other);
        else
            c = other;
    }
    add_op(r, c ? c : new_chain(r, length), op);
}

/* Reading a plan ------------------------------------------------------------------------------- */

static unsigned registers_of(const tile_function *f, tile_value value) {
    const tile_type *type = tile_value_type(f, value);
    unsigned bits = tile_scalar_bits(type->scalar), count = (unsigned)tile_type_elements(type);
    if (bits == 1) return count;
    return (bits * count + REGISTER_BITS - 1) / REGISTER_BITS;
}

/* Iteration i uses the same elements of the source as the first one, or those `step` further on,
 * modulo the source's length. */
static void find_permutation(const roller *r, input *in, unsigned elements) {
    tile_op def = tile_value_def(r->f, in->value);
    if (!def.id || tile_op_opcode(r->f, def) != TILE_OP_permute) return;
    tile_value source = tile_operand_src(r->f, def);
    const tile_type *type = tile_value_type(r->f, source);
    if (type->kind != TILE_TYPE_VECTOR) return;
    unsigned length = (unsigned)tile_type_elements(tile_value_type(r->f, in->value));
    int64_t size = (int64_t)tile_type_elements(type);
    const int64_t *order = tile_op_attr(r->f, def, TILE_ATTR_order)->list;
    if (size >= length) return;
    int64_t step = (order[elements] - order[0] + size) % size;
    for (unsigned i = 0; i + elements < length; i++)
        if ((order[i] + step) % size != order[i + elements]) return;
    if (step % MIN_ELEMENTS) return;
    in->source = source;
    in->order = order;
    in->step = (unsigned)step;
}

static bool find_input(const roller *r, plan *p, tile_value value) {
    for (unsigned i = 0; i < p->input_count; i++)
        if (p->inputs[i].value.id == value.id) return true;
    if (p->input_count == MAX_INPUTS) return false;
    input in = {.value = value};
    tile_op def = tile_value_def(r->f, value);
    if (def.id && tile_op_opcode(r->f, def) == TILE_OP_splat)
        in.scalar = tile_operand_src(r->f, def);
    else
        find_permutation(r, &in, p->elements);
    p->inputs[p->input_count++] = in;
    return true;
}

static bool is_member(const roller *r, tile_value value) {
    tile_op def = tile_value_def(r->f, value);
    return def.id && def.id < r->limit && r->member[def.id];
}

/* Returns whether an operation outside of the chain's members uses the value. */
static bool is_used_outside(const roller *r, const chain *c, tile_value value) {
    uint32_t inside = 0;
    for (size_t k = 0; k < c->count; k++)
        for (unsigned i = 0; r->member[c->ops[k].id] && i < tile_op_operand_count(r->f, c->ops[k]);
             i++)
            inside += tile_op_operand(r->f, c->ops[k], i).id == value.id;
    return r->uses[value.id] > inside;
}

/* An input of the same type of which no output has the registers yet. */
static slot *find_free_slot(const roller *r, plan *p, tile_value output) {
    const tile_type *type = tile_value_type(r->f, output);
    for (unsigned i = 0; i < p->slot_count; i++)
        if (!p->slots[i].output.id && tile_value_type(r->f, p->slots[i].init) == type)
            return &p->slots[i];
    return NULL;
}

static bool find_slots(const roller *r, plan *p) {
    for (unsigned i = 0; i < p->input_count; i++) {
        input *in = &p->inputs[i];
        if (in->scalar.id || (in->source.id && !in->step)) continue;
        in->slot = p->slot_count;
        p->slots[p->slot_count++] = (slot){.init = in->source.id ? in->source : in->value,
                                           .step = in->source.id ? in->step : p->elements};
    }
    for (size_t i = 0; i < p->c->count; i++) {
        tile_op op = p->c->ops[i];
        tile_value result = tile_op_result(r->f, op, 0);
        if (!r->member[op.id] || !is_used_outside(r, p->c, result)) continue;
        slot *free_slot = find_free_slot(r, p, result);
        if (!free_slot) {
            if (p->slot_count == 2 * MAX_INPUTS) return false;
            free_slot = &p->slots[p->slot_count++];
            *free_slot = (slot){.step = p->elements};
        }
        free_slot->output = result;
    }
    return true;
}

/* Returns the number of registers that the loop carries; 0: it cannot be made. */
static unsigned make_plan(const roller *r, chain *c, unsigned elements, plan *p) {
    unsigned registers = 0;
    *p = (plan){.c = c, .elements = elements};
    for (size_t k = 0; k < c->count; k++)
        for (unsigned i = 0; r->member[c->ops[k].id] && i < tile_op_operand_count(r->f, c->ops[k]);
             i++) {
            tile_value operand = tile_op_operand(r->f, c->ops[k], i);
            if (!is_member(r, operand) && !find_input(r, p, operand)) return 0;
        }
    if (!find_slots(r, p)) return 0;
    for (unsigned i = 0; i < p->slot_count; i++)
        registers +=
            registers_of(r->f, p->slots[i].init.id ? p->slots[i].init : p->slots[i].output);
    return registers;
}

/* Size ----------------------------------------------------------------------------------------- */

static unsigned code_of_element(const roller *r, const chain *c) {
    unsigned code = 0;
    for (size_t i = 0; i < c->count; i++)
        if (r->member[c->ops[i].id]) code += roll_code_of(r->f, c->ops[i]);
    return code;
}

/* The number of elements of an iteration; 0: the vectors are too short. */
static unsigned choose_elements(unsigned length, unsigned code) {
    for (unsigned elements = length / 2; elements >= MIN_ELEMENTS; elements--)
        if (length % elements == 0 && elements % MIN_ELEMENTS == 0 &&
            (elements * code <= ROLL_BODY_CODE || elements == MIN_ELEMENTS))
            return elements;
    return 0;
}

/* Returns whether the operation is at an end of the chain: it uses no member, or no member uses
 * it. */
static bool is_at_end(const roller *r, const chain *c, tile_op op) {
    bool first = true, last = true;
    for (unsigned i = 0; i < tile_op_operand_count(r->f, op); i++)
        first &= !is_member(r, tile_op_operand(r->f, op, i));
    for (size_t i = 0; i < c->count; i++)
        last &=
            !r->member[c->ops[i].id] || !tile_op_uses(r->f, c->ops[i], tile_op_result(r->f, op, 0));
    return first || last;
}

/* Leaves cheap operations outside as long as the loop carries fewer registers then. */
static unsigned trim(roller *r, chain *c, unsigned elements, plan *p) {
    unsigned registers = make_plan(r, c, elements, p);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = c->count; i-- > 0 && !changed;) {
            tile_op op = c->ops[i];
            if (!r->member[op.id] || roll_code_of(r->f, op) > CHEAP || !is_at_end(r, c, op))
                continue;
            r->member[op.id] = false;
            unsigned fewer = make_plan(r, c, elements, p);
            changed = fewer && (!registers || fewer < registers);
            r->member[op.id] = !changed;
            if (changed) registers = fewer;
        }
    }
    return make_plan(r, c, elements, p);
}

/* Building ------------------------------------------------------------------------------------- */

static const tile_type *vector_like(const roller *r, tile_value value, unsigned count) {
    return tile_type_vector(tile_function_context(r->f), tile_value_type(r->f, value)->scalar,
                            count);
}

static tile_value extract(roller *r, tile_builder *b, tile_value from, unsigned first,
                          unsigned count) {
    return tile_build_extract(b, from, tile_build_int(b, first), vector_like(r, from, count));
}

static tile_value build_input(roller *r, tile_builder *b, const plan *p, const input *in,
                              const tile_value *carried) {
    const tile_type *type = vector_like(r, in->value, p->elements);
    if (in->scalar.id) return tile_build_splat(b, in->scalar, type);
    if (!in->source.id) return extract(r, b, carried[in->slot], 0, p->elements);
    tile_value source = in->step ? carried[in->slot] : in->source;
    tile_value some = tile_build_permute(b, source, type);
    tile_op_set_list(r->f, tile_value_def(r->f, some), TILE_ATTR_order, in->order, p->elements);
    return some;
}

/* The vector of the next iteration. */
static tile_value build_next(roller *r, tile_builder *b, const slot *s, tile_value carried,
                             const tile_value *map) {
    unsigned length = (unsigned)tile_type_elements(tile_value_type(r->f, carried));
    tile_value parts[2];
    parts[0] = extract(r, b, carried, s->step, length - s->step);
    parts[1] = s->output.id ? map[s->output.id] : extract(r, b, carried, 0, s->step);
    return tile_build_concat(b, parts, 2);
}

static void build_body(roller *r, tile_builder *b, const plan *p, const tile_value *carried) {
    tile_value *map = TILE_NEW_ARRAY(r->pass->scratch, tile_value, r->value_limit);
    tile_value next[2 * MAX_INPUTS];
    for (unsigned i = 0; i < p->input_count; i++)
        map[p->inputs[i].value.id] = build_input(r, b, p, &p->inputs[i], carried);
    for (size_t k = 0; k < p->c->count; k++) {
        tile_op op = p->c->ops[k];
        tile_value operands[TILE_MAX_OPERANDS], result = tile_op_result(r->f, op, 0);
        uint16_t segments[TILE_MAX_OPERANDS];
        if (!r->member[op.id]) continue;
        unsigned count = tile_op_operand_count(r->f, op);
        for (unsigned i = 0; i < count; i++) operands[i] = map[tile_op_operand(r->f, op, i).id];
        const tile_type *type = vector_like(r, result, p->elements);
        memcpy(segments, tile_op_at(r->f, op)->segment, sizeof segments);
        b->loc = tile_op_loc(r->f, op);
        tile_op copy =
            tile_add_op(b, tile_op_opcode(r->f, op), operands, count, segments, &type, 1);
        tile_op_at(r->f, copy)->attrs = tile_op_at(r->f, op)->attrs;
        tile_op_at(r->f, copy)->attr_count = tile_op_at(r->f, op)->attr_count;
        map[result.id] = tile_op_result(r->f, copy, 0);
        tile_value_at(r->f, map[result.id])->name = tile_value_at(r->f, result)->name;
    }
    for (unsigned i = 0; i < p->slot_count; i++)
        next[i] = build_next(r, b, &p->slots[i], carried[i], map);
    tile_build_yield(b, next, p->slot_count);
}

static tile_value build_zeros(tile_builder *b, const tile_type *type) {
    tile_context *context = tile_function_context(b->function);
    const tile_type *scalar = tile_type_scalar(context, type->scalar);
    tile_value zero = tile_build_constant(b, scalar, tile_expr_int(context, 0));
    return tile_build_splat(b, zero, type);
}

/* Inserts the loop before `after`. */
static void build(roller *r, const plan *p, tile_op after) {
    tile_function *f = r->f;
    tile_builder b = tile_builder_before(f, after);
    tile_value inits[2 * MAX_INPUTS], carried[2 * MAX_INPUTS];
    b.loc = tile_op_loc(f, p->c->ops[0]);
    for (unsigned i = 0; i < p->slot_count; i++) {
        const slot *s = &p->slots[i];
        inits[i] = s->init.id ? s->init : build_zeros(&b, tile_value_type(f, s->output));
    }
    tile_op loop = tile_build_for_loop(&b, tile_build_int(&b, 0),
                                       tile_build_int(&b, p->c->length / p->elements),
                                       tile_build_int(&b, 1), inits, p->slot_count);
    tile_builder inner = tile_builder_at_end(f, tile_op_region(f, loop, 0));
    for (unsigned i = 0; i < p->slot_count; i++)
        carried[i] = tile_region_arg(f, inner.region, 1 + i);
    build_body(r, &inner, p, carried);
    for (unsigned i = 0; i < p->slot_count; i++)
        if (p->slots[i].output.id) r->map[p->slots[i].output.id] = tile_op_result(f, loop, i);
    r->rolled++;
}

/* Operations that stay outside move after the loop if they need its results. Those after the last
 * member are there already. */
static void move_later(roller *r, const chain *c, tile_op last, tile_op after) {
    bool *moved = TILE_NEW_ARRAY(r->pass->scratch, bool, r->limit);
    for (size_t k = 0; k < c->count; k++) {
        tile_op op = c->ops[k];
        if (r->member[op.id]) continue;
        for (unsigned i = 0; i < tile_op_operand_count(r->f, op); i++) {
            tile_op def = tile_value_def(r->f, tile_op_operand(r->f, op, i));
            if (def.id && def.id < r->limit) moved[op.id] |= r->member[def.id] || moved[def.id];
        }
        if (moved[op.id] && r->place[op.id] < r->place[last.id])
            tile_move_op(r->f, op, tile_op_at(r->f, after)->parent, after);
    }
}

static tile_op find_last_member(const roller *r, const chain *c) {
    size_t last = c->count - 1;
    while (!r->member[c->ops[last].id]) last--;
    return c->ops[last];
}

/* Rolls a chain that has ended, if it is long. The loop is at the chain's last operation: loads
 * that follow it then need no registers in the loop. */
static void close_chain(roller *r, chain *c) {
    plan p;
    c->closed = true;
    sort_ops(r, c);
    for (size_t i = 0; i < c->count; i++) r->member[c->ops[i].id] = true;
    unsigned code = code_of_element(r, c);
    unsigned elements = choose_elements(c->length, code);
    if ((uint64_t)code * c->length > ROLL_ABOVE_CODE && elements && trim(r, c, elements, &p) &&
        (uint64_t)code_of_element(r, c) * c->length > ROLL_ABOVE_CODE) {
        tile_op last = find_last_member(r, c), after = tile_op_next(r->f, last);
        build(r, &p, after);
        move_later(r, c, last, after);
        for (size_t i = 0; i < c->count; i++)
            r->is_replaced[c->ops[i].id] = r->member[c->ops[i].id];
    }
    for (size_t i = 0; i < c->count; i++) r->member[c->ops[i].id] = false;
}

/* Walking the kernel --------------------------------------------------------------------------- */

static void close_used(roller *r, tile_op user) {
    for (unsigned i = 0; i < tile_op_operand_count(r->f, user); i++) {
        chain *c = chain_of_value(r, tile_op_operand(r->f, user, i));
        if (c) close_chain(r, c);
    }
}

/* Returns whether the region itself has matrix instructions, which may be in flight. */
static bool has_products(const tile_function *f, tile_region region) {
    TILE_FOR_EACH_OP (f, op, region) {
        tile_opcode opcode = tile_op_opcode(f, op);
        if (opcode == TILE_OP_wgmma || opcode == TILE_OP_mma) return true;
    }
    return false;
}

static void visit_region(roller *r, tile_region region) {
    tile_function *f = r->f;
    bool rolls = !has_products(f, region);
    TILE_FOR_EACH_OP (f, op, region) {
        unsigned length = rolls ? length_of(f, op) : 0;
        r->place[op.id] = r->places++;
        if (length) {
            join_chain(r, op, length);
            continue;
        }
        close_used(r, op);
        for (unsigned i = 0; i < tile_op_at(f, op)->region_count; i++) {
            TILE_FOR_EACH_OP_INSIDE (f, inner, tile_op_region(f, op, i)) close_used(r, inner);
            visit_region(r, tile_op_region(f, op, i));
        }
    }
}

/* Replaces what the loops compute. */
static void replace(roller *r) {
    tile_value *map = TILE_NEW_ARRAY(r->pass->scratch, tile_value, r->f->value_count);
    memcpy(map, r->map, r->value_limit * sizeof *map);
    for (uint32_t id = r->limit; id-- > 1;)
        if (r->is_replaced[id]) tile_erase_op(r->f, (tile_op){id});
    tile_replace_values(r->f, r->f->body, map);
}

tile_status tile_pass_roll_elementwise(tile_pass *pass, tile_function *f) {
    roller r = {.pass = pass, .f = f, .limit = f->op_count, .value_limit = f->value_count};
    r.chain_of = TILE_NEW_ARRAY(pass->scratch, chain *, r.limit);
    r.place = TILE_NEW_ARRAY(pass->scratch, uint32_t, r.limit);
    r.member = TILE_NEW_ARRAY(pass->scratch, bool, r.limit);
    r.is_replaced = TILE_NEW_ARRAY(pass->scratch, bool, r.limit);
    r.map = TILE_NEW_ARRAY(pass->scratch, tile_value, r.value_limit);
    r.uses = tile_count_uses(f, pass->scratch);
    visit_region(&r, f->body);
    if (r.rolled) replace(&r);
    tile_pass_count(pass, "rolled", r.rolled);
    return TILE_OK;
}
