/* One input of the fuzz target: what is done with a text, and what must hold of it. */
#ifndef TILE_TEST_FUZZ_TILE_H
#define TILE_TEST_FUZZ_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LLVM takes a hundred times as long as all else together, so that a fuzzer which always went there
 * would try few texts: a hash of the text decides which go through the passes, the CPU device and
 * LLVM. */
typedef struct fuzz_options {
    bool all;   /* every text goes everywhere */
    bool plant; /* a printer with a fault, which the rules have to find */
} fuzz_options;

/* What came of all inputs so far. */
typedef struct fuzz_counts {
    unsigned long inputs, parsed, lowered, emitted, launched;
} fuzz_counts;

/* Does with one text what the options say: a module, or a launch interface, which begins with `{`;
 * text[length] is 0. A rule that does not hold ends the process by abort(), after a line on
 * standard error that says which. */
void fuzz_text(const char *text, size_t length, const fuzz_options *options, fuzz_counts *counts);

#endif
