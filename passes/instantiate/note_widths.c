/* Finds the widest accesses over all points, so that remarks about the divisor of an argument hold
 * for all of them (lib/analysis/narrow.h). A wider tile or fewer warps may need more than the
 * compiled point. */
#include "passes/instantiate/note_widths.h"

enum { LANES = 32, MAX_POINTS = 512, MOST = 16 };

typedef struct notes {
    tile_function *f;
    unsigned (*widest)[TILE_MAX_RANK];
    unsigned points;
} notes;

/* The tile or buffer that the operation moves to or from memory, or NULL. */
static const tile_type *moved_by(const tile_function *f, tile_op op) {
    const tile_op_data *data = tile_op_at(f, op);
    const tile_type *tile = data->result_count ? tile_value_type(f, data->first_result) : NULL;
    bool memory = false;
    for (uint32_t i = 0; i < data->operand_count; i++) {
        const tile_type *type = tile_value_type(f, data->operands[i]);
        memory |= type->kind == TILE_TYPE_VIEW;
        if (type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_SHARED) tile = type;
    }
    bool moves = memory && tile && (tile->kind == TILE_TYPE_TILE || tile->kind == TILE_TYPE_SHARED);
    return moves ? tile : NULL;
}

/* The elements of a tile are distributed over all threads; a copy to a buffer may use some of
 * them. */
static void note(notes *n, tile_op op, const tile_type *tile, int64_t warps,
                 const tile_bindings *bindings) {
    int64_t dims[TILE_MAX_RANK], elements = 1;
    for (unsigned d = 0; d < tile->rank; d++) {
        if (!tile_expr_eval(tile->dims[d], bindings, &dims[d]) || dims[d] < 1) return;
        if (__builtin_mul_overflow(elements, dims[d], &elements)) return;
    }
    for (unsigned d = 0; d < tile->rank; d++) {
        unsigned width = MOST;
        while (width > 1 && (width > dims[d] || (tile->kind == TILE_TYPE_TILE &&
                                                 (int64_t)width * LANES * warps > elements)))
            width /= 2;
        if (width > n->widest[op.id][d]) n->widest[op.id][d] = width;
    }
}

static bool visit_point(const tile_bound_params *point, void *user) {
    notes *n = user;
    int64_t warps;
    tile_bound_params bound = *point;
    tile_bindings bindings = tile_param_bindings(&bound);
    if (!n->f->warps || !tile_expr_eval(n->f->warps, &bindings, &warps) || warps < 1) return true;
    for (uint32_t id = 1; id < n->f->op_count; id++) {
        const tile_type *tile = n->f->ops[id].opcode ? moved_by(n->f, (tile_op){id}) : NULL;
        if (tile) note(n, (tile_op){id}, tile, warps, &bindings);
    }
    return ++n->points < MAX_POINTS;
}

void note_widths(tile_function *f, const tile_pass_option *options, unsigned count,
                 tile_arena *scratch) {
    unsigned kept = 0;
    if (!f->tune_count || tile_function_level(f) != 2 || f->kind != TILE_KERNEL) return;
    tile_pass_option *others = TILE_NEW_ARRAY(scratch, tile_pass_option, count + 1);
    for (unsigned i = 0; i < count; i++)
        if (!tile_is_tuned(f, options[i].key)) others[kept++] = options[i];
    notes n = {.f = f};
    n.widest = tile_arena_alloc(&f->module->arena, sizeof *n.widest * f->op_count);
    f->widest_count = f->op_count;
    f->widest = (const unsigned(*)[TILE_MAX_RANK])n.widest;
    tile_visit_points(f, others, kept, NULL, scratch, visit_point, &n);
}
