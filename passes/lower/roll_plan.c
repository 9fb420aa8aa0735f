/* What the loop of a chain of element-wise operations carries: see roll_elementwise.c. */
#include <assert.h>

#include "passes/lower/roll.h"

enum {
    MIN_ELEMENTS = 4, /* of an iteration, which are computed in parallel */
    CHEAP = 2,        /* code of an operation that may stay outside */
    REGISTER_BITS = 32
};

/* Inputs and results
 * ------------------------------------------------------------------------------- */

static unsigned registers_of(const tile_function *f, tile_value value) {
    const tile_type *type = tile_value_type(f, value);
    unsigned bits = tile_scalar_bits(type->scalar), count = (unsigned)tile_type_elements(type);
    if (bits == 1) return count;
    return (bits * count + REGISTER_BITS - 1) / REGISTER_BITS;
}

/* Iteration i uses the same elements of the source as the first one, or those `step` further on,
 * modulo the source's length. */
static void find_permutation(const roller *r, roll_input *in, unsigned elements) {
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

static bool find_input(const roller *r, roll_plan *p, tile_value value) {
    for (unsigned i = 0; i < p->input_count; i++)
        if (p->inputs[i].value.id == value.id) return true;
    if (p->input_count == ROLL_MAX_INPUTS) return false;
    roll_input in = {.value = value};
    tile_op def = tile_value_def(r->f, value);
    if (def.id && tile_op_opcode(r->f, def) == TILE_OP_splat)
        in.scalar = tile_operand_src(r->f, def);
    else
        find_permutation(r, &in, p->elements);
    p->inputs[p->input_count++] = in;
    return true;
}

bool roll_is_member(const roller *r, tile_value value) {
    tile_op def = tile_value_def(r->f, value);
    return def.id && def.id < r->limit && r->member[def.id];
}

/* Returns whether an operation outside of the chain's members uses the value. */
static bool is_used_outside(const roller *r, const roll_chain *c, tile_value value) {
    uint32_t inside = 0;
    for (size_t k = 0; k < c->count; k++)
        for (unsigned i = 0; r->member[c->ops[k].id] && i < tile_op_operand_count(r->f, c->ops[k]);
             i++)
            inside += tile_op_operand(r->f, c->ops[k], i).id == value.id;
    return r->uses[value.id] > inside;
}

/* An input of the same type of which no output has the registers yet. */
static roll_carrier *find_free_carrier(const roller *r, roll_plan *p, tile_value output) {
    const tile_type *type = tile_value_type(r->f, output);
    for (unsigned i = 0; i < p->carrier_count; i++)
        if (!p->carriers[i].output.id && tile_value_type(r->f, p->carriers[i].init) == type)
            return &p->carriers[i];
    return NULL;
}

static bool find_carriers(const roller *r, roll_plan *p) {
    for (unsigned i = 0; i < p->input_count; i++) {
        roll_input *in = &p->inputs[i];
        if (in->scalar.id || (in->source.id && !in->step)) continue;
        in->carrier = p->carrier_count;
        p->carriers[p->carrier_count++] =
            (roll_carrier){.init = in->source.id ? in->source : in->value,
                           .step = in->source.id ? in->step : p->elements};
    }
    for (size_t i = 0; i < p->c->count; i++) {
        tile_op op = p->c->ops[i];
        tile_value result = tile_op_result(r->f, op, 0);
        if (!r->member[op.id] || !is_used_outside(r, p->c, result)) continue;
        roll_carrier *free_carrier = find_free_carrier(r, p, result);
        if (!free_carrier) {
            if (p->carrier_count == 2 * ROLL_MAX_INPUTS) return false;
            free_carrier = &p->carriers[p->carrier_count++];
            *free_carrier = (roll_carrier){.step = p->elements};
        }
        free_carrier->output = result;
    }
    return true;
}

/* Returns the number of registers that the loop carries; 0: it cannot be made. */
static unsigned make_plan(const roller *r, roll_chain *c, unsigned elements, roll_plan *p) {
    unsigned registers = 0;
    *p = (roll_plan){.c = c, .elements = elements};
    for (size_t k = 0; k < c->count; k++)
        for (unsigned i = 0; r->member[c->ops[k].id] && i < tile_op_operand_count(r->f, c->ops[k]);
             i++) {
            tile_value operand = tile_op_operand(r->f, c->ops[k], i);
            if (!roll_is_member(r, operand) && !find_input(r, p, operand)) return 0;
        }
    if (!find_carriers(r, p)) return 0;
    for (unsigned i = 0; i < p->carrier_count; i++)
        registers += registers_of(r->f, p->carriers[i].init.id ? p->carriers[i].init
                                                               : p->carriers[i].output);
    return registers;
}

/* Size ----------------------------------------------------------------------------------------- */

static unsigned code_of_element(const roller *r, const roll_chain *c) {
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
static bool is_at_end(const roller *r, const roll_chain *c, tile_op op) {
    bool first = true, last = true;
    for (unsigned i = 0; i < tile_op_operand_count(r->f, op); i++)
        first &= !roll_is_member(r, tile_op_operand(r->f, op, i));
    for (size_t i = 0; i < c->count; i++)
        last &=
            !r->member[c->ops[i].id] || !tile_op_uses(r->f, c->ops[i], tile_op_result(r->f, op, 0));
    return first || last;
}

/* Leaves cheap operations outside as long as the loop carries fewer registers then. */
static unsigned trim(roller *r, roll_chain *c, unsigned elements, roll_plan *p) {
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

/* Fewer elements if the loop carries so many registers that the intermediate values of the body
 * would be spilled. */
static void fit_registers(const roller *r, unsigned registers, roll_plan *p) {
    enum { EACH = 5, MOST = 208 };
    while (registers + EACH * p->elements > MOST && p->elements % (2 * MIN_ELEMENTS) == 0) {
        unsigned again = make_plan(r, p->c, p->elements / 2, p);
        assert(again && "fewer elements have the same inputs");
        registers = again;
    }
}

bool roll_make_plan(roller *r, roll_chain *c, roll_plan *p) {
    unsigned code = code_of_element(r, c), elements = choose_elements(c->length, code);
    if (!elements || (uint64_t)code * c->length < ROLL_LEAST_CODE) return false;
    unsigned registers = trim(r, c, elements, p);
    if (!registers || (uint64_t)code_of_element(r, c) * c->length < ROLL_LEAST_CODE) return false;
    fit_registers(r, registers, p);
    return true;
}
