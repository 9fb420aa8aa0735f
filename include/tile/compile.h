/* From a kernel to LLVM IR, PTX and cubin. */
#ifndef TILE_COMPILE_H
#define TILE_COMPILE_H

#include "tile/ir.h"
#include "tile/launch_limits.h"
#include "tile/pass.h"
#include "tile/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that the caller owns. Text ends with a zero byte that size does not count. */
typedef struct tile_blob {
    char *data;
    size_t size;
} tile_blob;

/* Frees the bytes and leaves an empty blob; the caller still owns the struct. NULL is allowed. */
TILE_API void tile_blob_destroy(tile_blob *blob);

typedef enum tile_emit_kind {
    TILE_EMIT_LLVM, /* LLVM IR after Tile's short LLVM pipeline */
    TILE_EMIT_PTX,
} tile_emit_kind;

typedef struct tile_emit_options {
    size_t size;               /* sizeof(tile_emit_options) */
    const tile_target *target; /* required */
    unsigned ptx_version;      /* 90 is PTX 9.0; 0: the lowest that the kernel needs */
    bool no_line_info;         /* omit .loc directives */
    /* Seconds that each step of the compilation took. */
    void (*timing)(const char *step, double seconds, void *user);
    void *report_user;
    bool stamps; /* instrument the code: each warp records when it reaches a synchronizing operation
                    (trace in tile/device.h). For inspection only, because the code is slower */
} tile_emit_options;

/* Emits one kernel that is at level 3 (all passes have run). *out is empty after a failure:
 * TILE_INVALID if the kernel or the options do not allow code generation, TILE_FAILED if LLVM
 * rejects the module. */
TILE_API tile_status tile_emit(const tile_function *kernel, tile_emit_kind kind,
                               const tile_emit_options *options, tile_blob *out);

/* A compile-time parameter's value as text ("128", "true", "f16"). */
typedef struct tile_binding {
    const char *name;
    const char *value;
} tile_binding;

/* The launch interface of a kernel, for programs that launch its PTX themselves. Everything is
 * expressed in terms of the arguments. It is created from an instantiated kernel at level 2 or 3,
 * after allocate-shared. It does not refer to the kernel, which may be destroyed. It is used on the
 * thread of its context, which must outlive it. It owns the names, arguments, parameters and
 * conditions that it returns. */
typedef struct tile_abi tile_abi;

typedef struct tile_abi_arg {
    const char *name;
    const tile_type *type; /* view, pointer or scalar; a view is passed as a pointer */
    unsigned divisible; /* divisor that the code relies on, of the value or of a pointer's address
                           in bytes; 1: none */
    /* Views: expressions over the integer arguments before it. The code relies on extents from 0 to
     * 2^31 - 1 and on every element being accessible; strides are in elements. */
    const tile_expr *extents[TILE_MAX_RANK];
    const tile_expr *strides[TILE_MAX_RANK];
} tile_abi_arg;

/* Returns NULL after a diagnostic if the function is not a kernel or not instantiated, or if the
 * arguments do not determine its grid or scratch sizes. */
TILE_API tile_abi *tile_abi_create(const tile_function *kernel);
TILE_API void tile_abi_destroy(tile_abi *abi);
/* Name of the .entry function. */
TILE_API const char *tile_abi_entry(const tile_abi *abi);
TILE_API unsigned tile_abi_arg_count(const tile_abi *abi);
TILE_API const tile_abi_arg *tile_abi_arg_at(const tile_abi *abi,
                                             unsigned index); /* NULL past the end */
TILE_API unsigned tile_abi_warps(const tile_abi *abi);
/* Dynamic shared memory per block, in bytes. */
TILE_API unsigned tile_abi_shared_bytes(const tile_abi *abi);
/* Properties of the device that a launch may depend on, in addition to the arguments. */
typedef struct tile_launch_facts {
    size_t size;      /* sizeof(tile_launch_facts) */
    unsigned num_sms; /* streaming multiprocessors of the device; 0: unknown */
} tile_launch_facts;

/* Computes the number of blocks of the grid in each dim, from one integer per argument (entries of
 * pointers and floats are ignored) and the device (facts may be NULL: unknown). Dims that the
 * kernel does not declare are 1. Returns TILE_INVALID after a diagnostic if the arguments give no
 * valid grid, or one that does not consist of whole clusters, and TILE_UNSUPPORTED if a launch
 * cannot have that many blocks. */
TILE_API tile_status tile_abi_grid(const tile_abi *abi, const int64_t *args,
                                   const tile_launch_facts *facts, int64_t grid[3]);
/* Computes the extents and strides (in elements) of argument `index`, a view. Returns TILE_INVALID
 * after a diagnostic if these arguments do not determine them. */
TILE_API tile_status tile_abi_view_shape(const tile_abi *abi, unsigned index, const int64_t *args,
                                         int64_t extents[TILE_MAX_RANK],
                                         int64_t strides[TILE_MAX_RANK]);
/* Computes how many bytes the view spans before its pointer (strides may be negative) and from the
 * pointer on; both are 0 if an extent is 0. */
TILE_API tile_status tile_abi_view_bytes(const tile_abi *abi, unsigned index, const int64_t *args,
                                         int64_t *before, int64_t *behind);
/* Computes the bytes of scratch for these arguments on this device: clean scratch (zero before and
 * after each launch) and plain scratch. Each is 0 if the kernel has none. */
TILE_API tile_status tile_abi_scratch(const tile_abi *abi, const int64_t *args,
                                      const tile_launch_facts *facts, int64_t *clean_bytes,
                                      int64_t *plain_bytes);

/* The host tables that parameters of kind `table` point to. A table assigns the tiles of a grid to
 * min(tiles, num_sms) blocks. Entry b is the index in the table at which the tiles of block b
 * begin, entry b + 1 the index at which they end. A tile is given by its number, x + extents[0] *
 * (y + extents[1] * z). */
enum { TILE_MAX_TABLE_TILES = 1 << 22 };
/* Computes the extents for these arguments. Returns TILE_INVALID if they are not 1 to
 * TILE_MAX_TABLE_TILES tiles. */
TILE_API tile_status tile_abi_table_extents(const tile_abi *abi, unsigned index,
                                            const int64_t *args, int64_t extents[3]);
/* Computes the number of entries of the table: 2 * tiles + 1. */
TILE_API tile_status tile_abi_table_entries(const tile_abi *abi, unsigned index,
                                            const int64_t *args, int64_t *entries);
/* Fills the table. Returns TILE_INVALID if the cost of a tile divides by zero, or if the facts do
 * not give the number of multiprocessors. */
TILE_API tile_status tile_abi_make_table(const tile_abi *abi, unsigned index, const int64_t *args,
                                         const tile_launch_facts *facts, int32_t *entries);

/* The tensor maps for parameters of kind `tensor_map`, which the launch must encode. The fields are
 * those of cuTensorMapEncodeTiled, but dims are in the order of a view, innermost last. Elements
 * outside of the array read as zeros, there is no interleaving, and element strides are 1.
 *
 * If `spatial` is not 0, the map is in im2col mode and the fields are those of
 * cuTensorMapEncodeIm2col. The box is 1 along all dims but the last two: pixelsPerColumn and
 * channelsPerPixel. The lists are by spatial dim, which are all dims but the first and the last,
 * outermost first. */
enum { TILE_TENSOR_MAP_BYTES = 128 };
typedef struct tile_tensor_map {
    unsigned argument; /* the pointer or view argument that holds the array */
    uint64_t address;
    tile_scalar scalar;
    unsigned rank; /* up to TILE_MAX_MAP_RANK */
    int64_t extents[TILE_MAX_RANK];
    int64_t strides[TILE_MAX_RANK]; /* in bytes; the innermost one is the size of an element */
    unsigned box[TILE_MAX_RANK];
    unsigned swizzle; /* in bytes; 0: none */
    unsigned spatial; /* number of spatial dims in im2col mode; 0: tiled mode */
    int lower_corner[3], upper_corner[3];
    unsigned element_strides[3];
} tile_tensor_map;
TILE_API unsigned tile_abi_tensor_map_count(const tile_abi *abi);
/* Computes a tensor map from one integer per argument (the address for pointers). Returns
 * TILE_INVALID after a diagnostic if an expression divides by zero, or without one if there is no
 * such map. */
TILE_API tile_status tile_abi_tensor_map(const tile_abi *abi, unsigned index, const int64_t *args,
                                         tile_tensor_map *map);

typedef enum tile_parameter_kind {
#define PARAMETER(name, meaning) TILE_PARAMETER_##name,
#include "tile/parameters.def"
#undef PARAMETER
} tile_parameter_kind;

/* A parameter of the .entry function. */
typedef struct tile_abi_parameter {
    tile_parameter_kind kind;
    unsigned index; /* of the argument, table or tensor map */
} tile_abi_parameter;

/* Returns "argument", "clean_scratch", ...; NULL if there is no such kind. */
TILE_API const char *tile_parameter_kind_name(tile_parameter_kind kind);
/* The parameters of the .entry function, in order. */
TILE_API unsigned tile_abi_parameter_count(const tile_abi *abi);
/* NULL past the end. */
TILE_API const tile_abi_parameter *tile_abi_parameter_at(const tile_abi *abi, unsigned index);

/* Conditions on a launch that the code may rely on (tile/conditions.def). */
typedef enum tile_condition_kind {
#define CONDITION(number, name, reads, meaning) TILE_CONDITION_##name = number,
#include "tile/conditions.def"
} tile_condition_kind;

/* A condition on the argument with index arg. It compares the argument's integer, or its address in
 * bytes, with value. For tensor_map it applies to the address, extents and strides of a view. For
 * grid there is no argument: arg is the number of arguments. */
typedef struct tile_condition {
    tile_condition_kind kind;
    unsigned arg;
    int64_t value;
} tile_condition;

/* Returns "divisible", ...; NULL if there is no such kind. */
TILE_API const char *tile_condition_name(tile_condition_kind kind);

enum { TILE_MAX_VARIANTS = 144 };

/* A kernel has a list of variants: the same kernel compiled under different sets of conditions. A
 * launch takes the first variant whose conditions all hold. The last variant has no conditions,
 * unless the kernel was written at level 3. If the arguments can give a grid of more than
 * TILE_MAX_GRID_YZ blocks along y or z, the list has two halves. Variants of the first half require
 * a grid within that limit. The second half has the same variants with a flat grid and without that
 * condition. Code and interface belong to one variant. */
TILE_API unsigned tile_abi_variant_count(const tile_abi *abi);
/* Index of the variant that this interface belongs to. */
TILE_API unsigned tile_abi_variant(const tile_abi *abi);
/* A condition of a variant, in the order of the arguments; NULL past the end. */
TILE_API const tile_condition *tile_abi_condition_at(const tile_abi *abi, unsigned variant,
                                                     unsigned index);
/* Returns the variant for a launch, from one integer per argument (the address for pointers; floats
 * are ignored), or the number of variants if none applies. */
TILE_API unsigned tile_abi_pick_variant(const tile_abi *abi, const int64_t *args);
enum { TILE_ABI_FORMAT = 1 }; /* version of the JSON format of launch interfaces and plans */
/* Writes the interface as JSON (lib/launch/json.c documents the fields). */
TILE_API void tile_abi_print(const tile_abi *abi, tile_writer writer, void *user);
/* Reads an interface that tile_abi_print wrote. Returns NULL after an error if the text is not one,
 * and after a remark if its format is not TILE_ABI_FORMAT, because another version of Tile wrote
 * it. */
TILE_API tile_abi *tile_abi_read(tile_context *context, const char *text, size_t length);

/* Writes the scratch and the steps of an instantiated plan as JSON, in terms of the plan's
 * arguments (lib/launch/steps_json.c documents the fields). Returns TILE_INVALID after a
 * diagnostic. */
TILE_API tile_status tile_plan_print(const tile_function *plan, tile_writer writer, void *user);

/* The instantiate pass as a call: binds the kernel's compile-time parameters, in place. A parameter
 * without a binding takes its default, or else its value in the first tune point that agrees with
 * the bindings. The calls below and tile_kernel_create, which have a target, take the first of
 * these points that the target can run; if it is not the first, a remark says so. A binding may
 * also name a {const} argument ("n", or "%n" if a parameter is called n). The argument is replaced
 * by this value wherever it is used, and launches with another value are rejected. Pointers and
 * views of a kernel at level 2 without a declared divisor are declared divisible by 16. Returns
 * TILE_INVALID after a diagnostic. */
TILE_API tile_status tile_instantiate(tile_module *module, const char *kernel,
                                      const tile_binding *bindings, unsigned binding_count);
/* Call this after a kernel or plan failed to compile for the target with these bindings: a note
 * names another point of its space that compiles, if there is one. The module must be as it was
 * before tile_instantiate. */
TILE_API void tile_note_fitting_point(const tile_module *module, const char *kernel,
                                      const tile_binding *bindings, unsigned binding_count,
                                      const tile_target *target);
/* The pass `schedule` as a call: adds a kernel, or a plan and its kernels, that implements the
 * compute of this name. *name is the name of the new function, owned by the module. Its arguments
 * are, in this order: the dims of the compute that have no value (i32, with the suffix `_dim` if an
 * argument or result has the same name), the compute's arguments, and its results. The new function
 * names the compute with `of`. Bindings of the compute's parameters are removed from bindings, and
 * those of the new function remain; *binding_count is updated. Element types must be bound. If
 * target is NULL, it is sm_80. Returns TILE_INVALID after a diagnostic. */
TILE_API tile_status tile_schedule(tile_module *module, const char *compute,
                                   const tile_target *target, tile_binding *bindings,
                                   unsigned *binding_count, const char **name);
/* The first half of tile_compile: instantiate, then the pipeline (NULL: tile_default_pipeline(3)).
 * kernel may be NULL if the module has only one, or the name of a plan or of a compute (see
 * tile_schedule). options may be NULL; options->kernel is ignored. For a plan, each kernel that it
 * launches is lowered. *out, if out is not NULL, is the lowered function or the plan, borrowed from
 * the module. Fails as its parts do. */
TILE_API tile_status tile_lower(tile_module *module, const char *kernel,
                                const tile_binding *bindings, unsigned binding_count,
                                const char *pipeline, const tile_pass_options *options,
                                tile_function **out);
/* Compiles a parsed module to PTX: instantiate, the default pipeline, tile_emit. The module is left
 * at level 3. The caller owns *ptx and, if abi is not NULL, *abi; both are empty after a failure.
 * Returns TILE_UNSUPPORTED for a kernel that takes several launches: see tile_artifact_build. */
TILE_API tile_status tile_compile(tile_module *module, const char *kernel,
                                  const tile_binding *bindings, unsigned binding_count,
                                  const tile_emit_options *options, tile_blob *ptx, tile_abi **abi);
/* Assembles PTX to a cubin, which the caller owns, with the assembler at path ptxas. If ptxas is
 * NULL, the driver's linker assembles it. Its code can be slower than that of ptxas, or of a PTX
 * module loaded by the driver (it needs more registers, and up to 1.4 times the run time has been
 * measured). Returns TILE_UNAVAILABLE if there is no such program or driver, TILE_FAILED with the
 * tool's message if it rejects the PTX. */
TILE_API tile_status tile_assemble(tile_context *context, const tile_blob *ptx,
                                   const tile_target *target, const char *ptxas, tile_blob *cubin);

#ifdef __cplusplus
}
#endif

#endif
