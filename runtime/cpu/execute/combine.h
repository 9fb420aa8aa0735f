/* Reductions and scans by a function: what their handlers share. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_COMBINE_H
#define TILE_RUNTIME_CPU_EXECUTE_COMBINE_H

#include "lib/ops/combine.h"
#include "lib/ops/reduce.h"
#include "runtime/cpu/execute/exec.h"

/* A value of the function for each row, for one operand. */
typedef struct cpu_combined {
    tile_scalar scalar;
    uint32_t size;               /* bytes of an element */
    uint32_t left, right, out;   /* places of the function's values */
    uint32_t from, to, identity; /* places of the operation's values; CPU_NO_PLACE: none */
    uint32_t poison;             /* of `from` */
} cpu_combined;

struct cpu_combine {
    tile_combine with;
    size_t rows;
    cpu_combined *operands;
    cpu_insn *insns;
    uint32_t insn_count;
};

typedef struct cpu_combining {
    cpu_run *run;
    cpu_agent *agent;
    const cpu_insn *insn;
    const struct cpu_combine *c;
    tile_rows rows;
} cpu_combining;

/* By operand: an element of every row, in memory of the host. */
typedef char *cpu_columns[TILE_MAX_COMBINED];

void cpu_new_columns(const cpu_combining *r, cpu_columns x);
void cpu_free_columns(const cpu_combining *r, cpu_columns x);
/* Loads the elements that are combined at number k, or the identity. */
void cpu_load_columns(const cpu_combining *r, size_t k, cpu_columns to);
void cpu_load_identity(const cpu_combining *r, cpu_columns to);
/* to = f(a, b); to may be a or b. False after a fault. */
bool cpu_apply_function(const cpu_combining *r, cpu_columns a, cpu_columns b, cpu_columns to);

/* combine_claims.c: tests on some of the elements that the identity changes nothing and that the
 * function is associative. False after a report. */
bool cpu_test_claims(const cpu_combining *r);

#endif
