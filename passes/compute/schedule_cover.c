/* Quotients that are no larger than what is divided: softmax with a sink.
 *
 *     %top = max(reduce_max(%s), %sink)             %e = exp(%s - %top)
 *     %p = f16(%e / (reduce_add(%e) + exp(%sink - %top)))
 *
 * The largest of what %top is a maximum of has exp(0) = 1, and the divisor adds up the exponentials
 * of all of these, none below 0: it is 1 at least. So %p is at most %e, which a walk rounds in its
 * place: if f16 holds %p, it holds %e as well. Without the sink's part the divisor may be as small
 * as %e, which then is rounded to nothing although the quotient is not small. */
#include "passes/compute/schedule_chain.h"

#include "lib/ir/kinds.h"

typedef struct cover {
    chain_finder *f;
    const sched_exp *e;
    unsigned exp;         /* its number */
    sched_wanted divisor; /* without what repeats it */
} cover;

enum { DEPTH = 8 };

static tile_op op_of(const cover *c, tile_value value, tile_opcode opcode) {
    tile_op op = tile_value_def(c->f->s->compute, value);
    return op.id && tile_op_opcode(c->f->s->compute, op) == opcode ? op : TILE_NO_OP;
}

static sched_wanted without_broadcast(const cover *c, sched_wanted at) {
    for (;;) {
        tile_op op = op_of(c, at.value, TILE_OP_broadcast);
        if (!op.id) op = op_of(c, at.value, TILE_OP_splat);
        if (!op.id) return at;
        at = sched_wanted_operand(c->f->s, op, 0, &at.map);
    }
}

static bool is_same(const cover *c, sched_wanted a, sched_wanted b) {
    a = without_broadcast(c, a);
    b = without_broadcast(c, b);
    if (a.value.id != b.value.id) return false;
    const tile_type *type = sched_type(c->f->s, a.value);
    return type->kind != TILE_TYPE_TENSOR || sched_same_map(&a.map, &b.map, type->rank);
}

/* exp(x - rho), the same exponential of the same reference, of x. */
static bool is_exp_of(const cover *c, sched_wanted at, const sched_wanted *x) {
    schedule *s = c->f->s;
    at = without_broadcast(c, at);
    tile_op op = op_of(c, at.value, tile_op_opcode(s->compute, c->e->op));
    if (!op.id) return false;
    sched_wanted exponent = sched_wanted_operand(s, op, 0, &at.map);
    if (c->e->by.value.id) {
        exponent = without_broadcast(c, exponent);
        tile_op mul = op_of(c, exponent.value, TILE_OP_mul);
        if (!mul.id) return false;
        sched_wanted a = sched_wanted_operand(s, mul, 0, &exponent.map),
                     b = sched_wanted_operand(s, mul, 1, &exponent.map);
        if (!is_same(c, a, c->e->by) && !is_same(c, b, c->e->by)) return false;
        exponent = is_same(c, b, c->e->by) ? a : b;
    }
    exponent = without_broadcast(c, exponent);
    tile_op sub = op_of(c, exponent.value, TILE_OP_sub);
    return sub.id && is_same(c, sched_wanted_operand(s, sub, 0, &exponent.map), *x) &&
           is_same(c, sched_wanted_operand(s, sub, 1, &exponent.map), c->e->rho);
}

/* The sum of the exponentials themselves. */
static bool is_sum(const cover *c, sched_wanted at) {
    schedule *s = c->f->s;
    at = without_broadcast(c, at);
    tile_op op = op_of(c, at.value, TILE_OP_reduce);
    return op.id && tile_op_word(s->compute, op, TILE_ATTR_kind) == TILE_WORD_kind_add &&
           sched_find_exp(c->f->o, tile_value_def(s->compute, tile_op_operand(s->compute, op,
                                                                              0))) == (int)c->exp;
}

/* Whether a term of the sum is what is looked for; x: its exponential, else that of the elements.
 * All terms are sums or exponentials, so that none is below 0. */
static bool has_term(const cover *c, sched_wanted at, const sched_wanted *x, unsigned depth,
                     bool *positive) {
    schedule *s = c->f->s;
    double number;
    at = without_broadcast(c, at);
    tile_op add = op_of(c, at.value, TILE_OP_add);
    if (add.id && depth) {
        bool first = has_term(c, sched_wanted_operand(s, add, 0, &at.map), x, depth - 1, positive);
        bool second = has_term(c, sched_wanted_operand(s, add, 1, &at.map), x, depth - 1, positive);
        return first || second;
    }
    tile_op max = op_of(c, at.value, TILE_OP_max); /* not less than either */
    for (unsigned i = 0; max.id && depth && i < 2; i++)
        if (sched_is_number(s, tile_op_operand(s->compute, max, i), &number))
            return has_term(c, sched_wanted_operand(s, max, 1 - i, &at.map), x, depth - 1,
                            positive);
    *positive &= is_sum(c, at) || op_of(c, at.value, TILE_OP_exp).id ||
                 op_of(c, at.value, TILE_OP_exp2).id ||
                 (sched_is_number(s, at.value, &number) && number >= 0);
    return x ? is_exp_of(c, at, x) : is_sum(c, at);
}

/* Whether the divisor has a term for all of which the reference is a maximum; numbers so low that
 * what stands at them is 0 in any case need none. */
static bool covers(const cover *c, sched_wanted rho, unsigned depth) {
    schedule *s = c->f->s;
    const double far = -1e4;
    bool positive = true;
    double number;
    rho = without_broadcast(c, rho);
    if (sched_is_number(s, rho.value, &number)) return number <= far;
    tile_op max = op_of(c, rho.value, TILE_OP_max);
    if (max.id)
        return depth && covers(c, sched_wanted_operand(s, max, 0, &rho.map), depth - 1) &&
               covers(c, sched_wanted_operand(s, max, 1, &rho.map), depth - 1);
    bool elements = op_of(c, rho.value, TILE_OP_reduce).id != 0;
    return has_term(c, c->divisor, elements ? NULL : &rho, DEPTH, &positive) && positive;
}

bool chain_covers(chain_finder *f, unsigned exp, sched_wanted divisor) {
    cover c = {.f = f, .e = &f->o->exps[exp], .exp = exp, .divisor = divisor};
    return covers(&c, c.e->rho, DEPTH);
}
