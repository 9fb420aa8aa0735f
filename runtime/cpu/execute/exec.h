/* The handlers of all operations that are not arithmetic, and what they share. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_EXEC_H
#define TILE_RUNTIME_CPU_EXECUTE_EXEC_H

#include "runtime/cpu/sanitize/check.h"
#include "runtime/cpu/sanitize/global_shadow.h"

#define CPU_HANDLER(name) cpu_outcome name(cpu_run *run, cpu_agent *agent, const cpu_insn *insn)

/* math.c: the handler of a function that math_bodies.h computes, at level 3; insn->flag: {fast}.
 * NULL of other operations. */
cpu_handler cpu_math_handler(tile_opcode opcode);
/* arith.c: the handler of an element-wise operation on elements of this type, NULL if arith.def has
 * no meaning for them. from: the type that a cast converts. */
/* plain: the operation has no attributes. */
cpu_handler cpu_arith_handler(tile_opcode opcode, tile_scalar scalar, tile_scalar from, bool plain);

/* barrier.c: the agent comes to barrier `number`, where `wanted` warps meet, and waits for them or
 * goes on. What waits starts again behind the instruction. */
cpu_outcome cpu_arrive_at_barrier(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                  unsigned number, unsigned wanted, bool waits);
/* Level 2: what the agent's threads have done happens before what any of them does from now on, as
 * at the barrier that code for what the agent executes has here. */
void cpu_sync_own_threads(cpu_run *run, cpu_agent *agent);
/* Reports that nobody will ever come to the barriers that all agents of the block wait at. */
void cpu_report_stuck(cpu_run *run, cpu_block *block);
/* False after a report: arrivals at a barrier that never became complete. */
bool cpu_barriers_may_end(cpu_run *run, cpu_block *block);
void cpu_clear_barriers(cpu_block *block);

/* cluster.c: the blocks of the cluster with this number, which the caller fills in. */
cpu_cluster *cpu_cluster_create(unsigned blocks);
/* The block belongs to none any more; the last one takes the cluster with it. */
void cpu_leave_cluster(cpu_block *block);
/* The block has reached its end: whether no other one may access its shared memory after this, else
 * a report. */
bool cpu_block_may_end(cpu_run *run, cpu_block *block);
/* Whether nobody in the cluster will ever go on, after a report. */
bool cpu_cluster_is_stuck(cpu_run *run, const cpu_cluster *cluster);

/* parallel.c */
void cpu_claims_destroy(cpu_claims *claims);

/* product.c: multiply-adds, of all warps together. */
uint64_t cpu_product_size(const cpu_product *product);

/* ordered_issue.c */
void cpu_clear_ordered_issue(cpu_block *block);
/* False after a report: a warpgroup waits for a turn, or has one that it has not waited for. */
bool cpu_ordered_issue_may_end(cpu_run *run, const cpu_block *block);

/* schedule.c: runs all blocks. */
tile_status cpu_execute(cpu_run *run);

/* schedule.c: preemption, at the places where other blocks might see a difference.
 *
 * Called first by what writes global memory: true if the agent rests here; then the handler returns
 * CPU_PAUSE. */
bool cpu_maybe_preempt(cpu_run *run, cpu_agent *agent);
/* What a release returns when it is done. */
cpu_outcome cpu_maybe_preempt_after(cpu_run *run, cpu_agent *agent);
/* What an atomic update of global memory returns. Where many in a row have changed nothing, the
 * agent may be waiting in a loop: it lets other blocks go on. */
cpu_outcome cpu_yield_after_updates(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                    bool changed);

/* The agent has looked for something without success, many times: other blocks go on. The handler
 * returns CPU_PAUSE. */
void cpu_yield_spin(cpu_run *run, cpu_agent *agent);

/* control.c */
CPU_HANDLER(cpu_run_loop_enter); /* operands: begin, end, step; result: the induction variable */
CPU_HANDLER(cpu_run_loop_test);
CPU_HANDLER(cpu_run_loop_next);
CPU_HANDLER(cpu_run_parallel_enter); /* parallel.c; index: the coordinates' places */
CPU_HANDLER(cpu_run_parallel_next);
CPU_HANDLER(cpu_run_while_enter);
CPU_HANDLER(cpu_run_while_test); /* operand: the condition */
CPU_HANDLER(cpu_run_repeat);
CPU_HANDLER(cpu_run_if);
CPU_HANDLER(cpu_run_else);
CPU_HANDLER(cpu_run_region_end);
CPU_HANDLER(cpu_run_move);
CPU_HANDLER(cpu_run_end);
/* False, after a report, if a lane of the agent is missing at a barrier. */
bool cpu_all_lanes_active(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
CPU_HANDLER(cpu_run_sync);
CPU_HANDLER(cpu_run_roles);
CPU_HANDLER(cpu_run_role_end); /* target: behind the roles */
/* Gives all lanes the number. */
cpu_outcome cpu_set_all(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int64_t value);
CPU_HANDLER(cpu_run_block_id);
CPU_HANDLER(cpu_run_grid_dim);
CPU_HANDLER(cpu_run_thread_id);
CPU_HANDLER(cpu_run_lane_id);
CPU_HANDLER(cpu_run_warp_id);
CPU_HANDLER(cpu_run_view);
CPU_HANDLER(cpu_run_base);
CPU_HANDLER(cpu_run_scratch);
CPU_HANDLER(cpu_run_tile_schedule); /* integer: which table */
CPU_HANDLER(cpu_run_alloc_shared);
CPU_HANDLER(cpu_run_extract);
CPU_HANDLER(cpu_run_extract_at); /* integer: elements of the whole */
CPU_HANDLER(cpu_run_insert);     /* the same */
CPU_HANDLER(cpu_run_concat);
CPU_HANDLER(cpu_run_permute);
CPU_HANDLER(cpu_run_undefined);

/* cluster.c */
CPU_HANDLER(cpu_run_cluster_rank);
CPU_HANDLER(cpu_run_cluster_id);  /* integer: the dim */
CPU_HANDLER(cpu_run_cluster_dim); /* the same */
CPU_HANDLER(cpu_run_cluster_arrive);
CPU_HANDLER(cpu_run_cluster_wait);
CPU_HANDLER(cpu_run_map_shared);
/* Of a buffer as the instruction's memory operand gives it: the block whose memory it is in, NULL
 * after a report if that cannot be accessed now; and its place there. */
cpu_block *cpu_find_owner(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                          uint32_t buffer);
uint32_t cpu_buffer_offset(const cpu_insn *insn, uint32_t buffer);

/* tma.c: level 3 */
CPU_HANDLER(cpu_run_tensor_map); /* integer: which one of the launch's */
CPU_HANDLER(cpu_run_tma_load);
CPU_HANDLER(cpu_run_bulk_load);
CPU_HANDLER(cpu_run_copy_counted); /* level 2: to a shared buffer, for a barrier */
/* tma_store.c: level 3 */
CPU_HANDLER(cpu_run_tma_store);
CPU_HANDLER(cpu_run_bulk_store);
CPU_HANDLER(cpu_run_copy_out);    /* level 2: to a view */
CPU_HANDLER(cpu_run_store_async); /* level 2 */
CPU_HANDLER(cpu_run_bulk_commit);
CPU_HANDLER(cpu_run_bulk_wait); /* flag: until the sources have been read */
/* At the agent's end: false after a report if a store still reads shared memory. */
bool cpu_end_bulks(cpu_run *run, cpu_agent *agent);
void cpu_drop_bulks(cpu_agent *agent);
/* Level 2: as cpu_transfer_copies. */
void cpu_transfer_bulks(cpu_agent *to, cpu_agent *from);

/* mbarrier.c: level 2; second_count: its count */
CPU_HANDLER(cpu_run_alloc_barrier);
CPU_HANDLER(cpu_run_mbarrier_init); /* level 3 */
CPU_HANDLER(cpu_run_mbarrier_fence);
/* mbarrier_run.c */
CPU_HANDLER(cpu_run_barrier_arrive); /* level 2 */
CPU_HANDLER(cpu_run_barrier_wait);   /* both levels */
CPU_HANDLER(cpu_run_mbarrier_arrive);
CPU_HANDLER(cpu_run_mbarrier_expect); /* flag: without an arrival */
CPU_HANDLER(cpu_run_mbarrier_test);
CPU_HANDLER(cpu_run_st_async); /* level 3 */
CPU_HANDLER(cpu_run_elect);
CPU_HANDLER(cpu_run_sync_warp);

/* reduce.c: level 2, integer: the axis; level 3 */
CPU_HANDLER(cpu_run_reduce);
CPU_HANDLER(cpu_run_histogram); /* memory: the result */
CPU_HANDLER(cpu_run_rows);      /* reduce_arg, scan, sort */
CPU_HANDLER(cpu_run_shfl);
CPU_HANDLER(cpu_run_redux);
CPU_HANDLER(cpu_run_vote);
CPU_HANDLER(cpu_run_match); /* size: of an element */

/* assembly.c */
CPU_HANDLER(cpu_run_asm);

/* mixed.c */
CPU_HANDLER(cpu_run_join_agents);
CPU_HANDLER(cpu_run_spread);         /* operand 0: a place of the block's agent */
CPU_HANDLER(cpu_run_fetch);          /* the same of the first warp's */
CPU_HANDLER(cpu_run_to_fragment);    /* elements: where they lie; operand 0 is the block's */
CPU_HANDLER(cpu_run_from_fragment);  /* the same; the result is the block's */
CPU_HANDLER(cpu_run_check_fragment); /* likewise */
CPU_HANDLER(cpu_run_coordinates);    /* integer: the dim */

/* uniform.c */
CPU_HANDLER(cpu_run_uniform);

/* async.c */
CPU_HANDLER(cpu_run_cp_async);
CPU_HANDLER(cpu_run_copy_async);
CPU_HANDLER(cpu_run_commit_group);
CPU_HANDLER(cpu_run_pdl_wait);
CPU_HANDLER(cpu_run_mbarrier_cp_async); /* flag: noinc */
CPU_HANDLER(cpu_run_wait_group);
CPU_HANDLER(cpu_run_fence_async);
/* Lets everything land that the agent still has in flight, at its end. */
bool cpu_complete_all_copies(cpu_run *run, cpu_agent *agent);
/* Level 2: what one agent has in flight becomes another one's, in groups of its own. */
void cpu_transfer_copies(cpu_agent *to, cpu_agent *from);

/* thread.c: level 3 */
CPU_HANDLER(cpu_run_ld_global);
CPU_HANDLER(cpu_run_st_global);
CPU_HANDLER(cpu_run_prefetch);
CPU_HANDLER(cpu_run_ld_shared);
CPU_HANDLER(cpu_run_st_shared);
CPU_HANDLER(cpu_run_ldmatrix);
CPU_HANDLER(cpu_run_stmatrix);
CPU_HANDLER(cpu_run_wait_acquire);
CPU_HANDLER(cpu_run_st_release);
/* False, after a report, if a lane of the warp is missing. */
bool cpu_full_warp_active(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
/* The lanes of the mask whose predicate (if there is one, as this operand) holds. */
uint32_t cpu_active_lanes(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                          unsigned predicate);
/* Byte addresses or offsets of an element operand, for the lanes of the mask. */
void cpu_global_addresses(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                          unsigned operand, uint32_t mask, uint64_t addresses[CPU_LANES]);
/* False after a report. offsets are from the start of the block's shared memory. */
bool cpu_shared_offsets(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                        unsigned operand, const uint32_t *index, uint32_t mask, uint32_t bytes,
                        uint32_t offsets[CPU_LANES]);
/* The lanes' accesses of so many bytes each. */
void cpu_count_sectors(cpu_run *run, uint32_t mask, const uint64_t addresses[CPU_LANES]);
void cpu_count_conflicts(cpu_run *run, uint32_t mask, const uint32_t offsets[CPU_LANES],
                         uint32_t bytes);

/* atomic.c: both levels */
CPU_HANDLER(cpu_run_atomic);
CPU_HANDLER(cpu_run_atomic_shared); /* level 2 */
CPU_HANDLER(cpu_run_atomic_global); /* level 3 */
CPU_HANDLER(cpu_run_atomic_lanes_view);
CPU_HANDLER(cpu_run_by_element); /* load, store of a shared buffer; integer: as there */
CPU_HANDLER(cpu_run_atomic_lanes_shared);
CPU_HANDLER(cpu_run_fence);
/* An element becomes what insn->kind makes of it and the operand. */
void cpu_update_element(const cpu_insn *insn, void *at, const void *operand);
/* Goes on if the word, which lies inside of its buffer, compares with the value as insn->kind
 * says; else the agent waits there. */
cpu_outcome cpu_wait_for_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                              uint64_t address, int32_t value);

/* product.c: both levels */
CPU_HANDLER(cpu_run_dot);
CPU_HANDLER(cpu_run_dot_wait); /* integer: how many may stay pending */
CPU_HANDLER(cpu_run_mma);

/* shape.c: level 2 */
CPU_HANDLER(cpu_run_iota);   /* type: the result's */
CPU_HANDLER(cpu_run_gather); /* type: the result's; memory: src's; integer: the axis */

/* tile.c: level 2 */
CPU_HANDLER(cpu_run_load);
CPU_HANDLER(cpu_run_inside);
CPU_HANDLER(cpu_run_store);
CPU_HANDLER(cpu_run_load_shared);
CPU_HANDLER(cpu_run_store_shared);
CPU_HANDLER(cpu_run_copy);
CPU_HANDLER(cpu_run_lock_semaphore);
CPU_HANDLER(cpu_run_release_semaphore);
/* element.c: level 2, of threads. The lanes of the mask whose element, so many behind the one at
 * their coordinates along the last dim, is inside of the view, and where it is. */
uint32_t cpu_view_lanes(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                        unsigned operand, unsigned element, uint32_t mask,
                        uint64_t addresses[CPU_LANES]);
CPU_HANDLER(cpu_run_ld_view); /* gather: the pad */
CPU_HANDLER(cpu_run_st_view);
CPU_HANDLER(cpu_run_inside_lanes);
/* A tile's rows in a view, one after the other: a tile of insn->type at these coordinates, or a
 * scalar. Where points stand in its last dim, rows have one element. */
typedef struct cpu_rows {
    const cpu_view *view;
    const tile_type *tile;
    unsigned view_rank;
    unsigned points, covered; /* the tile's dims that index tiles give; the others */
    const int64_t *at;
    const void *index[TILE_MAX_RANK]; /* by dim of the view: an index tile, or NULL */
    const cpu_gather *gather;         /* or NULL */
    const uint8_t *mask;              /* by element, or one for all; NULL: all are meant */
    int64_t rows, length;
} cpu_rows;
cpu_rows cpu_walk_rows(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                       const cpu_view *view, const int64_t *at, unsigned view_rank);
/* The next elements of a row, from *first on and before end, that the predicate leaves: up to
 * *stop. False: there are none. */
bool cpu_next_run(const cpu_rows *walk, int64_t row, int64_t *first, int64_t end, int64_t *stop);
/* Where a row starts, and which of its elements [*first, *end) are inside of the extents. */
uint64_t cpu_find_row(const cpu_rows *walk, int64_t row, int64_t *first, int64_t *end);
/* Elements [first, end) of a row are touched: false after a report. */
bool cpu_access_row(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address,
                    int64_t stride, int64_t first, int64_t end, cpu_access access);
/* The coordinates of an element operand of a view. */
void cpu_view_position(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                       const uint32_t *index, int64_t at[TILE_MAX_RANK]);
/* A tile of the dims of insn->type from a view to memory of our own, or nowhere (NULL): then it is
 * only checked. False after a report. */
bool cpu_load_tile(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                   const int64_t at[TILE_MAX_RANK], const uint8_t *kept, char *to);
/* The other way round. */
bool cpu_store_tile(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                    const int64_t at[TILE_MAX_RANK], const uint8_t *kept, const char *from);
/* The index tiles and the predicate as they are now, for an access that happens later, to be freed:
 * `kept` of these two, NULL where there are none. */
uint8_t *cpu_snapshot_gather(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn);
/* Whether none of the elements that it would write is poison; false after a report. poison: theirs,
 * NULL if there is none. */
bool cpu_tile_may_escape(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                         const int64_t at[TILE_MAX_RANK], const uint8_t *poison);
/* Where a stage is in the block's shared memory; false after a report. */
bool cpu_stage_offset(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, unsigned operand,
                      const uint32_t *index, uint32_t index_count, const tile_type *buffer,
                      uint32_t *offset);
/* A part of a stage of a shared buffer, row by row; all of it, as one row. */
typedef struct cpu_part {
    cpu_block *owner;
    uint32_t begin;          /* of the stage */
    int64_t rows, row_bytes; /* of the part */
    int64_t at[TILE_MAX_RANK];
} cpu_part;
/* False after a report. operand: the buffer's. Without coordinates the part is the whole stage. */
bool cpu_start_part(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned operand,
                    cpu_part *walk);
/* Where a row of the part is in the owner's shared memory. */
uint32_t cpu_part_row(const cpu_part *walk, const cpu_insn *insn, int64_t row);
uint32_t cpu_stage_bytes(const tile_type *buffer);

/* The thread number for the sanitizer at level 2: under `sync explicit` no access is ordered after
 * another one without a barrier, whoever does it. */
static inline uint16_t cpu_set_thread(const cpu_agent *agent, const cpu_insn *insn) {
    return cpu_thread(agent, insn->own_order ? 0 : CPU_LANES);
}

#endif
