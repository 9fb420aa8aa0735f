/* Prints generated code annotated with comments. */
#ifndef TILE_TOOLS_COMMON_ANNOTATE_H
#define TILE_TOOLS_COMMON_ANNOTATE_H

#include "tile/artifact.h"
#include "tile/inspect.h"
#include "tools/common/tool.h"

/* Returns a copy of an instantiated module in which the kernel, or a plan's kernels, are lowered to
 * level 3, even if their code is cached. Reports no diagnostics, because the build of the code
 * does. The caller destroys the copy. */
tile_module *tool_lower_copy(const tile_module *module, const char *kernel,
                             const tile_build_options *wanted, tool_remarks remarks);

/* Appends the code of the kernel that dump->abi names to the text. If the module has that kernel at
 * level 3, the code is annotated with comments; NULL: no annotation. The caller sets all fields of
 * dump except the kernel. False after a diagnostic. */
bool tool_put_code(const tile_dump_options *dump, const tile_module *lowered, const tile_blob *code,
                   tool_text *text);

/* The given program, or else nvdisasm or cuobjdump of the CUDA toolkit; NULL: there is none. The
 * caller frees *found. */
const char *tool_find_disassembler(const char *given, char **found);

/* Adds to the resources which parts of the kernel spill, if it spills, the module has the kernel at
 * level 3, and there is a disassembler. dump: all but the kernel, of SASS. False after a
 * diagnostic. */
bool tool_find_spills(const tile_dump_options *dump, const tile_module *lowered,
                      const tile_blob *ptx, tile_resources *resources);

#endif
