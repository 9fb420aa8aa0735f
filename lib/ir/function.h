/* Internals of modules and functions, for the printer, the passes and other code that traverses the
 * IR often.
 *
 * Ids index the function's arrays; entry 0 of each is unused. Erased operations stay in the array
 * (opcode NONE, in no region). Code that computes facts about values stores them itself, in dense
 * arrays of function->value_count entries. */
#ifndef TILE_LIB_IR_FUNCTION_H
#define TILE_LIB_IR_FUNCTION_H

#include "lib/support/arena.h"
#include "lib/support/context.h"
#include "tile/build.h"
#include "tile/ir.h"
#include "tile/launch_limits.h"
#include "tile/target.h"

#define TILE_NO_VALUE ((tile_value){0})
#define TILE_NO_OP ((tile_op){0})
#define TILE_NO_REGION ((tile_region){0})

typedef enum tile_value_kind {
    TILE_VALUE_RESULT,   /* of op `owner` */
    TILE_VALUE_ARG,      /* argument `index` of the function */
    TILE_VALUE_REGION,   /* value `index` of region `owner`: a loop's induction variable, carried
                            values */
    TILE_VALUE_CONSTANT, /* expr; each (type, expr) once per function */
} tile_value_kind;

typedef struct tile_value_data {
    uint8_t kind; /* tile_value_kind */
    uint32_t owner;
    uint32_t index;
    const tile_type *type;
    const tile_expr *expr; /* constants */
    const char *name;      /* without '%'; NULL if unnamed; not necessarily unique */
} tile_value_data;

typedef struct tile_attr {
    tile_attr_id id;
    const tile_expr *expr; /* kinds expr and constant */
    const int64_t *list;   /* kind list */
    unsigned count;
    const char *text;               /* kinds word, text and symbol (without '@'): interned */
    const tile_type *type;          /* kind constant: a scalar's */
    const tile_param_value *values; /* kind values; count of them */
    tile_loc loc;                   /* of the value in a text; line 0: unknown */
} tile_attr;

typedef struct tile_op_data {
    uint16_t opcode;
    uint8_t attr_count;
    uint32_t region_count;
    uint16_t segment[TILE_MAX_OPERANDS]; /* number of values of each operand of the row */
    uint32_t operand_count;
    uint32_t result_count;
    tile_value *operands;
    tile_value first_result; /* the ids of results are consecutive */
    tile_region *regions;    /* the array has capacity up to the next power of two */
    tile_attr *attrs;
    tile_loc loc;
    tile_region parent;
    tile_op prev, next;
} tile_op_data;

typedef struct tile_region_data {
    tile_op first, last;
    tile_op parent; /* 0: a function's body */
    uint32_t arg_count;
    tile_value first_arg; /* the ids of arguments are consecutive */
} tile_region_data;

typedef struct tile_param_decl {
    const char *name;
    tile_param_kind kind;
    const tile_expr *default_expr; /* NULL: none */
    const tile_type *default_type;
    tile_loc loc; /* in the text; of the function if a program added it */
} tile_param_decl;

typedef struct tile_arg_decl {
    const char *name;
    const tile_type *type;
    tile_value value;
    unsigned divisible; /* 0: not declared, 1: unknown. Pointers and views: bytes */
    bool noalias;
    bool tensor_map; /* views: a tensor map can describe the array */
    bool is_const;
    const tile_expr *known;                  /* const: its value; NULL: not known yet */
    const tile_expr *extents[TILE_MAX_RANK]; /* views: all are declared */
    const tile_expr *strides[TILE_MAX_RANK]; /* views: see has_strides of the type; tensors: NULL
                                                without declared strides */
} tile_arg_decl;

/* A set of a kernel's arguments. All zero: none. */
typedef struct tile_arg_set {
    uint64_t words[(TILE_MAX_ARGUMENTS + 63) / 64];
} tile_arg_set;

static inline void tile_arg_set_add(tile_arg_set *set, unsigned arg) {
    if (arg < TILE_MAX_ARGUMENTS) set->words[arg / 64] |= (uint64_t)1 << arg % 64;
}
static inline bool tile_arg_set_is_empty(const tile_arg_set *set) {
    uint64_t any = 0;
    for (unsigned i = 0; i < sizeof set->words / sizeof *set->words; i++) any |= set->words[i];
    return !any;
}
static inline bool tile_arg_set_has(const tile_arg_set *set, unsigned arg) {
    return arg < TILE_MAX_ARGUMENTS && set->words[arg / 64] >> arg % 64 & 1;
}

typedef struct tile_result_decl {
    const char *name;
    const tile_type *type;
    tile_value value;
    const tile_expr *strides[TILE_MAX_RANK]; /* tensors: NULL without declared strides */
} tile_result_decl;

typedef struct tile_tune_clause {
    unsigned name_count;
    unsigned point_count;
    const char **names;
    const tile_expr **values; /* point_count x name_count */
} tile_tune_clause;

struct tile_function {
    tile_module *module;
    tile_function *next;
    tile_function_kind kind;
    unsigned level; /* set by the parser, raised by the passes that lower the function */
    const char *name;
    tile_loc loc;
    uint32_t seen;    /* of the pass manager: the last step after which it was in its module */
    bool is_followed; /* by tile_verify_recursion */

    tile_param_decl *params;
    size_t param_count, param_capacity;
    tile_arg_decl *args;
    size_t arg_count, arg_capacity;
    tile_result_decl *results;
    size_t result_count, result_capacity;
    tile_tune_clause *tunes;
    size_t tune_count, tune_capacity;
    const tile_expr **wheres;
    size_t where_count, where_capacity;
    bool tune_auto;   /* `tune auto`: lib/tuning adds clauses and conditions after the own ones */
    bool raster_auto; /* `raster auto`: lib/tuning sets raster_group */
    bool persistent_auto;                   /* `persistent auto`: lib/tuning sets persistent_if */
    bool is_resolved;                       /* lib/tuning has done so, for `resolved_for` */
    const tile_target *resolved_for;        /* NULL: any target */
    tile_scalar resolved_element;           /* NONE: of a parameter without a value */
    uint32_t resolved_given;                /* bit of each tile_role that had a given value */
    size_t own_tune_count, own_where_count; /* those of the text, if is_resolved */
    const tile_expr *grid[3];
    unsigned grid_rank;
    bool is_flat;                 /* y and z of the grid are launched along x (flatten-grid) */
    const tile_expr *unfolded[3]; /* the grid before flatten-grid; NULL: it has not run */
    const tile_expr *cluster[3];
    unsigned cluster_rank;
    const tile_expr *warps;
    tile_raster raster;
    const tile_expr *raster_group; /* number of rows and columns */
    bool is_persistent;
    const tile_expr *persistent_if; /* over parameters, until they are bound; NULL: always */
    const tile_expr *cost;          /* of a tile; NULL: all tiles cost the same */
    bool sync_explicit;
    bool only_copies;        /* packs an array: no remark asks for wider accesses */
    bool has_points;         /* a plan: tile_plan_take_points has nothing left to do */
    const char *instance_of; /* the kernel that a plan's launch instantiated; NULL: none */
    const char *point;       /* its parameter values, as "name = value, .."; NULL: none */
    const char *reference;   /* of @reference<values>; NULL: none */
    tile_param_value *reference_values;
    size_t reference_count;
    tile_loc reference_loc;
    /* By operation, and dim of the tile that it loads or stores: how many elements along it a
     * thread may have at any point of the parameters' tuning space; NULL: there was no space. */
    const unsigned (*widest)[TILE_MAX_RANK];
    size_t widest_count;

    tile_region body;
    tile_op_data *ops;
    size_t op_count, op_capacity; /* count includes entry 0 */
    tile_value_data *values;
    size_t value_count, value_capacity;
    tile_region_data *regions;
    size_t region_count, region_capacity;
    uint32_t *constant_table; /* hash table of constants: value ids, 0 is free */
    size_t constant_capacity, constant_count;
};

/* Functions by the hashes of their names, NULL: free; implemented in lib/ir/names.c. */
typedef struct tile_name_table {
    tile_function **entries;
    size_t capacity; /* a power of two, or 0 */
} tile_name_table;

struct tile_module {
    tile_guarded guarded; /* first */
    tile_context *context;
    tile_arena arena;
    tile_function *first, *last; /* in order, like `functions` */
    tile_function **functions;
    size_t function_count, function_capacity;
    tile_name_table names;
};

/* Pointers into the arrays are invalidated when something is added: do not keep them across a
 * build. */
static inline tile_op_data *tile_op_at(const tile_function *f, tile_op op) {
    return &f->ops[op.id];
}
static inline tile_value_data *tile_value_at(const tile_function *f, tile_value value) {
    return &f->values[value.id];
}
static inline tile_region_data *tile_region_at(const tile_function *f, tile_region region) {
    return &f->regions[region.id];
}
/* The clauses of the text; those of `tune auto` follow them. */
static inline size_t tile_own_tunes(const tile_function *f) {
    return f->is_resolved ? f->own_tune_count : f->tune_count;
}
static inline size_t tile_own_wheres(const tile_function *f) {
    return f->is_resolved ? f->own_where_count : f->where_count;
}
/* A kernel or plan whose parameters have points. */
static inline bool tile_function_has_tune(const tile_function *f) {
    return f->tune_count || f->tune_auto;
}
/* A kernel or a plan. */
static inline bool tile_function_is_launched(const tile_function *f) {
    return f->kind == TILE_KERNEL || f->kind == TILE_PLAN;
}
static inline tile_context *tile_function_context(const tile_function *f) {
    return f->module->context;
}
/* The operation that computes a value, 0 for arguments, region values and constants. */
static inline tile_op tile_value_def(const tile_function *f, tile_value value) {
    const tile_value_data *data = tile_value_at(f, value);
    return (tile_op){data->kind == TILE_VALUE_RESULT ? data->owner : 0};
}

#include "lib/ir/operands.h"

/* The view argument whose base a pointer is, or the pointer itself. */
static inline tile_value tile_pointer_source(const tile_function *f, tile_value pointer) {
    tile_op def = tile_value_def(f, pointer);
    return def.id && f->ops[def.id].opcode == TILE_OP_base ? tile_operand_src(f, def) : pointer;
}

/* Properties of an operand's form: a first value before brackets, values in brackets after it, and
 * optional operands. */
static inline bool tile_form_has_head(tile_operand_form form) {
    return form == TILE_FORM_value || form == TILE_FORM_optional || form == TILE_FORM_element ||
           form == TILE_FORM_part || form == TILE_FORM_address || form == TILE_FORM_optaddress ||
           form == TILE_FORM_whole;
}
static inline bool tile_form_has_brackets(tile_operand_form form) {
    return form == TILE_FORM_element || form == TILE_FORM_part || form == TILE_FORM_address ||
           form == TILE_FORM_optaddress;
}
static inline bool tile_form_is_list(tile_operand_form form) {
    return form == TILE_FORM_list || form == TILE_FORM_optlist || form == TILE_FORM_variadic;
}
static inline bool tile_form_may_miss(tile_operand_form form) {
    return form == TILE_FORM_optional || form == TILE_FORM_whole || form == TILE_FORM_optlist ||
           form == TILE_FORM_optaddress;
}

/* True if operand `operand` of the row is memory that a thread addresses by coordinates: a view, or
 * a shared buffer with its stage; not memory at an offset. */
bool tile_is_placed(const tile_function *f, tile_op op, unsigned operand);

/* True if the user writes the barriers: declared for the function or by an enclosing `sync
 * explicit`. */
bool tile_sync_is_explicit_in(const tile_function *f, tile_region region);
static inline bool tile_sync_is_explicit(const tile_function *f, tile_op op) {
    return tile_sync_is_explicit_in(f, tile_op_at(f, op)->parent);
}

/* The operation as a program spells it, for diagnostics: `reduce` for reduce_with
 * (spellings.def). */
const char *tile_op_spelling(const tile_op_info *info);
const char *tile_opcode_spelling(tile_opcode opcode);
/* The same; of a call, the name of its func. */
const char *tile_op_name(const tile_function *f, tile_op op);
/* A set of tile_effect: the row's effects and, for atomic operations, those of the ordering.
 * Effects on an optional buffer of its own are left out if it is absent (effects.c). */
unsigned tile_op_effects(const tile_function *f, tile_op op);
/* How the completion of its accesses is awaited. For a copy_async it follows from the operands. */
tile_mechanism tile_op_mechanism(const tile_function *f, tile_op op);
/* Returns whether op treats this operand or result as a tile, whose elements are distributed by its
 * layout: a tile, or a buffer that all threads access together. A single thread addresses a buffer
 * by offsets; such buffers may have any extents. */
bool tile_op_handles_tile(const tile_function *f, tile_op op, tile_value value);
/* The operation that encloses op; 0 in the function's body. */
static inline tile_op tile_op_parent(const tile_function *f, tile_op op) {
    return tile_region_at(f, tile_op_at(f, op)->parent)->parent;
}
/* Returns whether op is `outer` or nested in it. */
static inline bool tile_op_is_in(const tile_function *f, tile_op op, tile_op outer) {
    while (op.id && op.id != outer.id) op = tile_op_parent(f, op);
    return op.id != 0;
}

/* for (tile_op op = first; op.id; op = next): the next one is read after the body has run. */
#define TILE_FOR_EACH_OP(f, op, region) \
    for (tile_op op = tile_region_at((f), (region))->first; (op).id; \
         (op) = tile_op_at((f), (op))->next)

/* The operation after op in pre-order: the first one in its regions, else the next one. Returns 0
 * if that would leave the region `root`, or the regions of the operation `outer`. */
tile_op tile_op_leave(const tile_function *f, tile_op op, tile_region root, tile_op outer);
static inline tile_op tile_op_following(const tile_function *f, tile_op op, tile_region root,
                                        tile_op outer) {
    const tile_op_data *data = tile_op_at(f, op);
    bool is_simple = data->next.id && !data->region_count && data->opcode != TILE_OP_NONE;
    return is_simple ? data->next : tile_op_leave(f, op, root, outer);
}
/* The first operation in the regions of op; 0 if they are empty. */
tile_op tile_op_first_nested(const tile_function *f, tile_op op);

/* for (tile_op op = ..): all operations in a region, and in the regions of these, in pre-order.
 *
 * As in TILE_FOR_EACH_OP the following operation is looked up after the body has run:
 * - Operations that the body adds after the current one, or in its regions, are visited. Those that
 *   it adds before it are not.
 * - The body may erase the current operation (tile_erase_op), operations after it and enclosing
 *   ones: the iteration continues with the next remaining one.
 * - If it moves the current operation, the iteration continues from its new place, which must be
 *   inside the region. */
#define TILE_FOR_EACH_OP_INSIDE(f, op, region) \
    for (tile_op op = tile_region_at((f), (region))->first; (op).id; \
         (op) = tile_op_following((f), (op), (region), TILE_NO_OP))

/* The same for the operations in the regions of the operation `outer`. */
#define TILE_FOR_EACH_NESTED_OP(f, op, outer) \
    for (tile_op op = tile_op_first_nested((f), (outer)); (op).id; \
         (op) = tile_op_following((f), (op), TILE_NO_REGION, (outer)))

/* Report at the location of an operation, or of the function for TILE_NO_OP. tile_error_of prefixes
 * the operation's name: "NAME: ...". Errors return false, for `return tile_error_at(..)`. */
TILE_PRINTF(3, 4)
bool tile_error_at(const tile_function *f, tile_op op, const char *format, ...);
TILE_PRINTF(3, 4)
bool tile_error_of(const tile_function *f, tile_op op, const char *format, ...);
TILE_PRINTF(3, 4)
void tile_note_at(const tile_function *f, tile_op op, const char *format, ...);
TILE_PRINTF(3, 4)
void tile_remark_at(const tile_function *f, tile_op op, const char *format, ...);

/* True for extents without an element type, which follows from the operation's operands. A builder
 * or the text may specify it as a result's type; no value has it. */
static inline bool tile_type_is_extents(const tile_type *type) {
    return type->rank && !type->scalar && !type->param;
}

/* A value with many elements. */
static inline bool tile_type_is_array(const tile_type *type) {
    return type->kind == TILE_TYPE_TENSOR || type->kind == TILE_TYPE_TILE ||
           type->kind == TILE_TYPE_VECTOR;
}

/* An argument that is passed as an address. */
static inline bool tile_type_is_address(const tile_type *type) {
    return type->kind == TILE_TYPE_PTR || type->kind == TILE_TYPE_VIEW;
}
/* Returns whether the host computes with arguments of this type, in extents, grids and conditions:
 * signed integers, because it computes in i64. */
static inline bool tile_type_is_size(const tile_type *type) {
    return type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(type->scalar) &&
           !tile_scalar_is_unsigned(type->scalar);
}
/* The type of a view argument's value: as far as the expressions determine it without arguments. */
const tile_type *tile_view_arg_type(tile_context *context, const tile_type *element, unsigned rank,
                                    const tile_expr *const *extents,
                                    const tile_expr *const *strides);
/* Declares a view argument of this type, which tile_view_arg_type has made from these expressions.
 */
tile_value tile_declare_view_arg(tile_function *f, const char *name, const tile_type *type,
                                 const tile_expr *const *extents, const tile_expr *const *strides);
/* True if the expression refers to an argument of the function. */
bool tile_expr_has_arg(const tile_expr *expr);
/* The product; the other factor if one is 1; NULL if one is. */
const tile_expr *tile_expr_multiply(tile_context *context, const tile_expr *a, const tile_expr *b);
/* One form for all spellings of a sum of products and shifts; NULL if the extent is. */
const tile_expr *tile_extent_canonical(tile_context *context, const tile_expr *extent);
/* The value; false if it is not known, or if an operation overflows or shifts by a negative number.
 * So extents with one canonical form have one value. */
bool tile_extent_eval(const tile_expr *extent, const tile_bindings *bindings, int64_t *value);
/* Extents are equal if their canonical forms are: the same value for all parameters. Those that
 * differ do so by a known number; others may have the same value. Types are equal if they differ
 * at most in the spelling of extents and strides. */
bool tile_extents_equal(tile_context *context, const tile_expr *a, const tile_expr *b);
bool tile_extents_differ(tile_context *context, const tile_expr *a, const tile_expr *b);
bool tile_type_same_dims(tile_context *context, const tile_type *a, const tile_type *b);
bool tile_type_equal(tile_context *context, const tile_type *a, const tile_type *b);

/* The layout of the result of an element-wise operation: a named layout is kept if it is the same
 * for both element types; otherwise the result has no layout. */
const tile_layout *tile_layout_for_scalar(const tile_layout *layout, tile_scalar from,
                                          tile_scalar to);

/* Returns which limit of its kind a type exceeds, "more than ..."; NULL if it exceeds none. */
const char *tile_type_excess(const tile_type *type);

/* Bytes of a shared buffer: each stage is rounded up to a multiple of one thread's widest access.
 * -1 if an extent is not known or not positive; INT32_MAX if the size is larger. */
int64_t tile_type_shared_bytes(const tile_type *type);

/* Values of operand `operand` of the row (the base of an element first). */
tile_values tile_op_segment(const tile_function *f, tile_op op, unsigned operand);
const tile_attr *tile_op_attr(const tile_function *f, tile_op op, tile_attr_id id);
/* Returns whether the attribute's kind is its row's kind, or an expression in place of a word,
 * which may be a parameter. Builders accept any kind; tile_function_verify rejects the others. */
bool tile_attr_has_its_kind(const tile_attr *attr);
/* The attribute's word, text or symbol; NULL if it is absent. */
const char *tile_op_attr_text(const tile_function *f, tile_op op, tile_attr_id id);
/* The place of the attribute's value, such as the name @f; the operation's if it is unknown. */
tile_loc tile_op_attr_loc(const tile_function *f, tile_op op, tile_attr_id id);
/* Does nothing if the operation does not have the attribute. */
void tile_op_set_attr_loc(tile_function *f, tile_op op, tile_attr_id id, tile_loc loc);
bool tile_op_has_attr(const tile_function *f, tile_op op, tile_attr_id id);
/* The attribute's constant, or `otherwise` if it is absent or not constant. */
int64_t tile_op_attr_int(const tile_function *f, tile_op op, tile_attr_id id, int64_t otherwise);
/* Copies an attribute of source, in a function of the same module, to op; does nothing if source
 * does not have it. */
void tile_op_take_attr(tile_function *f, tile_op op, const tile_function *from, tile_op source,
                       tile_attr_id id);
void tile_op_remove_attr(tile_function *f, tile_op op, tile_attr_id id);

/* An `extract` that emits no code because its index is a constant. */
static inline bool tile_extract_is_name(const tile_function *f, tile_op op) {
    return f->values[tile_operand_first(f, op).id].kind == TILE_VALUE_CONSTANT;
}

/* True and *integer if the value is an integer constant. */
bool tile_value_is_int(const tile_function *f, tile_value value, int64_t *integer);
/* Returns whether the value is this integer constant. */
static inline bool tile_value_is(const tile_function *f, tile_value value, int64_t number) {
    int64_t integer;
    return tile_value_is_int(f, value, &integer) && integer == number;
}
static inline bool tile_expr_is(const tile_expr *expr, int64_t number) {
    int64_t integer;
    return tile_expr_is_int(expr, &integer) && integer == number;
}
/* The function's constant of this type. */
tile_value tile_function_constant(tile_function *f, const tile_type *type, const tile_expr *expr);

tile_value tile_add_value(tile_function *f, tile_value_kind kind, uint32_t owner, uint32_t index,
                          const tile_type *type);
tile_region tile_add_region(tile_function *f, tile_op parent, const tile_type *const *arg_types,
                            unsigned arg_count);
/* Makes the region op's region r, which must be empty. The region has no parent operation yet. */
void tile_adopt_region(tile_function *f, tile_op op, unsigned r, tile_region region);
/* Adds an operation without checks at the builder's place. Operands are copied, and results get the
 * types. The caller adds regions with tile_add_region. */
tile_op tile_add_op(tile_builder *builder, tile_opcode opcode, const tile_value *operands,
                    unsigned operand_count, const uint16_t *segments,
                    const tile_type *const *result_types, unsigned result_count);
/* Copies op, with its regions, to the builder's place. Operands (and inner ones) are mapped by map
 * (value id -> value, 0 keeps it), to which the new results are added. map has at least map_count =
 * value_count entries at the time of the call; values created meanwhile are not looked up. */
tile_op tile_clone_op(tile_builder *builder, tile_op op, tile_value *map, size_t map_count);

/* Removes the operation and its regions. Its results must be unused. It keeps `next` and `parent`,
 * so that an iteration at it can continue. */
void tile_erase_op(tile_function *f, tile_op op);
/* Moves op before another one (0: to the end of region). */
void tile_move_op(tile_function *f, tile_op op, tile_region region, tile_op before);
/* Replaces operands throughout a region (and nested ones): by map[id] if it is not 0. */
void tile_replace_values(tile_function *f, tile_region region, const tile_value *map);
/* Empties the function's body and restarts its op, value and region arrays. Arguments are kept in
 * order with the ids 1, 2, ... For passes that build a new body: *old becomes a shallow copy of the
 * function; copy what you need from it first. */
void tile_function_restart(tile_function *f, tile_function *old);

/* The operations of the body with this opcode, in order; allocated in the arena. */
tile_op *tile_find_ops(const tile_function *f, tile_opcode opcode, tile_arena *arena,
                       unsigned *count);

/* True if the value is an operand of op. */
bool tile_op_uses(const tile_function *f, tile_op op, tile_value value);
/* True if it has a `pdl_wait`. */
bool tile_function_waits(const tile_function *f);

/* Copies values. Names are interned; a missing one becomes empty. */
tile_param_value *tile_copy_values(tile_module *module, const tile_param_value *values,
                                   unsigned count);
/* Moves the function behind all others of its module. */
void tile_module_move_last(tile_function *function);
/* A copy at the end of the same module. The name must not be in use. */
tile_function *tile_function_clone(tile_function *from, const char *name);

/* The number of uses of each value as an operand: an array of value_count entries in the arena. */
uint32_t *tile_count_uses(const tile_function *f, tile_arena *arena);

/* The variable of the `for` of a plan around which there are `depth` others. */
const tile_expr *tile_expr_loop(tile_context *context, unsigned depth);
/* The number of `for` operations around op. */
unsigned tile_loop_depth(const tile_function *f, tile_op op);
/* An integer value as a host expression over arguments, parameters and, in a plan, variables of
 * loops. If it is computed from
 * grid_dim, the expression also contains what the grid's extents refer to. NULL if it is no such
 * value or has more than a thousand nodes. */
const tile_expr *tile_value_as_expr(const tile_function *f, tile_value value);
/* The same, also over block_id, as the cost of a tile may be. */
const tile_expr *tile_value_as_cost(const tile_function *f, tile_value value);

#endif
