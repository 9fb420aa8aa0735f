/* The rules of tensor maps and of the copies that go through them. */
#include "lib/ir/infer_rules.h"

/* What can be told from the map alone; which arrays the hardware takes is the launch's to check. */
bool tile_infer_tensor_map(tile_infer *infer) {
    unsigned extents, strides;
    segment(infer, 1, &extents);
    segment(infer, 2, &strides);
    const tile_type *base = type_of(infer, 0), *type = infer->given;
    if (!type || type->kind != TILE_TYPE_MAP)
        return fail(infer,
                    "the result is a tensor map, which says the box of one copy; write for "
                    "instance tensor_map<f16[64, 64]>",
                    NULL, type ? ", not" : "", type);
    if (!same_element(base, type))
        return fail(infer, "the element types differ:", base, " and", type);
    if (type->rank != extents || (strides && strides != extents))
        return fail(infer, "there must be one extent, and one stride if any, for each dim of", type,
                    "", NULL);
    return result(infer, type);
}
