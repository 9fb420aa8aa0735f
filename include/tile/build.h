/* Building operations from C: one function per row of ops.def, named tile_build_<op>.
 *
 *     tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
 *     tile_value sum = tile_build_add(&b, x, y);
 *
 * A builder puts operations at one place of one function. Each call checks its operands; what is
 * wrong is reported at the builder's loc and gives the value 0, and an operand 0 gives 0 again
 * without a further report, so that one look at tile_context_error_count at the end is enough. */
#ifndef TILE_BUILD_H
#define TILE_BUILD_H

#include "tile/ir.h"
#include "tile/ops_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_builder {
    tile_function *function;
    tile_region region;
    tile_op before; /* insert before this one; 0: at the region's end */
    tile_loc loc;   /* given to what is built */
} tile_builder;

TILE_API tile_builder tile_builder_at_end(tile_function *function, tile_region region);
TILE_API tile_builder tile_builder_before(tile_function *function, tile_op op);

/* One operand as ops.def writes it: value and optional have a head, list and variadic a tail,
 * element both. */
typedef struct tile_segment {
    tile_value head;
    const tile_value *tail;
    unsigned tail_count;
} tile_segment;

/* Builds any operation without regions. type: the result's, of which the operands may tell a part
 * or all: NULL where they tell it (view, load_shared, extract of one element), a type of the
 * element type TILE_SCALAR_NONE where they tell that (load, splat), a scalar type where they tell
 * the extents (cast, matmul, scratch). Returns op 0 after a diagnostic. */
TILE_API tile_op tile_build_op(tile_builder *builder, tile_opcode opcode,
                               const tile_segment *segments, unsigned segment_count,
                               const tile_type *type);
TILE_API tile_value tile_build_op_value(tile_builder *builder, tile_opcode opcode,
                                        const tile_segment *segments, unsigned segment_count,
                                        const tile_type *type);

/* A constant of a scalar type. Constants are values without an operation. */
TILE_API tile_value tile_build_constant(tile_builder *builder, const tile_type *type,
                                        const tile_expr *expr);
TILE_API tile_value tile_build_int(tile_builder *builder, int64_t value);  /* i32 */
TILE_API tile_value tile_build_float(tile_builder *builder, double value); /* f32 */

/* for iv = begin to end step step iter (inits): returns the op; fill its region (whose values are
 * the induction variable, then the carried ones), end it with tile_build_yield. */
TILE_API tile_op tile_build_for_loop(tile_builder *builder, tile_value begin, tile_value end,
                                     tile_value step, const tile_value *inits, unsigned init_count);
TILE_API tile_value tile_region_arg(const tile_function *function, tile_region region,
                                    unsigned index);
/* roles {}: region i is run by groups[i] groups of warps[i] warps, whose threads are to have
 * registers[i] registers each; constants, i32. groups NULL: one each; registers NULL, or the
 * constant 0: as the launch says. A region's value is its group's number; end each with
 * tile_build_yield. */
TILE_API tile_op tile_build_role_regions(tile_builder *builder, const tile_value *warps,
                                         const tile_value *groups, const tile_value *registers,
                                         unsigned count);
/* while iter (inits) {} do {}: returns the op. The values of both regions are the carried ones; end
 * the first with a yield of the condition (an i1) and the values that the second one gets, or the
 * op's results if it does not hold; end the second with a yield of the next ones. */
TILE_API tile_op tile_build_while_loop(tile_builder *builder, const tile_value *inits,
                                       unsigned init_count);
/* if condition {} else {}: result_types are those of both regions' yields; each region must end
 * with a yield. */
TILE_API tile_op tile_build_if_else(tile_builder *builder, tile_value condition,
                                    const tile_type *const *result_types, unsigned result_count);

/* sync explicit {}: result_types are those of its region's yield. */
TILE_API tile_op tile_build_sync_explicit(tile_builder *builder,
                                          const tile_type *const *result_types,
                                          unsigned result_count);

/* parallel (..) in extents {}: constants, i32. The region's values are an element's coordinates;
 * its yield gives elements of the results, whose types these are: tiles of those extents. */
TILE_API tile_op tile_build_parallel(tile_builder *builder, const tile_value *extents,
                                     unsigned rank, const tile_type *const *result_types,
                                     unsigned result_count);

/* Plans: launch @callee<values>(arguments). Whether they fit the kernel, which may come into the
 * module later, is checked by tile_function_verify. */
TILE_API tile_op tile_build_launch(tile_builder *builder, const char *callee,
                                   const tile_param_value *values, unsigned value_count,
                                   const tile_value *arguments, unsigned argument_count);

TILE_API void tile_op_set_flag(tile_function *function, tile_op op, tile_attr_id id);
TILE_API void tile_op_set_int(tile_function *function, tile_op op, tile_attr_id id, int64_t value);
/* Of an attribute of kind word: a parameter of that kind, tile_expr_param. */
TILE_API void tile_op_set_expr(tile_function *function, tile_op op, tile_attr_id id,
                               const tile_expr *expr);
/* Kinds word, text and symbol, as the attribute's row says; a symbol without '@'. The text is
 * copied. */
TILE_API void tile_op_set_text(tile_function *function, tile_op op, tile_attr_id id,
                               const char *text);
/* Kind constant: a number of a scalar type. */
TILE_API void tile_op_set_constant(tile_function *function, tile_op op, tile_attr_id id,
                                   const tile_type *type, const tile_expr *expr);
/* Kind values: names and values are copied. */
TILE_API void tile_op_set_values(tile_function *function, tile_op op, tile_attr_id id,
                                 const tile_param_value *values, unsigned count);
TILE_API void tile_op_set_list(tile_function *function, tile_op op, tile_attr_id id,
                               const int64_t *values, unsigned count);
TILE_API void tile_value_set_name(tile_function *function, tile_value value, const char *name);

/* The typed builders ------------------------------------------------------------------------------
 * A value is one parameter, an element three (base, indices, how many), a list two. Rows whose
 * typing is `given` take the result's type last, or what tile_build_op needs of it. They return the
 * first result, or 0. */

#define TILE_ARG_none
#define TILE_ARG_value(name, class_) , tile_value name
#define TILE_ARG_optional(name, class_) , tile_value name
#define TILE_ARG_whole(name, class_, access) , tile_value name
#define TILE_ARG_element(name, class_, access) \
    , tile_value name, const tile_value *name##_index, unsigned name##_rank
#define TILE_ARG_part(name, class_, access) \
    , tile_value name, const tile_value *name##_index, unsigned name##_rank
#define TILE_ARG_address(name, class_, access) \
    , tile_value name, const tile_value *name##_index, unsigned name##_rank
#define TILE_ARG_optaddress(name, class_, access) \
    , tile_value name, const tile_value *name##_index, unsigned name##_rank
#define TILE_ARG_list(name, class_) , const tile_value *name, unsigned name##_count
#define TILE_ARG_optlist(name, class_) , const tile_value *name, unsigned name##_count
#define TILE_ARG_variadic(name, class_) , const tile_value *name, unsigned name##_count
#define TILE_SEGMENT_none
#define TILE_SEGMENT_value(name, class_) {name, NULL, 0},
#define TILE_SEGMENT_optional(name, class_) {name, NULL, 0},
#define TILE_SEGMENT_whole(name, class_, access) {name, NULL, 0},
#define TILE_SEGMENT_element(name, class_, access) {name, name##_index, name##_rank},
#define TILE_SEGMENT_part(name, class_, access) {name, name##_index, name##_rank},
#define TILE_SEGMENT_address(name, class_, access) {name, name##_index, name##_rank},
#define TILE_SEGMENT_optaddress(name, class_, access) {name, name##_index, name##_rank},
#define TILE_SEGMENT_list(name, class_) {{0}, name, name##_count},
#define TILE_SEGMENT_optlist(name, class_) {{0}, name, name##_count},
#define TILE_SEGMENT_variadic(name, class_) {{0}, name, name##_count},

/* The last segment only keeps the array from being empty. */
#define TILE_BUILD_BODY(name, operands, type) \
    { \
        const tile_segment segments[] = {TILE_EACH(TILE_SEGMENT_, operands){{0}, NULL, 0}}; \
        return tile_build_op_value(builder, TILE_OP_##name, segments, \
                                   (unsigned)(sizeof segments / sizeof *segments) - 1, type); \
    }
#define TILE_BUILD_inferred(name, operands) \
    static inline tile_value tile_build_##name(tile_builder *builder TILE_EACH( \
        TILE_ARG_, operands)) TILE_BUILD_BODY(name, operands, NULL)
#define TILE_BUILD_given(name, operands) \
    static inline tile_value tile_build_##name( \
        tile_builder *builder TILE_EACH(TILE_ARG_, operands), const tile_type *type) \
        TILE_BUILD_BODY(name, operands, type)
/* Operations with regions, and launches, have builders of their own, above. */
#define TILE_BUILD_loop(name, operands)
#define TILE_BUILD_while_loop(name, operands)
#define TILE_BUILD_body(name, operands)
#define TILE_BUILD_elements(name, operands)
#define TILE_BUILD_launch(name, operands)
#define TILE_BUILD_branch(name, operands)

#define OP(number, name, levels, operands, attributes, typing, ...) \
    TILE_BUILD_##typing(name, operands)
#include "tile/ops.def"

/* What only the rows needed does not stay with who includes this. */
#undef TILE_ARG_address
#undef TILE_ARG_element
#undef TILE_ARG_list
#undef TILE_ARG_none
#undef TILE_ARG_optaddress
#undef TILE_ARG_optional
#undef TILE_ARG_optlist
#undef TILE_ARG_value
#undef TILE_ARG_variadic
#undef TILE_ARG_whole
#undef TILE_BUILD_BODY
#undef TILE_BUILD_body
#undef TILE_BUILD_branch
#undef TILE_BUILD_elements
#undef TILE_BUILD_given
#undef TILE_BUILD_inferred
#undef TILE_BUILD_launch
#undef TILE_BUILD_loop
#undef TILE_BUILD_while_loop
#undef TILE_SEGMENT_address
#undef TILE_SEGMENT_element
#undef TILE_SEGMENT_list
#undef TILE_SEGMENT_none
#undef TILE_SEGMENT_optaddress
#undef TILE_SEGMENT_optional
#undef TILE_SEGMENT_optlist
#undef TILE_SEGMENT_value
#undef TILE_SEGMENT_variadic
#undef TILE_SEGMENT_whole

#ifdef __cplusplus
}
#endif

#endif
