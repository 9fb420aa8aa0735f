/* Which arrays a tensor map can describe. At compile time the rules are checked with what is known;
 * when a launch encodes a map, everything is known. */
#ifndef TILE_LIB_ANALYSIS_TENSOR_MAP_H
#define TILE_LIB_ANALYSIS_TENSOR_MAP_H

#include "lib/ir/function.h"
#include "lib/ops/im2col.h"

/* A number that may be unknown. */
typedef struct tile_number {
    bool known;
    int64_t value;   /* if known */
    int64_t divisor; /* if unknown: a divisor of the number; 1: nothing is known */
} tile_number;

static inline tile_number tile_number_of(int64_t value) {
    return (tile_number){true, value, 1};
}
static inline tile_number tile_number_unknown(int64_t divisor) {
    return (tile_number){false, 0, divisor};
}

/* The stride of a map's outer dim, in elements, of an array's dim with this extent and stride. A
 * dim of extent 1 never uses its stride, so that the map has the least one that the hardware
 * accepts. */
tile_number tile_map_stride(tile_scalar scalar, tile_number extent, tile_number stride);

/* Dims are in the order of a view, innermost last. */
typedef struct tile_map_facts {
    tile_scalar scalar;
    unsigned rank;
    unsigned swizzle; /* bytes; 0: none */
    int64_t box[TILE_MAX_RANK];
    tile_im2col windows; /* in im2col mode */
    tile_number address; /* bytes */
    tile_number extents[TILE_MAX_RANK];
    tile_number strides[TILE_MAX_RANK]; /* elements */
} tile_map_facts;

typedef enum tile_tristate {
    TILE_NO,
    TILE_AT_LAUNCH, /* not known before the launch */
    TILE_YES,
} tile_tristate;

/* A row of tensor_map.def. */
typedef struct tile_map_rule {
    const char *name, *words;
    tile_tristate (*holds)(const tile_map_facts *facts);
} tile_map_rule;

/* Checks all rules. *broken, if broken is not NULL, is the first rule that does not hold or is not
 * known to hold; NULL after TILE_YES. */
tile_tristate tile_map_rule_holds(const tile_map_facts *facts, const tile_map_rule **broken);

/* The rule that the argument's type rules out for all launches; NULL: a tensor map may describe the
 * array. */
const tile_map_rule *tile_view_broken_rule(const tile_arg_decl *arg);
/* The rule that the windows of an `im2col` rule out; NULL: none. */
const tile_map_rule *tile_im2col_broken_rule(const tile_im2col *windows);
/* Whether the rows of the view may have several elements. */
bool tile_view_has_rows(const tile_type *view);
/* Returns the argument whose array the view shows, if the view's extents and strides are numbers
 * that a tensor map can have. Then a launch only checks the address, even if no map can describe
 * the argument: [n, c, 28, 28] has rows of 56 bytes, [n, c, 784] has rows of 1568. */
tile_value tile_view_fixed_argument(const tile_function *f, tile_value view);
/* Returns NULL if a tensor map can describe the view, which is then an argument or the array of one
 * with other dims. Otherwise returns the reason, and *remedy is what the user can change, or
 * NULL. */
const char *tile_view_cannot_have_map(const tile_function *f, tile_value view, tile_arena *arena,
                                      const char **remedy);

#endif
