/* Elements without a defined value. Integer division by zero produces one, and so does a shift by a
 * negative amount or by at least the type's width. On a GPU the result is some value. It is a fault
 * only if the value is used: if it reaches global memory, or decides a branch, a coordinate or a
 * predicate. In the padding of a tile it is harmless.
 *
 * The decoder first finds which values may contain such elements; a program without any has no
 * overhead. Otherwise each agent has a second frame, the poison, with the same layout. The first
 * byte of an element there is 0, or the number (from 1) of the operation that made it: its origin.
 * Each instruction that makes or moves elements is followed by one that does the same to the
 * poison. Most of these are the instruction itself, run on the other frame. Shared memory has its
 * own poison, if any reaches it.
 *
 * The operands of wgmma are followed where the product is issued: they may not change until it has
 * completed.
 *
 * An operation that decode/poison.c does not handle counts as a use of its operands. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_POISON_H
#define TILE_RUNTIME_CPU_EXECUTE_POISON_H

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/decoding.h"

/* Additional data of an instruction on poison. */
struct cpu_poison {
    cpu_handler handler; /* of the instruction that it follows */
    bool may[3];         /* whether the operand may be poisoned */
    uint32_t count[3];   /* mma: elements of all lanes */
    uint32_t size[3];    /* bytes of an element of the operand */
    tile_scalar scalar[3];
    uint32_t result_size;
    uint8_t origin;
    /* Operands that are read unchanged, such as an offset. They are copied to the other frame
     * meanwhile. */
    const struct cpu_plain_operand { uint32_t place, bytes; } * plain;
    uint32_t plain_count, plain_bytes;
};

enum { CPU_MANY_ORIGINS = 255 /* all origins without their own number */ };

/* poison.c */

/* Follows the move that was added last, of this value. */
void cpu_propagate_poison_move(cpu_decoder *d, tile_op op, tile_value from);
CPU_HANDLER(cpu_run_poison_check); /* operand 0 is used by all active lanes */
CPU_HANDLER(cpu_run_poison_again); /* runs the instruction again, on poison */
CPU_HANDLER(cpu_run_poison_spread);
CPU_HANDLER(cpu_run_poison_select);
CPU_HANDLER(cpu_run_poison_make);   /* for divisions and shifts */
CPU_HANDLER(cpu_run_poison_reduce); /* level 2; like cpu_run_reduce */
CPU_HANDLER(cpu_run_poison_rows);   /* level 2; like cpu_run_rows */
CPU_HANDLER(cpu_run_poison_redux);  /* level 3 */
CPU_HANDLER(cpu_run_poison_mma);
CPU_HANDLER(cpu_run_poison_dot);
CPU_HANDLER(cpu_run_poison_copied); /* copied elements are clean */

/* combine.c: level 2 */
CPU_HANDLER(cpu_run_poison_combine);

/* poison_wgmma.c */
CPU_HANDLER(cpu_run_poison_wgmma);      /* level 3, at issue; like run_wgmma in wgmma.c */
CPU_HANDLER(cpu_run_poison_wgmma_wait); /* like run_wgmma_wait in wgmma.c */

/* mixed.c: level 2 */
CPU_HANDLER(cpu_run_poison_to_fragment);
CPU_HANDLER(cpu_run_poison_from_fragment);

/* The first origin among elements of `size` bytes; 0: none. */
uint8_t cpu_first_poison(const uint8_t *poison, uint32_t count, uint32_t size);
/* Writes ones for poisoned elements and zeros for the others; poison NULL: all ones. */
void cpu_write_ones(tile_scalar scalar, const uint8_t *poison, uint32_t count, uint8_t *to);
/* Checks that elements may reach memory: those of operand 0 in these lanes, or `count` elements
 * with the given poison. False after a report. */
bool cpu_poison_may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                           uint32_t lanes);
/* For an instruction that may have poison: checks element `element` of each lane. */
bool cpu_poison_element_may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                                   unsigned element, uint32_t lanes);
bool cpu_poison_row_may_escape(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                               const uint8_t *poison, int64_t count, unsigned size);

#endif
