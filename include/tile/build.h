/* Building operations from C: one function per row of ops.def, named tile_build_<op>.
 *
 *     tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
 *     tile_value sum = tile_build_add(&b, x, y);
 *
 * A builder inserts operations at one position of one function. Each call checks its operands. It
 * reports an error at the builder's loc and returns the value 0. A call with an operand 0 returns 0
 * without another report, so it is enough to check tile_context_error_count once at the end. */
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
    tile_op before; /* insert before this operation; 0: at the end of the region */
    tile_loc loc;   /* source position of the built operations */
} tile_builder;

TILE_API tile_builder tile_builder_at_end(tile_function *function, tile_region region);
TILE_API tile_builder tile_builder_before(tile_function *function, tile_op op);

/* One operand, in the form that ops.def gives it: forms `value` and `optional` use head, `list` and
 * `variadic` use tail, and `element` uses both. */
typedef struct tile_segment {
    tile_value head;
    const tile_value *tail;
    unsigned tail_count;
} tile_segment;

/* Builds any operation without regions. type is the type of the result. Pass only what the operands
 * do not determine: NULL if they determine the whole type (view, load_shared, extract of one
 * element); a type whose element type is TILE_SCALAR_NONE if they determine the element type (load,
 * splat); a scalar type if they determine the extents (cast, matmul, scratch). Returns op 0 after a
 * diagnostic. */
TILE_API tile_op tile_build_op(tile_builder *builder, tile_opcode opcode,
                               const tile_segment *segments, unsigned segment_count,
                               const tile_type *type);
TILE_API tile_value tile_build_op_value(tile_builder *builder, tile_opcode opcode,
                                        const tile_segment *segments, unsigned segment_count,
                                        const tile_type *type);

/* A constant of a scalar type. A constant has no defining operation. */
TILE_API tile_value tile_build_constant(tile_builder *builder, const tile_type *type,
                                        const tile_expr *expr);
TILE_API tile_value tile_build_int(tile_builder *builder, int64_t value);  /* i32 */
TILE_API tile_value tile_build_float(tile_builder *builder, double value); /* f32 */

/* for iv = begin to end step step iter (inits). Returns the operation. Build the body in its
 * region, whose arguments are the induction variable and then the loop-carried values, and end it
 * with tile_build_yield. */
TILE_API tile_op tile_build_for_loop(tile_builder *builder, tile_value begin, tile_value end,
                                     tile_value step, const tile_value *inits, unsigned init_count);
TILE_API tile_value tile_region_arg(const tile_function *function, tile_region region,
                                    unsigned index);
/* roles {}: region i is executed by groups[i] groups of warps[i] warps, and each of their threads
 * gets registers[i] registers. All are i32 constants. If groups is NULL, each region has one group.
 * If registers is NULL or the constant 0, threads keep the register count of the launch. The
 * argument of a region is the number of its group. End each region with tile_build_yield. */
TILE_API tile_op tile_build_role_regions(tile_builder *builder, const tile_value *warps,
                                         const tile_value *groups, const tile_value *registers,
                                         unsigned count);
/* while iter (inits) {} do {}: returns the operation. The arguments of both regions are the
 * loop-carried values. End the first region with a yield of the condition (an i1) and of the values
 * passed to the second region, which become the results of the operation if the condition is false.
 * End the second region with a yield of the next values. */
TILE_API tile_op tile_build_while_loop(tile_builder *builder, const tile_value *inits,
                                       unsigned init_count);
/* if condition {} else {}: result_types are the types that both regions yield. Each region must end
 * with a yield. */
TILE_API tile_op tile_build_if_else(tile_builder *builder, tile_value condition,
                                    const tile_type *const *result_types, unsigned result_count);

/* sync explicit {}: result_types are the types that its region yields. */
TILE_API tile_op tile_build_sync_explicit(tile_builder *builder,
                                          const tile_type *const *result_types,
                                          unsigned result_count);

/* parallel (..) in extents {}: extents are i32 constants. The arguments of the region are the
 * coordinates of an element. Its yield gives one element of each result. result_types are the types
 * of the results, which are tiles of these extents. */
TILE_API tile_op tile_build_parallel(tile_builder *builder, const tile_value *extents,
                                     unsigned rank, const tile_type *const *result_types,
                                     unsigned result_count);

/* Plans: launch @callee<values>(arguments). tile_function_verify checks whether they match the
 * kernel, which may be added to the module later. */
TILE_API tile_op tile_build_launch(tile_builder *builder, const char *callee,
                                   const tile_param_value *values, unsigned value_count,
                                   const tile_value *arguments, unsigned argument_count);

/* Gives a plan the tuning points of the kernels that it launches without values for their tuned
 * parameters, as parameters of its own, which the launches pass. If it has points then, it also
 * gets the kernels' conditions. Functions that instantiate a plan or list its points do this first,
 * on a copy if they do not change the module. It has no effect the second time, on plans that the
 * pass `schedule` made, and on other functions. Returns TILE_INVALID after a diagnostic. */
TILE_API tile_status tile_plan_take_points(tile_function *plan);

/* Calls of a func: %r, .. = callee<values>(arguments). The module must have the func, with its
 * parameters, arguments and results declared; its body may be built later. Parameters that the
 * argument types determine need no value. Each argument is a scalar, tensor, tile or vector, and
 * each result has the common shape of the arguments. Returns the operation. */
TILE_API tile_op tile_build_call(tile_builder *builder, const char *callee,
                                 const tile_param_value *values, unsigned value_count,
                                 const tile_value *arguments, unsigned argument_count);

TILE_API void tile_op_set_flag(tile_function *function, tile_op op, tile_attr_id id);
TILE_API void tile_op_set_int(tile_function *function, tile_op op, tile_attr_id id, int64_t value);
/* Attributes of kind word may be set to a parameter of that kind, made by tile_expr_param. */
TILE_API void tile_op_set_expr(tile_function *function, tile_op op, tile_attr_id id,
                               const tile_expr *expr);
/* Attributes of kind word, text or symbol, according to the attribute's row; a symbol without '@'.
 * The text is copied. */
TILE_API void tile_op_set_text(tile_function *function, tile_op op, tile_attr_id id,
                               const char *text);
/* Attributes of kind constant: a number of a scalar type. */
TILE_API void tile_op_set_constant(tile_function *function, tile_op op, tile_attr_id id,
                                   const tile_type *type, const tile_expr *expr);
/* Attributes of kind values: names and values are copied. */
TILE_API void tile_op_set_values(tile_function *function, tile_op op, tile_attr_id id,
                                 const tile_param_value *values, unsigned count);
TILE_API void tile_op_set_list(tile_function *function, tile_op op, tile_attr_id id,
                               const int64_t *values, unsigned count);
TILE_API void tile_value_set_name(tile_function *function, tile_value value, const char *name);

/* The typed builders ------------------------------------------------------------------------------
 * A `value` operand is one parameter, an `element` three (base, indices, number of indices), a
 * `list` two. Operations whose typing is `given` take the type of the result last, or the part of
 * it that tile_build_op needs. All return the first result, or 0. */

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

/* The last segment only makes sure that the array is not empty. */
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
/* Operations with regions, launches and calls have builders of their own, above. */
#define TILE_BUILD_loop(name, operands)
#define TILE_BUILD_while_loop(name, operands)
#define TILE_BUILD_body(name, operands)
#define TILE_BUILD_elements(name, operands)
#define TILE_BUILD_launch(name, operands)
#define TILE_BUILD_call(name, operands)
#define TILE_BUILD_branch(name, operands)

#define OP(number, name, levels, operands, attributes, typing, ...) \
    TILE_BUILD_##typing(name, operands)
#include "tile/ops.def"

/* Undefine the macros that only the rows needed. */
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
#undef TILE_BUILD_call
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
