#include "tools/common/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tool_format(tool_text *to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *piece = malloc((size_t)length + 1);
    if (!piece) abort();
    va_start(args, format);
    vsnprintf(piece, (size_t)length + 1, format, args);
    va_end(args);
    tool_append(piece, (size_t)length, to);
    free(piece);
}

void tool_json_begin(tool_text *to, const char *name) {
    tool_format(to, "{\n  \"format\": 1,\n  \"%s\": [", name);
}

void tool_json_end(tool_text *to) {
    tool_format(to, "\n  ]\n}\n");
}

void tool_json_element(tool_text *to) {
    tool_format(to, "%s\n    ", to->data[to->size - 1] == '[' ? "" : ",");
}

void tool_json_field(tool_text *to, const char *name, const char *text) {
    tool_format(to, ", \"%s\": ", name);
    tool_write_json_string(text ? text : "", tool_append, to);
}
