/* Elements that hold no value: a division of integers by zero gives one, and a shift by less than 0
 * or by the type's width and more; on a GPU that is some value. It is a fault only where it is
 * used: where it reaches global memory, decides about a branch, a coordinate or a predicate. In the
 * padding of a tile it reaches nothing.
 *
 * Which values may hold such elements is found before decoding; a program without any has nothing
 * of this. Else each agent has a second frame, the poison, of the same layout: the first byte of an
 * element there says which operation (an origin, from 1) made it, or 0. Behind each instruction
 * that makes or moves elements stands one that does the same to the poison; most are the
 * instruction itself, run on the other frame. Shared memory has its poison, too, if any reaches it.
 *
 * What a warp multiplies by wgmma is followed where the product begins: its operands may not change
 * until it has ended.
 *
 * An operation that decode/poison.c does not know uses what it gets. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_POISON_H
#define TILE_RUNTIME_CPU_EXECUTE_POISON_H

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/decoding.h"

/* What an instruction on poison needs beside the one that it follows. */
struct cpu_poison {
    cpu_handler handler; /* of that one */
    bool may[3];         /* whether the operand may be poisoned */
    uint32_t count[3];   /* mma: elements of all lanes */
    uint32_t size[3];    /* bytes of an element of the operand */
    tile_scalar scalar[3];
    uint32_t result_size;
    uint8_t origin;
    /* Operands that are read as they are, such as an offset: they go to the other frame meanwhile.
     */
    const struct cpu_plain_operand { uint32_t place, bytes; } * plain;
    uint32_t plain_count, plain_bytes;
};

enum { CPU_MANY_ORIGINS = 255 /* one of those that have no number of their own */ };

/* poison.c */

/* Behind the move that was added last, of this value. */
void cpu_propagate_poison_move(cpu_decoder *d, tile_op op, tile_value from);
CPU_HANDLER(cpu_run_poison_check); /* operand 0 is used by all active lanes */
CPU_HANDLER(cpu_run_poison_again); /* the instruction, on poison */
CPU_HANDLER(cpu_run_poison_spread);
CPU_HANDLER(cpu_run_poison_select);
CPU_HANDLER(cpu_run_poison_make);   /* what divides, or shifts */
CPU_HANDLER(cpu_run_poison_reduce); /* level 2; as cpu_run_reduce */
CPU_HANDLER(cpu_run_poison_rows);   /* level 2; as cpu_run_rows */
CPU_HANDLER(cpu_run_poison_redux);  /* level 3 */
CPU_HANDLER(cpu_run_poison_mma);
CPU_HANDLER(cpu_run_poison_dot);
CPU_HANDLER(cpu_run_poison_copied); /* what a copy brings is clean */

/* poison_wgmma.c */
CPU_HANDLER(cpu_run_poison_wgmma);      /* level 3, where it begins; as run_wgmma of wgmma.c */
CPU_HANDLER(cpu_run_poison_wgmma_wait); /* as run_wgmma_wait of it */

/* mixed.c: level 2 */
CPU_HANDLER(cpu_run_poison_to_fragment);
CPU_HANDLER(cpu_run_poison_from_fragment);

/* Of elements of so many bytes; 0: none. */
uint8_t cpu_first_poison(const uint8_t *poison, uint32_t count, uint32_t size);
/* Ones for what is poisoned and zeros for the rest; poison NULL: ones for all. */
void cpu_write_ones(tile_scalar scalar, const uint8_t *poison, uint32_t count, uint8_t *to);
bool cpu_shifts(tile_opcode opcode);
/* Whether elements may reach memory: those of operand 0, of these lanes; or `count` of them whose
 * poison is here. False after a report. */
bool cpu_poison_may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                           uint32_t lanes);
/* Of an instruction that may have poison: element `element` of each lane. */
bool cpu_poison_element_may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                                   unsigned element, uint32_t lanes);
bool cpu_poison_row_may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                               const uint8_t *poison, int64_t count, unsigned size);

#endif
