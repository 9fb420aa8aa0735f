/* Inspects code: its use of multiprocessor resources, its instructions, and its layouts.
 *
 * tile_inspect_resources and tile_disassemble run programs of the CUDA toolkit on PTX that
 * tile_emit or tile_artifact_build made. Give the path of a program, or a name without a slash,
 * which is searched for on PATH. */
#ifndef TILE_INSPECT_H
#define TILE_INSPECT_H

#include "tile/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Spills in a part of a kernel's code. */
typedef struct tile_spill {
    const char *where; /* the role of the warps, and the loop or its prologue or epilogue:
                          "producer, loop over %i at line 12"; NULL: unknown */
    unsigned store_bytes, load_bytes; /* per thread, static count in the code */
} tile_spill;

typedef struct tile_resources {
    unsigned registers;                                 /* per thread, when the kernel starts */
    unsigned spill_store_bytes, spill_load_bytes;       /* per thread, static count in the code */
    unsigned stack_bytes;                               /* per thread */
    unsigned static_shared_bytes, dynamic_shared_bytes; /* per block */
    unsigned barriers;                                  /* per block, at most 16 */
    unsigned threads;                                   /* per block */
    unsigned sm_blocks; /* blocks resident on a multiprocessor, by the table of targets; 0: not even
                           one */
    const char *limit; /* the resource that limits sm_blocks: "registers", "shared memory", "warps",
                          "blocks" */
    const tile_target *target;
    tile_spill *spills; /* in code order; NULL until tile_inspect_spills sets it */
    unsigned spill_count;
} tile_resources;

/* Computes the resources from the output of ptxas -v and the interface that was made with the PTX.
 * Returns TILE_UNAVAILABLE if there is no such program, TILE_FAILED with its message if it rejects
 * the PTX or does not report registers. Free the result with tile_resources_destroy. */
TILE_API tile_status tile_inspect_resources(tile_context *context, const tile_blob *ptx,
                                            const tile_abi *abi, const tile_target *target,
                                            const char *ptxas, tile_resources *out);
/* Frees the list of spills, if any. */
TILE_API void tile_resources_destroy(tile_resources *resources);
/* Prints the resources as a table or as JSON. The JSON is an object with the names of the fields,
 * "target", and "occupancy": the fraction of a multiprocessor's warps that can be resident, 0 to
 * 1. */
TILE_API void tile_resources_print(const tile_resources *resources, bool json, tile_writer writer,
                                   void *user);

/* Disassembles to SASS. Source lines are included if the PTX has them and ptxas assembles it (NULL:
 * the driver does). disassembler: nvdisasm or cuobjdump, distinguished by their names. The caller
 * owns *sass. Fails as tile_inspect_resources does. */
TILE_API tile_status tile_disassemble(tile_context *context, const tile_blob *ptx,
                                      const tile_target *target, const char *ptxas,
                                      const char *disassembler, tile_blob *sass);

typedef enum tile_dump_kind { TILE_DUMP_LLVM, TILE_DUMP_PTX, TILE_DUMP_SASS } tile_dump_kind;

/* How the code was made. */
typedef struct tile_dump_options {
    size_t size; /* sizeof(tile_dump_options) */
    tile_dump_kind kind;
    const tile_function *kernel;      /* at level 3, all passes have run */
    const tile_abi *abi;              /* of the same kernel and variant */
    const tile_emit_options *emit;    /* as for tile_emit */
    const char *ptxas, *disassembler; /* for SASS, as in tile_disassemble */
} tile_dump_options;

/* Annotates the code that tile_emit or tile_disassemble made of the kernel. Comments at the
 * beginning describe the kernel and its launch requirements. Comments before instructions give the
 * role of the warps, the pipeline stage and the source line; comments after instructions name the
 * barrier. Only comments are added. The caller owns *out. Fails as tile_emit and tile_disassemble
 * do; TILE_INVALID if an option is missing. */
TILE_API tile_status tile_annotate(const tile_dump_options *options, const tile_blob *code,
                                   tile_blob *out);

/* Sets the list of spills: the parts of the code that store registers to local memory and load
 * them. sass: the output of tile_disassemble for the kernel that options describes. Fails as
 * tile_annotate does. */
TILE_API tile_status tile_inspect_spills(const tile_dump_options *options, const tile_blob *sass,
                                         tile_resources *resources);

/* Lists the module's functions, or the one of this name (NULL: all): a line with the kind and the
 * name, then a line for each parameter, `tune` and `where` clause, argument and result. */
TILE_API void tile_module_list(const tile_module *module, const char *name, tile_writer writer,
                               void *user);
/* The same as JSON, in one piece; the fields are in lib/text/list_json.c. */
TILE_API void tile_module_list_json(const tile_module *module, const char *name, tile_writer writer,
                                    void *user);

/* How an operation accesses a tile or buffer that has a layout. The numbers are those of the first
 * warp; 0 if not applicable. */
typedef struct tile_layout_use {
    const char *operation;
    const char *way;       /* "ld.global", "ldmatrix", "shuffles", "registers", ... */
    unsigned line;         /* line in the source, 0 if unknown */
    unsigned access_bytes; /* bytes that each thread accesses at once */
    unsigned requests;     /* instructions that a warp needs to move the whole tile */
    unsigned sectors;      /* 32-byte sectors of global memory that these instructions touch */
    unsigned wavefronts;   /* shared memory wavefronts of these instructions */
    unsigned needless; /* sectors beyond the minimum for this number of bytes, or wavefronts due to
                          bank conflicts */
} tile_layout_use;

/* A tile or shared buffer that has a layout. */
typedef struct tile_laid_out {
    const char *function, *name; /* names as they are printed, without the percent sign */
    const tile_type *type;
    const tile_layout_use *uses;
    unsigned use_count;
} tile_laid_out;

/* The pointers are valid only during the call, except for the type and the function's name. */
typedef void (*tile_layout_found)(const tile_laid_out *value, void *user);

/* Calls `found` for every value of kernels that has a layout, in order. kernel and name restrict
 * the search (NULL: all); kernel may name a plan, for the kernels that it launches. Uses are known
 * only at level 2. target determines the instructions (NULL: sm_80). Returns the number of values
 * found. */
TILE_API unsigned tile_inspect_layouts(tile_module *module, const char *kernel, const char *name,
                                       const tile_target *target, tile_layout_found found,
                                       void *user);

#ifdef __cplusplus
}
#endif

#endif
