/* Strides of a compute's tensors: where the elements of an argument or a result are in memory.
 *
 *     compute @f<n: dim, k: dim>(%w: tensor<f16[n, k], strides [1, n]>) -> ..
 *
 * Strides do not change what a compute computes, only how the caller stores its arrays. The value
 * in the body is a tensor without strides. A tensor without declared strides is row-major.
 *
 * Threads: as for the context. */
#ifndef TILE_STRIDES_H
#define TILE_STRIDES_H

#include "tile/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Declares the strides of a tensor: one expression over parameters for each dim, in elements. NULL:
 * row-major. An argument with stride 0 repeats its elements along that dim; the elements of a
 * result must be at different places. Does nothing if there is no such tensor.
 * tile_function_verify reports invalid strides. */
TILE_API void tile_function_set_arg_strides(tile_function *function, unsigned arg,
                                            const tile_expr *const *strides);
TILE_API void tile_function_set_result_strides(tile_function *function, unsigned result,
                                               const tile_expr *const *strides);
/* Stride of dim d, in elements, computed if the tensor is row-major. NULL if there is no such
 * tensor or dim. */
TILE_API const tile_expr *tile_function_result_stride(const tile_function *function,
                                                      unsigned result, unsigned d);

#ifdef __cplusplus
}
#endif

#endif
