/* Rules of reductions and scans by a function. */
#include "lib/ops/combine.h"

#include <stdarg.h>

#include "lib/builder/call.h"
#include "lib/check/verify.h"
#include "lib/ir/describe.h"

static const tile_type *operand_type(const tile_function *f, tile_op op, unsigned i) {
    return tile_value_type(f, tile_operands_src(f, op).at[i]);
}

static bool same_element(const tile_type *a, const tile_type *b) {
    return a->scalar == b->scalar && a->param == b->param;
}

/* Reports an error at the name of the function in `combine = @f`, and where the function is
 * defined. Returns false. */
static bool fail(const tile_function *f, tile_op op, const tile_function *func, const char *format,
                 ...) TILE_PRINTF(4, 5);
static bool fail(const tile_function *f, tile_op op, const tile_function *func, const char *format,
                 ...) {
    tile_context *context = tile_function_context(f);
    tile_arena scratch = {0};
    va_list args;
    va_start(args, format);
    tile_report(context, TILE_ERROR, tile_op_attr_loc(f, op, TILE_ATTR_combine), "%s: %s",
                tile_op_name(f, op), tile_arena_vformat(&scratch, format, args));
    va_end(args);
    tile_report(context, TILE_NOTE, func->loc, "@%s is defined here", func->name);
    tile_arena_reset(&scratch);
    return false;
}

/* The results have the element types of the operands. */
static bool check_results(const tile_function *f, tile_op op, const tile_call *call) {
    unsigned n = tile_operands_src(f, op).count;
    const tile_function *func = call->callee;
    if (func->result_count != n)
        return fail(f, op, func, "for %u operand%s @%s must have %u result%s, one for each, not %u",
                    n, n == 1 ? "" : "s", func->name, n, n == 1 ? "" : "s",
                    (unsigned)func->result_count);
    for (unsigned i = 0; i < n; i++) {
        const tile_type *element = tile_call_type(call, func->results[i].type),
                        *operand = operand_type(f, op, i);
        if (element && same_element(element, operand)) continue;
        tile_arena scratch = {0};
        fail(f, op, func, "result %%%s of @%s is %s, but operand %u has elements of %s",
             func->results[i].name, func->name,
             tile_type_text(func, func->results[i].type, NULL, &scratch), i + 1,
             operand->param ? operand->param : tile_scalar_name(operand->scalar));
        tile_arena_reset(&scratch);
        return false;
    }
    return true;
}

/* The function takes an element of each operand that comes before, then one of each that follows.
 */
static bool check_function(const tile_function *f, tile_op op, const char *name) {
    tile_call call;
    tile_arena scratch = {0};
    tile_value arguments[2 * TILE_MAX_COMBINED];
    const tile_values src = tile_operands_src(f, op);
    const tile_loc loc = tile_op_attr_loc(f, op, TILE_ATTR_combine);
    const tile_function *func = tile_call_find(f, loc, name);
    for (unsigned i = 0; i < 2 * src.count; i++) arguments[i] = src.at[i % src.count];
    if (func && func->arg_count != 2 * src.count) {
        fail(f, op, func,
             "for %u operand%s @%s must take %u scalars, those of the elements before and then "
             "those of the elements after, not %u",
             src.count, src.count == 1 ? "" : "s", name, 2 * src.count, (unsigned)func->arg_count);
        func = NULL;
    }
    bool ok = func &&
              tile_call_bind(f, loc, func, NULL, 0, arguments, 2 * src.count, &scratch, &call) &&
              check_results(f, op, &call);
    tile_arena_reset(&scratch);
    return ok;
}

static bool check_identity(const tile_function *f, tile_op op) {
    unsigned n = tile_operands_src(f, op).count;
    const tile_values identity = tile_operands_identity(f, op);
    if (!identity.count && tile_op_has_attr(f, op, TILE_ATTR_exclusive))
        return tile_error_at(f, op,
                             "%s: `exclusive` needs the value of the first result: write "
                             "`identity = (..)`, one number for each operand",
                             tile_op_name(f, op));
    if (!identity.count) return true;
    if (identity.count != n)
        return tile_error_at(f, op, "%s: `identity` has %u number%s for %u operand%s",
                             tile_op_name(f, op), identity.count, identity.count == 1 ? "" : "s", n,
                             n == 1 ? "" : "s");
    for (unsigned i = 0; i < n; i++) {
        const tile_type *type = tile_value_type(f, identity.at[i]);
        if (same_element(type, operand_type(f, op, i))) continue;
        tile_arena scratch = {0};
        tile_error_at(f, op, "%s: number %u of `identity` is %s, and its operand is %s",
                      tile_op_name(f, op), i + 1, tile_type_text(f, type, NULL, &scratch),
                      tile_type_text(f, operand_type(f, op, i), NULL, &scratch));
        tile_arena_reset(&scratch);
        return false;
    }
    return true;
}

bool tile_verify_combine(const tile_function *f, tile_op op) {
    const char *name = tile_op_attr_text(f, op, TILE_ATTR_combine);
    if (!tile_combines_by_function(tile_op_opcode(f, op)) || !name) return true;
    if (tile_operands_src(f, op).count > TILE_MAX_COMBINED) return true; /* reported by the rule */
    return check_function(f, op, name) && check_identity(f, op);
}
