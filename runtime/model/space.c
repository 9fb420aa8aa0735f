#include "runtime/model/space.h"

#include <inttypes.h>
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/ops/strategy.h"
#include "lib/support/context.h"
#include "lib/support/integer.h"
#include "passes/passes.h"
#include "runtime/model/plan_launch.h"
#include "tile/split.h"

/* Points --------------------------------------------------------------------------------------- */

typedef struct listed {
    struct listed *next;
    const char *text;
} listed;

enum { HEAD_BITS = 11 };

typedef struct list {
    tile_arena *arena;
    tune_namer *namer;
    const int64_t *sizes; /* exact; NULL: unknown */
    tune_point *points;
    size_t count, capacity;
    listed *heads[1 << HEAD_BITS]; /* hashed by text */
} list;

static bool is_given(const tile_binding *given, unsigned count, const char *name) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(given[i].name, name) == 0) return true;
    return false;
}

/* The text of a number. */
typedef struct number_text {
    int64_t value;
    const char *text; /* NULL: free */
} number_text;

enum { NUMBER_BITS = 6 };

struct tune_namer {
    const tile_function *f;
    tile_arena *arena;
    size_t *params; /* that are named */
    const char **names;
    unsigned count;
    number_text numbers[1 << NUMBER_BITS]; /* hashed by value; a newer one replaces an older one */
};

tune_namer *tune_namer_create(const tile_function *f, const tile_binding *given,
                              unsigned given_count, tile_arena *arena) {
    tune_namer *n = TILE_NEW(arena, tune_namer);
    *n = (tune_namer){.f = f, .arena = arena};
    n->params = TILE_NEW_ARRAY(arena, size_t, f->param_count + 1);
    n->names = TILE_NEW_ARRAY(arena, const char *, f->param_count + 1);
    for (size_t i = 0; i < f->param_count; i++) {
        const char *name = f->params[i].name;
        if (!tile_is_tuned(f, name) && !is_given(given, given_count, name)) continue;
        n->params[n->count] = i;
        n->names[n->count++] = tile_arena_string(arena, name, strlen(name));
    }
    return n;
}

unsigned tune_namer_count(const tune_namer *namer) {
    return namer->count;
}

static const char *value_text(tune_namer *n, const tile_bound_params *point, size_t param) {
    const tile_param_kind kind = n->f->params[param].kind;
    const int64_t value = point->params[param].value;
    if (kind != TILE_PARAM_int && kind != TILE_PARAM_dim)
        return tile_bound_value(point, param, n->arena);
    number_text *known =
        &n->numbers[(uint64_t)value * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NUMBER_BITS)];
    if (!known->text || known->value != value)
        *known = (number_text){value, tile_bound_value(point, param, n->arena)};
    return known->text;
}

unsigned tune_namer_name(tune_namer *n, const tile_bound_params *point, tile_binding *bindings) {
    for (unsigned i = 0; i < n->count; i++)
        bindings[i] = (tile_binding){n->names[i], value_text(n, point, n->params[i])};
    return n->count;
}

tile_binding *tune_name_point(const tile_bound_params *point, const tile_binding *given,
                              unsigned given_count, tile_arena *arena, unsigned *count) {
    tune_namer *namer = tune_namer_create(point->f, given, given_count, arena);
    tile_binding *bindings = TILE_NEW_ARRAY(arena, tile_binding, namer->count + 1u);
    *count = tune_namer_name(namer, point, bindings);
    return bindings;
}

tile_pass_option *tune_make_options(const tile_binding *bindings, unsigned count,
                                    tile_arena *arena) {
    tile_pass_option *options = TILE_NEW_ARRAY(arena, tile_pass_option, count + 1u);
    for (unsigned i = 0; i < count; i++)
        options[i] = (tile_pass_option){bindings[i].name, bindings[i].value};
    return options;
}

/* Returns whether the space has not listed this text before. */
static bool is_new(list *l, const char *text) {
    uint64_t hash = 0;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x9e3779b97f4a7c15);
    listed **head = &l->heads[hash >> (64 - HEAD_BITS)];
    for (const listed *known = *head; known; known = known->next)
        if (strcmp(known->text, text) == 0) return false;
    listed *added = TILE_NEW(l->arena, listed);
    *added = (listed){*head, text};
    *head = added;
    return true;
}

/* The first `where` that is false at the point, for the bucket's sizes or for the exact ones; "" if
 * there is none. */
static const char *find_false(const list *l, const tile_bound_params *point) {
    const tile_function *f = point->f;
    const tile_bound_params exact = {f, point->params, l->sizes};
    for (size_t i = 0; i < f->where_count; i++) {
        bool in_bucket = tile_where_holds(point, i), alone = tile_where_holds(&exact, i);
        if (in_bucket && alone) continue;
        const int64_t *sizes = alone ? point->sizes : l->sizes;
        const char *at = sizes ? tile_sizes_text(f, f->wheres[i], sizes, l->arena) : "";
        const char *of = *at && alone ? tile_sizes_text(f, f->wheres[i], l->sizes, l->arena) : "";
        return tile_arena_format(l->arena, "`where %s` is false%s%s%s%s%s",
                                 tile_expr_text(f, f->wheres[i], l->arena), *at ? " for " : "", at,
                                 *of ? " (the bucket of " : "", of, *of ? ")" : "");
    }
    return "";
}

/* "block_m=128 block_n=64", in the arena. */
static const char *text_of(const tile_binding *bindings, unsigned count, tile_arena *arena) {
    size_t length = 0;
    for (unsigned i = 0; i < count; i++)
        length += strlen(bindings[i].name) + strlen(bindings[i].value) + strlen("= ");
    char *text = tile_arena_alloc(arena, length + 1), *end = text;
    for (unsigned i = 0; i < count; i++) {
        const char *parts[] = {i ? " " : "", bindings[i].name, "=", bindings[i].value};
        for (unsigned p = 0; p < sizeof parts / sizeof *parts; p++) {
            const size_t size = strlen(parts[p]);
            memcpy(end, parts[p], size);
            end += size;
        }
    }
    return text;
}

static bool add_point(const tile_bound_params *point, void *user) {
    list *l = user;
    const char *why;
    tile_binding *bindings =
        TILE_NEW_ARRAY(l->arena, tile_binding, tune_namer_count(l->namer) + 1u);
    const unsigned count = tune_namer_name(l->namer, point, bindings);
    const char *text = text_of(bindings, count, l->arena);
    if (!is_new(l, text)) return true;
    l->points = tile_arena_grow(l->arena, l->points, l->count, &l->capacity, sizeof *l->points);
    l->points[l->count] = (tune_point){
        .c = {.bindings = bindings, .binding_count = count, .text = text}, .order = l->count};
    tile_candidate *c = &l->points[l->count].c;
    c->why = find_false(l, point);
    const tile_bound_params exact = {point->f, point->params, l->sizes};
    if (!*c->why && l->sizes && !tune_plan_allows(&exact, 0, l->arena, &why)) c->why = why;
    if (*c->why) c->state = TILE_CANDIDATE_dropped;
    return ++l->count <= TUNE_MAX_POINTS;
}

static bool fail(const tile_function *f, const char *why) {
    tile_report(tile_function_context(f), TILE_ERROR, f->loc, "@%s %s", f->name, why);
    return false;
}

/* all: also points that do not agree with the sizes. */
static bool list_points(const tile_function *f, const tile_binding *bindings, unsigned count,
                        const int64_t *sizes, bool all, tile_arena *arena, tune_point **points,
                        size_t *point_count) {
    list l = {
        .arena = arena, .namer = tune_namer_create(f, bindings, count, arena), .sizes = sizes};
    const int64_t *bucket = all && sizes ? tile_bucket_sizes(f, sizes, arena) : sizes;
    const tile_pass_option *options = tune_make_options(bindings, count, arena);
    for (unsigned i = 0; i < count; i++)
        if (!tile_function_find_param(f, bindings[i].name, strlen(bindings[i].name)))
            return strncmp(bindings[i].name, "split.", 6) == 0
                       ? fail(f, "is tuned for splits of all factors and strategies, or of none: "
                                 "ask for them with --split (tile_tune_options.split)")
                       : fail(f,
                              tile_arena_format(arena, "has no parameter '%s'", bindings[i].name));
    if (!(all ? tile_visit_all_points : tile_visit_points)(f, options, count, bucket, arena,
                                                           add_point, &l))
        return false;
    if (!l.count)
        return fail(
            f, f->tune_count
                   ? "has no point: no point of 'tune' agrees with 'where' and the given values"
                   : "has no point: it has no 'tune', and the given values leave a parameter "
                     "without a value or do not agree with 'where'");
    if (l.count > TUNE_MAX_POINTS && all) {
        tile_report(tile_function_context(f), TILE_REMARK, f->loc,
                    "@%s: `tune` has more than %d combinations; those that `where` excludes are "
                    "left out",
                    f->name, TUNE_MAX_POINTS);
        return list_points(f, bindings, count, sizes, false, arena, points, point_count);
    }
    if (l.count > TUNE_MAX_POINTS)
        return fail(f, tile_arena_format(arena,
                                         "has more than %d points; remove values from `tune`, or "
                                         "exclude combinations with `where`",
                                         TUNE_MAX_POINTS));
    *points = l.points;
    *point_count = l.count;
    return true;
}

bool tune_list_points(const tile_function *f, const tile_binding *bindings, unsigned count,
                      const int64_t *sizes, tile_arena *arena, tune_point **points,
                      size_t *point_count) {
    return list_points(f, bindings, count, sizes, false, arena, points, point_count);
}

bool tune_list_all_points(const tile_function *f, const tile_binding *bindings, unsigned count,
                          const int64_t *sizes, tile_arena *arena, tune_point **points,
                          size_t *point_count) {
    return list_points(f, bindings, count, sizes, true, arena, points, point_count);
}

/* Splits --------------------------------------------------------------------------------------- */

static bool has_clause(const tile_function *f) {
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode == TILE_OP_for && tile_op_has_attr(f, (tile_op){id}, TILE_ATTR_split))
            return true;
    return false;
}

static bool size_of(unsigned index, int64_t *value, void *user) {
    *value = ((const int64_t *)user)[index];
    return true;
}

/* The integers with which the plan launches the kernel. */
static const int64_t *launched_sizes(const tile_function *plan, tile_op launch,
                                     const int64_t *sizes, unsigned sms, tile_arena *arena) {
    unsigned count = tile_op_operand_count(plan, launch);
    int64_t *own = TILE_NEW_ARRAY(arena, int64_t, count + 1u);
    const tile_bindings bindings = {
        .arg = size_of, .user = (void *)(uintptr_t)sizes, .num_sms = (int64_t)sms};
    for (unsigned i = 0; i < count; i++) {
        const tile_expr *expr = tile_value_as_expr(plan, tile_op_operand(plan, launch, i));
        if (expr) tile_expr_eval(expr, &bindings, &own[i]);
    }
    return own;
}

static double count_blocks(const tile_function *f, const int64_t *sizes, unsigned sms) {
    const tile_bindings bindings = {
        .arg = size_of, .user = (void *)(uintptr_t)sizes, .num_sms = (int64_t)sms};
    double blocks = 1;
    for (unsigned i = 0; i < f->grid_rank; i++) {
        int64_t extent;
        if (tile_expr_eval(f->grid[i], &bindings, &extent) && extent > 0) blocks *= (double)extent;
    }
    return blocks;
}

/* More than two blocks per multiprocessor would only add partial sums. */
static const double most_blocks_per_sm = 2;

/* blocks: of the grid in the text. */
static bool is_worth_a_try(const tile_split_point *split, double blocks, unsigned sms) {
    /* The strategy launches factor x sms blocks for any grid. */
    if (tile_strategy_get_info(tile_strategy_from_word(split->strategy))->splits_one)
        return split->factor <= most_blocks_per_sm;
    return split->factor > 1 && blocks * split->factor <= most_blocks_per_sm * sms;
}

static void add_split(const tune_point *whole, const tile_split_point *split, size_t order,
                      tile_arena *arena, tune_point *to) {
    unsigned count = whole->c.binding_count;
    tile_binding *bindings = TILE_NEW_ARRAY(arena, tile_binding, count + 2u);
    for (unsigned i = 0; i < count; i++) bindings[i] = whole->c.bindings[i];
    const char *factor = tile_arena_format(arena, "%u", split->factor);
    bindings[count] = (tile_binding){TILE_SPLIT_FACTOR, factor};
    bindings[count + 1] = (tile_binding){TILE_SPLIT_STRATEGY, split->strategy};
    *to = (tune_point){.c = {.bindings = bindings, .binding_count = count + 2, .why = ""},
                       .order = order};
    to->c.text =
        tile_arena_format(arena, "%s%s" TILE_SPLIT_FACTOR "=%s " TILE_SPLIT_STRATEGY "=%s",
                          whole->c.text, *whole->c.text ? " " : "", factor, split->strategy);
}

/* The splits of the instantiated function. *blocks: the blocks of the kernel that is split. */
static unsigned find_splits(const tile_device *device, const tile_function *f, const int64_t *sizes,
                            tile_arena *arena, tile_split_point *splits, double *blocks) {
    tile_op launch;
    unsigned kernels, sms = device->num_sms;
    const tile_function *kernel = tile_split_owner(f, &launch, &kernels);
    if (!kernel) return 0;
    if (kernel != f) sizes = launched_sizes(f, launch, sizes, sms, arena);
    *blocks = count_blocks(kernel, sizes, sms);
    return tile_split_space(f, device->target, splits);
}

bool tune_may_split(const tile_function *f) {
    tile_op launch;
    unsigned kernels;
    const tile_function *kernel = tile_split_owner(f, &launch, &kernels);
    return kernel && !has_clause(kernel);
}

void tune_join_splits(const tile_device *device, const tile_module *module, const tile_function *f,
                      const int64_t *sizes, const tune_watch *watch, tile_arena *arena,
                      tune_point **points, size_t *count) {
    tile_context *context = tile_module_context(module);
    size_t whole = *count, capacity = 0, joined = 0;
    tune_point *all = NULL;
    bool keep_going = true;
    if (!tune_may_split(f)) return;
    const tile_diversion diversion = tile_context_divert(context, NULL, NULL);
    for (size_t i = 0; i < whole; i++) {
        tile_split_point splits[TILE_MAX_SPLIT_POINTS];
        const tile_candidate *c = &(*points)[i].c;
        tile_module *copy = tile_module_clone(module);
        unsigned found = 0;
        double blocks = 1;
        all = tile_arena_grow(arena, all, joined, &capacity, sizeof *all);
        all[joined] = (*points)[i];
        all[joined].order = joined;
        joined++;
        if (watch && keep_going) keep_going = watch->keep_going("Splitting", i, whole, watch->user);
        bool splits_too = keep_going && c->state != TILE_CANDIDATE_dropped;
        if (splits_too && tile_instantiate(copy, f->name, c->bindings, c->binding_count) == TILE_OK)
            found =
                find_splits(device, tile_module_find(copy, f->name), sizes, arena, splits, &blocks);
        for (unsigned s = 0; s < found && joined < TUNE_MAX_POINTS; s++) {
            if (!is_worth_a_try(&splits[s], blocks, device->num_sms)) continue;
            all = tile_arena_grow(arena, all, joined, &capacity, sizeof *all);
            add_split(&(*points)[i], &splits[s], joined, arena, &all[joined]);
            joined++;
        }
        tile_module_destroy(copy);
    }
    tile_context_restore(&diversion);
    *points = all;
    *count = joined;
}

/* Shapes --------------------------------------------------------------------------------------- */

/* Returns whether the argument is a size: some extent or grid is computed from it. */
static bool is_size(const tile_function *f, unsigned arg) {
    const tile_arg_decl *a = &f->args[arg];
    if (a->type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(a->type->scalar)) return false;
    for (unsigned i = 0; i < f->grid_rank; i++)
        if (tile_expr_names_arg(f->grid[i], arg)) return true;
    for (size_t v = 0; v < f->arg_count; v++)
        for (unsigned d = 0; d < TILE_MAX_RANK && f->args[v].type->kind == TILE_TYPE_VIEW; d++)
            if (tile_expr_names_arg(f->args[v].extents[d], arg)) return true;
    for (size_t i = 0; i < f->reference_count; i++)
        if (tile_expr_names_arg(f->reference_values[i].expr, arg)) return true;
    const tile_function *compute = f->reference ? tile_module_find(f->module, f->reference) : NULL;
    return compute && tile_function_find_param(compute, a->name, strlen(a->name));
}

enum { VARIANT_DIVISOR = 16 /* no variant's condition needs a larger divisor */ };

/* An odd multiple of the divisor that variants see, so that the last tiles are partial. */
static int64_t shrink(int64_t value, int64_t limit, unsigned declared) {
    int64_t most = declared > VARIANT_DIVISOR ? declared : VARIANT_DIVISOR;
    int64_t step = (int64_t)tile_gcd((uint64_t)value, (uint64_t)most);
    int64_t times = limit / step;
    if (value <= limit) return value;
    if (times % 2 == 0) times--;
    return times > 0 ? times * step : step;
}

/* Limit on the cost of a check. The product of all sizes approximates the work. */
static const double most_work = 3e7;

void tune_choose_small(const tile_function *f, const tile_tune_argument *arguments, int64_t limit,
                       int64_t *small) {
    enum { LEAST = 16 };
    for (double work = 2 * most_work; work > most_work && limit >= LEAST; limit /= 2) {
        work = 1;
        for (unsigned i = 0; i < f->arg_count; i++) {
            small[i] = arguments[i].integer;
            if (f->args[i].is_const || !is_size(f, i)) continue;
            small[i] = shrink(arguments[i].integer, limit, f->args[i].divisible);
            if (small[i] > 1) work *= (double)small[i];
        }
    }
}

const char *tune_shape_name(const tile_function *f, const tile_tune_argument *arguments,
                            tile_arena *arena) {
    const char *text = "";
    uint64_t divisor = VARIANT_DIVISOR;
    for (unsigned i = 0; i < f->arg_count; i++) {
        const tile_type *type = f->args[i].type;
        if (type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(type->scalar)) continue;
        int64_t value = arguments[i].integer;
        text = tile_arena_format(arena, "%s%s%" PRId64, text, *text ? "-" : "", value);
        divisor = tile_gcd(divisor, (uint64_t)value);
    }
    return *text ? tile_arena_format(arena, "%s-d%" PRIu64, text, divisor) : text;
}
