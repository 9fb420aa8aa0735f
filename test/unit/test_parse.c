/* The parser: its diagnostics, error recovery, and robustness against any bytes. */
#include "text_fixture.h"

#include <stdlib.h>

#include "lib/ir/function.h"

/* The text must be refused with exactly these diagnostics. */
static void check_refused(const char *text, const char *wanted) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, text);
    cr_expect_null(module, "accepted: %s", text);
    cr_expect_str_eq(x.messages, wanted, "for\n%s\ngot\n%s", text, x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

static void check_accepted(const char *text) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, text);
    cr_expect(module, "for\n%s\ngot\n%s", text, x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

Test(parse, words_that_nothing_has) {
    check_refused(TEXT_KERNEL("%a = lod %p[%n]"),
                  "2:6: error: unknown operation 'lod'; did you mean 'load'?\n");
    check_refused(TEXT_KERNEL("syncc"),
                  "2:1: error: unknown operation 'syncc'; did you mean 'sync'?\n");
    check_refused(TEXT_KERNEL("frobnicate %n"), "2:1: error: unknown operation 'frobnicate'\n");
    check_refused(TEXT_KERNEL("%a = %n + pp"), "2:11: error: there is no parameter 'pp'; declare "
                                               "it after the name of the kernel: <pp: int>\n");
    check_refused(TEXT_KERNEL("%count = %n\n%a = %cuont + 1"),
                  "3:6: error: %cuont is not defined; did you mean '%count'?\n");
    check_refused(TEXT_KERNEL("%a = splat 1 : tiel<f32[4]>"),
                  "2:16: error: unknown type 'tiel'; did you mean 'tile'?\n");
    check_refused(TEXT_KERNEL("%a = scratch [4] {claen} : view<i32[?]>"),
                  "2:19: error: scratch has no attribute 'claen'; did you mean 'clean'?\n");
    check_refused("kernel @k() grid [1] wraps 4 {}",
                  "1:22: error: unknown clause 'wraps'; did you mean 'warps'?\n");
    check_refused("kernel @k<p: itn>() grid [1] warps 4 {}",
                  "1:14: error: a parameter is an int, bool, type, dim or word, not 'itn'; did you "
                  "mean 'int'?\n");
    check_refused("kernal @k() {}",
                  "1:1: error: expected 'kernel', 'compute', 'func', 'plan', 'include' "
                  "or '#name = layout', found 'kernal'\n");
}

Test(parse, names) {
    check_refused(TEXT_KERNEL("%a = neg %n\n%a = neg %n"),
                  "3:1: error: %a is defined already, and a value cannot change; use another "
                  "name\n2:1: note: previous definition is here\n");
    check_refused(TEXT_KERNEL("%n = neg %l"),
                  "2:1: error: %n is defined already, and a value cannot change; use another "
                  "name\n1:54: note: previous definition is here\n");
    check_refused(
        TEXT_KERNEL("for %i = 0 to 4 step 1 { %a = neg %i }\n%b = neg %a"),
        "3:10: error: %a is defined only inside a region that has ended; pass it out with "
        "`yield`, or define it before the region\n2:26: note: it is defined here\n");
    check_refused(TEXT_KERNEL("%i = neg %n\nfor %i = 0 to 4 step 1 { }"),
                  "3:5: error: %i is defined already, and a value cannot change; use another "
                  "name\n2:1: note: previous definition is here\n");
    check_accepted(TEXT_KERNEL("for %i = 0 to 4 step 1 { }\nfor %i = 0 to 4 step 1 { }"));
    check_refused(TEXT_KERNEL("%a, %b = neg %n"),
                  "2:1: error: 'neg' has 1 result, but 2 names are given\n");
    check_refused(TEXT_KERNEL("%a = sync"),
                  "2:1: error: 'sync' has 0 results, but 1 name is given\n");
    check_refused("kernel @k() grid [1] warps 4 {}\nkernel @k() grid [1] warps 4 {}",
                  "2:8: error: there is a function @k already\n1:8: note: it is here\n");
    check_refused("compute @c(%a: tensor<f32[4]>) -> (%b: tensor<f32[4]>) { %c = neg %a }",
                  "1:9: error: the result %b is never computed; write `%b = ..` in the body\n");
}

Test(parse, operands) {
    check_refused(TEXT_KERNEL("%a = add %n"), "2:6: error: add: operand 'rhs' is missing\n");
    check_refused(TEXT_KERNEL("%a = neg %n, %n"), "2:14: error: neg: too many operands\n");
    check_refused(TEXT_KERNEL("%a = view %p, %n : view<f32[?]>"),
                  "2:15: error: view: operand 'extents' must be written as a list in brackets\n");
    check_refused(TEXT_KERNEL("%a = neg %n[0]"),
                  "2:10: error: neg: operand 'src' must be written without brackets\n");
    check_refused(TEXT_KERNEL("%a = min(%n)"),
                  "2:6: error: 'min' takes 2 operands, not 1: `min(%lhs, %rhs)`\n");
    check_refused(TEXT_KERNEL("%a = %n + %x"), "2:9: error: add: both operands must have the same "
                                               "type, not i32 and f32; cast it: `f32(%n)`\n");
    check_refused(TEXT_KERNEL("%a = %n + 1 : i64"), "2:6: error: the expression is i32, not i64\n");
    check_refused(
        TEXT_KERNEL("%a = i8(200)"),
        "2:6: error: 200 does not fit i8: i8 holds -128 to 127; write a number in that range, "
        "or use a type that holds it\n");
    check_refused(TEXT_KERNEL("%a = i8(%p)"),
                  "2:6: error: cast: operand 'src' must be a number: a scalar, tensor, tile or "
                  "vector, not ptr<f32>\n");
    check_refused(TEXT_KERNEL("%a = f32(%p)"),
                  "2:6: error: cast: operand 'src' must be a number: a scalar, tensor, tile or "
                  "vector, not ptr<f32>\n");
    check_refused(TEXT_KERNEL("%a = 99999999999999999999"),
                  "2:6: error: this number is too large\n");
    check_refused(
        TEXT_KERNEL("%a = %n && %n"),
        "2:9: error: there is no '&&'; use '&', which has a lower precedence than comparisons\n");
    check_refused(TEXT_KERNEL("wait_group %n"),
                  "2:1: error: wait_group: operand 'pending' must be a constant i32, not i32\n");
    check_refused(TEXT_KERNEL("%a = splat 0.5 : tile<T[4]>"),
                  "2:12: error: 'T' may be an integer type: the constant must be an integer\n");
}

Test(parse, statements) {
    check_refused(TEXT_KERNEL("sync %n"),
                  "2:6: error: a statement begins with an operation or with `%x = `, not with the "
                  "value %n; if it is an operand, the operation before it takes no more\n");
    check_refused(TEXT_KERNEL("%n + 1"),
                  "2:1: error: a statement begins with an operation or with `%x = `, not with the "
                  "value %n; if it is an operand, the operation before it takes no more\n");
    check_refused(TEXT_KERNEL("min(%n, 1)"),
                  "2:1: error: the result of an expression needs a name: %x = ...\n");
    check_refused(
        TEXT_KERNEL("%a = if q { yield 1 }"),
        "2:6: error: an `if` with results needs `else { yield .. }`, with as many values\n");
    check_refused(TEXT_KERNEL("%a = if q { yield 1 } else { yield 1.0 }"),
                  "2:30: error: value 1 of `yield` is f32, but `if` carries i32\n");
    check_refused(TEXT_KERNEL("for %i = 0 to 4 step 1 pipelnied (2) { }"),
                  "2:24: error: for has no attribute 'pipelnied'; did you mean 'pipelined'?\n");
    check_refused(TEXT_KERNEL("for %i = 0 to 4 step 1 unroll (2) unroll (3) { }"),
                  "2:35: error: 'unroll' is given twice\n");
    check_refused(TEXT_KERNEL("for %i = 0 to 4 2 { }"), "2:17: error: expected '{', found '2'\n");
    check_refused(TEXT_KERNEL("yield"), "2:1: error: `yield` is a terminator: it must be the last "
                                        "operation of an operation's region\n");
}

Test(parse, constants_of_headers) {
    check_refused("kernel @k(%n: i32) grid [%m] warps 4 {}", "1:26: error: %m is not defined\n");
    check_refused("kernel @k(%n: i32) grid [1] warps %n {}",
                  "1:35: error: %n is known only when the kernel runs; write a number or a "
                  "parameter, which is declared after the kernel's name: <block: int = 128>\n");
    check_refused("kernel @k(%x: f32) grid [%x] warps 4 {}",
                  "1:26: error: %x is of type f32 and cannot be used here: extents, grids and "
                  "conditions take arguments of a signed integer type; declare `%x: i32`\n");
    check_refused("kernel @k() grid [1.5] warps 4 {}",
                  "1:19: error: expected an integer, found a number with a point\n");
    check_refused("kernel @k() grid [1] grid [2] warps 4 {}",
                  "1:22: error: 'grid' is given twice\n");
    check_refused("kernel @k<a: int>() tune (a, b) in [(1, 2)] grid [1] warps 4 {}",
                  "1:30: error: there is no parameter 'b'; declare it after the name of the "
                  "kernel: <b: int>\n");
    check_refused("kernel @k<a: int, b: int>() tune (a, b) in [(1, 2, 3)] grid [1] warps 4 {}",
                  "1:45: error: this point has 3 values for 2 parameters\n");
    check_refused(
        "compute @c<p: word>(%a: tensor<f32[4]>) -> (%b: tensor<f32[4]>) { %b = neg %a }",
        "1:9: error: the parameter 'p' is a word: only a kernel may have word parameters\n");
    check_refused("kernel @k<min: int>() grid [1] warps 4 {}",
                  "1:11: error: 'min' is a word of the language and cannot name a parameter\n");
    check_refused("kernel @k(%n: i32 {divisible = 0}) grid [1] warps 4 {}",
                  "1:19: error: 'divisible' takes a number from 1 to 2^30\n");
    check_refused("tile_ir 2 kernel @k() grid [1] warps 4 {}",
                  "1:9: error: unsupported format version 2; this compiler reads version 1\n");
}

Test(parse, layouts) {
    const char *lane = "lane = [[0], [0], [0], [0], [0]], warp = []}\n";
    char text[512];
    snprintf(text, sizeof text, "#a = layout {reg = [[4]], %s%s", lane,
             TEXT_KERNEL("%t = splat 0 : tile<i32[4], #a>"));
    check_refused(text, "3:29: error: #a has a coordinate outside the type's extents\n");
    snprintf(text, sizeof text, "#a = layout {reg = [[1]], %s%s", lane,
             TEXT_KERNEL("%t = splat 0 : tile<i32[2, 4], #a>"));
    check_refused(text, "3:32: error: #a has 1 dims, the type has 2\n");
    snprintf(text, sizeof text, "#a = layout {reg = [[1]], %s%s", lane,
             TEXT_KERNEL("%t = splat 0 : tile<i32[p], #a>"));
    check_refused(text, "3:29: error: a type with a layout needs constant extents\n");
    snprintf(text, sizeof text, "#a = layout {reg = [[1]], %s%s", lane,
             TEXT_KERNEL("%t = splat 0 : tile<i32[66], #a>"));
    check_refused(text,
                  "3:30: error: a type with a layout needs extents that are odd numbers up to 31 "
                  "times powers of two, not 66\n");
    snprintf(text, sizeof text, "#a = layout {reg = [[1]], %s%s", lane,
             TEXT_KERNEL("%t = splat 0 : tile<i32[6], #a>"));
    check_refused(text, "3:29: error: the odd factor of dim 0 of the type is 3, and #a has a "
                        "count of 1 there\n");
    snprintf(text, sizeof text, "#a = layout {reg = [[1]], %s%s", lane,
             TEXT_KERNEL("%t = alloc_shared : shared<f16[4], #a>"));
    check_refused(text, "3:36: error: a shared buffer needs a layout with 'offset'\n");
    snprintf(text, sizeof text, "#a = layout {count = [31, 31, 31, 31, 31], reg = [], %s%s",
             "lane = [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], "
             "[0, 0, 0, 0, 0]], warp = []}\n",
             TEXT_KERNEL("%t = splat 0 : tile<i32[31, 31, 31, 31, 31], #a>"));
    check_refused(text, "3:46: error: a tile has at most 2^20 elements\n");
    check_refused("#a = layout {count = [2]}\n",
                  "1:14: error: a count must be odd, from 1 to 31\n");
    check_refused("#a = layout {count = [33]}\n",
                  "1:14: error: a count must be odd, from 1 to 31\n");
    check_refused("#a = layout {count = [3], count = [3]}\n",
                  "1:27: error: 'count' is given twice\n");
    check_refused("#a = layout {offset = [[1, 2]], count = [3]}\n",
                  "1:41: error: this entry has 1 counts, the entries before it have 2\n");
    check_refused("#a = layout {reg = [[1]]}\n", "1:1: error: 'lane' has 5 entries, not 0\n");
    check_refused("#a = layout {reg = [], offset = []}\n",
                  "1:1: error: a layout has either 'reg', 'lane' and 'warp', or 'offset'\n");
    check_refused("#a = layout {offset = [[1, 2], [3]]}\n",
                  "1:32: error: this entry has 1 coordinates, the entries before it have 2\n");
    check_refused(
        TEXT_KERNEL("%t = splat 0 : tile<i32[4], #b>"),
        "2:29: error: there is no layout #b; write one of #plain, #mma_acc, #wgmma_acc, "
        "#mma_lhs, #mma_rhs, #wgmma_lhs, #thread_rows and #swizzle128, or define it before the "
        "kernel: `#b = layout {..}`\n");
}

Test(parse, goes_on_after_a_mistake) {
    check_refused(
        TEXT_KERNEL(
            "%a = lod %n\n%b = add %a, 1\n%c = neg %d\n%e = add %c,\n%f = neg %f\nsync sync ?"),
        "2:6: error: unknown operation 'lod'; did you mean 'load'?\n4:10: error: %d is not "
        "defined\n6:1: error: %f is not defined\n7:11: error: unexpected '?': write "
        "`select(%condition, %yes, %no)`\n");
}

Test(parse, stops_after_twenty_errors) {
    char text[4096] = "kernel @k() grid [1] warps 4 {\n";
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < 40; i++) strcat(text, "frobnicate\n");
    cr_expect_null(text_parse(&x, text));
    cr_expect_eq(x.errors, 20);
    cr_expect(strstr(x.messages, "21:1: note: too many errors: parsing stops after 20\n"), "%s",
              x.messages);
    text_close(&x);
}

/* Returns a piece of text, repeated, between a beginning and an end. */
static char *repeat(const char *begin, const char *piece, unsigned count, const char *end) {
    char *text = malloc(strlen(begin) + strlen(piece) * count + strlen(end) + 1), *at = text;
    at += sprintf(at, "%s", begin);
    for (unsigned i = 0; i < count; i++) at += sprintf(at, "%s", piece);
    sprintf(at, "%s", end);
    return text;
}

static void check_too_deep(const char *begin, const char *piece, const char *end) {
    text_fixture x;
    text_open(&x);
    char *text = repeat(begin, piece, 100000, end);
    cr_expect_null(text_parse(&x, text));
    cr_expect(strstr(x.messages, "more than 200 "), "%s: %s", piece, x.messages);
    free(text);
    text_close(&x);
}

Test(parse, depth_is_bounded) {
    const char *begin = "kernel @k<p: int>(%n: i32) grid [1] warps 4 { %a = ";
    check_too_deep(begin, "(", "1");
    check_too_deep(begin, "-", "%n }");
    check_too_deep(begin, "%n + ", "1 }");
    check_too_deep(begin, "p + ", "p }");
    check_too_deep(begin, "neg(", "1");
    check_too_deep("kernel @k(%n: i32) grid [1] warps 4 {", "if true { ", "}");
    check_too_deep("kernel @k(%n: i32) grid [1] warps 4 {", "if true { } else { ", "}");
}

static uint64_t next_random(uint64_t *state) { /* xorshift64 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Deletes, duplicates, inserts or changes a few bytes. */
static size_t mutate(char *text, size_t length, size_t room, uint64_t *state) {
    static const char bytes[] = "{}()[]<>,:=+-*/&|^~?%@#.\"\n 09azfi\0\x80\xff";
    for (uint64_t edits = next_random(state) % 6 + 1; edits && length; edits--) {
        size_t at = next_random(state) % length, run = next_random(state) % 12 + 1;
        if (run > length - at) run = length - at;
        size_t other = next_random(state) % (length - run + 1);
        switch (next_random(state) % 4) {
        case 0:
            memmove(text + at, text + at + run, length - at - run);
            length -= run;
            break;
        case 1:
            if (length + run > room) break;
            memmove(text + at + run, text + at, length - at);
            length += run;
            break;
        case 2: memmove(text + at, text + other, run); break;
        default: text[at] = bytes[next_random(state) % (sizeof bytes - 1)];
        }
    }
    return length;
}

/* Accepted text must print to text that is accepted and prints the same. */
static void check_any(text_fixture *x, const char *text, size_t length) {
    x->length = 0;
    tile_module *module = tile_module_parse(x->context, "fuzz", text, length);
    if (!module) {
        cr_assert_neq(x->length, 0, "refused without a diagnostic: %.*s", (int)length, text);
        return;
    }
    const char *once = text_print(x, module);
    tile_module *again = text_parse(x, once);
    cr_assert(again, "%s\nof\n%s\nfrom\n%.*s", x->messages, once, (int)length, text);
    cr_assert_str_eq(text_print(x, again), once);
    tile_module_destroy(module);
    tile_module_destroy(again);
}

Test(parse, no_bytes_break_it, .timeout = 300) {
    char text[8192];
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (unsigned round = 0; round < 600; round++) {
        text_fixture x;
        text_open(&x);
        for (unsigned i = 0; i < TEXT_CORPUS_COUNT; i++) {
            size_t length = strlen(text_corpus[i]);
            memcpy(text, text_corpus[i], length);
            length = mutate(text, length, sizeof text, &state);
            check_any(&x, text, length);
        }
        text_close(&x);
    }
}

/* Every prefix of a text. */
Test(parse, no_end_breaks_it, .timeout = 300) {
    for (unsigned i = 0; i < TEXT_CORPUS_COUNT; i++) {
        text_fixture x;
        text_open(&x);
        for (size_t length = 1; length < strlen(text_corpus[i]); length++) {
            check_any(&x, text_corpus[i], length);
        }
        text_close(&x);
    }
}
