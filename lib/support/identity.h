/* What a cache's key is made of: which compiler this is, and a short name for many bytes. */
#ifndef TILE_LIB_SUPPORT_IDENTITY_H
#define TILE_LIB_SUPPORT_IDENTITY_H

#include "lib/support/arena.h"

/* The versions of Tile and of its LLVM, and what tells this build from any other ("tile 2.0.0, LLVM
 * 22.1.8, build 5f0c..."); in the arena. */
const char *tile_compiler_identity(tile_arena *arena);

/* Whether there is something that tells this build from others: a program that libtile.a is linked
 * into has no build id unless its linker is told to. */
bool tile_compiler_is_known(void);

enum { TILE_DIGEST_TEXT = 33 };

/* The first 128 bits of the bytes' BLAKE3 hash, in hexadecimal. The same on every machine. */
void tile_digest(const void *data, size_t size, char text[TILE_DIGEST_TEXT]);

#endif
