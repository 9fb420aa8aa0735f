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

/* Elements that cannot be poisoned come from where there is none. */
static inline uint32_t cpu_poison_place(const cpu_decoder *d, tile_value value, uint32_t place) {
    return d->may_poison[value.id] ? place : d->clean_place;
}

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
/* The instruction handles the elements of a value of this type. */
void cpu_set_elements(const cpu_decoder *d, cpu_insn *insn, const tile_type *type);
/* How many a wait leaves pending, an operand that is a number; else the decoding fails. */
int64_t cpu_pending_count(cpu_decoder *d, tile_op wait);
uint32_t *cpu_places_of(cpu_decoder *d, const tile_value *values, unsigned count);

/* storage.c: checks the values' sizes and gives each buffer and value its place; only values. */
void cpu_place_all(cpu_decoder *d, tile_function *f);
void cpu_place_values(cpu_decoder *d);

#endif
