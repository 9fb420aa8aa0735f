#include "runtime/cpu/execute/trace.h"

#include "runtime/cpu/execute/exec.h"

/* Costs ---------------------------------------------------------------------------------------- */

enum {
    OF_GLOBAL = 400, /* ticks until a load from global memory completes */
    OF_SHARED = 30,
    OF_BYTES = 32,     /* per tick and warp */
    OF_PRODUCTS = 1024 /* multiply-adds per tick and warp */
};

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* The union of the accesses of all operands. */
static unsigned accesses_of(const cpu_insn *insn) {
    const tile_op_info *info = tile_op_get_info(insn->opcode);
    unsigned access = TILE_ACCESS_none;
    for (unsigned i = 0; i < info->operand_count; i++) access |= info->operands[i].access;
    return access;
}

/* One side of a copy is always global. */
static bool is_global(const cpu_insn *insn) {
    return insn->opcode == TILE_OP_copy || !insn->memory || insn->memory->kind != TILE_TYPE_SHARED;
}

static uint64_t bytes_of(const cpu_agent *agent, const cpu_insn *insn) {
    return (uint64_t)insn->count * insn->size / agent->weight;
}

static uint64_t cost_of(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn) {
    const tile_op_info *info = tile_op_get_info(insn->opcode);
    if (!insn->opcode || info->effects & TILE_EFFECT_REGION) return 0;
    if (insn->product)
        return most(1, cpu_product_size(insn->product) / agent->weight / OF_PRODUCTS);
    if (info->completion != TILE_COMPLETION_NOW) return 1;
    unsigned access = accesses_of(insn);
    uint64_t moved = most(1, bytes_of(agent, insn) / OF_BYTES);
    if (access & TILE_ACCESS_read) return moved + (is_global(insn) ? OF_GLOBAL : OF_SHARED);
    if (access) return moved; /* stores do not block */
    return run->program->lanes > 1 ? most(1, insn->count / CPU_LANES)
                                   : most(1, insn->count / CPU_LANES / agent->weight);
}

/* Events --------------------------------------------------------------------------------------- */

/* Returns whether the operation has its own event: it accesses memory, multiplies, or others wait
 * for it. */
static bool is_traced(const cpu_insn *insn) {
    const tile_op_info *info = tile_op_get_info(insn->opcode);
    if (!insn->opcode || info->effects & (TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR))
        return false;
    return insn->product || (info->effects & ~(unsigned)TILE_EFFECT_ALLOC) ||
           info->completion != TILE_COMPLETION_NOW || accesses_of(insn);
}

static void emit_event(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, const char *name,
                       tile_trace_kind kind, uint64_t begin, uint64_t end) {
    const cpu_block *block = agent->block;
    tile_trace_event event = {.kind = kind,
                              .operation = name,
                              .file = tile_context_source_name(run->context, insn->loc.file),
                              .line = insn->loc.line,
                              .column = insn->loc.column,
                              .begin = begin,
                              .end = end,
                              .warp = run->program->lanes > 1 ? agent->index : agent->first,
                              .warps = run->program->lanes > 1 ? 1 : agent->weight,
                              .group = agent->group};
    for (unsigned d = 0; d < 3; d++) event.block[d] = block->id[d];
    if (!insn->loc.line) event.file = "";
    run->trace(&event, run->trace_user);
}

static const char *name_of(const cpu_insn *insn) {
    return tile_opcode_spelling(insn->opcode);
}

static void end_arithmetic(cpu_run *run, cpu_agent *agent) {
    cpu_tracing *t = &agent->tracing;
    if (t->arithmetic && agent->clock.ticks > t->arithmetic_since)
        emit_event(run, agent, t->arithmetic, "arithmetic", TILE_TRACE_ARITHMETIC,
                   t->arithmetic_since, agent->clock.ticks);
    t->arithmetic = NULL;
}

static void end_wait(cpu_run *run, cpu_agent *agent) {
    cpu_tracing *t = &agent->tracing;
    if (t->waiting && agent->clock.ticks > t->waiting_since)
        emit_event(run, agent, t->waiting, name_of(t->waiting), TILE_TRACE_WAIT, t->waiting_since,
                   agent->clock.ticks);
    t->waiting = NULL;
}

/* Starts an operation that continues asynchronously. */
static void start(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, tile_mechanism mechanism) {
    uint64_t *busy = &agent->tracing.busy[mechanism], now = agent->clock.ticks, end;
    uint64_t begin = most(now, *busy);
    if (insn->product)
        end = begin + most(1, cpu_product_size(insn->product) / agent->weight / OF_PRODUCTS);
    else
        end = most(now + CPU_TICKS_OF_FLIGHT, *busy + bytes_of(agent, insn) / OF_BYTES);
    emit_event(run, agent, insn, name_of(insn), TILE_TRACE_BACKGROUND, insn->product ? begin : now,
               end);
    *busy = end;
}

/* Waits for all groups except the latest `pending`. The clocks propagate the tick of mbarriers. */
static void wait_for_groups(cpu_agent *agent, const cpu_insn *insn, tile_mechanism mechanism) {
    const cpu_tracing *t = &agent->tracing;
    uint64_t count = t->committed[mechanism], pending = (uint64_t)insn->integer;
    if (mechanism == TILE_MECHANISM_BARRIER || pending >= CPU_TRACED_GROUPS || pending >= count)
        return;
    agent->clock.ticks =
        most(agent->clock.ticks, t->groups[mechanism][(count - 1 - pending) % CPU_TRACED_GROUPS]);
}

static void follow_mechanism(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                             const tile_op_info *info) {
    cpu_tracing *t = &agent->tracing;
    tile_mechanism mechanism = info->mechanism;
    switch (info->completion) {
    case TILE_COMPLETION_NOW: break;
    case TILE_COMPLETION_STARTS: start(run, agent, insn, mechanism); break;
    case TILE_COMPLETION_COMMITS:
        t->groups[mechanism][t->committed[mechanism]++ % CPU_TRACED_GROUPS] = t->busy[mechanism];
        break;
    case TILE_COMPLETION_WAITS: wait_for_groups(agent, insn, mechanism); break;
    }
}

/* The event of a wait that has ended precedes those that follow it. */
void cpu_trace_before(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    cpu_tracing *t = &agent->tracing;
    if (t->waiting && t->waiting != insn) end_wait(run, agent);
    if (is_traced(insn)) end_arithmetic(run, agent);
    t->began = agent->clock.ticks;
}

void cpu_trace_after(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, bool paused) {
    cpu_tracing *t = &agent->tracing;
    const tile_op_info *info = tile_op_get_info(insn->opcode);
    if (!is_traced(insn) && paused) return; /* at level 2 the block, while its groups run */
    if (!t->waiting && (paused || agent->clock.ticks > t->began)) {
        t->waiting_since = t->began;
        t->waiting = insn;
    }
    if (paused) return;
    end_wait(run, agent); /* the wait is over, and the clocks have propagated its tick */
    uint64_t began = agent->clock.ticks;
    if (!is_traced(insn)) {
        if (!t->arithmetic && insn->opcode) t->arithmetic_since = began, t->arithmetic = insn;
        agent->clock.ticks += cost_of(run, agent, insn);
        return;
    }
    if (info->completion == TILE_COMPLETION_NOW) agent->clock.ticks += cost_of(run, agent, insn);
    follow_mechanism(run, agent, insn, info);
    bool waits = info->completion == TILE_COMPLETION_WAITS && agent->clock.ticks > began;
    if (info->completion != TILE_COMPLETION_NOW && !waits) agent->clock.ticks++;
    emit_event(run, agent, insn, name_of(insn), waits ? TILE_TRACE_WAIT : TILE_TRACE_OPERATION,
               began, agent->clock.ticks);
}
