/* tile-bench program: any compute, plan or kernel, beside PyTorch. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/support/clock.h"
#include "tools/common/cache.h"
#include "tools/common/include.h"
#include "tools/tile-bench/bench.h"
#include "tools/tile-bench/measure/options.h"
#include "tools/tile-bench/program/arrays.h"
#include "tools/tile-bench/program/files.h"
#include "tools/tile-bench/program/list.h"
#include "tools/tile-bench/program/serve.h"

static const char help[] =
    "usage: tile-bench program FILE.tile|FOLDER .. [options]\n"
    "Measures each compute, plan or kernel: all launches together and each one, the least time "
    "that\n"
    "its bytes and products take, and PyTorch beside it, if there is a script of its peer. A "
    "result\n"
    "that is not checked has no time.\n"
    "\n"
    "  --param NAME=VALUE    a parameter or an integer argument; may be repeated\n"
    "  --small NAME=VALUE    sizes at which the result is compared with level 1. Without it those "
    "of\n"
    "                        the file's line `// small: NAME = NUMBER, ..`\n"
    "  --kernel=NAME         the function; required if a file has several\n"
    "  --peer=FILE.py        the script of the peer. Default: FILE.py beside FILE.tile, else "
    "peers.py\n"
    "                        in its folder. program_peers.py says what it defines\n"
    "  --no-peers            measures no peers\n"
    "  --python=PROGRAM      runs the peers (default: python3). Without it, peers on the CPU "
    "device are\n"
    "                        the references of Python, which only check\n"
    "  --device=auto|cuda|cpu   the CPU device checks everything, at the small sizes. Its times "
    "say\n"
    "                        nothing about those of a GPU\n"
    "  --rounds=N --turn=N   launches: N turns of N, the peer's in between (default: 3 and 7)\n"
    "  --l2=dirty|clean|none before each launch (default: dirty)\n"
    "  --steps               prints each launch, as for a single file\n"
    "  --csv=FILE            is written after each program. Programs that have a right result in "
    "it\n"
    "                        are not measured again\n"
    "  --csv, --json         prints only this, as --csv=- and --json=-; --json=FILE writes a file\n"
    "  --ahead=N             processes that compile for PyTorch before the first measurement;\n"
    "                        default: 14 at most for several files\n"
    "  --seconds=N           no program begins later\n"
    "  --timeout=N           seconds for one answer of a process (default: 60)\n"
    "  --list                prints how many kernels each program becomes, and its bytes; nothing "
    "is\n"
    "                        measured. For --target, or else for sm_90a. With --csv=FILE also the\n"
    "                        times in this file\n"
    "  --write-list=FILE     writes these numbers\n"
    "  --compare-list=FILE   fails if a program becomes more kernels than in this file\n"
    "  --target=NAME         compiles for another target\n"
    "  --ptxas=FILE          the assembler for the GPU (default: the driver's)\n" TOOL_INCLUDE_HELP
        TOOL_CACHE_HELP "  --help\n"
    "\n"
    "Exit status: 0 if all results are right, 1 otherwise.\n";

typedef struct options {
    bench_program_plan plan;
    bench_files files;
    const char *device, *target, *ptxas, *csv, *json, *serve, *write_list, *compare_list;
    bool list, has_ahead, serves_cuda;
    tool_cache cache;
    const char *words[32]; /* of the process that serves */
    char folder[64];
} options;

static bool complain(const char *what, const char *word) {
    fprintf(stderr, "error: %s '%s'; see tile-bench program --help\n", what, word);
    return false;
}

/* Options ------------------------------------------------------------------------------------- */

static bool add_setting(bench_settings *settings, const char *name, const char *value) {
    return bench_settings_add(settings, value) || complain(name, value);
}

static bool read_seconds(const char *name, const char *value, double *seconds) {
    return bench_read_number(name, value, 0.001, 1e6, seconds);
}

static bool parse_measuring(options *o, tool_arguments *words, bool *taken) {
    bench_program_plan *plan = &o->plan;
    const char *value;
    double seconds;
    *taken = true;
    if (tool_option(words, "--rounds", &value))
        return bench_read_count("--rounds", value, 1000, &plan->rounds);
    if (tool_option(words, "--turn", &value))
        return bench_read_count("--turn", value, 1000, &plan->turn);
    if (tool_option(words, "--ahead", &value)) {
        o->has_ahead = true;
        if (strcmp(value, "0") == 0) return true;
        return bench_read_count("--ahead", value, BENCH_PROGRAM_PEERS, &plan->ahead);
    }
    if (tool_option(words, "--l2", &plan->flush))
        return strcmp(plan->flush, "dirty") == 0 || strcmp(plan->flush, "clean") == 0 ||
               strcmp(plan->flush, "none") == 0 ||
               complain("--l2 takes dirty, clean or none, not", plan->flush);
    if (tool_option(words, "--timeout", &value))
        return read_seconds("--timeout", value, &plan->timeout);
    if (tool_option(words, "--seconds", &value)) {
        if (!read_seconds("--seconds", value, &seconds)) return false;
        plan->deadline = tile_seconds_now() + seconds;
        return true;
    }
    *taken = false;
    return true;
}

static bool parse_option(options *o, tool_arguments *words) {
    bench_program_plan *plan = &o->plan;
    const char *value;
    bool taken, ok = parse_measuring(o, words, &taken);
    if (taken) return ok;
    if (tool_include_option(words, &taken)) return taken;
    if (tool_cache_option(words, &o->cache)) return true;
    if (tool_option(words, "--param", &value))
        return add_setting(&plan->settings, "--param takes NAME=VALUE, not", value);
    if (tool_option(words, "--small", &value))
        return add_setting(&plan->small, "--small takes NAME=VALUE, not", value);
    if (tool_flag(words, "--no-peers")) return plan->no_peers = true;
    if (tool_flag(words, "--steps")) return plan->prints_steps = true;
    if (tool_flag(words, "--list")) return o->list = true;
    if (tool_flag(words, "--csv")) return (o->csv = "-") != NULL;
    if (tool_flag(words, "--json")) return (o->json = "-") != NULL;
    if (tool_option(words, "--csv", &o->csv) || tool_option(words, "--json", &o->json) ||
        tool_option(words, "--kernel", &plan->function) ||
        tool_option(words, "--peer", &plan->peer) ||
        tool_option(words, "--python", &plan->python) ||
        tool_option(words, "--device", &o->device) || tool_option(words, "--target", &o->target) ||
        tool_option(words, "--ptxas", &o->ptxas) ||
        tool_option(words, "--write-list", &o->write_list) ||
        tool_option(words, "--compare-list", &o->compare_list) ||
        tool_option(words, "--serve", &o->serve))
        return true;
    if (tool_positional(words, &value)) return bench_files_add(&o->files, value);
    return complain("unknown or incomplete option", tool_current(words));
}

/* The device ---------------------------------------------------------------------------------- */

/* Whether there is a GPU; *why is the reason if there is none. */
static bool has_gpu(char why[400]) {
    static const char *const words[] = {"worker", "--candidate=read", "--device=cuda", NULL};
    bench_worker *worker = bench_worker_start(NULL, words, NULL, NULL);
    bench_worker_send(worker, "facts");
    const char *answer = bench_worker_receive(worker, 60);
    bool has = strncmp(answer, "facts ", 6) == 0;
    snprintf(why, 400, "%s", has ? "" : answer + (strncmp(answer, "failed ", 7) == 0 ? 7 : 0));
    bench_worker_stop(worker);
    return has;
}

static bool choose_device(options *o) {
    char why[400];
    bool automatic = !o->device || strcmp(o->device, "auto") == 0;
    if (!automatic && strcmp(o->device, "cuda") != 0 && strcmp(o->device, "cpu") != 0)
        return complain("--device takes auto, cuda or cpu, not", o->device);
    o->plan.cuda = (automatic || strcmp(o->device, "cuda") == 0) && has_gpu(why);
    if (o->plan.cuda || (!automatic && strcmp(o->device, "cpu") == 0)) return true;
    if (!automatic) {
        fprintf(stderr, "error: %s; --device=cpu checks all results at small sizes without a GPU\n",
                why);
        return false;
    }
    fprintf(stderr, "remark: the CPU device is used, at the small sizes: %s\n", why);
    return true;
}

static bool find_target(options *o) {
    o->plan.target = tile_target_find(o->target ? o->target : "sm_90a");
    return o->plan.target || complain("--target: this is no target:", o->target);
}

/* The process that serves -----------------------------------------------------------------------
 */

static int serve(const options *o) {
    char *cache = tool_cache_folder(&o->cache);
    const bench_lab_options lab = {.cuda = o->device && strcmp(o->device, "cuda") == 0,
                                   .ptxas = o->ptxas,
                                   .cache_dir = o->cache.folder ? cache : NULL,
                                   .target = o->target ? tile_target_find(o->target) : NULL};
    int status = bench_program_serve(&lab, o->serve);
    free(cache);
    return status;
}

/* Without --cache-dir nothing is cached, so that the time to compile is that of compiling. */
static void write_serve_words(options *o) {
    unsigned count = 0;
    static char numbers[80];
    snprintf(numbers, sizeof numbers, "--serve=%s/numbers", o->folder);
    o->words[count++] = "program";
    o->words[count++] = numbers;
    o->words[count++] = o->plan.cuda ? "--device=cuda" : "--device=cpu";
    const char *const pairs[][2] = {
        {"--target=", o->target}, {"--ptxas=", o->ptxas}, {"--cache-dir=", o->cache.folder}};
    for (unsigned i = 0; i < 3; i++)
        if (pairs[i][1])
            o->words[count++] = bench_word(pairs[i][0], pairs[i][1], strlen(pairs[i][1]));
    for (unsigned k = 0; tool_include_word(k) && count < 31; k++)
        o->words[count++] = tool_include_word(k);
    o->plan.serve_words = o->words;
}

/* The run ---------------------------------------------------------------------------------------
 */

static bool read_known(const options *o, bench_results *results) {
    size_t size;
    if (!o->csv || strcmp(o->csv, "-") == 0 || access(o->csv, F_OK) != 0) return true;
    char *text = tool_read_file(o->csv, &size);
    bool ok = text && (!size || bench_results_read_csv(o->csv, text, results));
    bench_results_keep_right(results);
    free(text);
    return ok;
}

static bool list(const options *o) {
    bench_results results = {.count = 0};
    bool ok = read_known(o, &results) && bench_program_list(&o->plan, &results);
    bench_results_free(&results);
    return ok;
}

static bool write_file(const char *path, const bench_results *results,
                       void (*write)(const bench_results *, tile_writer, void *)) {
    tool_text text = {NULL, 0, 0};
    if (!path) return true;
    write(results, tool_append, &text);
    bool ok = tool_write_file(path, text.data, text.size);
    free(text.data);
    return ok;
}

static void write_so_far(const bench_results *results, void *user) {
    const options *o = user;
    if (o->csv && strcmp(o->csv, "-") != 0) write_file(o->csv, results, bench_results_write_csv);
}

/* In memory, if there is room for results of some GB. */
static const char *find_base(void) {
    const double needed = 8e9;
    struct statvfs about;
    bool fits = statvfs("/dev/shm", &about) == 0 && access("/dev/shm", W_OK) == 0 &&
                (double)about.f_bavail * (double)about.f_frsize > needed;
    return fits ? "/dev/shm" : "/tmp";
}

static bool make_folder(options *o) {
    const char *base = find_base();
    char path[96];
    snprintf(o->folder, sizeof o->folder, "%s/tile-bench-XXXXXX", base);
    if (!mkdtemp(o->folder)) return complain("no folder can be made:", o->folder);
    o->plan.folder = o->folder;
    snprintf(path, sizeof path, "%s/numbers", o->folder);
    return bench_numbers_write(path);
}

static void remove_folder(const options *o) {
    char path[96];
    for (int i = -1; i < TILE_MAX_ARGUMENTS; i++) {
        if (i < 0)
            snprintf(path, sizeof path, "%s/numbers", o->folder);
        else
            snprintf(path, sizeof path, "%s/result%d", o->folder, i);
        unlink(path);
    }
    rmdir(o->folder);
}

static void find_script(options *o) {
    static char script[700];
    if (bench_find_script("program", "program_peers.py", script, sizeof script))
        o->plan.script = script;
    else
        fputs("remark: program_peers.py is not in the program's folder, so no peers are measured\n",
              stderr);
}

static bool measure(options *o) {
    bench_results results = {.count = 0};
    bench_program_plan *plan = &o->plan;
    if (!choose_device(o) || !make_folder(o)) return false;
    bench_catch_signals();
    write_serve_words(o);
    if (!plan->no_peers) find_script(o);
    if (!o->has_ahead && plan->cuda && plan->script && plan->file_count > 2) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN) - 2;
        plan->ahead = cores < 1                     ? 1
                      : cores > BENCH_PROGRAM_PEERS ? BENCH_PROGRAM_PEERS
                                                    : (unsigned)cores;
    }
    plan->times_peers = plan->cuda || plan->python;
    if (!plan->python) plan->python = "python3";
    plan->prints_steps |= plan->file_count == 1;
    plan->is_quiet = (o->csv && strcmp(o->csv, "-") == 0) || (o->json && strcmp(o->json, "-") == 0);
    plan->done = write_so_far;
    plan->user = o;
    bool ok = read_known(o, &results) && bench_program_run(plan, &results);
    if (!plan->is_quiet && plan->file_count > 1)
        bench_results_write_summary(&results, tool_write, stdout);
    bool csv = write_file(o->csv, &results, bench_results_write_csv);
    bool json = write_file(o->json, &results, bench_results_write_json);
    bench_results_free(&results);
    remove_folder(o);
    return ok && csv && json;
}

int tile_bench_program(tool_arguments *words) {
    static options o = {.plan = {.flush = "dirty", .rounds = 3, .turn = 7, .timeout = 60}};
    while (words->next < words->argc) {
        if (tool_flag(words, "--help") || tool_flag(words, "-h")) {
            fputs(help, stdout);
            return tool_finish(true);
        }
        if (!parse_option(&o, words)) return 1;
    }
    if (o.serve) return serve(&o);
    o.plan.files = o.files.paths;
    o.plan.file_count = o.files.count;
    if (!o.files.count)
        return tool_finish(complain("there is no program: write a FILE.tile or a folder, not", ""));
    bool ok = find_target(&o);
    if (ok && o.list) ok = list(&o);
    if (ok && o.write_list) ok = bench_program_write_list(&o.plan, o.write_list);
    if (ok && o.compare_list) ok = bench_program_compare_list(&o.plan, o.compare_list);
    if (ok && !o.list && !o.write_list && !o.compare_list) ok = measure(&o);
    bench_files_free(&o.files);
    return tool_finish(ok);
}
