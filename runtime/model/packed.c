#include "runtime/model/packed.h"

#include <math.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "runtime/model/model.h"
#include "tile/pack.h"

static const tile_function *launched_by(const tile_function *plan, tile_op op) {
    return tile_op_opcode(plan, op) == TILE_OP_launch
               ? tile_module_find(plan->module, tile_op_attr_text(plan, op, TILE_ATTR_callee))
               : NULL;
}

/* The last kernel that the plan launches reads the copies. */
static const tile_function *find_reader(const tile_function *plan) {
    const tile_function *reader = NULL;
    TILE_FOR_EACH_OP (plan, op, plan->body) {
        const tile_function *kernel = launched_by(plan, op);
        if (kernel) reader = kernel;
    }
    return reader;
}

/* The next kernel starts while the last blocks of a copy run (`pdl`), so that only one start
 * counts: the reader's. */
static double estimate_copies(const tile_device *device, const tile_function *plan,
                              const int64_t *sizes, const tile_pass_option *given, unsigned count,
                              tile_arena *arena) {
    const tile_function *reader = find_reader(plan);
    double seconds = 0;
    TILE_FOR_EACH_OP (plan, op, plan->body) {
        const tile_function *kernel = launched_by(plan, op);
        const char *why;
        tile_bound_params bound;
        if (!kernel || kernel == reader) continue;
        if (!tile_bind_params(kernel, given, count, arena, &bound)) return INFINITY;
        tune_model *model = tune_model_create(device, kernel, sizes, arena);
        seconds += tune_model_estimate(model, &bound, NULL, &why) - tune_model_start_time();
    }
    return seconds;
}

bool tune_pack(const tile_device *device, const tile_module *module, const char *name,
               const char *arguments, const int64_t *sizes, const tile_pass_option *given,
               unsigned given_count, tile_arena *arena, tune_packed *out) {
    *out = (tune_packed){.module = tile_module_clone(module)};
    tile_function *plan = tile_module_find(out->module, name);
    size_t arguments_before = plan->arg_count;
    tile_binding *bindings = TILE_NEW_ARRAY(arena, tile_binding, given_count + 1u);
    for (unsigned i = 0; i < given_count; i++)
        bindings[i] = (tile_binding){given[i].key, given[i].value};
    if (tile_pack_arguments_for(plan, arguments, bindings, given_count) != TILE_OK) return false;
    int64_t *all = TILE_NEW_ARRAY(arena, int64_t, TILE_MAX_ARGUMENTS); /* 0 for the copies */
    memcpy(all, sizes, sizeof *all * arguments_before);
    out->sizes = all;
    out->reader = find_reader(plan);
    out->copies = estimate_copies(device, plan, all, given, given_count, arena);
    return true;
}

unsigned tune_find_packings(const tile_device *device, const tile_function *f,
                            const tile_binding *bindings, unsigned count, const int64_t *sizes,
                            tile_arena *arena, const char *packings[TUNE_MAX_PACKINGS]) {
    tile_bound_params point;
    unsigned found = 0;
    const tile_pass_option *options = tune_make_options(bindings, count, arena);
    if (!sizes || f->kind != TILE_KERNEL || !tile_bind_params(f, options, count, arena, &point))
        return 0;
    point.sizes = sizes;
    const char *unaligned = tile_find_unaligned(&point, arena);
    if (unaligned) packings[found++] = unaligned;
    return found + tile_find_packed_operands(&point, device->target, arena, &packings[found]);
}

const char *tune_packing_of(const tile_binding *bindings, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(bindings[i].name, TILE_PACK_ARGUMENTS) == 0) return bindings[i].value;
    return NULL;
}

static tune_point with_packing(const tune_point *whole, const char *arguments, size_t order,
                               tile_arena *arena) {
    const tile_candidate *from = &whole->c;
    unsigned count = from->binding_count;
    tile_binding *bindings = TILE_NEW_ARRAY(arena, tile_binding, count + 1u);
    for (unsigned i = 0; i < count; i++) bindings[i] = from->bindings[i];
    bindings[count] = (tile_binding){TILE_PACK_ARGUMENTS, arguments};
    tune_point packed = *whole;
    packed.c.bindings = bindings;
    packed.c.binding_count = count + 1;
    packed.c.text = tile_arena_format(arena, "%s%s" TILE_PACK_ARGUMENTS "=%s", from->text,
                                      *from->text ? " " : "", arguments);
    packed.order = order;
    return packed;
}

void tune_join_packing(const tile_device *device, const tile_function *f, const int64_t *sizes,
                       tile_arena *arena, tune_point **points, size_t *count) {
    const tile_candidate *first = &(*points)[0].c;
    const char *packings[TUNE_MAX_PACKINGS];
    const size_t given = *count;
    if (given < 2 || tune_packing_of(first->bindings, first->binding_count)) return;
    unsigned found = tune_find_packings(device, f, first->bindings, first->binding_count, sizes,
                                        arena, packings);
    const char *const *taken = packings;
    while (found && (found + 1) * given > TUNE_MAX_POINTS)
        taken++, found--; /* the last one does all */
    if (!found) return;
    tune_point *all = TILE_NEW_ARRAY(arena, tune_point, (found + 1) * given);
    memcpy(all, *points, sizeof *all * given);
    for (size_t i = given; i < (found + 1) * given; i++)
        all[i] = with_packing(&(*points)[i % given], taken[i / given - 1], i, arena);
    *points = all;
    *count = (found + 1) * given;
}
