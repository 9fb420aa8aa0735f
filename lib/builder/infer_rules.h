/* Helper functions shared by the rule files. A rule checks the operands of an operation, then calls
 * result or no_result. */
#ifndef TILE_LIB_BUILDER_INFER_RULES_H
#define TILE_LIB_BUILDER_INFER_RULES_H

#include <string.h>

#include "lib/builder/infer.h"
#include "lib/ir/describe.h"
#include "lib/layout/mma.h"

/* Diagnostics --------------------------------------------------------------------------------- */

static inline const char *op_name(const tile_infer *infer) {
    return tile_opcode_spelling(infer->opcode);
}

static inline const char *type_text(const tile_infer *infer, const tile_type *type,
                                    tile_arena *arena) {
    return type ? tile_type_text(infer->function, type, NULL, arena) : "nothing";
}

/* Reports "<op>: <what> <a><between> <b><remedy>"; a and b may be NULL. */
static inline bool fail_with(const tile_infer *infer, const char *what, const tile_type *a,
                             const char *between, const tile_type *b, const char *remedy) {
    tile_arena scratch = {0};
    tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                "%s: %s%s%s%s%s%s%s", op_name(infer), what, a ? " " : "",
                a ? type_text(infer, a, &scratch) : "", between, b ? " " : "",
                b ? type_text(infer, b, &scratch) : "", remedy);
    tile_arena_reset(&scratch);
    return false;
}

static inline bool fail(const tile_infer *infer, const char *what, const tile_type *a,
                        const char *between, const tile_type *b) {
    return fail_with(infer, what, a, between, b, "");
}

/* The text of a value: %n, 0, or .. if it has no name. */
static inline const char *value_text(const tile_infer *infer, tile_value value, tile_arena *arena) {
    const tile_value_data *data = tile_value_at(infer->function, value);
    if (data->kind == TILE_VALUE_CONSTANT)
        return tile_expr_text(infer->function, data->expr, arena);
    return data->name ? tile_arena_format(arena, "%%%s", data->name) : "..";
}

/* Operands ------------------------------------------------------------------------------------ */

/* The values of the operand at that place in the row, for rules that visit all operands. */
static inline const tile_value *segment_at(const tile_infer *infer, unsigned place,
                                           unsigned *count) {
    unsigned start = 0;
    for (unsigned i = 0; i < place; i++) start += infer->segment[i];
    *count = infer->segment[place];
    return infer->operands + start;
}

/* The type of its first value, NULL if the operand is absent. */
static inline const tile_type *type_at(const tile_infer *infer, unsigned place) {
    unsigned count;
    const tile_value *values = segment_at(infer, place, &count);
    return count ? tile_value_type(infer->function, values[0]) : NULL;
}

/* The same by name. */
static inline const tile_value *segment(const tile_infer *infer, tile_operand_name name,
                                        unsigned *count) {
    return segment_at(infer, tile_place_of(infer->opcode, name), count);
}
static inline const tile_type *type_of(const tile_infer *infer, tile_operand_name name) {
    return type_at(infer, tile_place_of(infer->opcode, name));
}
/* The first operand, for rules of operations that name it differently. */
static inline const tile_type *first_type(const tile_infer *infer) {
    return type_at(infer, 0);
}

/* An attribute; NULL if it is absent or not known yet. */
static inline const tile_attr *attr_of(const tile_infer *infer, tile_attr_id id) {
    for (unsigned i = 0; i < infer->attr_count; i++)
        if (infer->attrs[i].id == id) return &infer->attrs[i];
    return NULL;
}

/* The product of operands of these types. A builder may add `precision` later. */
static inline tile_mma_query product_query(const tile_infer *infer,
                                           const tile_type *const types[3]) {
    const tile_attr *precision = attr_of(infer, TILE_ATTR_precision);
    tile_mma_query query = tile_mma_query_of(types[0]->scalar, types[1]->scalar, types[2]->scalar);
    bool tf32 =
        !infer->has_attrs || (precision && precision->text && strcmp(precision->text, "tf32") == 0);
    return tf32 ? tile_mma_query_as_tf32(query) : query;
}

/* Results ------------------------------------------------------------------------------------- */

static inline bool fail_excess(const tile_infer *infer, const tile_type *type) {
    tile_arena scratch = {0};
    tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc, "%s: %s has %s",
                op_name(infer), type_text(infer, type, &scratch), tile_type_excess(type));
    tile_arena_reset(&scratch);
    return false;
}

/* Comparisons by value: the extents of tensors and views may have several spellings. */
static inline bool same_extent(const tile_infer *infer, const tile_expr *a, const tile_expr *b) {
    return tile_extents_equal(tile_function_context(infer->function), a, b);
}
static inline bool same_dims(const tile_infer *infer, const tile_type *a, const tile_type *b) {
    return tile_type_same_dims(tile_function_context(infer->function), a, b);
}
static inline bool same_type(const tile_infer *infer, const tile_type *a, const tile_type *b) {
    return tile_type_equal(tile_function_context(infer->function), a, b);
}

/* The result has the spelling of the given type. */
static inline bool result(tile_infer *infer, const tile_type *type) {
    if (infer->given && !same_type(infer, infer->given, type))
        return fail(infer, "the result is", type, ", not", infer->given);
    if (infer->given) type = infer->given;
    if (tile_type_excess(type)) return fail_excess(infer, type);
    infer->results[0] = type;
    infer->result_count = 1;
    return true;
}

/* Reports that a type is missing that no operand determines. */
static inline bool fail_without_extents(const tile_infer *infer) {
    const char *name = op_name(infer);
    tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                "%s: the result's extents are missing: write `%s .. : [16, 16]`; inside an "
                "expression, put the operation and its type in parentheses, `(%s(..) : [16, 16])`",
                name, name, name);
    return false;
}

/* Uses the given type if it is of that kind. */
static inline bool given(tile_infer *infer, tile_type_kind kind, const char *words) {
    if (!infer->given || infer->given->kind != kind)
        return fail(infer, words, NULL, infer->given ? ", not" : "; write its type after ':'",
                    infer->given);
    return result(infer, infer->given);
}

static inline bool no_result(tile_infer *infer) {
    infer->result_count = 0;
    return !infer->given ||
           fail(infer, "it has no result, so leave out the type after it", NULL, "", NULL);
}

static inline bool is_value(const tile_type *type) {
    return type->kind == TILE_TYPE_SCALAR || tile_type_is_array(type);
}

static inline bool is_barrier(const tile_type *type) {
    return type->kind == TILE_TYPE_SHARED && type->scalar == TILE_barrier;
}

static inline bool same_element(const tile_type *a, const tile_type *b) {
    return a->scalar == b->scalar && a->param == b->param;
}

/* infer_operands.c: checks that each operand is of its row's class. Returns false after a
 * report. */
bool tile_infer_check_classes(const tile_infer *infer);

/* infer.c. Report that a tile and memory have different element types, or that the tile has more
 * dims than the memory; return false. */
bool tile_infer_refuse_elements(const tile_infer *infer, const tile_type *tile,
                                const tile_type *memory);
bool tile_infer_refuse_shapes(const tile_infer *infer, const tile_type *tile,
                              const tile_type *memory);

/* infer.c. The first returns whether an operand is a part of its shared buffer and not a whole
 * stage. The second checks whether a tile can be such a part: parts are contiguous, and their
 * extents equal the buffer's or are powers of two that divide them. Returns false after a
 * report. */
bool tile_infer_is_part(const tile_infer *infer, unsigned operand);
bool tile_infer_check_part(const tile_infer *infer, const tile_type *tile, const tile_type *buffer);

/* infer_gather.c. The type of an element operand's index tiles, NULL if it has none; checks that
 * the moved tile has the shape that they require; checks that a predicate, if present, has the
 * shape of the moved tile. The checks return false after a report. */
const tile_type *tile_infer_points(const tile_infer *infer, unsigned operand);
bool tile_infer_check_points(const tile_infer *infer, unsigned operand, const tile_type *moved);
bool tile_infer_check_predicate(const tile_infer *infer, unsigned operand, const tile_type *moved);
bool tile_infer_inside(tile_infer *infer);
bool tile_infer_gather(tile_infer *infer);
bool tile_infer_element(tile_infer *infer);
bool tile_infer_load_view(tile_infer *infer);
bool tile_infer_store_view(tile_infer *infer);

/* infer_thread.c: operations of a single thread */
bool tile_infer_extract(tile_infer *infer);
bool tile_infer_insert(tile_infer *infer);
bool tile_infer_concat(tile_infer *infer);
bool tile_infer_histogram(tile_infer *infer);
bool tile_infer_prefetch_l2(tile_infer *infer);
bool tile_infer_prefetch_l2_thread(tile_infer *infer);
bool tile_infer_permute(tile_infer *infer);
bool tile_infer_thread_load(tile_infer *infer);
bool tile_infer_unaligned_load(tile_infer *infer);
bool tile_infer_thread_store(tile_infer *infer);
bool tile_infer_st_async(tile_infer *infer);
bool tile_infer_ldmatrix(tile_infer *infer);
bool tile_infer_mma(tile_infer *infer);
bool tile_infer_cp_async(tile_infer *infer);
bool tile_infer_word(tile_infer *infer);
/* Checks that the operand, if present, is a scalar predicate of the thread. Returns false after a
 * report. */
bool tile_infer_own_predicate(const tile_infer *infer, unsigned operand);
/* Checks for a scalar or vector that one access of a thread can move. Returns false after a
 * report. */
bool tile_infer_is_access(const tile_infer *infer, const tile_type *fragment,
                          const tile_type *memory);

/* infer_fragment.c */
bool tile_infer_to_fragment(tile_infer *infer);
bool tile_infer_from_fragment(tile_infer *infer);
bool tile_infer_coordinates(tile_infer *infer);
/* The vector type for the elements of the first operand, a tile, that a thread holds; NULL if that
 * is not known yet. */
const tile_type *tile_infer_fragment(const tile_infer *infer);

bool tile_infer_asm(tile_infer *infer); /* infer_thread.c */

/* infer_reduce.c */
bool tile_infer_reduce(tile_infer *infer);
bool tile_infer_reduce_arg(tile_infer *infer);
bool tile_infer_scan(tile_infer *infer);
bool tile_infer_sort(tile_infer *infer);
bool tile_infer_reduce_with(tile_infer *infer);
bool tile_infer_scan_with(tile_infer *infer);
bool tile_infer_shfl(tile_infer *infer);
bool tile_infer_redux(tile_infer *infer);
bool tile_infer_vote(tile_infer *infer);
bool tile_infer_match(tile_infer *infer);
/* The type that follows from the attribute `kind`; NULL if that is not known yet. */
const tile_type *tile_infer_voted(const tile_infer *infer);
/* The operand's type with extent 1 along the axis; NULL if the axis is not known yet. */
const tile_type *tile_infer_reduced(const tile_infer *infer);

/* infer_product.c */
bool tile_infer_matmul(tile_infer *infer);
bool tile_infer_dot(tile_infer *infer);
/* The type of the result with this element type; NULL if the operands do not match. */
const tile_type *tile_infer_product(const tile_infer *infer, const tile_type *element);
/* Whether elements of these types can be multiplied; reports it otherwise. */
bool tile_infer_check_factors(const tile_infer *infer, const tile_type *a, const tile_type *b);
/* infer_convolve.c: the result of a convolution. */
const tile_type *tile_infer_convolved(const tile_infer *infer, const tile_type *element);

/* infer_shape.c */
bool tile_infer_transpose(tile_infer *infer);
bool tile_infer_reshape(tile_infer *infer);
bool tile_infer_join(tile_infer *infer);
bool tile_infer_unjoin(tile_infer *infer);
bool tile_infer_scalar(tile_infer *infer);
bool tile_infer_slice(tile_infer *infer);
bool tile_infer_insert_slice(tile_infer *infer);
bool tile_infer_concat_arrays(tile_infer *infer);

bool tile_infer_window(tile_infer *infer); /* infer_window.c */
bool tile_infer_im2col(tile_infer *infer); /* infer_im2col.c */
/* The type of the result; NULL if the attributes are not known yet, or are wrong. */
const tile_type *tile_infer_windows(const tile_infer *infer);
bool tile_infer_convolve(tile_infer *infer); /* infer_convolve.c */
bool tile_infer_call(tile_infer *infer);     /* call.c */

/* infer_tma.c */
bool tile_infer_copy(tile_infer *infer);  /* infer.c */
bool tile_infer_store(tile_infer *infer); /* infer.c */
bool tile_infer_copy_async(tile_infer *infer);
bool tile_infer_store_async(tile_infer *infer);
bool tile_infer_tensor_map(tile_infer *infer);
bool tile_infer_tma_load(tile_infer *infer);
bool tile_infer_tma_store(tile_infer *infer);
bool tile_infer_bulk_load(tile_infer *infer);
bool tile_infer_bulk_store(tile_infer *infer);

/* infer_wgmma.c: operations of a warpgroup */
bool tile_infer_wgmma_descriptor(tile_infer *infer);
bool tile_infer_wgmma(tile_infer *infer);
bool tile_infer_wgmma_wait(tile_infer *infer);
bool tile_infer_stmatrix(tile_infer *infer);
bool tile_infer_undefined(tile_infer *infer);

/* infer_print.c */
bool tile_infer_print(tile_infer *infer);

/* infer_atomic.c */
bool tile_infer_atomic(tile_infer *infer);
bool tile_infer_atomic_cas(tile_infer *infer);
bool tile_infer_atomic_thread(tile_infer *infer);
bool tile_infer_atomic_cas_thread(tile_infer *infer);

#endif
