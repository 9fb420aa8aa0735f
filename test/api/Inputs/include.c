/* Texts that include others: without a resolver, with one for texts in memory, and with the one for
 * files.
 *
 *   include FOLDER      the folder of prelude.tile */
#include <stdio.h>
#include <string.h>
#include <tile/tile.h>

static const char text[] = "include \"twice\"\n"
                           "compute @f<n: dim>(%x: tensor<f32[n]>) -> (%y: tensor<f32[n]>)\n"
                           "{ %y = twice(%x) }\n";
static const char activated[] = "include \"prelude.tile\"\n"
                                "compute @f<n: dim>(%x: tensor<f32[n]>) -> (%y: tensor<f32[n]>)\n"
                                "{ %y = relu(%x) }\n";

static void show(const tile_diagnostic *d, void *user) {
    (void)user;
    printf("%s:%u:%u: %s\n", d->file, d->line, d->column, d->message);
}

/* The only text is static, so that there is nothing to release. */
static tile_status find_text(const tile_include *include, tile_included *found, void *user) {
    unsigned *calls = user;
    ++*calls;
    if (strcmp(include->spelling, "twice") != 0) return TILE_UNAVAILABLE;
    found->text = "func @twice(%x: f32) -> (%y: f32) { %y = %x + %x }\n";
    found->length = strlen(found->text);
    return TILE_OK;
}

static void run(tile_context *context, const char *program, const tile_parse_options *options) {
    float x[3] = {1, -2, 3}, y[3] = {0, 0, 0};
    const tile_compute_array in = {TILE_f32, 1, {3}, x}, out = {TILE_f32, 1, {3}, y};
    tile_module *module =
        tile_module_parse_with(context, "f.tile", program, strlen(program), options);
    if (module && tile_compute_run(tile_module_find(module, "f"), &in, 1, &out, 1) == TILE_OK)
        printf("%g %g %g\n", y[0], y[1], y[2]);
    tile_module_destroy(module);
}

int main(int argc, char **argv) {
    unsigned calls = 0;
    const char *const folders[] = {argc > 1 ? argv[1] : "."};
    tile_include_path path = {.size = sizeof path, .folders = folders, .folder_count = 1};
    const tile_parse_options none = {.size = sizeof none};
    const tile_parse_options memory = {.size = sizeof memory, .resolve = find_text, .user = &calls};
    const tile_parse_options files = {.size = sizeof files,
                                      .resolve = tile_resolve_file,
                                      .release = tile_release_file,
                                      .user = &path};
    tile_context *context = tile_context_create();
    tile_context_set_sink(context, show, NULL);
    run(context, text, &none);
    run(context, text, &memory);
    printf("%u call\n", calls);
    run(context, activated, &files);
    tile_context_destroy(context);
    return 0;
}
