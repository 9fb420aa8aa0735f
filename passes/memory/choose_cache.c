/* choose-cache: chooses L2 eviction hints for global loads.
 *
 * Each block reads the data that a pipelined loop copies once, and all blocks read it at about the
 * same time. In the L2 this data would evict the lines of the previous kernel, and dirty lines must
 * be written to memory first. On an H200 whose L2 holds dirty lines, 128 x 1024 x 16384 takes 17.5
 * us with the hint and 19.5 us without, 512 x 512 x 16384 takes 20.8 us and 22.6 us. (With a clean
 * L2 it makes no difference.)
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated, laid_out
 * breaks: nothing
 *
 * pipeline: choose-cache
 * before:
 *   kernel @stream(%m: i32, %n: i32, %k: i32, %x: view<f16[%m, %k]>)
 *       grid [ceildiv(%n, 64), ceildiv(%m, 64)]  warps 4
 *   {
 *     %j, %i = block_id
 *     %s = alloc_shared : shared<f16[64, 64]>
 *     for %ko = 0 to %k step 64 pipelined (3) {
 *       copy %x[%i * 64, %ko], %s
 *     }
 *   }
 *
 * after:
 *   kernel @stream(%m: i32, %n: i32, %k: i32, %x: view<f16[%m, %k]>)
 *       grid [ceildiv(%n, 64), ceildiv(%m, 64)]  warps 4
 *   {
 *     %j, %i = block_id
 *     %s = alloc_shared : shared<f16[64, 64]>
 *     for %ko = 0 to %k step 64 pipelined (3) {
 *       copy %x[%i * 64, %ko], %s
 *           {cache = evict_first, cache_if = (rem(%k, 64) == 0) & (ceildiv(%n, 64) <= 4) |
 *                                            (ceildiv(%n, 64) <= 1)}
 *     }
 *   }
 *
 * Conditions. The readers of an address are the blocks along the dims of the grid that it does not
 * depend on; the launch knows their number. If many blocks read a line, it may be evicted before
 * the last one reads it: with 8 or more blocks the hint costs 1 to 5 %. If rows are not aligned to
 * lines (128 bytes), neighboring blocks each read parts of a line, and the cost is the same. Blocks
 * that are not neighbors need not run at the same time: then only data with a single reader gets
 * the hint, unless all blocks of the launch are resident.
 *
 * Hints in the kernel's text are kept. */
#include <string.h>

#include "lib/analysis/memory.h"
#include "lib/analysis/pipeline_plan.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/ops/gather.h"
#include "lib/ops/im2col.h"
#include "passes/pass.h"

enum {
    LINE_BITS = 128 * 8,
    FEW = 4,
    UNKNOWN = 1 << 3, /* added to a set of the grid's dims */
};

typedef struct chooser {
    tile_pass *pass;
    tile_function *f;
    uint8_t *dims;    /* by value: set of grid dims that it depends on; 1 << 7: computed */
    uint8_t *follows; /* by value: FOLLOWS_*, or 0 if it was not visited */
    bool resident;
} chooser;

/* Dims of the grid that an address depends on -------------------------------------------------- */

enum { VISITED = 1 << 7 };

static unsigned dims_of(chooser *c, tile_value value);

static unsigned dims_of_operands(chooser *c, tile_op op, unsigned count) {
    unsigned dims = 0;
    for (unsigned i = 0; i < count; i++) dims |= dims_of(c, tile_op_operand(c->f, op, i));
    return dims;
}

/* With one block per multiprocessor, a block works on arbitrary tiles. */
static unsigned dims_of_block(const chooser *c, unsigned d) {
    bool by_device = d < c->f->grid_rank && tile_expr_holds(c->f->grid[d], TILE_EXPR_NUM_SMS);
    return by_device ? UNKNOWN : 1u << d;
}

static unsigned find_dims(chooser *c, tile_value value) {
    const tile_value_data *data = tile_value_at(c->f, value);
    if (data->kind == TILE_VALUE_ARG || data->kind == TILE_VALUE_CONSTANT) return 0;
    if (data->kind == TILE_VALUE_REGION) {
        tile_op loop = tile_region_at(c->f, (tile_region){data->owner})->parent;
        bool counts = tile_op_opcode(c->f, loop) == TILE_OP_for && data->index == 0;
        if (!counts) return UNKNOWN;
        /* The end of the loop limits which blocks reach a value, not which address the value stands
         * for. */
        return dims_of(c, tile_operand_begin(c->f, loop)) |
               dims_of(c, tile_operand_step(c->f, loop));
    }
    tile_op def = {data->owner};
    tile_opcode opcode = tile_op_opcode(c->f, def);
    if (opcode == TILE_OP_block_id) return dims_of_block(c, data->index);
    if (opcode == TILE_OP_grid_dim) return 0;
    if (tile_op_effects(c->f, def) || tile_op_at(c->f, def)->region_count) return UNKNOWN;
    return dims_of_operands(c, def, tile_op_operand_count(c->f, def));
}

static unsigned dims_of(chooser *c, tile_value value) {
    if (!(c->dims[value.id] & VISITED))
        c->dims[value.id] = (uint8_t)(VISITED | find_dims(c, value));
    return c->dims[value.id] & ~(unsigned)VISITED;
}

/* Blocks that read the same data --------------------------------------------------------------- */

static const tile_expr *op_of(const chooser *c, tile_opcode opcode, const tile_expr *a,
                              const tile_expr *b) {
    bool product = opcode == TILE_OP_mul;
    if (product && tile_expr_is(a, 1)) return b;
    if (product && tile_expr_is(b, 1)) return a;
    return tile_expr_op(c->pass->context, opcode, a, b, NULL);
}

static const tile_expr *number(const chooser *c, int64_t value) {
    return tile_expr_int(c->pass->context, value);
}

/* Whether blocks that read the same data run at the same time. */
static bool are_near(const chooser *c, unsigned readers) {
    return c->resident || c->f->raster || !(readers & ~1u);
}

/* Condition: a stride is a multiple of a line. */
static const tile_expr *is_even(const chooser *c, const tile_expr *stride, tile_scalar scalar) {
    const tile_expr *line = number(c, LINE_BITS / tile_scalar_bits(scalar));
    return op_of(c, TILE_OP_eq, op_of(c, TILE_OP_rem, stride, line), number(c, 0));
}

static const tile_expr *both(const chooser *c, const tile_expr *a, const tile_expr *b) {
    int64_t known;
    if (!a || !b) return NULL;
    if (tile_expr_is_int(a, &known)) return known ? b : a;
    if (tile_expr_is_int(b, &known)) return known ? a : b;
    return op_of(c, TILE_OP_and, a, b);
}

static const tile_expr *either(const chooser *c, const tile_expr *a, const tile_expr *b) {
    int64_t known;
    if (tile_expr_is_int(a, &known)) return known ? a : b;
    if (tile_expr_is_int(b, &known)) return known ? b : a;
    return op_of(c, TILE_OP_or, a, b);
}

/* Condition: all rows are aligned to lines. NULL: unknown. */
static const tile_expr *rows_are_even(const chooser *c, const tile_arg_decl *arg) {
    const tile_type *view = arg->type;
    const tile_expr *even = number(c, 1);
    if (!view->has_strides && view->rank > 1)
        return is_even(c, arg->extents[view->rank - 1], view->scalar);
    for (unsigned d = 0; d < view->rank && view->has_strides; d++) {
        if (!arg->strides[d]) return NULL;
        if (tile_expr_is(arg->strides[d], 1)) continue;
        even = both(c, even, is_even(c, arg->strides[d], view->scalar));
    }
    return even;
}

enum { FOLLOWS_NOT = 1, FOLLOWS };

static bool follows_loop(const chooser *c, tile_value value);

static bool find_loop(const chooser *c, tile_value value) {
    const tile_value_data *data = tile_value_at(c->f, value);
    if (data->kind == TILE_VALUE_REGION) {
        tile_op loop = tile_region_at(c->f, (tile_region){data->owner})->parent;
        return tile_op_opcode(c->f, loop) == TILE_OP_for && data->index == 0;
    }
    tile_op def = tile_value_def(c->f, value);
    bool follows = false;
    if (!def.id || tile_op_effects(c->f, def) || tile_op_at(c->f, def)->region_count) return false;
    for (unsigned i = 0; i < tile_op_operand_count(c->f, def); i++)
        follows |= follows_loop(c, tile_op_operand(c->f, def, i));
    return follows;
}

/* Whether a value follows from the variable of a loop. */
static bool follows_loop(const chooser *c, tile_value value) {
    uint8_t *known = &c->follows[value.id];
    if (!*known) *known = find_loop(c, value) ? FOLLOWS : FOLLOWS_NOT;
    return *known == FOLLOWS;
}

/* Whether a block reads its rows of the array from one end to the other. */
static bool reads_along_rows(const chooser *c, const tile_arg_decl *arg, tile_values element) {
    const tile_type *view = tile_value_type(c->f, element.at[0]);
    unsigned along = arg->type->rank - 1;
    if (view->rank != arg->type->rank || element.count != 1u + view->rank) return false;
    for (unsigned d = 0; d < view->rank && arg->type->has_strides; d++)
        if (tile_expr_is(arg->strides[d], 1)) along = d;
    return follows_loop(c, element.at[1 + along]);
}

/* The array whose memory a view shows; NULL: it is of no argument. */
static const tile_arg_decl *array_of(const tile_function *f, tile_value view) {
    tile_value root = tile_memory_root(f, view);
    const tile_value_data *data = root.id ? tile_value_at(f, root) : NULL;
    bool is_array = data && data->kind == TILE_VALUE_ARG && data->type->kind == TILE_TYPE_VIEW;
    return is_array ? &f->args[data->index] : NULL;
}

/* The number of blocks that read the same data; NULL: unknown. */
static const tile_expr *count_readers(const chooser *c, unsigned readers) {
    const tile_expr *count = number(c, 1);
    for (unsigned d = 0; d < c->f->grid_rank; d++) {
        if (!(readers >> d & 1)) continue;
        if (tile_expr_holds(c->f->grid[d], TILE_EXPR_NUM_SMS)) return NULL;
        count = op_of(c, TILE_OP_mul, count, c->f->grid[d]);
    }
    return count;
}

/* Hints ---------------------------------------------------------------------------------------- */

static void choose(chooser *c, tile_op op) {
    tile_function *f = c->f;
    unsigned dims = 0;
    int64_t known;
    tile_opcode opcode = tile_op_opcode(f, op);
    bool copies = opcode == TILE_OP_copy || opcode == TILE_OP_copy_async;
    if ((!copies && opcode != TILE_OP_load) || tile_op_has_attr(f, op, TILE_ATTR_cache)) return;
    if (!tile_is_plain_access(f, op)) return; /* addresses depend on memory */
    const tile_values source = tile_operands_src(f, op);
    if (tile_im2col_maker(f, source.at[0]).id) return; /* windows overlap */
    const tile_arg_decl *array = array_of(f, source.at[0]);
    if (!array || !tile_is_pipelined(f, op)) return;
    for (unsigned i = 0; i < source.count; i++) dims |= dims_of(c, source.at[i]);
    unsigned readers = ((1u << f->grid_rank) - 1) & ~dims;
    const tile_expr *blocks = dims & UNKNOWN ? NULL : count_readers(c, readers);
    if (!blocks) return;
    const tile_expr *most = number(c, are_near(c, readers) ? FEW : 1);
    const tile_expr *few = both(c, rows_are_even(c, array), op_of(c, TILE_OP_le, blocks, most));
    const tile_expr *alone = op_of(c, TILE_OP_le, blocks, number(c, 1));
    if (few && reads_along_rows(c, array, source))
        few = tile_expr_is(most, 1) ? alone : either(c, few, alone);
    if (!few) return;
    bool constant = tile_expr_is_int(few, &known);
    if (constant && !known) return;
    tile_op_set_text(f, op, TILE_ATTR_cache, "evict_first");
    if (!constant) tile_op_set_expr(f, op, TILE_ATTR_cache_if, few);
    tile_pass_count(c->pass, "hints", 1);
}

/* Whether a plan launches the kernel with all its blocks resident. */
static bool is_resident(const tile_function *f) {
    for (const tile_function *plan = f->module->first; plan; plan = plan->next)
        for (uint32_t id = 1; plan->kind == TILE_PLAN && id < plan->op_count; id++) {
            tile_op op = {id};
            const char *callee = tile_op_attr_text(plan, op, TILE_ATTR_callee);
            if (plan->ops[id].opcode == TILE_OP_launch && callee && strcmp(callee, f->name) == 0 &&
                tile_op_has_attr(plan, op, TILE_ATTR_resident))
                return true;
        }
    return false;
}

tile_status tile_pass_choose_cache(tile_pass *pass, tile_function *f) {
    if (f->kind != TILE_KERNEL) return TILE_OK;
    chooser c = {.pass = pass, .f = f, .resident = is_resident(f)};
    c.dims = TILE_NEW_ARRAY(pass->scratch, uint8_t, f->value_count);
    c.follows = TILE_NEW_ARRAY(pass->scratch, uint8_t, f->value_count);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) choose(&c, op);
    return TILE_OK;
}
