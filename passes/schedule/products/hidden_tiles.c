/* Tiles of a product that a mask hides, such as the upper triangle of
 *
 *     select(%row >= %column, matmul(%a, %b), 0.0)
 *
 * A block whose tile is hidden completely multiplies nothing: its loop over k has no iterations. */
#include "passes/schedule/products/product.h"

#include "lib/ir/syntax.h"
#include "lib/ops/kinds.h"

enum { MOST = 1 << 28 /* a number whose sums with coordinates do not overflow */ };

static sched_mapped_value operand_at(const product *p, tile_op op, unsigned index,
                                     const sched_map *map) {
    schedule *s = p->k.s;
    return (sched_mapped_value){tile_op_operand(s->compute, op, index),
                                sched_operand_map(s, op, 0, index, map)};
}

static sched_mapped_value skip_broadcasts(const product *p, sched_mapped_value at) {
    tile_op op;
    while ((op = tile_value_def(p->k.s->compute, at.value)).id &&
           (tile_op_opcode(p->k.s->compute, op) == TILE_OP_broadcast ||
            tile_op_opcode(p->k.s->compute, op) == TILE_OP_splat))
        at = operand_at(p, op, 0, &at.map);
    return at;
}

/* Returns whether the value is computed from the product, element by element or moved. */
static bool is_of_product(const product *p, tile_value value, bool *seen) {
    const schedule *s = p->k.s;
    const tile_op op = tile_value_def(s->compute, value);
    if (!op.id || seen[op.id]) return false;
    seen[op.id] = true;
    if (op.id == p->op.id || op.id == p->dual.id) return true;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        if (is_of_product(p, tile_op_operand(s->compute, op, i), seen)) return true;
    return false;
}

static bool depends_on_product(const product *p, tile_value value) {
    bool *seen = TILE_NEW_ARRAY(p->k.s->arena, bool, p->k.s->compute->op_count);
    return is_of_product(p, value, seen);
}

/* A number that grows by 1 along m or n, or is the same everywhere. */
static bool find_number(const product *p, sched_mapped_value at, sched_linear *out) {
    schedule *s = p->k.s;
    int64_t start = 0, step = 1, number;
    at = skip_broadcasts(p, at);
    const tile_op op = tile_value_def(s->compute, at.value);
    if (sched_type(s, at.value)->kind != TILE_TYPE_TENSOR) {
        *out = (sched_linear){.dim = -1};
        return tile_value_is_int(s->compute, at.value, &out->offset);
    }
    if (sched_element(s, at.value)->scalar != TILE_i32 || !op.id) return false;
    if (tile_op_opcode(s->compute, op) != TILE_OP_iota) return false;
    const tile_attr *first = tile_op_attr(s->compute, op, TILE_ATTR_start),
                    *by = tile_op_attr(s->compute, op, TILE_ATTR_step);
    if ((first && !tile_expr_is_int(first->expr, &start)) ||
        (by && !tile_expr_is_int(by->expr, &step)) || step != 1 ||
        !sched_find_linear(&at.map.at[sched_axis(s, op)], out))
        return false;
    number = start + out->offset;
    if (number < -MOST || number > MOST) return false;
    out->offset = number;
    return out->dim < 0 || (out->scale == 1 && (out->dim == (int)p->m || out->dim == (int)p->n));
}

/* Sets where the condition holds (or, inverse, does not hold). */
static bool find_condition(product *p, sched_mapped_value at, bool inverse) {
    static const tile_opcode compares[][2] = {{TILE_OP_lt, TILE_OP_ge},
                                              {TILE_OP_le, TILE_OP_gt},
                                              {TILE_OP_gt, TILE_OP_le},
                                              {TILE_OP_ge, TILE_OP_lt}};
    schedule *s = p->k.s;
    at = skip_broadcasts(p, at);
    const tile_op op = tile_value_def(s->compute, at.value);
    if (!op.id || sched_array_of(s, at.value) >= 0) return false;
    for (unsigned i = 0; i < sizeof compares / sizeof *compares; i++) {
        if (tile_op_opcode(s->compute, op) != compares[i][0]) continue;
        p->seen.compare = compares[i][inverse];
        for (unsigned side = 0; side < 2; side++)
            if (!find_number(p, operand_at(p, op, side, &at.map), &p->seen.side[side]))
                return false;
        return true;
    }
    return false;
}

/* Follows the value to the select that hides elements of the product. */
static bool find_select(product *p, sched_mapped_value at) {
    schedule *s = p->k.s;
    const tile_op op = tile_value_def(s->compute, at.value);
    unsigned of_product = 0, last = 0;
    if (!op.id || op.id == p->op.id || !sched_is_inline(s, op)) return false;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        if (depends_on_product(p, tile_op_operand(s->compute, op, i))) {
            of_product++;
            last = i;
        }
    if (of_product != 1) return false;
    if (tile_op_opcode(s->compute, op) == TILE_OP_select && last &&
        find_condition(p, operand_at(p, op, 0, &at.map), last == 2))
        return true;
    return find_select(p, operand_at(p, op, last, &at.map));
}

void product_find_hidden_tiles(product *p) {
    const sched_group *g = p->k.g;
    p->seen.found = false;
    if (g->output_count != 1 || g->has_rows || p->groups.count || p->packed || p->scaled) return;
    const sched_mapped_value at = {sched_output_value(p->k.s, &g->outputs[0]), g->outputs[0].map};
    p->seen.found = find_select(p, at);
}

/* The number's least or greatest value in the block's tile. */
static tile_value find_end(const product *p, const sched_linear *side, bool greatest) {
    sched_kernel *k = (sched_kernel *)(uintptr_t)&p->k;
    if (side->dim < 0) return tile_build_int(&k->b, side->offset);
    const tile_expr *block =
        side->dim == (int)p->m ? product_param(p, "block_m") : product_columns(p);
    tile_value end = k->start[side->dim];
    if (greatest) end = tile_build_add(&k->b, end, sched_number(k, block));
    return tile_build_add(&k->b, end, tile_build_int(&k->b, side->offset - greatest));
}

tile_value product_sees_tile(product *p) {
    sched_kernel *k = &p->k;
    const tile_opcode compare = p->seen.compare;
    const bool below = compare == TILE_OP_lt || compare == TILE_OP_le;
    tile_value ends[2];
    for (unsigned i = 0; i < 2; i++) ends[i] = find_end(p, &p->seen.side[i], (i == 1) == below);
    const tile_segment segments[] = {{ends[0], NULL, 0}, {ends[1], NULL, 0}};
    return tile_build_op_value(&k->b, compare, segments, 2, NULL);
}
