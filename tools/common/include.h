/* Texts with `include`: where the tools look for the files, and parsing. */
#ifndef TILE_TOOLS_COMMON_INCLUDE_H
#define TILE_TOOLS_COMMON_INCLUDE_H

#include "tile/ir.h"
#include "tools/common/tool.h"

#define TOOL_INCLUDE_HELP \
    "  -I FOLDER             looks there for the files of `include \"FILE\"`; may be repeated\n" \
    "  --no-include          makes each `include` an error, for texts from others\n"

/* Consumes -I FOLDER, -IFOLDER or --no-include; they apply to the whole process. *ok is false after
 * a message. */
bool tool_include_option(tool_arguments *arguments, bool *ok);
/* The same options for another tool: NULL past the last one. The words stay valid. */
const char *tool_include_word(unsigned index);

/* Parses a text; NULL after diagnostics. name: the path of its file, or "<stdin>". */
tile_module *tool_parse(tile_context *context, const char *name, const char *text, size_t length);
/* Reads and parses a file ("-": standard input); NULL after diagnostics. */
tile_module *tool_parse_file(tile_context *context, const char *path);

#endif
