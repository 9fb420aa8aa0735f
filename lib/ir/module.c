/* Modules and functions: creation, declarations, copies. body.c handles the contents of bodies. */
#include "lib/ir/function.h"

#include <stdlib.h>
#include <string.h>

#include "tile/strides.h"

#include "lib/ir/names.h"
#include "lib/ir/syntax.h"
#include "lib/support/intern.h"

static void abandon_module(tile_guarded *item, const tile_guard *guard) {
    (void)guard;
    tile_module_destroy((tile_module *)(void *)item);
}

tile_module *tile_module_create(tile_context *context) {
    TILE_GUARD_OUTSIDE(context, NULL)
    if (!context) return NULL;
    tile_module *module = tile_malloc(sizeof *module);
    *module = (tile_module){.context = context};
    tile_guarded_add(&module->guarded, abandon_module);
    return module;
}

void tile_module_destroy(tile_module *module) {
    if (!module) return;
    tile_guarded_remove(&module->guarded);
    tile_arena_reset(&module->arena);
    free(module);
}

tile_context *tile_module_context(const tile_module *module) {
    return module ? module->context : NULL;
}

tile_function *tile_module_function(const tile_module *module, unsigned index) {
    return module && index < module->function_count ? module->functions[index] : NULL;
}

tile_function *tile_module_find(const tile_module *module, const char *name) {
    return module && name ? tile_names_find(module, name) : NULL;
}

static void link_function(tile_module *module, tile_function *function) {
    function->module = module;
    function->next = NULL;
    if (module->last)
        module->last->next = function;
    else
        module->first = function;
    module->last = function;
    tile_names_add(module, function);
}

void tile_module_move_last(tile_function *function) {
    tile_module *module = function->module;
    tile_module_remove(module, function);
    link_function(module, function);
}

void tile_module_remove(tile_module *module, tile_function *function) {
    tile_function *before = NULL;
    if (!module || !function) return;
    for (tile_function *at = module->first; at; before = at, at = at->next) {
        if (at != function) continue;
        if (before)
            before->next = at->next;
        else
            module->first = at->next;
        if (module->last == at) module->last = before;
        tile_names_remove(module, function);
        return;
    }
}

/* An empty body. Entry 0 of each array means "none". */
static void begin_body(tile_function *f) {
    tile_arena *arena = &f->module->arena;
    f->ops = tile_arena_grow(arena, NULL, 0, &f->op_capacity, sizeof *f->ops);
    f->values = tile_arena_grow(arena, NULL, 0, &f->value_capacity, sizeof *f->values);
    f->regions = tile_arena_grow(arena, NULL, 0, &f->region_capacity, sizeof *f->regions);
    f->op_count = f->value_count = f->region_count = 1;
    f->body = tile_add_region(f, TILE_NO_OP, NULL, 0);
}

tile_function *tile_function_create(tile_module *module, tile_function_kind kind, const char *name,
                                    tile_loc loc) {
    TILE_GUARD_OUTSIDE(tile_module_context(module), NULL)
    if (!module) return NULL;
    name = name ? name : "";
    const tile_function *other = tile_module_find(module, name);
    if (other) {
        tile_report(module->context, TILE_ERROR, loc, "there is a function @%s already", name);
        tile_report(module->context, TILE_NOTE, other->loc, "it is here");
        return NULL;
    }
    if (!tile_function_kind_name(kind)) {
        tile_report(module->context, TILE_ERROR, loc, "@%s has no valid kind of function", name);
        return NULL;
    }
    tile_function *f = TILE_NEW(&module->arena, tile_function);
    f->kind = kind;
    f->level = kind == TILE_KERNEL ? 2 : kind == TILE_COMPUTE ? 1 : 0;
    f->name = tile_intern_name(module->context, name, strlen(name));
    f->loc = loc;
    link_function(module, f);
    begin_body(f);
    return f;
}

void tile_function_restart(tile_function *f, tile_function *old) {
    *old = *f;
    f->ops = NULL;
    f->values = NULL;
    f->regions = NULL;
    f->constant_table = NULL;
    f->widest = NULL;
    f->op_capacity = f->value_capacity = f->region_capacity = 0;
    f->constant_capacity = f->constant_count = 0;
    begin_body(f);
    f->args = tile_arena_copy(&f->module->arena, old->args, sizeof *old->args * old->arg_count);
    f->arg_capacity = f->arg_count;
    for (unsigned i = 0; i < f->arg_count; i++) {
        f->args[i].value = tile_add_value(f, TILE_VALUE_ARG, 0, i, f->args[i].type);
        tile_value_at(f, f->args[i].value)->name = f->args[i].name;
    }
}

const char *tile_function_name(const tile_function *function) {
    return function ? function->name : NULL;
}

tile_function_kind tile_function_get_kind(const tile_function *function) {
    return function ? function->kind : TILE_COMPUTE;
}

unsigned tile_function_level(const tile_function *function) {
    return function ? function->level : 0;
}

void tile_function_set_level(tile_function *f, unsigned level) {
    if (f) f->level = level;
}

/* A declaration without a name gets an empty one, which the verifier rejects. */
static const char *declared(const tile_function *f, const char *name) {
    return tile_intern_name(f->module->context, name ? name : "", name ? strlen(name) : 0);
}

/* Appends a zeroed element to one of the function's declaration arrays. */
#define APPEND(f, array, count, capacity) \
    ((f)->array = tile_arena_grow(&(f)->module->arena, (f)->array, (f)->count, &(f)->capacity, \
                                  sizeof *(f)->array), \
     &(f)->array[(f)->count++])

static const char *intern(const tile_function *f, const char *name) {
    return name ? tile_intern_name(f->module->context, name, strlen(name)) : NULL;
}

void tile_function_add_param(tile_function *f, const char *name, tile_param_kind kind,
                             const tile_expr *default_expr, const tile_type *default_type) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f) return;
    *APPEND(f, params, param_count, param_capacity) =
        (tile_param_decl){declared(f, name), kind, default_expr, default_type, f->loc};
}

bool tile_function_has_number(const tile_function *f, const char *name) {
    const tile_param_decl *param =
        f && name ? tile_function_find_param(f, name, strlen(name)) : NULL;
    int64_t number;
    return param && param->kind == TILE_PARAM_int && param->default_expr &&
           tile_expr_is_int(param->default_expr, &number);
}

tile_value tile_function_add_arg(tile_function *f, const char *name, const tile_type *type) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, TILE_NO_VALUE)
    if (!f) return TILE_NO_VALUE;
    if (!type) {
        tile_error_at(f, TILE_NO_OP, "an argument of @%s has no type", f->name);
        return TILE_NO_VALUE;
    }
    unsigned index = (unsigned)f->arg_count;
    tile_value value = tile_add_value(f, TILE_VALUE_ARG, 0, index, type);
    tile_value_at(f, value)->name = declared(f, name);
    tile_arg_decl *arg = APPEND(f, args, arg_count, arg_capacity);
    *arg = (tile_arg_decl){.name = declared(f, name), .type = type, .value = value};
    for (unsigned d = 0; d < type->rank && type->kind == TILE_TYPE_VIEW; d++) {
        arg->extents[d] = type->dims[d];
        arg->strides[d] = type->strides[d];
    }
    return value;
}

tile_value tile_declare_view_arg(tile_function *f, const char *name, const tile_type *type,
                                 const tile_expr *const *extents, const tile_expr *const *strides) {
    unsigned index = (unsigned)f->arg_count;
    tile_value value = tile_function_add_arg(f, name, type);
    for (unsigned d = 0; d < type->rank; d++) {
        f->args[index].extents[d] = extents[d];
        f->args[index].strides[d] = strides ? strides[d] : NULL;
    }
    return value;
}

tile_value tile_function_add_view_arg(tile_function *f, const char *name, const tile_type *element,
                                      unsigned rank, const tile_expr *const *extents,
                                      const tile_expr *const *strides) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, TILE_NO_VALUE)
    if (!f) return TILE_NO_VALUE;
    if (!element || element->kind != TILE_TYPE_SCALAR || !extents || !rank) {
        tile_error_at(f, TILE_NO_OP,
                      "a view argument of @%s needs an element type, such as f16, and extents",
                      f->name);
        return TILE_NO_VALUE;
    }
    const tile_type *type = tile_view_arg_type(f->module->context, element, rank, extents, strides);
    return type ? tile_declare_view_arg(f, name, type, extents, strides) : TILE_NO_VALUE;
}

void tile_function_set_arg_divisible(tile_function *f, unsigned arg, unsigned divisor) {
    if (f && arg < f->arg_count) f->args[arg].divisible = divisor;
}

void tile_function_set_arg_noalias(tile_function *f, unsigned arg, bool noalias) {
    if (f && arg < f->arg_count) f->args[arg].noalias = noalias;
}

void tile_function_set_arg_const(tile_function *f, unsigned arg, bool is_const) {
    if (f && arg < f->arg_count) f->args[arg].is_const = is_const;
}

void tile_function_set_arg_value(tile_function *f, unsigned arg, int64_t value) {
    if (!f || arg >= f->arg_count) return;
    f->args[arg].is_const = true;
    f->args[arg].known = tile_expr_int(f->module->context, value);
}

void tile_function_add_result(tile_function *f, const char *name, const tile_type *type) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f) return;
    if (!type) {
        tile_error_at(f, TILE_NO_OP, "a result of @%s has no type", f->name);
        return;
    }
    *APPEND(f, results, result_count, result_capacity) =
        (tile_result_decl){.name = declared(f, name), .type = type};
}

void tile_function_set_result(tile_function *f, unsigned index, tile_value value) {
    bool known = f && value.id < f->value_count;
    if (f && index < f->result_count) f->results[index].value = known ? value : TILE_NO_VALUE;
}

static void set_strides(const tile_type *type, const tile_expr **to,
                        const tile_expr *const *strides) {
    for (unsigned d = 0; d < type->rank && type->kind == TILE_TYPE_TENSOR; d++)
        to[d] = strides ? strides[d] : NULL;
}

void tile_function_set_arg_strides(tile_function *f, unsigned arg,
                                   const tile_expr *const *strides) {
    if (f && arg < f->arg_count) set_strides(f->args[arg].type, f->args[arg].strides, strides);
}

void tile_function_set_result_strides(tile_function *f, unsigned result,
                                      const tile_expr *const *strides) {
    if (f && result < f->result_count)
        set_strides(f->results[result].type, f->results[result].strides, strides);
}

/* Too many extents are reported, and none is set. */
static unsigned set_extents(const tile_function *f, const char *of, const tile_expr **to,
                            unsigned rank, const tile_expr *const *from) {
    if (rank > 3) {
        tile_error_at(f, TILE_NO_OP, "the %s of @%s has 1 to 3 dims, not %u", of, f->name, rank);
        return 0;
    }
    for (unsigned d = 0; d < rank; d++) to[d] = from ? from[d] : NULL;
    return rank;
}

void tile_function_set_grid(tile_function *f, unsigned rank, const tile_expr *const *extents) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (f) f->grid_rank = set_extents(f, "grid", f->grid, rank, extents);
}

void tile_function_set_flat(tile_function *f, bool is_flat) {
    if (!f) return;
    f->is_flat = is_flat;
    for (unsigned d = 0; d < 3; d++) f->unfolded[d] = NULL;
}

void tile_function_set_cluster(tile_function *f, unsigned rank, const tile_expr *const *extents) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (f) f->cluster_rank = set_extents(f, "cluster", f->cluster, rank, extents);
}

void tile_function_set_warps(tile_function *f, const tile_expr *warps) {
    if (f) f->warps = warps;
}

void tile_function_set_raster(tile_function *f, tile_raster raster, const tile_expr *group) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f) return;
    f->raster = raster;
    f->raster_group = group;
    f->raster_auto = false;
}

void tile_function_set_raster_auto(tile_function *f) {
    if (!f) return;
    f->raster = TILE_RASTER_ROWS;
    f->raster_group = NULL;
    f->raster_auto = true;
}

void tile_function_set_persistent(tile_function *f, bool persistent, const tile_expr *cost) {
    if (!f) return;
    f->is_persistent = persistent;
    f->persistent_auto = false;
    f->cost = cost;
}

void tile_function_set_persistent_auto(tile_function *f) {
    tile_function_set_persistent(f, true, NULL);
    if (f) f->persistent_auto = true;
}

void tile_function_set_persistent_if(tile_function *f, const tile_expr *condition) {
    if (f) f->persistent_if = condition;
}

void tile_function_set_sync_explicit(tile_function *f, bool is_explicit) {
    if (f) f->sync_explicit = is_explicit;
}

tile_param_value *tile_copy_values(tile_module *module, const tile_param_value *values,
                                   unsigned count) {
    tile_param_value *copy = tile_arena_copy(&module->arena, values, sizeof *values * count);
    for (unsigned i = 0; i < count; i++) {
        const char *name = copy[i].name ? copy[i].name : "";
        copy[i].name = tile_intern_name(module->context, name, strlen(name));
    }
    return copy;
}

void tile_function_set_reference(tile_function *f, const char *compute,
                                 const tile_param_value *values, unsigned count) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f) return;
    f->reference = intern(f, compute);
    f->reference_loc = f->loc;
    f->reference_count = values ? count : 0;
    f->reference_values = tile_copy_values(f->module, values, (unsigned)f->reference_count);
}

const char *tile_function_reference(const tile_function *f) {
    return f ? f->reference : NULL;
}

void tile_function_add_where(tile_function *f, const tile_expr *condition) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (f) *APPEND(f, wheres, where_count, where_capacity) = condition;
}

void tile_function_add_tune(tile_function *f, unsigned name_count, const char *const *names,
                            unsigned point_count, const tile_expr *const *values) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, )
    if (!f) return;
    if (!names || !values) name_count = point_count = 0; /* the verifier rejects that */
    tile_arena *arena = &f->module->arena;
    tile_tune_clause clause = {.name_count = name_count, .point_count = point_count};
    clause.names = TILE_NEW_ARRAY(arena, const char *, name_count);
    for (unsigned i = 0; i < name_count; i++) clause.names[i] = intern(f, names[i]);
    clause.values = tile_arena_copy(arena, values, sizeof *values * name_count * point_count);
    *APPEND(f, tunes, tune_count, tune_capacity) = clause;
}

void tile_function_set_tune_auto(tile_function *f, bool is_auto) {
    if (f) f->tune_auto = is_auto;
}

unsigned tile_function_arg_count(const tile_function *f) {
    return f ? (unsigned)f->arg_count : 0;
}

tile_value tile_function_arg(const tile_function *f, unsigned index) {
    return f && index < f->arg_count ? f->args[index].value : TILE_NO_VALUE;
}

const char *tile_function_arg_name(const tile_function *f, unsigned index) {
    return f && index < f->arg_count ? f->args[index].name : NULL;
}

const tile_type *tile_function_arg_type(const tile_function *f, unsigned index) {
    return f && index < f->arg_count ? f->args[index].type : NULL;
}

/* A row-major stride, from the extents of the later dims. */
static const tile_expr *row_major_stride(tile_context *context, const tile_expr *const *extents,
                                         unsigned rank, unsigned d) {
    const tile_expr *stride = tile_expr_int(context, 1);
    for (unsigned i = d + 1; i < rank; i++)
        stride = tile_expr_multiply(context, stride, extents[i]);
    return stride;
}

static const tile_expr *tensor_stride(const tile_function *f, const tile_type *type,
                                      const tile_expr *const *strides, unsigned d) {
    if (type->kind != TILE_TYPE_TENSOR || d >= type->rank) return NULL;
    return strides[d] ? strides[d]
                      : row_major_stride(f->module->context, type->dims, type->rank, d);
}

const tile_expr *tile_function_result_stride(const tile_function *f, unsigned result, unsigned d) {
    if (!f || result >= f->result_count) return NULL;
    return tensor_stride(f, f->results[result].type, f->results[result].strides, d);
}

static const tile_arg_decl *view_arg(const tile_function *f, unsigned index, unsigned d) {
    const tile_arg_decl *arg = f && index < f->arg_count ? &f->args[index] : NULL;
    return arg && arg->type->kind == TILE_TYPE_VIEW && d < arg->type->rank ? arg : NULL;
}

const tile_expr *tile_function_arg_extent(const tile_function *f, unsigned index, unsigned d) {
    const tile_arg_decl *arg = view_arg(f, index, d);
    return arg ? arg->extents[d] : NULL;
}

const tile_expr *tile_function_arg_stride(const tile_function *f, unsigned index, unsigned d) {
    const tile_arg_decl *arg = view_arg(f, index, d);
    if (!arg && f && index < f->arg_count)
        return tensor_stride(f, f->args[index].type, f->args[index].strides, d);
    if (!arg || arg->type->has_strides) return arg ? arg->strides[d] : NULL;
    return row_major_stride(f->module->context, arg->extents, arg->type->rank, d);
}

unsigned tile_function_arg_divisible(const tile_function *f, unsigned index) {
    return f && index < f->arg_count ? f->args[index].divisible : 0;
}

unsigned tile_function_result_count(const tile_function *f) {
    return f ? (unsigned)f->result_count : 0;
}

const char *tile_function_result_name(const tile_function *f, unsigned index) {
    return f && index < f->result_count ? f->results[index].name : NULL;
}

tile_value tile_function_result(const tile_function *f, unsigned index) {
    return f && index < f->result_count ? f->results[index].value : TILE_NO_VALUE;
}

tile_region tile_function_body(const tile_function *f) {
    return f ? f->body : TILE_NO_REGION;
}

/* Cloning ------------------------------------------------------------------------------------- */

static void *copy_array(tile_arena *arena, const void *data, size_t count, size_t *capacity,
                        size_t size) {
    *capacity = count;
    return data ? tile_arena_copy(arena, data, count * size) : NULL;
}

/* The capacity must be as tile_add_region expects. */
static tile_region *copy_regions(tile_arena *arena, const tile_op_data *op) {
    uint32_t room = 1;
    while (room < op->region_count) room *= 2;
    tile_region *regions = op->region_count ? TILE_NEW_ARRAY(arena, tile_region, room) : NULL;
    for (uint32_t r = 0; r < op->region_count; r++) regions[r] = op->regions[r];
    return regions;
}

static void clone_ops(tile_function *f) {
    tile_arena *arena = &f->module->arena;
    for (size_t i = 1; i < f->op_count; i++) {
        tile_op_data *op = &f->ops[i];
        op->operands =
            tile_arena_copy(arena, op->operands, sizeof *op->operands * op->operand_count);
        op->attrs = tile_arena_copy(arena, op->attrs, sizeof *op->attrs * op->attr_count);
        op->regions = copy_regions(arena, op);
        for (unsigned a = 0; a < op->attr_count; a++) {
            tile_attr *attr = &op->attrs[a];
            if (attr->list)
                attr->list = tile_arena_copy(arena, attr->list, sizeof *attr->list * attr->count);
            if (attr->values)
                attr->values =
                    tile_arena_copy(arena, attr->values, sizeof *attr->values * attr->count);
        }
    }
}

#define CLONE(f, array, count, capacity) \
    ((f)->array = copy_array(&(f)->module->arena, (f)->array, (f)->count, &(f)->capacity, \
                             sizeof *(f)->array))

static tile_function *clone_function(tile_module *module, const tile_function *from,
                                     const char *name) {
    tile_arena *arena = &module->arena;
    tile_function *f = tile_arena_copy(arena, from, sizeof *from);
    f->name = name;
    f->seen = 0;
    link_function(module, f);
    CLONE(f, params, param_count, param_capacity);
    CLONE(f, args, arg_count, arg_capacity);
    CLONE(f, results, result_count, result_capacity);
    CLONE(f, tunes, tune_count, tune_capacity);
    CLONE(f, wheres, where_count, where_capacity);
    CLONE(f, ops, op_count, op_capacity);
    CLONE(f, values, value_count, value_capacity);
    CLONE(f, regions, region_count, region_capacity);
    f->reference_values = tile_arena_copy(arena, f->reference_values,
                                          sizeof *f->reference_values * f->reference_count);
    f->constant_table =
        tile_arena_copy(arena, from->constant_table, sizeof(uint32_t) * from->constant_capacity);
    for (size_t i = 0; i < f->tune_count; i++) {
        tile_tune_clause *tune = &f->tunes[i];
        tune->names = tile_arena_copy(arena, tune->names, sizeof *tune->names * tune->name_count);
        tune->values = tile_arena_copy(arena, tune->values,
                                       sizeof *tune->values * tune->name_count * tune->point_count);
    }
    clone_ops(f);
    return f;
}

tile_function *tile_function_clone(tile_function *from, const char *name) {
    return clone_function(from->module, from,
                          tile_intern_name(from->module->context, name, strlen(name)));
}

tile_module *tile_module_clone(const tile_module *module) {
    TILE_GUARD_OUTSIDE(tile_module_context(module), NULL)
    if (!module) return NULL;
    tile_module *copy = tile_module_create(module->context);
    for (const tile_function *f = module->first; f; f = f->next) clone_function(copy, f, f->name);
    return copy;
}
