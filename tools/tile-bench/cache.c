/* tile-bench cache: shows, lists, exports, imports, trims and clears compiled code and tuned
 * points. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tile/tuned.h"
#include "tools/common/cache.h"
#include "tools/common/json.h"
#include "tools/tile-bench/bench.h"

static const char help[] =
    "usage: tile-bench cache [COMMAND] [options]\n"
    "Shows and changes the cache of the tools.\n"
    "\n"
    "  show                  prints the size of the cache (default)\n"
    "  list                  lists the tuned points, the newest first: date, kernel, device, "
    "sizes,\n"
    "                        bucket, point, time, driver, compiler; `stale` if another compiler\n"
    "                        made the measured code. As JSON with --json\n"
    "  export FILE           writes the tuned points as text, or as C data if FILE ends in .c, "
    "for\n"
    "                        tile_tuned_table_read (tile/tuned.h)\n"
    "  import FILE           adds the points of such a text to the cache\n"
    "  trim SIZE             removes the least recently used artifacts until the file has at most\n"
    "                        this size in bytes; accepts 500K, 20M, 1G\n"
    "  clear                 removes all artifacts, and keeps the points\n"
    "  clear-points          removes all tuned points\n"
    "\n"
    "  --cache-dir=DIR       folder of the cache (default: $TILE_CACHE_DIR, else tile in\n"
    "                        $XDG_CACHE_HOME or ~/.cache)\n"
    "  --help                prints this text\n";

static bool complain(const char *what, const char *word) {
    fprintf(stderr, "error: %s '%s'; see tile-bench cache --help\n", what, word);
    return false;
}

static bool show(tile_cache *cache, const char *folder) {
    const tile_cache_statistics s = tile_cache_get_statistics(cache);
    printf("folder     %s\nartifacts  %" PRIu64 "\npoints     %" PRIu64 "\nbytes      %" PRIu64
           " of %" PRIu64 "\n",
           folder, s.artifacts, s.points, s.bytes, s.max_bytes);
    return s.usable;
}

static void show_point(const tile_point_key *key, const tile_tuned_point *point, void *user) {
    time_t when = (time_t)point->tuned;
    char date[32] = "?";
    const struct tm *parts = gmtime(&when);
    (void)user;
    if (parts) strftime(date, sizeof date, "%Y-%m-%d %H:%M", parts);
    printf("%s  @%s  %s, %u SMs, %u MHz, %u W\n", date, point->kernel_name, key->device,
           key->sm_count, key->memory_clock / 1000, key->power_limit / 1000);
    printf("    %s; bucket %s\n    %s: %.2f us%s\n    driver %s; %s\n",
           *key->sizes ? key->sizes : "sizes unknown", *key->bucket ? key->bucket : "of all",
           point->bindings, 1e6 * point->seconds,
           point->stale       ? " (stale)"
           : point->unchecked ? " (unchecked)"
                              : "",
           *point->driver ? point->driver : "unknown", point->compiler);
}

/* An element of {"format": 1, "points": [..]}. */
static void put_point(const tile_point_key *key, const tile_tuned_point *point, void *user) {
    tool_text *to = user;
    tool_json_element(to);
    tool_format(to, "{\"tuned\": %" PRId64, point->tuned);
    tool_json_field(to, "kernel", point->kernel_name);
    tool_json_field(to, "device", key->device);
    tool_format(to, ", \"sm_count\": %u, \"memory_clock_khz\": %u, \"power_limit_mw\": %u",
                key->sm_count, key->memory_clock, key->power_limit);
    tool_json_field(to, "sizes", key->sizes);
    tool_json_field(to, "bucket", key->bucket);
    tool_json_field(to, "point", point->bindings);
    tool_format(to, ", \"us\": %.6g, \"stale\": %s, \"unchecked\": %s", 1e6 * point->seconds,
                point->stale ? "true" : "false", point->unchecked ? "true" : "false");
    tool_json_field(to, "driver", point->driver);
    tool_json_field(to, "compiler", point->compiler);
    tool_format(to, "}");
}

static bool list_points(tile_cache *cache, bool json) {
    tool_text text = {NULL, 0, 0};
    if (json) {
        tool_json_begin(&text, "points");
        tile_cache_list_points(cache, put_point, &text);
        tool_json_end(&text);
        fwrite(text.data, 1, text.size, stdout);
    } else {
        tile_cache_list_points(cache, show_point, NULL);
    }
    free(text.data);
    return tile_cache_get_statistics(cache).usable;
}

/* "500K" */
static bool read_size(const char *text, uint64_t *size) {
    static const char units[] = "KMG";
    char *end;
    double number = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (const char *u = units; unit && u <= unit; u++) number *= 1024;
    if (end == text || !(number >= 0 && number < 0x1p62) || (*end && (!unit || end[1])))
        return complain("trim takes a size, not", text);
    *size = (uint64_t)number;
    return true;
}

static bool is_c(const char *path) {
    size_t length = strlen(path);
    return length > 2 && strcmp(path + length - 2, ".c") == 0;
}

static bool export_points(tile_cache *cache, const char *path) {
    tool_text text = {NULL, 0, 0};
    if (!path || !*path) return complain("export takes a file, not", "");
    tile_tuned_table *table = tile_tuned_table_create();
    tile_tuned_table_take(table, cache, NULL);
    tile_tuned_table_write(table, is_c(path) ? TILE_TABLE_C : TILE_TABLE_TEXT, NULL, tool_append,
                           &text);
    bool ok = tool_write_file(path, text.data, text.size);
    tile_tuned_table_destroy(table);
    free(text.data);
    return ok;
}

static bool import_points(tile_context *context, tile_cache *cache, const char *path) {
    size_t size;
    tile_tuned_table *table;
    if (!path) return complain("import takes a file, not", "");
    char *text = tool_read_file(path, &size);
    if (!text) return false;
    bool ok = tile_tuned_table_read(context, text, size, &table) == TILE_OK;
    if (!ok)
        fprintf(stderr, "note: in %s%s\n", path,
                is_c(path) ? ", which is C source; export the points as text to import them" : "");
    unsigned count = tile_tuned_table_count(table);
    unsigned kept = ok ? tile_tuned_table_keep(table, cache) : 0;
    if (ok && kept == count)
        printf("points     %u\n", count);
    else if (ok)
        fprintf(stderr,
                "error: %s: the cache stored %u of %u points; its folder cannot be written, or is "
                "full\n",
                path, kept, count);
    ok = ok && kept == count;
    tile_tuned_table_destroy(table);
    free(text);
    return ok;
}

static bool run(tile_context *context, tile_cache *cache, const char *folder, const char *command,
                const char *size, bool json) {
    uint64_t bytes;
    if (strcmp(command, "export") == 0) return export_points(cache, size);
    if (strcmp(command, "import") == 0) return import_points(context, cache, size);
    if (strcmp(command, "show") == 0) return show(cache, folder);
    if (strcmp(command, "clear") == 0)
        return tile_cache_clear(cache, TILE_CACHE_ARTIFACTS) == TILE_OK;
    if (strcmp(command, "clear-points") == 0)
        return tile_cache_clear(cache, TILE_CACHE_POINTS) == TILE_OK;
    if (strcmp(command, "trim") == 0)
        return read_size(size ? size : "", &bytes) && tile_cache_trim(cache, bytes) == TILE_OK;
    if (strcmp(command, "list") != 0) return complain("there is no command", command);
    return list_points(cache, json);
}

static bool takes_word(const char *command) {
    return strcmp(command, "trim") == 0 || strcmp(command, "export") == 0 ||
           strcmp(command, "import") == 0;
}

int tile_bench_cache(tool_arguments *words) {
    tool_cache choice = {NULL, false};
    const char *command = NULL, *size = NULL;
    bool json = false;
    while (words->next < words->argc) {
        if (tool_flag(words, "--help") || tool_flag(words, "-h")) {
            fputs(help, stdout);
            return tool_finish(true);
        }
        if (tool_flag(words, "--json")) {
            json = true;
            continue;
        }
        if (tool_option(words, "--cache-dir", &choice.folder) ||
            (!command && tool_positional(words, &command)) ||
            (command && takes_word(command) && !size && tool_positional(words, &size)))
            continue;
        complain("unknown or incomplete option", tool_current(words));
        return 1;
    }
    char *folder = tool_cache_folder(&choice);
    if (!folder) {
        fputs("error: there is no folder for the cache: give --cache-dir, or set TILE_CACHE_DIR or "
              "HOME\n",
              stderr);
        return 1;
    }
    tile_context *context = tile_context_create();
    tile_cache *cache = NULL;
    tool_print_diagnostics(context);
    bool ok = tile_cache_create(context, folder, NULL, &cache) == TILE_OK &&
              run(context, cache, folder, command ? command : "show", size, json);
    tile_cache_destroy(cache);
    tile_context_destroy(context);
    free(folder);
    return tool_finish(ok);
}
