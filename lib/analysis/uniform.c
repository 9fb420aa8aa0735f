/* Divergence spreads from operands to results, from a condition to what its regions hand out, and
 * around loops until nothing changes any more. */
#include "lib/analysis/uniform.h"

#include "lib/ir/regions.h"

typedef struct spread {
    tile_function *f;
    bool *divergent;
    bool changed;
} spread;

static void mark(spread *s, tile_value value, bool divergent) {
    if (divergent && value.id && !s->divergent[value.id]) {
        s->divergent[value.id] = true;
        s->changed = true;
    }
}

static bool any_operand(const spread *s, tile_op op) {
    bool found = false;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
        found |= s->divergent[tile_op_operand(s->f, op, i).id];
    return found;
}

static bool decides_separately(const tile_function *f, const bool *divergent, tile_op op) {
    bool found = false;
    for (unsigned i = 0; i < tile_decision_count(f, op); i++)
        found |= divergent[tile_decision(f, op, i).id];
    return found;
}

/* A carried value is divergent if one of those that are sent there is, or if threads come there
 * separately. */
static void visit_regions(spread *s, tile_op op) {
    bool apart = decides_separately(s->f, s->divergent, op);
    for (unsigned r = 0; r < tile_op_at(s->f, op)->region_count; r++) {
        tile_region region = tile_op_region(s->f, op, r);
        for (unsigned i = 0; i < tile_region_own_args(s->f, region); i++)
            mark(s, tile_region_arg(s->f, region, i), apart);
    }
    for (unsigned i = 0; i < tile_carried_count(s->f, op); i++)
        TILE_FOR_EACH_PLACE (s->f, op, to) {
            bool found = apart;
            TILE_FOR_EACH_PLACE (s->f, op, from)
                if (tile_goes(s->f, op, from, to))
                    found |= s->divergent[tile_carried_sent(s->f, op, from, i).id];
            mark(s, tile_carried_received(s->f, op, to, i), found);
        }
}

static void visit(tile_function *f, tile_op op, void *user) {
    spread *s = user;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (tile_shape_of(f, op) != TILE_SHAPE_NONE) {
        visit_regions(s, op);
        return;
    }
    bool found = tile_op_has_trait(opcode, TILE_TRAIT_DIVERGES) || any_operand(s, op);
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
        mark(s, tile_op_result(f, op, i), found);
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
    do op = tile_op_parent(f, op);
    while (op.id && !decides_separately(f, divergent, op));
    return op;
}
