/* A version changes seldom, a build often. With the version alone, a cache would return results of
 * yesterday's compiler. The linker's build id (a hash of the whole library, or of the program into
 * which it is linked) distinguishes builds, and is the same for equal builds. */
#include "lib/support/identity.h"

#include <elf.h>
#include <llvm-c/Core.h>
#include <llvm-c/blake3.h>
#include <stdio.h>
#include <string.h>

#include "tile/base.h"

/* The ELF header of the file from which this code was loaded; defined by the linker. */
extern const uint8_t __ehdr_start[] __attribute__((weak, visibility("hidden")));

static size_t rounded_up(size_t size) {
    return (size + 3) / 4 * 4;
}

/* The build-id note in a segment; NULL if it has none. */
static const uint8_t *find_note(const uint8_t *at, size_t size, size_t *length) {
    while (size >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr head;
        memcpy(&head, at, sizeof head);
        size_t name = rounded_up(head.n_namesz), note = rounded_up(head.n_descsz);
        if (name > size - sizeof head || note > size - sizeof head - name) return NULL;
        const uint8_t *words = at + sizeof head;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && !memcmp(words, "GNU", 4)) {
            *length = head.n_descsz;
            return words + name;
        }
        at += sizeof head + name + note;
        size -= sizeof head + name + note;
    }
    return NULL;
}

/* The header and the notes are in the same segment of the file, so their distance in memory is the
 * same. */
static const uint8_t *build_id(size_t *length) {
    const uint8_t *note = NULL;
    uint64_t loaded = 0;
    Elf64_Ehdr head;
    if (!__ehdr_start) return NULL;
    memcpy(&head, __ehdr_start, sizeof head);
    for (unsigned i = 0; i < head.e_phnum && !note; i++) {
        Elf64_Phdr part;
        memcpy(&part, __ehdr_start + head.e_phoff + i * sizeof part, sizeof part);
        if (part.p_type == PT_LOAD && part.p_offset == 0) loaded = part.p_filesz;
        if (part.p_type == PT_NOTE && part.p_offset + part.p_filesz <= loaded)
            note = find_note(__ehdr_start + part.p_offset, part.p_filesz, length);
    }
    return note;
}

static char *put_hex(char *to, const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) to += snprintf(to, 3, "%02x", bytes[i]);
    return to;
}

const char *tile_compiler_identity(tile_arena *arena) {
    char id[129] = "unknown";
    unsigned major, minor, patch;
    size_t length = 0;
    const uint8_t *bytes = build_id(&length);
    if (bytes) put_hex(id, bytes, length < 64 ? length : 64);
    LLVMGetVersion(&major, &minor, &patch);
    return tile_arena_format(arena, "tile %s, LLVM %u.%u.%u, build %s", TILE_VERSION_STRING, major,
                             minor, patch, id);
}

bool tile_compiler_is_known(void) {
    size_t length;
    return build_id(&length) != NULL;
}

void tile_digest(const void *data, size_t size, char text[TILE_DIGEST_TEXT]) {
    uint8_t hash[(TILE_DIGEST_TEXT - 1) / 2];
    llvm_blake3_hasher hasher;
    llvm_blake3_hasher_init(&hasher);
    llvm_blake3_hasher_update(&hasher, data, size);
    llvm_blake3_hasher_finalize(&hasher, hash, sizeof hash);
    put_hex(text, hash, sizeof hash);
}
