/* What the loop of a chain of element-wise operations carries: see roll_elementwise.c. */
#include <assert.h>

#include "passes/lower/roll.h"

enum {
    MIN_ELEMENTS = 4, /* of an iteration, which are computed in parallel */
    CHEAP = 2,        /* code of an operation that may stay outside */
    LEAST_SEGMENT = 16,
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
    if (step * tile_scalar_bits(type->scalar) % REGISTER_BITS) return;
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
                           .is_source = in->source.id != 0,
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

/* Returns the number of registers that the loop carries; 0: it cannot be made. Of a loop in
 * segments it is the number for all segments: a segment's results do not take the place of its
 * operands, but the operands of later ones need registers, too. */
static unsigned make_plan(const roller *r, roll_chain *c, unsigned elements, bool in_segments,
                          roll_plan *p) {
    unsigned registers = 0;
    *p = (roll_plan){.c = c, .elements = elements, .segments = 1};
    for (size_t k = 0; k < c->count; k++)
        for (unsigned i = 0; r->member[c->ops[k].id] && i < tile_op_operand_count(r->f, c->ops[k]);
             i++) {
            tile_value operand = tile_op_operand(r->f, c->ops[k], i);
            if (!roll_is_member(r, operand) && !find_input(r, p, operand)) return 0;
        }
    if (!find_carriers(r, p)) return 0;
    for (unsigned i = 0; i < p->carrier_count; i++) {
        const roll_carrier *s = &p->carriers[i];
        if (s->init.id) registers += registers_of(r->f, s->init);
        if (s->output.id && (in_segments || !s->init.id))
            registers += registers_of(r->f, s->output);
    }
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
static unsigned choose_elements(unsigned length, unsigned most, unsigned code) {
    for (unsigned elements = length / 2; elements >= MIN_ELEMENTS; elements--)
        if (length % elements == 0 && elements % MIN_ELEMENTS == 0 &&
            ((elements * code <= ROLL_BODY_CODE && elements <= most) || elements == MIN_ELEMENTS))
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

/* Leaves cheap operations outside as long as the loop carries fewer registers then, beginning with
 * the last or the first operation. Returns the number of registers. */
static unsigned trim_from(roller *r, roll_chain *c, unsigned elements, bool last_first,
                          bool in_segments, roll_plan *p) {
    for (size_t i = 0; i < c->count; i++) r->member[c->ops[i].id] = true;
    unsigned registers = make_plan(r, c, elements, in_segments, p);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t n = 0; n < c->count && !changed; n++) {
            tile_op op = c->ops[last_first ? c->count - 1 - n : n];
            if (!r->member[op.id] || roll_code_of(r->f, op) > CHEAP || !is_at_end(r, c, op))
                continue;
            r->member[op.id] = false;
            unsigned fewer = make_plan(r, c, elements, in_segments, p);
            changed = fewer && (!registers || fewer < registers);
            r->member[op.id] = !changed;
            if (changed) registers = fewer;
        }
    }
    return make_plan(r, c, elements, in_segments, p);
}

/* A chain from f16 to f16 carries half the registers without its first cast. A chain of f32 whose
 * last operation is a cast carries fewer without that one: its results take the registers of its
 * operands. So both orders are tried. */
static unsigned trim(roller *r, roll_chain *c, unsigned elements, bool in_segments, roll_plan *p) {
    unsigned first = trim_from(r, c, elements, false, in_segments, p);
    unsigned last = trim_from(r, c, elements, true, in_segments, p);
    if (!first || (last && last <= first)) return last;
    return trim_from(r, c, elements, false, in_segments, p);
}

/* The number of loops that compute a vector, each of them a part of a piece or several pieces; 1:
 * more of them are too much code. */
static unsigned choose_segments(unsigned length, unsigned piece, unsigned elements, unsigned code) {
    for (unsigned segments = length / LEAST_SEGMENT; segments > 1; segments--) {
        unsigned segment = length / segments;
        if (length % (segments * elements) == 0 && (piece % segment == 0 || segment % piece == 0) &&
            (uint64_t)segments * elements * code <= ROLL_SEGMENTS_CODE)
            return segments;
    }
    return 1;
}

void roll_fit_piece(const roller *r, roll_plan *p, unsigned piece) {
    unsigned code = code_of_element(r, p->c);
    unsigned segments = choose_segments(p->c->length, piece, p->elements, code);
    if (segments > 1) p->segments = segments;
}

/* Fewer elements, so that the intermediate values of the body are not spilled. Where that is not
 * enough, several loops for a part of the vectors each: ptxas needs the registers that a loop
 * rotates twice. */
static void fit_registers(roller *r, unsigned registers, roll_plan *p) {
    enum { EACH = 5, MOST = 208, FEW_ELEMENTS = 2 * MIN_ELEMENTS };
    roll_chain *c = p->c;
    unsigned elements = p->elements, code = code_of_element(r, c), segments = 1;
    for (unsigned few = elements; few >= FEW_ELEMENTS; few -= MIN_ELEMENTS)
        if (2 * registers + EACH * elements > MOST && c->length % few == 0) elements = few;
    if (2 * registers + EACH * elements > MOST) {
        bool is_roomy = registers + 2 * LEAST_SEGMENT + EACH * FEW_ELEMENTS <= MOST;
        elements = is_roomy && c->length % FEW_ELEMENTS == 0 ? FEW_ELEMENTS : MIN_ELEMENTS;
        segments = choose_segments(c->length, c->length, elements, code);
    }
    if (!trim(r, c, elements, segments > 1, p)) assert(false && "other elements, the same inputs");
    p->segments = segments;
}

/* The most elements of an iteration. A chain that is a small part of its region is one of the
 * pieces of a tile: the others' elements are in registers, too, and all loops are one tile's code.
 */
static unsigned limit_elements(const roller *r, const roll_chain *c, unsigned code) {
    enum { FEW = 8 };
    uint64_t own = (uint64_t)c->length * code;
    if (2 * own > r->region_code) return c->length;
    uint64_t most = ROLL_SEGMENTS_CODE * own / r->region_code / code;
    return most > FEW ? FEW : (unsigned)most;
}

bool roll_make_plan(roller *r, roll_chain *c, roll_plan *p) {
    unsigned code = code_of_element(r, c);
    unsigned elements = choose_elements(c->length, limit_elements(r, c, code), code);
    if (!elements || (uint64_t)code * c->length < ROLL_LEAST_CODE) return false;
    unsigned registers = trim(r, c, elements, false, p);
    if (!registers || (uint64_t)code_of_element(r, c) * c->length < ROLL_LEAST_CODE) return false;
    fit_registers(r, registers, p);
    return true;
}
