/* Which arrays a tensor map can describe: asked of what is known when code is made, and of all of
 * it when a launch encodes one. */
#ifndef TILE_LIB_ANALYSIS_TENSOR_MAP_H
#define TILE_LIB_ANALYSIS_TENSOR_MAP_H

#include "lib/ir/function.h"

/* A number, or what is known of it. */
typedef struct tile_number {
    bool known;
    int64_t value;   /* if it is known */
    int64_t divisor; /* if it is not: it is a multiple of this; 1: nothing is known */
} tile_number;

static inline tile_number tile_number_of(int64_t value) {
    return (tile_number){true, value, 1};
}
static inline tile_number tile_number_unknown(int64_t divisor) {
    return (tile_number){false, 0, divisor};
}

/* Dims in a view's order: the innermost one last. */
typedef struct tile_map_facts {
    tile_scalar scalar;
    unsigned rank;
    unsigned swizzle; /* bytes, 0: none */
    int64_t box[TILE_MAX_RANK];
    tile_number address; /* bytes */
    tile_number extents[TILE_MAX_RANK];
    tile_number strides[TILE_MAX_RANK]; /* elements */
} tile_map_facts;

typedef enum tile_tristate {
    TILE_NO,
    TILE_AT_LAUNCH, /* what is known does not tell */
    TILE_YES,
} tile_tristate;

/* A row of tensor_map.def. */
typedef struct tile_map_rule {
    const char *name, *words;
    tile_tristate (*holds)(const tile_map_facts *facts);
} tile_map_rule;

/* All rules together; *broken, if it is not NULL, is the first one that does not hold, or not yet:
 * NULL after TILE_YES. */
tile_tristate tile_map_rule_holds(const tile_map_facts *facts, const tile_map_rule **broken);

/* Which rule no launch's array can keep, by what the argument's type says for all of them; NULL:
 * some may be one that a tensor map describes. */
const tile_map_rule *tile_view_broken_rule(const tile_arg_decl *arg);
/* NULL if a tensor map describes the view, which is an argument then, or why none is known to;
 * *remedy: what to write, or NULL. */
const char *tile_view_cannot_have_map(const tile_function *f, tile_value view, tile_arena *arena,
                                      const char **remedy);

#endif
