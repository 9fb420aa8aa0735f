/* Divisions by zero: not a fault unless the result has an effect. */
#include "test/unit/cpu_fixture.h"

/* Runs a kernel with one argument %p, 256 integers of value 1. what: part of the report. use: line
 * of the operation that uses the quotient, 0 if no report is expected. The division is in line
 * `division`. */
static void expect_of(const char *what, unsigned level, const char *kernel, unsigned division,
                      unsigned use) {
    cpu_fixture x;
    int32_t ones[256];
    char error[32], note[64];
    for (unsigned i = 0; i < 256; i++) ones[i] = 1;
    snprintf(error, sizeof error, "%u:", division);
    snprintf(note, sizeof note, "\n%u:", use);
    cpu_open(&x, level, 0, kernel);
    cpu_pass(&x, ones, sizeof ones);
    tile_status status = cpu_launch_text(&x);
    const char *messages = x.text.messages;
    if (!use) {
        cr_assert_eq(status, TILE_OK, "%s%s", messages, kernel);
    } else {
        cr_assert_eq(status, TILE_FAULT, "not found: %s", kernel);
        cr_assert(strncmp(messages, error, strlen(error)) == 0 && strstr(messages, what), "%s%s",
                  messages, kernel);
        cr_assert(strstr(messages, note) && strstr(messages, "its result is used here"), "%s%s",
                  messages, kernel);
        cr_assert_eq(x.text.errors, 1);
    }
    cpu_close(&x);
}

static void expect(unsigned level, const char *kernel, unsigned division, unsigned use) {
    expect_of("by zero", level, kernel, division, use);
}

/* %a is 1 inside %g and 0 outside it; %w is large enough for all of it. */
#define TILES(body) \
    "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n" \
    "  %g = view %p, [20] : view<i32[20]>\n  %w = view %p, [64] : view<i32[64]>\n" \
    "  %a = load %g[0] : tile<i32[32]>\n  %q = div %a, %a : tile<i32[32]>\n" body "}\n"
#define BUFFER "  %s = alloc_shared : shared<i32[32]>\n  store_shared %q, %s\n"

Test(poison, tiles_reach_memory_or_do_not) {
    expect(2, TILES("  store %q, %g[0]\n"), 5, 0);
    expect(2, TILES("  store %q, %w[0]\n"), 5, 6);
    expect(2, TILES("  store %q, %w[44]\n"), 5, 0);
    expect(2, TILES("  store %q, %w[43]\n"), 5, 6);
    expect(2, TILES("  %r = rem %q, %q\n  store %r, %g[0]\n"), 5, 0);
    expect(2, TILES("  %r = %q + %a\n  %m = min %r, %a\n  store %m, %w[0]\n"), 5, 8);
    expect(2,
           TILES("  %f = cast %q : tile<f32[32]>\n  %h = cast %f : tile<i8[32]>\n"
                 "  %i = cast %h : tile<i32[32]>\n  store %i, %w[0]\n"),
           5, 9);
    expect(2, TILES("  %l = convert_layout %q : tile<i32[32]>\n  store %l, %w[0]\n"), 5, 7);
}

Test(poison, is_repeated) {
    expect(2,
           TILES("  %b = broadcast %q : tile<i32[2, 32]>\n"
                 "  %v = view %p, [2, 20] : view<i32[2, 20]>\n  store %b, %v[0, 0]\n"),
           5, 0);
    expect(2,
           TILES("  %b = broadcast %q : tile<i32[2, 32]>\n"
                 "  %v = view %p, [2, 21] : view<i32[2, 21]>\n  store %b, %v[0, 0]\n"),
           5, 8);
    /* A coordinate may be zero. */
    expect(2,
           TILES("  %i = iota {axis = 0, start = -1} : tile<i32[32]>\n  %r = div %a, %i\n"
                 "  store %r, %w[0]\n"),
           7, 8);
}

Test(poison, select_takes_one_side) {
    expect(2, TILES("  %c = ne %a, %a\n  %v = select %c, %q, %a\n  store %v, %w[0]\n"), 5, 0);
    expect(2, TILES("  %c = eq %a, %a\n  %v = select %c, %q, %a\n  store %v, %w[0]\n"), 5, 8);
    expect(2, TILES("  %c = eq %q, %a\n  %v = select %c, %a, %a\n  store %v, %w[0]\n"), 5, 8);
    expect(2, TILES("  %c = eq %q, %a\n  %v = select %c, %a, %a\n  store %v, %g[0]\n"), 5, 0);
}

Test(poison, through_shared_memory) {
    expect(2, TILES(BUFFER "  %t = load_shared %s : tile<i32[32]>\n  store %t, %w[0]\n"), 5, 9);
    expect(2, TILES(BUFFER "  %t = load_shared %s : tile<i32[32]>\n  store %t, %g[0]\n"), 5, 0);
    expect(2, TILES(BUFFER "  copy %s, %w[0]\n"), 5, 8);
    expect(2, TILES(BUFFER "  copy %s, %g[0]\n"), 5, 0);
    /* Overwritten elements are no longer poison. */
    expect(2, TILES(BUFFER "  store_shared %a, %s\n  copy %s, %w[0]\n"), 5, 0);
    expect(2, TILES(BUFFER "  copy %w[0], %s\n  copy %s, %w[0]\n"), 5, 0);
    expect(2,
           TILES(BUFFER "  copy_async %w[0], %s\n  commit_group\n  wait_group 0\n"
                        "  copy %s, %w[0]\n"),
           5, 0);
}

Test(poison, through_regions) {
    expect(2,
           TILES("  %r = for %i = 0 to 3 step 1 iter (%c = %q) {\n"
                 "    %n = %c + %a\n    yield %n\n  }\n  store %r, %w[0]\n"),
           5, 10);
    /* The values are swapped once. */
#define EXCHANGE(result) \
    TILES("  %x, %y = for %i = 0 to 1 step 1 iter (%c = %q, %d = %a) { yield %d, %c }\n" \
          "  store " result ", %w[0]\n")
    expect(2, EXCHANGE("%x"), 5, 0);
    expect(2, EXCHANGE("%y"), 5, 7);
    expect(2,
           TILES("  %b, %y, %z = block_id\n  %r = if %b == 1 { yield %q } else { yield %a }\n"
                 "  store %r, %w[0]\n"),
           5, 0);
    expect(2,
           TILES("  %b, %y, %z = block_id\n  %r = if %b == 0 { yield %q } else { yield %a }\n"
                 "  store %r, %w[0]\n"),
           5, 8);
}

/* Rows from 4 on are padding. */
#define ROWS(body) \
    "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n" \
    "  %g = view %p, [4, 16] : view<i32[4, 16]>\n  %w = view %p, [16, 16] : view<i32[16, 16]>\n" \
    "  %a = load %g[0, 0] : tile<i32[16, 16]>\n  %q = div %a, %a : tile<i32[16, 16]>\n" \
    "  %h = cast %q : tile<f16[16, 16]>\n  %o = splat 1.0 : tile<f16[16, 16]>\n" \
    "  %z = splat 0.0 : tile<f32[16, 16]>\n" body "}\n"
#define OUT "  %i = cast %d : tile<i32[16, 16]>\n  store %i, "

Test(poison, products_of_tiles) {
    expect(2, ROWS("  %d = dot %h, %o, %z\n" OUT "%g[0, 0]\n"), 5, 0);
    expect(2, ROWS("  %d = dot %h, %o, %z\n" OUT "%w[0, 0]\n"), 5, 11);
    expect(2, ROWS("  %d = dot %o, %h, %z\n" OUT "%g[0, 0]\n"), 5, 11);
    expect(2, ROWS("  %f = cast %h : tile<f32[16, 16]>\n  %d = dot %o, %o, %f\n" OUT "%g[0, 0]\n"),
           5, 0);
    expect(2, ROWS("  %f = cast %h : tile<f32[16, 16]>\n  %d = dot %o, %o, %f\n" OUT "%w[0, 0]\n"),
           5, 12);
    expect(2,
           ROWS("  %s = alloc_shared : shared<f16[16, 16]>\n  store_shared %h, %s\n"
                "  %d = dot %s, %o, %z\n" OUT "%g[0, 0]\n"),
           5, 0);
    expect(2,
           ROWS("  %s = alloc_shared : shared<f16[16, 16]>\n  store_shared %h, %s\n"
                "  %d = dot %o, %s, %z\n" OUT "%g[0, 0]\n"),
           5, 13);
}

/* In lanes from 20 on %v, and thus the divisor, is 0. */
#define THREADS(body) \
    "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n  %t = thread_id\n  %in = %t < 20\n" \
    "  %v = ld_global %p[%t], %in : i32\n  %a = concat %v, 1 : vector<i32[2]>\n" \
    "  %q = div %a, %a : vector<i32[2]>\n  %e = extract %q, 0 : i32\n" body "}\n"

Test(poison, threads_reach_memory_or_do_not) {
    expect(3, THREADS("  sync_warp\n  st_global %q, %p[%t * 2], %in\n"), 6, 0);
    expect(3, THREADS("  sync_warp\n  st_global %q, %p[%t * 2]\n"), 6, 9);
    expect(3, THREADS("  %o = extract %q, 1 : i32\n  st_global %o, %p[%t]\n"), 6, 0);
    expect(3, THREADS("  st_global %e, %p[%t]\n"), 6, 8);
    expect(3,
           THREADS("  %r = permute %q {order = [1, 0]} : vector<i32[2]>\n"
                   "  %x = extract %r, 0 : i32\n  st_global %x, %p[%t]\n"),
           6, 0);
    expect(3,
           THREADS("  %r = permute %q {order = [1, 0]} : vector<i32[2]>\n"
                   "  %x = extract %r, 1 : i32\n  st_global %x, %p[%t]\n"),
           6, 10);
    expect(3, THREADS("  %r = concat %q, %a\n  %x = extract %r, 2 : i32\n  st_global %x, %p[%t]\n"),
           6, 0);
    expect(3, THREADS("  %r = concat %a, %q\n  %x = extract %r, 2 : i32\n  st_global %x, %p[%t]\n"),
           6, 10);
    expect(3,
           THREADS("  %s = splat %e : vector<i32[4]>\n  sync_warp\n  st_global %s, %p[%t * 4]\n"),
           6, 10);
}

Test(poison, threads_decide_by_it) {
    expect(3, THREADS("  %c = %e > 0\n  if %c { }\n"), 6, 9);
    expect(3, THREADS("  for %i = 0 to %e step 1 { }\n"), 6, 8);
    expect(3, THREADS("  %x = ld_global %p[%e] : i32\n"), 6, 8);
    expect(3, THREADS("  %x = ld_global %p[%t], %e > 0 : i32\n"), 6, 8);
    /* The other lanes do not execute this. */
    expect(3, THREADS("  if %in {\n    %x = ld_global %p[%e] : i32\n    if %e > 0 { }\n  }\n"), 6,
           0);
    /* A scalar divisor from the padding: a fault only if the result is used. */
    expect(3, THREADS("  %d = 7 / %e\n  st_global %d, %p[%t], %in\n"), 6, 0);
    expect(3, THREADS("  %d = 7 / %e\n  st_global %d, %p[%t]\n"), 6, 9);
    /* A division of uniform scalars: likewise. */
    cpu_fixture x;
    int32_t zeros[256] = {0};
    cpu_open(&x, 3, 0,
             THREADS("  %d = 7 / %v\n  %o = select(%v == 0, 1, %d)\n  st_global %o, %p[%t]\n"));
    cpu_pass(&x, zeros, sizeof zeros);
    cr_assert_eq(cpu_launch_text(&x), TILE_OK, "%s", x.text.messages);
    cpu_close(&x);
    cpu_open(&x, 3, 0, THREADS("  %d = 7 / %v\n  st_global %d, %p[%t]\n"));
    cpu_pass(&x, zeros, sizeof zeros);
    cpu_launch_text(&x);
    cr_assert(strncmp(x.text.messages, "8:", 2) == 0, "%s", x.text.messages);
    cpu_close(&x);
}

#define SHARED(index, body) \
    THREADS("  %s = alloc_shared : shared<i32[64]>\n  st_shared %e, %s[%t]\n  sync\n" \
            "  %l = ld_shared %s[" index "] : i32\n" body)

Test(poison, threads_go_through_shared_memory) {
    expect(3, SHARED("%t", "  st_global %l, %p[%t], %in\n"), 6, 0);
    expect(3, SHARED("31 - %t", "  st_global %l, %p[%t], %in\n"), 6, 12);
    expect(3, SHARED("31 - %t", "  st_global %l, %p[%t], %t >= 12\n"), 6, 0);
    expect(3,
           SHARED("%t", "  sync\n  st_shared %v, %s[%t]\n  %m = ld_shared %s[%t] : i32\n"
                        "  st_global %m, %p[%t]\n"),
           6, 0);
    expect(3,
           SHARED("%t", "  sync\n  cp_async %p[%t], %s[%t] {bytes = 4}\n  commit_group\n"
                        "  wait_group 0\n  %m = ld_shared %s[%t] : i32\n  st_global %m, %p[%t]\n"),
           6, 0);
}

/* Row 5 of the matrix is poison: lanes 20 to 23 hold it, elements 0, 1, 4 and 5 of lhs. */
#define MATRIX(use) \
    "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n  %t = thread_id\n" \
    "  %n = select(%t / 4 == 5, 0, 1)\n  %a = concat %n, 1 : vector<i32[2]>\n" \
    "  %q = div %a, %a : vector<i32[2]>\n  %f = cast %q : vector<f16[2]>\n" \
    "  %one = splat 1.0 : vector<f16[2]>\n  %l = concat %f, %one, %f, %one\n" \
    "  %r = concat %one, %one\n  %lhs = concat %r, %r\n  %rhs = concat %f, %one\n  %z = splat " \
    "0.0 : vector<f32[4]>\n" \
    "  %d = mma " use " : vector<f32[4]>\n  %i = cast %d : vector<i32[4]>\n"
#define FOR_ROWS(condition) "  st_global %i, %p[%t * 4], " condition "\n}\n"

Test(poison, products_of_fragments) {
    expect(3, MATRIX("%l, %r, %z") FOR_ROWS("%t / 4 == 5"), 5, 15);
    expect(3, MATRIX("%l, %r, %z") FOR_ROWS("%t / 4 != 5"), 5, 0);
    expect(3,
           MATRIX("%l, %r, %z") "  %x = extract %i, 2 : vector<i32[2]>\n"
                                "  st_global %x, %p[%t * 2]\n}\n",
           5, 0);
    /* As rhs, column 5 is poison: lanes 20 to 23 hold it there as well, but other lanes hold that
     * part of the sum. */
    expect(3, MATRIX("%lhs, %rhs, %z") FOR_ROWS("rem(%t, 4) == 2"), 5, 15);
    expect(3, MATRIX("%lhs, %rhs, %z") FOR_ROWS("rem(%t, 4) != 2"), 5, 0);
    expect(3, MATRIX("%lhs, %rhs, %z") "  %x = extract %i, 0 : i32\n  st_global %x, %p[%t]\n}\n", 5,
           0);
}

/* Shift counts that exceed the type's bits; in the padding they are harmless. */
#define SHIFTS(body) \
    "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n" \
    "  %g = view %p, [20] : view<i32[20]>\n  %w = view %p, [64] : view<i32[64]>\n" \
    "  %a = load %g[0] {pad = 40} : tile<i32[32]>\n  %q = shl %a, %a : tile<i32[32]>\n" body "}\n"

Test(poison, shifts_out_of_range) {
    expect_of("bits", 2, SHIFTS("  store %q, %g[0]\n"), 5, 0);
    expect_of("bits", 2, SHIFTS("  store %q, %w[0]\n"), 5, 6);
    expect_of("bits", 2, SHIFTS("  %r = ushr %a, %q\n  store %r, %g[0]\n"), 5, 0);
    expect_of("bits", 2, SHIFTS("  %m = and %a, 31\n  %r = shr %a, %m\n  store %r, %w[0]\n"), 5, 0);
    expect_of("bits", 2,
              SHIFTS("  %r = reduce %q {kind = add, axis = 0} : tile<i32[1]>\n"
                     "  store %r, %g[0]\n"),
              5, 7);
}
