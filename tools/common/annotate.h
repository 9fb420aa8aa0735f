/* Code with comments for people. */
#ifndef TILE_TOOLS_COMMON_ANNOTATE_H
#define TILE_TOOLS_COMMON_ANNOTATE_H

#include "tile/artifact.h"
#include "tile/inspect.h"
#include "tools/common/tool.h"

/* A copy of an instantiated module with the kernel, or a plan's kernels, at level 3, even where
 * their code is in a cache. Reports nothing: the build of the code does. The caller destroys it. */
tile_module *tool_lower_copy(const tile_module *module, const char *kernel,
                             const tile_build_options *wanted, tool_remarks remarks);

/* Adds the code of the kernel that dump->abi names to the text, with comments if the module has it
 * at level 3; NULL: without. dump: all but the kernel. False after a diagnostic. */
bool tool_put_code(const tile_dump_options *dump, const tile_module *lowered, const tile_blob *code,
                   tool_text *text);

#endif
