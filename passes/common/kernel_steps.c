#include "passes/common/kernel_steps.h"

static const char *free_name(const tile_function *f, const char *suffix) {
    tile_arena *arena = &f->module->arena;
    const char *stem = tile_arena_format(arena, "%s_%s", f->name, suffix), *name = stem;
    for (unsigned i = 2; tile_module_find(f->module, name); i++)
        name = tile_arena_format(arena, "%s_%u", stem, i);
    return name;
}

tile_function *steps_copy_kernel(tile_function *f, const char *suffix) {
    tile_function *copy = tile_function_clone(f, free_name(f, suffix));
    copy->seen = 0; /* the pass manager visits it now */
    copy->reference = NULL;
    copy->reference_count = 0;
    return copy;
}

void steps_forget_grid(tile_function *f) {
    f->grid_rank = f->cluster_rank = 0;
    tile_function_set_flat(f, false);
    f->warps = f->raster_group = f->cost = NULL;
    f->raster = TILE_RASTER_NONE;
    f->is_persistent = f->raster_auto = f->persistent_auto = false;
    f->persistent_if = NULL;
}

void steps_become_plan(tile_function *f) {
    tile_function old;
    tile_function_restart(f, &old);
    f->kind = TILE_PLAN;
    f->level = 0;
    steps_forget_grid(f);
    for (unsigned i = 0; i < f->arg_count; i++) {
        f->args[i].divisible = 0;
        f->args[i].is_const = false; /* its kernels compare the value */
        f->args[i].known = NULL;
    }
}
