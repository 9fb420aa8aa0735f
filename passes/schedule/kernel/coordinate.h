/* Coordinates of elements in the iteration space of a kernel, and expressions of them. */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_COORDINATE_H
#define TILE_PASSES_SCHEDULE_KERNEL_COORDINATE_H

#include "lib/ir/effects.h"

typedef struct schedule schedule;

/* An element's coordinate along one dim: a dim of the domain, or an expression of coordinates, plus
 * an offset. */
typedef struct sched_coordinate {
    int dim;                         /* -1: only the offset, or the index plus the offset */
    const tile_expr *offset;         /* over the compute's parameters; NULL: 0 */
    const struct sched_index *index; /* NULL: none */
} sched_coordinate;

typedef enum sched_index_kind {
    SCHED_SUM,    /* a * by + b */
    SCHED_PAIR,   /* the same with 0 <= b < by, so that b is the remainder */
    SCHED_DIV,    /* a / by */
    SCHED_EXACT,  /* a / by; -1, out of bounds, if by does not divide a */
    SCHED_REM,    /* a % by */
    SCHED_NUMBER, /* by */
    SCHED_TAKEN,  /* by, an index tensor's element at `map` */
} sched_index_kind;

/* A scalar number of the compute, possibly known as an expression. */
typedef struct sched_scalar {
    const tile_expr *expr; /* over the compute's parameters; NULL: only the value is known */
    tile_value value;
} sched_scalar;

typedef struct sched_index {
    sched_index_kind kind;
    sched_coordinate a, b;
    sched_scalar by;
    const struct sched_map *map; /* taken: the position of the index */
    unsigned rank;               /* of the map */
} sched_index;

/* The position of a value's element in the domain: one coordinate per dim of the value. */
typedef struct sched_map {
    sched_coordinate at[TILE_MAX_RANK];
} sched_map;

/* A value together with a map. */
typedef struct sched_mapped_value {
    tile_value value;
    sched_map map;
} sched_mapped_value;

enum { SCHED_MAX_DIMS = TILE_MAX_RANK + 2 };

/* The iteration space of a group's kernel. Extents are over the compute's parameters. */
typedef struct sched_domain {
    unsigned rank;
    const tile_expr *extents[SCHED_MAX_DIMS]; /* entries after rank: added by the group's kind */
} sched_domain;

/* index.c -------------------------------------------------------------------------------------- */

static inline sched_coordinate sched_dim_coordinate(unsigned dim) {
    return (sched_coordinate){(int)dim, NULL, NULL};
}
static inline sched_coordinate sched_zero_coordinate(void) {
    return (sched_coordinate){-1, NULL, NULL};
}
bool sched_same_coordinate(const sched_coordinate *a, const sched_coordinate *b);
/* Replaces the offset by `offset opcode by`. */
sched_coordinate sched_shifted(schedule *s, const sched_coordinate *at, tile_opcode opcode,
                               const tile_expr *by);
/* A coordinate computed from others; b only for sums and pairs. The quotient and the remainder of a
 * pair simplify to its parts. */
sched_coordinate sched_computed(schedule *s, sched_index_kind kind, const sched_coordinate *a,
                                const sched_coordinate *b, const tile_expr *by);
/* sched_sum: a * by + b. sched_minus: a - by. Neither is simplified. */
sched_coordinate sched_sum(schedule *s, const sched_coordinate *a, sched_scalar by,
                           const sched_coordinate *b);
sched_coordinate sched_minus(schedule *s, const sched_coordinate *a, sched_scalar by);
/* The element of the index tensor, of this rank, at the map. */
sched_coordinate sched_indexed(schedule *s, tile_value index, const sched_map *map, unsigned rank);
/* The element at position a of elements that are `by` apart. */
sched_coordinate sched_exact(schedule *s, const sched_coordinate *a, int64_t by);
/* Returns whether it changes along this dim of the domain. */
bool sched_depends(const sched_coordinate *at, unsigned dim);
/* The map with each dim d replaced by to->at[d]. */
sched_map sched_substitute(schedule *s, const sched_map *map, unsigned rank, const sched_map *to);
/* The coordinate as scale * dim + offset, if it is such a sum with known numbers. dim -1: it is a
 * number. */
typedef struct sched_linear {
    int dim;
    int64_t scale, offset;
} sched_linear;
bool sched_find_linear(const sched_coordinate *at, sched_linear *out);
/* scale * (dim / low % size): a digit of a dim of the domain, with known numbers. size 0: there is
 * no remainder. */
typedef struct sched_digit {
    int dim;
    int64_t low, size, scale;
} sched_digit;
/* The coordinate as a sum of at most `most` digits and an offset. False if it is none. */
bool sched_find_digits(schedule *s, const sched_coordinate *at, sched_digit *found, unsigned most,
                       unsigned *count, int64_t *offset);
/* An equal coordinate with as few operations as possible. */
sched_coordinate sched_simplified(schedule *s, const sched_coordinate *at);
/* The coordinate with each dim d of the domain replaced by dims[d]. */
sched_coordinate sched_substituted(schedule *s, const sched_coordinate *at,
                                   const sched_coordinate *dims);
/* A known coordinate. */
sched_coordinate sched_number_coordinate(schedule *s, int64_t number);
/* Returns whether a coordinate is computed from others. */
static inline bool sched_is_computed(unsigned rank, const sched_map *map) {
    bool computed = false;
    for (unsigned d = 0; d < rank; d++) computed |= map->at[d].index != NULL;
    return computed;
}

/* reshape.c ------------------------------------------------------------------------------------ */

/* The dims of a type that are not 1, in order; the last ones are still unmatched. */
typedef struct sched_dims {
    unsigned at[TILE_MAX_RANK], count;
    const tile_expr *extents[TILE_MAX_RANK];
} sched_dims;
sched_dims sched_long_dims(schedule *s, const tile_type *type);
void sched_drop_first(sched_dims *side);

/* The product `whole` without the factors of `part`; NULL if it does not contain them. */
const tile_expr *sched_without(schedule *s, const tile_expr *whole, const tile_expr *part);
/* Returns whether two extents are provably equal. */
bool sched_same_extent(schedule *s, const tile_expr *a, const tile_expr *b);
/* The map of a reshape's operand, if the reshape merges or splits dims. False if it does
 * neither. */
bool sched_reshaped(schedule *s, const tile_type *from, const tile_type *to, const sched_map *map,
                    sched_map *out);
/* Likewise, and for reshapes between known extents that do both at once, such as [64, 96] to
 * [512, 12]. */
bool sched_regrouped(schedule *s, const tile_type *from, const tile_type *to, const sched_map *map,
                     sched_map *out);
/* A tensor type with the domain's extents. */
const tile_type *sched_type_of_domain(schedule *s, const sched_domain *domain);
/* The dims of a tensor of this type in the domain, which has the same elements in the same order.
 * False if it has others, or if that is not known. */
bool sched_map_in(schedule *s, const sched_domain *domain, const tile_type *type, sched_map *map);
/* Returns the first dim, up to `last`, of a range of dims that can be merged into one dim with the
 * coordinate *out, which has fewer quotients and remainders. Returns `last` if there is none. */
unsigned sched_merge_dims(schedule *s, const tile_type *type, const sched_map *map, unsigned last,
                          sched_coordinate *out);

#endif
