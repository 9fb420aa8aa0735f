/* From a kernel to LLVM IR, PTX and cubin. */
#ifndef TILE_COMPILE_H
#define TILE_COMPILE_H

#include "tile/ir.h"
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

TILE_API void tile_blob_destroy(tile_blob *blob);

typedef enum tile_emit_kind {
    TILE_EMIT_LLVM, /* LLVM IR after our short pipeline */
    TILE_EMIT_PTX,
} tile_emit_kind;

typedef struct tile_emit_options {
    size_t size;              /* sizeof(tile_emit_options) */
    const tile_target *target;
    unsigned ptx_version;     /* 90 is PTX 9.0; 0: the lowest that the kernel needs */
    bool no_line_info;        /* leave out .loc */
    void (*timing)(const char *stage, double seconds, void *user);
    void *report_user;
} tile_emit_options;

/* Emits one kernel that is at level 3 (all passes have run). */
TILE_API tile_status tile_emit(const tile_function *kernel, tile_emit_kind kind,
                               const tile_emit_options *options, tile_blob *out);

/* A compile-time parameter's value as text ("128", "true", "f16"). */
typedef struct tile_binding {
    const char *name;
    const char *value;
} tile_binding;

/* What a kernel looks like to whoever launches its PTX: all in terms of the arguments. It is made from an
 * instantiated kernel at any level at or after allocate-shared; owned by the caller. */
typedef struct tile_abi tile_abi;

typedef struct tile_abi_arg {
    const char *name;
    const tile_type *type; /* pointer or scalar */
    unsigned divisible;    /* what the code relies on; 1: nothing */
} tile_abi_arg;

TILE_API tile_abi *tile_abi_create(const tile_function *kernel);
TILE_API void tile_abi_destroy(tile_abi *abi);
TILE_API const char *tile_abi_entry(const tile_abi *abi);
TILE_API unsigned tile_abi_arg_count(const tile_abi *abi);
TILE_API const tile_abi_arg *tile_abi_arg_at(const tile_abi *abi, unsigned index);
TILE_API unsigned tile_abi_warps(const tile_abi *abi);
TILE_API unsigned tile_abi_shared_bytes(const tile_abi *abi);
/* Blocks of the grid for these integer arguments (pointers' entries are not read); 1 in dims that the kernel does not name. */
TILE_API tile_status tile_abi_grid(const tile_abi *abi, const int64_t *args, int64_t grid[3]);
/* Bytes of scratch for these arguments: clean (zero before and after each launch) and plain. Each is 0
 * if the kernel has none; its base is an extra parameter if the kernel has one of that sort. */
TILE_API tile_status tile_abi_scratch(const tile_abi *abi, const int64_t *args, int64_t *clean_bytes,
                                      int64_t *plain_bytes);
TILE_API bool tile_abi_has_clean_scratch(const tile_abi *abi);
TILE_API bool tile_abi_has_plain_scratch(const tile_abi *abi);
/* All of it as JSON. */
TILE_API void tile_abi_print(const tile_abi *abi, tile_writer writer, void *user);

/* The instantiate pass's options for these bindings, for use in a pipeline. A missing parameter takes
 * its value from the first tune point that agrees with the given ones. arg_divisors (one per argument,
 * or NULL): what the arguments are really divisible by (0: unknown, keep what the kernel declares). */
TILE_API tile_status tile_instantiate(tile_module *module, const char *kernel,
                                      const tile_binding *bindings, unsigned binding_count,
                                      const uint64_t *arg_divisors);
/* The first half of tile_compile: instantiate, then the pipeline (NULL: tile_default_pipeline(3)). kernel
 * may be NULL if the module has only one. *out, if not NULL, is the lowered function. */
TILE_API tile_status tile_lower(tile_module *module, const char *kernel, const tile_binding *bindings,
                                unsigned binding_count, const char *pipeline,
                                const tile_pass_options *options, tile_function **out);
/* Everything from a parsed module to PTX: instantiate, the default pipeline, tile_emit. The module is
 * left at level 3. abi may be NULL. */
TILE_API tile_status tile_compile(tile_module *module, const char *kernel, const tile_binding *bindings,
                                  unsigned binding_count, const tile_emit_options *options,
                                  tile_blob *ptx, tile_abi **abi);
/* PTX to cubin with the assembler at path ptxas (NULL: the driver does it, if there is one). */
TILE_API tile_status tile_assemble(tile_context *context, const tile_blob *ptx, const tile_target *target,
                                   const char *ptxas, tile_blob *cubin);

#ifdef __cplusplus
}
#endif

#endif
