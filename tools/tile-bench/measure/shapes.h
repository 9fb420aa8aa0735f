/* Lists of shapes: comma-separated numbers, given singly, in tables or in files. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_SHAPES_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MAX_EXTENTS = 7 };

/* The format of a shape. */
typedef struct bench_shape_form {
    unsigned count;     /* how many numbers, at least 1 */
    const char *flag;   /* optional word after them, which sets the next number to 1; NULL: none */
    const char *words;  /* for messages: "m,n,k are three numbers" */
    const char *sample; /* "16,4096,14336" */
    const struct bench_shape_list *lists; /* terminated by one without a name */
} bench_shape_form;

typedef struct bench_shape_list {
    const char *name, *shapes, *meaning;
} bench_shape_list;

extern const bench_shape_form bench_product_shapes, bench_attention_shapes, bench_rows_shapes;

/* A growing list of shapes. Set the form, zero-initialize the rest, and free shapes. */
typedef struct bench_shapes {
    const bench_shape_form *form;
    int64_t (*shapes)[BENCH_MAX_EXTENTS];
    size_t count;
} bench_shapes;

/* Parses "16,4096,14336" or "16x4096x14336"; false after a message. */
bool bench_shapes_add(bench_shapes *to, const char *text);
/* Adds a named list, or else a file of shapes separated by blanks, with `#` comments to the end of
 * the line. False after a message. */
bool bench_shapes_add_list(bench_shapes *to, const char *name);
/* Appends a copy of the first `count` shapes. */
void bench_shapes_repeat(bench_shapes *to, size_t count);
/* Prints the names and their purposes for --help. */
void bench_shapes_describe(const bench_shape_form *form);

#endif
