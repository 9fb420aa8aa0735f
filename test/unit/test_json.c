/* The JSON reader: every form of a value, and invalid text. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/json.h"

static tile_arena arena;

static const tile_json *json(const char *text) {
    /* Without a terminating zero, so that a sanitizer detects reads past the end. */
    size_t length = strlen(text);
    char *copy = tile_malloc(length ? length : 1);
    memcpy(copy, text, length);
    const tile_json *value = tile_json_read(&arena, copy, length);
    free(copy);
    return value;
}

Test(json, values) {
    cr_expect_eq(json("null")->kind, TILE_JSON_NULL);
    cr_expect(json(" true ")->truth);
    cr_expect_not(json("false")->truth);
    cr_expect_eq(json("false")->kind, TILE_JSON_BOOL);
    cr_expect_str_eq(json("\t-12.50e+3\r\n")->text, "-12.50e+3");
    cr_expect_str_eq(json("0")->text, "0");
    cr_expect_str_eq(json("\"a\\\"b\\\\c\\/\\n\"")->text, "a\"b\\c/\n");
    cr_expect_str_eq(json("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"")->text,
                     "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    cr_expect_str_eq(json("\"\"")->text, "");
    cr_expect_null(json("[]")->first);
    cr_expect_null(json("{ }")->first);
    const tile_json *list = json("[1, [2], \"three\"]");
    cr_expect_str_eq(list->first->text, "1");
    cr_expect_str_eq(list->first->next->first->text, "2");
    cr_expect_str_eq(list->first->next->next->text, "three");
    cr_expect_null(list->first->next->next->next);
    tile_arena_reset(&arena);
}

static bool is_int(const char *text, int64_t expected) {
    int64_t value = ~expected;
    return tile_json_is_int(json(text), &value) && value == expected;
}

Test(json, whole_numbers) {
    int64_t value;
    cr_expect(is_int("7", 7));
    cr_expect(is_int("-9223372036854775808", INT64_MIN));
    cr_expect(is_int("9223372036854775807", INT64_MAX));
    static const char *const others[] = {
        "1.5",  "1e3", "9223372036854775808", "99999999999999999999", "\"7\"", "[7]",
        "true", "null"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_not(tile_json_is_int(json(others[i]), &value), "%s", others[i]);
    tile_arena_reset(&arena);
}

Test(json, places) {
    const tile_json *object = json("{\"a\": [1,\n  {}], \"b\":\r\n\ttrue}");
    const tile_json *list = object->first, *inner = list->first->next, *last = list->next;
    cr_expect(object->line == 1 && object->column == 1);
    cr_expect(list->line == 1 && list->column == 7);
    cr_expect(list->first->line == 1 && list->first->column == 8);
    cr_expect(inner->line == 2 && inner->column == 3);
    cr_expect(last->line == 3 && last->column == 2);
    cr_expect_str_eq(list->key, "a");
    cr_expect_str_eq(last->key, "b");
    tile_arena_reset(&arena);
}

Test(json, what_is_none) {
    static const char *const texts[] = {
        "",        "nul",       "tru",         "1 2",         "01",          "-",
        "1.",      "1e",        ".5",          "+1",          "\"",          "\"\\\"",
        "\"\\x\"", "\"\\u12\"", "\"\\u0000\"", "\"\\ud800\"", "\"\\udc00\"", "\"a\nb\"",
        "[",       "[1",        "[1,",         "[1,]",        "[1 2]",       "]",
        "{",       "{\"a\"",    "{\"a\":",     "{\"a\":1",    "{\"a\":1,}",  "{a:1}",
        "{1:1}",   "{\"a\" 1}", "{]",          "'a'",         "\"\\",        "\"\\ud800\\u0041\"",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_expect_null(json(texts[i]), "%s", texts[i]);
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    cr_expect_not_null(tile_json_read(&arena, deep + 36, 128));
    cr_expect_null(tile_json_read(&arena, deep + 35, 130));
    tile_arena_reset(&arena);
}
