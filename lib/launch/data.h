/* Internals of tile_abi. It owns all of its memory, or the context does: the kernel may be
 * destroyed. */
#ifndef TILE_LIB_LAUNCH_DATA_H
#define TILE_LIB_LAUNCH_DATA_H

#include "lib/analysis/variants.h"
#include "lib/launch/abi.h"
#include "lib/support/record.h"
#include "tile/compile.h"

/* The contents of its JSON: abi_json_<record> for each record of abi.def. A list `x` has `x_count`
 * items. Expressions are texts with the names of arguments. */
typedef const char *abi_json_text;
typedef bool abi_json_flag;
typedef unsigned abi_json_number;
typedef int64_t abi_json_integer, abi_json_box;
typedef struct abi_json_variant abi_json_variant;

#define RECORD(record) typedef struct abi_json_##record {
#define FIELD(record, kind, field, ...) abi_json_##kind field;
#define LIST(record, item, field, ...) \
    abi_json_##item *field; \
    unsigned field##_count;
#define END(record, ...) \
    } \
    abi_json_##record;
#include "lib/launch/abi.def"
#undef RECORD
#undef FIELD
#undef LIST
#undef END

struct abi_json_variant {
    abi_json_condition *list;
    unsigned count;
};

extern const tile_record abi_json_parameter_record, abi_json_root_record;

/* Extents of a grid, along x, y and z. */
typedef struct tile_abi_extents {
    const tile_expr *at[3];
    const char *text[3]; /* "1" from `rank` on */
    unsigned rank;
} tile_abi_extents;

typedef struct tile_abi_variant_conditions {
    const tile_condition *list;
    unsigned count;
} tile_abi_variant_conditions;

struct tile_abi {
    tile_context *context;
    tile_arena arena;
    const char *entry;
    tile_loc loc;
    tile_abi_arg *args;
    unsigned arg_count;
    unsigned warps;
    unsigned shared_bytes;
    tile_abi_extents grid;
    tile_abi_extents unfolded; /* the grid before flatten-grid; rank 0: not flattened */
    int64_t cluster[3];        /* in blocks, each at least 1 */
    tile_scratch *scratch;     /* op refers to a kernel that may be destroyed: do not use it */
    abi_json_scratch *scratch_texts;
    unsigned scratch_count;
    tile_table *tables; /* op: as in scratch */
    abi_json_table *table_texts;
    unsigned table_count;
    tile_map *maps; /* op: as in scratch */
    abi_json_map *map_texts;
    unsigned map_count;
    tile_abi_parameter *parameters;
    abi_json_parameter *parameter_texts; /* the arguments' texts come first */
    unsigned parameter_count;
    tile_abi_variant_conditions variants[TILE_MAX_VARIANTS];
    unsigned variant_count, variant;
    unsigned flat_from; /* as in tile_variants */
};

/* Evaluates a host expression for these integer arguments. Returns false on division by zero, or if
 * facts (may be NULL) lack a value. */
bool tile_abi_evaluate(const tile_abi *abi, const tile_expr *expr, const int64_t *args,
                       const tile_launch_facts *facts, int64_t *value);
/* The same for the cost expression of a tile. */
bool tile_abi_evaluate_cost(const tile_abi *abi, const tile_expr *expr, const int64_t *args,
                            const int64_t block_id[3], int64_t *value);
/* The kernel's list of variants, and the index of this one. variants NULL: this is the only one,
 * with the conditions that the kernel declares. */
void tile_abi_set_variants(tile_abi *abi, const tile_function *kernel,
                           const tile_variants *variants, unsigned variant);
/* A row of conditions.def. */
typedef struct tile_condition_info {
    tile_condition_kind kind;
    const char *name;
} tile_condition_info;

const tile_condition_info *tile_condition_info_at(unsigned index); /* NULL past the end */
/* Returns whether the arguments, as in tile_abi_pick_variant, satisfy the condition. */
bool tile_condition_holds(const tile_abi *abi, const tile_condition *condition,
                          const int64_t *args);

/* Like tile_abi_pick_variant, but among the variants from `first` on whose grids are flat, or not
 * flat, like the grid of `first`. Does not check whether the grid fits. */
unsigned tile_abi_pick_variant_from(const tile_abi *abi, unsigned first, const int64_t *args);

/* Returns whether a launch can evaluate the expression. */
bool tile_abi_is_launch_expr(const tile_expr *expr);
/* Sets the kernel's grid and clusters; returns false after a diagnostic. */
bool tile_abi_fill_grid(tile_abi *abi, const tile_function *kernel);
/* Like tile_abi_grid, but also accepts more blocks than a launch can have. */
tile_status tile_abi_find_grid(const tile_abi *abi, const int64_t *args,
                               const tile_launch_facts *facts, int64_t grid[3]);
/* Returns whether a launch can have this many blocks. */
bool tile_abi_grid_fits(const int64_t grid[3]);
/* The same, with a diagnostic. */
tile_status tile_abi_check_grid(const tile_abi *abi, const int64_t grid[3]);
/* Returns whether the grid that the kernel sees has at most `most` blocks along y and z. */
bool tile_abi_fits_condition(const tile_abi *abi, int64_t most, const int64_t *args);
/* Sets the text of scratch buffer `index`, whose expression is over the arguments of f. */
void tile_abi_set_scratch_text(tile_abi *abi, unsigned index, const tile_function *f);
/* Sets the kernel's tables; returns false after a diagnostic. */
bool tile_abi_fill_tables(tile_abi *abi, const tile_function *kernel);
/* Sets table `index` from a kernel that visits its tiles by cost. */
void tile_abi_set_table(tile_abi *abi, unsigned index, const tile_function *walker);
/* Sets the kernel's tensor maps; returns false after a diagnostic. */
bool tile_abi_fill_maps(tile_abi *abi, const tile_function *kernel);
/* Sets map `index`, whose expressions are over the arguments of f. */
void tile_abi_set_map(tile_abi *abi, unsigned index, const tile_map *map, const tile_function *f);
/* Sets abi->parameters and their texts from its arguments, scratch buffers, tables and tensor maps.
 */
void tile_abi_list_parameters(tile_abi *abi);

#endif
