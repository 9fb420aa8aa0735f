/* Operations with regions: the control flow through them, the values they carry, and how to rebuild
 * them.
 *
 * The shape of a row of ops.def determines the control flow. Control enters at the operation and
 * returns to it:
 *
 *     LOOP     op -> 0 or op    0 -> 0 or op                `for`
 *     WHILE    op -> 0          0 -> 1 or op    1 -> 0      `while`
 *     BRANCH   op -> one        any -> op                   `if`
 *     BODY     op -> each       any -> op                   each once, concurrently
 *     ELEMENTS op -> 0          0 -> 0 or op                `parallel`
 *
 * Carried values, one for each result, are passed along these edges. The operation sends its inits,
 * and a region the values that it yields. A region receives them as arguments, the operation as
 * results. In each of these lists the carried values come last, after the operation's own values: a
 * loop's bounds, its induction variable, the condition that `while` yields. The regions of BRANCH,
 * BODY and ELEMENTS receive nothing, since they can use enclosing values. The region of ELEMENTS
 * yields an element of the result.
 *
 * All functions take any operation; one without regions carries nothing and has no control
 * operands. They require verified functions, but are memory-safe on others. */
#ifndef TILE_LIB_IR_REGIONS_H
#define TILE_LIB_IR_REGIONS_H

#include "lib/ir/function.h"

/* Includes the limit. */
#define TILE_TOO_MANY_REGIONS \
    "more than %d regions are nested; compute conditions first, with `&` and " \
    "`select`"

/* Instead of a region's index: the operation itself, before and after its regions. */
enum { TILE_PARENT_OP = -1 };

/* for (int at = TILE_PARENT_OP; ...): the operation, then each of its regions. */
#define TILE_FOR_EACH_BRANCH_POINT(f, op, at) \
    for (int at = TILE_PARENT_OP; at < (int)tile_op_at((f), (op))->region_count; at++)

static inline tile_region_shape tile_shape_of(const tile_function *f, tile_op op) {
    return tile_op_get_info(tile_op_opcode(f, op))->shape;
}
/* The required number of regions; 0: any number from 1 on. */
unsigned tile_shape_regions(tile_region_shape shape);
/* The number of arguments and yielded values of region r that are not carried. BODY: none of the
 * yielded values, any number of arguments (UINT_MAX). */
unsigned tile_shape_own_args(tile_region_shape shape, unsigned r);
unsigned tile_shape_own_yields(tile_region_shape shape, unsigned r);
/* True if its regions receive carried values, so that it has inits. */
bool tile_shape_receives(tile_region_shape shape);

/* True if a region can run more than once for each execution of the operation. */
bool tile_repeats(const tile_function *f, tile_op op);
/* True if a `for` is executed only if it has an iteration. */
bool tile_runs_at_least_once(const tile_function *f, tile_op loop);
/* True if `to` can run next after `from`; both are region indices or TILE_PARENT_OP. */
bool tile_control_flows(const tile_function *f, tile_op op, int from, int to);

/* The operands that decide which region runs next, and how often: bounds, conditions. */
unsigned tile_control_operand_count(const tile_function *f, tile_op op);
tile_value tile_control_operand(const tile_function *f, tile_op op, unsigned index);

unsigned tile_carried_count(const tile_function *f, tile_op op);
/* Carried value i as `from` sends it, and as `to` receives it; no value if there is none. */
tile_value tile_carried_sent(const tile_function *f, tile_op op, int from, unsigned i);
tile_value tile_carried_received(const tile_function *f, tile_op op, int to, unsigned i);
void tile_carried_send(tile_function *f, tile_op op, int from, unsigned i, tile_value value);
/* The number of a region's arguments that are not carried; they come first. */
unsigned tile_region_own_args(const tile_function *f, tile_region region);

/* Changes the values that op carries: keeps the old values with kept[i] (NULL: all), then adds new
 * ones with the given inits. Each region yields an added value unchanged until tile_carried_send
 * changes that. The operation and its regions keep their ids. Their arguments and results get new
 * ids and keep their names: map[old] becomes the new value. map has value_count entries at the time
 * of the call. It is then passed to tile_replace_values, which needs entries for the new values as
 * well: at most tile_carry_limit. Dropped values must have no uses left, except in the yields. */
void tile_carry(tile_function *f, tile_op op, const bool *kept, const tile_value *added,
                unsigned added_count, tile_value *map);
size_t tile_carry_limit(const tile_function *f, tile_op op, unsigned added_count);

/* The operation that yields a region's values at its end; 0 only in a function that is not
 * verified. */
static inline tile_op tile_region_yield(const tile_function *f, tile_region region) {
    tile_op last = tile_region_at(f, region)->last;
    return tile_op_effects(f, last) & TILE_EFFECT_TERMINATOR ? last : TILE_NO_OP;
}

#endif
