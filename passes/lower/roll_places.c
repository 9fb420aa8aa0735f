/* Where the segments of a chain are computed: see roll_elementwise.c. */
#include "passes/lower/roll.h"

static tile_value output_of(const roll_plan *p, tile_value value) {
    for (unsigned i = 0; i < p->carrier_count; i++)
        if (value.id && p->carriers[i].output.id == value.id) return value;
    return (tile_value){0};
}

/* Adds the operation `user`, in or at `before`, if it extracts a part of an output. Counts its uses
 * of outputs in any case. */
static void add_use(roller *r, roll_plan *p, tile_op user, tile_op before, uint32_t *found) {
    int64_t first;
    uint32_t uses = 0;
    for (unsigned i = 0; i < tile_op_operand_count(r->f, user); i++)
        uses += output_of(p, tile_op_operand(r->f, user, i)).id != 0;
    *found += uses;
    if (!uses || tile_op_opcode(r->f, user) != TILE_OP_extract ||
        !tile_value_is_int(r->f, tile_operand_first(r->f, user), &first))
        return;
    tile_value result = tile_op_result(r->f, user, 0);
    const tile_type *type = tile_value_type(r->f, result);
    unsigned count = type->kind == TILE_TYPE_VECTOR ? (unsigned)tile_type_elements(type) : 1;
    p->uses =
        tile_arena_grow(r->pass->scratch, p->uses, p->use_count, &p->use_capacity, sizeof *p->uses);
    p->uses[p->use_count++] =
        (roll_use){.op = user, .before = before, .first = (unsigned)first, .count = count};
}

/* The uses of the chain's results that members compute, outside of members. */
static uint32_t count_uses(const roller *r, const roll_plan *p) {
    uint32_t uses = 0;
    for (unsigned i = 0; i < p->carrier_count; i++)
        if (p->carriers[i].output.id) uses += r->uses[p->carriers[i].output.id];
    for (size_t k = 0; k < p->c->count; k++)
        for (unsigned i = 0; i < tile_op_operand_count(r->f, p->c->ops[k]); i++)
            uses -= r->member[p->c->ops[k].id] &&
                    output_of(p, tile_op_operand(r->f, p->c->ops[k], i)).id;
    return uses;
}

bool roll_find_uses(roller *r, roll_plan *p, tile_op after) {
    tile_function *f = r->f;
    uint32_t found = 0;
    for (tile_op op = after; op.id; op = tile_op_next(f, op)) {
        add_use(r, p, op, op, &found);
        for (unsigned i = 0; i < tile_op_at(f, op)->region_count; i++)
            TILE_FOR_EACH_OP_INSIDE (f, user, tile_op_region(f, op, i))
                add_use(r, p, user, op, &found);
    }
    return p->use_count && found == p->use_count && found == count_uses(r, p);
}

unsigned roll_piece(const roll_plan *p) {
    unsigned piece = p->c->length;
    for (size_t i = 0; i < p->use_count; i++) {
        unsigned parts[] = {p->uses[i].first, p->uses[i].count};
        for (unsigned k = 0; k < 2; k++)
            for (unsigned a = parts[k]; a;) {
                unsigned rest = piece % a;
                piece = a;
                a = rest;
            }
    }
    return piece;
}
