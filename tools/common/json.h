/* Writing JSON. */
#ifndef TILE_TOOLS_COMMON_JSON_H
#define TILE_TOOLS_COMMON_JSON_H

#include "tools/common/tool.h"

/* Appends formatted text; printf's format. */
void tool_format(tool_text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Begins and ends {"format": 1, "NAME": [..]}. */
void tool_json_begin(tool_text *to, const char *name);
void tool_json_end(tool_text *to);
/* Begins an element of the list: `,` unless it is the first one, and a new line. */
void tool_json_element(tool_text *to);
/* Appends , "name": "text": a field that follows others. A NULL text becomes "". */
void tool_json_field(tool_text *to, const char *name, const char *text);

#endif
