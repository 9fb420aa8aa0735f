/* The attributes of `convolve` as numbers, for code that checks, computes or lowers it.
 * Threads: any. */
#ifndef TILE_LIB_OPS_CONVOLUTION_H
#define TILE_LIB_OPS_CONVOLUTION_H

#include "lib/ir/function.h"

enum { TILE_MAX_SPATIAL = 3 };

/* Positions of the letters of `dims` in one array. */
typedef struct tile_convolution_order {
    unsigned outer;   /* n of lhs and of the result; c of rhs */
    unsigned channel; /* c of lhs; k of rhs and of the result */
    unsigned spatial[TILE_MAX_SPATIAL];
} tile_convolution_order;

/* A convolution. Lists are by spatial dim. */
typedef struct tile_convolution {
    unsigned spatial; /* how many dims are spatial */
    tile_convolution_order lhs, rhs, result;
    int64_t strides[TILE_MAX_SPATIAL], dilations[TILE_MAX_SPATIAL],
        input_dilations[TILE_MAX_SPATIAL];
    int64_t pads[TILE_MAX_SPATIAL][2]; /* before the first element, after the last one */
    bool reversed[TILE_MAX_SPATIAL];
    const tile_expr *groups, *batch_groups; /* NULL: 1 */
} tile_convolution;

/* Reads the attributes of an operation. Returns NULL, or what is wrong with them, in the arena. */
const char *tile_convolution_read(const tile_attr *attrs, unsigned count, tile_arena *arena,
                                  tile_convolution *convolution);
/* Reads those of a verified operation. */
tile_convolution tile_convolution_of(const tile_function *f, tile_op op);

/* The number of windows along spatial dim `i` of arrays with these extents: 0 if the filter does
 * not fit. An expression of them. */
const tile_expr *tile_convolution_extent(tile_context *context, const tile_convolution *convolution,
                                         unsigned i, const tile_expr *input,
                                         const tile_expr *filter);

/* How a product reads the windows of lhs. */
typedef enum tile_convolution_form {
    /* In any order of dims: lhs has few channels, or is read about once. */
    TILE_CONVOLUTION_IN_PLACE,
    /* The same, and each step multiplies channels of one position of the filter, which a kernel
     * first writes in this order. */
    TILE_CONVOLUTION_POSITIONS_FIRST,
    /* The channels of lhs are contiguous. */
    TILE_CONVOLUTION_CHANNELS_LAST,
    /* A kernel first writes lhs with contiguous channels. */
    TILE_CONVOLUTION_MOVED,
    /* The places of lhs are contiguous. Those of a position of the filter are the places of the
     * result, shifted. */
    TILE_CONVOLUTION_SHIFTED,
} tile_convolution_form;

/* What each form moves. Numbers below 0 are not known. */
typedef struct tile_convolution_traffic {
    bool by_fma;        /* f32 or f64, without matrix instructions */
    bool channels_last; /* the channels of lhs are contiguous already */
    int64_t channels;   /* of a group */
    int64_t positions;  /* of the filter, or of one of its phases */
    bool apart;         /* windows of one position have rows that begin at odd multiples */
    bool shifted;       /* those of a position are shifted rows of lhs, which are multiplied from
                           registers */
    double input;       /* bytes of lhs */
    double windows;     /* elements of the matrix of windows */
    double filters;     /* of a group: the k dim of the product */
} tile_convolution_traffic;

/* The rule without matrix instructions: POSITIONS_FIRST if the product takes longer than the kernel
 * that writes the filter, and of steps of 16 channels, or one of 8, at most an eighth is empty.
 * Then a step has the same distance between the addresses of all elements, and a thread checks once
 * whether they are outside of lhs.
 *
 * With matrix instructions: SHIFTED if lhs has 8 or more channels, the filter has several positions
 * and its windows are shifted rows. MOVED if they are not, lhs has 8 or more channels in a group,
 * the filter has several positions or its windows are apart, and
 *
 *     16 * windows * blocks of filters > 2 * input + 8 MB
 *
 * On the left, each element of a window that is read alone takes as much of the load and store
 * unit as a vector of 16 bytes does. On the right, the first kernel reads and writes lhs, and its
 * launch takes as long as 8 MB do. A size that is not known counts as large. */
tile_convolution_form tile_convolution_form_of(const tile_convolution_traffic *traffic);
/* Returns whether products of op, a `convolve` or `matmul` whose lhs has this element type, are
 * computed without matrix instructions. */
bool tile_convolution_is_by_fma(const tile_function *f, tile_op op, const tile_type *lhs);
/* The form of a convolution. */
tile_convolution_form tile_convolution_choose_form(const tile_function *f, tile_op op,
                                                   const tile_convolution *convolution);

#endif
