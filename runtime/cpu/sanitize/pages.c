/* The cells of a shadow of global memory: see the header. */
#include "runtime/cpu/sanitize/pages.h"

#include <stdlib.h>
#include <string.h>

#include "lib/support/arena.h"

/* Creation ------------------------------------------------------------------------------------- */

cpu_global *cpu_global_create(cpu_run *run) {
    cpu_global *global = tile_malloc(sizeof *global);
    *global = (cpu_global){.region_count = 0};
    cpu_log_open(&global->log);
    cpu_words_open(&global->words);
    global->regions = tile_malloc(sizeof *global->regions * (run->range_count + 1));
    uint64_t end = 0;
    for (size_t i = 0; i < run->range_count; i++) {
        cpu_range *range = &run->ranges[i];
        cpu_region *last = global->regions + global->region_count;
        if (i == 0 || range->begin > end) {
            *last =
                (cpu_region){.first_page = range->begin >> CPU_PAGE_BITS, .plain = range->plain};
            global->region_count++;
        } else {
            last--;
        }
        range->region = (uint32_t)(global->region_count - 1);
        end = i == 0 || range->end > end ? range->end : end;
        last->page_count = (size_t)((end >> CPU_PAGE_BITS) - last->first_page + 1);
    }
    return global;
}

void cpu_global_destroy(cpu_global *global) {
    if (!global) return;
    for (size_t i = 0; i < global->region_count; i++) {
        cpu_region *r = &global->regions[i];
        for (size_t j = 0; r->pages && j < r->page_count; j++) free(r->pages[j]);
        free(r->pages);
    }
    cpu_words_close(&global->words);
    cpu_log_close(&global->log);
    free(global->regions);
    free(global);
}

cpu_words *cpu_global_words(cpu_global *global) {
    return &global->words;
}

/* Pages ---------------------------------------------------------------------------------------- */

static cpu_page *make_page(unsigned cell_bits) {
    size_t count = (size_t)1 << (CPU_PAGE_BITS - cell_bits);
    cpu_page *p = tile_malloc(sizeof *p + sizeof *p->cells * count);
    p->cell_bits = cell_bits;
    memset(p->cells, 0, sizeof *p->cells * count);
    return p;
}

/* A copy of the page with smaller cells. */
static cpu_page *split_page(cpu_page *p, unsigned cell_bits) {
    cpu_page *finer = make_page(cell_bits);
    unsigned less = p->cell_bits - cell_bits;
    for (size_t i = 0; i < (size_t)1 << (CPU_PAGE_BITS - cell_bits); i++)
        finer->cells[i] = p->cells[i >> less];
    free(p);
    return finer;
}

unsigned cpu_fitting_bits(uint64_t address, uint64_t bytes) {
    unsigned bits = 0;
    while (bits < CPU_PAGE_BITS && ((address | bytes) >> bits & 1) == 0) bits++;
    return bits;
}

cpu_page *cpu_find_page(cpu_region *r, uint64_t address, unsigned fitting) {
    if (!r->pages) {
        r->pages = tile_malloc(sizeof *r->pages * r->page_count);
        memset(r->pages, 0, sizeof *r->pages * r->page_count);
    }
    cpu_page **at = &r->pages[(address >> CPU_PAGE_BITS) - r->first_page];
    if (!*at)
        *at = make_page(fitting);
    else if ((*at)->cell_bits > fitting)
        *at = split_page(*at, fitting);
    return *at;
}

static void visit_cells(cpu_global *global, void (*visit)(cpu_log *log, cpu_cell *c)) {
    for (size_t i = 0; i < global->region_count; i++) {
        cpu_region *r = &global->regions[i];
        for (size_t j = 0; r->pages && j < r->page_count; j++) {
            cpu_page *p = r->pages[j];
            for (size_t k = 0; p && k < (size_t)1 << (CPU_PAGE_BITS - p->cell_bits); k++)
                visit(&global->log, &p->cells[k]);
        }
    }
}

void cpu_global_visit(const cpu_global *global, cpu_global_visitor visit, void *user) {
    for (size_t i = 0; i < global->region_count; i++) {
        const cpu_region *r = &global->regions[i];
        for (size_t j = 0; r->pages && j < r->page_count; j++) {
            const cpu_page *p = r->pages[j];
            for (size_t k = 0; p && k < (size_t)1 << (CPU_PAGE_BITS - p->cell_bits); k++) {
                const cpu_cell *c = &p->cells[k];
                uint64_t begin = (r->first_page + j) << CPU_PAGE_BITS | k << p->cell_bits;
                if (c->write || c->readers || c->updates)
                    visit(begin, begin + (UINT64_C(1) << p->cell_bits), c->write || c->updates,
                          c->readers != 0, user);
            }
        }
    }
}

static void mark_cell(cpu_log *log, cpu_cell *c) {
    cpu_log_mark(log, c->write, c->readers);
    cpu_log_mark(log, 0, c->updates);
}

static void renew_cell(cpu_log *log, cpu_cell *c) {
    uint32_t none = 0;
    cpu_log_renew(log, &c->write, &c->readers);
    cpu_log_renew(log, &none, &c->updates);
}

void cpu_sweep(cpu_global *global) {
    cpu_log_start_sweep(&global->log);
    visit_cells(global, mark_cell);
    cpu_log_squeeze(&global->log);
    visit_cells(global, renew_cell);
    cpu_log_end_sweep(&global->log);
}
