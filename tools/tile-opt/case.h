/* A kernel with its arguments, run on the CPU device as it stands at some point of a pipeline. */
#ifndef TILE_TOOLS_TILE_OPT_CASE_H
#define TILE_TOOLS_TILE_OPT_CASE_H

#include "tools/common/arguments.h"
#include "tools/common/tool.h"

enum { CASE_MAX_ARGUMENTS = TILE_MAX_ARGUMENTS };

/* What the command line says of it. */
typedef struct case_options {
    const char *kernel; /* NULL: the only one */
    tile_binding bindings[CASE_MAX_ARGUMENTS];
    unsigned binding_count;
    const char *arguments[CASE_MAX_ARGUMENTS]; /* as tile-run has them; the rest is made up */
    unsigned argument_count;
    uint64_t seed;           /* of the numbers and of the order of warps and blocks; 0: natural */
    uint64_t max_operations; /* of one run */
    double tolerance;        /* relative to |expected| + the root mean square; 0: equal bits */
} case_options;

/* The kernel is instantiated in *module; its arguments are in its order. */
typedef struct test_case {
    const case_options *options;
    tile_context *context;
    const char *kernel;
    run_argument arguments[CASE_MAX_ARGUMENTS];
    unsigned count;
} test_case;

typedef enum case_outcome {
    CASE_RAN,
    CASE_FAULT,  /* the device found something wrong with it */
    CASE_REFUSED /* it cannot run like this */
} case_outcome;

/* What a run left in the arrays, and what was reported; free with case_free. */
typedef struct case_result {
    case_outcome outcome;
    unsigned char *arrays[CASE_MAX_ARGUMENTS]; /* NULL: a scalar */
    tool_text reports;
} case_result;

/* Finds and instantiates the kernel, makes the arguments. False after a message. close it in any
 * case. */
bool case_open(test_case *c, const case_options *options, tile_context *context,
               tile_module *module);
void case_close(test_case *c);
/* An argument as the command line gives it, also one that was made up; the caller's. */
char *case_argument_text(const test_case *c, unsigned index);
/* The variant of the kernel (pass choose-variant) that these arguments take on this target; false
 * if it is not known. */
bool case_variant(const test_case *c, const tile_module *module, const tile_target *target,
                  unsigned *variant);
/* Runs the module's kernel; what goes wrong stands in the result. The context's sink is another one
 * afterwards. */
void case_run(test_case *c, const tile_module *module, case_result *result);
/* The same on a device of the case's context, whatever it makes of the kernel. */
void case_run_on(test_case *c, const tile_module *module, tile_device *device, case_result *result);
void case_free(const test_case *c, case_result *result);
/* Sinks: errors are appended to a tool_text; what a kernel prints goes nowhere. */
void case_keep_error(const tile_diagnostic *d, void *tool_text_);
void case_drop_line(const char *line, void *user);
/* The first element that differs, as text: "%c[3, 4] is 2, and was 1". False: none does. NaNs are
 * equal, and so are zeros. */
bool case_differs(const test_case *c, const case_result *was, const case_result *is,
                  tool_text *where);

#endif
