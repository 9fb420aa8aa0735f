#include "lib/tuning/roles.h"

#include <string.h>

#include "lib/ir/effects.h"
#include "lib/ir/operands.h"
#include "lib/ir/syntax.h"
#include "lib/ops/gather.h"
#include "lib/ops/precision.h"

#define ROLE(name, kind, without, use) {#name, #without, use, TILE_PARAM_##kind},
static const struct {
    const char *name, *without, *use;
    tile_param_kind kind;
} infos[] = {
#include "lib/tuning/roles.def"
};

const char *tile_role_name(tile_role role) {
    return infos[role].name;
}

const char *tile_role_use(tile_role role) {
    return infos[role].use;
}

const tile_expr *tile_role_without(tile_context *context, tile_role role) {
    const char *word = infos[role].without;
    if (strcmp(word, "NONE") == 0) return NULL;
    if (infos[role].kind == TILE_PARAM_word) return tile_expr_word(context, word);
    return tile_expr_int(context, *word - '0');
}

/* Finding roles -------------------------------------------------------------------------------- */

/* The first use decides. */
static void note(tile_roles *roles, tile_role role, const tile_expr *expr) {
    if (!roles->at[role]) roles->at[role] = expr;
}

/* Parameters of kind word are expressions; words are text. */
static void note_word(const tile_function *f, tile_op op, tile_attr_id id, tile_role role,
                      tile_roles *roles) {
    const tile_attr *attr = tile_op_attr(f, op, id);
    if (!attr) return;
    if (attr->expr)
        note(roles, role, attr->expr);
    else if (attr->text)
        note(roles, role, tile_expr_word(tile_function_context(f), attr->text));
}

static void note_number(const tile_function *f, tile_op op, tile_attr_id id, tile_role role,
                        tile_roles *roles) {
    const tile_attr *attr = tile_op_attr(f, op, id);
    if (attr) note(roles, role, attr->expr);
}

static void note_loop(const tile_function *f, tile_op op, tile_roles *roles) {
    note_number(f, op, TILE_ATTR_pipelined, TILE_ROLE_stages, roles);
    note_word(f, op, TILE_ATTR_consumers, TILE_ROLE_consumers, roles);
    note_number(f, op, TILE_ATTR_split, TILE_ROLE_split, roles);
    note_word(f, op, TILE_ATTR_strategy, TILE_ROLE_strategy, roles);
}

/* The operation that reads the operand's elements from an array, unchanged; no operation if there
 * is none. */
static tile_op find_read(const tile_function *f, tile_value operand) {
    tile_op def = tile_value_def(f, operand);
    if (def.id && tile_op_opcode(f, def) == TILE_OP_transpose)
        def = tile_value_def(f, operand = tile_operand_src(f, def));
    if (def.id && tile_op_opcode(f, def) == TILE_OP_load_shared)
        operand = tile_operand_src(f, def);
    else if (tile_value_type(f, operand)->kind != TILE_TYPE_SHARED)
        return def.id && tile_op_opcode(f, def) == TILE_OP_load ? def : TILE_NO_OP;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_copy && tile_operand_dst(f, op).id == operand.id)
            return op;
    return tile_value_def(f, operand); /* of the buffer, which something else fills */
}

static tile_operands find_side(const tile_function *f, tile_value operand) {
    tile_op read = find_read(f, operand);
    if (!read.id) return TILE_OPERANDS_computed;
    tile_opcode opcode = tile_op_opcode(f, read);
    if (opcode != TILE_OP_copy && opcode != TILE_OP_load) return TILE_OPERANDS_plain;
    tile_gather gather;
    if (!tile_gather_of(f, read, &gather) || !gather.tiles) return TILE_OPERANDS_plain;
    return gather.covered ? TILE_OPERANDS_gathered : TILE_OPERANDS_scattered;
}

/* A sum that no loop carries begins with zero in each step. */
static bool is_carried(const tile_function *f, tile_value acc) {
    tile_op def = tile_value_def(f, acc);
    return !def.id || tile_op_opcode(f, def) == TILE_OP_dot;
}

static tile_operands find_operands(const tile_function *f, tile_op op) {
    if (tile_precision_of(tile_op_word(f, op, TILE_ATTR_precision))->part_count > 1)
        return TILE_OPERANDS_parts;
    tile_operands lhs = find_side(f, tile_operand_lhs(f, op)),
                  rhs = find_side(f, tile_operand_rhs(f, op));
    if (lhs != TILE_OPERANDS_plain || rhs != TILE_OPERANDS_plain) return lhs > rhs ? lhs : rhs;
    return is_carried(f, tile_operand_acc(f, op)) ? TILE_OPERANDS_plain : TILE_OPERANDS_scaled;
}

static void note_dot(const tile_function *f, tile_op op, tile_roles *roles) {
    if (tile_op_operand_count(f, op) < 3) return; /* not verified yet */
    const tile_type *lhs = tile_value_type(f, tile_operand_lhs(f, op));
    const tile_type *acc = tile_value_type(f, tile_operand_acc(f, op));
    if (!acc || !lhs || acc->rank < 2 || lhs->rank < 2) return;
    bool turned = tile_op_has_attr(f, op, TILE_ATTR_trans_lhs);
    note(roles, TILE_ROLE_m, acc->dims[acc->rank - 2]);
    note(roles, TILE_ROLE_n, acc->dims[acc->rank - 1]);
    note(roles, TILE_ROLE_k, lhs->dims[lhs->rank - (turned ? 2 : 1)]);
    roles->chunks++;
    if (roles->dot.id) return;
    roles->dot = op;
    roles->operands = find_operands(f, op);
    roles->element = lhs;
    roles->sum = acc;
    roles->is_tf32 = tile_op_word(f, op, TILE_ATTR_precision) == TILE_WORD_precision_tf32;
}

static bool names(const tile_expr *expr, const tile_expr *param) {
    return expr && param && param->kind == TILE_EXPR_PARAM &&
           tile_expr_names_param(expr, param->name);
}

/* Clusters are counted along the dims of the grid, which may count tiles in either order. */
static void note_grid(const tile_function *f, tile_roles *roles) {
    roles->columns_first = f->grid_rank > 1 && names(f->grid[0], roles->at[TILE_ROLE_n]) &&
                           !names(f->grid[0], roles->at[TILE_ROLE_m]);
    for (unsigned d = 0; d < f->cluster_rank && d < 2; d++) {
        bool columns = (d == 1) != roles->columns_first;
        note(roles, columns ? TILE_ROLE_cluster_n : TILE_ROLE_cluster_m, f->cluster[d]);
    }
    note(roles, TILE_ROLE_warps, f->warps);
}

tile_roles tile_find_roles(const tile_function *f) {
    tile_roles roles = {.dot = TILE_NO_OP};
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (tile_op_opcode(f, op) == TILE_OP_for) note_loop(f, op, &roles);
        if (tile_op_opcode(f, op) == TILE_OP_dot) note_dot(f, op, &roles);
    }
    note_grid(f, &roles);
    return roles;
}

tile_role tile_role_of_param(const tile_roles *roles, const char *param) {
    tile_role role = 0;
    while (role < TILE_ROLE_COUNT &&
           !(roles->at[role] && roles->at[role]->kind == TILE_EXPR_PARAM &&
             strcmp(roles->at[role]->name, param) == 0))
        role++;
    return role;
}

/* Checks --------------------------------------------------------------------------------------- */

bool tile_has_own_tune(const tile_function *f, const char *param) {
    for (size_t t = 0; t < tile_own_tunes(f); t++)
        for (unsigned n = 0; n < f->tunes[t].name_count; n++)
            if (strcmp(f->tunes[t].names[n], param) == 0) return true;
    return false;
}

bool tile_is_covered_by_auto(const tile_function *f, const tile_param_decl *param) {
    return f->tune_auto && param->kind != TILE_PARAM_type && !param->default_expr &&
           !param->default_type && !tile_has_own_tune(f, param->name);
}

static bool fail(const tile_function *f, tile_loc loc, const char *format, const char *param,
                 const char *first, const char *second) {
    tile_report(tile_function_context(f), TILE_ERROR, loc, format, param, first, second);
    return false;
}

static bool check_param(const tile_function *f, const tile_roles *roles,
                        const tile_param_decl *param) {
    tile_role role = tile_role_of_param(roles, param->name), other = role;
    if (role == TILE_ROLE_COUNT)
        return fail(
            f, param->loc,
            "`tune auto` has no points for the parameter '%s': it is not the extent m, n or "
            "k of a `dot`, and neither `pipelined`, `split`, `consumers`, `warps` nor "
            "`cluster` uses it alone; give it a default, as in <%s: int = 1>, or points, as "
            "in `tune %s in [1, 2]`",
            param->name, param->name, param->name);
    while (++other < TILE_ROLE_COUNT)
        if (roles->at[other] == roles->at[role])
            return fail(f, param->loc,
                        "`tune auto` has no points for the parameter '%s', which is both `%s` and "
                        "`%s` of the product; use two parameters, or give it a `tune` of its own",
                        param->name, infos[role].name, infos[other].name);
    if (param->kind != infos[role].kind)
        return fail(f, param->loc,
                    "`tune auto` has no points for the parameter '%s': as `%s` of the product, it "
                    "must have the kind `%s`",
                    param->name, infos[role].name,
                    infos[role].kind == TILE_PARAM_int ? "int" : "word");
    return true;
}

static bool check_clause(const tile_function *f, const tile_roles *roles, const char *clause) {
    if (roles->dot.id) return true;
    return fail(f, f->loc,
                "`%s auto` is computed from the tile of a `dot`, and this kernel has none; write "
                "%s%s",
                clause,
                clause[0] == 'r' ? "`raster rows(8)`" : "`persistent` or `persistent if ..`", "");
}

bool tile_check_auto(const tile_function *f) {
    bool ok = true;
    if (!f->tune_auto && !f->raster_auto && !f->persistent_auto) return true;
    const tile_roles roles = tile_find_roles(f);
    if (f->raster_auto) ok &= check_clause(f, &roles, "raster");
    if (f->persistent_auto) ok &= check_clause(f, &roles, "persistent");
    for (size_t i = 0; i < f->param_count; i++)
        if (tile_is_covered_by_auto(f, &f->params[i])) ok &= check_param(f, &roles, &f->params[i]);
    return ok;
}
