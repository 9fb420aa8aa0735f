/* Each limit of tile/limits.def, at its number and one past it. Each row needs a function
 * test_<NAME> here, so a new row without a test does not link. */
#include <stdarg.h>
#include <stdlib.h>

#include "runtime/model/space.h"
#include "test/unit/text_fixture.h"
#include "tile/compile.h"
#include "tile/compute.h"
#include "tile/parse.h"

/* A program that is being written. */
typedef struct program {
    char *text;
    size_t length, capacity;
} program;

static void put(program *p, const char *format, ...) TILE_PRINTF(2, 3);
static void put(program *p, const char *format, ...) {
    char piece[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    cr_assert(length >= 0 && (size_t)length < sizeof piece);
    while (p->length + (size_t)length + 1 > p->capacity) {
        p->capacity = 2 * p->capacity + 1024;
        p->text = realloc(p->text, p->capacity);
    }
    memcpy(p->text + p->length, piece, (size_t)length + 1);
    p->length += (size_t)length;
}

/* Writes the piece n times, with its number for %d, and the separator in between. */
static void repeat(program *p, int n, const char *piece, const char *separator) {
    for (int i = 0; i < n; i++) {
        const char *from = piece;
        if (i) put(p, "%s", separator);
        for (const char *at; (at = strstr(from, "%d")); from = at + 2)
            put(p, "%.*s%d", (int)(at - from), from, i);
        put(p, "%s", from);
    }
}

/* Texts to include: `deep N` includes N more, one in the other, and `bytes N` has so many bytes. */
static tile_status find_text(const tile_include *include, tile_included *found, void *user) {
    int number = 0;
    program p = {.text = NULL};
    (void)user;
    if (sscanf(include->spelling, "bytes %d", &number) == 1) {
        p = (program){.text = malloc((size_t)number), .length = (size_t)number};
        memset(p.text, ' ', p.length);
    } else if (sscanf(include->spelling, "deep %d", &number) == 1 && number > 1) {
        put(&p, "include \"deep %d\"\n", number - 1);
    }
    found->text = found->memory = p.text;
    found->length = p.length;
    return TILE_OK;
}

static void release_text(tile_included *found, void *user) {
    (void)user;
    free(found->memory);
}

/* Parses it and, if requested, prepares it or compiles it for a device. */
typedef enum stage { PARSED, SCHEDULED, INSTANTIATED, COMPILED } stage;

static bool accepts(text_fixture *x, program *p, stage until) {
    const char *name;
    unsigned none = 0;
    const tile_emit_options options = {.size = sizeof options,
                                       .target = tile_target_find("sm_90a")};
    tile_blob ptx = {.data = NULL};
    const tile_parse_options parse = {
        .size = sizeof parse, .resolve = find_text, .release = release_text};
    tile_module *module = tile_module_parse_with(x->context, "limits", p->text, p->length, &parse);
    bool ok = module && tile_module_verify(module) == TILE_OK;
    if (ok && until == SCHEDULED)
        ok = tile_schedule(module, "k", NULL, NULL, &none, &name) == TILE_OK;
    if (ok && until == INSTANTIATED) ok = tile_instantiate(module, "k", NULL, 0) == TILE_OK;
    if (ok && until == COMPILED)
        ok = tile_compile(module, "k", NULL, 0, &options, &ptx, NULL) == TILE_OK;
    tile_blob_destroy(&ptx);
    tile_module_destroy(module);
    free(p->text);
    *p = (program){.text = NULL};
    return ok;
}

/* write(p, n) writes a program with n of the limited things. Past the limit, the message must be
 * reported at a location in the text. */
static void check(void (*write)(program *p, int64_t n), stage until, int64_t number, int64_t past,
                  const char *message) {
    text_fixture x;
    program p = {.text = NULL};
    unsigned line = 0, column = 0;
    text_open(&x);
    write(&p, number);
    cr_expect(accepts(&x, &p, until), "%lld: %s", (long long)number, x.messages);
    cr_expect_str_empty(x.messages);
    x.length = 0;
    write(&p, past);
    cr_expect_not(accepts(&x, &p, until), "%lld is accepted: %s", (long long)past, message);
    cr_expect(strstr(x.messages, message), "not '%s', but '%s'", message, x.messages);
    cr_expect(sscanf(x.messages, "%u:%u:", &line, &column) == 2 && line && column, "no place: %s",
              x.messages);
    text_close(&x);
}

/* Types ---------------------------------------------------------------------------------------- */

static void write_ranks(program *p, int64_t n) {
    put(p, "kernel @k(%%x: view<f32[");
    repeat(p, (int)n, "1", ", ");
    put(p, "]>) grid [1] warps 1 {\n %%t = splat 0.0 : tile<f32[");
    repeat(p, (int)n, "1", ", ");
    put(p, "]>\n %%s = alloc_shared : shared<f32[");
    repeat(p, (int)n, "1", ", ");
    put(p, "]>\n}\n");
}

static void test_RANK(int number) {
    check(write_ranks, PARSED, number, number + 1,
          "a type has at most 8 dims; reshape to fewer, or combine several into one");
}

static void write_map_ranks(program *p, int64_t n) {
    put(p, "kernel @k(%%x: view<f16[");
    repeat(p, (int)n, "64", ", ");
    put(p, "]> {tensor_map}) grid [1] warps 1 { }\n");
}

static void test_MAP_RANK(int number) {
    check(write_map_ranks, PARSED, number, number + 1,
          "'tensor_map' is for views of 1 to 5 dims, not for the argument 'x'");
}

static void write_grids(program *p, int64_t n) {
    put(p, "kernel @k() grid [");
    repeat(p, (int)n, "4", ", ");
    put(p, "] warps 1 { }\n");
}

static void test_GRID_RANK(int number) {
    check(write_grids, PARSED, number, number + 1,
          "a grid or cluster has at most 3 dims; combine several into one,");
}

static void write_extent(program *p, int64_t n) {
    put(p, "kernel @k(%%x: view<i8[%lld]>) grid [1] warps 1 { }\n", (long long)n);
}

static void test_EXTENT(int number) {
    check(write_extent, PARSED, number, (int64_t)number + 1,
          "the extent of dim 0 of the view %x is 2147483648, not from 0 to 2^31 - 1");
}

static void write_tile(program *p, int64_t n) {
    put(p, "kernel @k() grid [1] warps 1 { %%t = splat 0.0 : tile<f32[%lld]> }\n", (long long)n);
}

/* The next odd number; its product with a power of two may be in between. */
static void test_ODD_EXTENT(int number) {
    check(write_tile, PARSED, number, number + 2,
          "must be odd numbers up to 31 times powers of two: instead of 33, write 32 or 34");
}

/* The next extent that a tile may have. */
static void test_TILE_ELEMENTS(int number) {
    check(write_tile, PARSED, number, number / 16 * 17,
          "has more than the 1048576 elements a tile may have");
}

static void write_vector(program *p, int64_t n) {
    put(p, "kernel @k() grid [1] warps 1 { %%t = splat 0.0 : vector<f32[%lld]> }\n", (long long)n);
}

static void test_VECTOR_ELEMENTS(int number) {
    check(write_vector, PARSED, number, number + 1,
          "has more than the 32768 elements one thread may hold");
}

/* Nothing of this size is allocated. */
static void test_TENSOR_LOG2(int number) {
    static const char text[] = "compute @k<m: dim, n: dim>(%x: tensor<i8[m, n]>) -> "
                               "(%y: tensor<i8[m, n]>) { %y = %x + %x }\n";
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_parse(x.context, "limits", text, strlen(text));
    cr_assert(module, "%s", x.messages);
    const tile_function *f = tile_module_function(module, 0);
    tile_compute_array in = {TILE_i8, 2, {INT64_C(1) << number, 1}, NULL}, out = {.rank = 0};
    cr_expect_eq(tile_compute_shapes(f, &in, 1, &out, 1), TILE_OK, "%s", x.messages);
    in.dims[0]++;
    cr_expect_eq(tile_compute_shapes(f, &in, 1, &out, 1), TILE_INVALID);
    cr_expect(strstr(x.messages, "cannot be computed or is out of range"), "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* Functions ------------------------------------------------------------------------------------ */

static void write_arguments(program *p, int64_t n) {
    put(p, "kernel @k(");
    repeat(p, (int)n, "%a%d: i32", ", ");
    put(p, ") grid [1] warps 1 { }\nplan @p(");
    repeat(p, (int)n, "%a%d: i32", ", ");
    put(p, ") { launch @k(");
    repeat(p, (int)n, "%a%d", ", ");
    put(p, ") }\n");
}

/* One argument is the tensor that the operations read. */
static void write_results(program *p, int64_t n) {
    put(p, "compute @k(%%x: tensor<f32[4]>) -> (");
    repeat(p, (int)n - 1, "%y%d: tensor<f32[4]>", ", ");
    put(p, ") {\n");
    repeat(p, (int)n - 1, "%y%d = %x + 1.0", "\n");
    put(p, "\n}\n");
}

static void test_ARGUMENTS(int number) {
    check(
        write_arguments, PARSED, number, number + 1,
        "@k has 1025 arguments, and a kernel takes at most 1024; combine several arrays into one");
    check(write_results, SCHEDULED, number, number + 1,
          "@k: its kernel takes 1025 arguments (dims, arrays and results), and the limit is 1024");
}

static void write_loops(program *p, int64_t n) {
    put(p, "plan @p(%%n: i32) {\n");
    repeat(p, (int)n, "for %i%d = 0 to %n {", "\n");
    repeat(p, (int)n, "}", "\n");
    put(p, "\n}\n");
}

static void test_PLAN_LOOPS(int number) {
    check(write_loops, PARSED, number, number + 1,
          "a plan has at most 8 nested loops, and this is one more");
}

static void write_tuned(program *p, int64_t n) {
    put(p, "kernel @k<");
    repeat(p, (int)n, "p%d: int", ", ");
    put(p, ">() tune (");
    repeat(p, (int)n, "p%d", ", ");
    put(p, ") in [(");
    repeat(p, (int)n, "%d", ", ");
    put(p, ")] grid [1] warps 1 { }\n");
}

static void test_TUNE_NAMES(int number) {
    check(write_tuned, PARSED, number, number + 1,
          "'tune' takes at most 16 parameters at once; write another `tune` for the others");
}

static bool lists_points(text_fixture *x, int count) {
    program p = {.text = NULL};
    tune_point *points;
    size_t listed = 0;
    put(&p, "kernel @k<n: int>() tune n in [");
    repeat(&p, count, "%d", ", ");
    put(&p, "] grid [1] warps 1 { }\n");
    tile_module *module = tile_module_parse(x->context, "limits", p.text, p.length);
    cr_assert(module, "%s", x->messages);
    bool ok = tune_list_points(tile_module_function(module, 0), NULL, 0, NULL, &x->arena, &points,
                               &listed);
    cr_expect(!ok || listed == (size_t)count);
    for (size_t i = 0; ok && i < listed; i++) tile_arena_reset(&points[i].arena);
    tile_module_destroy(module);
    free(p.text);
    return ok;
}

static void test_TUNE_POINTS(int number) {
    text_fixture x;
    text_open(&x);
    cr_expect(lists_points(&x, number), "%s", x.messages);
    cr_expect_not(lists_points(&x, number + 1));
    cr_expect(strstr(x.messages, "@k has more than 16384 points; remove values from `tune`"), "%s",
              x.messages);
    text_close(&x);
}

/* The text ------------------------------------------------------------------------------------- */

static void write_regions(program *p, int64_t n) {
    put(p, "kernel @k(%%c: i1) grid [1] warps 1 {");
    repeat(p, (int)n - 1, " if %c {", "");
    repeat(p, (int)n, " }", "");
}

static void test_DEPTH(int number) {
    check(write_regions, PARSED, number, number + 1,
          "more than 200 regions are nested; compute conditions first");
}

static void write_sum(program *p, int64_t n) {
    put(p, "kernel @k(%%n: i32) grid [1] warps 1 { %%s = ");
    repeat(p, (int)n, "%n", " + ");
    put(p, " }\n");
}

static void write_parentheses(program *p, int64_t n) {
    put(p, "kernel @k(%%n: i32) grid [1] warps 1 { %%s = ");
    repeat(p, (int)n - 1, "(", "");
    put(p, "%%n");
    repeat(p, (int)n - 1, ")", "");
    put(p, " }\n");
}

static void test_EXPRESSION_DEPTH(int number) {
    static const char message[] = "this expression has more than 200 nested operations; "
                                  "give a part of it a name, %x = ..";
    check(write_sum, PARSED, number, number + 1, message);
    check(write_parentheses, PARSED, number, number + 1, message);
}

static void write_includes(program *p, int64_t n) {
    repeat(p, (int)n, "include \"same\"", "\n");
}

static void test_INCLUDES(int number) {
    check(write_includes, PARSED, number, number + 1,
          "a program has at most 1000 includes, and this is one more");
}

static void write_nested(program *p, int64_t n) {
    put(p, "include \"deep %d\"\n", (int)n);
}

static void test_INCLUDE_DEPTH(int number) {
    check(write_nested, PARSED, number, number + 1,
          "includes are nested at most 32 deep, and this one is deeper");
}

/* In two texts. */
static void write_bytes(program *p, int64_t n) {
    put(p, "include \"bytes 100\" include \"bytes %d\"\n", (int)n - 100);
}

static void test_INCLUDED_BYTES(int number) {
    check(write_bytes, PARSED, number, number + 1,
          "all included texts together have more than 16777216 bytes");
}

static void write_nested_calls(program *p, int64_t n) {
    put(p, "func @g0(%%x: f32) -> (%%y: f32) { %%y = %%x * %%x }\n");
    for (int i = 1; i < n; i++)
        put(p, "func @g%d(%%x: f32) -> (%%y: f32) { %%y = g%d(%%x) }\n", i, i - 1);
    put(p, "kernel @k(%%x: f32) grid [1] warps 1 { %%y = g%d(%%x) }\n", (int)n - 1);
}

static void test_CALL_DEPTH(int number) {
    check(write_nested_calls, INSTANTIATED, number, number + 1,
          "more than 64 calls of funcs are nested");
}

static void write_inlined(program *p, int64_t n) {
    enum { LENGTH = 256 };
    put(p, "func @one(%%x: f32) -> (%%y: f32) { %%y = %%x * %%x }\n");
    put(p, "func @many(%%x: f32) -> (%%y: f32) {\n");
    repeat(p, LENGTH - 1, "%x%d = %x * %x\n", "");
    put(p, "%%y = %%x * %%x }\nkernel @k(%%x: f32) grid [1] warps 1 {\n");
    repeat(p, (int)(n / LENGTH), "%a%d = many(%x)\n", "");
    repeat(p, (int)(n % LENGTH), "%b%d = one(%x)\n", "");
    put(p, "}\n");
}

static void test_INLINED(int number) {
    check(write_inlined, INSTANTIATED, number, number + 1,
          "the calls of funcs in @k become more than 65536 operations");
}

static void write_text(program *p, int64_t n) {
    put(p, "kernel @k(%%c: i1) grid [1] warps 1 { assert %%c {text = \"");
    repeat(p, (int)n, "a", "");
    put(p, "\"} }\n");
}

static void test_TEXT(int number) {
    check(write_text, PARSED, number, number + 1,
          "this text has more than 16384 bytes; write a shorter one");
}

static void write_number(program *p, int64_t n) {
    put(p, "kernel @k() grid [1] warps 1 { %%x = 0.");
    repeat(p, (int)n - 2, "1", "");
    put(p, " }\n");
}

static void write_power(program *p, int64_t n) {
    put(p, "kernel @k() grid [1] warps 1 { %%x = f64(1e%lld) }\n", (long long)n);
}

static void write_integer(program *p, int64_t n) {
    put(p, "kernel @k() grid [1] warps 1 { %%x = i64(%s) }\n",
        n ? "9223372036854775808" : "9223372036854775807");
}

static void test_NUMBER(int number) {
    check(write_number, PARSED, number, number + 1, "this number has more than 120 characters");
    check(write_power, PARSED, 308, 309, "this number is larger than any f64; write inf");
    check(write_integer, PARSED, 0, 1,
          "this number does not fit an i64; a larger u64 is written `u64(..)`");
}

/* Uses this many undefined names. */
static void test_ERRORS(int number) {
    for (int n = number - 1; n <= number + 5; n += 6) {
        text_fixture x;
        program p = {.text = NULL};
        text_open(&x);
        put(&p, "kernel @k() grid [1] warps 1 {\n");
        repeat(&p, n, "%x%d = %none", "\n");
        put(&p, "\n}\n");
        cr_expect_not(accepts(&x, &p, PARSED));
        bool stopped = strstr(x.messages, "too many errors") != NULL;
        cr_expect(stopped == (n > number), "%d: %s", n, x.messages);
        cr_expect(x.errors <= (unsigned)number + 1);
        text_close(&x);
    }
}

/* Operations ----------------------------------------------------------------------------------- */

static void write_print(program *p, int64_t n) {
    put(p, "kernel @k(%%n: i32) grid [1] warps 1 { print ");
    repeat(p, (int)n, "%n", ", ");
    put(p, " }\n");
}

static void test_PRINTED(int number) {
    check(write_print, PARSED, number, number + 1,
          "one print takes at most 28 numbers, not 29; write another print");
}

static void write_divisor(program *p, int64_t n) {
    put(p, "kernel @k(%%n: i32 {divisible = %lld}) grid [1] warps 1 { }\n", (long long)n);
}

static void test_DIVISOR(int number) {
    check(write_divisor, PARSED, number, (int64_t)number + 1,
          "'divisible' takes a number from 1 to 2^30");
}

static void write_loop(program *p, const char *clause, int64_t n) {
    put(p, "kernel @k(%%n: i32) grid [1] warps 1 {\n"
           "%%s = for %%i = 0 to %%n iter (%%t = 0.0 : tile<f32[8]>) ");
    put(p, clause[0] == 's' ? "split (%lld, serial)" : "pipelined (%lld)", (long long)n);
    put(p, " { yield %%t + 1.0 }\n}\n");
}

static void write_pipelined(program *p, int64_t n) {
    write_loop(p, "pipelined", n);
}

static void test_STAGES(int number) {
    check(write_pipelined, PARSED, number, number + 1, "pipelined takes 1 to 64 stages, not 65");
}

static void write_split(program *p, int64_t n) {
    write_loop(p, "split", n);
}

static void test_SPLIT(int number) {
    check(write_split, PARSED, number, number + 1, "split takes 1 to 65535 parts, not 65536");
}

static void write_raster(program *p, int64_t n) {
    put(p, "kernel @k(%%n: i32) grid [%%n, %%n] raster rows (%lld) warps 1 { }\n", (long long)n);
}

static void test_RASTER_GROUP(int number) {
    check(write_raster, PARSED, number, number + 1, "`raster` rows takes 1 to 32768, not 32769");
}

static void write_barrier(program *p, int64_t n) {
    put(p,
        "kernel @k() grid [1] warps 1 { %%b = alloc_barrier {count = %lld} : shared<barrier[1]> }",
        (long long)n);
}

static void test_ARRIVALS(int number) {
    check(write_barrier, PARSED, number, number + 1,
          "alloc_barrier: `count` must be from 1 to 1048575, not 1048576");
}

static void write_copies(program *p, int64_t n) {
    put(p, "kernel @k(");
    repeat(p, (int)n, "%x%d: view<f16[64, 64]> {tensor_map}", ", ");
    put(p, ") grid [1] warps 4 {\n");
    for (int i = 0; i < (int)n; i++)
        put(p,
            "%%s%d = alloc_shared : shared<f16[8, 64]>\n"
            "%%b%d = alloc_barrier {count = 1} : shared<barrier[1]>\n"
            "copy_async %%x%d[0, 0], %%s%d, %%b%d[0]\nbarrier_wait %%b%d[0], 0\n",
            i, i, i, i, i, i);
    put(p, "}\n");
}

static void test_TENSOR_MAPS(int number) {
    check(write_copies, COMPILED, number, number + 1,
          "tensor_map: a kernel has at most 12 tensor maps");
}

/* Schedules ------------------------------------------------------------------------------------ */

static void write_sorted(program *p, int64_t n) {
    put(p,
        "compute @k(%%x: tensor<f32[3, %lld]>) -> (%%y: tensor<f32[3, %lld]>) { %%y = sort(%%x, "
        "axis = 1) }\n",
        (long long)n, (long long)n);
}

static void test_SORTED_ROW(int number) {
    check(write_sorted, SCHEDULED, number, number + 1,
          "sort: a block computes a whole row, of at most 16384 elements, and its extent is more");
}

static void write_reductions(program *p, int64_t n) {
    put(p, "compute @k(%%x: tensor<f32[3, 70000]>) -> (");
    repeat(p, (int)n, "%y%d: tensor<f32[3, 1]>", ", ");
    put(p, ") {\n");
    repeat(p, (int)n, "%y%d = reduce_max(%x + %d.0, axis = 1)", "\n");
    put(p, "\n}\n");
}

static void test_ROW_REDUCTIONS(int number) {
    check(write_reductions, SCHEDULED, number, number + 1,
          "more than 64 reductions of the same rows: compute some of them in a separate compute");
}

/* ---------------------------------------------------------------------------------------------- */

#define LIMIT(name, number, subject) \
    Test(limits, name) { \
        test_##name(number); \
    }
#include "tile/limits.def"
#undef LIMIT
