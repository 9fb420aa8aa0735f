#include "passes/simplify/unroll.h"

#include "lib/ir/regions.h"

/* True if the operation indexes an element by a value that is only known after unrolling. */
static bool has_open_index(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    int64_t known;
    if (opcode == TILE_OP_extract || opcode == TILE_OP_insert)
        return !tile_value_is_int(f, tile_operand_first(f, op), &known);
    return opcode == TILE_OP_coordinates &&
           !tile_value_is_int(f, tile_operand_element(f, op), &known);
}

/* The number of iterations; 0 if the loop is not to be unrolled. */
static int64_t count_copies(tile_function *f, tile_op op) {
    int64_t begin, end, step;
    bool indexes = false;
    if (tile_op_opcode(f, op) != TILE_OP_for || tile_op_has_attr(f, op, TILE_ATTR_pipelined) ||
        !tile_value_is_int(f, tile_operand_begin(f, op), &begin) ||
        !tile_value_is_int(f, tile_operand_end(f, op), &end) ||
        !tile_value_is_int(f, tile_operand_step(f, op), &step) || step < 1 || end <= begin)
        return 0;
    int64_t times = (end - begin + step - 1) / step;
    if (times > tile_op_attr_int(f, op, TILE_ATTR_unroll, 0)) return 0;
    TILE_FOR_EACH_NESTED_OP (f, inner, op) indexes |= has_open_index(f, inner);
    return indexes ? times : 0;
}

/* Copies the body once before the loop; current: the carried values. */
static void copy_body(tile_function *f, tile_op op, int64_t index, tile_value *current,
                      tile_arena *arena) {
    tile_builder b = tile_builder_before(f, op);
    tile_region region = tile_op_region(f, op, 0);
    tile_op yield = tile_region_yield(f, region);
    tile_value number = tile_build_int(&b, index);
    size_t count = f->value_count;
    tile_value *map = TILE_NEW_ARRAY(arena, tile_value, count);
    map[tile_region_arg(f, region, 0).id] = number;
    for (unsigned i = 0; i < tile_carried_count(f, op); i++)
        map[tile_carried_received(f, op, 0, i).id] = current[i];
    TILE_FOR_EACH_OP (f, inner, region)
        if (inner.id != yield.id) tile_clone_op(&b, inner, map, count);
    for (unsigned i = 0; i < tile_carried_count(f, op); i++) {
        tile_value sent = tile_carried_sent(f, op, 0, i);
        current[i] = map[sent.id].id ? map[sent.id] : sent;
    }
}

static void unroll(tile_function *f, tile_op op, int64_t times, tile_arena *arena) {
    unsigned carried = tile_carried_count(f, op);
    tile_value *current = TILE_NEW_ARRAY(arena, tile_value, carried + 1u);
    int64_t begin = 0, step = 0;
    tile_value_is_int(f, tile_operand_begin(f, op), &begin);
    tile_value_is_int(f, tile_operand_step(f, op), &step);
    for (unsigned i = 0; i < carried; i++) current[i] = tile_carried_sent(f, op, TILE_PARENT_OP, i);
    for (int64_t t = 0; t < times; t++) copy_body(f, op, begin + t * step, current, arena);
    tile_value *map = TILE_NEW_ARRAY(arena, tile_value, f->value_count);
    for (unsigned i = 0; i < carried; i++) map[tile_op_result(f, op, i).id] = current[i];
    tile_replace_values(f, f->body, map);
    tile_erase_op(f, op);
}

static bool unroll_in(tile_function *f, tile_region region, tile_arena *arena) {
    bool any = false;
    for (tile_op op = tile_region_first(f, region), next; op.id; op = next) {
        next = tile_op_next(f, op);
        int64_t times = count_copies(f, op);
        if (times) {
            tile_op before = tile_op_at(f, op)->prev;
            unroll(f, op, times, arena);
            any = true;
            next = before.id ? tile_op_next(f, before) : tile_region_first(f, region);
            continue;
        }
        for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
            any |= unroll_in(f, tile_op_region(f, op, r), arena);
    }
    return any;
}

bool unroll_indexed_loops(tile_function *f, tile_arena *arena) {
    return f->kind == TILE_KERNEL && unroll_in(f, f->body, arena);
}
