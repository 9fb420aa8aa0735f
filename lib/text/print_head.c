/* The header before a function's body: parameters, arguments, results, clauses. */
#include "lib/ir/describe.h"
#include "lib/ir/level.h"
#include "lib/ir/syntax.h"
#include "lib/text/printer.h"

void tile_print_default(tile_printer *p, const tile_param_decl *param) {
    if (param->default_type)
        tile_print_type(p, param->default_type);
    else if (param->default_expr && param->kind == TILE_PARAM_bool &&
             param->default_expr->kind == TILE_EXPR_INT)
        PRINT(p, "%s", param->default_expr->integer ? "true" : "false");
    else if (param->default_expr)
        tile_print_closed_expr(p, param->default_expr);
}

void tile_print_param(tile_printer *p, const tile_param_decl *param) {
    PRINT(p, "%s: %s", param->name, tile_param_kind_name(param->kind));
    PRINT(p, "%s", param->default_type || param->default_expr ? " = " : "");
    tile_print_default(p, param);
}

void tile_print_params(tile_printer *p) {
    for (size_t i = 0; i < p->f->param_count; i++) {
        PRINT(p, "%s", i ? ", " : "<");
        tile_print_param(p, &p->f->params[i]);
    }
    PRINT(p, "%s", p->f->param_count ? ">" : "");
}

/* A tensor's strides are declared beside its type. */
static void print_with_strides(tile_printer *p, tile_type shown, const tile_expr *const *strides) {
    shown.has_strides |= shown.kind == TILE_TYPE_TENSOR && strides[0];
    for (unsigned d = 0; d < shown.rank && shown.has_strides; d++) shown.strides[d] = strides[d];
    tile_print_type(p, &shown);
}

void tile_print_arg_type(tile_printer *p, const tile_arg_decl *arg) {
    tile_type shown = *arg->type;
    for (unsigned d = 0; d < shown.rank && shown.kind == TILE_TYPE_VIEW; d++)
        shown.dims[d] = arg->extents[d];
    print_with_strides(p, shown, arg->strides);
}

void tile_print_result_type(tile_printer *p, const tile_result_decl *result) {
    print_with_strides(p, *result->type, result->strides);
}

void tile_print_arg(tile_printer *p, const tile_arg_decl *arg) {
    const char *before = " {";
    PRINT(p, "%%%s: ", arg->name);
    tile_print_arg_type(p, arg);
    if (arg->divisible) {
        PRINT(p, "%s%s = %u", before, tile_attr_keyword(TILE_ATTR_divisible), arg->divisible);
        before = ", ";
    }
    if (arg->noalias) {
        PRINT(p, "%s%s", before, tile_attr_keyword(TILE_ATTR_noalias));
        before = ", ";
    }
    if (arg->tensor_map) {
        PRINT(p, "%s%s", before, tile_attr_keyword(TILE_ATTR_tensor_map));
        before = ", ";
    }
    if (arg->is_const) {
        PRINT(p, "%s%s", before, tile_attr_keyword(TILE_ATTR_constant));
        before = ", ";
    }
    if (arg->known) {
        PRINT(p, "%s%s = ", before, tile_attr_keyword(TILE_ATTR_value));
        tile_print_expr(p, arg->known);
        before = ", ";
    }
    PRINT(p, "%s", *before == ',' ? "}" : "");
}

void tile_print_args(tile_printer *p) {
    PRINT(p, "(");
    for (size_t i = 0; i < p->f->arg_count; i++) {
        PRINT(p, "%s", i ? ", " : "");
        tile_print_arg(p, &p->f->args[i]);
    }
    PRINT(p, ")");
}

void tile_print_results(tile_printer *p) {
    for (size_t i = 0; i < p->f->result_count; i++) {
        PRINT(p, "%s%%%s: ", i ? ", " : " -> (", p->f->results[i].name);
        tile_print_result_type(p, &p->f->results[i]);
    }
    PRINT(p, "%s", p->f->result_count ? ")" : "");
}

static void print_extents(tile_printer *p, const char *word, const tile_expr *const *extents,
                          unsigned rank) {
    if (!rank) return;
    PRINT(p, "\n    %s [", word);
    for (unsigned d = 0; d < rank; d++) {
        PRINT(p, "%s", d ? ", " : "");
        tile_print_expr(p, extents[d]);
    }
    PRINT(p, "]");
}

void tile_print_tune(tile_printer *p, const tile_tune_clause *tune) {
    bool several = tune->name_count > 1;
    PRINT(p, "%s", several ? "(" : "");
    for (unsigned i = 0; i < tune->name_count; i++) PRINT(p, "%s%s", i ? ", " : "", tune->names[i]);
    PRINT(p, "%s in [", several ? ")" : "");
    for (unsigned i = 0; i < tune->point_count; i++) {
        PRINT(p, "%s%s", i ? ", " : "", several ? "(" : "");
        for (unsigned k = 0; k < tune->name_count; k++) {
            PRINT(p, "%s", k ? ", " : "");
            tile_print_expr(p, tune->values[i * tune->name_count + k]);
        }
        PRINT(p, "%s", several ? ")" : "");
    }
    PRINT(p, "]");
}

static void print_walk(tile_printer *p) {
    const char *raster = p->f->raster_auto ? "auto" : tile_raster_name(p->f->raster);
    if (raster) PRINT(p, "\n    raster %s", raster);
    if (p->f->raster_group && !p->f->raster_auto)
        PRINT(p, "(%s)", tile_expr_text(p->f, p->f->raster_group, &p->text));
    if (p->f->is_persistent) PRINT(p, "\n    persistent%s", p->f->persistent_auto ? " auto" : "");
    if (p->f->persistent_if && !p->f->persistent_auto)
        PRINT(p, " if %s", tile_expr_text(p->f, p->f->persistent_if, &p->text));
    if (p->f->cost) PRINT(p, " balanced by %s", tile_expr_text(p->f, p->f->cost, &p->text));
}

void tile_print_clauses(tile_printer *p) {
    const tile_function *f = p->f;
    if (f->reference) PRINT(p, "\n    of @%s", f->reference);
    tile_print_param_values(p, f->reference_values, f->reference_count);
    for (size_t i = 0; i < tile_own_tunes(f); i++) {
        PRINT(p, "\n    tune ");
        tile_print_tune(p, &f->tunes[i]);
    }
    PRINT(p, "%s", f->tune_auto ? "\n    tune auto" : "");
    for (size_t i = 0; i < tile_own_wheres(f); i++) {
        PRINT(p, "\n    where ");
        tile_print_expr(p, f->wheres[i]);
    }
    print_extents(p, "grid", f->grid, f->grid_rank);
    if (f->is_flat && f->unfolded[0])
        print_extents(p, "flat", f->unfolded, 3);
    else if (f->is_flat)
        PRINT(p, "\n    flat");
    print_extents(p, "cluster", f->cluster, f->cluster_rank);
    print_walk(p);
    if (f->warps) {
        PRINT(p, "\n    warps ");
        tile_print_expr(p, f->warps);
    }
    PRINT(p, "%s", f->sync_explicit ? "\n    sync explicit" : "");
    /* Always printed for level 3, so that readers know that the compiler adds nothing. */
    if (f->level == 3 || f->level != tile_function_level_by_ops(f))
        PRINT(p, "\n    level %u", f->level);
}
