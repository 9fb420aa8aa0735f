/* The CUDA driver, opened on first use. The declarations are our own, so no toolkit is needed to
 * build. Types have the driver's layout and, except for the prefix of their tags, the names of
 * cuda.h. */
#ifndef TILE_RUNTIME_CUDA_DRIVER_DRIVER_H
#define TILE_RUNTIME_CUDA_DRIVER_DRIVER_H

#include "tile/base.h"

typedef int CUresult; /* 0: success */
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUlinkState_st *CUlinkState;
typedef int CUdevice_attribute;
typedef int CUfunction_attribute;
typedef int CUjit_option;
typedef int CUjitInputType;
typedef int CUstreamCaptureStatus;
typedef int CUtensorMapDataType;
typedef int CUtensorMapInterleave;
typedef int CUtensorMapSwizzle;
typedef int CUtensorMapL2promotion;
typedef int CUtensorMapFloatOOBfill;
typedef struct CUtensorMap_st {
    _Alignas(64) uint64_t opaque[16];
} CUtensorMap;

/* A launch attribute. The ids below have an integer value. */
typedef struct CUlaunchAttribute_st {
    int id;
    char pad[8 - sizeof(int)];
    union {
        int number;
        char pad[64];
    } value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig_st {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

/* Constants of cuda.h. */
#define TILE_DRIVER_NUMBERS(NUMBER) \
    NUMBER(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13) \
    NUMBER(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16) \
    NUMBER(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36) \
    NUMBER(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37) \
    NUMBER(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38) \
    NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
    NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
    NUMBER(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0) \
    NUMBER(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1) \
    NUMBER(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3) \
    NUMBER(CU_FUNC_ATTRIBUTE_NUM_REGS, 4) \
    NUMBER(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8) \
    NUMBER(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14) \
    NUMBER(CU_JIT_ERROR_LOG_BUFFER, 5) \
    NUMBER(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6) \
    NUMBER(CU_JIT_TARGET, 9) \
    NUMBER(CU_JIT_INPUT_PTX, 1) \
    NUMBER(CU_COMPUTE_ACCELERATED_TARGET_BASE, 0x10000) \
    NUMBER(CU_COMPUTE_FAMILY_TARGET_BASE, 0x20000) \
    NUMBER(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2) \
    NUMBER(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6) \
    NUMBER(CU_STREAM_CAPTURE_STATUS_NONE, 0) \
    NUMBER(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_UINT8, 0) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_UINT16, 1) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_UINT32, 2) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_INT32, 3) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_UINT64, 4) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_INT64, 5) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 6) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 7) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8) \
    NUMBER(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 9) \
    NUMBER(CU_TENSOR_MAP_INTERLEAVE_NONE, 0) \
    NUMBER(CU_TENSOR_MAP_SWIZZLE_NONE, 0) \
    NUMBER(CU_TENSOR_MAP_SWIZZLE_32B, 1) \
    NUMBER(CU_TENSOR_MAP_SWIZZLE_64B, 2) \
    NUMBER(CU_TENSOR_MAP_SWIZZLE_128B, 3) \
    NUMBER(CU_TENSOR_MAP_L2_PROMOTION_L2_128B, 2) \
    NUMBER(CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 3) \
    NUMBER(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0) \
    TILE_DRIVER_FAULTS(NUMBER)

/* Results that a kernel causes by its behavior at run time. */
#define TILE_DRIVER_FAULTS(NUMBER) \
    NUMBER(CUDA_ERROR_ILLEGAL_ADDRESS, 700) \
    NUMBER(CUDA_ERROR_LAUNCH_TIMEOUT, 702) \
    NUMBER(CUDA_ERROR_ASSERT, 710) \
    NUMBER(CUDA_ERROR_HARDWARE_STACK_ERROR, 714) \
    NUMBER(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715) \
    NUMBER(CUDA_ERROR_MISALIGNED_ADDRESS, 716) \
    NUMBER(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717) \
    NUMBER(CUDA_ERROR_INVALID_PC, 718) \
    NUMBER(CUDA_ERROR_LAUNCH_FAILED, 719)

enum {
#define NUMBER(name, value) TILE_##name = value,
    TILE_DRIVER_NUMBERS(NUMBER)
#undef NUMBER
};

typedef struct tile_driver {
#define DRIVER(name, symbol, parameters) CUresult(*name) parameters;
#include "runtime/cuda/driver/driver.def"
#undef DRIVER
} tile_driver;

/* The driver's functions, the same for the whole process. NULL, after a diagnostic
 * (TILE_UNAVAILABLE), if there is no driver or it does not start. Any thread may call it. */
const tile_driver *tile_driver_open(tile_context *context);

/* Converts a result to a status: TILE_OK, TILE_FAULT for TILE_DRIVER_FAULTS, or TILE_FAILED. Errors
 * are reported as "<what>: <name> (<number>): <the driver's text>". */
tile_status tile_driver_check(tile_context *context, const tile_driver *driver, CUresult result,
                              const char *what);

#endif
