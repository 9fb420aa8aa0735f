#include "runtime/cpu/execute/wgmma_matrix.h"

#include <stdlib.h>
#include <string.h>

#include "lib/analysis/product.h"

static cpu_matrix decode_matrix(uint64_t bits, const tile_type *type, uint32_t rows) {
    static const uint32_t swizzles[] = {CPU_WGMMA_PIECE, 128, 64, 32};
    uint32_t size = tile_scalar_bytes(type->scalar);
    return (cpu_matrix){.start = (bits & 0x3fff) << 4,
                        .leading = (bits >> 16 & 0x3fff) << 4,
                        .stride = (bits >> 32 & 0x3fff) << 4,
                        .base = bits >> 49 & 7,
                        .swizzle = swizzles[bits >> 62],
                        .mn_major = type->mn_major,
                        .size = size,
                        .rows = rows,
                        .depth = CPU_WGMMA_BYTES / size};
}

cpu_matrix cpu_wgmma_lhs(const cpu_insn *insn, uint64_t bits) {
    return decode_matrix(bits, insn->type, TILE_WGMMA_ROWS);
}

/* With a sparse lhs, rhs has twice the depth. */
cpu_matrix cpu_wgmma_rhs(const cpu_insn *insn, uint64_t bits) {
    cpu_matrix rhs = decode_matrix(bits, insn->memory, insn->count / CPU_LANES * 2);
    if (insn->flag) rhs.depth *= 2;
    return rhs;
}

bool cpu_wgmma_takes_fragment(const cpu_insn *insn) {
    return insn->type->kind == TILE_TYPE_VECTOR;
}

char *cpu_gather_matrix(const uint8_t *shared, const cpu_matrix *m, uint32_t first, uint32_t rows,
                        bool k_first) {
    char *to = tile_malloc((size_t)rows * m->depth * m->size);
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t k = 0; k < m->depth; k++)
            memcpy(to + (k_first ? k * rows + row : row * m->depth + k) * m->size,
                   shared + cpu_matrix_address(m, first + row, k), m->size);
    return to;
}
