/* The interface for cutting a compute into groups: see cut.c. */
#ifndef TILE_PASSES_SCHEDULE_CUT_CUT_H
#define TILE_PASSES_SCHEDULE_CUT_CUT_H

#include "passes/schedule/kernel/schedule.h"

typedef struct sched_mapped_stop {
    tile_value value;
    sched_map map;
    bool own_domain; /* map is not over the group's domain */
} sched_mapped_stop;

/* A traversal of a value's computation up to values in memory and values that cannot be computed
 * inline. */
typedef struct sched_traversal {
    schedule *s;
    sched_group *g;     /* its operations are traversed as well; NULL: no group */
    const bool *passed; /* by value: reshapes that are traversed; NULL: none (sched_group) */
    sched_visited_values done;
    sched_mapped_stop *pending; /* a stack of values to visit, the next one last */
    size_t pending_count, pending_capacity;
    sched_mapped_stop *stops; /* tensors at which the traversal stopped */
    size_t stop_count, stop_capacity;
    bool own_domain; /* inside an operand of a product, whose domain differs */
    bool inside;     /* inside the source of a reduction of rows */
    tile_op through; /* a product: the operations that move its result's elements are traversed */
    bool outside;    /* the group's epilogue needs something of the product that its tile lacks */
} sched_traversal;

/* scans.c */

/* Replaces what a compute writes as a scan of another kind, direction or length by one scan. The
 * schedule then has a copy of the compute, which is not part of the module. */
void sched_find_scans(schedule *s);

/* log_sums.c */

/* Writes scans by logsumexp as scans by a func, in a copy of the compute. */
void sched_expand_log_sums(schedule *s);

/* masked_operand.c */

/* Zeros operands of products at keys that masks hide from all rows. */
void sched_mask_operands(schedule *s);
/* The operand that the value replaced; none if it replaced no operand. */
tile_value sched_original_operand(const schedule *s, tile_value value);
/* An i1: elements that masks do not hide. None if no elements are hidden, or if no product needs
 * the mask. */
tile_value sched_visibility_mask(const schedule *s, tile_value value);

/* activations.c */

/* Writes the hyperbolic tangent of a softplus, and 1 / (1 + exp(-x)) of 16-bit floats, with a
 * sigmoid, in a copy of the compute. */
void sched_simplify_activations(schedule *s);

/* row_values.c */

/* Stores values that the group's reductions reduce, and that kernels of rows can compute. */
void sched_plan_row_values(schedule *s, const sched_group *g, tile_value value,
                           const sched_map *map);

/* cut.c */

/* Returns whether no other stop depends on this one, so that it is computed last. */
bool sched_is_latest(const sched_traversal *w, size_t index);
/* Returns whether the stopped value has the domain and is needed at its identity map. */
bool sched_is_all(schedule *s, const sched_mapped_stop *stop, const sched_domain *domain);
/* Returns whether all other stops are in memory. */
bool sched_is_only(const sched_traversal *w, size_t index);
/* Rows for which one block each would leave most SMs idle for long: all blocks share each
 * reduction, and values as long as the rows are computed separately. */
bool sched_is_few_and_long(const sched_domain *domain, unsigned axis);
/* Sets how the group reduces along the operation's axis. The domain is set. */
void sched_set_rows(schedule *s, sched_group *g, tile_op op);
/* A product whose elements are needed at the domain's coordinates, and at no others: a tile of the
 * product has only its own elements. */
bool sched_take_matmul(schedule *s, sched_group *g, const sched_traversal *w, size_t index,
                       const sched_domain *domain);

/* Records that the group reads an array. */
void sched_add_input(schedule *s, sched_group *g, const sched_input *input);

/* Returns whether the group at the index can compute the new one: all inputs are in memory, or at
 * hand, by then. */
bool sched_can_join(schedule *s, size_t index, const sched_group *g);
void sched_join_groups(schedule *s, size_t index, const sched_group *from);

/* absorb.c */

void sched_remove_group(schedule *s, size_t index);

/* Moves reductions of a product's rows, and what follows them, into the product's epilogue. */
void sched_absorb_rows(schedule *s);
/* Returns whether the group stores the array. */
bool sched_is_output(const sched_group *g, int array);

/* The most columns of a product that its epilogue can reduce together. */
int64_t sched_widest_rows(schedule *s, tile_op product);
/* Returns whether a user's tile for the product has so many columns, or (groups) a multiple. */
bool sched_rows_fit_user_tile(const schedule *s, tile_op product, int64_t columns, bool groups);

/* same.c */

/* Replaces operations that only repeat a value: reductions of one element; reshapes, casts and
 * reductions that are equal to earlier ones. The schedule may then have a copy of the compute. */
void sched_merge_same(schedule *s);
/* Replaces the operation's result, and removes the operation. */
void sched_replace(schedule *s, tile_op op, tile_value to);
/* Returns whether the user gave a tile, warps or parts to the operation. */
bool sched_has_user_tile(const schedule *s, tile_op op);

/* deviations.c */

/* Splits sums of squared deviations that would read an array again. The schedule may then have a
 * copy of the compute. */
void sched_split_deviations(schedule *s);

/* rounded.c */

/* Makes k the last dim of operands that are rounded to tf32 in a kernel of their own. The schedule
 * may then have a copy of the compute. */
void sched_turn_rounded(schedule *s);
/* Plans these operands of a product. */
void sched_plan_rounded(schedule *s, tile_op op);

/* phases.c */

/* Plans the filter that a product multiplies, if its phases are rows, and windows of few terms. */
void sched_plan_phases(schedule *s, tile_op op);
/* Plans a product whose elements its kernel would store one by one (phases.c). */
void sched_plan_scattered(schedule *s, tile_op op);
/* Plans the operand of a reduction, before it is widened, if it is such a value. */
void sched_plan_interleaved(schedule *s, tile_op op);

/* dual.c */

/* The other product of a dual product: one of the same left operand, of which the same elements are
 * needed; none if there is none. */
tile_op sched_find_dual(const sched_traversal *w, tile_op op, const sched_domain *domain);
/* Returns whether one of the groups, both of products, has the products of the other. */
bool sched_shares_products(const sched_group *a, const sched_group *b);
/* Unites groups of two products of one left operand if a kernel would read the results of both. */
void sched_unite_products(schedule *s);

/* partial.c */

/* Rewrites reductions of long rows of products, of which nothing else is needed, as reductions of
 * groups of columns, and of these. The schedule may then have a copy of the compute. */
void sched_reduce_in_parts(schedule *s);

/* moved.c */

/* The product whose elements the value has, moved or cast; none if it is no such value, or if it
 * would be read from memory. */
tile_op sched_moved_product(const schedule *s, tile_value value);

/* windowed.c */

/* Returns whether op is a reduction over few positions of windows. */
bool sched_is_windowed(schedule *s, tile_op op);
/* Entry i of a window's strides or dilations, 1 if the list is missing; 0: not known. */
int64_t sched_window_number(schedule *s, tile_values values, unsigned i);
/* Returns whether a windowed group computes the reduction or reshape, and traverses its operand. */
bool sched_absorb_windowed(sched_traversal *w, tile_op op, const sched_map *map);
/* Returns whether a windowed group computes windows of src, which has windows itself. */
bool sched_may_nest(const sched_traversal *w, tile_value src);
/* Takes a value that is computed from reductions over windows, and from arrays. *map: its dims in
 * the group's domain. */
bool sched_take_windowed(schedule *s, sched_group *g, tile_value value, sched_map *map);

/* traverse.c */

bool sched_is_tensor(const schedule *s, tile_value value);
/* The domain with the value's extents. */
sched_domain sched_domain_of(schedule *s, tile_value value);
bool sched_same_domain(const sched_domain *a, const sched_domain *b);
/* Returns whether `value` is `from` or depends on it. */
bool sched_is_computed_from(const schedule *s, tile_value value, tile_value from);
/* Returns whether op is a scan along rows that are, or may be, longer than a tile (rows/scan.c). */
bool sched_is_chunked_scan(schedule *s, tile_op op);
/* Returns whether op is a reduction, a scan or a sort. */
bool sched_is_reduction(const schedule *s, tile_op op);
void sched_add_reduction(schedule *s, sched_group *g, tile_op op);
/* Traverses the computation of the value at map. outer: also if the value itself is in an array. */
void sched_traverse_value(sched_traversal *w, tile_value value, const sched_map *map, bool outer);

/* Returns whether the inputs of the value are in memory, so that the rest may be recomputed. */
bool sched_may_repeat(schedule *s, tile_value value);
/* Returns whether only the number of recomputed operations, each of which is cheap, prevents
 * recomputing the value. */
bool sched_is_expensive_to_repeat(schedule *s, tile_value value);

/* cut.c */

/* Sets arrays and groups. False after a diagnostic. */
bool sched_cut(schedule *s);
/* Lists the arrays of the compute's arguments and results. */
void sched_list_interface(schedule *s);
/* Chooses the group of this value: its kind, its domain and the value's map. */
void sched_choose(schedule *s, sched_group *g, tile_value value, sched_map *map);
/* Gives the value an array and a group that computes it. */
void sched_plan_value(schedule *s, tile_value value);
/* The only operation that uses the value; none if there are several, or if it is a result. */
tile_op sched_only_user(const schedule *s, tile_value value);

/* The value that must be in memory so that reshapes of it can be read there. made: a value that is
 * not in memory yet. */
tile_value sched_skip_reshapes(schedule *s, tile_value value, tile_value made);

/* behind_reshapes.c: plans the reductions behind reshapes of this value's inputs first, where this
 * makes such a reshape a view. Returns whether it does. */
bool sched_plan_behind_reshapes(schedule *s, tile_value value);

/* narrowed.c: stores narrow functions of the products that the group reads for this value. */
void sched_plan_narrowed(schedule *s, const sched_group *g, tile_value value, const sched_map *map);

/* remarks.c: explains the arrays between kernels. */
void sched_remark_cuts(schedule *s);

/* windowed.c: whether a window adds elements to the last dim only. */
bool sched_pads_last_dim(const schedule *s, tile_op op);
/* windowed.c: whether the last dim of the windows' source consists of positions of windows and
 * channels, or of channels and zeros, all of which a convolution multiplies as channels
 * (lib/builder/convolve_fold.c). Copies read them from memory only. */
bool sched_reads_folded_windows(const schedule *s, tile_op window);

#endif
