/* From a kernel to a program. */
#ifndef TILE_RUNTIME_CPU_DECODE_DECODE_H
#define TILE_RUNTIME_CPU_DECODE_DECODE_H

#include "runtime/cpu/execute/poison.h"

/* decode.c: NULL after a diagnostic. */
cpu_program *cpu_program_create(tile_function *function, unsigned level, bool host_math);
void cpu_program_destroy(cpu_program *program);

/* tma.c: what the last instruction says of its barrier has that one's name; its place and index
 * stand there as operand[0] and index[0]. What else it says names the buffer before. */
void cpu_name_barrier(cpu_decoder *d, tile_op op);
/* Which blocks share a copy with `multicast`, the instruction added last. */
void cpu_set_sharing(cpu_decoder *d, tile_op op);

/* poison.c: what is done beside decoding. First of all, find: */
void cpu_find_poison(cpu_decoder *d);
/* before an operation, check what it uses; behind it, follow its instructions from `first` on. */
void cpu_check_poison_uses(cpu_decoder *d, tile_op op);
void cpu_propagate_poison(cpu_decoder *d, tile_op op, uint32_t first);

#endif
