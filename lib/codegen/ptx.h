/* One instruction of inline PTX, from a row of machine.def whose text is a template.
 *
 * In the template $0, $1, .. are groups of operands in the order in which they are added. A group
 * of several operands is written in braces: {%r1, %r2}; for {$1}, a single one is as well. An
 * asterisk is replaced by the modifiers, a number sign by the tail. Each operand's constraint
 * follows from its LLVM type. 8-bit operands are passed in 16-bit registers, since there are no
 * smaller ones.
 *
 *     tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_ld_global_if);   "@$2 ld.global* $0, [$1];"
 *     tile_ptx_modify(&ptx, ".v%u.b%u", 2, 32);
 *     tile_ptx_add_tied(&ptx, words, 2);
 *     tile_ptx_add_inputs(&ptx, &address, 1);
 *     tile_ptx_add_inputs(&ptx, &predicate, 1);
 *     tile_ptx_call(&ptx, words);         @%p1 ld.global.v2.b32 {%r1, %r2}, [%rd1];
 *
 * The number of operands and the length of the text are unlimited: memory is the emitter's arena.
 */
#ifndef TILE_LIB_CODEGEN_PTX_H
#define TILE_LIB_CODEGEN_PTX_H

#include "lib/codegen/emitter.h"

/* A growing list in the emitter's arena. */
typedef struct tile_ptx_list {
    LLVMValueRef *values;
    size_t count, capacity;
} tile_ptx_list;

typedef struct tile_ptx_group {
    bool is_result;
    unsigned first, count; /* among the results, or among the inputs */
    int32_t offset;        /* of an address, in bytes */
    const uint32_t *sums;  /* count registers of sums.c instead of LLVM values; NULL: none */
} tile_ptx_group;

typedef struct tile_ptx {
    tile_emitter *e;
    tile_machine machine;
    const char *modifiers, *tail;
    const char *before;    /* an instruction without operands; NULL: none */
    tile_ptx_list results; /* a value of each result's type; if it is tied, its initial value */
    tile_ptx_list inputs;
    bool ordered; /* some groups are registers of sums.c */
    bool tied;    /* all results are tied */
    bool zeroed;  /* all results are set to `fill` by instructions before the first one */
    uint32_t fill;
    tile_ptx_group *groups;
    size_t group_count, group_capacity;
    unsigned *firsts; /* of each instruction: the group that is its $0 */
    size_t count, capacity;
    unsigned shared, own; /* groups that come first, and the groups of each instruction */
} tile_ptx;

tile_ptx tile_ptx_begin(tile_emitter *e, tile_machine machine);
/* Appends to the replacement of the asterisk. */
void tile_ptx_modify(tile_ptx *ptx, const char *format, ...) TILE_PRINTF(2, 3);
/* Sets the replacement of the number sign; kept, not copied. */
void tile_ptx_set_tail(tile_ptx *ptx, const char *tail);
/* Sets an instruction without operands that precedes all others; kept, not copied. */
void tile_ptx_put_before(tile_ptx *ptx, const char *instruction);
/* Adds a group of results of these types. All results of an instruction must be added the same way.
 */
void tile_ptx_add_results(tile_ptx *ptx, const LLVMTypeRef *types, unsigned count);
/* Likewise, for an instruction that may not write its results, as under a predicate: they are
 * initialized to zero. For LLVM, moves in the text cost a third of zeros that are tied to the
 * results. */
void tile_ptx_add_zeroed(tile_ptx *ptx, const LLVMTypeRef *types, unsigned count);
/* Likewise, initialized to these bits, of a register of at most 32. */
void tile_ptx_add_filled(tile_ptx *ptx, const LLVMTypeRef *types, unsigned count, uint32_t fill);
/* Adds a group of results with these initial values: registers that are read and written. */
void tile_ptx_add_tied(tile_ptx *ptx, const LLVMValueRef *values, unsigned count);
/* Adds a group of inputs. Inputs that already occur consecutively are not passed again. */
void tile_ptx_add_inputs(tile_ptx *ptx, const LLVMValueRef *values, unsigned count);
/* Adds a group of registers of sums.c, read or written; kept, not copied. The call keeps its place
 * among those that access memory or have such groups. */
void tile_ptx_add_sums(tile_ptx *ptx, const uint32_t *registers, unsigned count);
/* Adds a group of one input, an address in brackets. A constant that was added to it last is
 * written in the text. For LLVM each one would be another addition, for which it computes the known
 * bits of the whole address again. */
void tile_ptx_add_address(tile_ptx *ptx, LLVMValueRef address);
/* Begins one of several instructions of the row in one call, which costs LLVM less than several
 * calls. Its $0 is group `first` of the groups that were added before the first tile_ptx_next. Its
 * $1, $2, .. are the groups added up to the next one. */
void tile_ptx_next(tile_ptx *ptx, unsigned first);
/* The constraint letter of a register of this type. */
const char *tile_ptx_letter(LLVMTypeRef type);
/* Makes the call. results: one value for each added result, in order; NULL if there are none. */
void tile_ptx_call(tile_ptx *ptx, LLVMValueRef *results);

#endif
