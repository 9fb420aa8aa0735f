#include "tools/tile-run/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tile-run FILE.tile [options]\n"
    "Runs a kernel of FILE and checks its result.\n"
    "\n"
    "  --list               lists the functions of FILE (or the one that --kernel\n"
    "                       names) with their parameters, tune clauses, arguments and results;\n"
    "                       as JSON with --json\n"
    "  --kernel=NAME        the kernel or plan to run. Required if FILE has several; without it, "
    "a\n"
    "                       plan comes before the kernels that it launches\n"
    "  --device=auto|cpu|cuda   the device; auto uses a GPU if there is one (default: auto)\n"
    "  --param NAME=VALUE   sets a compile-time parameter. A parameter that is not set has the "
    "value\n"
    "                       of the first tuning point that agrees with the parameters that are "
    "set\n"
    "  --arg NAME=VALUE     sets an argument to a number, FILL:TYPE[DIMS] or @FILE.npy; for a "
    "view\n"
    "                       also to FILL alone, with the shape of the view. FILL is\n"
    "                         int     -1, 0 and 1, so sparse that sums of products are exact;\n"
    "                                 of u8 0, 1 and 128, of other unsigned types 0, 1 and 2\n"
    "                         rand    uniform between -0.5 and 0.5\n"
    "                         zeros   zeros\n"
    "                         poison  NaN (-77, or 179, for integers), and undefined: the CPU "
    "device "
    "reports\n"
    "                                 where a kernel reads memory that has not been written\n"
    "                       FILL:TYPE[DIMS]:finite@DIM=N,N,..  along DIM (counted from 0), N "
    "indices\n"
    "                       are finite, the next N are not (infinities and NaN), and so on; the\n"
    "                       rest is of the other kind. N,../N,..: one list for each index of dim "
    "0\n"
    "                       values:TYPE[DIMS]=V,V,..  these numbers; COUNT*V repeats one\n"
    "  --check OUT=EXPR     compares OUT with an expression over the arguments: names, numbers,\n"
    "                       + - * / and level-1 operations as calls, such as matmul(a, b). The\n"
    "                       expression is computed in f64. Integers, and results of `int` inputs,\n"
    "                       must be equal; others must be within the rounding error.\n"
    "                       OUT=@FILE.npy compares OUT with the file, up to two units in the last\n"
    "                       place. May be repeated\n"
    "  --check              compares all results with the compute that the kernel names by `of`:\n"
    "                       each element must be in its interval (tile-opt --manual=checking)\n"
    "  --offset NAME=BYTES  bytes from an aligned address to the start of the array (default: 0)\n"
    "  --variant            prints the variant of the kernel that runs, and its conditions\n"
    "  --tolerance=X        allows this error of floats instead, relative to |expected| + the "
    "root\n"
    "                       mean square of all elements; 0 requires equality\n"
    "  --save NAME=FILE     writes an argument as .npy after the run; bf16, e4m3 and e5m2 as "
    "bytes\n"
    "                       (V2, V1), as ml_dtypes does: np.load(FILE).view(ml_dtypes.bfloat16)\n"
    "  --seed=N             seed of generated arguments, and of the order in which the CPU device\n"
    "                       runs and preempts blocks (default: 1, and the natural order)\n"
    "  --target=NAME        on the CPU: rejects what code for this GPU cannot do; `auto` then "
    "uses\n"
    "                       the CPU (default: everything that the IR allows runs). With CUDA: "
    "compiles\n"
    "                       for another target of the GPU's generation. One of\n"
    "     "
#define TARGET(name, ...) " " #name
#include "tile/targets.def"
#undef TARGET
    "\n"
    "  --level=1|2|3        CPU: the level of the IR that runs (default: 3); 1 runs a compute\n"
    "  --sms=N              CPU: num_sms of grid extents (default: 132)\n"
    "  --max-operations=N   CPU: stops a launch that executes more operations, or a plan that\n"
    "                       executes more steps (default: no limit)\n"
    "  --time[=N]           measures N launches (default: 20), with the L2 flushed before each\n"
    "  --flush=dirty|clean|none   flushes the L2 by writing a large buffer, by reading one, or "
    "not\n"
    "                       at all (default: dirty)\n";

static const char more_help[] = TUNE_HELP TOOL_INCLUDE_HELP TOOL_REMARKS_HELP
    "  --trace=FILE         writes what each warp does over time, including waits, as a trace for\n"
    "                       Perfetto (ui.perfetto.dev) or chrome://tracing. On the CPU a tick is\n"
    "                       about one cycle, by fixed costs, and every block begins at 0. On a "
    "GPU\n"
    "                       times are nanoseconds, recorded by code around synchronization\n"
    "  --trace-blocks=N     number of blocks to trace (default: 4)\n"
    "  --counts             CPU: prints barriers, bank conflicts, sectors and operations of the "
    "run\n"
    "  --timing             prints the time of each step of the tool\n"
    "  --ptx=FILE           writes the PTX that runs\n"
    "  --ptxas=FILE         the assembler for the GPU (default: the driver's)\n" TOOL_CACHE_HELP
    "  --help               prints this text\n"
    "  --version            prints the version\n"
    "\n"
    "Exit status: 0 if the run succeeded and all checks passed, 1 otherwise.\n";

void options_print_help(void) {
    fputs(help, stdout);
    fputs(more_help, stdout);
}

static int fail(const char *what, const char *why) {
    fprintf(stderr, "error: %s: %s\n", what, why);
    return 1;
}

static bool add_binding(options *o, const char *text) {
    return !tool_add_binding(o->bindings, 64, &o->binding_count, text) ||
           !fail(text, "--param takes NAME=VALUE, at most 64 times");
}

static bool add_argument(options *o, const char *text) {
    if (o->argument_count == TILE_MAX_ARGUMENTS)
        return !fail(
            text,
            "a kernel cannot have so many arguments; `tile-opt --manual=limits` prints the limit");
    run_argument *added = &o->arguments[o->argument_count];
    if (!argument_parse(text, added)) return false;
    if (arguments_find(o->arguments, o->argument_count, added->name, strlen(added->name)))
        return !fail(added->name, "is given twice");
    o->argument_count++;
    return true;
}

static bool add_save(options *o, const char *text) {
    if (!strchr(text, '=') || o->save_count == 16)
        return !fail(text, "--save takes NAME=FILE, at most 16 times");
    o->saves[o->save_count++] = text;
    return true;
}

static bool add_offset(options *o, const char *text) {
    if (!strchr(text, '=') || o->offset_count == 16)
        return !fail(text, "--offset takes NAME=BYTES, at most 16 times");
    o->offsets[o->offset_count++] = text;
    return true;
}

enum { MAX_SMS = 65535 };

/* Parses a number from least to most; an integer if `whole`. */
static bool read_number(const char *name, const char *text, double least, double most, bool whole,
                        double *number) {
    char *end;
    *number = strtod(text, &end);
    if (end != text && !*end && *number >= least && *number <= most &&
        (!whole || *number == (double)(uint64_t)*number))
        return true;
    fprintf(stderr, "error: %s: expected a %s from %.16g to %.16g, found '%s'\n", name,
            whole ? "whole number" : "number", least, most, text);
    return false;
}

bool options_read_count(const char *name, const char *text, double least, double most,
                        double *number) {
    return read_number(name, text, least, most, true, number);
}

static const char *const flush_names[] = {
    [TILE_FLUSH_NONE] = "none", [TILE_FLUSH_DIRTY] = "dirty", [TILE_FLUSH_CLEAN] = "clean"};

static bool read_flush(const char *text, tile_flush *flush) {
    for (unsigned i = 0; i < sizeof flush_names / sizeof *flush_names; i++)
        if (strcmp(text, flush_names[i]) == 0) {
            *flush = (tile_flush)i;
            return true;
        }
    return !fail(text, "--flush takes dirty, clean or none");
}

static bool add_check(options *o, const char *text) {
    if (o->check_count == sizeof o->checks / sizeof *o->checks)
        return !fail(text, "too many --check");
    o->checks[o->check_count++] = text;
    return true;
}

/* True for --check alone, not followed by OUT=EXPR. */
static bool is_bare_check(const tool_arguments *args) {
    if (strcmp(tool_current(args), "--check") != 0) return false;
    const char *next = args->next + 1 < args->argc ? args->argv[args->next + 1] : "";
    return *next == '-' || !strchr(next, '=');
}

bool options_parse(options *o, tool_arguments *args) {
    const char *value;
    double number = 20;
    bool taken;
    if (tune_option(args, &o->tuning, &taken) || tool_include_option(args, &taken) ||
        tool_remarks_option(args, &o->remarks, &taken))
        return taken;
    if (is_bare_check(args)) return o->with_reference = tool_flag(args, "--check");
    if (tool_option(args, "--kernel", &o->kernel) || tool_option(args, "--device", &o->device) ||
        tool_option(args, "--ptx", &o->ptx) || tool_option(args, "--ptxas", &o->ptxas))
        return true;
    if (tool_option(args, "--check", &value)) return add_check(o, value);
    if (tool_cache_option(args, &o->cache) || tool_option(args, "--trace", &o->trace)) return true;
    if (tool_option(args, "--param", &value)) return add_binding(o, value);
    if (tool_option(args, "--arg", &value)) return add_argument(o, value);
    if (tool_option(args, "--save", &value)) return add_save(o, value);
    if (tool_option(args, "--offset", &value)) return add_offset(o, value);
    if (tool_option(args, "--max-operations", &value)) {
        bool ok = options_read_count("--max-operations", value, 0, 0x1p53, &number);
        o->max_operations = ok ? (uint64_t)number : 0;
        return ok;
    }
    if (tool_option(args, "--sms", &value)) {
        bool ok = options_read_count("--sms", value, 1, MAX_SMS, &number);
        o->sms = ok ? (unsigned)number : 0;
        return ok;
    }
    if (tool_option(args, "--trace-blocks", &value)) {
        bool ok = options_read_count("--trace-blocks", value, 0, 1e6, &number);
        o->trace_blocks = ok ? (unsigned)number : 0;
        return ok;
    }
    if (tool_option(args, "--seed", &value)) {
        o->seed_given = options_read_count("--seed", value, 0, 0x1p53, &number);
        o->seed = o->seed_given ? (uint64_t)number : 0;
        return o->seed_given;
    }
    if (tool_option(args, "--target", &value)) {
        o->target = tile_target_find(value);
        return o->target ||
               !fail(value, "this is not a target; `tile-run --help` lists the targets");
    }
    if (tool_option(args, "--level", &value)) {
        o->level = *value && !value[1] ? (unsigned)(*value - '0') : 0;
        return (o->level >= 1 && o->level <= 3) || !fail("--level", "expected 1, 2 or 3");
    }
    if (tool_option(args, "--tolerance", &value))
        return read_number("--tolerance", value, 0, 1e30, false, &o->tolerance);
    if (tool_option(args, "--flush", &value)) return read_flush(value, &o->flush);
    if (tool_flag(args, "--list")) return o->list = true;
    if (tool_flag(args, "--json")) return o->json = true;
    if (tool_flag(args, "--variant")) return o->variant = true;
    if (tool_flag(args, "--counts")) return o->counts = true;
    if (tool_flag(args, "--timing")) return o->timing = true;
    if (tool_flag(args, "--time")) {
        o->repeats = 20;
        return true;
    }
    if (tool_option(args, "--time", &value)) {
        bool ok = options_read_count("--time", value, 0, TILE_MAX_REPEATS, &number);
        o->repeats = ok ? (unsigned)number : 0;
        return ok;
    }
    if (!o->file && tool_positional(args, &o->file)) return true;
    if (*tool_current(args) != '-' && strchr(tool_current(args), '='))
        return !fail(tool_current(args), "write --arg before it for an argument of the kernel, "
                                         "--param for a parameter");
    return tool_refuse_option(args, "tile-run", help);
}

bool options_check(const options *o) {
    return o->list || !o->json ||
           !fail("--json", "it is the form of a list; add --list (--report=FILE.json writes what "
                           "--tune found)");
}

bool options_bind(const options *o, const char *name) {
    for (unsigned i = 0; i < o->binding_count; i++)
        if (strcmp(o->bindings[i].name, name) == 0) return true;
    return false;
}
