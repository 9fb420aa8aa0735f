/* What operations are decoded to where that shares a structure with their handlers. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_DECODING_H
#define TILE_RUNTIME_CPU_EXECUTE_DECODING_H

#include "runtime/cpu/program/decoder.h"

/* control.c */
void cpu_add_move(cpu_decoder *d, tile_op op, tile_value from, uint32_t to);

/* print.c */
/* Checks what a loop that says `finite` hands on, if it is of floats. */
void cpu_decode_finite(cpu_decoder *d, tile_op yield, tile_value value);

/* wgmma.c: the text after a '%' where either buffer is meant; NULL: there is none. */
const char *cpu_operand_or_buffer_name(cpu_decoder *d, const char *lhs, const char *rhs);

/* parallel.c: the extents, NULL after a report; an instruction that sets or counts the coordinates;
 * elements of the results, as the region yields them; an access to an element of a view, the
 * instruction added last, is one of the open `parallel`'s, if there is one. */
const int64_t *cpu_parallel_extents(cpu_decoder *d, tile_op op);
void cpu_enter_parallel(cpu_decoder *d, tile_op op, cpu_insn *insn);
void cpu_put_elements(cpu_decoder *d, tile_op yield, tile_op parallel);
void cpu_claim_element(cpu_decoder *d, tile_op op, tile_operand_name memory);

/* mixed.c. Whether threads do something on their own in a kernel of level 2; false, too, after a
 * report where that cannot be executed. */
typedef struct cpu_mixed cpu_mixed;
bool cpu_is_mixed(cpu_decoder *d, tile_function *f);
void cpu_start_mixed(cpu_decoder *d, tile_function *f);
/* What follows is decoded for the warps, or for the block. places: by value, the first time. */
void cpu_enter_stream(cpu_decoder *d, bool warps, uint32_t *places);
/* What this stream does of an operation; decode: what it does in its own stream. */
void cpu_decode_mixed(cpu_decoder *d, tile_op op, void (*decode)(cpu_decoder *, tile_op));
/* Whether the stream that is decoded now has the value; true where there is only one. */
bool cpu_stream_has(const cpu_decoder *d, tile_value value);

/* One function for each operation that levels 2 or 3 have, in decode/decode.c (regions, order),
 * decode/memory.c and, where it shares a structure with its handlers, beside these in execute/; the
 * element-wise ones share one. */
#define DECODED_L0(name)
#define DECODED_L1(name)
#define DECODED_L2(name) void cpu_decode_##name(cpu_decoder *d, tile_op op);
#define DECODED_L12(name) DECODED_L2(name)
#define DECODED_L123(name) DECODED_L2(name)
#define DECODED_L3(name) DECODED_L2(name)
#define DECODED_L23(name) DECODED_L2(name)
#define DECODED_L023(name) DECODED_L2(name)
#define DECODED_LX(name) DECODED_L2(name)
#define OP(number, name, levels, ...) DECODED_##levels(name)
#define ELEMENTWISE_OP(...)
#include "tile/ops.def"

#endif
