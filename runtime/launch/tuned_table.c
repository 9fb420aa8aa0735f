#include "runtime/launch/tuned_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/identity.h"
#include "runtime/cache/cache.h"

enum { FORM = 3 /* version of the text: its fields, and the words of the language in it */ };

struct tile_tuned_table {
    tile_arena arena;
    tile_kept_point *entries;
    size_t count, capacity;
};

tile_tuned_table *tile_tuned_table_create(void) {
    TILE_GUARD(NULL, NULL)
    tile_tuned_table *table = tile_malloc(sizeof *table);
    *table = (tile_tuned_table){.count = 0};
    return table;
}

void tile_tuned_table_destroy(tile_tuned_table *table) {
    if (!table) return;
    tile_arena_reset(&table->arena);
    free(table);
}

unsigned tile_tuned_table_count(const tile_tuned_table *table) {
    return table ? (unsigned)table->count : 0;
}

bool tile_tuned_table_at(const tile_tuned_table *table, unsigned index, tile_point_key *key,
                         tile_tuned_point *point) {
    if (index >= tile_tuned_table_count(table)) return false;
    if (key) *key = table->entries[index].key;
    if (point) *point = table->entries[index].point;
    return true;
}

/* Adding -------------------------------------------------------------------------------------- */

static const char *copy(tile_tuned_table *table, const char *text) {
    if (!text) text = "";
    return tile_arena_string(&table->arena, text, strlen(text));
}

/* Returns whether kernel and GPU are the same. */
static bool is_same_kernel(const tile_point_key *a, const tile_point_key *b) {
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->device, b->device) == 0 &&
           a->sm_count == b->sm_count;
}

static bool is_same_bucket(const tile_point_key *a, const tile_point_key *b) {
    return is_same_kernel(a, b) && strcmp(a->bucket, b->bucket) == 0;
}

static bool is_same_state(const tile_point_key *a, const tile_point_key *b) {
    return a->memory_clock == b->memory_clock && a->power_limit == b->power_limit;
}

static void add(tile_tuned_table *table, const tile_point_key *key, const tile_tuned_point *point) {
    tile_kept_point *e = NULL;
    tile_point_key own = {.kernel = copy(table, key->kernel),
                          .bucket = copy(table, key->bucket),
                          .sizes = copy(table, key->sizes),
                          .device = copy(table, key->device),
                          .sm_count = key->sm_count,
                          .memory_clock = key->memory_clock,
                          .power_limit = key->power_limit};
    for (size_t i = 0; i < table->count && !e; i++)
        if (is_same_bucket(&table->entries[i].key, &own) &&
            strcmp(table->entries[i].key.sizes, own.sizes) == 0 &&
            is_same_state(&table->entries[i].key, &own))
            e = &table->entries[i];
    if (!e) {
        table->entries = tile_arena_grow(&table->arena, table->entries, table->count,
                                         &table->capacity, sizeof *table->entries);
        e = &table->entries[table->count++];
    }
    *e = (tile_kept_point){.key = own, .point = *point};
    e->point.kernel_name = copy(table, point->kernel_name);
    e->point.bindings = copy(table, point->bindings);
    e->point.driver = copy(table, point->driver);
    e->point.compiler = copy(table, point->compiler);
    e->point.stale = false;
}

typedef struct taking {
    tile_tuned_table *table;
    const char *name;
    unsigned count;
} taking;

static void take(const tile_point_key *key, const tile_tuned_point *point, void *user) {
    taking *t = user;
    if (t->name && strcmp(t->name, point->kernel_name) != 0) return;
    add(t->table, key, point);
    t->count++;
}

unsigned tile_tuned_table_take(tile_tuned_table *table, tile_cache *cache,
                               const char *kernel_name) {
    TILE_GUARD(NULL, 0)
    taking t = {.table = table, .name = kernel_name};
    if (table) tile_cache_list_points(cache, take, &t);
    return t.count;
}

unsigned tile_tuned_table_keep(const tile_tuned_table *table, tile_cache *cache) {
    TILE_GUARD(NULL, 0)
    unsigned kept = 0;
    for (unsigned i = 0; cache && i < tile_tuned_table_count(table); i++)
        kept += tile_cache_import_point(cache, &table->entries[i].key, &table->entries[i].point);
    return kept;
}

/* Lookup --------------------------------------------------------------------------------------- */

/* The key with the digest of its kernel, as in the table. */
static tile_point_key digest_key(const tile_point_key *key, char digest[TILE_DIGEST_TEXT]) {
    tile_point_key wanted = *key;
    tile_digest(key->kernel, strlen(key->kernel), digest);
    wanted.kernel = digest;
    return wanted;
}

bool tile_tuned_table_has_bucket(const tile_tuned_table *table, const tile_point_key *key) {
    char digest[TILE_DIGEST_TEXT];
    if (!tile_tuned_table_count(table)) return false;
    const tile_point_key wanted = digest_key(key, digest);
    for (size_t i = 0; i < table->count; i++)
        if (is_same_bucket(&table->entries[i].key, &wanted)) return true;
    return false;
}

bool tile_tuned_table_has_bindings(const tile_tuned_table *table, const tile_point_key *key) {
    char digest[TILE_DIGEST_TEXT];
    if (!tile_tuned_table_count(table)) return false;
    const tile_point_key wanted = digest_key(key, digest);
    for (size_t i = 0; i < table->count; i++) {
        const tile_kept_point *e = &table->entries[i];
        if (is_same_kernel(&e->key, &wanted) && *e->point.bindings) return true;
    }
    return false;
}

void tile_tuned_table_list_bucket(const tile_tuned_table *table, const tile_point_key *key,
                                  tile_point_visitor visit, void *user) {
    char digest[TILE_DIGEST_TEXT];
    if (!tile_tuned_table_count(table)) return;
    const tile_point_key wanted = digest_key(key, digest);
    for (unsigned other_state = 0; other_state < 2; other_state++)
        for (size_t i = 0; i < table->count; i++) {
            const tile_kept_point *e = &table->entries[i];
            if (is_same_bucket(&e->key, &wanted) && is_same_state(&e->key, &wanted) != other_state)
                visit(&e->key, &e->point, user);
        }
}

/* Text ----------------------------------------------------------------------------------------- */

#define FORM_KEY "tile_tuned_points"

/* The whole text. */
typedef struct contents {
    unsigned form;
    tile_kept_point *points;
    unsigned count;
} contents;

static const tile_field point_item = {
    .kind = TILE_KIND_RECORD, .record = &tile_kept_point_record, .line = "\n  "};
static const tile_field fields[] = {
    {TILE_FIELD(FORM_KEY, contents, form)},
    {TILE_LIST("points", contents, points, count), .item = &point_item, .end = "\n", .empty = "\n"},
};
static const tile_record record = {TILE_RECORD(contents, fields)};

static void put_text(tile_text *to, const tile_tuned_table *table) {
    const contents all = {FORM, table->entries, (unsigned)table->count};
    tile_record_print(&record, &all, to);
    tile_text_append("\n", 1, to);
}

/* Writes one string literal for each line. Together they exceed the 4095 characters that the C
 * standard guarantees. GCC and clang accept them and only warn with -pedantic. */
static void put_c(tile_text *to, const tile_text *text, const char *name) {
    tile_text_format(to,
                     "/* Tuned points; tile_tuned_table_read takes the text. */\n"
                     "extern const char %s[]; /* for C++, too */\n"
                     "#if defined(__GNUC__)\n"
                     "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
                     "#endif\n"
                     "const char %s[] =\n    \"",
                     name, name);
    for (size_t i = 0; i < text->length; i++) {
        char c = text->data[i];
        bool ends = c == '\n' && i + 1 < text->length;
        if (c == '\n')
            tile_text_format(to, ends ? "\\n\"\n    \"" : "\\n");
        else if (c == '"' || c == '\\')
            tile_text_format(to, "\\%c", c);
        else if (c == '?') /* avoids trigraphs */
            tile_text_format(to, "\\?");
        else
            tile_text_append(&c, 1, to);
    }
    tile_text_format(to, "\";\n");
}

void tile_tuned_table_write(const tile_tuned_table *table, tile_table_form form, const char *name,
                            tile_writer writer, void *user) {
    TILE_GUARD(NULL, )
    tile_arena arena = {0};
    tile_text text = {.arena = &arena}, c = {.arena = &arena};
    if (!table || !writer) return;
    put_text(&text, table);
    if (form == TILE_TABLE_C) put_c(&c, &text, name ? name : "tile_tuned_points");
    const tile_text *out = form == TILE_TABLE_C ? &c : &text;
    writer(out->data, out->length, user);
    tile_arena_reset(&arena);
}

/* Reading -------------------------------------------------------------------------------------- */

/* Returns NULL, or why the text is not a table. */
static const char *read_all(const char *text, size_t length, tile_arena *arena,
                            tile_tuned_table *table) {
    contents all = {.count = 0};
    const char *wrong = tile_record_read(&record, text, length, arena, &all);
    for (unsigned i = 0; i < all.count && !wrong; i++)
        add(table, &all.points[i].key, &all.points[i].point);
    return wrong;
}

tile_status tile_tuned_table_read(tile_context *context, const char *text, size_t length,
                                  tile_tuned_table **out) {
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    tile_arena arena = {0};
    if (out) *out = NULL;
    if (!context || !text || !out) return TILE_INVALID;
    tile_tuned_table *table = tile_tuned_table_create();
    const char *other = tile_record_other_format(FORM_KEY, FORM, text, length, &arena);
    const char *wrong = other ? NULL : read_all(text, length, &arena, table);
    if (other)
        tile_report(context, TILE_REMARK, (tile_loc){0},
                    "the table of tuned points is ignored: %s; tune again and export the points",
                    other);
    if (wrong) {
        tile_report(context, TILE_ERROR, (tile_loc){0},
                    "the text is no table of tuned points, as tile_tuned_table_write makes it: %s",
                    wrong);
        tile_tuned_table_destroy(table);
    } else {
        *out = table;
    }
    tile_arena_reset(&arena);
    return wrong ? TILE_INVALID : TILE_OK;
}
