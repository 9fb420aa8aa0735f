/* A problem to measure, a product, attention or an operation on rows, behind a common interface:
 * its text line for workers, sizes by name, arrays, FLOP and bytes. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_PROBLEM_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_PROBLEM_H

#include "tile/device.h"
#include "tools/tile-bench/attention/heads.h"
#include "tools/tile-bench/matmul/product.h"
#include "tools/tile-bench/rows/rows.h"

enum { BENCH_MAX_ARRAYS = 8, BENCH_PROBLEM_LINE = 200 };

/* How a product comes to be a kernel. BENCH_ANY_ROUTE: a candidate or problem without a choice. */
typedef enum bench_route { BENCH_ANY_ROUTE, BENCH_BY_KERNEL, BENCH_BY_COMPUTE } bench_route;

typedef struct bench_problem {
    bool is_attention, is_rows; /* neither: a product */
    bench_product product;
    bench_attention attention;
    bench_rows rows;
    unsigned part; /* the run's part: measured by candidates of that part and by those of part 0 */
    bench_route route;  /* likewise: by candidates of that route, and by those that have none */
    bool latency_alone; /* not run back to back */
} bench_problem;

/* Writes the request to a worker: "product 16 24 32 f16 NN dirty", "attention 1 2 2 33 40 64 1 f16
 * dirty" or "rows softmax 16 24 f16 dirty". */
void bench_problem_write(const bench_problem *problem, const char *flush,
                         char line[BENCH_PROBLEM_LINE]);
/* Returns false if the line is not a problem. */
bool bench_problem_read(const char *line, bench_problem *problem, char flush[8]);

const bench_type *bench_problem_type(const bench_problem *problem);
double bench_problem_flop(const bench_problem *problem);
double bench_problem_read_bytes(const bench_problem *problem);
double bench_problem_write_bytes(const bench_problem *problem);
/* Returns seconds to tune for this problem: `asked`, or if that is below 0 a time by its size,
 * because each trial of a large problem takes longer. */
double bench_problem_budget(const bench_problem *problem, double asked);

/* Replaces {type}, {result}, {sum} and {depth} (elements of an operand in 128 bytes), for a product
 * also {trans} (nn, nt, ..), for attention {d}. False if the result is longer than size - 1. */
bool bench_problem_fill(const bench_problem *problem, const char *text, char *filled, size_t size);

/* Returns the scalar argument with this name, as integer and number; false if there is none. */
bool bench_problem_size(const bench_problem *problem, const char *name, tile_argument *argument);
/* "product", "attention" or "operation" */
const char *bench_problem_noun(const bench_problem *problem);
/* Lists the arguments that a kernel may have, for messages. */
const char *bench_problem_arguments(const bench_problem *problem);

typedef enum bench_role {
    BENCH_OPERAND,  /* filled with input values */
    BENCH_RESULT,   /* the array that is checked, and the last one except for the following roles */
    BENCH_TABLE,    /* page table */
    BENCH_CONSTANT, /* small; all elements equal `value`; used only by some kernels */
    BENCH_SCALES,   /* likewise; elements with an odd last coordinate equal `value`, others 1 */
} bench_role;

/* An array, and which views of it a kernel may declare. */
typedef struct bench_array {
    const char *name;
    tile_scalar scalar;
    bench_role role;
    double value;
    unsigned rank;
    int64_t extents[4], strides[4];
    bool turns; /* a view may also swap the last two dims */
    bool folds; /* or be any row-major view with as many elements */
} bench_array;

unsigned bench_problem_arrays(const bench_problem *problem, bench_array arrays[BENCH_MAX_ARRAYS]);
/* Returns the index of the result among the arrays. */
unsigned bench_problem_result(const bench_problem *problem);
int64_t bench_array_elements(const bench_array *array);
/* Describes the layout: "--trans=NN says: 48 x 24, by rows". */
void bench_array_describe(const bench_problem *problem, const bench_array *array, char *text,
                          size_t size);

#endif
