/* tile-random: checks random kernels, or one from a file, in all ways.
 *
 * A child process runs many kernels in sequence. If a kernel crashes or hangs, the parent knows its
 * seed and continues with the next one in a new child. */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/fuzz/random/check.h"
#include "test/fuzz/random/random.h"
#include "tile/device.h"
#include "tools/common/assembler.h"

static const char help[] =
    "usage: tile-random [options], or tile-random --check FILE\n"
    "  --seed=N --count=N    these kernels (default 1, 100)\n"
    "  --seconds=N           no new ones after so long\n"
    "  --least=N             but so many\n"
    "  --share=I/N           the I-th of N parts of these kernels and times\n"
    "  --device=cuda         compare level 2 with the GPU; without it with level 3, other passes,\n"
    "                        and level 1\n"
    "  --ptx[=EACH]          make PTX of each, or each EACH-th\n"
    "  --ptxas=FILE[,EACH]   and assemble each EACH-th (8); what ptxas says of wgmma is wrong, "
    "too\n"
    "  --keep=FOLDER         where kernels go that fail (default /tmp)\n"
    "  --reduce              make them small\n"
    "  --go-on               do not stop at the first one\n"
    "  --online              only computes whose scores nobody writes, at all points\n"
    "  --plant               let the results be wrong\n"
    "  --print               write the kernels, and do nothing with them\n"
    "  --coverage            count the operations of the kernels: all of ops.def occur, or stand "
    "in\n"
    "                        not_generated.def\n"
    "  --check FILE          exit status 0, or one for what is wrong\n";

typedef struct run_options {
    unsigned long long seed, count, least, share, shares;
    double seconds;
    unsigned ptx_each, ptxas_each;
    const char *ptxas, *keep, *file, *program;
    bool cuda, go_on, reduce, print, coverage, plant, online;
} run_options;

enum { SIGNATURES = 15 }; /* a signature must fit an exit status */
enum { STATUS_BASE = 20, MAX_SILENCE = 120 /* seconds for one kernel */ };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static char *make(const run_options *o, unsigned long long seed) {
    const gen_options options = {.seed = seed, .cuda = o->cuda, .online = o->online};
    return gen_kernel(&options);
}

static check_options options_of(const run_options *o, unsigned long long seed) {
    check_options c = {.cuda = o->cuda, .plant = o->plant};
    c.ptx = o->ptx_each && seed % o->ptx_each == 0;
    if (o->ptxas && (o->cuda || seed % o->ptxas_each == 0)) c.ptxas = o->ptxas;
    c.ptx |= c.ptxas != NULL;
    return c;
}

/* The child ----------------------------------------------------------------------------------- */

/* Holds a CUDA context that outlives the kernels' devices, because creating one is slow. */
static void hold_gpu(const run_options *o) {
    tile_device *device;
    if (o->cuda) tile_device_create_cuda(tile_context_create(), NULL, &device);
}

/* Writes the lines `begin SEED` and `end FINDING`, with the detail in between. */
static _Noreturn void run_child(const run_options *o, unsigned long long first, double end,
                                FILE *to) {
    hold_gpu(o);
    for (unsigned long long i = first; i < o->count && (now() < end || i < o->least); i++) {
        char *detail, *text = make(o, o->seed + i);
        fprintf(to, "begin %llu\n", i);
        fflush(to);
        const check_options options = options_of(o, o->seed + i);
        finding found = check_kernel(&options, text, &detail);
        bool wrong = found != FOUND_NOTHING && found != FOUND_LIMIT;
        if (wrong) fprintf(to, "%s", detail);
        fprintf(to, "\nend %d\n", (int)found);
        fflush(to);
        free(detail);
        free(text);
        if (wrong && !o->go_on) break;
    }
    fprintf(to, "done\n");
    fflush(to);
    _exit(0);
}

/* The parent ---------------------------------------------------------------------------------- */

typedef struct tally {
    unsigned long long next, done, refused, wrong;
    bool is_over;
} tally;

static void show(const run_options *o, unsigned long long seed, const char *what,
                 const char *detail, size_t length) {
    char path[512], command[2048];
    snprintf(path, sizeof path, "%s/random%llu.tile", o->keep, seed);
    char *text = make(o, seed);
    tool_write_file(path, text, strlen(text));
    free(text);
    printf("seed %llu: %s\n%.*s\n    tile-random --seed=%llu --count=1%s%s%s\n", seed, what,
           (int)length, detail, seed, o->online ? " --online" : "", o->cuda ? " --device=cuda" : "",
           o->ptx_each ? " --ptx" : "");
    snprintf(command, sizeof command,
             "tile-opt %s --run-reproducer --reduce-with='%s%s%s%s%s --check' -o "
             "%s/random%llu.small.tile",
             path, o->program, o->cuda ? " --device=cuda" : "", o->ptx_each ? " --ptx" : "",
             o->ptxas ? " --ptxas=" : "", o->ptxas ? o->ptxas : "", o->keep, seed);
    printf("    %s\n", command);
    fflush(stdout);
    if (o->reduce && system(command) != 0) printf("    it did not become smaller\n");
}

/* Parses the lines of one child. Text about a kernel that it did not finish is kept in *left. */
static void understand(const run_options *o, char *said, tally *t, const char *how_it_ended) {
    for (char *at = strstr(said, "begin "); at; at = strstr(at, "begin ")) {
        unsigned long long index = strtoull(at + 6, NULL, 10);
        char *detail = at + strcspn(at, "\n"), *end = strstr(detail, "\nend ");
        t->next = index + 1;
        t->done++;
        finding found = end ? (finding)strtol(end + 5, NULL, 10) : FOUND_NOTHING;
        t->refused += end && found == FOUND_LIMIT;
        if (!end || (found != FOUND_NOTHING && found != FOUND_LIMIT)) {
            t->wrong++;
            show(o, o->seed + index, end ? finding_text(found) : how_it_ended, detail + 1,
                 end && end > detail ? (size_t)(end - detail - 1) : 0);
            t->is_over |= !o->go_on;
        }
        at = end ? end + 5 : at + strlen(at);
    }
}

/* Reads the child's output. False if there is none for too long or it ended. */
static bool listen(int from, tool_text *said) {
    char part[4096];
    tool_append("", 0, said);
    for (;;) {
        struct pollfd wait = {.fd = from, .events = POLLIN};
        if (poll(&wait, 1, 1000 * MAX_SILENCE) == 0) return false;
        ssize_t count = read(from, part, sizeof part);
        if (count <= 0) return true;
        tool_append(part, (size_t)count, said);
    }
}

static void run_some(const run_options *o, double end, tally *t) {
    int ends[2], status = 0;
    tool_text said = {NULL, 0, 0};
    char how[64];
    fflush(NULL);
    if (pipe(ends) != 0) exit(1);
    pid_t pid = fork();
    if (pid < 0) exit(1);
    if (pid == 0) {
        close(ends[0]);
        FILE *to = fdopen(ends[1], "w");
        if (to) run_child(o, t->next, end, to);
        _exit(1);
    }
    close(ends[1]);
    bool spoke = listen(ends[0], &said);
    if (!spoke) kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    close(ends[0]);
    if (!spoke)
        snprintf(how, sizeof how, "it does not end");
    else
        snprintf(how, sizeof how, "it crashes: signal %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    t->is_over |= strstr(said.data, "\ndone\n") != NULL || strcmp(said.data, "done\n") == 0;
    understand(o, said.data, t, how);
    free(said.data);
}

static int run_all(const run_options *o) {
    tally t = {.next = 0};
    double end = now() + o->seconds;
    while (!t.is_over && t.next < o->count) run_some(o, end, &t);
    printf("%llu kernels compared, %llu too large, %llu wrong\n", t.done - t.refused, t.refused,
           t.wrong);
    return t.wrong ? 1 : 0;
}

/* One file ------------------------------------------------------------------------------------ */

/* Hashes the report up to its first number or name, so that reduced cases have the same
 * signature. */
static unsigned signature(const char *detail) {
    unsigned sum = 0;
    const char *at = strstr(detail, "error: ");
    for (at = at ? at + 7 : ""; *at && !strchr("%@\n0123456789", *at); at++)
        sum = sum * 31 + (unsigned char)*at;
    return sum;
}

static int check_file(const run_options *o) {
    size_t size;
    char *detail, *text = tool_read_file(o->file, &size);
    if (!text) return 1;
    const check_options options = {
        .cuda = o->cuda, .ptx = o->ptx_each > 0 || o->ptxas, .ptxas = o->ptxas, .plant = o->plant};
    finding found = check_kernel(&options, text, &detail);
    printf("%s\n%s", finding_text(found), detail);
    unsigned kind = (unsigned)found + FINDINGS * (signature(detail) % SIGNATURES);
    free(detail);
    free(text);
    return found == FOUND_NOTHING || found == FOUND_LIMIT ? 0 : STATUS_BASE + (int)kind;
}

/* Coverage ------------------------------------------------------------------------------------ */

static const char *reason_against(const char *name) {
#define NOT_GENERATED(operation, reason) \
    if (strcmp(name, #operation) == 0) return reason;
#include "test/fuzz/random/not_generated.def"
#undef NOT_GENERATED
    (void)name;
    return NULL;
}

static int cover(const run_options *o) {
    static unsigned counts[TILE_OPCODE_LIMIT];
    unsigned wrong = 0, occur = 0;
    for (unsigned long long i = 0; i < o->count; i++) {
        char *text = make(o, o->seed + i);
        if (!count_operations(text, counts, TILE_OPCODE_LIMIT)) {
            printf("seed %llu: it is not a kernel\n", o->seed + i);
            wrong++;
        }
        free(text);
    }
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        const tile_op_info *info = tile_op_get_info((tile_opcode)i);
        if (!info || !info->name) continue;
        const char *reason = reason_against(info->name);
        occur += counts[i] > 0;
        wrong += (counts[i] > 0) == (reason != NULL);
        if (!counts[i] && !reason)
            printf("%s: no random kernel has it: generate it (test/fuzz/random), or say in "
                   "not_generated.def why not\n",
                   info->name);
        if (counts[i] && reason)
            printf("%s: occurs, and stands in not_generated.def\n", info->name);
    }
    printf("%u operations occur, %u complaints\n", occur, wrong);
    return wrong ? 1 : 0;
}

/* The command line ---------------------------------------------------------------------------- */

static bool take_number(tool_arguments *words, const char *name, unsigned long long *to) {
    const char *given;
    if (!tool_option(words, name, &given)) return false;
    *to = strtoull(given, NULL, 10);
    return true;
}

static bool take_flags(tool_arguments *words, run_options *o) {
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--go-on", &o->go_on}, {"--reduce", &o->reduce},     {"--print", &o->print},
                 {"--plant", &o->plant}, {"--coverage", &o->coverage}, {"--online", &o->online}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (tool_flag(words, flags[i].name)) return *flags[i].flag = true;
    return false;
}

static bool take_word(tool_arguments *words, run_options *o) {
    const char *given;
    unsigned long long number;
    if (take_flags(words, o) || take_number(words, "--seed", &o->seed) ||
        take_number(words, "--count", &o->count) || take_number(words, "--least", &o->least) ||
        tool_option(words, "--keep", &o->keep) || tool_option(words, "--check", &o->file))
        return true;
    if (take_number(words, "--seconds", &number)) {
        o->seconds = (double)number;
    } else if (tool_option(words, "--share", &given)) {
        return sscanf(given, "%llu/%llu", &o->share, &o->shares) == 2 && o->share > 0 &&
               o->share <= o->shares;
    } else if (tool_option(words, "--device", &given)) {
        o->cuda = strcmp(given, "cuda") == 0;
        return o->cuda ? !tool_refuses_cuda() : strcmp(given, "cpu") == 0;
    } else if (tool_flag(words, "--ptx")) {
        o->ptx_each = 1;
    } else if (take_number(words, "--ptx", &number)) {
        o->ptx_each = (unsigned)number;
    } else if (tool_option(words, "--ptxas", &given)) {
        const char *comma = strchr(given, ',');
        o->ptxas = comma ? tool_copy(given, (size_t)(comma - given)) : given;
        o->ptxas_each = comma && atoi(comma + 1) > 0 ? (unsigned)atoi(comma + 1) : 8;
    } else {
        return false;
    }
    return true;
}

static void take_share(run_options *o) {
    o->count = (o->count + o->shares - 1) / o->shares;
    o->least = (o->least + o->shares - 1) / o->shares;
    o->seconds /= (double)o->shares;
    o->seed += (o->share - 1) * o->count;
}

int main(int argc, char **argv) {
    run_options o = {.seed = 1,
                     .count = 100,
                     .share = 1,
                     .shares = 1,
                     .seconds = 1e9,
                     .keep = "/tmp",
                     .program = argv[0]};
    tool_arguments words = {argc, argv, 1};
    while (words.next < argc)
        if (!take_word(&words, &o)) {
            fputs(help, stderr);
            return 1;
        }
    take_share(&o);
    mkdir(o.keep, 0777);
    if (o.file) return check_file(&o);
    if (o.coverage) return cover(&o);
    for (unsigned long long i = 0; i < o.count && o.print; i++) {
        char *text = make(&o, o.seed + i);
        puts(text);
        free(text);
    }
    return o.print ? 0 : run_all(&o);
}
