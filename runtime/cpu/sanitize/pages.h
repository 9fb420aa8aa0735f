/* The cells of a shadow of global memory, in pages that are allocated at the first access. */
#ifndef TILE_RUNTIME_CPU_SANITIZE_PAGES_H
#define TILE_RUNTIME_CPU_SANITIZE_PAGES_H

#include "runtime/cpu/program/access_log.h"
#include "runtime/cpu/sanitize/global_shadow.h"

enum {
    CPU_PAGE_BITS = 12,
    CPU_PAGE_BYTES = 1 << CPU_PAGE_BITS,
};

typedef struct cpu_cell {
    uint32_t write;   /* a non-atomic event */
    uint32_t readers; /* reads since that write */
    uint32_t updates; /* atomic writes since then */
} cpu_cell;

typedef struct cpu_page {
    unsigned cell_bits;
    cpu_cell cells[];
} cpu_page;

/* The union of ranges that overlap or are adjacent, so that an access is in one region. */
typedef struct cpu_region {
    uint64_t first_page;
    size_t page_count;
    cpu_page **pages;         /* NULL until the first access */
    const cpu_scratch *plain; /* scratch that is uninitialized at the start */
} cpu_region;

struct cpu_global {
    cpu_log log;
    cpu_region *regions;
    size_t region_count;
    cpu_words words;
};

/* The largest cell size, as log2 of its bytes, for which these bytes begin and end at cell
 * boundaries. */
unsigned cpu_fitting_bits(uint64_t address, uint64_t bytes);
/* The page of this address, whose cells are at most that large. */
cpu_page *cpu_find_page(cpu_region *r, uint64_t address, unsigned fitting);
/* Drops events that no cell references. */
void cpu_sweep(cpu_global *global);

#endif
