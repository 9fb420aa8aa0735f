/* Tile IR: modules, functions, operations, values, types and host expressions.
 *
 * A module holds functions: computes (level 1), kernels (levels 2 and 3) and plans (level 0: what
 * the host launches, in which order). A function holds regions, a region holds one list of
 * operations, an operation holds operands, results, attributes and up to two regions. Operations,
 * values and regions are 32-bit ids in their function; id 0 is "none".
 *
 * Ownership: a module owns its functions and all memory in them; types, expressions and names
 * belong to the context and live as long as it does. All pointers handed out here are borrowed.
 * Threads: as for the context. */
#ifndef TILE_IR_H
#define TILE_IR_H

#include "tile/base.h"
#include "tile/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Scalars ------------------------------------------------------------------------------------- */

typedef enum tile_scalar {
    TILE_SCALAR_NONE = 0,
#define SCALAR(number, name, bits, class, exponent, mantissa, pack, use, meaning) \
    TILE_##name = number,
#include "tile/scalars.def"
#undef SCALAR
    TILE_SCALAR_COUNT
} tile_scalar;

TILE_API const char *tile_scalar_name(tile_scalar scalar);
TILE_API unsigned tile_scalar_bits(tile_scalar scalar);
/* Bytes in memory: i1 takes one. */
TILE_API unsigned tile_scalar_bytes(tile_scalar scalar);
TILE_API bool tile_scalar_is_floating(tile_scalar scalar);
/* Bits of a float's fraction, without the implicit one; 0 for integers. */
TILE_API unsigned tile_scalar_mantissa(tile_scalar scalar);
/* The largest integer up to which all have a value of this type, which has a sign. */
TILE_API double tile_scalar_whole_limit(tile_scalar scalar);
/* False for types that are only stored, converted and multiplied by dot. */
TILE_API bool tile_scalar_has_arithmetic(tile_scalar scalar);
TILE_API tile_scalar tile_scalar_from_name(const char *name, size_t length);
/* One element in memory as a double, and back; the address need not be aligned. Floats are rounded
 * to nearest even (tf32: ties away from zero), and what is too large becomes an infinity, or the
 * largest finite number in the 8-bit types. Integers are truncated towards zero and
 * clamped to their range, NaN to 0. i64 beyond 2^53 loses bits. */
TILE_API double tile_scalar_read(tile_scalar scalar, const void *at);
TILE_API void tile_scalar_write(tile_scalar scalar, void *at, double value);

/* Operations' and attributes' numbers --------------------------------------------------------- */

typedef enum tile_opcode {
    TILE_OP_NONE = 0,
#define OP(number, name, ...) TILE_OP_##name = number,
#include "tile/ops.def"
    TILE_OPCODE_LIMIT = 512
} tile_opcode;

typedef enum tile_attr_id {
    TILE_ATTR_NONE = 0,
#define ATTR(number, name, ...) TILE_ATTR_##name = number,
#include "tile/attrs.def"
    TILE_ATTR_LIMIT = 192
} tile_attr_id;

typedef enum tile_attr_kind {
    TILE_KIND_flag,
    TILE_KIND_expr,
    TILE_KIND_list,
    TILE_KIND_word,
    TILE_KIND_text,
    TILE_KIND_symbol,
    TILE_KIND_constant,
    TILE_KIND_values, /* tile_param_value's, in `<..>` */
    TILE_KIND_tile,
} tile_attr_kind;

/* How an operand is written; ops.def explains each. */
typedef enum tile_operand_form {
    TILE_FORM_value,
    TILE_FORM_optional,
    TILE_FORM_element,
    TILE_FORM_part,
    TILE_FORM_address,
    TILE_FORM_optaddress,
    TILE_FORM_whole,
    TILE_FORM_list,
    TILE_FORM_optlist,
    TILE_FORM_variadic,
} tile_operand_form;

typedef enum tile_operand_class {
    TILE_CLASS_any,
    TILE_CLASS_number,   /* integers or floats: scalar, tensor, tile or vector */
    TILE_CLASS_integer,  /* of these, integers (i1 too) */
    TILE_CLASS_floating, /* of these, floats */
    TILE_CLASS_boolean,  /* i1: scalar, tensor, tile or vector */
    TILE_CLASS_scalar,
    TILE_CLASS_index,      /* scalar i32 */
    TILE_CLASS_long_index, /* scalar i32 or i64 */
    TILE_CLASS_constant,   /* scalar i32 known at compile time */
    TILE_CLASS_pointer,
    TILE_CLASS_tensor,
    TILE_CLASS_view,
    TILE_CLASS_shared,      /* of the block itself */
    TILE_CLASS_any_shared,  /* of any block of its cluster */
    TILE_CLASS_barrier,     /* a shared buffer of barriers, of the block itself */
    TILE_CLASS_any_barrier, /* of any block of its cluster */
    TILE_CLASS_global,      /* pointer or view */
    TILE_CLASS_memory,      /* view or shared */
    TILE_CLASS_location,    /* pointer, view or shared */
    TILE_CLASS_tile,
    TILE_CLASS_tile_or_shared,
    TILE_CLASS_vector,
    TILE_CLASS_tensor_map,
    TILE_CLASS_descriptor,
    TILE_CLASS_vector_or_descriptor,
} tile_operand_class;

/* What an operation does to the memory behind an operand. */
typedef enum tile_access_kind {
    TILE_ACCESS_none = 0,
    TILE_ACCESS_read = 1,
    TILE_ACCESS_write = 2,
    TILE_ACCESS_update = 3, /* read and write */
} tile_access_kind;

/* What an operation is like; a set. */
typedef enum tile_trait {
    TILE_TRAIT_ELEMENTWISE =
        1 << 0, /* element i of the result comes from element i of each operand */
    TILE_TRAIT_COMMUTATIVE = 1 << 1, /* its two operands may be exchanged */
    TILE_TRAIT_COMPARE = 1 << 2,     /* the result is i1, whatever the operands are */
    TILE_TRAIT_CONVERT = 1 << 3,     /* the result's element type is another than the operand's */
    TILE_TRAIT_WHOLE_SET = 1 << 4,   /* all threads of the executing set take part, with the same
                                        operands */
    TILE_TRAIT_ONE_THREAD = 1 << 5,  /* of them, the first one does it for all */
    TILE_TRAIT_DIVERGES = 1 << 6,    /* equal operands do not make equal results in all threads */
    TILE_TRAIT_FRESH = 1 << 7,       /* each one has a result of its own: two are never merged */
    TILE_TRAIT_OWN_BUFFER = 1 << 8,  /* what it writes to shared memory only itself reads */
    TILE_TRAIT_BARRIER_BEFORE =
        1 << 9, /* its lowering has a barrier of the set before the access */
    TILE_TRAIT_BARRIER_AFTER = 1 << 10, /* ... behind it */
    TILE_TRAIT_UNIFORM =
        1 << 11, /* the result is one for the executing set, whatever the operands */
    TILE_TRAIT_SIDE_RESULT = 1 << 12, /* the text may leave the result without a name */
    TILE_TRAIT_GATHERS = 1 << 13,     /* the brackets of its memory may hold index tiles */
    TILE_TRAIT_ROUNDS = 1 << 14,      /* floats: whole operands do not make a whole, exact result */
} tile_trait;

/* What an operation does besides computing results; a set. Those on memory follow from its
 * operands' accesses, ASYNC and WAIT from its completion. */
typedef enum tile_effect {
    TILE_EFFECT_READ_GLOBAL = 1 << 0,
    TILE_EFFECT_WRITE_GLOBAL = 1 << 1,
    TILE_EFFECT_READ_SHARED = 1 << 2,
    TILE_EFFECT_WRITE_SHARED = 1 << 3,
    TILE_EFFECT_ASYNC = 1 << 4,      /* its accesses end at a later wait, or it groups such ones */
    TILE_EFFECT_WAIT = 1 << 5,       /* ends asynchronous accesses */
    TILE_EFFECT_BARRIER = 1 << 6,    /* all threads of the executing set meet */
    TILE_EFFECT_ACQUIRE = 1 << 7,    /* later accesses stay behind it */
    TILE_EFFECT_RELEASE = 1 << 8,    /* earlier accesses stay before it */
    TILE_EFFECT_COLLECTIVE = 1 << 9, /* all threads of a warp must reach it together */
    TILE_EFFECT_REGION = 1 << 10,    /* its effects are those of its regions */
    TILE_EFFECT_TERMINATOR = 1 << 11,
    TILE_EFFECT_ALLOC = 1 << 12,     /* begins or ends a shared buffer */
    TILE_EFFECT_CLUSTER = 1 << 13,   /* all threads of all blocks of the cluster meet: RELEASE they
                                        arrive, ACQUIRE they wait */
    TILE_EFFECT_ATOMIC = 1 << 14,    /* its accesses race with none that are atomic */
    TILE_EFFECT_REPORT = 1 << 16,    /* tells the host or the caches something, or stops */
    TILE_EFFECT_WARPGROUP = 1 << 15, /* all threads of a warpgroup, four warps from a multiple of
                                        four on, execute it */
} tile_effect;

/* How asynchronous accesses are waited for. */
typedef enum tile_mechanism {
    TILE_MECHANISM_NONE = 0,
    TILE_MECHANISM_GROUP,      /* cp.async groups of each thread */
    TILE_MECHANISM_BULK_GROUP, /* cp.async.bulk groups */
    TILE_MECHANISM_WGMMA,      /* wgmma groups */
    TILE_MECHANISM_BARRIER,    /* bytes counted by an mbarrier */
    TILE_MECHANISM_COUNT
} tile_mechanism;

typedef enum tile_completion {
    TILE_COMPLETION_NOW = 0, /* done when the operation is */
    TILE_COMPLETION_STARTS,  /* its accesses are asynchronous */
    TILE_COMPLETION_COMMITS, /* makes a group of those started */
    TILE_COMPLETION_WAITS,   /* until groups or bytes are complete */
} tile_completion;

/* How an operation's regions run. */
typedef enum tile_region_shape {
    TILE_SHAPE_NONE = 0,
    TILE_SHAPE_LOOP,     /* one region, again and again; it hands values to its next iteration */
    TILE_SHAPE_WHILE,    /* the first region, and as long as that says so the second and it again */
    TILE_SHAPE_BRANCH,   /* one of its regions */
    TILE_SHAPE_BODY,     /* each of its regions once, side by side */
    TILE_SHAPE_ELEMENTS, /* one region, once for each element of its results */
} tile_region_shape;

enum {
    TILE_LEVEL_0 = 1 << 0,
    TILE_LEVEL_1 = 1 << 1,
    TILE_LEVEL_2 = 1 << 2,
    TILE_LEVEL_3 = 1 << 3,
    /* Sets of them, under the names that the tables use. */
    TILE_LEVELS_L0 = TILE_LEVEL_0,
    TILE_LEVELS_L1 = TILE_LEVEL_1,
    TILE_LEVELS_L2 = TILE_LEVEL_2,
    TILE_LEVELS_L3 = TILE_LEVEL_3,
    TILE_LEVELS_L02 = TILE_LEVEL_0 | TILE_LEVEL_2,
    TILE_LEVELS_L12 = TILE_LEVEL_1 | TILE_LEVEL_2,
    TILE_LEVELS_L123 = TILE_LEVEL_1 | TILE_LEVEL_2 | TILE_LEVEL_3,
    TILE_LEVELS_L23 = TILE_LEVEL_2 | TILE_LEVEL_3,
    TILE_LEVELS_L023 = TILE_LEVEL_0 | TILE_LEVEL_2 | TILE_LEVEL_3,
    TILE_LEVELS_LX = TILE_LEVEL_0 | TILE_LEVEL_1 | TILE_LEVEL_2 | TILE_LEVEL_3,
};

enum { TILE_MAX_OPERANDS = 8, TILE_MAX_ATTRS = 12 };

/* A row of ops.def. */
typedef struct tile_op_info {
    const char *name; /* NULL where a number is not in use */
    unsigned levels;  /* a set of TILE_LEVEL_* */
    unsigned operand_count;
    struct {
        tile_operand_form form;
        const char *name;
        tile_operand_class class_;
        tile_access_kind access;
    } operands[TILE_MAX_OPERANDS + 1]; /* operand_count of them */
    unsigned attr_count;
    struct {
        bool required;
        tile_attr_id id;
    } attrs[TILE_MAX_ATTRS + 1]; /* attr_count of them */
    bool type_given;             /* the operands do not tell the result's type */
    tile_region_shape shape;
    unsigned traits;  /* a set of tile_trait */
    unsigned effects; /* a set of tile_effect */
    tile_completion completion;
    tile_mechanism mechanism; /* of the completion */
    const char *meaning;
} tile_op_info;

/* Never NULL for a number of tile_opcode; the name is NULL for one that is not in use. */
TILE_API const tile_op_info *tile_op_get_info(tile_opcode opcode);
/* Also of a name with a word of the attribute `kind` behind it, as the text has it: atomic_add. */
TILE_API tile_opcode tile_opcode_from_name(const char *name, size_t length);
/* True if the operation has any of these traits. */
TILE_API bool tile_op_has_trait(tile_opcode opcode, unsigned traits);

typedef struct tile_attr_info {
    const char *name;
    tile_attr_kind kind;
    const char *meaning;
    /* Between passes, see attrs.def: names separated by blanks, and one name. */
    const char *by, *read_by, *until;
} tile_attr_info;

TILE_API const tile_attr_info *tile_attr_get_info(tile_attr_id id);
/* The words that an attribute of kind word may be, in order; NULL past the end. */
TILE_API const char *tile_attr_word(tile_attr_id id, unsigned index);
TILE_API tile_attr_id tile_attr_from_name(const char *name, size_t length);

/* In which order the tiles of a grid's first two dims, x and y, are visited. */
typedef enum tile_raster {
    TILE_RASTER_NONE = 0, /* x first, then y */
    TILE_RASTER_ROWS,     /* groups of rows (neighbours in x); in each x first, then y */
    TILE_RASTER_COLUMNS,  /* groups of columns (neighbours in y); in each y first, then x */
} tile_raster;

/* Host expressions ---------------------------------------------------------------------------- */

/* An expression over constants, compile-time parameters, a function's arguments and what the launch
 * knows of the device, evaluated in i64 (truth values are 0 and 1). Each exists once in its
 * context: equal expressions are the same pointer. Constants are folded when an expression is made.
 */
typedef enum tile_expr_kind {
    TILE_EXPR_INT,
    TILE_EXPR_FLOAT,    /* only as a constant value's whole expression */
    TILE_EXPR_PARAM,    /* a compile-time parameter, by name */
    TILE_EXPR_ARG,      /* an argument of the function, by index */
    TILE_EXPR_NUM_SMS,  /* streaming multiprocessors of the device that a launch goes to */
    TILE_EXPR_BLOCK_ID, /* a coordinate of the tile, by dim: only in the cost of a tile */
    TILE_EXPR_WORD,     /* a word, or a scalar type's name: equal to itself only */
    TILE_EXPR_OP,       /* an arithmetic operation of ops.def on one to three expressions */
} tile_expr_kind;

typedef struct tile_expr {
    tile_expr_kind kind;
    int64_t integer;    /* INT: the value. ARG: the index. BLOCK_ID: the dim */
    double number;      /* FLOAT */
    const char *name;   /* PARAM, WORD */
    tile_opcode opcode; /* OP */
    const struct tile_expr *args[3];
} tile_expr;

TILE_API const tile_expr *tile_expr_int(tile_context *context, int64_t value);
TILE_API const tile_expr *tile_expr_float(tile_context *context, double value);
TILE_API const tile_expr *tile_expr_param(tile_context *context, const char *name);
TILE_API const tile_expr *tile_expr_arg(tile_context *context, unsigned index);
/* What a parameter of kind word or type is compared with, by eq and ne, and what `tune` and
 * defaults give it. Evaluated, a word is a number that no other word has. */
TILE_API const tile_expr *tile_expr_word(tile_context *context, const char *word);
/* Only where the launch evaluates it: code is made without knowing it. */
TILE_API const tile_expr *tile_expr_num_sms(tile_context *context);
/* dim: 0 to 2. */
TILE_API const tile_expr *tile_expr_block_id(tile_context *context, unsigned dim);
/* NULL if opcode is not integer arithmetic of that many operands, or an operand is NULL. */
TILE_API const tile_expr *tile_expr_op(tile_context *context, tile_opcode opcode,
                                       const tile_expr *a, const tile_expr *b, const tile_expr *c);

/* True and *value if the expression is an integer constant. */
TILE_API bool tile_expr_is_int(const tile_expr *expr, int64_t *value);

/* Streaming multiprocessors of a device, at most: more are not known to any expression. */
enum { TILE_MAX_SMS = 1 << 20 };

/* Where the parameters' and arguments' values come from; a function that returns false makes the
 * evaluation fail. Either may be NULL, block_id too, and num_sms 0: not known. */
typedef struct tile_bindings {
    bool (*param)(const char *name, int64_t *value, void *user);
    bool (*arg)(unsigned index, int64_t *value, void *user);
    void *user;
    int64_t num_sms;
    const int64_t *block_id; /* x, y, z */
} tile_bindings;

/* False if something is not bound, or on division by zero. */
TILE_API bool tile_expr_eval(const tile_expr *expr, const tile_bindings *bindings, int64_t *value);
/* The expression with what is bound replaced by its value. */
TILE_API const tile_expr *tile_expr_substitute(tile_context *context, const tile_expr *expr,
                                               const tile_bindings *bindings);

/* The meaning of the element-wise operations on numbers (lib/ir/arith.def), which folding, level 1
 * and the CPU device share. Operands that an operation does not have are not looked at. False if it
 * has no such meaning, and on division by zero. Integers are i64 and wrap, as in tile_expr_eval; a
 * narrower type's result is wrapped by the caller. */
TILE_API bool tile_fold_int(tile_opcode opcode, int64_t a, int64_t b, int64_t c, int64_t *result);
/* Floats: the result in f64 of operands of this type; rounded to it (comparisons: 0 or 1), the
 * operation has been rounded once. */
TILE_API bool tile_fold_float(tile_opcode opcode, tile_scalar scalar, double a, double b, double c,
                              double *result);

/* Types --------------------------------------------------------------------------------------- */

typedef enum tile_type_kind {
    TILE_TYPE_SCALAR,
    TILE_TYPE_PTR,
    TILE_TYPE_TENSOR,     /* level 1: a whole array, a value */
    TILE_TYPE_VIEW,       /* global memory as an array, a reference */
    TILE_TYPE_SHARED,     /* shared memory: stages, then one tile, a reference */
    TILE_TYPE_TILE,       /* a tile in the block's registers, a value */
    TILE_TYPE_VECTOR,     /* level 3: one thread's fragment, a value */
    TILE_TYPE_MAP,        /* level 3: boxes of global memory (a CUtensorMap), a reference */
    TILE_TYPE_DESCRIPTOR, /* level 3: a matrix in shared memory, as wgmma names it; 64 bits */
} tile_type_kind;

/* Each type exists once in its context: equal types are the same pointer. Read only. */
typedef struct tile_type {
    tile_type_kind kind;
    tile_scalar scalar;                      /* the element's; NONE while it is a type parameter */
    const char *param;                       /* name of that type parameter, else NULL */
    unsigned rank;                           /* 0 for scalars and pointers, 1 for vectors */
    const tile_expr *dims[TILE_MAX_RANK];    /* NULL: known when the kernel runs (`?`) */
    bool has_strides;                        /* views: strides are part of the type */
    const tile_expr *strides[TILE_MAX_RANK]; /* in elements; NULL: `?` */
    const tile_expr *stages;                 /* shared: NULL if there are none */
    bool cluster;                            /* shared: of a block of the cluster, by map_shared */
    bool mn_major; /* descriptors: along m or n elements follow each other, else along k */
    const tile_layout *layout; /* tiles and shared buffers; NULL: not assigned yet */
} tile_type;

/* The type that equals *draft: fills it from the context, or adds it. NULL after a diagnostic, as
 * from all functions that make types, if its kind, element type, rank or layout does not exist. */
TILE_API const tile_type *tile_type_get(tile_context *context, const tile_type *draft);

TILE_API const tile_type *tile_type_scalar(tile_context *context, tile_scalar scalar);
TILE_API const tile_type *tile_type_ptr(tile_context *context, tile_scalar scalar);
TILE_API const tile_type *tile_type_vector(tile_context *context, tile_scalar scalar,
                                           unsigned count);
/* dims: rank extents; tensors, tiles, and views without strides in the type. -1 is `?`. */
TILE_API const tile_type *tile_type_tensor(tile_context *context, tile_scalar scalar, unsigned rank,
                                           const int64_t *dims);
TILE_API const tile_type *tile_type_view(tile_context *context, tile_scalar scalar, unsigned rank,
                                         const int64_t *dims);
TILE_API const tile_type *tile_type_tile(tile_context *context, tile_scalar scalar, unsigned rank,
                                         const int64_t *dims);
/* stages 0: a buffer without stages. */
TILE_API const tile_type *tile_type_shared(tile_context *context, tile_scalar scalar,
                                           unsigned stages, unsigned rank, const int64_t *dims);
/* A matrix in shared memory whose elements follow each other along k, or along m or n. */
TILE_API const tile_type *tile_type_descriptor(tile_context *context, tile_scalar scalar,
                                               bool mn_major);
/* A shared buffer as map_shared gives it, in the block itself or in another one of the cluster. */
TILE_API const tile_type *tile_type_in_cluster(tile_context *context, const tile_type *shared);
TILE_API const tile_type *tile_type_with_layout(tile_context *context, const tile_type *type,
                                                const tile_layout *layout);
TILE_API const tile_type *tile_type_with_scalar(tile_context *context, const tile_type *type,
                                                tile_scalar scalar);

/* The extent of dim d, or -1 if it is not a constant. */
TILE_API int64_t tile_type_dim(const tile_type *type, unsigned d);
/* How many elements a tile, vector, tensor or one stage has; 1 for scalars; -1 if not constant.
 * 2^40 stands for whatever is more, so that a count of bytes always fits. */
TILE_API int64_t tile_type_elements(const tile_type *type);
/* How many stages a shared buffer has (1 without stages); -1 if not constant. */
TILE_API int64_t tile_type_stage_count(const tile_type *type);
/* How many elements of one thread a tile's layout needs. */
TILE_API unsigned tile_type_registers(const tile_type *type);

/* Functions ----------------------------------------------------------------------------------- */

typedef struct tile_value {
    uint32_t id;
} tile_value;
typedef struct tile_op {
    uint32_t id;
} tile_op;
typedef struct tile_region {
    uint32_t id;
} tile_region;

typedef struct tile_module tile_module;
typedef struct tile_function tile_function;

typedef enum tile_function_kind { TILE_COMPUTE, TILE_KERNEL, TILE_PLAN } tile_function_kind;

typedef enum tile_param_kind {
    TILE_PARAM_int,
    TILE_PARAM_bool,
    TILE_PARAM_type,
    TILE_PARAM_dim,
    TILE_PARAM_word, /* for attributes that are words, and comparisons */
} tile_param_kind;

TILE_API tile_module *tile_module_create(tile_context *context);
TILE_API void tile_module_destroy(tile_module *module);
TILE_API tile_context *tile_module_context(const tile_module *module);
/* Functions in the order they were added. NULL past the end, or if there is no such name. */
TILE_API tile_function *tile_module_function(const tile_module *module, unsigned index);
TILE_API tile_function *tile_module_find(const tile_module *module, const char *name);
/* Takes a function out; its memory stays with the module. */
TILE_API void tile_module_remove(tile_module *module, tile_function *function);
/* A deep copy in the same context. */
TILE_API tile_module *tile_module_clone(const tile_module *module);

/* A new, empty function. NULL (and a diagnostic) if the name is taken. */
TILE_API tile_function *tile_function_create(tile_module *module, tile_function_kind kind,
                                             const char *name, tile_loc loc);
TILE_API const char *tile_function_name(const tile_function *function);
TILE_API tile_function_kind tile_function_get_kind(const tile_function *function);
/* 0 for plans, 1 for computes; kernels are at level 2 (when they are created, too) until they are
 * lowered, then at level 3: what stands in them is what threads do, with the barriers and the
 * places of shared buffers that it names, and it is run as it stands. */
TILE_API unsigned tile_function_level(const tile_function *function);
/* For kernels that are built at level 3; tile_function_verify checks what that promises. */
TILE_API void tile_function_set_level(tile_function *function, unsigned level);

/* Declarations: names are copied; a function's arguments and results are numbered in the order in
 * which they are added, and an index given below is one of these. What cannot be is reported by
 * tile_function_verify. */

/* Declares a compile-time parameter; default_expr and default_type may be NULL. */
TILE_API void tile_function_add_param(tile_function *function, const char *name,
                                      tile_param_kind kind, const tile_expr *default_expr,
                                      const tile_type *default_type);
/* Whether it has a parameter of that name and kind int with a number by default, which the pass
 * `schedule` takes where none is given. */
TILE_API bool tile_function_has_number(const tile_function *function, const char *param);
/* Adds an argument and returns the value it has in the body. */
TILE_API tile_value tile_function_add_arg(tile_function *function, const char *name,
                                          const tile_type *type);
/* The same for a view: %name: view<element[extents], strides [strides]>. rank expressions over
 * parameters and integer arguments before it, strides in elements; strides NULL: row-major.
 * element: a scalar type. The value's type has `?` where an expression is over arguments. Whoever
 * launches the kernel gives a pointer, and vouches that the extents are 0 to 2^31 - 1. */
TILE_API tile_value tile_function_add_view_arg(tile_function *function, const char *name,
                                               const tile_type *element, unsigned rank,
                                               const tile_expr *const *extents,
                                               const tile_expr *const *strides);
/* {divisible = n} (0: nothing is said, and instantiating takes pointers and views to be aligned to
 * 16 bytes, unless the kernel is at level 3; 1: nothing is known), {noalias}, {const} of an
 * argument. */
TILE_API void tile_function_set_arg_divisible(tile_function *function, unsigned arg,
                                              unsigned divisor);
TILE_API void tile_function_set_arg_noalias(tile_function *function, unsigned arg, bool noalias);
TILE_API void tile_function_set_arg_const(tile_function *function, unsigned arg, bool is_const);
/* {const, value = n}: what the argument is. Instantiating puts it in its place everywhere. */
TILE_API void tile_function_set_arg_value(tile_function *function, unsigned arg, int64_t value);
/* Computes: declares a result; its value is set when the body is built. */
TILE_API void tile_function_add_result(tile_function *function, const char *name,
                                       const tile_type *type);
TILE_API void tile_function_set_result(tile_function *function, unsigned index, tile_value value);

/* Kernels: blocks in the grid (1 to 3 expressions over parameters and arguments). */
TILE_API void tile_function_set_grid(tile_function *function, unsigned rank,
                                     const tile_expr *const *extents);
/* `flat`: the grid is launched along x. block_id keeps meaning the grid that is written. */
TILE_API void tile_function_set_flat(tile_function *function, bool is_flat);
/* Blocks in a cluster, likewise; parameters only. */
TILE_API void tile_function_set_cluster(tile_function *function, unsigned rank,
                                        const tile_expr *const *extents);
/* Warps of a block: an expression over parameters. */
TILE_API void tile_function_set_warps(tile_function *function, const tile_expr *warps);
/* The order in which tiles are visited; block_id is still a tile's coordinates. group: an
 * expression over parameters from 1 to TILE_MAX_RASTER_GROUP; NULL for TILE_RASTER_NONE. */
TILE_API void tile_function_set_raster(tile_function *function, tile_raster raster,
                                       const tile_expr *group);
/* `persistent`: as many blocks are launched as run at once, and each visits many tiles. With a cost
 * of a tile, over parameters, integer arguments and tile_expr_block_id, `persistent balanced by`:
 * tiles come in the order of their numbers, each to the block that has the least to do so far.
 * cost: NULL if all cost the same. */
TILE_API void tile_function_set_persistent(tile_function *function, bool persistent,
                                           const tile_expr *cost);
/* `persistent if`: only where the condition, over parameters, is not 0; NULL: always. */
TILE_API void tile_function_set_persistent_if(tile_function *function, const tile_expr *condition);
/* `sync explicit`: the user writes every barrier. */
TILE_API void tile_function_set_sync_explicit(tile_function *function, bool is_explicit);
/* A value for a parameter of another function that is named: `@k<block = 64, T = f16>`. One of expr
 * and type is not NULL. */
typedef struct tile_param_value {
    const char *name;
    const tile_expr *expr;
    const tile_type *type;
} tile_param_value;

/* Kernels and plans: `of @compute<values>`, what is computed. Arguments and results of the compute
 * are the function's arguments of their names, tensors its pointers or views. A dim of the compute
 * that is neither in values nor a scalar argument is the function's parameter of its name. Names
 * and values are copied. */
TILE_API void tile_function_set_reference(tile_function *function, const char *compute,
                                          const tile_param_value *values, unsigned count);
/* The compute's name, NULL if there is none. */
TILE_API const char *tile_function_reference(const tile_function *function);
/* A condition on the parameters, without which the kernel is not instantiated. One that names
 * integer arguments decides which points the launches of a size may take. */
TILE_API void tile_function_add_where(tile_function *function, const tile_expr *condition);
/* tune (names...) in [points...]: point i's values are values[i * name_count ...]. */
TILE_API void tile_function_add_tune(tile_function *function, unsigned name_count,
                                     const char *const *names, unsigned point_count,
                                     const tile_expr *const *values);

TILE_API unsigned tile_function_arg_count(const tile_function *function);
TILE_API tile_value tile_function_arg(const tile_function *function, unsigned index);
TILE_API const char *tile_function_arg_name(const tile_function *function, unsigned index);
TILE_API const tile_type *tile_function_arg_type(const tile_function *function, unsigned index);
/* Of a view argument: the extent of dim d, and its stride, also of a row-major one. NULL where
 * there is none. */
TILE_API const tile_expr *tile_function_arg_extent(const tile_function *function, unsigned index,
                                                   unsigned d);
TILE_API const tile_expr *tile_function_arg_stride(const tile_function *function, unsigned index,
                                                   unsigned d);
TILE_API unsigned tile_function_arg_divisible(const tile_function *function, unsigned index);
TILE_API unsigned tile_function_result_count(const tile_function *function); /* computes */
TILE_API const char *tile_function_result_name(const tile_function *function, unsigned index);
TILE_API tile_value tile_function_result(const tile_function *function, unsigned index);
TILE_API tile_region tile_function_body(const tile_function *function);

/* Reading what is there ----------------------------------------------------------------------- */

/* Ids are those of this function; one that it does not have, an index past the end, or no next one
 * gives the id 0. */

TILE_API tile_op tile_region_first(const tile_function *function, tile_region region);
TILE_API tile_op tile_op_next(const tile_function *function, tile_op op);
TILE_API tile_opcode tile_op_opcode(const tile_function *function, tile_op op);
TILE_API tile_loc tile_op_loc(const tile_function *function, tile_op op);
TILE_API unsigned tile_op_operand_count(const tile_function *function, tile_op op);
TILE_API tile_value tile_op_operand(const tile_function *function, tile_op op, unsigned index);
TILE_API unsigned tile_op_result_count(const tile_function *function, tile_op op);
TILE_API tile_value tile_op_result(const tile_function *function, tile_op op, unsigned index);
TILE_API tile_region tile_op_region(const tile_function *function, tile_op op, unsigned index);
/* The operation whose result the value is. */
TILE_API tile_op tile_value_op(const tile_function *function, tile_value value);
TILE_API const tile_type *tile_value_type(const tile_function *function, tile_value value);

/* Text ---------------------------------------------------------------------------------------- */

/* Reads a module; name stands in diagnostics. NULL after at least one error has been reported. The
 * result has been verified. */
TILE_API tile_module *tile_module_parse(tile_context *context, const char *name, const char *text,
                                        size_t length);
/* Writes text that parses to the same module. */
TILE_API void tile_module_print(const tile_module *module, tile_writer writer, void *user);
TILE_API void tile_function_print(const tile_function *function, tile_writer writer, void *user);
/* Checks every rule of the IR; what is broken is reported at its place. */
TILE_API tile_status tile_module_verify(const tile_module *module);
TILE_API tile_status tile_function_verify(const tile_function *function);

#ifdef __cplusplus
}
#endif

#endif
