/* What every tool does: options, files, diagnostics on stderr. */
#ifndef TILE_TOOLS_COMMON_TOOL_H
#define TILE_TOOLS_COMMON_TOOL_H

#include "tile/compile.h"
#include "tile/ir.h"

/* Begins main: a standard output that is closed stays so, whatever is opened later. */
void tool_start(void);
/* Ends main, with the exit status: 1 after a message if standard output could not be written. */
int tool_finish(bool ok);

/* Answers --version: prints the tool's name and the version of the library that it runs with. Ends
 * main, with the exit status. */
int tool_print_version(const char *tool);

/* The command line while it is read. */
typedef struct tool_arguments {
    int argc;
    char **argv;
    int next;
} tool_arguments;

/* If the next word is --name=VALUE, or --name and VALUE follow: takes them, sets *value. */
bool tool_option(tool_arguments *arguments, const char *name, const char **value);
/* If the next word is exactly --name: takes it. */
bool tool_flag(tool_arguments *arguments, const char *name);
/* If the next word is no option (a lone "-" is none): takes it. */
bool tool_positional(tool_arguments *arguments, const char **value);
const char *tool_current(const tool_arguments *arguments);

/* Adds NAME=VALUE to bindings[*count]; the name is a copy, the caller's, the value a part of text.
 * NULL, or what is wrong, to be followed by the text. */
const char *tool_add_binding(tile_binding *bindings, unsigned capacity, unsigned *count,
                             const char *text);

/* A copy that the caller frees; stops the program when there is no memory. */
char *tool_copy(const char *text, size_t length);

/* A whole file ("-": standard input) of up to 64 MiB, ended by a zero byte that *size does not
 * count. NULL after a message. The caller frees it. */
char *tool_read_file(const char *path, size_t *size);
/* Writes a file ("-": standard output). False after a message. */
bool tool_write_file(const char *path, const char *data, size_t size);

/* What becomes of remarks: --remarks, --remarks=error. */
typedef enum tool_remarks {
    TOOL_REMARKS_ASKED, /* those on what the text asks for and does not get */
    TOOL_REMARKS_ALL,   /* and what the compiler could not do by itself */
    TOOL_REMARKS_ERROR, /* all, and each that has a place is an error */
} tool_remarks;

#define TOOL_REMARKS_HELP \
    "  --remarks             say at each line what could not be done (TMA, wgmma, splitting, " \
    "..),\n" \
    "                        why, and what to write so that it can\n" \
    "  --remarks=error       and treat each such remark as an error\n"

/* If the next word is --remarks or --remarks=KIND: takes it. *ok is false after a message. */
bool tool_remarks_option(tool_arguments *arguments, tool_remarks *remarks, bool *ok);

/* Sends the context's diagnostics to stderr. */
void tool_print_diagnostics(tile_context *context);
/* The same, with remarks as chosen. */
void tool_print_remarks(tile_context *context, tool_remarks remarks);
/* Whether a remark was an error so far, in this process: then nothing should be written. */
bool tool_remarks_failed(void);
/* Reads and parses a file; NULL after diagnostics. */
/* Reports an option that the tool does not take or that lacks its value, with the nearest one of
 * its help. False. */
bool tool_refuse_option(const tool_arguments *arguments, const char *tool, const char *help);

tile_module *tool_parse_file(tile_context *context, const char *path);

/* Text that grows: a tile_writer for tile_module_print and the like. Start with zeros; free data.
 */
typedef struct tool_text {
    char *data;
    size_t size, capacity;
} tool_text;

void tool_append(const char *text, size_t length, void *tool_text_);

/* Writes to a FILE: a tile_writer. */
void tool_write(const char *text, size_t length, void *file);

/* The text as a string of JSON, in quotation marks. */
void tool_write_json_string(const char *text, tile_writer writer, void *user);

#endif
