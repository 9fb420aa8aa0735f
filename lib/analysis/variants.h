/* Which variants a kernel has: what each of them relies on in the arguments of a launch. */
#ifndef TILE_LIB_ANALYSIS_VARIANTS_H
#define TILE_LIB_ANALYSIS_VARIANTS_H

#include "lib/ir/function.h"
#include "tile/compile.h"

/* In the order in which a launch looks at them; all memory is an arena's. */
typedef struct tile_variants {
    unsigned count;                        /* at least 1 */
    unsigned *divisors[TILE_MAX_VARIANTS]; /* one per argument, as tile_arg_decl has it */
    bool *maps[TILE_MAX_VARIANTS];         /* likewise: tensor_map */
    unsigned flat_from; /* the first one whose grid is flat; 0: all are, the count: none is */
} tile_variants;

/* Of an instantiated kernel as it was before any pass: at level 2, or written at level 3. */
/* target: may be NULL; only where it has tensor maps does a variant use what the kernel does not
 * declare. */
void tile_derive_variants(const tile_function *kernel, const tile_target *target, tile_arena *arena,
                          tile_variants *out);

/* From now on the kernel's arguments have what the variant says, and no more. */
void tile_assume_variant(tile_function *kernel, const tile_variants *variants, unsigned index);

/* What a launch must evaluate for these divisors and maps, in the order of the arguments, and last
 * of the grid, if that must fit; *count of them, in the arena. */
tile_condition *tile_list_conditions(const tile_function *kernel, const unsigned *divisors,
                                     const bool *maps, bool grid_fits, tile_arena *arena,
                                     unsigned *count);

#endif
