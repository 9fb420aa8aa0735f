/* Compiles only if runtime/cuda's declarations of the driver agree with the toolkit's cuda.h. First
 * the rows are compared, in cuda.h's types, then the types of driver.h with those of cuda.h. */

/* Makes cuda.h declare all versions of its functions, each under its symbol in libcuda.so.1,
 * instead of macros that map a name to its newest version. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stddef.h>

/* C11 allows redefining a typedef only with the same type, so most types of driver.h are compared
 * by declaring them again. cuda.h's enums are ints in driver.h, so they get other names here. */
#define ENUMS(ENUM) \
    ENUM(CUresult) \
    ENUM(CUdevice_attribute) \
    ENUM(CUfunction_attribute) \
    ENUM(CUjit_option) \
    ENUM(CUjitInputType) \
    ENUM(CUstreamCaptureStatus) \
    ENUM(CUtensorMapDataType) \
    ENUM(CUtensorMapInterleave) \
    ENUM(CUtensorMapSwizzle) \
    ENUM(CUtensorMapL2promotion) \
    ENUM(CUtensorMapFloatOOBfill)
#define CUresult our_CUresult
#define CUdevice_attribute our_CUdevice_attribute
#define CUfunction_attribute our_CUfunction_attribute
#define CUjit_option our_CUjit_option
#define CUjitInputType our_CUjitInputType
#define CUstreamCaptureStatus our_CUstreamCaptureStatus
#define CUtensorMapDataType our_CUtensorMapDataType
#define CUtensorMapInterleave our_CUtensorMapInterleave
#define CUtensorMapSwizzle our_CUtensorMapSwizzle
#define CUtensorMapL2promotion our_CUtensorMapL2promotion
#define CUtensorMapFloatOOBfill our_CUtensorMapFloatOOBfill
/* Structs are compared member by member. */
#define CUlaunchConfig our_CUlaunchConfig
#define CUlaunchConfig_st our_CUlaunchConfig_st
#define CUlaunchAttribute our_CUlaunchAttribute
#define CUlaunchAttribute_st our_CUlaunchAttribute_st
#define CUtensorMap our_CUtensorMap
#define CUtensorMap_st our_CUtensorMap_st
#include "runtime/cuda/driver/driver.h"
#undef CUlaunchConfig
#undef CUlaunchConfig_st
#undef CUlaunchAttribute
#undef CUlaunchAttribute_st
#undef CUtensorMap
#undef CUtensorMap_st
#undef CUresult
#undef CUdevice_attribute
#undef CUfunction_attribute
#undef CUjit_option
#undef CUjitInputType
#undef CUstreamCaptureStatus
#undef CUtensorMapDataType
#undef CUtensorMapInterleave
#undef CUtensorMapSwizzle
#undef CUtensorMapL2promotion
#undef CUtensorMapFloatOOBfill

#define SAME(type, other) __builtin_types_compatible_p(type, other)

/* An enum is an int or an unsigned, depending on the compiler; both are passed in the same way. */
#define ENUM(type) \
    _Static_assert(sizeof(our_##type) == sizeof(type) && \
                       (SAME(our_##type, int) || SAME(our_##type, unsigned)), \
                   #type " has another size or kind in cuda.h");
ENUMS(ENUM)

#define PLACE(type, member) \
    _Static_assert(offsetof(our_##type, member) == offsetof(type, member) && \
                       sizeof(((our_##type *)0)->member) == sizeof(((type *)0)->member), \
                   #type "." #member " is elsewhere in cuda.h")
#define SIZE(type) \
    _Static_assert(sizeof(our_##type) == sizeof(type), #type " has another size in cuda.h")
PLACE(CUtensorMap, opaque);
SIZE(CUtensorMap);
PLACE(CUlaunchConfig, gridDimX);
PLACE(CUlaunchConfig, gridDimY);
PLACE(CUlaunchConfig, gridDimZ);
PLACE(CUlaunchConfig, blockDimX);
PLACE(CUlaunchConfig, blockDimY);
PLACE(CUlaunchConfig, blockDimZ);
PLACE(CUlaunchConfig, sharedMemBytes);
PLACE(CUlaunchConfig, hStream);
PLACE(CUlaunchConfig, attrs);
PLACE(CUlaunchConfig, numAttrs);
SIZE(CUlaunchConfig);
PLACE(CUlaunchAttribute, id);
PLACE(CUlaunchAttribute, value);
SIZE(CUlaunchAttribute);

#define NUMBER(name, value) \
    _Static_assert((long)name == (value), #name " is another number in cuda.h");
TILE_DRIVER_NUMBERS(NUMBER)

#define DRIVER(name, symbol, parameters) \
    _Static_assert(SAME(__typeof__(&symbol), CUresult(CUDAAPI *) parameters), \
                   #symbol " has other parameters in cuda.h");
#include "runtime/cuda/driver/driver.def"
