/* A program with its arrays on a device: what is measured, in the process that measures it. */
#ifndef TILE_TOOLS_TILE_BENCH_PROGRAM_SUBJECT_H
#define TILE_TOOLS_TILE_BENCH_PROGRAM_SUBJECT_H

#include "tile/device.h"
#include "tools/tile-bench/program/arrays.h"

typedef struct bench_subject {
    tile_context *context;
    bench_lab *lab; /* NULL: nothing is compiled or allocated */
    tile_module *module, *instance;
    const char *name; /* the kernel or plan */
    const tile_function *compute;
    tile_binding bindings[BENCH_MAX_WORDS_OF_PROGRAM];
    unsigned binding_count;
    tile_kernel *kernel;
    tile_compute_value values[TILE_MAX_ARGUMENTS]; /* of the compute's parameters */
    unsigned value_count;
    program_array arrays[TILE_MAX_ARGUMENTS]; /* inputs, then results */
    unsigned count, input_count;
    tile_argument arguments[TILE_MAX_ARGUMENTS];
    unsigned argument_count;
    unsigned launches; /* in the text of the plan; 1 for a kernel */
    double compile_seconds;
} bench_subject;

/* Reads the file, schedules the function (NULL: the only one, or the only plan or compute) with
 * these values of its parameters and integers, and finds its arrays. target: for scheduling without
 * a lab. Fails after a diagnostic; the caller closes it either way. */
tile_status bench_subject_open(bench_subject *subject, tile_context *context, bench_lab *lab,
                               const tile_target *target, const char *path, const char *function,
                               const bench_settings *settings, const bench_settings *fills);
/* Allocates and fills the arrays, then compiles: compile_seconds, with the scheduling. */
tile_status bench_subject_load(bench_subject *subject, const float *numbers);
void bench_subject_close(bench_subject *subject);

/* Sets the results to NaN, launches and waits. */
tile_status bench_subject_launch(bench_subject *subject);
/* Compares the results of a launch with level 1, which must be small: *why is what differs, "" if
 * nothing does. *elements: how many were compared. */
tile_status bench_subject_check(bench_subject *subject, size_t *elements, char *why, size_t size);
/* Writes result `index` (from 0) as the bytes of its memory. */
tile_status bench_subject_save(bench_subject *subject, unsigned index, const char *path);

/* " NAME:in:TYPE:.." for each array, as serve.h describes it. */
void bench_subject_describe(const bench_subject *subject, tile_writer writer, void *user);
/* Bytes of the inputs and of the results. */
double bench_subject_bytes(const bench_subject *subject);
/* Elements of all arrays. */
double bench_subject_elements(const bench_subject *subject);

#endif
