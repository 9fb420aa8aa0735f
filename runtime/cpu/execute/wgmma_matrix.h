/* Matrices in shared memory as described by wgmma's descriptors (PTX ISA, "Matrix Descriptor"). */
#ifndef TILE_RUNTIME_CPU_EXECUTE_WGMMA_MATRIX_H
#define TILE_RUNTIME_CPU_EXECUTE_WGMMA_MATRIX_H

#include "runtime/cpu/program/program.h"

enum {
    CPU_WGMMA_BYTES = 32,          /* along k */
    CPU_WGMMA_PIECE = 16,          /* bytes that are contiguous in any layout */
    CPU_DESCRIPTOR_MASK = 0x3ffff, /* of an address */
};

typedef struct cpu_matrix {
    uint32_t start, leading, stride;
    uint32_t swizzle; /* bytes; 16: none */
    uint32_t base;    /* start of the swizzle pattern, in rows of 128 bytes */
    bool mn_major;
    uint32_t size;        /* bytes of an element */
    uint32_t rows, depth; /* along m or n, and along k */
} cpu_matrix;

/* The matrices of a wgmma with these descriptors; lhs: for all four warps. */
cpu_matrix cpu_wgmma_lhs(const cpu_insn *insn, uint64_t bits);
cpu_matrix cpu_wgmma_rhs(const cpu_insn *insn, uint64_t bits);
bool cpu_wgmma_takes_fragment(const cpu_insn *insn); /* lhs is in registers */
/* The offset of element (row, k) in bytes of the block's shared memory. Along the contiguous dim it
 * is the i-th element, along the other one the j-th. */
static inline uint32_t cpu_matrix_address(const cpu_matrix *m, uint32_t row, uint32_t k) {
    uint32_t i = (m->mn_major ? row : k) * m->size, j = m->mn_major ? k : row;
    uint32_t across = m->leading, down = m->stride;
    if (m->swizzle == CPU_WGMMA_PIECE && m->mn_major) {
        across = m->stride;
        down = m->leading;
    }
    uint32_t sum =
        m->start + i / m->swizzle * across + j / 8 * down + j % 8 * m->swizzle + i % m->swizzle;
    uint32_t phase = (sum >> 7) - m->base;
    return (sum ^ (phase & (m->swizzle / CPU_WGMMA_PIECE - 1)) << 4) & CPU_DESCRIPTOR_MASK;
}
/* Copies elements [row, k], or [k, row], of `rows` rows from row `first` on. The caller frees
 * them. */
char *cpu_gather_matrix(const uint8_t *shared, const cpu_matrix *m, uint32_t first, uint32_t rows,
                        bool k_first);

#endif
