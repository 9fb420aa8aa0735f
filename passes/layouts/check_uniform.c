/* All executing threads take part in a tile operation: assign-layouts rejects operations that not
 * all threads reach, or whose operands differ between threads. */
#include "lib/analysis/uniform.h"
#include "lib/ir/regions.h"
#include "passes/layouts/assign_layouts.h"

typedef struct uniformity {
    tile_pass *pass;
    tile_function *f;
    const bool *divergent; /* by value */
    tile_status status;
} uniformity;

static bool is_tile(const tile_function *f, tile_value value) {
    return tile_value_type(f, value)->kind == TILE_TYPE_TILE;
}

static bool check_control(uniformity *u, tile_op op) {
    tile_op control = tile_divergent_control(u->f, u->divergent, op);
    if (!control.id) return true;
    u->status = TILE_INVALID;
    tile_error_at(
        u->f, op,
        "%s is in divergent control flow: all threads that execute it together must reach it",
        tile_op_name(u->f, op));
    tile_note_at(u->f, control, "threads diverge at this %s", tile_op_name(u->f, control));
    return false;
}

/* The operation that does for one thread what this one does for all, or NULL. */
static const char *own_access(tile_opcode opcode) {
    static const struct {
        tile_opcode together;
        const char *own;
    } rows[] = {
        {TILE_OP_load, "ld_global"},
        {TILE_OP_store, "st_global"},
        {TILE_OP_prefetch_l2, "prefetch_l2_thread"},
        {TILE_OP_atomic, "atomic_thread"},
        {TILE_OP_atomic_cas, "atomic_cas_thread"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].together == opcode) return rows[i].own;
    return NULL;
}

static void refuse_divergent(uniformity *u, tile_op op, tile_value value) {
    tile_op source = tile_divergence_source(u->f, u->divergent, value);
    const char *own = own_access(tile_op_opcode(u->f, op));
    u->status = TILE_INVALID;
    tile_error_of(
        u->f, op,
        "an operand differs between threads, and operations on tiles need operands that are the "
        "same in all threads; if it is the same, write `uniform(..)` around it%s%s",
        own ? "; a thread's own access is " : "", own ? own : "");
    if (source.id)
        tile_note_at(u->f, source, "this %s differs between threads", tile_op_name(u->f, source));
}

/* A tile operation needs uniform operands. A divergent tile is reported where it is defined. */
static void check_op(uniformity *u, tile_op op) {
    tile_function *f = u->f;
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    bool together = info->traits & (TILE_TRAIT_WHOLE_SET | TILE_TRAIT_UNIFORM);
    if ((together && !check_control(u, op)) || info->traits & TILE_TRAIT_UNIFORM) return;
    bool tile = info->traits & TILE_TRAIT_WHOLE_SET;
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
        tile |= is_tile(f, tile_op_result(f, op, i));
    bool regions = info->shape != TILE_SHAPE_NONE; /* carried values may differ */
    unsigned count = regions ? tile_control_operand_count(f, op) : tile_op_operand_count(f, op);
    for (unsigned i = 0; tile && i < count; i++) {
        tile_value value = regions ? tile_control_operand(f, op, i) : tile_op_operand(f, op, i);
        if (!u->divergent[value.id] || is_tile(f, value)) continue;
        refuse_divergent(u, op, value);
        return;
    }
}

tile_status check_uniform(tile_pass *pass, tile_function *f) {
    uniformity u = {.pass = pass, .f = f};
    u.divergent = tile_divergent_values(f, pass->scratch);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) check_op(&u, op);
    return u.status;
}
