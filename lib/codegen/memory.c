/* Accesses to global and shared memory, copies between them, and synchronization words of blocks.
 *
 * An access moves consecutive elements of at most 16 bytes, in 32-bit words, or in one word of 16
 * or 8 bits if it is smaller. Without a predicate it is a plain LLVM load or store. With a
 * predicate it is inline PTX, since LLVM would make a branch of it. An access with a cache hint is
 * inline PTX as well; without a predicate it gets one that is always true, which ptxas removes. */
#include <string.h>

#include "lib/codegen/ptx.h"
#include "lib/codegen/sums.h"
#include "lib/ops/atomic.h"

/* Words ---------------------------------------------------------------------------------------- */

typedef struct access {
    const tile_type *type; /* of the loaded or stored value */
    unsigned words;
    unsigned bits; /* of a word */
    LLVMTypeRef word;
} access;

enum { MAX_WORDS = 4 };

static access access_of(const tile_emitter *e, const tile_type *type) {
    unsigned bytes = (unsigned)tile_type_elements(type) * tile_scalar_bytes(type->scalar);
    if (bytes >= 4) return (access){type, bytes / 4, 32, e->i32};
    return bytes == 2 ? (access){type, 1, 16, e->i16} : (access){type, 1, 8, e->i8};
}

static LLVMTypeRef memory_type(const access *a) {
    return a->words > 1 ? LLVMVectorType(a->word, a->words) : a->word;
}

static unsigned part_bits(const tile_type *type) {
    return 8 * tile_scalar_bytes(type->scalar) * tile_pack(type);
}

/* A part as it is in memory: a truth value takes a byte. */
static LLVMValueRef to_memory(tile_emitter *e, const tile_type *type, LLVMValueRef part) {
    return type->scalar == TILE_i1 ? LLVMBuildZExt(e->builder, part, e->i8, "") : part;
}

static LLVMValueRef from_memory(tile_emitter *e, const tile_type *type, LLVMValueRef part) {
    if (type->scalar != TILE_i1)
        return LLVMBuildBitCast(e->builder, part, tile_part_type(e, type), "");
    return LLVMBuildICmp(e->builder, LLVMIntNE, part, tile_llvm_int(e->i8, 0), "");
}

static LLVMValueRef lane(tile_emitter *e, LLVMValueRef vector, unsigned index) {
    return LLVMBuildExtractElement(e->builder, vector, tile_llvm_int(e->i32, index), "");
}

static LLVMValueRef put_lane(tile_emitter *e, LLVMValueRef vector, LLVMValueRef value,
                             unsigned index) {
    return LLVMBuildInsertElement(e->builder, vector, value, tile_llvm_int(e->i32, index), "");
}

static void split_words(tile_emitter *e, const access *a, LLVMValueRef *parts,
                        LLVMValueRef *words) {
    unsigned bits = part_bits(a->type), ratio = bits / a->bits;
    for (unsigned p = 0; bits > a->bits && p < tile_part_count(a->type); p++) {
        LLVMValueRef all =
            LLVMBuildBitCast(e->builder, parts[p], LLVMVectorType(a->word, ratio), "");
        for (unsigned w = 0; w < ratio; w++) words[p * ratio + w] = lane(e, all, w);
    }
    ratio = bits <= a->bits ? a->bits / bits : 0;
    for (unsigned w = 0; ratio && w < a->words; w++) {
        LLVMValueRef word = to_memory(e, a->type, parts[w * ratio]);
        if (ratio > 1) {
            LLVMTypeRef small = LLVMTypeOf(word);
            word = put_lane(e, LLVMGetPoison(LLVMVectorType(small, ratio)), word, 0);
            for (unsigned i = 1; i < ratio; i++)
                word = put_lane(e, word, to_memory(e, a->type, parts[w * ratio + i]), i);
        }
        words[w] = LLVMBuildBitCast(e->builder, word, a->word, "");
    }
}

static void join_words(tile_emitter *e, const access *a, LLVMValueRef *words, LLVMValueRef *parts) {
    unsigned bits = part_bits(a->type), ratio = bits / a->bits;
    for (unsigned p = 0; bits > a->bits && p < tile_part_count(a->type); p++) {
        LLVMValueRef all = LLVMGetPoison(LLVMVectorType(a->word, ratio));
        for (unsigned w = 0; w < ratio; w++) all = put_lane(e, all, words[p * ratio + w], w);
        parts[p] = from_memory(e, a->type, all);
    }
    ratio = bits <= a->bits ? a->bits / bits : 0;
    for (unsigned w = 0; ratio && w < a->words; w++) {
        if (ratio == 1) {
            parts[w] = from_memory(e, a->type, words[w]);
            continue;
        }
        LLVMTypeRef small = LLVMVectorType(bits == 8 ? e->i8 : e->i16, ratio);
        LLVMValueRef all = LLVMBuildBitCast(e->builder, words[w], small, "");
        for (unsigned i = 0; i < ratio; i++)
            parts[w * ratio + i] = from_memory(e, a->type, lane(e, all, i));
    }
}

/* Inline PTX ----------------------------------------------------------------------------------- */

/* ptxas moves loads through the non-coherent cache freely, and ordered loads not at all. */
static bool reads_read_only(const tile_emitter *e, tile_op op) {
    if (tile_op_has_attr(e->f, op, TILE_ATTR_ordered)) return false;
    tile_value source = tile_pointer_source(e->f, tile_operand_src(e->f, op));
    const tile_value_data *base = tile_value_at(e->f, source);
    return base->kind == TILE_VALUE_ARG && e->args[base->index].is_read_only;
}

/* ".v4.b32" */
static void modify(tile_ptx *ptx, const access *a) {
    if (a->words > 1) tile_ptx_modify(ptx, ".v%u", a->words);
    tile_ptx_modify(ptx, ".b%u", a->bits);
}

static tile_cache_hint hint_of(tile_emitter *e, tile_op op, bool read_only) {
    tile_cache_hint none = {TILE_MACHINE_COUNT, TILE_CACHE_POLICIES, NULL};
    bool known = tile_check_cache_hint(e->f, op, e->options->target, e->ptx_version, false);
    return known ? tile_find_cache_hint(e->f, op, read_only) : none;
}

static bool says_something(tile_cache_hint hint) {
    return hint.machine != TILE_MACHINE_COUNT;
}

static void add_predicate(tile_ptx *ptx, LLVMValueRef predicate) {
    if (!predicate) predicate = tile_llvm_int(ptx->e->i1, 1);
    tile_ptx_add_inputs(ptx, &predicate, 1);
}

static void add_policy(tile_ptx *ptx, tile_cache_hint hint) {
    if (!says_something(hint) || hint.policy == TILE_CACHE_POLICIES) return;
    LLVMValueRef policy = tile_emit_cache_policy(ptx->e, hint);
    tile_ptx_add_inputs(ptx, &policy, 1);
}

/* If the predicate is false, the words of the result are `fill`. */
static void load_inline(tile_emitter *e, const access *a, tile_op op, LLVMValueRef address,
                        LLVMValueRef predicate, uint32_t fill, LLVMValueRef *words) {
    LLVMTypeRef types[MAX_WORDS];
    bool global = tile_op_opcode(e->f, op) != TILE_OP_ld_shared;
    bool read_only = global && reads_read_only(e, op);
    tile_cache_hint hint = hint_of(e, op, read_only);
    tile_machine machine = says_something(hint) ? hint.machine
                           : read_only          ? TILE_MACHINE_ld_constant_if
                           : global             ? TILE_MACHINE_ld_global_if
                                                : tile_machine_of_op(e->f, op);
    tile_ptx ptx = tile_ptx_begin(e, machine);
    for (unsigned w = 0; w < a->words; w++) types[w] = a->word;
    modify(&ptx, a);
    if (predicate)
        tile_ptx_add_filled(&ptx, types, a->words, fill);
    else
        tile_ptx_add_results(&ptx, types, a->words);
    tile_ptx_add_address(&ptx, address);
    add_predicate(&ptx, predicate);
    add_policy(&ptx, hint);
    tile_ptx_call(&ptx, words);
}

/* words: NULL if they are hidden registers (sums.c) */
static void store_inline(tile_emitter *e, const access *a, tile_op op, LLVMValueRef address,
                         LLVMValueRef predicate, LLVMValueRef *words) {
    tile_cache_hint hint = hint_of(e, op, false);
    tile_ptx ptx =
        tile_ptx_begin(e, says_something(hint) ? hint.machine : tile_machine_of_op(e->f, op));
    modify(&ptx, a);
    tile_ptx_add_address(&ptx, address);
    add_predicate(&ptx, predicate);
    if (words)
        tile_ptx_add_inputs(&ptx, words, a->words);
    else
        tile_ptx_add_sums(&ptx, tile_sum_registers(e, tile_operand_src(e->f, op)), a->words);
    add_policy(&ptx, hint);
    tile_ptx_call(&ptx, NULL);
}

/* Loads and stores ----------------------------------------------------------------------------- */

/* Marks a load for the non-coherent cache: nvptx-tag-invariant-loads, which would infer this as
 * well, does not run. */
void tile_mark_read_only(tile_emitter *e, LLVMValueRef load) {
    static const char words[] = "invariant.load";
    LLVMSetMetadata(load, LLVMGetMDKindIDInContext(e->llvm, words, sizeof words - 1),
                    LLVMMetadataAsValue(e->llvm, LLVMMDNodeInContext2(e->llvm, NULL, 0)));
}

static void load_plain(tile_emitter *e, const access *a, LLVMValueRef address, bool read_only,
                       LLVMValueRef *words) {
    LLVMValueRef loaded = LLVMBuildLoad2(e->builder, memory_type(a), address, "");
    LLVMSetAlignment(loaded, a->words * a->bits / 8);
    if (read_only) tile_mark_read_only(e, loaded);
    for (unsigned w = 0; w < a->words; w++) words[w] = a->words > 1 ? lane(e, loaded, w) : loaded;
}

/* Words of a pad, a constant: its bits, as often as they fit. */
static uint32_t fill_of(tile_emitter *e, const access *a, tile_value pad) {
    unsigned bits = 8 * tile_scalar_bytes(a->type->scalar);
    uint64_t fill = 0;
    if (!pad.id) return 0;
    LLVMValueRef number =
        LLVMConstBitCast(tile_get_scalar(e, pad), LLVMIntTypeInContext(e->llvm, bits));
    for (unsigned at = 0; at < a->bits; at += bits) fill |= LLVMConstIntGetZExtValue(number) << at;
    return (uint32_t)fill;
}

static void emit_load(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    access a = access_of(e, tile_value_type(e->f, result));
    bool global = tile_op_opcode(e->f, op) == TILE_OP_ld_global;
    LLVMValueRef words[MAX_WORDS], *parts = tile_new_parts(e, a.type);
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_src);
    LLVMValueRef predicate = tile_get_predicate(e, op);
    bool read_only = global && reads_read_only(e, op);
    uint32_t fill = fill_of(e, &a, tile_pad_of_load(e, op));
    if (tile_is_always_false(predicate))
        for (unsigned w = 0; w < a.words; w++) words[w] = LLVMConstInt(a.word, fill, false);
    else if (predicate || (global && says_something(hint_of(e, op, false))))
        load_inline(e, &a, op, address, predicate, fill, words);
    else
        load_plain(e, &a, address, read_only, words);
    join_words(e, &a, words, parts);
    tile_set_parts(e, result, parts);
}

static void emit_store(tile_emitter *e, tile_op op) {
    tile_value src = tile_operand_src(e->f, op);
    access a = access_of(e, tile_value_type(e->f, src));
    LLVMValueRef words[MAX_WORDS];
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_dst),
                 predicate = tile_get_predicate(e, op);
    if (tile_is_always_false(predicate)) return;
    bool is_inline = predicate || says_something(hint_of(e, op, false));
    if (is_inline && tile_sum_registers(e, src) && a.words == tile_part_count(a.type)) {
        tile_flush_mmas(e);
        store_inline(e, &a, op, address, predicate, NULL);
        return;
    }
    split_words(e, &a, tile_get_parts(e, src), words);
    if (is_inline) {
        store_inline(e, &a, op, address, predicate, words);
        return;
    }
    LLVMValueRef all = words[0];
    if (a.words > 1) {
        all = LLVMGetPoison(memory_type(&a));
        for (unsigned w = 0; w < a.words; w++) all = put_lane(e, all, words[w], w);
    }
    LLVMSetAlignment(LLVMBuildStore(e->builder, all, address), a.words * a.bits / 8);
}

void tile_emit_ld_global(tile_emitter *e, tile_op op) {
    emit_load(e, op);
}

void tile_emit_ld_shared(tile_emitter *e, tile_op op) {
    emit_load(e, op);
}

void tile_emit_st_global(tile_emitter *e, tile_op op) {
    emit_store(e, op);
}

void tile_emit_st_shared(tile_emitter *e, tile_op op) {
    emit_store(e, op);
}

/* Unaligned loads -------------------------------------------------------------------------------
 *
 * The elements of a vector of C bytes that begins at any address are in two aligned chunks of C
 * bytes. A chunk is read if it holds an element to be read:
 *
 *     address                    low = address % C
 *        v
 *     [..eeeeee][eeexxx..]       chunk 0: count > 0; chunk 1: low + bytes to be read > C
 *
 * Neighboring lanes read the same chunks, so the second load hits the L1. The words of both are
 * shifted down by `low` bytes: by 8 and by 4 bytes with selects, by less with funnel shifts. The
 * masks of the elements from `count` on are equal for the rows of a tile, and computed once. */

typedef struct unaligned {
    access a;
    unsigned size;     /* bytes of an element */
    unsigned bytes;    /* of the vector */
    LLVMValueRef low;  /* i32: bytes from the start of the first chunk */
    LLVMValueRef bits; /* i32: bits to be read; NULL: all of the vector */
} unaligned;

/* i32: the bits of the elements to be read, from 0 to those of the vector. */
static LLVMValueRef bits_to_read(tile_emitter *e, const unaligned *u, LLVMValueRef count) {
    LLVMValueRef all = tile_llvm_int(e->i32, u->bytes / u->size), none = tile_llvm_int(e->i32, 0);
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSGT, count, all, "");
    count = LLVMBuildSelect(e->builder, more, all, count, "");
    LLVMValueRef some = LLVMBuildICmp(e->builder, LLVMIntSGT, count, none, "");
    count = LLVMBuildSelect(e->builder, some, count, none, "");
    return LLVMBuildMul(e->builder, count, tile_llvm_int(e->i32, 8 * u->size), "");
}

static LLVMValueRef both_hold(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return a && b ? LLVMBuildAnd(e->builder, a, b, "") : a ? a : b;
}

/* words: of both chunks; becomes those of the vector */
static void shift_down(tile_emitter *e, const unaligned *u, LLVMValueRef *words) {
    enum { WORD = 4 };
    unsigned part = u->size < WORD; /* by less than a word, which takes one word more */
    for (unsigned step = u->a.words / 2; step && step * WORD >= u->size; step /= 2) {
        LLVMValueRef bit = LLVMBuildAnd(e->builder, u->low, tile_llvm_int(e->i32, step * WORD), "");
        LLVMValueRef shifts =
            LLVMBuildICmp(e->builder, LLVMIntNE, bit, tile_llvm_int(e->i32, 0), "");
        for (unsigned w = 0; w < u->a.words + step - 1 + part; w++)
            words[w] = LLVMBuildSelect(e->builder, shifts, words[w + step], words[w], "");
    }
    LLVMValueRef amount = LLVMBuildShl(e->builder, u->low, tile_llvm_int(e->i32, 3), "");
    for (unsigned w = 0; part && w < u->a.words; w++) {
        LLVMValueRef args[3] = {words[w + 1], words[w], amount}; /* shifts by amount % 32 */
        words[w] = tile_machine_call(e, TILE_MACHINE_funnel_shift, args, 3);
    }
}

/* Zeros the bits that are not to be read, in pairs of words. */
static void keep_prefix(tile_emitter *e, const unaligned *u, LLVMValueRef *words) {
    enum { PAIR = 64 };
    for (unsigned w = 0; u->bits && w < u->a.words; w += 2) {
        LLVMValueRef bits = u->bits, masks[2], zero = tile_llvm_int(e->i32, 0);
        LLVMTypeRef types[2] = {e->i32, e->i32};
        if (w) {
            bits = LLVMBuildSub(e->builder, bits, tile_llvm_int(e->i32, PAIR), "");
            LLVMValueRef some = LLVMBuildICmp(e->builder, LLVMIntSGT, bits, zero, "");
            bits = LLVMBuildSelect(e->builder, some, bits, zero, "");
        }
        tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_prefix_mask);
        tile_ptx_add_results(&ptx, types, 2);
        tile_ptx_add_inputs(&ptx, &bits, 1);
        tile_ptx_call(&ptx, masks);
        for (unsigned i = 0; i < 2 && w + i < u->a.words; i++)
            words[w + i] = LLVMBuildAnd(e->builder, words[w + i], masks[i], "");
    }
}

/* Loads both chunks, each only if it holds an element to be read. */
static void load_chunks(tile_emitter *e, const unaligned *u, tile_op op, LLVMValueRef at,
                        LLVMValueRef predicate, LLVMValueRef *words) {
    LLVMValueRef chunk =
        LLVMBuildAnd(e->builder, at, tile_llvm_int(e->i64, -(int64_t)u->bytes), "");
    LLVMTypeRef pointer = LLVMTypeOf(tile_emit_address(e, op, TILE_OPERAND_src));
    LLVMValueRef all = tile_llvm_int(e->i32, 8 * u->bytes), first = predicate, end = all;
    if (u->bits) {
        end = u->bits;
        first = both_hold(e, predicate,
                          LLVMBuildICmp(e->builder, LLVMIntSGT, end, tile_llvm_int(e->i32, 0), ""));
    }
    LLVMValueRef skipped = LLVMBuildShl(e->builder, u->low, tile_llvm_int(e->i32, 3), "");
    end = LLVMBuildAdd(e->builder, skipped, end, "");
    LLVMValueRef second =
        both_hold(e, predicate, LLVMBuildICmp(e->builder, LLVMIntSGT, end, all, ""));
    chunk = LLVMBuildIntToPtr(e->builder, chunk, pointer, "");
    load_inline(e, &u->a, op, chunk, first, 0, words);
    LLVMValueRef distance = tile_llvm_int(e->i64, u->bytes);
    chunk = LLVMBuildGEP2(e->builder, e->i8, chunk, &distance, 1, "");
    load_inline(e, &u->a, op, chunk, second, 0, words + u->a.words);
}

/* Emits the loads; the chunks' words follow. */
static unaligned start_unaligned(tile_emitter *e, tile_op op, LLVMValueRef *words) {
    const tile_type *type = tile_value_type(e->f, tile_op_result(e->f, op, 0));
    unaligned u = {.a = access_of(e, type), .size = tile_scalar_bytes(type->scalar)};
    LLVMValueRef predicate = tile_get_predicate(e, op);
    tile_value count = tile_operand_count(e->f, op);
    int64_t known = 0;
    u.bytes = (unsigned)tile_type_elements(type) * u.size;
    bool whole = tile_value_is_int(e->f, count, &known) && known * u.size >= u.bytes;
    if (!whole) u.bits = bits_to_read(e, &u, tile_get_scalar(e, count));
    if (tile_is_always_false(predicate)) {
        u.low = tile_llvm_int(e->i32, 0);
        for (unsigned w = 0; w < 2 * u.a.words; w++) words[w] = LLVMConstNull(u.a.word);
        return u;
    }
    LLVMValueRef at = tile_emit_address(e, op, TILE_OPERAND_src);
    at = LLVMBuildPtrToInt(e->builder, at, e->i64, "");
    u.low = LLVMBuildAnd(e->builder, LLVMBuildTrunc(e->builder, at, e->i32, ""),
                         tile_llvm_int(e->i32, u.bytes - 1), "");
    load_chunks(e, &u, op, at, predicate, words);
    return u;
}

static void finish_unaligned(tile_emitter *e, tile_op op, const unaligned *u, LLVMValueRef *words) {
    LLVMValueRef *parts = tile_new_parts(e, u->a.type);
    shift_down(e, u, words);
    keep_prefix(e, u, words);
    join_words(e, &u->a, words, parts);
    tile_set_parts(e, tile_op_result(e->f, op, 0), parts);
}

static bool is_unaligned(const tile_emitter *e, tile_op op) {
    return op.id && tile_op_opcode(e->f, op) == TILE_OP_ld_global_unaligned;
}

/* The first one of several that follow each other emits the loads of all before the first shift.
 * Else ptxas keeps too few of them in flight. None can depend on another one. */
void tile_emit_ld_global_unaligned(tile_emitter *e, tile_op op) {
    enum { MOST = 16 };
    unaligned started[MOST];
    LLVMValueRef words[MOST][2 * MAX_WORDS];
    tile_op first = op, prev = tile_op_at(e->f, op)->prev;
    unsigned before = 0, count = 0;
    for (; is_unaligned(e, prev); before++) prev = tile_op_at(e->f, prev)->prev;
    if (before % MOST) return;
    for (; count < MOST && is_unaligned(e, op); op = tile_op_next(e->f, op), count++)
        started[count] = start_unaligned(e, op, words[count]);
    for (unsigned i = 0; i < count; i++, first = tile_op_next(e->f, first))
        finish_unaligned(e, first, &started[i], words[i]);
}

void tile_emit_prefetch_l2_thread(tile_emitter *e, tile_op op) {
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_src),
                 predicate = tile_get_predicate(e, op);
    if (tile_is_always_false(predicate)) return;
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_prefetch_l2);
    tile_ptx_add_address(&ptx, address);
    add_predicate(&ptx, predicate);
    tile_ptx_call(&ptx, NULL);
}

/* In 32-bit words; addresses of the block's own shared memory are valid in the cluster as well. */
void tile_emit_st_async(tile_emitter *e, tile_op op) {
    tile_value src = tile_operand_src(e->f, op);
    access a = access_of(e, tile_value_type(e->f, src));
    LLVMValueRef words[MAX_WORDS], predicate = tile_get_predicate(e, op);
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_dst),
                 barrier = tile_emit_address(e, op, TILE_OPERAND_bar);
    if (tile_is_always_false(predicate)) return;
    split_words(e, &a, tile_get_parts(e, src), words);
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_st_async);
    modify(&ptx, &a);
    tile_ptx_add_inputs(&ptx, &address, 1);
    tile_ptx_add_inputs(&ptx, &barrier, 1);
    tile_ptx_add_inputs(&ptx, words, a.words);
    add_predicate(&ptx, predicate);
    tile_ptx_call(&ptx, NULL);
}

/* Asynchronous copies -------------------------------------------------------------------------- */

/* Elements that are out of bounds become zero and are not read: by a predicate, or by the number of
 * bytes to copy. */
static LLVMValueRef zero_operand(tile_emitter *e, tile_value inside, int64_t bytes) {
    LLVMValueRef all = tile_get_scalar(e, inside);
    if (e->ptx_version >= tile_machine_ptx(TILE_MACHINE_cp_async_4i)) return all;
    return LLVMBuildSelect(e->builder, all, tile_llvm_int(e->i32, bytes), tile_llvm_int(e->i32, 0),
                           "");
}

/* copied: the bytes to copy, or the predicate; or NULL. */
static void emit_cp_async(tile_emitter *e, tile_op op, LLVMValueRef copied) {
    tile_cache_hint hint = hint_of(e, op, false);
    bool hinted = says_something(hint);
    LLVMValueRef from = tile_emit_address(e, op, TILE_OPERAND_src);
    LLVMValueRef to = hinted ? tile_emit_hidden_address(e, op, TILE_OPERAND_dst)
                             : tile_emit_address(e, op, TILE_OPERAND_dst);
    tile_machine machine =
        tile_cp_async_machine(e->f, op, hinted, e->only_if != NULL, e->ptx_version);
    LLVMValueRef args[3] = {to, from};
    unsigned count = copied ? 3 : 2;
    args[2] = copied;
    if (!tile_machine_is_ptx(machine)) {
        tile_machine_call(e, machine, args, count);
        return;
    }
    tile_ptx ptx = tile_ptx_begin(e, machine);
    for (unsigned i = 0; i < count; i++)
        if (i < 2)
            tile_ptx_add_address(&ptx, args[i]);
        else
            tile_ptx_add_inputs(&ptx, &args[i], 1);
    add_policy(&ptx, hint);
    if (e->only_if) tile_ptx_add_inputs(&ptx, &e->only_if, 1);
    tile_ptx_call(&ptx, NULL);
}

void tile_emit_cp_async(tile_emitter *e, tile_op op) {
    const tile_values inside = tile_operands_predicate(e->f, op);
    emit_cp_async(
        e, op,
        inside.count ? zero_operand(e, inside.at[0], tile_op_attr_int(e->f, op, TILE_ATTR_bytes, 0))
                     : NULL);
}

/* The elements before the first one are copied as well: they are in the same 16 bytes, and so on
 * the same page. */
void tile_emit_cp_async_part(tile_emitter *e, tile_op op) {
    const tile_type *from = tile_value_type(e->f, tile_operands_src(e->f, op).at[0]);
    LLVMValueRef end = tile_get_scalar(e, tile_operand_end(e->f, op));
    LLVMValueRef size = tile_llvm_int(e->i32, tile_scalar_bytes(from->scalar)),
                 zero = tile_llvm_int(e->i32, 0), whole = tile_llvm_int(e->i32, 16);
    LLVMValueRef bytes = LLVMBuildMul(e->builder, end, size, ""),
                 some = LLVMBuildICmp(e->builder, LLVMIntSGT, bytes, zero, ""),
                 all = LLVMBuildICmp(e->builder, LLVMIntSGT, bytes, whole, "");
    bytes = LLVMBuildSelect(e->builder, some, bytes, zero, "");
    emit_cp_async(e, op, LLVMBuildSelect(e->builder, all, whole, bytes, ""));
}

/* Synchronization words of blocks -------------------------------------------------------------- */

/* LLVM's names of PTX's scopes; on targets without clusters, the cluster's scope is the device. */
static const char *scope_of(const tile_emitter *e, tile_op op) {
    _Static_assert(TILE_WORDS_scope == 4, "gpu is the default, and each other scope has a case");
    switch (tile_op_word(e->f, op, TILE_ATTR_scope)) {
    case TILE_WORD_scope_cta: return "block";
    case TILE_WORD_scope_cluster:
        return tile_target_has(e->options->target, TILE_FEATURE_cluster) ? "cluster" : "device";
    case TILE_WORD_scope_sys: return "";
    default: return "device";
    }
}

static void make_atomic(const tile_emitter *e, LLVMValueRef word, LLVMAtomicOrdering ordering,
                        const char *scope) {
    LLVMSetOrdering(word, ordering);
    LLVMSetAtomicSyncScopeID(word, LLVMGetSyncScopeID(e->llvm, scope, strlen(scope)));
    LLVMSetAlignment(word, 4);
}

static LLVMIntPredicate predicate_of_compare(const tile_emitter *e, tile_op op) {
    _Static_assert(TILE_WORDS_compare == 6,
                   "eq is the default, and each other comparison has a case");
    switch (tile_op_word(e->f, op, TILE_ATTR_compare)) {
    case TILE_WORD_compare_ne: return LLVMIntNE;
    case TILE_WORD_compare_lt: return LLVMIntSLT;
    case TILE_WORD_compare_le: return LLVMIntSLE;
    case TILE_WORD_compare_gt: return LLVMIntSGT;
    case TILE_WORD_compare_ge: return LLVMIntSGE;
    default: return LLVMIntEQ;
    }
}

void tile_emit_wait_acquire(tile_emitter *e, tile_op op) {
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_src);
    LLVMValueRef wanted = tile_get_scalar(e, tile_operand_value(e->f, op));
    LLVMBasicBlockRef again = LLVMAppendBasicBlockInContext(e->llvm, e->function, "wait");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->llvm, e->function, "acquired");
    LLVMBuildBr(e->builder, again);
    LLVMPositionBuilderAtEnd(e->builder, again);
    LLVMValueRef word = LLVMBuildLoad2(e->builder, e->i32, address, "");
    make_atomic(e, word, LLVMAtomicOrderingAcquire, scope_of(e, op));
    LLVMValueRef met = LLVMBuildICmp(e->builder, predicate_of_compare(e, op), word, wanted, "");
    LLVMBuildCondBr(e->builder, met, done, again);
    LLVMPositionBuilderAtEnd(e->builder, done);
}

void tile_emit_st_release(tile_emitter *e, tile_op op) {
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_dst);
    LLVMValueRef value = tile_get_scalar(e, tile_operand_value(e->f, op));
    make_atomic(e, LLVMBuildStore(e->builder, value, address), LLVMAtomicOrderingRelease, "device");
}
