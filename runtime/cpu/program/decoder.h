/* The state of a program during decoding, and functions to add instructions (decoder.c). */
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
    uint32_t *shared_at; /* by op id: the offset of an alloc_shared's buffer */
    uint32_t temporary;  /* place, after all others, for values that a yield exchanges */
    uint32_t decision;   /* place of the condition of the last yield, if it has one */
    unsigned depth;      /* of the mask stack */
    unsigned pipelined;  /* number of open pipelined loops */
    bool own_order;
    const int64_t *parallel_extents; /* of the open `parallel`; or NULL */
    unsigned parallel_rank;          /* 0: none is open */
    struct cpu_mixed *mixed;         /* NULL: no operations of threads */
    bool *may_poison;                /* by value id */
    const struct tile_range *ranges; /* likewise */
    uint32_t clean_place; /* if any value is poisoned: a place of the largest size, never written */
    bool failed;
} cpu_decoder;

/* The poison of an element that cannot be poisoned is read from the clean place. */
static inline uint32_t cpu_poison_place(const cpu_decoder *d, tile_value value, uint32_t place) {
    return d->may_poison[value.id] ? place : d->clean_place;
}

#define CPU_FAIL(d, loc, ...) \
    ((d)->failed = true, tile_report(tile_function_context((d)->f), TILE_ERROR, (loc), __VA_ARGS__))

/* A place in the constants for a value of this type. */
uint32_t cpu_add_constant(cpu_decoder *d, const tile_type *type);
uint32_t cpu_place_of(cpu_decoder *d, tile_value value);
/* The type of an operand's first value, NULL if it is absent. */
const tile_type *cpu_operand_type(const cpu_decoder *d, tile_op op, tile_operand_name name);
const tile_type *cpu_result_type(const cpu_decoder *d, tile_op op);

/* Adds an instruction of this operation. The pointer is valid until the next one is added. */
cpu_insn *cpu_add_insn(cpu_decoder *d, tile_op op, cpu_handler handler);
/* Adds an instruction with the operation's operands in the order of the row. Heads go to operand[],
 * the brackets of the first element or list to index, those of the second one to second. */
cpu_insn *cpu_add_op(cpu_decoder *d, tile_op op, cpu_handler handler);
/* Sets the instruction's element count and size to those of a value of this type. */
void cpu_set_elements(const cpu_decoder *d, cpu_insn *insn, const tile_type *type);
/* The number of groups that a wait leaves pending. Fails if that operand is not a constant. */
int64_t cpu_pending_count(cpu_decoder *d, tile_op wait);
uint32_t *cpu_places_of(cpu_decoder *d, const tile_value *values, unsigned count);

/* storage.c: checks the sizes of values and places each buffer and value; the latter only places
 * values. */
void cpu_place_all(cpu_decoder *d, tile_function *f);
void cpu_place_values(cpu_decoder *d);

#endif
