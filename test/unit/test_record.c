/* Records: every table prints what it reads, and refuses values that a field does not allow. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/launch/data.h"
#include "runtime/cache/cache.h"
#include "runtime/tune/task.h"

static tile_arena arena;

/* Filling ------------------------------------------------------------------------------------- */

static int64_t number_of(const tile_field *field, unsigned seed) {
    bool is_limited = field->min || field->max;
    int64_t room = is_limited ? field->max - field->min : 1000;
    if (field->kind == TILE_KIND_BOOL) return seed % 2;
    return field->min + (room ? seed % room : 0);
}

static void fill(const tile_record *record, unsigned seed, void *to);

/* Fills in texts, numbers and lists that depend on the seed; optional fields are set for odd
 * seeds. */
static void fill_member(const tile_field *field, unsigned seed, void *base) {
    char *member = (char *)base + field->offset;
    unsigned count = field->most ? field->most : 3;
    bool is_there = !field->optional || seed % 2;
    switch (field->kind) {
    case TILE_KIND_BOOL:
    case TILE_KIND_UNSIGNED:
    case TILE_KIND_INT:
    case TILE_KIND_INT64:
    case TILE_KIND_UINT64: tile_field_store(field, number_of(field, seed), member); break;
    case TILE_KIND_DOUBLE: *(double *)(void *)member = seed / 8.0; break;
    case TILE_KIND_TEXT:
        if (is_there) tile_field_set_pointer(tile_arena_format(&arena, "\"%u\"\n", seed), member);
        break;
    case TILE_KIND_RECORD: fill(field->record, seed, member); break;
    case TILE_KIND_LIST:
        if (!is_there) break;
        if (count > 3) count = 3;
        tile_field_set_list(field, tile_arena_alloc(&arena, count * tile_item_size(field->item)),
                            count, base);
        char *items = (char *)tile_field_pointer(member);
        for (unsigned i = 0; i < count; i++)
            fill_member(field->item, seed + i, items + i * tile_item_size(field->item));
        break;
    case TILE_KIND_BYTES:
        tile_field_set_pointer(tile_arena_format(&arena, "%u", seed), member);
        *(size_t *)(void *)((char *)base + field->count_offset) = 1;
        break;
    }
}

static void fill(const tile_record *record, unsigned seed, void *to) {
    for (unsigned i = 0; i < record->count; i++) fill_member(&record->fields[i], seed + i, to);
}

/* JSON ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const tile_record *record;
} texts[] = {{"launch interface", &abi_json_root_record}, {"point", &tile_kept_point_record}};

static const char *print(const tile_record *record, const void *from) {
    tile_text text = {.arena = &arena};
    tile_record_print(record, from, &text);
    return tile_arena_string(&arena, text.data, text.length);
}

static const char *read_back(const tile_record *record, const char *text, void **to) {
    *to = tile_arena_alloc(&arena, record->size);
    return tile_record_read(record, text, strlen(text), &arena, *to);
}

Test(record, what_is_printed_is_read) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (unsigned seed = 0; seed < 4; seed++) {
            void *from = tile_arena_alloc(&arena, texts[i].record->size), *to;
            fill(texts[i].record, seed, from);
            const char *text = print(texts[i].record, from);
            const char *wrong = read_back(texts[i].record, text, &to);
            cr_assert_null(wrong, "%s: %s\n%s", texts[i].name, wrong, text);
            cr_expect_str_eq(print(texts[i].record, to), text);
        }
    tile_arena_reset(&arena);
}

/* Prints the JSON values of a text, one of which may have been changed. */
static void print_json(const tile_json *json, tile_text *to) {
    bool is_list = json->kind == TILE_JSON_ARRAY || json->kind == TILE_JSON_OBJECT;
    if (json->key) {
        tile_json_put_string(to, json->key);
        tile_text_format(to, ": ");
    }
    if (json->kind == TILE_JSON_STRING) tile_json_put_string(to, json->text);
    if (json->kind == TILE_JSON_NUMBER) tile_text_format(to, "%s", json->text);
    if (json->kind == TILE_JSON_BOOL) tile_text_format(to, json->truth ? "true" : "false");
    if (json->kind == TILE_JSON_NULL) tile_text_format(to, "null");
    if (!is_list) return;
    tile_text_format(to, json->kind == TILE_JSON_ARRAY ? "[" : "{");
    for (const tile_json *at = json->first; at; at = at->next) {
        print_json(at, to);
        tile_text_format(to, at->next ? "," : "");
    }
    tile_text_format(to, json->kind == TILE_JSON_ARRAY ? "]" : "}");
}

typedef struct walk {
    const tile_record *record;
    const tile_json *root;
    unsigned checks;
} walk;

static void expect(walk *w, const char *expected) {
    tile_text text = {.arena = &arena};
    void *to;
    print_json(w->root, &text);
    const char *changed = tile_arena_string(&arena, text.data, text.length);
    const char *wrong = read_back(w->record, changed, &to);
    cr_expect(wrong && strstr(wrong, expected), "%s, not %s: %s", expected, wrong, changed);
    cr_expect(!wrong || strncmp(wrong, "line 1, column ", 15) == 0, "%s", wrong);
    w->checks++;
}

static void walk_object(walk *w, const tile_record *record, const tile_json *json);

/* Checks a list without its last item, and with too many items. */
static void walk_lengths(walk *w, const tile_field *field, tile_json *json) {
    const tile_json *first = json->first, *second = first->next;
    enum { MORE = TILE_MAX_VARIANTS + 1 }; /* than any list may have */
    tile_json more[MORE];
    if (field->least > 1) {
        json->first = second;
        expect(w, tile_arena_format(&arena, "\"%s\": expected a list of %u to", field->key,
                                    field->least));
    }
    for (unsigned i = 0; i < MORE; i++) {
        more[i] = *first;
        more[i].next = i + 1 < MORE ? &more[i + 1] : NULL;
    }
    json->first = more;
    if (field->most)
        expect(w, tile_arena_format(&arena, "to %u items, found %d", field->most, MORE));
    json->first = first;
}

static void walk_value(walk *w, const tile_field *field, const char *key, const tile_json *at) {
    tile_json *json = (tile_json *)at, was = *json;
    const char *named = tile_arena_format(&arena, "\"%s\": expected ", key);
    json->kind = TILE_JSON_NULL;
    expect(w, named);
    *json = was;
    if (was.kind == TILE_JSON_NUMBER && field->kind != TILE_KIND_DOUBLE) {
        json->text = "99999999999999999999";
        expect(w, tile_arena_format(&arena, "\"%s\": expected a whole number from ", key));
        json->text = "1.5";
        expect(w, ", found 1.5");
        if (field->min || field->max) {
            const int64_t beyond[] = {field->max < INT64_MAX ? field->max + 1 : field->min - 1,
                                      field->min - 1};
            for (unsigned i = 0; i < 2; i++) {
                json->text = tile_arena_format(&arena, "%lld", (long long)beyond[i]);
                expect(w, tile_arena_format(&arena, ", found %s", json->text));
            }
        }
    }
    *json = was;
    if (field->kind == TILE_KIND_RECORD) walk_object(w, field->record, json);
    if (field->kind != TILE_KIND_LIST || !json->first) return;
    if (field->key && *field->key) walk_lengths(w, field, json);
    for (const tile_json *item = json->first; item; item = item->next)
        walk_value(w, field->item, key, item);
}

/* Each field in turn is missing, has another name, occurs twice, or has a wrong value. */
static void walk_object(walk *w, const tile_record *record, const tile_json *object) {
    const tile_json **link = (const tile_json **)&object->first;
    for (unsigned i = 0; i < record->count && *link; i++) {
        const tile_field *field = &record->fields[i];
        tile_json *at = (tile_json *)*link;
        if (strcmp(at->key, field->key) != 0) continue; /* skipped */
        *link = at->next;
        if (!field->optional)
            expect(w, tile_arena_format(&arena, "the field \"%s\" is missing", field->key));
        *link = at;
        at->key = "colour";
        expect(w, "there is no field \"colour\"");
        at->key = field->key;
        tile_json twice = *at;
        at->next = &twice;
        expect(w, tile_arena_format(&arena, "the field \"%s\" occurs twice", field->key));
        at->next = twice.next;
        walk_value(w, field, field->key, at);
        link = (const tile_json **)&at->next;
    }
}

Test(record, what_is_wrong_is_named) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        void *from = tile_arena_alloc(&arena, texts[i].record->size);
        fill(texts[i].record, 1, from);
        const char *text = print(texts[i].record, from);
        walk w = {.record = texts[i].record, .root = tile_json_read(&arena, text, strlen(text))};
        walk_object(&w, texts[i].record, w.root);
        cr_expect(w.checks >= 4 * texts[i].record->count, "%s: %u", texts[i].name, w.checks);
    }
    tile_arena_reset(&arena);
}

Test(record, places_are_told) {
    tile_kept_point point;
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        {"", "it is not JSON"},
        {"[1]", "line 1, column 1: \"the whole text\": expected an object, found a list"},
        {"{\n  \"sm_count\": 1,\n  \"tuned\": -1}",
         "line 3, column 12: \"tuned\": expected a whole number from 0 to 9223372036854775807, "
         "found -1"},
        {"{\n\n \"devise\": \"\"}",
         "line 3, column 12: there is no field \"devise\"; did you mean 'device'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(tile_record_read(&tile_kept_point_record, cases[i].text,
                                          strlen(cases[i].text), &arena, &point),
                         cases[i].wrong);
    tile_arena_reset(&arena);
}

/* Bytes --------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const tile_record *record;
} messages[] = {{"start", &tune_start_record},
                {"answer", &tune_answer_record},
                {"task", &tune_task_record},
                {"trial", &tune_trial_record},
                {"outcome", &tune_outcome_record}};

static tile_text pack(const tile_record *record, const void *from) {
    tile_text text = {.arena = &arena};
    tile_record_pack(record, from, &text);
    return text;
}

Test(record, what_is_packed_is_unpacked) {
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        for (unsigned seed = 0; seed < 4; seed++) {
            const tile_record *record = messages[i].record;
            void *from = tile_arena_alloc(&arena, record->size);
            void *to = tile_arena_alloc(&arena, record->size);
            fill(record, seed, from);
            tile_text text = pack(record, from);
            cr_assert(tile_record_unpack(record, text.data, text.length, &arena, to), "%s",
                      messages[i].name);
            tile_text again = pack(record, to);
            cr_assert_eq(again.length, text.length);
            cr_expect_arr_eq(again.data, text.data, text.length);
            for (size_t size = 0; size < text.length; size++) {
                char *less = tile_malloc(size + 1); /* a sanitizer detects reads past the end */
                memcpy(less, text.data, size);
                less = tile_realloc(less, size ? size : 1);
                cr_expect_not(tile_record_unpack(record, less, size, &arena, to), "%s: %zu bytes",
                              messages[i].name, size);
                free(less);
            }
            tile_text_append("", 1, &text);
            cr_expect_not(tile_record_unpack(record, text.data, text.length, &arena, to));
        }
    tile_arena_reset(&arena);
}

Test(record, what_is_out_of_range_is_not_unpacked) {
    tune_outcome outcome = {.state = TILE_CANDIDATE_measured + 1}, back;
    tune_answer answer = {NULL}, other;
    tile_text text = pack(&tune_outcome_record, &outcome);
    cr_expect_not(tile_record_unpack(&tune_outcome_record, text.data, text.length, &arena, &back));
    text = pack(&tune_answer_record, &answer); /* a text that must not be NULL */
    cr_expect_not(tile_record_unpack(&tune_answer_record, text.data, text.length, &arena, &other));
    tile_arena_reset(&arena);
}
