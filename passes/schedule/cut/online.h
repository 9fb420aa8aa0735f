/* Online loops over rows that are not stored: the analysis (classify.c) and its application
 * (fuse.c). Their kernel is online/online_kernel.h. */
#ifndef TILE_PASSES_SCHEDULE_CUT_ONLINE_H
#define TILE_PASSES_SCHEDULE_CUT_ONLINE_H

#include "passes/schedule/cut/cut.h"

enum {
    SCHED_MAX_INNER_PRODUCTS = 4,
    SCHED_MAX_CARRIED = 16,
    SCHED_MAX_EXPONENTIALS = 8,
    SCHED_MAX_DEFERRED = 8
};

enum { SCHED_FEW_ROWS = 64 }; /* maximum rows: the columns are read for one or two tiles */

enum { SCHED_SMALL = 1 << 28 }; /* there are fewer than 1 << 30 rows */

static inline sched_mapped_value sched_mapped_operand(schedule *s, tile_op op, unsigned index,
                                                      const sched_map *map) {
    return (sched_mapped_value){tile_op_operand(s->compute, op, index),
                                sched_operand_map(s, op, 0, index, map)};
}

/* Returns whether the two are read from the same part of one array: no slices, or the same ones. */
static inline bool sched_same_part(const schedule *s, const sched_mapped_value *a,
                                   const sched_mapped_value *b) {
    bool same = a->value.id == b->value.id;
    for (unsigned d = 0; same && d < sched_type(s, a->value)->rank; d++)
        same = a->map.at[d].offset == b->map.at[d].offset;
    return same;
}

/* Returns the source of broadcasts, and its map. */
sched_mapped_value sched_skip_broadcasts(schedule *s, sched_mapped_value at);

typedef enum sched_form {
    SCHED_INVARIANT,   /* known before the loop and constant along the axis */
    SCHED_PER_ELEMENT, /* known as soon as its block is loaded */
    SCHED_PER_ROW,     /* from carried reductions: known after the loop, one per row */
    SCHED_RESCALED,    /* per element, times deferred factors of the row and exponentials: see
                          `exps` */
    SCHED_UNSUPPORTED, /* none of these */
} sched_form;

/* An operand of a product: a value in memory, without widening casts, and its map. */
typedef struct sched_product_operand {
    sched_mapped_value from;
    const tile_type *element, *wide; /* types in memory and of the operand */
    unsigned row, column;            /* dims of the domain */
} sched_product_operand;

/* A product whose elements the loop computes per block. */
typedef struct sched_inner_product {
    tile_op op;
    sched_map map;
    sched_product_operand sides[2];
} sched_inner_product;

/* A reduction, or the accumulator of a product, that the loop carries from block to block. */
typedef struct sched_carried_reduction {
    tile_op op;
    sched_map map;             /* of its result */
    sched_mapped_value source; /* of a product: lhs */
    bool product, rescaled;    /* rescaled: the source has exponentials */
    bool propagates_nan;       /* of a maximum: a row that contains only NaN must give NaN */
    sched_product_operand rhs; /* of a product */
    int masked_input; /* index of the masked input that hides elements after the end; -1: the source
                         is masked */
} sched_carried_reduction;

/* exp((x - rho) * by), or exp2. The loop computes exp((x - top) * by) and corrects it when top
 * grows. If rho is the maximum, or close to it, top is rho. If rho may be far above all x, top is
 * the maximum alone, and sums are multiplied by exp((top - rho) * by) after the loop
 * (`scaled_after_loop`). But if the compute rounds such an exponential before dividing it by its
 * sum, the loop must round the same number: then top is rho (`far`). */
typedef struct sched_exponential {
    tile_op op;
    sched_map map;                 /* of its result */
    sched_mapped_value x, rho, by; /* by.value 0: none */
    sched_mapped_value top;        /* rho, or the maximum alone */
    bool scaled_after_loop, far;
    bool divided; /* it is rounded after a division by its sum */
    bool chosen;  /* a select hides elements that are not hidden from the maximum */
    bool fused;   /* by an fma */
} sched_exponential;

/* A factor of a whole row, applied to the sums after the loop. */
typedef struct sched_deferred_factor {
    sched_mapped_value row;
    bool divides;
} sched_deferred_factor;

/* Masked elements: where `seen` is false, and after the end, they are the identity. */
typedef struct sched_masked_input {
    sched_mapped_value whole, shown, seen; /* whole = seen ? shown : identity; seen.value 0: always
                                              true */
    sched_mapped_value by; /* a positive factor taken out: whole has shown * by; 0: none */
    bool zero;             /* the identity is 0, else -inf */
    tile_value last;       /* the last coordinate that a row sees */
    bool exact;            /* every coordinate up to `last` is visible */
    tile_value tile;       /* the masked tile, without the factor `by` */
    tile_value tile_seen;  /* i1: visible elements */
} sched_masked_input;

typedef struct sched_classified_value {
    sched_mapped_value at;
    uint32_t before; /* (sched_last_entries) */
    sched_form form;
    bool bounded;        /* rescaled, and at most 1 without the factors of the row */
    bool near;           /* without these, the largest element of the row is about 1 */
    bool enlarged;       /* the factors of the row may make it larger */
    bool negative;       /* it may be negative */
    bool lossy;          /* its deferred factors may not be finite, so that 0 times them is NaN */
    unsigned exps;       /* exponentials that scale it, one bit each */
    unsigned divided_by; /* exponentials by whose sums it has been divided */
} sched_classified_value;

struct sched_online {
    unsigned m, n, depth;    /* dims of the domain; n and depth follow the domain's own dims */
    const tile_expr *extent; /* along n */
    bool ends, begins;       /* ends: the loop has no keys after the last one that any row sees;
                                begins: none before the first */
    bool packed;             /* the rows of several heads are packed (online/pack.c) */
    int64_t deep, wide;      /* extents of the inner products' depth, and of the last product's
                                columns */
    sched_inner_product inner[SCHED_MAX_INNER_PRODUCTS];
    unsigned inner_count;
    sched_carried_reduction folds[SCHED_MAX_CARRIED]; /* each follows those that it depends on */
    unsigned fold_count;
    sched_exponential exps[SCHED_MAX_EXPONENTIALS];
    unsigned exp_count;
    sched_masked_input masked_inputs[SCHED_MAX_CARRIED];
    unsigned masked_input_count;
    sched_classified_value *forms;
    size_t form_count, form_capacity;
    sched_last_entries *latest; /* index of `forms` */
};

/* fuse.c --------------------------------------------------------------------------------------- */

/* Builds an online loop for the reduction or product, whose result is needed at the domain's
 * coordinates. It includes all reductions along its axis that op depends on, and others that the
 * value, at map, depends on. False if that is not possible; a remark gives the reason if it almost
 * is. */
bool sched_fuse_online(schedule *s, sched_group *g, tile_op op, const sched_domain *domain,
                       tile_value value, const sched_map *map);
/* Merges the loops of both groups if they have the same rows, and at most one final product. */
bool sched_merge_online(schedule *s, sched_group *to, const sched_group *from);

/* classify.c ----------------------------------------------------------------------------------- */

sched_form sched_form_of(schedule *s, const sched_online *o, tile_value value,
                         const sched_map *map);
/* The index of the exponential; -1 if op is none of these. */
int sched_find_exp(const sched_online *o, tile_op op);
/* Removes a widening cast of 16-bit floats. */
tile_value sched_narrow(schedule *s, tile_value value);
/* The inner product that op computes, or NULL. */
const sched_inner_product *sched_find_inner(const sched_online *o, tile_op op);
const sched_carried_reduction *sched_find_carried_reduction(const sched_online *o, tile_op op);

/* number.c ------------------------------------------------------------------------------------- */

/* Returns whether the value is a number, possibly broadcast. */
bool sched_is_number(schedule *s, tile_value value, double *number);
/* Returns whether the value is provably positive, looking back at most `steps` operations. */
bool sched_is_positive(schedule *s, tile_value value, unsigned steps);
/* Returns whether adding a row index cannot overflow: a small number, an extent, or the difference
 * of two. */
bool sched_is_small(schedule *s, const tile_expr *expr);
/* Returns whether it is the maximum of the row, possibly bounded below by a number so low that the
 * bound has no effect on weights. */
bool sched_is_row_maximum(schedule *s, tile_value row);
/* The form of a product of two values that are not factors of the row. */
sched_classified_value sched_multiplied_form(sched_online *o, const sched_classified_value *a,
                                             const sched_classified_value *b);
/* Returns whether a cast may precede the factors of the row, so that it rounds values without them.
 * They must not be too large for the type, and if the factors enlarge them they must not be small.
 * Records what this requires of the exponentials. */
bool sched_may_cast(schedule *s, sched_online *o, tile_op op, const sched_classified_value *from);
/* Returns whether the value, of a row, is above -inf. */
bool sched_has_floor(schedule *s, tile_value row);
/* Returns whether large numbers are selected among the values, as by masks that are not
 * infinite. */
bool sched_has_large_number(schedule *s, tile_value value, unsigned steps);

/* nan.c ---------------------------------------------------------------------------------------- */

/* Finds the maxima that must give NaN for a row of NaN: those whose value has effects other than on
 * results that are NaN for such a row anyway. */
void sched_find_nan(schedule *s, sched_online *o);

/* masked_input.c ------------------------------------------------------------------------------- */

/* Finds the masked input of each carried reduction. */
void sched_find_masked_inputs(schedule *s, sched_online *o);
/* Returns whether the masked input of a product's lhs covers everything that masks hide. */
bool sched_mask_covers_source(schedule *s, const sched_online *o, sched_mapped_value at);
/* The masked input with this value as its `whole`; NULL: none. */
const sched_masked_input *sched_find_masked_input(schedule *s, const sched_online *o,
                                                  const sched_mapped_value *at);

#endif
