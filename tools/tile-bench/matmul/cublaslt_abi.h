/* Numbers and structs of cublasLt.h, declared here so that no toolkit is needed to build. */
#ifndef TILE_TOOLS_TILE_BENCH_MATMUL_CUBLASLT_ABI_H
#define TILE_TOOLS_TILE_BENCH_MATMUL_CUBLASLT_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct cublas_algorithm {
    uint64_t data[8];
} cublas_algorithm;

typedef struct cublas_heuristic {
    cublas_algorithm algo;
    size_t workspaceSize;
    int state;
    float wavesCount;
    int reserved[4];
} cublas_heuristic;

#define CUBLAS_NUMBERS(NUMBER) \
    NUMBER(CUBLASLT_MATMUL_DESC_TRANSA, 3) \
    NUMBER(CUBLASLT_MATMUL_DESC_TRANSB, 4) \
    NUMBER(CUBLASLT_MATMUL_DESC_FAST_ACCUM, 25) \
    NUMBER(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1) \
    NUMBER(CUBLASLT_ALGO_CONFIG_ID, 0) \
    NUMBER(CUBLASLT_ALGO_CONFIG_TILE_ID, 1) \
    NUMBER(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2) \
    NUMBER(CUBLASLT_ALGO_CONFIG_STAGES_ID, 6) \
    NUMBER(CUBLAS_OP_N, 0) \
    NUMBER(CUBLAS_OP_T, 1) \
    NUMBER(CUDA_R_32F, 0) \
    NUMBER(CUDA_R_64F, 1) \
    NUMBER(CUDA_R_32I, 10)

enum {
#define NUMBER(name, value) BENCH_##name = value,
    CUBLAS_NUMBERS(NUMBER)
#undef NUMBER
};

#endif
