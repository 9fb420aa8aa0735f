#include "runtime/cpu/sanitize/overlap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/arena.h"
#include "runtime/cpu/sanitize/check.h"

/* Spans --------------------------------------------------------------------------------------- */

static void push(cpu_spans *to, uint64_t begin, uint64_t end) {
    if (to->count && to->spans[to->count - 1].end == begin) {
        to->spans[to->count - 1].end = end;
        return;
    }
    if (to->count == to->capacity) {
        to->capacity = to->capacity ? 2 * to->capacity : 64;
        to->spans = tile_realloc(to->spans, sizeof *to->spans * to->capacity);
    }
    to->spans[to->count++] = (cpu_span){begin, end};
}

static int by_begin(const void *a, const void *b) {
    const cpu_span *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void unite(cpu_spans *all) {
    size_t kept = 0;
    if (all->count) qsort(all->spans, all->count, sizeof *all->spans, by_begin);
    for (size_t i = 0; i < all->count; i++) {
        cpu_span span = all->spans[i];
        if (kept && span.begin <= all->spans[kept - 1].end) {
            if (span.end > all->spans[kept - 1].end) all->spans[kept - 1].end = span.end;
        } else {
            all->spans[kept++] = span;
        }
    }
    all->count = kept;
}

/* The first of these bytes that is in a span; end if none is. */
static uint64_t find_common(const cpu_spans *in, uint64_t begin, uint64_t end) {
    size_t low = 0, high = in->count;
    while (low < high) { /* the first span that ends after `begin` */
        size_t middle = low + (high - low) / 2;
        if (in->spans[middle].end > begin)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == in->count || in->spans[low].begin >= end) return end;
    return in->spans[low].begin > begin ? in->spans[low].begin : begin;
}

/* Launch logs --------------------------------------------------------------------------------- */

void cpu_launch_log_add_cell(uint64_t begin, uint64_t end, bool written, bool read, void *user) {
    cpu_launch_log *launch_log = user;
    if (written) push(&launch_log->written, begin, end);
    if (read) push(&launch_log->read, begin, end);
}

void cpu_launch_log_end(cpu_launch_log *launch_log) {
    unite(&launch_log->written);
    unite(&launch_log->read);
}

void cpu_launch_log_clear(cpu_launch_log *launch_log) {
    free(launch_log->written.spans);
    free(launch_log->read.spans);
    *launch_log = (cpu_launch_log){.written = {NULL, 0, 0}};
}

/* Accesses ------------------------------------------------------------------------------------ */

static bool fault(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, int lane, uint64_t at,
                  size_t range, bool writes, const char *what) {
    const cpu_range *r = &run->ranges[range];
    cpu_fault(run, agent, insn, lane, "%s offset %" PRIu64 " of %s%s before `pdl_wait`: %s",
              writes ? "writes" : "reads", at - r->begin, *r->name ? "%" : "",
              *r->name        ? r->name
              : r->is_scratch ? "scratch"
                              : "a buffer",
              what);
    return false;
}

bool cpu_overlap_allows(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn, uint32_t lanes,
                        uint64_t address, uint64_t bytes, bool writes, size_t range) {
    int lane = 0;
    uint64_t end = address + bytes, at;
    lanes &= ~agent->waited;
    if (!lanes) return true;
    while (!(lanes >> lane & 1)) lane++;
    if (run->program->lanes == 1) lane = -1;
    if (run->ranges[range].is_scratch)
        return fault(run, agent, insn, lane, address, range, writes,
                     "an earlier step may still use this scratch");
    at = find_common(&run->launch_log->written, address, end);
    if (at != end)
        return fault(run, agent, insn, lane, at, range, writes,
                     "an earlier step, which may still run, writes it");
    at = writes ? find_common(&run->launch_log->read, address, end) : end;
    if (at != end)
        return fault(run, agent, insn, lane, at, range, writes,
                     "an earlier step, which may still run, reads it");
    return true;
}
