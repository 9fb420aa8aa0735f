/* tile-fuzz: the fuzz target under libFuzzer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/fuzz_tile.h"
#include "test/fuzz/mutate.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static fuzz_counts counts;

static void print_counts(void) {
    fprintf(stderr, "%lu inputs, %lu parsed, %lu lowered, %lu emitted, %lu launched\n",
            counts.inputs, counts.parsed, counts.lowered, counts.emitted, counts.launched);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    atexit(print_counts);
    return 0;
}

/* True if the text contains one of the comma-separated words in the environment variable. A known
 * defect that is not fixed yet then does not end each run. */
static bool is_skipped(const char *text) {
    const char *words = getenv("TILE_FUZZ_SKIP");
    while (words && *words) {
        char word[64];
        size_t length = strcspn(words, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (*word && strstr(text, word)) return true;
        words += length + (words[length] == ',');
    }
    return false;
}

/* Refused texts also reach new code, in the parser's messages. Without this, the corpus would fill
 * with texts that do not parse. */
#if __clang_major__ >= 15
enum { LEAVE_OUT = -1 };
#else
enum { LEAVE_OUT = 0 }; /* older libFuzzers do not support this return value */
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    unsigned long parsed = counts.parsed;
    const fuzz_options options = {.all = getenv("TILE_FUZZ_ALL") != NULL};
    if (!is_skipped(text)) fuzz_text(text, size, &options, &counts);
    free(text);
    return counts.parsed > parsed ? 0 : LEAVE_OUT;
}

/* Usually makes one change, because libFuzzer calls this several times in a row. Sometimes applies
 * libFuzzer's own mutation, to test the robustness of the lexer and the parser. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    if (size == 0 || seed % 32 == 0) return LLVMFuzzerMutate(data, size, max_size);
    return fuzz_mutate(data, size, max_size, seed);
}

/* libFuzzer calls this as often as the other mutator, but few splices parse. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max_size, unsigned seed) {
    if (a_size > max_size) return 0;
    memcpy(out, a, a_size);
    if (seed % 4) return fuzz_mutate(out, a_size, max_size, seed);
    return fuzz_splice(out, a_size, max_size, b, b_size, seed);
}
