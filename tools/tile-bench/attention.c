/* tile-bench attention: kernels beside PyTorch's flash and cuDNN, and the floors. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tile-bench/bench.h"
#include "tools/tile-bench/options.h"

static const char help_head[] =
    "usage: tile-bench attention [--kernel=FILE[:NAME] [--point=..]..].. [--shapes=LIST|FILE] "
    "[options]\n"
    "Measures kernels that compute o = softmax(q x k^T / sqrt(d)) x v, beside PyTorch's flash "
    "and\n"
    "cuDNN backends and the floors of memory and tensor cores. A kernel takes %batch, %heads,\n"
    "%groups, %m, %n, %d, %causal, %scale as far as it needs them, the arrays %q, %k, %v, %o, "
    "and\n"
    "%lengths (all are n), %slopes (0), %window (0), %lse.\n"
    "Every result is checked first, against f64; each candidate has a process of its own.\n"
    "\n"
    "  --kernel=FILE[:NAME]  a kernel, plan or (by name) compute; NAME if FILE has several. May "
    "be\n"
    "                        given again.\n"
    "                        Without any: attention.tile and, of e4m3, attention_fp8.tile\n"
    "  --param=NAME=VALUE    binds a parameter of the kernel before it; {type} and {result} are "
    "the\n"
    "                        element types of q and of o, {d} is the shape's\n"
    "  --point='A=1 B=2'     likewise, several at once; each further --point is one more "
    "candidate.\n"
    "                        Without any the kernel takes its tuned point, else the model's\n";

static const char help_shapes[] =
    "  --shape=BATCH,HEADS,GROUPS,M,N,D[,causal]  heads of queries and of keys, queries, keys and\n"
    "                        elements of each; may be given again\n"
    "  --shapes=LIST         shapes from a file (blanks between them, # begins a comment), or\n";

static const char help_own[] =
    "  --type=f16            of q, k and v: f16 bf16 e4m3 (o is bf16 then, and\n"
    "                        v has its keys one after the other); several with commas\n"
    "  --check=random        inputs of the check, with commas, or all:\n";

static const char help_peers[] = "  --python=PROGRAM      runs attention_peers.py, which asks "
                                 "PyTorch; default: python3 on a GPU, "
                                 "and\n"
                                 "                        nobody on the CPU device\n"
                                 "  --no-peers            leaves PyTorch out\n";

static const char help_end[] =
    "\n"
    "FLOP are 4 d for each score, half of them in causal squares. The error is the largest one of\n"
    "the rows that are looked at: beside what rounding explains there, and beside 1.5 times "
    "flash's\n"
    "own on the same inputs and 2e-4. Exit status: 0 if each shape had a candidate that is right, "
    "1\n"
    "otherwise.\n";

typedef struct options {
    bench_options common;
    const char *python;
    bool no_peers;
} options;

/* Options ------------------------------------------------------------------------------------- */

/* Each kind of inputs once, however often it is named. */
static void add_check(bench_plan *plan, bench_inputs inputs) {
    for (unsigned i = 0; i < plan->check_count; i++)
        if (plan->checks[i] == inputs) return;
    plan->checks[plan->check_count++] = inputs;
}

static bool add_checks(options *o, const char *value) {
    bench_plan *plan = &o->common.plan;
    char piece[16];
    while (bench_next_word(&value, piece)) {
        bench_inputs inputs;
        bool all = strcmp(piece, "all") == 0;
        for (unsigned i = 0; i < BENCH_INPUTS_COUNT && all; i++) add_check(plan, (bench_inputs)i);
        if (all) continue;
        if (!bench_inputs_find(piece, &inputs))
            return bench_complain(&o->common,
                                  "--check takes all, or random late early spiky large equal, not",
                                  piece);
        add_check(plan, inputs);
    }
    return true;
}

static bool parse_option(options *o, tool_arguments *words) {
    const char *value;
    bool taken;
    if (!bench_parse_option(&o->common, words, &taken)) return false;
    if (taken) return true;
    if (tool_option(words, "--check", &value)) return add_checks(o, value);
    if (tool_option(words, "--python", &o->python)) return true;
    if (tool_flag(words, "--no-peers")) return o->no_peers = true;
    return bench_complain(&o->common, "unknown or incomplete option", tool_current(words));
}

static void print_help(void) {
    fputs(help_head, stdout);
    fputs(bench_kernel_help, stdout);
    fputs(help_shapes, stdout);
    bench_shapes_describe(&bench_attention_shapes);
    fputs(help_own, stdout);
    bench_inputs_describe();
    fputs(help_peers, stdout);
    fputs(bench_measuring_help, stdout);
    fputs(help_end, stdout);
}

/* Candidates ---------------------------------------------------------------------------------- */

static void add_peer(options *o, const char *script, const char *name, const char *kind) {
    bench_plan *plan = &o->common.plan;
    if (plan->contender_count == BENCH_MAX_CANDIDATES) return;
    bench_contender *c = &plan->contenders[plan->contender_count++];
    *c =
        (bench_contender){.name = name, .kind = kind, .program = o->python ? o->python : "python3"};
    bench_contender_add_word(c, script);
    bench_contender_add_word(c, bench_word("--backend=", kind, strlen(kind)));
    bench_contender_add_word(c, bench_word("--folder=", plan->folder, strlen(plan->folder)));
}

/* On the CPU device nobody is compared with who is not asked for. False after a message. */
static bool add_peers(options *o, char folder[]) {
    static char script[700];
    if ((!o->common.plan.cuda && !o->python) || o->no_peers) return true;
    if (!bench_find_script("attention_peers.py", script, sizeof script)) {
        fputs("remark: attention_peers.py is not beside the program, so there are no peers\n",
              stderr);
        return true;
    }
    if (!mkdtemp(folder)) {
        fprintf(stderr, "error: no folder could be made: %s\n", folder);
        return false;
    }
    o->common.plan.folder = folder;
    add_peer(o, script, "flash", "flash");
    add_peer(o, script, "cuDNN", "cudnn");
    return true;
}

static void remove_folder(const char *folder) {
    static const char *const names[] = {"q", "k", "v", "o"};
    char path[300];
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
}

/* The run ------------------------------------------------------------------------------------- */

/* The shapes, and each of them with all types. False after a message. */
static bool add_problems(options *o) {
    bench_plan *plan = &o->common.plan;
    const bench_options *common = &o->common;
    plan->problems = calloc(common->shapes.count * common->type_count, sizeof *plan->problems);
    if (!plan->problems) abort();
    for (size_t s = 0; s < common->shapes.count; s++)
        for (unsigned t = 0; t < common->type_count; t++) {
            const int64_t *shape = common->shapes.shapes[s];
            bench_problem *p = &plan->problems[plan->problem_count++];
            p->is_attention = true;
            p->attention = (bench_attention){.batch = shape[0],
                                             .heads = shape[1],
                                             .groups = shape[2],
                                             .m = shape[3],
                                             .n = shape[4],
                                             .d = shape[5],
                                             .causal = shape[6] != 0,
                                             .type = common->types[t]};
            if (shape[1] % shape[2] == 0) continue;
            fprintf(stderr,
                    "error: %lld heads cannot share the keys of %lld groups: give groups "
                    "that divide them\n",
                    (long long)shape[1], (long long)shape[2]);
            return false;
        }
    return true;
}

static void write_title(const options *o, bench_report *report) {
    tool_text text = {NULL, 0, 0};
    for (unsigned i = 0; i < o->common.type_count; i++)
        bench_print(tool_append, &text, "%s%s", i ? ", " : "attention, ", o->common.types[i]->name);
    bench_describe_protocol(&o->common, &text);
    snprintf(report->title, sizeof report->title, "%s", text.data);
    free(text.data);
}

/* 8-bit floats have a kernel of their own. */
static bool add_shipped_kernels(options *o) {
    static const char *const files[] = {"attention.tile", NULL};
    static const char *const bytes[] = {"attention_fp8.tile", NULL};
    static const char *const params[] = {"d={d}", "T={type}", NULL};
    static const char *const bytes_params[] = {"d={d}", "T={type}", "R={result}", NULL};
    unsigned wide = 0;
    for (unsigned i = 0; i < o->common.type_count; i++)
        wide += tile_scalar_bytes(o->common.types[i]->operand) > 1;
    return (!wide || bench_add_shipped(&o->common, files, "", params)) &&
           (wide == o->common.type_count || bench_add_shipped(&o->common, bytes, "", bytes_params));
}

int tile_bench_attention(tool_arguments *words) {
    static char folder[] = "/tmp/tile-bench-XXXXXX";
    static options o = {.common = {.command = "attention",
                                   .subject = "shapes",
                                   .allowed_types = "f16 bf16 e4m3",
                                   .peer = "cuDNN",
                                   .shapes = {.form = &bench_attention_shapes},
                                   .plan = BENCH_PLAN_DEFAULTS}};
    bench_report report = {.peer_name = "cuDNN"};
    o.common.plan.peer_kind = "cudnn";
    while (words->next < words->argc) {
        if (tool_flag(words, "--help") || tool_flag(words, "-h")) {
            print_help();
            return tool_finish(true);
        }
        if (!parse_option(&o, words)) return 1;
    }
    if (!bench_options_ready(&o.common, &report) || !add_problems(&o)) return 1;
    if (!o.common.plan.check_count && !add_checks(&o, "random")) return 1;
    if (!o.common.plan.contender_count && !o.common.no_kernels && !add_shipped_kernels(&o))
        return 1;
    if (!add_peers(&o, folder)) return 1;
    write_title(&o, &report);
    bool right = bench_measure(&o.common, &report);
    if (o.common.plan.folder) remove_folder(folder);
    return tool_finish(right);
}
