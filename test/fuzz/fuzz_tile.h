/* One input of the fuzz target: how a text is processed, and what is checked. */
#ifndef TILE_TEST_FUZZ_TILE_H
#define TILE_TEST_FUZZ_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LLVM takes a hundred times as long as everything else together. A fuzzer that always ran it would
 * try few texts. Therefore a hash of the text decides whether it is run through the passes, the CPU
 * device and LLVM. */
typedef struct fuzz_options {
    bool all;   /* run every text through everything */
    bool plant; /* use a printer with an injected fault, which the rules must detect */
} fuzz_options;

/* Outcomes of all inputs so far. */
typedef struct fuzz_counts {
    unsigned long inputs, parsed, lowered, emitted, launched;
} fuzz_counts;

/* Processes one text as the options say: a module, or a launch interface if it begins with `{`.
 * text[length] must be 0. If a rule is violated, prints which one on standard error and calls
 * abort(). */
void fuzz_text(const char *text, size_t length, const fuzz_options *options, fuzz_counts *counts);

#endif
