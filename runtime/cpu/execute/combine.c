/* Reductions and scans by a function: its instructions work on one element of every row, and run
 * for each position along the axis. */
#include "runtime/cpu/execute/combine.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/execute/poison.h"

static size_t column_bytes(const cpu_combining *r, unsigned i) {
    return r->c->rows * r->c->operands[i].size;
}

void cpu_new_columns(const cpu_combining *r, cpu_columns x) {
    for (unsigned i = 0; i < r->c->with.count; i++) x[i] = tile_malloc(column_bytes(r, i) + 1);
}

void cpu_free_columns(const cpu_combining *r, cpu_columns x) {
    for (unsigned i = 0; i < r->c->with.count; i++) free(x[i]);
}

static void copy_columns(const cpu_combining *r, cpu_columns to, cpu_columns from) {
    for (unsigned i = 0; i < r->c->with.count; i++) memcpy(to[i], from[i], column_bytes(r, i));
}

/* The position along the axis of the element that is combined at number k. */
static size_t position(const cpu_combining *r, size_t k) {
    return r->c->with.reverse ? r->rows.extent - 1 - k : k;
}

/* Copies the elements at a position to or from the tiles of the operation. */
static void move_column(const cpu_combining *r, bool reads, uint32_t place, size_t at, unsigned i,
                        char *column) {
    uint32_t size = r->c->operands[i].size;
    char *tile = cpu_at(r->run, r->agent, place);
    for (size_t row = 0; row < r->c->rows; row++) {
        char *element = tile + (tile_row_begin(&r->rows, row) + at * r->rows.inner) * size;
        memcpy(reads ? column + row * size : element, reads ? element : column + row * size, size);
    }
}

void cpu_load_columns(const cpu_combining *r, size_t k, cpu_columns to) {
    for (unsigned i = 0; i < r->c->with.count; i++)
        move_column(r, true, r->c->operands[i].from, position(r, k), i, to[i]);
}

static void store_columns(const cpu_combining *r, size_t k, cpu_columns from) {
    for (unsigned i = 0; i < r->c->with.count; i++)
        move_column(r, false, r->c->operands[i].to, position(r, k), i, from[i]);
}

void cpu_load_identity(const cpu_combining *r, cpu_columns to) {
    for (unsigned i = 0; i < r->c->with.count; i++) {
        const cpu_combined *o = &r->c->operands[i];
        const char *number = cpu_at(r->run, r->agent, o->identity);
        for (size_t row = 0; row < r->c->rows; row++)
            memcpy(to[i] + row * o->size, number, o->size);
    }
}

bool cpu_apply_function(const cpu_combining *r, cpu_columns a, cpu_columns b, cpu_columns to) {
    const struct cpu_combine *c = r->c;
    bool ok = true;
    for (unsigned i = 0; i < c->with.count; i++) {
        memcpy(cpu_at(r->run, r->agent, c->operands[i].left), a[i], column_bytes(r, i));
        memcpy(cpu_at(r->run, r->agent, c->operands[i].right), b[i], column_bytes(r, i));
    }
    for (uint32_t k = 0; k < c->insn_count && ok; k++)
        ok = c->insns[k].handler(r->run, r->agent, &c->insns[k]) == CPU_NEXT;
    for (unsigned i = 0; i < c->with.count; i++)
        memcpy(to[i], cpu_at(r->run, r->agent, c->operands[i].out), column_bytes(r, i));
    return ok;
}

static bool combine_all(const cpu_combining *r) {
    cpu_columns sum, next;
    bool ok = true;
    cpu_new_columns(r, sum);
    cpu_new_columns(r, next);
    if (r->c->with.exclusive) cpu_load_identity(r, sum);
    for (size_t k = 0; k < r->rows.extent && ok; k++) {
        cpu_load_columns(r, k, next);
        if (r->c->with.exclusive) store_columns(r, k, sum);
        if (k)
            ok = cpu_apply_function(r, sum, next, sum);
        else
            copy_columns(r, sum, next);
        if (!r->c->with.reduces && !r->c->with.exclusive) store_columns(r, k, sum);
    }
    for (unsigned i = 0; r->c->with.reduces && i < r->c->with.count; i++)
        memcpy(cpu_at(r->run, r->agent, r->c->operands[i].to), sum[i], column_bytes(r, i));
    cpu_free_columns(r, sum);
    cpu_free_columns(r, next);
    return ok;
}

static cpu_combining start(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    int64_t dims[TILE_MAX_RANK];
    for (unsigned d = 0; d < insn->type->rank; d++) dims[d] = tile_type_dim(insn->type, d);
    return (cpu_combining){run, agent, insn, insn->combine,
                           tile_rows_along(dims, insn->type->rank, insn->combine->with.axis)};
}

/* The first origin among the elements at a place of the operands. */
static uint8_t poison_at(const cpu_combining *r, size_t at) {
    uint8_t found = 0;
    for (unsigned i = 0; i < r->c->with.count && !found; i++)
        found = r->agent->poison[r->c->operands[i].poison + at * r->c->operands[i].size];
    return found;
}

static void write_poison(const cpu_combining *r, size_t at, uint8_t origin) {
    for (unsigned i = 0; i < r->c->with.count; i++)
        r->agent->poison[r->c->operands[i].to + at * r->c->operands[i].size] = origin;
}

/* Each result depends on all elements that it combines. */
CPU_HANDLER(cpu_run_poison_combine) {
    const cpu_combining r = start(run, agent, insn);
    for (size_t row = 0; row < r.c->rows; row++) {
        uint8_t found = 0;
        for (size_t k = 0; k < r.rows.extent; k++) {
            size_t at = tile_row_begin(&r.rows, row) + position(&r, k) * r.rows.inner;
            uint8_t before = found;
            if (!found) found = poison_at(&r, at);
            if (!r.c->with.reduces) write_poison(&r, at, r.c->with.exclusive ? before : found);
        }
        if (r.c->with.reduces) write_poison(&r, row, found);
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_combine) {
    const cpu_combining r = start(run, agent, insn);
    return combine_all(&r) && cpu_test_claims(&r) ? CPU_NEXT : CPU_STOP;
}
