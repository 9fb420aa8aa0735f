/* Rows that nobody writes, walked block by block: what is found of them (classify.c) and taken
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

enum { SCHED_FEW_ROWS = 64 }; /* rows: the columns are read for one tile or two */

enum { SCHED_SMALL = 1 << 28 }; /* rows are fewer than 1 << 30 */

/* A value where it is wanted. */
typedef struct sched_mapped_value {
    tile_value value;
    sched_map map;
} sched_mapped_value;

static inline sched_mapped_value sched_mapped_operand(schedule *s, tile_op op, unsigned index,
                                                      const sched_map *map) {
    return (sched_mapped_value){tile_op_operand(s->compute, op, index),
                                sched_operand_map(s, op, 0, index, map)};
}

/* What broadcasts repeat, where it is wanted. */
sched_mapped_value sched_skip_broadcasts(schedule *s, sched_mapped_value at);

typedef enum sched_form {
    SCHED_INVARIANT,   /* known before the walk, and the same along it */
    SCHED_PER_ELEMENT, /* known as soon as its block is */
    SCHED_PER_ROW,     /* of what is folded: known behind the walk, one for each row */
    SCHED_RESCALED,    /* of each element, times what is of the row: see exps and posts */
    SCHED_UNSUPPORTED, /* neither */
} sched_form;

/* An operand of a product: what is in memory, without casts that widen it, and where. */
typedef struct sched_product_operand {
    sched_mapped_value from;
    const tile_type *element, *wide; /* there, and as the operand has it */
    unsigned row, column;            /* dims of the domain */
} sched_product_operand;

/* A product whose elements are the walked ones. */
typedef struct sched_inner_product {
    tile_op op;
    sched_map map;
    sched_product_operand sides[2];
} sched_inner_product;

/* What is carried from block to block: a reduction, or the sums of a product. */
typedef struct sched_carried_reduction {
    tile_op op;
    sched_map map;             /* of its result */
    sched_mapped_value source; /* of a product the lhs */
    bool product, rescaled;    /* late: the source is scaled */
    bool propagates_nan;       /* a maximum: whether all of a row is NaN has an effect */
    sched_product_operand rhs; /* of a product */
    int masked_input; /* what is masked so that nothing behind the end counts; -1: the source */
} sched_carried_reduction;

/* exp((x - rho) * by), or of 2. The walk computes exp((x - top) * by) and corrects it when top
 * grows. Where rho is the maximum, or near it, top is rho. Where rho may be far above all x, top is
 * the maximum alone, and sums are multiplied by exp((top - rho) * by) after the walk: `lowered`.
 * But if the compute rounds such an exponential before it divides it by its sum, the walk rounds
 * the same number: top is rho, and it is `far`. */
typedef struct sched_exponential {
    tile_op op;
    sched_map map;                 /* of its result */
    sched_mapped_value x, rho, by; /* by.value 0: none */
    sched_mapped_value top;        /* rho, or the maximum alone */
    bool scaled_after_loop, far;
    bool divided; /* it is rounded after it has been divided by its sum */
    bool chosen;  /* what hides elements of it does not hide them from the maximum */
    bool fused;   /* by an fma */
} sched_exponential;

/* A factor of a whole row, which comes after the sums instead of in them. */
typedef struct sched_deferred_factor {
    sched_mapped_value row;
    bool divides;
} sched_deferred_factor;

/* Elements that are hidden: where `seen` is false, and behind the end, there is what changes
 * nothing. */
typedef struct sched_masked_input {
    sched_mapped_value whole, shown, seen; /* seen.value 0: all */
    sched_mapped_value by; /* shown times that, above 0, is what is hidden; 0: none */
    bool zero;             /* what is hidden is 0, else -inf */
    tile_value last;       /* the last coordinate that a row sees */
    bool exact;            /* and all up to it */
    tile_value tile;       /* what is left; of one with `by`, without that */
    tile_value tile_seen;  /* i1: where */
} sched_masked_input;

typedef struct sched_classified_value {
    sched_mapped_value at;
    uint32_t before; /* (sched_last_entries) */
    sched_form form;
    bool bounded;  /* scaled, and not above 1 without the factors of the row */
    bool near;     /* without these the largest element of the row is about 1 */
    bool enlarged; /* the factors of the row may make it larger */
    bool negative; /* it may be below 0 */
    bool lossy;    /* what is left out of it may be no number where it is: 0 times that is none */
    unsigned exps; /* by which it is scaled, a bit for each */
    unsigned divided_by; /* those whose sums it has been divided by */
} sched_classified_value;

struct sched_online {
    unsigned m, n, depth;    /* dims of the domain; n and depth are behind its own ones */
    const tile_expr *extent; /* along n */
    bool ends, begins;       /* a walk has no key behind, before those that any row sees */
    bool packed;             /* rows are several heads' (online/pack.c) */
    int64_t deep, wide;      /* of the inner products, of the folded ones */
    sched_inner_product inner[SCHED_MAX_INNER_PRODUCTS];
    unsigned inner_count;
    sched_carried_reduction folds[SCHED_MAX_CARRIED]; /* each behind those that it needs */
    unsigned fold_count;
    sched_exponential exps[SCHED_MAX_EXPONENTIALS];
    unsigned exp_count;
    sched_masked_input masked_inputs[SCHED_MAX_CARRIED];
    unsigned masked_input_count;
    sched_classified_value *forms;
    size_t form_count, form_capacity;
    sched_last_entries *latest; /* in forms */
};

/* fuse.c --------------------------------------------------------------------------------------- */

/* Takes the reduction or the product, whose result is wanted at the domain's coordinates, with all
 * that it needs along its axis, and others that the value, at map, needs along it, as one walk.
 * False: it is none; a remark says why where it nearly is one. */
bool sched_fuse_online(schedule *s, sched_group *g, tile_op op, const sched_domain *domain,
                       tile_value value, const sched_map *map);
/* Makes one walk of both groups' where they have the same rows, and one product at most. */
bool sched_merge_online(schedule *s, sched_group *to, const sched_group *from);

/* classify.c ----------------------------------------------------------------------------------- */

sched_form sched_form_of(schedule *s, const sched_online *o, tile_value value,
                         const sched_map *map);
/* The number of the exponential, -1: none of these. */
int sched_find_exp(const sched_online *o, tile_op op);
/* A widening cast of 16-bit floats left out. */
tile_value sched_narrow(schedule *s, tile_value value);
/* What an operation computes of it, where the walk looks through it. */
const sched_inner_product *sched_find_inner(const sched_online *o, tile_op op);
const sched_carried_reduction *sched_find_carried_reduction(const sched_online *o, tile_op op);

/* number.c ------------------------------------------------------------------------------------- */

/* Whether it is a number, wherever it is repeated. */
bool sched_is_number(schedule *s, tile_value value, double *number);
/* Whether it is provably above 0, looking so many operations back. */
bool sched_is_positive(schedule *s, tile_value value, unsigned steps);
/* Whether rows added to it do not wrap around: a small number, an extent, the difference of two. */
bool sched_is_small(schedule *s, const tile_expr *expr);
/* Whether it is the maximum of the row, or a number so low that others' weights are 0 anyway. */
bool sched_is_row_maximum(schedule *s, tile_value row);
/* Of a product of two that are no factors of the row. */
sched_classified_value sched_multiplied_form(sched_online *o, const sched_classified_value *a,
                                             const sched_classified_value *b);
/* Whether a cast may stand before the factors of the row: what it rounds lacks them. It must not be
 * too large for the type, and where they make it larger it must not be small. Says of exponentials
 * what that needs of them. */
bool sched_may_cast(schedule *s, sched_online *o, tile_op op, const sched_classified_value *from);
/* Whether the value, of a row, is above -inf. */
bool sched_has_floor(schedule *s, tile_value row);
/* Whether large ones are chosen among the values, as masks do that are not infinite. */
bool sched_has_large_number(schedule *s, tile_value value, unsigned steps);

/* nan.c ---------------------------------------------------------------------------------------- */

/* Finds the maxima of which a row of NaN must give NaN: their values have effects other than on
 * what is NaN in such a row anyway. */
void sched_find_nan(schedule *s, sched_online *o);

/* masked_input.c ------------------------------------------------------------------------------- */

/* Finds what hides elements of each fold. */
void sched_find_masked_inputs(schedule *s, sched_online *o);
/* Whether all that masks hide of a product's lhs is what its leaf hides. */
bool sched_mask_covers_source(schedule *s, const sched_online *o, sched_mapped_value at);
/* The leaf whose whole is that; NULL: none. */
const sched_masked_input *sched_find_masked_input(schedule *s, const sched_online *o,
                                                  const sched_mapped_value *at);

#endif
