/* What wgmma.c shares with the schedule and with product.c. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_PRODUCTS_H
#define TILE_RUNTIME_CPU_EXECUTE_PRODUCTS_H

#include "runtime/cpu/execute/decoding.h"

/* wgmma.c: at a warp's end. False, after a report, if it has left something undone. */
bool cpu_end_products(cpu_run *run, cpu_agent *agent);
/* k of each element of a sparse lhs, row by row: of tf32 one of two elements, of others two of
 * four. NULL, after a report, where the bits mean nothing. The caller's. */
uint32_t *cpu_wgmma_picks(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
/* Forgets everything. */
void cpu_clear_products(cpu_agent *agent);
void cpu_clear_warpgroups(const cpu_program *program, cpu_block *block);

/* product.c: of one warp, [16, k] x [k, n], rhs row by row; lhs likewise if it is in shared memory.
 * With a sparse lhs k counts the elements that it has, and rhs has two rows for each. */
const cpu_product *cpu_product_of_wgmma(cpu_decoder *d, tile_op op);
/* picks: which row of rhs each element of lhs is multiplied with; NULL: each with its own. to may
 * be c. */
void cpu_multiply(const cpu_product *product, const char *a, const char *b, const uint32_t *picks,
                  const char *c, char *to);

#endif
