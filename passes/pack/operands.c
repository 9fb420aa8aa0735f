/* Which arguments of a kernel are better packed at the sizes of a launch: those whose rows are not
 * aligned, and operands that wgmma cannot read as they are. It reads elements of 8 and 32 bits from
 * shared memory only K-major, that is, adjacent along k, and no f32 as parts of bf16. It takes one
 * operand from registers, to which warps load it in any order. */
#include <string.h>

#include "lib/analysis/memory.h"
#include "lib/ir/syntax.h"
#include "lib/layout/mma.h"
#include "lib/layout/wgmma.h"
#include "lib/ops/precision.h"
#include "lib/support/scalar.h"
#include "lib/support/target.h"
#include "passes/pack/parts.h"
#include "passes/pack/rows.h"
#include "passes/passes.h"

static tile_scalar scalar_of(const tile_bound_params *point, const tile_type *type) {
    return type->param ? tile_find_bound_scalar(point, type->param) : type->scalar;
}

/* Rows ----------------------------------------------------------------------------------------- */

static bool size_of(unsigned index, int64_t *value, void *user) {
    *value = ((const int64_t *)user)[index];
    return true;
}

/* Whether all rows of the array begin at multiples of 16 bytes. */
static bool is_aligned(const tile_bound_params *point, const pack_rows *rows) {
    enum { UNIT = 16 };
    const tile_function *f = point->f;
    const tile_bindings bindings = {.arg = size_of, .user = (void *)(uintptr_t)point->sizes};
    const unsigned bytes = tile_scalar_bytes(scalar_of(point, f->args[rows->arg].type));
    for (unsigned d = 0; d < f->args[rows->arg].type->rank; d++) {
        int64_t stride;
        bool known = tile_expr_eval(tile_function_arg_stride(f, rows->arg, d), &bindings, &stride);
        if (d != rows->row && known && stride % UNIT * bytes % UNIT != 0) return false;
    }
    return true;
}

/* Operands ------------------------------------------------------------------------------------- */

/* The word of an attribute, also if a parameter holds it. */
static tile_word word_of(const tile_bound_params *point, tile_op op, tile_attr_id id) {
    const tile_attr *attr = tile_op_attr(point->f, op, id);
    if (!attr || !attr->expr || attr->expr->kind != TILE_EXPR_PARAM)
        return tile_op_word(point->f, op, id);
    const tile_bound_param *param = tile_find_bound(point, attr->expr->name);
    return tile_attr_find_word(id, param ? param->word : NULL);
}

/* Whether wgmma multiplies the types of the product, but only K-major. */
static bool needs_k_major(const tile_bound_params *point, tile_op dot) {
    const tile_function *f = point->f;
    tile_mma_query query = {
        .lhs = scalar_of(point, tile_value_type(f, tile_op_segment(f, dot, TILE_MMA_LHS).at[0])),
        .rhs = scalar_of(point, tile_value_type(f, tile_op_segment(f, dot, TILE_MMA_RHS).at[0])),
        .acc = scalar_of(point, tile_value_type(f, tile_op_result(f, dot, 0)))};
    if (word_of(point, dot, TILE_ATTR_precision) == TILE_WORD_precision_tf32)
        query = tile_mma_query_as_tf32(query);
    return tile_scalar_bytes(query.lhs) != 2 && tile_wgmma_multiplies(&query);
}

static bool same_element(const tile_type *a, const tile_type *b) {
    bool both = a->param && b->param;
    return both ? strcmp(a->param, b->param) == 0 : a->param == b->param && a->scalar == b->scalar;
}

/* Whether the operation reads elements of the array, unchanged, to the tile or buffer. */
static bool fills(const tile_function *f, tile_op op, const pack_rows *rows, tile_value to) {
    tile_value view = rows->view.id ? tile_op_result(f, rows->view, 0) : f->args[rows->arg].value;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_load)
        return to.id == tile_op_result(f, op, 0).id && tile_operand_src(f, op).id == view.id;
    return opcode == TILE_OP_copy && tile_operand_src(f, op).id == view.id &&
           tile_shared_source(f, tile_operand_dst(f, op)).id == to.id &&
           same_element(tile_value_type(f, to), tile_value_type(f, view));
}

static bool is_filled_from(const tile_function *f, const pack_rows *rows, tile_value to) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (fills(f, op, rows, to)) return true;
    return false;
}

/* Whether the operand is read from the array. *k: the dim of the array along k. */
static bool is_operand(const tile_function *f, tile_op dot, unsigned operand, const pack_rows *rows,
                       unsigned *k) {
    const tile_attr_id trans = operand == TILE_MMA_LHS ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs;
    tile_value value = tile_op_segment(f, dot, operand).at[0];
    tile_op def = tile_value_def(f, value);
    bool turned = def.id && tile_op_opcode(f, def) == TILE_OP_transpose;
    if (turned) value = tile_operand_src(f, def);
    def = tile_value_def(f, value);
    if (def.id && tile_op_opcode(f, def) == TILE_OP_load_shared) value = tile_operand_src(f, def);
    const tile_type *type = tile_value_type(f, value);
    if (type->rank != 2 || rows->rank < 2) return false;
    if (type->kind == TILE_TYPE_SHARED) value = tile_shared_source(f, value);
    unsigned along = (operand == TILE_MMA_LHS) != (turned || tile_op_has_attr(f, dot, trans));
    *k = rows->dims[rows->rank - 2 + along];
    return is_filled_from(f, rows, value);
}

/* Whether an array has the operand K-major. */
static bool is_k_major(const tile_function *f, tile_op dot, unsigned operand) {
    for (unsigned i = 0; i < f->arg_count; i++) {
        pack_rows rows;
        unsigned k;
        if (!pack_find_rows(f, i, PACK_TRANSPOSED, &rows) &&
            is_operand(f, dot, operand, &rows, &k) && k == rows.row)
            return true;
    }
    return false;
}

/* Whether the product needs a transposed copy of the operand. wgmma takes one operand from
 * registers, which warps load from shared memory in any order. That is as fast for elements of 32
 * bits, and needs byte permutations for those of 8 bits. */
static bool needs_transposed(const tile_bound_params *point, tile_op dot, unsigned operand,
                             const pack_rows *rows) {
    const tile_function *f = point->f;
    tile_value value = tile_op_segment(f, dot, operand).at[0];
    unsigned k;
    if (!is_operand(f, dot, operand, rows, &k) || k != rows->across) return false;
    bool bytes = tile_scalar_bytes(scalar_of(point, tile_value_type(f, value))) == 1;
    return bytes || !is_k_major(f, dot, 1 - operand);
}

/* Whether transposing the argument lets wgmma read it. */
static bool is_operand_across(const tile_bound_params *point, const pack_rows *rows) {
    const tile_function *f = point->f;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_dot && needs_k_major(point, op))
            for (unsigned operand = 0; operand < 2; operand++)
                if (needs_transposed(point, op, operand, rows)) return true;
    return false;
}

/* Arguments ------------------------------------------------------------------------------------ */

static const char *add(tile_arena *arena, const char *names, const char *name, const char *how) {
    return tile_arena_format(arena, "%s%s%s%s", names ? names : "", names ? "+" : "", name, how);
}

const char *tile_find_unaligned(const tile_bound_params *point, tile_arena *arena) {
    const tile_function *f = point->f;
    const char *names = NULL;
    for (unsigned i = 0; i < f->arg_count; i++) {
        pack_rows rows;
        if (!pack_find_rows(f, i, PACK_PLAIN, &rows) && !is_aligned(point, &rows))
            names = add(arena, names, f->args[i].name, "");
    }
    return names;
}

/* How the argument is split into parts, for a product of these; PACK_PLAIN: it is not. */
static pack_how find_parts(const tile_bound_params *point, const pack_rows *rows) {
    const tile_function *f = point->f;
    unsigned k;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (tile_op_opcode(f, op) != TILE_OP_dot) continue;
        const tile_word word = tile_op_word(f, op, TILE_ATTR_precision);
        for (unsigned operand = 0; operand < 2; operand++)
            for (unsigned how = PACK_PLAIN + 1; how < PACK_HOWS; how++)
                if (word != TILE_WORD_NONE && pack_how_of((pack_how)how)->precision == word &&
                    is_operand(f, op, operand, rows, &k))
                    return (pack_how)how;
    }
    return PACK_PLAIN;
}

/* Finds how tensor cores need the argument. False if it cannot be packed. */
static bool find_how(const tile_bound_params *point, unsigned arg, pack_rows *rows) {
    const tile_function *f = point->f;
    if (!pack_find_rows(f, arg, PACK_TRANSPOSED, rows) && is_operand_across(point, rows))
        return true;
    if (pack_find_rows(f, arg, PACK_PLAIN, rows)) return false;
    pack_how how = find_parts(point, rows);
    return how == PACK_PLAIN || !pack_find_rows(f, arg, how, rows);
}

/* The text that packs the arguments of which `rows` are. only: of the transposed ones, this
 * argument alone; TILE_MAX_ARGUMENTS: all of them. */
static const char *name_packing(const tile_bound_params *point, const pack_rows *rows,
                                unsigned count, unsigned only, tile_arena *arena) {
    const char *names = NULL;
    for (unsigned i = 0; i < count; i++) {
        const char *name = point->f->args[rows[i].arg].name;
        pack_rows own = rows[i];
        bool left = only < TILE_MAX_ARGUMENTS && own.how == PACK_TRANSPOSED && own.arg != only;
        if (left && pack_find_rows(point->f, own.arg, PACK_PLAIN, &own)) continue;
        if (own.how != PACK_PLAIN || !is_aligned(point, &own))
            names = add(arena, names, name, pack_how_of(own.how)->suffix);
    }
    return names;
}

unsigned tile_find_packed_operands(const tile_bound_params *point, const tile_target *target,
                                   tile_arena *arena,
                                   const char *packings[TILE_MAX_OPERAND_PACKINGS]) {
    const tile_function *f = point->f;
    pack_rows rows[TILE_MAX_ARGUMENTS];
    unsigned count = 0, hows[PACK_HOWS] = {0}, found = 0, which;
    if (!tile_target_has(target, TILE_FEATURE_wgmma)) return 0;
    for (unsigned i = 0; i < f->arg_count; i++)
        if (find_how(point, i, &rows[count])) hows[rows[count++].how]++;
    if (hows[PACK_PLAIN] == count || pack_find_parts_fault(f, rows, count, &which)) return 0;
    for (unsigned i = 0; i < count && hows[PACK_TRANSPOSED] == 2; i++)
        if (rows[i].how == PACK_TRANSPOSED)
            packings[found++] = name_packing(point, rows, count, rows[i].arg, arena);
    packings[found++] = name_packing(point, rows, count, TILE_MAX_ARGUMENTS, arena);
    return found;
}
