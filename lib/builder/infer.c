/* The rules of ops.def: the operands that an operation accepts and the types of its results. */
#include "lib/builder/infer.h"

#include "lib/builder/infer_rules.h"
#include "lib/ir/accumulator.h"
#include "lib/ops/shape.h"

/* Results ------------------------------------------------------------------------------------- */

/* For rules whose operands determine only the element type. */
static bool needs_extents(const tile_infer *infer) {
    return infer->given || fail_without_extents(infer);
}

/* Returns whether the last dims of `whole` equal the dims of `part`, including unknown ones. */
static bool covers_last_dims(const tile_infer *infer, const tile_type *whole,
                             const tile_type *part) {
    bool covers = part->rank <= whole->rank;
    for (unsigned d = 0; d < part->rank && covers; d++)
        covers = same_extent(infer, whole->dims[whole->rank - part->rank + d], part->dims[d]);
    return covers;
}

static const tile_type *scalar_type(const tile_infer *infer, tile_scalar scalar) {
    return tile_type_scalar(tile_function_context(infer->function), scalar);
}

/* Level 1 broadcasts the operand of lower rank along leading dims. */
static const tile_type *broadcast(const tile_infer *infer, const tile_type *a, const tile_type *b) {
    if (a == b) return a;
    bool tensors = (a->kind == TILE_TYPE_TENSOR || b->kind == TILE_TYPE_TENSOR) &&
                   (a->kind == TILE_TYPE_TENSOR || a->kind == TILE_TYPE_SCALAR) &&
                   (b->kind == TILE_TYPE_TENSOR || b->kind == TILE_TYPE_SCALAR);
    if (!tensors || !same_element(a, b)) return NULL;
    if (a->rank >= b->rank) return covers_last_dims(infer, a, b) ? a : NULL;
    return covers_last_dims(infer, b, a) ? b : NULL;
}

/* A hint to cast the value to the other element type. */
static const char *cast_of(const tile_infer *infer, tile_value value, const tile_type *to,
                           tile_arena *arena) {
    const char *element = to->param ? to->param : tile_scalar_name(to->scalar);
    return tile_arena_format(arena, "; cast it: `%s(%s)`", element,
                             value_text(infer, value, arena));
}

/* Returns whether this operand of two is the one to cast: the scalar if the other is a tile, the
 * integer if the other is a float, otherwise the narrower one. */
static bool is_to_cast(const tile_type *type, const tile_type *other) {
    if (tile_type_is_array(type) != tile_type_is_array(other)) return !tile_type_is_array(type);
    if (!type->param != !other->param) return type->param != NULL; /* to a type that is known */
    bool floating = tile_scalar_is_floating(type->scalar);
    if (floating != tile_scalar_is_floating(other->scalar)) return !floating;
    return tile_scalar_bits(type->scalar) < tile_scalar_bits(other->scalar);
}

/* "1, 1, 8, 64": the last `count` extents of the type, after as many 1 as make them `rank`. */
static const char *extents_text(const tile_infer *infer, const tile_type *type, unsigned count,
                                unsigned rank, tile_arena *arena) {
    const char *text = "";
    for (unsigned d = 0; d < rank; d++) {
        unsigned at = type->rank + d - rank;
        const char *extent =
            d + count < rank ? "1" : tile_expr_text(infer->function, type->dims[at], arena);
        text = tile_arena_format(arena, "%s%s%s", text, d ? ", " : "", extent);
    }
    return text;
}

/* Whether an extent is that of the dim, or one of the two is 1 or not known. */
static bool extent_fits(const tile_infer *infer, const tile_expr *extent, const tile_type *type,
                        unsigned d) {
    return same_extent(infer, extent, type->dims[d]) || tile_expr_is(extent, 1) ||
           tile_expr_is(type->dims[d], 1);
}

/* How the operand of lower rank gets the other one's: as a column, a row, or by leading 1. */
static const char *reshape_remedy(const tile_infer *infer, unsigned operand, const tile_type *low,
                                  const tile_type *high, tile_arena *arena) {
    const char *name = value_text(infer, infer->operands[operand], arena),
               *row = extents_text(infer, low, low->rank, high->rank, arena);
    bool vector = low->rank == 1 && high->rank == 2;
    bool is_column = vector && extent_fits(infer, low->dims[0], high, 0),
         is_row = !vector || extent_fits(infer, low->dims[0], high, 1);
    const char *extent = tile_expr_text(infer->function, low->dims[0], arena);
    if (vector && is_column == is_row)
        return tile_arena_format(
            arena, "; add a dim: `(reshape(%s) : [%s, 1])` for a column, `[%s]` for a row", name,
            extent, row);
    if (is_column) row = tile_arena_format(arena, "%s, 1", extent);
    return tile_arena_format(arena, "; add a dim: `(reshape(%s) : [%s])`", name, row);
}

static bool fail_mixed(const tile_infer *infer, const tile_type *a, const tile_type *b) {
    const char *what = "both operands must have the same type, not", *remedy = "";
    bool shapes = a->kind == b->kind && same_element(a, b) && !same_dims(infer, a, b);
    tile_arena scratch = {0};
    if (shapes && a->kind == TILE_TYPE_TILE && a->rank != b->rank) {
        unsigned at = a->rank < b->rank ? 0 : 1;
        what = "both operands must have the same rank, not";
        remedy = reshape_remedy(infer, at, at ? b : a, at ? a : b, &scratch);
    } else if (shapes && (a->kind == TILE_TYPE_TILE || a->kind == TILE_TYPE_TENSOR)) {
        what = "extents must be the same or 1, not";
    } else if (!same_element(a, b) && is_value(a) && is_value(b)) {
        unsigned at = is_to_cast(a, b) ? 0 : 1;
        remedy = cast_of(infer, infer->operands[at], at ? a : b, &scratch);
    }
    fail_with(infer, what, a, " and", b, remedy);
    tile_arena_reset(&scratch);
    return false;
}

static bool tile_infer_arith(tile_infer *infer) {
    const tile_type *a = type_of(infer, TILE_OPERAND_lhs), *b = type_of(infer, TILE_OPERAND_rhs);
    const tile_type *type = broadcast(infer, a, b);
    return type ? result(infer, type) : fail_mixed(infer, a, b);
}

static bool tile_infer_compare(tile_infer *infer) {
    const tile_type *a = type_of(infer, TILE_OPERAND_lhs), *b = type_of(infer, TILE_OPERAND_rhs);
    const tile_type *type = broadcast(infer, a, b);
    if (!type) return fail_mixed(infer, a, b);
    return result(infer,
                  tile_type_with_scalar(tile_function_context(infer->function), type, TILE_i1));
}

static bool tile_infer_unary(tile_infer *infer) {
    return result(infer, type_of(infer, TILE_OPERAND_src));
}

/* Three operands of one type, which is the result's. */
static bool three_alike(tile_infer *infer, const tile_type *a, const tile_type *b,
                        const tile_type *c, const char *remedy) {
    bool alike = same_type(infer, a, b);
    if (!alike || !same_type(infer, a, c))
        return fail_with(infer, "all operands must have the same type, not", a, " and",
                         alike ? c : b, remedy);
    return result(infer, a);
}

static bool tile_infer_fma(tile_infer *infer) {
    return three_alike(infer, type_of(infer, TILE_OPERAND_lhs), type_of(infer, TILE_OPERAND_rhs),
                       type_of(infer, TILE_OPERAND_addend), "; cast them, or write `a * b + c`");
}

static bool tile_infer_clamp(tile_infer *infer) {
    return three_alike(infer, type_of(infer, TILE_OPERAND_src), type_of(infer, TILE_OPERAND_low),
                       type_of(infer, TILE_OPERAND_high), "; cast them");
}

/* An unassigned layout matches any other. */
static bool same_layout(const tile_type *a, const tile_type *b) {
    return !a->layout || !b->layout || a->layout == b->layout;
}

static bool tile_infer_select(tile_infer *infer) {
    const tile_type *condition = type_of(infer, TILE_OPERAND_condition),
                    *yes = type_of(infer, TILE_OPERAND_yes), *no = type_of(infer, TILE_OPERAND_no);
    if (!same_type(infer, yes, no)) {
        tile_arena scratch = {0};
        bool cast = !same_element(yes, no), second = cast && !is_to_cast(yes, no);
        unsigned place = tile_place_of(infer->opcode, second ? TILE_OPERAND_no : TILE_OPERAND_yes);
        fail_with(infer, "both values must have the same type, not", yes, " and", no,
                  cast ? cast_of(infer, infer->operands[place], second ? yes : no, &scratch) : "");
        tile_arena_reset(&scratch);
        return false;
    }
    bool whole = condition->kind == TILE_TYPE_SCALAR;
    if (!whole && (condition->kind != yes->kind || !same_dims(infer, condition, yes) ||
                   !same_layout(condition, yes)))
        return fail(infer, "the condition must have the shape of the values,", condition, " for",
                    yes);
    return result(infer, yes);
}

static bool tile_infer_cast(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src), *to = infer->given;
    if (!to)
        return fail(infer, "the result needs an element type; write it after ':': f32", NULL, "",
                    NULL);
    if (to->kind != from->kind || !same_dims(infer, from, to) || !same_layout(from, to))
        return fail(infer, "the result must have the operand's shape: from", from, " to", to);
    return result(infer, to);
}

static bool tile_infer_bitcast(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src), *to = infer->given;
    if (!tile_infer_cast(infer) || from->param || to->param) return infer->result_count == 1;
    infer->result_count = 0;
    if (tile_scalar_bits(from->scalar) != tile_scalar_bits(to->scalar))
        return fail(infer, "the element types must have the same width, not", from, " and", to);
    if (from->scalar != to->scalar && (from->scalar == TILE_tf32 || to->scalar == TILE_tf32))
        return fail(infer,
                    "some bits of tf32 are ignored; cast to or from f32 instead of a bitcast from",
                    from, " to", to);
    return result(infer, to);
}

static bool tile_infer_splat(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src), *to = infer->given;
    if (!needs_extents(infer)) return false;
    if (!tile_type_is_array(to) || !same_element(from, to))
        return fail(infer,
                    "the result must be a tile, tensor or vector of the operand's type, from", from,
                    " to", to);
    return result(infer, to);
}

static bool tile_infer_none(tile_infer *infer) {
    return no_result(infer);
}

/* Each list needs one entry per region. */
static bool tile_infer_roles(tile_infer *infer) {
    if (!infer->segment[0] || infer->segment[0] != infer->segment[1] ||
        infer->segment[0] != infer->segment[2])
        return fail(infer, "each region needs its own warps, groups and registers", NULL, "", NULL);
    return no_result(infer);
}

static bool tile_infer_sync(tile_infer *infer) {
    if (!type_of(infer, TILE_OPERAND_number) != !type_of(infer, TILE_OPERAND_warps))
        return fail(infer, "a numbered barrier needs the number of participating warps: sync 1, 8",
                    NULL, "", NULL);
    return no_result(infer);
}

/* The results of a loop have the types of its initial values, the row's last operand. */
static bool tile_infer_inits(tile_infer *infer) {
    unsigned count;
    const tile_op_info *info = tile_op_get_info(infer->opcode);
    const tile_value *inits = segment_at(infer, info->operand_count - 1, &count);
    for (unsigned i = 0; i < count; i++)
        infer->results[i] = tile_value_type(infer->function, inits[i]);
    infer->result_count = count;
    return true;
}

/* `if` is built by tile_build_if_else: its results come from its regions. */
static bool tile_infer_if(tile_infer *infer) {
    infer->result_count = 0;
    return true;
}

/* If the element type is a parameter, it is checked once the parameter has a value. */
static bool tile_infer_iota(tile_infer *infer) {
    const tile_type *type = infer->given;
    if (!type || (type->kind != TILE_TYPE_TILE && type->kind != TILE_TYPE_TENSOR))
        return fail(infer, "the result must be a tile or a tensor", NULL,
                    type ? ", not" : "; write its type after ':'", type);
    if (!type->param && (type->scalar == TILE_i1 || !tile_scalar_has_arithmetic(type->scalar)))
        return fail(
            infer,
            "the element type must be an integer, or a float that has arithmetic, not that of",
            type, "", NULL);
    return result(infer, type);
}

static bool tile_infer_broadcast(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src), *to = infer->given;
    if (from->kind != TILE_TYPE_TILE && from->kind != TILE_TYPE_TENSOR)
        return fail(infer, "operand 'src' must be a tile or a tensor, not", from, "", NULL);
    if (!to) return fail_without_extents(infer);
    if (to->kind != from->kind || !same_element(from, to))
        return fail(infer, "the result must be a tensor or tile of the operand's elements, from",
                    from, " to", to);
    if (!tile_type_stretches(tile_function_context(infer->function), from, to))
        return fail(infer, "extents of 1 are repeated and dims are added in front, not", from,
                    " to", to);
    return result(infer, to);
}

static bool tile_infer_index(tile_infer *infer) {
    return result(infer, scalar_type(infer, TILE_i32));
}

static bool tile_infer_tile_schedule(tile_infer *infer) {
    unsigned extents;
    segment(infer, TILE_OPERAND_extents, &extents);
    if (extents < 1 || extents > 3) return fail(infer, "a grid has 1 to 3 extents", NULL, "", NULL);
    return tile_infer_index(infer);
}

static bool tile_infer_index3(tile_infer *infer) {
    if (!tile_infer_index(infer)) return false;
    infer->results[1] = infer->results[2] = infer->results[0];
    infer->result_count = 3;
    return true;
}

/* Extents and strides that are constant in the type must equal the operands. */
static bool check_known(const tile_infer *infer, const tile_expr *const *known, unsigned operand,
                        const char *what) {
    unsigned count;
    const tile_value *values = segment_at(infer, operand, &count);
    for (unsigned d = 0; d < count; d++) {
        const tile_value_data *data = tile_value_at(infer->function, values[d]);
        if (known[d] &&
            (data->kind != TILE_VALUE_CONSTANT || !same_extent(infer, data->expr, known[d])))
            return fail(infer, what, infer->given, "", NULL);
    }
    return true;
}

static bool refuse_without_extents(const tile_infer *infer) {
    tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                "%s: a view has 1 to %u extents", op_name(infer), (unsigned)TILE_MAX_RANK);
    return false;
}

static bool tile_infer_view(tile_infer *infer) {
    unsigned extents, strides;
    segment(infer, TILE_OPERAND_extents, &extents);
    segment(infer, TILE_OPERAND_strides, &strides);
    const tile_type *type = infer->given, *base = type_of(infer, TILE_OPERAND_base);
    if (!type) return refuse_without_extents(infer);
    if (!given(infer, TILE_TYPE_VIEW, "the result must be a view")) return false;
    if (type->layout)
        return fail(infer, "only a view of opaque scratch has a layout", NULL, "", NULL);
    if (type->rank != extents || (strides && strides != extents))
        return fail(infer, "there must be one extent, and one stride if any, for each dim of", type,
                    "", NULL);
    if (strides && !type->has_strides)
        return fail(infer, "strides are given, so the type must have them:", type,
                    " lacks them; write for instance view<f32[?, ?], strides [1, ?]>", NULL);
    if (!strides && type->has_strides)
        return fail(infer, "the strides are missing for", type, "", NULL);
    if (!same_element(base, type))
        return fail(infer, "the element types differ:", base, " and", type);
    return check_known(infer, type->dims, 1, "an extent operand differs from that of") &&
           check_known(infer, type->strides, 2, "a stride operand differs from that of");
}

static bool tile_infer_subview(tile_infer *infer) {
    unsigned extents;
    segment(infer, TILE_OPERAND_extents, &extents);
    const tile_type *type = infer->given, *src = type_of(infer, TILE_OPERAND_src);
    if (!type) return refuse_without_extents(infer);
    if (!given(infer, TILE_TYPE_VIEW, "the result must be a view")) return false;
    if (src->has_strides || type->has_strides || type->layout)
        return fail(infer, "both views must be row-major, without strides or layout, not",
                    src->has_strides ? src : type, "", NULL);
    if (type->rank != extents)
        return fail(infer, "there must be one extent for each dim of", type, "", NULL);
    if (!same_element(src, type))
        return fail(infer, "the element types differ:", src, " and", type);
    return check_known(infer, type->dims, tile_place_of(TILE_OP_subview, TILE_OPERAND_extents),
                       "an extent operand differs from that of");
}

static bool tile_infer_base(tile_infer *infer) {
    tile_type draft = *type_of(infer, TILE_OPERAND_src);
    draft.kind = TILE_TYPE_PTR;
    draft.rank = 0;
    draft.layout = NULL;
    draft.has_strides = false;
    return result(infer, tile_type_get(tile_function_context(infer->function), &draft));
}

static bool tile_infer_scratch(tile_infer *infer) {
    unsigned extents;
    segment(infer, TILE_OPERAND_extents, &extents);
    const tile_type *type = infer->given;
    if (type && type->kind == TILE_TYPE_PTR) return result(infer, type);
    if (!type)
        return fail(infer, "the result needs an element type; write it after ':': f32", NULL, "",
                    NULL);
    if (!given(infer, TILE_TYPE_VIEW, "the result must be a view")) return false;
    if (type->rank != extents || type->has_strides)
        return fail(infer, "there must be one extent for each dim of", type, "", NULL);
    return check_known(infer, type->dims, 0, "an extent operand differs from that of");
}

/* The kernel may not exist yet, so tile_verify_plan compares the arguments. */
static bool tile_infer_launch(tile_infer *infer) {
    return no_result(infer);
}

static bool tile_infer_fill(tile_infer *infer) {
    const tile_type *view = type_of(infer, TILE_OPERAND_dst),
                    *value = type_of(infer, TILE_OPERAND_src);
    if (value->kind != TILE_TYPE_SCALAR || !same_element(view, value))
        return fail(infer, "the value must be an element of", view, ", not", value);
    return no_result(infer);
}

static bool tile_infer_shared_buffer(tile_infer *infer) {
    if (infer->given && infer->given->kind == TILE_TYPE_SHARED && infer->given->cluster)
        return fail(infer, "a buffer of the cluster comes from map_shared, not", infer->given, "",
                    NULL);
    return given(infer, TILE_TYPE_SHARED, "the result must be a shared buffer");
}

static bool tile_infer_barrier_buffer(tile_infer *infer) {
    const tile_type *type = infer->given;
    if (!type || !is_barrier(type) || type->cluster)
        return fail(infer, "the result must be barriers, as shared<barrier[4]>", NULL,
                    type ? ", not" : "", type);
    return result(infer, type);
}

static bool tile_infer_mbarrier_test(tile_infer *infer) {
    return result(infer, scalar_type(infer, TILE_i1));
}

static bool tile_infer_misalignment(tile_infer *infer) {
    return result(infer, scalar_type(infer, TILE_i32));
}

static bool tile_infer_elect(tile_infer *infer) {
    return result(infer, scalar_type(infer, TILE_i1));
}

static bool tile_infer_map_shared(tile_infer *infer) {
    const tile_type *own = type_of(infer, TILE_OPERAND_src);
    return result(infer, tile_type_in_cluster(tile_function_context(infer->function), own));
}

/* What to write for a tile with more dims than the view. `load` and `store` drop dims of extent 1;
 * other operations need a `reshape`. */
static const char *fewer_dims(const tile_infer *infer, const tile_type *tile, const tile_type *view,
                              tile_arena *arena) {
    bool reshapes =
        tile->kind == TILE_TYPE_TILE; /* the extents that the view does not have are 1 */
    for (unsigned d = 0; d < tile->rank - view->rank; d++)
        reshapes &= tile_expr_is(tile->dims[d], 1);
    const char *counts = tile_arena_format(arena, "; the tile has %u dims and the view has %u",
                                           tile->rank, view->rank);
    if (!reshapes)
        return tile_arena_format(
            arena, "%s, and `load` and `store` drop only dims of extent 1: give the view %u dims",
            counts, tile->rank);
    return tile_arena_format(arena, "%s: write `(reshape(%s) : [%s])`", counts,
                             value_text(infer, infer->operands[0], arena),
                             extents_text(infer, tile, view->rank, view->rank, arena));
}

bool tile_infer_refuse_shapes(const tile_infer *infer, const tile_type *tile,
                              const tile_type *memory) {
    tile_arena scratch = {0};
    const char *remedy = "";
    if (memory->kind == TILE_TYPE_VIEW && memory->rank && tile->rank > memory->rank)
        remedy = fewer_dims(infer, tile, memory, &scratch);
    fail_with(infer, "the shapes do not match:", tile, " and", memory, remedy);
    tile_arena_reset(&scratch);
    return false;
}

static bool check_shapes(const tile_infer *infer, const tile_type *tile, const tile_type *memory) {
    bool fits = memory->kind == TILE_TYPE_SHARED ? same_dims(infer, memory, tile)
                                                 : tile->rank <= memory->rank;
    return fits || tile_infer_refuse_shapes(infer, tile, memory);
}

bool tile_infer_refuse_elements(const tile_infer *infer, const tile_type *tile,
                                const tile_type *memory) {
    tile_arena scratch = {0};
    bool stores = tile_op_get_info(infer->opcode)->operands[0].access == TILE_ACCESS_none;
    const char *remedy =
        infer->given ? "; give the extents alone, `load .. : [64]`, and cast the tile: `f32(%t)`"
        : stores     ? cast_of(infer, infer->operands[0], memory, &scratch)
                     : "";
    fail_with(infer, "the element types differ:", tile, " and", memory, remedy);
    tile_arena_reset(&scratch);
    return false;
}

/* Checks a tile that is copied from or to a view or shared buffer: same element type, and equal
 * last dims. `acc(T)` is checked again when T has a value. */
static bool check_transfer(const tile_infer *infer, const tile_type *tile,
                           const tile_type *memory) {
    return tile_elements_may_agree(tile, memory) ? check_shapes(infer, tile, memory)
                                                 : tile_infer_refuse_elements(infer, tile, memory);
}

bool tile_infer_check_part(const tile_infer *infer, const tile_type *tile,
                           const tile_type *buffer) {
    bool fits = tile->rank == buffer->rank;
    for (unsigned d = 0; fits && d < tile->rank; d++) {
        int64_t part = tile_type_dim(tile, d), whole = tile_type_dim(buffer, d);
        bool known = part > 0 && whole > 0;
        fits = tile->dims[d] == buffer->dims[d] || !known ||
               ((part & (part - 1)) == 0 && whole % part == 0);
    }
    if (!fits)
        return fail(infer,
                    "a part's extents must be those of the buffer, or powers of two that divide "
                    "them:",
                    tile, " of", buffer);
    return same_element(tile, buffer) ||
           fail(infer, "the element types differ:", tile, " and", buffer);
}

bool tile_infer_is_part(const tile_infer *infer, unsigned operand) {
    const tile_type *type = type_at(infer, operand);
    unsigned count;
    segment_at(infer, operand, &count);
    return type->kind == TILE_TYPE_SHARED && count > 1u + (type->stages != NULL);
}

static bool tile_infer_load(tile_infer *infer) {
    const tile_type *memory = type_of(infer, TILE_OPERAND_src);
    if (!needs_extents(infer) || !given(infer, TILE_TYPE_TILE, "the result must be a tile"))
        return false;
    return tile_infer_is_part(infer, 0) ? tile_infer_check_part(infer, infer->given, memory)
                                        : check_transfer(infer, infer->given, memory);
}

bool tile_infer_store(tile_infer *infer) {
    const tile_type *tile = type_of(infer, TILE_OPERAND_src),
                    *memory = type_of(infer, TILE_OPERAND_dst);
    return no_result(infer) &&
           (tile_infer_is_part(infer, 1) ? tile_infer_check_part(infer, tile, memory)
                                         : check_transfer(infer, tile, memory));
}

bool tile_infer_copy(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src),
                    *to = type_of(infer, TILE_OPERAND_dst);
    if (from->kind == to->kind)
        return fail(infer, "one side must be a view and the other a shared buffer, not", from,
                    " and", to);
    const tile_type *shared = from->kind == TILE_TYPE_SHARED ? from : to;
    const tile_type *view = shared == from ? to : from;
    unsigned operand = shared == from ? 1 : 0;
    unsigned predicate = infer->opcode == TILE_OP_copy ? 2 : 3;
    bool rounds = shared == to && (shared->param || shared->scalar == TILE_tf32) &&
                  (view->param ||
                   view->scalar == TILE_f32); /* a type parameter is checked once it has a value */
    if (!rounds && !same_element(shared, view))
        return fail(infer, "the element types differ:", shared, " and", view);
    return no_result(infer) &&
           (tile_infer_points(infer, operand) ? tile_infer_check_points(infer, operand, shared)
                                              : check_shapes(infer, shared, view)) &&
           tile_infer_check_predicate(infer, predicate, shared);
}

static bool tile_infer_dot_wait(tile_infer *infer) {
    return result(infer, type_of(infer, TILE_OPERAND_src));
}

static bool tile_infer_convert_layout(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src), *to = infer->given;
    if (!given(infer, TILE_TYPE_TILE, "the result must be a tile")) return false;
    if (!same_dims(infer, from, to) || !same_element(from, to))
        return fail(infer, "only the layout may change, from", from, " to", to);
    const tile_type *buffer = type_of(infer, TILE_OPERAND_buffer);
    if (buffer &&
        (buffer->stages || !same_dims(infer, from, buffer) || !same_element(from, buffer)))
        return fail(infer, "the buffer must have the tile's shape and no stages, not", buffer,
                    " for", from);
    return true;
}

static bool tile_infer_semaphore(tile_infer *infer) {
    const tile_type *view = first_type(infer);
    if (view->scalar != TILE_i32)
        return fail(infer, "a semaphore is an i32 element of a view, not of", view, "", NULL);
    return no_result(infer);
}

bool tile_infer_results(tile_infer *infer) {
    static bool (*const rules[TILE_OPCODE_LIMIT])(tile_infer *) = {
#define OP(number, name, levels, operands, attributes, typing, rule, ...) \
    [number] = tile_infer_##rule,
#include "tile/ops.def"
    };
    infer->result_count = 0;
    return tile_infer_check_classes(infer) && tile_infer_complete_given(infer) &&
           rules[infer->opcode](infer);
}
