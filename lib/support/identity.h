/* The parts of a cache key: the identity of this compiler, and a short digest of data. */
#ifndef TILE_LIB_SUPPORT_IDENTITY_H
#define TILE_LIB_SUPPORT_IDENTITY_H

#include "lib/support/arena.h"

/* The versions of Tile and of its LLVM, and the build id ("tile 2.0.0, LLVM 22.1.8, build
 * 5f0c..."); in the arena. */
const char *tile_compiler_identity(tile_arena *arena);

/* Returns whether this build has an identity: a program that links libtile.a has no build id unless
 * its linker is told to create one. */
bool tile_compiler_is_known(void);

enum { TILE_DIGEST_TEXT = 33 };

/* The first 128 bits of the BLAKE3 hash, in hexadecimal. Equal on all machines. */
void tile_digest(const void *data, size_t size, char text[TILE_DIGEST_TEXT]);

#endif
