/* The state of one emission: a level-3 kernel on its way to an LLVM module.
 *
 * Values. A scalar, pointer or shared buffer is one LLVM value. A vector<T[n]> is not an LLVM
 * vector but an array of parts: n scalars, or packs <2 x T> of 16-bit and <4 x T> of 8-bit elements
 * where n is a multiple of that (a pack is one 32-bit register, as mma, ldmatrix and the packed
 * arithmetic want it). So extract, concat and permute are bookkeeping, and a loop-carried vector is
 * one phi for each register.
 *
 * Only files in lib/codegen see LLVM. */
#ifndef TILE_LIB_CODEGEN_EMITTER_H
#define TILE_LIB_CODEGEN_EMITTER_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "lib/ir/arith.h"
#include "lib/analysis/range.h"
#include "lib/launch/abi.h"
#include "lib/codegen/legal.h"
#include "lib/ir/function.h"
#include "tile/compile.h"

typedef enum tile_machine {
#define MACHINE(name, form, text, overload, marks, feature, ptx) TILE_MACHINE_##name,
#include "lib/codegen/machine.def"
#undef MACHINE
    TILE_MACHINE_FIRST_MMA,
    TILE_MACHINE_BEFORE_MMA = TILE_MACHINE_FIRST_MMA - 1,
#define MMA(name, ...) TILE_MACHINE_mma_##name,
#include "lib/layout/mma.def"
    TILE_MACHINE_COUNT
} tile_machine;

/* Marks of a row. */
enum {
    TILE_MACHINE_NONE = 0,
    TILE_MACHINE_CONVERGENT = 1 << 0,
    TILE_MACHINE_MEMORY = 1 << 1,
    TILE_MACHINE_PURE = 1 << 2,
};

enum { SPACE_GENERIC = 0, SPACE_GLOBAL = 1, SPACE_SHARED = 3, SPACE_CLUSTER = 7 };

enum { TILE_CACHE_POLICIES = 2 };

enum { TILE_RECENT_STEPS = 32 };

/* A loop that is being emitted. */
typedef struct tile_emitted_loop {
    LLVMBasicBlockRef enter; /* runs once if the loop runs; the loop's own blocks come after it */
    const struct tile_emitted_loop *around;
} tile_emitted_loop;

/* base + offset elements, as it was built in a block. */
typedef struct tile_address_step {
    LLVMBasicBlockRef block;
    LLVMTypeRef element;
    LLVMValueRef base, offset, address;
} tile_address_step;

/* What loads through an argument may assume. */
typedef struct tile_arg_facts {
    bool is_read_only; /* nothing in the grid writes what it points to */
} tile_arg_facts;

typedef struct tile_emitter {
    const tile_function *f;
    const tile_emit_options *options;
    tile_arena arena;

    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMTypeRef i1, i8, i16, i32, i64;
    LLVMValueRef callees[TILE_MACHINE_COUNT]; /* declarations; NULL: not called yet */

    LLVMValueRef **parts; /* by value id; NULL: not computed yet */
    LLVMValueRef shared;  /* the block's shared memory, from its start; NULL: none */
    LLVMValueRef only_if; /* what is emitted happens under this predicate; NULL: always */
    LLVMValueRef warp;    /* this warp's number, for roles; NULL: there are none */
    unsigned ptx_version; /* that the code is written in */
    LLVMValueRef policies[TILE_CACHE_POLICIES], hidden_zero; /* cache.c's; NULL: not used yet */
    struct {
        const tile_expr *condition;
        unsigned policy;
        LLVMValueRef value;
    } conditional[4]; /* cache.c's, the last ones */
    unsigned conditional_count;
    unsigned text_count;     /* print.c's */
    LLVMValueRef last_bound; /* in the entry block: where arguments have their values; or NULL */
    struct {
        LLVMBasicBlockRef block;
        LLVMValueRef address, hidden;
    } last_hide;                   /* cache.c's: copies in a row often start from one address */
    const tile_emitted_loop *loop; /* the innermost one; NULL: none */
    tile_address_step steps[TILE_RECENT_STEPS]; /* address.c's: the last ones built, a ring */
    unsigned next_step;
    tile_op *products; /* wgmma.c's: those that wait for the last one in their row */
    size_t product_count, product_capacity;
    bool fence_waits; /* wgmma.c's: a fence is made with the products behind it */
    tile_op *mmas;    /* matrix.c's: likewise, of sums that are held */
    size_t mma_count, mma_capacity;
    struct tile_sums *sums; /* sums.c's */
    LLVMValueRef clean_base, plain_base;
    LLVMValueRef *table_bases; /* of each table */
    const tile_table *tables;
    unsigned table_count;
    LLVMValueRef *map_bases; /* the parameter of each tensor map */
    const tile_map *maps;
    unsigned map_count;
    LLVMValueRef stamp_base, stamp_limit, stamp_count; /* stamps.c's; NULL: there are none */
    tile_arg_facts *args;
    const uint32_t *uses;     /* by value id: how many */
    uint16_t *depths;         /* by value id: address.c's notes */
    const tile_range *ranges; /* by value id; NULL: nobody has asked yet */

    bool is_marked;         /* the line table leads to operations: see lines.c */
    LLVMDIBuilderRef lines; /* NULL: no line table */
    LLVMMetadataRef line_scope, line_here;
    LLVMMetadataRef *line_files;  /* by source index */
    LLVMMetadataRef *line_scopes; /* by source index: the kernel, as seen from that file */
    uint32_t line_file_count;
} tile_emitter;

/* machine.c: calls of intrinsics; ptx.h has those of inline PTX */
LLVMValueRef tile_machine_call(tile_emitter *e, tile_machine machine, LLVMValueRef *args,
                               unsigned count);
LLVMValueRef tile_machine_call_typed(tile_emitter *e, tile_machine machine, LLVMTypeRef result,
                                     LLVMValueRef *args, unsigned count);
/* Bounds what a call returns: low <= result < high. */
void tile_machine_set_range(tile_emitter *e, LLVMValueRef call, uint32_t low, uint32_t high);
/* A row's columns: the intrinsic's name or the template; the marks; what a target must have and
 * the least PTX version. */
const char *tile_machine_text(tile_machine machine);
unsigned tile_machine_marks(tile_machine machine);
tile_feature tile_machine_feature(tile_machine machine);
unsigned tile_machine_ptx(tile_machine machine);
/* Puts a row's marks on a call of it. */
void tile_machine_mark(tile_emitter *e, tile_machine machine, LLVMValueRef call);
bool tile_machine_is_ptx(tile_machine machine); /* inline PTX, not an intrinsic */
/* True if the row's intrinsic takes any type, pairs too. */
bool tile_machine_is_overloaded(tile_machine machine);
/* True if LLVM knows the row's intrinsic by exactly this name, or it needs none. */
bool tile_machine_exists(tile_machine machine);
/* The row an operation is emitted as, TILE_MACHINE_COUNT if it is not one instruction. */
tile_machine tile_machine_of_op(const tile_function *f, tile_op op);
/* Of a cp_async: with a cache policy or without, under a condition or not; in a version of PTX, 0:
 * the row that needs least. */
tile_machine tile_cp_async_machine(const tile_function *f, tile_op op, bool hinted,
                                   bool conditional, unsigned ptx_version);

/* atomic.c: the row that an atomic operation needs most for on such a target; atom_cas where it is
 * a loop for each element. uses: of each value (tile_count_uses). */
tile_machine tile_atomic_machine(const tile_function *f, tile_op op, const tile_target *target,
                                 const uint32_t *uses);

/* value.c: how values are held */
LLVMTypeRef tile_llvm_scalar(const tile_emitter *e, tile_scalar scalar);
/* How many elements one part holds: 1, or as many as fill a 32-bit register. */
unsigned tile_pack(const tile_type *type);
unsigned tile_part_count(const tile_type *type);
LLVMTypeRef tile_part_type(const tile_emitter *e, const tile_type *type);
LLVMValueRef *tile_new_parts(tile_emitter *e, const tile_type *type);
LLVMValueRef *tile_get_parts(tile_emitter *e, tile_value value);
LLVMValueRef tile_get_scalar(tile_emitter *e, tile_value value);
/* An operand that may be left out: NULL then. */
LLVMValueRef tile_get_operand(tile_emitter *e, tile_op op, tile_operand_name name);
/* The operand `predicate`: NULL without one, or with one that is true anyway. */
LLVMValueRef tile_get_predicate(tile_emitter *e, tile_op op);
/* What never happens is not emitted. */
bool tile_is_always_false(LLVMValueRef predicate);
LLVMValueRef tile_get_element(tile_emitter *e, tile_value value, unsigned index);
void tile_set_parts(tile_emitter *e, tile_value value, LLVMValueRef *parts);
void tile_set_scalar(tile_emitter *e, tile_value value, LLVMValueRef scalar);
/* elements: one LLVM scalar for each element of the value's type */
void tile_set_elements(tile_emitter *e, tile_value value, const LLVMValueRef *elements);
LLVMValueRef tile_llvm_int(LLVMTypeRef type, int64_t value);

/* matrix.c: emits the products that wait for the last one in their row. */
void tile_flush_mmas(tile_emitter *e);

/* One function for each operation of level 3, tile_emit_<op>; the element-wise ones share one. */
#define EMITTED_L0(name)
#define EMITTED_L1(name)
#define EMITTED_L2(name)
#define EMITTED_L12(name)
#define EMITTED_L123(name) EMITTED_L3(name)
#define EMITTED_L3(name) void tile_emit_##name(tile_emitter *e, tile_op op);
#define EMITTED_L23(name) EMITTED_L3(name)
#define EMITTED_L023(name) EMITTED_L3(name)
#define EMITTED_LX(name) EMITTED_L3(name)
#define OP(number, name, levels, ...) EMITTED_##levels(name)
#define ELEMENTWISE_OP(...)
#include "tile/ops.def"
/* arith.c: by the rows of arith.def */
void tile_emit_elementwise(tile_emitter *e, tile_op op);
/* Elementwise operations in a row on long vectors, from `first` on: all of them for some parts,
 * then for the next ones, so that what lies between the first and the last takes registers for
 * some. False if there is no such row; else *next is the operation behind it, or none. */
bool tile_emit_run(tile_emitter *e, tile_op first, tile_op *next);
/* True if arith.def has nothing for elements of this type. */
bool tile_emit_is_missing(tile_opcode opcode, tile_scalar scalar);
void tile_emit_select(tile_emitter *e, tile_op op);
void tile_emit_splat(tile_emitter *e, tile_op op);
void tile_emit_bitcast(tile_emitter *e, tile_op op);
/* stamps.c: nothing without options->stamps. begin: in the entry block; end: before the return. */
void tile_stamps_begin(tile_emitter *e);
void tile_stamps_put(tile_emitter *e, tile_op op, bool behind);
void tile_stamps_end(tile_emitter *e);
/* arith.c: floats to whole numbers. */
tile_machine tile_machine_of_rounding(tile_rounding rounding);

/* math.c: of an f32 or f64; fast: by the machine's approximation alone, where it has one. */
#define FUNCTION(name, fast_body) \
    LLVMValueRef tile_math_##name(tile_emitter *e, LLVMValueRef x, bool fast);
#include "lib/codegen/math.def"
/* cast.c */
void tile_emit_cast(tile_emitter *e, tile_op op);
/* The conversion instruction between the types that not all targets have, TILE_MACHINE_COUNT where
 * other instructions do it. */
tile_machine tile_cast_machine(tile_scalar from, tile_scalar to, const tile_target *target);
/* What a loop-carried i32 is at the head of every round of `copies` iterations: true if that is
 * always the same constant. */
bool tile_loop_is_periodic(const tile_function *f, tile_op loop, unsigned carried, int64_t copies,
                           int64_t *value);
/* address.c: where the element (a base and its offset in elements) lies that is this operand. */
LLVMValueRef tile_emit_address(tile_emitter *e, tile_op op, tile_operand_name operand);
/* The same, all but a constant at its end hidden (cache.c). */
LLVMValueRef tile_emit_hidden_address(tile_emitter *e, tile_op op, tile_operand_name operand);
/* An element-wise operation on values of one LLVM type: i1 from comparisons. b: NULL if it has one
 * operand. For host expressions, and loops of compare and swap. */
LLVMValueRef tile_emit_int_op(tile_emitter *e, tile_opcode opcode, LLVMValueRef a, LLVMValueRef b);

/* kernel.c: a host expression over arguments, as i64 code */
LLVMValueRef tile_emit_expr(tile_emitter *e, const tile_expr *expr);

/* cache.c: what an access says to the caches. */
typedef struct tile_cache_hint {
    tile_machine machine; /* what the access is emitted as; TILE_MACHINE_COUNT: it says nothing */
    unsigned policy;      /* the L2's; TILE_CACHE_POLICIES: none */
    const tile_expr *condition; /* under which it holds; NULL: always */
} tile_cache_hint;
/* Of ld_global, st_global or cp_async. read_only: it goes through the non-coherent cache. */
tile_cache_hint tile_find_cache_hint(const tile_function *f, tile_op op, bool read_only);
/* Whether the operation has something to say that target and PTX version can. remark: where they
 * cannot, the user is told. */
bool tile_check_cache_hint(const tile_function *f, tile_op op, const tile_target *target,
                           unsigned ptx_version, bool remark);
LLVMValueRef tile_emit_cache_policy(tile_emitter *e, tile_cache_hint hint);
/* A shared address, in a register of which ptxas does not know how it was computed. */
LLVMValueRef tile_emit_hidden(tile_emitter *e, LLVMValueRef address);

/* memory.c: what is loaded does not change while the kernel runs */
void tile_mark_read_only(tile_emitter *e, LLVMValueRef load);

/* roles.c: at the kernel's beginning; and the number of op's group, where there are several */
void tile_prepare_roles(tile_emitter *e);
LLVMValueRef tile_emit_group(tile_emitter *e, tile_op op);
/* op waits or arrives at this barrier; NULL: at its own. */
void tile_emit_barrier(tile_emitter *e, tile_op op, LLVMValueRef number);
/* What `and` op masks, without the bits of the lane where a thread's number is masked by those of
 * warps: with roles, what is computed of it is uniform for ptxas. */
LLVMValueRef tile_emit_masked(tile_emitter *e, tile_op op, LLVMValueRef number);

/* recompute_predicates.c: behind a loop, what is stored there is bounded by comparisons that are
 * made again, where the loop would have to hold more of them than there are predicate registers */
void tile_recompute_predicates(tile_emitter *e, tile_op loop);

/* operation.c: one operation, and the whole body */
void tile_emit_op(tile_emitter *e, tile_op op);
void tile_emit_region(tile_emitter *e, tile_region region);
bool tile_emit_can(tile_opcode opcode);

/* kernel.c */
void tile_emit_kernel(tile_emitter *e);

/* lines.c: source places; of TILE_NO_OP the kernel's */
void tile_lines_begin(tile_emitter *e);
void tile_lines_set(tile_emitter *e, tile_op op);
/* At the end of this block, in the place in the source that was set last: LLVM takes the place of
 * the instruction that something was built before. */
void tile_return_to(tile_emitter *e, LLVMBasicBlockRef block);
void tile_lines_end(tile_emitter *e);

#endif
