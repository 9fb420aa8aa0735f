/* Tensor maps, encoded by the driver on the host, without the GPU. */
#include <string.h>

#include "runtime/cuda/device.h"
#include "runtime/device/map.h"

static int data_type(tile_scalar scalar) {
    switch (scalar) {
    case TILE_i16:
    case TILE_u16: return TILE_CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case TILE_i32: return TILE_CU_TENSOR_MAP_DATA_TYPE_INT32;
    case TILE_i64: return TILE_CU_TENSOR_MAP_DATA_TYPE_INT64;
    case TILE_u32: return TILE_CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case TILE_u64: return TILE_CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case TILE_f16: return TILE_CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case TILE_bf16: return TILE_CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case TILE_f32:
    case TILE_tf32: return TILE_CU_TENSOR_MAP_DATA_TYPE_FLOAT32; /* the bits do not change */
    case TILE_f64: return TILE_CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case TILE_i1:
    case TILE_i8:
    case TILE_u8:
    case TILE_e4m3:
    case TILE_e5m2:
    case TILE_barrier:
    case TILE_SCALAR_NONE:
    case TILE_SCALAR_COUNT: break;
    }
    return TILE_CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

static int swizzle_of(unsigned bytes) {
    return bytes == 128  ? TILE_CU_TENSOR_MAP_SWIZZLE_128B
           : bytes == 64 ? TILE_CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 32 ? TILE_CU_TENSOR_MAP_SWIZZLE_32B
                         : TILE_CU_TENSOR_MAP_SWIZZLE_NONE;
}

/* The size of an L2 fetch. A box row that crosses a line needs two lines, and with promotion to
 * pairs of lines four, which becomes a bottleneck. Without promotion 3000^3 takes 4 % less time in
 * clusters of two blocks and 12 % less without clusters, 1000^3 6 %. A box row of bytes is a whole
 * line, and if bytes are row-major, the other line of the pair is another block's: 64 x 14336 x
 * 8192 takes 3 % less time without pairs, and products of K-major bytes the same. */
static int promotion_of(const tile_tensor_map *array) {
    enum { LINE = 128 };
    bool whole = array->address % LINE == 0 && tile_scalar_bytes(array->scalar) > 1;
    for (unsigned d = 0; d + 1 < array->rank; d++) whole &= array->strides[d] % LINE == 0;
    return whole ? TILE_CU_TENSOR_MAP_L2_PROMOTION_L2_256B
                 : TILE_CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
}

CUresult tile_driver_encode(const tile_driver *driver, const tile_tensor_map *array,
                            unsigned char *encoded) {
    uint64_t extents[TILE_MAX_MAP_RANK], strides[TILE_MAX_MAP_RANK];
    uint32_t box[TILE_MAX_MAP_RANK], steps[TILE_MAX_MAP_RANK];
    unsigned rank = array->rank;
    for (unsigned d = 0; d < rank; d++) { /* the driver's first dim is the innermost */
        unsigned from = rank - 1 - d;
        extents[d] = (uint64_t)array->extents[from];
        if (d) strides[d - 1] = (uint64_t)array->strides[from];
        box[d] = array->box[from];
        steps[d] = 1;
    }
    if (rank == 1) strides[0] = 0; /* not read */
    if (array->spatial) {
        int lower[TILE_MAX_MAP_RANK], upper[TILE_MAX_MAP_RANK];
        for (unsigned i = 0; i < array->spatial; i++) {
            unsigned from = array->spatial - 1 - i;
            lower[i] = array->lower_corner[from];
            upper[i] = array->upper_corner[from];
            steps[1 + i] = array->element_strides[from];
        }
        return driver->cuTensorMapEncodeIm2col(
            (CUtensorMap *)encoded, data_type(array->scalar), rank,
            (void *)(uintptr_t)array->address, extents, strides, lower, upper, box[0], box[1],
            steps, TILE_CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(array->swizzle),
            promotion_of(array), TILE_CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    }
    return driver->cuTensorMapEncodeTiled(
        (CUtensorMap *)encoded, data_type(array->scalar), rank, (void *)(uintptr_t)array->address,
        extents, strides, box, steps, TILE_CU_TENSOR_MAP_INTERLEAVE_NONE,
        swizzle_of(array->swizzle), promotion_of(array), TILE_CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* Encodes into an aligned buffer, as the driver requires. */
tile_status tile_encode_tensor_map(tile_context *context, const tile_tensor_map *map,
                                   void *encoded) {
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    _Alignas(TILE_TENSOR_MAP_ALIGNMENT) unsigned char words[TILE_TENSOR_MAP_BYTES];
    static const tile_loc no_location = {0, 0, 0};
    if (!context || !map || !encoded) return TILE_INVALID;
    const char *fault = tile_tensor_map_fault(map);
    if (fault) {
        tile_report(context, TILE_ERROR, no_location,
                    "the hardware has no such tensor map, which needs %s", fault);
        return TILE_UNSUPPORTED;
    }
    const tile_driver *driver = tile_driver_open(context);
    if (!driver) return TILE_UNAVAILABLE;
    tile_status status = tile_driver_check(context, driver, tile_driver_encode(driver, map, words),
                                           "cuTensorMapEncodeTiled");
    if (status == TILE_OK) memcpy(encoded, words, sizeof words);
    return status;
}
