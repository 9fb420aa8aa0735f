#include "tools/common/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/json.h"

/* "block_m=128 block_n=64" as "point": {"block_m": "128", "block_n": "64"}. */
static void put_values(const char *point, tool_text *to) {
    const char *before = "";
    while (*point) {
        size_t name = strcspn(point, "="), value = strcspn(point + name, " ");
        tool_format(to, "%s\"%.*s\": \"%.*s\"", before, (int)name, point,
                    value ? (int)value - 1 : 0, point + name + 1);
        point += name + value;
        point += *point == ' ';
        before = ", ";
    }
}

static bool put_json(const char *point, const char *dropped, void *user) {
    tool_text *to = user;
    tool_json_element(to);
    tool_format(to, "{\"point\": {");
    put_values(point, to);
    tool_format(to, "}");
    tool_json_field(to, "dropped", dropped);
    tool_format(to, "}");
    return true;
}

/* {"format": 1, "points": [{"point": {"block": "128"}, "dropped": ""}]} */
static bool list_json(const tile_module *module, const tile_space_query *query, const char *path) {
    tool_text text = {NULL, 0, 0};
    tool_json_begin(&text, "points");
    bool ok = tile_explain_points(module, query, put_json, &text) == TILE_OK;
    tool_json_end(&text);
    ok = ok && tool_write_file(path, text.data, text.size);
    free(text.data);
    return ok;
}

static bool put_point(const char *point, const char *dropped, void *user) {
    tool_text *text = user;
    tool_append(point, strlen(point), text);
    if (dropped) tool_append("  dropped: ", 11, text);
    if (dropped) tool_append(dropped, strlen(dropped), text);
    tool_append("\n", 1, text);
    return true;
}

bool tool_points_option(tool_arguments *args, tool_points *points, bool *ok) {
    const char *value;
    *ok = true;
    if (tool_flag(args, "--list-points")) return points->list = true;
    if (!tool_option(args, "--arg", &value)) return false;
    enum { MOST = sizeof points->sizes / sizeof *points->sizes };
    *ok = !tool_add_binding(points->sizes, MOST, &points->size_count, value);
    if (!*ok)
        fprintf(stderr, "error: --arg takes NAME=INTEGER, at most %d times, not '%s'\n", MOST,
                value);
    return true;
}

bool tool_points_check(const tool_points *points) {
    if (points->list || !points->size_count) return true;
    fputs("error: --arg is a size for --list-points; add it, or launch with tile-run\n", stderr);
    return false;
}

void tool_points_close(tool_points *points) {
    for (unsigned i = 0; i < points->size_count; i++) free((char *)points->sizes[i].name);
}

bool tool_list_points(const tile_module *module, const tool_points *points, const char *kernel,
                      const tile_target *target, const tile_binding *params, unsigned param_count,
                      const char *path) {
    const tile_function *only = tool_only_function(module);
    const tile_space_query query = {.size = sizeof query,
                                    .kernel = !kernel && only ? tile_function_name(only) : kernel,
                                    .bindings = params,
                                    .binding_count = param_count,
                                    .target = target,
                                    .sizes = points->sizes,
                                    .size_count = points->size_count};
    if (points->json) return list_json(module, &query, path);
    tool_text text = {NULL, 0, 0};
    bool ok = tile_explain_points(module, &query, put_point, &text) == TILE_OK &&
              tool_write_file(path, text.data, text.size);
    free(text.data);
    return ok;
}
