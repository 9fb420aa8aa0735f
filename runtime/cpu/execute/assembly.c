/* Inline PTX is executed as the compute that its author declares for it, on the elements of a
 * warp's active lanes, or of a whole tile. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/decoding.h"
#include "runtime/reference/evaluation.h"

struct cpu_assembly {
    const tile_function *compute;
    unsigned count; /* number of operands */
    tile_scalar *scalars;
    uint32_t *elements, *sizes; /* elements of one lane; bytes of an element */
    tile_scalar result_scalar;  /* of the compute: its bits become the result's */
    uint32_t calls;             /* number of elements of one lane that it computes */
};

/* The number of elements of the operands that are not scalars; 0 after a report if it differs. */
static uint32_t common_elements(cpu_decoder *d, tile_op op) {
    uint32_t common = 1;
    for (unsigned i = 0; i < tile_op_operand_count(d->f, op); i++) {
        uint32_t own = cpu_value_elements(tile_value_type(d->f, tile_op_operand(d->f, op, i)));
        if (own == 1 || own == common) continue;
        if (common > 1) {
            CPU_FAIL(d, tile_op_loc(d->f, op),
                     "asm: a reference takes elements one by one, and the operands have %u and %u",
                     common, own);
            return 0;
        }
        common = own;
    }
    return common;
}

static bool fits(cpu_decoder *d, tile_op op, const struct cpu_assembly *a) {
    const tile_type *type = cpu_result_type(d, op);
    uint32_t bytes = cpu_value_elements(type) * cpu_value_size(type);
    if (a->calls * tile_scalar_bytes(a->result_scalar) == bytes) return true;
    CPU_FAIL(d, tile_op_loc(d->f, op),
             "asm: the reference @%s gives %u elements of %s, which are not the %u bytes of the "
             "result",
             a->compute->name, a->calls, tile_scalar_name(a->result_scalar), bytes);
    return false;
}

void cpu_decode_asm(cpu_decoder *d, tile_op op) {
    const char *name = tile_op_attr_text(d->f, op, TILE_ATTR_reference);
    if (!name) {
        CPU_FAIL(d, tile_op_loc(d->f, op),
                 "asm: the CPU device cannot execute inline PTX; give it an equivalent, `reference "
                 "= @compute`");
        return;
    }
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_asm);
    struct cpu_assembly *a = TILE_NEW(&d->program->arena, struct cpu_assembly);
    unsigned count = tile_op_operand_count(d->f, op);
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    insn->assembly = a;
    *a = (struct cpu_assembly){.compute = tile_module_find(d->f->module, name),
                               .count = count,
                               .scalars = TILE_NEW_ARRAY(&d->program->arena, tile_scalar, count),
                               .elements = TILE_NEW_ARRAY(&d->program->arena, uint32_t, count),
                               .sizes = TILE_NEW_ARRAY(&d->program->arena, uint32_t, count),
                               .calls = common_elements(d, op)};
    if (d->failed) return;
    for (unsigned i = 0; i < count; i++) {
        const tile_type *type = tile_value_type(d->f, tile_op_operand(d->f, op, i));
        a->scalars[i] = type->scalar;
        a->elements[i] = cpu_value_elements(type);
        a->sizes[i] = cpu_value_size(type);
    }
    a->result_scalar = a->compute->results[0].type->scalar;
    if (!a->result_scalar) a->result_scalar = insn->scalar;
    fits(d, op, a);
}

/* Operand i of the active lanes, lane by lane; a scalar is repeated. */
static char *collect(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, unsigned i,
                     const unsigned *lanes, unsigned lane_count) {
    const struct cpu_assembly *a = insn->assembly;
    uint32_t size = a->sizes[i], all = run->program->lanes;
    const char *from = cpu_at(run, agent, insn->index[i]);
    char *to = tile_malloc((size_t)size * a->calls * lane_count + 1), *at = to;
    for (unsigned l = 0; l < lane_count; l++)
        for (uint32_t e = 0; e < a->calls; e++, at += size)
            memcpy(at, from + ((size_t)(a->elements[i] > 1 ? e : 0) * all + lanes[l]) * size, size);
    return to;
}

static void hand_out(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                     const char *from, const unsigned *lanes, unsigned lane_count) {
    uint32_t all = run->program->lanes, elements = insn->count / all;
    char *to = cpu_at(run, agent, insn->result);
    for (unsigned l = 0; l < lane_count; l++)
        for (uint32_t e = 0; e < elements; e++, from += insn->size)
            memcpy(to + ((size_t)e * all + lanes[l]) * insn->size, from, insn->size);
}

CPU_HANDLER(cpu_run_asm) {
    const struct cpu_assembly *a = insn->assembly;
    unsigned lanes[CPU_LANES], lane_count = 0;
    for (unsigned lane = 0; lane < run->program->lanes; lane++)
        if (agent->mask >> lane & 1) lanes[lane_count++] = lane;
    int64_t calls = (int64_t)a->calls * lane_count;
    tile_compute_array *inputs = tile_malloc(sizeof *inputs * (a->count + 1u));
    tile_compute_array output = {.scalar = a->result_scalar, .rank = 1, .dims = {calls}};
    for (unsigned i = 0; i < a->count; i++)
        inputs[i] = (tile_compute_array){.scalar = a->scalars[i],
                                         .rank = 1,
                                         .dims = {calls},
                                         .data = collect(run, agent, insn, i, lanes, lane_count)};
    output.data = tile_malloc((size_t)calls * tile_scalar_bytes(a->result_scalar) + 1);
    tile_status status = evaluation_run(a->compute, NULL, 0, inputs, a->count, &output, 1);
    if (status == TILE_OK) hand_out(run, agent, insn, output.data, lanes, lane_count);
    for (unsigned i = 0; i < a->count; i++) free(inputs[i].data);
    free(inputs);
    free(output.data);
    if (status == TILE_OK) return CPU_NEXT;
    return cpu_fault(run, agent, insn, -1, "its reference @%s cannot be computed",
                     a->compute->name);
}
