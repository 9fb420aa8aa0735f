/* What the parts of cutting a compute into groups share: see cut.c. */
#ifndef TILE_PASSES_SCHEDULE_CUT_CUT_H
#define TILE_PASSES_SCHEDULE_CUT_CUT_H

#include "passes/schedule/kernel/schedule.h"

typedef struct sched_mapped_stop {
    tile_value value;
    sched_map map;
    bool own_domain; /* map is not of the group's domain */
} sched_mapped_stop;

/* In which way a value is computed from what is in memory and what cannot be computed inline. */
typedef struct sched_traversal {
    schedule *s;
    sched_group *g; /* whose operations are looked through, too; NULL: none */
    sched_visited_values done;
    sched_mapped_stop *pending; /* what is still to be walked, the next one last */
    size_t pending_count, pending_capacity;
    sched_mapped_stop *stops; /* tensors that are not computed inline */
    size_t stop_count, stop_capacity;
    bool own_domain; /* an operand of a product is walked, over a domain of its own */
    bool inside;     /* what a reduction of rows reduces is walked */
} sched_traversal;

/* masked_operand.c */

/* Operands of products get zeros at keys that masks hide from all rows. */
void sched_mask_operands(schedule *s);
/* The operand whose place the value has taken; none: it is no such value. */
tile_value sched_original_operand(const schedule *s, tile_value value);
/* Where masks do not hide elements of it, an i1; none: they hide none, or no product needs it. */
tile_value sched_visibility_mask(const schedule *s, tile_value value);

/* traverse.c */

/* The array that holds the value, -1: none. */
int sched_array_of(const schedule *s, tile_value value);
bool sched_is_tensor(const schedule *s, tile_value value);
/* The value's own extents. */
sched_domain sched_domain_of(schedule *s, tile_value value);
bool sched_same_domain(const sched_domain *a, const sched_domain *b);
/* Whether `value` is computed from `from`, or is it. */
bool sched_is_computed_from(const schedule *s, tile_value value, tile_value from);
/* Whether it is a scan along rows that no tile holds, or may be (rows/scan.c). */
bool sched_is_chunked_scan(schedule *s, tile_op op);
/* A reduction, a scan or a sort. */
bool sched_is_reduction(const schedule *s, tile_op op);
void sched_add_reduction(schedule *s, sched_group *g, tile_op op);
/* What the value is computed of where it is wanted; outer: also where it has an array itself. */
void sched_traverse_value(sched_traversal *w, tile_value value, const sched_map *map, bool outer);

/* Whether it may not only because it is computed of too many values, each of which may. */
bool sched_is_expensive_to_repeat(schedule *s, tile_value value);

/* cut.c */

/* Fills arrays and groups. False after a diagnostic. */
bool sched_cut(schedule *s);
/* The group that writes an array; -1: the caller does, or nobody. */
int sched_writer_of(const schedule *s, unsigned array);

/* What must be in memory so that a reshape of it can be read there; `made` is not there yet. */
tile_value sched_skip_reshapes(schedule *s, tile_value value, tile_value made);

/* remarks.c: why kernels write something for each other. */
void sched_remark_cuts(schedule *s);

#endif
