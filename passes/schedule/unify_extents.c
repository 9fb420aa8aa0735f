/* Gives equal extents of a compute one spelling, so that the pass compares extents by pointer.
 *
 * A spelling that is a product is preferred, because dims are split and merged by its factors
 * (kernel/index.c). Otherwise the first one is used, in the order of arguments, results and
 * values.
 *
 *   %a: tensor<f32[h + h]>, %b: tensor<f32[2 * h]>  ->  both [2 * h]
 *   %c: tensor<f32[1 + (n - 1)]>                    ->  [n] */
#include "passes/schedule/unify_extents.h"

typedef struct spelling {
    const tile_expr *canonical, *chosen;
} spelling;

typedef struct unifier {
    tile_arena *arena;
    tile_function *f;
    tile_context *context;
    spelling *spellings;
    size_t count, capacity;
} unifier;

/* A product whose factors are all shorter than it: none is 1 or -1. */
static bool is_product(const unifier *u, const tile_expr *extent) {
    bool product = extent->kind == TILE_EXPR_OP && extent->opcode == TILE_OP_mul;
    for (unsigned i = 0; i < 2 && product; i++) {
        const tile_expr *factor = tile_extent_canonical(u->context, extent->args[i]);
        product = !tile_expr_is(factor, 1) && !tile_expr_is(factor, -1);
    }
    return product;
}

static spelling *find(unifier *u, const tile_expr *canonical) {
    for (size_t i = 0; i < u->count; i++)
        if (u->spellings[i].canonical == canonical) return &u->spellings[i];
    return NULL;
}

/* Adds the spelling of an extent, and those of its factors. */
static void collect(unifier *u, const tile_expr *extent) {
    if (!extent || extent->kind != TILE_EXPR_OP) return;
    const tile_expr *canonical = tile_extent_canonical(u->context, extent);
    spelling *known = find(u, canonical);
    if (known) {
        if (is_product(u, extent) && !is_product(u, known->chosen)) known->chosen = extent;
    } else if (canonical->kind == TILE_EXPR_OP) {
        bool shortens = is_product(u, canonical) && !is_product(u, extent);
        u->spellings =
            tile_arena_grow(u->arena, u->spellings, u->count, &u->capacity, sizeof *u->spellings);
        u->spellings[u->count++] = (spelling){canonical, shortens ? canonical : extent};
    }
    for (unsigned i = 0; i < 2 && is_product(u, extent); i++) collect(u, extent->args[i]);
}

static const tile_expr *unified(unifier *u, const tile_expr *extent) {
    if (!extent || extent->kind != TILE_EXPR_OP) return extent;
    const tile_expr *canonical = tile_extent_canonical(u->context, extent);
    const spelling *known = find(u, canonical);
    const tile_expr *chosen = known ? known->chosen : canonical;
    if (!is_product(u, chosen)) return chosen;
    return tile_expr_op(u->context, TILE_OP_mul, unified(u, chosen->args[0]),
                        unified(u, chosen->args[1]), NULL);
}

static void collect_type(unifier *u, const tile_type *type) {
    for (unsigned d = 0; d < type->rank; d++) collect(u, type->dims[d]);
}

static const tile_type *unified_type(unifier *u, const tile_type *type) {
    tile_type draft = *type;
    if (type->kind != TILE_TYPE_TENSOR) return type;
    for (unsigned d = 0; d < type->rank; d++) draft.dims[d] = unified(u, type->dims[d]);
    return tile_type_get(u->context, &draft);
}

void sched_unify_extents(tile_arena *arena, tile_function *f) {
    unifier u = {.arena = arena, .f = f, .context = tile_function_context(f)};
    for (size_t i = 0; i < f->arg_count; i++) collect_type(&u, f->args[i].type);
    for (size_t i = 0; i < f->result_count; i++) collect_type(&u, f->results[i].type);
    for (uint32_t id = 1; id < f->value_count; id++) collect_type(&u, f->values[id].type);
    for (size_t i = 0; i < f->arg_count; i++) f->args[i].type = unified_type(&u, f->args[i].type);
    for (size_t i = 0; i < f->result_count; i++)
        f->results[i].type = unified_type(&u, f->results[i].type);
    for (uint32_t id = 1; id < f->value_count; id++)
        f->values[id].type = unified_type(&u, f->values[id].type);
}
