/* Decoding a kernel to a program. */
#ifndef TILE_RUNTIME_CPU_DECODE_DECODE_H
#define TILE_RUNTIME_CPU_DECODE_DECODE_H

#include "runtime/cpu/execute/poison.h"

/* decode.c: NULL after a diagnostic. */
cpu_program *cpu_program_create(tile_function *function, unsigned level, bool host_math);
void cpu_program_destroy(cpu_program *program);
void cpu_decode_elementwise(cpu_decoder *d, tile_op op);

/* tma.c: the name of the last instruction's barrier for messages about the barrier. There,
 * operand[0] and index[0] are the barrier's place and index. Other messages name the buffer. */
void cpu_name_barrier(cpu_decoder *d, tile_op op);
/* Sets the blocks that share a copy with `multicast`, the last instruction. */
void cpu_set_sharing(cpu_decoder *d, tile_op op);

/* poison.c: called during decoding. First, find the values that may be poisoned. */
void cpu_find_poison(cpu_decoder *d);
/* Before an operation, check the operands that it uses. After it, follow its instructions, from
 * `first` on. */
void cpu_check_poison_uses(cpu_decoder *d, tile_op op);
void cpu_propagate_poison(cpu_decoder *d, tile_op op, uint32_t first);

#endif
