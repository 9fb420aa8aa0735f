/* Arithmetic on the elements of all lanes, one loop for each operation.
 *
 * lib/ir/arith.def defines the operations; the constant folder and level 1 use it as well. Integers
 * wrap to their width. Floats are computed in double and rounded once to their type. For +, -, x, /
 * and the square root of types up to f32 the result is correctly rounded, since a double has more
 * than twice as many digits plus two. The operations that are common in address arithmetic and sums
 * have their own loops. */
#include <math.h>

#include "lib/support/float16.h"
#include "lib/ops/cast.h"
#include "lib/support/scalar.h"
#include "runtime/cpu/execute/exec.h"

static const char *element_at(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                              unsigned operand) {
    return cpu_at(run, agent, insn->operand[operand]);
}

/* The element type of the results. */
static tile_scalar result_scalar(const cpu_insn *insn) {
    return tile_op_has_trait(insn->opcode, TILE_TRAIT_COMPARE) ? TILE_i1 : insn->scalar;
}

/* Any operation, any type ---------------------------------------------------------------------- */

static cpu_outcome run_integer(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    tile_scalar scalar = insn->scalar;
    tile_scalar to = result_scalar(insn);
    unsigned size = tile_scalar_bytes(scalar), to_size = tile_scalar_bytes(to);
    const char *a = element_at(run, agent, insn, 0);
    const char *b = insn->operand[1] == CPU_NO_PLACE ? a : element_at(run, agent, insn, 1);
    const char *c = insn->operand[2] == CPU_NO_PLACE ? a : element_at(run, agent, insn, 2);
    char *result = cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < insn->count; i++) {
        int64_t value = 0;
        int64_t x = tile_integer_read(scalar, a + i * size),
                y = tile_integer_read(scalar, b + i * size),
                z = tile_integer_read(scalar, c + i * size);
        unsigned lane = i % run->program->lanes;
        bool fine = tile_fold_element(insn->opcode, scalar, insn->arith_flags, x, y, z, &value) ||
                    insn->poison;
        if (!fine && agent->mask >> lane & 1)
            return cpu_fault(run, agent, insn, (int)lane, "division by zero");
        tile_integer_write(to, result + i * to_size, value);
    }
    return CPU_NEXT;
}

static cpu_outcome run_float(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    tile_scalar scalar = insn->scalar;
    tile_scalar to = result_scalar(insn);
    unsigned size = tile_scalar_bytes(scalar), to_size = tile_scalar_bytes(to);
    const char *a = element_at(run, agent, insn, 0);
    const char *b = insn->operand[1] == CPU_NO_PLACE ? a : element_at(run, agent, insn, 1);
    const char *c = insn->operand[2] == CPU_NO_PLACE ? a : element_at(run, agent, insn, 2);
    char *result = cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < insn->count; i++) {
        uint32_t at = i * size;
        double value = NAN; /* decoding has checked that the operation is defined */
        tile_fold_real(insn->opcode, scalar, insn->arith_flags, tile_scalar_read(scalar, a + at),
                       tile_scalar_read(scalar, b + at), tile_scalar_read(scalar, c + at), &value);
        tile_scalar_write(to, result + i * to_size, value);
    }
    return CPU_NEXT;
}

/* Rounding the sum to double first could change the f32 result. */
static cpu_outcome run_fma_f32(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    const float *a = cpu_at(run, agent, insn->operand[0]);
    const float *b = cpu_at(run, agent, insn->operand[1]);
    const float *c = cpu_at(run, agent, insn->operand[2]);
    float *result = cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < insn->count; i++) result[i] = fmaf(a[i], b[i], c[i]);
    return CPU_NEXT;
}

/* Frequent operations -------------------------------------------------------------------------- */

#define LOOP(name, type, to, expression) \
    static cpu_outcome name(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) { \
        const type *a = cpu_at(run, agent, insn->operand[0]); \
        const type *b = cpu_at(run, agent, insn->operand[1]); \
        to *result = cpu_at(run, agent, insn->result); \
        for (uint32_t i = 0; i < insn->count; i++) result[i] = (to)(expression); \
        return CPU_NEXT; \
    }

/* Unsigned where the result wraps, signed where the order matters. */
LOOP(add_i32, uint32_t, uint32_t, a[i] + b[i])
LOOP(sub_i32, uint32_t, uint32_t, a[i] - b[i])
LOOP(mul_i32, uint32_t, uint32_t, a[i] * b[i])
LOOP(and_i32, uint32_t, uint32_t, a[i] & b[i])
LOOP(or_i32, uint32_t, uint32_t, a[i] | b[i])
LOOP(xor_i32, uint32_t, uint32_t, a[i] ^ b[i])
LOOP(lt_i32, int32_t, uint8_t, a[i] < b[i])
LOOP(add_i64, uint64_t, uint64_t, a[i] + b[i])
LOOP(mul_i64, uint64_t, uint64_t, a[i] * b[i])
LOOP(and_i1, uint8_t, uint8_t, a[i] & b[i])
LOOP(add_f32, float, float, a[i] + b[i])
LOOP(sub_f32, float, float, a[i] - b[i])
LOOP(mul_f32, float, float, a[i] * b[i])

static const struct {
    tile_opcode opcode;
    tile_scalar scalar;
    cpu_handler handler;
} frequent[] = {
    {TILE_OP_add, TILE_i32, add_i32}, {TILE_OP_sub, TILE_i32, sub_i32},
    {TILE_OP_mul, TILE_i32, mul_i32}, {TILE_OP_and, TILE_i32, and_i32},
    {TILE_OP_or, TILE_i32, or_i32},   {TILE_OP_xor, TILE_i32, xor_i32},
    {TILE_OP_lt, TILE_i32, lt_i32},   {TILE_OP_add, TILE_i64, add_i64},
    {TILE_OP_mul, TILE_i64, mul_i64}, {TILE_OP_and, TILE_i1, and_i1},
    {TILE_OP_add, TILE_f32, add_f32}, {TILE_OP_sub, TILE_f32, sub_f32},
    {TILE_OP_mul, TILE_f32, mul_f32}, {TILE_OP_fma, TILE_f32, run_fma_f32},
};

/* Moves and conversions ------------------------------------------------------------------------ */

static cpu_outcome run_select(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    const uint8_t *condition = cpu_at(run, agent, insn->operand[0]);
    const char *yes = element_at(run, agent, insn, 1), *no = element_at(run, agent, insn, 2);
    char *result = cpu_at(run, agent, insn->result);
    uint32_t lanes = run->program->lanes, size = insn->size;
    for (uint32_t i = 0; i < insn->count; i++) {
        bool chosen = condition[insn->flag ? i % lanes : i];
        memcpy(result + i * size, (chosen ? yes : no) + i * size, size);
    }
    return CPU_NEXT;
}

static cpu_outcome cast_f16_f32(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    const uint16_t *from = cpu_at(run, agent, insn->operand[0]);
    float *to = cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < insn->count; i++) to[i] = tile_f16_to_float(from[i]);
    return CPU_NEXT;
}

static cpu_outcome cast_f32_f16(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    const float *from = cpu_at(run, agent, insn->operand[0]);
    uint16_t *to = cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < insn->count; i++) to[i] = tile_f16_from_float(from[i]);
    return CPU_NEXT;
}

static cpu_outcome run_cast(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    const char *from = element_at(run, agent, insn, 0);
    char *to = cpu_at(run, agent, insn->result);
    unsigned from_size = tile_scalar_bytes(insn->from), size = tile_scalar_bytes(insn->scalar);
    for (uint32_t i = 0; i < insn->count; i++)
        tile_cast_element(insn->from, insn->scalar, insn->arith_flags, from + i * from_size,
                          to + i * size);
    return CPU_NEXT;
}

static cpu_outcome run_bitcast(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    memcpy(cpu_at(run, agent, insn->result), element_at(run, agent, insn, 0),
           (size_t)insn->count * insn->size);
    return CPU_NEXT;
}

static cpu_outcome run_splat(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    uint32_t step = run->program->lanes * insn->size;
    const char *from = element_at(run, agent, insn, 0);
    char *to = cpu_at(run, agent, insn->result);
    for (uint32_t i = 0; i < insn->count / run->program->lanes; i++)
        memcpy(to + i * step, from, step);
    return CPU_NEXT;
}

cpu_handler cpu_arith_handler(tile_opcode opcode, tile_scalar scalar, tile_scalar from,
                              bool plain) {
    switch (opcode) {
    case TILE_OP_select: return run_select;
    case TILE_OP_splat: return run_splat;
    case TILE_OP_bitcast: return run_bitcast;
    case TILE_OP_cast:
        if (!plain) return run_cast;
        if (from == TILE_f16 && scalar == TILE_f32) return cast_f16_f32;
        return from == TILE_f32 && scalar == TILE_f16 ? cast_f32_f16 : run_cast;
    default: break;
    }
    for (size_t i = 0; i < sizeof frequent / sizeof *frequent && plain; i++)
        if (frequent[i].opcode == opcode && frequent[i].scalar == scalar)
            return frequent[i].handler;
    double number;
    int64_t integer;
    const tile_arith_flags none = {.nan = false};
    if (tile_scalar_is_floating(scalar))
        return tile_fold_real(opcode, scalar, none, 1, 1, 1, &number) ? run_float : NULL;
    return tile_fold_element(opcode, scalar, none, 1, 1, 1, &integer) ? run_integer : NULL;
}
