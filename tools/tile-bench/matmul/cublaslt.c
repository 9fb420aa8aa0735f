/* cuBLASLt, loaded with dlopen. The declarations are our own, so building needs no toolkit.
 *
 * cuBLAS is column-major: our row-major c = a x b is its c' = b' x a', where each array is the same
 * memory read by columns. So its first operand is our b, and its m is our n. */
#include "tools/tile-bench/matmul/cublaslt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/matmul/cublaslt_abi.h"

static const tile_loc no_location = {0, 0, 0};

typedef union number {
    float f32;
    double f64;
    int32_t i32;
} number;

struct bench_cublas {
    tile_context *context;
    void *library, *handle;
    char version[24];
#define CUBLAS(name, parameters) int(*name) parameters;
#include "tools/tile-bench/matmul/cublaslt.def"
#undef CUBLAS
    const char *(*status_string)(int status);
    /* The product. */
    void *description, *layouts[3]; /* of our b, a and c */
    number alpha, beta;
    uint64_t a, b, c, workspace;
    size_t workspace_bytes;
    cublas_heuristic found[BENCH_CUBLAS_ALGORITHMS];
    unsigned chosen;
    bool fast;
};

/* Opening ------------------------------------------------------------------------------------- */

/* ISO C has no conversion from void * to a function pointer; POSIX guarantees that the bytes are
 * the same. */
static bool resolve(void *library, const char *symbol, void *function) {
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void *open_library(const char *path) {
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
    const char *home = getenv("CUDA_HOME");
    const char *folders[] = {"", home ? home : "", "/usr/local/cuda"};
    if (path) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t f = 0; f < 3; f++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char file[512];
            snprintf(file, sizeof file, "%s%s%s", folders[f], *folders[f] ? "/lib64/" : "",
                     names[i]);
            void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
            if (library) return library;
        }
    return NULL;
}

static bool check(const bench_cublas *c, int status, const char *what) {
    if (status == 0) return true;
    tile_report(c->context, TILE_ERROR, no_location, "cublasLt%s: %s (%d)", what,
                c->status_string ? c->status_string(status) : "it fails", status);
    return false;
}

static void read_version(bench_cublas *c) {
    size_t (*version)(void);
    if (!resolve(c->library, "cublasLtGetVersion", &version)) return;
    unsigned v = (unsigned)version();
    snprintf(c->version, sizeof c->version, "%u.%u.%u", v / 10000, v / 100 % 100, v % 100);
}

bench_cublas *bench_cublas_open(tile_context *context, const char *path) {
    bench_cublas *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->context = context;
    c->library = open_library(path);
    bool whole = c->library != NULL;
#define CUBLAS(name, parameters) whole = whole && resolve(c->library, "cublasLt" #name, &c->name);
#include "tools/tile-bench/matmul/cublaslt.def"
#undef CUBLAS
    if (!whole)
        tile_report(context, TILE_ERROR, no_location, "there is no cuBLASLt: %s",
                    c->library ? "functions are missing in it" : dlerror());
    if (whole) resolve(c->library, "cublasLtGetStatusString", &c->status_string);
    if (whole) read_version(c);
    if (whole && check(c, c->Create(&c->handle), "Create")) return c;
    bench_cublas_close(c);
    return NULL;
}

static void forget_product(bench_cublas *c) {
    for (int i = 0; i < 3; i++)
        if (c->layouts[i]) c->MatrixLayoutDestroy(c->layouts[i]);
    if (c->description) c->MatmulDescDestroy(c->description);
    c->description = NULL;
    memset(c->layouts, 0, sizeof c->layouts);
}

void bench_cublas_close(bench_cublas *cublas) {
    if (!cublas) return;
    forget_product(cublas);
    if (cublas->handle) cublas->Destroy(cublas->handle);
    free(cublas); /* the library stays loaded: it does not support unloading */
}

const char *bench_cublas_version(const bench_cublas *cublas) {
    return cublas->version;
}

/* A product ----------------------------------------------------------------------------------- */

/* Describes one of our arrays, of this many rows and columns, as a column-major matrix. */
static bool describe_array(bench_cublas *c, int which, int type, int64_t rows, int64_t columns) {
    return check(
        c,
        c->MatrixLayoutCreate(&c->layouts[which], type, (uint64_t)columns, (uint64_t)rows, columns),
        "MatrixLayoutCreate");
}

static bool describe_product(bench_cublas *c, const bench_product *p) {
    const bench_type *t = p->type;
    int trans_first = p->transposed_b ? BENCH_CUBLAS_OP_T : BENCH_CUBLAS_OP_N;
    int trans_second = p->transposed_a ? BENCH_CUBLAS_OP_T : BENCH_CUBLAS_OP_N;
    return check(c, c->MatmulDescCreate(&c->description, t->cublas_compute, t->cublas_scale),
                 "MatmulDescCreate") &&
           check(c,
                 c->MatmulDescSetAttribute(c->description, BENCH_CUBLASLT_MATMUL_DESC_TRANSA,
                                           &trans_first, sizeof trans_first),
                 "MatmulDescSetAttribute") &&
           check(c,
                 c->MatmulDescSetAttribute(c->description, BENCH_CUBLASLT_MATMUL_DESC_TRANSB,
                                           &trans_second, sizeof trans_second),
                 "MatmulDescSetAttribute") &&
           describe_array(c, 0, t->cublas_operand, p->transposed_b ? p->n : p->k,
                          p->transposed_b ? p->k : p->n) &&
           describe_array(c, 1, t->cublas_operand, p->transposed_a ? p->k : p->m,
                          p->transposed_a ? p->m : p->k) &&
           describe_array(c, 2, t->cublas_result, p->m, p->n);
}

/* Fast accumulation keeps sums of 8-bit floats in the tensor cores, with about 14 bits. */
static bool describe_sums(bench_cublas *c, const bench_type *type) {
    int8_t fast = 1;
    if (!c->fast) return true;
    if (tile_scalar_is_floating(type->operand) && tile_scalar_bits(type->operand) == 8)
        return check(c,
                     c->MatmulDescSetAttribute(
                         c->description, BENCH_CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast),
                     "MatmulDescSetAttribute");
    tile_report(c->context, TILE_ERROR, no_location, "fast accumulation is for 8-bit floats");
    return false;
}

static void set_factors(bench_cublas *c, const bench_type *type) {
    memset(&c->alpha, 0, sizeof c->alpha);
    memset(&c->beta, 0, sizeof c->beta);
    if (type->cublas_scale == BENCH_CUDA_R_64F)
        c->alpha.f64 = 1;
    else if (type->cublas_scale == BENCH_CUDA_R_32I)
        c->alpha.i32 = 1;
    else
        c->alpha.f32 = 1;
}

static unsigned find_algorithms(bench_cublas *c) {
    void *preference = NULL;
    int count = 0;
    bool ok = check(c, c->MatmulPreferenceCreate(&preference), "MatmulPreferenceCreate") &&
              check(c,
                    c->MatmulPreferenceSetAttribute(preference,
                                                    BENCH_CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                    &c->workspace_bytes, sizeof c->workspace_bytes),
                    "MatmulPreferenceSetAttribute") &&
              check(c,
                    c->MatmulAlgoGetHeuristic(
                        c->handle, c->description, c->layouts[0], c->layouts[1], c->layouts[2],
                        c->layouts[2], preference, BENCH_CUBLAS_ALGORITHMS, c->found, &count),
                    "MatmulAlgoGetHeuristic");
    if (preference) c->MatmulPreferenceDestroy(preference);
    unsigned usable = 0;
    for (int i = 0; ok && i < count; i++)
        if (c->found[i].state == 0) c->found[usable++] = c->found[i];
    if (ok && !usable)
        tile_report(
            c->context, TILE_ERROR, no_location,
            "cuBLASLt has no algorithm for it (8-bit floats it multiplies as NT only, which "
            "it calls TN)");
    return usable;
}

unsigned bench_cublas_set(bench_cublas *c, const bench_product *product, uint64_t a, uint64_t b,
                          uint64_t result, uint64_t workspace, size_t workspace_bytes) {
    forget_product(c);
    c->a = a;
    c->b = b;
    c->c = result;
    c->workspace = workspace;
    c->workspace_bytes = workspace_bytes;
    c->chosen = 0;
    set_factors(c, product->type);
    bool ok = describe_product(c, product) && describe_sums(c, product->type);
    return ok ? find_algorithms(c) : 0;
}

void bench_cublas_set_fast(bench_cublas *cublas, bool fast) {
    cublas->fast = fast;
}

void bench_cublas_choose(bench_cublas *cublas, unsigned algorithm) {
    cublas->chosen = algorithm;
}

static int config(const bench_cublas *c, unsigned algorithm, int attribute) {
    int value = -1;
    size_t written;
    c->MatmulAlgoConfigGetAttribute(&c->found[algorithm].algo, attribute, &value, sizeof value,
                                    &written);
    return value;
}

void bench_cublas_describe(const bench_cublas *c, unsigned algorithm, char *text, size_t size) {
    snprintf(text, size, "algo %d, tile %d, stages %d, split %d",
             config(c, algorithm, BENCH_CUBLASLT_ALGO_CONFIG_ID),
             config(c, algorithm, BENCH_CUBLASLT_ALGO_CONFIG_TILE_ID),
             config(c, algorithm, BENCH_CUBLASLT_ALGO_CONFIG_STAGES_ID),
             config(c, algorithm, BENCH_CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

static void *pointer(uint64_t address) {
    return (void *)(uintptr_t)address;
}

tile_status bench_cublas_launch(void *stream, void *cublas) {
    bench_cublas *c = cublas;
    int status = c->Matmul(c->handle, c->description, &c->alpha, pointer(c->b), c->layouts[0],
                           pointer(c->a), c->layouts[1], &c->beta, pointer(c->c), c->layouts[2],
                           pointer(c->c), c->layouts[2], &c->found[c->chosen].algo,
                           pointer(c->workspace), c->workspace_bytes, stream);
    return check(c, status, "Matmul") ? TILE_OK : TILE_FAILED;
}
