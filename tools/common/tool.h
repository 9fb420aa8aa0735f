/* Code that all tools share: options, files, diagnostics on stderr. */
#ifndef TILE_TOOLS_COMMON_TOOL_H
#define TILE_TOOLS_COMMON_TOOL_H

#include "tile/compile.h"
#include "tile/ir.h"

/* Call at the start of main. Keeps a closed standard output closed, whatever is opened later. */
void tool_start(void);
/* Call at the end of main. Returns the exit status: 1, after a message, if standard output could
 * not be written. */
int tool_finish(bool ok);

/* Implements --version: prints the tool's name and the version of the library that it is linked
 * with. Call at the end of main; returns the exit status. */
int tool_print_version(const char *tool);

/* The command line and the position while it is parsed. */
typedef struct tool_arguments {
    int argc;
    char **argv;
    int next;
} tool_arguments;

/* Consumes the next word if it is --name=VALUE, or the next two if they are --name VALUE; sets
 * *value. */
bool tool_option(tool_arguments *arguments, const char *name, const char **value);
/* Consumes the next word if it is exactly --name. */
bool tool_flag(tool_arguments *arguments, const char *name);
/* Consumes the next word if it is not an option (a lone "-" is not one). */
bool tool_positional(tool_arguments *arguments, const char **value);
const char *tool_current(const tool_arguments *arguments);

/* Adds NAME=VALUE to bindings[*count]. The name is a copy that the caller owns; the value points
 * into text. Returns NULL, or an error message that is to be followed by the text. */
const char *tool_add_binding(tile_binding *bindings, unsigned capacity, unsigned *count,
                             const char *text);

/* Returns a copy that the caller frees; exits the program if memory runs out. */
char *tool_copy(const char *text, size_t length);

/* Reads a whole file ("-": standard input) of up to 64 MiB. A zero byte, not counted in *size, ends
 * the data. NULL after a message. The caller frees it. */
char *tool_read_file(const char *path, size_t *size);
/* Writes a file ("-": standard output). False after a message. */
bool tool_write_file(const char *path, const char *data, size_t size);

/* How remarks are reported: --remarks, --remarks=error. */
typedef enum tool_remarks {
    TOOL_REMARKS_ASKED, /* only requests in the text that were not honored */
    TOOL_REMARKS_ALL,   /* also what the compiler could not do on its own */
    TOOL_REMARKS_ERROR, /* all; each remark that has a location is an error */
} tool_remarks;

#define TOOL_REMARKS_HELP \
    "  --remarks             prints, for each line, which optimization was not possible (TMA, " \
    "wgmma,\n" \
    "                        splitting, ..), why, and what to write to make it possible\n" \
    "  --remarks=error       reports each such remark as an error\n"

/* Consumes the next word if it is --remarks or --remarks=KIND. *ok is false after a message. */
bool tool_remarks_option(tool_arguments *arguments, tool_remarks *remarks, bool *ok);

/* Sends the context's diagnostics to stderr. */
void tool_print_diagnostics(tile_context *context);
/* Same, and handles remarks as chosen. */
void tool_print_remarks(tile_context *context, tool_remarks remarks);
/* True if some remark was treated as an error in this process; then nothing should be written. */
bool tool_remarks_failed(void);
/* Reports an option that the tool does not have, or that lacks its value, and suggests the most
 * similar one in its help. Returns false. */
bool tool_refuse_option(const tool_arguments *arguments, const char *tool, const char *help);

/* Returns the only function besides funcs, which are not run; NULL if there are none or several. */
const tile_function *tool_only_function(const tile_module *module);
/* Returns whether the module has no kernels or plans. */
bool tool_has_computes_only(const tile_module *module);

/* A growing text buffer, for the tile_writer tool_append. Zero-initialize; free data. */
typedef struct tool_text {
    char *data;
    size_t size, capacity;
} tool_text;

void tool_append(const char *text, size_t length, void *tool_text_);

/* A tile_writer that writes to a FILE. */
void tool_write(const char *text, size_t length, void *file);

/* Writes the text as a quoted JSON string. */
void tool_write_json_string(const char *text, tile_writer writer, void *user);

#endif
