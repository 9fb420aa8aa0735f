/* Operations with regions: how control runs through them, what they carry, how they are rebuilt.
 *
 * The shape of a row of ops.def says what follows what. Control comes from the operation and goes
 * back to it:
 *
 *     LOOP     op -> 0 or op    0 -> 0 or op                `for`
 *     WHILE    op -> 0          0 -> 1 or op    1 -> 0      `while`
 *     BRANCH   op -> one        any -> op                   `if`
 *     BODY     op -> each       any -> op                   each once, side by side
 *     ELEMENTS op -> 0          0 -> 0 or op                `parallel`
 *
 * Carried values, one for each result, are handed over on these ways: the operation sends its
 * inits, a region what it yields; a region receives them as arguments, the operation as results. In
 * each of these rows the carried values come last; before them stands what is the operation's own:
 * a loop's bounds, its induction variable, the condition that `while` yields. The regions of
 * BRANCH, BODY and ELEMENTS receive nothing, as they see what is around them; what ELEMENTS' region
 * yields is an element of the result.
 *
 * All functions take any operation; one without regions carries nothing and decides nothing. They
 * are for functions that have been verified, but touch nothing that is not there in others. */
#ifndef TILE_LIB_IR_REGIONS_H
#define TILE_LIB_IR_REGIONS_H

#include "lib/ir/function.h"

/* With the limit. */
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
/* How many regions there must be; 0: any number from 1 on. */
unsigned tile_shape_regions(tile_region_shape shape);
/* How many arguments and yielded values of region r are the operation's own. BODY: 0 of what is
 * yielded, any number of arguments (UINT_MAX). */
unsigned tile_shape_own_args(tile_region_shape shape, unsigned r);
unsigned tile_shape_own_yields(tile_region_shape shape, unsigned r);
/* True if its regions receive what is carried, and so it has inits. */
bool tile_shape_receives(tile_region_shape shape);

/* True if a region can run more than once each time the operation is reached. */
bool tile_repeats(const tile_function *f, tile_op op);
/* True if control comes to a `for` only where it has an iteration. */
bool tile_runs_at_least_once(const tile_function *f, tile_op loop);
/* True if `to` can be what runs next after `from`; both are region indices or TILE_PARENT_OP. */
bool tile_control_flows(const tile_function *f, tile_op op, int from, int to);

/* What decides which region runs next, and how often: bounds, conditions. */
unsigned tile_control_operand_count(const tile_function *f, tile_op op);
tile_value tile_control_operand(const tile_function *f, tile_op op, unsigned index);

unsigned tile_carried_count(const tile_function *f, tile_op op);
/* Carried value i as `from` sends it, and as `to` receives it; no value where it does not. */
tile_value tile_carried_sent(const tile_function *f, tile_op op, int from, unsigned i);
tile_value tile_carried_received(const tile_function *f, tile_op op, int to, unsigned i);
void tile_carried_send(tile_function *f, tile_op op, int from, unsigned i, tile_value value);
/* Arguments of a region that are not carried come first: so many of them. */
unsigned tile_region_own_args(const tile_function *f, tile_region region);

/* Changes what op carries: of the old values those with kept[i] (NULL: all), then the added ones,
 * each with the init given and handed on by every region as it came until tile_carried_send says
 * otherwise. The operation and its regions keep their ids, their arguments and results get new ones
 * and keep their names: map[old] becomes the new one (map has value_count entries at the time of
 * the call), to be given to tile_replace_values, which wants entries for the new values too: at
 * most tile_carry_limit. Dropped values must not be used any more, except by the yields. */
void tile_carry(tile_function *f, tile_op op, const bool *kept, const tile_value *added,
                unsigned added_count, tile_value *map);
size_t tile_carry_limit(const tile_function *f, tile_op op, unsigned added_count);

/* The operation at a region's end that yields its values; 0 only if it has not been verified. */
static inline tile_op tile_region_yield(const tile_function *f, tile_region region) {
    tile_op last = tile_region_at(f, region)->last;
    return tile_op_effects(f, last) & TILE_EFFECT_TERMINATOR ? last : TILE_NO_OP;
}

#endif
