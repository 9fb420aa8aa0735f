/* Checks `parallel`: its region contains scalar code for one element. The elements may be executed
 * in any order, and expand-parallel must be able to vectorize the code for all elements. */
#include "lib/check/verify.h"
#include "lib/ir/describe.h"
#include "lib/ir/regions.h"
#include "lib/layout/layout.h"

typedef struct checker {
    tile_function *f;
    tile_arena scratch;
    bool sound;
    uint32_t refused_line;
} checker;

static tile_op parallel_around(const tile_function *f, tile_op op) {
    tile_op around = tile_op_parent(f, op);
    while (around.id && tile_op_opcode(f, around) != TILE_OP_parallel)
        around = tile_op_parent(f, around);
    return around;
}

static bool is_scalar_code(tile_opcode opcode) {
    switch (opcode) {
    case TILE_OP_call:
    case TILE_OP_element:
    case TILE_OP_load:
    case TILE_OP_store:
    case TILE_OP_inside:
    case TILE_OP_atomic:
    case TILE_OP_atomic_cas:
    case TILE_OP_if:
    case TILE_OP_for:
    case TILE_OP_while:
    case TILE_OP_yield:
    case TILE_OP_block_id:
    case TILE_OP_grid_dim:
    case TILE_OP_assert:
    case TILE_OP_assume:
    case TILE_OP_uniform: return true;
    default: return tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
    }
}

/* The first operand or result that is an array, except the source of `element`. */
static const tile_type *find_array(const tile_function *f, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        const tile_type *type = tile_value_type(f, tile_op_operand(f, op, i));
        bool source = i == 0 && tile_op_opcode(f, op) == TILE_OP_element;
        if (tile_type_is_array(type) && !source) return type;
    }
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++) {
        const tile_type *type = tile_value_type(f, tile_op_result(f, op, i));
        if (tile_type_is_array(type)) return type;
    }
    return NULL;
}

static void check_inside(checker *c, tile_op op) {
    tile_opcode opcode = tile_op_opcode(c->f, op);
    const tile_type *array = find_array(c->f, op);
    if (opcode == TILE_OP_parallel)
        c->sound = tile_error_at(c->f, op,
                                 "parallel cannot be nested; give the outer one more coordinates");
    else if (!is_scalar_code(opcode))
        c->sound = tile_error_at(
            c->f, op,
            "%s is not allowed in `parallel`, whose region may hold arithmetic, calls, if, "
            "for, while, and accesses to single elements of tiles and memory",
            tile_op_name(c->f, op));
    else if (array)
        c->sound = tile_error_at(
            c->f, op,
            "%s works on %s in `parallel`, whose region is code of one element; write "
            "%%t[%%i] for an element of a tile",
            tile_op_name(c->f, op), tile_type_text(c->f, array, NULL, &c->scratch));
}

static bool is_tile_of(const tile_function *f, tile_op op, const tile_type *type,
                       const tile_type *element) {
    bool same = type->kind == TILE_TYPE_TILE && element->kind == TILE_TYPE_SCALAR &&
                type->scalar == element->scalar && type->param == element->param &&
                type->rank == tile_op_operand_count(f, op);
    for (unsigned d = 0; same && d < type->rank; d++)
        same = type->dims[d] ==
               tile_extent_canonical(tile_function_context(f),
                                     tile_value_as_expr(f, tile_op_operand(f, op, d)));
    return same;
}

static void check_results(checker *c, tile_op op) {
    for (unsigned i = 0; i < tile_op_result_count(c->f, op); i++) {
        const tile_type *type = tile_value_type(c->f, tile_op_result(c->f, op, i));
        const tile_type *element = tile_value_type(c->f, tile_carried_sent(c->f, op, 0, i));
        if (!is_tile_of(c->f, op, type, element))
            c->sound =
                tile_error_at(c->f, op, "parallel: result %u is %s, and its region yields %s",
                              i + 1, tile_type_text(c->f, type, NULL, &c->scratch),
                              tile_type_text(c->f, element, NULL, &c->scratch));
    }
}

static void check_parallel(checker *c, tile_op op) {
    unsigned rank = tile_op_operand_count(c->f, op);
    const tile_region_data *body = tile_region_at(c->f, tile_op_region(c->f, op, 0));
    int64_t elements = 1;
    if (!rank || rank > TILE_MAX_RANK || body->arg_count != rank) {
        c->sound = tile_error_at(c->f, op, "parallel: %u coordinates for %u extents, of 1 to %d",
                                 body->arg_count, rank, TILE_MAX_RANK);
        return;
    }
    for (unsigned d = 0; d < rank; d++) {
        int64_t extent = 1;
        if (tile_value_at(c->f, tile_op_operand(c->f, op, d))->kind != TILE_VALUE_CONSTANT) {
            c->sound =
                tile_error_at(c->f, op, "parallel: the extents must be numbers or parameters");
            return;
        }
        const tile_type *type = tile_value_type(c->f, (tile_value){body->first_arg.id + d});
        if (type->kind != TILE_TYPE_SCALAR || type->scalar != TILE_i32)
            c->sound = tile_error_at(c->f, op, "parallel: the coordinates must be i32");
        tile_value_is_int(c->f, tile_op_operand(c->f, op, d), &extent);
        if (extent < 1 || extent > TILE_MAX_TILE_ELEMENTS ||
            (elements *= extent) > TILE_MAX_TILE_ELEMENTS) {
            c->sound = tile_error_at(
                c->f, op,
                "parallel: extents must be at least 1, and their product at most %d, as for a tile",
                TILE_MAX_TILE_ELEMENTS);
            return;
        }
        if (!tile_layout_admits_extent(extent)) {
            c->sound = tile_error_at(c->f, op,
                                     "parallel: extents must be odd numbers up to %d times powers "
                                     "of two, as for a tile, not %lld",
                                     TILE_LAYOUT_MAX_COUNT, (long long)extent);
            return;
        }
    }
    check_results(c, op);
}

/* Reports only one error per line. */
static void refuse_element(checker *c, tile_op op) {
    tile_loc loc = tile_op_loc(c->f, op);
    bool again = loc.line && loc.line == c->refused_line;
    c->refused_line = loc.line;
    c->sound = false;
    if (again) return;
    tile_error_at(c->f, op,
                  "%%t[..]: one element of a tile can be read in `parallel` only; elsewhere write "
                  "`scalar(slice(%%t, [0]) : [1])` for a known place, or read it from memory, "
                  "`%%x[%%i]`, or from a shared buffer after `store_shared %%t, "
                  "%%buffer`: `load %%buffer[0, %%i]`");
}

static void visit(checker *c, tile_op op) {
    const tile_function *f = c->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    bool inside = parallel_around(f, op).id != 0;
    if (inside) check_inside(c, op);
    if (opcode == TILE_OP_parallel && !inside) check_parallel(c, op);
    if (opcode == TILE_OP_element && !inside) refuse_element(c, op);
}

bool tile_verify_parallel(tile_function *function) {
    checker c = {.f = function, .sound = true};
    bool any = false;
    for (size_t id = 1; id < function->op_count; id++)
        any |= function->ops[id].opcode == TILE_OP_parallel ||
               function->ops[id].opcode == TILE_OP_element;
    if (any)
        TILE_FOR_EACH_OP_INSIDE (function, op, function->body) visit(&c, op);
    tile_arena_reset(&c.scratch);
    return c.sound;
}
