/* What `auto` stands for in the header of a kernel. */
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "lib/tuning/space.h"

/* What the space is without a target: that of a GPU with all of its rows. */
static const tile_target *known_target(const tile_target *target) {
    return target ? target : tile_target_find("sm_90a");
}

/* The element type of the product: of its type, of the given value of its parameter, or of the
 * parameter's default, which only a value would replace. NONE: not known. */
static tile_scalar find_element(const tile_function *f, const tile_type *type,
                                const tile_binding *given, unsigned count) {
    if (!type->param) return type->scalar;
    for (unsigned i = 0; i < count; i++)
        if (strcmp(given[i].name, type->param) == 0) return tile_scalar_of_data(given[i].value);
    const tile_param_decl *param = tile_function_find_param(f, type->param, strlen(type->param));
    bool is_default = param && param->default_type && !tile_has_own_tune(f, type->param);
    return is_default ? param->default_type->scalar : TILE_SCALAR_NONE;
}

static bool is_given(const char *param, const tile_binding *given, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(given[i].name, param) == 0) return true;
    return false;
}

static tile_product_space make_query(const tile_function *f, const tile_target *target,
                                     const tile_binding *given, unsigned count) {
    const tile_roles roles = tile_find_roles(f);
    tile_product_space q = {.element = find_element(f, roles.element, given, count),
                            .element_param = roles.element->param,
                            .sum = find_element(f, roles.sum, given, count),
                            .operands = roles.operands,
                            .chunks = roles.chunks,
                            .is_tf32 = roles.is_tf32,
                            .columns_first = roles.columns_first,
                            .target = known_target(target)};
    memcpy(q.at, roles.at, sizeof q.at);
    for (size_t i = 0; i < f->param_count; i++) {
        tile_role role = tile_role_of_param(&roles, f->params[i].name);
        if (role == TILE_ROLE_COUNT || !tile_is_covered_by_auto(f, &f->params[i])) continue;
        q.covered |= (uint32_t)1 << role;
        if (is_given(f->params[i].name, given, count)) q.given |= (uint32_t)1 << role;
    }
    return q;
}

/* Removes what an earlier call added. */
static void unresolve(tile_function *f) {
    f->tune_count = tile_own_tunes(f);
    f->where_count = tile_own_wheres(f);
    f->is_resolved = false;
}

static bool resolve(tile_function *f, const tile_target *target, const tile_binding *given,
                    unsigned count) {
    unresolve(f);
    if (!tile_check_auto(f)) return false;
    const tile_product_space q = make_query(f, target, given, count);
    const size_t own_tunes = f->tune_count, own_wheres = f->where_count;
    bool ok = !f->tune_auto || tile_space_add(f, &q);
    if (f->raster_auto) ok &= (f->raster_group = tile_space_raster(f, &q)) != NULL;
    if (f->persistent_auto) ok &= (f->persistent_if = tile_space_persistent(f, &q)) != NULL;
    f->own_tune_count = own_tunes;
    f->own_where_count = own_wheres;
    f->is_resolved = ok;
    f->resolved_for = target;
    f->resolved_element = q.element;
    f->resolved_given = q.given;
    return ok;
}

/* Whether the function has the clauses for this target and these values: the element type, and
 * which other parameters have one. Without values it keeps those of earlier values. */
static bool is_resolved(const tile_function *f, const tile_target *target,
                        const tile_binding *given, unsigned count) {
    if (!f->is_resolved || (target && f->resolved_for != target)) return false;
    if (!count) return true;
    const tile_product_space q = make_query(f, target, given, count);
    return q.element == f->resolved_element && q.given == f->resolved_given;
}

tile_status tile_resolve_tuning(tile_function *function, const tile_target *target,
                                const tile_binding *given, unsigned count) {
    bool ok = true;
    for (tile_function *f = function->module->first; f; f = f->next) {
        unsigned own = f == function ? count : 0;
        bool is_auto = f->tune_auto || f->raster_auto || f->persistent_auto;
        if (is_auto && !is_resolved(f, target, given, own)) ok &= resolve(f, target, given, own);
    }
    return ok ? TILE_OK : TILE_INVALID;
}

void tile_settle_tuning(tile_function *f) {
    f->tune_auto = f->raster_auto = f->persistent_auto = f->is_resolved = false;
}
