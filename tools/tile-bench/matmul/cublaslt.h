/* cuBLASLt, loaded at run time: the peer that all products are compared with. */
#ifndef TILE_TOOLS_TILE_BENCH_MATMUL_CUBLASLT_H
#define TILE_TOOLS_TILE_BENCH_MATMUL_CUBLASLT_H

#include "tools/tile-bench/common/lab.h"
#include "tools/tile-bench/matmul/product.h"

typedef struct bench_cublas bench_cublas;

/* Loads the library at path. NULL: libcublasLt.so of CUDA 13 or 12, searched by the loader, then in
 * $CUDA_HOME/lib64 and /usr/local/cuda/lib64. NULL after a diagnostic. */
bench_cublas *bench_cublas_open(tile_context *context, const char *path);
void bench_cublas_close(bench_cublas *cublas);
/* "13.1.0" */
const char *bench_cublas_version(const bench_cublas *cublas);

/* The most algorithms that are requested. */
enum { BENCH_CUBLAS_ALGORITHMS = 64 };

/* Affects the products set afterwards: whether sums of 8-bit floats may use fast accumulation,
 * which is less exact. */
void bench_cublas_set_fast(bench_cublas *cublas, bool fast);

/* Sets up the product and queries algorithms. The memory must stay valid as long as the product is
 * launched. Returns the number of algorithms; 0 after a diagnostic. */
unsigned bench_cublas_set(bench_cublas *cublas, const bench_product *product, uint64_t a,
                          uint64_t b, uint64_t c, uint64_t workspace, size_t workspace_bytes);
/* Selects the algorithm to launch from now on. */
void bench_cublas_choose(bench_cublas *cublas, unsigned algorithm);
/* "algo 66, tile 20, stages 36, split 4" */
void bench_cublas_describe(const bench_cublas *cublas, unsigned algorithm, char *text, size_t size);
/* The launch function of a tile_work. */
tile_status bench_cublas_launch(void *stream, void *cublas);

#endif
