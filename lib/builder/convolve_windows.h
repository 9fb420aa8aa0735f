/* A convolution while it is expanded: its dims, windows and phases (expand_convolve.c). */
#ifndef TILE_LIB_BUILDER_CONVOLVE_WINDOWS_H
#define TILE_LIB_BUILDER_CONVOLVE_WINDOWS_H

#include "lib/ops/convolution.h"
#include "tile/build.h"

/* The phases of a spatial dim. count 1: it has no zeros between its elements, or they are
 * multiplied. */
typedef struct phases {
    int64_t count;
    int64_t positions, taps; /* of the filter: all, and the most that one phase meets */
    int64_t step;            /* from one position that a phase meets to the next one */
    int64_t spacing;         /* phases of neighboring positions; those between them meet none */
    int64_t distance;        /* elements from one position of a phase to the next one */
    int64_t shift;           /* zeros before the filter, so that place 0 has phase 0 */
    int64_t first, begin;    /* b and q of place 0 */
    const tile_expr *places; /* the number of q's */
    int64_t computed; /* phases of the product; fewer than `count`: one for each position, and the
                         others, which are zeros, are added to its result */
} phases;

typedef struct expansion {
    tile_function *f;
    tile_context *context;
    tile_builder b;
    tile_op op;
    tile_convolution c;
    const tile_type *lhs, *rhs, *result;
    const tile_expr *groups; /* of the channels or of the batch; NULL: there is one */
    phases phases[TILE_MAX_SPATIAL];
    tile_convolution_form form;
    bool stores_windows; /* of few channels: a first kernel writes them */
    bool by_place;       /* a product for each place: the images of lhs become its last dim */
} expansion;

/* The dims of an array: their letters and extents. */
typedef struct shape {
    unsigned rank;
    char letters[TILE_MAX_RANK + 2];
    const tile_expr *dims[TILE_MAX_RANK + 1];
} shape;

static inline void add(shape *s, char letter, const tile_expr *extent) {
    s->letters[s->rank] = letter;
    s->dims[s->rank++] = extent;
}

static inline bool has_phases(const expansion *x, unsigned i) {
    return i < x->c.spatial && x->phases[i].count > 1;
}

static inline bool has_any_phases(const expansion *x) {
    return has_phases(x, 0) || has_phases(x, 1) || has_phases(x, 2);
}

/* The windows of spatial dim i, as three operands of `window`, and its input dilation. */
typedef struct window_numbers {
    tile_value stride, pad, dilation;
    int64_t between;
    const tile_expr *places, *positions;
} window_numbers;

/* The index a - b * c. */
tile_value expand_index_of(expansion *x, int64_t a, const tile_expr *b, int64_t c);
/* Finds the dims with phases, as long as no array gets too many dims. */
void expand_find_phases(expansion *x);
window_numbers expand_number_windows(expansion *x, unsigned i);
/* Returns whether each window is the element of lhs at its place. extents: of lhs. */
bool expand_is_pointwise(const expansion *x, const window_numbers *numbers,
                         const tile_expr *const *extents);

#endif
