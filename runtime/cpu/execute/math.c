/* exp, log and similar functions at level 3, computed as on a GPU. It uses the function bodies from
 * which the PTX is generated (lib/codegen/math_bodies.h), so a run on the CPU device also checks
 * them. Levels 1 and 2 use the host's functions as the reference. */
#include "lib/support/scalar.h"
#include "runtime/cpu/execute/math_words.h"
#include "runtime/cpu/execute/exec.h"

typedef struct function {
    num (*body)(math *m, num x);
    num (*fast)(math *m, num x);
    num (*of_two)(math *m, num x, num y);
} function;

static const function functions[TILE_OPCODE_LIMIT] = {
#define FUNCTION(name, fast_body) [TILE_OP_##name] = {body_##name, fast_body, NULL},
#define FUNCTION_OF_TWO(name) [TILE_OP_##name] = {NULL, NULL, body_##name},
#include "lib/codegen/math.def"
};

/* 16-bit floats are computed in f32. */
static cpu_outcome run_math(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    const function *f = &functions[insn->opcode];
    const char *from = cpu_at(run, agent, insn->operand[0]);
    char *to = cpu_at(run, agent, insn->result);
    math m = {.wide = insn->scalar == TILE_f64};
    num (*body)(math * m, num x) = insn->flag && !m.wide ? f->fast : f->body;
    unsigned size = tile_scalar_bytes(insn->scalar);
    for (uint32_t i = 0; i < insn->count; i++)
        tile_scalar_write(insn->scalar, to + i * size,
                          body(&m, tile_scalar_read(insn->scalar, from + i * size)));
    return CPU_NEXT;
}

static cpu_outcome run_math_of_two(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    const char *a = cpu_at(run, agent, insn->operand[0]), *b = cpu_at(run, agent, insn->operand[1]);
    char *to = cpu_at(run, agent, insn->result);
    math m = {.wide = insn->scalar == TILE_f64};
    unsigned size = tile_scalar_bytes(insn->scalar);
    for (uint32_t at = 0; at < insn->count * size; at += size)
        tile_scalar_write(insn->scalar, to + at,
                          functions[insn->opcode].of_two(&m, tile_scalar_read(insn->scalar, a + at),
                                                         tile_scalar_read(insn->scalar, b + at)));
    return CPU_NEXT;
}

cpu_handler cpu_math_handler(tile_opcode opcode) {
    if (functions[opcode].of_two) return run_math_of_two;
    return functions[opcode].body ? run_math : NULL;
}
