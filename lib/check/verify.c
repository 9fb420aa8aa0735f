/* Rules of the IR beyond the types of a single operation: scopes, levels, regions, attributes. A
 * program that passes must not break any pass. */
#include <limits.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/ops/cast.h"
#include "lib/ops/atomic.h"
#include "lib/ir/describe.h"
#include "lib/ops/gather.h"
#include "lib/builder/infer.h"
#include "lib/ops/kinds.h"
#include "lib/ir/level.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/check/verify.h"
#include "lib/ops/assembly.h"
#include "lib/layout/layout.h"
#include "lib/ir/named.h"
#include "lib/tuning/roles.h"

/* Faults of types that are reported once: one wrong parameter makes many types wrong. */
typedef enum type_fault { FAULT_NOT_POSITIVE, FAULT_ODD, FAULT_SIZE } type_fault;

typedef struct verifier {
    tile_function *f;
    tile_context *context;
    tile_arena scratch;
    bool *visible; /* by value id: defined here or in an enclosing region */
    bool uneven;   /* reported: tiles on a number of warps that is not a power of two */
    unsigned reported_faults, repeated_count; /* a set of type_fault */
    tile_loc repeated_loc;                    /* of the first repetition */
    unsigned errors;
} verifier;

#define FAIL(v, loc, ...) ((v)->errors++, tile_report((v)->context, TILE_ERROR, (loc), __VA_ARGS__))

/* Types --------------------------------------------------------------------------------------- */

static const char *text(verifier *v, const tile_type *type) {
    return tile_type_text(v->f, type, NULL, &v->scratch);
}

/* True if a type had this fault before; the repetition is counted. */
static bool is_repeated(verifier *v, tile_loc loc, type_fault fault) {
    bool repeated = v->reported_faults >> fault & 1;
    v->reported_faults |= 1u << fault;
    if (repeated && !v->repeated_count++) v->repeated_loc = loc;
    return repeated;
}

/* Reports an extent that no layout supports, with the nearest supported ones. Returns false if it
 * was reported before. */
static bool fail_extent(verifier *v, tile_loc loc, const tile_type *type, int64_t extent) {
    int64_t below = extent, above = extent;
    if (is_repeated(v, loc, FAULT_ODD)) return false;
    while (!tile_layout_admits_extent(below)) below--;
    while (!tile_layout_admits_extent(above)) above++;
    FAIL(v, loc,
         "the extents of %s must be odd numbers up to %d times powers of two: instead of %lld, "
         "write %lld or %lld%s",
         text(v, type), TILE_LAYOUT_MAX_COUNT, (long long)extent, (long long)below,
         (long long)above,
         type->kind == TILE_TYPE_TILE
             ? "; accesses of a view skip the elements that lie outside of it"
             : "");
    return true;
}

/* A view has the layout of its last dims. */
static bool layout_matches(const tile_type *type) {
    const tile_layout *layout = type->layout;
    bool registers = type->kind == TILE_TYPE_TILE, view = type->kind == TILE_TYPE_VIEW;
    unsigned first = view ? type->rank - layout->rank : 0;
    if (layout->rank > type->rank || layout->rank + first != type->rank || type->has_strides ||
        layout->kind != (registers ? TILE_LAYOUT_REGISTER : TILE_LAYOUT_SHARED))
        return false;
    for (unsigned d = first; d < type->rank; d++)
        if ((view || tile_type_dim(type, d) >= 0) &&
            tile_type_dim(type, d) != (int64_t)tile_layout_extent(layout, d - first))
            return false;
    return true;
}

/* Checks known extents; extents of tiles must be supported by layouts. */
static void check_type(verifier *v, tile_loc loc, const tile_type *type) {
    bool tile = type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_SHARED;
    if (type->scalar == TILE_barrier &&
        (type->kind != TILE_TYPE_SHARED || type->rank != 1 || type->stages || type->layout)) {
        FAIL(v, loc,
             "barriers must be in a shared buffer with one extent, such as shared<barrier[4]>, not "
             "in %s",
             text(v, type));
        return;
    }
    for (unsigned d = 0; d < type->rank; d++) {
        int64_t extent = tile_type_dim(type, d);
        if (!type->dims[d] && type->kind != TILE_TYPE_VIEW)
            FAIL(v, loc, "only a view may have an extent '?', not %s", text(v, type));
        if (extent < 0 && !(type->dims[d] && type->dims[d]->kind == TILE_EXPR_INT)) continue;
        if (extent < 1 && type->kind != TILE_TYPE_VIEW && type->kind != TILE_TYPE_TENSOR) {
            if (!is_repeated(v, loc, FAULT_NOT_POSITIVE))
                FAIL(v, loc, "the extents of %s must be positive", text(v, type));
            return;
        }
        if (type->kind == TILE_TYPE_TILE && extent <= TILE_MAX_TILE_ELEMENTS &&
            !tile_layout_admits_extent(extent)) {
            fail_extent(v, loc, type, extent);
            return;
        }
    }
    if (tile_type_excess(type) && !is_repeated(v, loc, FAULT_SIZE))
        FAIL(v, loc, "%s has %s", text(v, type), tile_type_excess(type));
    if (type->stages && type->stages->kind == TILE_EXPR_INT &&
        (type->stages->integer < 1 || type->stages->integer > 1024))
        FAIL(v, loc, "%s must have 1 to 1024 stages", text(v, type));
    if (type->kind == TILE_TYPE_MAP && (type->rank == 0 || type->rank > TILE_MAX_MAP_RANK))
        FAIL(v, loc, "%s must have 1 to %d dims", text(v, type), TILE_MAX_MAP_RANK);
    if (tile && type->rank == 0) FAIL(v, loc, "%s must have at least one dim", text(v, type));
    if (tile_layout_is_named(type->layout)) return; /* instantiate resolves it */
    if (type->layout && !layout_matches(type))
        FAIL(v, loc, "the layout of %s has another shape", text(v, type));
    else if (type->layout && tile_layout_find_fault(type->layout))
        FAIL(v, loc, "the layout of %s is invalid: %s", text(v, type),
             tile_layout_find_fault(type->layout));
}

/* Operations ---------------------------------------------------------------------------------- */

static void check_operands(verifier *v, tile_op op) {
    const tile_op_data *data = tile_op_at(v->f, op);
    for (uint32_t i = 0; i < data->operand_count; i++) {
        tile_value value = data->operands[i];
        if (!value.id || value.id >= v->f->value_count || !v->visible[value.id])
            FAIL(v, data->loc, "%s: the definition of operand %u does not dominate this use",
                 tile_opcode_spelling((tile_opcode)data->opcode), i + 1);
    }
}

static void refuse_missing(verifier *v, tile_op op, const tile_op_info *info, tile_attr_id attr) {
    tile_arena scratch = {0};
    const char *names = attr == TILE_ATTR_kind ? tile_kind_names(tile_op_opcode(v->f, op), &scratch)
                        : attr == TILE_ATTR_axis ? "axis = 0"
                                                 : "";
    FAIL(v, tile_op_loc(v->f, op), "%s needs the attribute '%s'%s%s", tile_op_spelling(info),
         tile_attr_keyword(attr), *names ? ": write " : "", names);
    tile_arena_reset(&scratch);
}

static void check_attrs(verifier *v, tile_op op) {
    const tile_op_data *data = tile_op_at(v->f, op);
    const tile_op_info *info = tile_op_get_info((tile_opcode)data->opcode);
    for (unsigned i = 0; i < data->attr_count; i++) {
        bool known = false;
        for (unsigned a = 0; a < info->attr_count; a++)
            known |= info->attrs[a].id == data->attrs[i].id;
        if (!known)
            FAIL(v, data->loc, "%s has no attribute '%s'", tile_op_spelling(info),
                 tile_attr_get_info(data->attrs[i].id)->name);
    }
    for (unsigned a = 0; a < info->attr_count; a++)
        if (info->attrs[a].required && !tile_op_has_attr(v->f, op, info->attrs[a].id))
            refuse_missing(v, op, info, info->attrs[a].id);
}

/* Checks that the row's rule infers the results that the operation has. Returns false if the rule
 * rejects the operands. */
static bool check_rule(verifier *v, tile_op op) {
    const tile_op_data data = *tile_op_at(v->f, op);
    tile_region_shape shape = tile_shape_of(v->f, op);
    if (shape == TILE_SHAPE_BRANCH || shape == TILE_SHAPE_BODY || shape == TILE_SHAPE_ELEMENTS)
        return true; /* their results come from their yields */
    const tile_type *given = data.result_count ? tile_value_type(v->f, data.first_result) : NULL;
    tile_infer infer = {.function = v->f,
                        .opcode = (tile_opcode)data.opcode,
                        .loc = data.loc,
                        .operands = data.operands,
                        .segment = data.segment,
                        .given = given,
                        .attrs = data.attrs,
                        .attr_count = data.attr_count,
                        .has_attrs = true,
                        .results = TILE_NEW_ARRAY(&v->scratch, const tile_type *,
                                                  data.operand_count + (unsigned)TILE_MAX_RANK)};
    if (given && tile_type_excess(given) && is_repeated(v, data.loc, FAULT_SIZE)) return false;
    if (!tile_infer_results(&infer)) {
        v->errors++;
        return false;
    }
    bool same = infer.result_count == data.result_count;
    for (uint32_t i = 0; same && i < data.result_count; i++)
        same = tile_type_equal(v->context, infer.results[i],
                               tile_value_type(v->f, tile_op_result(v->f, op, i)));
    if (!same)
        FAIL(v, data.loc, "%s: the result types do not follow from the operands",
             tile_opcode_spelling((tile_opcode)data.opcode));
    return true;
}

/* Regions ------------------------------------------------------------------------------------- */

static const char *name_of(verifier *v, tile_op op) {
    return tile_op_name(v->f, op);
}

/* Values that refer to a fixed location in memory. */
static bool is_memory(const tile_type *type) {
    return type->kind == TILE_TYPE_SHARED || type->kind == TILE_TYPE_VIEW ||
           type->kind == TILE_TYPE_MAP;
}

/* Reports values of a region and of its operation that have different types, or that cannot be
 * carried. */
static void check_carried_type(verifier *v, tile_op op, unsigned r, unsigned i) {
    tile_value sent = tile_carried_sent(v->f, op, (int)r, i);
    const tile_type *have = tile_value_type(v->f, sent);
    const tile_type *want =
        tile_value_type(v->f, tile_carried_received(v->f, op, TILE_PARENT_OP, i));
    tile_op yield = tile_region_yield(v->f, tile_op_region(v->f, op, r));
    unsigned place = tile_shape_own_yields(tile_shape_of(v->f, op), r) + i + 1;
    bool receives = tile_shape_receives(tile_shape_of(v->f, op)); /* checked by check_arguments */
    bool same = tile_type_equal(v->context, have, want);
    if (!same) {
        const char *advice = tile_splat_advice(v->f, sent, want, &v->scratch);
        bool cast = !*advice && tile_type_is_array(have) && have->scalar != want->scalar;
        if (cast && want->scalar)
            advice =
                tile_arena_format(&v->scratch, "; cast it, `%s(..)`, or change the type in `iter`",
                                  tile_scalar_name(want->scalar));
        if (want->kind == TILE_TYPE_SCALAR && tile_type_is_array(have))
            advice = tile_arena_format(
                &v->scratch, "; begin with a value of this type, `iter (.. = splat(..) : %s)`",
                text(v, have));
        FAIL(v, tile_op_loc(v->f, yield), "value %u of `yield` is %s, but `%s` carries %s%s", place,
             text(v, have), name_of(v, op), text(v, want), advice);
    }
    if (same && is_memory(have) && !receives)
        FAIL(
            v, tile_op_loc(v->f, yield),
            "`%s` cannot yield %s: which memory is accessed must not depend on the path; access it "
            "in the region, or yield coordinates or `base`",
            name_of(v, op), text(v, have));
}

/* A region that decides whether the next one runs must yield the condition first. */
static void check_condition(verifier *v, tile_op op, tile_op yield) {
    const tile_type *type = tile_value_type(v->f, tile_operand_src(v->f, yield));
    bool there = tile_op_operand_count(v->f, yield) > 0;
    if (there && type->kind == TILE_TYPE_SCALAR && type->scalar == TILE_i1) return;
    FAIL(v, tile_op_loc(v->f, yield),
         "the first region of `%s` yields its condition first, a scalar i1, not %s", name_of(v, op),
         there ? text(v, type) : "nothing");
}

/* The last operation of a region must yield the operation's own values, followed by the carried
 * ones. */
static void check_yield(verifier *v, tile_op op, unsigned r) {
    tile_op yield = tile_region_yield(v->f, tile_op_region(v->f, op, r));
    unsigned own = tile_shape_own_yields(tile_shape_of(v->f, op), r);
    unsigned carried = tile_carried_count(v->f, op);
    if (!yield.id) {
        FAIL(v, tile_op_loc(v->f, op), "the region of `%s` must end with `yield`", name_of(v, op));
        return;
    }
    unsigned given = tile_op_operand_count(v->f, yield);
    if (own) {
        check_condition(v, op, yield);
        if (given < own) return;
    }
    if (given != own + carried) {
        FAIL(v, tile_op_loc(v->f, yield),
             "`%s` has %u result%s, but its region yields %u value%s; end the region with `yield` "
             "and one value for each result",
             name_of(v, op), carried, carried == 1 ? "" : "s", given - own,
             given - own == 1 ? "" : "s");
        return;
    }
    if (tile_shape_of(v->f, op) == TILE_SHAPE_ELEMENTS)
        return; /* checked by tile_verify_parallel */
    for (unsigned i = 0; i < carried; i++) check_carried_type(v, op, r, i);
}

/* The initial arguments of a region must have the types of the operation's initial values. */
static void check_arguments(verifier *v, tile_op op, unsigned r) {
    const tile_region_data *region = tile_region_at(v->f, tile_op_region(v->f, op, r));
    unsigned own = tile_shape_own_args(tile_shape_of(v->f, op), r);
    unsigned received =
        tile_shape_receives(tile_shape_of(v->f, op)) ? tile_carried_count(v->f, op) : 0;
    if (own != UINT_MAX && region->arg_count != own + received) {
        FAIL(v, tile_op_loc(v->f, op), "a region of `%s` has %u arguments, not %u", name_of(v, op),
             own + received, region->arg_count);
        return;
    }
    for (unsigned i = 0; i < received; i++) {
        const tile_type *init =
            tile_value_type(v->f, tile_carried_sent(v->f, op, TILE_PARENT_OP, i));
        const tile_type *carried =
            tile_value_type(v->f, tile_carried_received(v->f, op, (int)r, i));
        if (!tile_type_equal(v->context, init, carried) || is_memory(init))
            FAIL(v, tile_op_loc(v->f, op),
                 "`%s` cannot carry %s: which memory is accessed must not depend on the path; %s",
                 name_of(v, op), text(v, init),
                 v->f->kind == TILE_PLAN ? "compute a `subview` from the variable of the loop"
                                         : "carry coordinates");
    }
}

/* An extent that no layout supports, 0 if there is none. Values that are not extents at all have
 * been reported. */
static int64_t odd_extent(const tile_type *type) {
    for (unsigned d = 0; d < type->rank; d++) {
        int64_t extent = tile_type_dim(type, d);
        bool sound = extent > 0 && extent <= TILE_MAX_TILE_ELEMENTS;
        if (sound && !tile_layout_admits_extent(extent)) return extent;
    }
    return 0;
}

static void check_buffers(verifier *v, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(v->f, op); i++) {
        tile_value value = tile_op_operand(v->f, op, i);
        const tile_type *type = tile_value_type(v->f, value);
        bool buffer = type->kind == TILE_TYPE_SHARED && tile_op_handles_tile(v->f, op, value);
        int64_t extent = buffer ? odd_extent(type) : 0;
        if (!extent) continue;
        if (!fail_extent(v, tile_op_loc(v->f, op), type, extent)) continue;
        tile_op alloc = tile_value_def(v->f, value);
        if (alloc.id)
            tile_note_at(
                v->f, alloc,
                "a buffer with such extents can be used by threads only (ld_shared, st_shared, "
                "...); %s uses it as a tile",
                tile_op_name(v->f, op));
    }
}

static void check_region(verifier *v, tile_region region);

static void set_visible(verifier *v, tile_value first, uint32_t count, bool visible) {
    for (uint32_t i = 0; i < count; i++) v->visible[first.id + i] = visible;
}

static void check_regions(verifier *v, tile_op op) {
    const tile_op_data data = *tile_op_at(v->f, op);
    tile_region_shape shape = tile_shape_of(v->f, op);
    unsigned wanted = tile_shape_regions(shape);
    if (data.opcode == TILE_OP_sync_explicit) wanted = 1;
    bool any = !wanted && shape == TILE_SHAPE_BODY && data.region_count > 0;
    if (!any && data.region_count != wanted) {
        FAIL(v, data.loc, "%s has %u regions, not %u", name_of(v, op), wanted, data.region_count);
        return;
    }
    for (unsigned r = 0; r < data.region_count; r++) {
        const tile_region_data *region = tile_region_at(v->f, data.regions[r]);
        check_arguments(v, op, r);
        set_visible(v, region->first_arg, region->arg_count, true);
        check_region(v, data.regions[r]);
        set_visible(v, region->first_arg, region->arg_count, false);
        check_yield(v, op, r);
    }
}

static void check_level(verifier *v, tile_op op) {
    const tile_function *f = v->f;
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    tile_loc loc = tile_op_loc(f, op);
    static const unsigned levels[] = {[TILE_COMPUTE] = 1, [TILE_KERNEL] = 2, [TILE_PLAN] = 0};
    if (f->kind == TILE_FUNC) return; /* tile_verify_func */
    if (!tile_op_is_allowed(info, levels[f->kind]))
        FAIL(v, loc, "%s is not allowed in a %s%s", tile_op_spelling(info),
             tile_function_kind_name(f->kind),
             f->kind == TILE_COMPUTE && info->shape == TILE_SHAPE_BRANCH
                 ? "; a choice between tensors is `select(%condition, %yes, %no)`"
             : f->kind == TILE_COMPUTE ? "; a compute is a graph of operations on whole tensors: "
                                         "write a kernel for this"
             : f->kind == TILE_PLAN    ? "; a plan only launches kernels: write a kernel for this"
             : info->levels & TILE_LEVEL_0 ? "; write it in a plan"
             : info->levels & TILE_LEVEL_1 ? "; write it in a compute"
                                           : "");
    else if (!tile_op_is_allowed(info, f->level))
        FAIL(v, loc,
             "%s is an operation of level 2, and @%s is at level 3; use operations of threads, or "
             "remove `level 3`",
             tile_op_spelling(info), f->name);
    if (f->level != 3) return;
    if (tile_op_opcode(f, op) == TILE_OP_alloc_shared && !tile_op_has_attr(f, op, TILE_ATTR_offset))
        FAIL(v, loc, "alloc_shared needs the attribute 'offset': @%s is at level 3", f->name);
    if (!tile_verify_offsets(f, op)) v->errors++;
    if (tile_op_returns_tile(f, op))
        FAIL(v, loc, "%s has a tile as its result, and @%s is at level 3", tile_op_spelling(info),
             f->name);
    if (tile_op_has_attr(f, op, TILE_ATTR_pipelined))
        FAIL(v, loc, "%s: @%s is at level 3, where loops are not pipelined; remove `pipelined`",
             tile_op_spelling(info), f->name);
    if (tile_op_has_attr(f, op, TILE_ATTR_split))
        FAIL(v, loc, "%s: @%s is at level 3, where loops are not split; remove `split`",
             tile_op_spelling(info), f->name);
    if (tile_op_has_attr(f, op, TILE_ATTR_groups))
        FAIL(v, loc, "%s: @%s is at level 3, where loops have no groups; remove `groups`",
             tile_op_spelling(info), f->name);
}

/* Only loads and stores know the addresses of elements in opaque memory. */
static void check_opaque(verifier *v, tile_op op) {
    tile_opcode opcode = tile_op_opcode(v->f, op);
    bool plain = tile_is_plain_access(v->f, op);
    if (plain && (opcode == TILE_OP_load || opcode == TILE_OP_store)) return;
    for (unsigned i = 0; i < tile_op_operand_count(v->f, op); i++) {
        tile_op def = tile_value_def(v->f, tile_op_operand(v->f, op, i));
        if (tile_op_opcode(v->f, def) == TILE_OP_scratch &&
            tile_op_has_attr(v->f, def, TILE_ATTR_opaque))
            FAIL(v, tile_op_loc(v->f, op),
                 plain ? "%s: only load and store can access scratch whose layout is opaque"
                       : "%s: a load or store of opaque scratch must move a tile, without index "
                         "tiles, predicate or pad",
                 tile_op_name(v->f, op));
    }
}

/* Checks the rules of specific groups of operations, each in a separate file. */
static void check_families(verifier *v, tile_op op) {
    v->errors += !(tile_verify_kind(v->f, op) && tile_verify_atomic(v->f, op));
    v->errors += !(tile_verify_gather(v->f, op) && tile_verify_call(v->f, op));
    v->errors += !tile_verify_cast(v->f, op);
    v->errors += !(tile_verify_asm(v->f, op) && tile_verify_combine(v->f, op));
    v->errors += !tile_verify_wgmma(v->f, op);
    v->errors += !tile_verify_tma(v->f, op);
    v->errors += !tile_verify_schedule(v->f, op);
}

static void check_op(verifier *v, tile_op op) {
    const tile_op_data data = *tile_op_at(v->f, op);
    const tile_op_info *info = tile_op_get_info((tile_opcode)data.opcode);
    unsigned before = v->errors;
    check_level(v, op);
    check_operands(v, op);
    if (v->errors > before) return;
    check_attrs(v, op);
    v->errors += !tile_verify_attrs(v->f, op);
    check_opaque(v, op);
    bool sound = check_rule(v, op);
    if (sound) check_buffers(v, op);
    if (sound) check_families(v, op);
    if (v->f->kind == TILE_KERNEL && !v->uneven) {
        v->uneven = !tile_verify_set(v->f, op);
        v->errors += v->uneven;
    }
    for (uint32_t i = 0; sound && i < data.result_count; i++)
        check_type(v, data.loc, tile_value_type(v->f, tile_op_result(v->f, op, i)));
    check_regions(v, op);
    bool last = !data.next.id;
    if (info->effects & TILE_EFFECT_TERMINATOR && (!last || data.parent.id == v->f->body.id))
        FAIL(v, data.loc,
             "`%s` is a terminator: it must be the last operation of an operation's region",
             tile_op_spelling(info));
}

static void check_region(verifier *v, tile_region region) {
    TILE_FOR_EACH_OP (v->f, op, region) {
        check_op(v, op);
        const tile_op_data *data = tile_op_at(v->f, op);
        set_visible(v, data->first_result, data->result_count, true);
    }
    TILE_FOR_EACH_OP (v->f, op, region) {
        const tile_op_data *data = tile_op_at(v->f, op);
        if (region.id != v->f->body.id)
            set_visible(v, data->first_result, data->result_count, false);
    }
}

/* Functions ----------------------------------------------------------------------------------- */

static void fail_result(verifier *v, const tile_result_decl *result) {
    const tile_type *want = result->type, *have = tile_value_type(v->f, result->value);
    const char *advice = tile_splat_advice(v->f, result->value, want, &v->scratch);
    unsigned d = 0;
    while (d < want->rank && d < have->rank &&
           tile_extents_equal(v->context, want->dims[d], have->dims[d]))
        d++;
    if (*advice)
        ;
    else if (want->rank != have->rank)
        advice = "; `(reshape(..) : ..)` changes the extents: a reduction keeps its axis, with an "
                 "extent of 1";
    else if (want->scalar && want->scalar != have->scalar)
        advice = tile_arena_format(&v->scratch, "; cast it: `%%%s = %s(..)`", result->name,
                                   tile_scalar_name(want->scalar));
    else if (d < want->rank)
        advice = tile_arena_format(&v->scratch, "; dim %u is %s, not %s", d,
                                   tile_expr_text(v->f, have->dims[d], &v->scratch),
                                   tile_expr_text(v->f, want->dims[d], &v->scratch));
    FAIL(v, v->f->loc, "the result %%%s is declared %s and computed as %s%s", result->name,
         text(v, want), text(v, have), advice);
}

static void check_kernel(verifier *v) {
    tile_function *f = v->f;
    int64_t warps;
    if (!f->warps)
        FAIL(v, f->loc, "kernel @%s has no `warps`; write `warps 4` before its body", f->name);
    else if (tile_expr_is_int(f->warps, &warps) && (warps < 1 || warps > TILE_MAX_WARPS))
        FAIL(v, f->loc, "warps must be a number from 1 to %d, it is %lld", TILE_MAX_WARPS,
             (long long)warps);
    if (!f->grid_rank)
        FAIL(v, f->loc,
             "kernel @%s has no `grid`; write `grid [1]`, or `grid [ceildiv(%%n, 128)]`, before "
             "its body",
             f->name);
    if (f->level != 2 && f->level != 3)
        FAIL(v, f->loc, "kernel @%s is at level %u; kernels are at 2 or 3", f->name, f->level);
    if (f->result_count) FAIL(v, f->loc, "a kernel has no results");
    for (size_t i = 0; i < f->arg_count; i++) {
        const tile_arg_decl *arg = &f->args[i];
        if (!tile_type_is_address(arg->type) && arg->type->kind != TILE_TYPE_SCALAR)
            FAIL(v, f->loc,
                 "argument %%%s of a kernel must be a view, a pointer or a scalar, not %s",
                 arg->name, text(v, arg->type));
        if (arg->divisible && arg->type->kind == TILE_TYPE_SCALAR &&
            tile_scalar_is_floating(arg->type->scalar))
            FAIL(v, f->loc, "argument %%%s is a float and cannot be divisible", arg->name);
    }
}

/* The declared results of a compute or func are computed, with the declared types. */
static void check_results(verifier *v) {
    tile_function *f = v->f;
    for (size_t i = 0; i < f->result_count; i++) {
        tile_value value = f->results[i].value;
        if (!value.id || value.id >= f->value_count || !v->visible[value.id])
            FAIL(v, f->loc, "the result %%%s is never computed; write `%%%s = ..` in the body",
                 f->results[i].name, f->results[i].name);
        else if (!tile_type_equal(v->context, tile_value_type(f, value), f->results[i].type))
            fail_result(v, &f->results[i]);
    }
    if (!f->result_count)
        FAIL(v, f->loc, "%s @%s needs a result", tile_function_kind_name(f->kind), f->name);
}

static void check_compute(verifier *v) {
    tile_function *f = v->f;
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind != TILE_TYPE_TENSOR && f->args[i].type->kind != TILE_TYPE_SCALAR)
            FAIL(v, f->loc, "argument %%%s of a compute must be a tensor or a scalar, not %s",
                 f->args[i].name, text(v, f->args[i].type));
    check_results(v);
    if (f->grid_rank || f->is_flat || f->cluster_rank || f->warps || f->sync_explicit ||
        tile_function_has_tune(f) || f->where_count)
        FAIL(v, f->loc, "compute @%s cannot have a kernel's clause, such as `grid`; remove it",
             f->name);
    if (f->level != 1) FAIL(v, f->loc, "compute @%s is at level %u, not 1", f->name, f->level);
}

tile_status tile_function_verify(const tile_function *function) {
    TILE_GUARD_OUTSIDE(function ? tile_function_context(function) : NULL, TILE_OUT_OF_MEMORY)
    if (!function) return TILE_INVALID;
    tile_function *f = (tile_function *)function; /* the rules create types but do not change f */
    if (!tile_verify_declarations(f) || !tile_verify_strides(f) || !tile_verify_func(f))
        return TILE_INVALID;
    verifier v = {.f = f, .context = tile_function_context(f)};
    v.visible = TILE_NEW_ARRAY(&v.scratch, bool, f->value_count);
    for (uint32_t id = 1; id < f->value_count; id++)
        v.visible[id] =
            f->values[id].kind == TILE_VALUE_ARG || f->values[id].kind == TILE_VALUE_CONSTANT;
    for (size_t i = 0; i < f->arg_count; i++) {
        check_type(&v, f->loc, f->args[i].type);
        if (f->args[i].type->kind == TILE_TYPE_VIEW && f->args[i].type->layout)
            FAIL(&v, f->loc, "only a view of opaque scratch has a layout");
    }
    check_region(&v, f->body);
    if (v.repeated_count)
        tile_report(v.context, TILE_NOTE, v.repeated_loc, "and %u more of this kind",
                    v.repeated_count);
    switch (f->kind) {
    case TILE_COMPUTE: check_compute(&v); break;
    case TILE_KERNEL: check_kernel(&v); break;
    case TILE_PLAN: v.errors += !v.errors && !tile_verify_plan(f); break;
    case TILE_FUNC: check_results(&v); break;
    }
    if (!tile_verify_reference(f)) v.errors++;
    tile_arena_reset(&v.scratch);
    bool sound = !v.errors && tile_verify_frees(f) && tile_check_auto(f);
    return sound && tile_verify_parallel(f) && tile_verify_executors(f) &&
                   tile_verify_barriers(f) && tile_verify_pending(f)
               ? TILE_OK
               : TILE_INVALID;
}

tile_status tile_module_verify(const tile_module *module) {
    TILE_GUARD_OUTSIDE(tile_module_context(module), TILE_OUT_OF_MEMORY)
    tile_status status = module && tile_verify_recursion(module) ? TILE_OK : TILE_INVALID;
    for (const tile_function *f = module ? module->first : NULL; f; f = f->next)
        if (tile_function_verify(f) != TILE_OK)
            status = TILE_INVALID;
        else
            tile_warn_of_literals(f);
    return status;
}
