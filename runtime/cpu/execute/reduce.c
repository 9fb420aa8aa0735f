/* Reductions along an axis of a tile, which is row-major here, and over the threads of a warp. */
#include "lib/ops/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "lib/support/scalar.h"
#include "runtime/cpu/execute/exec.h"

CPU_HANDLER(cpu_run_reduce) {
    int64_t dims[TILE_MAX_RANK];
    const char *from = cpu_at(run, agent, insn->operand[0]);
    char *to = cpu_at(run, agent, insn->result);
    for (unsigned d = 0; d < insn->type->rank; d++) dims[d] = tile_type_dim(insn->type, d);
    tile_rows rows = tile_rows_along(dims, insn->type->rank, (unsigned)insn->integer);
    for (size_t row = 0; row < rows.outer * rows.inner; row++) {
        tile_accumulator sum = tile_accumulate_start(insn->kind, insn->scalar);
        sum.nan = insn->flag;
        const char *first = from + tile_row_begin(&rows, row) * insn->size;
        for (size_t i = 0; i < rows.extent; i++)
            tile_accumulate(&sum, first + i * rows.inner * insn->size);
        tile_accumulate_write(&sum, to + row * insn->size);
    }
    return CPU_NEXT;
}

/* Processes row by row. insn->flag: `descending`, for a sort; insn->second: the place for
 * coordinates. */
CPU_HANDLER(cpu_run_rows) {
    int64_t dims[TILE_MAX_RANK];
    const char *from = cpu_at(run, agent, insn->operand[0]);
    char *to = cpu_at(run, agent, insn->result);
    int32_t *places =
        insn->opcode == TILE_OP_reduce_arg ? cpu_at(run, agent, insn->second[0]) : NULL;
    tile_scan scan = {insn->kind, insn->reverse, insn->exclusive};
    for (unsigned d = 0; d < insn->type->rank; d++) dims[d] = tile_type_dim(insn->type, d);
    tile_rows rows = tile_rows_along(dims, insn->type->rank, (unsigned)insn->integer);
    tile_number *row = tile_malloc(sizeof *row * (rows.extent + 1));
    for (size_t r = 0; r < rows.outer * rows.inner; r++) {
        size_t first = tile_row_begin(&rows, r);
        for (size_t i = 0; i < rows.extent; i++)
            row[i] = tile_number_read(insn->scalar, from + (first + i * rows.inner) * insn->size);
        if (places) {
            size_t found = tile_row_find(insn->kind, insn->scalar, row, rows.extent);
            tile_number_write(insn->scalar, row[found], to + r * insn->size);
            places[r] = (int32_t)found;
            continue;
        }
        if (insn->opcode == TILE_OP_sort)
            tile_row_sort(insn->flag, insn->scalar, row, rows.extent);
        else
            tile_row_scan(scan, insn->scalar, row, rows.extent);
        for (size_t i = 0; i < rows.extent; i++)
            tile_number_write(insn->scalar, row[i], to + (first + i * rows.inner) * insn->size);
    }
    free(row);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_histogram) {
    const char *from = cpu_at(run, agent, insn->operand[0]);
    int32_t *to = cpu_at(run, agent, insn->result);
    int64_t bins = tile_type_dim(insn->memory, 0);
    memset(to, 0, (size_t)bins * sizeof *to);
    for (size_t i = 0; i < insn->count; i++) {
        int64_t bin = tile_integer_read(insn->scalar, from + i * insn->size);
        if (bin >= 0 && bin < bins) to[bin]++;
    }
    return CPU_NEXT;
}

/* Threads of a warp ---------------------------------------------------------------------------- */

/* The lane from which this lane gets its value. */
static unsigned source_of(tile_word kind, unsigned lane, int32_t by) {
    uint32_t distance = (uint32_t)by % CPU_LANES;
    if (kind == TILE_WORD_kind_idx) return distance;
    if (kind == TILE_WORD_kind_xor) return lane ^ distance;
    if (kind == TILE_WORD_kind_up) return distance > lane ? lane : lane - distance;
    return lane + distance < CPU_LANES ? lane + distance : lane;
}

CPU_HANDLER(cpu_run_shfl) {
    const char *from = cpu_at(run, agent, insn->operand[0]);
    const int32_t *by = cpu_at(run, agent, insn->operand[1]);
    char *to = cpu_at(run, agent, insn->result);
    if (!cpu_full_warp_active(run, agent, insn)) return CPU_STOP;
    for (uint32_t e = 0; e < insn->count; e += CPU_LANES)
        for (unsigned lane = 0; lane < CPU_LANES; lane++)
            memcpy(to + (e + lane) * insn->size,
                   from + (e + source_of(insn->kind, lane, by[lane])) * insn->size, insn->size);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_redux) {
    const char *from = cpu_at(run, agent, insn->operand[0]);
    char *to = cpu_at(run, agent, insn->result);
    if (!cpu_full_warp_active(run, agent, insn)) return CPU_STOP;
    for (uint32_t e = 0; e < insn->count; e += CPU_LANES) {
        tile_accumulator sum = tile_accumulate_start(insn->kind, insn->scalar);
        for (unsigned lane = 0; lane < CPU_LANES; lane++)
            tile_accumulate(&sum, from + (e + lane) * insn->size);
        for (unsigned lane = 0; lane < CPU_LANES; lane++)
            tile_accumulate_write(&sum, to + (e + lane) * insn->size);
    }
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_vote) {
    const uint8_t *says = cpu_at(run, agent, insn->operand[0]);
    uint32_t ballot = 0;
    if (!cpu_full_warp_active(run, agent, insn)) return CPU_STOP;
    for (unsigned lane = 0; lane < CPU_LANES; lane++) ballot |= (uint32_t)(says[lane] != 0) << lane;
    bool one = insn->kind == TILE_WORD_kind_all ? ballot == UINT32_MAX : ballot != 0;
    char *to = cpu_at(run, agent, insn->result);
    if (insn->kind != TILE_WORD_kind_ballot) {
        memset(to, one, CPU_LANES);
        return CPU_NEXT;
    }
    for (unsigned lane = 0; lane < CPU_LANES; lane++)
        memcpy(to + lane * sizeof ballot, &ballot, sizeof ballot);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_match) {
    const char *from = cpu_at(run, agent, insn->operand[0]);
    uint32_t *to = cpu_at(run, agent, insn->result);
    if (!cpu_full_warp_active(run, agent, insn)) return CPU_STOP;
    for (unsigned lane = 0; lane < CPU_LANES; lane++) {
        to[lane] = 0;
        for (unsigned other = 0; other < CPU_LANES; other++)
            to[lane] |= (uint32_t)(memcmp(from + lane * insn->size, from + other * insn->size,
                                          insn->size) == 0)
                        << other;
    }
    return CPU_NEXT;
}
