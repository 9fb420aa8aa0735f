/* What is measured, product or attention, as the rest of the program sees it: a line that workers
 * are told, sizes by name, arrays, FLOP and bytes. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_PROBLEM_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_PROBLEM_H

#include "tile/device.h"
#include "tools/tile-bench/attention/heads.h"
#include "tools/tile-bench/matmul/product.h"

enum { BENCH_MAX_ARRAYS = 8, BENCH_PROBLEM_LINE = 200 };

typedef struct bench_problem {
    bool is_attention;
    bench_product product;     /* unless it is */
    bench_attention attention; /* if it is */
    unsigned part;             /* of the run: candidates of that part are measured on it, and those
                                  of part 0 */
    bool latency_alone;        /* is not run back to back */
} bench_problem;

/* The request to a worker: "product 16 24 32 f16 NN dirty", "attention 1 2 2 33 40 64 1 f16 dirty".
 */
void bench_problem_write(const bench_problem *problem, const char *flush,
                         char line[BENCH_PROBLEM_LINE]);
/* False if it is none. */
bool bench_problem_read(const char *line, bench_problem *problem, char flush[8]);

const bench_type *bench_problem_type(const bench_problem *problem);
double bench_problem_flop(const bench_problem *problem);
double bench_problem_read_bytes(const bench_problem *problem);
double bench_problem_write_bytes(const bench_problem *problem);
/* Seconds to tune for it: those that are asked for, or below 0 by its size, since each try of a
 * large one takes longer. */
double bench_problem_budget(const bench_problem *problem, double asked);

/* The text with {type}, {result}, {sum}, {depth} (elements of an operand in 128 bytes), and of a
 * product {trans} (nn, nt, ..), of attention {d}. False if it is longer than size - 1. */
bool bench_problem_fill(const bench_problem *problem, const char *text, char *filled, size_t size);

/* A scalar argument of this name, as integer and number; false if there is none. */
bool bench_problem_size(const bench_problem *problem, const char *name, tile_argument *argument);
/* What a kernel may take, for messages. */
const char *bench_problem_arguments(const bench_problem *problem);

typedef enum bench_role {
    BENCH_OPERAND,  /* filled with numbers */
    BENCH_RESULT,   /* what is checked; the last array but for the following */
    BENCH_TABLE,    /* of pages */
    BENCH_CONSTANT, /* small, all elements are `value`: what only some kernels take */
} bench_role;

/* One of its arrays, as a view of it may be. */
typedef struct bench_array {
    const char *name;
    tile_scalar scalar;
    bench_role role;
    double value;
    unsigned rank;
    int64_t extents[4], strides[4];
    bool turns; /* a view may also have the last two dims the other way round */
    bool folds; /* or be any row-major one of as many elements */
} bench_array;

unsigned bench_problem_arrays(const bench_problem *problem, bench_array arrays[BENCH_MAX_ARRAYS]);
/* Where the result is among them. */
unsigned bench_problem_result(const bench_problem *problem);
int64_t bench_array_elements(const bench_array *array);
/* How it lies: "--trans=NN says: 48 x 24, by rows". */
void bench_array_describe(const bench_problem *problem, const bench_array *array, char *text,
                          size_t size);

#endif
