/* Digests, and the compiler's identity. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/support/identity.h"

/* The test vectors of BLAKE3 (BLAKE3-team/BLAKE3, test_vectors.json): bytes 0, 1, ... 250, 0, ...
 */
Test(identity, digests_are_blake3) {
    static const struct {
        size_t size;
        const char *digest;
    } cases[] = {
        {0, "af1349b9f5f9a1a6a0404dea36dcc949"},    {1, "2d3adedff11b61f14c886e35afa03673"},
        {1023, "10108970eeda3eb932baac1428c7a216"}, {1024, "42214739f095a406f3fc83deb889744a"},
        {1025, "d00278ae47eb27b34faecf67b4fe263f"}, {2048, "e776b6028c7cd22a4d0ba182a8bf6220"},
    };
    uint8_t bytes[2048];
    char text[TILE_DIGEST_TEXT];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i % 251);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_digest(bytes, cases[i].size, text);
        cr_expect_str_eq(text, cases[i].digest, "%zu bytes", cases[i].size);
    }
}

Test(identity, the_compiler_knows_its_build) {
    tile_arena arena = {0};
    const char *text = tile_compiler_identity(&arena);
    const char version[] = "tile " TILE_VERSION_STRING ", ";
    cr_expect_eq(strncmp(text, version, sizeof version - 1), 0, "%s", text);
    cr_expect(strstr(text, ", LLVM 22."), "%s", text);
    const char *build = strstr(text, ", build ");
    cr_assert(build, "%s", text);
    cr_expect_geq(strspn(build + 8, "0123456789abcdef"), 16, "%s", text);
    cr_expect_str_eq(tile_compiler_identity(&arena), text);
    tile_arena_reset(&arena);
}
