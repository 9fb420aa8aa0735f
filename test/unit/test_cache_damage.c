/* The cache on a file that is damaged, of another format, or of another program. Invalid entries
 * are not found, and the file becomes usable again or is left alone. */
#include "test/unit/cache_fixture.h"

enum { KEPT = 8 };

static char *image; /* of a valid file */
static size_t image_size;

static void make_image(cache_fixture *x) {
    cache_open(x);
    for (unsigned i = 0; i < KEPT; i++) cr_assert(cache_keep(x, i, i * 3000 + 10));
    tile_cache_destroy(x->cache);
    x->cache = NULL;
    FILE *file = fopen(x->file, "rb");
    image = malloc(1 << 20);
    image_size = fread(image, 1, 1 << 20, file);
    fclose(file);
}

static void write_file(const cache_fixture *x, const char *data, size_t size) {
    FILE *file = fopen(x->file, "wb");
    cr_assert_eq(fwrite(data, 1, size, file), size);
    fclose(file);
}

/* Uses the file in its current state. Returns how many of the artifacts were found. */
static unsigned use_file(cache_fixture *x, bool *usable) {
    unsigned found = 0;
    cache_reopen(x, NULL);
    for (unsigned i = 0; i < KEPT; i++) found += cache_has(x, i);
    for (unsigned i = 0; i < KEPT; i++) cache_keep(x, i, i * 3000 + 10);
    *usable = tile_cache_get_statistics(x->cache).usable; /* reads more of the file */
    if (*usable) {
        for (unsigned i = 0; i < KEPT; i++)
            cr_expect(cache_has(x, i) || cache_keep(x, i, i * 3000 + 10), "%u", i);
        for (unsigned i = 0; i < KEPT; i++) cr_expect(cache_has(x, i), "%u: %s", i, x->messages);
        tile_cache_destroy(x->cache);
        x->cache = NULL;
    }
    return found;
}

Test(cache_damage, a_truncated_file) {
    cache_fixture x;
    bool usable;
    make_image(&x);
    for (size_t size = 0; size < image_size; size += size < 128 ? 9 : 1531) {
        write_file(&x, image, size);
        cr_expect_lt(use_file(&x, &usable), KEPT, "%zu bytes", size);
        cr_expect(usable, "%zu bytes: %s", size, x.messages);
        cache_is_sound(&x);
    }
    free(image);
    cache_close(&x);
}

Test(cache_damage, a_file_of_garbage) {
    cache_fixture x;
    bool usable;
    make_image(&x);
    for (unsigned seed = 1; seed < 20; seed++) {
        srand(seed);
        size_t size = (size_t)rand() % 50000 + 1;
        for (size_t i = 0; i < size; i++) image[i] = (char)rand();
        write_file(&x, image, size);
        cr_expect_eq(use_file(&x, &usable), 0);
        cr_expect(usable, "%s", x.messages);
        cr_expect(strstr(x.messages, "; it is created again\n"), "%s", x.messages);
        cache_is_sound(&x);
    }
    free(image);
    cache_close(&x);
}

/* If the table of artifacts is damaged, only artifacts are lost. */
Test(cache_damage, points_stay) {
    static const tile_point_key key = {.kernel = "kernel @k", .device = "NVIDIA H200"};
    static const tile_tuned_point point = {.bindings = "b=64", .seconds = 1e-5};
    cache_fixture x;
    char page[64];
    tile_tuned_point found;
    cache_open(&x);
    for (unsigned i = 0; i < KEPT; i++) cr_assert(cache_keep(&x, i, 3000));
    cr_assert(tile_cache_keep_point(x.cache, &key, &point));
    cr_assert_eq(cache_ask(&x, "SELECT rootpage FROM sqlite_master WHERE name = 'artifact'", page),
                 SQLITE_ROW);
    FILE *file = fopen(x.file, "r+b");
    fseek(file, (strtol(page, NULL, 10) - 1) * 4096, SEEK_SET);
    for (unsigned i = 0; i < 4096; i++) fputc(i % 251, file);
    fclose(file);
    cache_reopen(&x, NULL);
    cr_expect_not(cache_has(&x, 0));
    cr_expect(strstr(x.messages, "; it is created again\n"), "%s", x.messages);
    cr_assert(tile_cache_find_point(x.cache, &key, &found));
    cr_expect_str_eq(found.bindings, "b=64");
    cr_expect(cache_keep(&x, 0, 10) && cache_has(&x, 0));
    cache_is_sound(&x);
    cache_close(&x);
}

/* Overwrites bytes of the file, at a hundred positions at once and at one. */
Test(cache_damage, a_damaged_file) {
    cache_fixture x;
    unsigned found = 0, usable_files = 0, files = 0;
    make_image(&x);
    char *copy = malloc(image_size);
    for (unsigned seed = 1; seed < 150; seed++) {
        bool usable;
        srand(seed);
        memcpy(copy, image, image_size);
        for (unsigned i = seed % 3 ? 1 : 100; i; i--)
            copy[(size_t)rand() % (seed % 2 ? image_size : 8192)] = (char)rand();
        write_file(&x, copy, image_size);
        found += use_file(&x, &usable);
        usable_files += usable;
        files++;
    }
    /* Files that are left alone have a header of another program or of a newer format. */
    cr_expect_gt(usable_files, files * 9 / 10);
    cr_expect(found > files && found < KEPT * files, "%u found in %u files", found, files);
    free(copy);
    free(image);
    cache_close(&x);
}

/* Entries that are valid for SQLite but not for the cache. */
Test(cache_damage, an_entry_that_does_not_fit) {
    static const char *const changes[] = {
        "UPDATE artifact SET data = substr(data, 1, 200)",
        "UPDATE artifact SET data = x''",
        "UPDATE artifact SET data = NULL",
        "UPDATE artifact SET data = 'text'",
        "UPDATE artifact SET data = zeroblob(length(data))",
        "UPDATE artifact SET digest = 'x'",
        "UPDATE artifact SET digest = 17",
        /* The data of the other artifact, as a damaged index would return it. */
        ("UPDATE artifact SET (data, digest) = (SELECT data, digest FROM artifact o WHERE o.id <> "
         "artifact.id)"),
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        cache_fixture x;
        char answer[64];
        cache_open(&x);
        cr_expect(cache_keep(&x, 1, 500) && cache_keep(&x, 2, 500));
        if (cache_ask(&x, changes[i], answer) == SQLITE_CONSTRAINT) {
            cache_close(&x);
            continue;
        }
        cr_expect_not(cache_has(&x, 1), "%s", changes[i]);
        cr_expect(strstr(x.messages, "is damaged and is created again"), "%s: %s", changes[i],
                  x.messages);
        cr_expect_eq(tile_cache_get_statistics(x.cache).artifacts, 1);
        cr_expect(cache_keep(&x, 1, 500) && cache_has(&x, 1));
        cache_close(&x);
    }
}

/* Formats ------------------------------------------------------------------------------------- */

Test(cache_damage, files_that_are_not_ours_stay_as_they_are) {
    static const char *const made[] = {"PRAGMA user_version = 5", "PRAGMA application_id = 77",
                                       "PRAGMA application_id = 0"};
    static const char *const said[] = {
        "a newer version of Tile made it; continuing without the cache",
        "it is the database of another program", "it is the database of another program"};
    for (unsigned i = 0; i < 3; i++) {
        cache_fixture x;
        char answer[64];
        cache_open(&x);
        cr_expect(cache_keep(&x, 1, 10));
        cache_do(&x, made[i]);
        cache_reopen(&x, NULL);
        cr_expect(!cache_has(&x, 1) && !cache_keep(&x, 2, 10));
        cr_expect(strstr(x.messages, said[i]), "%s", x.messages);
        cr_expect_eq(cache_ask(&x, "SELECT count(*) FROM artifact", answer), SQLITE_ROW);
        cr_expect_str_eq(answer, "1");
        cache_close(&x);
    }
}

Test(cache_damage, other_tables_are_replaced) {
    static const char *const made[] = {"PRAGMA user_version = 0", "DROP TABLE artifact",
                                       "ALTER TABLE artifact RENAME COLUMN digest TO sum",
                                       "DROP INDEX artifact_used"};
    for (unsigned i = 0; i < 4; i++) {
        cache_fixture x;
        cache_open(&x);
        cr_expect(cache_keep(&x, 1, 10));
        cache_do(&x, made[i]);
        cache_reopen(&x, NULL);
        cr_expect_eq(cache_has(&x, 1), i == 3, "%s", made[i]);
        cr_expect(cache_keep(&x, 1, 10) && cache_has(&x, 1), "%s: %s", made[i], x.messages);
        cr_expect_eq(strstr(x.messages, "it is created again") == NULL, i == 3, "%s", x.messages);
        cache_is_sound(&x);
        cache_close(&x);
    }
}

/* They may contain keywords that the language has renamed. */
Test(cache_damage, points_of_an_older_form_are_ignored) {
    static const tile_point_key key = {.kernel = "kernel @k", .device = "NVIDIA H200"};
    static const tile_point_key unknown = {.kernel = "kernel @u", .device = "NVIDIA H200"};
    static const tile_tuned_point point = {.bindings = "b=64", .seconds = 1e-5};
    static const tile_tuned_point unchecked = {
        .bindings = "b=32", .seconds = 1e-5, .unchecked = true};
    cache_fixture x;
    tile_tuned_point found;
    cache_open(&x);
    for (int form = 3; form >= 0; form--) {
        char sql[40];
        cr_assert(tile_cache_keep_point(x.cache, &key, &point));
        if (form < 2) cache_do(&x, "ALTER TABLE point DROP COLUMN unchecked");
        snprintf(sql, sizeof sql, "PRAGMA user_version = %d", form);
        cache_do(&x, sql);
        *x.messages = 0;
        cache_reopen(&x, NULL);
        cr_expect_not(tile_cache_find_point(x.cache, &key, &found));
        cr_expect(strstr(x.messages,
                         "an older version of Tile made it; it is created again without "
                         "its tuned points"),
                  "form %d: %s", form, x.messages);
        cr_expect_eq(x.errors, 0);
    }
    cr_assert(tile_cache_keep_point(x.cache, &key, &point));
    cache_reopen(&x, NULL);
    cr_assert(tile_cache_find_point(x.cache, &key, &found), "%s", x.messages);
    cr_expect_str_eq(found.bindings, "b=64");
    cr_expect(!found.unchecked);
    cr_assert(tile_cache_keep_point(x.cache, &unknown, &unchecked));
    cr_assert(tile_cache_find_point(x.cache, &unknown, &found));
    cr_expect(found.unchecked);
    /* The digest detects this. */
    cache_do(&x, "UPDATE point SET unchecked = 0");
    cr_expect_not(tile_cache_find_point(x.cache, &unknown, &found));
    cache_close(&x);
}

/* The file is truncated or deleted while it is in use. */
Test(cache_damage, the_file_changes_underneath) {
    cache_fixture x;
    cache_open(&x);
    cr_expect(cache_keep(&x, 1, 10));
    cache_do(&x, "DROP TABLE artifact");
    cr_expect_not(cache_has(&x, 1));
    cr_expect(cache_keep(&x, 1, 10) && cache_has(&x, 1), "%s", x.messages);
    write_file(&x, "garbage", 7);
    cr_expect_not(cache_has(&x, 1));
    cr_expect(cache_keep(&x, 1, 10) && cache_has(&x, 1), "%s", x.messages);
    unlink(x.file);
    cache_has(&x, 1);
    cache_keep(&x, 2, 10);
    cache_reopen(&x, NULL);
    cr_expect(cache_keep(&x, 1, 10) && cache_has(&x, 1), "%s", x.messages);
    cache_close(&x);
}
