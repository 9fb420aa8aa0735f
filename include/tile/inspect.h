/* Looking at code: what it takes of a multiprocessor, its instructions, and who holds what.
 *
 * The first two run programs of the CUDA toolkit on PTX that tile_emit or tile_artifact_build made.
 * Paths are those of programs; a name without a slash is looked for on PATH. */
#ifndef TILE_INSPECT_H
#define TILE_INSPECT_H

#include "tile/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Spills in a part of a kernel's code. */
typedef struct tile_spill {
    const char *where; /* the role of the warps, and the loop or its prologue or epilogue:
                          "producer, loop over %i at line 12"; NULL: not known */
    unsigned store_bytes, load_bytes; /* of a thread, in the text of the code */
} tile_spill;

typedef struct tile_resources {
    unsigned registers;                                 /* of a thread, when the kernel begins */
    unsigned spill_store_bytes, spill_load_bytes;       /* of a thread, in the text of the code */
    unsigned stack_bytes;                               /* of a thread */
    unsigned static_shared_bytes, dynamic_shared_bytes; /* of a block */
    unsigned barriers;                                  /* of a block, of 16 */
    unsigned threads;                                   /* of a block */
    unsigned sm_blocks; /* blocks that a multiprocessor holds at once, by the table of targets; 0:
                           it cannot hold one */
    const char *limit;  /* of what more would let it hold more: "registers", "shared memory",
                           "warps", "blocks" */
    const tile_target *target;
    tile_spill *spills; /* in the order of the code; NULL until tile_inspect_spills sets it */
    unsigned spill_count;
} tile_resources;

/* From ptxas -v and the interface that was made with the PTX. TILE_UNAVAILABLE if there is no such
 * program, TILE_FAILED with its words if it refuses, or says nothing of registers. */
TILE_API tile_status tile_inspect_resources(tile_context *context, const tile_blob *ptx,
                                            const tile_abi *abi, const tile_target *target,
                                            const char *ptxas, tile_resources *out);
/* Frees the list of spills, if there is one. */
TILE_API void tile_resources_destroy(tile_resources *resources);
/* As a table for people, or as JSON: an object with the fields' names, "target", and "occupancy",
 * the part of a multiprocessor's warps that can be busy, from 0 to 1. */
TILE_API void tile_resources_print(const tile_resources *resources, bool json, tile_writer writer,
                                   void *user);

/* The instructions (SASS), with the lines of the source if the PTX names them and ptxas assembles
 * it (NULL: the driver). disassembler: nvdisasm, or cuobjdump, distinguished by their names. *sass
 * is the caller's; fails as tile_inspect_resources. */
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
    const char *ptxas, *disassembler; /* of SASS: as for tile_disassemble */
} tile_dump_options;

/* The code that tile_emit or tile_disassemble made of the kernel, with comments for people: at the
 * beginning what the kernel is and asks of a launch, before instructions the role of the warps, the
 * stage of the pipeline and the line of the source, behind them the barrier. Nothing but comments
 * is added. What the library makes has none of them. *out is the caller's; fails as tile_emit and
 * tile_disassemble, TILE_INVALID if something is missing. */
TILE_API tile_status tile_annotate(const tile_dump_options *options, const tile_blob *code,
                                   tile_blob *out);

/* Sets the list of spills: which parts of the code store registers to local memory and load them.
 * sass: from tile_disassemble, of the kernel that options describe. Fails as tile_annotate. */
TILE_API tile_status tile_inspect_spills(const tile_dump_options *options, const tile_blob *sass,
                                         tile_resources *resources);

/* What an operation does with a tile or buffer that has a layout, by the first warp; numbers that
 * do not apply are 0. */
typedef struct tile_layout_use {
    const char *operation;
    const char *way;       /* "ld.global", "ldmatrix", "shuffles", "registers", .. */
    unsigned line;         /* of the source, 0 if it has none */
    unsigned access_bytes; /* of a thread */
    unsigned requests;     /* of a warp: instructions that move the whole tile */
    unsigned sectors;      /* of global memory, 32 bytes each, by all of these */
    unsigned wavefronts;   /* of shared memory: lines of 32 banks that are served, likewise */
    unsigned needless;     /* of the sectors, those beyond the fewest that the bytes fill; of the
                              wavefronts, those because of bank conflicts */
} tile_layout_use;

/* A tile or shared buffer that has a layout. */
typedef struct tile_laid_out {
    const char *function, *name; /* as it is printed, without the percent sign */
    const tile_type *type;
    const tile_layout_use *uses;
    unsigned use_count;
} tile_laid_out;

/* What is passed is good until it returns, but for the type and the function's name. */
typedef void (*tile_layout_found)(const tile_laid_out *value, void *user);

/* Calls `found` for every value of kernels that has a layout, in order; kernel, name: only of this
 * one, only these (NULL: all). Uses are known at level 2. target: whose instructions (NULL:
 * sm_80). Returns how many there were. */
TILE_API unsigned tile_inspect_layouts(tile_module *module, const char *kernel, const char *name,
                                       const tile_target *target, tile_layout_found found,
                                       void *user);

#ifdef __cplusplus
}
#endif

#endif
