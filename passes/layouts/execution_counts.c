/* Finds the operations whose cost depends on the layout of a class, and how often they are
 * executed. */
#include "lib/analysis/rearranged.h"
#include "lib/ir/regions.h"
#include "lib/ops/gather.h"
#include "passes/layouts/assign_layouts.h"
#include "passes/layouts/requests.h"

/* Trip count of a loop with unknown bounds; largest trip count; largest product. */
enum { DEFAULT_TRIPS = 8, MAX_TRIPS = 1 << 12, MAX_WEIGHT = 1 << 24 };

static uint64_t trip_count(const tile_function *f, tile_op loop) {
    int64_t begin, end, step;
    if (tile_op_opcode(f, loop) != TILE_OP_for ||
        !tile_value_is_int(f, tile_operand_begin(f, loop), &begin) ||
        !tile_value_is_int(f, tile_operand_end(f, loop), &end) ||
        !tile_value_is_int(f, tile_operand_step(f, loop), &step) || step <= 0)
        return DEFAULT_TRIPS;
    if (begin >= end) return 1;
    uint64_t turns = ((uint64_t)end - (uint64_t)begin - 1) / (uint64_t)step + 1;
    return turns < MAX_TRIPS ? turns : MAX_TRIPS;
}

uint64_t execution_count(const assignment *a, tile_op op) {
    uint64_t weight = 1;
    for (op = tile_op_parent(a->f, op); op.id && weight < MAX_WEIGHT; op = tile_op_parent(a->f, op))
        if (tile_repeats(a->f, op)) weight *= trip_count(a->f, op);
    return weight < MAX_WEIGHT ? weight : MAX_WEIGHT;
}

uint64_t conversion_count(const assignment *a, tile_op op, tile_value tile) {
    return execution_count(a, layouts_place_of(a->f, op, tile));
}

static void add_use(assignment *a, tile_value tile, tile_op op) {
    if (!tile.id || !layouts_is_tile(a, tile)) return;
    uint32_t class = layouts_class_of(a, tile);
    if (a->uses[class] && a->uses[class]->op.id == op.id) return;
    layout_use *use = TILE_NEW(a->pass->scratch, layout_use);
    *use = (layout_use){op, a->uses[class]};
    a->uses[class] = use;
}

static bool depends_on_layout(const tile_function *f, tile_op op) {
    tile_gather g;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_dot:
    case TILE_OP_load_shared:
    case TILE_OP_store_shared:
    case TILE_OP_store_async:
    case TILE_OP_convert_layout: return true;
    default: break; /* memory accesses and rearrangements: see below */
    }
    return tile_gather_of(f, op, &g) || layouts_is_atomic_tile(f, op) ||
           tile_opcode_moves(tile_op_opcode(f, op)) || combines_along_axis(tile_op_opcode(f, op));
}

static void note_op(assignment *a, tile_op op) {
    tile_function *f = a->f;
    const tile_op_data *data = tile_op_at(f, op);
    if (!depends_on_layout(f, op)) return;
    for (uint32_t i = 0; i < data->operand_count; i++) add_use(a, data->operands[i], op);
    for (unsigned r = 0; r < tile_op_result_count(f, op); r++)
        add_use(a, tile_op_result(f, op, r), op);
}

void find_layout_uses(assignment *a) {
    TILE_FOR_EACH_OP_INSIDE (a->f, op, a->f->body) note_op(a, op);
}
