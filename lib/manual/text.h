/* The manual's texts, which the build converts to arrays, and its generated tables. */
#ifndef TILE_LIB_MANUAL_TEXT_H
#define TILE_LIB_MANUAL_TEXT_H

#include <stddef.h>

#include "lib/support/out.h"

/* chapters/NAME.md and operations/NAME.md. */
#define CHAPTER(name, summary) extern const char tile_manual_##name[];
#include "lib/manual/chapters.def"
#undef CHAPTER
#define GROUP(name, title) extern const char tile_manual_examples_##name[];
#include "lib/manual/groups.def"
#undef GROUP

/* Does nothing if there is no such table. */
void tile_manual_print_table(const char *name, size_t length, const tile_out *out);
/* Prints all operations with their operands, as a table. */
void tile_manual_print_operations(const tile_out *out);
/* Prints the grammar production of this name, indented; returns false if there is none. */
bool tile_manual_print_production(const char *name, const tile_out *out);

#endif
