/* The arrays of a program and the numbers in them, which a peer in another process makes, too.
 *
 * A file has BENCH_NUMBERS floats of 32 bits between -1 and 1. Element i of array a, in the order
 * of memory, is made from number (i + a * BENCH_SHIFT) % BENCH_NUMBERS, u, in f32:
 *
 *     uniform      u
 *     positive     u * 0.5 + 1
 *     mask         0 if u < 0, else 1
 *     index(x, d)  floor((u * 0.5 + 0.5) * n), for the extent n of dim d of array x
 *
 * `KIND * NUMBER` multiplies by a number. The result is rounded to the array's type. */
#ifndef TILE_TOOLS_TILE_BENCH_PROGRAM_ARRAYS_H
#define TILE_TOOLS_TILE_BENCH_PROGRAM_ARRAYS_H

#include "tile/compute.h"
#include "tools/tile-bench/common/lab.h"
#include "tools/tile-bench/program/text.h"

enum { BENCH_NUMBERS = 1048573, BENCH_SHIFT = 65537 };

typedef struct program_array {
    const char *name;
    unsigned argument; /* of the launch */
    tile_compute_array shape;
    int64_t strides[TILE_MAX_RANK]; /* in elements */
    size_t elements;                /* from the first to the last one in memory */
    char kind[12];                  /* of its numbers; "" for a result */
    double factor;
    int64_t bound;  /* of an index */
    bool is_number; /* no array but a scalar argument */
    bench_memory memory;
} program_array;

/* Writes the file of numbers. False after a message. */
bool bench_numbers_write(const char *path);
/* Reads it; the caller frees the numbers. NULL after a message. */
float *bench_numbers_read(const char *path);

/* Chooses the kind of an input's numbers. Returns what is wrong with the setting, or NULL. */
const char *program_array_set_kind(program_array *array, const bench_settings *fills,
                                   const program_array *all, unsigned count);
/* Numbers of array `index`, from element 0 on, as bytes of its type. */
void program_array_make(const program_array *array, unsigned index, const float *numbers,
                        size_t count, char *data);
size_t program_array_bytes(const program_array *array);
/* Elements of the shape, without those between them. */
size_t program_array_count(const program_array *array);
/* The place in memory of an element of the shape. */
size_t program_array_place(const program_array *array, size_t element);

#endif
