/* The JSON reader: every form of a value, and what is none. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/json.h"

static tile_arena arena;

static const tile_json *json(const char *text) {
    /* Without a zero byte behind it, so that a sanitizer sees who reads too far. */
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

Test(json, members) {
    const tile_json *object = json("{\"a\": 7, \"b\": {\"a\": \"x\"}, \"c\": [1]}");
    int64_t value = 0;
    cr_expect(tile_json_find_int(object, "a", 0, 7, &value));
    cr_expect_eq(value, 7);
    cr_expect_not(tile_json_find_int(object, "a", 8, 9, &value));
    cr_expect_not(tile_json_find_int(object, "c", 0, 9, &value));
    cr_expect_not(tile_json_find_int(json("{\"a\": 1.5}"), "a", 0, 9, &value));
    cr_expect_not(
        tile_json_find_int(json("{\"a\": 99999999999999999999}"), "a", 0, INT64_MAX, &value));
    cr_expect_null(tile_json_find_text(object, "a"), "a number is no string");
    cr_expect_str_eq(tile_json_find_text(tile_json_find(object, "b", TILE_JSON_OBJECT), "a"), "x");
    cr_expect_not_null(tile_json_find(object, "c", TILE_JSON_ARRAY));
    cr_expect_null(tile_json_find(object, "d", TILE_JSON_ARRAY));
    cr_expect_null(tile_json_find(NULL, "a", TILE_JSON_NUMBER));
    cr_expect_null(tile_json_find(json("[1]"), "a", TILE_JSON_NUMBER));
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
