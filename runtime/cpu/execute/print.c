/* assert, assume, `finite` and print. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lib/support/scalar.h"
#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/decoding.h"
#include "runtime/cpu/sanitize/check.h"

/* Conditions ----------------------------------------------------------------------------------- */

static CPU_HANDLER(run_claim) {
    const uint8_t *condition = cpu_at(run, agent, insn->operand[0]);
    uint32_t lanes = run->program->lanes;
    for (uint32_t i = 0; i < insn->count; i++) {
        if (condition[i] || !(agent->mask >> i % lanes & 1)) continue;
        int lane = lanes > 1 ? (int)(i % lanes) : -1;
        return cpu_fault(run, agent, insn, lane, "%s", insn->name);
    }
    return CPU_NEXT;
}

static void decode_claim(cpu_decoder *d, tile_op op, const char *otherwise) {
    const char *text = tile_op_attr_text(d->f, op, TILE_ATTR_text);
    cpu_insn *insn = cpu_add_op(d, op, run_claim);
    cpu_set_elements(d, insn, cpu_operand_type(d, op, TILE_OPERAND_condition));
    insn->name = text ? text : otherwise;
}

void cpu_decode_assert(cpu_decoder *d, tile_op op) {
    decode_claim(d, op, "the condition is false");
}

void cpu_decode_assume(cpu_decoder *d, tile_op op) {
    decode_claim(d, op, "the kernel relies on it, and it does not hold");
}

static CPU_HANDLER(run_finite) {
    const char *from = cpu_at(run, agent, insn->operand[0]);
    uint32_t lanes = run->program->lanes;
    for (uint32_t i = 0; i < insn->count; i++) {
        double value = tile_scalar_read(insn->scalar, from + (size_t)i * insn->size);
        if (value <= DBL_MAX || !(agent->mask >> i % lanes & 1)) continue;
        int lane = lanes > 1 ? (int)(i % lanes) : -1;
        return cpu_fault(run, agent, insn, lane, "the loop is marked `finite`, and carries %s",
                         isnan(value) ? "NaN" : "infinity");
    }
    return CPU_NEXT;
}

void cpu_decode_finite(cpu_decoder *d, tile_op yield, tile_value value) {
    const tile_type *type = tile_value_type(d->f, value);
    if (!tile_scalar_is_floating(type->scalar) || !cpu_stream_has(d, value)) return;
    cpu_insn *insn = cpu_add_insn(d, yield, run_finite);
    cpu_set_elements(d, insn, type);
    insn->operand[0] = cpu_place_of(d, value);
}

/* Printing ------------------------------------------------------------------------------------- */

/* Additional data of a print. */
struct cpu_print {
    const char *text;              /* or NULL */
    const tile_type *const *types; /* types of the values */
};

static const char *number_text(tile_arena *arena, tile_scalar scalar, const void *at) {
    if (tile_scalar_is_unsigned(scalar))
        return tile_arena_format(arena, "%" PRIu64, (uint64_t)tile_integer_read(scalar, at));
    if (!tile_scalar_is_floating(scalar))
        return tile_arena_format(arena, "%" PRId64, tile_integer_read(scalar, at));
    return tile_arena_format(arena, scalar == TILE_f64 ? "%.17g" : "%g",
                             tile_scalar_read(scalar, at));
}

static void write_line(const cpu_run *run, const char *text) {
    if (run->print)
        run->print(text, run->print_user);
    else
        fputs(text, stdout);
}

static const char *place_text(tile_arena *arena, const int64_t *at, unsigned count) {
    const char *text = "";
    for (unsigned i = 0; i < count; i++)
        text = tile_arena_format(arena, "%s%s%" PRId64, text, i ? ", " : " [", at[i]);
    return count ? tile_arena_format(arena, "%s]", text) : "";
}

static void print_line(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                       tile_arena *arena, const int64_t *at, unsigned rank, const char *values) {
    const int64_t *id = agent->block->id;
    const char *text = insn->print->text;
    write_line(run,
               tile_arena_format(arena, "block (%" PRId64 ", %" PRId64 ", %" PRId64 ")%s%s%s%s%s\n",
                                 id[0], id[1], id[2], text ? ", " : "", text ? text : "",
                                 place_text(arena, at, rank), *values ? ": " : "", values));
}

/* Level 2 keeps registers in row-major order. */
static void print_tile(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                       tile_arena *arena) {
    const tile_type *type = insn->print->types[0];
    const char *from = cpu_at(run, agent, insn->second[0]);
    for (int64_t i = 0; i < tile_type_elements(type); i++) {
        int64_t at[TILE_MAX_RANK], rest = i;
        for (unsigned d = type->rank; d-- > 0; rest /= tile_type_dim(type, d))
            at[d] = rest % tile_type_dim(type, d);
        print_line(run, agent, insn, arena, at, type->rank,
                   number_text(arena, type->scalar, from + i * tile_scalar_bytes(type->scalar)));
    }
}

static void print_lane(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, unsigned lane,
                       tile_arena *arena) {
    int64_t *at = TILE_NEW_ARRAY(arena, int64_t, insn->index_count + 1u);
    const char *values = "";
    for (unsigned i = 0; i < insn->index_count; i++)
        at[i] = ((const int32_t *)cpu_at(run, agent, insn->index[i]))[lane];
    for (unsigned i = 0; i < insn->second_count; i++) {
        tile_scalar scalar = insn->print->types[i]->scalar;
        const char *from = cpu_at(run, agent, insn->second[i]);
        values =
            tile_arena_format(arena, "%s%s%s", values, i ? ", " : "",
                              number_text(arena, scalar, from + lane * tile_scalar_bytes(scalar)));
    }
    print_line(run, agent, insn, arena, at, insn->index_count, values);
}

static CPU_HANDLER(run_print) {
    tile_arena arena = {0};
    if (insn->second_count && insn->print->types[0]->kind == TILE_TYPE_TILE)
        print_tile(run, agent, insn, &arena);
    else
        for (unsigned lane = 0; lane < run->program->lanes; lane++)
            if (agent->mask >> lane & 1) print_lane(run, agent, insn, lane, &arena);
    tile_arena_reset(&arena);
    return CPU_NEXT;
}

void cpu_decode_print(cpu_decoder *d, tile_op op) {
    const tile_values src = tile_operands_src(d->f, op);
    const tile_type **types = TILE_NEW_ARRAY(&d->program->arena, const tile_type *, src.count + 1u);
    struct cpu_print *print = TILE_NEW(&d->program->arena, struct cpu_print);
    for (unsigned i = 0; i < src.count; i++) types[i] = tile_value_type(d->f, src.at[i]);
    *print = (struct cpu_print){tile_op_attr_text(d->f, op, TILE_ATTR_text), types};
    cpu_add_op(d, op, run_print)->print = print;
}
