/* Region shapes as tables. Carried values are the last ones of their list. */
#include "lib/ir/regions.h"

#include <limits.h>

#define ANY UINT_MAX

/* By region, if regions differ. */
typedef struct shape_facts {
    unsigned regions; /* 0: any number */
    unsigned own_args[2];
    unsigned own_yields[2];
    bool receives; /* regions have arguments for carried values, and the operation has inits */
    bool repeats;
} shape_facts;

static const shape_facts shapes[] = {
    [TILE_SHAPE_NONE] = {.regions = 0},
    [TILE_SHAPE_LOOP] = {.regions = 1, .own_args = {1}, .receives = true, .repeats = true},
    [TILE_SHAPE_WHILE] = {.regions = 2, .own_yields = {1, 0}, .receives = true, .repeats = true},
    [TILE_SHAPE_BRANCH] = {.regions = 2},
    [TILE_SHAPE_BODY] = {.own_args = {ANY, ANY}},
    [TILE_SHAPE_ELEMENTS] = {.regions = 1, .own_args = {ANY}, .repeats = true},
};

static const shape_facts *facts_of(const tile_function *f, tile_op op) {
    return &shapes[tile_shape_of(f, op)];
}

unsigned tile_shape_regions(tile_region_shape shape) {
    return shapes[shape].regions;
}

unsigned tile_shape_own_args(tile_region_shape shape, unsigned r) {
    return shapes[shape].own_args[r > 0];
}

unsigned tile_shape_own_yields(tile_region_shape shape, unsigned r) {
    return shapes[shape].own_yields[r > 0];
}

bool tile_shape_receives(tile_region_shape shape) {
    return shapes[shape].receives;
}

/* Control flow --------------------------------------------------------------------------------- */

bool tile_repeats(const tile_function *f, tile_op op) {
    return facts_of(f, op)->repeats;
}

/* The value that is known to exceed begin at the loop, from the condition of an enclosing `if`. */
static tile_value find_above(const tile_function *f, tile_op loop, tile_value begin) {
    tile_op branch = tile_op_parent(f, loop);
    if (!branch.id || tile_op_opcode(f, branch) != TILE_OP_if ||
        tile_op_region(f, branch, 0).id != tile_op_at(f, loop)->parent.id)
        return TILE_NO_VALUE;
    tile_op compare = tile_value_def(f, tile_operand_condition(f, branch));
    bool less = compare.id && tile_op_opcode(f, compare) == TILE_OP_lt;
    if (!compare.id || (!less && tile_op_opcode(f, compare) != TILE_OP_gt)) return TILE_NO_VALUE;
    tile_value lhs = tile_operand_lhs(f, compare), rhs = tile_operand_rhs(f, compare);
    tile_value low = less ? lhs : rhs, high = less ? rhs : lhs;
    return low.id == begin.id ? high : TILE_NO_VALUE;
}

/* Returns whether the value is greater than begin. `above`, if there is one, is a value greater
 * than begin: then begin + 1 does not overflow. */
static bool is_more(const tile_function *f, tile_value value, tile_value begin, tile_value above) {
    int64_t first, number;
    tile_op def = tile_value_def(f, value);
    if (tile_value_is_int(f, begin, &first) && tile_value_is_int(f, value, &number))
        return first < number;
    if (!def.id || value.id == above.id) return value.id == above.id;
    switch (tile_op_opcode(f, def)) {
    case TILE_OP_max:
        return is_more(f, tile_operand_lhs(f, def), begin, above) ||
               is_more(f, tile_operand_rhs(f, def), begin, above);
    case TILE_OP_add:
        return above.id && tile_operand_lhs(f, def).id == begin.id &&
               tile_value_is(f, tile_operand_rhs(f, def), 1);
    default: return false;
    }
}

bool tile_runs_at_least_once(const tile_function *f, tile_op loop) {
    tile_value begin = tile_operand_begin(f, loop);
    tile_value above = find_above(f, loop, begin);
    return is_more(f, tile_operand_end(f, loop), begin, above);
}

bool tile_control_flows(const tile_function *f, tile_op op, int from, int to) {
    switch (tile_shape_of(f, op)) {
    case TILE_SHAPE_NONE: return false;
    case TILE_SHAPE_LOOP: return true;
    case TILE_SHAPE_WHILE:
        if (from == 0) return to != 0;
        return to == 0;
    case TILE_SHAPE_BRANCH:
    case TILE_SHAPE_BODY: return (from == TILE_PARENT_OP) != (to == TILE_PARENT_OP);
    case TILE_SHAPE_ELEMENTS: return from == 0 || to == 0;
    }
    return false;
}

/* The operation whose operands are the carried values that `from` sends. */
static tile_op sender(const tile_function *f, tile_op op, int from) {
    return from == TILE_PARENT_OP ? op
                                  : tile_region_yield(f, tile_op_region(f, op, (unsigned)from));
}

/* The operation whose operands decide: op itself, or the first region's yield for `while`. */
static tile_op decider(const tile_function *f, tile_op op) {
    bool yields = facts_of(f, op)->own_yields[0] && tile_op_at(f, op)->region_count;
    return yields ? sender(f, op, 0) : op;
}

unsigned tile_control_operand_count(const tile_function *f, tile_op op) {
    if (tile_shape_of(f, op) == TILE_SHAPE_NONE) return 0;
    unsigned operands = tile_op_operand_count(f, decider(f, op));
    unsigned carried = facts_of(f, op)->receives ? tile_carried_count(f, op) : 0;
    return operands > carried ? operands - carried : 0;
}

tile_value tile_control_operand(const tile_function *f, tile_op op, unsigned index) {
    return tile_op_operand(f, decider(f, op), index);
}

/* Carried values ------------------------------------------------------------------------------ */

unsigned tile_carried_count(const tile_function *f, tile_op op) {
    return tile_shape_of(f, op) == TILE_SHAPE_NONE ? 0 : tile_op_at(f, op)->result_count;
}

/* The position of carried value i in a list of `row` values; past the end if the list is too short.
 */
static unsigned place_in(const tile_function *f, tile_op op, unsigned row, unsigned i) {
    unsigned carried = tile_carried_count(f, op);
    return row >= carried && i < carried ? row - carried + i : row;
}

tile_value tile_carried_sent(const tile_function *f, tile_op op, int from, unsigned i) {
    if (from == TILE_PARENT_OP && !facts_of(f, op)->receives) return TILE_NO_VALUE;
    tile_op row = sender(f, op, from);
    return tile_op_operand(f, row, place_in(f, op, tile_op_operand_count(f, row), i));
}

tile_value tile_carried_received(const tile_function *f, tile_op op, int to, unsigned i) {
    if (to == TILE_PARENT_OP)
        return i < tile_carried_count(f, op) ? tile_op_result(f, op, i) : TILE_NO_VALUE;
    if (!facts_of(f, op)->receives) return TILE_NO_VALUE;
    tile_region region = tile_op_region(f, op, (unsigned)to);
    return tile_region_arg(f, region, place_in(f, op, tile_region_at(f, region)->arg_count, i));
}

void tile_carried_send(tile_function *f, tile_op op, int from, unsigned i, tile_value value) {
    tile_op_data *row = tile_op_at(f, sender(f, op, from));
    unsigned at = place_in(f, op, row->operand_count, i);
    if (at < row->operand_count) row->operands[at] = value;
}

unsigned tile_region_own_args(const tile_function *f, tile_region region) {
    const tile_region_data *data = tile_region_at(f, region);
    bool receives = facts_of(f, data->parent)->receives;
    return receives ? place_in(f, data->parent, data->arg_count, 0) : data->arg_count;
}

/* Rebuilding ---------------------------------------------------------------------------------- */

typedef struct change {
    tile_function *f;
    tile_op op;
    const bool *kept;
    const tile_value *added;
    unsigned old_count, kept_count, added_count;
    tile_value *map;
} change;

/* Rebuilds a list of operands: the first `own` ones, the kept ones of the rest, and the added ones.
 */
static void resize_operands(change *c, tile_op row, const tile_value *added) {
    tile_op_data *data = tile_op_at(c->f, row);
    unsigned own = data->operand_count - c->old_count, at = own;
    unsigned segment = tile_op_get_info((tile_opcode)data->opcode)->operand_count - 1;
    tile_value *operands =
        TILE_NEW_ARRAY(&c->f->module->arena, tile_value, own + c->kept_count + c->added_count + 1u);
    for (unsigned i = 0; i < own; i++) operands[i] = data->operands[i];
    for (unsigned i = 0; i < c->old_count; i++)
        if (!c->kept || c->kept[i]) operands[at++] = data->operands[own + i];
    for (unsigned i = 0; i < c->added_count; i++) operands[at++] = added[i];
    data->segment[segment] = (uint16_t)(data->segment[segment] + at - data->operand_count);
    data->operands = operands;
    data->operand_count = at;
}

/* The same for results or arguments, which get new ids. Returns the first one. */
static tile_value resize_values(change *c, tile_value_kind kind, uint32_t owner, tile_value first,
                                unsigned own) {
    tile_function *f = c->f;
    tile_value renewed = TILE_NO_VALUE;
    unsigned at = 0;
    for (unsigned i = 0; i < own + c->old_count; i++) {
        tile_value old = {first.id + i};
        if (i >= own && c->kept && !c->kept[i - own]) continue;
        tile_value value = tile_add_value(f, kind, owner, at++, tile_value_type(f, old));
        tile_value_at(f, value)->name = tile_value_at(f, old)->name;
        c->map[old.id] = value;
        if (!renewed.id) renewed = value;
    }
    for (unsigned i = 0; i < c->added_count; i++) {
        tile_value value = tile_add_value(f, kind, owner, at++, tile_value_type(f, c->added[i]));
        if (!renewed.id) renewed = value;
    }
    return renewed;
}

static void resize_region(change *c, unsigned r) {
    tile_function *f = c->f;
    tile_region region = tile_op_region(f, c->op, r);
    tile_op yield = tile_region_yield(f, region);
    if (!facts_of(f, c->op)->receives) {
        resize_operands(c, yield, c->added);
        return;
    }
    unsigned own = tile_region_own_args(f, region);
    tile_value first =
        resize_values(c, TILE_VALUE_REGION, region.id, tile_region_at(f, region)->first_arg, own);
    tile_region_at(f, region)->first_arg = first;
    tile_region_at(f, region)->arg_count = own + c->kept_count + c->added_count;
    tile_value *same = TILE_NEW_ARRAY(&f->module->arena, tile_value, c->added_count + 1u);
    for (unsigned i = 0; i < c->added_count; i++)
        same[i] = (tile_value){first.id + own + c->kept_count + i};
    resize_operands(c, yield, same);
}

void tile_carry(tile_function *f, tile_op op, const bool *kept, const tile_value *added,
                unsigned added_count, tile_value *map) {
    change c = {.f = f,
                .op = op,
                .kept = kept,
                .added = added,
                .old_count = tile_carried_count(f, op),
                .added_count = added_count,
                .map = map};
    for (unsigned i = 0; i < c.old_count; i++) c.kept_count += !kept || kept[i];
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++) resize_region(&c, r);
    if (facts_of(f, op)->receives) resize_operands(&c, op, added);
    tile_value first =
        resize_values(&c, TILE_VALUE_RESULT, op.id, tile_op_at(f, op)->first_result, 0);
    tile_op_at(f, op)->first_result = first;
    tile_op_at(f, op)->result_count = c.kept_count + added_count;
}

size_t tile_carry_limit(const tile_function *f, tile_op op, unsigned added_count) {
    size_t values = 0;
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
        values += tile_region_at(f, tile_op_region(f, op, r))->arg_count + added_count;
    return values + tile_op_at(f, op)->result_count + added_count;
}
