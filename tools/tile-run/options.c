#include "tools/tile-run/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tile-run FILE.tile [options]\n"
    "Runs a kernel of FILE and checks its result.\n"
    "\n"
    "  --kernel=NAME        which kernel or plan; needed if FILE has several. Without it a plan "
    "comes\n"
    "                       before the kernels that it launches\n"
    "  --device=auto|cpu|cuda   auto takes a GPU if there is one (default: auto)\n"
    "  --param NAME=VALUE   binds a compile-time parameter; a missing one takes its value from "
    "the\n"
    "                       first point of the tune clauses that agrees with those given\n"
    "  --arg NAME=VALUE     a number, FILL:TYPE[DIMS] or @FILE.npy; for a view also FILL alone,\n"
    "                       with the shape that the view has. FILL is\n"
    "                         int     -1, 0 and 1, so sparse that sums of products stay exact\n"
    "                         rand    uniform between -0.5 and 0.5\n"
    "                         zeros   zeros\n"
    "                         poison  NaN (-77 for integers), and undefined: the CPU device "
    "reports\n"
    "                                 where a kernel reads memory that has not been written\n"
    "                       FILL:TYPE[DIMS]:finite@DIM=N,N,..  N finite indices along DIM (from "
    "0), "
    "N\n"
    "                       not finite (infinities and NaN), and so on; the rest is of the other "
    "kind.\n"
    "                       N,../N,..: for each index of the outermost dim\n"
    "                       values:TYPE[DIMS]=V,V,..  these numbers; COUNT*V for several\n"
    "  --check OUT=EXPR     compares OUT with an expression over the arguments: names, numbers,\n"
    "                       + - * / and level-1 operations in call form, such as matmul(a, b).\n"
    "                       Computed in f64; equality for integers, and if the inputs are `int`;\n"
    "                       else what rounding explains. OUT=@FILE.npy compares it with the file,\n"
    "                       two units in the last place are allowed; may be given again\n"
    "  --check              compares all results of the compute that the kernel names with `of`:\n"
    "                       each element lies in its interval (tile-opt --manual=checking)\n"
    "  --offset NAME=BYTES  the array begins so far behind an aligned address (default: 0)\n"
    "  --variant            which variant of the kernel runs, and under which conditions\n"
    "  --tolerance=X        error of floats allowed instead, relative to |expected| + the root "
    "mean\n"
    "                       square of all elements; 0: equality\n"
    "  --save NAME=FILE     writes an argument as .npy after the run; bf16, e4m3 and e5m2 as "
    "bytes\n"
    "                       (V2, V1), as ml_dtypes does: np.load(FILE).view(ml_dtypes.bfloat16)\n"
    "  --seed=N             of generated arguments, and of the order in which the CPU device runs\n"
    "                       and preempts blocks (default: 1, and the natural order)\n"
    "  --target=NAME        CPU: refuses what code for this GPU could not do; `auto` is the CPU "
    "then\n"
    "                       (default: whatever the IR says runs). CUDA: code for another target "
    "of\n"
    "                       the GPU's generation. One of\n     "
#define TARGET(name, ...) " " #name
#include "tile/targets.def"
#undef TARGET
    "\n"
    "  --level=1|2|3        CPU: which level of the IR runs (default: 3); 1 runs a compute\n"
    "  --sms=N              CPU: num_sms of grid extents (default: 132)\n"
    "  --max-operations=N   CPU: ends a launch that executes more than this (default: no limit)\n"
    "  --time[=N]           measures N launches (default: 20), with the L2 flushed before each\n"
    "  --flush=dirty|clean|none   by writing a large buffer, by reading one, or not at all\n"
    "                       (default: dirty)\n";

static const char more_help[] = TUNE_HELP TOOL_REMARKS_HELP
    "  --trace=FILE         what each warp does over time, waits too, as a trace for Perfetto\n"
    "                       (ui.perfetto.dev) or chrome://tracing. CPU: a tick is about a cycle, "
    "by "
    "fixed\n"
    "                       costs, and every block begins at 0. GPU: nanoseconds, by stamps in the "
    "code\n"
    "                       around what synchronises\n"
    "  --trace-blocks=N     of how many blocks (default: 4)\n"
    "  --counts             CPU: barriers, bank conflicts, sectors and operations of the run\n"
    "  --timing             how long each step of the tool took\n"
    "  --ptx=FILE           writes the PTX that runs\n"
    "  --ptxas=FILE         assembler for the GPU; without it the driver "
    "assembles\n" TOOL_CACHE_HELP "  --help\n"
    "  --version\n"
    "\n"
    "Exit status: 0 if everything fits, 1 otherwise.\n";

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
        return !fail(text,
                     "it is one argument more than a kernel may have (tile-opt --manual=limits)");
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

/* Parses a number from 0 to limit. */
static bool read_number(const char *name, const char *text, double limit, double *number) {
    char *end;
    *number = strtod(text, &end);
    bool inside = *number >= 0 && *number <= limit;
    return (end != text && !*end && inside) || !fail(name, "takes a number in its range");
}

bool options_read_count(const char *name, const char *text, double limit, double *number) {
    return read_number(name, text, limit, number) &&
           (*number == (double)(uint64_t)*number || !fail(name, "takes a whole number"));
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
    if (tune_option(args, &o->tuning, &taken) || tool_remarks_option(args, &o->remarks, &taken))
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
        bool ok = options_read_count("--max-operations", value, 0x1p53, &number);
        o->max_operations = ok ? (uint64_t)number : 0;
        return ok;
    }
    if (tool_option(args, "--sms", &value)) {
        bool ok = options_read_count("--sms", value, MAX_SMS, &number);
        o->sms = ok ? (unsigned)number : 0;
        return ok && (o->sms || !fail("--sms", "takes a number from 1"));
    }
    if (tool_option(args, "--trace-blocks", &value)) {
        bool ok = options_read_count("--trace-blocks", value, 1e6, &number);
        o->trace_blocks = ok ? (unsigned)number : 0;
        return ok;
    }
    if (tool_option(args, "--seed", &value)) {
        o->seed_given = options_read_count("--seed", value, 0x1p53, &number);
        o->seed = o->seed_given ? (uint64_t)number : 0;
        return o->seed_given;
    }
    if (tool_option(args, "--target", &value)) {
        o->target = tile_target_find(value);
        return o->target ||
               !fail(value, "there is no such target; `tile-run --help` lists the targets");
    }
    if (tool_option(args, "--level", &value)) {
        o->level = *value && !value[1] ? (unsigned)(*value - '0') : 0;
        return (o->level >= 1 && o->level <= 3) || !fail("--level", "takes 1, 2 or 3");
    }
    if (tool_option(args, "--tolerance", &value))
        return read_number("--tolerance", value, 1e30, &o->tolerance);
    if (tool_option(args, "--flush", &value)) return read_flush(value, &o->flush);
    if (tool_flag(args, "--variant")) return o->variant = true;
    if (tool_flag(args, "--counts")) return o->counts = true;
    if (tool_flag(args, "--timing")) return o->timing = true;
    if (tool_flag(args, "--time")) {
        o->repeats = 20;
        return true;
    }
    if (tool_option(args, "--time", &value)) {
        bool ok = options_read_count("--time", value, TILE_MAX_REPEATS, &number);
        o->repeats = ok ? (unsigned)number : 0;
        return ok;
    }
    if (!o->file && tool_positional(args, &o->file)) return true;
    if (*tool_current(args) != '-' && strchr(tool_current(args), '='))
        return !fail(tool_current(args), "write --arg before it for an argument of the kernel, "
                                         "--param for a parameter");
    return tool_refuse_option(args, "tile-run", help);
}

bool options_bind(const options *o, const char *name) {
    for (unsigned i = 0; i < o->binding_count; i++)
        if (strcmp(o->bindings[i].name, name) == 0) return true;
    return false;
}
