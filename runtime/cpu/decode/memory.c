/* Decoding of ids, references and accesses, at both levels: one function for each operation. */
#include "lib/ops/gather.h"
#include "lib/ops/reduce.h"
#include "lib/ops/shape.h"
#include "runtime/cpu/decode/decode.h"

#include <string.h>

/* Ids and references --------------------------------------------------------------------------- */

void cpu_decode_thread_id(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_thread_id);
}

void cpu_decode_lane_id(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_lane_id);
}

void cpu_decode_warp_id(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_warp_id);
}

/* An operation with three results, x y z. */
static void decode_three(cpu_decoder *d, tile_op op, cpu_handler handler) {
    for (unsigned dim = 0; dim < 3; dim++) {
        cpu_insn *insn = cpu_add_insn(d, op, handler);
        insn->result = cpu_place_of(d, tile_op_result(d->f, op, dim));
        insn->integer = dim;
    }
}

void cpu_decode_block_id(cpu_decoder *d, tile_op op) {
    decode_three(d, op, cpu_run_block_id);
}

void cpu_decode_grid_dim(cpu_decoder *d, tile_op op) {
    decode_three(d, op, cpu_run_grid_dim);
}

void cpu_decode_cluster_rank(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_cluster_rank);
}

void cpu_decode_cluster_id(cpu_decoder *d, tile_op op) {
    decode_three(d, op, cpu_run_cluster_id);
}

void cpu_decode_cluster_dim(cpu_decoder *d, tile_op op) {
    decode_three(d, op, cpu_run_cluster_dim);
}

void cpu_decode_map_shared(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_map_shared);
}

void cpu_decode_view(cpu_decoder *d, tile_op op) {
    const tile_values strides = tile_operands_strides(d->f, op);
    int64_t *sizes = TILE_NEW_ARRAY(&d->program->arena, int64_t, strides.count);
    for (unsigned i = 0; i < strides.count; i++)
        sizes[i] = cpu_value_size(tile_value_type(d->f, strides.at[i]));
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_view);
    insn->second = cpu_places_of(d, strides.at, strides.count);
    insn->order = sizes;
    insn->type = cpu_result_type(d, op);
}

void cpu_decode_im2col(cpu_decoder *d, tile_op op) {
    tile_im2col *windows = TILE_NEW(&d->program->arena, tile_im2col);
    *windows = tile_im2col_of(d->f, op);
    cpu_add_op(d, op, cpu_run_im2col)->windows = windows;
}

void cpu_decode_misalignment(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_misalignment);
}

void cpu_decode_base(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_base);
}

void cpu_decode_scratch(cpu_decoder *d, tile_op op) {
    const tile_values extents = tile_operands_extents(d->f, op);
    cpu_program *p = d->program;
    size_t capacity = p->scratch_count; /* scratch is rare: the array grows by one */
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_scratch);
    insn->type = cpu_result_type(d, op);
    insn->integer = p->scratch_count;
    p->scratch =
        tile_arena_grow(&p->arena, p->scratch, p->scratch_count, &capacity, sizeof *p->scratch);
    cpu_scratch *scratch = &p->scratch[p->scratch_count++];
    *scratch = (cpu_scratch){.rank = extents.count,
                             .element_bytes = tile_scalar_bytes(insn->type->scalar),
                             .clean = tile_op_has_attr(d->f, op, TILE_ATTR_clean),
                             .loc = insn->loc};
    for (unsigned i = 0; i < extents.count && i < TILE_MAX_RANK; i++)
        if (!(scratch->extents[i] = tile_value_as_expr(d->f, extents.at[i])))
            CPU_FAIL(d, scratch->loc,
                     "scratch: the extent of dim %u depends on more than the kernel's arguments",
                     i);
}

void cpu_decode_tile_schedule(cpu_decoder *d, tile_op op) {
    unsigned count;
    const tile_table *tables = tile_table_list(d->f, &d->scratch, &count);
    cpu_add_op(d, op, cpu_run_tile_schedule)->integer = tile_table_index(d->f, op, tables, count);
}

/* Level 2 -------------------------------------------------------------------------------------- */

/* Sets how the last instruction finds its elements, besides the start of its tile. */
static void set_gather(cpu_decoder *d, tile_op op) {
    tile_gather from;
    cpu_insn *insn = &d->program->insns[d->program->insn_count - 1];
    bool masked = tile_op_has_attr(d->f, op, TILE_ATTR_masked);
    if ((tile_is_plain_access(d->f, op) && !masked) || !tile_gather_of(d->f, op, &from)) return;
    cpu_gather *gather = TILE_NEW(&d->program->arena, cpu_gather);
    gather->points = from.shape_rank;
    gather->first = tile_value_type(d->f, from.memory)->stages != NULL;
    gather->predicate = CPU_NO_PLACE;
    gather->within = tile_op_has_attr(d->f, op, TILE_ATTR_in_bounds);
    for (unsigned i = 0; from.index && i < from.rank; i++) {
        const tile_type *type = tile_value_type(d->f, from.index[i]);
        gather->is_tile[i] = type->kind == TILE_TYPE_TILE;
        gather->is_long[i] = type->scalar == TILE_i64;
    }
    if (from.predicate.id) {
        gather->predicate = cpu_place_of(d, from.predicate);
        gather->one_predicate = tile_value_type(d->f, from.predicate)->kind == TILE_TYPE_SCALAR;
    }
    tile_pad_write(d->f, op, from.type->scalar, gather->pad);
    if (masked) memset(gather->pad, UINT8_MAX, sizeof gather->pad); /* NaN for floats */
    insn->gather = gather;
}

static void decode_access(cpu_decoder *d, tile_op op, cpu_handler handler, const tile_type *tile,
                          const tile_type *memory) {
    cpu_insn *insn = cpu_add_op(d, op, handler);
    cpu_set_elements(d, insn, tile);
    insn->type = tile;
    insn->memory = memory;
}

/* insn->integer: the position of the predicate among the operands. */
static void set_predicate_place(const cpu_decoder *d, tile_op op, cpu_insn *insn) {
    insn->integer = tile_place_of(tile_op_opcode(d->f, op), TILE_OPERAND_predicate);
}

/* A load or store of memory operand `memory`. Accesses to a shared buffer are element by
 * element. */
static void decode_transfer(cpu_decoder *d, tile_op op, cpu_handler handler, const tile_type *moved,
                            tile_operand_name memory) {
    const tile_type *type = cpu_operand_type(d, op, memory);
    bool shared = type->kind == TILE_TYPE_SHARED;
    decode_access(d, op, shared ? cpu_run_by_element : handler, moved, type);
    if (shared) set_predicate_place(d, op, &d->program->insns[d->program->insn_count - 1]);
    set_gather(d, op);
    cpu_claim_element(d, op, memory);
}

void cpu_decode_load(cpu_decoder *d, tile_op op) {
    decode_transfer(d, op, cpu_run_load, cpu_result_type(d, op), TILE_OPERAND_src);
}

void cpu_decode_inside(cpu_decoder *d, tile_op op) {
    cpu_handler handler = d->program->lanes > 1 ? cpu_run_inside_lanes : cpu_run_inside;
    decode_access(d, op, handler, cpu_result_type(d, op),
                  cpu_operand_type(d, op, TILE_OPERAND_src));
    set_gather(d, op);
}

void cpu_decode_store(cpu_decoder *d, tile_op op) {
    decode_transfer(d, op, cpu_run_store, cpu_operand_type(d, op, TILE_OPERAND_src),
                    TILE_OPERAND_dst);
}

void cpu_decode_store_async(cpu_decoder *d, tile_op op) {
    decode_access(d, op, cpu_run_store_async, cpu_operand_type(d, op, TILE_OPERAND_src),
                  cpu_operand_type(d, op, TILE_OPERAND_dst));
}

void cpu_decode_load_shared(cpu_decoder *d, tile_op op) {
    decode_access(d, op, cpu_run_load_shared, cpu_result_type(d, op),
                  cpu_operand_type(d, op, TILE_OPERAND_src));
}

void cpu_decode_store_shared(cpu_decoder *d, tile_op op) {
    decode_access(d, op, cpu_run_store_shared, cpu_operand_type(d, op, TILE_OPERAND_src),
                  cpu_operand_type(d, op, TILE_OPERAND_dst));
}

static void decode_copy(cpu_decoder *d, tile_op op, cpu_handler handler) {
    const tile_type *from = cpu_operand_type(d, op, TILE_OPERAND_src);
    bool from_view = from->kind == TILE_TYPE_VIEW;
    cpu_insn *insn = cpu_add_op(d, op, handler);
    insn->type = insn->memory = from_view ? cpu_operand_type(d, op, TILE_OPERAND_dst) : from;
    insn->flag = from_view;
    insn->from = from->scalar;
    if (!from_view) {
        cpu_insn was = *insn;
        insn->index = was.second;
        insn->index_count = was.second_count;
        insn->second = was.index;
        insn->second_count = was.index_count;
    }
    set_gather(d, op);
}

void cpu_decode_copy(cpu_decoder *d, tile_op op) {
    decode_copy(d, op, cpu_run_copy);
}

/* In a pipelined loop, where the pipeline pass will make the groups, it is a synchronous copy. */
void cpu_decode_copy_async(cpu_decoder *d, tile_op op) {
    switch (tile_op_mechanism(d->f, op)) {
    case TILE_MECHANISM_BARRIER:
        decode_copy(d, op, cpu_run_copy_counted);
        cpu_name_barrier(d, op);
        cpu_set_sharing(d, op);
        break;
    case TILE_MECHANISM_BULK_GROUP: decode_copy(d, op, cpu_run_copy_out); break;
    default: decode_copy(d, op, d->pipelined ? cpu_run_copy : cpu_run_copy_async);
    }
}

void cpu_decode_convert_layout(cpu_decoder *d, tile_op op) {
    cpu_add_move(d, op, tile_operand_src(d->f, op), cpu_place_of(d, tile_op_result(d->f, op, 0)));
}

void cpu_decode_scalar(cpu_decoder *d, tile_op op) {
    cpu_add_move(d, op, tile_operand_src(d->f, op), cpu_place_of(d, tile_op_result(d->f, op, 0)));
}

void cpu_decode_iota(cpu_decoder *d, tile_op op) {
    tile_iota *iota = TILE_NEW(&d->program->arena, tile_iota);
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_iota);
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    insn->type = cpu_result_type(d, op);
    insn->iota = iota;
    if (!tile_iota_of(d->f, op, iota))
        CPU_FAIL(d, insn->loc, "iota: its numbers are not known yet: instantiate the kernel first");
}

void cpu_decode_gather(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_gather);
    const tile_attr *axis = tile_op_attr(d->f, op, TILE_ATTR_axis);
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    insn->type = cpu_result_type(d, op);
    insn->memory = cpu_operand_type(d, op, TILE_OPERAND_src);
    insn->from = cpu_operand_type(d, op, TILE_OPERAND_at)->scalar;
    if (!axis || !tile_expr_is_int(axis->expr, &insn->integer))
        CPU_FAIL(d, insn->loc, "gather: its axis is not known yet: instantiate the kernel first");
}

void cpu_decode_reduce(cpu_decoder *d, tile_op op) {
    tile_reduction reduction;
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_reduce);
    insn->type = cpu_operand_type(d, op, TILE_OPERAND_src);
    cpu_set_elements(d, insn, insn->type);
    if (!tile_reduction_of(d->f, op, &reduction))
        CPU_FAIL(d, insn->loc,
                 "reduce: its axis or kind is not known yet: instantiate the kernel "
                 "first");
    insn->kind = reduction.kind;
    insn->flag = tile_op_has_attr(d->f, op, TILE_ATTR_nan);
    insn->integer = reduction.axis;
}

static void decode_rows(cpu_decoder *d, tile_op op) {
    tile_scan scan = tile_scan_of(d->f, op);
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_rows);
    insn->type = cpu_operand_type(d, op, TILE_OPERAND_src);
    cpu_set_elements(d, insn, insn->type);
    insn->integer = tile_op_attr_int(d->f, op, TILE_ATTR_axis, -1);
    insn->kind = scan.kind;
    insn->reverse = scan.reverse;
    insn->exclusive = scan.exclusive;
    insn->flag = tile_op_has_attr(d->f, op, TILE_ATTR_descending);
    if (insn->integer < 0 || (!insn->kind && insn->opcode != TILE_OP_sort))
        CPU_FAIL(d, insn->loc,
                 "%s: its axis or kind is not known yet: instantiate the kernel first",
                 tile_op_name(d->f, op));
}

void cpu_decode_reduce_arg(cpu_decoder *d, tile_op op) {
    tile_value places = tile_op_result(d->f, op, 1);
    decode_rows(d, op);
    cpu_insn *insn = &d->program->insns[d->program->insn_count - 1];
    insn->second = cpu_places_of(d, &places, 1);
    insn->second_count = 1;
}

void cpu_decode_scan(cpu_decoder *d, tile_op op) {
    decode_rows(d, op);
}

void cpu_decode_sort(cpu_decoder *d, tile_op op) {
    decode_rows(d, op);
}

void cpu_decode_histogram(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_histogram);
    cpu_set_elements(d, insn, cpu_operand_type(d, op, TILE_OPERAND_src));
    insn->memory = cpu_result_type(d, op);
}

static void decode_of_warp(cpu_decoder *d, tile_op op, cpu_handler handler) {
    cpu_insn *insn = cpu_add_op(d, op, handler);
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    insn->kind = tile_op_word(d->f, op, TILE_ATTR_kind);
}

void cpu_decode_shfl(cpu_decoder *d, tile_op op) {
    decode_of_warp(d, op, cpu_run_shfl);
}

void cpu_decode_redux(cpu_decoder *d, tile_op op) {
    decode_of_warp(d, op, cpu_run_redux);
}

void cpu_decode_vote(cpu_decoder *d, tile_op op) {
    decode_of_warp(d, op, cpu_run_vote);
}

void cpu_decode_match(cpu_decoder *d, tile_op op) {
    cpu_set_elements(d, cpu_add_op(d, op, cpu_run_match),
                     cpu_operand_type(d, op, TILE_OPERAND_src));
}

void cpu_decode_lock_semaphore(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_lock_semaphore);
}

void cpu_decode_wait_value(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_lock_semaphore)->kind = tile_op_word(d->f, op, TILE_ATTR_compare);
}

void cpu_decode_release_semaphore(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, cpu_run_release_semaphore);
}

/* Level 3 -------------------------------------------------------------------------------------- */

void cpu_decode_insert(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_insert);
    cpu_set_elements(d, insn, cpu_operand_type(d, op, TILE_OPERAND_elements));
    insn->integer = cpu_value_elements(cpu_result_type(d, op));
}

void cpu_decode_extract(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_extract);
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    if (!tile_extract_is_name(d->f, op)) {
        insn->handler = cpu_run_extract_at;
        insn->integer = cpu_value_elements(cpu_operand_type(d, op, TILE_OPERAND_src));
        return;
    }
    tile_value_is_int(d->f, tile_operand_first(d->f, op), &insn->integer);
}

void cpu_decode_permute(cpu_decoder *d, tile_op op) {
    const tile_attr *order = tile_op_attr(d->f, op, TILE_ATTR_order);
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_permute);
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    insn->order = tile_arena_copy(&d->program->arena, order->list, sizeof(int64_t) * order->count);
}

/* An access of a fragment. from: the type of a pointer's index. */
static cpu_insn *add_access(cpu_decoder *d, tile_op op, cpu_handler handler,
                            const tile_type *fragment, tile_operand_name memory) {
    const tile_values values = tile_named_operands(d->f, op, memory);
    cpu_insn *insn = cpu_add_op(d, op, handler);
    cpu_set_elements(d, insn, fragment);
    insn->type = fragment;
    insn->memory = tile_value_type(d->f, values.at[0]);
    insn->from = values.count > 1 ? tile_value_type(d->f, values.at[1])->scalar : TILE_i32;
    return insn;
}

void cpu_decode_ld_global(cpu_decoder *d, tile_op op) {
    bool view = cpu_operand_type(d, op, TILE_OPERAND_src)->kind == TILE_TYPE_VIEW;
    cpu_insn *insn = add_access(d, op, view ? cpu_run_ld_view : cpu_run_ld_global,
                                cpu_result_type(d, op), TILE_OPERAND_src);
    if (!view) return;
    cpu_gather *gather = TILE_NEW(&d->program->arena, cpu_gather);
    tile_pad_write(d->f, op, insn->scalar, gather->pad);
    insn->gather = gather;
}

void cpu_decode_ld_global_unaligned(cpu_decoder *d, tile_op op) {
    add_access(d, op, cpu_run_ld_global_unaligned, cpu_result_type(d, op), TILE_OPERAND_src);
}

/* At level 2 a block has no caches. */
void cpu_decode_prefetch_l2(cpu_decoder *d, tile_op op) {
    (void)d;
    (void)op;
}

void cpu_decode_prefetch_l2_thread(cpu_decoder *d, tile_op op) {
    const tile_type *pointer = cpu_operand_type(d, op, TILE_OPERAND_src);
    add_access(d, op, cpu_run_prefetch, pointer, TILE_OPERAND_src)->size =
        tile_scalar_bytes(pointer->scalar);
}

void cpu_decode_st_global(cpu_decoder *d, tile_op op) {
    bool view = cpu_operand_type(d, op, TILE_OPERAND_dst)->kind == TILE_TYPE_VIEW;
    add_access(d, op, view ? cpu_run_st_view : cpu_run_st_global,
               cpu_operand_type(d, op, TILE_OPERAND_src), TILE_OPERAND_dst)
        ->any_stays = tile_op_has_attr(d->f, op, TILE_ATTR_any_stays);
}

void cpu_decode_ld_shared(cpu_decoder *d, tile_op op) {
    add_access(d, op, cpu_run_ld_shared, cpu_result_type(d, op), TILE_OPERAND_src);
}

void cpu_decode_st_shared(cpu_decoder *d, tile_op op) {
    add_access(d, op, cpu_run_st_shared, cpu_operand_type(d, op, TILE_OPERAND_src),
               TILE_OPERAND_dst)
        ->any_stays = tile_op_has_attr(d->f, op, TILE_ATTR_any_stays);
}

void cpu_decode_ldmatrix(cpu_decoder *d, tile_op op) {
    add_access(d, op, cpu_run_ldmatrix, cpu_result_type(d, op), TILE_OPERAND_src)->flag =
        tile_op_has_attr(d->f, op, TILE_ATTR_trans);
}

void cpu_decode_stmatrix(cpu_decoder *d, tile_op op) {
    add_access(d, op, cpu_run_stmatrix, cpu_operand_type(d, op, TILE_OPERAND_src), TILE_OPERAND_dst)
        ->flag = tile_op_has_attr(d->f, op, TILE_ATTR_trans);
}

void cpu_decode_undefined(cpu_decoder *d, tile_op op) {
    cpu_set_elements(d, cpu_add_op(d, op, cpu_run_undefined), cpu_result_type(d, op));
}

void cpu_decode_cp_async(cpu_decoder *d, tile_op op) {
    const tile_type *pointer = cpu_operand_type(d, op, TILE_OPERAND_src);
    cpu_insn *insn = add_access(d, op, cpu_run_cp_async, pointer, TILE_OPERAND_src);
    insn->size = tile_scalar_bytes(pointer->scalar);
    insn->memory = cpu_operand_type(d, op, TILE_OPERAND_dst);
    insn->integer = tile_op_attr_int(d->f, op, TILE_ATTR_bytes, 16);
}

void cpu_decode_cp_async_part(cpu_decoder *d, tile_op op) {
    enum { CHUNK = 16 };
    cpu_decode_cp_async(d, op);
    cpu_insn *insn = &d->program->insns[d->program->insn_count - 1];
    insn->integer = CHUNK;
    insn->handler = cpu_run_cp_async_part;
}

static cpu_insn *decode_word(cpu_decoder *d, tile_op op, cpu_handler handler,
                             tile_operand_name memory) {
    cpu_insn *insn =
        add_access(d, op, handler, cpu_operand_type(d, op, TILE_OPERAND_value), memory);
    insn->size = sizeof(int32_t);
    return insn;
}

void cpu_decode_wait_acquire(cpu_decoder *d, tile_op op) {
    decode_word(d, op, cpu_run_wait_acquire, TILE_OPERAND_src)->kind =
        tile_op_word(d->f, op, TILE_ATTR_compare);
}

void cpu_decode_st_release(cpu_decoder *d, tile_op op) {
    decode_word(d, op, cpu_run_st_release, TILE_OPERAND_dst);
}

/* Atomic accesses ------------------------------------------------------------------------------ */

/* flag: compare and swap. */
static void finish_atomic(cpu_decoder *d, tile_op op, cpu_insn *insn) {
    insn->kind = tile_op_word(d->f, op, TILE_ATTR_kind);
    insn->flag = tile_op_takes(tile_op_opcode(d->f, op), TILE_OPERAND_expected);
    set_predicate_place(d, op, insn);
}

static const tile_type *moved_type(const cpu_decoder *d, tile_op op) {
    return tile_value_type(d->f, tile_moved_operand(d->f, op));
}

static void decode_atomic_tile(cpu_decoder *d, tile_op op) {
    const tile_type *to = cpu_operand_type(d, op, TILE_OPERAND_dst);
    bool shared = to->kind == TILE_TYPE_SHARED;
    decode_access(d, op, shared ? cpu_run_atomic_shared : cpu_run_atomic, moved_type(d, op), to);
    finish_atomic(d, op, &d->program->insns[d->program->insn_count - 1]);
    set_gather(d, op);
}

void cpu_decode_atomic(cpu_decoder *d, tile_op op) {
    decode_atomic_tile(d, op);
}

void cpu_decode_atomic_cas(cpu_decoder *d, tile_op op) {
    decode_atomic_tile(d, op);
}

static void decode_atomic_thread(cpu_decoder *d, tile_op op) {
    tile_type_kind kind = cpu_operand_type(d, op, TILE_OPERAND_dst)->kind;
    cpu_handler handler = kind == TILE_TYPE_SHARED ? cpu_run_atomic_lanes_shared
                          : kind == TILE_TYPE_VIEW ? cpu_run_atomic_lanes_view
                                                   : cpu_run_atomic_global;
    finish_atomic(d, op, add_access(d, op, handler, moved_type(d, op), TILE_OPERAND_dst));
}

void cpu_decode_atomic_thread(cpu_decoder *d, tile_op op) {
    decode_atomic_thread(d, op);
}

void cpu_decode_atomic_cas_thread(cpu_decoder *d, tile_op op) {
    decode_atomic_thread(d, op);
}
