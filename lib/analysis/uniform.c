/* Divergence spreads from operands to results, from a condition to what its regions hand out, and
 * around loops until nothing changes any more. */
#include "lib/analysis/uniform.h"

typedef struct spread {
    tile_function *f;
    bool *divergent;
    bool changed;
} spread;

static void mark(spread *s, tile_value value, bool divergent) {
    if (divergent && !s->divergent[value.id]) {
        s->divergent[value.id] = true;
        s->changed = true;
    }
}

static bool any_operand(const spread *s, tile_op op, unsigned from, unsigned count) {
    bool found = false;
    for (unsigned i = 0; i < count; i++)
        found |= s->divergent[tile_op_operand(s->f, op, from + i).id];
    return found;
}

/* A carried value is divergent if it is so at first, after an iteration, or if the number of
 * iterations is. */
static void visit_for(spread *s, tile_op op) {
    tile_region body = tile_op_region(s->f, op, 0);
    bool bounds = any_operand(s, op, 0, 3);
    tile_op yield = tile_region_at(s->f, body)->last;
    mark(s, tile_region_arg(s->f, body, 0), bounds);
    for (unsigned i = 0; i < tile_op_result_count(s->f, op); i++) {
        bool carried = bounds || any_operand(s, op, 3 + i, 1) || any_operand(s, yield, i, 1);
        mark(s, tile_region_arg(s->f, body, i + 1), carried);
        mark(s, tile_op_result(s->f, op, i), carried);
    }
}

static void visit_if(spread *s, tile_op op) {
    for (unsigned i = 0; i < tile_op_result_count(s->f, op); i++) {
        bool found = any_operand(s, op, 0, 1);
        for (unsigned r = 0; r < 2; r++)
            found |= any_operand(s, tile_region_at(s->f, tile_op_region(s->f, op, r))->last, i, 1);
        mark(s, tile_op_result(s->f, op, i), found);
    }
}

static void visit(tile_function *f, tile_op op, void *user) {
    spread *s = user;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_for) {
        visit_for(s, op);
    } else if (opcode == TILE_OP_if) {
        visit_if(s, op);
    } else {
        bool found = tile_op_has_trait(opcode, TILE_TRAIT_DIVERGES) ||
                     any_operand(s, op, 0, tile_op_operand_count(f, op));
        for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
            mark(s, tile_op_result(f, op, i), found);
    }
}

bool *tile_divergent_values(tile_function *f, tile_arena *arena) {
    spread s = {.f = f, .divergent = TILE_NEW_ARRAY(arena, bool, f->value_count), .changed = true};
    while (s.changed) {
        s.changed = false;
        tile_walk(f, f->body, visit, &s);
    }
    return s.divergent;
}

tile_op tile_divergent_control(const tile_function *f, const bool *divergent, tile_op op) {
    for (;;) {
        op = tile_op_parent(f, op);
        if (!op.id) return op;
        unsigned count = tile_op_opcode(f, op) == TILE_OP_for ? 3 : 1;
        for (unsigned i = 0; i < count; i++)
            if (divergent[tile_op_operand(f, op, i).id]) return op;
    }
}
