/* Compares what the tuner's model predicts about the passes with what they do, at all points of
 * kernels:
 *
 *     tile-model-facts TARGET [--share=I/N] [NAME=VALUE ..] FILE ..
 *
 * The values bind parameters that have no default and no `tune`. Kernels that request wgmma are
 * left out on targets without it. For each kernel in the files, and each point that agrees with the
 * values, the passes run up to `pipeline`, the last one that makes decisions, on the variant with
 * tensor maps. With --share only every N-th point is checked, starting at the I-th. These facts are
 * compared:
 *
 *   dots      products, by their location in the text, and how many of them use wgmma
 *   roles     whether there are producer warps
 *   sets      consumer groups: 2 alternate between tiles, 3 compute a third of the rows each
 *   stages    of the buffers
 *   ring      bytes of the ring buffer through which a persistent kernel's tiles are stored
 *
 * Each difference is printed on a line, with the kernel and the point. The last line is a summary.
 * Exit status: 1 if there is a difference, or no point. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/product.h"
#include "lib/analysis/variants.h"
#include "lib/ir/regions.h"
#include "lib/ops/atomic.h"
#include "lib/support/context.h"
#include "lib/tuning/space.h"
#include "passes/passes.h"
#include "runtime/model/space.h"
#include "runtime/model/work.h"
#include "tile/pass.h"
#include "tile/split.h"
#include "test/model/parse_module.h"

enum { SIZE = 2048, SMS = 132, MAX_BINDINGS = 16, MAX_DOTS = 64, NOT_ASKED = -1 };

typedef struct facts {
    unsigned dots, wgmma, sets, stages;
    bool roles;
    int64_t ring;
} facts;

typedef struct run {
    const tile_target *target;
    tile_pass_option given[MAX_BINDINGS];
    unsigned given_count;
    const tile_module *module;
    const tile_function *f;
    const char *path;
    const int64_t *sizes;
    unsigned share, shares;
    size_t points, failed, different;
} run;

/* What the passes do --------------------------------------------------------------------------- */

typedef struct found {
    facts facts;
    tile_loc dots[MAX_DOTS];
    bool wgmma[MAX_DOTS];
} found;

static void add_dot(found *x, const tile_function *f, tile_op op) {
    tile_loc loc = tile_op_loc(f, op);
    unsigned i = 0;
    while (i < x->facts.dots && (x->dots[i].line != loc.line || x->dots[i].column != loc.column))
        i++;
    if (i == MAX_DOTS) return;
    if (i == x->facts.dots) x->wgmma[x->facts.dots++] = true;
    x->dots[i] = loc;
    x->wgmma[i] &= tile_op_word(f, op, TILE_ATTR_via) == TILE_WORD_via_wgmma;
}

/* Records the roles that specialize-warps has created: the first one of two computes, and the third
 * one of three. */
static void add_roles(found *x, const tile_function *f, tile_op op) {
    x->facts.roles = true;
    const unsigned last = tile_op_at(f, op)->region_count - 1u;
    x->facts.sets = tile_executors_of_role(f, op, last == 2 ? last : 0).groups;
}

/* Records a buffer: the ring through which tiles are stored, or the target of pipelined copies. All
 * stores of a shipped kernel use one ring. */
static void add_buffer(found *x, const tile_function *f, tile_op alloc) {
    const tile_type *type = tile_value_type(f, tile_op_result(f, alloc, 0));
    int64_t stages = 1;
    bool stores = false, copied = false;
    tile_value buffer = tile_op_result(f, alloc, 0);
    if (type->stages) tile_expr_is_int(type->stages, &stages);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        tile_opcode opcode = tile_op_opcode(f, op);
        if (opcode == TILE_OP_store_async) stores |= tile_operand_ring(f, op).id == buffer.id;
        if (opcode == TILE_OP_copy_async || opcode == TILE_OP_copy)
            copied |= tile_operand_dst(f, op).id == buffer.id;
    }
    if (stores)
        x->facts.ring = stages * tile_type_elements(type) * tile_scalar_bytes(type->scalar);
    else if (copied && (unsigned)stages > x->facts.stages)
        x->facts.stages = (unsigned)stages;
}

static void look_at(found *x, const char *pass, const tile_function *f) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        tile_opcode opcode = tile_op_opcode(f, op);
        if (strcmp(pass, "choose-instructions") == 0 && opcode == TILE_OP_dot) add_dot(x, f, op);
        if (strcmp(pass, "specialize-warps") == 0 && opcode == TILE_OP_roles &&
            (tile_op_at(f, op)->region_count == 2 || tile_op_at(f, op)->region_count == 3))
            add_roles(x, f, op);
        if (strcmp(pass, "pipeline") == 0 && opcode == TILE_OP_alloc_shared) add_buffer(x, f, op);
    }
}

static void after_pass(const char *pass, const tile_function *f, bool changed, void *user) {
    (void)changed;
    look_at(user, pass, f);
}

/* Returns the passes up to `pipeline`. */
static const char *deciding_passes(tile_arena *arena) {
    const char *all = tile_default_pipeline(3), *end = strstr(all, ",skip-masked");
    return tile_arena_string(arena, all, (size_t)(end - all));
}

static bool lower(const run *r, tile_function *f, found *x, tile_arena *arena) {
    tile_variants variants;
    const tile_pass_options options = {.size = sizeof options,
                                       .target = r->target,
                                       .kernel = f->name,
                                       .after = after_pass,
                                       .hook_user = x,
                                       .skip_verify = true};
    tile_derive_variants(f, r->target, arena, &variants);
    tile_assume_variant(f, &variants, 0);
    return tile_run_passes(f->module, deciding_passes(arena), &options) == TILE_OK;
}

/* Compiles the kernel at the point, or all kernels of the plan that it becomes. */
static bool compile(const run *r, const tile_binding *bindings, unsigned count, facts *out) {
    tile_arena arena = {0};
    found x = {.facts = {.sets = 1, .stages = 1}};
    tile_module *module = tile_module_clone(r->module);
    bool ok = tile_instantiate_for(module, r->f->name, bindings, count, r->target) == TILE_OK;
    tile_function *f = tile_module_find(module, r->f->name);
    if (ok && tile_becomes_plan(f)) ok = tile_make_steps(module, r->f->name, r->target) == TILE_OK;
    for (f = module->first; ok && f; f = f->next)
        if (f->kind == TILE_KERNEL && !f->param_count && f->level == 2 &&
            (strcmp(f->name, r->f->name) == 0 || !tile_module_find(r->module, f->name)))
            ok = lower(r, f, &x, &arena);
    for (unsigned i = 0; i < x.facts.dots; i++) x.facts.wgmma += x.wgmma[i];
    x.facts.ring *= x.facts.sets;
    if (x.facts.sets == 3 && x.facts.stages % 3 == 0) x.facts.stages /= 3; /* per group */
    *out = x.facts;
    tile_module_destroy(module);
    tile_arena_reset(&arena);
    return ok;
}

/* What the model predicts ---------------------------------------------------------------------- */

static facts expect(const run *r, const tile_bound_params *point) {
    tile_arena arena = {0};
    tune_work w;
    int64_t factor;
    const char *strategy;
    tune_read_work(r->f, point, r->sizes, r->target, SMS, &arena, &w);
    tune_read_split(r->f, point, &factor, &strategy);
    if (factor == 1 && strategy && strcmp(strategy, "stream_k") != 0) strategy = NULL;
    tune_passes made = tune_expect_passes(&w, tile_strategy_from_word(strategy));
    bool keeps = made.persistent || (strategy && strcmp(strategy, "stream_k") == 0);
    tile_arena_reset(&arena);
    return (facts){.dots = w.dots,
                   .wgmma = w.wgmma_dots,
                   .roles = made.roles,
                   .sets = made.ping_pong_fits  ? 2
                           : made.cooperative_3 ? 3
                                                : 1,
                   .stages = w.depth > 1 ? (unsigned)w.depth : 1,
                   .ring = !keeps       ? NOT_ASKED
                           : made.roles ? w.store_ring_bytes
                                        : 0};
}

/* Points --------------------------------------------------------------------------------------- */

static void print_facts(const char *who, const facts *x) {
    printf("  %s: dots %u wgmma %u roles %d sets %u stages %u ring %lld\n", who, x->dots, x->wgmma,
           x->roles, x->sets, x->stages, (long long)x->ring);
}

/* The model does not predict the ring of a kernel that computes one tile per block, because that
 * kernel can reuse the memory of its stages. */
static bool is_same(const facts *a, const facts *b) {
    return a->dots == b->dots && a->wgmma == b->wgmma && a->roles == b->roles &&
           a->sets == b->sets && a->stages == b->stages &&
           (b->ring == NOT_ASKED || a->ring == b->ring);
}

/* Whether a launch with these sizes may use the point. One that no launch may use does not compile.
 */
static bool is_usable(const run *r, const tile_bound_params *point) {
    const tile_bound_params exact = {point->f, point->params, r->sizes};
    bool holds = true;
    for (size_t w = 0; w < r->f->where_count; w++) holds &= tile_where_holds(&exact, w);
    return holds;
}

static bool visit_point(const tile_bound_params *point, void *user) {
    run *r = user;
    tile_arena arena = {0};
    unsigned count;
    facts made;
    tile_binding given[MAX_BINDINGS];
    for (unsigned i = 0; i < r->given_count; i++)
        given[i] = (tile_binding){r->given[i].key, r->given[i].value};
    if (r->points++ % r->shares != r->share - 1) return true;
    const tile_binding *bindings = tune_name_point(point, given, r->given_count, &arena, &count);
    if (compile(r, bindings, count, &made)) {
        facts expected = expect(r, point);
        if (!is_same(&made, &expected)) {
            r->different++;
            printf("%s @%s %s:", r->path, r->f->name, r->target->name);
            for (unsigned i = 0; i < count; i++)
                printf(" %s=%s", bindings[i].name, bindings[i].value);
            printf("\n");
            print_facts("made    ", &made);
            print_facts("expected", &expected);
        }
    } else if (is_usable(r, point)) {
        r->failed++;
        printf("%s @%s %s does not compile:", r->path, r->f->name, r->target->name);
        for (unsigned i = 0; i < count; i++) printf(" %s=%s", bindings[i].name, bindings[i].value);
        printf("\n");
    }
    tile_arena_reset(&arena);
    return true;
}

static bool is_bound(const run *r, const char *name) {
    for (unsigned i = 0; i < r->given_count; i++)
        if (strcmp(r->given[i].key, name) == 0) return true;
    return false;
}

/* True if the values bind all parameters that the kernel leaves open. */
static bool is_complete(const run *r, const tile_function *f) {
    bool complete = true;
    for (size_t i = 0; i < f->param_count; i++)
        complete &= is_bound(r, f->params[i].name) || f->params[i].default_expr ||
                    f->params[i].default_type || tile_is_tuned(f, f->params[i].name);
    return complete;
}

static void visit_kernel(run *r, tile_function *f) {
    tile_binding given[MAX_BINDINGS];
    for (unsigned i = 0; i < r->given_count; i++)
        given[i] = (tile_binding){r->given[i].key, r->given[i].value};
    if (tile_resolve_tuning(f, r->target, given, r->given_count) != TILE_OK) exit(2);
    if (f->kind != TILE_KERNEL || !is_complete(r, f)) return;
    if (tile_requests_wgmma(f) && !tile_target_has(r->target, TILE_FEATURE_wgmma)) return;
    tile_arena arena = {0};
    int64_t *sizes = TILE_NEW_ARRAY(&arena, int64_t, f->arg_count + 1);
    for (size_t i = 0; i < f->arg_count; i++) sizes[i] = SIZE;
    r->f = f;
    r->sizes = sizes;
    tile_visit_points(f, r->given, r->given_count, NULL, &arena, visit_point, r);
    tile_arena_reset(&arena);
}

static void visit_file(run *r, const char *path) {
    tile_context *context = tile_context_create();
    tile_module *module = parse_module(context, path);
    const tile_diversion diversion = tile_context_divert(context, NULL, NULL);
    r->module = module;
    r->path = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    for (tile_function *f = module->first; f; f = f->next) visit_kernel(r, f);
    tile_context_restore(&diversion);
    tile_module_destroy(module);
    tile_context_destroy(context);
}

int main(int argc, char **argv) {
    run r = {.target = argc > 1 ? tile_target_find(argv[1]) : NULL, .share = 1, .shares = 1};
    if (!r.target) {
        fprintf(stderr, "usage: tile-model-facts TARGET [--share=I/N] [NAME=VALUE ..] FILE ..\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        char *equal = strchr(argv[i], '=');
        if (sscanf(argv[i], "--share=%u/%u", &r.share, &r.shares) == 2) continue;
        if (equal && r.given_count < MAX_BINDINGS) {
            *equal = 0;
            r.given[r.given_count++] = (tile_pass_option){argv[i], equal + 1};
        } else {
            visit_file(&r, argv[i]);
        }
    }
    printf("%s: %zu points, %zu of which do not compile, %zu differ\n", r.target->name, r.points,
           r.failed, r.different);
    return r.different || r.points == r.failed;
}
