/* Which variants a kernel has: what each of them assumes about the arguments of a launch. */
#ifndef TILE_LIB_ANALYSIS_VARIANTS_H
#define TILE_LIB_ANALYSIS_VARIANTS_H

#include "lib/ir/function.h"
#include "tile/compile.h"

/* In the order in which a launch tries them; all memory is in an arena. */
typedef struct tile_variants {
    unsigned count;                        /* at least 1 */
    unsigned *divisors[TILE_MAX_VARIANTS]; /* one per argument, as in tile_arg_decl */
    bool *maps[TILE_MAX_VARIANTS];         /* likewise, tensor_map */
    unsigned flat_from; /* index of the first variant with a flat grid; 0: all, `count`: none */
} tile_variants;

/* Derives the variants of an instantiated kernel before any pass: at level 2, or written at level
 * 3. */
/* target may be NULL. Variants rely on undeclared properties only on targets with tensor maps. */
void tile_derive_variants(const tile_function *kernel, const tile_target *target, tile_arena *arena,
                          tile_variants *out);

/* Sets the attributes of the kernel's arguments to exactly what the variant assumes. */
void tile_assume_variant(tile_function *kernel, const tile_variants *variants, unsigned index);

/* Lists the conditions that a launch must check for these divisors and maps, in the order of the
 * arguments, followed by the grid condition if grid_fits is set; *count of them, in the arena. */
tile_condition *tile_list_conditions(const tile_function *kernel, const unsigned *divisors,
                                     const bool *maps, bool grid_fits, tile_arena *arena,
                                     unsigned *count);

#endif
