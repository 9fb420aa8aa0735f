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
 *     %x = concat %some, %some, %some, %some : vector<f32[64]>
 *     %y = erf %x : vector<f32[64]>
 *     %z = softplus %y : vector<f32[64]>
 *     %last = extract %z, 60 : vector<f32[4]>
 *     st_global %last, %p[0]
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
 *     %x = concat %some, %some, %some, %some : vector<f32[64]>
 *     %0 = for %1 = 0 to 4 step 1 iter (%2 = %x) {
 *       %3 = extract %2, 0 : vector<f32[16]>
 *       %y = erf %3 : vector<f32[16]>
 *       %z = softplus %y : vector<f32[16]>
 *       %4 = extract %2, 16 : vector<f32[48]>
 *       %5 = concat %4, %z : vector<f32[64]>
 *       yield %5
 *     }
 *     %last = extract %0, 60 : vector<f32[4]>
 *     st_global %last, %p[0]
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
 * ptxas does not rotate in place: it needs the registers that a loop carries twice. Where there are
 * too many of them, several loops compute a segment of the vectors each, and the others stay where
 * they are. A loop is then placed before the first use of what it computes: a tile that is stored
 * piece by piece needs fewer registers with each piece. (One loop that rotated the 192 accumulators
 * of a thread moved 2 KB through local memory in each iteration: more time than the product.)
 *
 * A chain consists of connected operations on vectors of one length. It ends where another
 * operation uses one of its values, and, once it is long, where another vector is needed: adding
 * the elements of an array between two activations takes no registers in either of their loops.
 * Cheap operations at both ends of a chain stay outside if fewer registers are carried then, such
 * as an addition of a bias before an activation, or a cast to f16 after it.
 *
 * Operations stay as they are while wgmma is in flight: ptxas serializes wgmma across such loops.
 */
#include <string.h>

#include "lib/ir/cost.h"
#include "lib/ir/regions.h"
#include "passes/lower/roll.h"
#include "passes/pass.h"

enum { FAST_CODE = 4 };

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

static roll_chain *find_chain(const roller *r, tile_op op) {
    roll_chain *c = op.id && op.id < r->limit ? r->chain_of[op.id] : NULL;
    while (c && c->merged) c = c->merged;
    return c;
}

static roll_chain *chain_of_value(const roller *r, tile_value value) {
    roll_chain *c = find_chain(r, tile_value_def(r->f, value));
    return c && !c->closed ? c : NULL;
}

static void add_op(roller *r, roll_chain *c, tile_op op) {
    c->ops = tile_arena_grow(r->pass->scratch, c->ops, c->count, &c->capacity, sizeof *c->ops);
    c->ops[c->count++] = op;
    r->chain_of[op.id] = c;
}

static roll_chain *new_chain(roller *r, unsigned length) {
    roll_chain *c = TILE_NEW(r->pass->scratch, roll_chain);
    c->length = length;
    return c;
}

static void merge(roller *r, roll_chain *into, roll_chain *from) {
    for (size_t i = 0; i < from->count; i++) add_op(r, into, from->ops[i]);
    from->merged = into;
    from->closed = true;
}

/* Restores the program order after chains were merged. They are short, and nearly in order. */
static void sort_ops(const roller *r, roll_chain *c) {
    for (size_t i = 1; i < c->count; i++) {
        tile_op op = c->ops[i];
        size_t at = i;
        for (; at && r->place[c->ops[at - 1].id] > r->place[op.id]; at--)
            c->ops[at] = c->ops[at - 1];
        c->ops[at] = op;
    }
}

/* Returns whether the value has an element of its own for each element of the vectors. */
static bool is_whole(const tile_function *f, tile_value value) {
    tile_op def = tile_value_def(f, value);
    tile_opcode opcode = def.id ? tile_op_opcode(f, def) : TILE_OP_NONE;
    if (opcode == TILE_OP_splat) return false;
    if (opcode != TILE_OP_permute) return true;
    return tile_type_elements(tile_value_type(f, tile_operand_src(f, def))) ==
           tile_type_elements(tile_value_type(f, value));
}

static bool is_input(const tile_function *f, const roll_chain *c, tile_value value) {
    for (size_t i = 0; i < c->count; i++)
        if (tile_op_uses(f, c->ops[i], value)) return true;
    return false;
}

static uint64_t code_of_chain(const tile_function *f, const roll_chain *c) {
    uint64_t code = 0;
    for (size_t i = 0; i < c->count; i++) code += roll_code_of(f, c->ops[i]);
    return code * c->length;
}

/* Returns whether the operation ends a long chain, because it would add another vector to those
 * that the loop carries. */
static bool ends_chain(const roller *r, tile_op op) {
    const roll_chain *c = NULL;
    for (unsigned i = 0; i < tile_op_operand_count(r->f, op) && !c; i++)
        c = chain_of_value(r, tile_op_operand(r->f, op, i));
    if (!c || code_of_chain(r->f, c) < ROLL_LEAST_CODE) return false;
    for (unsigned i = 0; i < tile_op_operand_count(r->f, op); i++) {
        tile_value value = tile_op_operand(r->f, op, i);
        if (!chain_of_value(r, value) && is_whole(r->f, value) && !is_input(r->f, c, value))
            return true;
    }
    return false;
}

static void join_chain(roller *r, tile_op op, unsigned length) {
    roll_chain *c = NULL;
    for (unsigned i = 0; i < tile_op_operand_count(r->f, op); i++) {
        roll_chain *other = chain_of_value(r, tile_op_operand(r->f, op, i));
        if (!other || other == c || other->length != length) continue;
        if (c)
            merge(r, c, other);
        else
            c = other;
    }
    add_op(r, c ? c : new_chain(r, length), op);
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

static tile_value build_input(roller *r, tile_builder *b, const roll_plan *p, const roll_input *in,
                              const tile_value *carried) {
    const tile_type *type = vector_like(r, in->value, p->elements);
    if (in->scalar.id) return tile_build_splat(b, in->scalar, type);
    if (!in->source.id) return extract(r, b, carried[in->carrier], 0, p->elements);
    tile_value source = in->step ? carried[in->carrier] : in->source;
    tile_value some = tile_build_permute(b, source, type);
    tile_op_set_list(r->f, tile_value_def(r->f, some), TILE_ATTR_order, in->order, p->elements);
    return some;
}

/* The vector of the next iteration. */
static tile_value build_next(roller *r, tile_builder *b, const roll_carrier *s, tile_value carried,
                             const tile_value *map) {
    unsigned length = (unsigned)tile_type_elements(tile_value_type(r->f, carried));
    tile_value parts[2];
    parts[0] = extract(r, b, carried, s->step, length - s->step);
    parts[1] = s->output.id ? map[s->output.id] : extract(r, b, carried, 0, s->step);
    return tile_build_concat(b, parts, 2);
}

static void build_body(roller *r, tile_builder *b, const roll_plan *p, const tile_value *carried) {
    tile_value *map = TILE_NEW_ARRAY(r->pass->scratch, tile_value, r->value_limit);
    tile_value next[2 * ROLL_MAX_INPUTS];
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
    for (unsigned i = 0; i < p->carrier_count; i++)
        next[i] = build_next(r, b, &p->carriers[i], carried[i], map);
    tile_build_yield(b, next, p->carrier_count);
}

static tile_value build_zeros(tile_builder *b, const tile_type *type) {
    tile_context *context = tile_function_context(b->function);
    const tile_type *scalar = tile_type_scalar(context, type->scalar);
    tile_value zero = tile_build_constant(b, scalar, tile_expr_int(context, 0));
    return tile_build_splat(b, zero, type);
}

/* The source of a permutation, as the loops of the segments before would have rotated it. */
static tile_value build_rotated(roller *r, tile_builder *b, const roll_plan *p,
                                const roll_carrier *s, unsigned segment) {
    int64_t size = (int64_t)tile_type_elements(tile_value_type(r->f, s->init));
    int64_t iterations = p->c->length / p->segments / p->elements;
    int64_t shift = segment * iterations * s->step % size;
    int64_t *order = TILE_NEW_ARRAY(r->pass->scratch, int64_t, (size_t)size);
    if (!shift) return s->init;
    for (int64_t i = 0; i < size; i++) order[i] = (i + shift) % size;
    tile_value rotated = tile_build_permute(b, s->init, tile_value_type(r->f, s->init));
    tile_op_set_list(r->f, tile_value_def(r->f, rotated), TILE_ATTR_order, order, (size_t)size);
    return rotated;
}

/* What the loop of a segment carries first. */
static tile_value build_init(roller *r, tile_builder *b, const roll_plan *p, const roll_carrier *s,
                             unsigned segment) {
    unsigned length = p->c->length / p->segments;
    if (!s->init.id) return build_zeros(b, vector_like(r, s->output, length));
    if (s->is_source) return build_rotated(r, b, p, s, segment);
    if (p->segments == 1) return s->init;
    return extract(r, b, s->init, segment * length, length);
}

/* Inserts the loop of a segment before `before`. */
static tile_op build_loop(roller *r, const roll_plan *p, unsigned segment, tile_op before) {
    tile_builder b = tile_builder_before(r->f, before);
    tile_value inits[2 * ROLL_MAX_INPUTS], carried[2 * ROLL_MAX_INPUTS];
    b.loc = tile_op_loc(r->f, p->c->ops[0]);
    for (unsigned i = 0; i < p->carrier_count; i++)
        inits[i] = build_init(r, &b, p, &p->carriers[i], segment);
    tile_op loop = tile_build_for_loop(&b, tile_build_int(&b, 0),
                                       tile_build_int(&b, p->c->length / p->segments / p->elements),
                                       tile_build_int(&b, 1), inits, p->carrier_count);
    tile_builder inner = tile_builder_at_end(r->f, tile_op_region(r->f, loop, 0));
    for (unsigned i = 0; i < p->carrier_count; i++)
        carried[i] = tile_region_arg(r->f, inner.region, 1 + i);
    build_body(r, &inner, p, carried);
    return loop;
}

/* Elements `first` to `first + count` of the output of a carrier, which the loops compute. */
static tile_value collect(roller *r, tile_builder *b, const roll_plan *p, const tile_op *loops,
                          unsigned carrier, unsigned first, unsigned count) {
    unsigned length = p->c->length / p->segments, begin = first / length;
    unsigned end = (first + count + length - 1) / length;
    tile_value *parts = TILE_NEW_ARRAY(r->pass->scratch, tile_value, end - begin);
    for (unsigned k = begin; k < end; k++)
        parts[k - begin] = tile_op_result(r->f, loops[k], carrier);
    return end - begin == 1 ? parts[0] : tile_build_concat(b, parts, end - begin);
}

static bool is_used_by(const roll_plan *p, const roll_use *use, unsigned segment) {
    unsigned length = p->c->length / p->segments;
    return use->first < (segment + 1) * length && segment * length < use->first + use->count;
}

/* The operation before which a segment is computed. */
static tile_op place_of_segment(const roll_plan *p, unsigned segment, tile_op after) {
    for (size_t i = 0; i < p->use_count; i++)
        if (is_used_by(p, &p->uses[i], segment)) return p->uses[i].before;
    return after;
}

/* The extractions of parts of the results read what the loops of their segments computed. */
static void replace_uses(roller *r, const roll_plan *p, const tile_op *loops) {
    unsigned length = p->c->length / p->segments;
    for (size_t i = 0; i < p->use_count; i++) {
        const roll_use *use = &p->uses[i];
        tile_value output = tile_operand_src(r->f, use->op),
                   result = tile_op_result(r->f, use->op, 0);
        unsigned carrier = 0;
        while (p->carriers[carrier].output.id != output.id) carrier++;
        tile_builder b = tile_builder_before(r->f, use->op);
        tile_value all = collect(r, &b, p, loops, carrier, use->first, use->count);
        r->map[result.id] = tile_build_extract(&b, all, tile_build_int(&b, use->first % length),
                                               tile_value_type(r->f, result));
        r->is_replaced[use->op.id] = true;
    }
}

/* Inserts the loops before `after`, or before the first use of what they compute: ptxas then has
 * registers again for each piece that was stored. */
static void build(roller *r, roll_plan *p, tile_op after) {
    tile_function *f = r->f;
    tile_op *loops = TILE_NEW_ARRAY(r->pass->scratch, tile_op, p->segments);
    bool late = p->segments > 1 && roll_find_uses(r, p, after);
    if (late) roll_fit_piece(r, p, roll_piece(p));
    for (unsigned k = 0; k < p->segments; k++)
        loops[k] = build_loop(r, p, k, late ? place_of_segment(p, k, after) : after);
    if (late) replace_uses(r, p, loops);
    tile_builder b = tile_builder_before(f, after);
    for (unsigned i = 0; i < p->carrier_count && !late; i++)
        if (p->carriers[i].output.id)
            r->map[p->carriers[i].output.id] = collect(r, &b, p, loops, i, 0, p->c->length);
    r->rolled++;
}

/* Operations that stay outside move after the loop if they need its results. Those after the last
 * member are there already. */
static void move_later(roller *r, const roll_chain *c, tile_op last, tile_op after) {
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

static tile_op find_last_member(const roller *r, const roll_chain *c) {
    size_t last = c->count - 1;
    while (!r->member[c->ops[last].id]) last--;
    return c->ops[last];
}

/* Rolls a chain that has ended, if it is long. The loop is at the chain's last operation: loads
 * that follow it then need no registers in the loop. */
static void close_chain(roller *r, roll_chain *c) {
    roll_plan p;
    c->closed = true;
    sort_ops(r, c);
    for (size_t i = 0; i < c->count; i++) r->member[c->ops[i].id] = true;
    if (r->is_long && roll_make_plan(r, c, &p)) {
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
        roll_chain *c = chain_of_value(r, tile_op_operand(r->f, user, i));
        if (c) close_chain(r, c);
    }
}

/* Whether wgmma may be in flight after the operation. */
static bool is_in_flight_after(const tile_function *f, tile_op op, bool before) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_wgmma) return true;
    bool all = opcode == TILE_OP_wgmma_wait && tile_value_is(f, tile_operand_pending(f, op), 0);
    return before && !all;
}

/* Likewise, after the region if it is not before. */
static bool is_in_flight_at_end(const tile_function *f, tile_region region) {
    bool in_flight = false;
    TILE_FOR_EACH_OP_INSIDE (f, op, region) in_flight = is_in_flight_after(f, op, in_flight);
    return in_flight;
}

/* The code of the costly operations of a region. */
static uint64_t code_of_region(const tile_function *f, tile_region region) {
    uint64_t code = 0;
    TILE_FOR_EACH_OP (f, op, region)
        if (tile_op_is_costly(tile_op_opcode(f, op)))
            code += (uint64_t)length_of(f, op) * roll_code_of(f, op);
    return code;
}

static void visit_region(roller *r, tile_region region) {
    tile_function *f = r->f;
    const uint64_t outer = r->region_code;
    r->region_code = code_of_region(f, region);
    r->is_long = r->region_code > ROLL_ABOVE_CODE;
    TILE_FOR_EACH_OP (f, op, region) {
        if (op.id >= r->limit) continue; /* a loop of a segment */
        unsigned length = r->is_in_flight ? 0 : length_of(f, op);
        r->place[op.id] = r->places++;
        if (length) {
            if (ends_chain(r, op)) close_used(r, op);
            join_chain(r, op, length);
            continue;
        }
        close_used(r, op);
        for (unsigned i = 0; i < tile_op_at(f, op)->region_count; i++) {
            tile_region inner = tile_op_region(f, op, i);
            TILE_FOR_EACH_OP_INSIDE (f, user, inner) close_used(r, user);
            if (tile_repeats(f, op)) r->is_in_flight |= is_in_flight_at_end(f, inner);
            visit_region(r, inner);
        }
        r->is_in_flight = is_in_flight_after(f, op, r->is_in_flight);
    }
    r->region_code = outer;
    r->is_long = outer > ROLL_ABOVE_CODE;
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
    r.chain_of = TILE_NEW_ARRAY(pass->scratch, roll_chain *, r.limit);
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
