/* A kernel with its arguments, to run on the CPU device at any stage of a pipeline. */
#ifndef TILE_TOOLS_TILE_OPT_CASE_H
#define TILE_TOOLS_TILE_OPT_CASE_H

#include "tools/common/arguments.h"
#include "tools/common/tool.h"

enum { CASE_MAX_ARGUMENTS = TILE_MAX_ARGUMENTS };

/* The options of the command line. */
typedef struct case_options {
    const char *kernel; /* NULL: the only one */
    tile_binding bindings[CASE_MAX_ARGUMENTS];
    unsigned binding_count;
    const char *arguments[CASE_MAX_ARGUMENTS]; /* in tile-run syntax; missing ones are made up */
    unsigned argument_count;
    uint64_t seed; /* for the numbers and for the order of warps and blocks; 0: natural order */
    uint64_t max_operations; /* limit for one run */
    double tolerance;        /* relative to |expected| + the root mean square; 0: bitwise equal */
} case_options;

/* The kernel is instantiated in *module. The arguments are in the kernel's order. */
typedef struct test_case {
    const case_options *options;
    tile_context *context;
    const char *kernel;
    run_argument arguments[CASE_MAX_ARGUMENTS];
    unsigned count;
} test_case;

typedef enum case_outcome {
    CASE_RAN,
    CASE_FAULT,  /* the device detected a fault */
    CASE_REFUSED /* it cannot run in this form */
} case_outcome;

/* The arrays' contents after a run, and what was reported. Free it with case_free. */
typedef struct case_result {
    case_outcome outcome;
    unsigned char *arrays[CASE_MAX_ARGUMENTS]; /* NULL: a scalar */
    tool_text reports;
} case_result;

/* Finds and instantiates the kernel, and makes the arguments. False after a message. Close the case
 * either way. */
bool case_open(test_case *c, const case_options *options, tile_context *context,
               tile_module *module);
void case_close(test_case *c);
/* Returns an argument in command line syntax, also one that was made up. The caller frees it. */
char *case_argument_text(const test_case *c, unsigned index);
/* Finds the variant of the kernel (pass choose-variant) that a launch with these arguments selects
 * on this target; false if it is unknown. */
bool case_variant(const test_case *c, const tile_module *module, const tile_target *target,
                  unsigned *variant);
/* Runs the module's kernel. Errors are in the result. Replaces the context's sink. */
void case_run(test_case *c, const tile_module *module, case_result *result);
/* Same, on a device of the case's context, which compiles the kernel as it always does. */
void case_run_on(test_case *c, const tile_module *module, tile_device *device, case_result *result);
void case_free(const test_case *c, case_result *result);
/* Sinks: the first appends errors to a tool_text; the second discards what a kernel prints. */
void case_keep_error(const tile_diagnostic *d, void *tool_text_);
void case_drop_line(const char *line, void *user);
/* Describes the first element that differs: "%c[3, 4] is 2, and was 1". False: none differs. NaNs
 * compare equal, and so do zeros of both signs. */
bool case_differs(const test_case *c, const case_result *was, const case_result *is,
                  tool_text *where);

#endif
