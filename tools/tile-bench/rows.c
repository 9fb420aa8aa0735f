/* tile-bench rows: operations on rows, compared with torch.compile and with a copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/bench.h"
#include "tools/tile-bench/measure/options.h"

static const char help_head[] =
    "usage: tile-bench rows [--random=SEED --count=N | --shape=M,N ..] [--op=LIST] [options]\n"
    "Compares operations on the rows of x[m, n] with torch.compile, and with a copy in device "
    "memory\n"
    "that moves as many bytes. Every result is first checked against f64.\n"
    "\n"
    "  --op=LIST             operations, with commas; default: all\n";

static const char help_shapes[] =
    "  --shape=M,N           rows and columns; may be repeated\n"
    "  --shapes=FILE         shapes from a file (blanks between them, # begins a comment)\n"
    "  --type=f16            type of x: f16 bf16 f32; several with commas\n";

static const char help_peers[] =
    "  --python=PROGRAM      runs rows_peers.py, which measures torch.compile; default: python3 on "
    "a\n"
    "                        GPU, nothing on the CPU device\n"
    "  --no-peers            does not measure torch.compile\n";

static const char help_end[] =
    "\n"
    "Exit status: 0 if each shape had a correct candidate, 1 otherwise.\n";

typedef struct options {
    bench_options common;
    bench_rows_id ops[BENCH_ROWS_COUNT];
    unsigned op_count;
    const char *python;
    bool no_peers;
} options;

static bool add_ops(options *o, const char *value) {
    char piece[16];
    while (bench_next_word(&value, piece)) {
        bench_rows_id op;
        if (!bench_rows_find(piece, &op) || o->op_count == BENCH_ROWS_COUNT)
            return bench_complain(&o->common, "--op takes the operations of --help, not", piece);
        o->ops[o->op_count++] = op;
    }
    return true;
}

static bool parse_option(options *o, tool_arguments *words) {
    const char *value;
    bool taken;
    if (!bench_parse_option(&o->common, words, &taken)) return false;
    if (taken) return true;
    if (tool_option(words, "--op", &value)) return add_ops(o, value);
    if (tool_option(words, "--python", &o->python)) return true;
    if (tool_flag(words, "--no-peers")) return o->no_peers = true;
    return bench_complain(&o->common, "unknown or incomplete option", tool_current(words));
}

static void print_help(void) {
    fputs(help_head, stdout);
    bench_rows_describe();
    fputs(help_shapes, stdout);
    fputs(help_peers, stdout);
    fputs(bench_random_help, stdout);
    fputs(bench_measuring_help, stdout);
    fputs(help_end, stdout);
}

/* Candidates ---------------------------------------------------------------------------------- */

/* Each operation is a part with kernels of its own. */
static unsigned part_of(bench_rows_id op) {
    return 1 + (unsigned)op;
}

static bool add_route(options *o, const char *name, bench_rows_id op, const char *function) {
    static const char *const params[] = {"T={type}", NULL};
    const char *kernel = bench_word(":", function, strlen(function));
    return bench_add_route(&o->common, name, part_of(op), bench_rows_op_of(op)->file, kernel,
                           params);
}

static bool add_kernels(options *o) {
    const bench_random_options *random = &o->common.random;
    if (o->common.plan.contender_count || o->common.no_kernels) return true;
    for (unsigned i = 0; i < o->op_count; i++) {
        const bench_rows_op *op = bench_rows_op_of(o->ops[i]);
        bool kernel = random->by_kernel || !random->by_compute;
        if ((kernel && !add_route(o, "kernel", o->ops[i], op->kernel)) ||
            (random->by_compute && !add_route(o, "compute", o->ops[i], op->compute)))
            return false;
    }
    return true;
}

/* On the CPU device a peer is measured only if the command line names it. */
static void add_peers(options *o) {
    static char script[700];
    bench_plan *plan = &o->common.plan;
    if (plan->cuda && !o->common.no_floor) bench_add_contender(&o->common, "copy", "copy");
    if ((!plan->cuda && !o->python) || o->no_peers || plan->contender_count == BENCH_MAX_CANDIDATES)
        return;
    if (!bench_find_script("rows", "rows_peers.py", script, sizeof script)) {
        fputs(
            "remark: rows_peers.py is not in the program's folder, so there is no torch.compile\n",
            stderr);
        return;
    }
    bench_candidate_spec *c = &plan->contenders[plan->contender_count++];
    *c = (bench_candidate_spec){
        .name = "torch.compile", .kind = "compiled", .program = o->python ? o->python : "python3"};
    bench_contender_add_word(c, script);
}

/* The run ------------------------------------------------------------------------------------- */

static bool add_problem(options *o, size_t shape, unsigned type, bench_rows_id op) {
    bench_options *common = &o->common;
    bench_problem *p = &common->plan.problems[common->plan.problem_count++];
    p->is_rows = true;
    p->part = part_of(op);
    p->rows = (bench_rows){.op = op, .type = common->types[type]};
    if (common->random.count)
        return bench_draw_rows(&common->random.draw, (unsigned)shape, &p->rows) ||
               bench_complain(common, "no random rows are as small as", "--max-bytes");
    p->rows.m = common->shapes.shapes[shape][0];
    p->rows.n = common->shapes.shapes[shape][1];
    return true;
}

/* Adds each shape, or each random one, with all types and operations. False after a message. */
static bool add_problems(options *o) {
    bench_options *common = &o->common;
    size_t shapes = common->random.count ? common->random.count : common->shapes.count;
    common->plan.problems =
        calloc(shapes * common->type_count * o->op_count, sizeof *common->plan.problems);
    if (!common->plan.problems) abort();
    for (size_t s = 0; s < shapes; s++)
        for (unsigned t = 0; t < common->type_count; t++)
            for (unsigned i = 0; i < o->op_count; i++)
                if (!add_problem(o, s, t, o->ops[i])) return false;
    return true;
}

static void write_title(const options *o, bench_report *report) {
    tool_text text = {NULL, 0, 0};
    for (unsigned i = 0; i < o->common.type_count; i++)
        bench_print(tool_append, &text, "%s%s", i ? ", " : "rows, ", o->common.types[i]->name);
    bench_describe_protocol(&o->common, &text);
    snprintf(report->title, sizeof report->title, "%s", text.data);
    free(text.data);
}

int tile_bench_rows(tool_arguments *words) {
    static options o = {.common = {.command = "rows",
                                   .subject = "shapes",
                                   .allowed_types = "f16 bf16 f32",
                                   .peer = "torch.compile",
                                   .shapes = {.form = &bench_rows_shapes},
                                   .plan = BENCH_PLAN_DEFAULTS}};
    bench_report report = {.peer_name = "torch.compile"};
    o.common.plan.peer_kind = "compiled";
    while (words->next < words->argc) {
        if (tool_flag(words, "--help") || tool_flag(words, "-h")) {
            print_help();
            return tool_finish(true);
        }
        if (!parse_option(&o, words)) return 1;
    }
    if (!o.op_count)
        for (; o.op_count < BENCH_ROWS_COUNT; o.op_count++)
            o.ops[o.op_count] = (bench_rows_id)o.op_count;
    if (!bench_options_ready(&o.common, &report)) return 1;
    if (!add_kernels(&o) || !add_problems(&o)) return 1;
    add_peers(&o);
    write_title(&o, &report);
    return tool_finish(bench_measure(&o.common, &report));
}
