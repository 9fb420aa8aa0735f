/* Compiles only if tile-bench's declarations of cuBLASLt agree with cublasLt.h. */
#include <cublasLt.h>
#include <stddef.h>

#include "tools/tile-bench/matmul/cublaslt_abi.h"

#define NUMBER(name, value) _Static_assert((int)name == value, #name " has another number");
CUBLAS_NUMBERS(NUMBER)
#undef NUMBER

#define PLACE(member) \
    _Static_assert(offsetof(cublas_heuristic, member) == \
                           offsetof(cublasLtMatmulHeuristicResult_t, member) && \
                       sizeof(((cublas_heuristic *)0)->member) == \
                           sizeof(((cublasLtMatmulHeuristicResult_t *)0)->member), \
                   #member " is elsewhere in cublasLt.h");
PLACE(algo)
PLACE(workspaceSize)
PLACE(state)
PLACE(wavesCount)
PLACE(reserved)
_Static_assert(sizeof(cublas_heuristic) == sizeof(cublasLtMatmulHeuristicResult_t), "its size");

/* By name, cuBLAS's types for each type: operands, result, compute type, alpha and beta. */
#define WANT_f16 CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F
#define WANT_bf16 CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F
#define WANT_tf32 CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F
#define WANT_f32 CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F
#define WANT_f32_tf32 WANT_tf32
#define WANT_f64 CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F
#define WANT_i8 CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I
#define WANT_e4m3 CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F
#define SAME(w, x, y, z, a, c, compute, scale) \
    ((int)(w) == (a) && (int)(x) == (c) && (int)(y) == (compute) && (int)(z) == (scale))
#define COMPARE(...) SAME(__VA_ARGS__)
#define TYPE(name, operand, result, precision, a, c, compute, scale, ...) \
    _Static_assert(COMPARE(WANT_##name, a, c, compute, scale), #name " is another type");
#include "tools/tile-bench/matmul/types.def"
#undef TYPE

/* The functions, except for pointers to types that are opaque here. */
#define CUBLAS(name, parameters) _Static_assert(sizeof(&cublasLt##name) == sizeof(void *), #name);
#include "tools/tile-bench/matmul/cublaslt.def"
#undef CUBLAS
