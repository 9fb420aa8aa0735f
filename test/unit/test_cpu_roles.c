/* Roles on the CPU device: separate agents at level 2, warps at level 3. */
#include "test/unit/cpu_fixture.h"

/* Runs a kernel on one buffer of i32, in natural order and in others. words NULL: it must end
 * normally with memory[i] = values[i]; else the first message begins with `at` and some message
 * contains both words. */
typedef struct role_case {
    const char *kernel;
    const char *at, *words, *more;
    int32_t values[4];
} role_case;

static void check(unsigned level, uint64_t seed, const role_case *c) {
    cpu_fixture x;
    int32_t memory[1024] = {0};
    cpu_open(&x, level, seed, c->kernel);
    cpu_pass(&x, memory, sizeof memory);
    tile_status status = cpu_launch_text(&x);
    const char *messages = x.text.messages;
    if (c->words) {
        cr_assert_eq(status, TILE_FAULT, "level %u: not found: %s (%s)", level, c->words, messages);
        cr_assert_eq(strncmp(messages, c->at, strlen(c->at)), 0, "%s in: %s", c->at, messages);
        cr_assert(strstr(messages, c->words), "level %u: %s in: %s", level, c->words, messages);
        cr_assert(strstr(messages, c->more), "level %u: %s in: %s", level, c->more, messages);
        cr_assert_eq(x.text.errors, 1, "%s", messages);
    } else {
        cr_assert_eq(status, TILE_OK, "level %u: %s", level, messages);
        cpu_get(&x, 0, memory, sizeof memory);
        for (unsigned i = 0; i < 4; i++)
            cr_assert_eq(memory[i], c->values[i], "level %u: [%u] is %d", level, i, memory[i]);
    }
    cpu_close(&x);
}

static void expect(unsigned level, role_case c) {
    for (uint64_t seed = 0; seed < 4; seed++) check(level, seed, &c);
}

/* Level 2; the body begins on line 6. %s is a buffer of four stages, %g is memory, %one a tile of
 * ones. */
#define TILES(clauses, body) \
    "kernel @k(%p: ptr<i32>) grid [1] warps 8 " clauses " {\n" \
    "  %g = view %p, [1024] : view<i32[1024]>\n" \
    "  %s = alloc_shared : shared<i32[4][32]>\n" \
    "  %zero = splat 0 : tile<i32[32]>\n" \
    "  store_shared %zero, %s[3] sync\n" body "}\n"
#define ONE "%one = splat 1 : tile<i32[32]> "

/* Level 3; the body begins on line 3. */
#define THREADS(warps, body) \
    "kernel @k(%p: ptr<i32>) grid [1] warps " #warps " {\n" \
    "  %s = alloc_shared : shared<i32[256]>\n" body "}\n"

Test(cpu_roles, numbers_are_the_groups) {
    expect(3, (role_case){THREADS(8, "  roles {\n    warps 1 { }\n    warps 3 groups 2 as %g {\n"
                                     "      %t = thread_id\n      if %t == 95 {\n"
                                     "        %v = %t + %g\n        st_global %v, %p[%g] } }\n"
                                     "    warps 1 as %h {\n      %t = thread_id\n"
                                     "      st_global %t, %p[2] }\n  }\n"
                                     "  %u = thread_id\n  if %u == 255 { st_global %u, %p[3] }\n"),
                          .values = {95, 96, 31, 255}});
    expect(2, (role_case){TILES("", "  roles {\n    warps 2 groups 3 as %i {\n"
                                    "      %v = splat %i : tile<i32[1]> store %v, %g[%i] }\n"
                                    "    warps 1 groups 2 as %i {\n      %j = 3\n"
                                    "      if %i == 1 { %v = splat %j : tile<i32[1]>\n"
                                    "        store %v, %g[%i + 2] } }\n  }\n"),
                          .values = {0, 1, 2, 3}});
}

/* Each group that allocates a buffer has a separate one, although the code is the same. */
Test(cpu_roles, buffers_of_groups) {
    static const char tiles[] = TILES(
        "", "  roles {\n    warps 4 groups 2 as %i {\n      %b = alloc_shared : shared<i32[2]>\n"
            "      %v = splat %i + 5 : tile<i32[2]>\n      store_shared %v, %b\n"
            "      %w = load_shared %b : tile<i32[2]>\n      store %w, %g[%i * 2] }\n  }\n");
    expect(2, (role_case){tiles, .values = {5, 5, 6, 6}});
    static const char threads[] =
        THREADS(4, "  roles {\n    warps 2 groups 2 as %i {\n      %t = thread_id\n"
                   "      %b = alloc_shared {offset = 1024} : shared<i32[64]>\n"
                   "      %v = %i + 5\n      st_shared %v, %b[%t]\n      sync\n"
                   "      %w = ld_shared %b[63 - %t] : i32\n      %at = %i * 2 + %t\n"
                   "      %first = %t < 2\n      st_global %w, %p[%at], %first }\n  }\n");
    expect(3, (role_case){threads, .values = {5, 5, 6, 6}});
}

/* The ends of roles do not order accesses of different roles; the block's barrier does. */
Test(cpu_roles, order_between_roles) {
#define HANDOVER(first, second) \
    TILES("sync explicit", \
          "  roles {\n    warps 4 { " ONE "store_shared %one, %s[0]\n" first \
          "    }\n    warps 4 {\n" second "      %t = load_shared %s[0] : tile<i32[32]>\n" \
          "      store %t, %g[0] }\n  }\n")
    role_case fine = {HANDOVER("      sync_arrive 1, 8\n", "      sync 1, 8\n"),
                      .values = {1, 1, 1, 1}};
    expect(2, fine);
    expect(2, (role_case){HANDOVER("", ""), "", "", "", {0}});
    expect(2, (role_case){HANDOVER("      sync 1, 4\n", "      sync 2, 4\n"), "", "", "", {0}});
    static const char written[] =
        TILES("", "  roles {\n    warps 4 { " ONE "store_shared %one, %s[3]\n    }\n"
                  "    warps 4 {\n      %t = load_shared %s[3] : tile<i32[32]>\n    }\n  }\n");
    expect(2, (role_case){written, "", "data race: ", "note: the other access: ", {0}});
    static const char groups[] = TILES("", "  roles {\n    warps 4 groups 2 { " ONE
                                           "store_shared %one, %s[3]\n      sync\n    }\n"
                                           "  }\n");
    expect(2, (role_case){groups,
                          "7:55:",
                          "data race: write without a barrier after another write",
                          "7:55: note: the other access: store_shared, by warps ",
                          {0}});
}

/* The compiler orders accesses before and after the roles, unless the region is explicitly
 * synchronized. */
Test(cpu_roles, order_around_roles) {
#define AROUND(clauses, before, after) \
    TILES(clauses, "  " ONE "store_shared %one, %s[0]\n" before \
                   "  roles {\n    warps 8 { %t = load_shared %s[0] : tile<i32[32]>\n" \
                   "      store_shared %t, %s[1] }\n  }\n" after \
                   "  %t = load_shared %s[1] : tile<i32[32]>\n  store %t, %g[0]\n")
    expect(2, (role_case){AROUND("", "", ""), .values = {1, 1, 1, 1}});
    expect(2, (role_case){AROUND("sync explicit", "  sync\n", "  sync\n"), .values = {1, 1, 1, 1}});
    expect(2, (role_case){AROUND("sync explicit", "", "  sync\n"),
                          "8:20:",
                          "data race: read without a barrier after a write, at byte 0",
                          "6:34: note: the other access: store_shared, by the block",
                          {0}});
    expect(2, (role_case){AROUND("sync explicit", "  sync\n", ""),
                          "12:8:",
                          "data race: read without a barrier after a write, at byte 128",
                          "10:7: note: the other access: store_shared, by warps 0 to 7",
                          {0}});
}

Test(cpu_roles, meetings) {
    static const char all[] = TILES(
        "sync explicit",
        "  roles {\n    warps 4 groups 2 as %i {\n      %v = splat %i + 7 : tile<i32[32]>\n"
        "      store_shared %v, %s[%i]\n      sync all\n"
        "      %t = load_shared %s[1 - %i] : tile<i32[32]>\n      store %t, %g[%i * 32] }\n  }\n");
    expect(2, (role_case){all, .values = {8, 8, 8, 8}});
    static const char own[] =
        TILES("sync explicit",
              "  roles {\n    warps 4 groups 2 as %i {\n      %v = splat %i + 7 : tile<i32[32]>\n"
              "      store_shared %v, %s[%i]\n      sync\n"
              "      %t = load_shared %s[1 - %i] : tile<i32[32]> }\n  }\n");
    expect(2, (role_case){own, "", "", "", {0}});
}

/* Roles in a loop: the compiler orders accesses to the groups' own memory between iterations. */
Test(cpu_roles, again_and_again) {
    static const char loop[] =
        TILES("", "  for %i = 0 to 5 step 1 {\n    roles {\n      warps 4 {\n"
                  "        %t = load_shared %s[3] : tile<i32[32]>\n"
                  "        store_shared %t + 2, %s[3] }\n      warps 4 { }\n    }\n  }\n"
                  "  %t = load_shared %s[3] : tile<i32[32]>\n  store %t, %g[0]\n");
    expect(2, (role_case){loop, .values = {10, 10, 10, 10}});
}

/* The block must wait for copies that a role has in flight. */
Test(cpu_roles, copies_in_flight) {
#define FLIGHT(wait) \
    TILES("", "  roles {\n    warps 4 {\n      copy_async %g[0], %s[0]\n      commit_group }\n" \
              "    warps 4 { " ONE "store_shared %one, %s[1] }\n  }\n" wait \
              "  %t = load_shared %s[0] : tile<i32[32]>\n  store %t + 1, %g[0]\n")
    expect(2, (role_case){FLIGHT("  wait_group 0\n"), .values = {1, 1, 1, 1}});
    expect(2, (role_case){
                  FLIGHT(""), "12:8:", "read while an asynchronous copy is in flight", "", {0}});
    static const char others[] =
        TILES("", "  copy_async %g[0], %s[0]\n  commit_group\n  roles {\n    warps 4 {\n"
                  "      wait_group 0\n      %t = load_shared %s[0] : tile<i32[32]> }\n"
                  "    warps 4 { }\n  }\n");
    expect(2,
           (role_case){others, "11:12:", "read while an asynchronous copy is in flight", "", {0}});
}

Test(cpu_roles, deadlocks) {
    static const char crossed[] =
        TILES("", "  roles {\n    warps 4 {\n      sync 1, 8\n      sync 2, 8 }\n"
                  "    warps 4 {\n      sync 2, 8\n      sync 1, 8 }\n  }\n");
    expect(2, (role_case){crossed,
                          "8:7:",
                          "deadlock: 4 of 8 warps have arrived at barrier 1",
                          "11:7: note: warps 4 to 7 wait here for barrier 2",
                          {0}});
    static const char missing[] =
        TILES("", "  roles {\n    warps 4 {\n      sync 1, 8 }\n    warps 4 { }\n  }\n");
    expect(2, (role_case){missing,
                          "8:7:",
                          "deadlock: 4 of 8 warps have arrived at barrier 1",
                          ", in block (0, 0, 0), warps 0 to 3",
                          {0}});
    static const char counts[] =
        TILES("", "  roles {\n    warps 4 {\n      sync 1, 8 }\n    warps 4 {\n      sync 1, 6 }\n"
                  "  }\n");
    expect(2, (role_case){counts,
                          "",
                          "arrives at barrier 1 for another number of warps: 4 of ",
                          "note: the first one arrived here",
                          {0}});
    static const char twice[] =
        TILES("", "  roles {\n    warps 4 {\n      sync_arrive 1, 8\n      sync_arrive 1, 8 }\n"
                  "    warps 4 { }\n  }\n");
    expect(2, (role_case){twice, "9:7:", "arrives at barrier 1 again: 4 of 8", "8:7: note:", {0}});
    static const char many[] =
        TILES("", "  roles {\n    warps 3 { sync_arrive 1, 5 }\n    warps 5 { sync 1, 5 }\n  }\n");
    expect(2,
           (role_case){many, "", "with too many warps: ", "note: the first one arrived here", {0}});
}

/* Arrivals that are left at the end were meant for a waiting thread. */
Test(cpu_roles, arrivals_that_nobody_waits_for) {
    static const char left[] =
        TILES("", "  roles {\n    warps 4 {\n      sync_arrive 1, 8 }\n    warps 4 { }\n  }\n");
    expect(2,
           (role_case){left,
                       "8:7:",
                       "the block ends, and barrier 1 is not complete: 4 of 8 warps have arrived",
                       ", in block (0, 0, 0), warps 0 to 3",
                       {0}});
    expect(3,
           (role_case){THREADS(4, "  roles {\n    warps 2 {\n      sync_arrive 3, 4 }\n"
                                  "    warps 2 { }\n  }\n"),
                       "5:7:",
                       "the block ends, and barrier 3 is not complete: 2 of 4 warps have arrived",
                       "",
                       {0}});
}

/* The same faults with warps. */
Test(cpu_roles, threads) {
    static const char fine[] = THREADS(
        4, "  roles {\n    warps 2 {\n      %t = thread_id\n      st_shared %t, %s[%t]\n"
           "      sync_arrive 1, 4 }\n    warps 2 {\n      %t = thread_id\n      sync 1, 4\n"
           "      %v = ld_shared %s[63 - %t] : i32\n      st_global %v, %p[%t] }\n  }\n");
    expect(3, (role_case){fine, .values = {63, 62, 61, 60}});
    static const char race[] = THREADS(
        4, "  roles {\n    warps 2 {\n      %t = thread_id\n      st_shared %t, %s[%t]\n"
           "      sync }\n    warps 2 {\n      %t = thread_id\n      %v = %t + 1\n      sync\n"
           "      st_shared %v, %s[63 - %t] }\n  }\n");
    expect(3, (role_case){race,
                          "",
                          "data race: write without a barrier after another write",
                          "note: the other access: st_shared, by warp ",
                          {0}});
    static const char crossed[] =
        THREADS(3, "  roles {\n    warps 1 {\n      sync 1, 3\n      sync 2, 3 }\n"
                   "    warps 2 {\n      sync 2, 3\n      sync 1, 3 }\n  }\n");
    expect(3, (role_case){crossed,
                          "5:7:",
                          "deadlock: 1 of 3 warps have arrived at barrier 1",
                          "8:7: note: warp 1 waits here for barrier 2, where 2 of 3 warps",
                          {0}});
    static const char divergent[] =
        THREADS(2, "  %t = thread_id\n  %u = uniform %t\n  %some = %u < 3\n"
                   "  if %some { roles { warps 2 { } } }\n");
    expect(3, (role_case){divergent, "4:", "uniform", "", {0}});
}

/* `uniform` requires equal values within each group. */
Test(cpu_roles, uniform_in_groups) {
    static const char groups[] = THREADS(
        4,
        "  roles {\n    warps 2 groups 2 as %i {\n      %t = thread_id\n      %v = %t / 64 + %i\n"
        "      %u = uniform %v\n      %first = %t == 0\n      st_global %u, %p[%i], %first }\n"
        "  }\n");
    expect(3, (role_case){groups, .values = {0, 1, 0, 0}});
}
