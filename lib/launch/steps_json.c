/* A plan's steps as JSON, for programs that launch its kernels without this library:
 *
 *   {
 *     "format"      TILE_ABI_FORMAT, as in a launch interface
 *     "plan"        name
 *     "arguments"   of the plan in order, each with "name" and "type" in the IR; a view with its
 *                   "extents" and, if declared, its "strides": expressions over the arguments
 *     "kernels"     names, of the instances in the instantiated module
 *     "scratch"     temporary memory of the plan, each with
 *       "name"
 *       "bytes"       an expression over the arguments (%name) and num_sms
 *       "first_step", "last_step"
 *                     the steps that use it: scratch of other steps may share its bytes
 *     "steps"       in order, each with
 *       "step"        "launch", "fill", "branch", "jump", "for" or "next"
 *       "kernel"      launch: its name
 *       "arguments"   launch: expressions; %name is an argument of the plan, @name a scratch.
 *                     `+` after a pointer or view adds bytes
 *       "pdl"         launch: true if it may overlap the preceding launch
 *       "view", "bytes", "value", "type"
 *                     fill: the view, its size, the element's value and type
 *       "condition", "target"
 *                     branch: go to step `target` unless the condition holds; jump: go there
 *       "loop", "begin", "end", "by", "target"
 *                     for: `loop(N)` in expressions, where N is "loop", is the value of `begin`; go
 *                     to step `target` unless it is less than `end`.
 *                     next: add `by` to it, and go to the step after `target`, which is its "for",
 *                     if it is still less than `end`. All three have the values from before the
 * loop
 *   } */
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/launch/steps.h"
#include "lib/support/out.h"
#include "tile/compile.h"

typedef struct printer {
    tile_out out;
    tile_arena arena;
    const tile_steps *steps;
} printer;

#define PUT(p, ...) tile_out_print(&(p)->out, __VA_ARGS__)

static const char *scratch_name(printer *p, unsigned index) {
    const char *name = p->steps->scratch[index].name;
    return *name ? name : tile_arena_format(&p->arena, "%u", index);
}

static const char *given_text(printer *p, const tile_given *given);

static bool is_zero(const tile_expr *expr) {
    int64_t number;
    return tile_expr_is_int(expr, &number) && number == 0;
}

/* The bytes of a view before the element at the coordinates of a subview; NULL: none. */
static const tile_expr *offset_of(const printer *p, const tile_step_view *view) {
    tile_context *context = p->steps->context;
    const tile_expr *place = NULL;
    for (unsigned d = 0; d < view->of_rank; d++) {
        if (place) place = tile_expr_multiply(context, place, view->of_extents[d]);
        if (is_zero(view->at[d])) continue;
        place = place ? tile_expr_op(context, TILE_OP_add, place, view->at[d], NULL) : view->at[d];
    }
    const tile_expr *width = tile_expr_int(context, tile_scalar_bytes(view->scalar));
    return place ? tile_expr_multiply(context, place, width) : NULL;
}

static const char *subview_text(printer *p, const tile_step_view *view) {
    const char *of = given_text(p, &view->of);
    const tile_expr *offset = offset_of(p, view);
    return offset ? tile_arena_format(&p->arena, "%s + %s", of,
                                      tile_expr_text(p->steps->plan, offset, &p->arena))
                  : of;
}

static const char *given_text(printer *p, const tile_given *given) {
    char number[TILE_DOUBLE_TEXT];
    switch (given->kind) {
    case TILE_GIVEN_ARGUMENT:
        return tile_arena_format(&p->arena, "%%%s", p->steps->plan->args[given->index].name);
    case TILE_GIVEN_SCRATCH:
        return tile_arena_format(&p->arena, "@%s", scratch_name(p, given->index));
    case TILE_GIVEN_VIEW: return subview_text(p, &p->steps->views[given->index]);
    case TILE_GIVEN_INTEGER: return tile_expr_text(p->steps->plan, given->expr, &p->arena);
    case TILE_GIVEN_NUMBER:
        tile_double_to_text(given->number, number);
        return tile_arena_format(&p->arena, "%s", number);
    }
    return "";
}

static const tile_expr *bytes_of(const printer *p, tile_scalar scalar,
                                 const tile_expr *const *extents, unsigned rank) {
    tile_context *context = p->steps->context;
    const tile_expr *bytes = tile_expr_int(context, 1);
    for (unsigned d = 0; d < rank; d++)
        bytes = d ? tile_expr_op(context, TILE_OP_mul, bytes, extents[d], NULL) : extents[d];
    return tile_expr_op(context, TILE_OP_mul, bytes,
                        tile_expr_int(context, tile_scalar_bytes(scalar)), NULL);
}

static void put_exprs(printer *p, const char *name, const tile_expr *const *exprs, unsigned count) {
    PUT(p, ", \"%s\": [", name);
    for (unsigned d = 0; d < count; d++)
        PUT(p, "%s\"%s\"", d ? ", " : "", tile_expr_text(p->steps->plan, exprs[d], &p->arena));
    PUT(p, "]");
}

static void put_argument(printer *p, unsigned index) {
    const tile_arg_decl *arg = &p->steps->plan->args[index];
    const tile_type *type = arg->type;
    PUT(p, "%s\n    {\"name\": \"%s\", \"type\": \"%s\"", index ? "," : "", arg->name,
        tile_type_text(p->steps->plan, type, NULL, &p->arena));
    if (type->kind == TILE_TYPE_VIEW) put_exprs(p, "extents", arg->extents, type->rank);
    if (type->kind == TILE_TYPE_VIEW && type->has_strides)
        put_exprs(p, "strides", arg->strides, type->rank);
    PUT(p, "}");
}

static void put_head(printer *p) {
    const tile_function *plan = p->steps->plan;
    PUT(p, "{\n  \"format\": %d,\n  \"plan\": \"%s\",\n  \"arguments\": [", TILE_ABI_FORMAT,
        plan->name);
    for (unsigned i = 0; i < plan->arg_count; i++) put_argument(p, i);
    PUT(p, "%s],\n  \"kernels\": [", plan->arg_count ? "\n  " : "");
    for (size_t i = 0; i < p->steps->kernel_count; i++)
        PUT(p, "%s\"%s\"", i ? ", " : "", p->steps->kernels[i]);
    PUT(p, "],\n  \"scratch\": [");
}

static void put_scratch(printer *p, unsigned index) {
    const tile_step_scratch *scratch = &p->steps->scratch[index];
    const tile_expr *bytes = bytes_of(p, scratch->scalar, scratch->extents, scratch->rank);
    PUT(p, "%s\n    {\"name\": \"%s\", \"bytes\": \"%s\"", index ? "," : "", scratch_name(p, index),
        tile_expr_text(p->steps->plan, bytes, &p->arena));
    if (scratch->first <= scratch->last)
        PUT(p, ", \"first_step\": %u, \"last_step\": %u", scratch->first, scratch->last);
    PUT(p, "}");
}

static void put_launch(printer *p, const tile_step *step) {
    PUT(p, "\"launch\", \"kernel\": \"%s\", \"arguments\": [", p->steps->kernels[step->kernel]);
    for (unsigned i = 0; i < step->given_count; i++)
        PUT(p, "%s\"%s\"", i ? ", " : "", given_text(p, &step->given[i]));
    PUT(p, "], \"pdl\": %s", step->overlaps ? "true" : "false");
    if (step->resident) PUT(p, ", \"resident\": true");
    if (step->otherwise >= 0) PUT(p, ", \"otherwise\": \"%s\"", p->steps->kernels[step->otherwise]);
}

static void put_fill(printer *p, const tile_step *step) {
    const tile_expr *bytes = bytes_of(p, step->scalar, step->extents, step->rank);
    PUT(p, "\"fill\", \"view\": \"%s\", \"bytes\": \"%s\", \"value\": \"%s\", \"type\": \"%s\"",
        given_text(p, &step->given[0]), tile_expr_text(p->steps->plan, bytes, &p->arena),
        given_text(p, &step->given[1]), tile_scalar_name(step->scalar));
}

static void put_loop(printer *p, const tile_step *step) {
    const tile_function *plan = p->steps->plan;
    PUT(p,
        "\"%s\", \"loop\": %u, \"begin\": \"%s\", \"end\": \"%s\", \"by\": \"%s\", \"target\": %u",
        step->kind == TILE_STEP_FOR ? "for" : "next", step->loop,
        tile_expr_text(plan, step->begin, &p->arena), tile_expr_text(plan, step->end, &p->arena),
        tile_expr_text(plan, step->by, &p->arena), step->target);
}

static void put_step(printer *p, size_t index) {
    const tile_step *step = &p->steps->steps[index];
    PUT(p, "%s\n    {\"step\": ", index ? "," : "");
    switch (step->kind) {
    case TILE_STEP_LAUNCH: put_launch(p, step); break;
    case TILE_STEP_FILL: put_fill(p, step); break;
    case TILE_STEP_BRANCH:
        PUT(p, "\"branch\", \"condition\": \"%s\", \"target\": %u",
            tile_expr_text(p->steps->plan, step->condition, &p->arena), step->target);
        break;
    case TILE_STEP_JUMP: PUT(p, "\"jump\", \"target\": %u", step->target); break;
    case TILE_STEP_FOR:
    case TILE_STEP_NEXT: put_loop(p, step); break;
    }
    PUT(p, "}");
}

tile_status tile_plan_print(const tile_function *plan, tile_writer writer, void *user) {
    TILE_GUARD(plan ? tile_function_context(plan) : NULL, TILE_OUT_OF_MEMORY)
    if (!plan || !writer) return TILE_INVALID;
    if (plan->kind != TILE_PLAN || plan->param_count) {
        tile_error_at(plan, TILE_NO_OP,
                      plan->kind == TILE_PLAN ? "@%s has parameters: instantiate it first"
                                              : "@%s is no plan",
                      plan->name);
        return TILE_INVALID;
    }
    tile_status status = tile_function_verify(plan);
    if (status != TILE_OK) return status;
    printer p = {.out = {writer, user}, .steps = tile_steps_create(plan)};
    put_head(&p);
    for (unsigned i = 0; i < p.steps->scratch_count; i++) put_scratch(&p, i);
    PUT(&p, "%s],\n  \"steps\": [", p.steps->scratch_count ? "\n  " : "");
    for (size_t i = 0; i < p.steps->step_count; i++) put_step(&p, i);
    PUT(&p, "%s]\n}\n", p.steps->step_count ? "\n  " : "");
    tile_arena_reset(&p.arena);
    tile_steps_destroy((tile_steps *)p.steps);
    return TILE_OK;
}
