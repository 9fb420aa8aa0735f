/* What only the epilogue needs, where its tile is above all, is computed in the epilogue. Before
 * the loop the first products of a tile would wait for it; behind it, it goes between the
 * conversions and stores of the sums. */
#include "lib/ir/regions.h"
#include "passes/tile/specialize.h"

typedef struct delayed {
    tile_function *f;
    bool *early; /* by value: what does not wait needs it */
} delayed;

static void visit_needed(tile_function *f, tile_op op, void *user) {
    delayed *d = user;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        d->early[tile_op_operand(f, op, i).id] = true;
}

static void need_all(delayed *d, tile_op op) {
    visit_needed(d->f, op, d);
    for (unsigned r = 0; r < tile_op_at(d->f, op)->region_count; r++)
        tile_walk(d->f, tile_op_region(d->f, op, r), visit_needed, d);
}

static bool can_wait(const delayed *d, tile_op op) {
    bool can = tile_op_at(d->f, op)->result_count > 0 && specialize_is_arithmetic(d->f, op);
    for (unsigned i = 0; i < tile_op_at(d->f, op)->result_count && can; i++)
        can = !d->early[tile_op_result(d->f, op, i).id];
    return can;
}

/* The first operation behind the loop that is not there for it; 0: there is none. */
static tile_op begin_of_epilogue(const specialist *s) {
    const tile_function *f = s->ring.f;
    tile_op op = tile_op_at(f, s->done)->next;
    while (op.id >= s->old_ops) op = tile_op_at(f, op)->next;
    return op;
}

void specialize_delay(specialist *s) {
    tile_function *f = s->ring.f;
    delayed d = {.f = f};
    if (!s->around_count || s->sets > 1) return; /* who waits for a turn has the time before it */
    tile_op place = begin_of_epilogue(s), before;
    if (!place.id) return;
    d.early = TILE_NEW_ARRAY(s->ring.pass->scratch, bool, f->value_count + 1u);
    need_all(&d, s->done);
    /* From the loop upwards, so that what waits finds all of its users behind it. */
    for (tile_op op = tile_op_at(f, s->done)->prev; op.id; op = before) {
        before = tile_op_at(f, op)->prev;
        if (!can_wait(&d, op)) {
            need_all(&d, op);
            continue;
        }
        tile_move_op(f, op, tile_op_at(f, s->done)->parent, place);
        place = op;
    }
}
