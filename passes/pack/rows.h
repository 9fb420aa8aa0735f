/* The copy of a packed argument: its shape, and the kernel that writes it.
 *
 * A plain copy has the array's dims in the same order. In a transposed one, elements are adjacent
 * along the other dim of the tiles that the kernel reads. */
#ifndef TILE_PASSES_PACK_ROWS_H
#define TILE_PASSES_PACK_ROWS_H

#include "lib/ir/effects.h"
#include "lib/ir/function.h"

/* How an argument is copied. */
typedef enum pack_how {
    PACK_PLAIN,
    PACK_TRANSPOSED,
    PACK_BF16X3, /* as the parts of bf16 of this `precision`, along one more dim before the others
                  */
    PACK_BF16X6,
    PACK_HOWS
} pack_how;

typedef struct pack_how_info {
    const char *suffix; /* of the argument's name in the text that asks for it: ":transposed" */
    const char *verb, *adjective; /* "transpose", "transposed" */
    tile_word precision;          /* none: the copy has no parts */
} pack_how_info;

const pack_how_info *pack_how_of(pack_how how);

typedef struct pack_rows {
    unsigned arg;
    pack_how how;
    unsigned row;           /* the dim of the argument along which elements are adjacent */
    unsigned across;        /* if transposed: the other dim of the tiles that the kernel reads */
    unsigned inner;         /* the dim along which the copy's elements are adjacent */
    unsigned bytes;         /* of an element; 0: its type is a parameter that has no value yet */
    const tile_expr *pitch; /* the elements from a row of the copy to the next one */
    const tile_expr *strides[TILE_MAX_RANK]; /* of the copy, by dim of the argument */
    const tile_expr *part_stride;            /* of the dim of parts */
    /* How the kernel reads the array. */
    tile_op view; /* 0: as the argument is declared */
    unsigned rank;
    const tile_expr *extents[TILE_MAX_RANK];
    unsigned dims[TILE_MAX_RANK]; /* the dim of the argument whose stride it has */
} pack_rows;

/* NULL, or why the argument cannot be packed: "is no view". */
const char *pack_find_rows(const tile_function *f, unsigned arg, pack_how how, pack_rows *rows);

/* Sets the pitch and the strides: rows follow each other in the order of the other dims. */
void pack_set_strides(const tile_function *f, pack_rows *rows);

/* The number of parts of the copy; 1: the elements themselves. */
unsigned pack_count_parts(const pack_rows *rows);
/* Adds the copy, whose extents without parts are given, as an argument. dims[d]: the dim of the
 * argument whose stride it has. */
tile_value pack_add_argument(tile_function *f, const pack_rows *rows, unsigned rank,
                             const tile_expr *const *extents, const unsigned *dims);

/* The argument's element type, which may be a parameter. */
const tile_type *pack_element(const tile_function *f, unsigned arg);
const tile_type *pack_type_param(tile_context *context, const char *name);

/* A name for the argument's copy, "NAME_packed" or "NAME_transposed". */
const char *pack_free_argument(const tile_function *f, const pack_rows *rows);

/* The kernel that copies the argument to its own last argument. waits: an earlier launch, which may
 * write the array, may still run when it starts. follows: another copy may still run, for which it
 * waits before it stores. So who waits for the last copy waits for all. */
tile_function *pack_make_kernel(tile_function *f, const pack_rows *rows, bool waits, bool follows);

/* Builds the memory of the copy in a plan that has the kernel's arguments. */
tile_value pack_build_scratch(tile_builder *b, const pack_rows *rows);

#endif
