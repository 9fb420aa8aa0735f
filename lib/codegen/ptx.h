/* One instruction of inline PTX, from a row of machine.def whose text is a template.
 *
 * In the template $0, $1, .. are groups of operands in the order in which they are added; one of
 * several operands is written in braces: {%r1, %r2}, and {$1} also if it is one. An asterisk stands
 * for the modifiers, a number sign for the tail. Each operand's constraint follows from its LLVM
 * type; 8-bit ones travel in 16-bit registers, since there are no smaller ones.
 *
 *     tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_ld_global_if);   "@$2 ld.global* $0, [$1];"
 *     tile_ptx_modify(&ptx, ".v%u.b%u", 2, 32);
 *     tile_ptx_add_tied(&ptx, words, 2);
 *     tile_ptx_add_inputs(&ptx, &address, 1);
 *     tile_ptx_add_inputs(&ptx, &predicate, 1);
 *     tile_ptx_call(&ptx, words);                          @%p1 ld.global.v2.b32 {%r1, %r2},
 * [%rd1];
 *
 * Any number of operands, any length of text: memory is the emitter's arena. */
#ifndef TILE_LIB_CODEGEN_PTX_H
#define TILE_LIB_CODEGEN_PTX_H

#include "lib/codegen/emitter.h"

/* A list that grows in the emitter's arena. */
typedef struct tile_ptx_list {
    LLVMValueRef *values;
    size_t count, capacity;
} tile_ptx_list;

typedef struct tile_ptx_group {
    bool is_result;
    unsigned first, count; /* among the results, or among the inputs */
    int32_t offset;        /* of an address: bytes */
    const uint32_t *sums;  /* count registers of sums.c's in place of LLVM's; NULL: none */
} tile_ptx_group;

typedef struct tile_ptx {
    tile_emitter *e;
    tile_machine machine;
    const char *modifiers, *tail;
    const char *before;    /* an instruction without operands; NULL: none */
    tile_ptx_list results; /* a value of each one's type; if it is tied, the one it starts as */
    tile_ptx_list inputs;
    bool ordered; /* there are groups of sums */
    bool tied;    /* all results are */
    bool zeroed;  /* all results begin as zeros, by instructions before the first one */
    tile_ptx_group *groups;
    size_t group_count, group_capacity;
    unsigned *firsts; /* of each instruction: which group its $0 is */
    size_t count, capacity;
    unsigned shared, own; /* groups that come first, and those of each instruction */
} tile_ptx;

tile_ptx tile_ptx_begin(tile_emitter *e, tile_machine machine);
/* Appends to what stands for the asterisk. */
void tile_ptx_modify(tile_ptx *ptx, const char *format, ...) TILE_PRINTF(2, 3);
/* What stands for the number sign; kept, not copied. */
void tile_ptx_set_tail(tile_ptx *ptx, const char *tail);
/* An instruction without operands that stands before all; kept, not copied. */
void tile_ptx_put_before(tile_ptx *ptx, const char *instruction);
/* A group of results of these types. All results of an instruction are made alike. */
void tile_ptx_add_results(tile_ptx *ptx, const LLVMTypeRef *types, unsigned count);
/* Likewise, of what may not write them, as under a predicate: they begin as zeros. Moves in the
 * text cost LLVM a third of what zeros that are tied to the results do. */
void tile_ptx_add_zeroed(tile_ptx *ptx, const LLVMTypeRef *types, unsigned count);
/* A group of results that are these values before: registers that are read and written. */
void tile_ptx_add_tied(tile_ptx *ptx, const LLVMValueRef *values, unsigned count);
/* Inputs that are there already in the same row are not passed again. */
void tile_ptx_add_inputs(tile_ptx *ptx, const LLVMValueRef *values, unsigned count);
/* A group of registers that sums.c holds, read or written; kept, not copied. The call stays where
 * it is among those that touch memory or have such groups. */
void tile_ptx_add_sums(tile_ptx *ptx, const uint32_t *registers, unsigned count);
/* A group of one, for an address in brackets: constants that are added to it last stand beside it
 * in the text. LLVM makes each an addition of its own, for which it asks anew, bit by bit, what is
 * known of the whole address. */
void tile_ptx_add_address(tile_ptx *ptx, LLVMValueRef address);
/* Begins one of several instructions of the row in one call, which costs LLVM less than several
 * calls: group `first` of those that were added before the first of them is its $0, and what is
 * added up to the next one its $1, $2, .. */
void tile_ptx_next(tile_ptx *ptx, unsigned first);
/* The constraint of a register of this type. */
const char *tile_ptx_letter(LLVMTypeRef type);
/* Makes the call. results: as many as were added, of their types; NULL if there are none. */
void tile_ptx_call(tile_ptx *ptx, LLVMValueRef *results);

#endif
