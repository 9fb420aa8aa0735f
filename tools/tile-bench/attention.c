/* tile-bench attention: kernels compared with PyTorch's flash attention and cuDNN, and with lower
 * bounds (floors). */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tile-bench/bench.h"
#include "tools/tile-bench/measure/estimate.h"
#include "tools/tile-bench/measure/options.h"

static const char help_head[] =
    "usage: tile-bench attention [--kernel=FILE[:NAME] [--point=..]..].. [--shapes=LIST|FILE] "
    "[options]\n"
    "Compares kernels that compute o = softmax(q x k^T / sqrt(d)) x v with PyTorch's flash and "
    "cuDNN\n"
    "backends and with the floors of memory and tensor cores. A kernel takes those of %batch, "
    "%heads,\n"
    "%groups, %m, %n, %d, %causal and %scale that it needs, the arrays %q, %k, %v, %o, and "
    "%lengths\n"
    "(all are n), %slopes (0), %window (0), %lse. A kernel with an array %table gets its keys in\n"
    "pages of 16 (%pages, %page, %most).\n"
    "Every result is first checked against f64. Each candidate runs in its own process.\n"
    "\n"
    "  --kernel=FILE[:NAME]  a kernel, plan or (by name) compute; NAME if FILE has several. May "
    "be\n"
    "                        repeated. Without it: attention.tile and, for e4m3,\n"
    "                        attention_fp8.tile\n"
    "  --param=NAME=VALUE    sets a parameter of the preceding kernel; {type} and {result} are "
    "the\n"
    "                        element types of q and of o, {d} is the shape's\n"
    "  --point='A=1 B=2'     sets several parameters; each further --point adds one candidate.\n"
    "                        Without it the kernel uses its tuned point, else the model's\n";

static const char help_shapes[] =
    "  --shape=BATCH,HEADS,GROUPS,M,N,D[,causal]  heads of queries and of keys, number of queries\n"
    "                        and keys, elements of each; may be repeated\n"
    "  --shapes=LIST         shapes from a file (blanks between them, # begins a comment), or\n";

static const char help_own[] =
    "  --type=f16            type of q, k and v: f16 bf16 e4m3 (o is then bf16, and v has its "
    "keys\n"
    "                        contiguous); several with commas\n"
    "  --all                 measures everything in the README's table, for f16 and bf16, with "
    "all\n"
    "                        checks, by both protocols (--pairs=3 --seconds=0.6), unless "
    "following\n"
    "                        options change this (--shape: these shapes, for each kernel). Prints\n"
    "                        the plan first, then each result\n"
    "  --plan                prints what would be measured, and about how long it would take on "
    "an\n"
    "                        H200, without a GPU\n"
    "  --check=random        inputs of the check, several with commas, or all:\n";

static const char help_peers[] = "  --python=PROGRAM      runs attention_peers.py, which measures "
                                 "PyTorch; default: python3 on a\n"
                                 "                        GPU, nothing on the CPU device\n"
                                 "  --no-peers            does not measure PyTorch\n";

static const char help_end[] = "\n"
                               "FLOP are 4 d for each score, and half of these in causal squares. "
                               "The error is the largest one of\n"
                               "the checked rows. Its bounds are the rounding error of each "
                               "element, and 1.5 times flash's own\n"
                               "error on the same inputs and 2e-4; the bound of its norm is 1.3 "
                               "times flash's. On a GPU, bf16\n"
                               "must have 0.97 of the speed of f16. Exit status: 0 if each shape "
                               "had a correct candidate and all\n"
                               "correct kernels kept these limits, 1 otherwise.\n";

enum { MAX_PART_SHAPES = 64 }; /* for --all */

typedef struct options {
    bench_options common;
    const char *python;
    bool no_peers, all, plans;
    unsigned part_of[MAX_PART_SHAPES]; /* for --all: the first of attention/parts.def that has
                                          this shape */
} options;

/* Options ------------------------------------------------------------------------------------- */

/* Adds each kind of inputs once, however often it is named. */
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

/* Sets defaults that later options may override. */
static bool begin_all(options *o) {
    bench_plan *plan = &o->common.plan;
    plan->interleaved = plan->sustained = o->common.as_they_come = true;
    plan->pairs = 3;
    plan->seconds = 0.6;
    return o->all = true;
}

static bool parse_option(options *o, tool_arguments *words) {
    const char *value;
    bool taken;
    if (!bench_parse_option(&o->common, words, &taken)) return false;
    if (taken) return true;
    if (tool_option(words, "--check", &value)) return add_checks(o, value);
    if (tool_option(words, "--python", &o->python)) return true;
    if (tool_flag(words, "--no-peers")) return o->no_peers = true;
    if (tool_flag(words, "--all")) return begin_all(o);
    if (tool_flag(words, "--plan")) return o->plans = true;
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
    fputs(bench_random_help, stdout);
    fputs(bench_measuring_help, stdout);
    fputs(help_end, stdout);
}

/* Candidates ---------------------------------------------------------------------------------- */

static void add_peer(options *o, const char *script, const char *name, const char *kind) {
    bench_plan *plan = &o->common.plan;
    if (plan->contender_count == BENCH_MAX_CANDIDATES) return;
    bench_candidate_spec *c = &plan->contenders[plan->contender_count++];
    *c = (bench_candidate_spec){
        .name = name, .kind = kind, .program = o->python ? o->python : "python3"};
    bench_contender_add_word(c, script);
    bench_contender_add_word(c, bench_word("--backend=", kind, strlen(kind)));
    bench_contender_add_word(c, bench_word("--folder=", plan->folder, strlen(plan->folder)));
}

/* On the CPU device peers are compared only if the command line names them. */
static void add_peers(options *o) {
    static char script[700];
    if ((!o->common.plan.cuda && !o->python) || o->no_peers) return;
    if (!bench_find_script("attention", "attention_peers.py", script, sizeof script)) {
        fputs("remark: attention_peers.py is not in the program's folder, so there are no peers\n",
              stderr);
        return;
    }
    if (!o->common.random.count) add_peer(o, script, "flash", "flash");
    add_peer(o, script, "cuDNN", "cudnn");
}

/* Creates the folder for inputs and results. False after a message. */
static bool make_folder(options *o) {
    static char folder[240];
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tile-bench-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    o->common.plan.folder = mkdtemp(folder);
    if (!o->common.plan.folder) fprintf(stderr, "error: no folder could be created: %s\n", folder);
    return o->common.plan.folder != NULL;
}

/* Also removes results that a stopped worker may have left. */
static void remove_folder(const char *folder) {
    char path[300];
    for (unsigned i = 0; i < BENCH_MAX_CANDIDATES + 2; i++) {
        if (i < BENCH_MAX_CANDIDATES)
            snprintf(path, sizeof path, "%s/o%u", folder, i);
        else
            snprintf(path, sizeof path, "%s/%s", folder,
                     i == BENCH_MAX_CANDIDATES ? "numbers" : "factors");
        remove(path);
    }
    rmdir(folder);
}

/* Parts --------------------------------------------------------------------------------------- */

typedef struct part {
    const char *shapes, *file, *kernel;
    bool latency_alone;
    const char *meaning;
} part;

enum { PROTOCOLS_all, PROTOCOLS_latency };

/* The parts that --all measures. */
static const part parts[] = {
#define PART(shapes, file, kernel, protocols, meaning) \
    {#shapes, file, kernel, PROTOCOLS_##protocols == PROTOCOLS_latency, meaning},
#include "tools/tile-bench/attention/parts.def"
#undef PART
};

enum { PARTS = sizeof parts / sizeof *parts };

/* Returns the number of a part, from 1 on. Adjacent parts with the same shapes share one. */
static unsigned number_of(unsigned index) {
    unsigned number = 1;
    for (unsigned i = 1; i <= index; i++)
        number += strcmp(parts[i].shapes, parts[i - 1].shapes) != 0;
    return number;
}

static bool add_all_kernels(options *o) {
    static const char *const params[] = {"d={d}", "T={type}", NULL};
    for (unsigned i = 0; i < PARTS; i++) {
        const char *const files[] = {parts[i].file, NULL};
        unsigned before = o->common.plan.contender_count;
        if (!bench_add_shipped(&o->common, files, parts[i].kernel, params)) return false;
        for (; before < o->common.plan.contender_count; before++)
            o->common.plan.contenders[before].part = number_of(i);
    }
    return true;
}

/* Adds each part's own shapes, or the ones that were given. */
static bool add_all_shapes(options *o) {
    bench_shapes *shapes = &o->common.shapes;
    const size_t given = shapes->count;
    for (unsigned i = 0; i < PARTS; i++) {
        size_t before = given && i == 0 ? 0 : shapes->count;
        if (i && number_of(i) == number_of(i - 1)) continue;
        if (!given && !bench_shapes_add_list(shapes, parts[i].shapes)) return false;
        if (given && i) bench_shapes_repeat(shapes, given);
        if (shapes->count > MAX_PART_SHAPES)
            return bench_complain(&o->common, "there are too many shapes for", "--all");
        for (; before < shapes->count; before++) o->part_of[before] = i;
    }
    return true;
}

static bool take_all(options *o) {
    if (o->common.random.count)
        return bench_complain(&o->common, "--all has its own shapes; remove", "--random");
    if (o->common.plan.contender_count)
        return bench_complain(&o->common, "--all has its own kernels; remove", "--kernel");
    if (!o->common.type_count && !bench_add_types(&o->common, "f16,bf16")) return false;
    for (unsigned t = 0; t < o->common.type_count; t++)
        if (tile_scalar_bytes(o->common.types[t]->operand) == 1)
            return bench_complain(&o->common, "--all takes f16 and bf16, not",
                                  o->common.types[t]->name);
    return (o->common.plan.check_count || add_checks(o, "all")) && add_all_shapes(o);
}

/* The run ------------------------------------------------------------------------------------- */

static bool add_shape(options *o, size_t s, unsigned type) {
    const int64_t *shape = o->common.shapes.shapes[s];
    bench_problem *p = &o->common.plan.problems[o->common.plan.problem_count++];
    p->is_attention = true;
    p->part = o->all ? number_of(o->part_of[s]) : 0;
    p->latency_alone = o->all && parts[o->part_of[s]].latency_alone;
    p->attention = (bench_attention){.batch = shape[0],
                                     .heads = shape[1],
                                     .groups = shape[2],
                                     .m = shape[3],
                                     .n = shape[4],
                                     .d = shape[5],
                                     .causal = shape[6] != 0,
                                     .type = o->common.types[type]};
    if (shape[1] % shape[2] == 0) return true;
    fprintf(stderr,
            "error: %lld heads cannot share the keys of %lld groups: give groups that divide "
            "them\n",
            (long long)shape[1], (long long)shape[2]);
    return false;
}

/* On random problems, the parts are wide elements and bytes. */
enum { WIDE = 1, BYTES };

static bool add_random(options *o, size_t index, unsigned type) {
    bench_problem *p = &o->common.plan.problems[o->common.plan.problem_count++];
    p->is_attention = true;
    p->attention.type = o->common.types[type];
    p->part = tile_scalar_bytes(p->attention.type->operand) == 1 ? BYTES : WIDE;
    return bench_draw_attention(&o->common.random.draw, (unsigned)index, &p->attention) ||
           bench_complain(&o->common, "no random attention is as small as", "--max-bytes");
}

/* Adds each shape, or each random one, with each type. False after a message. */
static bool add_problems(options *o) {
    bench_plan *plan = &o->common.plan;
    const bool random = o->common.random.count != 0;
    size_t count = random ? o->common.random.count : o->common.shapes.count;
    plan->problems = calloc(count * o->common.type_count, sizeof *plan->problems);
    if (!plan->problems) abort();
    for (size_t s = 0; s < count; s++)
        for (unsigned t = 0; t < o->common.type_count; t++)
            if (!(random ? add_random(o, s, t) : add_shape(o, s, t))) return false;
    return true;
}

/* Prints what will be measured and how long that takes. */
static void write_plan(const options *o) {
    const bench_plan *plan = &o->common.plan;
    double all = bench_start_estimate(plan);
    printf("plan: about %.0f s to start\n", all);
    for (size_t i = 0; i < plan->problem_count; i++) {
        char line[BENCH_PROBLEM_LINE];
        double seconds = bench_problem_estimate(plan, &plan->problems[i]);
        bench_problem_write(&plan->problems[i], "", line);
        printf("  %s: %.1f s:", line, seconds);
        for (unsigned c = 0; c < plan->contender_count; c++)
            if (bench_takes_part(&plan->contenders[c], &plan->problems[i]))
                printf(" %s", plan->contenders[c].name);
        printf("\n");
        all += seconds;
    }
    printf("in total about %.0f s on an H200\n\n", all);
    fflush(stdout);
}

static void write_title(const options *o, bench_report *report) {
    tool_text text = {NULL, 0, 0};
    for (unsigned i = 0; i < o->common.type_count; i++)
        bench_print(tool_append, &text, "%s%s", i ? ", " : "attention, ", o->common.types[i]->name);
    bench_describe_protocol(&o->common, &text);
    snprintf(report->title, sizeof report->title, "%s", text.data);
    free(text.data);
}

static const char *const params[] = {"d={d}", "T={type}", NULL};
static const char *const bytes_params[] = {"d={d}", "T={type}", "R={result}", NULL};

/* 8-bit floats use a separate kernel. */
static bool add_shipped_kernels(options *o) {
    static const char *const files[] = {"attention.tile", NULL};
    static const char *const bytes[] = {"attention_fp8.tile", NULL};
    unsigned wide = 0;
    for (unsigned i = 0; i < o->common.type_count; i++)
        wide += tile_scalar_bytes(o->common.types[i]->operand) > 1;
    return (!wide || bench_add_shipped(&o->common, files, "", params)) &&
           (wide == o->common.type_count || bench_add_shipped(&o->common, bytes, "", bytes_params));
}

static bool add_routes(options *o) {
    bench_options *c = &o->common;
    return (!c->random.by_kernel ||
            (bench_add_route(c, "kernel", WIDE, "attention.tile", "", params) &&
             bench_add_route(c, "kernel", BYTES, "attention_fp8.tile", "", bytes_params))) &&
           (!c->random.by_compute || bench_add_route(c, "compute", WIDE, "attention_compute.tile",
                                                     ":attention_compute", params));
}

static bool add_kernels(options *o) {
    if (o->all) return add_all_kernels(o);
    if (o->common.plan.contender_count || o->common.no_kernels) return true;
    return o->common.random.count ? add_routes(o) : add_shipped_kernels(o);
}

int tile_bench_attention(tool_arguments *words) {
    static options o = {.common = {.command = "attention",
                                   .subject = "shapes",
                                   .allowed_types = "f16 bf16 e4m3",
                                   .peer = "cuDNN",
                                   .shapes = {.form = &bench_attention_shapes},
                                   .plan = BENCH_PLAN_DEFAULTS}};
    bench_report report = {.peer_name = "cuDNN"};
    o.common.plan.peer_kind = "cudnn";
    o.common.has_limits = true;
    while (words->next < words->argc) {
        if (tool_flag(words, "--help") || tool_flag(words, "-h")) {
            print_help();
            return tool_finish(true);
        }
        if (!parse_option(&o, words)) return 1;
    }
    if (o.all && !take_all(&o)) return 1;
    if (o.plans) o.common.device = "cpu";
    if (!bench_options_ready(&o.common, &report) || !add_problems(&o)) return 1;
    o.common.plan.cuda |= o.plans;
    if (!o.common.plan.check_count && !add_checks(&o, "random")) return 1;
    if (!add_kernels(&o)) return 1;
    if (!make_folder(&o)) return 1;
    add_peers(&o);
    bench_add_floor(&o.common);
    write_title(&o, &report);
    if (o.all || o.plans) write_plan(&o);
    bool right = o.plans || bench_measure(&o.common, &report);
    remove_folder(o.common.plan.folder);
    return tool_finish(right);
}
