/* The handlers of all non-arithmetic operations, and what they share. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_EXEC_H
#define TILE_RUNTIME_CPU_EXECUTE_EXEC_H

#include "runtime/cpu/sanitize/check.h"
#include "runtime/cpu/sanitize/global_shadow.h"

#define CPU_HANDLER(name) cpu_outcome name(cpu_run *run, cpu_agent *agent, const cpu_insn *insn)

/* math.c: the level-3 handler of a function in math_bodies.h; insn->flag: {fast}. NULL for other
 * operations. */
cpu_handler cpu_math_handler(tile_opcode opcode);
/* arith.c: the handler of an elementwise operation on elements of this type. NULL if arith.def does
 * not define it for them. from: the type that a cast converts. */
/* plain: the operation has no attributes. */
cpu_handler cpu_arith_handler(tile_opcode opcode, tile_scalar scalar, tile_scalar from, bool plain);

/* barrier.c: the agent arrives at barrier `number`, which expects `wanted` warps, and waits for
 * them or continues. After a wait it continues at the next instruction. */
cpu_outcome cpu_arrive_at_barrier(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                  unsigned number, unsigned wanted, bool waits);
/* Level 2: orders what the agent's threads have done before what any of them does next. The code
 * generated for the agent's operations has a barrier here. */
void cpu_sync_own_threads(cpu_run *run, cpu_agent *agent);
/* Reports a deadlock: all agents of the block wait at barriers that are never completed. */
void cpu_report_stuck(cpu_run *run, cpu_block *block);
/* False after a report: a barrier has arrivals but was never completed. */
bool cpu_barriers_may_end(cpu_run *run, cpu_block *block);
void cpu_clear_barriers(cpu_block *block);

/* cluster.c: a cluster of this many blocks, which the caller fills in. */
cpu_cluster *cpu_cluster_create(unsigned blocks);
/* Removes the block from its cluster. The last block frees the cluster. */
void cpu_leave_cluster(cpu_block *block);
/* The block has reached its end. Returns whether no other block may access its shared memory
 * afterwards; otherwise reports. */
bool cpu_block_may_end(cpu_run *run, cpu_block *block);
/* Returns whether no agent of the cluster can ever continue, after a report. */
bool cpu_cluster_is_stuck(cpu_run *run, const cpu_cluster *cluster);

/* parallel.c */
void cpu_claims_destroy(cpu_claims *claims);

/* product.c: the number of multiply-adds, of all warps together. */
uint64_t cpu_product_size(const cpu_product *product);

/* ordered_issue.c */
void cpu_clear_ordered_issue(cpu_block *block);
/* False after a report: a warpgroup waits for its turn, or was passed a turn that it has not
 * taken. */
bool cpu_ordered_issue_may_end(cpu_run *run, const cpu_block *block);

/* schedule.c: runs all blocks. */
tile_status cpu_execute(cpu_run *run);

/* schedule.c: preemption where other blocks might observe a difference. Handlers that write global
 * memory call it first. If it returns true, the agent is preempted here, and the handler returns
 * CPU_PAUSE. */
bool cpu_maybe_preempt(cpu_run *run, cpu_agent *agent);
/* The outcome of a release. */
cpu_outcome cpu_maybe_preempt_after(cpu_run *run, cpu_agent *agent);
/* The outcome of an atomic update of global memory. If many in a row have changed nothing, the
 * agent may be spinning, so other blocks run. */
cpu_outcome cpu_yield_after_updates(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                    bool changed);

/* Called after many unsuccessful tests: other blocks run. The handler returns CPU_PAUSE. */
void cpu_yield_spin(cpu_run *run, cpu_agent *agent);

/* control.c */
CPU_HANDLER(cpu_run_loop_enter); /* operands: begin, end, step; result: the induction variable */
CPU_HANDLER(cpu_run_loop_test);
CPU_HANDLER(cpu_run_loop_next);
CPU_HANDLER(cpu_run_parallel_enter); /* parallel.c; index: the places of the coordinates */
CPU_HANDLER(cpu_run_parallel_next);
CPU_HANDLER(cpu_run_while_enter);
CPU_HANDLER(cpu_run_while_test); /* operand: the condition */
CPU_HANDLER(cpu_run_repeat);
CPU_HANDLER(cpu_run_if);
CPU_HANDLER(cpu_run_else);
CPU_HANDLER(cpu_run_region_end);
CPU_HANDLER(cpu_run_move);
CPU_HANDLER(cpu_run_end);
/* False, after a report, if a lane of the agent does not reach a barrier. */
bool cpu_all_lanes_active(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
CPU_HANDLER(cpu_run_sync);
CPU_HANDLER(cpu_run_roles);
CPU_HANDLER(cpu_run_role_end); /* target: the instruction after the roles */
/* Sets the result of all lanes. */
cpu_outcome cpu_set_all(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int64_t value);
CPU_HANDLER(cpu_run_block_id);
CPU_HANDLER(cpu_run_grid_dim);
CPU_HANDLER(cpu_run_thread_id);
CPU_HANDLER(cpu_run_lane_id);
CPU_HANDLER(cpu_run_warp_id);
CPU_HANDLER(cpu_run_view);
CPU_HANDLER(cpu_run_im2col);
CPU_HANDLER(cpu_run_base);
CPU_HANDLER(cpu_run_misalignment); /* level 3 */
CPU_HANDLER(cpu_run_scratch);
CPU_HANDLER(cpu_run_tile_schedule); /* integer: number of the table */
CPU_HANDLER(cpu_run_alloc_shared);
CPU_HANDLER(cpu_run_extract);
CPU_HANDLER(cpu_run_extract_at); /* integer: elements of the whole vector */
CPU_HANDLER(cpu_run_insert);     /* likewise */
CPU_HANDLER(cpu_run_concat);
CPU_HANDLER(cpu_run_permute);
CPU_HANDLER(cpu_run_undefined);

/* cluster.c */
CPU_HANDLER(cpu_run_cluster_rank);
CPU_HANDLER(cpu_run_cluster_id);  /* integer: the dim */
CPU_HANDLER(cpu_run_cluster_dim); /* likewise */
CPU_HANDLER(cpu_run_cluster_arrive);
CPU_HANDLER(cpu_run_cluster_wait);
CPU_HANDLER(cpu_run_map_shared);
/* The block in whose memory the instruction's buffer is, and the buffer's offset there. NULL, after
 * a report, if that block's memory cannot be accessed now. */
cpu_block *cpu_find_owner(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                          uint32_t buffer);
uint32_t cpu_buffer_offset(const cpu_insn *insn, uint32_t buffer);

/* tma.c: level 3 */
CPU_HANDLER(cpu_run_tensor_map); /* integer: number of the launch's map */
CPU_HANDLER(cpu_run_tma_load);
CPU_HANDLER(cpu_run_bulk_load);
CPU_HANDLER(cpu_run_copy_counted); /* level 2: to a shared buffer, counted by a barrier */
/* tma_store.c: level 3 */
CPU_HANDLER(cpu_run_tma_store);
CPU_HANDLER(cpu_run_bulk_store);
CPU_HANDLER(cpu_run_copy_out);    /* level 2: to a view */
CPU_HANDLER(cpu_run_store_async); /* level 2 */
CPU_HANDLER(cpu_run_bulk_commit);
CPU_HANDLER(cpu_run_bulk_wait); /* flag: only until the sources have been read */
/* Called at the agent's end: false after a report if a store still reads shared memory. */
bool cpu_end_bulks(cpu_run *run, cpu_agent *agent);
void cpu_drop_bulks(cpu_agent *agent);
/* Level 2: like cpu_transfer_copies. */
void cpu_transfer_bulks(cpu_agent *to, cpu_agent *from);

/* mbarrier.c: level 2; second_count: the barrier's count */
CPU_HANDLER(cpu_run_alloc_barrier);
CPU_HANDLER(cpu_run_mbarrier_init); /* level 3 */
CPU_HANDLER(cpu_run_mbarrier_fence);
/* mbarrier_run.c */
CPU_HANDLER(cpu_run_barrier_arrive); /* level 2 */
CPU_HANDLER(cpu_run_barrier_wait);   /* both levels */
CPU_HANDLER(cpu_run_mbarrier_arrive);
CPU_HANDLER(cpu_run_mbarrier_expect); /* flag: no arrival */
CPU_HANDLER(cpu_run_mbarrier_test);
CPU_HANDLER(cpu_run_st_async); /* level 3 */
CPU_HANDLER(cpu_run_elect);
CPU_HANDLER(cpu_run_sync_warp);

/* reduce.c: level 2, integer: the axis; also level 3 */
CPU_HANDLER(cpu_run_reduce);
CPU_HANDLER(cpu_run_histogram); /* memory: the result */
CPU_HANDLER(cpu_run_rows);      /* reduce_arg, scan, sort */
CPU_HANDLER(cpu_run_combine);   /* combine.c: reduce_with, scan_with */
CPU_HANDLER(cpu_run_shfl);
CPU_HANDLER(cpu_run_redux);
CPU_HANDLER(cpu_run_vote);
CPU_HANDLER(cpu_run_match); /* size: bytes of an element */

/* assembly.c */
CPU_HANDLER(cpu_run_asm);

/* mixed.c */
CPU_HANDLER(cpu_run_join_agents);
CPU_HANDLER(cpu_run_broadcast_to_warps);   /* operand 0: a place of the block's agent */
CPU_HANDLER(cpu_run_copy_from_first_warp); /* operand 0: a place of the first warp's agent */
CPU_HANDLER(cpu_run_to_fragment);    /* elements: positions in the tile; operand 0: the block's */
CPU_HANDLER(cpu_run_from_fragment);  /* likewise; the result is the block's */
CPU_HANDLER(cpu_run_check_fragment); /* likewise */
CPU_HANDLER(cpu_run_coordinates);    /* integer: the dim */

/* uniform.c */
CPU_HANDLER(cpu_run_uniform);

/* async.c */
CPU_HANDLER(cpu_run_cp_async);
CPU_HANDLER(cpu_run_cp_async_part);
CPU_HANDLER(cpu_run_copy_async);
CPU_HANDLER(cpu_run_commit_group);
CPU_HANDLER(cpu_run_pdl_wait);
CPU_HANDLER(cpu_run_mbarrier_cp_async); /* flag: noinc */
CPU_HANDLER(cpu_run_wait_group);
CPU_HANDLER(cpu_run_fence_async);
/* Completes all copies that the agent still has in flight, at its end. */
bool cpu_complete_all_copies(cpu_run *run, cpu_agent *agent);
/* Level 2: moves the copies in flight of one agent to another one, as separate groups. */
void cpu_transfer_copies(cpu_agent *to, cpu_agent *from);

/* thread.c: level 3 */
CPU_HANDLER(cpu_run_ld_global);
CPU_HANDLER(cpu_run_ld_global_unaligned);
CPU_HANDLER(cpu_run_st_global);
CPU_HANDLER(cpu_run_prefetch);
CPU_HANDLER(cpu_run_ld_shared);
CPU_HANDLER(cpu_run_st_shared);
CPU_HANDLER(cpu_run_ldmatrix);
CPU_HANDLER(cpu_run_stmatrix);
CPU_HANDLER(cpu_run_wait_acquire);
CPU_HANDLER(cpu_run_st_release);
/* False, after a report, if a lane of the warp is inactive. */
bool cpu_full_warp_active(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);
/* The lanes of the mask whose predicate holds: this operand, if there is one. */
uint32_t cpu_active_lanes(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                          unsigned predicate);
/* The byte addresses of an element operand, for the lanes of the mask. */
void cpu_global_addresses(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                          unsigned operand, uint32_t mask, uint64_t addresses[CPU_LANES]);
/* False after a report. The offsets are relative to the start of the block's shared memory. */
bool cpu_shared_offsets(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                        unsigned operand, const uint32_t *index, uint32_t mask, uint32_t bytes,
                        uint32_t offsets[CPU_LANES]);
/* Counts the sectors of the lanes' accesses of `bytes` bytes each. */
void cpu_count_sectors(cpu_run *run, uint32_t mask, const uint64_t addresses[CPU_LANES]);
void cpu_count_conflicts(cpu_run *run, uint32_t mask, const uint32_t offsets[CPU_LANES],
                         uint32_t bytes);

/* atomic.c: both levels */
CPU_HANDLER(cpu_run_atomic);
CPU_HANDLER(cpu_run_atomic_shared); /* level 2 */
CPU_HANDLER(cpu_run_atomic_global); /* level 3 */
CPU_HANDLER(cpu_run_atomic_lanes_view);
CPU_HANDLER(cpu_run_by_element); /* load or store of a shared buffer; integer: as for atomics */
CPU_HANDLER(cpu_run_atomic_lanes_shared);
CPU_HANDLER(cpu_run_fence);
/* Updates an element with the operand, as insn->kind says. */
void cpu_update_element(const cpu_insn *insn, void *at, const void *operand);
/* Continues if the word, which is in bounds, compares with the value as insn->kind says; otherwise
 * the agent waits there. */
cpu_outcome cpu_wait_for_word(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                              uint64_t address, int32_t value);

/* product.c: both levels */
CPU_HANDLER(cpu_run_dot);
CPU_HANDLER(cpu_run_dot_wait); /* integer: the number of products that may stay pending */
CPU_HANDLER(cpu_run_mma);

/* shape.c: level 2 */
CPU_HANDLER(cpu_run_iota);   /* type: of the result */
CPU_HANDLER(cpu_run_gather); /* type: of the result; memory: of src; integer: the axis */

/* tile.c: level 2 */
CPU_HANDLER(cpu_run_load);
CPU_HANDLER(cpu_run_inside);
CPU_HANDLER(cpu_run_store);
CPU_HANDLER(cpu_run_load_shared);
CPU_HANDLER(cpu_run_store_shared);
CPU_HANDLER(cpu_run_copy);
CPU_HANDLER(cpu_run_lock_semaphore);
CPU_HANDLER(cpu_run_release_semaphore);
/* element.c: level 2, threads. Returns the lanes of the mask whose element is inside of the view,
 * and its address. The element is `behind` elements after the lane's coordinates along the last
 * dim. */
uint32_t cpu_view_lanes(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                        unsigned operand, unsigned element, uint32_t mask,
                        uint64_t addresses[CPU_LANES]);
CPU_HANDLER(cpu_run_ld_view); /* gather: the padding */
CPU_HANDLER(cpu_run_st_view);
CPU_HANDLER(cpu_run_inside_lanes);
/* The rows of a tile in a view, in order: a tile of insn->type at these coordinates, or a scalar.
 * If index tiles give the last dim, rows have one element. */
typedef struct cpu_rows {
    const cpu_view *view;
    const tile_type *tile;
    unsigned view_rank;
    unsigned points, covered; /* dims of the tile that index tiles give; all other dims */
    const int64_t *at;
    const void *index[TILE_MAX_RANK]; /* by dim of the view: an index tile, or NULL */
    const cpu_gather *gather;         /* or NULL */
    const uint8_t *mask;              /* by element, or one for all; NULL: all are accessed */
    int64_t rows, length;
} cpu_rows;
cpu_rows cpu_walk_rows(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                       const cpu_view *view, const int64_t *at, unsigned view_rank);
/* Finds the next range of elements of a row, from *first on and before end, for which the predicate
 * holds: it ends at *stop. False: there is none. */
bool cpu_next_run(const cpu_rows *walk, int64_t row, int64_t *first, int64_t end, int64_t *stop);
/* The address of a row, and the range [*first, *end) of its elements that are inside of the
 * extents. */
uint64_t cpu_find_row(const cpu_rows *walk, int64_t row, int64_t *first, int64_t *end);
/* Checks an access to elements [first, end) of a row; false after a report. */
bool cpu_access_row(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint64_t address,
                    int64_t stride, int64_t first, int64_t end, cpu_access access);
/* The coordinates of an element operand of a view. */
void cpu_view_position(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                       const uint32_t *index, int64_t at[TILE_MAX_RANK]);
/* Loads a tile of the dims of insn->type from a view to host memory. NULL: only checks the access.
 * False after a report. */
bool cpu_load_tile(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                   const int64_t at[TILE_MAX_RANK], const uint8_t *kept, char *to);
/* Stores a tile. */
bool cpu_store_tile(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                    const int64_t at[TILE_MAX_RANK], const uint8_t *kept, const char *from);
/* A copy of the index tiles and the predicate, for an access that happens later as `kept`; the
 * caller frees it. NULL if there are none. */
uint8_t *cpu_snapshot_gather(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn);
/* Checks that no element to be written is poison; false after a report. poison: that of the
 * elements, NULL if there is none. */
bool cpu_tile_may_escape(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const cpu_view *view,
                         const int64_t at[TILE_MAX_RANK], const uint8_t *poison);
/* The offset of a stage in the block's shared memory; false after a report. */
bool cpu_stage_offset(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, unsigned operand,
                      const uint32_t *index, uint32_t index_count, const tile_type *buffer,
                      uint32_t *offset);
/* A part of a stage of a shared buffer, by rows. The whole stage is a single row. */
typedef struct cpu_part {
    cpu_block *owner;
    uint32_t begin;          /* offset of the stage */
    int64_t rows, row_bytes; /* of the part */
    int64_t at[TILE_MAX_RANK];
} cpu_part;
/* False after a report. operand: the buffer. Without coordinates the part is the whole stage. */
bool cpu_start_part(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned operand,
                    cpu_part *walk);
/* The offset of a row of the part in the owner's shared memory. */
uint32_t cpu_part_row(const cpu_part *walk, const cpu_insn *insn, int64_t row);
uint32_t cpu_stage_bytes(const tile_type *buffer);

/* The thread number for the sanitizer at level 2. Under `sync explicit` only barriers order
 * accesses, even those of one agent. */
static inline uint16_t cpu_set_thread(const cpu_agent *agent, const cpu_insn *insn) {
    return cpu_thread(agent, insn->own_order ? 0 : CPU_LANES);
}

#endif
