/* A program's file: its text, and the lines at its beginning that tell how to measure it:
 *
 *     // small: n = 2, h = 9                     sizes at which the result is compared with level 1
 *     // fill: w = uniform * 0.05, t = index(x, 1)   numbers of its inputs (arrays.h)
 *     // precision: tf32                         peers may multiply f32 as tf32
 */
#ifndef TILE_TOOLS_TILE_BENCH_PROGRAM_TEXT_H
#define TILE_TOOLS_TILE_BENCH_PROGRAM_TEXT_H

#include <stdbool.h>

enum { BENCH_MAX_WORDS_OF_PROGRAM = 48 };

/* NAME and what it is set to. */
typedef struct bench_setting {
    char name[48], value[80];
} bench_setting;

typedef struct bench_settings {
    bench_setting list[BENCH_MAX_WORDS_OF_PROGRAM];
    unsigned count;
} bench_settings;

typedef struct bench_text_facts {
    bench_settings small, fills;
    bool allows_tf32;
} bench_text_facts;

/* Reads the comments of the file. False after a message. */
bool bench_text_read(const char *path, bench_text_facts *facts);
/* Adds NAME=VALUE, or replaces the value of NAME. False if the text is not of this form. */
bool bench_settings_add(bench_settings *settings, const char *text);
/* NULL if it is not set. */
const char *bench_settings_find(const bench_settings *settings, const char *name);

/* "softmax" of "programs/norms/softmax.tile". */
void bench_text_stem(const char *path, char *stem, unsigned size);
/* "norms" of "programs/norms/softmax.tile"; "" if the path has no folder. */
void bench_text_class(const char *path, char *name, unsigned size);

#endif
