/* Derives the variants of a kernel.
 *
 * The declared properties of a kernel's arguments allow wide accesses. A launch whose arguments do
 * not have them needs other code, but only for the accesses that they concern. The list depends
 * only on the kernel:
 *
 *   0            everything is as declared, and on targets with tensor maps, tensor maps describe
 *                the arrays that are copied to shared memory asynchronously, copied before a loop
 *                of such copies, or to which its tiles are stored after it
 *   next         the same without tensor maps
 *   next         each combination of levels, one level per group of operands: accesses of at most
 *                16 bytes, with tensor maps; at most 8 bytes; at most 4 bytes; one element
 *   last         all accesses of one element: nothing is assumed
 *
 * An operand is an argument that is a pointer or a view, and that the kernel uses. (A kernel that
 * reads packed copies does not use the arrays themselves.) The width of its accesses depends on its
 * alignment, and on the integer arguments in its views' strides and innermost extents. For a view
 * of f16 with rows of %n elements, accesses of 8 bytes need both an address divisible by 8 and %n
 * divisible by 4.
 *
 * An integer that two operands use affects both, so they form a group. For a matmul c[m, n] = a[m,
 * k] b[k, n] these are {a} and {b, c}: if n is odd, only the accesses to b and c are narrow, and a
 * still has its tensor map. Only variants 0 and 1 make assumptions about integers that no view
 * uses, such as the bound of a loop.
 *
 * Combinations are in lexicographic order, with the level of the first group as the first letter.
 * So of all combinations that hold for a launch, the first has the best level for every group.
 * Three groups have no level of 8 bytes, and more than three only the first and the last, except
 * that all groups may have them together; all groups from the fifth on have one level.
 *
 * In addition, all variants require the values of {const} arguments for which the kernel was
 * instantiated.
 *
 * If the arguments decide whether a launch can have the grid (grid_fit.h), all these variants
 * require a grid that fits, and all of them are repeated with a flat grid. If no launch can have
 * the grid, it is flat in all variants.
 *
 * A launch takes the first variant whose conditions hold. So a variant that is never reached
 * because an earlier one holds whenever it does is omitted, and so is one that requires no more
 * than the last variant. */
#include "lib/analysis/variants.h"

#include <string.h>

#include "lib/analysis/access.h"
#include "lib/analysis/grid_fit.h"
#include "lib/analysis/part_view.h"
#include "lib/analysis/pipeline_plan.h"
#include "lib/analysis/tensor_map.h"
#include "lib/ops/atomic.h"
#include "lib/ops/gather.h"

/* Levels: the width of accesses in bytes, at least one element. */
enum { DECLARED = 0, WIDE = 16, ELEMENT = 1 };

/* By the number of groups that have levels of their own: levels in descending order. */
static const unsigned levels[][5] = {
    {WIDE, 8, 4, ELEMENT}, {WIDE, 8, 4, ELEMENT}, {WIDE, 8, 4, ELEMENT},
    {WIDE, 8, 4, ELEMENT}, {WIDE, ELEMENT},       {WIDE, ELEMENT},
};

enum {
    MAX_GROUPS = sizeof levels / sizeof *levels - 1,
    MAX_COMBINATIONS = 64,
    /* variants 0 and 1, all groups at 8 and at 4 bytes, and the last */
    MAX_ARGUMENT_VARIANTS = MAX_COMBINATIONS + 5,
};

_Static_assert(2 * MAX_ARGUMENT_VARIANTS <= TILE_MAX_VARIANTS,
               "a kernel has room for its variants, and for the same with a flat grid");

typedef struct derivation {
    const tile_function *f;
    tile_arena *arena;
    unsigned *groups; /* by operand and integer: another argument of its group; for the first
                         operand of a group itself */
    /* The size of an operand's element. For an integer, the smallest element of the operands that
     * use it, so that each of them gets its full width. 0: neither. */
    unsigned *bytes;
    bool *maps;      /* arguments with tensor maps in variant 0 */
    bool any_map;    /* a view has one, of an argument of `maps` or by its numbers alone */
    bool *feeds_dot; /* by value: a load of it may become a copy that runs ahead */
    tile_variants *out;
} derivation;

/* Groups -------------------------------------------------------------------------------------- */

static unsigned find_group(const derivation *d, unsigned arg) {
    while (d->groups[arg] != arg) arg = d->groups[arg];
    return arg;
}

static void unite(derivation *d, unsigned operand, unsigned integer) {
    unsigned a = find_group(d, operand);
    if (!d->bytes[integer]) {
        d->groups[integer] = a;
        d->bytes[integer] = d->bytes[operand];
    }
    unsigned b = find_group(d, integer);
    d->groups[a > b ? a : b] = a > b ? b : a;
    if (d->bytes[operand] < d->bytes[integer]) d->bytes[integer] = d->bytes[operand];
}

static void unite_view(derivation *d, tile_value view) {
    bool *uses = TILE_NEW_ARRAY(d->arena, bool, d->f->arg_count + 1);
    size_t operand = tile_view_operand(d->f, view);
    if (operand == d->f->arg_count) return;
    tile_mark_view_integers(d->f, view, uses);
    for (unsigned i = 0; i < d->f->arg_count; i++)
        if (uses[i]) unite(d, (unsigned)operand, i);
}

static void find_groups(derivation *d) {
    const tile_function *f = d->f;
    d->groups = TILE_NEW_ARRAY(d->arena, unsigned, f->arg_count + 1);
    d->bytes = TILE_NEW_ARRAY(d->arena, unsigned, f->arg_count + 1);
    for (unsigned i = 0; i < f->arg_count; i++) {
        const tile_type *type = f->args[i].type;
        d->groups[i] = i;
        if (tile_type_is_address(type) && tile_value_is_used(f, f->args[i].value))
            d->bytes[i] = tile_scalar_bytes(type->scalar);
    }
    for (unsigned i = 0; i < f->arg_count; i++)
        if (d->bytes[i] && f->args[i].type->kind == TILE_TYPE_VIEW) unite_view(d, f->args[i].value);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_view || tile_op_opcode(f, op) == TILE_OP_im2col)
            unite_view(d, tile_op_result(f, op, 0));
}

/* Variants ------------------------------------------------------------------------------------ */

/* The largest power of two up to `most` that divides the declared divisor. */
static unsigned narrow(unsigned declared, unsigned most) {
    unsigned divisor = 1;
    while (divisor < most && declared % (2 * divisor) == 0) divisor *= 2;
    return declared ? divisor : 0;
}

static unsigned choose_divisor(const derivation *d, unsigned arg, unsigned width) {
    const tile_arg_decl *decl = &d->f->args[arg];
    unsigned bytes = d->bytes[arg];
    if (width == DECLARED) return decl->divisible;
    if (!bytes) return 0;
    if (width < bytes) width = bytes;
    return narrow(decl->divisible, decl->type->kind == TILE_TYPE_SCALAR ? width / bytes : width);
}

/* level: by argument, that of its group. Integers of no group have the level `unnamed`. */
static unsigned *make_divisors(const derivation *d, const unsigned *level, unsigned unnamed) {
    unsigned *divisors = TILE_NEW_ARRAY(d->arena, unsigned, d->f->arg_count + 1);
    for (unsigned i = 0; i < d->f->arg_count; i++)
        divisors[i] = choose_divisor(d, i, d->bytes[i] ? level[find_group(d, i)] : unnamed);
    return divisors;
}

static unsigned *make_uniform(const derivation *d, unsigned width) {
    unsigned *level = TILE_NEW_ARRAY(d->arena, unsigned, d->f->arg_count + 1);
    for (unsigned i = 0; i < d->f->arg_count; i++) level[i] = width;
    return make_divisors(d, level, width);
}

/* Returns whether these divisors hold whenever `by` do. */
static bool is_implied(const derivation *d, const unsigned *by, const unsigned *divisors) {
    for (unsigned i = 0; i < d->f->arg_count; i++)
        if (divisors[i] > 1 && (!by[i] || by[i] % divisors[i])) return false;
    return true;
}

static bool has_maps_of(const derivation *d, const bool *maps, const bool *others) {
    for (unsigned i = 0; i < d->f->arg_count; i++)
        if (others[i] && !maps[i]) return false;
    return true;
}

/* Returns whether an earlier variant holds whenever this one does. */
static bool is_taken(const derivation *d, const unsigned *divisors, const bool *maps) {
    for (unsigned i = 0; i < d->out->count; i++)
        if (is_implied(d, divisors, d->out->divisors[i]) && has_maps_of(d, maps, d->out->maps[i]))
            return true;
    return false;
}

static void append(derivation *d, unsigned *divisors, bool *maps) {
    d->out->maps[d->out->count] = maps;
    d->out->divisors[d->out->count++] = divisors;
}

/* Adds a variant unless no launch would reach it, or it requires no more than the last one. */
static void add_variant(derivation *d, unsigned *divisors, bool *maps, const unsigned *last) {
    bool *none = TILE_NEW_ARRAY(d->arena, bool, d->f->arg_count + 1);
    bool is_last = is_implied(d, last, divisors) && has_maps_of(d, none, maps);
    if (!is_last && !is_taken(d, divisors, maps)) append(d, divisors, maps);
}

/* Combinations --------------------------------------------------------------------------------- */

/* The groups in the order of their first operands; from the last entry on, they have one level. */
static unsigned list_groups(const derivation *d, unsigned *groups) {
    unsigned count = 0;
    for (unsigned i = 0; i < d->f->arg_count; i++)
        if (d->bytes[i] && find_group(d, i) == i) groups[count++] = i;
    return count;
}

/* own: the level of each of the groups. */
static void add_combination(derivation *d, const unsigned *groups, unsigned count,
                            const unsigned *own, const unsigned *last) {
    unsigned *level = TILE_NEW_ARRAY(d->arena, unsigned, d->f->arg_count + 1);
    bool *maps = TILE_NEW_ARRAY(d->arena, bool, d->f->arg_count + 1);
    for (unsigned i = 0; i < count; i++)
        level[groups[i]] = own[i < MAX_GROUPS ? i : MAX_GROUPS - 1];
    for (unsigned i = 0; i < d->f->arg_count; i++)
        maps[i] = d->maps[i] && d->bytes[i] && level[find_group(d, i)] == WIDE;
    add_variant(d, make_divisors(d, level, ELEMENT), maps, last);
}

/* Levels that combinations lack, for all groups together, precede combinations that are narrow for
 * one of them. */
static void add_combinations(derivation *d, const unsigned *last) {
    unsigned *groups = TILE_NEW_ARRAY(d->arena, unsigned, d->f->arg_count + 1);
    unsigned count = list_groups(d, groups), base = 0, total = 1;
    unsigned varying = count < MAX_GROUPS ? count : MAX_GROUPS;
    const unsigned *of = levels[varying];
    bool *none = TILE_NEW_ARRAY(d->arena, bool, d->f->arg_count + 1);
    while (of[base]) base++;
    for (unsigned i = 0; i < varying; i++) total *= base;
    for (unsigned number = 0; number < total; number++) {
        unsigned own[MAX_GROUPS] = {0}, rest = number;
        for (unsigned i = varying; i-- > 0; rest /= base) own[i] = of[rest % base];
        if (number == 1 && base == 2) {
            add_variant(d, make_uniform(d, 8), none, last);
            add_variant(d, make_uniform(d, 4), none, last);
        }
        add_combination(d, groups, count, own, last);
    }
}

/* Tensor maps ---------------------------------------------------------------------------------- */

static void mark_map(derivation *d, tile_value view) {
    tile_part_view part;
    if (tile_view_is_part(d->f, view, d->arena, &part)) view = part.whole;
    tile_value whole = tile_view_mapped_argument(d->f, view);
    d->any_map |= tile_view_fixed_argument(d->f, view).id != 0; /* its address is divisible */
    if (!whole.id || !tile_view_has_rows(tile_value_type(d->f, view))) return;
    const tile_value_data *data = tile_value_at(d->f, whole);
    if (data->type->kind == TILE_TYPE_VIEW && !tile_view_broken_rule(&d->f->args[data->index]))
        d->any_map = d->maps[data->index] = true;
}

/* Asynchronous copies to shared memory and to views, and operations that passes may turn into such
 * copies. */
static void visit_copy(derivation *d, tile_op op) {
    const tile_function *f = d->f;
    if (!tile_is_plain_access(f, op)) return; /* not a box */
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_copy_async:
        if (tile_op_mechanism(f, op) != TILE_MECHANISM_GROUP || tile_is_pipelined(f, op)) {
            mark_map(d, tile_operand_src(f, op));
            mark_map(d, tile_operand_dst(f, op));
        }
        break;
    case TILE_OP_store_async: mark_map(d, tile_operand_dst(f, op)); break;
    case TILE_OP_copy:
        if (tile_is_pipelined(f, op)) mark_map(d, tile_operand_src(f, op));
        break;
    case TILE_OP_load:
        if (tile_is_pipelined(f, op) && d->feeds_dot[tile_op_result(f, op, 0).id])
            mark_map(d, tile_operand_src(f, op));
        break;
    default: break; /* no other operation reads views asynchronously */
    }
}

static bool is_result(const tile_function *f, tile_op op) {
    return tile_op_opcode(f, op) == TILE_OP_store && tile_is_plain_access(f, op) &&
           tile_value_type(f, tile_operand_src(f, op))->rank == 2 && !tile_is_pipelined(f, op);
}

/* Tiles computed by a specialized loop, which specialize-warps stores as boxes, and tiles that it
 * copies before the loop. */
static void visit_around(derivation *d, tile_op op) {
    const tile_function *f = d->f;
    if (is_result(f, op)) mark_map(d, tile_operand_dst(f, op));
    if (tile_precedes_pipelined(f, op) && tile_is_plain_access(f, op))
        mark_map(d, tile_operand_src(f, op));
}

/* Returns whether any argument has a tensor map in variant 0. */
static bool find_maps(derivation *d, const tile_target *target) {
    const tile_function *f = d->f;
    bool any = false;
    d->any_map = false;
    d->maps = TILE_NEW_ARRAY(d->arena, bool, f->arg_count + 1);
    d->feeds_dot = TILE_NEW_ARRAY(d->arena, bool, f->value_count + 1);
    tile_mark_dot_operands(f, f->body, d->feeds_dot);
    if (tile_target_has(target, TILE_FEATURE_tma))
        TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_copy(d, op);
    if (d->any_map && tile_specializes_warps(target))
        TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_around(d, op);
    for (unsigned i = 0; i < f->arg_count; i++) any |= d->maps[i] |= f->args[i].tensor_map;
    return any;
}

/* Grids ---------------------------------------------------------------------------------------- */

static void add_flat_variants(derivation *d) {
    tile_variants *out = d->out;
    tile_grid_fit fit = tile_find_grid_fit(d->f, d->arena);
    unsigned count = out->flat_from = out->count;
    if (d->f->is_flat || fit == TILE_GRID_EXCEEDS)
        out->flat_from = 0;
    else if (fit == TILE_GRID_MAY_EXCEED)
        for (unsigned i = 0; i < count; i++) append(d, out->divisors[i], out->maps[i]);
}

void tile_derive_variants(const tile_function *f, const tile_target *target, tile_arena *arena,
                          tile_variants *out) {
    derivation d = {.f = f, .arena = arena, .out = out};
    find_groups(&d);
    bool maps = find_maps(&d, target), lowered = tile_function_level(f) == 3;
    bool *none = TILE_NEW_ARRAY(arena, bool, f->arg_count + 1);
    out->count = 0;
    unsigned *declared = make_uniform(&d, DECLARED), *last = make_uniform(&d, ELEMENT);
    if (lowered) { /* compiled as it is */
        append(&d, declared, d.maps);
        add_flat_variants(&d);
        return;
    }
    if (maps) append(&d, declared, d.maps);
    add_variant(&d, declared, none, last);
    add_combinations(&d, last);
    append(&d, last, none);
    add_flat_variants(&d);
}

void tile_assume_variant(tile_function *f, const tile_variants *variants, unsigned index) {
    for (unsigned i = 0; i < f->arg_count; i++) {
        f->args[i].divisible = variants->divisors[index][i];
        f->args[i].tensor_map = variants->maps[index][i];
    }
    f->is_flat |= index >= variants->flat_from;
}

/* Conditions ---------------------------------------------------------------------------------- */

/* Not checked if the divisor is the size of the element: every launch checks that. */
static bool needs_check(const tile_type *type, unsigned divisor) {
    return divisor > (tile_type_is_address(type) ? tile_scalar_bytes(type->scalar) : 1);
}

tile_condition *tile_list_conditions(const tile_function *f, const unsigned *divisors,
                                     const bool *maps, bool grid_fits, tile_arena *arena,
                                     unsigned *count) {
    tile_condition *list = TILE_NEW_ARRAY(arena, tile_condition, 2 * f->arg_count + 1);
    *count = 0;
    for (unsigned i = 0; i < f->arg_count; i++) {
        if (f->args[i].known)
            list[(*count)++] = (tile_condition){TILE_CONDITION_value, i, f->args[i].known->integer};
        else if (needs_check(f->args[i].type, divisors[i]))
            list[(*count)++] = (tile_condition){TILE_CONDITION_divisible, i, divisors[i]};
        if (maps[i]) list[(*count)++] = (tile_condition){TILE_CONDITION_tensor_map, i, 1};
    }
    if (grid_fits)
        list[(*count)++] =
            (tile_condition){TILE_CONDITION_grid, (unsigned)f->arg_count, TILE_MAX_GRID_YZ};
    return list;
}
