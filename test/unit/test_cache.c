/* The cache without failures: artifacts, their builds, its size, tuned points. */
#include "test/unit/cache_fixture.h"

#include "test/unit/codegen_fixture.h"

Test(cache, finds_what_it_kept) {
    cache_fixture x;
    cache_open(&x);
    cr_expect_not(cache_has(&x, 1));
    cr_expect(cache_keep(&x, 1, 100000));
    cr_expect(cache_keep(&x, 2, 10));
    cr_expect(cache_has(&x, 1));
    cr_expect_not(cache_has(&x, 3));
    cache_reopen(&x, NULL);
    cr_expect(cache_has(&x, 1));
    cr_expect(cache_has(&x, 2));
    const tile_cache_statistics s = tile_cache_get_statistics(x.cache);
    cr_expect(s.usable);
    cr_expect(s.hits == 2 && s.misses == 0 && s.artifacts == 2 && s.points == 0);
    cr_expect(s.bytes > 100000 && s.bytes < 200000 && s.max_bytes == 1 << 30);
    cr_expect_str_eq(x.messages, "");
    cache_close(&x);
}

Test(cache, makes_its_folder) {
    cache_fixture x;
    cache_begin(&x);
    strcat(x.folder, "/a/b");
    cache_reopen(&x, NULL);
    cr_expect(cache_keep(&x, 1, 10) && cache_has(&x, 1));
    x.folder[strlen(x.folder) - 4] = 0;
    cache_close(&x);
}

Test(cache, needs_a_context_and_a_folder) {
    cache_fixture x;
    tile_cache *cache;
    cache_begin(&x);
    cr_expect_eq(tile_cache_create(x.context, "", NULL, &cache), TILE_INVALID);
    cr_expect(!cache && strstr(x.messages, "a cache needs a folder"), "%s", x.messages);
    cr_expect_eq(x.errors--, 1);
    cache_reopen(&x, NULL);
    tile_tuned_point point;
    const tile_point_key key = {.kernel = NULL};
    tile_artifact_key short_key = {"0123"};
    tile_artifact *artifact = tile_artifact_create(x.context);
    cr_expect_null(tile_cache_find_artifact(x.cache, NULL));
    cr_expect_not(tile_cache_keep_artifact(x.cache, NULL, artifact));
    cr_expect_not(tile_cache_keep_artifact(x.cache, &short_key, artifact));
    cr_expect_not(tile_cache_keep_artifact(x.cache, &short_key, NULL));
    cr_expect_not(tile_cache_find_point(x.cache, NULL, &point));
    cr_expect_not(tile_cache_find_point(x.cache, &key, &point));
    cr_expect_not(tile_cache_keep_point(x.cache, &key, NULL));
    cr_expect_not(tile_cache_keep_point(x.cache, NULL, &point));
    tile_cache_list_points(x.cache, NULL, NULL);
    tile_artifact_destroy(artifact);
    cache_close(&x);
}

/* Builds -------------------------------------------------------------------------------------- */

static const char kernel[] = "kernel @k(%n: i32, %p: ptr<f32> {divisible = 16})\n"
                             "    grid [ceildiv(%n, 64)]  warps 2\n"
                             "{\n"
                             "  %g = view %p, [%n] : view<f32[?]>\n"
                             "  %x, %y, %z = block_id : i32\n"
                             "  %t = load %g[%x * 64] : tile<f32[64]>\n"
                             "  store %t, %g[%x * 64]\n"
                             "}\n";

typedef struct builds {
    char stages[512];
    const cache_fixture *cache;
} builds;

/* Locks the whole file during a build, which must be possible without waiting. */
static void note_stage(const char *stage, double seconds, void *user) {
    builds *b = user;
    (void)seconds;
    strcat(strcat(b->stages, stage), " ");
    if (strcmp(stage, "llvm-ptx") == 0) cache_do(b->cache, "BEGIN EXCLUSIVE");
}

static void write_text(const char *text, size_t length, void *user) {
    strncat(user, text, length);
}

/* Builds the kernel of a text with the cache; stores the serialized artifact in `bytes`. */
static tile_status build(cache_fixture *x, const char *text, builds *b, char bytes[65536]) {
    codegen_fixture k;
    tile_artifact *artifact;
    *b = (builds){.cache = x};
    codegen_open(&k, text);
    tile_cache *cache;
    cr_assert_eq(tile_cache_create(k.context, x->folder, NULL, &cache), TILE_OK);
    const tile_build_options options = {.size = sizeof options,
                                        .target = tile_target_find("sm_80"),
                                        .wants = TILE_WANT_PTX,
                                        .timing = note_stage,
                                        .report_user = b,
                                        .cache = cache};
    tile_status status = tile_artifact_build(k.module, "k", &options, &artifact);
    bytes[0] = 0;
    tile_artifact_write(artifact, write_text, bytes);
    snprintf(x->messages, sizeof x->messages, "%s", k.messages);
    tile_artifact_destroy(artifact);
    tile_cache_destroy(cache);
    codegen_close(&k);
    return status;
}

Test(cache, a_second_build_is_found) {
    static char made[65536], found[65536];
    cache_fixture x;
    builds b;
    cache_begin(&x);
    cr_expect_eq(build(&x, kernel, &b, made), TILE_OK);
    cr_expect(strncmp(b.stages, "cache-find ", 11) == 0, "%s", b.stages);
    cr_expect(strstr(b.stages, "llvm-ptx cache-keep "), "%s", b.stages);
    cr_expect_eq(build(&x, kernel, &b, found), TILE_OK);
    cr_expect_str_eq(b.stages, "cache-find ");
    cr_expect(strstr(made, ".entry k("));
    cr_expect_str_eq(made, found);
    cache_close(&x);
}

Test(cache, what_fails_is_not_kept) {
    static char made[65536];
    static const char dirty[] = "kernel @k() grid [1] warps 2 {\n"
                                "  %s = alloc_shared : shared<f32[65536]>\n"
                                "  %t = splat 0.0 : tile<f32[65536]>\n  store_shared %t, %s\n}\n";
    cache_fixture x;
    builds b;
    cache_begin(&x);
    for (unsigned i = 0; i < 2; i++) {
        cr_expect_neq(build(&x, dirty, &b, made), TILE_OK);
        cr_expect_str_neq(x.messages, "");
    }
    cache_close(&x);
}

Test(cache, a_hit_says_what_the_build_said) {
    static char made[65536];
    static const char remark[] =
        "kernel @k(%n: i32, %a: ptr<f32>, %b: ptr<f32>, %c: ptr<f32>) grid [1] warps 4 {\n"
        "  %ga = view %a, [%n, 32] : view<f32[?, 32]>\n"
        "  %gb = view %b, [32, 64] : view<f32[32, 64]>\n"
        "  %gc = view %c, [%n, 64] : view<f32[?, 64]>\n"
        "  %ta = load %ga[0, 0] : tile<f32[64, 32]>\n"
        "  %tb = load %gb[0, 0] : tile<f32[32, 64]>\n"
        "  %z = splat 0.0 : tile<f32[64, 64]>\n"
        "  %d = dot %ta, %tb, %z : tile<f32[64, 64]>\n"
        "  store %d, %gc[0, 0]\n}\n";
    char first[8192];
    cache_fixture x;
    builds b;
    cache_begin(&x);
    cr_expect_eq(build(&x, remark, &b, made), TILE_OK, "%s", x.messages);
    strcpy(first, x.messages);
    cr_expect_eq(build(&x, remark, &b, made), TILE_OK);
    cr_expect_str_eq(b.stages, "cache-find ");
    cr_expect_str_neq(first, "", "choose a kernel with a remark");
    cr_expect_str_eq(x.messages, first);
    cache_close(&x);
}

/* Size ---------------------------------------------------------------------------------------- */

static int64_t clock_seconds = 1000000;

static int64_t test_clock(void) {
    return clock_seconds;
}

static void open_small(cache_fixture *x, uint64_t max_bytes) {
    const tile_cache_options options = {.size = sizeof options, .max_bytes = max_bytes};
    cache_begin(x);
    x->cache = tile_cache_open(x->context, x->folder, &options, NULL);
    x->cache->now = test_clock;
}

Test(cache, the_least_recently_used_goes) {
    cache_fixture x;
    unsigned found = 0;
    open_small(&x, 1000000);
    for (unsigned i = 0; i < 100; i++, clock_seconds += 1000) {
        cr_expect(cache_keep(&x, i, 40000));
        cr_expect(cache_has(&x, 0), "artifact 0 is used all the time, and gone at %u", i);
        cr_expect_leq(tile_cache_get_statistics(x.cache).bytes, 1000000);
    }
    for (unsigned i = 99; i > 80; i--) cr_expect(cache_has(&x, i), "%u is new", i);
    for (unsigned i = 0; i < 100; i++) found += cache_has(&x, i);
    cr_expect(found >= 20 && found <= 25, "%u", found);
    cr_expect_not(cache_keep(&x, 100, 600000), "it would fill the cache alone");
    cache_is_sound(&x);
    cache_close(&x);
}

Test(cache, a_hit_seldom_writes) {
    cache_fixture x;
    char before[64], after[64];
    open_small(&x, 0);
    cr_expect(cache_keep(&x, 1, 10));
    cr_expect_eq(cache_ask(&x, "SELECT used FROM artifact", before), SQLITE_ROW);
    clock_seconds += 599;
    cr_expect(cache_has(&x, 1));
    cr_expect_eq(cache_ask(&x, "SELECT used FROM artifact", after), SQLITE_ROW);
    cr_expect_str_eq(after, before);
    clock_seconds += 1;
    cr_expect(cache_has(&x, 1));
    cr_expect_eq(cache_ask(&x, "SELECT used FROM artifact", after), SQLITE_ROW);
    cr_expect_str_neq(after, before);
    clock_seconds -= 100000; /* the host's clock was set back */
    cr_expect(cache_has(&x, 1));
    cache_close(&x);
}

static const tile_point_key a_key = {.kernel = "kernel @k ...",
                                     .bucket = "m 4 n 12",
                                     .sizes = "m 4 n 11",
                                     .device = "NVIDIA H200",
                                     .sm_count = 132,
                                     .memory_clock = 3201000,
                                     .power_limit = 700000};
static const tile_tuned_point a_point = {
    .kernel_name = "k", .bindings = "block_m=128 stages=3", .seconds = 1.75e-5, .driver = "580.65"};

Test(cache, clearing_and_trimming) {
    cache_fixture x;
    open_small(&x, 0);
    for (unsigned i = 0; i < 600; i++, clock_seconds++) cache_keep(&x, i, 5000);
    cr_expect(tile_cache_keep_point(x.cache, &a_key, &a_point));
    cr_expect_eq(tile_cache_trim(x.cache, 1000000), TILE_OK);
    tile_cache_statistics s = tile_cache_get_statistics(x.cache);
    cr_expect(s.artifacts > 100 && s.artifacts < 200 && s.bytes <= 1000000 && s.points == 1);
    cr_expect(cache_has(&x, 599) && !cache_has(&x, 0));
    struct stat file;
    cr_expect(stat(x.file, &file) == 0 && file.st_size <= 1000000, "the file has shrunk");
    cr_expect_eq(tile_cache_clear(x.cache, TILE_CACHE_ARTIFACTS), TILE_OK);
    s = tile_cache_get_statistics(x.cache);
    cr_expect(s.artifacts == 0 && s.points == 1);
    cr_expect_eq(tile_cache_clear(x.cache, TILE_CACHE_POINTS), TILE_OK);
    cr_expect_eq(tile_cache_get_statistics(x.cache).points, 0);
    cr_expect(cache_keep(&x, 7, 10) && cache_has(&x, 7));
    cache_is_sound(&x);
    cache_close(&x);
}

/* Tuned points -------------------------------------------------------------------------------- */

static void count_point(const tile_point_key *key, const tile_tuned_point *point, void *user) {
    unsigned *counts = user;
    counts[0]++;
    counts[1] += point->stale;
    cr_expect_str_eq(key->device, "NVIDIA H200");
    cr_expect_eq(strlen(key->kernel), 32);
    cr_expect_str_eq(point->kernel_name, "k");
}

Test(cache, points) {
    cache_fixture x;
    tile_tuned_point found;
    unsigned counts[2] = {0, 0};
    open_small(&x, 0);
    cr_expect_not(tile_cache_find_point(x.cache, &a_key, &found));
    cr_expect(tile_cache_keep_point(x.cache, &a_key, &a_point));
    cr_assert(tile_cache_find_point(x.cache, &a_key, &found));
    cr_expect_str_eq(found.kernel_name, "k");
    cr_expect_str_eq(found.bindings, a_point.bindings);
    cr_expect_eq(found.seconds, 1.75e-5);
    cr_expect_str_eq(found.driver, "580.65");
    cr_expect_eq(strncmp(found.compiler, "tile ", 5), 0, "%s", found.compiler);
    cr_expect(!found.stale && found.tuned == clock_seconds);
    tile_point_key other[7];
    for (unsigned i = 0; i < 7; i++) other[i] = a_key;
    other[0].kernel = "kernel @k ....";
    other[1].bucket = NULL;
    other[2].sizes = "m 4 n 12";
    other[3].device = "NVIDIA H100";
    other[4].sm_count = 114;
    other[5].memory_clock++;
    other[6].power_limit--;
    for (unsigned i = 0; i < 7; i++)
        cr_expect_not(tile_cache_find_point(x.cache, &other[i], &found), "%u", i);
    cr_expect(tile_cache_keep_point(x.cache, &other[1], &a_point));
    cr_expect(tile_cache_find_point(x.cache, &other[1], &found));
    tile_cache_list_points(x.cache, count_point, counts);
    cr_expect(counts[0] == 2 && counts[1] == 0);
    /* For the whole bucket, whatever the sizes. */
    cr_expect(tile_cache_keep_point(x.cache, &other[2], &a_point));
    for (unsigned i = 0; i < 7; i++) {
        counts[0] = 0;
        tile_cache_list_bucket(x.cache, &other[i], count_point, counts);
        cr_expect_eq(counts[0], i == 2 || i == 6 ? 2 : i == 1, "%u", i);
    }
    cache_close(&x);
}

/* A point from another compiler version is found and reported as stale, until it is tuned again. */
Test(cache, stale_points) {
    cache_fixture x;
    tile_tuned_point found, better = a_point;
    unsigned counts[2] = {0, 0};
    open_small(&x, 0);
    cr_expect(tile_cache_keep_point(x.cache, &a_key, &a_point));
    x.cache->compiler = "tile 0.9.0, LLVM 21.1.0, build 12345";
    cr_assert(tile_cache_find_point(x.cache, &a_key, &found));
    cr_expect(found.stale);
    cr_expect_str_eq(found.bindings, a_point.bindings);
    tile_cache_list_points(x.cache, count_point, counts);
    cr_expect(counts[0] == 1 && counts[1] == 1);
    better.bindings = "block_m=64 stages=4";
    cr_expect(tile_cache_keep_point(x.cache, &a_key, &better));
    cr_assert(tile_cache_find_point(x.cache, &a_key, &found));
    cr_expect(!found.stale);
    cr_expect_str_eq(found.compiler, "tile 0.9.0, LLVM 21.1.0, build 12345");
    cr_expect_str_eq(found.bindings, better.bindings);
    cr_expect_eq(tile_cache_get_statistics(x.cache).points, 1);
    cache_close(&x);
}

Test(cache, damaged_points_are_not_found) {
    static const char *const changes[] = {
        "bindings = 'block_m=1'", "seconds = 1.7e-5", "driver = ''",
        "sm_count = 133",         "bucket = 'm 4'",   "kernel = 'x'"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        cache_fixture x;
        char sql[128];
        tile_tuned_point found;
        tile_point_key key = a_key;
        unsigned counts[2] = {0, 0};
        open_small(&x, 0);
        cr_expect(tile_cache_keep_point(x.cache, &a_key, &a_point));
        snprintf(sql, sizeof sql, "UPDATE point SET %s", changes[i]);
        cache_do(&x, sql);
        if (i == 3) key.sm_count = 133;
        if (i == 4) key.bucket = "m 4";
        cr_expect_not(tile_cache_find_point(x.cache, &key, &found), "%s", changes[i]);
        tile_cache_list_points(x.cache, count_point, counts);
        cr_expect_eq(counts[0], 0, "%s", changes[i]);
        cache_close(&x);
    }
}
