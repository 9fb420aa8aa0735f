/* Decoders that share a structure with their handlers. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_DECODING_H
#define TILE_RUNTIME_CPU_EXECUTE_DECODING_H

#include "runtime/cpu/program/decoder.h"

/* control.c */
void cpu_add_move(cpu_decoder *d, tile_op op, tile_value from, uint32_t to);

/* print.c */
/* Checks the values that a `finite` loop yields, if they are floats. */
void cpu_decode_finite(cpu_decoder *d, tile_op yield, tile_value value);

/* wgmma.c: the name to print after a '%' if either buffer is meant; NULL: there is none. */
const char *cpu_operand_or_buffer_name(cpu_decoder *d, const char *lhs, const char *rhs);

/* parallel.c. cpu_parallel_extents returns NULL after a report. cpu_enter_parallel completes an
 * instruction that sets or advances the coordinates. cpu_put_elements stores the elements of the
 * results that the region yields. cpu_claim_element marks the last instruction, an access to an
 * element of a view, as part of the open `parallel`, if any. */
const int64_t *cpu_parallel_extents(cpu_decoder *d, tile_op op);
void cpu_enter_parallel(cpu_decoder *d, tile_op op, cpu_insn *insn);
void cpu_put_elements(cpu_decoder *d, tile_op yield, tile_op parallel);
void cpu_claim_element(cpu_decoder *d, tile_op op, tile_operand_name memory);

/* mixed.c. Returns whether a level-2 kernel has operations of threads. Also false after a report,
 * if the kernel cannot be executed. */
typedef struct cpu_mixed cpu_mixed;
bool cpu_is_mixed(cpu_decoder *d, tile_function *f);
void cpu_start_mixed(cpu_decoder *d, tile_function *f);
/* Decodes the following operations for the warps, or for the block. places: by value; only on the
 * first call. */
void cpu_enter_stream(cpu_decoder *d, bool warps, uint32_t *places);
/* Decodes the part of an operation that this stream executes; decode: decodes it in its own
 * stream. */
void cpu_decode_mixed(cpu_decoder *d, tile_op op, void (*decode)(cpu_decoder *, tile_op));
/* Returns whether the current stream has the value; true if there is only one stream. */
bool cpu_stream_has(const cpu_decoder *d, tile_value value);

/* One function for each operation of levels 2 and 3, in decode/decode.c (regions, order),
 * decode/memory.c, or, if it shares a structure with its handlers, next to them in execute/. The
 * elementwise ones share one function. */
#define DECODED_L0(name)
#define DECODED_L1(name)
#define DECODED_L2(name) void cpu_decode_##name(cpu_decoder *d, tile_op op);
#define DECODED_L12(name) DECODED_L2(name)
#define DECODED_L123(name) DECODED_L2(name)
#define DECODED_INLINED(name)
#define DECODED_EXPANDED(name)
#define DECODED_L3(name) DECODED_L2(name)
#define DECODED_L23(name) DECODED_L2(name)
#define DECODED_L023(name) DECODED_L2(name)
#define DECODED_LX(name) DECODED_L2(name)
#define OP(number, name, levels, ...) DECODED_##levels(name)
#define ELEMENTWISE_OP(...)
#include "tile/ops.def"

#endif
