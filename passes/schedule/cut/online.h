/* Rows that nobody writes, walked block by block: what is found of them (chain.c) and
 * taken (take.c), what hides elements of them (online/mask.c), and their kernel
 * (online/online.c). */
#ifndef TILE_PASSES_SCHEDULE_CUT_ONLINE_H
#define TILE_PASSES_SCHEDULE_CUT_ONLINE_H

#include "passes/schedule/cut/cut.h"

enum { SCHED_MOST_INNER = 4, SCHED_MOST_FOLDS = 16, SCHED_MOST_EXPS = 8, SCHED_MOST_POSTS = 8 };

enum { SCHED_FEW = 64 }; /* rows: the columns are read for one tile or two */

enum { SCHED_SMALL = 1 << 28 }; /* rows are fewer than 1 << 30 */

/* A value where it is wanted. */
typedef struct sched_wanted {
    tile_value value;
    sched_map map;
} sched_wanted;

static inline sched_wanted sched_wanted_operand(schedule *s, tile_op op, unsigned index,
                                                const sched_map *map) {
    return (sched_wanted){tile_op_operand(s->compute, op, index),
                          sched_operand_map(s, op, 0, index, map)};
}

/* What broadcasts repeat, where it is wanted. */
sched_wanted sched_behind_broadcasts(schedule *s, sched_wanted at);

typedef enum sched_form {
    SCHED_SAME,   /* known before the walk, and the same along it */
    SCHED_EARLY,  /* known as soon as its block is */
    SCHED_ROW,    /* of what is folded: known behind the walk, one for each row */
    SCHED_SCALED, /* of each element, times what is of the row: see exps and posts */
    SCHED_NONE,   /* neither */
} sched_form;

/* An operand of a product: what is in memory, without casts that widen it, and where. */
typedef struct sched_side {
    sched_wanted from;
    const tile_type *element, *wide; /* there, and as the operand has it */
    unsigned row, column;            /* dims of the domain */
} sched_side;

/* A product whose elements are the walked ones. */
typedef struct sched_inner {
    tile_op op;
    sched_map map;
    sched_side sides[2];
} sched_inner;

/* What is carried from block to block: a reduction, or the sums of a product. */
typedef struct sched_fold {
    tile_op op;
    sched_map map;       /* of its result */
    sched_wanted source; /* of a product the lhs */
    bool product, late;  /* late: the source is scaled */
    bool tells_nan;      /* a maximum: whether all of a row is NaN has an effect */
    sched_side rhs;      /* of a product */
    int leaf;            /* what is masked so that nothing behind the end counts; -1: the source */
} sched_fold;

/* exp((x - rho) * by), or of 2. The walk computes exp((x - top) * by) and corrects it when top
 * grows. Where rho is the maximum, or near it, top is rho. Where rho may be far above all x, top is
 * the maximum alone, and sums are multiplied by exp((top - rho) * by) after the walk: `lowered`.
 * But if the compute rounds such an exponential before it divides it by its sum, the walk rounds
 * the same number: top is rho, and it is `far`. */
typedef struct sched_exp {
    tile_op op;
    sched_map map;           /* of its result */
    sched_wanted x, rho, by; /* by.value 0: none */
    sched_wanted top;        /* rho, or the maximum alone */
    bool lowered, far;
    bool divided; /* it is rounded after it has been divided by its sum */
    bool chosen;  /* what hides elements of it does not hide them from the maximum */
    bool fused;   /* by an fma */
} sched_exp;

/* A factor of a whole row, which stands behind the sums instead of in them. */
typedef struct sched_post {
    sched_wanted row;
    bool divides;
} sched_post;

/* Elements that are hidden: where `seen` is false, and behind the end, there is what changes
 * nothing. */
typedef struct sched_leaf {
    sched_wanted whole, shown, seen; /* seen.value 0: all */
    sched_wanted by;                 /* shown times that, above 0, is what is hidden; 0: none */
    bool zero;                       /* what is hidden is 0, else -inf */
    tile_value last;                 /* the last coordinate that a row sees */
    bool exact;                      /* and all up to it */
    tile_value tile;                 /* what is left; of one with `by`, without that */
    tile_value tile_seen;            /* i1: where */
} sched_leaf;

typedef struct sched_known_form {
    sched_wanted at;
    uint32_t before; /* (sched_latest) */
    sched_form form;
    bool bounded;   /* scaled, and not above 1 without the factors of the row */
    bool near;      /* without these the largest element of the row is about 1 */
    bool enlarged;  /* the factors of the row may make it larger */
    bool negative;  /* it may be below 0 */
    bool lossy;     /* what is left out of it may be no number where it is: 0 times that is none */
    unsigned exps;  /* by which it is scaled, a bit for each */
    unsigned spent; /* those whose sums it has been divided by */
} sched_known_form;

struct sched_online {
    unsigned m, n, depth;    /* dims of the domain; n and depth are behind its own ones */
    const tile_expr *extent; /* along n */
    bool ends, begins;       /* a walk has no key behind, before those that any row sees */
    bool packed;             /* rows are several heads' (online/pack.c) */
    int64_t deep, wide;      /* of the inner products, of the folded ones */
    sched_inner inner[SCHED_MOST_INNER];
    unsigned inner_count;
    sched_fold folds[SCHED_MOST_FOLDS]; /* each behind those that it needs */
    unsigned fold_count;
    sched_exp exps[SCHED_MOST_EXPS];
    unsigned exp_count;
    sched_leaf leaves[SCHED_MOST_FOLDS];
    unsigned leaf_count;
    sched_known_form *forms;
    size_t form_count, form_capacity;
    sched_latest *latest; /* in forms */
};

/* take.c --------------------------------------------------------------------------------------- */

/* Takes the reduction or the product, whose result is wanted at the domain's coordinates, with all
 * that it needs along its axis, and others that the value, at map, needs along it, as one walk.
 * False: it is none; a remark says why where it nearly is one. */
bool sched_take_online(schedule *s, sched_group *g, tile_op op, const sched_domain *domain,
                       tile_value value, const sched_map *map);
/* Makes one walk of both groups' where they have the same rows, and one product at most. */
bool sched_join_online(schedule *s, sched_group *to, const sched_group *from);

/* chain.c -------------------------------------------------------------------------------------- */

sched_form sched_form_of(schedule *s, const sched_online *o, tile_value value,
                         const sched_map *map);
/* The number of the exponential, -1: none of these. */
int sched_find_exp(const sched_online *o, tile_op op);
/* A widening cast of 16-bit floats left out. */
tile_value sched_narrow(schedule *s, tile_value value);
/* What an operation computes of it, where the walk looks through it. */
const sched_inner *sched_find_inner(const sched_online *o, tile_op op);
const sched_fold *sched_find_fold(const sched_online *o, tile_op op);

/* number.c ------------------------------------------------------------------------------------- */

/* Whether it is a number, wherever it is repeated. */
bool sched_is_number(schedule *s, tile_value value, double *number);
/* Whether it is above 0 for certain, looking so many operations back. */
bool sched_is_positive(schedule *s, tile_value value, unsigned steps);
/* Whether rows added to it do not wrap around: a small number, an extent, the difference of two. */
bool sched_is_small(schedule *s, const tile_expr *expr);
/* Whether it is the maximum of the row, or a number so low that others' weights are 0 anyway. */
bool sched_is_near(schedule *s, tile_value row);
/* Of a product of two that are no factors of the row. */
sched_known_form sched_multiplied_form(sched_online *o, const sched_known_form *a,
                                       const sched_known_form *b);
/* Whether a cast may stand before the factors of the row: what it rounds lacks them. It must not be
 * too large for the type, and where they make it larger it must not be small. Says of exponentials
 * what that needs of them. */
bool sched_may_cast(schedule *s, sched_online *o, tile_op op, const sched_known_form *from);
/* Whether the value, of a row, is above -inf. */
bool sched_has_floor(schedule *s, tile_value row);
/* Whether large ones are chosen among the values, as masks do that are not infinite. */
bool sched_has_large_number(schedule *s, tile_value value, unsigned steps);

/* nan.c ---------------------------------------------------------------------------------------- */

/* Finds the maxima of which a row of NaN must give NaN: their values have effects other than on
 * what is NaN in such a row anyway. */
void sched_find_nan(schedule *s, sched_online *o);

/* leaf.c --------------------------------------------------------------------------------------- */

/* Finds what hides elements of each fold. */
void sched_find_leaves(schedule *s, sched_online *o);
/* Whether all that masks hide of a product's lhs is what its leaf hides. */
bool sched_masks_itself(schedule *s, const sched_online *o, sched_wanted at);
/* The leaf whose whole is that; NULL: none. */
const sched_leaf *sched_find_leaf(schedule *s, const sched_online *o, const sched_wanted *at);

/* online/mask.c -------------------------------------------------------------------------------- */

/* Before the walk: the last coordinates that rows see; returns where the walk ends. `rows` is the
 * row tile's start, `block` its extent. */
tile_value sched_build_bounds(sched_kernel *k, sched_online *o, const tile_expr *block);
/* Where it begins: no row of the tile sees anything before that multiple of the columns' block. */
tile_value sched_build_begin(sched_kernel *k, sched_online *o, const tile_expr *block);
/* Whether a walk may come to keys that no row of the batch and head sees by this mask. */
bool sched_hides_others(sched_kernel *k, const sched_online *o, const sched_leaf *leaf);
/* Whether walks of later rows end later. */
bool sched_ends_later(sched_kernel *k, const sched_online *o);
/* Whether where walks begin or end may depend on their rows. */
bool sched_bounds_vary(schedule *s, const sched_online *o);
/* In the walk: what is left of the elements. */
void sched_build_leaves(sched_kernel *k, sched_online *o);
/* The coordinates along n; whether they are before the end. */
tile_value sched_build_inside(sched_kernel *k, const sched_online *o);

/* The kernel ----------------------------------------------------------------------------------- */

typedef struct walked {
    sched_kernel k;
    sched_online *o;
    const tile_expr *rows, *columns; /* of a tile of elements */
    const tile_expr *deep, *wide;
    bool packed;            /* rows of several dims: their results' maps are none of the domain */
    bool few;               /* rows: each column is read once or so, and blocks are few */
    const tile_expr *split; /* into how many parts the columns are cut; NULL: into none */
    const tile_expr *tiles; /* how many tiles of rows there are in all */
    tile_value part, tile;  /* the block's own */
    tile_value left[SCHED_MOST_INNER];      /* the rows' side: shared, or a tile */
    tile_value before[SCHED_MOST_EXPS];     /* exponents' row part, as it was */
    tile_value now[SCHED_MOST_EXPS];        /* as it is */
    tile_value correction[SCHED_MOST_EXPS]; /* of what was folded before; 0: not made */
    tile_value exps[SCHED_MOST_EXPS];       /* 0: not made */
    tile_value carried[SCHED_MOST_FOLDS];   /* of maxima, as they are looked at */
    tile_value keys[SCHED_MOST_INNER];   /* the columns' side up to the walk's end; 0: all of it */
    tile_value values[SCHED_MOST_FOLDS]; /* of products: the same */
    bool again;                          /* values at hidden keys are left out: online/again.c */
    tile_value key_buffers[SCHED_MOST_INNER], value_buffers[SCHED_MOST_FOLDS]; /* then */
    bool ordered;      /* the grid has sets: see online/grid.c */
    tile_value inside; /* whether the block has rows; 0: always */
    tile_value all;    /* whether rows have elements, and masks hide no blocks of them; 0: always */
} walked;

/* A tile, by which exponentials it is to be corrected, and what was left out of it. */
typedef struct scaled {
    tile_value tile;
    unsigned exps; /* a bit for each */
    sched_post posts[SCHED_MOST_POSTS];
    unsigned post_count;
} scaled;

/* online/online.c */

void online_set_elements(walked *w);
bool online_is_largest(const walked *w, const sched_fold *fold);
/* What changes nothing of it. */
tile_value online_begin_fold(walked *w, const sched_fold *fold);
/* Exponents' row parts, of what is carried. */
void online_build_rows(walked *w, const tile_value *carried, tile_value *rows);
/* Behind the walk: what is computed of the folds, and stored. */
void online_finish(walked *w, const tile_value *folds, const scaled *left);
tile_value online_number(walked *w, double value);
/* The operation may be rounded differently. */
tile_value online_fast(walked *w, tile_value value);
/* A value of rows, as a tile of them. */
tile_value online_row_value(walked *w, const sched_wanted *at);

/* The side's tile gets the tile's dims, in the order in which its array has them. */
void online_set_side(walked *w, const sched_side *side, const tile_expr *rows,
                     const tile_expr *columns);
bool online_is_turned(const walked *w, const sched_side *side);
bool online_find_access(walked *w, const sched_side *side, sched_access *access);
tile_op online_build_walk(walked *w, tile_value begin, tile_value end, scaled *left);

bool online_is_half(const tile_type *element);
const tile_type *online_f32(const walked *w);
/* What the instruction multiplies: 16-bit floats if both sides are of one such type. */
const tile_type *online_multiplied(const walked *w, const tile_type *a, const tile_type *b);
const tile_type *online_inner_type(const walked *w, const sched_inner *inner);

/* online/again.c */

/* If sums of products are NaN, walks once more without values at hidden keys; folds are replaced.
 */
void online_walk_again(walked *w, tile_value begin, tile_value end, tile_value *folds);
/* In that walk: the side's block by the buffer, as what is multiplied; a fold's values. */
tile_value online_copy_again(walked *w, const sched_side *side, tile_value part, tile_value buffer,
                             tile_value predicate, const tile_type *type);
tile_value online_load_shown(walked *w, unsigned fold, const tile_type *type);

/* online/scaled.c */

/* top as it is subtracted; in an fma, with the factor. */
tile_value online_build_row(walked *w, const sched_exp *e);
/* After the walk: what sums of these exponentials are multiplied by to be those of the compute, a
 * tile of rows; 0: they are. */
tile_value online_build_restored(walked *w, unsigned exps);
/* What corrects what was folded before. */
tile_value online_correction_of(walked *w, unsigned index);
tile_value online_build_scaled(walked *w, sched_wanted at, const tile_type *element, scaled *out);

/* online/pack.c */

/* Makes one dim of few rows and the dim before them, along which others are the same; false: it
 * stays. */
bool online_pack_rows(schedule *s, sched_group *g);

/* online/split.c */

/* The tile along x; x, y and z are those of the block, of a grid that has `split` times as many
 * along x. */
tile_value online_take_part(walked *w, tile_value x, tile_value y, tile_value z,
                            const tile_expr *const grid[3]);
/* The part's columns, of those from begin to end. */
void online_take_columns(walked *w, tile_value *begin, tile_value *end);
/* Behind the walk along the part: what all of them have found is finished. */
void online_finish_parts(walked *w, const tile_value *own, const scaled *left);

/* online/points.c */

/* Whether tensor cores multiply all of it. */
bool online_is_all_half(const walked *w);

/* Gives the kernel its parameters and points; fills the extents of tiles. */
void online_add_points(walked *w);
/* Keeps of them what attributes of the operations say. */
void online_fix_points(walked *w);

/* online/outputs.c: the map with the dims of the walked tile; and all stores. */
sched_map online_whole_map(const walked *w, const sched_map *map);
void online_store_outputs(walked *w);

/* online/grid.c */

/* Sets grid and starts. */
void online_set_grid(walked *w);
/* Behind it: the order of tiles by the walks' bounds; returns where the walk ends. */
tile_value online_set_order(walked *w, tile_value begin, tile_value end);

#endif
