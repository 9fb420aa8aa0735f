/* Lists of shapes: numbers with commas, by themselves, in tables and in files. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_SHAPES_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MAX_EXTENTS = 7 };

/* What a shape consists of. */
typedef struct bench_shape_form {
    unsigned count;     /* its numbers, from 1 on */
    const char *flag;   /* a word that may follow them, and makes the next number 1; NULL: none */
    const char *words;  /* for messages: "m,n,k are three numbers" */
    const char *sample; /* "16,4096,14336" */
    const struct bench_shape_list *lists; /* ended by one without a name */
} bench_shape_form;

typedef struct bench_shape_list {
    const char *name, *shapes, *meaning;
} bench_shape_list;

extern const bench_shape_form bench_product_shapes, bench_attention_shapes;

/* A list of shapes that grows; start with the form and zeros, free shapes. */
typedef struct bench_shapes {
    const bench_shape_form *form;
    int64_t (*shapes)[BENCH_MAX_EXTENTS];
    size_t count;
} bench_shapes;

/* "16,4096,14336" or "16x4096x14336"; false after a message. */
bool bench_shapes_add(bench_shapes *to, const char *text);
/* A list by its name, or else a file: shapes between blanks, `#` to the end of a line is a comment.
 * False after a message. */
bool bench_shapes_add_list(bench_shapes *to, const char *name);
/* Adds the first `count` of them once more. */
void bench_shapes_repeat(bench_shapes *to, size_t count);
/* For --help: the names and what they are for. */
void bench_shapes_describe(const bench_shape_form *form);

#endif
