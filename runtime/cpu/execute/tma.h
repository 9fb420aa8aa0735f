/* TMA copies: what loads (tma.c) and stores (tma_store.c) share. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_TMA_H
#define TILE_RUNTIME_CPU_EXECUTE_TMA_H

#include "runtime/cpu/execute/mbarrier.h"
#include "runtime/cpu/sanitize/global_shadow.h"

enum { CPU_TMA_PIECE = 16 }; /* bytes that stay contiguous */

/* One lane's copy. A bulk copy is a single row of bytes without an array. */
typedef struct cpu_transfer {
    const cpu_insn *insn;
    unsigned lane;
    const tile_tensor_map *array; /* NULL: none */
    int64_t at[TILE_MAX_MAP_RANK];
    int64_t offsets[TILE_MAX_SPATIAL]; /* of a map in im2col mode */
    uint64_t address;
    uint32_t row_bytes, rows;
    uint32_t shared; /* its offset */
    uint32_t blocks; /* the cluster's destination blocks: a bit for each rank */
    cpu_mbarrier_at bar;
    uint32_t bar_offset;
} cpu_transfer;

/* Reads the operands of a lane. False after a report. */
bool cpu_transfer_start(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned lane,
                        cpu_transfer *t);
uint32_t cpu_transfer_bytes(const cpu_transfer *t);
/* The address at which a row begins in global memory, and the range of its bytes that are inside of
 * the array. */
uint64_t cpu_transfer_row(const cpu_transfer *t, uint32_t row, int64_t *first, int64_t *end);
/* The swizzled offset of a piece in shared memory: bits from 7 on are xored into those from 4 on.
 */
uint32_t cpu_transfer_place(const cpu_transfer *t, uint32_t byte);
/* Checks an access to a row's bytes [first, end) in units of the array's elements. False after a
 * report. */
bool cpu_transfer_check(cpu_run *run, cpu_agent *agent, const cpu_transfer *t, uint64_t address,
                        int64_t first, int64_t end, cpu_access access);

#endif
