/* Definitions shared by codegen and the launch: shared memory, scratch, tables and tensor maps. */
#ifndef TILE_LIB_LAUNCH_ABI_H
#define TILE_LIB_LAUNCH_ABI_H

#include "lib/ir/function.h"
#include "lib/ops/convolution.h"
#include "tile/compile.h"

enum {
    TILE_SCRATCH_ALIGNMENT = 256,
    TILE_TABLE_ALIGNMENT = 4,
    TILE_TENSOR_MAP_ALIGNMENT = 64, /* of the parameter */
    TILE_MAX_TABLES = 4,
    /* Includes the parameters of the two kinds of scratch. */
    TILE_MAX_PARAMETERS = TILE_MAX_ARGUMENTS + 2 + TILE_MAX_TABLES + TILE_MAX_TENSOR_MAPS
};

/* One scratch buffer. bytes is an expression over the kernel's arguments, before rounding; NULL if
 * an extent cannot be computed before the launch. */
typedef struct tile_scratch {
    tile_op op;
    bool clean;
    const tile_expr *bytes;
} tile_scratch;

/* The buffers in memory order; the array is in the arena. */
tile_scratch *tile_scratch_list(const tile_function *kernel, tile_arena *arena, unsigned *count);

/* A table of the grid's tiles for each block, which the launch computes for the operations that
 * read it. Extents are expressions over the kernel's arguments, NULL if one cannot be computed
 * before the launch. The cost is also over a tile's coordinates. */
typedef struct tile_table {
    tile_op op; /* the first operation that uses it */
    const tile_expr *extents[3];
    const tile_expr *cost;
    tile_arg_set args; /* the arguments in the cost */
} tile_table;

/* The kernel's tables, without duplicates, in the order of their first uses; the array is in the
 * arena. */
tile_table *tile_table_list(const tile_function *kernel, tile_arena *arena, unsigned *count);
/* The index of the table that a tile_schedule reads. */
unsigned tile_table_index(const tile_function *kernel, tile_op op, const tile_table *list,
                          unsigned count);
/* The number of entries of a table with these extents. */
int64_t tile_table_entries(const int64_t extents[3]);
/* Returns false after a diagnostic if a launch could not compute them. */
bool tile_table_check(const tile_function *kernel, const tile_table *list, unsigned count);

/* The contents of a tensor map, which a launch encodes. Extents and strides (in elements) are
 * expressions over the kernel's arguments, NULL if one cannot be computed before the launch. */
typedef struct tile_map {
    tile_op op;   /* the first operation that makes it */
    unsigned arg; /* the argument that points to its first element; the number of arguments: none */
    const tile_type *type;
    const tile_expr *extents[TILE_MAX_MAP_RANK];
    const tile_expr *strides[TILE_MAX_MAP_RANK];
    unsigned swizzle;
    unsigned spatial; /* in im2col mode: the number of spatial dims, outermost first */
    int64_t lower[TILE_MAX_SPATIAL], upper[TILE_MAX_SPATIAL], steps[TILE_MAX_SPATIAL];
} tile_map;

/* The kernel's tensor maps, without duplicates, in the order of their first uses; the array is in
 * the arena. */
tile_map *tile_map_list(const tile_function *kernel, tile_arena *arena, unsigned *count);
/* The index of the map that a tensor_map makes. */
unsigned tile_map_index(const tile_function *kernel, tile_op op, const tile_map *list,
                        unsigned count);
/* Returns false after a diagnostic if no launch could encode them. */
bool tile_map_check(const tile_function *kernel, const tile_map *list, unsigned count);
/* The hardware requirement that this map violates, in the words of tensor_map.def; NULL: none. */
const char *tile_tensor_map_fault(const tile_tensor_map *map);
/* The same for a view's array at a launch, whatever the box is. */
const char *tile_abi_map_fault(const tile_abi *abi, unsigned arg, const int64_t *args);

/* The number of blocks of the kernel's clusters along x, y and z, 1 if unspecified. Returns false
 * without a report unless they are constants whose product is at most 16, the hardware limit. */
bool tile_cluster_extents(const tile_function *kernel, int64_t extents[3]);

/* Bytes of shared memory up to the end of the last buffer. */
int64_t tile_shared_bytes(const tile_function *kernel);

/* The parameters of a kernel's .entry, in order; the array is in the arena. Codegen declares them,
 * the launch interface names them, the launch fills them. */
tile_abi_parameter *tile_parameter_list(size_t arg_count, const tile_scratch *scratch,
                                        unsigned scratch_count, unsigned table_count,
                                        unsigned map_count, tile_arena *arena, unsigned *count);
/* The alignment in bytes, a power of two, of a pointer or view argument in this code: a launch
 * rejects arrays that are not aligned to their elements, and the variant requires the divisibility.
 */
uint64_t tile_address_alignment(const tile_type *type, unsigned divisible);

#endif
