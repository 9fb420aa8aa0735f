/* The inside of tile_abi. All memory is the abi's own or the context's: the kernel may be gone. */
#ifndef TILE_LIB_LAUNCH_DATA_H
#define TILE_LIB_LAUNCH_DATA_H

#include "lib/analysis/variants.h"
#include "lib/launch/abi.h"
#include "tile/compile.h"

/* A view argument's expressions, with the arguments' names in them. */
typedef struct tile_abi_shape_text {
    const char *type;
    const char *extents[TILE_MAX_RANK];
    const char *strides[TILE_MAX_RANK];
} tile_abi_shape_text;

/* Of a grid, along x, y and z. */
typedef struct tile_abi_extents {
    const tile_expr *at[3];
    const char *text[3];
    unsigned rank;
} tile_abi_extents;

typedef struct tile_abi_variant_conditions {
    const tile_condition *list;
    unsigned count;
} tile_abi_variant_conditions;

/* A table's expressions, likewise. */
typedef struct tile_table_text {
    const char *extents[3];
    const char *cost;
} tile_table_text;

struct tile_abi {
    tile_context *context;
    tile_arena arena;
    const char *entry;
    tile_loc loc;
    tile_abi_arg *args;
    tile_abi_shape_text *shapes; /* one for each argument; of other types `type` alone */
    unsigned arg_count;
    unsigned warps;
    unsigned shared_bytes;
    tile_abi_extents grid;
    tile_abi_extents unfolded; /* the grid that flatten-grid has folded; rank 0: it has not */
    int64_t cluster[3];        /* blocks, each at least 1 */
    tile_scratch *scratch;     /* op is of a kernel that may be gone: do not use it */
    const char **scratch_text;
    unsigned scratch_count;
    tile_table *tables; /* op: as of scratch */
    tile_table_text *table_texts;
    unsigned table_count;
    tile_map *maps; /* op: as of scratch */
    tile_abi_shape_text *map_texts;
    unsigned map_count;
    tile_abi_parameter *parameters;
    unsigned parameter_count;
    tile_abi_variant_conditions variants[TILE_MAX_VARIANTS];
    unsigned variant_count, variant;
    unsigned flat_from; /* as tile_variants has it */
};

/* A host expression, for integers at the places of the arguments. False on division by zero, or if
 * facts (may be NULL) lack something. */
bool tile_abi_evaluate(const tile_abi *abi, const tile_expr *expr, const int64_t *args,
                       const tile_launch_facts *facts, int64_t *value);
/* One of a tile's cost. */
bool tile_abi_evaluate_cost(const tile_abi *abi, const tile_expr *expr, const int64_t *args,
                            const int64_t block_id[3], int64_t *value);
/* The kernel's list, and which of it this is. variants NULL: this one is all there is, with what
 * the kernel declares. */
void tile_abi_set_variants(tile_abi *abi, const tile_function *kernel,
                           const tile_variants *variants, unsigned variant);
/* A row of conditions.def. */
typedef struct tile_condition_info {
    tile_condition_kind kind;
    const char *name;
} tile_condition_info;

const tile_condition_info *tile_condition_info_at(unsigned index); /* NULL past the end */
/* Whether arguments, as tile_abi_pick_variant takes them, have what the condition asks for. */
bool tile_condition_holds(const tile_abi *abi, const tile_condition *condition,
                          const int64_t *args);

/* tile_abi_pick_variant of those from `first` on whose grids are flat, or are not, as that of
 * `first` is: whether the grid fits is not asked. */
unsigned tile_abi_pick_variant_from(const tile_abi *abi, unsigned first, const int64_t *args);

/* Whether a launch can evaluate it. */
bool tile_abi_is_launch_expr(const tile_expr *expr);
/* The kernel's grid and clusters; false after a diagnostic. */
bool tile_abi_fill_grid(tile_abi *abi, const tile_function *kernel);
/* tile_abi_grid, also of more blocks than a launch takes. */
tile_status tile_abi_find_grid(const tile_abi *abi, const int64_t *args,
                               const tile_launch_facts *facts, int64_t grid[3]);
/* Whether a launch takes so many blocks. */
bool tile_abi_grid_fits(const int64_t grid[3]);
/* The same after a diagnostic. */
tile_status tile_abi_check_grid(const tile_abi *abi, const int64_t grid[3]);
/* Whether the grid that the kernel sees has at most so many blocks along y and z. */
bool tile_abi_fits_condition(const tile_abi *abi, int64_t most, const int64_t *args);
/* The kernel's tables; false after a diagnostic. */
bool tile_abi_fill_tables(tile_abi *abi, const tile_function *kernel);
/* Table `index` from a kernel that visits its tiles by their cost. */
void tile_abi_set_table(tile_abi *abi, unsigned index, const tile_function *walker);
/* The kernel's tensor maps; false after a diagnostic. */
bool tile_abi_fill_maps(tile_abi *abi, const tile_function *kernel);
/* Map `index`, whose expressions are over the arguments of f. */
void tile_abi_set_map(tile_abi *abi, unsigned index, const tile_map *map, const tile_function *f);
/* abi->parameters from its arguments, scratch buffers, tables and tensor maps. */
void tile_abi_list_parameters(tile_abi *abi);

#endif
