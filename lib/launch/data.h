/* The inside of tile_abi. All memory is the abi's own or the context's: the kernel may be gone. */
#ifndef TILE_LIB_LAUNCH_DATA_H
#define TILE_LIB_LAUNCH_DATA_H

#include "lib/analysis/variants.h"
#include "lib/launch/abi.h"
#include "lib/support/record.h"
#include "tile/compile.h"

/* What its JSON holds: abi_json_<record> for each record of abi.def, in which a list `x` has
 * `x_count` items. Expressions are texts with the arguments' names in them. */
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

/* Of a grid, along x, y and z. */
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
    tile_abi_extents unfolded; /* the grid that flatten-grid has folded; rank 0: it has not */
    int64_t cluster[3];        /* blocks, each at least 1 */
    tile_scratch *scratch;     /* op is of a kernel that may be gone: do not use it */
    abi_json_scratch *scratch_texts;
    unsigned scratch_count;
    tile_table *tables; /* op: as of scratch */
    abi_json_table *table_texts;
    unsigned table_count;
    tile_map *maps; /* op: as of scratch */
    abi_json_map *map_texts;
    unsigned map_count;
    tile_abi_parameter *parameters;
    abi_json_parameter *parameter_texts; /* the arguments' come first */
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
/* The text of scratch buffer `index`, whose expression is over the arguments of f. */
void tile_abi_set_scratch_text(tile_abi *abi, unsigned index, const tile_function *f);
/* The kernel's tables; false after a diagnostic. */
bool tile_abi_fill_tables(tile_abi *abi, const tile_function *kernel);
/* Table `index` from a kernel that visits its tiles by their cost. */
void tile_abi_set_table(tile_abi *abi, unsigned index, const tile_function *walker);
/* The kernel's tensor maps; false after a diagnostic. */
bool tile_abi_fill_maps(tile_abi *abi, const tile_function *kernel);
/* Map `index`, whose expressions are over the arguments of f. */
void tile_abi_set_map(tile_abi *abi, unsigned index, const tile_map *map, const tile_function *f);
/* abi->parameters and the texts of them from its arguments, scratch buffers, tables and tensor
 * maps. */
void tile_abi_list_parameters(tile_abi *abi);

#endif
