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

/* Builds any operation without regions. type: the result's, needed where the rule cannot tell (NULL
 * elsewhere). Returns op 0 after a diagnostic. */
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
/* if condition {} else {}: result_types are those of both regions' yields; each region must end
 * with a yield. */
TILE_API tile_op tile_build_if_else(tile_builder *builder, tile_value condition,
                                    const tile_type *const *result_types, unsigned result_count);

TILE_API void tile_op_set_flag(tile_function *function, tile_op op, tile_attr_id id);
TILE_API void tile_op_set_int(tile_function *function, tile_op op, tile_attr_id id, int64_t value);
TILE_API void tile_op_set_expr(tile_function *function, tile_op op, tile_attr_id id,
                               const tile_expr *expr);
TILE_API void tile_op_set_list(tile_function *function, tile_op op, tile_attr_id id,
                               const int64_t *values, unsigned count);
TILE_API void tile_value_set_name(tile_function *function, tile_value value, const char *name);

/* The typed builders ------------------------------------------------------------------------------
 * A value is one parameter, an element three (base, indices, how many), a list two. Rows whose rule
 * cannot tell the result's type take it last. They return the first result, or 0. */

#define TILE_ARG_value(name) , tile_value name
#define TILE_ARG_optional(name) , tile_value name
#define TILE_ARG_element(name) \
    , tile_value name, const tile_value *name##_index, unsigned name##_rank
#define TILE_ARG_list(name) , const tile_value *name, unsigned name##_count
#define TILE_ARG_optlist(name) , const tile_value *name, unsigned name##_count
#define TILE_ARG_variadic(name) , const tile_value *name, unsigned name##_count
#define TILE_SEGMENT_value(name) {name, NULL, 0},
#define TILE_SEGMENT_optional(name) {name, NULL, 0},
#define TILE_SEGMENT_element(name) {name, name##_index, name##_rank},
#define TILE_SEGMENT_list(name) {{0}, name, name##_count},
#define TILE_SEGMENT_optlist(name) {{0}, name, name##_count},
#define TILE_SEGMENT_variadic(name) {{0}, name, name##_count},

#define TILE_ARGS_0(none)
#define TILE_ARGS_1(f1, n1, c1) TILE_ARG_##f1(n1)
#define TILE_ARGS_2(f1, n1, c1, f2, n2, c2) TILE_ARG_##f1(n1) TILE_ARG_##f2(n2)
#define TILE_ARGS_3(f1, n1, c1, f2, n2, c2, f3, n3, c3) \
    TILE_ARG_##f1(n1) TILE_ARG_##f2(n2) TILE_ARG_##f3(n3)
#define TILE_SEGMENTS_0(none) {{0}, NULL, 0},
#define TILE_SEGMENTS_1(f1, n1, c1) TILE_SEGMENT_##f1(n1)
#define TILE_SEGMENTS_2(f1, n1, c1, f2, n2, c2) TILE_SEGMENT_##f1(n1) TILE_SEGMENT_##f2(n2)
#define TILE_SEGMENTS_3(f1, n1, c1, f2, n2, c2, f3, n3, c3) \
    TILE_SEGMENT_##f1(n1) TILE_SEGMENT_##f2(n2) TILE_SEGMENT_##f3(n3)
#define TILE_ARGS(count, ...) TILE_ARGS_##count(__VA_ARGS__)
#define TILE_SEGMENTS(count, ...) TILE_SEGMENTS_##count(__VA_ARGS__)
#define TILE_COUNT(count, ...) count

#define OPERANDS_0() (0, )
#define OPERANDS_1(...) (1, __VA_ARGS__)
#define OPERANDS_2(...) (2, __VA_ARGS__)
#define OPERANDS_3(...) (3, __VA_ARGS__)
#define OPERANDS_4(...) (4, __VA_ARGS__)

#define TILE_BUILD_INFERRED(name, operands) \
    static inline tile_value tile_build_##name(tile_builder *builder TILE_ARGS operands) { \
        const tile_segment segments[] = {TILE_SEGMENTS operands}; \
        return tile_build_op_value(builder, TILE_OP_##name, segments, TILE_COUNT operands, NULL); \
    }
#define TILE_BUILD_TYPED(name, operands) \
    static inline tile_value tile_build_##name(tile_builder *builder TILE_ARGS operands, \
                                               const tile_type *type) { \
        const tile_segment segments[] = {TILE_SEGMENTS operands}; \
        return tile_build_op_value(builder, TILE_OP_##name, segments, TILE_COUNT operands, type); \
    }

#define TILE_RULE_none TILE_BUILD_INFERRED
#define TILE_RULE_arith TILE_BUILD_INFERRED
#define TILE_RULE_compare TILE_BUILD_INFERRED
#define TILE_RULE_unary TILE_BUILD_INFERRED
#define TILE_RULE_fma TILE_BUILD_INFERRED
#define TILE_RULE_select TILE_BUILD_INFERRED
#define TILE_RULE_cast TILE_BUILD_TYPED
#define TILE_RULE_splat TILE_BUILD_TYPED
#define TILE_RULE_for(name, operands)
#define TILE_RULE_if(name, operands)
#define TILE_RULE_matmul TILE_BUILD_TYPED
#define TILE_RULE_transpose TILE_BUILD_INFERRED
#define TILE_RULE_index TILE_BUILD_INFERRED
#define TILE_RULE_index3 TILE_BUILD_INFERRED
#define TILE_RULE_view TILE_BUILD_TYPED
#define TILE_RULE_scratch TILE_BUILD_TYPED
#define TILE_RULE_given_shared TILE_BUILD_TYPED
#define TILE_RULE_load TILE_BUILD_TYPED
#define TILE_RULE_store TILE_BUILD_INFERRED
#define TILE_RULE_load_shared TILE_BUILD_TYPED
#define TILE_RULE_store_shared TILE_BUILD_INFERRED
#define TILE_RULE_copy TILE_BUILD_INFERRED
#define TILE_RULE_dot TILE_BUILD_INFERRED
#define TILE_RULE_convert_layout TILE_BUILD_TYPED
#define TILE_RULE_semaphore TILE_BUILD_INFERRED
#define TILE_RULE_extract TILE_BUILD_TYPED
#define TILE_RULE_concat TILE_BUILD_INFERRED
#define TILE_RULE_shuffle TILE_BUILD_TYPED
#define TILE_RULE_ld_global TILE_BUILD_TYPED
#define TILE_RULE_st_global TILE_BUILD_INFERRED
#define TILE_RULE_ld_shared TILE_BUILD_TYPED
#define TILE_RULE_st_shared TILE_BUILD_INFERRED
#define TILE_RULE_ldmatrix TILE_BUILD_TYPED
#define TILE_RULE_mma TILE_BUILD_INFERRED
#define TILE_RULE_cp_async TILE_BUILD_INFERRED
#define TILE_RULE_word TILE_BUILD_INFERRED

#define OP(number, name, levels, operands, attrs, rule, effects, meaning) \
    TILE_RULE_##rule(name, operands)
#include "tile/ops.def"
#undef OP
#undef OPERANDS_0
#undef OPERANDS_1
#undef OPERANDS_2
#undef OPERANDS_3
#undef OPERANDS_4

#ifdef __cplusplus
}
#endif

#endif
