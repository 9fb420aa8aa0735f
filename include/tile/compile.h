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

/* Bytes that the caller owns; text ends with a zero byte that size does not count. */
typedef struct tile_blob {
    char *data;
    size_t size;
} tile_blob;

/* Frees the bytes and leaves an empty blob; the struct itself is the caller's. NULL is fine. */
TILE_API void tile_blob_destroy(tile_blob *blob);

typedef enum tile_emit_kind {
    TILE_EMIT_LLVM, /* LLVM IR after our short pipeline */
    TILE_EMIT_PTX,
} tile_emit_kind;

typedef struct tile_emit_options {
    size_t size;               /* sizeof(tile_emit_options) */
    const tile_target *target; /* needed */
    unsigned ptx_version;      /* 90 is PTX 9.0; 0: the lowest that the kernel needs */
    bool no_line_info;         /* leave out .loc */
    /* Seconds that each step of the compilation took. */
    void (*timing)(const char *step, double seconds, void *user);
    void *report_user;
    bool stamps; /* the code writes when each warp comes to what synchronises (tile/device.h,
                    trace): for looking at, it is slower */
} tile_emit_options;

/* Emits one kernel that is at level 3 (all passes have run). *out is empty after a failure:
 * TILE_INVALID where the kernel or the options do not allow code, TILE_FAILED where LLVM refuses.
 */
TILE_API tile_status tile_emit(const tile_function *kernel, tile_emit_kind kind,
                               const tile_emit_options *options, tile_blob *out);

/* A compile-time parameter's value as text ("128", "true", "f16"). */
typedef struct tile_binding {
    const char *name;
    const char *value;
} tile_binding;

/* What a kernel looks like to whoever launches its PTX: all in terms of the arguments. Made from an
 * instantiated kernel after allocate-shared, at level 2 or 3. It holds nothing of the kernel, which
 * may be gone; the context must live, whose thread uses it. Names, arguments, parameters and
 * conditions that it shows are its own. */
typedef struct tile_abi tile_abi;

typedef struct tile_abi_arg {
    const char *name;
    const tile_type *type; /* view, pointer or scalar; a view is passed as a pointer */
    unsigned divisible;    /* what the code relies on; a pointer's address: in bytes; 1: nothing */
    /* Views: over integer arguments before it. The code relies on extents from 0 to 2^31 - 1 and on
     * the memory of every element; strides count elements. */
    const tile_expr *extents[TILE_MAX_RANK];
    const tile_expr *strides[TILE_MAX_RANK];
} tile_abi_arg;

/* NULL after a diagnostic: not a kernel, not instantiated, or a grid or scratch that the arguments
 * do not determine. */
TILE_API tile_abi *tile_abi_create(const tile_function *kernel);
TILE_API void tile_abi_destroy(tile_abi *abi);
/* The name of the .entry. */
TILE_API const char *tile_abi_entry(const tile_abi *abi);
TILE_API unsigned tile_abi_arg_count(const tile_abi *abi);
TILE_API const tile_abi_arg *tile_abi_arg_at(const tile_abi *abi,
                                             unsigned index); /* NULL past the end */
TILE_API unsigned tile_abi_warps(const tile_abi *abi);
/* Dynamic shared memory of a block. */
TILE_API unsigned tile_abi_shared_bytes(const tile_abi *abi);
/* What a launch knows beside the arguments. */
typedef struct tile_launch_facts {
    size_t size;      /* sizeof(tile_launch_facts) */
    unsigned num_sms; /* streaming multiprocessors of the device; 0: not known */
} tile_launch_facts;

/* Blocks of the grid, from one integer per argument (entries of pointers and floats are not used)
 * and the device (facts may be NULL: nothing is known); 1 in dims that the kernel does not name.
 * TILE_INVALID after a diagnostic if there is no such grid, or it is not made of whole clusters;
 * TILE_UNSUPPORTED if a launch does not take so many blocks. */
TILE_API tile_status tile_abi_grid(const tile_abi *abi, const int64_t *args,
                                   const tile_launch_facts *facts, int64_t grid[3]);
/* Extents and strides (in elements) of argument `index`, a view; TILE_INVALID after a diagnostic if
 * these arguments give none. */
TILE_API tile_status tile_abi_view_shape(const tile_abi *abi, unsigned index, const int64_t *args,
                                         int64_t extents[TILE_MAX_RANK],
                                         int64_t strides[TILE_MAX_RANK]);
/* Bytes that it reaches, before its pointer (strides may be negative) and from there on; none if an
 * extent is 0. */
TILE_API tile_status tile_abi_view_bytes(const tile_abi *abi, unsigned index, const int64_t *args,
                                         int64_t *before, int64_t *behind);
/* Bytes of scratch for these arguments on this device: clean (zero before and after each launch)
 * and plain, each 0 if the kernel has none. */
TILE_API tile_status tile_abi_scratch(const tile_abi *abi, const int64_t *args,
                                      const tile_launch_facts *facts, int64_t *clean_bytes,
                                      int64_t *plain_bytes);

/* The host tables behind the parameters of kind `table` say which tiles of a grid each of
 * min(tiles, num_sms) blocks gets: entry b is where the tiles of block b begin in the table, entry
 * b + 1 where they end. A tile is its number, x + extents[0] * (y + extents[1] * z). */
enum { TILE_MAX_TABLE_TILES = 1 << 22 };
/* The extents for these arguments; TILE_INVALID where they are not 1 to TILE_MAX_TABLE_TILES
 * tiles. */
TILE_API tile_status tile_abi_table_extents(const tile_abi *abi, unsigned index,
                                            const int64_t *args, int64_t extents[3]);
/* How many entries the table has: twice as many as there are tiles, and one. */
TILE_API tile_status tile_abi_table_entries(const tile_abi *abi, unsigned index,
                                            const int64_t *args, int64_t *entries);
/* The table. TILE_INVALID if a tile has no cost, which divides by zero, and if the facts do not say
 * how many multiprocessors there are. */
TILE_API tile_status tile_abi_make_table(const tile_abi *abi, unsigned index, const int64_t *args,
                                         const tile_launch_facts *facts, int32_t *entries);

/* The tensor maps behind the parameters of kind `tensor_map`: what a launch encodes, as
 * cuTensorMapEncodeTiled takes it, but with dims in a view's order, the innermost one last.
 * Elements outside of the array are zeros, nothing is interleaved, elements' strides are 1. */
enum { TILE_TENSOR_MAP_BYTES = 128 };
typedef struct tile_tensor_map {
    unsigned argument; /* the pointer or view whose array it is */
    uint64_t address;
    tile_scalar scalar;
    unsigned rank; /* up to TILE_MAX_MAP_RANK */
    int64_t extents[TILE_MAX_RANK];
    int64_t strides[TILE_MAX_RANK]; /* bytes; the innermost one is an element's */
    unsigned box[TILE_MAX_RANK];
    unsigned swizzle; /* bytes, 0: none */
} tile_tensor_map;
TILE_API unsigned tile_abi_tensor_map_count(const tile_abi *abi);
/* From one integer per argument, of pointers the address. TILE_INVALID after a diagnostic if an
 * expression divides by zero, or (without one) if there is no such map. */
TILE_API tile_status tile_abi_tensor_map(const tile_abi *abi, unsigned index, const int64_t *args,
                                         tile_tensor_map *map);

typedef enum tile_parameter_kind {
#define PARAMETER(name, meaning) TILE_PARAMETER_##name,
#include "tile/parameters.def"
#undef PARAMETER
} tile_parameter_kind;

/* A parameter of the .entry. */
typedef struct tile_abi_parameter {
    tile_parameter_kind kind;
    unsigned index; /* argument, table, tensor map: which one */
} tile_abi_parameter;

/* "argument", "clean_scratch", ...; NULL if there is no such kind. */
TILE_API const char *tile_parameter_kind_name(tile_parameter_kind kind);
/* All of them, in order. */
TILE_API unsigned tile_abi_parameter_count(const tile_abi *abi);
/* NULL past the end. */
TILE_API const tile_abi_parameter *tile_abi_parameter_at(const tile_abi *abi, unsigned index);

/* What a launch can be asked for, so that code may rely on it (tile/conditions.def). */
typedef enum tile_condition_kind {
#define CONDITION(number, name, reads, meaning) TILE_CONDITION_##name = number,
#include "tile/conditions.def"
} tile_condition_kind;

/* Of the argument of index arg: its integer, or its address in bytes, against value; of a view for
 * tensor_map its address, extents and strides. Of no argument for grid: arg is their count. */
typedef struct tile_condition {
    tile_condition_kind kind;
    unsigned arg;
    int64_t value;
} tile_condition;

/* "divisible", ...; NULL if there is no such kind. */
TILE_API const char *tile_condition_name(tile_condition_kind kind);

enum { TILE_MAX_VARIANTS = 16 };

/* A kernel has a list of variants: the same kernel, compiled under different sets of conditions. A
 * launch takes the first one whose conditions all hold; the last one asks for nothing, unless the
 * kernel was written at level 3. Where arguments can give a grid of more than TILE_MAX_GRID_YZ
 * blocks along y or z, the first half of the list asks for a grid that has no more, and the second
 * half is the same variants with a flat grid, which ask for all but that. Code and interface are
 * those of one variant. */
TILE_API unsigned tile_abi_variant_count(const tile_abi *abi);
/* Which of them this is. */
TILE_API unsigned tile_abi_variant(const tile_abi *abi);
/* The conditions of a variant, in the order of the arguments; NULL past the end. */
TILE_API const tile_condition *tile_abi_condition_at(const tile_abi *abi, unsigned variant,
                                                     unsigned index);
/* The variant for a launch, from one integer per argument: of pointers the address (floats are not
 * looked at). The count of variants if there is none. */
TILE_API unsigned tile_abi_pick_variant(const tile_abi *abi, const int64_t *args);
enum { TILE_ABI_FORMAT = 1 }; /* of the JSON of launch interfaces and plans */
/* All of it as JSON (lib/launch/json.c says what stands there). */
TILE_API void tile_abi_print(const tile_abi *abi, tile_writer writer, void *user);
/* The interface that tile_abi_print wrote. NULL after an error if the text is none, and after a
 * remark if it has another format than TILE_ABI_FORMAT: another version of Tile wrote it. */
TILE_API tile_abi *tile_abi_read(tile_context *context, const char *text, size_t length);

/* What launching an instantiated plan does, as JSON (lib/launch/steps_json.c says what stands
 * there): scratch, and the steps in terms of the plan's arguments. TILE_INVALID after a diagnostic.
 */
TILE_API tile_status tile_plan_print(const tile_function *plan, tile_writer writer, void *user);

/* The instantiate pass as a call: binds the kernel's compile-time parameters, in place. A missing
 * one takes its default, else its value in the first tune point that agrees with the given ones.
 * The calls below and tile_kernel_create, which know the target, take the first of these points
 * that the target can run; if it is a later one, a remark says so.
 * The name may be that of a {const} argument ("n", or "%n" where a parameter is called n): it gets
 * this value wherever it is used, and launches with another one are refused.
 * Pointers and views of a kernel at level 2 that say nothing else are declared divisible by 16.
 * TILE_INVALID after a diagnostic. */
TILE_API tile_status tile_instantiate(tile_module *module, const char *kernel,
                                      const tile_binding *bindings, unsigned binding_count);
/* After a kernel or plan could not be compiled for the target with these bindings: a note says
 * which other point of its space can be, if one can. The module is as it was before
 * tile_instantiate. */
TILE_API void tile_note_fitting_point(const tile_module *module, const char *kernel,
                                      const tile_binding *bindings, unsigned binding_count,
                                      const tile_target *target);
/* The pass `schedule` as a call: adds to the module a kernel, or a plan and its kernels, that
 * compute what the compute of this name does; *name is its name, the module's. Its arguments are
 * those of the compute's dims of which nothing is said (i32, with `_dim` behind the name where an
 * argument or result has it), then the compute's arguments, then its results; it is `of` the
 * compute. Bindings of the compute's parameters (element types must be bound) are taken out of
 * bindings, *binding_count are left: those of what was made. target: NULL is sm_80. TILE_INVALID
 * after a diagnostic. */
TILE_API tile_status tile_schedule(tile_module *module, const char *compute,
                                   const tile_target *target, tile_binding *bindings,
                                   unsigned *binding_count, const char **name);
/* The first half of tile_compile: instantiate, then the pipeline (NULL: tile_default_pipeline(3)).
 * kernel may be NULL if the module has only one, or the name of a plan or of a compute
 * (tile_schedule); options may be NULL, their `kernel` is not looked at. Of a plan each kernel that
 * it launches is lowered. *out, if out is not NULL, is the lowered function or the plan, borrowed
 * from the module. Fails as the parts do. */
TILE_API tile_status tile_lower(tile_module *module, const char *kernel,
                                const tile_binding *bindings, unsigned binding_count,
                                const char *pipeline, const tile_pass_options *options,
                                tile_function **out);
/* Everything from a parsed module to PTX: instantiate, the default pipeline, tile_emit. The module
 * is left at level 3. The caller owns *ptx and, if abi is not NULL, *abi; both are empty after a
 * failure. TILE_UNSUPPORTED for a kernel that takes several launches: see tile_artifact_build. */
TILE_API tile_status tile_compile(tile_module *module, const char *kernel,
                                  const tile_binding *bindings, unsigned binding_count,
                                  const tile_emit_options *options, tile_blob *ptx, tile_abi **abi);
/* PTX to cubin, which the caller owns, with the assembler at path ptxas. NULL: the driver's linker
 * does it, whose code can be slower than ptxas's or than that of a PTX module that the driver loads
 * (more registers, up to 1.4 times the time were seen).
 * TILE_UNAVAILABLE if there is no such program or driver, TILE_FAILED with its words if it refuses.
 */
TILE_API tile_status tile_assemble(tile_context *context, const tile_blob *ptx,
                                   const tile_target *target, const char *ptxas, tile_blob *cubin);

#ifdef __cplusplus
}
#endif

#endif
