/* Loads of a loop along rows, one step ahead.
 *
 * A block that scans columns works on one tile at a time. While it does, no loads are in flight,
 * and there may be too few other blocks to keep the memory busy. So each step loads the tile of the
 * next one before it works on its own:
 *
 *     %first = load %x[0, %c]
 *     for %i = 0 to %n step 1 iter (.., %t = %first) {
 *       %next = load %x[(%i + 1) * rows, %c]
 *       ..
 *       yield .., %next
 *     }
 *
 * The last step loads nothing: its next tile is outside of the array. */
#include "lib/ir/regions.h"
#include "passes/schedule/rows/rows.h"

enum { MAX_LOADS = 8, MAX_DEPTH = 32 };

typedef struct ahead {
    tile_function *f;
    tile_op loop;
    tile_region body;
} ahead;

/* Returns whether a value is the same in all steps, or is computed from the number of the step. */
static bool depends_on_step_only(const ahead *a, tile_value value, unsigned depth) {
    tile_op def = tile_value_def(a->f, value);
    if (value.id == tile_region_arg(a->f, a->body, 0).id) return true;
    const tile_value_data *data = tile_value_at(a->f, value);
    if (data->kind == TILE_VALUE_REGION && data->owner == a->body.id) return false;
    if (!def.id || tile_op_at(a->f, def)->parent.id != a->body.id) return true;
    if (!depth || tile_op_effects(a->f, def)) return false;
    for (unsigned i = 0; i < tile_op_operand_count(a->f, def); i++)
        if (!depends_on_step_only(a, tile_op_operand(a->f, def, i), depth - 1)) return false;
    return true;
}

static bool may_move(const ahead *a, tile_op op) {
    if (tile_op_opcode(a->f, op) != TILE_OP_load ||
        tile_value_type(a->f, tile_op_result(a->f, op, 0))->kind != TILE_TYPE_TILE)
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(a->f, op); i++)
        if (!depends_on_step_only(a, tile_op_operand(a->f, op, i), MAX_DEPTH)) return false;
    return true;
}

/* Clones the operations of the body that compute the value, for the step that the map describes. */
static void clone_value(const ahead *a, tile_builder *b, tile_value value, tile_value *map,
                        size_t map_count) {
    tile_op def = tile_value_def(a->f, value);
    if (value.id >= map_count || map[value.id].id || !def.id ||
        tile_op_at(a->f, def)->parent.id != a->body.id)
        return;
    for (unsigned i = 0; i < tile_op_operand_count(a->f, def); i++)
        clone_value(a, b, tile_op_operand(a->f, def, i), map, map_count);
    tile_clone_op(b, def, map, map_count);
}

/* Builds the loads of the step with this number. */
static void build_loads(const ahead *a, tile_arena *arena, tile_builder *b, tile_value number,
                        const tile_op *loads, unsigned count, tile_value *tiles) {
    size_t map_count = a->f->value_count;
    tile_value *map = TILE_NEW_ARRAY(arena, tile_value, map_count);
    map[tile_region_arg(a->f, a->body, 0).id] = number;
    for (unsigned i = 0; i < count; i++) {
        tile_value tile = tile_op_result(a->f, loads[i], 0);
        clone_value(a, b, tile, map, map_count);
        tiles[i] = map[tile.id];
    }
}

void rows_load_ahead(rows *r, tile_op loop) {
    tile_function *f = r->k.f;
    tile_arena *arena = r->k.s->arena;
    const ahead a = {f, loop, tile_op_region(f, loop, 0)};
    const unsigned carried = tile_carried_count(f, loop);
    tile_op loads[MAX_LOADS];
    tile_value tiles[MAX_LOADS];
    unsigned count = 0;
    TILE_FOR_EACH_OP (f, op, a.body)
        if (count < MAX_LOADS && may_move(&a, op)) loads[count++] = op;
    if (!count) return;
    tile_builder before = tile_builder_before(f, loop);
    build_loads(&a, arena, &before, tile_operand_begin(f, loop), loads, count, tiles);
    tile_value *map =
        TILE_NEW_ARRAY(arena, tile_value, f->value_count + 1 + tile_carry_limit(f, loop, count));
    tile_carry(f, loop, NULL, tiles, count, map);
    tile_replace_values(f, f->body, map);
    tile_builder head = tile_builder_before(f, tile_region_first(f, a.body));
    tile_value next =
        tile_build_add(&head, tile_region_arg(f, a.body, 0), tile_operand_step(f, loop));
    build_loads(&a, arena, &head, next, loads, count, tiles);
    map = TILE_NEW_ARRAY(arena, tile_value, f->value_count);
    for (unsigned i = 0; i < count; i++) {
        tile_carried_send(f, loop, 0, carried + i, tiles[i]);
        map[tile_op_result(f, loads[i], 0).id] = tile_carried_received(f, loop, 0, carried + i);
    }
    tile_replace_values(f, a.body, map);
    for (unsigned i = 0; i < count; i++) tile_erase_op(f, loads[i]);
}
