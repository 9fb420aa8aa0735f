/* Tile IR: modules, functions, operations, values, types and host expressions.
 *
 * A module holds functions: computes (level 1), kernels (levels 2 and 3), plans (level 0: the
 * launches that the host makes) and funcs (inlined code). A function holds regions, a region holds
 * one list of operations, an operation holds operands, results, attributes and up to two regions.
 * Operations, values and regions are 32-bit ids within their function; id 0 is "none".
 *
 * Ownership: a module owns its functions and all memory in them; types, expressions and names
 * belong to the context and live as long as it does. All pointers returned here are borrowed.
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
/* Bytes of an element in memory; 1 for i1. */
TILE_API unsigned tile_scalar_bytes(tile_scalar scalar);
TILE_API bool tile_scalar_is_floating(tile_scalar scalar);
TILE_API bool tile_scalar_is_unsigned(tile_scalar scalar);
/* Number of explicit mantissa bits of a float; 0 for integers. */
TILE_API unsigned tile_scalar_mantissa(tile_scalar scalar);
/* The largest n such that the type has all integers from 0 to n - 1; floats have n as well. */
TILE_API double tile_scalar_whole_limit(tile_scalar scalar);
/* False for types that can only be stored, converted and multiplied by dot. */
TILE_API bool tile_scalar_has_arithmetic(tile_scalar scalar);
TILE_API tile_scalar tile_scalar_from_name(const char *name, size_t length);
/* Reads or writes one element in memory as a double; the address need not be aligned. Floats are
 * rounded to nearest even (tf32: ties away from zero). A value that is too large becomes infinity,
 * or the largest finite number in the 8-bit types. Integers are truncated towards zero and clamped
 * to their range; NaN becomes 0. i64 and u64 values beyond 2^53 lose low bits. */
TILE_API double tile_scalar_read(tile_scalar scalar, const void *at);
TILE_API void tile_scalar_write(tile_scalar scalar, void *at, double value);

/* Opcodes and attribute ids ------------------------------------------------------------------- */

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
    TILE_ATTR_LIMIT = 256
} tile_attr_id;

typedef enum tile_attr_kind {
    TILE_KIND_flag,
    TILE_KIND_expr,
    TILE_KIND_list,
    TILE_KIND_word,
    TILE_KIND_text,
    TILE_KIND_symbol,
    TILE_KIND_constant,
    TILE_KIND_values, /* a list of tile_param_value, written `<..>` */
    TILE_KIND_tile,
} tile_attr_kind;

/* How an operand is written; ops.def explains each form. */
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
#define OPERAND_CLASS(name, word, phrase) TILE_CLASS_##name,
#include "tile/classes.def"
#undef OPERAND_CLASS
} tile_operand_class;

/* How an operation accesses the memory that an operand refers to. */
typedef enum tile_access_kind {
    TILE_ACCESS_none = 0,
    TILE_ACCESS_read = 1,
    TILE_ACCESS_write = 2,
    TILE_ACCESS_update = 3, /* read and write */
} tile_access_kind;

/* Properties of an operation; a set. */
typedef enum tile_trait {
    TILE_TRAIT_ELEMENTWISE =
        1 << 0, /* element i of the result comes from element i of each operand */
    TILE_TRAIT_COMMUTATIVE = 1 << 1, /* its two operands may be exchanged */
    TILE_TRAIT_COMPARE = 1 << 2,     /* the result is i1, whatever the operands are */
    TILE_TRAIT_CONVERT = 1 << 3,     /* the element types of result and operand differ */
    TILE_TRAIT_WHOLE_SET =
        1 << 4, /* all threads of the executing set take part, with equal operands */
    TILE_TRAIT_ONE_THREAD = 1 << 5, /* WHOLE_SET, and the first thread executes it for all */
    TILE_TRAIT_DIVERGES =
        1 << 6,                /* equal operands can give different results in different threads */
    TILE_TRAIT_FRESH = 1 << 7, /* each result is distinct: two operations are never merged */
    TILE_TRAIT_OWN_BUFFER =
        1 << 8, /* only the operation itself reads the shared memory that it writes */
    TILE_TRAIT_BARRIER_BEFORE =
        1 << 9, /* its lowering contains a barrier of the executing set before the access */
    TILE_TRAIT_BARRIER_AFTER = 1 << 10, /* ... after the access */
    TILE_TRAIT_UNIFORM = 1 << 11,     /* the result is the same in all threads of the executing set,
                                         whatever the operands */
    TILE_TRAIT_SIDE_RESULT = 1 << 12, /* the result may be left unnamed in the text */
    TILE_TRAIT_GATHERS = 1 << 13, /* the brackets of its memory operand may contain index tiles */
    TILE_TRAIT_ROUNDS = 1 << 14, /* floats: the error is WITHIN, or whole operands give fractions */
} tile_trait;

/* What an operation does besides computing results; a set. Memory effects follow from the accesses
 * of its operands, ASYNC and WAIT from its completion. */
typedef enum tile_effect {
    TILE_EFFECT_READ_GLOBAL = 1 << 0,
    TILE_EFFECT_WRITE_GLOBAL = 1 << 1,
    TILE_EFFECT_READ_SHARED = 1 << 2,
    TILE_EFFECT_WRITE_SHARED = 1 << 3,
    TILE_EFFECT_ASYNC =
        1 << 4, /* its accesses complete at a later wait, or it commits a group of such accesses */
    TILE_EFFECT_WAIT = 1 << 5,       /* completes asynchronous accesses */
    TILE_EFFECT_BARRIER = 1 << 6,    /* synchronizes all threads of the executing set */
    TILE_EFFECT_ACQUIRE = 1 << 7,    /* later accesses are not moved before it */
    TILE_EFFECT_RELEASE = 1 << 8,    /* earlier accesses are not moved after it */
    TILE_EFFECT_COLLECTIVE = 1 << 9, /* all threads of a warp must reach it together */
    TILE_EFFECT_REGION = 1 << 10,    /* its effects are those of its regions */
    TILE_EFFECT_TERMINATOR = 1 << 11,
    TILE_EFFECT_ALLOC = 1 << 12,   /* begins or ends the lifetime of a shared buffer */
    TILE_EFFECT_CLUSTER = 1 << 13, /* barrier of all threads of the cluster: with RELEASE they
                                      arrive, with ACQUIRE they wait */
    TILE_EFFECT_ATOMIC = 1 << 14,  /* its accesses do not race with other atomic accesses */
    TILE_EFFECT_REPORT =
        1 << 16, /* sends something to the host or the caches, or stops the kernel */
    TILE_EFFECT_WARPGROUP = 1 << 15, /* executed by all threads of a warpgroup: four warps, of which
                                        the first is a multiple of four */
} tile_effect;

/* The mechanism that waits for asynchronous accesses. */
typedef enum tile_mechanism {
    TILE_MECHANISM_NONE = 0,
    TILE_MECHANISM_GROUP,      /* cp.async groups of each thread */
    TILE_MECHANISM_BULK_GROUP, /* cp.async.bulk groups */
    TILE_MECHANISM_WGMMA,      /* wgmma groups */
    TILE_MECHANISM_BARRIER,    /* bytes counted by an mbarrier */
    TILE_MECHANISM_COUNT
} tile_mechanism;

typedef enum tile_completion {
    TILE_COMPLETION_NOW = 0, /* complete when the operation returns */
    TILE_COMPLETION_STARTS,  /* its accesses are asynchronous */
    TILE_COMPLETION_COMMITS, /* commits a group of the started accesses */
    TILE_COMPLETION_WAITS,   /* waits until groups or bytes are complete */
} tile_completion;

/* How an operation's regions run. */
typedef enum tile_region_shape {
    TILE_SHAPE_NONE = 0,
    TILE_SHAPE_LOOP,  /* one region, executed repeatedly; it passes values to the next iteration */
    TILE_SHAPE_WHILE, /* the first region; while its condition holds, the second region and then the
                         first again */
    TILE_SHAPE_BRANCH,   /* one of its regions */
    TILE_SHAPE_BODY,     /* each of its regions once, concurrently */
    TILE_SHAPE_ELEMENTS, /* one region, once for each element of its results */
} tile_region_shape;

enum {
    TILE_LEVEL_0 = 1 << 0,
    TILE_LEVEL_1 = 1 << 1,
    TILE_LEVEL_2 = 1 << 2,
    TILE_LEVEL_3 = 1 << 3,
    TILE_LEVELS_L0 = TILE_LEVEL_0, /* sets of levels, named as in the tables */
    TILE_LEVELS_L1 = TILE_LEVEL_1,
    TILE_LEVELS_L2 = TILE_LEVEL_2,
    TILE_LEVELS_L3 = TILE_LEVEL_3,
    TILE_LEVELS_L02 = TILE_LEVEL_0 | TILE_LEVEL_2,
    TILE_LEVELS_L12 = TILE_LEVEL_1 | TILE_LEVEL_2,
    TILE_LEVELS_L123 = TILE_LEVEL_1 | TILE_LEVEL_2 | TILE_LEVEL_3,
    TILE_LEVELS_EXPANDED = TILE_LEVEL_1,
    TILE_LEVELS_INLINED = TILE_LEVEL_1 | TILE_LEVEL_2 | TILE_LEVEL_3,
    TILE_LEVELS_L23 = TILE_LEVEL_2 | TILE_LEVEL_3,
    TILE_LEVELS_L023 = TILE_LEVEL_0 | TILE_LEVEL_2 | TILE_LEVEL_3,
    TILE_LEVELS_LX = TILE_LEVEL_0 | TILE_LEVEL_1 | TILE_LEVEL_2 | TILE_LEVEL_3,
};

enum { TILE_MAX_OPERANDS = 8, TILE_MAX_ATTRS = 12 };

/* A row of ops.def. */
typedef struct tile_op_info {
    const char *name; /* NULL if the number is unused */
    unsigned levels;  /* a set of TILE_LEVEL_* */
    unsigned operand_count;
    struct {
        tile_operand_form form;
        const char *name;
        tile_operand_class class_;
        tile_access_kind access;
    } operands[TILE_MAX_OPERANDS + 1]; /* operand_count entries */
    unsigned attr_count;
    struct {
        bool required;
        tile_attr_id id;
    } attrs[TILE_MAX_ATTRS + 1]; /* attr_count entries */
    bool type_given;             /* the operands do not determine the result's type */
    tile_region_shape shape;
    unsigned traits;  /* a set of tile_trait */
    unsigned effects; /* a set of tile_effect */
    tile_completion completion;
    tile_mechanism mechanism; /* of the completion */
    const char *meaning;
} tile_op_info;

/* Never NULL for a number of tile_opcode; the name is NULL if the number is unused. */
TILE_API const tile_op_info *tile_op_get_info(tile_opcode opcode);
/* Also accepts a name with a word of the attribute `kind`, as in the text: atomic_add, ceil. */
TILE_API tile_opcode tile_opcode_from_name(const char *name, size_t length);
/* Returns that word: `add` of atomic_add, `up` of round_up and of ceil; NULL if there is none. */
TILE_API const char *tile_kind_from_name(const char *name, size_t length);
/* Returns whether the operation has any of these traits. */
TILE_API bool tile_op_has_trait(tile_opcode opcode, unsigned traits);

typedef struct tile_attr_info {
    const char *name;
    tile_attr_kind kind;
    const char *meaning;
    /* For attributes that passes set for later passes, see attrs.def: by and read_by are names
     * separated by blanks, until is one name. */
    const char *by, *read_by, *until;
} tile_attr_info;

TILE_API const tile_attr_info *tile_attr_get_info(tile_attr_id id);
/* The words allowed for an attribute of kind word, in order; NULL past the end. */
TILE_API const char *tile_attr_word(tile_attr_id id, unsigned index);
TILE_API tile_attr_id tile_attr_from_name(const char *name, size_t length);

/* The order in which tiles are visited, in the first two dims x and y of a grid. */
typedef enum tile_raster {
    TILE_RASTER_NONE = 0, /* x first, then y */
    TILE_RASTER_ROWS,     /* groups of rows (neighbors in x); within a group x first, then y */
    TILE_RASTER_COLUMNS,  /* groups of columns (neighbors in y); within a group y first, then x */
} tile_raster;

/* Host expressions ---------------------------------------------------------------------------- */

/* An expression over constants, compile-time parameters, a function's arguments and properties of
 * the device, evaluated in i64 (truth values are 0 and 1). Expressions are unique in their context:
 * equal expressions have the same pointer. Constants are folded when an expression is created. */
typedef enum tile_expr_kind {
    TILE_EXPR_INT,
    TILE_EXPR_FLOAT,    /* only as the whole expression of a constant */
    TILE_EXPR_PARAM,    /* a compile-time parameter, by name */
    TILE_EXPR_ARG,      /* an argument of the function, by index */
    TILE_EXPR_NUM_SMS,  /* streaming multiprocessors of the device that a launch goes to */
    TILE_EXPR_BLOCK_ID, /* a coordinate of the tile, by dim; only in the cost of a tile */
    TILE_EXPR_WORD,     /* a word or the name of a scalar type: equal only to itself */
    TILE_EXPR_LOOP,     /* the variable of a plan's enclosing `for`, by depth; 0: the outermost */
    TILE_EXPR_OP,       /* an arithmetic operation of ops.def on one to three expressions */
} tile_expr_kind;

typedef struct tile_expr {
    tile_expr_kind kind;
    int64_t integer;    /* INT: the value. ARG: the index. BLOCK_ID: the dim. LOOP: the depth */
    double number;      /* FLOAT */
    const char *name;   /* PARAM, WORD */
    tile_opcode opcode; /* OP */
    const struct tile_expr *args[3];
} tile_expr;

TILE_API const tile_expr *tile_expr_int(tile_context *context, int64_t value);
TILE_API const tile_expr *tile_expr_float(tile_context *context, double value);
TILE_API const tile_expr *tile_expr_param(tile_context *context, const char *name);
TILE_API const tile_expr *tile_expr_arg(tile_context *context, unsigned index);
/* A value for a parameter of kind word or type, for comparisons with eq and ne, `tune` and
 * defaults. It evaluates to a number that is unique to the word. */
TILE_API const tile_expr *tile_expr_word(tile_context *context, const char *word);
/* Can be evaluated only at launch: the generated code does not depend on its value. */
TILE_API const tile_expr *tile_expr_num_sms(tile_context *context);
TILE_API const tile_expr *tile_expr_block_id(tile_context *context, unsigned dim); /* 0 to 2 */
/* NULL if opcode is not an integer operation on so many operands, or an operand is NULL. */
TILE_API const tile_expr *tile_expr_op(tile_context *context, tile_opcode opcode,
                                       const tile_expr *a, const tile_expr *b, const tile_expr *c);

/* Returns whether the expression is an integer constant; *value is then its value. */
TILE_API bool tile_expr_is_int(const tile_expr *expr, int64_t *value);

enum { TILE_MAX_SMS = 1 << 20 }; /* the most multiprocessors that expressions can represent */

/* The values of parameters and arguments. A function that returns false makes the evaluation fail.
 * NULL functions, a NULL block_id and num_sms 0 mean that the values are unknown. */
typedef struct tile_bindings {
    bool (*param)(const char *name, int64_t *value, void *user);
    bool (*arg)(unsigned index, int64_t *value, void *user);
    void *user;
    int64_t num_sms;
    const int64_t *block_id; /* x, y, z */
    const int64_t *loops;    /* variables of enclosing loops, from the outermost on */
    unsigned loop_count;
} tile_bindings;

/* Returns false if a value is unknown, or on division by zero. */
TILE_API bool tile_expr_eval(const tile_expr *expr, const tile_bindings *bindings, int64_t *value);
/* Returns the expression with known values substituted. */
TILE_API const tile_expr *tile_expr_substitute(tile_context *context, const tile_expr *expr,
                                               const tile_bindings *bindings);

/* Evaluates element-wise operations on numbers (lib/ir/arith.def). Folding, level 1 and the CPU
 * device share these functions. Operands that an operation does not have are ignored. Returns false
 * if the operation has no such evaluation, and on division by zero. Integers are i64 and wrap, as
 * in tile_expr_eval; the caller wraps the result of a narrower type. */
TILE_API bool tile_fold_int(tile_opcode opcode, int64_t a, int64_t b, int64_t c, int64_t *result);
/* Floats: the f64 result for operands of this type (comparisons: 0 or 1). Rounding it to the type
 * gives the correctly rounded result. */
TILE_API bool tile_fold_float(tile_opcode opcode, tile_scalar scalar, double a, double b, double c,
                              double *result);

/* Types --------------------------------------------------------------------------------------- */

typedef enum tile_type_kind {
    TILE_TYPE_SCALAR,
    TILE_TYPE_PTR,
    TILE_TYPE_TENSOR,     /* level 1: a whole array, a value */
    TILE_TYPE_VIEW,       /* global memory as an array, a reference */
    TILE_TYPE_SHARED,     /* shared memory: stages of one tile each, a reference */
    TILE_TYPE_TILE,       /* a tile in the block's registers, a value */
    TILE_TYPE_VECTOR,     /* level 3: one thread's fragment, a value */
    TILE_TYPE_MAP,        /* level 3: boxes of global memory (a CUtensorMap), a reference */
    TILE_TYPE_DESCRIPTOR, /* level 3: a wgmma matrix descriptor of shared memory; 64 bits */
} tile_type_kind;

/* Types are unique in their context: equal types have the same pointer. Read only. */
typedef struct tile_type {
    tile_type_kind kind;
    tile_scalar scalar;                      /* element type; NONE while it is a type parameter */
    const char *param;                       /* name of that type parameter, else NULL */
    unsigned rank;                           /* 0 for scalars and pointers, 1 for vectors */
    const tile_expr *dims[TILE_MAX_RANK];    /* NULL: known only at run time (`?`) */
    bool has_strides;                        /* views: strides are part of the type */
    const tile_expr *strides[TILE_MAX_RANK]; /* in elements; NULL: `?` */
    const tile_expr *stages;                 /* shared: NULL if the buffer has no stages */
    bool cluster;  /* shared: result of map_shared, in a block of the cluster */
    bool mn_major; /* descriptors: elements are contiguous along m or n, otherwise along k */
    const tile_layout *layout; /* tiles and shared buffers; NULL: not assigned yet */
} tile_type;

/* Returns the unique type that equals *draft, creating it if necessary. NULL after a diagnostic,
 * like all functions that make types, if its kind, element type, rank or layout is invalid. */
TILE_API const tile_type *tile_type_get(tile_context *context, const tile_type *draft);

TILE_API const tile_type *tile_type_scalar(tile_context *context, tile_scalar scalar);
TILE_API const tile_type *tile_type_ptr(tile_context *context, tile_scalar scalar);
TILE_API const tile_type *tile_type_vector(tile_context *context, tile_scalar scalar,
                                           unsigned count);
/* dims: `rank` extents. Tensors, tiles, and views without strides in the type. -1 is `?`. */
TILE_API const tile_type *tile_type_tensor(tile_context *context, tile_scalar scalar, unsigned rank,
                                           const int64_t *dims);
TILE_API const tile_type *tile_type_view(tile_context *context, tile_scalar scalar, unsigned rank,
                                         const int64_t *dims);
TILE_API const tile_type *tile_type_tile(tile_context *context, tile_scalar scalar, unsigned rank,
                                         const int64_t *dims);
/* stages 0: a buffer without stages. */
TILE_API const tile_type *tile_type_shared(tile_context *context, tile_scalar scalar,
                                           unsigned stages, unsigned rank, const int64_t *dims);
/* Descriptor of a matrix in shared memory whose elements are contiguous along k, or along m or
 * n. */
TILE_API const tile_type *tile_type_descriptor(tile_context *context, tile_scalar scalar,
                                               bool mn_major);
/* The type of a shared buffer returned by map_shared, in this block or another one of the
 * cluster. */
TILE_API const tile_type *tile_type_in_cluster(tile_context *context, const tile_type *shared);
TILE_API const tile_type *tile_type_with_layout(tile_context *context, const tile_type *type,
                                                const tile_layout *layout);
TILE_API const tile_type *tile_type_with_scalar(tile_context *context, const tile_type *type,
                                                tile_scalar scalar);

/* The extent of dim d, or -1 if it is not a constant. */
TILE_API int64_t tile_type_dim(const tile_type *type, unsigned d);
/* Number of elements of a tile, vector, tensor or one stage; 1 for scalars; -1 if not constant.
 * Larger numbers than 2^40 are returned as 2^40, so that a number of bytes always fits. */
TILE_API int64_t tile_type_elements(const tile_type *type);
/* Number of stages of a shared buffer (1 without stages); -1 if not constant. */
TILE_API int64_t tile_type_stage_count(const tile_type *type);
/* Number of elements that each thread holds in the tile's layout. */
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

typedef enum tile_function_kind {
    TILE_COMPUTE,
    TILE_KERNEL,
    TILE_PLAN,
    TILE_FUNC, /* element-wise code that is inlined where it is called */
} tile_function_kind;

typedef enum tile_param_kind {
    TILE_PARAM_int,
    TILE_PARAM_bool,
    TILE_PARAM_type,
    TILE_PARAM_dim,
    TILE_PARAM_word, /* for attributes that are words, and for comparisons */
} tile_param_kind;

TILE_API tile_module *tile_module_create(tile_context *context);
TILE_API void tile_module_destroy(tile_module *module);
TILE_API tile_context *tile_module_context(const tile_module *module);
/* Functions in the order in which they were added. NULL past the end, and for an unknown name. */
TILE_API tile_function *tile_module_function(const tile_module *module, unsigned index);
TILE_API tile_function *tile_module_find(const tile_module *module, const char *name);
/* Removes a function; the module keeps its memory until it is destroyed. */
TILE_API void tile_module_remove(tile_module *module, tile_function *function);
/* A deep copy in the same context. */
TILE_API tile_module *tile_module_clone(const tile_module *module);

/* Creates an empty function. Returns NULL after a diagnostic if the name is taken. */
TILE_API tile_function *tile_function_create(tile_module *module, tile_function_kind kind,
                                             const char *name, tile_loc loc);
TILE_API const char *tile_function_name(const tile_function *function);
TILE_API tile_function_kind tile_function_get_kind(const tile_function *function);
/* The level of a function: 0 for plans and funcs, 1 for computes. Kernels are at level 2 when they
 * are created, and at level 3 after they are lowered. At level 3 the operations are those of single
 * threads, with explicit barriers and explicit offsets of shared buffers, and are executed as
 * written. */
TILE_API unsigned tile_function_level(const tile_function *function);
/* For kernels that are built at level 3; tile_function_verify checks the rules of that level. */
TILE_API void tile_function_set_level(tile_function *function, unsigned level);

/* Declarations. Names are copied. Arguments and results of a function are numbered in the order in
 * which they are added; the indices below are these numbers. tile_function_verify reports invalid
 * declarations. */

/* Declares a compile-time parameter; default_expr and default_type may be NULL. */
TILE_API void tile_function_add_param(tile_function *function, const char *name,
                                      tile_param_kind kind, const tile_expr *default_expr,
                                      const tile_type *default_type);
/* Returns whether the function has a parameter of that name and kind int with a numeric default,
 * which the pass `schedule` takes if no value is given. */
TILE_API bool tile_function_has_number(const tile_function *function, const char *param);
/* Adds an argument and returns its value in the body. */
TILE_API tile_value tile_function_add_arg(tile_function *function, const char *name,
                                          const tile_type *type);
/* The same for a view: %name: view<element[extents], strides [strides]>. extents and strides are
 * `rank` expressions over parameters and integer arguments before it. strides are in elements;
 * NULL: row-major. element: a scalar type. The value's type has `?` for each expression that uses
 * arguments. A launch passes a pointer, and the caller of the launch guarantees that extents are 0
 * to 2^31 - 1. */
TILE_API tile_value tile_function_add_view_arg(tile_function *function, const char *name,
                                               const tile_type *element, unsigned rank,
                                               const tile_expr *const *extents,
                                               const tile_expr *const *strides);
/* Sets {divisible = n}, {noalias} or {const} of an argument. Divisor 0: undeclared, so that
 * instantiate assumes that pointers and views are aligned to 16 bytes, unless the kernel is at
 * level 3. Divisor 1: nothing is assumed. */
TILE_API void tile_function_set_arg_divisible(tile_function *function, unsigned arg,
                                              unsigned divisor);
TILE_API void tile_function_set_arg_noalias(tile_function *function, unsigned arg, bool noalias);
TILE_API void tile_function_set_arg_const(tile_function *function, unsigned arg, bool is_const);
/* Sets {const, value = n}: the value of the argument. Instantiating substitutes it everywhere. */
TILE_API void tile_function_set_arg_value(tile_function *function, unsigned arg, int64_t value);
/* Computes and funcs: declares a result; its value is set when the body is built. */
TILE_API void tile_function_add_result(tile_function *function, const char *name,
                                       const tile_type *type);
TILE_API void tile_function_set_result(tile_function *function, unsigned index, tile_value value);

/* Kernels: blocks in the grid (1 to 3 expressions over parameters and arguments). */
TILE_API void tile_function_set_grid(tile_function *function, unsigned rank,
                                     const tile_expr *const *extents);
/* Sets `flat`: the grid is launched along x. block_id still refers to the declared grid. */
TILE_API void tile_function_set_flat(tile_function *function, bool is_flat);
/* Blocks per cluster, 1 to 3 expressions over parameters. */
TILE_API void tile_function_set_cluster(tile_function *function, unsigned rank,
                                        const tile_expr *const *extents);
/* Warps per block: an expression over parameters. */
TILE_API void tile_function_set_warps(tile_function *function, const tile_expr *warps);
/* The order in which tiles are visited; block_id still gives the coordinates of a tile. group: an
 * expression over parameters, with a value from 1 to TILE_MAX_RASTER_GROUP; NULL for
 * TILE_RASTER_NONE. */
TILE_API void tile_function_set_raster(tile_function *function, tile_raster raster,
                                       const tile_expr *group);
/* Sets `persistent`: the launch has as many blocks as the device runs at once, and each visits many
 * tiles. cost is the cost of a tile for `persistent balanced by`, over parameters, integer
 * arguments and tile_expr_block_id. Tiles are then assigned in the order of their numbers, each to
 * the block with the lowest total cost so far. cost NULL: all tiles cost the same. */
TILE_API void tile_function_set_persistent(tile_function *function, bool persistent,
                                           const tile_expr *cost);
/* Sets `persistent if`: only where the condition, over parameters, is not 0; NULL: always. */
TILE_API void tile_function_set_persistent_if(tile_function *function, const tile_expr *condition);
/* `sync explicit`: the user writes every barrier. */
TILE_API void tile_function_set_sync_explicit(tile_function *function, bool is_explicit);
/* A value for a parameter of another function in a reference such as `@k<block = 64, T = f16>`.
 * Either expr or type is not NULL. */
typedef struct tile_param_value {
    const char *name;
    const tile_expr *expr;
    const tile_type *type;
} tile_param_value;

/* Kernels and plans: sets `of @compute<values>`, the compute that the function implements.
 * Arguments and results of the compute correspond to the arguments of the function with the same
 * names; tensors correspond to pointers or views. A dim of the compute that is neither in values
 * nor a scalar argument is the function's parameter of the same name. Copies names and values. */
TILE_API void tile_function_set_reference(tile_function *function, const char *compute,
                                          const tile_param_value *values, unsigned count);
/* Name of that compute, NULL if there is none. */
TILE_API const char *tile_function_reference(const tile_function *function);
/* Adds a condition on the parameters that must hold to instantiate the kernel. A condition that
 * uses integer arguments determines which points launches of a size may use. */
TILE_API void tile_function_add_where(tile_function *function, const tile_expr *condition);
/* tune (names...) in [points...]: the values of point i are values[i * name_count ...]. */
TILE_API void tile_function_add_tune(tile_function *function, unsigned name_count,
                                     const char *const *names, unsigned point_count,
                                     const tile_expr *const *values);
/* `tune auto`, `raster auto`, `persistent auto`: computed from the tile of the kernel's product. */
TILE_API void tile_function_set_tune_auto(tile_function *function, bool is_auto);
TILE_API void tile_function_set_raster_auto(tile_function *function);
TILE_API void tile_function_set_persistent_auto(tile_function *function);

TILE_API unsigned tile_function_arg_count(const tile_function *function);
TILE_API tile_value tile_function_arg(const tile_function *function, unsigned index);
TILE_API const char *tile_function_arg_name(const tile_function *function, unsigned index);
TILE_API const tile_type *tile_function_arg_type(const tile_function *function, unsigned index);
/* Extent of dim d of a view argument; stride of a view or tensor (tile/strides.h), computed if it
 * is row-major. NULL if there is no such argument or dim. */
TILE_API const tile_expr *tile_function_arg_extent(const tile_function *function, unsigned index,
                                                   unsigned d);
TILE_API const tile_expr *tile_function_arg_stride(const tile_function *function, unsigned index,
                                                   unsigned d);
TILE_API unsigned tile_function_arg_divisible(const tile_function *function, unsigned index);
TILE_API unsigned tile_function_result_count(const tile_function *function);
TILE_API const char *tile_function_result_name(const tile_function *function, unsigned index);
TILE_API tile_value tile_function_result(const tile_function *function, unsigned index);
TILE_API tile_region tile_function_body(const tile_function *function);

/* Reading a function ------------------------------------------------------------------------- */

/* Ids belong to the given function. Queries return the id 0 for an id that it does not have, an
 * index past the end, or if there is no next operation. */

TILE_API tile_op tile_region_first(const tile_function *function, tile_region region);
TILE_API tile_op tile_op_next(const tile_function *function, tile_op op);
TILE_API tile_opcode tile_op_opcode(const tile_function *function, tile_op op);
TILE_API tile_loc tile_op_loc(const tile_function *function, tile_op op);
TILE_API unsigned tile_op_operand_count(const tile_function *function, tile_op op);
TILE_API tile_value tile_op_operand(const tile_function *function, tile_op op, unsigned index);
TILE_API unsigned tile_op_result_count(const tile_function *function, tile_op op);
TILE_API tile_value tile_op_result(const tile_function *function, tile_op op, unsigned index);
TILE_API tile_region tile_op_region(const tile_function *function, tile_op op, unsigned index);
TILE_API tile_op tile_value_op(const tile_function *function, tile_value value); /* defines it */
TILE_API const tile_type *tile_value_type(const tile_function *function, tile_value value);

/* Text ---------------------------------------------------------------------------------------- */

/* Parses and verifies a module; name is used in diagnostics. Returns NULL after at least one error
 * has been reported. Reads no files: tile/parse.h has the form for texts with `include`. */
TILE_API tile_module *tile_module_parse(tile_context *context, const char *name, const char *text,
                                        size_t length);
/* Prints text that parses to the same module. */
TILE_API void tile_module_print(const tile_module *module, tile_writer writer, void *user);
TILE_API void tile_function_print(const tile_function *function, tile_writer writer, void *user);
/* Checks every rule of the IR and reports violations at their position. */
TILE_API tile_status tile_module_verify(const tile_module *module);
TILE_API tile_status tile_function_verify(const tile_function *function);

#ifdef __cplusplus
}
#endif

#endif
