/* tile-bench matmul: kernels compared with cuBLASLt and with lower bounds (floors). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/bench.h"
#include "tools/tile-bench/measure/options.h"

static const char help_head[] =
    "usage: tile-bench matmul [--kernel=FILE[:NAME] [--point=..]..].. [--shapes=LIST|FILE] "
    "[options]\n"
    "Compares kernels that compute c = a x b with cuBLASLt and with the floors of memory and "
    "tensor\n"
    "cores. A kernel takes %m, %n, %k and the arrays %a, %b, %c. Every result is first checked "
    "for\n"
    "equality, on whole numbers. Each candidate runs in its own process.\n"
    "\n"
    "  --kernel=FILE[:NAME]  a kernel, plan or (by name) compute; NAME if FILE has several. May "
    "be\n"
    "                        repeated. Without it: the kernels that come with the tools\n"
    "  --param=NAME=VALUE    sets a parameter of the preceding kernel; {type} and {result} are "
    "the\n"
    "                        product's element types, {sum} is the type of its sums, {depth} the\n"
    "                        operand's elements in 128 bytes; {trans}, also in NAME, is nn, nt, "
    "tn\n"
    "                        or tt\n"
    "  --point='A=1 B=2'     sets several parameters; each further --point adds one candidate.\n"
    "                        Without it the kernel uses its tuned point, else the model's\n";

static const char help_shapes[] =
    "  --shape=M,N,K         a shape; may be repeated\n"
    "  --shapes=LIST         shapes from a file (blanks between them, # begins a comment), or\n";

static const char help_own[] =
    "  --type=f16            type of the operands: f16 bf16 tf32 f32 f64 i8 e4m3, and f32_tf32:\n"
    "                        f32 arrays multiplied as tf32, by a compute; several with commas\n"
    "  --trans=NN            N or T for a, then b; several with commas\n"
    "  --cublas=FILE         the library; default: where the loader or $CUDA_HOME has it\n"
    "  --first               adds the algorithm that cuBLASLt ranks first, which callers that do "
    "not\n"
    "                        measure get; the ratio is still that to its fastest one\n"
    "  --no-cublas           does not measure cuBLASLt\n";

static const char help_end[] =
    "\n"
    "Exit status: 0 if each product had a correct candidate, 1 otherwise.\n";

typedef struct options {
    bench_options common;
    const char *trans[4];
    unsigned trans_count;
    const char *cublas;
    bool no_cublas, first;
} options;

/* Candidates ---------------------------------------------------------------------------------- */

/* True if kernels that support only row-major f16 apply. */
static bool is_plain(const options *o) {
    return o->common.type_count == 1 && strcmp(o->common.types[0]->name, "f16") == 0 &&
           o->trans_count == 1 && strcmp(o->trans[0], "NN") == 0;
}

/* On random problems the parts are the plain products, the others of kernels, and those that only
 * computes have. */
enum { PLAIN = 1, GENERAL, COMPUTED };

static const char *const general_params[] = {"T={type}", "S={sum}", "R={result}", NULL};

/* False if some type is only computed by computes. */
static bool have_kernels(const options *o) {
    for (unsigned t = 0; t < o->common.type_count; t++)
        if (!bench_type_is_ieee(o->common.types[t])) return false;
    return true;
}

static bool add_computes(options *o) {
    static const char *const params[] = {"T={type}", "R={result}", NULL};
    return bench_add_route(&o->common, "compute", 0, "matmul_layouts.tile",
                           ":product_{trans}{precision}", params);
}

static bool add_shipped_kernels(options *o) {
    static const char *const plain[] = {"matmul.tile", "matmul_skinny.tile", NULL};
    static const char *const general[] = {"matmul_types.tile", NULL};
    static const char *const no_params[] = {NULL};
    if (!have_kernels(o)) return add_computes(o);
    return is_plain(o) ? bench_add_shipped(&o->common, plain, "", no_params)
                       : bench_add_shipped(&o->common, general, ":matmul_{trans}", general_params);
}

static bool add_routes(options *o) {
    static const char *const no_params[] = {NULL};
    bool plain = false, general = false;
    for (unsigned t = 0; t < o->common.type_count; t++)
        for (unsigned x = 0; x < o->trans_count; x++) {
            bool is =
                strcmp(o->common.types[t]->name, "f16") == 0 && strcmp(o->trans[x], "NN") == 0;
            plain |= is;
            general |= !is && bench_type_is_ieee(o->common.types[t]);
        }
    const bench_random_options *random = &o->common.random;
    bench_options *c = &o->common;
    if (!random->by_compute && !have_kernels(o))
        return bench_complain(c,
                              "no kernel multiplies f32 arrays as tf32; add --route=compute for "
                              "the type",
                              "f32_tf32");
    return (!random->by_kernel || !plain ||
            bench_add_route(c, "kernel", PLAIN, "matmul.tile", "", no_params)) &&
           (!random->by_kernel || !general ||
            bench_add_route(c, "kernel", GENERAL, "matmul_types.tile", ":matmul_{trans}",
                            general_params)) &&
           (!random->by_compute || add_computes(o));
}

static bool add_kernels(options *o) {
    if (o->common.plan.contender_count || o->common.no_kernels) return true;
    return o->common.random.count ? add_routes(o) : add_shipped_kernels(o);
}

static void add_cublas(options *o, const char *name, const char *kind) {
    bench_candidate_spec *c = o->no_cublas ? NULL : bench_add_contender(&o->common, name, kind);
    if (c && o->cublas)
        bench_contender_add_word(c, bench_word("--cublas=", o->cublas, strlen(o->cublas)));
}

/* The CPU device has no peers to compare with. */
static void add_peers(options *o) {
    if (!o->common.plan.cuda) return;
    bool bytes = false;
    for (unsigned t = 0; t < o->common.type_count; t++)
        bytes |= strcmp(o->common.types[t]->name, "e4m3") == 0;
    add_cublas(o, "cuBLASLt", "cublaslt");
    if (o->first) add_cublas(o, "cuBLASLt, first", "cublaslt_first");
    if (bytes && !o->common.random.count) add_cublas(o, "cuBLASLt, fast sums", "cublaslt_fast");
}

/* Options ------------------------------------------------------------------------------------- */

static bool add_trans(options *o, const char *value) {
    char piece[16];
    bench_product ignored;
    while (bench_next_word(&value, piece)) {
        if (!bench_read_trans(piece, &ignored) || o->trans_count == 4)
            return bench_complain(&o->common, "--trans takes NN, NT, TN, TT, not", piece);
        o->trans[o->trans_count++] = bench_word("", piece, strlen(piece));
    }
    return true;
}

static bool parse_option(options *o, tool_arguments *words) {
    const char *value;
    bool taken;
    if (!bench_parse_option(&o->common, words, &taken)) return false;
    if (taken) return true;
    if (tool_option(words, "--trans", &value)) return add_trans(o, value);
    if (tool_option(words, "--cublas", &o->cublas)) return true;
    if (tool_flag(words, "--no-cublas")) return o->no_cublas = true;
    if (tool_flag(words, "--first")) return o->first = true;
    return bench_complain(&o->common, "unknown or incomplete option", tool_current(words));
}

static void print_help(void) {
    fputs(help_head, stdout);
    fputs(bench_kernel_help, stdout);
    fputs(help_shapes, stdout);
    bench_shapes_describe(&bench_product_shapes);
    fputs(help_own, stdout);
    fputs(bench_random_help, stdout);
    fputs(bench_measuring_help, stdout);
    fputs(help_end, stdout);
}

/* The run ------------------------------------------------------------------------------------- */

static void add_problem(options *o, bench_product product, bench_route route) {
    bench_problem *p = &o->common.plan.problems[o->common.plan.problem_count++];
    p->product = product;
    if (!o->common.random.count) return;
    p->route = bench_type_is_ieee(product.type) ? route : BENCH_ANY_ROUTE;
    bool plain =
        strcmp(product.type->name, "f16") == 0 && strcmp(bench_trans_name(&product), "NN") == 0;
    p->part = plain ? PLAIN : bench_type_is_ieee(product.type) ? GENERAL : COMPUTED;
}

/* What --one-of draws, by bench_draw_one. */
enum { DRAWN_TYPE, DRAWN_TRANS, DRAWN_ROUTE };

static bool add_random(options *o, unsigned index, bench_product p) {
    const bench_random_options *random = &o->common.random;
    bench_route route = BENCH_ANY_ROUTE;
    if (random->one_route && random->by_kernel && random->by_compute)
        route = bench_draw_one(&random->draw, index, DRAWN_ROUTE, 2) ? BENCH_BY_KERNEL
                                                                     : BENCH_BY_COMPUTE;
    if (!bench_draw_product(&random->draw, index, &p))
        return bench_complain(&o->common, "no random product is as small as", "--max-bytes");
    add_problem(o, p, route);
    return true;
}

static bool add_shape(options *o, size_t index, bench_product p) {
    const int64_t *shape = o->common.shapes.shapes[index];
    p.m = shape[0];
    p.n = shape[1];
    p.k = shape[2];
    add_problem(o, p, BENCH_ANY_ROUTE);
    return true;
}

/* True if the problem has the choice'th of these values: each has all of them, or one is drawn. */
static bool has_choice(const options *o, size_t index, unsigned what, unsigned choice,
                       unsigned count) {
    const bench_random_options *random = &o->common.random;
    bool one = what == DRAWN_TYPE ? random->one_type : random->one_trans;
    return !one || choice == bench_draw_one(&random->draw, (unsigned)index, what, count);
}

/* Adds each shape, or each random one, with all types and transposes, or with one of them. False
 * after a message. */
static bool add_problems(options *o) {
    bench_options *common = &o->common;
    const bool random = common->random.count != 0;
    size_t shapes = random ? common->random.count : common->shapes.count;
    common->plan.problems =
        calloc(shapes * common->type_count * o->trans_count, sizeof *common->plan.problems);
    if (!common->plan.problems) abort();
    for (size_t s = 0; s < shapes; s++)
        for (unsigned t = 0; t < common->type_count; t++)
            for (unsigned x = 0; x < o->trans_count; x++) {
                bench_product p = {.type = common->types[t]};
                bench_read_trans(o->trans[x], &p);
                if (!has_choice(o, s, DRAWN_TYPE, t, common->type_count) ||
                    !has_choice(o, s, DRAWN_TRANS, x, o->trans_count))
                    continue;
                if (!(random ? add_random(o, (unsigned)s, p) : add_shape(o, s, p))) return false;
            }
    return true;
}

static void write_title(const options *o, bench_report *report) {
    tool_text text = {NULL, 0, 0};
    for (unsigned i = 0; i < o->common.type_count; i++)
        bench_print(tool_append, &text, "%s%s", i ? ", " : "", o->common.types[i]->name);
    for (unsigned i = 0; i < o->trans_count; i++)
        bench_print(tool_append, &text, "%s%s", i ? ", " : " ", o->trans[i]);
    bench_describe_protocol(&o->common, &text);
    snprintf(report->title, sizeof report->title, "%s", text.data);
    free(text.data);
}

int tile_bench_matmul(tool_arguments *words) {
    static options o = {.common = {.command = "matmul",
                                   .subject = "products",
                                   .allowed_types = "f16 bf16 tf32 f32 f32_tf32 f64 i8 e4m3",
                                   .peer = "cuBLASLt",
                                   .shapes = {.form = &bench_product_shapes},
                                   .plan = BENCH_PLAN_DEFAULTS}};
    bench_report report = {.peer_name = "cuBLAS"};
    o.common.plan.peer_kind = "cublaslt";
    while (words->next < words->argc) {
        if (tool_flag(words, "--help") || tool_flag(words, "-h")) {
            print_help();
            return tool_finish(true);
        }
        if (!parse_option(&o, words)) return 1;
    }
    if (!bench_options_ready(&o.common, &report)) return 1;
    if (!o.trans_count && !add_trans(&o, "NN")) return 1;
    if (!add_kernels(&o)) return 1;
    add_peers(&o);
    bench_add_floor(&o.common);
    if (!add_problems(&o)) return 1;
    write_title(&o, &report);
    return tool_finish(bench_measure(&o.common, &report));
}
