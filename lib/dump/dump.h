/* Comments in LLVM IR, PTX and SASS, for human readers. */
#ifndef TILE_LIB_DUMP_DUMP_H
#define TILE_LIB_DUMP_DUMP_H

#include "lib/analysis/executors.h"
#include "lib/support/text.h"
#include "tile/inspect.h"

/* A region of `roles`, and the warps that run it. */
typedef struct tile_dump_role {
    tile_region region;
    tile_executors who;
    unsigned registers; /* the register count that it sets; 0: none */
    const char *name;   /* "producer", "consumer", .. */
} tile_dump_role;

/* In the order of the text; allocated in the arena. */
tile_dump_role *tile_dump_roles(const tile_function *kernel, tile_arena *arena, unsigned *count);

/* The comment of an operation's instructions. */
typedef struct tile_dump_label {
    const char *section; /* its role and stage; equal ones are the same pointer */
    const char *sync;    /* the barrier, or what it waits for; NULL: neither */
} tile_dump_label;

/* By operation id; entry 0 is the kernel's code before its body. Allocated in the arena. */
tile_dump_label *tile_dump_labels(const tile_function *kernel, tile_arena *arena);

/* Writes the block of comments at the beginning; mark precedes each line. */
void tile_dump_head(const tile_function *kernel, const tile_abi *abi, const tile_target *target,
                    const char *mark, tile_text *to);

/* Writes the code with comments; marked: the same code with operations as locations. */
void tile_dump_write(const tile_dump_options *options, const tile_blob *code,
                     const tile_blob *marked, tile_text *to);

/* SASS: the bytes of spills by section, in the order of the code. A section is NULL if the
 * operation of none of its instructions is known. Allocated in the arena. */
tile_spill *tile_dump_spills(const tile_dump_options *options, const tile_blob *code,
                             const tile_blob *marked, tile_arena *arena, unsigned *count);

#endif
