/* What codegen and the launch must agree on: shared memory and scratch of a kernel. */
#ifndef TILE_LIB_LAUNCH_ABI_H
#define TILE_LIB_LAUNCH_ABI_H

#include "lib/ir/function.h"
#include "tile/compile.h"

enum {
    TILE_SCRATCH_ALIGNMENT = 256,
    TILE_TABLE_ALIGNMENT = 4,
    TILE_TENSOR_MAP_ALIGNMENT = 64, /* of the parameter */
    TILE_MAX_TABLES = 4,
    /* With those of the two kinds of scratch. */
    TILE_MAX_PARAMETERS = TILE_MAX_ARGUMENTS + 2 + TILE_MAX_TABLES + TILE_MAX_TENSOR_MAPS
};

/* One scratch buffer; bytes is over the kernel's arguments and not rounded yet, NULL if an extent
 * cannot be known before the launch. */
typedef struct tile_scratch {
    tile_op op;
    bool clean;
    const tile_expr *bytes;
} tile_scratch;

/* The buffers in the order in which they lie in their memory; the array is in the arena. */
tile_scratch *tile_scratch_list(const tile_function *kernel, tile_arena *arena, unsigned *count);

/* Which tiles of a grid each block gets, which the launch makes for the operations that look it up.
 * Extents are over the kernel's arguments, NULL if one cannot be known before the launch; the cost
 * also over a tile's coordinates. */
typedef struct tile_table {
    tile_op op; /* the first one that uses it */
    const tile_expr *extents[3];
    const tile_expr *cost;
    tile_arg_set args; /* that the cost names */
} tile_table;

/* The kernel's tables, each once, in the order of their first uses; the array is in the arena. */
tile_table *tile_table_list(const tile_function *kernel, tile_arena *arena, unsigned *count);
/* Which one of them a tile_schedule looks up. */
unsigned tile_table_index(const tile_function *kernel, tile_op op, const tile_table *list,
                          unsigned count);
/* How many entries a table has for these extents. */
int64_t tile_table_entries(const int64_t extents[3]);
/* False after a diagnostic if a launch could not make them. */
bool tile_table_check(const tile_function *kernel, const tile_table *list, unsigned count);

/* What a launch encodes as a tensor map. Extents and strides (in elements) are over the kernel's
 * arguments, NULL if one cannot be known before the launch. */
typedef struct tile_map {
    tile_op op;   /* the first one that makes it */
    unsigned arg; /* it begins where this argument points; the count of arguments: none of them */
    const tile_type *type;
    const tile_expr *extents[TILE_MAX_MAP_RANK];
    const tile_expr *strides[TILE_MAX_MAP_RANK];
    unsigned swizzle;
} tile_map;

/* The kernel's tensor maps, each once, in the order of their first uses; the array is in the arena.
 */
tile_map *tile_map_list(const tile_function *kernel, tile_arena *arena, unsigned *count);
/* Which one of them a tensor_map is. */
unsigned tile_map_index(const tile_function *kernel, tile_op op, const tile_map *list,
                        unsigned count);
/* False after a diagnostic if no launch could encode them. */
bool tile_map_check(const tile_function *kernel, const tile_map *list, unsigned count);
/* What the hardware wants that this map has not, in the words of tensor_map.def; NULL: nothing. */
const char *tile_tensor_map_fault(const tile_tensor_map *map);
/* The same of a view's array at a launch, whatever the box is. */
const char *tile_abi_map_fault(const tile_abi *abi, unsigned arg, const int64_t *args);

/* Blocks of the kernel's clusters along x, y and z, 1 where it names none. False without a report
 * unless they are constants and at most 16 together, which is what hardware has. */
bool tile_cluster_extents(const tile_function *kernel, int64_t extents[3]);

/* Bytes of shared memory up to the end of the last buffer. */
int64_t tile_shared_bytes(const tile_function *kernel);

/* The parameters of a kernel's .entry, in order; the array is in the arena. Codegen declares them,
 * the launch interface names them, the launch fills them. */
tile_abi_parameter *tile_parameter_list(size_t arg_count, const tile_scratch *scratch,
                                        unsigned scratch_count, unsigned table_count,
                                        unsigned map_count, tile_arena *arena, unsigned *count);
/* Bytes, a power of two, that the address of a pointer or view argument is a multiple of wherever
 * this code runs: a launch takes no array that is not aligned to its elements, and the variant
 * asks for what is divisible. */
uint64_t tile_address_alignment(const tile_type *type, unsigned divisible);

#endif
