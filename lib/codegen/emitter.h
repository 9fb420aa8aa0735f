/* The state of one emission: a level-3 kernel that is translated to an LLVM module.
 *
 * Values. A scalar, pointer or shared buffer is one LLVM value. A vector<T[n]> is not an LLVM
 * vector but an array of parts: n scalars, or packs <2 x T> of 16-bit and <4 x T> of 8-bit elements
 * if n is a multiple of that. A pack is one 32-bit register, which is the operand type of mma,
 * ldmatrix and packed arithmetic. So extract, concat and permute emit no code, and a loop-carried
 * vector is one phi per register.
 *
 * Only files in lib/codegen include LLVM. */
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

/* Marks of a row of machine.def. */
enum {
    TILE_MACHINE_NONE = 0,
    TILE_MACHINE_CONVERGENT = 1 << 0,
    TILE_MACHINE_MEMORY = 1 << 1,
    TILE_MACHINE_PURE = 1 << 2,
};

enum { SPACE_GENERIC = 0, SPACE_GLOBAL = 1, SPACE_SHARED = 3, SPACE_CLUSTER = 7 };

/* Of the block's shared memory. */
enum { TILE_SHARED_ALIGNMENT = 1024 };

enum { TILE_CACHE_POLICIES = 2 };

enum { TILE_RECENT_STEPS = 32 };

/* A loop that is being emitted. */
typedef struct tile_emitted_loop {
    LLVMBasicBlockRef enter; /* runs once if the loop runs; the loop's own blocks come after it */
    const struct tile_emitted_loop *around;
} tile_emitted_loop;

/* base + offset elements, as computed in a block. */
typedef struct tile_address_step {
    LLVMBasicBlockRef block;
    LLVMTypeRef element;
    LLVMValueRef base, offset, address;
} tile_address_step;

/* What loads through an argument may assume. */
typedef struct tile_arg_facts {
    bool is_read_only; /* nothing in the grid writes its memory */
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
    LLVMValueRef shared;  /* start of the block's shared memory; NULL: none */
    LLVMValueRef only_if; /* predicate of all emitted accesses; NULL: none */
    LLVMValueRef warp;    /* this warp's number, for roles; NULL: no roles */
    unsigned ptx_version; /* of the emitted code */
    LLVMValueRef policies[TILE_CACHE_POLICIES], hidden_zero; /* of cache.c; NULL: not used yet */
    struct {
        const tile_expr *condition;
        unsigned policy;
        LLVMValueRef value;
    } conditional[4]; /* of cache.c: the most recent ones */
    unsigned conditional_count;
    unsigned text_count;     /* of print.c */
    LLVMValueRef last_bound; /* last instruction in the entry block that arguments need; or NULL */
    struct {
        LLVMBasicBlockRef block;
        LLVMValueRef address, hidden;
    } last_hide;                   /* of cache.c: adjacent copies often share one address */
    const tile_emitted_loop *loop; /* the innermost one; NULL: none */
    tile_address_step steps[TILE_RECENT_STEPS]; /* of address.c: the latest, a ring buffer */
    unsigned next_step;
    tile_op *products; /* of wgmma.c: a run of products, emitted with its last one */
    size_t product_count, product_capacity;
    bool fence_waits; /* of wgmma.c: the fence is emitted with the products after it */
    tile_op *mmas;    /* of matrix.c: likewise, for sums in hidden registers */
    size_t mma_count, mma_capacity;
    struct tile_sums *sums; /* of sums.c */
    LLVMValueRef clean_base, plain_base;
    LLVMValueRef *table_bases; /* of each table */
    const tile_table *tables;
    unsigned table_count;
    LLVMValueRef *map_bases; /* the parameter of each tensor map */
    const tile_map *maps;
    unsigned map_count;
    LLVMValueRef stamp_base, stamp_limit, stamp_count; /* of stamps.c; NULL: no stamps */
    tile_arg_facts *args;
    const uint32_t *uses;     /* by value id: number of uses */
    uint16_t *depths;         /* by value id: loop depths, of address.c */
    const tile_range *ranges; /* by value id; NULL: not computed yet */

    bool is_marked;         /* the line table leads to operations: see lines.c */
    LLVMDIBuilderRef lines; /* NULL: no line table */
    LLVMMetadataRef line_scope, line_here;
    LLVMMetadataRef *line_files;  /* by source index */
    LLVMMetadataRef *line_scopes; /* by source index: the kernel's scope in that file */
    uint32_t line_file_count;
} tile_emitter;

/* machine.c: calls of intrinsics; inline PTX is in ptx.h */
LLVMValueRef tile_machine_call(tile_emitter *e, tile_machine machine, LLVMValueRef *args,
                               unsigned count);
LLVMValueRef tile_machine_call_typed(tile_emitter *e, tile_machine machine, LLVMTypeRef result,
                                     LLVMValueRef *args, unsigned count);
/* Sets the range of a call's result: low <= result < high. */
void tile_machine_set_range(tile_emitter *e, LLVMValueRef call, uint32_t low, uint32_t high);
/* A row's columns: the intrinsic's name or the template, the marks, the required target feature and
 * the lowest PTX version. */
const char *tile_machine_text(tile_machine machine);
unsigned tile_machine_marks(tile_machine machine);
tile_feature tile_machine_feature(tile_machine machine);
unsigned tile_machine_ptx(tile_machine machine);
/* Puts a row's marks on a call of it. */
void tile_machine_mark(tile_emitter *e, tile_machine machine, LLVMValueRef call);
bool tile_machine_is_ptx(tile_machine machine); /* inline PTX, not an intrinsic */
/* True if the row's intrinsic takes any type, including pairs. */
bool tile_machine_is_overloaded(tile_machine machine);
/* True if LLVM has an intrinsic of exactly this name, or the row needs none. */
bool tile_machine_exists(tile_machine machine);
/* The row as which an operation is emitted, TILE_MACHINE_COUNT if it is not one instruction. */
tile_machine tile_machine_of_op(const tile_function *f, tile_op op);
/* The row of a cp_async, with or without a cache policy and a condition, in a PTX version. 0: the
 * row with the lowest requirements. */
tile_machine tile_cp_async_machine(const tile_function *f, tile_op op, bool hinted,
                                   bool conditional, unsigned ptx_version);

/* atomic.c: the row with the highest requirements that an atomic operation needs on this target;
 * atom_cas if it is a loop for each element. uses: of each value (tile_count_uses). */
tile_machine tile_atomic_machine(const tile_function *f, tile_op op, const tile_target *target,
                                 const uint32_t *uses);

/* value.c: the representation of values as LLVM values */
LLVMTypeRef tile_llvm_scalar(const tile_emitter *e, tile_scalar scalar);
/* Returns how many elements one part holds: 1, or as many as fill a 32-bit register. */
unsigned tile_pack(const tile_type *type);
unsigned tile_part_count(const tile_type *type);
LLVMTypeRef tile_part_type(const tile_emitter *e, const tile_type *type);
LLVMValueRef *tile_new_parts(tile_emitter *e, const tile_type *type);
LLVMValueRef *tile_get_parts(tile_emitter *e, tile_value value);
LLVMValueRef tile_get_scalar(tile_emitter *e, tile_value value);
/* Returns NULL if the optional operand is absent. */
LLVMValueRef tile_get_operand(tile_emitter *e, tile_op op, tile_operand_name name);
/* The operand `predicate`: NULL if it is absent or always true. */
LLVMValueRef tile_get_predicate(tile_emitter *e, tile_op op);
/* Operations with an always false predicate are not emitted. */
bool tile_is_always_false(LLVMValueRef predicate);
LLVMValueRef tile_get_element(tile_emitter *e, tile_value value, unsigned index);
void tile_set_parts(tile_emitter *e, tile_value value, LLVMValueRef *parts);
void tile_set_scalar(tile_emitter *e, tile_value value, LLVMValueRef scalar);
/* elements: one LLVM scalar for each element of the value's type */
void tile_set_elements(tile_emitter *e, tile_value value, const LLVMValueRef *elements);
LLVMValueRef tile_llvm_int(LLVMTypeRef type, int64_t value);

/* matrix.c: emits the queued run of products. */
void tile_flush_mmas(tile_emitter *e);

/* One function for each operation of level 3, tile_emit_<op>; element-wise operations share one. */
#define EMITTED_L0(name)
#define EMITTED_L1(name)
#define EMITTED_L2(name)
#define EMITTED_L12(name)
#define EMITTED_L123(name) EMITTED_L3(name)
#define EMITTED_INLINED(name)
#define EMITTED_EXPANDED(name)
#define EMITTED_L3(name) void tile_emit_##name(tile_emitter *e, tile_op op);
#define EMITTED_L23(name) EMITTED_L3(name)
#define EMITTED_L023(name) EMITTED_L3(name)
#define EMITTED_LX(name) EMITTED_L3(name)
#define OP(number, name, levels, ...) EMITTED_##levels(name)
#define ELEMENTWISE_OP(...)
#include "tile/ops.def"
/* arith.c: by the rows of arith.def */
void tile_emit_elementwise(tile_emitter *e, tile_op op);
/* Emits a run of element-wise operations on long vectors that begins at `first`: all of them for a
 * few parts, then all for the next parts, so that their intermediate values take few registers.
 * Returns false if there is no run; else *next is the operation after it, or none. */
bool tile_emit_run(tile_emitter *e, tile_op first, tile_op *next);
/* Returns whether arith.def has no code for elements of this type. */
bool tile_emit_is_missing(tile_opcode opcode, tile_scalar scalar);
void tile_emit_select(tile_emitter *e, tile_op op);
void tile_emit_splat(tile_emitter *e, tile_op op);
void tile_emit_bitcast(tile_emitter *e, tile_op op);
/* stamps.c: does nothing without options->stamps. begin: in the entry block; end: before the
 * return. */
void tile_stamps_begin(tile_emitter *e);
void tile_stamps_put(tile_emitter *e, tile_op op, bool behind);
void tile_stamps_end(tile_emitter *e);
/* quotient.c: the quotient of a div {fast}; NULL if it is another operation, or needs the code of
 * one without `fast`. */
LLVMValueRef tile_emit_quotient(tile_emitter *e, tile_op op, const LLVMValueRef *args);
/* arith.c: floats to whole numbers. */
tile_machine tile_machine_of_rounding(tile_rounding rounding);

/* math.c: functions of f32 or f64; fast: only the machine's approximation, if it has one. */
typedef LLVMValueRef tile_math_function(tile_emitter *e, const LLVMValueRef *args, bool fast);
#define FUNCTION(name, fast_body) tile_math_function tile_math_##name;
#define FUNCTION_OF_TWO(name) tile_math_function tile_math_##name;
#include "lib/codegen/math.def"
/* Calls a function for each element of parts of any float type; 16-bit floats are computed in f32.
 */
LLVMValueRef tile_emit_math(tile_emitter *e, tile_math_function *function, unsigned arity,
                            bool fast, const LLVMValueRef *args);
/* cast.c */
void tile_emit_cast(tile_emitter *e, tile_op op);
/* The conversion instruction between types that not all targets support; TILE_MACHINE_COUNT if
 * other instructions do it. */
tile_machine tile_cast_machine(tile_scalar from, tile_scalar to, const tile_target *target);
/* Returns whether a loop-carried i32 has the same constant value at the beginning of every group of
 * `copies` iterations, and that value. */
bool tile_loop_is_periodic(const tile_function *f, tile_op loop, unsigned carried, int64_t copies,
                           int64_t *value);
/* address.c: the address of this operand's element (a base and its offset in elements). */
LLVMValueRef tile_emit_address(tile_emitter *e, tile_op op, tile_operand_name operand);
/* The constant that the elements of a global load become where its predicate is false, by the
 * select that is the only use of the load: the load itself returns it, and the select nothing else.
 * None if there is no such select. */
tile_value tile_pad_of_load(const tile_emitter *e, tile_op load);
/* The same, with all but a trailing constant hidden from ptxas (cache.c). */
LLVMValueRef tile_emit_hidden_address(tile_emitter *e, tile_op op, tile_operand_name operand);
/* An element-wise operation on values of one LLVM type; comparisons return i1. b, c: NULL if the
 * operation has fewer operands. For host expressions and compare-and-swap loops. */
LLVMValueRef tile_emit_int_op(tile_emitter *e, tile_opcode opcode, tile_scalar scalar,
                              LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

/* kernel.c: a host expression over arguments, as i64 code */
LLVMValueRef tile_emit_expr(tile_emitter *e, const tile_expr *expr);

/* cache.c: the cache hint of an access. */
typedef struct tile_cache_hint {
    tile_machine machine; /* row as which the access is emitted; TILE_MACHINE_COUNT: no hint */
    unsigned policy;      /* the L2 policy; TILE_CACHE_POLICIES: none */
    const tile_expr *condition; /* under which the hint holds; NULL: always */
} tile_cache_hint;
/* The hint of a global load, st_global or cp_async. read_only: it uses the non-coherent cache. */
tile_cache_hint tile_find_cache_hint(const tile_function *f, tile_op op, bool read_only);
/* Returns whether the operation has a cache hint that target and PTX version support. remark:
 * report a hint that they do not support. */
bool tile_check_cache_hint(const tile_function *f, tile_op op, const tile_target *target,
                           unsigned ptx_version, bool remark);
LLVMValueRef tile_emit_cache_policy(tile_emitter *e, tile_cache_hint hint);
/* Moves a shared address into a register whose computation ptxas cannot see. */
LLVMValueRef tile_emit_hidden(tile_emitter *e, LLVMValueRef address);

/* memory.c: the loaded memory does not change while the kernel runs. */
void tile_mark_read_only(tile_emitter *e, LLVMValueRef load);

/* roles.c: called at the kernel's entry. The other function returns the number of op's group, if
 * there are several. */
void tile_prepare_roles(tile_emitter *e);
LLVMValueRef tile_emit_group(tile_emitter *e, tile_op op);
/* op waits at or arrives at this barrier; NULL: at its own. */
void tile_emit_barrier(tile_emitter *e, tile_op op, LLVMValueRef number);
/* Returns the operand that `and` op masks. If it masks a thread's number with bits of the warp
 * number only, the lane bits are cleared beforehand: with roles, ptxas then sees that the result is
 * uniform. */
LLVMValueRef tile_emit_masked(tile_emitter *e, tile_op op, LLVMValueRef number);

/* recompute_predicates.c: recomputes, after a loop, the comparisons that bound the stores there, if
 * the loop would have to keep more of them live than there are predicate registers. */
void tile_recompute_predicates(tile_emitter *e, tile_op loop);

/* operation.c: one operation, and the whole body */
void tile_emit_op(tile_emitter *e, tile_op op);
void tile_emit_region(tile_emitter *e, tile_region region);
bool tile_emit_can(tile_opcode opcode);

/* kernel.c */
void tile_emit_kernel(tile_emitter *e);

/* lines.c: source locations; of TILE_NO_OP the kernel's. */
void tile_lines_begin(tile_emitter *e);
void tile_lines_set(tile_emitter *e, tile_op op);
/* Moves the builder to the end of this block and keeps the source location that was set last: LLVM
 * would take the location of the instruction at the insertion point. */
void tile_return_to(tile_emitter *e, LLVMBasicBlockRef block);
void tile_lines_end(tile_emitter *e);

#endif
