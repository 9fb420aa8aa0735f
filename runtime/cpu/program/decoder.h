/* A program while it is decoded: its state, and how instructions are added (decoder.c). */
#ifndef TILE_RUNTIME_CPU_PROGRAM_DECODER_H
#define TILE_RUNTIME_CPU_PROGRAM_DECODER_H

#include "runtime/cpu/program/program.h"

typedef struct cpu_decoder {
    cpu_program *program;
    const tile_function *f;
    tile_arena scratch;
    uint32_t *places; /* by value id */
    size_t insn_capacity;
    size_t constant_capacity;
    uint32_t *shared_at; /* by op id: where an alloc_shared's buffer is */
    uint32_t temporary;  /* where values wait that a loop's yield exchanges; behind all places */
    uint32_t decision;   /* where the last yield left its operation's condition, if it has one */
    unsigned depth;      /* of the mask stack */
    unsigned pipelined;  /* how many pipelined loops are open */
    bool own_order;
    const int64_t *parallel_extents; /* of the `parallel` that is open; or NULL */
    unsigned parallel_rank;          /* 0: none is */
    struct cpu_mixed *mixed;         /* NULL: threads do nothing on their own */
    bool *may_poison;                /* by value id */
    const struct tile_range *ranges; /* likewise */
    uint32_t clean_place;            /* if anything is: as large as any value, never written */
    bool failed;
} cpu_decoder;

#define CPU_FAIL(d, loc, ...) \
    ((d)->failed = true, tile_report(tile_function_context((d)->f), TILE_ERROR, (loc), __VA_ARGS__))

/* A place for a value of this type in the constants. */
uint32_t cpu_add_constant(cpu_decoder *d, const tile_type *type);
uint32_t cpu_place_of(cpu_decoder *d, tile_value value);
/* The type of an operand's first value, NULL if it is absent. */
const tile_type *cpu_operand_type(const cpu_decoder *d, tile_op op, tile_operand_name name);
const tile_type *cpu_result_type(const cpu_decoder *d, tile_op op);

/* An instruction of this operation; valid until the next one is added. */
cpu_insn *cpu_add_insn(cpu_decoder *d, tile_op op, cpu_handler handler);
/* One with the operation's operands as the row says: heads go to operand[], the brackets of the
 * first element or list to index, those of the second one to second. */
cpu_insn *cpu_add_op(cpu_decoder *d, tile_op op, cpu_handler handler);
void cpu_add_move(cpu_decoder *d, tile_op op, tile_value from, uint32_t to);
/* Checks what a loop that says `finite` hands on, if it is of floats. */
void cpu_decode_finite(cpu_decoder *d, tile_op yield, tile_value value);
/* The instruction handles the elements of a value of this type. */
void cpu_set_elements(const cpu_decoder *d, cpu_insn *insn, const tile_type *type);
/* How many a wait leaves pending, an operand that is a number; else the decoding fails. */
int64_t cpu_pending_count(cpu_decoder *d, tile_op wait);
uint32_t *cpu_places_of(cpu_decoder *d, const tile_value *values, unsigned count);

/* decode/tma.c: what the last instruction says of its barrier has that one's name;
 * its place and index stand there as operand[0] and index[0]. What else it says names the buffer
 * before. */
void cpu_name_barrier(cpu_decoder *d, tile_op op);
/* wgmma.c: what stands behind a '%' where either buffer is meant; NULL: there is none. */
const char *cpu_either_name(cpu_decoder *d, const char *lhs, const char *rhs);
/* Which blocks share a copy with `multicast`, the instruction added last. */
void cpu_set_sharing(cpu_decoder *d, tile_op op);

/* parallel.c: the extents, NULL after a report; an instruction that sets or counts the coordinates;
 * elements of the results, as the region yields them; an access to an element of a view, the
 * instruction added last, is one of the open `parallel`'s, if there is one. */
const int64_t *cpu_parallel_extents(cpu_decoder *d, tile_op op);
void cpu_enter_parallel(cpu_decoder *d, tile_op op, cpu_insn *insn);
void cpu_put_elements(cpu_decoder *d, tile_op yield, tile_op parallel);
void cpu_claim_element(cpu_decoder *d, tile_op op, tile_operand_name memory);

/* storage.c: checks the values' sizes and gives each buffer and value its place; only values. */
void cpu_place_all(cpu_decoder *d, tile_function *f);
void cpu_place_values(cpu_decoder *d);

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
