/* The cells of a shadow of global memory, in pages that are made when memory is first touched. */
#ifndef TILE_RUNTIME_CPU_SANITIZE_PAGES_H
#define TILE_RUNTIME_CPU_SANITIZE_PAGES_H

#include "runtime/cpu/program/access_log.h"
#include "runtime/cpu/sanitize/global_shadow.h"

enum {
    CPU_PAGE_BITS = 12,
    CPU_PAGE_BYTES = 1 << CPU_PAGE_BITS,
};

typedef struct cpu_cell {
    uint32_t write;   /* an event, not an atomic one */
    uint32_t readers; /* since that write */
    uint32_t updates; /* atomic writes since then */
} cpu_cell;

typedef struct cpu_page {
    unsigned cell_bits;
    cpu_cell cells[];
} cpu_page;

/* Ranges that overlap or touch, so that an access lies in one. */
typedef struct cpu_region {
    uint64_t first_page;
    size_t page_count;
    cpu_page **pages;         /* NULL until the first access */
    const cpu_scratch *plain; /* scratch whose contents are undefined at the start */
} cpu_region;

struct cpu_global {
    cpu_log log;
    cpu_region *regions;
    size_t region_count;
    cpu_words words;
};

/* The largest cells whose ends these bytes begin and end at: log2 of their bytes. */
unsigned cpu_fitting_bits(uint64_t address, uint64_t bytes);
/* The page of this address, with cells that are no larger than that. */
cpu_page *cpu_find_page(cpu_region *r, uint64_t address, unsigned fitting);
/* Drops events that no cell refers to any more. */
void cpu_sweep(cpu_global *global);

#endif
