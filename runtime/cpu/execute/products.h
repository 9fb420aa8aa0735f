/* What wgmma.c shares with schedule.c and product.c. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_PRODUCTS_H
#define TILE_RUNTIME_CPU_EXECUTE_PRODUCTS_H

#include "runtime/cpu/execute/decoding.h"

/* wgmma.c: at a warp's end. False, after a report, if a product is not complete. */
bool cpu_end_products(cpu_run *run, cpu_agent *agent);
/* The index k of each element of a sparse lhs, row by row. For tf32, one of two elements is stored,
 * for other types two of four. NULL, after a report, if the metadata is invalid. The caller frees
 * it. */
uint32_t *cpu_wgmma_picks(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
/* Drops all products. */
void cpu_clear_products(cpu_agent *agent);
void cpu_clear_warpgroups(const cpu_program *program, cpu_block *block);

/* product.c: the product of one warp, [16, k] x [k, n], rhs row by row; lhs likewise if it is in
 * shared memory. With a sparse lhs, k counts its stored elements, and rhs has two rows for each. */
const cpu_product *cpu_product_of_wgmma(cpu_decoder *d, tile_op op);
/* picks: the row of rhs with which each element of lhs is multiplied; NULL: dense. `to` may equal
 * c. */
void cpu_multiply(const cpu_product *product, const char *a, const char *b, const uint32_t *picks,
                  const char *c, char *to);

#endif
