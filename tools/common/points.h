/* The points of a kernel's space, as text. */
#ifndef TILE_TOOLS_COMMON_POINTS_H
#define TILE_TOOLS_COMMON_POINTS_H

#include "tile/tune.h"
#include "tools/common/tool.h"

#define TOOL_POINTS_HELP \
    "  --list-points         lists the points of the kernel's space instead, one per line. A\n" \
    "                        point that no launch uses is `dropped`, with the `where` that is\n" \
    "                        false, or what the target lacks; as JSON with --json\n" \
    "  --arg NAME=INTEGER    with --list-points: a size of the launch; may be repeated. Without\n" \
    "                        it, each `where` that names arguments counts as true\n"

/* The options above. */
typedef struct tool_points {
    bool list, json;
    tile_binding sizes[64];
    unsigned size_count;
} tool_points;

/* Takes one of the options; *ok is false after a message. */
bool tool_points_option(tool_arguments *args, tool_points *points, bool *ok);
/* False after a message: a size is given, but no list is asked for. */
bool tool_points_check(const tool_points *points);
void tool_points_close(tool_points *points);

/* Writes one line for each point, or an element of a JSON list, to the file; "-": standard output.
 * Without a name, the kernel is the only function of the module, or the only one that has `tune`.
 * False after a diagnostic. */
bool tool_list_points(const tile_module *module, const tool_points *points, const char *kernel,
                      const tile_target *target, const tile_binding *params, unsigned param_count,
                      const char *path);

#endif
