/* Asynchronous stores to shared memory of the cluster. A barrier of the destination block counts
 * their bytes. They complete as late as that barrier permits. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/mbarrier.h"

enum { MAX_BYTES = 16 };

/* The stores of one instruction's lanes. */
typedef struct store {
    const cpu_insn *insn;
    uint32_t lanes, bytes; /* bytes of each lane */
    uint32_t offsets[CPU_LANES];
    cpu_mbarrier_at at[CPU_LANES];
    char data[CPU_LANES][MAX_BYTES];
} store;

static bool land(cpu_run *run, cpu_agent *agent, void *data, cpu_known *known) {
    store *s = data;
    bool ok = true;
    for (unsigned lane = 0; lane < CPU_LANES && ok; lane++) {
        if (!(s->lanes >> lane & 1)) continue;
        cpu_mbarrier_at at = s->at[lane];
        memcpy(at.owner->shared + s->offsets[lane], s->data[lane], s->bytes);
        if (at.owner->poison) memset(at.owner->poison + s->offsets[lane], 0, s->bytes);
        cpu_shared_publish(run, at.owner, s->offsets[lane], s->bytes, at.barrier->key,
                           (uint32_t)at.barrier->phase + 1);
        ok = cpu_barrier_complete(run, agent, s->insn->at_barrier, (int)lane, at, s->bytes, known);
    }
    free(s);
    return ok;
}

/* Finds the address to which a lane stores, and the barrier there. */
static bool find(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned lane, store *s) {
    const uint32_t *buffers = cpu_at(run, agent, insn->operand[1]);
    const uint32_t *barriers = cpu_at(run, agent, insn->operand[2]);
    const int32_t *index = cpu_at(run, agent, insn->second[0]);
    cpu_block *owner = cpu_find_owner(run, agent, insn, (int)lane, buffers[lane]);
    if (!owner || !cpu_find_mbarrier(run, agent, insn->at_barrier, (int)lane, barriers[lane],
                                     index[lane], &s->at[lane]))
        return false;
    if (s->at[lane].owner == owner) cpu_barrier_begin(s->at[lane].barrier, s->bytes);
    if (s->at[lane].owner == owner)
        return cpu_cluster_start_copy(run, agent, owner, insn, (int)lane, cpu_thread(agent, lane),
                                      s->offsets[lane], s->bytes);
    tile_arena scratch = {0};
    cpu_fault(run, agent, insn, (int)lane,
              "%%%s is of %s and its barrier %%%s of %s: both must be of one block", insn->name,
              cpu_block_name(&scratch, owner), insn->at_barrier->name,
              cpu_block_name(&scratch, s->at[lane].owner));
    tile_arena_reset(&scratch);
    return false;
}

static void take(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, unsigned lane,
                 store *s) {
    const char *from = cpu_at(run, agent, insn->operand[0]);
    for (uint32_t e = 0; e < insn->count / CPU_LANES; e++)
        memcpy(s->data[lane] + e * insn->size, from + (e * CPU_LANES + lane) * insn->size,
               insn->size);
}

CPU_HANDLER(cpu_run_st_async) {
    uint32_t lanes = cpu_active_lanes(run, agent, insn, 3);
    if (!lanes) return CPU_NEXT;
    store *s = tile_malloc(sizeof *s);
    *s = (store){.insn = insn, .lanes = lanes, .bytes = insn->count / CPU_LANES * insn->size};
    bool ok = cpu_shared_offsets(run, agent, insn, 1, insn->index, lanes, s->bytes, s->offsets);
    for (unsigned lane = 0; lane < CPU_LANES && ok; lane++) {
        if (!(lanes >> lane & 1)) continue;
        ok = find(run, agent, insn, lane, s);
        take(run, agent, insn, lane, s);
    }
    if (ok)
        cpu_start_flight(agent, land, s, NULL);
    else
        free(s);
    return ok ? CPU_NEXT : CPU_STOP;
}
