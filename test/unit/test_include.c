/* `include`: a resolver in memory, which counts its calls and what it has to release. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <unistd.h>

#include "lib/ir/renames.h"
#include "runtime/launch/tuned.h"
#include "test/unit/text_fixture.h"
#include "tile/artifact.h"
#include "tile/compile.h"
#include "tile/device.h"
#include "tile/parse.h"
#include "tile/target.h"

typedef struct memory_text {
    const char *spelling, *identity, *text;
} memory_text;

typedef struct memory {
    const memory_text *texts;
    size_t count;
    unsigned calls, held; /* held: not yet released */
    char from[256];       /* the names of the including texts, in order */
} memory;

static tile_status find_in_memory(const tile_include *include, tile_included *found, void *user) {
    memory *m = user;
    m->calls++;
    m->held++;
    strncat(m->from, include->from, sizeof m->from - strlen(m->from) - 1);
    strncat(m->from, " ", sizeof m->from - strlen(m->from) - 1);
    for (size_t i = 0; i < m->count; i++) {
        if (strcmp(include->spelling, m->texts[i].spelling) != 0) continue;
        /* A copy that `release` overwrites: the parser must not keep it. */
        char *copy = strdup(m->texts[i].text);
        *found = (tile_included){.identity = m->texts[i].identity,
                                 .name = m->texts[i].spelling,
                                 .text = copy,
                                 .length = strlen(copy),
                                 .memory = copy};
        return TILE_OK;
    }
    found->problem = "the memory has no such text; add it";
    return TILE_UNAVAILABLE;
}

static void release_memory(tile_included *found, void *user) {
    memory *m = user;
    m->held--;
    if (found->memory) memset(found->memory, '?', found->length);
    free(found->memory);
}

static tile_module *parse_with(text_fixture *x, memory *m, const char *text) {
    const tile_parse_options options = {.size = sizeof options,
                                        .resolve = find_in_memory,
                                        .release = release_memory,
                                        .user = m,
                                        .identity = "root"};
    return tile_module_parse_with(x->context, "root.tile", text, strlen(text), &options);
}

#define COMPUTE(name, body) \
    "compute @" name "<n: dim>(%x: tensor<f32[n]>) -> (%z: tensor<f32[n]>) { %z = " body " }\n"

/* The messages with the names of the files. */
static void named_sink(const tile_diagnostic *d, void *user) {
    text_fixture *x = user;
    size_t room = sizeof x->messages - x->length;
    int written = snprintf(x->messages + x->length, room, "%s:%u:%u: %s\n", d->file, d->line,
                           d->column, d->message);
    if (written > 0 && (size_t)written < room) x->length += (size_t)written;
}

static void check_refused(const memory_text *texts, size_t count, const char *text,
                          const char *messages) {
    text_fixture x;
    memory m = {.texts = texts, .count = count};
    text_open(&x);
    tile_context_set_sink(x.context, named_sink, &x);
    cr_expect_null(parse_with(&x, &m, text));
    cr_expect_str_eq(x.messages, messages);
    cr_expect_eq(m.held, 0);
    text_close(&x);
}

/* The default reads nothing, whatever the text names. */
Test(include, no_resolver) {
    static const char *const names[] = {"/etc/passwd", "../secret.tile", "test.tile",
                                        "-",           "/proc/self/mem", "/dev/zero"};
    memory m = {.count = 0};
    const tile_parse_options none = {.size = sizeof none, .user = &m};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        text_fixture x;
        char text[128], expected[512];
        text_open(&x);
        snprintf(text, sizeof text, "include \"%s\"\n%s", names[i], COMPUTE("f", "%x"));
        snprintf(
            expected, sizeof expected,
            "1:9: error: cannot include \"%s\": no resolver is set, so a text reads no others; "
            "copy the other text here, or set tile_parse_options.resolve\n",
            names[i]);
        cr_expect_null(tile_module_parse(x.context, "test", text, strlen(text)));
        cr_expect_str_eq(x.messages, expected);
        x.length = 0;
        cr_expect_null(tile_module_parse_with(x.context, "test", text, strlen(text), &none));
        cr_expect_str_eq(x.messages, expected);
        text_close(&x);
    }
    cr_expect_eq(m.calls, 0);
}

/* Each text once, whatever its spelling; the printed module is complete. */
Test(include, once) {
    static const memory_text texts[] = {
        {"a.tile", "A", "tile_ir 1\ninclude \"b.tile\"\r\n" COMPUTE("a", "%x + 1.0")},
        {"b.tile", "B", "// nothing else\n" COMPUTE("b", "%x * 2.0")},
        {"./b.tile", "B", COMPUTE("b", "%x * 2.0")},
        {"empty.tile", "E", ""},
    };
    memory m = {.texts = texts, .count = 4};
    text_fixture x;
    text_open(&x);
    tile_module *module =
        parse_with(&x, &m,
                   "include \"a.tile\" include \"b.tile\"\n"
                   "include \"./b.tile\"\n" COMPUTE("c", "%x") "include \"empty.tile\"\n");
    cr_assert(module, "%s", x.messages);
    cr_expect_str_empty(x.messages);
    cr_expect_eq(m.calls, 5);
    cr_expect_eq(m.held, 0);
    cr_expect_str_eq(m.from, "root.tile a.tile root.tile root.tile root.tile ");
    const char *const order[] = {"b", "a", "c"};
    for (unsigned i = 0; i < 3; i++)
        cr_expect_str_eq(tile_function_name(tile_module_function(module, i)), order[i]);
    const char *printed = text_print(&x, module);
    tile_module *again = text_parse(&x, printed);
    cr_assert(again, "%s", x.messages);
    cr_expect_str_eq(text_print(&x, again), printed);
    tile_module_destroy(again);
    tile_module_destroy(module);
    text_close(&x);
}

Test(include, cycles) {
    static const memory_text texts[] = {{"a.tile", "A", "include \"b.tile\"\n"},
                                        {"b.tile", "B", "\n include \"a.tile\"\n"},
                                        {"c.tile", "C", "include \"self.tile\"\n"},
                                        {"self.tile", "root", ""}};
    check_refused(texts, 4, "include \"a.tile\"\n",
                  "b.tile:2:10: a.tile includes itself: a.tile includes b.tile includes a.tile; "
                  "remove one of these includes\n"
                  "a.tile:1:9: included from here\n"
                  "root.tile:1:9: included from here\n");
    check_refused(texts, 4, "include \"c.tile\"\n",
                  "c.tile:1:9: root.tile includes itself: root.tile includes c.tile includes "
                  "root.tile; remove one of these includes\n"
                  "root.tile:1:9: included from here\n");
}

/* Errors name the text that they are in, and how it was included. */
Test(include, locations) {
    static const memory_text texts[] = {
        {"wrong.tile", "W", "\n" COMPUTE("f", "%x + %q")},
        {"open.tile", "O", "compute @f<n: dim>("},
        {"f.tile", "F", COMPUTE("f", "%x")},
        {"also.tile", "A", "\n\n" COMPUTE("f", "%x")},
        {"named.tile", "N", "#t = layout {offset = [[1], [2]]}\n"},
    };
    check_refused(texts, 5, "include \"wrong.tile\"\n",
                  "wrong.tile:2:76: %q is not defined\nroot.tile:1:9: included from here\n");
    check_refused(texts, 5, "include \"open.tile\"\n",
                  "open.tile:1:20: expected an argument such as %n, found the end of the text\n"
                  "root.tile:1:9: included from here\n");
    check_refused(texts, 5, "include \"f.tile\"\ninclude \"also.tile\"\n",
                  "also.tile:3:9: there is a function @f already\n"
                  "root.tile:2:9: included from here\n"
                  "f.tile:1:9: it is here\n");
    check_refused(texts, 5, "include \"none.tile\"\n" COMPUTE("g", "%q"),
                  "root.tile:1:9: cannot include \"none.tile\": the memory has no such text; add "
                  "it\n");
}

/* The parser finds an old word that reaches an attribute through a parameter after it has read all
 * texts. */
Test(include, renamed_words) {
    char text[256], messages[256];
    const tile_rename *row = tile_rename_at(0);
    for (unsigned i = 1; row && (row->kind != TILE_RENAMED_word || !row->now); i++)
        row = tile_rename_at(i);
    cr_assert(row);
    cr_assert_str_eq(row->where, "consumers");
    snprintf(text, sizeof text,
             "kernel @k<way: word = %s>(%%n: i32) grid [1] warps 4 {\n"
             "  for %%i = 0 to %%n pipelined (2, consumers = way) { }\n}\n",
             row->old);
    snprintf(messages, sizeof messages,
             "old.tile:1:23: `%s` is now `%s`; `tile-opt --migrate FILE` rewrites a text\n"
             "root.tile:1:9: included from here\n",
             row->old, row->now);
    const memory_text texts[] = {{"old.tile", "O", text}};
    check_refused(texts, 1, "include \"old.tile\"\n", messages);
}

/* Layouts and functions of an included text are used as if they were written in place. */
Test(include, one_name_space) {
    static const memory_text texts[] = {
        {"names.tile", "N",
         "#mine = layout {reg = [[1]], lane = [[2], [4], [8], [16], [32]]}\n" COMPUTE("twice",
                                                                                      "%x + %x")}};
    memory m = {.texts = texts, .count = 1};
    text_fixture x;
    text_open(&x);
    tile_module *module =
        parse_with(&x, &m,
                   "include \"names.tile\"\n"
                   "kernel @k(%n: i32, %x: view<f32[%n]>, %z: view<f32[%n]>) of @twice\n"
                   "    grid [1] warps 1 {\n"
                   "  %t = load %x[0] : tile<f32[64], #mine>\n"
                   "  store %t + %t, %z[0]\n}\n");
    cr_expect(module, "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* The keys of the point tuned for a kernel, and of its code. */
typedef struct keys {
    char tuned[1024];
    tile_artifact_key code;
} keys;

static keys keys_with(const char *functions) {
    const memory_text texts[] = {{"f.tile", "F", functions}};
    const tile_build_options build = {
        .size = sizeof build, .target = tile_target_find("sm_80"), .wants = TILE_WANT_PTX};
    memory m = {.texts = texts, .count = 1};
    keys k = {.tuned = ""};
    text_fixture x;
    tile_device *device;
    text_open(&x);
    tile_module *module = parse_with(&x, &m,
                                     "include \"f.tile\"\n"
                                     "kernel @k(%x: view<f32[32]>) grid [1] warps 1 {\n"
                                     "  store outer(load %x[0] : [32]), %x[0]\n}\n");
    cr_assert(module, "%s", x.messages);
    cr_assert_eq(tile_device_create_cpu(x.context, NULL, &device), TILE_OK);
    const int64_t no_integers[] = {0};
    tile_point_key key =
        tile_tuned_key(device, tile_module_find(module, "k"), no_integers, &x.arena);
    snprintf(k.tuned, sizeof k.tuned, "%s", key.kernel);
    cr_assert_eq(tile_instantiate(module, "k", NULL, 0), TILE_OK, "%s", x.messages);
    cr_assert_eq(tile_artifact_make_key(module, "k", &build, &k.code), TILE_OK, "%s", x.messages);
    tile_device_destroy(device);
    tile_module_destroy(module);
    text_close(&x);
    return k;
}

#define FUNC(name, body) "func @" name "(%x: f32) -> (%y: f32) { %y = " body " }\n"

/* Keys depend on the functions that the kernel uses, in whichever text these are. */
Test(include, keys) {
    keys first = keys_with(FUNC("inner", "%x * 2.0") FUNC("outer", "inner(%x)"));
    keys same = keys_with(FUNC("inner", "%x * 2.0") FUNC("outer", "inner(%x)"));
    keys changed = keys_with(FUNC("inner", "%x * 3.0") FUNC("outer", "inner(%x)"));
    keys more = keys_with(FUNC("inner", "%x * 2.0") FUNC("outer", "inner(%x)") FUNC("more", "%x"));
    cr_expect_str_eq(same.tuned, first.tuned);
    cr_expect_str_eq(same.code.text, first.code.text);
    cr_expect_str_neq(changed.tuned, first.tuned);
    cr_expect_str_neq(changed.code.text, first.code.text);
    cr_expect_str_eq(more.tuned, first.tuned);
    cr_expect_str_eq(more.code.text, first.code.text);
}

static tile_status find_strange(const tile_include *include, tile_included *found, void *user) {
    unsigned *held = user;
    ++*held;
    if (strcmp(include->spelling, "status") == 0) return TILE_FAILED;
    if (strcmp(include->spelling, "nothing") == 0) found->length = 7; /* without a text */
    if (strcmp(include->spelling, "zero") == 0) {
        found->text = "a\0b";
        found->length = 3;
    }
    return TILE_OK;
}

static void release_strange(tile_included *found, void *user) {
    unsigned *held = user;
    (void)found;
    --*held;
}

Test(include, hostile) {
    static const struct {
        const char *text;
        size_t length;
        const char *message;
    } cases[] = {
#define CASE(text, message) {text, sizeof text - 1, message}
        CASE("include \"status\"", "cannot include \"status\": failed\n"),
        CASE("include \"zero\"", "it has a zero byte, so it is not the text of a program"),
        CASE("include \"\"", "this include names no text; write include \"FILE\""),
        CASE("include \"a\\nb\"", "has a control character"),
        CASE("include \"a\x7f\"", "has a control character"),
        CASE("include \"a\0b\"", "a text cannot contain a zero byte"),
        CASE("include", "expected the name of a text in quotation marks, as in include \"FILE\""),
        CASE("include \"a", "this text lacks its closing quotation mark"),
        CASE("include <a.tile>", "expected the name of a text in quotation marks"),
        CASE("include @a", "expected the name of a text in quotation marks"),
        CASE("kernel @k() grid [1] warps 1 {\n include \"a\"\n}", "move it out of the function"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_fixture x;
        unsigned held = 0;
        const tile_parse_options options = {.size = sizeof options,
                                            .resolve = find_strange,
                                            .release = release_strange,
                                            .user = &held};
        text_open(&x);
        cr_expect_null(
            tile_module_parse_with(x.context, "t", cases[i].text, cases[i].length, &options));
        cr_expect(strstr(x.messages, cases[i].message), "%s: %s", cases[i].text, x.messages);
        cr_expect_eq(held, 0);
        text_close(&x);
    }
}

Test(include, options) {
    text_fixture x;
    unsigned held = 0;
    const tile_parse_options unsized = {.resolve = find_strange};
    const tile_parse_options plain = {
        .size = sizeof plain, .resolve = find_strange, .release = release_strange, .user = &held};
    const tile_parse_options kept = {.size = sizeof kept, .resolve = find_strange, .user = &held};
    text_open(&x);
    cr_expect_null(tile_module_parse_with(x.context, "t", "", 0, &unsized));
    cr_expect_str_eq(x.messages, "0:0: error: tile_parse_options.size is 0: set it to "
                                 "sizeof(tile_parse_options)\n");
    tile_module *module = tile_module_parse_with(x.context, "t", "include \"nothing\"", 17, &plain);
    cr_expect_not_null(module);
    tile_module_destroy(module);
    cr_expect_eq(held, 0);
    module = tile_module_parse_with(x.context, "t", "include \"a\" include \"a\"", 23, &kept);
    cr_expect_not_null(module); /* its identity is the spelling */
    tile_module_destroy(module);
    cr_expect_eq(held, 2);
    text_close(&x);
}

/* Files ---------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    cr_assert(file);
    fputs(text, file);
    fclose(file);
}

Test(include, files) {
    char folder[] = "/tmp/tile-include-XXXXXX", a[64], b[64], identity[TILE_FILE_IDENTITY];
    char text[] = "include \"a.tile\" include \"b.tile\" include \"./a.tile\"";
    cr_assert(mkdtemp(folder));
    snprintf(a, sizeof a, "%s/a.tile", folder);
    snprintf(b, sizeof b, "%s/b.tile", folder);
    write_file(a, "include \"b.tile\"\n");
    write_file(b, COMPUTE("b", "%x"));
    const char *const folders[] = {"/nonexistent", folder};
    tile_include_path path = {.size = sizeof path, .folders = folders, .folder_count = 2};
    tile_parse_options options = {.size = sizeof options,
                                  .resolve = tile_resolve_file,
                                  .release = tile_release_file,
                                  .user = &path};
    text_fixture x;
    text_open(&x);
    tile_module *module =
        tile_module_parse_with(x.context, "text", text, sizeof text - 1, &options);
    cr_assert(module, "%s", x.messages);
    cr_expect_not_null(tile_module_find(module, "b"));
    cr_expect_null(tile_module_function(module, 1));
    tile_module_destroy(module);
    cr_expect(tile_file_identity(a, identity) && *identity);
    options.identity = identity; /* the text is that of a.tile */
    cr_expect_null(tile_module_parse_with(x.context, a, "include \"a.tile\"", 16, &options));
    cr_expect(strstr(x.messages, "includes itself"), "%s", x.messages);
    cr_expect_not(tile_file_identity("/nonexistent/a.tile", identity));
    cr_expect_str_empty(identity);
    path.size = 0;
    options.identity = NULL;
    cr_expect_null(tile_module_parse_with(x.context, a, "include \"b.tile\"", 16, &options));
    cr_expect(strstr(x.messages, "tile_include_path.size is 0"), "%s", x.messages);
    path = (tile_include_path){.size = sizeof path, .folder_count = 2};
    cr_expect_null(tile_module_parse_with(x.context, a, "include \"c.tile\"", 16, &options));
    cr_expect(strstr(x.messages, "folders is NULL, but folder_count is not 0"), "%s", x.messages);
    options.user = NULL; /* the folder of the text itself is left */
    module = tile_module_parse_with(x.context, a, "include \"b.tile\"", 16, &options);
    cr_expect(module, "%s", x.messages);
    tile_module_destroy(module);
    remove(a);
    remove(b);
    rmdir(folder);
    text_close(&x);
}
