/* The written type of a result may omit what the operands determine. It may be missing, give only
 * the extents ([16, 8] in the text, a type without elements here), or give only the element type
 * (f32 if the result is an array). Here it is completed. Then the rules of infer.c check it like a
 * type that was written in full. */
#include "lib/builder/infer_rules.h"

static const tile_type *get(const tile_infer *infer, const tile_type *draft) {
    return tile_type_get(tile_function_context(infer->function), draft);
}

static bool is_scalar(const tile_type *type) {
    return type && type->kind == TILE_TYPE_SCALAR;
}

static void set_element(tile_type *draft, const tile_type *from) {
    draft->scalar = from->scalar;
    draft->param = from->param;
}

static const tile_type *element_of(const tile_infer *infer, const tile_type *type) {
    tile_type draft = {.kind = TILE_TYPE_SCALAR};
    set_element(&draft, type);
    return get(infer, &draft);
}

/* Constants as they are in the type, `?` for values known only at launch. */
static void set_known(const tile_infer *infer, const tile_value *values, unsigned count,
                      const tile_expr **known) {
    for (unsigned d = 0; d < count && d < TILE_MAX_RANK; d++) {
        const tile_value_data *data = tile_value_at(infer->function, values[d]);
        known[d] = data->kind == TILE_VALUE_CONSTANT ? data->expr : NULL;
    }
}

/* A view of that element type with the extents in operand `operand`. NULL if there are none, or so
 * many that the verifier's rank check could not print them. */
static const tile_type *view_of(const tile_infer *infer, const tile_type *element, unsigned operand,
                                const tile_value *strides, unsigned stride_count) {
    unsigned rank;
    const tile_value *extents = segment_at(infer, operand, &rank);
    tile_type draft = {.kind = TILE_TYPE_VIEW, .rank = rank, .has_strides = stride_count > 0};
    if (rank == 0 || rank > TILE_MAX_RANK) return NULL;
    set_element(&draft, element);
    set_known(infer, extents, rank, draft.dims);
    set_known(infer, strides, stride_count, draft.strides);
    return get(infer, &draft);
}

static const tile_type *complete_view(const tile_infer *infer) {
    unsigned count;
    const tile_value *strides = segment(infer, TILE_OPERAND_strides, &count);
    return infer->given ? infer->given
                        : view_of(infer, type_of(infer, TILE_OPERAND_base), 1, strides, count);
}

static const tile_type *complete_scratch(const tile_infer *infer) {
    return is_scalar(infer->given) ? view_of(infer, infer->given, 0, NULL, 0) : infer->given;
}

static const tile_type *complete_subview(const tile_infer *infer) {
    unsigned rank;
    tile_type draft = {.kind = TILE_TYPE_VIEW};
    const tile_value *extents = segment(infer, TILE_OPERAND_extents, &rank);
    if (infer->given || !rank || rank > TILE_MAX_RANK) return infer->given;
    draft.rank = rank;
    set_element(&draft, type_of(infer, TILE_OPERAND_src));
    set_known(infer, extents, rank, draft.dims);
    return get(infer, &draft);
}

static const tile_type *complete_im2col(const tile_infer *infer) {
    return infer->given ? infer->given : tile_infer_windows(infer);
}

static const tile_type *complete_load_shared(const tile_infer *infer) {
    tile_type draft = *type_of(infer, TILE_OPERAND_src);
    if (infer->given) return infer->given;
    draft.kind = TILE_TYPE_TILE;
    draft.stages = NULL;
    draft.layout = NULL;
    draft.cluster = false;
    return get(infer, &draft);
}

/* The points of index tiles, or one element, unless a type is given. */
static const tile_type *complete_load(const tile_infer *infer) {
    const tile_type *points = tile_infer_points(infer, 0);
    if (infer->given || !points)
        return infer->given ? infer->given : element_of(infer, type_of(infer, TILE_OPERAND_src));
    tile_type draft = *points;
    draft.layout = NULL;
    set_element(&draft, type_of(infer, TILE_OPERAND_src));
    return get(infer, &draft);
}

static const tile_type *complete_inside(const tile_infer *infer) {
    const tile_type *points = tile_infer_points(infer, 0);
    tile_type draft = {.kind = TILE_TYPE_SCALAR};
    if (infer->given) return infer->given;
    if (points) draft = *points;
    draft.layout = NULL;
    set_element(&draft, tile_type_scalar(tile_function_context(infer->function), TILE_i1));
    return get(infer, &draft);
}

/* One element, unless a type is given. */
static const tile_type *complete_elements(const tile_infer *infer) {
    return infer->given ? infer->given : element_of(infer, type_of(infer, TILE_OPERAND_src));
}

static const tile_type *complete_descriptor(const tile_infer *infer) {
    tile_type draft = {.kind = TILE_TYPE_DESCRIPTOR};
    set_element(&draft, type_of(infer, TILE_OPERAND_src));
    return infer->given ? infer->given : get(infer, &draft);
}

static const tile_type *complete_permute(const tile_infer *infer) {
    return infer->given ? infer->given : type_of(infer, TILE_OPERAND_src);
}

/* The rule finds the type or checks the given one. */
static const tile_type *complete_transpose(const tile_infer *infer) {
    return infer->given;
}

static const tile_type *complete_cast(const tile_infer *infer) {
    tile_type draft = *type_of(infer, TILE_OPERAND_src);
    if (!is_scalar(infer->given)) return infer->given;
    set_element(&draft, infer->given);
    draft.layout = tile_layout_for_scalar(draft.layout, type_of(infer, TILE_OPERAND_src)->scalar,
                                          draft.scalar);
    return get(infer, &draft);
}

static const tile_type *complete_matmul(const tile_infer *infer) {
    const tile_type *all = is_scalar(infer->given) ? tile_infer_product(infer, infer->given) : NULL;
    return all ? all : infer->given;
}

static const tile_type *complete_convolve(const tile_infer *infer) {
    const tile_type *all =
        is_scalar(infer->given) ? tile_infer_convolved(infer, infer->given) : NULL;
    return all ? all : infer->given;
}

/* The rule refuses an empty list of operands. */
static const tile_type *complete_reduced(const tile_infer *infer) {
    return infer->given || !first_type(infer) ? infer->given : tile_infer_reduced(infer);
}

static const tile_type *complete_voted(const tile_infer *infer) {
    return infer->given ? infer->given : tile_infer_voted(infer);
}

static const tile_type *complete_fragment(const tile_infer *infer) {
    return infer->given ? infer->given : tile_infer_fragment(infer);
}

/* The kind of type that extents alone stand for. */
static tile_type_kind kind_of_result(const tile_infer *infer) {
    const tile_type *first = first_type(infer);
    bool thread = tile_op_get_info(infer->opcode)->operands[0].form == TILE_FORM_address;
    if (infer->opcode == TILE_OP_from_fragment) return TILE_TYPE_TILE;
    if (infer->opcode == TILE_OP_to_fragment || thread || first->kind == TILE_TYPE_VECTOR)
        return TILE_TYPE_VECTOR;
    return infer->function->kind == TILE_COMPUTE ? TILE_TYPE_TENSOR : TILE_TYPE_TILE;
}

static bool complete_extents(tile_infer *infer) {
    const tile_op_info *info = tile_op_get_info(infer->opcode);
    tile_context *context = tile_function_context(infer->function);
    tile_type draft = *infer->given;
    if (!info->type_given || !first_type(infer)) {
        tile_report(context, TILE_ERROR, infer->loc,
                    info->type_given ? "%s: no operand determines the element type; write the type "
                                       "in full, such as tile<f32[16, 16]> or shared<f32[16, 16]>"
                                     : "%s: its type follows from its operands; leave out ':' and "
                                       "the type, or give the type to an operand, `(.. : [16])`",
                    tile_op_spelling(info));
        return false;
    }
    draft.kind = kind_of_result(infer);
    set_element(&draft, first_type(infer));
    if (info->traits & TILE_TRAIT_COMPARE) set_element(&draft, tile_type_scalar(context, TILE_i1));
    if (infer->opcode == TILE_OP_histogram)
        set_element(&draft, tile_type_scalar(context, TILE_i32));
    if (draft.kind == TILE_TYPE_VECTOR && draft.rank != 1) {
        tile_report(context, TILE_ERROR, infer->loc, "%s: a vector has one dim, not %u",
                    tile_op_spelling(info), draft.rank);
        return false;
    }
    infer->given = get(infer, &draft);
    return true;
}

static const struct {
    const tile_type *(*complete)(const tile_infer *);
    /* The operands determine a type even if none is written, such as one element for a load. Then a
     * type expected by the context is not used instead. */
    bool operands_determine_type;
} completions[TILE_OPCODE_LIMIT] = {
    [TILE_OP_view] = {complete_view, true},
    [TILE_OP_subview] = {complete_subview, true},
    [TILE_OP_im2col] = {complete_im2col, true},
    [TILE_OP_load] = {complete_load, true},
    [TILE_OP_inside] = {complete_inside, true},
    [TILE_OP_load_shared] = {complete_load_shared, true},
    [TILE_OP_extract] = {complete_elements, true},
    [TILE_OP_ld_global] = {complete_elements, true},
    [TILE_OP_ld_shared] = {complete_elements, true},
    [TILE_OP_permute] = {complete_permute, true},
    [TILE_OP_wgmma_descriptor] = {complete_descriptor, true},
    [TILE_OP_reduce] = {complete_reduced, true},
    [TILE_OP_reduce_arg] = {complete_reduced, true},
    [TILE_OP_reduce_with] = {complete_reduced, true},
    [TILE_OP_asm] = {complete_transpose, true},
    [TILE_OP_to_fragment] = {complete_fragment, true},
    [TILE_OP_vote] = {complete_voted, true},
    [TILE_OP_transpose] = {complete_transpose, true},
    [TILE_OP_scratch] = {complete_scratch, false},
    [TILE_OP_cast] = {complete_cast, false},
    [TILE_OP_bitcast] = {complete_cast, false},
    [TILE_OP_matmul] = {complete_matmul, false},
    [TILE_OP_convolve] = {complete_convolve, false},
};

bool tile_infer_needs_given(tile_opcode opcode) {
    return tile_op_get_info(opcode)->type_given && !completions[opcode].operands_determine_type;
}

bool tile_infer_complete_given(tile_infer *infer) {
    if (infer->given && tile_type_is_extents(infer->given) && !complete_extents(infer))
        return false;
    if (completions[infer->opcode].complete)
        infer->given = completions[infer->opcode].complete(infer);
    return true;
}
